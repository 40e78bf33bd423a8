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

/// Nodes of eight fast devices and of four slow ones. Rates are multiplied by `device` and `links`,
/// latencies divided by `latency`; 0: there is none.
static ShardCluster *mixedCluster(double device, const double *links, double latency) {
  char *text = NULL;
  double wait = latency > 0 ? 1 / latency : 0;
  if (asprintf(
          &text,
          "{\"version\":1,\"name\":\"mixed\",\"algorithms\":[\"ring\",\"hierarchical\"],"
          "\"devices\":["
          "{\"kind\":\"fast\",\"memoryBytes\":1e9,\"memoryBytesPerSecond\":{\"value\":%.9e,"
          "\"measured\":"
          "true},\"flops\":{\"f32\":{\"value\":%.9e,\"measured\":true}},\"launchSeconds\":%.9e},"
          "{\"kind\":\"slow\",\"memoryBytes\":1e9,\"memoryBytesPerSecond\":{\"value\":%.9e,"
          "\"measured\":"
          "true},\"flops\":{\"f32\":{\"value\":%.9e,\"measured\":true}},\"launchSeconds\":%.9e}],"
          "\"links\":[{\"from\":\"device\",\"to\":\"node\",\"count\":8,\"bytesPerSecond\":{"
          "\"value\":"
          "%.9e,\"measured\":true},\"latencySeconds\":%.9e},{\"from\":\"node\",\"to\":\"pod\","
          "\"count\":"
          "12,\"bytesPerSecond\":{\"value\":%.9e,\"measured\":true},\"latencySeconds\":%.9e}],"
          "\"nodes\":[{\"kind\":\"fast\",\"count\":3},{\"kind\":\"slow\",\"count\":6,\"devices\":4}"
          "]}",
          1e11 * device, 1e12 * device, 1e-6 / device, 1e11 * device, 3e11 * device, 1e-6 / device,
          1e10 * links[0], 1e-6 * wait, 2e9 * links[1], 5e-6 * wait) < 0)
    exit(1);
  ShardCluster *cluster = clusterOf(text);
  free(text);
  return cluster;
}
static const double asItIs[2] = {1, 1};

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

/// Starts are waited for in any order, some not at all. Without starts all ranks reduce over the
/// same axes, so that no two collectives meet.
static int drawSteps(bool staged, bool starts, NaiveStep *steps) {
  int n = 6 + draw(naiveSteps - 6), open[naiveSteps], nOpen = 0;
  for (int i = 0; i < n; ++i) {
    NaiveKind kind = (NaiveKind)draw(starts ? 6 : 2);
    if (kind == NAIVE_WAIT && !nOpen)
      kind = NAIVE_START;
    if (kind == NAIVE_MESSAGE && !staged)
      kind = starts ? NAIVE_START : NAIVE_REDUCE;
    NaiveStep *step = &steps[i];
    *step = (NaiveStep){.kind = kind, .k = 64 * (1 + draw(64)), .axes = 1 + (uint32_t)draw(7)};
    step->rows = 32 << 2 * draw(3);
    step->axes = starts || i == 0 ? step->axes : steps[0].axes;
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
    check(class->arithmeticPs + class->memoryPs + class->launchPs == class->busyPs,
          "parts of its busy time", detail);
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

//===----------------------------------------------------------------------===//
// Properties
//===----------------------------------------------------------------------===//

static ShardSimulation *again(const char *text, const ShardCluster *cluster,
                              const int64_t *placement) {
  char error[1024];
  ShardSimulation *s = simulateText(text, cluster, placement, error, sizeof(error));
  check(s != NULL, "the same program", error);
  if (!s)
    exit(1);
  return s;
}

static int64_t stepOn(const char *text, ShardCluster *cluster, const int64_t *placement) {
  ShardSimulation *s = again(text, cluster, placement);
  int64_t ps = s->stepPs;
  shardSimulationDestroy(s);
  shardClusterDestroy(cluster);
  return ps;
}

/// Other devices that lie alike: nodes of a kind change places, and devices in them.
static void relabel(int64_t *placement) {
  int64_t nodes[9], name[nDevices];
  for (int i = 0; i < 9; ++i)
    nodes[i] = i;
  for (int i = 0; i < 9; ++i) {
    int other = i < 3 ? draw(3) : 3 + draw(6);
    int64_t kept = nodes[i];
    nodes[i] = nodes[other];
    nodes[other] = kept;
  }
  for (int i = 0; i < 9; ++i) {
    int size = i < 3 ? 8 : 4, turn = draw(size);
    int64_t from = i < 3 ? 8 * i : 24 + 4 * (i - 3);
    int64_t to = i < 3 ? 8 * nodes[i] : 24 + 4 * (nodes[i] - 3);
    for (int k = 0; k < size; ++k)
      name[from + k] = to + (k + turn) % size;
  }
  for (int i = 0; i < naiveRanks; ++i)
    placement[i] = name[placement[i]];
}

static void checkProperties(const char *text, const ShardSimulation *s, const int64_t *placement,
                            bool overlaps) {
  ShardCluster *cluster = mixedCluster(1, asItIs, 1);
  ShardSimulation *twice = again(text, cluster, placement);
  char *a = shardSimulationFormatJson(s), *b = shardSimulationFormatJson(twice);
  check(strcmp(a, b) == 0, "the same bytes again", NULL);
  free(a);
  free(b);
  shardSimulationDestroy(twice);
  int64_t other[naiveRanks];
  memcpy(other, placement, sizeof(other));
  relabel(other);
  check(stepOn(text, cluster, other) == s->stepPs, "devices in another order", NULL);
  // All twice as fast: half the time, but for rounding.
  int64_t half = stepOn(text, mixedCluster(2, (double[]){2, 2}, 2), placement);
  check(llabs(2 * half - s->stepPs) <= 200, "all twice as fast", NULL);
  // Faster links, or faster devices, where no two meet on a link: else what is faster may meet what
  // it did not before (Graham, Bounds on multiprocessing timing anomalies, 1969).
  for (int i = 0; !overlaps && i < 3; ++i) {
    double links[2] = {i == 0 ? 2 : 1, i == 1 ? 2 : 1};
    check(stepOn(text, mixedCluster(i == 2 ? 2 : 1, links, 1), placement) <= s->stepPs,
          "a rate doubled is no slower", NULL);
  }
  // Links that cost nothing: only ops are left.
  cluster = mixedCluster(1, (double[]){1e8, 1e8}, 0);
  ShardSimulation *free_ = again(text, cluster, placement);
  for (int32_t c = 0; c < free_->nClasses; ++c)
    check(free_->classes[c].communicationPs <= 2 * naiveSteps, "links that cost nothing", NULL);
  int64_t busiest = 0;
  for (int32_t c = 0; c < free_->nClasses; ++c)
    busiest = free_->classes[c].busyPs > busiest ? free_->classes[c].busyPs : busiest;
  check(free_->stepPs >= busiest && free_->stepPs <= s->stepPs, "between its ops and the whole",
        NULL);
  shardSimulationDestroy(free_);
  shardClusterDestroy(cluster);
}

/// What is sent in one collective becomes twice as much, where there is one.
static void plant(int n, NaiveStep *steps) {
  for (int i = 0; i < n; ++i)
    if (steps[i].kind == NAIVE_REDUCE || steps[i].kind == NAIVE_SHIFT) {
      steps[i].rows *= 2;
      return;
    }
}

/// [--planted] [FIRST [TRIALS]]. With --planted the two are given different programs.
int main(int argc, char **argv) {
  bool planted = argc > 1 && strcmp(argv[1], "--planted") == 0;
  argc -= planted, argv += planted;
  ShardCluster *cluster = mixedCluster(1, asItIs, 1);
  int32_t fewest = naiveRanks, most = 0;
  int shared = 0, nPlain = 0, first = argc > 1 ? atoi(argv[1]) : 0,
      nTrials = argc > 2 ? atoi(argv[2]) : 60;
  for (int trial = first; trial < first + nTrials; ++trial) {
    state = (uint64_t)trial;
    NaiveStep steps[naiveSteps];
    NaiveClock clocks[naiveRanks];
    int64_t placement[naiveRanks];
    bool staged = trial & 1;
    int n = drawSteps(staged, trial % 3 != 1, steps);
    drawPlacement(trial % 60, placement);
    char *text = writeProgram(staged, n, steps), error[1024];
    ShardSimulation *s = simulateText(text, cluster, placement, error, sizeof(error));
    check(s != NULL, "a random program", error);
    if (s) {
      if (planted)
        plant(n, steps);
      int64_t end = naiveRun(cluster, placement, staged, n, steps, clocks);
      check(end == s->stepPs, "the step", NULL);
      compare(s, clocks);
      shared += isShared(s);
      bool overlaps = trial % 3 != 1;
      overlaps |= isShared(s);
      nPlain += !overlaps;
      checkProperties(text, s, placement, overlaps);
      fewest = s->nClasses < fewest ? s->nClasses : fewest;
      most = s->nClasses > most ? s->nClasses : most;
    }
    shardSimulationDestroy(s);
    free(text);
  }
  check(fewest < naiveRanks / 3 && most > naiveRanks / 2, "few classes and many", NULL);
  check(nPlain >= nTrials / 8, "programs without starts", NULL);
  check(shared > nTrials / 4, "links that are shared", NULL);
  shardClusterDestroy(cluster);
  printf("%d to %d classes of %d ranks; links shared in %d of %d\n%d checks, %d failures\n", fewest,
         most, naiveRanks, shared, nTrials, nChecks, nFailures);
  return nFailures > 0;
}
