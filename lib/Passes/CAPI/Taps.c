//===- Taps.c - Inner values of a sharded program, as results -----*- C -*-===//
// A value inside a layer leaves through it: the layer is cloned for the one call that is looked
// into, gives the value back as well, and so on up to the entry.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "shard/Taps.h"

#include "../Core/Buckets.h"
#include "../Core/Diagnostics.h"
#include "../Core/IR.h"
#include "../Core/Text.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Tap {
  ShardTap shown;
  MlirType type; // whole value
} Tap;

struct ShardTaps {
  ShardArena *arena;
  size_t count, capacity;
  Tap *taps;
  int64_t nextResult;
};

/// Values on their way out of a function.
typedef struct Outlet {
  size_t count, capacity;
  MlirValue *values;
  MlirAttribute *entries; // [count] of res_attrs; as long as `values`
  size_t entryCapacity;
} Outlet;

typedef struct Tapping {
  MlirContext context;
  MlirOperation module;
  ShardTaps *taps;
  const ShardTaps *whole;
  intptr_t nCalls;
  const int64_t *calls;
  int64_t nClones;
} Tapping;

//===----------------------------------------------------------------------===//
// Origins
//===----------------------------------------------------------------------===//

typedef struct Origin {
  MlirStringRef text;
  int64_t op, part;
} Origin;

/// Reads "... (@main:12)" or "... (@main:12:1)". False: no number, or not of that form.
static bool parseOrigin(MlirStringRef text, Origin *out) {
  const char *end = text.data + text.length, *at = end;
  if (!text.length || end[-1] != ')')
    return false;
  while (at > text.data && at[-1] != '(')
    --at;
  int64_t numbers[2] = {0, 0};
  int n = 0;
  for (const char *c = memchr(at, ':', (size_t)(end - at)); c && *c == ':' && n < 2; ++n) {
    ++c;
    if (!(*c >= '0' && *c <= '9'))
      return false;
    for (; *c >= '0' && *c <= '9'; ++c)
      numbers[n] = numbers[n] * 10 + (*c - '0');
  }
  *out = (Origin){text, numbers[0], numbers[1]};
  return n > 0;
}

static MlirAttribute entryOf(MlirOperation op, const char *name, intptr_t index) {
  MlirAttribute list = shardOpGetAttribute(op, name);
  bool known = !mlirAttributeIsNull(list) && mlirAttributeIsAArray(list) &&
               mlirArrayAttrGetNumElements(list) == mlirOperationGetNumResults(op);
  return known ? mlirArrayAttrGetElement(list, index) : mlirAttributeGetNull();
}

static bool originOf(MlirOperation op, intptr_t index, Origin *out) {
  MlirAttribute text = shardOpGetAttribute(op, "spmd.origin");
  if (mlirAttributeIsNull(text))
    return false;
  if (!mlirAttributeIsAString(text))
    text = entryOf(op, "spmd.origin", index);
  return !mlirAttributeIsNull(text) && mlirAttributeIsAString(text) &&
         parseOrigin(mlirStringAttrGetValue(text), out);
}

/// Whether two origins name the same kind of op: "linalg.matmul at ...".
static bool sameOp(MlirStringRef text, const char *other) {
  size_t n = 0;
  while (n < text.length && text.data[n] != ' ')
    ++n;
  return strncmp(text.data, other, n) == 0 && (other[n] == ' ' || other[n] == 0);
}

static const Tap *findWhole(const ShardTaps *whole, const Origin *origin) {
  for (size_t i = 0; i < whole->count; ++i)
    if (whole->taps[i].shown.op == origin->op && whole->taps[i].shown.part == origin->part)
      return sameOp(origin->text, whole->taps[i].shown.origin) ? &whole->taps[i] : NULL;
  return NULL;
}

static bool isEmptyList(MlirAttribute attribute) {
  return mlirAttributeIsNull(attribute) ||
         (mlirAttributeIsAArray(attribute) && mlirArrayAttrGetNumElements(attribute) == 0) ||
         (mlirAttributeIsADenseI64Array(attribute) && mlirDenseArrayGetNumElements(attribute) == 0);
}

//===----------------------------------------------------------------------===//
// One value
//===----------------------------------------------------------------------===//

/// Whether no dimension is split.
static bool isWhole(MlirAttribute sharding) {
  for (intptr_t i = 0; mlirAttributeIsAArray(sharding) && i < mlirArrayAttrGetNumElements(sharding);
       ++i)
    if (!isEmptyList(mlirArrayAttrGetElement(sharding, i)))
      return false;
  return true;
}

static MlirAttribute makeEntry(const Tapping *t, int64_t result, MlirType type,
                               MlirAttribute sharding, MlirAttribute view, MlirAttribute extent) {
  MlirNamedAttribute fields[5];
  intptr_t n = 0;
  const ShardNamedAttribute all[] = {{"spmd.result", shardAttrI64(t->context, result)},
                                     {"spmd.global", mlirTypeAttrGet(type)},
                                     {"spmd.sharding", sharding},
                                     {"spmd.view", view},
                                     {"spmd.extent", extent}};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i)
    if (i < 2 || !isEmptyList(all[i].attribute))
      fields[n++] = mlirNamedAttributeGet(
          mlirIdentifierGet(t->context, mlirStringRefCreateFromCString(all[i].name)),
          all[i].attribute);
  return mlirDictionaryAttrGet(t->context, n, fields);
}

static bool canTap(MlirType type) {
  return mlirTypeIsARankedTensor(type) && mlirShapedTypeHasStaticShape(type) &&
         shardTypeElementBytes(mlirShapedTypeGetElementType(type)) > 0 &&
         !mlirTypeIsAIndex(mlirShapedTypeGetElementType(type));
}

static void addOutlet(Tapping *t, Outlet *outlet, MlirValue value, MlirAttribute entry) {
  outlet->values = shardArenaGrow(t->taps->arena, outlet->values, outlet->count, &outlet->capacity,
                                  outlet->count + 1, sizeof *outlet->values);
  outlet->entries =
      shardArenaGrow(t->taps->arena, outlet->entries, outlet->count, &outlet->entryCapacity,
                     outlet->count + 1, sizeof *outlet->entries);
  outlet->values[outlet->count] = value;
  outlet->entries[outlet->count++] = entry;
}

static void tapValue(Tapping *t, MlirOperation op, intptr_t index, Outlet *outlet) {
  ShardTaps *taps = t->taps;
  Origin origin;
  MlirValue value = mlirOperationGetResult(op, index);
  MlirType local = mlirValueGetType(value);
  if (shardOpIs(op, "shard.send") || !canTap(local) || !originOf(op, index, &origin) ||
      !isEmptyList(entryOf(op, "spmd.partial", index)))
    return;
  MlirAttribute sharding = entryOf(op, "spmd.sharding", index);
  MlirAttribute view = entryOf(op, "spmd.view", index);
  MlirType type = local;
  if (t->whole) {
    const Tap *whole = findWhole(t->whole, &origin);
    // A collective on the way to a placement may see the value in another shape.
    if (!whole || mlirShapedTypeGetRank(whole->type) != mlirShapedTypeGetRank(local) ||
        (isEmptyList(sharding) && !mlirTypeEqual(whole->type, local)))
      return;
    type = whole->type;
  } else if (!isEmptyList(sharding)) {
    return; // not of one device
  }
  MlirStringRef maker = shardOpGetName(op);
  const char *callee = NULL;
  if (shardOpIs(op, "func.call")) {
    MlirStringRef name = mlirFlatSymbolRefAttrGetValue(shardOpGetAttribute(op, "callee"));
    callee = shardArenaCopyString(taps->arena, name.data, name.length);
  }
  taps->taps = shardArenaGrow(taps->arena, taps->taps, taps->count, &taps->capacity,
                              taps->count + 1, sizeof *taps->taps);
  Tap *tap = &taps->taps[taps->count++];
  *tap = (Tap){
      .shown = {.result = taps->nextResult++,
                .op = origin.op,
                .part = origin.part,
                .origin = shardArenaCopyString(taps->arena, origin.text.data, origin.text.length),
                .maker = shardArenaCopyString(taps->arena, maker.data, maker.length),
                .sharding = isEmptyList(sharding)
                                ? "whole"
                                : shardShardingAttributeText(sharding, view, taps->arena),
                .callee = callee},
      .type = type};
  addOutlet(
      t, outlet, value,
      makeEntry(t, tap->shown.result, type, sharding, view, entryOf(op, "spmd.extent", index)));
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Appends the outlet's values to what a function returns.
static void extendReturn(Tapping *t, MlirOperation func, const Outlet *outlet, bool isEntry) {
  MlirOperation end = mlirBlockGetTerminator(shardFuncGetBody(func));
  intptr_t nOld = mlirOperationGetNumOperands(end), n = nOld + (intptr_t)outlet->count;
  MlirValue *operands = SHARD_ARENA_ARRAY(t->taps->arena, MlirValue, n);
  MlirAttribute *entries = SHARD_ARENA_ARRAY(t->taps->arena, MlirAttribute, n);
  MlirAttribute list = shardOpGetAttribute(func, "res_attrs");
  bool known = !mlirAttributeIsNull(list) && mlirAttributeIsAArray(list) &&
               mlirArrayAttrGetNumElements(list) == nOld;
  for (intptr_t i = 0; i < n; ++i) {
    operands[i] = i < nOld ? mlirOperationGetOperand(end, i) : outlet->values[i - nOld];
    entries[i] = i >= nOld ? outlet->entries[i - nOld]
                 : known   ? mlirArrayAttrGetElement(list, i)
                           : mlirDictionaryAttrGet(t->context, 0, NULL);
  }
  mlirOperationSetOperands(end, n, operands);
  shardFuncUpdateType(func);
  if (isEntry)
    shardOpSetAttribute(func, "res_attrs", mlirArrayAttrGet(t->context, n, entries));
  else
    shardOpRemoveAttribute(func, "res_attrs");
}

static void collect(Tapping *t, MlirOperation func, intptr_t depth, Outlet *outlet);

/// Clones the callee for this call, with the values of the place behind it as further results.
static void descend(Tapping *t, MlirOperation call, intptr_t depth, Outlet *outlet) {
  ShardArena *arena = t->taps->arena;
  MlirStringRef name = mlirFlatSymbolRefAttrGetValue(shardOpGetAttribute(call, "callee"));
  MlirOperation callee = shardModuleLookup(t->module, name);
  if (mlirOperationIsNull(callee) || mlirBlockIsNull(shardFuncGetBody(callee)))
    return;
  MlirOperation clone = mlirOperationClone(callee);
  Outlet inner = {0};
  collect(t, clone, depth + 1, &inner);
  if (!inner.count) {
    mlirOperationDestroy(clone);
    return;
  }
  char *cloneName;
  do
    cloneName =
        shardArenaFormat(arena, "%.*s.tap%" PRId64, (int)name.length, name.data, t->nClones++);
  while (!mlirOperationIsNull(
      shardModuleLookup(t->module, mlirStringRefCreateFromCString(cloneName))));
  shardOpSetAttribute(clone, "sym_name", shardAttrString(t->context, cloneName));
  mlirBlockInsertOwnedOperationAfter(mlirOperationGetBlock(callee), callee, clone);
  extendReturn(t, clone, &inner, false);

  intptr_t nOld = mlirOperationGetNumResults(call), n = nOld + (intptr_t)inner.count;
  MlirType *types = SHARD_ARENA_ARRAY(arena, MlirType, n);
  for (intptr_t i = 0; i < n; ++i)
    types[i] =
        mlirValueGetType(i < nOld ? mlirOperationGetResult(call, i) : inner.values[i - nOld]);
  intptr_t nOperands = mlirOperationGetNumOperands(call);
  MlirValue *operands = SHARD_ARENA_ARRAY(arena, MlirValue, nOperands);
  for (intptr_t i = 0; i < nOperands; ++i)
    operands[i] = mlirOperationGetOperand(call, i);
  ShardNamedAttribute attribute = {
      "callee", mlirFlatSymbolRefAttrGet(t->context, mlirStringRefCreateFromCString(cloneName))};
  MlirOperation extended =
      shardOpCreate(mlirOperationGetBlock(call), call, mlirOperationGetLocation(call), "func.call",
                    n, types, nOperands, operands, 1, &attribute, 0, NULL);
  for (intptr_t i = 0; i < nOld; ++i)
    mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(call, i),
                                  mlirOperationGetResult(extended, i));
  for (size_t i = 0; i < inner.count; ++i)
    addOutlet(t, outlet, mlirOperationGetResult(extended, nOld + (intptr_t)i), inner.entries[i]);
  mlirOperationDestroy(call);
}

static void collect(Tapping *t, MlirOperation func, intptr_t depth, Outlet *outlet) {
  MlirOperation op = mlirBlockGetFirstOperation(shardFuncGetBody(func)), next;
  for (; !mlirOperationIsNull(op); op = next) {
    next = mlirOperationGetNextInBlock(op);
    if (depth < t->nCalls) {
      Origin origin;
      if (shardOpIs(op, "func.call") && mlirOperationGetNumResults(op) > 0 &&
          originOf(op, 0, &origin) && origin.op == t->calls[depth])
        descend(t, op, depth, outlet);
      continue;
    }
    for (intptr_t r = 0; r < mlirOperationGetNumResults(op); ++r)
      tapValue(t, op, r, outlet);
  }
}

/// What an entry gives back already: after all its ops, and compared under its own number.
static void listResults(Tapping *t, MlirOperation func) {
  ShardTaps *taps = t->taps;
  MlirOperation end = mlirBlockGetTerminator(shardFuncGetBody(func));
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(end); ++i) {
    MlirValue value = mlirOperationGetOperand(end, i);
    MlirAttribute number = shardFuncGetResultAttribute(func, i, "spmd.result");
    MlirAttribute sharding = shardFuncGetResultAttribute(func, i, "spmd.sharding");
    MlirAttribute view = shardFuncGetResultAttribute(func, i, "spmd.view");
    int64_t result = i;
    if (!canTap(mlirValueGetType(value)))
      continue;
    if (!mlirAttributeIsNull(number))
      shardAttrGetI64(number, &result);
    Origin origin = {.text = mlirStringRefCreateFromCString("an argument")};
    MlirStringRef maker = origin.text;
    if (mlirValueIsAOpResult(value)) {
      MlirOperation op = mlirOpResultGetOwner(value);
      maker = shardOpGetName(op);
      if (!originOf(op, mlirOpResultGetResultNumber(value), &origin))
        origin.text = maker;
    }
    for (size_t k = 0; t->whole && k < t->whole->count; ++k)
      if (t->whole->taps[k].shown.op == INT64_MAX && t->whole->taps[k].shown.part == result)
        origin.text = mlirStringRefCreateFromCString(t->whole->taps[k].shown.origin);
    taps->taps = shardArenaGrow(taps->arena, taps->taps, taps->count, &taps->capacity,
                                taps->count + 1, sizeof *taps->taps);
    taps->taps[taps->count++] = (Tap){
        .shown = {.result = result,
                  .op = INT64_MAX,
                  .part = result,
                  .origin = shardArenaCopyString(taps->arena, origin.text.data, origin.text.length),
                  .maker = shardArenaCopyString(taps->arena, maker.data, maker.length),
                  .sharding = isEmptyList(sharding) || isWhole(sharding)
                                  ? "whole"
                                  : shardShardingAttributeText(sharding, view, taps->arena)},
        .type = mlirValueGetType(value)};
  }
}

/// One past the largest `spmd.result` of an entry.
static int64_t resultLimit(MlirOperation func) {
  int64_t limit = 0, number;
  intptr_t n = mlirOperationGetNumOperands(mlirBlockGetTerminator(shardFuncGetBody(func)));
  for (intptr_t i = 0; i < n; ++i) {
    MlirAttribute result = shardFuncGetResultAttribute(func, i, "spmd.result");
    if (mlirAttributeIsNull(result) || !shardAttrGetI64(result, &number))
      number = i;
    limit = number >= limit ? number + 1 : limit;
  }
  return limit;
}

ShardTaps *shardTapsCreate(MlirOperation module, intptr_t nCalls, const int64_t *calls,
                           const ShardTaps *whole) {
  shardBucketsErase(module);
  ShardArena *arena = shardArenaCreate();
  ShardTaps *taps = SHARD_ARENA_NEW(arena, ShardTaps);
  taps->arena = arena;
  Tapping t = {.context = mlirOperationGetContext(module),
               .module = module,
               .taps = taps,
               .whole = whole,
               .nCalls = nCalls,
               .calls = calls};
  MlirOperation *entries = NULL;
  size_t nEntries = 0, capacity = 0;
  MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(module, 0));
  for (MlirOperation op = mlirBlockGetFirstOperation(body); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op)) {
    if (!shardOpIs(op, "func.func") || !shardFuncIsPublic(op) ||
        mlirBlockIsNull(shardFuncGetBody(op)))
      continue;
    entries = shardArenaGrow(arena, entries, nEntries, &capacity, nEntries + 1, sizeof *entries);
    entries[nEntries++] = op;
    int64_t limit = resultLimit(op);
    taps->nextResult = limit > taps->nextResult ? limit : taps->nextResult;
  }
  if (!nEntries) {
    shardEmitError(module, "the module has no public function");
    shardArenaDestroy(arena);
    return NULL;
  }
  for (size_t i = 0; i < nEntries; ++i) {
    Outlet outlet = {0};
    if (nCalls == 0)
      listResults(&t, entries[i]);
    collect(&t, entries[i], 0, &outlet);
    if (outlet.count)
      extendReturn(&t, entries[i], &outlet, true);
  }
  return taps;
}

intptr_t shardTapsGetCount(const ShardTaps *taps) { return (intptr_t)taps->count; }

const ShardTap *shardTapsGet(const ShardTaps *taps, intptr_t index) {
  return &taps->taps[index].shown;
}

void shardTapsDestroy(ShardTaps *taps) {
  if (taps)
    shardArenaDestroy(taps->arena);
}
