//===- Workspace.h - The buffers of a function's workspace --------*- C -*-===//
#ifndef SHARD_LOWER_WORKSPACE_H
#define SHARD_LOWER_WORKSPACE_H

#include "Lower.h"

#include "shard/MemoryPlan.h"

typedef struct ShardWorkspace ShardWorkspace;

/// Memory that an op needs: memref.alloc for as long as its value is used, a call and a contraction
/// while they run.
typedef struct ShardWorkspaceBuffer {
  MlirOperation op;             // memref.alloc, func.call or a contraction
  MlirOperation writer;         // what touches it first
  const ShardWorkspace *callee; // of a call; null
  ShardMemoryClass class_;      // but of a call's
  int64_t bytes, alignment, offset;
  int64_t first, last; // positions, both included; first > last: never touched
  bool carried;        // from one step of a loop to the next
  int64_t with;        // the buffer of the other branch that has the same place; -1: none
} ShardWorkspaceBuffer;

/// The workspace of a function. Ops have positions in program order, those of loops and branches
/// too; what lies in any other op is part of it.
struct ShardWorkspace {
  MlirOperation func;
  int64_t nPositions;
  const MlirOperation *ops; // [nPositions]
  size_t nBuffers, capacity;
  ShardWorkspaceBuffer *buffers; // in program order
  int64_t bytes, alignment;
  int64_t boundBytes;              // no placement of the buffers is lower
  int64_t liveBytes, livePosition; // the largest sum of live bytes, through calls, and where
};

/// Lifetimes.c: the buffers of `func` with sizes, lifetimes and classes. `workspaces`: callee op ->
/// its ShardWorkspace.
MlirLogicalResult shardWorkspaceCollect(ShardLowering *lowering, const ShardPointerMap *workspaces,
                                        ShardWorkspace *out);

#endif // SHARD_LOWER_WORKSPACE_H
