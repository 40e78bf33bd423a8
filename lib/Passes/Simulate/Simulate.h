//===- Simulate.h - What the parts of the simulator share ---------*- C -*-===//
#ifndef SHARD_SIMULATE_SIMULATE_H
#define SHARD_SIMULATE_SIMULATE_H

#include "shard/Cost.h"
#include "shard/Simulate.h"

#include "../Analysis/Mesh.h"
#include "../Analysis/Work.h"
#include "../Core/IR.h"

/// Times stay below: 13 days. What would be longer is an error in the end.
#define SIM_MAX_PS (INT64_C(1) << 60)

static inline int64_t simAdd(int64_t a, int64_t b) { // both in [0, SIM_MAX_PS]
  return a + b < SIM_MAX_PS ? a + b : SIM_MAX_PS;
}
static inline int64_t simTimes(int64_t ps, int64_t times) {
  int64_t product;
  return __builtin_mul_overflow(ps, times, &product) || product > SIM_MAX_PS ? SIM_MAX_PS : product;
}
int64_t simPicoseconds(double seconds); // to the nearest
/// An integer attribute; `other` when there is none of that name.
int64_t simIntegerOf(MlirOperation op, const char *name, int64_t other);

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

typedef struct SimBody SimBody;

typedef enum SimStepKind {
  SIM_COMPUTE,
  SIM_CALL, // of `body`, `trips` times in a row: calls, loops, branches
  SIM_COLLECTIVE,
  SIM_SEND,
  SIM_RECEIVE
} SimStepKind;

/// What a rank does next. Today every collective and message is start and wait in one.
typedef struct SimStep {
  SimStepKind kind;
  MlirOperation op;
  const int64_t *ps;   // COMPUTE: [nKinds] by device kind
  const SimBody *body; // CALL
  int64_t trips;
  ShardCollectiveKind collective;
  uint32_t axes;          // COLLECTIVE: of the mesh
  int64_t bytes;          // of the message
  int32_t number;         // COLLECTIVE, SEND, RECEIVE: in the order read
  int64_t channel, round; // SEND, RECEIVE
  int64_t memoryBytes;    // live while it runs, arguments and results of the function apart
} SimStep;

/// A block of ops: of a function or of control flow. Read once, run as often as it is called.
struct SimBody {
  MlirBlock block;
  size_t nSteps, capacity;
  SimStep *steps; // of a stage's function one for each op; else neighbours that compute are one
  bool communicates;
  int64_t *ps; // [nKinds] when it does not communicate
  double flops, vectorFlops, memoryBytes;
  int64_t *reorderPs;   // [nKinds] of ops that only order elements anew
  int64_t nReorders;    // how many of those run
  int64_t peakBytes;    // live values, arguments and results apart
  MlirOperation peakOp; // of this block
  MlirOperation deepOp; // of what it calls, where the peak is there
};

typedef struct SimStage {
  MlirOperation func;
  const SimBody *body;
  int64_t nRanks;
  const int64_t *ranks; // [nRanks] ascending
  int64_t argumentBytes, resultBytes;
} SimStage;

typedef struct SimProgram {
  MlirOperation module;
  ShardArena *arena;
  const ShardCluster *cluster;
  const int64_t *placement; // null: rank r is on device r
  ShardMesh mesh;
  int32_t ppAxis; // -1: one stage
  int32_t nStages;
  SimStage *stages;
  int64_t nRanks;
  bool *usesKind;    // [cluster->nDeviceKinds]
  int64_t nBusy;     // ranks that work at the same time in one node
  int32_t nNumbered; // collectives, sends and receives
  size_t numberedCapacity;
  SimStep *numbered; // [nNumbered] copies
} SimProgram;

static inline int64_t simDeviceOf(const SimProgram *program, int64_t rank) {
  return program->placement ? program->placement[rank] : rank;
}

/// Reads the stages of a module and all that they call. False after one error.
bool simProgramRead(SimProgram *program);

/// Live bytes of a block's ops in order, in `opBytes`, and their peak in `body`. `innerPeak` has
/// the peak of what an op calls or contains. The one place that a static memory plan will replace.
void simBodyMemory(SimBody *body, const ShardPointerMap *innerPeak, ShardArena *arena,
                   int64_t **opBytes);

//===----------------------------------------------------------------------===//
// Peers, groups, classes
//===----------------------------------------------------------------------===//

/// The peer of each rank of a stage in a send or receive, itself where there is none, in `peers`
/// [nRanks of the stage]. False after one error: the peer depends on data.
bool simPeersEvaluate(const SimProgram *program, const SimStage *stage, const SimStep *step,
                      int64_t *peers);

/// The ranks of a stage in the groups of a collective.
typedef struct SimGroups {
  uint32_t axes;
  ShardGroups *groups; // null: groups of one rank
  int64_t nGroups, groupSize;
  const int32_t *groupOf;  // [nRanks of the stage]
  const int64_t *members;  // [nGroups * groupSize] numbers in the stage
  int32_t nSets;           // groups of equal members
  const int32_t *setOf;    // [nClasses of the stage]
  const int32_t *profiles; // [nSets]
  const int32_t *setSizes; // [nSets] classes
  int32_t *const *sets;    // [nSets][setSizes] classes
} SimGroups;

/// Sends or receives of a stage's ranks.
typedef struct SimPattern {
  const int64_t *peers;    // [nRanks of the stage] ranks
  ShardTraffic *messages;  // of a send
  const int32_t *profiles; // [nClasses of the stage] of a send; -1: nothing is sent
  const int32_t *peerOf;   // [nClasses of the stage] class of the peer, -1: itself
} SimPattern;

/// What a stage needs of the steps that it reaches.
typedef struct SimPlaces {
  int32_t firstClass, nClasses;
  int32_t nDistinct;
  SimGroups **distinct;  // [nDistinct] of those below, each once
  SimGroups **groups;    // [nNumbered] null: not reached, or a message
  SimPattern **patterns; // [nNumbered] null: not reached, or a collective
} SimPlaces;

typedef struct SimClass {
  int32_t stage, kind; // device kind
  int64_t firstRank, nRanks;
} SimClass;

typedef struct SimClasses {
  SimPlaces *places; // [nStages]
  int32_t nClasses;
  SimClass *classes;
} SimClasses;

/// Finds groups and peers, and parts the ranks into classes. False after one error. Release frees
/// what is not in the arena, after a failure too.
bool simClassesCreate(SimProgram *program, SimClasses *out);
void simClassesRelease(const SimProgram *program, SimClasses *classes);

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// Clocks of a class. The communication stream of a rank runs beside its compute stream; today's
/// collectives keep both together.
typedef struct SimClock {
  int64_t ps, streamPs;
  int64_t busyPs, communicationPs, waitPs, bubblePs;
} SimClock;

/// What became of a numbered step in a stage.
typedef struct SimCalls {
  int64_t count;
  const int64_t *ps; // [profiles] of one call
  int64_t slowestPs; // of one call
  double exposedPs;  // stood still, summed over ranks
  ShardAlgorithm algorithm;
} SimCalls;

/// What a rank did for a while.
typedef struct SimEvent {
  const SimStep *step;
  MlirOperation call; // of the stage, that it is part of; null: none
  int64_t beginPs, endPs;
  int64_t waitPs; // at its beginning, for other ranks
} SimEvent;

typedef struct SimEvents {
  size_t nEvents, capacity, nLeftOut;
  SimEvent *events;
} SimEvents;

typedef struct SimRun {
  int64_t stepPs;
  SimClock *clocks;    // [nClasses]
  SimCalls **calls;    // [nStages][nNumbered]
  int64_t **startedPs; // [nStages][steps of the stage's body] of its first class
  SimEvents *events;   // [nStages] of its first class
} SimRun;

/// One step. False after one error: a message that never comes.
bool simRun(const SimProgram *program, const SimClasses *classes, SimRun *out);

/// Bytes on the links, into `out`.
void simLinks(const SimProgram *program, const SimClasses *classes, const SimRun *run,
              ShardArena *arena, ShardSimulation *out);

#endif // SHARD_SIMULATE_SIMULATE_H
