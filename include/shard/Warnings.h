//===- shard/Warnings.h - Known mistakes of plans and clusters ----*- C -*-===//
// What each looks for, and what to do about it: python-free-docs/warnings.md.
//===----------------------------------------------------------------------===//
#ifndef SHARD_WARNINGS_H
#define SHARD_WARNINGS_H

#include "shard/Analyse.h"
#include "shard/Simulate.h"

#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The ids, "slow-tensor-parallel"; null: out of range. Thread-safe.
SHARD_EXPORTED intptr_t shardWarningGetCount(void);
SHARD_EXPORTED const char *shardWarningGetId(intptr_t index);
/// What its --threshold is when none is given, and what that counts; 0 and "": it has none.
SHARD_EXPORTED double shardWarningGetThreshold(intptr_t index);
SHARD_EXPORTED const char *shardWarningGetThresholdMeaning(intptr_t index);

/// What a user says of warnings, and claims of a plan. All may be null; zeroed, nothing is said.
typedef struct ShardWarningOptions {
  const char *silenced;   // ids separated by commas: not said
  const char *errors;     // ids: said as an error. An id in both is silenced
  const char *thresholds; // "unequal-stages:1.5,layout-changes:0.2"
  // Memory by class, "inference:weights=4e9,activations=1e9" or "training:...": bytes of a device
  // of a sharded program, of the whole model of one that is analysed.
  const char *budget;
  const char *assumedOverlap;     // part of communication that computing hides, "0.8"
  const char *checkpointInterval; // seconds between checkpoints, and the tier: "3600:object"
} ShardWarningOptions;

/// Whether the options are well formed. Returns null, or a message to be freed with free().
/// Thread-safe.
SHARD_EXPORTED char *shardWarningOptionsCheck(const ShardWarningOptions *options);

/// Looks at a sharded program, and at its simulation on `cluster`, each rank on its device, for
/// known mistakes. Each is a warning diagnostic at the module, "TEXT [ID]".
/// Fails after one error diagnostic: a mistake of `options->errors`, options that are not well
/// formed, or an interval of checkpoints on a cluster that says nothing of failures or of memory to
/// save to. Thread-compatible per context.
SHARD_EXPORTED MlirLogicalResult shardModuleWarn(MlirOperation module, const ShardCluster *cluster,
                                                 const ShardSimulation *simulation,
                                                 const ShardWarningOptions *options);

/// The same of a model that no layout has been chosen for: of its budget.
SHARD_EXPORTED MlirLogicalResult shardSizeAnalysisWarn(MlirOperation module,
                                                       const ShardSizeAnalysis *analysis,
                                                       const ShardWarningOptions *options);

#ifdef __cplusplus
}
#endif
#endif // SHARD_WARNINGS_H
