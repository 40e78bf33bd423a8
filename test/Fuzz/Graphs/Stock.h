//===- Stock.h - A program with values, for MLIR's own tools ------*- C -*-===//
#ifndef SHARD_FUZZ_STOCK_H
#define SHARD_FUZZ_STOCK_H

#include "../../../tools/shard-run/Execute.h"
#include "../../../tools/shard-run/Values.h"

/// Writes `module` with a function @entry that calls @main on the values, compares each result with
/// the one in `run` and prints the number of elements that differ. `exact` [results]: by bits, else
/// to 1e-9 of the largest. Nothing is written where the values would take too much text.
void stockWrite(const char *path, const char *module, const ShardProgram *program,
                const ValueSet *values, const Execution *run, const bool *exact);

#endif // SHARD_FUZZ_STOCK_H
