//===- Groups.c - Where groups of ranks lie in a cluster ----------*- C -*-===//
// Counts, for each vertex of the tree and each of its rails, the groups that leave through it: they
// share it. What is left of a group is a few numbers a level.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "Groups.h"

#include "Cluster.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Whether a device uses only the rail of its position.
static bool hasOwnRails(const ShardCluster *cluster, int32_t link) {
  return link > 0 && !cluster->links[link].shared && cluster->links[link].rails > 1;
}

/// How many counters a vertex below the link has.
int64_t groupCounterCount(const ShardCluster *cluster, int32_t link) {
  return hasOwnRails(cluster, link) ? cluster->links[link].rails : 1;
}

static int64_t firstDeviceOf(const ShardCluster *cluster, int32_t link, int64_t part) {
  int64_t node = part;
  for (int32_t i = 1; i < link; ++i)
    node *= cluster->links[i].count;
  int32_t run = cluster->nNodeRuns - 1;
  while (cluster->nodeRuns[run].firstNode > node)
    --run;
  const ShardClusterNodes *nodes = &cluster->nodeRuns[run];
  return nodes->firstDevice + (node - nodes->firstNode) * nodes->devicesPerNode;
}

/// The rail by which a device leaves its vertex `part` below the link.
int64_t groupRailOf(const ShardCluster *cluster, int32_t link, int64_t part, int64_t device) {
  if (!hasOwnRails(cluster, link))
    return 0;
  return (device - firstDeviceOf(cluster, link, part)) % cluster->links[link].rails;
}

/// Bytes a second behind one counter of the vertex that `device` is below.
double groupCounterRate(const ShardCluster *cluster, int32_t link, int64_t device, bool peak) {
  const ShardClusterLink *l = &cluster->links[link];
  const ShardDeviceKind *kind = shardClusterDeviceKind(cluster, device);
  const ShardRate *rate =
      link == 0 && kind->hasPort ? &kind->portBytesPerSecond : &l->bytesPerSecond;
  double value = peak && rate->peak.given ? rate->peak.value : shardRateEffective(cluster, rate);
  return hasOwnRails(cluster, link) ? value : value * (double)l->rails;
}

int64_t shardUplinkCount(const ShardCluster *cluster, int32_t link) {
  return shardClusterPartCount(cluster, link) * groupCounterCount(cluster, link);
}

int64_t shardUplinkOf(const ShardCluster *cluster, int32_t link, int64_t device,
                      double *outBytesPerSecond) {
  int64_t part = shardClusterPart(cluster, device, link);
  *outBytesPerSecond = groupCounterRate(cluster, link, device, false);
  return part * groupCounterCount(cluster, link) + groupRailOf(cluster, link, part, device);
}

static int compareDevices(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/// The lowest link index whose upper vertex holds all of the sorted devices.
static int32_t topOf(const ShardCluster *cluster, int64_t n, const int64_t *sorted) {
  int32_t level = 0;
  while (shardClusterPart(cluster, sorted[0], level) !=
         shardClusterPart(cluster, sorted[n - 1], level))
    ++level;
  return level;
}

/// The end of the run of sorted devices that begins at `begin` and lies below one vertex.
static int64_t runEnd(const ShardCluster *cluster, int32_t link, int64_t n, const int64_t *sorted,
                      int64_t begin) {
  int64_t part = shardClusterPart(cluster, sorted[begin], link), end = begin + 1;
  while (end < n && shardClusterPart(cluster, sorted[end], link) == part)
    ++end;
  return end;
}

/// Lists the rails that the devices of a run use, each once; returns how many. `seen` [rails] holds
/// the stamp of the last run that used each.
static int64_t railsOf(const ShardCluster *cluster, int32_t link, int64_t begin, int64_t end,
                       const int64_t *sorted, int64_t stamp, int64_t *seen, int64_t *rails) {
  int64_t part = shardClusterPart(cluster, sorted[begin], link), n = 0;
  int64_t most = groupCounterCount(cluster, link);
  for (int64_t i = begin; i < end && n < most; ++i) {
    int64_t rail = groupRailOf(cluster, link, part, sorted[i]);
    if (seen[rail] == stamp)
      continue;
    seen[rail] = stamp;
    rails[n++] = rail;
  }
  return n;
}

typedef struct Counting {
  const ShardCluster *cluster;
  int64_t nGroups, nRanks;
  const int64_t *sorted;                   // [nGroups * nRanks]
  const int32_t *tops;                     // [nGroups]
  int64_t *users[SHARD_CLUSTER_MAX_LINKS]; // groups behind each counter
  int64_t *seen, *rails;                   // scratch, [most rails]
  int64_t stamp;
} Counting;

static void countUsers(Counting *c, int32_t link) {
  int64_t perPart = groupCounterCount(c->cluster, link);
  for (int64_t g = 0; g < c->nGroups; ++g) {
    const int64_t *sorted = c->sorted + g * c->nRanks;
    for (int64_t i = 0, end; link < c->tops[g] && i < c->nRanks; i = end) {
      end = runEnd(c->cluster, link, c->nRanks, sorted, i);
      int64_t part = shardClusterPart(c->cluster, sorted[i], link);
      int64_t n = railsOf(c->cluster, link, i, end, sorted, ++c->stamp, c->seen, c->rails);
      for (int64_t k = 0; k < n; ++k)
        ++c->users[link][part * perPart + c->rails[k]];
    }
  }
}

static void describeLevel(Counting *c, int64_t group, int32_t link, GroupProfile *profile) {
  const ShardCluster *cluster = c->cluster;
  const int64_t *sorted = c->sorted + group * c->nRanks;
  GroupLevel *level = &profile->levels[link];
  int64_t perPart = groupCounterCount(cluster, link), siblings = 0, parent = -1, fewest = INT64_MAX;
  level->bytesPerSecond = level->peakBytesPerSecond = INFINITY;
  for (int64_t i = 0, end; i < c->nRanks; i = end) {
    end = runEnd(cluster, link, c->nRanks, sorted, i);
    int64_t part = shardClusterPart(cluster, sorted[i], link);
    int64_t above = shardClusterPart(cluster, sorted[i], link + 1);
    if (above != parent && siblings && siblings < fewest)
      fewest = siblings;
    siblings = above == parent ? siblings + 1 : 1;
    parent = above;
    ++level->parts;
    if (siblings > level->perParent)
      level->perParent = siblings;
    if (end - i > level->ranksPerPart)
      level->ranksPerPart = end - i;
    int64_t n = railsOf(cluster, link, i, end, sorted, ++c->stamp, c->seen, c->rails), most = 1;
    for (int64_t k = 0; k < n; ++k) {
      int64_t users = c->users[link][part * perPart + c->rails[k]];
      most = users > most ? users : most;
    }
    double rate = groupCounterRate(cluster, link, sorted[i], false) * (double)n / (double)most;
    double peak = groupCounterRate(cluster, link, sorted[i], true) * (double)perPart;
    level->bytesPerSecond = fmin(level->bytesPerSecond, rate);
    level->peakBytesPerSecond = fmin(level->peakBytesPerSecond, peak);
  }
  profile->regular &=
      siblings == level->perParent && (fewest == INT64_MAX || fewest == level->perParent);
}

static int32_t profileNumber(ShardGroups *groups, size_t *capacity, const GroupProfile *profile) {
  for (int32_t i = 0; i < groups->nProfiles; ++i)
    if (memcmp(&groups->profiles[i], profile, sizeof(*profile)) == 0)
      return i;
  GroupProfile *grown =
      shardArenaGrow(groups->arena, (void *)groups->profiles, (size_t)groups->nProfiles, capacity,
                     (size_t)groups->nProfiles + 1, sizeof(*grown));
  grown[groups->nProfiles] = *profile;
  groups->profiles = grown;
  return groups->nProfiles++;
}

static void describeGroups(ShardGroups *groups, Counting *c) {
  int32_t top = 0;
  int64_t mostRails = 1;
  for (int64_t g = 0; g < c->nGroups; ++g)
    top = c->tops[g] > top ? c->tops[g] : top;
  for (int32_t link = 0; link < top; ++link)
    mostRails = groupCounterCount(c->cluster, link) > mostRails
                    ? groupCounterCount(c->cluster, link)
                    : mostRails;
  ShardArena *scratch = shardArenaCreate();
  c->seen = SHARD_ARENA_ARRAY(scratch, int64_t, mostRails);
  c->rails = SHARD_ARENA_ARRAY(scratch, int64_t, mostRails);
  for (int32_t link = 0; link < top; ++link) {
    c->users[link] = SHARD_ARENA_ARRAY(scratch, int64_t,
                                       shardClusterPartCount(c->cluster, link) *
                                           groupCounterCount(c->cluster, link));
    countUsers(c, link);
  }
  int32_t *profileOf = SHARD_ARENA_ARRAY(groups->arena, int32_t, c->nGroups);
  size_t capacity = 0;
  for (int64_t g = 0; g < c->nGroups; ++g) {
    GroupProfile profile;
    memset(&profile, 0, sizeof(profile)); // compared as bytes
    profile.nLevels = c->tops[g];
    profile.regular = true;
    for (int32_t link = 0; link < profile.nLevels; ++link)
      describeLevel(c, g, link, &profile);
    profileOf[g] = profileNumber(groups, &capacity, &profile);
  }
  groups->nGroups = c->nGroups;
  groups->profileOf = profileOf;
  shardArenaDestroy(scratch);
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

static void describeShifts(ShardGroups *groups, int64_t nGroups, const int64_t *devices) {
  int64_t n = groups->nRanks, count = 0;
  ShardArena *scratch = shardArenaCreate();
  int64_t *from = SHARD_ARENA_ARRAY(scratch, int64_t, nGroups *n);
  int64_t *to = SHARD_ARENA_ARRAY(scratch, int64_t, nGroups *n);
  for (int64_t g = 0; g < nGroups; ++g)
    for (int64_t i = 0; i + 1 < n; ++i, ++count) {
      from[count] = devices[g * n + i];
      to[count] = devices[g * n + i + 1];
    }
  groupShiftOf(groups->cluster, count, from, to, NULL, &groups->open);
  for (int64_t g = 0; g < nGroups; ++g, ++count) {
    from[count] = devices[g * n + n - 1];
    to[count] = devices[g * n];
  }
  groupShiftOf(groups->cluster, count, from, to, NULL, &groups->cyclic);
  shardArenaDestroy(scratch);
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

static bool checkGroup(const ShardCluster *cluster, int64_t n, const int64_t *sorted,
                       char **outError) {
  for (int64_t i = 0; i < n; ++i) {
    bool twice = i && sorted[i] == sorted[i - 1];
    if (sorted[i] >= 0 && sorted[i] < cluster->nDevices && !twice)
      continue;
    if (asprintf(outError,
                 twice ? "device %" PRId64 " is twice in a group"
                       : "device %" PRId64 " is not in the cluster, which has %" PRId64,
                 sorted[i], cluster->nDevices) < 0)
      *outError = NULL;
    return false;
  }
  return true;
}

ShardGroups *shardGroupsCreate(const ShardCluster *cluster, int64_t nGroups, int64_t nRanks,
                               const int64_t *devices, char **outError) {
  if (nGroups < 1 || nRanks < 1 || nGroups > SHARD_CLUSTER_MAX_DEVICES ||
      nRanks > cluster->nDevices) {
    if (asprintf(outError, "%" PRId64 " groups of %" PRId64 " ranks on %" PRId64 " devices",
                 nGroups, nRanks, cluster->nDevices) < 0)
      *outError = NULL;
    return NULL;
  }
  ShardArena *arena = shardArenaCreate(), *scratch = shardArenaCreate();
  ShardGroups *groups = SHARD_ARENA_NEW(arena, ShardGroups);
  *groups = (ShardGroups){.cluster = cluster, .nRanks = nRanks, .arena = arena};
  int64_t *sorted = SHARD_ARENA_ARRAY(scratch, int64_t, nGroups *nRanks);
  int32_t *tops = SHARD_ARENA_ARRAY(scratch, int32_t, nGroups);
  memcpy(sorted, devices, (size_t)(nGroups * nRanks) * sizeof(*sorted));
  bool ok = true;
  for (int64_t g = 0; ok && g < nGroups; ++g) {
    int64_t *mine = sorted + g * nRanks;
    qsort(mine, (size_t)nRanks, sizeof(*mine), compareDevices);
    ok = checkGroup(cluster, nRanks, mine, outError);
    tops[g] = ok ? topOf(cluster, nRanks, mine) : 0;
  }
  if (ok) {
    Counting counting = {
        .cluster = cluster, .nGroups = nGroups, .nRanks = nRanks, .sorted = sorted, .tops = tops};
    describeGroups(groups, &counting);
    describeShifts(groups, nGroups, devices);
  }
  shardArenaDestroy(scratch);
  if (ok)
    return groups;
  shardArenaDestroy(arena);
  return NULL;
}

ShardGroups *shardGroupsCreateForAxes(const ShardCluster *cluster, int32_t nAxes,
                                      const int64_t *sizes, uint32_t axes, const int64_t *placement,
                                      char **outError) {
  int64_t total = 1, nRanks = 1;
  for (int32_t i = 0; i < nAxes && total <= cluster->nDevices; ++i) {
    total *= sizes[i] > 0 ? sizes[i] : INT32_MAX;
    nRanks *= axes >> i & 1 ? sizes[i] : 1;
  }
  if (nAxes < 0 || nAxes > 32 || total > cluster->nDevices) {
    if (asprintf(outError, "the mesh does not fit on the %" PRId64 " devices", cluster->nDevices) <
        0)
      *outError = NULL;
    return NULL;
  }
  // A rank's place: its group is row-major over the axes that are not reduced over, its number in
  // the group over those that are.
  int64_t *devices = malloc((size_t)total * sizeof(*devices));
  if (!devices) {
    *outError = NULL;
    return NULL;
  }
  for (int64_t rank = 0; rank < total; ++rank) {
    int64_t rest = rank, inner = 0, outer = 0, innerStride = 1, outerStride = 1;
    for (int32_t i = nAxes - 1; i >= 0; --i) {
      int64_t at = rest % sizes[i];
      rest /= sizes[i];
      if (axes >> i & 1) {
        inner += at * innerStride;
        innerStride *= sizes[i];
      } else {
        outer += at * outerStride;
        outerStride *= sizes[i];
      }
    }
    devices[outer * nRanks + inner] = placement ? placement[rank] : rank;
  }
  ShardGroups *groups = shardGroupsCreate(cluster, total / nRanks, nRanks, devices, outError);
  free(devices);
  return groups;
}

void shardGroupsDestroy(ShardGroups *groups) {
  if (groups)
    shardArenaDestroy(groups->arena); // with the groups
}

int64_t shardGroupsGetRankCount(const ShardGroups *groups) { return groups->nRanks; }

int32_t shardGroupsGetProfileCount(const ShardGroups *groups) { return groups->nProfiles; }

int32_t shardGroupsGetProfile(const ShardGroups *groups, int64_t group) {
  return group < 0 || group >= groups->nGroups ? -1 : groups->profileOf[group];
}
