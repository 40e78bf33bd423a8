//===- Bisect.h - The first op whose value differs ----------------*- C -*-===//
#ifndef SHARD_RUN_BISECT_H
#define SHARD_RUN_BISECT_H

#include "Compile.h"
#include "Values.h"

/// Stops with a message if the program is past the place that --bisect looks into.
void bisectCheck(const Compiled *program, const Options *options);

/// Runs the program and its original once more with inner values as results: those of the function
/// first, which has its layers' results among them, then those inside the first layer that differs.
/// Prints, as a mismatch, the first op in the order of the original whose value differs: its place,
/// how it is cut, rank, index. Both were kept by `keepSharded`. With dynamic
/// dimensions both have the same bounds, and run with extents `dims` (else null). False: it found
/// none and said so.
bool bisectProgram(Compiler *compiler, const Compiled *program, const Compiled *original,
                   const ValueOptions *valueOptions, const int64_t *dims);

#endif // SHARD_RUN_BISECT_H
