//===- LocaliseInsert.c - Local form of tensor.insert_slice -------*- C -*-===//
// Where the window is cut out of a split dimension (a row of a cache at a run-time position), the
// source is whole along it, and each rank writes what lies in its own part: it reads the window's
// place in its shard, takes over the elements of the source that belong there, and writes it back.
// Nothing is sent, and only as much is touched as the window is large.
//===----------------------------------------------------------------------===//

#include "Localiser.h"
#include "Radix.h"

#include "../Core/Insert.h"

#include "mlir-c/AffineMap.h"
#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <inttypes.h>

enum { PREDICATE_SLT = 2, PREDICATE_SGT = 4 };

/// How a dimension is cut. Where the window is one of equal tiles, the source has the minor atoms,
/// cut as the destination's are, and not the major ones, which number the tiles. Where it is none,
/// the source has no atom of the dimension.
typedef enum TileCut { TILE_NONE, TILE_MINOR, TILE_MAJOR, TILE_OTHERWISE } TileCut;

/// One dimension of the window in the local destination.
typedef struct InsertDim {
  int64_t window;  // local elements that may be touched
  MlirValue place; // where they begin; null: `offset`
  int64_t offset;
  int32_t source; // dimension of the source, -1: dropped
  TileCut cut;
  bool searched;    // each element finds its own in the source, by its global position
  MlirValue begin;  // then: the window's global offset,
  int64_t size;     // its whole size
  ShardRadix radix; // and the destination's dimension
} InsertDim;

typedef struct Insertion {
  ShardLocaliser *l;
  ShardPlace place;
  intptr_t rank;
  InsertDim *dims;
  MlirValue inRange; // what holds of all elements; null: everything is written
  MlirValue source;
} Insertion;

static ShardInsert insertAt(const Insertion *in, const ShardPlace *place) {
  return (ShardInsert){in->l->build->spmd->context, place->location, place->block, place->before};
}

static MlirValue clampIndex(const Insertion *in, MlirValue value, int64_t most) {
  ShardInsert at = insertAt(in, &in->place);
  MlirValue zero = shardInsertIndexConstant(&at, 0), high = shardInsertIndexConstant(&at, most);
  value = shardInsertSelect(&at, shardInsertCompare(&at, PREDICATE_SLT, value, zero), zero, value);
  return shardInsertSelect(&at, shardInsertCompare(&at, PREDICATE_SGT, value, high), high, value);
}

static MlirValue offsetValue(const Insertion *in, intptr_t d) {
  MlirOperation copy = in->l->copy;
  MlirAttribute offsets = shardOpGetAttribute(copy, "static_offsets");
  int64_t dynamic = mlirShapedTypeGetDynamicStrideOrOffset();
  intptr_t operand = 2;
  for (intptr_t k = 0; k < d; ++k)
    operand += mlirDenseI64ArrayGetElement(offsets, k) == dynamic;
  int64_t offset = mlirDenseI64ArrayGetElement(offsets, d);
  return offset == dynamic ? mlirOperationGetOperand(copy, operand)
                           : shardBuildIndex(in->l->build, in->place, offset);
}

static bool sharesFactor(const ShardPort *port, int32_t nAtoms, int32_t factor) {
  for (int32_t i = 0; i < nAtoms; ++i)
    if (factor >= 0 && port->factors[i] == factor)
      return true;
  return false;
}

static bool hasSharedAtom(const Insertion *in, const ShardPort *port, intptr_t d) {
  const ShardRules *rules = in->l->build->spmd->rules;
  const ShardValueInfo *info = &rules->values[port->value];
  const ShardPort *source = &in->l->plan->rule->operands[0];
  for (int32_t i = 0; i < info->nAtoms; ++i)
    if (info->atoms[i].dim == d &&
        sharesFactor(source, rules->values[source->value].nAtoms, port->factors[i]))
      return true;
  return false;
}

/// Whether a block of atoms lies in the tile, cut as the source is, or another atom is in one.
static bool isInTile(const Insertion *in, const ShardPort *port, int32_t head, int span) {
  const ShardRules *rules = in->l->build->spmd->rules;
  const ShardPort *source = &in->l->plan->rule->operands[0];
  bool inTile = true;
  for (int32_t i = head; i <= head + (span == SHARD_SPAN_INSIDE ? 0 : span); ++i)
    inTile &= sharesFactor(source, rules->values[source->value].nAtoms, port->factors[i]);
  return inTile;
}

static TileCut findTileCut(const Insertion *in, const ShardPort *port,
                           const ShardSharding *sharding, intptr_t d, int64_t size) {
  const ShardSpmd *spmd = in->l->build->spmd;
  const ShardValueInfo *info = &spmd->rules->values[port->value];
  const ShardPort *source = &in->l->plan->rule->operands[0];
  TileCut cut = TILE_NONE;
  int64_t inner = 1;
  for (int32_t i = 0; i < info->nAtoms; ++i) {
    if (info->atoms[i].dim != d)
      continue;
    if (sharding->atoms[i].span && hasSharedAtom(in, port, d) &&
        !isInTile(in, port, i, sharding->atoms[i].span))
      return TILE_OTHERWISE;
    bool shared = sharesFactor(source, spmd->rules->values[source->value].nAtoms, port->factors[i]);
    if (shared)
      inner *= info->atoms[i].size, cut = cut == TILE_NONE ? TILE_MINOR : cut;
    else if (sharding->atoms[i].count)
      cut = TILE_MAJOR;
  }
  return inner != 1 && inner != size ? TILE_OTHERWISE : cut;
}

/// The number of the tile is a constant, and the rank that has it writes it.
static void planTile(Insertion *in, const ShardPort *port, const ShardSharding *sharding,
                     intptr_t d) {
  const ShardSpmd *spmd = in->l->build->spmd;
  const ShardValueInfo *info = &spmd->rules->values[port->value];
  const ShardPort *source = &in->l->plan->rule->operands[0];
  InsertDim *dim = &in->dims[d];
  int64_t tile = dim->offset / dim->size, stride = 1, localInner = 1;
  MlirValue number = {NULL};
  for (int32_t i = info->nAtoms; i-- > 0;) {
    if (info->atoms[i].dim != d)
      continue;
    const ShardAxisList *axes = &sharding->atoms[i];
    int64_t size = info->atoms[i].size;
    int64_t local = shardShardingLocalAtomSize(&spmd->mesh, &info->atoms[i], *axes);
    if (sharesFactor(source, spmd->rules->values[source->value].nAtoms, port->factors[i])) {
      localInner *= local;
      continue;
    }
    MlirValue digit = shardBuildIndex(in->l->build, in->place, tile % size);
    tile /= size;
    if (axes->count) {
      MlirValue origin = shardBuildCoordinate(in->l->build, in->place, *axes);
      origin = shardBuildBinary(in->place, "arith.muli", origin,
                                shardBuildIndex(in->l->build, in->place, local));
      digit = shardBuildBinary(in->place, "arith.subi", digit, origin);
      MlirValue inside =
          shardBuildCompareUlt(in->place, digit, shardBuildIndex(in->l->build, in->place, local));
      digit =
          shardBuildSelect(in->place, inside, digit, shardBuildIndex(in->l->build, in->place, 0));
      in->inRange = mlirValueIsNull(in->inRange)
                        ? inside
                        : shardBuildBinary(in->place, "arith.andi", in->inRange, inside);
    }
    digit = shardBuildBinary(in->place, "arith.muli", digit,
                             shardBuildIndex(in->l->build, in->place, stride));
    number =
        mlirValueIsNull(number) ? digit : shardBuildBinary(in->place, "arith.addi", number, digit);
    stride *= local;
  }
  dim->window = localInner;
  dim->place = shardBuildBinary(in->place, "arith.muli", number,
                                shardBuildIndex(in->l->build, in->place, localInner));
}

/// Any other window: in one block of the dimension it is looked for where it may lie, else in all
/// of the shard.
static void planSearch(Insertion *in, ShardRadix radix, int64_t local, intptr_t d) {
  InsertDim *dim = &in->dims[d];
  shardRadixBuildOrigins(in->l->build, in->place, &radix);
  dim->searched = true;
  dim->radix = radix;
  dim->begin = offsetValue(in, d);
  dim->window = radix.nGroups == 1 && dim->size < local ? dim->size : local;
  MlirValue first = shardBuildIndex(in->l->build, in->place, 0);
  if (radix.nGroups == 1)
    first = clampIndex(
        in, shardBuildBinary(in->place, "arith.subi", dim->begin, radix.groups[0].origin),
        local - dim->window);
  dim->place = first;
}

/// Yields the source's element where this rank writes one, else what was there.
static void buildElement(void *user, const ShardInsert *at, const MlirValue *arguments,
                         MlirValue *yielded) {
  Insertion *in = user;
  ShardPlace place = {.block = at->block, .before = at->before, .location = at->location};
  MlirValue operands[1 + SHARD_MAX_AXES] = {in->source}, inside = in->inRange;
  intptr_t n = 1;
  for (intptr_t d = 0; d < in->rank; ++d) {
    const InsertDim *dim = &in->dims[d];
    MlirValue index = shardInsertLoopIndex(at, d);
    if (dim->searched) {
      index = shardInsertBinary(at, "arith.addi", index, dim->place);
      index = shardRadixBuildGlobal(in->l->build, place, &dim->radix, index);
      index = shardInsertBinary(at, "arith.subi", index, dim->begin);
      MlirValue found = shardBuildCompareUlt(place, index, shardInsertIndexConstant(at, dim->size));
      index = shardInsertSelect(at, found, index, shardInsertIndexConstant(at, 0));
      inside = mlirValueIsNull(inside) ? found : shardInsertBinary(at, "arith.andi", inside, found);
    }
    if (dim->source >= 0)
      operands[n++] = index;
  }
  MlirType element = mlirValueGetType(arguments[0]);
  MlirValue written = shardInsertOp(at, "tensor.extract", element, n, operands, 0, NULL);
  yielded[0] = shardInsertSelect(at, inside, written, arguments[0]);
}

/// extract_slice of the destination, or insert_slice of `part` into it, at the window.
static MlirOperation buildSlice(Insertion *in, MlirBlock block, MlirValue part) {
  ShardSpmd *spmd = in->l->build->spmd;
  MlirOperation copy = in->l->copy;
  MlirAttribute steps = shardOpGetAttribute(copy, "static_strides");
  MlirValue destination = mlirOperationGetOperand(copy, 1);
  MlirValue *operands = SHARD_ARENA_ARRAY(spmd->arena, MlirValue, in->rank + 2);
  int64_t *offsets = SHARD_ARENA_ARRAY(spmd->arena, int64_t, in->rank);
  int64_t *sizes = SHARD_ARENA_ARRAY(spmd->arena, int64_t, in->rank);
  int64_t *strides = SHARD_ARENA_ARRAY(spmd->arena, int64_t, in->rank);
  intptr_t n = 0;
  bool inserts = !mlirValueIsNull(part);
  if (inserts)
    operands[n++] = part;
  operands[n++] = destination;
  int32_t nPlaces = 0;
  for (intptr_t d = 0; d < in->rank; ++d) {
    const InsertDim *dim = &in->dims[d];
    bool dynamic = !mlirValueIsNull(dim->place);
    offsets[d] = dynamic ? mlirShapedTypeGetDynamicStrideOrOffset() : dim->offset;
    if (dynamic)
      operands[n++] = dim->place, ++nPlaces;
    sizes[d] = dim->window;
    strides[d] = mlirDenseI64ArrayGetElement(steps, d); // 1 where it is cut
  }
  MlirType type = mlirValueGetType(destination);
  if (!inserts)
    type = shardTensorWithShape(type, in->rank, sizes);
  int32_t segments[] = {1, 1, nPlaces, 0, 0};
  const ShardNamedAttribute attributes[] = {
      {"static_offsets", shardAttrI64Array(spmd->context, in->rank, offsets)},
      {"static_sizes", shardAttrI64Array(spmd->context, in->rank, sizes)},
      {"static_strides", shardAttrI64Array(spmd->context, in->rank, strides)},
      {"operandSegmentSizes", inserts ? mlirDenseI32ArrayGet(spmd->context, 5, segments)
                                      : mlirDenseI32ArrayGet(spmd->context, 4, segments + 1)},
  };
  return shardOpCreate(block, (MlirOperation){NULL}, in->place.location,
                       inserts ? "tensor.insert_slice" : "tensor.extract_slice", 1, &type, n,
                       operands, 4, attributes, 0, NULL);
}

static void buildOwned(Insertion *in) {
  ShardLocaliser *l = in->l;
  ShardSpmd *spmd = l->build->spmd;
  in->source = mlirOperationGetOperand(l->copy, 0);
  MlirValue before = mlirOperationGetResult(buildSlice(in, l->build->block, (MlirValue){NULL}), 0);
  ShardInsert at = insertAt(in, &in->place);
  MlirValue operands[2] = {before, shardInsertEmpty(&at, mlirValueGetType(before))};
  MlirAffineMap map = mlirAffineMapMultiDimIdentityGet(spmd->context, in->rank);
  MlirAffineMap maps[2] = {map, map};
  char *iterators = SHARD_ARENA_ARRAY(spmd->arena, char, in->rank + 1);
  for (intptr_t d = 0; d < in->rank; ++d)
    iterators[d] = 'p';
  MlirOperation after = shardInsertGeneric(&at, iterators, 1, 1, operands, maps, buildElement, in);
  MlirOperation insert =
      buildSlice(in, (MlirBlock){NULL}, mlirOperationGetResult(after, 0)); // the caller places it
  mlirOperationDestroy(l->copy);
  l->copy = insert;
}

/// Whether some dimension is cut out of and split so that only its owner may write.
static bool findOwned(Insertion *in, const ShardPort *port, const ShardSharding *sharding,
                      MlirOperation op) {
  const ShardSpmd *spmd = in->l->build->spmd;
  const ShardValueInfo *info = &spmd->rules->values[port->value];
  const ShardPort *source = &in->l->plan->rule->operands[0];
  MlirAttribute offsets = shardOpGetAttribute(op, "static_offsets");
  MlirAttribute sizes = shardOpGetAttribute(op, "static_sizes");
  int32_t *dims = SHARD_ARENA_ARRAY(spmd->arena, int32_t, in->rank + 1);
  int64_t *windows = SHARD_ARENA_ARRAY(spmd->arena, int64_t, in->rank + 1);
  for (intptr_t d = 0; d < in->rank; ++d)
    windows[d] = mlirDenseI64ArrayGetElement(sizes, d);
  if (!shardSliceMatchDims(spmd->rules->values[source->value].type, in->rank, windows, dims))
    return false;
  bool owned = false;
  for (intptr_t d = 0; d < in->rank; ++d) {
    InsertDim *dim = &in->dims[d];
    *dim = (InsertDim){.window = windows[d],
                       .size = windows[d],
                       .offset = mlirDenseI64ArrayGetElement(offsets, d),
                       .source = dims[d],
                       .cut = findTileCut(in, port, sharding, d, windows[d])};
    if (dim->size == mlirShapedTypeGetDimSize(info->type, d))
      dim->cut = TILE_NONE;
    else if (dim->cut == TILE_OTHERWISE)
      return false;
    owned |= dim->cut == TILE_MAJOR;
  }
  return owned;
}

MlirLogicalResult shardLocaliseInsertSlice(ShardLocaliser *l, MlirOperation op) {
  ShardSpmd *spmd = l->build->spmd;
  const ShardPort *port = &l->plan->rule->operands[1];
  const ShardSharding *sharding = l->plan->operands[1];
  Insertion in = {.l = l,
                  .place = {.block = l->build->block, .location = mlirOperationGetLocation(op)},
                  .rank = mlirShapedTypeGetRank(spmd->rules->values[port->value].type)};
  in.dims = SHARD_ARENA_ARRAY(spmd->arena, InsertDim, in.rank + 1);
  if (!findOwned(&in, port, sharding, op))
    return shardLocaliseWindow(l, 1);
  MlirType local = mlirValueGetType(mlirOperationGetOperand(l->copy, 1));
  for (intptr_t d = 0; d < in.rank; ++d) {
    InsertDim *dim = &in.dims[d];
    int64_t extent = mlirShapedTypeGetDimSize(local, d);
    bool shared = dim->source >= 0 && hasSharedAtom(&in, port, d);
    if (dim->cut == TILE_MAJOR && !shared) {
      planSearch(&in, shardRadixOfDimension(spmd, l->plan, port, sharding, d), extent, d);
    } else if (dim->cut == TILE_MAJOR || dim->cut == TILE_MINOR) {
      planTile(&in, port, sharding, d);
    } else {
      if (dim->offset == mlirShapedTypeGetDynamicStrideOrOffset())
        dim->place = offsetValue(&in, d);
      if (dim->size == mlirShapedTypeGetDimSize(spmd->rules->values[port->value].type, d))
        dim->window = extent;
    }
  }
  buildOwned(&in);
  return mlirLogicalResultSuccess();
}
