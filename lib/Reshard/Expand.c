//===- Expand.c - What one step leads to ---------------------------*- C -*-===//
// Gathering, moving and cutting one dimension at a time follows Rink et al., Memory-efficient array
// redistribution through portable collective communication (2021); an exchange, which they do not
// have, ends every chain.
//===----------------------------------------------------------------------===//

#include "Search.h"

#include <string.h>

uint32_t shardReshardUsedAxes(const Search *search, const Node *node) {
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
// Cuts
//===----------------------------------------------------------------------===//

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
  shardReshardAddNode(search, at, child.node, stepOf(SHARD_RESHARD_SLICE, -1, p, n, axes));
}

// A cut that the target wants and that needs no data; it makes all that follows smaller.
static bool tryWantedSlice(Search *search, int32_t at) {
  uint32_t used = shardReshardUsedAxes(search, &search->nodes[at]);
  for (int32_t p = 0; p < search->problem->nPieces; ++p) {
    const Cut *cut = &search->nodes[at].cuts[p], *target = &search->problem->target[p];
    if (!shardReshardWantsMore(search, p, cut))
      continue;
    int n = 0;
    while (cut->nAxes + n < target->nAxes && !(used >> target->axes[cut->nAxes + n] & 1))
      ++n;
    if (!n || shardReshardTargetChunk(search, p, cut->nAxes + n) > cut->chunk)
      continue;
    trySlice(search, at, p, n, &target->axes[cut->nAxes],
             shardReshardTargetChunk(search, p, cut->nAxes + n));
    return true;
  }
  return false;
}

// Ranks that hold the same partial value may each reduce a part of it.
static void tryOtherSlices(Search *search, int32_t at) {
  uint32_t used = shardReshardUsedAxes(search, &search->nodes[at]);
  for (uint8_t axis = 0; axis < search->mesh->nAxes; ++axis)
    for (int32_t p = 0; p < search->problem->nPieces && !(used >> axis & 1); ++p) {
      if (search->mesh->sizes[axis] == 1)
        continue;
      shardReshardChunksAfter(search, p, &search->nodes[at].cuts[p], 1, &axis);
      for (size_t k = 0; k < search->nChunks; ++k)
        trySlice(search, at, p, 1, &axis, search->chunks[k]);
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
    shardReshardAddNode(search, at, child.node, step);
    for (int32_t p = 0; p < search->problem->nPieces; ++p) {
      shardReshardChunksAfter(search, p, &search->nodes[at].cuts[p], n, axes);
      for (size_t k = 0; k < search->nChunks; ++k) {
        Child child;
        beginChild(search, at, &child);
        int64_t part = storage / child.cuts[p].chunk * search->chunks[k];
        append(&child.cuts[p], n, axes, search->chunks[k]);
        child.node.partial &= ~set;
        ShardReshardStep step = stepOf(SHARD_RESHARD_REDUCE_SCATTER, -1, p, n, axes);
        step.combiner = search->sourceCombiner;
        step.sentBytes = ringBytes(search, devices, part);
        shardReshardAddNode(search, at, child.node, step);
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
      if (i == j || source->form != CUT_CHUNKS || !shardReshardWantsMore(search, j, have))
        continue;
      int most = source->nAxes - shardReshardCommonPrefix(search, i, source);
      if (most > want->nAxes - have->nAxes)
        most = want->nAxes - have->nAxes;
      for (int n = 1; n <= most; ++n) {
        const uint8_t *axes = &problem->target[j].axes[search->nodes[at].cuts[j].nAxes];
        const Cut *from = &search->nodes[at].cuts[i];
        if (memcmp(&from->axes[from->nAxes - n], axes, (size_t)n) != 0 || !isInMeshOrder(axes, n))
          continue;
        Child child;
        beginChild(search, at, &child);
        int64_t chunk = shardReshardTargetChunk(search, j, child.cuts[j].nAxes + n);
        int64_t part = storage / child.cuts[j].chunk * chunk;
        append(&child.cuts[j], n, axes, chunk);
        strip(search, i, &child.cuts[i], n);
        ShardReshardStep step = stepOf(SHARD_RESHARD_ALL_TO_ALL, i, j, n, axes);
        step.sentBytes = ringBytes(search, axesProduct(search->mesh, n, axes), part);
        shardReshardAddNode(search, at, child.node, step);
      }
    }
}

static void tryAllGathers(Search *search, int32_t at) {
  int64_t storage = shardReshardStorage(search->problem, search->nodes[at].cuts);
  for (int32_t p = 0; p < search->problem->nPieces; ++p) {
    Cut cut = search->nodes[at].cuts[p];
    if (cut.form != CUT_CHUNKS)
      continue;
    int most = cut.nAxes - shardReshardCommonPrefix(search, p, &cut);
    for (int n = 1; n <= most; ++n) {
      const uint8_t *axes = &cut.axes[cut.nAxes - n];
      if (!isInMeshOrder(axes, n))
        break;
      Child child;
      beginChild(search, at, &child);
      strip(search, p, &child.cuts[p], n);
      ShardReshardStep step = stepOf(SHARD_RESHARD_ALL_GATHER, p, -1, n, axes);
      step.sentBytes = ringBytes(search, axesProduct(search->mesh, n, axes), storage);
      shardReshardAddNode(search, at, child.node, step);
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
  shardReshardAddNode(search, at, child.node, step);
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
        shardReshardCommonPrefix(search, p, cut) != target->nAxes)
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
  shardReshardAddNode(search, at, child.node, step);
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
// All of them
//===----------------------------------------------------------------------===//

void shardReshardExpand(Search *search, int32_t at) {
  // Where all shards are full nothing is better than the target's own cuts first.
  if (tryWantedSlice(search, at) && !(search->isUneven && search->nodes[at].partial))
    return;
  if (search->nodes[at].partial) {
    tryReductions(search, at);
    tryOtherSlices(search, at);
    if (search->isUneven && !exchangesNoMore(&search->nodes[at])) {
      Cut cuts[MAX_PIECES];
      for (int32_t p = 0; p < search->problem->nPieces; ++p)
        cuts[p] = (Cut){.chunk = search->problem->sizes[p]};
      tryEveryExchange(search, at, cuts,
                       ~shardReshardUsedAxes(
                           search, &(Node){.partial = search->nodes[at].partial, .cuts = cuts}));
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
