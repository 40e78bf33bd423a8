//===- LayerRegion.h - Alike parts grown in lockstep --------------*- C -*-===//
#ifndef SHARD_IMPORT_LAYERREGION_H
#define SHARD_IMPORT_LAYERREGION_H

#include "LayerGraph.h"

/// `n` instances of one region: role r of instance k is node nodes[r * n + k].
typedef struct ShardLayerRegion {
  const ShardLayerGraph *graph;
  ShardArena *arena;
  const bool *allowed; // [nNodes] nodes that may be taken in; null: all
  int64_t work;        // nodes visited so far, over all regions grown
  int32_t n, nRoles;
  int32_t *nodes;      // [role][instance]
  int32_t *roleOf;     // [nNodes] -1: in no instance
  int32_t *instanceOf; // [nNodes]
  size_t capacity;     // the rest is scratch
  int32_t *tuple, *down;
} ShardLayerRegion;

/// An empty region over `graph`. Memory from `arena`.
ShardLayerRegion *shardLayerRegionCreate(const ShardLayerGraph *graph, ShardArena *arena);

/// Replaces the region by what grows from `seeds` [n], one op an instance: along operands first,
/// then along users, as long as the ops met are alike, distinct and free. 0 roles if the seeds are
/// not. Instances may still differ in where their operands come from, and need not be convex.
void shardLayerRegionGrow(ShardLayerRegion *region, int32_t n, const int32_t *seeds);

/// Replaces the region by these nodes [nRoles][n], once grown.
void shardLayerRegionSet(ShardLayerRegion *region, int32_t n, int32_t nRoles, const int32_t *nodes);

/// Drops roles until instances agree in which operands come from inside, and no path leaves an
/// instance and comes back. May leave none.
void shardLayerRegionMakeConvex(ShardLayerRegion *region);

/// Results of roles that something outside their instance uses, in any instance.
int32_t shardLayerRegionCountResults(const ShardLayerRegion *region);

static inline const ShardLayerNode *shardLayerRegionNode(const ShardLayerRegion *region,
                                                         int32_t role, int32_t instance) {
  return &region->graph->nodes[region->nodes[(size_t)role * (size_t)region->n + (size_t)instance]];
}

#endif // SHARD_IMPORT_LAYERREGION_H
