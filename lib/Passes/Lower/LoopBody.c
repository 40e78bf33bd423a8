//===- LoopBody.c - One step of a linalg.generic's loops -----------*- C -*-===//
#include "LoopNest.h"

MlirValue shardNestPlaceInLoop(ShardLowerBuilder *b, const ShardNest *nest, intptr_t loop,
                               MlirValue at) {
  int64_t begin = nest->parts.begins[loop];
  if (mlirValueIsNull(at))
    return shardMakeI64(b, begin);
  return begin ? shardMakeAdd(b, at, shardMakeI64(b, begin)) : at;
}

static MlirValue buildAffine(ShardLowerBuilder *b, const ShardNest *nest, MlirAffineExpr expr) {
  if (mlirAffineExprIsADim(expr)) {
    intptr_t loop = mlirAffineDimExprGetPosition(expr);
    return shardNestPlaceInLoop(b, nest, loop, nest->indices[loop]);
  }
  if (mlirAffineExprIsAConstant(expr))
    return shardMakeI64(b, mlirAffineConstantExprGetValue(expr));
  MlirValue operands[] = {buildAffine(b, nest, mlirAffineBinaryOpExprGetLHS(expr)),
                          buildAffine(b, nest, mlirAffineBinaryOpExprGetRHS(expr))};
  // Indices are not negative: truncating division is floor division.
  const char *name = mlirAffineExprIsAAdd(expr)        ? "arith.addi"
                     : mlirAffineExprIsAMul(expr)      ? "arith.muli"
                     : mlirAffineExprIsAMod(expr)      ? "arith.remui"
                     : mlirAffineExprIsAFloorDiv(expr) ? "arith.divui"
                                                       : "arith.ceildivui";
  return shardMakeValue(b, name, nest->lowering->i64, 2, operands);
}

static MlirValue elementPointer(ShardLowerBuilder *b, const ShardNest *nest,
                                const ShardNestAccess *access, MlirValue pointer) {
  if (access->isLinear)
    return pointer;
  MlirValue offset = shardMakeI64(b, 0);
  for (intptr_t d = 0; d < mlirAffineMapGetNumResults(access->map); ++d)
    offset =
        shardMakeAdd(b, offset,
                     shardMakeMul(b, buildAffine(b, nest, mlirAffineMapGetResult(access->map, d)),
                                  shardMakeI64(b, access->bufferStrides[d])));
  return shardMakeElementPointer(b, access->value, offset, access->element);
}

/// What a linalg.index of the body is.
static MlirValue placeOfIndex(ShardLowerBuilder *b, const ShardNest *nest, MlirOperation op) {
  int64_t dim;
  shardAttrGetI64(shardOpGetAttribute(op, "dim"), &dim);
  MlirValue index = shardNestPlaceInLoop(b, nest, dim, nest->indices[dim]);
  return shardMakeIndexCast(b, index, nest->lowering->index);
}

static MlirLogicalResult rewriteIndex(void *user, MlirOperation op) {
  const ShardNest *nest = user;
  ShardLowerBuilder b = shardLowerBuilderBefore(nest->lowering, op);
  mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, 0), placeOfIndex(&b, nest, op));
  return mlirLogicalResultSuccess();
}

ShardPointerMap *shardNestMapArguments(const ShardNest *nest, const MlirValue *arguments) {
  ShardPointerMap *map = shardPointerMapCreate(nest->lowering->arena, 64);
  for (intptr_t i = 0; i < nest->nOperands; ++i)
    if (!mlirValueIsNull(arguments[i]))
      shardValueMapSet(map, mlirBlockGetArgument(nest->body, i), arguments[i]);
  return map;
}

/// Clones the body with these values of its arguments (null: unused). Writes the yielded values.
static void emitBody(ShardNest *nest, ShardLowerBuilder *b, const MlirValue *arguments,
                     MlirValue *yielded) {
  ShardPointerMap *map = shardNestMapArguments(nest, arguments);
  MlirOperation op = mlirBlockGetFirstOperation(nest->body);
  for (; !shardOpIs(op, "linalg.yield"); op = mlirOperationGetNextInBlock(op)) {
    if (shardOpIs(op, "linalg.index")) {
      shardValueMapSet(map, mlirOperationGetResult(op, 0), placeOfIndex(b, nest, op));
      continue;
    }
    MlirOperation clone = shardOpCloneMapped(op, b->block, b->before, map);
    if (mlirOperationGetNumRegions(op))
      shardWalk(clone, "linalg.index", rewriteIndex, nest);
  }
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    yielded[i] = shardValueMapGet(map, mlirOperationGetOperand(op, i));
}

MlirValue shardNestAdvance(ShardLowerBuilder *b, const ShardNestAccess *access, MlirValue pointer,
                           intptr_t loop, MlirValue index) {
  int64_t stride = access->strides[loop];
  if (access->isScalar || !access->isLinear || !stride)
    return pointer;
  MlirValue elements = stride == 1 ? index : shardMakeMul(b, index, shardMakeI64(b, stride));
  return shardMakeElementPointer(b, pointer, elements, access->element);
}

void shardNestEmitPoint(ShardNest *nest, ShardLowerBuilder *b, const MlirValue *pointers,
                        const MlirValue *carried, MlirValue *yielded) {
  MlirValue arguments[SHARD_NEST_MAX_OPERANDS], places[SHARD_NEST_MAX_OPERANDS];
  for (intptr_t i = 0; i < nest->nOperands; ++i) {
    const ShardNestAccess *access = &nest->accesses[i];
    arguments[i] = (MlirValue){NULL};
    places[i] = access->isScalar ? (MlirValue){NULL} : elementPointer(b, nest, access, pointers[i]);
    bool isOutput = i >= nest->nInputs;
    if (isOutput && carried)
      arguments[i] = carried[i - nest->nInputs];
    else if (shardValueIsUnused(mlirBlockGetArgument(nest->body, i)))
      continue;
    else
      arguments[i] =
          access->isScalar ? access->value : shardMakeLoad(b, places[i], access->element);
  }
  emitBody(nest, b, arguments, yielded);
  if (!carried)
    for (intptr_t i = nest->nInputs; i < nest->nOperands; ++i)
      shardMakeStore(b, yielded[i - nest->nInputs], places[i]);
}
