//===- Solve.c - Shardings of every value along one mesh axis -----*- C -*-===//
// See Solve.h. Local search over op choices, each evaluated on the whole function.
//===----------------------------------------------------------------------===//

#include "Solve.h"

#include "../Core/Diagnostics.h"

#include <string.h>

enum { FREE = SHARD_STATE_FREE, MAX_SEARCH = 4000000 };

int shardCostCompare(const ShardCost *a, const ShardCost *b) {
  if (a->forbidden != b->forbidden)
    return a->forbidden < b->forbidden ? -1 : 1;
  if (a->repeated != b->repeated)
    return a->repeated < b->repeated ? -1 : 1;
  if (a->bytes != b->bytes)
    return a->bytes < b->bytes ? -1 : 1;
  if (a->count != b->count)
    return a->count < b->count ? -1 : 1;
  if (a->memory != b->memory)
    return a->memory < b->memory ? -1 : 1;
  return 0;
}

int32_t shardFunctionFirstValue(const ShardRules *rules, int32_t function) {
  int32_t low = 0, high = rules->nValues;
  while (low < high) {
    int32_t middle = (low + high) / 2;
    if (rules->values[middle].function < function)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

int32_t shardFunctionValueCount(const ShardRules *rules, int32_t function) {
  return shardFunctionFirstValue(rules, function + 1) - shardFunctionFirstValue(rules, function);
}

int32_t *shardFactorOffsets(const ShardRules *rules, int32_t function, ShardArena *arena,
                            int32_t *outTotal) {
  const ShardFunctionInfo *info = &rules->functions[function];
  int32_t *offsets = SHARD_ARENA_ARRAY(arena, int32_t, info->nOps + 1);
  for (int32_t o = 0; o < info->nOps; ++o)
    offsets[o + 1] = offsets[o] + info->ops[o].nFactors;
  *outTotal = offsets[info->nOps];
  return offsets;
}

typedef struct Use {
  int32_t op, operand;
} Use;

/// What is fixed of a function while its choices are searched.
typedef struct FunctionTable {
  int32_t first, nValues;
  int32_t *offsets;  // of factors
  int32_t *useStart; // [nValues + 1]
  Use *uses;
} FunctionTable;

typedef struct Solver {
  const ShardAxisProblem *problem;
  const ShardRules *rules;
  ShardArena *arena;
  FunctionTable *tables; // [nFunctions]
  bool *seeded; // [classes] on which an argument is split: what every contraction can share
  bool *uneven; // [classes] that may be split unevenly: seeded, or split by an annotation
  ShardInstance **instances;
  int32_t nInstances;
  size_t capacity;
} Solver;

enum { MAX_OPTIONS = 16 };

typedef struct Frame {
  int32_t function;
  const FunctionTable *table;
  const ShardFunctionInfo *info;
  ShardInstance *instance;
  ShardState *forced;                 // [nOps] a choice, or FREE
  uint8_t *nOptions;                  // [nOps] worth flipping
  ShardState (*options)[MAX_OPTIONS]; // [nOps]
  bool widened;                       // options that no operand suggests count too
} Frame;

static void buildTable(Solver *s, int32_t function) {
  FunctionTable *t = &s->tables[function];
  const ShardFunctionInfo *info = &s->rules->functions[function];
  int32_t total;
  t->first = shardFunctionFirstValue(s->rules, function);
  t->nValues = shardFunctionValueCount(s->rules, function);
  t->offsets = shardFactorOffsets(s->rules, function, s->arena, &total);
  t->useStart = SHARD_ARENA_ARRAY(s->arena, int32_t, t->nValues + 2);
  int32_t nUses = 0;
  for (int32_t o = 0; o < info->nOps; ++o)
    for (int32_t p = 0; p < info->ops[o].nOperands; ++p, ++nUses)
      ++t->useStart[info->ops[o].operands[p].value - t->first + 1];
  for (int32_t v = 0; v < t->nValues; ++v)
    t->useStart[v + 1] += t->useStart[v];
  t->uses = SHARD_ARENA_ARRAY(s->arena, Use, nUses ? nUses : 1);
  int32_t *next = SHARD_ARENA_ARRAY(s->arena, int32_t, t->nValues ? t->nValues : 1);
  memcpy(next, t->useStart, (size_t)t->nValues * sizeof(int32_t));
  for (int32_t o = 0; o < info->nOps; ++o)
    for (int32_t p = 0; p < info->ops[o].nOperands; ++p)
      t->uses[next[info->ops[o].operands[p].value - t->first]++] = (Use){o, p};
}

//===----------------------------------------------------------------------===//
// Demands and costs
//===----------------------------------------------------------------------===//

static uint32_t partialOperands(const ShardRules *rules, int32_t first, const ShardState *states,
                                const ShardOpRule *rule) {
  (void)rules;
  uint32_t mask = 0;
  for (int32_t p = 0; p < rule->nOperands && p < 32; ++p)
    if (states[rule->operands[p].value - first] == SHARD_STATE_PARTIAL)
      mask |= 1u << p;
  return mask;
}

static ShardState demandUnder(const ShardRules *rules, int32_t first, const ShardState *states,
                              const ShardOpRule *rule, ShardState choice, int32_t operand) {
  const ShardPort *port = &rule->operands[operand];
  if (choice >= 0) {
    ShardState atom = shardStateOfChoice(rules, port, choice);
    return atom;
  }
  if (choice == SHARD_CHOICE_PASS) {
    uint32_t set = shardOpLinearSet(rule, partialOperands(rules, first, states, rule));
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

/// The state of a slot of a loop, from the instances of its bodies.
static ShardState slotState(const Solver *s, const ShardInstance *instance, int32_t op,
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

static ShardState operandDemand(const Solver *s, const ShardInstance *instance, int32_t op,
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
    return slotState(s, instance, op, rule->operands[operand].slot);
  if (rule->form == SHARD_OP_RETURN)
    return returnDemand(s->problem, instance, rule->operands[operand].operandIndex, state);
  return demandUnder(rules, first, instance->states, rule, instance->choices[op], operand);
}

ShardState shardOperandDemand(const ShardRules *rules, const ShardInstance *instance,
                              const ShardAxisProblem *problem, const ShardOpRule *rule, int32_t op,
                              int32_t operand) {
  int32_t first = shardFunctionFirstValue(rules, instance->function);
  ShardState state = instance->states[rule->operands[operand].value - first];
  if (rule->form == SHARD_OP_RETURN)
    return returnDemand(problem, instance, rule->operands[operand].operandIndex, state);
  return demandUnder(rules, first, instance->states, rule, instance->choices[op], operand);
}

/// A weight may be gathered (if at all) for an op whose other operands stay split: then it is the
/// smaller one that moves; and for one that has only weights (a cast), whose result would be
/// gathered else. For an op that every rank does in full it may not: that would take back what
/// splitting it saved.
static bool mayGather(const Solver *s, const ShardOpRule *rule, ShardState choice) {
  if (!s->problem->gatherWeights)
    return false;
  bool weights = rule->form == SHARD_OP_COMPUTE;
  for (int32_t p = 0; p < rule->nOperands; ++p)
    weights &=
        s->problem->weight[rule->operands[p].value] || (rule->operands[p].init && rule->unusedInit);
  return choice >= 0 || weights;
}

static void addEdgeCost(const Solver *s, int32_t value, ShardState from, ShardState to,
                        bool gathers, ShardCost *cost) {
  if (from == to || from == SHARD_STATE_WHOLE)
    return;
  if (s->problem->weight[value] && !gathers)
    cost->forbidden += s->rules->values[value].bytes;
  cost->bytes += shardStateReshardBytes(&s->rules->values[value], s->problem->size, from, to);
  ++cost->count;
}

static const ShardFactor *choiceFactor(const ShardOpRule *rule, ShardState choice) {
  return &rule->factors[shardStateHead(choice)];
}

/// Whether an op may be split so: by a factor, or a block of them.
static bool splittable(const Solver *s, int32_t function, int32_t op, ShardState choice) {
  const ShardAxisProblem *problem = s->problem;
  const ShardFactor *f = choiceFactor(&s->rules->functions[function].ops[op], choice);
  if (f->kind == SHARD_FACTOR_WHOLE)
    return false;
  int32_t at = s->tables[function].offsets[op] + shardStateHead(choice);
  int32_t span = shardStateSpan(choice);
  // A factor that an earlier axis split is no part of a new block, nor is one of a block split
  // alone.
  for (int32_t k = 0; k <= span; ++k) {
    int32_t block = problem->blocks ? problem->blocks[function][at + k] : 0;
    if (block != (k == 0 ? span
                  : span ? SHARD_SPAN_INSIDE
                         : 0) &&
        (block || problem->used[function][at + k] != 1))
      return false;
  }
  if (span)
    return true;
  // Uneven only along what the plan or the user split so: elsewhere nothing odd creeps in.
  int64_t ranks = problem->used[function][at] * problem->size;
  if (f->kind == SHARD_FACTOR_SELECT && !shardFactorPays(f, ranks))
    return false;
  return f->size % ranks == 0 || s->uneven[f->klass];
}

/// What ranks tell each other when an op is split along a dimension that it runs along in order, or
/// reads in turned order.
static void addExchangeCost(const Solver *s, const ShardOpRule *rule, ShardState choice,
                            ShardCost *cost) {
  if (choice < 0)
    return;
  if (choiceFactor(rule, choice)->kind == SHARD_FACTOR_WINDOW) {
    int64_t bytes = shardFactorWindowBytes(choiceFactor(rule, choice), s->problem->size);
    cost->bytes += bytes / s->problem->size;
    cost->count += bytes != 0;
    return;
  }
  int64_t sent = shardFactorSent(choiceFactor(rule, choice), s->problem->size);
  if (!sent)
    return;
  cost->bytes += sent;
  ++cost->count;
}

/// A contraction that every rank does in full (on whole operands, or on partial sums that it passes
/// on), though it runs along a class that is split.
static bool repeatsWork(const Solver *s, int32_t function, int32_t op, ShardState choice) {
  const ShardOpRule *rule = &s->rules->functions[function].ops[op];
  if (!rule->contraction || choice >= 0)
    return false;
  for (int32_t f = 0; f < rule->nFactors; ++f)
    if (s->seeded[rule->factors[f].klass] && splittable(s, function, op, f))
      return true;
  return false;
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

static ShardInstance *solveFunction(Solver *s, int32_t function, const ShardState *arguments,
                                    const ShardState *handed);

static int32_t instanceNumber(const Solver *s, const ShardInstance *instance) {
  for (int32_t i = 0; i < s->nInstances; ++i)
    if (s->instances[i] == instance)
      return i;
  return -1;
}

static void forwardCall(Solver *s, Frame *frame, int32_t op) {
  const ShardOpRule *rule = &frame->info->ops[op];
  const ShardFunctionInfo *callee = &s->rules->functions[rule->callee];
  ShardState *arguments =
      SHARD_ARENA_ARRAY(s->arena, ShardState, callee->nArguments ? callee->nArguments : 1);
  shardStatesFill(arguments, callee->nArguments, SHARD_STATE_WHOLE);
  for (int32_t p = 0; p < rule->nOperands; ++p) {
    ShardState state = frame->instance->states[rule->operands[p].value - frame->table->first];
    arguments[rule->operands[p].operandIndex] =
        state == SHARD_STATE_PARTIAL ? SHARD_STATE_WHOLE : state;
  }
  ShardInstance *instance = solveFunction(s, rule->callee, arguments, NULL);
  // What the callee would move before any use, the caller moves: once for all its calls.
  bool changed = false;
  for (int32_t p = 0; p < rule->nOperands; ++p) {
    int32_t i = rule->operands[p].operandIndex;
    if (instance->wanted[i] != FREE && !s->problem->weight[rule->operands[p].value])
      arguments[i] = instance->wanted[i], changed = true;
  }
  if (changed)
    instance = solveFunction(s, rule->callee, arguments, NULL);
  frame->instance->callees[op] = instanceNumber(s, instance);
  for (int32_t r = 0; r < rule->nResults; ++r)
    frame->instance->states[rule->results[r].value - frame->table->first] =
        instance->results[rule->results[r].operandIndex];
}

/// Solves the bodies of a loop for these slot states. `force`: they hand back what the slots say;
/// else states that are FREE become what is handed back. Returns whether every body hands back its
/// slots as they are.
static bool solveBodies(Solver *s, const ShardOpRule *rule, ShardState *slots, bool force,
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
    bodies[g] = solveFunction(s, body->callee, arguments, force ? handed : NULL);
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
static bool adoptWanted(const Solver *s, const ShardOpRule *rule, ShardState *slots,
                        ShardInstance *const *bodies) {
  bool changed = false;
  for (int32_t p = 0; p < rule->nOperands; ++p) {
    const ShardPort *port = &rule->operands[p];
    if (port->operandIndex >= 0 || s->problem->weight[port->value])
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
static ShardCost loopCost(const Solver *s, const Frame *frame, const ShardOpRule *rule,
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
    addEdgeCost(s, value, frame->instance->states[value - frame->table->first],
                slots[rule->operands[p].slot], false, &cost);
  }
  return cost;
}

/// A loop: one placement a slot. Two candidates, the cheaper wins: the placements that values come
/// in with, and the fixed point of what the bodies hand back.
static void forwardLoop(Solver *s, Frame *frame, int32_t op) {
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
  instance->callees[op] = instanceNumber(s, bodies[0]);
  instance->others[op] = rule->nBodies > 1 ? instanceNumber(s, bodies[1]) : -1;
  for (int32_t r = 0; r < rule->nResults; ++r)
    instance->states[rule->results[r].value - firstValue] =
        slotState(s, instance, op, rule->results[r].slot);
}

/// What the user wants an op's first result to be along this axis, or FREE.
static ShardState pinnedState(const Solver *s, int32_t function, const ShardOpRule *rule) {
  if (!s->problem->pinned || rule->nResults == 0)
    return FREE;
  return s->problem->pinned[function][rule->results[0].value - s->tables[function].first];
}

static ShardCost optionCost(const Solver *s, const Frame *frame, int32_t op, ShardState choice) {
  const ShardOpRule *rule = &frame->info->ops[op];
  ShardCost cost = {0};
  for (int32_t p = 0; p < rule->nOperands; ++p) {
    int32_t value = rule->operands[p].value;
    ShardState from = frame->instance->states[value - frame->table->first];
    ShardState to =
        demandUnder(s->rules, frame->table->first, frame->instance->states, rule, choice, p);
    addEdgeCost(s, value, from, to, mayGather(s, rule, choice), &cost);
  }
  addExchangeCost(s, rule, choice, &cost);
  if (choice >= 0 && shardFactorIsCombined(choiceFactor(rule, choice)))
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
static int32_t addSeededFactors(const Solver *s, const Frame *frame, int32_t op, int32_t n,
                                ShardState *options) {
  const ShardOpRule *rule = &frame->info->ops[op];
  bool split = false;
  for (int32_t p = 0; p < rule->nOperands; ++p)
    split |= frame->instance->states[rule->operands[p].value - frame->table->first] >= 0;
  for (int32_t f = 0; split && rule->contraction && f < rule->nFactors; ++f) {
    if (rule->factors[f].kind != SHARD_FACTOR_PARALLEL || !s->seeded[rule->factors[f].klass] ||
        !splittable(s, frame->function, op, (ShardState)f))
      continue;
    bool known = n == MAX_OPTIONS;
    for (int32_t k = 0; k < n; ++k)
      known |= options[k] == f;
    if (!known)
      options[n++] = (ShardState)f;
  }
  return n;
}

static void forwardOp(Solver *s, Frame *frame, int32_t op) {
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
    forwardLoop(s, frame, op);
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
      if (choice < 0 || !splittable(s, frame->function, op, choice))
        continue;
      bool known = false;
      for (int32_t k = 0; k < nOptions; ++k)
        known |= options[k] == choice;
      if (!known && nOptions < 12)
        options[nOptions++] = choice;
      interesting |= choiceFactor(rule, choice)->kind != SHARD_FACTOR_PARALLEL;
    }
  }
  interesting |= nOptions > 1;
  uint32_t partial = partialOperands(rules, first, instance->states, rule);
  bool passDefault = false, pass = false;
  if (partial) {
    uint32_t set = shardOpLinearSet(rule, partial);
    if (set && (combiner == SHARD_COMBINER_SUM || rule->movement)) {
      pass = true;
      passDefault = !repeatsWork(s, frame->function, op, SHARD_CHOICE_PASS);
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
  ShardState fixed = pinnedState(s, frame->function, rule);
  if (fixed != FREE) {
    int32_t kept = 0;
    ShardState factor =
        fixed >= 0 ? shardChoiceOfState(rules, rule, &rule->results[0], fixed) : SHARD_CHOICE_NONE;
    for (int32_t k = 0; k < nOptions; ++k)
      if (fixed < 0 && options[k] != SHARD_CHOICE_PASS &&
          (options[k] == SHARD_CHOICE_NONE ||
           shardFactorIsCombined(choiceFactor(rule, options[k])) ||
           choiceFactor(rule, options[k])->kind == SHARD_FACTOR_SELECT ||
           (choiceFactor(rule, options[k])->kind == SHARD_FACTOR_WINDOW &&
            choiceFactor(rule, options[k])->windows[0].toAll)))
        options[kept++] = options[k];
    if (factor >= 0 &&
        (choiceFactor(rule, factor)->kind == SHARD_FACTOR_PARALLEL ||
         choiceFactor(rule, factor)->kind == SHARD_FACTOR_WINDOW ||
         choiceFactor(rule, factor)->kind == SHARD_FACTOR_SCAN) &&
        splittable(s, frame->function, op, factor))
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
        if (repeatsWork(s, frame->function, op, options[k]))
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
      if (shardFactorIsCombined(choiceFactor(rule, choice))) {
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

//===----------------------------------------------------------------------===//
// Sinking whole values, raising gathers
//===----------------------------------------------------------------------===//

/// The state that every use of a value demands, or FREE when uses differ or there is none.
static ShardState commonDemand(const Solver *s, const Frame *frame, int32_t v) {
  const FunctionTable *t = frame->table;
  ShardState common = FREE;
  for (int32_t u = t->useStart[v]; u < t->useStart[v + 1]; ++u) {
    ShardState demand = operandDemand(s, frame->instance, t->uses[u].op, t->uses[u].operand);
    if (common != FREE && common != demand)
      return FREE;
    common = demand;
  }
  return common;
}

static bool isUsedOnlyBy(const Frame *frame, int32_t v, int32_t op) {
  const FunctionTable *t = frame->table;
  for (int32_t u = t->useStart[v]; u < t->useStart[v + 1]; ++u)
    if (t->uses[u].op != op)
      return false;
  return true;
}

static bool sinkOp(const Solver *s, Frame *frame, int32_t op) {
  const ShardOpRule *rule = &frame->info->ops[op];
  int32_t first = frame->table->first;
  ShardInstance *instance = frame->instance;
  ShardState factor = SHARD_CHOICE_NONE;
  for (int32_t r = 0; r < rule->nResults; ++r) {
    int32_t v = rule->results[r].value - first;
    if (instance->states[v] != SHARD_STATE_WHOLE)
      return false;
    ShardState demand = commonDemand(s, frame, v);
    if (demand < 0)
      return false;
    ShardState f = shardChoiceOfState(s->rules, rule, &rule->results[r], demand);
    if (f < 0 || (factor >= 0 && f != factor))
      return false;
    factor = f;
  }
  if (factor < 0 || choiceFactor(rule, factor)->kind != SHARD_FACTOR_PARALLEL ||
      !splittable(s, frame->function, op, factor))
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
static bool raiseOp(const Solver *s, Frame *frame, int32_t op) {
  const ShardOpRule *rule = &frame->info->ops[op];
  int32_t first = frame->table->first;
  ShardInstance *instance = frame->instance;
  ShardState choice = instance->choices[op];
  if (rule->nResults != 1 || rule->contraction || choice < 0 ||
      choiceFactor(rule, choice)->kind != SHARD_FACTOR_PARALLEL)
    return false;
  int32_t value = rule->results[0].value;
  ShardState state = instance->states[value - first],
             target = commonDemand(s, frame, value - first);
  if (state < 0 || target == FREE || target == state || target == SHARD_STATE_PARTIAL)
    return false;
  ShardState next = target == SHARD_STATE_WHOLE
                        ? SHARD_CHOICE_NONE
                        : shardChoiceOfState(s->rules, rule, &rule->results[0], target);
  if (target >= 0 && (next < 0 || choiceFactor(rule, next)->kind != SHARD_FACTOR_PARALLEL ||
                      !splittable(s, frame->function, op, next)))
    return false;
  ShardCost before = {0}, after = {0};
  addEdgeCost(s, value, state, target, mayGather(s, rule, choice), &before);
  for (int32_t p = 0; p < rule->nOperands; ++p) {
    int32_t v = rule->operands[p].value;
    ShardState from = instance->states[v - first];
    if (from == SHARD_STATE_PARTIAL)
      return false;
    bool seen = false;
    for (int32_t q = 0; q < p; ++q)
      seen |= rule->operands[q].value == v;
    if (!seen)
      addEdgeCost(s, v, from, demandUnder(s->rules, first, instance->states, rule, next, p),
                  mayGather(s, rule, next), &after);
  }
  int order = shardCostCompare(&after, &before);
  if (order > 0 || (order == 0 && !rule->movement))
    return false;
  instance->choices[op] = next;
  instance->states[value - first] = target;
  return true;
}

/// Can the op be computed whole instead of split, at no cost but its own work?
static bool canRaise(const Solver *s, const Frame *frame, int32_t op) {
  const ShardOpRule *rule = &frame->info->ops[op];
  ShardState choice = frame->instance->choices[op];
  return rule->nResults == 1 && !rule->contraction && choice >= 0 &&
         choiceFactor(rule, choice)->kind == SHARD_FACTOR_PARALLEL &&
         pinnedState(s, frame->function, rule) == FREE &&
         frame->instance->states[rule->results[0].value - frame->table->first] >= 0;
}

/// A value that every use wants whole may be cheaper to gather several ops up, where a cone of ops
/// comes from one smaller value (rotary embedding spread over the heads of a group). Grows the cone
/// upwards along ops that are no contractions, and takes the cut that moves least.
static bool raiseCone(const Solver *s, Frame *frame, int32_t op) {
  enum { MAX_CONE = 16, MAX_FRONTIER = 64 };
  const ShardFunctionInfo *info = frame->info;
  ShardInstance *instance = frame->instance;
  int32_t first = frame->table->first, cone[MAX_CONE], nCone = 1, nBest = 0;
  if (!canRaise(s, frame, op))
    return false;
  int32_t value = info->ops[op].results[0].value;
  if (commonDemand(s, frame, value - first) != SHARD_STATE_WHOLE)
    return false;
  ShardCost best = {0};
  addEdgeCost(s, value, instance->states[value - first], SHARD_STATE_WHOLE, false, &best);
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
        addEdgeCost(s, v, state, SHARD_STATE_WHOLE,
                    mayGather(s, &info->ops[cone[c]], SHARD_CHOICE_NONE), &cost);
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

//===----------------------------------------------------------------------===//
// One evaluation, and the search
//===----------------------------------------------------------------------===//

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

static ShardCost frameCost(const Solver *s, const Frame *frame) {
  const FunctionTable *t = frame->table;
  const ShardInstance *instance = frame->instance;
  ShardCost cost = {0};
  for (int32_t v = 0; v < t->nValues; ++v) {
    SeenStates seen = {0};
    ShardState from = instance->states[v];
    const ShardValueInfo *value = &s->rules->values[t->first + v];
    cost.memory += from >= 0 ? shardStateLocalBytes(value, value->bytes, s->problem->size, from)
                             : value->bytes;
    for (int32_t u = t->useStart[v]; u < t->useStart[v + 1]; ++u) {
      ShardState to = operandDemand(s, instance, t->uses[u].op, t->uses[u].operand);
      if (!isNewState(&seen, to))
        continue;
      addEdgeCost(s, t->first + v, from, to,
                  mayGather(s, &frame->info->ops[t->uses[u].op], instance->choices[t->uses[u].op]),
                  &cost);
    }
  }
  for (int32_t o = 0; o < frame->info->nOps; ++o) {
    const ShardOpRule *rule = &frame->info->ops[o];
    int64_t trips = rule->form == SHARD_OP_LOOP ? rule->trips : 1;
    for (int32_t g = 0; g < 2; ++g) {
      int32_t number = g == 0 ? instance->callees[o] : instance->others[o];
      if (number < 0)
        continue;
      const ShardCost *inner = &s->instances[number]->cost;
      cost.forbidden += inner->forbidden, cost.repeated += inner->repeated;
      cost.bytes += inner->bytes * trips, cost.count += inner->count * trips;
      cost.memory += inner->memory;
    }
    addExchangeCost(s, rule, instance->choices[o], &cost);
    if (repeatsWork(s, frame->function, o, instance->choices[o]))
      cost.repeated += rule->flops;
  }
  return cost;
}

static ShardCost evaluate(Solver *s, Frame *frame, const ShardState *arguments) {
  const ShardFunctionInfo *info = frame->info;
  ShardInstance *instance = frame->instance;
  shardStatesFill(instance->states, frame->table->nValues, SHARD_STATE_WHOLE);
  memset(instance->combiners, 0, (size_t)frame->table->nValues);
  for (int32_t i = 0; i < info->nArguments; ++i)
    if (info->arguments[i] >= 0)
      instance->states[info->arguments[i] - frame->table->first] = arguments[i];
  for (int32_t o = 0; o < info->nOps; ++o)
    instance->callees[o] = instance->others[o] = -1;
  for (int32_t o = 0; o < info->nOps; ++o)
    forwardOp(s, frame, o);
  for (int32_t o = info->nOps - 1; o >= 0; --o) {
    const ShardOpRule *rule = &info->ops[o];
    if (rule->form == SHARD_OP_CALL || rule->form == SHARD_OP_LOOP ||
        rule->form == SHARD_OP_RETURN || rule->form == SHARD_OP_WHOLE)
      continue;
    if ((frame->forced && frame->forced[o] != FREE) ||
        pinnedState(s, frame->function, rule) != FREE)
      continue;
    if (!sinkOp(s, frame, o) && !raiseOp(s, frame, o))
      raiseCone(s, frame, o);
  }
  return frameCost(s, frame);
}

static ShardInstance *newInstance(Solver *s, int32_t function, const ShardState *arguments,
                                  const ShardState *handed) {
  const ShardFunctionInfo *info = &s->rules->functions[function];
  const FunctionTable *t = &s->tables[function];
  ShardInstance *instance = SHARD_ARENA_NEW(s->arena, ShardInstance);
  ShardState *copy =
      SHARD_ARENA_ARRAY(s->arena, ShardState, info->nArguments ? info->nArguments : 1);
  memcpy(copy, arguments, (size_t)info->nArguments * sizeof(*copy));
  instance->function = function;
  instance->handed = handed;
  instance->arguments = copy;
  instance->states = SHARD_ARENA_ARRAY(s->arena, ShardState, t->nValues ? t->nValues : 1);
  instance->combiners = SHARD_ARENA_ARRAY(s->arena, uint8_t, t->nValues ? t->nValues : 1);
  instance->choices = SHARD_ARENA_ARRAY(s->arena, ShardState, info->nOps);
  instance->callees = SHARD_ARENA_ARRAY(s->arena, int32_t, info->nOps);
  instance->others = SHARD_ARENA_ARRAY(s->arena, int32_t, info->nOps);
  instance->results = SHARD_ARENA_ARRAY(s->arena, ShardState, info->nResults ? info->nResults : 1);
  instance->wanted =
      SHARD_ARENA_ARRAY(s->arena, ShardState, info->nArguments ? info->nArguments : 1);
  shardStatesFill(instance->results, info->nResults, SHARD_STATE_WHOLE);
  shardStatesFill(instance->wanted, info->nArguments, FREE);
  return instance;
}

static bool sameHanded(const ShardState *a, const ShardState *b, int32_t n) {
  return a == b || (a && b && memcmp(a, b, (size_t)n * sizeof(*a)) == 0);
}

static int64_t countDecisions(const Frame *frame) {
  int64_t n = 0;
  for (int32_t o = 0; o < frame->info->nOps; ++o)
    n += frame->nOptions[o] > 1 ? frame->nOptions[o] - 1 : 0;
  return n;
}

/// Flips one choice at a time while that lowers the cost.
static void searchChoices(Solver *s, Frame *frame, const ShardState *arguments, ShardCost *best) {
  ShardState *forced = frame->forced;
  bool improved = true;
  for (int32_t round = 0; improved && round < 4; ++round) {
    improved = false;
    for (int32_t o = 0; o < frame->info->nOps; ++o) {
      if (frame->nOptions[o] <= 1)
        continue;
      ShardState current = frame->instance->choices[o], saved = forced[o], bestChoice = FREE;
      ShardState options[MAX_OPTIONS]; // an evaluation writes the frame's
      int32_t nOptions = frame->nOptions[o];
      memcpy(options, frame->options[o], sizeof(options));
      for (int32_t k = 0; k < nOptions; ++k) {
        ShardState c = options[k];
        if (c == current)
          continue;
        forced[o] = c;
        ShardCost cost = evaluate(s, frame, arguments);
        if (frame->instance->choices[o] == c && shardCostCompare(&cost, best) < 0)
          *best = cost, bestChoice = c;
      }
      forced[o] = bestChoice != FREE ? bestChoice : saved;
      improved |= bestChoice != FREE;
    }
    *best = evaluate(s, frame, arguments);
  }
}

static ShardInstance *solveFunction(Solver *s, int32_t function, const ShardState *arguments,
                                    const ShardState *handed) {
  const ShardFunctionInfo *info = &s->rules->functions[function];
  for (int32_t i = 0; i < s->nInstances; ++i)
    if (s->instances[i]->function == function &&
        sameHanded(s->instances[i]->handed, handed, info->nResults) &&
        memcmp(s->instances[i]->arguments, arguments,
               (size_t)info->nArguments * sizeof(*arguments)) == 0)
      return s->instances[i];
  const FunctionTable *t = &s->tables[function];
  ShardInstance *instance = newInstance(s, function, arguments, handed);
  ShardState *forced = SHARD_ARENA_ARRAY(s->arena, ShardState, info->nOps);
  uint8_t *nOptions = SHARD_ARENA_ARRAY(s->arena, uint8_t, info->nOps);
  shardStatesFill(forced, info->nOps, FREE);
  Frame frame = {.function = function,
                 .table = t,
                 .info = info,
                 .instance = instance,
                 .forced = forced,
                 .nOptions = nOptions,
                 .options = shardArenaAllocateArray(s->arena, (size_t)info->nOps,
                                                    MAX_OPTIONS * sizeof(ShardState))};
  ShardCost best = evaluate(s, &frame, arguments);
  int64_t nDecisions = countDecisions(&frame);
  // Work is bounded on huge flat functions.
  bool improved = s->problem->search && best.bytes > 0;
  if (improved && nDecisions * info->nOps >= MAX_SEARCH) {
    shardEmitRemark(info->func, "%d ops with %d choices between shardings: the first guess is kept",
                    (int)info->nOps, (int)nDecisions);
    improved = false;
  }
  if (improved) { // passing sums on may pay only where several ops do it together
    for (int32_t o = 0; o < info->nOps; ++o)
      for (int32_t k = 0; k < nOptions[o]; ++k)
        if (nOptions[o] > 1 && frame.options[o][k] == SHARD_CHOICE_PASS)
          forced[o] = SHARD_CHOICE_PASS;
    ShardCost cost = evaluate(s, &frame, arguments);
    if (shardCostCompare(&cost, &best) < 0)
      best = cost;
    else
      shardStatesFill(forced, info->nOps, FREE);
    best = evaluate(s, &frame, arguments);
  }
  if (improved) {
    searchChoices(s, &frame, arguments, &best);
    frame.widened = true; // from there on, so that it can only get better
    best = evaluate(s, &frame, arguments);
    if (countDecisions(&frame) > nDecisions)
      searchChoices(s, &frame, arguments, &best);
  }
  if (nDecisions)
    best = evaluate(s, &frame, arguments);
  instance->cost = best;
  const ShardOpRule *ret = &info->ops[info->nOps - 1];
  for (int32_t p = 0; p < ret->nOperands; ++p)
    instance->results[ret->operands[p].operandIndex] =
        operandDemand(s, instance, info->nOps - 1, p);
  for (int32_t i = 0; i < info->nArguments; ++i)
    if (info->arguments[i] >= 0) {
      ShardState demand = commonDemand(s, &frame, info->arguments[i] - t->first);
      if (demand >= SHARD_STATE_WHOLE && demand != arguments[i])
        instance->wanted[i] = demand;
    }
  s->instances = shardArenaGrow(s->arena, s->instances, (size_t)s->nInstances, &s->capacity,
                                (size_t)s->nInstances + 1, sizeof(ShardInstance *));
  s->instances[s->nInstances++] = instance;
  return instance;
}

static void markUneven(Solver *s, const ShardValueInfo *value, ShardState state) {
  for (int32_t k = 0; state >= 0 && k <= shardStateSpan(state); ++k)
    s->uneven[value->atoms[shardStateHead(state) + k].klass] = true;
}

/// Adds the classes that annotations of results and of values inside split.
static void markPinnedClasses(Solver *s) {
  const ShardAxisProblem *problem = s->problem;
  const ShardRules *rules = s->rules;
  for (int32_t v = 0; problem->pinned && v < rules->nValues; ++v) {
    const ShardValueInfo *value = &rules->values[v];
    ShardState state = problem->pinned[value->function][v - s->tables[value->function].first];
    markUneven(s, value, state);
  }
  const ShardFunctionInfo *entry = &rules->functions[problem->entry];
  const ShardOpRule *ret = &entry->ops[entry->nOps - 1];
  for (int32_t p = 0; problem->entryResults && p < ret->nOperands; ++p) {
    ShardState state = problem->entryResults[ret->operands[p].operandIndex];
    markUneven(s, &rules->values[ret->operands[p].value], state);
  }
}

/// What is cut out of a dimension that may be split unevenly, or put together to one, may be too.
static void markWindowClasses(Solver *s) {
  for (bool changed = true; changed;) {
    changed = false;
    for (int32_t f = 0; f < s->rules->nFunctions; ++f)
      for (int32_t o = 0; o < s->rules->functions[f].nOps; ++o) {
        const ShardOpRule *rule = &s->rules->functions[f].ops[o];
        for (int32_t k = 0; k < rule->nFactors; ++k) {
          if (rule->factors[k].kind != SHARD_FACTOR_WINDOW)
            continue;
          for (int pass = 0, any = 0; pass < 2; ++pass)
            for (int32_t i = 0; i < rule->nOperands + rule->nResults; ++i) {
              const ShardPort *port =
                  i < rule->nOperands ? &rule->operands[i] : &rule->results[i - rule->nOperands];
              const ShardValueInfo *info = &s->rules->values[port->value];
              for (int32_t a = 0; a < info->nAtoms; ++a) {
                if (port->factors[a] != k)
                  continue;
                bool *uneven = &s->uneven[info->atoms[a].klass];
                any |= *uneven;
                changed |= pass && any && !*uneven;
                *uneven |= pass && any;
              }
            }
        }
      }
  }
}

static Solver makeSolver(const ShardAxisProblem *problem, ShardArena *arena) {
  Solver s = {.problem = problem, .rules = problem->rules, .arena = arena};
  s.tables = SHARD_ARENA_ARRAY(arena, FunctionTable, problem->rules->nFunctions);
  s.seeded =
      SHARD_ARENA_ARRAY(arena, bool, problem->rules->nClasses ? problem->rules->nClasses : 1);
  s.uneven =
      SHARD_ARENA_ARRAY(arena, bool, problem->rules->nClasses ? problem->rules->nClasses : 1);
  const ShardFunctionInfo *entry = &problem->rules->functions[problem->entry];
  for (int32_t a = 0; a < entry->nArguments; ++a)
    if (entry->arguments[a] >= 0 && problem->entryArguments[a] >= 0) {
      const ShardValueInfo *value = &problem->rules->values[entry->arguments[a]];
      ShardState state = problem->entryArguments[a];
      markUneven(&s, value, state);
      for (int32_t k = 0; k <= shardStateSpan(state); ++k)
        s.seeded[value->atoms[shardStateHead(state) + k].klass] = true;
    }
  for (int32_t f = 0; f < problem->rules->nFunctions; ++f)
    buildTable(&s, f);
  markPinnedClasses(&s);
  markWindowClasses(&s);
  return s;
}

ShardAxisSolution *shardAxisSolve(const ShardAxisProblem *problem, ShardArena *arena) {
  Solver s = makeSolver(problem, arena);
  ShardInstance *entry = solveFunction(&s, problem->entry, problem->entryArguments, NULL);
  // Search leaves instances behind that no call uses in the end: keep what the entry reaches.
  ShardAxisSolution *solution = SHARD_ARENA_NEW(arena, ShardAxisSolution);
  bool *reached = SHARD_ARENA_ARRAY(arena, bool, s.nInstances);
  for (int32_t i = s.nInstances - 1; i >= 0; --i) {
    if (s.instances[i] == entry)
      reached[i] = true;
    if (!reached[i])
      continue;
    const ShardFunctionInfo *info = &s.rules->functions[s.instances[i]->function];
    for (int32_t o = 0; o < info->nOps; ++o)
      if (s.instances[i]->callees[o] >= 0)
        reached[s.instances[i]->callees[o]] = true;
    for (int32_t o = 0; o < info->nOps; ++o)
      if (s.instances[i]->others[o] >= 0)
        reached[s.instances[i]->others[o]] = true;
  }
  int32_t *renumber = SHARD_ARENA_ARRAY(arena, int32_t, s.nInstances);
  solution->instances = SHARD_ARENA_ARRAY(arena, ShardInstance *, s.nInstances);
  for (int32_t i = 0; i < s.nInstances; ++i)
    if (reached[i]) {
      renumber[i] = solution->nInstances;
      solution->instances[solution->nInstances++] = s.instances[i];
    }
  for (int32_t i = 0; i < solution->nInstances; ++i) {
    const ShardFunctionInfo *info = &s.rules->functions[solution->instances[i]->function];
    for (int32_t o = 0; o < info->nOps; ++o)
      if (solution->instances[i]->callees[o] >= 0)
        solution->instances[i]->callees[o] = renumber[solution->instances[i]->callees[o]];
    for (int32_t o = 0; o < info->nOps; ++o)
      if (solution->instances[i]->others[o] >= 0)
        solution->instances[i]->others[o] = renumber[solution->instances[i]->others[o]];
  }
  solution->entry = entry;
  return solution;
}

void shardAxisVisitEdges(const ShardAxisProblem *problem, const ShardAxisSolution *solution,
                         ShardArena *arena, void (*visit)(void *user, const ShardEdge *edge),
                         void *user) {
  Solver s = makeSolver(problem, arena);
  s.instances = solution->instances, s.nInstances = solution->nInstances;
  for (int32_t i = 0; i < solution->nInstances; ++i) {
    const ShardInstance *instance = solution->instances[i];
    const FunctionTable *t = &s.tables[instance->function];
    for (int32_t v = 0; v < t->nValues; ++v) {
      SeenStates seen = {0};
      ShardState from = instance->states[v];
      for (int32_t u = t->useStart[v]; u < t->useStart[v + 1]; ++u) {
        ShardState to = operandDemand(&s, instance, t->uses[u].op, t->uses[u].operand);
        if (to == from || from == SHARD_STATE_WHOLE || !isNewState(&seen, to))
          continue;
        ShardEdge edge = {.function = instance->function,
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
