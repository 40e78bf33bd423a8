//===- Report.h - What the parts of a report share ----------------*- C -*-===//
#ifndef SHARD_REPORT_INTERNAL_H
#define SHARD_REPORT_INTERNAL_H

#include "shard/Report.h"

#include "../Analysis/Count.h"

#include <jansson.h>
#include <stddef.h>

/// Texts are from malloc, and null until somebody asks.
struct ShardReport {
  json_t *root;
  char *json, *text, *summary, *page, *trace;
};

/// share/shard/report/page.html, as built in; no zero byte ends it.
extern const char *const shardReportPage;
extern const size_t shardReportPageBytes;

/// A text as JSON; "?" where it is not UTF-8.
json_t *shardReportText(MlirStringRef text);
/// Nested arrays of strings and integers, arrays of integers, strings; null for no attribute.
json_t *shardReportAttribute(MlirAttribute attribute);
json_t *shardReportShape(MlirType type);
const char *shardReportElementType(MlirType type, ShardArena *arena);

/// The tensors that a program makes, with their places: one entry for a result of an op.
json_t *shardReportValues(MlirOperation module, ShardArena *arena);
/// `collectives` of the report, those of one kind, cause and set of axes together.
json_t *shardReportCommunication(const json_t *collectives);
const ShardDeviceKind *shardReportFindKind(const ShardCluster *cluster, const char *name);
/// The page that holds the report's JSON, `json`. From malloc; null: out of memory.
char *shardReportFormatPage(const json_t *root, const char *json);

/// What a rank does, as ShardSimulatedKind, and waiting.
enum { SHARD_REPORT_WAIT = SHARD_SIMULATED_RECEIVE + 1, SHARD_REPORT_N_WHATS };
extern const char *const shardReportWhatNames[SHARD_REPORT_N_WHATS];

/// Communications that a rank has started apart, of one sort and along the same axes: by time, none
/// before the one before it has ended.
typedef struct ShardReportLane {
  ShardSimulatedKind kind;
  const char *axes;
  intptr_t nEvents;
  size_t capacity;
  ShardSimulatedEvent *events;
} ShardReportLane;
typedef struct ShardReportLanes {
  size_t nLanes;
  ShardReportLane *lanes; // by axes, then sort
} ShardReportLanes;
ShardReportLanes shardReportLanes(const ShardSimulatedStage *stage, ShardArena *arena);

/// In the trace event format. `collectives` of the report, by site, say what they are for; null:
/// not known. From malloc; null: out of memory.
char *shardReportFormatTrace(const ShardSimulation *simulation, const json_t *collectives);

#endif // SHARD_REPORT_INTERNAL_H
