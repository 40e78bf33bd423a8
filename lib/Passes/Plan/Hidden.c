//===- Hidden.c - The states that layers hand on ------------------*- C -*-===//
// An encoder and a decoder have one each. Sums of such a state are what a tensor-parallel layer may
// send (TensorTrial.c), and its width is what tensor parallelism leaves whole.
//===----------------------------------------------------------------------===//

#include "Model.h"

#include <string.h>

/// Does every atom of `value` lie on a class of `other`, each class as often at most?
static bool isWithin(const ShardValueInfo *value, const ShardValueInfo *other) {
  if (value->nAtoms > other->nAtoms)
    return false;
  uint32_t taken = 0;
  for (int32_t a = 0; a < value->nAtoms; ++a) {
    bool found = false;
    for (int32_t h = 0; h < other->nAtoms && h < 32 && !found; ++h)
      if (!(taken >> h & 1) && other->atoms[h].klass == value->atoms[a].klass)
        taken |= 1u << h, found = true;
    if (!found)
      return false;
  }
  return true;
}

bool shardModelWithinHidden(const ShardModel *model, const ShardValueInfo *value) {
  bool within = model->nHidden == 0;
  for (int32_t i = 0; i < model->nHidden && !within; ++i)
    within = isWithin(value, &model->rules->values[model->hiddenValues[i]]);
  return within;
}

bool shardModelHiddenSized(const ShardModel *model, const ShardValueInfo *value) {
  bool same = false;
  for (int32_t i = 0; i < model->nHidden && !same; ++i) {
    const ShardValueInfo *hidden = &model->rules->values[model->hiddenValues[i]];
    same = value->nAtoms == hidden->nAtoms && isWithin(value, hidden);
  }
  return same;
}

static void addHidden(ShardModel *model, int32_t v) {
  const ShardRules *rules = model->rules;
  if (v < 0 || model->nHidden == SHARD_MAX_HIDDEN ||
      (model->nHidden && shardModelWithinHidden(model, &rules->values[v])))
    return;
  model->hiddenValues[model->nHidden++] = v;
  const ShardValueInfo *value = &rules->values[v];
  for (int32_t a = 0; a < value->nAtoms; ++a)
    if (value->atoms[a].klass != model->batchClass && !model->sequence[value->atoms[a].klass])
      model->hidden[value->atoms[a].klass] = 1;
}

/// The largest value that a call hands to another; of `callee` to itself, where that is not -1.
static int32_t largestHanded(const ShardModel *model, int32_t callee) {
  const ShardRules *rules = model->rules;
  const ShardFunctionInfo *info = &rules->functions[model->entry];
  int32_t largest = -1;
  for (int32_t o = 0; o < info->nOps; ++o) {
    const ShardOpRule *rule = &info->ops[o];
    if (rule->form != SHARD_OP_CALL || (callee >= 0 && rule->callee != callee))
      continue;
    for (int32_t p = 0; p < rule->nOperands; ++p) {
      const ShardValueInfo *value = &rules->values[rule->operands[p].value];
      const ShardOpRule *from = value->definition < 0 ? NULL : &info->ops[value->definition];
      if (from && from->form == SHARD_OP_CALL && (callee < 0 || from->callee == callee) &&
          (largest < 0 || value->bytes > rules->values[largest].bytes))
        largest = rule->operands[p].value;
    }
  }
  return largest;
}

bool shardModelLooksUpWeight(const ShardModel *model, const ShardOpRule *rule) {
  for (int32_t p = 0; p < rule->nOperands; ++p) {
    const ShardPort *port = &rule->operands[p];
    for (int32_t a = 0; model->weight[port->value] && a < model->rules->values[port->value].nAtoms;
         ++a)
      if (port->factors[a] >= 0 && rule->factors[port->factors[a]].kind == SHARD_FACTOR_GATHER)
        return true;
  }
  return false;
}

static bool usesAny(const ShardOpRule *rule, const uint8_t *marked) {
  for (int32_t p = 0; p < rule->nOperands; ++p)
    if (marked[rule->operands[p].value] && !rule->operands[p].init)
      return true;
  return false;
}

/// Does a product sum over one of `value`'s classes, with a weight?
static bool sumsWithWeight(const ShardModel *model, const ShardOpRule *rule,
                           const ShardValueInfo *value) {
  for (int32_t f = 0; rule->contraction && f < rule->nFactors; ++f) {
    bool own = false;
    for (int32_t a = 0; a < value->nAtoms; ++a)
      own |= value->atoms[a].klass == rule->factors[f].klass;
    if (!own || rule->factors[f].kind != SHARD_FACTOR_REDUCTION)
      continue;
    for (int32_t p = 0; p < rule->nOperands; ++p)
      for (int32_t a = 0; model->weight[rule->operands[p].value] &&
                          a < model->rules->values[rule->operands[p].value].nAtoms;
           ++a)
        if (rule->operands[p].factors[a] == f)
          return true;
  }
  return false;
}

/// Is a looked-up value, or what ops that are no products make of it, multiplied by weights along a
/// dimension of its own? A token is; a rotary angle or a bias of scores is not.
static bool isMultiplied(const ShardModel *model, int32_t v) {
  const ShardRules *rules = model->rules;
  ShardArena *arena = shardArenaCreate();
  uint8_t *derived = SHARD_ARENA_ARRAY(arena, uint8_t, rules->nValues + 1);
  derived[v] = 1;
  bool found = false;
  for (int32_t f = rules->nFunctions - 1; f >= 0 && !found; --f) { // callers before callees
    const ShardFunctionInfo *info = &rules->functions[f];
    for (int32_t o = 0; o < info->nOps && !found; ++o) {
      const ShardOpRule *rule = &info->ops[o];
      if (!usesAny(rule, derived))
        continue;
      found = sumsWithWeight(model, rule, &rules->values[v]);
      const ShardFunctionInfo *callee =
          rule->form == SHARD_OP_CALL ? &rules->functions[rule->callee] : NULL;
      for (int32_t p = 0; callee && p < rule->nOperands; ++p) {
        int32_t argument = callee->arguments[rule->operands[p].operandIndex];
        if (argument >= 0 && derived[rule->operands[p].value])
          derived[argument] = 1;
      }
      for (int32_t r = 0;
           !callee && !rule->contraction && rule->form != SHARD_OP_LOOP && r < rule->nResults; ++r)
        derived[rule->results[r].value] = 1;
    }
  }
  shardArenaDestroy(arena);
  return found;
}

void shardModelFindHidden(ShardModel *model) {
  const ShardRules *rules = model->rules;
  const ShardFunctionInfo *info = &rules->functions[model->entry];
  addHidden(model, largestHanded(model, -1));
  for (int32_t f = 0; model->nHidden && f < rules->nFunctions; ++f)
    addHidden(model, largestHanded(model, f));
  int32_t first = -1;
  for (int32_t o = 0; o < info->nOps; ++o) {
    const ShardOpRule *rule = &info->ops[o];
    if (rule->nResults != 1 || !shardModelLooksUpWeight(model, rule))
      continue;
    first = first < 0 ? rule->results[0].value : first;
    if (isMultiplied(model, rule->results[0].value))
      addHidden(model, rule->results[0].value);
  }
  if (model->nHidden == 0)
    addHidden(model, first);
  model->feature = SHARD_ARENA_ARRAY(model->arena, uint8_t, rules->nClasses ? rules->nClasses : 1);
  for (int32_t a = 0; a < info->nArguments && model->nHidden == 0; ++a) {
    int32_t v = info->arguments[a];
    if (v < 0 || model->weight[v] || !isMultiplied(model, v))
      continue;
    for (int32_t i = 0; i < rules->values[v].nAtoms; ++i)
      model->feature[rules->values[v].atoms[i].klass] = 1;
  }
}
