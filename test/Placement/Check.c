//===- Check.c - Is a file of placed buffers right? ---------------*- C -*-===//
// shard-placement-check BUFFERS.csv PLACED.csv
// Both have a line a buffer behind a heading: id,lower,upper,size[,alignment] and the same with
// offset at the end. The buffers must be the same, in the same order. Prints "height N, max live
// N"; exit 1 with what is wrong.
//===----------------------------------------------------------------------===//

#include "Sweep.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BUFFERS = 1 << 20 };
static ShardPlacementBuffer buffers[MAX_BUFFERS], placed[MAX_BUFFERS];
static int64_t offsets[MAX_BUFFERS];
static char ids[MAX_BUFFERS][24];

_Noreturn static void stop(const char *path, int64_t line, const char *what) {
  fprintf(stderr, "%s:%" PRId64 ": %s\n", path, line, what);
  exit(1);
}

/// Reads lines of numbers; with `isPlaced`, the last is the offset. Returns how many.
static int64_t readBuffers(const char *path, bool isPlaced, ShardPlacementBuffer *out) {
  FILE *file = fopen(path, "r");
  char line[512], id[24];
  if (!file || !fgets(line, sizeof line, file))
    stop(path, 1, "cannot be read");
  bool isAligned = strstr(line, "alignment") != NULL;
  int64_t n = 0;
  for (; fgets(line, sizeof line, file); ++n) {
    int64_t lower, upper, size, fourth = 0, fifth = 0;
    int nRead = sscanf(line, "%23[^,],%" SCNd64 ",%" SCNd64 ",%" SCNd64 ",%" SCNd64 ",%" SCNd64, id,
                       &lower, &upper, &size, &fourth, &fifth);
    if (n == MAX_BUFFERS || nRead != 4 + isAligned + isPlaced)
      stop(path, n + 2, "not so many fields");
    out[n] = (ShardPlacementBuffer){lower, upper, size, isAligned ? fourth : 0, 0, NULL};
    if (isPlaced && strcmp(ids[n], id) != 0)
      stop(path, n + 2, "another id");
    if (isPlaced)
      offsets[n] = isAligned ? fifth : fourth;
    memcpy(ids[n], id, sizeof id);
  }
  fclose(file);
  return n;
}

static bool isSame(const ShardPlacementBuffer *a, const ShardPlacementBuffer *b) {
  return a->lower == b->lower && a->upper == b->upper && a->sizeBytes == b->sizeBytes &&
         a->alignment == b->alignment;
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: shard-placement-check BUFFERS.csv PLACED.csv\n");
    return 1;
  }
  int64_t n = readBuffers(argv[1], false, buffers);
  if (readBuffers(argv[2], true, placed) != n)
    stop(argv[2], 1, "not so many buffers");
  for (int64_t i = 0; i < n; ++i)
    if (!isSame(&buffers[i], &placed[i]))
      stop(argv[2], i + 2, "another buffer");
  SweepResult result = sweepPlacement(n, buffers, offsets);
  if (result.fault) {
    fprintf(stderr, "%s: %s: lines %" PRId64 " and %" PRId64 "\n", argv[2], result.fault,
            result.first + 2, result.second + 2);
    return 1;
  }
  printf("height %" PRId64 ", max live %" PRId64 "\n", result.height, result.maxLive);
  return 0;
}
