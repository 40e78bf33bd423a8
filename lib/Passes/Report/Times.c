//===- Times.c - What a report knows with a cluster ---------------*- C -*-===//
// Adds to the JSON `cluster`, `simulation`, `memory` and `headline`, and to `communication` times.
// All times are the simulator's.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "Report.h"

#include <stdlib.h>
#include <string.h>

static json_int_t integerOf(const json_t *object, const char *key) {
  return json_integer_value(json_object_get(object, key));
}

static json_t *clusterJson(const ShardCluster *cluster) {
  json_t *kinds = json_array();
  for (int32_t i = 0; i < cluster->nDeviceKinds; ++i) {
    const ShardDeviceKind *kind = &cluster->deviceKinds[i];
    json_array_append_new(kinds, json_pack("{s:s, s:f, s:f}", "name", kind->name, "memoryBytes",
                                           kind->memoryBytes.value, "usableBytes",
                                           shardClusterUsableBytes(cluster, kind)));
  }
  return json_pack("{s:s, s:I, s:f, s:f, s:o}", "name", cluster->name, "devices",
                   (json_int_t)cluster->nDevices, "reserve", cluster->reserve, "derating",
                   cluster->derating, "deviceKinds", kinds);
}

//===----------------------------------------------------------------------===//
// Timeline
//===----------------------------------------------------------------------===//

typedef struct Span {
  const char *what; // null: none
  int64_t beginPs, endPs;
} Span;

/// Adds `next` to `open` where it goes on with the same, else begins anew with it.
static void addSpan(json_t *list, Span *open, Span next) {
  if (next.what && next.endPs <= next.beginPs)
    return;
  if (open->what && open->what == next.what && open->endPs == next.beginPs) {
    open->endPs = next.endPs;
    return;
  }
  if (open->what)
    json_array_append_new(list, json_pack("[s, I, I]", open->what, (json_int_t)open->beginPs,
                                          (json_int_t)open->endPs));
  *open = next;
}

/// A part of the step that is over; `spent` [SHARD_REPORT_N_WHATS] picoseconds begin anew.
static void addPart(json_t *list, Span *open, int64_t *spent, int64_t at, int64_t partPs) {
  int most = 0;
  for (int i = 1; i < SHARD_REPORT_N_WHATS; ++i)
    if (spent[i] > spent[most])
      most = i;
  if (spent[most] > 0)
    addSpan(list, open, (Span){shardReportWhatNames[most], at, at + partPs});
  memset(spent, 0, SHARD_REPORT_N_WHATS * sizeof(*spent));
}

/// The step in equal parts, each with what most of it is spent on.
static json_t *coarseTimeline(const ShardSimulatedEvent *events, intptr_t n, int64_t partPs) {
  json_t *list = json_array();
  Span open = {0};
  int64_t spent[SHARD_REPORT_N_WHATS] = {0}, at = 0;
  for (intptr_t i = 0; i < n; ++i) {
    const ShardSimulatedEvent *event = &events[i];
    for (int half = 0; half < 2; ++half) {
      int64_t work = event->beginPs + event->waitPs;
      int64_t begin = half ? work : event->beginPs, end = half ? event->endPs : work;
      int what = half ? (int)event->kind : SHARD_REPORT_WAIT;
      while (begin < end) {
        while (begin >= at + partPs) { // a part is over
          addPart(list, &open, spent, at, partPs);
          at += partPs;
        }
        int64_t upTo = end < at + partPs ? end : at + partPs;
        spent[what] += upTo - begin;
        begin = upTo;
      }
    }
  }
  addPart(list, &open, spent, at, partPs);
  addSpan(list, &open, (Span){0});
  return list;
}

/// Adds `timeline` to a stage or lane of the JSON, and the length of its parts: 0 where each span
/// is exact.
static void addTimeline(json_t *json, const ShardSimulatedEvent *events, intptr_t n,
                        int64_t stepPs) {
  json_t *list = json_array();
  Span open = {0};
  for (intptr_t i = 0; i < n; ++i) {
    const ShardSimulatedEvent *event = &events[i];
    int64_t work = event->beginPs + event->waitPs;
    addSpan(list, &open, (Span){shardReportWhatNames[SHARD_REPORT_WAIT], event->beginPs, work});
    addSpan(list, &open, (Span){shardReportWhatNames[event->kind], work, event->endPs});
  }
  addSpan(list, &open, (Span){0});
  enum { mostSpans = 2048 }; // more than a screen has columns
  int64_t partPs = 0;
  if (json_array_size(list) > mostSpans) {
    partPs = stepPs / mostSpans + 1;
    json_decref(list);
    list = coarseTimeline(events, n, partPs);
  }
  json_object_set_new(json, "timeline", list);
  json_object_set_new(json, "timelinePartPs", json_integer(partPs));
}

/// What a rank has under way beside what it does.
static json_t *lanesJson(const ShardSimulatedStage *stage, int64_t stepPs) {
  ShardArena *arena = shardArenaCreate();
  ShardReportLanes lanes = shardReportLanes(stage, arena);
  json_t *list = json_array();
  for (size_t l = 0; l < lanes.nLanes; ++l) {
    const ShardReportLane *lane = &lanes.lanes[l];
    json_t *row = json_pack("{s:s, s:o}", "what", shardReportWhatNames[lane->kind], "axes",
                            shardReportText(mlirStringRefCreateFromCString(lane->axes)));
    addTimeline(row, lane->events, lane->nEvents, stepPs);
    json_array_append_new(list, row);
  }
  shardArenaDestroy(arena);
  return list;
}

static json_t *simulationJson(const ShardSimulation *simulation) {
  char *text = shardSimulationFormatJson(simulation);
  json_t *root = text ? json_loads(text, 0, NULL) : NULL;
  free(text);
  json_t *stages = json_object_get(root, "stages");
  for (int32_t i = 0; i < simulation->nStages; ++i) {
    const ShardSimulatedStage *from = &simulation->stages[i];
    json_t *stage = json_array_get(stages, (size_t)i);
    addTimeline(stage, from->events, from->nEvents, simulation->stepPs);
    json_object_set_new(stage, "apart", lanesJson(from, simulation->stepPs));
    json_object_set_new(stage, "eventsLeftOut",
                        json_integer(from->nEventsLeftOut + from->nOverlapsLeftOut));
  }
  return root;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

const ShardDeviceKind *shardReportFindKind(const ShardCluster *cluster, const char *name) {
  for (int32_t i = 0; i < cluster->nDeviceKinds; ++i)
    if (strcmp(cluster->deviceKinds[i].name, name) == 0)
      return &cluster->deviceKinds[i];
  return NULL;
}

/// The kind of the stage's devices that has least memory for it.
static const ShardDeviceKind *tightestKind(const ShardCluster *cluster,
                                           const ShardSimulation *simulation,
                                           const ShardSimulatedStage *stage) {
  const ShardDeviceKind *least = NULL;
  for (int32_t c = 0; c < stage->nClasses; ++c) {
    const ShardSimulatedClass *class = &simulation->classes[stage->firstClass + c];
    const ShardDeviceKind *kind = shardReportFindKind(cluster, class->deviceKind);
    if (kind && (!least || kind->memoryBytes.value < least->memoryBytes.value))
      least = kind;
  }
  return least;
}

static bool isInStage(const json_t *argument, int32_t stage) {
  const json_t *stages = json_object_get(argument, "stages");
  for (size_t i = 0; i < json_array_size(stages); ++i)
    if (json_integer_value(json_array_get(stages, i)) == stage)
      return true;
  return false;
}

/// What a stage's memory at the peak is made of; `other` are arguments of no argument of the model,
/// `values` what lies between buffers, or all values of a stage that is not planned.
static json_t *classesJson(const json_t *root, const ShardSimulatedStage *stage, int32_t index) {
  json_t *classes = json_object();
  json_int_t known = 0;
  const json_t *arguments = json_object_get(root, "arguments");
  for (size_t i = 0; i < json_array_size(arguments); ++i) {
    const json_t *argument = json_array_get(arguments, i);
    if (!isInStage(argument, index))
      continue;
    const char *role = json_string_value(json_object_get(argument, "role"));
    json_int_t bytes = integerOf(argument, "bytesPerDevice");
    known += bytes;
    json_object_set_new(classes, role, json_integer(integerOf(classes, role) + bytes));
  }
  if (stage->argumentBytes != known)
    json_object_set_new(classes, "other", json_integer(stage->argumentBytes - known));
  json_object_set_new(classes, "results", json_integer(stage->resultBytes));
  json_int_t rest = stage->peakBytes - stage->argumentBytes - stage->resultBytes;
  for (int c = 0; stage->planned && c < SHARD_N_MEMORY_CLASSES; ++c) {
    int64_t bytes = stage->peakByClass[c] - stage->heldByClass[c];
    if (!bytes)
      continue;
    json_object_set_new(classes, shardMemoryClassName((ShardMemoryClass)c), json_integer(bytes));
    rest -= bytes;
  }
  json_object_set_new(classes, "values", json_integer(rest));
  return classes;
}

static json_t *memoryJson(const json_t *root, const ShardCluster *cluster,
                          const ShardSimulation *simulation) {
  json_t *list = json_array();
  for (int32_t i = 0; i < simulation->nStages; ++i) {
    const ShardSimulatedStage *stage = &simulation->stages[i];
    const ShardDeviceKind *kind = tightestKind(cluster, simulation, stage);
    json_array_append_new(list, json_pack("{s:i, s:s, s:I, s:f, s:f, s:o}", "stage", (int)i,
                                          "deviceKind", kind ? kind->name : "", "peakBytes",
                                          (json_int_t)stage->peakBytes, "limitBytes",
                                          kind ? shardClusterUsableBytes(cluster, kind) : 0.0,
                                          "deviceBytes", kind ? kind->memoryBytes.value : 0.0,
                                          "atPeak", classesJson(root, stage, i)));
  }
  return list;
}

//===----------------------------------------------------------------------===//
// What binds
//===----------------------------------------------------------------------===//

/// What ranks are busy with, as fractions of their busy time, mean over ranks.
typedef struct Bounds {
  double arithmetic, memory, launch;
} Bounds;

static Bounds boundsOf(const ShardSimulation *simulation) {
  Bounds sum = {0};
  for (int32_t c = 0; c < simulation->nClasses; ++c) {
    const ShardSimulatedClass *class = &simulation->classes[c];
    sum.arithmetic += (double)class->nRanks * (double)class->arithmeticPs;
    sum.memory += (double)class->nRanks * (double)class->memoryPs;
    sum.launch += (double)class->nRanks * (double)class->launchPs;
  }
  double busy = sum.arithmetic + sum.memory + sum.launch;
  return busy > 0 ? (Bounds){sum.arithmetic / busy, sum.memory / busy, sum.launch / busy} : sum;
}

/// The largest part of busy time; of equal ones the first.
static const char *busyName(Bounds bounds) {
  if (bounds.arithmetic >= bounds.memory && bounds.arithmetic >= bounds.launch)
    return "compute";
  return bounds.memory >= bounds.launch ? "memory bandwidth" : "launches";
}

/// The stage that has least memory to spare for its limit.
static size_t fullestStage(const json_t *memory) {
  size_t fullest = 0;
  double most = -1;
  for (size_t i = 0; i < json_array_size(memory); ++i) {
    const json_t *row = json_array_get(memory, i);
    double limit = json_real_value(json_object_get(row, "limitBytes"));
    double use = limit > 0 ? (double)integerOf(row, "peakBytes") / limit : 0;
    if (use > most) {
      most = use;
      fullest = i;
    }
  }
  return fullest;
}

/// A program that does not fit is bound by memory; else by the largest part of its step.
static json_t *headlineJson(const json_t *memory, const ShardCluster *cluster,
                            const ShardSimulation *simulation) {
  size_t stage = fullestStage(memory);
  const json_t *row = json_array_get(memory, stage);
  double limit = json_real_value(json_object_get(row, "limitBytes"));
  bool fits = (double)integerOf(row, "peakBytes") <= limit;
  Bounds bounds = boundsOf(simulation);
  const struct {
    const char *name;
    double part;
  } parts[] = {{busyName(bounds), simulation->busy},
               {"communication", simulation->communication},
               {"waiting for other ranks", simulation->wait},
               {"pipeline bubble", simulation->bubble}};
  size_t most = 0;
  for (size_t i = 1; i < sizeof(parts) / sizeof(parts[0]); ++i)
    if (parts[i].part > parts[most].part)
      most = i;
  return json_pack("{s:I, s:f, s:I, s:i, s:f, s:b, s:s, s:f, s:f, s:f, s:I}", "stepPs",
                   (json_int_t)simulation->stepPs, "stepSeconds",
                   (double)simulation->stepPs * 1e-12, "peakBytes", integerOf(row, "peakBytes"),
                   "peakStage", (int)stage, "limitBytes", limit, "fits", (int)fits, "binds",
                   fits ? parts[most].name : "device memory", "bindsShare", parts[most].part,
                   "memoryBandwidthShare", bounds.memory, "launchShare", bounds.launch,
                   "idleDevices", (json_int_t)(cluster->nDevices - simulation->nRanks));
}

//===----------------------------------------------------------------------===//
// Communication
//===----------------------------------------------------------------------===//

static void addSiteTimes(json_t *communication, const ShardSimulation *simulation) {
  for (size_t i = 0; i < json_array_size(communication); ++i) {
    json_t *row = json_array_get(communication, i);
    const json_t *sites = json_object_get(row, "sites");
    json_int_t ps = 0, exposedPs = 0, sharedPs = 0;
    for (size_t k = 0; k < json_array_size(sites); ++k)
      for (intptr_t s = 0; s < simulation->nSites; ++s)
        if (simulation->sites[s].site == json_integer_value(json_array_get(sites, k))) {
          ps += simulation->sites[s].ps;
          exposedPs += simulation->sites[s].exposedPs;
          sharedPs += simulation->sites[s].sharedPs;
        }
    json_object_set_new(row, "ps", json_integer(ps));
    json_object_set_new(row, "exposedPs", json_integer(exposedPs));
    json_object_set_new(row, "sharedPs", json_integer(sharedPs));
  }
}

void shardReportAddTimes(ShardReport *report, const ShardCluster *cluster,
                         const ShardSimulation *simulation) {
  json_t *root = report->root, *memory = memoryJson(root, cluster, simulation);
  json_object_set_new(root, "cluster", clusterJson(cluster));
  json_object_set_new(root, "headline", headlineJson(memory, cluster, simulation));
  json_object_set_new(root, "memory", memory);
  json_object_set_new(root, "simulation", simulationJson(simulation));
  addSiteTimes(json_object_get(root, "communication"), simulation);
  report->trace = shardReportFormatTrace(simulation, json_object_get(root, "collectives"));
}
