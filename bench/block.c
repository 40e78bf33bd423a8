//===- block.c - A Transformer block against its contractions -----*- C -*-===//
// bench-block PROGRAM.so ROUNDS [D HEADS FF SEQUENCE]
// Runs the first stage of PROGRAM on one rank, and the contractions of one Llama block of those
// sizes (default 512 8 1408 256, batch 1, f32) in OpenBLAS on one thread: q, k, v, o, gate, up,
// down, scores and values of each head. The two alternate; prints the minimum of each and their
// ratio. The weights are [out, in], as the model has them. OPENBLAS_CORETYPE should be unset.
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
  fprintf(stderr, "bench-block: error: %s\n", text);
  exit(1);
}

static uint64_t seed = 1;
static float uniform(void) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (float)(seed >> 40) / (float)(1 << 24) - 0.5f;
}

static void *allocate(size_t bytes) {
  void *memory = aligned_alloc(64, (bytes + 127) / 64 * 64);
  if (!memory)
    fail("out of memory");
  memset(memory, 0, (bytes + 127) / 64 * 64);
  return memory;
}

static float *matrix(size_t count) {
  float *values = allocate(count * sizeof(float));
  for (size_t i = 0; i < count; ++i)
    values[i] = uniform();
  return values;
}

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

typedef struct Job {
  const ShardProgram *program;
  Sizes sizes;
  Operands operands;
  void **args, **results, *workspace;
  int rounds;
  double block, blas;
} Job;

static int body(ShardRtContext *context, void *userData) {
  Job *job = userData;
  for (int round = 0; round < job->rounds; ++round) {
    double start = now();
    int status =
        job->program->stages[0].run(context, NULL, job->args, job->results, job->workspace);
    double middle = now();
    if (status)
      return status;
    contractions(&job->sizes, &job->operands);
    double end = now();
    job->block = fmin(job->block, middle - start);
    job->blas = fmin(job->blas, end - middle);
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

int main(int argc, char **argv) {
  if (argc != 3 && argc != 7)
    fail("usage: bench-block PROGRAM.so ROUNDS [D HEADS FF SEQUENCE]");
  Job job = {
      .rounds = atoi(argv[2]), .sizes = {512, 8, 1408, 256}, .block = INFINITY, .blas = INFINITY};
  if (argc == 7)
    job.sizes = (Sizes){atoi(argv[3]), atoi(argv[4]), atoi(argv[5]), atoi(argv[6])};
  void *library = dlopen(argv[1], RTLD_NOW);
  if (!library)
    fail(dlerror());
  ShardProgramGetter getter;
  void *symbol = dlsym(library, "shardProgram");
  if (!symbol)
    fail("not a program");
  memcpy(&getter, &symbol, sizeof(getter));
  job.program = getter();
  if (job.program->nStages != 1)
    fail("expected a program of one stage");
  job.args = calloc((size_t)job.program->nArguments + 1, sizeof(void *));
  job.results = calloc((size_t)job.program->nResults + 1, sizeof(void *));
  for (int32_t i = 0; i < job.program->nArguments; ++i) {
    const ShardProgramValue *value = &job.program->arguments[i];
    size_t bytes = bytesOf(value);
    // Integers are token ids and masks: zeros do.
    job.args[i] = value->data                      ? (void *)value->data
                  : value->element == SHARD_RT_F32 ? (void *)matrix(bytes / 4)
                                                   : allocate(bytes);
  }
  for (int32_t i = 0; i < job.program->nResults; ++i)
    job.results[i] = allocate(bytesOf(&job.program->results[i]));
  job.workspace = allocate(job.program->stages[0].workspaceBytes(NULL));
  const Sizes *s = &job.sizes;
  size_t rows = (size_t)s->sequence, widest = (size_t)(s->ff > s->d ? s->ff : s->d);
  job.operands = (Operands){.x = matrix(rows * (size_t)s->d),
                            .square = matrix((size_t)s->d * (size_t)s->d),
                            .wide = matrix((size_t)s->d * (size_t)s->ff),
                            .y = matrix(rows * (size_t)s->d),
                            .z = matrix(rows * widest),
                            .scores = matrix(rows * rows)};
  openblas_set_num_threads(1);

  ShardRtWorld *world;
  if (shardRtWorldCreate(0, NULL, NULL, &world))
    fail("no world");
  if (shardRtWorldRunRanks(world, 0, NULL, body, &job, NULL))
    fail(shardRtWorldGetError(world));
  shardRtWorldDestroy(world);
  for (int32_t i = 0; i < job.program->nResults; ++i)
    if (job.program->results[i].element == SHARD_RT_F32)
      for (size_t k = 0; k < bytesOf(&job.program->results[i]) / 4; ++k)
        if (!isfinite(((float *)job.results[i])[k]))
          fail("a result is not finite");
  printf("block %.3f ms, contractions in OpenBLAS %.3f ms, ratio %.2f\n", 1e3 * job.block,
         1e3 * job.blas, job.block / job.blas);
  return 0;
}
