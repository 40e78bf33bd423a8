//===- shard/Simulate.h - How long a step of a program takes ------*- C -*-===//
// Reads the emitted program (L3 or L4) and a cluster, and nothing else. Times are whole
// picoseconds, so that sums are exact and the same input gives the same bytes. How:
// python-free-docs/design/simulate.md.
//===----------------------------------------------------------------------===//
#ifndef SHARD_SIMULATE_H
#define SHARD_SIMULATE_H

#include "shard/Cluster.h"
#include "shard/MemoryPlan.h"
#include "shard/Support.h"

#include "mlir-c/IR.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Ranks that do the same at the same times. Their step is the sum of the four parts.
typedef struct ShardSimulatedClass {
  int32_t stage;
  int64_t firstRank, nRanks;
  const char *deviceKind;
  int64_t endPs;     // when the last op ends
  int64_t busyPs;    // ops on the device
  int64_t reorderPs; // of busyPs: ops that only put elements in another order (transposes)
  int64_t arithmeticPs, memoryPs, launchPs; // busyPs is their sum: the launches of ops, and the
                                            // rest of each op by what takes longer
  int64_t communicationPs;                  // collectives and messages that nothing hides
  int64_t waitPs;   // for the other ranks of a collective or exchange to arrive
  int64_t bubblePs; // for other stages, and from its end to the end of the step
} ShardSimulatedClass;

/// Device memory from `ps` on until the next point: arguments, results, staging and what lives in
/// the workspace.
typedef struct ShardSimulatedMemory {
  int64_t ps, bytes;
  int64_t byClass[SHARD_N_MEMORY_CLASSES]; // of live bytes; zeros if the stage is not planned
} ShardSimulatedMemory;

typedef enum ShardSimulatedKind {
  SHARD_SIMULATED_COMPUTE = 0,
  SHARD_SIMULATED_COLLECTIVE = 1,
  SHARD_SIMULATED_SEND = 2,
  SHARD_SIMULATED_RECEIVE = 3
} ShardSimulatedKind;

/// What a rank does from one time to another. Ops of a layer that compute one after the other are
/// one event, of the first of them; a layer or loop that does not communicate is one.
typedef struct ShardSimulatedEvent {
  ShardSimulatedKind kind;
  int64_t beginPs, endPs;
  int64_t waitPs;   // at its beginning, for other ranks to arrive or to send
  const char *name; // the op, "linalg.matmul at model.mlir:12:5"
  int64_t layer;    // that it is part of; -1: none
  int64_t site;     // `spmd.site`; -1: none
  int64_t bytes;    // of the message (shard/Cost.h); 0 of compute
  const char *axes; // of the mesh that it goes along, "tp" or "dp,tp"; "" of compute
  int32_t apart;    // 1: it waits for what was started before, or, of overlaps, is that
} ShardSimulatedEvent;

typedef struct ShardSimulatedStage {
  int32_t firstClass, nClasses; // of classes
  int64_t nRanks;
  double flops, vectorFlops, memoryBytes; // that one rank computes and moves
  int64_t nReorders;                  // ops that only put elements in another order, of one rank
  int64_t argumentBytes, resultBytes; // there for the whole step
  int64_t stagingBytes;               // too; the runtime's, for messages; 0 if not planned
  int64_t peakBytes, peakPs;          // arguments, results, staging and workspace; where most lives
  int32_t planned;                    // 1: by the program's memory plan (shard/MemoryPlan.h);
                                      // 0: an op has no lowering, and bytes are estimates
  const char *estimatedBecause;       // the lowering's error; "" if the stage is planned
  int64_t heldByClass[SHARD_N_MEMORY_CLASSES]; // arguments and results, there for the whole step
  int64_t peakByClass[SHARD_N_MEMORY_CLASSES]; // live then; zeros if the stage is not planned
  const char *peakOp;                          // "linalg.matmul at model.mlir:12:5", "" without any
  intptr_t nMemory;
  const ShardSimulatedMemory *memory; // [nMemory] of its first class, by time
  intptr_t nEvents, nEventsLeftOut;   // more than 65536 are left out
  const ShardSimulatedEvent *events;  // [nEvents] of its first class, one after the other
  // What it started apart, from its begin to its end, in the order of waits; then what nobody
  // waited for, by begin.
  intptr_t nOverlaps, nOverlapsLeftOut; // more than 65536 are left out
  const ShardSimulatedEvent *overlaps;
} ShardSimulatedStage;

/// A collective or message of the program.
typedef struct ShardSimulatedSite {
  int64_t site;          // `spmd.site`; -1: it has none
  const char *kind;      // as in reports
  int64_t count;         // calls of a step, over all stages
  int64_t bytes;         // of the message (shard/Cost.h), of the first call
  int64_t ps;            // all calls together, of the slowest group, nothing else on the links
  int64_t exposedPs;     // what ranks stood still for, each call mean over the ranks that take part
  int64_t standingPs;    // the same, mean over all ranks of the program
  int64_t sharedPs;      // what others on the same links added to `ps`, mean of each call
  const char *algorithm; // of the slowest group of the first call
} ShardSimulatedSite;

/// Links that carry equally much in a step. `bytes` leave the lower vertex, by all of its rails.
typedef struct ShardSimulatedLinks {
  int32_t link;        // of cluster->links
  const char *level;   // that it leaves: "device", "node"
  int64_t firstVertex; // of the level that the link leaves
  int64_t nLinks;
  int64_t bytes;
  double busy; // fraction of the step for which its rate would have to be used in full
} ShardSimulatedLinks;

/// Thread-safe to read; apart from any context and cluster once created.
typedef struct ShardSimulation {
  int64_t stepPs;
  int64_t nRanks;
  const int64_t *devices; // [nRanks] on which each rank is
  int32_t nStages;
  const ShardSimulatedStage *stages;
  int32_t nClasses;
  const ShardSimulatedClass *classes; // by stage, then first rank
  intptr_t nSites;
  const ShardSimulatedSite *sites; // by number; those without a call are left out
  intptr_t nLinks;
  const ShardSimulatedLinks *links; // by link, most bytes first; those that carry nothing apart
  double busy, communication, wait, bubble; // fractions of the step, mean over ranks
  int32_t nLoopsOnce; // loops of the program whose turns are not known, counted as one turn: where
                      // there are any, the step is that of one turn of each
  const char *clusterName;
  void *memory; // private
} ShardSimulation;

typedef struct ShardSimulateOptions {
  const int64_t *placement; // [product of the mesh] the device of each rank; null: rank r is on
                            // device r
  const char *mcpu;   // of the devices, as in shard/Emit.h: their memory plan depends on it; null:
                      // this machine
  int64_t mostEvents; // a step of more is an error: steps of ranks that differ, and what they do on
                      // links; 0: 1,000,000,000, about a minute
} ShardSimulateOptions;

/// One step of `module`, a program as the pass shard-spmdize leaves it, on `cluster`. The module is
/// not changed. A field of `options` that is 0 has its default.
/// Returns a simulation to be destroyed; null after one error diagnostic: no sharded program, fewer
/// devices than ranks, an op that no rate is known for, a message that never comes, a step of too
/// many events. Thread-compatible per context.
SHARD_EXPORTED ShardSimulation *
shardSimulationCreate(MlirOperation module, const ShardCluster *cluster, const int64_t *placement);
SHARD_EXPORTED ShardSimulation *shardSimulationCreateFor(MlirOperation module,
                                                         const ShardCluster *cluster,
                                                         const ShardSimulateOptions *options);
SHARD_EXPORTED void shardSimulationDestroy(ShardSimulation *simulation); // null is fine

/// As tables of text, and as JSON. To be freed with free(); null: out of memory. Thread-safe.
SHARD_EXPORTED char *shardSimulationFormatText(const ShardSimulation *simulation);
SHARD_EXPORTED char *shardSimulationFormatJson(const ShardSimulation *simulation);

#ifdef __cplusplus
}
#endif
#endif // SHARD_SIMULATE_H
