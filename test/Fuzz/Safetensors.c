//===- Safetensors.c - Fuzz target: headers and indices of .safetensors -*- C -*-===//
#include "../../tools/common/Safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sizeBytes);

static void require(bool holds, const char *what) {
  if (holds)
    return;
  fprintf(stderr, "fuzz-safetensors: broken: %s\n", what);
  abort();
}

static void checkSet(const ShardSafetensors *set, size_t sizeBytes) {
  uint64_t at = 0;
  for (size_t i = 0; i < set->count; ++i) {
    const ShardSafetensor *tensor = &set->tensors[i];
    require(tensor->begin == at && tensor->end >= at && tensor->end <= sizeBytes,
            "tensors fill the data without gaps");
    at = tensor->end;
    require(tensor->rank >= 0 && tensor->rank <= SHARD_NPY_MAX_RANK, "the rank is in range");
    uint64_t bytes = (uint64_t)shardNpyTypeBytes(tensor->type);
    for (int32_t d = 0; d < tensor->rank; ++d) {
      require(tensor->shape[d] >= 0, "no dimension is negative");
      bytes *= (uint64_t)tensor->shape[d];
    }
    require(bytes == tensor->end - tensor->begin, "the shape says the size");
    require(shardSafetensorsFind(set, tensor->name) == tensor, "a tensor is found by its name");
  }
  require(!shardSafetensorsFind(set, "no such name, not even in a fuzzed file"), "others are not");
  for (size_t i = 0; i < set->nMetadata; ++i)
    require(shardSafetensorsGetMetadata(set, set->metadata[i].key) == set->metadata[i].value,
            "metadata is found by its key");
}

static void checkIndex(const uint8_t *data, size_t sizeBytes) {
  char message[256] = "";
  size_t count = 0;
  char **files = shardSafetensorsParseIndex("i.json", (const char *)data, sizeBytes, &count,
                                            message, sizeof message);
  if (!files) {
    require(strncmp(message, "i.json: ", 8) == 0, "a refusal says why");
    return;
  }
  require(count > 0, "an index names a file");
  for (size_t i = 0; i < count; ++i) {
    require(files[i][0] && !strchr(files[i], '/') && strcmp(files[i], "..") != 0,
            "files lie beside the index");
    for (size_t k = 0; k < i; ++k)
      require(strcmp(files[i], files[k]) != 0, "each file stands once");
  }
  shardSafetensorsFreeFiles(files, count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sizeBytes) {
  char message[256] = "";
  checkIndex(data, sizeBytes);
  // A header's length is hard to guess: an input is a header too, with what follows a line as data.
  const uint8_t *end = sizeBytes ? memchr(data, '\n', sizeBytes) : NULL;
  size_t length = end ? (size_t)(end - data) : sizeBytes;
  uint8_t *file = malloc(sizeBytes + 8);
  require(file != NULL, "memory");
  for (int i = 0; i < 8; ++i)
    file[i] = (uint8_t)((uint64_t)length >> (8 * i));
  memcpy(file + 8, data, sizeBytes);
  for (int asIs = 0; asIs < 2; ++asIs) {
    size_t n = asIs ? sizeBytes : sizeBytes + 8;
    ShardSafetensors *set =
        shardSafetensorsParse("x", asIs ? data : file, n, message, sizeof message);
    if (set)
      checkSet(set, n);
    else
      require(strncmp(message, "x: ", 3) == 0 && message[3], "a refusal says why");
    shardSafetensorsDestroy(set);
  }
  free(file);
  return 0;
}
