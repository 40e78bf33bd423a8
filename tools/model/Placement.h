//===- Placement.h - Which part of a value a rank holds -----------*- C -*-===//
// FORMATS, Shards: rank i of n holds rows [min(i c, d), min((i+1) c, d)) of a dimension d of the
// value's view, c = ceil(d / n); i is linear over the dimension's axes, major first.
//===----------------------------------------------------------------------===//
#ifndef SHARD_MODEL_PLACEMENT_H
#define SHARD_MODEL_PLACEMENT_H

#include "shard/Program.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLACEMENT_MAX_DIMS 64

/// One rank's box of a value, in the shape of its view.
typedef struct Placement {
  int32_t nDims;
  int64_t view[PLACEMENT_MAX_DIMS];   // whole extents
  int64_t local[PLACEMENT_MAX_DIMS];  // stored rows, c
  int64_t begin[PLACEMENT_MAX_DIMS];  // first row held
  int64_t extent[PLACEMENT_MAX_DIMS]; // rows held, at most c
  size_t globalCount, localCount;     // elements
  /// Of a window (Program.h) the view is of the part. Its elements lie in the whole value in runs
  /// of windowRow, one a wholeRow, the first at windowBegin. windowRow 0: it is the whole value.
  size_t windowRow, wholeRow, windowBegin;
} Placement;

/// Coordinates of `rank` on the program's mesh, major first. `outCoordinates` has [nAxes].
void meshCoordinates(const ShardProgram *program, int64_t rank, int64_t *outCoordinates);
int64_t meshRankCount(const ShardProgram *program);
/// The stage that `rank` runs.
int32_t meshStage(const ShardProgram *program, int64_t rank);

size_t valueGlobalCount(const ShardProgramValue *value); // elements of the whole value
size_t valueLocalBytes(const ShardProgramValue *value);  // that a rank stores, with padding

/// False, with a message in `message`, when the program's tables contradict themselves (a view that
/// does not multiply to the shape, an unknown axis): the program is then not one of ours.
bool placementCreate(const ShardProgram *program, const ShardProgramValue *value, int64_t rank,
                     Placement *out, char *message, size_t messageSize);
/// Elements that the rank holds, without padding.
size_t placementHeldCount(const Placement *placement);
bool placementEqual(const Placement *a, const Placement *b);

/// Calls `visit` for each run of elements that is contiguous in both the whole value and the local
/// buffer, in row-major order.
typedef void (*PlacementVisitor)(void *user, size_t globalBegin, size_t localBegin, size_t count);
void placementVisit(const Placement *placement, PlacementVisitor visit, void *user);
/// Copies what the rank holds out of the whole value, and back into it; padding is left alone.
void placementCut(const Placement *placement, const void *whole, void *local, size_t elementBytes);
void placementJoin(const Placement *placement, const void *local, void *whole, size_t elementBytes);

#endif // SHARD_MODEL_PLACEMENT_H
