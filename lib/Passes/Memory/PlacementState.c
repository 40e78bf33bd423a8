//===- PlacementState.c - A placement that is half done -----------*- C -*-===//

#include "PlacementState.h"

#include <string.h>

enum { MAX_NEIGHBOURS = 1 << 23, MAX_MEMBERS = 1 << 23 };

static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
  x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
  return x ^ x >> 32;
}

static StateHash hashOf(const State *state, int32_t item, int64_t rest) {
  uint64_t x = mix(state->salt[item] + (uint64_t)rest);
  return (StateHash){x, mix(x ^ state->salt[item] ^ UINT64_C(0x94d049bb133111eb))};
}

void placementHashAdd(StateHash *hash, const State *state, int32_t item, int64_t rest) {
  StateHash more = hashOf(state, item, rest);
  hash->a += more.a;
  hash->b += more.b;
}

static void hashRemove(StateHash *hash, const State *state, int32_t item, int64_t rest) {
  StateHash less = hashOf(state, item, rest);
  hash->a -= less.a;
  hash->b -= less.b;
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

/// Items are sorted by their first clique, so later neighbours of one stand behind it in a run.
static bool findNeighbours(State *state) {
  const Item *items = state->part->items;
  int64_t n = 0;
  for (int pass = 0; pass < 2; ++pass) {
    int32_t *end = state->neighbourBegin + 1; // of each item, while they are filled
    for (int32_t i = 0; i < state->n; ++i)
      for (int32_t j = i + 1; j < state->n && items[j].first < items[i].last; ++j) {
        if (!placementItemsConflict(&items[i], &items[j]))
          continue;
        if (pass) {
          state->neighbours[end[i]++] = j;
          state->neighbours[end[j]++] = i;
        } else {
          ++end[i];
          ++end[j];
          n += 2;
        }
        if (n > MAX_NEIGHBOURS)
          return false;
      }
    if (pass)
      return true;
    state->neighbours = SHARD_ARENA_ARRAY(state->arena, int32_t, n);
    for (int32_t i = 0, begin = 0; i < state->n; ++i) { // counts to begins, one place on
      int32_t count = end[i];
      end[i] = begin;
      begin += count;
    }
  }
  return true;
}

static bool findMembers(State *state) {
  const Item *items = state->part->items;
  int64_t n = 0;
  for (int32_t i = 0; i < state->n; ++i) {
    n += items[i].last - items[i].first;
    if (n > MAX_MEMBERS)
      return false;
    for (int32_t c = items[i].first; c < items[i].last; ++c)
      state->memberBegin[c + 1] += placementItemCovers(&items[i], c);
  }
  for (int32_t c = 0; c < state->nCliques; ++c)
    state->memberBegin[c + 1] += state->memberBegin[c];
  state->members = SHARD_ARENA_ARRAY(state->arena, int32_t, n);
  int32_t *filled = state->witness; // not in use yet
  for (int32_t i = 0; i < state->n; ++i)
    for (int32_t c = items[i].first; c < items[i].last; ++c)
      if (placementItemCovers(&items[i], c))
        state->members[state->memberBegin[c] + filled[c]++] = i;
  return true;
}

State *placementStateCreate(ShardArena *arena, const Part *part) {
  State *state = SHARD_ARENA_NEW(arena, State);
  int32_t n = part->nItems, nCliques = part->nCliques;
  *state = (State){.arena = arena, .part = part, .n = n, .nCliques = nCliques};
  state->neighbourBegin = SHARD_ARENA_ARRAY(arena, int32_t, n + 1);
  state->memberBegin = SHARD_ARENA_ARRAY(arena, int32_t, nCliques + 1);
  state->salt = SHARD_ARENA_ARRAY(arena, uint64_t, n);
  state->placed = SHARD_ARENA_ARRAY(arena, bool, n);
  state->rest = SHARD_ARENA_ARRAY(arena, int64_t, n);
  state->least = SHARD_ARENA_ARRAY(arena, int64_t, n);
  state->total = SHARD_ARENA_ARRAY(arena, int64_t, nCliques);
  state->floor = SHARD_ARENA_ARRAY(arena, int64_t, nCliques);
  state->witness = SHARD_ARENA_ARRAY(arena, int32_t, nCliques);
  state->cut = SHARD_ARENA_ARRAY(arena, int32_t, nCliques);
  state->placedStack = SHARD_ARENA_ARRAY(arena, int32_t, n);
  state->stale = SHARD_ARENA_ARRAY(arena, bool, nCliques);
  state->staleCliques = SHARD_ARENA_ARRAY(arena, int32_t, nCliques);
  for (int32_t i = 0; i < n; ++i)
    state->salt[i] = mix((uint64_t)i + 1) | 1;
  return findNeighbours(state) && findMembers(state) ? state : NULL;
}

void placementStateReset(State *state) {
  const Item *items = state->part->items;
  size_t n = (size_t)state->n, nCliques = (size_t)state->nCliques;
  memset(state->placed, 0, n * sizeof(*state->placed));
  memset(state->rest, 0, n * sizeof(*state->rest));
  memset(state->least, 0, n * sizeof(*state->least));
  memcpy(state->total, state->part->live, nCliques * sizeof(*state->total));
  memset(state->floor, 0, nCliques * sizeof(*state->floor));
  memset(state->cut, 0, nCliques * sizeof(*state->cut));
  for (int32_t i = 0; i < state->n; ++i)
    for (int32_t c = items[i].first; c + 1 < items[i].last; ++c)
      ++state->cut[c];
  for (int32_t c = 0; c < state->nCliques; ++c)
    state->witness[c] = state->members[state->memberBegin[c]];
  state->itemTrail.n = state->cliqueTrail.n = 0;
  state->nPlaced = 0;
  state->nSteps = 0;
}

//===----------------------------------------------------------------------===//
// Trails
//===----------------------------------------------------------------------===//

static void record(State *state, Trail *trail, Change change) {
  if (trail->n == trail->capacity)
    trail->changes = shardArenaGrow(state->arena, trail->changes, trail->n, &trail->capacity,
                                    trail->n + 1, sizeof(Change));
  trail->changes[trail->n++] = change;
}

static void recordItem(State *state, int32_t i) {
  record(state, &state->itemTrail, (Change){i, 0, state->rest[i], state->least[i]});
}

StateMark placementStateMark(const State *state) {
  return (StateMark){state->itemTrail.n, state->cliqueTrail.n, state->nPlaced};
}

void placementStateTakeBack(State *state, StateMark mark) {
  while (state->cliqueTrail.n > mark.nCliqueChanges) {
    const Change *change = &state->cliqueTrail.changes[--state->cliqueTrail.n];
    state->floor[change->index] = change->first;
    state->witness[change->index] = change->witness;
  }
  while (state->itemTrail.n > mark.nItemChanges) {
    const Change *change = &state->itemTrail.changes[--state->itemTrail.n];
    state->rest[change->index] = change->first;
    state->least[change->index] = change->second;
  }
  while (state->nPlaced > mark.nPlaced) {
    int32_t i = state->placedStack[--state->nPlaced];
    const Item *item = &state->part->items[i];
    state->placed[i] = false;
    for (int32_t c = item->first; c < item->last; ++c) {
      state->total[c] += placementItemCovers(item, c) ? item->size : 0;
      state->cut[c] += c + 1 < item->last;
    }
  }
}

//===----------------------------------------------------------------------===//
// Floors
//===----------------------------------------------------------------------===//

static void makeStale(State *state, int32_t c) {
  if (state->stale[c])
    return;
  state->stale[c] = true;
  state->staleCliques[state->nStale++] = c;
}

/// Item i will not lie as low as its cliques' floors may say.
static void makeFloorsStale(State *state, int32_t i) {
  state->nSteps += state->part->items[i].last - state->part->items[i].first;
  for (int32_t c = state->part->items[i].first; c < state->part->items[i].last; ++c)
    if (state->witness[c] == i)
      makeStale(state, c);
}

/// Once a floor is `lowest`, it cannot be lower.
static void findFloor(State *state, int32_t c, int64_t lowest) {
  record(state, &state->cliqueTrail, (Change){c, state->witness[c], state->floor[c], 0});
  state->nSteps += state->memberBegin[c + 1] - state->memberBegin[c];
  int64_t floor = INT64_MAX;
  for (int32_t m = state->memberBegin[c]; m < state->memberBegin[c + 1]; ++m) {
    int32_t i = state->members[m];
    if (state->placed[i] || state->least[i] >= floor)
      continue;
    floor = state->least[i];
    state->witness[c] = i;
    if (floor <= lowest)
      break;
  }
  if (floor != INT64_MAX)
    state->floor[c] = floor;
}

static int64_t heightOf(const State *state, int32_t c, int64_t offset) {
  return (state->floor[c] > offset ? state->floor[c] : offset) + state->total[c];
}

static int64_t findStaleFloors(State *state, const Item *below, int64_t offset, int64_t capacity) {
  int64_t height = 0;
  for (int32_t k = 0; k < state->nStale; ++k) {
    int32_t c = state->staleCliques[k];
    state->stale[c] = false;
    if (height > capacity)
      continue;
    bool isAbove = below && placementItemCovers(below, c);
    findFloor(state, c, isAbove ? offset + below->size : state->floor[c]);
    int64_t needed = heightOf(state, c, offset);
    height = needed > height ? needed : height;
  }
  state->nStale = 0;
  return height;
}

int64_t placementStateBound(const State *state, int32_t first, int32_t last, int64_t offset) {
  int64_t height = 0;
  for (int32_t c = first; c < last; ++c) {
    int64_t needed = heightOf(state, c, offset);
    height = needed > height ? needed : height;
  }
  return height;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Item j no longer fits below `top`.
static void raise(State *state, int32_t j, int64_t top, StateHash *hash) {
  recordItem(state, j);
  hashRemove(hash, state, j, state->rest[j]);
  state->rest[j] = placementAlignUp(top, state->part->items[j].align);
  placementHashAdd(hash, state, j, state->rest[j]);
  if (state->least[j] < state->rest[j]) {
    state->least[j] = state->rest[j];
    makeFloorsStale(state, j);
  }
}

PlaceEffect placementStatePlace(State *state, int32_t i, int64_t capacity, StateHash *hash) {
  const Item *item = &state->part->items[i];
  int64_t offset = state->rest[i], top = offset + item->size;
  PlaceEffect effect = {.isBare = true};
  state->placed[i] = true;
  state->placedStack[state->nPlaced++] = i;
  hashRemove(hash, state, i, offset);
  state->nSteps += state->neighbourBegin[i + 1] - state->neighbourBegin[i];
  for (int32_t m = state->neighbourBegin[i]; m < state->neighbourBegin[i + 1]; ++m) {
    int32_t j = state->neighbours[m];
    if (state->placed[j])
      continue;
    effect.isBare = false;
    if (state->rest[j] < top)
      raise(state, j, top, hash);
  }
  for (int32_t c = item->first; c < item->last; ++c) {
    state->total[c] -= placementItemCovers(item, c) ? item->size : 0;
    if (c + 1 < item->last && --state->cut[c] == 0)
      effect.splits = true;
  }
  makeFloorsStale(state, i);
  effect.height = findStaleFloors(state, item, offset, capacity);
  return effect;
}

int64_t placementStateRefuse(State *state, int32_t i, int64_t offset, int64_t capacity) {
  int64_t least = INT64_MAX;
  state->nSteps += state->neighbourBegin[i + 1] - state->neighbourBegin[i];
  for (int32_t m = state->neighbourBegin[i]; m < state->neighbourBegin[i + 1]; ++m) {
    int32_t j = state->neighbours[m];
    if (state->placed[j])
      continue;
    int64_t bottom = state->least[j] > offset ? state->least[j] : offset;
    int64_t top = bottom + state->part->items[j].size;
    least = top < least ? top : least;
  }
  if (least == INT64_MAX)
    return INT64_MAX;
  recordItem(state, i);
  state->least[i] = least;
  makeFloorsStale(state, i);
  return findStaleFloors(state, NULL, offset, capacity);
}
