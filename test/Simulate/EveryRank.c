//===- EveryRank.c - Classes against every rank by itself ---------*- C -*-===//
// Random programs on random places of a cluster of two kinds of nodes, with collectives and
// messages that overlap with ops and with one another, in one stage or in two: a simulation of all
// ranks, one by one (Naive.c), has the same clocks as that of one rank of each class.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "../Cost/Check.h"
#include "Naive.h"
#include "Programs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { nDevices = 48 };

static uint64_t state;
static int draw(int n) { // SplitMix64
  uint64_t x = state += UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return (int)((x ^ x >> 31) % (uint64_t)n);
}

static const char clusterText[] =
    "{\"version\":1,\"name\":\"mixed\",\"algorithms\":[\"ring\",\"hierarchical\"],\"devices\":["
    "{\"kind\":\"fast\",\"memoryBytes\":1e9,\"memoryBytesPerSecond\":{\"value\":1e11,\"measured\":"
    "true},\"flops\":{\"f32\":{\"value\":1e12,\"measured\":true}},\"launchSeconds\":1e-6},"
    "{\"kind\":\"slow\",\"memoryBytes\":1e9,\"memoryBytesPerSecond\":{\"value\":1e11,\"measured\":"
    "true},\"flops\":{\"f32\":{\"value\":3e11,\"measured\":true}},\"launchSeconds\":1e-6}],"
    "\"links\":[{\"from\":\"device\",\"to\":\"node\",\"count\":8,\"bytesPerSecond\":{\"value\":"
    "1e10,"
    "\"measured\":true},\"latencySeconds\":1e-6},{\"from\":\"node\",\"to\":\"pod\",\"count\":12,"
    "\"bytesPerSecond\":{\"value\":2e9,\"measured\":true},\"latencySeconds\":5e-6}],"
    "\"nodes\":[{\"kind\":\"fast\",\"count\":3},{\"kind\":\"slow\",\"count\":6,\"devices\":4}]}";

static void writeProduct(FILE *out, int i, int k) {
  // A product of its own shape, of constants.
  fprintf(out,
          "    %%a%d = arith.constant dense<1.0> : tensor<32x%dxf32>\n"
          "    %%b%d = arith.constant dense<1.0> : tensor<%dx16xf32>\n"
          "    %%e%d = tensor.empty() : tensor<32x16xf32>\n"
          "    %%f%d = linalg.fill ins(%%zero : f32) outs(%%e%d : tensor<32x16xf32>)"
          " -> tensor<32x16xf32>\n"
          "    %%p%d = linalg.matmul ins(%%a%d, %%b%d : tensor<32x%dxf32>, tensor<%dx16xf32>)"
          " outs(%%f%d : tensor<32x16xf32>) -> tensor<32x16xf32>\n",
          i, k, i, k, i, i, i, i, i, i, k, k, i);
}

static void writeAxes(FILE *out, uint32_t axes) {
  for (int a = 0, any = 0; a < naiveAxes; ++a)
    if (axes >> a & 1)
      fprintf(out, "%s%d", any++ ? ", " : "", a);
}

static void writeStep(FILE *out, const NaiveStep *steps, int i, int stage) {
  const NaiveStep *step = &steps[i];
  char type[32], value[32];
  snprintf(type, sizeof(type), "tensor<%dx64xf32>", step->rows);
  snprintf(value, sizeof(value), "%%v%d", step->rows);
  switch (step->kind) {
  case NAIVE_PRODUCT:
    writeProduct(out, i, step->k * (1 + stage));
    return;
  case NAIVE_REDUCE:
  case NAIVE_SHIFT:
    fprintf(out, "    %%p%d = shard.%s %s on @mesh grid_axes = [", i,
            step->kind == NAIVE_REDUCE ? "all_reduce" : "shift", value);
    writeAxes(out, step->axes);
    fprintf(out, "]");
    if (step->kind == NAIVE_SHIFT)
      fprintf(out, " shift_axis = %d offset = %" PRId64 " rotate", __builtin_ctz(step->axes),
              step->offset);
    fprintf(out, " : %s -> %s\n", type, type);
    return;
  case NAIVE_MESSAGE:
    fprintf(out,
            "    %%p%d = shard.%s %s on @mesh grid_axes = [0] %s = [%d] {spmd.channel = %d : i64}"
            " : (%s) -> %s\n",
            i, stage ? "recv" : "send", value, stage ? "source" : "destination", !stage, i, type,
            type);
    return;
  case NAIVE_START:
    fprintf(out,
            "    %%p%d = \"spmd.all_reduce_start\"(%s) {grid = @mesh, grid_axes = array<i16: ", i,
            value);
    writeAxes(out, step->axes);
    fprintf(out, ">} : (%s) -> !spmd.token\n", type);
    return;
  case NAIVE_WAIT:
    snprintf(type, sizeof(type), "tensor<%dx64xf32>", steps[step->of].rows);
    fprintf(out, "    %%p%d = \"spmd.all_reduce_done\"(%%p%d) : (!spmd.token) -> %s\n", i, step->of,
            type);
    return;
  }
}

static char *writeProgram(bool staged, int n, const NaiveStep *steps) {
  Program program;
  programBegin(&program, "2x3x4", staged ? "\"pp\", \"dp\", \"tp\"" : "\"dp\", \"sp\", \"tp\"");
  for (int stage = 0; stage <= staged; ++stage) {
    char name[32];
    snprintf(name, sizeof(name), staged ? "main_stage%d" : "main", stage);
    programFunction(&program, name, staged ? stage : -1, false, 32, 64, 16);
    for (int rows = 32; rows <= 512; rows *= 4)
      fprintf(program.out, "    %%v%d = arith.constant dense<1.0> : tensor<%dx64xf32>\n", rows,
              rows);
    for (int i = 0; i < n; ++i)
      writeStep(program.out, steps, i, stage);
    fprintf(program.out, "    %%r = tensor.empty() : tensor<32x16xf32>\n"
                         "    return %%r : tensor<32x16xf32>\n  }\n");
  }
  return programEnd(&program);
}

/// Starts are waited for in any order, some not at all.
static int drawSteps(bool staged, NaiveStep *steps) {
  int n = 6 + draw(naiveSteps - 6), open[naiveSteps], nOpen = 0;
  for (int i = 0; i < n; ++i) {
    NaiveKind kind = (NaiveKind)draw(6);
    if (kind == NAIVE_WAIT && !nOpen)
      kind = NAIVE_START;
    if (kind == NAIVE_MESSAGE && !staged)
      kind = NAIVE_START;
    NaiveStep *step = &steps[i];
    *step = (NaiveStep){.kind = kind, .k = 64 * (1 + draw(64)), .axes = 1 + (uint32_t)draw(7)};
    step->rows = 32 << 2 * draw(3);
    if (kind == NAIVE_SHIFT) {
      int axis = staged ? 1 + draw(2) : draw(naiveAxes);
      step->axes = UINT32_C(1) << axis;
      step->offset = 1 + draw((int)naiveSizes[axis] - 1);
    }
    if (kind == NAIVE_START)
      open[nOpen++] = i;
    if (kind == NAIVE_WAIT) {
      int which = draw(nOpen);
      step->of = open[which];
      open[which] = open[--nOpen];
    }
  }
  return n;
}

//===----------------------------------------------------------------------===//
// The comparison
//===----------------------------------------------------------------------===//

static int compareClocks(const void *a, const void *b) {
  return memcmp(a, b, sizeof(NaiveClock)); // any total order will do
}

static void compare(const ShardSimulation *s, NaiveClock *clocks) {
  NaiveClock expanded[naiveRanks];
  int64_t n = 0;
  for (int32_t c = 0; c < s->nClasses; ++c) {
    const ShardSimulatedClass *class = &s->classes[c];
    NaiveClock clock = {class->endPs, class->busyPs, class->communicationPs, class->waitPs,
                        class->bubblePs};
    const NaiveClock *other = &clocks[class->firstRank];
    char detail[256];
    snprintf(detail, sizeof(detail),
             "rank %" PRId64 ": end %" PRId64 " busy %" PRId64 " comm %" PRId64 " wait %" PRId64
             " bubble %" PRId64 ", naive %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64,
             class->firstRank, clock.ps, clock.busy, clock.communication, clock.wait, clock.bubble,
             other->ps, other->busy, other->communication, other->wait, other->bubble);
    check(memcmp(&clock, other, sizeof(clock)) == 0, "a class's first rank", detail);
    for (int64_t i = 0; i < class->nRanks && n < naiveRanks; ++i)
      expanded[n++] = clock;
  }
  check(n == naiveRanks, "ranks of all classes", NULL);
  qsort(expanded, naiveRanks, sizeof(NaiveClock), compareClocks);
  qsort(clocks, naiveRanks, sizeof(NaiveClock), compareClocks);
  check(memcmp(expanded, clocks, sizeof(expanded)) == 0, "clocks of all ranks", NULL);
}

/// A third in order, the others more and more out of it.
static void drawPlacement(int trial, int64_t *placement) {
  int64_t devices[nDevices];
  for (int i = 0; i < nDevices; ++i)
    devices[i] = i;
  for (int i = 0; i < (trial % 3 == 0 ? 0 : trial); ++i) {
    int a = draw(nDevices), b = draw(nDevices);
    int64_t kept = devices[a];
    devices[a] = devices[b];
    devices[b] = kept;
  }
  memcpy(placement, devices, naiveRanks * sizeof(*placement));
}

static bool isShared(const ShardSimulation *s) {
  for (intptr_t i = 0; i < s->nSites; ++i)
    if (s->sites[i].sharedPs > 0)
      return true;
  return false;
}

int main(int argc, char **argv) {
  ShardCluster *cluster = clusterOf(clusterText);
  int32_t fewest = naiveRanks, most = 0;
  int shared = 0, first = argc > 1 ? atoi(argv[1]) : 0, nTrials = argc > 2 ? atoi(argv[2]) : 60;
  for (int trial = first; trial < first + nTrials; ++trial) {
    state = (uint64_t)trial;
    NaiveStep steps[naiveSteps];
    NaiveClock clocks[naiveRanks];
    int64_t placement[naiveRanks];
    bool staged = trial & 1;
    int n = drawSteps(staged, steps);
    drawPlacement(trial % 60, placement);
    char *text = writeProgram(staged, n, steps), error[1024];
    ShardSimulation *s = simulateText(text, cluster, placement, error, sizeof(error));
    check(s != NULL, "a random program", error);
    if (s) {
      int64_t end = naiveRun(cluster, placement, staged, n, steps, clocks);
      check(end == s->stepPs, "the step", NULL);
      compare(s, clocks);
      shared += isShared(s);
      fewest = s->nClasses < fewest ? s->nClasses : fewest;
      most = s->nClasses > most ? s->nClasses : most;
    }
    shardSimulationDestroy(s);
    free(text);
  }
  check(fewest < naiveRanks / 3 && most > naiveRanks / 2, "few classes and many", NULL);
  check(shared > nTrials / 4, "links that are shared", NULL);
  shardClusterDestroy(cluster);
  printf("%d to %d classes of %d ranks; links shared in %d of %d\n%d checks, %d failures\n", fewest,
         most, naiveRanks, shared, nTrials, nChecks, nFailures);
  return nFailures > 0;
}
