//===- Bench.c - What the benchmarks share ------------------------*- C -*-===//
#define _GNU_SOURCE
#include "Bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *benchName = "bench";
void benchStart(const char *name) { benchName = name; }

void benchFail(const char *text) {
  fprintf(stderr, "%s: error: %s\n", benchName, text);
  exit(1);
}

double benchNow(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void benchPairsAdd(BenchPairs *pairs, double ours, double peers) {
  if (pairs->n == BENCH_MAX_PAIRS)
    benchFail("too many rounds");
  pairs->ours[pairs->n] = ours;
  pairs->peers[pairs->n++] = peers;
}

static int compareDoubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double benchMedian(const double *values, int n) {
  double sorted[BENCH_MAX_PAIRS];
  if (n < 1 || n > BENCH_MAX_PAIRS)
    benchFail("no rounds, or too many");
  memcpy(sorted, values, (size_t)n * sizeof(*sorted));
  qsort(sorted, (size_t)n, sizeof(*sorted), compareDoubles);
  return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

double benchPairsRatio(const BenchPairs *pairs) {
  double ratios[BENCH_MAX_PAIRS];
  for (int i = 0; i < pairs->n; ++i)
    ratios[i] = pairs->ours[i] / pairs->peers[i];
  return benchMedian(ratios, pairs->n);
}

bool benchPairsHold(const BenchPairs *pairs, const char *ours, const char *peer, double bar) {
  double ratio = benchPairsRatio(pairs);
  printf("%s %.3f ms, %s %.3f ms, ratio %.2f (bar %.2f)\n", ours,
         1e3 * benchMedian(pairs->ours, pairs->n), peer, 1e3 * benchMedian(pairs->peers, pairs->n),
         ratio, bar);
  return ratio <= bar;
}
