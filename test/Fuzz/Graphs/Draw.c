//===- Draw.c - Choices, made or replayed -------------------------*- C -*-===//
#include "Graph.h"

#include <stdio.h>
#include <stdlib.h>

static void *grow(void *memory, size_t bytes) {
  void *bigger = realloc(memory, bytes);
  if (!bigger) {
    fputs("fuzz-graphs: error: out of memory\n", stderr);
    exit(1);
  }
  return bigger;
}

static uint64_t next(Draws *draws) { // SplitMix64
  uint64_t z = (draws->state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

int draw(Draws *draws, int n) {
  uint32_t value = 0;
  if (!draws->replaying)
    value = (uint32_t)(next(draws) % (uint64_t)n);
  else if (draws->nMade < draws->nReplayed)
    value = draws->replayed[draws->nMade] % (uint32_t)n;
  if (draws->nMade == draws->capacity) {
    draws->capacity = draws->capacity ? 2 * draws->capacity : 256;
    draws->made = grow(draws->made, draws->capacity * sizeof *draws->made);
  }
  draws->made[draws->nMade++] = value;
  return (int)value;
}

bool drawChance(Draws *draws, int percent) { return draw(draws, 100) >= 100 - percent; }

void drawSpan(Draws *draws) {
  if (draws->nSpans == draws->spanCapacity) {
    draws->spanCapacity = draws->spanCapacity ? 2 * draws->spanCapacity : 64;
    draws->spans = grow(draws->spans, draws->spanCapacity * sizeof *draws->spans);
  }
  draws->spans[draws->nSpans++] = draws->nMade;
}

void drawsRelease(Draws *draws) {
  free(draws->made);
  free(draws->spans);
  draws->made = NULL;
  draws->spans = NULL;
}
