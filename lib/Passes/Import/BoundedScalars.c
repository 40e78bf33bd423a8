//===- BoundedScalars.c - Numbers that follow from extents ---------*- C -*-===//
// Where such a number is a size, its bound is taken; where it is a value, it is computed.
//===----------------------------------------------------------------------===//
#include "BoundedShapes.h"

static void noteScalar(ShardBounded *b, MlirValue value, const ShardExtent *extent) {
  ShardExtent *kept = NULL;
  if (extent) {
    kept = SHARD_ARENA_NEW(b->arena, ShardExtent);
    *kept = *extent;
  }
  shardPointerMapSet(b->scalars, value.ptr, (int64_t)(intptr_t)kept);
}

/// tensor.dim: the number itself, where it is a value; where it is a shape, its bound.
static void replaceDim(ShardBounded *b, MlirOperation *op, intptr_t d) {
  ShardExtent extent = shardBoundedExtent(b, mlirOperationGetOperand(*op, 0), d);
  ShardInsert at = shardInsertBefore(*op);
  MlirValue *extents = SHARD_ARENA_ARRAY(b->arena, MlirValue, b->nDims + 1);
  for (int32_t k = 0; k < b->nDims; ++k) {
    bool read = false;
    for (int32_t i = 0; i < extent.n; ++i)
      read |= extent.digits[i].terms[1 + k] != 0;
    if (!read)
      continue;
    MlirValue argument = shardBoundedArgument(b, *op, k);
    MlirValue number = shardInsertOp(&at, "tensor.extract", mlirIntegerTypeGet(b->context, 64), 1,
                                     &argument, 0, NULL);
    extents[k] = shardInsertIntegerCast(&at, number, mlirIndexTypeGet(b->context));
  }
  MlirValue number = shardExtentBuild(b, &at, &extent, extents);
  noteScalar(b, number, &extent);
  mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(*op, 0), number);
  mlirOperationDestroy(*op);
  *op = (MlirOperation){NULL};
}

static MlirOperation replaceByNumber(MlirOperation op, int64_t number) {
  MlirValue result = mlirOperationGetResult(op, 0);
  ShardInsert at = shardInsertBefore(op);
  MlirValue constant = shardInsertScalar(&at, mlirIntegerAttrGet(mlirValueGetType(result), number));
  mlirValueReplaceAllUsesOfWith(result, constant);
  mlirOperationDestroy(op);
  return (MlirOperation){NULL};
}

/// 1, 0, or -1 where the extents decide.
static int decide(int64_t predicate, ShardExtentOrder order) {
  bool same = order == SHARD_EXTENTS_SAME, above = order == SHARD_EXTENTS_ABOVE,
       below = order == SHARD_EXTENTS_BELOW;
  bool notBelow = same || above || order == SHARD_EXTENTS_NOT_BELOW;
  bool notAbove = same || below || order == SHARD_EXTENTS_NOT_ABOVE;
  switch (predicate) {
  case 0: // eq
    return same ? 1 : above || below ? 0 : -1;
  case 1: // ne
    return same ? 0 : above || below ? 1 : -1;
  case 2: // slt, ult: extents are no less than 0
  case 6:
    return below ? 1 : notBelow ? 0 : -1;
  case 3: // sle, ule
  case 7:
    return notAbove ? 1 : above ? 0 : -1;
  case 4: // sgt, ugt
  case 8:
    return above ? 1 : notAbove ? 0 : -1;
  default: // sge, uge
    return notBelow ? 1 : below ? 0 : -1;
  }
}

/// Whether an unsigned comparison of the two is a signed one.
static bool neitherNegative(ShardBounded *b, const ShardExtent *x, const ShardExtent *y) {
  ShardExtent zero = shardExtentOfNumber(b, 0);
  return decide(5, shardExtentCompare(b, x, &zero)) == 1 &&
         decide(5, shardExtentCompare(b, y, &zero)) == 1;
}

static bool bothScalars(ShardBounded *b, MlirOperation op, ShardExtent *x, ShardExtent *y) {
  return shardBoundedScalar(b, mlirOperationGetOperand(op, 0), x) &&
         shardBoundedScalar(b, mlirOperationGetOperand(op, 1), y);
}

/// Arithmetic on scalars that follow from extents.
void shardBoundedDescribeScalar(ShardBounded *b, MlirOperation *op) {
  bool follows = false;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(*op); ++i)
    follows |= shardBoundedIsScalar(b, mlirOperationGetOperand(*op, i));
  if (!follows || mlirOperationGetNumResults(*op) != 1)
    return;
  MlirValue result = mlirOperationGetResult(*op, 0);
  ShardExtent x, y;
  bool least = shardOpIs(*op, "arith.minsi"), most = shardOpIs(*op, "arith.maxsi");
  if (shardOpIs(*op, "arith.cmpi") && bothScalars(b, *op, &x, &y)) {
    int64_t predicate = 0;
    shardAttrGetI64(shardOpGetAttribute(*op, "predicate"), &predicate);
    int holds = predicate < 6 || neitherNegative(b, &x, &y)
                    ? decide(predicate, shardExtentCompare(b, &x, &y))
                    : -1;
    if (holds >= 0) {
      *op = replaceByNumber(*op, holds);
      return;
    }
  } else if ((least || most) && bothScalars(b, *op, &x, &y)) {
    ShardExtentOrder order = shardExtentCompare(b, &x, &y);
    int isLess = decide(3, order), isMore = decide(5, order);
    if (isLess == 1 || isMore == 1) {
      bool left = (isLess == 1) == least;
      mlirValueReplaceAllUsesOfWith(result, mlirOperationGetOperand(*op, left ? 0 : 1));
      mlirOperationDestroy(*op);
      *op = (MlirOperation){NULL};
      return;
    }
  }
  int64_t chosen;
  MlirOperation condition = shardValueDefiningOp(mlirOperationGetOperand(*op, 0));
  if (shardOpIs(*op, "arith.select") && !mlirOperationIsNull(condition) &&
      shardOpIs(condition, "arith.constant") &&
      shardAttrGetI64(shardOpGetAttribute(condition, "value"), &chosen)) {
    mlirValueReplaceAllUsesOfWith(result, mlirOperationGetOperand(*op, chosen ? 1 : 2));
    mlirOperationDestroy(*op);
    *op = (MlirOperation){NULL};
    return;
  }
  noteScalar(b, result, shardBoundedScalar(b, result, &x) ? &x : NULL);
}

void shardBoundedDescribeDim(ShardBounded *b, MlirOperation *op) {
  ShardExtent index;
  MlirValue source = mlirOperationGetOperand(*op, 0);
  if (!shardIsTensor(source) || !shardBoundedScalar(b, mlirOperationGetOperand(*op, 1), &index) ||
      !shardExtentIsNumber(b, &index) || shardExtentBound(&index) >= shardRankOf(source) ||
      shardExtentBound(&index) < 0)
    return;
  intptr_t d = (intptr_t)shardExtentBound(&index);
  ShardExtent extent = shardBoundedExtent(b, source, d);
  if (!shardExtentIsNumber(b, &extent))
    replaceDim(b, op, d);
}

/// An assertion that two extents are equal is noted, and checked with the others.
void shardBoundedDescribeAssert(ShardBounded *b, MlirOperation *op) {
  MlirOperation compare = shardValueDefiningOp(mlirOperationGetOperand(*op, 0));
  int64_t predicate = -1;
  ShardExtent x, y, both;
  if (mlirOperationIsNull(compare) || !shardOpIs(compare, "arith.cmpi") ||
      !shardAttrGetI64(shardOpGetAttribute(compare, "predicate"), &predicate) || predicate != 0 ||
      !bothScalars(b, compare, &x, &y) ||
      (shardExtentIsNumber(b, &x) && shardExtentIsNumber(b, &y)) ||
      !shardExtentUnify(b, &x, &y, &both))
    return;
  mlirOperationDestroy(*op);
  *op = (MlirOperation){NULL};
}
