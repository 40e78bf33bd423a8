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

/// Can the op be computed whole instead of split, at no cost but its own work?
static bool canRaise(const ShardSolver *s, const ShardFrame *frame, int32_t op) {
  const ShardOpRule *rule = &frame->info->ops[op];
  ShardState choice = frame->instance->choices[op];
  return rule->nResults == 1 && !rule->contraction && choice >= 0 &&
         shardChoiceFactor(rule, choice)->kind == SHARD_FACTOR_PARALLEL &&
         shardPinnedState(s, frame->function, rule) == FREE &&
         frame->instance->states[rule->results[0].value - frame->table->first] >= 0;
}

/// A value that every use wants whole may be cheaper to gather several ops up, where a cone of ops
/// comes from one smaller value (rotary embedding spread over the heads of a group). Grows the cone
/// upwards along ops that are no contractions, and takes the cut that moves least.
static bool raiseCone(const ShardSolver *s, ShardFrame *frame, int32_t op) {
  enum { MAX_CONE = 16, MAX_FRONTIER = 64 };
  const ShardFunctionInfo *info = frame->info;
  ShardInstance *instance = frame->instance;
  int32_t first = frame->table->first, cone[MAX_CONE], nCone = 1, nBest = 0;
  if (!canRaise(s, frame, op))
    return false;
  int32_t value = info->ops[op].results[0].value;
  if (shardCommonDemand(s, frame, value - first) != SHARD_STATE_WHOLE)
    return false;
  ShardCost best = {0};
  shardAddEdgeCost(s, value, instance->states[value - first], SHARD_STATE_WHOLE, false, &best);
  cone[0] = op;
  for (;;) {
    int32_t frontier[MAX_FRONTIER], nFrontier = 0, next = -1;
    ShardCost cost = {0};
    for (int32_t c = 0; c < nCone; ++c)
      for (int32_t p = 0; p < info->ops[cone[c]].nOperands; ++p) {
        int32_t v = info->ops[cone[c]].operands[p].value;
        int32_t definition = s->rules->values[v].definition;
        ShardState state = instance->states[v - first];
        bool known = state == SHARD_STATE_WHOLE;
        for (int32_t k = 0; k < nCone; ++k)
          known |= cone[k] == definition;
        for (int32_t k = 0; k < nFrontier; ++k)
          known |= frontier[k] == v;
        if (known)
          continue;
        if (state == SHARD_STATE_PARTIAL || nFrontier == MAX_FRONTIER)
          return false;
        frontier[nFrontier++] = v;
        shardAddEdgeCost(s, v, state, SHARD_STATE_WHOLE,
                         shardMayGather(s, &info->ops[cone[c]], SHARD_CHOICE_NONE), &cost);
        if (definition > next && canRaise(s, frame, definition))
          next = definition;
      }
    if (shardCostCompare(&cost, &best) < 0)
      best = cost, nBest = nCone;
    if (next < 0 || nCone == MAX_CONE)
      break;
    cone[nCone++] = next;
  }
  for (int32_t c = 0; c < nBest; ++c) {
    instance->choices[cone[c]] = SHARD_CHOICE_NONE;
    instance->states[info->ops[cone[c]].results[0].value - first] = SHARD_STATE_WHOLE;
  }
  return nBest > 0;
}

void shardSinkAndRaise(const ShardSolver *s, ShardFrame *frame) {
  const ShardFunctionInfo *info = frame->info;
  for (int32_t o = info->nOps - 1; o >= 0; --o) {
    const ShardOpRule *rule = &info->ops[o];
    if (rule->form == SHARD_OP_CALL || rule->form == SHARD_OP_LOOP ||
        rule->form == SHARD_OP_RETURN || rule->form == SHARD_OP_WHOLE)
      continue;
    if ((frame->forced && frame->forced[o] != FREE) ||
        shardPinnedState(s, frame->function, rule) != FREE)
      continue;
    if (!sinkOp(s, frame, o) && !raiseOp(s, frame, o))
      raiseCone(s, frame, o);
  }
}
