//===- Links.c - Bytes on each link -------------------------------*- C -*-===//
// What the way of a collective that was chosen puts on a level leaves each vertex of the group
// there; a message leaves the vertices on its way up.
//===----------------------------------------------------------------------===//
#include "Simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Loads {
  const SimProgram *program;
  ShardArena *arena;
  int64_t nVertices[SHARD_CLUSTER_MAX_LINKS]; // below each link
  double *bytes[SHARD_CLUSTER_MAX_LINKS];     // out of each of them
  int64_t *stamps[SHARD_CLUSTER_MAX_LINKS];
  int64_t stamp;
} Loads;

static int64_t vertexOf(const Loads *loads, int32_t link, int64_t device) {
  const ShardCluster *cluster = loads->program->cluster;
  return shardClusterVertexOf(cluster, device, cluster->links[link].from);
}

static int32_t linkFrom(const ShardCluster *cluster, ShardClusterLevel level) {
  int32_t link = 0;
  while (link < cluster->nLinks && cluster->links[link].from != level)
    ++link;
  return link;
}

double simPlainBytes(const SimStep *step, double ranks, double inside) {
  double bytes = (double)step->bytes;
  switch (step->collective) {
  case SHARD_COLLECTIVE_ALL_REDUCE:
    return 2 * (ranks - 1) / ranks * bytes;
  case SHARD_COLLECTIVE_ALL_TO_ALL:
    return inside * (ranks - inside) / ranks * bytes;
  case SHARD_COLLECTIVE_REDUCE_SCATTER:
  case SHARD_COLLECTIVE_ALL_GATHER:
    return (ranks - 1) / ranks * bytes;
  default:
    return bytes;
  }
}

/// Bytes of one call by link, for the groups of a profile; negative: as plainBytes has it.
static void levelBytes(const Loads *loads, const ShardGroups *groups, int32_t profile,
                       const SimStep *step, double *bytes) {
  const ShardCluster *cluster = loads->program->cluster;
  ShardCollectiveCost cost;
  shardCollectiveCostOf(groups, profile, step->collective, step->bytes, &cost);
  bool timed = cost.nTerms == 0 && cost.seconds > 0;
  for (int32_t link = 0; link < cluster->nLinks; ++link)
    bytes[link] = timed ? -1 : 0;
  for (int32_t i = 0; i < cost.nTerms; ++i)
    bytes[linkFrom(cluster, cost.terms[i].from)] = cost.terms[i].bytes;
}

/// Adds what leaves each vertex of a group by a link that the group crosses.
static void addGroup(Loads *loads, const SimGroups *groups, int64_t group, int32_t link,
                     const SimStep *step, double bytes, double times) {
  const int64_t *members = groups->members + group * groups->groupSize;
  ++loads->stamp;
  for (int64_t k = 0; k < groups->groupSize; ++k) {
    int64_t device = simDeviceOf(loads->program, groups->ranks[members[k]]);
    int64_t vertex = vertexOf(loads, link, device);
    if (bytes < 0) {
      double n = (double)groups->groupSize;
      bool shares = step->collective == SHARD_COLLECTIVE_ALL_TO_ALL;
      if (!shares && loads->stamps[link][vertex] == loads->stamp)
        continue;
      // Of an all-to-all each rank sends its own share; those to the same vertex do not leave it.
      double inside = 0;
      for (int64_t i = 0; shares && i < groups->groupSize; ++i)
        inside +=
            vertexOf(loads, link, simDeviceOf(loads->program, groups->ranks[members[i]])) == vertex;
      loads->bytes[link][vertex] +=
          times * (shares ? simPlainBytes(step, n, inside) / inside : simPlainBytes(step, n, 1));
    } else if (loads->stamps[link][vertex] != loads->stamp) {
      loads->bytes[link][vertex] += times * bytes;
    }
    loads->stamps[link][vertex] = loads->stamp;
  }
}

static bool crosses(const Loads *loads, const SimGroups *groups, int64_t group, int32_t link) {
  const int64_t *members = groups->members + group * groups->groupSize;
  int64_t first = vertexOf(loads, link, simDeviceOf(loads->program, groups->ranks[members[0]]));
  for (int64_t k = 1; k < groups->groupSize; ++k)
    if (vertexOf(loads, link, simDeviceOf(loads->program, groups->ranks[members[k]])) != first)
      return true;
  return false;
}

static void addCollective(Loads *loads, const SimGroups *groups, const SimStep *step,
                          int64_t times) {
  int32_t nLinks = loads->program->cluster->nLinks;
  int32_t nProfiles = shardGroupsGetProfileCount(groups->groups);
  double *bytes = SHARD_ARENA_ARRAY(loads->arena, double, nProfiles *nLinks);
  for (int32_t i = 0; i < nProfiles; ++i)
    levelBytes(loads, groups->groups, i, step, bytes + (int64_t)i * nLinks);
  for (int64_t g = 0; g < groups->nGroups; ++g) {
    const double *mine = bytes + (int64_t)shardGroupsGetProfile(groups->groups, g) * nLinks;
    for (int32_t link = 0; link < nLinks && crosses(loads, groups, g, link); ++link)
      addGroup(loads, groups, g, link, step, mine[link], (double)times);
  }
}

static void addMessages(Loads *loads, const SimStage *stage, const SimPattern *pattern,
                        const SimStep *step, int64_t times) {
  for (int64_t i = 0; i < stage->nRanks; ++i) {
    int64_t from = simDeviceOf(loads->program, stage->ranks[i]);
    int64_t to = simDeviceOf(loads->program, pattern->peers[i]);
    for (int32_t link = 0; link < loads->program->cluster->nLinks; ++link) {
      if (vertexOf(loads, link, from) == vertexOf(loads, link, to))
        break;
      loads->bytes[link][vertexOf(loads, link, from)] += (double)step->bytes * (double)times;
    }
  }
}

//===----------------------------------------------------------------------===//
// What is reported
//===----------------------------------------------------------------------===//

typedef struct Load {
  int64_t bytes, vertex;
} Load;

static int compareLoads(const void *a, const void *b) {
  const Load *x = a, *y = b;
  if (x->bytes != y->bytes)
    return x->bytes < y->bytes ? 1 : -1;
  return (x->vertex > y->vertex) - (x->vertex < y->vertex);
}

/// The lowest bytes a second of all that is behind a vertex's rails.
static double rateOf(const SimProgram *program, int32_t link) {
  const ShardClusterLink *l = &program->cluster->links[link];
  return shardRateEffective(program->cluster, &l->bytesPerSecond) * (double)l->rails;
}

static void listLinks(const Loads *loads, int32_t link, ShardArena *arena, size_t *capacity,
                      int64_t stepPs, ShardSimulation *out) {
  Load *list = SHARD_ARENA_ARRAY(loads->arena, Load, loads->nVertices[link]);
  int64_t n = 0;
  for (int64_t v = 0; v < loads->nVertices[link]; ++v)
    if (loads->bytes[link][v] > 0)
      list[n++] = (Load){llround(loads->bytes[link][v]), v};
  qsort(list, (size_t)n, sizeof(Load), compareLoads);
  ShardSimulatedLinks *links = (ShardSimulatedLinks *)out->links;
  for (int64_t i = 0; i < n; ++i) {
    if (i && list[i].bytes == list[i - 1].bytes) {
      ++links[out->nLinks - 1].nLinks;
      continue;
    }
    links = shardArenaGrow(arena, links, (size_t)out->nLinks, capacity, (size_t)out->nLinks + 1,
                           sizeof(*links));
    double seconds = (double)list[i].bytes / rateOf(loads->program, link);
    links[out->nLinks++] = (ShardSimulatedLinks){
        link,           shardClusterLevelName(loads->program->cluster->links[link].from),
        list[i].vertex, 1,
        list[i].bytes,  stepPs > 0 ? seconds / ((double)stepPs * 1e-12) : 0};
  }
  out->links = links;
}

void simLinks(const SimProgram *program, const SimClasses *classes, const SimRun *run,
              ShardArena *arena, ShardSimulation *out) {
  const ShardCluster *cluster = program->cluster;
  Loads loads = {.program = program, .arena = shardArenaCreate()};
  for (int32_t link = 0; link < cluster->nLinks; ++link) {
    // Vertices are numbered in the order of devices.
    loads.nVertices[link] = vertexOf(&loads, link, cluster->nDevices - 1) + 1;
    loads.bytes[link] = SHARD_ARENA_ARRAY(loads.arena, double, loads.nVertices[link]);
    loads.stamps[link] = SHARD_ARENA_ARRAY(loads.arena, int64_t, loads.nVertices[link]);
  }
  for (int32_t s = 0; s < program->nStages; ++s)
    for (int32_t i = 0; i < program->nNumbered; ++i) {
      const SimStep *step = &program->numbered[i];
      int64_t times = run->calls[s][i].count;
      const SimGroups *groups = classes->places[s].groups[i];
      // Groups over stages are one for all of them.
      if (times && step->kind == SIM_COLLECTIVE && !(groups->spansStages && s))
        addCollective(&loads, groups, step, times);
      else if (times && step->kind == SIM_SEND)
        addMessages(&loads, &program->stages[s], classes->places[s].patterns[i], step, times);
    }
  size_t capacity = 0;
  for (int32_t link = 0; link < cluster->nLinks; ++link)
    listLinks(&loads, link, arena, &capacity, run->stepPs, out);
  shardArenaDestroy(loads.arena);
}
