//===- Search.h - Parts of the search ------------------------------*- C -*-===//
// Search.c keeps the nodes and takes the best; Expand.c makes what follows a node.
//===----------------------------------------------------------------------===//
#ifndef SHARD_LIB_RESHARD_SEARCH_H
#define SHARD_LIB_RESHARD_SEARCH_H

#include "Internal.h"

typedef struct Node {
  Cut *cuts;
  uint32_t partial; // axes still to be combined
  bool entered;     // the target's own partial axes
  bool settled;
  int64_t cost, bound; // so far; at least still to come
  int32_t nMessages, nRounds, nSteps;
  int32_t parent;
  ShardReshardStep step; // from the parent
} Node;

typedef struct Search {
  const Problem *problem;
  const ShardReshardMesh *mesh;
  const ShardReshardOptions *options;
  int64_t leastPercent, storageLimit, wantedBytes;
  bool isUneven;   // some cut of either end, or one on the way may be
  uint32_t enters; // axes that only the target is partial over
  ShardReshardCombiner sourceCombiner, targetCombiner;
  Node *nodes;
  size_t nNodes, capacity;
  int32_t *table; // open addressing by placement; -1: free
  size_t tableSize;
} Search;

/// Adds the placement that a step leads to. `child` has its cuts (borrowed), partial and entered.
void shardReshardAddNode(Search *search, int32_t parent, Node child, ShardReshardStep step);
/// Adds all that one step from a node leads to.
void shardReshardExpand(Search *search, int32_t at);

#endif // SHARD_LIB_RESHARD_SEARCH_H
