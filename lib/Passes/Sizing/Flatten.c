//===- Flatten.c - A program with every call written out ----------*- C -*-===//
// Calls and bodies of loops are entered each time they are called, so that what an op means can be
// seen from where it stands. A loop is entered once, as its first turn.
//===----------------------------------------------------------------------===//
#include "../Analysis/Rules.h"
#include "../Analysis/Work.h"
#include "Sizing.h"

#include "../Core/Diagnostics.h"

#include "mlir-c/AffineExpr.h"
#include "mlir-c/AffineMap.h"
#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/Dialect/Linalg.h"

#include <string.h>

/// More than this written out is a call graph that nobody means to be looked at call by call.
#define MAX_STEPS 4000000
/// Calls and regions within each other: each has a frame of the C stack.
#define MAX_DEPTH 2000
/// No sum of figures with more turns is finite for sure.
#define MAX_TURNS 1e100

typedef struct Place {
  int32_t layer;
  double trips;
} Place;

static void writeBlock(Flat *flat, MlirBlock block, Place place);

/// Counts what is written out for `op`. False when it is too much: after one error, or later.
static bool countSteps(Flat *flat, MlirOperation op, int64_t n) {
  flat->nSteps += n;
  if (!flat->failed && flat->nSteps > MAX_STEPS) {
    flat->failed = true;
    shardEmitError(op, "the program is more than %d ops and operands with every call written out",
                   MAX_STEPS);
  }
  return !flat->failed;
}

static int32_t addValue(Flat *flat, FlatValue value) {
  flat->values = shardArenaGrow(flat->arena, flat->values, flat->nValues, &flat->valueCapacity,
                                flat->nValues + 1, sizeof(FlatValue));
  flat->values[flat->nValues] = value;
  return (int32_t)flat->nValues++;
}

static void addOperand(Flat *flat, int32_t value) {
  flat->operands = shardArenaGrow(flat->arena, flat->operands, flat->nOperands,
                                  &flat->operandCapacity, flat->nOperands + 1, sizeof(int32_t));
  flat->operands[flat->nOperands++] = value;
}

static int32_t addSource(Flat *flat, int32_t op) {
  flat->sources = shardArenaGrow(flat->arena, flat->sources, flat->nSources, &flat->sourceCapacity,
                                 flat->nSources + 1, sizeof(FlatSource));
  flat->sources[flat->nSources] = (FlatSource){.op = op, .class_ = SHARD_WEIGHT_OTHER};
  return (int32_t)flat->nSources++;
}

static int32_t valueOf(const Flat *flat, MlirValue value) {
  return (int32_t)shardPointerMapGetOr(flat->valueOf, value.ptr, -1);
}

static void bind(Flat *flat, MlirValue value, int32_t number) {
  if (number >= 0)
    shardPointerMapSet(flat->valueOf, value.ptr, number);
}

//===----------------------------------------------------------------------===//
// Facts of an op
//===----------------------------------------------------------------------===//

typedef struct BodyFacts {
  MlirBlock block;
  FlatFacts *facts;
  bool roots, products, curves, readsResult, quotients;
} BodyFacts;

/// Whether a value of a body is one of the op's elements, or made of them.
static bool isOfElements(MlirValue value) {
  if (mlirValueIsABlockArgument(value))
    return true;
  MlirOperation op = mlirOpResultGetOwner(value);
  return !shardOpIs(op, "arith.constant") &&
         !(mlirOperationGetNumOperands(op) == 1 && !isOfElements(mlirOperationGetOperand(op, 0)));
}

static MlirLogicalResult lookAt(void *user, MlirOperation op) {
  BodyFacts *body = user;
  MlirStringRef name = shardOpGetName(op);
  bool two = mlirOperationGetNumOperands(op) == 2 && isOfElements(mlirOperationGetOperand(op, 0)) &&
             isOfElements(mlirOperationGetOperand(op, 1));
  body->facts->adds |= two && shardStringIs(name, "arith.addf");
  body->products |= two && shardStringIs(name, "arith.mulf");
  body->quotients |= two && shardStringIs(name, "arith.divf");
  bool root = shardStringIs(name, "math.rsqrt") || shardStringIs(name, "math.sqrt");
  body->roots |= root;
  body->readsResult |= root || shardStringIs(name, "math.exp") || shardStringIs(name, "math.tanh");
  body->curves |= shardNameHasDialect(name, "math") && !body->readsResult;
  body->facts->kind = shardStringIs(name, "tensor.extract") ? FLAT_LOOKUP : body->facts->kind;
  return mlirLogicalResultSuccess();
}

static MlirAffineMap mapOf(MlirAttribute maps, intptr_t i) {
  return mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, i));
}

static bool mapHasDim(MlirAffineMap map, intptr_t dim) {
  for (intptr_t r = 0; r < mlirAffineMapGetNumResults(map); ++r)
    if (mlirAffineExprIsFunctionOfDim(mlirAffineMapGetResult(map, r), dim))
      return true;
  return false;
}

static bool startsWith(MlirAffineMap map, intptr_t dim) {
  return mlirAffineMapGetNumResults(map) > 1 &&
         mlirAffineExprIsFunctionOfDim(mlirAffineMapGetResult(map, 0), dim);
}

/// Loops of a product: windows, a loop of all three, a loop that sums.
static void readLoops(MlirOperation op, FlatFacts *facts) {
  MlirAttribute maps = mlirLinalgGetIndexingMapsAttribute(op);
  if (mlirAttributeIsNull(maps) || mlirArrayAttrGetNumElements(maps) < 3)
    return;
  MlirAffineMap a = mapOf(maps, 0), b = mapOf(maps, 1),
                out = mapOf(maps, mlirArrayAttrGetNumElements(maps) - 1);
  for (intptr_t r = 0; r < mlirAffineMapGetNumResults(a); ++r)
    facts->window |= mlirAffineExprIsAAdd(mlirAffineMapGetResult(a, r));
  MlirType type = mlirValueGetType(mlirOperationGetOperand(op, 1));
  bool sums = false;
  for (intptr_t d = 0; d < mlirAffineMapGetNumDims(a); ++d) {
    bool inA = mapHasDim(a, d), inB = mapHasDim(b, d), inOut = mapHasDim(out, d);
    sums |= inA && inB && !inOut;
    for (int k = 0; k < 2; ++k)
      facts->sumsFirst[k] |= inA && inB && !inOut && startsWith(k ? b : a, d);
    for (intptr_t r = 0; inA && inB && inOut && r < mlirAffineMapGetNumResults(b); ++r)
      facts->batch |= mlirAffineExprIsFunctionOfDim(mlirAffineMapGetResult(b, r), d) &&
                      mlirShapedTypeGetDimSize(type, r) > 1;
  }
  bool apart = !mlirValueEqual(mlirOperationGetOperand(op, 0), mlirOperationGetOperand(op, 1));
  if (sums && apart)
    facts->kind = FLAT_PRODUCT;
}

static void costFacts(Flat *flat, const ShardOpWork *work, FlatFacts *facts) {
  ShardOpCost cost;
  if (!flat->cluster)
    return;
  if (!shardOpCost(flat->cluster, shardClusterDeviceKind(flat->cluster, 0), work, &cost)) {
    flat->untimed = shardRateTypeName(work->type);
    return;
  }
  facts->computeSeconds = cost.computeSeconds;
  facts->memorySeconds = cost.memorySeconds;
  facts->launchSeconds = cost.launchSeconds;
}

/// arith and math on whole tensors are their own bodies.
static void readBody(MlirOperation op, FlatFacts *facts) {
  BodyFacts body = {.facts = facts};
  MlirStringRef name = shardOpGetName(op);
  if (shardNameHasDialect(name, "arith") || shardNameHasDialect(name, "math"))
    lookAt(&body, op);
  for (intptr_t g = 0; g < mlirOperationGetNumRegions(op); ++g) {
    MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, g));
    for (MlirOperation inner = mlirBlockIsNull(block) ? (MlirOperation){NULL}
                                                      : mlirBlockGetFirstOperation(block);
         !mlirOperationIsNull(inner); inner = mlirOperationGetNextInBlock(inner))
      shardWalk(inner, NULL, lookAt, &body);
  }
  if (shardStringIs(name, "tensor.gather"))
    facts->kind = FLAT_LOOKUP;
  facts->roots = body.roots;
  facts->curves = body.curves || body.readsResult;
  bool inputs = body.products || body.quotients || body.curves || facts->kind == FLAT_PRODUCT;
  facts->keepsInputs = inputs;
  facts->keepsResult = body.readsResult && !inputs;
}

/// The number of an op's facts.
static int32_t factsOf(Flat *flat, MlirOperation op) {
  int64_t known;
  if (shardPointerMapGet(flat->factsOf, op.ptr, &known))
    return (int32_t)known;
  FlatFacts facts = {.nInputs = mlirOperationGetNumOperands(op),
                     .view = shardOpIsView(op),
                     .folded = shardOpIsFolded(op)};
  if (shardNameHasDialect(shardOpGetName(op), "linalg"))
    facts.nInputs -= mlirOperationGetNumResults(op);
  if (shardContractionFlops(op) > 0)
    readLoops(op, &facts);
  readBody(op, &facts);
  ShardOpWork work;
  if (shardOpGetWork(op, &work)) {
    facts.flops = work.flops;
    facts.vectorFlops = work.vectorFlops;
    facts.bytes = work.bytes;
    costFacts(flat, &work, &facts);
  }
  facts.moves = facts.view || (work.flops == 0 && work.vectorFlops == 0 && facts.nInputs == 1);
  flat->facts = shardArenaGrow(flat->arena, flat->facts, flat->nFacts, &flat->factsCapacity,
                               flat->nFacts + 1, sizeof(FlatFacts));
  flat->facts[flat->nFacts] = facts;
  shardPointerMapSet(flat->factsOf, op.ptr, (int64_t)flat->nFacts);
  return (int32_t)flat->nFacts++;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

typedef struct Captures {
  Flat *flat;
  MlirOperation op;
  int32_t table; // of a tensor.extract; -1: none yet
} Captures;

/// What a region uses from outside is an operand too.
static MlirLogicalResult addCaptured(void *user, MlirOperation inner) {
  Captures *captures = user;
  if (!countSteps(captures->flat, inner, 1 + mlirOperationGetNumOperands(inner)))
    return mlirLogicalResultFailure();
  if (mlirOperationEqual(inner, captures->op))
    return mlirLogicalResultSuccess();
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(inner); ++i) {
    int32_t value = valueOf(captures->flat, mlirOperationGetOperand(inner, i));
    if (value >= 0 && shardOpIs(inner, "tensor.extract") && i == 0 && captures->table < 0)
      captures->table = (int32_t)captures->flat->nOperands;
    if (value >= 0)
      addOperand(captures->flat, value);
  }
  return mlirLogicalResultSuccess();
}

static void addOp(Flat *flat, MlirOperation op, Place place) {
  int32_t facts = factsOf(flat, op);
  FlatOp out = {.op = op,
                .facts = facts,
                .layer = place.layer,
                .trips = place.trips,
                .firstOperand = (int32_t)flat->nOperands,
                .nResults = (int32_t)mlirOperationGetNumResults(op),
                .source = FLAT_NONE};
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i) {
    int32_t value = valueOf(flat, mlirOperationGetOperand(op, i));
    if (value >= 0)
      addOperand(flat, value);
  }
  Captures captures = {flat, op, -1};
  if (mlirOperationGetNumRegions(op))
    shardWalk(op, NULL, addCaptured, &captures);
  out.nOperands = (int32_t)flat->nOperands - out.firstOperand;
  if (captures.table > out.firstOperand) { // the table comes first
    int32_t *operands = &flat->operands[out.firstOperand], table = flat->operands[captures.table];
    memmove(operands + 1, operands,
            sizeof(*operands) * (size_t)(captures.table - out.firstOperand));
    operands[0] = table;
  }
  out.firstResult = (int32_t)flat->nValues;
  for (int32_t i = 0; i < out.nResults; ++i) {
    MlirValue result = mlirOperationGetResult(op, i);
    bind(flat, result,
         addValue(flat, (FlatValue){.type = mlirValueGetType(result),
                                    .op = (int32_t)flat->nOps,
                                    .source = FLAT_NONE}));
  }
  flat->ops = shardArenaGrow(flat->arena, flat->ops, flat->nOps, &flat->opCapacity, flat->nOps + 1,
                             sizeof(FlatOp));
  flat->ops[flat->nOps] = out;
  if (place.layer >= 0)
    flat->lastInLayer = (int32_t)flat->nOps;
  ++flat->nOps;
}

static MlirOperation calleeOf(const Flat *flat, MlirOperation call) {
  MlirAttribute callee = shardOpGetAttribute(call, "callee");
  MlirAttribute symbol =
      mlirStringAttrGet(mlirOperationGetContext(call), mlirFlatSymbolRefAttrGetValue(callee));
  return (MlirOperation){(void *)(intptr_t)shardPointerMapGetOr(flat->functions, symbol.ptr, 0)};
}

static double typeBytes(MlirOperation op) {
  double bytes = 0;
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i)
    bytes += (double)shardTypeBytes(mlirValueGetType(mlirOperationGetResult(op, i)));
  return bytes;
}

static Place enterLayer(Flat *flat, MlirOperation call, MlirOperation callee, Place place) {
  int64_t number;
  if (place.layer >= 0 || !shardAttrGetI64(shardOpGetAttribute(call, "spmd.layer"), &number))
    return place;
  flat->layers = shardArenaGrow(flat->arena, flat->layers, flat->nLayers, &flat->layerCapacity,
                                flat->nLayers + 1, sizeof(FlatLayer));
  flat->layers[flat->nLayers] = (FlatLayer){callee, number, typeBytes(call)};
  place.layer = (int32_t)flat->nLayers++;
  return place;
}

static void writeCall(Flat *flat, MlirOperation call, Place place) {
  MlirOperation callee = calleeOf(flat, call);
  MlirBlock body = mlirOperationIsNull(callee) ? (MlirBlock){NULL} : shardFuncGetBody(callee);
  if (mlirBlockIsNull(body)) {
    addOp(flat, call, place);
    return;
  }
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(call); ++i)
    bind(flat, mlirBlockGetArgument(body, i), valueOf(flat, mlirOperationGetOperand(call, i)));
  writeBlock(flat, body, enterLayer(flat, call, callee, place));
  MlirOperation end = mlirBlockGetTerminator(body);
  for (intptr_t i = 0; i < mlirOperationGetNumResults(call); ++i)
    bind(flat, mlirOperationGetResult(call, i), valueOf(flat, mlirOperationGetOperand(end, i)));
}

/// Operands from `from` on become arguments of a block from `to` on.
static void bindArguments(Flat *flat, MlirOperation op, intptr_t from, MlirBlock block,
                          intptr_t to) {
  for (intptr_t i = from; i < mlirOperationGetNumOperands(op); ++i)
    if (to + i - from < mlirBlockGetNumArguments(block))
      bind(flat, mlirBlockGetArgument(block, to + i - from),
           valueOf(flat, mlirOperationGetOperand(op, i)));
}

/// The results of an op are what a terminator hands on, from its operand `from` on.
static void bindResults(Flat *flat, MlirOperation op, MlirOperation end, intptr_t from) {
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i)
    if (i + from < mlirOperationGetNumOperands(end))
      bind(flat, mlirOperationGetResult(op, i),
           valueOf(flat, mlirOperationGetOperand(end, i + from)));
}

static void writeFor(Flat *flat, MlirOperation op, Place place) {
  MlirBlock body = shardOpBody(op);
  bind(flat, mlirBlockGetArgument(body, 0),
       addValue(flat, (FlatValue){.type = mlirValueGetType(mlirBlockGetArgument(body, 0)),
                                  .op = -1,
                                  .source = FLAT_NONE}));
  bindArguments(flat, op, 3, body, 1);
  int64_t trips = shardLoopTrips(op);
  if (trips > 0)
    place.trips *= (double)trips;
  if (place.trips > MAX_TURNS) {
    if (!flat->failed)
      shardEmitError(op, "loops within each other turn more than %g times", MAX_TURNS);
    flat->failed = true;
    return;
  }
  writeBlock(flat, body, place);
  bindResults(flat, op, mlirBlockGetTerminator(body), 0);
}

static void writeWhile(Flat *flat, MlirOperation op, Place place) {
  MlirBlock before = shardOpBody(op),
            after = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 1));
  bindArguments(flat, op, 0, before, 0);
  writeBlock(flat, before, place);
  MlirOperation condition = mlirBlockGetTerminator(before);
  bindArguments(flat, condition, 1, after, 0);
  writeBlock(flat, after, place);
  bindResults(flat, op, mlirBlockGetTerminator(after), 0);
}

/// Both branches; what comes out is made of what either gives.
static void writeIf(Flat *flat, MlirOperation op, Place place) {
  intptr_t nResults = mlirOperationGetNumResults(op);
  int32_t *given = SHARD_ARENA_ARRAY(flat->arena, int32_t, 2 * nResults + 1);
  for (intptr_t g = 0; g < 2; ++g) {
    MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, g));
    if (mlirBlockIsNull(body))
      continue;
    writeBlock(flat, body, place);
    MlirOperation end = mlirBlockGetTerminator(body);
    for (intptr_t i = 0; i < nResults; ++i)
      given[g * nResults + i] = valueOf(flat, mlirOperationGetOperand(end, i));
  }
  if (nResults == 0)
    return;
  int32_t first = (int32_t)flat->nOperands;
  addOp(flat, op, place);
  FlatOp *last = &flat->ops[flat->nOps - 1];
  last->firstOperand = first;
  flat->nOperands = (size_t)first;
  for (intptr_t i = 0; i < 2 * nResults; ++i)
    if (given[i] >= 0)
      addOperand(flat, given[i]);
  last->nOperands = (int32_t)flat->nOperands - first;
}

static void writeBlock(Flat *flat, MlirBlock block, Place place) {
  if (++flat->depth > MAX_DEPTH && !flat->failed) {
    flat->failed = true;
    shardEmitError(mlirBlockGetParentOperation(block),
                   "calls and regions lie more than %d deep within each other", MAX_DEPTH);
  }
  MlirOperation end = mlirBlockGetTerminator(block);
  for (MlirOperation op = mlirBlockGetFirstOperation(block);
       !mlirOperationIsNull(op) && !mlirOperationEqual(op, end) &&
       countSteps(flat, op, 1 + mlirOperationGetNumOperands(op) + mlirOperationGetNumResults(op));
       op = mlirOperationGetNextInBlock(op)) {
    if (shardOpIs(op, "func.call"))
      writeCall(flat, op, place);
    else if (shardOpIs(op, "scf.for"))
      writeFor(flat, op, place);
    else if (shardOpIs(op, "scf.while"))
      writeWhile(flat, op, place);
    else if (shardOpIs(op, "scf.if"))
      writeIf(flat, op, place);
    else
      addOp(flat, op, place);
  }
  --flat->depth;
}

//===----------------------------------------------------------------------===//
// The entry
//===----------------------------------------------------------------------===//

static MlirLogicalResult listFunction(void *user, MlirOperation func) {
  Flat *flat = user;
  shardPointerMapSet(flat->functions, shardOpGetAttribute(func, "sym_name").ptr,
                     (int64_t)(intptr_t)func.ptr);
  if (mlirOperationIsNull(flat->entry) && shardFuncIsPublic(func) &&
      !mlirBlockIsNull(shardFuncGetBody(func)))
    flat->entry = func;
  return mlirLogicalResultSuccess();
}

static void addWeight(Flat *flat, MlirValue value, int32_t number) {
  int32_t *numbers = SHARD_ARENA_ARRAY(flat->arena, int32_t, 1);
  numbers[0] = (int32_t)flat->nWeights;
  flat->weights = shardArenaGrow(flat->arena, flat->weights, flat->nWeights, &flat->weightCapacity,
                                 flat->nWeights + 1, sizeof(FlatWeight));
  flat->weights[flat->nWeights++] = (FlatWeight){.value = value, .flat = number};
  flat->values[number].form = FLAT_WEIGHT;
  flat->values[number].weights = (FlatWeights){1, numbers};
}

static void addArguments(Flat *flat, MlirBlock body) {
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(body); ++i) {
    MlirValue argument = mlirBlockGetArgument(body, i);
    FlatValue value = {
        .type = mlirValueGetType(argument), .op = -1, .form = FLAT_ACTIVATION, .source = FLAT_NONE};
    int32_t number = addValue(flat, value);
    bind(flat, argument, number);
    if (shardFuncArgumentIs(flat->entry, i, "weight"))
      addWeight(flat, argument, number);
    else
      flat->values[number].source = addSource(flat, -1);
  }
}

bool flatRead(Flat *flat) {
  flat->functions = shardPointerMapCreate(flat->arena, 64);
  flat->valueOf = shardPointerMapCreate(flat->arena, 4096);
  flat->factsOf = shardPointerMapCreate(flat->arena, 1024);
  flat->lastInLayer = -1;
  shardWalk(flat->module, "func.func", listFunction, flat);
  if (mlirOperationIsNull(flat->entry)) {
    shardEmitError(flat->module,
                   "expected one public function with a body, as shard-import leaves it");
    return false;
  }
  MlirBlock body = shardFuncGetBody(flat->entry);
  addArguments(flat, body);
  writeBlock(flat, body, (Place){-1, 1});
  if (flat->failed)
    return false;
  MlirOperation end = mlirBlockGetTerminator(body);
  flat->nResults = (size_t)mlirOperationGetNumOperands(end);
  flat->results = SHARD_ARENA_ARRAY(flat->arena, int32_t, flat->nResults + 1);
  for (size_t i = 0; i < flat->nResults; ++i)
    flat->results[i] = valueOf(flat, mlirOperationGetOperand(end, (intptr_t)i));
  // Sources of ops: one for each that may need one.
  for (size_t i = 0; i < flat->nOps; ++i)
    if (flat->facts[flat->ops[i].facts].kind != FLAT_PLAIN)
      flat->ops[i].source = addSource(flat, (int32_t)i);
  return true;
}
