//===- contraction.c - A matrix product against OpenBLAS ----------*- C -*-===//
// bench-contraction PROGRAM.so N ROUNDS BAR
// Runs the only stage of PROGRAM, which multiplies two N x N matrices of f32, on one rank, and
// cblas_sgemm of the same size on one thread, in turn, in time of this thread. Compares the
// products too. Bar: the median over ROUNDS pairs of our speed to OpenBLAS's, which chooses its own
// kernel where OPENBLAS_CORETYPE is unset. Exit 1: it is less than BAR.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "Program.h"

#include "shard/Runtime.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void openblas_set_num_threads(int);

typedef struct Job {
  const ShardProgramStage *stage;
  int n, rounds;
  float *a, *b, *ours, *theirs;
  void *workspace;
  BenchPairs pairs;
} Job;

static int body(ShardRtContext *context, void *userData) {
  Job *job = userData;
  void *args[] = {job->a, job->b}, *results[] = {job->ours};
  for (int round = 0; round < job->rounds; ++round) {
    double start = benchNow(CLOCK_THREAD_CPUTIME_ID);
    int status = job->stage->run(context, NULL, args, results, job->workspace);
    double middle = benchNow(CLOCK_THREAD_CPUTIME_ID);
    if (status)
      return status;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, job->n, job->n, job->n, 1, job->a,
                job->n, job->b, job->n, 0, job->theirs, job->n);
    double end = benchNow(CLOCK_THREAD_CPUTIME_ID);
    benchPairsAdd(&job->pairs, middle - start, end - middle);
  }
  return SHARD_RT_OK;
}

int main(int argc, char **argv) {
  benchStart("bench-contraction");
  if (argc != 5)
    benchFail("usage: bench-contraction PROGRAM.so N ROUNDS BAR");
  static Job job;
  job.n = atoi(argv[2]), job.rounds = atoi(argv[3]);
  const ShardProgram *program = benchLoad(argv[1]);
  if (program->nArguments != 2 || program->nResults != 1 || program->results[0].rank != 2 ||
      program->results[0].localShape[0] != job.n || program->results[0].localShape[1] != job.n)
    benchFail("expected a program of one product");
  job.stage = &program->stages[0];
  size_t count = (size_t)job.n * (size_t)job.n;
  job.a = benchMatrix(count), job.b = benchMatrix(count);
  job.ours = benchMatrix(count), job.theirs = benchMatrix(count);
  job.workspace = benchAllocate(job.stage->workspaceBytes(NULL));
  openblas_set_num_threads(1);
  ShardRtWorld *world;
  if (shardRtWorldCreate(0, NULL, NULL, &world))
    benchFail("no world");
  if (shardRtWorldRunRanks(world, 0, NULL, body, &job, NULL))
    benchFail(shardRtWorldGetError(world));
  shardRtWorldDestroy(world);
  for (size_t i = 0; i < count; ++i)
    if (!(fabsf(job.ours[i] - job.theirs[i]) <= 1e-5f * (float)job.n))
      benchFail("the products differ");
  double bar = atof(argv[4]), flops = 2 * (double)count * job.n;
  double speed = 1 / benchPairsRatio(&job.pairs);
  printf("%d: %.1f Gflop/s, OpenBLAS %.1f Gflop/s, ratio %.2f (bar %.2f)\n", job.n,
         1e-9 * flops / benchMedian(job.pairs.ours, job.pairs.n),
         1e-9 * flops / benchMedian(job.pairs.peers, job.pairs.n), speed, bar);
  return !(speed >= bar);
}
