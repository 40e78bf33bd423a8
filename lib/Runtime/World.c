//===- World.c - All ranks of a process, and their failure --------*- C -*-===//
#define _GNU_SOURCE
#include "Runtime.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const ShardRtBackend *const backends[] = {&shardRtLocalBackend};

static char outOfMemoryText[] = "out of memory while an error was reported";

ShardRtStatus shardRtFailureFor(ShardRtWorld *world, int32_t rank) {
  ShardRtStatus status = atomic_load_explicit(&world->status, memory_order_acquire);
  return world->failedRank == rank ? status : SHARD_RT_PEER_LOST;
}

ShardRtStatus shardRtFail(ShardRtWorld *world, int32_t rank, ShardRtStatus status,
                          const char *format, ...) {
  shardRtLock(&world->mutex);
  bool first = !shardRtFailed(world);
  if (first) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    world->error = length < 0 ? NULL : shardRtAllocate(world->arena, (size_t)length + 1);
    if (world->error) {
      va_start(arguments, format);
      vsnprintf(world->error, (size_t)length + 1, format, arguments);
      va_end(arguments);
    } else {
      world->error = outOfMemoryText;
    }
    for (char *c = world->error; *c; ++c) // one line, whatever a location holds
      if (*c == '\n' || *c == '\r')
        *c = ' ';
    world->failedRank = rank;
    atomic_store_explicit(&world->status, status, memory_order_release);
  }
  pthread_mutex_unlock(&world->mutex);
  if (first)
    world->backend->wake(world->state);
  return rank < 0 ? status : shardRtFailureFor(world, rank);
}

ShardRtStatus shardRtWorldCreate(int32_t nAxes, const int64_t *axisSizes,
                                 const ShardRtWorldOptions *options, ShardRtWorld **outWorld) {
  if (!outWorld)
    return SHARD_RT_INVALID_ARGUMENT;
  *outWorld = NULL;
  if (nAxes < 0 || nAxes > SHARD_RT_MAX_AXES || (nAxes && !axisSizes) ||
      (options && options->timeoutNs < 0))
    return SHARD_RT_INVALID_ARGUMENT;
  int64_t size = 1;
  for (int32_t i = 0; i < nAxes; ++i) {
    if (axisSizes[i] < 1 || axisSizes[i] > 65536 || (size *= axisSizes[i]) > 65536)
      return SHARD_RT_INVALID_ARGUMENT;
  }
  const ShardRtBackend *backend = options && options->backend ? NULL : backends[0];
  for (size_t i = 0; !backend && i < sizeof(backends) / sizeof(backends[0]); ++i)
    if (!strcmp(backends[i]->name, options->backend))
      backend = backends[i];
  if (!backend)
    return SHARD_RT_INVALID_ARGUMENT;

  bool isolated = options && options->isolated;
  ShardRtArena *arena = isolated ? shardRtArenaCreate() : NULL;
  if (isolated && !arena)
    return SHARD_RT_OUT_OF_MEMORY;
  ShardRtWorld *world = shardRtAllocate(arena, sizeof(*world));
  if (!world) {
    shardRtArenaDestroy(arena);
    return SHARD_RT_OUT_OF_MEMORY;
  }
  world->arena = arena;
  world->nAxes = nAxes;
  world->size = (int32_t)size;
  for (int32_t i = 0; i < nAxes; ++i)
    world->axisSizes[i] = axisSizes[i];
  world->backend = backend;
  world->timeoutNs = options ? options->timeoutNs : 0;
  world->failedRank = -1;
  ShardRtStatus status = SHARD_RT_OUT_OF_MEMORY;
  world->comms = shardRtAllocate(arena, (size_t)size * sizeof(ShardRtComm));
  if (!world->comms)
    goto freeWorld;
  for (int32_t rank = 0; rank < world->size; ++rank) {
    ShardRtComm *comm = &world->comms[rank];
    comm->world = world;
    comm->rank = rank;
    int64_t rest = rank;
    for (int32_t axis = nAxes - 1; axis >= 0; --axis) {
      comm->coordinates[axis] = rest % axisSizes[axis];
      rest /= axisSizes[axis];
    }
  }
  if (!shardRtMutexInit(&world->mutex, isolated))
    goto freeComms;
  status = backend->open(world, &world->state);
  if (status != SHARD_RT_OK)
    goto destroyMutex;
  *outWorld = world;
  return SHARD_RT_OK;

destroyMutex:
  pthread_mutex_destroy(&world->mutex);
freeComms:
  shardRtRelease(arena, world->comms);
freeWorld:
  shardRtRelease(arena, world);
  shardRtArenaDestroy(arena);
  return status;
}

void shardRtWorldDestroy(ShardRtWorld *world) {
  if (!world)
    return;
  ShardRtArena *arena = world->arena;
  if (arena) { // all of it is in there, and may have been left half changed by a killed rank
    shardRtArenaDestroy(arena);
    return;
  }
  world->backend->close(world->state);
  for (int32_t rank = 0; rank < world->size; ++rank) {
    ShardRtComm *comm = &world->comms[rank];
    while (comm->groups) {
      ShardRtGroup *next = comm->groups->next;
      shardRtRelease(NULL, comm->groups);
      comm->groups = next;
    }
    shardRtRelease(NULL, comm->siteCalls);
  }
  shardRtRelease(NULL, world->comms);
  if (world->error != outOfMemoryText)
    shardRtRelease(NULL, world->error);
  pthread_mutex_destroy(&world->mutex);
  shardRtRelease(NULL, world);
}

void *shardRtWorldAllocate(ShardRtWorld *world, size_t bytes) {
  return shardRtAllocate(world->arena, bytes);
}

void shardRtWorldRelease(ShardRtWorld *world, void *memory) {
  shardRtRelease(world->arena, memory);
}

ShardRtStatus shardRtWorldPrepare(ShardRtWorld *world, const ShardProgram *program) {
  bool same = program->nAxes == world->nAxes;
  for (int32_t i = 0; same && i < world->nAxes; ++i)
    same = program->axisSizes[i] == world->axisSizes[i];
  if (!same)
    return SHARD_RT_INVALID_ARGUMENT;
  ShardRtStatus status = SHARD_RT_OK;
  for (int32_t rank = 0; rank < world->size && status == SHARD_RT_OK; ++rank) {
    ShardRtComm *comm = &world->comms[rank];
    const ShardProgramStage *stage =
        &program->stages[program->ppAxis < 0 ? 0 : comm->coordinates[program->ppAxis]];
    for (int32_t i = 0; i < stage->nGroups && status == SHARD_RT_OK; ++i)
      if (!shardRtCommGetGroup(comm, (uint32_t)stage->groups[i]))
        status = SHARD_RT_OUT_OF_MEMORY;
    if (status == SHARD_RT_OK)
      status = world->backend->prepare(world->state, rank, stage->nMessages, stage->messages);
  }
  return status;
}

size_t shardRtWorldGetStagingBytes(ShardRtWorld *world, int32_t rank) {
  size_t planned, most;
  world->backend->measure(world->state, rank, &planned, &most);
  return planned;
}

size_t shardRtWorldGetStagedBytes(ShardRtWorld *world, int32_t rank) {
  size_t planned, most;
  world->backend->measure(world->state, rank, &planned, &most);
  return most;
}

int32_t shardRtWorldGetSize(const ShardRtWorld *world) { return world->size; }

ShardRtStatus shardRtWorldGetStatus(const ShardRtWorld *world) {
  return atomic_load_explicit(&world->status, memory_order_acquire);
}

const char *shardRtWorldGetError(const ShardRtWorld *world) {
  return shardRtFailed(world) ? world->error : "";
}

int32_t shardRtWorldGetFailedRank(const ShardRtWorld *world) {
  return shardRtFailed(world) ? world->failedRank : -1;
}

void shardRtWorldAbort(ShardRtWorld *world, const char *message) {
  shardRtFail(world, -1, SHARD_RT_PEER_LOST, "%s", message ? message : "aborted");
}

void shardRtWorldReset(ShardRtWorld *world) {
  world->backend->reset(world->state);
  shardRtLock(&world->mutex);
  if (world->error != outOfMemoryText)
    shardRtRelease(world->arena, world->error);
  world->error = NULL;
  world->failedRank = -1;
  for (int32_t rank = 0; rank < world->size; ++rank) {
    world->comms[rank].hasLast = false;
    for (ShardRtGroup *group = world->comms[rank].groups; group; group = group->next)
      group->sequence = 0;
  }
  atomic_store_explicit(&world->status, SHARD_RT_OK, memory_order_release);
  pthread_mutex_unlock(&world->mutex);
}

//===----------------------------------------------------------------------===//
// Running ranks
//===----------------------------------------------------------------------===//

typedef struct RankRun {
  pthread_t thread;
  pid_t process;
  ShardRtComm *comm;
  ShardRtRankBody body;
  void *userData;
  int64_t *bytes; // NULL, or [SHARD_RT_N_KINDS]
} RankRun;

static void *runRank(void *argument) {
  RankRun *self = argument;
  ShardRtComm *comm = self->comm;
  ShardRtContext *context;
  ShardRtStatus status = shardRtContextCreate(comm, &context);
  if (status == SHARD_RT_OK) {
    status = self->body(context, self->userData);
    shardRtContextDestroy(context);
  }
  if (status != SHARD_RT_OK) {
    char last[512];
    shardRtDescribeLast(comm, last, sizeof(last));
    shardRtFail(comm->world, comm->rank, status, "rank %d: stopped with status %d%s", comm->rank,
                (int)status, last);
  }
  for (int32_t kind = 0; self->bytes && kind < SHARD_RT_N_KINDS; ++kind)
    self->bytes[kind] = comm->bytes[kind];
  shardRtCommDestroy(comm);
  return NULL;
}

/// A process that ended in any other way than runRank's: who waits for it is told.
static void loseRank(RankRun *run, int status) {
  ShardRtComm *comm = run->comm;
  ShardRtWorld *world = comm->world;
  char last[512];
  shardRtDescribeLast(comm, last, sizeof(last));
  if (WIFSIGNALED(status))
    shardRtFail(world, comm->rank, SHARD_RT_PEER_LOST, "rank %d: killed by signal %d (%s)%s",
                comm->rank, WTERMSIG(status), strsignal(WTERMSIG(status)), last);
  else
    shardRtFail(world, comm->rank, SHARD_RT_PEER_LOST,
                "rank %d: its process ended with status %d%s", comm->rank, WEXITSTATUS(status),
                last);
  world->backend->lost(world->state, comm->rank);
  comm->taken = false;
}

/// Waits for the processes in the order in which they end.
static void waitForProcesses(RankRun *runs, int32_t n) {
  for (int32_t left = n; left > 0;) {
    int status;
    pid_t ended = -1;
    siginfo_t info;
    // Only ours: the caller may have children of its own.
    for (int32_t rank = 0; rank < n && ended < 0; ++rank)
      if (runs[rank].process && waitpid(runs[rank].process, &status, WNOHANG) > 0) {
        ended = runs[rank].process;
        runs[rank].process = 0;
        --left;
        if (status != 0)
          loseRank(&runs[rank], status);
      }
    // None yet: until some child, maybe another's, ends; it stays to be waited for.
    if (ended < 0 && waitid(P_ALL, 0, &info, WEXITED | WNOWAIT) == 0 && info.si_pid) {
      bool ours = false;
      for (int32_t rank = 0; rank < n; ++rank)
        ours |= runs[rank].process == info.si_pid;
      if (!ours)
        usleep(1000);
    }
  }
}

static bool startThread(RankRun *run) { return !pthread_create(&run->thread, NULL, runRank, run); }

static bool startProcess(RankRun *run) {
  pid_t parent = getpid();
  run->process = fork();
  if (run->process < 0)
    run->process = 0;
  else if (run->process > 0)
    return true;
  else if (getpid() != parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); // no rank outlives the run
    if (getppid() != parent)
      _exit(1);
    runRank(run);
    fflush(NULL);
    _exit(0);
  }
  return false;
}

ShardRtStatus shardRtWorldRunRanks(ShardRtWorld *world, int32_t nSites,
                                   const struct ShardProgramSite *sites, ShardRtRankBody body,
                                   void *userData, int64_t *bytes) {
  if (shardRtFailed(world))
    return shardRtWorldGetStatus(world);
  bool isolated = world->arena != NULL;
  size_t n = (size_t)world->size, bytesSize = n * SHARD_RT_N_KINDS * sizeof(*bytes);
  RankRun *runs = calloc(n, sizeof(*runs));
  int64_t *sent = bytes ? shardRtAllocate(world->arena, bytesSize) : NULL;
  if (!runs || (bytes && !sent)) {
    free(runs);
    return shardRtFail(world, -1, SHARD_RT_OUT_OF_MEMORY, "out of memory for %d ranks",
                       world->size);
  }
  // All ends are taken before any rank runs: else a fast one would find its peers gone.
  int32_t nTaken = 0, nStarted = 0;
  for (; nTaken < world->size; ++nTaken) {
    RankRun *run = &runs[nTaken];
    ShardRtStatus status = shardRtCommCreate(world, nTaken, &run->comm);
    if (status != SHARD_RT_OK) {
      shardRtFail(world, -1, status, "rank %d: its end of the world is taken", nTaken);
      break;
    }
    shardRtCommSetSites(run->comm, nSites, sites);
    run->body = body;
    run->userData = userData;
    run->bytes = sent ? sent + (size_t)nTaken * SHARD_RT_N_KINDS : NULL;
  }
  if (isolated)
    fflush(NULL); // what is buffered would be written by every process
  for (; nTaken == world->size && nStarted < world->size; ++nStarted) {
    if (!(isolated ? startProcess(&runs[nStarted]) : startThread(&runs[nStarted]))) {
      shardRtFail(world, -1, SHARD_RT_OUT_OF_MEMORY, "rank %d: cannot start its %s", nStarted,
                  isolated ? "process" : "thread");
      break;
    }
  }
  for (int32_t rank = nStarted; rank < nTaken; ++rank)
    shardRtCommDestroy(runs[rank].comm);
  if (isolated)
    waitForProcesses(runs, nStarted);
  for (int32_t rank = 0; rank < nStarted && !isolated; ++rank)
    pthread_join(runs[rank].thread, NULL);
  if (bytes)
    memcpy(bytes, sent, bytesSize);
  shardRtRelease(world->arena, sent);
  free(runs);
  return shardRtWorldGetStatus(world);
}
