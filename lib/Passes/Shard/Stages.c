//===- Stages.c - Which ops and values a pipeline stage has -------*- C -*-===//
// An op with `spmd.stage` is in that stage; what reads nothing of a stage is made in every stage
// that uses it, and what else has no stage is in the latest one it reads. A value goes straight
// from the stage that makes it to each stage that uses it.
//===----------------------------------------------------------------------===//

#include "Stages.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <inttypes.h>
#include <string.h>

MlirOperation shardFunctionGetReturn(const ShardFunctionInfo *function) {
  return mlirBlockGetTerminator(shardFuncGetBody(function->func));
}

ShardOpPlan *shardEntryGetPlan(ShardEntry *entry, intptr_t i) {
  if (!entry->plans[i] && entry->rules[i]) {
    const ShardOpRule *rule = entry->rules[i];
    ShardSharding **wanted = SHARD_ARENA_ARRAY(entry->spmd->arena, ShardSharding *, rule->nResults);
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
static int32_t makerOf(const ShardEntry *entry, MlirValue value) {
  return (int32_t)shardPointerMapGetOr(entry->makers, value.ptr, -1);
}

// Whether an op gives numbers only, which are not sent: each stage that uses them makes them again
// from the tensors that they come from.
static bool givesNumbers(MlirOperation op) {
  intptr_t n = mlirOperationGetNumResults(op);
  bool numbers = n > 0 && mlirOperationGetNumRegions(op) == 0 && !shardOpIs(op, "func.call");
  for (intptr_t r = 0; r < n; ++r)
    numbers &= !mlirTypeIsARankedTensor(mlirValueGetType(mlirOperationGetResult(op, r)));
  return numbers;
}

// The stage of an op: as annotated; else that of the latest one it reads; -1 if it reads none.
static MlirLogicalResult readStages(ShardEntry *entry) {
  int32_t *reads = SHARD_ARENA_ARRAY(entry->spmd->arena, int32_t, entry->nOps); // latest stage
  for (intptr_t i = 0; i < entry->nOps; ++i) {
    int64_t stage = -1;
    bool anywhere = true; // all that it reads can be made in any stage
    for (int32_t k = 0; k < entry->nInputs[i]; ++k) {
      int32_t input = entry->inputs[i][k];
      anywhere &= entry->stages[input] < 0;
      int32_t other = entry->stages[input] < 0 ? reads[input] : entry->stages[input];
      stage = other > stage ? other : stage;
    }
    int32_t latest = reads[i] = (int32_t)stage;
    MlirAttribute mark = shardOpGetAttribute(entry->ops[i], "spmd.stage");
    bool free =
        givesNumbers(entry->ops[i]) || (entry->rules[i] && entry->rules[i]->cheap && anywhere);
    if (!free && !mlirAttributeIsNull(mark) &&
        (!shardAttrGetI64(mark, &stage) || stage < 0 || stage >= entry->nStages))
      return shardEmitError(entry->ops[i], "'spmd.stage' is not between 0 and %d",
                            entry->nStages - 1);
    if (stage < latest)
      return shardEmitError(entry->ops[i], "op of stage %" PRId64 " uses a value of stage %d",
                            stage, latest);
    // What only has effects, as a top-level assertion, must not be lost.
    if (stage < 0 && mlirOperationGetNumResults(entry->ops[i]) == 0)
      stage = 0;
    entry->stages[i] = free ? -1 : (int32_t)stage;
  }
  return mlirLogicalResultSuccess();
}

MlirLogicalResult shardEntryRead(ShardSpmd *spmd, const ShardFunctionInfo *function,
                                 int32_t nStages, ShardEntry *entry) {
  *entry = (ShardEntry){.spmd = spmd, .function = function, .nStages = nStages};
  entry->index = (int32_t)(function - spmd->rules->functions);
  MlirBlock block = shardFuncGetBody(function->func);
  MlirOperation end = shardFunctionGetReturn(function);
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
  entry->needed = SHARD_ARENA_ARRAY(arena, bool, entry->nOps *nStages);
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

static bool usesValue(const ShardEntry *entry, int32_t stage, MlirValue value) {
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
static void placeResults(ShardEntry *entry) {
  MlirOperation end = shardFunctionGetReturn(entry->function);
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

static void closeStage(ShardEntry *entry, int32_t stage) {
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

ShardTransfer *shardEntryFindTransfer(ShardEntry *entry, int32_t value, int32_t to) {
  for (size_t t = 0; t < entry->nTransfers; ++t)
    if (entry->transfers[t].value == value && entry->transfers[t].to == to)
      return &entry->transfers[t];
  return NULL;
}

// Sent as it is made, unless that is partial or every user wants less of it.
static void addUse(ShardEntry *entry, int32_t value, int32_t from, int32_t to,
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
  ShardTransfer *transfer = shardEntryFindTransfer(entry, value, to);
  if (!transfer) {
    entry->transfers =
        shardArenaGrow(spmd->arena, entry->transfers, entry->nTransfers, &entry->capacityTransfers,
                       entry->nTransfers + 1, sizeof(ShardTransfer));
    entry->transfers[entry->nTransfers++] = (ShardTransfer){.value = value,
                                                            .from = from,
                                                            .to = to,
                                                            .sharding = sent,
                                                            .site = -1,
                                                            .channel = entry->nChannels++};
    return;
  }
  // Users that disagree: as made, or whole where it was partial.
  if (!shardShardingEqual(transfer->sharding, sent) && !partial)
    transfer->sharding = own;
}

static MlirLogicalResult findTransfers(ShardEntry *entry) {
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
        ShardOpPlan *plan = shardEntryGetPlan(entry, i);
        if (!plan)
          return mlirLogicalResultFailure();
        addUse(entry, port->value, from, stage, plan->operands[k]);
      }
    }
  return mlirLogicalResultSuccess();
}

MlirLogicalResult shardEntryPlanStages(ShardEntry *entry) {
  for (int32_t stage = 0; stage < entry->nStages; ++stage)
    closeStage(entry, stage);
  placeResults(entry);
  for (int32_t stage = 0; stage < entry->nStages; ++stage)
    closeStage(entry, stage);
  return findTransfers(entry);
}

static const char *transferCause(ShardEntry *entry, const ShardTransfer *transfer) {
  return shardArenaFormat(entry->spmd->arena, "%s of stage %d used in stage %d",
                          shardSpmdProducerText(entry->spmd, transfer->value), transfer->from,
                          transfer->to);
}

// The attributes of a send or a receive on the stage axis.
static void transferAttributes(ShardSpmd *spmd, const ShardTransfer *transfer, const char *peerName,
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

MlirLogicalResult shardBuildSend(ShardBuild *build, ShardEntry *entry, ShardTransfer *transfer,
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
  transfer->site =
      shardSiteAdd(spmd, SHARD_RT_SEND, shardArenaCopyString(spmd->arena, name.data, name.length),
                   place.location, transferCause(entry, transfer), axes, type, bytes);
  ShardSite *site = &spmd->sites[transfer->site];
  const char *layout = shardSpmdShardingText(spmd, transfer->value, transfer->sharding);
  site->value = shardSpmdOriginText(spmd, transfer->value);
  site->from = shardArenaFormat(spmd->arena, "%s on stage %d", layout, transfer->from);
  site->to = shardArenaFormat(spmd->arena, "%s on stage %d", layout, transfer->to);
  site->asked = true; // by the degree of pp
  ShardNamedAttribute attributes[6];
  transferAttributes(spmd, transfer, "destination", transfer->to, attributes);
  shardOpCreate(place.block, place.before, place.location, "shard.send", 1, &type, 1, &local, 6,
                attributes, 0, NULL);
  return mlirLogicalResultSuccess();
}

bool shardBuildReceive(ShardBuild *build, int32_t value, MlirOperation consumer) {
  ShardEntry *entry = build->fetchData;
  ShardSpmd *spmd = build->spmd;
  ShardTransfer *transfer = shardEntryFindTransfer(entry, value, build->stage);
  if (!transfer || transfer->site < 0) {
    shardEmitError(consumer, "%s is not available in stage %d", shardSpmdProducerText(spmd, value),
                   build->stage);
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
  MlirValue received =
      mlirOperationGetResult(shardOpCreate(place.block, place.before, place.location, "shard.recv",
                                           1, &type, 1, &empty, 6, attributes, 0, NULL),
                             0);
  if (!mlirTypeEqual(type, local))
    received = shardBuildCollapse(place, received, mlirArrayAttrGet(spmd->context, 0, NULL), local);
  shardBuildAddVersion(build, value, transfer->sharding, received);
  return true;
}
