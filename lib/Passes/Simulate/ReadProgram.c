//===- ReadProgram.c - The steps of each stage --------------------*- C -*-===//
// A function is read once, however often it is called. Ops next to each other that only compute are
// one step where nobody looks at them apart: their times are whole numbers, so the sum is exact.
//===----------------------------------------------------------------------===//
#include "ReadProgram.h"

#include "../Analysis/Rules.h"
#include "../Core/Diagnostics.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/// Calls within calls, each with a frame of the C stack: as many as shard-import takes.
enum { MAX_CALL_DEPTH = 1000 };

int64_t simPicoseconds(double seconds) {
  double ps = seconds * 1e12;
  return ps < (double)SIM_MAX_PS ? (int64_t)llround(ps) : SIM_MAX_PS;
}

static SimBody *readBlock(SimReader *reader, MlirBlock block, bool stage);

SimStep *simReaderAddStep(SimReader *reader, SimBody *body, SimStep step) {
  body->steps = shardArenaGrow(reader->program->arena, body->steps, body->nSteps, &body->capacity,
                               body->nSteps + 1, sizeof(SimStep));
  body->steps[body->nSteps] = step;
  return &body->steps[body->nSteps++];
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Adds an op that takes `ps`.
static void addBound(SimBound *sum, const ShardOpCost *cost, int64_t ps) {
  int64_t launch = simPicoseconds(cost->launchSeconds);
  launch = launch < ps ? launch : ps;
  bool moves = cost->memorySeconds > cost->computeSeconds;
  sum->launchPs = simAdd(sum->launchPs, launch);
  sum->memoryPs = simAdd(sum->memoryPs, moves ? ps - launch : 0);
  sum->arithmeticPs = simAdd(sum->arithmeticPs, moves ? 0 : ps - launch);
}

static void addBoundTimes(SimBound *sum, const SimBound *other, int64_t trips) {
  sum->launchPs = simAdd(sum->launchPs, simTimes(other->launchPs, trips));
  sum->memoryPs = simAdd(sum->memoryPs, simTimes(other->memoryPs, trips));
  sum->arithmeticPs = simAdd(sum->arithmeticPs, simTimes(other->arithmeticPs, trips));
}

static bool readCompute(SimReader *reader, SimBody *body, MlirOperation op, bool stage) {
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
    if (known)
      addBound(&body->bounds[k], &cost, ps[k]);
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
    simReaderAddStep(reader, body, (SimStep){.kind = SIM_COMPUTE, .op = op, .ps = ps});
    return true;
  }
  int64_t *sum = (int64_t *)last->ps; // this function's own array
  for (int32_t k = 0; k < nKinds; ++k)
    sum[k] = simAdd(sum[k], ps[k]);
  return true;
}

/// Adds `trips` runs of `inner`; those that do not communicate are one time. The step, if there is
/// one.
static SimStep *addCall(SimReader *reader, SimBody *body, MlirOperation op, const SimBody *inner,
                        int64_t trips) {
  if (trips <= 0)
    return NULL;
  body->flops += inner->flops * (double)trips;
  body->vectorFlops += inner->vectorFlops * (double)trips;
  body->memoryBytes += inner->memoryBytes * (double)trips;
  for (int32_t k = 0; k < reader->program->cluster->nDeviceKinds; ++k) {
    body->reorderPs[k] = simAdd(body->reorderPs[k], simTimes(inner->reorderPs[k], trips));
    addBoundTimes(&body->bounds[k], &inner->bounds[k], trips);
  }
  body->nReorders = simAdd(body->nReorders, simTimes(inner->nReorders, trips));
  bool tokens = simHasTokens(op);
  body->communicates |= inner->communicates || tokens;
  if (!inner->nSteps && !tokens)
    return NULL;
  SimStep call = {.kind = SIM_CALL, .op = op, .body = inner, .trips = trips};
  return simReaderAddStep(reader, body, call);
}

static void keepPeak(SimReader *reader, MlirOperation op, const SimBody *inner) {
  int64_t peak = shardPointerMapGetOr(reader->innerPeak, op.ptr, 0);
  if (inner->peakBytes <= peak)
    return;
  shardPointerMapSet(reader->innerPeak, op.ptr, inner->peakBytes);
  shardPointerMapSet(reader->innerOp, op.ptr, (int64_t)(intptr_t)inner->deepOp.ptr);
}

static SimBody *readFunction(SimReader *reader, MlirOperation call) {
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
  if (reader->depth == MAX_CALL_DEPTH) {
    shardEmitError(call, "calls lie more than %d deep within each other", MAX_CALL_DEPTH);
    return NULL;
  }
  if (!reader->bodies[index]) {
    reader->open[index] = true;
    ++reader->depth;
    reader->bodies[index] = readBlock(reader, block, false);
    reader->open[index] = false;
    --reader->depth;
  }
  return reader->bodies[index];
}

static bool readCall(SimReader *reader, SimBody *body, MlirOperation op) {
  SimBody *callee = readFunction(reader, op);
  if (!callee)
    return false;
  keepPeak(reader, op, callee);
  SimStep *call = addCall(reader, body, op, callee, 1);
  if (call)
    simReadTokenMoves(reader, body, op, callee, 0, 0, false, call);
  return true;
}

/// Of several branches the one that communicates is taken, else the longest; of equal ones the
/// first. Loops run as often as their bounds say, once where those are not known, which is counted.
static bool readControl(SimReader *reader, SimBody *body, MlirOperation op) {
  bool branches = shardOpIs(op, "scf.if") || shardOpIs(op, "scf.index_switch");
  bool loops = shardOpIs(op, "scf.for");
  SimBody *chosen = NULL;
  int64_t trips;
  reader->program->nLoopsOnce += !shardLoopHasTrips(op, &trips);
  if (mlirOperationGetNumRegions(op) && !branches && !loops && !simCheckNoTokens(op))
    return false;
  for (intptr_t r = 0; r < mlirOperationGetNumRegions(op); ++r) {
    MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, r));
    SimBody *inner = mlirBlockIsNull(block) ? NULL : readBlock(reader, block, false);
    if (!inner && !mlirBlockIsNull(block))
      return false;
    if (!inner)
      continue;
    keepPeak(reader, op, inner);
    if (!branches) {
      SimStep *call = addCall(reader, body, op, inner, trips);
      if (loops)
        simReadTokenMoves(reader, body, op, inner, 3, 1, true, call);
    }
    if (branches && (!chosen || inner->communicates > chosen->communicates ||
                     (inner->communicates == chosen->communicates && inner->ps[0] > chosen->ps[0])))
      chosen = inner;
  }
  SimStep *call = chosen ? addCall(reader, body, op, chosen, 1) : NULL;
  if (call)
    simReadTokenMoves(reader, body, op, chosen, 1, 0, false, call);
  return true;
}

int64_t simIntegerOf(MlirOperation op, const char *name, int64_t other) {
  int64_t value;
  MlirAttribute attribute = shardOpGetAttribute(op, name);
  return !mlirAttributeIsNull(attribute) && shardAttrGetI64(attribute, &value) ? value : other;
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

static bool readOp(SimReader *reader, SimBody *body, MlirOperation op, bool stage) {
  if (!checkStatic(op))
    return false;
  MlirStringRef name = shardOpGetName(op);
  if (shardStringIs(name, "func.call"))
    return readCall(reader, body, op);
  if (name.length > 4 && memcmp(name.data, "scf.", 4) == 0)
    return readControl(reader, body, op);
  if (name.length > 6 && memcmp(name.data, "shard.", 6) == 0)
    return simReadCollective(reader, body, op);
  if (name.length > 5 && memcmp(name.data, "spmd.", 5) == 0)
    return simReadScheduled(reader, body, op);
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

/// Beside ops of unknown dialects, which could be one, a block need not have a terminator.
static bool checkEnds(MlirBlock block) {
  if (!mlirOperationIsNull(mlirBlockGetTerminator(block)))
    return true;
  shardEmitError(mlirBlockGetParentOperation(block),
                 "a block of this op does not end; expected func.return or scf.yield");
  return false;
}

static SimBody *readBlock(SimReader *reader, MlirBlock block, bool stage) {
  if (!checkEnds(block))
    return NULL;
  SimBody *body = SHARD_ARENA_NEW(reader->program->arena, SimBody);
  body->block = block;
  int32_t nKinds = reader->program->cluster->nDeviceKinds;
  body->reorderPs = SHARD_ARENA_ARRAY(reader->program->arena, int64_t, nKinds);
  body->bounds = SHARD_ARENA_ARRAY(reader->program->arena, SimBound, nKinds);
  simReadTokenArguments(reader, body);
  for (MlirOperation op = mlirBlockGetFirstOperation(block); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op))
    if (!readOp(reader, body, op, stage))
      return NULL;
  addTimes(reader->program, body);
  ShardLiveBytes live = shardBlockLiveBytes(block, reader->innerPeak, reader->program->arena);
  body->peakBytes = live.peakBytes;
  body->peakOp = live.peakOp;
  body->deepOp = body->peakOp;
  int64_t deep;
  if (body->peakOp.ptr && shardPointerMapGet(reader->innerOp, body->peakOp.ptr, &deep))
    body->deepOp.ptr = (void *)(intptr_t)deep;
  size_t next = 0;
  int64_t at = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(block);
       !mlirOperationIsNull(op) && next < body->nSteps; op = mlirOperationGetNextInBlock(op), ++at)
    for (; next < body->nSteps && mlirOperationEqual(body->steps[next].op, op); ++next)
      body->steps[next].memoryBytes = live.opBytes[at];
  return body;
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

static void listRanks(SimProgram *program) {
  int64_t coordinates[SHARD_MAX_AXES];
  int64_t perStage = program->nRanks / program->nStages;
  int64_t *ranks = SHARD_ARENA_ARRAY(program->arena, int64_t, program->nRanks);
  int64_t *all = SHARD_ARENA_ARRAY(program->arena, int64_t, program->nRanks);
  program->ranks = all;
  for (int32_t s = 0; s < program->nStages; ++s)
    program->stages[s].ranks = ranks + s * perStage;
  for (int64_t rank = 0; rank < program->nRanks; ++rank) {
    shardMeshCoordinates(&program->mesh, rank, coordinates);
    SimStage *stage = &program->stages[program->ppAxis < 0 ? 0 : coordinates[program->ppAxis]];
    ranks[(stage - program->stages) * perStage + stage->nRanks++] = rank;
    all[rank] = rank;
  }
}

/// Every rank needs a device of its own.
static bool checkPlacement(SimProgram *program) {
  const ShardCluster *cluster = program->cluster;
  program->nRanks = shardMeshDeviceCount(&program->mesh);
  if (program->nRanks > cluster->nDevices) {
    shardEmitError(program->module,
                   "the program has %" PRId64 " ranks, the cluster '%s' %" PRId64 " devices",
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

static void listFunctions(SimReader *reader) {
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
  }
}

static bool readStage(SimReader *reader, SimStage *stage) {
  MlirBlock block = shardFuncGetBody(stage->func);
  stage->body = readBlock(reader, block, true);
  if (!stage->body)
    return false;
  MlirOperation end = mlirBlockGetTerminator(block);
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(block); ++i)
    stage->argumentBytes += shardTypeBytes(mlirValueGetType(mlirBlockGetArgument(block, i)));
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(end); ++i)
    stage->resultBytes += shardTypeBytes(mlirValueGetType(mlirOperationGetOperand(end, i)));
  return true;
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
  if (!shardMeshReadProgram(program->module, program->arena, &program->mesh))
    return false;
  program->ppAxis = shardMeshFindAxis(&program->mesh, "pp");
  program->nStages = program->ppAxis < 0 ? 1 : (int32_t)program->mesh.sizes[program->ppAxis];
  program->stages = SHARD_ARENA_ARRAY(program->arena, SimStage, program->nStages);
  program->usesKind = SHARD_ARENA_ARRAY(program->arena, bool, program->cluster->nDeviceKinds);
  if (!checkPlacement(program))
    return false;
  listRanks(program);
  program->nBusy = countBusy(program);
  SimReader reader = {.program = program,
                      .functions = shardPointerMapCreate(program->arena, 64),
                      .innerPeak = shardPointerMapCreate(program->arena, 64),
                      .innerOp = shardPointerMapCreate(program->arena, 64),
                      .placeOf = shardPointerMapCreate(program->arena, 64)};
  listFunctions(&reader);
  MlirOperation *functions = SHARD_ARENA_ARRAY(program->arena, MlirOperation, program->nStages);
  if (!shardStagesFind(program->module, program->nStages, functions))
    return false;
  reader.bodies = SHARD_ARENA_ARRAY(program->arena, SimBody *, reader.nFunctions);
  reader.open = SHARD_ARENA_ARRAY(program->arena, bool, reader.nFunctions);
  for (int32_t s = 0; s < program->nStages; ++s) {
    program->stages[s].func = functions[s];
    if (!readStage(&reader, &program->stages[s]))
      return false;
  }
  simUsePlan(program);
  return true;
}
