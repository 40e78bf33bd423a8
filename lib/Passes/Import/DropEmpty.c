//===- DropEmpty.c - What tensors without elements have no part in -*- C -*-===//
// Reads: static shapes. Writes: an empty operand of tensor.concat goes, as does inserting one; a
// linalg op that has nothing to run over is its destination, padding of nothing is the padding.
// What only made such operands goes. (A cache that holds nothing yet is exported so.)
//===----------------------------------------------------------------------===//
#include "../Core/Insert.h"
#include "ImportParts.h"

#include "mlir-c/BuiltinTypes.h"

static bool isEmpty(MlirValue value) {
  MlirType type = mlirValueGetType(value);
  return mlirTypeIsARankedTensor(type) && shardTypeElementCount(type) == 0;
}

static bool isMade(MlirOperation op) {
  return mlirOperationGetNumResults(op) == 1 && !isEmpty(mlirOperationGetResult(op, 0));
}

static bool hasEmptyOperand(MlirOperation op) {
  for (intptr_t i = 0, n = mlirOperationGetNumOperands(op); i < n; ++i)
    if (isEmpty(mlirOperationGetOperand(op, i)))
      return true;
  return false;
}

static void replaceBy(MlirOperation op, MlirValue value) {
  mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, 0), value);
  mlirOperationDestroy(op);
}

static void dropFromConcat(MlirOperation op, ShardArena *arena) {
  intptr_t n = mlirOperationGetNumOperands(op), kept = 0;
  MlirValue *operands = SHARD_ARENA_ARRAY(arena, MlirValue, n + 1);
  for (intptr_t i = 0; i < n; ++i)
    if (!isEmpty(mlirOperationGetOperand(op, i)))
      operands[kept++] = mlirOperationGetOperand(op, i);
  if (kept == 1)
    replaceBy(op, operands[0]);
  else
    mlirOperationSetOperands(op, kept, operands);
}

/// tensor.pad of nothing: tensor.generate has the same body.
static void generatePadding(MlirOperation op) {
  MlirType type = mlirValueGetType(mlirOperationGetResult(op, 0));
  MlirRegion body = mlirRegionCreate();
  mlirRegionTakeBody(body, mlirOperationGetRegion(op, 0));
  replaceBy(op, mlirOperationGetResult(
                    shardOpCreate((MlirBlock){NULL}, op, mlirOperationGetLocation(op),
                                  "tensor.generate", 1, &type, 0, NULL, 0, NULL, 1, &body),
                    0));
}

/// The extent of a tensor that goes.
static void foldDim(MlirOperation op) {
  MlirOperation number = shardValueDefiningOp(mlirOperationGetOperand(op, 1));
  MlirType type = mlirValueGetType(mlirOperationGetOperand(op, 0));
  int64_t dim;
  if (mlirOperationIsNull(number) || !shardOpIs(number, "arith.constant") ||
      !shardAttrGetI64(shardOpGetAttribute(number, "value"), &dim) || dim < 0 ||
      dim >= mlirShapedTypeGetRank(type))
    return;
  ShardInsert at = shardInsertBefore(op);
  replaceBy(op, shardInsertIndexConstant(&at, mlirShapedTypeGetDimSize(type, (intptr_t)dim)));
}

static void dropOperands(MlirOperation op, ShardArena *arena) {
  intptr_t n = mlirOperationGetNumOperands(op);
  if (n == 0 || !hasEmptyOperand(op))
    return;
  if (shardOpIs(op, "tensor.dim"))
    foldDim(op);
  else if (shardOpIs(op, "tensor.concat") && isMade(op))
    dropFromConcat(op, arena);
  else if (shardOpIs(op, "tensor.insert_slice") && isMade(op) &&
           isEmpty(mlirOperationGetOperand(op, 0)))
    replaceBy(op, mlirOperationGetOperand(op, 1));
  else if (shardOpIs(op, "tensor.pad") && isMade(op))
    generatePadding(op);
  else if (shardNameHasDialect(shardOpGetName(op), "linalg") && isMade(op))
    replaceBy(op, mlirOperationGetOperand(op, n - 1));
}

/// An op that only makes tensors without elements, which nobody uses by now, and checks nothing.
static bool isLeft(MlirOperation op) {
  intptr_t n = mlirOperationGetNumResults(op);
  bool left = n > 0 && !shardImportAssertsOrCalls(op);
  for (intptr_t i = 0; i < n && left; ++i)
    left =
        isEmpty(mlirOperationGetResult(op, i)) && shardValueIsUnused(mlirOperationGetResult(op, i));
  return left;
}

static void dropInBlock(MlirBlock block, ShardArena *arena) {
  intptr_t n;
  MlirOperation *ops = shardBlockOps(block, arena, &n);
  for (intptr_t i = 0; i < n; ++i) {
    for (intptr_t g = 0, nRegions = mlirOperationGetNumRegions(ops[i]); g < nRegions; ++g)
      for (MlirBlock inner = mlirRegionGetFirstBlock(mlirOperationGetRegion(ops[i], g));
           !mlirBlockIsNull(inner); inner = mlirBlockGetNextInRegion(inner))
        dropInBlock(inner, arena);
    dropOperands(ops[i], arena);
  }
  ops = shardBlockOps(block, arena, &n);
  for (intptr_t i = n; i-- > 0;)
    if (isLeft(ops[i]))
      mlirOperationDestroy(ops[i]);
}

void shardImportDropEmpty(const ShardImport *import) {
  for (intptr_t f = 0; f < import->nFunctions; ++f)
    dropInBlock(shardFuncGetBody(import->functions[f]), import->arena);
}
