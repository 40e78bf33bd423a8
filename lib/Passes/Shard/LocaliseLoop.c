//===- LocaliseLoop.c - Local forms of loops ----------------------*- C -*-===//
// The regions of scf.for, scf.if and scf.while are calls of their bodies: types inside follow from
// the placements that the bodies have.
//===----------------------------------------------------------------------===//

#include "Localiser.h"
#include "Stages.h"

#include "mlir-c/BuiltinTypes.h"

static MlirType localType(const ShardSpmd *spmd, int32_t value, const ShardSharding *sharding) {
  const ShardValueInfo *info = &spmd->rules->values[value];
  return shardShardingLocalType(&spmd->mesh, info->type, info->nAtoms, info->atoms, sharding);
}

MlirLogicalResult shardLocaliseLoop(ShardLocaliser *l, MlirOperation op) {
  (void)op;
  const ShardSpmd *spmd = l->build->spmd;
  const ShardOpRule *rule = l->plan->rule;
  for (int32_t g = 0; g < rule->nBodies; ++g) {
    const ShardBody *body = &rule->bodies[g];
    const ShardFunctionInfo *callee = &spmd->rules->functions[body->callee];
    MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(l->copy, g));
    MlirOperation call = mlirBlockGetFirstOperation(block);
    for (int32_t a = 0; a < callee->nArguments; ++a) {
      MlirValue operand = mlirOperationGetOperand(call, a);
      int32_t value = callee->arguments[a];
      if (value >= 0 && mlirValueIsABlockArgument(operand) &&
          mlirBlockEqual(mlirBlockArgumentGetOwner(operand), block))
        mlirBlockArgumentSetType(operand, localType(spmd, value, spmd->own[value]));
    }
    MlirOperation end = shardFunctionGetReturn(callee);
    for (intptr_t r = 0; r < mlirOperationGetNumResults(call); ++r) {
      int32_t value = shardRulesFindValue(spmd->rules, mlirOperationGetOperand(end, r));
      if (value >= 0)
        mlirValueSetType(mlirOperationGetResult(call, r),
                         localType(spmd, value, spmd->results[body->callee][r]));
    }
    // A carried value that the body does not take has its placement from the op's result or init.
    for (intptr_t k = 0; k < mlirBlockGetNumArguments(block); ++k) {
      MlirValue argument = mlirBlockGetArgument(block, k);
      if (!mlirTypeIsARankedTensor(mlirValueGetType(argument)))
        continue;
      bool used = false;
      for (int32_t a = 0; a < callee->nArguments; ++a)
        used |= mlirValueEqual(mlirOperationGetOperand(call, a), argument);
      if (used)
        continue;
      return shardEmitError(l->source,
                            "internal error: a loop's body does not take what it carries");
    }
  }
  return mlirLogicalResultSuccess();
}
