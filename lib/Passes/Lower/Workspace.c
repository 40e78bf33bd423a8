//===- Workspace.c - Every buffer an offset in the caller's memory -*- C -*-===//
// Writes: `spmd.offset` and `spmd.bytes` on what has buffers (Lifetimes.c), `spmd.class`, and
// `spmd.workspace = bytes` on functions.
// Functions are planned callees first: a call is a buffer of its caller, as large as its callee's
// workspace, that lives while it runs. Offsets come from the placement solver (shard/Placement.h);
// the workspace ends with the last byte of the highest buffer.
//===----------------------------------------------------------------------===//

#include "Workspace.h"

#include "../Core/Mutant.h"

#include "shard/Placement.h"

#include <inttypes.h>

/// Of the exact search, for one function; fits alone are nearly always as low as can be.
enum { SEARCH_EFFORT = 50000 };

typedef struct Plan {
  ShardLowering *lowering;
  ShardPointerMap *workspaces; // function -> its ShardWorkspace
  ShardPointerMap *open;       // functions that are being planned
} Plan;

/// The largest sum of bytes live at once; of a call what its callee has live.
static void sumLive(ShardLowering *lowering, ShardWorkspace *workspace) {
  int64_t n = workspace->nPositions;
  int64_t *change = SHARD_ARENA_ARRAY(lowering->arena, int64_t, workspace->times[n] + 1), sum = 0;
  for (size_t i = 0; i < workspace->nBuffers; ++i) {
    const ShardWorkspaceBuffer *buffer = &workspace->buffers[i];
    if (buffer->first > buffer->last || buffer->with >= 0)
      continue;
    int64_t bytes = buffer->callee ? buffer->callee->liveBytes : buffer->bytes;
    change[buffer->begin] += bytes;
    change[buffer->end] -= bytes;
    for (int64_t k = 0; k < buffer->nGaps; ++k) {
      change[buffer->gaps[k].lower] -= bytes;
      change[buffer->gaps[k].upper] += bytes;
    }
  }
  for (int64_t p = 0; p < n; ++p)
    for (int64_t time = workspace->times[p]; time < workspace->times[p + 1]; ++time) {
      sum += change[time];
      if (sum > workspace->liveBytes) {
        workspace->liveBytes = sum;
        workspace->liveTime = time;
        workspace->livePosition = p;
      }
    }
}

/// Offsets of the buffers and the bytes that hold all.
static MlirLogicalResult place(ShardLowering *lowering, ShardWorkspace *workspace) {
  int64_t n = (int64_t)workspace->nBuffers;
  ShardPlacementBuffer *buffers = SHARD_ARENA_ARRAY(lowering->arena, ShardPlacementBuffer, n + 1);
  int64_t *offsets = SHARD_ARENA_ARRAY(lowering->arena, int64_t, n + 1);
  workspace->alignment = 1;
  for (int64_t i = 0; i < n; ++i) {
    const ShardWorkspaceBuffer *buffer = &workspace->buffers[i];
    bool used = buffer->first <= buffer->last;
    bool always = SHARD_MUTANT("waste-no-reuse");
    buffers[i] = (ShardPlacementBuffer){.lower = used && !always ? buffer->begin : 0,
                                        .upper = always ? workspace->times[workspace->nPositions]
                                                 : used ? buffer->end
                                                        : 1,
                                        .sizeBytes = used && buffer->with < 0 ? buffer->bytes : 0,
                                        .alignment = buffer->alignment,
                                        .nGaps = always ? 0 : buffer->nGaps,
                                        .gaps = buffer->gaps};
    if (buffer->alignment > workspace->alignment)
      workspace->alignment = buffer->alignment;
  }
  ShardPlacementOptions options = {.maxEffort = -1};
  ShardPlacementResult result;
  if (!shardPlacementSolve(n, buffers, &options, offsets, &result, NULL, NULL))
    return shardEmitError(workspace->func, "the buffers of this function are too large to count");
  options.maxEffort = SEARCH_EFFORT;
  if (result.heightBytes > result.boundBytes)
    shardPlacementSolve(n, buffers, &options, offsets, &result, NULL, NULL);
  workspace->bytes = result.heightBytes;
  workspace->boundBytes = result.boundBytes;
  for (int64_t i = 0; i < n; ++i) {
    ShardWorkspaceBuffer *buffer = &workspace->buffers[i];
    buffer->offset = offsets[buffer->with < 0 ? i : buffer->with];
  }
  return mlirLogicalResultSuccess();
}

/// Emit.c gives arguments `noalias`, but for these.
static void writeShared(ShardLowering *lowering, const ShardWorkspace *workspace) {
  const char *list = "";
  for (intptr_t i = 0; i < workspace->nArguments; ++i)
    if (workspace->arguments[i].shared)
      list = shardArenaFormat(lowering->arena, "%s%s%" PRIdPTR, list, *list ? "," : "", i);
  if (!*list)
    return;
  MlirAttribute pair[] = {shardAttrString(lowering->context, SHARD_SHARED_ARGUMENTS),
                          shardAttrString(lowering->context, list)};
  MlirAttribute entry = mlirArrayAttrGet(lowering->context, 2, pair);
  shardOpSetAttribute(workspace->func, "passthrough",
                      mlirArrayAttrGet(lowering->context, 1, &entry));
}

static void writeAttributes(ShardLowering *lowering, const ShardWorkspace *workspace) {
  MlirContext context = lowering->context;
  for (size_t i = 0; i < workspace->nBuffers; ++i) {
    const ShardWorkspaceBuffer *buffer = &workspace->buffers[i];
    shardOpSetAttribute(buffer->op, "spmd.offset", shardAttrI64(context, buffer->offset));
    shardOpSetAttribute(buffer->op, "spmd.bytes", shardAttrI64(context, buffer->bytes));
    if (!buffer->callee)
      shardOpSetAttribute(buffer->op, "spmd.class",
                          shardAttrString(context, shardMemoryClassName(buffer->class_)));
  }
  shardOpSetAttribute(workspace->func, "spmd.workspace",
                      shardAttrI64(lowering->context, workspace->bytes));
}

static MlirLogicalResult planFunction(Plan *plan, MlirOperation func);

/// Plans the callees first.
static MlirLogicalResult visitCallee(void *user, MlirOperation op) {
  Plan *plan = user;
  if (mlirAttributeIsNull(shardOpGetAttribute(op, "spmd.workspace")))
    return mlirLogicalResultSuccess();
  MlirOperation callee = shardModuleCallee(plan->lowering->module, op);
  if (mlirOperationIsNull(callee) || mlirBlockIsNull(shardFuncGetBody(callee)))
    return shardEmitError(op, "the called function has no body");
  return planFunction(plan, callee);
}

static MlirLogicalResult planFunction(Plan *plan, MlirOperation func) {
  ShardLowering *lowering = plan->lowering;
  if (shardPointerMapGetOr(plan->workspaces, func.ptr, 0) ||
      shardPointerMapGetOr(plan->open, func.ptr, 0))
    return mlirLogicalResultSuccess();
  shardPointerMapSet(plan->open, func.ptr, 1);
  ShardWorkspace *workspace = SHARD_ARENA_NEW(lowering->arena, ShardWorkspace);
  workspace->func = func;
  if (mlirLogicalResultIsFailure(shardWalk(func, "func.call", visitCallee, plan)) ||
      mlirLogicalResultIsFailure(shardWorkspaceCollect(lowering, plan->workspaces, workspace)) ||
      mlirLogicalResultIsFailure(place(lowering, workspace)))
    return mlirLogicalResultFailure();
  sumLive(lowering, workspace);
  writeAttributes(lowering, workspace);
  shardHandOverMark(lowering, workspace);
  shardPointerMapSet(plan->workspaces, func.ptr, (int64_t)(intptr_t)workspace);
  return mlirLogicalResultSuccess();
}

MlirLogicalResult shardPlanWorkspace(ShardLowering *lowering) {
  Plan plan = {.lowering = lowering,
               .workspaces = shardPointerMapCreate(lowering->arena, 64),
               .open = shardPointerMapCreate(lowering->arena, 64)};
  MlirBlock top = shardOpBody(lowering->module);
  for (MlirOperation op = mlirBlockGetFirstOperation(top); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op))
    if (shardOpIs(op, "func.func") && !mlirBlockIsNull(shardFuncGetBody(op)) &&
        mlirLogicalResultIsFailure(planFunction(&plan, op)))
      return mlirLogicalResultFailure();
  for (MlirOperation op = mlirBlockGetFirstOperation(top); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op)) {
    int64_t found = shardPointerMapGetOr(plan.workspaces, op.ptr, 0);
    if (found)
      writeShared(lowering, (const ShardWorkspace *)(intptr_t)found);
  }
  lowering->workspaces = plan.workspaces;
  return mlirLogicalResultSuccess();
}
