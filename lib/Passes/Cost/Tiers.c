//===- Tiers.c - Memory below the devices' ------------------------*- C -*-===//
#include "shard/Tiers.h"

#include "Cluster.h"

#include <math.h>
#include <stdlib.h>

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

typedef struct Candidate {
  double uses, bytes;
  intptr_t index;
} Candidate;

static int byUses(const void *a, const void *b) {
  const Candidate *x = a, *y = b;
  if (x->uses != y->uses)
    return x->uses > y->uses ? -1 : 1;
  return (x->index > y->index) - (x->index < y->index);
}

void shardTierTensors(const ShardCluster *cluster, intptr_t nTensors,
                      const ShardTieredTensor *tensors, bool withReserve, int32_t *tiers,
                      ShardTierPlan *out) {
  ShardArena *scratch = shardArenaCreate();
  Candidate *order = SHARD_ARENA_ARRAY(scratch, Candidate, nTensors + 1);
  double room[4] = {shardClusterDeviceBytes(cluster, withReserve)};
  for (int32_t i = 0; i < cluster->nTiers; ++i)
    room[i + 1] = shardClusterTierBytes(cluster, &cluster->tiers[i]);
  *out = (ShardTierPlan){.leastUses = {INFINITY, INFINITY, INFINITY, INFINITY}};
  for (intptr_t i = 0; i < nTensors; ++i)
    order[i] = (Candidate){tensors[i].usesPerSecond, tensors[i].bytes, i};
  qsort(order, (size_t)nTensors, sizeof(*order), byUses);
  for (intptr_t i = 0; i < nTensors; ++i) {
    int32_t tier = 0;
    while (tier <= cluster->nTiers && order[i].bytes > room[tier] - out->bytes[tier])
      ++tier;
    bool placed = tier <= cluster->nTiers;
    if (tiers)
      tiers[order[i].index] = placed ? tier : -1;
    if (placed)
      out->leastUses[tier] = order[i].uses; // they descend
    *(placed ? &out->bytes[tier] : &out->missingBytes) += order[i].bytes;
  }
  shardArenaDestroy(scratch);
}

//===----------------------------------------------------------------------===//
// Bandwidth
//===----------------------------------------------------------------------===//

void shardBandwidthShares(double bytesPerSecond, intptr_t n, const double *weights,
                          const double *priorities, const double *limits, double *shares) {
  for (intptr_t i = 0; i < n; ++i)
    shares[i] = -1; // not settled
  // Whoever cannot take its part is given its limit; the rest is shared anew, until all can.
  for (bool settled = false; !settled;) {
    double sum = 0, left = bytesPerSecond;
    settled = true;
    for (intptr_t i = 0; i < n; ++i) {
      if (shares[i] < 0)
        sum += (weights ? weights[i] : 1) * (priorities ? priorities[i] : 1);
      else
        left -= shares[i];
    }
    for (intptr_t i = 0; limits && i < n; ++i) {
      double part = left * (weights ? weights[i] : 1) * (priorities ? priorities[i] : 1) / sum;
      if (shares[i] >= 0 || part <= limits[i])
        continue;
      shares[i] = limits[i];
      settled = false;
    }
    for (intptr_t i = 0; settled && i < n; ++i)
      if (shares[i] < 0)
        shares[i] = left * (weights ? weights[i] : 1) * (priorities ? priorities[i] : 1) / sum;
  }
}

bool shardPrefetch(const ShardCluster *cluster, int32_t tier, double bytes, double layerSeconds,
                   double slackSeconds, ShardPrefetch *out) {
  if (tier < 0 || tier >= cluster->nTiers)
    return false;
  const ShardMemoryTier *from = &cluster->tiers[tier];
  int64_t owner = shardClusterVertexOf(cluster, 0, from->owner), sharing = 0;
  while (sharing < cluster->nDevices &&
         shardClusterVertexOf(cluster, sharing, from->owner) == owner)
    ++sharing;
  double rate = shardRateEffective(cluster, &from->bytesPerSecond) / (double)sharing;
  if (from->hasDeviceRate)
    rate = fmin(rate, shardRateEffective(cluster, &from->deviceBytesPerSecond));
  double seconds = from->latencySeconds.value + bytes / rate;
  double layers = ceil((seconds + slackSeconds) / layerSeconds * (1 - 1e-12));
  *out = (ShardPrefetch){.bytesPerSecond = rate,
                         .seconds = seconds,
                         .leadSeconds = seconds + slackSeconds,
                         .layersAhead = layers < 0x1p62 ? (int64_t)layers : INT64_MAX};
  return true;
}
