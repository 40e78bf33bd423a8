//===- Program.c - What the benchmarks of emitted programs share --*- C -*-===//
#define _GNU_SOURCE
#include "Program.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *benchAllocate(size_t bytes) {
  size_t rounded = (bytes + 127) / 64 * 64;
  void *memory = aligned_alloc(64, rounded);
  if (!memory)
    benchFail("out of memory");
  return memset(memory, 0, rounded);
}

float *benchMatrix(size_t count) {
  static uint64_t seed = 1;
  float *values = benchAllocate(count * sizeof(float));
  for (size_t i = 0; i < count; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    values[i] = (float)(seed >> 40) / (float)(1 << 24) - 0.5f;
  }
  return values;
}

const ShardProgram *benchLoad(const char *path) {
  void *library = dlopen(path, RTLD_NOW);
  if (!library)
    benchFail(dlerror());
  ShardProgramGetter getter;
  void *symbol = dlsym(library, "shardProgram");
  if (!symbol)
    benchFail("not a program");
  memcpy(&getter, &symbol, sizeof(getter));
  if (getter()->nStages != 1)
    benchFail("expected a program of one stage");
  return getter();
}
