//===- Trace.c - A simulated step in the trace event format -------*- C -*-===//
// The format that Chrome and Perfetto open: "Trace Event Format", Duca and Sinclair 2016.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "Report.h"

#include <inttypes.h>
#include <stdio.h>

const char *const shardReportWhatNames[SHARD_REPORT_N_WHATS] = {
    [SHARD_SIMULATED_COMPUTE] = "compute",
    [SHARD_SIMULATED_COLLECTIVE] = "collective",
    [SHARD_SIMULATED_SEND] = "send",
    [SHARD_SIMULATED_RECEIVE] = "receive",
    [SHARD_REPORT_WAIT] = "wait"};

static double microseconds(int64_t ps) { return (double)ps * 1e-6; }

static void traceEvent(json_t *list, int32_t stage, const ShardSimulatedEvent *event) {
  int64_t work = event->beginPs + event->waitPs;
  if (event->waitPs > 0)
    json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:i, s:i, s:f, s:f}", "name", "wait",
                                          "cat", "wait", "ph", "X", "pid", (int)stage, "tid", 0,
                                          "ts", microseconds(event->beginPs), "dur",
                                          microseconds(event->waitPs)));
  json_t *arguments = json_object();
  if (event->layer >= 0)
    json_object_set_new(arguments, "layer", json_integer(event->layer));
  if (event->site >= 0)
    json_object_set_new(arguments, "site", json_integer(event->site));
  json_array_append_new(list,
                        json_pack("{s:o, s:s, s:s, s:i, s:i, s:f, s:f, s:o}", "name",
                                  shardReportText(mlirStringRefCreateFromCString(event->name)),
                                  "cat", shardReportWhatNames[event->kind], "ph", "X", "pid",
                                  (int)stage, "tid", 0, "ts", microseconds(work), "dur",
                                  microseconds(event->endPs - work), "args", arguments));
}

/// A process for each stage, with what a rank of its first class does and how many bytes it holds.
char *shardReportFormatTrace(const ShardSimulation *simulation) {
  json_t *list = json_array();
  for (int32_t s = 0; s < simulation->nStages; ++s) {
    const ShardSimulatedStage *stage = &simulation->stages[s];
    char name[64];
    snprintf(name, sizeof(name), "stage %d, rank %" PRId64, s,
             simulation->classes[stage->firstClass].firstRank);
    json_array_append_new(list, json_pack("{s:s, s:s, s:i, s:{s:s}}", "name", "process_name", "ph",
                                          "M", "pid", (int)s, "args", "name", name));
    for (intptr_t i = 0; i < stage->nEvents; ++i)
      traceEvent(list, s, &stage->events[i]);
    for (intptr_t i = 0; i < stage->nMemory; ++i)
      json_array_append_new(list, json_pack("{s:s, s:s, s:i, s:f, s:{s:I}}", "name",
                                            "device memory", "ph", "C", "pid", (int)s, "ts",
                                            microseconds(stage->memory[i].ps), "args", "bytes",
                                            (json_int_t)stage->memory[i].bytes));
  }
  json_t *root = json_pack("{s:o, s:s, s:{s:s}}", "traceEvents", list, "displayTimeUnit", "ns",
                           "otherData", "cluster", simulation->clusterName);
  char *text = json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
  json_decref(root);
  return text;
}
