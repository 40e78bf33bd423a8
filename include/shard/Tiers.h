//===- shard/Tiers.h - Memory below the devices' ------------------*- C -*-===//
// Which tensor lies in which tier of a cluster, how much of a tier's bandwidth each device has, and
// how long ahead of its use a tensor has to be fetched. Plain C, no MLIR. Numbers are of devices of
// the cluster's first kind and node; how the textbook's forms differ:
// python-free-docs/design/cost.md.
//===----------------------------------------------------------------------===//
#ifndef SHARD_TIERS_H
#define SHARD_TIERS_H

#include "shard/Cluster.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A tensor as all devices hold it together.
typedef struct ShardTieredTensor {
  double bytes;
  double usesPerSecond; // of the whole; only their order counts
} ShardTieredTensor;

/// Where tensors lie: what is used most often in device memory, then in each tier. The textbook
/// compares uses with limits theta_high and theta_mid that it has to be given; here they follow
/// from what fits: `leastUses`.
typedef struct ShardTierPlan {
  double bytes[4];     // in device memory, then in each of cluster->tiers
  double leastUses[4]; // of a tensor that lies there; infinity: none does
  double missingBytes; // of tensors that fit nowhere
} ShardTierPlan;
/// Tensors go whole, the most often used first (equal ones in order), to the uppermost memory that
/// has room left for them.
///   withReserve  The cluster's part of device memory stays free.
///   tiers        [nTensors] 0: device memory, i + 1: cluster->tiers[i], -1: nowhere. Null is fine.
/// Cannot fail. Thread-safe.
SHARD_EXPORTED void shardTierTensors(const ShardCluster *cluster, intptr_t nTensors,
                                     const ShardTieredTensor *tensors, bool withReserve,
                                     int32_t *tiers, ShardTierPlan *out);

/// What each of several streams has of a bandwidth that they share by weight times priority: the
/// textbook's BW w_i p_i / sum w_j p_j, but what a stream cannot take the others get (max-min
/// fairness; Bertsekas and Gallager, Data Networks, 6.5.2).
///   weights, priorities  [n], positive; null: all 1.
///   limits               [n] what each can take at most; null: no limits.
///   shares               [n], bytes a second.
/// Cannot fail. Thread-safe.
SHARD_EXPORTED void shardBandwidthShares(double bytesPerSecond, intptr_t n, const double *weights,
                                         const double *priorities, const double *limits,
                                         double *shares);

/// A tensor on its way to the memory above, while every device fetches its own.
typedef struct ShardPrefetch {
  double bytesPerSecond; // of one device: its share of the tier, no more than its own link takes
  double seconds;        // latency and transfer
  double leadSeconds;    // the start is so long before the use: seconds and slack
  int64_t layersAhead;   // the start is so many layers before its own, or more of them than count
} ShardPrefetch;
/// From tier `tier` of the cluster (0 is fetched into device memory, others into the tier above).
///   bytes         Of one device.
///   layerSeconds  That a layer computes, positive.
///   slackSeconds  The textbook's epsilon.
/// False: no such tier. Thread-safe.
SHARD_EXPORTED bool shardPrefetch(const ShardCluster *cluster, int32_t tier, double bytes,
                                  double layerSeconds, double slackSeconds, ShardPrefetch *out);

#ifdef __cplusplus
}
#endif
#endif // SHARD_TIERS_H
