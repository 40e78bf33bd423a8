//===- HoistConstants.c - Constants become arguments --------------*- C -*-===//
// Constants that are data, not numbers of the program: resources, and those with elements that
// differ.
//===----------------------------------------------------------------------===//
#include "ImportParts.h"

#include "../Core/Constants.h"

#include "mlir-c/BuiltinTypes.h"

#include <stdlib.h>
#include <string.h>

/// The value of an arith.constant or tosa.const; null for any other op.
static MlirAttribute constantValue(MlirOperation op) {
  MlirAttribute none = {NULL};
  if (shardOpIs(op, "arith.constant"))
    return shardOpGetAttribute(op, "value");
  return shardOpIs(op, "tosa.const") ? shardOpGetAttribute(op, "values") : none;
}

static bool isDataConstant(MlirOperation op) {
  MlirAttribute value = constantValue(op);
  if (mlirAttributeIsNull(value))
    return false;
  if (mlirAttributeIsADenseResourceElements(value))
    return true;
  return mlirAttributeIsADenseElements(value) && !shardConstantIsSplat(value) &&
         mlirTypeIsARankedTensor(mlirAttributeGetType(value)) &&
         shardTypeElementCount(mlirAttributeGetType(value)) > 0;
}

// Tells the constants of a callee apart in its callers: `dense_resource<__elided__>` is equal as an
// attribute to any other, and yet may be another weight.
static const char identityName[] = "spmd.constant";

typedef struct Hoister {
  const ShardImport *import;
  bool (*wanted)(void *user, MlirOperation op);
  void *user;
  int64_t nIdentities;
  MlirOperation *ops; // of one function
  size_t n, capacity;
} Hoister;

static MlirLogicalResult collectConstant(void *user, MlirOperation op) {
  Hoister *hoister = user;
  if (!isDataConstant(op) || (hoister->wanted && !hoister->wanted(hoister->user, op)))
    return mlirLogicalResultSuccess();
  hoister->ops = shardArenaGrow(hoister->import->arena, hoister->ops, hoister->n,
                                &hoister->capacity, hoister->n + 1, sizeof(*hoister->ops));
  hoister->ops[hoister->n++] = op;
  return mlirLogicalResultSuccess();
}

typedef struct Hoisted {
  MlirAttribute value;
  MlirAttribute identity; // null: the value says it all
} Hoisted;

/// Appends one argument for each distinct constant of the function, which goes.
static Hoisted *constantsToArguments(Hoister *hoister, MlirOperation func, intptr_t *outCount) {
  ShardArena *arena = hoister->import->arena;
  hoister->n = 0;
  shardWalk(func, NULL, collectConstant, hoister);
  Hoisted *list = SHARD_ARENA_ARRAY(arena, Hoisted, hoister->n + 1);
  ShardPointerMap *known = shardPointerMapCreate(arena, hoister->n);
  MlirBlock body = shardFuncGetBody(func);
  intptr_t n = 0;
  for (size_t i = 0; i < hoister->n; ++i) {
    MlirOperation op = hoister->ops[i];
    MlirAttribute value = constantValue(op), identity = shardOpGetAttribute(op, identityName);
    const char *name = shardConstantName(value, arena);
    if (mlirAttributeIsNull(identity) && name && strcmp(name, "__elided__") == 0)
      identity = shardAttrI64(hoister->import->context, hoister->nIdentities++);
    const void *key = mlirAttributeIsNull(identity) ? value.ptr : identity.ptr;
    MlirValue constant = mlirOperationGetResult(op, 0), argument;
    int64_t at;
    if (shardPointerMapGet(known, key, &at)) {
      argument = mlirBlockGetArgument(body, at);
    } else {
      list[n++] = (Hoisted){value, identity};
      argument =
          mlirBlockAddArgument(body, mlirValueGetType(constant), mlirOperationGetLocation(op));
      shardPointerMapSet(known, key, mlirBlockArgumentGetArgNumber(argument));
    }
    mlirValueReplaceAllUsesOfWith(constant, argument);
    mlirOperationDestroy(op);
  }
  *outCount = n;
  return list;
}
void shardImportPadArgumentAttributes(const ShardImport *import, MlirOperation func) {
  MlirAttribute list = shardOpGetAttribute(func, "arg_attrs");
  intptr_t n = mlirBlockGetNumArguments(shardFuncGetBody(func));
  if (mlirAttributeIsNull(list) || mlirArrayAttrGetNumElements(list) == n)
    return;
  MlirAttribute *entries = SHARD_ARENA_ARRAY(import->arena, MlirAttribute, n + 1);
  for (intptr_t i = 0; i < n; ++i)
    entries[i] = i < mlirArrayAttrGetNumElements(list)
                     ? mlirArrayAttrGetElement(list, i)
                     : mlirDictionaryAttrGet(import->context, 0, NULL);
  shardOpSetAttribute(func, "arg_attrs", mlirArrayAttrGet(import->context, n, entries));
}

typedef struct CallSites {
  const ShardImport *import;
  MlirStringRef callee;
  intptr_t n;
  const Hoisted *list;
} CallSites;

/// Gives a call the new operands: the same constants, in the caller, from where they go on.
static MlirLogicalResult extendCall(void *user, MlirOperation op) {
  const CallSites *sites = user;
  MlirStringRef callee = mlirFlatSymbolRefAttrGetValue(shardOpGetAttribute(op, "callee"));
  if (!mlirStringRefEqual(callee, sites->callee))
    return mlirLogicalResultSuccess();
  intptr_t n = mlirOperationGetNumOperands(op);
  MlirValue *operands = SHARD_ARENA_ARRAY(sites->import->arena, MlirValue, n + sites->n);
  for (intptr_t i = 0; i < n; ++i)
    operands[i] = mlirOperationGetOperand(op, i);
  for (intptr_t i = 0; i < sites->n; ++i) {
    MlirType type = mlirAttributeGetType(sites->list[i].value);
    ShardNamedAttribute attributes[2] = {{"value", sites->list[i].value},
                                         {identityName, sites->list[i].identity}};
    MlirOperation constant = shardOpCreate(
        (MlirBlock){NULL}, op, mlirOperationGetLocation(op), "arith.constant", 1, &type, 0, NULL,
        mlirAttributeIsNull(sites->list[i].identity) ? 1 : 2, attributes, 0, NULL);
    operands[n + i] = mlirOperationGetResult(constant, 0);
  }
  mlirOperationSetOperands(op, n + sites->n, operands);
  return mlirLogicalResultSuccess();
}

MlirAttribute *shardHoistConstants(const ShardImport *import,
                                   bool (*wanted)(void *user, MlirOperation op), void *user,
                                   intptr_t *outCount) {
  Hoister hoister = {.import = import, .wanted = wanted, .user = user};
  for (intptr_t i = 0; i < import->nFunctions; ++i) { // callees first: their callers take over
    MlirOperation func = import->calleesFirst[i];
    if (mlirOperationEqual(func, import->entry))
      continue;
    CallSites sites = {import, mlirStringAttrGetValue(shardOpGetAttribute(func, "sym_name")), 0,
                       NULL};
    sites.list = constantsToArguments(&hoister, func, &sites.n);
    if (sites.n == 0)
      continue;
    shardImportPadArgumentAttributes(import, func);
    shardFuncUpdateType(func);
    for (intptr_t k = 0; k < import->nFunctions; ++k)
      shardWalk(import->functions[k], "func.call", extendCall, &sites);
  }
  const Hoisted *list = constantsToArguments(&hoister, import->entry, outCount);
  shardImportPadArgumentAttributes(import, import->entry);
  shardFuncUpdateType(import->entry);
  MlirAttribute *values = SHARD_ARENA_ARRAY(import->arena, MlirAttribute, *outCount + 1);
  for (intptr_t i = 0; i < *outCount; ++i)
    values[i] = list[i].value;
  return values;
}

static int compareStrings(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char **shardNameConstants(const ShardImport *import, intptr_t nTaken,
                                const char *const *taken, intptr_t n, const MlirAttribute *values) {
  const char **sorted = SHARD_ARENA_ARRAY(import->arena, const char *, nTaken + 1);
  memcpy(sorted, taken, (size_t)nTaken * sizeof(*taken));
  qsort(sorted, (size_t)nTaken, sizeof(*sorted), compareStrings);
  const char **names = SHARD_ARENA_ARRAY(import->arena, const char *, n + 1);
  for (intptr_t i = 0; i < n; ++i) {
    const char *name = shardConstantName(values[i], import->arena);
    if (!name || !name[0] || strcmp(name, "__elided__") == 0)
      name = shardArenaFormat(import->arena, "constant_%td", i);
    while (bsearch(&name, sorted, (size_t)nTaken, sizeof(*sorted), compareStrings))
      name = shardArenaFormat(import->arena, "%s_", name);
    names[i] = name; // resources have keys of their own, constant_N its number
  }
  return names;
}
