//===- TmScatter.c - tm_tensor.scatter -----------------------------*- C -*-===//
// A reduction over the updates in which the element that an update names takes it.
//===----------------------------------------------------------------------===//
#include "TmTensor.h"

#include "mlir-c/AffineExpr.h"
#include "mlir-c/BuiltinTypes.h"

#include <string.h>

enum { EQ = 0 }; // arith.cmpi

typedef struct Scatter {
  const TmOp *t;
  intptr_t depth;
  const int64_t *dims; // [depth] that the indices name
} Scatter;

/// Inputs: the update, its indices; output: the element.
static void buildScatter(void *user, const ShardInsert *at, const MlirValue *arguments,
                         MlirValue *yielded) {
  const Scatter *scatter = user;
  MlirValue element = arguments[1 + scatter->depth], hit = {NULL};
  for (intptr_t i = 0; i < scatter->depth; ++i) {
    MlirValue index = arguments[1 + i];
    MlirValue place = shardInsertIntegerCast(at, shardInsertLoopIndex(at, scatter->dims[i]),
                                             mlirValueGetType(index));
    MlirValue equal = shardInsertCompare(at, EQ, index, place);
    hit = mlirValueIsNull(hit) ? equal : shardInsertBinary(at, "arith.andi", hit, equal);
  }
  MlirValue pair[2] = {arguments[0], element};
  yielded[0] = shardInsertSelect(at, hit, shardTmInlineBody(scatter->t, at, pair), element);
}

/// updates [n, ...], indices [n, depth], original. An update's dimensions but the first are the
/// original's last ones; where an index names one of those, it has extent 1.
MlirLogicalResult shardTmImportScatter(TmOp *t) {
  if (mlirLogicalResultIsFailure(shardTmReadOperands(t, 2, 1)) ||
      mlirLogicalResultIsFailure(shardTmReadBody(t, 0, 1, false)))
    return mlirLogicalResultFailure();
  MlirType updates = shardTmTypeOf(t, 0), indices = shardTmTypeOf(t, 1),
           original = shardTmTypeOf(t, 2);
  intptr_t rank = mlirShapedTypeGetRank(original), nUpdateDims = mlirShapedTypeGetRank(updates);
  MlirAttribute named = shardOpGetAttribute(t->op, "dimension_map");
  bool right = mlirShapedTypeGetRank(indices) == 2 && nUpdateDims >= 1 && nUpdateDims <= rank + 1 &&
               mlirTypeEqual(mlirShapedTypeGetElementType(updates),
                             mlirShapedTypeGetElementType(original)) &&
               mlirTypeIsAInteger(mlirShapedTypeGetElementType(indices)) &&
               !mlirAttributeIsNull(named) && mlirAttributeIsADenseI64Array(named);
  Scatter scatter = {.t = t};
  if (right) {
    scatter.depth = mlirShapedTypeGetDimSize(indices, 1);
    right = scatter.depth >= 1 && mlirDenseArrayGetNumElements(named) == scatter.depth &&
            mlirShapedTypeGetDimSize(indices, 0) == mlirShapedTypeGetDimSize(updates, 0);
  }
  int64_t *dims = SHARD_ARENA_ARRAY(t->arena, int64_t, right ? scatter.depth : 1);
  bool *indexed = SHARD_ARENA_ARRAY(t->arena, bool, rank + 1);
  for (intptr_t i = 0; right && i < scatter.depth; ++i) {
    dims[i] = shardArrayAttrAt(named, i);
    right = dims[i] >= 0 && dims[i] < rank && !indexed[dims[i]];
    if (right)
      indexed[dims[i]] = true;
  }
  scatter.dims = dims;
  intptr_t firstAligned = rank - (nUpdateDims - 1);
  for (intptr_t d = 0; right && d < rank; ++d) {
    int64_t extent = d < firstAligned ? 1 : mlirShapedTypeGetDimSize(updates, 1 + d - firstAligned);
    right = extent == (indexed[d] ? 1 : mlirShapedTypeGetDimSize(original, d)) &&
            (indexed[d] || d >= firstAligned);
  }
  if (!right)
    return shardTmMalformed(t,
                            "updates of whole slices: 'dimension_map' names a dimension for each "
                            "column of the indices, and the updates cover the others");
  ShardInsert at = shardInsertBefore(t->op);
  intptr_t nOperands = scatter.depth + 2;
  MlirAffineMap *maps = SHARD_ARENA_ARRAY(t->arena, MlirAffineMap, nOperands);
  MlirValue *operands = SHARD_ARENA_ARRAY(t->arena, MlirValue, nOperands);
  MlirAffineExpr *exprs = SHARD_ARENA_ARRAY(t->arena, MlirAffineExpr, rank + 1);
  exprs[0] = mlirAffineDimExprGet(at.context, rank);
  for (intptr_t k = 1; k < nUpdateDims; ++k) {
    intptr_t d = firstAligned + k - 1;
    exprs[k] =
        indexed[d] ? mlirAffineConstantExprGet(at.context, 0) : mlirAffineDimExprGet(at.context, d);
  }
  operands[0] = mlirOperationGetOperand(t->op, 0);
  maps[0] = mlirAffineMapGet(at.context, rank + 1, 0, nUpdateDims, exprs);
  for (intptr_t i = 0; i < scatter.depth; ++i) {
    exprs[1] = mlirAffineConstantExprGet(at.context, i);
    operands[1 + i] = mlirOperationGetOperand(t->op, 1);
    maps[1 + i] = mlirAffineMapGet(at.context, rank + 1, 0, 2, exprs);
  }
  operands[nOperands - 1] = mlirOperationGetOperand(t->op, 2);
  maps[nOperands - 1] = shardMapWithout(at.context, rank + 1, rank);
  char *iterators = SHARD_ARENA_ARRAY(t->arena, char, rank + 2);
  memset(iterators, 'p', (size_t)rank);
  iterators[rank] = 'r';
  MlirOperation generic =
      shardInsertGeneric(&at, iterators, nOperands - 1, 1, operands, maps, buildScatter, &scatter);
  shardTmReplaceResult(t, 0, mlirOperationGetResult(generic, 0));
  return mlirLogicalResultSuccess();
}
