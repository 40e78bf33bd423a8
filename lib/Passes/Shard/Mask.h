//===- Mask.h - Keeping padding out of results --------------------*- C -*-===//
// The padding of an uneven shard may hold anything, infinities and NaNs too. An op needs a mask
// only where a valid result would depend on a padding element, or where such an element could make
// it fail: what else is computed of padding is padding again.
//===----------------------------------------------------------------------===//
#ifndef SHARD_SHARD_MASK_H
#define SHARD_SHARD_MASK_H

#include "Localiser.h"

/// Whether `factor` of a plan is split unevenly.
bool shardOpPlanIsUneven(const ShardSpmd *spmd, const ShardOpPlan *plan, int32_t factor);
/// Whether any factor is, one of kind `kind` if that is not negative.
bool shardOpPlanHasPadding(const ShardSpmd *spmd, const ShardOpPlan *plan, int kind);
/// Replaces operand port `port` of the copy by itself with `number` in the padding of its atoms
/// whose factors have kind `kind` (negative: of all its atoms). Nothing is done where none is
/// uneven.
void shardMaskOperand(ShardLocaliser *l, int32_t port, int kind, double number);
/// Masks what the body of the linalg op `l->copy` would let through: contributions to reductions,
/// assertions, divisors and loop bounds.
MlirLogicalResult shardMaskBody(ShardLocaliser *l);

#endif // SHARD_SHARD_MASK_H
