//===- Degrees.c - Fuzz target: the list of --auto-shard ----------*- C -*-===//
#include "../../lib/Passes/Analysis/Mesh.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sizeBytes);

static void require(bool holds, const char *what) {
  if (holds)
    return;
  fprintf(stderr, "fuzz-degrees: broken: %s\n", what);
  abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sizeBytes) {
  ShardArena *arena = shardArenaCreate();
  ShardDegrees degrees = {0};
  const char *message = NULL;
  if (!shardDegreesParse((const char *)data, sizeBytes, arena, &degrees, &message)) {
    require(message && message[0] != '\0', "a refusal says why");
  } else {
    const int64_t all[] = {degrees.pp, degrees.dp, degrees.ep, degrees.sp, degrees.tp, degrees.mb};
    int64_t ranks = 1;
    for (int i = 0; i < 6; ++i) {
      require(all[i] >= 1, "a degree is at least 1");
      require(i == 5 || !__builtin_mul_overflow(ranks, all[i], &ranks), "the number of ranks fits");
    }
  }
  shardArenaDestroy(arena);
  return 0;
}
