//===- Selection.h - The first k elements in an order -------------*- C -*-===//
// Top-k, sort and arg-max of several tensors in one normal form: a linalg.generic that runs `count`
// times along the dimension and picks the next element each time. Elements that neither order puts
// first stand by position, so that the order is total and the result is the stable one.
//===----------------------------------------------------------------------===//
#ifndef SHARD_ANALYSIS_SELECTION_H
#define SHARD_ANALYSIS_SELECTION_H

#include "../Core/Insert.h"

/// An order known by name: by one tensor, up or down. NaN stands last going up, first going down.
typedef struct ShardOrder {
  int32_t key; // the tensor that decides
  bool descending;
  bool isUnsigned; // of integers
} ShardOrder;

/// Builds whether element a may stand before element b (also when they are equal): `a` and `b` have
/// a scalar for each tensor.
typedef MlirValue (*ShardOrderBuilder)(void *user, const ShardInsert *at, const MlirValue *a,
                                       const MlirValue *b);
/// The builder for a ShardOrder, which is its `user`.
MlirValue shardOrderBuild(void *order, const ShardInsert *at, const MlirValue *a,
                          const MlirValue *b);

/// What to select, and how.
typedef struct ShardSelection {
  intptr_t nTensors;
  const MlirValue *tensors; // of equal shape
  MlirValue positions;   // integers of that shape that name each element, negative: none; null: the
                         // place along `dim`
  MlirType positionType; // of the positions that come out: an integer type
  MlirValue origin;      // index added to places along `dim`; null: none
  MlirValue valid;       // index: so many elements along `dim` are there; null: all
  intptr_t dim;
  int64_t count; // 1 to the extent of `dim`
  ShardOrderBuilder order;
  void *user;
} ShardSelection;

/// Results: a tensor for each of `tensors`, the positions, then the state of the loop (the last
/// element picked, as far as the order reads it, and its position), which nobody needs. Where fewer than `count`
/// elements are there, positions are -1 and values zero.
MlirOperation shardInsertSelection(const ShardInsert *at, const ShardSelection *selection);

/// Reads a linalg.generic that shardInsertSelection made of a ShardOrder: fills all but `origin`
/// and `valid`, which are null; `order` gets what `user` points at. Arrays are in `arena`. False on
/// any other op.
bool shardSelectionRead(MlirOperation op, ShardArena *arena, ShardSelection *out,
                        ShardOrder *order);

#endif // SHARD_ANALYSIS_SELECTION_H
