//===- Compress.c - Values in fewer bits --------------------------*- C -*-===//
// Error feedback: Seide et al., 1-bit stochastic gradient descent, 2014; Karimireddy et al., Error
// feedback fixes SignSGD, 2019. Sums without error: Knuth, TAOCP 2, 4.2.2, theorem B.
//===----------------------------------------------------------------------===//
#include "shard/Compress.h"

#include <float.h>
#include <math.h>
#include <string.h>

void shardCompressionCost(const ShardGroups *groups, const ShardCompression *compression,
                          ShardCompressionCost *out) {
  ShardCollectiveCost plain, gather;
  double gathered = compression->compressedBytes * (double)shardGroupsGetRankCount(groups);
  shardCollectiveCost(groups, SHARD_COLLECTIVE_ALL_REDUCE, llround(compression->bytes), &plain);
  shardCollectiveCost(groups, SHARD_COLLECTIVE_ALL_GATHER, llround(gathered), &gather);
  *out = (ShardCompressionCost){.plainSeconds = plain.seconds, .gain = 1};
  if (shardGroupsGetRankCount(groups) < 2)
    return;
  out->compressedSeconds =
      compression->compressSeconds + gather.seconds + compression->decompressSeconds;
  out->gain = out->plainSeconds / out->compressedSeconds;
}

double shardTextbookCompressionGain(const ShardCompression *compression, double bytesPerSecond) {
  return compression->bytes / bytesPerSecond /
         (compression->compressSeconds + compression->compressedBytes / bytesPerSecond +
          compression->decompressSeconds);
}

double shardCompressionSpeedUp(double share, double ratio, double overhead) {
  return 1 / (1 - share + share / (ratio * (1 - overhead)));
}

int64_t shardQuantizedBytes(int64_t count, int32_t bits, int64_t block) {
  int64_t whole = count / block, rest = count % block;
  int64_t each = (block * bits + 7) / 8 + 8;
  return whole * each + (rest ? (rest * bits + 7) / 8 + 8 : 0);
}

double shardTextbookLevelRatio(double levels) { return 32 / (1 + log2(levels)); }

//===----------------------------------------------------------------------===//
// Levels
//===----------------------------------------------------------------------===//

bool shardQuantize(int64_t count, const float *values, int32_t bits, uint8_t *codes,
                   float limits[2]) {
  if (count < 1 || bits < 1 || bits > 16)
    return false;
  float least = values[0], most = values[0];
  for (int64_t i = 0; i < count; ++i) {
    if (!isfinite(values[i]))
      return false;
    least = fminf(least, values[i]);
    most = fmaxf(most, values[i]);
  }
  limits[0] = least;
  limits[1] = most;
  double range = (double)most - least, levels = (double)((1u << bits) - 1);
  memset(codes, 0, (size_t)((count * bits + 7) / 8));
  for (int64_t i = 0; i < count; ++i) {
    double level = range > 0 ? ((double)values[i] - least) / range * levels : 0;
    uint32_t code = (uint32_t)lround(level);
    int64_t at = i * bits;
    for (uint32_t part = code << (at % 8); part; part >>= 8, at += 8)
      codes[at / 8] |= (uint8_t)part;
  }
  return true;
}

void shardDequantize(int64_t count, const uint8_t *codes, int32_t bits, const float limits[2],
                     float *values) {
  double range = (double)limits[1] - limits[0], levels = (double)((1u << bits) - 1);
  for (int64_t i = 0; i < count; ++i) {
    int64_t first = i * bits, last = (first + bits - 1) / 8;
    uint32_t word = 0;
    for (int64_t at = last; at >= first / 8; --at)
      word = word << 8 | codes[at];
    uint32_t code = word >> (first % 8) & ((1u << bits) - 1);
    values[i] = (float)((double)limits[0] + range * ((double)code / levels));
  }
}

//===----------------------------------------------------------------------===//
// Signs
//===----------------------------------------------------------------------===//

/// a + b as `*sum`, rounded, and what that is off by.
static double twoSum(double a, double b, double *sum) {
  double s = a + b, part = s - a;
  *sum = s;
  return (a - (s - part)) + (b - part);
}

/// Adds to two numbers whose sum is a value. False: there was no room for a last bit.
static bool addTo(double pair[2], double value) {
  double high, low, error = twoSum(pair[0], value, &high);
  double lost = twoSum(pair[1], error, &low);
  pair[1] = twoSum(high, low, &pair[0]);
  return lost == 0;
}

static double valueOf(const double pair[2]) { return pair[0] + pair[1]; }

int64_t shardSignCompress(int64_t count, const float *gradient, float threshold, double *kept,
                          uint8_t *codes, float *outScale) {
  int64_t rounded = 0, sent = 0;
  double sum = 0;
  for (int64_t i = 0; i < count; ++i)
    if (!isfinite(gradient[i]) || !isfinite(kept[2 * i]))
      return -1;
  for (int64_t i = 0; i < count; ++i) {
    if (i % 4 == 0)
      codes[i / 4] = 0;
    rounded += !addTo(&kept[2 * i], gradient[i]);
    double magnitude = fabs(valueOf(&kept[2 * i]));
    if (magnitude <= threshold)
      continue;
    codes[i / 4] |= (uint8_t)((valueOf(&kept[2 * i]) < 0 ? 2 : 1) << 2 * (i % 4));
    sum += magnitude;
    ++sent;
  }
  float scale = *outScale = sent ? (float)fmin(sum / (double)sent, FLT_MAX) : 0;
  for (int64_t i = 0; i < count; ++i) {
    int code = codes[i / 4] >> 2 * (i % 4) & 3;
    if (code)
      rounded += !addTo(&kept[2 * i], code == 1 ? -(double)scale : scale);
  }
  return rounded;
}

void shardSignAdd(int64_t count, const uint8_t *codes, float scale, double *sum) {
  for (int64_t i = 0; i < count; ++i) {
    int code = codes[i / 4] >> 2 * (i % 4) & 3;
    sum[i] += code == 1 ? scale : code == 2 ? -(double)scale : 0;
  }
}
