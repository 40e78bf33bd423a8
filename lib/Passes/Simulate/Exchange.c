//===- Exchange.c - Collectives and messages under way ------------*- C -*-===//
// A collective begins when its last member has come and the one before it in its groups has ended;
// a message when it is sent and the one before it on its channel has arrived. First it has its
// latency, then it is on the links, which it shares with what else is there (Share.c). Times only
// go on when all classes sleep or are done, so that nothing begins before the time that there is.
//===----------------------------------------------------------------------===//
#include "Engine.h"

#include "../Core/Diagnostics.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/// What a communication under way counts for in the bound on events, which so bounds memory too.
#define EVENTS_OF_MEMORY 64

//===----------------------------------------------------------------------===//
// Times to come
//===----------------------------------------------------------------------===//

static void pushTime(Engine *engine, int64_t ps, Exchange *exchange) {
  engine->heap = shardArenaGrow(engine->arena, engine->heap, engine->nHeap, &engine->heapCapacity,
                                engine->nHeap + 1, sizeof(HeapEntry));
  HeapEntry entry = {ps, exchange, ++exchange->generation};
  size_t at = engine->nHeap++;
  while (at && engine->heap[(at - 1) / 2].ps > ps) {
    engine->heap[at] = engine->heap[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  engine->heap[at] = entry;
}

static HeapEntry popTime(Engine *engine) {
  HeapEntry top = engine->heap[0], last = engine->heap[--engine->nHeap];
  size_t at = 0;
  for (;;) {
    size_t child = 2 * at + 1;
    if (child >= engine->nHeap)
      break;
    child += child + 1 < engine->nHeap && engine->heap[child + 1].ps < engine->heap[child].ps;
    if (engine->heap[child].ps >= last.ps)
      break;
    engine->heap[at] = engine->heap[child];
    at = child;
  }
  if (engine->nHeap)
    engine->heap[at] = last;
  return top;
}

//===----------------------------------------------------------------------===//
// Exchanges
//===----------------------------------------------------------------------===//

static Exchange *newExchange(Engine *engine, const SimStep *step, int32_t nMembers) {
  Exchange *exchange = engine->freeExchanges;
  uint32_t generation = 0;
  if (exchange) {
    engine->freeExchanges = exchange->next;
    generation = exchange->generation + 1; // what the heap still has of it is void
  } else {
    exchange = SHARD_ARENA_NEW(engine->arena, Exchange);
    engine->nSteps += EVENTS_OF_MEMORY;
  }
  *exchange = (Exchange){.step = step,
                         .nMembers = nMembers,
                         .nReaders = nMembers,
                         .generation = generation,
                         .share = 1,
                         .asleep = -1};
  return exchange;
}

static void readExchange(Engine *engine, Exchange *exchange) {
  if (--exchange->nReaders > 0)
    return;
  exchange->next = engine->freeExchanges;
  engine->freeExchanges = exchange;
}

static Slot newRequest(Engine *engine, int32_t class, const SimStep *step) {
  Request *request = engine->freeRequests;
  if (request) {
    engine->freeRequests = request->nextFree;
  } else {
    request = SHARD_ARENA_NEW(engine->arena, Request);
    request->nextOfAll = engine->requests;
    engine->requests = request;
  }
  *request = (Request){
      .serial = request->serial, .class = class, .step = step, .nextOfAll = request->nextOfAll};
  return (Slot){request, request->serial};
}

static void freeRequest(Engine *engine, Request *request) {
  ++request->serial;
  request->step = NULL;
  request->nextFree = engine->freeRequests;
  engine->freeRequests = request;
}

static void wakeClass(Engine *engine, int32_t class) {
  engine->runs[class].asleepAt = NULL;
  engine->ready[engine->nReady++] = class;
}

/// All have come, and the stream is free.
static void beginExchange(Engine *engine, Exchange *exchange) {
  const Stream *stream = exchange->stream;
  const SimCost *cost = exchange->cost;
  exchange->beginsPs = exchange->latestPs > stream->freePs ? exchange->latestPs : stream->freePs;
  bool uses = cost->latencyPs < cost->ps && exchange->flow.nEntries;
  pushTime(engine, simAdd(exchange->beginsPs, uses ? cost->latencyPs : cost->ps), exchange);
  exchange->onLinks = !uses; // then the next time is its end
}

static void queueExchange(Engine *engine, Exchange *exchange, Stream *stream) {
  exchange->stream = stream;
  exchange->next = NULL;
  if (stream->last)
    stream->last->next = exchange;
  else
    beginExchange(engine, exchange);
  stream->last = exchange;
}

static void setFlow(Exchange *exchange, const SimCost *cost, const SimUses *uses, int32_t set) {
  exchange->cost = cost;
  exchange->flow = (SimFlow){.cost = cost, .speed = SIM_WHOLE};
  if (!cost->demand)
    return;
  exchange->flow.entries = uses->entries + uses->firstEntry[set];
  exchange->flow.nEntries = uses->firstEntry[set + 1] - uses->firstEntry[set];
}

static void endExchange(Engine *engine, Exchange *exchange) {
  Stream *stream = exchange->stream;
  exchange->ended = true;
  exchange->endsPs = engine->nowPs;
  stream->freePs = engine->nowPs;
  if (stream->last == exchange)
    stream->last = NULL;
  else
    beginExchange(engine, exchange->next);
  while (exchange->asleep >= 0) {
    int32_t class = exchange->asleep;
    exchange->asleep = engine->runs[class].nextAsleep;
    wakeClass(engine, class);
  }
}

/// A flow goes on faster or slower than before.
static void pushEnd(void *user, SimFlow *flow) {
  Exchange *exchange = (Exchange *)((char *)flow - offsetof(Exchange, flow));
  pushTime(user, simFlowEndPs(flow), exchange);
}

bool engineAdvance(Engine *engine) {
  bool any = false;
  while (engine->nHeap && (!any || engine->heap[0].ps == engine->nowPs)) {
    HeapEntry entry = popTime(engine);
    Exchange *exchange = entry.exchange;
    if (entry.generation != exchange->generation)
      continue;
    any = true;
    engine->nowPs = entry.ps;
    bool uses = exchange->flow.nEntries && exchange->cost->latencyPs < exchange->cost->ps;
    if (uses && !exchange->onLinks) {
      exchange->onLinks = true;
      simShareEnter(engine->share, &exchange->flow, engine->nowPs);
      pushEnd(engine, &exchange->flow);
      continue;
    }
    if (uses)
      simShareLeave(engine->share, &exchange->flow);
    endExchange(engine, exchange);
  }
  simShareSettle(engine->share, engine->nowPs, pushEnd, engine);
  return any;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// Stages that come to different collectives at the same time.
static void checkSame(Engine *engine, int32_t class, const Exchange *exchange,
                      const SimStep *step) {
  if (exchange->step->collective == step->collective && exchange->step->bytes == step->bytes)
    return;
  engine->failed = true;
  shardEmitError(step->op,
                 "stage %d comes here to a collective of %" PRId64
                 " bytes (%s), others of its group to one of %" PRId64 " (%s)",
                 engineClass(engine, class)->stage, step->bytes,
                 shardClusterCollectiveName(step->collective), exchange->step->bytes,
                 shardClusterCollectiveName(exchange->step->collective));
}

static Exchange *joinCollective(Engine *engine, int32_t class, const SimStep *step) {
  StageRun *stage = engineStage(engine, class);
  const SimGroups *groups = stage->places->groups[step->number];
  Domain *domain = &engine->domains[groups->id];
  int32_t own = class - groups->firstClass, set = groups->setOf[own];
  int64_t sequence = domain->started[own]++, nowPs = engine->clocks[class].ps;
  const SimCost *cost = engineCosts(engine, stage, step)[groups->profiles[set]];
  stage->calls[step->number].count += engineIsFirst(engine, class);
  Exchange *exchange = domain->first[set];
  while (exchange && exchange->sequence != sequence)
    exchange = exchange->next;
  if (!exchange) {
    exchange = newExchange(engine, step, groups->setSizes[set]);
    exchange->sequence = sequence;
    setFlow(exchange, cost, &groups->uses, set);
    if (groups->spansStages) {
      exchange->latestOfStage = SHARD_ARENA_ARRAY(engine->arena, int64_t, engine->program->nStages);
      exchange->share = 1.0 / engine->program->nStages;
    }
    *(domain->first[set] ? &domain->last[set]->next : &domain->first[set]) = exchange;
    domain->last[set] = exchange;
  }
  checkSame(engine, class, exchange, step);
  exchange->latestPs = nowPs > exchange->latestPs ? nowPs : exchange->latestPs;
  if (exchange->latestOfStage) {
    int64_t *latest = &exchange->latestOfStage[engineClass(engine, class)->stage];
    *latest = nowPs > *latest ? nowPs : *latest;
  }
  if (++exchange->nArrived == exchange->nMembers) { // the first in the list: all come in order
    domain->first[set] = exchange->next;
    queueExchange(engine, exchange, &domain->streams[set]);
  }
  return exchange;
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
    return (Queue *)(intptr_t)index;
  Queue *queue = SHARD_ARENA_NEW(engine->arena, Queue);
  queue->asleep = -1;
  shardPointerMapSet(engine->queueOf, pointer, (int64_t)(intptr_t)queue);
  return queue;
}

static void sendMessage(Engine *engine, int32_t class, const SimStep *step, Request *request) {
  StageRun *stage = engineStage(engine, class);
  const SimPattern *pattern = stage->places->patterns[step->number];
  int32_t own = class - stage->places->firstClass, peer = pattern->peerOf[own];
  SimCost *const *costs = engineCosts(engine, stage, step);
  stage->calls[step->number].count += engineIsFirst(engine, class);
  if (peer < 0)
    return;
  Exchange *exchange = newExchange(engine, step, 2);
  exchange->latestPs = engine->clocks[class].ps;
  exchange->fromStage = engineClass(engine, class)->stage;
  if (engineClass(engine, peer)->stage != exchange->fromStage)
    exchange->share = 0.5;
  setFlow(exchange, costs[pattern->profiles[own]], &pattern->uses, own);
  Queue *queue = findQueue(engine, step, class, peer);
  queueExchange(engine, exchange, &queue->stream);
  queue->messages = shardArenaGrow(engine->arena, queue->messages, queue->nMessages,
                                   &queue->capacity, queue->nMessages + 1, sizeof(Exchange *));
  queue->messages[queue->nMessages++] = exchange;
  request->exchange = exchange;
  if (queue->asleep >= 0)
    wakeClass(engine, queue->asleep);
  queue->asleep = -1;
}

static void receiveMessage(Engine *engine, int32_t class, const SimStep *step, Request *request) {
  StageRun *stage = engineStage(engine, class);
  int32_t peer = stage->places->patterns[step->number]->peerOf[class - stage->places->firstClass];
  if (peer < 0)
    return;
  request->queue = findQueue(engine, step, peer, class);
  request->position = request->queue->nReceives++;
}

/// The message of a receive that began; null: it is not sent yet.
static Exchange *takeMessage(Queue *queue, int64_t position) {
  int64_t at = position - queue->dropped;
  if (at >= (int64_t)queue->nMessages)
    return NULL;
  Exchange *message = queue->messages[at];
  queue->messages[at] = NULL;
  size_t received = 0;
  while (received < queue->nMessages && !queue->messages[received])
    ++received;
  if (2 * received <= queue->nMessages)
    return message;
  queue->nMessages -= received;
  queue->dropped += (int64_t)received;
  memmove(queue->messages, queue->messages + received, queue->nMessages * sizeof(Exchange *));
  return message;
}

//===----------------------------------------------------------------------===//
// Start and wait
//===----------------------------------------------------------------------===//

void engineStart(Engine *engine, int32_t class, const SimStep *step, Slot *out) {
  *out = newRequest(engine, class, step);
  if (step->kind == SIM_COLLECTIVE)
    out->request->exchange = joinCollective(engine, class, step);
  else if (step->kind == SIM_SEND)
    sendMessage(engine, class, step, out->request);
  else
    receiveMessage(engine, class, step, out->request);
}

/// What a rank stands still before the last one comes or sends is a wait for its own stage or a
/// bubble; after that it is communication.
static void standStill(Engine *engine, int32_t class, const SimStep *step,
                       const Exchange *exchange) {
  const SimClass *of = engineClass(engine, class);
  SimClock *clock = &engine->clocks[class];
  SimCalls *calls = &engineStage(engine, class)->calls[step->number];
  if (exchange->latestPs > clock->ps) {
    int64_t stands = exchange->latestPs - clock->ps, own = stands;
    if (exchange->latestOfStage)
      own = exchange->latestOfStage[of->stage] - clock->ps;
    else if (step->kind == SIM_RECEIVE && exchange->fromStage != of->stage)
      own = 0;
    own = own > 0 ? own : 0;
    clock->waitPs += own;
    clock->bubblePs += stands - own;
    clock->ps = exchange->latestPs;
  }
  if (exchange->endsPs > clock->ps) {
    clock->communicationPs += exchange->endsPs - clock->ps;
    double stands = (double)(exchange->endsPs - clock->ps) * (double)of->nRanks;
    calls->standingPs += stands;
    calls->exposedPs += stands * exchange->share;
    clock->ps = exchange->endsPs;
  }
}

/// What others on the same links added to it, and from when to when it ran.
static void addEnded(Engine *engine, int32_t class, const SimStep *step, const Exchange *exchange) {
  StageRun *stage = engineStage(engine, class);
  if (step->kind != SIM_RECEIVE)
    stage->calls[step->number].sharedPs +=
        (double)(exchange->endsPs - exchange->beginsPs - exchange->cost->ps) *
        (double)engineClass(engine, class)->nRanks * (step->kind == SIM_SEND ? 1 : exchange->share);
  if (step->starts && engineIsFirst(engine, class))
    simEventsAdd(
        stage->overlaps, engine->program->arena,
        (SimEvent){
            .step = step, .began = step, .beginPs = exchange->beginsPs, .endPs = exchange->endsPs});
}

static bool failWait(Engine *engine, const SimStep *at, const char *why) {
  MlirStringRef name = shardOpGetName(at->op);
  engine->failed = true;
  shardEmitError(at->op, "'%.*s' waits for %s", (int)name.length, name.data, why);
  return false;
}

/// Whether a wait is for what began. False after one error.
static bool checkWait(Engine *engine, const SimStep *at, const Slot *slot) {
  if (at->kind != SIM_WAIT)
    return true;
  if (!slot || !slot->request)
    return failWait(engine, at, "a start that never was");
  if (slot->request->serial != slot->serial)
    return failWait(engine, at, "what has been waited for already");
  const SimStep *began = slot->request->step;
  bool receives = began->kind == SIM_RECEIVE && began->collective == SHARD_COLLECTIVE_SEND;
  if (at->anyKind || (began->collective == at->collective && receives == at->receives))
    return true;
  return failWait(engine, at, "a start of another kind");
}

bool engineWait(Engine *engine, int32_t class, const SimStep *at, const Slot *slot,
                const SimStep **outBegan) {
  if (at->anyKind && at->secondHalf && slot && !slot->request) { // only a shift has one
    *outBegan = at;
    return true;
  }
  if (!checkWait(engine, at, slot))
    return false;
  Request *request = slot->request;
  *outBegan = request->step;
  if (!request->exchange && request->queue) {
    request->exchange = takeMessage(request->queue, request->position);
    if (!request->exchange) {
      request->queue->asleep = class;
      return false;
    }
  }
  Exchange *exchange = request->exchange;
  if (exchange && !exchange->ended) {
    engine->runs[class].nextAsleep = exchange->asleep;
    exchange->asleep = class;
    return false;
  }
  if (exchange) {
    standStill(engine, class, request->step, exchange);
    addEnded(engine, class, request->step, exchange);
    readExchange(engine, exchange);
  }
  freeRequest(engine, request);
  return true;
}

/// By when they began. Classes that do the same began what they did at the same time.
static int compareRequests(const void *a, const void *b) {
  const Request *x = *(Request *const *)a, *y = *(Request *const *)b;
  if (x->exchange->beginsPs != y->exchange->beginsPs)
    return x->exchange->beginsPs < y->exchange->beginsPs ? -1 : 1;
  if (x->class != y->class)
    return x->class < y->class ? -1 : 1;
  return x->step->number - y->step->number;
}

void engineEndRequests(Engine *engine) {
  size_t n = 0, capacity = 0;
  Request **open = NULL;
  for (Request *request = engine->requests; request; request = request->nextOfAll) {
    if (request->step && !request->exchange && request->queue)
      request->exchange = takeMessage(request->queue, request->position);
    if (!request->step || !request->exchange || !request->exchange->ended)
      continue;
    open = shardArenaGrow(engine->arena, open, n, &capacity, n + 1, sizeof(Request *));
    open[n++] = request;
  }
  if (n)
    qsort(open, n, sizeof(Request *), compareRequests);
  for (size_t i = 0; i < n; ++i)
    addEnded(engine, open[i]->class, open[i]->step, open[i]->exchange);
}

void engineCreateExchanges(Engine *engine) {
  const SimClasses *classes = engine->classes;
  engine->queueOf = shardPointerMapCreate(engine->arena, 64);
  engine->share = simShareCreate(classes->nLinkClasses, engine->arena);
  engine->domains = SHARD_ARENA_ARRAY(engine->arena, Domain, classes->nGroups);
  for (int32_t s = -1; s < engine->program->nStages; ++s) {
    int32_t n = s < 0 ? classes->nSpanning : classes->places[s].nDistinct;
    for (int32_t i = 0; i < n; ++i) {
      const SimGroups *groups = s < 0 ? classes->spanning[i] : classes->places[s].distinct[i];
      Domain *domain = &engine->domains[groups->id];
      domain->started = SHARD_ARENA_ARRAY(engine->arena, int64_t, groups->nClasses);
      domain->first = SHARD_ARENA_ARRAY(engine->arena, Exchange *, groups->nSets);
      domain->last = SHARD_ARENA_ARRAY(engine->arena, Exchange *, groups->nSets);
      domain->streams = SHARD_ARENA_ARRAY(engine->arena, Stream, groups->nSets);
    }
  }
}
