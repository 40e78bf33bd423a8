//===- Nodes.c - Dimensions that run together, and how they split -*- C -*-===//

#include "RulesInternal.h"

int32_t shardNodeCreate(ShardRuleBuilder *b, int64_t size) {
  b->nodes = shardArenaGrow(b->arena, b->nodes, b->nNodes, &b->nodeCapacity, b->nNodes + 1,
                            sizeof(ShardNode));
  int32_t id = (int32_t)b->nNodes++;
  b->nodes[id] = (ShardNode){.size = size, .parent = id, .klass = -1};
  return id;
}

int32_t shardNodeFind(ShardRuleBuilder *b, int32_t id) {
  while (b->nodes[id].parent != id) {
    b->nodes[id].parent = b->nodes[b->nodes[id].parent].parent;
    id = b->nodes[id].parent;
  }
  return id;
}

/// A node that is the product of `ids` (unit ones are dropped): the only one itself, or a new node.
int32_t shardNodeProduct(ShardRuleBuilder *b, int32_t n, const int32_t *ids) {
  int32_t *children = SHARD_ARENA_ARRAY(b->arena, int32_t, n ? n : 1);
  int32_t count = 0;
  int64_t size = 1;
  for (int32_t i = 0; i < n; ++i) {
    size *= b->nodes[ids[i]].size;
    if (b->nodes[ids[i]].size != 1)
      children[count++] = ids[i];
  }
  if (count == 1)
    return children[0];
  int32_t id = shardNodeCreate(b, size);
  b->nodes[id].nChildren = count;
  b->nodes[id].children = children;
  return id;
}

void shardNodeAppendLeaves(ShardRuleBuilder *b, int32_t id, int32_t **list, int32_t *n,
                           size_t *capacity) {
  id = shardNodeFind(b, id);
  if (b->nodes[id].size == 1)
    return;
  if (b->nodes[id].nChildren == 0) {
    *list = shardArenaGrow(b->arena, *list, (size_t)*n, capacity, (size_t)*n + 1, sizeof(int32_t));
    (*list)[(*n)++] = id;
    return;
  }
  for (int32_t i = 0; i < b->nodes[id].nChildren; ++i)
    shardNodeAppendLeaves(b, b->nodes[id].children[i], list, n, capacity);
}

static void splitLeaf(ShardRuleBuilder *b, int32_t leaf, int64_t major) {
  int32_t *children = SHARD_ARENA_ARRAY(b->arena, int32_t, 2);
  int64_t size = b->nodes[leaf].size;
  children[0] = shardNodeCreate(b, major);
  children[1] = shardNodeCreate(b, size / major);
  b->nodes[leaf].nChildren = 2;
  b->nodes[leaf].children = children;
}

void shardNodeCut(ShardRuleBuilder *b, int32_t id, int64_t major) {
  int32_t *leaves = NULL, n = 0;
  size_t capacity = 0;
  shardNodeAppendLeaves(b, id, &leaves, &n, &capacity);
  int64_t above = 1;
  for (int32_t i = 0; i < n && above < major; ++i) {
    int32_t leaf = shardNodeFind(b, leaves[i]);
    int64_t size = b->nodes[leaf].size, part = major / above;
    if (part < size && major % above == 0 && size % part == 0)
      splitLeaf(b, leaf, part);
    above *= size;
  }
}

/// Ties two nodes of equal size. Split ones are aligned leaf by leaf; where the sizes do not align
/// (6 as 2x3 and as 3x2) the rest stays untied, and the rule of the op keeps those atoms whole.
void shardNodeTie(ShardRuleBuilder *b, int32_t x, int32_t y) {
  x = shardNodeFind(b, x), y = shardNodeFind(b, y);
  if (x == y || b->nodes[x].size != b->nodes[y].size || b->nodes[x].size == 1)
    return;
  if (b->nodes[y].nChildren == 0) {
    b->nodes[y].parent = x;
    return;
  }
  if (b->nodes[x].nChildren == 0) {
    b->nodes[x].parent = y;
    return;
  }
  int32_t *left = NULL, *right = NULL, nLeft = 0, nRight = 0;
  size_t leftCapacity = 0, rightCapacity = 0;
  shardNodeAppendLeaves(b, x, &left, &nLeft, &leftCapacity);
  shardNodeAppendLeaves(b, y, &right, &nRight, &rightCapacity);
  int32_t i = 0, j = 0;
  while (i < nLeft && j < nRight) {
    int32_t l = shardNodeFind(b, left[i]), r = shardNodeFind(b, right[j]);
    // A leaf may have been split by an earlier step when a class occurs twice.
    if (b->nodes[l].nChildren || b->nodes[r].nChildren) {
      left = right = NULL, nLeft = nRight = 0, leftCapacity = rightCapacity = 0;
      shardNodeAppendLeaves(b, x, &left, &nLeft, &leftCapacity);
      shardNodeAppendLeaves(b, y, &right, &nRight, &rightCapacity);
      i = j = 0;
      continue;
    }
    int64_t sizeLeft = b->nodes[l].size, sizeRight = b->nodes[r].size;
    if (l == r || sizeLeft == sizeRight) {
      if (l != r)
        b->nodes[r].parent = l;
      ++i, ++j;
    } else if (sizeLeft % sizeRight == 0) {
      splitLeaf(b, l, sizeRight);
    } else if (sizeRight % sizeLeft == 0) {
      splitLeaf(b, r, sizeLeft);
    } else {
      return;
    }
  }
  // The children of both now are the same leaves: let one stand for both.
  x = shardNodeFind(b, x), y = shardNodeFind(b, y);
  if (x != y)
    b->nodes[y].parent = x;
}
