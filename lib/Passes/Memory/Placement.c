//===- Placement.c - Offsets for buffers of known lifetimes -------*- C -*-===//
// First and best fit in several orders, then exact searches in rounds: each round searches for a
// placement at the bound, then lowers the best one by bisection, every order in turn with a small
// limit of effort, which doubles from round to round. That a search at the bound comes first is the
// idea of SuperMalloc (F. Peddinghaus, omnimalloc, 2025).
//===----------------------------------------------------------------------===//

#define _GNU_SOURCE
#include "PlacementInternal.h"

#include <string.h>
#include <time.h>

static const Order searchOrders[] = {
    {{ORDER_TOTAL, ORDER_DURATION, ORDER_BULK}}, {{ORDER_AREA, ORDER_WIDTH, ORDER_NONE}},
    {{ORDER_WIDTH, ORDER_AREA, ORDER_TOTAL}},    {{ORDER_TOTAL, ORDER_AREA, ORDER_WIDTH}},
    {{ORDER_BULK, ORDER_DURATION, ORDER_NONE}},  {{ORDER_TOTAL, ORDER_BULK, ORDER_DURATION}},
    {{ORDER_DURATION, ORDER_BULK, ORDER_TOTAL}}, {{ORDER_TOTAL, ORDER_WIDTH, ORDER_AREA}},
};
static const Order fitOrders[] = {
    {{ORDER_TOTAL, ORDER_SIZE, ORDER_NONE}},    {{ORDER_WIDTH, ORDER_AREA, ORDER_NONE}},
    {{ORDER_SIZE, ORDER_WIDTH, ORDER_NONE}},    {{ORDER_AREA, ORDER_SIZE, ORDER_NONE}},
    {{ORDER_TOTAL, ORDER_WIDTH, ORDER_SIZE}},   {{ORDER_BULK, ORDER_SIZE, ORDER_NONE}},
    {{ORDER_DURATION, ORDER_BULK, ORDER_NONE}},
};
enum {
  N_ORDERS = sizeof(searchOrders) / sizeof(*searchOrders),
  N_FIT_ORDERS = sizeof(fitOrders) / sizeof(*fitOrders),
  MAX_GAPS = INT32_MAX / 8, // of all buffers
  MAX_FITS = 32,
  MAX_WORSE_FITS = 2, // by one order
  FIRST_NODES = 32,   // an item, of a search in the first round
  SPREAD = 300        // of the weights in later rounds, in 1024ths
};
static const int64_t maxFitSteps = INT64_C(3000000000); // looks at placed items; a few seconds

bool placementDeadlinePassed(int64_t deadlineNs) {
  if (!deadlineNs)
    return false;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec >= deadlineNs;
}

typedef struct Solver {
  ShardArena *arena;
  Instance instance;
  int64_t capacity, goal; // units; at the goal it stops
  SearchLimits limits;    // of what is left
  int64_t nNodes;
} Solver;

/// What the searches of a part have come to.
typedef struct Ladder {
  Part *part;
  Search *search;
  int64_t *offsets; // scratch
  uint32_t round, seed;
  int32_t lucky; // the order that last found something
} Ladder;

static int64_t boundOf(const Solver *solver) {
  int64_t bound = 0;
  for (int32_t p = 0; p < solver->instance.nParts; ++p)
    bound = solver->instance.parts[p].bound > bound ? solver->instance.parts[p].bound : bound;
  return bound;
}

static Part *highestPart(const Solver *solver) {
  Part *highest = solver->instance.parts;
  for (int32_t p = 1; p < solver->instance.nParts; ++p)
    if (solver->instance.parts[p].height > highest->height)
      highest = &solver->instance.parts[p];
  return highest;
}

/// No lower than this need a part be.
static int64_t goalOf(const Solver *solver) {
  int64_t bound = boundOf(solver);
  return bound > solver->goal ? bound : solver->goal;
}

static bool isSpent(const Solver *solver) {
  return solver->limits.maxEffort <= 0 || placementDeadlinePassed(solver->limits.deadlineNs);
}

//===----------------------------------------------------------------------===//
// Fits
//===----------------------------------------------------------------------===//

static void keepIfLower(Part *part, const int64_t *offsets, int64_t height) {
  if (height >= part->height)
    return;
  part->height = height;
  memcpy(part->offsets, offsets, (size_t)part->nItems * sizeof(*offsets));
}

typedef struct Fit {
  Part *part;
  int64_t *offsets;
  int32_t *order, *scratch;
  double *weights;
  OrderRow *rows;
  int64_t nSteps; // of all parts
} Fit;

static bool isFitted(const Solver *solver, const Fit *fit) {
  if (fit->part->height == INT64_MAX) // each part gets one placement
    return false;
  return fit->part->height <= goalOf(solver) || fit->nSteps > maxFitSteps ||
         placementDeadlinePassed(solver->limits.deadlineNs);
}

/// Fits by one order, then by orders in which what reached high comes earlier, while that helps.
static void fitByOrder(const Solver *solver, Fit *fit, const Order *order, bool tightest) {
  Part *part = fit->part;
  for (int32_t i = 0; i < part->nItems; ++i)
    fit->order[i] = i;
  placementOrderWeigh(part, order, 0, 0, fit->weights);
  placementOrderSort(part, order, fit->weights, part->live, part->nItems, fit->order, fit->rows);
  int64_t before = INT64_MAX;
  for (int32_t n = 0, nWorse = 0; n < MAX_FITS && nWorse < MAX_WORSE_FITS && !isFitted(solver, fit);
       ++n) {
    int64_t height = placementFit(part, fit->order, tightest, fit->offsets, &fit->nSteps);
    keepIfLower(part, fit->offsets, height);
    nWorse += height >= before;
    before = height;
    int64_t goal = goalOf(solver);
    placementFitReorder(part, fit->offsets, goal + (height - goal) / 2, fit->order, fit->scratch);
  }
}

static void fitPart(const Solver *solver, Part *part, int64_t *nSteps) {
  ShardArena *arena = shardArenaCreate();
  size_t n = (size_t)part->nItems;
  Fit fit = {.part = part,
             .offsets = SHARD_ARENA_ARRAY(arena, int64_t, n),
             .order = SHARD_ARENA_ARRAY(arena, int32_t, n),
             .scratch = SHARD_ARENA_ARRAY(arena, int32_t, n),
             .weights = SHARD_ARENA_ARRAY(arena, double, n *N_ORDER_KEYS),
             .rows = SHARD_ARENA_ARRAY(arena, OrderRow, n),
             .nSteps = *nSteps};
  for (int32_t k = 0; k < 2 * N_FIT_ORDERS && !isFitted(solver, &fit); ++k)
    fitByOrder(solver, &fit, &fitOrders[k % N_FIT_ORDERS], k >= N_FIT_ORDERS);
  *nSteps = fit.nSteps;
  shardArenaDestroy(arena);
}

//===----------------------------------------------------------------------===//
// Searches
//===----------------------------------------------------------------------===//

static void keepFound(Ladder *ladder, int32_t order) {
  Part *part = ladder->part;
  int64_t height = 0;
  for (int32_t i = 0; i < part->nItems; ++i) {
    int64_t top = ladder->offsets[i] + part->items[i].size;
    height = top > height ? top : height;
  }
  keepIfLower(part, ladder->offsets, height);
  ladder->lucky = order;
}

/// Searches at `target` by every order in turn, with so many nodes each, until one decides. Seed 0:
/// the orders as they are.
static SearchStatus searchAt(Solver *solver, Ladder *ladder, int64_t target, uint32_t seed,
                             int64_t maxNodes) {
  Part *part = ladder->part;
  SearchStatus status = SEARCH_STOPPED;
  int32_t begin = ladder->lucky;
  for (int32_t k = 0; k < N_ORDERS && status == SEARCH_STOPPED && !isSpent(solver); ++k) {
    int32_t order = (begin + k) % N_ORDERS;
    SearchLimits limits = solver->limits;
    limits.maxNodes = maxNodes;
    SearchOutcome outcome =
        placementSearchRun(ladder->search, &searchOrders[order], seed ? SPREAD : 0, seed, target,
                           limits, ladder->offsets);
    status = outcome.status;
    solver->nNodes += outcome.nNodes;
    solver->limits.maxEffort -= outcome.effort + 1;
    if (status == SEARCH_FOUND)
      keepFound(ladder, order);
    if (status == SEARCH_EXHAUSTED && outcome.next > part->bound)
      part->bound = outcome.next < part->height ? outcome.next : part->height;
  }
  return status;
}

/// Lowers the part by searches between its height and the goal, from the middle up, with about so
/// much effort.
static void lowerPart(Solver *solver, Ladder *ladder, int64_t maxNodes, int64_t effort) {
  const Part *part = ladder->part;
  int64_t stopAt = solver->limits.maxEffort - effort;
  int64_t sixteenths = 8; // of the gap
  while (solver->limits.maxEffort > stopAt && !isSpent(solver)) {
    int64_t goal = goalOf(solver), gap = part->height - goal;
    bool isTooHigh = part->height > solver->capacity;
    int64_t target = goal + gap / 16 * sixteenths + gap % 16 * sixteenths / 16;
    if (isTooHigh)
      target = solver->capacity;
    if (gap <= 0 || target <= goal)
      return;
    if (searchAt(solver, ladder, target, ladder->seed, maxNodes) != SEARCH_STOPPED) {
      sixteenths = 8;
    } else if (isTooHigh || ++sixteenths == 16) {
      sixteenths = 8;
      ++ladder->seed;
    }
  }
}

/// One round for a part that is higher than it need be: half of the effort at the goal, half above.
static void searchRound(Solver *solver, Ladder *ladder) {
  uint32_t round = ladder->round++;
  int64_t nodesPerItem = (int64_t)FIRST_NODES << (round < 20 ? round : 20);
  int64_t maxNodes = ladder->part->nItems * nodesPerItem, effort = solver->limits.maxEffort;
  uint32_t seed = round % 2 ? round : 0;
  if (searchAt(solver, ladder, goalOf(solver), seed, maxNodes) == SEARCH_STOPPED)
    lowerPart(solver, ladder, maxNodes / 8, effort - solver->limits.maxEffort);
}

static void searchParts(Solver *solver) {
  Ladder *ladders = SHARD_ARENA_ARRAY(solver->arena, Ladder, solver->instance.nParts);
  while (!isSpent(solver)) {
    Part *part = highestPart(solver);
    if (part->height <= goalOf(solver) || boundOf(solver) > solver->capacity)
      break;
    Ladder *ladder = &ladders[part - solver->instance.parts];
    if (!ladder->part) {
      *ladder = (Ladder){.part = part, .search = placementSearchCreate(solver->arena, part)};
      ladder->offsets = SHARD_ARENA_ARRAY(solver->arena, int64_t, part->nItems);
    }
    if (!ladder->search)
      break;
    searchRound(solver, ladder);
  }
}

//===----------------------------------------------------------------------===//
// The call
//===----------------------------------------------------------------------===//

static bool areGapsRight(const ShardPlacementBuffer *buffer, int64_t most) {
  int64_t before = buffer->lower;
  bool right = buffer->nGaps >= 0 && buffer->nGaps <= most;
  for (int64_t k = 0; right && k < buffer->nGaps; ++k) {
    const ShardPlacementGap *gap = &buffer->gaps[k];
    right = before < gap->lower && gap->lower < gap->upper && gap->upper < buffer->upper;
    before = gap->upper;
  }
  return right;
}

/// What is wrong with the buffers, or NULL.
static const char *findFault(int64_t nBuffers, const ShardPlacementBuffer *buffers,
                             int64_t *outWhich) {
  int64_t left = INT64_MAX / 4, nGaps = 0;
  *outWhich = -1;
  if (nBuffers < 0 || nBuffers > INT32_MAX / 4)
    return "too many buffers, or a negative number of them";
  for (int64_t i = 0; i < nBuffers; ++i) {
    const ShardPlacementBuffer *buffer = &buffers[i];
    *outWhich = i;
    if (buffer->lower >= buffer->upper)
      return "a lifetime does not end after it begins";
    if (!areGapsRight(buffer, MAX_GAPS - nGaps))
      return "gaps are not in order, apart, within the lifetime";
    nGaps += buffer->nGaps;
    if (buffer->sizeBytes < 0)
      return "a size is negative";
    if (buffer->alignment < 0)
      return "an alignment is negative";
    if (buffer->sizeBytes > left || buffer->alignment > left - buffer->sizeBytes)
      return "the sizes add up to more than can be counted";
    left -= buffer->sizeBytes + buffer->alignment;
  }
  *outWhich = -1;
  return NULL;
}

static ShardPlacementVerdict verdictOf(const Solver *solver, int64_t height, int64_t bound) {
  if (bound > solver->capacity)
    return SHARD_PLACEMENT_INFEASIBLE;
  if (height > solver->capacity)
    return SHARD_PLACEMENT_UNKNOWN;
  return height <= bound ? SHARD_PLACEMENT_OPTIMAL : SHARD_PLACEMENT_FEASIBLE;
}

static void solve(Solver *solver, int64_t *outOffsets, ShardPlacementResult *outResult) {
  const Instance *instance = &solver->instance;
  int64_t maxLive = boundOf(solver), nSteps = 0, height = 0;
  for (int32_t p = 0; p < instance->nParts; ++p)
    fitPart(solver, &instance->parts[p], &nSteps);
  if (instance->nParts)
    searchParts(solver);
  for (int32_t p = 0; p < instance->nParts; ++p) {
    const Part *part = &instance->parts[p];
    height = part->height > height ? part->height : height;
    for (int32_t i = 0; i < part->nItems; ++i)
      outOffsets[part->items[i].buffer] = part->offsets[i] * instance->unit;
  }
  int64_t bound = boundOf(solver);
  *outResult = (ShardPlacementResult){.verdict = verdictOf(solver, height, bound),
                                      .heightBytes = height * instance->unit,
                                      .boundBytes = bound * instance->unit,
                                      .maxLiveBytes = maxLive * instance->unit,
                                      .nNodes = solver->nNodes};
}

static int64_t nowNs(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

bool shardPlacementSolve(int64_t nBuffers, const ShardPlacementBuffer *buffers,
                         const ShardPlacementOptions *options, int64_t *outOffsets,
                         ShardPlacementResult *outResult, const char **outMessage,
                         int64_t *outWhich) {
  static const ShardPlacementOptions defaults;
  int64_t which;
  const char *fault = findFault(nBuffers, buffers, &which);
  if (!options)
    options = &defaults;
  if (!fault && (options->capacityBytes < 0 || options->timeLimitMs < 0))
    fault = "a limit is negative";
  if (outMessage)
    *outMessage = fault;
  if (outWhich)
    *outWhich = which;
  if (fault)
    return false;
  memset(outOffsets, 0, (size_t)nBuffers * sizeof(*outOffsets));
  Solver solver = {.arena = shardArenaCreate()};
  placementInstanceBuild(solver.arena, nBuffers, buffers, &solver.instance);
  solver.capacity =
      options->capacityBytes ? options->capacityBytes / solver.instance.unit : INT64_MAX;
  solver.goal = options->stopAtCapacity && options->capacityBytes ? solver.capacity : 0;
  solver.limits.maxEffort =
      options->maxEffort ? options->maxEffort : SHARD_PLACEMENT_DEFAULT_EFFORT;
  if (options->timeLimitMs)
    solver.limits.deadlineNs = nowNs() + options->timeLimitMs * INT64_C(1000000);
  solve(&solver, outOffsets, outResult);
  shardArenaDestroy(solver.arena);
  return true;
}
