//===- Recompute.c - What of a chain to keep ----------------------*- C -*-===//
// Prices: Everett, Generalized Lagrange multiplier method, Operations Research 11, 1963.
//===----------------------------------------------------------------------===//
#include "shard/Recompute.h"

#include "../Core/Arena.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/// What a cut comes to.
static void measure(intptr_t n, const ShardChainOp *ops, const bool *keep, ShardSegments *out) {
  double inner = 0, all = 0;
  for (intptr_t i = 0; i < n; ++i) {
    all += ops[i].bytes;
    if (!keep[i]) {
      inner += ops[i].bytes;
      out->repeatSeconds += ops[i].seconds;
      continue;
    }
    ++out->nSegments;
    out->keptBytes += ops[i].bytes;
    out->innerBytes = fmax(out->innerBytes, inner);
    inner = 0;
  }
  out->savedBytes = all - out->keptBytes;
}

void shardSegmentChain(intptr_t n, const ShardChainOp *ops, double secondsPerByte,
                       double maxInnerBytes, bool *keep, ShardSegments *out) {
  ShardArena *scratch = shardArenaCreate();
  double *best = SHARD_ARENA_ARRAY(scratch, double, n + 1);
  intptr_t *before = SHARD_ARENA_ARRAY(scratch, intptr_t, n + 1);
  best[0] = 0;
  for (intptr_t i = 1; i <= n; ++i) {
    double seconds = 0, bytes = 0, memory = secondsPerByte * ops[i - 1].bytes;
    best[i] = INFINITY;
    for (intptr_t j = i - 1; j >= 0 && (j == i - 1 || bytes <= maxInnerBytes); --j) {
      double cost = best[j] + memory + seconds;
      if (cost <= best[i]) { // the longest of equal ones
        best[i] = cost;
        before[i] = j;
      }
      if (j > 0) {
        seconds += ops[j - 1].seconds;
        bytes += ops[j - 1].bytes;
      }
    }
  }
  for (intptr_t i = 0; i < n; ++i)
    keep[i] = false;
  for (intptr_t i = n; i > 0; i = before[i])
    keep[i - 1] = true;
  *out = (ShardSegments){.cost = best[n]};
  measure(n, ops, keep, out);
  shardArenaDestroy(scratch);
}

//===----------------------------------------------------------------------===//
// Within a limit
//===----------------------------------------------------------------------===//

static int byValue(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/// The sums of bytes that the inside of a segment can have, in order; of many, some.
static intptr_t listSums(intptr_t n, const ShardChainOp *ops, ShardArena *arena, double **outSums) {
  enum { most = 1024 };
  double *sums = *outSums = SHARD_ARENA_ARRAY(arena, double, n *(n + 1) / 2 + 1);
  intptr_t nSums = 0, distinct = 0;
  sums[nSums++] = 0;
  for (intptr_t i = 0; i < n; ++i) {
    double sum = 0;
    for (intptr_t k = i; k < n; ++k)
      sums[nSums++] = sum += ops[k].bytes;
  }
  qsort(sums, (size_t)nSums, sizeof(*sums), byValue);
  for (intptr_t i = 0; i < nSums; ++i)
    if (i == 0 || sums[i] > sums[distinct - 1])
      sums[distinct++] = sums[i];
  for (intptr_t i = 0; distinct > most && i < most; ++i)
    sums[i] = sums[i * (distinct - 1) / (most - 1)];
  return distinct < most ? distinct : most;
}

typedef struct Search {
  intptr_t n;
  const ShardChainOp *ops;
  double limitBytes;
  bool *keep, *bestKeep; // of the last cut, of the best
  bool found;
  ShardSegments best;
} Search;

static double peakOf(const ShardSegments *segments) {
  return segments->keptBytes + segments->innerBytes;
}

/// Whether the cut at that price keeps within the limit; the best one is remembered.
static bool tryPrice(Search *search, double secondsPerByte, double maxInnerBytes) {
  ShardSegments cut;
  shardSegmentChain(search->n, search->ops, secondsPerByte, maxInnerBytes, search->keep, &cut);
  bool within = peakOf(&cut) <= search->limitBytes;
  bool better = within != search->found ? within
                : within                ? cut.repeatSeconds < search->best.repeatSeconds
                                        : peakOf(&cut) < peakOf(&search->best);
  if (search->best.nSegments == 0 || better) {
    search->best = cut;
    memcpy(search->bestKeep, search->keep, (size_t)search->n * sizeof(bool));
  }
  search->found |= within;
  return within;
}

bool shardSegmentChainWithin(intptr_t n, const ShardChainOp *ops, double limitBytes, bool *keep,
                             ShardSegments *out) {
  enum { bisections = 60 };
  ShardArena *scratch = shardArenaCreate();
  double *sums, seconds = 0, least = INFINITY;
  intptr_t nSums = listSums(n, ops, scratch, &sums);
  Search search = {.n = n,
                   .ops = ops,
                   .limitBytes = limitBytes,
                   .keep = SHARD_ARENA_ARRAY(scratch, bool, n),
                   .bestKeep = keep};
  for (intptr_t i = 0; i < n; ++i) {
    seconds += ops[i].seconds;
    least = ops[i].bytes > 0 ? fmin(least, ops[i].bytes) : least;
  }
  // At the highest price any byte costs more than all seconds.
  double highest = isfinite(least) && seconds > 0 ? 2 * seconds / least : 1;
  for (intptr_t i = 0; i < nSums; ++i) {
    if (tryPrice(&search, 0, sums[i]) || !tryPrice(&search, highest, sums[i]))
      continue;
    double low = 0, high = highest;
    for (int k = 0; k < bisections; ++k) {
      double middle = (low + high) / 2;
      *(tryPrice(&search, middle, sums[i]) ? &high : &low) = middle;
    }
  }
  *out = search.best;
  shardArenaDestroy(scratch);
  return search.found;
}

double shardTextbookCheckpointDensity(double computeSeconds, double activationBytes,
                                      double bytesPerSecond) {
  return sqrt(computeSeconds / (activationBytes * bytesPerSecond));
}
