//===- Simulate.c - shard-opt --simulate --------------------------*- C -*-===//
#include "Simulate.h"

#include "Cluster.h"

#include <stdio.h>
#include <string.h>

bool shardOptCheckSimulate(const ShardOptOptions *options) {
  const char *other = options->printCluster  ? "print-cluster"
                      : options->explainCost ? "explain-cost"
                                             : shardOptProgramOption(options);
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

ShardWarningOptions shardOptWarningOptions(const ShardOptOptions *options) {
  return (ShardWarningOptions){.silenced = options->silence,
                               .errors = options->error,
                               .thresholds = options->threshold,
                               .budget = options->budget,
                               .assumedOverlap = options->assumedOverlap,
                               .checkpointInterval = options->checkpointInterval};
}

/// An option of warnings that nothing would read; --analyse knows a budget alone. Null: none.
static const char *unreadOption(const ShardOptOptions *options) {
  if (options->simulate || (options->cluster && (options->nReports || options->trace)))
    return NULL;
  bool analysed = options->analyse && options->budget;
  return options->assumedOverlap       ? "assume-overlap"
         : options->checkpointInterval ? "checkpoint-interval"
         : analysed                    ? NULL
         : options->silence            ? "silence"
         : options->error              ? "error"
         : options->threshold          ? "threshold"
         : options->budget             ? "budget"
                                       : NULL;
}

bool shardOptCheckWarnings(const ShardOptOptions *options) {
  const char *unread = unreadOption(options);
  if (unread)
    return shardOptFail("'--%s' is for --simulate, and for --report and --trace with --cluster%s",
                        unread, options->budget ? "; --analyse has --budget" : "");
  ShardWarningOptions warnings = shardOptWarningOptions(options);
  char *error = shardWarningOptionsCheck(&warnings);
  return !error || shardOptFailOwned(error);
}

static MlirWalkResult lookAtOp(MlirOperation op, void *user) {
  bool *found = user; // a grid, an op that says how a model is to be sharded
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  found[0] |= mlirStringRefEqual(name, mlirStringRefCreateFromCString("shard.grid"));
  found[1] |= mlirStringRefEqual(name, mlirStringRefCreateFromCString("shard.sharding"));
  return found[1] ? MlirWalkResultInterrupt : MlirWalkResultAdvance;
}

bool shardOptReportsProgram(const ShardOptOptions *options, MlirOperation module) {
  bool found[2] = {false, false};
  if ((!options->nReports && !options->trace) || options->degrees || options->dumpAnnotations ||
      options->stage >= 0 || options->emit != SHARD_OPT_EMIT_MLIR)
    return false;
  mlirOperationWalk(module, lookAtOp, found, MlirWalkPreOrder);
  return found[0] && !found[1];
}

bool shardOptTimesCreate(const ShardOptOptions *options, MlirOperation module, ShardOptTimes *out) {
  char *error = NULL;
  *out = (ShardOptTimes){.cluster = shardClusterCreate(options->cluster, &error)};
  if (!out->cluster)
    return shardOptFailOwned(error);
  out->simulation = shardSimulationCreateFor(module, out->cluster,
                                             &(ShardSimulateOptions){.mcpu = options->mcpu});
  ShardWarningOptions warnings = shardOptWarningOptions(options);
  return out->simulation && mlirLogicalResultIsSuccess(
                                shardModuleWarn(module, out->cluster, out->simulation, &warnings));
}

void shardOptTimesRelease(ShardOptTimes *times) {
  shardSimulationDestroy(times->simulation);
  shardClusterDestroy(times->cluster);
}
