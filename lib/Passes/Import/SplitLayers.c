//===- SplitLayers.c - Whole layers along the main chain ----------*- C -*-===//
// The main chain is what lies between the hidden state that enters the first instance and the
// deepest result. A waist is a value that alone carries it on, as the hidden state does after a
// residual sum; waists cut the chain into segments. A segment with a contraction that comes again
// and again (the attention of each layer) is an anchor. The chain is cut next to each anchor, so
// that what differs between anchors (dense or expert parts) falls to one of them: those are the
// layers.
//===----------------------------------------------------------------------===//

#include "SplitLayers.h"

#include <string.h>

enum { MAX_KINDS = 64 };

typedef struct Segment {
  uint64_t hash;        // equal structure, equal hash; growth checks it exactly afterwards
  int32_t begin, nMain; // nodes of the chain
  bool contraction;
  bool fixed; // holds what stays where it is, a call of a layer
} Segment;

typedef struct Part {
  uint64_t kind;
  int32_t begin, end; // segments
  int32_t size;       // nodes of the chain
} Part;

typedef struct Chain {
  ShardLayerRegion *region;
  bool *input; // [nValues] enters the chain
  int32_t nMain;
  int32_t *main;      // nodes in canonical order, sources first
  int32_t *mainIndex; // [nNodes] -1: not of the chain
  int32_t nSegments;
  Segment *segments;
} Chain;

static uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * UINT64_C(0xbf58476d1ce4e5b9);
  return hash ^ (hash >> 29);
}

/// The values that instance 0 has where instance 1 has values that depend on instance 0.
static bool findInputs(Chain *c) {
  ShardLayerRegion *region = c->region;
  const ShardLayerGraph *graph = region->graph;
  bool *reached = SHARD_ARENA_ARRAY(region->arena, bool, graph->nNodes);
  for (int32_t i = 0; i < graph->nNodes; ++i) {
    reached[i] = region->roleOf[i] >= 0 && region->instanceOf[i] == 0;
    for (int32_t j = 0; j < graph->nodes[i].nOperands && !reached[i]; ++j) {
      int32_t p = graph->values[graph->nodes[i].operands[j]].node;
      reached[i] = p >= 0 && reached[p];
    }
  }
  bool any = false;
  c->input = SHARD_ARENA_ARRAY(region->arena, bool, graph->nValues);
  for (int32_t r = 0; r < region->nRoles; ++r) {
    const ShardLayerNode *first = shardLayerRegionNode(region, r, 0);
    const ShardLayerNode *second = shardLayerRegionNode(region, r, 1);
    for (int32_t j = 0; j < first->nOperands; ++j) {
      int32_t p = graph->values[second->operands[j]].node;
      if (p < 0 || !reached[p] || (region->roleOf[p] >= 0 && region->instanceOf[p] == 1))
        continue;
      any = c->input[first->operands[j]] = true;
    }
  }
  return any;
}

/// The nodes that depend on the inputs and on which the deepest result depends.
static void findMain(Chain *c) {
  ShardArena *arena = c->region->arena;
  const ShardLayerGraph *graph = c->region->graph;
  int32_t *depth = SHARD_ARENA_ARRAY(arena, int32_t, graph->nNodes); // 0: does not depend
  for (int32_t i = 0; i < graph->nNodes; ++i)
    for (int32_t j = 0; j < graph->nodes[i].nOperands; ++j) {
      int32_t v = graph->nodes[i].operands[j], p = graph->values[v].node;
      int32_t above = p >= 0 ? depth[p] : 0;
      if ((above > 0 || c->input[v]) && depth[i] <= above)
        depth[i] = above + 1;
    }
  const ShardLayerNode *terminator = &graph->nodes[graph->nNodes - 1];
  int32_t deepest = -1;
  for (int32_t j = 0; j < terminator->nOperands; ++j) {
    int32_t p = graph->values[terminator->operands[j]].node;
    if (p >= 0 && depth[p] > 0 && (deepest < 0 || depth[p] > depth[deepest]))
      deepest = p;
  }
  bool *wanted = SHARD_ARENA_ARRAY(arena, bool, graph->nNodes);
  if (deepest >= 0)
    wanted[deepest] = true;
  for (int32_t i = graph->nNodes - 1; i >= 0; --i)
    for (int32_t j = 0; j < graph->nodes[i].nOperands && wanted[i]; ++j) {
      int32_t p = graph->values[graph->nodes[i].operands[j]].node;
      if (p >= 0)
        wanted[p] = true;
    }
  c->main = SHARD_ARENA_ARRAY(arena, int32_t, graph->nOrdered);
  c->mainIndex = SHARD_ARENA_ARRAY(arena, int32_t, graph->nNodes);
  for (int32_t i = 0; i < graph->nNodes; ++i)
    c->mainIndex[i] = -1;
  for (int32_t o = graph->nOrdered - 1; o >= 0; --o) {
    int32_t i = graph->order[o];
    if (!wanted[i] || depth[i] == 0)
      continue;
    c->mainIndex[i] = c->nMain;
    c->main[c->nMain++] = i;
  }
}

/// Marks each node after which its result is the only value that the rest of the chain needs.
static bool *findWaists(const Chain *c) {
  ShardArena *arena = c->region->arena;
  const ShardLayerGraph *graph = c->region->graph;
  int32_t *lastUse = SHARD_ARENA_ARRAY(arena, int32_t, graph->nValues); // index + 1
  int32_t *open = SHARD_ARENA_ARRAY(arena, int32_t, c->nMain + 1);      // as differences
  int32_t *own = SHARD_ARENA_ARRAY(arena, int32_t, c->nMain);
  for (int32_t m = 0; m < c->nMain; ++m) {
    const ShardLayerNode *node = &graph->nodes[c->main[m]];
    for (int32_t j = 0; j < node->nOperands; ++j)
      lastUse[node->operands[j]] = m + 1;
  }
  for (int32_t v = 0; v < graph->nValues; ++v) {
    int32_t p = graph->values[v].node;
    int32_t made = p >= 0 ? c->mainIndex[p] : -1;
    if (lastUse[v] == 0 || (made < 0 && !c->input[v]))
      continue; // weights, masks, tables
    if (made < 0) {
      ++open[0];
      --open[lastUse[v] - 1];
    } else {
      ++open[made];
      --open[lastUse[v] - 1];
      ++own[made];
    }
  }
  bool *waist = SHARD_ARENA_ARRAY(arena, bool, c->nMain);
  int32_t now = 0;
  for (int32_t m = 0; m < c->nMain; ++m) {
    now += open[m];
    waist[m] = m + 1 == c->nMain || (now == 1 && own[m] == 1);
  }
  return waist;
}

static void makeSegments(Chain *c, const bool *waist) {
  const ShardLayerGraph *graph = c->region->graph;
  c->segments = SHARD_ARENA_ARRAY(c->region->arena, Segment, c->nMain);
  int32_t begin = 0;
  for (int32_t m = 0; m < c->nMain; ++m) {
    Segment *segment = &c->segments[c->nSegments];
    const ShardLayerNode *node = &graph->nodes[c->main[m]];
    segment->begin = begin;
    ++segment->nMain;
    segment->contraction |= node->contraction;
    segment->fixed |= node->kind != SHARD_LAYER_COMPUTE;
    uint64_t hash = mix(segment->hash, (uint64_t)node->token);
    for (int32_t j = 0; j < node->nOperands; ++j) {
      int32_t v = node->operands[j], p = graph->values[v].node;
      int32_t at = p >= 0 ? c->mainIndex[p] : -1;
      hash = mix(hash, at >= begin ? (uint64_t)(at - begin) + 2 : at >= 0 || c->input[v]);
    }
    segment->hash = hash;
    if (waist[m]) {
      ++c->nSegments;
      begin = m + 1;
    }
  }
}

static void finishPart(const Chain *c, Part *part) {
  part->kind = 0;
  part->size = 0;
  for (int32_t i = part->begin; i < part->end; ++i) {
    part->kind = mix(part->kind, c->segments[i].hash);
    part->size += c->segments[i].nMain;
  }
}

/// Parts that begin (`before`) or end at each of the segments `at`, together with what stands
/// before or after all of them alike. The open end of the last or first part is where another
/// part's is.
static int32_t makeParts(const Chain *c, int32_t n, const int32_t *at, bool before, Part *parts) {
  const Segment *segments = c->segments;
  int32_t run = 0, step = before ? -1 : 1;
  for (bool same = true; same;) {
    int32_t first = at[0] + (run + 1) * step;
    same = first >= 0 && first < c->nSegments;
    for (int32_t a = 0; a < n && same; ++a) {
      int32_t i = at[a] + (run + 1) * step;
      int32_t bound = before ? (a > 0 ? at[a - 1] : -1) : (a + 1 < n ? at[a + 1] : c->nSegments);
      same = i != bound && i >= 0 && i < c->nSegments && !segments[i].fixed &&
             segments[i].hash == segments[first].hash;
    }
    run += same;
  }
  for (int32_t a = 0; a < n; ++a) {
    Part *part = &parts[a];
    if (before) {
      part->begin = at[a] - run;
      part->end = a + 1 < n ? at[a + 1] - run : c->nSegments;
      for (int32_t i = at[a]; i < part->end; ++i)
        if (segments[i].fixed)
          part->end = i;
    } else {
      part->end = at[a] + run + 1;
      part->begin = a > 0 ? at[a - 1] + run + 1 : 0;
      for (int32_t i = at[a]; i >= part->begin; --i)
        if (segments[i].fixed)
          part->begin = i + 1;
    }
  }
  // The open part: the longest stretch that another part has too.
  Part *open = before ? &parts[n - 1] : &parts[0];
  int32_t longest = 0;
  for (int32_t a = 0; a < n; ++a) {
    const Part *other = &parts[a];
    int32_t length = other->end - other->begin;
    if (other == open || length <= longest || length > open->end - open->begin)
      continue;
    bool same = true;
    for (int32_t i = 0; i < length && same; ++i)
      same = before ? segments[open->begin + i].hash == segments[other->begin + i].hash
                    : segments[open->end - 1 - i].hash == segments[other->end - 1 - i].hash;
    if (same)
      longest = length;
  }
  if (longest > 0 && before)
    open->end = open->begin + longest;
  else if (longest > 0)
    open->begin = open->end - longest;
  for (int32_t a = 0; a < n; ++a)
    finishPart(c, &parts[a]);
  return n;
}

typedef struct Kind {
  uint64_t hash;
  int32_t count, size;
} Kind;

/// Nodes covered by kinds of parts that come at least twice, 0 if those are of unlike size; the
/// kind that covers most.
static int64_t scoreParts(int32_t nParts, const Part *parts, Kind *outBest) {
  Kind kinds[MAX_KINDS];
  int32_t nKinds = 0;
  for (int32_t a = 0; a < nParts; ++a) {
    int32_t k = 0;
    while (k < nKinds && kinds[k].hash != parts[a].kind)
      ++k;
    if (k == MAX_KINDS)
      return 0;
    if (k == nKinds)
      kinds[nKinds++] = (Kind){parts[a].kind, 0, parts[a].size};
    ++kinds[k].count;
  }
  int64_t score = 0;
  int32_t least = INT32_MAX, most = 0;
  *outBest = (Kind){0};
  for (int32_t k = 0; k < nKinds; ++k) {
    if (kinds[k].count < 2)
      continue;
    int64_t covered = (int64_t)kinds[k].count * kinds[k].size;
    score += covered;
    least = kinds[k].size < least ? kinds[k].size : least;
    most = kinds[k].size > most ? kinds[k].size : most;
    if (covered > (int64_t)outBest->count * outBest->size)
      *outBest = kinds[k];
  }
  return 5 * (int64_t)least >= 2 * (int64_t)most ? score : 0;
}

enum { ALIKE = 1, PRECEDING = 2, ENTERING = 4 };

/// Adds to seeds [n] free nodes that may end another layer: those that look like them (ALIKE), and
/// with the same token those whose result a part takes (PRECEDING) or the chain (ENTERING). All in
/// canonical order.
static int32_t sortSeeds(const Chain *c, int32_t n, const int32_t *seeds, const bool *free,
                         int more, int32_t *out) {
  ShardLayerRegion *region = c->region;
  const ShardLayerGraph *graph = region->graph;
  int32_t nColors, count = 0;
  const int32_t *color = NULL;
  for (int round = 0; round <= 2; ++round)
    color = shardLayerGraphRefine(graph, color, &nColors, region->arena);
  bool *taken = SHARD_ARENA_ARRAY(region->arena, bool, graph->nNodes);
  bool *wanted = SHARD_ARENA_ARRAY(region->arena, bool, nColors);
  for (int32_t k = 0; k < n; ++k)
    taken[seeds[k]] = wanted[color[seeds[k]]] = true;
  int32_t token = graph->nodes[seeds[0]].token;
  for (int32_t v = 0; v < graph->nValues && (more & ENTERING); ++v) {
    int32_t p = graph->values[v].node;
    if (p >= 0 && c->input[v] && free[p] && graph->nodes[p].token == token)
      taken[p] = true;
  }
  for (int32_t i = 0; i + 1 < c->nSegments && (more & PRECEDING); ++i) {
    int32_t last = c->main[c->segments[i].begin + c->segments[i].nMain - 1];
    int32_t following = c->main[c->segments[i + 1].begin];
    if (free[last] && !free[following] && graph->nodes[last].token == token)
      taken[last] = true;
  }
  for (int32_t o = graph->nOrdered - 1; o >= 0; --o) {
    int32_t i = graph->order[o];
    if (taken[i] || ((more & ALIKE) && free[i] && wanted[color[i]]))
      out[count++] = i;
  }
  return count;
}

void shardLayerRegionSplit(ShardLayerRegion *region) {
  const ShardLayerGraph *graph = region->graph;
  ShardArena *arena = region->arena;
  Chain c = {.region = region};
  if (region->n < 2 || !findInputs(&c))
    return;
  findMain(&c);
  if (c.nMain == 0)
    return;
  makeSegments(&c, findWaists(&c));

  // The anchor and side that cover most; of equal ones the one with most parts: single layers.
  int32_t *at = SHARD_ARENA_ARRAY(arena, int32_t, c.nSegments);
  bool *seen = SHARD_ARENA_ARRAY(arena, bool, c.nSegments);
  Part *parts = SHARD_ARENA_ARRAY(arena, Part, c.nSegments);
  Part *bestParts = SHARD_ARENA_ARRAY(arena, Part, c.nSegments);
  int32_t nBest = 0;
  int64_t bestScore = 0;
  Kind best = {0};
  for (int32_t s = 0; s < c.nSegments; ++s) {
    if (seen[s] || !c.segments[s].contraction || c.segments[s].fixed)
      continue;
    int32_t n = 0;
    for (int32_t i = s; i < c.nSegments; ++i)
      if (c.segments[i].hash == c.segments[s].hash) {
        seen[i] = true;
        at[n++] = i;
      }
    for (int before = 1; before >= 0 && n >= 2; --before) {
      int32_t nParts = makeParts(&c, n, at, before, parts);
      Kind kind;
      int64_t score = scoreParts(nParts, parts, &kind);
      if (score > bestScore || (score == bestScore && score > 0 && nParts > nBest)) {
        bestScore = score;
        nBest = nParts;
        best = kind;
        memcpy(bestParts, parts, (size_t)nParts * sizeof *parts);
      }
    }
  }
  if (bestScore == 0)
    return;
  int64_t own = 0; // what the region covers of the chain
  for (int32_t m = 0; m < c.nMain; ++m)
    own += region->roleOf[c.main[m]] >= 0;
  int64_t bestCovered = (int64_t)best.count * best.size;
  if (10 * bestScore < 9 * own ||
      (best.count == region->n && 10 * bestCovered <= 11 * own && 10 * bestCovered >= 9 * own))
    return; // the region is whole layers already

  // Grow the chosen kind anew, within its parts and what is in none.
  int32_t n = 0;
  int32_t *seeds = SHARD_ARENA_ARRAY(arena, int32_t, nBest);
  bool *allowed = SHARD_ARENA_ARRAY(arena, bool, graph->nNodes);
  bool *free = SHARD_ARENA_ARRAY(arena, bool, graph->nNodes); // in no part
  for (int32_t i = 0; i < graph->nNodes; ++i)
    allowed[i] = free[i] = true;
  for (int32_t a = 0; a < nBest; ++a) {
    int32_t begin = c.segments[bestParts[a].begin].begin, size = bestParts[a].size;
    bool chosen = bestParts[a].kind == best.hash;
    for (int32_t m = begin; m < begin + size; ++m) {
      allowed[c.main[m]] = chosen;
      free[c.main[m]] = false;
    }
    if (chosen)
      seeds[n++] = c.main[begin + size - 1];
  }
  size_t nKept = (size_t)region->nRoles * (size_t)region->n;
  int32_t *kept = SHARD_ARENA_ARRAY(arena, int32_t, nKept);
  memcpy(kept, region->nodes, nKept * sizeof *kept);
  int32_t keptInstances = region->n, keptRoles = region->nRoles;
  int32_t *sorted = SHARD_ARENA_ARRAY(arena, int32_t, graph->nNodes);
  region->allowed = allowed;
  static const int tries[] = {ALIKE | PRECEDING, PRECEDING, ALIKE | ENTERING, ENTERING, ALIKE, 0};
  for (size_t t = 0; t < sizeof tries / sizeof *tries; ++t) {
    int32_t nSeeds = sortSeeds(&c, n, seeds, free, tries[t], sorted);
    if (tries[t] && nSeeds == n)
      continue;
    shardLayerRegionGrow(region, nSeeds, sorted);
    shardLayerRegionMakeConvex(region);
    if (region->nRoles >= best.size)
      break;
  }
  region->allowed = NULL;
  if (region->nRoles < best.size) // they differ after all
    shardLayerRegionSet(region, keptInstances, keptRoles, kept);
}
