//===- Runtime.h - What the parts of the runtime share ------------*- C -*-===//
// World.c owns failure and threads, Comm.c checks and dispatches, Context.c is what generated code
// calls, Reduce.c combines elements, a backend moves bytes.
//===----------------------------------------------------------------------===//
#ifndef SHARD_LIB_RUNTIME_RUNTIME_H
#define SHARD_LIB_RUNTIME_RUNTIME_H

#include "shard/Program.h"
#include "shard/Runtime.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define SHARD_RT_MAX_AXES 30

//===----------------------------------------------------------------------===//
// Shared.c
//===----------------------------------------------------------------------===//

/// Memory of ranks that are processes: at the same address in all that were forked after its
/// creation. Thread-safe.
typedef struct ShardRtArena ShardRtArena;
ShardRtArena *shardRtArenaCreate(void);        // NULL: no room
void shardRtArenaDestroy(ShardRtArena *arena); // NULL is fine
bool shardRtArenaHolds(const ShardRtArena *arena, const void *memory);
/// 64-byte aligned and zero; from malloc when `arena` is NULL. NULL: out of memory.
void *shardRtAllocate(ShardRtArena *arena, size_t bytes);
void shardRtRelease(ShardRtArena *arena, void *memory); // NULL is fine

bool shardRtMutexInit(pthread_mutex_t *mutex, bool isolated);
/// Also when its owner has died.
void shardRtLock(pthread_mutex_t *mutex);

/// A mutex, and a place to sleep until what it guards has changed.
typedef struct ShardRtGate {
  pthread_mutex_t mutex;
  atomic_uint epoch;
  int32_t nWaiting;
  bool isolated;
} ShardRtGate;
bool shardRtGateInit(ShardRtGate *gate, bool isolated);
void shardRtGateDestroy(ShardRtGate *gate);
/// With the mutex locked, before and after; may return early. `timeoutNs` below 0: no limit. False:
/// it has passed.
bool shardRtGateWait(ShardRtGate *gate, int64_t timeoutNs);
void shardRtGateBroadcast(ShardRtGate *gate); // with the mutex locked

//===----------------------------------------------------------------------===//
// What a backend sees
//===----------------------------------------------------------------------===//

/// A collective with its arguments checked: pointers valid, byte counts fit in size_t.
typedef struct ShardRtCollective {
  ShardRtKind kind;
  bool isReceive; // of kind send
  ShardRtElement element;
  ShardRtReduction reduction;
  const void *send;
  void *recv;
  size_t outer, chunk;   // elements; outer is 1 where the collective has no such dimension
  int64_t parameter;     // root of a broadcast, offset of a permute
  int32_t peer, channel; // of a send or receive
  ShardRtSite site;
  uint64_t call;        // 1 is the first call of the site since the rank's step began; 0 unknown
  const char *location; // of the source op; NULL unknown
} ShardRtCollective;

/// The ranks of a mask around one rank. Lives as long as the world.
typedef struct ShardRtGroup {
  struct ShardRtGroup *next;
  uint32_t mask;
  int32_t n, index;
  uint64_t sequence; // of the next collective on it
  void *state;       // the backend's
  int32_t ranks[];   // [n] world ranks in order of the group index
} ShardRtGroup;

/// All of one world's bytes move through one of these. No function is called with a lock held that
/// `wake` takes, and `wake` may come from any thread.
typedef struct ShardRtBackend {
  const char *name;
  ShardRtStatus (*open)(ShardRtWorld *world, void **outState);
  void (*close)(void *state);
  /// Sets group->state.
  ShardRtStatus (*openGroup)(void *state, ShardRtGroup *group);
  /// Memory for messages that a rank will be sent before it asks for them.
  ShardRtStatus (*prepare)(void *state, int32_t rank, int32_t nMessages,
                           const ShardProgramMessage *messages);
  /// Bytes of that memory, and the most of it that was in use.
  void (*measure)(void *state, int32_t rank, size_t *outPlanned, size_t *outMost);
  /// A rank's end is taken or given back. `leave` comes after `cancel`.
  void (*join)(void *state, int32_t rank);
  void (*leave)(void *state, int32_t rank);
  /// Starts one. group is NULL for send and receive. On failure there is no request.
  ShardRtStatus (*start)(void *state, ShardRtComm *comm, const ShardRtGroup *group,
                         uint64_t sequence, const ShardRtCollective *collective,
                         ShardRtRequest *outRequest);
  /// Waits (or, unless `block`, looks) until it is complete. On failure the request is void.
  ShardRtStatus (*wait)(void *state, ShardRtComm *comm, ShardRtRequest *request, bool block,
                        bool *outComplete);
  /// Text of the collective of a request in flight.
  void (*describe)(void *state, const ShardRtRequest *request, char *text, size_t size);
  /// Gives up every request of a rank; on return its buffers are not touched. Returns whether one
  /// was incomplete, whose text is then in `text`.
  bool (*cancel)(void *state, int32_t rank, char *text, size_t size);
  /// The world has failed: every wait returns.
  void (*wake)(void *state);
  /// The rank's process has ended without leaving: nobody waits for what it was doing.
  void (*lost)(void *state, int32_t rank);
  /// Forgets everything in flight. No rank is inside a call.
  void (*reset)(void *state);
} ShardRtBackend;

extern const ShardRtBackend shardRtLocalBackend;

struct ShardRtComm {
  ShardRtWorld *world;
  int32_t rank;
  bool taken; // under the world's mutex
  int64_t coordinates[SHARD_RT_MAX_AXES];
  ShardRtGroup *groups;
  int32_t nSites;
  const struct ShardProgramSite *sites;
  uint64_t *siteCalls; // [nSites] since the step began
  int64_t bytes[SHARD_RT_N_KINDS];
  ShardRtCollective last; // the last one that was started
  bool hasLast;
};

struct ShardRtWorld {
  int32_t nAxes, size;
  int64_t axisSizes[SHARD_RT_MAX_AXES];
  const ShardRtBackend *backend;
  void *state;
  int64_t timeoutNs;
  ShardRtArena *arena;   // ranks are processes; NULL: threads
  pthread_mutex_t mutex; // guards what follows and `taken`
  atomic_int status;     // ShardRtStatus; written once under the mutex, after the text
  int32_t failedRank;
  char *error;        // owned, unless it is outOfMemoryText
  ShardRtComm *comms; // [size]
};

/// Records the first failure of the world and wakes all ranks. `rank` -1: none. Returns what the
/// call of rank `caller` shall return. Must not be called with a backend's lock held.
ShardRtStatus shardRtFail(ShardRtWorld *world, int32_t rank, ShardRtStatus status,
                          const char *format, ...) __attribute__((format(printf, 4, 5)));

static inline bool shardRtFailed(const ShardRtWorld *world) {
  return atomic_load_explicit(&world->status, memory_order_acquire) != SHARD_RT_OK;
}

/// What a call of `rank` returns in a failed world.
ShardRtStatus shardRtFailureFor(ShardRtWorld *world, int32_t rank);

/// "all-reduce of model.mlir:4:7 (site 3, call 1)".
void shardRtDescribe(const ShardRtCollective *collective, char *text, size_t size);

/// Location of the source op of a site; "" if it is not known.
const char *shardRtSiteLocation(const ShardRtComm *comm, ShardRtSite site);

/// "; its last collective was all-reduce ...", or "" if there was none.
void shardRtDescribeLast(const ShardRtComm *comm, char *text, size_t size);

/// Gives up every request of the rank; an incomplete one stops the world.
void shardRtCommCancel(ShardRtComm *comm);

/// The group of a valid mask, made at its first use. NULL: out of memory.
ShardRtGroup *shardRtCommGetGroup(ShardRtComm *comm, uint32_t mask);

/// A new step of the program begins: counts calls from 1 again.
void shardRtCommBeginStep(ShardRtComm *comm);

size_t shardRtElementSize(ShardRtElement element); // bytes; 0: no such element
const char *shardRtElementName(ShardRtElement element);

//===----------------------------------------------------------------------===//
// Reduce.c
//===----------------------------------------------------------------------===//

/// Elements that one shardRtReduce call takes at most.
#define SHARD_RT_TILE 2048

bool shardRtReductionIsValid(ShardRtElement element, ShardRtReduction reduction);

/// out[i] = sources[0][i] op sources[1][i] op ..., from left to right, for count <= SHARD_RT_TILE.
/// `out` overlaps no source.
void shardRtReduce(ShardRtElement element, ShardRtReduction reduction, int32_t n,
                   const void *const *sources, size_t count, void *out);

/// memcpy that leaves the caches alone where the machine can; for outputs larger than they are.
/// Other threads see the bytes once they see a release that follows the fence.
void shardRtStreamCopy(void *restrict to, const void *restrict from, size_t bytes);
void shardRtStreamFence(void);

#endif // SHARD_LIB_RUNTIME_RUNTIME_H
