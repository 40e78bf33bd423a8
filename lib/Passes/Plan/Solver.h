//===- Solver.h - What the parts of the axis solver share ---------*- C -*-===//
// Private to Solve.c, Solver.c, Edges.c, Forward.c, ForwardLoop.c and Raise.c. An evaluation goes
// forward over the ops of a function (Forward.c), lets whole values sink and gathers rise (Raise.c)
// and adds up what moves (Edges.c); Solve.c searches over evaluations.
//===----------------------------------------------------------------------===//
#ifndef SHARD_PLAN_SOLVER_H
#define SHARD_PLAN_SOLVER_H

#include "Solve.h"

enum { FREE = SHARD_STATE_FREE, MAX_OPTIONS = 16 };

typedef struct ShardUse {
  int32_t op, operand;
} ShardUse;

/// What is fixed of a function while its choices are searched.
typedef struct ShardFunctionTable {
  int32_t first, nValues;
  int32_t *offsets;  // of factors
  int32_t *useStart; // [nValues + 1]
  ShardUse *uses;
  int32_t *handings; // [nValues] calls, on average, that hand the same value over; 1 elsewhere
} ShardFunctionTable;

typedef struct ShardSolver {
  const ShardAxisProblem *problem;
  const ShardRules *rules;
  ShardArena *arena;
  ShardFunctionTable *tables; // [nFunctions]
  bool *seeded; // [classes] on which an argument is split: what every contraction can share
  bool *uneven; // [classes] that may be split unevenly: seeded, or split by an annotation
  ShardInstance **instances;
  int32_t nInstances;
  size_t capacity;
  bool unsettled; // in some evaluation a folded call came out other than the one before it
} ShardSolver;

typedef struct ShardFrame {
  int32_t function;
  const ShardFunctionTable *table;
  const ShardFunctionInfo *info;
  ShardInstance *instance;
  ShardState *forced;                 // [nOps] a choice, or FREE
  uint8_t *nOptions;                  // [nOps] worth flipping
  ShardState (*options)[MAX_OPTIONS]; // [nOps]
  bool widened;                       // options that no operand suggests count too
  bool *offered;                      // [classes] along which any contraction may be split then
  int64_t work, limit;                // ops evaluated, and when a widened search ends
} ShardFrame;

//===----------------------------------------------------------------------===//
// Solver.c
//===----------------------------------------------------------------------===//

ShardSolver shardSolverMake(const ShardAxisProblem *problem, ShardArena *arena);
int32_t shardInstanceNumber(const ShardSolver *s, const ShardInstance *instance);
/// What the user wants an op's first result to be along this axis, or FREE.
ShardState shardPinnedState(const ShardSolver *s, int32_t function, const ShardOpRule *rule);
static inline const ShardFactor *shardChoiceFactor(const ShardOpRule *rule, ShardState choice) {
  return &rule->factors[shardStateHead(choice)];
}
/// Whether an op may be split so: by a factor, or a block of them.
bool shardCanSplit(const ShardSolver *s, int32_t function, int32_t op, ShardState choice);

//===----------------------------------------------------------------------===//
// Edges.c
//===----------------------------------------------------------------------===//

/// Bit p: operand p (of the first 32) is a partial value.
uint32_t shardPartialOperands(int32_t first, const ShardState *states, const ShardOpRule *rule);
/// The state that an op needs of an operand when it is split so; for what is no call, loop or
/// return.
ShardState shardDemandUnder(const ShardRules *rules, int32_t first, const ShardState *states,
                            const ShardOpRule *rule, ShardState choice, int32_t operand);
/// The state of a slot of a loop, from the instances of its bodies.
ShardState shardSlotState(const ShardSolver *s, const ShardInstance *instance, int32_t op,
                          int32_t slot);
/// The state that any op of an evaluated function needs of an operand.
ShardState shardSolverDemand(const ShardSolver *s, const ShardInstance *instance, int32_t op,
                             int32_t operand);
/// The state that every use of a value demands, or FREE when uses differ or there is none.
ShardState shardCommonDemand(const ShardSolver *s, const ShardFrame *frame, int32_t v);
/// A weight may be gathered (if at all) for an op whose other operands stay split: then it is the
/// smaller one that moves; and for one that has only weights (a cast), whose result would be
/// gathered else. For an op that every rank does in full it may not: that would take back what
/// splitting it saved.
bool shardMayGather(const ShardSolver *s, const ShardOpRule *rule, ShardState choice);
/// What it costs to bring a value from one state to another, added to `cost`.
void shardAddEdgeCost(const ShardSolver *s, int32_t value, ShardState from, ShardState to,
                      bool gathers, ShardCost *cost);
/// What ranks tell each other when an op is split along a dimension that it runs along in order, or
/// reads in turned order.
void shardAddExchangeCost(const ShardSolver *s, const ShardOpRule *rule, ShardState choice,
                          ShardCost *cost);
/// A contraction that every rank does in full (on whole operands, or on partial sums that it passes
/// on), though it runs along a class that is split.
bool shardRepeatsWork(const ShardSolver *s, int32_t function, int32_t op, ShardState choice);
/// Adds what `count` equal ones cost.
void shardCostAdd(ShardCost *sum, const ShardCost *one, int64_t count);
/// What a value costs: its memory, and once for each state that it is wanted in.
ShardCost shardValueCost(const ShardSolver *s, const ShardFrame *frame, int32_t v);
/// What an evaluated function costs, callees included.
ShardCost shardFrameCost(const ShardSolver *s, const ShardFrame *frame);

//===----------------------------------------------------------------------===//
// Forward.c, ForwardLoop.c, Raise.c, Solve.c
//===----------------------------------------------------------------------===//

/// Chooses how an op is split, from the states of its operands, and sets those of its results.
void shardForwardOp(ShardSolver *s, ShardFrame *frame, int32_t op);
void shardForwardLoop(ShardSolver *s, ShardFrame *frame, int32_t op);
/// From the last op to the first: whole values sink to what their users want, and gathers rise to
/// where they are smallest.
void shardSinkAndRaise(const ShardSolver *s, ShardFrame *frame);
/// The instance of a function for these states of its arguments; `handed` as in ShardInstance.
ShardInstance *shardSolveFunction(ShardSolver *s, int32_t function, const ShardState *arguments,
                                  const ShardState *handed);

#endif // SHARD_PLAN_SOLVER_H
