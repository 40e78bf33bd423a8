//===- Cluster.h - What the parts of the cluster file share -------*- C -*-===//
#ifndef SHARD_COST_CLUSTER_H
#define SHARD_COST_CLUSTER_H

#include "shard/Cluster.h"

#include "../Core/Arena.h"

#include <jansson.h>

/// What hangs on a cluster: its arena, and the document with its counts as scaled.
typedef struct ShardClusterMemory {
  ShardArena *arena;
  json_t *root;
} ShardClusterMemory;

typedef struct ShardClusterPreset {
  const char *name;
  const unsigned char *text;
  size_t length;
} ShardClusterPreset;

/// The files of share/shard/clusters, as built in; by name.
extern const ShardClusterPreset shardClusterPresets[];
extern const intptr_t shardClusterPresetCount;

/// More devices than this are a mistake.
#define SHARD_CLUSTER_MAX_DEVICES (INT64_C(1) << 24)

/// The run of nodes that holds a device; the device must be in range.
const ShardClusterNodes *shardClusterRunOf(const ShardCluster *cluster, int64_t device);
/// The index of the link that leaves `level` upwards, -1 if none does.
int32_t shardClusterLinkFrom(const ShardCluster *cluster, ShardClusterLevel level);
/// The number of the vertex below link `link` that `device` (in range) belongs to.
int64_t shardClusterPart(const ShardCluster *cluster, int64_t device, int32_t link);
/// How many vertices there are below link `link`; of link nLinks, the tops.
int64_t shardClusterPartCount(const ShardCluster *cluster, int32_t link);

/// Memory of one device of a kind, of all devices, and of all that a tier has.
double shardClusterKindBytes(const ShardCluster *cluster, const ShardDeviceKind *kind,
                             bool withReserve);
double shardClusterDeviceBytes(const ShardCluster *cluster, bool withReserve);
double shardClusterTierBytes(const ShardCluster *cluster, const ShardMemoryTier *tier);

/// Index of `name` in the `n` names; -1: none of them.
int32_t shardClusterFindName(const char *const *names, int32_t n, const char *name);
extern const char *const shardRateTypeNames[SHARD_N_RATE_TYPES];
extern const char *const shardClusterLevelNames[SHARD_CLUSTER_MAX_LINKS + 1];
extern const char *const shardLinkKindNames[4];
extern const char *const shardCollectiveKindNames[SHARD_N_COLLECTIVE_KINDS];
extern const char *const shardFunctionNames[SHARD_N_FUNCTIONS];
extern const char *const shardAlgorithmNames[SHARD_N_ALGORITHMS];

#endif // SHARD_COST_CLUSTER_H
