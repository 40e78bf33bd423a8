//===- OpCost.c - How long an op takes, what a layer sends --------*- C -*-===//
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

/// What stands of `alone` while `busy` devices of the node work, where `all` stands for all.
static double whileBusy(const ShardDeviceKind *kind, int64_t busy, double alone, double all) {
  int64_t devices = kind->allBusy.devices;
  if (devices < 2 || busy <= 1)
    return alone;
  double part = busy >= devices ? 1 : (double)(busy - 1) / (double)(devices - 1);
  return alone + part * (all - alone);
}

/// Seconds of what is no contraction, at `perSecond` but for the functions that have rates of their
/// own: the type's, or the next wider one's that has them.
static double vectorSeconds(const ShardCluster *cluster, const ShardDeviceKind *kind,
                            const ShardOpWork *work, double perSecond) {
  double operations = work->vectorFlops, seconds = 0;
  for (int f = 0; f < SHARD_N_FUNCTIONS; ++f) {
    if (work->functions[f] <= 0)
      continue;
    ShardRateType type = work->type;
    while (!kind->hasFunctions[type][f] && widerType[type] != type)
      type = widerType[type];
    if (!kind->hasFunctions[type][f])
      continue;
    operations -= work->functions[f];
    seconds += work->functions[f] / shardRateEffective(cluster, &kind->functions[type][f]);
  }
  return seconds + fmax(operations, 0) / perSecond;
}

/// The part of the work of the turns that a contraction takes which is its own, with the best of
/// the tiles. 1: not known, or the result has less than a tile or does not fill the units once,
/// which is what `efficiency` is about.
static double tileEfficiency(const ShardTiles *tiles, const ShardOpWork *work) {
  double rows = work->shape[0], columns = work->shape[1], units = (double)tiles->units;
  double products = work->flops / (2 * rows * columns * work->shape[2]), best = 0;
  for (int32_t i = 0; i < tiles->nSizes; ++i) {
    double height = (double)tiles->sizes[i][0], width = (double)tiles->sizes[i][1];
    double n = products * ceil(rows / height) * ceil(columns / width);
    double turns = ceil(n / units * (1 - 1e-12));
    if (rows < height || columns < width)
      continue;
    if (n < units)
      return 1;
    best = fmax(best, products * rows * columns / (turns * units * height * width));
  }
  return best > 0 ? best : 1;
}

/// The part of a type's rate that a contraction reaches.
static double efficiencyOf(const ShardDeviceKind *kind, int type, const ShardOpWork *work) {
  const double *shape = work->shape;
  bool known = shape[0] > 0 && shape[1] > 0 && shape[2] > 0;
  if (known && kind->shapes[type].nSizes[0])
    return shardShapeGridEvaluate(&kind->shapes[type], shape);
  bool tiled = known && type != SHARD_RATE_F64 && type != SHARD_RATE_F32;
  // Each says what cannot be exceeded: of small sizes, and of shapes that tiles do not fit.
  return fmin(shardCurveEvaluate(&kind->efficiency[type], work->flops),
              tiled ? tileEfficiency(&kind->tiles, work) : 1);
}

bool shardOpCost(const ShardCluster *cluster, const ShardDeviceKind *kind, const ShardOpWork *work,
                 ShardOpCost *out) {
  return shardOpCostBusy(cluster, kind, work, 1, out);
}

bool shardOpCostBusy(const ShardCluster *cluster, const ShardDeviceKind *kind,
                     const ShardOpWork *work, int64_t busyDevices, ShardOpCost *out) {
  *out = (ShardOpCost){.type = work->type, .efficiency = 1, .memoryEfficiency = 1};
  if ((unsigned)work->type >= SHARD_N_RATE_TYPES)
    return false;
  int dense = findType(kind->hasFlops, work->type);
  int vector = findType(kind->hasVectorFlops, work->type);
  double busyPart = whileBusy(kind, busyDevices, 1, kind->allBusy.flops);
  if (work->flops > 0) {
    if (dense < 0)
      return false;
    out->type = (ShardRateType)dense;
    out->flopsPerSecond = shardRateEffective(cluster, &kind->flops[dense]) * busyPart;
    out->efficiency = efficiencyOf(kind, dense, work);
    out->computeSeconds = work->flops / (out->flopsPerSecond * out->efficiency);
  }
  if (work->vectorFlops > 0) {
    if (vector < 0 && dense < 0)
      return false;
    const ShardRate *rate = vector < 0 ? &kind->flops[dense] : &kind->vectorFlops[vector];
    double perSecond = shardRateEffective(cluster, rate);
    out->computeSeconds += vectorSeconds(cluster, kind, work, perSecond) / busyPart;
    if (work->flops <= 0) {
      out->type = (ShardRateType)(vector < 0 ? dense : vector);
      out->flopsPerSecond = perSecond * busyPart;
    }
  }
  out->bytesPerSecond = shardRateEffective(cluster, &kind->memoryBytesPerSecond);
  if (work->bytes > 0) {
    double alone = shardCurveEvaluate(&kind->memoryEfficiency, work->bytes);
    const ShardCurve *all = &kind->allBusy.memoryEfficiency;
    out->memoryEfficiency = whileBusy(kind, busyDevices, alone,
                                      all->nPoints ? shardCurveEvaluate(all, work->bytes) : alone);
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
                       .shape = {x, y, z},
                       .bytes = b * (x * z + z * y + x * y) * (double)elementBytes};
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

double shardParallelEfficiency(double computeSeconds, double communicationSeconds) {
  double seconds = computeSeconds + communicationSeconds;
  return seconds > 0 ? computeSeconds / seconds : 1;
}

static double messageElements(const ShardLayerTraffic *traffic) {
  return (double)traffic->batch * (double)traffic->sequence * (double)traffic->hidden;
}

double shardLayerForwardBytes(const ShardLayerTraffic *traffic) {
  double bytes = traffic->elementBytes * messageElements(traffic);
  return bytes * (4 * (1 - 1 / (double)traffic->tensorParallel) +
                  (double)(traffic->stages - 1) / (double)traffic->layers);
}

double shardTextbookLayerForwardVolume(const ShardLayerTraffic *traffic) {
  return messageElements(traffic) *
         (2 * (1 - 1 / (double)traffic->tensorParallel) + 4 / (double)traffic->stages);
}
