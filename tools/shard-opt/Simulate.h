//===- Simulate.h - shard-opt --simulate --------------------------*- C -*-===//
#ifndef SHARD_OPT_SIMULATE_H
#define SHARD_OPT_SIMULATE_H

#include "Options.h"

#include "shard/Simulate.h"
#include "shard/Warnings.h"

#include "mlir-c/IR.h"

/// Whether --simulate goes with the other options. False after one error on stderr.
bool shardOptCheckSimulate(const ShardOptOptions *options);
/// Simulates a sharded program on --cluster and writes what comes of it to the output. False after
/// one error, on stderr or as a diagnostic.
bool shardOptSimulate(const ShardOptOptions *options, MlirOperation module);

/// What the options say of warnings.
ShardWarningOptions shardOptWarningOptions(const ShardOptOptions *options);
/// Whether those are well formed and go with the other options. False after one error on stderr.
bool shardOptCheckWarnings(const ShardOptOptions *options);

/// A program on --cluster. Both may be null after a failure.
typedef struct ShardOptTimes {
  ShardCluster *cluster;
  ShardSimulation *simulation;
} ShardOptTimes;
/// Simulates a sharded program and warns of known mistakes, as --silence and --error say. False
/// after one error, as above; to be released either way.
bool shardOptTimesCreate(const ShardOptOptions *options, MlirOperation module, ShardOptTimes *out);
void shardOptTimesRelease(ShardOptTimes *times);

/// Whether a report or trace is asked for of a module that no step of shard-opt has marked, and
/// that is a program of ranks as it stands: it has a mesh, and nothing says how to shard it.
bool shardOptReportsProgram(const ShardOptOptions *options, MlirOperation module);

#endif // SHARD_OPT_SIMULATE_H
