//===- Program.h - What the benchmarks of emitted programs share --*- C -*-===//
#ifndef SHARD_BENCH_PROGRAM_H
#define SHARD_BENCH_PROGRAM_H

#include "Bench.h"

#include "shard/Program.h"

/// Memory of 64-byte alignment, zeroed; never freed. Ends the program when there is none.
void *benchAllocate(size_t bytes);
/// `count` values between -0.5 and 0.5, others at each call.
float *benchMatrix(size_t count);
/// The program of one stage in a shared object.
const ShardProgram *benchLoad(const char *path);

#endif // SHARD_BENCH_PROGRAM_H
