//===- Warnings.c - Known mistakes of plans and clusters ----------*- C -*-===//
#include "shard/Warnings.h"

#include "../Analysis/Mesh.h"
#include "../Core/Diagnostics.h"

#include <inttypes.h>
#include <string.h>

typedef struct Subject {
  const ShardCluster *cluster;
  const ShardSimulation *simulation;
  ShardMesh mesh;
  ShardArena *arena;
} Subject;

static const ShardDeviceKind *kindNamed(const ShardCluster *cluster, const char *name) {
  for (int32_t i = 0; i < cluster->nDeviceKinds; ++i)
    if (strcmp(cluster->deviceKinds[i].name, name) == 0)
      return &cluster->deviceKinds[i];
  return NULL;
}

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

static const char *findSlowTensorParallel(const Subject *s) {
  for (int32_t link = 1; link < s->cluster->nLinks; ++link) {
    ShardClusterLevel level = s->cluster->links[link].from;
    double inside = shareOf(s->cluster, 0), outside = shareOf(s->cluster, link);
    for (int64_t rank = 0; outside < inside && rank < s->simulation->nRanks; ++rank)
      if (shardClusterVertexOf(s->cluster, rank, level) !=
          shardClusterVertexOf(s->cluster, firstOfGroup(&s->mesh, rank), level))
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

static const char *findNoMargin(const Subject *s) {
  for (int32_t c = 0; c < s->simulation->nClasses; ++c) {
    const ShardSimulatedClass *class = &s->simulation->classes[c];
    const ShardDeviceKind *kind = kindNamed(s->cluster, class->deviceKind);
    double peak = (double)s->simulation->stages[class->stage].peakBytes;
    if (kind && peak > shardClusterUsableBytes(s->cluster, kind))
      return shardArenaFormat(s->arena,
                              "stage %d needs %.4g GB on '%s', which has %.4g: the reserve of "
                              "%.3g %% is not kept",
                              class->stage, peak * 1e-9, kind->name, kind->memoryBytes.value * 1e-9,
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

static const char *findUnequalStages(const Subject *s) {
  const double most = 1.2; // of the mean
  double sum = 0, longest = 0;
  int32_t slow = 0;
  for (int32_t i = 0; i < s->simulation->nStages; ++i) {
    double busy = busyOf(s->simulation, i);
    sum += busy;
    slow = busy > longest ? i : slow;
    longest = busy > longest ? busy : longest;
  }
  double mean = sum / (double)s->simulation->nStages;
  return longest > most * mean
             ? shardArenaFormat(s->arena,
                                "stages are unequal: stage %d computes for %.4g us, the mean is "
                                "%.4g us",
                                slow, longest * 1e-6, mean * 1e-6)
             : NULL;
}

/// Whether what is counted on is what a maker promises.
static bool isPromise(const ShardCluster *cluster, const ShardRate *rate) {
  return cluster->derating >= 1 && rate->peak.given && !rate->peak.measured &&
         !rate->achieved.given;
}

static const char *findPeakAsReal(const Subject *s) {
  const char *what = NULL;
  for (int32_t i = 0; i < s->cluster->nLinks && !what; ++i)
    if (isPromise(s->cluster, &s->cluster->links[i].bytesPerSecond))
      what = shardArenaFormat(s->arena, "links from %s to %s",
                              shardClusterLevelName(s->cluster->links[i].from),
                              shardClusterLevelName(s->cluster->links[i].to));
  for (int32_t i = 0; i < s->cluster->nDeviceKinds && !what; ++i)
    if (isPromise(s->cluster, &s->cluster->deviceKinds[i].memoryBytesPerSecond))
      what = shardArenaFormat(s->arena, "memory of '%s'", s->cluster->deviceKinds[i].name);
  return what ? shardArenaFormat(s->arena,
                                 "peak bandwidth is used as real: 'derating' is %.3g, and nobody "
                                 "measured the bandwidth of %s",
                                 s->cluster->derating, what)
              : NULL;
}

//===----------------------------------------------------------------------===//
// Layout changes, failures
//===----------------------------------------------------------------------===//

static const char *findLayoutChanges(const Subject *s) {
  static const char *const kinds[] = {"all-gather", "all-to-all", "permute"}; // add up nothing
  const double most = 0.1;                                                    // of the step
  double ps = 0;
  int64_t calls = 0;
  for (intptr_t i = 0; i < s->simulation->nSites; ++i) {
    const ShardSimulatedSite *site = &s->simulation->sites[i];
    for (int k = 0; k < 3; ++k)
      if (site->count > 1 && strcmp(site->kind, kinds[k]) == 0) {
        ps += (double)site->exposedPs;
        calls += site->count;
      }
  }
  double share = s->simulation->stepPs > 0 ? ps / (double)s->simulation->stepPs : 0;
  return share > most
             ? shardArenaFormat(s->arena,
                                "layouts change again and again: %.3g %% of the step goes into "
                                "%" PRId64 " calls of collectives that only move data",
                                100 * share, calls)
             : NULL;
}

static const char *findNoFailureHandling(const Subject *s) {
  double failures = 0;
  for (int32_t c = 0; c < s->simulation->nClasses; ++c) {
    const ShardSimulatedClass *class = &s->simulation->classes[c];
    const ShardDeviceKind *kind = kindNamed(s->cluster, class->deviceKind);
    failures += kind ? (double)class->nRanks * kind->failuresPerDay.value : 0;
  }
  return failures > 1 ? shardArenaFormat(s->arena,
                                         "no failure is handled: %.3g a day are to be expected of "
                                         "%" PRId64 " devices, and the program has no checkpoints",
                                         failures, s->simulation->nRanks)
                      : NULL;
}

//===----------------------------------------------------------------------===//
// The list
//===----------------------------------------------------------------------===//

static const struct {
  const char *id;
  const char *(*find)(const Subject *subject); // text, or null
} warningTable[] = {
    {"slow-tensor-parallel", findSlowTensorParallel},
    {"no-memory-margin", findNoMargin},
    {"unequal-stages", findUnequalStages},
    {"peak-bandwidth", findPeakAsReal},
    {"layout-changes", findLayoutChanges},
    {"no-failure-handling", findNoFailureHandling},
};
enum { nWarnings = sizeof warningTable / sizeof warningTable[0] };

intptr_t shardWarningGetCount(void) { return nWarnings; }

const char *shardWarningGetId(intptr_t index) {
  return index >= 0 && index < nWarnings ? warningTable[index].id : NULL;
}

static bool isListed(const char *list, const char *id) {
  size_t length = strlen(id);
  for (const char *p = list; p && *p; p += p[strcspn(p, ",")] ? strcspn(p, ",") + 1 : strlen(p))
    if (strcspn(p, ",") == length && memcmp(p, id, length) == 0)
      return true;
  return false;
}

static MlirLogicalResult checkIds(MlirOperation module, const char *list) {
  for (const char *p = list; p && *p; p += p[strcspn(p, ",")] ? strcspn(p, ",") + 1 : strlen(p)) {
    size_t length = strcspn(p, ",");
    bool known = false;
    for (int i = 0; i < nWarnings; ++i)
      known |= strlen(warningTable[i].id) == length && memcmp(p, warningTable[i].id, length) == 0;
    if (!known)
      return shardEmitError(module,
                            "no warning is named '%.*s'; expected slow-tensor-parallel, "
                            "no-memory-margin, unequal-stages, peak-bandwidth, layout-changes or "
                            "no-failure-handling",
                            (int)length, p);
  }
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult warnAll(MlirOperation module, const Subject *subject, const char *silenced,
                                 const char *errors) {
  for (int i = 0; i < nWarnings; ++i) {
    const char *id = warningTable[i].id;
    const char *text = isListed(silenced, id) ? NULL : warningTable[i].find(subject);
    if (text && isListed(errors, id))
      return shardEmitError(module, "%s [%s]", text, id);
    if (text)
      shardEmitWarning(module, "%s [%s]", text, id);
  }
  return mlirLogicalResultSuccess();
}

MlirLogicalResult shardModuleWarn(MlirOperation module, const ShardCluster *cluster,
                                  const ShardSimulation *simulation, const char *silenced,
                                  const char *errors) {
  if (mlirLogicalResultIsFailure(checkIds(module, silenced)) ||
      mlirLogicalResultIsFailure(checkIds(module, errors)))
    return mlirLogicalResultFailure();
  Subject subject = {.cluster = cluster, .simulation = simulation, .arena = shardArenaCreate()};
  shardMeshRead(module, subject.arena, &subject.mesh);
  MlirLogicalResult result = warnAll(module, &subject, silenced, errors);
  shardArenaDestroy(subject.arena);
  return result;
}
