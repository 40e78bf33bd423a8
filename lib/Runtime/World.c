//===- World.c - All ranks of a process, and their failure --------*- C -*-===//
#define _GNU_SOURCE
#include "Runtime.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const ShardRtBackend *const backends[] = {&shardRtLocalBackend};

static char outOfMemoryText[] = "out of memory while an error was reported";

ShardRtStatus shardRtFailureFor(ShardRtWorld *world, int32_t rank) {
  ShardRtStatus status = atomic_load_explicit(&world->status, memory_order_acquire);
  return world->failedRank == rank ? status : SHARD_RT_PEER_LOST;
}

ShardRtStatus shardRtFail(ShardRtWorld *world, int32_t rank, ShardRtStatus status,
                          const char *format, ...) {
  pthread_mutex_lock(&world->mutex);
  bool first = !shardRtFailed(world);
  if (first) {
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&world->error, format, arguments) < 0)
      world->error = outOfMemoryText;
    va_end(arguments);
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

  ShardRtWorld *world = calloc(1, sizeof(*world));
  if (!world)
    return SHARD_RT_OUT_OF_MEMORY;
  world->nAxes = nAxes;
  world->size = (int32_t)size;
  for (int32_t i = 0; i < nAxes; ++i)
    world->axisSizes[i] = axisSizes[i];
  world->backend = backend;
  world->timeoutNs = options ? options->timeoutNs : 0;
  world->failedRank = -1;
  ShardRtStatus status = SHARD_RT_OUT_OF_MEMORY;
  world->comms = calloc((size_t)size, sizeof(ShardRtComm));
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
  if (pthread_mutex_init(&world->mutex, NULL))
    goto freeComms;
  status = backend->open(world, &world->state);
  if (status != SHARD_RT_OK)
    goto destroyMutex;
  *outWorld = world;
  return SHARD_RT_OK;

destroyMutex:
  pthread_mutex_destroy(&world->mutex);
freeComms:
  free(world->comms);
freeWorld:
  free(world);
  return status;
}

void shardRtWorldDestroy(ShardRtWorld *world) {
  if (!world)
    return;
  world->backend->close(world->state);
  for (int32_t rank = 0; rank < world->size; ++rank) {
    ShardRtComm *comm = &world->comms[rank];
    while (comm->groups) {
      ShardRtGroup *next = comm->groups->next;
      free(comm->groups);
      comm->groups = next;
    }
    free(comm->siteCalls);
  }
  free(world->comms);
  if (world->error != outOfMemoryText)
    free(world->error);
  pthread_mutex_destroy(&world->mutex);
  free(world);
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
  pthread_mutex_lock(&world->mutex);
  if (world->error != outOfMemoryText)
    free(world->error);
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
// Threads
//===----------------------------------------------------------------------===//

typedef struct RankThread {
  pthread_t thread;
  ShardRtComm *comm;
  ShardRtRankBody body;
  void *userData;
  int64_t *bytes; // NULL, or [SHARD_RT_N_KINDS]
} RankThread;

static void *runRank(void *argument) {
  RankThread *self = argument;
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

ShardRtStatus shardRtWorldRunRanks(ShardRtWorld *world, int32_t nSites,
                                   const struct ShardProgramSite *sites, ShardRtRankBody body,
                                   void *userData, int64_t *bytes) {
  if (shardRtFailed(world))
    return shardRtWorldGetStatus(world);
  RankThread *threads = calloc((size_t)world->size, sizeof(*threads));
  if (!threads)
    return shardRtFail(world, -1, SHARD_RT_OUT_OF_MEMORY, "out of memory for %d ranks",
                       world->size);
  // All ends are taken before any thread runs: else a fast rank would find its peers gone.
  int32_t nTaken = 0, nStarted = 0;
  for (; nTaken < world->size; ++nTaken) {
    ShardRtStatus status = shardRtCommCreate(world, nTaken, &threads[nTaken].comm);
    if (status != SHARD_RT_OK) {
      shardRtFail(world, -1, status, "rank %d: its end of the world is taken", nTaken);
      break;
    }
    shardRtCommSetSites(threads[nTaken].comm, nSites, sites);
    threads[nTaken].body = body;
    threads[nTaken].userData = userData;
    threads[nTaken].bytes = bytes ? bytes + (size_t)nTaken * SHARD_RT_N_KINDS : NULL;
  }
  for (; nTaken == world->size && nStarted < world->size; ++nStarted) {
    if (pthread_create(&threads[nStarted].thread, NULL, runRank, &threads[nStarted])) {
      shardRtFail(world, -1, SHARD_RT_OUT_OF_MEMORY, "rank %d: cannot start its thread", nStarted);
      break;
    }
  }
  for (int32_t rank = nStarted; rank < nTaken; ++rank)
    shardRtCommDestroy(threads[rank].comm);
  for (int32_t rank = 0; rank < nStarted; ++rank)
    pthread_join(threads[rank].thread, NULL);
  free(threads);
  return shardRtWorldGetStatus(world);
}
