//===- Published.c - Simulated schedules against published ones ---*- C -*-===//
// shard-simulate-published [--all]   Pipeline schedules as programs, an order of forwards,
// backwards
//     and weight gradients for each stage: bubbles by closed form (GPipe: Huang et al. 2019; 1F1B
//     and interleaved: Narayanan et al. 2021), and the rates of zero-bubble schedules (Qi et al.,
//     ICLR 2024, table of 12 models). With --all the largest models too.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "../Cost/Check.h"
#include "Programs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/// `p` devices that all reach each other after `messageUs`, whatever the bytes; a product of 500 x
/// k x 1000 takes k microseconds.
static ShardCluster *devices(int p, double messageUs) {
  char *text = NULL;
  if (asprintf(&text,
               "{\"version\":1,\"name\":\"devices\",\"algorithms\":[\"ring\"],\"devices\":[{"
               "\"kind\":\"d\",\"memoryBytes\":1e12,\"memoryBytesPerSecond\":{\"value\":1e18,"
               "\"measured\":true},\"flops\":{\"f32\":{\"value\":1e12,\"measured\":true}}}],"
               "\"links\":[{\"from\":\"device\",\"to\":\"node\",\"count\":%d,\"bytesPerSecond\":{"
               "\"value\":1e18,\"measured\":true},\"latencySeconds\":%.9fe-6}],\"nodes\":[{"
               "\"kind\":\"d\",\"count\":1}]}",
               p, messageUs) < 0)
    exit(1);
  ShardCluster *cluster = clusterOf(text);
  free(text);
  return cluster;
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

typedef struct Task {
  char what; // 'F', 'B' (of inputs, or of everything), 'W'
  int chunk, batch;
} Task;

typedef struct Schedule {
  int p, v, m;
  int us[3];   // of F, B, W of a chunk
  bool splits; // W is a task of its own
  int n;       // of the stage at hand
  Task *tasks; // [3 * v * m]
} Schedule;

static void add(Schedule *s, char what, int chunk, int batch) {
  s->tasks[s->n++] = (Task){what, chunk, batch};
}

/// All forwards, then all backwards.
static void orderGPipe(Schedule *s, int stage) {
  (void)stage;
  for (int i = 0; i < s->m; ++i)
    add(s, 'F', 0, i);
  for (int i = 0; i < s->m; ++i)
    add(s, 'B', 0, i);
}

/// `depth` (p - 1 - stage) forwards ahead of backwards; a weight gradient `lag` stage behind.
static void orderOneByOne(Schedule *s, int stage, int depth, int lag) {
  int ahead = depth * (s->p - 1 - stage), behind = lag * stage;
  ahead = ahead < s->m ? ahead : s->m;
  for (int i = 0; i < ahead; ++i)
    add(s, 'F', 0, i);
  for (int i = 0; i < s->m; ++i) {
    if (i + ahead < s->m)
      add(s, 'F', 0, i + ahead);
    add(s, 'B', 0, i);
    if (s->splits && i >= behind)
      add(s, 'W', 0, i - behind);
  }
  for (int i = s->m > behind ? s->m - behind : 0; s->splits && i < s->m; ++i)
    add(s, 'W', 0, i);
}
static void orderOneF(Schedule *s, int stage) { orderOneByOne(s, stage, 1, 0); }
static void orderH1(Schedule *s, int stage) { orderOneByOne(s, stage, 1, 1); }
static void orderH2(Schedule *s, int stage) { orderOneByOne(s, stage, 2, 2); }

/// Batches in groups of p, each through all chunks.
static void addVirtual(Schedule *s, char what, int k) {
  int group = k / (s->p * s->v), chunk = k % (s->p * s->v) / s->p;
  add(s, what, what == 'F' ? chunk : s->v - 1 - chunk, group * s->p + k % s->p);
}
static void orderInterleaved(Schedule *s, int stage) {
  int all = s->m * s->v, ahead = 2 * (s->p - 1 - stage) + (s->v - 1) * s->p;
  ahead = ahead < all ? ahead : all;
  for (int k = 0; k < ahead; ++k)
    addVirtual(s, 'F', k);
  for (int k = 0; k < all; ++k) {
    if (k + ahead < all)
      addVirtual(s, 'F', k + ahead);
    addVirtual(s, 'B', k);
  }
}
/// All batches of a chunk first.
static void orderBreadthFirst(Schedule *s, int stage) {
  (void)stage;
  for (int c = 0; c < s->v; ++c)
    for (int i = 0; i < s->m; ++i)
      add(s, 'F', c, i);
  for (int c = s->v - 1; c >= 0; --c)
    for (int i = 0; i < s->m; ++i)
      add(s, 'B', c, i);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static void writeLayer(Program *p, char what, int us) {
  fprintf(p->out,
          "  func.func private @%c() {\n    %%zero = arith.constant 0.0 : f32\n"
          "    %%a = arith.constant dense<1.0> : tensor<500x%dxf32>\n"
          "    %%b = arith.constant dense<1.0> : tensor<%dx1000xf32>\n"
          "    %%e = tensor.empty() : tensor<500x1000xf32>\n"
          "    %%f = linalg.fill ins(%%zero : f32) outs(%%e : tensor<500x1000xf32>)"
          " -> tensor<500x1000xf32>\n"
          "    %%p = linalg.matmul ins(%%a, %%b : tensor<500x%dxf32>, tensor<%dx1000xf32>)"
          " outs(%%f : tensor<500x1000xf32>) -> tensor<500x1000xf32>\n    return\n  }\n",
          what, us, us, us, us);
}

/// What a task needs comes from the stage before it (F) or behind it (B), of the last or first
/// stage from another chunk; what it makes goes on so. A start that nobody waits for does not hold.
static void writeTask(Program *p, const Schedule *s, int stage, const Task *task) {
  bool forward = task->what == 'F';
  int first = forward ? 0 : s->p * s->v - 1, last = s->p * s->v - 1 - first;
  int step = forward ? 1 : -1, at = task->chunk * s->p + stage;
  bool talks = task->what != 'W';
  if (talks && at != first)
    fprintf(
        p->out,
        "    %%r%d = shard.recv %%x on @mesh grid_axes = [0] source = [%d] {spmd.channel = %d : "
        "i64} : (tensor<1xf32>) -> tensor<1xf32>\n",
        p->next++, (at - step) % s->p, 2 * at + forward);
  fprintf(p->out, "    func.call @%c() : () -> ()\n", task->what);
  if (talks && at != last)
    fprintf(p->out,
            "    %%t%d = \"spmd.send_start\"(%%x) {grid = @mesh, grid_axes = array<i16: 0>, "
            "destination = array<i64: %d>, spmd.channel = %d : i64} : (tensor<1xf32>) -> "
            "!spmd.token\n",
            p->next++, (at + step) % s->p, 2 * (at + step) + forward);
}

static char *writeSchedule(Schedule *s, void (*order)(Schedule *, int)) {
  Program p;
  char shape[16];
  snprintf(shape, sizeof(shape), "%d", s->p);
  programBegin(&p, shape, "\"pp\"");
  for (int i = 0; i < 3; ++i)
    writeLayer(&p, "FBW"[i], s->us[i] ? s->us[i] : 1);
  s->tasks = malloc(3 * (size_t)(s->v * s->m) * sizeof(Task));
  for (int stage = 0; stage < s->p; ++stage) {
    fprintf(p.out,
            "  func.func @main_stage%d(%%x: tensor<1xf32>) -> tensor<1xf32> attributes {spmd.stage "
            "= %d : i64} {\n",
            stage, stage);
    s->n = 0;
    order(s, stage);
    for (int i = 0; i < s->n; ++i)
      writeTask(&p, s, stage, &s->tasks[i]);
    fprintf(p.out, "    return %%x : tensor<1xf32>\n  }\n");
  }
  free(s->tasks);
  return programEnd(&p);
}

static ShardSimulation *run(Schedule s, void (*order)(Schedule *, int), double messageUs) {
  ShardCluster *cluster = devices(s.p, messageUs);
  char *text = writeSchedule(&s, order);
  ShardSimulation *simulation = simulate(text, cluster);
  free(text);
  shardClusterDestroy(cluster);
  return simulation;
}

//===----------------------------------------------------------------------===//
// Closed forms, without communication
//===----------------------------------------------------------------------===//

static int64_t stepUs(Schedule s, void (*order)(Schedule *, int), int64_t *messages) {
  ShardSimulation *simulation = run(s, order, 0);
  int64_t ps = simulation->stepPs, n = 0;
  for (intptr_t i = 0; i < simulation->nSites; ++i)
    n += simulation->sites[i].count;
  if (messages)
    *messages = n;
  shardSimulationDestroy(simulation);
  check(ps % 1000000 == 0, "whole microseconds", NULL);
  return ps / 1000000;
}

static void testClosedForms(void) {
  static const int cases[][2] = {{2, 2}, {4, 4}, {4, 8}, {8, 16}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    int p = cases[i][0], m = cases[i][1], f = 60, b = 120, n1, n2;
    int64_t once = 0, more = 0, ideal = (int64_t)m * (f + b);
    Schedule s = {.p = p, .v = 1, .m = m, .us = {f, b, 0}};
    // (p - 1) turns of the m + p - 1.
    checkEqual(stepUs(s, orderGPipe, NULL), ideal + (p - 1) * (f + b), "GPipe");
    checkEqual(stepUs(s, orderOneF, &once), ideal + (p - 1) * (f + b), "1F1B");
    ShardSimulation *simulation = run(s, orderOneF, 0);
    for (int32_t c = 0; c < simulation->nClasses; ++c)
      checkNear((double)simulation->classes[c].bubblePs / (double)simulation->stepPs,
                (double)(p - 1) / (m + p - 1), 1e-12, "bubble fraction");
    shardSimulationDestroy(simulation);
    // Interleaved: a v-th of the bubble, and v times the messages, but for one hop at each turn.
    for (int v = 2; v <= 3; ++v) {
      Schedule in = {.p = p, .v = v, .m = m, .us = {f / v, b / v, 0}};
      checkEqual(stepUs(in, orderInterleaved, &more), ideal + (p - 1) * (f + b) / v, "interleaved");
      n1 = 2 * m * (p - 1);
      n2 = 2 * m * (p * v - 1);
      checkEqual(once, n1, "messages");
      checkEqual(more, n2, "messages of an interleaved schedule");
      checkEqual(stepUs(in, orderBreadthFirst, NULL), ideal + (p - 1) * (f + b) / v,
                 "breadth first");
    }
    // Zero bubble: T_W and 2 T_W less for each of p - 1, where those are T_F = T_B = T_W.
    Schedule z = {.p = p, .v = 1, .m = m, .us = {f, f, f}, .splits = true};
    checkEqual(stepUs(z, orderH1, NULL), (int64_t)m * 3 * f + (p - 1) * (f + f - f), "ZB-H1");
  }
  // H2 has its forwards in flight: m at least 2 p - 1.
  for (int p = 2; p <= 8; p *= 2) {
    Schedule z = {.p = p, .v = 1, .m = 3 * p, .us = {60, 60, 60}, .splits = true};
    ShardSimulation *simulation = run(z, orderH2, 0);
    int64_t longest = 0;
    for (int32_t s = 0; s < simulation->nStages; ++s) {
      const ShardSimulatedStage *stage = &simulation->stages[s];
      int64_t begin = stage->events[0].kind == SHARD_SIMULATED_COMPUTE ? 0 : stage->events[0].endPs;
      int64_t span = stage->events[stage->nEvents - 1].endPs - begin;
      longest = span > longest ? span : longest;
    }
    checkEqual(longest, (int64_t)3 * p * 180 * 1000000, "ZB-H2 has no bubble");
    shardSimulationDestroy(simulation);
  }
}

//===----------------------------------------------------------------------===//
// Zero bubble, 12 models
//===----------------------------------------------------------------------===//

/// Part of the time from its first to its last op that the busiest stage does nothing.
static double rateOf(const ShardSimulation *simulation, const Schedule *s) {
  int64_t longest = 0;
  for (int32_t i = 0; i < simulation->nStages; ++i) {
    const ShardSimulatedStage *stage = &simulation->stages[i];
    int64_t begin = -1, end = 0;
    for (intptr_t e = 0; e < stage->nEvents; ++e) {
      if (stage->events[e].kind != SHARD_SIMULATED_COMPUTE)
        continue;
      begin = begin < 0 ? stage->events[e].beginPs : begin;
      end = stage->events[e].endPs;
    }
    longest = end - begin > longest ? end - begin : longest;
  }
  double work = 1e6 * s->m * (s->us[0] + s->us[1] + (s->splits ? s->us[2] : 0));
  return ((double)longest - work) / (double)longest;
}

static void testZeroBubble(bool all) {
  static const struct {
    int p, m, f, b, w, message;
    double rates[3]; // 1F1B, H1, H2
  } rows[] = {{8, 24, 18522, 18086, 9337, 601, {.2431, .1585, .1083}},
              {8, 32, 18513, 18086, 9331, 626, {.1985, .1242, .0837}},
              {8, 64, 18546, 18097, 9321, 762, {.1240, .0674, .0444}},
              {8, 24, 29718, 29444, 19927, 527, {.2347, .1323, .0698}},
              {8, 32, 29802, 29428, 19530, 577, {.1898, .1045, .0559}},
              {8, 64, 29935, 29621, 19388, 535, {.1091, .0554, .0294}},
              {16, 48, 11347, 11248, 8132, 377, {.2552, .1397, .0672}},
              {16, 64, 11307, 11254, 8101, 379, {.2082, .1088, .0516}},
              {16, 128, 11325, 11308, 8109, 378, {.1251, .0576, .0266}},
              {32, 96, 10419, 10207, 7715, 408, {.2646, .1421, .0641}},
              {32, 128, 10408, 10204, 7703, 408, {.2168, .1106, .0490}},
              {32, 256, 10402, 10248, 7698, 460, {.1352, .0594, .0257}}};
  static void (*const orders[])(Schedule *, int) = {orderOneF, orderH1, orderH2};
  static const char *const names[] = {"1F1B", "ZB-H1", "ZB-H2"};
  int n = 0;
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    for (int k = 0; k < 3 && (all || rows[i].p * rows[i].m <= 1024); ++k) {
      bool splits = k > 0;
      Schedule s = {.p = rows[i].p, .v = 1, .m = rows[i].m, .splits = splits};
      s.us[0] = rows[i].f;
      s.us[1] = rows[i].b + (splits ? 0 : rows[i].w);
      s.us[2] = splits ? rows[i].w : 0;
      ShardSimulation *simulation = run(s, orders[k], rows[i].message);
      double rate = rateOf(simulation, &s);
      char what[64];
      snprintf(what, sizeof(what), "%s, %d stages, %d batches", names[k], s.p, s.m);
      checkNear(rate, rows[i].rates[k], 0.00005 / rows[i].rates[k], what);
      shardSimulationDestroy(simulation);
      ++n;
    }
  }
  printf("%d rates\n", n);
}

int main(int argc, char **argv) {
  testClosedForms();
  testZeroBubble(argc > 1 && strcmp(argv[1], "--all") == 0);
  printf("%d checks, %d failures\n", nChecks, nFailures);
  return nFailures > 0;
}
