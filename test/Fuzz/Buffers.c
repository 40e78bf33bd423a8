//===- Buffers.c - Fuzz target: files of buffers to place ---------*- C -*-===//
#include "../../tools/shard-place/BufferFile.h"
#include "../Placement/Sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sizeBytes);

static void require(bool holds, const char *what) {
  if (holds)
    return;
  fprintf(stderr, "fuzz-buffers: broken: %s\n", what);
  abort();
}

/// What is read is placed, and placed right.
static void place(const BufferFile *file) {
  int64_t *offsets = malloc((size_t)(file->n + 1) * sizeof(*offsets)), which = -2;
  require(offsets, "there is memory");
  const ShardPlacementOptions options = {.maxEffort = 100};
  ShardPlacementResult result;
  const char *message = NULL;
  if (shardPlacementSolve(file->n, file->buffers, &options, offsets, &result, &message, &which)) {
    SweepResult sweep = sweepPlacement(file->n, file->buffers, offsets);
    require(!sweep.fault, "no two buffers overlap");
    require(sweep.height == result.heightBytes, "the height is that of the placement");
    require(sweep.maxLive <= result.boundBytes && result.boundBytes <= result.heightBytes,
            "the bound is between max live and the height");
  } else {
    require(message && which >= 0 && which < file->n, "a refusal names a buffer");
  }
  free(offsets);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sizeBytes) {
  BufferFile file;
  char message[256] = "";
  if (bufferFileParse("file", (const char *)data, sizeBytes, &file, message, sizeof message)) {
    for (int64_t i = 0; i < file.n; ++i)
      require(file.ids[i].length > 0 && file.lines[i] > i + 1, "ids and lines are there");
    place(&file);
  } else {
    require(strncmp(message, "file:", 5) == 0 && strstr(message, ": error: "),
            "a refusal says where");
  }
  bufferFileRelease(&file);
  return 0;
}
