//===- Destinations.c - Functions, calls, collectives on pointers -*- C -*-===//
// Every function becomes f(context, workspace, arguments..., results...) on pointers, so that its
// memory is the caller's. Bodies stay on tensors: an argument enters by bufferization.to_tensor, a
// result leaves by bufferization.materialize_in_destination, and what a call or a collective writes
// is a fresh memref.alloc, read afterwards as a tensor (facts/lowering.md, 4.2: out of place, so
// that nothing aliases).
//===----------------------------------------------------------------------===//

#include "Lower.h"

#include "shard/Runtime.h"

#include "mlir-c/Dialect/Linalg.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_RANK = 16 };

static bool isTensor(MlirType type) { return mlirTypeIsARankedTensor(type); }

static MlirType memrefOf(MlirType tensor) {
  int64_t shape[MAX_RANK];
  intptr_t rank = mlirShapedTypeGetRank(tensor);
  for (intptr_t i = 0; i < rank; ++i)
    shape[i] = mlirShapedTypeGetDimSize(tensor, i);
  return mlirMemRefTypeContiguousGet(mlirShapedTypeGetElementType(tensor), rank, shape,
                                     mlirAttributeGetNull());
}

//===----------------------------------------------------------------------===//
// Between tensors and pointers
//===----------------------------------------------------------------------===//

/// A pointer to the dense elements of a tensor that is only read.
static MlirValue pointerToRead(ShardLowerBuilder *b, MlirValue tensor) {
  MlirType type = memrefOf(mlirValueGetType(tensor));
  ShardNamedAttribute attribute = {"read_only", shardAttrUnit(b->lowering->context)};
  MlirValue buffer = mlirOperationGetResult(
      shardMakeOp(b, "bufferization.to_buffer", 1, &type, 1, &tensor, 1, &attribute), 0);
  return shardMakeCast(b, buffer, b->lowering->pointer);
}

/// A fresh buffer for a value of `type`, and the pointer to it.
static MlirValue pointerToWrite(ShardLowerBuilder *b, MlirType type, MlirValue *outBuffer) {
  MlirType memref = memrefOf(type);
  ShardNamedAttribute attributes[] = {
      {"alignment", shardAttrI64(b->lowering->context, 64)},
      {"operandSegmentSizes",
       mlirDenseI32ArrayGet(b->lowering->context, 2, (const int32_t[]){0, 0})}};
  *outBuffer =
      mlirOperationGetResult(shardMakeOp(b, "memref.alloc", 1, &memref, 0, NULL, 2, attributes), 0);
  return shardMakeCast(b, *outBuffer, b->lowering->pointer);
}

static MlirValue tensorOf(ShardLowerBuilder *b, MlirValue buffer, MlirType tensor, bool writable) {
  ShardNamedAttribute attributes[] = {{"restrict", shardAttrUnit(b->lowering->context)},
                                      {"writable", shardAttrUnit(b->lowering->context)}};
  return mlirOperationGetResult(shardMakeOp(b, "bufferization.to_tensor", 1, &tensor, 1, &buffer,
                                            writable ? 2 : 1, attributes),
                                0);
}

static void replaceWith(MlirOperation op, intptr_t result, MlirValue value) {
  mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, result), value);
}

static MlirOperation enclosingFunc(MlirOperation op) {
  while (!shardOpIs(op, "func.func"))
    op = mlirOperationGetParentOperation(op);
  return op;
}

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

/// What every call of one collective shares.
typedef struct Collective {
  ShardLowerBuilder b;
  MlirOperation op;
  MlirValue context;
  Mesh mesh;
  Group group;
  int64_t site;
  int32_t element;
} Collective;

static MlirType withDim(MlirType type, int64_t dim, int64_t size) {
  int64_t shape[MAX_RANK];
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
  MlirValue send = pointerToRead(b, input), buffer;
  MlirValue recv = pointerToWrite(b, resultType, &buffer);
  MlirValue operands[] = {c->context,
                          shardMakeI32(b, c->site),
                          shardMakeI32(b, group->mask),
                          send,
                          recv,
                          shardMakeI64(b, dimProduct(small, 0, dim)),
                          shardMakeI64(b, dimProduct(small, dim, mlirShapedTypeGetRank(small))),
                          shardMakeI32(b, c->element),
                          gather ? (MlirValue){NULL} : shardMakeI32(b, reduction)};
  shardMakeRuntimeCall(b, gather ? "shardRtCallAllGather" : "shardRtCallReduceScatter", 0, NULL,
                       gather ? 8 : 9, operands);
  return tensorOf(b, buffer, resultType, true);
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

/// A call that leaves `count` elements of the operand's shape.
static MlirValue buildSameShape(Collective *c, const char *callee, MlirValue input,
                                MlirType resultType, bool hasExtra, MlirValue extra, int64_t mask,
                                int64_t reduction) {
  ShardLowerBuilder *b = &c->b;
  MlirValue send = pointerToRead(b, input), buffer;
  MlirValue recv = pointerToWrite(b, resultType, &buffer);
  MlirValue operands[10] = {c->context, shardMakeI32(b, c->site), shardMakeI32(b, mask)};
  intptr_t n = 3;
  if (hasExtra)
    operands[n++] = extra;
  operands[n++] = send;
  operands[n++] = recv;
  operands[n++] = shardMakeI64(b, shardTypeElementCount(resultType));
  operands[n++] = shardMakeI32(b, c->element);
  if (reduction >= 0)
    operands[n++] = shardMakeI32(b, reduction);
  shardMakeRuntimeCall(b, callee, 0, NULL, n, operands);
  return tensorOf(b, buffer, resultType, true);
}

static MlirAttribute reassociation(MlirContext context, intptr_t rank, intptr_t splitDim) {
  // [[0], ..., [splitDim, splitDim + 1], ...] of `rank` groups
  MlirAttribute groups[MAX_RANK];
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
  int64_t shape[MAX_RANK];
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
  int64_t shape[MAX_RANK];
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
  int64_t permutation[MAX_RANK], shape[MAX_RANK];
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
  MlirAffineExpr inputExprs[MAX_RANK];
  MlirAttribute iterators[MAX_RANK];
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
static MlirValue buildAllToAll(Collective *c, MlirValue input, int64_t splitDim,
                               int64_t concatDim) {
  ShardLowerBuilder *b = &c->b;
  int64_t n = c->group.size;
  MlirType type = mlirValueGetType(input);
  int64_t size = mlirShapedTypeGetDimSize(type, splitDim);
  MlirValue blocks = buildExpand(b, input, splitDim, n, size / n);
  if (splitDim)
    blocks = buildMoveDim(b, blocks, splitDim, 0);
  MlirType blocksType = mlirValueGetType(blocks);
  MlirValue send = pointerToRead(b, blocks), buffer;
  MlirValue recv = pointerToWrite(b, blocksType, &buffer);
  MlirValue operands[] = {c->context,
                          shardMakeI32(b, c->site),
                          shardMakeI32(b, c->group.mask),
                          send,
                          recv,
                          shardMakeI64(b, shardTypeElementCount(blocksType) / n),
                          shardMakeI32(b, c->element)};
  shardMakeRuntimeCall(b, "shardRtCallAllToAll", 0, NULL, 7, operands);
  MlirValue result = tensorOf(b, buffer, blocksType, true);
  if (concatDim)
    result = buildMoveDim(b, result, 0, concatDim);
  return buildCollapse(b, result, concatDim);
}

/// This rank's part of a whole value.
static MlirValue buildAllSlice(Collective *c, MlirValue input, int64_t dim) {
  ShardLowerBuilder *b = &c->b;
  MlirContext context = b->lowering->context;
  MlirType type = mlirValueGetType(input);
  intptr_t rank = mlirShapedTypeGetRank(type);
  int64_t part = mlirShapedTypeGetDimSize(type, dim) / c->group.size;
  MlirType resultType = withDim(type, dim, part);
  MlirValue offset =
      shardMakeMul(b, buildGroupIndex(b, c->context, &c->group, &c->mesh), shardMakeI64(b, part));
  int64_t offsets[MAX_RANK] = {0}, sizes[MAX_RANK], strides[MAX_RANK];
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
  MlirValue operands[] = {input, shardMakeIndexCast(b, offset, b->lowering->index)};
  return mlirOperationGetResult(
      shardMakeOp(b, "tensor.extract_slice", 1, &resultType, 2, operands, 4, attributes), 0);
}

static MlirLogicalResult lowerCollective(ShardLowering *lowering, MlirOperation op) {
  MlirStringRef fullName = shardOpGetName(op);
  char name[64];
  snprintf(name, sizeof(name), "%.*s", (int)(fullName.length - strlen("shard.")),
           fullName.data + strlen("shard."));
  Collective c = {.b = shardLowerBuilderBefore(lowering, op), .op = op};
  if (mlirLogicalResultIsFailure(getMesh(lowering, op, &c.mesh)))
    return mlirLogicalResultFailure();
  c.context = mlirBlockGetArgument(shardFuncGetBody(enclosingFunc(op)), 0);
  ShardLowerBuilder *b = &c.b;

  if (!strcmp(name, "process_multi_index") || !strcmp(name, "process_linear_index")) {
    if (!strcmp(name, "process_linear_index")) {
      Group all = {.nAxes = c.mesh.nAxes};
      for (intptr_t i = 0; i < all.nAxes; ++i)
        all.axes[i] = (int32_t)i;
      replaceWith(
          op, 0,
          shardMakeIndexCast(b, buildGroupIndex(b, c.context, &all, &c.mesh), lowering->index));
    } else {
      MlirAttribute axes = shardOpGetAttribute(op, "axes");
      bool every = mlirAttributeIsNull(axes) || mlirDenseArrayGetNumElements(axes) == 0;
      for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i)
        replaceWith(
            op, i,
            shardMakeIndexCast(
                b, buildCoordinate(b, c.context, every ? i : mlirDenseI16ArrayGetElement(axes, i)),
                lowering->index));
    }
    mlirOperationDestroy(op);
    return mlirLogicalResultSuccess();
  }

  c.group = getGroup(op, &c.mesh);
  c.site = getInteger(op, "spmd.site", -1);
  MlirValue input =
      mlirOperationGetNumOperands(op) ? mlirOperationGetOperand(op, 0) : (MlirValue){NULL};
  if (mlirValueIsNull(input) || !isTensor(mlirValueGetType(input)))
    return shardEmitError(op, "op has no lowering here");
  MlirType type = mlirValueGetType(input);
  if (mlirShapedTypeGetRank(type) >= MAX_RANK || shardTypeElementCount(type) < 0)
    return shardEmitError(op, "the operand of a collective must have a static shape");
  c.element = shardElementNumber(mlirShapedTypeGetElementType(type));
  if (c.element < 0)
    return shardEmitError(op, "the runtime cannot move this element type");
  MlirType resultType = mlirValueGetType(mlirOperationGetResult(op, 0));
  MlirValue result = input;
  MlirValue none = {NULL};
  int64_t reduction;

  if (!strcmp(name, "all_reduce")) {
    if (mlirLogicalResultIsFailure(reductionNumber(op, &reduction)))
      return mlirLogicalResultFailure();
    result = buildSameShape(&c, "shardRtCallAllReduce", input, resultType, false, none,
                            c.group.mask, reduction);
  } else if (!strcmp(name, "all_gather")) {
    result = buildStridedAnyOrder(&c, input, getInteger(op, "gather_axis", 0), 0, true);
  } else if (!strcmp(name, "reduce_scatter")) {
    int64_t dim = getInteger(op, "scatter_dim", getInteger(op, "scatter_axis", 0));
    if (mlirLogicalResultIsFailure(reductionNumber(op, &reduction)))
      return mlirLogicalResultFailure();
    result = buildStridedAnyOrder(&c, input, dim, reduction, false);
  } else if (!strcmp(name, "all_slice")) {
    result = buildAllSlice(&c, input, getInteger(op, "slice_axis", 0));
  } else if (!strcmp(name, "all_to_all")) {
    int64_t splitDim = getInteger(op, "split_axis", 0),
            concatDim = getInteger(op, "concat_axis", 0);
    if (!c.group.ascending)
      return shardEmitError(op, "all-to-all over mesh axes that are not in the mesh's order");
    if (mlirShapedTypeGetDimSize(type, splitDim) % c.group.size)
      return shardEmitError(op,
                            "dimension %" PRId64 " is %" PRId64 ", not a multiple of the group's "
                            "%" PRId64,
                            splitDim, mlirShapedTypeGetDimSize(type, splitDim), c.group.size);
    result = buildAllToAll(&c, input, splitDim, concatDim);
  } else if (!strcmp(name, "shift")) {
    int64_t axis = getInteger(op, "shift_axis", 0);
    if (mlirAttributeIsNull(shardOpGetAttribute(op, "rotate")))
      return shardEmitError(op, "a shift that is not cyclic has no lowering; expected 'rotate'");
    result = buildSameShape(&c, "shardRtCallShift", input, resultType, true,
                            shardMakeI64(b, getInteger(op, "offset", 0)), (int64_t)1 << axis, -1);
  } else if (!strcmp(name, "broadcast")) {
    MlirValue root = buildPeer(b, op, c.context, &c.group, &c.mesh, "root", true);
    result =
        buildSameShape(&c, "shardRtCallBroadcast", input, resultType, true, root, c.group.mask, -1);
  } else if (!strcmp(name, "send") || !strcmp(name, "recv")) {
    bool send = !strcmp(name, "send");
    MlirValue peer =
        buildPeer(b, op, c.context, &c.group, &c.mesh, send ? "destination" : "source", false);
    int64_t channel = getInteger(op, "spmd.channel", c.site < 0 ? 0 : c.site);
    // In an exchange a rank may be its own peer; it then keeps the receive's operand.
    bool exchange = !mlirAttributeIsNull(shardOpGetAttribute(op, "spmd.round"));
    MlirValue buffer = {NULL};
    MlirValue operands[9] = {c.context, shardMakeI32(b, c.site), shardMakeI32(b, channel), peer};
    intptr_t n = 4;
    if (send || exchange)
      operands[n++] = pointerToRead(b, input);
    if (!send)
      operands[n++] = pointerToWrite(b, resultType, &buffer);
    operands[n++] = shardMakeI64(b, shardTypeElementCount(type));
    operands[n++] = shardMakeI32(b, c.element);
    shardMakeRuntimeCall(b,
                         send ? (exchange ? "shardRtCallExchangeSend" : "shardRtCallSend")
                              : (exchange ? "shardRtCallExchangeReceive" : "shardRtCallReceive"),
                         0, NULL, n, operands);
    if (!send)
      result = tensorOf(b, buffer, resultType, true);
  } else {
    return shardEmitError(op, "op has no lowering here");
  }
  if (!mlirTypeEqual(mlirValueGetType(result), resultType))
    return shardEmitError(op, "the result's type does not follow from the operand and the mesh");
  replaceWith(op, 0, result);
  mlirOperationDestroy(op);
  return mlirLogicalResultSuccess();
}

//===----------------------------------------------------------------------===//
// Functions and calls
//===----------------------------------------------------------------------===//

static MlirLogicalResult lowerFunction(ShardLowering *lowering, MlirOperation func) {
  MlirBlock body = shardFuncGetBody(func);
  bool isPublic = shardFuncIsPublic(func);
  MlirLocation location = mlirOperationGetLocation(func);
  intptr_t nArguments = mlirBlockGetNumArguments(body);
  ShardLowerBuilder b = shardLowerBuilderAtStart(lowering, body, location);
  mlirBlockInsertArgument(body, 0, lowering->pointer, location); // context
  mlirBlockInsertArgument(body, 1, lowering->pointer, location); // workspace
  for (intptr_t i = 0; i < nArguments; ++i) {
    MlirValue argument = mlirBlockGetArgument(body, i + 2);
    MlirType type = mlirValueGetType(argument);
    if (!isTensor(type)) {
      if (!isPublic)
        continue;
      if (shardElementNumber(type) < 0)
        return shardEmitError(func, "argument %" PRIdPTR " has a type without a lowering", i);
      MlirValue pointer = mlirBlockInsertArgument(body, i + 2, lowering->pointer, location);
      MlirValue value = shardMakeLoad(&b, pointer, type);
      mlirValueReplaceAllUsesOfWith(argument, value);
      mlirBlockEraseArgument(body, (unsigned)(i + 3));
      continue;
    }
    if (mlirShapedTypeGetRank(type) >= MAX_RANK || shardTypeElementCount(type) < 0)
      return shardEmitError(func, "argument %" PRIdPTR " has no static shape", i);
    MlirValue pointer = mlirBlockInsertArgument(body, i + 2, lowering->pointer, location);
    MlirValue tensor = tensorOf(&b, shardMakeCast(&b, pointer, memrefOf(type)), type, false);
    mlirValueReplaceAllUsesOfWith(argument, tensor);
    mlirBlockEraseArgument(body, (unsigned)(i + 3));
  }

  MlirOperation terminator = mlirBlockGetTerminator(body);
  intptr_t nResults = mlirOperationGetNumOperands(terminator);
  ShardLowerBuilder end = shardLowerBuilderBefore(lowering, terminator);
  MlirValue *kept = SHARD_ARENA_ARRAY(lowering->arena, MlirValue, nResults);
  intptr_t nKept = 0;
  for (intptr_t i = 0; i < nResults; ++i) {
    MlirValue value = mlirOperationGetOperand(terminator, i);
    MlirType type = mlirValueGetType(value);
    if (!isTensor(type) && !isPublic) {
      kept[nKept++] = value;
      continue;
    }
    MlirValue pointer = mlirBlockAddArgument(body, lowering->pointer, location);
    if (!isTensor(type)) {
      shardMakeStore(&end, value, pointer);
      continue;
    }
    if (mlirShapedTypeGetRank(type) >= MAX_RANK || shardTypeElementCount(type) < 0)
      return shardEmitError(func, "result %" PRIdPTR " has no static shape", i);
    MlirValue operands[] = {value, shardMakeCast(&b, pointer, memrefOf(type))};
    ShardNamedAttribute attributes[] = {{"restrict", shardAttrUnit(lowering->context)},
                                        {"writable", shardAttrUnit(lowering->context)}};
    shardMakeOp(&end, "bufferization.materialize_in_destination", 0, NULL, 2, operands, 2,
                attributes);
  }
  shardMakeOp(&end, "func.return", 0, NULL, nKept, kept, 0, NULL);
  mlirOperationDestroy(terminator);
  shardOpRemoveAttribute(func, "arg_attrs");
  shardOpRemoveAttribute(func, "res_attrs");
  shardFuncUpdateType(func);
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult lowerCall(ShardLowering *lowering, MlirOperation op) {
  MlirBlock body = shardFuncGetBody(enclosingFunc(op));
  ShardLowerBuilder b = shardLowerBuilderBefore(lowering, op);
  intptr_t nOperands = mlirOperationGetNumOperands(op);
  intptr_t nResults = mlirOperationGetNumResults(op);
  MlirValue *operands = SHARD_ARENA_ARRAY(lowering->arena, MlirValue, 2 + nOperands + nResults);
  MlirValue *buffers = SHARD_ARENA_ARRAY(lowering->arena, MlirValue, nResults);
  MlirType *types = SHARD_ARENA_ARRAY(lowering->arena, MlirType, nResults);
  intptr_t n = 0, nKept = 0;
  operands[n++] = mlirBlockGetArgument(body, 0);
  operands[n++] = mlirBlockGetArgument(body, 1); // shardPlanWorkspace moves it
  for (intptr_t i = 0; i < nOperands; ++i) {
    MlirValue operand = mlirOperationGetOperand(op, i);
    operands[n++] = isTensor(mlirValueGetType(operand)) ? pointerToRead(&b, operand) : operand;
  }
  for (intptr_t i = 0; i < nResults; ++i) {
    MlirType type = mlirValueGetType(mlirOperationGetResult(op, i));
    if (isTensor(type))
      operands[n++] = pointerToWrite(&b, type, &buffers[i]);
    else
      types[nKept++] = type;
  }
  ShardNamedAttribute attribute = {"callee", shardOpGetAttribute(op, "callee")};
  MlirOperation call = shardMakeOp(&b, "func.call", nKept, types, n, operands, 1, &attribute);
  shardOpSetAttribute(call, "spmd.workspace", shardAttrUnit(lowering->context));
  nKept = 0;
  for (intptr_t i = 0; i < nResults; ++i) {
    MlirType type = mlirValueGetType(mlirOperationGetResult(op, i));
    replaceWith(op, i,
                isTensor(type) ? tensorOf(&b, buffers[i], type, true)
                               : mlirOperationGetResult(call, nKept++));
  }
  mlirOperationDestroy(op);
  return mlirLogicalResultSuccess();
}

/// Whether `user` may run after `loop` has begun: it lies in the loop, or behind it.
static bool readsLater(MlirOperation user, MlirOperation loop) {
  MlirBlock block = mlirOperationGetBlock(loop);
  while (!mlirOperationIsNull(user) && !mlirBlockEqual(mlirOperationGetBlock(user), block))
    user = mlirOperationGetParentOperation(user);
  for (; !mlirOperationIsNull(user); user = mlirOperationGetNextInBlock(user))
    if (mlirOperationEqual(user, loop))
      return false;
  return true;
}

static MlirBlock blockOf(MlirValue value) {
  return mlirValueIsABlockArgument(value) ? mlirBlockArgumentGetOwner(value)
                                          : mlirOperationGetBlock(mlirOpResultGetOwner(value));
}

static bool isInside(MlirOperation op, MlirOperation loop) {
  for (; !mlirOperationIsNull(op); op = mlirOperationGetParentOperation(op))
    if (mlirOperationEqual(op, loop))
      return true;
  return false;
}

/// Whether somebody else may read what the loop starts from once the loop has begun: in the loop or
/// behind it, by another name (a reshape's source), at the next step of a loop around it, or
/// because two values that the loop carries start from it.
static bool isReadLater(MlirValue init, MlirOperation loop) {
  MlirOperation link = loop;
  for (MlirValue value = init;;) {
    if (!mlirBlockEqual(blockOf(value), mlirOperationGetBlock(loop)))
      return true;
    int nLinks = 0;
    for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
         use = mlirOpOperandGetNextUse(use)) {
      MlirOperation user = mlirOpOperandGetOwner(use);
      if (mlirOperationEqual(user, link) ? ++nLinks > 1
                                         : isInside(user, loop) || readsLater(user, loop))
        return true;
    }
    link = mlirValueIsAOpResult(value) ? mlirOpResultGetOwner(value) : (MlirOperation){NULL};
    if (mlirOperationIsNull(link) ||
        !(shardOpIs(link, "tensor.collapse_shape") || shardOpIs(link, "tensor.expand_shape") ||
          shardOpIs(link, "tensor.cast") || shardOpIs(link, "tensor.extract_slice")))
      return false;
    value = mlirOperationGetOperand(link, 0);
  }
}

/// What a loop starts from and others read later is copied for the loop: steps write over what they
/// carry, and bufferization does not see through the pointers of calls who reads it still.
static void copyReadInits(ShardLowering *lowering, MlirOperation loop, intptr_t first) {
  for (intptr_t i = first; i < mlirOperationGetNumOperands(loop); ++i) {
    MlirValue init = mlirOperationGetOperand(loop, i);
    MlirType type = mlirValueGetType(init);
    if (!isTensor(type) || !isReadLater(init, loop))
      continue;
    ShardLowerBuilder b = shardLowerBuilderBefore(lowering, loop);
    int32_t segments[3] = {0, 0, 0};
    ShardNamedAttribute none = {"operandSegmentSizes",
                                mlirDenseI32ArrayGet(lowering->context, 3, segments)};
    MlirValue dense = mlirOperationGetResult(
        shardMakeOp(&b, "bufferization.alloc_tensor", 1, &type, 0, NULL, 1, &none), 0);
    MlirValue operands[] = {init, dense};
    mlirOperationSetOperand(
        loop, i, shardMakeValue(&b, "bufferization.materialize_in_destination", type, 2, operands));
  }
}

/// Makes what a loop yields the buffer that it came in: a buffer made in the body would be the same
/// one at each step, and the step reads the last one's. Bufferization finds out what is in place.
static MlirLogicalResult keepLoopBuffers(void *user, MlirOperation op) {
  ShardLowering *lowering = user;
  copyReadInits(lowering, op, 3);
  MlirBlock body = shardOpBody(op);
  MlirOperation yield = mlirBlockGetTerminator(body);
  ShardLowerBuilder b = shardLowerBuilderBefore(lowering, yield);
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(yield); ++i) {
    MlirValue operands[] = {mlirOperationGetOperand(yield, i), mlirBlockGetArgument(body, i + 1)};
    MlirType type = mlirValueGetType(operands[0]);
    if (isTensor(type) && !mlirValueEqual(operands[0], operands[1]))
      mlirOperationSetOperand(
          yield, i,
          shardMakeValue(&b, "bufferization.materialize_in_destination", type, 2, operands));
  }
  return mlirLogicalResultSuccess();
}

/// Whether a value is a block argument, or lies in its buffer.
static bool keepsBuffer(MlirValue value, MlirValue argument) {
  if (mlirValueEqual(value, argument))
    return true;
  MlirOperation op =
      mlirValueIsAOpResult(value) ? mlirOpResultGetOwner(value) : (MlirOperation){NULL};
  return !mlirOperationIsNull(op) && shardOpIs(op, "bufferization.materialize_in_destination") &&
         mlirValueEqual(mlirOperationGetOperand(op, 1), argument);
}

/// The same for scf.while: what the second region yields goes back to the buffer of the argument
/// that the first region passes on.
static MlirLogicalResult keepWhileBuffers(void *user, MlirOperation op) {
  ShardLowering *lowering = user;
  copyReadInits(lowering, op, 0);
  MlirBlock before = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0));
  MlirBlock after = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 1));
  MlirOperation condition = mlirBlockGetTerminator(before), yield = mlirBlockGetTerminator(after);
  // What the first region makes goes to the buffer of its argument: only then is it in place.
  ShardLowerBuilder a = shardLowerBuilderBefore(lowering, condition);
  for (intptr_t k = 1;
       k < mlirOperationGetNumOperands(condition) && k <= mlirBlockGetNumArguments(before); ++k) {
    MlirValue operands[] = {mlirOperationGetOperand(condition, k),
                            mlirBlockGetArgument(before, k - 1)};
    MlirType type = mlirValueGetType(operands[0]);
    bool made = !mlirValueIsABlockArgument(operands[0]) ||
                !mlirBlockEqual(mlirBlockArgumentGetOwner(operands[0]), before);
    if (isTensor(type) && made && !keepsBuffer(operands[0], operands[1]) &&
        mlirTypeEqual(type, mlirValueGetType(operands[1])))
      mlirOperationSetOperand(
          condition, k,
          shardMakeValue(&a, "bufferization.materialize_in_destination", type, 2, operands));
  }
  ShardLowerBuilder b = shardLowerBuilderBefore(lowering, yield);
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(yield); ++i) {
    MlirValue value = mlirOperationGetOperand(yield, i);
    if (!isTensor(mlirValueGetType(value)))
      continue;
    for (intptr_t k = 1; k < mlirOperationGetNumOperands(condition); ++k) {
      MlirValue operands[] = {value, mlirBlockGetArgument(after, k - 1)};
      if (!keepsBuffer(mlirOperationGetOperand(condition, k), mlirBlockGetArgument(before, i)) ||
          mlirValueEqual(operands[0], operands[1]))
        continue;
      mlirOperationSetOperand(yield, i,
                              shardMakeValue(&b, "bufferization.materialize_in_destination",
                                             mlirValueGetType(value), 2, operands));
      break;
    }
  }
  return mlirLogicalResultSuccess();
}

/// Both branches of scf.if leave dense copies of their results: views of different layout do not
/// merge.
static MlirLogicalResult copyBranchResults(void *user, MlirOperation op) {
  ShardLowering *lowering = user;
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i) {
    MlirType type = mlirValueGetType(mlirOperationGetResult(op, i));
    if (!isTensor(type) || shardTypeElementCount(type) < 0)
      continue;
    for (intptr_t r = 0; r < 2; ++r) {
      MlirOperation yield =
          mlirBlockGetTerminator(mlirRegionGetFirstBlock(mlirOperationGetRegion(op, r)));
      ShardLowerBuilder b = shardLowerBuilderBefore(lowering, yield);
      // An alloc_tensor has a dense buffer whatever bufferization knows of the rest.
      int32_t segments[3] = {0, 0, 0};
      ShardNamedAttribute none = {"operandSegmentSizes",
                                  mlirDenseI32ArrayGet(lowering->context, 3, segments)};
      MlirValue dense = mlirOperationGetResult(
          shardMakeOp(&b, "bufferization.alloc_tensor", 1, &type, 0, NULL, 1, &none), 0);
      MlirValue operands[] = {mlirOperationGetOperand(yield, i), dense};
      mlirOperationSetOperand(
          yield, i,
          shardMakeValue(&b, "bufferization.materialize_in_destination", type, 2, operands));
    }
  }
  return mlirLogicalResultSuccess();
}

/// Ops that bufferization knows nothing of.
static MlirLogicalResult checkLowering(void *user, MlirOperation op) {
  (void)user;
  static const char *const refused[] = {"linalg.pack",    "linalg.softmax", "linalg.unpack",
                                        "tensor.bitcast", "tensor.gather",  "tensor.pack",
                                        "tensor.reshape", "tensor.scatter", "tensor.unpack"};
  MlirStringRef name = shardOpGetName(op);
  for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); ++i)
    if (shardStringIs(name, refused[i]))
      return shardEmitError(op, "'%s' has no lowering", refused[i]);
  return mlirLogicalResultSuccess();
}

/// What becomes a call on pointers: a call, or a collective.
static bool becomesCall(MlirOperation op) {
  MlirStringRef name = shardOpGetName(op);
  return shardStringIs(name, "func.call") || (name.length > 6 && !strncmp(name.data, "shard.", 6) &&
                                              !shardStringIs(name, "shard.grid"));
}

MlirLogicalResult shardLowerToDestinations(ShardLowering *lowering) {
  if (mlirLogicalResultIsFailure(shardWalk(lowering->module, NULL, checkLowering, NULL)))
    return mlirLogicalResultFailure();
  ShardOpList list = {.arena = lowering->arena};
  shardOpListCollect(&list, lowering->module, NULL, becomesCall);
  MlirBlock top = shardOpBody(lowering->module);
  for (MlirOperation op = mlirBlockGetFirstOperation(top); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op)) {
    if (!shardOpIs(op, "func.func"))
      continue;
    if (mlirBlockIsNull(shardFuncGetBody(op)))
      return shardEmitError(op, "function has no body");
    if (mlirLogicalResultIsFailure(lowerFunction(lowering, op)))
      return mlirLogicalResultFailure();
  }
  for (size_t i = 0; i < list.nOps; ++i)
    if (mlirLogicalResultIsFailure(shardOpIs(list.ops[i], "func.call")
                                       ? lowerCall(lowering, list.ops[i])
                                       : lowerCollective(lowering, list.ops[i])))
      return mlirLogicalResultFailure();
  shardWalk(lowering->module, "scf.for", keepLoopBuffers, lowering);
  shardAlignWhiles(lowering);
  shardWalk(lowering->module, "scf.while", keepWhileBuffers, lowering);
  shardWalk(lowering->module, "scf.if", copyBranchResults, lowering);
  // The mesh has done its work.
  for (MlirOperation op = mlirBlockGetFirstOperation(top), next; !mlirOperationIsNull(op);
       op = next) {
    next = mlirOperationGetNextInBlock(op);
    if (shardOpIs(op, "shard.grid"))
      mlirOperationDestroy(op);
  }
  return mlirLogicalResultSuccess();
}
