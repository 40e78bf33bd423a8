//===- Route.h - The cheapest way from one placement to another ---*- C -*-===//
#ifndef SHARD_SHARD_ROUTE_H
#define SHARD_SHARD_ROUTE_H

#include "../Analysis/Sharding.h"

typedef enum ShardStepKind {
  SHARD_STEP_SLICE,          // `to` is cut at this rank's coordinate; local
  SHARD_STEP_ENTER_ONCE,     // whole to partial: the identity except on coordinate 0; local
  SHARD_STEP_REDUCE_SCATTER, // partial to cut at `to`
  SHARD_STEP_ALL_TO_ALL,     // cut at `from` to cut at `to`
  SHARD_STEP_ALL_REDUCE,
  SHARD_STEP_ALL_GATHER // `from` is no longer cut
} ShardStepKind;

typedef struct ShardStep {
  ShardStepKind kind;
  int32_t from, to; // atoms of the route
  ShardAxisList axes;
  ShardCombiner combiner;
} ShardStep;

/// Steps in order, and the placement before and after each. Its atoms are the value's, adjacent
/// ones of a dimension taken as one where neither end tells them apart: a dimension split over
/// several axes in blocks is gathered at once.
typedef struct ShardRoute {
  int32_t nAtoms;
  ShardAtom *atoms;
  int32_t nSteps;
  ShardStep *steps;
  ShardSharding **states; // [nSteps + 1]
  int64_t cost;           // bytes that one rank sends, times the mesh's devices (a whole number)
  int32_t nCollectives;
} ShardRoute;

/// The route with the fewest bytes sent, then the fewest collectives. `bytes` are the whole
/// value's. Lives in `arena`.
ShardRoute *shardRouteFind(const ShardMesh *mesh, int32_t nAtoms, const ShardAtom *atoms,
                           int64_t bytes, const ShardSharding *from, const ShardSharding *to,
                           ShardArena *arena);
/// A placement of the route on the value's own atoms.
ShardSharding *shardRouteStateOnAtoms(const ShardMesh *mesh, const ShardRoute *route, int32_t state,
                                      int32_t nAtoms, const ShardAtom *atoms, ShardArena *arena);
/// Bytes that one rank sends in a step whose local operand has `localBytes`, times the devices.
int64_t shardStepCost(const ShardMesh *mesh, const ShardStep *step, int64_t localBytes);

#endif // SHARD_SHARD_ROUTE_H
