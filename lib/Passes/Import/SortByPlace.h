//===- SortByPlace.h - A whole sort as places and a pick -----------*- C -*-===//
#ifndef SHARD_IMPORT_SORTBYPLACE_H
#define SHARD_IMPORT_SORTBYPLACE_H

#include "../Analysis/Selection.h"

/// Sorts all elements along a dimension, stably: `count` is its extent, and there are no positions,
/// origin or valid elements of one's own. Writes nTensors + 1 results: the tensors, the positions.
void shardInsertSort(const ShardInsert *at, const ShardSelection *selection, ShardArena *arena,
                     MlirValue *outResults);

#endif // SHARD_IMPORT_SORTBYPLACE_H
