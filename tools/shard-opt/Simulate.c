//===- Simulate.c - shard-opt --simulate --------------------------*- C -*-===//
#include "Simulate.h"

#include "Cluster.h"

#include "shard/Warnings.h"

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
  ShardOptTimes times;
  bool ok = shardOptTimesCreate(options, module, &times) &&
            shardOptWriteText(options, strcmp(options->simulate, "json") == 0
                                           ? shardSimulationFormatJson(times.simulation)
                                           : shardSimulationFormatText(times.simulation));
  shardOptTimesRelease(&times);
  return ok;
}

bool shardOptTimesCreate(const ShardOptOptions *options, MlirOperation module, ShardOptTimes *out) {
  char *error = NULL;
  *out = (ShardOptTimes){.cluster = shardClusterCreate(options->cluster, &error)};
  if (!out->cluster)
    return shardOptFailOwned(error);
  out->simulation = shardSimulationCreate(module, out->cluster, NULL);
  return out->simulation &&
         mlirLogicalResultIsSuccess(shardModuleWarn(module, out->cluster, out->simulation,
                                                    options->silence, options->error));
}

void shardOptTimesRelease(ShardOptTimes *times) {
  shardSimulationDestroy(times->simulation);
  shardClusterDestroy(times->cluster);
}
