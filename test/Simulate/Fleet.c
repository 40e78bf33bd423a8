//===- Fleet.c - A step on 100,352 devices ------------------------*- C -*-===//
// 16 stages of different sizes, each over 784 x 8 devices, in order and shuffled: at most 2 s of
// CPU and 500 MB for the whole process, and the step as the sum of what follows one after the
// other.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "../Cost/Check.h"
#include "Programs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { nStages = 16, dp = 784, tp = 8, nLayers = 12 };

static ShardCluster *fleet(void) {
  return clusterOf(
      "{\"version\":1,\"name\":\"fleet\",\"algorithms\":[\"ring\"],\"devices\":[{\"kind\":\"d\","
      "\"memoryBytes\":1e9,\"memoryBytesPerSecond\":{\"value\":1e11,\"measured\":true},\"flops\":{"
      "\"f32\":{\"value\":1e12,\"measured\":true}},\"launchSeconds\":1e-6}],\"links\":[{\"from\":"
      "\"device\",\"to\":\"node\",\"count\":8,\"bytesPerSecond\":{\"value\":1e10,\"measured\":true}"
      ","
      "\"latencySeconds\":1e-6},{\"from\":\"node\",\"to\":\"rack\",\"count\":49,\"bytesPerSecond\":"
      "{\"value\":1e9,\"measured\":true},\"latencySeconds\":5e-6,\"rails\":8,\"shared\":false},"
      "{\"from\":\"rack\",\"to\":\"core\",\"count\":256,\"bytesPerSecond\":{\"value\":4e9,"
      "\"measured\":true},\"latencySeconds\":7e-6,\"rails\":49}],\"nodes\":[{\"kind\":\"d\","
      "\"count\":12544}]}");
}

static int sumOf(int stage) { return 512 + 64 * stage; } // the sum of a layer's product

static char *program(void) {
  Program p;
  programBegin(&p, "16x784x8", "\"pp\", \"dp\", \"tp\"");
  for (int stage = 0; stage < nStages; ++stage) {
    char name[32], layer[32];
    int k = sumOf(stage);
    snprintf(layer, sizeof(layer), "layer%d", stage);
    programFunction(&p, layer, -1, true, 64, k, 32);
    programMatmul(&p, "p", 64, k, 32);
    programAllReduce(&p, "r", "p", 2, 64, 32);
    fprintf(p.out, "    return %%r : tensor<64x32xf32>\n  }\n");
    snprintf(name, sizeof(name), "main_stage%d", stage);
    programFunction(&p, name, stage, false, 64, k, 32);
    if (stage)
      programReceive(&p, "in", stage - 1, stage - 1, 64, 32);
    for (int i = 0; i < nLayers; ++i)
      fprintf(p.out,
              "    %%l%d = func.call @%s(%%x, %%w) : (tensor<64x%dxf32>, tensor<%dx32xf32>)"
              " -> tensor<64x32xf32>\n",
              i, layer, k, k);
    if (stage + 1 < nStages)
      programSend(&p, "l0", stage + 1, stage, 64, 32);
    programAllReduce(&p, "g", "l0", 1, 64, 32);
    fprintf(p.out, "    return %%g : tensor<64x32xf32>\n  }\n");
  }
  return programEnd(&p);
}

/// Ranks on devices in no order: nearly each of them is a class of its own.
static void testShuffled(const char *text, const ShardCluster *cluster, int64_t inOrderPs) {
  enum { nRanks = nStages * dp * tp };
  int64_t *placement = malloc(nRanks * sizeof(*placement));
  uint64_t state = 1;
  for (int64_t i = 0; placement && i < nRanks; ++i) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    int64_t other = (int64_t)((state >> 33) % (uint64_t)(i + 1));
    placement[i] = placement[other];
    placement[other] = i;
  }
  char error[1024];
  ShardSimulation *s = simulateText(text, cluster, placement, error, sizeof(error));
  check(s && s->nClasses > nRanks / 2, "classes of a placement in no order", error);
  check(s && s->stepPs > inOrderPs, "it takes longer", NULL);
  for (int32_t c = 0; s && c < s->nClasses; ++c) {
    const ShardSimulatedClass *class = &s->classes[c];
    if (class->busyPs + class->communicationPs + class->waitPs + class->bubblePs != s->stepPs)
      check(false, "parts of a class", NULL);
  }
  shardSimulationDestroy(s);
  free(placement);
}

static double cpuSeconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(void) {
  ShardCluster *cluster = fleet();
  char *text = program();
  ShardSimulation *s = simulate(text, cluster);
  const double bytes = 64 * 32 * 4;
  int64_t reduce = picoseconds(14e-6 + 2.0 * 7 / 8 * bytes / 1e10), chain = 0;
  // A stage is 16 racks; each device sends by its rail, and 49 x 8 of a rack by its 49 uplinks.
  int64_t send = picoseconds(7e-6 + 8 * bytes / 4e9);
  for (int stage = 0; stage < nStages; ++stage)
    chain += nLayers * (matmulPs(64, sumOf(stage), 32, 1e12) + reduce) +
             (stage + 1 < nStages ? send : 0);
  // Eight groups over 784 nodes of 16 racks: 2 x (784 - 16) steps in a rack, 2 x 15 between racks;
  // a group has a rail of each node, and an eighth of a rack's uplinks.
  int64_t gradients = picoseconds(2 * 768 * 5e-6 + 2 * 15 * 7e-6 + 2.0 * 783 / 784 * bytes / 1e9);
  check(s->nRanks == 100352 && s->nStages == nStages, "ranks and stages", NULL);
  check(s->nClasses == nStages, "a class a stage", NULL);
  checkNear((double)s->stepPs, (double)(chain + gradients), 0, "the step");
  char *json = shardSimulationFormatJson(s);
  check(json && strlen(json) > 1000, "as JSON", NULL);
  free(json);
  testShuffled(text, cluster, s->stepPs);
  shardSimulationDestroy(s);
  free(text);
  shardClusterDestroy(cluster);
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  double seconds = cpuSeconds(), megabytes = (double)usage.ru_maxrss / 1024;
  printf("100352 devices: %.2f s of CPU, %.0f MB\n", seconds, megabytes);
  check(seconds < 2, "CPU seconds", NULL);
  check(megabytes < 500, "memory", NULL);
  printf("%d checks, %d failures\n", nChecks, nFailures);
  return nFailures > 0;
}
