//===- Search.c - The cheapest chain of steps ---------------------*- C -*-===//
// A* (Hart, Nilsson and Raphael 1968) over placements; the bound on what is still to be sent is
// what ranks lack (Lack.c), or all that they want while a value is partial: each element then needs
// something from another rank.
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

static int64_t boundOf(const Search *search, const Node *node) {
  if (search->enters)
    return 0;
  const Problem *problem = search->problem;
  int64_t bytes = node->partial ? search->wantedBytes
                                : shardReshardLack(problem, node->cuts, problem->target, NULL) *
                                      problem->elementBytes;
  return bytes * search->leastPercent;
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
  int32_t known = findNode(search, &child);
  if (known >= 0) {
    Node *other = &search->nodes[known];
    child.bound = other->bound;
    if (!isBetter(&child, other))
      return;
    child.cuts = other->cuts;
    *other = child;
    return;
  }
  Cut *cuts = SHARD_ARENA_ARRAY(problem->arena, Cut, problem->nPieces);
  memcpy(cuts, child.cuts, (size_t)problem->nPieces * sizeof(Cut));
  child.cuts = cuts;
  child.bound = boundOf(search, &child);
  search->nodes = shardArenaGrow(problem->arena, search->nodes, search->nNodes, &search->capacity,
                                 search->nNodes + 1, sizeof(Node));
  search->nodes[search->nNodes++] = child;
  growTable(search);
  if (findNode(search, &child) < 0)
    insertInTable(search, (int32_t)search->nNodes - 1);
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

static int32_t nearest(const Search *search) {
  int32_t best = -1;
  for (size_t i = 0; i < search->nNodes; ++i)
    if (!search->nodes[i].settled &&
        (best < 0 || isBetter(&search->nodes[i], &search->nodes[best])))
      best = (int32_t)i;
  return best;
}

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
  Search search = {
      .problem = problem, .mesh = problem->mesh, .options = options, .leastPercent = 100};
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

void shardReshardSearch(Problem *problem, const ShardReshardOptions *options,
                        ShardReshardPlan *plan) {
  Search search = beginSearch(problem, options);
  int32_t at = 0;
  while (!isGoal(&search, &search.nodes[at])) {
    search.nodes[at].settled = true;
    shardReshardExpand(&search, at);
    at = nearest(&search);
    assert(at >= 0 && "an exchange leads anywhere");
  }
  writePlan(&search, at, plan);
}
