//===- FindLayers.c - Repeated parts of a graph -------------------*- C -*-===//
// Ops that are computed alike (equal colour under a few rounds of Weisfeiler-Leman refinement) are
// candidate seeds, one an instance. From seeds all instances grow in lockstep along operands first,
// then along users, as long as the ops met are alike, distinct and free. What one instance lacks (an
// op fused into the embedding) no instance has, and nothing depends on the order of the ops.
//===----------------------------------------------------------------------===//

#include "FindLayers.h"

#include <string.h>

typedef struct Search {
  const ShardLayerGraph *graph;
  ShardArena *arena;
  int64_t work, workLimit; // tuples compared; the limit keeps odd graphs linear
  // The region being grown.
  int32_t n; // instances
  int32_t nRoles;
  size_t capacity;
  int32_t *nodes;      // [role][instance]
  int32_t *roleOf;     // [nNodes] -1: free
  int32_t *instanceOf; // [nNodes]
  int32_t *tuple;      // [n]
  int32_t *down;       // stack of roles whose operands are to be visited
} Search;

static const ShardLayerNode *nodeAt(const Search *s, int32_t role, int32_t instance) {
  return &s->graph->nodes[s->nodes[(size_t)role * (size_t)s->n + (size_t)instance]];
}

static void clearRegion(Search *s) {
  for (int64_t i = 0; i < (int64_t)s->nRoles * s->n; ++i)
    s->roleOf[s->nodes[i]] = -1;
  s->nRoles = 0;
  s->n = 0;
}

/// Takes the tuple in as a role if its ops are alike, distinct and free.
static bool addRole(Search *s) {
  const ShardLayerNode *first = &s->graph->nodes[s->tuple[0]];
  s->work += s->n;
  int32_t k = 0;
  for (; k < s->n; ++k) {
    int32_t i = s->tuple[k];
    const ShardLayerNode *node = &s->graph->nodes[i];
    if (node->kind != SHARD_LAYER_COMPUTE || s->roleOf[i] >= 0 || node->token != first->token)
      break;
    s->roleOf[i] = s->nRoles; // also keeps the tuple distinct
    s->instanceOf[i] = k;
  }
  if (k < s->n) {
    while (k > 0)
      s->roleOf[s->tuple[--k]] = -1;
    return false;
  }
  size_t used = (size_t)s->nRoles * (size_t)s->n;
  if (used + (size_t)s->n > s->capacity)
    s->nodes = shardArenaGrow(s->arena, s->nodes, used, &s->capacity, used + (size_t)s->n,
                              sizeof *s->nodes);
  memcpy(s->nodes + used, s->tuple, (size_t)s->n * sizeof *s->nodes);
  ++s->nRoles;
  return true;
}

/// The producers of an operand in all instances, if they are alike.
static bool gatherProducers(Search *s, int32_t role, int32_t operand) {
  int32_t number = 0;
  for (int32_t k = 0; k < s->n; ++k) {
    int32_t v = nodeAt(s, role, k)->operands[operand];
    int32_t p = s->graph->values[v].node;
    if (p < 0 || s->graph->nodes[p].kind != SHARD_LAYER_COMPUTE || s->roleOf[p] >= 0)
      return false;
    int32_t at = v - s->graph->nodes[p].firstResult;
    if (k == 0)
      number = at;
    else if (at != number)
      return false;
    s->tuple[k] = p;
  }
  return true;
}

static void growDown(Search *s, int32_t role) {
  int32_t nDown = 0;
  s->down[nDown++] = role;
  while (nDown > 0) {
    int32_t r = s->down[--nDown];
    int32_t nOperands = nodeAt(s, r, 0)->nOperands;
    for (int32_t j = 0; j < nOperands; ++j)
      if (gatherProducers(s, r, j) && addRole(s))
        s->down[nDown++] = s->nRoles - 1;
  }
}

/// The use of `value` that has the token and operand of `like` and stands `rank`-th among those that
/// are free, or -1.
static int32_t findUse(const Search *s, const ShardLayerValue *value, int32_t token, int32_t operand,
                       int32_t rank) {
  for (int32_t u = 0; u < value->nUses; ++u) {
    const ShardLayerUse *use = &value->uses[u];
    if (use->operand == operand && s->graph->nodes[use->node].token == token &&
        s->roleOf[use->node] < 0 && rank-- == 0)
      return use->node;
  }
  return -1;
}

/// What uses a role's results in every instance and is in none yet: outputs on the side, such as
/// caches.
static void growUp(Search *s, int32_t role) {
  int32_t nResults = nodeAt(s, role, 0)->nResults;
  for (int32_t i = 0; i < nResults; ++i) {
    const ShardLayerValue *value = &s->graph->values[nodeAt(s, role, 0)->firstResult + i];
    for (int32_t u = 0; u < value->nUses; ++u) {
      const ShardLayerUse *use = &value->uses[u];
      const ShardLayerNode *user = &s->graph->nodes[use->node];
      if (user->kind != SHARD_LAYER_COMPUTE || s->roleOf[use->node] >= 0)
        continue;
      int32_t rank = 0; // among the free uses of the same kind
      for (int32_t w = 0; w < u; ++w)
        rank += value->uses[w].operand == use->operand && s->roleOf[value->uses[w].node] < 0 &&
                s->graph->nodes[value->uses[w].node].token == user->token;
      s->tuple[0] = use->node;
      int32_t k = 1;
      for (; k < s->n; ++k) {
        const ShardLayerValue *other = &s->graph->values[nodeAt(s, role, k)->firstResult + i];
        s->tuple[k] = findUse(s, other, user->token, use->operand, rank);
        if (s->tuple[k] < 0)
          break;
      }
      if (k == s->n && addRole(s))
        growDown(s, s->nRoles - 1);
    }
  }
}

static void removeRoles(Search *s, const bool *drop) {
  int32_t kept = 0;
  for (int32_t r = 0; r < s->nRoles; ++r) {
    int32_t *from = s->nodes + (size_t)r * (size_t)s->n;
    for (int32_t k = 0; k < s->n; ++k)
      s->roleOf[from[k]] = drop[r] ? -1 : kept;
    if (drop[r])
      continue;
    memmove(s->nodes + (size_t)kept * (size_t)s->n, from, (size_t)s->n * sizeof *from);
    ++kept;
  }
  s->nRoles = kept;
}

/// An operand comes from the same role and result of its own instance in all instances, or from the
/// own instance in none: drops roles until that holds.
static void dropConflicts(Search *s) {
  for (bool changed = true; changed;) {
    changed = false;
    bool *drop = SHARD_ARENA_ARRAY(s->arena, bool, s->nRoles);
    for (int32_t r = 0; r < s->nRoles; ++r) {
      int32_t nOperands = nodeAt(s, r, 0)->nOperands;
      for (int32_t j = 0; j < nOperands && !drop[r]; ++j) {
        int32_t first = -1, number = 0;
        for (int32_t k = 0; k < s->n; ++k) {
          int32_t v = nodeAt(s, r, k)->operands[j];
          int32_t p = s->graph->values[v].node;
          bool inside = p >= 0 && s->roleOf[p] >= 0 && s->instanceOf[p] == k;
          int32_t from = inside ? s->roleOf[p] : -1;
          int32_t at = inside ? v - s->graph->nodes[p].firstResult : 0;
          if (k == 0) {
            first = from;
            number = at;
          } else if (from != first || at != number) {
            drop[r] = changed = true;
            break;
          }
        }
      }
    }
    if (changed)
      removeRoles(s, drop);
  }
}

/// Whether the graph is acyclic with each instance as one node (Kahn): then each is convex.
static bool isAcyclic(const Search *s) {
  const ShardLayerGraph *graph = s->graph;
  int32_t nGroups = s->n + graph->nNodes;
  int32_t *pending = SHARD_ARENA_ARRAY(s->arena, int32_t, nGroups);
  int32_t *members = SHARD_ARENA_ARRAY(s->arena, int32_t, nGroups);
  int32_t *ready = SHARD_ARENA_ARRAY(s->arena, int32_t, nGroups);
  int32_t nReady = 0, nDone = 0, nTotal = 0;
#define GROUP(i) (s->roleOf[i] >= 0 ? s->instanceOf[i] : s->n + (i))
  for (int32_t i = 0; i < graph->nNodes; ++i) {
    nTotal += members[GROUP(i)]++ == 0;
    for (int32_t j = 0; j < graph->nodes[i].nOperands; ++j) {
      int32_t p = graph->values[graph->nodes[i].operands[j]].node;
      if (p >= 0 && graph->nodes[p].kind != SHARD_LAYER_LEAF &&
          graph->nodes[p].kind != SHARD_LAYER_SOURCE && GROUP(p) != GROUP(i))
        ++pending[GROUP(i)];
    }
  }
  for (int32_t g = 0; g < nGroups; ++g)
    if (members[g] > 0 && pending[g] == 0)
      ready[nReady++] = g;
  while (nReady > 0) {
    int32_t g = ready[--nReady];
    ++nDone;
    int32_t nInside = g < s->n ? s->nRoles : 1;
    for (int32_t r = 0; r < nInside; ++r) {
      int32_t i = g < s->n ? s->nodes[(size_t)r * (size_t)s->n + (size_t)g] : g - s->n;
      const ShardLayerNode *node = &graph->nodes[i];
      if (node->kind == SHARD_LAYER_LEAF || node->kind == SHARD_LAYER_SOURCE)
        continue;
      for (int32_t x = 0; x < node->nResults; ++x) {
        const ShardLayerValue *value = &graph->values[node->firstResult + x];
        for (int32_t u = 0; u < value->nUses; ++u) {
          int32_t h = GROUP(value->uses[u].node);
          if (h != g && --pending[h] == 0)
            ready[nReady++] = h;
        }
      }
    }
  }
#undef GROUP
  return nDone == nTotal;
}

/// Makes each instance convex: where a path leaves one and comes back, either the ops behind the
/// path or those before it go, whichever are fewer.
static void dropConcave(Search *s) {
  const ShardLayerGraph *graph = s->graph;
  while (s->nRoles > 0 && !isAcyclic(s)) {
    bool *behind = SHARD_ARENA_ARRAY(s->arena, bool, s->nRoles);
    bool *before = SHARD_ARENA_ARRAY(s->arena, bool, s->nRoles);
    int8_t *state = SHARD_ARENA_ARRAY(s->arena, int8_t, graph->nNodes);
    for (int32_t k = 0; k < s->n; ++k) {
      s->work += graph->nNodes;
      // Forward: 1 reached from the instance through its ops alone, 2 through others.
      memset(state, 0, (size_t)graph->nNodes);
      for (int32_t i = 0; i < graph->nNodes; ++i) {
        bool inside = s->roleOf[i] >= 0 && s->instanceOf[i] == k;
        for (int32_t j = 0; j < graph->nodes[i].nOperands; ++j) {
          int32_t p = graph->values[graph->nodes[i].operands[j]].node;
          if (p >= 0 && state[p] > state[i])
            state[i] = state[p];
        }
        if (inside && state[i] == 2)
          behind[s->roleOf[i]] = true;
        if (inside && state[i] == 0)
          state[i] = 1;
        if (!inside && state[i] == 1)
          state[i] = 2;
      }
      memset(state, 0, (size_t)graph->nNodes);
      for (int32_t i = graph->nNodes - 1; i >= 0; --i) {
        const ShardLayerNode *node = &graph->nodes[i];
        bool inside = s->roleOf[i] >= 0 && s->instanceOf[i] == k;
        for (int32_t x = 0; x < node->nResults; ++x) {
          const ShardLayerValue *value = &graph->values[node->firstResult + x];
          for (int32_t u = 0; u < value->nUses; ++u)
            if (state[value->uses[u].node] > state[i])
              state[i] = state[value->uses[u].node];
        }
        if (inside && state[i] == 2)
          before[s->roleOf[i]] = true;
        if (inside && state[i] == 0)
          state[i] = 1;
        if (!inside && state[i] == 1)
          state[i] = 2;
      }
    }
    int32_t nBehind = 0, nBefore = 0;
    for (int32_t r = 0; r < s->nRoles; ++r) {
      nBehind += behind[r];
      nBefore += before[r];
    }
    if (nBehind + nBefore == 0) { // two instances feed each other by unconnected ops: no layers
      clearRegion(s);
      return;
    }
    removeRoles(s, nBehind > 0 && (nBehind <= nBefore || nBefore == 0) ? behind : before);
    dropConflicts(s);
  }
}

/// Grows the region of `n` seeds; 0 roles when they are not alike.
static void grow(Search *s, int32_t n, const int32_t *seeds) {
  clearRegion(s);
  s->n = n;
  memcpy(s->tuple, seeds, (size_t)n * sizeof *seeds);
  if (!addRole(s))
    return;
  growDown(s, 0);
  for (int32_t r = 0; r < s->nRoles; ++r)
    growUp(s, r);
  dropConflicts(s);
}

/// Values of instance results that something outside the instance uses, over all instances.
static int32_t countResults(const Search *s) {
  int32_t count = 0;
  for (int32_t r = 0; r < s->nRoles; ++r) {
    int32_t nResults = nodeAt(s, r, 0)->nResults;
    for (int32_t i = 0; i < nResults; ++i) {
      bool outside = false;
      for (int32_t k = 0; k < s->n && !outside; ++k) {
        const ShardLayerValue *value = &s->graph->values[nodeAt(s, r, k)->firstResult + i];
        for (int32_t u = 0; u < value->nUses && !outside; ++u) {
          int32_t user = value->uses[u].node;
          outside = s->roleOf[user] < 0 || s->instanceOf[user] != k;
        }
      }
      count += outside;
    }
  }
  return count;
}

typedef struct Candidate {
  int32_t n;
  const int32_t *seeds; // [n]
  int64_t coverage;     // n x roles
  int32_t results;      // values passed on; counted only where the coverage may be the best
} Candidate;

/// More coverage, then more instances, then fewer values passed on; equal ones keep their order.
static bool isBetter(const Candidate *one, const Candidate *other) {
  if (one->coverage != other->coverage)
    return one->coverage > other->coverage;
  if (one->n != other->n)
    return one->n > other->n;
  return one->results < other->results;
}

/// Seeds of all classes, best first is the caller's business. Classes of small radius are large and
/// mixed, those of large radius lack the first instances; each radius gives some that are right.
static int32_t collectCandidates(Search *s, Candidate **outCandidates, const int32_t **outBest) {
  const ShardLayerGraph *graph = s->graph;
  static const int32_t radii[] = {4, 2, 1, 0, 8};
  size_t capacity = 0;
  Candidate *candidates = NULL;
  int32_t nCandidates = 0;
  int64_t best = 0;
  // Role of each node in the region that covers most so far.
  int32_t *bestRole = SHARD_ARENA_ARRAY(s->arena, int32_t, graph->nNodes);
  for (int32_t i = 0; i < graph->nNodes; ++i)
    bestRole[i] = -1;
  for (size_t at = 0; at < sizeof radii / sizeof *radii; ++at) {
    int32_t nColors;
    int32_t *color = shardLayerGraphColor(graph, radii[at], &nColors, s->arena);
    // Members of each class in canonical order, sources first, classes by their last member.
    int32_t *begin = SHARD_ARENA_ARRAY(s->arena, int32_t, nColors + 2);
    int32_t *member = SHARD_ARENA_ARRAY(s->arena, int32_t, graph->nOrdered);
    for (int32_t o = 0; o < graph->nOrdered; ++o)
      ++begin[color[graph->order[o]] + 2];
    for (int32_t c = 2; c < nColors + 2; ++c)
      begin[c] += begin[c - 1];
    for (int32_t o = graph->nOrdered - 1; o >= 0; --o)
      member[begin[color[graph->order[o]] + 1]++] = graph->order[o];
    bool *seen = SHARD_ARENA_ARRAY(s->arena, bool, nColors);
    for (int32_t o = 0; o < graph->nOrdered && s->work < s->workLimit; ++o) {
      int32_t c = color[graph->order[o]];
      if (seen[c])
        continue;
      seen[c] = true;
      const int32_t *seeds = member + begin[c];
      int32_t n = begin[c + 1] - begin[c];
      if (n < 2 || graph->nodes[seeds[0]].kind != SHARD_LAYER_COMPUTE)
        continue;
      int32_t role = bestRole[seeds[0]];
      bool known = role >= 0;
      for (int32_t k = 1; k < n && known; ++k)
        known = bestRole[seeds[k]] == role;
      if (known)
        continue;
      grow(s, n, seeds);
      int64_t coverage = (int64_t)s->n * s->nRoles;
      if (s->nRoles < 2)
        continue;
      if ((size_t)nCandidates == capacity)
        candidates = shardArenaGrow(s->arena, candidates, (size_t)nCandidates, &capacity,
                                    (size_t)nCandidates + 1, sizeof *candidates);
      candidates[nCandidates++] =
          (Candidate){n, seeds, coverage, coverage >= best ? countResults(s) : 0};
      if (coverage > best) {
        best = coverage;
        memcpy(bestRole, s->roleOf, (size_t)graph->nNodes * sizeof *bestRole);
      }
    }
  }
  *outCandidates = candidates;
  *outBest = bestRole;
  return nCandidates;
}

/// Chooses among candidates: most coverage; then, within effects at the ends of a stack (a first or
/// last layer that lacks an op, as fusion leaves it), most instances.
static Candidate chooseCandidate(Search *s, int32_t nCandidates, const Candidate *candidates) {
  Candidate best = candidates[0];
  for (int32_t c = 1; c < nCandidates; ++c)
    if (isBetter(&candidates[c], &best))
      best = candidates[c];
  grow(s, best.n, best.seeds);
  int32_t nBest = best.n;
  int64_t enough = best.coverage - best.coverage / 8;
  int32_t *taken = SHARD_ARENA_ARRAY(s->arena, int32_t, nBest);
  for (int32_t c = 0; c < nCandidates; ++c) {
    const Candidate *other = &candidates[c];
    if (other->n <= best.n || other->n > nBest + 2 || other->coverage < enough)
      continue;
    bool apart = true; // each instance of the best one holds at most one seed
    for (int32_t k = 0; k < other->n && apart; ++k) {
      int32_t i = other->seeds[k];
      if (s->roleOf[i] >= 0)
        apart = taken[s->instanceOf[i]]++ == 0;
    }
    memset(taken, 0, (size_t)nBest * sizeof *taken);
    if (apart)
      best = *other;
  }
  // The other way round: without its first or last instance it may cover much more.
  Candidate whole = best;
  for (int32_t cut = 1; cut < 4 && whole.n > 2; ++cut) {
    int32_t n = whole.n - (cut & 1) - (cut >> 1);
    if (n < 2)
      continue;
    const int32_t *seeds = whole.seeds + (cut & 1);
    grow(s, n, seeds);
    int64_t coverage = (int64_t)s->n * s->nRoles;
    if (coverage - coverage / 8 > whole.coverage && coverage > best.coverage)
      best = (Candidate){n, seeds, coverage, 0};
  }
  return best;
}

/// Where in the period an instance begins is free; the best place passes the fewest values on, as a
/// hidden state does. Tried on the first and last instances alone; ties to the latest.
static Candidate choosePhase(Search *s, Candidate best) {
  grow(s, best.n, best.seeds);
  int32_t n = best.n, nRoles = s->nRoles;
  int32_t *all = SHARD_ARENA_ARRAY(s->arena, int32_t, (size_t)nRoles * (size_t)n);
  memcpy(all, s->nodes, (size_t)nRoles * (size_t)n * sizeof *all);
  // Roles by canonical position of the last instance, nearest to the return first.
  int32_t *rank = SHARD_ARENA_ARRAY(s->arena, int32_t, s->graph->nNodes);
  int32_t *roles = SHARD_ARENA_ARRAY(s->arena, int32_t, nRoles);
  int32_t nSorted = 0;
  for (int32_t r = 0; r < nRoles; ++r)
    rank[all[(size_t)(r + 1) * (size_t)n - 1]] = r + 1;
  for (int32_t o = 0; o < s->graph->nOrdered; ++o)
    if (rank[s->graph->order[o]] > 0)
      roles[nSorted++] = rank[s->graph->order[o]] - 1;
  int32_t sample[4], nSample = 0;
  for (int32_t k = 0; k < n; ++k)
    if (k < 2 || k >= n - 2)
      sample[nSample++] = k;
  int32_t bestRole = -1, mostRoles = 0, fewestResults = 0;
  for (int32_t at = 0; at < nSorted; ++at) {
    int32_t seeds[4];
    for (int32_t k = 0; k < nSample; ++k)
      seeds[k] = all[(size_t)roles[at] * (size_t)n + (size_t)sample[k]];
    grow(s, nSample, seeds);
    int32_t results = countResults(s);
    if (bestRole < 0 || s->nRoles > mostRoles ||
        (s->nRoles == mostRoles && results < fewestResults)) {
      bestRole = roles[at];
      mostRoles = s->nRoles;
      fewestResults = results;
    }
  }
  grow(s, best.n, best.seeds);
  best.results = countResults(s);
  Candidate moved = {n, all + (size_t)bestRole * (size_t)n, 0, 0};
  grow(s, n, moved.seeds);
  moved.coverage = (int64_t)n * s->nRoles;
  moved.results = countResults(s);
  return isBetter(&best, &moved) ? best : moved;
}

/// A layer contracts something, its instances feed one another, and there is not more between them
/// than in them. Two alike projections of one layer are no two layers.
static bool isStackOfLayers(const Search *s) {
  const ShardLayerGraph *graph = s->graph;
  bool contracts = false;
  for (int32_t r = 0; r < s->nRoles; ++r)
    contracts |= nodeAt(s, r, 0)->contraction;
  if (!contracts)
    return false;
  // Bit 0: depends on an instance; bit 1: an instance depends on it; and which instance came first.
  int8_t *state = SHARD_ARENA_ARRAY(s->arena, int8_t, graph->nNodes);
  int32_t *from = SHARD_ARENA_ARRAY(s->arena, int32_t, graph->nNodes);
  bool chained = false;
  for (int32_t i = 0; i < graph->nNodes; ++i) {
    from[i] = -1;
    for (int32_t j = 0; j < graph->nodes[i].nOperands; ++j) {
      int32_t p = graph->values[graph->nodes[i].operands[j]].node;
      if (p < 0 || from[p] < 0)
        continue;
      state[i] |= 1;
      from[i] = from[p];
      chained |= s->roleOf[i] >= 0 && s->instanceOf[i] != from[p];
    }
    if (s->roleOf[i] >= 0)
      from[i] = s->instanceOf[i];
  }
  if (!chained)
    return false;
  int64_t between = 0;
  for (int32_t i = graph->nNodes - 1; i >= 0; --i) {
    const ShardLayerNode *node = &graph->nodes[i];
    for (int32_t x = 0; x < node->nResults; ++x) {
      const ShardLayerValue *value = &graph->values[node->firstResult + x];
      for (int32_t u = 0; u < value->nUses; ++u)
        if (s->roleOf[value->uses[u].node] >= 0 || (state[value->uses[u].node] & 2))
          state[i] |= 2;
    }
    between += s->roleOf[i] < 0 && state[i] == 3 && node->kind == SHARD_LAYER_COMPUTE;
  }
  int64_t coverage = (int64_t)s->n * s->nRoles;
  return coverage >= between * (s->n == 2 ? 3 : 1) && coverage * 4 >= graph->nCompute;
}

bool shardLayersFind(const ShardLayerGraph *graph, ShardArena *arena, ShardLayerSet *out) {
  Search s = {.graph = graph, .arena = arena};
  s.roleOf = SHARD_ARENA_ARRAY(arena, int32_t, graph->nNodes);
  s.instanceOf = SHARD_ARENA_ARRAY(arena, int32_t, graph->nNodes);
  s.tuple = SHARD_ARENA_ARRAY(arena, int32_t, graph->nNodes);
  s.down = SHARD_ARENA_ARRAY(arena, int32_t, graph->nNodes);
  s.workLimit = 64 * (int64_t)graph->nNodes + 1024;
  for (int32_t i = 0; i < graph->nNodes; ++i)
    s.roleOf[i] = -1;
  Candidate *candidates;
  const int32_t *bestRole;
  int32_t nCandidates = collectCandidates(&s, &candidates, &bestRole);
  if (nCandidates == 0)
    return false;
  Candidate best = choosePhase(&s, chooseCandidate(&s, nCandidates, candidates));
  grow(&s, best.n, best.seeds);
  dropConcave(&s);
  if (s.nRoles < 2 || !isStackOfLayers(&s))
    return false;
  // Roles in the order in which instance 0 is computed: the canonical one, backwards.
  int32_t *nodes = SHARD_ARENA_ARRAY(arena, int32_t, (size_t)s.nRoles * (size_t)s.n);
  int32_t at = 0;
  for (int32_t o = graph->nOrdered - 1; o >= 0; --o) {
    int32_t i = graph->order[o];
    if (s.roleOf[i] < 0 || s.instanceOf[i] != 0)
      continue;
    memcpy(nodes + (size_t)at++ * (size_t)s.n, s.nodes + (size_t)s.roleOf[i] * (size_t)s.n,
           (size_t)s.n * sizeof *nodes);
  }
  *out = (ShardLayerSet){s.n, s.nRoles, nodes};
  return true;
}
