//===- Program.c - A program by hand, with a fault on demand ------*- C -*-===//
// What shard-opt --emit=shared might write for y = x w on two ranks: w is cut by columns in the
// view 6x2x4, y is whole in result 0 and cut like w in result 1. -DFAULT_... plants one fault.
//===----------------------------------------------------------------------===//

#include "shard/Program.h"

#include <malloc.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { M = 4, K = 6, G = 2, J = 4, N = G * J, RANKS = 2, LOCAL = J / RANKS };

static const char *const axisNames[] = {"tp"};
static const int64_t axisSizes[] = {RANKS};

static const int64_t shapeX[] = {M, K}, shapeW[] = {K, N}, shapeY[] = {M, N};
static const int64_t localW[] = {K, N / RANKS}, localY[] = {M, N / RANKS};
#ifdef FAULT_VIEW
static const int64_t viewW[] = {K, G, J + 1};
#else
static const int64_t viewW[] = {K, G, J};
#endif
static const int64_t viewY[] = {M, G, J}, viewIds[] = {M};
static const int32_t axes[] = {0}, noneStart[] = {0, 0, 0}, lastStart[] = {0, 0, 0, 1};

static const ShardProgramValue arguments[] = {
    {.index = 0,
     .name = "x",
     .role = "input",
     .element = SHARD_RT_F32,
     .rank = 2,
     .globalShape = shapeX,
     .localShape = shapeX,
     .sharding = {2, shapeX, noneStart, axes}},
    {.index = 1,
     .name = "w",
     .role = "weight",
     .element = SHARD_RT_F32,
     .rank = 2,
     .globalShape = shapeW,
     .localShape = localW,
     .sharding = {3, viewW, lastStart, axes},
#ifdef FAULT_ELIDED
     .constant = 1
#endif
    },
    {.index = 2,
     .name = "ids",
     .role = "input",
     .element = SHARD_RT_I64,
     .rank = 1,
     .globalShape = viewIds,
     .localShape = viewIds,
     .sharding = {1, viewIds, noneStart, axes}},
};
static const ShardProgramValue results[] = {
    {.index = 0,
     .name = "",
     .role = "",
     .element = SHARD_RT_F32,
     .rank = 2,
     .globalShape = shapeY,
     .localShape = shapeY,
     .sharding = {2, shapeY, noneStart, axes}},
    {.index = 1,
     .name = "",
     .role = "",
     .element = SHARD_RT_F32,
     .rank = 2,
     .globalShape = shapeY,
     .localShape = localY,
     .sharding = {3, viewY, lastStart, axes}},
    {.index = 2,
     .name = "",
     .role = "",
     .element = SHARD_RT_I64,
     .rank = 1,
     .globalShape = viewIds,
     .localShape = viewIds,
     .sharding = {1, viewIds, noneStart, axes}},
};
static const ShardProgramSite sites[] = {
    {0, "all-gather", "program.mlir:7:3", "the result is whole"}};
static const int32_t stageArguments[] = {0, 1, 2}, stageResults[] = {0, 1, 2};

static size_t workspaceBytes(const int64_t *dims) {
  (void)dims;
#ifdef FAULT_MEMORY
  static _Atomic int calls; // the first is asked before any rank runs
  if (calls++)
    return (size_t)1 << 50;
#endif
#ifdef FAULT_SPARE
  return M * G * LOCAL * sizeof(float) + 1;
#endif
  return M * G * LOCAL * sizeof(float);
}

static int run(ShardRtContext *context, const int64_t *dims, void *const *args, void *const *outs,
               void *workspace) {
  (void)dims;
  const float *x = args[0], *w = args[1];
  const int64_t *ids = args[2];
  float *local = outs[1], *whole = outs[0], *scratch = workspace;
  int64_t rank = shardRtCoordinate(context, 0);
  (void)rank;
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < G * LOCAL; ++j) {
      float sum = 0;
      for (int k = 0; k < K; ++k)
        sum += x[i * K + k] * w[k * G * LOCAL + j];
      scratch[i * G * LOCAL + j] = sum;
    }
  memcpy(outs[2], ids, M * sizeof *ids);
#ifdef FAULT_ASSERT
  if (rank == 1)
    shardRtAssertFailed(context, "index must be smaller than dim size", "program.mlir:3:5");
#endif
#ifdef FAULT_VALUE
  if (rank == 1)
    scratch[3] += 1;
#endif
  memcpy(local, scratch, M * G * LOCAL * sizeof(float));
  shardRtCallAllGather(context, 0, 1, local, whole, M * G, LOCAL, SHARD_RT_F32);
#ifdef FAULT_KILLED
  if (rank == 1)
    raise(SIGKILL);
  shardRtCallAllGather(context, 0, 1, local, whole, M * G, LOCAL, SHARD_RT_F32);
#endif
#ifdef FAULT_REPLICA
  if (rank == 1)
    whole[5] = nextafterf(whole[5], 100);
#endif
#ifdef FAULT_INTEGER
  if (rank == 1)
    ((int64_t *)outs[2])[2] += 1;
#endif
#ifdef FAULT_PAST
  whole[M * N] = 0;
#endif
#ifdef FAULT_SAME // what guard zones hold in the first step: kept for the second
  static char kept;
  if (rank == 1 && !kept)
    kept = ((char *)(scratch + M * G * LOCAL))[0];
  if (rank == 1)
    ((char *)(scratch + M * G * LOCAL))[0] = kept;
#endif
#ifdef FAULT_ALLOCATE
  if (rank == 1) {
    void *volatile memory = malloc(64);
    free(memory);
  }
#endif
#ifdef FAULT_ALLOCATE_PAGES
  if (rank == 1) {
    void *volatile memory[] = {valloc(64), pvalloc(64), reallocarray(NULL, 8, 8)};
    for (int i = 0; i < 3; ++i)
      free(memory[i]);
  }
#endif
#ifdef FAULT_GROUP // one that is not in the table
  shardRtCallAllGather(context, 0, 0, local, local, M * G, LOCAL, SHARD_RT_F32);
#endif
#ifdef FAULT_BEFORE
  scratch[-1] = 0;
#endif
#ifdef FAULT_ARGUMENT
  ((float *)args[0])[3] = 0;
#endif
#ifdef FAULT_NAN
  whole[7] = NAN;
#endif
  return SHARD_RT_OK;
}

#ifdef FAULT_LATE
static int runLate(ShardRtContext *context, const int64_t *dims, void *const *args,
                   void *const *outs, void *workspace) {
  static _Atomic int calls; // both ranks
  int call = calls++;
  int status = run(context, dims, args, outs, workspace);
  if (call >= 2 * RANKS)
    ((float *)outs[0])[9] += 1;
  return status;
}
#define run runLate
#endif
#ifdef FAULT_UNWRITTEN
static int runNothing(ShardRtContext *context, const int64_t *dims, void *const *args,
                      void *const *outs, void *workspace) {
  float kept = ((float *)outs[0])[11];
  int status = run(context, dims, args, outs, workspace);
  ((float *)outs[0])[11] = kept;
  return status;
}
#define run runNothing
#endif

static const int32_t groups[] = {1};
static const ShardProgramStage stages[] = {
    {3, 3, stageArguments, stageResults, workspaceBytes, run, 1, 0, groups, NULL}};
static const ShardProgram program = {
#ifdef FAULT_ABI
    .abiVersion = SHARD_PROGRAM_ABI_VERSION + 1,
#else
    .abiVersion = SHARD_PROGRAM_ABI_VERSION,
#endif
    .nAxes = 1,
    .axisNames = axisNames,
    .axisSizes = axisSizes,
    .ppAxis = -1,
    .nArguments = 3,
    .nResults = 3,
    .nStages = 1,
    .nSites = 1,
    .arguments = arguments,
    .results = results,
    .stages = stages,
    .sites = sites,
};

SHARD_EXPORTED const ShardProgram *shardProgram(void);
const ShardProgram *shardProgram(void) { return &program; }
