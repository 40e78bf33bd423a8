//===- WarningsPlan.c - Mistakes of a program on a cluster --------*- C -*-===//
#include "Report.h"
#include "Warnings.h"

#include <inttypes.h>
#include <string.h>

//===----------------------------------------------------------------------===//
// Tensor parallel across slow links
//===----------------------------------------------------------------------===//

/// A rank of the mesh with its coordinates along tp, or parts of tp, put to 0.
static int64_t firstOfGroup(const ShardMesh *mesh, int64_t rank) {
  int64_t coordinates[SHARD_MAX_AXES], first = 0;
  shardMeshCoordinates(mesh, rank, coordinates);
  for (int32_t a = 0; a < mesh->nAxes; ++a) {
    bool tensor = strcmp(mesh->names[a], "tp") == 0 || strncmp(mesh->names[a], "tp.", 3) == 0;
    first = first * mesh->sizes[a] + (tensor ? 0 : coordinates[a]);
  }
  return first;
}

/// Bytes a second that each device has out of a vertex when all below use the link.
static double shareOf(const ShardCluster *cluster, int32_t link) {
  const ShardClusterLink *l = &cluster->links[link];
  double devices = 1;
  for (int32_t i = 0; i < link; ++i)
    devices *= (double)cluster->links[i].count;
  return shardRateEffective(cluster, &l->bytesPerSecond) * (double)l->rails / devices;
}

const char *shardFindSlowTensorParallel(ShardWarningSubject *s) {
  const int64_t *devices = s->simulation->devices;
  for (int32_t link = 1; link < s->cluster->nLinks; ++link) {
    ShardClusterLevel level = s->cluster->links[link].from;
    double inside = shareOf(s->cluster, 0), outside = shareOf(s->cluster, link);
    for (int64_t rank = 0; outside < s->threshold * inside && rank < s->simulation->nRanks; ++rank)
      if (shardClusterVertexOf(s->cluster, devices[rank], level) !=
          shardClusterVertexOf(s->cluster, devices[firstOfGroup(&s->mesh, rank)], level))
        return shardArenaFormat(
            s->arena,
            "tensor parallel runs across slow links: rank %" PRId64 " and rank %" PRId64
            " are one group of tp, and between them are the links from %s to %s with %.4g GB/s a "
            "device, where the first link has %.4g",
            firstOfGroup(&s->mesh, rank), rank, shardClusterLevelName(level),
            shardClusterLevelName(s->cluster->links[link].to), outside * 1e-9, inside * 1e-9);
  }
  return NULL;
}

//===----------------------------------------------------------------------===//
// Memory, stages, bandwidth
//===----------------------------------------------------------------------===//

const char *shardFindNoMargin(ShardWarningSubject *s) {
  for (int32_t c = 0; c < s->simulation->nClasses; ++c) {
    const ShardSimulatedClass *class = &s->simulation->classes[c];
    const ShardDeviceKind *kind = shardReportFindKind(s->cluster, class->deviceKind);
    double peak = (double)s->simulation->stages[class->stage].peakBytes;
    if (kind && peak > shardClusterUsableBytes(s->cluster, kind))
      return shardArenaFormat(s->arena,
                              "stage %d needs %s on '%s', which has %s: the reserve of %.3g %% is "
                              "not kept",
                              class->stage, shardWarningBytes(s->arena, peak), kind->name,
                              shardWarningBytes(s->arena, kind->memoryBytes.value),
                              100 * s->cluster->reserve);
  }
  return NULL;
}

/// The work of a stage: of its slowest class.
static double busyOf(const ShardSimulation *simulation, int32_t stage) {
  double busy = 0;
  for (int32_t c = 0; c < simulation->nClasses; ++c)
    if (simulation->classes[c].stage == stage && (double)simulation->classes[c].busyPs > busy)
      busy = (double)simulation->classes[c].busyPs;
  return busy;
}

const char *shardFindUnequalStages(ShardWarningSubject *s) {
  double sum = 0, longest = 0;
  int32_t slow = 0;
  for (int32_t i = 0; i < s->simulation->nStages; ++i) {
    double busy = busyOf(s->simulation, i);
    sum += busy;
    slow = busy > longest ? i : slow;
    longest = busy > longest ? busy : longest;
  }
  double mean = sum / (double)s->simulation->nStages;
  return longest > s->threshold * mean
             ? shardArenaFormat(s->arena,
                                "stages are unequal: stage %d computes for %.4g us, the mean is "
                                "%.4g us",
                                slow, longest * 1e-6, mean * 1e-6)
             : NULL;
}

/// Whether what is counted on is nearly what a maker promises: nobody measured it, and what is
/// written as reached is no less than that.
static bool isPromise(const ShardWarningSubject *s, const ShardRate *rate) {
  bool measured = rate->achieved.given ? rate->achieved.measured : rate->peak.measured;
  return rate->peak.given && !measured &&
         shardRateEffective(s->cluster, rate) > s->threshold * rate->peak.value;
}

const char *shardFindPeakAsReal(ShardWarningSubject *s) {
  const ShardCluster *cluster = s->cluster;
  const ShardRate *rate = NULL;
  const char *what = NULL;
  for (int32_t i = 0; i < cluster->nLinks && !what; ++i)
    if (isPromise(s, rate = &cluster->links[i].bytesPerSecond))
      what = shardArenaFormat(s->arena, "links from %s to %s",
                              shardClusterLevelName(cluster->links[i].from),
                              shardClusterLevelName(cluster->links[i].to));
  for (int32_t i = 0; i < cluster->nDeviceKinds && !what; ++i) {
    const ShardDeviceKind *kind = &cluster->deviceKinds[i];
    if (isPromise(s, rate = &kind->memoryBytesPerSecond))
      what = shardArenaFormat(s->arena, "memory of '%s'", kind->name);
    else if (kind->hasPort && isPromise(s, rate = &kind->portBytesPerSecond))
      what = shardArenaFormat(s->arena, "ports of '%s'", kind->name);
  }
  return what ? shardArenaFormat(s->arena,
                                 "peak bandwidth is used as real: %.3g %% of the %.4g GB/s of %s, "
                                 "and nobody measured that",
                                 100 * shardRateEffective(cluster, rate) / rate->peak.value,
                                 rate->peak.value * 1e-9, what)
              : NULL;
}

//===----------------------------------------------------------------------===//
// Layout changes, failures
//===----------------------------------------------------------------------===//

/// Time that ranks stand still for collectives that only move data and are called again and again,
/// mean over ranks.
static double reshardPs(const ShardSimulation *simulation, int64_t *calls) {
  static const char *const kinds[] = {"all-gather", "all-to-all", "permute"}; // add up nothing
  double ps = 0;
  for (intptr_t i = 0; i < simulation->nSites; ++i) {
    const ShardSimulatedSite *site = &simulation->sites[i];
    for (int k = 0; k < 3; ++k)
      if (site->count > 1 && strcmp(site->kind, kinds[k]) == 0) {
        ps += (double)site->standingPs;
        *calls += site->count;
      }
  }
  return ps;
}

/// The same of transposes within devices.
static double transposePs(const ShardSimulation *simulation, int64_t *calls) {
  double ps = 0;
  for (int32_t i = 0; i < simulation->nStages; ++i) {
    const ShardSimulatedStage *stage = &simulation->stages[i];
    if (stage->nReorders < 2)
      continue;
    *calls += stage->nReorders;
    for (int32_t c = 0; c < stage->nClasses; ++c) {
      const ShardSimulatedClass *class = &simulation->classes[stage->firstClass + c];
      ps += (double)class->reorderPs * (double)class->nRanks / (double)simulation->nRanks;
    }
  }
  return ps;
}

const char *shardFindLayoutChanges(ShardWarningSubject *s) {
  int64_t nReshards = 0, nTransposes = 0;
  double reshards = reshardPs(s->simulation, &nReshards);
  double transposes = transposePs(s->simulation, &nTransposes);
  double step = (double)s->simulation->stepPs;
  return reshards + transposes > s->threshold * step
             ? shardArenaFormat(s->arena,
                                "layouts change again and again: %.3g %% of the step goes into "
                                "%" PRId64 " calls of collectives that only move data, and %.3g %% "
                                "into %" PRId64 " transposes",
                                100 * reshards / step, nReshards, 100 * transposes / step,
                                nTransposes)
             : NULL;
}

double shardWarningFailuresPerDay(const ShardWarningSubject *s) {
  double failures = 0;
  for (int32_t c = 0; c < s->simulation->nClasses; ++c) {
    const ShardSimulatedClass *class = &s->simulation->classes[c];
    const ShardDeviceKind *kind = shardReportFindKind(s->cluster, class->deviceKind);
    failures += kind ? (double)class->nRanks * kind->failuresPerDay.value : 0;
  }
  return failures;
}

/// Who saves checkpoints handles failures.
const char *shardFindNoFailureHandling(ShardWarningSubject *s) {
  double failures = shardWarningFailuresPerDay(s);
  return failures > s->threshold && s->claims.checkpointSeconds <= 0
             ? shardArenaFormat(s->arena,
                                "no failure is handled: %.3g a day are to be expected of "
                                "%" PRId64 " devices, and the program has no checkpoints",
                                failures, s->simulation->nRanks)
             : NULL;
}
