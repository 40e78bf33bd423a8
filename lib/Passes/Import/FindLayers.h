//===- FindLayers.h - Repeated parts of a graph -------------------*- C -*-===//
#ifndef SHARD_IMPORT_FINDLAYERS_H
#define SHARD_IMPORT_FINDLAYERS_H

#include "LayerGraph.h"

/// Instances of one layer: isomorphic, disjoint, each convex (nothing outside lies on a path
/// between two of its ops), in canonical order from sources to the return.
typedef struct ShardLayerSet {
  int32_t nInstances, nRoles;
  /// nodes[role * nInstances + instance]; the roles stand in an order in which instance 0 can be
  /// computed.
  const int32_t *nodes;
} ShardLayerSet;

/// Finds the layer that covers most of the graph's computation; of those that cover as much, the
/// one with most instances, then the one that passes the fewest values on. A layer contracts
/// something, and its instances feed one another. False: there is none. Pure; memory from `arena`.
bool shardLayersFind(const ShardLayerGraph *graph, ShardArena *arena, ShardLayerSet *out);

#endif // SHARD_IMPORT_FINDLAYERS_H
