//===- CollectiveCalls.c - Collectives as calls of the runtime -----*- C -*-===//
// Reads: `spmd.site`, `spmd.channel`, `spmd.round`.
//===----------------------------------------------------------------------===//

#include "Destinations.h"

#include "shard/Runtime.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

typedef struct Mesh {
  intptr_t nAxes;
  int64_t sizes[32];
} Mesh;

/// The mesh that the op names by `grid`.
static MlirLogicalResult getMesh(ShardLowering *lowering, MlirOperation op, Mesh *mesh) {
  MlirAttribute symbol = shardOpGetAttribute(op, "grid");
  MlirOperation grid = shardModuleLookup(lowering->module, mlirFlatSymbolRefAttrGetValue(symbol));
  if (mlirOperationIsNull(grid))
    return shardEmitError(op, "the mesh of this collective is not defined");
  MlirAttribute shape = shardOpGetAttribute(grid, "shape");
  mesh->nAxes = mlirDenseArrayGetNumElements(shape);
  if (mesh->nAxes > 30)
    return shardEmitError(grid, "%" PRIdPTR " mesh axes; at most 30 are supported", mesh->nAxes);
  for (intptr_t i = 0; i < mesh->nAxes; ++i) {
    mesh->sizes[i] = mlirDenseI64ArrayGetElement(shape, i);
    if (mesh->sizes[i] < 1)
      return shardEmitError(grid, "mesh axis %" PRIdPTR " has no fixed size", i);
  }
  return mlirLogicalResultSuccess();
}

typedef struct Group {
  intptr_t nAxes;
  int32_t axes[32]; // in the op's order, major first
  int64_t size;
  int64_t mask;
  bool ascending;
} Group;

static Group getGroup(MlirOperation op, const Mesh *mesh) {
  Group group = {.size = 1, .ascending = true};
  MlirAttribute axes = shardOpGetAttribute(op, "grid_axes");
  group.nAxes = mlirAttributeIsNull(axes) ? 0 : mlirDenseArrayGetNumElements(axes);
  for (intptr_t i = 0; i < group.nAxes; ++i) {
    group.axes[i] = mlirDenseI16ArrayGetElement(axes, i);
    group.size *= mesh->sizes[group.axes[i]];
    group.mask |= (int64_t)1 << group.axes[i];
    group.ascending &= i == 0 || group.axes[i - 1] < group.axes[i];
  }
  return group;
}

static MlirValue buildCoordinate(ShardLowerBuilder *b, MlirValue context, int64_t axis) {
  MlirValue operands[] = {context, shardMakeI32(b, axis)};
  return mlirOperationGetResult(
      shardMakeRuntimeCall(b, "shardRtCoordinate", 1, &b->lowering->i64, 2, operands), 0);
}

/// Linear index of this rank in the group, major first.
static MlirValue buildGroupIndex(ShardLowerBuilder *b, MlirValue context, const Group *group,
                                 const Mesh *mesh) {
  MlirValue index = shardMakeI64(b, 0);
  for (intptr_t i = 0; i < group->nAxes; ++i)
    index = shardMakeAdd(b, shardMakeMul(b, index, shardMakeI64(b, mesh->sizes[group->axes[i]])),
                         buildCoordinate(b, context, group->axes[i]));
  return index;
}

/// World rank of the device at multi-index `attribute` (with dynamic parts in operands 1...) of the
/// group; `inGroup`: its linear index in the group instead.
static MlirValue buildPeer(ShardLowerBuilder *b, MlirOperation op, MlirValue context,
                           const Group *group, const Mesh *mesh, const char *attribute,
                           bool inGroup) {
  MlirAttribute multiIndex = shardOpGetAttribute(op, attribute);
  intptr_t nextOperand = 1;
  MlirValue part[32];
  memset(part, 0, sizeof(part));
  intptr_t n = mlirAttributeIsNull(multiIndex) ? 0 : mlirDenseArrayGetNumElements(multiIndex);
  for (intptr_t i = 0; i < n && i < group->nAxes; ++i) {
    int64_t value = mlirDenseI64ArrayGetElement(multiIndex, i);
    part[group->axes[i]] =
        value == mlirShapedTypeGetDynamicSize()
            ? shardMakeIndexCast(b, mlirOperationGetOperand(op, nextOperand++), b->lowering->i64)
            : shardMakeI64(b, value);
  }
  MlirValue rank = shardMakeI64(b, 0);
  for (intptr_t axis = 0; axis < mesh->nAxes; ++axis) {
    if (inGroup && !(group->mask >> axis & 1))
      continue;
    MlirValue coordinate =
        mlirValueIsNull(part[axis]) ? buildCoordinate(b, context, axis) : part[axis];
    rank = shardMakeAdd(b, shardMakeMul(b, rank, shardMakeI64(b, mesh->sizes[axis])), coordinate);
  }
  return rank;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

static MlirLogicalResult reductionNumber(MlirOperation op, int64_t *number) {
  MlirAttribute attribute = shardOpGetAttribute(op, "reduction");
  char text[64] = "#shard<partial sum>";
  *number = SHARD_RT_SUM;
  if (mlirAttributeIsNull(attribute))
    return mlirLogicalResultSuccess();
  MlirContext context = mlirOperationGetContext(op);
  static const struct {
    const char *name;
    int64_t number;
  } table[] = {{"sum", SHARD_RT_SUM},         {"max", SHARD_RT_MAX},
               {"min", SHARD_RT_MIN},         {"product", SHARD_RT_PRODUCT},
               {"bitwise_and", SHARD_RT_AND}, {"bitwise_or", SHARD_RT_OR}};
  for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); ++i) {
    snprintf(text, sizeof(text), "#shard<partial %s>", table[i].name);
    if (mlirAttributeEqual(attribute,
                           mlirAttributeParseGet(context, mlirStringRefCreateFromCString(text)))) {
      *number = table[i].number;
      return mlirLogicalResultSuccess();
    }
  }
  return shardEmitError(op, "this reduction cannot be run; expected sum, max, min, product, "
                            "bitwise_and or bitwise_or");
}

static int64_t dimProduct(MlirType type, int64_t from, int64_t to) {
  int64_t product = 1;
  for (int64_t i = from; i < to; ++i)
    product *= mlirShapedTypeGetDimSize(type, i);
  return product;
}

static int64_t getInteger(MlirOperation op, const char *name, int64_t other) {
  int64_t value;
  MlirAttribute attribute = shardOpGetAttribute(op, name);
  return !mlirAttributeIsNull(attribute) && shardAttrGetI64(attribute, &value) ? value : other;
}

/// What the lowering of every collective starts from.
typedef struct Collective {
  ShardLowerBuilder b;
  MlirOperation op;
  MlirValue context;
  Mesh mesh;
  Group group;
  int64_t site;
  MlirValue input;
  MlirType resultType;
  int32_t element;
} Collective;

/// A call of the runtime; which operands are the buffers that it reads and writes is kept in
/// `spmd.collective` (-1: none).
static void makeCollectiveCall(ShardLowerBuilder *b, const char *callee, intptr_t nOperands,
                               const MlirValue *operands, int64_t read, int64_t written) {
  MlirOperation call = shardMakeRuntimeCall(b, callee, 0, NULL, nOperands, operands);
  shardOpSetAttribute(call, "spmd.collective",
                      shardAttrI64Array(b->lowering->context, 2, (const int64_t[]){read, written}));
}

static MlirType withDim(MlirType type, int64_t dim, int64_t size) {
  int64_t shape[SHARD_LOWER_MAX_RANK];
  intptr_t rank = mlirShapedTypeGetRank(type);
  for (intptr_t i = 0; i < rank; ++i)
    shape[i] = i == dim ? size : mlirShapedTypeGetDimSize(type, i);
  return shardTensorWithShape(type, rank, shape);
}

/// all-gather or reduce-scatter of `input` along `dim` over the axes of `group`.
static MlirValue buildStrided(Collective *c, const Group *group, MlirValue input, int64_t dim,
                              int64_t reduction, bool gather) {
  ShardLowerBuilder *b = &c->b;
  MlirType type = mlirValueGetType(input);
  int64_t size = mlirShapedTypeGetDimSize(type, dim);
  MlirType resultType = withDim(type, dim, gather ? size * group->size : size / group->size);
  MlirType small = gather ? type : resultType;
  MlirValue send = shardMakePointerToRead(b, input), buffer;
  MlirValue recv = shardMakePointerToWrite(b, resultType, &buffer);
  MlirValue operands[] = {c->context,
                          shardMakeI32(b, c->site),
                          shardMakeI32(b, group->mask),
                          send,
                          recv,
                          shardMakeI64(b, dimProduct(small, 0, dim)),
                          shardMakeI64(b, dimProduct(small, dim, mlirShapedTypeGetRank(small))),
                          shardMakeI32(b, c->element),
                          gather ? (MlirValue){NULL} : shardMakeI32(b, reduction)};
  makeCollectiveCall(b, gather ? "shardRtCallAllGather" : "shardRtCallReduceScatter",
                     gather ? 8 : 9, operands, 3, 4);
  return shardMakeTensorOfBuffer(b, buffer, resultType, true);
}

/// The same when the op's axes are not in the mesh's order: axis by axis. The minor axis is
/// gathered first; the major one is scattered first.
static MlirValue buildStridedAnyOrder(Collective *c, MlirValue input, int64_t dim,
                                      int64_t reduction, bool gather) {
  if (c->group.ascending)
    return buildStrided(c, &c->group, input, dim, reduction, gather);
  for (intptr_t i = 0; i < c->group.nAxes; ++i) {
    int32_t axis = c->group.axes[gather ? c->group.nAxes - 1 - i : i];
    Group one = {.nAxes = 1,
                 .axes = {axis},
                 .size = c->mesh.sizes[axis],
                 .mask = (int64_t)1 << axis,
                 .ascending = true};
    input = buildStrided(c, &one, input, dim, reduction, gather);
  }
  return input;
}

/// A call that leaves a value of the result's type. `extra`: null, or an operand before the
/// buffers; `reduction`: negative if there is none.
static MlirValue buildSameShape(Collective *c, const char *callee, int64_t mask, MlirValue extra,
                                int64_t reduction) {
  ShardLowerBuilder *b = &c->b;
  MlirValue send = shardMakePointerToRead(b, c->input), buffer;
  MlirValue recv = shardMakePointerToWrite(b, c->resultType, &buffer);
  MlirValue operands[10] = {c->context, shardMakeI32(b, c->site), shardMakeI32(b, mask)};
  intptr_t n = 3;
  if (!mlirValueIsNull(extra))
    operands[n++] = extra;
  intptr_t first = n;
  operands[n++] = send;
  operands[n++] = recv;
  operands[n++] = shardMakeI64(b, shardTypeElementCount(c->resultType));
  operands[n++] = shardMakeI32(b, c->element);
  if (reduction >= 0)
    operands[n++] = shardMakeI32(b, reduction);
  makeCollectiveCall(b, callee, n, operands, first, first + 1);
  return shardMakeTensorOfBuffer(b, buffer, c->resultType, true);
}

static MlirAttribute reassociation(MlirContext context, intptr_t rank, intptr_t splitDim) {
  // [[0], ..., [splitDim, splitDim + 1], ...] of `rank` groups
  MlirAttribute groups[SHARD_LOWER_MAX_RANK];
  MlirType i64 = mlirIntegerTypeGet(context, 64);
  for (intptr_t i = 0, next = 0; i < rank; ++i) {
    MlirAttribute dims[2];
    intptr_t n = i == splitDim ? 2 : 1;
    for (intptr_t k = 0; k < n; ++k)
      dims[k] = mlirIntegerAttrGet(i64, next++);
    groups[i] = mlirArrayAttrGet(context, n, dims);
  }
  return mlirArrayAttrGet(context, rank, groups);
}

static MlirValue buildExpand(ShardLowerBuilder *b, MlirValue input, intptr_t dim, int64_t outer,
                             int64_t inner) {
  MlirType type = mlirValueGetType(input);
  intptr_t rank = mlirShapedTypeGetRank(type);
  int64_t shape[SHARD_LOWER_MAX_RANK];
  for (intptr_t i = 0, k = 0; i < rank; ++i)
    if (i == dim) {
      shape[k++] = outer;
      shape[k++] = inner;
    } else {
      shape[k++] = mlirShapedTypeGetDimSize(type, i);
    }
  MlirType result = shardTensorWithShape(type, rank + 1, shape);
  MlirContext context = b->lowering->context;
  ShardNamedAttribute attributes[] = {
      {"reassociation", reassociation(context, rank, dim)},
      {"static_output_shape", mlirDenseI64ArrayGet(context, rank + 1, shape)}};
  return mlirOperationGetResult(
      shardMakeOp(b, "tensor.expand_shape", 1, &result, 1, &input, 2, attributes), 0);
}

static MlirValue buildCollapse(ShardLowerBuilder *b, MlirValue input, intptr_t dim) {
  MlirType type = mlirValueGetType(input);
  intptr_t rank = mlirShapedTypeGetRank(type);
  int64_t shape[SHARD_LOWER_MAX_RANK];
  for (intptr_t i = 0, k = 0; k < rank - 1; ++k, ++i) {
    shape[k] = mlirShapedTypeGetDimSize(type, i);
    if (k == dim)
      shape[k] *= mlirShapedTypeGetDimSize(type, ++i);
  }
  MlirType result = shardTensorWithShape(type, rank - 1, shape);
  ShardNamedAttribute attribute = {"reassociation",
                                   reassociation(b->lowering->context, rank - 1, dim)};
  return mlirOperationGetResult(
      shardMakeOp(b, "tensor.collapse_shape", 1, &result, 1, &input, 1, &attribute), 0);
}

/// The value with dimension `from` at position `to`.
static MlirValue buildMoveDim(ShardLowerBuilder *b, MlirValue input, intptr_t from, intptr_t to) {
  MlirContext context = b->lowering->context;
  MlirType type = mlirValueGetType(input);
  intptr_t rank = mlirShapedTypeGetRank(type);
  int64_t permutation[SHARD_LOWER_MAX_RANK], shape[SHARD_LOWER_MAX_RANK];
  for (intptr_t i = 0, next = 0; i < rank; ++i) {
    if (i == to) {
      permutation[i] = from;
      continue;
    }
    if (next == from)
      ++next;
    permutation[i] = next++;
  }
  for (intptr_t i = 0; i < rank; ++i)
    shape[i] = mlirShapedTypeGetDimSize(type, permutation[i]);
  MlirType result = shardTensorWithShape(type, rank, shape);
  MlirValue empty = shardMakeValue(b, "tensor.empty", result, 0, NULL);
  // As a generic: a permuted read.
  MlirAffineExpr inputExprs[SHARD_LOWER_MAX_RANK];
  MlirAttribute iterators[SHARD_LOWER_MAX_RANK];
  for (intptr_t i = 0; i < rank; ++i) {
    inputExprs[permutation[i]] = mlirAffineDimExprGet(context, i);
    iterators[i] = shardParseAttribute(b->lowering, "#linalg.iterator_type<parallel>");
  }
  MlirAttribute maps[] = {
      mlirAffineMapAttrGet(mlirAffineMapGet(context, rank, 0, rank, inputExprs)),
      mlirAffineMapAttrGet(mlirAffineMapMultiDimIdentityGet(context, rank))};
  ShardNamedAttribute attributes[] = {
      {"indexing_maps", mlirArrayAttrGet(context, 2, maps)},
      {"iterator_types", mlirArrayAttrGet(context, rank, iterators)},
      {"operandSegmentSizes", mlirDenseI32ArrayGet(context, 2, (const int32_t[]){1, 1})}};
  MlirType element = mlirShapedTypeGetElementType(type);
  MlirType elements[] = {element, element};
  MlirLocation locations[] = {b->location, b->location};
  MlirRegion region = mlirRegionCreate();
  MlirBlock block = mlirBlockCreate(2, elements, locations);
  mlirRegionAppendOwnedBlock(region, block);
  MlirValue in = mlirBlockGetArgument(block, 0);
  ShardLowerBuilder inner = shardLowerBuilderAtEnd(b->lowering, block, b->location);
  shardMakeOp(&inner, "linalg.yield", 0, NULL, 1, &in, 0, NULL);
  MlirValue operands[] = {input, empty};
  return mlirOperationGetResult(shardOpCreate(b->block, b->before, b->location, "linalg.generic", 1,
                                              &result, 2, operands, 3, attributes, 1, &region),
                                0);
}

/// all-to-all: the n parts of `splitDim` become leading blocks, are exchanged, and what came from
/// each rank stands one after the other along `concatDim`.
static MlirValue buildAllToAll(Collective *c) {
  MlirOperation op = c->op;
  int64_t splitDim = getInteger(op, "split_axis", 0), concatDim = getInteger(op, "concat_axis", 0);
  int64_t n = c->group.size;
  MlirType type = mlirValueGetType(c->input);
  if (!c->group.ascending) {
    shardEmitError(op, "all-to-all over mesh axes that are not in the mesh's order");
    return (MlirValue){NULL};
  }
  int64_t size = mlirShapedTypeGetDimSize(type, splitDim);
  if (size % n) {
    shardEmitError(op,
                   "dimension %" PRId64 " is %" PRId64 ", not a multiple of the group's %" PRId64,
                   splitDim, size, n);
    return (MlirValue){NULL};
  }
  ShardLowerBuilder *b = &c->b;
  MlirValue blocks = buildExpand(b, c->input, splitDim, n, size / n);
  if (splitDim)
    blocks = buildMoveDim(b, blocks, splitDim, 0);
  MlirType blocksType = mlirValueGetType(blocks);
  MlirValue send = shardMakePointerToRead(b, blocks), buffer;
  MlirValue recv = shardMakePointerToWrite(b, blocksType, &buffer);
  MlirValue operands[] = {c->context,
                          shardMakeI32(b, c->site),
                          shardMakeI32(b, c->group.mask),
                          send,
                          recv,
                          shardMakeI64(b, shardTypeElementCount(blocksType) / n),
                          shardMakeI32(b, c->element)};
  makeCollectiveCall(b, "shardRtCallAllToAll", 7, operands, 3, 4);
  MlirValue result = shardMakeTensorOfBuffer(b, buffer, blocksType, true);
  if (concatDim)
    result = buildMoveDim(b, result, 0, concatDim);
  return buildCollapse(b, result, concatDim);
}

/// This rank's part of a whole value.
static MlirValue buildAllSlice(Collective *c) {
  int64_t dim = getInteger(c->op, "slice_axis", 0);
  ShardLowerBuilder *b = &c->b;
  MlirContext context = b->lowering->context;
  MlirType type = mlirValueGetType(c->input);
  intptr_t rank = mlirShapedTypeGetRank(type);
  int64_t part = mlirShapedTypeGetDimSize(type, dim) / c->group.size;
  MlirType resultType = withDim(type, dim, part);
  MlirValue offset =
      shardMakeMul(b, buildGroupIndex(b, c->context, &c->group, &c->mesh), shardMakeI64(b, part));
  int64_t offsets[SHARD_LOWER_MAX_RANK] = {0}, sizes[SHARD_LOWER_MAX_RANK],
          strides[SHARD_LOWER_MAX_RANK];
  for (intptr_t i = 0; i < rank; ++i) {
    sizes[i] = mlirShapedTypeGetDimSize(resultType, i);
    strides[i] = 1;
  }
  offsets[dim] = mlirShapedTypeGetDynamicStrideOrOffset();
  ShardNamedAttribute attributes[] = {
      {"static_offsets", mlirDenseI64ArrayGet(context, rank, offsets)},
      {"static_sizes", mlirDenseI64ArrayGet(context, rank, sizes)},
      {"static_strides", mlirDenseI64ArrayGet(context, rank, strides)},
      {"operandSegmentSizes", mlirDenseI32ArrayGet(context, 4, (const int32_t[]){1, 1, 0, 0})}};
  MlirValue operands[] = {c->input, shardMakeIndexCast(b, offset, b->lowering->index)};
  return mlirOperationGetResult(
      shardMakeOp(b, "tensor.extract_slice", 1, &resultType, 2, operands, 4, attributes), 0);
}

//===----------------------------------------------------------------------===//
// Ops of the shard dialect
//===----------------------------------------------------------------------===//

static MlirValue lowerAllReduce(Collective *c) {
  int64_t reduction;
  if (mlirLogicalResultIsFailure(reductionNumber(c->op, &reduction)))
    return (MlirValue){NULL};
  return buildSameShape(c, "shardRtCallAllReduce", c->group.mask, (MlirValue){NULL}, reduction);
}

static MlirValue lowerAllGather(Collective *c) {
  return buildStridedAnyOrder(c, c->input, getInteger(c->op, "gather_axis", 0), 0, true);
}

static MlirValue lowerReduceScatter(Collective *c) {
  int64_t dim = getInteger(c->op, "scatter_dim", getInteger(c->op, "scatter_axis", 0));
  int64_t reduction;
  if (mlirLogicalResultIsFailure(reductionNumber(c->op, &reduction)))
    return (MlirValue){NULL};
  return buildStridedAnyOrder(c, c->input, dim, reduction, false);
}

static MlirValue lowerShift(Collective *c) {
  if (mlirAttributeIsNull(shardOpGetAttribute(c->op, "rotate"))) {
    shardEmitError(c->op, "a shift that is not cyclic has no lowering; expected 'rotate'");
    return (MlirValue){NULL};
  }
  int64_t axis = getInteger(c->op, "shift_axis", 0);
  MlirValue offset = shardMakeI64(&c->b, getInteger(c->op, "offset", 0));
  return buildSameShape(c, "shardRtCallShift", (int64_t)1 << axis, offset, -1);
}

static MlirValue lowerBroadcast(Collective *c) {
  MlirValue root = buildPeer(&c->b, c->op, c->context, &c->group, &c->mesh, "root", true);
  return buildSameShape(c, "shardRtCallBroadcast", c->group.mask, root, -1);
}

/// A send's value is its operand; in an exchange a rank may be its own peer, and a receive then
/// leaves its operand.
static MlirValue buildTransfer(Collective *c, bool send) {
  ShardLowerBuilder *b = &c->b;
  MlirValue peer =
      buildPeer(b, c->op, c->context, &c->group, &c->mesh, send ? "destination" : "source", false);
  int64_t channel = getInteger(c->op, "spmd.channel", c->site < 0 ? 0 : c->site);
  bool exchange = !mlirAttributeIsNull(shardOpGetAttribute(c->op, "spmd.round"));
  MlirValue buffer = {NULL};
  MlirValue operands[9] = {c->context, shardMakeI32(b, c->site), shardMakeI32(b, channel), peer};
  intptr_t n = 4;
  int64_t read = send || exchange ? n : -1;
  if (send || exchange)
    operands[n++] = shardMakePointerToRead(b, c->input);
  int64_t written = send ? -1 : n;
  if (!send)
    operands[n++] = shardMakePointerToWrite(b, c->resultType, &buffer);
  operands[n++] = shardMakeI64(b, shardTypeElementCount(mlirValueGetType(c->input)));
  operands[n++] = shardMakeI32(b, c->element);
  makeCollectiveCall(b,
                     send ? (exchange ? "shardRtCallExchangeSend" : "shardRtCallSend")
                          : (exchange ? "shardRtCallExchangeReceive" : "shardRtCallReceive"),
                     n, operands, read, written);
  return send ? c->input : shardMakeTensorOfBuffer(b, buffer, c->resultType, true);
}

static MlirValue lowerSend(Collective *c) { return buildTransfer(c, true); }
static MlirValue lowerReceive(Collective *c) { return buildTransfer(c, false); }

static const struct {
  const char *name;
  MlirValue (*lower)(Collective *c); // what the op's result becomes; null after a diagnostic
} collectiveTable[] = {
    {"shard.all_gather", lowerAllGather},
    {"shard.all_reduce", lowerAllReduce},
    {"shard.all_slice", buildAllSlice},
    {"shard.all_to_all", buildAllToAll},
    {"shard.broadcast", lowerBroadcast},
    {"shard.recv", lowerReceive},
    {"shard.reduce_scatter", lowerReduceScatter},
    {"shard.send", lowerSend},
    {"shard.shift", lowerShift},
};

/// shard.process_linear_index and shard.process_multi_index.
static MlirLogicalResult lowerProcessIndex(Collective *c) {
  ShardLowerBuilder *b = &c->b;
  MlirType index = b->lowering->index;
  if (shardOpIs(c->op, "shard.process_linear_index")) {
    Group all = {.nAxes = c->mesh.nAxes};
    for (intptr_t i = 0; i < all.nAxes; ++i)
      all.axes[i] = (int32_t)i;
    mlirValueReplaceAllUsesOfWith(
        mlirOperationGetResult(c->op, 0),
        shardMakeIndexCast(b, buildGroupIndex(b, c->context, &all, &c->mesh), index));
  } else {
    MlirAttribute axes = shardOpGetAttribute(c->op, "axes");
    bool every = mlirAttributeIsNull(axes) || mlirDenseArrayGetNumElements(axes) == 0;
    for (intptr_t i = 0; i < mlirOperationGetNumResults(c->op); ++i) {
      int64_t axis = every ? i : mlirDenseI16ArrayGetElement(axes, i);
      mlirValueReplaceAllUsesOfWith(
          mlirOperationGetResult(c->op, i),
          shardMakeIndexCast(b, buildCoordinate(b, c->context, axis), index));
    }
  }
  mlirOperationDestroy(c->op);
  return mlirLogicalResultSuccess();
}

MlirLogicalResult shardLowerCollective(ShardLowering *lowering, MlirOperation op) {
  Collective c = {.b = shardLowerBuilderBefore(lowering, op), .op = op};
  if (mlirLogicalResultIsFailure(getMesh(lowering, op, &c.mesh)))
    return mlirLogicalResultFailure();
  c.context = mlirBlockGetArgument(shardEnclosingBody(op), 0);
  if (shardOpIs(op, "shard.process_linear_index") || shardOpIs(op, "shard.process_multi_index"))
    return lowerProcessIndex(&c);
  c.group = getGroup(op, &c.mesh);
  c.site = getInteger(op, "spmd.site", -1);
  if (mlirOperationGetNumOperands(op))
    c.input = mlirOperationGetOperand(op, 0);
  if (mlirValueIsNull(c.input) || !mlirTypeIsARankedTensor(mlirValueGetType(c.input)))
    return shardEmitError(op, "op has no lowering here");
  MlirType type = mlirValueGetType(c.input);
  if (mlirShapedTypeGetRank(type) >= SHARD_LOWER_MAX_RANK || shardTypeElementCount(type) < 0)
    return shardEmitError(op, "the operand of a collective must have a static shape");
  c.element = shardElementNumber(mlirShapedTypeGetElementType(type));
  if (c.element < 0)
    return shardEmitError(op, "the runtime cannot move this element type");
  c.resultType = mlirValueGetType(mlirOperationGetResult(op, 0));

  size_t i = 0, n = sizeof(collectiveTable) / sizeof(collectiveTable[0]);
  while (i < n && !shardOpIs(op, collectiveTable[i].name))
    ++i;
  if (i == n)
    return shardEmitError(op, "op has no lowering here");
  MlirValue result = collectiveTable[i].lower(&c);
  if (mlirValueIsNull(result))
    return mlirLogicalResultFailure();
  if (!mlirTypeEqual(mlirValueGetType(result), c.resultType))
    return shardEmitError(op, "the result's type does not follow from the operand and the mesh");
  mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, 0), result);
  mlirOperationDestroy(op);
  return mlirLogicalResultSuccess();
}
