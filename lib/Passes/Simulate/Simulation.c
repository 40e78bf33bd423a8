//===- Simulation.c - A step of a program on a cluster ------------*- C -*-===//
#include "Simulate.h"

#include "mlir-c/BuiltinAttributes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Output {
  const SimProgram *program;
  const SimClasses *classes;
  const SimRun *run;
  ShardArena *arena;   // of the simulation
  const char **axesOf; // [nNumbered] null: not asked for yet
  ShardSimulation *out;
} Output;

//===----------------------------------------------------------------------===//
// Classes and stages
//===----------------------------------------------------------------------===//

static void writeClasses(const Output *o) {
  ShardSimulation *out = o->out;
  ShardSimulatedClass *list =
      SHARD_ARENA_ARRAY(o->arena, ShardSimulatedClass, o->classes->nClasses);
  double busy = 0, communication = 0, wait = 0, bubble = 0;
  for (int32_t c = 0; c < o->classes->nClasses; ++c) {
    const SimClass *class = &o->classes->classes[c];
    const SimClock *clock = &o->run->clocks[c];
    const SimBody *body = o->program->stages[class->stage].body;
    const SimBound *bound = &body->bounds[class->kind];
    const char *kind = o->program->cluster->deviceKinds[class->kind].name;
    list[c] =
        (ShardSimulatedClass){.stage = class->stage,
                              .firstRank = class->firstRank,
                              .nRanks = class->nRanks,
                              .deviceKind = shardArenaCopyString(o->arena, kind, strlen(kind)),
                              .endPs = clock->ps,
                              .busyPs = clock->busyPs,
                              .reorderPs = body->reorderPs[class->kind],
                              .arithmeticPs = bound->arithmeticPs,
                              .memoryPs = bound->memoryPs,
                              .launchPs = bound->launchPs,
                              .communicationPs = clock->communicationPs,
                              .waitPs = clock->waitPs,
                              .bubblePs = clock->bubblePs};
    double ranks = (double)class->nRanks;
    busy += ranks * (double)clock->busyPs;
    communication += ranks * (double)clock->communicationPs;
    wait += ranks * (double)clock->waitPs;
    bubble += ranks * (double)clock->bubblePs;
  }
  double all = (double)out->nRanks * (double)out->stepPs;
  all = all > 0 ? all : 1;
  out->classes = list;
  out->nClasses = o->classes->nClasses;
  out->busy = busy / all;
  out->communication = communication / all;
  out->wait = wait / all;
  out->bubble = bubble / all;
}

/// Of steps that begin at the same time the one with most is kept.
static void writeMemory(const Output *o, int32_t s, ShardSimulatedStage *out) {
  const SimStage *stage = &o->program->stages[s];
  const SimBody *body = stage->body;
  int64_t whole = stage->argumentBytes + stage->resultBytes + stage->stagingBytes;
  int64_t *held = out->heldByClass, always[SHARD_N_MEMORY_CLASSES];
  for (int c = 0; stage->plan && c < SHARD_N_MEMORY_CLASSES; ++c)
    held[c] = stage->plan->argumentBytesByClass[c] + stage->plan->resultBytesByClass[c];
  memcpy(always, held, sizeof(always));
  always[SHARD_MEMORY_STAGING] += stage->stagingBytes;
  ShardSimulatedMemory *memory =
      SHARD_ARENA_ARRAY(o->arena, ShardSimulatedMemory, body->nSteps + 2);
  memory[out->nMemory] = (ShardSimulatedMemory){0, whole, {0}};
  memcpy(memory[out->nMemory++].byClass, always, sizeof(always));
  for (size_t i = 0; i < body->nSteps; ++i) {
    const SimStep *step = &body->steps[i];
    ShardSimulatedMemory *last = &memory[out->nMemory - 1];
    ShardSimulatedMemory now = {o->run->startedPs[s][i], whole + step->memoryBytes, {0}};
    memcpy(now.byClass, step->memoryByClass ? step->memoryByClass : always, sizeof(now.byClass));
    if (mlirOperationEqual(step->op, body->peakOp) && !out->peakPs)
      out->peakPs = now.ps;
    if (now.ps != last->ps && now.bytes != last->bytes)
      memory[out->nMemory++] = now;
    else if (now.ps == last->ps && now.bytes > last->bytes)
      *last = now;
  }
  int64_t end = o->run->clocks[o->classes->places[s].firstClass].ps;
  if (end > memory[out->nMemory - 1].ps) {
    memory[out->nMemory] = (ShardSimulatedMemory){end, whole, {0}};
    memcpy(memory[out->nMemory++].byClass, always, sizeof(always));
  }
  out->memory = memory;
}

static const char *opText(const Output *o, MlirOperation op) {
  if (mlirOperationIsNull(op))
    return "";
  MlirStringRef name = shardOpGetName(op);
  return shardArenaFormat(o->arena, "%.*s at %s", (int)name.length, name.data,
                          shardLocationText(mlirOperationGetLocation(op), o->arena));
}

/// Names of the mesh axes that a communication goes along.
static const char *axesText(const Output *o, uint32_t axes) {
  const char *text = "";
  for (int32_t a = 0; a < o->program->mesh.nAxes; ++a)
    if (axes >> a & 1)
      text =
          shardArenaFormat(o->arena, "%s%s%s", text, *text ? "," : "", o->program->mesh.names[a]);
  return text;
}

/// What an event has of a communication.
static void describeMessage(const Output *o, const SimStep *began, ShardSimulatedEvent *out) {
  out->axes = "";
  if (began->kind == SIM_COMPUTE || began->kind == SIM_CALL)
    return;
  out->bytes = began->bytes;
  if (!o->axesOf[began->number])
    o->axesOf[began->number] = axesText(o, began->axes);
  out->axes = o->axesOf[began->number];
  out->apart = began->starts;
}

static ShardSimulatedEvent *listEvents(const Output *o, const SimEvents *events,
                                       ShardPointerMap *nameOf) {
  static const ShardSimulatedKind kinds[] = {[SIM_COMPUTE] = SHARD_SIMULATED_COMPUTE,
                                             [SIM_CALL] = SHARD_SIMULATED_COMPUTE,
                                             [SIM_COLLECTIVE] = SHARD_SIMULATED_COLLECTIVE,
                                             [SIM_SEND] = SHARD_SIMULATED_SEND,
                                             [SIM_RECEIVE] = SHARD_SIMULATED_RECEIVE};
  ShardSimulatedEvent *list = SHARD_ARENA_ARRAY(o->arena, ShardSimulatedEvent, events->nEvents);
  for (size_t i = 0; i < events->nEvents; ++i) {
    const SimEvent *event = &events->events[i];
    MlirOperation op = event->step->op;
    int64_t name;
    if (!shardPointerMapGet(nameOf, op.ptr, &name)) {
      name = (int64_t)(intptr_t)opText(o, op);
      shardPointerMapSet(nameOf, op.ptr, name);
    }
    int64_t layer =
        mlirOperationIsNull(event->call) ? -1 : simIntegerOf(event->call, "spmd.layer", -1);
    list[i] = (ShardSimulatedEvent){.kind = kinds[event->began->kind],
                                    .beginPs = event->beginPs,
                                    .endPs = event->endPs,
                                    .waitPs = event->waitPs,
                                    .name = (const char *)(intptr_t)name,
                                    .layer = layer < 0 ? simIntegerOf(op, "spmd.layer", -1) : layer,
                                    .site = simIntegerOf(event->began->op, "spmd.site", -1)};
    describeMessage(o, event->began, &list[i]);
  }
  return list;
}

static void writeEvents(const Output *o, int32_t s, ShardSimulatedStage *out) {
  const SimEvents *events = &o->run->events[s], *overlaps = &o->run->overlaps[s];
  ShardPointerMap *nameOf = shardPointerMapCreate(o->arena, 64);
  out->events = listEvents(o, events, nameOf);
  out->nEvents = (intptr_t)events->nEvents;
  out->nEventsLeftOut = (intptr_t)events->nLeftOut;
  out->overlaps = listEvents(o, overlaps, nameOf);
  out->nOverlaps = (intptr_t)overlaps->nEvents;
  out->nOverlapsLeftOut = (intptr_t)overlaps->nLeftOut;
}

static void writeStages(const Output *o) {
  ShardSimulatedStage *list = SHARD_ARENA_ARRAY(o->arena, ShardSimulatedStage, o->program->nStages);
  for (int32_t s = 0; s < o->program->nStages; ++s) {
    const SimStage *stage = &o->program->stages[s];
    list[s] = (ShardSimulatedStage){.firstClass = o->classes->places[s].firstClass,
                                    .nClasses = o->classes->places[s].nClasses,
                                    .nRanks = stage->nRanks,
                                    .flops = stage->body->flops,
                                    .vectorFlops = stage->body->vectorFlops,
                                    .memoryBytes = stage->body->memoryBytes,
                                    .nReorders = stage->body->nReorders,
                                    .argumentBytes = stage->argumentBytes,
                                    .resultBytes = stage->resultBytes,
                                    .stagingBytes = stage->stagingBytes,
                                    .peakBytes = stage->argumentBytes + stage->resultBytes +
                                                 stage->stagingBytes + stage->body->peakBytes,
                                    .planned = stage->plan != NULL,
                                    .estimatedBecause = "",
                                    .peakOp = opText(o, stage->body->deepOp)};
    if (!stage->plan)
      list[s].estimatedBecause = shardArenaCopyString(o->arena, o->program->estimatedBecause,
                                                      strlen(o->program->estimatedBecause));
    if (stage->plan) {
      list[s].peakOp =
          shardArenaCopyString(o->arena, stage->plan->peakOp, strlen(stage->plan->peakOp));
      memcpy(list[s].peakByClass, stage->plan->peakByClass, sizeof(list[s].peakByClass));
    }
    writeMemory(o, s, &list[s]);
    writeEvents(o, s, &list[s]);
  }
  o->out->stages = list;
  o->out->nStages = o->program->nStages;
}

//===----------------------------------------------------------------------===//
// Sites
//===----------------------------------------------------------------------===//

/// A site, its times not rounded yet.
typedef struct SiteSum {
  ShardSimulatedSite site;
  double exposedPs, standingPs, sharedPs;
} SiteSum;

static int compareSites(const void *a, const void *b) {
  const ShardSimulatedSite *x = &((const SiteSum *)a)->site, *y = &((const SiteSum *)b)->site;
  if (x->site != y->site)
    return x->site < y->site ? -1 : 1;
  return strcmp(x->kind, y->kind);
}

/// One for each numbered op and stage; the receiving half of a message has no calls of its own.
static intptr_t listSites(const Output *o, SiteSum *list) {
  intptr_t n = 0;
  for (int32_t i = 0; i < o->program->nNumbered; ++i) {
    const SimStep *step = &o->program->numbered[i];
    for (int32_t s = 0; s < o->program->nStages; ++s) {
      const SimCalls *calls = &o->run->calls[s][i];
      const SimGroups *groups = o->classes->places[s].groups[i];
      if (!calls->count && calls->exposedPs <= 0)
        continue;
      // A collective over stages is one call of all of them.
      int64_t count = groups && groups->spansStages && s ? 0 : calls->count;
      double nRanks = (double)o->program->stages[s].nRanks;
      list[n++] =
          (SiteSum){.site = {.site = simIntegerOf(step->op, "spmd.site", -1),
                             .kind = shardClusterCollectiveName(step->collective),
                             .count = count,
                             .bytes = count ? step->bytes : 0,
                             .ps = simTimes(calls->slowestPs, count),
                             .algorithm = count ? shardAlgorithmName(calls->algorithm) : ""},
                    .exposedPs = calls->exposedPs / nRanks,
                    .standingPs = calls->standingPs / (double)o->out->nRanks,
                    .sharedPs = calls->sharedPs / nRanks};
    }
  }
  return n;
}

static void addSite(SiteSum *sum, const SiteSum *other) {
  if (!sum->site.count) {
    sum->site.bytes = other->site.bytes;
    sum->site.algorithm = other->site.algorithm;
  }
  sum->site.count += other->site.count;
  sum->site.ps = simAdd(sum->site.ps, other->site.ps);
  sum->exposedPs += other->exposedPs;
  sum->standingPs += other->standingPs;
  sum->sharedPs += other->sharedPs;
}

static void writeSites(const Output *o) {
  int64_t most = (int64_t)o->program->nNumbered * o->program->nStages;
  SiteSum *list = SHARD_ARENA_ARRAY(o->arena, SiteSum, most);
  ShardSimulatedSite *sites = SHARD_ARENA_ARRAY(o->arena, ShardSimulatedSite, most);
  intptr_t n = listSites(o, list), kept = 0;
  if (n)
    qsort(list, (size_t)n, sizeof(*list), compareSites);
  for (intptr_t i = 0; i < n; ++i) {
    if (kept && compareSites(&list[kept - 1], &list[i]) == 0)
      addSite(&list[kept - 1], &list[i]);
    else
      list[kept++] = list[i];
  }
  for (intptr_t i = 0; i < kept; ++i) {
    sites[i] = list[i].site;
    sites[i].exposedPs = llround(list[i].exposedPs);
    sites[i].standingPs = llround(list[i].standingPs);
    sites[i].sharedPs = llround(list[i].sharedPs);
  }
  o->out->sites = sites;
  o->out->nSites = kept;
}

//===----------------------------------------------------------------------===//
// The object
//===----------------------------------------------------------------------===//

static ShardSimulation *writeSimulation(const SimProgram *program, const SimClasses *classes,
                                        const SimRun *run) {
  ShardArena *arena = shardArenaCreate();
  ShardSimulation *out = SHARD_ARENA_NEW(arena, ShardSimulation);
  const char *name = program->cluster->name;
  out->memory = arena;
  out->clusterName = shardArenaCopyString(arena, name, strlen(name));
  out->stepPs = run->stepPs;
  out->nRanks = program->nRanks;
  int64_t *devices = SHARD_ARENA_ARRAY(arena, int64_t, program->nRanks);
  for (int64_t r = 0; r < program->nRanks; ++r)
    devices[r] = simDeviceOf(program, r);
  out->devices = devices;
  out->nLoopsOnce = program->nLoopsOnce;
  const char **axesOf = SHARD_ARENA_ARRAY(arena, const char *, program->nNumbered);
  Output output = {program, classes, run, arena, axesOf, out};
  writeClasses(&output);
  writeStages(&output);
  writeSites(&output);
  simLinks(program, classes, run, arena, out);
  return out;
}

ShardSimulation *shardSimulationCreate(MlirOperation module, const ShardCluster *cluster,
                                       const int64_t *placement) {
  return shardSimulationCreateFor(module, cluster, &(ShardSimulateOptions){.placement = placement});
}

ShardSimulation *shardSimulationCreateFor(MlirOperation module, const ShardCluster *cluster,
                                          const ShardSimulateOptions *options) {
  SimProgram program = {.module = module,
                        .arena = shardArenaCreate(),
                        .cluster = cluster,
                        .placement = options->placement,
                        .mcpu = options->mcpu,
                        .mostEvents = options->mostEvents};
  SimClasses classes = {0};
  SimRun run;
  ShardSimulation *out = NULL;
  if (simProgramRead(&program) && simClassesCreate(&program, &classes) &&
      simRun(&program, &classes, &run))
    out = writeSimulation(&program, &classes, &run);
  simClassesRelease(&program, &classes);
  shardMemoryPlanDestroy(program.plan);
  shardArenaDestroy(program.arena);
  return out;
}

void shardSimulationDestroy(ShardSimulation *simulation) {
  if (simulation)
    shardArenaDestroy(simulation->memory); // with the simulation
}
