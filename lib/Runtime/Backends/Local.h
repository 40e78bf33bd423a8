//===- Local.h - Parts of the local backend ------------------------*- C -*-===//
// Local.c is the backend, LocalChunks.c moves the bytes of a collective, LocalCollectives.c starts
// and awaits it, LocalMail.c sends and receives, LocalBlocked.c puts ranks to sleep and sees when
// all sleep.
//
// Locks, outermost first: stuckMutex; Local.mutex; one gate (a group's or a mailbox's).
//===----------------------------------------------------------------------===//
#ifndef SHARD_LIB_RUNTIME_BACKENDS_LOCAL_H
#define SHARD_LIB_RUNTIME_BACKENDS_LOCAL_H

#include "../Runtime.h"

/// A collective of a group between its first start and its last wait.
typedef struct LocalOp {
  struct LocalOp *next;
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
  struct LocalPost {
    bool posted, left;
    bool working;   // on chunks
    void *userRecv; // of the rank's own memory, which collective.recv stands for; or NULL
    void *copy;     // in the arena, for what is the rank's own memory; or NULL
    ShardRtCollective collective;
  } posts[]; // [n]
} LocalOp;

typedef struct LocalGroup {
  struct LocalGroup *next;
  ShardRtGate gate; // guards the rest
  uint32_t mask;
  int32_t n;
  LocalOp *ops;     // in flight
  LocalOp *freeOps; // to use again
  int32_t ranks[];
} LocalGroup;

typedef struct LocalMessage LocalMessage;

typedef struct LocalReceive {
  struct LocalReceive *next;
  int32_t rank; // who receives
  ShardRtCollective collective;
  LocalMessage *message; // arrived before it was asked for
  bool copying;          // the sender writes into the receiver's buffer
  bool complete;
  int32_t sender; // of `copying`
  void *userRecv; // as of a LocalPost
} LocalReceive;

typedef struct LocalMailbox {
  ShardRtGate gate; // guards the rest
  LocalMessage *messages, **lastMessage;
  LocalReceive *receives, **lastReceive; // in order of their start
  LocalReceive *freeReceives;            // to use again
  LocalMessage *pool;                    // to use again, or not used yet
  int32_t nPooled;                       // of them that are not planned
  size_t stagingBytes;                   // of planned messages
  size_t stagedBytes, mostStagedBytes;   // of messages on their way, now and at most
} LocalMailbox;

/// What a rank waits for: one of them, or nothing.
typedef struct LocalBlocked {
  LocalOp *op;
  LocalReceive *receive;
} LocalBlocked;

typedef struct LocalRank {
  LocalMailbox mailbox;
  LocalBlocked blocked; // under stuckMutex
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
// LocalChunks.c
//===----------------------------------------------------------------------===//

/// All ranks have posted: cuts the work into chunks. With the gate locked.
void shardRtLocalCut(LocalOp *op, int32_t n);
/// Bytes that the chunks of a collective move in all.
size_t shardRtLocalBytes(const ShardRtCollective *c, int32_t n);
/// Does one chunk. `sources` is scratch [n].
void shardRtLocalRunChunk(LocalOp *op, int32_t n, const void **sources, size_t index);

/// Whether there are chunks left to begin.
static inline bool shardRtLocalHasWork(LocalOp *op) {
  return op->ready && !atomic_load(&op->cancelled) && atomic_load(&op->nextChunk) < op->nChunks;
}

//===----------------------------------------------------------------------===//
// LocalCollectives.c
//===----------------------------------------------------------------------===//

/// As many ops as can be in flight when no rank starts another before it has waited: one, and the
/// one before it that some rank has yet to leave. False: out of memory.
bool shardRtLocalPrepareOps(ShardRtArena *arena, LocalGroup *group);
ShardRtStatus shardRtLocalStartCollective(Local *local, const ShardRtGroup *group,
                                          uint64_t sequence, const ShardRtCollective *collective,
                                          ShardRtRequest *outRequest);
ShardRtStatus shardRtLocalWaitCollective(Local *local, int32_t rank, LocalOp *op, int32_t index,
                                         bool blocks, bool *outComplete);
/// Gives up the rank's requests on one group. Whether one was incomplete; `text` then says which.
bool shardRtLocalCancelCollectives(Local *local, LocalGroup *group, int32_t rank, char *text,
                                   size_t size);
void shardRtLocalFreeOps(ShardRtArena *arena, LocalOp *op);
/// Fails the world since two ranks' calls differ.
ShardRtStatus shardRtLocalFailMismatch(ShardRtWorld *world, int32_t rank,
                                       const ShardRtCollective *mine, int32_t peer,
                                       const ShardRtCollective *theirs);

//===----------------------------------------------------------------------===//
// LocalMail.c
//===----------------------------------------------------------------------===//

ShardRtStatus shardRtLocalStartSend(Local *local, int32_t rank,
                                    const ShardRtCollective *collective);
ShardRtStatus shardRtLocalStartReceive(Local *local, int32_t rank,
                                       const ShardRtCollective *collective,
                                       ShardRtRequest *outRequest);
ShardRtStatus shardRtLocalWaitReceive(Local *local, int32_t rank, LocalReceive *receive,
                                      bool blocks, bool *outComplete);
/// Gives up the rank's receives. Whether one was incomplete; if `incomplete` is false, `text` then
/// says which.
bool shardRtLocalCancelReceives(Local *local, int32_t rank, bool incomplete, char *text,
                                size_t size);
/// Frees what is in flight; the pool stays.
void shardRtLocalResetMailbox(ShardRtArena *arena, LocalMailbox *mailbox);
/// Forgets all without a walk: a rank was killed, and its last change may be half made.
/// After a rank was killed: its last changes may be half made, so that nothing is walked. What they
/// hold is lost until the world ends.
void shardRtLocalForgetMailbox(LocalMailbox *mailbox);
/// Puts planned messages into the pool, as far as they are not there.
ShardRtStatus shardRtLocalPrepareMailbox(ShardRtArena *arena, LocalMailbox *mailbox,
                                         int32_t nMessages, const ShardProgramMessage *messages);
void shardRtLocalCloseMailbox(ShardRtArena *arena, LocalMailbox *mailbox);

//===----------------------------------------------------------------------===//
// LocalBlocked.c
//===----------------------------------------------------------------------===//

/// When a wait that begins now times out; 0: never.
int64_t shardRtLocalDeadline(const Local *local);
/// Blocks the rank until it can proceed; the world may have failed by then. No lock is held.
void shardRtLocalBlock(Local *local, int32_t rank, LocalBlocked blocked, int64_t deadlineNs);
void shardRtLocalJoin(void *state, int32_t rank);
void shardRtLocalLeave(void *state, int32_t rank);

#endif // SHARD_LIB_RUNTIME_BACKENDS_LOCAL_H
