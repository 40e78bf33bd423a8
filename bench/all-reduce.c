//===- all-reduce.c - 64 MB on 4 local ranks against memcpy -------*- C -*-===//
// Bar: the all-reduce of 64 MB of f32 on each of 4 ranks takes at most 0.8 of the time in which two
// threads memcpy four 64 MB buffers, which moves as many bytes. Rounds of all sides alternate, the
// minimum of 9 counts, every page is touched before, results are checked. Usage: bench-all-reduce
// [rounds]. Exit 1: the bar is missed or a result is wrong.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
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

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static float *newBuffer(void) {
  float *buffer = aligned_alloc(2u << 20, bytes);
  if (!buffer) {
    fprintf(stderr, "bench-all-reduce: error: out of memory\n");
    exit(1);
  }
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
  bench->begin[rank] = now();
  pthread_barrier_wait(&bench->start);
  ShardRtStatus status = shardRtAllReduce(shardRtContextGetComm(context), 1, -1, bench->send[rank],
                                          bench->inPlace ? bench->send[rank] : bench->recv[rank],
                                          bytes / sizeof(float), SHARD_RT_F32, SHARD_RT_SUM);
  bench->end[rank] = now();
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
  if (shardRtWorldRunRanks(world, 0, NULL, runRank, bench, NULL) != SHARD_RT_OK) {
    fprintf(stderr, "bench-all-reduce: error: %s\n", shardRtWorldGetError(world));
    exit(1);
  }
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
  bench->begin[copier->index] = now();
  pthread_barrier_wait(&bench->start);
  for (int i = copier->index; i < nRanks; i += nCopiers)
    memcpy(bench->recv[i], bench->send[i], bytes);
  bench->end[copier->index] = now();
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
  int nRounds = argc > 1 ? atoi(argv[1]) : 9;
  if (nRounds < 1) {
    fprintf(stderr, "usage: bench-all-reduce [rounds]\n");
    return 1;
  }
  static Bench bench;
  for (int rank = 0; rank < nRanks; ++rank) {
    bench.send[rank] = newBuffer();
    bench.recv[rank] = newBuffer();
  }
  ShardRtWorld *world;
  int64_t axes[] = {nRanks};
  if (shardRtWorldCreate(1, axes, NULL, &world) != SHARD_RT_OK)
    return 1;
  double copies = 1e9, outOfPlace = 1e9, inPlace = 1e9;
  for (int round = 0; round < nRounds; ++round) {
    double seconds = timeCopies(&bench);
    copies = seconds < copies ? seconds : copies;
    bench.inPlace = false;
    seconds = timeAllReduce(&bench, world);
    outOfPlace = seconds < outOfPlace ? seconds : outOfPlace;
    bench.inPlace = true;
    seconds = timeAllReduce(&bench, world);
    inPlace = seconds < inPlace ? seconds : inPlace;
  }
  shardRtWorldDestroy(world);
  for (int rank = 0; rank < nRanks; ++rank) {
    free(bench.send[rank]);
    free(bench.recv[rank]);
  }
  printf("memcpy of 4 x 64 MB by 2 threads     %7.2f ms\n", copies * 1e3);
  printf("all-reduce of 64 MB on 4 ranks       %7.2f ms, ratio %.2f (bar %.2f)\n", outOfPlace * 1e3,
         outOfPlace / copies, bar);
  printf("all-reduce of 64 MB on 4, in place   %7.2f ms, ratio %.2f (bar %.2f)\n", inPlace * 1e3,
         inPlace / copies, bar);
  if (bench.wrong) {
    fprintf(stderr, "bench-all-reduce: error: a result is wrong\n");
    return 1;
  }
  if (outOfPlace > bar * copies || inPlace > bar * copies) {
    fprintf(stderr, "bench-all-reduce: error: the bar is missed\n");
    return 1;
  }
  return 0;
}
