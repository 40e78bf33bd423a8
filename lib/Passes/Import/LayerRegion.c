//===- LayerRegion.c - Alike parts grown in lockstep --------------*- C -*-===//

#include "LayerRegion.h"

#include <string.h>

ShardLayerRegion *shardLayerRegionCreate(const ShardLayerGraph *graph, ShardArena *arena) {
  ShardLayerRegion *region = SHARD_ARENA_NEW(arena, ShardLayerRegion);
  region->graph = graph;
  region->arena = arena;
  region->roleOf = SHARD_ARENA_ARRAY(arena, int32_t, graph->nNodes);
  region->instanceOf = SHARD_ARENA_ARRAY(arena, int32_t, graph->nNodes);
  region->tuple = SHARD_ARENA_ARRAY(arena, int32_t, graph->nNodes);
  region->down = SHARD_ARENA_ARRAY(arena, int32_t, graph->nNodes);
  for (int32_t i = 0; i < graph->nNodes; ++i)
    region->roleOf[i] = -1;
  return region;
}

static void clearRegion(ShardLayerRegion *region) {
  for (int64_t i = 0; i < (int64_t)region->nRoles * region->n; ++i)
    region->roleOf[region->nodes[i]] = -1;
  region->nRoles = 0;
  region->n = 0;
}

/// Takes the tuple in as a role if its ops are alike, distinct and free.
static bool addRole(ShardLayerRegion *region) {
  const ShardLayerNode *first = &region->graph->nodes[region->tuple[0]];
  region->work += region->n;
  int32_t k = 0;
  for (; k < region->n; ++k) {
    int32_t i = region->tuple[k];
    const ShardLayerNode *node = &region->graph->nodes[i];
    if (node->kind != SHARD_LAYER_COMPUTE || region->roleOf[i] >= 0 ||
        node->token != first->token || (region->allowed && !region->allowed[i]))
      break;
    region->roleOf[i] = region->nRoles; // also keeps the tuple distinct
    region->instanceOf[i] = k;
  }
  if (k < region->n) {
    while (k > 0)
      region->roleOf[region->tuple[--k]] = -1;
    return false;
  }
  size_t used = (size_t)region->nRoles * (size_t)region->n;
  if (used + (size_t)region->n > region->capacity)
    region->nodes = shardArenaGrow(region->arena, region->nodes, used, &region->capacity,
                                   used + (size_t)region->n, sizeof *region->nodes);
  memcpy(region->nodes + used, region->tuple, (size_t)region->n * sizeof *region->nodes);
  ++region->nRoles;
  return true;
}

/// The producers of an operand in all instances, if they are alike.
static bool gatherProducers(ShardLayerRegion *region, int32_t role, int32_t operand) {
  int32_t number = 0;
  for (int32_t k = 0; k < region->n; ++k) {
    int32_t v = shardLayerRegionNode(region, role, k)->operands[operand];
    int32_t p = region->graph->values[v].node;
    if (p < 0 || region->graph->nodes[p].kind != SHARD_LAYER_COMPUTE || region->roleOf[p] >= 0)
      return false;
    int32_t at = v - region->graph->nodes[p].firstResult;
    if (k == 0)
      number = at;
    else if (at != number)
      return false;
    region->tuple[k] = p;
  }
  return true;
}

static void growDown(ShardLayerRegion *region, int32_t role) {
  int32_t nDown = 0;
  region->down[nDown++] = role;
  while (nDown > 0) {
    int32_t r = region->down[--nDown];
    int32_t nOperands = shardLayerRegionNode(region, r, 0)->nOperands;
    for (int32_t j = 0; j < nOperands; ++j)
      if (gatherProducers(region, r, j) && addRole(region))
        region->down[nDown++] = region->nRoles - 1;
  }
}

/// The use of `value` that has the token and operand of `like` and stands `rank`-th among those
/// that are free, or -1.
static int32_t findUse(const ShardLayerRegion *region, const ShardLayerValue *value, int32_t token,
                       int32_t operand, int32_t rank) {
  for (int32_t u = 0; u < value->nUses; ++u) {
    const ShardLayerUse *use = &value->uses[u];
    if (use->operand == operand && region->graph->nodes[use->node].token == token &&
        region->roleOf[use->node] < 0 && rank-- == 0)
      return use->node;
  }
  return -1;
}

/// What uses a role's results in every instance and is in none yet: outputs on the side, such as
/// caches.
static void growUp(ShardLayerRegion *region, int32_t role) {
  int32_t nResults = shardLayerRegionNode(region, role, 0)->nResults;
  for (int32_t i = 0; i < nResults; ++i) {
    const ShardLayerValue *value =
        &region->graph->values[shardLayerRegionNode(region, role, 0)->firstResult + i];
    for (int32_t u = 0; u < value->nUses; ++u) {
      const ShardLayerUse *use = &value->uses[u];
      const ShardLayerNode *user = &region->graph->nodes[use->node];
      if (user->kind != SHARD_LAYER_COMPUTE || region->roleOf[use->node] >= 0)
        continue;
      int32_t rank = 0; // among the free uses of the same kind
      for (int32_t w = 0; w < u; ++w)
        rank += value->uses[w].operand == use->operand && region->roleOf[value->uses[w].node] < 0 &&
                region->graph->nodes[value->uses[w].node].token == user->token;
      region->tuple[0] = use->node;
      int32_t k = 1;
      for (; k < region->n; ++k) {
        const ShardLayerValue *other =
            &region->graph->values[shardLayerRegionNode(region, role, k)->firstResult + i];
        region->tuple[k] = findUse(region, other, user->token, use->operand, rank);
        if (region->tuple[k] < 0)
          break;
      }
      if (k == region->n && addRole(region))
        growDown(region, region->nRoles - 1);
    }
  }
}

static void removeRoles(ShardLayerRegion *region, const bool *drop) {
  int32_t kept = 0;
  for (int32_t r = 0; r < region->nRoles; ++r) {
    int32_t *from = region->nodes + (size_t)r * (size_t)region->n;
    for (int32_t k = 0; k < region->n; ++k)
      region->roleOf[from[k]] = drop[r] ? -1 : kept;
    if (drop[r])
      continue;
    memmove(region->nodes + (size_t)kept * (size_t)region->n, from,
            (size_t)region->n * sizeof *from);
    ++kept;
  }
  region->nRoles = kept;
}

/// An operand comes from the same role and result of its own instance in all instances, or from the
/// own instance in none: drops roles until that holds.
static void dropConflicts(ShardLayerRegion *region) {
  for (bool changed = true; changed;) {
    changed = false;
    bool *drop = SHARD_ARENA_ARRAY(region->arena, bool, region->nRoles);
    for (int32_t r = 0; r < region->nRoles; ++r) {
      int32_t nOperands = shardLayerRegionNode(region, r, 0)->nOperands;
      for (int32_t j = 0; j < nOperands && !drop[r]; ++j) {
        int32_t first = -1, number = 0;
        for (int32_t k = 0; k < region->n; ++k) {
          int32_t v = shardLayerRegionNode(region, r, k)->operands[j];
          int32_t p = region->graph->values[v].node;
          bool inside = p >= 0 && region->roleOf[p] >= 0 && region->instanceOf[p] == k;
          int32_t from = inside ? region->roleOf[p] : -1;
          int32_t at = inside ? v - region->graph->nodes[p].firstResult : 0;
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
      removeRoles(region, drop);
  }
}

/// Whether the graph is acyclic with each instance as one node (Kahn): then each is convex.
static bool isAcyclic(const ShardLayerRegion *region) {
  const ShardLayerGraph *graph = region->graph;
  int32_t nGroups = region->n + graph->nNodes;
  int32_t *pending = SHARD_ARENA_ARRAY(region->arena, int32_t, nGroups);
  int32_t *members = SHARD_ARENA_ARRAY(region->arena, int32_t, nGroups);
  int32_t *ready = SHARD_ARENA_ARRAY(region->arena, int32_t, nGroups);
  int32_t nReady = 0, nDone = 0, nTotal = 0;
#define GROUP(i) (region->roleOf[i] >= 0 ? region->instanceOf[i] : region->n + (i))
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
    int32_t nInside = g < region->n ? region->nRoles : 1;
    for (int32_t r = 0; r < nInside; ++r) {
      int32_t i =
          g < region->n ? region->nodes[(size_t)r * (size_t)region->n + (size_t)g] : g - region->n;
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
void shardLayerRegionMakeConvex(ShardLayerRegion *region) {
  dropConflicts(region);
  const ShardLayerGraph *graph = region->graph;
  while (region->nRoles > 0 && !isAcyclic(region)) {
    bool *behind = SHARD_ARENA_ARRAY(region->arena, bool, region->nRoles);
    bool *before = SHARD_ARENA_ARRAY(region->arena, bool, region->nRoles);
    int8_t *state = SHARD_ARENA_ARRAY(region->arena, int8_t, graph->nNodes);
    for (int32_t k = 0; k < region->n; ++k) {
      region->work += graph->nNodes;
      // Forward: 1 reached from the instance through its ops alone, 2 through others.
      memset(state, 0, (size_t)graph->nNodes);
      for (int32_t i = 0; i < graph->nNodes; ++i) {
        bool inside = region->roleOf[i] >= 0 && region->instanceOf[i] == k;
        for (int32_t j = 0; j < graph->nodes[i].nOperands; ++j) {
          int32_t p = graph->values[graph->nodes[i].operands[j]].node;
          if (p >= 0 && state[p] > state[i])
            state[i] = state[p];
        }
        if (inside && state[i] == 2)
          behind[region->roleOf[i]] = true;
        if (inside && state[i] == 0)
          state[i] = 1;
        if (!inside && state[i] == 1)
          state[i] = 2;
      }
      memset(state, 0, (size_t)graph->nNodes);
      for (int32_t i = graph->nNodes - 1; i >= 0; --i) {
        const ShardLayerNode *node = &graph->nodes[i];
        bool inside = region->roleOf[i] >= 0 && region->instanceOf[i] == k;
        for (int32_t x = 0; x < node->nResults; ++x) {
          const ShardLayerValue *value = &graph->values[node->firstResult + x];
          for (int32_t u = 0; u < value->nUses; ++u)
            if (state[value->uses[u].node] > state[i])
              state[i] = state[value->uses[u].node];
        }
        if (inside && state[i] == 2)
          before[region->roleOf[i]] = true;
        if (inside && state[i] == 0)
          state[i] = 1;
        if (!inside && state[i] == 1)
          state[i] = 2;
      }
    }
    int32_t nBehind = 0, nBefore = 0;
    for (int32_t r = 0; r < region->nRoles; ++r) {
      nBehind += behind[r];
      nBefore += before[r];
    }
    if (nBehind + nBefore == 0) { // two instances feed each other by unconnected ops: no layers
      clearRegion(region);
      return;
    }
    removeRoles(region, nBehind > 0 && (nBehind <= nBefore || nBefore == 0) ? behind : before);
    dropConflicts(region);
  }
}

/// Grows the region of `n` seeds; 0 roles when they are not alike.
void shardLayerRegionGrow(ShardLayerRegion *region, int32_t n, const int32_t *seeds) {
  clearRegion(region);
  region->n = n;
  memcpy(region->tuple, seeds, (size_t)n * sizeof *seeds);
  if (!addRole(region))
    return;
  growDown(region, 0);
  for (int32_t r = 0; r < region->nRoles; ++r)
    growUp(region, r);
}

void shardLayerRegionSet(ShardLayerRegion *region, int32_t n, int32_t nRoles,
                         const int32_t *nodes) {
  clearRegion(region);
  region->n = n;
  for (int32_t r = 0; r < nRoles; ++r) {
    memcpy(region->tuple, nodes + (size_t)r * (size_t)n, (size_t)n * sizeof *nodes);
    addRole(region);
  }
}

/// Values of instance results that something outside the instance uses, over all instances.
int32_t shardLayerRegionCountResults(const ShardLayerRegion *region) {
  int32_t count = 0;
  for (int32_t r = 0; r < region->nRoles; ++r) {
    int32_t nResults = shardLayerRegionNode(region, r, 0)->nResults;
    for (int32_t i = 0; i < nResults; ++i) {
      bool outside = false;
      for (int32_t k = 0; k < region->n && !outside; ++k) {
        const ShardLayerValue *value =
            &region->graph->values[shardLayerRegionNode(region, r, k)->firstResult + i];
        for (int32_t u = 0; u < value->nUses && !outside; ++u) {
          int32_t user = value->uses[u].node;
          outside = region->roleOf[user] < 0 || region->instanceOf[user] != k;
        }
      }
      count += outside;
    }
  }
  return count;
}
