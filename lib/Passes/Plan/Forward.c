//===- Forward.c - How each op is split, from its operands --------*- C -*-===//
// See Solver.h.
//===----------------------------------------------------------------------===//

#include "Solver.h"

static void forwardCall(ShardSolver *s, ShardFrame *frame, int32_t op) {
  const ShardOpRule *rule = &frame->info->ops[op];
  const ShardFunctionInfo *callee = &s->rules->functions[rule->callee];
  ShardState *arguments =
      SHARD_ARENA_ARRAY(s->arena, ShardState, callee->nArguments ? callee->nArguments : 1);
  shardStatesFill(arguments, callee->nArguments, SHARD_STATE_WHOLE);
  for (int32_t p = 0; p < rule->nOperands; ++p) {
    ShardState state = frame->instance->states[rule->operands[p].value - frame->table->first];
    arguments[rule->operands[p].operandIndex] =
        state == SHARD_STATE_PARTIAL || rule->operands[p].apart ? SHARD_STATE_WHOLE : state;
  }
  // A result that has other atoms here is handed over whole.
  ShardState *handed = NULL;
  for (int32_t r = 0; r < rule->nResults; ++r) {
    if (!rule->results[r].apart)
      continue;
    if (!handed) {
      handed = SHARD_ARENA_ARRAY(s->arena, ShardState, callee->nResults);
      shardStatesFill(handed, callee->nResults, SHARD_STATE_FREE);
    }
    handed[rule->results[r].operandIndex] = SHARD_STATE_WHOLE;
  }
  ShardInstance *instance = shardSolveFunction(s, rule->callee, arguments, handed);
  // What the callee would move before any use, the caller moves: once for all its calls.
  bool changed = false;
  for (int32_t p = 0; p < rule->nOperands; ++p) {
    int32_t i = rule->operands[p].operandIndex;
    if (instance->wanted[i] != FREE && !rule->operands[p].apart &&
        !s->problem->weight[rule->operands[p].value])
      arguments[i] = instance->wanted[i], changed = true;
  }
  if (changed)
    instance = shardSolveFunction(s, rule->callee, arguments, handed);
  frame->instance->callees[op] = shardInstanceNumber(s, instance);
  s->unsettled |= rule->count > 1 &&
                  frame->instance->callees[op] != frame->instance->callees[op - rule->period];
  for (int32_t r = 0; r < rule->nResults; ++r)
    frame->instance->states[rule->results[r].value - frame->table->first] =
        instance->results[rule->results[r].operandIndex];
}

static ShardCost optionCost(const ShardSolver *s, const ShardFrame *frame, int32_t op,
                            ShardState choice) {
  const ShardOpRule *rule = &frame->info->ops[op];
  ShardCost cost = {0};
  for (int32_t p = 0; p < rule->nOperands; ++p) {
    int32_t value = rule->operands[p].value;
    ShardState from = frame->instance->states[value - frame->table->first];
    ShardState to =
        shardDemandUnder(s->rules, frame->table->first, frame->instance->states, rule, choice, p);
    shardAddEdgeCost(s, value, from, to, shardMayGather(s, rule, choice), &cost);
  }
  shardAddExchangeCost(s, rule, choice, &cost);
  if (choice >= 0 && shardFactorIsCombined(shardChoiceFactor(rule, choice)))
    for (int32_t r = 0; r < rule->nResults; ++r)
      cost.bytes +=
          shardStateReshardBytes(&s->rules->values[rule->results[r].value], s->problem->size,
                                 SHARD_STATE_PARTIAL, SHARD_STATE_WHOLE),
          ++cost.count;
  return cost;
}

/// Adds the factors of a contraction that no operand is split on, but an argument is somewhere (the
/// experts, where the tokens are split). They are for the search to try: what they save shows only
/// where the result is used. Returns the number of options.
static int32_t addSeededFactors(const ShardSolver *s, const ShardFrame *frame, int32_t op,
                                int32_t n, ShardState *options) {
  const ShardOpRule *rule = &frame->info->ops[op];
  bool split = false;
  for (int32_t p = 0; p < rule->nOperands; ++p)
    split |= frame->instance->states[rule->operands[p].value - frame->table->first] >= 0;
  for (int32_t f = 0; split && rule->contraction && f < rule->nFactors; ++f) {
    if (rule->factors[f].kind != SHARD_FACTOR_PARALLEL || !s->seeded[rule->factors[f].klass] ||
        !shardCanSplit(s, frame->function, op, (ShardState)f))
      continue;
    bool known = n == MAX_OPTIONS;
    for (int32_t k = 0; k < n; ++k)
      known |= options[k] == f;
    if (!known)
      options[n++] = (ShardState)f;
  }
  return n;
}

void shardForwardOp(ShardSolver *s, ShardFrame *frame, int32_t op) {
  const ShardOpRule *rule = &frame->info->ops[op];
  const ShardRules *rules = s->rules;
  int32_t first = frame->table->first;
  ShardInstance *instance = frame->instance;
  instance->choices[op] = SHARD_CHOICE_NONE;
  frame->nOptions[op] = 1;
  if (rule->form == SHARD_OP_RETURN)
    return;
  if (rule->form == SHARD_OP_CALL) {
    forwardCall(s, frame, op);
    return;
  }
  if (rule->form == SHARD_OP_LOOP) {
    shardForwardLoop(s, frame, op);
    return;
  }
  // Options: the factors that operands are split on, passing partial values on, or whole.
  ShardState *options = frame->options[op];
  int32_t nOptions = 0;
  bool interesting = false;
  uint8_t combiner = SHARD_COMBINER_SUM;
  for (int32_t p = 0; p < rule->nOperands; ++p) {
    const ShardPort *port = &rule->operands[p];
    ShardState state = instance->states[port->value - first];
    if (state == SHARD_STATE_PARTIAL)
      combiner = instance->combiners[port->value - first];
    if (state < 0)
      continue;
    // What the operand is split on; of a block, each of its atoms alone too.
    int32_t head = shardStateHead(state), span = shardStateSpan(state);
    for (int32_t alone = 0; alone <= (span ? span + 1 : 0); ++alone) {
      ShardState choice =
          shardChoiceOfState(rules, rule, port, alone ? (ShardState)(head + alone - 1) : state);
      if (choice < 0 || !shardCanSplit(s, frame->function, op, choice))
        continue;
      bool known = false;
      for (int32_t k = 0; k < nOptions; ++k)
        known |= options[k] == choice;
      if (!known && nOptions < 12)
        options[nOptions++] = choice;
      interesting |= shardChoiceFactor(rule, choice)->kind != SHARD_FACTOR_PARALLEL;
    }
  }
  interesting |= nOptions > 1;
  uint32_t partial = shardPartialOperands(first, instance->states, rule);
  bool passDefault = false, pass = false;
  if (partial) {
    uint32_t set = shardOpLinearSet(rule, partial);
    if (set && (combiner == SHARD_COMBINER_SUM || rule->movement)) {
      pass = true;
      passDefault = !shardRepeatsWork(s, frame->function, op, SHARD_CHOICE_PASS);
      int64_t largest = 0;
      for (int32_t p = 0; p < rule->nOperands && p < 32; ++p)
        if (partial >> p & 1 && rules->values[rule->operands[p].value].bytes > largest)
          largest = rules->values[rule->operands[p].value].bytes;
      // A replicated term as large as the partial one (a residual) is added after the reduction,
      // unless a flip shows that waiting saves one.
      for (int32_t p = 0; p < rule->nOperands && p < 32; ++p)
        if ((set >> p & 1) && !(partial >> p & 1) &&
            rules->values[rule->operands[p].value].bytes >= largest)
          passDefault = false;
      // Reducing first is no dearer when the result is larger than what is partial.
      for (int32_t r = 0; r < rule->nResults; ++r)
        if (rules->values[rule->results[r].value].bytes > largest)
          passDefault = false;
      for (int32_t p = 0; p < rule->nOperands && p < 32; ++p)
        if (set >> p & 1 && instance->states[rule->operands[p].value - first] >= 0)
          passDefault = false;
      interesting = true;
    }
  }
  if (pass)
    options[nOptions++] = SHARD_CHOICE_PASS;
  options[nOptions++] = SHARD_CHOICE_NONE;

  // A user's annotation is a fixed point: its factor, or whole (a sum may be resolved after the
  // op).
  ShardState fixed = shardPinnedState(s, frame->function, rule);
  if (fixed != FREE) {
    int32_t kept = 0;
    ShardState factor =
        fixed >= 0 ? shardChoiceOfState(rules, rule, &rule->results[0], fixed) : SHARD_CHOICE_NONE;
    for (int32_t k = 0; k < nOptions; ++k)
      if (fixed < 0 && options[k] != SHARD_CHOICE_PASS &&
          (options[k] == SHARD_CHOICE_NONE ||
           shardFactorIsCombined(shardChoiceFactor(rule, options[k])) ||
           shardChoiceFactor(rule, options[k])->kind == SHARD_FACTOR_SELECT ||
           (shardChoiceFactor(rule, options[k])->kind == SHARD_FACTOR_WINDOW &&
            shardChoiceFactor(rule, options[k])->windows[0].toAll)))
        options[kept++] = options[k];
    if (factor >= 0 &&
        (shardChoiceFactor(rule, factor)->kind == SHARD_FACTOR_PARALLEL ||
         shardChoiceFactor(rule, factor)->kind == SHARD_FACTOR_WINDOW ||
         shardChoiceFactor(rule, factor)->kind == SHARD_FACTOR_SCAN) &&
        shardCanSplit(s, frame->function, op, factor))
      options[kept++] = factor;
    if (kept)
      nOptions = kept, passDefault = false, interesting &= kept > 1;
  }

  int32_t nGuessed = nOptions;
  if (fixed == FREE && frame->widened)
    nOptions = addSeededFactors(s, frame, op, nOptions, options);
  interesting |= nOptions > nGuessed;

  ShardState choice = SHARD_CHOICE_NONE;
  ShardState forced = frame->forced ? frame->forced[op] : FREE;
  bool isForced = false;
  for (int32_t k = 0; k < nOptions; ++k)
    if (options[k] == forced)
      choice = forced, isForced = true;
  if (!isForced) {
    if (passDefault) {
      choice = SHARD_CHOICE_PASS;
    } else {
      bool have = false;
      ShardCost best = {0};
      for (int32_t k = 0; k < nGuessed; ++k) {
        if (options[k] == SHARD_CHOICE_PASS)
          continue;
        ShardCost cost = optionCost(s, frame, op, options[k]);
        if (shardRepeatsWork(s, frame->function, op, options[k]))
          cost.repeated += rule->flops;
        if (!have || shardCostCompare(&cost, &best) < 0)
          have = true, best = cost, choice = options[k];
      }
    }
  }
  instance->choices[op] = choice;
  frame->nOptions[op] = interesting ? (uint8_t)nOptions : 1;

  for (int32_t r = 0; r < rule->nResults; ++r) {
    int32_t v = rule->results[r].value - first;
    ShardState state = SHARD_STATE_WHOLE;
    if (choice >= 0) {
      state = shardStateOfChoice(rules, &rule->results[r], choice);
      if (shardFactorIsCombined(shardChoiceFactor(rule, choice))) {
        state = SHARD_STATE_PARTIAL;
        instance->combiners[v] = (uint8_t)shardRuleCombiner(rule, shardStateHead(choice), r);
      }
    } else if (choice == SHARD_CHOICE_PASS) {
      state = SHARD_STATE_PARTIAL;
      instance->combiners[v] = combiner;
    }
    instance->states[v] = state;
  }
}
