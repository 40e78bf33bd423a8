//===- BoundedTosa.c - Extents of what a TOSA op makes -------------*- C -*-===//
// TOSA ops take part before they become linalg: what a number of the program means, a -1 in a shape
// or a dimension of 1, shows here.
//===----------------------------------------------------------------------===//
#include "BoundedShapes.h"

#include "../Analysis/Rules.h"

#include <string.h>

static int64_t numberOf(MlirOperation op, const char *name) {
  int64_t number = 0;
  shardAttrGetI64(shardOpGetAttribute(op, name), &number);
  return number;
}

/// Number i of a tosa.const_shape that an operand is; false if it is none.
static bool shapeNumber(MlirOperation op, intptr_t operand, intptr_t i, int64_t *out) {
  MlirOperation constant = shardValueDefiningOp(mlirOperationGetOperand(op, operand));
  if (mlirOperationIsNull(constant) || !shardOpIs(constant, "tosa.const_shape"))
    return false;
  MlirAttribute values = shardOpGetAttribute(constant, "values");
  if (!mlirAttributeIsADenseElements(values))
    return false;
  *out = mlirDenseElementsAttrIsSplat(values)
             ? (int64_t)mlirIntegerAttrGetValueInt(mlirDenseElementsAttrGetSplatValue(values))
             : (int64_t)mlirDenseElementsAttrGetIndexValue(values, i);
  return true;
}

static bool isOneOf(MlirOperation op, const char *const *names, size_t n) {
  for (size_t i = 0; i < n; ++i)
    if (shardOpIs(op, names[i]))
      return true;
  return false;
}
#define IS_ONE_OF(op, list) isOneOf(op, list, sizeof(list) / sizeof(list[0]))

static const char *const elementwise[] = {
    "tosa.abs",         "tosa.add",         "tosa.arithmetic_right_shift",
    "tosa.bitwise_and", "tosa.bitwise_or",  "tosa.bitwise_xor",
    "tosa.bitwise_not", "tosa.cast",        "tosa.ceil",
    "tosa.clamp",       "tosa.clz",         "tosa.cos",
    "tosa.equal",       "tosa.erf",         "tosa.exp",
    "tosa.floor",       "tosa.greater",     "tosa.greater_equal",
    "tosa.identity",    "tosa.intdiv",      "tosa.log",
    "tosa.logical_and", "tosa.logical_or",  "tosa.logical_left_shift",
    "tosa.logical_not", "tosa.logical_xor", "tosa.logical_right_shift",
    "tosa.maximum",     "tosa.minimum",     "tosa.mul",
    "tosa.negate",      "tosa.pow",         "tosa.reciprocal",
    "tosa.rsqrt",       "tosa.select",      "tosa.sigmoid",
    "tosa.sin",         "tosa.sub",         "tosa.tanh"};
static const char *const reductions[] = {"tosa.reduce_sum", "tosa.reduce_product",
                                         "tosa.reduce_max", "tosa.reduce_min",
                                         "tosa.reduce_all", "tosa.reduce_any"};
static const ShardCombiner combiners[] = {SHARD_COMBINER_SUM, SHARD_COMBINER_PRODUCT,
                                          SHARD_COMBINER_MAX, SHARD_COMBINER_MIN,
                                          SHARD_COMBINER_AND, SHARD_COMBINER_OR};
/// Windows that slide over all dimensions but the first.
static const char *const windows[] = {"tosa.conv2d",     "tosa.depthwise_conv2d",
                                      "tosa.conv3d",     "tosa.transpose_conv2d",
                                      "tosa.avg_pool2d", "tosa.max_pool2d"};

static MlirType elementOf(MlirValue tensor) {
  return mlirShapedTypeGetElementType(mlirValueGetType(tensor));
}

static void mask(ShardBounded *b, MlirOperation op, intptr_t operand, MlirAttribute number,
                 int64_t dim) {
  MlirValue value = mlirOperationGetOperand(op, operand);
  bool *dims = SHARD_ARENA_ARRAY(b->arena, bool, shardRankOf(value) + 1);
  for (intptr_t d = 0; d < shardRankOf(value); ++d)
    dims[d] = dim < 0 || dim == d;
  mlirOperationSetOperand(op, operand, shardBoundedMaskTensor(b, op, value, number, dims));
}

/// Operands of one rank; a dimension of 1 meets any other.
static MlirLogicalResult describeBroadcast(ShardBounded *b, MlirOperation op, ShardExtent *shape) {
  intptr_t rank = shardRankOf(mlirOperationGetResult(op, 0));
  ShardExtent one = {0};
  for (intptr_t d = 0; d < rank; ++d) {
    bool known = false;
    for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i) {
      MlirValue operand = mlirOperationGetOperand(op, i);
      if (shardRankOf(operand) != rank)
        continue; // the shift of a product, a zero point
      ShardExtent extent = shardBoundedExtent(b, operand, d);
      if (!shardExtentEqual(b, &extent, &one) &&
          mlirLogicalResultIsFailure(shardBoundedMeet(b, op, &known, &shape[d], &extent)))
        return mlirLogicalResultFailure();
    }
  }
  if (shardOpIs(op, "tosa.intdiv")) {
    MlirType element = elementOf(mlirOperationGetOperand(op, 1));
    mask(b, op, 1, mlirIntegerAttrGet(element, 1), -1);
  }
  return mlirLogicalResultSuccess();
}

static void describeReduction(ShardBounded *b, MlirOperation op, ShardExtent *shape) {
  int64_t axis = numberOf(op, "axis");
  ShardCombiner combiner = SHARD_COMBINER_SUM;
  for (size_t i = 0; i < sizeof(reductions) / sizeof(reductions[0]); ++i)
    if (shardOpIs(op, reductions[i]))
      combiner = combiners[i];
  MlirValue operand = mlirOperationGetOperand(op, 0);
  for (intptr_t d = 0; d < shardRankOf(operand); ++d)
    shape[d] = d == axis ? shardExtentOfNumber(b, 1) : shardBoundedExtent(b, operand, d);
  mask(b, op, 0, shardCombinerIdentity(combiner, elementOf(operand)), axis);
}

static void describeArgMax(ShardBounded *b, MlirOperation op, ShardExtent *shape) {
  int64_t axis = numberOf(op, "axis");
  MlirValue operand = mlirOperationGetOperand(op, 0);
  for (intptr_t d = 0, r = 0; d < shardRankOf(operand); ++d)
    if (d != axis)
      shape[r++] = shardBoundedExtent(b, operand, d);
  mask(b, op, 0, shardCombinerIdentity(SHARD_COMBINER_MAX, elementOf(operand)), axis);
}

/// What stands for zero in factor `operand` of a product; null if it is no constant.
static MlirAttribute zeroPoint(MlirOperation op, intptr_t operand) {
  MlirType element = elementOf(mlirOperationGetOperand(op, operand));
  if (mlirTypeIsAFloat(element))
    return shardAttrNumber(element, 0);
  MlirOperation constant = shardValueDefiningOp(mlirOperationGetOperand(op, 2 + operand));
  if (mlirOperationIsNull(constant) || !shardOpIs(constant, "tosa.const"))
    return mlirAttributeGetNull();
  MlirAttribute values = shardOpGetAttribute(constant, "values");
  return mlirAttributeIsADenseElements(values) && mlirDenseElementsAttrIsSplat(values)
             ? mlirDenseElementsAttrGetSplatValue(values)
             : mlirAttributeGetNull();
}

static MlirLogicalResult describeMatmul(ShardBounded *b, MlirOperation op, ShardExtent *shape) {
  MlirValue left = mlirOperationGetOperand(op, 0), right = mlirOperationGetOperand(op, 1);
  ShardExtent inner = shardBoundedExtent(b, left, 2), other = shardBoundedExtent(b, right, 1);
  ShardExtent batch = shardBoundedExtent(b, right, 0);
  shape[0] = shardBoundedExtent(b, left, 0);
  shape[1] = shardBoundedExtent(b, left, 1);
  shape[2] = shardBoundedExtent(b, right, 2);
  bool known = true;
  if (mlirLogicalResultIsFailure(shardBoundedMeet(b, op, &known, &shape[0], &batch)) ||
      mlirLogicalResultIsFailure(shardBoundedMeet(b, op, &known, &inner, &other)))
    return mlirLogicalResultFailure();
  // A factor that is the zero point counts for nothing.
  for (intptr_t i = 0; i < 2; ++i) {
    MlirAttribute zero = zeroPoint(op, i);
    if (mlirAttributeIsNull(zero))
      return shardBoundedRefuse(op);
    mask(b, op, i, zero, i == 0 ? 2 : 1);
  }
  return mlirLogicalResultSuccess();
}

/// The whole operand's digits in row-major order, cut anew.
static bool describeReshape(ShardBounded *b, MlirOperation op, ShardExtent *shape) {
  MlirValue operand = mlirOperationGetOperand(op, 0);
  intptr_t rank = shardRankOf(mlirOperationGetResult(op, 0));
  bool *known = SHARD_ARENA_ARRAY(b->arena, bool, rank + 1);
  ShardExtent all = {0};
  for (intptr_t d = 0; d < shardRankOf(operand); ++d) {
    ShardExtent extent = shardBoundedExtent(b, operand, d);
    all = shardExtentProduct(b, &all, &extent);
  }
  for (intptr_t d = 0; d < rank; ++d) {
    int64_t number;
    if (!shapeNumber(op, 1, d, &number))
      return false;
    known[d] = number >= 0;
    if (known[d])
      shape[d] = shardExtentOfNumber(b, number);
  }
  return shardExtentSplit(b, &all, rank, shape, known);
}

static void describeTranspose(ShardBounded *b, MlirOperation op, ShardExtent *shape) {
  MlirAttribute order = shardOpGetAttribute(op, "perms");
  for (intptr_t d = 0; d < shardRankOf(mlirOperationGetResult(op, 0)); ++d)
    shape[d] = shardBoundedExtent(b, mlirOperationGetOperand(op, 0),
                                  mlirDenseI32ArrayGetElement(order, d));
}

/// Dimensions that are dynamic must be left as they are.
static bool describeTile(ShardBounded *b, MlirOperation op, ShardExtent *shape) {
  for (intptr_t d = 0; d < shardRankOf(mlirOperationGetResult(op, 0)); ++d) {
    int64_t times;
    shape[d] = shardBoundedExtent(b, mlirOperationGetOperand(op, 0), d);
    if (!shapeNumber(op, 1, d, &times))
      return false;
    if (times == 1)
      continue;
    if (!shardExtentIsNumber(b, &shape[d]))
      return false;
    shape[d] = shardExtentOfNumber(b, shardExtentBound(&shape[d]) * times);
  }
  return true;
}

static bool describePadding(ShardBounded *b, MlirOperation op, ShardExtent *shape) {
  for (intptr_t d = 0; d < shardRankOf(mlirOperationGetResult(op, 0)); ++d) {
    int64_t low, high;
    shape[d] = shardBoundedExtent(b, mlirOperationGetOperand(op, 0), d);
    if (!shapeNumber(op, 1, 2 * d, &low) || !shapeNumber(op, 1, 2 * d + 1, &high))
      return false;
    if (low == 0 && high == 0)
      continue;
    if (!shardExtentIsNumber(b, &shape[d]))
      return false;
    shape[d] = shardExtentOfNumber(b, shardExtentBound(&shape[d]) + low + high);
  }
  return true;
}

/// A slice from a number on; a dynamic dimension is taken whole, or its first steps are.
static bool describeSlice(ShardBounded *b, MlirOperation op, ShardExtent *shape) {
  for (intptr_t d = 0; d < shardRankOf(mlirOperationGetResult(op, 0)); ++d) {
    int64_t begin, size;
    ShardExtent extent = shardBoundedExtent(b, mlirOperationGetOperand(op, 0), d);
    if (!shapeNumber(op, 1, d, &begin) || !shapeNumber(op, 2, d, &size))
      return false;
    if (size < 0 && begin != 0)
      return false;
    shape[d] = size < 0 ? extent : shardExtentOfNumber(b, size);
    if (size >= 0 && extent.n > 1)
      return false;
  }
  return true;
}

static MlirLogicalResult describeConcat(ShardBounded *b, MlirOperation op, ShardExtent *shape) {
  int64_t axis = numberOf(op, "axis");
  intptr_t rank = shardRankOf(mlirOperationGetResult(op, 0));
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    for (intptr_t d = 0; d < rank; ++d) {
      ShardExtent extent = shardBoundedExtent(b, mlirOperationGetOperand(op, i), d);
      bool known = i > 0;
      if (i > 0 && d == axis) {
        if (!shardExtentIsNumber(b, &shape[d]) || extent.n > 1 ||
            !shardExtentSum(b, &shape[d], &extent, 1, &shape[d]))
          return shardBoundedRefuse(op);
      } else if (mlirLogicalResultIsFailure(shardBoundedMeet(b, op, &known, &shape[d], &extent))) {
        return mlirLogicalResultFailure();
      }
    }
  return mlirLogicalResultSuccess();
}

/// Rows of values [n, k, c] at places [n, w].
static bool describeGather(ShardBounded *b, MlirOperation op, ShardExtent *shape) {
  MlirValue values = mlirOperationGetOperand(op, 0), places = mlirOperationGetOperand(op, 1);
  ShardExtent read = shardBoundedExtent(b, values, 1);
  shape[0] = shardBoundedExtent(b, values, 0);
  shape[1] = shardBoundedExtent(b, places, 1);
  shape[2] = shardBoundedExtent(b, values, 2);
  mask(b, op, 1, mlirIntegerAttrGet(elementOf(places), 0), -1);
  return read.n <= 1;
}

static bool describeWindows(ShardBounded *b, MlirOperation op, ShardExtent *shape) {
  MlirType type = mlirValueGetType(mlirOperationGetResult(op, 0));
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    for (intptr_t d = i == 0 ? 1 : 0; d < shardRankOf(mlirOperationGetOperand(op, i)); ++d) {
      ShardExtent extent = shardBoundedExtent(b, mlirOperationGetOperand(op, i), d);
      if (!shardExtentIsNumber(b, &extent))
        return false;
    }
  shape[0] = shardBoundedExtent(b, mlirOperationGetOperand(op, 0), 0);
  for (intptr_t d = 1; d < mlirShapedTypeGetRank(type); ++d) {
    if (mlirShapedTypeIsDynamicDim(type, d))
      return false;
    shape[d] = shardExtentOfNumber(b, mlirShapedTypeGetDimSize(type, d));
  }
  return true;
}

MlirLogicalResult shardBoundedDescribeTosa(ShardBounded *b, MlirOperation op, ShardBoundedOp *out) {
  MlirType type = mlirOperationGetNumResults(op) == 1
                      ? mlirValueGetType(mlirOperationGetResult(op, 0))
                      : (MlirType){NULL};
  if (mlirTypeIsNull(type) || !mlirTypeIsARankedTensor(type) ||
      (!shardBoundedReads(b, op) && mlirShapedTypeHasStaticShape(type)))
    return mlirLogicalResultSuccess();
  ShardExtent *shape = shardBoundedNewShape(b, shardRankOf(mlirOperationGetResult(op, 0)));
  MlirLogicalResult result = mlirLogicalResultSuccess();
  bool good = true;
  if (IS_ONE_OF(op, elementwise))
    result = describeBroadcast(b, op, shape);
  else if (IS_ONE_OF(op, reductions))
    describeReduction(b, op, shape);
  else if (IS_ONE_OF(op, windows))
    good = describeWindows(b, op, shape);
  else if (shardOpIs(op, "tosa.argmax"))
    describeArgMax(b, op, shape);
  else if (shardOpIs(op, "tosa.matmul"))
    result = describeMatmul(b, op, shape);
  else if (shardOpIs(op, "tosa.transpose"))
    describeTranspose(b, op, shape);
  else if (shardOpIs(op, "tosa.concat"))
    result = describeConcat(b, op, shape);
  else
    good = shardOpIs(op, "tosa.reshape")  ? describeReshape(b, op, shape)
           : shardOpIs(op, "tosa.tile")   ? describeTile(b, op, shape)
           : shardOpIs(op, "tosa.pad")    ? describePadding(b, op, shape)
           : shardOpIs(op, "tosa.slice")  ? describeSlice(b, op, shape)
           : shardOpIs(op, "tosa.gather") ? describeGather(b, op, shape)
                                          : false;
  if (mlirLogicalResultIsFailure(result))
    return result;
  if (!good)
    return shardBoundedRefuse(op);
  MlirValue made = mlirOperationGetResult(op, 0);
  intptr_t rank = shardRankOf(made);
  int64_t *bounds = SHARD_ARENA_ARRAY(b->arena, int64_t, rank + 1);
  for (intptr_t d = 0; d < rank; ++d)
    bounds[d] = shardExtentBound(&shape[d]);
  mlirValueSetType(made, shardTensorWithShape(mlirValueGetType(made), rank, bounds));
  out->results[0] = shape;
  return mlirLogicalResultSuccess();
}
