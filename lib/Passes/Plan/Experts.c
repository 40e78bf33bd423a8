//===- Experts.c - What expert parallelism splits -----------------*- C -*-===//
// The dimension that counts experts. Where each expert has weights of its own, or is cut out of a
// stack, no product has one: there their inner widths are split, so that a rank holds a part of
// every expert and does that part of its work.
//===----------------------------------------------------------------------===//

#include "TensorSearch.h"

typedef struct WidthSearch {
  const ShardModel *model;
  const ShardFunctionInfo *info;
  bool *columns;     // [classes] that the weight of some product brings to its result
  uint8_t *routed;   // [values] made from a product of weights
  uint8_t *weighed;  // [ops of the function] products whose results a factor for all columns weighs
  int32_t *products; // [ops of the function] as a walk finds them
  int32_t *stack;    // [ops of the function]
  int32_t *seen;     // [ops of the function] the last walk that came by
  int32_t walk;      // the number of the present one
} WidthSearch;

static bool isActivation(const WidthSearch *s, const ShardPort *port) {
  return !port->init && !s->model->weight[port->value];
}

/// The weight that brings columns to an op's result; -1 if the op is no such product.
static int32_t findWeight(const ShardModel *model, const ShardOpRule *rule) {
  for (int32_t p = 0; rule->contraction && p < rule->nOperands; ++p)
    if (!rule->operands[p].init && shardBringsColumns(model, rule, p))
      return p;
  return -1;
}

/// A factor of the weight's, of one kind, whose class is marked (of any class, without marks); -1
/// if none.
static int32_t findFactor(const WidthSearch *s, const ShardOpRule *rule, int32_t weight,
                          ShardFactorKind kind, const bool *marked) {
  for (int32_t f = 0; f < rule->nFactors; ++f)
    if (rule->factors[f].kind == kind && (!marked || marked[rule->factors[f].klass]) &&
        shardPortHasFactor(s->model->rules, &rule->operands[weight], f))
      return f;
  return -1;
}

/// The class that a product of weights sums and that another one brought, which no state between
/// layers has; -1 if there is none.
static int32_t innerWidth(const WidthSearch *s, const ShardOpRule *rule) {
  int32_t weight = findWeight(s->model, rule);
  int32_t f = weight < 0 ? -1 : findFactor(s, rule, weight, SHARD_FACTOR_REDUCTION, s->columns);
  int32_t klass = f < 0 ? -1 : rule->factors[f].klass;
  return klass >= 0 && !s->model->hidden[klass] ? klass : -1;
}

/// Adds to the `n` ops that wait the one that makes a value, if this walk has not been there.
static int32_t visit(WidthSearch *s, int32_t value, int32_t n) {
  int32_t definition = s->model->rules->values[value].definition;
  if (definition >= 0 && s->seen[definition] != s->walk) {
    s->seen[definition] = s->walk;
    s->stack[n++] = definition;
  }
  return n;
}

static int32_t visitActivations(WidthSearch *s, const ShardOpRule *rule, int32_t n) {
  for (int32_t p = 0; p < rule->nOperands; ++p)
    if (isActivation(s, &rule->operands[p]))
      n = visit(s, rule->operands[p].value, n);
  return n;
}

static bool dependsOn(WidthSearch *s, int32_t value, int32_t op) {
  ++s->walk;
  for (int32_t n = visit(s, value, 0); n > 0;) {
    int32_t o = s->stack[--n];
    if (o == op)
      return true;
    if (o > op)
      n = visitActivations(s, &s->info->ops[o], n);
  }
  return false;
}

/// Lists the products whose results `value` is, moved and with weights added at most.
static int32_t listProducts(WidthSearch *s, int32_t value) {
  int32_t nProducts = 0;
  ++s->walk;
  for (int32_t n = visit(s, value, 0); n > 0;) {
    int32_t o = s->stack[--n], nActivations = 0;
    const ShardOpRule *rule = &s->info->ops[o];
    if (innerWidth(s, rule) >= 0)
      s->products[nProducts++] = o;
    for (int32_t p = 0; p < rule->nOperands; ++p)
      nActivations += isActivation(s, &rule->operands[p]);
    if (!rule->contraction && (rule->movement || nActivations == 1))
      n = visitActivations(s, rule, n);
  }
  return nProducts;
}

/// Is operand `q` of the op one factor for all columns of product `product`, whose result operand
/// `p` is, and made by another product (a router's) but not from this one (a norm's)?
static bool weighs(WidthSearch *s, const ShardOpRule *rule, int32_t p, int32_t q, int32_t product) {
  const ShardRules *rules = s->model->rules;
  const ShardOpRule *from = &s->info->ops[product];
  int32_t column = findFactor(s, from, findWeight(s->model, from), SHARD_FACTOR_PARALLEL, NULL);
  if (q == p || !isActivation(s, &rule->operands[q]) || !s->routed[rule->operands[q].value] ||
      column < 0)
    return false;
  bool here = false, there = false;
  for (int32_t f = 0; f < rule->nFactors; ++f)
    if (rule->factors[f].klass == from->factors[column].klass) {
      here |= shardPortHasFactor(rules, &rule->operands[p], f);
      there |= shardPortHasFactor(rules, &rule->operands[q], f);
    }
  return here && !there && !dependsOn(s, rule->operands[q].value, product);
}

/// Marks in `classes` the inner widths of a function's experts: products of weights, two at least,
/// each result of which is weighed by what other weights made of the activations.
static void markWidths(WidthSearch *s, bool *classes) {
  int32_t nWeighed = 0;
  for (int32_t o = 0; o < s->info->nOps; ++o) {
    const ShardOpRule *rule = &s->info->ops[o];
    for (int32_t p = 0; !rule->contraction && rule->form == SHARD_OP_COMPUTE && p < rule->nOperands;
         ++p) {
      if (!isActivation(s, &rule->operands[p]))
        continue;
      int32_t n = listProducts(s, rule->operands[p].value);
      for (int32_t i = 0; i < n; ++i)
        for (int32_t q = 0; !s->weighed[s->products[i]] && q < rule->nOperands; ++q)
          if (weighs(s, rule, p, q, s->products[i]))
            s->weighed[s->products[i]] = 1, ++nWeighed;
    }
  }
  for (int32_t o = 0; o < s->info->nOps && nWeighed > 1; ++o)
    if (s->weighed[o])
      classes[innerWidth(s, &s->info->ops[o])] = true;
}

/// Marks what the products of weights bring, and what is made from any.
static void findRouted(const ShardModel *model, bool *columns, uint8_t *routed) {
  const ShardRules *rules = model->rules;
  for (int32_t f = 0; f < rules->nFunctions; ++f)
    for (int32_t o = 0; o < rules->functions[f].nOps; ++o) {
      const ShardOpRule *rule = &rules->functions[f].ops[o];
      int32_t weight = findWeight(model, rule);
      bool made = weight >= 0;
      for (int32_t k = 0; made && k < rule->nFactors; ++k)
        if (rule->factors[k].kind == SHARD_FACTOR_PARALLEL &&
            shardPortHasFactor(rules, &rule->operands[weight], k))
          columns[rule->factors[k].klass] = true;
      for (int32_t p = 0; p < rule->nOperands; ++p)
        made |= routed[rule->operands[p].value];
      for (int32_t r = 0; r < rule->nResults; ++r)
        routed[rule->results[r].value] |= made;
    }
}

const bool *shardModelExpertClasses(const ShardModel *model, ShardArena *arena) {
  const ShardRules *rules = model->rules;
  bool *classes = SHARD_ARENA_ARRAY(arena, bool, rules->nClasses + 1), any = false;
  for (int32_t c = 0; c < rules->nClasses; ++c)
    any |= classes[c] = model->weightBytes[c] && shardModelCountsExperts(model, c);
  if (any)
    return classes;
  WidthSearch s = {.model = model,
                   .columns = SHARD_ARENA_ARRAY(arena, bool, rules->nClasses + 1),
                   .routed = SHARD_ARENA_ARRAY(arena, uint8_t, rules->nValues + 1)};
  findRouted(model, s.columns, s.routed);
  for (int32_t f = 0; f < rules->nFunctions; ++f) {
    s.info = &rules->functions[f];
    s.weighed = SHARD_ARENA_ARRAY(arena, uint8_t, s.info->nOps + 1);
    s.products = SHARD_ARENA_ARRAY(arena, int32_t, s.info->nOps + 1);
    s.stack = SHARD_ARENA_ARRAY(arena, int32_t, s.info->nOps + 1);
    s.seen = SHARD_ARENA_ARRAY(arena, int32_t, s.info->nOps + 1);
    s.walk = 0;
    markWidths(&s, classes);
  }
  for (int32_t c = 0; c < rules->nClasses; ++c)
    any |= classes[c];
  return any ? classes : NULL;
}
