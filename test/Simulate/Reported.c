//===- Reported.c - Simulated programs against their reports ------*- C -*-===//
// shard-simulate-reported MODEL DEGREES   Shards a model; with rings only, what the simulator puts
// on the
//     devices' links is what the report says that a rank sends, and flops are the report's.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "../Cost/Check.h"
#include "Programs.h"

#include "shard/Pipelines.h"
#include "shard/Report.h"

#include "mlir-c/Diagnostics.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static void printPart(MlirStringRef part, void *user) { fwrite(part.data, 1, part.length, user); }

static MlirLogicalResult printError(MlirDiagnostic diagnostic, void *user) {
  (void)user;
  if (mlirDiagnosticGetSeverity(diagnostic) == MlirDiagnosticError)
    shardDiagnosticFormat(diagnostic, "test", printPart, stdout);
  return mlirLogicalResultSuccess();
}

static double reportedBytes(const json_t *report) {
  double bytes = 0;
  size_t i;
  const json_t *site;
  json_array_foreach(json_object_get(report, "collectives"), i, site) {
    bytes += json_number_value(json_object_get(site, "bytes")) *
             json_number_value(json_object_get(site, "count"));
    check(strcmp(json_string_value(json_object_get(site, "kind")), "broadcast") != 0,
          "no broadcast, of which the last rank sends nothing", NULL);
  }
  return bytes;
}

static double simulatedBytes(const ShardSimulation *s, double *rounding) {
  double bytes = 0;
  *rounding = 0;
  for (intptr_t i = 0; i < s->nLinks; ++i)
    if (strcmp(s->links[i].level, "device") == 0) {
      bytes += (double)s->links[i].bytes * (double)s->links[i].nLinks;
      *rounding += 0.5 * (double)s->links[i].nLinks;
    }
  return bytes;
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  MlirContext context = mlirContextCreateWithThreading(false);
  mlirContextAttachDiagnosticHandler(context, printError, NULL, NULL);
  shardContextPrepare(context);
  MlirModule module = shardModuleParseFile(context, argv[1]);
  ShardPipelineOptions options = shardPipelineOptionsGetDefault();
  options.degrees = argv[2];
  check(!mlirModuleIsNull(module), "a model", argv[1]);
  MlirOperation op = mlirModuleGetOperation(module);
  check(mlirLogicalResultIsSuccess(shardPipelineRun(op, &options)), "sharded", argv[2]);
  ShardReport *report = shardReportCreate(op, 0, NULL);
  MlirStringRef text = shardReportGetJson(report);
  json_t *json = json_loadb(text.data, text.length, 0, NULL);
  ShardCluster *cluster = pairsCluster(32);
  ShardSimulation *s = shardSimulationCreate(op, cluster, NULL);
  if (!s)
    exit(1);
  double rounding, simulated = simulatedBytes(s, &rounding);
  double reported = reportedBytes(json) * (double)s->nRanks;
  char detail[96];
  snprintf(detail, sizeof(detail), "%.1f, the report has %.1f", simulated, reported);
  check(fabs(simulated - reported) <= rounding + 1e-6 * reported, "bytes out of all devices",
        detail);
  for (int32_t i = 0; i < s->nStages; ++i)
    checkNear(s->stages[i].flops,
              json_number_value(json_object_get(
                  json_array_get(json_object_get(json, "stages"), (size_t)i), "cost")),
              0, "flops");
  for (int32_t i = 0; i < s->nClasses; ++i)
    check(s->classes[i].busyPs + s->classes[i].communicationPs + s->classes[i].waitPs +
                  s->classes[i].bubblePs ==
              s->stepPs,
          "parts of a class", NULL);
  printf("%s: %.0f bytes, %d classes; %d checks, %d failures\n", argv[2], simulated, s->nClasses,
         nChecks, nFailures);
  json_decref(json);
  shardSimulationDestroy(s);
  shardClusterDestroy(cluster);
  shardReportDestroy(report);
  mlirModuleDestroy(module);
  mlirContextDestroy(context);
  return nFailures > 0;
}
