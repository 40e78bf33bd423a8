//===- EveryRank.c - Classes against every rank by itself ---------*- C -*-===//
// Random programs on random places of a cluster of two kinds of nodes: a simulation of all ranks,
// one by one, has the same clocks as that of one rank of each class.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "../Cost/Check.h"
#include "Programs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { nRanks = 24, nAxes = 3, nDevices = 48 };
static const int64_t sizes[nAxes] = {2, 3, 4};
static const int64_t strides[nAxes] = {12, 4, 1};

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

/// A step of a program: a product, a collective or a shift.
typedef struct Step {
  int kind; // 0 product, 1 collective, 2 shift
  int k;    // the sum of a product
  uint32_t axes;
  int64_t offset;
} Step;

typedef struct Clock {
  int64_t ps, busy, communication, wait;
} Clock;

static char *writeProgram(int n, const Step *steps) {
  Program program;
  programBegin(&program, "2x3x4", "\"dp\", \"sp\", \"tp\"");
  programFunction(&program, "main", -1, false, 32, 64, 16);
  for (int i = 0; i < n; ++i) {
    const Step *step = &steps[i];
    if (step->kind == 0) {
      // A product of its own shape, of constants.
      fprintf(program.out,
              "    %%a%d = arith.constant dense<1.0> : tensor<32x%dxf32>\n"
              "    %%b%d = arith.constant dense<1.0> : tensor<%dx16xf32>\n"
              "    %%e%d = tensor.empty() : tensor<32x16xf32>\n"
              "    %%f%d = linalg.fill ins(%%zero : f32) outs(%%e%d : tensor<32x16xf32>)"
              " -> tensor<32x16xf32>\n"
              "    %%p%d = linalg.matmul ins(%%a%d, %%b%d : tensor<32x%dxf32>, tensor<%dx16xf32>)"
              " outs(%%f%d : tensor<32x16xf32>) -> tensor<32x16xf32>\n",
              i, step->k, i, step->k, i, i, i, i, i, i, step->k, step->k, i);
      continue;
    }
    fprintf(program.out, "    %%p%d = shard.%s %%x on @mesh grid_axes = [", i,
            step->kind == 1 ? "all_reduce" : "shift");
    for (int a = 0, any = 0; a < nAxes; ++a)
      if (step->axes >> a & 1)
        fprintf(program.out, "%s%d", any++ ? ", " : "", a);
    fprintf(program.out, "]");
    if (step->kind == 2)
      fprintf(program.out, " shift_axis = %d offset = %" PRId64 " rotate",
              __builtin_ctz(step->axes), step->offset);
    fprintf(program.out, " : tensor<32x64xf32> -> tensor<32x64xf32>\n");
  }
  fprintf(program.out, "    %%r = tensor.empty() : tensor<32x16xf32>\n"
                       "    return %%r : tensor<32x16xf32>\n  }\n");
  return programEnd(&program);
}

//===----------------------------------------------------------------------===//
// Every rank
//===----------------------------------------------------------------------===//

static int64_t coordinate(int64_t rank, int axis) { return rank / strides[axis] % sizes[axis]; }

static bool sameGroup(int64_t a, int64_t b, uint32_t axes) {
  for (int i = 0; i < nAxes; ++i)
    if (!(axes >> i & 1) && coordinate(a, i) != coordinate(b, i))
      return false;
  return true;
}

/// Ranks group by group, in order.
static int64_t listGroups(uint32_t axes, int64_t *list) {
  int64_t n = 0;
  bool done[nRanks] = {false};
  for (int64_t r = 0; r < nRanks; ++r)
    for (int64_t q = r; !done[r] && q < nRanks; ++q)
      if (sameGroup(r, q, axes)) {
        list[n++] = q;
        if (q != r)
          done[q] = true;
      }
  return n;
}

static void runAllReduce(const ShardCluster *cluster, const int64_t *placement, uint32_t axes,
                         Clock *clocks) {
  int64_t list[nRanks], devices[nRanks], size = 1;
  char *error = NULL;
  for (int i = 0; i < nAxes; ++i)
    size *= axes >> i & 1 ? sizes[i] : 1;
  check(listGroups(axes, list) == nRanks, "groups", NULL);
  for (int i = 0; i < nRanks; ++i)
    devices[i] = placement[list[i]];
  ShardGroups *groups = shardGroupsCreate(cluster, nRanks / size, size, devices, &error);
  for (int64_t g = 0; g < nRanks / size; ++g) {
    ShardCollectiveCost cost;
    shardCollectiveCostOf(groups, shardGroupsGetProfile(groups, g), SHARD_COLLECTIVE_ALL_REDUCE,
                          32 * 64 * 4, &cost);
    int64_t begins = 0, ps = picoseconds(cost.seconds);
    for (int64_t i = 0; i < size; ++i) {
      int64_t arrives = clocks[list[g * size + i]].ps;
      begins = arrives > begins ? arrives : begins;
    }
    for (int64_t i = 0; i < size; ++i) {
      Clock *clock = &clocks[list[g * size + i]];
      clock->wait += begins - clock->ps;
      clock->communication += ps;
      clock->ps = begins + ps;
    }
  }
  shardGroupsDestroy(groups);
}

static void runShift(const ShardCluster *cluster, const int64_t *placement, const Step *step,
                     Clock *clocks) {
  int axis = __builtin_ctz(step->axes);
  int64_t to[nRanks], from[nRanks], targets[nRanks], sent[nRanks], arrives[nRanks];
  for (int64_t r = 0; r < nRanks; ++r) {
    int64_t at = coordinate(r, axis), peer = (at + step->offset) % sizes[axis];
    targets[r] = r + (peer - at) * strides[axis];
    from[r] = placement[r];
    to[r] = placement[targets[r]];
  }
  ShardTraffic *traffic = shardTrafficCreate(cluster, nRanks, from, to);
  for (int64_t r = 0; r < nRanks; ++r) {
    sent[r] = clocks[r].ps;
    int64_t ps =
        picoseconds(shardTrafficSeconds(traffic, shardTrafficGetProfile(traffic, r), 32 * 64 * 4));
    clocks[r].ps = arrives[r] = sent[r] + ps;
    clocks[r].communication += ps;
  }
  for (int64_t r = 0; r < nRanks; ++r) {
    Clock *clock = &clocks[targets[r]];
    if (sent[r] > clock->ps) {
      clock->wait += sent[r] - clock->ps;
      clock->ps = sent[r];
    }
    if (arrives[r] > clock->ps) {
      clock->communication += arrives[r] - clock->ps;
      clock->ps = arrives[r];
    }
  }
  shardTrafficDestroy(traffic);
}

static void runAll(const ShardCluster *cluster, const int64_t *placement, int n, const Step *steps,
                   Clock *clocks) {
  memset(clocks, 0, nRanks * sizeof(*clocks));
  for (int i = 0; i < n; ++i) {
    if (steps[i].kind == 1)
      runAllReduce(cluster, placement, steps[i].axes, clocks);
    else if (steps[i].kind == 2)
      runShift(cluster, placement, &steps[i], clocks);
    for (int64_t r = 0; steps[i].kind == 0 && r < nRanks; ++r) {
      const char *kind = shardClusterDeviceKind(cluster, placement[r])->name;
      int64_t ps = matmulPs(32, steps[i].k, 16, strcmp(kind, "fast") == 0 ? 1e12 : 3e11);
      clocks[r].ps += ps;
      clocks[r].busy += ps;
    }
  }
}

//===----------------------------------------------------------------------===//
// The comparison
//===----------------------------------------------------------------------===//

static int compareClocks(const void *a, const void *b) {
  return memcmp(a, b, sizeof(Clock)); // any total order will do
}

static void compare(const ShardSimulation *s, Clock *clocks) {
  Clock expanded[nRanks];
  int64_t n = 0;
  for (int32_t c = 0; c < s->nClasses; ++c) {
    const ShardSimulatedClass *class = &s->classes[c];
    Clock clock = {class->endPs, class->busyPs, class->communicationPs, class->waitPs};
    check(memcmp(&clock, &clocks[class->firstRank], sizeof(clock)) == 0, "a class's first rank",
          NULL);
    for (int64_t i = 0; i < class->nRanks && n < nRanks; ++i)
      expanded[n++] = clock;
  }
  check(n == nRanks, "ranks of all classes", NULL);
  qsort(expanded, nRanks, sizeof(Clock), compareClocks);
  qsort(clocks, nRanks, sizeof(Clock), compareClocks);
  check(memcmp(expanded, clocks, sizeof(expanded)) == 0, "clocks of all ranks", NULL);
}

int main(void) {
  ShardCluster *cluster = clusterOf(clusterText);
  int32_t fewest = nRanks, most = 0;
  for (int trial = 0; trial < 60; ++trial) {
    state = (uint64_t)trial;
    Step steps[16];
    Clock clocks[nRanks];
    int64_t placement[nRanks], devices[nDevices];
    int n = 4 + draw(12);
    for (int i = 0; i < n; ++i)
      steps[i] = (Step){draw(3), 64 * (1 + draw(64)), 1, 0};
    for (int i = 0; i < n; ++i) {
      steps[i].axes = steps[i].kind == 1 ? 1 + (uint32_t)draw(7) : UINT32_C(1) << draw(nAxes);
      steps[i].offset = 1 + draw((int)sizes[__builtin_ctz(steps[i].axes)] - 1);
    }
    for (int i = 0; i < nDevices; ++i)
      devices[i] = i;
    // A third in order, the others more and more out of it.
    for (int i = 0; i < (trial % 3 == 0 ? 0 : trial); ++i) {
      int a = draw(nDevices), b = draw(nDevices);
      int64_t kept = devices[a];
      devices[a] = devices[b];
      devices[b] = kept;
    }
    memcpy(placement, devices, sizeof(placement));
    char *text = writeProgram(n, steps), error[1024];

    ShardSimulation *s = simulateText(text, cluster, placement, error, sizeof(error));
    check(s != NULL, "a random program", error);
    if (s) {
      runAll(cluster, placement, n, steps, clocks);
      compare(s, clocks);
      fewest = s->nClasses < fewest ? s->nClasses : fewest;
      most = s->nClasses > most ? s->nClasses : most;
    }
    shardSimulationDestroy(s);
    free(text);
  }
  check(fewest < nRanks / 3 && most > nRanks / 2, "few classes and many", NULL);
  shardClusterDestroy(cluster);
  printf("%d to %d classes of %d ranks\n%d checks, %d failures\n", fewest, most, nRanks, nChecks,
         nFailures);
  return nFailures > 0;
}
