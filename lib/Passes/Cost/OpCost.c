//===- OpCost.c - How long an op takes on a device ----------------*- C -*-===//
// The roofline: Williams, Waterman and Patterson, Roofline: an insightful visual performance model,
// 2009. How far below the roof a small op stays is data of the device kind.
//===----------------------------------------------------------------------===//
#include "shard/Cost.h"

#include <math.h>
#include <stddef.h>

/// The type to compute in where the kind lacks one; itself: there is none.
static const ShardRateType widerType[SHARD_N_RATE_TYPES] = {
    [SHARD_RATE_F64] = SHARD_RATE_F64, [SHARD_RATE_F32] = SHARD_RATE_F64,
    [SHARD_RATE_F16] = SHARD_RATE_F32, [SHARD_RATE_BF16] = SHARD_RATE_F32,
    [SHARD_RATE_F8] = SHARD_RATE_F16,  [SHARD_RATE_F4] = SHARD_RATE_F8,
    [SHARD_RATE_I8] = SHARD_RATE_F16};

/// The first type from `type` upwards that is listed; -1: none.
static int findType(const bool *has, ShardRateType type) {
  while (!has[type] && widerType[type] != type)
    type = widerType[type];
  return has[type] ? (int)type : -1;
}

bool shardOpCost(const ShardCluster *cluster, const ShardDeviceKind *kind, const ShardOpWork *work,
                 ShardOpCost *out) {
  *out = (ShardOpCost){.type = work->type, .efficiency = 1, .memoryEfficiency = 1};
  if ((unsigned)work->type >= SHARD_N_RATE_TYPES)
    return false;
  int dense = findType(kind->hasFlops, work->type);
  int vector = findType(kind->hasVectorFlops, work->type);
  if (work->flops > 0) {
    if (dense < 0)
      return false;
    out->type = (ShardRateType)dense;
    out->flopsPerSecond = shardRateEffective(cluster, &kind->flops[dense]);
    out->efficiency = shardCurveEvaluate(&kind->efficiency[dense], work->flops);
    out->computeSeconds = work->flops / (out->flopsPerSecond * out->efficiency);
  }
  if (work->vectorFlops > 0) {
    if (vector < 0 && dense < 0)
      return false;
    const ShardRate *rate = vector < 0 ? &kind->flops[dense] : &kind->vectorFlops[vector];
    double perSecond = shardRateEffective(cluster, rate);
    out->computeSeconds += work->vectorFlops / perSecond;
    if (work->flops <= 0) {
      out->type = (ShardRateType)(vector < 0 ? dense : vector);
      out->flopsPerSecond = perSecond;
    }
  }
  out->bytesPerSecond = shardRateEffective(cluster, &kind->memoryBytesPerSecond);
  if (work->bytes > 0) {
    out->memoryEfficiency = shardCurveEvaluate(&kind->memoryEfficiency, work->bytes);
    out->memorySeconds = work->bytes / (out->bytesPerSecond * out->memoryEfficiency);
  }
  out->launchSeconds = kind->launchSeconds.given ? kind->launchSeconds.value : 0;
  double busy = fmax(out->computeSeconds, out->memorySeconds);
  out->seconds = out->launchSeconds + busy;
  out->bound = out->launchSeconds > busy                  ? SHARD_BOUND_LAUNCH
               : out->memorySeconds > out->computeSeconds ? SHARD_BOUND_MEMORY
                                                          : SHARD_BOUND_COMPUTE;
  return true;
}

ShardOpWork shardContractionWork(int64_t batch, int64_t m, int64_t n, int64_t k,
                                 int64_t elementBytes, ShardRateType type) {
  double b = (double)batch, x = (double)m, y = (double)n, z = (double)k;
  return (ShardOpWork){.type = type,
                       .flops = 2 * b * x * y * z,
                       .bytes = b * (x * z + z * y + x * y) * (double)elementBytes};
}
