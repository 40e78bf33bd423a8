//===- Liveness.h - Live bytes of a block -------------------------*- C -*-===//
#ifndef SHARD_ANALYSIS_LIVENESS_H
#define SHARD_ANALYSIS_LIVENESS_H

#include "../Core/IR.h"

/// What lives while each op of a block runs, arguments and results of its function apart.
typedef struct ShardLiveBytes {
  int64_t *opBytes; // of each op, in order
  int64_t peakBytes;
  MlirOperation peakOp; // the first that has it; null: nothing lives
} ShardLiveBytes;

/// Of values of the text, not of buffers that are placed: an estimate where there is no memory
/// plan. `innerPeak`: the peak of what an op calls or contains, where that is above 0. In `arena`.
ShardLiveBytes shardBlockLiveBytes(MlirBlock block, const ShardPointerMap *innerPeak,
                                   ShardArena *arena);

#endif // SHARD_ANALYSIS_LIVENESS_H
