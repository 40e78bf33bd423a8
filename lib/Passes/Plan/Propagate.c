//===- Propagate.c - A sharding for every value -------------------*- C -*-===//
// Reads: shard.grid, spmd.sharding on the entry's arguments (and on any op: a fixed point). Writes:
// spmd.sharding, spmd.view, spmd.partial on every op, argument and result. Functions called with
// different shardings are cloned. Fails: annotations that do not fit.
//===----------------------------------------------------------------------===//

#include "../Core/Pass.h"

#include "../Analysis/Upstream.h"

#include "Model.h"
#include "Solve.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <inttypes.h>
#include <string.h>

typedef struct Propagation {
  ShardPassRun *run;
  ShardArena *arena;
  ShardModel *model;
  ShardMesh mesh;
  ShardSharding **shardings; // [values]
  ShardSharding ***handed;   // [functions][results] what a function hands back
  ShardSharding **arguments; // [entry arguments] given
  ShardSharding **results;   // [entry results] the user's, or null
  ShardSharding **tied;      // [entry results] that of the state that one is the updated form of
  int32_t *grown;            // [entry results] the dimension in which it is longer, or -1
  ShardSharding **pinned;    // [values] the user's, or null
  bool chosen;               // what stands there as the user's is a plan that was written out
  ShardShardingCache *cache; // of attributes
} Propagation;

/// State of a value along one axis under a sharding.
static ShardState stateAlong(const ShardSharding *sharding, int32_t axis) {
  for (int32_t a = 0; a < sharding->nAtoms; ++a)
    for (int32_t k = 0; k < sharding->atoms[a].count; ++k)
      if (sharding->atoms[a].axis[k] == axis)
        return shardStateMake(a, sharding->atoms[a].span);
  return sharding->partial[axis] ? SHARD_STATE_PARTIAL : SHARD_STATE_WHOLE;
}

static void addState(ShardSharding *sharding, int32_t axis, ShardState state, uint8_t combiner) {
  if (state >= 0) {
    int32_t head = shardStateHead(state), span = shardStateSpan(state);
    ShardAxisList *list = &sharding->atoms[head];
    list->axis[list->count++] = (uint8_t)axis;
    list->span = (uint8_t)span;
    for (int32_t k = 1; k <= span; ++k)
      sharding->atoms[head + k].span = SHARD_SPAN_INSIDE;
  } else if (state == SHARD_STATE_PARTIAL) {
    sharding->partial[axis] = combiner;
  }
}

/// A sharding as annotated; null after one diagnostic.
static ShardSharding *readSharding(Propagation *p, MlirOperation holder,
                                   const ShardValueInfo *value, MlirAttribute sharding,
                                   MlirAttribute view) {
  MlirLocation location = mlirOperationGetLocation(holder);
  ShardSharding *out =
      shardShardingFromAttributes(&p->mesh, location, value->type, value->nAtoms, value->atoms,
                                  sharding, view, mlirAttributeGetNull(), p->arena);
  for (int32_t i = 0; out && i < value->nAtoms; ++i)
    if (out->atoms[i].span != SHARD_SPAN_INSIDE && !shardStateCanBe(i, out->atoms[i].span)) {
      shardEmitErrorAt(location, "a block of more than 31 pieces is not supported");
      return NULL;
    }
  return out;
}

static MlirLogicalResult readArguments(Propagation *p) {
  const ShardFunctionInfo *info = &p->model->rules->functions[p->model->entry];
  p->arguments =
      SHARD_ARENA_ARRAY(p->arena, ShardSharding *, info->nArguments ? info->nArguments : 1);
  for (int32_t a = 0; a < info->nArguments; ++a) {
    if (info->arguments[a] < 0)
      continue;
    const ShardValueInfo *value = &p->model->rules->values[info->arguments[a]];
    p->arguments[a] = readSharding(p, info->func, value,
                                   shardFuncGetArgumentAttribute(info->func, a, "spmd.sharding"),
                                   shardFuncGetArgumentAttribute(info->func, a, "spmd.view"));
    if (!p->arguments[a])
      return mlirLogicalResultFailure();
  }
  return mlirLogicalResultSuccess();
}

/// A state's placement on its updated form; null, with the tie taken back, where the two are cut in
/// other pieces.
static ShardSharding *tieResult(Propagation *p, int32_t argument, const ShardValueInfo *result,
                                int32_t *outGrown) {
  const ShardFunctionInfo *entry = &p->model->rules->functions[p->model->entry];
  const ShardValueInfo *value = &p->model->rules->values[entry->arguments[argument]];
  bool fits = value->nAtoms == result->nAtoms;
  for (int32_t i = 0; fits && i < value->nAtoms; ++i) {
    int32_t dim = value->atoms[i].dim;
    bool grown =
        mlirShapedTypeGetDimSize(value->type, dim) != mlirShapedTypeGetDimSize(result->type, dim);
    if (grown)
      *outGrown = dim;
    fits = result->atoms[i].dim == dim && (grown || result->atoms[i].size == value->atoms[i].size);
  }
  if (fits)
    return shardShardingCopy(p->arena, p->arguments[argument]);
  shardStateUntie(entry->func, argument);
  return NULL;
}

/// Where the updated forms of states lie: where the states do.
static void readTies(Propagation *p) {
  const ShardRules *rules = p->model->rules;
  const ShardFunctionInfo *entry = &rules->functions[p->model->entry];
  p->tied = SHARD_ARENA_ARRAY(p->arena, ShardSharding *, entry->nResults + 1);
  p->grown = SHARD_ARENA_ARRAY(p->arena, int32_t, entry->nResults + 1);
  const ShardOpRule *ret = &entry->ops[entry->nOps - 1];
  for (int32_t r = 0; r < ret->nOperands; ++r) {
    int32_t number = ret->operands[r].operandIndex;
    p->grown[number] = -1;
    for (int32_t a = 0; a < entry->nArguments && !p->results[number]; ++a)
      if (p->model->ties[a].result == number && p->arguments[a])
        p->tied[number] =
            tieResult(p, a, &rules->values[ret->operands[r].value], &p->grown[number]);
  }
}

/// What a result is wanted as along an axis.
static ShardState wantedAlong(const Propagation *p, int32_t result, int32_t axis,
                              bool wholeResults) {
  const ShardSharding *tied = p->tied[result];
  if (p->results[result])
    return stateAlong(p->results[result], axis);
  if (!tied)
    return wholeResults ? SHARD_STATE_WHOLE : SHARD_STATE_AS_PRODUCED;
  ShardState state = stateAlong(tied, axis);
  const ShardFunctionInfo *entry = &p->model->rules->functions[p->model->entry];
  const ShardOpRule *ret = &entry->ops[entry->nOps - 1];
  for (int32_t r = 0; state >= 0 && r < ret->nOperands; ++r)
    if (ret->operands[r].operandIndex == result &&
        p->model->rules->values[ret->operands[r].value].atoms[shardStateHead(state)].dim ==
            p->grown[result])
      return SHARD_STATE_AS_PRODUCED; // rows were added in its midst
  return state;
}

/// The user's annotations of results and of ops (those that a file of annotations or shard.shard
/// put there): fixed points.
static MlirLogicalResult readPins(Propagation *p) {
  const ShardRules *rules = p->model->rules;
  const ShardFunctionInfo *entry = &rules->functions[p->model->entry];
  p->pinned = SHARD_ARENA_ARRAY(p->arena, ShardSharding *, rules->nValues ? rules->nValues : 1);
  p->results = SHARD_ARENA_ARRAY(p->arena, ShardSharding *, entry->nResults ? entry->nResults : 1);
  for (int32_t v = 0; v < rules->nValues; ++v) {
    const ShardValueInfo *value = &rules->values[v];
    if (value->definition < 0)
      continue;
    MlirOperation op = rules->functions[value->function].ops[value->definition].op;
    MlirAttribute list = shardOpGetAttribute(op, "spmd.sharding");
    MlirAttribute views = shardOpGetAttribute(op, "spmd.view");
    if (!list.ptr || !mlirAttributeIsAArray(list) ||
        value->number >= mlirArrayAttrGetNumElements(list))
      continue;
    MlirAttribute view = {NULL};
    if (views.ptr && mlirAttributeIsAArray(views) &&
        value->number < mlirArrayAttrGetNumElements(views) &&
        mlirAttributeIsADenseI64Array(mlirArrayAttrGetElement(views, value->number)))
      view = mlirArrayAttrGetElement(views, value->number);
    p->pinned[v] = readSharding(p, op, value, mlirArrayAttrGetElement(list, value->number), view);
    if (!p->pinned[v])
      return mlirLogicalResultFailure();
  }
  const ShardOpRule *ret = &entry->ops[entry->nOps - 1];
  for (int32_t r = 0; r < ret->nOperands; ++r) {
    int32_t number = ret->operands[r].operandIndex;
    MlirAttribute sharding = shardFuncGetResultAttribute(entry->func, number, "spmd.sharding");
    if (!sharding.ptr)
      continue;
    const ShardValueInfo *value = &rules->values[ret->operands[r].value];
    p->results[number] =
        readSharding(p, entry->func, value, sharding,
                     shardFuncGetResultAttribute(entry->func, number, "spmd.view"));
    if (!p->results[number])
      return mlirLogicalResultFailure();
  }
  return mlirLogicalResultSuccess();
}

/// The pins along one axis, as Solve wants them; null when there are none.
static const ShardState *const *pinsAlong(Propagation *p, int32_t axis) {
  const ShardRules *rules = p->model->rules;
  ShardState **pins = SHARD_ARENA_ARRAY(p->arena, ShardState *, rules->nFunctions);
  bool any = false;
  for (int32_t f = 0; f < rules->nFunctions; ++f) {
    int32_t n = shardFunctionValueCount(rules, f);
    pins[f] = SHARD_ARENA_ARRAY(p->arena, ShardState, n ? n : 1);
    shardStatesFill(pins[f], n, SHARD_STATE_FREE);
  }
  for (int32_t v = 0; v < rules->nValues; ++v)
    if (p->pinned[v]) {
      int32_t f = rules->values[v].function;
      pins[f][v - shardFunctionFirstValue(rules, f)] = stateAlong(p->pinned[v], axis);
      any = true;
    }
  return any ? (const ShardState *const *)pins : NULL;
}

/// Classes that arguments are split on along axes that are solved after this one: what is split on
/// them along this one first would lie otherwise than those arguments.
static bool *classesOfLaterAxes(const Propagation *p, int32_t axis) {
  const ShardRules *rules = p->model->rules;
  const ShardFunctionInfo *entry = &rules->functions[p->model->entry];
  bool *later = SHARD_ARENA_ARRAY(p->arena, bool, rules->nClasses + 1);
  for (int32_t a = 0; a < entry->nArguments; ++a)
    for (int32_t i = 0; p->arguments[a] && i < p->arguments[a]->nAtoms; ++i)
      for (int32_t k = 0; k < p->arguments[a]->atoms[i].count; ++k)
        if (p->arguments[a]->atoms[i].axis[k] > axis)
          later[rules->values[entry->arguments[a]].atoms[i].klass] = true;
  return later;
}

/// Gives a function that is used under two signatures along an axis a clone for the second one.
/// Callers come later in the order of functions, so the last such function has settled callers.
static bool specialise(Propagation *p, const ShardAxisSolution *solution) {
  const ShardRules *rules = p->model->rules;
  for (int32_t f = rules->nFunctions - 1; f >= 0; --f) {
    int32_t instances[2], n = 0;
    for (int32_t i = 0; i < solution->nInstances && n < 2; ++i)
      if (solution->instances[i]->function == f)
        instances[n++] = i;
    if (n < 2)
      continue;
    MlirOperation func = rules->functions[f].func;
    MlirOperation clone = mlirOperationClone(func);
    MlirStringRef old = mlirStringAttrGetValue(shardOpGetAttribute(func, "sym_name"));
    char *name = NULL;
    for (int32_t k = 1; !name; ++k) {
      name = shardArenaFormat(p->arena, "%.*s_%d", (int)old.length, old.data, k);
      if (shardModuleLookup(p->model->module, mlirStringRefCreateFromCString(name)).ptr)
        name = NULL;
    }
    shardOpSetAttribute(clone, "sym_name", shardAttrString(p->run->context, name));
    mlirBlockInsertOwnedOperationAfter(mlirOperationGetBlock(func), func, clone);
    MlirAttribute symbol =
        mlirFlatSymbolRefAttrGet(p->run->context, mlirStringRefCreateFromCString(name));
    for (int32_t i = 0; i < solution->nInstances; ++i) {
      const ShardFunctionInfo *caller = &rules->functions[solution->instances[i]->function];
      for (int32_t o = 0; o < caller->nOps; ++o)
        if (solution->instances[i]->callees[o] == instances[1])
          shardOpSetAttribute(caller->ops[o].form == SHARD_OP_LOOP ? caller->ops[o].bodies[0].call
                                                                   : caller->ops[o].op,
                              "callee", symbol);
        else if (solution->instances[i]->others[o] == instances[1])
          shardOpSetAttribute(caller->ops[o].bodies[1].call, "callee", symbol);
    }
    return true;
  }
  return false;
}

/// Writes a block that fewer atoms can say, now that all its axes are known, on those.
static void normaliseBlocks(Propagation *p, const ShardValueInfo *value, ShardSharding *sharding) {
  for (int32_t a = 0; a < value->nAtoms; ++a) {
    ShardAxisList list = sharding->atoms[a];
    if (list.span == 0 || list.span == SHARD_SPAN_INSIDE)
      continue;
    memset(&sharding->atoms[a], 0, (list.span + 1u) * sizeof(list));
    shardShardingSplitDimension(&p->mesh, a, a + list.span + 1, value->atoms, list.count, list.axis,
                                sharding);
    a += list.span;
  }
}

/// Whole placements for every value, and for what functions hand over.
static void createShardings(Propagation *p) {
  const ShardRules *rules = p->model->rules;
  p->shardings = SHARD_ARENA_ARRAY(p->arena, ShardSharding *, rules->nValues ? rules->nValues : 1);
  for (int32_t v = 0; v < rules->nValues; ++v)
    p->shardings[v] = shardShardingCreate(p->arena, rules->values[v].nAtoms);
  p->handed = SHARD_ARENA_ARRAY(p->arena, ShardSharding **, rules->nFunctions);
  for (int32_t f = 0; f < rules->nFunctions; ++f) {
    const ShardFunctionInfo *info = &rules->functions[f];
    const ShardOpRule *ret = &info->ops[info->nOps - 1];
    p->handed[f] =
        SHARD_ARENA_ARRAY(p->arena, ShardSharding *, info->nResults ? info->nResults : 1);
    for (int32_t r = 0; r < ret->nOperands; ++r)
      p->handed[f][ret->operands[r].operandIndex] =
          shardShardingCreate(p->arena, rules->values[ret->operands[r].value].nAtoms);
  }
}

/// What the axes so far split each factor into, by function and factor.
typedef struct FactorUse {
  int64_t **used;    // devices, 1 at first
  uint8_t **blocks;  // spans of blocks
  int32_t **offsets; // of an op's first factor
} FactorUse;

static FactorUse createFactorUse(const Propagation *p) {
  const ShardRules *rules = p->model->rules;
  FactorUse use = {.used = SHARD_ARENA_ARRAY(p->arena, int64_t *, rules->nFunctions),
                   .blocks = SHARD_ARENA_ARRAY(p->arena, uint8_t *, rules->nFunctions),
                   .offsets = SHARD_ARENA_ARRAY(p->arena, int32_t *, rules->nFunctions)};
  for (int32_t f = 0; f < rules->nFunctions; ++f) {
    int32_t total;
    use.offsets[f] = shardFactorOffsets(rules, f, p->arena, &total);
    use.used[f] = SHARD_ARENA_ARRAY(p->arena, int64_t, total ? total : 1);
    use.blocks[f] = SHARD_ARENA_ARRAY(p->arena, uint8_t, total ? total : 1);
    for (int32_t i = 0; i < total; ++i)
      use.used[f][i] = 1;
  }
  return use;
}

static ShardAxisSolution *solveAxis(Propagation *p, int32_t axis, bool wholeResults,
                                    const FactorUse *use) {
  const ShardModel *model = p->model;
  const ShardFunctionInfo *entry = &model->rules->functions[model->entry];
  ShardState *seeds =
      SHARD_ARENA_ARRAY(p->arena, ShardState, entry->nArguments ? entry->nArguments : 1);
  for (int32_t a = 0; a < entry->nArguments; ++a)
    seeds[a] = p->arguments[a] ? stateAlong(p->arguments[a], axis) : SHARD_STATE_WHOLE;
  ShardState *wanted =
      SHARD_ARENA_ARRAY(p->arena, ShardState, entry->nResults ? entry->nResults : 1);
  for (int32_t r = 0; r < entry->nResults; ++r)
    wanted[r] = wantedAlong(p, r, axis, wholeResults);
  ShardAxisProblem problem = {.rules = model->rules,
                              .size = p->mesh.sizes[axis],
                              .used = use->used,
                              .blocks = use->blocks,
                              .entry = model->entry,
                              .entryArguments = seeds,
                              .entryResults = wanted,
                              .pinned = pinsAlong(p, axis),
                              .fold = model->fold,
                              .weight = model->weight,
                              .later = classesOfLaterAxes(p, axis),
                              .gatherWeights = true,
                              .search = true};
  return shardAxisSolve(&problem, p->arena);
}

/// An axis as it was solved, on the placements and factors.
static void addInstance(Propagation *p, int32_t axis, const ShardInstance *instance,
                        FactorUse *use) {
  const ShardRules *rules = p->model->rules;
  int32_t f = instance->function;
  const ShardFunctionInfo *info = &rules->functions[f];
  int32_t first = shardFunctionFirstValue(rules, f);
  int32_t n = shardFunctionValueCount(rules, f);
  for (int32_t v = 0; v < n; ++v)
    addState(p->shardings[first + v], axis, instance->states[v], instance->combiners[v]);
  const ShardOpRule *ret = &info->ops[info->nOps - 1];
  for (int32_t r = 0; r < ret->nOperands; ++r) {
    int32_t number = ret->operands[r].operandIndex;
    addState(p->handed[f][number], axis, instance->results[number], 0);
  }
  for (int32_t o = 0; o < info->nOps; ++o) {
    if (instance->choices[o] < 0)
      continue;
    int32_t span = shardStateSpan(instance->choices[o]);
    int32_t at = use->offsets[f][o] + shardStateHead(instance->choices[o]);
    use->used[f][at] *= p->mesh.sizes[axis];
    use->blocks[f][at] = (uint8_t)span;
    for (int32_t k = 1; k <= span; ++k)
      use->blocks[f][at + k] = SHARD_SPAN_INSIDE;
  }
}

/// Solves every axis in turn. Sets `*outAgain` when a function was cloned: the rules are stale
/// then.
static void solveAxes(Propagation *p, bool wholeResults, bool *outAgain) {
  const ShardRules *rules = p->model->rules;
  int32_t ppAxis = shardMeshFindAxis(&p->mesh, "pp");
  createShardings(p);
  FactorUse use = createFactorUse(p);
  *outAgain = false;
  for (int32_t axis = 0; axis < p->mesh.nAxes; ++axis) {
    if (axis == ppAxis || p->mesh.sizes[axis] == 1)
      continue;
    ShardAxisSolution *solution = solveAxis(p, axis, wholeResults, &use);
    if (specialise(p, solution)) {
      *outAgain = true;
      return;
    }
    for (int32_t i = 0; i < solution->nInstances; ++i)
      addInstance(p, axis, solution->instances[i], &use);
  }
  for (int32_t v = 0; v < rules->nValues; ++v)
    normaliseBlocks(p, &rules->values[v], p->shardings[v]);
  for (int32_t f = 0; f < rules->nFunctions; ++f) {
    const ShardOpRule *ret = &rules->functions[f].ops[rules->functions[f].nOps - 1];
    for (int32_t r = 0; r < ret->nOperands; ++r)
      normaliseBlocks(p, &rules->values[ret->operands[r].value],
                      p->handed[f][ret->operands[r].operandIndex]);
  }
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// One entry a result, in place of what an annotation has left there.
static void writeList(MlirOperation op, const char *name, bool any, intptr_t n,
                      const MlirAttribute *entries) {
  if (any)
    shardOpSetAttribute(op, name, mlirArrayAttrGet(mlirOperationGetContext(op), n, entries));
  else
    shardOpRemoveAttribute(op, name);
}

static void writeOp(Propagation *p, const ShardOpRule *rule) {
  MlirContext context = p->run->context;
  intptr_t n = mlirOperationGetNumResults(rule->op);
  if (n == 0)
    return;
  MlirAttribute *shardings = SHARD_ARENA_ARRAY(p->arena, MlirAttribute, n);
  MlirAttribute *views = SHARD_ARENA_ARRAY(p->arena, MlirAttribute, n);
  MlirAttribute *partials = SHARD_ARENA_ARRAY(p->arena, MlirAttribute, n);
  MlirAttribute *extents = SHARD_ARENA_ARRAY(p->arena, MlirAttribute, n);
  bool anyView = false, anyPartial = false, anyExtent = false, fixed = false;
  MlirAttribute empty = mlirArrayAttrGet(context, 0, NULL);
  for (intptr_t r = 0; r < n; ++r) {
    shardings[r] = partials[r] = empty;
    views[r] = extents[r] = shardAttrUnit(context);
  }
  for (int32_t r = 0; r < rule->nResults; ++r) {
    const ShardValueInfo *value = &p->model->rules->values[rule->results[r].value];
    const ShardSharding *sharding = p->shardings[rule->results[r].value];
    MlirAttribute view, partial;
    intptr_t at = rule->results[r].operandIndex;
    fixed |= p->pinned[rule->results[r].value] != NULL;
    shardShardingCacheGet(p->cache, value->type, value->nAtoms, value->atoms, sharding,
                          &shardings[at], &view, &partial);
    MlirAttribute extent = shardShardingExtentAttribute(&p->mesh, context, value->type,
                                                        value->nAtoms, value->atoms, sharding);
    if (extent.ptr)
      extents[at] = extent, anyExtent = true;
    if (view.ptr)
      views[at] = view, anyView = true;
    if (partial.ptr)
      partials[at] = partial, anyPartial = true;
  }
  shardOpSetAttribute(rule->op, "spmd.sharding", mlirArrayAttrGet(context, n, shardings));
  if (fixed) // by the user, not by us
    shardOpSetAttribute(rule->op, "spmd.fixed", shardAttrUnit(context));
  writeList(rule->op, "spmd.view", anyView, n, views);
  writeList(rule->op, "spmd.partial", anyPartial, n, partials);
  writeList(rule->op, "spmd.extent", anyExtent, n, extents);
}

static void writeFunction(Propagation *p, int32_t f, bool wholeResults) {
  const ShardRules *rules = p->model->rules;
  const ShardFunctionInfo *info = &rules->functions[f];
  MlirContext context = p->run->context;
  for (int32_t o = 0; o < info->nOps; ++o)
    writeOp(p, &info->ops[o]);
  ShardFuncAttributes *arguments = shardFuncAttributesRead(info->func, false, p->arena);
  ShardFuncAttributes *results = shardFuncAttributesRead(info->func, true, p->arena);
  for (int32_t a = 0; a < info->nArguments; ++a) {
    if (info->arguments[a] < 0)
      continue;
    const ShardValueInfo *value = &rules->values[info->arguments[a]];
    const ShardSharding *own = p->shardings[info->arguments[a]];
    MlirAttribute sharding, view, partial;
    shardShardingCacheGet(p->cache, value->type, value->nAtoms, value->atoms, own, &sharding, &view,
                          &partial);
    shardFuncAttributesSet(arguments, a, "spmd.sharding", sharding);
    shardFuncAttributesSet(arguments, a, "spmd.view", view);
    shardFuncAttributesSet(arguments, a, "spmd.extent",
                           shardShardingExtentAttribute(&p->mesh, context, value->type,
                                                        value->nAtoms, value->atoms, own));
  }
  const ShardOpRule *ret = &info->ops[info->nOps - 1];
  for (int32_t r = 0; r < ret->nOperands; ++r) {
    const ShardValueInfo *value = &rules->values[ret->operands[r].value];
    int32_t number = ret->operands[r].operandIndex;
    ShardSharding *sharding = shardShardingCopy(p->arena, p->handed[f][number]);
    if (f == p->model->entry && p->results[number]) {
      sharding = p->results[number];
      if (!p->chosen)
        shardFuncAttributesSet(results, number, "spmd.fixed", shardAttrUnit(p->run->context));
    } else if (f == p->model->entry && p->tied[number]) {
      if (p->grown[number] < 0)
        sharding = p->tied[number];
    } else if (f == p->model->entry && wholeResults)
      memset(sharding->atoms, 0, (size_t)sharding->nAtoms * sizeof(ShardAxisList));
    MlirAttribute text, view, partial;
    shardShardingCacheGet(p->cache, value->type, value->nAtoms, value->atoms, sharding, &text,
                          &view, &partial);
    shardFuncAttributesSet(results, number, "spmd.sharding", text);
    shardFuncAttributesSet(results, number, "spmd.view", view);
    shardFuncAttributesSet(results, number, "spmd.extent",
                           shardShardingExtentAttribute(&p->mesh, context, value->type,
                                                        value->nAtoms, value->atoms, sharding));
  }
  shardFuncAttributesWrite(arguments);
  shardFuncAttributesWrite(results);
}

/// Beside the attributes: shard.shard, for tools that read upstream's dialect.
static void writeUpstream(Propagation *p) {
  const ShardRules *rules = p->model->rules;
  ShardUpstream *upstream = shardUpstreamCreate(&p->mesh, p->run->context, p->arena);
  for (int32_t v = 0; v < rules->nValues; ++v)
    shardUpstreamAnnotate(upstream, rules->values[v].value, rules->values[v].nAtoms,
                          rules->values[v].atoms, p->shardings[v]);
}

static MlirLogicalResult runPropagate(ShardPassRun *run) {
  MlirAttribute results = shardOpGetAttribute(run->op, "spmd.results");
  bool whole = !results.ptr || !mlirAttributeIsAString(results) ||
               !shardStringIs(mlirStringAttrGetValue(results), "split");
  if (mlirLogicalResultIsFailure(shardUpstreamErase(run->op, run->arena)))
    return mlirLogicalResultFailure();
  bool chosen = shardOpGetAttribute(run->op, "spmd.chosen").ptr;
  shardOpRemoveAttribute(run->op, "spmd.chosen");
  for (int32_t round = 0; round < 64; ++round) {
    ShardArena *arena = shardArenaCreate();
    Propagation p = {.run = run, .arena = arena, .chosen = chosen};
    bool again = false;
    MlirLogicalResult result = mlirLogicalResultFailure();
    if (!shardMeshRead(run->op, arena, &p.mesh))
      shardEmitError(run->op, "no shard.grid; run shard-plan first");
    else if ((p.model = shardModelCreate(run->op, arena)))
      result = readArguments(&p);
    if (mlirLogicalResultIsSuccess(result))
      result = readPins(&p);
    if (mlirLogicalResultIsSuccess(result))
      readTies(&p), solveAxes(&p, whole, &again);
    if (mlirLogicalResultIsSuccess(result) && !again) {
      p.cache = shardShardingCacheCreate(&p.mesh, run->context, arena);
      for (int32_t f = 0; f < p.model->rules->nFunctions; ++f)
        writeFunction(&p, f, whole);
      writeUpstream(&p);
    }
    shardArenaDestroy(arena);
    if (mlirLogicalResultIsFailure(result) || !again)
      return result;
  }
  return shardEmitError(run->op, "functions are called with too many different shardings");
}

const ShardPassInfo shardPropagatePass = {
    .argument = "shard-propagate",
    .summary = "Give every value a sharding",
    .anchor = "builtin.module",
    .run = runPropagate,
};
