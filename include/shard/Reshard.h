//===- shard/Reshard.h - From one placement of a tensor to another -*- C -*-===//
// Plain C, no MLIR: the compiler emits these plans, and a program that restores a checkpoint under
// another layout runs them. A plan is the cheapest chain of steps; every rank runs the same one.
//===----------------------------------------------------------------------===//
#ifndef SHARD_RESHARD_H
#define SHARD_RESHARD_H

#include "shard/Runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SHARD_RESHARD_MAX_AXES 16   // of a mesh
#define SHARD_RESHARD_MAX_PIECES 32 // of a placement

/// A rank's number is its row-major index; axis 0 is the major one.
typedef struct ShardReshardMesh {
  int32_t nAxes; // 0 to SHARD_RESHARD_MAX_AXES
  int64_t sizes[SHARD_RESHARD_MAX_AXES];
} ShardReshardMesh;

/// How a partial value's copies are combined. The numbers are those of ShardRtReduction plus one.
typedef enum ShardReshardCombiner {
  SHARD_RESHARD_NONE = 0,
  SHARD_RESHARD_SUM = 1,
  SHARD_RESHARD_MAX = 2,
  SHARD_RESHARD_MIN = 3,
  SHARD_RESHARD_PRODUCT = 4,
  SHARD_RESHARD_AND = 5,
  SHARD_RESHARD_OR = 6
} ShardReshardCombiner;

/// A piece is `size` consecutive steps of a dimension. Rank i of the n ranks along `axes`
/// (row-major in the order of the list) holds steps [i * chunk, min((i + 1) * chunk, size)), maybe
/// none; its storage is `chunk` steps, whatever stands in those past the end.
typedef struct ShardReshardPiece {
  int32_t dim;   // pieces of a dimension stand together, major first; dimensions ascend
  int32_t nAxes; // 0: whole on every rank
  uint8_t axes[SHARD_RESHARD_MAX_AXES];
  int64_t size;  // at least 1
  int64_t chunk; // 0: size / n, rounded up
} ShardReshardPiece;

/// Where a tensor lies: the pieces' sizes multiply to the dimensions, and several pieces in a
/// dimension are a view of it. Local storage is dense and row-major over the pieces' chunks. Along
/// an axis that no piece names, ranks hold the same, or, where `partial` has a combiner, values
/// still to be combined. One combiner only: which of two comes first would not be said.
typedef struct ShardReshardPlacement {
  int32_t nPieces;
  ShardReshardPiece pieces[SHARD_RESHARD_MAX_PIECES];
  uint8_t partial[SHARD_RESHARD_MAX_AXES]; // ShardReshardCombiner
} ShardReshardPlacement;

typedef enum ShardReshardStepKind {
  SHARD_RESHARD_SLICE = 0,          // piece `to` is cut over the axes: local
  SHARD_RESHARD_ENTER = 1,          // whole or cut to partial over the axes: local. What several
                                    // ranks hold enters once; the rest is the combiner's identity
  SHARD_RESHARD_ALL_GATHER = 2,     // piece `from` loses the axes
  SHARD_RESHARD_ALL_TO_ALL = 3,     // the axes go from piece `from` to piece `to`
  SHARD_RESHARD_EXCHANGE = 4,       // each rank receives exactly what it lacks, as boxes
  SHARD_RESHARD_ALL_REDUCE = 5,     // partial over the axes to combined
  SHARD_RESHARD_REDUCE_SCATTER = 6, // partial over the axes to cut over them at piece `to`
} ShardReshardStepKind;
#define SHARD_RESHARD_N_STEP_KINDS 7

typedef struct ShardReshardStep {
  ShardReshardStepKind kind;
  ShardReshardCombiner combiner; // ENTER, ALL_REDUCE, REDUCE_SCATTER
  int32_t nAxes;                 // in the mesh's order; for an exchange, those it runs over
  uint8_t axes[SHARD_RESHARD_MAX_AXES];
  int32_t from, to;    // pieces; -1 where none
  int32_t nMessages;   // calls; of an exchange, from how many ranks one receives at most
  int64_t sentBytes;   // of all ranks together; ring counting as in shard/Runtime.h
  int64_t bufferBytes; // what a rank needs beside the operand while the step runs: its result
                       // and what is packed for the wire
} ShardReshardStep;

/// Steps, and the placement before each and after the last. All placements have the same pieces
/// (pieces of source and target are split or joined until they match), except that a run of pieces
/// in which source and target cut across each other is one piece, `isMixed`: it lies there as in
/// the source, as in the target (`mixedForm` 1, 2), or in chunks like any other (0).
typedef struct ShardReshardPlan {
  ShardReshardMesh mesh;
  int64_t elementBytes;
  ShardReshardPlacement source, target; // as given, chunks filled in
  int32_t nPieces;
  int32_t nSteps;
  const ShardReshardStep *steps;
  const ShardReshardPlacement *states; // [nSteps + 1]
  const uint8_t *mixedForm;            // [(nSteps + 1) * nPieces]
  int64_t sentBytes;                   // of all ranks together
  int32_t nMessages;
  void *memory; // private
} ShardReshardPlan;

/// Zero initialised means the defaults.
typedef struct ShardReshardOptions {
  int64_t messageBytes; // bytes that one more message of every rank is worth; 0: only between plans
                        // of equal bytes do fewer messages count
  int32_t bytePercent[SHARD_RESHARD_N_STEP_KINDS]; // what a byte costs in steps of a kind; 0: 100
} ShardReshardOptions;

/// Elements of a rank's storage under a placement, the same on all ranks; 0 if the placement is not
/// valid on the mesh (shardReshardPlanCreate says why). Thread-safe.
SHARD_EXPORTED int64_t shardReshardStorageElements(const ShardReshardMesh *mesh,
                                                   const ShardReshardPlacement *placement);

/// Finds the cheapest plan, first by bytes (see ShardReshardOptions), then by messages, then by
/// steps; equal input gives the same plan. No placement on the way has more storage than the larger
/// of the two ends.
///   from, to    Placements of one tensor: the same dimensions.
///   options     NULL: the defaults.
///   outPlan     Yours to shardReshardPlanDestroy.
///   outMessage  What is wrong, a constant text; may be NULL.
/// SHARD_RT_INVALID_ARGUMENT: the two do not fit each other or the mesh, an axis is used twice, two
/// combiners. Running out of memory ends the process. Thread-safe.
SHARD_EXPORTED ShardRtStatus shardReshardPlanCreate(
    const ShardReshardMesh *mesh, int64_t elementBytes, const ShardReshardPlacement *from,
    const ShardReshardPlacement *to, const ShardReshardOptions *options, ShardReshardPlan **outPlan,
    const char **outMessage);
SHARD_EXPORTED void shardReshardPlanDestroy(ShardReshardPlan *plan); // NULL is fine

/// One box on its way in an exchange. Storage is seen with one dimension a piece of the plan, and a
/// piece that has an order (see ShardReshardExchange) in that order.
typedef struct ShardReshardMove {
  int64_t sender, receiver;             // positions in the group; equal: a copy inside the rank
  int32_t round;                        // of a sender and a receiver, at most one move a round
  const int64_t *shape;                 // [nPieces]
  const int64_t *fromOffset, *toOffset; // [nPieces] in the sender's and in the receiver's storage
} ShardReshardMove;

/// The moves of an exchange: one box for each sender and receiver that share elements. They are the
/// same in every group of ranks that differ along the step's axes only; a position in the group is
/// row-major over them. Moves of a round have one shape.
typedef struct ShardReshardExchange {
  int64_t nRanks; // in a group
  int32_t nPieces, nRounds;
  int64_t nMoves;
  const ShardReshardMove *moves;             // by round, then receiver
  const int64_t *operandShape, *resultShape; // [nPieces] storage before and after
  /// [nPieces] Null, or, where two ranks share steps of a mixed piece that do not lie together, for
  /// each position along the axes that cut the piece (before or after, row-major in their order)
  /// the step of storage at each packed place: [positions][operandShape or resultShape]. Places
  /// that no move reads or writes have the steps that are left. An order before has one after.
  const int64_t *const *fromOrder, *const *toOrder;
  void *memory; // private
} ShardReshardExchange;

/// Puts moves in rounds, as few as their shapes allow, and sorts them. Reads sender, receiver,
/// shape and offsets of the `nMoves` moves, whose arrays are borrowed as long as they are used.
/// `outRounds`: how many. Running out of memory ends the process. Thread-safe.
SHARD_EXPORTED void shardReshardSchedule(int64_t nRanks, int32_t nPieces, int64_t nMoves,
                                         ShardReshardMove *moves, int32_t *outRounds);

/// Lists the moves of step `step`, which is an exchange. Yours to shardReshardExchangeDestroy;
/// `plan` is read only here. Running out of memory ends the process. Thread-safe.
SHARD_EXPORTED ShardReshardExchange *shardReshardExchangeCreate(const ShardReshardPlan *plan,
                                                                int32_t step);
SHARD_EXPORTED void shardReshardExchangeDestroy(ShardReshardExchange *exchange); // NULL is fine

/// Runs a plan on the ranks of a world whose mesh is the plan's. Every rank calls it.
///   element     Its size is the plan's elementBytes.
///   send        [storage elements of the source] borrowed; not written.
///   recv        [storage elements of the target] not overlapping send. Elements past the end of a
///               chunk hold anything afterwards.
///   outPeakBytes  NULL, or receives the most memory that was taken at once beside send and recv.
/// Returns as the collectives of shard/Runtime.h do. Thread-compatible per `comm`.
SHARD_EXPORTED ShardRtStatus shardReshardRun(const ShardReshardPlan *plan, ShardRtComm *comm,
                                             ShardRtSite site, ShardRtElement element,
                                             const void *send, void *recv, int64_t *outPeakBytes);

#ifdef __cplusplus
}
#endif
#endif // SHARD_RESHARD_H
