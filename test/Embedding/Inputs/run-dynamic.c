//===- run-dynamic.c - A program of open dimensions, linked in ----*- C -*-===//
// What an embedder does with a dynamic dimension: rows of x beyond the extent are poison, and the
// sum of the others is wanted. Extents that the program does not take are an invalid argument.
//===----------------------------------------------------------------------===//
#include "shard/Program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const ShardProgram *shardProgram(void); // of the object

enum { COLUMNS = 4 };

static const int64_t *dims; // of the run

static int body(ShardRtContext *context, void *userData) {
  const ShardProgram *program = userData;
  const ShardProgramStage *stage = &program->stages[0];
  // Its shards lie as the program for these extents says; entry points find that by themselves.
  const ShardProgramValue *x = &shardProgramBucket(program, dims)->arguments[stage->arguments[0]];
  int64_t begin = shardRtContextGetRank(context) * x->localShape[0];
  void *arguments[2], *results[1] = {aligned_alloc(64, 4096)};
  for (int32_t i = 0; i < 2; ++i) {
    float *local = arguments[i] = aligned_alloc(64, 4096);
    for (int64_t r = 0; r < x->localShape[0]; ++r)
      for (int64_t c = 0; c < COLUMNS; ++c)
        local[r * COLUMNS + c] = dims && begin + r < dims[i] ? (float)(begin + r + c) : NAN;
  }
  void *workspace = aligned_alloc(64, stage->workspaceBytes(dims) / 64 * 64 + 64);
  int status = shardRtInvoke(context, stage->run, dims, arguments, results, workspace);
  for (int64_t c = 0; status == SHARD_RT_OK && c < COLUMNS; ++c) {
    float sum = 0;
    for (int64_t r = 0; r < dims[0]; ++r)
      sum += 2 * (float)(r + c);
    if (((float *)results[0])[c] != sum)
      status = 100;
  }
  free(workspace);
  free(results[0]);
  free(arguments[0]);
  free(arguments[1]);
  return status;
}

static void run(const ShardProgram *program, const int64_t *extents) {
  ShardRtWorldOptions options = {0};
  ShardRtWorld *world;
  dims = extents;
  if (shardRtWorldCreate(program->nAxes, program->axisSizes, &options, &world) != SHARD_RT_OK)
    exit(2);
  ShardRtStatus status = shardRtWorldRunRanks(world, program->nSites, program->sites, body,
                                              (void *)(uintptr_t)program, NULL);
  const char *error = shardRtWorldGetError(world), *text = strstr(error, ": ");
  printf("status %d%s\n", (int)status, text ? text : "");
  shardRtWorldDestroy(world);
}

int main(void) {
  const ShardProgram *program = shardProgram();
  if (program->abiVersion != SHARD_PROGRAM_ABI_VERSION || program->nArguments != 2)
    return 2;
  for (int32_t k = 0; k < program->nDims; ++k)
    printf("dims[%d]: dimension %d of argument %d, %d to %d\n", (int)k,
           (int)program->dims[k].dimension, (int)program->dims[k].argument,
           (int)program->dims[k].least, (int)program->dims[k].most);
  for (int32_t i = 0; i < program->nEqual; ++i)
    printf("equal: %d %d %d\n", (int)program->equal[3 * i], (int)program->equal[3 * i + 1],
           (int)program->equal[3 * i + 2]);
  const ShardProgramValue *x = &program->arguments[0];
  for (int32_t i = 0; i < x->nDigits; ++i)
    printf("digit of dimension %d: %d stored, %d + %d dims[0] + %d dims[1] valid\n",
           (int)x->digits[i].dimension, (int)x->digits[i].size, (int)x->digits[i].extent[0],
           (int)x->digits[i].extent[1], (int)x->digits[i].extent[2]);
  for (int64_t n = 1; n <= 6; ++n)
    printf("%d rows: stored for up to %d, workspace %zu bytes\n", (int)n,
           (int)shardProgramBucket(program, (int64_t[]){n, n})->dims[0].most,
           program->stages[0].workspaceBytes((int64_t[]){n, n}));
  printf("the bounds: workspace %zu bytes\n", program->stages[0].workspaceBytes(NULL));
  run(program, (int64_t[]){6, 6});
  run(program, (int64_t[]){4, 4});
  run(program, (int64_t[]){1, 1});
  run(program, (int64_t[]){7, 7});
  run(program, (int64_t[]){0, 0});
  run(program, (int64_t[]){3, 4});
  run(program, NULL);
  return 0;
}
