//===- ForwardLoop.c - One placement a slot of a loop -------------*- C -*-===//
// See Solver.h.
//===----------------------------------------------------------------------===//

#include "Solver.h"

#include <string.h>

/// Solves the bodies of a loop for these slot states. `force`: they hand back what the slots say;
/// else states that are FREE become what is handed back. Returns whether every body hands back its
/// slots as they are.
static bool solveBodies(ShardSolver *s, const ShardOpRule *rule, ShardState *slots, bool force,
                        ShardInstance **bodies) {
  bool stable = true;
  for (int32_t g = 0; g < rule->nBodies; ++g) {
    const ShardBody *body = &rule->bodies[g];
    const ShardFunctionInfo *callee = &s->rules->functions[body->callee];
    ShardState *arguments = SHARD_ARENA_ARRAY(s->arena, ShardState, callee->nArguments + 1);
    ShardState *handed = SHARD_ARENA_ARRAY(s->arena, ShardState, callee->nResults + 1);
    shardStatesFill(arguments, callee->nArguments, SHARD_STATE_WHOLE);
    shardStatesFill(handed, callee->nResults, FREE);
    for (int32_t a = 0; a < callee->nArguments; ++a)
      if (body->argumentSlots[a] >= 0 && slots[body->argumentSlots[a]] != FREE)
        arguments[a] = slots[body->argumentSlots[a]];
    for (int32_t r = 0; force && r < callee->nResults; ++r)
      if (body->resultSlots[r] >= 0)
        handed[r] = slots[body->resultSlots[r]];
    bodies[g] = shardSolveFunction(s, body->callee, arguments, force ? handed : NULL);
    for (int32_t r = 0; r < callee->nResults; ++r) {
      int32_t slot = body->resultSlots[r];
      if (slot < 0)
        continue;
      if (slots[slot] == FREE)
        slots[slot] = bodies[g]->results[r];
      stable &= slots[slot] == bodies[g]->results[r];
    }
  }
  return stable;
}

/// What the bodies would move of a value from outside before any use, the caller moves, once for
/// all steps. Returns whether that changes a slot.
static bool adoptWanted(const ShardSolver *s, const ShardOpRule *rule, ShardState *slots,
                        ShardInstance *const *bodies) {
  bool changed = false;
  for (int32_t p = 0; p < rule->nOperands; ++p) {
    const ShardPort *port = &rule->operands[p];
    if (port->operandIndex >= 0 || port->apart || s->problem->weight[port->value])
      continue;
    for (int32_t g = 0; g < rule->nBodies; ++g)
      for (int32_t a = 0; a < s->rules->functions[rule->bodies[g].callee].nArguments; ++a)
        if (rule->bodies[g].argumentSlots[a] == port->slot && bodies[g]->wanted[a] != FREE)
          slots[port->slot] = bodies[g]->wanted[a], changed = true;
  }
  return changed;
}

/// What one choice of slot states costs: the bodies as often as they run, and bringing the values
/// there once.
static ShardCost loopCost(const ShardSolver *s, const ShardFrame *frame, const ShardOpRule *rule,
                          const ShardState *slots, ShardInstance *const *bodies) {
  ShardCost cost = {0};
  for (int32_t g = 0; g < rule->nBodies; ++g) {
    cost.forbidden += bodies[g]->cost.forbidden, cost.repeated += bodies[g]->cost.repeated;
    cost.bytes += bodies[g]->cost.bytes * rule->trips;
    cost.count += bodies[g]->cost.count * rule->trips;
    cost.memory += bodies[g]->cost.memory;
  }
  for (int32_t p = 0; p < rule->nOperands; ++p) {
    int32_t value = rule->operands[p].value;
    shardAddEdgeCost(s, value, frame->instance->states[value - frame->table->first],
                     slots[rule->operands[p].slot], false, &cost);
  }
  return cost;
}

/// A loop: one placement a slot. Two candidates, the cheaper wins: the placements that values come
/// in with, and the fixed point of what the bodies hand back.
void shardForwardLoop(ShardSolver *s, ShardFrame *frame, int32_t op) {
  const ShardOpRule *rule = &frame->info->ops[op];
  ShardInstance *instance = frame->instance;
  int32_t firstValue = frame->table->first;
  ShardState *first = SHARD_ARENA_ARRAY(s->arena, ShardState, rule->nSlots + 1);
  ShardState *fixed = SHARD_ARENA_ARRAY(s->arena, ShardState, rule->nSlots + 1);
  bool *pinned = SHARD_ARENA_ARRAY(s->arena, bool, rule->nSlots + 1);
  shardStatesFill(first, rule->nSlots, FREE);
  for (int32_t p = 0; p < rule->nOperands; ++p) {
    ShardState state = instance->states[rule->operands[p].value - firstValue];
    first[rule->operands[p].slot] = state == SHARD_STATE_PARTIAL ? SHARD_STATE_WHOLE : state;
  }
  for (int32_t r = 0; s->problem->pinned && r < rule->nResults; ++r) {
    ShardState pin = s->problem->pinned[frame->function][rule->results[r].value - firstValue];
    if (pin != FREE)
      first[rule->results[r].slot] = pin, pinned[rule->results[r].slot] = true;
  }
  for (int32_t i = 0; i < rule->nSlots; ++i)
    if (rule->apart[i])
      first[i] = SHARD_STATE_WHOLE, pinned[i] = true;
  memcpy(fixed, first, (size_t)rule->nSlots * sizeof(*fixed));
  ShardInstance *bodies[SHARD_MAX_BODIES], *fixedBodies[SHARD_MAX_BODIES];
  for (int32_t round = 0; round < 4 && !solveBodies(s, rule, fixed, false, fixedBodies); ++round)
    for (int32_t g = 0; g < rule->nBodies; ++g)
      for (int32_t r = 0; r < s->rules->functions[rule->bodies[g].callee].nResults; ++r) {
        int32_t slot = rule->bodies[g].resultSlots[r];
        if (slot >= 0 && !pinned[slot])
          fixed[slot] = fixedBodies[g]->results[r];
      }
  for (int32_t i = 0; i < rule->nSlots; ++i)
    if (first[i] == FREE)
      first[i] = fixed[i] == FREE ? SHARD_STATE_WHOLE : fixed[i];
  solveBodies(s, rule, first, true, bodies);
  if (adoptWanted(s, rule, first, bodies))
    solveBodies(s, rule, first, true, bodies);
  solveBodies(s, rule, fixed, true, fixedBodies);
  if (adoptWanted(s, rule, fixed, fixedBodies))
    solveBodies(s, rule, fixed, true, fixedBodies);
  ShardCost cost = loopCost(s, frame, rule, first, bodies);
  ShardCost fixedCost = loopCost(s, frame, rule, fixed, fixedBodies);
  if (shardCostCompare(&fixedCost, &cost) < 0)
    memcpy(bodies, fixedBodies, sizeof(bodies));
  instance->callees[op] = shardInstanceNumber(s, bodies[0]);
  instance->others[op] = rule->nBodies > 1 ? shardInstanceNumber(s, bodies[1]) : -1;
  for (int32_t r = 0; r < rule->nResults; ++r)
    instance->states[rule->results[r].value - firstValue] =
        shardSlotState(s, instance, op, rule->results[r].slot);
}
