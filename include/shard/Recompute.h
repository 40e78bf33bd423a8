//===- shard/Recompute.h - What of a chain to keep ----------------*- C -*-===//
// The segments between checkpoints of a chain of ops whose inner values are computed again for the
// backward pass. Plain C, no MLIR.
//===----------------------------------------------------------------------===//
#ifndef SHARD_RECOMPUTE_H
#define SHARD_RECOMPUTE_H

#include "shard/Support.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// An op of a chain; each reads what the one before made.
typedef struct ShardChainOp {
  double seconds; // forward
  double bytes;   // of what it makes and the backward pass reads
} ShardChainOp;

/// A chain cut into segments. The last value of each is kept; the others of a segment are computed
/// again, one segment at a time, before its backward pass.
typedef struct ShardSegments {
  intptr_t nSegments;
  double cost;          // what was made least
  double keptBytes;     // last values of all segments
  double innerBytes;    // of the other values of one segment, the most
  double savedBytes;    // all values, less keptBytes
  double repeatSeconds; // of what is computed again
} ShardSegments;

/// The textbook's recurrence: dp[i] = min over j < i of dp[j] + Memory(j+1, i) + Recompute(j+1, i),
/// where a segment's memory is its last value's bytes times `secondsPerByte` (bytes and seconds do
/// not add; Everett 1963), and its recomputation the seconds of its other ops. O(n^2).
///   maxInnerBytes  Segments with more in them are left out; infinity: none. A single op always
///                  can be one.
///   keep           [n] whether the value of an op is kept; the last is. Of cuts of equal cost the
///                  one with the longest last segment, then the longest before it, and so on.
/// n is at least 1; numbers are not negative. Cannot fail. Thread-safe.
SHARD_EXPORTED void shardSegmentChain(intptr_t n, const ShardChainOp *ops, double secondsPerByte,
                                      double maxInnerBytes, bool *keep, ShardSegments *out);

/// The least recomputation that the recurrence finds with keptBytes + innerBytes <= limitBytes:
/// over lengths of segments, and prices of a byte by bisection. What no price yields is not found
/// (the lower convex hull is), so that more may be recomputed than would have to be.
/// False: no cut is so small; then `out` is the smallest that was found. Nothing else fails.
/// Thread-safe.
SHARD_EXPORTED bool shardSegmentChainWithin(intptr_t n, const ShardChainOp *ops, double limitBytes,
                                            bool *keep, ShardSegments *out);

/// The textbook's density of checkpoints, sqrt(T_compute / (M_activation BW_storage)): a place to
/// start from, which the recurrence does not need. Thread-safe.
SHARD_EXPORTED double shardTextbookCheckpointDensity(double computeSeconds, double activationBytes,
                                                     double bytesPerSecond);

#ifdef __cplusplus
}
#endif
#endif // SHARD_RECOMPUTE_H
