//===- CheckInput.c - What import refuses -------------------------*- C -*-===//
#include "ImportParts.h"

#include "../Analysis/Rules.h"
#include "../Core/Dialects.h"

#include "mlir-c/BuiltinTypes.h"

#include <string.h>

static const char *const dialects[] = {"func", "linalg", "tensor", "arith", "math", "tosa", "scf"};
static const char *const singleOps[] = {"cf.assert", "affine.apply", "shard.grid", "shard.sharding",
                                        "shard.shard"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool isOneOf(MlirStringRef text, const char *const *list, size_t n) {
  for (size_t i = 0; i < n; ++i)
    if (shardStringIs(text, list[i]))
      return true;
  return false;
}

static MlirLogicalResult refuse(MlirOperation op, MlirStringRef name, MlirStringRef dialect) {
  const ShardOpRefusal *refusal = shardOpRefusalFind(name);
  if (refusal)
    return shardEmitError(op, "'%.*s' is not supported: %s; expected %s", (int)name.length,
                          name.data, refusal->reason, refusal->nearest);
  const char *advice = shardDialectGetAdvice(dialect);
  if (advice)
    return shardEmitError(op, "'%.*s' is an op of dialect '%.*s', which is not supported; %s",
                          (int)name.length, name.data, (int)dialect.length, dialect.data, advice);
  return shardEmitError(op,
                        "'%.*s' is not supported; expected ops of func, linalg, tensor, arith, "
                        "math, tosa, scf, or cf.assert, or a rule in --rules",
                        (int)name.length, name.data);
}

static MlirLogicalResult checkOpName(void *user, MlirOperation op) {
  const ShardImport *import = user;
  MlirStringRef name = shardOpGetName(op), dialect = shardDialectOfOp(name);
  if (shardImportHasRule(import, name))
    return mlirLogicalResultSuccess();
  if (!isOneOf(dialect, dialects, COUNT(dialects)))
    return isOneOf(name, singleOps, COUNT(singleOps)) || shardImportKnowsTmTensor(op)
               ? mlirLogicalResultSuccess()
               : refuse(op, name, dialect);
  if (shardOpRefusalFind(name))
    return refuse(op, name, dialect);
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult checkCall(void *user, MlirOperation op) {
  const ShardImport *import = user;
  MlirStringRef name = mlirFlatSymbolRefAttrGetValue(shardOpGetAttribute(op, "callee"));
  MlirOperation target = shardModuleLookup(import->module, name);
  if (mlirOperationIsNull(target) || !shardOpIs(target, "func.func") ||
      mlirBlockIsNull(shardFuncGetBody(target)))
    return shardEmitError(op,
                          "'func.call' of '@%.*s', which has no body; expected a function of "
                          "this module",
                          (int)name.length, name.data);
  return mlirLogicalResultSuccess();
}

MlirLogicalResult shardImportCheckOps(const ShardImport *import) {
  for (intptr_t i = 0; i < import->nFunctions; ++i)
    if (!mlirBlockIsNull(shardFuncGetBody(import->functions[i])) &&
        mlirLogicalResultIsFailure(
            shardWalk(import->functions[i], NULL, checkOpName, (void *)import)))
      return mlirLogicalResultFailure();
  intptr_t nOps;
  MlirOperation *ops = shardBlockOps(shardOpBody(import->module), import->arena, &nOps);
  for (intptr_t i = 0; i < nOps; ++i)
    if (!shardOpIs(ops[i], "func.func") && !shardOpIs(ops[i], "shard.grid")) {
      MlirStringRef name = shardOpGetName(ops[i]);
      return refuse(ops[i], name, shardDialectOfOp(name));
    }
  for (intptr_t i = 0; i < import->nFunctions; ++i) {
    MlirOperation func = import->functions[i];
    if (mlirLogicalResultIsFailure(shardWalk(func, "func.call", checkCall, (void *)import)))
      return mlirLogicalResultFailure();
    MlirBlock body = shardFuncGetBody(func);
    if (!mlirBlockIsNull(body) && !mlirBlockIsNull(mlirBlockGetNextInRegion(body)))
      return shardEmitError(func, "function has more than one block; expected structured control "
                                  "flow of the scf dialect");
  }
  return mlirLogicalResultSuccess();
}

static MlirWalkResult findTosa(MlirOperation op, void *user) {
  MlirStringRef name = shardOpGetName(op);
  if (!shardNameHasDialect(name, "tosa"))
    return MlirWalkResultAdvance;
  *(bool *)user = true;
  return MlirWalkResultInterrupt;
}

bool shardImportHasTosa(const ShardImport *import) {
  bool found = false;
  for (intptr_t i = 0; i < import->nFunctions && !found; ++i)
    mlirOperationWalk(import->functions[i], findTosa, &found, MlirWalkPreOrder);
  return found;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

typedef struct TypeText {
  char text[200];
  size_t length;
} TypeText;

static void appendType(MlirStringRef part, void *user) {
  TypeText *out = user;
  size_t room = sizeof(out->text) - 1 - out->length, n = part.length < room ? part.length : room;
  memcpy(out->text + out->length, part.data, n);
  out->length += n;
}

bool shardImportIsScalar(MlirType type) {
  if (mlirTypeIsAInteger(type)) {
    unsigned width = mlirIntegerTypeGetWidth(type);
    return width == 1 || width == 8 || width == 16 || width == 32 || width == 64 || width == 4 ||
           width == 48; // the last two only inside TOSA's bodies
  }
  return mlirTypeIsAFloat8E4M3FN(type) || mlirTypeIsAFloat8E5M2(type) || mlirTypeIsAIndex(type) ||
         mlirTypeIsAF16(type) || mlirTypeIsABF16(type) || mlirTypeIsAF32(type) ||
         mlirTypeIsAF64(type);
}

static bool startsWith(MlirType type, const char *prefix) {
  TypeText text = {{0}, 0};
  mlirTypePrint(type, appendType, &text);
  return strncmp(text.text, prefix, strlen(prefix)) == 0;
}

enum { maxRank = 32 }; // as in .npy files

/// Whether the type as such is fine, dynamic dimensions aside.
static bool isKnownType(MlirType type) {
  if (mlirTypeIsARankedTensor(type))
    return mlirAttributeIsNull(mlirRankedTensorTypeGetEncoding(type)) &&
           mlirShapedTypeGetRank(type) <= maxRank &&
           shardImportIsScalar(mlirShapedTypeGetElementType(type));
  return shardImportIsScalar(type) || startsWith(type, "!tosa.shape") ||
         startsWith(type, "!shard.");
}

static MlirLogicalResult refuseType(MlirOperation op, const char *what, MlirType type) {
  TypeText text = {{0}, 0};
  mlirTypePrint(type, appendType, &text);
  return shardEmitError(
      op,
      "%s has type '%s', which is not supported; expected ranked tensors of at "
      "most %d dimensions, of integers, index, f8E4M3FN, f8E5M2, f16, bf16, f32 or f64",
      what, text.text, maxRank);
}

/// Bytes of all tensors on all ranks are counted in 64 bits.
static const int64_t maxElements = (int64_t)1 << 48;

/// A dynamic extent counts as 1.
static MlirLogicalResult checkElements(MlirOperation op, const char *what, MlirType type) {
  if (!mlirTypeIsARankedTensor(type))
    return mlirLogicalResultSuccess();
  int64_t n = 1;
  for (intptr_t d = 0, rank = mlirShapedTypeGetRank(type); d < rank && 0 < n && n <= maxElements;
       ++d) {
    int64_t size = mlirShapedTypeIsDynamicDim(type, d) ? 1 : mlirShapedTypeGetDimSize(type, d);
    n = size > maxElements / n ? maxElements + 1 : n * size;
  }
  if (0 < n && n <= maxElements)
    return mlirLogicalResultSuccess();
  TypeText text = {{0}, 0};
  mlirTypePrint(type, appendType, &text);
  if (n == 0)
    return shardEmitError(op,
                          "%s has type '%s', which has no elements; expected extents of at least 1",
                          what, text.text);
  return shardEmitError(op, "%s has type '%s', which has more than 2^48 elements", what, text.text);
}

static intptr_t firstDynamicDim(MlirType type) {
  if (!mlirTypeIsARankedTensor(type) || mlirShapedTypeHasStaticShape(type))
    return -1;
  intptr_t d = 0;
  while (!mlirShapedTypeIsDynamicDim(type, d))
    ++d;
  return d;
}

static MlirLogicalResult checkOpTypes(void *user, MlirOperation op) {
  void **lastGood = user; // most ops have the type of their neighbour
  for (intptr_t i = 0, n = mlirOperationGetNumResults(op); i < n; ++i) {
    MlirType type = mlirValueGetType(mlirOperationGetResult(op, i));
    if (type.ptr == *lastGood)
      continue;
    if (!isKnownType(type))
      return refuseType(op, "result", type);
    if (mlirLogicalResultIsFailure(checkElements(op, "result", type)))
      return mlirLogicalResultFailure();
    intptr_t d = firstDynamicDim(type);
    if (d >= 0) {
      MlirStringRef name = shardOpGetName(op);
      return shardEmitError(op,
                            "dimension %td of the result of '%.*s' is dynamic, and no argument "
                            "sets it; expected static shapes",
                            d, (int)name.length, name.data);
    }
    *lastGood = (void *)type.ptr;
  }
  return mlirLogicalResultSuccess();
}

MlirLogicalResult shardImportRefuseOpen(MlirOperation func, intptr_t argument, intptr_t dimension) {
  MlirAttribute name = shardFuncGetArgumentAttribute(func, argument, "spmd.name");
  MlirStringRef text = !mlirAttributeIsNull(name) && mlirAttributeIsAString(name)
                           ? mlirStringAttrGetValue(name)
                           : mlirStringRefCreate("", 0);
  return shardEmitError(func,
                        "dimension %td of argument %td%s%.*s%s is dynamic; give its extent with "
                        "--dim=%td:%td=N, or a bound with --dim=%td:%td=..MAX",
                        dimension, argument, text.length ? " ('" : "", (int)text.length, text.data,
                        text.length ? "')" : "", argument, dimension, argument, dimension);
}

static MlirLogicalResult checkArguments(const ShardImport *import, MlirOperation func) {
  MlirBlock body = shardFuncGetBody(func);
  for (intptr_t i = 0, n = mlirBlockGetNumArguments(body); i < n; ++i) {
    MlirType type = mlirValueGetType(mlirBlockGetArgument(body, i));
    if (!isKnownType(type))
      return refuseType(func, shardArenaFormat(import->arena, "argument %td", i), type);
    bool isEntry = mlirOperationEqual(func, import->entry);
    bool gone = isEntry && shardTypeElementCount(type) == 0 &&
                shardValueIsUnused(mlirBlockGetArgument(body, i));
    if (!gone && mlirLogicalResultIsFailure(
                     checkElements(func, shardArenaFormat(import->arena, "argument %td", i), type)))
      return mlirLogicalResultFailure();
    if (isEntry && !mlirTypeIsARankedTensor(type))
      return refuseType(func, shardArenaFormat(import->arena, "argument %td", i), type);
    intptr_t d = firstDynamicDim(type);
    if (d >= 0)
      return shardImportRefuseOpen(func, i, d);
  }
  return mlirLogicalResultSuccess();
}

MlirLogicalResult shardImportCheckTypes(const ShardImport *import) {
  void *lastGood = NULL;
  for (intptr_t i = 0; i < import->nFunctions; ++i)
    if (mlirLogicalResultIsFailure(checkArguments(import, import->functions[i])) ||
        mlirLogicalResultIsFailure(shardWalk(import->functions[i], NULL, checkOpTypes, &lastGood)))
      return mlirLogicalResultFailure();
  MlirOperation end = mlirBlockGetTerminator(shardFuncGetBody(import->entry));
  for (intptr_t i = 0, n = mlirOperationGetNumOperands(end); i < n; ++i) {
    MlirType type = mlirValueGetType(mlirOperationGetOperand(end, i));
    if (!mlirTypeIsARankedTensor(type))
      return refuseType(end, shardArenaFormat(import->arena, "result %td", i), type);
  }
  return mlirLogicalResultSuccess();
}
