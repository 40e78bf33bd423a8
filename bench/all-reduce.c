//===- all-reduce.c - 64 MB on 4 local ranks against memcpy -------*- C -*-===//
// Bar: the all-reduce of 64 MB of f32 on each of 4 ranks takes at most 0.8 of the time in which two
// threads memcpy four 64 MB buffers, which moves as many bytes: the median over pairs of rounds in
// turn. Every page is touched before, results are checked. Usage: bench-all-reduce [rounds]. Exit
// 1: the bar is missed or a result is wrong.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "Bench.h"

#include "shard/Runtime.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { nRanks = 4, nCopiers = 2 };
static const size_t bytes = 64u << 20;
static const double bar = 0.8;

typedef struct Bench {
  float *send[nRanks], *recv[nRanks];
  bool inPlace, wrong;
  pthread_barrier_t start;
  double begin[nRanks], end[nRanks]; // of each thread: before the barrier, after its work
} Bench;

static float *newBuffer(void) {
  float *buffer = aligned_alloc(2u << 20, bytes);
  if (!buffer)
    benchFail("out of memory");
  madvise(buffer, bytes, MADV_HUGEPAGE); // for both sides; 4 KB pages if there are none
  memset(buffer, 1, bytes);
  return buffer;
}

static float inputOf(int rank, size_t i) { return (float)((i * 7 + (size_t)rank * 13) % 1021); }

static void fill(Bench *bench, int rank) {
  for (size_t i = 0; i < bytes / sizeof(float); ++i)
    bench->send[rank][i] = inputOf(rank, i);
}

static bool isSum(const float *recv) {
  for (size_t i = 0; i < bytes / sizeof(float); ++i) {
    float sum = 0;
    for (int rank = 0; rank < nRanks; ++rank)
      sum += inputOf(rank, i);
    if (recv[i] != sum) // sums of small integers are exact
      return false;
  }
  return true;
}

static int runRank(ShardRtContext *context, void *userData) {
  Bench *bench = userData;
  int rank = shardRtContextGetRank(context);
  fill(bench, rank);
  bench->begin[rank] = benchNow(CLOCK_MONOTONIC);
  pthread_barrier_wait(&bench->start);
  ShardRtStatus status = shardRtAllReduce(shardRtContextGetComm(context), 1, -1, bench->send[rank],
                                          bench->inPlace ? bench->send[rank] : bench->recv[rank],
                                          bytes / sizeof(float), SHARD_RT_F32, SHARD_RT_SUM);
  bench->end[rank] = benchNow(CLOCK_MONOTONIC);
  return status;
}

/// Seconds from the arrival of the last thread to the end of the last one.
static double elapsed(const Bench *bench, int nThreads) {
  double begin = bench->begin[0], end = bench->end[0];
  for (int i = 1; i < nThreads; ++i) {
    begin = bench->begin[i] > begin ? bench->begin[i] : begin;
    end = bench->end[i] > end ? bench->end[i] : end;
  }
  return end - begin;
}

/// Seconds of one all-reduce.
static double timeAllReduce(Bench *bench, ShardRtWorld *world) {
  pthread_barrier_init(&bench->start, NULL, nRanks);
  if (shardRtWorldRunRanks(world, 0, NULL, runRank, bench, NULL) != SHARD_RT_OK)
    benchFail(shardRtWorldGetError(world));
  pthread_barrier_destroy(&bench->start);
  for (int rank = 0; rank < nRanks; ++rank)
    if (!isSum(bench->inPlace ? bench->send[rank] : bench->recv[rank]))
      bench->wrong = true;
  return elapsed(bench, nRanks);
}

typedef struct Copier {
  Bench *bench;
  int index;
} Copier;

static void *runCopier(void *argument) {
  Copier *copier = argument;
  Bench *bench = copier->bench;
  bench->begin[copier->index] = benchNow(CLOCK_MONOTONIC);
  pthread_barrier_wait(&bench->start);
  for (int i = copier->index; i < nRanks; i += nCopiers)
    memcpy(bench->recv[i], bench->send[i], bytes);
  bench->end[copier->index] = benchNow(CLOCK_MONOTONIC);
  return NULL;
}

/// Seconds in which two threads copy the four buffers.
static double timeCopies(Bench *bench) {
  pthread_t threads[nCopiers];
  Copier copiers[nCopiers];
  for (int rank = 0; rank < nRanks; ++rank)
    fill(bench, rank);
  pthread_barrier_init(&bench->start, NULL, nCopiers);
  for (int i = 0; i < nCopiers; ++i) {
    copiers[i] = (Copier){bench, i};
    if (pthread_create(&threads[i], NULL, runCopier, &copiers[i]))
      exit(1);
  }
  for (int i = 0; i < nCopiers; ++i)
    pthread_join(threads[i], NULL);
  pthread_barrier_destroy(&bench->start);
  for (int rank = 0; rank < nRanks; ++rank)
    if (memcmp(bench->send[rank], bench->recv[rank], bytes))
      bench->wrong = true;
  return elapsed(bench, nCopiers);
}

int main(int argc, char **argv) {
  benchStart("bench-all-reduce");
  int nRounds = argc > 1 ? atoi(argv[1]) : 9;
  if (nRounds < 1)
    benchFail("usage: bench-all-reduce [rounds]");
  static Bench bench;
  for (int rank = 0; rank < nRanks; ++rank) {
    bench.send[rank] = newBuffer();
    bench.recv[rank] = newBuffer();
  }
  ShardRtWorld *world;
  int64_t axes[] = {nRanks};
  if (shardRtWorldCreate(1, axes, NULL, &world) != SHARD_RT_OK)
    benchFail("no world");
  static BenchPairs outOfPlace, inPlace;
  for (int round = 0; round < nRounds; ++round) {
    double copies = timeCopies(&bench);
    bench.inPlace = false;
    benchPairsAdd(&outOfPlace, timeAllReduce(&bench, world), copies);
    bench.inPlace = true;
    benchPairsAdd(&inPlace, timeAllReduce(&bench, world), copies);
  }
  shardRtWorldDestroy(world);
  for (int rank = 0; rank < nRanks; ++rank) {
    free(bench.send[rank]);
    free(bench.recv[rank]);
  }
  const char *peer = "memcpy of 4 x 64 MB by 2 threads";
  bool held = benchPairsHold(&outOfPlace, "all-reduce of 64 MB on 4 ranks", peer, bar);
  held &= benchPairsHold(&inPlace, "in place", peer, bar);
  if (bench.wrong)
    benchFail("a result is wrong");
  return !held;
}
