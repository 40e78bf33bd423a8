//===- Calls.c - The public call of the placement solver ----------*- C -*-===//
// Wrong arguments, each with its message; placements that can be told by hand; limits.
//===----------------------------------------------------------------------===//

#include "Sweep.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int nFailures;

static void expect(bool holds, const char *what) {
  if (holds)
    return;
  printf("FAIL: %s\n", what);
  ++nFailures;
}

static void expectRefused(int64_t n, const ShardPlacementBuffer *buffers,
                          const ShardPlacementOptions *options, int64_t which,
                          const char *message) {
  int64_t offsets[4], saidWhich = -2;
  const char *said = NULL;
  ShardPlacementResult result;
  bool solved = shardPlacementSolve(n, buffers, options, offsets, &result, &said, &saidWhich);
  expect(!solved && said && !strcmp(said, message) && saidWhich == which, message);
  expect(!shardPlacementSolve(n, buffers, options, offsets, &result, NULL, NULL),
         "refused without a place for the message");
}

static void testRefusals(void) {
  const ShardPlacementBuffer good = {0, 2, 5, 0, 0, NULL}, empty = {3, 3, 5, 0, 0, NULL},
                             back = {3, 2, 5, 0, 0, NULL}, negative = {0, 1, -1, 0, 0, NULL},
                             unaligned = {0, 1, 1, -8, 0, NULL},
                             half = {0, 1, INT64_MAX / 8 + 1, 0, 0, NULL},
                             huge = {0, 1, INT64_MAX, 0, 0, NULL},
                             farAligned = {0, 1, 1, INT64_MAX, 0, NULL};
  ShardPlacementBuffer two[2] = {good, empty};
  expectRefused(2, two, NULL, 1, "a lifetime does not end after it begins");
  two[1] = back;
  expectRefused(2, two, NULL, 1, "a lifetime does not end after it begins");
  const ShardPlacementGap gaps[] = {{0, 1}, {4, 5}, {2, 2}, {1, 2}, {2, 3}};
  for (int k = 0; k < 4; ++k) { // at the begin, at the end, empty, two that touch
    two[1] = (ShardPlacementBuffer){0, 5, 1, 0, k == 3 ? 2 : 1, gaps + k};
    expectRefused(2, two, NULL, 1, "gaps are not in order, apart, within the lifetime");
  }
  two[1] = (ShardPlacementBuffer){0, 5, 1, 0, -1, gaps};
  expectRefused(2, two, NULL, 1, "gaps are not in order, apart, within the lifetime");
  two[1] = negative;
  expectRefused(2, two, NULL, 1, "a size is negative");
  two[1] = unaligned;
  expectRefused(2, two, NULL, 1, "an alignment is negative");
  two[1] = huge;
  expectRefused(2, two, NULL, 1, "the sizes add up to more than can be counted");
  two[1] = farAligned;
  expectRefused(2, two, NULL, 1, "the sizes add up to more than can be counted");
  two[0] = two[1] = half;
  expectRefused(2, two, NULL, 1, "the sizes add up to more than can be counted");
  expectRefused(-1, two, NULL, -1, "too many buffers, or a negative number of them");
  expectRefused(INT64_C(1) << 32, two, NULL, -1, "too many buffers, or a negative number of them");
  const ShardPlacementOptions negativeLimits[] = {{.capacityBytes = -1}, {.timeLimitMs = -1}};
  two[0] = two[1] = good;
  for (int k = 0; k < 2; ++k)
    expectRefused(2, two, &negativeLimits[k], -1, "a limit is negative");
}

static ShardPlacementResult solve(int64_t n, const ShardPlacementBuffer *buffers,
                                  const ShardPlacementOptions *options, const char *what) {
  int64_t offsets[64];
  ShardPlacementResult result = {0};
  expect(shardPlacementSolve(n, buffers, options, offsets, &result, NULL, NULL), what);
  SweepResult sweep = sweepPlacement(n, buffers, offsets);
  expect(!sweep.fault && sweep.height == result.heightBytes, what);
  return result;
}

static void expectResult(int64_t n, const ShardPlacementBuffer *buffers, int64_t capacity,
                         ShardPlacementVerdict verdict, int64_t height, int64_t bound,
                         const char *what) {
  const ShardPlacementOptions options = {.capacityBytes = capacity};
  ShardPlacementResult result = solve(n, buffers, &options, what);
  if (result.verdict != verdict || result.heightBytes != height || result.boundBytes != bound)
    printf("%s: verdict %d, height %" PRId64 ", bound %" PRId64 "\n", what, (int)result.verdict,
           result.heightBytes, result.boundBytes);
  expect(result.verdict == verdict && result.heightBytes == height && result.boundBytes == bound,
         what);
}

static void expectInfeasible(int64_t n, const ShardPlacementBuffer *buffers, int64_t capacity,
                             int64_t bound, const char *what) {
  const ShardPlacementOptions options = {.capacityBytes = capacity};
  ShardPlacementResult result = solve(n, buffers, &options, what);
  expect(result.verdict == SHARD_PLACEMENT_INFEASIBLE && result.boundBytes == bound, what);
}

static void testByHand(void) {
  expectResult(0, NULL, 0, SHARD_PLACEMENT_OPTIMAL, 0, 0, "no buffers");
  const ShardPlacementBuffer nothing[] = {{0, 4, 0, 0, 0, NULL}, {1, 2, 0, 64, 0, NULL}};
  expectResult(2, nothing, 1, SHARD_PLACEMENT_OPTIMAL, 0, 0, "buffers without bytes");
  const ShardPlacementBuffer meeting[] = {{0, 2, 7, 0, 0, NULL}, {2, 4, 9, 0, 0, NULL}};
  expectResult(2, meeting, 0, SHARD_PLACEMENT_OPTIMAL, 9, 9, "lifetimes that meet do not conflict");
  const ShardPlacementBuffer far[] = {{INT64_MIN, INT64_MAX, 3, 0, 0, NULL}, {0, 1, 4, 0, 0, NULL}};
  expectResult(2, far, 0, SHARD_PLACEMENT_OPTIMAL, 7, 7, "the longest lifetime");
  const ShardPlacementBuffer large[] = {{0, 2, INT64_MAX / 16, 0, 0, NULL},
                                        {1, 3, INT64_MAX / 16, 0, 0, NULL}};
  expectResult(2, large, 0, SHARD_PLACEMENT_OPTIMAL, INT64_MAX / 16 * 2, INT64_MAX / 16 * 2,
               "sizes near the limit");
  // 3 bytes, then 1 at a multiple of 4: one of the two orders wastes a byte.
  const ShardPlacementBuffer aligned[] = {{0, 2, 3, 1, 0, NULL}, {0, 2, 1, 4, 0, NULL}};
  expectResult(2, aligned, 0, SHARD_PLACEMENT_OPTIMAL, 4, 4, "aligned");
  const ShardPlacementBuffer padded[] = {{0, 2, 3, 4, 0, NULL}, {0, 2, 5, 4, 0, NULL}};
  expectResult(2, padded, 0, SHARD_PLACEMENT_OPTIMAL, 9, 9, "an end that alignment forces");
  expectInfeasible(2, padded, 8, 9, "max live fits, no placement does");
  expectInfeasible(2, meeting, 8, 9, "less than the max live");
  // Found among random ones by the brute force of Random.c.
  const ShardPlacementBuffer crossing[] = {
      {5, 7, 4, 0, 0, NULL}, {2, 4, 2, 0, 0, NULL}, {2, 5, 2, 0, 0, NULL}, {1, 3, 3, 0, 0, NULL},
      {1, 2, 3, 0, 0, NULL}, {4, 7, 3, 0, 0, NULL}, {3, 5, 2, 0, 0, NULL}};
  expectResult(7, crossing, 0, SHARD_PLACEMENT_OPTIMAL, 8, 8, "higher than the max live of 7");
  expectInfeasible(7, crossing, 7, 8, "the max live of 7");
}

static void testLimits(void) {
  ShardPlacementBuffer buffers[64];
  for (int64_t i = 0; i < 64; ++i)
    buffers[i] =
        (ShardPlacementBuffer){i * 7 % 31, i * 7 % 31 + 3 + i % 11, 1 + i * 13 % 29, 0, 0, NULL};
  ShardPlacementResult best = solve(64, buffers, NULL, "the default");
  ShardPlacementOptions options = {.maxEffort = -1};
  ShardPlacementResult fits = solve(64, buffers, &options, "no search");
  expect(fits.nNodes == 0 && fits.heightBytes >= best.heightBytes, "no search");
  options = (ShardPlacementOptions){.timeLimitMs = 1, .maxEffort = INT64_MAX};
  ShardPlacementResult early = solve(64, buffers, &options, "a time limit");
  expect(early.heightBytes >= early.boundBytes, "a time limit");
  options = (ShardPlacementOptions){.capacityBytes = fits.heightBytes, .stopAtCapacity = true};
  ShardPlacementResult enough = solve(64, buffers, &options, "enough");
  expect(enough.verdict <= SHARD_PLACEMENT_FEASIBLE && enough.nNodes == 0, "enough");
  options = (ShardPlacementOptions){.capacityBytes = best.boundBytes - 1};
  expect(solve(64, buffers, &options, "too little").verdict == SHARD_PLACEMENT_INFEASIBLE,
         "too little");
}

int main(void) {
  testRefusals();
  testByHand();
  testLimits();
  printf("%d failures\n", nFailures);
  return nFailures != 0;
}
