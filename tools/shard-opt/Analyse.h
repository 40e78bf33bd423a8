//===- Analyse.h - shard-opt --analyse ----------------------------*- C -*-===//
#ifndef SHARD_OPT_ANALYSE_H
#define SHARD_OPT_ANALYSE_H

#include "Options.h"

#include "mlir-c/IR.h"

/// Whether --analyse goes with the other options. False after one error on stderr.
bool shardOptCheckAnalyse(const ShardOptOptions *options);
/// Analyses a model as shard-outline-layers leaves it and writes what comes of it to the output.
/// False after one error, on stderr or as a diagnostic.
bool shardOptAnalyse(const ShardOptOptions *options, MlirOperation module);

#endif // SHARD_OPT_ANALYSE_H
