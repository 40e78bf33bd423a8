//===- Moves.h - Slices, and boxes that go from rank to rank ------*- C -*-===//
#ifndef SHARD_SHARD_MOVES_H
#define SHARD_SHARD_MOVES_H

#include "Spmd.h"

#include "shard/Reshard.h"

/// A number that may differ from rank to rank: `value` if it is not null, else `number`.
typedef struct ShardRankNumber {
  int64_t number;
  MlirValue value;
} ShardRankNumber;

/// tensor.extract_slice with unit strides. `offsets` and `sizes` have the rank of `source`.
MlirValue shardBuildExtract(ShardBuild *build, ShardPlace place, MlirValue source,
                            const ShardRankNumber *offsets, const int64_t *sizes);
/// tensor.insert_slice with unit strides of all of `source` into `dest`.
MlirValue shardBuildInsert(ShardBuild *build, ShardPlace place, MlirValue source, MlirValue dest,
                           const ShardRankNumber *offsets);
/// Dimension `dim` made longer (at its end; the new steps hold zero) or shorter.
MlirValue shardBuildResize(ShardBuild *build, ShardPlace place, MlirValue source, intptr_t dim,
                           int64_t size);

/// `source` with the steps of dimension `dim` in another order, a permutation: step i of the result
/// is step order[row * extent + i] of the source. A rank's row is its coordinate over `axes`; none:
/// there is one row.
MlirValue shardBuildReorder(ShardBuild *build, ShardPlace place, MlirValue source, intptr_t dim,
                            ShardAxisList axes, const int64_t *order);

/// Boxes to be moved among the ranks that differ along `axes` only; positions in the group are
/// row-major over them. Moves stand by round; those of a round have one shape, and a rank sends and
/// receives at most one of them. Shapes and offsets have the rank of source and destination.
typedef struct ShardMoves {
  ShardAxisList axes;
  int64_t nRanks;
  int32_t nDims, nRounds;
  int64_t nMoves;
  const ShardReshardMove *moves;
} ShardMoves;

/// Emits the rounds: what arrives goes into `dest`, which is returned. One `site`, one channel. A
/// rank without a move in a round is its own peer and sends nothing.
MlirValue shardBuildMoves(ShardBuild *build, ShardPlace place, const ShardMoves *moves,
                          MlirValue source, MlirValue dest, int64_t site);

#endif // SHARD_SHARD_MOVES_H
