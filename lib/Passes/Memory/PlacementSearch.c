//===- PlacementSearch.c - Is there a placement of this height? ---*- C -*-===//
// After Moffitt, "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine
// Learning", ASPLOS 2023. If there is a placement, there is one in which nothing can be moved down;
// then each item rests on others, and placing items by ascending offset, each where it rests on
// those before, leads to it. Depth first over such sequences:
//   - Nothing is placed at or above where an unplaced item would end: that one could be moved down.
//   - A clique needs the sizes of its unplaced items above the lowest of them, whose offset is at
//     least that of what was placed last.
//   - Where no unplaced item crosses a moment, the two sides are searched one after the other.
// Beyond the paper:
//   - Once an item was tried where it rests, it rests on one that is still to come, or all is lost:
//     that raises the floors of its cliques at once, and often ends the node.
//   - A set of unplaced items that rest at the same offsets as a set that failed, with the same
//     items tried, fails too. Sets are told apart by 128 bits.
//   - Items that are alike are tried once.
//===----------------------------------------------------------------------===//

#include "PlacementState.h"

#include <string.h>

/// Unplaced items of cliques [first, last), no other of whose items is unplaced.
typedef struct Set {
  int32_t first, last;
  size_t items; // where they begin in `lists`, in the order of trial, some placed since
  int32_t nItems;
  StateHash hash; // of the unplaced ones
} Set;

/// A node: a set and those of its items that can come next. Or, if `isParts`, a set that falls
/// apart.
typedef struct Frame {
  Set set;
  bool isParts, isBare;
  int32_t partEnd;         // parts: the clique at which the next begins
  StateHash key;           // of the set with what was tried
  size_t candidates;       // where they begin
  int32_t nCandidates, at; // the one on trial
  size_t listsEnd;         // when the frame began
  int64_t offset;          // of the last trial
  StateMark begin, mark;   // before the node; before the item on trial
} Frame;

enum { MEMO_BITS = 14, STEPS_PER_EFFORT = 1024 };

struct Search {
  ShardArena *arena;
  const Part *part;
  State *state;
  int32_t *twin; // [n] the first item that is alike
  int32_t *lists;
  size_t nLists, listsCapacity;
  int32_t *candidates;
  size_t nCandidates, candidatesCapacity;
  Frame *frames;
  size_t nFrames, framesCapacity;
  StateHash *memo; // [1 << MEMO_BITS] keys of failures
  const Order *order;
  double *weights;
  OrderRow *rows;
  // Of this run.
  int64_t capacity, exceeded, nNodes;
  SearchLimits limits;
};

static bool areAlike(const Item *a, const Item *b) {
  return a->first == b->first && a->last == b->last && a->size == b->size && a->align == b->align &&
         !placementCompareGaps(a, b);
}

Search *placementSearchCreate(ShardArena *arena, const Part *part) {
  Search *search = SHARD_ARENA_NEW(arena, Search);
  int32_t n = part->nItems;
  *search = (Search){.arena = arena, .part = part, .state = placementStateCreate(arena, part)};
  if (!search->state)
    return NULL;
  search->twin = SHARD_ARENA_ARRAY(arena, int32_t, n);
  for (int32_t i = 0; i < n; ++i)
    search->twin[i] = i && areAlike(&part->items[i], &part->items[i - 1]) ? search->twin[i - 1] : i;
  search->memo = SHARD_ARENA_ARRAY(arena, StateHash, 1 << MEMO_BITS);
  search->weights = SHARD_ARENA_ARRAY(arena, double, (size_t)n *N_ORDER_KEYS);
  search->rows = SHARD_ARENA_ARRAY(arena, OrderRow, n);
  return search;
}

static int32_t *reserve(Search *search, int32_t **array, size_t n, size_t *capacity, size_t more) {
  if (n + more > *capacity)
    *array = shardArenaGrow(search->arena, *array, n, capacity, n + more, sizeof(int32_t));
  return *array + n;
}

static void noteExceeded(Search *search, int64_t height) {
  search->exceeded = height < search->exceeded ? height : search->exceeded;
}

static bool wasRefused(const State *state, int32_t i) { return state->least[i] > state->rest[i]; }

//===----------------------------------------------------------------------===//
// A node
//===----------------------------------------------------------------------===//

/// Drops placed items from a set's list once they are half of it.
static void compactSet(Search *search, Set *set, int32_t nUnplaced) {
  if (2 * nUnplaced >= set->nItems)
    return;
  int32_t *to =
      reserve(search, &search->lists, search->nLists, &search->listsCapacity, (size_t)nUnplaced);
  const int32_t *items = search->lists + set->items;
  for (int32_t k = 0, n = 0; k < set->nItems; ++k)
    if (!search->state->placed[items[k]])
      to[n++] = items[k];
  set->items = search->nLists;
  set->nItems = nUnplaced;
  search->nLists += (size_t)nUnplaced;
}

/// Lists what can come next by where it rests, then in the order of trial; returns how many items
/// are unplaced.
static int32_t findCandidates(Search *search, Frame *frame) {
  const State *state = search->state;
  const int32_t *items = search->lists + frame->set.items;
  int64_t lowestTop = INT64_MAX;
  int32_t nUnplaced = 0;
  search->state->nSteps += 2 * frame->set.nItems + frame->set.last - frame->set.first;
  for (int32_t k = 0; k < frame->set.nItems; ++k) {
    int32_t i = items[k];
    if (state->placed[i])
      continue;
    ++nUnplaced;
    int64_t top = state->rest[i] + state->part->items[i].size;
    lowestTop = top < lowestTop ? top : lowestTop;
    if (wasRefused(state, i))
      placementHashAdd(&frame->key, state, i, -1);
  }
  int32_t *candidates = reserve(search, &search->candidates, search->nCandidates,
                                &search->candidatesCapacity, (size_t)nUnplaced);
  int32_t n = 0;
  for (int32_t k = 0; k < frame->set.nItems; ++k) {
    int32_t i = items[k], at = n;
    if (state->placed[i] || state->rest[i] >= lowestTop || wasRefused(state, i))
      continue;
    for (++n; at > 0 && state->rest[candidates[at - 1]] > state->rest[i]; --at)
      candidates[at] = candidates[at - 1];
    candidates[at] = i;
  }
  frame->candidates = search->nCandidates;
  frame->nCandidates = n;
  search->nCandidates += (size_t)n;
  return nUnplaced;
}

static Frame *pushFrame(Search *search, const Set *set) {
  if (search->nFrames == search->framesCapacity)
    search->frames = shardArenaGrow(search->arena, search->frames, search->nFrames,
                                    &search->framesCapacity, search->nFrames + 1, sizeof(Frame));
  Frame *frame = &search->frames[search->nFrames++];
  *frame = (Frame){.set = *set,
                   .key = set->hash,
                   .candidates = search->nCandidates,
                   .at = -1,
                   .listsEnd = search->nLists,
                   .offset = -1,
                   .begin = placementStateMark(search->state)};
  return frame;
}

static void popFrame(Search *search) {
  const Frame *frame = &search->frames[--search->nFrames];
  search->nLists = frame->listsEnd;
  search->nCandidates = frame->candidates;
}

static StateHash *memoOf(const Search *search, const StateHash *key) {
  return &search->memo[key->a >> (64 - MEMO_BITS)];
}

/// Begins a node for the set. FOUND: all are placed; EXHAUSTED: it failed before; else STOPPED, and
/// there is a frame to go on with.
static SearchStatus enterNode(Search *search, const Set *set) {
  Frame *frame = pushFrame(search, set);
  int32_t nUnplaced = findCandidates(search, frame);
  const StateHash *memo = memoOf(search, &frame->key);
  if (!nUnplaced || (memo->a == frame->key.a && memo->b == frame->key.b)) {
    popFrame(search);
    return nUnplaced ? SEARCH_EXHAUSTED : SEARCH_FOUND;
  }
  compactSet(search, &frame->set, nUnplaced);
  return SEARCH_STOPPED;
}

/// The last trial failed, if there was one: what follows for the rest? False: the node fails.
static bool learnFromTrial(Search *search, Frame *frame) {
  if (frame->at < 0)
    return true;
  placementStateTakeBack(search->state, frame->mark);
  if (frame->isBare)
    return false;
  int32_t tried = search->candidates[frame->candidates + (size_t)frame->at];
  for (int32_t k = frame->at; k < frame->nCandidates; ++k) {
    int32_t i = search->candidates[frame->candidates + (size_t)k];
    if (search->twin[i] != search->twin[tried] || search->state->rest[i] != frame->offset ||
        wasRefused(search->state, i))
      continue;
    int64_t height = placementStateRefuse(search->state, i, frame->offset, search->capacity);
    if (height > search->capacity) {
      noteExceeded(search, height);
      return false;
    }
  }
  return true;
}

/// Nothing more is placed below where `item` rests: can that be?
static bool canRise(Search *search, Frame *frame, int32_t item) {
  if (search->state->rest[item] == frame->offset)
    return true;
  frame->offset = search->state->rest[item];
  int64_t height =
      placementStateBound(search->state, frame->set.first, frame->set.last, frame->offset);
  if (height > search->capacity)
    noteExceeded(search, height);
  return height <= search->capacity;
}

/// Places the next candidate that leaves a chance. False: there is none.
static bool tryNext(Search *search, Frame *frame, Set *outSet, bool *outSplits) {
  State *state = search->state;
  while (learnFromTrial(search, frame)) {
    int32_t item;
    do {
      if (++frame->at >= frame->nCandidates)
        return false;
      item = search->candidates[frame->candidates + (size_t)frame->at];
    } while (wasRefused(state, item));
    if (!canRise(search, frame, item))
      return false;
    ++search->nNodes;
    frame->mark = placementStateMark(state);
    *outSet = frame->set;
    PlaceEffect effect = placementStatePlace(state, item, search->capacity, &outSet->hash);
    frame->isBare = effect.isBare;
    *outSplits = effect.splits;
    if (effect.height <= search->capacity)
      return true;
    noteExceeded(search, effect.height);
  }
  return false;
}

static void failNode(Search *search, const Frame *frame) {
  placementStateTakeBack(search->state, frame->begin);
  *memoOf(search, &frame->key) = frame->key;
  popFrame(search);
}

//===----------------------------------------------------------------------===//
// Sets that fall apart
//===----------------------------------------------------------------------===//

static void sortItems(Search *search, int32_t n, int32_t *items) {
  placementOrderSort(search->part, search->order, search->weights, search->state->total, n, items,
                     search->rows);
}

/// The next part of a frame's set that has unplaced items, in their order anew. False: no more.
static bool nextPart(Search *search, Frame *frame, Set *outPart) {
  const State *state = search->state;
  search->nLists = frame->listsEnd;
  for (int32_t begin = frame->partEnd, end; begin < frame->set.last; begin = end) {
    for (end = begin + 1; end < frame->set.last && state->cut[end - 1] > 0; ++end)
      ;
    frame->partEnd = end;
    *outPart = (Set){.first = begin, .last = end, .items = search->nLists};
    int32_t *to = reserve(search, &search->lists, search->nLists, &search->listsCapacity,
                          (size_t)frame->set.nItems);
    const int32_t *items = search->lists + frame->set.items;
    for (int32_t k = 0; k < frame->set.nItems; ++k) {
      int32_t i = items[k], first = state->part->items[i].first;
      if (state->placed[i] || first < begin || first >= end)
        continue;
      to[outPart->nItems++] = i;
      placementHashAdd(&outPart->hash, state, i, state->rest[i]);
    }
    if (!outPart->nItems)
      continue;
    search->nLists += (size_t)outPart->nItems;
    if (placementOrderUsesTotals(search->order))
      sortItems(search, outPart->nItems, to);
    return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// A run
//===----------------------------------------------------------------------===//

static int64_t effortOf(const Search *search) { return search->state->nSteps / STEPS_PER_EFFORT; }

static bool mustStop(const Search *search) {
  return search->nNodes >= search->limits.maxNodes || effortOf(search) > search->limits.maxEffort ||
         (search->nNodes % 256 == 0 && placementDeadlinePassed(search->limits.deadlineNs));
}

/// Goes on with the last frame, given the status of what it began. STOPPED: there is more to do.
static SearchStatus step(Search *search, SearchStatus status) {
  Frame *frame = &search->frames[search->nFrames - 1];
  Set set;
  if (frame->isParts) {
    if (status == SEARCH_EXHAUSTED || !nextPart(search, frame, &set)) {
      popFrame(search);
      return status == SEARCH_EXHAUSTED ? SEARCH_EXHAUSTED : SEARCH_FOUND;
    }
    return enterNode(search, &set);
  }
  if (status == SEARCH_FOUND) {
    popFrame(search);
    return SEARCH_FOUND;
  }
  bool splits = false;
  if (!tryNext(search, frame, &set, &splits)) {
    failNode(search, frame);
    return SEARCH_EXHAUSTED;
  }
  if (!splits)
    return enterNode(search, &set);
  frame = pushFrame(search, &set);
  frame->isParts = true;
  frame->partEnd = set.first;
  return SEARCH_STOPPED;
}

static SearchStatus searchAll(Search *search) {
  int32_t n = search->part->nItems;
  search->nFrames = search->nLists = search->nCandidates = 0;
  Set all = {.last = search->part->nCliques, .nItems = n};
  int32_t *items = reserve(search, &search->lists, 0, &search->listsCapacity, (size_t)n);
  for (int32_t i = 0; i < n; ++i) {
    items[i] = i;
    placementHashAdd(&all.hash, search->state, i, 0);
  }
  search->nLists = (size_t)n;
  sortItems(search, n, items);
  int64_t height = placementStateBound(search->state, 0, all.last, 0);
  if (height > search->capacity) {
    noteExceeded(search, height);
    return SEARCH_EXHAUSTED;
  }
  SearchStatus status = enterNode(search, &all);
  while (search->nFrames) {
    if (mustStop(search))
      return SEARCH_STOPPED;
    status = step(search, status);
  }
  return status;
}

SearchOutcome placementSearchRun(Search *search, const Order *order, uint32_t spread, uint32_t seed,
                                 int64_t capacity, SearchLimits limits, int64_t *outOffsets) {
  placementStateReset(search->state);
  memset(search->memo, 0, sizeof(*search->memo) << MEMO_BITS);
  placementOrderWeigh(search->part, order, spread, seed, search->weights);
  search->order = order;
  search->capacity = capacity;
  search->exceeded = INT64_MAX;
  search->nNodes = 0;
  search->limits = limits;
  SearchStatus status = searchAll(search);
  if (status == SEARCH_FOUND)
    memcpy(outOffsets, search->state->rest, (size_t)search->part->nItems * sizeof(*outOffsets));
  return (SearchOutcome){status, search->exceeded, search->nNodes, effortOf(search)};
}
