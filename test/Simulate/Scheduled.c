//===- Scheduled.c - Simulated L4 against closed forms ------------*- C -*-===//
// Starts and waits: what they hide, what meets on the links, tokens through loops, calls and
// branches, collectives over stages, and programs that cannot go on.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "../Cost/Check.h"
#include "Programs.h"

#include "../../lib/Passes/Report/Report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/// One node of four devices: 1 Tflop/s, 10 GB/s and 1 us to each other.
static ShardCluster *nodeCluster(void) {
  return clusterOf(
      "{\"version\":1,\"name\":\"node\",\"algorithms\":[\"ring\"],\"devices\":[{\"kind\":\"d\","
      "\"memoryBytes\":1e9,\"memoryBytesPerSecond\":{\"value\":1e11,\"measured\":true},\"flops\":{"
      "\"f32\":{\"value\":1e12,\"measured\":true}},\"launchSeconds\":1e-6}],\"links\":[{\"from\":"
      "\"device\",\"to\":\"node\",\"count\":4,\"bytesPerSecond\":{\"value\":1e10,\"measured\":true}"
      ",\"latencySeconds\":1e-6}],\"nodes\":[{\"kind\":\"d\",\"count\":1}]}");
}

static const int64_t latencyPs = 2000000; // of a ring of two: a step down and a step up
/// What is sent: `rows` x 1024 numbers, by two ranks in a ring.
static int64_t carryPs(int rows) { return picoseconds(rows * 4096.0 / 1e10); }
static int64_t productPs(int k) { return matmulPs(64, k, 32, 1e12); }

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static void line(Program *p, const char *format, ...) {
  va_list list;
  va_start(list, format);
  fprintf(p->out, "    ");
  vfprintf(p->out, format, list);
  fprintf(p->out, "\n");
  va_end(list);
}

/// %v`rows`, of rows x 1024 numbers.
static void values(Program *p) {
  static const int rows[] = {64, 128, 256};
  for (int i = 0; i < 3; ++i)
    line(p, "%%v%d = arith.constant dense<1.0> : tensor<%dx1024xf32>", rows[i], rows[i]);
}

static void start(Program *p, const char *token, int rows, int axis) {
  line(p,
       "%%%s = \"spmd.all_reduce_start\"(%%v%d) {grid = @mesh, grid_axes = array<i16: %d>, "
       "spmd.site = %d : i64} : (tensor<%dx1024xf32>) -> !spmd.token",
       token, rows, axis, p->next++, rows);
}

static void done(Program *p, const char *token, int rows) {
  line(p, "%%d%d = \"spmd.all_reduce_done\"(%%%s) : (!spmd.token) -> tensor<%dx1024xf32>",
       p->next++, token, rows);
}

static void product(Program *p, int k) {
  int i = p->next++;
  line(p, "%%a%d = arith.constant dense<1.0> : tensor<64x%dxf32>", i, k);
  line(p, "%%b%d = arith.constant dense<1.0> : tensor<%dx32xf32>", i, k);
  line(p, "%%e%d = tensor.empty() : tensor<64x32xf32>", i);
  line(p,
       "%%f%d = linalg.fill ins(%%zero : f32) outs(%%e%d : tensor<64x32xf32>) -> "
       "tensor<64x32xf32>",
       i, i);
  line(p,
       "%%p%d = linalg.matmul ins(%%a%d, %%b%d : tensor<64x%dxf32>, tensor<%dx32xf32>) "
       "outs(%%f%d : tensor<64x32xf32>) -> tensor<64x32xf32>",
       i, i, i, k, k, i);
}

static void begin(Program *p, const char *shape, const char *axes) {
  programBegin(p, shape, axes);
  programFunction(p, "main", -1, false, 8, 8, 8);
  values(p);
}

static char *end(Program *p) {
  line(p, "%%r = tensor.empty() : tensor<8x8xf32>\n    return %%r : tensor<8x8xf32>\n  }");
  return programEnd(p);
}

static ShardSimulation *run(char *text, const ShardCluster *cluster) {
  ShardSimulation *s = simulate(text, cluster);
  for (int32_t i = 0; i < s->nClasses; ++i)
    checkEqual(s->classes[i].busyPs + s->classes[i].communicationPs + s->classes[i].waitPs +
                   s->classes[i].bubblePs,
               s->stepPs, "parts of a class");
  free(text);
  return s;
}

static int64_t stepOf(char *text, const ShardCluster *cluster) {
  ShardSimulation *s = run(text, cluster);
  int64_t ps = s->stepPs;
  shardSimulationDestroy(s);
  return ps;
}

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

//===----------------------------------------------------------------------===//
// What a start hides
//===----------------------------------------------------------------------===//

/// An all-reduce behind a product: exposed is what the wait waits.
static void testHidden(void) {
  ShardCluster *cluster = nodeCluster();
  static const int sums[] = {64, 4096, 16384};
  for (int i = 0; i < 3; ++i) {
    int64_t reduce = latencyPs + carryPs(64), hides = productPs(sums[i]);
    for (int late = 0; late < 2; ++late) {
      Program p;
      begin(&p, "2", "\"tp\"");
      start(&p, "t", 64, 0);
      if (late)
        done(&p, "t", 64);
      product(&p, sums[i]);
      if (!late)
        done(&p, "t", 64);
      ShardSimulation *s = run(end(&p), cluster);
      int64_t exposed = late ? reduce : most(0, reduce - hides);
      checkEqual(s->stepPs, hides + exposed, "a product and an all-reduce");
      checkEqual(s->classes[0].communicationPs, exposed, "communication that nothing hides");
      checkEqual(s->sites[0].ps, reduce, "the all-reduce");
      checkEqual(s->sites[0].exposedPs, exposed, "what the wait waits");
      checkEqual(s->stages[0].nOverlaps, 1, "a communication apart");
      checkEqual(s->stages[0].overlaps[0].endPs - s->stages[0].overlaps[0].beginPs, reduce,
                 "from its start to its end");
      shardSimulationDestroy(s);
    }
  }
  shardClusterDestroy(cluster);
}

/// Collectives of one axis run one after the other; what nobody waits for ends before the step.
static void testOrder(void) {
  ShardCluster *cluster = nodeCluster();
  int64_t first = latencyPs + carryPs(64), second = latencyPs + carryPs(128);
  Program p;
  begin(&p, "2", "\"tp\"");
  start(&p, "t", 64, 0);
  start(&p, "u", 128, 0);
  done(&p, "u", 128);
  done(&p, "t", 64);
  checkEqual(stepOf(end(&p), cluster), first + second, "two on one axis, waited for backwards");
  begin(&p, "2", "\"tp\"");
  product(&p, 64);
  start(&p, "t", 256, 0);
  ShardSimulation *s = run(end(&p), cluster);
  int64_t ends = productPs(64) + latencyPs + carryPs(256);
  checkEqual(s->stepPs, ends, "what nobody waits for");
  checkEqual(s->stages[0].nOverlaps, 1, "it is apart");
  if (s->stages[0].nOverlaps == 1) {
    checkEqual(s->stages[0].overlaps[0].beginPs, productPs(64), "from its start");
    checkEqual(s->stages[0].overlaps[0].endPs, ends, "to its end");
  }
  shardSimulationDestroy(s);
  shardClusterDestroy(cluster);
}

//===----------------------------------------------------------------------===//
// Links
//===----------------------------------------------------------------------===//

/// Two axes of two ranks in one node: each rank's port is used by both.
static void testShared(void) {
  ShardCluster *cluster = nodeCluster();
  static const int rows[][2] = {{64, 64}, {64, 128}, {256, 64}};
  for (int i = 0; i < 3; ++i) {
    int a = rows[i][0], b = rows[i][1], less = a < b ? a : b;
    Program p;
    begin(&p, "2x2", "\"dp\", \"tp\"");
    start(&p, "t", a, 0);
    start(&p, "u", b, 1);
    done(&p, "t", a);
    done(&p, "u", b);
    ShardSimulation *s = run(end(&p), cluster);
    checkEqual(s->nClasses, 1, "a class");
    // Both at half speed until the shorter has ended: what is carried in all is their sum.
    checkEqual(s->stepPs, latencyPs + carryPs(a) + carryPs(b), "two on one port");
    checkEqual(s->sites[0].sharedPs + s->sites[1].sharedPs,
               2 * latencyPs + 2 * carryPs(less) + carryPs(a) + carryPs(b) -
                   (2 * latencyPs + carryPs(a) + carryPs(b)),
               "what sharing adds");
    shardSimulationDestroy(s);
  }
  // Apart in time, they do not meet.
  Program p;
  begin(&p, "2x2", "\"dp\", \"tp\"");
  start(&p, "t", 64, 0);
  done(&p, "t", 64);
  start(&p, "u", 128, 1);
  done(&p, "u", 128);
  checkEqual(stepOf(end(&p), cluster), 2 * latencyPs + carryPs(64) + carryPs(128), "in a row");
  shardClusterDestroy(cluster);
}

/// In a node and between nodes: an uplink of 1 GB/s, which the two groups share, leaves most of the
/// port of 10 GB/s to the other axis.
static void testLevels(void) {
  ShardCluster *cluster = pairsCluster(2);
  Program p;
  begin(&p, "2x2", "\"dp\", \"tp\"");
  start(&p, "t", 256, 0);
  start(&p, "u", 256, 1);
  done(&p, "u", 256);
  done(&p, "t", 256);
  ShardSimulation *s = run(end(&p), cluster);
  const double bytes = 256 * 4096.0;
  int64_t across = picoseconds(2 * 5e-6 + bytes / 0.5e9);
  checkEqual(s->stepPs, across, "the slow axis has all that it asks for");
  // Before the slow one comes to the links, 8 us, the fast one has them to itself; then 95 %.
  double alone = 8e-6, left = bytes / 1e10 - alone;
  checkEqual(s->sites[1].sharedPs,
             picoseconds(2e-6 + alone + left / 0.95) - picoseconds(2e-6 + bytes / 1e10),
             "the fast axis has the rest");
  shardSimulationDestroy(s);
  shardClusterDestroy(cluster);
}

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

typedef enum Form { WRITTEN_OUT, LOOPED, CALLED, BRANCHED, CAPTURED } Form;

/// Each of `n` turns starts an all-reduce, computes, and waits for that of the turn before.
static char *tokens(Form form, int n) {
  static const char token[] = "!spmd.token";
  Program p;
  programBegin(&p, "2", "\"tp\"");
  if (form == CALLED) {
    fprintf(p.out, "  func.func private @begin(%%v64: tensor<64x1024xf32>) -> %s {\n", token);
    start(&p, "t", 64, 0);
    line(&p, "return %%t : %s\n  }", token);
    fprintf(p.out, "  func.func private @end(%%t: %s) {\n", token);
    done(&p, "t", 64);
    line(&p, "return\n  }");
  }
  programFunction(&p, "main", -1, false, 8, 8, 8);
  values(&p);
  if (form == CALLED)
    line(&p, "%%t0 = func.call @begin(%%v64) : (tensor<64x1024xf32>) -> %s", token);
  else
    start(&p, "t0", 64, 0);
  if (form == LOOPED) {
    line(&p, "%%c0 = arith.constant 0 : index\n    %%c1 = arith.constant 1 : index");
    line(&p, "%%cn = arith.constant %d : index", n - 1);
    line(&p, "%%l = scf.for %%i = %%c0 to %%cn step %%c1 iter_args(%%t = %%t0) -> (%s) {", token);
    start(&p, "u", 64, 0);
    product(&p, 4096);
    done(&p, "t", 64);
    line(&p, "scf.yield %%u : %s\n    }", token);
  }
  if (form == CAPTURED) { // a loop of one turn waits for what began outside
    line(&p, "%%c0 = arith.constant 0 : index\n    %%c1 = arith.constant 1 : index");
    line(&p, "scf.for %%i = %%c0 to %%c1 step %%c1 {");
    product(&p, 4096);
    done(&p, "t0", 64);
    line(&p, "}");
    return end(&p);
  }
  char now[16] = "t0", next[16];
  for (int i = 1; (form == WRITTEN_OUT || form == CALLED || form == BRANCHED) && i < n; ++i) {
    snprintf(next, sizeof(next), "t%d", i);
    if (form == BRANCHED) {
      line(&p, "%%yes%d = arith.constant true", i);
      line(&p, "%%%s = scf.if %%yes%d -> (%s) {", next, i, token);
      start(&p, "u", 64, 0);
      line(&p, "scf.yield %%u : %s\n    } else {\n      scf.yield %%%s : %s\n    }", token, now,
           token);
    } else if (form == CALLED) {
      line(&p, "%%%s = func.call @begin(%%v64) : (tensor<64x1024xf32>) -> %s", next, token);
    } else {
      start(&p, next, 64, 0);
    }
    product(&p, 4096);
    if (form == CALLED)
      line(&p, "func.call @end(%%%s) : (%s) -> ()", now, token);
    else
      done(&p, now, 64);
    strcpy(now, next);
  }
  snprintf(now, sizeof(now), "t%d", n - 1);
  if (form == LOOPED)
    strcpy(now, "l");
  if (form == CALLED)
    line(&p, "func.call @end(%%%s) : (%s) -> ()", now, token);
  else
    done(&p, now, 64);
  return end(&p);
}

static void testTokens(void) {
  ShardCluster *cluster = nodeCluster();
  int64_t reduce = latencyPs + carryPs(64), hides = productPs(4096);
  // n all-reduces in a row on their stream, each hiding a product but the first's start.
  int64_t expected[5] = {0};
  for (int n = 1; n <= 4; ++n) {
    int64_t clock = 0, stream = reduce; // end of the newest
    for (int i = 1; i < n; ++i) {
      int64_t before = stream;
      stream = most(stream, clock) + reduce;
      clock = most(clock + hides, before);
    }
    expected[n] = most(clock, stream);
  }
  for (int n = 1; n <= 4; ++n) {
    checkEqual(stepOf(tokens(WRITTEN_OUT, n), cluster), expected[n], "tokens written out");
    checkEqual(stepOf(tokens(LOOPED, n), cluster), expected[n], "tokens in a loop");
    checkEqual(stepOf(tokens(CALLED, n), cluster), expected[n], "tokens through calls");
    checkEqual(stepOf(tokens(BRANCHED, n), cluster), expected[n], "tokens through branches");
  }
  checkEqual(stepOf(tokens(CAPTURED, 1), cluster), most(reduce, hides), "a token from outside");
  shardClusterDestroy(cluster);
}

/// What is sent and what comes in are there from the start to the wait; of a wait without a result,
/// or none, what is sent, up to there or to the end.
static void testMemory(void) {
  ShardCluster *cluster = nodeCluster();
  for (int form = 0; form < 3; ++form) {
    Program p;
    begin(&p, "2", "\"tp\"");
    line(&p, "%%s = tensor.empty() : tensor<64x1024xf32>");
    line(&p, "%%v = linalg.exp ins(%%v64 : tensor<64x1024xf32>) outs(%%s : tensor<64x1024xf32>) -> "
             "tensor<64x1024xf32>");
    line(&p, "%%t = \"spmd.all_reduce_start\"(%%v) {grid = @mesh, grid_axes = array<i16: 0>} : "
             "(tensor<64x1024xf32>) -> !spmd.token");
    product(&p, 64);
    if (form == 0)
      done(&p, "t", 64);
    if (form == 1)
      line(&p, "\"spmd.wait\"(%%t) : (!spmd.token) -> ()");
    ShardSimulation *s = run(end(&p), cluster);
    const ShardSimulatedStage *stage = &s->stages[0];
    checkEqual(stage->peakBytes,
               stage->argumentBytes + stage->resultBytes + (form ? 1 : 2) * 64 * 4096 + 64 * 128,
               "sent, coming in, and the product");
    shardSimulationDestroy(s);
  }
  shardClusterDestroy(cluster);
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

static void stage(Program *p, int number) {
  char name[32];
  snprintf(name, sizeof(name), "main_stage%d", number);
  programFunction(p, name, number, false, 8, 8, 8);
  values(p);
}

static void stageEnd(Program *p) {
  line(p, "%%r = tensor.empty() : tensor<8x8xf32>\n    return %%r : tensor<8x8xf32>\n  }");
}

static void reduceOver(Program *p, int rows, int axis) {
  line(p,
       "%%g%d = shard.all_reduce %%v%d on @mesh grid_axes = [%d] {spmd.site = 7 : i64} : "
       "tensor<%dx1024xf32> -> tensor<%dx1024xf32>",
       p->next++, rows, axis, rows, rows);
}

/// Gradients of a tied weight: each stage computes for its time, then all reduce over pp.
static void testSpanning(void) {
  ShardCluster *cluster = nodeCluster();
  Program p;
  programBegin(&p, "2x2", "\"pp\", \"tp\"");
  for (int i = 0; i < 2; ++i) {
    stage(&p, i);
    product(&p, i ? 4096 : 64);
    reduceOver(&p, 64, 0);
    stageEnd(&p);
  }
  ShardSimulation *s = run(programEnd(&p), cluster);
  int64_t reduce = latencyPs + carryPs(64);
  checkEqual(s->stepPs, productPs(4096) + reduce, "an all-reduce over stages");
  checkEqual(s->nClasses, 2, "a class a stage");
  checkEqual(s->classes[0].bubblePs, productPs(4096) - productPs(64), "the first stage waits");
  checkEqual(s->classes[0].waitPs, 0, "not for its own ranks");
  checkEqual(s->classes[0].communicationPs, reduce, "then it reduces");
  checkEqual(s->nSites, 1, "one site");
  checkEqual(s->sites[0].count, 1, "one call of all stages");
  checkEqual(s->sites[0].exposedPs, reduce,
             "that each rank stands still for, not the stages added");
  checkEqual(s->links[0].bytes, 64 * 4096, "bytes out of a device, once");
  shardSimulationDestroy(s);
  shardClusterDestroy(cluster);
}

static void sendStart(Program *p, const char *token, int to, int channel) {
  line(p,
       "%%%s = \"spmd.send_start\"(%%v64) {grid = @mesh, grid_axes = array<i16: 0>, destination = "
       "array<i64: %d>, spmd.channel = %d : i64} : (tensor<64x1024xf32>) -> !spmd.token",
       token, to, channel);
}

static void receiveStart(Program *p, const char *token, int from, int channel) {
  line(p,
       "%%%s = \"spmd.recv_start\"(%%v64) {grid = @mesh, grid_axes = array<i16: 0>, source = "
       "array<i64: %d>, spmd.channel = %d : i64} : (tensor<64x1024xf32>) -> !spmd.token",
       token, from, channel);
}

/// A send that is started takes nothing from its sender, and one that is received early either.
static void testMessages(void) {
  ShardCluster *cluster = nodeCluster();
  Program p;
  programBegin(&p, "2", "\"pp\"");
  stage(&p, 0);
  product(&p, 4096);
  sendStart(&p, "s", 1, 0);
  product(&p, 4096);
  line(&p, "\"spmd.wait\"(%%s) : (!spmd.token) -> ()");
  stageEnd(&p);
  stage(&p, 1);
  receiveStart(&p, "s", 0, 0);
  product(&p, 16384);
  line(&p, "%%m = \"spmd.recv_done\"(%%s) : (!spmd.token) -> tensor<64x1024xf32>");
  product(&p, 64);
  stageEnd(&p);
  int64_t message = picoseconds(1e-6) + carryPs(64), arrives = productPs(4096) + message;
  ShardSimulation *s = run(programEnd(&p), cluster);
  checkEqual(s->classes[0].endPs, most(2 * productPs(4096), arrives), "the sender");
  checkEqual(s->classes[1].endPs, most(productPs(16384), arrives) + productPs(64), "the receiver");
  shardSimulationDestroy(s);
  shardClusterDestroy(cluster);
}

//===----------------------------------------------------------------------===//
// Refusals
//===----------------------------------------------------------------------===//

static void checkRefused(char *text, const char *place, const char *message) {
  ShardCluster *cluster = nodeCluster();
  char error[1024], *at = NULL;
  ShardSimulation *s = simulateText(text, cluster, NULL, error, sizeof(error));
  check(!s && strstr(error, message), message, s ? "accepted" : error);
  check(!s && !strstr(strchr(error, '\n') + 1, "error:"), "one error", error);
  // At the line of the op: the last one in the text that has `place`.
  int lineNumber = 1, found = 0;
  for (at = text; *at; ++at) {
    if (strncmp(at, place, strlen(place)) == 0)
      found = lineNumber;
    lineNumber += *at == '\n';
  }
  char location[32];
  snprintf(location, sizeof(location), "p.mlir:%d:", found);
  check(!s && strncmp(error, location, strlen(location)) == 0, location, error);
  shardSimulationDestroy(s);
  shardClusterDestroy(cluster);
  free(text);
}

static void testRefusals(void) {
  Program p;
  begin(&p, "2", "\"tp\"");
  start(&p, "t", 64, 0);
  done(&p, "t", 64);
  done(&p, "t", 64);
  checkRefused(end(&p), "_done",
               "'spmd.all_reduce_done' waits for what has been waited for already");
  begin(&p, "2", "\"tp\"");
  start(&p, "t", 64, 0);
  line(&p, "%%d = \"spmd.all_gather_done\"(%%t) : (!spmd.token) -> tensor<64x1024xf32>");
  checkRefused(end(&p), "_done", "'spmd.all_gather_done' waits for a start of another kind");
  begin(&p, "2", "\"tp\"");
  line(&p, "%%t = builtin.unrealized_conversion_cast to !spmd.token");
  done(&p, "t", 64);
  checkRefused(end(&p), "_done", "'spmd.all_reduce_done' waits for a start that never was");
  begin(&p, "2", "\"tp\"");
  line(&p, "%%t = \"spmd.all_reduce_start\"(%%v64) {grid = @mesh, grid_axes = array<i16: 0>} : "
           "(tensor<64x1024xf32>) -> i64\n    // !spmd.token");
  checkRefused(end(&p), "_start", "a start without a token");
  begin(&p, "2", "\"tp\"");
  line(&p, "%%t = \"spmd.wait\"(%%v64) : (tensor<64x1024xf32>) -> !spmd.token");
  checkRefused(end(&p), "spmd.wait", "a wait without a token");
  begin(&p, "2", "\"tp\"");
  line(&p, "%%t = \"spmd.sum_start\"(%%v64) : (tensor<64x1024xf32>) -> !spmd.token");
  checkRefused(end(&p), "_start", "'spmd.sum_start' is not a collective that programs have");
  begin(&p, "2", "\"tp\"");
  line(&p, "%%t = \"spmd.all_reduce_start\"() {grid = @mesh, grid_axes = array<i16: 0>} : () -> "
           "!spmd.token");
  checkRefused(end(&p), "_start", "what is sent is no tensor");
  begin(&p, "2", "\"tp\"");
  start(&p, "t", 64, 0);
  line(&p, "%%yes = arith.constant true\n    %%u = scf.while (%%a = %%t) : (!spmd.token) -> "
           "!spmd.token {\n      scf.condition(%%yes) %%a : !spmd.token\n    } do {\n    ^bb0(%%b: "
           "!spmd.token):\n      scf.yield %%b : !spmd.token\n    }");
  checkRefused(end(&p), "scf.while", "a token goes through 'scf.while'");
}

/// Programs whose stages do not come together.
static void testDeadlocks(void) {
  Program p;
  for (int which = 0; which < 4; ++which) {
    programBegin(&p, "2", "\"pp\"");
    stage(&p, 0);
    if (which == 0) // received by nobody else's send
      line(&p, "%%m = shard.recv %%v64 on @mesh grid_axes = [0] source = [1] {spmd.channel = 3 : "
               "i64} : (tensor<64x1024xf32>) -> tensor<64x1024xf32>");
    if (which == 1) { // waits for what the other sends after it waits
      receiveStart(&p, "s", 1, 0);
      line(&p, "%%m = \"spmd.recv_done\"(%%s) : (!spmd.token) -> tensor<64x1024xf32>");
      sendStart(&p, "t", 1, 1);
    }
    if (which >= 2)
      reduceOver(&p, 64, 0);
    stageEnd(&p);
    stage(&p, 1);
    if (which == 1) {
      receiveStart(&p, "s", 0, 1);
      line(&p, "%%m = \"spmd.recv_done\"(%%s) : (!spmd.token) -> tensor<64x1024xf32>");
      sendStart(&p, "t", 0, 0);
    }
    if (which == 3)
      reduceOver(&p, 128, 0);
    stageEnd(&p);
    static const char *const messages[] = {
        "stage 0 waits for a message here that is never sent",
        "stage 0 waits for a message here that is never sent",
        "stage 0 waits here for ranks of its group that never come",
        "comes here to a collective of 524288 bytes (all-reduce), others of its group to one of "
        "262144 (all-reduce)"};
    char *text = programEnd(&p);
    ShardCluster *cluster = nodeCluster();
    char error[1024];
    ShardSimulation *s = simulateText(text, cluster, NULL, error, sizeof(error));
    check(!s && strstr(error, messages[which]), messages[which], s ? "accepted" : error);
    check(!s && strstr(error, "p.mlir:"), "at the op", error);
    shardSimulationDestroy(s);
    shardClusterDestroy(cluster);
    free(text);
  }
}

//===----------------------------------------------------------------------===//
// Arrows of a trace
//===----------------------------------------------------------------------===//

/// Two messages of one site that arrive at one time have an arrow each.
static void testArrows(void) {
  enum { nStages = 4 };
  ShardSimulatedEvent events[nStages];
  ShardSimulatedStage stages[nStages] = {0};
  ShardSimulatedClass classes[nStages] = {0};
  for (int s = 0; s < nStages; ++s) {
    events[s] =
        (ShardSimulatedEvent){.kind = s < 2 ? SHARD_SIMULATED_SEND : SHARD_SIMULATED_RECEIVE,
                              .endPs = 1000000,
                              .name = "message",
                              .axes = "pp",
                              .layer = -1};
    stages[s] = (ShardSimulatedStage){
        .firstClass = s, .nClasses = 1, .nRanks = 1, .nEvents = 1, .events = &events[s]};
    classes[s].firstRank = s;
  }
  ShardSimulation simulation = {.stepPs = 1000000,
                                .nRanks = nStages,
                                .nStages = nStages,
                                .stages = stages,
                                .nClasses = nStages,
                                .classes = classes,
                                .clusterName = "node"};
  char *text = shardReportFormatTrace(&simulation, NULL);
  check(text && strstr(text, "\"ph\": \"s\",\n   \"id\": 1"), "trace", "no first arrow");
  check(text && strstr(text, "\"ph\": \"f\",\n   \"id\": 2"), "trace", "no second arrow");
  free(text);
}

int main(void) {
  testHidden();
  testOrder();
  testShared();
  testLevels();
  testTokens();
  testMemory();
  testSpanning();
  testMessages();
  testRefusals();
  testDeadlocks();
  testArrows();
  printf("%d checks, %d failures\n", nChecks, nFailures);
  return nFailures > 0;
}
