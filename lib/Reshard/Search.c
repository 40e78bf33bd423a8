//===- Search.c - The cheapest chain of steps ---------------------*- C -*-===//
// A* (Hart, Nilsson and Raphael 1968) over placements; the bound on what is still to be sent is
// what ranks lack (Lack.c). While a value is partial it is all that they want, as each element then
// needs something from another rank; after a local cut it is what the reduction sends and what
// ranks lack of the parts that they kept.
//===----------------------------------------------------------------------===//

#include "Search.h"

#include <assert.h>
#include <string.h>

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

static uint64_t hashOf(const Search *search, const Node *node) { // FNV-1a
  uint64_t hash = UINT64_C(1469598103934665603);
  const uint8_t *bytes = (const uint8_t *)node->cuts;
  for (size_t i = 0; i < (size_t)search->problem->nPieces * sizeof(Cut); ++i)
    hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
  return (hash ^ node->partial ^ (node->entered ? UINT64_C(1) << 40 : 0)) * UINT64_C(1099511628211);
}

static bool samePlace(const Search *search, const Node *a, const Node *b) {
  return a->partial == b->partial && a->entered == b->entered &&
         memcmp(a->cuts, b->cuts, (size_t)search->problem->nPieces * sizeof(Cut)) == 0;
}

static void insertInTable(Search *search, int32_t index) {
  size_t at = hashOf(search, &search->nodes[index]) & (search->tableSize - 1);
  while (search->table[at] >= 0)
    at = (at + 1) & (search->tableSize - 1);
  search->table[at] = index;
}

static int32_t findNode(const Search *search, const Node *node) {
  size_t at = hashOf(search, node) & (search->tableSize - 1);
  for (; search->table[at] >= 0; at = (at + 1) & (search->tableSize - 1))
    if (samePlace(search, &search->nodes[search->table[at]], node))
      return search->table[at];
  return -1;
}

static void growTable(Search *search) {
  if (2 * (search->nNodes + 1) <= search->tableSize)
    return;
  search->tableSize = search->tableSize ? 2 * search->tableSize : 64;
  search->table = SHARD_ARENA_ARRAY(search->problem->arena, int32_t, search->tableSize);
  memset(search->table, -1, search->tableSize * sizeof(int32_t));
  for (size_t i = 0; i < search->nNodes; ++i)
    insertInTable(search, (int32_t)i);
}

static int64_t percentOf(const Search *search, ShardReshardStepKind kind) {
  int32_t percent = search->options->bytePercent[kind];
  return percent > 0 ? percent : 100;
}

static int64_t devicesOf(const Search *search, uint32_t axes) {
  int64_t n = 1;
  for (int32_t a = 0; a < search->mesh->nAxes; ++a)
    n *= axes >> a & 1 ? search->mesh->sizes[a] : 1;
  return n;
}

// What combining the axes of `partial` sends at the least, if no exchange comes before: each rank
// n - 1 parts, and those of an all-reduce again to have n copies.
static int64_t leastReduction(const Search *search, const Node *node, uint32_t partial) {
  const Problem *problem = search->problem;
  int64_t n = devicesOf(search, partial);
  int64_t others = devicesOf(search, ~(partial | shardReshardUsedAxes(search, node)));
  return shardReshardStorage(problem, node->cuts) * (n - 1) * (problem->nDevices / (n * others)) *
         problem->elementBytes;
}

// Each element that ranks want once combined needs something from another rank.
static int64_t leastOfPartial(const Search *search, uint32_t partial) {
  return devicesOf(search, partial) > 1 ? search->wantedBytes : 0;
}

static int64_t boundOf(const Search *search, const Node *node) {
  int64_t bytes = node->lackBytes;
  if (node->partial) {
    bytes += leastReduction(search, node, node->partial);
    int64_t other = INT64_MAX; // an exchange comes first, or when some of the axes are combined
    if (!exchangesNoMore(node))
      other = leastOfPartial(search, node->partial);
    for (int32_t a = 0; a < search->mesh->nAxes; ++a) {
      uint32_t axis = UINT32_C(1) << a;
      if (!(node->partial & axis) || node->partial == axis)
        continue;
      int64_t two =
          leastReduction(search, node, axis) + leastOfPartial(search, node->partial & ~axis);
      other = two < other ? two : other;
    }
    bytes = other < bytes ? other : bytes;
  }
  return bytes * search->leastPercent;
}

static int64_t lackOf(const Search *search, const Node *node) {
  const Problem *problem = search->problem;
  int64_t elements;
  if (search->enters)
    elements = shardReshardLackAmong(problem, node->cuts, problem->target, search->enters, true);
  else if (node->partial)
    elements = shardReshardLackAmong(problem, node->cuts, problem->target, node->partial, false);
  else
    elements = shardReshardLack(problem, node->cuts, problem->target, NULL);
  return elements * problem->elementBytes;
}

static bool isBetter(const Node *a, const Node *b) {
  int64_t costA = a->cost + a->bound, costB = b->cost + b->bound;
  if (costA != costB)
    return costA < costB;
  if (a->nMessages != b->nMessages)
    return a->nMessages < b->nMessages;
  if (a->nRounds != b->nRounds)
    return a->nRounds < b->nRounds;
  return a->nSteps < b->nSteps;
}

static bool comesBefore(const Search *search, int32_t a, int32_t b) {
  const Node *x = &search->nodes[a], *y = &search->nodes[b];
  return isBetter(x, y) || (a < b && !isBetter(y, x));
}

static void putInHeap(Search *search, size_t at, int32_t index) {
  search->heap[at] = index;
  search->nodes[index].heapAt = at;
}

static void siftUp(Search *search, size_t at) {
  int32_t index = search->heap[at];
  for (; at && comesBefore(search, index, search->heap[(at - 1) / 2]); at = (at - 1) / 2)
    putInHeap(search, at, search->heap[(at - 1) / 2]);
  putInHeap(search, at, index);
}

static void pushHeap(Search *search, int32_t index) {
  search->heap = shardArenaGrow(search->problem->arena, search->heap, search->nHeap,
                                &search->heapCapacity, search->nHeap + 1, sizeof(int32_t));
  putInHeap(search, search->nHeap++, index);
  siftUp(search, search->nHeap - 1);
}

static int32_t popHeap(Search *search) {
  assert(search->nHeap && "an exchange leads anywhere");
  int32_t best = search->heap[0], last = search->heap[--search->nHeap];
  size_t at = 0;
  for (size_t child; (child = 2 * at + 1) < search->nHeap; at = child) {
    if (child + 1 < search->nHeap &&
        comesBefore(search, search->heap[child + 1], search->heap[child]))
      ++child;
    if (!comesBefore(search, search->heap[child], last))
      break;
    putInHeap(search, at, search->heap[child]);
  }
  if (search->nHeap)
    putInHeap(search, at, last);
  return best;
}

// Messages that a rank sends one after the other; on a ring of n, n - 1.
static int32_t roundsOf(const Search *search, const ShardReshardStep *step) {
  if (step->nMessages == 0 || step->kind == SHARD_RESHARD_EXCHANGE)
    return step->nMessages;
  int32_t ring = (int32_t)axesProduct(search->mesh, step->nAxes, step->axes) - 1;
  return step->kind == SHARD_RESHARD_ALL_REDUCE ? 2 * ring : ring;
}

void shardReshardAddNode(Search *search, int32_t parent, Node child, ShardReshardStep step) {
  const Problem *problem = search->problem;
  if (shardReshardStorage(problem, child.cuts) > search->storageLimit)
    return;
  const Node *from = &search->nodes[parent];
  child.cost = from->cost + step.sentBytes * percentOf(search, step.kind) +
               search->options->messageBytes * problem->nDevices * step.nMessages * 100;
  child.nMessages = from->nMessages + step.nMessages;
  child.nRounds = from->nRounds + roundsOf(search, &step);
  child.nSteps = from->nSteps + 1;
  child.parent = parent;
  child.step = step;
  child.settled = false;
  if (step.kind == SHARD_RESHARD_SLICE || step.kind == SHARD_RESHARD_REDUCE_SCATTER) {
    child.lackBytes = from->lackBytes; // and no less, as ranks hold less
    if (child.cost + boundOf(search, &child) > search->costLimit)
      return;
  }
  int32_t known = findNode(search, &child);
  if (known >= 0) {
    Node *other = &search->nodes[known];
    child.bound = other->bound;
    if (!isBetter(&child, other))
      return;
    child.cuts = other->cuts;
    child.lackBytes = other->lackBytes;
    int64_t bound = boundOf(search, &child); // depends on the step that led here
    child.bound = bound < child.bound ? bound : child.bound;
    bool wasSettled = other->settled;
    child.heapAt = other->heapAt;
    *other = child;
    if (wasSettled)
      pushHeap(search, known);
    else
      siftUp(search, child.heapAt);
    return;
  }
  child.lackBytes = lackOf(search, &child);
  child.bound = boundOf(search, &child);
  if (child.cost + child.bound > search->costLimit)
    return;
  Cut *cuts = SHARD_ARENA_ARRAY(problem->arena, Cut, problem->nPieces);
  memcpy(cuts, child.cuts, (size_t)problem->nPieces * sizeof(Cut));
  child.cuts = cuts;
  search->nodes = shardArenaGrow(problem->arena, search->nodes, search->nNodes, &search->capacity,
                                 search->nNodes + 1, sizeof(Node));
  search->nodes[search->nNodes++] = child;
  growTable(search);
  if (findNode(search, &child) < 0)
    insertInTable(search, (int32_t)search->nNodes - 1);
  pushHeap(search, (int32_t)search->nNodes - 1);
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

static bool isGoal(const Search *search, const Node *node) {
  return !node->partial && (search->enters == 0 || node->entered) &&
         memcmp(node->cuts, search->problem->target,
                (size_t)search->problem->nPieces * sizeof(Cut)) == 0;
}

static void describe(const Problem *problem, const Node *node, ShardReshardPlacement *out) {
  *out = (ShardReshardPlacement){.nPieces = problem->nPieces};
  for (int32_t p = 0; p < problem->nPieces; ++p) {
    ShardReshardPiece *piece = &out->pieces[p];
    *piece = (ShardReshardPiece){.dim = problem->dims[p],
                                 .nAxes = node->cuts[p].nAxes,
                                 .size = problem->sizes[p],
                                 .chunk = node->cuts[p].chunk};
    memcpy(piece->axes, node->cuts[p].axes, sizeof(piece->axes));
  }
  for (int32_t a = 0; a < problem->mesh->nAxes; ++a) {
    uint8_t source = problem->sourcePartial[a], target = problem->targetPartial[a];
    if (node->partial >> a & 1 || source == target)
      out->partial[a] = source;
    else if (node->entered)
      out->partial[a] = target;
  }
}

static bool isUneven(const Problem *problem, int32_t p, const Cut *cut) {
  return cut->nAxes &&
         (cut->form != CUT_CHUNKS ||
          cut->chunk * axesProduct(problem->mesh, cut->nAxes, cut->axes) != problem->sizes[p]);
}

// What a rank takes beside the operand: the result, and a packed copy where one is sent.
static int64_t bufferElements(const Problem *problem, const ShardReshardStep *step,
                              const Cut *before, const Cut *after) {
  int64_t in = shardReshardStorage(problem, before), out = shardReshardStorage(problem, after);
  int64_t n = axesProduct(problem->mesh, step->nAxes, step->axes);
  switch (step->kind) {
  case SHARD_RESHARD_ALL_GATHER:
    return out + in * n; // the gathered chunks may reach past the end
  case SHARD_RESHARD_ALL_TO_ALL: {
    int64_t packed = in / before[step->to].chunk * after[step->to].chunk * n;
    return out + 2 * packed;
  }
  case SHARD_RESHARD_REDUCE_SCATTER:
    return out + in / before[step->to].chunk * after[step->to].chunk * n;
  case SHARD_RESHARD_EXCHANGE:
    return out + 2 * (in < out ? in : out); // no box is larger than what is held or wanted
  default:
    return out;
  }
}

static Search beginSearch(Problem *problem, const ShardReshardOptions *options) {
  Search search = {.problem = problem,
                   .mesh = problem->mesh,
                   .options = options,
                   .leastPercent = 100,
                   .costLimit = INT64_MAX};
  for (int k = 0; k < SHARD_RESHARD_N_STEP_KINDS; ++k)
    if (percentOf(&search, k) < search.leastPercent)
      search.leastPercent = percentOf(&search, k);
  Node start = {.cuts = problem->source, .parent = -1};
  for (int32_t a = 0; a < problem->mesh->nAxes; ++a) {
    uint8_t source = problem->sourcePartial[a], target = problem->targetPartial[a];
    if (source == target)
      continue;
    if (source)
      start.partial |= UINT32_C(1) << a;
    if (target)
      search.enters |= UINT32_C(1) << a;
    search.sourceCombiner = source ? source : search.sourceCombiner;
    search.targetCombiner = target ? target : search.targetCombiner;
  }
  int64_t storages[] = {shardReshardStorage(problem, problem->source),
                        shardReshardStorage(problem, problem->target)};
  search.storageLimit = storages[0] > storages[1] ? storages[0] : storages[1];
  for (int32_t p = 0; p < problem->nPieces; ++p)
    search.isUneven |= isUneven(problem, p, &problem->source[p]) ||
                       isUneven(problem, p, &problem->target[p]) ||
                       (start.partial && problem->sizes[p] % problem->nDevices != 0);
  search.wantedBytes = shardReshardWanted(problem, problem->target) * problem->elementBytes;
  search.wantedBytes /= devicesOf(&search, search.enters); // once for all ranks that take part
  start.lackBytes = lackOf(&search, &start);
  start.bound = boundOf(&search, &start);
  search.nodes = shardArenaGrow(problem->arena, NULL, 0, &search.capacity, 32, sizeof(Node));
  search.nodes[search.nNodes++] = start;
  growTable(&search);
  return search;
}

/// The chain of steps that ends at node `at`.
static void writePlan(const Search *search, int32_t at, ShardReshardPlan *plan) {
  const Problem *problem = search->problem;
  PlanMemory *memory = plan->memory;
  int32_t nSteps = search->nodes[at].nSteps, nPieces = problem->nPieces;
  ShardReshardStep *steps = SHARD_ARENA_ARRAY(problem->arena, ShardReshardStep, nSteps);
  ShardReshardPlacement *states =
      SHARD_ARENA_ARRAY(problem->arena, ShardReshardPlacement, nSteps + 1);
  uint8_t *forms = SHARD_ARENA_ARRAY(problem->arena, uint8_t, (nSteps + 1) * nPieces);
  memory->cuts = SHARD_ARENA_ARRAY(problem->arena, Cut, (nSteps + 1) * nPieces);
  for (int32_t k = nSteps; k >= 0; --k) {
    const Node *node = &search->nodes[at];
    describe(problem, node, &states[k]);
    memcpy(&memory->cuts[k * nPieces], node->cuts, (size_t)nPieces * sizeof(Cut));
    for (int32_t p = 0; p < nPieces; ++p)
      forms[k * nPieces + p] = node->cuts[p].form;
    if (k == 0)
      break;
    steps[k - 1] = node->step;
    steps[k - 1].bufferBytes =
        bufferElements(problem, &node->step, search->nodes[node->parent].cuts, node->cuts) *
        problem->elementBytes;
    plan->sentBytes += node->step.sentBytes;
    plan->nMessages += node->step.nMessages;
    at = node->parent;
  }
  plan->nSteps = nSteps;
  plan->steps = steps;
  plan->states = states;
  plan->mixedForm = forms;
}

// The goal's node.
static int32_t findGoal(Search *search) {
  int32_t at = 0;
  while (!isGoal(search, &search->nodes[at])) {
    search->nodes[at].settled = true;
    shardReshardExpand(search, at);
    at = popHeap(search);
  }
  return at;
}

void shardReshardSearch(Problem *problem, const ShardReshardOptions *options,
                        ShardReshardPlan *plan) {
  Search search = beginSearch(problem, options);
  int32_t goal = findGoal(&search);
  if (search.isUneven && search.nodes[0].partial) {
    // A plan that is as good or nearly so shows which of many chunks are worth a look.
    Search fine = beginSearch(problem, options);
    fine.triesAllChunks = true;
    fine.costLimit = search.nodes[goal].cost;
    search = fine;
    goal = findGoal(&search);
  }
  writePlan(&search, goal, plan);
}
