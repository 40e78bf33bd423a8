//===- OutlineLayers.c - Each repeated layer once, as a function ---*- C -*-===//
// Reads: a flat body, or one that calls private functions. Writes: private functions @layer,
// @layer_1, ..., and `spmd.layer` on each call of a layer, numbered in the order of the calls.
// Fails: never; a body without repeated layers stays as it is.
//===----------------------------------------------------------------------===//

#include "FindLayers.h"

#include "../Core/Pass.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <assert.h>
#include <string.h>

#define LAYER_ATTRIBUTE "spmd.layer"
#define INSTANCE_ATTRIBUTE "spmd.instance" // part of the fused locations that is this call's

typedef struct Outline {
  ShardPassRun *run;
  MlirOperation module, entry;
  const ShardLayerGraph *graph;
  ShardLayerSet set;
  int32_t *roleOf, *instanceOf; // [nNodes], -1 outside
  // What passes the boundary. Arguments that differ from call to call come first.
  int32_t nArguments, nDiffering;
  int32_t *arguments;     // [nArguments] a slot that reads it: role
  int32_t *argumentSlots; // and its operand
  int32_t **argumentOf;   // [nRoles][operand] argument index, -1 inside or leaf
  int32_t nResults;
  int32_t *resultRoles, *resultNumbers;
  MlirStringRef name;
} Outline;

static int32_t memberAt(const Outline *o, int32_t role, int32_t instance) {
  return o->set.nodes[(size_t)role * (size_t)o->set.nInstances + (size_t)instance];
}

static const ShardLayerNode *nodeOf(const Outline *o, int32_t role, int32_t instance) {
  return &o->graph->nodes[memberAt(o, role, instance)];
}

//===----------------------------------------------------------------------===//
// The boundary
//===----------------------------------------------------------------------===//

/// Groups the operands that come from outside by their values over all instances.
static void collectArguments(Outline *o) {
  ShardArena *arena = o->run->arena;
  const ShardLayerGraph *graph = o->graph;
  int32_t n = o->set.nInstances, nSlots = 0;
  for (int32_t r = 0; r < o->set.nRoles; ++r)
    nSlots += nodeOf(o, r, 0)->nOperands;
  int32_t *roles = SHARD_ARENA_ARRAY(arena, int32_t, nSlots);
  int32_t *slots = SHARD_ARENA_ARRAY(arena, int32_t, nSlots);
  bool *shared = SHARD_ARENA_ARRAY(arena, bool, nSlots);
  int32_t *next = SHARD_ARENA_ARRAY(arena, int32_t, nSlots);          // same value in instance 0
  int32_t *first = SHARD_ARENA_ARRAY(arena, int32_t, graph->nValues); // argument + 1
  o->argumentOf = SHARD_ARENA_ARRAY(arena, int32_t *, o->set.nRoles);
  int32_t count = 0;
  for (int32_t r = 0; r < o->set.nRoles; ++r) {
    const ShardLayerNode *node = nodeOf(o, r, 0);
    o->argumentOf[r] = SHARD_ARENA_ARRAY(arena, int32_t, node->nOperands);
    for (int32_t j = 0; j < node->nOperands; ++j) {
      o->argumentOf[r][j] = -1;
      int32_t v = node->operands[j], p = graph->values[v].node;
      if (p >= 0 && (graph->nodes[p].kind == SHARD_LAYER_LEAF ||
                     (o->roleOf[p] >= 0 && o->instanceOf[p] == 0)))
        continue;
      int32_t a = first[v] - 1;
      for (; a >= 0; a = next[a]) {
        int32_t k = 1;
        while (k < n && nodeOf(o, r, k)->operands[j] == nodeOf(o, roles[a], k)->operands[slots[a]])
          ++k;
        if (k == n)
          break;
      }
      if (a < 0) {
        a = count++;
        roles[a] = r;
        slots[a] = j;
        shared[a] = true;
        for (int32_t k = 1; k < n; ++k)
          shared[a] &= nodeOf(o, r, k)->operands[j] == v;
        next[a] = first[v] - 1;
        first[v] = a + 1;
      }
      o->argumentOf[r][j] = a;
    }
  }
  // Differing ones first, each group in order of first use.
  int32_t *place = SHARD_ARENA_ARRAY(arena, int32_t, count);
  o->arguments = SHARD_ARENA_ARRAY(arena, int32_t, count);
  o->argumentSlots = SHARD_ARENA_ARRAY(arena, int32_t, count);
  for (int32_t pass = 0; pass < 2; ++pass)
    for (int32_t a = 0; a < count; ++a) {
      if (shared[a] != (pass == 1))
        continue;
      place[a] = o->nArguments;
      o->arguments[o->nArguments] = roles[a];
      o->argumentSlots[o->nArguments++] = slots[a];
      o->nDiffering += pass == 0;
    }
  for (int32_t r = 0; r < o->set.nRoles; ++r)
    for (int32_t j = 0; j < nodeOf(o, r, 0)->nOperands; ++j)
      if (o->argumentOf[r][j] >= 0)
        o->argumentOf[r][j] = place[o->argumentOf[r][j]];
}

static void collectResults(Outline *o) {
  ShardArena *arena = o->run->arena;
  int32_t nAll = 0;
  for (int32_t r = 0; r < o->set.nRoles; ++r)
    nAll += nodeOf(o, r, 0)->nResults;
  o->resultRoles = SHARD_ARENA_ARRAY(arena, int32_t, nAll);
  o->resultNumbers = SHARD_ARENA_ARRAY(arena, int32_t, nAll);
  for (int32_t r = 0; r < o->set.nRoles; ++r)
    for (int32_t i = 0; i < nodeOf(o, r, 0)->nResults; ++i) {
      bool outside = false;
      for (int32_t k = 0; k < o->set.nInstances && !outside; ++k) {
        const ShardLayerValue *value = &o->graph->values[nodeOf(o, r, k)->firstResult + i];
        for (int32_t u = 0; u < value->nUses && !outside; ++u) {
          int32_t user = value->uses[u].node;
          outside = o->roleOf[user] < 0 || o->instanceOf[user] != k;
        }
      }
      if (!outside)
        continue;
      o->resultRoles[o->nResults] = r;
      o->resultNumbers[o->nResults++] = i;
    }
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

static MlirStringRef chooseName(ShardPassRun *run, MlirOperation module) {
  for (int32_t number = 0;; ++number) {
    const char *text = number == 0 ? "layer" : shardArenaFormat(run->arena, "layer_%d", number);
    MlirStringRef name = mlirStringRefCreateFromCString(text);
    if (mlirOperationIsNull(shardModuleLookup(module, name)))
      return name;
  }
}

/// Clones a leaf and the leaves it is made of to the end of `block`, equal ones once.
static MlirValue cloneLeaf(Outline *o, MlirBlock block, int32_t value, ShardPointerMap *leaves,
                           MlirOperation **clones, size_t *nClones, size_t *capacity) {
  const ShardLayerGraph *graph = o->graph;
  const ShardLayerNode *node = &graph->nodes[graph->values[value].node];
  int32_t number = value - node->firstResult;
  const void *key = (const void *)((uintptr_t)node->token + 1);
  int64_t at = shardPointerMapGetOr(leaves, key, -1);
  if (at < 0) {
    MlirOperation clone = mlirOperationClone(node->op);
    ShardLayerOperand *slots = SHARD_ARENA_ARRAY(o->run->arena, ShardLayerOperand, node->nOperands);
    int32_t nSlots =
        shardLayerCollectOperands(clone, mlirOperationGetBlock(node->op), node->nOperands, slots);
    assert(nSlots == node->nOperands);
    (void)nSlots;
    for (int32_t j = 0; j < node->nOperands; ++j)
      mlirOperationSetOperand(
          slots[j].op, slots[j].index,
          cloneLeaf(o, block, node->operands[j], leaves, clones, nClones, capacity));
    mlirBlockAppendOwnedOperation(block, clone);
    if (*nClones == *capacity)
      *clones =
          shardArenaGrow(o->run->arena, *clones, *nClones, capacity, *nClones + 1, sizeof **clones);
    at = (int64_t)*nClones;
    (*clones)[(*nClones)++] = clone;
    shardPointerMapSet(leaves, key, at);
  }
  return mlirOperationGetResult((*clones)[at], number);
}

/// Where each instance has the op of a role: one location of as many parts, in the order of the
/// instances, so that each call can name its own line. Instance 0's alone where they do not differ.
static MlirLocation fuseLocations(const Outline *o, int32_t role) {
  int32_t n = o->set.nInstances;
  MlirLocation *parts = SHARD_ARENA_ARRAY(o->run->arena, MlirLocation, n);
  for (int32_t k = 0; k < n; ++k)
    parts[k] = mlirOperationGetLocation(nodeOf(o, role, k)->op);
  MlirLocation fused = mlirLocationFusedGet(o->run->context, n, parts, mlirAttributeGetNull());
  bool distinct =
      mlirLocationIsAFused(fused) && mlirLocationFusedGetNumLocations(fused) == (unsigned)n;
  return distinct ? fused : parts[0];
}

static void createFunction(Outline *o) {
  ShardArena *arena = o->run->arena;
  const ShardLayerGraph *graph = o->graph;
  MlirContext context = o->run->context;
  MlirLocation location = mlirOperationGetLocation(o->entry);
  MlirType *types = SHARD_ARENA_ARRAY(arena, MlirType, o->nArguments + o->nResults);
  MlirLocation *locations = SHARD_ARENA_ARRAY(arena, MlirLocation, o->nArguments);
  for (int32_t a = 0; a < o->nArguments; ++a) {
    int32_t v = nodeOf(o, o->arguments[a], 0)->operands[o->argumentSlots[a]];
    types[a] = mlirValueGetType(graph->values[v].value);
    locations[a] = location;
  }
  MlirBlock block = mlirBlockCreate(o->nArguments, types, locations);
  MlirRegion region = mlirRegionCreate();
  mlirRegionAppendOwnedBlock(region, block);

  ShardPointerMap *leaves = shardPointerMapCreate(arena, 64);
  MlirOperation *leafClones = NULL;
  size_t nLeafClones = 0, leafCapacity = 0;
  MlirOperation *clones = SHARD_ARENA_ARRAY(arena, MlirOperation, o->set.nRoles);
  for (int32_t r = 0; r < o->set.nRoles; ++r) {
    const ShardLayerNode *node = nodeOf(o, r, 0);
    clones[r] = mlirOperationClone(node->op);
    mlirOperationSetLocation(clones[r], fuseLocations(o, r));
    ShardLayerOperand *slots = SHARD_ARENA_ARRAY(arena, ShardLayerOperand, node->nOperands);
    int32_t nSlots = shardLayerCollectOperands(clones[r], mlirOperationGetBlock(node->op),
                                               node->nOperands, slots);
    assert(nSlots == node->nOperands);
    (void)nSlots;
    for (int32_t j = 0; j < node->nOperands; ++j) {
      const ShardLayerValue *value = &graph->values[node->operands[j]];
      MlirValue inside;
      if (o->argumentOf[r][j] >= 0)
        inside = mlirBlockGetArgument(block, o->argumentOf[r][j]);
      else if (o->roleOf[value->node] >= 0)
        inside = mlirOperationGetResult(clones[o->roleOf[value->node]],
                                        node->operands[j] - graph->nodes[value->node].firstResult);
      else
        inside = cloneLeaf(o, block, node->operands[j], leaves, &leafClones, &nLeafClones,
                           &leafCapacity);
      mlirOperationSetOperand(slots[j].op, slots[j].index, inside);
    }
    mlirBlockAppendOwnedOperation(block, clones[r]);
  }
  MlirValue *returned = SHARD_ARENA_ARRAY(arena, MlirValue, o->nResults);
  for (int32_t i = 0; i < o->nResults; ++i) {
    returned[i] = mlirOperationGetResult(clones[o->resultRoles[i]], o->resultNumbers[i]);
    types[o->nArguments + i] = mlirValueGetType(returned[i]);
  }
  MlirOperation none = {NULL};
  shardOpCreate(block, none, location, "func.return", 0, NULL, o->nResults, returned, 0, NULL, 0,
                NULL);
  o->name = chooseName(o->run, o->module);
  const ShardNamedAttribute attributes[] = {
      {"sym_name", mlirStringAttrGet(context, o->name)},
      {"function_type", mlirTypeAttrGet(mlirFunctionTypeGet(context, o->nArguments, types,
                                                            o->nResults, types + o->nArguments))},
      {"sym_visibility", shardAttrString(context, "private")}};
  MlirOperation func = shardOpCreate((MlirBlock){NULL}, none, location, "func.func", 0, NULL, 0,
                                     NULL, 3, attributes, 1, &region);
  mlirBlockAppendOwnedOperation(mlirModuleGetBody(mlirModuleFromOperation(o->module)), func);
}

//===----------------------------------------------------------------------===//
// The calls
//===----------------------------------------------------------------------===//

/// Creates the call of one instance before the terminator and lets all users take its results.
static void createCall(Outline *o, int32_t instance, MlirOperation terminator) {
  ShardArena *arena = o->run->arena;
  MlirContext context = o->run->context;
  MlirBlock body = mlirOperationGetBlock(terminator);
  MlirValue *operands = SHARD_ARENA_ARRAY(arena, MlirValue, o->nArguments);
  for (int32_t a = 0; a < o->nArguments; ++a) {
    // Read anew: an earlier call may have replaced the value.
    const ShardLayerNode *node = nodeOf(o, o->arguments[a], instance);
    int32_t j = o->argumentSlots[a];
    if (j < (int32_t)mlirOperationGetNumOperands(node->op)) {
      operands[a] = mlirOperationGetOperand(node->op, j);
      continue;
    }
    ShardLayerOperand *slots = SHARD_ARENA_ARRAY(arena, ShardLayerOperand, node->nOperands);
    shardLayerCollectOperands(node->op, body, node->nOperands, slots);
    operands[a] = mlirOperationGetOperand(slots[j].op, slots[j].index);
  }
  MlirType *types = SHARD_ARENA_ARRAY(arena, MlirType, o->nResults);
  for (int32_t i = 0; i < o->nResults; ++i)
    types[i] = mlirValueGetType(
        mlirOperationGetResult(nodeOf(o, o->resultRoles[i], instance)->op, o->resultNumbers[i]));
  const ShardNamedAttribute attributes[] = {
      {"callee", mlirFlatSymbolRefAttrGet(context, o->name)},
      {LAYER_ATTRIBUTE, shardAttrI64(context, 0)}, // numbered at the end
      {INSTANCE_ATTRIBUTE, shardAttrI64(context, instance)}};
  MlirLocation location = mlirOperationGetLocation(nodeOf(o, o->set.nRoles - 1, instance)->op);
  MlirOperation call = shardOpCreate(body, terminator, location, "func.call", o->nResults, types,
                                     o->nArguments, operands, 3, attributes, 0, NULL);
  for (int32_t i = 0; i < o->nResults; ++i)
    mlirValueReplaceAllUsesOfWith(
        mlirOperationGetResult(nodeOf(o, o->resultRoles[i], instance)->op, o->resultNumbers[i]),
        mlirOperationGetResult(call, i));
}

/// Puts the body into an order in which each instance can be one op: what it needs, then its call.
/// The rest keeps its order as far as that allows.
static void replaceInstances(Outline *o) {
  ShardArena *arena = o->run->arena;
  const ShardLayerGraph *graph = o->graph;
  int32_t n = o->set.nInstances, nNodes = graph->nNodes;
  MlirOperation terminator = graph->nodes[nNodes - 1].op;
  typedef struct Frame {
    int32_t group; // instance, or n + node
    int32_t role, operand;
  } Frame;
  Frame *stack = SHARD_ARENA_ARRAY(arena, Frame, n + nNodes);
  bool *done = SHARD_ARENA_ARRAY(arena, bool, n + nNodes);
#define GROUP(i) (o->roleOf[i] >= 0 ? o->instanceOf[i] : n + (i))
  // Rooted at the ops that stay, in their order, then at instances that none of them needs.
  for (int32_t root = 0; root < nNodes - 1 + n; ++root) {
    int32_t nStack = 0;
    if (root < nNodes - 1) {
      if (o->roleOf[root] < 0 && !done[n + root])
        stack[nStack++] = (Frame){n + root, 0, 0};
    } else if (!done[root - (nNodes - 1)]) {
      stack[nStack++] = (Frame){root - (nNodes - 1), 0, 0};
    }
    while (nStack > 0) {
      Frame *frame = &stack[nStack - 1];
      int32_t group = frame->group;
      int32_t nRoles = group < n ? o->set.nRoles : 1;
      bool waits = false;
      while (frame->role < nRoles && !waits) {
        int32_t i = group < n ? memberAt(o, frame->role, group) : group - n;
        const ShardLayerNode *node = &graph->nodes[i];
        if (frame->operand == node->nOperands) {
          ++frame->role;
          frame->operand = 0;
          continue;
        }
        int32_t p = graph->values[node->operands[frame->operand++]].node;
        if (p >= 0 && GROUP(p) != group && !done[GROUP(p)]) {
          stack[nStack++] = (Frame){GROUP(p), 0, 0};
          waits = true;
        }
      }
      if (waits)
        continue;
      --nStack;
      if (done[group])
        continue;
      done[group] = true;
      if (group < n)
        createCall(o, group, terminator);
      else
        mlirOperationMoveBefore(graph->nodes[group - n].op, terminator);
    }
  }
#undef GROUP
  for (int32_t r = o->set.nRoles - 1; r >= 0; --r)
    for (int32_t k = 0; k < n; ++k)
      mlirOperationDestroy(nodeOf(o, r, k)->op);
  for (int32_t i = nNodes - 2; i >= 0; --i) { // leaves that only the instances used
    const ShardLayerNode *node = &graph->nodes[i];
    if (node->kind != SHARD_LAYER_LEAF)
      continue;
    bool used = false;
    for (int32_t x = 0; x < node->nResults; ++x)
      used |= !mlirOpOperandIsNull(mlirValueGetFirstUse(mlirOperationGetResult(node->op, x)));
    if (!used)
      mlirOperationDestroy(node->op);
  }
}

static bool outlineOnce(ShardPassRun *run, MlirOperation module, MlirOperation entry) {
  ShardLayerGraph *graph = shardLayerGraphCreate(entry, LAYER_ATTRIBUTE, run->arena);
  Outline o = {.run = run, .module = module, .entry = entry, .graph = graph};
  if (!shardLayersFind(graph, run->arena, &o.set))
    return false;
  o.roleOf = SHARD_ARENA_ARRAY(run->arena, int32_t, graph->nNodes);
  o.instanceOf = SHARD_ARENA_ARRAY(run->arena, int32_t, graph->nNodes);
  for (int32_t i = 0; i < graph->nNodes; ++i)
    o.roleOf[i] = o.instanceOf[i] = -1;
  for (int32_t r = 0; r < o.set.nRoles; ++r)
    for (int32_t k = 0; k < o.set.nInstances; ++k) {
      o.roleOf[memberAt(&o, r, k)] = r;
      o.instanceOf[memberAt(&o, r, k)] = k;
    }
  collectArguments(&o);
  collectResults(&o);
  createFunction(&o);
  replaceInstances(&o);
  return true;
}

//===----------------------------------------------------------------------===//
// Layers that the user has outlined
//===----------------------------------------------------------------------===//

typedef struct Merge {
  ShardPointerMap *into; // symbol attribute -> index of the symbol that takes its place
  MlirAttribute *symbols;
  bool otherUses; // a function is used as a value
} Merge;

static MlirLogicalResult retargetCall(void *user, MlirOperation op) {
  Merge *merge = user;
  if (shardOpIs(op, "func.constant"))
    merge->otherUses = true;
  if (merge->into && shardOpIs(op, "func.call")) {
    int64_t at = shardPointerMapGetOr(merge->into, shardOpGetAttribute(op, "callee").ptr, -1);
    if (at >= 0)
      shardOpSetAttribute(op, "callee", merge->symbols[at]);
  }
  return mlirLogicalResultSuccess();
}

/// Private functions that differ in nothing but their name become one: some exporters write each
/// layer as a function of its own. Again until callers of merged functions are merged too.
static void mergeEqualFunctions(ShardPassRun *run, MlirOperation module) {
  MlirBlock top = mlirModuleGetBody(mlirModuleFromOperation(module));
  Merge merge = {0};
  intptr_t nAll = 0;
  MlirOperation op = mlirBlockGetFirstOperation(top);
  for (; !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op))
    ++nAll;
  shardWalk(module, NULL, retargetCall, &merge);
  if (merge.otherUses)
    return;
  for (bool changed = true; changed;) {
    changed = false;
    MlirOperation *funcs = SHARD_ARENA_ARRAY(run->arena, MlirOperation, nAll);
    intptr_t nFuncs = 0;
    for (op = mlirBlockGetFirstOperation(top); !mlirOperationIsNull(op);
         op = mlirOperationGetNextInBlock(op))
      if (shardOpIs(op, "func.func") && !shardFuncIsPublic(op) &&
          !mlirBlockIsNull(shardFuncGetBody(op)))
        funcs[nFuncs++] = op;
    if (nFuncs < 2)
      return;
    int32_t *tokens = shardLayerTokens(nFuncs, funcs, "sym_name", run->arena);
    merge.into = shardPointerMapCreate(run->arena, (size_t)nFuncs);
    merge.symbols = SHARD_ARENA_ARRAY(run->arena, MlirAttribute, nFuncs);
    int32_t *first = SHARD_ARENA_ARRAY(run->arena, int32_t, nFuncs); // by token, function + 1
    for (intptr_t i = 0; i < nFuncs; ++i) {
      MlirStringRef name = mlirStringAttrGetValue(shardOpGetAttribute(funcs[i], "sym_name"));
      merge.symbols[i] = mlirFlatSymbolRefAttrGet(run->context, name);
      int32_t other = first[tokens[i]];
      if (other == 0) {
        first[tokens[i]] = (int32_t)i + 1;
        continue;
      }
      shardPointerMapSet(merge.into, merge.symbols[i].ptr, other - 1);
      mlirOperationDestroy(funcs[i]);
      changed = true;
    }
    if (changed)
      shardWalk(module, NULL, retargetCall, &merge);
  }
}

typedef struct Callee {
  int32_t nCalls;
  int64_t nCompute;
  bool contracts;
} Callee;

static MlirStringRef calleeName(MlirOperation call) {
  MlirAttribute callee = shardOpGetAttribute(call, "callee");
  return mlirFlatSymbolRefAttrGetValue(callee);
}

/// Marks the calls of private functions that are layers: called at least twice, with a contraction
/// inside, and together at least as much as the body does besides. Helpers (a GELU, a linear layer)
/// are not and stay ops like others.
static void markCalledLayers(ShardPassRun *run, MlirOperation module, MlirOperation entry) {
  MlirBlock body = shardFuncGetBody(entry);
  size_t capacity = 0;
  Callee *callees = NULL;
  int32_t nCallees = 0;
  MlirOperation op = mlirBlockGetFirstOperation(body);
  bool any = false;
  for (; !mlirOperationIsNull(op) && !any; op = mlirOperationGetNextInBlock(op))
    any = shardOpIs(op, "func.call");
  if (!any)
    return;
  ShardPointerMap *byName = shardPointerMapCreate(run->arena, 16); // symbol attribute -> callee
  for (op = mlirBlockGetFirstOperation(body); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op)) {
    if (!shardOpIs(op, "func.call"))
      continue;
    MlirAttribute symbol = shardOpGetAttribute(op, "callee");
    int64_t at = shardPointerMapGetOr(byName, symbol.ptr, -1);
    if (at < 0) {
      MlirOperation func = shardModuleLookup(module, calleeName(op));
      if (mlirOperationIsNull(func) || mlirBlockIsNull(shardFuncGetBody(func)) ||
          shardFuncIsPublic(func))
        continue;
      ShardLayerGraph *graph = shardLayerGraphCreate(func, LAYER_ATTRIBUTE, run->arena);
      Callee callee = {.nCompute = graph->nCompute};
      for (int32_t i = 0; i < graph->nNodes; ++i)
        callee.contracts |= graph->nodes[i].contraction;
      if ((size_t)nCallees == capacity)
        callees = shardArenaGrow(run->arena, callees, (size_t)nCallees, &capacity,
                                 (size_t)nCallees + 1, sizeof *callees);
      at = nCallees;
      callees[nCallees++] = callee;
      shardPointerMapSet(byName, symbol.ptr, at);
    }
    ++callees[at].nCalls;
  }
  ShardLayerGraph *graph = shardLayerGraphCreate(entry, LAYER_ATTRIBUTE, run->arena);
  int64_t inside = 0, besides = graph->nCompute;
  for (int32_t c = 0; c < nCallees; ++c)
    if (callees[c].contracts && callees[c].nCalls >= 2) {
      inside += callees[c].nCompute * callees[c].nCalls;
      besides -= callees[c].nCalls;
    }
  if (inside == 0 || inside < besides)
    return;
  for (op = mlirBlockGetFirstOperation(body); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op)) {
    if (!shardOpIs(op, "func.call"))
      continue;
    int64_t at = shardPointerMapGetOr(byName, shardOpGetAttribute(op, "callee").ptr, -1);
    if (at >= 0 && callees[at].contracts && callees[at].nCalls >= 2)
      shardOpSetAttribute(op, LAYER_ATTRIBUTE, shardAttrI64(run->context, 0));
  }
}

/// Numbers the calls of layers in their order; the number also stands in their location.
static void numberLayers(ShardPassRun *run, MlirOperation entry) {
  int64_t number = 0;
  MlirOperation op = mlirBlockGetFirstOperation(shardFuncGetBody(entry));
  for (; !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op)) {
    if (!shardOpIs(op, "func.call") ||
        mlirAttributeIsNull(shardOpGetAttribute(op, LAYER_ATTRIBUTE)))
      continue;
    MlirLocation location = mlirOperationGetLocation(op);
    const char *text = shardArenaFormat(run->arena, "layer %lld", (long long)number);
    if (mlirLocationIsAName(location)) {
      MlirStringRef old = mlirIdentifierStr(mlirLocationNameGetName(location));
      if (old.length > 6 && memcmp(old.data, "layer ", 6) == 0)
        location = mlirLocationNameGetChildLoc(location);
    }
    mlirOperationSetLocation(
        op, mlirLocationNameGet(run->context, mlirStringRefCreateFromCString(text), location));
    shardOpSetAttribute(op, LAYER_ATTRIBUTE, shardAttrI64(run->context, number++));
  }
}

static MlirLogicalResult runOutlineLayers(ShardPassRun *run) {
  mergeEqualFunctions(run, run->op);
  MlirBlock top = mlirModuleGetBody(mlirModuleFromOperation(run->op));
  MlirOperation op = mlirBlockGetFirstOperation(top);
  for (; !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op)) {
    if (!shardOpIs(op, "func.func") || !shardFuncIsPublic(op))
      continue;
    MlirBlock body = shardFuncGetBody(op);
    if (mlirBlockIsNull(body) || !mlirBlockIsNull(mlirBlockGetNextInRegion(body)))
      continue; // a declaration, or control flow in blocks
    markCalledLayers(run, run->op, op);
    while (outlineOnce(run, run->op, op))
      ;
    numberLayers(run, op);
  }
  return mlirLogicalResultSuccess();
}

const ShardPassInfo shardOutlineLayersPass = {
    .argument = "shard-outline-layers",
    .summary = "Outline repeated layers as private functions",
    .anchor = "builtin.module",
    .run = runOutlineLayers,
};
