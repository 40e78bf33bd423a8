//===- LocalCollectives.c - Starting and awaiting a collective -----*- C -*-===//
// A start posts the rank's buffers; when the last rank of the group has posted, every rank that
// waits takes chunks until none is left.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "Local.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { inlineBytes = 128 << 10 }; // up to here the last rank to arrive does all

/// Whether some rank is at work on chunks. With the gate locked.
static bool hasWorkers(Local *local, const LocalOp *op) {
  for (int32_t i = 0; i < op->group->n; ++i)
    if (op->posts[i].working && !atomic_load(&local->ranks[op->group->ranks[i]].lost))
      return true;
  return false;
}

/// Takes chunks until none is left. Called and returns with the gate locked.
static void work(Local *local, LocalOp *op, int32_t index) {
  LocalGroup *group = op->group;
  op->posts[index].working = true;
  pthread_mutex_unlock(&group->gate.mutex);
  const void **sources = local->ranks[group->ranks[index]].sources;
  size_t nDone = 0;
  while (!atomic_load_explicit(&op->cancelled, memory_order_relaxed)) {
    size_t chunk = atomic_fetch_add(&op->nextChunk, 1);
    if (chunk >= op->nChunks)
      break;
    shardRtLocalRunChunk(op, group->n, sources, chunk);
    ++nDone;
  }
  if (op->streams)
    shardRtStreamFence();
  shardRtLock(&group->gate.mutex);
  op->posts[index].working = false;
  op->nDone += nDone;
  if (op->nDone == op->nChunks)
    op->complete = true;
  if (op->complete || !hasWorkers(local, op))
    shardRtGateBroadcast(&group->gate);
}

static size_t ownElements(const ShardRtCollective *c, int32_t n, bool receives) {
  bool all = receives ? c->kind == SHARD_RT_ALL_GATHER : c->kind == SHARD_RT_REDUCE_SCATTER;
  return c->outer * c->chunk * (all || c->kind == SHARD_RT_ALL_TO_ALL ? (size_t)n : 1);
}

/// Where other processes cannot reach the rank's buffers, copies in the arena take their place.
/// False: out of memory. With the gate locked.
static bool reachBuffers(const Local *local, LocalOp *op, int32_t index) {
  ShardRtArena *arena = local->world->arena;
  struct LocalPost *post = &op->posts[index];
  ShardRtCollective *c = &post->collective;
  if (!arena)
    return true;
  size_t size = shardRtElementSize(c->element);
  bool sends = c->kind != SHARD_RT_BARRIER && c->send &&
               (c->kind != SHARD_RT_BROADCAST || index == c->parameter);
  bool sendOwn = sends && !shardRtArenaHolds(arena, c->send);
  bool recvOwn = c->kind != SHARD_RT_BARRIER && c->recv && !shardRtArenaHolds(arena, c->recv);
  if (!sendOwn && !recvOwn)
    return true;
  size_t sendBytes = sendOwn ? ownElements(c, op->group->n, false) * size : 0;
  size_t recvBytes = recvOwn ? ownElements(c, op->group->n, true) * size : 0;
  size_t offset = (sendBytes + 63) / 64 * 64;
  bool same = sendOwn && recvOwn && c->send == c->recv;
  char *copy = shardRtAllocate(arena, same ? sendBytes + recvBytes : offset + recvBytes);
  if (!copy)
    return false;
  post->copy = copy;
  if (sendOwn) {
    memcpy(copy, c->send, sendBytes);
    c->send = copy;
  }
  if (recvOwn) {
    post->userRecv = c->recv;
    c->recv = same ? copy : copy + offset;
  }
  return true;
}

/// The rank has done with the op; the last one recycles it. With the gate locked.
static void leaveOp(Local *local, LocalOp *op, int32_t index) {
  LocalGroup *group = op->group;
  struct LocalPost *post = &op->posts[index];
  post->left = true;
  // For a rank that was killed its parent leaves, which has not its memory.
  if (op->complete && post->userRecv && !atomic_load(&local->ranks[group->ranks[index]].lost))
    memcpy(post->userRecv, post->collective.recv,
           ownElements(&post->collective, group->n, true) *
               shardRtElementSize(post->collective.element));
  shardRtRelease(local->world->arena, post->copy);
  post->copy = post->userRecv = NULL;
  if (++op->nLeft < group->n)
    return;
  LocalOp **link = &group->ops;
  while (*link != op)
    link = &(*link)->next;
  *link = op->next;
  op->next = group->freeOps;
  group->freeOps = op;
}

/// Lets go of an op that will not complete: on return nobody touches the rank's buffers. Returns
/// whether it has completed after all. With the gate locked.
static bool withdrawOp(Local *local, LocalOp *op, int32_t index) {
  ShardRtGate *gate = &op->group->gate;
  if (!op->complete)
    atomic_store(&op->cancelled, true);
  while (!op->complete && hasWorkers(local, op))
    shardRtGateWait(gate, -1);
  bool complete = op->complete;
  leaveOp(local, op, index);
  return complete;
}

/// NULL: out of memory.
static LocalOp *createOp(ShardRtArena *arena, LocalGroup *group) {
  return shardRtAllocate(arena, sizeof(LocalOp) + (size_t)group->n * sizeof(struct LocalPost));
}

bool shardRtLocalPrepareOps(ShardRtArena *arena, LocalGroup *group) {
  enum { N_OPS = 2 };
  for (int i = 0; i < N_OPS; ++i) {
    LocalOp *op = createOp(arena, group);
    if (!op)
      return false;
    op->group = group;
    op->next = group->freeOps;
    group->freeOps = op;
  }
  return true;
}

/// The op of a sequence number, made by the first rank that asks. With the gate locked. NULL: out
/// of memory.
static LocalOp *getOp(Local *local, LocalGroup *group, uint64_t sequence) {
  for (LocalOp *op = group->ops; op; op = op->next)
    if (op->sequence == sequence)
      return op;
  LocalOp *op = group->freeOps;
  if (op)
    group->freeOps = op->next;
  else if (!(op = createOp(local->world->arena, group)))
    return NULL;
  memset(op, 0, sizeof(LocalOp) + (size_t)group->n * sizeof(struct LocalPost));
  op->sequence = sequence;
  op->group = group;
  op->next = group->ops;
  group->ops = op;
  return op;
}

static bool matches(const ShardRtCollective *a, const ShardRtCollective *b) {
  return a->kind == b->kind && a->element == b->element && a->reduction == b->reduction &&
         a->outer == b->outer && a->chunk == b->chunk && a->parameter == b->parameter &&
         a->site == b->site;
}

/// "16 x 8 f32", and what else must be the same on all ranks.
static void describeShape(const ShardRtCollective *c, char *text, size_t size) {
  static const char *const reductions[] = {"sum", "max", "min", "product", "and", "or"};
  const char *element = shardRtElementName(c->element);
  switch (c->kind) {
  case SHARD_RT_BARRIER:
    snprintf(text, size, "no elements");
    break;
  case SHARD_RT_ALL_REDUCE:
    snprintf(text, size, "%zu %s, %s", c->chunk, element, reductions[c->reduction]);
    break;
  case SHARD_RT_REDUCE_SCATTER:
    snprintf(text, size, "%zu x %zu %s, %s", c->outer, c->chunk, element, reductions[c->reduction]);
    break;
  case SHARD_RT_ALL_GATHER:
    snprintf(text, size, "%zu x %zu %s", c->outer, c->chunk, element);
    break;
  case SHARD_RT_BROADCAST:
    snprintf(text, size, "%zu %s, root %" PRId64, c->chunk, element, c->parameter);
    break;
  case SHARD_RT_PERMUTE:
    snprintf(text, size, "%zu %s, offset %" PRId64, c->chunk, element, c->parameter);
    break;
  default:
    snprintf(text, size, "%zu %s", c->chunk, element);
  }
}

ShardRtStatus shardRtLocalFailMismatch(ShardRtWorld *world, int32_t rank,
                                       const ShardRtCollective *mine, int32_t peer,
                                       const ShardRtCollective *theirs) {
  char a[448], b[448], aShape[96], bShape[96];
  shardRtDescribe(mine, a, sizeof(a));
  shardRtDescribe(theirs, b, sizeof(b));
  describeShape(mine, aShape, sizeof(aShape));
  describeShape(theirs, bShape, sizeof(bShape));
  return shardRtFail(world, rank, SHARD_RT_MISMATCH,
                     "rank %d: %s [%s] does not match rank %d's %s [%s]", rank, a, aShape, peer, b,
                     bShape);
}

ShardRtStatus shardRtLocalStartCollective(Local *local, const ShardRtGroup *group,
                                          uint64_t sequence, const ShardRtCollective *collective,
                                          ShardRtRequest *outRequest) {
  LocalGroup *shared = group->state;
  ShardRtGate *gate = &shared->gate;
  int32_t index = group->index;
  shardRtLock(&gate->mutex);
  LocalOp *op = getOp(local, shared, sequence);
  if (!op) {
    pthread_mutex_unlock(&gate->mutex);
    return SHARD_RT_OUT_OF_MEMORY;
  }
  if (op->nPosted) {
    const ShardRtCollective *theirs = &op->posts[op->first].collective;
    if (!matches(collective, theirs)) {
      ShardRtCollective copy = *theirs;
      int32_t peer = shared->ranks[op->first];
      pthread_mutex_unlock(&gate->mutex);
      return shardRtLocalFailMismatch(local->world, group->ranks[index], collective, peer, &copy);
    }
  } else {
    op->first = index;
  }
  op->posts[index].collective = *collective;
  if (!reachBuffers(local, op, index)) {
    pthread_mutex_unlock(&gate->mutex);
    return SHARD_RT_OUT_OF_MEMORY;
  }
  op->posts[index].posted = true;
  if (++op->nPosted == shared->n) {
    shardRtLocalCut(op, shared->n);
    size_t bytes = shardRtLocalBytes(collective, shared->n);
    if (!op->complete && bytes <= inlineBytes)
      work(local, op, index);
    else
      shardRtGateBroadcast(gate);
  }
  outRequest->state = op;
  outRequest->sequence = sequence;
  outRequest->index = index;
  pthread_mutex_unlock(&gate->mutex);
  return SHARD_RT_OK;
}

ShardRtStatus shardRtLocalWaitCollective(Local *local, int32_t rank, LocalOp *op, int32_t index,
                                         bool blocks, bool *outComplete) {
  ShardRtGate *gate = &op->group->gate;
  int64_t deadlineNs = 0;
  *outComplete = true;
  shardRtLock(&gate->mutex);
  for (;;) {
    if (op->complete) {
      leaveOp(local, op, index);
      break;
    }
    if (shardRtFailed(local->world)) {
      bool complete = withdrawOp(local, op, index);
      pthread_mutex_unlock(&gate->mutex);
      return complete ? SHARD_RT_OK : shardRtFailureFor(local->world, rank);
    }
    if (shardRtLocalHasWork(op)) {
      work(local, op, index);
      continue;
    }
    if (!blocks) {
      *outComplete = false;
      break;
    }
    pthread_mutex_unlock(&gate->mutex);
    if (!deadlineNs)
      deadlineNs = shardRtLocalDeadline(local);
    shardRtLocalBlock(local, rank, (LocalBlocked){.op = op}, deadlineNs);
    shardRtLock(&gate->mutex);
  }
  pthread_mutex_unlock(&gate->mutex);
  return SHARD_RT_OK;
}

bool shardRtLocalCancelCollectives(Local *local, LocalGroup *group, int32_t rank, char *text,
                                   size_t size) {
  int32_t index = 0;
  while (index < group->n && group->ranks[index] != rank)
    ++index;
  if (index == group->n)
    return false;
  bool incomplete = false;
  shardRtLock(&group->gate.mutex);
  for (LocalOp *op = group->ops, *next; op; op = next) {
    next = op->next;
    if (!op->posts[index].posted || op->posts[index].left)
      continue;
    if (!op->complete && !incomplete)
      shardRtDescribe(&op->posts[index].collective, text, size);
    incomplete |= !withdrawOp(local, op, index);
    next = group->ops; // the gate was open meanwhile
  }
  pthread_mutex_unlock(&group->gate.mutex);
  return incomplete;
}

void shardRtLocalFreeOps(ShardRtArena *arena, LocalOp *op) {
  while (op) {
    LocalOp *next = op->next;
    for (int32_t i = 0; i < op->group->n; ++i)
      shardRtRelease(arena, op->posts[i].copy);
    shardRtRelease(arena, op);
    op = next;
  }
}
