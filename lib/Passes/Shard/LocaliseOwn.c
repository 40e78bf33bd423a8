//===- LocaliseOwn.c - Local forms of a user's own ops ------------*- C -*-===//
// Local types are all that such an op needs, and that padding does not enter a reduction.
//===----------------------------------------------------------------------===//

#include "../Analysis/OwnRules.h"
#include "Mask.h"

#include "mlir-c/BuiltinAttributes.h"

MlirLogicalResult shardLocaliseOwn(ShardLocaliser *l, MlirOperation op) {
  if (!shardOpPlanHasPadding(l->build->spmd, l->plan, SHARD_FACTOR_REDUCTION))
    return mlirLogicalResultSuccess();
  ShardOwnRule rule;
  const char *message;
  size_t at;
  MlirAttribute text = shardOpGetAttribute(op, SHARD_OWN_RULE);
  if (!shardOwnRuleParse(mlirStringAttrGetValue(text), l->build->spmd->arena, &rule, &message,
                         &at) ||
      !rule.hasPad)
    return shardEmitError(op,
                          "a reduced dimension of '%.*s' does not divide, and its rule says "
                          "nothing of padding; expected 'pad NUMBER' in the rule",
                          (int)shardOpGetName(op).length, shardOpGetName(op).data);
  for (int32_t p = 0; p < l->plan->rule->nOperands; ++p)
    shardMaskOperand(l, p, SHARD_FACTOR_REDUCTION, rule.pad);
  return mlirLogicalResultSuccess();
}
