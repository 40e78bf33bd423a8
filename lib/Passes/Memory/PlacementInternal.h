//===- PlacementInternal.h - What the files of the solver share ---*- C -*-===//
#ifndef SHARD_MEMORY_PLACEMENTINTERNAL_H
#define SHARD_MEMORY_PLACEMENTINTERNAL_H

#include "../Core/Arena.h"
#include "shard/Placement.h"

/// Cliques [first, last), not empty.
typedef struct Gap {
  int32_t first, last;
} Gap;

/// A buffer. Time is counted in maximal cliques, the moments at which a largest set of buffers is
/// live: two buffers conflict if and only if they share one.
typedef struct Item {
  int32_t first, last; // cliques [first, last)
  int32_t nGaps;       // when it is not live in between
  Gap *gaps;           // [nGaps], in order, apart
  int64_t size, align; // in units of the instance; `align` at least 1
  double duration;     // in the caller's time; only a hint
  int64_t buffer;      // the caller's index
} Item;

/// Whether it is live in clique `c`.
static inline bool placementItemCovers(const Item *item, int32_t c) {
  for (int32_t k = 0; k < item->nGaps; ++k)
    if (item->gaps[k].first <= c && c < item->gaps[k].last)
      return false;
  return item->first <= c && c < item->last;
}
/// Whether the two share a clique.
bool placementItemsConflict(const Item *a, const Item *b);
/// An order of gaps; 0: they are the same.
int placementCompareGaps(const Item *a, const Item *b);

/// Items that no moment separates, with a placement of them. Cliques count from 0.
typedef struct Part {
  int32_t nItems, nCliques;
  const Item *items; // by first, last, size, align, gaps, duration
  int64_t *live;     // [nCliques] sizes
  int64_t bound;     // proved: no placement is lower
  int64_t height;    // of `offsets`
  int64_t *offsets;  // [nItems]
} Part;

/// The canonical form: the same for buffers in any order, for time in either direction, and for
/// sizes multiplied by any number.
typedef struct Instance {
  int64_t unit; // bytes
  int32_t nParts;
  Part *parts;
} Instance;

/// Of valid buffers. Those without bytes are left out.
void placementInstanceBuild(ShardArena *arena, int64_t nBuffers,
                            const ShardPlacementBuffer *buffers, Instance *out);

/// Offset `offset` or the next that is a multiple of `align`.
int64_t placementAlignUp(int64_t offset, int64_t align);

//===----------------------------------------------------------------------===//
// Orders
//===----------------------------------------------------------------------===//

/// What items are compared by; the larger come first.
typedef enum OrderKey {
  ORDER_NONE,     // nothing
  ORDER_SIZE,     //
  ORDER_WIDTH,    // cliques
  ORDER_DURATION, //
  ORDER_AREA,     // width x size
  ORDER_BULK,     // duration x size
  ORDER_TOTAL     // the most that is still to be placed at one time of its life
} OrderKey;
enum { N_ORDER_KEYS = 3 };
typedef struct Order {
  OrderKey keys[N_ORDER_KEYS]; // by the first, then by the second, ...
} Order;

/// Factors of the keys of all items, [nItems * N_ORDER_KEYS], each enlarged by up to `spread` /
/// 1024 of itself, drawn by `seed`.
void placementOrderWeigh(const Part *part, const Order *order, uint32_t spread, uint32_t seed,
                         double *outWeights);
bool placementOrderUsesTotals(const Order *order);
/// Sorts items by weight; a key that is ORDER_TOTAL counts `totals` [nCliques] times its weight.
/// Ties keep the part's order.
typedef struct OrderRow {
  double keys[N_ORDER_KEYS];
  int32_t item;
} OrderRow;
void placementOrderSort(const Part *part, const Order *order, const double *weights,
                        const int64_t *totals, int32_t nItems, int32_t *items, OrderRow *scratch);

//===----------------------------------------------------------------------===//
// First and best fit
//===----------------------------------------------------------------------===//

/// Places the items one by one in `order`, each in the lowest gap that holds it or, with
/// `tightest`, in the smallest. Returns the height; adds looks at placed items to `*nSteps`.
int64_t placementFit(const Part *part, const int32_t *order, bool tightest, int64_t *outOffsets,
                     int64_t *nSteps);
/// Brings items that end above `limit` forward, to half of their place in the order.
void placementFitReorder(const Part *part, const int64_t *offsets, int64_t limit, int32_t *order,
                         int32_t *scratch);

//===----------------------------------------------------------------------===//
// Exact search
//===----------------------------------------------------------------------===//

typedef enum SearchStatus {
  SEARCH_FOUND,     // a placement within the capacity
  SEARCH_EXHAUSTED, // there is none
  SEARCH_STOPPED    // by a limit
} SearchStatus;

typedef struct SearchLimits {
  int64_t maxNodes;
  int64_t maxEffort;  // about microseconds
  int64_t deadlineNs; // of the monotonic clock; 0: none
} SearchLimits;
bool placementDeadlinePassed(int64_t deadlineNs);

typedef struct SearchOutcome {
  SearchStatus status;
  int64_t next; // EXHAUSTED: no placement is lower; more than the capacity
  int64_t nNodes, effort;
} SearchOutcome;

typedef struct Search Search;
/// Tables for searches of `part`, which stays as it is; null if they would be too large.
Search *placementSearchCreate(ShardArena *arena, const Part *part);
/// Looks for a placement of at most `capacity`, trying items in the order; `outOffsets` [nItems]
/// are written if it is FOUND.
SearchOutcome placementSearchRun(Search *search, const Order *order, uint32_t spread, uint32_t seed,
                                 int64_t capacity, SearchLimits limits, int64_t *outOffsets);

#endif // SHARD_MEMORY_PLACEMENTINTERNAL_H
