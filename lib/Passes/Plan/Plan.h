//===- Plan.h - What the planner offers to tools ------------------*- C -*-===//
#ifndef SHARD_PLAN_PLAN_H
#define SHARD_PLAN_PLAN_H

#include "../Analysis/Rules.h"

/// Degrees that split a model evenly, as text for messages: "dp 1, 2; sp 1, 37; tp 1, 2; pp 1 to
/// 6". `module` is L1 with its layers outlined; it is not changed. Null, with a diagnostic, on
/// failure.
const char *shardPlanFittingDegrees(MlirOperation module, ShardArena *arena);

#endif // SHARD_PLAN_PLAN_H
