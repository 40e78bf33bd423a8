//===- TensorTrial.c - What a plan of the tensor axis comes to ----*- C -*-===//
// Each sub-axis is solved with the weights split as the plan says. Legal is what communicates as an
// expert's layers would: sums of the hidden state, or of something smaller, and never a weight. Of
// the logits, which a vocabulary splits, a loss may take any statistic.
//===----------------------------------------------------------------------===//

#include "TensorSearch.h"

#include <string.h>

typedef struct EdgeCheck {
  const ShardModel *model;
  uint8_t *gathered; // [entry arguments] weights that would have to be gathered
  bool statistics;   // ShardTensorSearch.statistics
  bool legal;
  int64_t entrySums; // bytes of hidden states summed outside layers
} EdgeCheck;

/// Marks the entry's arguments that a moved weight of some function comes from, in any call.
static void markSources(const ShardModel *model, int32_t value, uint8_t *marked) {
  const ShardRules *rules = model->rules;
  for (;;) {
    const ShardValueInfo *info = &rules->values[value];
    if (info->definition >= 0) { // through the op that moves it, along its one weight operand
      const ShardOpRule *rule = &rules->functions[info->function].ops[info->definition];
      int32_t next = -1;
      for (int32_t p = 0; p < rule->nOperands; ++p)
        if (model->weight[rule->operands[p].value])
          next = rule->operands[p].value;
      if (next < 0)
        return;
      value = next;
      continue;
    }
    if (info->function == model->entry) {
      marked[info->number] = 1;
      return;
    }
    for (int32_t f = 0; f < rules->nFunctions; ++f)
      for (int32_t o = 0; o < rules->functions[f].nOps; ++o) {
        const ShardOpRule *rule = &rules->functions[f].ops[o];
        for (int32_t g = 0; rule->form == SHARD_OP_LOOP && g < rule->nBodies; ++g)
          for (int32_t p = 0; rule->bodies[g].callee == info->function && p < rule->nOperands; ++p)
            if (rule->operands[p].operandIndex < 0 &&
                rule->operands[p].slot == rule->bodies[g].argumentSlots[info->number])
              markSources(model, rule->operands[p].value, marked);
        if (rule->form != SHARD_OP_CALL || rule->callee != info->function)
          continue;
        for (int32_t p = 0; p < rule->nOperands; ++p)
          if (rule->operands[p].operandIndex == info->number)
            markSources(model, rule->operands[p].value, marked);
      }
    return;
  }
}

/// Is a value computed by way of a product? Weights are not, nor are their rows that are looked up
/// (an expert's). Looks at `*budget` ops at most.
static bool comesOfProduct(const ShardModel *model, int32_t v, int32_t *budget) {
  const ShardValueInfo *value = &model->rules->values[v];
  if (model->weight[v] || --*budget < 0)
    return false;
  if (value->definition < 0)
    return value->function != model->entry;
  const ShardOpRule *rule = &model->rules->functions[value->function].ops[value->definition];
  bool product = rule->contraction || rule->form == SHARD_OP_CALL || rule->form == SHARD_OP_LOOP;
  if (product || shardModelLooksUpWeight(model, rule))
    return product;
  for (int32_t p = 0; p < rule->nOperands && !product; ++p)
    product = !rule->operands[p].init && comesOfProduct(model, rule->operands[p].value, budget);
  return product;
}

/// Does an op multiply what comes of products, as scores are made: as matrices, each with
/// dimensions of its own?
static bool multipliesActivations(const ShardModel *model, const ShardOpRule *rule) {
  bool products = rule->contraction, own = false;
  for (int32_t p = 0; p < rule->nOperands && products; ++p) {
    int32_t budget = 256;
    products = rule->operands[p].init || comesOfProduct(model, rule->operands[p].value, &budget);
    for (int32_t f = 0; f < rule->nFactors && !rule->operands[p].init; ++f)
      own |= rule->factors[f].kind == SHARD_FACTOR_PARALLEL &&
             !shardPortHasFactor(model->rules, &rule->operands[p], f);
  }
  return own && products;
}

/// Is a partial value a sum within a product of activations, or does it come of one? Looks at
/// `*budget` ops at most.
static bool comesOfActivations(const ShardModel *model, const ShardInstance *instance, int32_t v,
                               int32_t *budget) {
  const ShardRules *rules = model->rules;
  int32_t first = shardFunctionFirstValue(rules, instance->function);
  int32_t o = rules->values[v].definition;
  if (o < 0 || --*budget < 0)
    return false;
  const ShardOpRule *rule = &rules->functions[instance->function].ops[o];
  if (instance->choices[o] != SHARD_CHOICE_PASS)
    return multipliesActivations(model, rule);
  bool found = false;
  for (int32_t p = 0; p < rule->nOperands && !found; ++p)
    found = instance->states[rule->operands[p].value - first] == SHARD_STATE_PARTIAL &&
            comesOfActivations(model, instance, rule->operands[p].value, budget);
  return found;
}

static void checkEdge(void *user, const ShardEdge *edge) {
  EdgeCheck *check = user;
  const ShardValueInfo *value = &check->model->rules->values[edge->value];
  if (check->model->weight[edge->value])
    markSources(check->model, edge->value, check->gathered);
  bool reduction = edge->from == SHARD_STATE_PARTIAL && edge->to == SHARD_STATE_WHOLE &&
                   (check->statistics || edge->combiner == SHARD_COMBINER_SUM);
  int32_t budget = 256;
  if (!reduction || !shardModelWithinHidden(check->model, value) ||
      (check->model->nHidden == 0 &&
       comesOfActivations(check->model, edge->instance, edge->value, &budget)))
    check->legal = false;
  if (edge->function == check->model->entry && reduction &&
      shardModelHiddenSized(check->model, value))
    check->entrySums += value->bytes * value->count;
}

static bool isBarred(const ShardTensorPlan *plan, int32_t argument, int32_t klass) {
  for (const ShardBarredWeight *weight = plan->barred; weight; weight = weight->next)
    if (weight->argument == argument && weight->klass == klass)
      return true;
  return false;
}

int32_t shardTensorPlanAtom(const ShardTensorPlan *plan, int32_t argument, int32_t subAxis) {
  const ShardModel *model = plan->model;
  int32_t v = model->rules->functions[model->entry].arguments[argument];
  if (v < 0 || (!model->weight[v] && model->ties[argument].result < 0))
    return -1;
  const ShardValueInfo *value = &model->rules->values[v];
  for (int32_t i = 0; i < value->nAtoms; ++i) {
    int32_t c = value->atoms[i].klass;
    if (plan->begin[c] <= subAxis && subAxis < plan->end[c] && !isBarred(plan, argument, c))
      return i;
  }
  return -1;
}

int32_t *shardTensorPlanAtoms(const ShardModel *model, const ShardTensorPlan *plan, int32_t subAxis,
                              ShardArena *arena) {
  int32_t n = plan->model->nArguments;
  int32_t *atoms = SHARD_ARENA_ARRAY(arena, int32_t, n + 1);
  for (int32_t a = 0; a < n; ++a)
    atoms[a] = shardTensorPlanAtom(plan, a, subAxis);
  if (plan->model == model)
    return atoms;
  int32_t *all = SHARD_ARENA_ARRAY(arena, int32_t, model->nArguments + 1);
  for (int32_t a = 0; a < model->nArguments; ++a)
    all[a] = atoms[model->fold->argumentOf[a]];
  return all;
}

static ShardState *seedArguments(const ShardTensorSearch *s, const ShardTensorPlan *plan,
                                 int32_t subAxis) {
  int32_t n = s->model->nArguments;
  ShardState *seeds = SHARD_ARENA_ARRAY(s->arena, ShardState, n ? n : 1);
  for (int32_t a = 0; a < n; ++a)
    seeds[a] = s->keptWhole[a] ? SHARD_STATE_WHOLE
                               : (ShardState)shardTensorPlanAtom(plan, a, subAxis); // -1: whole
  return seeds;
}

/// On how many sub-axes a product of activations is split.
typedef struct SplitCount {
  int32_t total, last;
} SplitCount;

static void countSplits(const ShardModel *model, const ShardAxisSolution *solution, bool again,
                        SplitCount *const *splits) {
  const ShardRules *rules = model->rules;
  for (int32_t i = 0; i < solution->nInstances; ++i) {
    const ShardInstance *instance = solution->instances[i];
    const ShardFunctionInfo *info = &rules->functions[instance->function];
    for (int32_t o = 0; o < info->nOps; ++o) {
      const ShardOpRule *rule = &info->ops[o];
      bool weight = !rule->contraction;
      for (int32_t p = 0; p < rule->nOperands; ++p)
        weight |= shardBringsColumns(model, rule, p);
      if (weight)
        continue;
      SplitCount *count = &splits[instance->function][o];
      if (again)
        count->total -= count->last; // the first attempt on this sub-axis does not count
      count->last = instance->choices[o] >= 0;
      count->total += count->last;
    }
  }
}

/// `parts[function][flat factor]` times the ranks over which a solution splits the factor.
static void multiplyParts(const ShardRules *rules, const ShardAxisSolution *solution, int64_t size,
                          int64_t *const *parts) {
  uint8_t *seen = SHARD_ARENA_ARRAY(rules->arena, uint8_t, rules->nFunctions);
  for (int32_t i = 0; i < solution->nInstances; ++i) {
    const ShardInstance *instance = solution->instances[i];
    if (seen[instance->function]++)
      continue; // another signature of the same function costs about the same
    const ShardFunctionInfo *info = &rules->functions[instance->function];
    int64_t at = 0;
    for (int32_t o = 0; o < info->nOps; at += info->ops[o++].nFactors)
      if (instance->choices[o] >= 0)
        parts[instance->function][at + instance->choices[o]] *= size;
  }
}

/// Flops of the contractions of a rank whose shards are all filled.
static int64_t localFlops(const ShardRules *rules, int32_t entry, int64_t *const *parts) {
  int64_t total = 0;
  int64_t *calls = SHARD_ARENA_ARRAY(rules->arena, int64_t, rules->nFunctions);
  calls[entry] = 1;
  for (int32_t f = rules->nFunctions - 1; f >= 0; --f) { // callers before callees
    int64_t at = 0;
    for (int32_t o = 0; o < rules->functions[f].nOps; ++o) {
      const ShardOpRule *rule = &rules->functions[f].ops[o];
      if (rule->form == SHARD_OP_CALL)
        calls[rule->callee] += calls[f] * rule->count;
      for (int32_t g = 0; rule->form == SHARD_OP_LOOP && g < rule->nBodies; ++g)
        calls[rule->bodies[g].callee] += calls[f] * rule->trips;
      int64_t flops = rule->contraction ? rule->flops : 0;
      for (int32_t k = 0; k < rule->nFactors; ++k, ++at)
        flops =
            flops / rule->factors[k].size * shardCeilDivide(rule->factors[k].size, parts[f][at]);
      total += calls[f] * flops;
    }
  }
  return total;
}

/// What making split results whole sends, or bringing the updated form of a state to where the
/// state lies.
static int64_t resultBytes(const ShardModel *model, const ShardAxisProblem *problem,
                           const ShardInstance *entry) {
  const ShardRules *rules = model->rules;
  const ShardFunctionInfo *info = &rules->functions[entry->function];
  const ShardOpRule *ret = &info->ops[info->nOps - 1];
  int64_t bytes = 0;
  for (int32_t p = 0; p < ret->nOperands; ++p) {
    int32_t number = ret->operands[p].operandIndex;
    ShardState to = SHARD_STATE_WHOLE;
    for (int32_t a = 0; a < model->nArguments; ++a)
      if (model->ties[a].result == number)
        to = problem->entryArguments[a];
    if (entry->results[number] != to)
      bytes += shardStateReshardBytes(&rules->values[ret->operands[p].value], problem->size,
                                      entry->results[number], to);
  }
  return bytes;
}

bool shardTensorEvaluate(ShardTensorSearch *s, const ShardTensorPlan *plan, ShardTensorTrial *out) {
  const ShardModel *model = s->model;
  const ShardFunctionInfo *entry = &model->rules->functions[model->entry];
  *out = (ShardTensorTrial){
      .gathered = SHARD_ARENA_ARRAY(s->arena, uint8_t, entry->nArguments ? entry->nArguments : 1)};
  const ShardRules *rules = model->rules;
  EdgeCheck check = {
      .model = model, .statistics = s->statistics, .gathered = out->gathered, .legal = true};
  SplitCount **splits = SHARD_ARENA_ARRAY(s->arena, SplitCount *, model->rules->nFunctions);
  int64_t **split = SHARD_ARENA_ARRAY(s->arena, int64_t *, model->rules->nFunctions);
  for (int32_t f = 0; f < model->rules->nFunctions; ++f) {
    splits[f] = SHARD_ARENA_ARRAY(s->arena, SplitCount, model->rules->functions[f].nOps);
    int32_t total;
    shardFactorOffsets(rules, f, s->arena, &total);
    split[f] = SHARD_ARENA_ARRAY(s->arena, int64_t, total ? total : 1);
    for (int32_t k = 0; k < total; ++k)
      split[f][k] = 1;
  }
  int64_t *parts = SHARD_ARENA_ARRAY(s->arena, int64_t, entry->nArguments ? entry->nArguments : 1);
  for (int32_t a = 0; a < entry->nArguments; ++a)
    parts[a] = 1;
  for (int32_t axis = 0; axis < plan->nSubAxes && check.legal; ++axis) {
    for (int32_t f = 0; f < rules->nFunctions; ++f) {
      int64_t at = 0;
      for (int32_t o = 0; o < rules->functions[f].nOps; ++o)
        for (int32_t k = 0; k < rules->functions[f].ops[o].nFactors; ++k) {
          int32_t c = rules->functions[f].ops[o].factors[k].klass;
          int64_t used = 1;
          for (int32_t b = plan->begin[c]; b < axis && b < plan->end[c]; ++b)
            used *= plan->sizes[b];
          s->used[f][at++] = used;
        }
    }
    const ShardState *seeds = seedArguments(s, plan, axis);
    for (int32_t a = 0; a < entry->nArguments; ++a)
      if (seeds[a] >= 0) {
        const ShardValueInfo *value = &rules->values[entry->arguments[a]];
        int64_t left = value->bytes / parts[a];
        out->splitBytes += (left - left / plan->sizes[axis]) * value->count;
        parts[a] *= plan->sizes[axis];
      }
    ShardAxisProblem problem = {.rules = rules,
                                .size = plan->sizes[axis],
                                .used = s->used,
                                .pinned = s->pinned,
                                .entry = model->entry,
                                .entryArguments = seeds,
                                .weight = model->weight};
    // The first guess is usually legal; the search decides about the others.
    ShardAxisSolution *solution = NULL;
    for (int32_t attempt = 0; attempt < 2; ++attempt) {
      problem.search = attempt > 0;
      solution = shardAxisSolve(&problem, s->arena);
      s->unsettled |= !solution->settled;
      check.legal = !solution->entry->cost.forbidden && !solution->entry->cost.repeated;
      check.entrySums = 0;
      memset(out->gathered, 0, (size_t)entry->nArguments);
      shardAxisVisitEdges(&problem, solution, s->arena, checkEdge, &check);
      countSplits(model, solution, attempt > 0, splits);
      if (check.legal)
        break;
    }
    multiplyParts(rules, solution, plan->sizes[axis], split);
    out->sentBytes += solution->entry->cost.bytes + resultBytes(model, &problem, solution->entry);
    if (check.entrySums > out->entrySums)
      out->entrySums = check.entrySums;
  }
  // Scores, say, are then repeated on the ranks of the other sub-axes.
  for (int32_t f = 0; f < rules->nFunctions; ++f)
    for (int32_t o = 0; o < rules->functions[f].nOps; ++o)
      out->repeating += splits[f][o].total && splits[f][o].total != plan->nSubAxes;
  out->flops = localFlops(rules, model->entry, split);
  return check.legal;
}

static void bar(ShardTensorSearch *s, ShardTensorPlan *plan, int32_t argument, int32_t klass) {
  ShardBarredWeight *weight = SHARD_ARENA_NEW(s->arena, ShardBarredWeight);
  *weight = (ShardBarredWeight){argument, klass, plan->barred};
  plan->barred = weight;
}

/// Evaluates a trial that adds class `klass`. A weight that would have to be gathered for it (a
/// fused one whose pieces are cut otherwise) is left whole, if the others then come out right.
bool shardTensorTry(ShardTensorSearch *s, ShardTensorPlan *trial, int32_t klass,
                    ShardTensorTrial *out) {
  if (shardTensorEvaluate(s, trial, out))
    return true;
  bool any = false;
  for (int32_t a = 0; a < s->model->nArguments; ++a)
    if (out->gathered[a])
      bar(s, trial, a, klass), any = true;
  if (any && shardTensorEvaluate(s, trial, out))
    return true;
  // Nor need a state be split where that fits nothing else.
  const ShardValueInfo *values = s->model->rules->values;
  const int32_t *arguments = s->model->rules->functions[s->model->entry].arguments;
  bool states = false;
  for (int32_t a = 0; a < s->model->nArguments; ++a)
    for (int32_t i = 0; s->model->ties[a].result >= 0 && i < values[arguments[a]].nAtoms; ++i)
      if (values[arguments[a]].atoms[i].klass == klass) {
        bar(s, trial, a, klass), states = true;
        break;
      }
  return states && shardTensorEvaluate(s, trial, out);
}
