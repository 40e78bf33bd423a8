//===- Count.c - What a program sends and computes -----------------*- C -*-===//
// Counted anew from the emitted IR, by code that shares nothing with the compiler or shard-run:
// what looks alike there (reading maps, bytes of a collective) is a second count on purpose.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "Count.h"

#include "Origins.h"
#include "Peers.h"
#include "ReadIr.h"

#include "mlir-c/AffineExpr.h"
#include "mlir-c/AffineMap.h"
#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/Dialect/Linalg.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *op, *name;
  double factor; // of (n-1)/n bytes; 0: of the bytes themselves
  bool ofResult; // counted on the result, else the operand
} kindTable[N_KINDS] = {
    [KIND_ALL_REDUCE] = {"shard.all_reduce", "all-reduce", 2, true},
    [KIND_ALL_GATHER] = {"shard.all_gather", "all-gather", 1, true},
    [KIND_REDUCE_SCATTER] = {"shard.reduce_scatter", "reduce-scatter", 1, false},
    [KIND_ALL_TO_ALL] = {"shard.all_to_all", "all-to-all", 1, false},
    [KIND_PERMUTE] = {"shard.shift", "permute", 0, false},
    [KIND_BROADCAST] = {"shard.broadcast", "broadcast", 1, true},
    [KIND_SEND] = {"shard.send", "send", 0, false},
};

static void readGrid(Count *count) {
  count->ranks = 1;
  count->stage = count->stageAxis = -1;
  MlirBlock body = mlirModuleGetBody(count->module);
  for (MlirOperation op = mlirBlockGetFirstOperation(body); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op)) {
    if (!is(op, "shard.grid"))
      continue;
    MlirAttribute shape = attributeOf(op, "shape");
    count->gridRank = mlirDenseArrayGetNumElements(shape);
    if (count->gridRank > 16)
      die("a grid of more than 16 dimensions");
    for (int64_t i = 0; i < count->gridRank; ++i) {
      count->gridShape[i] = mlirDenseI64ArrayGetElement(shape, i);
      count->ranks *= count->gridShape[i];
    }
    MlirAttribute names = attributeOf(op, "spmd.axes");
    for (int64_t i = 0; !mlirAttributeIsNull(names) && i < mlirArrayAttrGetNumElements(names); ++i)
      if (mlirStringRefEqual(mlirStringAttrGetValue(mlirArrayAttrGetElement(names, i)), ref("pp")))
        count->stageAxis = i;
    return;
  }
}

static int64_t groupSize(const Count *count, MlirOperation op) {
  MlirAttribute axes = attributeOf(op, "grid_axes");
  int64_t size = 1;
  for (intptr_t i = 0; !mlirAttributeIsNull(axes) && i < mlirDenseArrayGetNumElements(axes); ++i) {
    int64_t axis = mlirDenseI16ArrayGetElement(axes, i);
    if (axis < 0 || axis >= count->gridRank)
      die("a collective over grid axis %" PRId64 " of %" PRId64, axis, count->gridRank);
    size *= count->gridShape[axis];
  }
  return size;
}

/// Of all ranks, those that run a send and send to another rank: a peer equal to oneself sends
/// nothing.
static double sendingShare(const Count *count, MlirOperation op) {
  MlirAttribute axes = attributeOf(op, "grid_axes"), peers = attributeOf(op, "destination");
  intptr_t n = mlirDenseArrayGetNumElements(axes);
  int64_t nSending = 0, coordinates[16];
  for (int64_t rank = 0; rank < count->ranks; ++rank) {
    for (int64_t d = count->gridRank - 1, rest = rank; d >= 0; rest /= count->gridShape[d--])
      coordinates[d] = rest % count->gridShape[d];
    if (count->stage >= 0 && count->stageAxis >= 0 && coordinates[count->stageAxis] != count->stage)
      continue;
    bool away = false;
    intptr_t next = 1; // operand of the next peer that is no constant
    for (intptr_t i = 0; i < n; ++i) {
      int64_t peer = mlirDenseI64ArrayGetElement(peers, i);
      if (peer == mlirShapedTypeGetDynamicSize() &&
          !peersEvaluate(mlirOperationGetOperand(op, next++), count->gridRank, coordinates, &peer))
        die("a send to a rank that is computed in an unknown way");
      away = away || peer != coordinates[mlirDenseI16ArrayGetElement(axes, i)];
    }
    nSending += away;
  }
  return (double)nSending / (double)count->ranks;
}

static void countCollective(Count *count, MlirOperation op, int kind) {
  MlirValue value =
      kindTable[kind].ofResult ? mlirOperationGetResult(op, 0) : mlirOperationGetOperand(op, 0);
  double bytes = typeBytes(mlirValueGetType(value)), n = (double)groupSize(count, op);
  if (kindTable[kind].factor > 0)
    bytes *= kindTable[kind].factor * (n - 1) / n;
  count->bytes[kind] += bytes * (kind == KIND_SEND ? sendingShare(count, op) : count->share);
  count->calls[kind] += 1;
}

/// 2 x the product of the loop sizes of a linalg op, taken from its operands' types.
static double flopsOf(MlirOperation op, int64_t *outReduction) {
  MlirAttribute maps = mlirLinalgGetIndexingMapsAttribute(op);
  int64_t sizes[32] = {0};
  bool inOutput[32] = {false};
  intptr_t nLoops = 0, nMaps = mlirArrayAttrGetNumElements(maps);
  for (intptr_t i = 0; i < nMaps; ++i) {
    MlirAffineMap map = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, i));
    nLoops = mlirAffineMapGetNumDims(map);
    if (nLoops > 32)
      die("a linalg op of more than 32 loops");
    MlirType type = mlirValueGetType(mlirOperationGetOperand(op, i));
    for (intptr_t j = 0; j < mlirAffineMapGetNumResults(map); ++j) {
      MlirAffineExpr expression = mlirAffineMapGetResult(map, j);
      if (!mlirAffineExprIsADim(expression))
        continue;
      intptr_t loop = mlirAffineDimExprGetPosition(expression);
      sizes[loop] = mlirShapedTypeGetDimSize(type, j);
      inOutput[loop] = inOutput[loop] || i + 1 == nMaps;
    }
  }
  double flops = 2;
  *outReduction = 1;
  for (intptr_t i = 0; i < nLoops; ++i) {
    if (sizes[i] == 0)
      die("a linalg op with a loop whose size no operand gives");
    flops *= (double)sizes[i];
    *outReduction *= inOutput[i] ? 1 : sizes[i];
  }
  return flops;
}

static void addUneven(Count *count, double flops, FlopsRange by) {
  count->uneven.least += flops * by.least;
  count->uneven.most += flops * by.most;
}

static Origin countContraction(Count *count, MlirOperation op, const OriginMap *map) {
  int64_t reduction;
  double flops = flopsOf(op, &reduction) * count->share * (double)count->ranks;
  const char *weight = NULL;
  int bits = 0;
  for (intptr_t i = 0; i + 1 < mlirOperationGetNumOperands(op);
       ++i) { // the last is the destination
    Origin origin = mapGet(map, mlirOperationGetOperand(op, i));
    bits |= origin.bits;
    if (originWeight(origin))
      weight = originWeight(origin);
  }
  Origin out = {NULL, FROM_DATA};
  if (!count->model) {
    count->flops += flops;
    addUneven(count, flops,
              count->laidOut ? modelRowsFlops(count->laidOut, count->degrees) : (FlopsRange){1, 1});
    return out;
  }
  ContractionClass klass;
  if (weight) {
    klass = modelClassify(count->model, count->degrees, weight);
    if (klass == CONTRACTION_UNKNOWN)
      fault("a contraction with weight '%s', which should not be multiplied", weight);
    if (klass == CONTRACTION_ROUTER)
      out.bits |= FROM_ROUTER;
    else if (weightFeedsAttention(weight))
      out.bits |= FROM_ATTENTION;
  } else if (bits & FROM_ATTENTION) {
    klass = CONTRACTION_ATTENTION;
  } else if (bits & FROM_ROUTER || reduction == 1 || !(bits & FROM_DATA)) {
    klass = CONTRACTION_WHOLE; // dispatch and combine; outer products of position tables
  } else {
    klass = CONTRACTION_UNKNOWN;
    fault("a contraction of %.0f flops that is neither attention nor a weight's", flops);
  }
  if (klass == CONTRACTION_SPLIT || klass == CONTRACTION_ATTENTION) {
    count->flops += flops;
    addUneven(count, flops,
              klass == CONTRACTION_ATTENTION
                  ? modelAttentionFlops(count->model, count->degrees)
                  : modelWeightFlops(count->model, count->degrees, weight));
  } else
    count->leftOut += flops;
  return out;
}

static void countBlock(Count *count, MlirBlock block, OriginMap *map, Origin *results);

static void countCall(Count *count, MlirOperation op, OriginMap *map) {
  MlirOperation callee =
      lookup(count->module, mlirFlatSymbolRefAttrGetValue(attributeOf(op, "callee")));
  if (mlirOperationIsNull(callee))
    die("a call of a function that is not there");
  OriginMap inner = {0};
  MlirBlock body = bodyOf(callee);
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    mapSet(&inner, mlirBlockGetArgument(body, i), mapGet(map, mlirOperationGetOperand(op, i)));
  intptr_t nResults = mlirOperationGetNumResults(op);
  Origin *results = allocate((size_t)nResults, sizeof(*results));
  countBlock(count, body, &inner, results);
  for (intptr_t i = 0; i < nResults; ++i)
    mapSet(map, mlirOperationGetResult(op, i), results[i]);
  free(results);
  mapFree(&inner);
}

typedef struct Captured {
  OriginMap *map;
  Origin origin;
} Captured;
static MlirWalkResult addCaptured(MlirOperation op, void *user) {
  Captured *captured = user;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    captured->origin =
        originJoin(captured->origin, mapGet(captured->map, mlirOperationGetOperand(op, i)));
  return MlirWalkResultAdvance;
}

static MlirWalkResult refuseNested(MlirOperation op, void *user) {
  (void)user;
  if (mlirLinalgIsAContractionOp(op) || is(op, "func.call"))
    die("a contraction or call inside control flow cannot be counted");
  return MlirWalkResultAdvance;
}

/// The send of a round of an exchange, of which `receive` is the other end; null if it is none.
static MlirOperation sendOfRound(MlirOperation receive) {
  MlirOperation none = {NULL};
  MlirAttribute site = attributeOf(receive, "spmd.site"),
                round = attributeOf(receive, "spmd.round");
  if (mlirAttributeIsNull(round))
    return none;
  for (MlirOperation op = mlirBlockGetFirstOperation(mlirOperationGetBlock(receive));
       !mlirOperationEqual(op, receive); op = mlirOperationGetNextInBlock(op))
    if (is(op, "shard.send") && mlirAttributeEqual(attributeOf(op, "spmd.site"), site) &&
        mlirAttributeEqual(attributeOf(op, "spmd.round"), round))
      return op;
  return none;
}

static void countBlock(Count *count, MlirBlock block, OriginMap *map, Origin *results) {
  for (MlirOperation op = mlirBlockGetFirstOperation(block); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op)) {
    if (is(op, "func.return")) {
      for (intptr_t i = 0; results && i < mlirOperationGetNumOperands(op); ++i)
        results[i] = mapGet(map, mlirOperationGetOperand(op, i));
      continue;
    }
    if (is(op, "func.call")) {
      countCall(count, op, map);
      continue;
    }
    for (int kind = 0; kind < N_KINDS; ++kind)
      if (is(op, kindTable[kind].op))
        countCollective(count, op, kind);
    Origin origin = {NULL, 0};
    bool linalg = !mlirAttributeIsNull(mlirLinalgGetIndexingMapsAttribute(op));
    if (linalg && (mlirLinalgIsAContractionOp(op) || mlirLinalgIsAConvolutionOp(op))) {
      origin = countContraction(count, op, map);
    } else {
      // A weight gathered by data (expert weights) stays that weight: captured values count alone.
      Captured captured = {map, {NULL, 0}};
      for (intptr_t i = 0; i < mlirOperationGetNumRegions(op); ++i)
        for (MlirBlock inner = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, i));
             !mlirBlockIsNull(inner); inner = mlirBlockGetNextInRegion(inner))
          for (MlirOperation child = mlirBlockGetFirstOperation(inner); !mlirOperationIsNull(child);
               child = mlirOperationGetNextInBlock(child)) {
            mlirOperationWalk(child, addCaptured, &captured, MlirWalkPreOrder);
            mlirOperationWalk(child, refuseNested, NULL, MlirWalkPreOrder);
          }
      origin = captured.origin;
      if (!origin.weight)
        for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
          origin = originJoin(origin, mapGet(map, mlirOperationGetOperand(op, i)));
      MlirOperation send = is(op, "shard.recv") ? sendOfRound(op) : (MlirOperation){NULL};
      if (!mlirOperationIsNull(send))
        origin = mapGet(map, mlirOperationGetOperand(send, 0));
      else if (is(op, "shard.recv")) // the hidden state
        origin.bits |= FROM_DATA;
    }
    for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i)
      mapSet(map, mlirOperationGetResult(op, i), origin);
  }
}

void countModule(Count *count, const ShardArgsJson *args) {
  readGrid(count);
  bool byPosition = args && count->gridRank == 0; // a model as it came
  MlirBlock body = mlirModuleGetBody(count->module);
  int64_t nStages = 0;
  for (int pass = 0; pass < 2; ++pass)
    for (MlirOperation op = mlirBlockGetFirstOperation(body); !mlirOperationIsNull(op);
         op = mlirOperationGetNextInBlock(op)) {
      if (!isPublicFunction(op))
        continue;
      if (pass == 0) {
        ++nStages;
        continue;
      }
      count->share = 1.0 / (double)nStages;
      MlirAttribute stage = attributeOf(op, "spmd.stage");
      count->stage = mlirAttributeIsNull(stage) ? -1 : mlirIntegerAttrGetValueInt(stage);
      OriginMap map = {0};
      MlirBlock entry = bodyOf(op);
      for (intptr_t i = 0; i < mlirBlockGetNumArguments(entry); ++i) {
        char *name = textOf(argumentAttribute(op, i, "spmd.name"));
        char *role = textOf(argumentAttribute(op, i, "spmd.role"));
        if (!name && byPosition && (size_t)i < args->nArguments)
          name = strdup(args->arguments[i].name);
        if (!role && byPosition && (size_t)i < args->nArguments)
          role = strdup(args->arguments[i].role);
        bool weight = role && strcmp(role, "weight") == 0;
        mapSet(&map, mlirBlockGetArgument(entry, i),
               weight ? (Origin){name, 0} : (Origin){NULL, FROM_DATA});
        // Names live as long as the program: a few hundred short texts.
        if (!weight)
          free(name);
        free(role);
      }
      countBlock(count, entry, &map, NULL);
      mapFree(&map);
    }
  if (nStages == 0)
    die("no public function");
}

void countPrintSent(const Count *count) {
  double total = 0;
  for (int kind = 0; kind < N_KINDS; ++kind) {
    total += count->bytes[kind];
    if (count->calls[kind] > 0)
      printf("%s: %.0f calls, %.1f bytes a rank\n", kindTable[kind].name, count->calls[kind],
             count->bytes[kind]);
  }
  printf("sent: %.1f bytes a rank\n", total);
}
