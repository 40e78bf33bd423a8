//===- SetDims.c - Extents for dynamic dimensions -----------------*- C -*-===//
#include "ImportParts.h"

#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/Dialect/Tosa.h"
#include "mlir-c/Pass.h"

#include <stdlib.h>
#include <string.h>

/// Index of the argument that the text names: a number, or its `spmd.name`; -1: none.
static intptr_t findArgument(const ShardImport *import, const char *text, size_t length) {
  intptr_t n = mlirBlockGetNumArguments(shardFuncGetBody(import->entry)), index = 0;
  bool isNumber = length > 0 && length < 9;
  for (size_t i = 0; i < length && isNumber; ++i) {
    isNumber = text[i] >= '0' && text[i] <= '9';
    index = index * 10 + (text[i] - '0');
  }
  if (isNumber)
    return index < n ? index : -1;
  for (intptr_t i = 0; i < n; ++i) {
    MlirAttribute name = shardFuncGetArgumentAttribute(import->entry, i, "spmd.name");
    if (!mlirAttributeIsNull(name) && mlirAttributeIsAString(name) &&
        mlirStringRefEqual(mlirStringAttrGetValue(name), mlirStringRefCreate(text, length)))
      return i;
  }
  return -1;
}

static bool parseNumber(const char *text, size_t length, int64_t *out) {
  *out = 0;
  for (size_t i = 0; i < length; ++i)
    if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(*out, (int64_t)10, out) ||
        __builtin_add_overflow(*out, (int64_t)(text[i] - '0'), out))
      return false;
  return length > 0;
}

static MlirLogicalResult setOne(const ShardImport *import, int64_t **shapes, const char *text,
                                size_t length) {
  int shown = (int)length;
  const char *equals = memchr(text, '=', length), *colon = NULL;
  for (const char *p = text; equals && p < equals; ++p)
    if (*p == ':')
      colon = p;
  int64_t dim, extent;
  if (!colon || !parseNumber(colon + 1, (size_t)(equals - colon - 1), &dim) ||
      !parseNumber(equals + 1, (size_t)(text + length - equals - 1), &extent))
    return shardEmitErrorAt(mlirLocationUnknownGet(import->context),
                            "--dim: '%.*s' is not of the form ARG:D=N", shown, text);
  size_t nameLength = (size_t)(colon - text);
  intptr_t argument = findArgument(import, text, nameLength);
  if (argument < 0)
    return shardEmitErrorAt(mlirLocationUnknownGet(import->context),
                            "--dim: the entry has no argument '%.*s'", (int)nameLength, text);
  MlirType type = mlirValueGetType(mlirBlockGetArgument(shardFuncGetBody(import->entry), argument));
  if (!mlirTypeIsARankedTensor(type) || dim >= mlirShapedTypeGetRank(type))
    return shardEmitErrorAt(mlirLocationUnknownGet(import->context),
                            "--dim: argument %td has no dimension %lld", argument, (long long)dim);
  if (extent == 0)
    return shardEmitErrorAt(mlirLocationUnknownGet(import->context),
                            "--dim: '%.*s' sets an extent of 0; at least 1 expected", shown, text);
  if (!mlirShapedTypeIsDynamicDim(type, dim)) {
    if (mlirShapedTypeGetDimSize(type, dim) == extent)
      return mlirLogicalResultSuccess();
    return shardEmitErrorAt(
        mlirLocationUnknownGet(import->context),
        "--dim: dimension %lld of argument %td is %lld and cannot be set to %lld", (long long)dim,
        argument, (long long)mlirShapedTypeGetDimSize(type, dim), (long long)extent);
  }
  intptr_t rank = mlirShapedTypeGetRank(type);
  if (!shapes[argument]) {
    shapes[argument] = SHARD_ARENA_ARRAY(import->arena, int64_t, rank);
    for (intptr_t d = 0; d < rank; ++d)
      shapes[argument][d] = mlirShapedTypeGetDimSize(type, d);
  }
  shapes[argument][dim] = extent;
  return mlirLogicalResultSuccess();
}

enum { maxRounds = 16 };

static MlirWalkResult findDynamic(MlirOperation op, void *user) {
  for (intptr_t i = 0, n = mlirOperationGetNumResults(op); i < n; ++i) {
    MlirType type = mlirValueGetType(mlirOperationGetResult(op, i));
    if (mlirTypeIsARankedTensor(type) && !mlirShapedTypeHasStaticShape(type)) {
      *(bool *)user = true;
      return MlirWalkResultInterrupt;
    }
  }
  return MlirWalkResultAdvance;
}

static bool isDynamic(const ShardImport *import) {
  bool found = false;
  mlirOperationWalk(import->entry, findDynamic, &found, MlirWalkPreOrder);
  return found;
}

/// The extents on the arguments, and from there on. TOSA ops infer theirs by upstream's pass,
/// between ours for the others, until both are done.
static MlirLogicalResult specialize(const ShardImport *import, int64_t *const *shapes) {
  MlirBlock body = shardFuncGetBody(import->entry);
  for (intptr_t i = 0, n = mlirBlockGetNumArguments(body); i < n; ++i) {
    MlirValue argument = mlirBlockGetArgument(body, i);
    MlirType type = mlirValueGetType(argument);
    if (shapes[i])
      mlirValueSetType(argument,
                       shardTensorWithShape(type, mlirShapedTypeGetRank(type), shapes[i]));
  }
  if (!shardImportHasTosa(import))
    return shardImportRefineShapes(import);
  for (int round = 0; round < maxRounds; ++round) {
    shardFuncUpdateType(import->entry);
    MlirPassManager manager = mlirPassManagerCreateOnOperation(
        import->context, mlirStringRefCreateFromCString("builtin.module"));
    mlirPassManagerEnableVerifier(manager, false);
    MlirOpPassManager functions =
        mlirPassManagerGetNestedUnder(manager, mlirStringRefCreateFromCString("func.func"));
    mlirOpPassManagerAddOwnedPass(functions, mlirCreateTosaTosaInferShapesPass());
    MlirLogicalResult result = mlirPassManagerRunOnOp(manager, import->module);
    mlirPassManagerDestroy(manager);
    if (mlirLogicalResultIsFailure(result) ||
        mlirLogicalResultIsFailure(shardImportRefineShapes(import)))
      return mlirLogicalResultFailure();
    if (!isDynamic(import))
      break;
  }
  return mlirLogicalResultSuccess();
}

MlirLogicalResult shardImportSetDims(const ShardImport *import, const char *dims) {
  if (!dims[0])
    return mlirLogicalResultSuccess();
  intptr_t n = mlirBlockGetNumArguments(shardFuncGetBody(import->entry));
  int64_t **shapes = SHARD_ARENA_ARRAY(import->arena, int64_t *, n + 1);
  for (const char *at = dims;;) {
    size_t length = strcspn(at, ",");
    if (mlirLogicalResultIsFailure(setOne(import, shapes, at, length)))
      return mlirLogicalResultFailure();
    if (!at[length])
      break;
    at += length + 1;
  }
  for (intptr_t i = 0; i < n; ++i)
    if (shapes[i]) {
      if (mlirLogicalResultIsFailure(specialize(import, shapes)))
        return mlirLogicalResultFailure();
      // Extents that do not fit together show here, at the op where they meet.
      return mlirOperationVerify(import->module) ? mlirLogicalResultSuccess()
                                                 : mlirLogicalResultFailure();
    }
  return mlirLogicalResultSuccess();
}
