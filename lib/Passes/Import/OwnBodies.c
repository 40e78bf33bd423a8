//===- OwnBodies.c - Bodies of a user's own ops against their rules -*- C -*-===//
// The body with the types that the op has, and then with those of a part along each dimension that
// the rule lets be split: its shapes must follow, and give the results that the rule says.
//===----------------------------------------------------------------------===//
#include "ImportParts.h"

#include "../Analysis/OwnRules.h"

#include "mlir-c/BuiltinTypes.h"

#include <inttypes.h>

/// Whether a value of one type may be cast to the other: they differ in dynamic dimensions only.
static bool fits(MlirType a, MlirType b) {
  if (mlirTypeEqual(a, b))
    return true;
  if (!mlirTypeIsARankedTensor(a) || !mlirTypeIsARankedTensor(b) ||
      mlirShapedTypeGetRank(a) != mlirShapedTypeGetRank(b) ||
      !mlirTypeEqual(mlirShapedTypeGetElementType(a), mlirShapedTypeGetElementType(b)))
    return false;
  for (intptr_t d = 0, rank = mlirShapedTypeGetRank(a); d < rank; ++d)
    if (!mlirShapedTypeIsDynamicDim(a, d) && !mlirShapedTypeIsDynamicDim(b, d) &&
        mlirShapedTypeGetDimSize(a, d) != mlirShapedTypeGetDimSize(b, d))
      return false;
  return true;
}

static MlirLogicalResult findCall(void *user, MlirOperation op) {
  *(MlirOperation *)user = op;
  return mlirLogicalResultFailure();
}

/// Types of the body's arguments, then what follows from them. Returns what is wrong, or null.
static const char *probe(const ShardImport *import, MlirOperation body, const ShardOwnRule *rule,
                         MlirOperation op, const int64_t *sizes) {
  ShardArena *arena = import->arena;
  MlirBlock block = shardFuncGetBody(body);
  for (int32_t i = 0; i < rule->nOperands; ++i) {
    MlirValue argument = mlirBlockGetArgument(block, i);
    MlirType type =
        shardOwnRuleLocalType(rule, i, shardOwnRuleTypeOfPort(rule, op, i), sizes, arena);
    if (!fits(mlirValueGetType(argument), type))
      return shardArenaFormat(arena, "argument %d is %s; expected one that takes %s", (int)i,
                              shardTypeText(mlirValueGetType(argument), arena),
                              shardTypeText(type, arena));
    mlirValueSetType(argument, type);
  }
  ShardImport inner = {.context = import->context,
                       .module = mlirOperationGetParentOperation(body),
                       .arena = arena,
                       .entry = body,
                       .nFunctions = 1,
                       .functions = &body};
  ShardFirstError first;
  shardFirstErrorBegin(&first, inner.module, arena);
  bool valid = mlirLogicalResultIsSuccess(shardImportRefineShapes(&inner)) &&
               mlirOperationVerify(inner.module);
  const char *text = shardFirstErrorEnd(&first);
  if (!valid)
    return text ? text : "it is not valid";
  MlirOperation end = mlirBlockGetTerminator(block);
  for (int32_t r = 0; r < rule->nResults; ++r) {
    int32_t port = rule->nOperands + r;
    MlirType made = mlirValueGetType(mlirOperationGetOperand(end, r));
    MlirType type =
        shardOwnRuleLocalType(rule, port, shardOwnRuleTypeOfPort(rule, op, port), sizes, arena);
    if (!fits(made, type))
      return shardArenaFormat(arena, "result %d is %s; expected %s", (int)r,
                              shardTypeText(made, arena), shardTypeText(type, arena));
  }
  return NULL;
}

static const char *probeCopy(const ShardImport *import, MlirOperation func,
                             const ShardOwnRule *rule, MlirOperation op, const int64_t *sizes) {
  MlirModule module = mlirModuleCreateEmpty(mlirOperationGetLocation(func));
  MlirOperation body = mlirOperationClone(func);
  mlirBlockAppendOwnedOperation(mlirModuleGetBody(module), body);
  const char *wrong = probe(import, body, rule, op, sizes);
  mlirModuleDestroy(module);
  return wrong;
}

MlirLogicalResult shardImportCheckBody(const ShardImport *import, MlirLocation rulePlace,
                                       const char *name, MlirOperation func,
                                       const ShardOwnRule *rule, MlirOperation op,
                                       const int64_t *sizes) {
  MlirOperation call = {NULL};
  shardWalk(func, "func.call", findCall, &call);
  if (!mlirOperationIsNull(call))
    return shardEmitError(call, "the body of '%s' calls a function; expected the call written out",
                          name);
  MlirOperation end = mlirBlockGetTerminator(shardFuncGetBody(func));
  if (mlirOperationIsNull(end) || mlirOperationGetNumOperands(end) != rule->nResults)
    return shardEmitError(func, "the body of '%s' has other operands or results than the op", name);
  const char *wrong = probeCopy(import, func, rule, op, sizes);
  if (wrong)
    return shardEmitErrorAt(rulePlace, "rule: the body of '%s' does not take the op's types: %s",
                            name, wrong);
  for (int32_t n = 0; n < rule->nNames; ++n) {
    if (sizes[n] < 2 || !shardOwnRuleSplits(rule, n))
      continue;
    int64_t *part = SHARD_ARENA_ARRAY(import->arena, int64_t, rule->nNames);
    for (int32_t k = 0; k < rule->nNames; ++k)
      part[k] = k == n ? (sizes[n] + 1) / 2 : sizes[k];
    wrong = probeCopy(import, func, rule, op, part);
    if (wrong)
      return shardEmitErrorAt(rulePlace,
                              "rule: the body of '%s' cannot be split along '%s' as the rule says, "
                              "%" PRId64 " of %" PRId64 ": %s",
                              name, rule->names[n], part[n], sizes[n], wrong);
  }
  return mlirLogicalResultSuccess();
}
