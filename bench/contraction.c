//===- contraction.c - A matrix product against OpenBLAS ----------*- C -*-===//
// bench-contraction PROGRAM.so N ROUNDS BAR
// Runs the only stage of PROGRAM, which multiplies two N x N matrices of f32, on one rank, and
// cblas_sgemm of the same size on one thread. The two alternate and the minimum of each counts, in
// time of this thread. Compares the products too. Exit 1: the speed is less than BAR of OpenBLAS's,
// which chooses its own kernel where OPENBLAS_CORETYPE is unset.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "shard/Program.h"
#include "shard/Runtime.h"

#include <cblas.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void openblas_set_num_threads(int);

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const char *text) {
  fprintf(stderr, "bench-contraction: error: %s\n", text);
  exit(1);
}

static float *matrix(size_t count, uint64_t seed) {
  float *values = aligned_alloc(64, (count * sizeof(float) + 127) / 64 * 64);
  if (!values)
    fail("out of memory");
  for (size_t i = 0; i < count; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    values[i] = (float)(seed >> 40) / (float)(1 << 24) - 0.5f;
  }
  return values;
}

typedef struct Job {
  const ShardProgramStage *stage;
  int n, rounds;
  float *a, *b, *ours, *theirs;
  void *workspace;
  double shard, blas;
} Job;

static int body(ShardRtContext *context, void *userData) {
  Job *job = userData;
  void *args[] = {job->a, job->b}, *results[] = {job->ours};
  for (int round = 0; round < job->rounds; ++round) {
    double start = now();
    int status = job->stage->run(context, NULL, args, results, job->workspace);
    double middle = now();
    if (status)
      return status;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, job->n, job->n, job->n, 1, job->a,
                job->n, job->b, job->n, 0, job->theirs, job->n);
    double end = now();
    job->shard = fmin(job->shard, middle - start);
    job->blas = fmin(job->blas, end - middle);
  }
  return SHARD_RT_OK;
}

int main(int argc, char **argv) {
  if (argc != 5)
    fail("usage: bench-contraction PROGRAM.so N ROUNDS BAR");
  Job job = {.n = atoi(argv[2]), .rounds = atoi(argv[3]), .shard = INFINITY, .blas = INFINITY};
  void *library = dlopen(argv[1], RTLD_NOW);
  if (!library)
    fail(dlerror());
  ShardProgramGetter getter;
  void *symbol = dlsym(library, "shardProgram");
  if (!symbol)
    fail("not a program");
  memcpy(&getter, &symbol, sizeof(getter));
  const ShardProgram *program = getter();
  if (program->nStages != 1 || program->nArguments != 2 || program->nResults != 1 ||
      program->results[0].rank != 2 || program->results[0].localShape[0] != job.n ||
      program->results[0].localShape[1] != job.n)
    fail("expected a program of one product");
  job.stage = &program->stages[0];
  size_t count = (size_t)job.n * (size_t)job.n;
  job.a = matrix(count, 1), job.b = matrix(count, 2);
  job.ours = matrix(count, 3), job.theirs = matrix(count, 4);
  job.workspace = aligned_alloc(64, (job.stage->workspaceBytes(NULL) + 127) / 64 * 64);
  openblas_set_num_threads(1);
  ShardRtWorld *world;
  if (!job.workspace || shardRtWorldCreate(0, NULL, NULL, &world))
    fail("no world");
  if (shardRtWorldRunRanks(world, 0, NULL, body, &job, NULL))
    fail(shardRtWorldGetError(world));
  shardRtWorldDestroy(world);
  for (size_t i = 0; i < count; ++i)
    if (!(fabsf(job.ours[i] - job.theirs[i]) <= 1e-5f * (float)job.n))
      fail("the products differ");
  double bar = atof(argv[4]), ratio = job.blas / job.shard, flops = 2 * (double)count * job.n;
  printf("%d: %.1f Gflop/s, OpenBLAS %.1f Gflop/s, ratio %.2f (bar %.2f)\n", job.n,
         1e-9 * flops / job.shard, 1e-9 * flops / job.blas, ratio, bar);
  return ratio < bar;
}
