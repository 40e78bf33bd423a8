//===- FindLayers.c - Repeated parts of a graph -------------------*- C -*-===//
// Ops that are computed alike (equal colour under a few rounds of Weisfeiler-Leman refinement) are
// candidate seeds, one an instance, from which all instances grow in lockstep (LayerRegion.h). What
// one instance lacks (an op fused into the embedding) no instance has, and nothing depends on the
// order of the ops.
//===----------------------------------------------------------------------===//

#include "FindLayers.h"
#include "LayerRegion.h"
#include "SplitLayers.h"

#include <string.h>

enum { MAX_RADIUS = 8, MAX_TRIES = 8 };

typedef struct Candidate {
  int32_t n;
  const int32_t *seeds; // [n]
  int64_t coverage;     // n x roles
  int32_t results;      // values that an instance gives to others
} Candidate;

/// More coverage, then more instances, then fewer results; equal ones keep their order.
static bool isBetter(const Candidate *one, const Candidate *other) {
  if (one->coverage != other->coverage)
    return one->coverage > other->coverage;
  if (one->n != other->n)
    return one->n > other->n;
  return one->results < other->results;
}

/// Layers stand in a row: each instance depends on the one before it. (The experts of one layer, or
/// the projections to queries, keys and values, are alike too and do not.) And they contract
/// something.
static bool isRow(const ShardLayerRegion *region) {
  const ShardLayerGraph *graph = region->graph;
  bool contracts = false;
  for (int32_t r = 0; r < region->nRoles && !contracts; ++r)
    contracts = shardLayerRegionNode(region, r, 0)->contraction;
  if (!contracts)
    return false;
  int32_t *latest = SHARD_ARENA_ARRAY(region->arena, int32_t, graph->nNodes); // instance + 1
  bool *linked = SHARD_ARENA_ARRAY(region->arena, bool, region->n);
  int32_t nLinked = 0;
  for (int32_t i = 0; i < graph->nNodes; ++i) {
    const ShardLayerNode *node = &graph->nodes[i];
    int32_t own = region->roleOf[i] >= 0 ? region->instanceOf[i] : -1;
    for (int32_t j = 0; j < node->nOperands; ++j) {
      int32_t p = graph->values[node->operands[j]].node;
      if (p >= 0 && latest[p] > latest[i])
        latest[i] = latest[p];
    }
    if (own < 0)
      continue;
    linked[own] |= latest[i] == own; // of the instance before
    latest[i] = latest[i] > own + 1 ? latest[i] : own + 1;
  }
  for (int32_t k = 1; k < region->n; ++k)
    nLinked += linked[k];
  return 3 * nLinked >= 2 * (region->n - 1);
}

/// An op before the first instance may be like the last op of one (the sum of two embeddings, a
/// residual sum): the first instance then begins with it, and each lacks its own. Tried from the
/// tuple one instance on, where the last instance has such an op behind it.
static Candidate shiftPhase(ShardLayerRegion *region, Candidate best) {
  const ShardLayerGraph *graph = region->graph;
  shardLayerRegionGrow(region, best.n, best.seeds);
  int32_t n = best.n, nRoles = region->nRoles, nTried = 0;
  int32_t *tried = SHARD_ARENA_ARRAY(region->arena, int32_t, (size_t)nRoles *(size_t)n);
  for (int32_t r = 0; r < nRoles; ++r) {
    const int32_t *tuple = region->nodes + (size_t)r * (size_t)n;
    int32_t next = -1; // behind the last instance, in the order of its uses
    for (int32_t s = 0; s < nRoles && next < 0; ++s) {
      const ShardLayerNode *last = shardLayerRegionNode(region, s, n - 1);
      for (int32_t x = 0; x < last->nResults && next < 0; ++x) {
        const ShardLayerValue *value = &graph->values[last->firstResult + x];
        for (int32_t u = 0; u < value->nUses && next < 0; ++u) {
          int32_t user = value->uses[u].node;
          if (region->roleOf[user] < 0 && graph->nodes[user].kind == SHARD_LAYER_COMPUTE &&
              graph->nodes[user].token == graph->nodes[tuple[0]].token)
            next = user;
        }
      }
    }
    if (next < 0)
      continue;
    int32_t *seeds = tried + (size_t)nTried++ * (size_t)n;
    memcpy(seeds, tuple + 1, (size_t)(n - 1) * sizeof *seeds);
    seeds[n - 1] = next;
  }
  for (int32_t t = 0; t < nTried; ++t) {
    Candidate shifted = {n, tried + (size_t)t * (size_t)n, 0, 0};
    shardLayerRegionGrow(region, n, shifted.seeds);
    shifted.coverage = (int64_t)n * region->nRoles;
    shifted.results = shardLayerRegionCountResults(region);
    if (isBetter(&shifted, &best))
      best = shifted;
  }
  return best;
}

/// Where in the period an instance begins is free; the best place passes the fewest values on, as a
/// hidden state does. Tried on the first and last instances alone; ties to the latest.
static Candidate choosePhase(ShardLayerRegion *region, Candidate best) {
  shardLayerRegionGrow(region, best.n, best.seeds);
  int32_t n = best.n, nRoles = region->nRoles;
  int32_t *all = SHARD_ARENA_ARRAY(region->arena, int32_t, (size_t)nRoles *(size_t)n);
  memcpy(all, region->nodes, (size_t)nRoles * (size_t)n * sizeof *all);
  // Roles by canonical position of the last instance, nearest to the return first.
  int32_t *rank = SHARD_ARENA_ARRAY(region->arena, int32_t, region->graph->nNodes);
  int32_t *roles = SHARD_ARENA_ARRAY(region->arena, int32_t, nRoles);
  int32_t nSorted = 0;
  for (int32_t r = 0; r < nRoles; ++r)
    rank[all[(size_t)(r + 1) * (size_t)n - 1]] = r + 1;
  for (int32_t o = 0; o < region->graph->nOrdered; ++o)
    if (rank[region->graph->order[o]] > 0)
      roles[nSorted++] = rank[region->graph->order[o]] - 1;
  int32_t sample[4], nSample = 0;
  for (int32_t k = 0; k < n; ++k)
    if (k < 2 || k >= n - 2)
      sample[nSample++] = k;
  int32_t bestRole = -1, mostRoles = 0, fewestResults = 0;
  for (int32_t at = 0; at < nSorted; ++at) {
    int32_t seeds[4];
    for (int32_t k = 0; k < nSample; ++k)
      seeds[k] = all[(size_t)roles[at] * (size_t)n + (size_t)sample[k]];
    shardLayerRegionGrow(region, nSample, seeds);
    int32_t results = shardLayerRegionCountResults(region);
    if (bestRole < 0 || region->nRoles > mostRoles ||
        (region->nRoles == mostRoles && results < fewestResults)) {
      bestRole = roles[at];
      mostRoles = region->nRoles;
      fewestResults = results;
    }
  }
  shardLayerRegionGrow(region, best.n, best.seeds);
  best.results = shardLayerRegionCountResults(region);
  Candidate moved = {n, all + (size_t)bestRole * (size_t)n, 0, 0};
  shardLayerRegionGrow(region, n, moved.seeds);
  moved.coverage = (int64_t)n * region->nRoles;
  moved.results = shardLayerRegionCountResults(region);
  if (isBetter(&best, &moved))
    moved = best;
  return moved.results > 1 ? shiftPhase(region, moved) : moved;
}

/// Seeds of all classes, best first is the caller's business. Classes of small radius are large and
/// mixed, those of large radius lack the first instances; each radius gives some that are right.
static int32_t collectCandidates(ShardLayerRegion *region, Candidate **outCandidates) {
  const ShardLayerGraph *graph = region->graph;
  static const int32_t radii[] = {4, 2, 1, 0, MAX_RADIUS};
  size_t capacity = 0;
  Candidate *candidates = NULL;
  int32_t nCandidates = 0;
  int64_t best = 0, workLimit = 64 * (int64_t)graph->nNodes + 1024; // keeps odd graphs linear
  int32_t bestInstances = 0;
  // Role of each node in the region that covers most so far.
  int32_t *bestRole = SHARD_ARENA_ARRAY(region->arena, int32_t, graph->nNodes);
  for (int32_t i = 0; i < graph->nNodes; ++i)
    bestRole[i] = -1;
  const int32_t *colors[MAX_RADIUS + 1];
  int32_t counts[MAX_RADIUS + 1];
  for (int32_t radius = 0; radius <= MAX_RADIUS; ++radius)
    colors[radius] = shardLayerGraphRefine(graph, radius ? colors[radius - 1] : NULL,
                                           &counts[radius], region->arena);
  for (size_t at = 0; at < sizeof radii / sizeof *radii; ++at) {
    const int32_t *color = colors[radii[at]];
    int32_t nColors = counts[radii[at]];
    // Members of each class in canonical order, sources first, classes by their last member.
    int32_t *begin = SHARD_ARENA_ARRAY(region->arena, int32_t, nColors + 2);
    int32_t *member = SHARD_ARENA_ARRAY(region->arena, int32_t, graph->nOrdered);
    for (int32_t o = 0; o < graph->nOrdered; ++o)
      ++begin[color[graph->order[o]] + 2];
    for (int32_t c = 2; c < nColors + 2; ++c)
      begin[c] += begin[c - 1];
    for (int32_t o = graph->nOrdered - 1; o >= 0; --o)
      member[begin[color[graph->order[o]] + 1]++] = graph->order[o];
    bool *seen = SHARD_ARENA_ARRAY(region->arena, bool, nColors);
    for (int32_t o = 0; o < graph->nOrdered && region->work < workLimit; ++o) {
      int32_t c = color[graph->order[o]];
      if (seen[c])
        continue;
      seen[c] = true;
      const int32_t *seeds = member + begin[c];
      int32_t n = begin[c + 1] - begin[c];
      if (n < 2 || graph->nodes[seeds[0]].kind != SHARD_LAYER_COMPUTE)
        continue;
      int32_t role = bestRole[seeds[0]];
      bool known = role >= 0 && n + 2 >= bestInstances; // most of a role: would grow to the same
      for (int32_t k = 1; k < n && known; ++k)
        known = bestRole[seeds[k]] == role;
      if (known)
        continue;
      shardLayerRegionGrow(region, n, seeds);
      int64_t coverage = (int64_t)region->n * region->nRoles;
      if (region->nRoles < 2 || coverage * 4 < graph->nCompute || !isRow(region))
        continue;
      Candidate found = {n, seeds, coverage, shardLayerRegionCountResults(region)};
      bool settled = found.results <= 1; // or another place in the period was tried for one like it
      for (int32_t c = 0; c < nCandidates && !settled; ++c)
        settled = candidates[c].n == n && candidates[c].coverage == coverage;
      if (!settled) {
        int64_t work = region->work;
        found = choosePhase(region, found);
        region->work = work; // bounded by itself
      }
      if ((size_t)nCandidates == capacity)
        candidates = shardArenaGrow(region->arena, candidates, (size_t)nCandidates, &capacity,
                                    (size_t)nCandidates + 1, sizeof *candidates);
      candidates[nCandidates++] = found;
      if (found.coverage > best) {
        best = found.coverage;
        bestInstances = found.n;
        shardLayerRegionGrow(region, found.n, found.seeds);
        memcpy(bestRole, region->roleOf, (size_t)graph->nNodes * sizeof *bestRole);
      }
    }
  }
  *outCandidates = candidates;
  return nCandidates;
}

/// Chooses among candidates. Of those that cover much, one that passes on the fewest values: a
/// hidden state is one value, while half a layer (all attentions of a stack whose feed-forward
/// parts differ) passes on more. Then the one that covers most; then, within effects at the ends of
/// a stack (a first or last layer that lacks an op, as fusion leaves it), the one with most
/// instances.
static Candidate chooseCandidate(ShardLayerRegion *region, int32_t nCandidates,
                                 const Candidate *candidates, Candidate *outWhole) {
  int64_t most = 0;
  for (int32_t c = 0; c < nCandidates; ++c)
    most = candidates[c].coverage > most ? candidates[c].coverage : most;
  Candidate best = {0};
  for (int32_t c = 0; c < nCandidates; ++c) {
    const Candidate *other = &candidates[c];
    if (5 * other->coverage < 3 * most)
      continue;
    if (best.n == 0 || other->results < best.results ||
        (other->results == best.results && isBetter(other, &best)))
      best = *other;
  }
  shardLayerRegionGrow(region, best.n, best.seeds);
  int32_t nBest = best.n;
  int64_t enough = best.coverage - best.coverage / 8;
  int32_t *taken = SHARD_ARENA_ARRAY(region->arena, int32_t, nBest);
  for (int32_t c = 0; c < nCandidates; ++c) {
    const Candidate *other = &candidates[c];
    if (other->n <= best.n || other->n > nBest + 2 || other->coverage < enough ||
        other->results > best.results)
      continue;
    bool apart = true; // each instance of the best one holds at most one seed
    for (int32_t k = 0; k < other->n && apart; ++k) {
      int32_t i = other->seeds[k];
      if (region->roleOf[i] >= 0)
        apart = taken[region->instanceOf[i]]++ == 0;
    }
    memset(taken, 0, (size_t)nBest * sizeof *taken);
    if (apart)
      best = *other;
  }
  // The other way round: without its first or last instance it may cover much more.
  Candidate whole = best;
  *outWhole = whole;
  for (int32_t cut = 1; cut < 4 && whole.n > 2; ++cut) {
    int32_t n = whole.n - (cut & 1) - (cut >> 1);
    if (n < 2)
      continue;
    const int32_t *seeds = whole.seeds + (cut & 1);
    shardLayerRegionGrow(region, n, seeds);
    int64_t coverage = (int64_t)region->n * region->nRoles;
    int32_t results = shardLayerRegionCountResults(region);
    if (coverage - coverage / 8 > whole.coverage && coverage > best.coverage &&
        results <= best.results)
      best = (Candidate){n, seeds, coverage, results};
  }
  return best;
}

/// There is not more between the instances than in them, and what is between them is small change
/// unless a single value goes from one to the next.
static bool isStackOfLayers(const ShardLayerRegion *region) {
  const ShardLayerGraph *graph = region->graph;
  if (!isRow(region))
    return false;
  // Bit 0: depends on an instance; bit 1: an instance depends on it.
  int8_t *state = SHARD_ARENA_ARRAY(region->arena, int8_t, graph->nNodes);
  for (int32_t i = 0; i < graph->nNodes; ++i)
    for (int32_t j = 0; j < graph->nodes[i].nOperands; ++j) {
      int32_t p = graph->values[graph->nodes[i].operands[j]].node;
      if (p >= 0 && (region->roleOf[p] >= 0 || state[p]))
        state[i] = 1;
    }
  int64_t between = 0;
  for (int32_t i = graph->nNodes - 1; i >= 0; --i) {
    const ShardLayerNode *node = &graph->nodes[i];
    for (int32_t x = 0; x < node->nResults; ++x) {
      const ShardLayerValue *value = &graph->values[node->firstResult + x];
      for (int32_t u = 0; u < value->nUses; ++u)
        if (region->roleOf[value->uses[u].node] >= 0 || (state[value->uses[u].node] & 2))
          state[i] |= 2;
    }
    between += region->roleOf[i] < 0 && state[i] == 3 && node->kind == SHARD_LAYER_COMPUTE;
  }
  int32_t nCarried = 0; // results that an instance gives to later ones
  for (int32_t r = 0; r < region->nRoles; ++r)
    for (int32_t i = 0; i < shardLayerRegionNode(region, r, 0)->nResults; ++i) {
      const ShardLayerValue *value =
          &graph->values[shardLayerRegionNode(region, r, 0)->firstResult + i];
      bool carried = false;
      for (int32_t u = 0; u < value->nUses && !carried; ++u) {
        int32_t user = value->uses[u].node;
        carried = region->roleOf[user] >= 0 ? region->instanceOf[user] != 0 : state[user] & 2;
      }
      nCarried += carried;
    }
  int64_t coverage = (int64_t)region->n * region->nRoles;
  return coverage >= between * (region->n == 2 ? 3 : 1) && coverage * 4 >= graph->nCompute &&
         (nCarried <= 1 || between <= 2 * (region->n - 1));
}

bool shardLayersFind(const ShardLayerGraph *graph, ShardArena *arena, ShardLayerSet *out) {
  ShardLayerRegion *region = shardLayerRegionCreate(graph, arena);
  Candidate *candidates;
  int32_t nCandidates = collectCandidates(region, &candidates);
  bool found = false;
  for (int tries = 0; tries < MAX_TRIES && nCandidates > 0 && !found; ++tries) {
    Candidate chosen;
    Candidate best = choosePhase(region, chooseCandidate(region, nCandidates, candidates, &chosen));
    shardLayerRegionGrow(region, best.n, best.seeds);
    shardLayerRegionMakeConvex(region);
    found = region->nRoles >= 2 && isStackOfLayers(region);
    int32_t kept = 0; // those like it would fail like it
    for (int32_t c = 0; c < nCandidates; ++c)
      if (candidates[c].n != chosen.n || candidates[c].coverage != chosen.coverage)
        candidates[kept++] = candidates[c];
    nCandidates = kept;
  }
  if (!found)
    return false;
  shardLayerRegionSplit(region);
  // Roles in the order in which instance 0 is computed: the canonical one, backwards.
  size_t n = (size_t)region->n;
  int32_t *nodes = SHARD_ARENA_ARRAY(arena, int32_t, (size_t)region->nRoles *n);
  size_t at = 0;
  for (int32_t o = graph->nOrdered - 1; o >= 0; --o) {
    int32_t i = graph->order[o];
    if (region->roleOf[i] >= 0 && region->instanceOf[i] == 0)
      memcpy(nodes + at++ * n, region->nodes + (size_t)region->roleOf[i] * n, n * sizeof *nodes);
  }
  *out = (ShardLayerSet){region->n, region->nRoles, nodes};
  return true;
}
