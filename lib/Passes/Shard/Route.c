//===- Route.c - The cheapest way from one placement to another ---*- C -*-===//
// Shortest path over placements (Dijkstra 1959). The moves are those that bring an axis nearer to
// where it is wanted, so the placements reached are few. Gathering, moving and cutting one
// dimension at a time is the scheme of Rink et al., Memory-efficient array redistribution through
// portable collective communication (2021).
//===----------------------------------------------------------------------===//

#include "Route.h"

#include <assert.h>
#include <string.h>

typedef struct Node {
  ShardSharding *state;
  int64_t cost;
  int32_t nCollectives, nSteps;
  int32_t parent; // -1: the start
  ShardStep step; // from the parent
  bool settled;
} Node;

typedef struct Search {
  const ShardMesh *mesh;
  ShardArena *arena;
  int32_t nAtoms;
  int64_t bytes;
  const ShardSharding *target;
  Node *nodes;
  size_t nNodes, capacity;
} Search;

static bool isSplitOver(const ShardSharding *sharding, uint8_t axis) {
  for (int32_t i = 0; i < sharding->nAtoms; ++i)
    for (int k = 0; k < sharding->atoms[i].count; ++k)
      if (sharding->atoms[i].axis[k] == axis)
        return true;
  return false;
}

static int commonPrefix(const ShardAxisList *a, const ShardAxisList *b) {
  int n = 0;
  while (n < a->count && n < b->count && a->axis[n] == b->axis[n])
    ++n;
  return n;
}

// Whether more axes are wanted on an atom whose present ones are right.
static bool wantsMore(const ShardAxisList *have, const ShardAxisList *want) {
  return have->count < want->count && commonPrefix(have, want) == have->count;
}

static int64_t deviceCount(const ShardMesh *mesh, ShardAxisList axes) {
  int64_t count = 1;
  for (int k = 0; k < axes.count; ++k)
    count *= mesh->sizes[axes.axis[k]];
  return count;
}

int64_t shardStepCost(const ShardMesh *mesh, const ShardStep *step, int64_t localBytes) {
  // A ring of n; n divides the number of devices.
  int64_t n = deviceCount(mesh, step->axes), devices = shardMeshDeviceCount(mesh);
  switch (step->kind) {
  case SHARD_STEP_REDUCE_SCATTER:
  case SHARD_STEP_ALL_TO_ALL:
    return localBytes * (devices / n) * (n - 1);
  case SHARD_STEP_ALL_REDUCE:
    return 2 * localBytes * (devices / n) * (n - 1);
  case SHARD_STEP_ALL_GATHER:
    return localBytes * devices * (n - 1);
  default:
    return 0;
  }
}

static void applyStep(ShardSharding *state, const ShardStep *step) {
  if (step->kind == SHARD_STEP_ALL_TO_ALL || step->kind == SHARD_STEP_ALL_GATHER)
    state->atoms[step->from].count -= step->axes.count;
  if (step->kind == SHARD_STEP_ALL_TO_ALL || step->kind == SHARD_STEP_SLICE ||
      step->kind == SHARD_STEP_REDUCE_SCATTER) {
    ShardAxisList *list = &state->atoms[step->to];
    memcpy(&list->axis[list->count], step->axes.axis, step->axes.count);
    list->count += step->axes.count;
  }
  // What is past the count would spoil comparison.
  if (step->kind == SHARD_STEP_ALL_TO_ALL || step->kind == SHARD_STEP_ALL_GATHER) {
    ShardAxisList *list = &state->atoms[step->from];
    memset(&list->axis[list->count], 0, sizeof(list->axis) - list->count);
  }
  for (int k = 0; k < step->axes.count; ++k) {
    if (step->kind == SHARD_STEP_ENTER_ONCE)
      state->partial[step->axes.axis[k]] = (uint8_t)step->combiner;
    if (step->kind == SHARD_STEP_ALL_REDUCE || step->kind == SHARD_STEP_REDUCE_SCATTER)
      state->partial[step->axes.axis[k]] = SHARD_COMBINER_NONE;
  }
}

static void tryStep(Search *search, int32_t parent, const ShardStep *step) {
  const Node *from = &search->nodes[parent];
  int64_t local = search->bytes;
  for (int32_t i = 0; i < search->nAtoms; ++i)
    local /= deviceCount(search->mesh, from->state->atoms[i]);
  Node node = {.state = shardShardingCopy(search->arena, from->state),
               .cost = from->cost + shardStepCost(search->mesh, step, local),
               .nCollectives = from->nCollectives + (step->kind != SHARD_STEP_SLICE &&
                                                     step->kind != SHARD_STEP_ENTER_ONCE),
               .nSteps = from->nSteps + 1,
               .parent = parent,
               .step = *step};
  applyStep(node.state, step);
  for (size_t i = 0; i < search->nNodes; ++i) {
    Node *other = &search->nodes[i];
    if (!shardShardingEqual(other->state, node.state))
      continue;
    bool better = node.cost != other->cost ? node.cost < other->cost
                  : node.nCollectives != other->nCollectives
                      ? node.nCollectives < other->nCollectives
                      : node.nSteps < other->nSteps;
    if (better && !other->settled)
      *other = node;
    return;
  }
  search->nodes = shardArenaGrow(search->arena, search->nodes, search->nNodes, &search->capacity,
                                 search->nNodes + 1, sizeof(Node));
  search->nodes[search->nNodes++] = node;
}

// The local steps that the target wants; they cost nothing and make what follows smaller.
static bool tryLocal(Search *search, int32_t at) {
  const ShardSharding *state = search->nodes[at].state, *target = search->target;
  ShardStep step = {.kind = SHARD_STEP_SLICE};
  for (int32_t i = 0; i < search->nAtoms; ++i) {
    const ShardAxisList *have = &state->atoms[i], *want = &target->atoms[i];
    if (!wantsMore(have, want))
      continue;
    for (int k = have->count; k < want->count; ++k) {
      if (isSplitOver(state, want->axis[k]) || state->partial[want->axis[k]])
        break;
      step.axes.axis[step.axes.count++] = want->axis[k];
    }
    step.to = i;
    if (step.axes.count) {
      tryStep(search, at, &step);
      return true;
    }
  }
  step.kind = SHARD_STEP_ENTER_ONCE;
  for (int axis = 0; axis < search->mesh->nAxes; ++axis) {
    if (!target->partial[axis] || state->partial[axis] || isSplitOver(state, (uint8_t)axis) ||
        (step.axes.count && target->partial[axis] != step.combiner))
      continue;
    step.combiner = target->partial[axis];
    step.axes.axis[step.axes.count++] = (uint8_t)axis;
  }
  if (step.axes.count)
    tryStep(search, at, &step);
  return step.axes.count != 0;
}

// A collective over several axes lists them in the mesh's order; others take several steps.
static bool isInMeshOrder(const uint8_t *axes, int n) {
  for (int k = 1; k < n; ++k)
    if (axes[k] < axes[k - 1])
      return false;
  return true;
}

static void tryReduceScatters(Search *search, int32_t at) {
  const ShardSharding *state = search->nodes[at].state;
  for (int32_t i = 0; i < search->nAtoms; ++i) {
    const ShardAxisList *have = &state->atoms[i], *want = &search->target->atoms[i];
    if (!wantsMore(have, want))
      continue;
    ShardStep step = {.kind = SHARD_STEP_REDUCE_SCATTER,
                      .to = i,
                      .combiner = state->partial[want->axis[have->count]]};
    for (int k = have->count; k < want->count && step.combiner; ++k) {
      if (state->partial[want->axis[k]] != step.combiner)
        break;
      step.axes.axis[step.axes.count++] = want->axis[k];
      if (!isInMeshOrder(step.axes.axis, step.axes.count))
        break;
      tryStep(search, at, &step);
    }
  }
}

static void tryAllToAlls(Search *search, int32_t at) {
  const ShardSharding *state = search->nodes[at].state;
  for (int32_t i = 0; i < search->nAtoms; ++i)
    for (int32_t j = 0; j < search->nAtoms; ++j) {
      const ShardAxisList *source = &state->atoms[i], *have = &state->atoms[j],
                          *want = &search->target->atoms[j];
      if (i == j || !wantsMore(have, want))
        continue;
      int most = source->count - commonPrefix(source, &search->target->atoms[i]);
      if (most > want->count - have->count)
        most = want->count - have->count;
      for (int n = 1; n <= most; ++n) {
        const uint8_t *axes = &want->axis[have->count];
        if (memcmp(&source->axis[source->count - n], axes, (size_t)n) != 0 ||
            !isInMeshOrder(axes, n))
          continue;
        ShardStep step = {.kind = SHARD_STEP_ALL_TO_ALL, .from = i, .to = j};
        step.axes.count = (uint8_t)n;
        memcpy(step.axes.axis, axes, (size_t)n);
        tryStep(search, at, &step);
      }
    }
}

// All sums of one kind that are not wanted as sums; with or without those that can still be
// scattered.
static void tryAllReduces(Search *search, int32_t at) {
  const ShardSharding *state = search->nodes[at].state, *target = search->target;
  for (int combiner = SHARD_COMBINER_SUM; combiner <= SHARD_COMBINER_OR; ++combiner)
    for (int scattered = 0; scattered < 2; ++scattered) {
      ShardStep step = {.kind = SHARD_STEP_ALL_REDUCE, .combiner = (ShardCombiner)combiner};
      bool any = false;
      for (int axis = 0; axis < search->mesh->nAxes; ++axis) {
        if (state->partial[axis] != combiner || target->partial[axis] == combiner)
          continue;
        bool later = isSplitOver(target, (uint8_t)axis);
        any |= later;
        if (!later || scattered)
          step.axes.axis[step.axes.count++] = (uint8_t)axis;
      }
      if (step.axes.count && (!scattered || any))
        tryStep(search, at, &step);
    }
}

static void tryAllGathers(Search *search, int32_t at) {
  const ShardSharding *state = search->nodes[at].state;
  for (int32_t i = 0; i < search->nAtoms; ++i) {
    const ShardAxisList *have = &state->atoms[i];
    int most = have->count - commonPrefix(have, &search->target->atoms[i]);
    for (int n = 1; n <= most; ++n) {
      ShardStep step = {.kind = SHARD_STEP_ALL_GATHER, .from = i};
      step.axes.count = (uint8_t)n;
      memcpy(step.axes.axis, &have->axis[have->count - n], (size_t)n);
      if (!isInMeshOrder(step.axes.axis, n))
        break;
      tryStep(search, at, &step);
    }
  }
}

static void expand(Search *search, int32_t at) {
  if (tryLocal(search, at))
    return;
  tryReduceScatters(search, at);
  tryAllToAlls(search, at);
  tryAllReduces(search, at);
  tryAllGathers(search, at);
}

static int32_t nearest(const Search *search) {
  int32_t best = -1;
  for (size_t i = 0; i < search->nNodes; ++i) {
    const Node *node = &search->nodes[i];
    if (node->settled)
      continue;
    const Node *other = best < 0 ? NULL : &search->nodes[best];
    if (!other || node->cost < other->cost ||
        (node->cost == other->cost &&
         (node->nCollectives < other->nCollectives ||
          (node->nCollectives == other->nCollectives && node->nSteps < other->nSteps))))
      best = (int32_t)i;
  }
  return best;
}

//===----------------------------------------------------------------------===//
// Atoms of a route
//===----------------------------------------------------------------------===//

// Whether a placement sees two neighbours as one atom: it cuts the product in blocks.
static bool isBlock(int64_t localMajor, const ShardAxisList *minor) {
  return minor->count == 0 || localMajor == 1;
}

static void appendAxes(ShardAxisList *list, const ShardAxisList *more) {
  memcpy(&list->axis[list->count], more->axis, more->count);
  list->count += more->count;
}

static void mergeAtoms(const ShardMesh *mesh, int32_t nAtoms, const ShardAtom *atoms,
                       const ShardSharding *from, const ShardSharding *to, ShardRoute *route,
                       ShardSharding *mergedFrom, ShardSharding *mergedTo) {
  int32_t n = 0;
  for (int32_t i = 0; i < nAtoms; ++i) {
    ShardAtom *last = n ? &route->atoms[n - 1] : NULL;
    if (last && last->dim == atoms[i].dim) {
      ShardAxisList *a = &mergedFrom->atoms[n - 1], *b = &mergedTo->atoms[n - 1];
      bool merges = isBlock(shardShardingLocalAtomSize(mesh, last, *a), &from->atoms[i]) &&
                    isBlock(shardShardingLocalAtomSize(mesh, last, *b), &to->atoms[i]) &&
                    a->count + from->atoms[i].count <= 7 && b->count + to->atoms[i].count <= 7;
      if (merges) {
        last->size *= atoms[i].size;
        appendAxes(a, &from->atoms[i]);
        appendAxes(b, &to->atoms[i]);
        continue;
      }
    }
    route->atoms[n] = atoms[i];
    mergedFrom->atoms[n] = from->atoms[i];
    mergedTo->atoms[n++] = to->atoms[i];
  }
  memcpy(mergedFrom->partial, from->partial, sizeof(from->partial));
  memcpy(mergedTo->partial, to->partial, sizeof(to->partial));
  route->nAtoms = mergedFrom->nAtoms = mergedTo->nAtoms = n;
}

ShardSharding *shardRouteStateOnAtoms(const ShardMesh *mesh, const ShardRoute *route, int32_t state,
                                      int32_t nAtoms, const ShardAtom *atoms, ShardArena *arena) {
  const ShardSharding *merged = route->states[state];
  ShardSharding *out = shardShardingCreate(arena, nAtoms);
  memcpy(out->partial, merged->partial, sizeof(out->partial));
  int32_t at = 0;
  for (int32_t m = 0; m < route->nAtoms; ++m) {
    const ShardAxisList *axes = &merged->atoms[m];
    int k = 0;
    for (int64_t covered = 1; covered < route->atoms[m].size; ++at) {
      covered *= atoms[at].size;
      for (int64_t left = atoms[at].size;
           k < axes->count && left > 1 && left % mesh->sizes[axes->axis[k]] == 0;
           left /= mesh->sizes[axes->axis[k++]]) {
        ShardAxisList *list = &out->atoms[at];
        list->axis[list->count++] = axes->axis[k];
      }
    }
    assert(k == axes->count);
  }
  return out;
}

ShardRoute *shardRouteFind(const ShardMesh *mesh, int32_t nAtoms, const ShardAtom *atoms,
                           int64_t bytes, const ShardSharding *from, const ShardSharding *to,
                           ShardArena *arena) {
  ShardRoute *route = SHARD_ARENA_NEW(arena, ShardRoute);
  route->atoms = SHARD_ARENA_ARRAY(arena, ShardAtom, nAtoms);
  ShardSharding *start = shardShardingCreate(arena, nAtoms);
  ShardSharding *target = shardShardingCreate(arena, nAtoms);
  mergeAtoms(mesh, nAtoms, atoms, from, to, route, start, target);
  Search search = {
      .mesh = mesh, .arena = arena, .nAtoms = route->nAtoms, .bytes = bytes, .target = target};
  search.nodes = shardArenaGrow(arena, NULL, 0, &search.capacity, 16, sizeof(Node));
  search.nodes[search.nNodes++] = (Node){.state = start, .parent = -1};
  int32_t at = 0;
  while (!shardShardingEqual(search.nodes[at].state, target)) {
    search.nodes[at].settled = true;
    expand(&search, at);
    at = nearest(&search);
    assert(at >= 0 && "gathering everything leads anywhere");
  }
  const Node *end = &search.nodes[at];
  route->cost = end->cost;
  route->nCollectives = end->nCollectives;
  route->nSteps = end->nSteps;
  route->steps = SHARD_ARENA_ARRAY(arena, ShardStep, end->nSteps);
  route->states = SHARD_ARENA_ARRAY(arena, ShardSharding *, end->nSteps + 1);
  for (int32_t k = end->nSteps; k >= 0; --k) {
    route->states[k] = search.nodes[at].state;
    if (k > 0)
      route->steps[k - 1] = search.nodes[at].step;
    at = search.nodes[at].parent;
  }
  return route;
}
