//===- Internal.h - What the files of the reshard engine share ----*- C -*-===//
// Source and target are brought to common pieces first (Align.c); a placement on the way says of
// each piece how it is cut (Cut). What a rank holds of a piece is one interval, or, in a mixed
// piece, a list of them.
//===----------------------------------------------------------------------===//
#ifndef SHARD_RESHARD_INTERNAL_H
#define SHARD_RESHARD_INTERNAL_H

#include "shard/Reshard.h"

#include "../Passes/Core/Arena.h"

#define MAX_PIECES SHARD_RESHARD_MAX_PIECES
#define MAX_AXES SHARD_RESHARD_MAX_AXES

typedef enum CutForm { CUT_CHUNKS = 0, CUT_AS_SOURCE = 1, CUT_AS_TARGET = 2 } CutForm;

typedef struct Cut {
  uint8_t form;
  uint8_t nAxes;
  uint8_t axes[MAX_AXES]; // zero past nAxes: compared as bytes
  int64_t chunk;          // storage; the size where it is whole
} Cut;

typedef struct Interval {
  int64_t begin, end; // steps of the piece
  int64_t local;      // where it begins in storage
} Interval;

/// One end of a mixed piece: its own pieces, and what each position along its axes holds.
typedef struct MixedEnd {
  int32_t nParts;
  const ShardReshardPiece *parts;
  int32_t nAxes;
  uint8_t axes[MAX_AXES]; // of all parts in order
  int32_t *first;         // [positions + 1] into intervals
  Interval *intervals;    // ascending for each position
} MixedEnd;

typedef struct Problem {
  const ShardReshardMesh *mesh;
  ShardArena *arena;
  int64_t elementBytes, nDevices;
  int32_t nPieces;
  int64_t sizes[MAX_PIECES];
  int32_t dims[MAX_PIECES];
  bool mixed[MAX_PIECES];
  MixedEnd ends[MAX_PIECES][2]; // of a mixed piece: source, target
  Cut source[MAX_PIECES], target[MAX_PIECES];
  uint8_t sourcePartial[MAX_AXES], targetPartial[MAX_AXES];
} Problem;

static inline int64_t ceilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }
static inline int64_t axesProduct(const ShardReshardMesh *mesh, int32_t n, const uint8_t *axes) {
  int64_t product = 1;
  for (int32_t k = 0; k < n; ++k)
    product *= mesh->sizes[axes[k]];
  return product;
}

/// Checks both ends and fills in `problem` but for mesh, arena and element. Null, or what is wrong.
const char *shardReshardAlign(Problem *problem, const ShardReshardPlacement *from,
                              const ShardReshardPlacement *to);

/// What position `i` (row-major over the cut's axes) holds of piece `p`: intervals in `*out`, which
/// may be `*one`. Returns their number.
int32_t shardReshardHeld(const Problem *problem, int32_t p, const Cut *cut, int64_t i,
                         Interval *one, const Interval **out);
/// Elements of a rank's storage.
int64_t shardReshardStorage(const Problem *problem, const Cut *cuts);

/// Ranks in which two placements can differ: the axes that matter, and how many ranks stand for
/// each.
typedef struct Group {
  int32_t nAxes;
  uint8_t axes[MAX_AXES]; // in the mesh's order
  int64_t nRanks, repeats;
} Group;
Group shardReshardGroup(const Problem *problem, const Cut *a, const Cut *b);
/// Coordinates on every axis of the group's rank `i`; the others are 0.
void shardReshardCoordinates(const Problem *problem, const Group *group, int64_t i,
                             int64_t *coordinates);
static inline int64_t positionOf(const ShardReshardMesh *mesh, int32_t n, const uint8_t *axes,
                                 const int64_t *coordinates) {
  int64_t position = 0;
  for (int32_t k = 0; k < n; ++k)
    position = position * mesh->sizes[axes[k]] + coordinates[axes[k]];
  return position;
}

/// Elements that ranks lack of `to` when they hold `from`, over all ranks of the mesh; `*outMost`
/// (may be null) receives the most boxes that one rank gets from others.
int64_t shardReshardLack(const Problem *problem, const Cut *from, const Cut *to, int32_t *outMost);
/// As shardReshardLack, but ranks that differ on the axes of `together` only need one copy among
/// them; at the least, as they may hold some twice.
int64_t shardReshardLackTogether(const Problem *problem, const Cut *from, const Cut *to,
                                 uint32_t together);
/// The least that ranks which differ only on the axes of `among` must get together: where any one
/// of them may take what they all want, else where each element that they hold of `from`, which is
/// not cut by these axes, stays with one of them.
int64_t shardReshardLackAmong(const Problem *problem, const Cut *from, const Cut *to,
                              uint32_t among, bool anyOfThem);
/// Elements that all ranks want together.
int64_t shardReshardWanted(const Problem *problem, const Cut *to);

/// Writes steps and states of the cheapest plan.
void shardReshardSearch(Problem *problem, const ShardReshardOptions *options,
                        ShardReshardPlan *plan);

/// A plan's memory: the arena, and the problem behind it.
typedef struct PlanMemory {
  ShardArena *arena;
  Problem problem;
  Cut *cuts; // [(nSteps + 1) * nPieces]
} PlanMemory;

#endif // SHARD_RESHARD_INTERNAL_H
