//===- Collectives.c - Mistakes with collectives ------------------*- C -*-===//
#include "Mutation.h"

static void dropSame(Mutation *m, MlirOperation op) { bypass(m, op, operandOf(op)); }

static void reduceTwice(Mutation *m, MlirOperation op) {
  if (!isSum(op))
    return;
  MlirOperation again = repeat(op, op);
  replaceUses(resultOf(op), resultOf(again), (MlirOperation){NULL});
  mlirOperationSetOperand(again, 0, resultOf(op));
  ++m->nDone;
}

static void sumAsMax(Mutation *m, MlirOperation op) {
  if (isSum(op) && isFloat(resultOf(op)))
    set(m, op, "reduction", "#shard<partial max>"), ++m->nDone;
}

static void maxAsSum(Mutation *m, MlirOperation op) {
  if (!isSum(op))
    set(m, op, "reduction", "#shard<partial sum>"), ++m->nDone;
}

static void maxAsMin(Mutation *m, MlirOperation op) {
  MlirAttribute kind = shardOpGetAttribute(op, "reduction"),
                max = attribute(m, "#shard<partial max>"),
                min = attribute(m, "#shard<partial min>");
  if (mlirAttributeIsNull(kind))
    return;
  if (mlirAttributeEqual(kind, max))
    shardOpSetAttribute(op, "reduction", min), ++m->nDone;
  else if (mlirAttributeEqual(kind, min))
    shardOpSetAttribute(op, "reduction", max), ++m->nDone;
}

/// Another axis of the same size.
static void otherAxis(Mutation *m, MlirOperation op) {
  if (axisCount(op) != 1)
    return;
  for (int16_t axis = 0; axis < gridRank(m); ++axis)
    if (axis != axisOf(op, 0) && gridSize(m, axis) == gridSize(m, axisOf(op, 0))) {
      setAxes(m, op, 1, &axis);
      ++m->nDone;
      return;
    }
}

static void moreAxes(Mutation *m, MlirOperation op) {
  int16_t axes[2] = {0, 1};
  if (gridRank(m) != 2 || axisCount(op) != 1 || !isSum(op))
    return;
  setAxes(m, op, 2, axes);
  ++m->nDone;
}

static void fewerAxes(Mutation *m, MlirOperation op) {
  int16_t first = axisOf(op, 0);
  if (axisCount(op) < 2)
    return;
  setAxes(m, op, 1, &first);
  ++m->nDone;
}

static void axesSwapped(Mutation *m, MlirOperation op) {
  if (axisCount(op) != 2 || gridSize(m, axisOf(op, 0)) != gridSize(m, axisOf(op, 1)))
    return;
  int16_t axes[2] = {axisOf(op, 1), axisOf(op, 0)};
  setAxes(m, op, 2, axes);
  ++m->nDone;
}

/// The first user reads what is not reduced yet.
static void reduceLate(Mutation *m, MlirOperation op) {
  MlirOpOperand use = mlirValueGetFirstUse(resultOf(op));
  if (mlirOpOperandIsNull(use))
    return;
  MlirOperation user = mlirOpOperandGetOwner(use);
  mlirOperationSetOperand(user, (intptr_t)mlirOpOperandGetOperandNumber(use), operandOf(op));
  ++m->nDone;
}

/// Rounded to bf16 on the way.
static void narrow(Mutation *m, MlirOperation op) {
  MlirType type = typeOf(operandOf(op));
  if (!mlirTypeIsAF32(mlirShapedTypeGetElementType(type)))
    return;
  int64_t shape[16], rank = mlirShapedTypeGetRank(type);
  for (int64_t i = 0; i < rank; ++i)
    shape[i] = mlirShapedTypeGetDimSize(type, i);
  MlirType half =
      mlirRankedTensorTypeGet(rank, shape, mlirBF16TypeGet(m->context), (MlirAttribute){NULL});
  MlirValue value = operandOf(op), nothing = {NULL};
  (void)nothing;
  MlirOperation truncated =
      shardOpCreate(mlirOperationGetBlock(op), op, mlirOperationGetLocation(op), "arith.truncf", 1,
                    &half, 1, &value, 0, NULL, 0, NULL);
  MlirValue cut = resultOf(truncated);
  MlirValue back = make(truncated, "arith.extf", type, 1, &cut, 0, NULL);
  mlirOperationSetOperand(op, 0, back);
  ++m->nDone;
}

/// The group's blocks come one place further.
static void gatherRotated(Mutation *m, MlirOperation op) {
  int64_t d = 0;
  shardAttrGetI64(shardOpGetAttribute(op, "gather_axis"), &d);
  int64_t block = mlirShapedTypeGetDimSize(typeOf(operandOf(op)), d);
  MlirValue rotated = rotate(m, op, resultOf(op), d, block);
  MlirOperation concat = definition(rotated),
                second = definition(mlirOperationGetOperand(concat, 1)),
                first = definition(mlirOperationGetOperand(concat, 0));
  mlirValueReplaceAllUsesOfWith(resultOf(op), rotated);
  mlirOperationSetOperand(first, 0, resultOf(op));
  mlirOperationSetOperand(second, 0, resultOf(op));
  ++m->nDone;
}

/// Each rank has its own part everywhere.
static void gatherOwn(Mutation *m, MlirOperation op) {
  int64_t d = 0;
  shardAttrGetI64(shardOpGetAttribute(op, "gather_axis"), &d);
  int64_t n = mlirShapedTypeGetDimSize(typeOf(resultOf(op)), d) /
              mlirShapedTypeGetDimSize(typeOf(operandOf(op)), d);
  MlirValue parts[16];
  for (int64_t i = 0; i < n && i < 16; ++i)
    parts[i] = operandOf(op);
  ShardNamedAttribute dim = {"dim", shardAttrI64(m->context, d)};
  bypass(m, op, make(op, "tensor.concat", typeOf(resultOf(op)), n, parts, 1, &dim));
}

/// Gathered along another dimension and seen in the right shape.
static void gatherOther(Mutation *m, MlirOperation op) {
  MlirType type = typeOf(resultOf(op)), local = typeOf(operandOf(op));
  int64_t d = 0, rank = mlirShapedTypeGetRank(type), shape[16],
          elements = shardTypeElementCount(type);
  shardAttrGetI64(shardOpGetAttribute(op, "gather_axis"), &d);
  if (rank != 2)
    return;
  int64_t other = 1 - d, n = mlirShapedTypeGetDimSize(type, d) / mlirShapedTypeGetDimSize(local, d);
  for (int64_t i = 0; i < rank; ++i)
    shape[i] = mlirShapedTypeGetDimSize(local, i) * (i == other ? n : 1);
  MlirOperation gather = repeat(op, op);
  shardOpSetAttribute(gather, "gather_axis",
                      mlirIntegerAttrGet(mlirIndexTypeGet(m->context), other));
  shardOpRemoveAttribute(gather, "spmd.sharding");
  mlirValueSetType(resultOf(gather), shardTensorWithShape(type, 2, shape));
  MlirValue wrong = resultOf(gather);
  ShardNamedAttribute flat[] = {{"reassociation", attribute(m, "[[0, 1]]")}};
  MlirValue merged = make(gather, "tensor.collapse_shape", shardTensorWithShape(type, 1, &elements),
                          1, &wrong, 1, flat);
  int64_t want[2] = {mlirShapedTypeGetDimSize(type, 0), mlirShapedTypeGetDimSize(type, 1)};
  ShardNamedAttribute apart[] = {
      {"reassociation", attribute(m, "[[0, 1]]")},
      {"static_output_shape", mlirDenseI64ArrayGet(m->context, 2, want)}};
  bypass(m, op, make(definition(merged), "tensor.expand_shape", type, 1, &merged, 2, apart));
}

/// What is exchanged stays: the rank's own data in the new shape.
static void exchangeNothing(Mutation *m, MlirOperation op) {
  MlirType type = typeOf(resultOf(op)), local = typeOf(operandOf(op));
  int64_t rank = mlirShapedTypeGetRank(type), elements = shardTypeElementCount(type), shape[16];
  char groups[64] = "[[";
  for (int64_t i = 0; i < rank; ++i) {
    shape[i] = mlirShapedTypeGetDimSize(type, i);
    snprintf(groups + strlen(groups), sizeof groups - strlen(groups), "%s%d", i ? ", " : "",
             (int)i);
  }
  strcat(groups, "]]");
  MlirValue own = operandOf(op), merged = own;
  (void)local;
  ShardNamedAttribute flat[] = {{"reassociation", attribute(m, groups)}};
  if (rank > 1)
    merged = make(op, "tensor.collapse_shape", shardTensorWithShape(type, 1, &elements), 1, &own, 1,
                  flat);
  ShardNamedAttribute apart[] = {
      {"reassociation", attribute(m, groups)},
      {"static_output_shape", mlirDenseI64ArrayGet(m->context, rank, shape)}};
  bypass(m, op,
         rank > 1 ? make(definition(merged), "tensor.expand_shape", type, 1, &merged, 2, apart)
                  : own);
}

/// The halves of what is sent are the wrong way round.
static void exchangeOrder(Mutation *m, MlirOperation op) {
  int64_t d = dimAttribute(op, "split_axis"),
          size = mlirShapedTypeGetDimSize(typeOf(operandOf(op)), d);
  if (size % 2)
    return;
  MlirOperation before = mlirOperationIsNull(definition(operandOf(op))) ? (MlirOperation){NULL}
                                                                        : definition(operandOf(op));
  if (mlirOperationIsNull(before))
    return;
  mlirOperationSetOperand(op, 0, rotate(m, before, operandOf(op), d, size / 2));
  ++m->nDone;
}

/// A scattered sum: the neighbour's piece.
static void scatterOrder(Mutation *m, MlirOperation op) {
  int64_t d = dimAttribute(op, "scatter_axis"),
          size = mlirShapedTypeGetDimSize(typeOf(operandOf(op)), d);
  int64_t piece = mlirShapedTypeGetDimSize(typeOf(resultOf(op)), d);
  MlirOperation before = definition(operandOf(op));
  if (mlirOperationIsNull(before) || size == piece)
    return;
  mlirOperationSetOperand(op, 0, rotate(m, before, operandOf(op), d, piece));
  ++m->nDone;
}

/// A scattered sum that nobody adds: the rank's own first piece.
static void scatterOwn(Mutation *m, MlirOperation op) {
  MlirType type = typeOf(resultOf(op));
  int64_t rank = mlirShapedTypeGetRank(type), zeros[16] = {0}, sizes[16], ones[16];
  for (int64_t i = 0; i < rank; ++i)
    sizes[i] = mlirShapedTypeGetDimSize(type, i), ones[i] = 1;
  int32_t segments[4] = {1, 0, 0, 0};
  MlirValue value = operandOf(op);
  ShardNamedAttribute attributes[] = {
      {"static_offsets", mlirDenseI64ArrayGet(m->context, rank, zeros)},
      {"static_sizes", mlirDenseI64ArrayGet(m->context, rank, sizes)},
      {"static_strides", mlirDenseI64ArrayGet(m->context, rank, ones)},
      {"operandSegmentSizes", mlirDenseI32ArrayGet(m->context, 4, segments)}};
  bypass(m, op, make(op, "tensor.extract_slice", type, 1, &value, 4, attributes));
}
const Mutant collectiveMutants[] = {
    {"all-reduce-dropped", "shard.all_reduce", dropSame},
    {"all-reduce-doubled", "shard.all_reduce", reduceTwice},
    {"all-reduce-sum-as-max", "shard.all_reduce", sumAsMax},
    {"all-reduce-max-as-sum", "shard.all_reduce", maxAsSum},
    {"all-reduce-max-as-min", "shard.all_reduce", maxAsMin},
    {"all-reduce-other-axis", "shard.all_reduce", otherAxis},
    {"all-reduce-more-axes", "shard.all_reduce", moreAxes},
    {"all-reduce-fewer-axes", "shard.all_reduce", fewerAxes},
    {"all-reduce-late", "shard.all_reduce", reduceLate},
    {"all-reduce-narrow", "shard.all_reduce", narrow},
    {"all-gather-rotated", "shard.all_gather", gatherRotated},
    {"all-gather-own", "shard.all_gather", gatherOwn},
    {"all-gather-other-dimension", "shard.all_gather", gatherOther},
    {"all-gather-other-axis", "shard.all_gather", otherAxis},
    {"all-gather-axes-swapped", "shard.all_gather", axesSwapped},
    {"all-gather-narrow", "shard.all_gather", narrow},
    {"reduce-scatter-sum-as-max", "shard.reduce_scatter", sumAsMax},
    {"reduce-scatter-min-as-max", "shard.reduce_scatter", maxAsMin},
    {"reduce-scatter-other-axis", "shard.reduce_scatter", otherAxis},
    {"reduce-scatter-rotated", "shard.reduce_scatter", scatterOrder},
    {"reduce-scatter-own", "shard.reduce_scatter", scatterOwn},
    {"all-to-all-dropped", "shard.all_to_all", exchangeNothing},
    {"all-to-all-other-axis", "shard.all_to_all", otherAxis},
    {"all-to-all-order", "shard.all_to_all", exchangeOrder},
    {NULL, NULL, NULL},
};
