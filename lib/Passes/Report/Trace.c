//===- Trace.c - A simulated step in the trace event format -------*- C -*-===//
// The format that Chrome and Perfetto open: "Trace Event Format", Duca and Sinclair 2016. Numbers
// of processes and threads begin at 1: Perfetto takes 0 for the idle process of a kernel. A process
// is a rank of a stage; its first thread is what the rank does, the others are what it has started
// before it waits for it.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "Report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

const char *const shardReportWhatNames[SHARD_REPORT_N_WHATS] = {
    [SHARD_SIMULATED_COMPUTE] = "compute",
    [SHARD_SIMULATED_COLLECTIVE] = "collective",
    [SHARD_SIMULATED_SEND] = "send",
    [SHARD_SIMULATED_RECEIVE] = "receive",
    [SHARD_REPORT_WAIT] = "wait"};

/// A line on the screen.
typedef struct Track {
  int process, thread;
} Track;

/// A send whose arrival somebody may wait for.
typedef struct Arrival {
  int64_t site, ps;
  const ShardSimulatedEvent *send;
  Track track;
  int64_t flow; // number of its arrow; 0: nobody waits
} Arrival;

typedef struct Trace {
  ShardArena *arena;
  json_t *list;
  size_t nSites;
  const json_t **sites;    // [nSites] of the report, by number
  ShardReportLanes *lanes; // [nStages]
  int *firstThread;        // [nStages] of the lanes
  size_t nArrivals, capacity;
  Arrival *arrivals; // by site and time
  int64_t nFlows;
} Trace;

static double microseconds(int64_t ps) { return (double)ps * 1e-6; }

static Track stageTrack(int32_t s) { return (Track){s + 1, s + 1}; }

static Track laneTrack(const Trace *trace, int32_t s, size_t lane) {
  return (Track){s + 1, trace->firstThread[s] + (int)lane};
}

//===----------------------------------------------------------------------===//
// Arrows from sends to receives
//===----------------------------------------------------------------------===//

static int compareArrivals(const void *a, const void *b) {
  const Arrival *x = a, *y = b;
  if (x->site != y->site)
    return x->site < y->site ? -1 : 1;
  return x->ps < y->ps ? -1 : x->ps > y->ps;
}

static void addArrivals(Trace *trace, const ShardSimulatedEvent *events, intptr_t n, Track track) {
  for (intptr_t i = 0; i < n; ++i) {
    const ShardSimulatedEvent *event = &events[i];
    if (event->kind != SHARD_SIMULATED_SEND || event->site < 0)
      continue;
    trace->arrivals = shardArenaGrow(trace->arena, trace->arrivals, trace->nArrivals,
                                     &trace->capacity, trace->nArrivals + 1, sizeof(Arrival));
    trace->arrivals[trace->nArrivals++] = (Arrival){event->site, event->endPs, event, track, 0};
  }
}

/// Sends of the stages, by site and by when they arrive. A wait for one is none.
static void listArrivals(Trace *trace, const ShardSimulation *simulation) {
  for (int32_t s = 0; s < simulation->nStages; ++s) {
    const ShardSimulatedStage *stage = &simulation->stages[s];
    for (intptr_t i = 0; i < stage->nEvents; ++i)
      if (!stage->events[i].apart)
        addArrivals(trace, &stage->events[i], 1, stageTrack(s));
    for (size_t l = 0; l < trace->lanes[s].nLanes; ++l)
      addArrivals(trace, trace->lanes[s].lanes[l].events, trace->lanes[s].lanes[l].nEvents,
                  laneTrack(trace, s, l));
  }
  if (trace->nArrivals)
    qsort(trace->arrivals, trace->nArrivals, sizeof(Arrival), compareArrivals);
}

static void addFlowEnd(Trace *trace, const char *phase, int64_t id, Track track, int64_t ps) {
  json_t *end = json_pack("{s:s, s:s, s:s, s:I, s:i, s:i, s:f}", "name", "message", "cat", "flow",
                          "ph", phase, "id", (json_int_t)id, "pid", track.process, "tid",
                          track.thread, "ts", microseconds(ps));
  if (*phase == 'f')
    json_object_set_new(end, "bp", json_string("e")); // the slice around it, not the next
  json_array_append_new(trace->list, end);
}

/// A receive that waits ends when its message arrives, which is when the send ends. Of several that
/// end then, the first that has no arrow yet.
static void addFlow(Trace *trace, const ShardSimulatedEvent *receive, Track track) {
  Arrival key = {.site = receive->site, .ps = receive->endPs};
  Arrival *found = trace->nArrivals ? bsearch(&key, trace->arrivals, trace->nArrivals,
                                              sizeof(Arrival), compareArrivals)
                                    : NULL;
  while (found && found > trace->arrivals && compareArrivals(found - 1, &key) == 0)
    --found;
  const Arrival *end = trace->arrivals + trace->nArrivals;
  while (found && found->flow && found + 1 < end && compareArrivals(found + 1, &key) == 0)
    ++found;
  if (!found || found->flow)
    return;
  found->flow = ++trace->nFlows;
  int64_t sentPs = found->send->beginPs + found->send->waitPs;
  int64_t receivePs = receive->beginPs + receive->waitPs;
  addFlowEnd(trace, "s", found->flow, found->track, sentPs);
  // A send may stand behind another, and begin after it is waited for.
  addFlowEnd(trace, "f", found->flow, track, receivePs > sentPs ? receivePs : sentPs);
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

static void addSlice(Trace *trace, json_t *name, const char *category, Track track, int64_t begin,
                     int64_t end, json_t *arguments) {
  json_array_append_new(trace->list,
                        json_pack("{s:o, s:s, s:s, s:i, s:i, s:f, s:f, s:o}", "name", name, "cat",
                                  category, "ph", "X", "pid", track.process, "tid", track.thread,
                                  "ts", microseconds(begin), "dur", microseconds(end - begin),
                                  "args", arguments));
}

static json_int_t siteOf(const json_t *row) {
  return json_integer_value(json_object_get(row, "site"));
}

/// Why a site communicates; null: not known.
static json_t *causeOf(const Trace *trace, int64_t site) {
  size_t low = 0, high = trace->nSites;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (siteOf(trace->sites[middle]) < site)
      low = middle + 1;
    else
      high = middle;
  }
  bool found = low < trace->nSites && siteOf(trace->sites[low]) == site;
  return found ? json_object_get(trace->sites[low], "cause") : NULL;
}

static void addEvent(Trace *trace, Track track, const ShardSimulatedEvent *event) {
  int64_t work = event->beginPs + event->waitPs;
  if (event->waitPs > 0)
    addSlice(trace, json_string("wait"), shardReportWhatNames[SHARD_REPORT_WAIT], track,
             event->beginPs, work, json_object());
  json_t *arguments = json_object(), *cause = causeOf(trace, event->site);
  if (event->layer >= 0)
    json_object_set_new(arguments, "layer", json_integer(event->layer));
  if (event->site >= 0)
    json_object_set_new(arguments, "site", json_integer(event->site));
  if (event->kind != SHARD_SIMULATED_COMPUTE) {
    json_object_set_new(arguments, "bytes", json_integer(event->bytes));
    json_object_set_new(arguments, "axes",
                        shardReportText(mlirStringRefCreateFromCString(event->axes)));
    if (cause)
      json_object_set(arguments, "cause", cause);
  }
  addSlice(trace, shardReportText(mlirStringRefCreateFromCString(event->name)),
           shardReportWhatNames[event->kind], track, work, event->endPs, arguments);
}

static void addEvents(Trace *trace, Track track, const ShardSimulatedEvent *events, intptr_t n,
                      bool inLane) {
  for (intptr_t i = 0; i < n; ++i) {
    addEvent(trace, track, &events[i]);
    if (events[i].kind == SHARD_SIMULATED_RECEIVE && events[i].site >= 0 &&
        (inLane || !events[i].apart))
      addFlow(trace, &events[i], track);
  }
}

static void addName(Trace *trace, const char *what, Track track, json_t *arguments) {
  json_array_append_new(trace->list,
                        json_pack("{s:s, s:s, s:i, s:i, s:o}", "name", what, "ph", "M", "pid",
                                  track.process, "tid", track.thread, "args", arguments));
}

static void addThreadName(Trace *trace, Track track, const char *name) {
  addName(trace, "thread_name", track,
          json_pack("{s:o}", "name", shardReportText(mlirStringRefCreateFromCString(name))));
  addName(trace, "thread_sort_index", track, json_pack("{s:i}", "sort_index", track.thread));
}

/// "stage 0, rank 0"; what is not drawn is said where it is seen.
static const char *stageName(Trace *trace, const ShardSimulation *simulation, int32_t s) {
  const ShardSimulatedStage *stage = &simulation->stages[s];
  intptr_t leftOut = stage->nEventsLeftOut + stage->nOverlapsLeftOut;
  int64_t rank = simulation->classes[stage->firstClass].firstRank;
  return leftOut ? shardArenaFormat(trace->arena,
                                    "stage %d, rank %" PRId64 ", without %" PRIdPTR " later events",
                                    s, rank, leftOut)
                 : shardArenaFormat(trace->arena, "stage %d, rank %" PRId64, s, rank);
}

/// A process for each stage, with what a rank of its first class does and how many bytes it holds.
static void addStage(Trace *trace, const ShardSimulation *simulation, int32_t s) {
  const ShardSimulatedStage *stage = &simulation->stages[s];
  const ShardReportLanes *lanes = &trace->lanes[s];
  Track track = stageTrack(s);
  addName(trace, "process_name", track,
          json_pack("{s:s}", "name", stageName(trace, simulation, s)));
  addName(trace, "process_sort_index", track, json_pack("{s:i}", "sort_index", track.process));
  addThreadName(trace, track, "step");
  addEvents(trace, track, stage->events, stage->nEvents, false);
  for (size_t l = 0; l < lanes->nLanes; ++l) {
    const ShardReportLane *lane = &lanes->lanes[l];
    addThreadName(trace, laneTrack(trace, s, l),
                  shardArenaFormat(trace->arena, "%ss along %s", shardReportWhatNames[lane->kind],
                                   lane->axes));
    addEvents(trace, laneTrack(trace, s, l), lane->events, lane->nEvents, true);
  }
  for (intptr_t i = 0; i < stage->nMemory; ++i)
    json_array_append_new(trace->list, json_pack("{s:s, s:s, s:i, s:f, s:{s:I}}", "name",
                                                 "device memory", "ph", "C", "pid", track.process,
                                                 "ts", microseconds(stage->memory[i].ps), "args",
                                                 "bytes", (json_int_t)stage->memory[i].bytes));
}

static void prepareTrace(Trace *trace, const ShardSimulation *simulation,
                         const json_t *collectives) {
  int next = simulation->nStages + 1;
  trace->nSites = json_array_size(collectives);
  trace->sites = SHARD_ARENA_ARRAY(trace->arena, const json_t *, trace->nSites);
  for (size_t i = 0; i < trace->nSites; ++i)
    trace->sites[i] = json_array_get(collectives, i);
  trace->lanes = SHARD_ARENA_ARRAY(trace->arena, ShardReportLanes, simulation->nStages);
  trace->firstThread = SHARD_ARENA_ARRAY(trace->arena, int, simulation->nStages);
  for (int32_t s = 0; s < simulation->nStages; ++s) {
    trace->lanes[s] = shardReportLanes(&simulation->stages[s], trace->arena);
    trace->firstThread[s] = next;
    next += (int)trace->lanes[s].nLanes;
  }
  listArrivals(trace, simulation);
}

char *shardReportFormatTrace(const ShardSimulation *simulation, const json_t *collectives) {
  Trace trace = {.arena = shardArenaCreate(), .list = json_array()};
  prepareTrace(&trace, simulation, collectives);
  for (int32_t s = 0; s < simulation->nStages; ++s)
    addStage(&trace, simulation, s);
  json_t *root = json_pack("{s:o, s:s, s:{s:s}}", "traceEvents", trace.list, "displayTimeUnit",
                           "ns", "otherData", "cluster", simulation->clusterName);
  char *text = json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
  json_decref(root);
  shardArenaDestroy(trace.arena);
  return text;
}
