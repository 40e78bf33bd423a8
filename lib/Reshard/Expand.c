//===- Expand.c - What one step leads to ---------------------------*- C -*-===//
// Gathering, moving and cutting one dimension at a time follows Rink et al., Memory-efficient array
// redistribution through portable collective communication (2021); an exchange, which they do not
// have, ends every chain.
//===----------------------------------------------------------------------===//

#include "Search.h"

#include <string.h>

enum { MAX_CHUNKS = 16 };

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
  shardReshardAddNode(search, at, child.node, stepOf(SHARD_RESHARD_SLICE, -1, p, n, axes));
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
    shardReshardAddNode(search, at, child.node, step);
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
