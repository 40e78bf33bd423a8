//===- Formulas.c - Efficiency, compression, tiers, checkpoints ---*- C -*-===//
// Golden values of the textbook with their neighbours, and what its forms leave out.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "Check.h"

#include "shard/Compress.h"
#include "shard/Cost.h"
#include "shard/Recompute.h"
#include "shard/Tiers.h"

#include <float.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static ShardCluster *parse(const char *text, int64_t nDevices) {
  char *error = NULL;
  ShardCluster *c = shardClusterParse("c.json", text, strlen(text), nDevices, &error);
  if (!c) {
    printf("FAIL: %s\n", error);
    exit(1);
  }
  return c;
}

static ShardCluster *preset(const char *spec) {
  char *error = NULL;
  ShardCluster *c = shardClusterCreate(spec, &error);
  if (!c) {
    printf("FAIL: %s\n", error);
    exit(1);
  }
  return c;
}

static uint64_t state = 88172645463325252u;
static double draw(void) { // xorshift64*, in [0, 1)
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return (double)(state * 2685821657736338717u >> 11) * 0x1p-53;
}

//===----------------------------------------------------------------------===//
// Steps and links
//===----------------------------------------------------------------------===//

static void checkSteps(void) {
  checkNear(shardParallelEfficiency(1, 0.4), 0.714, 5e-4, "71.4 %");
  checkNear(shardParallelEfficiency(2.5, 1), 1 / 1.4, 1e-15, "only the ratio counts");
  check(shardParallelEfficiency(1, 0) == 1 && shardParallelEfficiency(0, 1) == 0 &&
            shardParallelEfficiency(0, 0) == 1,
        "the ends", NULL);
  ShardLayerTraffic traffic = {.batch = 1,
                               .sequence = 512,
                               .hidden = 4096,
                               .layers = 32,
                               .tensorParallel = 8,
                               .stages = 1,
                               .elementBytes = 2};
  // Two all-reduces of 4 MiB, each 2 x 7/8 of it; the source has one, and 4 B L d for a stage.
  checkNear(shardLayerForwardBytes(&traffic), 2 * 1.75 * 4194304, 1e-15, "two all-reduces");
  checkNear(shardTextbookLayerForwardVolume(&traffic), (1.75 + 4) * 2097152, 1e-15, "the source's");
  traffic.stages = 16;
  checkNear(shardLayerForwardBytes(&traffic), 3.5 * 4194304 + 15.0 / 32 * 4194304, 1e-15,
            "and 15 messages in 32 layers");
  checkNear(shardTextbookLayerForwardVolume(&traffic), 2 * 2097152, 1e-15, "the source's");
  traffic.stages = traffic.tensorParallel = 1;
  check(shardLayerForwardBytes(&traffic) == 0, "one device sends nothing", NULL);
  check(shardTextbookLayerForwardVolume(&traffic) == 4.0 * 2097152, "the source's sends", NULL);
}

/// 200 GB/s at 0.8; the example tree's switches; distances.
static void checkLinks(void) {
  ShardCluster *tree = preset("fat-tree-100-400-800");
  ShardCluster derated = *tree;
  const ShardRate rate = {.peak = {.value = 200e9, .given = true}};
  derated.derating = 0.8;
  checkNear(shardRateEffective(&derated, &rate), 160e9, 1e-15, "200 GB/s at 0.8");
  checkNear(shardRateEffective(tree, &rate), 150e9, 1e-15, "at 0.75, unless said otherwise");
  check(tree->reserve == 0.2 && tree->nDevices == 8 * 16 * 16 * 1 && tree->nNodes == 256,
        "256 nodes of 8 are 2048 = 8 x 16 x 16 x 1", NULL);
  const double gigabits[] = {100, 400, 800};
  for (int i = 0; i < 3; ++i)
    checkNear(tree->links[i + 1].bytesPerSecond.peak.value, gigabits[i] * 1e9 / 8, 1e-15, "switch");
  const struct {
    double perOwner, perSecond, latency;
  } tiers[] = {{2e12, 100e9, 100e-9}, {32e12, 7e9, 100e-6}, {1e15, 1e9, 10e-3}};
  for (int i = 0; i < 3; ++i) {
    checkNear(tree->tiers[i].bytes.value, tiers[i].perOwner, 1e-15, "a tier's bytes");
    checkNear(tree->tiers[i].bytesPerSecond.peak.value, tiers[i].perSecond, 1e-15, "its rate");
    // The source prints 50 ns for DDR.
    checkNear(tree->tiers[i].latencySeconds.value, tiers[i].latency, 1e-15, "its latency");
  }
  checkNear(tree->deviceKinds[0].memoryBytesPerSecond.peak.value, 3.2e12, 1e-15, "HBM");
  check(tree->tiers[0].hasDeviceRate, "host to device is bound by PCIe", NULL);
  const ShardTransfer transfers[] = {
      {0, 0, 7}, {0, 7, 1000}, {0, 8, 100}, {0, 64, 10}, {9, 2047, 1}};
  const double costs[] = {0, 1000, 1000, 1000, 100};
  double sum = 0;
  for (int i = 0; i < 5; ++i) {
    checkNear(shardTransfersDistance(tree, 1, &transfers[i]), costs[i], 0, "a distance");
    sum += costs[i];
  }
  checkNear(shardTransfersDistance(tree, 5, transfers), sum, 0, "a placement");
  shardClusterDestroy(tree);
}

//===----------------------------------------------------------------------===//
// Compression
//===----------------------------------------------------------------------===//

static void checkWorth(void) {
  const ShardCompression topK = {25e9, 0.5e9, 0.05, 0.05};
  checkNear(shardTextbookCompressionGain(&topK, 200e9), 125 / 102.5, 1e-12, "102.5 against 125 ms");
  checkNear(shardTextbookCompressionGain(&topK, 200e9), 1.22, 1e-3, "1.22x");
  ShardCompression other = topK;
  other.compressSeconds = 0.0725; // 25 GB less 0.5 GB at 200 GB/s: 122.5 ms to spend
  check(fabs(shardTextbookCompressionGain(&other, 200e9) - 1) < 1e-12, "just even", NULL);
  check(shardTextbookCompressionGain(&topK, 300e9) < 1, "a faster link: not worth it", NULL);
  checkNear(shardCompressionSpeedUp(0.8, 4, 0.1), 2.37, 1e-3, "2.37x of a step");
  checkNear(shardCompressionSpeedUp(0.8, 4, 0), 2.5, 1e-12, "without overhead");
  check(shardCompressionSpeedUp(0, 4, 0.1) == 1, "nothing to compress", NULL);
  checkNear(shardTextbookLevelRatio(16), 6.4, 1e-12, "6.4");
  checkNear(shardTextbookLevelRatio(2), 16, 1e-12, "two levels");
  // Levels of b bits hold the sign; each block has two limits.
  check(shardQuantizedBytes(1024, 4, 1024) == 520 &&
            shardQuantizedBytes(1000, 3, 256) == 3 * 104 + 95,
        "bytes of levels", NULL);
  // Of a group: everyone's go to everyone, so that two ranks gain half of what the source says of
  // the link, and of N' P > 2 N nothing is left.
  ShardCluster *c =
      parse("{\"version\":1,\"name\":\"c\",\"devices\":[{\"kind\":\"d\",\"memoryBytes\":1e9,"
            "\"memoryBytesPerSecond\":1e9,\"flops\":{\"f32\":1e9}}],\"links\":[{\"from\":"
            "\"device\",\"to\":"
            "\"node\",\"count\":128,\"bytesPerSecond\":{\"value\":200e9,\"measured\":true},"
            "\"latencySeconds\":0}],\"nodes\":[{\"kind\":\"d\",\"count\":1}]}",
            0);
  check(c->reserve == 0.2 && c->derating == 0.75, "a fifth stays free, 75 % of peaks count", NULL);
  static const struct {
    int64_t ranks;
    double plain, compressed;
  } rows[] = {
      {2, 0.125, 0.1 + 0.0025}, {8, 0.21875, 0.1 + 0.0175}, {128, 0.248046875, 0.1 + 0.3175}};
  for (int i = 0; i < 3; ++i) {
    char *error = NULL;
    const int64_t sizes[] = {rows[i].ranks};
    ShardGroups *groups = shardGroupsCreateForAxes(c, 1, sizes, 1, NULL, &error);
    ShardCompressionCost cost;
    shardCompressionCost(groups, &topK, &cost);
    checkNear(cost.plainSeconds, rows[i].plain, 1e-9, "an all-reduce");
    checkNear(cost.compressedSeconds, rows[i].compressed, 1e-9, "compressed");
    checkNear(cost.gain, rows[i].plain / rows[i].compressed, 1e-9, "gain");
    checkNear(shardTextbookBytesPerSecond(groups), 200e9, 0, "the source's link");
    shardGroupsDestroy(groups);
  }
  shardClusterDestroy(c);
}

static void checkLevels(void) {
  enum { n = 37 };
  float values[n], back[n], limits[2];
  uint8_t codes[2 * n + 1];
  for (int32_t bits = 1; bits <= 16; ++bits)
    for (int run = 0; run < 50; ++run) {
      double size = ldexp(1, (int)(draw() * 60) - 30), offset = draw() < 0.5 ? 0 : 100 * size;
      for (int i = 0; i < n; ++i)
        values[i] = (float)(offset + size * (2 * draw() - 1));
      codes[(n * bits + 7) / 8] = 0xa5;
      check(shardQuantize(n, values, bits, codes, limits), "levels", NULL);
      check(codes[(n * bits + 7) / 8] == 0xa5, "written past the codes", NULL);
      shardDequantize(n, codes, bits, limits, back);
      double step = ((double)limits[1] - limits[0]) / (double)((1 << bits) - 1);
      for (int i = 0; i < n; ++i) {
        double rounding = fabs((double)values[i]) * FLT_EPSILON;
        check(fabs((double)back[i] - values[i]) <= step / 2 * (1 + 1e-9) + rounding, "half a level",
              NULL);
        // The code is the textbook's, to the bit.
        double level = round(((double)values[i] - limits[0]) / ((double)limits[1] - limits[0]) *
                             (double)((1 << bits) - 1));
        uint32_t code = 0;
        for (int b = 0; b < bits; ++b)
          code |= (uint32_t)(codes[(i * bits + b) / 8] >> (i * bits + b) % 8 & 1) << b;
        check(code == (uint32_t)level, "a code", NULL);
      }
    }
  for (int i = 0; i < n; ++i)
    values[i] = -3.25f;
  check(shardQuantize(n, values, 4, codes, limits), "max = min", NULL);
  shardDequantize(n, codes, 4, limits, back);
  check(memcmp(back, values, sizeof(values)) == 0, "equal values come back", NULL);
  values[0] = -FLT_MAX;
  values[1] = FLT_MAX;
  check(shardQuantize(n, values, 8, codes, limits), "the widest range", NULL);
  shardDequantize(n, codes, 8, limits, back);
  check(back[0] == -FLT_MAX && back[1] == FLT_MAX, "its ends", NULL);
  values[5] = NAN;
  check(!shardQuantize(n, values, 4, codes, limits), "a NaN", NULL);
  values[5] = -INFINITY;
  check(!shardQuantize(n, values, 4, codes, limits), "an infinity", NULL);
  check(!shardQuantize(0, values, 4, codes, limits) &&
            !shardQuantize(1, values, 0, codes, limits) &&
            !shardQuantize(1, values, 17, codes, limits),
        "out of range", NULL);
}

/// A number as so many 2^-100, exactly: of a multiple of that, of magnitude below 2^26.
static __int128 units(double value) {
  int exponent;
  __int128 part = (int64_t)ldexp(frexp(value, &exponent), 53);
  int shift = exponent + 47;
  return shift < 0 ? part / ((__int128)1 << -shift) : part * ((__int128)1 << shift);
}

/// Sent and kept are all gradients, exactly, and what is kept stays bounded; with the source's
/// scale it grows.
static void checkSigns(void) {
  enum { n = 13, steps = 400 };
  static __int128 given[n], sent[n];
  double kept[2 * n] = {0}, sum[n] = {0}, grown[n] = {0}, most = 0, mostGrown = 0;
  uint8_t codes[(n + 3) / 4];
  float gradient[n], scale;
  for (int step = 0; step < steps; ++step) {
    double norm = 0;
    for (int i = 0; i < n; ++i) {
      gradient[i] = (float)ldexp(2 * draw() - 1, (int)(draw() * 42) - 28 * (i % 2));
      if (fabsf(gradient[i]) < 0x1p-40f)
        gradient[i] = 0;
      gradient[i] = fminf(fmaxf(gradient[i], -1e4f), 1e4f);
      given[i] += units(gradient[i]);
      norm += (double)gradient[i] * gradient[i];
    }
    check(shardSignCompress(n, gradient, step % 3 ? 0 : 50, kept, codes, &scale) == 0, "exact",
          NULL);
    shardSignAdd(n, codes, scale, sum);
    for (int i = 0; i < n; ++i) {
      int code = codes[i / 4] >> 2 * (i % 4) & 3;
      sent[i] += code == 0 ? 0 : (code == 1 ? 1 : -1) * units(scale);
      check(given[i] == sent[i] + units(kept[2 * i]) + units(kept[2 * i + 1]), "sent + kept", NULL);
      most = fmax(most, fabs(kept[2 * i]));
      grown[i] += gradient[i];
      grown[i] -= grown[i] > 0 ? sqrt(norm) : -sqrt(norm);
      mostGrown = fmax(mostGrown, fabs(grown[i]));
    }
  }
  check(most < 13 * 1e4, "what is kept is bounded", NULL);
  // A constant gradient: on average it arrives; what the source's scale keeps is its norm or more.
  memset(kept, 0, sizeof(kept));
  memset(sum, 0, sizeof(sum));
  for (int i = 0; i < n; ++i)
    gradient[i] = (float)(i + 1);
  for (int step = 0; step < 5000; ++step)
    shardSignCompress(n, gradient, 0, kept, codes, &scale), shardSignAdd(n, codes, scale, sum);
  for (int i = 0; i < n; ++i)
    checkNear(sum[i] / 5000, i + 1, 0.02, "the mean of what is sent");
  gradient[3] = NAN;
  double before = kept[0];
  check(shardSignCompress(n, gradient, 0, kept, codes, &scale) == -1 && kept[0] == before,
        "a NaN changes nothing", NULL);
  memset(kept, 0, sizeof(kept));
  gradient[3] = 0x1p-149f;
  check(shardSignCompress(n, gradient, 1e30f, kept, codes, &scale) == 0 && scale == 0 && !codes[0],
        "below the threshold nothing is sent", NULL);
  gradient[3] = FLT_MAX;
  check(shardSignCompress(n, gradient, 0, kept, codes, &scale) == 0, "two doubles hold that", NULL);
  gradient[3] = 0x1p-75f;
  check(shardSignCompress(n, gradient, 0, kept, codes, &scale) > 0, "too far apart: it is said",
        NULL);
}

/// The source's scale, the 2-norm: what is left of a vector is more than the vector, so that no
/// feedback can hold it; with the mean magnitude it is less (Karimireddy et al., assumption A).
static void checkContraction(void) {
  enum { n = 64 };
  for (int run = 0; run < 100; ++run) {
    double kept[2 * n] = {0}, norm = 0, left = 0, leftSource = 0;
    uint8_t codes[n / 4];
    float gradient[n], scale;
    for (int i = 0; i < n; ++i) {
      gradient[i] = (float)(2 * draw() - 1);
      norm += (double)gradient[i] * gradient[i];
    }
    shardSignCompress(n, gradient, 0, kept, codes, &scale);
    for (int i = 0; i < n; ++i) {
      left += kept[2 * i] * kept[2 * i];
      double rest = fabs((double)gradient[i]) - sqrt(norm);
      leftSource += rest * rest;
    }
    check(left < norm, "a contraction", NULL);
    check(leftSource > norm, "the source's is none", NULL);
  }
}

//===----------------------------------------------------------------------===//
// Tiers
//===----------------------------------------------------------------------===//

static void checkTiers(void) {
  // The source's round numbers, 2000 devices of 80 GB: 400 TB in tensors of 0.1 TB.
  enum { n = 4000 };
  static ShardTieredTensor tensors[n];
  static int32_t where[n];
  ShardCluster *tree = preset("fat-tree-100-400-800:2000");
  for (int i = 0; i < n; ++i)
    tensors[i] = (ShardTieredTensor){0.1e12, 1 + (i * 7) % n}; // each its own count, in disorder
  ShardTierPlan plan;
  shardTierTensors(tree, n, tensors, false, where, &plan);
  checkNear(plan.bytes[0], 160e12, 1e-12, "HBM 160 TB");
  checkNear(plan.bytes[1], 240e12, 1e-12, "DDR 240 TB");
  checkNear(plan.bytes[0] / 400e12, 0.4, 1e-12, "40 %");
  check(plan.bytes[2] == 0 && plan.missingBytes == 0 && isinf(plan.leastUses[2]), "no more", NULL);
  // theta_high lies between the least used in HBM and the most used in DDR.
  double mostBelow = 0;
  for (int i = 0; i < n; ++i) {
    check(where[i] == 0 || where[i] == 1, "two tiers", NULL);
    check((where[i] == 0) == (tensors[i].usesPerSecond >= plan.leastUses[0]), "by use", NULL);
    mostBelow = where[i] == 1 ? fmax(mostBelow, tensors[i].usesPerSecond) : mostBelow;
  }
  check(mostBelow < plan.leastUses[0] && plan.leastUses[1] == 1, "thresholds", NULL);
  shardTierTensors(tree, n, tensors, true, NULL, &plan);
  checkNear(plan.bytes[0], 128e12, 1e-12, "with a fifth free");
  // A tensor that is larger than a tier goes below it, and others still fit above.
  const ShardTieredTensor large[] = {{170e12, 9}, {150e12, 8}, {1e18, 7}, {9e12, 6}};
  const int32_t expected[] = {1, 0, -1, 0};
  shardTierTensors(tree, 4, large, false, where, &plan);
  for (int i = 0; i < 4; ++i)
    check(where[i] == expected[i], "large tensors", NULL);
  checkNear(plan.missingBytes, 1e18, 0, "fits nowhere");
  shardClusterDestroy(tree);
}

static void checkShares(void) {
  const double weights[] = {1, 2, 1}, priorities[] = {1, 1, 2};
  double shares[3];
  shardBandwidthShares(100, 3, weights, priorities, NULL, shares);
  checkNear(shares[0], 20, 1e-12, "BW w p / sum w p");
  checkNear(shares[1], 40, 1e-12, "BW w p / sum w p");
  checkNear(shares[2], 40, 1e-12, "BW w p / sum w p");
  // One cannot take 40: by the source's form 30 are lost, here the others have them.
  const double limits[] = {100, 10, 100};
  shardBandwidthShares(100, 3, weights, priorities, limits, shares);
  checkNear(shares[0], 30, 1e-12, "a part of what is left");
  checkNear(shares[1], 10, 1e-12, "its limit");
  checkNear(shares[2], 60, 1e-12, "twice the part");
  // A limit that binds only after another has.
  const double tight[] = {25, 10, 100};
  shardBandwidthShares(100, 3, weights, priorities, tight, shares);
  check(shares[0] == 25 && shares[1] == 10 && shares[2] == 65, "limits in turn", NULL);
  const double small[] = {1, 2, 3};
  shardBandwidthShares(100, 3, NULL, NULL, small, shares);
  check(shares[0] == 1 && shares[1] == 2 && shares[2] == 3, "all limited", NULL);
  shardBandwidthShares(90, 3, NULL, NULL, NULL, shares);
  check(shares[0] == 30 && shares[2] == 30, "equal", NULL);
}

/// A layer of dense-20480 over 8 devices is 1.258 GB a device. With the source's peaks it takes
/// 0.10 s from DDR and 1.44 s from NVMe, so that 1 and 2 to 3 layers ahead are right for layers of
/// 0.48 s to 1.44 s, and for no others.
static void checkPrefetch(void) {
  ShardCluster *tree = preset("fat-tree-100-400-800");
  ShardCluster peak = *tree;
  peak.derating = 1;
  const double bytes = 5033164800.0 * 2 / 8;
  static const struct {
    double layerSeconds;
    int64_t toDevice, toHost;
  } rows[] = {{0.5, 1, 3}, {0.7, 1, 3}, {0.73, 1, 2}, {1.4, 1, 2}, {1.5, 1, 1}, {0.05, 3, 29}};
  ShardPrefetch fetch;
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    check(shardPrefetch(&peak, 0, bytes, rows[i].layerSeconds, 0, &fetch), "from DDR", NULL);
    checkNear(fetch.seconds, 1e-7 + bytes / 12.5e9, 1e-12, "an eighth of 100 GB/s");
    check(fetch.layersAhead == rows[i].toDevice, "ahead to HBM", NULL);
    check(shardPrefetch(&peak, 1, bytes, rows[i].layerSeconds, 0, &fetch), "from NVMe", NULL);
    checkNear(fetch.seconds, 1e-4 + bytes / 0.875e9, 1e-12, "an eighth of 7 GB/s");
    check(fetch.layersAhead == rows[i].toHost, "ahead to DDR", NULL);
  }
  // t_use - size/BW - epsilon.
  shardPrefetch(&peak, 0, 12.5e9, 0.6, 0.25, &fetch);
  checkNear(fetch.leadSeconds, 1.25 + 1e-7, 1e-12, "the lead");
  check(fetch.layersAhead == 3, "slack counts", NULL);
  shardPrefetch(tree, 0, 1e9, 1, 0, &fetch);
  checkNear(fetch.bytesPerSecond, 0.75 * 12.5e9, 1e-12, "derated");
  check(!shardPrefetch(tree, 3, 1, 1, 0, &fetch) && !shardPrefetch(tree, -1, 1, 1, 0, &fetch),
        "no such tier", NULL);
  shardClusterDestroy(tree);
  tree = preset("fat-tree-100-400-800:2"); // two devices of a node, each on a PCIe link
  shardPrefetch(tree, 0, 1e9, 1, 0, &fetch);
  checkNear(fetch.bytesPerSecond, 0.75 * 32e9, 1e-12, "bound by PCIe");
  shardClusterDestroy(tree);
}

//===----------------------------------------------------------------------===//
// Checkpoints
//===----------------------------------------------------------------------===//

/// Kept values as bits; infinity where the inside of a segment is too large.
static double costOf(int n, const ShardChainOp *ops, unsigned kept, double price, double maxInner,
                     double *outKept, double *outInner, double *outRepeat) {
  double cost = 0, inner = 0;
  bool single = true;
  *outKept = *outInner = *outRepeat = 0;
  for (int i = 0; i < n; ++i) {
    if (kept >> i & 1) {
      cost += price * ops[i].bytes;
      *outKept += ops[i].bytes;
      cost = inner > maxInner && !single ? INFINITY : cost;
      *outInner = fmax(*outInner, inner);
      inner = 0;
      single = true;
      continue;
    }
    single = false;
    cost += ops[i].seconds;
    *outRepeat += ops[i].seconds;
    inner += ops[i].bytes;
  }
  return cost;
}

/// The recurrence against every way to cut chains of up to 12 ops.
static void checkRecurrence(void) {
  enum { most = 12 };
  for (int n = 1; n <= most; ++n)
    for (int run = 0; run < 40; ++run) {
      ShardChainOp ops[most];
      bool keep[most];
      for (int i = 0; i < n; ++i) // whole numbers, so that sums are exact
        ops[i] = (ShardChainOp){floor(8 * draw()), floor(8 * draw())};
      double price = floor(16 * draw()) / 8, maxInner = run % 2 ? floor(30 * draw()) : INFINITY;
      double least = INFINITY, kept, inner, repeat, limit = floor(4 * n * draw() + 4);
      double leastRepeat = INFINITY, leastPeak = INFINITY;
      for (unsigned cut = 1u << (n - 1); cut < 1u << n; ++cut) {
        double cost = costOf(n, ops, cut, price, maxInner, &kept, &inner, &repeat);
        least = fmin(least, cost);
        leastPeak = fmin(leastPeak, kept + inner);
        leastRepeat = kept + inner <= limit ? fmin(leastRepeat, repeat) : leastRepeat;
      }
      ShardSegments cut;
      shardSegmentChain(n, ops, price, maxInner, keep, &cut);
      checkNear(cut.cost, least, 1e-12, "the least of all cuts");
      unsigned bits = 0;
      double all = 0;
      for (int i = 0; i < n; ++i) {
        bits |= (unsigned)keep[i] << i;
        all += ops[i].bytes;
      }
      checkNear(costOf(n, ops, bits, price, maxInner, &kept, &inner, &repeat), cut.cost, 1e-12,
                "of the cut that it says");
      check(kept == cut.keptBytes && inner == cut.innerBytes && repeat == cut.repeatSeconds &&
                cut.savedBytes == all - kept && cut.nSegments == __builtin_popcount(bits),
            "saved and computed again", NULL);
      // Within a limit: never more than it, never less work than is possible.
      bool found = shardSegmentChainWithin(n, ops, limit, keep, &cut);
      check(found == (cut.keptBytes + cut.innerBytes <= limit), "within the limit", NULL);
      check(!found || cut.repeatSeconds >= leastRepeat, "less than is possible", NULL);
      check(found || cut.keptBytes + cut.innerBytes >= leastPeak, "smaller than is possible", NULL);
      check(limit < all || (found && cut.repeatSeconds == 0), "room for all", NULL);
    }
}

/// Of 16 equal ops four segments of four are best: the square root (Chen et al. 2016).
static void checkEqualOps(void) {
  ShardChainOp ops[16];
  bool keep[16];
  ShardSegments cut;
  for (int i = 0; i < 16; ++i)
    ops[i] = (ShardChainOp){1, 1};
  check(shardSegmentChainWithin(16, ops, 7, keep, &cut), "2 sqrt(n) - 1", NULL);
  check(cut.nSegments == 4 && cut.repeatSeconds == 12 && cut.savedBytes == 12, "four of four",
        NULL);
  check(!shardSegmentChainWithin(16, ops, 6, keep, &cut), "no less", NULL);
  check(cut.keptBytes + cut.innerBytes == 7, "the least is said", NULL);
  check(shardSegmentChainWithin(16, ops, 16, keep, &cut) && cut.repeatSeconds == 0, "all kept",
        NULL);
  checkNear(shardTextbookCheckpointDensity(0.04, 1e9, 1e9), 2e-10, 1e-12, "the source's density");
  checkNear(shardTextbookCheckpointDensity(0.01, 1e9, 1e9), 1e-10, 1e-12, "a quarter of the time");
}

int main(void) {
  checkSteps();
  checkLinks();
  checkWorth();
  checkLevels();
  checkSigns();
  checkContraction();
  checkTiers();
  checkShares();
  checkPrefetch();
  checkRecurrence();
  checkEqualOps();
  printf("%d checks, %d failures\n", nChecks, nFailures);
  return nFailures != 0;
}
