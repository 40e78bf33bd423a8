//===- Search.h - Parts of the search ------------------------------*- C -*-===//
// Search.c keeps the nodes and takes the best; Expand.c makes what follows a node, with the chunks
// of Chunks.c.
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
  int64_t lackBytes;   // at least, when it is combined
  int32_t nMessages, nRounds, nSteps;
  int32_t parent;
  ShardReshardStep step; // from the parent
  size_t heapAt;         // in the search's heap, unless settled
} Node;

typedef struct Search {
  const Problem *problem;
  const ShardReshardMesh *mesh;
  const ShardReshardOptions *options;
  int64_t leastPercent, storageLimit, wantedBytes;
  int64_t costLimit;   // of a plan that is known
  bool triesAllChunks; // not only the smallest and those of the target
  bool isUneven;       // some cut of either end, or one on the way may be
  uint32_t enters;     // axes that only the target is partial over
  ShardReshardCombiner sourceCombiner, targetCombiner;
  Node *nodes;
  size_t nNodes, capacity;
  int32_t *table; // open addressing by placement; -1: free
  size_t tableSize;
  int32_t *heap; // nodes that are not settled, the best first
  size_t nHeap, heapCapacity;
  int64_t *chunks; // of the last call of shardReshardChunksAfter
  size_t nChunks, chunkCapacity;
} Search;

/// Adds the placement that a step leads to. `child` has its cuts (borrowed), partial and entered.
void shardReshardAddNode(Search *search, int32_t parent, Node child, ShardReshardStep step);
/// Adds all that one step from a node leads to.
void shardReshardExpand(Search *search, int32_t at);
/// Whether no exchange of a partial value is tried before it is reduced: one comes of an exchange
/// already, or of a local cut, whose parent's exchanges lack no more than its own.
static inline bool exchangesNoMore(const Node *node) {
  return node->nSteps &&
         (node->step.kind == SHARD_RESHARD_SLICE || node->step.kind == SHARD_RESHARD_EXCHANGE);
}
/// Axes that cut a piece or over which the value is partial.
uint32_t shardReshardUsedAxes(const Search *search, const Node *node);

/// Storage of the target's cut with only its first `k` axes, as gathering the others leaves it.
int64_t shardReshardTargetChunk(const Search *search, int32_t p, int k);
/// Axes that a cut shares with the target and that may stay.
int shardReshardCommonPrefix(const Search *search, int32_t p, const Cut *cut);
/// Whether a piece is cut as the target's first axes are, and the target has more.
bool shardReshardWantsMore(const Search *search, int32_t p, const Cut *cut);
/// Fills in search->chunks: those that cutting a piece further over these axes is tried with, the
/// target's first, then the smallest.
void shardReshardChunksAfter(Search *search, int32_t p, const Cut *cut, int n, const uint8_t *axes);

#endif // SHARD_LIB_RESHARD_SEARCH_H
