//===- Raise.c - Whole values sink, gathers rise ------------------*- C -*-===//
// See Solver.h.
//===----------------------------------------------------------------------===//

#include "Solver.h"

static bool isUsedOnlyBy(const ShardFrame *frame, int32_t v, int32_t op) {
  const ShardFunctionTable *t = frame->table;
  for (int32_t u = t->useStart[v]; u < t->useStart[v + 1]; ++u)
    if (t->uses[u].op != op)
      return false;
  return true;
}

static bool sinkOp(const ShardSolver *s, ShardFrame *frame, int32_t op) {
  const ShardOpRule *rule = &frame->info->ops[op];
  int32_t first = frame->table->first;
  ShardInstance *instance = frame->instance;
  ShardState factor = SHARD_CHOICE_NONE;
  for (int32_t r = 0; r < rule->nResults; ++r) {
    int32_t v = rule->results[r].value - first;
    if (instance->states[v] != SHARD_STATE_WHOLE)
      return false;
    ShardState demand = shardCommonDemand(s, frame, v);
    if (demand < 0)
      return false;
    ShardState f = shardChoiceOfState(s->rules, rule, &rule->results[r], demand);
    if (f < 0 || (factor >= 0 && f != factor))
      return false;
    factor = f;
  }
  if (factor < 0 || shardChoiceFactor(rule, factor)->kind != SHARD_FACTOR_PARALLEL ||
      !shardCanSplit(s, frame->function, op, factor))
    return false;
  // Whole operands are cut for nothing, and a sum that nobody else wants is scattered rather than
  // reduced; a split one must not start to move.
  for (int32_t p = 0; p < rule->nOperands; ++p) {
    int32_t v = rule->operands[p].value - first;
    ShardState state = instance->states[v];
    ShardState target = shardStateOfChoice(s->rules, &rule->operands[p], factor);
    bool scatters = state == SHARD_STATE_PARTIAL && target >= 0 && isUsedOnlyBy(frame, v, op);
    if (state != SHARD_STATE_WHOLE && state != target && !scatters)
      return false;
  }
  instance->choices[op] = factor;
  for (int32_t r = 0; r < rule->nResults; ++r)
    instance->states[rule->results[r].value - first] =
        shardStateOfChoice(s->rules, &rule->results[r], factor);
  return true;
}

/// A split value that every use wants whole, or split otherwise, is computed so, when moving the
/// operands costs less than moving the result (as much, for ops that only move data).
static bool raiseOp(const ShardSolver *s, ShardFrame *frame, int32_t op) {
  const ShardOpRule *rule = &frame->info->ops[op];
  int32_t first = frame->table->first;
  ShardInstance *instance = frame->instance;
  ShardState choice = instance->choices[op];
  if (rule->nResults != 1 || rule->contraction || choice < 0 ||
      shardChoiceFactor(rule, choice)->kind != SHARD_FACTOR_PARALLEL)
    return false;
  int32_t value = rule->results[0].value;
  ShardState state = instance->states[value - first],
             target = shardCommonDemand(s, frame, value - first);
  if (state < 0 || target == FREE || target == state || target == SHARD_STATE_PARTIAL)
    return false;
  ShardState next = target == SHARD_STATE_WHOLE
                        ? SHARD_CHOICE_NONE
                        : shardChoiceOfState(s->rules, rule, &rule->results[0], target);
  if (target >= 0 && (next < 0 || shardChoiceFactor(rule, next)->kind != SHARD_FACTOR_PARALLEL ||
                      !shardCanSplit(s, frame->function, op, next)))
    return false;
  ShardCost before = {0}, after = {0};
  shardAddEdgeCost(s, value, state, target, shardMayGather(s, rule, choice), &before);
  for (int32_t p = 0; p < rule->nOperands; ++p) {
    int32_t v = rule->operands[p].value;
    ShardState from = instance->states[v - first];
    if (from == SHARD_STATE_PARTIAL)
      return false;
    bool seen = false;
    for (int32_t q = 0; q < p; ++q)
      seen |= rule->operands[q].value == v;
    if (!seen)
      shardAddEdgeCost(s, v, from,
                       shardDemandUnder(s->rules, first, instance->states, rule, next, p),
                       shardMayGather(s, rule, next), &after);
  }
  int order = shardCostCompare(&after, &before);
  if (order > 0 || (order == 0 && !rule->movement))
    return false;
  instance->choices[op] = next;
  instance->states[value - first] = target;
  return true;
}

//===----------------------------------------------------------------------===//
// Cones
//===----------------------------------------------------------------------===//

enum { MAX_CONE = 48, MAX_TOUCHED = 256 };

/// Ops, root first, that are split otherwise than before, each so that its result is as those below
/// it want it, and the values whose cost that changes.
typedef struct Cone {
  int32_t nOps, nValues;
  int32_t ops[MAX_CONE];
  ShardState choices[MAX_CONE], states[MAX_CONE]; // as they were
  int32_t values[MAX_TOUCHED];
  ShardCost before; // of the values
} Cone;

/// What moves of a value.
static ShardCost movedCost(const ShardSolver *s, const ShardFrame *frame, int32_t v) {
  ShardCost cost = shardValueCost(s, frame, v);
  cost.memory = 0;
  return cost;
}

static void touch(const ShardSolver *s, const ShardFrame *frame, Cone *cone, int32_t v) {
  for (int32_t k = 0; k < cone->nValues; ++k)
    if (cone->values[k] == v)
      return;
  ShardCost cost = movedCost(s, frame, v);
  shardCostAdd(&cone->before, &cost, 1);
  cone->values[cone->nValues++] = v;
}

/// Splits an op so that its one result is in state `target`, at no cost but its own work, and adds
/// it to the cone. False if it cannot be.
static bool addToCone(const ShardSolver *s, ShardFrame *frame, Cone *cone, int32_t op,
                      ShardState target) {
  const ShardOpRule *rule = &frame->info->ops[op];
  ShardInstance *instance = frame->instance;
  ShardState choice = instance->choices[op];
  if (rule->nResults != 1 || rule->contraction || choice < 0 ||
      shardChoiceFactor(rule, choice)->kind != SHARD_FACTOR_PARALLEL ||
      shardPinnedState(s, frame->function, rule) != FREE || cone->nOps == MAX_CONE ||
      cone->nValues + rule->nOperands >= MAX_TOUCHED)
    return false;
  int32_t result = rule->results[0].value - frame->table->first;
  ShardState next = target == SHARD_STATE_WHOLE
                        ? SHARD_CHOICE_NONE
                        : shardChoiceOfState(s->rules, rule, &rule->results[0], target);
  if (instance->states[result] < 0 ||
      (target >= 0 && (next < 0 || shardChoiceFactor(rule, next)->kind != SHARD_FACTOR_PARALLEL ||
                       !shardCanSplit(s, frame->function, op, next))))
    return false;
  touch(s, frame, cone, result);
  for (int32_t p = 0; p < rule->nOperands; ++p)
    touch(s, frame, cone, rule->operands[p].value - frame->table->first);
  cone->ops[cone->nOps] = op, cone->choices[cone->nOps] = choice;
  cone->states[cone->nOps++] = instance->states[result];
  instance->choices[op] = next, instance->states[result] = target;
  return true;
}

/// Leaves the first `n` ops of the cone in it; the others are as they were.
static void cutCone(ShardFrame *frame, Cone *cone, int32_t n) {
  while (cone->nOps > n) {
    int32_t op = cone->ops[--cone->nOps];
    frame->instance->choices[op] = cone->choices[cone->nOps];
    frame->instance->states[frame->info->ops[op].results[0].value - frame->table->first] =
        cone->states[cone->nOps];
  }
}

/// The last op in front of op `before` that makes a value which all uses in the cone want in one
/// other state, `*outTarget`; -1 if there is none.
static int32_t nextOfCone(const ShardSolver *s, const ShardFrame *frame, const Cone *cone,
                          int32_t before, ShardState *outTarget) {
  int32_t next = -1;
  bool agree = true;
  for (int32_t c = 0; c < cone->nOps; ++c)
    for (int32_t p = 0; p < frame->info->ops[cone->ops[c]].nOperands; ++p) {
      int32_t v = frame->info->ops[cone->ops[c]].operands[p].value;
      int32_t definition = s->rules->values[v].definition;
      ShardState state = frame->instance->states[v - frame->table->first];
      ShardState demand = shardSolverDemand(s, frame->instance, cone->ops[c], p);
      if (definition >= before || definition < next || state < 0 || state == demand)
        continue;
      agree = definition > next || (agree && demand == *outTarget);
      next = definition;
      *outTarget = demand;
    }
  return next < 0 || agree ? next : nextOfCone(s, frame, cone, next, outTarget);
}

/// A value that every use wants whole, or split otherwise, may be cheaper to move several ops up,
/// where a cone of ops comes from smaller values (rotary embedding spread over the heads of a
/// group, masks of experts' places made from routing numbers). Grows the cone upwards along ops
/// that are no contractions, and takes the cut that moves least.
static bool raiseCone(const ShardSolver *s, ShardFrame *frame, int32_t op) {
  const ShardOpRule *rule = &frame->info->ops[op];
  if (rule->nResults != 1)
    return false;
  int32_t value = rule->results[0].value - frame->table->first;
  ShardState target = shardCommonDemand(s, frame, value);
  if (target < SHARD_STATE_WHOLE || target == frame->instance->states[value])
    return false;
  Cone cone = {0};
  int32_t nBest = 0;
  ShardCost best = {0};
  for (int32_t next = op; next >= 0; next = nextOfCone(s, frame, &cone, next, &target)) {
    if (!addToCone(s, frame, &cone, next, target)) {
      if (next == op)
        return false;
      continue;
    }
    ShardCost saved = {0};
    for (int32_t k = 0; k < cone.nValues; ++k) {
      ShardCost cost = movedCost(s, frame, cone.values[k]);
      shardCostAdd(&saved, &cost, 1);
    }
    shardCostAdd(&saved, &cone.before, -1);
    if (shardCostCompare(&saved, &best) < 0)
      best = saved, nBest = cone.nOps;
  }
  cutCone(frame, &cone, nBest);
  return nBest > 0;
}

/// From the last op to the first; returns whether a gather rose.
static bool sweep(const ShardSolver *s, ShardFrame *frame) {
  const ShardFunctionInfo *info = frame->info;
  bool raised = false;
  for (int32_t o = info->nOps - 1; o >= 0; --o) {
    const ShardOpRule *rule = &info->ops[o];
    if (rule->form == SHARD_OP_CALL || rule->form == SHARD_OP_LOOP ||
        rule->form == SHARD_OP_RETURN || rule->form == SHARD_OP_WHOLE)
      continue;
    if ((frame->forced && frame->forced[o] != FREE) ||
        shardPinnedState(s, frame->function, rule) != FREE)
      continue;
    if (!sinkOp(s, frame, o))
      raised |= raiseOp(s, frame, o) || raiseCone(s, frame, o);
  }
  return raised;
}

void shardSinkAndRaise(const ShardSolver *s, ShardFrame *frame) {
  // What two ops want of a value agrees only when both have risen.
  enum { MAX_SWEEPS = 3 };
  for (int32_t i = 0; i < MAX_SWEEPS && sweep(s, frame); ++i)
    ;
}
