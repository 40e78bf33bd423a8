//===- Tensor.c - Which dimensions of weights tensor parallelism splits -*- C -*-===//
// Classes of weight dimensions are tried in order of the bytes that splitting them saves; one is
// taken if, with those taken before, each layer still communicates as an expert's would: only sums
// of the hidden state, or of something smaller that a norm needs, and never a weight. A class that
// is smaller than the degree is split over a part of it and the next minor dimension takes the rest
// (grouped heads: key/value heads over tp.0, the query heads of a group over tp.1, keys and values
// replicated there). What does not divide is split unevenly, so that the most loaded rank has
// least; fewer heads than ranks share out the values of a head.
//===----------------------------------------------------------------------===//

#include "Model.h"

#include "Solve.h"

#include "../Core/IR.h"

#include "mlir-c/BuiltinAttributes.h"

#include <inttypes.h>
#include <string.h>

typedef struct Search {
  const ShardModel *model;
  ShardArena *arena;
  int64_t degree;
  ShardTensorPlan *plan;
  int64_t **used;
  const ShardState *const *pinned;
  bool unsettled;     // a folded call came out other than the one before it
  uint8_t *keptWhole; // [entry arguments] annotated by the user, and not with the tensor axis
} Search;

typedef struct EdgeCheck {
  const ShardModel *model;
  uint8_t *gathered; // [entry arguments] weights that would have to be gathered
  bool legal;
  int32_t entryReductions; // hidden-sized sums outside layers
} EdgeCheck;

/// Does every atom of `value` lie on a class of the hidden state, each class as often at most?
static bool withinHidden(const ShardModel *model, const ShardValueInfo *value) {
  if (model->hiddenValue < 0)
    return true;
  const ShardValueInfo *hidden = &model->rules->values[model->hiddenValue];
  if (value->nAtoms > hidden->nAtoms)
    return false;
  uint32_t taken = 0;
  for (int32_t a = 0; a < value->nAtoms; ++a) {
    bool found = false;
    for (int32_t h = 0; h < hidden->nAtoms && h < 32 && !found; ++h)
      if (!(taken >> h & 1) && hidden->atoms[h].klass == value->atoms[a].klass)
        taken |= 1u << h, found = true;
    if (!found)
      return false;
  }
  return true;
}

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

static void checkEdge(void *user, const ShardEdge *edge) {
  EdgeCheck *check = user;
  const ShardValueInfo *value = &check->model->rules->values[edge->value];
  if (check->model->weight[edge->value])
    markSources(check->model, edge->value, check->gathered);
  bool reduction = edge->from == SHARD_STATE_PARTIAL && edge->to == SHARD_STATE_WHOLE &&
                   edge->combiner == SHARD_COMBINER_SUM;
  if (!reduction || !withinHidden(check->model, value))
    check->legal = false;
  if (edge->function == check->model->entry && reduction)
    check->entryReductions += value->count;
}

static bool isBarred(const ShardTensorPlan *plan, int32_t argument, int32_t klass) {
  for (const ShardBarredWeight *weight = plan->barred; weight; weight = weight->next)
    if (weight->argument == argument && weight->klass == klass)
      return true;
  return false;
}

int32_t shardTensorPlanAtom(const ShardModel *model, const ShardTensorPlan *plan, int32_t argument,
                            int32_t subAxis) {
  if (plan->model != model) // the fold's
    argument = model->fold->argumentOf[argument], model = plan->model;
  int32_t v = model->rules->functions[model->entry].arguments[argument];
  if (v < 0 || !model->weight[v])
    return -1;
  const ShardValueInfo *value = &model->rules->values[v];
  for (int32_t i = 0; i < value->nAtoms; ++i) {
    int32_t c = value->atoms[i].klass;
    if (plan->begin[c] <= subAxis && subAxis < plan->end[c] && !isBarred(plan, argument, c))
      return i;
  }
  return -1;
}

static ShardState *seedArguments(const Search *s, const ShardTensorPlan *plan, int32_t subAxis) {
  int32_t n = s->model->nArguments;
  ShardState *seeds = SHARD_ARENA_ARRAY(s->arena, ShardState, n ? n : 1);
  for (int32_t a = 0; a < n; ++a)
    seeds[a] = s->keptWhole[a]
                   ? SHARD_STATE_WHOLE
                   : (ShardState)shardTensorPlanAtom(s->model, plan, a, subAxis); // -1: whole
  return seeds;
}

typedef struct Evaluation {
  int32_t entryReductions; // sums outside layers
  int64_t splitBytes;      // of weights, that a rank need not hold: what the plan is for
  int64_t flops;           // of the contractions of the most loaded rank
  int64_t sentBytes;       // by one rank
  int32_t repeating;       // products of activations split over a part of the axis only
  uint8_t *gathered;       // [entry arguments] weights that would have to be gathered
} Evaluation;

static bool hasFactor(const ShardRules *rules, const ShardPort *port, int32_t factor) {
  for (int32_t a = 0; a < rules->values[port->value].nAtoms; ++a)
    if (port->factors[a] == factor)
      return true;
  return false;
}

/// Is an operand of a product a weight that brings a dimension of its own (columns) to the result?
/// A bias that fusion moved into a product of activations is none.
static bool bringsColumns(const ShardModel *model, const ShardOpRule *rule, int32_t operand) {
  const ShardRules *rules = model->rules;
  if (!model->weight[rule->operands[operand].value])
    return false;
  for (int32_t f = 0; f < rule->nFactors; ++f) {
    if (rule->factors[f].kind == SHARD_FACTOR_REDUCTION ||
        !hasFactor(rules, &rule->operands[operand], f))
      continue;
    bool shared = false;
    for (int32_t p = 0; p < rule->nOperands; ++p)
      shared |= !model->weight[rule->operands[p].value] && !rule->operands[p].init &&
                hasFactor(rules, &rule->operands[p], f);
    if (!shared)
      return true;
  }
  return false;
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
        weight |= bringsColumns(model, rule, p);
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

static int64_t ceilDivide(int64_t a, int64_t b) { return a / b + (a % b != 0); }

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
        flops = flops / rule->factors[k].size * ceilDivide(rule->factors[k].size, parts[f][at]);
      total += calls[f] * flops;
    }
  }
  return total;
}

static bool evaluatePlan(Search *s, const ShardTensorPlan *plan, Evaluation *out) {
  const ShardModel *model = s->model;
  const ShardFunctionInfo *entry = &model->rules->functions[model->entry];
  *out = (Evaluation){
      .gathered = SHARD_ARENA_ARRAY(s->arena, uint8_t, entry->nArguments ? entry->nArguments : 1)};
  const ShardRules *rules = model->rules;
  EdgeCheck check = {.model = model, .gathered = out->gathered, .legal = true};
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
      check.entryReductions = 0;
      memset(out->gathered, 0, (size_t)entry->nArguments);
      shardAxisVisitEdges(&problem, solution, s->arena, checkEdge, &check);
      countSplits(model, solution, attempt > 0, splits);
      if (check.legal)
        break;
    }
    multiplyParts(rules, solution, plan->sizes[axis], split);
    out->sentBytes += solution->entry->cost.bytes;
    if (check.entryReductions > out->entryReductions)
      out->entryReductions = check.entryReductions;
  }
  // Scores, say, are then repeated on the ranks of the other sub-axes.
  for (int32_t f = 0; f < rules->nFunctions; ++f)
    for (int32_t o = 0; o < rules->functions[f].nOps; ++o)
      out->repeating += splits[f][o].total && splits[f][o].total != plan->nSubAxes;
  out->flops = localFlops(rules, model->entry, split);
  return check.legal;
}

static ShardTensorPlan *copyPlan(const Search *s, const ShardTensorPlan *plan) {
  ShardTensorPlan *copy = SHARD_ARENA_NEW(s->arena, ShardTensorPlan);
  size_t n = (size_t)(s->model->rules->nClasses ? s->model->rules->nClasses : 1);
  *copy = *plan;
  copy->begin = SHARD_ARENA_ARRAY(s->arena, int8_t, n);
  copy->end = SHARD_ARENA_ARRAY(s->arena, int8_t, n);
  memcpy(copy->begin, plan->begin, n);
  memcpy(copy->end, plan->end, n);
  return copy;
}

static void bar(Search *s, ShardTensorPlan *plan, int32_t argument, int32_t klass) {
  ShardBarredWeight *weight = SHARD_ARENA_NEW(s->arena, ShardBarredWeight);
  *weight = (ShardBarredWeight){argument, klass, plan->barred};
  plan->barred = weight;
}

/// Evaluates a trial that adds class `klass`. A weight that would have to be gathered for it (a
/// fused one whose pieces are cut otherwise) is left whole, if the others then come out right.
static bool tryPlan(Search *s, ShardTensorPlan *trial, int32_t klass, Evaluation *out) {
  if (evaluatePlan(s, trial, out))
    return true;
  bool any = false;
  for (int32_t a = 0; a < s->model->nArguments; ++a)
    if (out->gathered[a])
      bar(s, trial, a, klass), any = true;
  return any && evaluatePlan(s, trial, out);
}

/// Cuts the sub-axes so that one boundary lies after `product` ranks. False if none can.
static bool cutAt(const ShardModel *model, ShardTensorPlan *plan, int64_t product,
                  int32_t *outBoundary) {
  int64_t before = 1;
  for (int32_t axis = 0; axis < plan->nSubAxes; ++axis) {
    if (before == product) {
      *outBoundary = axis;
      return true;
    }
    if (before * plan->sizes[axis] > product) {
      if (product % before || (before * plan->sizes[axis]) % product || plan->nSubAxes >= 8)
        return false;
      int64_t major = product / before;
      for (int32_t k = plan->nSubAxes; k > axis + 1; --k)
        plan->sizes[k] = plan->sizes[k - 1];
      plan->sizes[axis + 1] = plan->sizes[axis] / major;
      plan->sizes[axis] = major;
      ++plan->nSubAxes;
      for (int32_t c = 0; c < model->rules->nClasses; ++c) {
        if (plan->begin[c] > axis)
          ++plan->begin[c];
        if (plan->end[c] > axis)
          ++plan->end[c];
      }
      *outBoundary = axis + 1;
      return true;
    }
    before *= plan->sizes[axis];
  }
  *outBoundary = plan->nSubAxes;
  return before == product;
}

bool shardTensorPlanCut(const ShardModel *model, ShardTensorPlan *plan, int64_t product) {
  int32_t boundary;
  return cutAt(model, plan, product, &boundary);
}

/// Is the class an index into a table (vocabulary), or kept with the sequence in a result?
static bool isVocabulary(const ShardModel *model, int32_t klass) {
  const ShardRules *rules = model->rules;
  const ShardFunctionInfo *info = &rules->functions[model->entry];
  for (int32_t o = 0; o < info->nOps; ++o) {
    const ShardOpRule *rule = &info->ops[o];
    for (int32_t f = 0; f < rule->nFactors; ++f)
      if (rule->factors[f].kind == SHARD_FACTOR_GATHER && rule->factors[f].klass == klass)
        return true;
    if (rule->form != SHARD_OP_RETURN)
      continue;
    for (int32_t p = 0; p < rule->nOperands; ++p) {
      const ShardValueInfo *value = &rules->values[rule->operands[p].value];
      bool sequence = false, here = false;
      for (int32_t a = 0; a < value->nAtoms; ++a) {
        sequence |= model->sequence[value->atoms[a].klass];
        here |= value->atoms[a].klass == klass;
      }
      if (here && sequence)
        return true;
    }
  }
  return false;
}

/// Is `value`, moved out of a table, multiplied as a matrix of the table's own dimensions: one
/// summed over, another that it brings to the product? A row of an embedding is not.
static bool multipliesAsMatrix(const ShardModel *model, const ShardFunctionInfo *info, int32_t op,
                               const ShardValueInfo *table) {
  const ShardRules *rules = model->rules;
  ShardArena *arena = shardArenaCreate();
  uint8_t *moved = SHARD_ARENA_ARRAY(arena, uint8_t, rules->nValues + 1);
  for (int32_t r = 0; r < info->ops[op].nResults; ++r)
    moved[info->ops[op].results[r].value] = 1;
  bool found = false;
  for (int32_t o = op + 1; o < info->nOps && !found; ++o) {
    const ShardOpRule *rule = &info->ops[o];
    for (int32_t p = 0; p < rule->nOperands; ++p) {
      const ShardPort *port = &rule->operands[p];
      if (!moved[port->value])
        continue;
      for (int32_t r = 0; rule->movement && r < rule->nResults; ++r)
        moved[rule->results[r].value] = 1;
      bool summed = false, brought = false;
      for (int32_t a = 0; rule->contraction && a < rules->values[port->value].nAtoms; ++a) {
        int32_t factor = port->factors[a];
        bool own = false, shared = false;
        for (int32_t t = 0; t < table->nAtoms; ++t)
          own |= table->atoms[t].klass == rules->values[port->value].atoms[a].klass;
        for (int32_t q = 0; q < rule->nOperands; ++q)
          shared |=
              q != p && !rule->operands[q].init && hasFactor(rules, &rule->operands[q], factor);
        summed |= own && factor >= 0 && rule->factors[factor].kind == SHARD_FACTOR_REDUCTION;
        brought |=
            own && factor >= 0 && rule->factors[factor].kind == SHARD_FACTOR_PARALLEL && !shared;
      }
      found |= summed && brought;
    }
  }
  shardArenaDestroy(arena);
  return found;
}

/// Does the op read whole matrices of weights by an index of the class?
static bool looksUpMatrices(const ShardModel *model, const ShardFunctionInfo *info, int32_t op,
                            int32_t klass) {
  const ShardRules *rules = model->rules;
  const ShardOpRule *rule = &info->ops[op];
  for (int32_t p = 0; p < rule->nOperands; ++p) {
    const ShardPort *port = &rule->operands[p];
    const ShardValueInfo *table = &rules->values[port->value];
    bool indexed = false;
    for (int32_t a = 0; a < table->nAtoms; ++a) {
      const ShardFactor *factor = port->factors[a] < 0 ? NULL : &rule->factors[port->factors[a]];
      indexed |= factor && factor->kind == SHARD_FACTOR_GATHER && factor->klass == klass;
    }
    if (indexed && model->weight[port->value] && multipliesAsMatrix(model, info, op, table))
      return true;
  }
  return false;
}

bool shardModelCountsExperts(const ShardModel *model, int32_t klass) {
  const ShardRules *rules = model->rules;
  for (int32_t f = 0; f < rules->nFunctions; ++f)
    for (int32_t o = 0; o < rules->functions[f].nOps; ++o) {
      const ShardOpRule *rule = &rules->functions[f].ops[o];
      if (looksUpMatrices(model, &rules->functions[f], o, klass))
        return true;
      if (!rule->contraction)
        continue;
      for (int32_t k = 0; k < rule->nFactors; ++k) {
        if (rule->factors[k].klass != klass || rule->factors[k].kind != SHARD_FACTOR_PARALLEL)
          continue;
        bool inWeight = false, inOther = false;
        for (int32_t p = 0; p < rule->nOperands; ++p) {
          const ShardPort *port = &rule->operands[p];
          if (port->init || !hasFactor(rules, port, k))
            continue;
          inWeight |= bringsColumns(model, rule, p);
          inOther |= !model->weight[port->value];
        }
        if (inWeight && inOther)
          return true;
      }
    }
  return false;
}

/// Values of the entry that reach a call through ops that move weights; null when there is no
/// layer. Weights that only the entry's own ops use belong to embedding and head.
static uint8_t *findLayerValues(const ShardModel *model, ShardArena *arena) {
  const ShardRules *rules = model->rules;
  if (rules->nFunctions == 1)
    return NULL;
  uint8_t *reaches = SHARD_ARENA_ARRAY(arena, uint8_t, rules->nValues + 1);
  const ShardFunctionInfo *info = &rules->functions[model->entry];
  for (int32_t o = info->nOps - 1; o >= 0; --o) {
    const ShardOpRule *rule = &info->ops[o];
    bool wanted = rule->form == SHARD_OP_CALL || rule->form == SHARD_OP_LOOP;
    for (int32_t r = 0; r < rule->nResults; ++r)
      wanted |= reaches[rule->results[r].value] && model->weight[rule->results[r].value];
    for (int32_t p = 0; wanted && p < rule->nOperands; ++p)
      reaches[rule->operands[p].value] = 1;
  }
  return reaches;
}

typedef struct Candidate {
  int32_t klass;
  int64_t bytes;
  bool vocabulary;
  int64_t sent; // where the hidden state is not known, what splitting only this class would send
} Candidate;

/// Layers' classes before vocabularies; then what sends less, where that was tried; then by bytes.
static bool comesBefore(const Candidate *a, const Candidate *b) {
  if (a->vocabulary != b->vocabulary)
    return b->vocabulary;
  return a->sent != b->sent ? a->sent < b->sent : a->bytes > b->bytes;
}

/// The class of the next minor atom of the same dimension, where a weight's atom `atom` is of
/// `klass` and that class is free to be split along with it; -1 if none.
static int32_t minorClass(const Search *s, const ShardValueInfo *value, int32_t atom,
                          int32_t klass) {
  if (atom + 1 >= value->nAtoms || value->atoms[atom].klass != klass ||
      value->atoms[atom + 1].dim != value->atoms[atom].dim)
    return -1;
  int32_t minor = value->atoms[atom + 1].klass;
  bool free = minor != klass && s->plan->begin[minor] == s->plan->end[minor];
  return free && !s->model->hidden[minor] ? minor : -1;
}

/// Neighbouring atoms of a weight's dimension, major first, and the ranks that split each: together
/// the whole degree.
enum { CHAIN_LINKS = 3 };
typedef struct Chain {
  int32_t n;
  int32_t classes[CHAIN_LINKS];
  int64_t parts[CHAIN_LINKS];
} Chain;

/// `plan` with the classes of the chain split over sub-axes, major first; null if these cannot be
/// cut there.
static ShardTensorPlan *splitOver(const Search *s, const Chain *chain) {
  ShardTensorPlan *trial = copyPlan(s, s->plan);
  int32_t begin = 0, end;
  int64_t ranks = 1;
  for (int32_t i = 0; i < chain->n; ++i, begin = end) {
    ranks *= chain->parts[i];
    end = trial->nSubAxes;
    if (ranks != s->degree && !cutAt(s->model, trial, ranks, &end))
      return NULL;
    trial->begin[chain->classes[i]] = (int8_t)begin, trial->end[chain->classes[i]] = (int8_t)end;
  }
  return trial;
}

static ShardTensorPlan *splitWhole(const Search *s, int32_t klass) {
  return splitOver(s, &(Chain){1, {klass}, {s->degree}});
}

/// What one rank holds of the weights, padding included.
static int64_t localWeightBytes(const Search *s, const ShardTensorPlan *plan) {
  const ShardModel *model = s->model;
  const ShardFunctionInfo *info = &model->rules->functions[model->entry];
  int64_t total = 0;
  for (int32_t a = 0; a < info->nArguments; ++a) {
    if (info->arguments[a] < 0 || !model->weight[info->arguments[a]])
      continue;
    const ShardValueInfo *value = &model->rules->values[info->arguments[a]];
    int64_t bytes = value->bytes;
    for (int32_t i = 0; i < value->nAtoms; ++i) {
      int64_t parts = 1, size = value->atoms[i].size;
      for (int32_t axis = 0; axis < plan->nSubAxes; ++axis)
        if (shardTensorPlanAtom(model, plan, a, axis) == i)
          parts *= plan->sizes[axis];
      bytes = bytes / size * ceilDivide(size, parts);
    }
    total += bytes * value->count;
  }
  return total;
}

typedef struct UnevenSearch {
  Search *s;
  int32_t klass;
  bool uneven; // chains whose first part does not divide
  Chain tried[64];
  int32_t nTried;
  ShardTensorPlan *best;
  Evaluation value;
  int64_t bytes; // of weights that one rank holds
} UnevenSearch;

static bool chainEqual(const Chain *a, const Chain *b) {
  bool equal = a->n == b->n;
  for (int32_t i = 0; i < a->n && equal; ++i)
    equal = a->classes[i] == b->classes[i] && a->parts[i] == b->parts[i];
  return equal;
}

static void tryChain(UnevenSearch *u, const Evaluation *now, const Chain *chain) {
  for (int32_t t = 0; t < u->nTried; ++t)
    if (chainEqual(&u->tried[t], chain))
      return;
  if (u->nTried == (int32_t)(sizeof(u->tried) / sizeof(u->tried[0])))
    return;
  u->tried[u->nTried++] = *chain;
  ShardTensorPlan *trial = splitOver(u->s, chain);
  Evaluation next;
  if (!trial || !tryPlan(u->s, trial, u->klass, &next) || next.splitBytes <= now->splitBytes)
    return;
  int64_t bytes = localWeightBytes(u->s, trial);
  if (u->best &&
      (next.flops > u->value.flops || (next.flops == u->value.flops && bytes >= u->bytes)))
    return;
  u->best = trial, u->value = next, u->bytes = bytes;
}

/// Tries every chain that begins at the atom, and ends there or at one of the minor atoms.
static void tryChains(UnevenSearch *u, const Evaluation *now, const ShardValueInfo *value,
                      int32_t atom, Chain chain, int64_t ranks) {
  int32_t link = chain.n++, klass = value->atoms[atom].klass;
  chain.classes[link] = klass;
  int32_t minor = chain.n < CHAIN_LINKS ? minorClass(u->s, value, atom, klass) : -1;
  for (int64_t part = ranks; part >= 1; --part) {
    if (ranks % part)
      continue;
    if (link == 0 && (u->s->model->rules->classSizes[klass] % part != 0) != u->uneven)
      continue;
    chain.parts[link] = part;
    if (part == ranks)
      tryChain(u, now, &chain);
    else if (minor >= 0 && (link == 0 || part > 1))
      tryChains(u, now, value, atom + 1, chain, ranks / part);
  }
}

/// A class that does not divide, split unevenly: alone over the whole degree, or over a part of it
/// with the next minor atoms of some weight over the rest (key/value heads, the query heads of
/// each, the values of a head). The flops of the most loaded rank decide, then its weights, then a
/// part that divides. So ranks may repeat scores: fewer than if each did whole heads or none.
static bool takeUnevenly(Search *s, int32_t klass, Evaluation *now) {
  const ShardModel *model = s->model;
  const ShardFunctionInfo *info = &model->rules->functions[model->entry];
  UnevenSearch u = {.s = s, .klass = klass};
  for (int32_t uneven = 0; uneven < 2; ++uneven) {
    u.uneven = uneven;
    for (int32_t a = 0; a < info->nArguments; ++a) {
      if (info->arguments[a] < 0 || !model->weight[info->arguments[a]])
        continue;
      const ShardValueInfo *value = &model->rules->values[info->arguments[a]];
      for (int32_t k = 0; k < value->nAtoms; ++k)
        if (value->atoms[k].klass == klass)
          tryChains(&u, now, value, k, (Chain){0}, s->degree);
    }
  }
  if (!u.best)
    return false;
  s->plan = u.best, *now = u.value;
  s->plan->uneven = true;
  return true;
}

/// A class smaller than the degree: its whole here, the rest on the next minor atom of some weight,
/// where that divides.
static bool takeWithMinor(Search *s, int32_t klass, Evaluation *now) {
  const ShardModel *model = s->model;
  const ShardFunctionInfo *info = &model->rules->functions[model->entry];
  int64_t size = model->rules->classSizes[klass];
  if (s->degree % size)
    return false;
  for (int32_t a = 0; a < info->nArguments; ++a) {
    if (info->arguments[a] < 0 || !model->weight[info->arguments[a]])
      continue;
    const ShardValueInfo *value = &model->rules->values[info->arguments[a]];
    for (int32_t k = 0; k < value->nAtoms; ++k) {
      int32_t minor = minorClass(s, value, k, klass);
      if (minor < 0 || model->rules->classSizes[minor] % (s->degree / size))
        continue;
      ShardTensorPlan *trial = splitOver(s, &(Chain){2, {klass, minor}, {size, s->degree / size}});
      Evaluation next;
      if (trial && tryPlan(s, trial, klass, &next) && next.splitBytes > now->splitBytes &&
          next.repeating <= now->repeating) {
        s->plan = trial, *now = next;
        return true;
      }
    }
  }
  return false;
}

/// A class over the whole degree. A vocabulary adds no sum of the hidden state that is not there.
static bool takeWhole(Search *s, int32_t klass, bool vocabulary, Evaluation *now) {
  ShardTensorPlan *trial = splitWhole(s, klass);
  Evaluation next;
  if (!tryPlan(s, trial, klass, &next) || next.splitBytes <= now->splitBytes ||
      next.repeating > now->repeating)
    return false;
  if (vocabulary && next.entryReductions > (now->entryReductions > 1 ? now->entryReductions : 1))
    return false;
  s->plan = trial, *now = next;
  return true;
}

/// What the user says of where an argument of the entry lies; null: nothing.
static MlirAttribute annotationOf(const ShardModel *model, int32_t argument) {
  const ShardFunctionInfo *info = &model->rules->functions[model->entry];
  MlirValue value = model->rules->values[info->arguments[argument]].value;
  return shardFuncGetArgumentAttribute(info->func, mlirBlockArgumentGetArgNumber(value),
                                       "spmd.sharding");
}

/// Arguments with a layout of the user's that does not name the tensor axis, or a part of it.
static uint8_t *findKeptWhole(const ShardModel *model, ShardArena *arena) {
  const ShardFunctionInfo *info = &model->rules->functions[model->entry];
  uint8_t *whole = SHARD_ARENA_ARRAY(arena, uint8_t, info->nArguments ? info->nArguments : 1);
  for (int32_t a = 0; a < info->nArguments; ++a) {
    if (info->arguments[a] < 0)
      continue;
    MlirAttribute list = annotationOf(model, a);
    whole[a] = list.ptr && mlirAttributeIsAArray(list);
    intptr_t rank = whole[a] ? mlirArrayAttrGetNumElements(list) : 0;
    for (intptr_t d = 0; d < rank; ++d) {
      MlirAttribute axes = mlirArrayAttrGetElement(list, d);
      intptr_t n = mlirAttributeIsAArray(axes) ? mlirArrayAttrGetNumElements(axes) : 0;
      for (intptr_t k = 0; k < n; ++k) {
        MlirAttribute axis = mlirArrayAttrGetElement(axes, k);
        MlirStringRef name =
            mlirAttributeIsAString(axis) ? mlirStringAttrGetValue(axis) : (MlirStringRef){NULL, 0};
        whole[a] &= name.length < 2 || strncmp(name.data, "tp", 2) != 0;
      }
    }
  }
  return whole;
}

static Search startSearch(const ShardModel *model, int64_t degree, ShardArena *arena) {
  const ShardRules *rules = model->rules;
  Search s = {.model = model, .arena = arena, .degree = degree};
  size_t nClasses = (size_t)(rules->nClasses ? rules->nClasses : 1);
  s.plan = SHARD_ARENA_NEW(arena, ShardTensorPlan);
  s.plan->model = model;
  s.plan->nSubAxes = 1, s.plan->sizes[0] = degree;
  s.plan->begin = SHARD_ARENA_ARRAY(arena, int8_t, nClasses);
  s.plan->end = SHARD_ARENA_ARRAY(arena, int8_t, nClasses);
  s.used = SHARD_ARENA_ARRAY(arena, int64_t *, rules->nFunctions);
  for (int32_t f = 0; f < rules->nFunctions; ++f) {
    int32_t total;
    shardFactorOffsets(rules, f, arena, &total);
    s.used[f] = SHARD_ARENA_ARRAY(arena, int64_t, total ? total : 1);
  }
  s.keptWhole = findKeptWhole(model, arena);
  return s;
}

static bool multiplies(const ShardRules *rules) {
  for (int32_t f = 0; f < rules->nFunctions; ++f)
    for (int32_t o = 0; o < rules->functions[f].nOps; ++o)
      if (rules->functions[f].ops[o].contraction)
        return true;
  return false;
}

/// May the classes of an argument be candidates? What nobody uses stays whole; of what the user
/// laid out only heads of products may want parts of the axis.
static bool offersClasses(const ShardModel *model, int32_t argument, bool anyProduct) {
  const ShardRules *rules = model->rules;
  int32_t v = rules->functions[model->entry].arguments[argument];
  return v >= 0 && model->weight[v] &&
         !mlirOpOperandIsNull(mlirValueGetFirstUse(rules->values[v].value)) &&
         (anyProduct || !annotationOf(model, argument).ptr);
}

/// Candidates, by bytes saved, then by first appearance among the arguments; returns how many.
static int32_t findCandidates(Search *s, Candidate *candidates) {
  const ShardModel *model = s->model;
  const ShardRules *rules = model->rules;
  const ShardFunctionInfo *info = &rules->functions[model->entry];
  const uint8_t *layerValues = findLayerValues(model, s->arena);
  bool anyProduct = multiplies(rules);
  int32_t n = 0;
  bool *seen = SHARD_ARENA_ARRAY(s->arena, bool, rules->nClasses + 1);
  for (int32_t pass = 0; pass < 2; ++pass)
    for (int32_t a = 0; a < info->nArguments; ++a) {
      if (!offersClasses(model, a, anyProduct))
        continue;
      bool inLayer = !layerValues || layerValues[info->arguments[a]];
      const ShardValueInfo *value = &rules->values[info->arguments[a]];
      for (int32_t i = 0; i < value->nAtoms; ++i) {
        int32_t c = value->atoms[i].klass;
        if (seen[c] || c == model->batchClass || model->sequence[c] || model->hidden[c])
          continue;
        if (shardModelCountsExperts(model, c)) {
          seen[c] = true;
          continue;
        }
        bool vocabulary = isVocabulary(model, c);
        if (pass == 0 ? (!inLayer || vocabulary) : !vocabulary)
          continue;
        seen[c] = true;
        candidates[n++] = (Candidate){c, model->weightBytes[c], vocabulary, 0};
      }
    }
  for (int32_t i = 0; i < n && model->hiddenValue < 0; ++i) {
    Evaluation alone;
    ShardTensorPlan *trial = splitWhole(s, candidates[i].klass);
    candidates[i].sent =
        tryPlan(s, trial, candidates[i].klass, &alone) ? alone.sentBytes : INT64_MAX;
  }
  for (int32_t i = 1; i < n; ++i) // a stable insertion sort
    for (int32_t j = i; j > 0 && comesBefore(&candidates[j], &candidates[j - 1]); --j) {
      Candidate swap = candidates[j];
      candidates[j] = candidates[j - 1], candidates[j - 1] = swap;
    }
  return n;
}

/// Takes what can be taken, on the model given or its fold; returns whether anything could.
static bool takeAll(Search *s) {
  const ShardRules *rules = s->model->rules;
  Candidate *candidates = SHARD_ARENA_ARRAY(s->arena, Candidate, rules->nClasses + 1);
  int32_t n = findCandidates(s, candidates);
  bool any = false;
  Evaluation now;
  evaluatePlan(s, s->plan, &now);
  for (int32_t i = 0; i < n; ++i) {
    int32_t c = candidates[i].klass;
    if (s->plan->begin[c] != s->plan->end[c])
      continue; // taken along with its major neighbour
    if (candidates[i].vocabulary || rules->classSizes[c] % s->degree == 0)
      any |= takeWhole(s, c, candidates[i].vocabulary, &now);
    else
      any |= takeWithMinor(s, c, &now) || takeUnevenly(s, c, &now);
  }
  return any;
}

ShardTensorPlan *shardPlanTensor(const ShardModel *model, int64_t degree, ShardArena *arena,
                                 const char **outMessage) {
  *outMessage = NULL;
  Search s = startSearch(model->folded ? model->folded : model, degree, arena);
  if (degree == 1)
    return s.plan;
  bool any = takeAll(&s);
  if (s.unsettled) { // calls that the fold takes for equal are not
    s = startSearch(model, degree, arena);
    any = takeAll(&s);
  }
  if (!any && !shardModelIsAnnotated(model)) {
    *outMessage = shardArenaFormat(
        arena, "tp%" PRId64 " does not fit: no dimension of a weight can be split", degree);
    return NULL;
  }
  return s.plan;
}
