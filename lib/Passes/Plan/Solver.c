//===- Solver.c - What is fixed while one axis is solved ----------*- C -*-===//
// See Solver.h.
//===----------------------------------------------------------------------===//

#include "Solver.h"

#include <string.h>

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

static void buildTable(ShardSolver *s, int32_t function) {
  ShardFunctionTable *t = &s->tables[function];
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
  t->uses = SHARD_ARENA_ARRAY(s->arena, ShardUse, nUses ? nUses : 1);
  int32_t *next = SHARD_ARENA_ARRAY(s->arena, int32_t, t->nValues ? t->nValues : 1);
  memcpy(next, t->useStart, (size_t)t->nValues * sizeof(int32_t));
  for (int32_t o = 0; o < info->nOps; ++o)
    for (int32_t p = 0; p < info->ops[o].nOperands; ++p)
      t->uses[next[info->ops[o].operands[p].value - t->first]++] = (ShardUse){o, p};
  t->handings = SHARD_ARENA_ARRAY(s->arena, int32_t, t->nValues ? t->nValues : 1);
  for (int32_t v = 0; v < t->nValues; ++v)
    t->handings[v] = 1;
}

/// The calls of a function, and how many values they hand over for one argument of it.
typedef struct Handings {
  int64_t calls, values;
  int32_t last, nLast; // the value counted last, and the calls seen that take it
  int32_t count;       // of the first of these
} Handings;

/// A call that stands for others hands over as many values, unless others take its value too.
static void addHanding(Handings *h, int32_t value, int32_t count) {
  if (h->last != value)
    h->last = value, h->nLast = 0;
  h->calls += count;
  if (h->nLast == 0)
    h->values += count, h->count = count;
  else if (h->nLast == 1)
    h->values += 1 - h->count;
  ++h->nLast;
}

/// Finds of each argument how many calls hand the same value over (a mask that all layers read).
static void markHandings(ShardSolver *s) {
  const ShardRules *rules = s->rules;
  Handings *handings = SHARD_ARENA_ARRAY(s->arena, Handings, rules->nValues + 1);
  for (int32_t v = 0; v < rules->nValues; ++v)
    handings[v].last = -1;
  for (int32_t v = 0; v < rules->nValues; ++v) {
    int32_t function = rules->values[v].function;
    const ShardFunctionTable *t = &s->tables[function];
    for (int32_t u = t->useStart[v - t->first]; u < t->useStart[v - t->first + 1]; ++u) {
      const ShardOpRule *rule = &rules->functions[function].ops[t->uses[u].op];
      const ShardPort *port = &rule->operands[t->uses[u].operand];
      if (rule->form != SHARD_OP_CALL || port->apart)
        continue;
      int32_t argument = rules->functions[rule->callee].arguments[port->operandIndex];
      if (argument >= 0)
        addHanding(&handings[argument], v, rule->count);
    }
  }
  for (int32_t v = 0; v < rules->nValues; ++v)
    if (handings[v].values > 0) {
      ShardFunctionTable *t = &s->tables[rules->values[v].function];
      t->handings[v - t->first] = (int32_t)(handings[v].calls / handings[v].values);
    }
}

bool shardCanSplit(const ShardSolver *s, int32_t function, int32_t op, ShardState choice) {
  const ShardAxisProblem *problem = s->problem;
  const ShardFactor *f = shardChoiceFactor(&s->rules->functions[function].ops[op], choice);
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

int32_t shardInstanceNumber(const ShardSolver *s, const ShardInstance *instance) {
  for (int32_t i = 0; i < s->nInstances; ++i)
    if (s->instances[i] == instance)
      return i;
  return -1;
}

ShardState shardPinnedState(const ShardSolver *s, int32_t function, const ShardOpRule *rule) {
  if (!s->problem->pinned || rule->nResults == 0)
    return FREE;
  return s->problem->pinned[function][rule->results[0].value - s->tables[function].first];
}

static void markUneven(ShardSolver *s, const ShardValueInfo *value, ShardState state) {
  for (int32_t k = 0; state >= 0 && k <= shardStateSpan(state); ++k)
    s->uneven[value->atoms[shardStateHead(state) + k].klass] = true;
}

/// Adds the classes that annotations of results and of values inside split.
static void markPinnedClasses(ShardSolver *s) {
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
static void markWindowClasses(ShardSolver *s) {
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
              const ShardPort *port = shardRulePort(rule, i);
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

ShardSolver shardSolverMake(const ShardAxisProblem *problem, ShardArena *arena) {
  ShardSolver s = {.problem = problem, .rules = problem->rules, .arena = arena};
  s.tables = SHARD_ARENA_ARRAY(arena, ShardFunctionTable, problem->rules->nFunctions);
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
  markHandings(&s);
  markPinnedClasses(&s);
  markWindowClasses(&s);
  return s;
}
