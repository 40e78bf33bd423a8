//===- Collectives.c - Costs of collectives -----------------------*- C -*-===//
// Golden values of the textbook and of NCCL; every way against messages sent one by one.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "Check.h"

#include "shard/Cost.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MS 1e-3
#define US 1e-6

/// A cluster of plain links, measured, so that numbers are as written. Levels: {count, GB/s, rails,
/// shared}.
typedef struct Level {
  int count;
  double gigabytes;
  int rails;
  bool shared;
} Level;

static ShardCluster *plainCluster(int nNodes, int nLevels, const Level *levels,
                                  double latencySeconds) {
  static const char *const names[] = {"device", "node", "rack", "pod", "core"};
  char *text = NULL, *error = NULL;
  size_t length = 0;
  FILE *out = open_memstream(&text, &length);
  fprintf(out, "{\"version\":1,\"name\":\"c\",\"devices\":[{\"kind\":\"d\",\"memoryBytes\":1e9,"
               "\"memoryBytesPerSecond\":1e9,\"flops\":{\"f32\":1e9}}],\"links\":[");
  for (int i = 0; i < nLevels; ++i)
    fprintf(out,
            "%s{\"from\":\"%s\",\"to\":\"%s\",\"count\":%d,\"bytesPerSecond\":{\"value\":%.17g,"
            "\"measured\":true},\"latencySeconds\":%.17g,\"rails\":%d,\"shared\":%s}",
            i ? "," : "", names[i], names[i + 1], levels[i].count, levels[i].gigabytes * 1e9,
            latencySeconds * (i + 1), levels[i].rails, levels[i].shared ? "true" : "false");
  fprintf(out, "],\"nodes\":[{\"kind\":\"d\",\"count\":%d}]}", nNodes);
  fclose(out);
  ShardCluster *cluster = shardClusterParse("c.json", text, length, 0, &error);
  if (!cluster) {
    printf("FAIL: %s\n", error);
    exit(1);
  }
  free(text);
  return cluster;
}

static ShardCluster *preset(const char *name) {
  char *error = NULL;
  ShardCluster *cluster = shardClusterCreate(name, &error);
  if (!cluster) {
    printf("FAIL: %s\n", error);
    exit(1);
  }
  return cluster;
}

/// Groups along the axes of a mesh, ranks on devices in order.
static ShardGroups *along(const ShardCluster *cluster, uint32_t axes, int32_t nAxes, ...) {
  int64_t sizes[8];
  char *error = NULL;
  va_list list;
  va_start(list, nAxes);
  for (int32_t i = 0; i < nAxes; ++i)
    sizes[i] = va_arg(list, int);
  va_end(list);
  ShardGroups *groups = shardGroupsCreateForAxes(cluster, nAxes, sizes, axes, NULL, &error);
  if (!groups) {
    printf("FAIL: %s\n", error);
    exit(1);
  }
  return groups;
}

static double costBy(const ShardGroups *groups, ShardCollectiveKind kind, ShardAlgorithm algorithm,
                     ShardProtocol protocol, int64_t bytes, ShardCollectiveCost *out) {
  bool ok = shardCollectiveCostBy(groups, kind, algorithm, protocol, bytes, out);
  check(ok, "a way", shardAlgorithmName(algorithm));
  return ok ? out->seconds : NAN;
}

static double plainBy(const ShardGroups *groups, ShardCollectiveKind kind, ShardAlgorithm algorithm,
                      int64_t bytes) {
  ShardCollectiveCost cost;
  return costBy(groups, kind, algorithm, SHARD_PROTOCOL_PLAIN, bytes, &cost);
}

/// 25 GB over 8 devices of 600 GB/s, over 32 nodes of 200 GB/s, over all 256.
static void checkTextbook(void) {
  const int64_t bytes = 25000000000;
  const Level shared[] = {{8, 600, 1, true}, {32, 200, 1, true}};
  const Level rails[] = {{8, 600, 1, true}, {32, 200, 8, false}};
  ShardCollectiveCost cost;
  ShardCluster *one = plainCluster(32, 2, shared, 0), *eight = plainCluster(32, 2, rails, 0);
  ShardGroups *inside = along(one, 2, 2, 32, 8), *leaders = along(one, 1, 1, 8);
  checkNear(plainBy(inside, SHARD_COLLECTIVE_ALL_REDUCE, SHARD_ALGORITHM_RING, bytes), 72.92 * MS,
            1e-4, "ring in a node");
  checkNear(plainBy(leaders, SHARD_COLLECTIVE_ALL_REDUCE, SHARD_ALGORITHM_RING, bytes), 72.92 * MS,
            1e-4, "ring in one node");
  shardGroupsDestroy(leaders);
  int64_t firsts[32];
  char *error = NULL;
  for (int i = 0; i < 32; ++i)
    firsts[i] = 8 * i;
  leaders = shardGroupsCreate(one, 1, 32, firsts, &error);
  checkNear(plainBy(leaders, SHARD_COLLECTIVE_ALL_REDUCE, SHARD_ALGORITHM_RING, bytes), 242.19 * MS,
            1e-4, "ring over node leaders");
  ShardGroups *all = along(one, 1, 1, 256), *allRails = along(eight, 1, 1, 256);
  checkNear(shardTextbookHierarchicalSeconds(all, bytes), 315.10 * MS, 1e-4,
            "hierarchical, the source's form");
  checkNear(shardTextbookRingSeconds(all, bytes), 249.02 * MS, 1e-4, "flat ring, the source's");
  checkNear(plainBy(all, SHARD_COLLECTIVE_ALL_REDUCE, SHARD_ALGORITHM_RING, bytes), 249.02 * MS,
            1e-4, "flat ring");
  costBy(all, SHARD_COLLECTIVE_ALL_REDUCE, SHARD_ALGORITHM_HIERARCHICAL, SHARD_PROTOCOL_PLAIN,
         bytes, &cost);
  checkNear(cost.terms[1].bytes / cost.terms[1].bytesPerSecond, 242.19 * MS, 1e-4,
            "between nodes that share an uplink");
  checkNear(cost.seconds, 315.10 * MS, 1e-4, "hierarchical over shared uplinks");
  costBy(allRails, SHARD_COLLECTIVE_ALL_REDUCE, SHARD_ALGORITHM_HIERARCHICAL, SHARD_PROTOCOL_PLAIN,
         bytes, &cost);
  checkNear(cost.terms[1].bytes / cost.terms[1].bytesPerSecond, 30.27 * MS, 2e-4,
            "between nodes on a rail each");
  checkNear(cost.seconds, (72.917 + 30.273) * MS, 1e-4, "reduce-scatter first");
  shardCollectiveCost(all, SHARD_COLLECTIVE_ALL_REDUCE, bytes, &cost);
  check(cost.algorithm == SHARD_ALGORITHM_RING, "the ring is chosen",
        shardAlgorithmName(cost.algorithm));
  checkNear(cost.seconds, 249.02 * MS, 1e-4, "the minimum");
  shardGroupsDestroy(inside);
  shardGroupsDestroy(leaders);
  shardGroupsDestroy(all);
  shardGroupsDestroy(allRails);
  shardClusterDestroy(one);
  shardClusterDestroy(eight);

  const Level node[] = {{8, 200, 1, true}};
  ShardCluster *late = plainCluster(1, 1, node, 5e-6);
  ShardGroups *eightRanks = along(late, 1, 1, 8);
  double alone = plainBy(eightRanks, SHARD_COLLECTIVE_ALL_REDUCE, SHARD_ALGORITHM_RING, 1000000);
  double merged = plainBy(eightRanks, SHARD_COLLECTIVE_ALL_REDUCE, SHARD_ALGORITHM_RING, 10000000);
  checkNear(10 * alone - merged, 9 * 14 * 5e-6, 1e-9, "ten messages in one save nine latencies");
  shardGroupsDestroy(eightRanks);
  shardClusterDestroy(late);
}

static double latencyUs(const ShardGroups *groups, ShardAlgorithm algorithm,
                        ShardProtocol protocol) {
  ShardCollectiveCost cost;
  costBy(groups, SHARD_COLLECTIVE_ALL_REDUCE, algorithm, protocol, 8, &cost);
  return cost.latencySeconds / US;
}

/// Latencies that NCCL 2.30 computes itself, and bandwidths of nccl-tests.
static void checkNccl(void) {
  ShardCluster *cluster = preset("dgx-h100:64");
  ShardGroups *node = along(cluster, 2, 2, 8, 8), *two = along(cluster, 2, 2, 4, 16);
  checkNear(latencyUs(node, SHARD_ALGORITHM_RING, SHARD_PROTOCOL_SIMPLE), 56.0, 1e-9, "ring");
  checkNear(latencyUs(node, SHARD_ALGORITHM_RING, SHARD_PROTOCOL_LL), 15.0, 1e-9, "ring LL");
  checkNear(latencyUs(node, SHARD_ALGORITHM_RING, SHARD_PROTOCOL_LL128), 40.6, 1e-9, "ring LL128");
  checkNear(latencyUs(node, SHARD_ALGORITHM_TREE, SHARD_PROTOCOL_LL), 15.2, 1e-9, "tree LL");
  checkNear(latencyUs(node, SHARD_ALGORITHM_TREE, SHARD_PROTOCOL_SIMPLE), 64.4, 1e-9, "tree");
  checkNear(latencyUs(node, SHARD_ALGORITHM_IN_SWITCH, SHARD_PROTOCOL_SIMPLE), 25, 1e-9, "NVLS");
  // 8.4 + 2 (14 x 3.4 + 14), and 6.8 + 2 (7 x 0.6 + 5).
  checkNear(latencyUs(two, SHARD_ALGORITHM_RING, SHARD_PROTOCOL_SIMPLE), 131.6, 1e-9, "two nodes");
  checkNear(latencyUs(two, SHARD_ALGORITHM_TREE, SHARD_PROTOCOL_LL), 25.2, 1e-9, "tree of two");
  checkNear(latencyUs(two, SHARD_ALGORITHM_IN_SWITCH, SHARD_PROTOCOL_SIMPLE), 25 + 2 * 20.9, 1e-9,
            "a tree of switches");
  ShardCollectiveCost cost;
  const int64_t bytes = 17179869184;
  double ring = costBy(node, SHARD_COLLECTIVE_ALL_REDUCE, SHARD_ALGORITHM_RING,
                       SHARD_PROTOCOL_SIMPLE, bytes, &cost);
  double nvls = costBy(node, SHARD_COLLECTIVE_ALL_REDUCE, SHARD_ALGORITHM_IN_SWITCH,
                       SHARD_PROTOCOL_SIMPLE, bytes, &cost);
  checkNear((double)bytes / ring * 1.75 / 1e9, 370, 0.01, "bus bandwidth of rings, 8 x H100");
  checkNear((double)bytes / nvls * 1.75 / 1e9, 480, 0.03, "bus bandwidth of NVLS, 8 x H100");
  shardCollectiveCost(node, SHARD_COLLECTIVE_ALL_REDUCE, bytes, &cost);
  check(cost.algorithm == SHARD_ALGORITHM_IN_SWITCH, "large: in the switch",
        shardAlgorithmName(cost.algorithm));
  shardCollectiveCost(node, SHARD_COLLECTIVE_ALL_REDUCE, 8, &cost);
  check(cost.algorithm == SHARD_ALGORITHM_RING && cost.protocol == SHARD_PROTOCOL_LL, "small: LL",
        shardProtocolName(cost.protocol));
  check(!shardCollectiveCostBy(node, SHARD_COLLECTIVE_ALL_REDUCE, SHARD_ALGORITHM_RING,
                               SHARD_PROTOCOL_PLAIN, 8, &cost),
        "no plain protocol on these links", NULL);
  check(!shardCollectiveCostBy(two, SHARD_COLLECTIVE_ALL_GATHER, SHARD_ALGORITHM_IN_SWITCH,
                               SHARD_PROTOCOL_SIMPLE, 8, &cost),
        "no all-gather in switches of two nodes", NULL);
  // A message between nodes of two pods goes through two more switches.
  ShardCluster *large = preset("dgx-h100:1024");
  ShardTransfer near = {0, 8, 1}, far = {0, 512, 1};
  checkNear((shardTransfersSeconds(large, 1, &far) - shardTransfersSeconds(large, 1, &near)) / US,
            0.3, 1e-6, "a tier more");
  shardGroupsDestroy(node);
  shardGroupsDestroy(two);
  shardClusterDestroy(large);
  shardClusterDestroy(cluster);
}

/// Every constant of NCCL's model: latency before the first hop and of each, by kind of link, and
/// what protocols, trees and switches leave of 100 GB/s; four ranks on one link, a gigabyte.
static void checkConstants(void) {
  static const double hops[3][2][3] = {
      {{.6, 1.9, 3.4}, {.6, 1.25, 4}}, {{1, 2.5, 5.7}, {1, 1.9, 4}}, {{2.7, 4, 14}, {5, 8.5, 14}}};
  static const double bases[2][3] = {{6.6, 14, 8.4}, {6.8, 14, 8.4}}, reached[3] = {.5, .92, 1};
  static const char *const kinds[3] = {"nvlink", "pcie", "network"};
  for (int k = 0; k < 3; ++k) {
    char text[512], *error = NULL;
    snprintf(text, sizeof(text),
             "{\"version\":1,\"name\":\"c\",\"devices\":[{\"kind\":\"d\",\"memoryBytes\":1,"
             "\"memoryBytesPerSecond\":1,\"flops\":{\"f32\":1}}],\"links\":[{\"from\":\"device\","
             "\"to\":\"node\",\"count\":4,\"kind\":\"%s\",\"bytesPerSecond\":{\"achieved\":100e9},"
             "\"latencySeconds\":0,\"inSwitch\":{\"efficiency\":0.85}}],\"nodes\":[{\"kind\":\"d\","
             "\"count\":1}]}",
             kinds[k]);
    ShardCluster *cluster = shardClusterParse("c.json", text, strlen(text), 0, &error);
    check(cluster != NULL, "a cluster of four", error);
    ShardGroups *groups = along(cluster, 1, 1, 4);
    ShardCollectiveCost cost;
    for (int p = 0; p < 3; ++p) {
      const ShardProtocol protocol = (ShardProtocol)(SHARD_PROTOCOL_LL + p);
      costBy(groups, SHARD_COLLECTIVE_ALL_REDUCE, SHARD_ALGORITHM_RING, protocol, 1000000000,
             &cost);
      checkNear(cost.latencySeconds / US, bases[0][p] + 6 * hops[k][0][p], 1e-9, "ring");
      checkNear(cost.transferSeconds, 1.5e-2 / reached[p], 1e-9, "ring");
      // A chain below the network, binary on it: three hops or two, up and down.
      costBy(groups, SHARD_COLLECTIVE_ALL_REDUCE, SHARD_ALGORITHM_TREE, protocol, 1000000000,
             &cost);
      checkNear(cost.latencySeconds / US, bases[1][p] + (k == 2 ? 4 : 6) * hops[k][1][p], 1e-9,
                "tree");
      checkNear(cost.transferSeconds, 2e-2 / reached[p] / .92, 1e-9, "tree");
      // PAT: logarithmic steps, one base for all protocols.
      costBy(groups, SHARD_COLLECTIVE_ALL_GATHER, SHARD_ALGORITHM_RECURSIVE, protocol, 1000000000,
             &cost);
      checkNear(cost.baseSeconds / US, 8, 1e-9, "PAT");
    }
    costBy(groups, SHARD_COLLECTIVE_ALL_REDUCE, SHARD_ALGORITHM_IN_SWITCH, SHARD_PROTOCOL_SIMPLE,
           1000000000, &cost);
    checkNear(cost.latencySeconds / US, k == 2 ? 18 : 25, 1e-9, "NVLS, and its network part");
    checkNear(cost.transferSeconds, 1.25e-2 / .85, 1e-9, "in the switch");
    // What nccl-tests multiply by: (n-1)/n for these, 1 for rooted ones, 2(n-1)/n above.
    static const struct {
      ShardCollectiveKind kind;
      ShardAlgorithm algorithm;
      double factor;
    } factors[] = {{SHARD_COLLECTIVE_REDUCE_SCATTER, SHARD_ALGORITHM_RING, .75},
                   {SHARD_COLLECTIVE_ALL_GATHER, SHARD_ALGORITHM_RING, .75},
                   {SHARD_COLLECTIVE_ALL_TO_ALL, SHARD_ALGORITHM_DIRECT, .75},
                   {SHARD_COLLECTIVE_BROADCAST, SHARD_ALGORITHM_RING, 1},
                   {SHARD_COLLECTIVE_REDUCE, SHARD_ALGORITHM_RING, 1}};
    for (int i = 0; i < 5; ++i) {
      costBy(groups, factors[i].kind, factors[i].algorithm, SHARD_PROTOCOL_SIMPLE, 1000000000,
             &cost);
      checkNear(cost.transferSeconds, factors[i].factor * 1e-2, 1e-9, "bus bandwidth");
    }
    shardGroupsDestroy(groups);
    shardClusterDestroy(cluster);
  }
}

/// What groups share, and what they do not.
static void checkSharing(void) {
  const int64_t bytes = 1000000000;
  const Level shared[] = {{8, 1000, 1, true}, {2, 100, 1, true}};
  const Level rails[] = {{8, 1000, 1, true}, {2, 100, 8, false}};
  const Level pooled[] = {{8, 1000, 1, true}, {2, 100, 8, true}};
  const Level two[] = {{8, 1000, 1, true}, {2, 100, 2, false}};
  const struct {
    const Level *levels;
    double seconds; // of one pair of nodes' ranks, among eight at once
    double alone;
  } rows[] = {
      {shared, 0.08, 0.01}, {rails, 0.01, 0.01}, {pooled, 0.01, 0.00125}, {two, 0.04, 0.01}};
  for (int i = 0; i < 4; ++i) {
    char *error = NULL;
    const int64_t pair[] = {0, 8};
    ShardCluster *cluster = plainCluster(2, 2, rows[i].levels, 0);
    ShardGroups *many = along(cluster, 1, 2, 2, 8),
                *one = shardGroupsCreate(cluster, 1, 2, pair, &error);
    checkNear(plainBy(many, SHARD_COLLECTIVE_ALL_REDUCE, SHARD_ALGORITHM_RING, bytes),
              rows[i].seconds, 1e-9, "eight pairs at once");
    checkNear(plainBy(one, SHARD_COLLECTIVE_ALL_REDUCE, SHARD_ALGORITHM_RING, bytes),
              fmax(rows[i].alone, 0.001), 1e-9, "a pair alone");
    shardGroupsDestroy(many);
    shardGroupsDestroy(one);
    shardClusterDestroy(cluster);
  }
}

static void checkMeasured(const char *path) {
  char *error = NULL;
  ShardCollectiveCost cost;
  ShardCluster *cluster = shardClusterCreate(path, &error);
  if (!cluster) {
    check(false, "refused", error);
    return;
  }
  int64_t devices[32];
  for (int i = 0; i < 32; ++i)
    devices[i] = i;
  ShardGroups *sixteen = shardGroupsCreate(cluster, 1, 16, devices, &error);
  ShardGroups *eight = shardGroupsCreate(cluster, 1, 8, devices, &error);
  ShardGroups *all = shardGroupsCreate(cluster, 1, 32, devices, &error);
  shardCollectiveCost(sixteen, SHARD_COLLECTIVE_ALL_REDUCE, 1000000, &cost);
  check(cost.algorithm == SHARD_ALGORITHM_MEASURED, "measured wins", NULL);
  checkNear(cost.seconds, 2e-5 + 1e6 / 5e9, 1e-9, "as measured");
  shardCollectiveCost(sixteen, SHARD_COLLECTIVE_REDUCE_SCATTER, 1000000, &cost);
  check(cost.algorithm != SHARD_ALGORITHM_MEASURED, "not measured", NULL);
  shardCollectiveCost(eight, SHARD_COLLECTIVE_ALL_REDUCE, 1000000, &cost);
  check(cost.algorithm != SHARD_ALGORITHM_MEASURED, "measured on a higher link", NULL);
  shardCollectiveCost(all, SHARD_COLLECTIVE_ALL_REDUCE, 1000000, &cost);
  check(cost.algorithm == SHARD_ALGORITHM_RING, "irregular: no hierarchy, no tree in the list",
        shardAlgorithmName(cost.algorithm));
  shardGroupsDestroy(sixteen);
  shardGroupsDestroy(eight);
  shardGroupsDestroy(all);
  devices[1] = 0;
  check(!shardGroupsCreate(cluster, 1, 2, devices, &error) &&
            strcmp(error, "device 0 is twice in a group") == 0,
        "twice", error);
  free(error);
  devices[1] = 32;
  check(!shardGroupsCreate(cluster, 1, 2, devices, &error) &&
            strcmp(error, "device 32 is not in the cluster, which has 32") == 0,
        "out of range", error);
  free(error);
  shardClusterDestroy(cluster);
}

//===----------------------------------------------------------------------===//
// Against messages
//===----------------------------------------------------------------------===//

static uint64_t state;
static int64_t draw(int64_t n) { // xorshift64*
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return (int64_t)((state * 2685821657736338717u >> 33) % (uint64_t)n);
}

static int byNumber(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/// Disjoint groups of equal size, drawn; each sorted when `sorted`.
static void drawGroups(int64_t nDevices, int64_t nGroups, int64_t nRanks, bool sorted,
                       int64_t *devices) {
  int64_t *all = malloc((size_t)nDevices * sizeof(*all));
  for (int64_t i = 0; i < nDevices; ++i)
    all[i] = i;
  for (int64_t i = 0; i < nGroups * nRanks; ++i) {
    int64_t k = i + draw(nDevices - i), other = all[k];
    all[k] = all[i];
    devices[i] = all[i] = other;
  }
  for (int64_t g = 0; sorted && g < nGroups; ++g)
    qsort(devices + g * nRanks, (size_t)nRanks, sizeof(*devices), byNumber);
  free(all);
}

/// Seconds of `rounds` equal rounds in which each rank sends to those at the given distances.
static double simulate(const ShardCluster *cluster, int64_t nGroups, int64_t nRanks,
                       const int64_t *devices, int64_t firstDistance, int64_t lastDistance,
                       int64_t bytes) {
  ShardTransfer *list = malloc((size_t)(nGroups * nRanks * nRanks) * sizeof(*list));
  int64_t n = 0;
  for (int64_t g = 0; g < nGroups; ++g)
    for (int64_t i = 0; i < nRanks; ++i)
      for (int64_t d = firstDistance; d <= lastDistance; ++d)
        list[n++] =
            (ShardTransfer){devices[g * nRanks + i], devices[g * nRanks + (i + d) % nRanks], bytes};
  double seconds = shardTransfersSeconds(cluster, n, list);
  free(list);
  return seconds;
}

/// On shared uplinks of random trees: rings and all-to-alls are what their messages are, a ring in
/// the order of ranks is what a permute is, and nothing is shorter than the minimum.
static void checkMessages(void) {
  for (int run = 0; run < 300; ++run) {
    state = 88172645463325252u + (uint64_t)run;
    Level levels[4];
    int nLevels = 1 + (int)draw(4), nNodes = 1;
    for (int i = 0; i < nLevels; ++i)
      levels[i] = (Level){1 + (int)draw(4), 1 + (double)draw(200), 1 + (int)draw(3), true};
    for (int i = 1; i < nLevels; ++i)
      nNodes *= levels[i].count;
    nNodes -= nNodes > 1 && draw(2);
    ShardCluster *cluster = plainCluster(nNodes, nLevels, levels, 0);
    int64_t nDevices = cluster->nDevices;
    if (nDevices < 2) {
      shardClusterDestroy(cluster);
      continue;
    }
    int64_t nRanks = 2 + draw(nDevices - 1), nGroups = 1 + draw(nDevices / nRanks);
    int64_t bytes = nRanks * (1 + draw(1000000)), *devices = malloc((size_t)nDevices * 8);
    char *error = NULL;
    drawGroups(nDevices, nGroups, nRanks, true, devices);
    ShardGroups *groups = shardGroupsCreate(cluster, nGroups, nRanks, devices, &error);
    double step = simulate(cluster, nGroups, nRanks, devices, 1, 1, bytes / nRanks);
    // Groups of unlike place share links, and each is charged as its own busiest link demands.
    double ring = plainBy(groups, SHARD_COLLECTIVE_ALL_GATHER, SHARD_ALGORITHM_RING, bytes);
    checkNear(ring, (double)(nRanks - 1) * step, 1e-9, "ring");
    double all = plainBy(groups, SHARD_COLLECTIVE_ALL_TO_ALL, SHARD_ALGORITHM_DIRECT, bytes);
    double sent = simulate(cluster, nGroups, nRanks, devices, 1, nRanks - 1, bytes / nRanks);
    if (nGroups == 1)
      checkNear(all, sent, 1e-9, "all-to-all");
    // Unlike groups are each charged an equal share of a link: never less than what it carries.
    check(all >= sent * (1 - 1e-9) && all <= sent * (double)nGroups * (1 + 1e-9), "all-to-alls",
          NULL);
    ShardCollectiveCost best, other;
    for (int k = 0; k < SHARD_N_COLLECTIVE_KINDS; ++k) {
      shardCollectiveCost(groups, (ShardCollectiveKind)k, bytes, &best);
      check(best.seconds > 0 && isfinite(best.seconds), "a time", NULL);
      for (int a = 0; a < SHARD_N_ALGORITHMS; ++a)
        if (shardCollectiveCostBy(groups, (ShardCollectiveKind)k, (ShardAlgorithm)a,
                                  SHARD_PROTOCOL_PLAIN, bytes, &other))
          check(other.seconds >= best.seconds, "the minimum",
                shardAlgorithmName((ShardAlgorithm)a));
      shardCollectiveCost(groups, (ShardCollectiveKind)k, 2 * bytes, &other);
      check(other.seconds >= best.seconds, "more bytes, less time", NULL);
    }
    shardGroupsDestroy(groups);
    drawGroups(nDevices, nGroups, nRanks, false, devices);
    groups = shardGroupsCreate(cluster, nGroups, nRanks, devices, &error);
    checkNear(plainBy(groups, SHARD_COLLECTIVE_PERMUTE, SHARD_ALGORITHM_DIRECT, bytes),
              simulate(cluster, nGroups, nRanks, devices, 1, 1, bytes), 1e-9, "permute");
    shardGroupsDestroy(groups);
    shardClusterDestroy(cluster);
    free(devices);
  }
}

/// On a tree of powers of two, halving and rings in each vertex move the same bytes, in fewer
/// steps.
static void checkRegular(void) {
  const Level levels[] = {{4, 300, 1, true}, {8, 25, 4, false}, {2, 100, 1, true}};
  ShardCluster *cluster = plainCluster(16, 3, levels, 1e-6);
  ShardGroups *groups = along(cluster, 1, 1, 64);
  ShardCollectiveCost rings, halving;
  for (int k = SHARD_COLLECTIVE_ALL_REDUCE; k <= SHARD_COLLECTIVE_ALL_GATHER; ++k) {
    costBy(groups, (ShardCollectiveKind)k, SHARD_ALGORITHM_HIERARCHICAL, SHARD_PROTOCOL_PLAIN,
           1 << 20, &rings);
    costBy(groups, (ShardCollectiveKind)k, SHARD_ALGORITHM_RECURSIVE, SHARD_PROTOCOL_PLAIN, 1 << 20,
           &halving);
    checkNear(halving.transferSeconds, rings.transferSeconds, 1e-12, "the same bytes");
    double rounds = k == SHARD_COLLECTIVE_ALL_REDUCE ? 2 : 1;
    checkNear(rings.latencySeconds, rounds * (3 * 1 + 7 * 2 + 1 * 3) * US, 1e-9, "steps of rings");
    checkNear(halving.latencySeconds, rounds * (2 * 1 + 3 * 2 + 1 * 3) * US, 1e-9,
              "steps of halving");
  }
  const Level flat[] = {{8, 100, 1, true}};
  ShardCluster *small = plainCluster(1, 1, flat, 1e-6);
  ShardGroups *eight = along(small, 1, 1, 8);
  const int64_t bytes = 800000000;
  checkNear(plainBy(eight, SHARD_COLLECTIVE_ALL_TO_ALL, SHARD_ALGORITHM_RECURSIVE, bytes),
            3e-6 + 1.5 * 8e-3, 1e-9, "Bruck: three halves in three steps");
  checkNear(plainBy(eight, SHARD_COLLECTIVE_ALL_TO_ALL, SHARD_ALGORITHM_DIRECT, bytes),
            7e-6 + 0.875 * 8e-3, 1e-9, "one to one: seven eighths in seven steps");
  checkNear(plainBy(eight, SHARD_COLLECTIVE_BROADCAST, SHARD_ALGORITHM_TREE, bytes), 3e-6 + 8e-3,
            1e-9, "broadcast by trees");
  checkNear(plainBy(eight, SHARD_COLLECTIVE_BROADCAST, SHARD_ALGORITHM_RING, bytes), 7e-6 + 8e-3,
            1e-9, "broadcast by a chain");
  checkNear(plainBy(eight, SHARD_COLLECTIVE_BROADCAST, SHARD_ALGORITHM_RECURSIVE, bytes),
            6e-6 + 1.75 * 8e-3, 1e-9, "broadcast: scatter and all-gather");
  checkNear(plainBy(eight, SHARD_COLLECTIVE_REDUCE, SHARD_ALGORITHM_TREE, bytes), 3e-6 + 8e-3, 1e-9,
            "reduce by trees");
  checkNear(plainBy(eight, SHARD_COLLECTIVE_ALL_REDUCE, SHARD_ALGORITHM_TREE, bytes),
            6e-6 + 2 * 8e-3, 1e-9, "all-reduce by trees");
  checkNear(plainBy(eight, SHARD_COLLECTIVE_SEND, SHARD_ALGORITHM_DIRECT, bytes), 1e-6 + 8e-3, 1e-9,
            "send");
  shardGroupsDestroy(eight);
  // By levels: 3/4 N at 300 GB/s; of 4 ranks 7/8 N over 4 x 25; of 32 ranks 1/2 N over 100.
  checkNear(plainBy(groups, SHARD_COLLECTIVE_ALL_TO_ALL, SHARD_ALGORITHM_HIERARCHICAL, bytes),
            20e-6 + 2e-3 + 28e-3 + 128e-3, 1e-9, "all-to-all level by level");
  shardClusterDestroy(small);
  ShardGroups *three = along(cluster, 1, 1, 3), *one = along(cluster, 1, 1, 1);
  check(!shardCollectiveCostBy(three, SHARD_COLLECTIVE_ALL_REDUCE, SHARD_ALGORITHM_RECURSIVE,
                               SHARD_PROTOCOL_PLAIN, 8, &halving),
        "no halving of three", NULL);
  shardCollectiveCost(one, SHARD_COLLECTIVE_ALL_REDUCE, 1 << 20, &halving);
  check(halving.seconds == 0, "one rank takes no time", NULL);
  shardCollectiveCost(groups, SHARD_COLLECTIVE_ALL_REDUCE, 0, &halving);
  check(halving.seconds == 0, "nothing takes no time", NULL);
  shardGroupsDestroy(three);
  shardGroupsDestroy(one);
  shardGroupsDestroy(groups);
  shardClusterDestroy(cluster);
}

/// Groups and messages that lie differently have profiles of their own; all together take as long
/// as the slowest of them.
static void checkProfiles(void) {
  const Level levels[] = {{4, 10, 1, true}, {4, 1, 1, true}};
  ShardCluster *cluster = plainCluster(4, 2, levels, 1e-6);
  const int64_t bytes = 8000000;
  // Two pairs in a node, two across nodes that have an uplink each for themselves.
  const int64_t devices[] = {0, 1, 4, 5, 2, 6, 8, 12};
  char *error = NULL;
  ShardGroups *groups = shardGroupsCreate(cluster, 4, 2, devices, &error);
  check(shardGroupsGetProfileCount(groups) == 2, "two sorts of pairs", NULL);
  ShardCollectiveCost whole, inside, across;
  int32_t near = shardGroupsGetProfile(groups, 1), far = shardGroupsGetProfile(groups, 2);
  check(near == shardGroupsGetProfile(groups, 0) && far == shardGroupsGetProfile(groups, 3),
        "profiles of groups", NULL);
  check(shardGroupsGetProfile(groups, 4) == -1, "a group out of range", NULL);
  shardCollectiveCost(groups, SHARD_COLLECTIVE_ALL_GATHER, bytes, &whole);
  shardCollectiveCostOf(groups, near, SHARD_COLLECTIVE_ALL_GATHER, bytes, &inside);
  shardCollectiveCostOf(groups, far, SHARD_COLLECTIVE_ALL_GATHER, bytes, &across);
  checkNear(inside.seconds, 1e-6 + 0.4e-3, 1e-9, "a pair in a node");
  checkNear(across.seconds, 2e-6 + 4e-3, 1e-9, "a pair across nodes");
  checkNear(whole.seconds, across.seconds, 0, "the slowest");
  shardGroupsDestroy(groups);
  // Two messages leave node 0 for node 1, one stays in it, one goes nowhere.
  const int64_t from[] = {0, 1, 2, 3}, to[] = {4, 5, 3, 3};
  ShardTraffic *traffic = shardTrafficCreate(cluster, 4, from, to);
  const double expected[] = {2e-6 + 16e-3, 2e-6 + 16e-3, 1e-6 + 0.8e-3, 0};
  for (int i = 0; i < 4; ++i)
    checkNear(shardTrafficSeconds(traffic, shardTrafficGetProfile(traffic, i), bytes), expected[i],
              1e-9, "a message by itself");
  check(shardTrafficGetProfileCount(traffic) == 3, "three sorts of messages", NULL);
  check(shardTrafficGetProfile(traffic, 4) == -1, "a message out of range", NULL);
  shardTrafficDestroy(traffic);
  shardClusterDestroy(cluster);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: shard-cost-collectives TWO-KINDS.json\n");
    return 2;
  }
  checkTextbook();
  checkNccl();
  checkConstants();
  checkSharing();
  checkMeasured(argv[1]);
  checkMessages();
  checkRegular();
  checkProfiles();
  printf("%d checks, %d failures\n", nChecks, nFailures);
  return nFailures != 0;
}
