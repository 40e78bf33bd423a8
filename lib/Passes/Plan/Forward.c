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
/// experts, where the tokens are split), or that are offered; and those of an op that wants a sum,
/// which may be scattered to them. They are for the search to try: what they save shows only where
/// the result is used. Returns the number of options.
static int32_t addSeededFactors(const ShardSolver *s, const ShardFrame *frame, int32_t op,
                                int32_t n, ShardState *options) {
  const ShardOpRule *rule = &frame->info->ops[op];
  bool split = false, sum = false;
  for (int32_t p = 0; p < rule->nOperands; ++p) {
    ShardState state = frame->instance->states[rule->operands[p].value - frame->table->first];
    split |= state >= 0, sum |= state == SHARD_STATE_PARTIAL;
  }
  bool tries = rule->contraction ? split : sum && rule->form == SHARD_OP_COMPUTE;
  for (int32_t f = 0; tries && f < rule->nFactors; ++f) {
    int32_t klass = rule->factors[f].klass;
    bool offered = rule->contraction && frame->offered[klass];
    if (rule->factors[f].kind != SHARD_FACTOR_PARALLEL || (!s->seeded[klass] && !offered) ||
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

/// Of what operands suggest; the rest is for passing on, whole and seeded factors.
enum { MAX_OPERAND_OPTIONS = 12 };

/// What an op may be split on, while one of it is chosen.
typedef struct Options {
  ShardState *list; // the frame's
  int32_t n;
  bool interesting; // for the search to try
  bool passFirst;   // partial values are passed on unless the search finds better
  uint8_t combiner; // of the partial operands
} Options;

/// The factors that operands are split on; of a block, each of its atoms alone too.
static void addOperandFactors(const ShardSolver *s, const ShardFrame *frame, int32_t op,
                              Options *options) {
  const ShardOpRule *rule = &frame->info->ops[op];
  for (int32_t p = 0; p < rule->nOperands; ++p) {
    const ShardPort *port = &rule->operands[p];
    int32_t v = port->value - frame->table->first;
    ShardState state = frame->instance->states[v];
    if (state == SHARD_STATE_PARTIAL)
      options->combiner = frame->instance->combiners[v];
    if (state < 0)
      continue;
    int32_t head = shardStateHead(state), span = shardStateSpan(state);
    for (int32_t alone = 0; alone <= (span ? span + 1 : 0); ++alone) {
      ShardState choice =
          shardChoiceOfState(s->rules, rule, port, alone ? (ShardState)(head + alone - 1) : state);
      if (choice < 0 || !shardCanSplit(s, frame->function, op, choice))
        continue;
      bool known = false;
      for (int32_t k = 0; k < options->n; ++k)
        known |= options->list[k] == choice;
      if (!known && options->n < MAX_OPERAND_OPTIONS)
        options->list[options->n++] = choice;
      options->interesting |= shardChoiceFactor(rule, choice)->kind != SHARD_FACTOR_PARALLEL;
    }
  }
  options->interesting |= options->n > 1;
}

/// Passing partial values on, where the op is linear in them.
static void addPass(const ShardSolver *s, const ShardFrame *frame, int32_t op, Options *options) {
  const ShardOpRule *rule = &frame->info->ops[op];
  const ShardValueInfo *values = s->rules->values;
  const ShardState *states = frame->instance->states;
  int32_t first = frame->table->first;
  uint32_t partial = shardPartialOperands(first, states, rule);
  uint32_t set = partial ? shardOpLinearSet(rule, partial) : 0;
  if (!set || (options->combiner != SHARD_COMBINER_SUM && !rule->movement))
    return;
  bool passFirst = !shardRepeatsWork(s, frame->function, op, SHARD_CHOICE_PASS);
  int64_t largest = 0;
  for (int32_t p = 0; p < rule->nOperands && p < 32; ++p)
    if (partial >> p & 1 && values[rule->operands[p].value].bytes > largest)
      largest = values[rule->operands[p].value].bytes;
  // A replicated term as large as the partial one (a residual) is added after the reduction, unless
  // a flip shows that waiting saves one.
  for (int32_t p = 0; p < rule->nOperands && p < 32; ++p)
    if ((set >> p & 1) && !(partial >> p & 1) && values[rule->operands[p].value].bytes >= largest)
      passFirst = false;
  // Reducing first is no dearer when the result is larger than what is partial.
  for (int32_t r = 0; r < rule->nResults; ++r)
    if (values[rule->results[r].value].bytes > largest)
      passFirst = false;
  for (int32_t p = 0; p < rule->nOperands && p < 32; ++p)
    if (set >> p & 1 && states[rule->operands[p].value - first] >= 0)
      passFirst = false;
  options->passFirst = passFirst;
  options->interesting = true;
  options->list[options->n++] = SHARD_CHOICE_PASS;
}

/// Whether a result that must be whole may come of this choice: a sum may be resolved after the op.
static bool givesWhole(const ShardOpRule *rule, ShardState choice) {
  if (choice == SHARD_CHOICE_PASS || choice == SHARD_CHOICE_NONE)
    return choice == SHARD_CHOICE_NONE;
  const ShardFactor *factor = shardChoiceFactor(rule, choice);
  return shardFactorIsCombined(factor) || factor->kind == SHARD_FACTOR_SELECT ||
         (factor->kind == SHARD_FACTOR_WINDOW && factor->windows[0].toAll);
}

/// A user's annotation is a fixed point: its factor, or whole.
static void keepFixed(const ShardSolver *s, const ShardFrame *frame, int32_t op, ShardState fixed,
                      Options *options) {
  const ShardOpRule *rule = &frame->info->ops[op];
  int32_t kept = 0;
  for (int32_t k = 0; k < options->n; ++k)
    if (fixed < 0 && givesWhole(rule, options->list[k]))
      options->list[kept++] = options->list[k];
  ShardState factor =
      fixed >= 0 ? shardChoiceOfState(s->rules, rule, &rule->results[0], fixed) : SHARD_CHOICE_NONE;
  if (factor >= 0) {
    ShardFactorKind kind = shardChoiceFactor(rule, factor)->kind;
    if ((kind == SHARD_FACTOR_PARALLEL || kind == SHARD_FACTOR_WINDOW ||
         kind == SHARD_FACTOR_SCAN) &&
        shardCanSplit(s, frame->function, op, factor))
      options->list[kept++] = factor;
  }
  if (!kept)
    return;
  options->n = kept;
  options->passFirst = false;
  options->interesting &= kept > 1;
}

/// What the search asks for; else passing on, or the cheapest of the first `n` options.
static ShardState choose(const ShardSolver *s, const ShardFrame *frame, int32_t op,
                         const Options *options, int32_t n) {
  ShardState forced = frame->forced ? frame->forced[op] : FREE;
  for (int32_t k = 0; k < options->n; ++k)
    if (options->list[k] == forced)
      return forced;
  if (options->passFirst)
    return SHARD_CHOICE_PASS;
  ShardState choice = SHARD_CHOICE_NONE;
  bool have = false;
  ShardCost best = {0};
  for (int32_t k = 0; k < n; ++k) {
    if (options->list[k] == SHARD_CHOICE_PASS)
      continue;
    ShardCost cost = optionCost(s, frame, op, options->list[k]);
    if (shardRepeatsWork(s, frame->function, op, options->list[k]))
      cost.repeated += frame->info->ops[op].flops;
    if (!have || shardCostCompare(&cost, &best) < 0)
      have = true, best = cost, choice = options->list[k];
  }
  return choice;
}

static void setResults(const ShardSolver *s, ShardFrame *frame, int32_t op, uint8_t combiner) {
  const ShardOpRule *rule = &frame->info->ops[op];
  ShardInstance *instance = frame->instance;
  ShardState choice = instance->choices[op];
  for (int32_t r = 0; r < rule->nResults; ++r) {
    int32_t v = rule->results[r].value - frame->table->first;
    ShardState state = SHARD_STATE_WHOLE;
    if (choice >= 0) {
      state = shardStateOfChoice(s->rules, &rule->results[r], choice);
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

void shardForwardOp(ShardSolver *s, ShardFrame *frame, int32_t op) {
  const ShardOpRule *rule = &frame->info->ops[op];
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
  Options options = {.list = frame->options[op], .combiner = SHARD_COMBINER_SUM};
  addOperandFactors(s, frame, op, &options);
  addPass(s, frame, op, &options);
  options.list[options.n++] = SHARD_CHOICE_NONE;
  ShardState fixed = shardPinnedState(s, frame->function, rule);
  if (fixed != FREE)
    keepFixed(s, frame, op, fixed, &options);
  int32_t nGuessed = options.n;
  if (fixed == FREE && frame->widened)
    options.n = addSeededFactors(s, frame, op, options.n, options.list);
  options.interesting |= options.n > nGuessed;
  instance->choices[op] = choose(s, frame, op, &options, nGuessed);
  frame->nOptions[op] = options.interesting ? (uint8_t)options.n : 1;
  setResults(s, frame, op, options.combiner);
}
