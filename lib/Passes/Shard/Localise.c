//===- Localise.c - Local forms of ops ----------------------------*- C -*-===//
// An op is cloned with local operands and local result types. What more it needs, the column
// `localise` of the op table adds (LocaliseBody.c, LocaliseMove.c).
//===----------------------------------------------------------------------===//

#include "Localiser.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <inttypes.h>

int32_t shardLocaliserFindPort(const ShardOpPlan *plan, MlirOperation user, intptr_t operand,
                               bool nested) {
  if (plan)
    for (int32_t i = 0; i < plan->rule->nOperands; ++i) {
      const ShardPort *port = &plan->rule->operands[i];
      if (nested ? port->operandIndex < 0 && mlirOperationEqual(port->user, user) &&
                       port->userOperand == operand
                 : port->operandIndex == operand)
        return i;
    }
  return -1;
}

static MlirValue localOperand(ShardLocaliser *l, MlirOperation user, intptr_t operand, bool nested,
                              MlirValue old) {
  ShardBuild *build = l->build;
  int32_t value = shardRulesFindValue(build->spmd->rules, old);
  MlirValue replacement = old;
  if (value < 0) {
    if (!shardBuildFindScalar(build, old, &replacement) && !nested) {
      shardEmitError(l->source,
                     "operand %" PRIdPTR " is computed in another stage and is no tensor", operand);
      l->failed = true;
    }
    return replacement;
  }
  int32_t port = shardLocaliserFindPort(l->plan, user, operand, nested);
  ShardSharding *sharding =
      port >= 0 ? l->plan->operands[port]
                : shardShardingCreate(build->spmd->arena, build->spmd->rules->values[value].nAtoms);
  bool shapeOnly = port >= 0 && l->plan->rule->operands[port].init && l->plan->rule->unusedInit;
  const ShardOpRule *definition = shardSpmdDefinition(build->spmd, value);
  if (shapeOnly && !(definition && shardOpIs(definition->op, "tensor.empty")) &&
      !shardBuildFindVersion(build, value, sharding)) {
    const ShardValueInfo *info = &build->spmd->rules->values[value];
    ShardPlace place = {.block = build->block, .location = mlirOperationGetLocation(l->source)};
    return shardBuildEmpty(place, shardShardingLocalType(&build->spmd->mesh, info->type,
                                                         info->nAtoms, info->atoms, sharding));
  }
  replacement = shardBuildGetVersion(build, value, sharding, l->source);
  l->failed |= mlirValueIsNull(replacement);
  return replacement;
}

static void noteCapture(ShardLocaliser *l, MlirOperation old, MlirOperation extract) {
  int32_t port = shardLocaliserFindPort(l->plan, old, 0, true);
  if (port < 0)
    return;
  l->captures = shardArenaGrow(l->build->spmd->arena, l->captures, l->nCaptures,
                               &l->capacityCaptures, l->nCaptures + 1, sizeof(ShardCapture));
  l->captures[l->nCaptures++] = (ShardCapture){&l->plan->rule->operands[port], port, extract};
}

static void localiseNested(ShardLocaliser *l, MlirOperation old, MlirOperation copy) {
  for (intptr_t r = 0; r < mlirOperationGetNumRegions(old); ++r) {
    MlirBlock a = mlirRegionGetFirstBlock(mlirOperationGetRegion(old, r));
    MlirBlock b = mlirRegionGetFirstBlock(mlirOperationGetRegion(copy, r));
    for (; !mlirBlockIsNull(a); a = mlirBlockGetNextInRegion(a), b = mlirBlockGetNextInRegion(b)) {
      MlirOperation x = mlirBlockGetFirstOperation(a), y = mlirBlockGetFirstOperation(b);
      for (; !mlirOperationIsNull(x);
           x = mlirOperationGetNextInBlock(x), y = mlirOperationGetNextInBlock(y)) {
        for (intptr_t k = 0; k < mlirOperationGetNumOperands(x); ++k) {
          MlirValue operand = mlirOperationGetOperand(x, k);
          MlirValue local = localOperand(l, x, k, true, operand);
          if (l->failed)
            return;
          if (!mlirValueEqual(operand, local))
            mlirOperationSetOperand(y, k, local);
        }
        noteCapture(l, x, y);
        localiseNested(l, x, y);
        if (l->failed)
          return;
      }
    }
  }
}

static MlirLogicalResult localiseForm(ShardLocaliser *l) {
  const ShardOpPlan *plan = l->plan;
  const ShardSpmd *spmd = l->build->spmd;
  for (int32_t r = 0; r < plan->rule->nResults; ++r) {
    const ShardPort *port = &plan->rule->results[r];
    const ShardValueInfo *info = &spmd->rules->values[port->value];
    mlirValueSetType(mlirOperationGetResult(l->copy, port->operandIndex),
                     shardShardingLocalType(&spmd->mesh, info->type, info->nAtoms, info->atoms,
                                            plan->results[r]));
  }
  ShardLocalise localise = shardOpEntryLocalise(plan->rule->entry);
  return localise ? localise(l, l->source) : mlirLogicalResultSuccess();
}

static void removeAnnotations(MlirOperation op) {
  static const char *const names[] = {"spmd.sharding", "spmd.view",   "spmd.partial", "spmd.extent",
                                      "spmd.stage",    "spmd.origin", "spmd.fixed",   "spmd.cut"};
  for (intptr_t i = mlirOperationGetNumDiscardableAttributes(op) - 1; i >= 0; --i) {
    MlirStringRef name = mlirIdentifierStr(mlirOperationGetDiscardableAttribute(op, i).name);
    for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); ++k)
      if (shardStringIs(name, names[k])) {
        mlirOperationRemoveDiscardableAttributeByName(op, name);
        break;
      }
  }
}

MlirLogicalResult shardLocaliseOp(ShardBuild *build, MlirOperation op, const ShardOpPlan *plan) {
  if (shardOpIs(op, "shard.sharding"))
    return mlirLogicalResultSuccess();
  ShardLocaliser l = {.build = build, .source = op, .plan = plan, .copy = mlirOperationClone(op)};
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op) && !l.failed; ++i) {
    MlirValue local = localOperand(&l, op, i, false, mlirOperationGetOperand(op, i));
    if (!l.failed)
      mlirOperationSetOperand(l.copy, i, local);
  }
  if (!l.failed)
    localiseNested(&l, op, l.copy);
  removeAnnotations(l.copy);
  bool local = plan && (plan->rule->form == SHARD_OP_CALL || !shardOpIsWhole(plan->rule));
  if (l.failed || (local && mlirLogicalResultIsFailure(localiseForm(&l)))) {
    mlirOperationDestroy(l.copy);
    return mlirLogicalResultFailure();
  }
  MlirValue *values =
      SHARD_ARENA_ARRAY(build->spmd->arena, MlirValue, mlirOperationGetNumResults(op));
  if (local && shardLocaliserHasSequence(&l)) {
    shardLocaliseSequence(&l, values);
  } else if (local && shardLocaliserHasWindow(&l)) {
    values[0] = shardLocaliseWindows(&l);
  } else {
    mlirBlockAppendOwnedOperation(build->block, l.copy);
    for (intptr_t r = 0; r < mlirOperationGetNumResults(op); ++r)
      values[r] = mlirOperationGetResult(l.copy, r);
  }
  for (intptr_t r = 0; r < mlirOperationGetNumResults(op); ++r) {
    MlirValue old = mlirOperationGetResult(op, r);
    if (shardRulesFindValue(build->spmd->rules, old) < 0)
      shardBuildMapScalar(build, old, values[r]);
  }
  for (int32_t r = 0; plan && r < plan->rule->nResults; ++r) {
    const ShardPort *port = &plan->rule->results[r];
    shardBuildAddVersion(build, port->value, plan->results[r], values[port->operandIndex]);
  }
  return mlirLogicalResultSuccess();
}
