//===- Plan.c - The public calls of the reshard engine ------------*- C -*-===//

#include "Internal.h"

#include <string.h>

ShardRtStatus shardReshardPlanCreate(const ShardReshardMesh *mesh, int64_t elementBytes,
                                     const ShardReshardPlacement *from,
                                     const ShardReshardPlacement *to,
                                     const ShardReshardOptions *options, ShardReshardPlan **outPlan,
                                     const char **outMessage) {
  static const ShardReshardOptions defaults = {0};
  const char *message = NULL;
  if (!mesh || !from || !to || !outPlan || elementBytes < 1)
    message = "a null pointer or an element of no bytes";
  else if (mesh->nAxes < 0 || mesh->nAxes > MAX_AXES)
    message = "a mesh has too many axes";
  for (int32_t a = 0; !message && a < mesh->nAxes; ++a)
    if (mesh->sizes[a] < 1)
      message = "an axis of the mesh has no devices";
  ShardArena *arena = message ? NULL : shardArenaCreate();
  if (arena) {
    ShardReshardPlan *plan = SHARD_ARENA_NEW(arena, ShardReshardPlan);
    PlanMemory *memory = SHARD_ARENA_NEW(arena, PlanMemory);
    plan->mesh = *mesh;
    plan->elementBytes = elementBytes;
    plan->source = *from;
    plan->target = *to;
    plan->memory = memory;
    memory->arena = arena;
    Problem *problem = &memory->problem;
    problem->arena = arena;
    problem->mesh = &plan->mesh;
    problem->elementBytes = elementBytes;
    problem->nDevices = 1;
    for (int32_t a = 0; a < mesh->nAxes; ++a)
      problem->nDevices *= mesh->sizes[a];
    message = shardReshardAlign(problem, from, to);
    if (!message) {
      plan->nPieces = problem->nPieces;
      shardReshardSearch(problem, options ? options : &defaults, plan);
      *outPlan = plan;
    } else {
      shardArenaDestroy(arena);
    }
  }
  if (outMessage)
    *outMessage = message ? message : "";
  return message ? SHARD_RT_INVALID_ARGUMENT : SHARD_RT_OK;
}

void shardReshardPlanDestroy(ShardReshardPlan *plan) {
  if (plan)
    shardArenaDestroy(((PlanMemory *)plan->memory)->arena);
}
