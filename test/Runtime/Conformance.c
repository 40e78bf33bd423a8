//===- Conformance.c - Every collective against an oracle ---------*- C -*-===//
// All collectives x elements x reductions x groups on meshes up to 2x2x2. A rank knows every rank's
// input from a formula, computes what it must receive element by element, and compares bits (a NaN
// with any NaN, but then the group compares bits among its ranks). Usage: shard-runtime-conformance
// [iterations [least ranks, most ranks]]. Exit 1: something differs.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "Oracle.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Test {
  Mesh mesh;
  int nIterations;
  bool again; // the world's second run
  atomic_int nChecks, nFailures;
} Test;

/// One rank's view of a test.
typedef struct Rank {
  Test *test;
  ShardRtContext *context;
  ShardRtComm *comm;
  int32_t rank;
  int64_t expectedBytes[SHARD_RT_N_KINDS];
} Rank;

static void fail(Rank *self, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void fail(Rank *self, const char *format, ...) {
  if (atomic_fetch_add(&self->test->nFailures, 1) >= 20)
    return;
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  char mesh[64] = "";
  for (int32_t i = 0; i < self->test->mesh.nAxes; ++i)
    snprintf(mesh + strlen(mesh), sizeof(mesh) - strlen(mesh), "%s%" PRId64, i ? "x" : "",
             self->test->mesh.sizes[i]);
  printf("FAIL: mesh %s, rank %d: %s\n", mesh, self->rank, text);
}

//===----------------------------------------------------------------------===//
// Cases
//===----------------------------------------------------------------------===//

static ShardRtStatus start(Rank *self, const Case *c, const Group *group, const void *send,
                           void *recv, ShardRtRequest *request) {
  ShardRtComm *comm = self->comm;
  ShardRtSite site = (ShardRtSite)(c->salt % 1000);
  switch (c->kind) {
  case SHARD_RT_ALL_REDUCE:
    return shardRtAllReduceStart(comm, group->mask, site, send, recv, c->chunk, c->element,
                                 c->reduction, request);
  case SHARD_RT_ALL_GATHER:
    return shardRtAllGatherStart(comm, group->mask, site, send, recv, c->outer, c->chunk,
                                 c->element, request);
  case SHARD_RT_REDUCE_SCATTER:
    return shardRtReduceScatterStart(comm, group->mask, site, send, recv, c->outer, c->chunk,
                                     c->element, c->reduction, request);
  case SHARD_RT_ALL_TO_ALL:
    return shardRtAllToAllStart(comm, group->mask, site, send, recv, c->chunk, c->element, request);
  case SHARD_RT_BROADCAST:
    return shardRtBroadcastStart(comm, group->mask, site, (int32_t)c->parameter, send, recv,
                                 c->chunk, c->element, request);
  case SHARD_RT_PERMUTE:
    return shardRtShiftStart(comm, group->mask, site, c->parameter, send, recv, c->chunk,
                             c->element, request);
  default:
    abort();
  }
}

/// A collective in flight with its buffers; guard bytes lie around what is received.
typedef struct Flight {
  Case c;
  Group group;
  char *send, *recvBlock, *recv;
  ShardRtRequest request;
} Flight;

enum { guard = 64, guardByte = 0xA5 };

static bool launch(Rank *self, Flight *flight, const Case *c, const Group *group) {
  flight->c = *c;
  flight->group = *group;
  size_t size = elementSizes[c->element], nSend = sendCount(c, group), nRecv = recvCount(c, group);
  size_t nBlock = nRecv > nSend ? nRecv : nSend;
  flight->recvBlock = malloc(nBlock * size + 2 * guard);
  flight->recv = flight->recvBlock + guard;
  memset(flight->recvBlock, guardByte, nBlock * size + 2 * guard);
  flight->send = NULL;
  char *send;
  if (!c->inPlace)
    send = flight->send = malloc(nSend * size + 1);
  else if (c->kind == SHARD_RT_ALL_GATHER)
    send = flight->recv + (size_t)group->index * c->chunk * size;
  else
    send = flight->recv;
  for (size_t i = 0; i < nSend; ++i)
    input(c->element, self->rank, c->salt, i, send + i * size);
  if (c->inPlace && c->kind == SHARD_RT_REDUCE_SCATTER)
    flight->recv += (size_t)group->index * c->chunk * size;
  bool isRoot = c->kind != SHARD_RT_BROADCAST || group->index == c->parameter;
  ShardRtStatus status =
      start(self, c, group, isRoot ? send : NULL, flight->recv, &flight->request);
  if (c->outer && c->chunk)
    self->expectedBytes[c->kind] += expectedBytes(c, group);
  if (status == SHARD_RT_OK)
    return true;
  fail(self, "kind %d, %s: start gives %d: %s", c->kind, elementNames[c->element], status,
       shardRtWorldGetError(shardRtCommGetWorld(self->comm)));
  return false;
}

static void check(Rank *self, Flight *flight, ShardRtStatus status) {
  const Case *c = &flight->c;
  size_t size = elementSizes[c->element], nRecv = recvCount(c, &flight->group);
  atomic_fetch_add(&self->test->nChecks, 1);
  if (status != SHARD_RT_OK)
    fail(self, "kind %d: wait gives %d: %s", c->kind, status,
         shardRtWorldGetError(shardRtCommGetWorld(self->comm)));
  // Of a long result: what lies near a multiple of 64, where chunks and tiles meet, and a sample.
  bool isLong = nRecv > 50000;
  for (size_t i = 0; status == SHARD_RT_OK && i < nRecv; ++i) {
    char want[8];
    if (isLong && i % 13 && (i + 1) % 64 > 1 && i < nRecv - 2)
      continue;
    expected(c, &flight->group, i, want);
    if (sameElement(c->element, flight->recv + i * size, want))
      continue;
    uint64_t a = 0, b = 0;
    memcpy(&a, flight->recv + i * size, size);
    memcpy(&b, want, size);
    fail(self,
         "kind %d, mask %x, %s, reduction %d, [%zu, %zu]%s, parameter %" PRId64
         ": element %zu is %" PRIx64 ", not %" PRIx64,
         c->kind, flight->group.mask, elementNames[c->element], c->reduction, c->outer, c->chunk,
         c->inPlace ? " in place" : "", c->parameter, i, a, b);
    break;
  }
  for (size_t i = 0; !c->inPlace && i < guard; ++i)
    if (flight->recvBlock[i] != (char)guardByte ||
        flight->recv[nRecv * size + i] != (char)guardByte) {
      fail(self, "kind %d: bytes beside the result were written", c->kind);
      break;
    }
  free(flight->send);
  free(flight->recvBlock);
}

static void runCase(Rank *self, const Case *c, const Group *group) {
  Flight flight;
  if (launch(self, &flight, c, group))
    check(self, &flight, shardRtWait(self->comm, &flight.request));
}

static bool canBeInPlace(ShardRtKind kind) {
  return kind == SHARD_RT_ALL_REDUCE || kind == SHARD_RT_ALL_GATHER ||
         kind == SHARD_RT_REDUCE_SCATTER;
}

static bool reduces(ShardRtKind kind) {
  return kind == SHARD_RT_ALL_REDUCE || kind == SHARD_RT_REDUCE_SCATTER;
}

/// Every kind, element, reduction and group at small unequal sizes.
static void runAll(Rank *self, uint64_t salt) {
  static const size_t shapes[][2] = {{1, 1}, {3, 5}, {7, 1}, {1, 130}, {2, 300}, {1, 0}};
  int32_t nAxes = self->test->mesh.nAxes;
  for (uint32_t mask = 0; mask < 1u << nAxes; ++mask) {
    Group group = groupOf(&self->test->mesh, self->rank, mask);
    for (int kind = 0; kind <= SHARD_RT_BROADCAST; ++kind) {
      for (int element = 0; element <= SHARD_RT_F64; ++element) {
        int nReductions = !reduces(kind) ? 1 : elementIsFloat(element) ? 4 : 6;
        for (int reduction = 0; reduction < nReductions; ++reduction) {
          for (size_t shape = 0; shape < sizeof(shapes) / sizeof(shapes[0]); ++shape) {
            Case c = {.kind = kind,
                      .element = element,
                      .reduction = reduction,
                      .outer = shapes[shape][0],
                      .chunk = shapes[shape][1],
                      .salt = ++salt};
            if (kind != SHARD_RT_ALL_GATHER && kind != SHARD_RT_REDUCE_SCATTER) {
              c.chunk *= c.outer;
              c.outer = 1;
            }
            if (kind == SHARD_RT_BROADCAST)
              c.parameter = (int64_t)(salt % (uint64_t)group.n);
            if (kind == SHARD_RT_PERMUTE)
              c.parameter = (int64_t)(salt % 9) - 4;
            runCase(self, &c, &group);
            c.inPlace = true;
            c.salt = ++salt;
            if (canBeInPlace(kind) && c.outer == 1)
              runCase(self, &c, &group);
          }
        }
      }
    }
    if (shardRtBarrier(self->comm, mask, -1) != SHARD_RT_OK)
      fail(self, "barrier on mask %x fails", mask);
  }
}

/// Sizes that are cut into many chunks, and rows that are not multiples of anything.
static void runLarge(Rank *self, uint64_t salt) {
  static const size_t shapes[][2] = {{1, 70007}, {7001, 13}, {11, 4001}, {70001, 1}};
  uint32_t mask = (1u << self->test->mesh.nAxes) - 1;
  Group group = groupOf(&self->test->mesh, self->rank, mask);
  for (int kind = 0; kind <= SHARD_RT_BROADCAST; ++kind) {
    for (size_t shape = 0; shape < sizeof(shapes) / sizeof(shapes[0]); ++shape) {
      Case c = {.kind = kind,
                .element = shape % 2 ? SHARD_RT_BF16 : SHARD_RT_F32,
                .outer = shapes[shape][0],
                .chunk = shapes[shape][1],
                .parameter = 1 % group.n,
                .salt = ++salt};
      if (kind != SHARD_RT_ALL_GATHER && kind != SHARD_RT_REDUCE_SCATTER) {
        c.chunk *= c.outer;
        c.outer = 1;
      }
      runCase(self, &c, &group);
      c.inPlace = true;
      c.salt = ++salt;
      if (canBeInPlace(kind) && c.outer == 1)
        runCase(self, &c, &group);
    }
  }
  // From 4 MB on, outputs bypass the caches.
  Case c = {.element = SHARD_RT_F32, .outer = 1, .chunk = (4 << 20) / 4 + 3, .salt = ++salt};
  for (int kind = 0; group.n <= 3 && kind <= SHARD_RT_BROADCAST; ++kind) {
    c.kind = kind;
    c.salt = ++salt;
    runCase(self, &c, &group);
  }
}

/// Many in flight on different groups; each rank waits in an order of its own, some by testing.
static void runInFlight(Rank *self, uint64_t salt) {
  enum { nFlights = 24 };
  Flight flights[nFlights];
  int order[nFlights];
  uint32_t nMasks = 1u << self->test->mesh.nAxes;
  for (int i = 0; i < nFlights; ++i) {
    uint64_t h = oracleHash(salt, (uint64_t)i, 77);
    Group group = groupOf(&self->test->mesh, self->rank, (uint32_t)(h % nMasks));
    Case c = {.kind = (ShardRtKind)(h >> 8 & 7) % 6,
              .element = (ShardRtElement)((h >> 16) % 9),
              .outer = 1,
              .chunk = 1 + (h >> 24) % (i % 6 ? 500 : 60000),
              .parameter = (int64_t)((h >> 40) % (uint64_t)group.n),
              .salt = salt + (uint64_t)i};
    if (!launch(self, &flights[i], &c, &group))
      return;
    order[i] = i;
  }
  for (int i = nFlights - 1; i > 0; --i) {
    int j = (int)(oracleHash((uint64_t)self->rank, salt, (uint64_t)i) % (uint64_t)(i + 1));
    int k = order[i];
    order[i] = order[j];
    order[j] = k;
  }
  for (int i = 0; i < nFlights; ++i) {
    Flight *flight = &flights[order[i]];
    bool complete = false;
    ShardRtStatus status = SHARD_RT_OK;
    for (int attempt = 0; i % 3 == 0 && attempt < 50 && !complete && status == SHARD_RT_OK;
         ++attempt)
      status = shardRtTest(self->comm, &flight->request, &complete);
    if (!complete && status == SHARD_RT_OK)
      status = shardRtWait(self->comm, &flight->request);
    check(self, flight, status);
  }
}

/// Every rank sends to every rank, itself included, several messages on two channels, before it
/// receives any; then receives first, with the sends of peers arriving into posted buffers.
static void runMessages(Rank *self, uint64_t salt) {
  enum { nMessages = 3 };
  int32_t nRanks = shardRtWorldGetSize(shardRtCommGetWorld(self->comm));
  for (int round = 0; round < 2; ++round) {
    size_t count = 1 + (salt + (uint64_t)round * 7919) % 20000;
    size_t bytes = count * sizeof(int64_t);
    int64_t *in = malloc(bytes * nMessages * 2 * (size_t)nRanks), *out = malloc(bytes);
    ShardRtRequest *requests = calloc((size_t)nRanks * nMessages * 2, sizeof(*requests));
    for (int phase = 0; phase < 2; ++phase) {
      if (phase == round) { // sends
        for (int message = 0; message < nMessages; ++message)
          for (int32_t peer = 0; peer < nRanks; ++peer)
            for (int channel = 0; channel < 2; ++channel) {
              for (size_t i = 0; i < count; ++i)
                out[i] = (int64_t)oracleHash((uint64_t)(self->rank * 64 + peer),
                                             (uint64_t)(message * 2 + channel), salt + i);
              if (shardRtSend(self->comm, 5, channel, peer, out, count, SHARD_RT_I64))
                fail(self, "send fails");
              memset(out, 0, bytes); // the send has let go of it
              if (peer != self->rank)
                self->expectedBytes[SHARD_RT_SEND] += (int64_t)bytes;
            }
        continue;
      }
      for (int32_t slot = 0; slot < nRanks * nMessages * 2; ++slot) { // channel fastest, then peer
        int channel = slot % 2, peer = slot / 2 % nRanks;
        if (shardRtReceiveStart(self->comm, 5, channel, peer, in + (size_t)slot * count, count,
                                SHARD_RT_I64, &requests[slot]))
          fail(self, "receive does not start");
      }
    }
    for (int32_t slot = nRanks * nMessages * 2 - 1; slot >= 0; --slot) {
      int channel = slot % 2, peer = slot / 2 % nRanks, message = slot / 2 / nRanks;
      if (shardRtWait(self->comm, &requests[slot]))
        fail(self, "receive fails");
      atomic_fetch_add(&self->test->nChecks, 1);
      for (size_t i = 0; i < count; ++i)
        if (in[(size_t)slot * count + i] != (int64_t)oracleHash((uint64_t)(peer * 64 + self->rank),
                                                                (uint64_t)(message * 2 + channel),
                                                                salt + i)) {
          fail(self, "message %d of rank %d on channel %d is wrong at %zu", message, peer, channel,
               i);
          break;
        }
    }
    free(in);
    free(out);
    free(requests);
  }
}

/// The entry points of generated code, through shardRtInvoke.
static int generatedCode(ShardRtContext *context, const int64_t *dims, void *const *args,
                         void *const *results, void *workspace) {
  (void)workspace;
  int32_t nAxes = (int32_t)dims[0], all = (int32_t)((1 << nAxes) - 1);
  const float *x = args[0];
  float *const *out = (float *const *)results;
  int64_t n = dims[1], count = dims[2], rank = dims[3];
  int64_t linear = 0;
  for (int32_t axis = 0; axis < nAxes; ++axis)
    linear = linear * dims[4 + axis] + shardRtCoordinate(context, axis);
  if (linear != rank)
    return SHARD_RT_INVALID_ARGUMENT;
  shardRtCallAllReduce(context, 1, all, x, out[0], count * n, SHARD_RT_F32, SHARD_RT_SUM);
  shardRtCallAllGather(context, 2, all, x, out[1], 1, count, SHARD_RT_F32);
  shardRtCallReduceScatter(context, 3, all, x, out[2], 1, count, SHARD_RT_F32, SHARD_RT_SUM);
  shardRtCallAllToAll(context, 4, all, x, out[3], count, SHARD_RT_F32);
  shardRtCallBroadcast(context, 5, all, n - 1, x, out[4], count, SHARD_RT_F32);
  shardRtCallShift(context, 6, all, 1, x, out[5], count, SHARD_RT_F32);
  shardRtCallSend(context, 7, 0, (rank + 1) % n, x, count, SHARD_RT_F32);
  shardRtCallReceive(context, 7, 0, (rank + n - 1) % n, out[6], count, SHARD_RT_F32);
  return SHARD_RT_OK;
}

static void runGenerated(Rank *self) {
  const Mesh *mesh = &self->test->mesh;
  int64_t n = shardRtWorldGetSize(shardRtCommGetWorld(self->comm)), count = 33;
  int64_t dims[8] = {mesh->nAxes, n, count, self->rank};
  for (int32_t i = 0; i < mesh->nAxes; ++i)
    dims[4 + i] = mesh->sizes[i];
  size_t whole = (size_t)(n * count);
  float *x = malloc(whole * sizeof(float)), *out[7];
  for (int i = 0; i < 7; ++i)
    out[i] = calloc(whole, sizeof(float));
  for (size_t i = 0; i < whole; ++i)
    x[i] = (float)(self->rank * 1000 + (int)i);
  void *args[] = {x};
  int status = shardRtInvoke(self->context, generatedCode, dims, args, (void *const *)out, NULL);
  if (status != SHARD_RT_OK)
    fail(self, "generated code gives %d: %s", status,
         shardRtWorldGetError(shardRtCommGetWorld(self->comm)));
  float ranks = (float)(n * (n - 1) / 2 * 1000);
  int64_t previous = (self->rank + n - 1) % n;
  for (size_t i = 0; status == SHARD_RT_OK && i < whole; ++i) {
    size_t block = i / (size_t)count, at = i % (size_t)count;
    bool good = out[0][i] == ranks + (float)(n * (int64_t)i) &&
                out[1][i] == (float)(block * 1000 + at) &&
                out[3][i] == (float)(block * 1000 + (size_t)self->rank * (size_t)count + at);
    if (!block)
      good &= out[2][i] == ranks + (float)(n * (self->rank * count + (int64_t)at)) &&
              out[4][i] == (float)((n - 1) * 1000 + (int64_t)at) &&
              out[5][i] == (float)(previous * 1000 + (int64_t)at) && out[6][i] == out[5][i];
    if (!good) {
      fail(self, "generated code: element %zu is wrong", i);
      break;
    }
  }
  atomic_fetch_add(&self->test->nChecks, 1);
  free(x);
  for (int i = 0; i < 7; ++i)
    free(out[i]);
  // All kinds but the ones above are counted by launch().
  int64_t part = count * 4;
  self->expectedBytes[SHARD_RT_ALL_REDUCE] += 2 * (n - 1) * part * n / n;
  self->expectedBytes[SHARD_RT_ALL_GATHER] += (n - 1) * part;
  self->expectedBytes[SHARD_RT_REDUCE_SCATTER] += (n - 1) * part;
  self->expectedBytes[SHARD_RT_ALL_TO_ALL] += (n - 1) * part;
  self->expectedBytes[SHARD_RT_BROADCAST] += n > 1 && self->rank != n - 2 ? part : 0;
  self->expectedBytes[SHARD_RT_PERMUTE] += n > 1 ? part : 0;
  self->expectedBytes[SHARD_RT_SEND] += n > 1 ? part : 0;
}

/// Refused calls send nothing, and the world goes on.
static void runInvalid(Rank *self) {
  ShardRtComm *comm = self->comm;
  float x[8] = {0}, y[8];
  uint32_t all = (1u << self->test->mesh.nAxes) - 1, beyond = all + 1;
  int32_t n = shardRtWorldGetSize(shardRtCommGetWorld(comm));
  ShardRtStatus statuses[] = {
      shardRtAllReduce(comm, beyond, -1, x, y, 4, SHARD_RT_F32, SHARD_RT_SUM),
      shardRtAllReduce(comm, all, -1, NULL, y, 4, SHARD_RT_F32, SHARD_RT_SUM),
      shardRtAllReduce(comm, all, -1, x, NULL, 4, SHARD_RT_F32, SHARD_RT_SUM),
      shardRtAllReduce(comm, all, -1, x, y, SIZE_MAX / 2, SHARD_RT_F32, SHARD_RT_SUM),
      shardRtAllReduce(comm, all, -1, x, y, 4, SHARD_RT_F32, SHARD_RT_AND),
      shardRtAllReduce(comm, all, -1, x, y, 4, (ShardRtElement)9, SHARD_RT_SUM),
      shardRtAllReduce(comm, all, -1, x, y, 4, SHARD_RT_F32, (ShardRtReduction)6),
      shardRtAllGather(comm, all, -1, x, y, SIZE_MAX / 8, 4, SHARD_RT_F32),
      shardRtBroadcast(comm, all, -1, n, x, y, 4, SHARD_RT_F32),
      shardRtBroadcast(comm, all, -1, -1, x, y, 4, SHARD_RT_F32),
      shardRtSend(comm, -1, 0, n, x, 4, SHARD_RT_F32),
      shardRtReceive(comm, -1, 0, -1, y, 4, SHARD_RT_F32),
      n > 1 ? shardRtAllToAll(comm, all, -1, x, x, 1, SHARD_RT_F32) : SHARD_RT_INVALID_ARGUMENT,
  };
  for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); ++i)
    if (statuses[i] != SHARD_RT_INVALID_ARGUMENT)
      fail(self, "bad call %zu gives %d", i, statuses[i]);
  if (shardRtAllReduce(comm, all, -1, NULL, NULL, 0, SHARD_RT_F32, SHARD_RT_SUM) != SHARD_RT_OK)
    fail(self, "an empty all-reduce fails");
}

static int runRank(ShardRtContext *context, void *userData) {
  Rank self = {.test = userData,
               .context = context,
               .comm = shardRtContextGetComm(context),
               .rank = shardRtContextGetRank(context)};
  for (int iteration = 0; iteration < self.test->nIterations; ++iteration) {
    uint64_t salt = (uint64_t)iteration * 1000000;
    if (iteration % 8 == 0 && !self.test->again)
      runAll(&self, salt);
    if (iteration % 32 == 0 && !self.test->again)
      runLarge(&self, salt + 100000);
    runInFlight(&self, salt + 200000);
    runMessages(&self, salt + 300000);
    runGenerated(&self);
    runInvalid(&self);
  }
  for (int kind = 0; kind < SHARD_RT_N_KINDS; ++kind) {
    int64_t bytes = shardRtCommGetBytes(self.comm, (ShardRtKind)kind);
    if (bytes != self.expectedBytes[kind])
      fail(&self, "kind %d sent %" PRId64 " bytes, not %" PRId64, kind, bytes,
           self.expectedBytes[kind]);
  }
  shardRtCommResetBytes(self.comm);
  if (shardRtCommGetBytes(self.comm, SHARD_RT_ALL_REDUCE))
    fail(&self, "reset does not clear the bytes");
  return SHARD_RT_OK;
}

int main(int argc, char **argv) {
  static const Mesh meshes[] = {{0, {0}},    {1, {1}},    {1, {2}},    {1, {3}},       {1, {5}},
                                {2, {2, 2}}, {2, {2, 3}}, {2, {1, 2}}, {3, {2, 2, 2}}, {2, {4, 2}}};
  int nIterations = argc > 1 ? atoi(argv[1]) : 1;
  int64_t smallest = argc > 3 ? atoi(argv[2]) : 1, largest = argc > 3 ? atoi(argv[3]) : 8;
  ShardRtWorldOptions options = {.isolated = argc > 4 && strcmp(argv[4], "isolated") == 0};
  int nChecks = 0, nFailures = 0;
  for (size_t i = 0; i < sizeof(meshes) / sizeof(meshes[0]); ++i) {
    int64_t nRanks = 1;
    for (int32_t axis = 0; axis < meshes[i].nAxes; ++axis)
      nRanks *= meshes[i].sizes[axis];
    if (nRanks < smallest || nRanks > largest)
      continue;
    ShardRtWorld *world;
    if (shardRtWorldCreate(meshes[i].nAxes, meshes[i].sizes, &options, &world) != SHARD_RT_OK) {
      printf("FAIL: no world\n");
      return 1;
    }
    Test *test = shardRtWorldAllocate(world, sizeof(*test));
    test->mesh = meshes[i];
    test->nIterations = nIterations;
    for (int run = 0; run < 2; ++run) { // a world serves many runs
      test->again = run;
      if (shardRtWorldRunRanks(world, 0, NULL, runRank, test, NULL) != SHARD_RT_OK) {
        printf("FAIL: %s\n", shardRtWorldGetError(world));
        ++nFailures;
      }
    }
    nChecks += test->nChecks;
    nFailures += test->nFailures;
    shardRtWorldRelease(world, test);
    shardRtWorldDestroy(world);
  }
  printf("%d results compared, %d failures\n", nChecks, nFailures);
  return nFailures != 0;
}
