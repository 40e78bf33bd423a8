//===- Local.c - Ranks are threads of one process -----------------*- C -*-===//
// The reference backend. A start posts the rank's buffers; when the last rank of the group has
// posted, the collective is a set of independent chunks, and every rank that waits for it takes
// chunks until none is left, reading and writing all ranks' buffers directly. So any order of waits
// makes progress, the work follows the threads that the machine happens to run, and nobody spins.
//
// Locks, outermost first: stuckMutex; Local.mutex; one gate (a group's or a mailbox's).
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "../Runtime.h"

#include <errno.h>
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

typedef struct Gate {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
} Gate;

/// A collective of a group between its first start and its last wait.
typedef struct Op {
  struct Op *next;
  struct LocalGroup *group;
  uint64_t sequence;
  int32_t nPosted, nLeft; // ranks
  int32_t first;          // group index of the first rank that posted
  int32_t nWorkers;       // ranks at work on chunks
  bool ready;             // all have posted
  bool complete;
  atomic_bool cancelled; // no chunk is begun any more
  bool streams;
  size_t nChunks, nDone;
  atomic_size_t nextChunk;
  size_t nPieces, pieceElements; // a lane is cut into nPieces chunks
  struct Post {
    bool posted, left;
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
  pthread_mutex_lock(&gate->mutex);
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
    pthread_mutex_lock(&gate->mutex);
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
  pthread_mutex_lock(&local->stuckMutex);
  local->ranks[rank].blocked = blocked;
  ++local->nStuck;
  bool stuck = isStuck(local, &stuckRank, text, sizeof(text));
  pthread_mutex_unlock(&local->stuckMutex);
  if (stuck)
    failStuck(local, stuckRank, text);

  bool timedOut = false;
  struct timespec deadline = {.tv_sec = (time_t)(deadlineNs / 1000000000),
                              .tv_nsec = (long)(deadlineNs % 1000000000)};
  pthread_mutex_lock(&gate->mutex);
  while (!timedOut && !canProceed(local, &blocked)) {
    if (world->timeoutNs)
      timedOut = pthread_cond_timedwait(&gate->changed, &gate->mutex, &deadline) == ETIMEDOUT &&
                 !canProceed(local, &blocked);
    else
      pthread_cond_wait(&gate->changed, &gate->mutex);
  }
  int32_t missing = 0;
  if (timedOut) {
    missing = missingRank(&blocked);
    shardRtDescribe(collectiveOf(rank, &blocked), text, sizeof(text));
  }
  pthread_mutex_unlock(&gate->mutex);

  pthread_mutex_lock(&local->stuckMutex);
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

/// Takes chunks until none is left. Called and returns with the gate locked.
static void work(Local *local, Op *op, int32_t index) {
  LocalGroup *group = op->group;
  ++op->nWorkers;
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
  pthread_mutex_lock(&group->gate.mutex);
  --op->nWorkers;
  op->nDone += nDone;
  if (op->nDone == op->nChunks)
    op->complete = true;
  if (op->complete || !op->nWorkers)
    pthread_cond_broadcast(&group->gate.changed);
}

/// The rank has done with the op; the last one recycles it. With the gate locked.
static void leaveOp(Op *op, int32_t index) {
  LocalGroup *group = op->group;
  op->posts[index].left = true;
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
static bool withdrawOp(Op *op, int32_t index) {
  Gate *gate = &op->group->gate;
  if (!op->complete)
    atomic_store(&op->cancelled, true);
  while (!op->complete && op->nWorkers)
    pthread_cond_wait(&gate->changed, &gate->mutex);
  bool complete = op->complete;
  leaveOp(op, index);
  return complete;
}

/// The op of a sequence number, made by the first rank that asks. With the gate locked. NULL: out
/// of memory.
static Op *getOp(LocalGroup *group, uint64_t sequence) {
  for (Op *op = group->ops; op; op = op->next)
    if (op->sequence == sequence)
      return op;
  size_t bytes = sizeof(Op) + (size_t)group->n * sizeof(struct Post);
  Op *op = group->freeOps;
  if (op)
    group->freeOps = op->next;
  else if (!(op = malloc(bytes)))
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
  pthread_mutex_lock(&gate->mutex);
  Op *op = getOp(shared, sequence);
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
  op->posts[index].posted = true;
  if (++op->nPosted == shared->n) {
    planOp(op, shared->n);
    size_t bytes = collective->outer * collective->chunk * shardRtElementSize(collective->element) *
                   laneCount(collective->kind, (size_t)shared->n);
    if (!op->complete && bytes <= inlineBytes)
      work(local, op, index);
    else
      pthread_cond_broadcast(&gate->changed);
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
  pthread_mutex_lock(&gate->mutex);
  for (;;) {
    if (op->complete) {
      leaveOp(op, index);
      break;
    }
    if (shardRtFailed(local->world)) {
      bool complete = withdrawOp(op, index);
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
    pthread_mutex_lock(&gate->mutex);
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
static Message *takeMessage(Mailbox *mailbox, size_t bytes) {
  pthread_mutex_lock(&mailbox->gate.mutex);
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
  if (!message && (message = aligned_alloc(64, messageHeaderBytes + (bytes + 63) / 64 * 64)))
    message->capacity = (bytes + 63) / 64 * 64;
  return message;
}

/// With the gate locked.
static void recycleMessage(Mailbox *mailbox, Message *message) {
  if (mailbox->nPooled == maxPooledMessages) { // the smallest goes: it is the cheapest to make
    Message **least = &mailbox->pool;
    for (Message **link = &mailbox->pool; *link; link = &(*link)->next)
      if ((*link)->capacity < (*least)->capacity)
        least = link;
    Message *victim = *least;
    *least = victim->next;
    --mailbox->nPooled;
    free(victim);
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
    pthread_mutex_lock(&gate->mutex);
    Receive *receive = findReceive(mailbox, rank, collective->channel);
    if (receive && !messageMatches(collective, &receive->collective)) {
      ShardRtCollective copy = receive->collective;
      if (message)
        recycleMessage(mailbox, message);
      pthread_mutex_unlock(&gate->mutex);
      return failMismatch(local->world, rank, collective, collective->peer, &copy);
    }
    if (receive && message) { // it came while the bytes were copied
      receive->message = message;
      break;
    }
    if (receive) {
      receive->copying = true;
      pthread_mutex_unlock(&gate->mutex);
      if (bytes)
        memcpy(receive->collective.recv, collective->send, bytes);
      pthread_mutex_lock(&gate->mutex);
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
    if (!(message = takeMessage(mailbox, bytes)))
      return SHARD_RT_OUT_OF_MEMORY;
    message->next = NULL;
    message->source = rank;
    message->collective = *collective;
    if (bytes)
      memcpy(messageData(message), collective->send, bytes);
  }
  pthread_cond_broadcast(&gate->changed);
  pthread_mutex_unlock(&gate->mutex);
  return SHARD_RT_OK;
}

static ShardRtStatus startReceive(Local *local, int32_t rank, const ShardRtCollective *collective,
                                  ShardRtRequest *outRequest) {
  Mailbox *mailbox = &local->ranks[rank].mailbox;
  Receive *receive = calloc(1, sizeof(*receive));
  if (!receive)
    return SHARD_RT_OUT_OF_MEMORY;
  receive->rank = rank;
  receive->collective = *collective;
  pthread_mutex_lock(&mailbox->gate.mutex);
  Message **link = &mailbox->messages;
  while (*link && ((*link)->source != collective->peer ||
                   (*link)->collective.channel != collective->channel))
    link = &(*link)->next;
  Message *message = *link;
  if (message && !messageMatches(&message->collective, collective)) {
    ShardRtCollective copy = message->collective;
    pthread_mutex_unlock(&mailbox->gate.mutex);
    free(receive);
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

/// Takes the receive off the mailbox and frees it. With the gate locked.
static void endReceive(Mailbox *mailbox, Receive *receive) {
  Receive **link = &mailbox->receives;
  while (*link != receive)
    link = &(*link)->next;
  *link = receive->next;
  if (!*link)
    mailbox->lastReceive = link;
  if (receive->message)
    recycleMessage(mailbox, receive->message);
  free(receive);
}

static ShardRtStatus waitReceive(Local *local, int32_t rank, Receive *receive, bool blocks,
                                 bool *outComplete) {
  Mailbox *mailbox = &local->ranks[rank].mailbox;
  Gate *gate = &mailbox->gate;
  int64_t deadlineNs = 0;
  ShardRtStatus status = SHARD_RT_OK;
  *outComplete = true;
  pthread_mutex_lock(&gate->mutex);
  for (;;) {
    if (receive->message) {
      size_t bytes = bytesOf(&receive->collective);
      pthread_mutex_unlock(&gate->mutex);
      if (bytes)
        memcpy(receive->collective.recv, messageData(receive->message), bytes);
      pthread_mutex_lock(&gate->mutex);
      endReceive(mailbox, receive);
      break;
    }
    if (receive->complete) {
      endReceive(mailbox, receive);
      break;
    }
    if (shardRtFailed(local->world)) {
      while (receive->copying)
        pthread_cond_wait(&gate->changed, &gate->mutex);
      if (!receive->complete)
        status = shardRtFailureFor(local->world, rank);
      endReceive(mailbox, receive);
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
    pthread_mutex_lock(&gate->mutex);
  }
  pthread_mutex_unlock(&gate->mutex);
  return status;
}

//===----------------------------------------------------------------------===//
// The backend
//===----------------------------------------------------------------------===//

static bool initGate(Gate *gate) {
  pthread_condattr_t attributes;
  if (pthread_condattr_init(&attributes))
    return false;
  bool good = !pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) &&
              !pthread_cond_init(&gate->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  if (!good)
    return false;
  if (!pthread_mutex_init(&gate->mutex, NULL))
    return true;
  pthread_cond_destroy(&gate->changed);
  return false;
}

static void destroyGate(Gate *gate) {
  pthread_mutex_destroy(&gate->mutex);
  pthread_cond_destroy(&gate->changed);
}

static void freeMessages(Message *message) {
  while (message) {
    Message *next = message->next;
    free(message);
    message = next;
  }
}

static void freeOps(Op *op) {
  while (op) {
    Op *next = op->next;
    free(op);
    op = next;
  }
}

/// Forgets what is in flight; the pool stays.
static void resetMailbox(Mailbox *mailbox) {
  freeMessages(mailbox->messages);
  mailbox->messages = NULL;
  mailbox->lastMessage = &mailbox->messages;
  while (mailbox->receives) {
    Receive *next = mailbox->receives->next;
    free(mailbox->receives->message);
    free(mailbox->receives);
    mailbox->receives = next;
  }
  mailbox->lastReceive = &mailbox->receives;
}

static void resetLocal(void *state) {
  Local *local = state;
  pthread_mutex_lock(&local->mutex);
  for (LocalGroup *group = local->groups; group; group = group->next) {
    freeOps(group->ops);
    group->ops = NULL;
  }
  for (int32_t rank = 0; rank < local->world->size; ++rank)
    resetMailbox(&local->ranks[rank].mailbox);
  pthread_mutex_unlock(&local->mutex);
  pthread_mutex_lock(&local->stuckMutex);
  local->nStuck = local->nGone = 0;
  for (int32_t rank = 0; rank < local->world->size; ++rank)
    local->ranks[rank].gone = false;
  pthread_mutex_unlock(&local->stuckMutex);
}

static void closeLocal(void *state) {
  Local *local = state;
  while (local->groups) {
    LocalGroup *group = local->groups;
    local->groups = group->next;
    freeOps(group->ops);
    freeOps(group->freeOps);
    destroyGate(&group->gate);
    free(group);
  }
  for (int32_t rank = 0; rank < local->world->size; ++rank) {
    LocalRank *self = &local->ranks[rank];
    resetMailbox(&self->mailbox);
    freeMessages(self->mailbox.pool);
    destroyGate(&self->mailbox.gate);
    free(self->sources);
  }
  free(local->ranks);
  pthread_mutex_destroy(&local->mutex);
  pthread_mutex_destroy(&local->stuckMutex);
  free(local);
}

static ShardRtStatus openLocal(ShardRtWorld *world, void **outState) {
  Local *local = calloc(1, sizeof(*local));
  if (!local)
    return SHARD_RT_OUT_OF_MEMORY;
  local->world = world;
  int32_t nGates = 0;
  local->ranks = calloc((size_t)world->size, sizeof(*local->ranks));
  if (!local->ranks)
    goto freeLocal;
  for (; nGates < world->size; ++nGates) {
    Mailbox *mailbox = &local->ranks[nGates].mailbox;
    if (!initGate(&mailbox->gate))
      goto destroyGates;
    resetMailbox(mailbox);
  }
  if (pthread_mutex_init(&local->mutex, NULL))
    goto destroyGates;
  if (pthread_mutex_init(&local->stuckMutex, NULL))
    goto destroyMutex;
  *outState = local;
  return SHARD_RT_OK;

destroyMutex:
  pthread_mutex_destroy(&local->mutex);
destroyGates:
  while (nGates)
    destroyGate(&local->ranks[--nGates].mailbox.gate);
  free(local->ranks);
freeLocal:
  free(local);
  return SHARD_RT_OUT_OF_MEMORY;
}

static ShardRtStatus openLocalGroup(void *state, ShardRtGroup *group) {
  Local *local = state;
  LocalRank *self = &local->ranks[group->ranks[group->index]];
  if (self->nSources < group->n) {
    const void **sources = realloc(self->sources, (size_t)group->n * sizeof(*sources));
    if (!sources)
      return SHARD_RT_OUT_OF_MEMORY;
    self->sources = sources;
    self->nSources = group->n;
  }
  ShardRtStatus status = SHARD_RT_OUT_OF_MEMORY;
  pthread_mutex_lock(&local->mutex);
  LocalGroup *shared = local->groups;
  while (shared && (shared->mask != group->mask || shared->ranks[0] != group->ranks[0]))
    shared = shared->next;
  if (!shared) {
    size_t bytes = (size_t)group->n * sizeof(group->ranks[0]);
    shared = calloc(1, sizeof(*shared) + bytes);
    if (!shared)
      goto unlock;
    if (!initGate(&shared->gate)) {
      free(shared);
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
  pthread_mutex_lock(&local->stuckMutex);
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
  pthread_mutex_lock(&local->stuckMutex);
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
    pthread_mutex_lock(&gate->mutex);
    shardRtDescribe(&receive->collective, text, size);
    pthread_mutex_unlock(&gate->mutex);
    return;
  }
  Op *op = request->state;
  pthread_mutex_lock(&op->group->gate.mutex);
  shardRtDescribe(&op->posts[request->index].collective, text, size);
  pthread_mutex_unlock(&op->group->gate.mutex);
}

/// Gives up the rank's requests on one group.
static bool cancelInGroup(LocalGroup *group, int32_t rank, char *text, size_t size) {
  int32_t index = 0;
  while (index < group->n && group->ranks[index] != rank)
    ++index;
  if (index == group->n)
    return false;
  bool incomplete = false;
  pthread_mutex_lock(&group->gate.mutex);
  for (Op *op = group->ops, *next; op; op = next) {
    next = op->next;
    if (!op->posts[index].posted || op->posts[index].left)
      continue;
    if (!op->complete && !incomplete)
      shardRtDescribe(&op->posts[index].collective, text, size);
    incomplete |= !withdrawOp(op, index);
    next = group->ops; // the gate was open meanwhile
  }
  pthread_mutex_unlock(&group->gate.mutex);
  return incomplete;
}

static bool cancelLocal(void *state, int32_t rank, char *text, size_t size) {
  Local *local = state;
  bool incomplete = false;
  // Groups are only added, and those of this rank only by its own thread.
  pthread_mutex_lock(&local->mutex);
  LocalGroup *first = local->groups;
  pthread_mutex_unlock(&local->mutex);
  for (LocalGroup *group = first; group; group = group->next)
    incomplete |= cancelInGroup(group, rank, text, size);
  Mailbox *mailbox = &local->ranks[rank].mailbox;
  pthread_mutex_lock(&mailbox->gate.mutex);
  while (mailbox->receives) {
    Receive *receive = mailbox->receives;
    while (receive->copying)
      pthread_cond_wait(&mailbox->gate.changed, &mailbox->gate.mutex);
    if (!receive->complete && !receive->message) {
      if (!incomplete)
        shardRtDescribe(&receive->collective, text, size);
      incomplete = true;
    }
    endReceive(mailbox, receive);
  }
  pthread_mutex_unlock(&mailbox->gate.mutex);
  return incomplete;
}

static void wakeLocal(void *state) {
  Local *local = state;
  pthread_mutex_lock(&local->mutex);
  for (LocalGroup *group = local->groups; group; group = group->next) {
    pthread_mutex_lock(&group->gate.mutex);
    pthread_cond_broadcast(&group->gate.changed);
    pthread_mutex_unlock(&group->gate.mutex);
  }
  for (int32_t rank = 0; rank < local->world->size; ++rank) {
    Gate *gate = &local->ranks[rank].mailbox.gate;
    pthread_mutex_lock(&gate->mutex);
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->mutex);
  }
  pthread_mutex_unlock(&local->mutex);
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
    .reset = resetLocal,
};
