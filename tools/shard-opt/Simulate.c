//===- Simulate.c - shard-opt --simulate --------------------------*- C -*-===//
#include "Simulate.h"

#include "Cluster.h"

#include <stdio.h>
#include <string.h>

bool shardOptCheckSimulate(const ShardOptOptions *options) {
  const char *other = options->printCluster     ? "print-cluster"
                      : options->explainCost    ? "explain-cost"
                      : options->emitGiven      ? "emit"
                      : options->stopAfter      ? "stop-after"
                      : options->stage >= 0     ? "stage"
                      : options->bytecode       ? "emit-bytecode"
                      : options->splitWeights   ? "split-weights"
                      : options->extractWeights ? "extract-weights"
                                                : NULL;
  if (other)
    return shardOptFail("'--simulate' writes times, not the program; it does not go with --%s",
                        other);
  return options->cluster ||
         shardOptFail("'--simulate' needs a cluster: --cluster=FILE|PRESET[:DEVICES]");
}

bool shardOptSimulate(const ShardOptOptions *options, MlirOperation module) {
  char *error = NULL;
  ShardCluster *cluster = shardClusterCreate(options->cluster, &error);
  if (!cluster)
    return shardOptFailOwned(error);
  ShardSimulation *simulation = shardSimulationCreate(module, cluster, NULL);
  bool ok = simulation && shardOptWriteText(options, strcmp(options->simulate, "json") == 0
                                                         ? shardSimulationFormatJson(simulation)
                                                         : shardSimulationFormatText(simulation));
  shardSimulationDestroy(simulation);
  shardClusterDestroy(cluster);
  return ok;
}

bool shardOptAddTimes(const ShardOptOptions *options, MlirOperation module, ShardReport *report) {
  char *error = NULL;
  ShardCluster *cluster = shardClusterCreate(options->cluster, &error);
  if (!cluster)
    return shardOptFailOwned(error);
  ShardSimulation *simulation = shardSimulationCreate(module, cluster, NULL);
  if (simulation)
    shardReportAddTimes(report, cluster, simulation);
  shardSimulationDestroy(simulation);
  shardClusterDestroy(cluster);
  return simulation != NULL;
}
