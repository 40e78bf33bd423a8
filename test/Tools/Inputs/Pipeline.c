//===- Pipeline.c - Two stages of uneven shards, by hand ----------*- C -*-===//
// y = 2 (x + 1) for x [5, 3] on a mesh of 2 stages x 2 ranks: rows split over tp, 3 and 2 of them.
// The last row of rank 1's buffers is no row of the value. Stage 0 adds, stage 1 doubles.
//===----------------------------------------------------------------------===//

#include "shard/Program.h"

#include <math.h>

enum { ROWS = 5, COLUMNS = 3, STORED = 3, COUNT = STORED * COLUMNS };

static const char *const axisNames[] = {"pp", "tp"};
static const int64_t axisSizes[] = {2, 2};
static const int64_t shape[] = {ROWS, COLUMNS}, local[] = {STORED, COLUMNS};
static const int32_t axes[] = {1}, rowStart[] = {0, 1, 1};
#define VALUE(roleText)                                                                            \
  {                                                                                                \
    .index = 0, .name = "", .role = roleText, .element = SHARD_RT_F32, .rank = 2,                  \
    .globalShape = shape, .localShape = local, .sharding = {                                       \
      2,                                                                                           \
      shape,                                                                                       \
      rowStart,                                                                                    \
      axes                                                                                         \
    }                                                                                              \
  }
static const ShardProgramValue arguments[] = {VALUE("input")}, results[] = {VALUE("")};
static const ShardProgramSite sites[] = {{0, "send", "pipeline.mlir:4:8", "stage 1 needs it"}};
static const int32_t first[] = {0};

static size_t workspaceBytes(const int64_t *dims) {
  (void)dims;
  return COUNT * sizeof(float);
}

static int runFirst(ShardRtContext *context, const int64_t *dims, void *const *args,
                    void *const *outs, void *workspace) {
  (void)dims, (void)outs;
  const float *x = args[0];
  float *sum = workspace;
  for (int i = 0; i < COUNT; ++i)
    sum[i] = x[i] + 1;
  shardRtCallSend(context, 0, 0, shardRtCoordinate(context, 1) + 2, sum, COUNT, SHARD_RT_F32);
  return SHARD_RT_OK;
}

static int runSecond(ShardRtContext *context, const int64_t *dims, void *const *args,
                     void *const *outs, void *workspace) {
  (void)dims, (void)args;
  float *sum = workspace, *y = outs[0];
  int64_t rank = shardRtCoordinate(context, 1);
  shardRtCallReceive(context, 0, 0, rank, sum, COUNT, SHARD_RT_F32);
  for (int i = 0; i < COUNT; ++i)
    y[i] = 2 * sum[i];
  if (rank == 1) // past the end of the value: nobody's business
    y[COUNT - 1] = NAN;
#ifdef FAULT_SHIFT
  y[0] = y[COLUMNS];
#endif
  return SHARD_RT_OK;
}

static const ShardProgramStage stages[] = {{1, 0, first, first, workspaceBytes, runFirst},
                                           {0, 1, first, first, workspaceBytes, runSecond}};
static const ShardProgram program = {
    .abiVersion = SHARD_PROGRAM_ABI_VERSION,
    .nAxes = 2,
    .axisNames = axisNames,
    .axisSizes = axisSizes,
    .ppAxis = 0,
    .nArguments = 1,
    .nResults = 1,
    .nStages = 2,
    .nSites = 1,
    .arguments = arguments,
    .results = results,
    .stages = stages,
    .sites = sites,
};

SHARD_EXPORTED const ShardProgram *shardProgram(void);
const ShardProgram *shardProgram(void) { return &program; }
