//===- Bench.h - What the benchmarks of emitted programs share ----*- C -*-===//
#ifndef SHARD_BENCH_BENCH_H
#define SHARD_BENCH_BENCH_H

#include "shard/Program.h"

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/// Ends the program with "NAME: error: TEXT", exit 1; NAME is what benchStart got.
_Noreturn void benchFail(const char *text);
void benchStart(const char *name);
/// Seconds on `clock`.
double benchNow(clockid_t clock);
/// Memory of 64-byte alignment, zeroed; never freed. Ends the program when there is none.
void *benchAllocate(size_t bytes);
/// `count` values between -0.5 and 0.5, others at each call.
float *benchMatrix(size_t count);
/// The program of one stage in a shared object.
const ShardProgram *benchLoad(const char *path);

#endif // SHARD_BENCH_BENCH_H
