//===- LoopNest.c - What loops a linalg.generic has ----------------*- C -*-===//
// Loops of one step vanish and loops that every operand walks contiguously are merged, so that
// LLVM's vectoriser sees long inner loops.
//===----------------------------------------------------------------------===//

#include "LoopNest.h"

#include "../Analysis/Roll.h"

#include <inttypes.h>

/// Adds `scale` x `expr` to the access; false if it is not linear in the dims. Within a part of a
/// loop, reading in turned order is.
static bool addLinear(const ShardNest *nest, ShardNestAccess *access, MlirAffineExpr expr,
                      int64_t scale) {
  ShardRoll roll;
  if (shardRollRead(expr, &roll) && roll.extent == nest->parts.extents[roll.loop]) {
    int64_t begin = nest->parts.begins[roll.loop];
    access->strides[roll.loop] += scale;
    access->offset += scale * ((begin + roll.shift) % roll.extent - begin);
    return true;
  }
  if (mlirAffineExprIsADim(expr)) {
    access->strides[mlirAffineDimExprGetPosition(expr)] += scale;
    return true;
  }
  if (mlirAffineExprIsAConstant(expr)) {
    access->offset += scale * mlirAffineConstantExprGetValue(expr);
    return true;
  }
  if (mlirAffineExprIsAAdd(expr))
    return addLinear(nest, access, mlirAffineBinaryOpExprGetLHS(expr), scale) &&
           addLinear(nest, access, mlirAffineBinaryOpExprGetRHS(expr), scale);
  if (mlirAffineExprIsAMul(expr)) {
    MlirAffineExpr left = mlirAffineBinaryOpExprGetLHS(expr);
    MlirAffineExpr right = mlirAffineBinaryOpExprGetRHS(expr);
    if (mlirAffineExprIsAConstant(right))
      return addLinear(nest, access, left, scale * mlirAffineConstantExprGetValue(right));
    if (mlirAffineExprIsAConstant(left))
      return addLinear(nest, access, right, scale * mlirAffineConstantExprGetValue(left));
  }
  return false;
}

static void markDims(MlirAffineExpr expr, bool *used) {
  if (mlirAffineExprIsADim(expr))
    used[mlirAffineDimExprGetPosition(expr)] = true;
  else if (mlirAffineExprIsABinary(expr)) {
    markDims(mlirAffineBinaryOpExprGetLHS(expr), used);
    markDims(mlirAffineBinaryOpExprGetRHS(expr), used);
  }
}

static MlirLogicalResult noteIndexUse(void *user, MlirOperation op) {
  int64_t dim;
  if (shardOpIs(op, "linalg.index") && shardAttrGetI64(shardOpGetAttribute(op, "dim"), &dim))
    ((bool *)user)[dim] = true;
  return mlirLogicalResultSuccess();
}

MlirLogicalResult shardNestRead(ShardNest *nest) {
  MlirOperation op = nest->op;
  MlirAttribute maps = shardOpGetAttribute(op, "indexing_maps");
  MlirAttribute iterators = shardOpGetAttribute(op, "iterator_types");
  MlirAttribute segments = shardOpGetAttribute(op, "operandSegmentSizes");
  nest->nLoops = mlirArrayAttrGetNumElements(iterators);
  nest->nOperands = mlirOperationGetNumOperands(op);
  nest->nInputs = mlirDenseI32ArrayGetElement(segments, 0);
  if (nest->nLoops > SHARD_NEST_MAX_LOOPS || nest->nOperands > SHARD_NEST_MAX_OPERANDS)
    return shardEmitError(op, "an op with more than %d loops or %d operands has no lowering",
                          SHARD_NEST_MAX_LOOPS, SHARD_NEST_MAX_OPERANDS);
  MlirAttribute reduction = shardParseAttribute(nest->lowering, "#linalg.iterator_type<reduction>");
  for (intptr_t i = 0; i < nest->nLoops; ++i) {
    nest->isReduction[i] = mlirAttributeEqual(mlirArrayAttrGetElement(iterators, i), reduction);
    nest->sizes[i] = -1;
  }
  nest->body = shardOpBody(op);
  shardWalk(op, "linalg.index", noteIndexUse, nest->indexUsed);

  for (intptr_t i = 0; i < nest->nOperands; ++i) {
    ShardNestAccess *access = &nest->accesses[i];
    MlirValue operand = mlirOperationGetOperand(op, i);
    MlirType type;
    if (!shardBuffersGet(nest->buffers, operand, &access->value, &type)) {
      access->isScalar = true;
      access->value = operand;
      access->isLinear = true;
      access->element = mlirValueGetType(operand);
      continue;
    }
    access->element = mlirShapedTypeGetElementType(type);
    if (mlirShapedTypeGetRank(type) > SHARD_NEST_MAX_LOOPS)
      return shardEmitError(op, "an operand of more than %d dimensions has no lowering",
                            SHARD_NEST_MAX_LOOPS);
    if (!shardMemrefGetStrides(type, access->bufferStrides))
      return shardEmitError(op, "operand %" PRIdPTR " has no static layout", i);
    access->map = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, i));
    intptr_t rank = mlirAffineMapGetNumResults(access->map);
    access->isLinear = true;
    for (intptr_t d = 0; d < rank; ++d) {
      MlirAffineExpr expr = mlirAffineMapGetResult(access->map, d);
      access->isLinear &= addLinear(nest, access, expr, access->bufferStrides[d]);
      if (mlirAffineExprIsADim(expr)) {
        intptr_t loop = mlirAffineDimExprGetPosition(expr);
        nest->sizes[loop] = mlirShapedTypeGetDimSize(type, d);
      }
    }
    for (intptr_t l = 0; l < nest->nLoops; ++l)
      access->offset += nest->parts.begins[l] * access->strides[l];
    if (!access->isLinear)
      for (intptr_t d = 0; d < rank; ++d)
        markDims(mlirAffineMapGetResult(access->map, d), nest->indexUsed);
  }
  for (intptr_t i = 0; i < nest->nLoops; ++i)
    if (nest->parts.extents[i])
      nest->sizes[i] = nest->parts.lengths[i];
  for (intptr_t i = 0; i < nest->nLoops; ++i)
    if (nest->sizes[i] < 0)
      return shardEmitError(op, "the extent of loop %" PRIdPTR " does not follow from an operand",
                            i);
  return mlirLogicalResultSuccess();
}

/// Whether loops `outer` and `inner` can be one.
static bool canMerge(const ShardNest *nest, intptr_t outer, intptr_t inner) {
  if (nest->isReduction[outer] != nest->isReduction[inner] || nest->indexUsed[outer] ||
      nest->indexUsed[inner])
    return false;
  for (intptr_t i = 0; i < nest->nOperands; ++i) {
    const ShardNestAccess *access = &nest->accesses[i];
    if (!access->isScalar && access->strides[outer] != access->strides[inner] * nest->sizes[inner])
      return false;
  }
  return true;
}

void shardNestChooseLoops(ShardNest *nest) {
  // Innermost first: merging a loop into the one inside keeps the inner stride.
  intptr_t kept[SHARD_NEST_MAX_LOOPS], n = 0;
  for (intptr_t i = 0; i < nest->nLoops; ++i)
    if (nest->sizes[i] != 1)
      kept[n++] = i;
  nest->nEmitted = 0;
  for (intptr_t i = 0; i < n; ++i) {
    intptr_t last = nest->nEmitted - 1;
    if (last >= 0 && canMerge(nest, nest->loopOf[last], kept[i])) {
      nest->loopOf[last] = kept[i];
      // From now on the merged loop counts as one with the inner stride.
      nest->emittedSizes[last] *= nest->sizes[kept[i]];
      nest->sizes[kept[i]] = nest->emittedSizes[last];
      continue;
    }
    nest->loopOf[nest->nEmitted] = kept[i];
    nest->emittedSizes[nest->nEmitted++] = nest->sizes[kept[i]];
  }
}
