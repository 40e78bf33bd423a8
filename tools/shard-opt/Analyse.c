//===- Analyse.c - shard-opt --analyse ----------------------------*- C -*-===//
#include "Analyse.h"

#include "Cluster.h"
#include "Simulate.h"

#include "shard/Analyse.h"

#include <string.h>

bool shardOptCheckAnalyse(const ShardOptOptions *options) {
  const char *other = options->degrees                 ? "auto-shard"
                      : options->simulate              ? "simulate"
                      : options->printCluster          ? "print-cluster"
                      : options->explainCost           ? "explain-cost"
                      : options->nReports              ? "report"
                      : options->trace                 ? "trace"
                      : options->dumpAnnotations       ? "dump-annotations"
                      : options->explain               ? "explain"
                      : options->forbid                ? "forbid"
                      : options->maxCommBytes >= 0     ? "max-comm-bytes"
                      : options->noImplicitComm        ? "no-implicit-comm"
                      : options->noImplicitReplication ? "no-implicit-replication"
                      : options->memoryLimit >= 0      ? "memory-limit"
                                                       : shardOptProgramOption(options);
  return !other || shardOptFail("'--analyse' looks at a model before any layout is chosen; it does "
                                "not go with --%s",
                                other);
}

bool shardOptAnalyse(const ShardOptOptions *options, MlirOperation module) {
  char *error = NULL;
  ShardCluster *cluster = options->cluster ? shardClusterCreate(options->cluster, &error) : NULL;
  if (options->cluster && !cluster)
    return shardOptFailOwned(error);
  double target = options->targetParameters > 0 ? options->targetParameters : 200e12;
  ShardSizeAnalysis *analysis = shardSizeAnalysisCreate(module, cluster, target);
  ShardWarningOptions warnings = shardOptWarningOptions(options);
  bool ok = analysis &&
            mlirLogicalResultIsSuccess(shardSizeAnalysisWarn(module, analysis, &warnings)) &&
            shardOptWriteText(options, strcmp(options->analyse, "json") == 0
                                           ? shardSizeAnalysisFormatJson(analysis)
                                           : shardSizeAnalysisFormatText(analysis));
  shardSizeAnalysisDestroy(analysis);
  shardClusterDestroy(cluster);
  return ok;
}
