//===- Edges.c - What ops want of values, and what that moves -----*- C -*-===//
// See Solver.h.
//===----------------------------------------------------------------------===//

#include "Solver.h"

uint32_t shardPartialOperands(int32_t first, const ShardState *states, const ShardOpRule *rule) {
  uint32_t mask = 0;
  for (int32_t p = 0; p < rule->nOperands && p < 32; ++p)
    if (states[rule->operands[p].value - first] == SHARD_STATE_PARTIAL)
      mask |= 1u << p;
  return mask;
}

ShardState shardDemandUnder(const ShardRules *rules, int32_t first, const ShardState *states,
                            const ShardOpRule *rule, ShardState choice, int32_t operand) {
  const ShardPort *port = &rule->operands[operand];
  if (choice >= 0) {
    ShardState atom = shardStateOfChoice(rules, port, choice);
    return atom;
  }
  if (choice == SHARD_CHOICE_PASS) {
    uint32_t set = shardOpLinearSet(rule, shardPartialOperands(first, states, rule));
    return operand < 32 && (set >> operand & 1) ? SHARD_STATE_PARTIAL : SHARD_STATE_WHOLE;
  }
  return SHARD_STATE_WHOLE;
}

static ShardState returnDemand(const ShardAxisProblem *problem, const ShardInstance *instance,
                               int32_t operand, ShardState state) {
  if (instance->function == problem->entry && problem->entryResults &&
      problem->entryResults[operand] != SHARD_STATE_AS_PRODUCED)
    return problem->entryResults[operand];
  if (instance->handed && instance->handed[operand] != FREE)
    return instance->handed[operand];
  return state == SHARD_STATE_PARTIAL ? SHARD_STATE_WHOLE : state;
}

ShardState shardSlotState(const ShardSolver *s, const ShardInstance *instance, int32_t op,
                          int32_t slot) {
  const ShardOpRule *rule = &s->rules->functions[instance->function].ops[op];
  for (int32_t g = 0; g < rule->nBodies; ++g) {
    int32_t number = g == 0 ? instance->callees[op] : instance->others[op];
    if (number < 0)
      return SHARD_STATE_WHOLE;
    const ShardInstance *body = s->instances[number];
    const ShardFunctionInfo *callee = &s->rules->functions[body->function];
    for (int32_t a = 0; a < callee->nArguments; ++a)
      if (rule->bodies[g].argumentSlots[a] == slot)
        return body->arguments[a];
    for (int32_t r = 0; r < callee->nResults; ++r)
      if (rule->bodies[g].resultSlots[r] == slot)
        return body->results[r];
  }
  return SHARD_STATE_WHOLE;
}

ShardState shardSolverDemand(const ShardSolver *s, const ShardInstance *instance, int32_t op,
                             int32_t operand) {
  const ShardRules *rules = s->rules;
  const ShardOpRule *rule = &rules->functions[instance->function].ops[op];
  int32_t first = s->tables[instance->function].first;
  ShardState state = instance->states[rule->operands[operand].value - first];
  if (rule->form == SHARD_OP_CALL) {
    int32_t callee = instance->callees[op];
    return callee < 0 ? SHARD_STATE_WHOLE
                      : s->instances[callee]->arguments[rule->operands[operand].operandIndex];
  }
  if (rule->form == SHARD_OP_LOOP)
    return shardSlotState(s, instance, op, rule->operands[operand].slot);
  if (rule->form == SHARD_OP_RETURN)
    return returnDemand(s->problem, instance, rule->operands[operand].operandIndex, state);
  return shardDemandUnder(rules, first, instance->states, rule, instance->choices[op], operand);
}

ShardState shardOperandDemand(const ShardRules *rules, const ShardInstance *instance,
                              const ShardAxisProblem *problem, const ShardOpRule *rule, int32_t op,
                              int32_t operand) {
  int32_t first = shardFunctionFirstValue(rules, instance->function);
  ShardState state = instance->states[rule->operands[operand].value - first];
  if (rule->form == SHARD_OP_RETURN)
    return returnDemand(problem, instance, rule->operands[operand].operandIndex, state);
  return shardDemandUnder(rules, first, instance->states, rule, instance->choices[op], operand);
}

bool shardMayGather(const ShardSolver *s, const ShardOpRule *rule, ShardState choice) {
  if (!s->problem->gatherWeights)
    return false;
  bool weights = rule->form == SHARD_OP_COMPUTE;
  for (int32_t p = 0; p < rule->nOperands; ++p)
    weights &=
        s->problem->weight[rule->operands[p].value] || (rule->operands[p].init && rule->unusedInit);
  return choice >= 0 || weights;
}

void shardAddEdgeCost(const ShardSolver *s, int32_t value, ShardState from, ShardState to,
                      bool gathers, ShardCost *cost) {
  if (from == to || from == SHARD_STATE_WHOLE)
    return;
  if (s->problem->weight[value] && !gathers)
    cost->forbidden += s->rules->values[value].bytes;
  cost->bytes += shardStateReshardBytes(&s->rules->values[value], s->problem->size, from, to);
  ++cost->count;
}

void shardAddExchangeCost(const ShardSolver *s, const ShardOpRule *rule, ShardState choice,
                          ShardCost *cost) {
  if (choice < 0)
    return;
  if (shardChoiceFactor(rule, choice)->kind == SHARD_FACTOR_WINDOW) {
    int64_t bytes = shardFactorWindowBytes(shardChoiceFactor(rule, choice), s->problem->size);
    cost->bytes += bytes / s->problem->size;
    cost->count += bytes != 0;
    return;
  }
  int64_t sent = shardFactorSent(shardChoiceFactor(rule, choice), s->problem->size);
  if (!sent)
    return;
  cost->bytes += sent;
  ++cost->count;
}

bool shardRepeatsWork(const ShardSolver *s, int32_t function, int32_t op, ShardState choice) {
  const ShardOpRule *rule = &s->rules->functions[function].ops[op];
  if (!rule->contraction || choice >= 0)
    return false;
  for (int32_t f = 0; f < rule->nFactors; ++f)
    if (s->seeded[rule->factors[f].klass] && shardCanSplit(s, function, op, f))
      return true;
  return false;
}

ShardState shardCommonDemand(const ShardSolver *s, const ShardFrame *frame, int32_t v) {
  const ShardFunctionTable *t = frame->table;
  ShardState common = FREE;
  for (int32_t u = t->useStart[v]; u < t->useStart[v + 1]; ++u) {
    ShardState demand = shardSolverDemand(s, frame->instance, t->uses[u].op, t->uses[u].operand);
    if (common != FREE && common != demand)
      return FREE;
    common = demand;
  }
  return common;
}

/// States in which a value was wanted so far.
typedef struct SeenStates {
  int32_t n;
  ShardState states[16];
} SeenStates;

static bool isNewState(SeenStates *seen, ShardState state) {
  for (int32_t i = 0; i < seen->n; ++i)
    if (seen->states[i] == state)
      return false;
  if (seen->n < 16)
    seen->states[seen->n++] = state;
  return true;
}

void shardCostAdd(ShardCost *sum, const ShardCost *one, int64_t count) {
  sum->forbidden += one->forbidden * count, sum->repeated += one->repeated * count;
  sum->bytes += one->bytes * count, sum->count += one->count * count;
  sum->memory += one->memory * count;
}

ShardCost shardValueCost(const ShardSolver *s, const ShardFrame *frame, int32_t v) {
  const ShardFunctionTable *t = frame->table;
  const ShardInstance *instance = frame->instance;
  const ShardValueInfo *value = &s->rules->values[t->first + v];
  SeenStates seen = {0};
  ShardState from = instance->states[v];
  ShardCost cost = {
      .memory = from >= 0 ? shardStateLocalBytes(value, value->bytes, s->problem->size, from)
                          : value->bytes};
  for (int32_t u = t->useStart[v]; u < t->useStart[v + 1]; ++u) {
    ShardState to = shardSolverDemand(s, instance, t->uses[u].op, t->uses[u].operand);
    if (!isNewState(&seen, to))
      continue;
    shardAddEdgeCost(
        s, t->first + v, from, to,
        shardMayGather(s, &frame->info->ops[t->uses[u].op], instance->choices[t->uses[u].op]),
        &cost);
  }
  return cost;
}

/// What an op costs: what it calls, what it exchanges, the work that every rank does.
static ShardCost opCost(const ShardSolver *s, const ShardFrame *frame, int32_t op) {
  const ShardInstance *instance = frame->instance;
  const ShardOpRule *rule = &frame->info->ops[op];
  int64_t trips = rule->form == SHARD_OP_LOOP ? rule->trips : 1;
  ShardCost cost = {0};
  for (int32_t g = 0; g < 2; ++g) {
    int32_t number = g == 0 ? instance->callees[op] : instance->others[op];
    if (number < 0)
      continue;
    ShardCost inner = s->instances[number]->cost;
    inner.bytes *= trips, inner.count *= trips;
    shardCostAdd(&cost, &inner, 1);
  }
  shardAddExchangeCost(s, rule, instance->choices[op], &cost);
  if (shardRepeatsWork(s, frame->function, op, instance->choices[op]))
    cost.repeated += rule->flops;
  return cost;
}

/// What a caller moves once for all calls that hand the same value over (see forwardCall in
/// Forward.c) costs a call its share.
static void shareMove(const ShardSolver *s, const ShardFrame *frame, int32_t v, ShardCost *cost) {
  int32_t calls = frame->table->handings[v];
  if (calls <= 1 || s->problem->weight[frame->table->first + v] ||
      shardCommonDemand(s, frame, v) < SHARD_STATE_WHOLE)
    return;
  cost->bytes = (cost->bytes + calls - 1) / calls;
  cost->count = (cost->count + calls - 1) / calls;
}

ShardCost shardFrameCost(const ShardSolver *s, const ShardFrame *frame) {
  ShardCost cost = {0};
  for (int32_t v = 0; v < frame->table->nValues; ++v) {
    ShardCost one = shardValueCost(s, frame, v);
    shareMove(s, frame, v, &one);
    shardCostAdd(&cost, &one, s->rules->values[frame->table->first + v].count);
  }
  for (int32_t o = 0; o < frame->info->nOps; ++o) {
    ShardCost one = opCost(s, frame, o);
    shardCostAdd(&cost, &one, frame->info->ops[o].count);
  }
  return cost;
}

void shardAxisVisitEdges(const ShardAxisProblem *problem, const ShardAxisSolution *solution,
                         ShardArena *arena, void (*visit)(void *user, const ShardEdge *edge),
                         void *user) {
  ShardSolver s = shardSolverMake(problem, arena);
  s.instances = solution->instances, s.nInstances = solution->nInstances;
  for (int32_t i = 0; i < solution->nInstances; ++i) {
    const ShardInstance *instance = solution->instances[i];
    const ShardFunctionTable *t = &s.tables[instance->function];
    for (int32_t v = 0; v < t->nValues; ++v) {
      SeenStates seen = {0};
      ShardState from = instance->states[v];
      for (int32_t u = t->useStart[v]; u < t->useStart[v + 1]; ++u) {
        ShardState to = shardSolverDemand(&s, instance, t->uses[u].op, t->uses[u].operand);
        if (to == from || from == SHARD_STATE_WHOLE || !isNewState(&seen, to))
          continue;
        ShardEdge edge = {.instance = instance,
                          .function = instance->function,
                          .value = t->first + v,
                          .from = from,
                          .to = to,
                          .combiner = (ShardCombiner)instance->combiners[v],
                          .bytes = shardStateReshardBytes(&s.rules->values[t->first + v],
                                                          problem->size, from, to)};
        visit(user, &edge);
      }
    }
  }
}
