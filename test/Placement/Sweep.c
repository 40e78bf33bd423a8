//===- Sweep.c - Is a placement right? ----------------------------*- C -*-===//

#include "Sweep.h"

#include <stdlib.h>
#include <string.h>

typedef struct Moment {
  int64_t time, buffer;
  bool isEnd;
} Moment;

static int compareMoments(const void *a, const void *b) {
  const Moment *x = a, *y = b;
  if (x->time != y->time)
    return x->time < y->time ? -1 : 1;
  return (int)y->isEnd - (int)x->isEnd; // lifetimes are half open
}

typedef struct Live {
  const ShardPlacementBuffer *buffers;
  const int64_t *offsets;
  int64_t n;
  int64_t *byOffset;
} Live;

static int64_t endOf(const Live *live, int64_t buffer) {
  return live->offsets[buffer] + live->buffers[buffer].sizeBytes;
}

/// How many live buffers begin below `offset`.
static int64_t countBelow(const Live *live, int64_t offset) {
  int64_t low = 0, high = live->n;
  while (low < high) {
    int64_t middle = (low + high) / 2;
    if (live->offsets[live->byOffset[middle]] < offset)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void removeBuffer(Live *live, int64_t buffer) {
  int64_t at = countBelow(live, live->offsets[buffer]);
  memmove(live->byOffset + at, live->byOffset + at + 1,
          (size_t)(live->n - at - 1) * sizeof(*live->byOffset));
  --live->n;
}

/// Adds a buffer; returns one that it overlaps, or -1.
static int64_t addBuffer(Live *live, int64_t buffer) {
  int64_t at = countBelow(live, live->offsets[buffer]);
  if (at > 0 && endOf(live, live->byOffset[at - 1]) > live->offsets[buffer])
    return live->byOffset[at - 1];
  if (at < live->n && live->offsets[live->byOffset[at]] < endOf(live, buffer))
    return live->byOffset[at];
  memmove(live->byOffset + at + 1, live->byOffset + at,
          (size_t)(live->n - at) * sizeof(*live->byOffset));
  live->byOffset[at] = buffer;
  ++live->n;
  return -1;
}

SweepResult sweepPlacement(int64_t nBuffers, const ShardPlacementBuffer *buffers,
                           const int64_t *offsets) {
  SweepResult result = {.first = -1, .second = -1};
  int64_t mostMoments = 2 * nBuffers;
  for (int64_t i = 0; i < nBuffers; ++i)
    mostMoments += 2 * buffers[i].nGaps;
  Moment *moments = malloc((size_t)(mostMoments + 1) * sizeof(*moments));
  Live live = {buffers, offsets, 0, malloc((size_t)(nBuffers + 1) * sizeof(int64_t))};
  if (!moments || !live.byOffset)
    abort();
  int64_t nMoments = 0, liveBytes = 0;
  for (int64_t i = 0; i < nBuffers && !result.fault; ++i) {
    if (offsets[i] < 0 || (buffers[i].alignment > 1 && offsets[i] % buffers[i].alignment != 0)) {
      result.fault = "an offset is negative or not aligned";
      result.first = i;
    }
    if (buffers[i].sizeBytes == 0)
      continue;
    moments[nMoments++] = (Moment){buffers[i].lower, i, false};
    moments[nMoments++] = (Moment){buffers[i].upper, i, true};
    for (int64_t k = 0; k < buffers[i].nGaps; ++k) {
      moments[nMoments++] = (Moment){buffers[i].gaps[k].lower, i, true};
      moments[nMoments++] = (Moment){buffers[i].gaps[k].upper, i, false};
    }
    int64_t end = endOf(&live, i);
    result.height = end > result.height ? end : result.height;
  }
  qsort(moments, (size_t)nMoments, sizeof(*moments), compareMoments);
  for (int64_t m = 0; m < nMoments && !result.fault; ++m) {
    int64_t buffer = moments[m].buffer;
    liveBytes += moments[m].isEnd ? -buffers[buffer].sizeBytes : buffers[buffer].sizeBytes;
    result.maxLive = liveBytes > result.maxLive ? liveBytes : result.maxLive;
    int64_t other = -1;
    if (moments[m].isEnd)
      removeBuffer(&live, buffer);
    else
      other = addBuffer(&live, buffer);
    if (other >= 0) {
      result.fault = "two buffers share bytes at one time";
      result.first = other;
      result.second = buffer;
    }
  }
  free(moments);
  free(live.byOffset);
  return result;
}
