//===- OpPlan.c - What an op needs of its operands ----------------*- C -*-===//
// An op's results say which of its factors are split; its operands, which reductions. What each
// operand must look like follows from the op's rule (Rules.h).
//===----------------------------------------------------------------------===//

#include "Spmd.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <string.h>

const ShardOpRule *shardSpmdDefinition(const ShardSpmd *spmd, int32_t value) {
  const ShardValueInfo *info = &spmd->rules->values[value];
  return info->definition < 0 ? NULL
                              : &spmd->rules->functions[info->function].ops[info->definition];
}

bool shardOpIsWhole(const ShardOpRule *rule) {
  if (rule->form == SHARD_OP_WHOLE)
    return true;
  if (!shardOpIs(rule->op, "arith.constant"))
    return false;
  MlirAttribute value = shardOpGetAttribute(rule->op, "value");
  return !mlirAttributeIsADenseElements(value) || !mlirDenseElementsAttrIsSplat(value);
}

static bool isUsed(const ShardOpPlan *plan, uint8_t axis) {
  for (int32_t f = 0; f < plan->rule->nFactors; ++f)
    for (int k = 0; k < plan->factors[f].count; ++k)
      if (plan->factors[f].axis[k] == axis)
        return true;
  return false;
}

// Whether a port has the factors [first, first + span] side by side in one dimension, or none.
static bool keepsBlock(const ShardSpmd *spmd, const ShardPort *port, int32_t first, int span) {
  const ShardValueInfo *info = &spmd->rules->values[port->value];
  int32_t head = -1, found = 0;
  for (int32_t i = 0; port->factors && i < info->nAtoms; ++i) {
    int32_t at = port->factors[i] - first;
    if (port->factors[i] < 0 || at < 0 || at > span)
      continue;
    if (at == 0)
      head = i;
    if (head < 0 || i != head + at || info->atoms[i].dim != info->atoms[head].dim)
      return false;
    ++found;
  }
  return found == 0 || found == span + 1;
}

// Splits the factors of a block as one where the op keeps them together; else they stay whole.
static void splitBlock(const ShardSpmd *spmd, ShardOpPlan *plan, int32_t factor,
                       const ShardAxisList *axes, const uint8_t *onlyPartial) {
  const ShardOpRule *rule = plan->rule;
  for (int i = 0; i <= axes->span; ++i)
    if (factor + i >= rule->nFactors || plan->factors[factor + i].count ||
        plan->factors[factor + i].span ||
        rule->factors[factor + i].kind != rule->factors[factor].kind ||
        rule->factors[factor + i].loop != rule->factors[factor].loop)
      return;
  for (int k = 0; k < axes->count; ++k)
    if (isUsed(plan, axes->axis[k]) || (onlyPartial && !onlyPartial[axes->axis[k]]))
      return;
  for (int32_t i = 0; i < rule->nOperands + rule->nResults; ++i)
    if (!keepsBlock(spmd, shardRulePort(rule, i), factor, axes->span))
      return;
  plan->factors[factor] = *axes;
  for (int i = 1; i <= axes->span; ++i)
    plan->factors[factor + i] = (ShardAxisList){.span = SHARD_SPAN_INSIDE};
}

static void splitFactor(const ShardSpmd *spmd, ShardOpPlan *plan, int32_t factor,
                        const ShardAxisList *axes, const uint8_t *onlyPartial) {
  if (axes->span == SHARD_SPAN_INSIDE || plan->factors[factor].count || plan->factors[factor].span)
    return;
  if (axes->span) {
    splitBlock(spmd, plan, factor, axes, onlyPartial);
    return;
  }
  ShardAxisList list = {0};
  for (int k = 0; k < axes->count; ++k)
    if (!isUsed(plan, axes->axis[k]) && (!onlyPartial || onlyPartial[axes->axis[k]]))
      list.axis[list.count++] = axes->axis[k];
  plan->factors[factor] = list;
}

// Factors that are combined away are split as the operand that has most of them says; what other
// operands are split on beside it is below.
static void splitCombined(const ShardSpmd *spmd, ShardOpPlan *plan, const uint8_t *partial) {
  const ShardOpRule *rule = plan->rule;
  for (int32_t f = 0; f < rule->nFactors; ++f) {
    if (!shardFactorIsCombined(&rule->factors[f]))
      continue;
    const ShardAxisList *lists[32], *longest = NULL;
    int32_t n = 0;
    for (int32_t i = 0; i < rule->nOperands; ++i) {
      const ShardPort *port = &rule->operands[i];
      const ShardSharding *own = spmd->own[port->value];
      for (int32_t a = 0; port->factors && a < own->nAtoms && n < 32; ++a)
        if (port->factors[a] == f && own->atoms[a].count)
          lists[n++] = &own->atoms[a];
    }
    for (int32_t i = 0; i < n; ++i)
      if (!longest || lists[i]->count > longest->count)
        longest = lists[i];
    if (longest)
      splitFactor(spmd, plan, f, longest, partial);
    for (int32_t i = 0; i < n && !plan->factors[f].count; ++i) // whose axes are in use elsewhere
      splitFactor(spmd, plan, f, lists[i], partial);
    ShardAxisList *split = &plan->factors[f];
    for (int32_t i = 0; i < n; ++i)
      for (int k = 0; k < lists[i]->count && lists[i]->span == split->span; ++k)
        if (!isUsed(plan, lists[i]->axis[k]) && partial[lists[i]->axis[k]] &&
            split->count < sizeof split->axis)
          split->axis[split->count++] = lists[i]->axis[k];
  }
}

// Whether some operand is split along a window: a whole one is cut after it has moved.
static bool isMoved(const ShardSpmd *spmd, const ShardOpRule *rule, int32_t factor) {
  for (int32_t i = 0; i < rule->nOperands; ++i) {
    const ShardPort *port = &rule->operands[i];
    const ShardSharding *own = spmd->own[port->value];
    for (int32_t a = 0; a < own->nAtoms; ++a)
      if (port->factors && port->factors[a] == factor && own->atoms[a].count)
        return true;
  }
  return false;
}

// Ranks choose among what they hold where that says less than gathering it, and hand on a step of
// it.
static void chooseWhereSplit(const ShardSpmd *spmd, ShardOpPlan *plan) {
  const ShardOpRule *rule = plan->rule;
  for (int32_t i = 0; i < rule->nOperands; ++i) {
    const ShardPort *port = &rule->operands[i];
    const ShardSharding *own = spmd->own[port->value];
    for (int32_t k = 0; k < own->nAtoms; ++k) {
      int32_t f = port->factors ? port->factors[k] : -1;
      if (f < 0 || own->atoms[k].span)
        continue;
      const ShardFactor *factor = &rule->factors[f];
      int64_t n = shardAxisListSize(&spmd->mesh, own->atoms[k]);
      if ((factor->kind == SHARD_FACTOR_SELECT && shardFactorPays(factor, n)) ||
          (factor->kind == SHARD_FACTOR_WINDOW && factor->windows[0].toAll))
        splitFactor(spmd, plan, f, &own->atoms[k], NULL);
    }
  }
}

static ShardSharding *placePort(const ShardSpmd *spmd, const ShardOpPlan *plan,
                                const ShardPort *port) {
  int32_t nAtoms = spmd->rules->values[port->value].nAtoms;
  ShardSharding *sharding = shardShardingCreate(spmd->arena, nAtoms);
  for (int32_t i = 0; i < nAtoms; ++i)
    if (port->factors && port->factors[i] >= 0)
      sharding->atoms[i] = plan->factors[port->factors[i]];
  return sharding;
}

// A partial result (Rules.h, `linear`): an axis that no split factor
// explains is passed on from partial operands.
static bool passPartial(ShardSpmd *spmd, ShardOpPlan *plan, uint8_t axis, ShardCombiner combiner) {
  const ShardOpRule *rule = plan->rule;
  uint32_t mask = 0;
  for (int32_t i = 0; i < rule->nOperands && i < 32; ++i)
    if (spmd->own[rule->operands[i].value]->partial[axis] == combiner)
      mask |= UINT32_C(1) << i;
  uint32_t set =
      combiner == SHARD_COMBINER_SUM || rule->movement ? shardOpLinearSet(rule, mask) : 0;
  if (!set) {
    shardEmitError(rule->op,
                   "result is a partial %s over axis '%s', but no operand is one that this op "
                   "passes on and no loop is split over it",
                   shardCombinerName(combiner), spmd->mesh.names[axis]);
    return false;
  }
  for (int32_t i = 0; i < rule->nOperands && i < 32; ++i)
    if (set & (UINT32_C(1) << i))
      plan->operands[i]->partial[axis] = (uint8_t)combiner;
  for (int32_t r = 0; r < rule->nResults; ++r)
    plan->results[r]->partial[axis] = (uint8_t)combiner;
  return true;
}

// The placement of a port of a call or loop, from the one on the other side. Null after one
// diagnostic: where the sides have other atoms, both must be whole.
static ShardSharding *acrossPort(const ShardSpmd *spmd, const ShardOpRule *rule,
                                 const ShardPort *port, bool result, const ShardSharding *there) {
  if (!port->apart)
    return shardShardingCopy(spmd->arena, there);
  if (shardShardingIsReplicated(there))
    return shardShardingCreate(spmd->arena, spmd->rules->values[port->value].nAtoms);
  shardEmitError(rule->op,
                 "%s %d is cut in other pieces in the function called; expected it whole there",
                 result ? "result" : "operand", port->operandIndex);
  return NULL;
}

// The placement of a slot of a loop: an argument's of a body, or else a result's. Null after one
// diagnostic when the bodies differ.
static const ShardSharding *slotSharding(ShardSpmd *spmd, const ShardOpRule *rule, int32_t slot) {
  const ShardSharding *found = NULL;
  for (int32_t g = 0; g < rule->nBodies; ++g) {
    const ShardBody *body = &rule->bodies[g];
    const ShardFunctionInfo *callee = &spmd->rules->functions[body->callee];
    for (int32_t k = 0; k < callee->nArguments + callee->nResults; ++k) {
      bool result = k >= callee->nArguments;
      int32_t index = result ? k - callee->nArguments : k;
      if ((result ? body->resultSlots : body->argumentSlots)[index] != slot)
        continue;
      const ShardSharding *there =
          result ? spmd->results[body->callee][index] : spmd->own[callee->arguments[index]];
      bool equal = !found || (rule->apart[slot] ? shardShardingIsReplicated(found) &&
                                                      shardShardingIsReplicated(there)
                                                : shardShardingEqual(found, there));
      if (!equal) {
        shardEmitError(rule->op, "what the loop carries has two placements: expected one for an "
                                 "argument of its body and what the body hands back");
        return NULL;
      }
      found = there;
    }
  }
  return found;
}

static bool planLoop(ShardSpmd *spmd, ShardOpPlan *plan) {
  const ShardOpRule *rule = plan->rule;
  for (int32_t i = 0; i < rule->nOperands + rule->nResults; ++i) {
    bool result = i >= rule->nOperands;
    const ShardPort *port = result ? &rule->results[i - rule->nOperands] : &rule->operands[i];
    const ShardSharding *there = slotSharding(spmd, rule, port->slot);
    ShardSharding *here = there ? acrossPort(spmd, rule, port, result, there) : NULL;
    if (!here)
      return false;
    *(result ? &plan->results[i - rule->nOperands] : &plan->operands[i]) = here;
  }
  return true;
}

static bool planSignature(ShardSpmd *spmd, ShardOpPlan *plan) {
  const ShardOpRule *rule = plan->rule;
  const ShardFunctionInfo *callee =
      rule->form == SHARD_OP_CALL ? &spmd->rules->functions[rule->callee] : NULL;
  for (int32_t i = 0; i < rule->nOperands; ++i) {
    const ShardPort *port = &rule->operands[i];
    int32_t index = port->operandIndex;
    const ShardSharding *there =
        callee ? spmd->own[callee->arguments[index]]
               : spmd->results[spmd->rules->values[port->value].function][index];
    if (!(plan->operands[i] = acrossPort(spmd, rule, port, false, there)))
      return false;
  }
  for (int32_t r = 0; r < rule->nResults; ++r)
    if (!(plan->results[r] =
              acrossPort(spmd, rule, &rule->results[r], true,
                         spmd->results[rule->callee][rule->results[r].operandIndex])))
      return false;
  return true;
}

ShardOpPlan *shardOpPlanCreate(ShardSpmd *spmd, const ShardOpRule *rule,
                               ShardSharding *const *wanted) {
  ShardArena *arena = spmd->arena;
  ShardOpPlan *plan = SHARD_ARENA_NEW(arena, ShardOpPlan);
  plan->rule = rule;
  plan->factors = SHARD_ARENA_ARRAY(arena, ShardAxisList, rule->nFactors);
  plan->operands = SHARD_ARENA_ARRAY(arena, ShardSharding *, rule->nOperands);
  plan->results = SHARD_ARENA_ARRAY(arena, ShardSharding *, rule->nResults);
  if (rule->form == SHARD_OP_CALL || rule->form == SHARD_OP_RETURN)
    return planSignature(spmd, plan) ? plan : NULL;
  if (rule->form == SHARD_OP_LOOP)
    return planLoop(spmd, plan) ? plan : NULL;
  if (shardOpIsWhole(rule)) {
    for (int32_t i = 0; i < rule->nOperands; ++i)
      plan->operands[i] =
          shardShardingCreate(arena, spmd->rules->values[rule->operands[i].value].nAtoms);
    for (int32_t r = 0; r < rule->nResults; ++r)
      plan->results[r] =
          shardShardingCreate(arena, spmd->rules->values[rule->results[r].value].nAtoms);
    return plan;
  }

  uint8_t partial[SHARD_MAX_AXES] = {0};
  for (int32_t r = 0; r < rule->nResults; ++r) {
    const ShardPort *port = &rule->results[r];
    for (int32_t i = 0; i < wanted[r]->nAtoms; ++i) {
      int32_t factor = port->factors ? port->factors[i] : -1;
      if (factor >= 0 && rule->factors[factor].kind != SHARD_FACTOR_WHOLE &&
          (rule->factors[factor].kind != SHARD_FACTOR_WINDOW || isMoved(spmd, rule, factor)))
        splitFactor(spmd, plan, factor, &wanted[r]->atoms[i], NULL);
    }
    for (int a = 0; a < SHARD_MAX_AXES; ++a)
      if (wanted[r]->partial[a])
        partial[a] = wanted[r]->partial[a];
  }
  splitCombined(spmd, plan, partial);
  chooseWhereSplit(spmd, plan);
  for (int32_t i = 0; i < rule->nOperands; ++i)
    plan->operands[i] = placePort(spmd, plan, &rule->operands[i]);
  for (int32_t r = 0; r < rule->nResults; ++r)
    plan->results[r] = placePort(spmd, plan, &rule->results[r]);
  bool explained[SHARD_MAX_AXES] = {false};
  for (int32_t f = 0; f < rule->nFactors; ++f) {
    if (!shardFactorIsCombined(&rule->factors[f]))
      continue;
    for (int k = 0; k < plan->factors[f].count; ++k) {
      uint8_t axis = plan->factors[f].axis[k];
      explained[axis] = true;
      for (int32_t r = 0; r < rule->nResults; ++r) {
        ShardCombiner combiner = shardRuleCombiner(rule, f, r);
        ShardCombiner annotated = wanted[r]->partial[axis] ? wanted[r]->partial[axis] : combiner;
        if (annotated != combiner) {
          shardEmitError(
              rule->op, "result is annotated as a partial %s over axis '%s', but is a %s",
              shardCombinerName(annotated), spmd->mesh.names[axis], shardCombinerName(combiner));
          return NULL;
        }
        plan->results[r]->partial[axis] = (uint8_t)combiner;
      }
    }
  }
  for (int a = 0; a < SHARD_MAX_AXES; ++a)
    if (partial[a] && !explained[a] && !passPartial(spmd, plan, (uint8_t)a, partial[a]))
      return NULL;
  // A destination that is read enters the sum once.
  int32_t nInits = 0;
  for (int32_t i = 0; i < rule->nOperands; ++i) {
    if (!rule->operands[i].init)
      continue;
    if (!rule->unusedInit && nInits < rule->nResults)
      memcpy(plan->operands[i]->partial, plan->results[nInits]->partial,
             sizeof(plan->operands[i]->partial));
    ++nInits;
  }
  return plan;
}
