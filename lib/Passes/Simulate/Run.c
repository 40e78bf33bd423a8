//===- Run.c - One step, event by event ---------------------------*- C -*-===//
// Ranks of a stage run one program, so that their classes go through it side by side, each with its
// clock. Stages meet only in messages: one that waits for a message lets the others run.
//===----------------------------------------------------------------------===//
#include "Simulate.h"

#include "../Core/Diagnostics.h"

#include <inttypes.h>
#include <string.h>

/// A body that is being run.
typedef struct Frame {
  const SimBody *body;
  size_t next;
  int64_t trips;      // still to come, this one included
  MlirOperation call; // null: the stage itself
} Frame;

/// A message on its way.
typedef struct Message {
  int64_t sentPs, arrivesPs;
} Message;

/// Messages of one class to another on one channel, first in first out.
typedef struct Queue {
  size_t nMessages, capacity, taken;
  Message *messages;
} Queue;

typedef struct StageRun {
  const SimStage *stage;
  const SimPlaces *places;
  SimCalls *calls;    // [nNumbered]
  int64_t *startedPs; // [steps of the stage's body]
  size_t nFrames, capacity;
  Frame *frames;
  MlirOperation waitsAt; // null: it runs, or is done
  SimEvents *events;
} StageRun;

typedef struct Engine {
  const SimProgram *program;
  const SimClasses *classes;
  SimClock *clocks;
  ShardArena *arena;
  ShardPointerMap *queueOf; // hash of channel, round and classes -> queue
  size_t nQueues, queueCapacity;
  Queue *queues;
  int64_t nSteps;
} Engine;

/// More steps than this are a loop that nobody means to be looked at step by step.
#define MAX_STEPS INT64_C(100000000)
/// Events that are kept of a stage.
#define MAX_EVENTS 65536

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// Costs of a collective for each profile of its groups, made once.
static const SimCalls *costCollective(Engine *engine, StageRun *run, const SimStep *step) {
  SimCalls *calls = &run->calls[step->number];
  if (calls->ps)
    return calls;
  const ShardGroups *groups = run->places->groups[step->number]->groups;
  int32_t n = shardGroupsGetProfileCount(groups);
  int64_t *ps = SHARD_ARENA_ARRAY(engine->program->arena, int64_t, n);
  calls->slowestPs = -1;
  for (int32_t i = 0; i < n; ++i) {
    ShardCollectiveCost cost;
    shardCollectiveCostOf(groups, i, step->collective, step->bytes, &cost);
    ps[i] = simPicoseconds(cost.seconds);
    if (ps[i] > calls->slowestPs) {
      calls->slowestPs = ps[i];
      calls->algorithm = cost.algorithm;
    }
  }
  calls->ps = ps;
  return calls;
}

/// Every class of a set arrives, the last one begins it, and all go on when it is done.
static void runCollective(Engine *engine, StageRun *run, const SimStep *step) {
  const SimGroups *groups = run->places->groups[step->number];
  const SimCalls *costs = costCollective(engine, run, step);
  SimCalls *calls = &run->calls[step->number];
  ++calls->count;
  for (int32_t i = 0; i < groups->nSets; ++i) {
    int64_t begins = 0;
    for (int32_t k = 0; k < groups->setSizes[i]; ++k) {
      const SimClock *clock = &engine->clocks[groups->sets[i][k]];
      int64_t ready = clock->ps > clock->streamPs ? clock->ps : clock->streamPs;
      begins = ready > begins ? ready : begins;
    }
    int64_t ps = costs->ps[groups->profiles[i]], ends = simAdd(begins, ps);
    for (int32_t k = 0; k < groups->setSizes[i]; ++k) {
      SimClock *clock = &engine->clocks[groups->sets[i][k]];
      clock->waitPs += begins - clock->ps;
      clock->communicationPs += ends - begins;
      clock->ps = clock->streamPs = ends;
      calls->exposedPs +=
          (double)(ends - begins) * (double)engine->classes->classes[groups->sets[i][k]].nRanks;
    }
  }
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

static Queue *findQueue(Engine *engine, const SimStep *step, int32_t from, int32_t to) {
  uint64_t key = (uint64_t)step->channel * UINT64_C(0x9e3779b97f4a7c15);
  const uint64_t parts[] = {(uint64_t)step->round, (uint64_t)(uint32_t)from,
                            (uint64_t)(uint32_t)to};
  for (int i = 0; i < 3; ++i)
    key = (key ^ key >> 29 ^ parts[i]) * UINT64_C(0xbf58476d1ce4e5b9);
  const void *pointer = (const void *)(uintptr_t)(key | 1);
  int64_t index;
  if (shardPointerMapGet(engine->queueOf, pointer, &index))
    return &engine->queues[index];
  shardPointerMapSet(engine->queueOf, pointer, (int64_t)engine->nQueues);
  engine->queues = shardArenaGrow(engine->arena, engine->queues, engine->nQueues,
                                  &engine->queueCapacity, engine->nQueues + 1, sizeof(Queue));
  engine->queues[engine->nQueues] = (Queue){0};
  return &engine->queues[engine->nQueues++];
}

static void pushMessage(Engine *engine, Queue *queue, Message message) {
  queue->messages = shardArenaGrow(engine->arena, queue->messages, queue->nMessages,
                                   &queue->capacity, queue->nMessages + 1, sizeof(Message));
  queue->messages[queue->nMessages++] = message;
}

static const SimCalls *costMessage(Engine *engine, StageRun *run, const SimStep *step) {
  SimCalls *calls = &run->calls[step->number];
  if (calls->ps)
    return calls;
  const ShardTraffic *messages = run->places->patterns[step->number]->messages;
  int32_t n = shardTrafficGetProfileCount(messages);
  int64_t *ps = SHARD_ARENA_ARRAY(engine->program->arena, int64_t, n);
  for (int32_t i = 0; i < n; ++i) {
    ps[i] = simPicoseconds(shardTrafficSeconds(messages, i, step->bytes));
    calls->slowestPs = ps[i] > calls->slowestPs ? ps[i] : calls->slowestPs;
  }
  calls->algorithm = SHARD_ALGORITHM_DIRECT;
  calls->ps = ps;
  return calls;
}

static int64_t ranksOf(const Engine *engine, int32_t class) {
  return engine->classes->classes[class].nRanks;
}

/// Done when the data has left and arrived; nobody need be there to receive it.
static void runSend(Engine *engine, StageRun *run, const SimStep *step) {
  const SimPattern *pattern = run->places->patterns[step->number];
  const SimCalls *costs = costMessage(engine, run, step);
  SimCalls *calls = &run->calls[step->number];
  ++calls->count;
  for (int32_t c = 0; c < run->places->nClasses; ++c) {
    int32_t class = run->places->firstClass + c;
    SimClock *clock = &engine->clocks[class];
    if (pattern->peerOf[c] < 0)
      continue;
    int64_t begins = clock->ps > clock->streamPs ? clock->ps : clock->streamPs;
    int64_t ends = simAdd(begins, costs->ps[pattern->profiles[c]]);
    clock->communicationPs += ends - clock->ps;
    calls->exposedPs += (double)(ends - clock->ps) * (double)ranksOf(engine, class);
    clock->ps = clock->streamPs = ends;
    pushMessage(engine, findQueue(engine, step, class, pattern->peerOf[c]),
                (Message){begins, ends});
  }
}

/// Whether all that a receive waits for has been sent.
static bool canReceive(Engine *engine, StageRun *run, const SimStep *step) {
  const SimPattern *pattern = run->places->patterns[step->number];
  for (int32_t c = 0; c < run->places->nClasses; ++c) {
    if (pattern->peerOf[c] < 0)
      continue;
    const Queue *queue = findQueue(engine, step, pattern->peerOf[c], run->places->firstClass + c);
    if (queue->taken == queue->nMessages)
      return false;
  }
  return true;
}

/// What a rank waits before the message is sent is a bubble, or a wait for its own stage; what it
/// waits while the message is on its way is communication.
static void runReceive(Engine *engine, StageRun *run, const SimStep *step) {
  const SimPattern *pattern = run->places->patterns[step->number];
  SimCalls *calls = &run->calls[step->number];
  for (int32_t c = 0; c < run->places->nClasses; ++c) {
    int32_t peer = pattern->peerOf[c], class = run->places->firstClass + c;
    if (peer < 0)
      continue;
    Queue *queue = findQueue(engine, step, peer, class);
    Message message = queue->messages[queue->taken++];
    SimClock *clock = &engine->clocks[class];
    if (message.sentPs > clock->ps) {
      bool own = engine->classes->classes[peer].stage == engine->classes->classes[class].stage;
      *(own ? &clock->waitPs : &clock->bubblePs) += message.sentPs - clock->ps;
      clock->ps = message.sentPs;
    }
    if (message.arrivesPs > clock->ps) {
      clock->communicationPs += message.arrivesPs - clock->ps;
      calls->exposedPs += (double)(message.arrivesPs - clock->ps) * (double)ranksOf(engine, class);
      clock->ps = message.arrivesPs;
    }
  }
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

static void compute(Engine *engine, StageRun *run, const int64_t *ps, int64_t times) {
  for (int32_t c = 0; c < run->places->nClasses; ++c) {
    int32_t class = run->places->firstClass + c;
    int64_t busy = simTimes(ps[engine->classes->classes[class].kind], times);
    engine->clocks[class].ps = simAdd(engine->clocks[class].ps, busy);
    engine->clocks[class].busyPs = simAdd(engine->clocks[class].busyPs, busy);
  }
}

static void pushFrame(Engine *engine, StageRun *run, const SimBody *body, int64_t trips,
                      MlirOperation call) {
  run->frames = shardArenaGrow(engine->arena, run->frames, run->nFrames, &run->capacity,
                               run->nFrames + 1, sizeof(Frame));
  run->frames[run->nFrames++] = (Frame){body, 0, trips, call};
}

/// One step of the innermost body. False: it waits for a message, which has not been sent.
static bool runStep(Engine *engine, StageRun *run, const SimStep *step) {
  switch (step->kind) {
  case SIM_COMPUTE:
    compute(engine, run, step->ps, 1);
    return true;
  case SIM_CALL:
    if (step->body->communicates)
      pushFrame(engine, run, step->body, step->trips, step->op);
    else
      compute(engine, run, step->body->ps, step->trips);
    return true;
  case SIM_COLLECTIVE:
    runCollective(engine, run, step);
    return true;
  case SIM_SEND:
    runSend(engine, run, step);
    return true;
  case SIM_RECEIVE:
    if (!canReceive(engine, run, step))
      return false;
    runReceive(engine, run, step);
    return true;
  }
  return true;
}

/// What the first class of a stage did, but for calls that are gone through.
static void addEvent(Engine *engine, StageRun *run, const SimStep *step, const SimClock *before,
                     MlirOperation call) {
  const SimClock *now = &engine->clocks[run->places->firstClass];
  SimEvents *events = run->events;
  if (now->ps == before->ps)
    return;
  if (events->nEvents == MAX_EVENTS) {
    ++events->nLeftOut;
    return;
  }
  int64_t waits = now->waitPs - before->waitPs + now->bubblePs - before->bubblePs;
  events->events = shardArenaGrow(engine->program->arena, events->events, events->nEvents,
                                  &events->capacity, events->nEvents + 1, sizeof(SimEvent));
  events->events[events->nEvents++] = (SimEvent){step, call, before->ps, now->ps, waits};
}

/// Runs a stage until it is done or waits. Whether it did anything.
static bool runStage(Engine *engine, StageRun *run) {
  bool any = false;
  while (run->nFrames && engine->nSteps < MAX_STEPS) {
    Frame *frame = &run->frames[run->nFrames - 1];
    if (frame->next == frame->body->nSteps) {
      frame->next = 0;
      if (--frame->trips == 0)
        --run->nFrames;
      continue;
    }
    const SimStep *step = &frame->body->steps[frame->next];
    if (run->nFrames == 1 && run->startedPs[frame->next] < 0)
      run->startedPs[frame->next] = engine->clocks[run->places->firstClass].ps;
    run->waitsAt = step->op;
    size_t depth = run->nFrames;
    SimClock before = engine->clocks[run->places->firstClass];
    MlirOperation call = depth > 1 ? run->frames[1].call : (MlirOperation){NULL};
    if (!runStep(engine, run, step))
      return any;
    addEvent(engine, run, step, &before, call);
    ++run->frames[depth - 1].next; // the array may have moved
    ++engine->nSteps;
    any = true;
  }
  run->waitsAt = (MlirOperation){NULL};
  return any;
}

static StageRun *createStages(Engine *engine, SimRun *out) {
  const SimProgram *program = engine->program;
  StageRun *runs = SHARD_ARENA_ARRAY(engine->arena, StageRun, program->nStages);
  out->calls = SHARD_ARENA_ARRAY(program->arena, SimCalls *, program->nStages);
  out->startedPs = SHARD_ARENA_ARRAY(program->arena, int64_t *, program->nStages);
  out->events = SHARD_ARENA_ARRAY(program->arena, SimEvents, program->nStages);
  for (int32_t s = 0; s < program->nStages; ++s) {
    const SimBody *body = program->stages[s].body;
    runs[s] = (StageRun){.stage = &program->stages[s], .places = &engine->classes->places[s]};
    runs[s].events = &out->events[s];
    runs[s].calls = out->calls[s] = SHARD_ARENA_ARRAY(program->arena, SimCalls, program->nNumbered);
    runs[s].startedPs = out->startedPs[s] =
        SHARD_ARENA_ARRAY(program->arena, int64_t, body->nSteps);
    memset(runs[s].startedPs, -1, body->nSteps * sizeof(int64_t));
    pushFrame(engine, &runs[s], body, 1, (MlirOperation){NULL});
  }
  return runs;
}

/// The ranks that are done wait for the last one.
static bool endStep(Engine *engine, SimRun *out) {
  out->stepPs = 0;
  for (int32_t c = 0; c < engine->classes->nClasses; ++c)
    out->stepPs = engine->clocks[c].ps > out->stepPs ? engine->clocks[c].ps : out->stepPs;
  for (int32_t c = 0; c < engine->classes->nClasses; ++c)
    engine->clocks[c].bubblePs += out->stepPs - engine->clocks[c].ps;
  if (out->stepPs < SIM_MAX_PS)
    return true;
  shardEmitError(engine->program->module, "a step takes more than 13 days");
  return false;
}

static bool runStages(Engine *engine, StageRun *runs) {
  const SimProgram *program = engine->program;
  bool any = true;
  while (any && engine->nSteps < MAX_STEPS) {
    any = false;
    for (int32_t s = 0; s < program->nStages; ++s)
      any |= runStage(engine, &runs[s]);
  }
  if (engine->nSteps >= MAX_STEPS) {
    shardEmitError(program->module,
                   "a step is more than %" PRId64 " events: a loop that communicates is too long",
                   MAX_STEPS);
    return false;
  }
  for (int32_t s = 0; s < program->nStages; ++s)
    if (!mlirOperationIsNull(runs[s].waitsAt)) {
      shardEmitError(runs[s].waitsAt, "stage %d waits for a message here that is never sent", s);
      return false;
    }
  return true;
}

bool simRun(const SimProgram *program, const SimClasses *classes, SimRun *out) {
  Engine engine = {.program = program, .classes = classes, .arena = shardArenaCreate()};
  engine.queueOf = shardPointerMapCreate(engine.arena, 64);
  engine.clocks = out->clocks = SHARD_ARENA_ARRAY(program->arena, SimClock, classes->nClasses);
  StageRun *runs = createStages(&engine, out);
  bool ok = runStages(&engine, runs) && endStep(&engine, out);
  shardArenaDestroy(engine.arena);
  return ok;
}
