//===- ReadProgram.c - The steps of each stage --------------------*- C -*-===//
// A function is read once, however often it is called. Ops next to each other that only compute are
// one step where nobody looks at them apart: their times are whole numbers, so the sum is exact.
//===----------------------------------------------------------------------===//
#include "Simulate.h"

#include "../Analysis/Rules.h"
#include "../Core/Collectives.h"
#include "../Core/Diagnostics.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

int64_t simPicoseconds(double seconds) {
  double ps = seconds * 1e12;
  return ps < (double)SIM_MAX_PS ? (int64_t)llround(ps) : SIM_MAX_PS;
}

typedef struct Reader {
  SimProgram *program;
  ShardPointerMap *functions; // StringAttr of a symbol -> index
  size_t nFunctions, capacity, bodyCapacity;
  MlirOperation *functionOps;
  SimBody **bodies; // [nFunctions] null: not read
  bool *open;       // [nFunctions] being read
  ShardPointerMap *innerPeak;
  ShardPointerMap *innerOp; // where the peak of what an op calls or contains is
} Reader;

static SimBody *readBlock(Reader *reader, MlirBlock block, bool stage);

static SimStep *addStep(Reader *reader, SimBody *body, SimStep step) {
  body->steps = shardArenaGrow(reader->program->arena, body->steps, body->nSteps, &body->capacity,
                               body->nSteps + 1, sizeof(SimStep));
  body->steps[body->nSteps] = step;
  return &body->steps[body->nSteps++];
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static bool readCompute(Reader *reader, SimBody *body, MlirOperation op, bool stage) {
  const SimProgram *program = reader->program;
  ShardOpWork work;
  if (!shardOpGetWork(op, &work))
    return true;
  int32_t nKinds = program->cluster->nDeviceKinds;
  int64_t *ps = SHARD_ARENA_ARRAY(program->arena, int64_t, nKinds);
  for (int32_t k = 0; k < nKinds; ++k) {
    const ShardDeviceKind *kind = &program->cluster->deviceKinds[k];
    ShardOpCost cost;
    bool known = shardOpCostBusy(program->cluster, kind, &work, program->nBusy, &cost);
    if (!known && program->usesKind[k]) {
      MlirStringRef name = shardOpGetName(op);
      shardEmitError(op, "'%.*s' computes in %s, and the cluster has no rate for that on '%s'",
                     (int)name.length, name.data, shardRateTypeName(work.type), kind->name);
      return false;
    }
    ps[k] = known ? simPicoseconds(cost.seconds) : 0;
  }
  body->flops += work.flops;
  body->vectorFlops += work.vectorFlops;
  body->memoryBytes += work.bytes;
  bool reorders = shardOpIsReorder(op);
  body->nReorders += reorders;
  for (int32_t k = 0; reorders && k < nKinds; ++k)
    body->reorderPs[k] = simAdd(body->reorderPs[k], ps[k]);
  SimStep *last = body->nSteps ? &body->steps[body->nSteps - 1] : NULL;
  if (stage || !last || last->kind != SIM_COMPUTE) {
    addStep(reader, body, (SimStep){.kind = SIM_COMPUTE, .op = op, .ps = ps});
    return true;
  }
  int64_t *sum = (int64_t *)last->ps; // this function's own array
  for (int32_t k = 0; k < nKinds; ++k)
    sum[k] = simAdd(sum[k], ps[k]);
  return true;
}

/// Adds `trips` runs of `inner`; those that do not communicate are one time.
static void addCall(Reader *reader, SimBody *body, MlirOperation op, const SimBody *inner,
                    int64_t trips) {
  if (trips <= 0)
    return;
  body->flops += inner->flops * (double)trips;
  body->vectorFlops += inner->vectorFlops * (double)trips;
  body->memoryBytes += inner->memoryBytes * (double)trips;
  for (int32_t k = 0; k < reader->program->cluster->nDeviceKinds; ++k)
    body->reorderPs[k] = simAdd(body->reorderPs[k], simTimes(inner->reorderPs[k], trips));
  body->nReorders = simAdd(body->nReorders, simTimes(inner->nReorders, trips));
  body->communicates |= inner->communicates;
  if (inner->nSteps)
    addStep(reader, body, (SimStep){.kind = SIM_CALL, .op = op, .body = inner, .trips = trips});
}

static void keepPeak(Reader *reader, MlirOperation op, const SimBody *inner) {
  int64_t peak = shardPointerMapGetOr(reader->innerPeak, op.ptr, 0);
  if (inner->peakBytes <= peak)
    return;
  shardPointerMapSet(reader->innerPeak, op.ptr, inner->peakBytes);
  shardPointerMapSet(reader->innerOp, op.ptr, (int64_t)(intptr_t)inner->deepOp.ptr);
}

static SimBody *readFunction(Reader *reader, MlirOperation call) {
  MlirAttribute callee = shardOpGetAttribute(call, "callee");
  int64_t index = -1;
  if (!mlirAttributeIsNull(callee) && mlirAttributeIsAFlatSymbolRef(callee)) {
    MlirAttribute symbol =
        mlirStringAttrGet(mlirOperationGetContext(call), mlirFlatSymbolRefAttrGetValue(callee));
    index = shardPointerMapGetOr(reader->functions, symbol.ptr, -1);
  }
  MlirBlock block = index < 0 ? (MlirBlock){NULL} : shardFuncGetBody(reader->functionOps[index]);
  if (mlirBlockIsNull(block)) {
    shardEmitError(call, "the called function has no body");
    return NULL;
  }
  if (reader->open[index]) {
    shardEmitError(call, "recursive function: a program must call its layers in one order");
    return NULL;
  }
  if (!reader->bodies[index]) {
    reader->open[index] = true;
    reader->bodies[index] = readBlock(reader, block, false);
    reader->open[index] = false;
  }
  return reader->bodies[index];
}

static bool readCall(Reader *reader, SimBody *body, MlirOperation op) {
  SimBody *callee = readFunction(reader, op);
  if (!callee)
    return false;
  keepPeak(reader, op, callee);
  addCall(reader, body, op, callee, 1);
  return true;
}

/// Of several branches the one that communicates is taken, else the longest; of equal ones the
/// first. Loops run as often as their bounds say, once where those are not known.
static bool readControl(Reader *reader, SimBody *body, MlirOperation op) {
  bool branches = shardOpIs(op, "scf.if") || shardOpIs(op, "scf.index_switch");
  SimBody *chosen = NULL;
  for (intptr_t r = 0; r < mlirOperationGetNumRegions(op); ++r) {
    MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, r));
    SimBody *inner = mlirBlockIsNull(block) ? NULL : readBlock(reader, block, false);
    if (!inner && !mlirBlockIsNull(block))
      return false;
    if (!inner)
      continue;
    keepPeak(reader, op, inner);
    if (!branches)
      addCall(reader, body, op, inner, shardLoopTrips(op));
    else if (!chosen || inner->communicates > chosen->communicates ||
             (inner->communicates == chosen->communicates && inner->ps[0] > chosen->ps[0]))
      chosen = inner;
  }
  if (chosen)
    addCall(reader, body, op, chosen, 1);
  return true;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

static SimStep *addNumbered(Reader *reader, SimBody *body, SimStep step) {
  SimProgram *program = reader->program;
  step.number = program->nNumbered;
  program->numbered =
      shardArenaGrow(program->arena, program->numbered, (size_t)program->nNumbered,
                     &program->numberedCapacity, (size_t)program->nNumbered + 1, sizeof(SimStep));
  program->numbered[program->nNumbered++] = step;
  body->communicates = true;
  return addStep(reader, body, step);
}

int64_t simIntegerOf(MlirOperation op, const char *name, int64_t other) {
  int64_t value;
  MlirAttribute attribute = shardOpGetAttribute(op, name);
  return !mlirAttributeIsNull(attribute) && shardAttrGetI64(attribute, &value) ? value : other;
}

/// The mesh axes of a collective as bits. False after one error.
static bool readAxes(const SimProgram *program, MlirOperation op, uint32_t *out) {
  MlirAttribute axes = shardOpGetAttribute(op, "grid_axes");
  *out = 0;
  if (mlirAttributeIsNull(axes) || !mlirAttributeIsADenseI16Array(axes))
    return true;
  for (intptr_t i = 0; i < mlirDenseArrayGetNumElements(axes); ++i) {
    int16_t axis = mlirDenseI16ArrayGetElement(axes, i);
    if (axis < 0 || axis >= program->mesh.nAxes) {
      shardEmitError(op, "no axis %d in the mesh; it has %d", axis, program->mesh.nAxes);
      return false;
    }
    *out |= UINT32_C(1) << axis;
  }
  return true;
}

static bool kindOf(const char *name, ShardCollectiveKind *out) {
  for (int k = 0; k < SHARD_N_COLLECTIVE_KINDS; ++k)
    if (strcmp(shardClusterCollectiveName((ShardCollectiveKind)k), name) == 0) {
      *out = (ShardCollectiveKind)k;
      return true;
    }
  return false;
}

static bool readCollective(Reader *reader, SimBody *body, MlirOperation op) {
  const char *kind = shardCollectiveKind(op);
  MlirStringRef name = shardOpGetName(op);
  SimStep step = {.kind = SIM_COLLECTIVE, .op = op};
  if (!kind) {
    if (mlirAttributeIsNull(shardOpGetAttribute(op, "grid_axes")) ||
        shardStringIs(name, "shard.all_slice"))
      return true;
    shardEmitError(op, "'%.*s' is not a collective that programs have", (int)name.length,
                   name.data);
    return false;
  }
  if (!kindOf(kind, &step.collective) || !readAxes(reader->program, op, &step.axes))
    return false;
  bool gathers = step.collective == SHARD_COLLECTIVE_ALL_GATHER;
  MlirValue value = gathers ? mlirOperationGetResult(op, 0) : mlirOperationGetOperand(op, 0);
  step.bytes = shardTypeBytes(mlirValueGetType(value));
  step.round = simIntegerOf(op, "spmd.round", 0);
  step.channel = simIntegerOf(op, "spmd.channel", simIntegerOf(op, "spmd.site", 0));
  bool shifts = step.collective == SHARD_COLLECTIVE_PERMUTE;
  int32_t pp = reader->program->ppAxis;
  if (shifts) {
    // Every rank sends, then receives; nobody else uses the channel.
    step.channel = -1 - reader->program->nNumbered;
    step.kind = SIM_SEND;
    addNumbered(reader, body, step);
    step.kind = SIM_RECEIVE;
  } else if (step.collective == SHARD_COLLECTIVE_SEND) {
    step.kind = shardStringIs(name, "shard.send") ? SIM_SEND : SIM_RECEIVE;
  } else if (pp >= 0 && reader->program->nStages > 1 && step.axes >> pp & 1) {
    shardEmitError(op, "a collective over the stages of a pipeline is not simulated; expected a "
                       "send and a receive");
    return false;
  }
  addNumbered(reader, body, step);
  return true;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// Bytes and operations are counted on shapes: all of them must be there.
static bool checkStatic(MlirOperation op) {
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i) {
    MlirType type = mlirValueGetType(mlirOperationGetResult(op, i));
    if (!mlirTypeIsATensor(type) || shardTypeElementCount(type) >= 0)
      continue;
    MlirStringRef name = shardOpGetName(op);
    shardEmitError(op, "a result of '%.*s' has no static shape, so that no time is known for it",
                   (int)name.length, name.data);
    return false;
  }
  return true;
}

static bool readOp(Reader *reader, SimBody *body, MlirOperation op, bool stage) {
  if (!checkStatic(op))
    return false;
  MlirStringRef name = shardOpGetName(op);
  if (shardStringIs(name, "func.call"))
    return readCall(reader, body, op);
  if (name.length > 4 && memcmp(name.data, "scf.", 4) == 0)
    return readControl(reader, body, op);
  if (name.length > 6 && memcmp(name.data, "shard.", 6) == 0)
    return readCollective(reader, body, op);
  return readCompute(reader, body, op, stage);
}

/// What a body that does not communicate takes, by device kind.
static void addTimes(const SimProgram *program, SimBody *body) {
  int32_t nKinds = program->cluster->nDeviceKinds;
  body->ps = SHARD_ARENA_ARRAY(program->arena, int64_t, nKinds);
  for (size_t i = 0; i < body->nSteps; ++i) {
    const SimStep *step = &body->steps[i];
    for (int32_t k = 0; k < nKinds; ++k)
      body->ps[k] = simAdd(body->ps[k], step->kind == SIM_COMPUTE ? step->ps[k]
                                        : step->body ? simTimes(step->body->ps[k], step->trips)
                                                     : 0);
  }
}

static SimBody *readBlock(Reader *reader, MlirBlock block, bool stage) {
  SimBody *body = SHARD_ARENA_NEW(reader->program->arena, SimBody);
  body->block = block;
  body->reorderPs =
      SHARD_ARENA_ARRAY(reader->program->arena, int64_t, reader->program->cluster->nDeviceKinds);
  for (MlirOperation op = mlirBlockGetFirstOperation(block); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op))
    if (!readOp(reader, body, op, stage))
      return NULL;
  addTimes(reader->program, body);
  int64_t *opBytes;
  simBodyMemory(body, reader->innerPeak, reader->program->arena, &opBytes);
  body->deepOp = body->peakOp;
  int64_t deep;
  if (body->peakOp.ptr && shardPointerMapGet(reader->innerOp, body->peakOp.ptr, &deep))
    body->deepOp.ptr = (void *)(intptr_t)deep;
  size_t next = 0;
  int64_t at = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(block);
       !mlirOperationIsNull(op) && next < body->nSteps; op = mlirOperationGetNextInBlock(op), ++at)
    for (; next < body->nSteps && mlirOperationEqual(body->steps[next].op, op); ++next)
      body->steps[next].memoryBytes = opBytes[at];
  return body;
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

static void listRanks(SimProgram *program) {
  int64_t coordinates[SHARD_MAX_AXES];
  int64_t perStage = program->nRanks / program->nStages;
  int64_t *ranks = SHARD_ARENA_ARRAY(program->arena, int64_t, program->nRanks);
  for (int32_t s = 0; s < program->nStages; ++s)
    program->stages[s].ranks = ranks + s * perStage;
  for (int64_t rank = 0; rank < program->nRanks; ++rank) {
    shardMeshCoordinates(&program->mesh, rank, coordinates);
    SimStage *stage = &program->stages[program->ppAxis < 0 ? 0 : coordinates[program->ppAxis]];
    ranks[(stage - program->stages) * perStage + stage->nRanks++] = rank;
  }
}

/// Every rank needs a device of its own.
static bool checkPlacement(SimProgram *program) {
  const ShardCluster *cluster = program->cluster;
  program->nRanks = 1;
  for (int32_t a = 0; a < program->mesh.nAxes && program->nRanks <= cluster->nDevices; ++a)
    program->nRanks *= program->mesh.sizes[a]; // of the first axes, where those are too many
  if (program->nRanks > cluster->nDevices) {
    shardEmitError(program->module,
                   "the program has %" PRId64 " ranks or more, the cluster '%s' %" PRId64
                   " devices",
                   program->nRanks, cluster->name, cluster->nDevices);
    return false;
  }
  ShardArena *scratch = shardArenaCreate();
  bool *used = SHARD_ARENA_ARRAY(scratch, bool, cluster->nDevices), ok = true;
  for (int64_t rank = 0; ok && rank < program->nRanks; ++rank) {
    int64_t device = simDeviceOf(program, rank);
    ok = device >= 0 && device < cluster->nDevices && !used[device];
    if (ok)
      program->usesKind[shardClusterDeviceKind(cluster, device) - cluster->deviceKinds] =
          used[device] = true;
    else
      shardEmitError(program->module,
                     "device %" PRId64 " of rank %" PRId64
                     " is not in the cluster, or another rank's",
                     device, rank);
  }
  shardArenaDestroy(scratch);
  return ok;
}

static void listFunctions(Reader *reader) {
  SimProgram *program = reader->program;
  for (MlirOperation op = mlirBlockGetFirstOperation(shardOpBody(program->module));
       !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op)) {
    if (!shardOpIs(op, "func.func"))
      continue;
    reader->functionOps =
        shardArenaGrow(program->arena, reader->functionOps, reader->nFunctions, &reader->capacity,
                       reader->nFunctions + 1, sizeof(MlirOperation));
    shardPointerMapSet(reader->functions, shardOpGetAttribute(op, "sym_name").ptr,
                       (int64_t)reader->nFunctions);
    reader->functionOps[reader->nFunctions++] = op;
    int64_t stage = 0;
    if (!shardFuncIsPublic(op) || mlirBlockIsNull(shardFuncGetBody(op)))
      continue;
    shardAttrGetI64(shardOpGetAttribute(op, "spmd.stage"), &stage);
    if (stage >= 0 && stage < program->nStages)
      program->stages[stage].func = op;
  }
}

static bool readStage(Reader *reader, SimStage *stage) {
  MlirBlock block = shardFuncGetBody(stage->func);
  MlirOperation end = mlirBlockGetTerminator(block);
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(block); ++i)
    stage->argumentBytes += shardTypeBytes(mlirValueGetType(mlirBlockGetArgument(block, i)));
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(end); ++i)
    stage->resultBytes += shardTypeBytes(mlirValueGetType(mlirOperationGetOperand(end, i)));
  stage->body = readBlock(reader, block, true);
  return stage->body != NULL;
}

/// The ranks of a stage work at the same time: most of one stage in one node.
static int64_t countBusy(const SimProgram *program) {
  const ShardCluster *cluster = program->cluster;
  ShardArena *scratch = shardArenaCreate();
  int64_t *counts = SHARD_ARENA_ARRAY(scratch, int64_t, cluster->nNodes), most = 1;
  for (int32_t s = 0; s < program->nStages; ++s) {
    const SimStage *stage = &program->stages[s];
    for (int64_t r = 0; r < stage->nRanks; ++r) {
      int64_t device = simDeviceOf(program, stage->ranks[r]);
      int64_t node = shardClusterVertexOf(cluster, device, SHARD_LEVEL_NODE);
      if (node >= 0 && ++counts[node] > most)
        most = counts[node];
    }
    for (int64_t r = 0; r < stage->nRanks; ++r) {
      int64_t device = simDeviceOf(program, stage->ranks[r]);
      int64_t node = shardClusterVertexOf(cluster, device, SHARD_LEVEL_NODE);
      if (node >= 0)
        counts[node] = 0;
    }
  }
  shardArenaDestroy(scratch);
  return most;
}

bool simProgramRead(SimProgram *program) {
  if (!shardMeshRead(program->module, program->arena, &program->mesh)) {
    shardEmitError(program->module, "the module has no 'shard.grid': it is no sharded program");
    return false;
  }
  program->ppAxis = shardMeshFindAxis(&program->mesh, "pp");
  program->nStages = program->ppAxis < 0 ? 1 : (int32_t)program->mesh.sizes[program->ppAxis];
  program->stages = SHARD_ARENA_ARRAY(program->arena, SimStage, program->nStages);
  program->usesKind = SHARD_ARENA_ARRAY(program->arena, bool, program->cluster->nDeviceKinds);
  if (!checkPlacement(program))
    return false;
  listRanks(program);
  program->nBusy = countBusy(program);
  Reader reader = {.program = program,
                   .functions = shardPointerMapCreate(program->arena, 64),
                   .innerPeak = shardPointerMapCreate(program->arena, 64),
                   .innerOp = shardPointerMapCreate(program->arena, 64)};
  listFunctions(&reader);
  reader.bodies = SHARD_ARENA_ARRAY(program->arena, SimBody *, reader.nFunctions);
  reader.open = SHARD_ARENA_ARRAY(program->arena, bool, reader.nFunctions);
  for (int32_t s = 0; s < program->nStages; ++s) {
    if (mlirOperationIsNull(program->stages[s].func)) {
      shardEmitError(program->module, "the module has no function of stage %d", s);
      return false;
    }
    if (!readStage(&reader, &program->stages[s]))
      return false;
  }
  return true;
}
