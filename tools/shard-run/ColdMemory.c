//===- ColdMemory.c - How much memory no cache holds ---------------*- C -*-===//
#define _GNU_SOURCE
#include "ColdMemory.h"

#include <stdio.h>
#include <unistd.h>

/// Cores of a list such as "0-3,8,10-11" that a file holds; 0: no such file.
static int32_t coresOfFile(const char *path) {
  FILE *file = fopen(path, "r");
  int32_t n = 0;
  int first, last;
  char after;
  if (!file)
    return 0;
  while (fscanf(file, "%d", &first) == 1) {
    last = first;
    after = (char)getc(file);
    if (after == '-' && fscanf(file, "%d", &last) == 1)
      after = (char)getc(file);
    n += last >= first ? last - first + 1 : 1;
    if (after != ',')
      break;
  }
  fclose(file);
  return n;
}

static size_t cacheBytes(int name) {
  long bytes = sysconf(name);
  return bytes > 0 ? (size_t)bytes : 0;
}

Caches cachesGet(void) {
  int32_t sharing = coresOfFile("/sys/devices/system/cpu/cpu0/cache/index3/shared_cpu_list");
  long nCores = sysconf(_SC_NPROCESSORS_ONLN);
  int32_t nShared = sharing > 0 && nCores > sharing ? (int32_t)nCores / sharing : 1;
  return (Caches){cacheBytes(_SC_LEVEL2_CACHE_SIZE), cacheBytes(_SC_LEVEL3_CACHE_SIZE), nShared};
}

size_t coldBytesOfRank(Caches caches, int32_t nRanks, size_t leastBytes) {
  // What nothing is known of, or little (a machine may say less than it has), is taken for `least`.
  size_t least = (size_t)32 << 20, most = (size_t)256 << 20, page = 4096;
  size_t shared = caches.sharedBytes < least ? least : caches.sharedBytes;
  shared = shared > most ? most : shared;
  // One rank alone reaches one of the shared ones.
  size_t n = (size_t)(caches.nShared < nRanks ? caches.nShared : nRanks);
  size_t bytes = 2 * shared * n / (size_t)nRanks;
  bytes = bytes > 2 * caches.ownBytes ? bytes : 2 * caches.ownBytes;
  bytes = bytes > leastBytes ? bytes : leastBytes;
  return (bytes + page - 1) / page * page;
}

int32_t sizesThatFit(int32_t n, double bytes, int32_t nRanks, double memoryBytes) {
  int32_t fit = 1;
  while (fit < n && 4 * (bytes *= 4) * nRanks <= memoryBytes)
    ++fit;
  return fit;
}
