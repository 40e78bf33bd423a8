//===- Simulate.h - shard-opt --simulate --------------------------*- C -*-===//
#ifndef SHARD_OPT_SIMULATE_H
#define SHARD_OPT_SIMULATE_H

#include "Options.h"

#include "shard/Report.h"

#include "mlir-c/IR.h"

/// Whether --simulate goes with the other options. False after one error on stderr.
bool shardOptCheckSimulate(const ShardOptOptions *options);
/// Simulates a sharded program on --cluster and writes what comes of it to the output. False after
/// one error, on stderr or as a diagnostic.
bool shardOptSimulate(const ShardOptOptions *options, MlirOperation module);

/// Adds to a report of `module` what --cluster tells. False after one error, as above.
bool shardOptAddTimes(const ShardOptOptions *options, MlirOperation module, ShardReport *report);

#endif // SHARD_OPT_SIMULATE_H
