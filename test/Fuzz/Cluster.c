//===- Cluster.c - Fuzz target: the file of --cluster -------------*- C -*-===//
// Whatever is taken can be asked about, and what is printed of it is taken again as the same.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "shard/Cluster.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sizeBytes);

static void require(bool holds, const char *what) {
  if (holds)
    return;
  fprintf(stderr, "fuzz-cluster: broken: %s\n", what);
  abort();
}

static ShardCluster *parse(const char *text, size_t length, int64_t nDevices) {
  char *error = NULL;
  ShardCluster *cluster = shardClusterParse("c.json", text, length, nDevices, &error);
  require(cluster ? !error
                  : error && strncmp(error, "c.json:", 7) == 0 && strstr(error, ": error: ") &&
                        !strchr(error, '\n'),
          "a refusal is one error with a place");
  free(error);
  return cluster;
}

static void ask(const ShardCluster *cluster) {
  require(cluster->nDevices >= cluster->nNodes && cluster->nNodes >= 1, "there are devices");
  int64_t last = cluster->nDevices - 1;
  require(shardClusterDeviceKind(cluster, last) && !shardClusterDeviceKind(cluster, last + 1),
          "each device has a kind");
  ShardClusterLevel top = cluster->links[cluster->nLinks - 1].to;
  require(shardClusterVertexOf(cluster, last, top) == 0, "one top holds all");
  require(shardClusterVertexOf(cluster, last, cluster->links[0].to) == cluster->nNodes - 1,
          "the last device is in the last node");
  require(shardClusterDistance(cluster, 0, last) <= 100, "all devices are linked");
  require(shardClusterFailuresPerDay(cluster) >= 0, "failures are counted");
  for (int32_t i = 0; i < cluster->nDeviceKinds; ++i) {
    const ShardDeviceKind *kind = &cluster->deviceKinds[i];
    require(shardRateEffective(cluster, &kind->memoryBytesPerSecond) > 0, "memory has a rate");
    double fraction = shardCurveEvaluate(&kind->memoryEfficiency, 12345);
    require(fraction > 0 && fraction <= 1000,
            "memory is at most a thousand times as fast in caches");
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sizeBytes) {
  const char *text = sizeBytes ? (const char *)data : "";
  shardClusterDestroy(parse(text, sizeBytes, 16));
  ShardCluster *cluster = parse(text, sizeBytes, 0);
  if (!cluster)
    return 0;
  ask(cluster);
  char *shown = shardClusterFormatText(cluster), *json = shardClusterFormatJson(cluster);
  ShardCluster *again = parse(json, strlen(json), 0);
  require(again, "what is printed is taken");
  char *shownAgain = shardClusterFormatText(again);
  require(strcmp(shown, shownAgain) == 0, "what is printed is the same cluster");
  free(shown);
  free(shownAgain);
  free(json);
  shardClusterDestroy(again);
  shardClusterDestroy(cluster);
  return 0;
}
