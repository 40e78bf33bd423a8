//===- Simulate.h - What the parts of the simulator share ---------*- C -*-===//
#ifndef SHARD_SIMULATE_SIMULATE_H
#define SHARD_SIMULATE_SIMULATE_H

#include "shard/Cost.h"
#include "shard/Simulate.h"

#include "../Analysis/Liveness.h"
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
  SIM_RECEIVE,
  SIM_WAIT // for what a start began
} SimStepKind;

/// Where a token is while a body runs: two places of its frame, since a shift is two messages.
typedef struct SimPlace {
  const SimBody *body; // the one it belongs to, maybe further out; null: nowhere
  int32_t slot;
} SimPlace;

typedef struct SimMove {
  SimPlace from, to;
} SimMove;

/// What a rank does next. A collective or message of L3 is start and wait in one.
typedef struct SimStep {
  SimStepKind kind;
  MlirOperation op;
  const int64_t *ps;   // COMPUTE: [nKinds] by device kind
  const SimBody *body; // CALL
  int64_t trips;
  int32_t nMoves[3]; // CALL: tokens that go in, on to the next turn, and out
  const SimMove *moves[3];
  ShardCollectiveKind collective;
  uint32_t axes;          // COLLECTIVE: of the mesh
  int64_t bytes;          // of the message
  int32_t number;         // COLLECTIVE, SEND, RECEIVE: in the order read
  int64_t channel, round; // SEND, RECEIVE
  bool starts;            // COLLECTIVE, SEND, RECEIVE: the wait is another step
  SimPlace token;         // of such a start, and of a WAIT
  bool anyKind;           // WAIT: for whatever began
  bool receives;          // WAIT: for the receiving half of a message
  bool secondHalf;        // WAIT: for a shift's receive, or nothing
  int64_t memoryBytes;    // of the workspace while it runs
  const int64_t
      *memoryByClass; // [SHARD_N_MEMORY_CLASSES] with arguments and results; null: no plan
} SimStep;

/// What the time of ops is made of: their launches, and of the rest of each what takes longer.
typedef struct SimBound {
  int64_t arithmeticPs, memoryPs, launchPs;
} SimBound;

/// A block of ops: of a function or of control flow. Read once, run as often as it is called.
struct SimBody {
  MlirBlock block;
  size_t nSteps, capacity;
  SimStep *steps; // of a stage's function one for each op; else neighbours that compute are one
  bool communicates;
  int32_t nSlots; // places of tokens
  int64_t *ps;    // [nKinds] when it does not communicate
  double flops, vectorFlops, memoryBytes;
  int64_t *reorderPs;   // [nKinds] of ops that only order elements anew
  SimBound *bounds;     // [nKinds] of all ops; adds up to what they take
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
  int64_t stagingBytes;         // 0 without a plan
  const ShardMemoryStage *plan; // null: the program has none
} SimStage;

typedef struct SimProgram {
  MlirOperation module;
  ShardArena *arena;
  const ShardCluster *cluster;
  const int64_t *placement; // null: rank r is on device r
  const char *mcpu;         // of the memory plan; null: this machine
  int64_t mostEvents;       // of the engine; 0: its own bound
  ShardMesh mesh;
  int32_t ppAxis; // -1: one stage
  int32_t nStages;
  SimStage *stages;
  ShardMemoryPlan *plan;        // null: an op has no lowering
  const char *estimatedBecause; // the lowering's error and where, if there is no plan
  int64_t nRanks;
  const int64_t *ranks; // [nRanks] each its own number
  bool *usesKind;       // [cluster->nDeviceKinds]
  int64_t nBusy;        // ranks that work at the same time in one node
  int32_t nLoopsOnce;   // loops in what was read whose turns are not known: they count once
  int32_t nNumbered;    // collectives, sends and receives
  size_t numberedCapacity;
  SimStep *numbered; // [nNumbered] copies
} SimProgram;

static inline int64_t simDeviceOf(const SimProgram *program, int64_t rank) {
  return program->placement ? program->placement[rank] : rank;
}

/// Whether groups of these axes have ranks of several stages.
static inline bool simSpansStages(const SimProgram *program, uint32_t axes) {
  return program->ppAxis >= 0 && program->nStages > 1 && axes >> program->ppAxis & 1;
}

/// Reads the stages of a module and all that they call. False after one error.
bool simProgramRead(SimProgram *program);

/// Puts the stages' memory plan, where the program has one, in the place of estimates.
void simUsePlan(SimProgram *program);

//===----------------------------------------------------------------------===//
// Peers, groups, classes
//===----------------------------------------------------------------------===//

/// The peer of each rank of a stage in a send or receive, itself where there is none, in `peers`
/// [nRanks of the stage]. False after one error: the peer depends on data.
bool simPeersEvaluate(const SimProgram *program, const SimStage *stage, const SimStep *step,
                      int64_t *peers);

/// What one user of links does on one direction of an uplink. The first half of the numbers of
/// directions is up, the second down.
typedef struct SimUse {
  int32_t direction;
  int32_t sort; // of SimUses.sorts
} SimUse;

/// What uses have in common: the link, how many rails of a vertex share the work, and their rate.
typedef struct SimUseSort {
  int32_t link, rails;
  double bytesPerSecond;
} SimUseSort;

/// The same for equal users on equal links: on each link of a class `count` users of the set.
typedef struct SimEntry {
  int32_t linkClass, sort;
  int64_t count;
} SimEntry;

/// The links of groups or messages that run at the same time.
typedef struct SimUses {
  int64_t nUsers;
  const int64_t *first; // [nUsers + 1] of uses
  const SimUse *uses;
  int32_t nSorts;
  SimUseSort *sorts;
  const int64_t *firstEntry; // [sets + 1] of entries
  const SimEntry *entries;
} SimUses;

/// Ranks in the groups of a collective: those of a stage, or all where the groups span stages.
typedef struct SimGroups {
  uint32_t axes;
  int32_t id; // among all of the program
  bool spansStages;
  int64_t nRanks;
  const int64_t *ranks; // [nRanks]
  int32_t firstClass, nClasses;
  ShardGroups *groups;
  int64_t nGroups, groupSize;
  const int32_t *groupOf;  // [nRanks]
  const int64_t *members;  // [nGroups * groupSize] numbers in `ranks`
  int32_t nSets;           // groups of equal members
  const int32_t *setOf;    // [nClasses]
  const int32_t *profiles; // [nSets]
  const int32_t *setSizes; // [nSets] classes
  int32_t *const *sets;    // [nSets][setSizes] classes
  SimUses uses;            // of groups
} SimGroups;

/// Sends or receives of a stage's ranks.
typedef struct SimPattern {
  const int64_t *peers;    // [nRanks of the stage] ranks
  ShardTraffic *messages;  // of a send
  const int32_t *profiles; // [nClasses of the stage] of a send; -1: nothing is sent
  const int32_t *peerOf;   // [nClasses of the stage] class of the peer, -1: itself
  SimUses uses;            // of the messages of a send
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
  int32_t nGroups;      // of all ids
  SimGroups **spanning; // [nSpanning] those over stages
  int32_t nSpanning;
  int32_t nLinkClasses; // directions of links that are used alike
  SimPlaces *places;    // [nStages]
  int32_t nClasses;
  SimClass *classes;
} SimClasses;

/// Lists the groups and peers that each stage needs. False after one error.
bool simPlacesCreate(SimProgram *program, SimClasses *out);
/// Finds groups and peers, and parts the ranks into classes. False after one error. Release frees
/// what is not in the arena, after a failure too.
bool simClassesCreate(SimProgram *program, SimClasses *out);
void simClassesRelease(const SimProgram *program, SimClasses *classes);

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// Clocks of a class.
typedef struct SimClock {
  int64_t ps;
  int64_t busyPs, communicationPs, waitPs, bubblePs;
} SimClock;

/// What a collective or message costs groups or messages of one profile, nothing else on the links.
typedef struct SimCost {
  int64_t latencyPs, ps; // before it is on the links; all of it
  const int64_t *demand; // [sorts] of each link, in SIM_WHOLE; null: it uses none
} SimCost;

/// What became of a numbered step in a stage.
typedef struct SimCalls {
  int64_t count;
  SimCost **costs;   // [profiles] null: not asked for yet
  int64_t slowestPs; // of one call
  double standingPs; // stood still, summed over ranks
  double exposedPs;  // the same, by the part of the ranks of a call that are of one stage
  double sharedPs;   // that others on the links added, summed over ranks
  ShardAlgorithm algorithm;
} SimCalls;

/// Parts of a link, and of the speed that a communication has when it is alone.
#define SIM_WHOLE (INT64_C(1) << 36)

/// What a rank did for a while.
typedef struct SimEvent {
  const SimStep *step, *began; // another where a wait is for a start
  MlirOperation call;          // of the stage, that it is part of; null: none
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
  SimEvents *overlaps; // [nStages] what its first class started apart, from begin to end
} SimRun;

/// One step. False after one error: a message that never comes.
bool simRun(const SimProgram *program, const SimClasses *classes, SimRun *out);

/// Which links groups and messages use; after the classes of ranks, what each set of them does to
/// each class of links. `link` of a direction: simDirectionOf.
int64_t simDirectionCount(const ShardCluster *cluster);
void simUsesOfGroups(const SimProgram *program, SimGroups *groups);
void simUsesOfMessages(const SimProgram *program, const SimStage *stage, SimPattern *pattern);

/// Bytes out of a vertex with `inside` of the group's ranks, by rings or directly: what counts when
/// the cluster file only has a time.
double simPlainBytes(const SimStep *step, double ranks, double inside);

/// Bytes on the links, into `out`.
void simLinks(const SimProgram *program, const SimClasses *classes, const SimRun *run,
              ShardArena *arena, ShardSimulation *out);

//===----------------------------------------------------------------------===//
// Sharing links
//===----------------------------------------------------------------------===//

/// A communication on the links.
typedef struct SimFlow {
  const SimCost *cost;
  int64_t nEntries;
  const SimEntry *entries;
  int64_t most;       // demand of the link that it uses most
  __int128 remaining; // picoseconds at full speed, in SIM_WHOLE
  int64_t speed;      // in SIM_WHOLE
  int64_t atPs;       // of `remaining`
  int32_t at;         // in SimShare.flows
  uint32_t round;     // of the share that it was last in
} SimFlow;

/// Who is on the links now.
typedef struct SimShare {
  ShardArena *arena;
  size_t nFlows, capacity;
  SimFlow **flows;
  int64_t *load;    // [link classes] at full speed
  int64_t *grown;   // scratch, [link classes]
  int64_t *settled; // the same
  uint32_t *stamp;  // the same
  int32_t *touched; // the same: classes in this round
  uint32_t round;
  int64_t nLooks; // at what a flow uses of a link
  bool crowded;   // a link that came or went has more than it carries
} SimShare;

SimShare *simShareCreate(int32_t nLinkClasses, ShardArena *arena);
void simShareEnter(SimShare *share, SimFlow *flow, int64_t nowPs);
void simShareLeave(SimShare *share, SimFlow *flow);
/// Gives each flow on a crowded link its speed from `nowPs` on; calls `changed` for those whose
/// speed is another.
void simShareSettle(SimShare *share, int64_t nowPs, void (*changed)(void *user, SimFlow *flow),
                    void *user);
/// When the flow ends if nothing changes.
int64_t simFlowEndPs(const SimFlow *flow);

#endif // SHARD_SIMULATE_SIMULATE_H
