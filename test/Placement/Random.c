//===- Random.c - Random buffers, placed and checked --------------*- C -*-===//
// shard-placement-random [--seed=N] [--small=N] [--large=N]
// Small problems against a brute force: the height is the least, the bound is the height, and a
// capacity of one byte less is infeasible. Large ones: right by a sweep, above the bound, and the
// same when permuted, mirrored, scaled.
//===----------------------------------------------------------------------===//

#include "Sweep.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SMALL = 7, MAX_LARGE = 160, MAX_GAPS = 3 };

static uint64_t randomState;
static int64_t drawBelow(int64_t n) { // xorshift64*, Vigna 2016
  randomState ^= randomState >> 12;
  randomState ^= randomState << 25;
  randomState ^= randomState >> 27;
  return (int64_t)((randomState * UINT64_C(0x2545f4914f6cdd1d) >> 33) % (uint64_t)n);
}

static int nFailures;
static void fail(const char *what, int64_t n, const ShardPlacementBuffer *buffers) {
  printf("FAIL: %s\nid,lower,upper,size,alignment,gaps\n", what);
  for (int64_t i = 0; i < n; ++i) {
    printf("%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",", i, buffers[i].lower,
           buffers[i].upper, buffers[i].sizeBytes, buffers[i].alignment);
    for (int64_t k = 0; k < buffers[i].nGaps; ++k)
      printf("%s%" PRId64 "-%" PRId64, k ? " " : "", buffers[i].gaps[k].lower,
             buffers[i].gaps[k].upper);
    printf("\n");
  }
  ++nFailures;
}

/// Up to MAX_GAPS gaps, in order, apart, within the lifetime.
static int64_t drawGaps(int64_t lower, int64_t upper, ShardPlacementGap *out) {
  int64_t n = 0;
  for (int64_t at = lower; n < MAX_GAPS; ++n) {
    int64_t begin = at + 1 + drawBelow(3), end = begin + 1 + drawBelow(4);
    if (end >= upper)
      break;
    out[n] = (ShardPlacementGap){begin, end};
    at = end;
  }
  return n;
}

/// `gaps`: where they are kept, MAX_GAPS for each; null: none has any.
static void drawBuffers(int64_t n, bool isAligned, ShardPlacementGap *gaps,
                        ShardPlacementBuffer *buffers) {
  int64_t times = 2 + drawBelow(2 * n), longest = 1 + drawBelow(times), sizes = 1 + drawBelow(12);
  for (int64_t i = 0; i < n; ++i) {
    int64_t lower = drawBelow(times) - times / 2;
    buffers[i] = (ShardPlacementBuffer){.lower = lower,
                                        .upper = lower + 1 + drawBelow(longest),
                                        .sizeBytes = drawBelow(20) ? 1 + drawBelow(sizes) : 0,
                                        .alignment = isAligned ? drawBelow(6) : 0};
    if (gaps && drawBelow(2)) {
      buffers[i].gaps = gaps + i * MAX_GAPS;
      buffers[i].nGaps = drawGaps(lower, buffers[i].upper, gaps + i * MAX_GAPS);
    }
  }
}

//===----------------------------------------------------------------------===//
// Small ones
//===----------------------------------------------------------------------===//

static bool isLive(const ShardPlacementBuffer *buffer, int64_t time) {
  bool live = buffer->lower <= time && time < buffer->upper;
  for (int64_t k = 0; k < buffer->nGaps; ++k)
    live &= time < buffer->gaps[k].lower || buffer->gaps[k].upper <= time;
  return live;
}

static bool conflict(const ShardPlacementBuffer *a, const ShardPlacementBuffer *b) {
  for (int64_t time = a->lower; time < a->upper; ++time)
    if (isLive(a, time) && isLive(b, time))
      return true;
  return false;
}

/// The least height of items [nDone, n) on top of those done, each as low as those done let it lie;
/// some order of the items gives the least height of all.
static int64_t leastHeight(int64_t n, ShardPlacementBuffer *buffers, int64_t *offsets,
                           int64_t nDone, int64_t height, int64_t least) {
  if (nDone == n || height >= least)
    return height < least ? height : least;
  for (int64_t k = nDone; k < n; ++k) {
    ShardPlacementBuffer buffer = buffers[k];
    buffers[k] = buffers[nDone];
    buffers[nDone] = buffer;
    int64_t offset = 0;
    for (int64_t i = 0; i < nDone; ++i)
      if (conflict(&buffers[i], &buffer) && buffers[i].sizeBytes &&
          offsets[i] + buffers[i].sizeBytes > offset)
        offset = offsets[i] + buffers[i].sizeBytes;
    while (buffer.alignment > 1 && offset % buffer.alignment)
      ++offset;
    offsets[nDone] = offset;
    int64_t top = buffer.sizeBytes ? offset + buffer.sizeBytes : 0;
    least = leastHeight(n, buffers, offsets, nDone + 1, top > height ? top : height, least);
    buffers[nDone] = buffers[k];
    buffers[k] = buffer;
  }
  return least;
}

static bool isRight(int64_t n, const ShardPlacementBuffer *buffers, const int64_t *offsets,
                    const ShardPlacementResult *result) {
  SweepResult sweep = sweepPlacement(n, buffers, offsets);
  return !sweep.fault && sweep.height == result->heightBytes &&
         sweep.maxLive == result->maxLiveBytes && result->boundBytes >= sweep.maxLive &&
         result->boundBytes <= result->heightBytes;
}

static void testSmall(void) {
  ShardPlacementBuffer buffers[MAX_SMALL], copy[MAX_SMALL];
  int64_t offsets[MAX_SMALL], n = 1 + drawBelow(MAX_SMALL);
  ShardPlacementGap gaps[MAX_SMALL * MAX_GAPS];
  drawBuffers(n, drawBelow(2), drawBelow(2) ? gaps : NULL, buffers);
  memcpy(copy, buffers, sizeof copy);
  int64_t least = leastHeight(n, copy, offsets, 0, 0, INT64_MAX);
  ShardPlacementResult result;
  ShardPlacementOptions options = {0};
  if (!shardPlacementSolve(n, buffers, NULL, offsets, &result, NULL, NULL))
    fail("refused", n, buffers);
  else if (!isRight(n, buffers, offsets, &result))
    fail("not a placement", n, buffers);
  else if (result.verdict != SHARD_PLACEMENT_OPTIMAL || result.heightBytes != least)
    fail("not the least height", n, buffers);
  for (int64_t less = 0; less < 2 && least > less; ++less) {
    options.capacityBytes = least - less;
    options.stopAtCapacity = true;
    shardPlacementSolve(n, buffers, &options, offsets, &result, NULL, NULL);
    bool isFeasible =
        result.verdict == SHARD_PLACEMENT_OPTIMAL || result.verdict == SHARD_PLACEMENT_FEASIBLE;
    if (less ? result.verdict != SHARD_PLACEMENT_INFEASIBLE
             : !isFeasible || result.heightBytes != least || !isRight(n, buffers, offsets, &result))
      fail(less ? "a byte less than the least is not infeasible" : "the least is not feasible", n,
           buffers);
  }
}

//===----------------------------------------------------------------------===//
// Large ones
//===----------------------------------------------------------------------===//

static void solveLarge(int64_t n, const ShardPlacementBuffer *buffers, ShardPlacementResult *out) {
  int64_t offsets[MAX_LARGE];
  ShardPlacementOptions options = {.maxEffort = 20000};
  if (!shardPlacementSolve(n, buffers, &options, offsets, out, NULL, NULL))
    fail("refused", n, buffers);
  else if (!isRight(n, buffers, offsets, out))
    fail("not a placement", n, buffers);
}

static void testLarge(void) {
  static ShardPlacementBuffer buffers[MAX_LARGE], other[MAX_LARGE];
  int64_t n = 20 + drawBelow(MAX_LARGE - 20), factor = 1 + drawBelow(1000), end = drawBelow(1000);
  static ShardPlacementGap gaps[MAX_LARGE * MAX_GAPS], otherGaps[MAX_LARGE * MAX_GAPS];
  drawBuffers(n, drawBelow(3) == 0, drawBelow(2) ? gaps : NULL, buffers);
  for (int64_t i = 0; i < n; ++i)
    buffers[i].sizeBytes *= 1 + drawBelow(50);
  ShardPlacementResult result, otherResult;
  solveLarge(n, buffers, &result);
  for (int64_t i = 0; i < n; ++i) { // shuffled, mirrored, scaled
    int64_t at = drawBelow(i + 1);
    ShardPlacementGap *mirrored = otherGaps + i * MAX_GAPS;
    for (int64_t k = 0; k < buffers[i].nGaps; ++k) {
      const ShardPlacementGap *gap = &buffers[i].gaps[buffers[i].nGaps - 1 - k];
      mirrored[k] = (ShardPlacementGap){end - gap->upper, end - gap->lower};
    }
    other[i] = other[at];
    other[at] = (ShardPlacementBuffer){
        .lower = end - buffers[i].upper,
        .upper = end - buffers[i].lower,
        .sizeBytes = buffers[i].sizeBytes * factor,
        .alignment = buffers[i].alignment > 1 ? buffers[i].alignment * factor : 0,
        .nGaps = buffers[i].nGaps,
        .gaps = mirrored};
  }
  solveLarge(n, other, &otherResult);
  if (otherResult.verdict != result.verdict || otherResult.nNodes != result.nNodes ||
      otherResult.heightBytes != result.heightBytes * factor ||
      otherResult.boundBytes != result.boundBytes * factor)
    fail("another result when permuted, mirrored and scaled", n, buffers);
}

int main(int argc, char **argv) {
  uint64_t seed = 1;
  int64_t nSmall = 1000, nLarge = 20;
  for (int i = 1; i < argc; ++i)
    if (sscanf(argv[i], "--seed=%" SCNu64, &seed) != 1 &&
        sscanf(argv[i], "--small=%" SCNd64, &nSmall) != 1 &&
        sscanf(argv[i], "--large=%" SCNd64, &nLarge) != 1) {
      fprintf(stderr, "usage: shard-placement-random [--seed=N] [--small=N] [--large=N]\n");
      return 1;
    }
  randomState = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
  for (int64_t k = 0; k < nSmall && nFailures < 5; ++k)
    testSmall();
  for (int64_t k = 0; k < nLarge && nFailures < 5; ++k)
    testLarge();
  printf("%" PRId64 " small problems against a brute force, %" PRId64
         " large ones in another form, "
         "%d failures\n",
         nSmall, nLarge, nFailures);
  return nFailures != 0;
}
