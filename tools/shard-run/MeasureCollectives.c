//===- MeasureCollectives.c - Latency and bandwidth of collectives -*- C -*-===//
// Every collective of the runtime among ranks that are threads, for messages of several lengths. A
// call takes from the arrival of the last rank to the end of the last one; of many calls the lower
// quartile counts. latency + bytes / bandwidth is fitted so that relative errors are least.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE

#include "Measure.h"
#include "MeasureProgram.h"
#include "Memory.h"

#include "shard/Cluster.h"
#include "shard/Runtime.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_CALLS = 41, N_LENGTHS = 6 };
static const size_t lengths[N_LENGTHS] = {256, 4096, 32768, 262144, 1048576, 4194304}; // bytes

typedef struct Timing {
  int32_t nRanks;
  int nCalls;
  ShardCollectiveKind kind;
  size_t bytes;        // of the message (shard/Cost.h)
  char **send, **recv; // [nRanks]
  double *begin, *end; // [nRanks][nCalls]
} Timing;

static ShardRtStatus call(ShardRtComm *comm, const Timing *t, int32_t rank) {
  size_t count = t->bytes / sizeof(float), n = (size_t)t->nRanks, part = count / n;
  const void *send = t->send[rank];
  void *recv = t->recv[rank];
  switch (t->kind) {
  case SHARD_COLLECTIVE_ALL_REDUCE:
    return shardRtAllReduce(comm, 1, -1, send, recv, count, SHARD_RT_F32, SHARD_RT_SUM);
  case SHARD_COLLECTIVE_REDUCE_SCATTER:
    return shardRtReduceScatter(comm, 1, -1, send, recv, 1, part, SHARD_RT_F32, SHARD_RT_SUM);
  case SHARD_COLLECTIVE_ALL_GATHER:
    return shardRtAllGather(comm, 1, -1, send, recv, 1, part, SHARD_RT_F32);
  case SHARD_COLLECTIVE_ALL_TO_ALL:
    return shardRtAllToAll(comm, 1, -1, send, recv, part, SHARD_RT_F32);
  case SHARD_COLLECTIVE_BROADCAST:
    return shardRtBroadcast(comm, 1, -1, 0, send, recv, count, SHARD_RT_F32);
  case SHARD_COLLECTIVE_PERMUTE:
    return shardRtShift(comm, 1, -1, 1, send, recv, count, SHARD_RT_F32);
  case SHARD_COLLECTIVE_SEND:
    // To the next rank; the last sends nothing.
    if (rank + 1 < t->nRanks) {
      ShardRtStatus status = shardRtSend(comm, -1, 0, rank + 1, send, count, SHARD_RT_F32);
      if (status)
        return status;
    }
    return rank ? shardRtReceive(comm, -1, 0, rank - 1, recv, count, SHARD_RT_F32) : SHARD_RT_OK;
  default:
    return SHARD_RT_INVALID_ARGUMENT;
  }
}

static int body(ShardRtContext *context, void *userData) {
  Timing *t = userData;
  ShardRtComm *comm = shardRtContextGetComm(context);
  int32_t rank = shardRtCommGetRank(comm);
  for (int i = -1; i < t->nCalls; ++i) {
    ShardRtStatus status = shardRtBarrier(comm, 1, -1);
    double begin = measureNow(CLOCK_MONOTONIC);
    if (!status)
      status = call(comm, t, rank);
    double end = measureNow(CLOCK_MONOTONIC);
    if (status)
      return (int)status;
    if (i < 0)
      continue; // the first opens channels
    t->begin[(size_t)rank * MAX_CALLS + (size_t)i] = begin;
    t->end[(size_t)rank * MAX_CALLS + (size_t)i] = end;
  }
  return SHARD_RT_OK;
}

static double secondsOf(ShardRtWorld *world, Timing *t) {
  if (shardRtWorldRunRanks(world, 0, NULL, body, t, NULL))
    stop("--measure: %s", shardRtWorldGetError(world));
  double seconds[MAX_CALLS];
  for (int i = 0; i < t->nCalls; ++i) {
    double begin = 0, end = 0;
    for (int32_t r = 0; r < t->nRanks; ++r) {
      begin = fmax(begin, t->begin[r * MAX_CALLS + i]);
      end = fmax(end, t->end[r * MAX_CALLS + i]);
    }
    seconds[i] = end - begin;
  }
  return fmax(measureQuantile((size_t)t->nCalls, seconds, 0.25), 1e-9);
}

/// Least sum of ((latency + bytes * slope - seconds) / seconds)^2.
static void fit(int n, const double *bytes, const double *seconds, double *latency, double *rate) {
  double s11 = 0, s1x = 0, sxx = 0, b1 = 0, bx = 0, least = seconds[0];
  for (int i = 0; i < n; ++i) {
    double w = 1 / seconds[i], x = bytes[i] * w;
    s11 += w * w, s1x += w * x, sxx += x * x, b1 += w, bx += x;
    least = fmin(least, seconds[i]);
  }
  double determinant = s11 * sxx - s1x * s1x;
  double a = (b1 * sxx - bx * s1x) / determinant, slope = (bx * s11 - b1 * s1x) / determinant;
  if (!(a > 0)) // no latency to be seen
    a = least / 2, slope = (bx - a * s1x) / sxx;
  if (!(slope > 0))
    slope = 1e-15;
  *latency = a;
  *rate = 1 / slope;
}

json_t *measureNumber(double value) {
  double scale = value == 0 ? 1 : pow(10, 3 - floor(log10(fabs(value))));
  return json_real(round(value * scale) / scale);
}

json_t *measureRate(double value) {
  return json_pack("{s:o, s:b}", "value", measureNumber(value), "measured", 1);
}

/// Every number up to 8, then powers of two, and all.
static int32_t nextRanks(int32_t ranks, int32_t most) {
  int32_t next = ranks < 8 ? ranks + 1 : ranks * 2;
  return ranks < most && next > most ? most : next;
}

json_t *measureCollectives(int32_t nRanks, bool quick, double *outLatency, double *outRate) {
  static const ShardCollectiveKind kinds[] = {
      SHARD_COLLECTIVE_ALL_REDUCE, SHARD_COLLECTIVE_REDUCE_SCATTER, SHARD_COLLECTIVE_ALL_GATHER,
      SHARD_COLLECTIVE_ALL_TO_ALL, SHARD_COLLECTIVE_BROADCAST,      SHARD_COLLECTIVE_PERMUTE,
      SHARD_COLLECTIVE_SEND};
  json_t *rows = json_array();
  for (int32_t ranks = 2; ranks <= nRanks; ranks = nextRanks(ranks, nRanks)) {
    Timing t = {.nRanks = ranks, .nCalls = quick ? 5 : MAX_CALLS};
    int64_t size = ranks;
    ShardRtWorld *world;
    if (shardRtWorldCreate(1, &size, NULL, &world))
      stop("out of memory");
    size_t n = (size_t)ranks;
    t.send = memoryZeroed(n * sizeof *t.send), t.recv = memoryZeroed(n * sizeof *t.recv);
    t.begin = memoryZeroed(n * MAX_CALLS * sizeof *t.begin);
    t.end = memoryZeroed(n * MAX_CALLS * sizeof *t.end);
    for (size_t r = 0; r < n; ++r) {
      t.send[r] = memoryZeroed(lengths[N_LENGTHS - 1]);
      t.recv[r] = memoryZeroed(lengths[N_LENGTHS - 1]);
    }
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; ++k) {
      double bytes[N_LENGTHS], seconds[N_LENGTHS], latency, rate;
      t.kind = kinds[k];
      for (int i = 0; i < N_LENGTHS; ++i) {
        t.bytes = lengths[i] / (sizeof(float) * n) * sizeof(float) * n;
        bytes[i] = (double)t.bytes;
        seconds[i] = t.bytes ? secondsOf(world, &t) : 1e-9;
      }
      fit(N_LENGTHS, bytes, seconds, &latency, &rate);
      if (ranks == 2 && t.kind == SHARD_COLLECTIVE_SEND)
        *outLatency = latency, *outRate = rate;
      json_array_append_new(rows, json_pack("{s:s, s:i, s:o, s:o}", "collective",
                                            shardClusterCollectiveName(t.kind), "ranks", (int)ranks,
                                            "latencySeconds", measureNumber(latency),
                                            "bytesPerSecond", measureNumber(rate)));
    }
    for (size_t r = 0; r < n; ++r) {
      free(t.send[r]);
      free(t.recv[r]);
    }
    free(t.send), free(t.recv), free(t.begin), free(t.end);
    shardRtWorldDestroy(world);
    if (ranks == nRanks)
      break;
  }
  return rows;
}
