//===- BoundedTm.c - Extents of what an op of tm_tensor makes ------*- C -*-===//
#include "BoundedShapes.h"

#include "../Analysis/Rules.h"

#include <math.h>

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Operand `i` of an attention with `number` where a key is padding, along its dimension `d`.
static void maskKeys(ShardBounded *b, MlirOperation op, intptr_t i, intptr_t d, double number) {
  MlirValue operand = mlirOperationGetOperand(op, i);
  MlirType element = mlirShapedTypeGetElementType(mlirValueGetType(operand));
  bool *dims = SHARD_ARENA_ARRAY(b->arena, bool, shardRankOf(operand) + 1);
  dims[d] = true;
  mlirOperationSetOperand(
      op, i, shardBoundedMaskTensor(b, op, operand, shardAttrNumber(element, number), dims));
}

/// A mask of ones for an attention that has none: [..., m, n] of i1.
static void addMask(ShardBounded *b, MlirOperation op, const ShardExtent *scores, intptr_t rank) {
  MlirType bit = mlirIntegerTypeGet(b->context, 1);
  int64_t *shape = SHARD_ARENA_ARRAY(b->arena, int64_t, rank + 1);
  ShardExtent *extents = shardBoundedNewShape(b, rank);
  for (intptr_t d = 0; d < rank; ++d) {
    extents[d] = scores[d];
    shape[d] = shardExtentBound(&scores[d]);
  }
  ShardInsert at = shardInsertBefore(op);
  MlirValue ones =
      shardInsertFill(&at, mlirRankedTensorTypeGet(rank, shape, bit, mlirAttributeGetNull()),
                      mlirIntegerAttrGet(bit, 1));
  shardBoundedSetShape(b, ones, extents);
  MlirValue operands[5];
  for (intptr_t i = 0; i < 3; ++i)
    operands[i] = mlirOperationGetOperand(op, i);
  operands[3] = ones;
  operands[4] = mlirOperationGetOperand(op, 3);
  mlirOperationSetOperands(op, 5, operands);
  const int32_t segments[] = {4, 1};
  shardOpSetAttribute(op, "operandSegmentSizes", mlirDenseI32ArrayGet(b->context, 2, segments));
}

/// Query [..., m, d], key [..., n, d], value [..., n, e], a mask [..., m, n] or none, and a
/// destination [..., m, e]. A key in padding is masked, and what would be taken of it is zero.
static MlirLogicalResult describeAttention(ShardBounded *b, MlirOperation op, ShardBoundedOp *out) {
  intptr_t n = mlirOperationGetNumOperands(op);
  MlirValue query = n ? mlirOperationGetOperand(op, 0) : (MlirValue){NULL};
  if ((n != 4 && n != 5) || !shardIsTensor(query) || shardRankOf(query) < 2)
    return shardBoundedRefuse(op);
  intptr_t rank = shardRankOf(query);
  // Batch dimensions, then m, d, n, e: the place of an operand's last two among them.
  const intptr_t m = rank - 2, d = rank - 1, k = rank, e = rank + 1;
  const intptr_t last[5][2] = {{m, d}, {k, d}, {k, e}, {m, n == 5 ? k : e}, {m, e}};
  ShardExtent *all = shardBoundedNewShape(b, rank + 2);
  bool *known = SHARD_ARENA_ARRAY(b->arena, bool, rank + 3);
  for (intptr_t i = 0; i < n; ++i) {
    MlirValue operand = mlirOperationGetOperand(op, i);
    if (!shardIsTensor(operand) || shardRankOf(operand) != rank)
      return shardBoundedRefuse(op);
    for (intptr_t at = 0; at < rank; ++at) {
      intptr_t place = at < m ? at : last[i][at - m];
      ShardExtent extent = shardBoundedExtent(b, operand, at);
      if (mlirLogicalResultIsFailure(shardBoundedMeet(b, op, &known[place], &all[place], &extent)))
        return mlirLogicalResultFailure();
    }
  }
  if (!shardExtentIsNumber(b, &all[d]) || !shardExtentIsNumber(b, &all[e]))
    return shardBoundedRefuse(op);
  ShardExtent *shape = shardBoundedNewShape(b, rank);
  for (intptr_t at = 0; at < rank; ++at)
    shape[at] = all[at == d ? e : at];
  out->results[0] = shape;
  if (shardExtentIsNumber(b, &all[k]))
    return mlirLogicalResultSuccess();
  if (n == 4) {
    ShardExtent *scores = shardBoundedNewShape(b, rank);
    for (intptr_t at = 0; at < rank; ++at)
      scores[at] = all[at == d ? k : at];
    addMask(b, op, scores, rank);
  }
  MlirType mask = mlirShapedTypeGetElementType(mlirValueGetType(mlirOperationGetOperand(op, 3)));
  maskKeys(b, op, 1, m, 0);
  maskKeys(b, op, 2, m, 0);
  maskKeys(b, op, 3, d, mlirTypeIsAInteger(mask) ? 0 : -INFINITY);
  return mlirLogicalResultSuccess();
}

//===----------------------------------------------------------------------===//
// Along one dimension
//===----------------------------------------------------------------------===//

/// tm_tensor.scan, sort and topk: along a dimension of fixed size; a scan also along an open one,
/// whose valid steps come first.
MlirLogicalResult shardBoundedDescribeTm(ShardBounded *b, MlirOperation op, ShardBoundedOp *out) {
  if (shardOpIs(op, "tm_tensor.attention"))
    return describeAttention(b, op, out);
  int64_t dim = -1;
  MlirAttribute dimension = shardOpGetAttribute(op, "dimension");
  bool scan = shardOpIs(op, "tm_tensor.scan");
  bool known = scan || shardOpIs(op, "tm_tensor.sort") || shardOpIs(op, "tm_tensor.topk");
  intptr_t nOperands = mlirOperationGetNumOperands(op), nResults = mlirOperationGetNumResults(op);
  MlirValue first = nOperands ? mlirOperationGetOperand(op, 0) : (MlirValue){NULL};
  if (!known || nOperands < nResults || mlirAttributeIsNull(dimension) ||
      !mlirAttributeIsAInteger(dimension) || !shardAttrGetI64(dimension, &dim) ||
      !shardIsTensor(first) || dim < 0 || dim >= shardRankOf(first))
    return shardBoundedRefuse(op);
  ShardExtent along = shardBoundedExtent(b, first, (intptr_t)dim);
  bool total = nResults > 1 && !shardValueIsUnused(mlirOperationGetResult(op, 1)); // of storage
  if (!shardExtentIsNumber(b, &along) && (!scan || along.n > 1 || total))
    return shardBoundedRefuse(op);
  for (intptr_t r = 0; r < nResults; ++r) {
    MlirValue destination = mlirOperationGetOperand(op, nOperands - nResults + r);
    if (!shardIsTensor(destination))
      return shardBoundedRefuse(op);
    intptr_t rank = shardRankOf(destination);
    out->results[r] = shardBoundedShape(b, destination);
    for (intptr_t d = 0, at = 0; d < shardRankOf(first) && at < rank; ++d) {
      ShardExtent extent = shardBoundedExtent(b, first, d);
      bool same = true;
      if (d == dim && rank < shardRankOf(first))
        continue; // the running value has not this dimension
      if (d != dim &&
          mlirLogicalResultIsFailure(shardBoundedMeet(b, op, &same, &out->results[r][at], &extent)))
        return mlirLogicalResultFailure();
      ++at;
    }
  }
  return mlirLogicalResultSuccess();
}
