//===- shard/Cost.h - How long an op and a collective take --------*- C -*-===//
// Plain C, no MLIR. Models and their sources: python-free-docs/design/cost.md.
//===----------------------------------------------------------------------===//
#ifndef SHARD_COST_H
#define SHARD_COST_H

#include "shard/Cluster.h"

#ifdef __cplusplus
extern "C" {
#endif

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// What an op does on one device, counted on its local shapes. An op that is two in one (a
/// contraction with what is fused to it) has both kinds of work.
typedef struct ShardOpWork {
  ShardRateType type;                  // that it computes in
  double flops;                        // of contractions, two a multiply-add
  double vectorFlops;                  // of everything else: elements times operations each
  double bytes;                        // moved between the device and its memory
  double shape[3];                     // m, n, k of each product of a contraction; 0: unknown
  double functions[SHARD_N_FUNCTIONS]; // evaluations among the vectorFlops
} ShardOpWork;

typedef enum ShardOpBound {
  SHARD_BOUND_COMPUTE = 0,
  SHARD_BOUND_MEMORY = 1,
  SHARD_BOUND_LAUNCH = 2
} ShardOpBound;

typedef struct ShardOpCost {
  double seconds;        // the longer of compute and memory, after the launch
  double computeSeconds; // flops / (flopsPerSecond x efficiency) + the others / their rates
  double memorySeconds;  // bytes / (bytesPerSecond x memoryEfficiency)
  double launchSeconds;
  double flopsPerSecond, efficiency, bytesPerSecond, memoryEfficiency;
  ShardRateType type; // whose rate was taken: the work's, or the next wider that the kind has
  ShardOpBound bound; // what is longest; of equal ones the first
} ShardOpCost;

/// The roofline (Williams, Waterman and Patterson 2009) with the kind's own efficiency over sizes.
/// A type that the kind does not list is computed in a wider one that it does (bf16 in f32, f16 in
/// f32, f8 in f16, ...), vector work of a kind without vector rates at the rate of contractions.
/// False: the kind has no rate that can do it. Thread-safe.
SHARD_EXPORTED bool shardOpCost(const ShardCluster *cluster, const ShardDeviceKind *kind,
                                const ShardOpWork *work, ShardOpCost *out);
/// The same while `busyDevices` of a node, this one among them, do so. Thread-safe.
SHARD_EXPORTED bool shardOpCostBusy(const ShardCluster *cluster, const ShardDeviceKind *kind,
                                    const ShardOpWork *work, int64_t busyDevices, ShardOpCost *out);
/// The work of `batch` products [m, k] x [k, n], each operand read and each result written once.
SHARD_EXPORTED ShardOpWork shardContractionWork(int64_t batch, int64_t m, int64_t n, int64_t k,
                                                int64_t elementBytes, ShardRateType type);

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// Groups of ranks that run one collective at the same time, and so share links; their place in the
/// cluster in few numbers, however many they are. Thread-safe to read.
typedef struct ShardGroups ShardGroups;

/// Rank i of group g is on device `devices[g * nRanks + i]`; the array is read only here.
///   cluster  Borrowed until the groups are destroyed.
/// Null after a failure: then `*outError` is a message to be freed with free(): a device out of
/// range, or twice in a group. Thread-safe.
SHARD_EXPORTED ShardGroups *shardGroupsCreate(const ShardCluster *cluster, int64_t nGroups,
                                              int64_t nRanks, const int64_t *devices,
                                              char **outError);
/// The groups of a mesh along some of its axes.
///   sizes      [nAxes] of the mesh, major first; a rank's number is row-major.
///   axes       Bit i is set for axis i; a group's ranks are in the mesh's order.
///   placement  [product of sizes] the device of each rank; null: rank r is on device r.
/// Null after a failure, as of shardGroupsCreate, also for a mesh larger than the cluster; a null
/// `*outError` is no memory. On success `*outError` is not written. Thread-safe.
SHARD_EXPORTED ShardGroups *shardGroupsCreateForAxes(const ShardCluster *cluster, int32_t nAxes,
                                                     const int64_t *sizes, uint32_t axes,
                                                     const int64_t *placement, char **outError);
SHARD_EXPORTED void shardGroupsDestroy(ShardGroups *groups); // null is fine
SHARD_EXPORTED int64_t shardGroupsGetRankCount(const ShardGroups *groups);
/// Groups that lie alike, so that every collective takes them equally long, have one profile.
SHARD_EXPORTED int32_t shardGroupsGetProfileCount(const ShardGroups *groups);
/// The profile of a group, by its number at creation; -1: out of range. Thread-safe.
SHARD_EXPORTED int32_t shardGroupsGetProfile(const ShardGroups *groups, int64_t group);

/// NCCL's, by which its latencies differ; plain on links that have latencies of their own.
typedef enum ShardProtocol {
  SHARD_PROTOCOL_PLAIN = 0,
  SHARD_PROTOCOL_LL = 1,
  SHARD_PROTOCOL_LL128 = 2,
  SHARD_PROTOCOL_SIMPLE = 3
} ShardProtocol;
#define SHARD_N_PROTOCOLS 4
SHARD_EXPORTED const char *shardProtocolName(ShardProtocol protocol); // null: out of range

/// What a collective does on the links of one level.
typedef struct ShardCostTerm {
  ShardClusterLevel from, to;
  double steps;          // in a row
  double stepSeconds;    // latency of each
  double bytes;          // out of the busiest vertex of `from`
  double bytesPerSecond; // that this group has there, efficiency included
  double efficiency;     // of that rate: bytes / efficiency are on the link
} ShardCostTerm;

typedef struct ShardCollectiveCost {
  ShardAlgorithm algorithm;
  ShardProtocol protocol;
  double seconds;         // latency and transfer
  double latencySeconds;  // base and all steps
  double baseSeconds;     // before the first step
  double transferSeconds; // of the terms: the longest when `pipelined`, else their sum
  bool pipelined;
  int32_t nTerms; // from the devices up; none when measured
  ShardCostTerm terms[SHARD_CLUSTER_MAX_LINKS];
} ShardCollectiveCost;

/// The shortest of all ways that the cluster's library has; equal ones by the order of algorithms,
/// then protocols.
///   bytes  Of the message: what a rank holds before an all-reduce, reduce-scatter, all-to-all,
///          broadcast (of the root), reduce, permute (to the next rank of the group, the last to
///          the first) or send (to the next rank; the last sends nothing), after an all-gather.
///          Nothing, or one rank: no time at all.
/// Cannot fail. Thread-safe.
SHARD_EXPORTED void shardCollectiveCost(const ShardGroups *groups, ShardCollectiveKind kind,
                                        int64_t bytes, ShardCollectiveCost *out);
/// The same of the groups of one profile alone; `profile` must be in range.
SHARD_EXPORTED void shardCollectiveCostOf(const ShardGroups *groups, int32_t profile,
                                          ShardCollectiveKind kind, int64_t bytes,
                                          ShardCollectiveCost *out);
/// One way, whether the library is said to have it or not. False: there is none such for these
/// groups (an in-switch reduction without switches,
/// recursive halving of three ranks), or no such protocol on their links.
SHARD_EXPORTED bool shardCollectiveCostBy(const ShardGroups *groups, ShardCollectiveKind kind,
                                          ShardAlgorithm algorithm, ShardProtocol protocol,
                                          int64_t bytes, ShardCollectiveCost *out);

/// The textbook's forms of an all-reduce, with peak bandwidths, whole uplinks and no sharing: one
/// ring over all ranks on the slowest link, and rings level by level that carry the whole message.
/// For comparison only; the right form of the latter is SHARD_ALGORITHM_HIERARCHICAL. Thread-safe.
SHARD_EXPORTED double shardTextbookRingSeconds(const ShardGroups *groups, int64_t bytes);
SHARD_EXPORTED double shardTextbookHierarchicalSeconds(const ShardGroups *groups, int64_t bytes);
/// Bytes a second of the slowest link that a group crosses, peak, as the textbook has one number
/// for a link; infinity: one rank. Thread-safe.
SHARD_EXPORTED double shardTextbookBytesPerSecond(const ShardGroups *groups);

/// All ways with their terms, shortest first, and the textbook's. To be freed with free(). Null:
/// out of memory. Thread-safe.
SHARD_EXPORTED char *shardCollectiveExplain(const ShardGroups *groups, ShardCollectiveKind kind,
                                            int64_t bytes);

/// Messages at the same time, in any pattern: the latency of the farthest and the load of the
/// busiest link. Devices must be in range; a message to oneself is nothing. Thread-safe.
typedef struct ShardTransfer {
  int64_t from, to; // devices
  int64_t bytes;
} ShardTransfer;
SHARD_EXPORTED double shardTransfersSeconds(const ShardCluster *cluster, int64_t nTransfers,
                                            const ShardTransfer *transfers);

/// The textbook's cost of a placement: bytes times distance (1 in a node, 10 in a rack, 100
/// beyond), summed. It orders placements, and is no time: shardTransfersSeconds is. Devices must be
/// in range. Thread-safe.
SHARD_EXPORTED double shardTransfersDistance(const ShardCluster *cluster, int64_t nTransfers,
                                             const ShardTransfer *transfers);

/// Messages that leave at the same time, as they share links. Those that lie alike have one
/// profile. Thread-safe to read.
typedef struct ShardTraffic ShardTraffic;
/// Message i goes from device `from[i]` to `to[i]`, which must be in range; both are read only
/// here. All are equally long. `cluster` is borrowed until the traffic is destroyed. Cannot fail.
/// Thread-safe.
SHARD_EXPORTED ShardTraffic *shardTrafficCreate(const ShardCluster *cluster, int64_t nMessages,
                                                const int64_t *from, const int64_t *to);
SHARD_EXPORTED void shardTrafficDestroy(ShardTraffic *traffic); // null is fine
SHARD_EXPORTED int32_t shardTrafficGetProfileCount(const ShardTraffic *traffic);
/// The profile of a message, by its number at creation; -1: out of range. Thread-safe.
SHARD_EXPORTED int32_t shardTrafficGetProfile(const ShardTraffic *traffic, int64_t message);
/// Seconds until a message of `bytes` has arrived: the latency of its way, and its bytes on the
/// link of it that has most to carry for its rate. 0: it stays on its device, or is empty.
/// Thread-safe.
SHARD_EXPORTED double shardTrafficSeconds(const ShardTraffic *traffic, int32_t profile,
                                          int64_t bytes);
/// The same with its terms; no time at all for a profile out of range. Thread-safe.
SHARD_EXPORTED void shardTrafficCost(const ShardTraffic *traffic, int32_t profile, int64_t bytes,
                                     ShardCollectiveCost *out);

/// The uplinks of a level's vertices, from 0 on: one each, or one for each rail where a device only
/// uses that of its place. Whatever leaves or enters by an uplink shares its rate, each direction
/// by itself. `link` must be in range. Thread-safe.
SHARD_EXPORTED int64_t shardUplinkCount(const ShardCluster *cluster, int32_t link);
/// The uplink by which `device`, which must be in range, leaves its vertex, and its bytes a second.
SHARD_EXPORTED int64_t shardUplinkOf(const ShardCluster *cluster, int32_t link, int64_t device,
                                     double *outBytesPerSecond);

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// The part of a step in which a device computes, when nothing hides its communication and nobody
/// waits: 1 / (1 + communication / compute). Of an emitted program the simulator says it, with
/// waits and bubbles (shard/Simulate.h, `busy`). No time at all: 1. Thread-safe.
SHARD_EXPORTED double shardParallelEfficiency(double computeSeconds, double communicationSeconds);

/// A transformer that is only numbers yet, on a mesh of tensor parallel ranks and stages.
typedef struct ShardLayerTraffic {
  int64_t batch, sequence, hidden; // of a micro-batch
  int64_t layers, tensorParallel, stages;
  double elementBytes;
} ShardLayerTraffic;
/// Bytes that one rank sends for a layer and micro-batch, forward, mean over ranks, ring counting:
/// the all-reduces of attention and of the MLP, 2 x 2 (1 - 1/P_tp) B s d, and (P_pp - 1) / L of the
/// message B s d between stages. An emitted program is counted itself (`--report`). Thread-safe.
SHARD_EXPORTED double shardLayerForwardBytes(const ShardLayerTraffic *traffic);
/// The textbook's volume, 2 B s d (1 - 1/P_tp) + 4 B s d / P_pp, as it stands there: it says no
/// unit, has one all-reduce for two, and does not vanish for one device. For comparison only.
SHARD_EXPORTED double shardTextbookLayerForwardVolume(const ShardLayerTraffic *traffic);

#ifdef __cplusplus
}
#endif
#endif // SHARD_COST_H
