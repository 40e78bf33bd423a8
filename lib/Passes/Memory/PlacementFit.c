//===- PlacementFit.c - Items one by one, each into the lowest gap -*- C -*-===//
// First fit and best fit by a given order: after Pisarchyk and Lee, "Efficient Memory Management
// for Deep Neural Net Inference", 2020 (greedy by size), with other orders beside it.
//===----------------------------------------------------------------------===//

#include "PlacementInternal.h"

#include <string.h>

/// Placed items by offset, in blocks, each with the times that it covers.
enum { BLOCK_ITEMS = 256 };
typedef struct Block {
  int32_t n, first, last;
  int32_t firsts[BLOCK_ITEMS], lasts[BLOCK_ITEMS];
  int64_t offsets[BLOCK_ITEMS], tops[BLOCK_ITEMS];
  const Item *items[BLOCK_ITEMS];
} Block;
typedef struct Stack {
  ShardArena *arena;
  Block **blocks;
  int32_t n;
  bool gaps; // some item has one
} Stack;

int64_t placementAlignUp(int64_t offset, int64_t align) {
  if (align == 1) // most are, and a division takes longer than all the rest
    return offset;
  int64_t rest = offset % align;
  return rest ? offset + align - rest : offset;
}

/// The lowest gap for the item between what is live with it; with `tightest`, the smallest gap.
static int64_t findGap(const Stack *stack, const Item *item, bool tightest, int64_t *nSteps) {
  int64_t end = 0, best = -1, bestGap = INT64_MAX;
  for (int32_t b = 0; b < stack->n; ++b) {
    const Block *block = stack->blocks[b];
    ++*nSteps;
    if (block->first >= item->last || block->last <= item->first)
      continue;
    for (int32_t k = 0; k < block->n; ++k) {
      if (block->firsts[k] >= item->last || block->lasts[k] <= item->first)
        continue;
      if (stack->gaps && !placementItemsConflict(block->items[k], item))
        continue;
      int64_t gap = block->offsets[k] - placementAlignUp(end, item->align);
      if (gap >= item->size && gap < bestGap) {
        best = placementAlignUp(end, item->align);
        bestGap = gap;
        if (!tightest) {
          *nSteps += k;
          return best;
        }
      }
      end = block->tops[k] > end ? block->tops[k] : end;
    }
    *nSteps += block->n;
  }
  return best >= 0 ? best : placementAlignUp(end, item->align);
}

static Block *newBlock(Stack *stack, int32_t at) {
  memmove(stack->blocks + at + 1, stack->blocks + at,
          (size_t)(stack->n - at) * sizeof(*stack->blocks));
  ++stack->n;
  return stack->blocks[at] = SHARD_ARENA_NEW(stack->arena, Block);
}

static void coverTimes(Block *block) {
  block->first = INT32_MAX;
  block->last = 0;
  for (int32_t k = 0; k < block->n; ++k) {
    block->first = block->firsts[k] < block->first ? block->firsts[k] : block->first;
    block->last = block->lasts[k] > block->last ? block->lasts[k] : block->last;
  }
}

static void moveEntries(Block *to, int32_t toAt, const Block *from, int32_t fromAt, int32_t n) {
  memmove(to->firsts + toAt, from->firsts + fromAt, (size_t)n * sizeof(*to->firsts));
  memmove(to->lasts + toAt, from->lasts + fromAt, (size_t)n * sizeof(*to->lasts));
  memmove(to->offsets + toAt, from->offsets + fromAt, (size_t)n * sizeof(*to->offsets));
  memmove(to->tops + toAt, from->tops + fromAt, (size_t)n * sizeof(*to->tops));
  memmove(to->items + toAt, from->items + fromAt, (size_t)n * sizeof(*to->items));
}

static void insert(Stack *stack, const Item *item, int64_t offset) {
  int32_t low = 0, high = stack->n - 1; // the last block that begins at or below `offset`
  while (low < high) {
    int32_t middle = (low + high + 1) / 2;
    if (stack->blocks[middle]->offsets[0] <= offset)
      low = middle;
    else
      high = middle - 1;
  }
  if (!stack->n)
    newBlock(stack, 0)->first = INT32_MAX;
  Block *block = stack->blocks[low];
  if (block->n == BLOCK_ITEMS) {
    Block *half = newBlock(stack, low + 1);
    half->n = BLOCK_ITEMS / 2;
    block->n -= half->n;
    moveEntries(half, 0, block, block->n, half->n);
    coverTimes(block);
    coverTimes(half);
    if (half->offsets[0] <= offset)
      block = half;
  }
  int32_t at = block->n;
  while (at > 0 && block->offsets[at - 1] > offset)
    --at;
  moveEntries(block, at + 1, block, at, block->n - at);
  ++block->n;
  block->firsts[at] = item->first;
  block->lasts[at] = item->last;
  block->offsets[at] = offset;
  block->tops[at] = offset + item->size;
  block->items[at] = item;
  block->first = item->first < block->first ? item->first : block->first;
  block->last = item->last > block->last ? item->last : block->last;
}

int64_t placementFit(const Part *part, const int32_t *order, bool tightest, int64_t *outOffsets,
                     int64_t *nSteps) {
  ShardArena *arena = shardArenaCreate();
  Stack stack = {.arena = arena,
                 .blocks = SHARD_ARENA_ARRAY(arena, Block *, 2 * part->nItems / BLOCK_ITEMS + 2)};
  int64_t height = 0;
  for (int32_t i = 0; i < part->nItems; ++i)
    stack.gaps |= part->items[i].nGaps > 0;
  for (int32_t k = 0; k < part->nItems; ++k) {
    const Item *item = &part->items[order[k]];
    int64_t offset = findGap(&stack, item, tightest, nSteps);
    insert(&stack, item, offset);
    outOffsets[order[k]] = offset;
    height = offset + item->size > height ? offset + item->size : height;
  }
  shardArenaDestroy(arena);
  return height;
}

void placementFitReorder(const Part *part, const int64_t *offsets, int64_t limit, int32_t *order,
                         int32_t *scratch) {
  int32_t n = part->nItems, high = 0,
          low = 0; // the next that reaches above, the next that does not
  for (int32_t place = 0; place < n; ++place) {
    while (high < n && offsets[order[high]] + part->items[order[high]].size <= limit)
      ++high;
    while (low < n && offsets[order[low]] + part->items[order[low]].size > limit)
      ++low;
    bool isHigh = low == n || (high < n && high / 2 <= place);
    scratch[place] = isHigh ? order[high++] : order[low++];
  }
  memcpy(order, scratch, (size_t)n * sizeof(*order));
}
