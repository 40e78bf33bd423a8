//===- Sequence.h - Ops that run along a dimension in order -------*- C -*-===//
// Scans, arg-max and its kin, and selections: what of them may be split along their dimension. Each
// rank does its part, and the parts are put together by what the ranks tell each other.
//===----------------------------------------------------------------------===//
#ifndef SHARD_ANALYSIS_SEQUENCE_H
#define SHARD_ANALYSIS_SEQUENCE_H

#include "Selection.h"
#include "Sharding.h"

typedef enum ShardSequenceKind {
  SHARD_SEQUENCE_NONE,
  SHARD_SEQUENCE_SCAN,      // a running value goes along, and a result takes it at each step
  SHARD_SEQUENCE_CHOICE,    // one step's values are kept, by comparison (arg-max)
  SHARD_SEQUENCE_SELECTION, // the first k in an order (Selection.h)
} ShardSequenceKind;

/// What a choice makes of a value that is no number. Plain: parts kept are chosen among as steps
/// are. Stops: the value is none from there on, places stay (an exported arg-max). Restarts: what
/// comes after it is chosen as if nothing was before.
typedef enum ShardChoiceNan {
  SHARD_CHOICE_NAN_PLAIN,
  SHARD_CHOICE_NAN_STOPS,
  SHARD_CHOICE_NAN_RESTARTS,
} ShardChoiceNan;

typedef struct ShardSequence {
  ShardSequenceKind kind;
  int32_t loop; // the loop along the dimension
  // SCAN: the results of the op that follow the loop and that carry the value; the op that combines
  // the two, in which operand `carried` is the running value.
  int32_t following, running;
  ShardCombiner combiner;
  MlirOperation combine;
  intptr_t carried;
  // CHOICE: for each result, the value of the body that a step offers, and whether that is the
  // step's place and nothing else.
  const MlirValue *offered;
  const bool *isPlace;
  // Unless plain: the one result that is no place. Places begin as whole numbers from 0.
  ShardChoiceNan nan;
  int32_t value;
  // SELECTION.
  ShardSelection selection;
  ShardOrder order;
} ShardSequence;

/// Reads a linalg.generic. False, and kind NONE, where it is none of these, or cannot be shown to
/// be the same when its dimension is cut. Arrays are in `arena`.
bool shardSequenceRead(MlirOperation op, ShardArena *arena, ShardSequence *out);

/// The number that a tensor is filled with; null if it is not known to be one number.
MlirAttribute shardSequenceFill(MlirValue tensor);

/// What a step of a CHOICE offers for a result, in the op's body, also where indices are no longer
/// what shardSequenceRead wants them to be.
MlirValue shardSequenceOffered(MlirOperation op, intptr_t result);

#endif // SHARD_ANALYSIS_SEQUENCE_H
