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

const char *const shardFunctionNames[SHARD_N_FUNCTIONS] = {"divide", "sqrt",  "exp",   "tanh",
                                                           "erf",    "other", "reduce"};

int32_t shardClusterFindName(const char *const *names, int32_t n, const char *name) {
  for (int32_t i = 0; i < n; ++i)
    if (strcmp(names[i], name) == 0)
      return i;
  return -1;
}

const char *shardRateTypeName(ShardRateType type) {
  return (unsigned)type < SHARD_N_RATE_TYPES ? shardRateTypeNames[type] : NULL;
}
const char *shardFunctionName(ShardFunction function) {
  return (unsigned)function < SHARD_N_FUNCTIONS ? shardFunctionNames[function] : NULL;
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

/// Between which two of `n` ascending sizes `size` lies: the lower, and how far on the way to the
/// next by the logarithm.
static intptr_t findPlace(intptr_t n, const double *sizes, double size, double *outPart) {
  intptr_t i = 0;
  while (i < n && sizes[i] < size)
    ++i;
  *outPart = 0;
  if (i == 0 || i == n)
    return i ? n - 1 : 0;
  double low = log(sizes[i - 1]), high = log(sizes[i]);
  *outPart = (log(size) - low) / (high - low);
  return i - 1;
}

double shardCurveEvaluate(const ShardCurve *curve, double size) {
  if (curve->nPoints == 0)
    return 1;
  double part;
  intptr_t i = findPlace(curve->nPoints, curve->sizes, size, &part);
  double low = curve->fractions[i];
  return part > 0 ? low + part * (curve->fractions[i + 1] - low) : low;
}

double shardShapeGridEvaluate(const ShardShapeGrid *grid, const double *sizes) {
  if (grid->nSizes[0] == 0)
    return 1;
  intptr_t at[3];
  double part[3], sum = 0;
  for (int d = 0; d < 3; ++d)
    at[d] = findPlace(grid->nSizes[d], grid->sizes[d], sizes[d], &part[d]);
  for (int corner = 0; corner < 8; ++corner) {
    double weight = 1;
    intptr_t index = 0;
    for (int d = 0; d < 3; ++d) {
      bool upper = corner >> d & 1;
      weight *= upper ? part[d] : 1 - part[d];
      index = index * grid->nSizes[d] + at[d] + (upper && part[d] > 0);
    }
    sum += weight * grid->fractions[index];
  }
  return sum;
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

double shardClusterKindBytes(const ShardCluster *cluster, const ShardDeviceKind *kind,
                             bool withReserve) {
  return withReserve ? shardClusterUsableBytes(cluster, kind) : kind->memoryBytes.value;
}

double shardClusterDeviceBytes(const ShardCluster *cluster, bool withReserve) {
  double sum = 0;
  for (int32_t i = 0; i < cluster->nNodeRuns; ++i) {
    const ShardClusterNodes *run = &cluster->nodeRuns[i];
    sum += (double)(run->count * run->devicesPerNode) *
           shardClusterKindBytes(cluster, &cluster->deviceKinds[run->kind], withReserve);
  }
  return sum;
}

double shardClusterTierBytes(const ShardCluster *cluster, const ShardMemoryTier *tier) {
  int64_t last = shardClusterVertexOf(cluster, cluster->nDevices - 1, tier->owner);
  return tier->bytes.value * (double)(last + 1);
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
