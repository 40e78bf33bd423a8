//===- Sweep.h - Is a placement right? ----------------------------*- C -*-===//
#ifndef SHARD_TEST_PLACEMENT_SWEEP_H
#define SHARD_TEST_PLACEMENT_SWEEP_H

#include "shard/Placement.h"

typedef struct SweepResult {
  int64_t height, maxLive;
  int64_t first, second; // the buffers at fault
  const char *fault;     // NULL: the placement is right
} SweepResult;

/// Goes through time with the live buffers by offset, apart from anything that the solver does.
SweepResult sweepPlacement(int64_t nBuffers, const ShardPlacementBuffer *buffers,
                           const int64_t *offsets);

#endif // SHARD_TEST_PLACEMENT_SWEEP_H
