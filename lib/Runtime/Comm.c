//===- Comm.c - One rank's collectives: checks, counts, dispatch --*- C -*-===//
#define _GNU_SOURCE
#include "Runtime.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name;
  size_t size; // bytes
} elements[] = {
    [SHARD_RT_I1] = {"i1", 1},     [SHARD_RT_I8] = {"i8", 1},   [SHARD_RT_I16] = {"i16", 2},
    [SHARD_RT_I32] = {"i32", 4},   [SHARD_RT_I64] = {"i64", 8}, [SHARD_RT_F16] = {"f16", 2},
    [SHARD_RT_BF16] = {"bf16", 2}, [SHARD_RT_F32] = {"f32", 4}, [SHARD_RT_F64] = {"f64", 8},
};

static bool elementIsValid(ShardRtElement element) {
  return (unsigned)element < sizeof(elements) / sizeof(elements[0]);
}

size_t shardRtElementSize(ShardRtElement element) {
  return elementIsValid(element) ? elements[element].size : 0;
}

const char *shardRtElementName(ShardRtElement element) {
  return elementIsValid(element) ? elements[element].name : "?";
}

const char *shardRtKindGetName(ShardRtKind kind) {
  static const char *const names[SHARD_RT_N_KINDS] = {
#define SHARD_COLLECTIVE(Kind, Name, Op) [Kind] = Name,
#include "../Collectives.def"
      [SHARD_RT_BARRIER] = "barrier",
  };
  return (unsigned)kind < SHARD_RT_N_KINDS ? names[kind] : "?";
}

void shardRtDescribe(const ShardRtCollective *collective, char *text, size_t size) {
  const char *kind = collective->isReceive ? "receive" : shardRtKindGetName(collective->kind);
  char site[64] = "";
  if (collective->site >= 0 && collective->call)
    snprintf(site, sizeof(site), " (site %d, call %" PRIu64 ")", collective->site,
             collective->call);
  else if (collective->site >= 0)
    snprintf(site, sizeof(site), " (site %d)", collective->site);
  bool located = collective->location && collective->location[0];
  snprintf(text, size, "%s%s%s%s", kind, located ? " of " : "", located ? collective->location : "",
           site);
}

void shardRtDescribeLast(const ShardRtComm *comm, char *text, size_t size) {
  text[0] = 0;
  if (!comm->hasLast)
    return;
  char last[448];
  shardRtDescribe(&comm->last, last, sizeof(last));
  snprintf(text, size, "; its last collective was %s", last);
}

//===----------------------------------------------------------------------===//
// Life of a comm
//===----------------------------------------------------------------------===//

ShardRtStatus shardRtCommCreate(ShardRtWorld *world, int32_t rank, ShardRtComm **outComm) {
  if (!world || !outComm || rank < 0 || rank >= world->size)
    return SHARD_RT_INVALID_ARGUMENT;
  ShardRtComm *comm = &world->comms[rank];
  shardRtLock(&world->mutex);
  bool taken = comm->taken;
  comm->taken = true;
  pthread_mutex_unlock(&world->mutex);
  if (taken)
    return SHARD_RT_INVALID_ARGUMENT;
  comm->nSites = 0;
  comm->sites = NULL;
  comm->hasLast = false;
  shardRtCommResetBytes(comm);
  world->backend->join(world->state, rank);
  *outComm = comm;
  return SHARD_RT_OK;
}

void shardRtCommCancel(ShardRtComm *comm) {
  ShardRtWorld *world = comm->world;
  char text[512];
  if (world->backend->cancel(world->state, comm->rank, text, sizeof(text)))
    shardRtFail(world, comm->rank, SHARD_RT_PEER_LOST, "rank %d: gave up %s", comm->rank, text);
}

void shardRtCommDestroy(ShardRtComm *comm) {
  if (!comm)
    return;
  ShardRtWorld *world = comm->world;
  shardRtCommCancel(comm);
  shardRtRelease(world->arena, comm->siteCalls);
  comm->siteCalls = NULL;
  comm->sites = NULL;
  comm->hasLast = false;
  world->backend->leave(world->state, comm->rank);
  shardRtLock(&world->mutex);
  comm->taken = false;
  pthread_mutex_unlock(&world->mutex);
}

int32_t shardRtCommGetRank(const ShardRtComm *comm) { return comm->rank; }

ShardRtWorld *shardRtCommGetWorld(const ShardRtComm *comm) { return comm->world; }

static bool maskIsValid(const ShardRtComm *comm, uint32_t mask) {
  return !(mask >> comm->world->nAxes);
}

int32_t shardRtCommGetGroupSize(const ShardRtComm *comm, uint32_t groupMask) {
  int64_t n = 1;
  for (int32_t axis = 0; axis < comm->world->nAxes; ++axis)
    if (groupMask >> axis & 1)
      n *= comm->world->axisSizes[axis];
  return (int32_t)n;
}

int32_t shardRtCommGetGroupIndex(const ShardRtComm *comm, uint32_t groupMask) {
  int64_t index = 0;
  for (int32_t axis = 0; axis < comm->world->nAxes; ++axis)
    if (groupMask >> axis & 1)
      index = index * comm->world->axisSizes[axis] + comm->coordinates[axis];
  return (int32_t)index;
}

void shardRtCommSetSites(ShardRtComm *comm, int32_t nSites, const struct ShardProgramSite *sites) {
  ShardRtArena *arena = comm->world->arena;
  shardRtRelease(arena, comm->siteCalls);
  comm->nSites = sites && nSites > 0 ? nSites : 0;
  comm->sites = comm->nSites ? sites : NULL;
  // Without memory for the counts, messages name no call.
  comm->siteCalls =
      comm->nSites ? shardRtAllocate(arena, (size_t)nSites * sizeof(*comm->siteCalls)) : NULL;
}

void shardRtCommBeginStep(ShardRtComm *comm) {
  if (comm->siteCalls)
    memset(comm->siteCalls, 0, (size_t)comm->nSites * sizeof(*comm->siteCalls));
}

int64_t shardRtCommGetBytes(const ShardRtComm *comm, ShardRtKind kind) {
  return (unsigned)kind < SHARD_RT_N_KINDS ? comm->bytes[kind] : 0;
}

void shardRtCommResetBytes(ShardRtComm *comm) { memset(comm->bytes, 0, sizeof(comm->bytes)); }

ShardRtGroup *shardRtCommGetGroup(ShardRtComm *comm, uint32_t mask) {
  for (ShardRtGroup *group = comm->groups; group; group = group->next)
    if (group->mask == mask)
      return group;
  ShardRtWorld *world = comm->world;
  int32_t n = shardRtCommGetGroupSize(comm, mask);
  ShardRtGroup *group =
      shardRtAllocate(world->arena, sizeof(*group) + (size_t)n * sizeof(group->ranks[0]));
  if (!group)
    return NULL;
  group->mask = mask;
  group->n = n;
  group->index = shardRtCommGetGroupIndex(comm, mask);
  for (int32_t i = 0; i < n; ++i) {
    int64_t rest = i, rank = 0, stride = 1;
    for (int32_t axis = world->nAxes - 1; axis >= 0; --axis) {
      int64_t size = world->axisSizes[axis], coordinate = comm->coordinates[axis];
      if (mask >> axis & 1) {
        coordinate = rest % size;
        rest /= size;
      }
      rank += coordinate * stride;
      stride *= size;
    }
    group->ranks[i] = (int32_t)rank;
  }
  if (n > 1 && world->backend->openGroup(world->state, group) != SHARD_RT_OK) {
    shardRtRelease(world->arena, group);
    return NULL;
  }
  group->next = comm->groups;
  comm->groups = group;
  return group;
}

//===----------------------------------------------------------------------===//
// Starting
//===----------------------------------------------------------------------===//

static const ShardProgramSite *findSite(const ShardRtComm *comm, ShardRtSite site) {
  if (site < 0)
    return NULL;
  if (site < comm->nSites && comm->sites[site].site == site)
    return &comm->sites[site];
  for (int32_t i = 0; i < comm->nSites; ++i)
    if (comm->sites[i].site == site)
      return &comm->sites[i];
  return NULL;
}

const char *shardRtSiteLocation(const ShardRtComm *comm, ShardRtSite site) {
  const ShardProgramSite *entry = findSite(comm, site);
  return entry && entry->location ? entry->location : "";
}

/// Fills in what messages need, and remembers the collective as the rank's last.
static const ShardProgramSite *nameCollective(ShardRtComm *comm, ShardRtCollective *collective) {
  const ShardProgramSite *entry = findSite(comm, collective->site);
  if (entry) {
    collective->location = entry->location;
    if (comm->siteCalls)
      collective->call = ++comm->siteCalls[entry - comm->sites];
  }
  comm->last = *collective;
  comm->hasLast = true;
  return entry;
}

/// Whether factors multiply to a byte count that fits in ptrdiff_t.
static bool bytesFit(size_t a, size_t b, size_t c, size_t elementSize) {
  size_t bytes;
  return !__builtin_mul_overflow(a, b, &bytes) && !__builtin_mul_overflow(bytes, c, &bytes) &&
         !__builtin_mul_overflow(bytes, elementSize, &bytes) && bytes <= PTRDIFF_MAX;
}

/// a * bytes of a ring, shared out among its n ranks: those with the lowest index send what is left
/// over. a < 2n, and bytes * n is within reach only in parts.
static int64_t ringBytes(int64_t a, int64_t bytes, const ShardRtGroup *group) {
  int64_t n = group->n, rest = bytes % n * a;
  return bytes / n * a + rest / n + (group->index < rest % n);
}

static int64_t sentBytes(const ShardRtCollective *c, const ShardRtGroup *group) {
  int64_t n = group->n, bytes = (int64_t)(c->outer * c->chunk * shardRtElementSize(c->element));
  switch (c->kind) {
  case SHARD_RT_ALL_REDUCE:
    return ringBytes(2 * (n - 1), bytes, group);
  case SHARD_RT_ALL_GATHER:
  case SHARD_RT_REDUCE_SCATTER:
  case SHARD_RT_ALL_TO_ALL: // `bytes` is one rank's part of the whole
    return (n - 1) * bytes;
  case SHARD_RT_BROADCAST: // around the ring from the root; the last one sends nothing
    return (group->index + 1) % n == c->parameter ? 0 : bytes;
  case SHARD_RT_PERMUTE:
    return c->parameter % n ? bytes : 0;
  default:
    return 0;
  }
}

/// A collective of one rank: a copy.
static void copyToSelf(const ShardRtCollective *c) {
  size_t bytes = c->outer * c->chunk * shardRtElementSize(c->element);
  if (bytes && c->send != c->recv)
    memmove(c->recv, c->send, bytes);
}

static ShardRtStatus startCollective(ShardRtComm *comm, uint32_t mask,
                                     ShardRtCollective *collective, ShardRtRequest *outRequest) {
  if (!comm || !outRequest || !maskIsValid(comm, mask) || !elementIsValid(collective->element))
    return SHARD_RT_INVALID_ARGUMENT;
  ShardRtWorld *world = comm->world;
  ShardRtKind kind = collective->kind;
  int32_t n = shardRtCommGetGroupSize(comm, mask);
  size_t size = shardRtElementSize(collective->element);
  *outRequest = (ShardRtRequest){.kind = kind};
  bool moves = kind != SHARD_RT_BARRIER;
  if (moves) {
    if (!bytesFit(collective->outer, collective->chunk, (size_t)n, size))
      return SHARD_RT_INVALID_ARGUMENT;
    if (kind == SHARD_RT_BROADCAST && (collective->parameter < 0 || collective->parameter >= n))
      return SHARD_RT_INVALID_ARGUMENT;
    if ((kind == SHARD_RT_ALL_REDUCE || kind == SHARD_RT_REDUCE_SCATTER) &&
        !shardRtReductionIsValid(collective->element, collective->reduction))
      return SHARD_RT_INVALID_ARGUMENT;
  }
  if (shardRtFailed(world))
    return shardRtFailureFor(world, comm->rank);
  if (moves) {
    if (!collective->outer || !collective->chunk)
      return SHARD_RT_OK;
    bool sends =
        kind != SHARD_RT_BROADCAST || shardRtCommGetGroupIndex(comm, mask) == collective->parameter;
    if (!collective->recv || (sends && !collective->send))
      return SHARD_RT_INVALID_ARGUMENT;
    if ((kind == SHARD_RT_ALL_TO_ALL || kind == SHARD_RT_PERMUTE) && n > 1 &&
        collective->send == collective->recv)
      return SHARD_RT_INVALID_ARGUMENT;
  }
  ShardRtGroup *group = shardRtCommGetGroup(comm, mask);
  if (!group)
    return SHARD_RT_OUT_OF_MEMORY;
  nameCollective(comm, collective);
  if (n == 1) {
    if (moves)
      copyToSelf(collective);
    return SHARD_RT_OK;
  }
  ShardRtStatus status =
      world->backend->start(world->state, comm, group, group->sequence, collective, outRequest);
  if (status != SHARD_RT_OK)
    return status;
  ++group->sequence;
  if (moves)
    comm->bytes[kind] += sentBytes(collective, group);
  return SHARD_RT_OK;
}

/// What all of them have; a kind adds its own.
static ShardRtCollective collectiveOf(ShardRtKind kind, ShardRtSite site, const void *send,
                                      void *recv, size_t outer, size_t chunk,
                                      ShardRtElement element) {
  return (ShardRtCollective){.kind = kind,
                             .site = site,
                             .send = send,
                             .recv = recv,
                             .outer = outer,
                             .chunk = chunk,
                             .element = element};
}

ShardRtStatus shardRtAllReduceStart(ShardRtComm *comm, uint32_t groupMask, ShardRtSite site,
                                    const void *send, void *recv, size_t count,
                                    ShardRtElement element, ShardRtReduction reduction,
                                    ShardRtRequest *outRequest) {
  ShardRtCollective collective =
      collectiveOf(SHARD_RT_ALL_REDUCE, site, send, recv, 1, count, element);
  collective.reduction = reduction;
  return startCollective(comm, groupMask, &collective, outRequest);
}

ShardRtStatus shardRtAllGatherStart(ShardRtComm *comm, uint32_t groupMask, ShardRtSite site,
                                    const void *send, void *recv, size_t outer, size_t chunk,
                                    ShardRtElement element, ShardRtRequest *outRequest) {
  ShardRtCollective collective =
      collectiveOf(SHARD_RT_ALL_GATHER, site, send, recv, outer, chunk, element);
  return startCollective(comm, groupMask, &collective, outRequest);
}

ShardRtStatus shardRtReduceScatterStart(ShardRtComm *comm, uint32_t groupMask, ShardRtSite site,
                                        const void *send, void *recv, size_t outer, size_t chunk,
                                        ShardRtElement element, ShardRtReduction reduction,
                                        ShardRtRequest *outRequest) {
  ShardRtCollective collective =
      collectiveOf(SHARD_RT_REDUCE_SCATTER, site, send, recv, outer, chunk, element);
  collective.reduction = reduction;
  return startCollective(comm, groupMask, &collective, outRequest);
}

ShardRtStatus shardRtAllToAllStart(ShardRtComm *comm, uint32_t groupMask, ShardRtSite site,
                                   const void *send, void *recv, size_t chunk,
                                   ShardRtElement element, ShardRtRequest *outRequest) {
  ShardRtCollective collective =
      collectiveOf(SHARD_RT_ALL_TO_ALL, site, send, recv, 1, chunk, element);
  return startCollective(comm, groupMask, &collective, outRequest);
}

ShardRtStatus shardRtBroadcastStart(ShardRtComm *comm, uint32_t groupMask, ShardRtSite site,
                                    int32_t root, const void *send, void *recv, size_t count,
                                    ShardRtElement element, ShardRtRequest *outRequest) {
  ShardRtCollective collective =
      collectiveOf(SHARD_RT_BROADCAST, site, send, recv, 1, count, element);
  collective.parameter = root;
  return startCollective(comm, groupMask, &collective, outRequest);
}

ShardRtStatus shardRtShiftStart(ShardRtComm *comm, uint32_t groupMask, ShardRtSite site,
                                int64_t offset, const void *send, void *recv, size_t count,
                                ShardRtElement element, ShardRtRequest *outRequest) {
  ShardRtCollective collective =
      collectiveOf(SHARD_RT_PERMUTE, site, send, recv, 1, count, element);
  collective.parameter = offset;
  return startCollective(comm, groupMask, &collective, outRequest);
}

ShardRtStatus shardRtBarrierStart(ShardRtComm *comm, uint32_t groupMask, ShardRtSite site,
                                  ShardRtRequest *outRequest) {
  ShardRtCollective collective = {.kind = SHARD_RT_BARRIER, .site = site, .outer = 1};
  return startCollective(comm, groupMask, &collective, outRequest);
}

static ShardRtStatus startMessage(ShardRtComm *comm, ShardRtCollective *collective,
                                  ShardRtRequest *outRequest) {
  if (!comm || !outRequest || collective->peer < 0 || collective->peer >= comm->world->size ||
      !elementIsValid(collective->element) ||
      !bytesFit(collective->chunk, 1, 1, shardRtElementSize(collective->element)))
    return SHARD_RT_INVALID_ARGUMENT;
  const void *buffer = collective->isReceive ? collective->recv : collective->send;
  if (!buffer && collective->chunk)
    return SHARD_RT_INVALID_ARGUMENT;
  ShardRtWorld *world = comm->world;
  *outRequest = (ShardRtRequest){.kind = SHARD_RT_SEND};
  if (shardRtFailed(world))
    return shardRtFailureFor(world, comm->rank);
  const ShardProgramSite *entry = nameCollective(comm, collective);
  ShardRtStatus status = world->backend->start(world->state, comm, NULL, 0, collective, outRequest);
  if (status == SHARD_RT_OK && !collective->isReceive && collective->peer != comm->rank) {
    bool permutes =
        entry && entry->kind && !strcmp(entry->kind, shardRtKindGetName(SHARD_RT_PERMUTE));
    comm->bytes[permutes ? SHARD_RT_PERMUTE : SHARD_RT_SEND] +=
        (int64_t)(collective->chunk * shardRtElementSize(collective->element));
  }
  return status;
}

ShardRtStatus shardRtSendStart(ShardRtComm *comm, ShardRtSite site, int32_t channel, int32_t peer,
                               const void *send, size_t count, ShardRtElement element,
                               ShardRtRequest *outRequest) {
  ShardRtCollective collective = collectiveOf(SHARD_RT_SEND, site, send, NULL, 1, count, element);
  collective.channel = channel;
  collective.peer = peer;
  return startMessage(comm, &collective, outRequest);
}

ShardRtStatus shardRtReceiveStart(ShardRtComm *comm, ShardRtSite site, int32_t channel,
                                  int32_t peer, void *recv, size_t count, ShardRtElement element,
                                  ShardRtRequest *outRequest) {
  ShardRtCollective collective = collectiveOf(SHARD_RT_SEND, site, NULL, recv, 1, count, element);
  collective.isReceive = true;
  collective.channel = channel;
  collective.peer = peer;
  return startMessage(comm, &collective, outRequest);
}

//===----------------------------------------------------------------------===//
// Ending
//===----------------------------------------------------------------------===//

ShardRtStatus shardRtWait(ShardRtComm *comm, ShardRtRequest *request) {
  if (!comm || !request)
    return SHARD_RT_INVALID_ARGUMENT;
  if (!request->state)
    return SHARD_RT_OK;
  bool complete;
  ShardRtStatus status =
      comm->world->backend->wait(comm->world->state, comm, request, true, &complete);
  request->state = NULL;
  return status;
}

ShardRtStatus shardRtTest(ShardRtComm *comm, ShardRtRequest *request, bool *outComplete) {
  if (!comm || !request || !outComplete)
    return SHARD_RT_INVALID_ARGUMENT;
  *outComplete = true;
  if (!request->state)
    return SHARD_RT_OK;
  ShardRtStatus status =
      comm->world->backend->wait(comm->world->state, comm, request, false, outComplete);
  if (status != SHARD_RT_OK || *outComplete)
    request->state = NULL;
  return status;
}

void shardRtAbort(ShardRtComm *comm, ShardRtRequest *request) {
  if (!comm || !request)
    return;
  ShardRtWorld *world = comm->world;
  char text[512] = "a complete collective";
  if (request->state)
    world->backend->describe(world->state, request, text, sizeof(text));
  shardRtFail(world, comm->rank, SHARD_RT_PEER_LOST, "rank %d: aborted %s", comm->rank, text);
  if (request->state) { // the wait ends at once and lets go of the buffers
    bool complete;
    world->backend->wait(world->state, comm, request, true, &complete);
    request->state = NULL;
  }
}

//===----------------------------------------------------------------------===//
// Blocking forms
//===----------------------------------------------------------------------===//

static ShardRtStatus waitIfStarted(ShardRtComm *comm, ShardRtStatus status,
                                   ShardRtRequest *request) {
  return status == SHARD_RT_OK ? shardRtWait(comm, request) : status;
}

ShardRtStatus shardRtAllReduce(ShardRtComm *comm, uint32_t groupMask, ShardRtSite site,
                               const void *send, void *recv, size_t count, ShardRtElement element,
                               ShardRtReduction reduction) {
  ShardRtRequest request;
  return waitIfStarted(
      comm,
      shardRtAllReduceStart(comm, groupMask, site, send, recv, count, element, reduction, &request),
      &request);
}

ShardRtStatus shardRtAllGather(ShardRtComm *comm, uint32_t groupMask, ShardRtSite site,
                               const void *send, void *recv, size_t outer, size_t chunk,
                               ShardRtElement element) {
  ShardRtRequest request;
  return waitIfStarted(
      comm,
      shardRtAllGatherStart(comm, groupMask, site, send, recv, outer, chunk, element, &request),
      &request);
}

ShardRtStatus shardRtReduceScatter(ShardRtComm *comm, uint32_t groupMask, ShardRtSite site,
                                   const void *send, void *recv, size_t outer, size_t chunk,
                                   ShardRtElement element, ShardRtReduction reduction) {
  ShardRtRequest request;
  return waitIfStarted(comm,
                       shardRtReduceScatterStart(comm, groupMask, site, send, recv, outer, chunk,
                                                 element, reduction, &request),
                       &request);
}

ShardRtStatus shardRtAllToAll(ShardRtComm *comm, uint32_t groupMask, ShardRtSite site,
                              const void *send, void *recv, size_t chunk, ShardRtElement element) {
  ShardRtRequest request;
  return waitIfStarted(
      comm, shardRtAllToAllStart(comm, groupMask, site, send, recv, chunk, element, &request),
      &request);
}

ShardRtStatus shardRtBroadcast(ShardRtComm *comm, uint32_t groupMask, ShardRtSite site,
                               int32_t root, const void *send, void *recv, size_t count,
                               ShardRtElement element) {
  ShardRtRequest request;
  return waitIfStarted(
      comm,
      shardRtBroadcastStart(comm, groupMask, site, root, send, recv, count, element, &request),
      &request);
}

ShardRtStatus shardRtShift(ShardRtComm *comm, uint32_t groupMask, ShardRtSite site, int64_t offset,
                           const void *send, void *recv, size_t count, ShardRtElement element) {
  ShardRtRequest request;
  return waitIfStarted(
      comm, shardRtShiftStart(comm, groupMask, site, offset, send, recv, count, element, &request),
      &request);
}

ShardRtStatus shardRtBarrier(ShardRtComm *comm, uint32_t groupMask, ShardRtSite site) {
  ShardRtRequest request;
  return waitIfStarted(comm, shardRtBarrierStart(comm, groupMask, site, &request), &request);
}

ShardRtStatus shardRtSend(ShardRtComm *comm, ShardRtSite site, int32_t channel, int32_t peer,
                          const void *send, size_t count, ShardRtElement element) {
  ShardRtRequest request;
  return waitIfStarted(
      comm, shardRtSendStart(comm, site, channel, peer, send, count, element, &request), &request);
}

ShardRtStatus shardRtReceive(ShardRtComm *comm, ShardRtSite site, int32_t channel, int32_t peer,
                             void *recv, size_t count, ShardRtElement element) {
  ShardRtRequest request;
  return waitIfStarted(
      comm, shardRtReceiveStart(comm, site, channel, peer, recv, count, element, &request),
      &request);
}
