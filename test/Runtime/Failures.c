//===- Failures.c - A rank that fails stops the others ------------*- C -*-===//
// Each case runs ranks that fail in one way, and checks that every rank comes back, with which
// status, and the one message of the world. Nothing here may take longer than a few seconds.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "shard/Program.h"
#include "shard/Runtime.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const ShardProgramSite sites[] = {
    {.site = 0, .kind = "all-reduce", .location = "model.mlir:10:3", .cause = "sum"},
    {.site = 1, .kind = "all-gather", .location = "model.mlir:11:5", .cause = "result"},
    {.site = 2, .kind = "send", .location = "model.mlir:12:7", .cause = "stage"},
    {.site = 3, .kind = "permute", .location = "model.mlir:13:9", .cause = "halo"},
};
enum { nSites = sizeof(sites) / sizeof(sites[0]) };

static int nFailures;
static bool isolated; // ranks are processes

static void sleepMs(long ms) {
  struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

/// Stays outside of the runtime until another rank has failed, for at most 20 s.
static void awaitFailure(ShardRtContext *context) {
  ShardRtWorld *world = shardRtCommGetWorld(shardRtContextGetComm(context));
  for (int i = 0; i < 20000 && shardRtWorldGetStatus(world) == SHARD_RT_OK; ++i)
    sleepMs(1);
}

typedef struct Run {
  atomic_int statuses[8]; // what shardRtInvoke or the body gave on each rank
} Run;

/// Runs the body on a world, and compares status, failed rank and message. `other`: NULL, or the
/// text if another rank comes first.
static void expect(const char *name, int32_t nAxes, const int64_t *axes, int64_t timeoutNs,
                   ShardRtRankBody body, ShardRtStatus status, const char *text,
                   const char *other) {
  ShardRtWorld *world;
  ShardRtWorldOptions options = {.timeoutNs = timeoutNs, .isolated = isolated};
  if (shardRtWorldCreate(nAxes, axes, &options, &world) != SHARD_RT_OK) {
    printf("FAIL: %s: no world\n", name);
    ++nFailures;
    return;
  }
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
  // A failed world refuses; after a reset it works.
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

static float in[8][64], out[8][512];

/// Runs one program body and returns what RunRanks shall see: OK, since the world has its message.
static int invoke(ShardRtContext *context, void *userData, ShardRtProgramBody body) {
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
#define UNUSED ((void)dims, (void)args, (void)results, (void)workspace)
#define RANK shardRtContextGetRank(context)

static void allReduce(ShardRtContext *context, int32_t site, int32_t mask, void *const *args,
                      void *const *results, int64_t count) {
  shardRtCallAllReduce(context, site, mask, args[0], results[0], count, SHARD_RT_F32, SHARD_RT_SUM);
}

PROGRAM(asserting) {
  UNUSED;
  allReduce(context, 0, 1, args, results, 16);
  if (RANK == 2)
    shardRtAssertFailed(context, "index 99 is not below 64", "model.mlir:4:5");
  allReduce(context, 0, 1, args, results, 16);
  return SHARD_RT_OK;
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

//===----------------------------------------------------------------------===//
// Cases of their own
//===----------------------------------------------------------------------===//

static void check(bool good, const char *name) {
  if (good)
    return;
  printf("FAIL: %s\n", name);
  ++nFailures;
}

static int goodBody(ShardRtContext *context, void *userData) {
  (void)userData;
  int32_t rank = shardRtContextGetRank(context);
  in[rank][0] = (float)rank + 1;
  ShardRtStatus status = shardRtAllReduce(shardRtContextGetComm(context), 1, 0, in[rank], out[rank],
                                          1, SHARD_RT_F32, SHARD_RT_SUM);
  return status == SHARD_RT_OK && out[rank][0] != 6 ? 99 : (int)status;
}

static void checkReset(void) {
  int64_t axes[] = {3};
  ShardRtWorld *world;
  Run run;
  memset(&run, 0, sizeof(run));
  check(shardRtWorldCreate(1, axes, NULL, &world) == SHARD_RT_OK, "reset: no world");
  for (int i = 0; i < 50; ++i) {
    check(shardRtWorldRunRanks(world, nSites, sites, asserting, &run, NULL) ==
              SHARD_RT_PROGRAM_FAILED,
          "reset: the program fails");
    shardRtWorldReset(world);
    check(shardRtWorldGetStatus(world) == SHARD_RT_OK && !*shardRtWorldGetError(world) &&
              shardRtWorldGetFailedRank(world) == -1,
          "reset: clears the failure");
    check(shardRtWorldRunRanks(world, nSites, sites, goodBody, &run, NULL) == SHARD_RT_OK,
          "reset: works again");
  }
  shardRtWorldDestroy(world);
}

static void *abortSoon(void *world) {
  sleepMs(50);
  shardRtWorldAbort(world, "cancelled by the user");
  return NULL;
}

static int waiting(ShardRtContext *context, void *userData) {
  (void)userData;
  if (shardRtContextGetRank(context) == 1)
    awaitFailure(context);
  return shardRtBarrier(shardRtContextGetComm(context), 1, -1);
}

static void checkAbort(void) {
  int64_t axes[] = {2};
  ShardRtWorld *world;
  Run run;
  memset(&run, 0, sizeof(run));
  pthread_t aborter;
  check(shardRtWorldCreate(1, axes, NULL, &world) == SHARD_RT_OK, "abort: no world");
  pthread_create(&aborter, NULL, abortSoon, world);
  check(shardRtWorldRunRanks(world, 0, NULL, waiting, &run, NULL) == SHARD_RT_PEER_LOST,
        "abort: status");
  pthread_join(aborter, NULL);
  check(!strcmp(shardRtWorldGetError(world), "cancelled by the user"), "abort: text");
  check(shardRtWorldGetFailedRank(world) == -1, "abort: no rank failed");
  shardRtWorldDestroy(world);
}

static void checkArguments(void) {
  int64_t good[] = {2, 3}, zero[] = {2, 0}, huge[] = {65536, 65536}, negative[] = {-1};
  ShardRtWorld *world;
  ShardRtWorldOptions unknown = {.backend = "carrier-pigeon"}, local = {.backend = "local"};
  check(shardRtWorldCreate(2, zero, NULL, &world) == SHARD_RT_INVALID_ARGUMENT, "axis of 0");
  check(shardRtWorldCreate(2, huge, NULL, &world) == SHARD_RT_INVALID_ARGUMENT, "2^32 ranks");
  check(shardRtWorldCreate(1, negative, NULL, &world) == SHARD_RT_INVALID_ARGUMENT, "axis of -1");
  check(shardRtWorldCreate(31, good, NULL, &world) == SHARD_RT_INVALID_ARGUMENT, "31 axes");
  check(shardRtWorldCreate(2, NULL, NULL, &world) == SHARD_RT_INVALID_ARGUMENT, "no sizes");
  check(shardRtWorldCreate(2, good, &unknown, &world) == SHARD_RT_INVALID_ARGUMENT, "backend");
  check(shardRtWorldCreate(2, good, &local, &world) == SHARD_RT_OK, "backend local");
  ShardRtComm *comm, *again;
  check(shardRtWorldGetSize(world) == 6, "6 ranks");
  check(shardRtCommCreate(world, 6, &comm) == SHARD_RT_INVALID_ARGUMENT, "rank 6 of 6");
  check(shardRtCommCreate(world, 5, &comm) == SHARD_RT_OK, "rank 5 of 6");
  check(shardRtCommCreate(world, 5, &again) == SHARD_RT_INVALID_ARGUMENT, "rank 5 twice");
  check(shardRtCommGetGroupSize(comm, 2) == 3 && shardRtCommGetGroupIndex(comm, 2) == 2 &&
            shardRtCommGetGroupSize(comm, 1) == 2 && shardRtCommGetGroupIndex(comm, 1) == 1 &&
            shardRtCommGetGroupSize(comm, 3) == 6 && shardRtCommGetGroupIndex(comm, 3) == 5,
        "groups of rank 5");
  shardRtCommDestroy(comm);
  check(shardRtCommCreate(world, 5, &comm) == SHARD_RT_OK, "rank 5 given back");
  shardRtCommDestroy(comm);
  shardRtCommDestroy(NULL);
  shardRtContextDestroy(NULL);
  shardRtWorldDestroy(world);
  shardRtWorldDestroy(NULL);
}

typedef struct OwnThread {
  ShardRtWorld *world;
  int32_t rank;
  bool good;
} OwnThread;

static int ownProgram(ShardRtContext *context, const int64_t *dims, void *const *args,
                      void *const *results, void *workspace) {
  UNUSED;
  allReduce(context, 0, 1, args, results, 1);
  return SHARD_RT_OK;
}

/// An embedder's thread: takes a context, runs some steps, gives it back.
static void *ownThread(void *argument) {
  OwnThread *self = argument;
  ShardRtComm *comm;
  ShardRtContext *context;
  if (shardRtCommCreate(self->world, self->rank, &comm) != SHARD_RT_OK)
    return NULL;
  if (shardRtContextCreate(comm, &context) != SHARD_RT_OK)
    return NULL;
  shardRtCommSetSites(comm, nSites, sites);
  float x = (float)self->rank, y;
  void *args[] = {&x}, *results[] = {&y};
  self->good = true;
  for (int step = 0; step < 100; ++step) {
    y = -1;
    self->good &= shardRtInvoke(context, ownProgram, NULL, args, results, NULL) == SHARD_RT_OK;
    self->good &= y == 6;
  }
  shardRtContextDestroy(context);
  shardRtCommDestroy(comm);
  return NULL;
}

static void checkOwnThreads(void) {
  int64_t axes[] = {4};
  ShardRtWorld *world;
  check(shardRtWorldCreate(1, axes, NULL, &world) == SHARD_RT_OK, "own threads: no world");
  for (int round = 0; round < 3; ++round) {
    OwnThread threads[4];
    pthread_t ids[4];
    for (int32_t rank = 0; rank < 4; ++rank) {
      threads[rank] = (OwnThread){world, rank, false};
      pthread_create(&ids[rank], NULL, ownThread, &threads[rank]);
    }
    for (int32_t rank = 0; rank < 4; ++rank) {
      pthread_join(ids[rank], NULL);
      check(threads[rank].good, "own threads: result");
    }
  }
  check(shardRtWorldGetStatus(world) == SHARD_RT_OK, shardRtWorldGetError(world));
  shardRtWorldDestroy(world);
}

/// Ranks free their buffers at once when they fail, while others may be at work on them: the
/// sanitizers see it if the runtime does not wait.
static int stormProgram(ShardRtContext *context, const int64_t *dims, void *const *args,
                        void *const *results, void *workspace) {
  (void)workspace;
  int64_t count = dims[0], seed = dims[1];
  ShardRtComm *comm = shardRtContextGetComm(context);
  ShardRtRequest ahead, message;
  int32_t rank = RANK;
  shardRtReceiveStart(comm, 2, 9, (rank + 1) % 4, results[1], (size_t)count, SHARD_RT_F32,
                      &message);
  for (int i = 0; i < 3; ++i) {
    shardRtAllGatherStart(comm, 1, 1, args[0], results[0], 1, (size_t)count, SHARD_RT_F32, &ahead);
    if ((seed + i) % 4 == rank && (seed >> 3) % 3 == i)
      shardRtAssertFailed(context, "storm", "model.mlir:1:1");
    if (i == 1)
      shardRtCallSend(context, 2, 9, (rank + 3) % 4, args[0], count, SHARD_RT_F32);
    if (shardRtWait(comm, &ahead) != SHARD_RT_OK)
      return SHARD_RT_PEER_LOST;
  }
  return shardRtWait(comm, &message);
}

static int storm(ShardRtContext *context, void *userData) {
  int64_t dims[] = {100000, *(int *)userData};
  void *args[] = {malloc((size_t)dims[0] * 4)};
  void *results[] = {malloc((size_t)dims[0] * 16), malloc((size_t)dims[0] * 4)};
  memset(args[0], 0, (size_t)dims[0] * 4);
  int status = shardRtInvoke(context, stormProgram, dims, args, results, NULL);
  free(args[0]);
  free(results[0]);
  free(results[1]);
  return status;
}

static void checkStorm(int nRounds) {
  int64_t axes[] = {4};
  ShardRtWorld *world;
  ShardRtWorldOptions options = {.isolated = isolated};
  check(shardRtWorldCreate(1, axes, &options, &world) == SHARD_RT_OK, "storm: no world");
  for (int round = 0; round < nRounds; ++round) {
    check(shardRtWorldRunRanks(world, nSites, sites, storm, &round, NULL) ==
              SHARD_RT_PROGRAM_FAILED,
          "storm: status");
    check(!strncmp(shardRtWorldGetError(world) + 6, ": assertion failed: storm, at model", 35),
          shardRtWorldGetError(world));
    shardRtWorldReset(world);
  }
  shardRtWorldDestroy(world);
}

//===----------------------------------------------------------------------===//
// Processes
//===----------------------------------------------------------------------===//

/// Two all-reduces, between which rank 1 is killed.
static int killed(ShardRtContext *context, void *userData) {
  Run *run = userData;
  ShardRtComm *comm = shardRtContextGetComm(context);
  int32_t rank = shardRtContextGetRank(context);
  float x[16] = {0}, y[16];
  int status = shardRtAllReduce(comm, 1, 0, x, y, 16, SHARD_RT_F32, SHARD_RT_SUM);
  if (status == SHARD_RT_OK && rank == 1)
    raise(SIGKILL);
  if (status == SHARD_RT_OK)
    status = shardRtAllReduce(comm, 1, 0, x, y, 16, SHARD_RT_F32, SHARD_RT_SUM);
  run->statuses[rank] = status;
  return status;
}

/// Dies as a read of nothing would. The signal is raised: UBSan would report the read itself.
static int crashing(ShardRtContext *context, void *userData) {
  (void)userData;
  if (shardRtContextGetRank(context) == 1) {
    signal(SIGSEGV, SIG_DFL); // a sanitizer would exit in its own way
    raise(SIGSEGV);
  }
  float x = 0, y;
  return (int)shardRtAllReduce(shardRtContextGetComm(context), 1, 0, &x, &y, 1, SHARD_RT_F32,
                               SHARD_RT_SUM);
}

static int exiting(ShardRtContext *context, void *userData) {
  (void)userData;
  if (shardRtContextGetRank(context) == 1)
    _exit(7);
  float x = 0, y;
  return (int)shardRtAllReduce(shardRtContextGetComm(context), 1, 0, &x, &y, 1, SHARD_RT_F32,
                               SHARD_RT_SUM);
}

/// Collectives and messages without end, until a timer kills rank 2 at whatever it is doing.
static int untilKilled(ShardRtContext *context, void *userData) {
  ShardRtComm *comm = shardRtContextGetComm(context);
  int32_t rank = shardRtContextGetRank(context);
  const int *round = userData;
  if (rank == 2) {
    struct itimerval timer = {.it_value = {.tv_usec = 500 + *round * 137 % 5000}};
    signal(SIGALRM, SIG_DFL);
    setitimer(ITIMER_REAL, &timer, NULL);
  }
  static float x[40000], y[160000];
  int status = SHARD_RT_OK;
  for (int i = 0; status == SHARD_RT_OK; ++i) {
    size_t count = i % 7 == 0 ? 40000 : 16;
    status = (int)shardRtAllReduce(comm, 1, 0, x, y, count, SHARD_RT_F32, SHARD_RT_SUM);
    if (status == SHARD_RT_OK)
      status = (int)shardRtAllGather(comm, 1, 1, x, y, 1, count, SHARD_RT_F32);
    if (status == SHARD_RT_OK)
      status = (int)shardRtSend(comm, 2, 0, (rank + 1) % 4, x, count, SHARD_RT_F32);
    if (status == SHARD_RT_OK)
      status = (int)shardRtReceive(comm, 2, 0, (rank + 3) % 4, y, count, SHARD_RT_F32);
  }
  return status;
}

static void checkKilled(int nRounds) {
  int64_t axes[] = {4};
  for (int round = 0; round < nRounds; ++round) {
    ShardRtWorld *world;
    ShardRtWorldOptions options = {.isolated = true};
    check(shardRtWorldCreate(1, axes, &options, &world) == SHARD_RT_OK, "killed: no world");
    ShardRtStatus status = shardRtWorldRunRanks(world, nSites, sites, untilKilled, &round, NULL);
    check(status == SHARD_RT_PEER_LOST, "killed: status");
    check(
        shardRtWorldGetFailedRank(world) == 2 &&
            !strncmp(shardRtWorldGetError(world), "rank 2: killed by signal 14 (Alarm clock)", 41),
        shardRtWorldGetError(world));
    shardRtWorldDestroy(world);
  }
}

static void checkProcesses(int nRounds) {
  int64_t two[] = {2}, three[] = {3};
  expect("killed", 1, three, 0, killed, SHARD_RT_PEER_LOST,
         "rank 1: killed by signal 9 (Killed); its last collective was all-reduce of "
         "model.mlir:10:3 (site 0, call 1)",
         NULL);
  expect("crashed", 1, two, 0, crashing, SHARD_RT_PEER_LOST,
         "rank 1: killed by signal 11 (Segmentation fault)", NULL);
  expect("exited", 1, three, 0, exiting, SHARD_RT_PEER_LOST,
         "rank 1: its process ended with status 7", NULL);
  checkKilled(nRounds);
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
    checkReset();
    checkAbort();
    checkArguments();
    checkOwnThreads();
  }
  checkStorm(argc > 1 ? atoi(argv[1]) : 50);
  printf("%d failures\n", nFailures);
  return nFailures != 0;
}
