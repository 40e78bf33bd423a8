//===- shard/Placement.h - Offsets for buffers of known lifetimes -*- C -*-===//
// Plain C, no MLIR. Buffers whose lifetimes overlap get disjoint bytes. The height, the number of
// bytes that hold all, is made as small as the limits allow; a bound tells how small it can be.
//===----------------------------------------------------------------------===//
#ifndef SHARD_PLACEMENT_H
#define SHARD_PLACEMENT_H

#include "shard/Support.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Not live on [lower, upper).
typedef struct ShardPlacementGap {
  int64_t lower, upper;
} ShardPlacementGap;

/// Live on [lower, upper) but for its gaps, in any unit of time. Two buffers conflict if both are
/// live at one time.
typedef struct ShardPlacementBuffer {
  int64_t lower, upper; // lower < upper
  int64_t sizeBytes;    // 0 or more; a buffer without bytes lies at 0 and conflicts with none
  int64_t alignment;    // the offset is a multiple of it; 0 and 1: any offset
  int64_t nGaps;
  const ShardPlacementGap *gaps; // [nGaps], in order, apart, within the lifetime; borrowed
} ShardPlacementBuffer;

#define SHARD_PLACEMENT_DEFAULT_EFFORT INT64_C(1000000)

/// Zero initialised means the defaults.
typedef struct ShardPlacementOptions {
  int64_t capacityBytes; // the height allowed; 0: any
  bool stopAtCapacity;   // any placement within the capacity will do; else the lowest is sought
  int64_t maxEffort;   // of the exact search, in about microseconds, but counted in steps, so that
                       // results do not vary; 0: SHARD_PLACEMENT_DEFAULT_EFFORT, negative: none
  int64_t timeLimitMs; // ends all but the first fit early, and results may vary; 0: never
} ShardPlacementOptions;

typedef enum ShardPlacementVerdict {
  SHARD_PLACEMENT_OPTIMAL = 0,    // within the capacity, and no placement is lower
  SHARD_PLACEMENT_FEASIBLE = 1,   // within the capacity; a lower one is not excluded
  SHARD_PLACEMENT_INFEASIBLE = 2, // proved: there is none within the capacity
  SHARD_PLACEMENT_UNKNOWN = 3     // none within the capacity was found, and none excluded
} ShardPlacementVerdict;

typedef struct ShardPlacementResult {
  ShardPlacementVerdict verdict;
  int64_t heightBytes;  // of the placement, whether or not it is within the capacity
  int64_t boundBytes;   // proved: no placement is lower
  int64_t maxLiveBytes; // the largest sum of sizes live at one time
  int64_t nNodes;       // of the exact search: how often it placed a buffer
} ShardPlacementResult;

/// Places buffers. Equal input gives equal output, if no time limit strikes; permuting the buffers,
/// turning time around or multiplying sizes, alignments and capacity by a number changes neither
/// verdict nor nodes, and height and bound by that number only.
///   buffers     [nBuffers]. Borrowed until return.
///   options     NULL: the defaults.
///   outOffsets  [nBuffers], bytes: a placement of height heightBytes.
///   outMessage  What is wrong, a constant text; may be NULL.
///   outWhich    Index of the buffer that is wrong, -1 if it is none; may be NULL.
/// False: a lifetime is empty, gaps are not as said above, a number is negative, or sizes and
/// alignments add up to more than INT64_MAX / 4; nothing else is written. Running out of memory
/// ends the process. Thread-safe.
SHARD_EXPORTED bool shardPlacementSolve(int64_t nBuffers, const ShardPlacementBuffer *buffers,
                                        const ShardPlacementOptions *options, int64_t *outOffsets,
                                        ShardPlacementResult *outResult, const char **outMessage,
                                        int64_t *outWhich);

#ifdef __cplusplus
}
#endif
#endif // SHARD_PLACEMENT_H
