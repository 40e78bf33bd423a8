//===- Warnings.h - What the warnings share -----------------------*- C -*-===//
#ifndef SHARD_REPORT_WARNINGS_INTERNAL_H
#define SHARD_REPORT_WARNINGS_INTERNAL_H

#include "shard/Warnings.h"

#include "../Analysis/Mesh.h"
#include "../Core/Arena.h"

/// Memory that a budget has a word for.
typedef enum ShardBudgetClass {
  SHARD_BUDGET_WEIGHTS,
  SHARD_BUDGET_GRADIENTS,
  SHARD_BUDGET_OPTIMIZER,
  SHARD_BUDGET_STATES,
  SHARD_BUDGET_ACTIVATIONS,
  SHARD_N_BUDGET_CLASSES
} ShardBudgetClass;

/// --budget. Classes that it leaves out have 0 bytes.
typedef struct ShardBudget {
  bool given, training;
  double bytes[SHARD_N_BUDGET_CLASSES];
} ShardBudget;

/// What the options say, in numbers.
typedef struct ShardClaims {
  ShardBudget budget;
  double overlap;             // negative: none is claimed
  double checkpointSeconds;   // 0: none
  const char *checkpointTier; // null: none is named
} ShardClaims;

/// What a warning looks at.
typedef struct ShardWarningSubject {
  MlirOperation module;
  const ShardCluster *cluster;       // null where a model is analysed
  const ShardSimulation *simulation; // the same
  const ShardSizeAnalysis *analysis; // null where a program is looked at
  ShardMesh mesh;
  ShardClaims claims;
  double threshold; // of this warning
  bool failed;      // an error has been said
  ShardArena *arena;
} ShardWarningSubject;

/// Each returns a text in the subject's arena, or null: nothing to warn of.
typedef const char *ShardWarningFinder(ShardWarningSubject *subject);
ShardWarningFinder shardFindSlowTensorParallel, shardFindNoMargin, shardFindUnequalStages,
    shardFindPeakAsReal, shardFindLayoutChanges, shardFindNoFailureHandling;
ShardWarningFinder shardFindIdleRanks;
ShardWarningFinder shardFindIncompleteBudget, shardFindAssumedOverlap, shardFindCheckpointInterval;

/// Failures a day that are to be expected of the devices that the program runs on.
double shardWarningFailuresPerDay(const ShardWarningSubject *subject);

/// Reads what the options claim. Returns a message in `arena`, or null.
const char *shardClaimsParse(const ShardWarningOptions *options, ShardArena *arena,
                             ShardClaims *out);
/// "1.315 MB"
const char *shardWarningBytes(ShardArena *arena, double bytes);
/// A number without a sign from `text` [length]. False: something else.
bool shardWarningParseNumber(const char *text, size_t length, double *out);

#endif // SHARD_REPORT_WARNINGS_INTERNAL_H
