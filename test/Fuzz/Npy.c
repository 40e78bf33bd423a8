//===- Npy.c - Fuzz target: headers of .npy files -----------------*- C -*-===//
#include "../../tools/common/Npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sizeBytes);

static void require(bool holds, const char *what) {
  if (holds)
    return;
  fprintf(stderr, "fuzz-npy: broken: %s\n", what);
  abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sizeBytes) {
  ShardNpyArray array;
  size_t dataOffset = 0;
  char message[256] = "";
  if (!shardNpyParseHeader(data, sizeBytes, sizeBytes, &array, &dataOffset, message,
                           sizeof(message))) {
    require(message[0] != '\0', "a refusal says why");
    // The reader sees the header alone, with the size of a longer file.
    shardNpyParseHeader(data, sizeBytes, (uint64_t)sizeBytes + 4096, &array, &dataOffset, message,
                        sizeof(message));
    return 0;
  }
  require(dataOffset <= sizeBytes && sizeBytes - dataOffset == array.sizeBytes,
          "the data fills the file");
  require(array.rank >= 0 && array.rank <= SHARD_NPY_MAX_RANK, "the rank is in range");
  require((uint64_t)array.count * (uint64_t)shardNpyTypeBytes(array.type) == array.sizeBytes,
          "count times element size is the size");
  int64_t count = 1;
  for (int32_t i = 0; i < array.rank; ++i)
    count *= array.shape[i] == 0 ? 0 : 1;
  require((count == 0) == (array.count == 0), "empty exactly if a dimension is");

  // What we write, we read back.
  size_t headerBytes = shardNpyFormatHeader(array.type, array.rank, array.shape, NULL, 0);
  char *header = malloc(headerBytes);
  require(header && shardNpyFormatHeader(array.type, array.rank, array.shape, header,
                                         headerBytes) == headerBytes,
          "the header has the size it says");
  ShardNpyArray again;
  require(shardNpyParseHeader(header, headerBytes, headerBytes + array.sizeBytes, &again,
                              &dataOffset, message, sizeof(message)),
          "our own header parses");
  require(again.type == array.type && again.rank == array.rank &&
              memcmp(again.shape, array.shape, sizeof(array.shape[0]) * (size_t)array.rank) == 0,
          "our own header says the same");
  free(header);
  return 0;
}
