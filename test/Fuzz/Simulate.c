//===- Simulate.c - Fuzz target: programs that are simulated ------*- C -*-===//
// Input: the text of a program, and behind a line of "=====" that of a cluster file; none: a small
// cluster of its own. Whatever parses is simulated, or refused with one error.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "shard/Simulate.h"
#include "shard/Pipelines.h"

#include "mlir-c/Diagnostics.h"
#include "mlir-c/IR.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sizeBytes);

static void require(bool holds, const char *what) {
  if (holds)
    return;
  fprintf(stderr, "fuzz-simulate: broken: %s\n", what);
  abort();
}

static const char clusterText[] =
    "{\"version\":1,\"name\":\"own\",\"devices\":[{\"kind\":\"d\",\"memoryBytes\":1e9,"
    "\"memoryBytesPerSecond\":1e11,\"flops\":{\"f64\":5e11,\"f32\":1e12},\"launchSeconds\":1e-6}],"
    "\"links\":[{\"from\":\"device\",\"to\":\"node\",\"count\":4,\"bytesPerSecond\":1e10,"
    "\"latencySeconds\":1e-6},{\"from\":\"node\",\"to\":\"pod\",\"count\":8,\"bytesPerSecond\":1e9,"
    "\"latencySeconds\":5e-6}],\"nodes\":[{\"kind\":\"d\",\"count\":8}]}";

static MlirContext context;
static unsigned runsOfContext;
static int nErrors;

static MlirLogicalResult countErrors(MlirDiagnostic diagnostic, void *userData) {
  (void)userData;
  nErrors += mlirDiagnosticGetSeverity(diagnostic) == MlirDiagnosticError;
  return mlirLogicalResultSuccess();
}

/// A context keeps every attribute it has seen, so that it is made anew now and then.
static void prepare(void) {
  if (context.ptr && ++runsOfContext < 2000)
    return;
  if (context.ptr)
    mlirContextDestroy(context);
  context = mlirContextCreateWithThreading(false);
  mlirContextAttachDiagnosticHandler(context, countErrors, NULL, NULL);
  shardContextPrepare(context);
  runsOfContext = 0;
}

static void checkResult(const ShardSimulation *s) {
  for (int32_t i = 0; i < s->nClasses; ++i) {
    const ShardSimulatedClass *c = &s->classes[i];
    require(c->busyPs >= 0 && c->communicationPs >= 0 && c->waitPs >= 0 && c->bubblePs >= 0,
            "no part of a step is negative");
    require(c->busyPs + c->communicationPs + c->waitPs + c->bubblePs == s->stepPs,
            "the parts of a class are its step");
  }
  for (intptr_t i = 0; i < s->nSites; ++i)
    require(s->sites[i].exposedPs >= 0, "what is exposed is not negative");
}

static void simulate(MlirOperation module, const ShardCluster *cluster) {
  char *first = NULL;
  for (int run = 0; run < 2; ++run) {
    nErrors = 0;
    ShardSimulation *s = shardSimulationCreate(module, cluster, NULL);
    require(nErrors == (s ? 0 : 1), "a refusal is one error");
    if (!s)
      return;
    checkResult(s);
    char *text = shardSimulationFormatText(s), *json = shardSimulationFormatJson(s);
    require(text && json, "a result can be written");
    require(!first || strcmp(first, json) == 0, "the same text is the same result");
    free(first);
    first = json;
    free(text);
    shardSimulationDestroy(s);
  }
  free(first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sizeBytes) {
  static const char mark[] = "\n=====\n";
  prepare();
  char *text = malloc(sizeBytes + 1);
  memcpy(text, data, sizeBytes);
  text[sizeBytes] = 0;
  char *behind = memmem(text, sizeBytes, mark, strlen(mark)), *error = NULL;
  size_t length = behind ? (size_t)(behind - text) : sizeBytes;
  const char *clusterOf = behind ? behind + strlen(mark) : clusterText;
  size_t clusterBytes = behind ? sizeBytes - length - strlen(mark) : strlen(clusterText);
  ShardCluster *cluster = shardClusterParse("c.json", clusterOf, clusterBytes, 0, &error);
  free(error);
  MlirModule module = {NULL};
  if (cluster && cluster->nDevices <= 4096) // larger ones are no harder, but slow
    module = shardModuleParse(context, (MlirStringRef){text, length}, "p.mlir");
  if (!mlirModuleIsNull(module)) {
    simulate(mlirModuleGetOperation(module), cluster);
    mlirModuleDestroy(module);
  }
  shardClusterDestroy(cluster);
  free(text);
  return 0;
}
