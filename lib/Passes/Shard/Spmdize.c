//===- Spmdize.c - Global shapes to per-device programs -----------*- C -*-===//
// Reads: the mesh, `spmd.sharding`, `spmd.view`, `spmd.partial`, `spmd.stage` (L2). Writes: L3: local
// types, collectives of the shard dialect, one function a pipeline stage, `spmd.sites`.
// Fails: annotations that contradict each other or cut where an op cannot be cut.
//===----------------------------------------------------------------------===//

#include "Spmd.h"

#include "../Analysis/Upstream.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <inttypes.h>
#include <string.h>

//===----------------------------------------------------------------------===//
// Reading L2
//===----------------------------------------------------------------------===//

static MlirAttribute elementOrNull(MlirAttribute list, intptr_t index) {
  if (mlirAttributeIsNull(list) || !mlirAttributeIsAArray(list) ||
      index >= mlirArrayAttrGetNumElements(list))
    return mlirAttributeGetNull();
  return mlirArrayAttrGetElement(list, index);
}

static MlirLogicalResult readValues(ShardSpmd *spmd) {
  const ShardRules *rules = spmd->rules;
  spmd->own = SHARD_ARENA_ARRAY(spmd->arena, ShardSharding *, rules->nValues);
  for (int32_t v = 0; v < rules->nValues; ++v) {
    const ShardValueInfo *info = &rules->values[v];
    const ShardOpRule *definition = shardSpmdDefinition(spmd, v);
    MlirAttribute sharding, view, partial;
    MlirOperation holder;
    if (definition) {
      holder = definition->op;
      sharding = elementOrNull(shardOpGetAttribute(holder, "spmd.sharding"), info->number);
      view = elementOrNull(shardOpGetAttribute(holder, "spmd.view"), info->number);
      partial = elementOrNull(shardOpGetAttribute(holder, "spmd.partial"), info->number);
    } else {
      holder = rules->functions[info->function].func;
      sharding = shardFuncGetArgumentAttribute(holder, info->number, "spmd.sharding");
      view = shardFuncGetArgumentAttribute(holder, info->number, "spmd.view");
      partial = shardFuncGetArgumentAttribute(holder, info->number, "spmd.partial");
    }
    spmd->own[v] = shardShardingFromAttributes(&spmd->mesh, mlirOperationGetLocation(holder),
                                               info->type, info->nAtoms, info->atoms, sharding,
                                               view, partial, spmd->arena);
    if (!spmd->own[v])
      return mlirLogicalResultFailure();
  }
  return mlirLogicalResultSuccess();
}

static MlirOperation returnOf(const ShardFunctionInfo *function) {
  return mlirBlockGetTerminator(shardFuncGetBody(function->func));
}

static MlirLogicalResult readResults(ShardSpmd *spmd) {
  const ShardRules *rules = spmd->rules;
  spmd->results = SHARD_ARENA_ARRAY(spmd->arena, ShardSharding **, rules->nFunctions);
  for (int32_t f = 0; f < rules->nFunctions; ++f) {
    MlirOperation func = rules->functions[f].func, end = returnOf(&rules->functions[f]);
    intptr_t n = mlirOperationGetNumOperands(end);
    spmd->results[f] = SHARD_ARENA_ARRAY(spmd->arena, ShardSharding *, n);
    for (intptr_t r = 0; r < n; ++r) {
      int32_t v = shardRulesFindValue(rules, mlirOperationGetOperand(end, r));
      if (v < 0)
        continue;
      const ShardValueInfo *info = &rules->values[v];
      spmd->results[f][r] = shardShardingFromAttributes(
          &spmd->mesh, mlirOperationGetLocation(func), info->type, info->nAtoms, info->atoms,
          shardFuncGetResultAttribute(func, r, "spmd.sharding"),
          shardFuncGetResultAttribute(func, r, "spmd.view"), mlirAttributeGetNull(), spmd->arena);
      if (!spmd->results[f][r])
        return mlirLogicalResultFailure();
    }
  }
  return mlirLogicalResultSuccess();
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

typedef struct NewFunction {
  ShardBuild build;
  intptr_t nArguments;
  int32_t *arguments; // of L2, in order, those that are left
  intptr_t nResults;
  int32_t *results;   // of L2
  MlirOperation op;
} NewFunction;

static void beginFunction(ShardSpmd *spmd, const ShardFunctionInfo *function, int32_t stage,
                          NewFunction *out) {
  *out = (NewFunction){.build = {.spmd = spmd, .function = function, .stage = stage}};
  ShardBuild *build = &out->build;
  build->versions = SHARD_ARENA_ARRAY(spmd->arena, ShardVersion *, spmd->rules->nValues);
  build->scalars = shardPointerMapCreate(spmd->arena, 64);
  build->block = mlirBlockCreate(0, NULL, NULL);
  MlirBlock old = shardFuncGetBody(function->func);
  for (int32_t i = 0; i < function->nArguments; ++i) {
    MlirValue argument = mlirBlockGetArgument(old, i);
    int32_t v = function->arguments[i];
    MlirType type = mlirValueGetType(argument);
    if (v >= 0)
      type = shardShardingLocalType(&spmd->mesh, type, spmd->rules->values[v].nAtoms,
                                    spmd->rules->values[v].atoms, spmd->own[v]);
    MlirValue local =
        mlirBlockAddArgument(build->block, type, mlirOperationGetLocation(function->func));
    if (v >= 0)
      shardBuildAddVersion(build, v, spmd->own[v], local);
    else
      shardBuildMapScalar(build, argument, local);
  }
  out->nArguments = function->nArguments;
  out->arguments = SHARD_ARENA_ARRAY(spmd->arena, int32_t, function->nArguments);
  for (int32_t i = 0; i < function->nArguments; ++i)
    out->arguments[i] = i;
}

// A dictionary of L2's entry (may be null) without the attributes that L3 writes, and `extra`.
static MlirAttribute mergeEntry(ShardSpmd *spmd, MlirAttribute entry, intptr_t nExtra,
                                const ShardNamedAttribute *extra) {
  static const char *const dropped[] = {"spmd.sharding", "spmd.view", "spmd.partial"};
  intptr_t n = mlirAttributeIsNull(entry) ? 0 : mlirDictionaryAttrGetNumElements(entry), kept = 0;
  MlirNamedAttribute *all = SHARD_ARENA_ARRAY(spmd->arena, MlirNamedAttribute, n + nExtra);
  for (intptr_t i = 0; i < n; ++i) {
    MlirNamedAttribute item = mlirDictionaryAttrGetElement(entry, i);
    MlirStringRef name = mlirIdentifierStr(item.name);
    bool skip = false;
    for (size_t k = 0; k < sizeof(dropped) / sizeof(dropped[0]); ++k)
      skip |= shardStringIs(name, dropped[k]);
    for (intptr_t k = 0; k < nExtra; ++k)
      skip |= shardStringIs(name, extra[k].name);
    if (!skip)
      all[kept++] = item;
  }
  for (intptr_t k = 0; k < nExtra; ++k)
    if (!mlirAttributeIsNull(extra[k].attribute))
      all[kept++] = mlirNamedAttributeGet(
          mlirIdentifierGet(spmd->context, mlirStringRefCreateFromCString(extra[k].name)),
          extra[k].attribute);
  return mlirDictionaryAttrGet(spmd->context, kept, all);
}

// The entry of an argument or result of L3. `v` < 0: no tensor.
static MlirAttribute boundaryEntry(ShardSpmd *spmd, MlirAttribute old, int32_t v,
                                   const ShardSharding *sharding, const char *numberName,
                                   int64_t number, bool isEntry) {
  ShardNamedAttribute extra[4];
  intptr_t n = 0;
  if (isEntry) {
    MlirAttribute given = mlirAttributeIsNull(old)
                              ? mlirAttributeGetNull()
                              : mlirDictionaryAttrGetElementByName(
                                    old, mlirStringRefCreateFromCString(numberName));
    extra[n++] = (ShardNamedAttribute){
        numberName, mlirAttributeIsNull(given) ? shardAttrI64(spmd->context, number) : given};
  }
  if (isEntry && v >= 0) {
    const ShardValueInfo *info = &spmd->rules->values[v];
    MlirAttribute entries, view, partial;
    shardShardingToAttributes(&spmd->mesh, spmd->context, info->type, info->nAtoms, info->atoms,
                              sharding, &entries, &view, &partial);
    extra[n++] = (ShardNamedAttribute){"spmd.global", mlirTypeAttrGet(info->type)};
    extra[n++] = (ShardNamedAttribute){"spmd.sharding", entries};
    extra[n++] = (ShardNamedAttribute){"spmd.view", view};
  }
  return mergeEntry(spmd, old, n, extra);
}

static MlirAttribute entryAttributes(MlirOperation func, const char *list, intptr_t index) {
  return elementOrNull(shardOpGetAttribute(func, list), index);
}

// Makes the func.func of a filled block, before the L2 function.
static void finishFunction(NewFunction *function, bool isEntry) {
  ShardSpmd *spmd = function->build.spmd;
  const ShardFunctionInfo *info = function->build.function;
  int32_t index = (int32_t)(info - spmd->rules->functions);
  MlirOperation old = info->func;
  MlirStringRef name = mlirStringAttrGetValue(shardOpGetAttribute(old, "sym_name"));
  const char *newName =
      function->build.stage >= 0
          ? shardArenaFormat(spmd->arena, "%.*s_stage%d", (int)name.length, name.data,
                             function->build.stage)
          : shardArenaCopyString(spmd->arena, name.data, name.length);
  MlirRegion region = mlirRegionCreate();
  mlirRegionAppendOwnedBlock(region, function->build.block);
  intptr_t nOld = mlirOperationGetNumAttributes(old), n = 0;
  ShardNamedAttribute *attributes = SHARD_ARENA_ARRAY(spmd->arena, ShardNamedAttribute, nOld + 3);
  for (intptr_t i = 0; i < nOld; ++i) {
    MlirNamedAttribute item = mlirOperationGetAttribute(old, i);
    MlirStringRef text = mlirIdentifierStr(item.name);
    if (shardStringIs(text, "sym_name") || shardStringIs(text, "arg_attrs") ||
        shardStringIs(text, "res_attrs"))
      continue;
    attributes[n++] = (ShardNamedAttribute){
        shardArenaCopyString(spmd->arena, text.data, text.length), item.attribute};
  }
  attributes[n++] = (ShardNamedAttribute){"sym_name", shardAttrString(spmd->context, newName)};
  if (function->build.stage >= 0)
    attributes[n++] = (ShardNamedAttribute){"spmd.stage",
                                            shardAttrI64(spmd->context, function->build.stage)};
  MlirBlock none = {NULL};
  function->op = shardOpCreate(none, old, mlirOperationGetLocation(old), "func.func", 0, NULL, 0,
                               NULL, n, attributes, 1, &region);
  shardFuncUpdateType(function->op);

  MlirAttribute *entries = SHARD_ARENA_ARRAY(
      spmd->arena, MlirAttribute, function->nArguments + function->nResults);
  bool any = false;
  for (intptr_t i = 0; i < function->nArguments; ++i) {
    int32_t argument = function->arguments[i], v = info->arguments[argument];
    entries[i] = boundaryEntry(spmd, entryAttributes(old, "arg_attrs", argument), v,
                               v >= 0 ? spmd->own[v] : NULL, "spmd.arg", argument, isEntry);
    any |= mlirDictionaryAttrGetNumElements(entries[i]) != 0;
  }
  if (any)
    shardOpSetAttribute(function->op, "arg_attrs",
                        mlirArrayAttrGet(spmd->context, function->nArguments, entries));
  any = false;
  for (intptr_t r = 0; r < function->nResults; ++r) {
    int32_t result = function->results[r];
    int32_t v =
        shardRulesFindValue(spmd->rules, mlirOperationGetOperand(returnOf(info), result));
    entries[r] = boundaryEntry(spmd, entryAttributes(old, "res_attrs", result), v,
                               spmd->results[index][result], "spmd.result", result, isEntry);
    any |= mlirDictionaryAttrGetNumElements(entries[r]) != 0;
  }
  if (any)
    shardOpSetAttribute(function->op, "res_attrs",
                        mlirArrayAttrGet(spmd->context, function->nResults, entries));
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

// A value that is sent from the stage that makes it to one that uses it.
typedef struct Transfer {
  int32_t value;
  int32_t from, to;
  const ShardSharding *sharding;
  int64_t site; // -1: not sent yet
  int64_t channel;
} Transfer;

typedef struct Entry {
  ShardSpmd *spmd;
  const ShardFunctionInfo *function;
  int32_t index;   // of the function
  int32_t nStages; // 1: not cut
  intptr_t nOps;   // of the block, the return left out
  MlirOperation *ops;
  const ShardOpRule **rules; // [nOps] null for ops without tensors
  ShardOpPlan **plans;       // [nOps] made when first wanted
  int32_t *stages;           // [nOps] -1: in every stage that uses it
  int32_t **inputs;          // [nOps] ops that it reads
  int32_t *nInputs;
  int32_t *resultStages;     // [nResults]
  bool *needed;              // [nStages * nOps]
  Transfer *transfers;
  size_t nTransfers, capacityTransfers;
  int64_t nChannels;
  ShardPointerMap *makers;   // value.ptr -> op that makes it
} Entry;

static ShardOpPlan *planOf(Entry *entry, intptr_t i) {
  if (!entry->plans[i] && entry->rules[i]) {
    const ShardOpRule *rule = entry->rules[i];
    ShardSharding **wanted =
        SHARD_ARENA_ARRAY(entry->spmd->arena, ShardSharding *, rule->nResults);
    for (int32_t r = 0; r < rule->nResults; ++r)
      wanted[r] = entry->spmd->own[rule->results[r].value];
    entry->plans[i] = shardOpPlanCreate(entry->spmd, rule, wanted);
  }
  return entry->plans[i];
}

typedef struct InputCollector {
  const ShardPointerMap *makers; // value.ptr -> op index
  ShardArena *arena;
  int32_t *items;
  int32_t count;
  size_t capacity;
} InputCollector;

static void collectInput(InputCollector *collector, MlirValue operand) {
  int64_t maker;
  if (!shardPointerMapGet(collector->makers, operand.ptr, &maker))
    return;
  for (int32_t k = 0; k < collector->count; ++k)
    if (collector->items[k] == maker)
      return;
  collector->items =
      shardArenaGrow(collector->arena, collector->items, (size_t)collector->count,
                     &collector->capacity, (size_t)collector->count + 1, sizeof(int32_t));
  collector->items[collector->count++] = (int32_t)maker;
}

static MlirLogicalResult collectInputs(void *user, MlirOperation op) {
  for (intptr_t k = 0; k < mlirOperationGetNumOperands(op); ++k)
    collectInput(user, mlirOperationGetOperand(op, k));
  return mlirLogicalResultSuccess();
}

// The op of the entry that makes a value; -1: an argument.
static int32_t makerOf(const Entry *entry, MlirValue value) {
  return (int32_t)shardPointerMapGetOr(entry->makers, value.ptr, -1);
}

// The stage of an op: as annotated; else that of the latest one it reads; -1 if it reads none.
static MlirLogicalResult readStages(Entry *entry) {
  for (intptr_t i = 0; i < entry->nOps; ++i) {
    int64_t stage = -1;
    for (int32_t k = 0; k < entry->nInputs[i]; ++k) {
      int32_t other = entry->stages[entry->inputs[i][k]];
      stage = other > stage ? other : stage;
    }
    int32_t latest = (int32_t)stage;
    MlirAttribute mark = shardOpGetAttribute(entry->ops[i], "spmd.stage");
    bool free = entry->rules[i] && entry->rules[i]->cheap && latest < 0;
    if (!free && !mlirAttributeIsNull(mark) &&
        (!shardAttrGetI64(mark, &stage) || stage < 0 || stage >= entry->nStages))
      return shardEmitError(entry->ops[i], "'spmd.stage' is not between 0 and %d",
                            entry->nStages - 1);
    if (stage < latest)
      return shardEmitError(entry->ops[i],
                            "op of stage %" PRId64 " uses a value of stage %d", stage, latest);
    // What only has effects, as a top-level assertion, must not be lost.
    if (stage < 0 && mlirOperationGetNumResults(entry->ops[i]) == 0)
      stage = 0;
    entry->stages[i] = free ? -1 : (int32_t)stage;
  }
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult readEntry(ShardSpmd *spmd, const ShardFunctionInfo *function,
                                   int32_t nStages, Entry *entry) {
  *entry = (Entry){.spmd = spmd, .function = function, .nStages = nStages};
  entry->index = (int32_t)(function - spmd->rules->functions);
  MlirBlock block = shardFuncGetBody(function->func);
  MlirOperation end = returnOf(function);
  for (MlirOperation op = mlirBlockGetFirstOperation(block); !mlirOperationEqual(op, end);
       op = mlirOperationGetNextInBlock(op))
    ++entry->nOps;
  ShardArena *arena = spmd->arena;
  entry->ops = SHARD_ARENA_ARRAY(arena, MlirOperation, entry->nOps);
  entry->rules = SHARD_ARENA_ARRAY(arena, const ShardOpRule *, entry->nOps);
  entry->plans = SHARD_ARENA_ARRAY(arena, ShardOpPlan *, entry->nOps);
  entry->stages = SHARD_ARENA_ARRAY(arena, int32_t, entry->nOps);
  entry->inputs = SHARD_ARENA_ARRAY(arena, int32_t *, entry->nOps);
  entry->nInputs = SHARD_ARENA_ARRAY(arena, int32_t, entry->nOps);
  entry->needed = SHARD_ARENA_ARRAY(arena, bool, entry->nOps * nStages);
  entry->makers = shardPointerMapCreate(arena, (size_t)entry->nOps);
  int32_t rule = 0;
  intptr_t i = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(block); !mlirOperationEqual(op, end);
       op = mlirOperationGetNextInBlock(op), ++i) {
    entry->ops[i] = op;
    if (rule < function->nOps && mlirOperationEqual(function->ops[rule].op, op))
      entry->rules[i] = &function->ops[rule++];
    InputCollector collector = {.makers = entry->makers, .arena = arena};
    shardWalk(op, NULL, collectInputs, &collector);
    entry->inputs[i] = collector.items;
    entry->nInputs[i] = collector.count;
    for (intptr_t r = 0; r < mlirOperationGetNumResults(op); ++r)
      shardPointerMapSet(entry->makers, mlirOperationGetResult(op, r).ptr, i);
  }
  intptr_t nResults = mlirOperationGetNumOperands(end);
  entry->resultStages = SHARD_ARENA_ARRAY(arena, int32_t, nResults);
  if (nStages == 1) {
    memset(entry->needed, 1, (size_t)entry->nOps);
    return mlirLogicalResultSuccess();
  }
  return readStages(entry);
}

static bool usesValue(const Entry *entry, int32_t stage, MlirValue value) {
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use)) {
    MlirOperation owner = mlirOpOperandGetOwner(use);
    // The op of the entry that holds the user.
    MlirBlock block = shardFuncGetBody(entry->function->func);
    while (!mlirBlockEqual(mlirOperationGetBlock(owner), block))
      owner = mlirOperationGetParentOperation(owner);
    for (intptr_t i = 0; i < entry->nOps; ++i)
      if (entry->needed[stage * entry->nOps + i] && mlirOperationEqual(entry->ops[i], owner))
        return true;
  }
  return false;
}

// A result lives where it is made; one that is made anywhere, in the last stage that has it.
static void placeResults(Entry *entry) {
  MlirOperation end = returnOf(entry->function);
  for (intptr_t r = 0; r < mlirOperationGetNumOperands(end); ++r) {
    MlirValue value = mlirOperationGetOperand(end, r);
    int32_t maker = makerOf(entry, value);
    int32_t stage = maker >= 0 ? entry->stages[maker] : -1;
    if (stage < 0) {
      stage = entry->nStages - 1;
      for (int32_t s = entry->nStages - 1; s >= 0; --s)
        if (usesValue(entry, s, value)) {
          stage = s;
          break;
        }
    }
    entry->resultStages[r] = stage;
    if (maker >= 0)
      entry->needed[stage * entry->nOps + maker] = true;
  }
}

static void closeStage(Entry *entry, int32_t stage) {
  bool *needed = &entry->needed[stage * entry->nOps];
  for (intptr_t i = entry->nOps - 1; i >= 0; --i) {
    needed[i] |= entry->stages[i] == stage;
    if (!needed[i])
      continue;
    for (int32_t k = 0; k < entry->nInputs[i]; ++k)
      if (entry->stages[entry->inputs[i][k]] < 0)
        needed[entry->inputs[i][k]] = true;
  }
}

static Transfer *findTransfer(Entry *entry, int32_t value, int32_t to) {
  for (size_t t = 0; t < entry->nTransfers; ++t)
    if (entry->transfers[t].value == value && entry->transfers[t].to == to)
      return &entry->transfers[t];
  return NULL;
}

// Sent as it is made, unless that is partial or every user wants less of it.
static bool addUse(Entry *entry, int32_t value, int32_t from, int32_t to,
                   const ShardSharding *wanted) {
  ShardSpmd *spmd = entry->spmd;
  const ShardSharding *own = spmd->own[value];
  ShardSharding *whole = shardShardingCopy(spmd->arena, wanted);
  memset(whole->partial, 0, sizeof(whole->partial));
  bool partial = false;
  for (int a = 0; a < SHARD_MAX_AXES; ++a)
    partial |= own->partial[a] != 0;
  const ShardSharding *sent =
      partial || shardReshardFindCost(spmd, value, own, whole).nCollectives == 0 ? whole : own;
  Transfer *transfer = findTransfer(entry, value, to);
  if (!transfer) {
    entry->transfers =
        shardArenaGrow(spmd->arena, entry->transfers, entry->nTransfers, &entry->capacityTransfers,
                       entry->nTransfers + 1, sizeof(Transfer));
    entry->transfers[entry->nTransfers++] =
        (Transfer){.value = value, .from = from, .to = to, .sharding = sent, .site = -1,
                   .channel = entry->nChannels++};
    return true;
  }
  // Users that disagree: as made, or whole where it was partial.
  if (!shardShardingEqual(transfer->sharding, sent) && !partial)
    transfer->sharding = own;
  return true;
}

static MlirLogicalResult findTransfers(Entry *entry) {
  for (int32_t stage = 0; stage < entry->nStages; ++stage)
    for (intptr_t i = 0; i < entry->nOps; ++i) {
      if (!entry->needed[stage * entry->nOps + i] || !entry->rules[i])
        continue;
      const ShardOpRule *rule = entry->rules[i];
      for (int32_t k = 0; k < rule->nOperands; ++k) {
        const ShardPort *port = &rule->operands[k];
        int32_t maker = makerOf(entry, entry->spmd->rules->values[port->value].value);
        int32_t from = maker < 0 ? -1 : entry->stages[maker];
        if (from < 0 || from == stage || (port->init && rule->unusedInit))
          continue;
        ShardOpPlan *plan = planOf(entry, i);
        if (!plan)
          return mlirLogicalResultFailure();
        addUse(entry, port->value, from, stage, plan->operands[k]);
      }
    }
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult planStages(Entry *entry) {
  for (int32_t stage = 0; stage < entry->nStages; ++stage)
    closeStage(entry, stage);
  placeResults(entry);
  for (int32_t stage = 0; stage < entry->nStages; ++stage)
    closeStage(entry, stage);
  return findTransfers(entry);
}

static const char *transferCause(Entry *entry, const Transfer *transfer) {
  return shardArenaFormat(entry->spmd->arena, "%s of stage %d used in stage %d",
                          shardSpmdProducerText(entry->spmd, transfer->value), transfer->from,
                          transfer->to);
}

// The attributes of a send or a receive on the stage axis.
static void transferAttributes(ShardSpmd *spmd, const Transfer *transfer, const char *peerName,
                               int64_t peer, ShardNamedAttribute *out) {
  out[5] = (ShardNamedAttribute){
      "spmd.origin", shardAttrString(spmd->context, shardSpmdOriginText(spmd, transfer->value))};
  int16_t axis = (int16_t)shardMeshFindAxis(&spmd->mesh, "pp");
  out[0] = (ShardNamedAttribute){
      "grid", mlirFlatSymbolRefAttrGet(spmd->context, mlirStringRefCreateFromCString("mesh"))};
  out[1] = (ShardNamedAttribute){"grid_axes", mlirDenseI16ArrayGet(spmd->context, 1, &axis)};
  out[2] = (ShardNamedAttribute){peerName, shardAttrI64Array(spmd->context, 1, &peer)};
  out[3] = (ShardNamedAttribute){"spmd.site", shardAttrI64(spmd->context, transfer->site)};
  out[4] = (ShardNamedAttribute){"spmd.channel", shardAttrI64(spmd->context, transfer->channel)};
}

// A send has no scalar form: a value of rank 0 travels as one element.
static MlirType transferType(MlirType type) {
  int64_t one = 1;
  return mlirShapedTypeGetRank(type) ? type : shardTensorWithShape(type, 1, &one);
}

static MlirLogicalResult emitSend(ShardBuild *build, Entry *entry, Transfer *transfer,
                                  MlirOperation maker) {
  ShardSpmd *spmd = entry->spmd;
  MlirValue local = shardBuildGetVersion(build, transfer->value, transfer->sharding, maker);
  if (mlirValueIsNull(local))
    return mlirLogicalResultFailure();
  MlirType type = transferType(mlirValueGetType(local));
  ShardPlace place = {.block = build->block, .location = mlirOperationGetLocation(maker)};
  if (!mlirTypeEqual(type, mlirValueGetType(local)))
    local = shardBuildExpand(place, local, mlirArrayAttrGet(spmd->context, 0, NULL), type);
  MlirStringRef name = shardOpGetName(maker);
  ShardAxisList axes = {.count = 1, .axis = {(uint8_t)shardMeshFindAxis(&spmd->mesh, "pp")}};
  double bytes = (double)(shardTypeElementCount(type) *
                          shardTypeElementBytes(mlirShapedTypeGetElementType(type)));
  transfer->site = shardSiteAdd(spmd, "send",
                                shardArenaCopyString(spmd->arena, name.data, name.length),
                                place.location, transferCause(entry, transfer), axes, type, bytes);
  ShardNamedAttribute attributes[6];
  transferAttributes(spmd, transfer, "destination", transfer->to, attributes);
  shardOpCreate(place.block, place.before, place.location, "shard.send", 1, &type, 1, &local, 6,
                attributes, 0, NULL);
  return mlirLogicalResultSuccess();
}

static bool emitReceive(ShardBuild *build, int32_t value, MlirOperation consumer) {
  Entry *entry = build->fetchData;
  ShardSpmd *spmd = build->spmd;
  Transfer *transfer = findTransfer(entry, value, build->stage);
  if (!transfer || transfer->site < 0) {
    shardEmitError(consumer, "%s is not available in stage %d",
                   shardSpmdProducerText(spmd, value), build->stage);
    return false;
  }
  const ShardValueInfo *info = &spmd->rules->values[value];
  MlirType local = shardShardingLocalType(&spmd->mesh, info->type, info->nAtoms, info->atoms,
                                          transfer->sharding);
  MlirType type = transferType(local);
  const ShardOpRule *definition = shardSpmdDefinition(spmd, value);
  ShardPlace place = {.block = build->block, .location = mlirOperationGetLocation(definition->op)};
  MlirValue empty = shardBuildEmpty(place, type);
  ShardNamedAttribute attributes[6];
  transferAttributes(spmd, transfer, "source", transfer->from, attributes);
  MlirValue received = mlirOperationGetResult(
      shardOpCreate(place.block, place.before, place.location, "shard.recv", 1, &type, 1, &empty, 6,
                    attributes, 0, NULL),
      0);
  if (!mlirTypeEqual(type, local))
    received =
        shardBuildCollapse(place, received, mlirArrayAttrGet(spmd->context, 0, NULL), local);
  shardBuildAddVersion(build, value, transfer->sharding, received);
  return true;
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

static MlirLogicalResult emitReturn(NewFunction *function, const Entry *entry) {
  ShardBuild *build = &function->build;
  ShardSpmd *spmd = build->spmd;
  MlirOperation end = returnOf(build->function);
  intptr_t n = mlirOperationGetNumOperands(end);
  function->results = SHARD_ARENA_ARRAY(spmd->arena, int32_t, n);
  MlirValue *values = SHARD_ARENA_ARRAY(spmd->arena, MlirValue, n);
  for (intptr_t r = 0; r < n; ++r) {
    if (build->stage >= 0 && entry->resultStages[r] != build->stage)
      continue;
    MlirValue old = mlirOperationGetOperand(end, r);
    int32_t v = shardRulesFindValue(spmd->rules, old);
    MlirValue local;
    if (v >= 0)
      local = shardBuildGetVersion(build, v, spmd->results[entry->index][r], end);
    else
      local = build->scalarValues[shardPointerMapGetOr(build->scalars, old.ptr, 0)];
    if (mlirValueIsNull(local))
      return mlirLogicalResultFailure();
    function->results[function->nResults] = (int32_t)r;
    values[function->nResults++] = local;
  }
  MlirOperation none = {NULL};
  shardOpCreate(build->block, none, mlirOperationGetLocation(end), "func.return", 0, NULL,
                function->nResults, values, 0, NULL, 0, NULL);
  return mlirLogicalResultSuccess();
}

// Arguments that this stage does not use; one that no stage uses stays with the first.
static void dropArguments(NewFunction *function) {
  ShardBuild *build = &function->build;
  MlirBlock old = shardFuncGetBody(build->function->func);
  intptr_t kept = 0;
  unsigned position = 0;
  for (intptr_t i = 0; i < function->nArguments; ++i) {
    bool used = !mlirOpOperandIsNull(mlirValueGetFirstUse(
        mlirBlockGetArgument(build->block, (intptr_t)position)));
    bool orphan = build->stage == 0 &&
                  mlirOpOperandIsNull(mlirValueGetFirstUse(mlirBlockGetArgument(old, i)));
    if (!used && !orphan) {
      mlirBlockEraseArgument(build->block, position);
      continue;
    }
    function->arguments[kept++] = (int32_t)i;
    ++position;
  }
  function->nArguments = kept;
}

static MlirLogicalResult emitOps(ShardBuild *build, Entry *entry) {
  int32_t stage = build->stage < 0 ? 0 : build->stage;
  for (intptr_t i = 0; i < entry->nOps; ++i) {
    if (!entry->needed[stage * entry->nOps + i])
      continue;
    const ShardOpRule *rule = entry->rules[i];
    if (rule && rule->cheap && rule->nResults == 1)
      continue; // made where it is wanted
    ShardOpPlan *plan = planOf(entry, i);
    if (rule && !plan)
      return mlirLogicalResultFailure();
    if (mlirLogicalResultIsFailure(shardLocalize(build, entry->ops[i], plan)))
      return mlirLogicalResultFailure();
    for (int32_t r = 0; rule && build->stage >= 0 && r < rule->nResults; ++r)
      for (int32_t to = 0; to < entry->nStages; ++to) {
        Transfer *transfer = findTransfer(entry, rule->results[r].value, to);
        if (transfer && transfer->from == build->stage &&
            mlirLogicalResultIsFailure(emitSend(build, entry, transfer, entry->ops[i])))
          return mlirLogicalResultFailure();
      }
  }
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult emitFunction(Entry *entry, int32_t stage, bool isEntry,
                                      NewFunction *out) {
  beginFunction(entry->spmd, entry->function, stage, out);
  out->build.fetch = stage >= 0 ? emitReceive : NULL;
  out->build.fetchData = entry;
  if (mlirLogicalResultIsFailure(emitOps(&out->build, entry)) ||
      mlirLogicalResultIsFailure(emitReturn(out, entry))) {
    mlirBlockDestroy(out->build.block);
    return mlirLogicalResultFailure();
  }
  if (stage >= 0)
    dropArguments(out);
  finishFunction(out, isEntry);
  return mlirLogicalResultSuccess();
}

typedef struct Reach {
  ShardSpmd *spmd;
  ShardPointerMap *seen;
} Reach;

static MlirLogicalResult markReachable(void *user, MlirOperation op) {
  Reach *reach = user;
  MlirAttribute callee =
      shardOpIs(op, "func.call") ? shardOpGetAttribute(op, "callee") : mlirAttributeGetNull();
  if (mlirAttributeIsNull(callee))
    return mlirLogicalResultSuccess();
  MlirOperation target =
      shardModuleLookup(reach->spmd->module, mlirFlatSymbolRefAttrGetValue(callee));
  int64_t seen;
  if (mlirOperationIsNull(target) || shardPointerMapGet(reach->seen, target.ptr, &seen))
    return mlirLogicalResultSuccess();
  shardPointerMapSet(reach->seen, target.ptr, 1);
  return shardWalk(target, NULL, markReachable, reach);
}

static void eraseUnreachable(ShardSpmd *spmd, int32_t nEntries, const MlirOperation *entries) {
  Reach reach = {spmd, shardPointerMapCreate(spmd->arena, 64)};
  for (int32_t i = 0; i < nEntries; ++i) {
    shardPointerMapSet(reach.seen, entries[i].ptr, 1);
    shardWalk(entries[i], NULL, markReachable, &reach);
  }
  MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(spmd->module, 0));
  MlirOperation next;
  for (MlirOperation op = mlirBlockGetFirstOperation(body); !mlirOperationIsNull(op); op = next) {
    next = mlirOperationGetNextInBlock(op);
    int64_t seen;
    if (shardOpIs(op, "func.func") && !shardPointerMapGet(reach.seen, op.ptr, &seen))
      mlirOperationDestroy(op);
  }
}

static MlirLogicalResult runSpmdize(ShardPassRun *run) {
  ShardSpmd spmd = {.context = run->context, .module = run->op, .arena = run->arena};
  if (!shardMeshRead(run->op, run->arena, &spmd.mesh))
    return shardEmitError(run->op, "the module has no mesh: expected 'shard.grid @mesh' with "
                                   "'spmd.axes' (run shard-plan first)");
  if (mlirLogicalResultIsFailure(shardUpstreamErase(run->op, run->arena)))
    return mlirLogicalResultFailure();
  spmd.rules = shardRulesCreate(run->op, run->arena, false);
  if (!spmd.rules || mlirLogicalResultIsFailure(readValues(&spmd)) ||
      mlirLogicalResultIsFailure(readResults(&spmd)))
    return mlirLogicalResultFailure();
  spmd.ruleOf = shardPointerMapCreate(run->arena, 256);
  for (int32_t f = 0; f < spmd.rules->nFunctions; ++f)
    for (int32_t i = 0; i < spmd.rules->functions[f].nOps; ++i) {
      const ShardOpRule *rule = &spmd.rules->functions[f].ops[i];
      shardPointerMapSet(spmd.ruleOf, rule->op.ptr, (int64_t)(intptr_t)rule);
    }
  int32_t main = -1;
  for (int32_t f = 0; f < spmd.rules->nFunctions; ++f) {
    MlirOperation func = spmd.rules->functions[f].func;
    if (!shardFuncIsPublic(func))
      continue;
    if (main >= 0)
      return shardEmitError(func, "the module has two public functions; one is the program");
    main = f;
  }
  if (main < 0)
    return shardEmitError(run->op, "the module has no public function");

  int32_t pp = shardMeshFindAxis(&spmd.mesh, "pp");
  int32_t nStages = pp >= 0 ? (int32_t)spmd.mesh.sizes[pp] : 1;
  int32_t nFunctions = spmd.rules->nFunctions;
  MlirOperation *entries = SHARD_ARENA_ARRAY(run->arena, MlirOperation, nStages);
  size_t nMade = 0;
  MlirOperation *made = SHARD_ARENA_ARRAY(run->arena, MlirOperation, nFunctions + nStages);
  MlirLogicalResult result = mlirLogicalResultSuccess();
  for (int32_t f = 0; f < nFunctions && mlirLogicalResultIsSuccess(result); ++f) {
    int32_t count = f == main ? nStages : 1;
    Entry entry;
    result = readEntry(&spmd, &spmd.rules->functions[f], count, &entry);
    if (mlirLogicalResultIsSuccess(result) && count > 1)
      result = planStages(&entry);
    for (int32_t s = 0; s < count && mlirLogicalResultIsSuccess(result); ++s) {
      NewFunction function;
      result = emitFunction(&entry, count > 1 ? s : -1, f == main, &function);
      if (mlirLogicalResultIsFailure(result))
        break;
      made[nMade++] = function.op;
      if (f == main)
        entries[s] = function.op;
    }
  }
  if (mlirLogicalResultIsFailure(result)) {
    for (size_t i = 0; i < nMade; ++i)
      mlirOperationDestroy(made[i]);
    return result;
  }
  for (int32_t f = 0; f < nFunctions; ++f)
    mlirOperationDestroy(spmd.rules->functions[f].func);
  eraseUnreachable(&spmd, nStages, entries);
  shardSitesWrite(&spmd, nStages, entries);
  return mlirLogicalResultSuccess();
}

const ShardPassInfo shardSpmdizePass = {
    .argument = "shard-spmdize",
    .summary = "Turn an annotated program into one program per device and pipeline stage",
    .anchor = "builtin.module",
    .run = runSpmdize,
};
