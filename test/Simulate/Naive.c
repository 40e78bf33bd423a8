//===- Naive.c - A step of every rank by itself -------------------*- C -*-===//
#include "Naive.h"

#include "Programs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const int64_t naiveSizes[naiveAxes] = {2, 3, 4}, naiveStrides[naiveAxes] = {12, 4, 1};

enum { maxFlows = naiveSteps * naiveRanks, maxLinks = 256, whole = 1 << 30 };
static const int64_t one = INT64_C(64) * whole; // 2^36, parts of a link

/// A group's collective, or a rank's message.
typedef struct Flow {
  int step, nMembers, nArrived;
  int64_t members[naiveRanks]; // those that wait for it: of a message its sender and receiver
  int64_t arrivals[naiveRanks];
  int64_t latest, begins, enters, ends; // -1: not known
  int64_t latencyPs, ps;
  int64_t demand[maxLinks]; // of each direction
  int64_t most, speed, at;
  __int128 remaining;
} Flow;

typedef struct Rank {
  int next;
  bool began;
} Rank;

typedef struct Naive {
  const ShardCluster *cluster;
  const int64_t *placement;
  bool staged;
  int nSteps;
  const NaiveStep *steps;
  NaiveClock *clocks;
  Rank ranks[naiveRanks];
  int nFlows;
  Flow *flows;
  int flowOf[naiveSteps][naiveRanks]; // that a rank has a part in by sending; -1
  int sentTo[naiveSteps][naiveRanks]; // that it receives; -1
  int nDirections;
  int64_t now;
} Naive;

static int64_t coordinate(int64_t rank, int axis) {
  return rank / naiveStrides[axis] % naiveSizes[axis];
}

static int stageOf(const Naive *n, int64_t rank) {
  return n->staged ? (int)coordinate(rank, 0) : 0;
}

static bool sameGroup(int64_t a, int64_t b, uint32_t axes) {
  for (int i = 0; i < naiveAxes; ++i)
    if (!(axes >> i & 1) && coordinate(a, i) != coordinate(b, i))
      return false;
  return true;
}

static bool sameCall(const Naive *n, int64_t a, int64_t b, uint32_t axes) {
  return !n->staged || (axes & 1) || stageOf(n, a) == stageOf(n, b);
}

//===----------------------------------------------------------------------===//
// Links
//===----------------------------------------------------------------------===//

/// The number of a direction of the uplink of a device.
static int directionOf(const Naive *n, int32_t link, int64_t device, bool down, double *rate) {
  int64_t first = 0, all = 0;
  for (int32_t i = 0; i < n->cluster->nLinks; ++i) {
    first += i < link ? shardUplinkCount(n->cluster, i) : 0;
    all += shardUplinkCount(n->cluster, i);
  }
  return (int)(first + shardUplinkOf(n->cluster, link, device, rate) + (down ? all : 0));
}

static int64_t vertexOf(const Naive *n, int32_t link, int64_t rank) {
  return shardClusterVertexOf(n->cluster, n->placement[rank], n->cluster->links[link].from);
}

static double wirePerSecond(const ShardCollectiveCost *cost, const ShardCluster *cluster,
                            int32_t link) {
  for (int32_t i = 0; i < cost->nTerms; ++i)
    if (cost->terms[i].from == cluster->links[link].from)
      return cost->terms[i].bytes / cost->terms[i].efficiency / cost->transferSeconds;
  return 0;
}

static void setTimes(Flow *flow, const ShardCollectiveCost *cost) {
  flow->ps = picoseconds(cost->seconds);
  flow->latencyPs = cost->transferSeconds > 0 ? picoseconds(cost->latencySeconds) : flow->ps;
  flow->latencyPs = flow->latencyPs > flow->ps ? flow->ps : flow->latencyPs;
}

static int64_t demandOf(double perSecond, double rate) {
  double part = perSecond / rate;
  return part < 1 ? llround(part * (double)one) : one;
}

/// A group uses the uplinks of all of its ranks, as long as they are not below one vertex.
static void setGroupDemand(const Naive *n, Flow *flow, const ShardCollectiveCost *cost) {
  for (int32_t link = 0; link < n->cluster->nLinks; ++link) {
    bool crosses = false;
    for (int i = 0; i < flow->nMembers; ++i)
      crosses |= vertexOf(n, link, flow->members[i]) != vertexOf(n, link, flow->members[0]);
    for (int i = 0; crosses && i < flow->nMembers; ++i) {
      // Different uplinks of this vertex share the work.
      double rate, other;
      int64_t device = n->placement[flow->members[i]];
      int up = directionOf(n, link, device, false, &rate);
      int seen[naiveRanks], rails = 0;
      for (int k = 0; k < flow->nMembers; ++k) {
        int mate = directionOf(n, link, n->placement[flow->members[k]], false, &other);
        bool known = vertexOf(n, link, flow->members[k]) != vertexOf(n, link, flow->members[i]);
        for (int j = 0; j < rails; ++j)
          known |= seen[j] == mate;
        if (!known)
          seen[rails++] = mate;
      }
      double perSecond = wirePerSecond(cost, n->cluster, link) / rails;
      flow->demand[up] = demandOf(perSecond, rate);
      flow->demand[directionOf(n, link, device, true, &rate)] = demandOf(perSecond, rate);
    }
  }
}

static void setMessageDemand(const Naive *n, Flow *flow, const ShardCollectiveCost *cost,
                             int64_t from, int64_t to) {
  for (int32_t link = 0; link < n->cluster->nLinks; ++link) {
    if (vertexOf(n, link, from) == vertexOf(n, link, to))
      break;
    double rate, perSecond = wirePerSecond(cost, n->cluster, link);
    int up = directionOf(n, link, n->placement[from], false, &rate);
    flow->demand[up] = demandOf(perSecond, rate);
    int down = directionOf(n, link, n->placement[to], true, &rate);
    flow->demand[down] = demandOf(perSecond, rate);
  }
}

//===----------------------------------------------------------------------===//
// Flows, all made before the step begins
//===----------------------------------------------------------------------===//

static Flow *addFlow(Naive *n, int step) {
  Flow *flow = &n->flows[n->nFlows++];
  memset(flow, 0, sizeof(*flow));
  flow->step = step;
  flow->latest = flow->begins = flow->enters = flow->ends = -1;
  return flow;
}

static int64_t bytesOf(const NaiveStep *step) { return (int64_t)step->rows * 64 * 4; }

static void addGroups(Naive *n, int at) {
  const NaiveStep *step = &n->steps[at];
  int64_t devices[naiveRanks];
  bool done[naiveRanks] = {false};
  for (int64_t first = 0; first < naiveRanks; ++first) {
    if (done[first])
      continue;
    // All groups of one call, in order; then their costs.
    int nGroups = 0, size = 0, count = 0, begin = n->nFlows;
    for (int64_t r = first; r < naiveRanks; ++r) {
      if (done[r] || !sameCall(n, first, r, step->axes))
        continue;
      Flow *flow = addFlow(n, at);
      for (int64_t q = r; q < naiveRanks; ++q)
        if (!done[q] && sameGroup(r, q, step->axes) && sameCall(n, r, q, step->axes)) {
          done[q] = true;
          n->flowOf[at][q] = n->nFlows - 1;
          flow->members[flow->nMembers++] = q;
          devices[count++] = n->placement[q];
        }
      size = flow->nMembers;
      ++nGroups;
    }
    char *error = NULL;
    ShardGroups *groups = shardGroupsCreate(n->cluster, nGroups, size, devices, &error);
    for (int g = 0; g < nGroups; ++g) {
      ShardCollectiveCost cost;
      shardCollectiveCostOf(groups, shardGroupsGetProfile(groups, g), SHARD_COLLECTIVE_ALL_REDUCE,
                            bytesOf(step), &cost);
      setTimes(&n->flows[begin + g], &cost);
      setGroupDemand(n, &n->flows[begin + g], &cost);
    }
    shardGroupsDestroy(groups);
  }
}

static void addMessages(Naive *n, int at) {
  const NaiveStep *step = &n->steps[at];
  int64_t from[naiveRanks], to[naiveRanks], senders[naiveRanks], targets[naiveRanks];
  int count = 0;
  for (int64_t r = 0; r < naiveRanks; ++r) {
    int axis = step->kind == NAIVE_SHIFT ? __builtin_ctz(step->axes) : 0;
    int64_t there = coordinate(r, axis);
    if (step->kind == NAIVE_MESSAGE && there != 0)
      continue;
    int64_t peer = step->kind == NAIVE_SHIFT ? (there + step->offset) % naiveSizes[axis] : 1;
    senders[count] = r;
    targets[count] = r + (peer - there) * naiveStrides[axis];
    from[count] = n->placement[r];
    to[count] = n->placement[targets[count]];
    ++count;
  }
  // Those of one stage are one call.
  for (int stage = 0; stage < 2; ++stage) {
    int mine[naiveRanks], nMine = 0;
    int64_t f[naiveRanks], t[naiveRanks];
    for (int i = 0; i < count; ++i)
      if (stageOf(n, senders[i]) == stage) {
        f[nMine] = from[i];
        t[nMine] = to[i];
        mine[nMine++] = i;
      }
    ShardTraffic *traffic = shardTrafficCreate(n->cluster, nMine, f, t);
    for (int i = 0; i < nMine; ++i) {
      ShardCollectiveCost cost;
      int64_t sender = senders[mine[i]], target = targets[mine[i]];
      Flow *flow = addFlow(n, at);
      shardTrafficCost(traffic, shardTrafficGetProfile(traffic, i), bytesOf(step), &cost);
      flow->nMembers = 1;
      flow->members[0] = sender;
      setTimes(flow, &cost);
      setMessageDemand(n, flow, &cost, sender, target);
      n->flowOf[at][sender] = n->sentTo[at][target] = n->nFlows - 1;
    }
    shardTrafficDestroy(traffic);
  }
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

/// The earlier collective of the same group that has not ended, or the latest end of those.
static int64_t freeAt(const Naive *n, const Flow *flow, bool *busy) {
  int64_t at = 0;
  *busy = false;
  for (int i = 0; i < n->nFlows; ++i) {
    const Flow *other = &n->flows[i];
    NaiveKind kind = n->steps[other->step].kind;
    if (other->step >= flow->step || (kind != NAIVE_REDUCE && kind != NAIVE_START) ||
        n->steps[other->step].axes != n->steps[flow->step].axes ||
        other->members[0] != flow->members[0])
      continue;
    *busy |= other->ends < 0;
    at = other->ends > at ? other->ends : at;
  }
  return at;
}

static void arrive(Naive *n, Flow *flow, int64_t rank) {
  int64_t ps = n->clocks[rank].ps;
  for (int i = 0; i < flow->nMembers; ++i)
    if (flow->members[i] == rank)
      flow->arrivals[i] = ps;
  ++flow->nArrived;
  flow->latest = ps > flow->latest ? ps : flow->latest;
}

/// All that can begin does.
static bool beginFlows(Naive *n) {
  bool any = false;
  for (int i = 0; i < n->nFlows; ++i) {
    Flow *flow = &n->flows[i];
    NaiveKind kind = n->steps[flow->step].kind;
    bool busy = false;
    if (flow->begins >= 0 || flow->nArrived < flow->nMembers)
      continue;
    int64_t at = kind == NAIVE_REDUCE || kind == NAIVE_START ? freeAt(n, flow, &busy) : 0;
    if (busy)
      continue;
    flow->begins = flow->latest > at ? flow->latest : at;
    flow->enters = flow->begins + flow->latencyPs;
    flow->remaining = (__int128)(flow->ps - flow->latencyPs) * one;
    flow->speed = one;
    flow->at = flow->enters;
    any = true;
  }
  return any;
}

/// Whether the rank need wait no more; then it has.
static bool await(Naive *n, const Flow *flow, int64_t rank, bool receives) {
  NaiveClock *clock = &n->clocks[rank];
  if (flow->ends < 0 || flow->ends > n->now)
    return false;
  int64_t own = flow->latest;
  if (receives && stageOf(n, flow->members[0]) != stageOf(n, rank))
    own = 0;
  if (!receives && flow->nMembers > 1) {
    own = 0;
    for (int i = 0; i < flow->nMembers; ++i)
      if (stageOf(n, flow->members[i]) == stageOf(n, rank) && flow->arrivals[i] > own)
        own = flow->arrivals[i];
  }
  if (own > clock->ps) {
    clock->wait += own - clock->ps;
    clock->ps = own;
  }
  if (flow->latest > clock->ps) {
    clock->bubble += flow->latest - clock->ps;
    clock->ps = flow->latest;
  }
  if (flow->ends > clock->ps) {
    clock->communication += flow->ends - clock->ps;
    clock->ps = flow->ends;
  }
  return true;
}

/// One step of a rank, or a half of it. False: it waits.
static bool runStep(Naive *n, int64_t rank) {
  Rank *of = &n->ranks[rank];
  if (of->next == n->nSteps)
    return false;
  const NaiveStep *step = &n->steps[of->next];
  int at = step->kind == NAIVE_WAIT ? step->of : of->next;
  int sends = n->flowOf[at][rank], receives = n->sentTo[at][rank];
  if (step->kind == NAIVE_PRODUCT) {
    const char *kind = shardClusterDeviceKind(n->cluster, n->placement[rank])->name;
    int64_t ps =
        matmulPs(32, step->k * (1 + stageOf(n, rank)), 16, strcmp(kind, "fast") == 0 ? 1e12 : 3e11);
    n->clocks[rank].ps += ps;
    n->clocks[rank].busy += ps;
  } else {
    if (!of->began && step->kind != NAIVE_WAIT && sends >= 0)
      arrive(n, &n->flows[sends], rank);
    bool first = !of->began;
    of->began = true;
    if (step->kind != NAIVE_START) {
      // A shift sends before it receives.
      if (sends >= 0 && !await(n, &n->flows[sends], rank, false))
        return first;
      if (receives >= 0 && !await(n, &n->flows[receives], rank, true))
        return first;
    }
  }
  of->began = false;
  ++of->next;
  return true;
}

//===----------------------------------------------------------------------===//
// Speeds
//===----------------------------------------------------------------------===//

static bool isOn(const Naive *n, const Flow *flow) {
  return flow->begins >= 0 && flow->ends < 0 && flow->enters <= n->now;
}

/// Progressive filling over all links and all that is on them.
static void setSpeeds(Naive *n) {
  bool settled[maxFlows], crowded[maxLinks] = {false};
  for (int d = 0; d < n->nDirections; ++d) {
    int64_t load = 0;
    for (int i = 0; i < n->nFlows; ++i)
      load += isOn(n, &n->flows[i]) ? n->flows[i].demand[d] : 0;
    crowded[d] = load > one + (one >> 16);
  }
  int left = 0;
  for (int i = 0; i < n->nFlows; ++i) {
    Flow *flow = &n->flows[i];
    bool any = false;
    flow->most = 1;
    for (int d = 0; d < n->nDirections; ++d) {
      any |= flow->demand[d] && crowded[d];
      flow->most = flow->demand[d] > flow->most ? flow->demand[d] : flow->most;
    }
    settled[i] = !isOn(n, flow) || !any;
    left += !settled[i];
    flow->speed = one;
  }
  while (left) {
    int64_t level = INT64_MAX, full[maxLinks];
    for (int d = 0; d < n->nDirections; ++d) {
      int64_t used = 0, slope = 0;
      for (int i = 0; i < n->nFlows; ++i) {
        const Flow *flow = &n->flows[i];
        if (!isOn(n, flow) || !flow->demand[d] || !crowded[d])
          continue;
        if (settled[i])
          used += (int64_t)((__int128)flow->demand[d] * flow->speed / one);
        else
          slope += (int64_t)((__int128)flow->demand[d] * one / flow->most);
      }
      full[d] = slope == 0    ? INT64_MAX
                : used >= one ? 1
                              : (int64_t)((__int128)(one - used) * one / slope);
      level = full[d] < level ? full[d] : level;
    }
    for (int i = 0; i < n->nFlows; ++i)
      if (!settled[i] && n->flows[i].most < level)
        level = n->flows[i].most;
    for (int i = 0; i < n->nFlows; ++i) {
      Flow *flow = &n->flows[i];
      bool stops = level >= flow->most;
      for (int d = 0; d < n->nDirections; ++d)
        stops |= flow->demand[d] && crowded[d] && full[d] <= level;
      if (settled[i] || !stops)
        continue;
      settled[i] = true;
      --left;
      flow->speed = level >= flow->most ? one : (int64_t)((__int128)level * one / flow->most);
      flow->speed = flow->speed > 0 ? flow->speed : 1;
    }
  }
}

static int64_t endOf(const Flow *flow) {
  __int128 remaining = flow->remaining > 0 ? flow->remaining : 0;
  return flow->at + (int64_t)((remaining + flow->speed / 2) / flow->speed);
}

/// To the next time at which something comes to the links or ends. False: nothing does.
static bool advance(Naive *n) {
  int64_t next = INT64_MAX;
  setSpeeds(n);
  for (int i = 0; i < n->nFlows; ++i) {
    const Flow *flow = &n->flows[i];
    if (flow->begins < 0 || flow->ends >= 0)
      continue;
    int64_t ps = flow->enters > n->now ? flow->enters : endOf(flow);
    next = ps < next ? ps : next;
  }
  if (next == INT64_MAX)
    return false;
  for (int i = 0; i < n->nFlows; ++i) {
    Flow *flow = &n->flows[i];
    if (!isOn(n, flow))
      continue;
    if (endOf(flow) == next)
      flow->ends = next;
    flow->remaining -= (__int128)(next - flow->at) * flow->speed;
    flow->at = next;
  }
  n->now = next;
  // What comes to the links with nothing to carry has ended.
  for (int i = 0; i < n->nFlows; ++i)
    if (isOn(n, &n->flows[i]) && n->flows[i].ps == n->flows[i].latencyPs)
      n->flows[i].ends = next;
  return true;
}

int64_t naiveRun(const ShardCluster *cluster, const int64_t *placement, bool staged, int n,
                 const NaiveStep *steps, NaiveClock *clocks) {
  Naive naive = {.cluster = cluster,
                 .placement = placement,
                 .staged = staged,
                 .nSteps = n,
                 .steps = steps,
                 .clocks = clocks};
  naive.flows = malloc(maxFlows * sizeof(Flow));
  memset(naive.flowOf, -1, sizeof(naive.flowOf));
  memset(naive.sentTo, -1, sizeof(naive.sentTo));
  memset(clocks, 0, naiveRanks * sizeof(*clocks));
  for (int32_t link = 0; link < cluster->nLinks; ++link)
    naive.nDirections += 2 * (int)shardUplinkCount(cluster, link);
  for (int i = 0; i < n; ++i)
    if (steps[i].kind == NAIVE_REDUCE || steps[i].kind == NAIVE_START)
      addGroups(&naive, i);
    else if (steps[i].kind == NAIVE_SHIFT || steps[i].kind == NAIVE_MESSAGE)
      addMessages(&naive, i);
  do {
    bool any = true;
    while (any) {
      any = beginFlows(&naive);
      for (int64_t r = 0; r < naiveRanks; ++r)
        while (runStep(&naive, r))
          any = true;
    }
  } while (advance(&naive));
  int64_t end = naive.now;
  for (int64_t r = 0; r < naiveRanks; ++r)
    end = clocks[r].ps > end ? clocks[r].ps : end;
  for (int64_t r = 0; r < naiveRanks; ++r)
    clocks[r].bubble += end - clocks[r].ps;
  free(naive.flows);
  return end;
}
