//===- Programs.c - Sharded programs in text, and clusters --------*- C -*-===//
#define _GNU_SOURCE
#include "Programs.h"

#include "shard/Pipelines.h"

#include "mlir-c/Diagnostics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void programBegin(Program *program, const char *shape, const char *axes) {
  memset(program, 0, sizeof(*program));
  program->out = open_memstream(&program->text, &program->length);
  fprintf(program->out, "module {\n  shard.grid @mesh(shape = %s) {spmd.axes = [%s]}\n", shape,
          axes);
}

void programFunction(Program *program, const char *name, int stage, bool isPrivate, int m, int k,
                     int n) {
  fprintf(program->out,
          "  func.func %s@%s(%%x: tensor<%dx%dxf32>, %%w: tensor<%dx%dxf32>) -> tensor<%dx%dxf32>",
          isPrivate ? "private " : "", name, m, k, k, n, m, n);
  if (stage >= 0)
    fprintf(program->out, " attributes {spmd.stage = %d : i64}", stage);
  fprintf(program->out, " {\n    %%zero = arith.constant 0.0 : f32\n");
}

void programMatmul(Program *program, const char *name, int m, int k, int n) {
  int id = program->next++;
  fprintf(program->out,
          "    %%e%d = tensor.empty() : tensor<%dx%dxf32>\n"
          "    %%f%d = linalg.fill ins(%%zero : f32) outs(%%e%d : tensor<%dx%dxf32>)"
          " -> tensor<%dx%dxf32>\n"
          "    %%%s = linalg.matmul ins(%%x, %%w : tensor<%dx%dxf32>, tensor<%dx%dxf32>)"
          " outs(%%f%d : tensor<%dx%dxf32>) -> tensor<%dx%dxf32>\n",
          id, m, n, id, id, m, n, m, n, name, m, k, k, n, id, m, n, m, n);
}

void programAllReduce(Program *program, const char *name, const char *of, int axis, int m, int n) {
  fprintf(program->out,
          "    %%%s = shard.all_reduce %%%s on @mesh grid_axes = [%d] {spmd.site = %d : i64}"
          " : tensor<%dx%dxf32> -> tensor<%dx%dxf32>\n",
          name, of, axis, program->next++, m, n, m, n);
}

void programSend(Program *program, const char *of, int peer, int channel, int m, int n) {
  fprintf(program->out,
          "    %%s%d = shard.send %%%s on @mesh grid_axes = [0] destination = [%d]"
          " {spmd.channel = %d : i64} : (tensor<%dx%dxf32>) -> tensor<%dx%dxf32>\n",
          program->next++, of, peer, channel, m, n, m, n);
}

void programReceive(Program *program, const char *name, int peer, int channel, int m, int n) {
  int id = program->next++;
  fprintf(program->out,
          "    %%e%d = tensor.empty() : tensor<%dx%dxf32>\n"
          "    %%%s = shard.recv %%e%d on @mesh grid_axes = [0] source = [%d]"
          " {spmd.channel = %d : i64} : (tensor<%dx%dxf32>) -> tensor<%dx%dxf32>\n",
          id, m, n, name, id, peer, channel, m, n, m, n);
}

char *programEnd(Program *program) {
  fprintf(program->out, "}\n");
  fclose(program->out);
  return program->text;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

ShardCluster *clusterOf(const char *text) {
  char *error = NULL;
  ShardCluster *cluster = shardClusterParse("c.json", text, strlen(text), 0, &error);
  if (!cluster) {
    printf("FAIL: %s\n", error);
    exit(1);
  }
  return cluster;
}

ShardCluster *pairsCluster(int nNodes) {
  char *text = NULL;
  if (asprintf(&text,
               "{\"version\":1,\"name\":\"pairs\",\"algorithms\":[\"ring\"],\"devices\":[{\"kind\":"
               "\"d\",\"memoryBytes\":1e9,\"memoryBytesPerSecond\":{\"value\":1e11,\"measured\":"
               "true},\"flops\":{\"f64\":5e11,\"f32\":{\"value\":1e12,\"measured\":true}},"
               "\"launchSeconds\":"
               "1e-6}],\"links\":[{\"from\":\"device\",\"to\":\"node\",\"count\":2,"
               "\"bytesPerSecond\":{\"value\":1e10,\"measured\":true},\"latencySeconds\":1e-6},"
               "{\"from\":\"node\",\"to\":\"pod\",\"count\":%d,\"bytesPerSecond\":{\"value\":1e9,"
               "\"measured\":true},\"latencySeconds\":5e-6}],\"nodes\":[{\"kind\":\"d\","
               "\"count\":%d}]}",
               nNodes, nNodes) < 0)
    exit(1);
  ShardCluster *cluster = clusterOf(text);
  free(text);
  return cluster;
}

typedef struct Error {
  char *text;
  size_t size;
} Error;

static void appendError(MlirStringRef part, void *user) {
  Error *error = user;
  size_t used = strlen(error->text);
  snprintf(error->text + used, error->size - used, "%.*s", (int)part.length, part.data);
}

static MlirLogicalResult keepError(MlirDiagnostic diagnostic, void *user) {
  shardDiagnosticFormat(diagnostic, "test", appendError, user);
  return mlirLogicalResultSuccess();
}

ShardSimulation *simulateTextFor(const char *text, const ShardCluster *cluster,
                                 const ShardSimulateOptions *options, char *error,
                                 size_t errorBytes) {
  MlirContext context = mlirContextCreateWithThreading(false);
  Error kept = {error, errorBytes};
  *error = 0;
  mlirContextAttachDiagnosticHandler(context, keepError, &kept, NULL);
  shardContextPrepare(context);
  MlirModule module = shardModuleParse(context, mlirStringRefCreateFromCString(text), "p.mlir");
  ShardSimulation *simulation =
      mlirModuleIsNull(module)
          ? NULL
          : shardSimulationCreateFor(mlirModuleGetOperation(module), cluster, options);
  if (!mlirModuleIsNull(module))
    mlirModuleDestroy(module);
  mlirContextDestroy(context);
  return simulation;
}

ShardSimulation *simulateText(const char *text, const ShardCluster *cluster,
                              const int64_t *placement, char *error, size_t errorBytes) {
  return simulateTextFor(text, cluster, &(ShardSimulateOptions){.placement = placement}, error,
                         errorBytes);
}

ShardSimulation *simulate(const char *text, const ShardCluster *cluster) {
  char error[1024];
  ShardSimulation *simulation = simulateText(text, cluster, NULL, error, sizeof(error));
  if (simulation)
    return simulation;
  printf("FAIL: %s\n%s", error, text);
  exit(1);
}

int64_t picoseconds(double seconds) { return llround(seconds * 1e12); }

int64_t matmulPs(int m, int k, int n, double flopsPerSecond) {
  double flops = 2.0 * m * k * n, bytes = 4.0 * (m * k + k * n + m * n);
  return picoseconds(1e-6 + fmax(flops / flopsPerSecond, bytes / 1e11));
}
