//===- Run.c - One step, event by event ---------------------------*- C -*-===//
// Each class goes through its stage's program with a clock of its own. One that waits for a
// collective or a message sleeps until it has ended; who runs first changes nothing.
//===----------------------------------------------------------------------===//
#include "Engine.h"

#include "../Core/Diagnostics.h"

#include <inttypes.h>
#include <string.h>

/// Steps of all classes and uses of links, unless the caller has a bound of its own: about a
/// minute.
#define MOST_EVENTS INT64_C(1000000000)
/// Events that are kept of a stage.
#define MAX_EVENTS 65536

/// The step is behind the class.
static void advance(ClassRun *run) { ++run->frames[run->nFrames - 1].next; }

void simEventsAdd(SimEvents *events, ShardArena *arena, SimEvent event) {
  if (events->nEvents == MAX_EVENTS) {
    ++events->nLeftOut;
    return;
  }
  events->events = shardArenaGrow(arena, events->events, events->nEvents, &events->capacity,
                                  events->nEvents + 1, sizeof(SimEvent));
  events->events[events->nEvents++] = event;
}

/// What the first class of a stage did, but for calls that are gone through.
static void addEvent(Engine *engine, int32_t class, const SimStep *step, const SimStep *began,
                     const SimClock *before) {
  const SimClock *now = &engine->clocks[class];
  const ClassRun *run = &engine->runs[class];
  if (!engineIsFirst(engine, class) || now->ps == before->ps)
    return;
  int64_t waits = now->waitPs - before->waitPs + now->bubblePs - before->bubblePs;
  MlirOperation call = run->nFrames > 1 ? run->frames[1].call->op : (MlirOperation){NULL};
  simEventsAdd(engineStage(engine, class)->events, engine->program->arena,
               (SimEvent){step, began, call, before->ps, now->ps, waits});
}

//===----------------------------------------------------------------------===//
// Frames and tokens
//===----------------------------------------------------------------------===//

static void pushFrame(Engine *engine, ClassRun *run, const SimBody *body, int64_t trips,
                      const SimStep *call) {
  run->frames = shardArenaGrow(engine->arena, run->frames, run->nFrames, &run->capacity,
                               run->nFrames + 1, sizeof(Frame));
  run->frames[run->nFrames++] = (Frame){body, 0, trips, call, run->nSlots};
  size_t n = (size_t)body->nSlots;
  run->slots = shardArenaGrow(engine->arena, run->slots, run->nSlots, &run->slotCapacity,
                              run->nSlots + n, sizeof(Slot));
  if (n)
    memset(run->slots + run->nSlots, 0, n * sizeof(Slot));
  run->nSlots += n;
}

static void popFrame(ClassRun *run) { run->nSlots = run->frames[--run->nFrames].firstSlot; }

/// The slot of the innermost run of its body; null: there is none.
static Slot *findSlot(const ClassRun *run, SimPlace place) {
  for (size_t f = run->nFrames; place.body && f-- > 0;)
    if (run->frames[f].body == place.body)
      return &run->slots[run->frames[f].firstSlot + (size_t)place.slot];
  return NULL;
}

/// Into `moving` of the engine.
static void readMoves(Engine *engine, const ClassRun *run, int32_t n, const SimMove *moves) {
  engine->moving = shardArenaGrow(engine->arena, engine->moving, 0, &engine->movingCapacity,
                                  2 * (size_t)n, sizeof(Slot));
  for (int32_t i = 0; i < n; ++i) {
    const Slot *from = findSlot(run, moves[i].from);
    for (int half = 0; half < 2; ++half)
      engine->moving[2 * i + half] = from ? from[half] : (Slot){NULL, 0};
  }
}

static void writeMoves(const Engine *engine, const ClassRun *run, int32_t n, const SimMove *moves) {
  for (int32_t i = 0; i < n; ++i) {
    Slot *to = findSlot(run, moves[i].to);
    for (int half = 0; to && half < 2; ++half)
      to[half] = engine->moving[2 * i + half];
  }
}

static void enterCall(Engine *engine, ClassRun *run, const SimStep *step) {
  readMoves(engine, run, step->nMoves[0], step->moves[0]);
  pushFrame(engine, run, step->body, step->trips, step);
  writeMoves(engine, run, step->nMoves[0], step->moves[0]);
}

/// A body is through: it begins again, or its caller goes on.
static void endTurn(Engine *engine, ClassRun *run) {
  Frame *frame = &run->frames[run->nFrames - 1];
  const SimStep *call = frame->call;
  frame->next = 0;
  int which = --frame->trips > 0 ? 1 : 2;
  if (call)
    readMoves(engine, run, call->nMoves[which], call->moves[which]);
  if (which == 2)
    popFrame(run);
  if (call)
    writeMoves(engine, run, call->nMoves[which], call->moves[which]);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

static void compute(Engine *engine, int32_t class, const int64_t *ps, int64_t times) {
  SimClock *clock = &engine->clocks[class];
  int64_t busy = simTimes(ps[engineClass(engine, class)->kind], times);
  clock->ps = simAdd(clock->ps, busy);
  clock->busyPs = simAdd(clock->busyPs, busy);
}

/// A collective or message of L3, or one half of L4. False: the class sleeps, or an error.
static bool communicate(Engine *engine, int32_t class, const SimStep *step,
                        const SimStep **outBegan) {
  ClassRun *run = &engine->runs[class];
  *outBegan = step;
  if (step->kind == SIM_WAIT)
    return engineWait(engine, class, step, findSlot(run, step->token), outBegan);
  if (step->starts) {
    engineStart(engine, class, step, findSlot(run, step->token));
    return !engine->failed;
  }
  if (!run->began)
    engineStart(engine, class, step, &run->blocking);
  run->began = true;
  if (engine->failed || !engineWait(engine, class, step, &run->blocking, outBegan))
    return false;
  run->began = false;
  return true;
}

/// One step of the innermost body. False: the class sleeps.
static bool runStep(Engine *engine, int32_t class, const SimStep *step) {
  ClassRun *run = &engine->runs[class];
  SimClock before = engine->clocks[class];
  const SimStep *began = step;
  if (step->kind == SIM_CALL && (step->body->communicates || step->nMoves[0] || step->nMoves[2])) {
    advance(run);
    enterCall(engine, run, step);
    return true;
  }
  if (step->kind == SIM_CALL)
    compute(engine, class, step->body->ps, step->trips);
  else if (step->kind == SIM_COMPUTE)
    compute(engine, class, step->ps, 1);
  else if (!communicate(engine, class, step, &began))
    return false;
  addEvent(engine, class, step, began, &before);
  advance(run);
  return true;
}

static int64_t mostEvents(const Engine *engine) {
  return engine->program->mostEvents > 0 ? engine->program->mostEvents : MOST_EVENTS;
}

static bool mayGoOn(const Engine *engine) {
  return !engine->failed && engine->nSteps + engine->share->nLooks <= mostEvents(engine);
}

/// Runs a class until it is done or sleeps.
static void runClass(Engine *engine, int32_t class) {
  ClassRun *run = &engine->runs[class];
  StageRun *stage = engineStage(engine, class);
  bool first = engineIsFirst(engine, class);
  while (run->nFrames && mayGoOn(engine)) {
    Frame *frame = &run->frames[run->nFrames - 1];
    if (frame->next == frame->body->nSteps) {
      ++engine->nSteps;
      endTurn(engine, run);
      continue;
    }
    const SimStep *step = &frame->body->steps[frame->next];
    if (first && run->nFrames == 1 && stage->startedPs[frame->next] < 0)
      stage->startedPs[frame->next] = engine->clocks[class].ps;
    ++engine->nSteps;
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
  out->overlaps = SHARD_ARENA_ARRAY(program->arena, SimEvents, program->nStages);
  for (int32_t s = 0; s < program->nStages; ++s) {
    size_t nSteps = program->stages[s].body->nSteps;
    out->calls[s] = SHARD_ARENA_ARRAY(program->arena, SimCalls, program->nNumbered);
    out->startedPs[s] = SHARD_ARENA_ARRAY(program->arena, int64_t, nSteps);
    memset(out->startedPs[s], -1, nSteps * sizeof(int64_t));
    engine->stages[s] = (StageRun){.places = &engine->classes->places[s],
                                   .calls = out->calls[s],
                                   .startedPs = out->startedPs[s],
                                   .events = &out->events[s],
                                   .overlaps = &out->overlaps[s]};
  }
  for (int32_t c = nClasses; c-- > 0;) { // the first is on top
    pushFrame(engine, &engine->runs[c], program->stages[engineClass(engine, c)->stage].body, 1,
              NULL);
    engine->ready[engine->nReady++] = c;
  }
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

/// A class that sleeps when all the others are done or sleep too.
static bool checkAwake(const Engine *engine) {
  int32_t asleep = -1;
  bool waits = false;
  for (int32_t c = 0; c < engine->classes->nClasses; ++c) {
    const SimStep *step = engine->runs[c].asleepAt;
    if (!step)
      continue;
    // Who waits for a message is why others wait for him.
    bool receives = step->kind == SIM_RECEIVE || (step->kind == SIM_WAIT && step->receives);
    if (asleep < 0 || (receives && !waits)) {
      asleep = c;
      waits = receives;
    }
  }
  if (asleep < 0)
    return true;
  const SimStep *step = engine->runs[asleep].asleepAt;
  int32_t stage = engineClass(engine, asleep)->stage;
  if (step->kind == SIM_COLLECTIVE || (step->kind == SIM_WAIT && !waits && !step->anyKind))
    shardEmitError(step->op, "stage %d waits here for ranks of its group that never come", stage);
  else
    shardEmitError(step->op, "stage %d waits for a message here that is never sent", stage);
  return false;
}

static bool runClasses(Engine *engine) {
  do {
    while (engine->nReady && mayGoOn(engine))
      runClass(engine, engine->ready[--engine->nReady]);
  } while (mayGoOn(engine) && engineAdvance(engine));
  if (engine->failed)
    return false;
  if (mayGoOn(engine))
    return checkAwake(engine);
  shardEmitError(engine->program->module,
                 "a step is more than %" PRId64 " events: a loop that communicates is too long",
                 mostEvents(engine));
  return false;
}

/// The ranks that are done wait for the last one, and for what nobody waited for.
static bool endStep(Engine *engine, SimRun *out) {
  engineEndRequests(engine);
  out->stepPs = engine->nowPs;
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
  engine.clocks = out->clocks = SHARD_ARENA_ARRAY(program->arena, SimClock, classes->nClasses);
  engineCreateExchanges(&engine);
  createRuns(&engine, out);
  bool ok = runClasses(&engine) && endStep(&engine, out);
  shardArenaDestroy(engine.arena);
  return ok;
}
