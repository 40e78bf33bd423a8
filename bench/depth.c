//===- depth.c - Planning time against depth ----------------------*- C -*-===//
// bench-depth SHALLOW.mlir DEEP.mlir ROUNDS
// Brings both models to outlined layers, then times the search of the planner alone (the weights'
// layout for tp2, then the shardings of every value along tp), the two alternating. Bar: DEEP at
// most 1.2 x SHALLOW, the median of ROUNDS pairs. Reading and writing the module, which is linear
// in its text, is not part of it.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "Bench.h"

#include "shard/Passes.h"
#include "shard/Pipelines.h"

#include "Plan/Model.h"
#include "Plan/Solve.h"

#include <stdio.h>
#include <stdlib.h>

static const double bar = 1.2;

static ShardModel *load(MlirContext context, const char *path, ShardArena *arena) {
  MlirModule module = shardModuleParseFile(context, path);
  if (mlirModuleIsNull(module))
    benchFail("no model");
  ShardPipelineOptions options = shardPipelineOptionsGetDefault();
  options.degrees = "tp2";
  options.stopAfter = "shard-outline-layers";
  MlirOperation op = mlirModuleGetOperation(module);
  if (mlirLogicalResultIsFailure(shardPipelineRun(op, &options)))
    benchFail("the model is refused");
  shardUnshareCheapOps(op, arena);
  ShardModel *model = shardModelCreate(op, arena);
  if (!model)
    benchFail("no plan");
  return model;
}

/// One search; returns its seconds.
static double search(const ShardModel *model) {
  ShardArena *arena = shardArenaCreate();
  const char *message;
  double start = benchNow(CLOCK_THREAD_CPUTIME_ID);
  ShardTensorPlan *plan = shardPlanTensor(model, 2, arena, &message);
  if (!plan)
    benchFail(message);
  const ShardRules *rules = model->rules;
  ShardState *seeds = SHARD_ARENA_ARRAY(arena, ShardState, model->nArguments + 1);
  const int32_t *atoms = shardTensorPlanAtoms(model, plan, 0, arena);
  for (int32_t a = 0; a < model->nArguments; ++a)
    seeds[a] = (ShardState)atoms[a];
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
  double seconds = benchNow(CLOCK_THREAD_CPUTIME_ID) - start;
  shardArenaDestroy(arena);
  return seconds;
}

int main(int argc, char **argv) {
  benchStart("bench-depth");
  if (argc != 4)
    benchFail("usage: bench-depth SHALLOW.mlir DEEP.mlir ROUNDS");
  MlirContext context = mlirContextCreate();
  shardContextPrepare(context);
  ShardArena *arena = shardArenaCreate();
  ShardModel *models[2];
  for (int i = 0; i < 2; ++i)
    models[i] = load(context, argv[1 + i], arena);
  static BenchPairs pairs;
  for (int round = atoi(argv[3]); round > 0; --round) {
    double shallow = search(models[0]), deep = search(models[1]);
    benchPairsAdd(&pairs, deep, shallow);
  }
  char names[2][64];
  for (int i = 0; i < 2; ++i)
    snprintf(names[i], sizeof(names[i]), "search for %d arguments", models[i]->nArguments);
  return !benchPairsHold(&pairs, names[1], names[0], bar);
}
