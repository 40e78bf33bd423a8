//===- LiveTimes.c - From the ops that touch a buffer to its life --*- C -*-===//
// A buffer is live at an op when some run touches it before or there, passes the op, and touches it
// there or after. In one sequence of ops that is from the first touch to the last. Of the regions
// of a branch one run passes only one: each is a sequence of its own, live from its beginning if
// the buffer was touched before the branch, and to its end if it is touched after; regions that are
// not live become gaps.
//===----------------------------------------------------------------------===//

#include "Workspace.h"

#include <stdlib.h>

typedef struct Cover {
  ShardArena *arena;
  const ShardOpTree *tree;
  const ShardTouch *touches;
  ShardPlacementGap *lives; // [lower, upper), in order
  size_t nLives, capacity;
} Cover;

static void addLife(Cover *cover, int64_t first, int64_t last) {
  if (cover->nLives && cover->lives[cover->nLives - 1].upper >= first) {
    cover->lives[cover->nLives - 1].upper = last + 1;
    return;
  }
  cover->lives = shardArenaGrow(cover->arena, cover->lives, cover->nLives, &cover->capacity,
                                cover->nLives + 1, sizeof(*cover->lives));
  cover->lives[cover->nLives++] = (ShardPlacementGap){first, last + 1};
}

/// The op around `position` whose parent is `parent`, or that itself.
static int64_t childOf(const Cover *cover, int64_t position, int64_t parent) {
  while (cover->tree->parents[position] != parent)
    position = cover->tree->parents[position];
  return position;
}

static void coverSequence(Cover *cover, size_t begin, size_t end, int64_t parent, int64_t first,
                          int64_t last, bool before, bool after);

/// The op at `at` holds the touches [begin, end); `before` and `after`: there are others.
static void coverOp(Cover *cover, size_t begin, size_t end, int64_t at, bool before, bool after) {
  const ShardOpTree *tree = cover->tree;
  if ((before && after) || cover->touches[begin] == at) {
    addLife(cover, at, tree->ends[at]);
    return;
  }
  if (!shardIsBranch(tree->ops[at])) {
    coverSequence(cover, begin, end, at, at + 1, tree->ends[at], before, after);
    return;
  }
  if (before)
    addLife(cover, at, at);
  for (int64_t first = at + 1, last; first <= tree->ends[at]; first = last + 1) {
    size_t stop = begin;
    last = tree->blockEnds[first];
    while (stop < end && cover->touches[stop] <= last)
      ++stop;
    coverSequence(cover, begin, stop, at, first, last, before, after);
    begin = stop;
  }
}

/// Ops [first, last], those in them too, all run one after the other.
static void coverSequence(Cover *cover, size_t begin, size_t end, int64_t parent, int64_t first,
                          int64_t last, bool before, bool after) {
  if (before && after) {
    addLife(cover, first, last);
    return;
  }
  if (begin == end)
    return;
  int64_t head = childOf(cover, cover->touches[begin], parent);
  int64_t tail = childOf(cover, cover->touches[end - 1], parent);
  size_t headEnd = begin, tailBegin = end;
  while (headEnd < end && cover->touches[headEnd] <= cover->tree->ends[head])
    ++headEnd;
  while (tailBegin > begin && cover->touches[tailBegin - 1] >= tail)
    --tailBegin;
  if (before && first < head)
    addLife(cover, first, head - 1);
  coverOp(cover, begin, headEnd, head, before, after || head != tail);
  if (head != tail) {
    if (cover->tree->ends[head] + 1 < tail)
      addLife(cover, cover->tree->ends[head] + 1, tail - 1);
    coverOp(cover, tailBegin, end, tail, true, after);
  }
  if (after && cover->tree->ends[tail] < last)
    addLife(cover, cover->tree->ends[tail] + 1, last);
}

static int compareTouches(const void *a, const void *b) {
  const ShardTouch *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

void shardLiveTimesFind(ShardArena *arena, const ShardOpTree *tree, size_t nTouches,
                        ShardTouch *touches, ShardWorkspaceBuffer *out) {
  out->first = INT64_MAX;
  out->last = -1;
  out->nGaps = 0;
  if (!nTouches)
    return;
  qsort(touches, nTouches, sizeof(*touches), compareTouches);
  Cover cover = {.arena = arena, .tree = tree, .touches = touches};
  coverSequence(&cover, 0, nTouches, -1, 0, tree->n - 1, false, false);
  out->first = cover.lives[0].lower;
  out->last = cover.lives[cover.nLives - 1].upper - 1;
  out->nGaps = (int64_t)cover.nLives - 1;
  ShardPlacementGap *gaps = SHARD_ARENA_ARRAY(arena, ShardPlacementGap, out->nGaps);
  for (int64_t k = 0; k < out->nGaps; ++k)
    gaps[k] = (ShardPlacementGap){cover.lives[k].upper, cover.lives[k + 1].lower};
  out->gaps = gaps;
}
