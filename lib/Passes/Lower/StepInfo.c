//===- StepInfo.c - What a step of a stage asks of the runtime ----*- C -*-===//
// Reads the collectives of a stage and of what it calls, before they are lowered. From this the
// runtime has all that a step needs before the step begins (shardRtWorldPrepare).
//===----------------------------------------------------------------------===//

#include "Lower.h"

#include "../Analysis/Rules.h"
#include "../Core/Collectives.h"

/// A rank may be this many steps of a loop ahead of the one that receives before its messages need
/// memory that nobody planned; only a loop in which ranks send one way gets so far.
enum { MOST_STEPS_AHEAD = 8, MOST_MESSAGES = 1 << 16 };

typedef struct Message {
  int64_t bytes, count;
} Message;

/// Of one call of a function.
typedef struct StepInfo {
  int32_t *groups; // masks
  Message *messages;
  size_t nGroups, groupCapacity, nMessages, messageCapacity;
} StepInfo;

typedef struct Visit {
  ShardLowering *lowering;
  ShardPointerMap *functions; // to the place in `infos`
  StepInfo **infos;           // [nInfos]; null: in work, so the call is recursive
  size_t nInfos, capacity;
} Visit;

static void addGroup(Visit *visit, StepInfo *info, int32_t mask) {
  for (size_t i = 0; i < info->nGroups; ++i)
    if (info->groups[i] == mask)
      return;
  info->groups = shardArenaGrow(visit->lowering->arena, info->groups, info->nGroups,
                                &info->groupCapacity, info->nGroups + 1, sizeof(*info->groups));
  info->groups[info->nGroups++] = mask;
}

static void addMessage(Visit *visit, StepInfo *info, int64_t bytes, int64_t count) {
  size_t i = 0;
  while (i < info->nMessages && info->messages[i].bytes != bytes)
    ++i;
  if (i == info->nMessages) {
    info->messages =
        shardArenaGrow(visit->lowering->arena, info->messages, info->nMessages,
                       &info->messageCapacity, info->nMessages + 1, sizeof(*info->messages));
    info->messages[info->nMessages++] = (Message){.bytes = bytes};
  }
  info->messages[i].count += count;
  if (info->messages[i].count > MOST_MESSAGES)
    info->messages[i].count = MOST_MESSAGES;
}

/// The group of an op's axes, and that of each: axes that are not in the mesh's order are gathered
/// or scattered one by one.
static void addGroupsOf(Visit *visit, StepInfo *info, MlirOperation op) {
  MlirAttribute axes = shardOpGetAttribute(op, "grid_axes");
  MlirAttribute shift = shardOpGetAttribute(op, "shift_axis");
  int64_t axis;
  if (!mlirAttributeIsNull(shift) && shardAttrGetI64(shift, &axis)) {
    addGroup(visit, info, (int32_t)1 << axis);
    return;
  }
  int32_t mask = 0, last = -1;
  bool ascending = true;
  intptr_t n = mlirAttributeIsNull(axes) ? 0 : mlirDenseArrayGetNumElements(axes);
  for (intptr_t i = 0; i < n; ++i) {
    int32_t at = mlirDenseI16ArrayGetElement(axes, i);
    ascending &= at > last;
    last = at;
    mask |= (int32_t)1 << at;
  }
  addGroup(visit, info, mask);
  for (intptr_t i = 0; i < n && !ascending; ++i)
    addGroup(visit, info, (int32_t)1 << mlirDenseI16ArrayGetElement(axes, i));
}

static const StepInfo *infoOf(Visit *visit, MlirOperation function);

static void visitBlock(Visit *visit, StepInfo *info, MlirBlock block, int64_t times);

static void visitOp(Visit *visit, StepInfo *info, MlirOperation op, int64_t times) {
  if (shardOpIs(op, "shard.recv")) {
    MlirType type = mlirValueGetType(mlirOperationGetResult(op, 0));
    int64_t bytes = shardTypeElementBytes(mlirShapedTypeGetElementType(type));
    addMessage(visit, info, shardTypeElementCount(type) * bytes, times);
  } else if (shardCollectiveKind(op) && !shardOpIs(op, "shard.send")) {
    addGroupsOf(visit, info, op);
  } else if (shardOpIs(op, "func.call")) {
    MlirOperation callee = shardModuleCallee(visit->lowering->module, op);
    const StepInfo *inner = infoOf(visit, callee);
    for (size_t i = 0; inner && i < inner->nGroups; ++i)
      addGroup(visit, info, inner->groups[i]);
    for (size_t i = 0; inner && i < inner->nMessages; ++i)
      addMessage(visit, info, inner->messages[i].bytes, inner->messages[i].count * times);
  }
  int64_t trips = shardLoopTrips(op);
  if (trips && times > MOST_STEPS_AHEAD / trips)
    times = MOST_STEPS_AHEAD;
  else
    times *= trips;
  for (intptr_t r = 0; r < mlirOperationGetNumRegions(op); ++r)
    for (MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, r));
         !mlirBlockIsNull(block); block = mlirBlockGetNextInRegion(block))
      visitBlock(visit, info, block, times);
}

static void visitBlock(Visit *visit, StepInfo *info, MlirBlock block, int64_t times) {
  for (MlirOperation op = mlirBlockGetFirstOperation(block); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op))
    visitOp(visit, info, op, times);
}

/// Null: it has no body, or is in work (recursion has no lowering, which is said later).
static const StepInfo *infoOf(Visit *visit, MlirOperation function) {
  int64_t place;
  if (mlirOperationIsNull(function) || mlirBlockIsNull(shardFuncGetBody(function)))
    return NULL;
  if (shardPointerMapGet(visit->functions, function.ptr, &place))
    return visit->infos[place];
  ShardArena *arena = visit->lowering->arena;
  place = (int64_t)visit->nInfos++;
  shardPointerMapSet(visit->functions, function.ptr, place);
  visit->infos = shardArenaGrow(arena, visit->infos, (size_t)place, &visit->capacity, visit->nInfos,
                                sizeof(StepInfo *));
  visit->infos[place] = NULL;
  StepInfo *info = SHARD_ARENA_NEW(arena, StepInfo);
  visitBlock(visit, info, shardFuncGetBody(function), 1);
  return visit->infos[place] = info;
}

void shardStepInfoCollect(ShardLowering *lowering, MlirOperation stage, MlirAttribute *outGroups,
                          MlirAttribute *outMessages) {
  MlirContext context = lowering->context;
  Visit visit = {.lowering = lowering, .functions = shardPointerMapCreate(lowering->arena, 16)};
  const StepInfo *info = infoOf(&visit, stage);
  MlirAttribute *rows = SHARD_ARENA_ARRAY(lowering->arena, MlirAttribute, info->nMessages + 1);
  for (size_t i = 0; i < info->nMessages; ++i) {
    int64_t row[] = {info->messages[i].bytes, info->messages[i].count};
    rows[i] = shardAttrI64Array(context, 2, row);
  }
  *outGroups = mlirDenseI32ArrayGet(context, (intptr_t)info->nGroups, info->groups);
  *outMessages = mlirArrayAttrGet(context, (intptr_t)info->nMessages, rows);
}
