//===- PlacementInstance.c - One form for all that are the same ---*- C -*-===//

#include "PlacementInternal.h"

#include <stdlib.h>
#include <string.h>

typedef struct Event {
  int64_t time;
  int32_t *clique; // of an item or a gap, to be found
  bool starts;
} Event;

// Ends come before starts of the same time.
static int compareEvents(const void *a, const void *b) {
  const Event *x = a, *y = b;
  if (x->time != y->time)
    return x->time < y->time ? -1 : 1;
  return (int)x->starts - (int)y->starts;
}

static int compareNumbers(int64_t a, int64_t b) { return (a > b) - (a < b); }

int placementCompareGaps(const Item *a, const Item *b) {
  int order = compareNumbers(a->nGaps, b->nGaps);
  for (int32_t k = 0; k < a->nGaps && !order; ++k) {
    order = compareNumbers(a->gaps[k].first, b->gaps[k].first);
    if (!order)
      order = compareNumbers(a->gaps[k].last, b->gaps[k].last);
  }
  return order;
}

/// Clique `c`, or the end of the item's gap that it is in. `*gap`: the gap to look at, from 0 on
/// while `c` grows.
static int32_t skipGap(const Item *item, int32_t c, int32_t *gap) {
  while (*gap < item->nGaps && item->gaps[*gap].last <= c)
    ++*gap;
  return *gap < item->nGaps && item->gaps[*gap].first <= c ? item->gaps[*gap].last : c;
}

bool placementItemsConflict(const Item *a, const Item *b) {
  int32_t c = a->first > b->first ? a->first : b->first;
  int32_t end = a->last < b->last ? a->last : b->last, gapA = 0, gapB = 0;
  for (int32_t before = -1; c < end && c != before;) {
    before = c;
    c = skipGap(b, skipGap(a, c, &gapA), &gapB);
  }
  return c < end;
}

// All that makes items differ, so that ties do not matter.
static int compareShapes(const Item *a, const Item *b) {
  int order = compareNumbers(a->first, b->first);
  if (!order)
    order = compareNumbers(a->last, b->last);
  if (!order)
    order = compareNumbers(a->size, b->size);
  if (!order)
    order = compareNumbers(a->align, b->align);
  if (!order)
    order = placementCompareGaps(a, b);
  return order ? order : (a->duration > b->duration) - (a->duration < b->duration);
}

static int compareItems(const void *a, const void *b) {
  const Item *x = a, *y = b;
  int order = compareShapes(x, y);
  return order ? order : compareNumbers(x->buffer, y->buffer);
}

static int64_t gcd(int64_t a, int64_t b) {
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

static double durationOf(const ShardPlacementBuffer *buffer) {
  uint64_t duration = (uint64_t)buffer->upper - (uint64_t)buffer->lower;
  for (int64_t k = 0; k < buffer->nGaps; ++k)
    duration -= (uint64_t)buffer->gaps[k].upper - (uint64_t)buffer->gaps[k].lower;
  return (double)duration;
}

/// Takes buffers with bytes; returns how many.
static int32_t takeItems(ShardArena *arena, int64_t nBuffers, const ShardPlacementBuffer *buffers,
                         Item *items) {
  int32_t n = 0;
  for (int64_t i = 0; i < nBuffers; ++i) {
    const ShardPlacementBuffer *buffer = &buffers[i];
    if (buffer->sizeBytes > 0)
      items[n++] =
          (Item){.size = buffer->sizeBytes,
                 .align = buffer->alignment > 1 ? buffer->alignment : 1,
                 .buffer = i,
                 .duration = durationOf(buffer),
                 .nGaps = (int32_t)buffer->nGaps,
                 .gaps = buffer->nGaps ? SHARD_ARENA_ARRAY(arena, Gap, buffer->nGaps) : NULL};
  }
  return n;
}

/// Gaps in which no clique lies are none.
static void dropEmptyGaps(Item *item) {
  int32_t n = 0;
  for (int32_t k = 0; k < item->nGaps; ++k)
    if (item->gaps[k].first < item->gaps[k].last)
      item->gaps[n++] = item->gaps[k];
  item->nGaps = n;
}

/// The starts and ends of each time that an item is live without a gap.
static int32_t listEvents(const ShardPlacementBuffer *buffers, int32_t nItems, Item *items,
                          Event *events) {
  int32_t n = 0;
  for (int32_t i = 0; i < nItems; ++i) {
    const ShardPlacementBuffer *buffer = &buffers[items[i].buffer];
    events[n++] = (Event){buffer->lower, &items[i].first, true};
    for (int32_t k = 0; k < items[i].nGaps; ++k) {
      events[n++] = (Event){buffer->gaps[k].lower, &items[i].gaps[k].first, false};
      events[n++] = (Event){buffer->gaps[k].upper, &items[i].gaps[k].last, true};
    }
    events[n++] = (Event){buffer->upper, &items[i].last, false};
  }
  return n;
}

/// Sets the cliques of items: one ends with the first buffer that ends after one began.
static int32_t findCliques(ShardArena *arena, const ShardPlacementBuffer *buffers, int32_t nItems,
                           Item *items) {
  size_t most = 2 * (size_t)nItems;
  for (int32_t i = 0; i < nItems; ++i)
    most += 2 * (size_t)items[i].nGaps;
  Event *events = SHARD_ARENA_ARRAY(arena, Event, most);
  int32_t nEvents = listEvents(buffers, nItems, items, events);
  qsort(events, (size_t)nEvents, sizeof(*events), compareEvents);
  int32_t nCliques = 0;
  bool begun = false;
  for (int32_t e = 0; e < nEvents; ++e) {
    nCliques += begun && !events[e].starts;
    *events[e].clique = nCliques;
    begun = events[e].starts;
  }
  for (int32_t i = 0; i < nItems; ++i)
    dropEmptyGaps(&items[i]);
  return nCliques;
}

/// Divides sizes and alignments by what they have in common. An alignment of 1 says nothing: where
/// all rest on others or on the ground, offsets are sums of sizes, rounded up.
static int64_t divideByUnit(int32_t nItems, Item *items) {
  int64_t unit = 0;
  for (int32_t i = 0; i < nItems; ++i) {
    unit = gcd(items[i].size, unit);
    if (items[i].align > 1)
      unit = gcd(items[i].align, unit);
  }
  for (int32_t i = 0; i < nItems; ++i) {
    items[i].size /= unit;
    items[i].align = items[i].align > 1 ? items[i].align / unit : 1;
  }
  return unit ? unit : 1;
}

static Item mirror(ShardArena *arena, const Item *item, int32_t nCliques) {
  Item mirrored = *item;
  mirrored.first = nCliques - item->last;
  mirrored.last = nCliques - item->first;
  mirrored.gaps = item->nGaps ? SHARD_ARENA_ARRAY(arena, Gap, item->nGaps) : NULL;
  for (int32_t k = 0; k < item->nGaps; ++k) {
    const Gap *gap = &item->gaps[item->nGaps - 1 - k];
    mirrored.gaps[k] = (Gap){nCliques - gap->last, nCliques - gap->first};
  }
  return mirrored;
}

/// Of the two directions of time, the one whose sorted items come first.
static Item *chooseDirection(ShardArena *arena, int32_t nItems, int32_t nCliques, Item *items) {
  Item *mirrored = SHARD_ARENA_ARRAY(arena, Item, nItems);
  for (int32_t i = 0; i < nItems; ++i)
    mirrored[i] = mirror(arena, &items[i], nCliques);
  qsort(items, (size_t)nItems, sizeof(*items), compareItems);
  qsort(mirrored, (size_t)nItems, sizeof(*items), compareItems);
  for (int32_t i = 0; i < nItems; ++i) {
    int order = compareShapes(&items[i], &mirrored[i]);
    if (order)
      return order < 0 ? items : mirrored;
  }
  return items;
}

/// Counts what is live in each clique of the part, and the bound that this gives.
static void countLive(ShardArena *arena, Part *part) {
  part->live = SHARD_ARENA_ARRAY(arena, int64_t, part->nCliques + 1);
  for (int32_t i = 0; i < part->nItems; ++i) {
    const Item *item = &part->items[i];
    part->live[item->first] += item->size;
    part->live[item->last] -= item->size;
    for (int32_t k = 0; k < item->nGaps; ++k) {
      part->live[item->gaps[k].first] -= item->size;
      part->live[item->gaps[k].last] += item->size;
    }
  }
  for (int32_t c = 0; c < part->nCliques; ++c) {
    part->live[c] += c ? part->live[c - 1] : 0;
    part->bound = part->live[c] > part->bound ? part->live[c] : part->bound;
  }
}

/// Cuts the sorted items where none is live on both sides.
static void cutIntoParts(ShardArena *arena, Instance *instance, int32_t nItems, Item *items) {
  instance->parts = SHARD_ARENA_ARRAY(arena, Part, nItems);
  for (int32_t begin = 0, end; begin < nItems; begin = end) {
    int32_t first = items[begin].first, last = items[begin].last;
    for (end = begin + 1; end < nItems && items[end].first < last; ++end)
      last = items[end].last > last ? items[end].last : last;
    Part *part = &instance->parts[instance->nParts++];
    *part = (Part){.nItems = end - begin, .nCliques = last - first, .items = items + begin};
    for (int32_t i = begin; i < end; ++i) {
      items[i].first -= first;
      items[i].last -= first;
      for (int32_t k = 0; k < items[i].nGaps; ++k) {
        items[i].gaps[k].first -= first;
        items[i].gaps[k].last -= first;
      }
    }
    part->offsets = SHARD_ARENA_ARRAY(arena, int64_t, part->nItems);
    part->height = INT64_MAX;
    countLive(arena, part);
  }
}

void placementInstanceBuild(ShardArena *arena, int64_t nBuffers,
                            const ShardPlacementBuffer *buffers, Instance *out) {
  Item *items = SHARD_ARENA_ARRAY(arena, Item, nBuffers);
  int32_t nItems = takeItems(arena, nBuffers, buffers, items);
  int32_t nCliques = findCliques(arena, buffers, nItems, items);
  *out = (Instance){.unit = divideByUnit(nItems, items)};
  cutIntoParts(arena, out, nItems, chooseDirection(arena, nItems, nCliques, items));
}
