//===- Cluster.c - Questions to a cluster -------------------------*- C -*-===//
#include "Cluster.h"

#include <math.h>
#include <string.h>

const char *const shardRateTypeNames[SHARD_N_RATE_TYPES] = {"f64", "f32", "f16", "bf16",
                                                            "f8",  "f4",  "i8"};
const char *const shardClusterLevelNames[SHARD_CLUSTER_MAX_LINKS + 1] = {"device", "node", "rack",
                                                                         "pod", "core"};
const char *const shardLinkKindNames[4] = {"plain", "nvlink", "pcie", "network"};
const char *const shardCollectiveKindNames[SHARD_N_COLLECTIVE_KINDS] = {
    "all-reduce", "reduce-scatter", "all-gather", "all-to-all",
    "broadcast",  "reduce",         "permute",    "send"};
const char *const shardAlgorithmNames[SHARD_N_ALGORITHMS] = {
    "ring", "tree", "recursive", "hierarchical", "in-switch", "direct", "measured"};

int32_t shardClusterFindName(const char *const *names, int32_t n, const char *name) {
  for (int32_t i = 0; i < n; ++i)
    if (strcmp(names[i], name) == 0)
      return i;
  return -1;
}

const char *shardRateTypeName(ShardRateType type) {
  return (unsigned)type < SHARD_N_RATE_TYPES ? shardRateTypeNames[type] : NULL;
}
const char *shardClusterLevelName(ShardClusterLevel level) {
  return (unsigned)level <= SHARD_CLUSTER_MAX_LINKS ? shardClusterLevelNames[level] : NULL;
}
const char *shardLinkKindName(ShardLinkKind kind) {
  return (unsigned)kind < 4 ? shardLinkKindNames[kind] : NULL;
}
const char *shardClusterCollectiveName(ShardCollectiveKind kind) {
  return (unsigned)kind < SHARD_N_COLLECTIVE_KINDS ? shardCollectiveKindNames[kind] : NULL;
}
const char *shardAlgorithmName(ShardAlgorithm algorithm) {
  return (unsigned)algorithm < SHARD_N_ALGORITHMS ? shardAlgorithmNames[algorithm] : NULL;
}

intptr_t shardClusterPresetGetCount(void) { return shardClusterPresetCount; }
const char *shardClusterPresetGetName(intptr_t index) {
  return index >= 0 && index < shardClusterPresetCount ? shardClusterPresets[index].name : NULL;
}

double shardRateEffective(const ShardCluster *cluster, const ShardRate *rate) {
  if (rate->achieved.given)
    return rate->achieved.value;
  return rate->peak.measured ? rate->peak.value : rate->peak.value * cluster->derating;
}

double shardCurveEvaluate(const ShardCurve *curve, double size) {
  intptr_t n = curve->nPoints, i = 0;
  if (n == 0)
    return 1;
  while (i < n && curve->sizes[i] < size)
    ++i;
  if (i == 0 || i == n)
    return curve->fractions[i ? n - 1 : 0];
  double low = log(curve->sizes[i - 1]), high = log(curve->sizes[i]);
  double part = (log(size) - low) / (high - low);
  return curve->fractions[i - 1] + part * (curve->fractions[i] - curve->fractions[i - 1]);
}

const ShardClusterNodes *shardClusterRunOf(const ShardCluster *cluster, int64_t device) {
  int32_t low = 0, high = cluster->nNodeRuns; // the last that begins at or before the device
  while (high - low > 1) {
    int32_t middle = low + (high - low) / 2;
    if (cluster->nodeRuns[middle].firstDevice <= device)
      low = middle;
    else
      high = middle;
  }
  return &cluster->nodeRuns[low];
}

int32_t shardClusterLinkFrom(const ShardCluster *cluster, ShardClusterLevel level) {
  for (int32_t i = 0; i < cluster->nLinks; ++i)
    if (cluster->links[i].from == level)
      return i;
  return -1;
}

int64_t shardClusterPart(const ShardCluster *cluster, int64_t device, int32_t link) {
  if (link == 0)
    return device;
  const ShardClusterNodes *run = shardClusterRunOf(cluster, device);
  int64_t part = run->firstNode + (device - run->firstDevice) / run->devicesPerNode;
  for (int32_t i = 1; i < link; ++i)
    part /= cluster->links[i].count;
  return part;
}

int64_t shardClusterPartCount(const ShardCluster *cluster, int32_t link) {
  if (link == 0)
    return cluster->nDevices;
  int64_t count = cluster->nNodes;
  for (int32_t i = 1; i < link; ++i)
    count = (count + cluster->links[i].count - 1) / cluster->links[i].count;
  return count;
}

const ShardDeviceKind *shardClusterDeviceKind(const ShardCluster *cluster, int64_t device) {
  if (device < 0 || device >= cluster->nDevices)
    return NULL;
  return &cluster->deviceKinds[shardClusterRunOf(cluster, device)->kind];
}

int64_t shardClusterVertexOf(const ShardCluster *cluster, int64_t device, ShardClusterLevel level) {
  if (device < 0 || device >= cluster->nDevices)
    return -1;
  if (level == SHARD_LEVEL_DEVICE)
    return device;
  for (int32_t i = 0; i < cluster->nLinks; ++i)
    if (cluster->links[i].to == level)
      return shardClusterPart(cluster, device, i + 1);
  return -1;
}

int64_t shardClusterDistance(const ShardCluster *cluster, int64_t a, int64_t b) {
  if (a == b)
    return 0;
  for (int32_t i = 0; i < cluster->nLinks; ++i) {
    if (shardClusterPart(cluster, a, i + 1) != shardClusterPart(cluster, b, i + 1))
      continue;
    ShardClusterLevel level = cluster->links[i].to;
    return level <= SHARD_LEVEL_NODE ? 1 : level == SHARD_LEVEL_RACK ? 10 : 100;
  }
  return 100;
}

double shardClusterUsableBytes(const ShardCluster *cluster, const ShardDeviceKind *kind) {
  return kind->memoryBytes.value * (1 - cluster->reserve);
}

double shardClusterFailuresPerDay(const ShardCluster *cluster) {
  double sum = 0;
  for (int32_t i = 0; i < cluster->nNodeRuns; ++i) {
    const ShardClusterNodes *run = &cluster->nodeRuns[i];
    const ShardFigure *rate = &cluster->deviceKinds[run->kind].failuresPerDay;
    if (rate->given)
      sum += rate->value * (double)(run->count * run->devicesPerNode);
  }
  return sum;
}
