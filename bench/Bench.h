//===- Bench.h - What the benchmarks share ------------------------*- C -*-===//
#ifndef SHARD_BENCH_BENCH_H
#define SHARD_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

/// Ends the program with "NAME: error: TEXT", exit 1; NAME is what benchStart got.
_Noreturn void benchFail(const char *text);
void benchStart(const char *name);
/// Seconds on `clock`.
double benchNow(clockid_t clock);

/// Seconds of two sides, each pair measured close together in time: what slows the machine then
/// slows both, and the median of the pairs' ratios is hardly moved by it.
enum { BENCH_MAX_PAIRS = 256 };
typedef struct BenchPairs {
  int n;
  double ours[BENCH_MAX_PAIRS], peers[BENCH_MAX_PAIRS];
} BenchPairs;
void benchPairsAdd(BenchPairs *pairs, double ours, double peers);
double benchMedian(const double *values, int n);
/// Median of ours / peers.
double benchPairsRatio(const BenchPairs *pairs);
/// Prints "OURS 1.00 ms, PEER 2.00 ms, ratio 0.50 (bar 1.00)", the medians, and returns whether the
/// ratio is at most the bar.
bool benchPairsHold(const BenchPairs *pairs, const char *ours, const char *peer, double bar);

#endif // SHARD_BENCH_BENCH_H
