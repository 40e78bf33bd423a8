//===- SortByPlace.c - A whole sort as places and a pick -----------*- C -*-===//
// The place of an element is how many come before it; the result at a place is the element that has
// it. Both are reductions without an order of steps, so that the sort may be split along its
// dimension: each rank may count for its elements, and picks for its places. A selection
// (Analysis/Selection.h) does less where only the first few are wanted.
//===----------------------------------------------------------------------===//
#include "SortByPlace.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <string.h>

enum { EQ = 0, ULT = 6 }; // arith.cmpi

typedef struct Body {
  const ShardSelection *selection;
  intptr_t here, other; // loops of the two elements that are compared
  MlirValue zero, one;  // of the place's type
  MlirValue yes;
} Body;

/// Inputs: the tensors at `other`, then at `here`; output: how many come before `here`.
static void buildPlace(void *user, const ShardInsert *at, const MlirValue *arguments,
                       MlirValue *yielded) {
  const Body *body = user;
  const ShardSelection *s = body->selection;
  const MlirValue *other = arguments, *here = arguments + s->nTensors;
  MlirValue i = shardInsertLoopIndex(at, body->here), j = shardInsertLoopIndex(at, body->other);
  MlirValue stays = s->order(s->user, at, other, here); // when it stands earlier
  MlirValue passes =
      shardInsertBinary(at, "arith.xori", s->order(s->user, at, here, other), body->yes);
  MlirValue before = shardInsertSelect(at, shardInsertCompare(at, ULT, j, i), stays, passes);
  MlirValue another =
      shardInsertBinary(at, "arith.xori", shardInsertCompare(at, EQ, j, i), body->yes);
  before = shardInsertBinary(at, "arith.andi", before, another);
  yielded[0] = shardInsertBinary(at, "arith.addi", arguments[2 * s->nTensors],
                                 shardInsertSelect(at, before, body->one, body->zero));
}

/// Inputs: a tensor, where `here` counts its elements, and their places; output: the element whose
/// place is `other`.
static void buildPick(void *user, const ShardInsert *at, const MlirValue *arguments,
                      MlirValue *yielded) {
  const Body *body = user;
  MlirValue place = shardInsertIntegerCast(at, shardInsertLoopIndex(at, body->other),
                                           mlirValueGetType(arguments[1]));
  yielded[0] = shardInsertSelect(at, shardInsertCompare(at, EQ, arguments[1], place), arguments[0],
                                 arguments[2]);
}

/// The same for the elements' positions.
static void buildPosition(void *user, const ShardInsert *at, const MlirValue *arguments,
                          MlirValue *yielded) {
  const Body *body = user;
  MlirType type = mlirValueGetType(arguments[1]);
  MlirValue place = shardInsertIntegerCast(at, shardInsertLoopIndex(at, body->other),
                                           mlirValueGetType(arguments[0]));
  MlirValue position = shardInsertIntegerCast(at, shardInsertLoopIndex(at, body->here), type);
  yielded[0] = shardInsertSelect(at, shardInsertCompare(at, EQ, arguments[0], place), position,
                                 arguments[1]);
}

void shardInsertSort(const ShardInsert *at, const ShardSelection *s, ShardArena *arena,
                     MlirValue *outResults) {
  MlirType type = mlirValueGetType(s->tensors[0]);
  intptr_t rank = mlirShapedTypeGetRank(type), n = s->nTensors;
  int64_t *shape = SHARD_ARENA_ARRAY(arena, int64_t, rank);
  int64_t *dims = SHARD_ARENA_ARRAY(arena, int64_t, rank);
  for (intptr_t d = 0; d < rank; ++d) {
    shape[d] = mlirShapedTypeGetDimSize(type, d);
    dims[d] = d;
  }
  // Loops: the dimensions, and one more that is summed.
  MlirAffineMap atDim = shardMapOfDims(at->context, rank + 1, rank, dims);
  dims[s->dim] = rank;
  MlirAffineMap atLast = shardMapOfDims(at->context, rank + 1, rank, dims);
  char *iterators = SHARD_ARENA_ARRAY(arena, char, rank + 2);
  memset(iterators, 'p', (size_t)rank);
  iterators[rank] = 'r';
  unsigned width = shape[s->dim] <= INT32_MAX ? 32 : 64;
  MlirType placeType = mlirIntegerTypeGet(at->context, width);
  MlirType places = mlirRankedTensorTypeGet(rank, shape, placeType, mlirAttributeGetNull());
  MlirValue *operands = SHARD_ARENA_ARRAY(arena, MlirValue, 2 * n + 1);
  MlirAffineMap *maps = SHARD_ARENA_ARRAY(arena, MlirAffineMap, 2 * n + 1);
  for (intptr_t i = 0; i < n; ++i) {
    operands[i] = operands[n + i] = s->tensors[i];
    maps[i] = atLast;
    maps[n + i] = atDim;
  }
  MlirAttribute none = mlirIntegerAttrGet(placeType, 0);
  operands[2 * n] = shardInsertFill(at, places, none);
  maps[2 * n] = atDim;
  Body body = {.selection = s, .here = s->dim, .other = rank};
  body.zero = shardInsertScalar(at, none);
  body.one = shardInsertScalar(at, mlirIntegerAttrGet(placeType, 1));
  body.yes = shardInsertScalar(at, mlirIntegerAttrGet(mlirIntegerTypeGet(at->context, 1), 1));
  MlirValue place = mlirOperationGetResult(
      shardInsertGeneric(at, iterators, 2 * n, 1, operands, maps, buildPlace, &body), 0);

  Body pick = {.selection = s, .here = rank, .other = s->dim};
  MlirAffineMap pickMaps[3] = {atLast, atLast, atDim};
  for (intptr_t i = 0; i < n; ++i) {
    MlirType own = mlirValueGetType(s->tensors[i]);
    MlirAttribute zero = shardAttrNumber(mlirShapedTypeGetElementType(own), 0);
    MlirValue inputs[3] = {s->tensors[i], place, shardInsertFill(at, own, zero)};
    outResults[i] = mlirOperationGetResult(
        shardInsertGeneric(at, iterators, 2, 1, inputs, pickMaps, buildPick, &pick), 0);
  }
  MlirType positions =
      mlirRankedTensorTypeGet(rank, shape, s->positionType, mlirAttributeGetNull());
  MlirValue inputs[2] = {place,
                         shardInsertFill(at, positions, mlirIntegerAttrGet(s->positionType, 0))};
  outResults[n] = mlirOperationGetResult(
      shardInsertGeneric(at, iterators, 1, 1, inputs, pickMaps + 1, buildPosition, &pick), 0);
}
