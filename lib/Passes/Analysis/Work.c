//===- Work.c - What an op computes and moves ---------------------*- C -*-===//
// Counted on local shapes, on ops as code is made of them: what is elementwise is part of the op
// that alone reads it (as upstream fuses it). Every operand is read once and every result written
// once, whatever the code for it keeps in caches.
//===----------------------------------------------------------------------===//
#include "Work.h"

#include "../Core/IR.h"

#include "mlir-c/AffineExpr.h"
#include "mlir-c/AffineMap.h"
#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/Dialect/Linalg.h"

#include <string.h>

int64_t shardTypeBytes(MlirType type) {
  int64_t count = shardTypeElementCount(type);
  return count < 0 ? 0 : count * shardTypeElementBytes(mlirShapedTypeGetElementType(type));
}

static bool isOneOf(MlirOperation op, const char *a, const char *b) {
  return shardOpIs(op, a) || shardOpIs(op, b);
}

static bool startsWith(MlirStringRef name, const char *prefix) {
  size_t length = strlen(prefix);
  return name.length > length && memcmp(name.data, prefix, length) == 0;
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

// Does the value come from a multiplication, maybe through casts?
static bool isProduct(MlirValue value) {
  for (int depth = 0; depth < 4 && mlirValueIsAOpResult(value); ++depth) {
    MlirOperation op = mlirOpResultGetOwner(value);
    if (isOneOf(op, "arith.mulf", "arith.muli"))
      return true;
    if (mlirOperationGetNumOperands(op) != 1)
      return false;
    value = mlirOperationGetOperand(op, 0);
  }
  return false;
}

static MlirBlock bodyOf(MlirOperation op) {
  return mlirOperationGetNumRegions(op) == 1 ? shardOpBody(op) : (MlirBlock){NULL};
}

// A linalg op whose body adds a product to its accumulator.
static bool isContraction(MlirOperation op) {
  MlirBlock body = bodyOf(op);
  if (mlirBlockIsNull(body))
    return false;
  MlirOperation yield = mlirBlockGetTerminator(body);
  if (mlirOperationIsNull(yield) || mlirOperationGetNumOperands(yield) != 1)
    return false;
  MlirOperation add = shardValueDefiningOp(mlirOperationGetOperand(yield, 0));
  if (mlirOperationIsNull(add) || !isOneOf(add, "arith.addf", "arith.addi"))
    return false;
  for (int i = 0; i < 2; ++i) {
    MlirValue accumulator = mlirOperationGetOperand(add, i);
    if (mlirValueIsABlockArgument(accumulator) && isProduct(mlirOperationGetOperand(add, 1 - i)))
      return true;
  }
  return false;
}

/// The loops of a linalg op: their extents, and the operands whose maps have each, as bits.
enum { MAX_LOOPS = 64 };
typedef struct OpLoops {
  intptr_t nLoops; // 0: the op has no maps
  int64_t sizes[MAX_LOOPS];
  uint64_t operands[MAX_LOOPS];
} OpLoops;

static void readLoops(MlirOperation op, OpLoops *out) {
  MlirAttribute maps = mlirLinalgGetIndexingMapsAttribute(op);
  out->nLoops = 0;
  if (mlirAttributeIsNull(maps) || !mlirAttributeIsAArray(maps))
    return;
  for (intptr_t d = 0; d < MAX_LOOPS; ++d)
    out->sizes[d] = 1, out->operands[d] = 0;
  for (intptr_t i = 0, n = mlirArrayAttrGetNumElements(maps); i < n; ++i) {
    MlirAffineMap map = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, i));
    MlirType type = mlirValueGetType(mlirOperationGetOperand(op, i));
    intptr_t nDims = mlirAffineMapGetNumDims(map);
    if (nDims > MAX_LOOPS)
      continue;
    out->nLoops = nDims;
    for (intptr_t r = 0; mlirTypeIsARankedTensor(type) && r < mlirAffineMapGetNumResults(map);
         ++r) {
      MlirAffineExpr expr = mlirAffineMapGetResult(map, r);
      if (!mlirAffineExprIsADim(expr))
        continue;
      intptr_t d = mlirAffineDimExprGetPosition(expr);
      int64_t size = mlirShapedTypeGetDimSize(type, r);
      out->sizes[d] = size < 0 ? 1 : size;
      out->operands[d] |= UINT64_C(1) << (i & 63);
    }
  }
}

/// The product of the extents of a linalg op's loops, at most INT64_MAX / 1024; 0: it has no maps.
static int64_t loopSteps(MlirOperation op) {
  OpLoops loops;
  readLoops(op, &loops);
  int64_t steps = loops.nLoops > 0;
  for (intptr_t d = 0; d < loops.nLoops; ++d)
    if (__builtin_mul_overflow(steps, loops.sizes[d], &steps) || steps > INT64_MAX / 1024)
      return INT64_MAX / 1024;
  return steps;
}

/// m, n and k of each product of a contraction: the loops that the left operand shares with the
/// result, the right one does, and the two with each other; what all three have are many products.
static void contractionShape(MlirOperation op, double *shape) {
  OpLoops loops;
  readLoops(op, &loops);
  shape[0] = shape[1] = shape[2] = 1;
  for (intptr_t d = 0; d < loops.nLoops; ++d) {
    bool a = loops.operands[d] & 1, b = loops.operands[d] & 2, c = loops.operands[d] & 4;
    if (a && b && c)
      continue;
    shape[a && c ? 0 : b && c ? 1 : 2] *= (double)loops.sizes[d];
  }
}

int64_t shardContractionFlops(MlirOperation op) {
  return isContraction(op) ? 2 * loopSteps(op) : 0;
}

//===----------------------------------------------------------------------===//
// Ops that others do
//===----------------------------------------------------------------------===//

static bool isReshape(MlirOperation op) {
  return isOneOf(op, "tensor.expand_shape", "tensor.collapse_shape") ||
         shardOpIs(op, "tensor.cast");
}

static bool isOnTensors(MlirOperation op) {
  return mlirOperationGetNumResults(op) == 1 &&
         mlirTypeIsARankedTensor(mlirValueGetType(mlirOperationGetResult(op, 0)));
}

/// arith and math on whole tensors.
static bool isTensorArithmetic(MlirOperation op) {
  MlirStringRef name = shardOpGetName(op);
  return (startsWith(name, "arith.") || startsWith(name, "math.")) && isOnTensors(op) &&
         !shardStringIs(name, "arith.constant");
}

/// Whether an op has loops that a producer's body can move into.
static bool hasLoops(MlirOperation op) {
  return isTensorArithmetic(op) || (startsWith(shardOpGetName(op), "linalg.") &&
                                    !mlirBlockIsNull(bodyOf(op)) && !isContraction(op));
}

/// The indexing map of an operand; a map of no dims where there is none.
static MlirAffineMap mapOf(MlirOperation op, intptr_t operand) {
  MlirAttribute maps = mlirLinalgGetIndexingMapsAttribute(op);
  bool known = !mlirAttributeIsNull(maps) && mlirAttributeIsAArray(maps) &&
               operand < mlirArrayAttrGetNumElements(maps);
  return known ? mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, operand))
               : mlirAffineMapEmptyGet(mlirOperationGetContext(op));
}

/// Whether each step makes one element of the one result.
static bool isElementwise(MlirOperation op) {
  if (isTensorArithmetic(op))
    return true;
  if (!hasLoops(op) || !isOnTensors(op))
    return false;
  MlirAffineMap map = mapOf(op, mlirOperationGetNumOperands(op) - 1);
  return mlirAffineMapGetNumDims(map) > 0 && mlirAffineMapIsPermutation(map);
}

static bool isInput(MlirOpOperand use, MlirOperation user) {
  return !startsWith(shardOpGetName(user), "linalg.") ||
         (intptr_t)mlirOpOperandGetOperandNumber(use) <
             mlirOperationGetNumOperands(user) - mlirOperationGetNumResults(user);
}

MlirOperation shardOpFusesInto(MlirOperation op) {
  const MlirOperation none = {NULL};
  if (!isElementwise(op))
    return none;
  for (MlirValue value = mlirOperationGetResult(op, 0);;) {
    MlirOpOperand use = mlirValueGetFirstUse(value);
    if (mlirOpOperandIsNull(use) || !mlirOpOperandIsNull(mlirOpOperandGetNextUse(use)))
      return none;
    MlirOperation user = mlirOpOperandGetOwner(use);
    if (!mlirBlockEqual(mlirOperationGetBlock(user), mlirOperationGetBlock(op)))
      return none;
    if (!isReshape(user))
      return hasLoops(user) && isInput(use, user) ? user : none;
    value = mlirOperationGetResult(user, 0);
  }
}

/// Whether an op copies its one input, step by step, to a place that a permutation gives.
static bool isMove(MlirOperation op) {
  if (!isElementwise(op) || isTensorArithmetic(op) || mlirOperationGetNumOperands(op) != 2 ||
      !mlirAffineMapIsPermutation(mapOf(op, 0)))
    return false;
  MlirOperation first = mlirBlockGetFirstOperation(bodyOf(op));
  return shardOpIs(first, "linalg.yield") &&
         mlirTypeIsARankedTensor(mlirValueGetType(mlirOperationGetOperand(op, 0)));
}

bool shardOpIsReorder(MlirOperation op) {
  if (!isMove(op) || mlirAffineMapEqual(mapOf(op, 0), mapOf(op, 1)))
    return false;
  MlirBlock body = bodyOf(op);
  MlirOperation producer = shardValueProducer(mlirOperationGetOperand(op, 0));
  return mlirValueEqual(mlirOperationGetOperand(mlirBlockGetTerminator(body), 0),
                        mlirBlockGetArgument(body, 0)) &&
         (mlirOperationIsNull(producer) || !mlirOperationEqual(shardOpFusesInto(producer), op));
}

/// Whether an op only puts its operand in another order, and contractions alone read it so.
static bool isReadThrough(MlirOperation op) {
  MlirValue result = isMove(op) ? mlirOperationGetResult(op, 0) : (MlirValue){NULL};
  if (mlirValueIsNull(result) || shardValueIsUnused(result))
    return false;
  for (MlirOpOperand use = mlirValueGetFirstUse(result); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use)) {
    MlirOperation user = mlirOpOperandGetOwner(use);
    if (!startsWith(shardOpGetName(user), "linalg.") || !isContraction(user) || !isInput(use, user))
      return false;
  }
  return true;
}

MlirOperation shardValueProducer(MlirValue value) {
  MlirOperation op = shardValueDefiningOp(value);
  while (!mlirOperationIsNull(op) && isReshape(op))
    op = shardValueDefiningOp(mlirOperationGetOperand(op, 0));
  return op;
}

bool shardOpIsView(MlirOperation op) {
  return isReshape(op) || shardOpIs(op, "tensor.extract_slice");
}

bool shardOpIsFolded(MlirOperation op) {
  return !mlirOperationIsNull(shardOpFusesInto(op)) || isReadThrough(op);
}

//===----------------------------------------------------------------------===//
// Everything else
//===----------------------------------------------------------------------===//

/// The rate by which an element type is computed. Whole numbers of more than 16 bits, which have no
/// rate of their own, go by that of f32, whose registers they share.
static ShardRateType rateOf(MlirType element) {
  int64_t bytes = shardTypeElementBytes(element);
  if (mlirTypeIsABF16(element))
    return SHARD_RATE_BF16;
  if (bytes == 1)
    return mlirTypeIsAFloat(element) ? SHARD_RATE_F8 : SHARD_RATE_I8;
  if (bytes == 2)
    return SHARD_RATE_F16;
  return mlirTypeIsAFloat(element) && bytes == 8 ? SHARD_RATE_F64 : SHARD_RATE_F32;
}

/// What an op of a body is where it costs other than an operation; -1: it does not.
static int functionOf(MlirStringRef name) {
  static const struct {
    const char *name;
    ShardFunction function;
  } table[] = {{"arith.divf", SHARD_FUNCTION_DIVIDE}, {"arith.remf", SHARD_FUNCTION_OTHER},
               {"arith.divsi", SHARD_FUNCTION_OTHER}, {"arith.remsi", SHARD_FUNCTION_OTHER},
               {"arith.divui", SHARD_FUNCTION_OTHER}, {"arith.remui", SHARD_FUNCTION_OTHER},
               {"math.sqrt", SHARD_FUNCTION_SQRT},    {"math.rsqrt", SHARD_FUNCTION_SQRT},
               {"math.exp", SHARD_FUNCTION_EXP},      {"math.exp2", SHARD_FUNCTION_EXP},
               {"math.tanh", SHARD_FUNCTION_TANH},    {"math.erf", SHARD_FUNCTION_ERF}};
  static const char *const plain[] = {"math.absf",  "math.absi",  "math.ceil",      "math.floor",
                                      "math.trunc", "math.round", "math.roundeven", "math.copysign",
                                      "math.fma",   "math.fpowi", "math.ipowi"};
  for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); ++i)
    if (shardStringIs(name, table[i].name))
      return table[i].function;
  for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); ++i)
    if (shardStringIs(name, plain[i]))
      return -1;
  return startsWith(name, "math.") ? SHARD_FUNCTION_OTHER : -1;
}

/// What work on the body of an op adds up from.
typedef struct BodyWork {
  MlirBlock body;
  int64_t operations;                   // a step
  int64_t captureBytes;                 // read a step from tensors that the body captures
  int64_t functions[SHARD_N_FUNCTIONS]; // among the operations
} BodyWork;

static MlirLogicalResult countBodyOp(void *user, MlirOperation op) {
  BodyWork *work = user;
  MlirStringRef name = shardOpGetName(op);
  bool computes = startsWith(name, "arith.") || startsWith(name, "math.");
  work->operations += computes && !isOneOf(op, "arith.constant", "arith.index_cast");
  int function = functionOf(name);
  if (function >= 0)
    ++work->functions[function];
  if (shardStringIs(name, "tensor.extract"))
    work->captureBytes += shardTypeElementBytes(mlirValueGetType(mlirOperationGetResult(op, 0)));
  return mlirLogicalResultSuccess();
}

static BodyWork bodyWork(MlirOperation op) {
  BodyWork work = {.body = bodyOf(op)};
  if (!mlirBlockIsNull(work.body))
    for (MlirOperation inner = mlirBlockGetFirstOperation(work.body); !mlirOperationIsNull(inner);
         inner = mlirOperationGetNextInBlock(inner))
      shardWalk(inner, NULL, countBodyOp, &work);
  return work;
}

static double resultBytes(MlirOperation op) {
  double bytes = 0;
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i)
    bytes += (double)shardTypeBytes(mlirValueGetType(mlirOperationGetResult(op, i)));
  return bytes;
}

/// Bytes of an operand, at most `steps` elements of it; 0 where an earlier one is the same value.
static double operandBytes(MlirOperation op, intptr_t operand, int64_t steps) {
  MlirValue value = mlirOperationGetOperand(op, operand);
  MlirType type = mlirValueGetType(value);
  for (intptr_t k = 0; k < operand; ++k)
    if (mlirValueEqual(value, mlirOperationGetOperand(op, k)))
      return 0;
  if (!mlirTypeIsARankedTensor(type))
    return 0;
  double whole = (double)shardTypeBytes(type);
  double read = (double)steps * (double)shardTypeElementBytes(mlirShapedTypeGetElementType(type));
  return steps > 0 && read < whole ? read : whole;
}

static double allOperandBytes(MlirOperation op) {
  double bytes = 0;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    bytes += operandBytes(op, i, 0);
  return bytes;
}

static bool isFill(MlirValue value) {
  MlirOperation op = shardValueDefiningOp(value);
  return !mlirOperationIsNull(op) && isOneOf(op, "linalg.fill", "tensor.empty");
}

/// Bytes of destinations that the body reads, unless they are filled: that starts in registers.
static double initBytes(MlirOperation op, MlirBlock body, intptr_t nInputs, intptr_t nInits) {
  double bytes = 0;
  intptr_t nArguments = mlirBlockIsNull(body) ? 0 : mlirBlockGetNumArguments(body);
  for (intptr_t i = 0; i < nInits && nInputs + i < nArguments; ++i) {
    MlirValue init = mlirOperationGetOperand(op, nInputs + i);
    if (!isFill(init) && !shardValueIsUnused(mlirBlockGetArgument(body, nInputs + i)))
      bytes += (double)shardTypeBytes(mlirValueGetType(init));
  }
  return bytes;
}

/// Whether all that use a value are linalg ops that start from it.
static bool isStart(MlirValue value) {
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use)) {
    MlirOperation user = mlirOpOperandGetOwner(use);
    intptr_t first = mlirOperationGetNumOperands(user) - mlirOperationGetNumResults(user);
    if (!startsWith(shardOpGetName(user), "linalg.") ||
        (intptr_t)mlirOpOperandGetOperandNumber(use) < first)
      return false;
  }
  return true;
}

static MlirType elementOf(MlirValue value) {
  MlirType type = mlirValueGetType(value);
  return mlirTypeIsAShaped(type) ? mlirShapedTypeGetElementType(type) : type;
}

/// The steps of an op that has loops.
static int64_t stepsOf(MlirOperation op) {
  return isTensorArithmetic(op)
             ? shardTypeElementCount(mlirValueGetType(mlirOperationGetResult(op, 0)))
             : loopSteps(op);
}

static intptr_t inputCount(MlirOperation op) {
  intptr_t n = mlirOperationGetNumOperands(op);
  return startsWith(shardOpGetName(op), "linalg.") ? n - mlirOperationGetNumResults(op) : n;
}

/// Whether an op puts several elements into one of its result.
static bool combines(MlirOperation op) {
  MlirType type = mlirValueGetType(mlirOperationGetResult(op, 0));
  return mlirTypeIsARankedTensor(type) && stepsOf(op) > shardTypeElementCount(type);
}

/// Of the loops that one op does: its own, and those of producers that are fused into it.
typedef struct LoopsList {
  ShardArena *arena; // null until there is a producer
  struct LoopsOf {
    MlirOperation op;
    int64_t steps;
  } *loops;
  size_t n, capacity;
} LoopsList;

static void pushLoops(LoopsList *list, MlirOperation op, int64_t steps) {
  if (!list->arena)
    list->arena = shardArenaCreate();
  list->loops = shardArenaGrow(list->arena, list->loops, list->n, &list->capacity, list->n + 1,
                               sizeof(*list->loops));
  list->loops[list->n++] = (struct LoopsOf){op, steps};
}

/// Adds what `steps` steps of the op's loops compute, and read of its inputs. A producer that is
/// fused into it is done again where the op has more steps than the producer; it goes on the list.
static void addOwnLoops(MlirOperation op, int64_t steps, LoopsList *list, ShardOpWork *out) {
  BodyWork body = bodyWork(op);
  int64_t operations = isTensorArithmetic(op) ? 1 : isContraction(op) ? 0 : body.operations;
  out->vectorFlops += (double)steps * (double)operations;
  if (isTensorArithmetic(op) && functionOf(shardOpGetName(op)) >= 0)
    out->functions[functionOf(shardOpGetName(op))] += (double)steps;
  for (int f = 0; operations && f < SHARD_N_FUNCTIONS; ++f)
    out->functions[f] += (double)steps * (double)body.functions[f];
  if (operations && combines(op))
    out->functions[SHARD_FUNCTION_REDUCE] += (double)steps;
  out->bytes += (double)steps * (double)body.captureBytes;
  for (intptr_t i = 0, n = inputCount(op); i < n; ++i) {
    MlirValue value = mlirOperationGetOperand(op, i);
    MlirOperation producer = shardValueProducer(value);
    bool fused =
        !mlirOperationIsNull(producer) && mlirOperationEqual(shardOpFusesInto(producer), op);
    if (fused) {
      int64_t own = stepsOf(producer);
      pushLoops(list, producer, own > steps ? own : steps);
    } else {
      out->bytes += operandBytes(op, i, steps);
    }
  }
}

static void addLoops(MlirOperation op, int64_t steps, ShardOpWork *out) {
  LoopsList list = {0};
  addOwnLoops(op, steps, &list, out);
  while (list.n > 0) {
    struct LoopsOf next = list.loops[--list.n];
    addOwnLoops(next.op, next.steps, &list, out);
  }
  shardArenaDestroy(list.arena);
}

static bool linalgWork(MlirOperation op, ShardOpWork *out) {
  intptr_t nResults = mlirOperationGetNumResults(op), nInputs = inputCount(op);
  if (nInputs < 0 || nResults == 0 || mlirOperationGetNumOperands(op) == 0)
    return false;
  if (shardOpIs(op, "linalg.fill") && isStart(mlirOperationGetResult(op, 0)))
    return false;
  int64_t steps = loopSteps(op);
  out->type = rateOf(elementOf(mlirOperationGetOperand(op, 0)));
  out->flops = (double)shardContractionFlops(op);
  if (out->flops > 0)
    contractionShape(op, out->shape);
  addLoops(op, steps, out);
  out->bytes += initBytes(op, bodyOf(op), nInputs, nResults) + resultBytes(op);
  return true;
}

/// tensor ops that move data. A slice is a view; what is inserted is read and written.
static bool tensorWork(MlirOperation op, MlirStringRef name, ShardOpWork *out) {
  if (shardOpIsView(op) || shardStringIs(name, "tensor.empty"))
    return false;
  double results = resultBytes(op);
  double first = mlirOperationGetNumOperands(op) ? operandBytes(op, 0, 0) : 0;
  if (shardStringIs(name, "tensor.insert_slice") || shardStringIs(name, "tensor.scatter"))
    out->bytes = 2 * first;
  else if (shardStringIs(name, "tensor.gather"))
    out->bytes = 2 * results;
  else
    out->bytes = allOperandBytes(op) + results;
  if (shardStringIs(name, "tensor.generate"))
    out->vectorFlops =
        (double)shardTypeElementCount(mlirValueGetType(mlirOperationGetResult(op, 0))) *
        (double)bodyWork(op).operations;
  return true;
}

bool shardOpGetWork(MlirOperation op, ShardOpWork *out) {
  *out = (ShardOpWork){.type = SHARD_RATE_F32};
  MlirStringRef name = shardOpGetName(op);
  if (mlirOperationGetNumResults(op) == 0 || startsWith(name, "shard.") ||
      shardStringIs(name, "arith.constant") ||
      !mlirTypeIsARankedTensor(mlirValueGetType(mlirOperationGetResult(op, 0))) ||
      shardOpIsFolded(op))
    return false;
  MlirValue result = mlirOperationGetResult(op, 0);
  out->type = rateOf(elementOf(result));
  if (startsWith(name, "linalg."))
    return linalgWork(op, out);
  if (startsWith(name, "tensor."))
    return tensorWork(op, name, out);
  if (isTensorArithmetic(op))
    addLoops(op, stepsOf(op), out);
  else
    out->bytes = allOperandBytes(op);
  out->bytes += resultBytes(op);
  return true;
}
