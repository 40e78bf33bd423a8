//===- Lanes.c - What is under way beside the ops of a rank -------*- C -*-===//
// A started communication runs while its rank computes. Those of one sort along the same axes stand
// in one lane, one after the other; where two overlap, in several (interval partitioning: each goes
// to the first lane that is free).
//===----------------------------------------------------------------------===//
#include "Report.h"

#include <stdlib.h>
#include <string.h>

static int compareApart(const void *a, const void *b) {
  const ShardSimulatedEvent *const *x = a, *const *y = b;
  int axes = strcmp((*x)->axes, (*y)->axes);
  if (axes)
    return axes;
  if ((*x)->kind != (*y)->kind)
    return (*x)->kind < (*y)->kind ? -1 : 1;
  if ((*x)->beginPs != (*y)->beginPs)
    return (*x)->beginPs < (*y)->beginPs ? -1 : 1;
  return *x < *y ? -1 : *x > *y; // as listed
}

static void addToLane(ShardReportLane *lane, ShardArena *arena, const ShardSimulatedEvent *event) {
  lane->events = shardArenaGrow(arena, lane->events, (size_t)lane->nEvents, &lane->capacity,
                                (size_t)lane->nEvents + 1, sizeof(ShardSimulatedEvent));
  lane->events[lane->nEvents++] = *event;
}

ShardReportLanes shardReportLanes(const ShardSimulatedStage *stage, ShardArena *arena) {
  ShardReportLanes out = {0, NULL};
  size_t n = (size_t)stage->nOverlaps, first = 0, capacity = 0;
  const ShardSimulatedEvent **sorted = SHARD_ARENA_ARRAY(arena, const ShardSimulatedEvent *, n);
  for (size_t i = 0; i < n; ++i)
    sorted[i] = &stage->overlaps[i];
  if (n)
    qsort(sorted, n, sizeof(*sorted), compareApart);
  for (size_t i = 0; i < n; ++i) {
    const ShardSimulatedEvent *event = sorted[i];
    if (i && (strcmp(sorted[i - 1]->axes, event->axes) != 0 || sorted[i - 1]->kind != event->kind))
      first = out.nLanes; // of this sort
    size_t at = first;
    while (at < out.nLanes &&
           out.lanes[at].events[out.lanes[at].nEvents - 1].endPs > event->beginPs)
      ++at;
    if (at == out.nLanes) {
      out.lanes = shardArenaGrow(arena, out.lanes, out.nLanes, &capacity, out.nLanes + 1,
                                 sizeof(ShardReportLane));
      out.lanes[out.nLanes++] = (ShardReportLane){.kind = event->kind, .axes = event->axes};
    }
    addToLane(&out.lanes[at], arena, event);
  }
  return out;
}
