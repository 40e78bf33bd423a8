//===- depth.c - Planning time against depth ----------------------*- C -*-===//
// bench-depth SHALLOW.mlir DEEP.mlir ROUNDS
// Brings both models to outlined layers, then times the search of the planner alone (the weights'
// layout for tp2, then the shardings of every value along tp), the minimum of ROUNDS, the two
// alternating. Bar: DEEP at most 1.2 x SHALLOW. Reading and writing the module, which is linear in
// its text, is not part of it.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "shard/Passes.h"
#include "shard/Pipelines.h"

#include "Plan/Model.h"
#include "Plan/Solve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const double bar = 1.2;

static void fail(const char *text) {
  fprintf(stderr, "bench-depth: error: %s\n", text);
  exit(1);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static ShardModel *load(MlirContext context, const char *path, ShardArena *arena) {
  MlirModule module = shardModuleParseFile(context, path);
  if (mlirModuleIsNull(module))
    fail("no model");
  ShardPipelineOptions options = shardPipelineOptionsGetDefault();
  options.degrees = "tp2";
  options.stopAfter = "shard-outline-layers";
  MlirOperation op = mlirModuleGetOperation(module);
  if (mlirLogicalResultIsFailure(shardPipelineRun(op, &options)))
    fail("the model is refused");
  shardUnshareCheapOps(op, arena);
  ShardModel *model = shardModelCreate(op, arena);
  if (!model)
    fail("no plan");
  return model;
}

/// One search; returns its seconds.
static double search(const ShardModel *model) {
  ShardArena *arena = shardArenaCreate();
  const char *message;
  double start = now();
  ShardTensorPlan *plan = shardPlanTensor(model, 2, arena, &message);
  if (!plan)
    fail(message);
  const ShardRules *rules = model->rules;
  ShardState *seeds = SHARD_ARENA_ARRAY(arena, ShardState, model->nArguments + 1);
  for (int32_t a = 0; a < model->nArguments; ++a)
    seeds[a] = (ShardState)shardTensorPlanAtom(model, plan, a, 0);
  int64_t **used = SHARD_ARENA_ARRAY(arena, int64_t *, rules->nFunctions);
  uint8_t **blocks = SHARD_ARENA_ARRAY(arena, uint8_t *, rules->nFunctions);
  for (int32_t f = 0; f < rules->nFunctions; ++f) {
    int32_t total;
    shardFactorOffsets(rules, f, arena, &total);
    used[f] = SHARD_ARENA_ARRAY(arena, int64_t, total + 1);
    blocks[f] = SHARD_ARENA_ARRAY(arena, uint8_t, total + 1);
    for (int32_t i = 0; i < total; ++i)
      used[f][i] = 1;
  }
  ShardAxisProblem problem = {.rules = rules,
                              .fold = model->fold,
                              .size = 2,
                              .used = used,
                              .blocks = blocks,
                              .entry = model->entry,
                              .entryArguments = seeds,
                              .weight = model->weight,
                              .search = true};
  shardAxisSolve(&problem, arena);
  double seconds = now() - start;
  shardArenaDestroy(arena);
  return seconds;
}

int main(int argc, char **argv) {
  if (argc != 4)
    fail("usage: bench-depth SHALLOW.mlir DEEP.mlir ROUNDS");
  MlirContext context = mlirContextCreate();
  shardContextPrepare(context);
  ShardArena *arena = shardArenaCreate();
  ShardModel *models[2];
  for (int i = 0; i < 2; ++i)
    models[i] = load(context, argv[1 + i], arena);
  double best[2] = {INFINITY, INFINITY};
  for (int round = atoi(argv[3]); round > 0; --round)
    for (int i = 0; i < 2; ++i)
      best[i] = fmin(best[i], search(models[i]));
  double ratio = best[1] / best[0];
  printf("search %.2f ms for %d arguments, %.2f ms for %d, ratio %.2f (bar %.2f)\n", 1e3 * best[0],
         models[0]->nArguments, 1e3 * best[1], models[1]->nArguments, ratio, bar);
  return !(ratio <= bar);
}
