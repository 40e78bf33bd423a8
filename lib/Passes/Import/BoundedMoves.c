//===- BoundedMoves.c - Data that moves by an extent ---------------*- C -*-===//
// What stands behind a dynamic part begins, in storage, at the part's bound; in the shape it begins
// at its extent. Slices, joins and insertions whose places depend on extents become ops that read
// each element where it lies.
//===----------------------------------------------------------------------===//
#include "Bounded.h"

#include "mlir-c/AffineExpr.h"
#include "mlir-c/BuiltinTypes.h"

#include <string.h>

static intptr_t rankOf(MlirValue tensor) { return mlirShapedTypeGetRank(mlirValueGetType(tensor)); }

static int64_t sizeOf(MlirValue tensor, intptr_t d) {
  return mlirShapedTypeGetDimSize(mlirValueGetType(tensor), d);
}

/// tensor[indices], each kept below the size: a step in padding reads something.
static MlirValue readAt(const ShardBounded *b, const ShardInsert *at, MlirValue tensor,
                        const MlirValue *indices) {
  intptr_t rank = rankOf(tensor);
  MlirValue *operands = SHARD_ARENA_ARRAY(b->arena, MlirValue, rank + 1);
  operands[0] = tensor;
  for (intptr_t d = 0; d < rank; ++d) {
    MlirValue last = shardInsertIndexConstant(at, sizeOf(tensor, d) - 1);
    operands[1 + d] =
        sizeOf(tensor, d) == 1 ? last : shardInsertBinary(at, "arith.minui", indices[d], last);
  }
  return shardInsertOp(at, "tensor.extract", mlirShapedTypeGetElementType(mlirValueGetType(tensor)),
                       rank + 1, operands, 0, NULL);
}

/// A linalg.generic over a tensor type, all loops parallel, that reads inputs where they are (of
/// its shape) or as numbers.
static MlirOperation insertMap(ShardBounded *b, MlirOperation before, MlirType type,
                               intptr_t nInputs, const MlirValue *inputs, ShardBodyBuilder build,
                               void *user) {
  intptr_t rank = mlirShapedTypeGetRank(type);
  ShardInsert at = shardInsertBefore(before);
  MlirValue *operands = SHARD_ARENA_ARRAY(b->arena, MlirValue, nInputs + 1);
  MlirAffineMap *maps = SHARD_ARENA_ARRAY(b->arena, MlirAffineMap, nInputs + 1);
  for (intptr_t i = 0; i < nInputs; ++i) {
    operands[i] = inputs[i];
    maps[i] = rankOf(inputs[i]) ? mlirAffineMapMultiDimIdentityGet(b->context, rank)
                                : mlirAffineMapGet(b->context, rank, 0, 0, NULL);
  }
  operands[nInputs] = shardInsertEmpty(&at, type);
  maps[nInputs] = mlirAffineMapMultiDimIdentityGet(b->context, rank);
  char *iterators = shardArenaAllocate(b->arena, (size_t)rank + 1);
  memset(iterators, 'p', (size_t)rank);
  return shardInsertGeneric(&at, iterators, nInputs, 1, operands, maps, build, user);
}

/// The extents as inputs behind `nInputs` others, all of them; and as indices in the body.
static intptr_t addExtents(ShardBounded *b, MlirOperation op, intptr_t nInputs, MlirValue *inputs) {
  for (int32_t k = 0; k < b->nDims; ++k)
    inputs[nInputs++] = shardBoundedArgument(b, op, k);
  return nInputs;
}

static MlirValue *extentsIn(const ShardBounded *b, const ShardInsert *at,
                            const MlirValue *arguments) {
  MlirValue *extents = SHARD_ARENA_ARRAY(b->arena, MlirValue, b->nDims + 1);
  for (int32_t k = 0; k < b->nDims; ++k)
    extents[k] = shardInsertIntegerCast(at, arguments[k], mlirIndexTypeGet(b->context));
  return extents;
}

enum { ULT = 6 };

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

typedef struct SliceBody {
  ShardBounded *b;
  MlirValue source;
  const ShardSliceEntry *entries;
  const intptr_t *dims; // of the result, or -1
} SliceBody;

/// A number of the slice as an index: one that is known, or the operand.
static MlirValue entryNumber(const ShardBounded *b, const ShardInsert *at, bool has,
                             const ShardExtent *extent, MlirValue operand) {
  return has && shardExtentIsNumber(b, extent)
             ? shardInsertIndexConstant(at, shardExtentBound(extent))
             : operand;
}

static void buildSlice(void *user, const ShardInsert *at, const MlirValue *arguments,
                       MlirValue *yielded) {
  const SliceBody *slice = user;
  (void)arguments;
  intptr_t rank = rankOf(slice->source);
  MlirValue *indices = SHARD_ARENA_ARRAY(slice->b->arena, MlirValue, rank + 1);
  for (intptr_t d = 0; d < rank; ++d) {
    const ShardSliceEntry *entry = &slice->entries[d];
    indices[d] = entryNumber(slice->b, at, entry->hasOffset, &entry->offset, entry->offsetOperand);
    if (slice->dims[d] < 0)
      continue;
    MlirValue step = shardInsertLoopIndex(at, slice->dims[d]);
    if (shardExtentBound(&entry->stride) != 1)
      step = shardInsertBinary(at, "arith.muli", step,
                               shardInsertIndexConstant(at, shardExtentBound(&entry->stride)));
    bool fromStart = entry->hasOffset && shardExtentIsNumber(slice->b, &entry->offset) &&
                     shardExtentBound(&entry->offset) == 0;
    indices[d] = fromStart ? step : shardInsertBinary(at, "arith.addi", step, indices[d]);
  }
  yielded[0] = readAt(slice->b, at, slice->source, indices);
}

MlirValue shardBoundedSlice(ShardBounded *b, MlirOperation op, const ShardSliceEntry *entries,
                            const intptr_t *dims, MlirType type) {
  SliceBody body = {b, mlirOperationGetOperand(op, 0), entries, dims};
  return mlirOperationGetResult(insertMap(b, op, type, 0, NULL, buildSlice, &body), 0);
}

//===----------------------------------------------------------------------===//
// Joins
//===----------------------------------------------------------------------===//

typedef struct JoinBody {
  ShardBounded *b;
  MlirOperation concat;
  intptr_t dim;
} JoinBody;

static void buildJoin(void *user, const ShardInsert *at, const MlirValue *arguments,
                      MlirValue *yielded) {
  const JoinBody *join = user;
  ShardBounded *b = join->b;
  intptr_t n = mlirOperationGetNumOperands(join->concat);
  intptr_t rank = rankOf(mlirOperationGetOperand(join->concat, 0));
  MlirValue *extents = extentsIn(b, at, arguments + 1);
  MlirValue *indices = SHARD_ARENA_ARRAY(b->arena, MlirValue, rank + 1);
  for (intptr_t d = 0; d < rank; ++d)
    indices[d] = shardInsertLoopIndex(at, d);
  MlirValue place = indices[join->dim];
  yielded[0] = arguments[0]; // right for the first part
  ShardExtent before = shardBoundedExtent(b, mlirOperationGetOperand(join->concat, 0), join->dim);
  for (intptr_t i = 1; i < n; ++i) {
    MlirValue part = mlirOperationGetOperand(join->concat, i);
    ShardExtent extent = shardBoundedExtent(b, part, join->dim);
    MlirValue begin = shardExtentBuild(b, at, &before, extents);
    indices[join->dim] = shardInsertBinary(at, "arith.subi", place, begin);
    MlirValue value = readAt(b, at, part, indices);
    MlirValue isEarlier = shardInsertCompare(at, ULT, place, begin);
    yielded[0] = shardInsertSelect(at, isEarlier, yielded[0], value);
    shardExtentSum(b, &before, &extent, 1, &before);
  }
}

void shardBoundedJoin(ShardBounded *b, MlirOperation op) {
  int64_t dim = 0;
  shardAttrGetI64(shardOpGetAttribute(op, "dim"), &dim);
  MlirValue old = mlirOperationGetResult(op, 0);
  MlirValue *inputs = SHARD_ARENA_ARRAY(b->arena, MlirValue, b->nDims + 2);
  inputs[0] = old;
  intptr_t nInputs = addExtents(b, op, 1, inputs);
  JoinBody body = {b, op, (intptr_t)dim};
  MlirOperation made = insertMap(b, mlirOperationGetNextInBlock(op), mlirValueGetType(old), nInputs,
                                 inputs, buildJoin, &body);
  MlirValue result = mlirOperationGetResult(made, 0);
  intptr_t rank = rankOf(old);
  ShardExtent *shape = SHARD_ARENA_ARRAY(b->arena, ShardExtent, rank + 1);
  for (intptr_t d = 0; d < rank; ++d)
    shape[d] = shardBoundedExtent(b, old, d);
  shardBoundedSetShape(b, result, shape);
  mlirValueReplaceAllUsesExcept(old, result, 1, &made);
}

//===----------------------------------------------------------------------===//
// Insertions
//===----------------------------------------------------------------------===//

typedef struct InsertBody {
  ShardBounded *b;
  MlirValue source;
  const ShardSliceEntry *entries;
  const intptr_t *dims; // of the source, or -1
  intptr_t rank;
} InsertBody;

static void buildInsert(void *user, const ShardInsert *at, const MlirValue *arguments,
                        MlirValue *yielded) {
  const InsertBody *insert = user;
  ShardBounded *b = insert->b;
  MlirValue *extents = extentsIn(b, at, arguments + 1), inside = {NULL};
  MlirValue *indices = SHARD_ARENA_ARRAY(b->arena, MlirValue, insert->rank + 1);
  for (intptr_t d = 0; d < insert->rank; ++d) {
    const ShardSliceEntry *entry = &insert->entries[d];
    MlirValue place = shardInsertLoopIndex(at, d);
    if (!entry->whole) {
      MlirValue begin = entryNumber(b, at, entry->hasOffset, &entry->offset, entry->offsetOperand);
      place = shardInsertBinary(at, "arith.subi", place, begin);
      MlirValue is =
          shardInsertCompare(at, ULT, place, shardExtentBuild(b, at, &entry->size, extents));
      inside = mlirValueIsNull(inside) ? is : shardInsertBinary(at, "arith.andi", inside, is);
    }
    if (insert->dims[d] >= 0)
      indices[insert->dims[d]] = place;
  }
  MlirValue value = readAt(b, at, insert->source, indices);
  yielded[0] = mlirValueIsNull(inside) ? value : shardInsertSelect(at, inside, value, arguments[0]);
}

MlirValue shardBoundedInsert(ShardBounded *b, MlirOperation op, const ShardSliceEntry *entries,
                             const intptr_t *dims) {
  MlirValue dest = mlirOperationGetOperand(op, 1);
  MlirValue *inputs = SHARD_ARENA_ARRAY(b->arena, MlirValue, b->nDims + 2);
  inputs[0] = dest;
  intptr_t nInputs = addExtents(b, op, 1, inputs);
  InsertBody body = {b, mlirOperationGetOperand(op, 0), entries, dims, rankOf(dest)};
  return mlirOperationGetResult(
      insertMap(b, op, mlirValueGetType(dest), nInputs, inputs, buildInsert, &body), 0);
}
