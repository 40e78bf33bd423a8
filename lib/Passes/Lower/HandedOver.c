//===- HandedOver.c - What a call reads before it writes -----------*- C -*-===//
// A layer reads what the last one wrote, for the last time long before it writes what the next one
// reads: the two can have the same bytes. So a call is as many times as buffers begin or end in it,
// by when its callee first or last touches them. Callees stay as they are, but that two of their
// arguments may have bytes in common, at different times.
//===----------------------------------------------------------------------===//

#include "Workspace.h"

#include <stdlib.h>

/// When a callee touches a buffer in the call at `position`, through any of its arguments.
static ShardArgumentUse useInCall(const ShardWorkspaceBuffer *buffer, const ShardWorkspace *callee,
                                  int64_t position) {
  ShardArgumentUse use = {.first = INT64_MAX, .last = -1};
  for (size_t k = 0; k < buffer->nCalls; ++k) {
    if (buffer->calls[k].position != position || buffer->calls[k].operand >= callee->nArguments)
      continue;
    const ShardArgumentUse *argument = &callee->arguments[buffer->calls[k].operand];
    use.first = argument->first < use.first ? argument->first : use.first;
    use.last = argument->last > use.last ? argument->last : use.last;
  }
  return use;
}

/// Of each position that is a call of a function, its callee; null for others.
static const ShardWorkspace **listCallees(ShardLowering *lowering,
                                          const ShardWorkspace *workspace) {
  const ShardWorkspace **callees =
      SHARD_ARENA_ARRAY(lowering->arena, const ShardWorkspace *, workspace->nPositions + 1);
  for (size_t i = 0; i < workspace->nBuffers; ++i)
    if (workspace->buffers[i].callee)
      callees[workspace->buffers[i].first] = workspace->buffers[i].callee;
  return callees;
}

/// A buffer begins or ends in the call at `position`, before the callee's op at `inside`.
typedef struct Border {
  int64_t position, inside;
  int64_t *time; // to be found
} Border;

static int compareBorders(const void *a, const void *b) {
  const Border *x = a, *y = b;
  if (x->position != y->position)
    return x->position < y->position ? -1 : 1;
  return (x->inside > y->inside) - (x->inside < y->inside);
}

/// Of buffers that no loop hands on, no branch shares, and that are more than a call's scratch.
static size_t listBorders(ShardLowering *lowering, ShardWorkspace *workspace, Border *borders) {
  const ShardWorkspace **callees = listCallees(lowering, workspace);
  size_t n = 0;
  for (size_t i = 0; i < workspace->nBuffers; ++i) {
    ShardWorkspaceBuffer *buffer = &workspace->buffers[i];
    if (!buffer->nCalls || buffer->carried || buffer->joined || buffer->first >= buffer->last)
      continue;
    int64_t first = buffer->first, last = buffer->last;
    if (callees[first])
      borders[n++] =
          (Border){first, useInCall(buffer, callees[first], first).first, &buffer->begin};
    if (callees[last])
      borders[n++] = (Border){last, useInCall(buffer, callees[last], last).last + 1, &buffer->end};
  }
  qsort(borders, n, sizeof(*borders), compareBorders);
  return n;
}

static void setTimes(ShardLowering *lowering, const int64_t *times, ShardWorkspaceBuffer *buffer) {
  ShardPlacementGap *gaps = SHARD_ARENA_ARRAY(lowering->arena, ShardPlacementGap, buffer->nGaps);
  for (int64_t k = 0; k < buffer->nGaps; ++k)
    gaps[k] = (ShardPlacementGap){times[buffer->gaps[k].lower], times[buffer->gaps[k].upper]};
  buffer->gaps = gaps;
  if (buffer->first > buffer->last)
    return;
  buffer->begin = buffer->begin < 0 ? times[buffer->first] : buffer->begin;
  buffer->end = buffer->end < 0 ? times[buffer->last + 1] : buffer->end;
}

void shardHandOver(ShardLowering *lowering, ShardWorkspace *workspace) {
  Border *borders = SHARD_ARENA_ARRAY(lowering->arena, Border, 2 * workspace->nBuffers + 1);
  size_t n = listBorders(lowering, workspace, borders), at = 0;
  workspace->times = SHARD_ARENA_ARRAY(lowering->arena, int64_t, workspace->nPositions + 1);
  for (size_t i = 0; i < workspace->nBuffers; ++i)
    workspace->buffers[i].begin = workspace->buffers[i].end = -1;
  int64_t time = 0;
  for (int64_t p = 0; p < workspace->nPositions; ++p, ++time) {
    workspace->times[p] = time;
    for (; at < n && borders[at].position == p; ++at) {
      bool isNew = at == 0 || compareBorders(&borders[at - 1], &borders[at]) != 0;
      time += isNew;
      *borders[at].time = time;
    }
  }
  workspace->times[workspace->nPositions] = time;
  for (size_t i = 0; i < workspace->nBuffers; ++i)
    setTimes(lowering, workspace->times, &workspace->buffers[i]);
}

static void markShared(const ShardWorkspaceBuffer *buffer, const ShardWorkspace *callee,
                       int64_t position) {
  for (size_t k = 0; k < buffer->nCalls; ++k)
    if (buffer->calls[k].position == position && buffer->calls[k].operand < callee->nArguments)
      callee->arguments[buffer->calls[k].operand].shared = true;
}

/// Whether the buffer ends in the call at its last position, not with it.
static bool endsEarly(const ShardWorkspace *workspace, const ShardWorkspaceBuffer *buffer) {
  return buffer->first <= buffer->last && buffer->end < workspace->times[buffer->last + 1];
}

void shardHandOverMark(ShardLowering *lowering, const ShardWorkspace *workspace) {
  const ShardWorkspace **callees = listCallees(lowering, workspace);
  size_t n = workspace->nBuffers;
  // Buffers that end early in a call, as lists: of each position the first, of each buffer the
  // next.
  size_t *first = SHARD_ARENA_ARRAY(lowering->arena, size_t, workspace->nPositions + 1);
  size_t *next = SHARD_ARENA_ARRAY(lowering->arena, size_t, n + 1);
  for (size_t i = n; i-- > 0;)
    if (endsEarly(workspace, &workspace->buffers[i])) {
      next[i] = first[workspace->buffers[i].last];
      first[workspace->buffers[i].last] = i + 1;
    }
  for (size_t i = 0; i < n; ++i) {
    const ShardWorkspaceBuffer *late = &workspace->buffers[i];
    if (late->first > late->last || late->begin == workspace->times[late->first])
      continue;
    for (size_t k = first[late->first]; k; k = next[k - 1]) {
      const ShardWorkspaceBuffer *early = &workspace->buffers[k - 1];
      if (early->offset >= late->offset + late->bytes ||
          late->offset >= early->offset + early->bytes)
        continue;
      markShared(early, callees[late->first], late->first);
      markShared(late, callees[late->first], late->first);
    }
  }
}
