//===- ColdMemory.h - How much memory no cache holds ---------------*- C -*-===//
#ifndef SHARD_RUN_COLDMEMORY_H
#define SHARD_RUN_COLDMEMORY_H

#include <stddef.h>
#include <stdint.h>

/// Caches of a machine; 0: not known.
typedef struct Caches {
  size_t ownBytes;    // of the largest cache that a core has to itself
  size_t sharedBytes; // of one cache that cores share
  int32_t nShared;    // how many of those there are, at least 1
} Caches;

Caches cachesGet(void);

/// Bytes for each of `nRanks` so that all of them, used in turn, are twice what the caches hold,
/// and the ones of a rank twice what its core holds. At least `leastBytes`.
size_t coldBytesOfRank(Caches caches, int32_t nRanks, size_t leastBytes);

/// How many of `n` sizes, the first of `bytes` and each four times the one before, all ranks can
/// have at once in a quarter of the machine's memory; at least 1.
int32_t sizesThatFit(int32_t n, double bytes, int32_t nRanks, double memoryBytes);

#endif // SHARD_RUN_COLDMEMORY_H
