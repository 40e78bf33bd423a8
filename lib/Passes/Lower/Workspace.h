//===- Workspace.h - The buffers of a function's workspace --------*- C -*-===//
#ifndef SHARD_LOWER_WORKSPACE_H
#define SHARD_LOWER_WORKSPACE_H

#include "Lower.h"

#include "shard/MemoryPlan.h"
#include "shard/Placement.h"

typedef struct ShardWorkspace ShardWorkspace;

/// A buffer is operand `operand` of the call at `position`.
typedef struct ShardCallUse {
  int64_t position;
  intptr_t operand;
} ShardCallUse;

/// Memory that an op needs: memref.alloc for as long as its value is used, a call and a contraction
/// while they run.
typedef struct ShardWorkspaceBuffer {
  MlirOperation op;             // memref.alloc, func.call or a contraction
  MlirOperation writer;         // what touches it first
  const ShardWorkspace *callee; // of a call; null
  ShardMemoryClass class_;      // but of a call's
  int64_t bytes, alignment, offset;
  int64_t first, last; // positions, both included; first > last: never touched
  int64_t begin, end;  // in times of the function: [begin, end) but for gaps
  int64_t nGaps;
  const ShardPlacementGap *gaps; // [nGaps] when it is not live
  size_t nCalls;
  const ShardCallUse *calls; // [nCalls]
  bool carried;              // from one step of a loop to the next
  int64_t with;              // the buffer of the other branch that has the same place; -1: none
  bool joined;               // with another one
} ShardWorkspaceBuffer;

/// An argument of a function: the first and the last position that touches it, first > last: none.
typedef struct ShardArgumentUse {
  int64_t first, last;
  bool shared; // a call hands it bytes that another argument has too, at another time
} ShardArgumentUse;

/// The workspace of a function. Ops have positions in program order, those of loops and branches
/// too; what lies in any other op is part of it.
struct ShardWorkspace {
  MlirOperation func;
  int64_t nPositions;
  const MlirOperation *ops; // [nPositions]
  size_t nBuffers, capacity;
  ShardWorkspaceBuffer *buffers; // in program order
  int64_t bytes, alignment;
  int64_t boundBytes;             // no placement of the buffers is lower
  int64_t liveBytes;              // the largest sum of live bytes, through calls
  int64_t liveTime, livePosition; // and when
  int64_t *times; // [nPositions + 1] when each op begins: a call has as many as it needs
  intptr_t nArguments;
  ShardArgumentUse *arguments; // [nArguments]; none of a public function
};

static inline bool shardWorkspaceBufferIsLive(const ShardWorkspaceBuffer *buffer, int64_t time) {
  for (int64_t k = 0; k < buffer->nGaps; ++k)
    if (buffer->gaps[k].lower <= time && time < buffer->gaps[k].upper)
      return false;
  return buffer->begin <= time && time < buffer->end;
}

/// Lifetimes.c: the buffers of `func` with sizes, lifetimes and classes. `workspaces`: callee op ->
/// its ShardWorkspace.
MlirLogicalResult shardWorkspaceCollect(ShardLowering *lowering, const ShardPointerMap *workspaces,
                                        ShardWorkspace *out);

/// HandedOver.c: from positions to times: sets `times`, and of each buffer begin, end and gaps.
void shardHandOver(ShardLowering *lowering, ShardWorkspace *workspace);
/// Marks arguments of callees whose bytes overlap, by the offsets.
void shardHandOverMark(ShardLowering *lowering, const ShardWorkspace *workspace);

/// The ops of a function by position.
typedef struct ShardOpTree {
  int64_t n;
  const MlirOperation *ops; // [n]
  const int64_t *parents;   // [n] the op around, -1: the function
  const int64_t *ends;      // [n] the last position inside, or its own
  const int64_t *blockEnds; // [n] the last position in the block that it is in
} ShardOpTree;

/// The position of an op that touches a buffer, of a loop if it does so in any of its steps.
typedef int64_t ShardTouch;

/// Whether a run passes only one of its regions.
static inline bool shardIsBranch(MlirOperation op) {
  return shardOpIs(op, "scf.if") || shardOpIs(op, "scf.index_switch");
}

/// LiveTimes.c: sets first, last and gaps (in positions) of a buffer that is not carried by loops
/// from the ops that touch it, which are sorted. Touches of an op that are in a loop are of the
/// loop if the buffer was there before it.
void shardLiveTimesFind(ShardArena *arena, const ShardOpTree *tree, size_t nTouches,
                        ShardTouch *touches, ShardWorkspaceBuffer *out);

#endif // SHARD_LOWER_WORKSPACE_H
