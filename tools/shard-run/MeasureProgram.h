//===- MeasureProgram.h - Small programs that --measure times ------*- C -*-===//
#ifndef SHARD_RUN_MEASUREPROGRAM_H
#define SHARD_RUN_MEASUREPROGRAM_H

#include "Compile.h"

/// What one function of a measured module does.
typedef enum MeasureKind {
  MEASURE_CONTRACTION, // [m, k] x [k, n]
  MEASURE_COPY,        // a sum of two arrays of n elements: bytes
  MEASURE_ARITHMETIC,  // `repeats` multiplications and additions of each of n elements
  MEASURE_FUNCTION,    // `function`, `repeats` times, of each of n elements
  MEASURE_REDUCE,      // m rows of n elements summed
  MEASURE_LAUNCH       // `repeats` ops of 16 elements
} MeasureKind;

typedef struct MeasureCase {
  MeasureKind kind;
  const char *type; // element type
  int64_t m, n, k;
  int repeats;
  const char *function; // op, for MEASURE_FUNCTION
  double seconds;       // best of one run on a rank alone
  double busySeconds;   // one with all ranks at work; 0: not measured
} MeasureCase;

/// Compiles the cases through the product's own lowering, one stage each. Stops with a message
/// when that fails. Release with compiledRelease.
void measureCompile(Compiler *compiler, size_t nCases, const MeasureCase *cases, Compiled *out);

/// Times every case on one rank in the time of its thread, `rounds` times over all of them, and
/// keeps the best, of earlier calls too; each time for about `secondsEach`.
void measureAlone(const ShardProgram *program, size_t nCases, MeasureCase *cases, int rounds,
                  double secondsEach);
/// Times every case on `nRanks` ranks at the same time: busySeconds, the lower quartile of many.
void measureBusy(const ShardProgram *program, size_t nCases, MeasureCase *cases, int32_t nRanks,
                 double secondsEach);

/// Seconds of a clock.
double measureNow(clockid_t clock);
/// The value that `part` of them, 0 to 1, lie below; sorts them.
double measureQuantile(size_t n, double *values, double part);

#endif // SHARD_RUN_MEASUREPROGRAM_H
