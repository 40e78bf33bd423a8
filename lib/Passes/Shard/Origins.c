//===- Origins.c - Which value of L1 a value of L3 is -------------*- C -*-===//
// An op of L3 that makes a value of L1 in some placement says which: `spmd.origin`, a text such as
// "linalg.matmul at model.mlir:4:7 (@main:12)", and how: `spmd.sharding`, `spmd.view`,
// `spmd.extent` and `spmd.partial` as at L2, absent when every rank has all of it. An op of several
// results has an array with one text each. The number counts a function's ops in order, those
// without operand data (fills, masks) apart: they are cloned and made again as a layout needs it,
// and so is the function itself, whose name may therefore differ from layout to layout.
//===----------------------------------------------------------------------===//

#include "Spmd.h"

#include "mlir-c/BuiltinAttributes.h"

#include <string.h>

void shardOriginsNumber(ShardSpmd *spmd) {
  const ShardRules *rules = spmd->rules;
  spmd->originNumbers = SHARD_ARENA_ARRAY(spmd->arena, int32_t, rules->nValues);
  spmd->cache = shardShardingCacheCreate(&spmd->mesh, spmd->context, spmd->arena);
  for (int32_t f = 0; f < rules->nFunctions; ++f) {
    int32_t next = 0;
    for (int32_t i = 0; i < rules->functions[f].nOps; ++i) {
      const ShardOpRule *rule = &rules->functions[f].ops[i];
      int32_t number = rule->cheap ? -1 : next++;
      for (int32_t r = 0; r < rule->nResults; ++r)
        spmd->originNumbers[rule->results[r].value] = number;
    }
  }
}

const char *shardSpmdOriginText(const ShardSpmd *spmd, int32_t value) {
  const ShardOpRule *definition = shardSpmdDefinition(spmd, value);
  const ShardValueInfo *info = &spmd->rules->values[value];
  MlirOperation func = spmd->rules->functions[info->function].func;
  MlirStringRef within = mlirStringAttrGetValue(shardOpGetAttribute(func, "sym_name"));
  if (!definition)
    return shardArenaFormat(spmd->arena, "%s (@%.*s)", shardSpmdProducerText(spmd, value),
                            (int)within.length, within.data);
  MlirStringRef name = shardOpGetName(definition->op);
  const char *op =
      shardArenaFormat(spmd->arena, "%.*s at %s", (int)name.length, name.data,
                       shardLocationText(mlirOperationGetLocation(definition->op), spmd->arena));
  int32_t number = spmd->originNumbers[value];
  if (number < 0)
    return shardArenaFormat(spmd->arena, "%s (@%.*s)", op, (int)within.length, within.data);
  if (mlirOperationGetNumResults(definition->op) == 1)
    return shardArenaFormat(spmd->arena, "%s (@%.*s:%d)", op, (int)within.length, within.data,
                            number);
  return shardArenaFormat(spmd->arena, "%s (@%.*s:%d:%d)", op, (int)within.length, within.data,
                          number, info->number);
}

// Entry `index` of a list attribute of an op with `n` results; the others stay, or become `filler`.
static void setEntry(ShardSpmd *spmd, MlirOperation op, const char *name, intptr_t n,
                     intptr_t index, MlirAttribute entry, MlirAttribute filler) {
  MlirAttribute list = shardOpGetAttribute(op, name);
  bool known = !mlirAttributeIsNull(list) && mlirAttributeIsAArray(list) &&
               mlirArrayAttrGetNumElements(list) == n;
  MlirAttribute *entries = SHARD_ARENA_ARRAY(spmd->arena, MlirAttribute, n);
  for (intptr_t i = 0; i < n; ++i)
    entries[i] = i == index ? entry : known ? mlirArrayAttrGetElement(list, i) : filler;
  shardOpSetAttribute(op, name, mlirArrayAttrGet(spmd->context, n, entries));
}

void shardExtentMark(ShardSpmd *spmd, int32_t value, const ShardSharding *sharding,
                     MlirValue local) {
  const ShardValueInfo *info = &spmd->rules->values[value];
  MlirAttribute extent = mlirValueIsAOpResult(local)
                             ? shardShardingExtentAttribute(&spmd->mesh, spmd->context, info->type,
                                                            info->nAtoms, info->atoms, sharding)
                             : mlirAttributeGetNull();
  if (mlirAttributeIsNull(extent))
    return;
  MlirOperation op = mlirOpResultGetOwner(local);
  setEntry(spmd, op, "spmd.extent", mlirOperationGetNumResults(op),
           mlirOpResultGetResultNumber(local), extent, shardAttrUnit(spmd->context));
}

static bool hasOrigin(MlirOperation op, intptr_t n, intptr_t index) {
  MlirAttribute origin = shardOpGetAttribute(op, "spmd.origin");
  if (mlirAttributeIsNull(origin))
    return false;
  return n == 1 || !mlirAttributeIsAArray(origin) ||
         mlirStringAttrGetValue(mlirArrayAttrGetElement(origin, index)).length > 0;
}

void shardOriginMark(ShardSpmd *spmd, int32_t value, const ShardSharding *sharding,
                     MlirValue local) {
  if (!spmd->marksOrigins || !mlirValueIsAOpResult(local))
    return;
  MlirOperation op = mlirOpResultGetOwner(local);
  if (shardOpIs(op, "tensor.empty")) // a shape, no value
    return;
  intptr_t n = mlirOperationGetNumResults(op), index = mlirOpResultGetResultNumber(local);
  MlirAttribute text = shardAttrString(spmd->context, shardSpmdOriginText(spmd, value));
  // The first placement is the one that the op was made for; a collective knows its origin already.
  if (hasOrigin(op, n, index) &&
      (n > 1 || !mlirAttributeEqual(shardOpGetAttribute(op, "spmd.origin"), text) ||
       !mlirAttributeIsNull(shardOpGetAttribute(op, "spmd.sharding"))))
    return;
  if (n == 1)
    shardOpSetAttribute(op, "spmd.origin", text);
  else
    setEntry(spmd, op, "spmd.origin", n, index, text, shardAttrString(spmd->context, ""));
  const ShardValueInfo *info = &spmd->rules->values[value];
  MlirAttribute entry, view, partial, none = mlirArrayAttrGet(spmd->context, 0, NULL);
  shardShardingCacheGet(spmd->cache, info->type, info->nAtoms, info->atoms, sharding, &entry, &view,
                        &partial);
  if (!shardShardingIsReplicated(sharding))
    setEntry(spmd, op, "spmd.sharding", n, index, entry, none);
  if (!mlirAttributeIsNull(view))
    setEntry(spmd, op, "spmd.view", n, index, view, mlirDenseI64ArrayGet(spmd->context, 0, NULL));
  MlirAttribute extent = shardShardingExtentAttribute(&spmd->mesh, spmd->context, info->type,
                                                      info->nAtoms, info->atoms, sharding);
  if (!mlirAttributeIsNull(extent))
    setEntry(spmd, op, "spmd.extent", n, index, extent,
             mlirDenseI64ArrayGet(spmd->context, 0, NULL));
  if (!mlirAttributeIsNull(partial))
    setEntry(spmd, op, "spmd.partial", n, index, partial, none);
}
