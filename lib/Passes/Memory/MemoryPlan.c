//===- MemoryPlan.c - The memory of each stage, from the lowering --*- C -*-===//
// A clone of the module goes through the front half of the lowering; what shardPlanWorkspace says
// of it is what an emitted program is built with. Ops of the clone carry their place in the program
// as metadata of their locations, which passes keep.
//===----------------------------------------------------------------------===//

#include "shard/MemoryPlan.h"

#include "../Analysis/Work.h"
#include "../Core/Buckets.h"
#include "../Core/Registry.h"
#include "../Lower/Workspace.h"

#include <string.h>

enum { MAX_BUFFERS = 65536 };
#define MAX_COUNT (INT64_C(1) << 50)

typedef struct Planner {
  ShardArena *arena;   // of the plan
  ShardArena *scratch; // of the lowering
  ShardLowering lowering;
  MlirOperation module;    // the original
  ShardPointerMap *peaks;  // workspace -> int64_t[SHARD_N_MEMORY_CLASSES] at its peak
  ShardPointerMap *counts; // workspace -> buffers in it
} Planner;

//===----------------------------------------------------------------------===//
// Where an op comes from
//===----------------------------------------------------------------------===//

/// Metadata of a location: number of the op around it in its function's body, name, `spmd.origin`.
static MlirAttribute makeTag(MlirOperation op, int64_t number) {
  MlirContext context = mlirOperationGetContext(op);
  MlirAttribute origin = shardOpGetAttribute(op, "spmd.origin");
  bool named = !mlirAttributeIsNull(origin) && mlirAttributeIsAString(origin);
  MlirAttribute parts[] = {shardAttrI64(context, number),
                           mlirStringAttrGet(context, shardOpGetName(op)),
                           named ? origin : shardAttrString(context, "")};
  return mlirArrayAttrGet(context, 3, parts);
}

typedef struct Tagger {
  int64_t number;
} Tagger;

static MlirLogicalResult tagOp(void *user, MlirOperation op) {
  const Tagger *tagger = user;
  MlirLocation location = mlirOperationGetLocation(op);
  mlirOperationSetLocation(op, mlirLocationFusedGet(mlirOperationGetContext(op), 1, &location,
                                                    makeTag(op, tagger->number)));
  return mlirLogicalResultSuccess();
}

static void tagFunction(MlirOperation func) {
  Tagger tagger = {0};
  for (MlirOperation op = mlirBlockGetFirstOperation(shardFuncGetBody(func));
       !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op), ++tagger.number)
    shardWalk(op, NULL, tagOp, &tagger);
}

/// A module may have fused locations of its own, with metadata of any kind.
static bool isTag(MlirAttribute metadata) {
  int64_t number;
  return !mlirAttributeIsNull(metadata) && mlirAttributeIsAArray(metadata) &&
         mlirArrayAttrGetNumElements(metadata) == 3 &&
         shardAttrGetI64(mlirArrayAttrGetElement(metadata, 0), &number) && number >= 0 &&
         mlirAttributeIsAString(mlirArrayAttrGetElement(metadata, 1)) &&
         mlirAttributeIsAString(mlirArrayAttrGetElement(metadata, 2));
}

/// The tag of the last op of the program that an op is made of; null when it has none.
static MlirAttribute findTag(MlirLocation location, MlirLocation *outPlace) {
  MlirAttribute best = {NULL};
  if (!mlirLocationIsAFused(location))
    return best;
  MlirAttribute metadata = mlirLocationFusedGetMetadata(location);
  unsigned n = mlirLocationFusedGetNumLocations(location);
  MlirLocation parts[16];
  if (n == 0 || n > 16)
    return best;
  mlirLocationFusedGetLocations(location, parts);
  if (isTag(metadata)) {
    *outPlace = parts[0];
    return metadata;
  }
  int64_t highest = -1;
  for (unsigned i = 0; i < n; ++i) {
    MlirLocation place;
    int64_t number;
    MlirAttribute tag = findTag(parts[i], &place);
    if (mlirAttributeIsNull(tag))
      continue;
    shardAttrGetI64(mlirArrayAttrGetElement(tag, 0), &number);
    if (number > highest) {
      highest = number;
      best = tag;
      *outPlace = place;
    }
  }
  return best;
}

typedef struct Source {
  int64_t number; // -1: not known
  const char *op, *location, *origin;
} Source;

static const char *copyText(Planner *planner, MlirAttribute text) {
  MlirStringRef ref = mlirStringAttrGetValue(text);
  return shardArenaCopyString(planner->arena, ref.data, ref.length);
}

static Source sourceOf(Planner *planner, MlirOperation op) {
  MlirLocation place = mlirOperationGetLocation(op);
  MlirAttribute tag = findTag(place, &place);
  Source source = {.number = -1, .origin = ""};
  source.location = shardLocationText(place, planner->arena);
  MlirStringRef name = shardOpGetName(op);
  if (!mlirAttributeIsNull(tag)) {
    shardAttrGetI64(mlirArrayAttrGetElement(tag, 0), &source.number);
    name = mlirStringAttrGetValue(mlirArrayAttrGetElement(tag, 1));
    source.origin = copyText(planner, mlirArrayAttrGetElement(tag, 2));
  }
  source.op =
      shardArenaFormat(planner->arena, "%.*s at %s", (int)name.length, name.data, source.location);
  return source;
}

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

static int64_t bytesOf(MlirType type) {
  return mlirTypeIsAShaped(type) ? shardTypeBytes(type) : shardTypeElementBytes(type);
}

/// Whether the function hands updated weights back: its states are an optimizer's then.
static bool updatesWeights(MlirOperation func) {
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(shardFuncGetBody(func)); ++i)
    if (shardFuncArgumentIs(func, i, "weight") &&
        !mlirAttributeIsNull(shardFuncGetArgumentAttribute(func, i, "spmd.alias")))
      return true;
  return false;
}

static ShardMemoryClass argumentClass(MlirOperation func, intptr_t i) {
  return shardFuncArgumentIs(func, i, "weight")                          ? SHARD_MEMORY_WEIGHTS
         : shardFuncArgumentIs(func, i, "gradient")                      ? SHARD_MEMORY_GRADIENTS
         : shardFuncArgumentIs(func, i, "optimizer")                     ? SHARD_MEMORY_OPTIMIZER
         : shardFuncArgumentIs(func, i, "state") && updatesWeights(func) ? SHARD_MEMORY_OPTIMIZER
                                                                         : SHARD_MEMORY_ACTIVATIONS;
}

/// A result that is an argument's updated form is what that is.
static ShardMemoryClass resultClass(MlirOperation func, int64_t index) {
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(shardFuncGetBody(func)); ++i) {
    int64_t alias;
    MlirAttribute attribute = shardFuncGetArgumentAttribute(func, i, "spmd.alias");
    if (!mlirAttributeIsNull(attribute) && shardAttrGetI64(attribute, &alias) && alias == index)
      return argumentClass(func, i);
  }
  return SHARD_MEMORY_ACTIVATIONS;
}

typedef MlirAttribute (*AttributeGetter)(MlirOperation func, intptr_t index, const char *name);

static ShardMemoryValue describeValue(Planner *planner, MlirOperation func, intptr_t i,
                                      MlirType type, AttributeGetter get, const char *indexName) {
  ShardMemoryValue value = {
      .bytes = bytesOf(type), .index = i, .name = "", .type = shardTypeText(type, planner->arena)};
  MlirAttribute index = get(func, i, indexName), name = get(func, i, "spmd.name");
  if (!mlirAttributeIsNull(index))
    shardAttrGetI64(index, &value.index);
  if (!mlirAttributeIsNull(name) && mlirAttributeIsAString(name))
    value.name = copyText(planner, name);
  return value;
}

/// `extents`: of each argument the number of the extent that it is, -1: none.
static void describeValues(Planner *planner, MlirOperation func, MlirAttribute extents,
                           ShardMemoryStage *out) {
  MlirBlock body = shardFuncGetBody(func);
  MlirOperation end = mlirBlockGetTerminator(body);
  intptr_t nArguments = mlirBlockGetNumArguments(body), nResults = mlirOperationGetNumOperands(end);
  ShardMemoryValue *arguments = SHARD_ARENA_ARRAY(planner->arena, ShardMemoryValue, nArguments + 1);
  ShardMemoryValue *results = SHARD_ARENA_ARRAY(planner->arena, ShardMemoryValue, nResults + 1);
  for (intptr_t i = 0; i < nArguments; ++i) {
    if (mlirDenseI32ArrayGetElement(extents, i) >= 0)
      continue; // lies in the caller's `dims`
    ShardMemoryValue *value = &arguments[out->nArguments++];
    *value = describeValue(planner, func, i, mlirValueGetType(mlirBlockGetArgument(body, i)),
                           shardFuncGetArgumentAttribute, "spmd.arg");
    value->class_ = argumentClass(func, i);
    out->argumentBytes += value->bytes;
    out->argumentBytesByClass[value->class_] += value->bytes;
  }
  for (intptr_t i = 0; i < nResults; ++i) {
    ShardMemoryValue *value = &results[out->nResults++];
    *value = describeValue(planner, func, i, mlirValueGetType(mlirOperationGetOperand(end, i)),
                           shardFuncGetResultAttribute, "spmd.result");
    value->class_ = resultClass(func, value->index);
    out->resultBytes += value->bytes;
    out->resultBytesByClass[value->class_] += value->bytes;
  }
  out->arguments = arguments;
  out->results = results;
}

//===----------------------------------------------------------------------===//
// Workspaces
//===----------------------------------------------------------------------===//

static const int64_t *peakOf(Planner *planner, const ShardWorkspace *workspace);

/// Bytes of the buffer by class while it lives: of a call what its callee has at its peak.
static void addBytes(Planner *planner, const ShardWorkspaceBuffer *buffer, int64_t sign,
                     int64_t *byClass) {
  if (!buffer->callee) {
    byClass[buffer->class_] += sign * buffer->bytes;
    return;
  }
  const int64_t *peak = peakOf(planner, buffer->callee);
  for (int c = 0; c < SHARD_N_MEMORY_CLASSES; ++c)
    byClass[c] += sign * peak[c];
}

static bool isLive(const ShardWorkspaceBuffer *buffer, int64_t time) {
  return buffer->with < 0 && shardWorkspaceBufferIsLive(buffer, time);
}

static const int64_t *peakOf(Planner *planner, const ShardWorkspace *workspace) {
  int64_t found;
  if (shardPointerMapGet(planner->peaks, workspace, &found))
    return (const int64_t *)(intptr_t)found;
  int64_t *byClass = SHARD_ARENA_ARRAY(planner->arena, int64_t, SHARD_N_MEMORY_CLASSES);
  shardPointerMapSet(planner->peaks, workspace, (int64_t)(intptr_t)byClass);
  for (size_t i = 0; i < workspace->nBuffers; ++i)
    if (isLive(&workspace->buffers[i], workspace->liveTime))
      addBytes(planner, &workspace->buffers[i], 1, byClass);
  return byClass;
}

/// The op at the peak, in the callee that has it.
static MlirOperation peakOp(const ShardWorkspace *workspace) {
  for (size_t i = 0; i < workspace->nBuffers; ++i) {
    const ShardWorkspaceBuffer *buffer = &workspace->buffers[i];
    if (buffer->callee && buffer->callee->liveBytes && isLive(buffer, workspace->liveTime))
      return peakOp(buffer->callee);
  }
  return workspace->ops[workspace->livePosition];
}

/// Whether an op does something to memory: no view, constant, or end of a block.
static bool isStep(MlirOperation op) {
  MlirStringRef name = shardOpGetName(op);
  return shardNameHasDialect(name, "linalg") || shardStringIs(name, "func.call") ||
         shardStringIs(name, "memref.copy") || shardStringIs(name, "memref.store") ||
         shardStringIs(name, "memref.load") || shardStringIs(name, "llvm.store") ||
         shardStringIs(name, "llvm.load");
}

/// The step of the op at a position: the last one, or a new one if the op does something.
static void openStep(const ShardWorkspace *workspace, int64_t position, ShardMemoryStep *steps,
                     ShardMemoryStage *out) {
  MlirLocation place;
  int64_t number = out->nSteps ? steps[out->nSteps - 1].op : 0;
  MlirAttribute tag = findTag(mlirOperationGetLocation(workspace->ops[position]), &place);
  if (!mlirAttributeIsNull(tag))
    shardAttrGetI64(mlirArrayAttrGetElement(tag, 0), &number);
  if (isStep(workspace->ops[position]) && (!out->nSteps || steps[out->nSteps - 1].op != number))
    steps[out->nSteps++].op = number;
}

typedef int64_t ByClass[SHARD_N_MEMORY_CLASSES];

/// What begins to live and ends at each time, by class.
static ByClass *findChanges(Planner *planner, const ShardWorkspace *workspace) {
  size_t n = (size_t)workspace->times[workspace->nPositions] + 1;
  ByClass *change = shardArenaAllocateArray(planner->scratch, n, sizeof(*change));
  for (size_t i = 0; i < workspace->nBuffers; ++i) {
    const ShardWorkspaceBuffer *buffer = &workspace->buffers[i];
    if (buffer->first > buffer->last || buffer->with >= 0)
      continue;
    addBytes(planner, buffer, 1, change[buffer->begin]);
    addBytes(planner, buffer, -1, change[buffer->end]);
    for (int64_t k = 0; k < buffer->nGaps; ++k) {
      addBytes(planner, buffer, -1, change[buffer->gaps[k].lower]);
      addBytes(planner, buffer, 1, change[buffer->gaps[k].upper]);
    }
  }
  return change;
}

/// Steps of the stage and, in `stepOf`, the step of each position of its function.
static void listSteps(Planner *planner, const ShardWorkspace *workspace, ShardMemoryStage *out,
                      int64_t *stepOf) {
  int64_t n = workspace->nPositions;
  ShardMemoryStep *steps = SHARD_ARENA_ARRAY(planner->arena, ShardMemoryStep, n + 1);
  ByClass *change = findChanges(planner, workspace), byClass;
  int64_t bytes = out->argumentBytes + out->resultBytes + out->stagingBytes;
  for (int c = 0; c < SHARD_N_MEMORY_CLASSES; ++c)
    byClass[c] = out->argumentBytesByClass[c] + out->resultBytesByClass[c];
  byClass[SHARD_MEMORY_STAGING] += out->stagingBytes;
  for (int64_t p = 0; p < n; ++p) {
    openStep(workspace, p, steps, out);
    stepOf[p] = out->nSteps ? out->nSteps - 1 : 0;
    ShardMemoryStep *last = &steps[stepOf[p]];
    bool step = isStep(workspace->ops[p]);
    for (int64_t time = workspace->times[p]; time < workspace->times[p + 1]; ++time) {
      for (int c = 0; c < SHARD_N_MEMORY_CLASSES; ++c) {
        byClass[c] += change[time][c];
        bytes += change[time][c];
      }
      if (step && bytes > last->bytes) {
        last->bytes = bytes;
        memcpy(last->byClass, byClass, sizeof(byClass));
      }
    }
  }
  out->steps = steps;
}

/// How many buffers listBuffers finds in a workspace, at most MAX_COUNT.
static int64_t countBuffers(Planner *planner, const ShardWorkspace *workspace) {
  int64_t n = 0;
  if (shardPointerMapGet(planner->counts, workspace, &n))
    return n;
  for (size_t i = 0; i < workspace->nBuffers && n < MAX_COUNT; ++i) {
    const ShardWorkspaceBuffer *buffer = &workspace->buffers[i];
    if (buffer->first <= buffer->last && buffer->bytes)
      n += buffer->callee ? countBuffers(planner, buffer->callee) : 1;
  }
  n = n < MAX_COUNT ? n : MAX_COUNT;
  shardPointerMapSet(planner->counts, workspace, n);
  return n;
}

typedef struct BufferList {
  Planner *planner;
  ShardMemoryStage *out;
  ShardMemoryBuffer *buffers;
  size_t capacity;
} BufferList;

/// The buffers of a workspace at `base` in the stage's. `stepOf`: of each position; null: all are
/// in the step `step`.
static void listBuffers(BufferList *list, const ShardWorkspace *workspace, int64_t base,
                        const int64_t *stepOf, int64_t step, int32_t depth, bool atPeak) {
  ShardMemoryStage *out = list->out;
  for (size_t i = 0; i < workspace->nBuffers; ++i) {
    const ShardWorkspaceBuffer *buffer = &workspace->buffers[i];
    if (buffer->first > buffer->last || !buffer->bytes)
      continue;
    bool live = atPeak && isLive(buffer, workspace->liveTime);
    if (out->nBuffers == MAX_BUFFERS) { // a few functions may stand for 2^50 calls
      int64_t more = buffer->callee ? countBuffers(list->planner, buffer->callee) : 1;
      out->nBuffersLeftOut += out->nBuffersLeftOut < MAX_COUNT ? more : 0;
      continue;
    }
    int64_t first = stepOf ? stepOf[buffer->first] : step;
    if (buffer->callee) {
      listBuffers(list, buffer->callee, base + buffer->offset, NULL, first, depth + 1, live);
      continue;
    }
    list->buffers =
        shardArenaGrow(list->planner->arena, list->buffers, (size_t)out->nBuffers, &list->capacity,
                       (size_t)out->nBuffers + 1, sizeof(ShardMemoryBuffer));
    Source source = sourceOf(list->planner, buffer->writer);
    bool panel = !shardOpIs(buffer->op, "memref.alloc");
    list->buffers[out->nBuffers++] = (ShardMemoryBuffer){
        .class_ = buffer->class_,
        .bytes = buffer->bytes,
        .offset = base + buffer->offset,
        .firstStep = first,
        .lastStep = stepOf ? stepOf[buffer->last] : step,
        .depth = depth,
        .atPeak = live,
        .type = panel ? ""
                      : shardTypeText(mlirValueGetType(mlirOperationGetResult(buffer->op, 0)),
                                      list->planner->arena),
        .op = source.op,
        .location = source.location,
        .origin = panel ? "" : source.origin};
  }
}

/// Bytes of the messages that a rank may be sent before it asks for them.
static int64_t stagingOf(MlirAttribute row) {
  MlirAttribute messages =
      mlirDictionaryAttrGetElementByName(row, mlirStringRefCreateFromCString("messages"));
  int64_t bytes = 0;
  for (intptr_t i = 0; i < mlirArrayAttrGetNumElements(messages); ++i) {
    MlirAttribute message = mlirArrayAttrGetElement(messages, i);
    bytes += mlirDenseI64ArrayGetElement(message, 0) * mlirDenseI64ArrayGetElement(message, 1);
  }
  return bytes;
}

static void describeStage(Planner *planner, MlirOperation func, MlirAttribute row,
                          ShardMemoryStage *out) {
  MlirStringRef name = mlirStringAttrGetValue(shardOpGetAttribute(func, "sym_name"));
  out->function = shardArenaCopyString(planner->arena, name.data, name.length);
  describeValues(planner, func,
                 mlirDictionaryAttrGetElementByName(row, mlirStringRefCreateFromCString("extents")),
                 out);
  MlirOperation planned = shardModuleLookup(planner->lowering.module, name);
  int64_t found = shardPointerMapGetOr(planner->lowering.workspaces, planned.ptr, 0);
  const ShardWorkspace *workspace = (const ShardWorkspace *)(intptr_t)found;
  out->workspaceBytes = workspace->bytes;
  out->stagingBytes = stagingOf(row);
  out->boundBytes = workspace->boundBytes;
  out->liveBytes = workspace->liveBytes;
  out->peakBytes = out->argumentBytes + out->resultBytes + out->workspaceBytes + out->stagingBytes;
  int64_t *stepOf = SHARD_ARENA_ARRAY(planner->scratch, int64_t, workspace->nPositions + 1);
  listSteps(planner, workspace, out, stepOf);
  const int64_t *peak = peakOf(planner, workspace);
  for (int c = 0; c < SHARD_N_MEMORY_CLASSES; ++c)
    out->peakByClass[c] = peak[c] + out->argumentBytesByClass[c] + out->resultBytesByClass[c];
  out->peakByClass[SHARD_MEMORY_STAGING] += out->stagingBytes;
  out->peakStep = stepOf[workspace->livePosition];
  out->peakOp = workspace->liveBytes ? sourceOf(planner, peakOp(workspace)).op : "";
  BufferList list = {.planner = planner, .out = out};
  listBuffers(&list, workspace, 0, stepOf, 0, 0, true);
  out->buffers = list.buffers;
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

static MlirLogicalResult lowerClone(Planner *planner, const char *mcpu) {
  MlirContext context = mlirOperationGetContext(planner->module);
  const ShardPassInfo *pass = shardPassInfoFind(mlirStringRefCreateFromCString("shard-lower-cpu"));
  shardPassLoadDialects(pass, context);
  MlirOperation clone = mlirOperationClone(planner->module);
  shardBucketsErase(clone);
  planner->lowering.module = clone; // createOne destroys it, also when this fails
  if (mlirLogicalResultIsFailure(shardLoweringCreate(clone, planner->scratch, mcpu ? mcpu : "host",
                                                     0, &planner->lowering)))
    return mlirLogicalResultFailure();
  for (MlirOperation op = mlirBlockGetFirstOperation(shardOpBody(planner->lowering.module));
       !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op))
    if (shardOpIs(op, "func.func") && !mlirBlockIsNull(shardFuncGetBody(op)))
      tagFunction(op);
  return shardLowerToBuffers(&planner->lowering);
}

static void readDims(Planner *planner, ShardMemoryPlan *plan, MlirAttribute rows) {
  plan->nDims = (int32_t)mlirArrayAttrGetNumElements(rows);
  ShardMemoryDim *dims = SHARD_ARENA_ARRAY(planner->arena, ShardMemoryDim, plan->nDims + 1);
  for (int32_t k = 0; k < plan->nDims; ++k) {
    MlirAttribute row = mlirArrayAttrGetElement(rows, k);
    dims[k] =
        (ShardMemoryDim){mlirDenseI64ArrayGetElement(row, 0), mlirDenseI64ArrayGetElement(row, 1),
                         mlirDenseI64ArrayGetElement(row, 2), mlirDenseI64ArrayGetElement(row, 3)};
  }
  plan->dims = dims;
}

static ShardMemoryPlan *describeStages(Planner *planner) {
  ShardMemoryPlan *plan = SHARD_ARENA_NEW(planner->arena, ShardMemoryPlan);
  MlirAttribute program = shardOpGetAttribute(planner->lowering.module, "spmd.program");
  MlirAttribute rows =
      mlirDictionaryAttrGetElementByName(program, mlirStringRefCreateFromCString("stages"));
  plan->nStages = (int32_t)mlirArrayAttrGetNumElements(rows);
  readDims(planner, plan,
           mlirDictionaryAttrGetElementByName(program, mlirStringRefCreateFromCString("dims")));
  ShardMemoryStage *stages = SHARD_ARENA_ARRAY(planner->arena, ShardMemoryStage, plan->nStages + 1);
  for (int32_t s = 0; s < plan->nStages; ++s) {
    MlirAttribute row = mlirArrayAttrGetElement(rows, s);
    MlirAttribute name =
        mlirDictionaryAttrGetElementByName(row, mlirStringRefCreateFromCString("function"));
    stages[s].stage = s;
    describeStage(planner, shardModuleLookup(planner->module, mlirStringAttrGetValue(name)), row,
                  &stages[s]);
    plan->peakBytes = stages[s].peakBytes > plan->peakBytes ? stages[s].peakBytes : plan->peakBytes;
  }
  plan->stages = stages;
  plan->memory = planner->arena;
  return plan;
}

static ShardMemoryPlan *createOne(MlirOperation module, const char *mcpu) {
  Planner planner = {.arena = shardArenaCreate(), .scratch = shardArenaCreate(), .module = module};
  planner.peaks = shardPointerMapCreate(planner.arena, 64);
  planner.counts = shardPointerMapCreate(planner.arena, 64);
  ShardMemoryPlan *plan = NULL;
  if (mlirLogicalResultIsSuccess(lowerClone(&planner, mcpu)))
    plan = describeStages(&planner);
  if (!mlirOperationIsNull(planner.lowering.module))
    mlirOperationDestroy(planner.lowering.module);
  shardArenaDestroy(planner.scratch);
  if (!plan)
    shardArenaDestroy(planner.arena);
  return plan;
}

void shardMemoryPlanDestroy(ShardMemoryPlan *plan) {
  if (!plan)
    return;
  for (int32_t b = 0; b < plan->nBuckets; ++b)
    shardMemoryPlanDestroy((ShardMemoryPlan *)plan->buckets[b]);
  shardArenaDestroy(plan->memory); // with the plan
}

ShardMemoryPlan *shardMemoryPlanCreate(MlirOperation module, const char *mcpu) {
  ShardMemoryPlan *plan = createOne(module, mcpu);
  if (!plan)
    return NULL;
  ShardOpList list = {.arena = plan->memory};
  shardBucketsFind(module, &list);
  const ShardMemoryPlan **buckets =
      SHARD_ARENA_ARRAY(list.arena, const ShardMemoryPlan *, list.nOps + 1);
  plan->buckets = buckets;
  for (size_t b = 0; b < list.nOps; ++b) {
    buckets[b] = createOne(list.ops[b], mcpu);
    if (buckets[b] && buckets[b]->nDims == plan->nDims && buckets[b]->nStages == plan->nStages) {
      ++plan->nBuckets;
      continue;
    }
    if (buckets[b]) {
      shardEmitError(list.ops[b], "this version does not fit the program around it");
      ++plan->nBuckets;
    }
    shardMemoryPlanDestroy(plan);
    return NULL;
  }
  return plan;
}
