//===- LocalBlocked.c - Ranks that wait ----------------------------*- C -*-===//
// A rank that waits sleeps at the gate of what it waits for. When all are blocked or gone and none
// can proceed, nobody ever will: the world fails.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "Local.h"

#include <stdio.h>
#include <time.h>

static ShardRtGate *gateOf(Local *local, const LocalBlocked *blocked) {
  return blocked->op ? &blocked->op->group->gate
                     : &local->ranks[blocked->receive->rank].mailbox.gate;
}

/// Whether the rank need not wait any longer. With the gate locked.
static bool canProceed(Local *local, const LocalBlocked *blocked) {
  if (shardRtFailed(local->world))
    return true;
  if (blocked->op)
    return blocked->op->complete || shardRtLocalHasWork(blocked->op);
  const LocalReceive *receive = blocked->receive;
  return receive->complete || receive->message;
}

static const ShardRtCollective *collectiveOf(int32_t rank, const LocalBlocked *blocked) {
  if (blocked->receive)
    return &blocked->receive->collective;
  for (int32_t i = 0; i < blocked->op->group->n; ++i)
    if (blocked->op->group->ranks[i] == rank)
      return &blocked->op->posts[i].collective;
  return NULL;
}

/// The first rank that a blocked rank waits for. With the gate locked.
static int32_t missingRank(const LocalBlocked *blocked) {
  if (blocked->receive)
    return blocked->receive->collective.peer;
  for (int32_t i = 0; i < blocked->op->group->n; ++i)
    if (!blocked->op->posts[i].posted)
      return blocked->op->group->ranks[i];
  return blocked->op->group->ranks[0]; // somebody works on it: not missing, only late
}

/// Text of what a blocked rank waits in, and whom it waits for.
static int32_t describeBlocked(Local *local, int32_t rank, char *text, size_t size) {
  const LocalBlocked *blocked = &local->ranks[rank].blocked;
  ShardRtGate *gate = gateOf(local, blocked);
  shardRtLock(&gate->mutex);
  shardRtDescribe(collectiveOf(rank, blocked), text, size);
  int32_t missing = missingRank(blocked);
  pthread_mutex_unlock(&gate->mutex);
  return missing;
}

/// With stuckMutex locked: if all ranks are blocked or gone and none of them can proceed, nobody
/// ever will, since only a rank that is not registered here changes what the others wait for.
/// Writes a message and returns true then.
static bool isStuck(Local *local, int32_t *outRank, char *text, size_t textSize) {
  ShardRtWorld *world = local->world;
  if (local->nStuck < world->size)
    return false;
  int32_t start = -1;
  for (int32_t rank = 0; rank < world->size; ++rank) {
    LocalRank *self = &local->ranks[rank];
    if (self->gone)
      continue;
    ShardRtGate *gate = gateOf(local, &self->blocked);
    shardRtLock(&gate->mutex);
    bool proceeds = canProceed(local, &self->blocked);
    pthread_mutex_unlock(&gate->mutex);
    if (proceeds)
      return false;
    if (start < 0)
      start = rank;
  }
  if (start < 0)
    return false;
  // Walk from rank to the rank it waits for, to one that has ended if that is how it ends.
  char mine[448], theirs[448];
  int32_t rank = start, missing = describeBlocked(local, rank, mine, sizeof(mine));
  for (int32_t step = 0; step < world->size && !local->ranks[missing].gone; ++step) {
    rank = missing;
    missing = describeBlocked(local, rank, mine, sizeof(mine));
  }
  if (local->ranks[missing].gone) {
    snprintf(text, textSize, "rank %d: %s waits for rank %d, which has ended", rank, mine, missing);
  } else {
    rank = start;
    missing = describeBlocked(local, rank, mine, sizeof(mine));
    int32_t next = describeBlocked(local, missing, theirs, sizeof(theirs));
    snprintf(text, textSize, "rank %d: %s waits for rank %d, which waits for rank %d in %s", rank,
             mine, missing, next, theirs);
  }
  *outRank = rank;
  return true;
}

static void failStuck(Local *local, int32_t rank, const char *text) {
  shardRtFail(local->world, rank, SHARD_RT_MISMATCH, "%s", text);
}

static int64_t nowNs(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void shardRtLocalBlock(Local *local, int32_t rank, LocalBlocked blocked, int64_t deadlineNs) {
  ShardRtWorld *world = local->world;
  ShardRtGate *gate = gateOf(local, &blocked);
  char text[1024];
  int32_t stuckRank = -1;
  shardRtLock(&local->stuckMutex);
  local->ranks[rank].blocked = blocked;
  ++local->nStuck;
  bool stuck = isStuck(local, &stuckRank, text, sizeof(text));
  pthread_mutex_unlock(&local->stuckMutex);
  if (stuck)
    failStuck(local, stuckRank, text);

  bool timedOut = false;
  shardRtLock(&gate->mutex);
  while (!timedOut && !canProceed(local, &blocked)) {
    int64_t left = world->timeoutNs ? deadlineNs - nowNs() : -1;
    if (world->timeoutNs && left <= 0)
      timedOut = true;
    else
      shardRtGateWait(gate, left);
  }
  int32_t missing = 0;
  if (timedOut) {
    missing = missingRank(&blocked);
    shardRtDescribe(collectiveOf(rank, &blocked), text, sizeof(text));
  }
  pthread_mutex_unlock(&gate->mutex);

  shardRtLock(&local->stuckMutex);
  local->ranks[rank].blocked = (LocalBlocked){NULL, NULL};
  --local->nStuck;
  pthread_mutex_unlock(&local->stuckMutex);
  if (timedOut)
    shardRtFail(world, rank, SHARD_RT_TIMED_OUT, "rank %d: %s waited %g s for rank %d", rank, text,
                (double)world->timeoutNs * 1e-9, missing);
}

int64_t shardRtLocalDeadline(const Local *local) {
  return local->world->timeoutNs ? nowNs() + local->world->timeoutNs : 0;
}

void shardRtLocalJoin(void *state, int32_t rank) {
  Local *local = state;
  shardRtLock(&local->stuckMutex);
  if (local->ranks[rank].gone) {
    --local->nStuck;
    --local->nGone;
  }
  local->ranks[rank].gone = false;
  pthread_mutex_unlock(&local->stuckMutex);
}

void shardRtLocalLeave(void *state, int32_t rank) {
  Local *local = state;
  char text[1024];
  int32_t stuckRank = -1;
  shardRtLock(&local->stuckMutex);
  local->ranks[rank].gone = true;
  ++local->nStuck;
  bool stuck = false;
  if (++local->nGone == local->world->size) { // as new: the next step may begin with any rank
    local->nStuck = local->nGone = 0;
    for (int32_t i = 0; i < local->world->size; ++i)
      local->ranks[i].gone = false;
  } else {
    stuck = isStuck(local, &stuckRank, text, sizeof(text));
  }
  pthread_mutex_unlock(&local->stuckMutex);
  if (stuck)
    failStuck(local, stuckRank, text);
}
