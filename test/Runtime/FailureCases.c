//===- FailureCases.c - Failures of worlds, threads and processes -*- C -*-===//
#define _GNU_SOURCE
#include "Failures.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

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

void checkThreads(void) {
  checkReset();
  checkAbort();
  checkArguments();
  checkOwnThreads();
}

void checkStorm(int nRounds) {
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

void checkProcesses(int nRounds) {
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
