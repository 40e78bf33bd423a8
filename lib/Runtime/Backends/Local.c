//===- Local.c - Ranks are threads, or processes with shared memory -*- C -*-===//
// The reference backend. A start posts the rank's buffers; when the last rank of the group has
// posted, the collective is a set of independent chunks, and every rank that waits for it takes
// chunks until none is left, reading and writing all ranks' buffers directly. Between processes
// that takes buffers in the world's arena; others are copied to and from it. So any order of waits
// makes progress, the work follows the threads that the machine happens to run, and nobody spins.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "Local.h"

#include <string.h>

/// After a rank was killed: its last changes may be half made, so that nothing is walked. What they
/// hold is lost until the world ends.
static void forgetLocal(Local *local) {
  for (LocalGroup *group = local->groups; group; group = group->next)
    group->ops = group->freeOps = NULL;
  for (int32_t rank = 0; rank < local->world->size; ++rank) {
    LocalRank *self = &local->ranks[rank];
    shardRtLocalForgetMailbox(&self->mailbox);
    self->blocked = (LocalBlocked){NULL, NULL};
    atomic_store(&self->lost, false);
  }
}

static void resetLocal(void *state) {
  Local *local = state;
  for (int32_t rank = 0; rank < local->world->size; ++rank)
    if (atomic_load(&local->ranks[rank].lost)) {
      forgetLocal(local);
      break;
    }
  shardRtLock(&local->mutex);
  for (LocalGroup *group = local->groups; group; group = group->next) {
    shardRtLocalFreeOps(local->world->arena, group->ops);
    group->ops = NULL;
  }
  for (int32_t rank = 0; rank < local->world->size; ++rank)
    shardRtLocalResetMailbox(local->world->arena, &local->ranks[rank].mailbox);
  pthread_mutex_unlock(&local->mutex);
  shardRtLock(&local->stuckMutex);
  local->nStuck = local->nGone = 0;
  for (int32_t rank = 0; rank < local->world->size; ++rank)
    local->ranks[rank].gone = false;
  pthread_mutex_unlock(&local->stuckMutex);
}

static void closeLocal(void *state) {
  Local *local = state;
  ShardRtArena *arena = local->world->arena;
  while (local->groups) {
    LocalGroup *group = local->groups;
    local->groups = group->next;
    shardRtLocalFreeOps(arena, group->ops);
    shardRtLocalFreeOps(arena, group->freeOps);
    shardRtGateDestroy(&group->gate);
    shardRtRelease(arena, group);
  }
  for (int32_t rank = 0; rank < local->world->size; ++rank) {
    LocalRank *self = &local->ranks[rank];
    shardRtLocalCloseMailbox(arena, &self->mailbox);
    shardRtRelease(arena, self->sources);
  }
  shardRtRelease(arena, local->ranks);
  pthread_mutex_destroy(&local->mutex);
  pthread_mutex_destroy(&local->stuckMutex);
  shardRtRelease(arena, local);
}

static ShardRtStatus openLocal(ShardRtWorld *world, void **outState) {
  ShardRtArena *arena = world->arena;
  Local *local = shardRtAllocate(arena, sizeof(*local));
  if (!local)
    return SHARD_RT_OUT_OF_MEMORY;
  local->world = world;
  int32_t nGates = 0;
  local->ranks = shardRtAllocate(arena, (size_t)world->size * sizeof(*local->ranks));
  if (!local->ranks)
    goto freeLocal;
  for (; nGates < world->size; ++nGates) {
    LocalMailbox *mailbox = &local->ranks[nGates].mailbox;
    if (!shardRtGateInit(&mailbox->gate, arena != NULL))
      goto destroyGates;
    shardRtLocalResetMailbox(arena, mailbox);
  }
  if (!shardRtMutexInit(&local->mutex, arena != NULL))
    goto destroyGates;
  if (!shardRtMutexInit(&local->stuckMutex, arena != NULL))
    goto destroyMutex;
  *outState = local;
  return SHARD_RT_OK;

destroyMutex:
  pthread_mutex_destroy(&local->mutex);
destroyGates:
  while (nGates)
    shardRtGateDestroy(&local->ranks[--nGates].mailbox.gate);
  shardRtRelease(arena, local->ranks);
freeLocal:
  shardRtRelease(arena, local);
  return SHARD_RT_OUT_OF_MEMORY;
}

static ShardRtStatus openLocalGroup(void *state, ShardRtGroup *group) {
  Local *local = state;
  ShardRtArena *arena = local->world->arena;
  LocalRank *self = &local->ranks[group->ranks[group->index]];
  if (self->nSources < group->n) {
    const void **sources = shardRtAllocate(arena, (size_t)group->n * sizeof(*sources));
    if (!sources)
      return SHARD_RT_OUT_OF_MEMORY;
    shardRtRelease(arena, self->sources);
    self->sources = sources;
    self->nSources = group->n;
  }
  ShardRtStatus status = SHARD_RT_OUT_OF_MEMORY;
  shardRtLock(&local->mutex);
  LocalGroup *shared = local->groups;
  while (shared && (shared->mask != group->mask || shared->ranks[0] != group->ranks[0]))
    shared = shared->next;
  if (!shared) {
    size_t bytes = (size_t)group->n * sizeof(group->ranks[0]);
    shared = shardRtAllocate(arena, sizeof(*shared) + bytes);
    if (!shared)
      goto unlock;
    if (!shardRtGateInit(&shared->gate, arena != NULL)) {
      shardRtRelease(arena, shared);
      goto unlock;
    }
    shared->mask = group->mask;
    shared->n = group->n;
    memcpy(shared->ranks, group->ranks, bytes);
    if (!shardRtLocalPrepareOps(arena, shared)) {
      shardRtLocalFreeOps(arena, shared->freeOps);
      shardRtGateDestroy(&shared->gate);
      shardRtRelease(arena, shared);
      goto unlock;
    }
    shared->next = local->groups;
    local->groups = shared;
  }
  group->state = shared;
  status = SHARD_RT_OK;
unlock:
  pthread_mutex_unlock(&local->mutex);
  return status;
}

static ShardRtStatus startLocal(void *state, ShardRtComm *comm, const ShardRtGroup *group,
                                uint64_t sequence, const ShardRtCollective *collective,
                                ShardRtRequest *outRequest) {
  if (group)
    return shardRtLocalStartCollective(state, group, sequence, collective, outRequest);
  if (collective->isReceive)
    return shardRtLocalStartReceive(state, comm->rank, collective, outRequest);
  return shardRtLocalStartSend(state, comm->rank, collective);
}

static bool isReceive(const ShardRtRequest *request) { return request->kind == SHARD_RT_SEND; }

static ShardRtStatus waitLocal(void *state, ShardRtComm *comm, ShardRtRequest *request, bool blocks,
                               bool *outComplete) {
  if (isReceive(request))
    return shardRtLocalWaitReceive(state, comm->rank, request->state, blocks, outComplete);
  return shardRtLocalWaitCollective(state, comm->rank, request->state, request->index, blocks,
                                    outComplete);
}

static void describeLocal(void *state, const ShardRtRequest *request, char *text, size_t size) {
  Local *local = state;
  if (isReceive(request)) {
    LocalReceive *receive = request->state;
    ShardRtGate *gate = &local->ranks[receive->rank].mailbox.gate;
    shardRtLock(&gate->mutex);
    shardRtDescribe(&receive->collective, text, size);
    pthread_mutex_unlock(&gate->mutex);
    return;
  }
  LocalOp *op = request->state;
  shardRtLock(&op->group->gate.mutex);
  shardRtDescribe(&op->posts[request->index].collective, text, size);
  pthread_mutex_unlock(&op->group->gate.mutex);
}

static bool cancelLocal(void *state, int32_t rank, char *text, size_t size) {
  Local *local = state;
  bool incomplete = false;
  // Groups are only added, and those of this rank only by its own thread.
  shardRtLock(&local->mutex);
  LocalGroup *first = local->groups;
  pthread_mutex_unlock(&local->mutex);
  for (LocalGroup *group = first; group; group = group->next)
    incomplete |= shardRtLocalCancelCollectives(local, group, rank, text, size);
  return incomplete | shardRtLocalCancelReceives(local, rank, incomplete, text, size);
}

static void wakeLocal(void *state) {
  Local *local = state;
  shardRtLock(&local->mutex);
  for (LocalGroup *group = local->groups; group; group = group->next) {
    shardRtLock(&group->gate.mutex);
    shardRtGateBroadcast(&group->gate);
    pthread_mutex_unlock(&group->gate.mutex);
  }
  for (int32_t rank = 0; rank < local->world->size; ++rank) {
    ShardRtGate *gate = &local->ranks[rank].mailbox.gate;
    shardRtLock(&gate->mutex);
    shardRtGateBroadcast(gate);
    pthread_mutex_unlock(&gate->mutex);
  }
  pthread_mutex_unlock(&local->mutex);
}

static ShardRtStatus prepareLocal(void *state, int32_t rank, int32_t nMessages,
                                  const ShardProgramMessage *messages) {
  Local *local = state;
  return shardRtLocalPrepareMailbox(local->world->arena, &local->ranks[rank].mailbox, nMessages,
                                    messages);
}

static void measureLocal(void *state, int32_t rank, size_t *outPlanned, size_t *outMost) {
  LocalMailbox *mailbox = &((Local *)state)->ranks[rank].mailbox;
  shardRtLock(&mailbox->gate.mutex);
  *outPlanned = mailbox->stagingBytes;
  *outMost = mailbox->mostStagedBytes;
  pthread_mutex_unlock(&mailbox->gate.mutex);
}

static void loseLocal(void *state, int32_t rank) {
  Local *local = state;
  atomic_store(&local->ranks[rank].lost, true);
  wakeLocal(local);
}

const ShardRtBackend shardRtLocalBackend = {
    .name = "local",
    .open = openLocal,
    .close = closeLocal,
    .openGroup = openLocalGroup,
    .prepare = prepareLocal,
    .measure = measureLocal,
    .join = shardRtLocalJoin,
    .leave = shardRtLocalLeave,
    .start = startLocal,
    .wait = waitLocal,
    .describe = describeLocal,
    .cancel = cancelLocal,
    .wake = wakeLocal,
    .lost = loseLocal,
    .reset = resetLocal,
};
