//===- Classes.c - Ranks that do the same at the same time --------*- C -*-===//
// Colours are refined until they are stable (Paige and Tarjan, Three partition refinement
// algorithms, 1987, by rounds): ranks of one colour have the same program and kind of device, their
// collectives cost the same and meet the same colours, their messages too. By induction over the
// events such ranks have the same clocks, so that one of each colour stands for all. A signature is
// a 128-bit hash of all that.
//===----------------------------------------------------------------------===//
#include "Simulate.h"

#include "../Core/Diagnostics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct Hash {
  uint64_t a, b;
} Hash;

static uint64_t mix(uint64_t x) { // SplitMix64
  x += UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

static void hashAdd(Hash *hash, int64_t value) {
  hash->a = mix(hash->a ^ (uint64_t)value);
  hash->b = mix(hash->b + (uint64_t)value * UINT64_C(0xd1342543de82ef95));
}

/// Whatever the order.
static void hashAddMember(Hash *hash, int64_t value) {
  hash->a += mix((uint64_t)value);
  hash->b += mix((uint64_t)value ^ UINT64_C(0xa0761d6478bd642f));
}

typedef struct Partition {
  const SimProgram *program;
  SimClasses *out;
  int32_t *colours; // [nRanks] of the program
  int32_t nColours;
  Hash *signatures; // [nRanks]
  int64_t *places;  // [nRanks] number in its stage
  // A table of signatures and their colours.
  size_t nSlots;
  int32_t *slots; // -1: free
  Hash *known;    // [nRanks]
} Partition;

//===----------------------------------------------------------------------===//
// Groups and patterns
//===----------------------------------------------------------------------===//

static SimGroups *createGroups(SimProgram *program, const SimStage *stage, uint32_t axes,
                               MlirOperation op) {
  SimGroups *groups = SHARD_ARENA_NEW(program->arena, SimGroups);
  const ShardMesh *mesh = &program->mesh;
  groups->axes = axes;
  groups->groupSize = 1;
  for (int32_t a = 0; a < mesh->nAxes; ++a)
    groups->groupSize *= axes >> a & 1 ? mesh->sizes[a] : 1;
  groups->nGroups = stage->nRanks / groups->groupSize;
  int32_t *groupOf = SHARD_ARENA_ARRAY(program->arena, int32_t, stage->nRanks);
  int64_t *members = SHARD_ARENA_ARRAY(program->arena, int64_t, stage->nRanks);
  groups->groupOf = groupOf;
  groups->members = members;
  ShardArena *scratch = shardArenaCreate();
  int64_t *devices = SHARD_ARENA_ARRAY(scratch, int64_t, stage->nRanks);
  int64_t coordinates[SHARD_MAX_AXES];
  for (int64_t i = 0; i < stage->nRanks; ++i) {
    shardMeshCoordinates(mesh, stage->ranks[i], coordinates);
    int64_t inner = 0, outer = 0;
    for (int32_t a = 0; a < mesh->nAxes; ++a) {
      if (axes >> a & 1)
        inner = inner * mesh->sizes[a] + coordinates[a];
      else if (a != program->ppAxis)
        outer = outer * mesh->sizes[a] + coordinates[a];
    }
    groupOf[i] = (int32_t)outer;
    members[outer * groups->groupSize + inner] = i;
    devices[outer * groups->groupSize + inner] = simDeviceOf(program, stage->ranks[i]);
  }
  char *error = NULL;
  groups->groups =
      shardGroupsCreate(program->cluster, groups->nGroups, groups->groupSize, devices, &error);
  shardArenaDestroy(scratch);
  if (groups->groups)
    return groups;
  shardEmitError(op, "%s", error ? error : "out of memory");
  free(error);
  return NULL;
}

/// Groups of the same axes are made once a stage.
static bool placeCollective(SimProgram *program, const SimStage *stage, SimPlaces *places,
                            const SimStep *step) {
  for (int32_t i = 0; i < places->nDistinct; ++i)
    if (places->distinct[i]->axes == step->axes) {
      places->groups[step->number] = places->distinct[i];
      return true;
    }
  SimGroups *groups = createGroups(program, stage, step->axes, step->op);
  if (groups)
    places->distinct[places->nDistinct++] = groups;
  places->groups[step->number] = groups;
  return groups != NULL;
}

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
  shardArenaDestroy(scratch);
  return true;
}

static bool placeSteps(SimProgram *program, const SimStage *stage, SimPlaces *places,
                       const SimBody *body, ShardPointerMap *seen) {
  int64_t known;
  if (!body->communicates || shardPointerMapGet(seen, body, &known))
    return true;
  shardPointerMapSet(seen, body, 1);
  for (size_t i = 0; i < body->nSteps; ++i) {
    const SimStep *step = &body->steps[i];
    bool ok = step->kind == SIM_COMPUTE      ? true
              : step->kind == SIM_CALL       ? placeSteps(program, stage, places, step->body, seen)
              : step->kind == SIM_COLLECTIVE ? placeCollective(program, stage, places, step)
                                             : placeMessage(program, stage, places, step);
    if (!ok)
      return false;
  }
  return true;
}

static bool placeStages(SimProgram *program, SimClasses *out) {
  ShardArena *scratch = shardArenaCreate();
  bool ok = true;
  out->places = SHARD_ARENA_ARRAY(program->arena, SimPlaces, program->nStages);
  for (int32_t s = 0; s < program->nStages; ++s) {
    SimPlaces *places = &out->places[s];
    places->groups = SHARD_ARENA_ARRAY(program->arena, SimGroups *, program->nNumbered);
    places->distinct = SHARD_ARENA_ARRAY(program->arena, SimGroups *, program->nNumbered);
    places->patterns = SHARD_ARENA_ARRAY(program->arena, SimPattern *, program->nNumbered);
    ok = ok && placeSteps(program, &program->stages[s], places, program->stages[s].body,
                          shardPointerMapCreate(scratch, 16));
  }
  shardArenaDestroy(scratch);
  return ok;
}

//===----------------------------------------------------------------------===//
// Refinement
//===----------------------------------------------------------------------===//

static Hash groupSignature(const Partition *p, const SimStage *stage, const SimGroups *groups,
                           int64_t group) {
  Hash hash = {0};
  hashAddMember(&hash, -1 - (int64_t)shardGroupsGetProfile(groups->groups, group));
  for (int64_t k = 0; k < groups->groupSize; ++k)
    hashAddMember(&hash, p->colours[stage->ranks[groups->members[group * groups->groupSize + k]]]);
  return hash;
}

static void addGroups(Partition *p, const SimStage *stage, const SimGroups *groups) {
  for (int64_t g = 0; g < groups->nGroups; ++g) {
    Hash hash = groupSignature(p, stage, groups, g);
    for (int64_t k = 0; k < groups->groupSize; ++k) {
      int64_t rank = stage->ranks[groups->members[g * groups->groupSize + k]];
      hashAdd(&p->signatures[rank], (int64_t)hash.a);
      hashAdd(&p->signatures[rank], (int64_t)hash.b);
    }
  }
}

static void addPattern(Partition *p, const SimStage *stage, const SimPattern *pattern) {
  for (int64_t i = 0; i < stage->nRanks; ++i) {
    int64_t rank = stage->ranks[i], peer = pattern->peers[i];
    hashAdd(&p->signatures[rank], peer == rank ? -1 : p->colours[peer]);
    if (pattern->messages)
      hashAdd(&p->signatures[rank], shardTrafficGetProfile(pattern->messages, i));
  }
}

static bool hashEqual(Hash x, Hash y) { return x.a == y.a && x.b == y.b; }

static int32_t colourOf(Partition *p, Hash hash) {
  size_t at = (size_t)hash.a & (p->nSlots - 1);
  while (p->slots[at] >= 0 && !hashEqual(p->known[p->slots[at]], hash))
    at = (at + 1) & (p->nSlots - 1);
  if (p->slots[at] < 0) {
    p->known[p->nColours] = hash;
    p->slots[at] = p->nColours++;
  }
  return p->slots[at];
}

/// New colours, numbered by stage, then first rank. Whether there are more than before.
static bool recolour(Partition *p) {
  int32_t before = p->nColours;
  p->nColours = 0;
  for (size_t i = 0; i < p->nSlots; ++i)
    p->slots[i] = -1;
  for (int32_t s = 0; s < p->program->nStages; ++s) {
    const SimStage *stage = &p->program->stages[s];
    for (int64_t i = 0; i < stage->nRanks; ++i)
      p->colours[stage->ranks[i]] = colourOf(p, p->signatures[stage->ranks[i]]);
  }
  return p->nColours > before;
}

static void startColours(Partition *p) {
  const SimProgram *program = p->program;
  for (int32_t s = 0; s < program->nStages; ++s)
    for (int64_t i = 0; i < program->stages[s].nRanks; ++i) {
      int64_t rank = program->stages[s].ranks[i];
      const ShardDeviceKind *kind =
          shardClusterDeviceKind(program->cluster, simDeviceOf(program, rank));
      p->signatures[rank] = (Hash){0};
      p->places[rank] = i;
      hashAdd(&p->signatures[rank], s);
      hashAdd(&p->signatures[rank], kind - program->cluster->deviceKinds);
    }
}

static void refine(Partition *p) {
  const SimProgram *program = p->program;
  startColours(p);
  while (recolour(p)) {
    for (int64_t rank = 0; rank < program->nRanks; ++rank) {
      p->signatures[rank] = (Hash){0};
      hashAdd(&p->signatures[rank], p->colours[rank]);
    }
    for (int32_t s = 0; s < program->nStages; ++s) {
      const SimPlaces *places = &p->out->places[s];
      for (int32_t i = 0; i < places->nDistinct; ++i)
        addGroups(p, &program->stages[s], places->distinct[i]);
      for (int32_t i = 0; i < program->nNumbered; ++i)
        if (places->patterns[i])
          addPattern(p, &program->stages[s], places->patterns[i]);
    }
  }
}

//===----------------------------------------------------------------------===//
// What a class stands for
//===----------------------------------------------------------------------===//

static void listClasses(Partition *p) {
  const SimProgram *program = p->program;
  SimClasses *out = p->out;
  out->nClasses = p->nColours;
  out->classes = SHARD_ARENA_ARRAY(program->arena, SimClass, out->nClasses);
  for (int32_t s = 0; s < program->nStages; ++s) {
    SimPlaces *places = &out->places[s];
    places->firstClass = INT32_MAX;
    for (int64_t i = 0; i < program->stages[s].nRanks; ++i) {
      int64_t rank = program->stages[s].ranks[i];
      SimClass *class = &out->classes[p->colours[rank]];
      if (p->colours[rank] < places->firstClass)
        places->firstClass = p->colours[rank];
      if (class->nRanks++)
        continue;
      const ShardDeviceKind *kind =
          shardClusterDeviceKind(program->cluster, simDeviceOf(program, rank));
      class->stage = s;
      class->firstRank = rank;
      class->kind = (int32_t)(kind - program->cluster->deviceKinds);
      ++places->nClasses;
    }
  }
}

/// Classes that meet in a group of these groups, for each sort of group.
static void listSets(Partition *p, const SimStage *stage, const SimPlaces *places,
                     SimGroups *groups) {
  ShardArena *arena = p->program->arena;
  int32_t n = places->nClasses;
  int32_t *profiles = SHARD_ARENA_ARRAY(arena, int32_t, n);
  int32_t *sizes = SHARD_ARENA_ARRAY(arena, int32_t, n);
  int32_t **sets = SHARD_ARENA_ARRAY(arena, int32_t *, n);
  int32_t *setOf = SHARD_ARENA_ARRAY(arena, int32_t, n);
  memset(setOf, -1, (size_t)n * sizeof(*setOf));
  for (int32_t c = 0; c < n; ++c) {
    if (setOf[c] >= 0)
      continue;
    int64_t first = p->out->classes[places->firstClass + c].firstRank;
    int64_t group = groups->groupOf[p->places[first]];
    int32_t *set = SHARD_ARENA_ARRAY(arena, int32_t, groups->groupSize < n ? groups->groupSize : n);
    int32_t size = 0;
    for (int64_t k = 0; k < groups->groupSize; ++k) {
      int64_t rank = stage->ranks[groups->members[group * groups->groupSize + k]];
      int32_t class = p->colours[rank];
      if (setOf[class - places->firstClass] >= 0)
        continue;
      setOf[class - places->firstClass] = groups->nSets;
      set[size++] = class;
    }
    profiles[groups->nSets] = shardGroupsGetProfile(groups->groups, group);
    sizes[groups->nSets] = size;
    sets[groups->nSets++] = set;
  }
  groups->setOf = setOf;
  groups->profiles = profiles;
  groups->setSizes = sizes;
  groups->sets = sets;
}

static void listPeers(Partition *p, const SimPlaces *places, SimPattern *pattern) {
  ShardArena *arena = p->program->arena;
  int32_t *peerOf = SHARD_ARENA_ARRAY(arena, int32_t, places->nClasses);
  int32_t *profiles = SHARD_ARENA_ARRAY(arena, int32_t, places->nClasses);
  for (int32_t c = 0; c < places->nClasses; ++c) {
    int64_t rank = p->out->classes[places->firstClass + c].firstRank, at = p->places[rank];
    int64_t peer = pattern->peers[at];
    peerOf[c] = peer == rank ? -1 : p->colours[peer];
    profiles[c] =
        peer == rank || !pattern->messages ? -1 : shardTrafficGetProfile(pattern->messages, at);
  }
  pattern->peerOf = peerOf;
  pattern->profiles = profiles;
}

bool simClassesCreate(SimProgram *program, SimClasses *out) {
  *out = (SimClasses){0};
  if (!placeStages(program, out))
    return false;
  ShardArena *scratch = shardArenaCreate();
  Partition p = {.program = program, .out = out, .nSlots = 16};
  while ((int64_t)p.nSlots < 2 * program->nRanks)
    p.nSlots *= 2;
  p.colours = SHARD_ARENA_ARRAY(scratch, int32_t, program->nRanks);
  p.signatures = SHARD_ARENA_ARRAY(scratch, Hash, program->nRanks);
  p.known = SHARD_ARENA_ARRAY(scratch, Hash, program->nRanks);
  p.places = SHARD_ARENA_ARRAY(scratch, int64_t, program->nRanks);
  p.slots = SHARD_ARENA_ARRAY(scratch, int32_t, p.nSlots);
  refine(&p);
  listClasses(&p);
  for (int32_t s = 0; s < program->nStages; ++s) {
    SimPlaces *places = &out->places[s];
    for (int32_t i = 0; i < places->nDistinct; ++i)
      listSets(&p, &program->stages[s], places, places->distinct[i]);
    for (int32_t i = 0; i < program->nNumbered; ++i)
      if (places->patterns[i])
        listPeers(&p, places, places->patterns[i]);
  }
  shardArenaDestroy(scratch);
  return true;
}

void simClassesRelease(const SimProgram *program, SimClasses *classes) {
  for (int32_t s = 0; classes->places && s < program->nStages; ++s) {
    const SimPlaces *places = &classes->places[s];
    for (int32_t i = 0; i < places->nDistinct; ++i)
      shardGroupsDestroy(places->distinct[i]->groups);
    for (int32_t i = 0; places->patterns && i < program->nNumbered; ++i)
      if (places->patterns[i])
        shardTrafficDestroy(places->patterns[i]->messages);
  }
}
