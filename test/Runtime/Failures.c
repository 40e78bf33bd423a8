//===- Failures.c - A rank that fails stops the others ------------*- C -*-===//
// Each case runs ranks that fail in one way, and checks that every rank comes back, with which
// status, and the one message of the world. Nothing here may take longer than a few seconds.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "Failures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const ShardProgramSite sites[nSites] = {
    {.site = 0, .kind = "all-reduce", .location = "model.mlir:10:3", .cause = "sum"},
    {.site = 1, .kind = "all-gather", .location = "model.mlir:11:5", .cause = "result"},
    {.site = 2, .kind = "send", .location = "model.mlir:12:7", .cause = "stage"},
    {.site = 3, .kind = "permute", .location = "model.mlir:13:9", .cause = "halo"},
};

bool isolated;
static int nChecks, nFailures;

void check(bool good, const char *name) {
  ++nChecks;
  if (good)
    return;
  printf("FAIL: %s\n", name);
  ++nFailures;
}

void sleepMs(long ms) {
  struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

void awaitFailure(ShardRtContext *context) {
  ShardRtWorld *world = shardRtCommGetWorld(shardRtContextGetComm(context));
  for (int i = 0; i < 20000 && shardRtWorldGetStatus(world) == SHARD_RT_OK; ++i)
    sleepMs(1);
}

void expect(const char *name, int32_t nAxes, const int64_t *axes, int64_t timeoutNs,
            ShardRtRankBody body, ShardRtStatus status, const char *text, const char *other) {
  ShardRtWorld *world;
  ShardRtWorldOptions options = {.timeoutNs = timeoutNs, .isolated = isolated};
  if (shardRtWorldCreate(nAxes, axes, &options, &world) != SHARD_RT_OK) {
    printf("FAIL: %s: no world\n", name);
    ++nFailures;
    return;
  }
  ++nChecks;
  Run *run = shardRtWorldAllocate(world, sizeof(*run));
  ShardRtStatus got = shardRtWorldRunRanks(world, nSites, sites, body, run, NULL);
  const char *error = shardRtWorldGetError(world);
  bool same = !strcmp(error, text) || (other && !strcmp(error, other));
  int32_t failedRank = shardRtWorldGetFailedRank(world);
  if (same && !strncmp(error, "rank ", 5) && atoi(error + 5) != failedRank)
    same = false;
  if (got != status || !same || shardRtWorldGetStatus(world) != status) {
    printf("FAIL: %s: status %d, failed rank %d, \"%s\"\n", name, got, failedRank, error);
    printf("      expected %d, \"%s\"\n", status, text);
    ++nFailures;
  }
  // Peers are told that they lost one.
  for (int32_t rank = 0; rank < shardRtWorldGetSize(world); ++rank) {
    int mine = run->statuses[rank];
    if (mine != SHARD_RT_OK && mine != (rank == failedRank ? (int)status : SHARD_RT_PEER_LOST)) {
      printf("FAIL: %s: rank %d got status %d\n", name, rank, mine);
      ++nFailures;
    }
  }
  // A failed world refuses.
  if (shardRtWorldRunRanks(world, 0, NULL, body, run, NULL) != status) {
    printf("FAIL: %s: a failed world runs again\n", name);
    ++nFailures;
  }
  shardRtWorldRelease(world, run);
  shardRtWorldDestroy(world);
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

float in[8][64], out[8][512];

int invoke(ShardRtContext *context, void *userData, ShardRtProgramBody body) {
  Run *run = userData;
  int32_t rank = shardRtContextGetRank(context);
  void *args[] = {in[rank]}, *results[] = {out[rank]};
  int status = shardRtInvoke(context, body, NULL, args, results, NULL);
  run->statuses[rank] = status;
  return status;
}

#define PROGRAM(NAME)                                                                              \
  static int NAME##Program(ShardRtContext *context, const int64_t *dims, void *const *args,        \
                           void *const *results, void *workspace);                                 \
  static int NAME(ShardRtContext *context, void *userData) {                                       \
    return invoke(context, userData, NAME##Program);                                               \
  }                                                                                                \
  static int NAME##Program(ShardRtContext *context, const int64_t *dims, void *const *args,        \
                           void *const *results, void *workspace)

void allReduce(ShardRtContext *context, int32_t site, int32_t mask, void *const *args,
               void *const *results, int64_t count) {
  shardRtCallAllReduce(context, site, mask, args[0], results[0], count, SHARD_RT_F32, SHARD_RT_SUM);
}

static int assertingProgram(ShardRtContext *context, const int64_t *dims, void *const *args,
                            void *const *results, void *workspace) {
  UNUSED;
  allReduce(context, 0, 1, args, results, 16);
  if (RANK == 2)
    shardRtAssertFailed(context, "index 99 is not below 64", "model.mlir:4:5");
  allReduce(context, 0, 1, args, results, 16);
  return SHARD_RT_OK;
}

int asserting(ShardRtContext *context, void *userData) {
  return invoke(context, userData, assertingProgram);
}

PROGRAM(otherKind) {
  UNUSED;
  if (RANK == 0)
    allReduce(context, 0, 1, args, results, 16);
  else
    shardRtCallAllGather(context, 1, 1, args[0], results[0], 2, 8, SHARD_RT_F32);
  return SHARD_RT_OK;
}

PROGRAM(otherCount) {
  UNUSED;
  allReduce(context, 0, 1, args, results, RANK == 1 ? 15 : 16);
  return SHARD_RT_OK;
}

PROGRAM(otherSite) {
  UNUSED;
  allReduce(context, RANK == 1 ? 3 : 0, 1, args, results, 16);
  return SHARD_RT_OK;
}

PROGRAM(oneCallLess) {
  UNUSED;
  for (int i = 0; i < (RANK == 1 ? 2 : 3); ++i)
    allReduce(context, 0, 1, args, results, 16);
  return SHARD_RT_OK;
}

PROGRAM(crossed) { // mesh 2x2: ranks 0, 3 reduce along one axis, 1, 2 along the other
  UNUSED;
  allReduce(context, 0, RANK == 0 || RANK == 3 ? 1 : 2, args, results, 16);
  return SHARD_RT_OK;
}

PROGRAM(unsent) {
  UNUSED;
  shardRtCallReceive(context, 2, 4, 1 - RANK, results[0], 16, SHARD_RT_F32);
  return SHARD_RT_OK;
}

PROGRAM(otherMessage) {
  UNUSED;
  if (RANK == 0)
    shardRtCallSend(context, 2, 4, 1, args[0], 16, SHARD_RT_F32);
  else
    shardRtCallReceive(context, 2, 4, 0, results[0], 16, SHARD_RT_I32);
  return SHARD_RT_OK;
}

PROGRAM(negative) {
  UNUSED;
  allReduce(context, 0, 1, args, results, RANK == 1 ? -3 : 16);
  return SHARD_RT_OK;
}

PROGRAM(noAxis) {
  UNUSED;
  if (RANK == 1)
    shardRtCoordinate(context, 1);
  allReduce(context, 0, 1, args, results, 16);
  return SHARD_RT_OK;
}

PROGRAM(returning) {
  UNUSED;
  if (RANK == 1)
    return SHARD_RT_OUT_OF_MEMORY;
  allReduce(context, 0, 1, args, results, 16);
  return SHARD_RT_OK;
}

PROGRAM(late) {
  UNUSED;
  if (RANK == 1)
    awaitFailure(context);
  allReduce(context, 0, 1, args, results, 16);
  return SHARD_RT_OK;
}

PROGRAM(lateMessage) {
  UNUSED;
  if (RANK == 0) {
    shardRtCallReceive(context, 2, 4, 1, results[0], 16, SHARD_RT_F32);
    return SHARD_RT_OK;
  }
  awaitFailure(context);
  shardRtCallSend(context, 2, 4, 0, args[0], 16, SHARD_RT_F32);
  return SHARD_RT_OK;
}

static int aborting(ShardRtContext *context, void *userData) {
  Run *run = userData;
  int32_t rank = shardRtContextGetRank(context);
  ShardRtComm *comm = shardRtContextGetComm(context);
  ShardRtRequest request;
  ShardRtStatus status = SHARD_RT_OK;
  if (rank == 1) {
    status =
        shardRtAllReduceStart(comm, 1, 0, in[1], out[1], 16, SHARD_RT_F32, SHARD_RT_SUM, &request);
    shardRtAbort(comm, &request);
    memset(out[1], 0, sizeof(out[1])); // the buffers are this rank's again
    return SHARD_RT_OK;
  }
  status = shardRtAllReduce(comm, 1, 0, in[rank], out[rank], 16, SHARD_RT_F32, SHARD_RT_SUM);
  run->statuses[rank] = status;
  return status;
}

static int leaving(ShardRtContext *context, void *userData) {
  (void)userData;
  int32_t rank = shardRtContextGetRank(context);
  ShardRtComm *comm = shardRtContextGetComm(context);
  ShardRtRequest request;
  if (rank == 1) // ends with a receive in flight
    return shardRtReceiveStart(comm, 2, 4, 0, out[1], 16, SHARD_RT_F32, &request);
  sleepMs(50);
  return SHARD_RT_OK;
}

static int stopping(ShardRtContext *context, void *userData) {
  (void)userData;
  if (shardRtContextGetRank(context) == 1)
    return 77;
  shardRtBarrier(shardRtContextGetComm(context), 1, -1);
  return SHARD_RT_OK;
}

int main(int argc, char **argv) {
  isolated = argc > 2 && !strcmp(argv[2], "isolated");
  int64_t two[] = {2}, three[] = {3}, square[] = {2, 2};
  expect("assertion", 1, three, 0, asserting, SHARD_RT_PROGRAM_FAILED,
         "rank 2: assertion failed: index 99 is not below 64, at model.mlir:4:5; its last "
         "collective was all-reduce of model.mlir:10:3 (site 0, call 1)",
         NULL);
  expect("other kind", 1, two, 0, otherKind, SHARD_RT_MISMATCH,
         "rank 1: all-gather of model.mlir:11:5 (site 1, call 1) [2 x 8 f32] does not match rank "
         "0's all-reduce of model.mlir:10:3 (site 0, call 1) [16 f32, sum]",
         "rank 0: all-reduce of model.mlir:10:3 (site 0, call 1) [16 f32, sum] does not match rank "
         "1's all-gather of model.mlir:11:5 (site 1, call 1) [2 x 8 f32]");
  expect("other count", 1, two, 0, otherCount, SHARD_RT_MISMATCH,
         "rank 1: all-reduce of model.mlir:10:3 (site 0, call 1) [15 f32, sum] does not match rank "
         "0's all-reduce of model.mlir:10:3 (site 0, call 1) [16 f32, sum]",
         "rank 0: all-reduce of model.mlir:10:3 (site 0, call 1) [16 f32, sum] does not match rank "
         "1's all-reduce of model.mlir:10:3 (site 0, call 1) [15 f32, sum]");
  expect("other site", 1, two, 0, otherSite, SHARD_RT_MISMATCH,
         "rank 1: all-reduce of model.mlir:13:9 (site 3, call 1) [16 f32, sum] does not match rank "
         "0's all-reduce of model.mlir:10:3 (site 0, call 1) [16 f32, sum]",
         "rank 0: all-reduce of model.mlir:10:3 (site 0, call 1) [16 f32, sum] does not match rank "
         "1's all-reduce of model.mlir:13:9 (site 3, call 1) [16 f32, sum]");
  expect("one call less", 1, three, 0, oneCallLess, SHARD_RT_MISMATCH,
         "rank 0: all-reduce of model.mlir:10:3 (site 0, call 3) waits for rank 1, which has ended",
         NULL);
  expect("crossed groups", 2, square, 0, crossed, SHARD_RT_MISMATCH,
         "rank 0: all-reduce of model.mlir:10:3 (site 0, call 1) waits for rank 2, which waits for "
         "rank 3 in all-reduce of model.mlir:10:3 (site 0, call 1)",
         NULL);
  expect("nothing sent", 1, two, 0, unsent, SHARD_RT_MISMATCH,
         "rank 0: receive of model.mlir:12:7 (site 2, call 1) waits for rank 1, which waits for "
         "rank 0 in receive of model.mlir:12:7 (site 2, call 1)",
         NULL);
  expect("other message", 1, two, 0, otherMessage, SHARD_RT_MISMATCH,
         "rank 1: receive of model.mlir:12:7 (site 2, call 1) [16 i32] does not match rank 0's "
         "send of model.mlir:12:7 (site 2, call 1) [16 f32]",
         "rank 0: send of model.mlir:12:7 (site 2, call 1) [16 f32] does not match rank 1's "
         "receive of model.mlir:12:7 (site 2, call 1) [16 i32]");
  expect("negative count", 1, two, 0, negative, SHARD_RT_INVALID_ARGUMENT,
         "rank 1: invalid argument in all-reduce of model.mlir:10:3 (site 0): 1 x -3 elements",
         NULL);
  expect("no such axis", 1, two, 0, noAxis, SHARD_RT_INVALID_ARGUMENT,
         "rank 1: coordinate on axis 1 of a mesh of 1 axes", NULL);
  expect("status returned", 1, two, 0, returning, SHARD_RT_OUT_OF_MEMORY,
         "rank 1: the program returned status 2", NULL);
  expect("time-out", 1, two, 50000000, late, SHARD_RT_TIMED_OUT,
         "rank 0: all-reduce of model.mlir:10:3 (site 0, call 1) waited 0.05 s for rank 1", NULL);
  expect("time-out of a receive", 1, two, 50000000, lateMessage, SHARD_RT_TIMED_OUT,
         "rank 0: receive of model.mlir:12:7 (site 2, call 1) waited 0.05 s for rank 1", NULL);
  expect("request aborted", 1, three, 0, aborting, SHARD_RT_PEER_LOST,
         "rank 1: aborted all-reduce of model.mlir:10:3 (site 0, call 1)", NULL);
  expect("ended in flight", 1, two, 0, leaving, SHARD_RT_PEER_LOST,
         "rank 1: gave up receive of model.mlir:12:7 (site 2, call 1)", NULL);
  expect("body stopped", 1, two, 0, stopping, (ShardRtStatus)77, "rank 1: stopped with status 77",
         NULL);
  if (isolated) {
    checkProcesses(argc > 1 ? atoi(argv[1]) : 50);
  } else {
    checkThreads();
  }
  checkStorm(argc > 1 ? atoi(argv[1]) : 50);
  printf("%d checks, %d failures\n", nChecks, nFailures);
  return nFailures != 0;
}
