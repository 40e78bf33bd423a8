//===- Plan.h - What the planner offers to tools ------------------*- C -*-===//
#ifndef SHARD_PLAN_PLAN_H
#define SHARD_PLAN_PLAN_H

#include "../Analysis/Rules.h"

/// Degrees that fit a model, as text for messages: "dp1, dp2; sp1, sp2, sp4; tp1, tp2; pp1 to pp6".
/// `module` is L1 with its layers outlined; it is not changed. Null, with a diagnostic, on failure.
const char *shardPlanFittingDegrees(MlirOperation module, ShardArena *arena);

#endif // SHARD_PLAN_PLAN_H
