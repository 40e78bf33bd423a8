//===- Solve.c - Shardings of every value along one mesh axis -----*- C -*-===//
// See Solve.h. Local search over op choices, each evaluated on the whole function.
//===----------------------------------------------------------------------===//

#include "Solver.h"

#include "../Core/Diagnostics.h"

#include <string.h>

/// Ops that may be evaluated: about what the search takes, and what it may take once it is widened.
enum { MAX_SEARCH = 4000000 };

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

static ShardCost evaluate(ShardSolver *s, ShardFrame *frame, const ShardState *arguments) {
  const ShardFunctionInfo *info = frame->info;
  ShardInstance *instance = frame->instance;
  frame->work += info->nOps;
  shardStatesFill(instance->states, frame->table->nValues, SHARD_STATE_WHOLE);
  memset(instance->combiners, 0, (size_t)frame->table->nValues);
  for (int32_t i = 0; i < info->nArguments; ++i)
    if (info->arguments[i] >= 0)
      instance->states[info->arguments[i] - frame->table->first] = arguments[i];
  for (int32_t o = 0; o < info->nOps; ++o)
    instance->callees[o] = instance->others[o] = -1;
  for (int32_t o = 0; o < info->nOps; ++o)
    shardForwardOp(s, frame, o);
  shardSinkAndRaise(s, frame);
  return shardFrameCost(s, frame);
}

static ShardInstance *newInstance(ShardSolver *s, int32_t function, const ShardState *arguments,
                                  const ShardState *handed) {
  const ShardFunctionInfo *info = &s->rules->functions[function];
  const ShardFunctionTable *t = &s->tables[function];
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

static int64_t countDecisions(const ShardFrame *frame) {
  int64_t n = 0;
  for (int32_t o = 0; o < frame->info->nOps; ++o)
    n += frame->nOptions[o] > 1 ? frame->nOptions[o] - 1 : 0;
  return n;
}

/// What an evaluation chose, and between what: the next one overwrites it in the frame.
typedef struct KeptChoices {
  ShardState *choices;
  uint8_t *nOptions;
  ShardState (*options)[MAX_OPTIONS];
} KeptChoices;

static void keepChoices(const ShardFrame *frame, KeptChoices *kept) {
  size_t n = (size_t)frame->info->nOps;
  memcpy(kept->choices, frame->instance->choices, n * sizeof(*kept->choices));
  memcpy(kept->nOptions, frame->nOptions, n * sizeof(*kept->nOptions));
  memcpy(kept->options, frame->options, n * sizeof(*kept->options));
}

static bool isSpent(const ShardFrame *frame) {
  return frame->widened && frame->work >= frame->limit;
}

/// Flips one choice at a time while that lowers the cost.
static void searchChoices(ShardSolver *s, ShardFrame *frame, const ShardState *arguments,
                          ShardCost *best) {
  ShardState *forced = frame->forced;
  size_t nOps = (size_t)frame->info->nOps;
  KeptChoices kept = {
      .choices = SHARD_ARENA_ARRAY(s->arena, ShardState, nOps),
      .nOptions = SHARD_ARENA_ARRAY(s->arena, uint8_t, nOps),
      .options = shardArenaAllocateArray(s->arena, nOps, MAX_OPTIONS * sizeof(ShardState))};
  bool improved = true;
  for (int32_t round = 0; improved && round < 4; ++round) {
    improved = false;
    keepChoices(frame, &kept);
    for (int32_t o = 0; o < frame->info->nOps && !isSpent(frame); ++o) {
      ShardState saved = forced[o], bestChoice = FREE;
      for (int32_t k = 0; kept.nOptions[o] > 1 && k < kept.nOptions[o]; ++k) {
        ShardState c = kept.options[o][k];
        if (c == kept.choices[o])
          continue;
        forced[o] = c;
        ShardCost cost = evaluate(s, frame, arguments);
        if (frame->instance->choices[o] == c && shardCostCompare(&cost, best) < 0)
          *best = cost, bestChoice = c;
      }
      forced[o] = saved;
      if (bestChoice == FREE)
        continue;
      forced[o] = bestChoice;
      *best = evaluate(s, frame, arguments);
      keepChoices(frame, &kept);
      improved = true;
    }
    *best = evaluate(s, frame, arguments);
  }
}

/// Makes every op that may pass a partial sum on do so; returns whether there is any.
static bool forcePassing(ShardFrame *frame) {
  bool any = false;
  for (int32_t o = 0; o < frame->info->nOps; ++o)
    for (int32_t k = 0; frame->nOptions[o] > 1 && k < frame->nOptions[o]; ++k)
      if (frame->options[o][k] == SHARD_CHOICE_PASS)
        frame->forced[o] = SHARD_CHOICE_PASS, any = true;
  return any;
}

/// For each value of a function a set of the arguments, weights aside, that it is made from.
static uint64_t *findSources(const ShardSolver *s, const ShardFrame *frame) {
  const ShardFunctionInfo *info = frame->info;
  int32_t first = frame->table->first;
  uint64_t *sources = SHARD_ARENA_ARRAY(s->arena, uint64_t, frame->table->nValues + 1);
  for (int32_t a = 0; a < info->nArguments; ++a)
    if (info->arguments[a] >= 0 && !s->problem->weight[info->arguments[a]])
      sources[info->arguments[a] - first] = UINT64_C(1) << (a < 63 ? a : 63);
  for (int32_t o = 0; o < info->nOps; ++o) {
    uint64_t all = 0;
    for (int32_t p = 0; p < info->ops[o].nOperands; ++p)
      all |= sources[info->ops[o].operands[p].value - first];
    for (int32_t r = 0; r < info->ops[o].nResults; ++r)
      sources[info->ops[o].results[r].value - first] = all;
  }
  return sources;
}

/// Adds the products of values that are made from the same, one of them split, that are split along
/// what they sum, or that every rank does: the sum may be dearer than what both come from (tokens
/// and where they go).
static void addSums(const ShardSolver *s, const ShardFrame *frame, bool *sums) {
  const uint64_t *sources = findSources(s, frame);
  for (int32_t o = 0; o < frame->info->nOps; ++o) {
    const ShardOpRule *rule = &frame->info->ops[o];
    ShardState choice = frame->instance->choices[o];
    if (!rule->contraction || shardPinnedState(s, frame->function, rule) != FREE ||
        (choice >= 0 && !shardFactorIsCombined(shardChoiceFactor(rule, choice))))
      continue;
    bool split = false;
    uint64_t common = UINT64_MAX;
    for (int32_t p = 0; p < rule->nOperands; ++p) {
      int32_t v = rule->operands[p].value - frame->table->first;
      common &= rule->operands[p].init ? UINT64_MAX : sources[v];
      split |= frame->instance->states[v] >= 0;
    }
    sums[o] |= split && common != 0;
  }
}

/// Keeps what is forced if it lowers the cost; else, `saved` again.
static bool keepIfBetter(ShardSolver *s, ShardFrame *frame, const ShardState *arguments,
                         const ShardState *saved, ShardCost *best) {
  ShardCost cost = evaluate(s, frame, arguments);
  if (shardCostCompare(&cost, best) < 0) {
    *best = cost;
    return true;
  }
  memcpy(frame->forced, saved, (size_t)frame->info->nOps * sizeof(*saved));
  return false;
}

/// Splits op `op`, one of `sums`, along its factor `f`, or all contractions along the class of it.
/// Keeps that, and returns true, if it lowers the cost: with what else is forced, or with what is
/// of the sums alone.
static bool trySplitting(ShardSolver *s, ShardFrame *frame, const ShardState *arguments,
                         const bool *sums, int32_t op, int32_t f, bool together, ShardCost *best) {
  int32_t nOps = frame->info->nOps, klass = frame->info->ops[op].factors[f].klass;
  ShardState *saved = SHARD_ARENA_ARRAY(s->arena, ShardState, nOps);
  memcpy(saved, frame->forced, (size_t)nOps * sizeof(*saved));
  bool offered = frame->offered[klass], uneven = s->uneven[klass], better = false;
  frame->offered[klass] = s->uneven[klass] = true;
  for (int32_t alone = 0; alone < 2 && !better; ++alone) {
    for (int32_t o = 0; o < nOps; ++o) {
      const ShardOpRule *rule = &frame->info->ops[o];
      if (alone && !sums[o])
        frame->forced[o] = FREE;
      for (int32_t k = 0; k < rule->nFactors; ++k)
        if (o == op ? k == f : together && rule->contraction && rule->factors[k].klass == klass)
          frame->forced[o] = (ShardState)k;
    }
    better = keepIfBetter(s, frame, arguments, saved, best);
  }
  if (better)
    return true;
  frame->offered[klass] = offered, s->uneven[klass] = uneven;
  evaluate(s, frame, arguments);
  return false;
}

/// Splits the products `sums`, to which it adds, along what neither operand is split on, alone or
/// with all contractions along the same class, which no single flip may show to pay: tokens are
/// brought to an expert, or to some of the places that it has for them, and results back from
/// there; or each rank puts its part of all tokens' features in place. Returns whether that lowered
/// the cost.
static bool searchProducts(ShardSolver *s, ShardFrame *frame, const ShardState *arguments,
                           bool *sums, bool together, ShardCost *best) {
  bool *tried = SHARD_ARENA_ARRAY(s->arena, bool, s->rules->nClasses + 1), improved = false;
  addSums(s, frame, sums);
  for (int32_t o = 0; o < frame->info->nOps; ++o) {
    const ShardOpRule *rule = &frame->info->ops[o];
    for (int32_t f = 0; sums[o] && !isSpent(frame) && f < rule->nFactors; ++f) {
      int32_t klass = rule->factors[f].klass;
      if (rule->factors[f].kind != SHARD_FACTOR_PARALLEL || (together && tried[klass]) ||
          (s->problem->later && s->problem->later[klass]) || frame->instance->choices[o] == f)
        continue;
      tried[klass] = true;
      improved |= trySplitting(s, frame, arguments, sums, o, f, together, best);
    }
  }
  return improved;
}

/// Searches from the first guess, which cost `best` and had `nDecisions`.
static void searchFunction(ShardSolver *s, ShardFrame *frame, const ShardState *arguments,
                           int64_t nDecisions, ShardCost *best) {
  bool *sums = SHARD_ARENA_ARRAY(s->arena, bool, frame->info->nOps);
  addSums(s, frame, sums);
  // Passing sums on may pay only where several ops do it together.
  if (forcePassing(frame)) {
    ShardCost cost = evaluate(s, frame, arguments);
    if (shardCostCompare(&cost, best) >= 0) {
      shardStatesFill(frame->forced, frame->info->nOps, FREE);
      cost = evaluate(s, frame, arguments);
    }
    *best = cost;
  }
  if (nDecisions)
    searchChoices(s, frame, arguments, best);
  frame->widened = true; // from there on, so that it can only get better
  frame->limit = frame->work + MAX_SEARCH;
  *best = evaluate(s, frame, arguments);
  searchProducts(s, frame, arguments, sums, true, best);
  if (countDecisions(frame) > nDecisions)
    searchChoices(s, frame, arguments, best);
  for (int32_t round = 0; round < 4 && searchProducts(s, frame, arguments, sums, false, best);
       ++round)
    searchChoices(s, frame, arguments, best);
}

ShardInstance *shardSolveFunction(ShardSolver *s, int32_t function, const ShardState *arguments,
                                  const ShardState *handed) {
  const ShardFunctionInfo *info = &s->rules->functions[function];
  for (int32_t i = 0; i < s->nInstances; ++i)
    if (s->instances[i]->function == function &&
        sameHanded(s->instances[i]->handed, handed, info->nResults) &&
        memcmp(s->instances[i]->arguments, arguments,
               (size_t)info->nArguments * sizeof(*arguments)) == 0)
      return s->instances[i];
  const ShardFunctionTable *t = &s->tables[function];
  ShardInstance *instance = newInstance(s, function, arguments, handed);
  ShardState *forced = SHARD_ARENA_ARRAY(s->arena, ShardState, info->nOps);
  uint8_t *nOptions = SHARD_ARENA_ARRAY(s->arena, uint8_t, info->nOps);
  shardStatesFill(forced, info->nOps, FREE);
  ShardFrame frame = {.function = function,
                      .table = t,
                      .info = info,
                      .instance = instance,
                      .forced = forced,
                      .nOptions = nOptions,
                      .offered = SHARD_ARENA_ARRAY(s->arena, bool, s->rules->nClasses + 1),
                      .options = shardArenaAllocateArray(s->arena, (size_t)info->nOps,
                                                         MAX_OPTIONS * sizeof(ShardState))};
  ShardCost best = evaluate(s, &frame, arguments);
  int64_t nDecisions = countDecisions(&frame);
  // Work is bounded on huge flat functions.
  bool searches = s->problem->search && best.bytes > 0;
  if (searches && nDecisions * info->nOps >= MAX_SEARCH) {
    shardEmitRemark(info->func, "%d ops with %d choices between shardings: the first guess is kept",
                    (int)info->nOps, (int)nDecisions);
    searches = false;
  }
  if (searches)
    searchFunction(s, &frame, arguments, nDecisions, &best);
  if (isSpent(&frame))
    shardEmitRemark(info->func, "%d ops: the search between shardings ends with the best so far",
                    (int)info->nOps);
  instance->cost = best;
  const ShardOpRule *ret = &info->ops[info->nOps - 1];
  for (int32_t p = 0; p < ret->nOperands; ++p)
    instance->results[ret->operands[p].operandIndex] =
        shardSolverDemand(s, instance, info->nOps - 1, p);
  for (int32_t i = 0; i < info->nArguments; ++i)
    if (info->arguments[i] >= 0) {
      ShardState demand = shardCommonDemand(s, &frame, info->arguments[i] - t->first);
      if (demand >= SHARD_STATE_WHOLE && demand != arguments[i])
        instance->wanted[i] = demand;
    }
  s->instances = shardArenaGrow(s->arena, s->instances, (size_t)s->nInstances, &s->capacity,
                                (size_t)s->nInstances + 1, sizeof(ShardInstance *));
  s->instances[s->nInstances++] = instance;
  return instance;
}

/// Solves the problem on the rules that it is given.
static ShardAxisSolution *solveAsIs(const ShardAxisProblem *problem, ShardArena *arena) {
  ShardSolver s = shardSolverMake(problem, arena);
  ShardInstance *entry = shardSolveFunction(&s, problem->entry, problem->entryArguments, NULL);
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
  solution->settled = !s.unsettled;
  return solution;
}

//===----------------------------------------------------------------------===//
// With equal calls folded
//===----------------------------------------------------------------------===//

/// States by the numbers of the fold; false if some that one stands for differ.
static bool foldStates(const int32_t *of, int32_t n, const ShardState *states, ShardState *out) {
  for (int32_t i = 0; i < n; ++i)
    out[of[i]] = states[i];
  bool same = true;
  for (int32_t i = 0; i < n; ++i)
    same &= out[of[i]] == states[i];
  return same;
}

/// The problem on folded rules; false if calls that are folded differ in it.
static bool foldProblem(const ShardAxisProblem *problem, ShardArena *arena, ShardAxisProblem *out) {
  const ShardFold *fold = problem->fold;
  int32_t f = fold->function;
  size_t n = (size_t)fold->rules->nValues + 1;
  ShardState *arguments = SHARD_ARENA_ARRAY(arena, ShardState, n);
  *out = *problem;
  out->rules = fold->rules, out->fold = NULL;
  out->entryArguments = arguments, out->weight = fold->weight;
  if (problem->entry != f ||
      !foldStates(fold->argumentOf, fold->nArguments, problem->entryArguments, arguments))
    return false;
  if (!problem->pinned)
    return true;
  const ShardState **pinned = SHARD_ARENA_ARRAY(arena, const ShardState *, f + 1);
  memcpy(pinned, problem->pinned, (size_t)f * sizeof(*pinned));
  ShardState *own = SHARD_ARENA_ARRAY(arena, ShardState, n);
  pinned[f] = own;
  out->pinned = pinned;
  return foldStates(fold->valueOf, fold->nValues, problem->pinned[f], own);
}

/// The instance of the folded function as one of the function before.
static ShardInstance *unfoldInstance(const ShardFold *fold, const ShardInstance *folded,
                                     const ShardState *arguments, ShardArena *arena) {
  ShardInstance *instance = SHARD_ARENA_NEW(arena, ShardInstance);
  *instance = *folded;
  instance->arguments = arguments;
  instance->states = SHARD_ARENA_ARRAY(arena, ShardState, fold->nValues + 1);
  instance->combiners = SHARD_ARENA_ARRAY(arena, uint8_t, fold->nValues + 1);
  for (int32_t v = 0; v < fold->nValues; ++v) {
    instance->states[v] = folded->states[fold->valueOf[v]];
    instance->combiners[v] = folded->combiners[fold->valueOf[v]];
  }
  instance->choices = SHARD_ARENA_ARRAY(arena, ShardState, fold->nOps);
  instance->callees = SHARD_ARENA_ARRAY(arena, int32_t, fold->nOps);
  instance->others = SHARD_ARENA_ARRAY(arena, int32_t, fold->nOps);
  for (int32_t o = 0; o < fold->nOps; ++o) {
    instance->choices[o] = folded->choices[fold->opOf[o]];
    instance->callees[o] = folded->callees[fold->opOf[o]];
    instance->others[o] = folded->others[fold->opOf[o]];
  }
  instance->wanted = NULL; // no caller asks
  return instance;
}

/// Null when calls that the fold takes for equal come out different.
static ShardAxisSolution *solveFolded(const ShardAxisProblem *problem, ShardArena *arena) {
  ShardAxisProblem folded;
  if (!foldProblem(problem, arena, &folded))
    return NULL;
  ShardAxisSolution *solution = solveAsIs(&folded, arena);
  if (!solution->settled)
    return NULL;
  ShardInstance *entry =
      unfoldInstance(problem->fold, solution->entry, problem->entryArguments, arena);
  for (int32_t i = 0; i < solution->nInstances; ++i)
    if (solution->instances[i] == solution->entry)
      solution->instances[i] = entry;
  solution->entry = entry;
  return solution;
}

ShardAxisSolution *shardAxisSolve(const ShardAxisProblem *problem, ShardArena *arena) {
  ShardAxisSolution *solution = problem->fold ? solveFolded(problem, arena) : NULL;
  return solution ? solution : solveAsIs(problem, arena);
}
