//===- Spmdize.c - Global shapes to per-device programs -----------*- C -*-===//
// Reads: the mesh, `spmd.sharding`, `spmd.view`, `spmd.partial`, `spmd.stage` (L2). Writes: L3:
// local types, collectives of the shard dialect, one function a pipeline stage, `spmd.sites`.
// Fails: annotations that contradict each other or cut where an op cannot be cut.
//===----------------------------------------------------------------------===//

#include "Stages.h"

#include "../Analysis/Upstream.h"

#include "../Core/Mutant.h"

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

static MlirLogicalResult readResults(ShardSpmd *spmd) {
  const ShardRules *rules = spmd->rules;
  spmd->results = SHARD_ARENA_ARRAY(spmd->arena, ShardSharding **, rules->nFunctions);
  for (int32_t f = 0; f < rules->nFunctions; ++f) {
    MlirOperation func = rules->functions[f].func,
                  end = shardFunctionGetReturn(&rules->functions[f]);
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
  int32_t *results; // of L2
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
  static const char *const dropped[] = {"spmd.sharding", "spmd.view",   "spmd.partial",
                                        "spmd.fixed",    "spmd.extent", "spmd.cut"};
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
  ShardNamedAttribute extra[5];
  intptr_t n = 0;
  if (isEntry) {
    MlirAttribute given =
        mlirAttributeIsNull(old)
            ? mlirAttributeGetNull()
            : mlirDictionaryAttrGetElementByName(old, mlirStringRefCreateFromCString(numberName));
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
    extra[n++] = (ShardNamedAttribute){
        "spmd.extent", shardShardingExtentAttribute(&spmd->mesh, spmd->context, info->type,
                                                    info->nAtoms, info->atoms, sharding)};
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
  const char *newName = function->build.stage >= 0
                            ? shardArenaFormat(spmd->arena, "%.*s_stage%d", (int)name.length,
                                               name.data, function->build.stage)
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
    attributes[n++] =
        (ShardNamedAttribute){"spmd.stage", shardAttrI64(spmd->context, function->build.stage)};
  MlirBlock none = {NULL};
  function->op = shardOpCreate(none, old, mlirOperationGetLocation(old), "func.func", 0, NULL, 0,
                               NULL, n, attributes, 1, &region);
  shardFuncUpdateType(function->op);

  MlirAttribute *entries =
      SHARD_ARENA_ARRAY(spmd->arena, MlirAttribute, function->nArguments + function->nResults);
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
    int32_t v = shardRulesFindValue(spmd->rules,
                                    mlirOperationGetOperand(shardFunctionGetReturn(info), result));
    entries[r] = boundaryEntry(spmd, entryAttributes(old, "res_attrs", result), v,
                               spmd->results[index][result], "spmd.result", result, isEntry);
    any |= mlirDictionaryAttrGetNumElements(entries[r]) != 0;
  }
  if (any)
    shardOpSetAttribute(function->op, "res_attrs",
                        mlirArrayAttrGet(spmd->context, function->nResults, entries));
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

static MlirLogicalResult emitReturn(NewFunction *function, const ShardEntry *entry) {
  ShardBuild *build = &function->build;
  ShardSpmd *spmd = build->spmd;
  MlirOperation end = shardFunctionGetReturn(build->function);
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
    bool used = !mlirOpOperandIsNull(
        mlirValueGetFirstUse(mlirBlockGetArgument(build->block, (intptr_t)position)));
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

static MlirLogicalResult emitOps(ShardBuild *build, ShardEntry *entry) {
  int32_t stage = build->stage < 0 ? 0 : build->stage;
  for (intptr_t i = 0; i < entry->nOps; ++i) {
    if (!entry->needed[stage * entry->nOps + i])
      continue;
    const ShardOpRule *rule = entry->rules[i];
    if (rule && rule->cheap && rule->nResults == 1)
      continue; // made where it is wanted
    ShardOpPlan *plan = shardEntryGetPlan(entry, i);
    if (rule && !plan)
      return mlirLogicalResultFailure();
    if (mlirLogicalResultIsFailure(shardLocaliseOp(build, entry->ops[i], plan)))
      return mlirLogicalResultFailure();
    for (int32_t r = 0; rule && build->stage >= 0 && r < rule->nResults; ++r)
      for (int32_t to = 0; to < entry->nStages; ++to) {
        ShardTransfer *transfer = shardEntryFindTransfer(entry, rule->results[r].value, to);
        if (transfer && transfer->from == build->stage &&
            mlirLogicalResultIsFailure(shardBuildSend(build, entry, transfer, entry->ops[i])))
          return mlirLogicalResultFailure();
      }
  }
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult emitFunction(ShardEntry *entry, int32_t stage, bool isEntry,
                                      NewFunction *out) {
  beginFunction(entry->spmd, entry->function, stage, out);
  out->build.fetch = stage >= 0 ? shardBuildReceive : NULL;
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
  MlirOperation target = shardModuleCallee(reach->spmd->module, op);
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

typedef struct SpmdizeOptions {
  bool origins;
} SpmdizeOptions;

static const ShardOption optionTable[] = {
    SHARD_OPTION(SpmdizeOptions, origins, "origins", "true", "",
                 "Note on each op which value it makes (spmd.origin)"),
};

static MlirLogicalResult runSpmdize(ShardPassRun *run) {
  const SpmdizeOptions *options = run->options;
  ShardSpmd spmd = {.marksOrigins = options->origins,
                    .context = run->context,
                    .module = run->op,
                    .arena = run->arena};
  ShardGridState grid = shardMeshReadChecked(run->op, run->arena, &spmd.mesh);
  if (grid == SHARD_GRID_REFUSED)
    return mlirLogicalResultFailure();
  if (grid == SHARD_GRID_NONE)
    return shardEmitError(run->op, "the module has no mesh: expected 'shard.grid @mesh' with "
                                   "'spmd.axes' (run shard-plan first)");
  if (mlirLogicalResultIsFailure(shardUpstreamErase(run->op, run->arena)))
    return mlirLogicalResultFailure();
  spmd.rules = shardRulesCreate(run->op, run->arena);
  if (!spmd.rules || mlirLogicalResultIsFailure(readValues(&spmd)) ||
      mlirLogicalResultIsFailure(readResults(&spmd)))
    return mlirLogicalResultFailure();
  shardOriginsNumber(&spmd);
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
    ShardEntry entry;
    result = shardEntryRead(&spmd, &spmd.rules->functions[f], count, &entry);
    if (mlirLogicalResultIsSuccess(result) && count > 1)
      result = shardEntryPlanStages(&entry);
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
  result = shardSitesWrite(&spmd, nStages, entries);
#ifdef SHARD_MUTANTS
  shardMutantApply(run->op);
#endif
  return result;
}

const ShardPassInfo shardSpmdizePass = {
    .argument = "shard-spmdize",
    .summary = "Turn an annotated program into one program per device and pipeline stage",
    .anchor = "builtin.module",
    SHARD_PASS_OPTIONS(SpmdizeOptions, optionTable),
    .run = runSpmdize,
};
