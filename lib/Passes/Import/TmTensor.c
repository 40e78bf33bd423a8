//===- TmTensor.c - torch-mlir's tm_tensor ops to linalg ----------*- C -*-===//
// MLIR does not know this dialect: its ops come in generic form, and nothing has verified them.
// Scan becomes a linalg.generic that carries its running value along the dimension; sort and top-k
// a selection (Analysis/Selection.h), or places and a pick where all is sorted; scatter a reduction
// over the updates in which the element that an update names takes it; attention its two products
// around a softmax.
//===----------------------------------------------------------------------===//
#include "ImportParts.h"
#include "SortByPlace.h"

#include "../Analysis/Selection.h"

#include "mlir-c/AffineExpr.h"
#include "mlir-c/BuiltinTypes.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { EQ = 0 };            // arith.cmpi
enum { ORDERED_EQUAL = 1 }; // arith.cmpf

//===----------------------------------------------------------------------===//
// Reading an op that nobody has verified
//===----------------------------------------------------------------------===//

typedef struct TmOp {
  MlirOperation op;
  ShardArena *arena;
  intptr_t nInputs, nOutputs;
  intptr_t rank; // of the operand that the dimension is one of
  int64_t dim;
  MlirBlock body; // null for attention
  MlirValue yielded;
} TmOp;

static MlirLogicalResult malformed(const TmOp *t, const char *what) {
  MlirStringRef name = shardOpGetName(t->op);
  return shardEmitError(t->op, "'%.*s': expected %s", (int)name.length, name.data, what);
}

static MlirType typeOf(const TmOp *t, intptr_t operand) {
  return mlirValueGetType(mlirOperationGetOperand(t->op, operand));
}

static MlirType elementOf(MlirValue value) {
  return mlirShapedTypeGetElementType(mlirValueGetType(value));
}

static bool sameShape(MlirType a, MlirType b) {
  intptr_t rank = mlirShapedTypeGetRank(a);
  if (rank != mlirShapedTypeGetRank(b))
    return false;
  for (intptr_t d = 0; d < rank; ++d)
    if (mlirShapedTypeGetDimSize(a, d) != mlirShapedTypeGetDimSize(b, d))
      return false;
  return true;
}

/// Inputs, destinations and results: a result for each destination, of its type.
static MlirLogicalResult readOperands(TmOp *t, intptr_t nInputs, intptr_t nOutputs) {
  MlirAttribute segments = shardOpGetAttribute(t->op, "operandSegmentSizes");
  intptr_t n = mlirOperationGetNumOperands(t->op);
  t->nInputs = nInputs;
  if (!mlirAttributeIsNull(segments) && mlirAttributeIsADenseI32Array(segments) &&
      mlirDenseArrayGetNumElements(segments) >= 2)
    t->nInputs = mlirDenseI32ArrayGetElement(segments, 0);
  t->nOutputs = n - t->nInputs;
  if (t->nInputs != nInputs || (nOutputs >= 0 && t->nOutputs != nOutputs) || t->nOutputs < 1 ||
      t->nOutputs != mlirOperationGetNumResults(t->op))
    return malformed(t, "as many results as destinations, and the operands that torch-mlir writes");
  for (intptr_t i = 0; i < n; ++i)
    if (!mlirTypeIsARankedTensor(typeOf(t, i)))
      return malformed(t, "operands that are ranked tensors");
  for (intptr_t r = 0; r < t->nOutputs; ++r)
    if (!mlirTypeEqual(typeOf(t, t->nInputs + r),
                       mlirValueGetType(mlirOperationGetResult(t->op, r))))
      return malformed(t, "results of the types of their destinations");
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult readDimension(TmOp *t, MlirType type) {
  t->rank = mlirShapedTypeGetRank(type);
  if (!shardAttrGetI64(shardOpGetAttribute(t->op, "dimension"), &t->dim) || t->dim < 0 ||
      t->dim >= t->rank)
    return malformed(t, "a 'dimension' below the rank of the first operand");
  return mlirLogicalResultSuccess();
}

/// One block of scalar ops whose arguments come in pairs of an operand's element type.
static MlirLogicalResult readBody(TmOp *t, intptr_t firstOperand, intptr_t nPairs, bool yieldsBit) {
  static const char what[] =
      "a body of two scalars for each tensor, of its element type, that yields one scalar";
  MlirRegion region = mlirOperationGetNumRegions(t->op) == 1 ? mlirOperationGetRegion(t->op, 0)
                                                             : (MlirRegion){NULL};
  t->body = mlirRegionIsNull(region) ? (MlirBlock){NULL} : mlirRegionGetFirstBlock(region);
  if (mlirBlockIsNull(t->body) || !mlirBlockIsNull(mlirBlockGetNextInRegion(t->body)) ||
      mlirBlockGetNumArguments(t->body) != 2 * nPairs)
    return malformed(t, what);
  for (intptr_t i = 0; i < 2 * nPairs; ++i)
    if (!mlirTypeEqual(mlirValueGetType(mlirBlockGetArgument(t->body, i)),
                       mlirShapedTypeGetElementType(typeOf(t, firstOperand + i / 2))))
      return malformed(t, what);
  // Nothing verified that the block has a terminator.
  MlirOperation last = mlirBlockGetFirstOperation(t->body);
  while (!mlirOperationIsNull(last) && !mlirOperationIsNull(mlirOperationGetNextInBlock(last)))
    last = mlirOperationGetNextInBlock(last);
  if (!shardOpIs(last, "tm_tensor.yield") || mlirOperationGetNumOperands(last) != 1)
    return malformed(t, what);
  t->yielded = mlirOperationGetOperand(last, 0);
  MlirType type = mlirValueGetType(t->yielded);
  MlirType wanted = yieldsBit ? mlirIntegerTypeGet(mlirOperationGetContext(t->op), 1)
                              : mlirValueGetType(mlirBlockGetArgument(t->body, 0));
  return mlirTypeEqual(type, wanted) ? mlirLogicalResultSuccess() : malformed(t, what);
}

/// The body with these values of its arguments; returns what it yields.
static MlirValue inlineBody(const TmOp *t, const ShardInsert *at, const MlirValue *arguments) {
  ShardPointerMap *map = shardPointerMapCreate(t->arena, 16);
  MlirValue *values = NULL;
  size_t n = 0, capacity = 0;
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(t->body); ++i) {
    values = shardArenaGrow(t->arena, values, n, &capacity, n + 1, sizeof(MlirValue));
    values[n] = arguments[i];
    shardPointerMapSet(map, mlirBlockGetArgument(t->body, i).ptr, (int64_t)n++);
  }
  for (MlirOperation op = mlirBlockGetFirstOperation(t->body); !shardOpIs(op, "tm_tensor.yield");
       op = mlirOperationGetNextInBlock(op)) {
    MlirOperation copy = shardOpCloneMapped(op, at->block, at->before, map, values);
    for (intptr_t r = 0; r < mlirOperationGetNumResults(op); ++r) {
      values = shardArenaGrow(t->arena, values, n, &capacity, n + 1, sizeof(MlirValue));
      values[n] = mlirOperationGetResult(copy, r);
      shardPointerMapSet(map, mlirOperationGetResult(op, r).ptr, (int64_t)n++);
    }
  }
  int64_t index;
  return shardPointerMapGet(map, t->yielded.ptr, &index) ? values[index] : t->yielded;
}

static void replaceResult(const TmOp *t, intptr_t result, MlirValue value) {
  mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(t->op, result), value);
}

static bool resultIsUsed(const TmOp *t, intptr_t result) {
  return !shardValueIsUnused(mlirOperationGetResult(t->op, result));
}

//===----------------------------------------------------------------------===//
// scan
//===----------------------------------------------------------------------===//

typedef struct Scan {
  const TmOp *t;
  bool inclusive;
  bool hasIdentity; // the running value begins as the identity of the combiner
  MlirValue zero;   // index
} Scan;

/// Inputs: x; outputs: the result, the running value.
static void buildScan(void *user, const ShardInsert *at, const MlirValue *arguments,
                      MlirValue *yielded) {
  const Scan *scan = user;
  MlirValue pair[2] = {arguments[2], arguments[0]};
  MlirValue next = inlineBody(scan->t, at, pair);
  if (scan->inclusive && !scan->hasIdentity) {
    MlirValue isFirst =
        shardInsertCompare(at, EQ, shardInsertLoopIndex(at, scan->t->dim), scan->zero);
    next = shardInsertSelect(at, isFirst, arguments[0], next);
  }
  yielded[0] = scan->inclusive ? next : arguments[2];
  yielded[1] = next;
}

/// The identity of a body that is one op of its two arguments; null if it has none.
static MlirAttribute identityOfBody(const TmOp *t) {
  static const struct {
    const char *op;
    double identity;
  } table[] = {{"arith.addf", 0},
               {"arith.addi", 0},
               {"arith.mulf", 1},
               {"arith.muli", 1},
               {"arith.maximumf", -INFINITY},
               {"arith.minimumf", INFINITY},
               {"arith.ori", 0},
               {"arith.xori", 0}};
  MlirOperation op = shardValueDefiningOp(t->yielded);
  if (mlirOperationIsNull(op) || mlirOperationGetNumOperands(op) != 2)
    return mlirAttributeGetNull();
  MlirValue a = mlirOperationGetOperand(op, 0), b = mlirOperationGetOperand(op, 1);
  MlirValue x = mlirBlockGetArgument(t->body, 0), y = mlirBlockGetArgument(t->body, 1);
  if (!(mlirValueEqual(a, x) && mlirValueEqual(b, y)) &&
      !(mlirValueEqual(a, y) && mlirValueEqual(b, x)))
    return mlirAttributeGetNull();
  for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); ++i)
    if (shardOpIs(op, table[i].op))
      return shardAttrNumber(mlirValueGetType(t->yielded), table[i].identity);
  return mlirAttributeGetNull();
}

static MlirLogicalResult importScan(TmOp *t) {
  if (mlirLogicalResultIsFailure(readOperands(t, 1, 2)) ||
      mlirLogicalResultIsFailure(readDimension(t, typeOf(t, 0))) ||
      mlirLogicalResultIsFailure(readBody(t, 0, 1, false)))
    return mlirLogicalResultFailure();
  MlirAttribute inclusive = shardOpGetAttribute(t->op, "inclusive");
  bool shapes = mlirTypeEqual(typeOf(t, 0), typeOf(t, 1)) &&
                mlirShapedTypeGetRank(typeOf(t, 2)) == t->rank - 1 &&
                mlirTypeEqual(elementOf(mlirOperationGetOperand(t->op, 2)),
                              elementOf(mlirOperationGetOperand(t->op, 0)));
  for (intptr_t d = 0, k = 0; shapes && d < t->rank; ++d)
    if (d != t->dim)
      shapes &=
          mlirShapedTypeGetDimSize(typeOf(t, 0), d) == mlirShapedTypeGetDimSize(typeOf(t, 2), k++);
  if (!shapes || mlirAttributeIsNull(inclusive) || !mlirAttributeIsABool(inclusive))
    return malformed(t, "'inclusive', a destination of the input's type and one without the "
                        "scanned dimension");
  ShardInsert at = shardInsertBefore(t->op);
  Scan scan = {.t = t, .inclusive = mlirBoolAttrGetValue(inclusive)};
  if (!scan.inclusive && resultIsUsed(t, 1))
    return malformed(t, "that nobody uses the running value of an exclusive scan");
  MlirAttribute identity = scan.inclusive ? identityOfBody(t) : mlirAttributeGetNull();
  MlirValue running = mlirOperationGetOperand(t->op, 2);
  scan.hasIdentity = !mlirAttributeIsNull(identity);
  if (scan.hasIdentity)
    running = shardInsertFill(&at, typeOf(t, 2), identity);
  else if (scan.inclusive)
    scan.zero = shardInsertIndexConstant(&at, 0);
  MlirValue operands[3] = {mlirOperationGetOperand(t->op, 0), shardInsertEmpty(&at, typeOf(t, 1)),
                           running};
  MlirAffineMap all = mlirAffineMapMultiDimIdentityGet(at.context, t->rank);
  MlirAffineMap maps[3] = {all, all, shardMapWithout(at.context, t->rank, t->dim)};
  char *iterators = SHARD_ARENA_ARRAY(t->arena, char, t->rank + 1);
  memset(iterators, 'p', (size_t)t->rank);
  iterators[t->dim] = 'r';
  MlirOperation generic =
      shardInsertGeneric(&at, iterators, 1, 2, operands, maps, buildScan, &scan);
  replaceResult(t, 0, mlirOperationGetResult(generic, 0));
  // Of one element the op leaves the running value as it was.
  bool single = mlirShapedTypeGetDimSize(typeOf(t, 0), t->dim) == 1;
  replaceResult(t, 1,
                single ? mlirOperationGetOperand(t->op, 2) : mlirOperationGetResult(generic, 1));
  return mlirLogicalResultSuccess();
}

//===----------------------------------------------------------------------===//
// sort and top-k
//===----------------------------------------------------------------------===//

/// The order of a body that is one comparison of a pair of its arguments.
static bool knownOrder(const TmOp *t, ShardOrder *out) {
  // arith.cmpf, then arith.cmpi: 1 descending, -1 ascending, 0 none.
  static const int8_t ofFloats[16] = {0, 0, 1, 1, -1, -1, 0, 0, 0, 1, 1, -1, -1, 0, 0, 0};
  static const int8_t ofIntegers[10] = {0, 0, -1, -1, 1, 1, -1, -1, 1, 1};
  MlirOperation op = shardValueDefiningOp(t->yielded);
  bool isFloat = shardOpIs(op, "arith.cmpf");
  int64_t predicate;
  if ((!isFloat && !shardOpIs(op, "arith.cmpi")) ||
      !shardAttrGetI64(shardOpGetAttribute(op, "predicate"), &predicate) || predicate < 0 ||
      predicate >= (isFloat ? 16 : 10))
    return false;
  MlirValue a = mlirOperationGetOperand(op, 0), b = mlirOperationGetOperand(op, 1);
  if (!mlirValueIsABlockArgument(a) || !mlirValueIsABlockArgument(b) ||
      !mlirBlockEqual(mlirBlockArgumentGetOwner(a), t->body) ||
      !mlirBlockEqual(mlirBlockArgumentGetOwner(b), t->body))
    return false;
  intptr_t i = mlirBlockArgumentGetArgNumber(a), j = mlirBlockArgumentGetArgNumber(b);
  int direction = isFloat ? ofFloats[predicate] : ofIntegers[predicate];
  if (i / 2 != j / 2 || i == j || !direction)
    return false;
  *out = (ShardOrder){.key = (int32_t)(i / 2),
                      .descending = (direction > 0) == (i < j),
                      .isUnsigned = !isFloat && predicate >= 6};
  return true;
}

typedef struct BodyOrder {
  const TmOp *t;
  bool strict; // the body says that a must stand before b, not that it may
  MlirValue yes;
} BodyOrder;

static MlirValue buildBodyOrder(void *user, const ShardInsert *at, const MlirValue *a,
                                const MlirValue *b) {
  const BodyOrder *order = user;
  intptr_t n = mlirBlockGetNumArguments(order->t->body);
  MlirValue *arguments = SHARD_ARENA_ARRAY(order->t->arena, MlirValue, n);
  for (intptr_t i = 0; i < n; ++i)
    arguments[i] = (i % 2 == 0) != order->strict ? a[i / 2] : b[i / 2];
  MlirValue value = inlineBody(order->t, at, arguments);
  return order->strict ? shardInsertBinary(at, "arith.xori", value, order->yes) : value;
}

/// Selects, or sorts all, by the op's body; by `known` if it is not null. `strict`: how the body is
/// to be read where it is no plain comparison. Writes the tensors and the positions.
static void insertSelection(const TmOp *t, ShardSelection *selection, ShardOrder *known,
                            bool strict, MlirValue *outResults) {
  ShardInsert at = shardInsertBefore(t->op);
  BodyOrder bodyOrder = {.t = t, .strict = strict};
  if (known) {
    selection->order = shardOrderBuild;
    selection->user = known;
  } else {
    if (strict)
      bodyOrder.yes =
          shardInsertScalar(&at, mlirIntegerAttrGet(mlirIntegerTypeGet(at.context, 1), 1));
    selection->order = buildBodyOrder;
    selection->user = &bodyOrder;
  }
  MlirType type = mlirValueGetType(selection->tensors[0]);
  if (selection->count == mlirShapedTypeGetDimSize(type, selection->dim) && selection->count > 1 &&
      mlirValueIsNull(selection->positions)) {
    shardInsertSort(&at, selection, t->arena, outResults);
    return;
  }
  MlirOperation op = shardInsertSelection(&at, selection);
  for (intptr_t i = 0; i <= selection->nTensors; ++i)
    outResults[i] = mlirOperationGetResult(op, i);
}

/// Whether each element of the value is its place along `dim`, and nothing else.
static bool isPlaceAlong(MlirValue value, int64_t dim) {
  MlirOperation op = shardValueDefiningOp(value);
  if (!shardOpIs(op, "linalg.generic") || mlirOperationGetNumResults(op) != 1)
    return false;
  MlirAttribute maps = shardOpGetAttribute(op, "indexing_maps");
  MlirAffineMap map = mlirAffineMapAttrGetValue(
      mlirArrayAttrGetElement(maps, mlirArrayAttrGetNumElements(maps) - 1));
  MlirValue from = mlirOperationGetOperand(mlirBlockGetTerminator(shardOpBody(op)), 0);
  MlirOperation cast = shardValueDefiningOp(from);
  if (shardOpIs(cast, "arith.index_cast"))
    cast = shardValueDefiningOp(mlirOperationGetOperand(cast, 0));
  int64_t loop;
  return shardOpIs(cast, "linalg.index") &&
         shardAttrGetI64(shardOpGetAttribute(cast, "dim"), &loop) &&
         dim < mlirAffineMapGetNumResults(map) && shardMapResultDim(map, dim) == loop;
}

/// Elements along `dim` that anybody reads: all users are slices from the first element on.
static int64_t countRead(const TmOp *t) {
  int64_t most = 0, size = mlirShapedTypeGetDimSize(typeOf(t, 0), t->dim);
  for (intptr_t r = 0; r < t->nOutputs; ++r)
    for (MlirOpOperand use = mlirValueGetFirstUse(mlirOperationGetResult(t->op, r));
         !mlirOpOperandIsNull(use); use = mlirOpOperandGetNextUse(use)) {
      MlirOperation slice = mlirOpOperandGetOwner(use);
      if (!shardOpIs(slice, "tensor.extract_slice") || mlirOperationGetNumOperands(slice) != 1)
        return size;
      int64_t offset = shardArrayAttrAt(shardOpGetAttribute(slice, "static_offsets"), t->dim);
      int64_t count = shardArrayAttrAt(shardOpGetAttribute(slice, "static_sizes"), t->dim);
      int64_t step = shardArrayAttrAt(shardOpGetAttribute(slice, "static_strides"), t->dim);
      if (offset < 0 || count < 1 || step < 1)
        return size;
      int64_t end = offset + (count - 1) * step + 1;
      most = end > most ? end : most;
    }
  return most < 1 ? 1 : most;
}

/// The slices of a result now cut the first `count` elements.
static void replaceBySelected(const TmOp *t, intptr_t result, MlirValue selected) {
  replaceResult(t, result, selected);
  MlirType type = mlirValueGetType(selected);
  for (MlirOpOperand use = mlirValueGetFirstUse(selected), next; !mlirOpOperandIsNull(use);
       use = next) {
    next = mlirOpOperandGetNextUse(use);
    MlirOperation slice = mlirOpOperandGetOwner(use);
    MlirValue cut = shardOpIs(slice, "tensor.extract_slice") ? mlirOperationGetResult(slice, 0)
                                                             : (MlirValue){NULL};
    if (!mlirValueIsNull(cut) && mlirTypeEqual(mlirValueGetType(cut), type)) {
      mlirValueReplaceAllUsesOfWith(cut, selected);
      mlirOperationDestroy(slice);
    }
  }
}

static MlirLogicalResult importSort(TmOp *t) {
  if (mlirLogicalResultIsFailure(readOperands(t, 0, -1)) ||
      mlirLogicalResultIsFailure(readDimension(t, typeOf(t, 0))) ||
      mlirLogicalResultIsFailure(readBody(t, 0, t->nOutputs, true)))
    return mlirLogicalResultFailure();
  for (intptr_t i = 1; i < t->nOutputs; ++i)
    if (!sameShape(typeOf(t, i), typeOf(t, 0)))
      return malformed(t, "tensors of one shape");
  // Places need not be read: the selection knows them.
  ShardOrder order;
  bool known = knownOrder(t, &order);
  MlirValue *tensors = SHARD_ARENA_ARRAY(t->arena, MlirValue, t->nOutputs);
  intptr_t *slots = SHARD_ARENA_ARRAY(t->arena, intptr_t, t->nOutputs), n = 0;
  MlirType positionType = mlirIntegerTypeGet(mlirOperationGetContext(t->op), 64);
  for (intptr_t i = 0; i < t->nOutputs; ++i) {
    MlirValue operand = mlirOperationGetOperand(t->op, i);
    MlirType element = elementOf(operand);
    bool place = known && order.key != i && mlirTypeIsAInteger(element) &&
                 mlirIntegerTypeGetWidth(element) >= 32 && isPlaceAlong(operand, t->dim);
    slots[i] = place ? -1 : n;
    if (place)
      positionType = element;
    else
      tensors[n++] = operand;
  }
  ShardSelection selection = {.nTensors = n,
                              .tensors = tensors,
                              .positionType = positionType,
                              .dim = t->dim,
                              .count = countRead(t)};
  // The key's number counts tensors that are read only; the body's pairs count all.
  for (intptr_t i = 0; i < t->nOutputs; ++i)
    if (slots[i] < 0 && !mlirTypeEqual(elementOf(mlirOperationGetOperand(t->op, i)), positionType))
      return malformed(t, "places of one integer type");
  if (known)
    order.key = (int32_t)slots[order.key];
  MlirValue *results = SHARD_ARENA_ARRAY(t->arena, MlirValue, n + 1);
  insertSelection(t, &selection, known ? &order : NULL, false, results);
  for (intptr_t i = 0; i < t->nOutputs; ++i)
    replaceBySelected(t, i, results[slots[i] < 0 ? n : slots[i]]);
  return mlirLogicalResultSuccess();
}

/// Whether the value is a fill that no element of a top-k gives way to: the op merges the
/// destination with the input.
static bool isNeutralFill(const TmOp *t, MlirValue value) {
  MlirOperation op = shardValueDefiningOp(value);
  if (!shardOpIs(op, "linalg.fill") && !shardOpIs(op, "tensor.splat"))
    return shardOpIs(op, "tensor.empty");
  MlirOperation constant = shardValueDefiningOp(mlirOperationGetOperand(op, 0));
  MlirAttribute number = shardOpIs(constant, "arith.constant")
                             ? shardOpGetAttribute(constant, "value")
                             : mlirAttributeGetNull();
  ShardOrder order;
  if (mlirAttributeIsNull(number) || !knownOrder(t, &order) || order.key != 0)
    return false;
  if (mlirAttributeIsAFloat(number)) {
    double x = mlirFloatAttrGetValueDouble(number);
    return order.descending ? x <= -FLT_MAX : x >= FLT_MAX;
  }
  int64_t x;
  unsigned width = mlirTypeIsAInteger(mlirAttributeGetType(number))
                       ? mlirIntegerTypeGetWidth(mlirAttributeGetType(number))
                       : 64;
  int64_t least = width >= 64 ? INT64_MIN : -((int64_t)1 << (width - 1));
  return shardAttrGetI64(number, &x) && !order.isUnsigned &&
         x == (order.descending ? least : -(least + 1));
}

static MlirLogicalResult importTopK(TmOp *t) {
  intptr_t nInputs = mlirOperationGetNumOperands(t->op) - 2;
  if (nInputs != 1 && nInputs != 2)
    return malformed(t, "one or two inputs and two destinations");
  if (mlirLogicalResultIsFailure(readOperands(t, nInputs, 2)) ||
      mlirLogicalResultIsFailure(readDimension(t, typeOf(t, 0))) ||
      mlirLogicalResultIsFailure(readBody(t, 0, 1, true)))
    return mlirLogicalResultFailure();
  MlirType positions = mlirShapedTypeGetElementType(typeOf(t, nInputs + 1));
  bool shapes = sameShape(typeOf(t, nInputs), typeOf(t, nInputs + 1)) &&
                mlirShapedTypeGetRank(typeOf(t, nInputs)) == t->rank &&
                mlirTypeIsAInteger(positions) && mlirIntegerTypeGetWidth(positions) >= 32 &&
                mlirTypeEqual(mlirShapedTypeGetElementType(typeOf(t, nInputs)),
                              mlirShapedTypeGetElementType(typeOf(t, 0)));
  if (nInputs == 2)
    shapes &= sameShape(typeOf(t, 0), typeOf(t, 1)) &&
              mlirTypeEqual(mlirShapedTypeGetElementType(typeOf(t, 1)), positions);
  int64_t count = 0;
  for (intptr_t d = 0; shapes && d < t->rank; ++d) {
    int64_t in = mlirShapedTypeGetDimSize(typeOf(t, 0), d);
    int64_t out = mlirShapedTypeGetDimSize(typeOf(t, nInputs), d);
    shapes &= d == t->dim ? out >= 1 && out <= in : in == out;
    count = d == t->dim ? out : count;
  }
  if (!shapes)
    return malformed(t, "values and integer indices of the input's shape, shorter along the "
                        "dimension only");
  if (!isNeutralFill(t, mlirOperationGetOperand(t->op, nInputs)))
    return malformed(t, "a destination filled with the value that stands last in the order");
  MlirValue input = mlirOperationGetOperand(t->op, 0);
  ShardSelection selection = {
      .nTensors = 1, .tensors = &input, .positionType = positions, .dim = t->dim, .count = count};
  if (nInputs == 2)
    selection.positions = mlirOperationGetOperand(t->op, 1);
  ShardOrder order;
  MlirValue results[2];
  insertSelection(t, &selection, knownOrder(t, &order) ? &order : NULL, true, results);
  replaceResult(t, 0, results[0]);
  replaceResult(t, 1, results[1]);
  return mlirLogicalResultSuccess();
}

//===----------------------------------------------------------------------===//
// scatter
//===----------------------------------------------------------------------===//

typedef struct Scatter {
  const TmOp *t;
  intptr_t depth;
  const int64_t *dims; // [depth] that the indices name
} Scatter;

/// Inputs: the update, its indices; output: the element.
static void buildScatter(void *user, const ShardInsert *at, const MlirValue *arguments,
                         MlirValue *yielded) {
  const Scatter *scatter = user;
  MlirValue element = arguments[1 + scatter->depth], hit = {NULL};
  for (intptr_t i = 0; i < scatter->depth; ++i) {
    MlirValue index = arguments[1 + i];
    MlirValue place = shardInsertIntegerCast(at, shardInsertLoopIndex(at, scatter->dims[i]),
                                             mlirValueGetType(index));
    MlirValue equal = shardInsertCompare(at, EQ, index, place);
    hit = mlirValueIsNull(hit) ? equal : shardInsertBinary(at, "arith.andi", hit, equal);
  }
  MlirValue pair[2] = {arguments[0], element};
  yielded[0] = shardInsertSelect(at, hit, inlineBody(scatter->t, at, pair), element);
}

/// updates [n, ...], indices [n, depth], original. An update's dimensions but the first are the
/// original's last ones; where an index names one of those, it has extent 1.
static MlirLogicalResult importScatter(TmOp *t) {
  if (mlirLogicalResultIsFailure(readOperands(t, 2, 1)) ||
      mlirLogicalResultIsFailure(readBody(t, 0, 1, false)))
    return mlirLogicalResultFailure();
  MlirType updates = typeOf(t, 0), indices = typeOf(t, 1), original = typeOf(t, 2);
  intptr_t rank = mlirShapedTypeGetRank(original), nUpdateDims = mlirShapedTypeGetRank(updates);
  MlirAttribute named = shardOpGetAttribute(t->op, "dimension_map");
  bool right = mlirShapedTypeGetRank(indices) == 2 && nUpdateDims >= 1 && nUpdateDims <= rank + 1 &&
               mlirTypeEqual(mlirShapedTypeGetElementType(updates),
                             mlirShapedTypeGetElementType(original)) &&
               mlirTypeIsAInteger(mlirShapedTypeGetElementType(indices)) &&
               !mlirAttributeIsNull(named) && mlirAttributeIsADenseI64Array(named);
  Scatter scatter = {.t = t};
  if (right) {
    scatter.depth = mlirShapedTypeGetDimSize(indices, 1);
    right = scatter.depth >= 1 && mlirDenseArrayGetNumElements(named) == scatter.depth &&
            mlirShapedTypeGetDimSize(indices, 0) == mlirShapedTypeGetDimSize(updates, 0);
  }
  int64_t *dims = SHARD_ARENA_ARRAY(t->arena, int64_t, right ? scatter.depth : 1);
  bool *indexed = SHARD_ARENA_ARRAY(t->arena, bool, rank + 1);
  for (intptr_t i = 0; right && i < scatter.depth; ++i) {
    dims[i] = shardArrayAttrAt(named, i);
    right = dims[i] >= 0 && dims[i] < rank && !indexed[dims[i]];
    if (right)
      indexed[dims[i]] = true;
  }
  scatter.dims = dims;
  intptr_t firstAligned = rank - (nUpdateDims - 1);
  for (intptr_t d = 0; right && d < rank; ++d) {
    int64_t extent = d < firstAligned ? 1 : mlirShapedTypeGetDimSize(updates, 1 + d - firstAligned);
    right = extent == (indexed[d] ? 1 : mlirShapedTypeGetDimSize(original, d)) &&
            (indexed[d] || d >= firstAligned);
  }
  if (!right)
    return malformed(t, "updates of whole slices: 'dimension_map' names a dimension for each "
                        "column of the indices, and the updates cover the others");
  ShardInsert at = shardInsertBefore(t->op);
  intptr_t nOperands = scatter.depth + 2;
  MlirAffineMap *maps = SHARD_ARENA_ARRAY(t->arena, MlirAffineMap, nOperands);
  MlirValue *operands = SHARD_ARENA_ARRAY(t->arena, MlirValue, nOperands);
  MlirAffineExpr *exprs = SHARD_ARENA_ARRAY(t->arena, MlirAffineExpr, rank + 1);
  exprs[0] = mlirAffineDimExprGet(at.context, rank);
  for (intptr_t k = 1; k < nUpdateDims; ++k) {
    intptr_t d = firstAligned + k - 1;
    exprs[k] =
        indexed[d] ? mlirAffineConstantExprGet(at.context, 0) : mlirAffineDimExprGet(at.context, d);
  }
  operands[0] = mlirOperationGetOperand(t->op, 0);
  maps[0] = mlirAffineMapGet(at.context, rank + 1, 0, nUpdateDims, exprs);
  for (intptr_t i = 0; i < scatter.depth; ++i) {
    exprs[1] = mlirAffineConstantExprGet(at.context, i);
    operands[1 + i] = mlirOperationGetOperand(t->op, 1);
    maps[1 + i] = mlirAffineMapGet(at.context, rank + 1, 0, 2, exprs);
  }
  operands[nOperands - 1] = mlirOperationGetOperand(t->op, 2);
  maps[nOperands - 1] = shardMapWithout(at.context, rank + 1, rank);
  char *iterators = SHARD_ARENA_ARRAY(t->arena, char, rank + 2);
  memset(iterators, 'p', (size_t)rank);
  iterators[rank] = 'r';
  MlirOperation generic =
      shardInsertGeneric(&at, iterators, nOperands - 1, 1, operands, maps, buildScatter, &scatter);
  replaceResult(t, 0, mlirOperationGetResult(generic, 0));
  return mlirLogicalResultSuccess();
}

//===----------------------------------------------------------------------===//
// attention
//===----------------------------------------------------------------------===//

typedef struct Attention {
  MlirValue scale, zero, lowest; // scalars
  bool bitMask, hasMask;
} Attention;

static void buildProduct(void *user, const ShardInsert *at, const MlirValue *arguments,
                         MlirValue *yielded) {
  (void)user;
  yielded[0] = shardInsertBinary(at, "arith.addf", arguments[2],
                                 shardInsertBinary(at, "arith.mulf", arguments[0], arguments[1]));
}

static void buildScores(void *user, const ShardInsert *at, const MlirValue *arguments,
                        MlirValue *yielded) {
  const Attention *a = user;
  MlirValue x = shardInsertBinary(at, "arith.divf", arguments[0], a->scale);
  if (a->hasMask) {
    MlirValue mask = arguments[1];
    if (a->bitMask)
      mask = shardInsertSelect(at, mask, a->zero, a->lowest);
    x = shardInsertBinary(at, "arith.addf", x, mask);
  }
  yielded[0] = x;
}

static void buildMaximum(void *user, const ShardInsert *at, const MlirValue *arguments,
                         MlirValue *yielded) {
  (void)user;
  yielded[0] = shardInsertBinary(at, "arith.maximumf", arguments[0], arguments[1]);
}

static void buildPower(void *user, const ShardInsert *at, const MlirValue *arguments,
                       MlirValue *yielded) {
  (void)user;
  MlirValue x = shardInsertBinary(at, "arith.subf", arguments[0], arguments[1]);
  yielded[0] = shardInsertOp(at, "math.exp", mlirValueGetType(x), 1, &x, 0, NULL);
}

static void buildSum(void *user, const ShardInsert *at, const MlirValue *arguments,
                     MlirValue *yielded) {
  (void)user;
  yielded[0] = shardInsertBinary(at, "arith.addf", arguments[0], arguments[1]);
}

/// A row that is masked everywhere has a sum of zero and gives zeros.
static void buildQuotient(void *user, const ShardInsert *at, const MlirValue *arguments,
                          MlirValue *yielded) {
  const Attention *a = user;
  MlirValue isZero = shardInsertCompare(at, ORDERED_EQUAL, arguments[1], a->zero);
  yielded[0] = shardInsertSelect(at, isZero, a->zero,
                                 shardInsertBinary(at, "arith.divf", arguments[0], arguments[1]));
}

static MlirValue product(const ShardInsert *at, ShardArena *arena, intptr_t rank, MlirValue left,
                         MlirValue right, bool transposed, MlirType type) {
  // Loops: batch dimensions, row, column, and the one that is summed.
  int64_t *dims = SHARD_ARENA_ARRAY(arena, int64_t, rank);
  char *iterators = SHARD_ARENA_ARRAY(arena, char, rank + 2);
  memset(iterators, 'p', (size_t)rank);
  iterators[rank] = 'r';
  for (intptr_t d = 0; d < rank; ++d)
    dims[d] = d;
  MlirAffineMap maps[3];
  maps[2] = shardMapOfDims(at->context, rank + 1, rank, dims);
  dims[rank - 1] = rank;
  maps[0] = shardMapOfDims(at->context, rank + 1, rank, dims);
  dims[rank - 2] = transposed ? rank - 1 : rank;
  dims[rank - 1] = transposed ? rank : rank - 1;
  maps[1] = shardMapOfDims(at->context, rank + 1, rank, dims);
  MlirAttribute zero = shardAttrNumber(mlirShapedTypeGetElementType(type), 0);
  MlirValue operands[3] = {left, right, shardInsertFill(at, type, zero)};
  return mlirOperationGetResult(
      shardInsertGeneric(at, iterators, 2, 1, operands, maps, buildProduct, NULL), 0);
}

static MlirLogicalResult importAttention(TmOp *t) {
  intptr_t nInputs = mlirOperationGetNumOperands(t->op) - 1;
  if (nInputs != 3 && nInputs != 4)
    return malformed(t, "query, key, value, a mask or none, and a destination");
  if (mlirLogicalResultIsFailure(readOperands(t, nInputs, 1)))
    return mlirLogicalResultFailure();
  MlirType query = typeOf(t, 0), key = typeOf(t, 1), value = typeOf(t, 2),
           output = typeOf(t, nInputs);
  intptr_t rank = mlirShapedTypeGetRank(query);
  MlirType element = mlirShapedTypeGetElementType(query);
  bool right = rank >= 2 && rank < 32 && mlirTypeIsAFloat(element);
  for (intptr_t i = 0; right && i <= nInputs; ++i)
    right = mlirShapedTypeGetRank(typeOf(t, i)) == rank &&
            ((nInputs == 4 && i == 3) ||
             mlirTypeEqual(mlirShapedTypeGetElementType(typeOf(t, i)), element));
  int64_t shape[32];
  for (intptr_t d = 0; right && d < rank; ++d) {
    int64_t q = mlirShapedTypeGetDimSize(query, d), k = mlirShapedTypeGetDimSize(key, d);
    int64_t v = mlirShapedTypeGetDimSize(value, d), o = mlirShapedTypeGetDimSize(output, d);
    right = d < rank - 2    ? q == k && q == v && q == o
            : d == rank - 2 ? k == v && q == o
                            : q == k && v == o;
    shape[d] = d < rank - 1 ? q : mlirShapedTypeGetDimSize(key, rank - 2);
  }
  ShardInsert at = shardInsertBefore(t->op);
  MlirType scoreType = right ? shardTensorWithShape(query, rank, shape) : query;
  Attention a = {.hasMask = nInputs == 4};
  if (right && a.hasMask) {
    MlirType maskElement = mlirShapedTypeGetElementType(typeOf(t, 3));
    a.bitMask = mlirTypeIsAInteger(maskElement) && mlirIntegerTypeGetWidth(maskElement) == 1;
    right =
        sameShape(typeOf(t, 3), scoreType) && (a.bitMask || mlirTypeEqual(maskElement, element));
  }
  if (!right)
    return malformed(t, "query [..., m, d], key [..., n, d], value [..., n, e], a mask [..., m, n] "
                        "of their float type or i1, and a destination [..., m, e]");
  a.scale = shardInsertScalar(
      &at, shardAttrNumber(element, sqrt((double)mlirShapedTypeGetDimSize(query, rank - 1))));
  a.zero = shardInsertScalar(&at, shardAttrNumber(element, 0));
  a.lowest = shardInsertScalar(&at, shardAttrNumber(element, -INFINITY));
  char *parallel = SHARD_ARENA_ARRAY(t->arena, char, rank + 1);
  char *reduced = SHARD_ARENA_ARRAY(t->arena, char, rank + 1);
  memset(parallel, 'p', (size_t)rank);
  memset(reduced, 'p', (size_t)rank);
  reduced[rank - 1] = 'r';
  MlirAffineMap all = mlirAffineMapMultiDimIdentityGet(at.context, rank);
  MlirAffineMap row = shardMapWithout(at.context, rank, rank - 1);
  MlirType rowType = shardTensorWithShape(query, rank - 1, shape);
  MlirValue empty = shardInsertEmpty(&at, scoreType);

  MlirValue raw = product(&at, t->arena, rank, mlirOperationGetOperand(t->op, 0),
                          mlirOperationGetOperand(t->op, 1), true, scoreType);
  MlirValue scoreOperands[3] = {raw, a.hasMask ? mlirOperationGetOperand(t->op, 3) : empty, empty};
  MlirAffineMap scoreMaps[3] = {all, all, all};
  MlirValue scores =
      mlirOperationGetResult(shardInsertGeneric(&at, parallel, a.hasMask ? 2 : 1, 1, scoreOperands,
                                                scoreMaps, buildScores, &a),
                             0);
  // The largest of a row, and no less than the least number: exp(-inf - that) is zero.
  double least = mlirTypeIsAF16(element) ? -65504.0 : mlirTypeIsAF64(element) ? -DBL_MAX : -3.38e38;
  MlirAffineMap reduceMaps[2] = {all, row}, spreadMaps[3] = {all, row, all};
  MlirValue maxOperands[2] = {scores,
                              shardInsertFill(&at, rowType, shardAttrNumber(element, least))};
  MlirValue largest = mlirOperationGetResult(
      shardInsertGeneric(&at, reduced, 1, 1, maxOperands, reduceMaps, buildMaximum, NULL), 0);
  MlirValue powerOperands[3] = {scores, largest, empty};
  MlirValue powers = mlirOperationGetResult(
      shardInsertGeneric(&at, parallel, 2, 1, powerOperands, spreadMaps, buildPower, NULL), 0);
  MlirValue sumOperands[2] = {powers, shardInsertFill(&at, rowType, shardAttrNumber(element, 0))};
  MlirValue sum = mlirOperationGetResult(
      shardInsertGeneric(&at, reduced, 1, 1, sumOperands, reduceMaps, buildSum, NULL), 0);
  MlirValue weightOperands[3] = {powers, sum, empty};
  MlirValue weights = mlirOperationGetResult(
      shardInsertGeneric(&at, parallel, 2, 1, weightOperands, spreadMaps, buildQuotient, &a), 0);
  replaceResult(
      t, 0,
      product(&at, t->arena, rank, weights, mlirOperationGetOperand(t->op, 2), false, output));
  return mlirLogicalResultSuccess();
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

static const struct {
  const char *name;
  MlirLogicalResult (*import)(TmOp *t);
} importTable[] = {{"tm_tensor.scan", importScan},
                   {"tm_tensor.sort", importSort},
                   {"tm_tensor.topk", importTopK},
                   {"tm_tensor.scatter", importScatter},
                   {"tm_tensor.attention", importAttention}};

enum { nImports = sizeof(importTable) / sizeof(importTable[0]) };

bool shardImportKnowsTmTensor(MlirOperation op) {
  if (shardOpIs(op, "tm_tensor.yield"))
    op = mlirOperationGetParentOperation(op);
  for (size_t i = 0; i < nImports; ++i)
    if (shardOpIs(op, importTable[i].name))
      return true;
  return false;
}

typedef struct TmList {
  ShardArena *arena;
  MlirOperation *ops;
  size_t n, capacity;
} TmList;

static MlirLogicalResult collect(void *user, MlirOperation op) {
  TmList *list = user;
  MlirStringRef name = shardOpGetName(op);
  if (name.length < 10 || memcmp(name.data, "tm_tensor.", 10) != 0 ||
      shardOpIs(op, "tm_tensor.yield"))
    return mlirLogicalResultSuccess();
  list->ops = shardArenaGrow(list->arena, list->ops, list->n, &list->capacity, list->n + 1,
                             sizeof(MlirOperation));
  list->ops[list->n++] = op;
  return mlirLogicalResultSuccess();
}

MlirLogicalResult shardImportTmTensor(const ShardImport *import) {
  TmList list = {.arena = import->arena};
  for (intptr_t i = 0; i < import->nFunctions; ++i)
    shardWalk(import->functions[i], NULL, collect, &list);
  for (size_t i = 0; i < list.n; ++i) {
    TmOp t = {.op = list.ops[i], .arena = import->arena};
    for (size_t k = 0; k < nImports; ++k)
      if (shardOpIs(list.ops[i], importTable[k].name) &&
          mlirLogicalResultIsFailure(importTable[k].import(&t)))
        return mlirLogicalResultFailure();
    mlirOperationDestroy(list.ops[i]);
  }
  return mlirLogicalResultSuccess();
}
