//===- Workspace.c - Every buffer an offset in the caller's memory -*- C -*-===//
// Reads: memref.alloc, func.call with `spmd.workspace` (its callee needs memory), contractions (a
// panel). Writes: `spmd.offset` on them and `spmd.workspace = bytes` on functions.
// A buffer lives from its first to its last use, seen on the function's top-level ops and through
// everything that may alias it; one that is made in a loop lives through the loop. Buffers that
// live at the same time do not overlap; the largest is placed first, each at the lowest offset that
// fits (first fit by decreasing size; Buchsbaum et al. 2003 give 2 + eps, this is close to it
// here).
//===----------------------------------------------------------------------===//

#include "Lower.h"

#include "../Core/Mutant.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

typedef struct Buffer {
  MlirOperation op;
  int64_t size, offset;
  int64_t first, last; // positions of top-level ops, inclusive
  size_t number;       // in program order
} Buffer;

typedef struct Plan {
  ShardLowering *lowering;
  ShardPointerMap *functionSizes; // callee op -> bytes
  // Of the function at hand:
  MlirBlock body;
  ShardPointerMap *positions; // top-level op -> position
  Buffer *buffers;
  size_t nBuffers, capacity;
} Plan;

static bool mayAlias(MlirType type, MlirType pointer) {
  return mlirTypeIsAMemRef(type) || mlirTypeEqual(type, pointer);
}

/// Position of the top-level op around `op`.
static int64_t positionOf(const Plan *plan, MlirOperation op) {
  while (!mlirBlockEqual(mlirOperationGetBlock(op), plan->body))
    op = mlirOperationGetParentOperation(op);
  return shardPointerMapGetOr(plan->positions, op.ptr, -1);
}

typedef struct ValueQueue {
  ShardArena *arena;
  ShardPointerMap *seen;
  MlirValue *values;
  size_t nValues, capacity;
} ValueQueue;

static void enqueue(ValueQueue *queue, MlirValue value) {
  int64_t ignored;
  if (shardPointerMapGet(queue->seen, value.ptr, &ignored))
    return;
  shardPointerMapSet(queue->seen, value.ptr, 1);
  queue->values = shardArenaGrow(queue->arena, queue->values, queue->nValues, &queue->capacity,
                                 queue->nValues + 1, sizeof(MlirValue));
  queue->values[queue->nValues++] = value;
}

static void enqueueResults(ValueQueue *queue, MlirOperation op, MlirType pointer) {
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i) {
    MlirValue result = mlirOperationGetResult(op, i);
    if (mayAlias(mlirValueGetType(result), pointer))
      enqueue(queue, result);
  }
}

static void enqueueArguments(ValueQueue *queue, MlirOperation op, MlirType pointer) {
  for (intptr_t r = 0; r < mlirOperationGetNumRegions(op); ++r)
    for (MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, r));
         !mlirBlockIsNull(block); block = mlirBlockGetNextInRegion(block))
      for (intptr_t i = 0; i < mlirBlockGetNumArguments(block); ++i) {
        MlirValue argument = mlirBlockGetArgument(block, i);
        if (mayAlias(mlirValueGetType(argument), pointer))
          enqueue(queue, argument);
      }
}

/// Widens the buffer's life by every use of `root` and of what may alias it.
static void followUses(Plan *plan, Buffer *buffer, MlirValue root) {
  MlirType pointer = plan->lowering->pointer;
  ValueQueue queue = {.arena = plan->lowering->arena,
                      .seen = shardPointerMapCreate(plan->lowering->arena, 16)};
  enqueue(&queue, root);
  for (size_t i = 0; i < queue.nValues; ++i)
    for (MlirOpOperand use = mlirValueGetFirstUse(queue.values[i]); !mlirOpOperandIsNull(use);
         use = mlirOpOperandGetNextUse(use)) {
      MlirOperation user = mlirOpOperandGetOwner(use);
      bool isView = mlirOperationGetNumResults(user) == 1 &&
                    mlirOperationGetNumRegions(user) == 0 &&
                    mayAlias(mlirValueGetType(mlirOperationGetResult(user, 0)), pointer);
      int64_t position = positionOf(plan, user);
      if (position > buffer->last)
        buffer->last = position;
      if (position < buffer->first && !isView) // a view touches no memory
        buffer->first = position;
      enqueueResults(&queue, user, pointer);
      enqueueArguments(&queue, user, pointer);
      if (mlirOperationGetNumResults(user) == 0 && !shardOpIs(user, "func.return")) {
        // A terminator hands the value to its parent and to the parent's next step.
        MlirOperation parent = mlirOperationGetParentOperation(user);
        if (!shardOpIs(parent, "func.func") &&
            (shardOpIs(user, "scf.yield") || shardOpIs(user, "scf.condition"))) {
          enqueueResults(&queue, parent, pointer);
          enqueueArguments(&queue, parent, pointer);
        }
      }
    }
}

static int64_t alignUp(int64_t size) { return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

static Buffer *addBuffer(Plan *plan, MlirOperation op, int64_t size) {
  plan->buffers = shardArenaGrow(plan->lowering->arena, plan->buffers, plan->nBuffers,
                                 &plan->capacity, plan->nBuffers + 1, sizeof(Buffer));
  int64_t position = positionOf(plan, op);
  Buffer *buffer = &plan->buffers[plan->nBuffers];
  *buffer = (Buffer){.op = op,
                     .size = alignUp(size),
                     .first = position,
                     .last = position,
                     .number = plan->nBuffers};
  ++plan->nBuffers;
  return buffer;
}

static MlirLogicalResult collectBuffer(void *user, MlirOperation op) {
  Plan *plan = user;
  int64_t size;
  if (shardOpIs(op, "linalg.generic") &&
      !mlirAttributeIsNull(shardOpGetAttribute(op, "spmd.contraction"))) {
    size = shardContractionScratchBytes(plan->lowering, op);
    if (size < 0)
      return mlirLogicalResultFailure();
    addBuffer(plan, op, size);
  } else if (!mlirAttributeIsNull(shardOpGetAttribute(op, "spmd.workspace")) &&
             shardOpIs(op, "func.call")) {
    MlirOperation callee = shardModuleLookup(
        plan->lowering->module, mlirFlatSymbolRefAttrGetValue(shardOpGetAttribute(op, "callee")));
    if (!shardPointerMapGet(plan->functionSizes, callee.ptr, &size))
      return shardEmitError(op, "a recursive call has no lowering");
    addBuffer(plan, op, size);
  } else if (shardOpIs(op, "memref.alloc")) {
    MlirValue result = mlirOperationGetResult(op, 0);
    MlirType type = mlirValueGetType(result);
    int64_t bytes = shardTypeElementBytes(mlirShapedTypeGetElementType(type));
    int64_t count = 1;
    for (intptr_t i = 0; i < mlirShapedTypeGetRank(type); ++i) {
      if (mlirShapedTypeIsDynamicDim(type, i))
        return shardEmitError(op, "a buffer of dynamic size has no lowering");
      count *= mlirShapedTypeGetDimSize(type, i);
    }
    if (bytes <= 0)
      return shardEmitError(op, "a buffer of this element type has no lowering");
    Buffer *buffer = addBuffer(plan, op, count * bytes);
    // An alloc in a loop is hoisted: it lives through the whole top-level op. Else from its first
    // use.
    if (mlirBlockEqual(mlirOperationGetBlock(op), plan->body))
      buffer->first = INT64_MAX;
    followUses(plan, buffer, result);
    if (buffer->first > buffer->last)
      buffer->first = buffer->last;
  }
  return mlirLogicalResultSuccess();
}

static int compareSize(const void *a, const void *b) {
  const Buffer *left = a, *right = b;
  if (left->size != right->size)
    return left->size < right->size ? 1 : -1;
  return (left->number > right->number) - (left->number < right->number);
}

static int compareOffset(const void *a, const void *b) {
  const Buffer *left = *(Buffer *const *)a, *right = *(Buffer *const *)b;
  return (left->offset > right->offset) - (left->offset < right->offset);
}

/// Places the buffers; returns the bytes needed.
static int64_t place(Plan *plan) {
  if (!plan->nBuffers)
    return 0;
  qsort(plan->buffers, plan->nBuffers, sizeof(Buffer), compareSize);
  Buffer **overlapping = SHARD_ARENA_ARRAY(plan->lowering->arena, Buffer *, plan->nBuffers);
  int64_t total = 0;
  for (size_t i = 0; i < plan->nBuffers; ++i) {
    Buffer *buffer = &plan->buffers[i];
    size_t n = 0;
    for (size_t k = 0; k < i; ++k)
      if (SHARD_MUTANT("waste-no-reuse") ||
          (plan->buffers[k].first <= buffer->last && buffer->first <= plan->buffers[k].last))
        overlapping[n++] = &plan->buffers[k];
    if (n)
      qsort(overlapping, n, sizeof(*overlapping), compareOffset);
    int64_t offset = 0;
    for (size_t k = 0; k < n; ++k) {
      if (overlapping[k]->offset - offset >= buffer->size)
        break;
      int64_t end = overlapping[k]->offset + overlapping[k]->size;
      if (end > offset)
        offset = end;
    }
    buffer->offset = offset;
    if (offset + buffer->size > total)
      total = offset + buffer->size;
  }
  return total;
}

static MlirLogicalResult planFunction(Plan *plan, MlirOperation func);

/// Plans the callees first.
static MlirLogicalResult visitCallee(void *user, MlirOperation op) {
  Plan *plan = user;
  if (mlirAttributeIsNull(shardOpGetAttribute(op, "spmd.workspace")))
    return mlirLogicalResultSuccess();
  MlirOperation callee = shardModuleLookup(
      plan->lowering->module, mlirFlatSymbolRefAttrGetValue(shardOpGetAttribute(op, "callee")));
  if (mlirOperationIsNull(callee) || mlirBlockIsNull(shardFuncGetBody(callee)))
    return shardEmitError(op, "the called function has no body");
  return planFunction(plan, callee);
}

static MlirLogicalResult planFunction(Plan *plan, MlirOperation func) {
  int64_t ignored;
  ShardLowering *lowering = plan->lowering;
  if (shardPointerMapGet(plan->functionSizes, func.ptr, &ignored) ||
      !mlirAttributeIsNull(shardOpGetAttribute(func, "spmd.planning")))
    return mlirLogicalResultSuccess();
  shardOpSetAttribute(func, "spmd.planning", shardAttrUnit(lowering->context));
  if (mlirLogicalResultIsFailure(shardWalk(func, "func.call", visitCallee, plan)))
    return mlirLogicalResultFailure();
  plan->body = shardFuncGetBody(func);
  plan->positions = shardPointerMapCreate(lowering->arena, 256);
  plan->buffers = NULL;
  plan->nBuffers = plan->capacity = 0;
  int64_t position = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(plan->body); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op))
    shardPointerMapSet(plan->positions, op.ptr, position++);
  for (MlirOperation op = mlirBlockGetFirstOperation(plan->body); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op))
    if (mlirLogicalResultIsFailure(shardWalk(op, NULL, collectBuffer, plan)))
      return mlirLogicalResultFailure();
  int64_t total = place(plan);
  for (size_t i = 0; i < plan->nBuffers; ++i)
    shardOpSetAttribute(plan->buffers[i].op, "spmd.offset",
                        shardAttrI64(lowering->context, plan->buffers[i].offset));
  shardOpSetAttribute(func, "spmd.workspace", shardAttrI64(lowering->context, total));
  shardOpRemoveAttribute(func, "spmd.planning");
  shardPointerMapSet(plan->functionSizes, func.ptr, total);
  return mlirLogicalResultSuccess();
}

MlirLogicalResult shardPlanWorkspace(ShardLowering *lowering) {
  Plan plan = {.lowering = lowering, .functionSizes = shardPointerMapCreate(lowering->arena, 64)};
  MlirBlock top = shardOpBody(lowering->module);
  for (MlirOperation op = mlirBlockGetFirstOperation(top); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op))
    if (shardOpIs(op, "func.func") && !mlirBlockIsNull(shardFuncGetBody(op)) &&
        mlirLogicalResultIsFailure(planFunction(&plan, op)))
      return mlirLogicalResultFailure();
  return mlirLogicalResultSuccess();
}
