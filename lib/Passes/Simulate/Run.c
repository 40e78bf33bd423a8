//===- Run.c - One step, event by event ---------------------------*- C -*-===//
// Each class goes through its stage's program with a clock of its own. One that waits for others of
// a group, or for a message, sleeps until they wake it; who runs first changes nothing.
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
  bool awaited; // the receiver sleeps
} Queue;

/// Classes that come together for a collective.
typedef struct Meeting {
  int32_t nArrived;
  int64_t latestPs;
} Meeting;

typedef struct ClassRun {
  size_t nFrames, capacity;
  Frame *frames;
  const SimStep *asleepAt; // null: it runs, or is done
} ClassRun;

typedef struct StageRun {
  const SimPlaces *places;
  SimCalls *calls;    // [nNumbered]
  Meeting **meetings; // [nNumbered][sets] null: not met yet
  int64_t *startedPs; // [steps of the stage's body]
  SimEvents *events;
} StageRun;

typedef struct Engine {
  const SimProgram *program;
  const SimClasses *classes;
  SimClock *clocks;
  StageRun *stages;
  ClassRun *runs;         // [nClasses]
  int32_t *ready, nReady; // [nClasses] a stack of classes that can go on
  ShardArena *arena;
  ShardPointerMap *queueOf; // hash of channel, round and classes -> queue
  size_t nQueues, queueCapacity;
  Queue *queues;
  int64_t nSteps; // of first classes
} Engine;

/// More steps than this are a loop that nobody means to be looked at step by step.
#define MAX_STEPS INT64_C(100000000)
/// Events that are kept of a stage.
#define MAX_EVENTS 65536

static const SimClass *classOf(const Engine *engine, int32_t class) {
  return &engine->classes->classes[class];
}

static StageRun *stageOf(const Engine *engine, int32_t class) {
  return &engine->stages[classOf(engine, class)->stage];
}

static bool isFirst(const Engine *engine, int32_t class) {
  return stageOf(engine, class)->places->firstClass == class;
}

static void wake(Engine *engine, int32_t class) {
  engine->runs[class].asleepAt = NULL;
  engine->ready[engine->nReady++] = class;
}

/// The step is behind the class.
static void advance(ClassRun *run) { ++run->frames[run->nFrames - 1].next; }

/// What the first class of a stage did, but for calls that are gone through.
static void addEvent(Engine *engine, int32_t class, const SimStep *step, const SimClock *before) {
  const SimClock *now = &engine->clocks[class];
  const ClassRun *run = &engine->runs[class];
  SimEvents *events = stageOf(engine, class)->events;
  if (!isFirst(engine, class) || now->ps == before->ps)
    return;
  if (events->nEvents == MAX_EVENTS) {
    ++events->nLeftOut;
    return;
  }
  int64_t waits = now->waitPs - before->waitPs + now->bubblePs - before->bubblePs;
  MlirOperation call = run->nFrames > 1 ? run->frames[1].call : (MlirOperation){NULL};
  events->events = shardArenaGrow(engine->program->arena, events->events, events->nEvents,
                                  &events->capacity, events->nEvents + 1, sizeof(SimEvent));
  events->events[events->nEvents++] = (SimEvent){step, call, before->ps, now->ps, waits};
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// Costs of a collective for each profile of its groups, made once.
static const SimCalls *costCollective(Engine *engine, StageRun *stage, const SimStep *step) {
  SimCalls *calls = &stage->calls[step->number];
  if (calls->ps)
    return calls;
  const ShardGroups *groups = stage->places->groups[step->number]->groups;
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

/// All have arrived: the last one begins it, and all go on when it is done.
static void finishCollective(Engine *engine, StageRun *stage, const SimStep *step, int32_t set,
                             int64_t beginsPs, int32_t self) {
  const SimGroups *groups = stage->places->groups[step->number];
  int64_t ps = costCollective(engine, stage, step)->ps[groups->profiles[set]];
  int64_t endsPs = simAdd(beginsPs, ps);
  for (int32_t k = 0; k < groups->setSizes[set]; ++k) {
    int32_t class = groups->sets[set][k];
    SimClock *clock = &engine->clocks[class], before = *clock;
    clock->waitPs += beginsPs - clock->ps;
    clock->communicationPs += endsPs - beginsPs;
    clock->ps = clock->streamPs = endsPs;
    stage->calls[step->number].exposedPs +=
        (double)(endsPs - beginsPs) * (double)classOf(engine, class)->nRanks;
    addEvent(engine, class, step, &before);
    if (class == self)
      continue;
    advance(&engine->runs[class]);
    wake(engine, class);
  }
}

/// False: others of the group are still to come.
static bool joinCollective(Engine *engine, int32_t class, const SimStep *step) {
  StageRun *stage = stageOf(engine, class);
  const SimGroups *groups = stage->places->groups[step->number];
  const SimClock *clock = &engine->clocks[class];
  Meeting **meetings = &stage->meetings[step->number];
  if (!*meetings)
    *meetings = SHARD_ARENA_ARRAY(engine->arena, Meeting, groups->nSets);
  int32_t set = groups->setOf[class - stage->places->firstClass];
  Meeting *meeting = &(*meetings)[set];
  int64_t readyPs = clock->ps > clock->streamPs ? clock->ps : clock->streamPs;
  meeting->latestPs = readyPs > meeting->latestPs ? readyPs : meeting->latestPs;
  stage->calls[step->number].count += isFirst(engine, class);
  if (++meeting->nArrived < groups->setSizes[set])
    return false;
  int64_t beginsPs = meeting->latestPs;
  *meeting = (Meeting){0};
  finishCollective(engine, stage, step, set, beginsPs, class);
  return true;
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

static const SimCalls *costMessage(Engine *engine, StageRun *stage, const SimStep *step) {
  SimCalls *calls = &stage->calls[step->number];
  if (calls->ps)
    return calls;
  const ShardTraffic *traffic = stage->places->patterns[step->number]->messages;
  int32_t n = shardTrafficGetProfileCount(traffic);
  int64_t *ps = SHARD_ARENA_ARRAY(engine->program->arena, int64_t, n);
  for (int32_t i = 0; i < n; ++i) {
    ps[i] = simPicoseconds(shardTrafficSeconds(traffic, i, step->bytes));
    calls->slowestPs = ps[i] > calls->slowestPs ? ps[i] : calls->slowestPs;
  }
  calls->algorithm = SHARD_ALGORITHM_DIRECT;
  calls->ps = ps;
  return calls;
}

/// Done when the data has left and arrived; nobody need be there to receive it.
static void runSend(Engine *engine, int32_t class, const SimStep *step) {
  StageRun *stage = stageOf(engine, class);
  const SimPattern *pattern = stage->places->patterns[step->number];
  int32_t own = class - stage->places->firstClass, peer = pattern->peerOf[own];
  const SimCalls *costs = costMessage(engine, stage, step);
  SimCalls *calls = &stage->calls[step->number];
  SimClock *clock = &engine->clocks[class];
  calls->count += isFirst(engine, class);
  if (peer < 0)
    return;
  int64_t beginsPs = clock->ps > clock->streamPs ? clock->ps : clock->streamPs;
  int64_t endsPs = simAdd(beginsPs, costs->ps[pattern->profiles[own]]);
  clock->communicationPs += endsPs - clock->ps;
  calls->exposedPs += (double)(endsPs - clock->ps) * (double)classOf(engine, class)->nRanks;
  clock->ps = clock->streamPs = endsPs;
  Queue *queue = findQueue(engine, step, class, peer);
  queue->messages = shardArenaGrow(engine->arena, queue->messages, queue->nMessages,
                                   &queue->capacity, queue->nMessages + 1, sizeof(Message));
  queue->messages[queue->nMessages++] = (Message){beginsPs, endsPs};
  if (queue->awaited)
    wake(engine, peer);
  queue->awaited = false;
}

/// What a rank waits before the message is sent is a bubble, or a wait for its own stage; what it
/// waits while the message is on its way is communication. False: it has not been sent.
static bool runReceive(Engine *engine, int32_t class, const SimStep *step) {
  StageRun *stage = stageOf(engine, class);
  int32_t peer = stage->places->patterns[step->number]->peerOf[class - stage->places->firstClass];
  if (peer < 0)
    return true;
  Queue *queue = findQueue(engine, step, peer, class);
  SimClock *clock = &engine->clocks[class];
  queue->awaited = queue->taken == queue->nMessages;
  if (queue->awaited)
    return false;
  Message message = queue->messages[queue->taken++];
  if (message.sentPs > clock->ps) {
    bool own = classOf(engine, peer)->stage == classOf(engine, class)->stage;
    *(own ? &clock->waitPs : &clock->bubblePs) += message.sentPs - clock->ps;
    clock->ps = message.sentPs;
  }
  if (message.arrivesPs > clock->ps) {
    clock->communicationPs += message.arrivesPs - clock->ps;
    stage->calls[step->number].exposedPs +=
        (double)(message.arrivesPs - clock->ps) * (double)classOf(engine, class)->nRanks;
    clock->ps = message.arrivesPs;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

static void compute(Engine *engine, int32_t class, const int64_t *ps, int64_t times) {
  SimClock *clock = &engine->clocks[class];
  int64_t busy = simTimes(ps[classOf(engine, class)->kind], times);
  clock->ps = simAdd(clock->ps, busy);
  clock->busyPs = simAdd(clock->busyPs, busy);
}

static void pushFrame(Engine *engine, ClassRun *run, const SimBody *body, int64_t trips,
                      MlirOperation call) {
  run->frames = shardArenaGrow(engine->arena, run->frames, run->nFrames, &run->capacity,
                               run->nFrames + 1, sizeof(Frame));
  run->frames[run->nFrames++] = (Frame){body, 0, trips, call};
}

/// One step of the innermost body. False: the class sleeps.
static bool runStep(Engine *engine, int32_t class, const SimStep *step) {
  ClassRun *run = &engine->runs[class];
  SimClock before = engine->clocks[class];
  switch (step->kind) {
  case SIM_COMPUTE:
    compute(engine, class, step->ps, 1);
    break;
  case SIM_CALL:
    if (step->body->communicates) {
      advance(run);
      pushFrame(engine, run, step->body, step->trips, step->op);
      return true;
    }
    compute(engine, class, step->body->ps, step->trips);
    break;
  case SIM_COLLECTIVE:
    if (!joinCollective(engine, class, step))
      return false;
    advance(run);
    return true; // with its event
  case SIM_SEND:
    runSend(engine, class, step);
    break;
  case SIM_RECEIVE:
    if (!runReceive(engine, class, step))
      return false;
    break;
  }
  addEvent(engine, class, step, &before);
  advance(run);
  return true;
}

/// Runs a class until it is done or sleeps.
static void runClass(Engine *engine, int32_t class) {
  ClassRun *run = &engine->runs[class];
  StageRun *stage = stageOf(engine, class);
  bool first = isFirst(engine, class);
  while (run->nFrames && engine->nSteps < MAX_STEPS) {
    Frame *frame = &run->frames[run->nFrames - 1];
    if (frame->next == frame->body->nSteps) {
      frame->next = 0;
      if (--frame->trips == 0)
        --run->nFrames;
      continue;
    }
    const SimStep *step = &frame->body->steps[frame->next];
    if (first && run->nFrames == 1 && stage->startedPs[frame->next] < 0)
      stage->startedPs[frame->next] = engine->clocks[class].ps;
    engine->nSteps += first;
    if (!runStep(engine, class, step)) {
      run->asleepAt = step;
      return;
    }
  }
}

static void createRuns(Engine *engine, SimRun *out) {
  const SimProgram *program = engine->program;
  int32_t nClasses = engine->classes->nClasses;
  engine->stages = SHARD_ARENA_ARRAY(engine->arena, StageRun, program->nStages);
  engine->runs = SHARD_ARENA_ARRAY(engine->arena, ClassRun, nClasses);
  engine->ready = SHARD_ARENA_ARRAY(engine->arena, int32_t, nClasses);
  out->calls = SHARD_ARENA_ARRAY(program->arena, SimCalls *, program->nStages);
  out->startedPs = SHARD_ARENA_ARRAY(program->arena, int64_t *, program->nStages);
  out->events = SHARD_ARENA_ARRAY(program->arena, SimEvents, program->nStages);
  for (int32_t s = 0; s < program->nStages; ++s) {
    size_t nSteps = program->stages[s].body->nSteps;
    out->calls[s] = SHARD_ARENA_ARRAY(program->arena, SimCalls, program->nNumbered);
    out->startedPs[s] = SHARD_ARENA_ARRAY(program->arena, int64_t, nSteps);
    memset(out->startedPs[s], -1, nSteps * sizeof(int64_t));
    engine->stages[s] =
        (StageRun){.places = &engine->classes->places[s],
                   .calls = out->calls[s],
                   .meetings = SHARD_ARENA_ARRAY(engine->arena, Meeting *, program->nNumbered),
                   .startedPs = out->startedPs[s],
                   .events = &out->events[s]};
  }
  for (int32_t c = nClasses; c-- > 0;) { // the first is on top
    pushFrame(engine, &engine->runs[c], program->stages[classOf(engine, c)->stage].body, 1,
              (MlirOperation){NULL});
    wake(engine, c);
  }
}

/// A class that sleeps when all the others are done or sleep too.
static bool checkAwake(const Engine *engine) {
  int32_t asleep = -1;
  for (int32_t c = 0; c < engine->classes->nClasses; ++c) {
    const SimStep *step = engine->runs[c].asleepAt;
    // Who waits for a message is why others wait for him.
    if (step && (asleep < 0 ||
                 (step->kind == SIM_RECEIVE && engine->runs[asleep].asleepAt->kind != SIM_RECEIVE)))
      asleep = c;
  }
  if (asleep < 0)
    return true;
  shardEmitError(engine->runs[asleep].asleepAt->op,
                 "stage %d waits for a message here that is never sent",
                 classOf(engine, asleep)->stage);
  return false;
}

static bool runClasses(Engine *engine) {
  while (engine->nReady && engine->nSteps < MAX_STEPS)
    runClass(engine, engine->ready[--engine->nReady]);
  if (engine->nSteps < MAX_STEPS)
    return checkAwake(engine);
  shardEmitError(engine->program->module,
                 "a step is more than %" PRId64 " events: a loop that communicates is too long",
                 MAX_STEPS);
  return false;
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

bool simRun(const SimProgram *program, const SimClasses *classes, SimRun *out) {
  Engine engine = {.program = program, .classes = classes, .arena = shardArenaCreate()};
  engine.queueOf = shardPointerMapCreate(engine.arena, 64);
  engine.clocks = out->clocks = SHARD_ARENA_ARRAY(program->arena, SimClock, classes->nClasses);
  createRuns(&engine, out);
  bool ok = runClasses(&engine) && endStep(&engine, out);
  shardArenaDestroy(engine.arena);
  return ok;
}
