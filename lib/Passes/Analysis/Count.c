//===- Count.c - Numbers of a sharded program ---------------------*- C -*-===//
// Bytes, calls and operations are counted on the ops of the stage functions and of what they call;
// `spmd.sites` gives only the words for a site (cause, source op).
//===----------------------------------------------------------------------===//
#include "Count.h"
#include "Rules.h"

#include "../Core/Collectives.h"
#include "../Core/Diagnostics.h"
#include "../Core/Numbers.h"
#include "Work.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct Counter {
  MlirOperation module;
  ShardArena *arena;
  ShardCount *count;
  ShardPointerMap *functions; // StringAttr of a symbol -> index in functionOps
  MlirOperation *functionOps;
  MlirAttribute *siteRows; // rows of spmd.sites by number, null where absent
  intptr_t nSiteRows;
  ShardCountSite *sites; // by number
  intptr_t nSites;
  size_t siteCapacity;
  ShardPointerMap *quiet; // function without collectives -> flops of one run
} Counter;

static const char *copyText(ShardArena *arena, MlirAttribute attribute, const char *fallback) {
  if (mlirAttributeIsNull(attribute) || !mlirAttributeIsAString(attribute))
    return fallback;
  MlirStringRef text = mlirStringAttrGetValue(attribute);
  return shardArenaCopyString(arena, text.data, text.length);
}

static MlirAttribute rowGet(MlirAttribute row, const char *name) {
  if (mlirAttributeIsNull(row) || !mlirAttributeIsADictionary(row))
    return (MlirAttribute){NULL};
  return mlirDictionaryAttrGetElementByName(row, mlirStringRefCreateFromCString(name));
}

//===----------------------------------------------------------------------===//
// Bytes of a collective
//===----------------------------------------------------------------------===//

// Devices in a group along the op's grid axes.
static int64_t groupSize(const Counter *counter, MlirOperation op) {
  MlirAttribute axes = shardOpGetAttribute(op, "grid_axes");
  int64_t size = 1;
  if (mlirAttributeIsNull(axes) || !mlirAttributeIsADenseI16Array(axes))
    return size;
  for (intptr_t i = 0, n = mlirDenseArrayGetNumElements(axes); i < n; ++i) {
    int16_t axis = mlirDenseI16ArrayGetElement(axes, i);
    if (axis >= 0 && axis < counter->count->mesh.nAxes)
      size *= counter->count->mesh.sizes[axis];
  }
  return size;
}

// Bytes that one of the ranks taking part sends; ring counting.
static double bytesSent(const Counter *counter, MlirOperation op, const char *kind) {
  double n = (double)groupSize(counter, op);
  double in = (double)shardTypeBytes(mlirValueGetType(mlirOperationGetOperand(op, 0)));
  if (strcmp(kind, "all-reduce") == 0)
    return 2 * (n - 1) / n * in;
  if (strcmp(kind, "all-gather") == 0)
    return (n - 1) * in;
  if (strcmp(kind, "reduce-scatter") == 0 || strcmp(kind, "all-to-all") == 0 ||
      strcmp(kind, "broadcast") == 0)
    return (n - 1) / n * in;
  return in; // permute, send
}

/// A send and its receive are one call, and so are a start and its wait.
static const char *kindOf(MlirOperation op) {
  bool starts = true, receives = shardOpIs(op, "shard.recv");
  const char *kind = shardCollectiveKind(op);
  if (!kind)
    kind = shardScheduledKind(op, &starts, &receives);
  return starts && !receives ? kind : NULL;
}

/// The axes that an op goes along, for a program whose table has no row of it.
static MlirAttribute axesOf(const Counter *counter, MlirOperation op) {
  const ShardMesh *mesh = &counter->count->mesh;
  MlirAttribute axes = shardOpGetAttribute(op, "grid_axes"), names[SHARD_MAX_AXES];
  intptr_t n = 0;
  if (mlirAttributeIsNull(axes) || !mlirAttributeIsADenseI16Array(axes))
    return (MlirAttribute){NULL};
  MlirContext context = mlirOperationGetContext(op);
  for (intptr_t i = 0; i < mlirDenseArrayGetNumElements(axes) && n < SHARD_MAX_AXES; ++i) {
    int16_t axis = mlirDenseI16ArrayGetElement(axes, i);
    if (axis >= 0 && axis < mesh->nAxes)
      names[n++] = shardAttrString(context, mesh->names[axis]);
  }
  return mlirArrayAttrGet(context, n, names);
}

/// Ops of no dialect that is checked may have any operands.
static bool movesTensor(MlirOperation op) {
  return mlirOperationGetNumOperands(op) > 0 &&
         mlirTypeIsARankedTensor(mlirValueGetType(mlirOperationGetOperand(op, 0)));
}

static ShardCountSite *getSite(Counter *counter, int64_t number) {
  counter->sites =
      shardArenaGrow(counter->arena, counter->sites, (size_t)counter->nSites,
                     &counter->siteCapacity, (size_t)number + 1, sizeof(ShardCountSite));
  if (number >= counter->nSites)
    counter->nSites = number + 1;
  return &counter->sites[number];
}

/// The op as the program's own table names it for this call (each layer has its line); the site's
/// where the table has no such call.
static const char *opOfCall(Counter *counter, MlirAttribute row, const ShardCountSite *site,
                            int64_t stage, int64_t layer) {
  MlirAttribute calls = rowGet(row, "calls");
  if (!mlirAttributeIsNull(calls) && mlirAttributeIsAArray(calls) &&
      site->nCalls < mlirArrayAttrGetNumElements(calls)) {
    MlirAttribute call = mlirArrayAttrGetElement(calls, site->nCalls);
    int64_t value = -1;
    shardAttrGetI64(rowGet(call, "stage"), &value);
    bool same = value == stage;
    value = -1;
    shardAttrGetI64(rowGet(call, "layer"), &value);
    if (same && value == layer)
      return copyText(counter->arena, rowGet(call, "op"), site->op);
  }
  return layer < 0 ? site->op
                   : shardArenaFormat(counter->arena, "layer %" PRId64 ": %s", layer, site->op);
}

static void countCall(Counter *counter, MlirOperation op, int64_t number, int64_t stage,
                      int64_t layer, int64_t times) {
  const char *kind = kindOf(op);
  int64_t round = -1;
  MlirAttribute mark = shardOpGetAttribute(op, "spmd.round");
  if (!mlirAttributeIsNull(mark))
    shardAttrGetI64(mark, &round);
  if (!kind || number < 0 || number > 1 << 24 || round > 0 || !movesTensor(op))
    return; // the receiving end of a send, another round of an exchange
  ShardCountSite *site = getSite(counter, number);
  MlirAttribute row =
      number < counter->nSiteRows ? counter->siteRows[number] : (MlirAttribute){NULL};
  if (!site->nCalls) {
    // A permute that is no rotation is a send; its row knows the difference.
    site->site = number;
    site->kind = copyText(counter->arena, rowGet(row, "kind"), kind);
    site->cause = copyText(counter->arena, rowGet(row, "cause"), "");
    site->op = copyText(counter->arena, rowGet(row, "op"),
                        shardLocationText(mlirOperationGetLocation(op), counter->arena));
    site->axes = rowGet(row, "axes");
    if (mlirAttributeIsNull(site->axes))
      site->axes = axesOf(counter, op);
    site->type = mlirValueGetType(mlirOperationGetOperand(op, 0));
    // Only the ranks of its stage make the call.
    site->bytes = bytesSent(counter, op, kind) / counter->count->nStages;
    // What ranks send in the rounds of an exchange differs: the planner has counted it.
    MlirAttribute bytes = rowGet(row, "bytes"), type = rowGet(row, "type");
    if (round == 0 && !mlirAttributeIsNull(bytes) && mlirAttributeIsAFloat(bytes))
      site->bytes = mlirFloatAttrGetValueDouble(bytes);
    if (round == 0 && !mlirAttributeIsNull(type) && mlirAttributeIsAType(type))
      site->type = mlirTypeAttrGetValue(type);
  }
  site->calls =
      shardArenaGrow(counter->arena, site->calls, (size_t)site->nCalls, &site->callCapacity,
                     (size_t)site->nCalls + 1, sizeof(ShardCountCall));
  const char *text = opOfCall(counter, row, site, stage, layer);
  site->calls[site->nCalls++] = (ShardCountCall){stage, layer, text, times};
  site->nTimes = shardAddCounts(site->nTimes, times);
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

static MlirOperation findFunction(const Counter *counter, MlirOperation call) {
  MlirAttribute callee = shardOpGetAttribute(call, "callee");
  if (mlirAttributeIsNull(callee) || !mlirAttributeIsAFlatSymbolRef(callee))
    return (MlirOperation){NULL};
  MlirAttribute symbol =
      mlirStringAttrGet(mlirOperationGetContext(call), mlirFlatSymbolRefAttrGetValue(callee));
  int64_t index;
  if (!shardPointerMapGet(counter->functions, symbol.ptr, &index))
    return (MlirOperation){NULL};
  return counter->functionOps[index];
}

typedef struct FunctionWalk {
  Counter *counter;
  int64_t stage, layer, times, flops, nCalls; // of collectives
} FunctionWalk;

static void walkFunction(FunctionWalk *walk, MlirOperation func);

/// What a call adds. A function without collectives is looked at once, however often it is called.
static void walkCall(FunctionWalk *walk, MlirOperation op, MlirOperation callee, int64_t times) {
  ShardPointerMap *quiet = walk->counter->quiet;
  int64_t flops;
  if (times <= 0)
    return;
  if (shardPointerMapGet(quiet, callee.ptr, &flops)) {
    walk->flops = shardAddCounts(walk->flops, shardMultiplyCounts(times, flops));
    return;
  }
  FunctionWalk inner = {walk->counter, walk->stage, walk->layer, times, 0, 0};
  shardAttrGetI64(shardOpGetAttribute(op, "spmd.layer"), &inner.layer);
  walkFunction(&inner, callee);
  walk->flops = shardAddCounts(walk->flops, inner.flops);
  walk->nCalls += inner.nCalls;
  if (!inner.nCalls)
    shardPointerMapSet(quiet, callee.ptr, inner.flops / times);
}

/// How often an op is done in a run of its function: the steps of the loops around it.
static int64_t stepsOf(MlirOperation op) {
  int64_t steps = 1;
  for (MlirOperation parent = mlirOperationGetParentOperation(op);
       !mlirOperationIsNull(parent) && !shardOpIs(parent, "func.func");
       parent = mlirOperationGetParentOperation(parent))
    steps = shardMultiplyCounts(steps, shardLoopTrips(parent));
  return steps;
}

static MlirLogicalResult visitOp(void *user, MlirOperation op) {
  FunctionWalk *walk = user;
  MlirStringRef name = shardOpGetName(op);
  if (shardNameHasDialect(name, "linalg")) {
    int64_t times = shardMultiplyCounts(walk->times, stepsOf(op));
    walk->flops =
        shardAddCounts(walk->flops, shardMultiplyCounts(times, shardContractionFlops(op)));
  } else if (shardNameHasDialect(name, "shard") || shardNameHasDialect(name, "spmd")) {
    int64_t number;
    int64_t times = shardMultiplyCounts(walk->times, stepsOf(op));
    if (times > 0 && shardAttrGetI64(shardOpGetAttribute(op, "spmd.site"), &number)) {
      countCall(walk->counter, op, number, walk->stage, walk->layer, times);
      ++walk->nCalls;
    }
  } else if (shardStringIs(name, "func.call")) {
    MlirOperation callee = findFunction(walk->counter, op);
    if (mlirOperationIsNull(callee) || mlirBlockIsNull(shardFuncGetBody(callee)))
      return mlirLogicalResultSuccess();
    walkCall(walk, op, callee, shardMultiplyCounts(walk->times, stepsOf(op)));
  }
  return mlirLogicalResultSuccess();
}

static void walkFunction(FunctionWalk *walk, MlirOperation func) {
  shardWalk(func, NULL, visitOp, walk);
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// Where a part begins; 0 of a whole argument.
static int64_t windowOffset(MlirAttribute window) {
  bool known = !mlirAttributeIsNull(window) && mlirAttributeIsADenseI64Array(window) &&
               mlirDenseArrayGetNumElements(window) == 3;
  return known ? mlirDenseI64ArrayGetElement(window, 1) : 0;
}

static int compareArguments(const void *a, const void *b) {
  const ShardCountArgument *x = a, *y = b;
  int64_t left = windowOffset(x->window), right = windowOffset(y->window);
  if (x->index != y->index)
    return x->index < y->index ? -1 : 1;
  return left < right ? -1 : left > right;
}

static void countArguments(Counter *counter) {
  ShardCount *count = counter->count;
  size_t capacity = 0;
  ShardPointerMap *byPart = shardPointerMapCreate(counter->arena, 64);
  for (int32_t s = 0; s < count->nStages; ++s) {
    MlirOperation func = count->stages[s].func;
    MlirBlock body = shardFuncGetBody(func);
    for (intptr_t a = 0, n = mlirBlockGetNumArguments(body); a < n; ++a) {
      int64_t index, place;
      if (!shardAttrGetI64(shardFuncGetArgumentAttribute(func, a, "spmd.arg"), &index))
        continue;
      MlirAttribute window = shardFuncGetArgumentAttribute(func, a, "spmd.window");
      // Attributes are there once: the pair's address stands for it.
      const int64_t part[] = {index, windowOffset(window)};
      const void *key = shardAttrI64Array(mlirOperationGetContext(func), 2, part).ptr;
      if (!shardPointerMapGet(byPart, key, &place)) {
        place = count->nArguments++;
        shardPointerMapSet(byPart, key, place);
        count->arguments = shardArenaGrow(counter->arena, count->arguments, (size_t)place,
                                          &capacity, (size_t)place + 1, sizeof(ShardCountArgument));
        MlirType local = mlirValueGetType(mlirBlockGetArgument(body, a));
        MlirAttribute global = shardFuncGetArgumentAttribute(func, a, "spmd.global");
        bool known = !mlirAttributeIsNull(global) && mlirAttributeIsAType(global);
        ShardCountArgument argument = {
            .index = index,
            .name =
                copyText(counter->arena, shardFuncGetArgumentAttribute(func, a, "spmd.name"), ""),
            .role =
                copyText(counter->arena, shardFuncGetArgumentAttribute(func, a, "spmd.role"), ""),
            .global = known ? mlirTypeAttrGetValue(global) : local,
            .local = local,
            .view = shardFuncGetArgumentAttribute(func, a, "spmd.view"),
            .sharding = shardFuncGetArgumentAttribute(func, a, "spmd.sharding"),
            .alias = shardFuncGetArgumentAttribute(func, a, "spmd.alias"),
            .window = window,
            .inStage = SHARD_ARENA_ARRAY(counter->arena, bool, count->nStages)};
        argument.globalBytes = shardTypeBytes(argument.global);
        argument.bytesPerDevice = shardTypeBytes(local);
        count->arguments[place] = argument;
      }
      ShardCountArgument *argument = &count->arguments[place];
      argument->inStage[s] = true;
      if (strcmp(argument->role, "weight") == 0) {
        count->stages[s].weightBytes += argument->globalBytes;
        count->stages[s].weightBytesPerDevice += argument->bytesPerDevice;
      }
    }
  }
  if (count->nArguments)
    qsort(count->arguments, (size_t)count->nArguments, sizeof(ShardCountArgument),
          compareArguments);
}

static void readSiteRows(Counter *counter) {
  MlirAttribute rows = shardOpGetAttribute(counter->module, "spmd.sites");
  if (mlirAttributeIsNull(rows) || !mlirAttributeIsAArray(rows))
    return;
  counter->nSiteRows = mlirArrayAttrGetNumElements(rows);
  counter->siteRows = SHARD_ARENA_ARRAY(counter->arena, MlirAttribute, counter->nSiteRows);
  for (intptr_t i = 0; i < counter->nSiteRows; ++i) {
    MlirAttribute row = mlirArrayAttrGetElement(rows, i);
    int64_t number;
    if (shardAttrGetI64(rowGet(row, "site"), &number) && number >= 0 && number < counter->nSiteRows)
      counter->siteRows[number] = row;
  }
}

static MlirLogicalResult findStages(Counter *counter) {
  ShardCount *count = counter->count;
  MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(counter->module, 0));
  size_t capacity = 0;
  int64_t nFunctions = 0;
  count->nStages = count->ppAxis < 0 ? 1 : (int32_t)count->mesh.sizes[count->ppAxis];
  count->stages = SHARD_ARENA_ARRAY(counter->arena, ShardCountStage, count->nStages);
  for (MlirOperation op = mlirBlockGetFirstOperation(body); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op)) {
    if (!shardOpIs(op, "func.func"))
      continue;
    counter->functionOps = shardArenaGrow(counter->arena, counter->functionOps, (size_t)nFunctions,
                                          &capacity, (size_t)nFunctions + 1, sizeof(MlirOperation));
    shardPointerMapSet(counter->functions, shardOpGetAttribute(op, "sym_name").ptr, nFunctions);
    counter->functionOps[nFunctions++] = op;
  }
  MlirOperation *functions = SHARD_ARENA_ARRAY(counter->arena, MlirOperation, count->nStages);
  if (!shardStagesFind(counter->module, count->nStages, functions))
    return mlirLogicalResultFailure();
  for (int32_t i = 0; i < count->nStages; ++i)
    count->stages[i].func = functions[i];
  return mlirLogicalResultSuccess();
}

typedef struct LayerCount {
  int64_t layers;
} LayerCount;

static MlirLogicalResult countLayer(void *user, MlirOperation op) {
  int64_t layer;
  ((LayerCount *)user)->layers += shardAttrGetI64(shardOpGetAttribute(op, "spmd.layer"), &layer);
  return mlirLogicalResultSuccess();
}

static void readUnits(Counter *counter) {
  ShardCount *count = counter->count;
  MlirAttribute stages = shardOpGetAttribute(counter->module, "spmd.stages");
  bool planned = !mlirAttributeIsNull(stages) && mlirAttributeIsAArray(stages) &&
                 mlirArrayAttrGetNumElements(stages) == count->nStages;
  for (int32_t i = 0; i < count->nStages; ++i) {
    MlirAttribute pair = planned ? mlirArrayAttrGetElement(stages, i) : (MlirAttribute){NULL};
    if (!mlirAttributeIsNull(pair) && mlirAttributeIsADenseI64Array(pair)) {
      count->stages[i].units = mlirDenseI64ArrayGetElement(pair, 0);
    } else {
      LayerCount layers = {0};
      shardWalk(count->stages[i].func, "func.call", countLayer, &layers);
      count->stages[i].units = layers.layers;
    }
  }
}

const ShardCount *shardCountCreate(MlirOperation module, ShardArena *arena) {
  ShardCount *count = SHARD_ARENA_NEW(arena, ShardCount);
  if (!shardMeshReadProgram(module, arena, &count->mesh))
    return NULL;
  count->ppAxis = shardMeshFindAxis(&count->mesh, "pp");
  Counter counter = {.module = module,
                     .arena = arena,
                     .count = count,
                     .functions = shardPointerMapCreate(arena, 64),
                     .quiet = shardPointerMapCreate(arena, 64)};
  if (mlirLogicalResultIsFailure(findStages(&counter)))
    return NULL;
  readSiteRows(&counter);
  for (int32_t s = 0; s < count->nStages; ++s) {
    FunctionWalk walk = {&counter, s, -1, 1, 0, 0};
    walkFunction(&walk, count->stages[s].func);
    count->stages[s].cost = walk.flops;
  }
  readUnits(&counter);
  countArguments(&counter);
  count->sites = counter.sites;
  for (intptr_t i = 0; i < counter.nSites; ++i)
    if (counter.sites[i].nCalls)
      count->sites[count->nSites++] = counter.sites[i];
  return count;
}
