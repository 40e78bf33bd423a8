//===- Traffic.c - What messages put on the links -----------------*- C -*-===//
// Each message loads the uplinks on its way up and those on its way down, both directions apart.
// What is left of a message is how busy the links on its way are; few messages differ in that.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "Groups.h"

#include "Cluster.h"

#include <math.h>
#include <string.h>

/// Bytes on the counters of one level.
typedef struct LevelLoad {
  ShardArena *arena;
  int64_t perPart;
  double *sent, *received; // [vertices * perPart]
} LevelLoad;

static LevelLoad createLoad(const ShardCluster *cluster, int32_t link) {
  LevelLoad load = {.arena = shardArenaCreate(), .perPart = groupCounterCount(cluster, link)};
  int64_t n = shardClusterPartCount(cluster, link) * load.perPart;
  load.sent = SHARD_ARENA_ARRAY(load.arena, double, n);
  load.received = SHARD_ARENA_ARRAY(load.arena, double, n);
  return load;
}

/// The ends of a message on one level.
typedef struct Ends {
  int64_t up, down; // counters
  bool crosses;
} Ends;

static Ends endsOf(const ShardCluster *cluster, int32_t link, int64_t perPart, int64_t from,
                   int64_t to) {
  int64_t a = shardClusterPart(cluster, from, link), b = shardClusterPart(cluster, to, link);
  if (a == b)
    return (Ends){0};
  return (Ends){a * perPart + groupRailOf(cluster, link, a, from),
                b * perPart + groupRailOf(cluster, link, b, to), true};
}

/// Puts all messages on the level; whether any crosses it.
static bool addLoad(const ShardCluster *cluster, int32_t link, LevelLoad *load, int64_t n,
                    const int64_t *from, const int64_t *to, const int64_t *bytes) {
  bool any = false;
  for (int64_t i = 0; i < n; ++i) {
    Ends ends = endsOf(cluster, link, load->perPart, from[i], to[i]);
    any |= ends.crosses;
    if (!ends.crosses)
      continue;
    double size = bytes ? (double)bytes[i] : 1;
    load->sent[ends.up] += size;
    load->received[ends.down] += size;
  }
  return any;
}

/// How long the busier end of a message's way has to carry, on a level that it crosses.
static double endSeconds(const ShardCluster *cluster, int32_t link, const LevelLoad *load,
                         const Ends *ends, int64_t from, int64_t to) {
  return fmax(load->sent[ends->up] / groupCounterRate(cluster, link, from, false),
              load->received[ends->down] / groupCounterRate(cluster, link, to, false));
}

void groupShiftOf(const ShardCluster *cluster, int64_t n, const int64_t *from, const int64_t *to,
                  const int64_t *bytes, GroupShift *out) {
  *out = (GroupShift){.highest = -1};
  for (int32_t link = 0; link < cluster->nLinks; ++link) {
    LevelLoad load = createLoad(cluster, link);
    bool any = addLoad(cluster, link, &load, n, from, to, bytes);
    for (int64_t i = 0; any && i < n; ++i) {
      Ends ends = endsOf(cluster, link, load.perPart, from[i], to[i]);
      if (ends.crosses)
        out->secondsPerByte[link] = fmax(out->secondsPerByte[link],
                                         endSeconds(cluster, link, &load, &ends, from[i], to[i]));
    }
    shardArenaDestroy(load.arena);
    if (!any)
      break; // nor on any level above
    out->highest = link;
  }
}

double shardTransfersDistance(const ShardCluster *cluster, int64_t nTransfers,
                              const ShardTransfer *transfers) {
  double sum = 0;
  for (int64_t i = 0; i < nTransfers; ++i)
    sum += (double)transfers[i].bytes *
           (double)shardClusterDistance(cluster, transfers[i].from, transfers[i].to);
  return sum;
}

double shardTransfersSeconds(const ShardCluster *cluster, int64_t nTransfers,
                             const ShardTransfer *transfers) {
  ShardArena *scratch = shardArenaCreate();
  int64_t *from = SHARD_ARENA_ARRAY(scratch, int64_t, nTransfers);
  int64_t *to = SHARD_ARENA_ARRAY(scratch, int64_t, nTransfers);
  int64_t *bytes = SHARD_ARENA_ARRAY(scratch, int64_t, nTransfers);
  for (int64_t i = 0; i < nTransfers; ++i) {
    from[i] = transfers[i].from;
    to[i] = transfers[i].to;
    bytes[i] = transfers[i].bytes;
  }
  GroupShift shift;
  groupShiftOf(cluster, nTransfers, from, to, bytes, &shift);
  shardArenaDestroy(scratch);
  ShardCollectiveCost cost;
  groupMessageCost(cluster, &shift, 1, &cost);
  return cost.seconds;
}

//===----------------------------------------------------------------------===//
// Each by itself
//===----------------------------------------------------------------------===//

struct ShardTraffic {
  const ShardCluster *cluster;
  int64_t nMessages;
  int32_t nProfiles;
  const GroupShift *profiles; // a byte each
  const int32_t *profileOf;   // [nMessages]
  ShardArena *arena;
};

static int32_t profileNumber(ShardTraffic *traffic, size_t *capacity, const GroupShift *shift) {
  for (int32_t i = 0; i < traffic->nProfiles; ++i)
    if (memcmp(&traffic->profiles[i], shift, sizeof(*shift)) == 0)
      return i;
  GroupShift *grown =
      shardArenaGrow(traffic->arena, (void *)traffic->profiles, (size_t)traffic->nProfiles,
                     capacity, (size_t)traffic->nProfiles + 1, sizeof(*grown));
  grown[traffic->nProfiles] = *shift;
  traffic->profiles = grown;
  return traffic->nProfiles++;
}

ShardTraffic *shardTrafficCreate(const ShardCluster *cluster, int64_t nMessages,
                                 const int64_t *from, const int64_t *to) {
  ShardArena *arena = shardArenaCreate(), *scratch = shardArenaCreate();
  ShardTraffic *traffic = SHARD_ARENA_NEW(arena, ShardTraffic);
  *traffic = (ShardTraffic){.cluster = cluster, .nMessages = nMessages, .arena = arena};
  GroupShift *shifts =
      SHARD_ARENA_ARRAY(scratch, GroupShift, nMessages); // zeros: compared as bytes
  int32_t *profileOf = SHARD_ARENA_ARRAY(arena, int32_t, nMessages);
  for (int64_t i = 0; i < nMessages; ++i)
    shifts[i].highest = -1;
  bool any = true;
  for (int32_t link = 0; any && link < cluster->nLinks; ++link) {
    LevelLoad load = createLoad(cluster, link);
    any = addLoad(cluster, link, &load, nMessages, from, to, NULL);
    for (int64_t i = 0; any && i < nMessages; ++i) {
      Ends ends = endsOf(cluster, link, load.perPart, from[i], to[i]);
      if (!ends.crosses)
        continue;
      shifts[i].highest = link;
      shifts[i].secondsPerByte[link] = endSeconds(cluster, link, &load, &ends, from[i], to[i]);
    }
    shardArenaDestroy(load.arena);
  }
  size_t capacity = 0;
  for (int64_t i = 0; i < nMessages; ++i)
    profileOf[i] = profileNumber(traffic, &capacity, &shifts[i]);
  traffic->profileOf = profileOf;
  shardArenaDestroy(scratch);
  return traffic;
}

void shardTrafficDestroy(ShardTraffic *traffic) {
  if (traffic)
    shardArenaDestroy(traffic->arena); // with the traffic
}

int32_t shardTrafficGetProfileCount(const ShardTraffic *traffic) { return traffic->nProfiles; }

int32_t shardTrafficGetProfile(const ShardTraffic *traffic, int64_t message) {
  return message < 0 || message >= traffic->nMessages ? -1 : traffic->profileOf[message];
}

void shardTrafficCost(const ShardTraffic *traffic, int32_t profile, int64_t bytes,
                      ShardCollectiveCost *out) {
  *out = (ShardCollectiveCost){.algorithm = SHARD_ALGORITHM_DIRECT};
  if (profile >= 0 && profile < traffic->nProfiles && bytes > 0)
    groupMessageCost(traffic->cluster, &traffic->profiles[profile], (double)bytes, out);
}

double shardTrafficSeconds(const ShardTraffic *traffic, int32_t profile, int64_t bytes) {
  ShardCollectiveCost cost;
  shardTrafficCost(traffic, profile, bytes, &cost);
  return cost.seconds;
}
