//===- Trace.c - A simulated step in the trace event format -------*- C -*-===//
// The format that Chrome and Perfetto open: "Trace Event Format", Duca and Sinclair 2016. Numbers
// of processes and threads begin at 1: Perfetto takes 0 for the idle process of a kernel.
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

/// A send whose arrival somebody may wait for.
typedef struct Arrival {
  int64_t site, ps;
  const ShardSimulatedEvent *send;
  int process;
  int64_t flow; // number of its arrow; 0: nobody waits
} Arrival;

typedef struct Trace {
  json_t *list;
  size_t nArrivals;
  Arrival *arrivals; // by site and time
  int64_t nFlows;
} Trace;

static double microseconds(int64_t ps) { return (double)ps * 1e-6; }

//===----------------------------------------------------------------------===//
// Arrows from sends to receives
//===----------------------------------------------------------------------===//

static int compareArrivals(const void *a, const void *b) {
  const Arrival *x = a, *y = b;
  if (x->site != y->site)
    return x->site < y->site ? -1 : 1;
  return x->ps < y->ps ? -1 : x->ps > y->ps;
}

/// Sends of the stages, by site and by when they arrive. False: out of memory.
static bool listArrivals(Trace *trace, const ShardSimulation *simulation) {
  size_t capacity = 0;
  for (int32_t s = 0; s < simulation->nStages; ++s)
    capacity += (size_t)simulation->stages[s].nEvents;
  trace->arrivals = calloc(capacity + 1, sizeof(Arrival));
  for (int32_t s = 0; trace->arrivals && s < simulation->nStages; ++s)
    for (intptr_t i = 0; i < simulation->stages[s].nEvents; ++i) {
      const ShardSimulatedEvent *event = &simulation->stages[s].events[i];
      if (event->kind == SHARD_SIMULATED_SEND && event->site >= 0)
        trace->arrivals[trace->nArrivals++] = (Arrival){event->site, event->endPs, event, s + 1, 0};
    }
  if (trace->arrivals)
    qsort(trace->arrivals, trace->nArrivals, sizeof(Arrival), compareArrivals);
  return trace->arrivals != NULL;
}

static void addFlowEnd(Trace *trace, const char *phase, int64_t id, int process, int64_t ps) {
  json_t *end = json_pack("{s:s, s:s, s:s, s:I, s:i, s:i, s:f}", "name", "message", "cat", "flow",
                          "ph", phase, "id", (json_int_t)id, "pid", process, "tid", process, "ts",
                          microseconds(ps));
  if (*phase == 'f')
    json_object_set_new(end, "bp", json_string("e")); // the slice around it, not the next
  json_array_append_new(trace->list, end);
}

/// A receive that waits ends when its message arrives, which is when the send ends. Of several that
/// end then, the first that has no arrow yet.
static void addFlow(Trace *trace, const ShardSimulatedEvent *receive, int process) {
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
  addFlowEnd(trace, "s", found->flow, found->process, found->send->beginPs + found->send->waitPs);
  addFlowEnd(trace, "f", found->flow, process, receive->beginPs + receive->waitPs);
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

static void addSlice(Trace *trace, json_t *name, const char *category, int process, int64_t begin,
                     int64_t end, json_t *arguments) {
  json_array_append_new(trace->list, json_pack("{s:o, s:s, s:s, s:i, s:i, s:f, s:f, s:o}", "name",
                                               name, "cat", category, "ph", "X", "pid", process,
                                               "tid", process, "ts", microseconds(begin), "dur",
                                               microseconds(end - begin), "args", arguments));
}

static void addEvent(Trace *trace, int process, const ShardSimulatedEvent *event) {
  int64_t work = event->beginPs + event->waitPs;
  if (event->waitPs > 0)
    addSlice(trace, json_string("wait"), shardReportWhatNames[SHARD_REPORT_WAIT], process,
             event->beginPs, work, json_object());
  json_t *arguments = json_object();
  if (event->layer >= 0)
    json_object_set_new(arguments, "layer", json_integer(event->layer));
  if (event->site >= 0)
    json_object_set_new(arguments, "site", json_integer(event->site));
  addSlice(trace, shardReportText(mlirStringRefCreateFromCString(event->name)),
           shardReportWhatNames[event->kind], process, work, event->endPs, arguments);
  if (event->kind == SHARD_SIMULATED_RECEIVE && event->site >= 0)
    addFlow(trace, event, process);
}

static void addName(Trace *trace, const char *what, int process, json_t *arguments) {
  json_array_append_new(trace->list, json_pack("{s:s, s:s, s:i, s:i, s:o}", "name", what, "ph", "M",
                                               "pid", process, "tid", process, "args", arguments));
}

/// A process for each stage, with what a rank of its first class does and how many bytes it holds.
static void addStage(Trace *trace, const ShardSimulation *simulation, int32_t s) {
  const ShardSimulatedStage *stage = &simulation->stages[s];
  int process = s + 1;
  char name[64];
  snprintf(name, sizeof(name), "stage %d, rank %" PRId64, s,
           simulation->classes[stage->firstClass].firstRank);
  addName(trace, "process_name", process, json_pack("{s:s}", "name", name));
  addName(trace, "process_sort_index", process, json_pack("{s:i}", "sort_index", process));
  addName(trace, "thread_name", process, json_pack("{s:s}", "name", "step"));
  for (intptr_t i = 0; i < stage->nEvents; ++i)
    addEvent(trace, process, &stage->events[i]);
  for (intptr_t i = 0; i < stage->nMemory; ++i)
    json_array_append_new(trace->list,
                          json_pack("{s:s, s:s, s:i, s:f, s:{s:I}}", "name", "device memory", "ph",
                                    "C", "pid", process, "ts", microseconds(stage->memory[i].ps),
                                    "args", "bytes", (json_int_t)stage->memory[i].bytes));
}

char *shardReportFormatTrace(const ShardSimulation *simulation) {
  Trace trace = {.list = json_array()};
  char *text = NULL;
  if (listArrivals(&trace, simulation)) {
    for (int32_t s = 0; s < simulation->nStages; ++s)
      addStage(&trace, simulation, s);
    json_t *root = json_pack("{s:O, s:s, s:{s:s}}", "traceEvents", trace.list, "displayTimeUnit",
                             "ns", "otherData", "cluster", simulation->clusterName);
    text = json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
    json_decref(root);
  }
  json_decref(trace.list);
  free(trace.arrivals);
  return text;
}
