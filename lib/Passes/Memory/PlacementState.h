//===- PlacementState.h - A placement that is half done -----------*- C -*-===//
#ifndef SHARD_MEMORY_PLACEMENTSTATE_H
#define SHARD_MEMORY_PLACEMENTSTATE_H

#include "PlacementInternal.h"

typedef struct Change {
  int32_t index, witness; // an item; or a clique and its witness
  int64_t first, second;  // of an item, `rest` and `least`; of a clique, `floor`
} Change;
typedef struct Trail {
  Change *changes;
  size_t n, capacity;
} Trail;

/// Items are placed from the bottom up, each resting on those placed before.
typedef struct State {
  ShardArena *arena;
  const Part *part;
  int32_t n, nCliques;
  int32_t *neighbourBegin, *neighbours; // of item i: [neighbourBegin[i], neighbourBegin[i + 1])
  int32_t *memberBegin, *members;       // of clique c, likewise
  uint64_t *salt;                       // [n]
  // Of each item.
  bool *placed;
  int64_t *rest;  // where it lies, or the lowest offset that placed items leave it
  int64_t *least; // unplaced: at least `rest`; it lies no lower in what is still to be found
  // Of each clique.
  int64_t *total;   // sizes of unplaced items
  int64_t *floor;   // the smallest `least` of unplaced items
  int32_t *witness; // an unplaced item with that
  int32_t *cut;     // unplaced items that begin by it and end after it
  // What to take back.
  Trail itemTrail, cliqueTrail;
  int32_t *placedStack;
  int32_t nPlaced;
  // Cliques whose floor is to be found anew.
  bool *stale;
  int32_t *staleCliques, nStale;
  int64_t nSteps; // looks at items and cliques since the last reset
} State;

typedef struct StateMark {
  size_t nItemChanges, nCliqueChanges;
  int32_t nPlaced;
} StateMark;

/// What a set of items that rest somewhere is recognised by.
typedef struct StateHash {
  uint64_t a, b;
} StateHash;
void placementHashAdd(StateHash *hash, const State *state, int32_t item, int64_t rest);

typedef struct PlaceEffect {
  int64_t height; // that cliques with a new floor need now; counted until it exceeds the capacity
  bool splits;    // no unplaced item crosses some moment that one crossed before
  bool isBare;    // no unplaced item conflicts with it
} PlaceEffect;

State *placementStateCreate(ShardArena *arena, const Part *part); // null: too large
void placementStateReset(State *state);
StateMark placementStateMark(const State *state);
void placementStateTakeBack(State *state, StateMark mark);
/// Places an item where it rests. `hash`, of unplaced items with it, is brought up to date.
PlaceEffect placementStatePlace(State *state, int32_t item, int64_t capacity, StateHash *hash);
/// An unplaced item is not to be placed where it rests now: it will lie on one that is still to be
/// placed, at `offset` or above. Returns the height needed, INT64_MAX if there is none to lie on.
int64_t placementStateRefuse(State *state, int32_t item, int64_t offset, int64_t capacity);
/// The height that cliques [first, last) need if nothing more is placed below `offset`.
int64_t placementStateBound(const State *state, int32_t first, int32_t last, int64_t offset);

#endif // SHARD_MEMORY_PLACEMENTSTATE_H
