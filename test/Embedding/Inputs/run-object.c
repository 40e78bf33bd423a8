//===- run-object.c - A program linked with an object of ours -----*- C -*-===//
// What `shard-opt --emit=object` writes and libShardRuntime, nothing else: runs x [4,8] times w
// [8,6] on the object's ranks and compares with a product of its own.
//===----------------------------------------------------------------------===//
#include "shard/Program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const ShardProgram *shardProgram(void); // of the object

enum { M = 4, K = 8, N = 6 };

static float element(int32_t argument, int64_t at) {
  return (float)((at * 7 + argument * 3) % 11) - 5;
}

/// This rank's part of a matrix cut along its dimensions: of each the first row and how many it
/// has.
static void place(const ShardProgram *program, const ShardProgramValue *value, int32_t rank,
                  int64_t *begin, int64_t *rows) {
  int64_t coordinates[8], rest = rank;
  for (int32_t i = program->nAxes - 1; i >= 0; --i) {
    coordinates[i] = rest % program->axisSizes[i];
    rest /= program->axisSizes[i];
  }
  for (int32_t d = 0; d < 2; ++d) {
    int64_t index = 0;
    for (int32_t k = value->sharding.axisStart[d]; k < value->sharding.axisStart[d + 1]; ++k)
      index = index * program->axisSizes[value->sharding.axes[k]] +
              coordinates[value->sharding.axes[k]];
    begin[d] = index * value->localShape[d];
    int64_t left = value->globalShape[d] - begin[d];
    rows[d] = left < 0 ? 0 : left < value->localShape[d] ? left : value->localShape[d];
  }
}

static int body(ShardRtContext *context, void *userData) {
  const ShardProgram *program = userData;
  const ShardProgramStage *stage = &program->stages[0];
  int32_t rank = shardRtContextGetRank(context);
  int64_t begin[2], rows[2];
  void *arguments[2], *results[1];
  for (int32_t i = 0; i < 2; ++i) {
    const ShardProgramValue *value = &program->arguments[stage->arguments[i]];
    float *local = aligned_alloc(64, 4096);
    place(program, value, rank, begin, rows);
    for (int64_t r = 0; r < rows[0]; ++r)
      for (int64_t c = 0; c < rows[1]; ++c)
        local[r * value->localShape[1] + c] =
            element(value->index, (begin[0] + r) * value->globalShape[1] + begin[1] + c);
    arguments[i] = local;
  }
  results[0] = aligned_alloc(64, 4096);
  void *workspace = aligned_alloc(64, stage->workspaceBytes(NULL) / 64 * 64 + 64);
  int status = shardRtInvoke(context, stage->run, NULL, arguments, results, workspace);
  const ShardProgramValue *result = &program->results[stage->results[0]];
  place(program, result, rank, begin, rows);
  for (int64_t r = 0; status == SHARD_RT_OK && r < rows[0]; ++r)
    for (int64_t c = 0; c < rows[1]; ++c) {
      float sum = 0;
      for (int k = 0; k < K; ++k)
        sum += element(0, (begin[0] + r) * K + k) * element(1, k * N + begin[1] + c);
      if (((float *)results[0])[r * result->localShape[1] + c] != sum)
        status = 100;
    }
  free(workspace);
  free(results[0]);
  free(arguments[0]);
  free(arguments[1]);
  return status;
}

int main(int argc, char **argv) {
  const ShardProgram *program = shardProgram();
  ShardRtWorldOptions options = {.isolated = argc > 1 && strcmp(argv[1], "isolated") == 0};
  ShardRtWorld *world;
  if (program->abiVersion != SHARD_PROGRAM_ABI_VERSION || program->nArguments != 2 ||
      shardRtWorldCreate(program->nAxes, program->axisSizes, &options, &world) != SHARD_RT_OK)
    return 2;
  int32_t nRanks = shardRtWorldGetSize(world);
  ShardRtStatus status = shardRtWorldRunRanks(world, program->nSites, program->sites, body,
                                              (void *)(uintptr_t)program, NULL);
  printf("%d ranks: status %d%s%s\n", nRanks, (int)status, status ? ", " : "",
         shardRtWorldGetError(world));
  shardRtWorldDestroy(world);
  return status != SHARD_RT_OK;
}
