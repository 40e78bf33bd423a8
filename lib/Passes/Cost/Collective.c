//===- Collective.c - How long a collective takes -----------------*- C -*-===//
// Latency and transfer of every way to run it on the links that its groups have. Rings: Patarasuk
// and Yuan, Bandwidth optimal all-reduce algorithms, 2009. Double trees: Sanders, Speck and Traeff,
// Two-tree algorithms for full bandwidth, 2009. Recursive halving and doubling, scatter and
// all-gather for a broadcast: Thakur, Rabenseifner and Gropp, 2005. All-to-all in log steps: Bruck
// et al. 1997. Latencies and efficiencies: NCCL 2.30, src/graph/tuning.cc.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "Cluster.h"
#include "Groups.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RING = 0, TREE = 1 };
/// Microseconds before the first hop, by ring or tree, then LL, LL128, Simple.
static const double baseUs[2][3] = {{6.6, 14, 8.4}, {6.8, 14, 8.4}};
static const double recursiveBaseUs = 8; // PAT's, for any protocol
/// Microseconds of a hop by kind of link (nvlink, pcie, network), ring or tree, protocol.
static const double hopUs[3][2][3] = {
    {{0.6, 1.9, 3.4}, {0.6, 1.25, 4}}, {{1, 2.5, 5.7}, {1, 1.9, 4}}, {{2.7, 4, 14}, {5, 8.5, 14}}};
static const double switchUs = 25, switchNetworkUs = 18; // NVLS, and its network part
static const double switchTreeUs = 20.9;                 // a hop of a tree of such switches
/// Part of the bandwidth that a protocol leaves to data, and of that what double trees reach.
static const double protocolEfficiency[SHARD_N_PROTOCOLS] = {1, 0.5, 0.92, 1};
static const double treeEfficiency = 0.92;

const char *shardProtocolName(ShardProtocol protocol) {
  static const char *const names[SHARD_N_PROTOCOLS] = {"plain", "LL", "LL128", "Simple"};
  return (unsigned)protocol < SHARD_N_PROTOCOLS ? names[protocol] : NULL;
}

/// One way of one collective on groups of one profile.
typedef struct Way {
  const ShardCluster *cluster;
  const ShardGroups *groups;
  const GroupProfile *profile;
  ShardCollectiveKind kind;
  ShardProtocol protocol;
  double bytes, ranks;
  ShardCollectiveCost *out;
} Way;

//===----------------------------------------------------------------------===//
// Terms
//===----------------------------------------------------------------------===//

static double hopSeconds(const ShardCluster *cluster, int32_t link, int family,
                         ShardProtocol protocol) {
  const ShardClusterLink *l = &cluster->links[link];
  if (l->kind == SHARD_LINK_PLAIN || protocol == SHARD_PROTOCOL_PLAIN)
    return l->latencySeconds.value;
  double seconds = hopUs[l->kind - SHARD_LINK_NVLINK][family][protocol - SHARD_PROTOCOL_LL] * 1e-6;
  if (l->kind != SHARD_LINK_NETWORK)
    return seconds;
  // The constant has one tier of the network in it; a tier above adds what it is farther.
  int32_t first = link;
  while (first > 0 && cluster->links[first - 1].kind == SHARD_LINK_NETWORK)
    --first;
  return seconds + fmax(0, l->latencySeconds.value - cluster->links[first].latencySeconds.value);
}

static const GroupLevel *levelOf(const Way *way, int32_t link) {
  return &way->profile->levels[link];
}

/// The parts below a link's upper end, 1 at the top.
static double partsAbove(const Way *way, int32_t link) {
  return link + 1 < way->profile->nLevels ? (double)levelOf(way, link + 1)->parts : 1;
}

/// The ranks below one vertex of a link's upper end.
static double ranksAbove(const Way *way, int32_t link) {
  return link + 1 < way->profile->nLevels ? (double)levelOf(way, link + 1)->ranksPerPart
                                          : way->ranks;
}

/// What the ranks of a vertex can bring to its uplink.
static double fedBytesPerSecond(const Way *way, int32_t link) {
  const GroupLevel *level = levelOf(way, link);
  return fmin(level->bytesPerSecond, (double)level->ranksPerPart * levelOf(way, 0)->bytesPerSecond);
}

static void addTerm(Way *way, int32_t link, double steps, double stepSeconds, double bytes,
                    double linkBytesPerSecond, double efficiency) {
  const ShardClusterLink *l = &way->cluster->links[link];
  way->out->terms[way->out->nTerms++] = (ShardCostTerm){
      l->from, l->to, steps, stepSeconds, bytes, linkBytesPerSecond * efficiency, efficiency};
}

static bool finish(Way *way, double baseSeconds, bool pipelined) {
  ShardCollectiveCost *out = way->out;
  out->baseSeconds = way->protocol == SHARD_PROTOCOL_PLAIN ? 0 : baseSeconds;
  out->latencySeconds = out->baseSeconds;
  out->pipelined = pipelined;
  for (int32_t i = 0; i < out->nTerms; ++i) {
    const ShardCostTerm *term = &out->terms[i];
    double seconds = term->bytes / term->bytesPerSecond;
    out->latencySeconds += term->steps * term->stepSeconds;
    out->transferSeconds =
        pipelined ? fmax(out->transferSeconds, seconds) : out->transferSeconds + seconds;
  }
  out->seconds = out->latencySeconds + out->transferSeconds;
  return true;
}

static double base(const Way *way, int family) {
  return way->protocol ? baseUs[family][way->protocol - SHARD_PROTOCOL_LL] * 1e-6 : 0;
}

static double efficiency(const Way *way) { return protocolEfficiency[way->protocol]; }

static bool isPlain(const Way *way) {
  for (int32_t i = 0; i < way->profile->nLevels; ++i)
    if (way->cluster->links[i].kind != SHARD_LINK_PLAIN)
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// Ways
//===----------------------------------------------------------------------===//

/// How often each byte goes around: 2 where it is reduced and spread again.
static double roundsOf(ShardCollectiveKind kind) {
  return kind == SHARD_COLLECTIVE_ALL_REDUCE ? 2 : 1;
}

/// The ranks stand in the order of the tree, so that one message enters and one leaves a vertex.
static bool costRing(Way *way) {
  bool rooted = way->kind == SHARD_COLLECTIVE_BROADCAST || way->kind == SHARD_COLLECTIVE_REDUCE;
  if (way->kind == SHARD_COLLECTIVE_ALL_TO_ALL || way->kind >= SHARD_COLLECTIVE_PERMUTE)
    return false;
  double rounds = roundsOf(way->kind), part = rooted ? 1 : (way->ranks - 1) / way->ranks;
  for (int32_t i = 0; i < way->profile->nLevels; ++i)
    addTerm(way, i, rounds * ((double)levelOf(way, i)->parts - partsAbove(way, i)),
            hopSeconds(way->cluster, i, RING, way->protocol), rounds * part * way->bytes,
            levelOf(way, i)->bytesPerSecond, efficiency(way));
  return finish(way, base(way, RING), true);
}

/// Hops from the farthest leaf up to a vertex above the link: NCCL's trees are chains below the
/// network, and binary above.
static double treeDepth(const Way *way, int32_t link) {
  int32_t network = link;
  while (network < way->profile->nLevels && way->cluster->links[network].kind != SHARD_LINK_NETWORK)
    ++network;
  if (network == link || way->protocol == SHARD_PROTOCOL_PLAIN)
    return ceil(log2((double)levelOf(way, link)->perParent));
  double inner = 1;
  for (int32_t i = link + 1; i < network; ++i)
    inner *= (double)levelOf(way, i)->perParent;
  return inner * ((double)levelOf(way, link)->perParent - 1);
}

static bool costTree(Way *way) {
  bool all = way->kind == SHARD_COLLECTIVE_ALL_REDUCE;
  if (!all && way->kind != SHARD_COLLECTIVE_BROADCAST && way->kind != SHARD_COLLECTIVE_REDUCE)
    return false;
  // Of two trees a rank is a leaf in one and inside in the other: up and down, twice.
  double bytes = all && way->ranks > 2 ? 2 * way->bytes : way->bytes;
  double reached = efficiency(way) * (way->protocol ? treeEfficiency : 1);
  for (int32_t i = 0; i < way->profile->nLevels; ++i)
    addTerm(way, i, roundsOf(way->kind) * treeDepth(way, i),
            hopSeconds(way->cluster, i, TREE, way->protocol), bytes,
            levelOf(way, i)->bytesPerSecond, reached);
  return finish(way, base(way, TREE), true);
}

static bool isPowerOfTwo(int64_t n) { return (n & (n - 1)) == 0; }

/// Bruck's all-to-all: step k sends half of the data 2^k ranks on.
static bool costBruck(Way *way) {
  int32_t top = way->profile->nLevels - 1;
  double steps = ceil(log2(way->ranks));
  for (int32_t i = 0; i <= top; ++i) {
    double sent = 0; // out of one vertex
    for (double distance = 1; distance < way->ranks; distance *= 2)
      sent += fmin(distance, (double)levelOf(way, i)->ranksPerPart) * way->bytes / 2;
    addTerm(way, i, i == top ? steps : 0, hopSeconds(way->cluster, i, TREE, way->protocol), sent,
            levelOf(way, i)->bytesPerSecond, efficiency(way));
  }
  return finish(way, recursiveBaseUs * 1e-6, true);
}

/// The nearest first: the more data, the shorter the way.
static bool costRecursive(Way *way) {
  if (way->kind == SHARD_COLLECTIVE_ALL_TO_ALL)
    return costBruck(way);
  bool rooted = way->kind == SHARD_COLLECTIVE_BROADCAST || way->kind == SHARD_COLLECTIVE_REDUCE;
  if (way->kind >= SHARD_COLLECTIVE_PERMUTE || !way->profile->regular)
    return false;
  double rounds = rooted ? 2 : roundsOf(way->kind);
  for (int32_t i = 0; i < way->profile->nLevels; ++i) {
    const GroupLevel *level = levelOf(way, i);
    double parts = (double)level->perParent, rate = fedBytesPerSecond(way, i);
    if (!isPowerOfTwo(level->perParent))
      return false;
    // One of a broadcast's two rounds leaves from the root's own link.
    if (rooted)
      rate = 2 / (1 / rate + 1 / fmin(level->bytesPerSecond, levelOf(way, 0)->bytesPerSecond));
    addTerm(way, i, rounds * log2(parts), hopSeconds(way->cluster, i, TREE, way->protocol),
            rounds * (parts - 1) / parts * way->bytes, rate, efficiency(way));
  }
  return finish(way, recursiveBaseUs * 1e-6, false);
}

/// A ring in each vertex: reduce-scatter from the inside out, all-gather back. On a level above, a
/// rank has only its share left, and the ranks of a vertex send theirs side by side.
static bool costHierarchical(Way *way) {
  bool exchange = way->kind == SHARD_COLLECTIVE_ALL_TO_ALL;
  if (!way->profile->regular || (way->kind >= SHARD_COLLECTIVE_BROADCAST))
    return false;
  double rounds = roundsOf(way->kind), phases = 0;
  for (int32_t i = 0; i < way->profile->nLevels; ++i) {
    const GroupLevel *level = levelOf(way, i);
    double parts = (double)level->perParent;
    double share = exchange ? (double)level->ranksPerPart * way->bytes : way->bytes;
    phases += parts > 1;
    addTerm(way, i, rounds * (parts - 1), hopSeconds(way->cluster, i, RING, way->protocol),
            rounds * (parts - 1) / parts * share, fedBytesPerSecond(way, i), efficiency(way));
  }
  if (phases < 2)
    return false;
  return finish(way, (rounds * (phases - 1) + 1) * base(way, RING), false);
}

/// What leaves a rank by its link to switches that reduce and multicast, `inside` ranks on them.
static double switchedBytes(const Way *way, double inside) {
  switch (way->kind) {
  case SHARD_COLLECTIVE_ALL_REDUCE: // read once from everyone, and written reduced
    return way->bytes * (1 + 1 / inside);
  case SHARD_COLLECTIVE_REDUCE_SCATTER:
  case SHARD_COLLECTIVE_ALL_GATHER:
    return way->bytes * (inside - 1) / inside;
  default:
    return way->bytes;
  }
}

/// Where only the inner levels have such switches, an all-reduce goes on between them as a tree.
static bool costInSwitch(Way *way) {
  int32_t n = way->profile->nLevels, inner = 0;
  while (inner < n && way->cluster->links[inner].inSwitch)
    ++inner;
  if (inner == 0 || (inner < n && way->kind != SHARD_COLLECTIVE_ALL_REDUCE) ||
      way->kind == SHARD_COLLECTIVE_ALL_TO_ALL || way->kind >= SHARD_COLLECTIVE_PERMUTE ||
      way->protocol == SHARD_PROTOCOL_LL || way->protocol == SHARD_PROTOCOL_LL128)
    return false;
  double inside = ranksAbove(way, inner - 1);
  if (inside < 2)
    return false;
  bool counted = false; // one step whatever the levels, and one more by the network
  for (int32_t i = 0; i < n; ++i) {
    const ShardClusterLink *link = &way->cluster->links[i];
    bool network = link->kind == SHARD_LINK_NETWORK;
    double rate = levelOf(way, i)->bytesPerSecond, reached, steps = 1, step = 0, bytes;
    if (i < inner) {
      bytes = switchedBytes(way, inside);
      reached = link->inSwitchEfficiency;
      if (way->protocol == SHARD_PROTOCOL_PLAIN)
        step = i + 1 == inner ? 2 * link->latencySeconds.value : 0;
      else if (network)
        step = i + 1 == inner ? switchNetworkUs * 1e-6 : 0;
      else
        step = counted ? 0 : switchUs * 1e-6;
      counted |= !network;
    } else {
      bytes = levelOf(way, inner)->parts > 2 ? 2 * way->bytes : way->bytes;
      steps = 2 * ceil(log2((double)levelOf(way, i)->perParent));
      step = network && way->protocol ? switchTreeUs * 1e-6
                                      : hopSeconds(way->cluster, i, TREE, way->protocol);
      reached = way->protocol ? treeEfficiency : 1;
    }
    addTerm(way, i, steps, step, bytes, rate, reached);
  }
  return finish(way, 0, true);
}

static bool costMessages(Way *way, const GroupShift *shift) {
  for (int32_t i = 0; i <= shift->highest; ++i)
    addTerm(way, i, i == shift->highest, hopSeconds(way->cluster, i, RING, way->protocol),
            way->bytes, 1 / shift->secondsPerByte[i], efficiency(way));
  return finish(way, base(way, RING), true);
}

static bool costDirect(Way *way) {
  if (way->kind == SHARD_COLLECTIVE_PERMUTE)
    return costMessages(way, &way->groups->cyclic);
  if (way->kind == SHARD_COLLECTIVE_SEND)
    return costMessages(way, &way->groups->open);
  if (way->kind != SHARD_COLLECTIVE_ALL_TO_ALL)
    return false;
  for (int32_t i = 0; i < way->profile->nLevels; ++i) {
    double inside = (double)levelOf(way, i)->ranksPerPart;
    double outside = (way->ranks - inside) / way->ranks;
    addTerm(way, i, ranksAbove(way, i) - inside, hopSeconds(way->cluster, i, RING, way->protocol),
            inside * outside * way->bytes, levelOf(way, i)->bytesPerSecond, efficiency(way));
  }
  return finish(way, base(way, RING), true);
}

/// The file's own times, where it has the collective on the highest link that the group crosses:
/// between two counts of ranks, linear in them.
static bool costMeasured(Way *way) {
  const ShardClusterLink *link = &way->cluster->links[way->profile->nLevels - 1];
  const ShardMeasuredCollective *below = NULL, *above = NULL;
  for (intptr_t i = 0; i < link->nMeasured; ++i) {
    const ShardMeasuredCollective *row = &link->measured[i];
    if (row->kind != way->kind)
      continue;
    if ((double)row->ranks <= way->ranks)
      below = row;
    if ((double)row->ranks >= way->ranks && !above)
      above = row;
  }
  if (!below || !above)
    return false;
  double span = (double)(above->ranks - below->ranks);
  double part = span > 0 ? (way->ranks - (double)below->ranks) / span : 0;
  way->out->baseSeconds = way->out->latencySeconds =
      below->latencySeconds + part * (above->latencySeconds - below->latencySeconds);
  double slow = 1 / below->bytesPerSecond, fast = 1 / above->bytesPerSecond;
  way->out->transferSeconds = way->bytes * (slow + part * (fast - slow));
  way->out->seconds = way->out->latencySeconds + way->out->transferSeconds;
  return true;
}

static bool (*const ways[SHARD_N_ALGORITHMS])(Way *) = {
    costRing, costTree, costRecursive, costHierarchical, costInSwitch, costDirect, costMeasured};

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

bool shardCollectiveCostBy(const ShardGroups *groups, ShardCollectiveKind kind,
                           ShardAlgorithm algorithm, ShardProtocol protocol, int64_t bytes,
                           ShardCollectiveCost *out) {
  if ((unsigned)algorithm >= SHARD_N_ALGORITHMS || (unsigned)protocol >= SHARD_N_PROTOCOLS ||
      (unsigned)kind >= SHARD_N_COLLECTIVE_KINDS)
    return false;
  memset(out, 0, sizeof(*out));
  out->algorithm = algorithm;
  out->protocol = protocol;
  if (groups->nRanks < 2 || bytes <= 0)
    return true;
  // All groups run at once: the collective ends with the slowest.
  for (int32_t i = 0; i < groups->nProfiles; ++i) {
    ShardCollectiveCost cost = {.algorithm = algorithm, .protocol = protocol};
    Way way = {groups->cluster, groups,        &groups->profiles[i],   kind,
               protocol,        (double)bytes, (double)groups->nRanks, &cost};
    bool plain = algorithm == SHARD_ALGORITHM_MEASURED || isPlain(&way);
    if (plain != (protocol == SHARD_PROTOCOL_PLAIN) || !ways[algorithm](&way))
      return false;
    if (i == 0 || cost.seconds > out->seconds)
      *out = cost;
  }
  return true;
}

/// All ways that the library has, in order; `out` [SHARD_N_ALGORITHMS * SHARD_N_PROTOCOLS].
static int32_t listWays(const ShardGroups *groups, ShardCollectiveKind kind, int64_t bytes,
                        ShardCollectiveCost *out) {
  int32_t n = 0;
  for (int a = 0; a < SHARD_N_ALGORITHMS; ++a)
    for (int p = 0; groups->cluster->algorithms[a] && p < SHARD_N_PROTOCOLS; ++p)
      n += shardCollectiveCostBy(groups, kind, (ShardAlgorithm)a, (ShardProtocol)p, bytes, &out[n]);
  // A list that leaves a collective without any way cannot mean it.
  for (int p = 0; n == 0 && p < SHARD_N_PROTOCOLS; ++p)
    n +=
        shardCollectiveCostBy(groups, kind, SHARD_ALGORITHM_RING, (ShardProtocol)p, bytes, &out[n]);
  return n;
}

static bool isBetter(const ShardCollectiveCost *a, const ShardCollectiveCost *b) {
  bool measured = a->algorithm == SHARD_ALGORITHM_MEASURED;
  if (measured != (b->algorithm == SHARD_ALGORITHM_MEASURED))
    return measured; // over any model
  return a->seconds < b->seconds;
}

void shardCollectiveCost(const ShardGroups *groups, ShardCollectiveKind kind, int64_t bytes,
                         ShardCollectiveCost *out) {
  ShardCollectiveCost list[SHARD_N_ALGORITHMS * SHARD_N_PROTOCOLS];
  int32_t n = listWays(groups, kind, bytes, list), best = 0;
  for (int32_t i = 1; i < n; ++i)
    if (isBetter(&list[i], &list[best]))
      best = i;
  memset(out, 0, sizeof(*out));
  if (n)
    *out = list[best];
}

void shardCollectiveCostOf(const ShardGroups *groups, int32_t profile, ShardCollectiveKind kind,
                           int64_t bytes, ShardCollectiveCost *out) {
  ShardGroups one = *groups;
  one.nProfiles = 1;
  one.profiles = &groups->profiles[profile];
  shardCollectiveCost(&one, kind, bytes, out);
}

void groupMessageCost(const ShardCluster *cluster, const GroupShift *shift, double bytes,
                      ShardCollectiveCost *out) {
  bool plain = true;
  *out = (ShardCollectiveCost){.algorithm = SHARD_ALGORITHM_DIRECT};
  for (int32_t i = 0; i <= shift->highest; ++i)
    plain &= cluster->links[i].kind == SHARD_LINK_PLAIN;
  for (int p = plain ? 0 : 1; shift->highest >= 0 && p < (plain ? 1 : SHARD_N_PROTOCOLS); ++p) {
    ShardCollectiveCost cost = {.algorithm = SHARD_ALGORITHM_DIRECT, .protocol = (ShardProtocol)p};
    Way way = {.cluster = cluster, .protocol = (ShardProtocol)p, .bytes = bytes, .out = &cost};
    costMessages(&way, shift);
    if (out->nTerms == 0 || cost.seconds < out->seconds)
      *out = cost;
  }
}

//===----------------------------------------------------------------------===//
// The textbook's forms, and the explanation
//===----------------------------------------------------------------------===//

double shardTextbookBytesPerSecond(const ShardGroups *groups) {
  double slowest = INFINITY;
  for (int32_t i = 0; i < groups->nProfiles; ++i)
    for (int32_t k = 0; k < groups->profiles[i].nLevels; ++k)
      slowest = fmin(slowest, groups->profiles[i].levels[k].peakBytesPerSecond);
  return slowest;
}

double shardTextbookRingSeconds(const ShardGroups *groups, int64_t bytes) {
  double slowest = 0, ranks = (double)groups->nRanks;
  for (int32_t i = 0; i < groups->nProfiles; ++i) {
    const GroupProfile *profile = &groups->profiles[i];
    double rate = INFINITY, latency = 0;
    for (int32_t k = 0; k < profile->nLevels; ++k) {
      rate = fmin(rate, profile->levels[k].peakBytesPerSecond);
      latency = groups->cluster->links[k].latencySeconds.value;
    }
    slowest = fmax(slowest, 2 * (ranks - 1) * ((double)bytes / ranks / rate + latency));
  }
  return slowest;
}

double shardTextbookHierarchicalSeconds(const ShardGroups *groups, int64_t bytes) {
  double slowest = 0;
  for (int32_t i = 0; i < groups->nProfiles; ++i) {
    const GroupProfile *profile = &groups->profiles[i];
    double seconds = 0;
    for (int32_t k = 0; k < profile->nLevels; ++k) {
      double parts = (double)profile->levels[k].perParent;
      seconds += 2 * (parts - 1) *
                 ((double)bytes / parts / profile->levels[k].peakBytesPerSecond +
                  groups->cluster->links[k].latencySeconds.value);
    }
    slowest = fmax(slowest, seconds);
  }
  return slowest;
}

static int compareCosts(const void *a, const void *b) {
  const ShardCollectiveCost *x = a, *y = b;
  if (isBetter(x, y) != isBetter(y, x))
    return isBetter(x, y) ? -1 : 1;
  return x->algorithm != y->algorithm ? (int)x->algorithm - (int)y->algorithm
                                      : (int)x->protocol - (int)y->protocol;
}

static void printCost(FILE *out, const ShardCollectiveCost *cost) {
  char name[64];
  bool plain = cost->protocol == SHARD_PROTOCOL_PLAIN;
  snprintf(name, sizeof(name), "%s%s%s", shardAlgorithmName(cost->algorithm), plain ? "" : " ",
           plain ? "" : shardProtocolName(cost->protocol));
  fprintf(out, "  %-20s %12.6g us = latency %.6g + transfer %.6g\n", name, cost->seconds * 1e6,
          cost->latencySeconds * 1e6, cost->transferSeconds * 1e6);
}

char *shardCollectiveExplain(const ShardGroups *groups, ShardCollectiveKind kind, int64_t bytes) {
  ShardCollectiveCost list[SHARD_N_ALGORITHMS * SHARD_N_PROTOCOLS];
  char *text = NULL;
  size_t length = 0;
  FILE *out = open_memstream(&text, &length);
  if (!out)
    return NULL;
  int32_t n = listWays(groups, kind, bytes, list);
  qsort(list, (size_t)n, sizeof(*list), compareCosts);
  fprintf(out, "%s of %lld bytes, %lld ranks: %.6g us\n", shardClusterCollectiveName(kind),
          (long long)bytes, (long long)groups->nRanks, n ? list[0].seconds * 1e6 : 0);
  for (int32_t i = 0; i < n; ++i) {
    printCost(out, &list[i]);
    for (int32_t k = 0; i == 0 && k < list[i].nTerms; ++k) {
      const ShardCostTerm *term = &list[i].terms[k];
      fprintf(out, "    %s to %s: %g steps of %.6g us; %.6g bytes at %.6g GB/s, %.6g us\n",
              shardClusterLevelName(term->from), shardClusterLevelName(term->to), term->steps,
              term->stepSeconds * 1e6, term->bytes, term->bytesPerSecond / 1e9,
              term->bytes / term->bytesPerSecond * 1e6);
    }
  }
  if (kind == SHARD_COLLECTIVE_ALL_REDUCE) {
    fprintf(out, "the textbook's forms, with peak bandwidths:\n");
    fprintf(out, "  ring over all ranks, 2(P-1)/P N/BW + 2(P-1) a: %.6g us\n",
            shardTextbookRingSeconds(groups, bytes) * 1e6);
    fprintf(out, "  hierarchical, the whole message on every level: %.6g us\n",
            shardTextbookHierarchicalSeconds(groups, bytes) * 1e6);
  }
  fclose(out);
  return text;
}
