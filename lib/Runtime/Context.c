//===- Context.c - Entry points of generated code -----------------*- C -*-===//
// They cannot return a failure, so they jump to the shardRtInvoke that runs the code. Emitted code
// owns nothing that would have to be freed on the way.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "Runtime.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ShardRtContext {
  ShardRtComm *comm;
  jmp_buf *jump; // of the innermost shardRtInvoke
  ShardRtStatus status;
};

ShardRtStatus shardRtContextCreate(ShardRtComm *comm, ShardRtContext **outContext) {
  if (!comm || !outContext)
    return SHARD_RT_INVALID_ARGUMENT;
  *outContext = calloc(1, sizeof(**outContext));
  if (!*outContext)
    return SHARD_RT_OUT_OF_MEMORY;
  (*outContext)->comm = comm;
  return SHARD_RT_OK;
}

void shardRtContextDestroy(ShardRtContext *context) { free(context); }

ShardRtComm *shardRtContextGetComm(const ShardRtContext *context) { return context->comm; }

int32_t shardRtContextGetRank(const ShardRtContext *context) { return context->comm->rank; }

int shardRtInvoke(ShardRtContext *context, ShardRtProgramBody body, const int64_t *dims,
                  void *const *args, void *const *results, void *workspace) {
  ShardRtComm *comm = context->comm;
  if (shardRtFailed(comm->world))
    return shardRtFailureFor(comm->world, comm->rank);
  jmp_buf *volatile outer = context->jump;
  jmp_buf jump;
  if (!outer)
    shardRtCommBeginStep(comm);
  if (setjmp(jump) == 0) {
    context->jump = &jump;
    int status = body(context, dims, args, results, workspace);
    context->jump = outer;
    if (status == SHARD_RT_OK)
      return SHARD_RT_OK;
    char last[512];
    shardRtDescribeLast(comm, last, sizeof(last));
    context->status =
        shardRtFail(comm->world, comm->rank, (ShardRtStatus)status,
                    "rank %d: the program returned status %d%s", comm->rank, status, last);
  } else {
    context->jump = outer;
  }
  shardRtCommCancel(comm); // nobody touches the caller's buffers once this returns
  return context->status;
}

/// Ends the invocation. The world holds the message.
static void jumpOut(ShardRtContext *context, ShardRtStatus status) {
  context->status = status;
  if (!context->jump) // called by something that is no emitted program
    abort();
  longjmp(*context->jump, 1);
}

/// A call that was refused before its peers heard of it stops the world too: they wait for it.
static void finishCall(ShardRtContext *context, ShardRtStatus status, const char *kind,
                       int32_t site, int64_t a, int64_t b) {
  if (status == SHARD_RT_OK)
    return;
  ShardRtComm *comm = context->comm;
  if (!shardRtFailed(comm->world)) { // else the message is there
    const char *what = status == SHARD_RT_OUT_OF_MEMORY ? "out of memory" : "invalid argument";
    const char *location = shardRtSiteLocation(comm, site);
    shardRtFail(comm->world, comm->rank, status,
                "rank %d: %s in %s%s%s (site %d): %" PRId64 " x %" PRId64 " elements", comm->rank,
                what, kind, *location ? " of " : "", location, site, a, b);
  }
  jumpOut(context, status);
}

int64_t shardRtCoordinate(ShardRtContext *context, int32_t axis) {
  ShardRtComm *comm = context->comm;
  if (axis >= 0 && axis < comm->world->nAxes)
    return comm->coordinates[axis];
  jumpOut(context, shardRtFail(comm->world, comm->rank, SHARD_RT_INVALID_ARGUMENT,
                               "rank %d: coordinate on axis %d of a mesh of %d axes", comm->rank,
                               axis, comm->world->nAxes));
  return 0;
}

/// Negative counts become ones that no buffer can have, which the checks refuse.
static size_t toCount(int64_t count) { return count < 0 ? SIZE_MAX : (size_t)count; }

static int32_t toRank(int64_t rank) { return rank < 0 || rank > INT32_MAX ? -1 : (int32_t)rank; }

void shardRtCallAllReduce(ShardRtContext *context, int32_t site, int32_t groupMask,
                          const void *send, void *recv, int64_t count, int32_t element,
                          int32_t reduction) {
  finishCall(context,
             shardRtAllReduce(context->comm, (uint32_t)groupMask, site, send, recv, toCount(count),
                              (ShardRtElement)element, (ShardRtReduction)reduction),
             shardRtKindGetName(SHARD_RT_ALL_REDUCE), site, 1, count);
}

void shardRtCallAllGather(ShardRtContext *context, int32_t site, int32_t groupMask,
                          const void *send, void *recv, int64_t outer, int64_t chunk,
                          int32_t element) {
  finishCall(context,
             shardRtAllGather(context->comm, (uint32_t)groupMask, site, send, recv, toCount(outer),
                              toCount(chunk), (ShardRtElement)element),
             shardRtKindGetName(SHARD_RT_ALL_GATHER), site, outer, chunk);
}

void shardRtCallReduceScatter(ShardRtContext *context, int32_t site, int32_t groupMask,
                              const void *send, void *recv, int64_t outer, int64_t chunk,
                              int32_t element, int32_t reduction) {
  finishCall(context,
             shardRtReduceScatter(context->comm, (uint32_t)groupMask, site, send, recv,
                                  toCount(outer), toCount(chunk), (ShardRtElement)element,
                                  (ShardRtReduction)reduction),
             shardRtKindGetName(SHARD_RT_REDUCE_SCATTER), site, outer, chunk);
}

void shardRtCallAllToAll(ShardRtContext *context, int32_t site, int32_t groupMask, const void *send,
                         void *recv, int64_t chunk, int32_t element) {
  finishCall(context,
             shardRtAllToAll(context->comm, (uint32_t)groupMask, site, send, recv, toCount(chunk),
                             (ShardRtElement)element),
             shardRtKindGetName(SHARD_RT_ALL_TO_ALL), site, 1, chunk);
}

void shardRtCallBroadcast(ShardRtContext *context, int32_t site, int32_t groupMask, int64_t root,
                          const void *send, void *recv, int64_t count, int32_t element) {
  finishCall(context,
             shardRtBroadcast(context->comm, (uint32_t)groupMask, site, toRank(root), send, recv,
                              toCount(count), (ShardRtElement)element),
             shardRtKindGetName(SHARD_RT_BROADCAST), site, 1, count);
}

void shardRtCallShift(ShardRtContext *context, int32_t site, int32_t groupMask, int64_t offset,
                      const void *send, void *recv, int64_t count, int32_t element) {
  finishCall(context,
             shardRtShift(context->comm, (uint32_t)groupMask, site, offset, send, recv,
                          toCount(count), (ShardRtElement)element),
             shardRtKindGetName(SHARD_RT_PERMUTE), site, 1, count);
}

void shardRtCallSend(ShardRtContext *context, int32_t site, int32_t channel, int64_t peerRank,
                     const void *send, int64_t count, int32_t element) {
  finishCall(context,
             shardRtSend(context->comm, site, channel, toRank(peerRank), send, toCount(count),
                         (ShardRtElement)element),
             shardRtKindGetName(SHARD_RT_SEND), site, 1, count);
}

void shardRtCallReceive(ShardRtContext *context, int32_t site, int32_t channel, int64_t peerRank,
                        void *recv, int64_t count, int32_t element) {
  finishCall(context,
             shardRtReceive(context->comm, site, channel, toRank(peerRank), recv, toCount(count),
                            (ShardRtElement)element),
             "receive", site, 1, count);
}

void shardRtCallExchangeSend(ShardRtContext *context, int32_t site, int32_t channel,
                             int64_t peerRank, const void *send, int64_t count, int32_t element) {
  if (peerRank != context->comm->rank)
    shardRtCallSend(context, site, channel, peerRank, send, count, element);
}

void shardRtCallExchangeReceive(ShardRtContext *context, int32_t site, int32_t channel,
                                int64_t peerRank, const void *kept, void *recv, int64_t count,
                                int32_t element) {
  if (peerRank != context->comm->rank)
    shardRtCallReceive(context, site, channel, peerRank, recv, count, element);
  else if (count > 0)
    memcpy(recv, kept, (size_t)count * shardRtElementSize((ShardRtElement)element));
}

void shardRtAssertFailed(ShardRtContext *context, const char *message, const char *location) {
  ShardRtComm *comm = context->comm;
  char last[512];
  shardRtDescribeLast(comm, last, sizeof(last));
  bool located = location && location[0];
  jumpOut(context,
          shardRtFail(comm->world, comm->rank, SHARD_RT_PROGRAM_FAILED,
                      "rank %d: assertion failed: %s%s%s%s", comm->rank, message ? message : "",
                      located ? ", at " : "", located ? location : "", last));
}

/// "dimension 0 of argument 1 is 3, ", appended where there is room.
static size_t describeExtent(char *text, size_t size, size_t length, const int64_t *row,
                             int64_t extent) {
  int n = snprintf(text + length, size - length,
                   "%sdimension %" PRId64 " of argument %" PRId64 " is %" PRId64,
                   length ? ", " : "", row[1], row[0], extent);
  return n > 0 && (size_t)n < size - length ? length + (size_t)n : length;
}

void shardRtCheckExtents(ShardRtContext *context, const int64_t *dims, int32_t nDims,
                         int32_t nEqual, const int64_t *table) {
  ShardRtComm *comm = context->comm;
  const char *wrong = dims || !nDims ? NULL : "no extents are given";
  char text[400] = "";
  size_t length = 0;
  for (int32_t k = 0; k < nDims && !wrong; ++k) {
    const int64_t *row = table + 4 * k;
    if (dims[k] >= row[2] && dims[k] <= row[3])
      continue;
    length = describeExtent(text, sizeof(text), 0, row, dims[k]);
    snprintf(text + length, sizeof(text) - length, "; expected %" PRId64 " to %" PRId64, row[2],
             row[3]);
    wrong = text;
  }
  for (int32_t i = 0; i < nEqual && !wrong; ++i) {
    const int64_t *row = table + 4 * nDims + (int64_t)i * (1 + nDims);
    int64_t sum = row[0];
    for (int32_t k = 0; k < nDims; ++k)
      sum += row[1 + k] * dims[k];
    for (int32_t k = 0; k < nDims && sum; ++k)
      if (row[1 + k])
        length = describeExtent(text, sizeof(text), length, table + 4 * k, dims[k]);
    if (!sum)
      continue;
    snprintf(text + length, sizeof(text) - length, "; expected extents that fit together");
    wrong = text;
  }
  if (wrong)
    jumpOut(context, shardRtFail(comm->world, comm->rank, SHARD_RT_INVALID_ARGUMENT, "rank %d: %s",
                                 comm->rank, wrong));
}
