//===- FormatCluster.c - A cluster as text ------------------------*- C -*-===//
#define _GNU_SOURCE
#include "Cluster.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// "312 T", with three digits or four.
static const char *scaled(double value, char *text, size_t textBytes) {
  static const char *const prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  int i = 0;
  while (i < 6 && value >= 1000) {
    value /= 1000;
    ++i;
  }
  snprintf(text, textBytes, "%.4g %s", value, prefixes[i]);
  return text;
}

static void printSource(FILE *out, const char *source) {
  if (source && *source)
    fprintf(out, "  (%s)", source);
  fputc('\n', out);
}

static void printRate(FILE *out, const ShardCluster *cluster, const char *name,
                      const ShardRate *rate, const char *unit) {
  char effective[32], peak[32];
  fprintf(out, "  %-26s %s%s", name,
          scaled(shardRateEffective(cluster, rate), effective, sizeof(effective)), unit);
  const char *how = rate->achieved.given && !rate->achieved.measured ? "achieved" : "measured";
  if (rate->achieved.given && rate->peak.given)
    fprintf(out, ", %s of %s%s", how, scaled(rate->peak.value, peak, sizeof(peak)), unit);
  else if (rate->achieved.given || rate->peak.measured)
    fprintf(out, ", %s", how);
  else
    fprintf(out, ", %g of %s%s", cluster->derating, scaled(rate->peak.value, peak, sizeof(peak)),
            unit);
  printSource(out, rate->achieved.given ? rate->achieved.source : rate->peak.source);
}

/// Functions, shapes, and what neighbours leave.
static void printMeasured(FILE *out, const ShardCluster *cluster, const ShardDeviceKind *kind) {
  for (int t = 0; t < SHARD_N_RATE_TYPES; ++t)
    for (int f = 0; f < SHARD_N_FUNCTIONS; ++f) {
      char name[32];
      snprintf(name, sizeof(name), "%s, %s", shardFunctionNames[f], shardRateTypeNames[t]);
      if (kind->hasFunctions[t][f])
        printRate(out, cluster, name, &kind->functions[t][f], "/s");
    }
  for (int t = 0; t < SHARD_N_RATE_TYPES; ++t) {
    char name[32];
    const ShardShapeGrid *grid = &kind->shapes[t];
    snprintf(name, sizeof(name), "efficiency, %s", shardRateTypeNames[t]);
    if (grid->nSizes[0])
      fprintf(out, "  %-26s of %td shapes\n", name,
              grid->nSizes[0] * grid->nSizes[1] * grid->nSizes[2]);
  }
  if (kind->tiles.units) {
    fprintf(out, "  %-26s %" PRId64 " at a time, of", "tiles of contractions", kind->tiles.units);
    for (int32_t i = 0; i < kind->tiles.nSizes; ++i)
      fprintf(out, "%s %" PRId64 " x %" PRId64, i ? "," : "", kind->tiles.sizes[i][0],
              kind->tiles.sizes[i][1]);
    printSource(out, kind->tiles.source);
  }
  if (kind->allBusy.devices)
    fprintf(out, "  %-26s %g of its rates\n", "beside busy neighbours", kind->allBusy.flops);
}

static void printKind(FILE *out, const ShardCluster *cluster, const ShardDeviceKind *kind) {
  char memory[32], usable[32];
  fprintf(out, "device kind %s\n", kind->name);
  fprintf(out, "  %-26s %sB, %sB to use", "memory",
          scaled(kind->memoryBytes.value, memory, sizeof(memory)),
          scaled(shardClusterUsableBytes(cluster, kind), usable, sizeof(usable)));
  printSource(out, kind->memoryBytes.source);
  printRate(out, cluster, "memory bandwidth", &kind->memoryBytesPerSecond, "B/s");
  for (int t = 0; t < SHARD_N_RATE_TYPES; ++t) {
    char name[32];
    snprintf(name, sizeof(name), "contractions, %s", shardRateTypeNames[t]);
    if (kind->hasFlops[t])
      printRate(out, cluster, name, &kind->flops[t], "flop/s");
  }
  for (int t = 0; t < SHARD_N_RATE_TYPES; ++t) {
    char name[32];
    snprintf(name, sizeof(name), "other ops, %s", shardRateTypeNames[t]);
    if (kind->hasVectorFlops[t])
      printRate(out, cluster, name, &kind->vectorFlops[t], "flop/s");
  }
  printMeasured(out, cluster, kind);
  if (kind->launchSeconds.given) {
    fprintf(out, "  %-26s %g us", "launch of an op", kind->launchSeconds.value * 1e6);
    printSource(out, kind->launchSeconds.source);
  }
  if (kind->failuresPerDay.given) {
    fprintf(out, "  %-26s %g", "failures a day", kind->failuresPerDay.value);
    printSource(out, kind->failuresPerDay.source);
  }
  if (kind->hasPort)
    printRate(out, cluster, "its link", &kind->portBytesPerSecond, "B/s");
}

static void printLink(FILE *out, const ShardCluster *cluster, int32_t index) {
  const ShardClusterLink *link = &cluster->links[index];
  fprintf(out, "link %s to %s: %s, %" PRId64 " below one\n", shardClusterLevelNames[link->from],
          shardClusterLevelNames[link->to], shardLinkKindNames[link->kind], link->count);
  printRate(out, cluster, "bandwidth of a rail", &link->bytesPerSecond, "B/s");
  if (link->rails > 1)
    fprintf(out, "  %-26s %" PRId64 ", %s\n", "rails", link->rails,
            link->shared ? "all for any device below" : "one for each device below");
  fprintf(out, "  %-26s %g us", "latency", link->latencySeconds.value * 1e6);
  printSource(out, link->latencySeconds.source);
  if (link->inSwitch)
    fprintf(out, "  %-26s at %g of the bandwidth\n", "reduces in the switch",
            link->inSwitchEfficiency);
  if (link->nMeasured)
    fprintf(out, "  %-26s %" PRIdPTR "\n", "measured collectives", link->nMeasured);
}

static void printTier(FILE *out, const ShardCluster *cluster, const ShardMemoryTier *tier) {
  char bytes[32];
  fprintf(out, "memory %s: one a %s\n", tier->name, shardClusterLevelNames[tier->owner]);
  fprintf(out, "  %-26s %sB", "size", scaled(tier->bytes.value, bytes, sizeof(bytes)));
  printSource(out, tier->bytes.source);
  printRate(out, cluster, "bandwidth", &tier->bytesPerSecond, "B/s");
  if (tier->hasDeviceRate)
    printRate(out, cluster, "of a device at most", &tier->deviceBytesPerSecond, "B/s");
  fprintf(out, "  %-26s %g us", "latency", tier->latencySeconds.value * 1e6);
  printSource(out, tier->latencySeconds.source);
}

char *shardClusterFormatText(const ShardCluster *cluster) {
  char *text = NULL;
  size_t length = 0;
  FILE *out = open_memstream(&text, &length);
  if (!out)
    return NULL;
  fprintf(out, "cluster %s: %" PRId64 " device%s in %" PRId64 " node%s\n", cluster->name,
          cluster->nDevices, cluster->nDevices == 1 ? "" : "s", cluster->nNodes,
          cluster->nNodes == 1 ? "" : "s");
  if (*cluster->description)
    fprintf(out, "%s\n", cluster->description);
  fprintf(out, "derating %g of rates that nobody measured; reserve %g of device memory\n",
          cluster->derating, cluster->reserve);
  fprintf(out, "collectives by");
  for (int i = 0; i < SHARD_ALGORITHM_DIRECT; ++i)
    if (cluster->algorithms[i])
      fprintf(out, " %s", shardAlgorithmNames[i]);
  fprintf(out, "\nexpected failures a day: %.3g\n", shardClusterFailuresPerDay(cluster));
  for (int32_t i = 0; i < cluster->nNodeRuns; ++i) {
    const ShardClusterNodes *run = &cluster->nodeRuns[i];
    fprintf(out, "nodes: %" PRId64 " of %" PRId64 " %s\n", run->count, run->devicesPerNode,
            cluster->deviceKinds[run->kind].name);
  }
  for (int32_t i = 0; i < cluster->nDeviceKinds; ++i)
    printKind(out, cluster, &cluster->deviceKinds[i]);
  for (int32_t i = 0; i < cluster->nLinks; ++i)
    printLink(out, cluster, i);
  for (int32_t i = 0; i < cluster->nTiers; ++i)
    printTier(out, cluster, &cluster->tiers[i]);
  fclose(out);
  return text;
}

/// Short numbers where that loses nothing, as 0.85; else all seventeen digits.
static char *dumpExactly(const json_t *root) {
  char *text = json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
  json_t *again = text ? json_loads(text, 0, NULL) : NULL;
  bool same = again && json_equal(again, (json_t *)root);
  json_decref(again);
  if (same)
    return text;
  free(text);
  return json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
}

char *shardClusterFormatJson(const ShardCluster *cluster) {
  const ShardClusterMemory *memory = cluster->memory;
  char *dumped = dumpExactly(memory->root), *text = NULL;
  if (dumped && asprintf(&text, "%s\n", dumped) < 0)
    text = NULL;
  free(dumped);
  return text;
}
