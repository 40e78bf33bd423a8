//===- block.c - A Transformer block against its contractions -----*- C -*-===//
// bench-block PROGRAM.so ROUNDS BAR [D HEADS FF SEQUENCE]
// Runs the only stage of PROGRAM, and the contractions of one Llama block of those sizes (default
// 512 8 1408 256, batch 1, f32) in OpenBLAS: q, k, v, o, gate, up, down, scores and values of each
// head. A program of one rank is timed on its thread against OpenBLAS on one; one of several ranks
// by the clock, from barrier to barrier, against OpenBLAS on two threads. The two alternate; of
// each round the faster of three steps of either side makes a pair. OpenBLAS's threads spin for a
// while after a product, on cores that ranks need: they are waited for. Bar: the median of the
// pairs' ratios. Exit 1: it is over BAR. The weights are [out, in], as the model has them.
// OPENBLAS_CORETYPE should be unset.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "Program.h"

#include "shard/Runtime.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void openblas_set_num_threads(int);

typedef struct Sizes {
  int d, heads, ff, sequence;
} Sizes;
typedef struct Operands {
  float *x, *square, *wide, *y, *z, *scores;
} Operands;

/// y[m, n] = x[m, k] w[n, k]^T
static void linear(const float *x, const float *w, float *y, int m, int n, int k) {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, 1, x, k, w, k, 0, y, n);
}

static void contractions(const Sizes *s, const Operands *o) {
  int size = s->d / s->heads;
  for (int i = 0; i < 4; ++i)
    linear(o->x, o->square, o->y, s->sequence, s->d, s->d);
  for (int h = 0; h < s->heads; ++h) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, s->sequence, s->sequence, size, 1,
                o->x + h * size, s->d, o->y + h * size, s->d, 0, o->scores, s->sequence);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, s->sequence, size, s->sequence, 1,
                o->scores, s->sequence, o->x + h * size, s->d, 0, o->y + h * size, s->d);
  }
  for (int i = 0; i < 2; ++i)
    linear(o->x, o->wide, o->z, s->sequence, s->ff, s->d);
  linear(o->z, o->wide, o->y, s->sequence, s->d, s->ff);
}

/// Buffers of one rank, and when it came to the barrier before a step and was done with the step.
enum { nSteps = 3 };
typedef struct Rank {
  void **args, **results, *workspace;
  double begin[nSteps], end[nSteps];
} Rank;

typedef struct Job {
  const ShardProgram *program;
  Sizes sizes;
  Operands operands;
  Rank *ranks;
  int nRanks;
  clockid_t clock;
  BenchPairs pairs;
} Job;

/// Seconds from the arrival of the last rank to the end of the last one: ranks that start while
/// others still wait for a core have no head start.
static double elapsed(const Job *job, int step) {
  double begin = job->ranks[0].begin[step], end = job->ranks[0].end[step];
  for (int r = 1; r < job->nRanks; ++r) {
    begin = fmax(begin, job->ranks[r].begin[step]);
    end = fmax(end, job->ranks[r].end[step]);
  }
  return end - begin;
}

/// The steps of one round.
static int body(ShardRtContext *context, void *userData) {
  Job *job = userData;
  ShardRtComm *comm = shardRtContextGetComm(context);
  Rank *rank = &job->ranks[shardRtCommGetRank(comm)];
  uint32_t everyone = (UINT32_C(1) << job->program->nAxes) - 1;
  for (int step = 0; step < nSteps; ++step) {
    rank->begin[step] = benchNow(job->clock);
    int status = shardRtBarrier(comm, everyone, 0);
    if (!status)
      status =
          job->program->stages[0].run(context, NULL, rank->args, rank->results, rank->workspace);
    rank->end[step] = benchNow(job->clock);
    if (status)
      return status;
  }
  return SHARD_RT_OK;
}

static size_t bytesOf(const ShardProgramValue *value) {
  static const size_t sizes[] = {1, 1, 2, 4, 8, 2, 2, 4, 8};
  size_t bytes = sizes[value->element];
  for (int32_t i = 0; i < value->rank; ++i)
    bytes *= (size_t)value->localShape[i];
  return bytes;
}

static Rank makeRank(const ShardProgram *program) {
  Rank rank = {.args = calloc((size_t)program->nArguments + 1, sizeof(void *)),
               .results = calloc((size_t)program->nResults + 1, sizeof(void *))};
  if (!rank.args || !rank.results)
    benchFail("out of memory");
  for (int32_t i = 0; i < program->nArguments; ++i) {
    const ShardProgramValue *value = &program->arguments[i];
    size_t bytes = bytesOf(value);
    // Integers are token ids and masks: zeros do.
    rank.args[i] = value->data                      ? (void *)value->data
                   : value->element == SHARD_RT_F32 ? (void *)benchMatrix(bytes / 4)
                                                    : benchAllocate(bytes);
  }
  for (int32_t i = 0; i < program->nResults; ++i)
    rank.results[i] = benchAllocate(bytesOf(&program->results[i]));
  rank.workspace = benchAllocate(program->stages[0].workspaceBytes(NULL));
  return rank;
}

/// Until no thread of this process runs for 4 ms: of equal real-time priority one that spins keeps
/// its core, and ranks would share what is left.
static void waitUntilIdle(void) {
  const struct timespec window = {.tv_nsec = 4000000};
  double used = 1;
  for (int i = 0; used > 0.0005 && i < 500; ++i) {
    double before = benchNow(CLOCK_PROCESS_CPUTIME_ID);
    nanosleep(&window, NULL);
    used = benchNow(CLOCK_PROCESS_CPUTIME_ID) - before;
  }
  if (used > 0.0005)
    benchFail("threads of OpenBLAS spin without end");
}

int main(int argc, char **argv) {
  benchStart("bench-block");
  if (argc != 4 && argc != 8)
    benchFail("usage: bench-block PROGRAM.so ROUNDS BAR [D HEADS FF SEQUENCE]");
  static Job job;
  job.program = benchLoad(argv[1]);
  job.sizes = (Sizes){512, 8, 1408, 256};
  if (argc == 8)
    job.sizes = (Sizes){atoi(argv[4]), atoi(argv[5]), atoi(argv[6]), atoi(argv[7])};
  ShardRtWorld *world;
  if (shardRtWorldCreate(job.program->nAxes, job.program->axisSizes, NULL, &world))
    benchFail("no world");
  job.nRanks = shardRtWorldGetSize(world);
  job.clock = job.nRanks == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
  job.ranks = calloc((size_t)job.nRanks, sizeof(Rank));
  if (!job.ranks)
    benchFail("out of memory");
  for (int r = 0; r < job.nRanks; ++r)
    job.ranks[r] = makeRank(job.program);
  const Sizes *s = &job.sizes;
  size_t rows = (size_t)s->sequence, widest = (size_t)(s->ff > s->d ? s->ff : s->d);
  job.operands = (Operands){.x = benchMatrix(rows * (size_t)s->d),
                            .square = benchMatrix((size_t)s->d * (size_t)s->d),
                            .wide = benchMatrix((size_t)s->d * (size_t)s->ff),
                            .y = benchMatrix(rows * (size_t)s->d),
                            .z = benchMatrix(rows * widest),
                            .scores = benchMatrix(rows * rows)};
  openblas_set_num_threads(job.nRanks == 1 ? 1 : 2);
  for (int round = atoi(argv[2]); round > 0; --round) {
    double block = INFINITY, blas = INFINITY;
    waitUntilIdle();
    if (shardRtWorldRunRanks(world, 0, NULL, body, &job, NULL))
      benchFail(shardRtWorldGetError(world));
    for (int step = 0; step < nSteps; ++step) {
      block = fmin(block, elapsed(&job, step));
      double start = benchNow(job.clock);
      contractions(&job.sizes, &job.operands);
      blas = fmin(blas, benchNow(job.clock) - start);
    }
    benchPairsAdd(&job.pairs, block, blas);
  }
  shardRtWorldDestroy(world);
  for (int r = 0; r < job.nRanks; ++r)
    for (int32_t i = 0; i < job.program->nResults; ++i)
      if (job.program->results[i].element == SHARD_RT_F32)
        for (size_t k = 0; k < bytesOf(&job.program->results[i]) / 4; ++k)
          if (!isfinite(((float *)job.ranks[r].results[i])[k]))
            benchFail("a result is not finite");
  char ours[64], peer[64];
  snprintf(ours, sizeof(ours), "block on %d ranks", job.nRanks);
  snprintf(peer, sizeof(peer), "contractions in OpenBLAS on %d threads", job.nRanks == 1 ? 1 : 2);
  return !benchPairsHold(&job.pairs, ours, peer, atof(argv[3]));
}
