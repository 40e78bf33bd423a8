//===- Bounded.c - Dynamic dimensions with a bound -----------------*- C -*-===//
#include "Bounded.h"

#include "mlir-c/BuiltinTypes.h"

static void setFirst(const ShardBounded *b, MlirOperation func) {
  MlirBlock body = shardFuncGetBody(func);
  MlirType type =
      mlirRankedTensorTypeGet(0, NULL, mlirIntegerTypeGet(b->context, 64), mlirAttributeGetNull());
  shardPointerMapSet(b->firstExtent, func.ptr, mlirBlockGetNumArguments(body));
  for (int32_t k = 0; k < b->nDims; ++k)
    mlirBlockAddArgument(body, type, mlirOperationGetLocation(func));
  shardImportPadArgumentAttributes(b->import, func);
  shardFuncUpdateType(func);
}

ShardBounded *shardBoundedCreate(const ShardImport *import, int32_t nDims,
                                 const ShardBoundedDim *dims) {
  ShardBounded *b = SHARD_ARENA_NEW(import->arena, ShardBounded);
  *b = (ShardBounded){.import = import,
                      .arena = import->arena,
                      .context = import->context,
                      .nDims = nDims,
                      .dims = dims,
                      .shapes = shardPointerMapCreate(import->arena, 1024),
                      .scalars = shardPointerMapCreate(import->arena, 256),
                      .firstExtent = shardPointerMapCreate(import->arena, 16),
                      .masked = shardPointerMapCreate(import->arena, 256)};
  MlirBlock body = shardFuncGetBody(import->entry);
  b->nArguments = mlirBlockGetNumArguments(body);
  const ShardExtent **arguments =
      SHARD_ARENA_ARRAY(b->arena, const ShardExtent *, b->nArguments + 1);
  b->arguments = arguments;
  for (int32_t k = 0; k < nDims; ++k) {
    MlirValue argument = mlirBlockGetArgument(body, (intptr_t)dims[k].argument);
    MlirType type = mlirValueGetType(argument);
    intptr_t rank = mlirShapedTypeGetRank(type);
    ShardExtent *shape = (ShardExtent *)arguments[dims[k].argument];
    if (!shape) {
      shape = SHARD_ARENA_ARRAY(b->arena, ShardExtent, rank + 1);
      for (intptr_t d = 0; d < rank; ++d)
        if (!mlirShapedTypeIsDynamicDim(type, d))
          shape[d] = shardExtentOfNumber(b, mlirShapedTypeGetDimSize(type, d));
      arguments[dims[k].argument] = shape;
    }
    int64_t *terms = SHARD_ARENA_ARRAY(b->arena, int64_t, nDims + 1);
    terms[1 + k] = 1;
    ShardDigit *digit = SHARD_ARENA_NEW(b->arena, ShardDigit);
    *digit = (ShardDigit){dims[k].most, terms};
    shape[dims[k].dimension] = (ShardExtent){.n = 1, .digits = digit};
  }
  for (intptr_t i = 0; i < b->nArguments; ++i)
    if (arguments[i])
      shardPointerMapSet(b->shapes, mlirBlockGetArgument(body, i).ptr,
                         (int64_t)(intptr_t)arguments[i]);
  for (intptr_t f = 0; f < import->nFunctions; ++f)
    setFirst(b, import->functions[f]);
  return b;
}

MlirValue shardBoundedArgument(const ShardBounded *b, MlirOperation op, int32_t dim) {
  while (!shardOpIs(op, "func.func"))
    op = mlirOperationGetParentOperation(op);
  return mlirBlockGetArgument(shardFuncGetBody(op),
                              shardPointerMapGetOr(b->firstExtent, op.ptr, 0) + dim);
}

//===----------------------------------------------------------------------===//
// What is written down
//===----------------------------------------------------------------------===//

static MlirNamedAttribute named(const ShardBounded *b, const char *name, MlirAttribute value) {
  return mlirNamedAttributeGet(mlirIdentifierGet(b->context, mlirStringRefCreateFromCString(name)),
                               value);
}

/// [[array<i64: bound, terms...>, a digit each], a dimension each]
static MlirAttribute shapeAttribute(const ShardBounded *b, const ShardExtent *shape,
                                    intptr_t rank) {
  MlirAttribute *dims = SHARD_ARENA_ARRAY(b->arena, MlirAttribute, rank + 1);
  for (intptr_t d = 0; d < rank && shape; ++d) {
    MlirAttribute *digits = SHARD_ARENA_ARRAY(b->arena, MlirAttribute, shape[d].n + 1);
    for (int32_t i = 0; i < shape[d].n; ++i) {
      int64_t *numbers = SHARD_ARENA_ARRAY(b->arena, int64_t, b->nDims + 2);
      numbers[0] = shape[d].digits[i].bound;
      for (int32_t k = 0; k <= b->nDims; ++k)
        numbers[1 + k] = shape[d].digits[i].terms[k];
      digits[i] = shardAttrI64Array(b->context, b->nDims + 2, numbers);
    }
    dims[d] = mlirArrayAttrGet(b->context, shape[d].n, digits);
  }
  return mlirArrayAttrGet(b->context, shape ? rank : 0, dims);
}

static MlirAttribute shapesAttribute(const ShardBounded *b, intptr_t n,
                                     const ShardExtent *const *shapes, const MlirValue *values) {
  MlirAttribute *list = SHARD_ARENA_ARRAY(b->arena, MlirAttribute, n + 1);
  for (intptr_t i = 0; i < n; ++i)
    list[i] = shapeAttribute(b, shapes[i], mlirShapedTypeGetRank(mlirValueGetType(values[i])));
  return mlirArrayAttrGet(b->context, n, list);
}

static MlirAttribute dynamicAttribute(const ShardBounded *b, intptr_t firstExtent) {
  MlirBlock body = shardFuncGetBody(b->import->entry);
  MlirOperation end = mlirBlockGetTerminator(body);
  intptr_t n = mlirOperationGetNumOperands(end);
  MlirValue *values = SHARD_ARENA_ARRAY(b->arena, MlirValue, n + b->nArguments + 1);
  for (intptr_t i = 0; i < n; ++i)
    values[i] = mlirOperationGetOperand(end, i);
  MlirAttribute resultShapes = shapesAttribute(b, n, b->results, values);
  for (intptr_t i = 0; i < b->nArguments; ++i)
    values[i] = mlirBlockGetArgument(body, i);
  MlirAttribute *dims = SHARD_ARENA_ARRAY(b->arena, MlirAttribute, b->nDims + 1);
  for (int32_t k = 0; k < b->nDims; ++k) {
    int64_t numbers[] = {b->dims[k].argument, b->dims[k].dimension, b->dims[k].least,
                         b->dims[k].most};
    dims[k] = shardAttrI64Array(b->context, 4, numbers);
  }
  MlirAttribute *equal = SHARD_ARENA_ARRAY(b->arena, MlirAttribute, b->nEqual + 1);
  for (size_t i = 0; i < b->nEqual; ++i)
    equal[i] = shardAttrI64Array(b->context, b->nDims + 1, b->equal[i]);
  MlirNamedAttribute entries[] = {
      named(b, "dims", mlirArrayAttrGet(b->context, b->nDims, dims)),
      named(b, "extents", shardAttrI64(b->context, firstExtent)),
      named(b, "equal", mlirArrayAttrGet(b->context, (intptr_t)b->nEqual, equal)),
      named(b, "arguments", shapesAttribute(b, b->nArguments, b->arguments, values)),
      named(b, "results", resultShapes)};
  return mlirDictionaryAttrGet(b->context, sizeof(entries) / sizeof(entries[0]), entries);
}

void shardBoundedSetResults(ShardBounded *b) {
  MlirOperation end = mlirBlockGetTerminator(shardFuncGetBody(b->import->entry));
  intptr_t n = mlirOperationGetNumOperands(end);
  const ShardExtent **results = SHARD_ARENA_ARRAY(b->arena, const ShardExtent *, n + 1);
  for (intptr_t i = 0; i < n; ++i)
    results[i] = (const ShardExtent *)(intptr_t)shardPointerMapGetOr(
        b->shapes, mlirOperationGetOperand(end, i).ptr, 0);
  b->results = results;
  b->nResults = n;
}

void shardBoundedFinish(const ShardImport *import) {
  const ShardBounded *b = import->bounded;
  if (!b)
    return;
  MlirBlock body = shardFuncGetBody(import->entry);
  intptr_t first = shardPointerMapGetOr(b->firstExtent, import->entry.ptr, 0);
  for (int32_t k = 0; k < b->nDims; ++k) {
    MlirValue old = mlirBlockGetArgument(body, first);
    MlirValue last =
        mlirBlockAddArgument(body, mlirValueGetType(old), mlirOperationGetLocation(import->entry));
    mlirValueReplaceAllUsesOfWith(old, last);
    mlirBlockEraseArgument(body, (unsigned)first);
  }
  shardFuncUpdateType(import->entry);
  shardOpSetAttribute(import->module, "spmd.dynamic",
                      dynamicAttribute(b, mlirBlockGetNumArguments(body) - b->nDims));
}

//===----------------------------------------------------------------------===//
// Calls and regions
//===----------------------------------------------------------------------===//

static const ShardExtent *shapeOf(const ShardBounded *b, MlirValue value) {
  return (const ShardExtent *)(intptr_t)shardPointerMapGetOr(b->shapes, value.ptr, 0);
}

static bool sameShape(const ShardBounded *b, MlirValue x, MlirValue y) {
  const ShardExtent *left = shapeOf(b, x), *right = shapeOf(b, y);
  if (!left || !right)
    return left == right;
  for (intptr_t d = 0; d < mlirShapedTypeGetRank(mlirValueGetType(x)); ++d)
    if (!shardExtentEqual(b, &left[d], &right[d]))
      return false;
  return true;
}

bool shardBoundedEnter(ShardBounded *b, MlirValue inside, MlirValue outside, bool isFirst) {
  if (mlirTypeIsARankedTensor(mlirValueGetType(outside))) {
    if (isFirst)
      shardPointerMapSet(b->shapes, inside.ptr, (int64_t)(intptr_t)shapeOf(b, outside));
    return isFirst || sameShape(b, inside, outside);
  }
  ShardExtent form, other;
  bool has = shardBoundedScalar(b, outside, &form);
  if (isFirst && has && !shardExtentIsNumber(b, &form)) {
    ShardExtent *kept = SHARD_ARENA_NEW(b->arena, ShardExtent);
    *kept = form;
    shardPointerMapSet(b->scalars, inside.ptr, (int64_t)(intptr_t)kept);
  }
  return isFirst || !shardBoundedScalar(b, inside, &other) ||
         (has && shardExtentEqual(b, &form, &other));
}

bool shardBoundedYield(ShardBounded *b, MlirOperation op, intptr_t result, MlirValue yielded,
                       bool isFirst) {
  MlirValue made = mlirOperationGetResult(op, result);
  if (!mlirTypeIsARankedTensor(mlirValueGetType(yielded)))
    return true;
  intptr_t nOperands = mlirOperationGetNumOperands(op), nResults = mlirOperationGetNumResults(op);
  if (shardOpIs(op, "scf.for") &&
      !sameShape(b, mlirOperationGetOperand(op, nOperands - nResults + result), yielded))
    return false;
  return shardBoundedEnter(b, made, yielded, isFirst);
}

void shardBoundedPassExtents(ShardBounded *b, MlirOperation call) {
  intptr_t n = mlirOperationGetNumOperands(call);
  MlirValue *operands = SHARD_ARENA_ARRAY(b->arena, MlirValue, n + b->nDims + 1);
  for (intptr_t i = 0; i < n; ++i)
    operands[i] = mlirOperationGetOperand(call, i);
  for (int32_t k = 0; k < b->nDims; ++k)
    operands[n + k] = shardBoundedArgument(b, call, k);
  mlirOperationSetOperands(call, n + b->nDims, operands);
}
