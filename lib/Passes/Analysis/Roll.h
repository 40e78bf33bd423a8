//===- Roll.h - An operand read in turned order -------------------*- C -*-===//
#ifndef SHARD_ANALYSIS_ROLL_H
#define SHARD_ANALYSIS_ROLL_H

#include "mlir-c/AffineExpr.h"
#include "mlir-c/AffineMap.h"

#include <stdbool.h>
#include <stdint.h>

/// A dimension of `extent` steps read at (loop + shift) mod extent, 0 < shift < extent.
typedef struct ShardRoll {
  intptr_t loop;
  int64_t shift, extent;
} ShardRoll;

/// Reads a result of an indexing map; false if it is no roll.
static inline bool shardRollRead(MlirAffineExpr expr, ShardRoll *out) {
  if (!mlirAffineExprIsAMod(expr))
    return false;
  MlirAffineExpr sum = mlirAffineBinaryOpExprGetLHS(expr),
                 extent = mlirAffineBinaryOpExprGetRHS(expr);
  if (!mlirAffineExprIsAAdd(sum) || !mlirAffineExprIsAConstant(extent))
    return false;
  MlirAffineExpr loop = mlirAffineBinaryOpExprGetLHS(sum),
                 shift = mlirAffineBinaryOpExprGetRHS(sum);
  if (!mlirAffineExprIsADim(loop) || !mlirAffineExprIsAConstant(shift))
    return false;
  *out = (ShardRoll){.loop = mlirAffineDimExprGetPosition(loop),
                     .shift = mlirAffineConstantExprGetValue(shift),
                     .extent = mlirAffineConstantExprGetValue(extent)};
  return out->shift > 0 && out->shift < out->extent;
}

#endif // SHARD_ANALYSIS_ROLL_H
