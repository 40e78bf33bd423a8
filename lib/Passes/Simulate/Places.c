//===- Places.c - The groups and peers of each stage --------------*- C -*-===//
#include "Simulate.h"

#include "../Core/Diagnostics.h"

#include <stdlib.h>

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// The ranks of a stage, or all of them, by group; `devices` [ranks] in the same order.
static void listMembers(const SimProgram *program, SimGroups *groups, int64_t *devices) {
  const ShardMesh *mesh = &program->mesh;
  int32_t *groupOf = SHARD_ARENA_ARRAY(program->arena, int32_t, groups->nRanks);
  int64_t *members = SHARD_ARENA_ARRAY(program->arena, int64_t, groups->nRanks);
  int64_t coordinates[SHARD_MAX_AXES];
  for (int64_t i = 0; i < groups->nRanks; ++i) {
    shardMeshCoordinates(mesh, groups->ranks[i], coordinates);
    int64_t inner = 0, outer = 0;
    for (int32_t a = 0; a < mesh->nAxes; ++a) {
      if (groups->axes >> a & 1)
        inner = inner * mesh->sizes[a] + coordinates[a];
      else if (a != program->ppAxis)
        outer = outer * mesh->sizes[a] + coordinates[a];
    }
    groupOf[i] = (int32_t)outer;
    members[outer * groups->groupSize + inner] = i;
    devices[outer * groups->groupSize + inner] = simDeviceOf(program, groups->ranks[i]);
  }
  groups->groupOf = groupOf;
  groups->members = members;
}

static SimGroups *createGroups(SimProgram *program, const SimStage *stage, SimClasses *out,
                               const SimStep *step) {
  const ShardMesh *mesh = &program->mesh;
  SimGroups *groups = SHARD_ARENA_NEW(program->arena, SimGroups);
  groups->axes = step->axes;
  groups->id = out->nGroups++;
  groups->spansStages = simSpansStages(program, step->axes);
  groups->nRanks = groups->spansStages ? program->nRanks : stage->nRanks;
  groups->ranks = groups->spansStages ? program->ranks : stage->ranks;
  groups->groupSize = 1;
  for (int32_t a = 0; a < mesh->nAxes; ++a)
    groups->groupSize *= step->axes >> a & 1 ? mesh->sizes[a] : 1;
  groups->nGroups = groups->nRanks / groups->groupSize;
  ShardArena *scratch = shardArenaCreate();
  int64_t *devices = SHARD_ARENA_ARRAY(scratch, int64_t, groups->nRanks);
  listMembers(program, groups, devices);
  char *error = NULL;
  groups->groups =
      shardGroupsCreate(program->cluster, groups->nGroups, groups->groupSize, devices, &error);
  shardArenaDestroy(scratch);
  if (groups->groups) {
    simUsesOfGroups(program, groups);
    return groups;
  }
  shardEmitError(step->op, "%s", error ? error : "out of memory");
  free(error);
  return NULL;
}

static SimGroups *findGroups(SimGroups *const *list, int32_t n, uint32_t axes) {
  for (int32_t i = 0; i < n; ++i)
    if (list[i]->axes == axes)
      return list[i];
  return NULL;
}

/// Groups of the same axes are made once a stage, those over stages once.
static bool placeCollective(SimProgram *program, const SimStage *stage, SimClasses *out,
                            SimPlaces *places, const SimStep *step) {
  bool spans = simSpansStages(program, step->axes);
  SimGroups **list = spans ? out->spanning : places->distinct;
  int32_t *n = spans ? &out->nSpanning : &places->nDistinct;
  SimGroups *groups = findGroups(list, *n, step->axes);
  if (!groups) {
    groups = createGroups(program, stage, out, step);
    if (!groups)
      return false;
    list[(*n)++] = groups;
  }
  places->groups[step->number] = groups;
  return true;
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

static bool placeMessage(SimProgram *program, const SimStage *stage, SimPlaces *places,
                         const SimStep *step) {
  SimPattern *pattern = SHARD_ARENA_NEW(program->arena, SimPattern);
  int64_t *peers = SHARD_ARENA_ARRAY(program->arena, int64_t, stage->nRanks);
  if (!simPeersEvaluate(program, stage, step, peers))
    return false;
  pattern->peers = peers;
  places->patterns[step->number] = pattern;
  if (step->kind != SIM_SEND)
    return true;
  ShardArena *scratch = shardArenaCreate();
  int64_t *from = SHARD_ARENA_ARRAY(scratch, int64_t, stage->nRanks);
  int64_t *to = SHARD_ARENA_ARRAY(scratch, int64_t, stage->nRanks);
  for (int64_t i = 0; i < stage->nRanks; ++i) {
    from[i] = simDeviceOf(program, stage->ranks[i]);
    to[i] = simDeviceOf(program, peers[i]);
  }
  pattern->messages = shardTrafficCreate(program->cluster, stage->nRanks, from, to);
  simUsesOfMessages(program, stage, pattern);
  shardArenaDestroy(scratch);
  return true;
}

static bool placeSteps(SimProgram *program, const SimStage *stage, SimClasses *out,
                       SimPlaces *places, const SimBody *body, ShardPointerMap *seen) {
  int64_t known;
  if (!body->communicates || shardPointerMapGet(seen, body, &known))
    return true;
  shardPointerMapSet(seen, body, 1);
  for (size_t i = 0; i < body->nSteps; ++i) {
    const SimStep *step = &body->steps[i];
    bool ok = true;
    if (step->kind == SIM_CALL)
      ok = placeSteps(program, stage, out, places, step->body, seen);
    else if (step->kind == SIM_COLLECTIVE)
      ok = placeCollective(program, stage, out, places, step);
    else if (step->kind == SIM_SEND || step->kind == SIM_RECEIVE)
      ok = placeMessage(program, stage, places, step);
    if (!ok)
      return false;
  }
  return true;
}

bool simPlacesCreate(SimProgram *program, SimClasses *out) {
  ShardArena *scratch = shardArenaCreate();
  bool ok = true;
  out->places = SHARD_ARENA_ARRAY(program->arena, SimPlaces, program->nStages);
  out->spanning = SHARD_ARENA_ARRAY(program->arena, SimGroups *, program->nNumbered);
  for (int32_t s = 0; s < program->nStages; ++s) {
    SimPlaces *places = &out->places[s];
    places->groups = SHARD_ARENA_ARRAY(program->arena, SimGroups *, program->nNumbered);
    places->distinct = SHARD_ARENA_ARRAY(program->arena, SimGroups *, program->nNumbered);
    places->patterns = SHARD_ARENA_ARRAY(program->arena, SimPattern *, program->nNumbered);
    ok = ok && placeSteps(program, &program->stages[s], out, places, program->stages[s].body,
                          shardPointerMapCreate(scratch, 16));
  }
  shardArenaDestroy(scratch);
  return ok;
}
