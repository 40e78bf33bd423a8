//===- Uplinks.c - Which links groups and messages use ------------*- C -*-===//
// A group uses, both ways, every uplink that a rank of it leaves its vertex by, up to the lowest
// vertex that holds all of it; a message those above its sender up, and above its receiver down.
//===----------------------------------------------------------------------===//
#include "Simulate.h"

#include <string.h>

/// The uplinks of all levels, one after the other.
typedef struct Numbering {
  int64_t first[SHARD_CLUSTER_MAX_LINKS + 1];
} Numbering;

static Numbering numberUplinks(const ShardCluster *cluster) {
  Numbering numbering = {{0}};
  for (int32_t link = 0; link < cluster->nLinks; ++link)
    numbering.first[link + 1] = numbering.first[link] + shardUplinkCount(cluster, link);
  return numbering;
}

int64_t simDirectionCount(const ShardCluster *cluster) {
  return 2 * numberUplinks(cluster).first[cluster->nLinks];
}

typedef struct Lister {
  const ShardCluster *cluster;
  Numbering numbering;
  int64_t nUplinks;
  ShardArena *arena; // of the uses
  SimUses *out;
  int64_t *first;
  size_t nUses, capacity, sortCapacity;
  SimUse *uses;
} Lister;

static Lister startUses(const SimProgram *program, SimUses *out, int64_t nUsers) {
  Lister lister = {.cluster = program->cluster,
                   .numbering = numberUplinks(program->cluster),
                   .arena = program->arena,
                   .out = out};
  lister.nUplinks = lister.numbering.first[program->cluster->nLinks];
  lister.first = SHARD_ARENA_ARRAY(program->arena, int64_t, nUsers + 1);
  *out = (SimUses){.nUsers = nUsers, .first = lister.first};
  return lister;
}

static int32_t sortOf(Lister *lister, SimUseSort sort) {
  SimUses *out = lister->out;
  for (int32_t i = 0; i < out->nSorts; ++i)
    if (out->sorts[i].link == sort.link && out->sorts[i].rails == sort.rails &&
        out->sorts[i].bytesPerSecond == sort.bytesPerSecond)
      return i;
  out->sorts = shardArenaGrow(lister->arena, out->sorts, (size_t)out->nSorts, &lister->sortCapacity,
                              (size_t)out->nSorts + 1, sizeof(SimUseSort));
  out->sorts[out->nSorts] = sort;
  return out->nSorts++;
}

static void addUse(Lister *lister, int64_t direction, int32_t sort) {
  lister->uses = shardArenaGrow(lister->arena, lister->uses, lister->nUses, &lister->capacity,
                                lister->nUses + 1, sizeof(SimUse));
  lister->uses[lister->nUses++] = (SimUse){(int32_t)direction, sort};
}

/// An uplink of a group, once.
typedef struct Uplink {
  int64_t number, vertex;
  double bytesPerSecond;
} Uplink;

typedef struct Scratch {
  int64_t *seen[SHARD_CLUSTER_MAX_LINKS];  // [uplinks] the stamp of the last group on each
  int64_t *rails[SHARD_CLUSTER_MAX_LINKS]; // [uplinks], of the first of a vertex: its uplinks
  Uplink *list;                            // [ranks of a group]
  int64_t stamp;
} Scratch;

/// The uplinks of a group on a level; 0 when one vertex holds all of it.
static int64_t listUplinks(const SimProgram *program, const SimGroups *groups, int64_t group,
                           int32_t link, Scratch *scratch, int64_t *firstVertex) {
  const ShardCluster *cluster = program->cluster;
  const int64_t *members = groups->members + group * groups->groupSize;
  int64_t n = 0;
  bool crosses = false;
  ++scratch->stamp;
  for (int64_t k = 0; k < groups->groupSize; ++k) {
    int64_t device = simDeviceOf(program, groups->ranks[members[k]]);
    Uplink uplink = {.vertex = shardClusterVertexOf(cluster, device, cluster->links[link].from)};
    uplink.number = shardUplinkOf(cluster, link, device, &uplink.bytesPerSecond);
    *firstVertex = k ? *firstVertex : uplink.vertex;
    crosses |= uplink.vertex != *firstVertex;
    if (scratch->seen[link][uplink.number] == scratch->stamp)
      continue;
    scratch->seen[link][uplink.number] = scratch->stamp;
    scratch->list[n++] = uplink;
  }
  return crosses ? n : 0;
}

static void addLevel(Lister *lister, int32_t link, Scratch *scratch, int64_t n) {
  int64_t *rails = scratch->rails[link];
  for (int64_t i = 0; i < n; ++i)
    rails[scratch->list[i].vertex] = 0;
  for (int64_t i = 0; i < n; ++i)
    ++rails[scratch->list[i].vertex];
  for (int64_t i = 0; i < n; ++i) {
    const Uplink *uplink = &scratch->list[i];
    int32_t sort =
        sortOf(lister, (SimUseSort){link, (int32_t)rails[uplink->vertex], uplink->bytesPerSecond});
    int64_t up = lister->numbering.first[link] + uplink->number;
    addUse(lister, up, sort);
    addUse(lister, lister->nUplinks + up, sort);
  }
}

void simUsesOfGroups(const SimProgram *program, SimGroups *groups) {
  Lister lister = startUses(program, &groups->uses, groups->nGroups);
  ShardArena *arena = shardArenaCreate();
  Scratch scratch = {.list = SHARD_ARENA_ARRAY(arena, Uplink, groups->groupSize)};
  for (int32_t link = 0; link < lister.cluster->nLinks; ++link) {
    int64_t n = shardUplinkCount(lister.cluster, link);
    scratch.seen[link] = SHARD_ARENA_ARRAY(arena, int64_t, n);
    scratch.rails[link] = SHARD_ARENA_ARRAY(arena, int64_t, n);
  }
  for (int64_t g = 0; g < groups->nGroups; ++g) {
    lister.first[g] = (int64_t)lister.nUses;
    int64_t n = 1, vertex;
    for (int32_t link = 0; n && link < lister.cluster->nLinks; ++link) {
      n = listUplinks(program, groups, g, link, &scratch, &vertex);
      addLevel(&lister, link, &scratch, n);
    }
  }
  lister.first[groups->nGroups] = (int64_t)lister.nUses;
  groups->uses.uses = lister.uses;
  shardArenaDestroy(arena);
}

void simUsesOfMessages(const SimProgram *program, const SimStage *stage, SimPattern *pattern) {
  const ShardCluster *cluster = program->cluster;
  Lister lister = startUses(program, &pattern->uses, stage->nRanks);
  for (int64_t i = 0; i < stage->nRanks; ++i) {
    lister.first[i] = (int64_t)lister.nUses;
    int64_t ends[2] = {simDeviceOf(program, stage->ranks[i]),
                       simDeviceOf(program, pattern->peers[i])};
    for (int32_t link = 0; link < cluster->nLinks; ++link) {
      ShardClusterLevel from = cluster->links[link].from;
      if (shardClusterVertexOf(cluster, ends[0], from) ==
          shardClusterVertexOf(cluster, ends[1], from))
        break;
      for (int down = 0; down < 2; ++down) {
        double rate;
        int64_t number = shardUplinkOf(cluster, link, ends[down], &rate);
        addUse(&lister, down * lister.nUplinks + lister.numbering.first[link] + number,
               sortOf(&lister, (SimUseSort){link, 1, rate}));
      }
    }
  }
  lister.first[stage->nRanks] = (int64_t)lister.nUses;
  pattern->uses.uses = lister.uses;
}
