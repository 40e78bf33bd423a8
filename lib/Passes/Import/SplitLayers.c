//===- SplitLayers.c - A period that is several layers ------------*- C -*-===//
// A waist is a value that alone carries the chain on: the hidden state after a residual sum. Waists
// cut the period into segments. A segment with a contraction that comes again (the attention of
// each layer) is an anchor, and the period is cut next to each anchor, if the parts are of like
// size.
//===----------------------------------------------------------------------===//

#include "SplitLayers.h"

#include <string.h>

enum { SAMPLE = 1 }; // the instance looked at: the first one that follows another

typedef struct Segment {
  uint64_t hash; // equal structure, equal hash; growth checks it exactly afterwards
  int32_t nRoles;
  int32_t lastRole; // computes the waist
  bool contraction;
} Segment;

typedef struct Split {
  ShardLayerRegion *region;
  int32_t nHot, nSegments;
  int32_t *hot;       // roles that depend on the previous instance, in order
  int32_t *hotIndex;  // [nRoles] -1: depends on weights alone
  int32_t *segmentOf; // [nRoles]
  Segment *segments;
} Split;

static uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * UINT64_C(0xbf58476d1ce4e5b9);
  return hash ^ (hash >> 29);
}

static int32_t operandRole(const Split *s, int32_t role, int32_t operand) {
  const ShardLayerRegion *region = s->region;
  const ShardLayerNode *node = shardLayerRegionNode(region, role, SAMPLE);
  int32_t p = region->graph->values[node->operands[operand]].node;
  return p >= 0 && region->roleOf[p] >= 0 && region->instanceOf[p] == SAMPLE ? region->roleOf[p]
                                                                             : -1;
}

/// Roles of the sample in canonical order, and which of them depend on what comes before.
static int32_t *sortRoles(Split *s, const bool *reached) {
  ShardLayerRegion *region = s->region;
  const ShardLayerGraph *graph = region->graph;
  int32_t *sorted = SHARD_ARENA_ARRAY(region->arena, int32_t, region->nRoles);
  int32_t count = 0;
  for (int32_t o = graph->nOrdered - 1; o >= 0; --o) {
    int32_t i = graph->order[o];
    if (region->roleOf[i] >= 0 && region->instanceOf[i] == SAMPLE)
      sorted[count++] = region->roleOf[i];
  }
  for (int32_t at = 0; at < count; ++at) {
    int32_t r = sorted[at];
    const ShardLayerNode *node = shardLayerRegionNode(region, r, SAMPLE);
    s->hotIndex[r] = -1;
    for (int32_t j = 0; j < node->nOperands && s->hotIndex[r] < 0; ++j) {
      int32_t p = graph->values[node->operands[j]].node, from = operandRole(s, r, j);
      if (from >= 0 ? s->hotIndex[from] >= 0 : p >= 0 && reached[p]) {
        s->hotIndex[r] = s->nHot;
        s->hot[s->nHot++] = r;
      }
    }
  }
  return sorted;
}

/// Marks each hot role after which its result is the only value that the rest needs of the chain.
static bool *findWaists(Split *s, const bool *reached) {
  ShardLayerRegion *region = s->region;
  const ShardLayerGraph *graph = region->graph;
  int32_t *open = SHARD_ARENA_ARRAY(region->arena, int32_t, s->nHot + 1); // as differences
  int32_t *own = SHARD_ARENA_ARRAY(region->arena, int32_t, s->nHot);
  int32_t *lastUse = SHARD_ARENA_ARRAY(region->arena, int32_t, graph->nValues); // hot index + 1
  for (int32_t h = 0; h < s->nHot; ++h) {
    const ShardLayerNode *node = shardLayerRegionNode(region, s->hot[h], SAMPLE);
    for (int32_t j = 0; j < node->nOperands; ++j)
      lastUse[node->operands[j]] = h + 1;
  }
  for (int32_t v = 0; v < graph->nValues; ++v) {
    int32_t p = graph->values[v].node;
    if (lastUse[v] == 0 || p < 0)
      continue;
    bool inside = region->roleOf[p] >= 0 && region->instanceOf[p] == SAMPLE;
    int32_t made = inside ? s->hotIndex[region->roleOf[p]] : 0;
    if (inside ? made < 0 : !reached[p])
      continue; // weights, tables
    if (lastUse[v] - 1 <= made)
      continue;
    ++open[made];
    --open[lastUse[v] - 1];
    own[made] += inside;
  }
  bool *waist = SHARD_ARENA_ARRAY(region->arena, bool, s->nHot);
  int32_t now = 0;
  for (int32_t h = 0; h < s->nHot; ++h) {
    now += open[h];
    waist[h] = now == 1 && own[h] == 1;
  }
  if (s->nHot > 0)
    waist[s->nHot - 1] = true;
  return waist;
}

static void makeSegments(Split *s, const int32_t *sorted, const bool *waist, const bool *reached) {
  ShardLayerRegion *region = s->region;
  s->segments = SHARD_ARENA_ARRAY(region->arena, Segment, s->nHot);
  for (int32_t h = 0; h < s->nHot; ++h) {
    s->segmentOf[s->hot[h]] = s->nSegments;
    s->segments[s->nSegments].lastRole = s->hot[h];
    s->nSegments += waist[h];
  }
  // What depends on weights alone goes with its first user.
  for (int32_t at = region->nRoles - 1; at >= 0; --at)
    if (s->hotIndex[sorted[at]] < 0)
      s->segmentOf[sorted[at]] = s->nSegments;
  for (int32_t at = region->nRoles - 1; at >= 0; --at) {
    int32_t nOperands = shardLayerRegionNode(region, sorted[at], SAMPLE)->nOperands;
    for (int32_t j = 0; j < nOperands; ++j) {
      int32_t from = operandRole(s, sorted[at], j);
      if (from >= 0 && s->hotIndex[from] < 0 && s->segmentOf[sorted[at]] < s->segmentOf[from])
        s->segmentOf[from] = s->segmentOf[sorted[at]];
    }
  }
  int32_t *place = SHARD_ARENA_ARRAY(region->arena, int32_t, region->nRoles); // within its segment
  for (int32_t at = 0; at < region->nRoles; ++at) {
    int32_t r = sorted[at];
    if (s->segmentOf[r] == s->nSegments) // nobody's
      continue;
    Segment *segment = &s->segments[s->segmentOf[r]];
    const ShardLayerNode *node = shardLayerRegionNode(region, r, SAMPLE);
    place[r] = segment->nRoles++;
    segment->contraction |= node->contraction;
    uint64_t hash = mix(segment->hash, (uint64_t)node->token);
    for (int32_t j = 0; j < node->nOperands; ++j) {
      int32_t from = operandRole(s, r, j);
      int32_t p = region->graph->values[node->operands[j]].node;
      bool chain = from >= 0 ? s->hotIndex[from] >= 0 : p >= 0 && reached[p];
      if (from >= 0 && s->segmentOf[from] == s->segmentOf[r])
        hash = mix(hash, (uint64_t)place[from] + 2);
      else
        hash = mix(hash, chain);
    }
    segment->hash = hash;
  }
}

/// Ends of the parts (segment after the last) when the period is cut next to each segment like
/// `anchor`; 0 if that gives no parts of like size.
static int32_t cutAt(const Split *s, int32_t anchor, int32_t *ends) {
  int32_t m = s->nSegments, nAnchors = 0;
  int32_t *at = SHARD_ARENA_ARRAY(s->region->arena, int32_t, m);
  for (int32_t i = 0; i < m; ++i)
    if (s->segments[i].hash == s->segments[anchor].hash)
      at[nAnchors++] = i;
  if (nAnchors < 2)
    return 0;
  // What follows each anchor, or comes before each, goes with it.
  int32_t after = 0, before = 0;
  for (bool same = true; same;) {
    same = at[nAnchors - 1] + after + 1 < m;
    for (int32_t a = 0; a < nAnchors && same; ++a)
      same = s->segments[at[a] + after + 1].hash == s->segments[at[nAnchors - 1] + after + 1].hash;
    after += same;
  }
  for (bool same = true; same;) {
    same = at[0] - before - 1 >= 0;
    for (int32_t a = 0; a < nAnchors && same; ++a)
      same = s->segments[at[a] - before - 1].hash == s->segments[at[0] - before - 1].hash;
    before += same;
  }
  if (at[nAnchors - 1] + after == m - 1)
    for (int32_t a = 0; a < nAnchors; ++a)
      ends[a] = at[a] + after + 1;
  else if (at[0] - before == 0)
    for (int32_t a = 0; a < nAnchors; ++a)
      ends[a] = a + 1 < nAnchors ? at[a + 1] - before : m;
  else
    return 0;
  int32_t least = INT32_MAX, most = 0, begin = 0;
  for (int32_t a = 0; a < nAnchors; ++a) {
    int32_t size = 0;
    for (int32_t i = begin; i < ends[a]; ++i)
      size += s->segments[i].nRoles;
    least = size < least ? size : least;
    most = size > most ? size : most;
    begin = ends[a];
  }
  return 5 * least >= 2 * most ? nAnchors : 0;
}

/// Puts seeds into canonical order; with `more` together with all nodes outside that look like
/// them.
static int32_t sortSeeds(ShardLayerRegion *region, int32_t n, const int32_t *seeds, bool more,
                         int32_t *out) {
  const ShardLayerGraph *graph = region->graph;
  int32_t nColors, count = 0;
  const int32_t *color = NULL;
  for (int round = 0; round <= 2; ++round)
    color = shardLayerGraphRefine(graph, color, &nColors, region->arena);
  bool *taken = SHARD_ARENA_ARRAY(region->arena, bool, graph->nNodes);
  bool *wanted = SHARD_ARENA_ARRAY(region->arena, bool, nColors);
  for (int32_t k = 0; k < n; ++k)
    taken[seeds[k]] = wanted[color[seeds[k]]] = true;
  for (int32_t o = graph->nOrdered - 1; o >= 0; --o) {
    int32_t i = graph->order[o];
    if (taken[i] || (more && region->roleOf[i] < 0 && wanted[color[i]]))
      out[count++] = i;
  }
  return count;
}

void shardLayerRegionSplit(ShardLayerRegion *region) {
  const ShardLayerGraph *graph = region->graph;
  ShardArena *arena = region->arena;
  Split s = {.region = region};
  s.hot = SHARD_ARENA_ARRAY(arena, int32_t, region->nRoles);
  s.hotIndex = SHARD_ARENA_ARRAY(arena, int32_t, region->nRoles);
  s.segmentOf = SHARD_ARENA_ARRAY(arena, int32_t, region->nRoles);
  bool *reached = SHARD_ARENA_ARRAY(arena, bool, graph->nNodes); // from an earlier instance
  for (int32_t i = 0; i < graph->nNodes; ++i) {
    reached[i] = region->roleOf[i] >= 0 && region->instanceOf[i] < SAMPLE;
    for (int32_t j = 0; j < graph->nodes[i].nOperands && !reached[i]; ++j) {
      int32_t p = graph->values[graph->nodes[i].operands[j]].node;
      reached[i] = p >= 0 && reached[p];
    }
  }
  int32_t *sorted = sortRoles(&s, reached);
  makeSegments(&s, sorted, findWaists(&s, reached), reached);

  // The anchor that comes most often, then the largest.
  int32_t *ends = SHARD_ARENA_ARRAY(arena, int32_t, s.nSegments);
  int32_t *try = SHARD_ARENA_ARRAY(arena, int32_t, s.nSegments);
  int32_t nParts = 0;
  int64_t weight = 0;
  for (int32_t i = 0; i < s.nSegments; ++i) {
    if (!s.segments[i].contraction)
      continue;
    int32_t count = cutAt(&s, i, try);
    if (count > nParts || (count == nParts && count > 0 && s.segments[i].nRoles > weight)) {
      nParts = count;
      weight = s.segments[i].nRoles;
      memcpy(ends, try, (size_t)count * sizeof *ends);
    }
  }
  if (nParts < 2)
    return;

  // The most numerous kind of part.
  uint64_t *kind = SHARD_ARENA_ARRAY(arena, uint64_t, nParts);
  for (int32_t a = 0, i = 0; a < nParts; ++a)
    for (; i < ends[a]; ++i)
      kind[a] = mix(kind[a], s.segments[i].hash);
  int32_t chosen = 0, most = 0;
  for (int32_t a = 0; a < nParts; ++a) {
    int32_t count = 0;
    for (int32_t b = 0; b < nParts; ++b)
      count += kind[b] == kind[a];
    if (count > most) {
      most = count;
      chosen = a;
    }
  }

  // Grow it anew, within its parts and what is in no instance.
  int32_t nRoles = 0, n = 0;
  bool *inParts = SHARD_ARENA_ARRAY(arena, bool, s.nSegments + 1);
  for (int32_t a = 0, i = 0; a < nParts; ++a)
    for (; i < ends[a]; ++i) {
      inParts[i] = kind[a] == kind[chosen];
      nRoles += a == chosen ? s.segments[i].nRoles : 0;
    }
  bool *allowed = SHARD_ARENA_ARRAY(arena, bool, graph->nNodes);
  for (int32_t i = 0; i < graph->nNodes; ++i)
    allowed[i] = region->roleOf[i] < 0 || inParts[s.segmentOf[region->roleOf[i]]];
  int32_t *seeds = SHARD_ARENA_ARRAY(arena, int32_t, nParts * region->n);
  for (int32_t a = 0; a < nParts; ++a)
    for (int32_t k = 0; k < region->n && kind[a] == kind[chosen]; ++k) {
      int32_t r = s.segments[ends[a] - 1].lastRole;
      seeds[n++] = region->nodes[(size_t)r * (size_t)region->n + (size_t)k];
    }
  int32_t nMore = 0, *sortedSeeds[2];
  for (int more = 0; more < 2; ++more) {
    sortedSeeds[more] = SHARD_ARENA_ARRAY(arena, int32_t, graph->nNodes);
    nMore = sortSeeds(region, n, seeds, more, sortedSeeds[more]);
  }
  size_t nKept = (size_t)region->nRoles * (size_t)region->n;
  int32_t *kept = SHARD_ARENA_ARRAY(arena, int32_t, nKept);
  memcpy(kept, region->nodes, nKept * sizeof *kept);
  int32_t keptInstances = region->n, keptRoles = region->nRoles;
  region->allowed = allowed;
  for (int more = 1; more >= 0; --more) {
    shardLayerRegionGrow(region, more ? nMore : n, sortedSeeds[more]);
    shardLayerRegionMakeConvex(region);
    if (region->nRoles >= nRoles)
      break; // with one more layer that stands apart, or without
  }
  region->allowed = NULL;
  if (region->nRoles < nRoles) // they differ after all: the period stays whole
    shardLayerRegionSet(region, keptInstances, keptRoles, kept);
}
