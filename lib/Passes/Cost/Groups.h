//===- Groups.h - Where groups of ranks lie in a cluster ----------*- C -*-===//
#ifndef SHARD_COST_GROUPS_H
#define SHARD_COST_GROUPS_H

#include "shard/Cost.h"

#include "../Core/Arena.h"

/// One level of a group: the vertices that hold ranks of it, and their links up.
typedef struct GroupLevel {
  int64_t parts;             // vertices of the lower end
  int64_t perParent;         // most of them below one parent
  int64_t ranksPerPart;      // most ranks below one of them
  double bytesPerSecond;     // out of one of them, for this group: the least of all
  double peakBytesPerSecond; // of the whole uplink, whoever uses it
} GroupLevel;

/// Groups that lie alike have one profile.
typedef struct GroupProfile {
  int32_t nLevels; // links that the group crosses: 0 for one rank
  bool regular;    // on each level every parent has as many parts
  GroupLevel levels[SHARD_CLUSTER_MAX_LINKS];
} GroupProfile;

/// What sends from each rank to the next do to the links.
typedef struct GroupShift {
  int32_t highest;                                // link; -1: no message leaves its device
  double secondsPerByte[SHARD_CLUSTER_MAX_LINKS]; // of the busiest link of each level
} GroupShift;

struct ShardGroups {
  const ShardCluster *cluster;
  int64_t nRanks;
  int64_t nGroups;
  int32_t nProfiles;
  const GroupProfile *profiles;
  const int32_t *profileOf; // [nGroups]
  GroupShift cyclic, open;  // a permute's and a send's
  ShardArena *arena;
};

/// Counters of the vertices below a link: one each, or one for each rail where a device has its
/// own.
int64_t groupCounterCount(const ShardCluster *cluster, int32_t link);
/// The counter of vertex `part` that `device`, which is below it, leaves by.
int64_t groupRailOf(const ShardCluster *cluster, int32_t link, int64_t part, int64_t device);
/// Bytes a second behind one counter of the vertex that `device` is below.
double groupCounterRate(const ShardCluster *cluster, int32_t link, int64_t device, bool peak);

/// The load that messages put on links; `bytes` null: one byte each.
void groupShiftOf(const ShardCluster *cluster, int64_t n, const int64_t *from, const int64_t *to,
                  const int64_t *bytes, GroupShift *out);

/// What such messages cost, of `bytes` times what the shift was made for, by the best protocol.
void groupMessageCost(const ShardCluster *cluster, const GroupShift *shift, double bytes,
                      ShardCollectiveCost *out);

#endif // SHARD_COST_GROUPS_H
