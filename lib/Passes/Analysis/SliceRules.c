//===- SliceRules.c - Dimension rules of slices, pads, concats ----*- C -*-===//
// What cuts a dimension or puts pieces together: a piece that tiles it is a loop of it, another one
// leaves it whole here (Windows.c goes on from there).
//===----------------------------------------------------------------------===//

#include "RulesInternal.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

static bool readI64Array(MlirOperation op, const char *name, intptr_t rank, int64_t *out) {
  MlirAttribute attribute = shardOpGetAttribute(op, name);
  if (!attribute.ptr || !mlirAttributeIsADenseI64Array(attribute) ||
      mlirDenseArrayGetNumElements(attribute) != rank || rank > SHARD_MAX_LOOPS)
    return false;
  for (intptr_t i = 0; i < rank; ++i)
    out[i] = mlirDenseI64ArrayGetElement(attribute, i);
  return true;
}

/// A window [offset, offset + size) of a dimension of `full` steps: a whole dimension, one of equal
/// tiles ([tile number, step in tile]), or something else. `loop` runs over the window.
static ShardDimExpr windowDim(ShardRuleBuilder *b, ShardOpShape *shape, int64_t full,
                              int64_t offset, int64_t size, int64_t stride, int32_t loop,
                              bool wholeTiles) {
  if (size == full && offset == 0 && stride == 1)
    return shardRuleDimLoop(b, loop);
  if (stride == 1 && size > 1 && offset >= 0 && offset % size == 0 && full % size == 0) {
    int32_t loops[2] = {shardRuleAddLoop(b, shape, full / size, wholeTiles, false), loop};
    return shardRuleDimProduct(b, 2, loops);
  }
  return shardRuleDimWhole();
}

bool shardSliceMatchDims(MlirType reduced, intptr_t rank, const int64_t *sizes, int32_t *out) {
  intptr_t next = 0, reducedRank = (intptr_t)mlirShapedTypeGetRank(reduced);
  for (intptr_t d = 0; d < rank; ++d) {
    intptr_t left = rank - d, needed = reducedRank - next;
    if (next < reducedRank && mlirShapedTypeGetDimSize(reduced, next) == sizes[d] &&
        (sizes[d] != 1 || needed >= left))
      out[d] = (int32_t)next++;
    else if (sizes[d] == 1)
      out[d] = -1;
    else
      return false;
  }
  return next == reducedRank;
}

/// Do other slices cut this dimension in pieces of another size? Then no one tiling is right for
/// all, and tying the pieces to it would tie what they mean to each other.
static bool isCutOtherwise(MlirValue source, intptr_t dim, int64_t size) {
  for (MlirOpOperand use = mlirValueGetFirstUse(source); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use)) {
    MlirOperation user = mlirOpOperandGetOwner(use);
    int64_t sizes[SHARD_MAX_LOOPS];
    if (mlirOpOperandGetOperandNumber(use) != 0 || !shardOpIs(user, "tensor.extract_slice") ||
        !readI64Array(user, "static_sizes", (intptr_t)rankOf(source), sizes))
      continue;
    if (sizes[dim] != size && sizes[dim] != sizeOf(source, dim))
      return true;
  }
  return false;
}

void shardRuleDescribeExtractSlice(ShardRuleBuilder *b, MlirOperation op, ShardOpShape *shape) {
  shardRuleAddAllPorts(b, op, shape);
  ShardPortShape *source = &shape->operands[0], *result = &shape->results[0];
  intptr_t rank = (intptr_t)rankOf(source->value);
  int64_t offsets[SHARD_MAX_LOOPS], sizes[SHARD_MAX_LOOPS], strides[SHARD_MAX_LOOPS];
  int32_t reduced[SHARD_MAX_LOOPS];
  if (!readI64Array(op, "static_offsets", rank, offsets) ||
      !readI64Array(op, "static_sizes", rank, sizes) ||
      !readI64Array(op, "static_strides", rank, strides) ||
      !shardSliceMatchDims(mlirValueGetType(result->value), rank, sizes, reduced))
    return;
  for (intptr_t d = 0; d < rank; ++d) {
    if (reduced[d] < 0)
      continue;
    int32_t loop = shardRuleAddLoop(b, shape, sizes[d], false, false);
    bool cut = sizes[d] != sizeOf(source->value, d);
    ShardDimExpr window = cut && isCutOtherwise(source->value, d, sizes[d])
                              ? shardRuleDimWhole()
                              : windowDim(b, shape, sizeOf(source->value, d), offsets[d], sizes[d],
                                          strides[d], loop, true);
    source->dims[d] = window;
    if (window.kind != SHARD_DIM_WHOLE)
      result->dims[reduced[d]] = shardRuleDimLoop(b, loop);
  }
}

void shardRuleDescribeInsertSlice(ShardRuleBuilder *b, MlirOperation op, ShardOpShape *shape) {
  shardRuleAddAllPorts(b, op, shape);
  ShardPortShape *source = &shape->operands[0], *dest = &shape->operands[1],
                 *result = &shape->results[0];
  intptr_t rank = (intptr_t)rankOf(result->value);
  int64_t offsets[SHARD_MAX_LOOPS], sizes[SHARD_MAX_LOOPS], strides[SHARD_MAX_LOOPS];
  int32_t reduced[SHARD_MAX_LOOPS];
  if (!readI64Array(op, "static_offsets", rank, offsets) ||
      !readI64Array(op, "static_sizes", rank, sizes) ||
      !readI64Array(op, "static_strides", rank, strides) ||
      !shardSliceMatchDims(mlirValueGetType(source->value), rank, sizes, reduced))
    return;
  for (intptr_t d = 0; d < rank; ++d) {
    int64_t full = sizeOf(result->value, d);
    int32_t loop = shardRuleAddLoop(b, shape, sizes[d], false, false);
    ShardDimExpr window = windowDim(b, shape, full, offsets[d], sizes[d], strides[d], loop, false);
    if (window.kind != SHARD_DIM_WHOLE && reduced[d] >= 0)
      source->dims[reduced[d]] = shardRuleDimLoop(b, loop);
    else if (window.kind == SHARD_DIM_WHOLE && strides[d] == 1) // the owner writes
      window = shardRuleDimLoop(b, shardRuleAddLoop(b, shape, full, false, false));
    dest->dims[d] = result->dims[d] = window;
  }
}

void shardRuleDescribePad(ShardRuleBuilder *b, MlirOperation op, ShardOpShape *shape) {
  shardRuleAddAllPorts(b, op, shape);
  ShardPortShape *source = &shape->operands[0], *result = &shape->results[0];
  intptr_t rank = (intptr_t)rankOf(result->value);
  int64_t low[SHARD_MAX_LOOPS], high[SHARD_MAX_LOOPS];
  if (!readI64Array(op, "static_low", rank, low) || !readI64Array(op, "static_high", rank, high))
    return;
  for (intptr_t d = 0; d < rank; ++d)
    if (low[d] == 0 && high[d] == 0)
      source->dims[d] = result->dims[d] =
          shardRuleDimLoop(b, shardRuleAddLoop(b, shape, sizeOf(result->value, d), false, false));
}

void shardRuleDescribeConcat(ShardRuleBuilder *b, MlirOperation op, ShardOpShape *shape) {
  shardRuleAddAllPorts(b, op, shape);
  ShardPortShape *result = &shape->results[0];
  int64_t dim = 0;
  shardAttrGetI64(shardOpGetAttribute(op, "dim"), &dim);
  bool equal = true;
  for (int32_t i = 1; i < shape->nOperands; ++i)
    equal &= sizeOf(shape->operands[i].value, dim) == sizeOf(shape->operands[0].value, dim);
  for (intptr_t d = 0; d < rankOf(result->value); ++d) {
    if (d == dim && !equal)
      continue;
    int32_t loop = shardRuleAddLoop(b, shape, sizeOf(shape->operands[0].value, d), false, false);
    for (int32_t i = 0; i < shape->nOperands; ++i)
      shape->operands[i].dims[d] = shardRuleDimLoop(b, loop);
    if (d == dim && shape->nOperands > 1) {
      int32_t loops[2] = {shardRuleAddLoop(b, shape, shape->nOperands, true, false), loop};
      result->dims[d] = shardRuleDimProduct(b, 2, loops);
    } else {
      result->dims[d] = shardRuleDimLoop(b, loop);
    }
  }
}
