//===- MeasureProgram.c - Small programs that --measure times ------*- C -*-===//
// A module whose stages are the cases, so that one compilation makes many of them. Stages are
// called one by one, not as a pipeline.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE

#include "../model/Element.h"
#include "../model/Placement.h"
#include "ColdMemory.h"
#include "Memory.h"

#include "shard/Runtime.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "MeasureProgram.h"

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static bool isInteger(const char *type) { return type[0] == 'i'; }

/// "%NAME = tensor.empty() : TYPE", and filled with zero as %NAME0.
static void printStart(FILE *out, const char *name, const char *tensor, const char *element) {
  fprintf(out,
          "  %%%s_zero = arith.constant %s : %s\n  %%%s_empty = tensor.empty() : %s\n"
          "  %%%s = linalg.fill ins(%%%s_zero : %s) outs(%%%s_empty : %s) -> %s\n",
          name, isInteger(element) ? "0" : "0.0", element, name, tensor, name, name, element, name,
          tensor, tensor);
}

static void printContraction(FILE *out, const MeasureCase *c, int index) {
  char a[64], b[64], t[64], r[64];
  const char *sum = isInteger(c->type) ? "i32" : c->type;
  snprintf(a, sizeof a, "tensor<%" PRId64 "x%" PRId64 "x%s>", c->m, c->k, c->type);
  snprintf(b, sizeof b, "tensor<%" PRId64 "x%" PRId64 "x%s>", c->n, c->k, c->type);
  snprintf(t, sizeof t, "tensor<%" PRId64 "x%" PRId64 "x%s>", c->k, c->n, c->type);
  snprintf(r, sizeof r, "tensor<%" PRId64 "x%" PRId64 "x%s>", c->m, c->n, sum);
  fprintf(out,
          "func.func @case%d(%%a: %s {spmd.arg = %d : i64}, %%b: %s {spmd.arg = %d : i64}) -> (%s "
          "{spmd.result = %d : i64}) attributes {spmd.stage = %d : i64} {\n",
          index, a, 2 * index, b, 2 * index + 1, r, index, index);
  printStart(out, "s", r, sum);
  fprintf(out,
          "  %%e = tensor.empty() : %s\n  %%t = linalg.transpose ins(%%b : %s) outs(%%e : %s) "
          "permutation "
          "= [1, 0]\n  %%r = linalg.matmul ins(%%a, %%t : %s, %s) outs(%%s : %s) -> %s\n  return "
          "%%r : %s\n}\n",
          t, b, t, a, t, r, r, r);
}

/// One elementwise op on two arrays; `c` says what its body is.
static void printElementwise(FILE *out, const MeasureCase *c, int index) {
  const char *t = c->type, *suffix = isInteger(t) ? "i" : "f";
  char a[64];
  snprintf(a, sizeof a, "tensor<%" PRId64 "x%s>", c->n, t);
  fprintf(out,
          "func.func @case%d(%%a: %s {spmd.arg = %d : i64}, %%b: %s {spmd.arg = %d : i64}) -> (%s "
          "{spmd.result = %d : i64}) attributes {spmd.stage = %d : i64} {\n"
          "  %%e = tensor.empty() : %s\n"
          "  %%r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> "
          "(i)>, affine_map<(i) -> (i)>], iterator_types = [\"parallel\"]} ins(%%a, %%b : %s, %s) "
          "outs(%%e : %s) {\n  ^bb0(%%x: %s, %%y: %s, %%o: %s):\n",
          index, a, 2 * index, a, 2 * index + 1, a, index, index, a, a, a, a, t, t, t);
  const char *last = "x";
  char names[2][16] = {"", ""};
  for (int i = 0; i < c->repeats; ++i) {
    char *name = names[i & 1];
    snprintf(name, sizeof names[0], "v%d", i);
    bool two = c->kind != MEASURE_FUNCTION || !strcmp(c->function, "arith.divf");
    const char *op = c->kind == MEASURE_FUNCTION ? c->function : i & 1 ? "arith.mul" : "arith.add";
    fprintf(out, "    %%%s = %s%s %%%s%s : %s\n", name, op,
            c->kind == MEASURE_FUNCTION ? "" : suffix, last, two ? ", %y" : "", t);
    last = name;
  }
  fprintf(out, "    linalg.yield %%%s : %s\n  } -> %s\n  return %%r : %s\n}\n", last, t, a, a);
}

static void printReduce(FILE *out, const MeasureCase *c, int index) {
  char a[64], r[64];
  snprintf(a, sizeof a, "tensor<%" PRId64 "x%" PRId64 "x%s>", c->m, c->n, c->type);
  snprintf(r, sizeof r, "tensor<%" PRId64 "x%s>", c->m, c->type);
  fprintf(out,
          "func.func @case%d(%%a: %s {spmd.arg = %d : i64}) -> (%s {spmd.result = %d : i64}) "
          "attributes {spmd.stage = %d : i64} {\n",
          index, a, 2 * index, r, index, index);
  printStart(out, "s", r, c->type);
  fprintf(out,
          "  %%r = linalg.reduce ins(%%a : %s) outs(%%s : %s) dimensions = [1]\n"
          "    (%%x: %s, %%y: %s) { %%v = arith.addf %%x, %%y : %s  linalg.yield %%v : %s }\n"
          "  return %%r : %s\n}\n",
          a, r, c->type, c->type, c->type, c->type, r);
}

/// A sum of four columns and a sum that needs it, in turn: ops that do not become one.
static void printLaunch(FILE *out, const MeasureCase *c, int index) {
  fprintf(out,
          "func.func @case%d(%%a: tensor<4x4x%s> {spmd.arg = %d : i64}) -> (tensor<4x4x%s> "
          "{spmd.result = %d : i64}) attributes {spmd.stage = %d : i64} {\n",
          index, c->type, 2 * index, c->type, index, index);
  const char *t = c->type;
  for (int i = 0; i < c->repeats; i += 2) {
    char start[16], last[16];
    snprintf(start, sizeof start, "s%d", i);
    if (i)
      snprintf(last, sizeof last, "v%d", i);
    else
      snprintf(last, sizeof last, "a");
    char row[32];
    snprintf(row, sizeof row, "tensor<4x%s>", t);
    printStart(out, start, row, t);
    fprintf(out,
            "  %%r%d = linalg.reduce ins(%%%s : tensor<4x4x%s>) outs(%%s%d : tensor<4x%s>) "
            "dimensions = [1]\n    (%%x: %s, %%y: %s) { %%m = arith.addf %%x, %%y : %s  "
            "linalg.yield %%m : %s }\n",
            i, last, t, i, t, t, t, t, t);
    fprintf(
        out,
        "  %%e%d = tensor.empty() : tensor<4x4x%s>\n  %%v%d = linalg.generic {indexing_maps = "
        "[affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, "
        "j)>], iterator_types = [\"parallel\", \"parallel\"]} ins(%%%s, %%r%d : tensor<4x4x%s>, "
        "tensor<4x%s>) outs(%%e%d : tensor<4x4x%s>) {\n  ^bb0(%%x: %s, %%y: %s, %%o: %s):\n    "
        "%%m = arith.subf %%x, %%y : %s\n    linalg.yield %%m : %s\n  } -> tensor<4x4x%s>\n",
        i, t, i + 2, last, i, t, t, i, t, t, t, t, t, t, t);
  }
  fprintf(out, "  return %%v%d : tensor<4x4x%s>\n}\n", c->repeats, t);
}

static char *writeModule(size_t nCases, const MeasureCase *cases) {
  char *text = NULL;
  size_t length = 0;
  FILE *out = open_memstream(&text, &length);
  if (!out)
    stop("out of memory");
  fprintf(out,
          "module attributes {spmd.sites = [], spmd.results = \"whole\"} {\nshard.grid @mesh(shape "
          "= %zu) {spmd.axes = [\"pp\"]}\n",
          nCases);
  for (size_t i = 0; i < nCases; ++i)
    switch (cases[i].kind) {
    case MEASURE_CONTRACTION:
      printContraction(out, &cases[i], (int)i);
      break;
    case MEASURE_REDUCE:
      printReduce(out, &cases[i], (int)i);
      break;
    case MEASURE_LAUNCH:
      printLaunch(out, &cases[i], (int)i);
      break;
    default:
      printElementwise(out, &cases[i], (int)i);
    }
  fputs("}\n", out);
  if (fclose(out))
    stop("out of memory");
  return text;
}

void measureCompile(Compiler *compiler, size_t nCases, const MeasureCase *cases, Compiled *out) {
  char *text = writeModule(nCases, cases);
  MlirModule module =
      mlirModuleCreateParse(compiler->context, mlirStringRefCreateFromCString(text));
  free(text);
  if (mlirModuleIsNull(module))
    stop("--measure: a measured program does not parse");
  compileSharded(compiler, "--measure", mlirModuleGetOperation(module), out);
  mlirModuleDestroy(module);
  if (out->program->nStages != (int32_t)nCases)
    stop("--measure: %zu programs were compiled to %" PRId32, nCases, out->program->nStages);
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

double measureNow(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int compareSeconds(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double measureQuantile(size_t n, double *values, double part) {
  qsort(values, n, sizeof *values, compareSeconds);
  return n ? values[(size_t)(part * (double)(n - 1))] : 0;
}

enum { MAX_VALUES = 4, FILL = 0x3c, MAX_SAMPLES = 31 }; // as a float of any kind: small, positive

/// Memory of one rank, used by all stages in turn.
typedef struct Memory {
  void *arguments[MAX_VALUES], *results[MAX_VALUES], *workspace;
  // Right operands of products, one behind the other and then again: a weight is used once a step,
  // and by then no cache holds it.
  char *weights;
  size_t weightBytes, next;
} Memory;

/// At least `bytes`, filled.
static void *allocate(size_t bytes) {
  void *memory = aligned_alloc(64, (bytes + 127) / 64 * 64);
  if (!memory)
    stop("out of memory: %zu bytes", bytes);
  return memset(memory, FILL, (bytes + 127) / 64 * 64);
}

/// Bytes of the right operand of a product, 0 for what is none.
static size_t coldOperandBytes(const ShardProgram *program, size_t stage, const MeasureCase *c) {
  return c->kind == MEASURE_CONTRACTION
             ? valueLocalBytes(&program->arguments[program->stages[stage].arguments[1]])
             : 0;
}

/// Room for the largest of everything. Each value has memory of its own.
static Memory createMemory(const ShardProgram *program, size_t weightBytes) {
  size_t arguments[MAX_VALUES] = {0}, results[MAX_VALUES] = {0}, workspace = 0;
  for (int32_t s = 0; s < program->nStages; ++s) {
    const ShardProgramStage *stage = &program->stages[s];
    for (int32_t i = 0; i < stage->nArguments && i < MAX_VALUES; ++i) {
      size_t bytes = valueLocalBytes(&program->arguments[stage->arguments[i]]);
      arguments[i] = bytes > arguments[i] ? bytes : arguments[i];
    }
    for (int32_t i = 0; i < stage->nResults && i < MAX_VALUES; ++i) {
      size_t bytes = valueLocalBytes(&program->results[stage->results[i]]);
      results[i] = bytes > results[i] ? bytes : results[i];
    }
    size_t bytes = stage->workspaceBytes(NULL);
    workspace = bytes > workspace ? bytes : workspace;
  }
  Memory memory = {.weightBytes = weightBytes};
  memory.weights = weightBytes ? allocate(weightBytes) : NULL;
  for (int i = 0; i < MAX_VALUES; ++i) {
    memory.arguments[i] = allocate(arguments[i]);
    memory.results[i] = allocate(results[i]);
  }
  memory.workspace = allocate(workspace);
  return memory;
}

static void releaseMemory(Memory *memory) {
  for (int i = 0; i < MAX_VALUES; ++i) {
    free(memory->arguments[i]);
    free(memory->results[i]);
  }
  free(memory->workspace);
  free(memory->weights);
}

typedef struct Timing {
  const ShardProgram *program;
  size_t nCases;
  MeasureCase *cases;
  int rounds;
  double secondsEach;
  int32_t nRanks;
  Memory *memories; // [nRanks]
  double *samples;  // [nRanks][MAX_SAMPLES]
} Timing;

/// Seconds of one run, over `runs` in a row on this thread's clock; the bytes of the argument that
/// is another one each time. Below 0: it failed.
static double timeRuns(ShardRtContext *context, const ShardProgramStage *stage, Memory *memory,
                       size_t coldOperand, int64_t runs) {
  size_t bytes = (coldOperand + 63) / 64 * 64;
  void *arguments[MAX_VALUES];
  memcpy(arguments, memory->arguments, sizeof arguments);
  double begin = measureNow(CLOCK_THREAD_CPUTIME_ID);
  for (int64_t i = 0; i < runs; ++i) {
    if (bytes) {
      memory->next = memory->next + bytes > memory->weightBytes ? 0 : memory->next;
      arguments[1] = memory->weights + memory->next;
      memory->next += bytes;
    }
    if (stage->run(context, NULL, arguments, memory->results, memory->workspace))
      return -1;
  }
  return (measureNow(CLOCK_THREAD_CPUTIME_ID) - begin) / (double)runs;
}

static int64_t runsFor(double seconds, double each) {
  return seconds <= 0 ? 1000 : each / seconds < 1 ? 1 : (int64_t)(each / seconds);
}

static int aloneBody(ShardRtContext *context, void *userData) {
  Timing *timing = userData;
  for (int round = 0; round < timing->rounds; ++round)
    for (size_t i = 0; i < timing->nCases; ++i) {
      MeasureCase *c = &timing->cases[i];
      const ShardProgramStage *stage = &timing->program->stages[i];
      size_t cold = coldOperandBytes(timing->program, i, c);
      double first = timeRuns(context, stage, timing->memories, cold, 1); // and fills the caches
      int64_t runs = runsFor(first, timing->secondsEach / 4);
      for (int part = 0; part < 4 && first >= 0; ++part) {
        double seconds = timeRuns(context, stage, timing->memories, cold, runs);
        if (seconds < 0)
          return SHARD_RT_PROGRAM_FAILED;
        if (c->seconds == 0 || seconds < c->seconds)
          c->seconds = seconds;
      }
      if (first < 0)
        return SHARD_RT_PROGRAM_FAILED;
    }
  return SHARD_RT_OK;
}

/// All ranks run the same case at the same time, again and again.
static int busyBody(ShardRtContext *context, void *userData) {
  Timing *timing = userData;
  ShardRtComm *comm = shardRtContextGetComm(context);
  int32_t rank = shardRtCommGetRank(comm);
  double *samples = timing->samples + (size_t)rank * MAX_SAMPLES;
  for (size_t i = 0; i < timing->nCases; ++i) {
    const ShardProgramStage *stage = &timing->program->stages[i];
    MeasureCase *c = &timing->cases[i];
    size_t cold = coldOperandBytes(timing->program, i, c);
    int64_t runs = runsFor(c->seconds, timing->secondsEach / MAX_SAMPLES);
    if (timeRuns(context, stage, &timing->memories[rank], cold, 1) < 0 ||
        shardRtBarrier(comm, 1, -1))
      return SHARD_RT_PROGRAM_FAILED;
    for (int sample = 0; sample < MAX_SAMPLES; ++sample)
      if ((samples[sample] = timeRuns(context, stage, &timing->memories[rank], cold, runs)) < 0)
        return SHARD_RT_PROGRAM_FAILED;
    if (shardRtBarrier(comm, 1, -1))
      return SHARD_RT_PEER_LOST;
    if (rank == 0) // the very best may have run beside nobody
      c->busySeconds = measureQuantile((size_t)timing->nRanks * MAX_SAMPLES, timing->samples, 0.25);
    if (shardRtBarrier(comm, 1, -1))
      return SHARD_RT_PEER_LOST;
  }
  return SHARD_RT_OK;
}

/// Room for right operands of each rank, 0 where the cases have none.
static size_t weightBytesOfRank(const Timing *timing) {
  size_t largest = 0;
  for (size_t i = 0; i < timing->nCases; ++i) {
    size_t bytes = coldOperandBytes(timing->program, i, &timing->cases[i]);
    largest = bytes > largest ? bytes : largest;
  }
  return largest ? coldBytesOfRank(cachesGet(), timing->nRanks, largest) : 0;
}

static void runTiming(Timing *timing, ShardRtRankBody body) {
  int64_t size = timing->nRanks;
  size_t weightBytes = weightBytesOfRank(timing);
  ShardRtWorld *world;
  if (shardRtWorldCreate(1, &size, NULL, &world))
    stop("out of memory");
  timing->memories = memoryZeroed((size_t)size * sizeof(Memory));
  timing->samples = memoryZeroed((size_t)size * MAX_SAMPLES * sizeof(double));
  for (int64_t r = 0; r < size; ++r)
    timing->memories[r] = createMemory(timing->program, weightBytes);
  if (shardRtWorldRunRanks(world, 0, NULL, body, timing, NULL))
    stop("--measure: %s", shardRtWorldGetError(world));
  for (int64_t r = 0; r < size; ++r)
    releaseMemory(&timing->memories[r]);
  free(timing->memories);
  free(timing->samples);
  shardRtWorldDestroy(world);
}

void measureAlone(const ShardProgram *program, size_t nCases, MeasureCase *cases, int rounds,
                  double secondsEach) {
  Timing timing = {.program = program,
                   .nCases = nCases,
                   .cases = cases,
                   .rounds = rounds,
                   .secondsEach = secondsEach,
                   .nRanks = 1};
  runTiming(&timing, aloneBody);
}

void measureBusy(const ShardProgram *program, size_t nCases, MeasureCase *cases, int32_t nRanks,
                 double secondsEach) {
  Timing timing = {.program = program,
                   .nCases = nCases,
                   .cases = cases,
                   .secondsEach = secondsEach,
                   .nRanks = nRanks};
  runTiming(&timing, busyBody);
}
