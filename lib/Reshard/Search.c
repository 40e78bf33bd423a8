//===- Search.c - The cheapest chain of steps ---------------------*- C -*-===//
// A* (Hart, Nilsson and Raphael 1968) over placements; the bound on what is still to be sent is
// what ranks lack (Lack.c), or all that they want while a value is partial: each element then needs
// something from another rank. Gathering, moving and cutting one dimension at a time follows Rink
// et al., Memory-efficient array redistribution through portable collective communication (2021);
// an exchange, which they do not have, ends every chain at the bound.
//===----------------------------------------------------------------------===//

#include "Internal.h"

#include <assert.h>
#include <string.h>

enum { MAX_CHUNKS = 16 };

typedef struct Node {
  Cut *cuts;
  uint32_t partial; // axes still to be combined
  bool entered;     // the target's own partial axes
  bool settled;
  int64_t cost, bound; // so far; at least still to come
  int32_t nMessages, nRounds, nSteps;
  int32_t parent;
  ShardReshardStep step; // from the parent
} Node;

typedef struct Search {
  const Problem *problem;
  const ShardReshardMesh *mesh;
  const ShardReshardOptions *options;
  int64_t leastPercent, storageLimit, wantedBytes;
  bool isUneven;   // some cut of either end, or one on the way may be
  uint32_t enters; // axes that only the target is partial over
  ShardReshardCombiner sourceCombiner, targetCombiner;
  Node *nodes;
  size_t nNodes, capacity;
  int32_t *table; // open addressing by placement; -1: free
  size_t tableSize;
} Search;

static uint32_t usedAxes(const Search *search, const Node *node) {
  uint32_t used = node->partial;
  for (int32_t p = 0; p < search->problem->nPieces; ++p)
    for (int k = 0; k < node->cuts[p].nAxes; ++k)
      used |= UINT32_C(1) << node->cuts[p].axes[k];
  for (int32_t a = 0; a < search->mesh->nAxes; ++a)
    if (search->problem->sourcePartial[a] &&
        search->problem->sourcePartial[a] == search->problem->targetPartial[a])
      used |= UINT32_C(1) << a; // stays partial throughout
  return used;
}

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

// Adds the placement that a step leads to. `child` has its cuts (borrowed), partial and entered.
static void addNode(Search *search, int32_t parent, Node child, ShardReshardStep step) {
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
// Cuts
//===----------------------------------------------------------------------===//

// Storage of the target's cut with only its first `k` axes, as gathering the others leaves it.
static int64_t targetChunk(const Search *search, int32_t p, int k) {
  const Cut *target = &search->problem->target[p];
  if (k == 0)
    return search->problem->sizes[p];
  return target->chunk * axesProduct(search->mesh, target->nAxes - k, &target->axes[k]);
}

// Axes that a cut shares with the target and that may stay.
static int commonPrefix(const Search *search, int32_t p, const Cut *cut) {
  const Cut *target = &search->problem->target[p];
  if (cut->form != CUT_CHUNKS || target->form != CUT_CHUNKS)
    return 0;
  int n = 0;
  while (n < cut->nAxes && n < target->nAxes && cut->axes[n] == target->axes[n])
    ++n;
  for (; n > 0; --n)
    if (cut->chunk * axesProduct(search->mesh, cut->nAxes - n, &cut->axes[n]) ==
        targetChunk(search, p, n))
      break;
  return n;
}

// Whether a piece is cut as the target's first axes are, and the target has more.
static bool wantsMore(const Search *search, int32_t p, const Cut *cut) {
  const Cut *target = &search->problem->target[p];
  return cut->form == CUT_CHUNKS && target->form == CUT_CHUNKS && cut->nAxes < target->nAxes &&
         commonPrefix(search, p, cut) == cut->nAxes;
}

static void append(Cut *cut, int n, const uint8_t *axes, int64_t chunk) {
  memcpy(&cut->axes[cut->nAxes], axes, (size_t)n);
  cut->nAxes = (uint8_t)(cut->nAxes + n);
  cut->chunk = chunk;
}

static void strip(const Search *search, int32_t p, Cut *cut, int n) {
  int keep = cut->nAxes - n;
  cut->chunk = keep ? cut->chunk * axesProduct(search->mesh, n, &cut->axes[keep])
                    : search->problem->sizes[p];
  memset(&cut->axes[keep], 0, (size_t)n);
  cut->nAxes = (uint8_t)keep;
}

static bool isInMeshOrder(const uint8_t *axes, int n) {
  for (int k = 1; k < n; ++k)
    if (axes[k] < axes[k - 1])
      return false;
  return true;
}

static void addChunk(int64_t *chunks, int *count, int64_t chunk) {
  for (int k = 0; k < *count; ++k)
    if (chunks[k] == chunk)
      return;
  if (*count < MAX_CHUNKS)
    chunks[(*count)++] = chunk;
}

// Chunks that cutting a piece further over these axes can have: as the target has it, the smallest,
// and, of a whole piece, somewhat larger ones and those that leave full chunks when other axes cut
// it further. All ranks' parts must be chunks of the whole piece, and none larger than before.
static int chunksAfter(const Search *search, int32_t p, const Cut *cut, int n, const uint8_t *axes,
                       int64_t *out) {
  int64_t devices = axesProduct(search->mesh, n, axes);
  const Cut *target = &search->problem->target[p];
  int count = 0;
  if (cut->form != CUT_CHUNKS || cut->nAxes + n > MAX_AXES)
    return 0;
  if (wantsMore(search, p, cut) && cut->nAxes + n <= target->nAxes &&
      memcmp(&target->axes[cut->nAxes], axes, (size_t)n) == 0 &&
      targetChunk(search, p, cut->nAxes + n) <= cut->chunk)
    addChunk(out, &count, targetChunk(search, p, cut->nAxes + n));
  int64_t least = ceilDivide(cut->chunk, devices);
  if (cut->nAxes) {
    if (least * devices == cut->chunk)
      addChunk(out, &count, least);
    return count;
  }
  addChunk(out, &count, least);
  for (int64_t more = 1; search->isUneven && more <= 3 && least + more < cut->chunk; ++more)
    addChunk(out, &count, least + more);
  for (int64_t unit = 2; search->isUneven && unit <= search->problem->nDevices / devices; ++unit)
    if (search->problem->nDevices / devices % unit == 0 &&
        ceilDivide(least, unit) * unit <= cut->chunk)
      addChunk(out, &count, ceilDivide(least, unit) * unit);
  return count;
}

static ShardReshardStep stepOf(ShardReshardStepKind kind, int32_t from, int32_t to, int n,
                               const uint8_t *axes) {
  ShardReshardStep step = {.kind = kind, .from = from, .to = to, .nAxes = n};
  memcpy(step.axes, axes, (size_t)n);
  step.nMessages = kind != SHARD_RESHARD_SLICE && kind != SHARD_RESHARD_ENTER;
  return step;
}

// Bytes of a ring of n devices in which each sends n - 1 parts.
static int64_t ringBytes(const Search *search, int64_t n, int64_t partElements) {
  const Problem *problem = search->problem;
  return partElements * problem->elementBytes * (n - 1) * problem->nDevices;
}

typedef struct Child {
  Cut cuts[MAX_PIECES];
  Node node;
} Child;

static void beginChild(const Search *search, int32_t at, Child *child) {
  const Node *from = &search->nodes[at];
  memcpy(child->cuts, from->cuts, (size_t)search->problem->nPieces * sizeof(Cut));
  child->node = (Node){.cuts = child->cuts, .partial = from->partial};
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

static void trySlice(Search *search, int32_t at, int32_t p, int n, const uint8_t *axes,
                     int64_t chunk) {
  Child child;
  beginChild(search, at, &child);
  append(&child.cuts[p], n, axes, chunk);
  addNode(search, at, child.node, stepOf(SHARD_RESHARD_SLICE, -1, p, n, axes));
}

// A cut that the target wants and that needs no data; it makes all that follows smaller.
static bool tryWantedSlice(Search *search, int32_t at) {
  uint32_t used = usedAxes(search, &search->nodes[at]);
  for (int32_t p = 0; p < search->problem->nPieces; ++p) {
    const Cut *cut = &search->nodes[at].cuts[p], *target = &search->problem->target[p];
    if (!wantsMore(search, p, cut))
      continue;
    int n = 0;
    while (cut->nAxes + n < target->nAxes && !(used >> target->axes[cut->nAxes + n] & 1))
      ++n;
    if (!n || targetChunk(search, p, cut->nAxes + n) > cut->chunk)
      continue;
    trySlice(search, at, p, n, &target->axes[cut->nAxes], targetChunk(search, p, cut->nAxes + n));
    return true;
  }
  return false;
}

// Ranks that hold the same partial value may each reduce a part of it.
static void tryOtherSlices(Search *search, int32_t at) {
  uint32_t used = usedAxes(search, &search->nodes[at]);
  for (uint8_t axis = 0; axis < search->mesh->nAxes; ++axis)
    for (int32_t p = 0; p < search->problem->nPieces && !(used >> axis & 1); ++p) {
      int64_t chunks[MAX_CHUNKS];
      int n = search->mesh->sizes[axis] == 1
                  ? 0
                  : chunksAfter(search, p, &search->nodes[at].cuts[p], 1, &axis, chunks);
      for (int k = 0; k < n; ++k)
        trySlice(search, at, p, 1, &axis, chunks[k]);
    }
}

static void tryReductions(Search *search, int32_t at) {
  uint32_t partial = search->nodes[at].partial;
  for (uint32_t set = (0 - partial) & partial; set; set = (set - partial) & partial) {
    uint8_t axes[MAX_AXES];
    int n = 0;
    for (uint8_t a = 0; a < search->mesh->nAxes; ++a)
      if (set >> a & 1)
        axes[n++] = a;
    int64_t devices = axesProduct(search->mesh, n, axes);
    int64_t storage = shardReshardStorage(search->problem, search->nodes[at].cuts);
    // Where others send as much, whole sums over few axes come first.
    Child child;
    beginChild(search, at, &child);
    child.node.partial &= ~set;
    ShardReshardStep step = stepOf(SHARD_RESHARD_ALL_REDUCE, -1, -1, n, axes);
    step.combiner = search->sourceCombiner;
    // 2 (n - 1) / n of the storage; the number of devices is a multiple of n.
    step.sentBytes = 2 * storage * search->problem->elementBytes * (devices - 1) *
                     (search->problem->nDevices / devices);
    addNode(search, at, child.node, step);
    for (int32_t p = 0; p < search->problem->nPieces; ++p) {
      int64_t chunks[MAX_CHUNKS];
      int nChunks = chunksAfter(search, p, &search->nodes[at].cuts[p], n, axes, chunks);
      for (int k = 0; k < nChunks; ++k) {
        Child child;
        beginChild(search, at, &child);
        int64_t part = storage / child.cuts[p].chunk * chunks[k];
        append(&child.cuts[p], n, axes, chunks[k]);
        child.node.partial &= ~set;
        ShardReshardStep step = stepOf(SHARD_RESHARD_REDUCE_SCATTER, -1, p, n, axes);
        step.combiner = search->sourceCombiner;
        step.sentBytes = ringBytes(search, devices, part);
        addNode(search, at, child.node, step);
      }
    }
  }
}

static void tryAllToAlls(Search *search, int32_t at) {
  const Problem *problem = search->problem;
  int64_t storage = shardReshardStorage(problem, search->nodes[at].cuts);
  for (int32_t i = 0; i < problem->nPieces; ++i)
    for (int32_t j = 0; j < problem->nPieces; ++j) {
      const Cut *source = &search->nodes[at].cuts[i], *have = &search->nodes[at].cuts[j],
                *want = &problem->target[j];
      if (i == j || source->form != CUT_CHUNKS || !wantsMore(search, j, have))
        continue;
      int most = source->nAxes - commonPrefix(search, i, source);
      if (most > want->nAxes - have->nAxes)
        most = want->nAxes - have->nAxes;
      for (int n = 1; n <= most; ++n) {
        const uint8_t *axes = &problem->target[j].axes[search->nodes[at].cuts[j].nAxes];
        const Cut *from = &search->nodes[at].cuts[i];
        if (memcmp(&from->axes[from->nAxes - n], axes, (size_t)n) != 0 || !isInMeshOrder(axes, n))
          continue;
        Child child;
        beginChild(search, at, &child);
        int64_t chunk = targetChunk(search, j, child.cuts[j].nAxes + n);
        int64_t part = storage / child.cuts[j].chunk * chunk;
        append(&child.cuts[j], n, axes, chunk);
        strip(search, i, &child.cuts[i], n);
        ShardReshardStep step = stepOf(SHARD_RESHARD_ALL_TO_ALL, i, j, n, axes);
        step.sentBytes = ringBytes(search, axesProduct(search->mesh, n, axes), part);
        addNode(search, at, child.node, step);
      }
    }
}

static void tryAllGathers(Search *search, int32_t at) {
  int64_t storage = shardReshardStorage(search->problem, search->nodes[at].cuts);
  for (int32_t p = 0; p < search->problem->nPieces; ++p) {
    Cut cut = search->nodes[at].cuts[p];
    if (cut.form != CUT_CHUNKS)
      continue;
    int most = cut.nAxes - commonPrefix(search, p, &cut);
    for (int n = 1; n <= most; ++n) {
      const uint8_t *axes = &cut.axes[cut.nAxes - n];
      if (!isInMeshOrder(axes, n))
        break;
      Child child;
      beginChild(search, at, &child);
      strip(search, p, &child.cuts[p], n);
      ShardReshardStep step = stepOf(SHARD_RESHARD_ALL_GATHER, p, -1, n, axes);
      step.sentBytes = ringBytes(search, axesProduct(search->mesh, n, axes), storage);
      addNode(search, at, child.node, step);
    }
  }
}

static void tryExchange(Search *search, int32_t at, const Cut *cuts) {
  const Problem *problem = search->problem;
  Child child;
  beginChild(search, at, &child);
  memcpy(child.cuts, cuts, (size_t)problem->nPieces * sizeof(Cut));
  if (memcmp(child.cuts, search->nodes[at].cuts, (size_t)problem->nPieces * sizeof(Cut)) == 0)
    return;
  Group group = shardReshardGroup(problem, search->nodes[at].cuts, cuts);
  ShardReshardStep step = stepOf(SHARD_RESHARD_EXCHANGE, -1, -1, group.nAxes, group.axes);
  step.sentBytes = shardReshardLack(problem, search->nodes[at].cuts, cuts, &step.nMessages) *
                   problem->elementBytes;
  addNode(search, at, child.node, step);
}

//===----------------------------------------------------------------------===//
// Entering a partial target
//===----------------------------------------------------------------------===//

// Whether the placement differs from the target only in that pieces are cut further over the axes
// on which the target is partial.
static bool canEnter(const Search *search, const Node *node) {
  for (int32_t p = 0; p < search->problem->nPieces; ++p) {
    const Cut *cut = &node->cuts[p], *target = &search->problem->target[p];
    if (memcmp(cut, target, sizeof(Cut)) == 0)
      continue;
    if (cut->form != CUT_CHUNKS || target->form != CUT_CHUNKS || cut->nAxes <= target->nAxes ||
        commonPrefix(search, p, cut) != target->nAxes)
      return false;
    for (int k = target->nAxes; k < cut->nAxes; ++k)
      if (!(search->enters >> cut->axes[k] & 1))
        return false;
  }
  return true;
}

static void tryEnter(Search *search, int32_t at) {
  if (!canEnter(search, &search->nodes[at]))
    return;
  Child child;
  beginChild(search, at, &child);
  memcpy(child.cuts, search->problem->target, (size_t)search->problem->nPieces * sizeof(Cut));
  child.node.entered = true;
  uint8_t axes[MAX_AXES];
  int n = 0;
  for (uint8_t a = 0; a < search->mesh->nAxes; ++a)
    if (search->enters >> a & 1)
      axes[n++] = a;
  ShardReshardStep step = stepOf(SHARD_RESHARD_ENTER, -1, -1, n, axes);
  step.combiner = search->targetCombiner;
  addNode(search, at, child.node, step);
}

// Exchanges to every placement from which the target can be entered: each of its partial axes cuts
// some piece further, or none.
static void tryEntrances(Search *search, int32_t at, Cut *cuts, uint32_t left) {
  tryExchange(search, at, cuts);
  for (uint8_t axis = 0; axis < search->mesh->nAxes; ++axis) {
    if (!(left >> axis & 1))
      continue;
    for (int32_t p = 0; p < search->problem->nPieces; ++p) {
      int64_t devices = search->mesh->sizes[axis];
      Cut old = cuts[p];
      bool whole = search->problem->target[p].nAxes == 0;
      if (old.form != CUT_CHUNKS || (!whole && old.chunk % devices))
        continue;
      append(&cuts[p], 1, &axis, old.chunk / devices);
      if (whole)
        cuts[p].chunk = ceilDivide(search->problem->sizes[p],
                                   axesProduct(search->mesh, cuts[p].nAxes, cuts[p].axes));
      tryEntrances(search, at, cuts, left & ~(UINT32_C(1) << axis));
      cuts[p] = old;
    }
  }
}

// Exchanges to all placements over some axes. A partial value is worth bringing to even chunks, or
// to ranks that hold none, before all ranks reduce their storage.
static void tryEveryExchange(Search *search, int32_t at, Cut *cuts, uint32_t left) {
  tryExchange(search, at, cuts);
  for (uint8_t axis = 0; axis < search->mesh->nAxes; ++axis)
    for (int32_t p = 0; p < search->problem->nPieces && (left >> axis & 1); ++p) {
      Cut old = cuts[p];
      if (search->mesh->sizes[axis] == 1 || search->problem->mixed[p])
        continue;
      append(&cuts[p], 1, &axis, 0);
      int64_t devices = axesProduct(search->mesh, cuts[p].nAxes, cuts[p].axes);
      cuts[p].chunk = ceilDivide(search->problem->sizes[p], devices);
      tryEveryExchange(search, at, cuts, left & ~(UINT32_C(1) << axis));
      cuts[p] = old;
    }
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

static void expand(Search *search, int32_t at) {
  // Where all shards are full nothing is better than the target's own cuts first.
  if (tryWantedSlice(search, at) && !(search->isUneven && search->nodes[at].partial))
    return;
  if (search->nodes[at].partial) {
    tryReductions(search, at);
    tryOtherSlices(search, at);
    if (search->isUneven && search->nodes[at].step.kind != SHARD_RESHARD_EXCHANGE) {
      Cut cuts[MAX_PIECES];
      for (int32_t p = 0; p < search->problem->nPieces; ++p)
        cuts[p] = (Cut){.chunk = search->problem->sizes[p]};
      tryEveryExchange(
          search, at, cuts,
          ~usedAxes(search, &(Node){.partial = search->nodes[at].partial, .cuts = cuts}));
    }
    return;
  }
  if (search->enters)
    tryEnter(search, at);
  tryAllToAlls(search, at);
  tryAllGathers(search, at);
  Cut cuts[MAX_PIECES];
  memcpy(cuts, search->problem->target, (size_t)search->problem->nPieces * sizeof(Cut));
  tryEntrances(search, at, cuts, search->enters);
}

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

void shardReshardSearch(Problem *problem, const ShardReshardOptions *options,
                        ShardReshardPlan *plan) {
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
  int32_t at = 0;
  while (!isGoal(&search, &search.nodes[at])) {
    search.nodes[at].settled = true;
    expand(&search, at);
    at = nearest(&search);
    assert(at >= 0 && "an exchange leads anywhere");
  }

  PlanMemory *memory = plan->memory;
  int32_t nSteps = search.nodes[at].nSteps, nPieces = problem->nPieces;
  ShardReshardStep *steps = SHARD_ARENA_ARRAY(problem->arena, ShardReshardStep, nSteps);
  ShardReshardPlacement *states =
      SHARD_ARENA_ARRAY(problem->arena, ShardReshardPlacement, nSteps + 1);
  uint8_t *forms = SHARD_ARENA_ARRAY(problem->arena, uint8_t, (nSteps + 1) * nPieces);
  memory->cuts = SHARD_ARENA_ARRAY(problem->arena, Cut, (nSteps + 1) * nPieces);
  for (int32_t k = nSteps; k >= 0; --k) {
    const Node *node = &search.nodes[at];
    describe(problem, node, &states[k]);
    memcpy(&memory->cuts[k * nPieces], node->cuts, (size_t)nPieces * sizeof(Cut));
    for (int32_t p = 0; p < nPieces; ++p)
      forms[k * nPieces + p] = node->cuts[p].form;
    if (k == 0)
      break;
    steps[k - 1] = node->step;
    steps[k - 1].bufferBytes =
        bufferElements(problem, &node->step, search.nodes[node->parent].cuts, node->cuts) *
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
