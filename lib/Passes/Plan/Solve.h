//===- Solve.h - Shardings of every value along one mesh axis -----*- C -*-===//
// The one interface behind which shardings are chosen. Along one axis a value is whole, split on
// one of its atoms, or partial. Arguments are given; every op picks the factor that it splits so
// that the bytes on the wire are least: forward from the arguments, then replicated values sink to
// what their users want and gathers rise to where they are smallest, then single choices are
// flipped as long as the cost falls. Axes are independent but for divisibility, so they are solved
// in turn.
//===----------------------------------------------------------------------===//
#ifndef SHARD_PLAN_SOLVE_H
#define SHARD_PLAN_SOLVE_H

#include "Fold.h"
#include "States.h"

/// What moves, in the order in which it counts.
typedef struct ShardCost {
  int64_t forbidden; // weights gathered
  int64_t repeated;  // contraction flops done by every rank though they could be split
  int64_t bytes;     // sent by one rank, ring counting
  int64_t count;     // collectives
  int64_t memory;    // bytes that one rank holds of all values
} ShardCost;
int shardCostCompare(const ShardCost *a, const ShardCost *b);

/// A function with the states of its arguments.
typedef struct ShardInstance {
  int32_t function;
  const ShardState *arguments; // [nArguments]
  const ShardState *handed;    // [nResults] states that a loop wants; null: as produced
  ShardState *states;          // [values of the function] state in which each is produced
  uint8_t *combiners;          // [values of the function] of a partial state
  ShardState *choices;         // [nOps]
  int32_t *callees;            // [nOps] instance of a call, else -1
  int32_t *others;             // [nOps] instance of a loop's second body, else -1
  ShardState *results;         // [nResults] states handed to the caller
  ShardState *wanted; // [nArguments] what all uses want of an argument that is something else, or
                      // FREE; null of an entry with folded calls
  ShardCost cost;     // of one call, callees included
} ShardInstance;

typedef struct ShardAxisProblem {
  const ShardRules *rules;
  const ShardFold *fold; // of the rules (Fold.h): looked at instead where that comes out the same;
                         // null: none
  int64_t size;          // ranks along the axis
  int64_t **used;        // [function][flat factor] product of earlier axes' sizes
  uint8_t **blocks;      // [function][flat factor] span in a block that earlier axes split, or null
  const ShardState *const
      *pinned;   // [function][its values] states that ops must produce (user), or FREE; null: none
  int32_t entry; // function
  const ShardState *entryArguments; // [nArguments] states
  const ShardState *entryResults; // [nResults] wanted states (AS_PRODUCED: partial resolved); null:
                                  // all as produced
  bool search;                    // flip choices to lower the cost, not only the first guess
  const uint8_t *weight;          // [values] derived from weights only: never gathered by a caller
  const bool *later;              // [classes] split along axes that are solved later; null: none
  bool gatherWeights;             // by an op whose other operands stay split they may be gathered
} ShardAxisProblem;

typedef struct ShardAxisSolution {
  int32_t nInstances;
  ShardInstance **instances; // the entry is the last
  ShardInstance *entry;
  bool settled; // in every evaluation calls that are folded came out equal (Fold.h)
} ShardAxisSolution;

ShardAxisSolution *shardAxisSolve(const ShardAxisProblem *problem, ShardArena *arena);

/// First value of a function, and number of its values (they are consecutive in ShardRules.values).
int32_t shardFunctionFirstValue(const ShardRules *rules, int32_t function);
int32_t shardFunctionValueCount(const ShardRules *rules, int32_t function);
/// Index of an op's first factor in ShardAxisProblem.used[function].
int32_t *shardFactorOffsets(const ShardRules *rules, int32_t function, ShardArena *arena,
                            int32_t *outTotal);

/// The state an op needs of an operand under a choice.
ShardState shardOperandDemand(const ShardRules *rules, const ShardInstance *instance,
                              const ShardAxisProblem *problem, const ShardOpRule *rule, int32_t op,
                              int32_t operand);

/// One collective that a solution causes.
typedef struct ShardEdge {
  const ShardInstance *instance;
  int32_t function, value;
  ShardState from, to;
  ShardCombiner combiner;
  int64_t bytes; // one call
} ShardEdge;
/// Calls `visit` for each distinct reshard that moves data, in each instance (once, not per call).
void shardAxisVisitEdges(const ShardAxisProblem *problem, const ShardAxisSolution *solution,
                         ShardArena *arena, void (*visit)(void *user, const ShardEdge *edge),
                         void *user);

#endif // SHARD_PLAN_SOLVE_H
