//===- TmSort.c - tm_tensor.sort and topk --------------------------*- C -*-===//
#include "SortByPlace.h"
#include "TmTensor.h"

#include "mlir-c/BuiltinTypes.h"

#include <float.h>

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
  MlirValue value = shardTmInlineBody(order->t, at, arguments);
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
  int64_t most = 0, size = mlirShapedTypeGetDimSize(shardTmTypeOf(t, 0), t->dim);
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
  shardTmReplaceResult(t, result, selected);
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

MlirLogicalResult shardTmImportSort(TmOp *t) {
  if (mlirLogicalResultIsFailure(shardTmReadOperands(t, 0, -1)) ||
      mlirLogicalResultIsFailure(shardTmReadDimension(t, shardTmTypeOf(t, 0))) ||
      mlirLogicalResultIsFailure(shardTmReadBody(t, 0, t->nOutputs, true)))
    return mlirLogicalResultFailure();
  for (intptr_t i = 1; i < t->nOutputs; ++i)
    if (!shardTmSameShape(shardTmTypeOf(t, i), shardTmTypeOf(t, 0)))
      return shardTmMalformed(t, "tensors of one shape");
  // Places need not be read: the selection knows them.
  ShardOrder order;
  bool known = knownOrder(t, &order);
  MlirValue *tensors = SHARD_ARENA_ARRAY(t->arena, MlirValue, t->nOutputs);
  intptr_t *slots = SHARD_ARENA_ARRAY(t->arena, intptr_t, t->nOutputs), n = 0;
  MlirType positionType = mlirIntegerTypeGet(mlirOperationGetContext(t->op), 64);
  for (intptr_t i = 0; i < t->nOutputs; ++i) {
    MlirValue operand = mlirOperationGetOperand(t->op, i);
    MlirType element = shardTmElementOf(operand);
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
    if (slots[i] < 0 &&
        !mlirTypeEqual(shardTmElementOf(mlirOperationGetOperand(t->op, i)), positionType))
      return shardTmMalformed(t, "places of one integer type");
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

MlirLogicalResult shardTmImportTopK(TmOp *t) {
  intptr_t nInputs = mlirOperationGetNumOperands(t->op) - 2;
  if (nInputs != 1 && nInputs != 2)
    return shardTmMalformed(t, "one or two inputs and two destinations");
  if (mlirLogicalResultIsFailure(shardTmReadOperands(t, nInputs, 2)) ||
      mlirLogicalResultIsFailure(shardTmReadDimension(t, shardTmTypeOf(t, 0))) ||
      mlirLogicalResultIsFailure(shardTmReadBody(t, 0, 1, true)))
    return mlirLogicalResultFailure();
  MlirType positions = mlirShapedTypeGetElementType(shardTmTypeOf(t, nInputs + 1));
  bool shapes = shardTmSameShape(shardTmTypeOf(t, nInputs), shardTmTypeOf(t, nInputs + 1)) &&
                mlirShapedTypeGetRank(shardTmTypeOf(t, nInputs)) == t->rank &&
                mlirTypeIsAInteger(positions) && mlirIntegerTypeGetWidth(positions) >= 32 &&
                mlirTypeEqual(mlirShapedTypeGetElementType(shardTmTypeOf(t, nInputs)),
                              mlirShapedTypeGetElementType(shardTmTypeOf(t, 0)));
  if (nInputs == 2)
    shapes &= shardTmSameShape(shardTmTypeOf(t, 0), shardTmTypeOf(t, 1)) &&
              mlirTypeEqual(mlirShapedTypeGetElementType(shardTmTypeOf(t, 1)), positions);
  int64_t count = 0;
  for (intptr_t d = 0; shapes && d < t->rank; ++d) {
    int64_t in = mlirShapedTypeGetDimSize(shardTmTypeOf(t, 0), d);
    int64_t out = mlirShapedTypeGetDimSize(shardTmTypeOf(t, nInputs), d);
    shapes &= d == t->dim ? out >= 1 && out <= in : in == out;
    count = d == t->dim ? out : count;
  }
  if (!shapes)
    return shardTmMalformed(t, "values and integer indices of the input's shape, shorter along the "
                               "dimension only");
  if (!isNeutralFill(t, mlirOperationGetOperand(t->op, nInputs)))
    return shardTmMalformed(t, "a destination filled with the value that stands last in the order");
  MlirValue input = mlirOperationGetOperand(t->op, 0);
  ShardSelection selection = {
      .nTensors = 1, .tensors = &input, .positionType = positions, .dim = t->dim, .count = count};
  if (nInputs == 2)
    selection.positions = mlirOperationGetOperand(t->op, 1);
  ShardOrder order;
  MlirValue results[2];
  insertSelection(t, &selection, knownOrder(t, &order) ? &order : NULL, true, results);
  shardTmReplaceResult(t, 0, results[0]);
  shardTmReplaceResult(t, 1, results[1]);
  return mlirLogicalResultSuccess();
}
