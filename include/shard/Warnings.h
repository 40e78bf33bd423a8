//===- shard/Warnings.h - Known mistakes of plans and clusters ----*- C -*-===//
// What each looks for, and what to do about it: python-free-docs/warnings.md.
//===----------------------------------------------------------------------===//
#ifndef SHARD_WARNINGS_H
#define SHARD_WARNINGS_H

#include "shard/Simulate.h"

#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The ids, "slow-tensor-parallel"; null: out of range. Thread-safe.
SHARD_EXPORTED intptr_t shardWarningGetCount(void);
SHARD_EXPORTED const char *shardWarningGetId(intptr_t index);

/// Looks at a sharded program, and at its simulation on `cluster` with rank r on device r, for
/// known mistakes. Each is a warning diagnostic at the module, "TEXT [ID]".
///   silenced, errors  Ids separated by commas, or null: not said, and said as an error. An id in
///                     both is silenced.
/// Fails after one error diagnostic: a mistake of `errors`, or an id that there is not.
/// Thread-compatible per context.
SHARD_EXPORTED MlirLogicalResult shardModuleWarn(MlirOperation module, const ShardCluster *cluster,
                                                 const ShardSimulation *simulation,
                                                 const char *silenced, const char *errors);

#ifdef __cplusplus
}
#endif
#endif // SHARD_WARNINGS_H
