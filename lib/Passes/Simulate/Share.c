//===- Share.c - Communications that meet on links ----------------*- C -*-===//
// Each communication asks of every link for the part of it that it uses when it has them to itself.
// Where a link is asked for more than it carries, speeds are cut by progressive filling: the parts
// that they use of their busiest links grow together; one stops when a link of it is full or when
// it has its own full speed (max-min fairness: Bertsekas and Gallager, Data Networks, 1992, 6.5.2;
// with several links each, dominant resource fairness: Ghodsi et al. 2011). All in whole numbers
// and sums, so that no order enters.
//===----------------------------------------------------------------------===//
#include "Simulate.h"

/// Rounded parts of many equal users may be a little more than the whole.
#define SLACK (SIM_WHOLE >> 16)

SimShare *simShareCreate(int32_t nLinkClasses, ShardArena *arena) {
  SimShare *share = SHARD_ARENA_NEW(arena, SimShare);
  share->arena = arena;
  share->load = SHARD_ARENA_ARRAY(arena, int64_t, nLinkClasses);
  share->grown = SHARD_ARENA_ARRAY(arena, int64_t, nLinkClasses);
  share->settled = SHARD_ARENA_ARRAY(arena, int64_t, nLinkClasses);
  share->stamp = SHARD_ARENA_ARRAY(arena, uint32_t, nLinkClasses);
  share->touched = SHARD_ARENA_ARRAY(arena, int32_t, nLinkClasses);
  return share;
}

static int64_t demandOf(const SimFlow *flow, const SimEntry *entry) {
  return flow->cost->demand[entry->sort];
}

static bool isCrowded(const SimShare *share, int32_t linkClass) {
  return share->load[linkClass] > SIM_WHOLE + SLACK;
}

void simShareEnter(SimShare *share, SimFlow *flow, int64_t nowPs) {
  flow->remaining = (__int128)(flow->cost->ps - flow->cost->latencyPs) * SIM_WHOLE;
  flow->speed = SIM_WHOLE;
  flow->atPs = nowPs;
  flow->most = 1;
  share->nLooks += flow->nEntries;
  flow->at = (int32_t)share->nFlows;
  share->flows = shardArenaGrow(share->arena, share->flows, share->nFlows, &share->capacity,
                                share->nFlows + 1, sizeof(SimFlow *));
  share->flows[share->nFlows++] = flow;
  for (int64_t i = 0; i < flow->nEntries; ++i) {
    const SimEntry *entry = &flow->entries[i];
    int64_t demand = demandOf(flow, entry);
    share->load[entry->linkClass] += entry->count * demand;
    share->crowded |= isCrowded(share, entry->linkClass);
    flow->most = demand > flow->most ? demand : flow->most;
  }
}

void simShareLeave(SimShare *share, SimFlow *flow) {
  SimFlow *last = share->flows[--share->nFlows];
  share->nLooks += flow->nEntries;
  share->flows[flow->at] = last;
  last->at = flow->at;
  for (int64_t i = 0; i < flow->nEntries; ++i) {
    const SimEntry *entry = &flow->entries[i];
    share->crowded |= isCrowded(share, entry->linkClass); // before: others may go on faster
    share->load[entry->linkClass] -= entry->count * demandOf(flow, entry);
  }
}

int64_t simFlowEndPs(const SimFlow *flow) {
  __int128 left = flow->remaining > 0 ? flow->remaining : 0;
  __int128 ps = (left + flow->speed / 2) / flow->speed;
  return ps < SIM_MAX_PS ? simAdd(flow->atPs, (int64_t)ps) : SIM_MAX_PS;
}

/// What a flow uses of a link for each part that it uses of its busiest one.
static int64_t slopeOf(const SimFlow *flow, const SimEntry *entry) {
  return (int64_t)((__int128)demandOf(flow, entry) * SIM_WHOLE / flow->most);
}

static void setSpeed(SimFlow *flow, int64_t speed, int64_t nowPs,
                     void (*changed)(void *user, SimFlow *flow), void *user) {
  if (speed == flow->speed)
    return;
  flow->remaining -= (__int128)(nowPs - flow->atPs) * flow->speed;
  flow->atPs = nowPs;
  flow->speed = speed;
  changed(user, flow);
}

/// The flows on crowded links in front of the others, which run at full speed; how many.
static size_t gather(SimShare *share) {
  size_t n = 0;
  for (size_t f = 0; f < share->nFlows; ++f) {
    SimFlow *flow = share->flows[f];
    bool crowded = false;
    share->nLooks += flow->nEntries;
    for (int64_t i = 0; !crowded && i < flow->nEntries; ++i)
      crowded = isCrowded(share, flow->entries[i].linkClass);
    if (!crowded)
      continue;
    share->flows[f] = share->flows[n];
    share->flows[f]->at = (int32_t)f;
    flow->at = (int32_t)n;
    share->flows[n++] = flow;
  }
  return n;
}

/// Sums of slopes on crowded links, which are listed; how many.
static int32_t startFilling(SimShare *share, size_t nCrowded) {
  int32_t nTouched = 0;
  ++share->round;
  for (size_t f = 0; f < nCrowded; ++f)
    for (int64_t i = 0; i < share->flows[f]->nEntries; ++i) {
      const SimEntry *entry = &share->flows[f]->entries[i];
      int32_t class = entry->linkClass;
      if (!isCrowded(share, class))
        continue;
      if (share->stamp[class] != share->round) {
        share->stamp[class] = share->round;
        share->grown[class] = share->settled[class] = 0;
        share->touched[nTouched++] = class;
      }
      share->grown[class] += entry->count * slopeOf(share->flows[f], entry);
    }
  return nTouched;
}

/// The level at which a link is full; none when nothing on it grows.
static int64_t levelOf(const SimShare *share, int32_t class) {
  int64_t left = SIM_WHOLE - share->settled[class];
  if (share->grown[class] <= 0)
    return INT64_MAX;
  return left <= 0 ? 1 : (int64_t)((__int128)left * SIM_WHOLE / share->grown[class]);
}

static int64_t speedAt(const SimFlow *flow, int64_t level) {
  if (level >= flow->most)
    return SIM_WHOLE;
  int64_t speed = (int64_t)((__int128)level * SIM_WHOLE / flow->most);
  return speed > 0 ? speed : 1;
}

void simShareSettle(SimShare *share, int64_t nowPs, void (*changed)(void *user, SimFlow *flow),
                    void *user) {
  if (!share->crowded)
    return;
  share->crowded = false;
  size_t n = gather(share);
  for (size_t f = n; f < share->nFlows; ++f)
    setSpeed(share->flows[f], SIM_WHOLE, nowPs, changed, user);
  int32_t nTouched = startFilling(share, n);
  while (n) {
    int64_t level = INT64_MAX;
    share->nLooks += nTouched;
    for (int32_t i = 0; i < nTouched; ++i) {
      int64_t full = levelOf(share, share->touched[i]);
      level = full < level ? full : level;
    }
    for (size_t f = 0; f < n; ++f)
      level = share->flows[f]->most < level ? share->flows[f]->most : level;
    // Which links are full is decided before any of their flows settles.
    for (int32_t i = 0; i < nTouched; ++i)
      if (levelOf(share, share->touched[i]) <= level)
        share->stamp[share->touched[i]] = share->round + 1;
    size_t kept = 0;
    for (size_t f = 0; f < n; ++f) {
      SimFlow *flow = share->flows[f];
      share->nLooks += flow->nEntries;
      bool stops = level >= flow->most;
      for (int64_t i = 0; !stops && i < flow->nEntries; ++i)
        stops = isCrowded(share, flow->entries[i].linkClass) &&
                share->stamp[flow->entries[i].linkClass] == share->round + 1;
      if (!stops) {
        share->flows[f] = share->flows[kept];
        share->flows[f]->at = (int32_t)f;
        flow->at = (int32_t)kept;
        share->flows[kept++] = flow;
        continue;
      }
      int64_t speed = speedAt(flow, level);
      for (int64_t i = 0; i < flow->nEntries; ++i) {
        const SimEntry *entry = &flow->entries[i];
        if (!isCrowded(share, entry->linkClass))
          continue;
        int64_t used = (int64_t)((__int128)demandOf(flow, entry) * speed / SIM_WHOLE);
        share->grown[entry->linkClass] -= entry->count * slopeOf(flow, entry);
        share->settled[entry->linkClass] += entry->count * used;
      }
      setSpeed(flow, speed, nowPs, changed, user);
    }
    n = kept;
  }
  ++share->round; // behind the stamps of full links
}
