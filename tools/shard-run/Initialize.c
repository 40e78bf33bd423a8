//===- Initialize.c - How random arguments are drawn --------------*- C -*-===//
// Reads: the use graph of a module at any tensor level. Writes: nothing.
//===----------------------------------------------------------------------===//

#include "Initialize.h"
#include "Memory.h"
#include "Ops.h"
#include "PointerTable.h"

#include "mlir-c/AffineExpr.h"
#include "mlir-c/AffineMap.h"
#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/Dialect/Linalg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/// An argument of a public function, what was seen of its uses.
typedef struct Traced {
  MlirValue value;
  int64_t index; // of the original argument
  bool isFloat;
  int64_t elements, longest; // longest dimension
  double fanIn;              // of its largest contraction; 0: none
  bool multiplies, adds, gathered, boosted;
  bool logitOperand;  // reaches the logits' contraction without another one between
  int64_t indexBound; // smallest dimension it indexes; INT64_MAX: none
} Traced;

typedef struct Call {
  MlirOperation op, callee;
} Call;

typedef struct Graph {
  MlirOperation module;
  Call *calls;
  size_t nCalls, callCapacity;
  Traced *traced;
  size_t nTraced, tracedCapacity;
  // Which traced argument is an operand, moved but not computed with, of which op.
  struct Leaf {
    MlirOperation op;
    size_t traced;
  } *leaves;
  size_t nLeaves, leafCapacity;
  PointerTable leafOps; // op -> 1
} Graph;

/// Contractions and convolutions: a product of two operands, summed.
static bool isContraction(MlirOperation op) {
  if (!opStartsWith(op, "linalg."))
    return opIs(op, "tosa.matmul") || opIs(op, "tosa.conv2d");
  return mlirLinalgIsAContractionOp(op) || mlirLinalgIsAConvolutionOp(op);
}

/// Product of the sizes of the loops that are summed.
static double contractionFanIn(MlirOperation op) {
  MlirAttribute maps =
      opStartsWith(op, "linalg.") ? mlirLinalgGetIndexingMapsAttribute(op) : mlirAttributeGetNull();
  if (mlirAttributeIsNull(maps) || !mlirAttributeIsAArray(maps)) {
    MlirType type = mlirValueGetType(mlirOperationGetOperand(op, 0));
    return (double)mlirShapedTypeGetDimSize(type, mlirShapedTypeGetRank(type) - 1);
  }
  intptr_t nMaps = mlirArrayAttrGetNumElements(maps);
  MlirAffineMap last = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, nMaps - 1));
  double fanIn = 1;
  for (intptr_t loop = 0; loop < mlirAffineMapGetNumDims(last); ++loop) {
    bool kept = false;
    for (intptr_t i = 0; i < mlirAffineMapGetNumResults(last); ++i)
      kept |= mlirAffineExprIsFunctionOfDim(mlirAffineMapGetResult(last, i), loop);
    if (kept)
      continue;
    for (intptr_t k = 0; k + 1 < nMaps; ++k) {
      MlirAffineMap map = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, k));
      MlirType type = mlirValueGetType(mlirOperationGetOperand(op, k));
      bool found = false;
      for (intptr_t i = 0; i < mlirAffineMapGetNumResults(map) && !found; ++i) {
        MlirAffineExpr expr = mlirAffineMapGetResult(map, i);
        if (!mlirAffineExprIsADim(expr) || mlirAffineDimExprGetPosition(expr) != loop)
          continue;
        fanIn *= (double)mlirShapedTypeGetDimSize(type, i);
        found = true;
      }
      if (found)
        break;
    }
  }
  return fanIn;
}

static MlirBlock bodyOf(MlirOperation op) {
  return mlirOperationGetNumRegions(op) > 0 ? opBody(op, 0) : (MlirBlock){NULL};
}

/// Ops that hand elements on unchanged, by dialect: shapes, order and type may change.
static bool movesData(MlirOperation op) {
  static const char *const names[] = {"linalg.transpose",
                                      "linalg.broadcast",
                                      "linalg.copy",
                                      "tensor.cast",
                                      "tensor.collapse_shape",
                                      "tensor.expand_shape",
                                      "tensor.reshape",
                                      "tensor.extract_slice",
                                      "tensor.insert_slice",
                                      "tensor.concat",
                                      "tensor.pad",
                                      "arith.extf",
                                      "arith.truncf",
                                      "arith.extsi",
                                      "arith.extui",
                                      "arith.trunci",
                                      "arith.index_cast",
                                      "arith.index_castui",
                                      "shard.all_gather",
                                      "shard.all_slice",
                                      "shard.all_to_all",
                                      "shard.shift",
                                      "shard.recv",
                                      "shard.broadcast",
                                      "tosa.reshape",
                                      "tosa.transpose",
                                      "tosa.cast",
                                      "tosa.slice",
                                      "tosa.concat",
                                      "tosa.tile",
                                      "tosa.reverse",
                                      "tosa.identity",
                                      "arith.negf",
                                      "math.absf"}; // as large as before
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
    if (opIs(op, names[i]))
      return true;
  return false;
}

/// Scalar ops in a body through which an index stays an index.
static bool keepsIndex(MlirOperation op) {
  return opIs(op, "arith.addi") || opIs(op, "arith.subi") || opIs(op, "arith.select") ||
         opIs(op, "arith.minsi") || opIs(op, "arith.maxsi") || opIs(op, "arith.minui") ||
         opIs(op, "arith.maxui") || movesData(op);
}

static void addLeaf(Graph *graph, MlirOperation op, size_t traced) {
  pointerTableAdd(&graph->leafOps, op.ptr, 1);
  if (graph->nLeaves == graph->leafCapacity) {
    graph->leafCapacity = graph->leafCapacity ? 2 * graph->leafCapacity : 64;
    graph->leaves = memoryGrow(graph->leaves, graph->leafCapacity * sizeof *graph->leaves);
  }
  graph->leaves[graph->nLeaves].op = op;
  graph->leaves[graph->nLeaves++].traced = traced;
}

/// Where a value goes inside a linalg body: arithmetic met on the way, and whether it is yielded.
static bool followScalar(Graph *graph, Traced *traced, MlirOperation linalgOp, MlirValue start,
                         int depth) {
  bool yielded = false;
  if (depth > 64)
    return false;
  for (MlirOpOperand use = mlirValueGetFirstUse(start); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use)) {
    MlirOperation op = mlirOpOperandGetOwner(use);
    unsigned number = mlirOpOperandGetOperandNumber(use);
    if (opIs(op, "linalg.yield")) {
      yielded = true;
    } else if (opIs(op, "tensor.extract")) {
      if (number == 0)
        continue;
      MlirType table = mlirValueGetType(mlirOperationGetOperand(op, 0));
      int64_t size = mlirShapedTypeGetDimSize(table, (intptr_t)number - 1);
      if (size < traced->indexBound)
        traced->indexBound = size;
    } else if (traced->isFloat && (opIs(op, "arith.mulf") || opIs(op, "arith.divf"))) {
      traced->multiplies = true;
    } else if (traced->isFloat && (opIs(op, "arith.addf") || opIs(op, "arith.subf"))) {
      traced->adds = true;
    } else if (traced->isFloat ? movesData(op) : keepsIndex(op)) {
      yielded |= followScalar(graph, traced, linalgOp, mlirOperationGetResult(op, 0), depth + 1);
    }
  }
  return yielded;
}

static bool hasReduction(MlirOperation op) {
  MlirAttribute maps = mlirLinalgGetIndexingMapsAttribute(op);
  if (mlirAttributeIsNull(maps) || !mlirAttributeIsAArray(maps))
    return true;
  intptr_t nMaps = mlirArrayAttrGetNumElements(maps);
  MlirAffineMap last = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, nMaps - 1));
  return mlirAffineMapGetNumDims(last) > mlirAffineMapGetNumResults(last);
}

static void pushResults(MlirOperation op, PointerTable *seen) {
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i)
    pointerTableAdd(seen, mlirOperationGetResult(op, i).ptr, 0);
}

static MlirOperation findCallee(const Graph *graph, MlirOperation call) {
  for (size_t i = 0; i < graph->nCalls; ++i)
    if (mlirOperationEqual(graph->calls[i].op, call))
      return graph->calls[i].callee;
  return (MlirOperation){NULL};
}

/// The function that `op` lies in, at its top level; null when nested deeper.
static MlirOperation parentFunction(MlirOperation op) {
  MlirOperation parent = mlirOperationGetParentOperation(op);
  return !mlirOperationIsNull(parent) && opIs(parent, "func.func") ? parent : (MlirOperation){NULL};
}

/// Follows an argument forward through ops that only move it, and notes what meets it.
static void traceForward(Graph *graph, size_t tracedIndex) {
  Traced *traced = &graph->traced[tracedIndex];
  PointerTable seen = {0};
  pointerTableAdd(&seen, traced->value.ptr, 0);
  for (size_t next = 0; next < seen.count; ++next) {
    MlirValue value = {seen.keys[next]};
    for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
         use = mlirOpOperandGetNextUse(use)) {
      MlirOperation op = mlirOpOperandGetOwner(use);
      unsigned number = mlirOpOperandGetOperandNumber(use);
      MlirOperation parent = mlirOperationGetParentOperation(op);
      if (opIs(op, "tensor.extract") && number == 0 && opStartsWith(parent, "linalg.")) {
        traced->gathered = true;
        if (followScalar(graph, traced, parent, mlirOperationGetResult(op, 0), 0))
          pushResults(parent, &seen);
        continue;
      }
      if (opIs(op, "func.call")) {
        MlirOperation callee = findCallee(graph, op);
        if (!mlirOperationIsNull(callee) && !mlirBlockIsNull(bodyOf(callee)))
          pointerTableAdd(&seen, mlirBlockGetArgument(bodyOf(callee), number).ptr, 0);
        continue;
      }
      if (opIs(op, "func.return")) {
        for (size_t i = 0; i < graph->nCalls; ++i)
          if (mlirOperationEqual(graph->calls[i].callee, parent))
            pointerTableAdd(&seen, mlirOperationGetResult(graph->calls[i].op, number).ptr, 0);
        continue;
      }
      if (isContraction(op)) {
        double fanIn = contractionFanIn(op);
        if (fanIn > traced->fanIn)
          traced->fanIn = fanIn;
        addLeaf(graph, op, tracedIndex);
        continue;
      }
      if (opIs(op, "tosa.gather") && number == 1) {
        int64_t size =
            mlirShapedTypeGetDimSize(mlirValueGetType(mlirOperationGetOperand(op, 0)), 1);
        if (size < traced->indexBound)
          traced->indexBound = size;
        continue;
      }
      if (movesData(op)) {
        pushResults(op, &seen);
        continue;
      }
      if (!opStartsWith(op, "linalg."))
        continue;
      MlirBlock body = bodyOf(op);
      if (mlirBlockIsNull(body) || (intptr_t)number >= mlirBlockGetNumArguments(body))
        continue;
      bool multiplied = traced->multiplies;
      if (followScalar(graph, traced, op, mlirBlockGetArgument(body, number), 0) &&
          !hasReduction(op))
        pushResults(op, &seen);
      if (traced->multiplies && !multiplied)
        addLeaf(graph, op, tracedIndex);
    }
  }
  pointerTableRelease(&seen);
}

static MlirWalkResult findExponential(MlirOperation op, void *user) {
  if (opIs(op, "math.exp") || opIs(op, "math.exp2")) {
    *(bool *)user = true;
    return MlirWalkResultInterrupt;
  }
  return MlirWalkResultAdvance;
}

static bool hasExponential(MlirOperation op) {
  if (opIs(op, "tosa.exp"))
    return true;
  bool found = false;
  if (opStartsWith(op, "linalg.") || opStartsWith(op, "math."))
    mlirOperationWalk(op, findExponential, &found, MlirWalkPreOrder);
  return found;
}

/// Whether an exponential follows `op` before another contraction.
static bool reachesExponential(const Graph *graph, MlirOperation from) {
  PointerTable seen = {0};
  pushResults(from, &seen);
  bool found = false;
  for (size_t next = 0; next < seen.count && !found; ++next) {
    MlirValue value = {seen.keys[next]};
    for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use) && !found;
         use = mlirOpOperandGetNextUse(use)) {
      MlirOperation op = mlirOpOperandGetOwner(use);
      unsigned number = mlirOpOperandGetOperandNumber(use);
      if (opIs(op, "func.call")) {
        MlirOperation callee = findCallee(graph, op);
        if (!mlirOperationIsNull(callee) && !mlirBlockIsNull(bodyOf(callee)))
          pointerTableAdd(&seen, mlirBlockGetArgument(bodyOf(callee), number).ptr, 0);
      } else if (opIs(op, "func.return")) {
        MlirOperation parent = mlirOperationGetParentOperation(op);
        for (size_t i = 0; i < graph->nCalls; ++i)
          if (mlirOperationEqual(graph->calls[i].callee, parent))
            pointerTableAdd(&seen, mlirOperationGetResult(graph->calls[i].op, number).ptr, 0);
      } else if (!isContraction(op)) {
        found = hasExponential(op);
        pushResults(op, &seen);
      }
    }
  }
  pointerTableRelease(&seen);
  return found;
}

/// Marks every argument that the nearest contractions upstream of `op`'s operands take.
static void boostUpstream(Graph *graph, MlirOperation logits) {
  PointerTable seen = {0};
  for (intptr_t i = 0; i < 2; ++i)
    pointerTableAdd(&seen, mlirOperationGetOperand(logits, i).ptr, 0);
  for (size_t next = 0; next < seen.count; ++next) {
    MlirValue value = {seen.keys[next]};
    if (mlirValueIsABlockArgument(value)) {
      for (size_t i = 0; i < graph->nTraced; ++i)
        if (mlirValueEqual(graph->traced[i].value, value))
          graph->traced[i].boosted = graph->traced[i].logitOperand = true;
      MlirOperation func = mlirBlockGetParentOperation(mlirBlockArgumentGetOwner(value));
      intptr_t number = mlirBlockArgumentGetArgNumber(value);
      for (size_t i = 0; i < graph->nCalls; ++i)
        if (mlirOperationEqual(graph->calls[i].callee, func))
          pointerTableAdd(&seen, mlirOperationGetOperand(graph->calls[i].op, number).ptr, 0);
      continue;
    }
    MlirOperation op = mlirOpResultGetOwner(value);
    if (opIs(op, "func.call")) {
      MlirOperation callee = findCallee(graph, op);
      if (mlirOperationIsNull(callee) || mlirBlockIsNull(bodyOf(callee)))
        continue;
      MlirOperation terminator = mlirBlockGetTerminator(bodyOf(callee));
      intptr_t number = mlirOpResultGetResultNumber(value);
      pointerTableAdd(&seen, mlirOperationGetOperand(terminator, number).ptr, 0);
      continue;
    }
    if (pointerTableFind(&graph->leafOps, op.ptr))
      for (size_t i = 0; i < graph->nLeaves; ++i)
        if (mlirOperationEqual(graph->leaves[i].op, op))
          graph->traced[graph->leaves[i].traced].boosted = true;
    if (isContraction(op))
      continue;
    for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
      pointerTableAdd(&seen, mlirOperationGetOperand(op, i).ptr, 0);
  }
  pointerTableRelease(&seen);
}

static MlirWalkResult visitContraction(MlirOperation op, void *user) {
  Graph *graph = user;
  // Two activations: no argument is an operand as it is.
  if (isContraction(op) && !pointerTableFind(&graph->leafOps, op.ptr) &&
      !mlirOperationIsNull(parentFunction(op)) && reachesExponential(graph, op))
    boostUpstream(graph, op);
  return MlirWalkResultAdvance;
}

static MlirWalkResult collectCall(MlirOperation op, void *user) {
  Graph *graph = user;
  if (!opIs(op, "func.call"))
    return MlirWalkResultAdvance;
  if (graph->nCalls == graph->callCapacity) {
    graph->callCapacity = graph->callCapacity ? 2 * graph->callCapacity : 64;
    graph->calls = memoryGrow(graph->calls, graph->callCapacity * sizeof *graph->calls);
  }
  graph->calls[graph->nCalls++] = (Call){op, {NULL}};
  return MlirWalkResultAdvance;
}

static void collectArguments(Graph *graph, MlirOperation func) {
  MlirBlock body = bodyOf(func);
  MlirAttribute visibility = opAttribute(func, "sym_visibility");
  if (mlirBlockIsNull(body) || !mlirAttributeIsNull(visibility))
    return;
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(body); ++i) {
    MlirValue value = mlirBlockGetArgument(body, i);
    MlirType type = mlirValueGetType(value);
    int64_t index = opOriginalArgument(func, i);
    if (!mlirTypeIsARankedTensor(type) || index < 0 || index > INT32_MAX)
      continue;
    if (graph->nTraced == graph->tracedCapacity) {
      graph->tracedCapacity = graph->tracedCapacity ? 2 * graph->tracedCapacity : 64;
      graph->traced = memoryGrow(graph->traced, graph->tracedCapacity * sizeof *graph->traced);
    }
    Traced *traced = &graph->traced[graph->nTraced++];
    *traced = (Traced){.value = value, .index = index, .indexBound = INT64_MAX};
    traced->isFloat = mlirTypeIsAFloat(mlirShapedTypeGetElementType(type));
    traced->elements = traced->longest = 1;
    for (intptr_t d = 0; d < mlirShapedTypeGetRank(type); ++d) {
      int64_t size = mlirShapedTypeGetDimSize(type, d);
      traced->elements *= size;
      traced->longest = size > traced->longest ? size : traced->longest;
    }
  }
}

static Distribution choose(const Traced *traced) {
  double boost = traced->boosted ? sqrt(3.0) : 1.0;
  if (!traced->isFloat) {
    if (traced->indexBound < INT64_MAX)
      return (Distribution){.kind = DISTRIBUTION_INDEX, .count = traced->indexBound};
    return (Distribution){.kind = DISTRIBUTION_MASK};
  }
  Distribution chosen = {
      .kind = DISTRIBUTION_NORMAL, .deviation = boost, .spread = traced->logitOperand ? boost : 1};
  bool vector = traced->elements == traced->longest && !traced->gathered;
  if (traced->fanIn > 0)
    chosen.deviation = boost / sqrt(traced->fanIn);
  else if (vector && traced->multiplies)
    chosen.mean = boost, chosen.deviation = 0.1 * boost;
  else if (vector && traced->adds)
    chosen.deviation = 0.1;
  return chosen;
}

Distribution *initializeFromModule(MlirOperation module, size_t *outCount) {
  Graph graph = {.module = module};
  mlirOperationWalk(module, collectCall, &graph, MlirWalkPreOrder);
  MlirSymbolTable symbols = mlirSymbolTableCreate(module);
  for (size_t i = 0; i < graph.nCalls; ++i) {
    MlirAttribute callee = opAttribute(graph.calls[i].op, "callee");
    if (!mlirAttributeIsNull(callee) && mlirAttributeIsAFlatSymbolRef(callee))
      graph.calls[i].callee = mlirSymbolTableLookup(symbols, mlirFlatSymbolRefAttrGetValue(callee));
  }
  mlirSymbolTableDestroy(symbols);
  for (MlirOperation op = mlirBlockGetFirstOperation(bodyOf(module)); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op))
    if (opIs(op, "func.func"))
      collectArguments(&graph, op);
  *outCount = 0;
  for (size_t i = 0; i < graph.nTraced; ++i)
    if ((size_t)graph.traced[i].index >= *outCount)
      *outCount = (size_t)graph.traced[i].index + 1;
  Distribution *out = memoryZeroed(*outCount * sizeof *out); // UNKNOWN is 0
  for (size_t i = 0; i < graph.nTraced; ++i)
    traceForward(&graph, i);
  mlirOperationWalk(module, visitContraction, &graph, MlirWalkPreOrder);

  for (size_t i = 0; i < graph.nTraced; ++i) {
    const Traced *traced = &graph.traced[i];
    if (mlirOpOperandIsNull(mlirValueGetFirstUse(traced->value)))
      continue;
    Distribution chosen = choose(traced), *slot = &out[traced->index];
    // One argument in several stage functions: the narrowest of what they say.
    if (slot->kind == DISTRIBUTION_UNKNOWN ||
        (chosen.kind == DISTRIBUTION_INDEX &&
         (slot->kind == DISTRIBUTION_MASK || chosen.count < slot->count)))
      *slot = chosen;
    else if (chosen.kind == DISTRIBUTION_NORMAL && slot->kind == DISTRIBUTION_NORMAL &&
             chosen.deviation < slot->deviation)
      *slot = chosen;
  }
  pointerTableRelease(&graph.leafOps);
  free(graph.calls);
  free(graph.traced);
  free(graph.leaves);
  return out;
}
