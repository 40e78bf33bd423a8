//===- Local.c - Ranks are threads, or processes with shared memory -*- C -*-===//
// The reference backend. A start posts the rank's buffers; when the last rank of the group has
// posted, the collective is a set of independent chunks, and every rank that waits for it takes
// chunks until none is left, reading and writing all ranks' buffers directly. Between processes
// that takes buffers in the world's arena; others are copied to and from it. So any order of waits
// makes progress, the work follows the threads that the machine happens to run, and nobody spins.
//
// Locks, outermost first: stuckMutex; Local.mutex; one gate (a group's or a mailbox's).
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "../Runtime.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  chunkBytes = 128 << 10,    // what a thread takes at a time
  inlineBytes = 128 << 10,   // up to here the last rank to arrive does all
  tileBytes = 16 << 10,      // stays in the first-level cache while it is copied n times
  packedBytes = 32 << 10,    // narrow columns of all ranks side by side
  streamBytes = 4 << 20,     // from here outputs bypass the caches
  streamTileBytes = 1 << 10, // short turns of reading and writing keep the memory busiest
  maxPooledMessages = 8,     // buffers kept for the next sends to a rank
};

typedef ShardRtGate Gate;

/// A collective of a group between its first start and its last wait.
typedef struct Op {
  struct Op *next;
  struct LocalGroup *group;
  uint64_t sequence;
  int32_t nPosted, nLeft; // ranks
  int32_t first;          // group index of the first rank that posted
  bool ready;             // all have posted
  bool complete;
  atomic_bool cancelled; // no chunk is begun any more
  bool streams;
  size_t nChunks, nDone;
  atomic_size_t nextChunk;
  size_t nPieces, pieceElements; // a lane is cut into nPieces chunks
  struct Post {
    bool posted, left;
    bool working;   // on chunks
    void *userRecv; // of the rank's own memory, which collective.recv stands for; or NULL
    void *copy;     // in the arena, for what is the rank's own memory; or NULL
    ShardRtCollective collective;
  } posts[]; // [n]
} Op;

typedef struct LocalGroup {
  struct LocalGroup *next;
  Gate gate; // guards the rest
  uint32_t mask;
  int32_t n;
  Op *ops;     // in flight
  Op *freeOps; // to use again
  int32_t ranks[];
} LocalGroup;

/// Bytes on their way to a rank that had not asked for them yet.
typedef struct Message {
  struct Message *next;
  int32_t source;
  ShardRtCollective collective;
  size_t capacity; // bytes behind the header
} Message;

/// Where the bytes of a message begin: the next multiple of 64.
enum { messageHeaderBytes = (sizeof(Message) + 63) / 64 * 64 };

typedef struct Receive {
  struct Receive *next;
  int32_t rank; // who receives
  ShardRtCollective collective;
  Message *message; // arrived before it was asked for
  bool copying;     // the sender writes into the receiver's buffer
  bool complete;
  int32_t sender; // of `copying`
  void *userRecv; // as of a Post
} Receive;

typedef struct Mailbox {
  Gate gate; // guards the rest
  Message *messages, **lastMessage;
  Receive *receives, **lastReceive; // in order of their start
  Message *pool;
  int32_t nPooled;
} Mailbox;

/// What a rank waits for: one of them, or nothing.
typedef struct Blocked {
  Op *op;
  Receive *receive;
} Blocked;

typedef struct LocalRank {
  Mailbox mailbox;
  Blocked blocked;      // under stuckMutex
  bool gone;            // under stuckMutex
  atomic_bool lost;     // its process was killed
  const void **sources; // scratch of its thread: [nSources]
  int32_t nSources;
} LocalRank;

typedef struct Local {
  ShardRtWorld *world;
  pthread_mutex_t stuckMutex;
  int32_t nStuck; // ranks blocked or gone, both under stuckMutex
  int32_t nGone;
  pthread_mutex_t mutex;
  LocalGroup *groups;
  LocalRank *ranks; // [world size]
} Local;

//===----------------------------------------------------------------------===//
// Moving bytes
//===----------------------------------------------------------------------===//

static size_t minimum(size_t a, size_t b) { return a < b ? a : b; }

/// Copies rows of `bytes` bytes each between places of given row strides in bytes.
static void copyRows(char *to, size_t toStride, const char *from, size_t fromStride, size_t nRows,
                     size_t bytes, bool streams) {
  if (to == from && (nRows == 1 || toStride == fromStride))
    return;
  if (toStride == bytes && fromStride == bytes) {
    bytes *= nRows;
    nRows = 1;
  }
  if (nRows == 1) {
    if (streams)
      shardRtStreamCopy(to, from, bytes);
    else
      memcpy(to, from, bytes);
    return;
  }
#define COPY_ROWS(BYTES)                                                                           \
  case BYTES:                                                                                      \
    for (size_t row = 0; row < nRows; ++row)                                                       \
      memcpy(to + row * toStride, from + row * fromStride, BYTES);                                 \
    return;
  switch (bytes) { // sizes of one or two elements become moves
    COPY_ROWS(1)
    COPY_ROWS(2)
    COPY_ROWS(4)
    COPY_ROWS(8)
    COPY_ROWS(16)
  default:
    for (size_t row = 0; row < nRows; ++row)
      memcpy(to + row * toStride, from + row * fromStride, bytes);
  }
#undef COPY_ROWS
}

/// Elements [begin, end) of all operands, into all outputs.
static void allReduceRange(Op *op, int32_t n, const void **sources, size_t begin, size_t end) {
  _Alignas(64) char tile[SHARD_RT_TILE * 8];
  const ShardRtCollective *c = &op->posts[0].collective;
  size_t size = shardRtElementSize(c->element);
  bool inPlace = c->send == c->recv; // and most likely so for the other ranks
  size_t step = op->streams && !inPlace ? streamTileBytes / size : SHARD_RT_TILE / 4;
  for (size_t at = begin; at < end; at += step) {
    size_t count = minimum(step, end - at);
    for (int32_t i = 0; i < n; ++i)
      sources[i] = (const char *)op->posts[i].collective.send + at * size;
    shardRtReduce(c->element, c->reduction, n, sources, count, tile);
    for (int32_t i = 0; i < n; ++i) {
      const ShardRtCollective *mine = &op->posts[i].collective;
      copyRows((char *)mine->recv + at * size, 0, tile, 0, 1, count * size,
               op->streams && mine->recv != mine->send);
    }
  }
}

/// Elements [begin, end) of rank `source`'s [outer, chunk], into all outputs.
static void allGatherRange(Op *op, int32_t n, int32_t source, size_t begin, size_t end) {
  const ShardRtCollective *c = &op->posts[source].collective;
  size_t size = shardRtElementSize(c->element), chunk = c->chunk;
  size_t tile = (op->streams ? streamTileBytes : tileBytes) / size;
  while (begin < end) {
    size_t row = begin / chunk, column = begin % chunk;
    size_t nRows = 1, count = minimum(minimum(chunk - column, end - begin), tile);
    if (count == chunk)
      nRows = minimum((end - begin) / chunk, tile / chunk);
    for (int32_t i = 0; i < n; ++i) {
      char *to = (char *)op->posts[i].collective.recv +
                 ((row * (size_t)n + (size_t)source) * chunk + column) * size;
      copyRows(to, (size_t)n * chunk * size, (const char *)c->send + begin * size, chunk * size,
               nRows, count * size, op->streams);
    }
    begin += nRows * count;
  }
}

/// Elements [begin, end) of rank `target`'s [outer, chunk].
static void reduceScatterRange(Op *op, int32_t n, int32_t target, const void **sources,
                               size_t begin, size_t end) {
  _Alignas(64) char tile[SHARD_RT_TILE * 8];
  _Alignas(64) char packed[packedBytes];
  const ShardRtCollective *c = &op->posts[target].collective;
  size_t size = shardRtElementSize(c->element), chunk = c->chunk, stride = (size_t)n * chunk;
  size_t nPacked = minimum(packedBytes / size / (size_t)n, SHARD_RT_TILE); // elements a rank
  while (begin < end) {
    size_t row = begin / chunk, column = begin % chunk;
    size_t nRows = 1, count = minimum(minimum(chunk - column, end - begin), SHARD_RT_TILE);
    if (count == chunk && chunk * 2 <= nPacked)
      nRows = minimum((end - begin) / chunk, nPacked / chunk);
    size_t offset = (row * stride + (size_t)target * chunk + column) * size;
    for (int32_t i = 0; i < n; ++i) {
      sources[i] = (const char *)op->posts[i].collective.send + offset;
      if (nRows > 1) {
        char *to = packed + (size_t)i * nPacked * size;
        copyRows(to, chunk * size, sources[i], stride * size, nRows, chunk * size, false);
        sources[i] = to;
      }
    }
    shardRtReduce(c->element, c->reduction, n, sources, nRows * count, tile);
    copyRows((char *)c->recv + begin * size, 0, tile, 0, 1, nRows * count * size, false);
    begin += nRows * count;
  }
}

static size_t laneCount(ShardRtKind kind, size_t n) {
  switch (kind) {
  case SHARD_RT_ALL_REDUCE:
  case SHARD_RT_BROADCAST:
    return 1;
  case SHARD_RT_ALL_GATHER:
  case SHARD_RT_REDUCE_SCATTER:
  case SHARD_RT_PERMUTE:
    return n;
  case SHARD_RT_ALL_TO_ALL:
    return n * n;
  default:
    return 0; // a barrier
  }
}

static void runChunk(Op *op, int32_t n, const void **sources, size_t index) {
  const ShardRtCollective *c = &op->posts[0].collective;
  size_t size = shardRtElementSize(c->element), lane = index / op->nPieces;
  size_t begin = index % op->nPieces * op->pieceElements;
  size_t end = minimum(begin + op->pieceElements, c->outer * c->chunk);
  size_t bytes = (end - begin) * size, at = begin * size;
  switch (c->kind) {
  case SHARD_RT_ALL_REDUCE:
    allReduceRange(op, n, sources, begin, end);
    break;
  case SHARD_RT_ALL_GATHER:
    allGatherRange(op, n, (int32_t)lane, begin, end);
    break;
  case SHARD_RT_REDUCE_SCATTER:
    reduceScatterRange(op, n, (int32_t)lane, sources, begin, end);
    break;
  case SHARD_RT_ALL_TO_ALL: {
    size_t from = lane / (size_t)n, to = lane % (size_t)n, block = c->chunk * size;
    copyRows((char *)op->posts[to].collective.recv + from * block + at, 0,
             (const char *)op->posts[from].collective.send + to * block + at, 0, 1, bytes,
             op->streams);
    break;
  }
  case SHARD_RT_BROADCAST: {
    const char *from = (const char *)op->posts[c->parameter].collective.send + at;
    size_t tile = op->streams ? streamTileBytes : tileBytes;
    for (size_t done = 0; done < bytes; done += tile)
      for (int32_t i = 0; i < n; ++i)
        copyRows((char *)op->posts[i].collective.recv + at + done, 0, from + done, 0, 1,
                 minimum(tile, bytes - done), op->streams);
    break;
  }
  case SHARD_RT_PERMUTE: {
    int64_t to = ((int64_t)lane + c->parameter % n + n) % n;
    copyRows((char *)op->posts[to].collective.recv + at, 0,
             (const char *)op->posts[lane].collective.send + at, 0, 1, bytes, op->streams);
    break;
  }
  default:
    break;
  }
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

static Gate *gateOf(Local *local, const Blocked *blocked) {
  return blocked->op ? &blocked->op->group->gate
                     : &local->ranks[blocked->receive->rank].mailbox.gate;
}

static bool hasWork(Op *op) {
  return op->ready && !atomic_load(&op->cancelled) && atomic_load(&op->nextChunk) < op->nChunks;
}

/// Whether the rank need not wait any longer. With the gate locked.
static bool canProceed(Local *local, const Blocked *blocked) {
  if (shardRtFailed(local->world))
    return true;
  if (blocked->op)
    return blocked->op->complete || hasWork(blocked->op);
  const Receive *receive = blocked->receive;
  return receive->complete || receive->message;
}

static const ShardRtCollective *collectiveOf(int32_t rank, const Blocked *blocked) {
  if (blocked->receive)
    return &blocked->receive->collective;
  for (int32_t i = 0; i < blocked->op->group->n; ++i)
    if (blocked->op->group->ranks[i] == rank)
      return &blocked->op->posts[i].collective;
  return NULL;
}

/// The first rank that a blocked rank waits for. With the gate locked.
static int32_t missingRank(const Blocked *blocked) {
  if (blocked->receive)
    return blocked->receive->collective.peer;
  for (int32_t i = 0; i < blocked->op->group->n; ++i)
    if (!blocked->op->posts[i].posted)
      return blocked->op->group->ranks[i];
  return blocked->op->group->ranks[0]; // somebody works on it: not missing, only late
}

/// Text of what a blocked rank waits in, and whom it waits for.
static int32_t describeBlocked(Local *local, int32_t rank, char *text, size_t size) {
  const Blocked *blocked = &local->ranks[rank].blocked;
  Gate *gate = gateOf(local, blocked);
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
    Gate *gate = gateOf(local, &self->blocked);
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

/// Blocks the rank until it can proceed; the world may have failed by then. No lock is held.
static void block(Local *local, int32_t rank, Blocked blocked, int64_t deadlineNs) {
  ShardRtWorld *world = local->world;
  Gate *gate = gateOf(local, &blocked);
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
  local->ranks[rank].blocked = (Blocked){NULL, NULL};
  --local->nStuck;
  pthread_mutex_unlock(&local->stuckMutex);
  if (timedOut)
    shardRtFail(world, rank, SHARD_RT_TIMED_OUT, "rank %d: %s waited %g s for rank %d", rank, text,
                (double)world->timeoutNs * 1e-9, missing);
}

static int64_t deadlineOf(const Local *local) {
  return local->world->timeoutNs ? nowNs() + local->world->timeoutNs : 0;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// Whether some rank is at work on chunks. With the gate locked.
static bool hasWorkers(Local *local, const Op *op) {
  for (int32_t i = 0; i < op->group->n; ++i)
    if (op->posts[i].working && !atomic_load(&local->ranks[op->group->ranks[i]].lost))
      return true;
  return false;
}

/// Takes chunks until none is left. Called and returns with the gate locked.
static void work(Local *local, Op *op, int32_t index) {
  LocalGroup *group = op->group;
  op->posts[index].working = true;
  pthread_mutex_unlock(&group->gate.mutex);
  const void **sources = local->ranks[group->ranks[index]].sources;
  size_t nDone = 0;
  while (!atomic_load_explicit(&op->cancelled, memory_order_relaxed)) {
    size_t chunk = atomic_fetch_add(&op->nextChunk, 1);
    if (chunk >= op->nChunks)
      break;
    runChunk(op, group->n, sources, chunk);
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
static bool reachBuffers(const Local *local, Op *op, int32_t index) {
  ShardRtArena *arena = local->world->arena;
  struct Post *post = &op->posts[index];
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
static void leaveOp(Local *local, Op *op, int32_t index) {
  LocalGroup *group = op->group;
  struct Post *post = &op->posts[index];
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
  Op **link = &group->ops;
  while (*link != op)
    link = &(*link)->next;
  *link = op->next;
  op->next = group->freeOps;
  group->freeOps = op;
}

/// Lets go of an op that will not complete: on return nobody touches the rank's buffers. Returns
/// whether it has completed after all. With the gate locked.
static bool withdrawOp(Local *local, Op *op, int32_t index) {
  Gate *gate = &op->group->gate;
  if (!op->complete)
    atomic_store(&op->cancelled, true);
  while (!op->complete && hasWorkers(local, op))
    shardRtGateWait(gate, -1);
  bool complete = op->complete;
  leaveOp(local, op, index);
  return complete;
}

/// The op of a sequence number, made by the first rank that asks. With the gate locked. NULL: out
/// of memory.
static Op *getOp(Local *local, LocalGroup *group, uint64_t sequence) {
  for (Op *op = group->ops; op; op = op->next)
    if (op->sequence == sequence)
      return op;
  size_t bytes = sizeof(Op) + (size_t)group->n * sizeof(struct Post);
  Op *op = group->freeOps;
  if (op)
    group->freeOps = op->next;
  else if (!(op = shardRtAllocate(local->world->arena, bytes)))
    return NULL;
  memset(op, 0, bytes);
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

static ShardRtStatus failMismatch(ShardRtWorld *world, int32_t rank, const ShardRtCollective *mine,
                                  int32_t peer, const ShardRtCollective *theirs) {
  char a[448], b[448], aShape[96], bShape[96];
  shardRtDescribe(mine, a, sizeof(a));
  shardRtDescribe(theirs, b, sizeof(b));
  describeShape(mine, aShape, sizeof(aShape));
  describeShape(theirs, bShape, sizeof(bShape));
  return shardRtFail(world, rank, SHARD_RT_MISMATCH,
                     "rank %d: %s [%s] does not match rank %d's %s [%s]", rank, a, aShape, peer, b,
                     bShape);
}

/// All ranks have posted: cuts the work. With the gate locked.
static void planOp(Op *op, int32_t n) {
  const ShardRtCollective *c = &op->posts[0].collective;
  op->ready = true;
  size_t nLanes = laneCount(c->kind, (size_t)n);
  if (!nLanes) {
    op->complete = true;
    return;
  }
  size_t size = shardRtElementSize(c->element), elements = c->outer * c->chunk;
  op->pieceElements = chunkBytes / size;
  op->nPieces = (elements + op->pieceElements - 1) / op->pieceElements;
  op->nChunks = nLanes * op->nPieces;
  op->streams = elements * size >= streamBytes;
}

static ShardRtStatus startCollective(Local *local, const ShardRtGroup *group, uint64_t sequence,
                                     const ShardRtCollective *collective,
                                     ShardRtRequest *outRequest) {
  LocalGroup *shared = group->state;
  Gate *gate = &shared->gate;
  int32_t index = group->index;
  shardRtLock(&gate->mutex);
  Op *op = getOp(local, shared, sequence);
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
      return failMismatch(local->world, group->ranks[index], collective, peer, &copy);
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
    planOp(op, shared->n);
    size_t bytes = collective->outer * collective->chunk * shardRtElementSize(collective->element) *
                   laneCount(collective->kind, (size_t)shared->n);
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

static ShardRtStatus waitCollective(Local *local, int32_t rank, Op *op, int32_t index, bool blocks,
                                    bool *outComplete) {
  Gate *gate = &op->group->gate;
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
    if (hasWork(op)) {
      work(local, op, index);
      continue;
    }
    if (!blocks) {
      *outComplete = false;
      break;
    }
    pthread_mutex_unlock(&gate->mutex);
    if (!deadlineNs)
      deadlineNs = deadlineOf(local);
    block(local, rank, (Blocked){.op = op}, deadlineNs);
    shardRtLock(&gate->mutex);
  }
  pthread_mutex_unlock(&gate->mutex);
  return SHARD_RT_OK;
}

//===----------------------------------------------------------------------===//
// Send and receive
//===----------------------------------------------------------------------===//

static size_t bytesOf(const ShardRtCollective *c) {
  return c->chunk * shardRtElementSize(c->element);
}

static bool messageMatches(const ShardRtCollective *send, const ShardRtCollective *receive) {
  return send->element == receive->element && send->chunk == receive->chunk &&
         send->site == receive->site;
}

static char *messageData(Message *message) { return (char *)message + messageHeaderBytes; }

/// A message with room for the bytes, from the pool if it has one. NULL: out of memory.
static Message *takeMessage(Local *local, Mailbox *mailbox, size_t bytes) {
  shardRtLock(&mailbox->gate.mutex);
  Message **best = NULL;
  for (Message **link = &mailbox->pool; *link; link = &(*link)->next)
    if ((*link)->capacity >= bytes && (!best || (*link)->capacity < (*best)->capacity))
      best = link;
  Message *message = best ? *best : NULL;
  if (message) {
    *best = message->next;
    --mailbox->nPooled;
  }
  pthread_mutex_unlock(&mailbox->gate.mutex);
  size_t all = messageHeaderBytes + (bytes + 63) / 64 * 64;
  if (!message && (message = shardRtAllocate(local->world->arena, all)))
    message->capacity = (bytes + 63) / 64 * 64;
  return message;
}

/// With the gate locked.
static void recycleMessage(Local *local, Mailbox *mailbox, Message *message) {
  if (mailbox->nPooled == maxPooledMessages) { // the smallest goes: it is the cheapest to make
    Message **least = &mailbox->pool;
    for (Message **link = &mailbox->pool; *link; link = &(*link)->next)
      if ((*link)->capacity < (*least)->capacity)
        least = link;
    Message *victim = *least;
    *least = victim->next;
    --mailbox->nPooled;
    shardRtRelease(local->world->arena, victim);
  }
  message->next = mailbox->pool;
  mailbox->pool = message;
  ++mailbox->nPooled;
}

/// The first receive that waits for a message of this source and channel. With the gate locked.
static Receive *findReceive(Mailbox *mailbox, int32_t source, int32_t channel) {
  for (Receive *receive = mailbox->receives; receive; receive = receive->next)
    if (receive->collective.peer == source && receive->collective.channel == channel &&
        !receive->message && !receive->copying && !receive->complete)
      return receive;
  return NULL;
}

static ShardRtStatus startSend(Local *local, int32_t rank, const ShardRtCollective *collective) {
  Mailbox *mailbox = &local->ranks[collective->peer].mailbox;
  Gate *gate = &mailbox->gate;
  size_t bytes = bytesOf(collective);
  Message *message = NULL;
  for (;;) {
    shardRtLock(&gate->mutex);
    Receive *receive = findReceive(mailbox, rank, collective->channel);
    if (receive && !messageMatches(collective, &receive->collective)) {
      ShardRtCollective copy = receive->collective;
      if (message)
        recycleMessage(local, mailbox, message);
      pthread_mutex_unlock(&gate->mutex);
      return failMismatch(local->world, rank, collective, collective->peer, &copy);
    }
    if (receive && message) { // it came while the bytes were copied
      receive->message = message;
      break;
    }
    if (receive) {
      receive->copying = true;
      receive->sender = rank;
      pthread_mutex_unlock(&gate->mutex);
      if (bytes)
        memcpy(receive->collective.recv, collective->send, bytes);
      shardRtLock(&gate->mutex);
      receive->copying = false;
      receive->complete = true;
      break;
    }
    if (message) {
      *mailbox->lastMessage = message;
      mailbox->lastMessage = &message->next;
      break;
    }
    pthread_mutex_unlock(&gate->mutex);
    if (!(message = takeMessage(local, mailbox, bytes)))
      return SHARD_RT_OUT_OF_MEMORY;
    message->next = NULL;
    message->source = rank;
    message->collective = *collective;
    if (bytes)
      memcpy(messageData(message), collective->send, bytes);
  }
  shardRtGateBroadcast(gate);
  pthread_mutex_unlock(&gate->mutex);
  return SHARD_RT_OK;
}

static ShardRtStatus startReceive(Local *local, int32_t rank, const ShardRtCollective *collective,
                                  ShardRtRequest *outRequest) {
  Mailbox *mailbox = &local->ranks[rank].mailbox;
  ShardRtArena *arena = local->world->arena;
  size_t bytes = bytesOf(collective);
  bool own = arena && collective->recv && !shardRtArenaHolds(arena, collective->recv);
  Receive *receive = shardRtAllocate(arena, sizeof(*receive) + (own ? 64 + bytes : 0));
  if (!receive)
    return SHARD_RT_OUT_OF_MEMORY;
  receive->rank = rank;
  receive->collective = *collective;
  if (own) { // the sender cannot reach it
    receive->userRecv = collective->recv;
    receive->collective.recv = (char *)(receive + 1);
  }
  shardRtLock(&mailbox->gate.mutex);
  Message **link = &mailbox->messages;
  while (*link && ((*link)->source != collective->peer ||
                   (*link)->collective.channel != collective->channel))
    link = &(*link)->next;
  Message *message = *link;
  if (message && !messageMatches(&message->collective, collective)) {
    ShardRtCollective copy = message->collective;
    pthread_mutex_unlock(&mailbox->gate.mutex);
    shardRtRelease(arena, receive);
    return failMismatch(local->world, rank, collective, collective->peer, &copy);
  }
  if (message) {
    *link = message->next;
    if (!*link)
      mailbox->lastMessage = link;
    receive->message = message;
  }
  *mailbox->lastReceive = receive;
  mailbox->lastReceive = &receive->next;
  pthread_mutex_unlock(&mailbox->gate.mutex);
  outRequest->state = receive;
  return SHARD_RT_OK;
}

/// Whether a sender that lives writes into the receive's buffer. With the gate locked.
static bool isCopying(Local *local, const Receive *receive) {
  return receive->copying && !atomic_load(&local->ranks[receive->sender].lost);
}

/// Takes the receive off the mailbox and frees it. With the gate locked.
static void endReceive(Local *local, Mailbox *mailbox, Receive *receive) {
  Receive **link = &mailbox->receives;
  while (*link != receive)
    link = &(*link)->next;
  *link = receive->next;
  if (!*link)
    mailbox->lastReceive = link;
  if (receive->message)
    recycleMessage(local, mailbox, receive->message);
  shardRtRelease(local->world->arena, receive);
}

static ShardRtStatus waitReceive(Local *local, int32_t rank, Receive *receive, bool blocks,
                                 bool *outComplete) {
  Mailbox *mailbox = &local->ranks[rank].mailbox;
  Gate *gate = &mailbox->gate;
  int64_t deadlineNs = 0;
  ShardRtStatus status = SHARD_RT_OK;
  *outComplete = true;
  shardRtLock(&gate->mutex);
  for (;;) {
    if (receive->message) {
      size_t bytes = bytesOf(&receive->collective);
      pthread_mutex_unlock(&gate->mutex);
      void *to = receive->userRecv ? receive->userRecv : receive->collective.recv;
      if (bytes)
        memcpy(to, messageData(receive->message), bytes);
      shardRtLock(&gate->mutex);
      endReceive(local, mailbox, receive);
      break;
    }
    if (receive->complete) {
      if (receive->userRecv && bytesOf(&receive->collective))
        memcpy(receive->userRecv, receive->collective.recv, bytesOf(&receive->collective));
      endReceive(local, mailbox, receive);
      break;
    }
    if (shardRtFailed(local->world)) {
      while (isCopying(local, receive))
        shardRtGateWait(gate, -1);
      if (!receive->complete)
        status = shardRtFailureFor(local->world, rank);
      endReceive(local, mailbox, receive);
      break;
    }
    if (!blocks) {
      *outComplete = false;
      break;
    }
    pthread_mutex_unlock(&gate->mutex);
    if (!deadlineNs)
      deadlineNs = deadlineOf(local);
    block(local, rank, (Blocked){.receive = receive}, deadlineNs);
    shardRtLock(&gate->mutex);
  }
  pthread_mutex_unlock(&gate->mutex);
  return status;
}

//===----------------------------------------------------------------------===//
// The backend
//===----------------------------------------------------------------------===//

static void freeMessages(ShardRtArena *arena, Message *message) {
  while (message) {
    Message *next = message->next;
    shardRtRelease(arena, message);
    message = next;
  }
}

static void freeOps(ShardRtArena *arena, Op *op) {
  while (op) {
    Op *next = op->next;
    for (int32_t i = 0; i < op->group->n; ++i)
      shardRtRelease(arena, op->posts[i].copy);
    shardRtRelease(arena, op);
    op = next;
  }
}

/// Forgets what is in flight; the pool stays.
static void resetMailbox(ShardRtArena *arena, Mailbox *mailbox) {
  freeMessages(arena, mailbox->messages);
  mailbox->messages = NULL;
  mailbox->lastMessage = &mailbox->messages;
  while (mailbox->receives) {
    Receive *next = mailbox->receives->next;
    shardRtRelease(arena, mailbox->receives->message);
    shardRtRelease(arena, mailbox->receives);
    mailbox->receives = next;
  }
  mailbox->lastReceive = &mailbox->receives;
}

/// After a rank was killed: its last changes may be half made, so that nothing is walked. What they
/// hold is lost until the world ends.
static void forgetLocal(Local *local) {
  for (LocalGroup *group = local->groups; group; group = group->next)
    group->ops = group->freeOps = NULL;
  for (int32_t rank = 0; rank < local->world->size; ++rank) {
    LocalRank *self = &local->ranks[rank];
    self->mailbox.messages = self->mailbox.pool = NULL;
    self->mailbox.lastMessage = &self->mailbox.messages;
    self->mailbox.receives = NULL;
    self->mailbox.lastReceive = &self->mailbox.receives;
    self->mailbox.nPooled = 0;
    self->blocked = (Blocked){NULL, NULL};
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
    freeOps(local->world->arena, group->ops);
    group->ops = NULL;
  }
  for (int32_t rank = 0; rank < local->world->size; ++rank)
    resetMailbox(local->world->arena, &local->ranks[rank].mailbox);
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
    freeOps(arena, group->ops);
    freeOps(arena, group->freeOps);
    shardRtGateDestroy(&group->gate);
    shardRtRelease(arena, group);
  }
  for (int32_t rank = 0; rank < local->world->size; ++rank) {
    LocalRank *self = &local->ranks[rank];
    resetMailbox(arena, &self->mailbox);
    freeMessages(arena, self->mailbox.pool);
    shardRtGateDestroy(&self->mailbox.gate);
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
    Mailbox *mailbox = &local->ranks[nGates].mailbox;
    if (!shardRtGateInit(&mailbox->gate, arena != NULL))
      goto destroyGates;
    resetMailbox(arena, mailbox);
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
    shared->next = local->groups;
    local->groups = shared;
  }
  group->state = shared;
  status = SHARD_RT_OK;
unlock:
  pthread_mutex_unlock(&local->mutex);
  return status;
}

static void joinLocal(void *state, int32_t rank) {
  Local *local = state;
  shardRtLock(&local->stuckMutex);
  if (local->ranks[rank].gone) {
    --local->nStuck;
    --local->nGone;
  }
  local->ranks[rank].gone = false;
  pthread_mutex_unlock(&local->stuckMutex);
}

static void leaveLocal(void *state, int32_t rank) {
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

static ShardRtStatus startLocal(void *state, ShardRtComm *comm, const ShardRtGroup *group,
                                uint64_t sequence, const ShardRtCollective *collective,
                                ShardRtRequest *outRequest) {
  if (group)
    return startCollective(state, group, sequence, collective, outRequest);
  if (collective->isReceive)
    return startReceive(state, comm->rank, collective, outRequest);
  return startSend(state, comm->rank, collective);
}

static bool isReceive(const ShardRtRequest *request) { return request->kind == SHARD_RT_SEND; }

static ShardRtStatus waitLocal(void *state, ShardRtComm *comm, ShardRtRequest *request, bool blocks,
                               bool *outComplete) {
  if (isReceive(request))
    return waitReceive(state, comm->rank, request->state, blocks, outComplete);
  return waitCollective(state, comm->rank, request->state, request->index, blocks, outComplete);
}

static void describeLocal(void *state, const ShardRtRequest *request, char *text, size_t size) {
  Local *local = state;
  if (isReceive(request)) {
    Receive *receive = request->state;
    Gate *gate = &local->ranks[receive->rank].mailbox.gate;
    shardRtLock(&gate->mutex);
    shardRtDescribe(&receive->collective, text, size);
    pthread_mutex_unlock(&gate->mutex);
    return;
  }
  Op *op = request->state;
  shardRtLock(&op->group->gate.mutex);
  shardRtDescribe(&op->posts[request->index].collective, text, size);
  pthread_mutex_unlock(&op->group->gate.mutex);
}

/// Gives up the rank's requests on one group.
static bool cancelInGroup(Local *local, LocalGroup *group, int32_t rank, char *text, size_t size) {
  int32_t index = 0;
  while (index < group->n && group->ranks[index] != rank)
    ++index;
  if (index == group->n)
    return false;
  bool incomplete = false;
  shardRtLock(&group->gate.mutex);
  for (Op *op = group->ops, *next; op; op = next) {
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

static bool cancelLocal(void *state, int32_t rank, char *text, size_t size) {
  Local *local = state;
  bool incomplete = false;
  // Groups are only added, and those of this rank only by its own thread.
  shardRtLock(&local->mutex);
  LocalGroup *first = local->groups;
  pthread_mutex_unlock(&local->mutex);
  for (LocalGroup *group = first; group; group = group->next)
    incomplete |= cancelInGroup(local, group, rank, text, size);
  Mailbox *mailbox = &local->ranks[rank].mailbox;
  shardRtLock(&mailbox->gate.mutex);
  while (mailbox->receives) {
    Receive *receive = mailbox->receives;
    while (isCopying(local, receive))
      shardRtGateWait(&mailbox->gate, -1);
    if (!receive->complete && !receive->message) {
      if (!incomplete)
        shardRtDescribe(&receive->collective, text, size);
      incomplete = true;
    }
    endReceive(local, mailbox, receive);
  }
  pthread_mutex_unlock(&mailbox->gate.mutex);
  return incomplete;
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
    Gate *gate = &local->ranks[rank].mailbox.gate;
    shardRtLock(&gate->mutex);
    shardRtGateBroadcast(gate);
    pthread_mutex_unlock(&gate->mutex);
  }
  pthread_mutex_unlock(&local->mutex);
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
    .join = joinLocal,
    .leave = leaveLocal,
    .start = startLocal,
    .wait = waitLocal,
    .describe = describeLocal,
    .cancel = cancelLocal,
    .wake = wakeLocal,
    .lost = loseLocal,
    .reset = resetLocal,
};
