//===- PlacementInstance.c - One form for all that are the same ---*- C -*-===//

#include "PlacementInternal.h"

#include <stdlib.h>
#include <string.h>

typedef struct Event {
  int64_t time;
  int32_t item;
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

// All that makes items differ, so that ties do not matter.
static int compareShapes(const Item *a, const Item *b) {
  int order = compareNumbers(a->first, b->first);
  if (!order)
    order = compareNumbers(a->last, b->last);
  if (!order)
    order = compareNumbers(a->size, b->size);
  if (!order)
    order = compareNumbers(a->align, b->align);
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

/// Takes buffers with bytes; returns how many.
static int32_t takeItems(int64_t nBuffers, const ShardPlacementBuffer *buffers, Item *items) {
  int32_t n = 0;
  for (int64_t i = 0; i < nBuffers; ++i)
    if (buffers[i].sizeBytes > 0)
      items[n++] =
          (Item){.size = buffers[i].sizeBytes,
                 .align = buffers[i].alignment > 1 ? buffers[i].alignment : 1,
                 .buffer = i,
                 .duration = (double)((uint64_t)buffers[i].upper - (uint64_t)buffers[i].lower)};
  return n;
}

/// Sets the cliques of items: one ends with the first buffer that ends after one began.
static int32_t findCliques(ShardArena *arena, const ShardPlacementBuffer *buffers, int32_t nItems,
                           Item *items) {
  Event *events = SHARD_ARENA_ARRAY(arena, Event, 2 * (size_t)nItems);
  for (int32_t i = 0; i < nItems; ++i) {
    const ShardPlacementBuffer *buffer = &buffers[items[i].buffer];
    events[2 * i] = (Event){buffer->lower, i, true};
    events[2 * i + 1] = (Event){buffer->upper, i, false};
  }
  qsort(events, 2 * (size_t)nItems, sizeof(*events), compareEvents);
  int32_t nCliques = 0;
  bool begun = false;
  for (int32_t e = 0; e < 2 * nItems; ++e) {
    Item *item = &items[events[e].item];
    if (events[e].starts) {
      item->first = nCliques;
    } else {
      nCliques += begun;
      item->last = nCliques;
    }
    begun = events[e].starts;
  }
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

/// Of the two directions of time, the one whose sorted items come first.
static Item *chooseDirection(ShardArena *arena, int32_t nItems, int32_t nCliques, Item *items) {
  Item *mirrored = SHARD_ARENA_ARRAY(arena, Item, nItems);
  for (int32_t i = 0; i < nItems; ++i) {
    mirrored[i] = items[i];
    mirrored[i].first = nCliques - items[i].last;
    mirrored[i].last = nCliques - items[i].first;
  }
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
    part->live[part->items[i].first] += part->items[i].size;
    part->live[part->items[i].last] -= part->items[i].size;
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
    }
    part->offsets = SHARD_ARENA_ARRAY(arena, int64_t, part->nItems);
    part->height = INT64_MAX;
    countLive(arena, part);
  }
}

void placementInstanceBuild(ShardArena *arena, int64_t nBuffers,
                            const ShardPlacementBuffer *buffers, Instance *out) {
  Item *items = SHARD_ARENA_ARRAY(arena, Item, nBuffers);
  int32_t nItems = takeItems(nBuffers, buffers, items);
  int32_t nCliques = findCliques(arena, buffers, nItems, items);
  *out = (Instance){.unit = divideByUnit(nItems, items)};
  cutIntoParts(arena, out, nItems, chooseDirection(arena, nItems, nCliques, items));
}
