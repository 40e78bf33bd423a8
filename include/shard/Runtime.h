//===- shard/Runtime.h - Ranks, collectives, contexts -------------*- C -*-===//
// Plain C, no MLIR. Ranks of the `local` backend are threads of one process, or processes forked
// from one that share memory.
// A group is the set of ranks that differ from this one only along the mesh axes of a bit mask:
// bit i is mesh axis i (major first). Masks are fixed at compile time.
//===----------------------------------------------------------------------===//
#ifndef SHARD_RUNTIME_H
#define SHARD_RUNTIME_H

#include "shard/Support.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Never reused.
typedef enum ShardRtStatus {
  SHARD_RT_OK = 0,
  SHARD_RT_INVALID_ARGUMENT = 1,
  SHARD_RT_OUT_OF_MEMORY = 2,
  SHARD_RT_PEER_LOST = 3, // another rank failed
  SHARD_RT_TIMED_OUT = 4,
  SHARD_RT_MISMATCH = 5,      // ranks issued different collectives
  SHARD_RT_PROGRAM_FAILED = 6 // a cf.assert of the program
} ShardRtStatus;

/// Element types. Never renumbered.
typedef enum ShardRtElement {
  SHARD_RT_I1 = 0, // one byte, 0 or 1
  SHARD_RT_I8 = 1,
  SHARD_RT_I16 = 2,
  SHARD_RT_I32 = 3,
  SHARD_RT_I64 = 4,
  SHARD_RT_F16 = 5,
  SHARD_RT_BF16 = 6,
  SHARD_RT_F32 = 7,
  SHARD_RT_F64 = 8
} ShardRtElement;

typedef enum ShardRtReduction {
  SHARD_RT_SUM = 0,
  SHARD_RT_MAX = 1,
  SHARD_RT_MIN = 2,
  SHARD_RT_PRODUCT = 3,
  SHARD_RT_AND = 4,
  SHARD_RT_OR = 5
} ShardRtReduction;

/// Kinds, in the order of reports.
typedef enum ShardRtKind {
  SHARD_RT_ALL_REDUCE = 0,
  SHARD_RT_ALL_GATHER = 1,
  SHARD_RT_REDUCE_SCATTER = 2,
  SHARD_RT_ALL_TO_ALL = 3,
  SHARD_RT_PERMUTE = 4,
  SHARD_RT_BROADCAST = 5,
  SHARD_RT_SEND = 6,
  SHARD_RT_BARRIER = 7
} ShardRtKind;
#define SHARD_RT_N_KINDS 8

/// "all-reduce", ..., "barrier"; "?" for other numbers. Never freed. Thread-safe.
SHARD_EXPORTED const char *shardRtKindGetName(ShardRtKind kind);

typedef int32_t ShardRtSite; // number of the collective in the program; -1 when not from a program

typedef struct ShardRtWorld ShardRtWorld; // all ranks of one program. Thread-safe.
typedef struct ShardRtComm ShardRtComm;   // one rank's end. Thread-compatible.
typedef struct ShardRtContext
    ShardRtContext; // what generated code sees of its rank. Thread-compatible.

/// A collective in flight, a value that the caller keeps from start to wait. Fields are private.
typedef struct ShardRtRequest {
  void *state;
  uint64_t sequence;
  int32_t kind;
  int32_t index;
} ShardRtRequest;

struct ShardProgramSite; // shard/Program.h
struct ShardProgram;

//===----------------------------------------------------------------------===//
// World
//===----------------------------------------------------------------------===//

/// Zero initialised means the defaults.
typedef struct ShardRtWorldOptions {
  const char *backend; // NULL: "local"
  int64_t timeoutNs;   // longest wait for another rank before SHARD_RT_TIMED_OUT; 0: no limit.
                       // Ranks that all wait for each other are found at once, with or without it.
  bool isolated;       // ranks are forked processes, not threads (shardRtWorldRunRanks)
} ShardRtWorldOptions;

/// Creates a world of product(axisSizes) ranks; a rank's number is its row-major index in the mesh.
///   nAxes      Mesh axes, 0 to 30. axisSizes [nAxes] each at least 1; copied.
///   options    Borrowed for the call; NULL: the defaults.
///   outWorld   Yours to shardRtWorldDestroy.
/// SHARD_RT_INVALID_ARGUMENT: a size below 1, more than 65536 ranks, an unknown backend.
/// SHARD_RT_OUT_OF_MEMORY. Nothing is left to destroy then. Thread-safe.
SHARD_EXPORTED ShardRtStatus shardRtWorldCreate(int32_t nAxes, const int64_t *axisSizes,
                                                const ShardRtWorldOptions *options,
                                                ShardRtWorld **outWorld);

/// Frees the world. Its comms and contexts must be destroyed before. NULL is fine.
SHARD_EXPORTED void shardRtWorldDestroy(ShardRtWorld *world);

/// Number of ranks. Thread-safe.
SHARD_EXPORTED int32_t shardRtWorldGetSize(const ShardRtWorld *world);

/// Status of the world's first failure, SHARD_RT_OK if there was none. Thread-safe.
SHARD_EXPORTED ShardRtStatus shardRtWorldGetStatus(const ShardRtWorld *world);

/// Text of the first failure: one line that names rank, collective and source op, no period at the
/// end; "" if there was none. Borrowed until the world is reset or destroyed. Thread-safe.
SHARD_EXPORTED const char *shardRtWorldGetError(const ShardRtWorld *world);

/// Number of the rank that failed first, -1 if none or if no rank did (shardRtWorldAbort).
/// Thread-safe.
SHARD_EXPORTED int32_t shardRtWorldGetFailedRank(const ShardRtWorld *world);

/// Stops the world: every wait, now or later, returns SHARD_RT_PEER_LOST. The first failure's text
/// stands; `message` (copied, one line) is used if this is the first. Thread-safe, also from
/// threads that are no rank.
SHARD_EXPORTED void shardRtWorldAbort(ShardRtWorld *world, const char *message);

/// Makes a failed world usable again: clears the failure, collectives in flight and messages not
/// received. No rank may be inside a call, and requests from before are void.
SHARD_EXPORTED void shardRtWorldReset(ShardRtWorld *world);

/// Memory for what ranks write and others read: zero, 64-byte aligned. In a world of isolated ranks
/// it is shared, at one address in all of them, whoever allocates it; other memory is each rank's
/// own from the fork on. Collectives take any memory, but only this without a copy. NULL: out of
/// memory. Yours to shardRtWorldRelease, or gone with the world when that is isolated. Thread-safe.
SHARD_EXPORTED void *shardRtWorldAllocate(ShardRtWorld *world, size_t bytes);
SHARD_EXPORTED void shardRtWorldRelease(ShardRtWorld *world, void *memory); // NULL is fine

/// Allocates all that a step of the program needs beside the buffers of its caller, so that steps
/// allocate nothing: groups of ranks, and staging, where a message lies that is sent before its
/// receiver has asked for it. Staging holds the messages of one step, and of loops those of their
/// last few steps; a rank that gets further ahead of its receiver allocates. May be left out:
/// things are then allocated at their first use, and kept.
///   program    Its mesh is the world's. Borrowed for the call.
/// No rank may be running; ends of the world may be taken. SHARD_RT_INVALID_ARGUMENT: another mesh.
/// SHARD_RT_OUT_OF_MEMORY: some of it was allocated, and all still works.
SHARD_EXPORTED ShardRtStatus shardRtWorldPrepare(ShardRtWorld *world,
                                                 const struct ShardProgram *program);

/// Bytes of messages for which a rank has staging, and the most of them that were in use at a time,
/// since the world was made. More than the former when the rank's senders had to allocate.
/// Thread-safe.
SHARD_EXPORTED size_t shardRtWorldGetStagingBytes(ShardRtWorld *world, int32_t rank);
SHARD_EXPORTED size_t shardRtWorldGetStagedBytes(ShardRtWorld *world, int32_t rank);

/// What a rank does. Its return value is a ShardRtStatus; other than SHARD_RT_OK stops the world.
typedef int (*ShardRtRankBody)(ShardRtContext *context, void *userData);

/// Runs `body` once per rank, each on a thread of its own, or in a process forked for it when the
/// world is isolated, and waits for all of them. A rank whose body returns while others wait for it
/// is a failure that names both; a process that is killed is one that names the signal. Of what an
/// isolated rank writes the caller sees the memory of shardRtWorldAllocate, `bytes` and the
/// failure. Returns the status of the first failure; its text is shardRtWorldGetError. Not to be
/// called by two threads at once.
///   sites   [nSites] names of the program's collectives for messages; borrowed; NULL: none.
///   bytes   NULL, or [ranks x SHARD_RT_N_KINDS] receives the bytes that each rank sent, by kind.
SHARD_EXPORTED ShardRtStatus shardRtWorldRunRanks(ShardRtWorld *world, int32_t nSites,
                                                  const struct ShardProgramSite *sites,
                                                  ShardRtRankBody body, void *userData,
                                                  int64_t *bytes);

//===----------------------------------------------------------------------===//
// A rank's end of the world
//===----------------------------------------------------------------------===//

/// Takes rank `rank`'s end of the world, for one thread at a time. Keep it from step to step: a
/// rank that has given its end back counts as ended until all have.
///   outComm   Yours to shardRtCommDestroy, before the world.
/// SHARD_RT_INVALID_ARGUMENT: no such rank, or its end is taken. Thread-safe.
SHARD_EXPORTED ShardRtStatus shardRtCommCreate(ShardRtWorld *world, int32_t rank,
                                               ShardRtComm **outComm);

/// Gives the end back. Requests in flight are cancelled; if another rank still needs one of them
/// the world fails. Ranks that wait for this one, and nobody else can free, fail. NULL is fine.
SHARD_EXPORTED void shardRtCommDestroy(ShardRtComm *comm);

/// The rank's number, and the world (borrowed). Cannot fail.
SHARD_EXPORTED int32_t shardRtCommGetRank(const ShardRtComm *comm);
SHARD_EXPORTED ShardRtWorld *shardRtCommGetWorld(const ShardRtComm *comm);

/// Size of the group of `groupMask` and this rank's index in it: row-major over the mask's axes.
/// Bits beyond the mesh's axes are not looked at. Cannot fail.
SHARD_EXPORTED int32_t shardRtCommGetGroupSize(const ShardRtComm *comm, uint32_t groupMask);
SHARD_EXPORTED int32_t shardRtCommGetGroupIndex(const ShardRtComm *comm, uint32_t groupMask);

/// Names of the program's collectives, for messages. Borrowed as long as the comm lives.
SHARD_EXPORTED void shardRtCommSetSites(ShardRtComm *comm, int32_t nSites,
                                        const struct ShardProgramSite *sites);

/// Bytes that this rank has sent in collectives of `kind` since the comm was made or reset. Ring
/// counting, n = group size, B = bytes of the whole tensor: all-reduce 2(n-1)B/n; all-gather,
/// reduce-scatter, all-to-all (n-1)B/n; broadcast B on every rank but the one before the root;
/// permute and send their bytes; barrier 0. What n does not divide falls to the first ranks of the
/// group, so that all ranks together sent 2(n-1)B. Sends of a site whose kind is "permute" count
/// there. A group of one, and a send to itself, send nothing.
SHARD_EXPORTED int64_t shardRtCommGetBytes(const ShardRtComm *comm, ShardRtKind kind);
SHARD_EXPORTED void shardRtCommResetBytes(ShardRtComm *comm);

//===----------------------------------------------------------------------===//
// Collectives: blocking
//
// Common to all. `groupMask`: the mesh axes of the group; 0 is this rank alone. `site`: names the
// collective in messages, -1 if none. Buffers are dense, of `element`s, aligned to the element and
// borrowed until return; counts are elements; zero is a no-op, where every rank must pass zero. All
// ranks of a group make the same calls in the same order. Thread-compatible per `comm`.
// Returns SHARD_RT_OK, or
//   SHARD_RT_INVALID_ARGUMENT  a null pointer, a bad mask, count, element or reduction (and, or:
//                              integers only); nothing was sent, and the world goes on;
//   SHARD_RT_OUT_OF_MEMORY     nothing was sent;
//   SHARD_RT_MISMATCH, SHARD_RT_PEER_LOST, SHARD_RT_TIMED_OUT  the world has failed; buffers hold
//                              anything, and until shardRtWorldReset every call fails.
// Reductions combine in order of the group index, with the same bits on all ranks. Integers wrap
// (i1: sum is exclusive or, max is or, min is and; else signed), f16 and bf16 accumulate in f32,
// max and min give NaN if any operand is NaN and hold -0 below +0.
//===----------------------------------------------------------------------===//

/// Combines `count` elements over the group and leaves the result on every rank.
///   send, recv  [count]. Equal on all ranks of the group, or not overlapping.
SHARD_EXPORTED ShardRtStatus shardRtAllReduce(ShardRtComm *comm, uint32_t groupMask,
                                              ShardRtSite site, const void *send, void *recv,
                                              size_t count, ShardRtElement element,
                                              ShardRtReduction reduction);

/// Concatenates the ranks' [outer, chunk] along the second dimension: recv is [outer, n * chunk].
/// With outer = 1, send may be this rank's own part of recv.
SHARD_EXPORTED ShardRtStatus shardRtAllGather(ShardRtComm *comm, uint32_t groupMask,
                                              ShardRtSite site, const void *send, void *recv,
                                              size_t outer, size_t chunk, ShardRtElement element);

/// Combines [outer, n * chunk] over the group and leaves rank i columns [i * chunk, (i+1) * chunk):
/// recv is [outer, chunk]. With outer = 1, recv may be this rank's own part of send.
SHARD_EXPORTED ShardRtStatus shardRtReduceScatter(ShardRtComm *comm, uint32_t groupMask,
                                                  ShardRtSite site, const void *send, void *recv,
                                                  size_t outer, size_t chunk,
                                                  ShardRtElement element,
                                                  ShardRtReduction reduction);

/// Block j of rank i becomes block i of rank j: send, recv [n, chunk], not overlapping.
SHARD_EXPORTED ShardRtStatus shardRtAllToAll(ShardRtComm *comm, uint32_t groupMask,
                                             ShardRtSite site, const void *send, void *recv,
                                             size_t chunk, ShardRtElement element);

/// Copies send [count] of the rank with group index `root` to recv [count] of every rank, the root
/// included; send and recv may be equal there. `send` is not looked at on other ranks.
SHARD_EXPORTED ShardRtStatus shardRtBroadcast(ShardRtComm *comm, uint32_t groupMask,
                                              ShardRtSite site, int32_t root, const void *send,
                                              void *recv, size_t count, ShardRtElement element);

/// Cyclic permute: recv [count] of group index i comes from send of index (i - offset) mod n.
/// send and recv do not overlap.
SHARD_EXPORTED ShardRtStatus shardRtShift(ShardRtComm *comm, uint32_t groupMask, ShardRtSite site,
                                          int64_t offset, const void *send, void *recv,
                                          size_t count, ShardRtElement element);

/// Returns when every rank of the group has called it.
SHARD_EXPORTED ShardRtStatus shardRtBarrier(ShardRtComm *comm, uint32_t groupMask,
                                            ShardRtSite site);

/// Sends to world rank `peer`; messages of one sender, receiver and channel arrive in order. Never
/// waits for the receiver: the bytes are copied if it is not there yet.
SHARD_EXPORTED ShardRtStatus shardRtSend(ShardRtComm *comm, ShardRtSite site, int32_t channel,
                                         int32_t peer, const void *send, size_t count,
                                         ShardRtElement element);

/// Receives the next message of world rank `peer` on the channel. Another count or element than was
/// sent is SHARD_RT_MISMATCH. A count of zero is a message too, and so for shardRtSend.
SHARD_EXPORTED ShardRtStatus shardRtReceive(ShardRtComm *comm, ShardRtSite site, int32_t channel,
                                            int32_t peer, void *recv, size_t count,
                                            ShardRtElement element);

//===----------------------------------------------------------------------===//
// Collectives: start and wait
//
// The start forms take their blocking form's arguments and return at once; buffers are borrowed
// until the request is waited for. Any number may be in flight, waited for in any order. Every
// request that was started ends in exactly one successful wait or test, or in an abort.
//===----------------------------------------------------------------------===//

SHARD_EXPORTED ShardRtStatus shardRtAllReduceStart(ShardRtComm *comm, uint32_t groupMask,
                                                   ShardRtSite site, const void *send, void *recv,
                                                   size_t count, ShardRtElement element,
                                                   ShardRtReduction reduction,
                                                   ShardRtRequest *outRequest);
SHARD_EXPORTED ShardRtStatus shardRtAllGatherStart(ShardRtComm *comm, uint32_t groupMask,
                                                   ShardRtSite site, const void *send, void *recv,
                                                   size_t outer, size_t chunk,
                                                   ShardRtElement element,
                                                   ShardRtRequest *outRequest);
SHARD_EXPORTED ShardRtStatus shardRtReduceScatterStart(ShardRtComm *comm, uint32_t groupMask,
                                                       ShardRtSite site, const void *send,
                                                       void *recv, size_t outer, size_t chunk,
                                                       ShardRtElement element,
                                                       ShardRtReduction reduction,
                                                       ShardRtRequest *outRequest);
SHARD_EXPORTED ShardRtStatus shardRtAllToAllStart(ShardRtComm *comm, uint32_t groupMask,
                                                  ShardRtSite site, const void *send, void *recv,
                                                  size_t chunk, ShardRtElement element,
                                                  ShardRtRequest *outRequest);
SHARD_EXPORTED ShardRtStatus shardRtBroadcastStart(ShardRtComm *comm, uint32_t groupMask,
                                                   ShardRtSite site, int32_t root, const void *send,
                                                   void *recv, size_t count, ShardRtElement element,
                                                   ShardRtRequest *outRequest);
SHARD_EXPORTED ShardRtStatus shardRtShiftStart(ShardRtComm *comm, uint32_t groupMask,
                                               ShardRtSite site, int64_t offset, const void *send,
                                               void *recv, size_t count, ShardRtElement element,
                                               ShardRtRequest *outRequest);
SHARD_EXPORTED ShardRtStatus shardRtBarrierStart(ShardRtComm *comm, uint32_t groupMask,
                                                 ShardRtSite site, ShardRtRequest *outRequest);
SHARD_EXPORTED ShardRtStatus shardRtSendStart(ShardRtComm *comm, ShardRtSite site, int32_t channel,
                                              int32_t peer, const void *send, size_t count,
                                              ShardRtElement element, ShardRtRequest *outRequest);
SHARD_EXPORTED ShardRtStatus shardRtReceiveStart(ShardRtComm *comm, ShardRtSite site,
                                                 int32_t channel, int32_t peer, void *recv,
                                                 size_t count, ShardRtElement element,
                                                 ShardRtRequest *outRequest);

/// Waits until the collective is complete: outputs are valid, inputs may be written. The request is
/// void afterwards, whatever is returned.
SHARD_EXPORTED ShardRtStatus shardRtWait(ShardRtComm *comm, ShardRtRequest *request);

/// Like shardRtWait if that need not wait for another rank, with *outComplete true; else leaves the
/// request in flight, *outComplete false. On failure the request is void.
SHARD_EXPORTED ShardRtStatus shardRtTest(ShardRtComm *comm, ShardRtRequest *request,
                                         bool *outComplete);

/// Gives the request up and stops the world with a message that names this rank and the collective.
/// On return nobody touches its buffers any more.
SHARD_EXPORTED void shardRtAbort(ShardRtComm *comm, ShardRtRequest *request);

//===----------------------------------------------------------------------===//
// Context: a rank as generated code sees it
//===----------------------------------------------------------------------===//

/// Makes the context of a comm, which it borrows; yours to shardRtContextDestroy (null is fine)
/// before the comm. SHARD_RT_INVALID_ARGUMENT: a null pointer. SHARD_RT_OUT_OF_MEMORY. The comm and
/// the rank's number are to be had of it as long as it lives.
SHARD_EXPORTED ShardRtStatus shardRtContextCreate(ShardRtComm *comm, ShardRtContext **outContext);
SHARD_EXPORTED void shardRtContextDestroy(ShardRtContext *context);
SHARD_EXPORTED ShardRtComm *shardRtContextGetComm(const ShardRtContext *context);
SHARD_EXPORTED int32_t shardRtContextGetRank(const ShardRtContext *context);

/// Generated code of a program or of a stage of it.
typedef int (*ShardRtProgramBody)(ShardRtContext *context, const int64_t *dims, void *const *args,
                                  void *const *results, void *workspace);

//===----------------------------------------------------------------------===//
// Entry points of generated code
//
// A stable binary interface: never changed, only added to. Called by emitted objects from within a
// body that shardRtInvoke runs, on the thread that runs it. They block, and on failure they do not
// return but jump back to shardRtInvoke; the world then holds the message. Arguments are as in the
// functions of the same name above; `groupMask` is a bit mask of mesh axes, counts are elements,
// `element` and `reduction` are the enumerations' numbers.
//===----------------------------------------------------------------------===//

/// Runs `body` with the arguments that follow it and returns its status, or that of the failure
/// that stopped it. A status other than SHARD_RT_OK stops the other ranks too.
SHARD_EXPORTED int shardRtInvoke(ShardRtContext *context, ShardRtProgramBody body,
                                 const int64_t *dims, void *const *args, void *const *results,
                                 void *workspace);

/// This rank's coordinate on mesh axis `axis`, 0 to size - 1. No such axis fails the world.
SHARD_EXPORTED int64_t shardRtCoordinate(ShardRtContext *context, int32_t axis);

SHARD_EXPORTED void shardRtCallAllReduce(ShardRtContext *context, int32_t site, int32_t groupMask,
                                         const void *send, void *recv, int64_t count,
                                         int32_t element, int32_t reduction);
SHARD_EXPORTED void shardRtCallAllGather(ShardRtContext *context, int32_t site, int32_t groupMask,
                                         const void *send, void *recv, int64_t outer, int64_t chunk,
                                         int32_t element);
SHARD_EXPORTED void shardRtCallReduceScatter(ShardRtContext *context, int32_t site,
                                             int32_t groupMask, const void *send, void *recv,
                                             int64_t outer, int64_t chunk, int32_t element,
                                             int32_t reduction);
SHARD_EXPORTED void shardRtCallAllToAll(ShardRtContext *context, int32_t site, int32_t groupMask,
                                        const void *send, void *recv, int64_t chunk,
                                        int32_t element);
/// `root`: index in the group.
SHARD_EXPORTED void shardRtCallBroadcast(ShardRtContext *context, int32_t site, int32_t groupMask,
                                         int64_t root, const void *send, void *recv, int64_t count,
                                         int32_t element);
SHARD_EXPORTED void shardRtCallShift(ShardRtContext *context, int32_t site, int32_t groupMask,
                                     int64_t offset, const void *send, void *recv, int64_t count,
                                     int32_t element);
/// `peerRank`: rank in the world, its row-major index in the whole mesh.
SHARD_EXPORTED void shardRtCallSend(ShardRtContext *context, int32_t site, int32_t channel,
                                    int64_t peerRank, const void *send, int64_t count,
                                    int32_t element);
SHARD_EXPORTED void shardRtCallReceive(ShardRtContext *context, int32_t site, int32_t channel,
                                       int64_t peerRank, void *recv, int64_t count,
                                       int32_t element);

/// A send and a receive of an exchange, in which a rank without a peer is its own: then nothing is
/// sent, and `recv` becomes a copy of `kept` [count] (not overlapping).
SHARD_EXPORTED void shardRtCallExchangeSend(ShardRtContext *context, int32_t site, int32_t channel,
                                            int64_t peerRank, const void *send, int64_t count,
                                            int32_t element);
SHARD_EXPORTED void shardRtCallExchangeReceive(ShardRtContext *context, int32_t site,
                                               int32_t channel, int64_t peerRank, const void *kept,
                                               void *recv, int64_t count, int32_t element);

/// An assertion of the program does not hold: stops the world with SHARD_RT_PROGRAM_FAILED.
///   message   What the assertion says. location: of the op in the source. Both copied.
SHARD_EXPORTED void shardRtAssertFailed(ShardRtContext *context, const char *message,
                                        const char *location);

/// The extents of a run, against what the program takes: stops the world with
/// SHARD_RT_INVALID_ARGUMENT when they do not fit.
///   dims    [nDims], null only if there are none. table: borrowed.
///   table   nDims rows of argument, dimension, least and most; then nEqual rows of a number and
///           nDims factors, of which number + sum(factor * extent) must be 0.
SHARD_EXPORTED void shardRtCheckExtents(ShardRtContext *context, const int64_t *dims, int32_t nDims,
                                        int32_t nEqual, const int64_t *table);

#ifdef __cplusplus
}
#endif
#endif // SHARD_RUNTIME_H
