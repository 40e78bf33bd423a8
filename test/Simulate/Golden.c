//===- Golden.c - Simulated steps against closed forms ------------*- C -*-===//
// Small programs whose times follow from their text by hand: a collective taken out, two ops
// swapped, stages and microbatches.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "../Cost/Check.h"
#include "Programs.h"

#include "shard/Pipelines.h"
#include "shard/Warnings.h"

#include "mlir-c/Diagnostics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/// The parts of a class's step are the whole step.
static void checkParts(const ShardSimulation *s) {
  for (int32_t i = 0; i < s->nClasses; ++i) {
    const ShardSimulatedClass *c = &s->classes[i];
    checkEqual(c->busyPs + c->communicationPs + c->waitPs + c->bubblePs, s->stepPs,
               "parts of a class");
    checkEqual(c->arithmeticPs + c->memoryPs + c->launchPs, c->busyPs, "parts of its busy time");
  }
}

static int64_t stepOf(char *text, const ShardCluster *cluster) {
  ShardSimulation *s = simulate(text, cluster);
  int64_t ps = s->stepPs;
  checkParts(s);
  shardSimulationDestroy(s);
  free(text);
  return ps;
}

/// A ring of two: each step once around, down and up again.
static int64_t allReducePs(double bytes, bool acrossNodes) {
  return picoseconds(2 * (acrossNodes ? 5e-6 : 1e-6) + bytes / (acrossNodes ? 1e9 : 1e10));
}
/// To the next node.
static int64_t sendPs(double bytes) { return picoseconds(5e-6 + bytes / 1e9); }

//===----------------------------------------------------------------------===//
// Two products and an all-reduce
//===----------------------------------------------------------------------===//

/// `order`: p and q products, r an all-reduce of the first.
static char *products(const char *order, const char *shape, const char *axes, int axis) {
  Program program;
  programBegin(&program, shape, axes);
  programFunction(&program, "main", -1, false, 64, 512, 32);
  for (const char *op = order; *op; ++op)
    if (*op == 'r')
      programAllReduce(&program, "r", "p", axis, 64, 32);
    else
      programMatmul(&program, (const char[]){*op, 0}, 64, 512, 32);
  fprintf(program.out, "    return %%%s : tensor<64x32xf32>\n  }\n",
          strchr(order, 'r') ? "r" : "p");
  return programEnd(&program);
}

static void testCollective(void) {
  ShardCluster *cluster = pairsCluster(4);
  int64_t product = matmulPs(64, 512, 32, 1e12), reduce = allReducePs(64 * 32 * 4, false);
  int64_t whole = stepOf(products("pqr", "2", "\"tp\"", 0), cluster);
  checkEqual(whole, 2 * product + reduce, "two products and an all-reduce");
  int64_t without = stepOf(products("pq", "2", "\"tp\"", 0), cluster);
  checkEqual(whole - without, reduce, "an all-reduce taken out");
  checkEqual(stepOf(products("prq", "2", "\"tp\"", 0), cluster), whole,
             "a blocking all-reduce and an op swapped");
  // Along an axis whose groups span nodes; two groups share the uplink of a node.
  int64_t across = picoseconds(2 * 5e-6 + 64 * 32 * 4 / 0.5e9);
  checkEqual(stepOf(products("pqr", "2x2", "\"dp\", \"tp\"", 0), cluster), 2 * product + across,
             "an all-reduce between nodes");
  shardClusterDestroy(cluster);
}

static void testSites(void) {
  ShardCluster *cluster = pairsCluster(4);
  char *text = products("pqr", "2x2", "\"dp\", \"tp\"", 0);
  ShardSimulation *s = simulate(text, cluster);
  checkEqual(s->nRanks, 4, "ranks");
  checkEqual(s->nClasses, 1, "classes of a symmetric program");
  checkEqual(s->nSites, 1, "sites");
  checkEqual(s->sites[0].count, 1, "calls");
  checkEqual(s->sites[0].bytes, 64 * 32 * 4, "message");
  checkEqual(s->sites[0].exposedPs, s->sites[0].ps, "nothing hides a blocking collective");
  check(strcmp(s->sites[0].kind, "all-reduce") == 0, "kind", s->sites[0].kind);
  // Each rank's ring passes the message once around two ranks, and two groups leave each node.
  checkEqual(s->nLinks, 2, "sorts of links");
  checkEqual(s->links[0].nLinks, 4, "devices that send");
  checkEqual(s->links[0].bytes, 64 * 32 * 4, "bytes out of a device");
  checkEqual(s->links[1].nLinks, 2, "nodes that send");
  checkEqual(s->links[1].bytes, 2 * 64 * 32 * 4, "bytes out of a node");
  checkNear(s->stages[0].flops, 2 * 2.0 * 64 * 512 * 32, 0, "flops");
  checkEqual(s->classes[0].launchPs, 2 * 1000000, "launches of two products");
  // With nothing but ops and blocking collectives, busy is the textbook's efficiency.
  checkNear(
      s->busy,
      shardParallelEfficiency((double)s->classes[0].busyPs, (double)s->classes[0].communicationPs),
      1e-12, "efficiency");
  shardSimulationDestroy(s);
  free(text);
  shardClusterDestroy(cluster);
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// `p` stages of one product each, in a loop of `m` turns if m > 1.
static char *pipeline(int p, int m) {
  char shape[16], name[32];
  snprintf(shape, sizeof(shape), "%dx2", p);
  Program program;
  programBegin(&program, shape, "\"pp\", \"tp\"");
  for (int stage = 0; stage < p; ++stage) {
    snprintf(name, sizeof(name), "main_stage%d", stage);
    programFunction(&program, name, stage, false, 32, 4096, 16);
    fprintf(program.out,
            "    %%c0 = arith.constant 0 : index\n    %%c1 = arith.constant 1 : index\n"
            "    %%cm = arith.constant %d : index\n",
            m);
    if (m > 1)
      fprintf(program.out, "    scf.for %%i = %%c0 to %%cm step %%c1 {\n");
    if (stage)
      programReceive(&program, "in", stage - 1, stage - 1, 32, 16);
    programMatmul(&program, "p", 32, 4096, 16);
    if (stage + 1 < p)
      programSend(&program, "p", stage + 1, stage, 32, 16);
    if (m > 1)
      fprintf(program.out, "    }\n");
    fprintf(program.out, "    %%r = tensor.empty() : tensor<32x16xf32>\n"
                         "    return %%r : tensor<32x16xf32>\n  }\n");
  }
  return programEnd(&program);
}

/// A stage's events lie one after the other, from the start to the end of its first class.
static void checkEvents(const ShardSimulation *s, int32_t stage, int perTurn, int turns) {
  const ShardSimulatedStage *of = &s->stages[stage];
  int64_t at = 0, waits = 0;
  checkEqual(of->nEvents, (int64_t)perTurn * turns, "events");
  for (intptr_t i = 0; i < of->nEvents; ++i) {
    checkEqual(of->events[i].beginPs, at, "an event begins where one ended");
    at = of->events[i].endPs;
    waits += of->events[i].waitPs;
  }
  const ShardSimulatedClass *first = &s->classes[of->firstClass];
  checkEqual(at, first->endPs, "the last event ends");
  checkEqual(waits, first->waitPs + first->bubblePs - (s->stepPs - first->endPs), "waits");
}

/// Each stage is busy with a turn for its product and its send; the last one does not send. Two
/// ranks of a node share the uplink.
static void testPipeline(void) {
  ShardCluster *cluster = pairsCluster(8);
  static const int cases[][2] = {{2, 1}, {4, 1}, {2, 8}, {4, 8}, {8, 3}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    int p = cases[i][0], m = cases[i][1];
    char *text = pipeline(p, m);
    ShardSimulation *s = simulate(text, cluster);
    int64_t t = matmulPs(32, 4096, 16, 1e12), send = sendPs(2 * 32 * 16 * 4);
    checkEqual(s->stepPs, (m + p - 2) * (t + send) + t, "step of a pipeline");
    checkEqual(s->nClasses, p, "a class a stage");
    checkParts(s);
    for (int k = 0; k < s->nClasses; ++k)
      checkEqual(s->classes[k].busyPs, m * t, "busy");
    // A stage in the middle receives, computes and sends; a message that is there costs nothing.
    checkEvents(s, 0, 2, m);
    if (m == 1)
      checkEvents(s, 1, p > 2 ? 3 : 2, m);
    // In units of a turn: p - 1 of m + p - 1, but for the send that the last stage saves.
    double turns = (double)(s->classes[0].bubblePs - t) / (double)(t + send);
    checkNear(turns, p - 2, 1e-12, "bubble of the first stage");
    shardSimulationDestroy(s);
    free(text);
  }
  shardClusterDestroy(cluster);
}

/// Stage 0: product p, send of p, product q. Stage 1: receive, product. `late`: q before the send.
static char *twoStages(bool late, bool receives) {
  Program program;
  programBegin(&program, "2", "\"pp\"");
  programFunction(&program, "main_stage0", 0, false, 32, 4096, 16);
  programMatmul(&program, "p", 32, 4096, 16);
  if (!late)
    programSend(&program, "p", 1, 0, 32, 16);
  programMatmul(&program, "q", 32, 4096, 16);
  if (late)
    programSend(&program, "p", 1, 0, 32, 16);
  fprintf(program.out, "    return %%q : tensor<32x16xf32>\n  }\n");
  programFunction(&program, "main_stage1", 1, false, 32, 8192, 16);
  if (receives)
    programReceive(&program, "in", 0, 0, 32, 16);
  programMatmul(&program, "p", 32, 8192, 16);
  fprintf(program.out, "    return %%p : tensor<32x16xf32>\n  }\n");
  return programEnd(&program);
}

static void testSwap(void) {
  ShardCluster *cluster = pairsCluster(4);
  int64_t t = matmulPs(32, 4096, 16, 1e12), longer = matmulPs(32, 8192, 16, 1e12);
  int64_t send = picoseconds(1e-6 + 32 * 16 * 4 / 1e10);
  int64_t early = stepOf(twoStages(false, true), cluster);
  checkEqual(early, t + send + longer, "a send before an op");
  checkEqual(stepOf(twoStages(true, true), cluster) - early, t, "a send after an op");
  checkEqual(stepOf(twoStages(false, false), cluster), 2 * t + send,
             "nobody waits for a message that is not received");
  shardClusterDestroy(cluster);
}

/// Ranks along tp that hand on to the next: each receives, computes, then sends. Peers are worked
/// out of the rank's coordinate; the ends of the chain are their own, as rounds write none.
static void testChain(void) {
  ShardCluster *cluster = pairsCluster(2);
  Program program;
  programBegin(&program, "4", "\"tp\"");
  programFunction(&program, "main", -1, false, 32, 4096, 16);
  fprintf(program.out,
          "    %%i = shard.process_multi_index on @mesh axes = [0] : index\n"
          "    %%one = arith.constant 1 : index\n    %%last = arith.constant 3 : index\n"
          "    %%up = arith.addi %%i, %%one : index\n"
          "    %%next = arith.minui %%up, %%last : index\n"
          "    %%most = arith.maxui %%i, %%one : index\n"
          "    %%previous = arith.subi %%most, %%one : index\n"
          "    %%e = tensor.empty() : tensor<32x16xf32>\n"
          "    %%in = shard.recv %%e on @mesh grid_axes = [0] source = [%%previous]"
          " {spmd.channel = 0 : i64, spmd.round = 0 : i64} : (tensor<32x16xf32>, index) -> "
          "tensor<32x16xf32>\n");
  programMatmul(&program, "p", 32, 4096, 16);
  fprintf(program.out, "    %%s = shard.send %%p on @mesh grid_axes = [0] destination = [%%next]"
                       " {spmd.channel = 0 : i64, spmd.round = 0 : i64} : (tensor<32x16xf32>, "
                       "index) -> tensor<32x16xf32>\n"
                       "    return %%in : tensor<32x16xf32>\n  }\n");
  char *text = programEnd(&program);
  ShardSimulation *s = simulate(text, cluster);
  const double bytes = 32 * 16 * 4;
  int64_t t = matmulPs(32, 4096, 16, 1e12), inside = picoseconds(1e-6 + bytes / 1e10);
  checkEqual(s->nClasses, 4, "each rank has its place");
  checkEqual(s->stepPs, 4 * t + 2 * inside + sendPs(bytes), "a chain of ranks");
  checkParts(s);
  checkEqual(s->classes[3].waitPs, 3 * t + inside + sendPs(bytes), "the last rank waits");
  checkEqual(s->classes[3].communicationPs, inside, "and then for the message");
  shardSimulationDestroy(s);
  free(text);
  shardClusterDestroy(cluster);
}

//===----------------------------------------------------------------------===//
// Calls and loops
//===----------------------------------------------------------------------===//

typedef enum CallForm { WRITTEN_OUT, CALLED, LOOPED } CallForm;

/// Three times a product and its all-reduce.
static char *layers(CallForm form, bool reduces) {
  Program program;
  programBegin(&program, "2", "\"tp\"");
  char name[16];
  programFunction(&program, "main", -1, false, 64, 512, 32);
  if (form == LOOPED)
    fprintf(program.out,
            "    %%c0 = arith.constant 0 : index\n    %%c1 = arith.constant 1 : index\n"
            "    %%c3 = arith.constant 3 : index\n"
            "    scf.for %%i = %%c0 to %%c3 step %%c1 {\n");
  for (int i = 0; i < (form == LOOPED ? 1 : 3); ++i) {
    snprintf(name, sizeof(name), form == LOOPED ? "q%d" : "p%d", i);
    if (form != WRITTEN_OUT) {
      fprintf(program.out,
              "    %%%s = func.call @layer(%%x, %%w) : (tensor<64x512xf32>, tensor<512x32xf32>)"
              " -> tensor<64x32xf32>\n",
              name);
      continue;
    }
    programMatmul(&program, name, 64, 512, 32);
    if (reduces)
      programAllReduce(&program, (const char[]){'r', (char)('0' + i), 0}, name, 0, 64, 32);
  }
  if (form == LOOPED)
    fprintf(program.out, "    }\n    %%p0 = tensor.empty() : tensor<64x32xf32>\n");
  fprintf(program.out, "    return %%p0 : tensor<64x32xf32>\n  }\n");
  programFunction(&program, "layer", -1, true, 64, 512, 32);
  programMatmul(&program, "p", 64, 512, 32);
  if (reduces)
    programAllReduce(&program, "r", "p", 0, 64, 32);
  fprintf(program.out, "    return %%%s : tensor<64x32xf32>\n  }\n", reduces ? "r" : "p");
  return programEnd(&program);
}

static void testCalls(void) {
  ShardCluster *cluster = pairsCluster(4);
  for (int reduces = 0; reduces < 2; ++reduces) {
    int64_t once = matmulPs(64, 512, 32, 1e12) + (reduces ? allReducePs(64 * 32 * 4, false) : 0);
    checkEqual(stepOf(layers(WRITTEN_OUT, reduces), cluster), 3 * once, "written out");
    checkEqual(stepOf(layers(CALLED, reduces), cluster), 3 * once, "called");
    checkEqual(stepOf(layers(LOOPED, reduces), cluster), 3 * once, "in a loop");
  }
  shardClusterDestroy(cluster);
}

//===----------------------------------------------------------------------===//
// Ops that others do
//===----------------------------------------------------------------------===//

/// An exponential, negated; `both`: the exponential is returned too, so that it must be in memory.
static char *elementwise(bool both) {
  Program program;
  programBegin(&program, "2", "\"tp\"");
  const char *type = "tensor<64x512xf32>";
  fprintf(program.out, "  func.func @main(%%x: %s) -> %s%s%s%s {\n", type, both ? "(" : "", type,
          both ? ", tensor<64x512xf32>" : "", both ? ")" : "");
  fprintf(program.out,
          "    %%e = tensor.empty() : %s\n"
          "    %%0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, "
          "j) -> (i, j)>], iterator_types = [\"parallel\", "
          "\"parallel\"]} ins(%%x : %s) outs(%%e : %s) {\n    ^bb0(%%i: f32, %%o: f32):\n"
          "      %%v = math.exp %%i : f32\n      linalg.yield %%v : f32\n    } -> %s\n"
          "    %%1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, "
          "j) -> (i, j)>], iterator_types = [\"parallel\", "
          "\"parallel\"]} ins(%%0 : %s) outs(%%e : %s) {\n    ^bb0(%%i: f32, %%o: f32):\n"
          "      %%v = arith.negf %%i : f32\n      linalg.yield %%v : f32\n    } -> %s\n",
          type, type, type, type, type, type, type);
  fprintf(program.out, "    return %%1%s : %s%s\n  }\n", both ? ", %0" : "", type,
          both ? ", tensor<64x512xf32>" : "");
  return programEnd(&program);
}

/// A product with a weight that is transposed twice before.
static char *transposed(void) {
  Program program;
  programBegin(&program, "2", "\"tp\"");
  fprintf(program.out,
          "  func.func @main(%%x: tensor<64x512xf32>, %%a: tensor<512x32xf32>)"
          " -> tensor<64x32xf32> {\n"
          "    %%zero = arith.constant 0.0 : f32\n"
          "    %%e = tensor.empty() : tensor<32x512xf32>\n"
          "    %%t = linalg.transpose ins(%%a : tensor<512x32xf32>) outs(%%e : tensor<32x512xf32>)"
          " permutation = [1, 0]\n"
          "    %%f = tensor.empty() : tensor<512x32xf32>\n"
          "    %%w = linalg.transpose ins(%%t : tensor<32x512xf32>) outs(%%f : tensor<512x32xf32>)"
          " permutation = [1, 0]\n");
  programMatmul(&program, "p", 64, 512, 32);
  fprintf(program.out, "    return %%p : tensor<64x32xf32>\n  }\n");
  return programEnd(&program);
}

static void testFolded(void) {
  ShardCluster *cluster = pairsCluster(1);
  const double bytes = 64 * 512 * 4;
  checkEqual(stepOf(elementwise(false), cluster), picoseconds(1e-6 + 2 * bytes / 1e11),
             "two elementwise ops in one loop");
  checkEqual(stepOf(elementwise(true), cluster), 2 * picoseconds(1e-6 + 2 * bytes / 1e11),
             "two elementwise ops in two");
  checkEqual(stepOf(transposed(), cluster), matmulPs(64, 512, 32, 1e12),
             "transposes that a product reads through");
  char *text = elementwise(false);
  ShardSimulation *s = simulate(text, cluster);
  checkEqual(s->stages[0].peakBytes, 2 * (int64_t)bytes, "a value that is never in memory");
  shardSimulationDestroy(s);
  free(text);
  shardClusterDestroy(cluster);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Arguments 64 x 512 and 512 x 32, a result 64 x 32. The first product is live until its
/// all-reduce or, where that comes first, the sum is when the unused product is made. Each has a
/// panel, whose size is the CPU's.
static void testMemory(void) {
  ShardCluster *cluster = pairsCluster(4);
  const int64_t part = 64 * 32 * 4, arguments = (64 * 512 + 512 * 32) * 4;
  char *orders[] = {products("pqr", "2", "\"tp\"", 0), products("prq", "2", "\"tp\"", 0)};
  for (int i = 0; i < 2; ++i) {
    ShardSimulation *s = simulate(orders[i], cluster);
    const ShardSimulatedStage *stage = &s->stages[0];
    checkEqual(stage->argumentBytes, arguments, "arguments");
    checkEqual(stage->resultBytes, part, "results");
    check(stage->planned, "the stage has a memory plan", NULL);
    int64_t panel = stage->memory[0].byClass[SHARD_MEMORY_TEMPORARIES];
    check(panel > 0, "a product has a panel", NULL);
    checkEqual(stage->memory[0].ps, 0, "memory begins");
    checkEqual(stage->memory[0].bytes, arguments + 2 * part + panel, "with the first product");
    checkEqual(stage->memory[0].byClass[SHARD_MEMORY_COMMUNICATION], part, "what is sent");
    checkEqual(stage->peakBytes, arguments + 3 * part + panel, "peak with both products");
    checkEqual(stage->peakByClass[SHARD_MEMORY_TEMPORARIES], part + panel, "the unused one");
    for (intptr_t k = 1; k < stage->nMemory; ++k)
      check(stage->memory[k].ps > stage->memory[k - 1].ps, "memory by time", NULL);
    shardSimulationDestroy(s);
    free(orders[i]);
  }
  shardClusterDestroy(cluster);
}

//===----------------------------------------------------------------------===//
// Refusals
//===----------------------------------------------------------------------===//

static void checkRefused(char *text, const ShardCluster *cluster, const char *message) {
  char error[1024];
  ShardSimulation *s = simulateText(text, cluster, NULL, error, sizeof(error));
  check(!s && strstr(error, message), message, s ? "accepted" : error);
  check(!s && !strstr(strchr(error, '\n') + 1, "error:"), "one error", error);
  shardSimulationDestroy(s);
  free(text);
}

static void testRefusals(void) {
  ShardCluster *cluster = pairsCluster(1);
  checkRefused(pipeline(2, 1), cluster, "the program has 4 ranks, the cluster 'pairs' 2");
  checkRefused(strdup("module {}"), cluster, "the module has no 'shard.grid'");
  Program program;
  programBegin(&program, "2", "\"pp\"");
  programFunction(&program, "main_stage0", 0, false, 8, 8, 8);
  programReceive(&program, "in", 1, 7, 8, 8);
  fprintf(program.out, "    return %%in : tensor<8x8xf32>\n  }\n");
  programFunction(&program, "main_stage1", 1, false, 8, 8, 8);
  programMatmul(&program, "p", 8, 8, 8);
  fprintf(program.out, "    return %%p : tensor<8x8xf32>\n  }\n");
  checkRefused(programEnd(&program), cluster,
               "stage 0 waits for a message here that is never sent");
  programBegin(&program, "2", "\"pp\"");
  programFunction(&program, "main_stage0", 0, false, 8, 8, 8);
  programMatmul(&program, "p", 8, 8, 8);
  fprintf(program.out, "    return %%p : tensor<8x8xf32>\n  }\n");
  checkRefused(programEnd(&program), cluster, "the module has no function of stage 1");
  for (int numbered = 0; numbered < 2; ++numbered) {
    programBegin(&program, "2", "\"tp\"");
    for (int f = 0; f < 2; ++f) {
      programFunction(&program, f ? "other" : "main", numbered - 1, false, 8, 8, 8);
      programMatmul(&program, "p", 8, 8, 8);
      fprintf(program.out, "    return %%p : tensor<8x8xf32>\n  }\n");
    }
    checkRefused(programEnd(&program), cluster,
                 numbered ? "a second public function of stage 0"
                          : "a second public function; expected one, or stages with 'spmd.stage'");
  }
  programBegin(&program, "2", "\"tp\"");
  programFunction(&program, "main", -1, false, 8, 8, 8);
  fprintf(program.out, "    %%n = arith.constant 8 : index\n"
                       "    %%d = tensor.empty(%%n) : tensor<?x8xf32>\n"
                       "    return %%x : tensor<8x8xf32>\n  }\n");
  checkRefused(programEnd(&program), cluster, "'tensor.empty' has no static shape");
  ShardCluster *whole = clusterOf(
      "{\"version\":1,\"name\":\"i8\",\"devices\":[{\"kind\":\"d\",\"memoryBytes\":1e9,"
      "\"memoryBytesPerSecond\":1e11,\"flops\":{\"i8\":1e12}}],\"links\":[{\"from\":\"device\","
      "\"to\":\"node\",\"count\":2,\"bytesPerSecond\":1e10,\"latencySeconds\":1e-6}],\"nodes\":[{"
      "\"kind\":\"d\",\"count\":1}]}");
  checkRefused(products("p", "2", "\"tp\"", 0), whole,
               "'linalg.matmul' computes in f32, and the cluster has no rate for that on 'd'");
  shardClusterDestroy(whole);
  shardClusterDestroy(cluster);
}

/// The least bound on events under which a pipeline of 4 stages and 64 turns is simulated.
static int64_t leastEvents(const ShardCluster *cluster, const char *text, const int64_t *placement,
                           int32_t *outClasses) {
  int64_t low = 1, high = 1 << 20;
  while (low < high) {
    ShardSimulateOptions options = {.placement = placement, .mostEvents = low + (high - low) / 2};
    char error[1024];
    ShardSimulation *s = simulateTextFor(text, cluster, &options, error, sizeof(error));
    check(s || strstr(error, "events: a loop that communicates is too long"), "its error", error);
    if (s) {
      high = options.mostEvents;
      *outClasses = s->nClasses;
    } else {
      low = options.mostEvents + 1;
    }
    shardSimulationDestroy(s);
  }
  return low;
}

/// Every class counts, not the first of a stage alone: ranks that lie apart are more classes.
static void testEvents(void) {
  static const int64_t apart[] = {0, 2, 1, 4, 3, 5, 6, 7};
  enum { turns = 64 };
  ShardCluster *cluster = pairsCluster(4);
  char *text = pipeline(4, turns);
  int32_t nClasses = 0, nApart = 0;
  int64_t least = leastEvents(cluster, text, NULL, &nClasses);
  int64_t leastApart = leastEvents(cluster, text, apart, &nApart);
  check(nApart > nClasses, "classes", NULL);
  // A turn of any stage has at least a product, a message and its end.
  check(least >= (int64_t)3 * turns * nClasses, "events", NULL);
  check(leastApart - least >= (int64_t)3 * turns * (nApart - nClasses), "events of others", NULL);
  free(text);
  shardClusterDestroy(cluster);
}

static void findSlow(MlirStringRef part, void *user) {
  *(bool *)user |= memmem(part.data, part.length, "[slow-tensor-parallel]", 22) != NULL;
}

static MlirLogicalResult countSlow(MlirDiagnostic diagnostic, void *user) {
  bool slow = false;
  mlirDiagnosticPrint(diagnostic, findSlow, &slow);
  *(int *)user += slow;
  return mlirLogicalResultSuccess();
}

static int slowWarnings(const char *text, const ShardCluster *cluster, const int64_t *placement) {
  int n = 0;
  MlirContext context = mlirContextCreateWithThreading(false);
  mlirContextAttachDiagnosticHandler(context, countSlow, &n, NULL);
  shardContextPrepare(context);
  MlirModule module = shardModuleParse(context, mlirStringRefCreateFromCString(text), "p.mlir");
  ShardSimulation *s = shardSimulationCreate(mlirModuleGetOperation(module), cluster, placement);
  ShardWarningOptions options = {0};
  check(s && mlirLogicalResultIsSuccess(
                 shardModuleWarn(mlirModuleGetOperation(module), cluster, s, &options)),
        "warnings", NULL);
  shardSimulationDestroy(s);
  mlirModuleDestroy(module);
  mlirContextDestroy(context);
  return n;
}

/// Warnings look at the devices that ranks are on, not at those of the ranks' numbers.
static void testPlaces(void) {
  static const int64_t apart[] = {0, 2, 1, 3};
  ShardCluster *cluster = pairsCluster(2);
  Program program;
  programBegin(&program, "2x2", "\"dp\", \"tp\"");
  programFunction(&program, "main", -1, false, 8, 8, 8);
  programMatmul(&program, "p", 8, 8, 8);
  fprintf(program.out, "    return %%p : tensor<8x8xf32>\n  }\n");
  char *text = programEnd(&program);
  checkEqual(slowWarnings(text, cluster, NULL), 0, "groups of tp in a node");
  checkEqual(slowWarnings(text, cluster, apart), 1, "groups of tp over nodes");
  free(text);
  shardClusterDestroy(cluster);
}

/// Equal input, equal bytes.
static void testBytes(void) {
  ShardCluster *cluster = pairsCluster(8);
  char *text = pipeline(4, 8), *first = NULL;
  for (int i = 0; i < 2; ++i) {
    ShardSimulation *s = simulate(text, cluster);
    char *json = shardSimulationFormatJson(s), *table = shardSimulationFormatText(s), *both = NULL;
    check(asprintf(&both, "%s%s", json, table) > 0, "formats", NULL);
    if (first)
      check(strcmp(first, both) == 0, "the same bytes", NULL);
    else
      first = strdup(both);
    free(json);
    free(table);
    free(both);
    shardSimulationDestroy(s);
  }
  free(first);
  free(text);
  shardClusterDestroy(cluster);
}

int main(void) {
  testCollective();
  testSites();
  testPipeline();
  testSwap();
  testChain();
  testCalls();
  testFolded();
  testMemory();
  testRefusals();
  testEvents();
  testPlaces();
  testBytes();
  printf("%d checks, %d failures\n", nChecks, nFailures);
  return nFailures > 0;
}
