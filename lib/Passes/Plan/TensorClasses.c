//===- TensorClasses.c - What a dimension of weights counts -------*- C -*-===//
// Columns of a product, rows of a table, experts: read off the ops that use the weights.
//===----------------------------------------------------------------------===//

#include "TensorSearch.h"

bool shardPortHasFactor(const ShardRules *rules, const ShardPort *port, int32_t factor) {
  for (int32_t a = 0; a < rules->values[port->value].nAtoms; ++a)
    if (port->factors[a] == factor)
      return true;
  return false;
}

bool shardBringsColumns(const ShardModel *model, const ShardOpRule *rule, int32_t operand) {
  const ShardRules *rules = model->rules;
  if (!model->weight[rule->operands[operand].value])
    return false;
  for (int32_t f = 0; f < rule->nFactors; ++f) {
    if (rule->factors[f].kind == SHARD_FACTOR_REDUCTION ||
        !shardPortHasFactor(rules, &rule->operands[operand], f))
      continue;
    bool shared = false;
    for (int32_t p = 0; p < rule->nOperands; ++p)
      shared |= !model->weight[rule->operands[p].value] && !rule->operands[p].init &&
                shardPortHasFactor(rules, &rule->operands[p], f);
    if (!shared)
      return true;
  }
  return false;
}

bool shardClassIsReturned(const ShardModel *model, int32_t klass) {
  const ShardRules *rules = model->rules;
  const ShardFunctionInfo *info = &rules->functions[model->entry];
  const ShardOpRule *ret = &info->ops[info->nOps - 1];
  for (int32_t p = 0; p < ret->nOperands; ++p) {
    const ShardValueInfo *value = &rules->values[ret->operands[p].value];
    for (int32_t a = 0; a < value->nAtoms; ++a)
      if (value->atoms[a].klass == klass)
        return true;
  }
  return false;
}

bool shardClassIsVocabulary(const ShardModel *model, int32_t klass) {
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
          shared |= q != p && !rule->operands[q].init &&
                    shardPortHasFactor(rules, &rule->operands[q], factor);
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
          if (port->init || !shardPortHasFactor(rules, port, k))
            continue;
          inWeight |= shardBringsColumns(model, rule, p);
          inOther |= !model->weight[port->value];
        }
        if (inWeight && inOther)
          return true;
      }
    }
  return false;
}
