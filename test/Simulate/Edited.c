//===- Edited.c - What an edit of a real program does to its step -*- C -*-===//
// shard-simulate-edited MODEL DEGREES   Shards a model. Then, one by one, each collective is taken
//     out of a copy of the program: the step is shorter by as often as it is called times what a
//     ring or direct exchange in one node takes, by the formulas here; of two stages, by what the
//     other one waits for. Neighbours that do not need each other change places: one stage takes as
//     long.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "../Cost/Check.h"
#include "Programs.h"

#include "shard/Pipelines.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/Diagnostics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const double latency = 2e-6, rate = 1e10; // of the cluster below

static ShardCluster *oneNode(void) {
  return clusterOf(
      "{\"version\":1,\"name\":\"node\",\"algorithms\":[\"ring\"],\"devices\":[{"
      "\"kind\":\"d\",\"memoryBytes\":1e9,\"memoryBytesPerSecond\":{\"value\":1e11,\"measured\":"
      "true},\"flops\":{\"f64\":5e11,\"f32\":{\"value\":1e12,\"measured\":true}},\"launchSeconds\":"
      "1e-6}],"
      "\"links\":[{\"from\":\"device\",\"to\":\"node\",\"count\":16,\"bytesPerSecond\":{\"value\":"
      "1e10,\"measured\":true},\"latencySeconds\":2e-6}],\"nodes\":[{\"kind\":\"d\",\"count\":1}]"
      "}");
}

static void printPart(MlirStringRef part, void *user) { fwrite(part.data, 1, part.length, user); }

static MlirLogicalResult printError(MlirDiagnostic diagnostic, void *user) {
  (void)user;
  if (mlirDiagnosticGetSeverity(diagnostic) == MlirDiagnosticError)
    shardDiagnosticFormat(diagnostic, "test", printPart, stdout);
  return mlirLogicalResultSuccess();
}

static MlirStringRef nameOf(MlirOperation op) {
  return mlirIdentifierStr(mlirOperationGetName(op));
}
static bool is(MlirOperation op, const char *name) {
  return mlirStringRefEqual(nameOf(op), mlirStringRefCreateFromCString(name));
}
static MlirAttribute attribute(MlirOperation op, const char *name) {
  return mlirOperationGetAttributeByName(op, mlirStringRefCreateFromCString(name));
}

//===----------------------------------------------------------------------===//
// What is expected
//===----------------------------------------------------------------------===//

static double bytesOf(MlirValue value) {
  MlirType type = mlirValueGetType(value), element = mlirShapedTypeGetElementType(type);
  double bytes = mlirTypeIsAInteger(element) ? (mlirIntegerTypeGetWidth(element) + 7) / 8
                                             : (mlirTypeIsAF64(element) ? 8 : 4);
  for (intptr_t i = 0; i < mlirShapedTypeGetRank(type); ++i)
    bytes *= (double)mlirShapedTypeGetDimSize(type, i);
  return bytes;
}

static double membersOf(MlirOperation module, MlirOperation op) {
  double n = 1;
  MlirBlock block = mlirModuleGetBody(mlirModuleFromOperation(module));
  MlirOperation grid = mlirBlockGetFirstOperation(block);
  while (!is(grid, "shard.grid"))
    grid = mlirOperationGetNextInBlock(grid);
  MlirAttribute shape = attribute(grid, "shape"), axes = attribute(op, "grid_axes");
  for (intptr_t i = 0; i < mlirDenseArrayGetNumElements(axes); ++i)
    n *= (double)mlirDenseI64ArrayGetElement(shape, mlirDenseI16ArrayGetElement(axes, i));
  return n;
}

/// Seconds of a collective; 0: none, or a message of stages.
static double secondsOf(MlirOperation module, MlirOperation op) {
  static const struct {
    const char *name;
    double rounds; // steps (n - 1) each, and shares (n - 1) / n of the bytes
  } kinds[] = {{"shard.all_reduce", 2},
               {"shard.all_gather", 1},
               {"shard.reduce_scatter", 1},
               {"shard.all_to_all", 1}};
  for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); ++i) {
    if (!is(op, kinds[i].name))
      continue;
    bool gathers = is(op, "shard.all_gather");
    double n = membersOf(module, op), r = kinds[i].rounds;
    double bytes =
        bytesOf(gathers ? mlirOperationGetResult(op, 0) : mlirOperationGetOperand(op, 0));
    return n > 1 ? r * (n - 1) * latency + r * (n - 1) / n * bytes / rate : 0;
  }
  if (is(op, "shard.shift"))
    return latency + bytesOf(mlirOperationGetOperand(op, 0)) / rate;
  return 0;
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

typedef struct Ops {
  size_t n;
  MlirOperation ops[4096];
} Ops;

static MlirWalkResult addCollective(MlirOperation op, void *user) {
  Ops *ops = user;
  MlirStringRef name = nameOf(op);
  bool collective = name.length > 6 && memcmp(name.data, "shard.", 6) == 0 &&
                    mlirOperationGetNumResults(op) == 1 && mlirOperationGetNumOperands(op) > 0 &&
                    !mlirAttributeIsNull(attribute(op, "grid_axes")) && !is(op, "shard.all_slice");
  if (collective && ops->n < sizeof(ops->ops) / sizeof(ops->ops[0]))
    ops->ops[ops->n++] = op;
  return MlirWalkResultAdvance;
}

static MlirOperation functionOf(MlirOperation op) {
  while (!is(op, "func.func"))
    op = mlirOperationGetParentOperation(op);
  return op;
}

typedef struct Calls {
  MlirOperation module, callee;
  int64_t n;
} Calls;

static int64_t callsOf(MlirOperation module, MlirOperation function);

static MlirWalkResult addCall(MlirOperation op, void *user) {
  Calls *calls = user;
  if (is(op, "func.call") &&
      mlirStringRefEqual(mlirFlatSymbolRefAttrGetValue(attribute(op, "callee")),
                         mlirStringAttrGetValue(attribute(calls->callee, "sym_name"))))
    calls->n += callsOf(calls->module, functionOf(op));
  return MlirWalkResultAdvance;
}

/// How often a step runs a function; there are no loops in these programs.
static int64_t callsOf(MlirOperation module, MlirOperation function) {
  Calls calls = {module, function, mlirAttributeIsNull(attribute(function, "sym_visibility"))};
  mlirOperationWalk(module, addCall, &calls, MlirWalkPreOrder);
  return calls.n;
}

/// What used it uses a new argument of the function: no op around it does more or less.
static void takeOut(MlirOperation op) {
  MlirValue result = mlirOperationGetResult(op, 0);
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(functionOf(op), 0));
  MlirValue argument =
      mlirBlockAddArgument(block, mlirValueGetType(result), mlirOperationGetLocation(op));
  mlirValueReplaceAllUsesOfWith(result, argument);
  mlirOperationDestroy(op);
}

//===----------------------------------------------------------------------===//
// Edits
//===----------------------------------------------------------------------===//

static ShardSimulation *simulateOp(MlirOperation module, const ShardCluster *cluster) {
  ShardSimulation *s = shardSimulationCreate(module, cluster, NULL);
  if (!s)
    exit(1);
  return s;
}

/// When the second of two stages ends if what the first does at `site` takes no time: the ops of
/// each stage one after the other, and each message no earlier than it arrives. -1: the second does
/// that too, or there are more messages than this looks at.
static int64_t replay(const ShardSimulation *whole, int64_t site) {
  enum { maxMessages = 64 };
  int64_t ends[2] = {0, 0}, arrives[maxMessages], sites[maxMessages];
  int n = 0;
  for (int s = 0; s < 2; ++s)
    for (intptr_t i = 0; i < whole->stages[s].nEvents; ++i) {
      const ShardSimulatedEvent *event = &whole->stages[s].events[i];
      bool gone = event->kind == SHARD_SIMULATED_COLLECTIVE && event->site == site;
      if (event->kind != SHARD_SIMULATED_RECEIVE)
        ends[s] += gone ? 0 : event->endPs - event->beginPs - event->waitPs;
      for (int k = 0; event->kind == SHARD_SIMULATED_RECEIVE && k < n; ++k)
        if (sites[k] == event->site && arrives[k] > ends[s])
          ends[s] = arrives[k];
      if (event->kind != SHARD_SIMULATED_SEND)
        continue;
      if (n == maxMessages)
        return -1;
      sites[n] = event->site;
      arrives[n++] = ends[s];
    }
  return ends[0] > ends[1] ? ends[0] : ends[1];
}

static int testDeleted(MlirOperation module, const ShardCluster *cluster,
                       const ShardSimulation *whole) {
  static Ops ops;
  mlirOperationWalk(module, addCollective, &ops, MlirWalkPreOrder);
  int nTested = 0;
  for (size_t i = 0; i < ops.n; ++i) {
    int64_t ps = picoseconds(secondsOf(module, ops.ops[i]));
    int64_t expected = callsOf(module, functionOf(ops.ops[i])) * ps;
    if (whole->nStages == 2) {
      MlirAttribute site = attribute(ops.ops[i], "spmd.site");
      int64_t end = replay(whole, mlirIntegerAttrGetValueInt(site));
      expected = whole->stepPs - end;
      ps = end < 0 ? 0 : ps;
    }
    if (ps == 0)
      continue;
    MlirOperation copy = mlirOperationClone(module);
    static Ops others;
    others.n = 0;
    mlirOperationWalk(copy, addCollective, &others, MlirWalkPreOrder);
    char detail[160];
    takeOut(others.ops[i]);
    ShardSimulation *s = simulateOp(copy, cluster);
    snprintf(detail, sizeof(detail),
             "%.*s number %zu: shorter by %" PRId64 ", expected %" PRId64 " of %" PRId64,
             (int)nameOf(ops.ops[i]).length, nameOf(ops.ops[i]).data, i, whole->stepPs - s->stepPs,
             expected, whole->stepPs);
    check(whole->stepPs - s->stepPs == expected, "a collective taken out", detail);
    const ShardSimulatedStage *stage = &s->stages[0], *before = &whole->stages[0];
    check(stage->memory[stage->nMemory - 1].ps <= before->memory[before->nMemory - 1].ps,
          "memory ends no later", detail);
    shardSimulationDestroy(s);
    mlirOperationDestroy(copy);
    ++nTested;
  }
  return nTested;
}

static bool uses(MlirOperation op, MlirOperation producer) {
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i) {
    MlirValue operand = mlirOperationGetOperand(op, i);
    if (mlirValueIsAOpResult(operand) &&
        mlirOperationEqual(mlirOpResultGetOwner(operand), producer))
      return true;
  }
  return false;
}

/// Each op with the next one, if that has no regions to look into and does not need it. The peak is
/// what the two orders need: it may only change where the peak was at one of the two.
static int testSwapped(MlirOperation module, const ShardCluster *cluster,
                       const ShardSimulation *whole) {
  int nTested = 0;
  MlirBlock body = mlirModuleGetBody(mlirModuleFromOperation(module));
  for (MlirOperation f = mlirBlockGetFirstOperation(body); !mlirOperationIsNull(f);
       f = mlirOperationGetNextInBlock(f)) {
    if (!is(f, "func.func") || !mlirAttributeIsNull(attribute(f, "sym_visibility")))
      continue;
    MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(f, 0));
    MlirOperation end = mlirBlockGetTerminator(block);
    for (MlirOperation op = mlirBlockGetFirstOperation(block); !mlirOperationEqual(op, end);
         op = mlirOperationGetNextInBlock(op)) {
      MlirOperation next = mlirOperationGetNextInBlock(op);
      bool timed = !is(op, "arith.constant") && !is(op, "tensor.empty");
      if (mlirOperationEqual(next, end) || uses(next, op) || !timed ||
          (mlirOperationGetNumRegions(next) && is(next, "scf.for")))
        continue;
      mlirOperationMoveAfter(op, next);
      ShardSimulation *s = simulateOp(module, cluster);
      char detail[160];
      snprintf(detail, sizeof(detail), "%.*s and %.*s: %" PRId64 ", was %" PRId64,
               (int)nameOf(op).length, nameOf(op).data, (int)nameOf(next).length, nameOf(next).data,
               s->stepPs, whole->stepPs);
      check(s->stepPs == whole->stepPs, "neighbours swapped", detail);
      for (int32_t i = 0; i < s->nClasses; ++i)
        check(s->classes[i].busyPs == whole->classes[i].busyPs, "busy as long", detail);
      shardSimulationDestroy(s);
      mlirOperationMoveBefore(op, next);
      ++nTested;
    }
  }
  return nTested;
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
  MlirOperation op = mlirModuleGetOperation(module);
  check(mlirLogicalResultIsSuccess(shardPipelineRun(op, &options)), "sharded", argv[2]);
  ShardCluster *cluster = oneNode();
  ShardSimulation *whole = simulateOp(op, cluster);
  int nDeleted = testDeleted(op, cluster, whole);
  int nSwapped = whole->nStages == 1 ? testSwapped(op, cluster, whole) : 0;
  printf("%s: %d taken out, %d swapped; %d checks, %d failures\n", argv[2], nDeleted, nSwapped,
         nChecks, nFailures);
  shardSimulationDestroy(whole);
  shardClusterDestroy(cluster);
  mlirModuleDestroy(module);
  mlirContextDestroy(context);
  return nFailures > 0;
}
