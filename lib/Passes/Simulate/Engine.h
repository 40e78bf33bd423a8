//===- Engine.h - What the parts of a running step share ----------*- C -*-===//
#ifndef SHARD_SIMULATE_ENGINE_H
#define SHARD_SIMULATE_ENGINE_H

#include "Simulate.h"

typedef struct Exchange Exchange;

/// A collective of a set of classes, or a message of one class to another.
struct Exchange {
  const SimStep *step; // of the class that came first
  int32_t nMembers, nArrived, nReaders;
  int64_t sequence;       // of the set's collectives
  int64_t latestPs;       // that a member began it, all streams apart
  int64_t *latestOfStage; // [nStages] where its groups span stages; else null
  int64_t beginsPs, endsPs;
  bool ended;
  int32_t fromStage; // of a message
  double share;      // of its ranks that are of one stage; stages have equally many
  const SimCost *cost;
  SimFlow flow;
  bool onLinks;
  uint32_t generation; // of its event in the heap
  int32_t asleep;      // first of the classes that wait for its end; -1
  Exchange *next;      // behind it: in the set's list, in its stream, or free
  struct Stream *stream;
};

/// Exchanges that run one after the other.
typedef struct Stream {
  Exchange *last; // null: it has ended
  int64_t freePs;
} Stream;

/// What a class began, until it has waited for it.
typedef struct Request {
  uint64_t serial; // another one afterwards
  int32_t class;
  const SimStep *step; // null: it is free
  Exchange *exchange;  // null: a message to be received, or nothing
  struct Queue *queue; // null: nothing to receive
  int64_t position;
  struct Request *nextFree, *nextOfAll;
} Request;

/// Where a token is kept.
typedef struct Slot {
  Request *request;
  uint64_t serial;
} Slot;

/// A body that is being run.
typedef struct Frame {
  const SimBody *body;
  size_t next;
  int64_t trips;       // still to come, this one included
  const SimStep *call; // null: the stage itself
  size_t firstSlot;
} Frame;

/// Messages of one class to another on one channel, first in first out.
typedef struct Queue {
  int64_t dropped; // messages before the list
  size_t nMessages, capacity;
  Exchange **messages; // null: received
  int64_t nReceives;   // begun
  int32_t asleep;      // the receiver; -1
  Stream stream;
} Queue;

/// Where the collectives of some groups are.
typedef struct Domain {
  int64_t *started; // [classes of the groups]
  Exchange **first; // [sets] to which not all have come, in order
  Exchange **last;  // [sets]
  Stream *streams;  // [sets]
} Domain;

typedef struct ClassRun {
  size_t nFrames, capacity;
  Frame *frames;
  size_t nSlots, slotCapacity;
  Slot *slots;
  Slot blocking;           // of the step that is start and wait in one
  bool began;              // that step
  const SimStep *asleepAt; // null: it runs, or is done
  int32_t nextAsleep;
} ClassRun;

typedef struct StageRun {
  const SimPlaces *places;
  SimCalls *calls;    // [nNumbered]
  int64_t *startedPs; // [steps of the stage's body]
  SimEvents *events, *overlaps;
} StageRun;

/// The end of an exchange, or that it comes to the links.
typedef struct HeapEntry {
  int64_t ps;
  Exchange *exchange;
  uint32_t generation;
} HeapEntry;

typedef struct Engine {
  const SimProgram *program;
  const SimClasses *classes;
  SimClock *clocks;
  StageRun *stages;
  Domain *domains;        // [groups]
  ClassRun *runs;         // [nClasses]
  int32_t *ready, nReady; // [nClasses] a stack of classes that can go on
  ShardArena *arena;
  ShardPointerMap *queueOf; // hash of channel, round and classes -> queue
  SimShare *share;
  size_t nHeap, heapCapacity;
  HeapEntry *heap;
  int64_t nowPs;
  Slot *moving; // tokens between two bodies
  size_t movingCapacity;
  Exchange *freeExchanges;
  Request *freeRequests, *requests; // requests: all, by nextOfAll
  int64_t nSteps;                   // of all classes
  bool failed;                      // after one error
} Engine;

static inline const SimClass *engineClass(const Engine *engine, int32_t class) {
  return &engine->classes->classes[class];
}
static inline StageRun *engineStage(const Engine *engine, int32_t class) {
  return &engine->stages[engineClass(engine, class)->stage];
}
static inline bool engineIsFirst(const Engine *engine, int32_t class) {
  return engineStage(engine, class)->places->firstClass == class;
}

/// Begins a collective or message; the slot is what to wait for. An error sets `failed`.
void engineStart(Engine *engine, int32_t class, const SimStep *step, Slot *out);
/// Waits for it, `at` the step. False: the class sleeps, or there was an error. `*outBegan` is the
/// step that began it.
bool engineWait(Engine *engine, int32_t class, const SimStep *at, const Slot *slot,
                const SimStep **outBegan);
/// Goes on to the next time at which an exchange comes to the links or ends. False: there is none.
bool engineAdvance(Engine *engine);
/// Keeps of a stage what was begun and has ended without a wait; to be called last.
void engineEndRequests(Engine *engine);
void engineCreateExchanges(Engine *engine);

/// Adds to what is kept of a stage; more than 65536 are counted only.
void simEventsAdd(SimEvents *events, ShardArena *arena, SimEvent event);

/// What a step costs groups or messages of all profiles; made once.
SimCost *const *engineCosts(Engine *engine, StageRun *stage, const SimStep *step);

#endif // SHARD_SIMULATE_ENGINE_H
