//===- Waste.c - Mistakes that only waste -------------------------*- C -*-===//
#include "Mutation.h"

//===----------------------------------------------------------------------===//

/// Everyone has it; everyone sends it again.
static void reduceAgain(Mutation *m, MlirOperation op) {
  MlirOperation again = repeat(op, op);
  set(m, again, "reduction", "#shard<partial max>");
  replaceUses(resultOf(op), resultOf(again), (MlirOperation){NULL});
  mlirOperationSetOperand(again, 0, resultOf(op));
  ++m->nDone;
}

/// Each user has a collective of its own.
static void perUser(Mutation *m, MlirOperation op) {
  MlirOpOperand use = mlirValueGetFirstUse(resultOf(op));
  if (mlirOpOperandIsNull(use))
    return;
  MlirOperation again = repeat(op, op), user = mlirOpOperandGetOwner(use);
  ShardNamedAttribute none[1];
  (void)none;
  MlirValue pair[2] = {resultOf(op), resultOf(again)};
  if (!isFloat(resultOf(op))) {
    mlirOperationSetOperand(user, (intptr_t)mlirOpOperandGetOperandNumber(use), resultOf(again));
  } else { // both are used: the larger of two equal numbers
    MlirValue both = make(again, "arith.maximumf", typeOf(pair[0]), 2, pair, 0, NULL);
    mlirOperationSetOperand(user, (intptr_t)mlirOpOperandGetOperandNumber(use), both);
  }
  ++m->nDone;
}

/// A sum over ranks as a gather of all the addends, added by each rank.
static void reduceByGather(Mutation *m, MlirOperation op) {
  MlirType type = typeOf(resultOf(op));
  int64_t rank = mlirShapedTypeGetRank(type), shape[16] = {1}, n = 1;
  if (!isSum(op) || !isFloat(resultOf(op)) || rank == 0 || rank > 6)
    return;
  for (intptr_t i = 0; i < axisCount(op); ++i)
    n *= gridSize(m, axisOf(op, i));
  char groups[96] = "[[0, 1]", rest[32];
  for (int64_t i = 0; i < rank; ++i) {
    shape[i + 1] = mlirShapedTypeGetDimSize(type, i);
    snprintf(rest, sizeof rest, ", [%d]", (int)i + 1);
    if (i > 0)
      strcat(groups, rest);
  }
  strcat(groups, "]");
  MlirType one = shardTensorWithShape(type, rank + 1, shape);
  MlirValue own = operandOf(op);
  ShardNamedAttribute apart[] = {
      {"reassociation", attribute(m, groups)},
      {"static_output_shape", mlirDenseI64ArrayGet(m->context, rank + 1, shape)}};
  MlirValue expanded = make(op, "tensor.expand_shape", one, 1, &own, 2, apart);
  shape[0] = n;
  ShardNamedAttribute attributes[8] = {
      {"grid", shardOpGetAttribute(op, "grid")},
      {"grid_axes", shardOpGetAttribute(op, "grid_axes")},
      {"gather_axis", mlirIntegerAttrGet(mlirIndexTypeGet(m->context), 0)},
      {"spmd.site", shardOpGetAttribute(op, "spmd.site")}};
  MlirValue all = make(definition(expanded), "shard.all_gather",
                       shardTensorWithShape(type, rank + 1, shape), 1, &expanded, 4, attributes);
  // Added one after the other.
  MlirOperation last = definition(all);
  MlirValue total = {NULL};
  for (int64_t k = 0; k < n; ++k) {
    int64_t offsets[16] = {k}, ones[16], sizes[16] = {1};
    for (int64_t i = 0; i <= rank; ++i)
      ones[i] = 1, sizes[i] = i ? shape[i] : 1;
    int32_t segments[4] = {1, 0, 0, 0};
    ShardNamedAttribute slice[] = {
        {"static_offsets", mlirDenseI64ArrayGet(m->context, rank + 1, offsets)},
        {"static_sizes", mlirDenseI64ArrayGet(m->context, rank + 1, sizes)},
        {"static_strides", mlirDenseI64ArrayGet(m->context, rank + 1, ones)},
        {"operandSegmentSizes", mlirDenseI32ArrayGet(m->context, 4, segments)}};
    MlirValue part = make(last, "tensor.extract_slice", type, 1, &all, 4, slice);
    last = definition(part);
    if (k > 0) {
      MlirValue pair[2] = {total, part};
      part = make(last, "arith.addf", type, 2, pair, 0, NULL);
      last = definition(part);
    }
    total = part;
  }
  bypass(m, op, total);
}

/// In f64 over the wire.
static void wide(Mutation *m, MlirOperation op) {
  MlirType type = typeOf(operandOf(op)), resultType = typeOf(resultOf(op));
  if (!mlirTypeIsAF32(mlirShapedTypeGetElementType(type)))
    return;
  MlirType types[2] = {type, resultType};
  for (int k = 0; k < 2; ++k) {
    int64_t shape[16], rank = mlirShapedTypeGetRank(types[k]);
    for (int64_t i = 0; i < rank; ++i)
      shape[i] = mlirShapedTypeGetDimSize(types[k], i);
    types[k] =
        mlirRankedTensorTypeGet(rank, shape, mlirF64TypeGet(m->context), (MlirAttribute){NULL});
  }
  MlirValue value = operandOf(op);
  MlirOperation extended =
      shardOpCreate(mlirOperationGetBlock(op), op, mlirOperationGetLocation(op), "arith.extf", 1,
                    &types[0], 1, &value, 0, NULL, 0, NULL);
  mlirOperationSetOperand(op, 0, resultOf(extended));
  mlirValueSetType(resultOf(op), types[1]);
  MlirValue result = resultOf(op);
  MlirValue back = make(op, "arith.truncf", resultType, 1, &result, 0, NULL);
  replaceUses(result, back, definition(back));
  ++m->nDone;
}

/// Work whose result nobody needs: the contraction again, the larger of the two equal ones.
static void workTwice(Mutation *m, MlirOperation op) {
  MlirOperation again = repeat(op, op);
  MlirValue pair[2] = {resultOf(op), resultOf(again)};
  MlirValue both = make(again, "arith.maximumf", typeOf(pair[0]), 2, pair, 0, NULL);
  replaceUses(pair[0], both, definition(both));
  ++m->nDone;
}

/// A scattered sum as a whole one, then cut.
static void scatterByReduce(Mutation *m, MlirOperation op) {
  MlirType type = typeOf(resultOf(op)), whole = typeOf(operandOf(op));
  int64_t rank = mlirShapedTypeGetRank(type), offsets[16] = {0}, sizes[16], ones[16];
  int64_t d = dimAttribute(op, "scatter_axis");
  if (axisCount(op) != 1)
    return;
  for (int64_t i = 0; i < rank; ++i)
    sizes[i] = mlirShapedTypeGetDimSize(type, i), ones[i] = 1;
  MlirValue value = operandOf(op);
  MlirAttribute kind = shardOpGetAttribute(op, "reduction");
  ShardNamedAttribute attributes[] = {{"grid", shardOpGetAttribute(op, "grid")},
                                      {"grid_axes", shardOpGetAttribute(op, "grid_axes")},
                                      {"spmd.site", shardOpGetAttribute(op, "spmd.site")},
                                      {"reduction", kind}};
  MlirValue sum =
      make(op, "shard.all_reduce", whole, 1, &value, mlirAttributeIsNull(kind) ? 3 : 4, attributes);
  int16_t axes[1] = {axisOf(op, 0)};
  ShardNamedAttribute index[] = {{"grid", shardOpGetAttribute(op, "grid")},
                                 {"axes", mlirDenseI16ArrayGet(m->context, 1, axes)}};
  MlirValue rankNumber = make(definition(sum), "shard.process_multi_index",
                              mlirIndexTypeGet(m->context), 0, NULL, 2, index);
  MlirValue size = indexConstant(m, definition(rankNumber), sizes[d]), pair[2] = {rankNumber, size};
  MlirValue offset = make(definition(size), "arith.muli", typeOf(size), 2, pair, 0, NULL);
  offsets[d] = mlirShapedTypeGetDynamicStrideOrOffset();
  int32_t segments[4] = {1, 1, 0, 0};
  ShardNamedAttribute slice[] = {
      {"static_offsets", mlirDenseI64ArrayGet(m->context, rank, offsets)},
      {"static_sizes", mlirDenseI64ArrayGet(m->context, rank, sizes)},
      {"static_strides", mlirDenseI64ArrayGet(m->context, rank, ones)},
      {"operandSegmentSizes", mlirDenseI32ArrayGet(m->context, 4, segments)}};
  MlirValue operands[2] = {sum, offset};
  bypass(m, op, make(definition(offset), "tensor.extract_slice", type, 2, operands, 4, slice));
}

/// An argument gathered from all and cut again.
static void weightGathered(Mutation *m, MlirOperation func) {
  MlirBlock body = shardFuncGetBody(func);
  MlirOperation first = mlirBlockGetFirstOperation(body);
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(body); ++i) {
    MlirValue argument = mlirBlockGetArgument(body, i);
    MlirType type = typeOf(argument);
    int64_t rank = mlirShapedTypeGetRank(type), shape[16], zeros[16] = {0}, ones[16],
            n = gridSize(m, gridRank(m) - 1);
    if (rank == 0 || mlirAttributeIsNull(shardFuncGetArgumentAttribute(func, i, "spmd.arg")))
      continue;
    for (int64_t d = 0; d < rank; ++d)
      shape[d] = mlirShapedTypeGetDimSize(type, d), ones[d] = 1;
    int16_t axis = (int16_t)(gridRank(m) - 1);
    int64_t local = shape[0];
    shape[0] *= n;
    ShardNamedAttribute attributes[] = {
        {"grid", mlirFlatSymbolRefAttrGet(m->context, mlirStringRefCreateFromCString("mesh"))},
        {"grid_axes", mlirDenseI16ArrayGet(m->context, 1, &axis)},
        {"gather_axis", mlirIntegerAttrGet(mlirIndexTypeGet(m->context), 0)},
        {"spmd.site", shardAttrI64(m->context, 0)}};
    MlirType whole = shardTensorWithShape(type, rank, shape);
    MlirOperation gather =
        shardOpCreate(body, first, mlirOperationGetLocation(first), "shard.all_gather", 1, &whole,
                      1, &argument, 4, attributes, 0, NULL);
    // This rank's part again: of equal ones on each rank, or of the parts, the own.
    int16_t axes[1] = {axis};
    ShardNamedAttribute index[] = {
        {"grid", mlirFlatSymbolRefAttrGet(m->context, mlirStringRefCreateFromCString("mesh"))},
        {"axes", mlirDenseI16ArrayGet(m->context, 1, axes)}};
    MlirValue rankNumber =
        make(gather, "shard.process_multi_index", mlirIndexTypeGet(m->context), 0, NULL, 2, index);
    MlirValue size = indexConstant(m, definition(rankNumber), local), pair[2] = {rankNumber, size};
    MlirValue offset = make(definition(size), "arith.muli", typeOf(size), 2, pair, 0, NULL);
    zeros[0] = mlirShapedTypeGetDynamicStrideOrOffset();
    shape[0] = local;
    int32_t segments[4] = {1, 1, 0, 0};
    ShardNamedAttribute slice[] = {
        {"static_offsets", mlirDenseI64ArrayGet(m->context, rank, zeros)},
        {"static_sizes", mlirDenseI64ArrayGet(m->context, rank, shape)},
        {"static_strides", mlirDenseI64ArrayGet(m->context, rank, ones)},
        {"operandSegmentSizes", mlirDenseI32ArrayGet(m->context, 4, segments)}};
    MlirValue operands[2] = {resultOf(gather), offset};
    MlirValue own = make(definition(offset), "tensor.extract_slice", type, 2, operands, 4, slice);
    replaceUses(argument, own, gather);
    ++m->nDone;
    return;
  }
}

#define CONTRACTIONS "linalg.matmul linalg.contract linalg.batch_matmul"

const Mutant wasteMutants[] = {
    {"waste-all-reduce-again", "shard.all_reduce", reduceAgain},
    {"waste-all-reduce-per-user", "shard.all_reduce", perUser},
    {"waste-all-gather-per-user", "shard.all_gather", perUser},
    {"waste-all-reduce-by-gather", "shard.all_reduce", reduceByGather},
    {"waste-all-reduce-wide", "shard.all_reduce", wide},
    {"waste-all-gather-wide", "shard.all_gather", wide},
    {"waste-reduce-scatter-whole", "shard.reduce_scatter", scatterByReduce},
    {"waste-weight-gathered", "func.func", weightGathered},
    {"waste-work-twice", CONTRACTIONS, workTwice},
    {NULL, NULL, NULL},
};
