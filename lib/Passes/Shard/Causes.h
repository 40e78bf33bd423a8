//===- Causes.h - Why a collective stands there -------------------*- C -*-===//
#ifndef SHARD_SHARD_CAUSES_H
#define SHARD_SHARD_CAUSES_H

#include "Spmd.h"

#include "shard/Reshard.h"

typedef struct ShardCause {
  ShardRtKind kind;
  const char *text; // "partial sum of linalg.matmul wanted whole by @layer"
  MlirOperation op; // whose place it takes: that makes a sum, or asks for what is gathered
} ShardCause;

/// The cause of step `index` of a plan that brings `value` to where `consumer` wants it.
ShardCause shardCauseOf(const ShardSpmd *spmd, const ShardReshardPlan *plan, int32_t index,
                        int32_t value, MlirOperation consumer);

#endif // SHARD_SHARD_CAUSES_H
