//===- OwnOps.c - A user's own ops as their bodies ----------------*- C -*-===//
// An op with a rule is replaced by the function that its rule names, between casts: the function is
// written for any extents, and canonicalization makes it one for the local ones.
//===----------------------------------------------------------------------===//

#include "../Analysis/OwnRules.h"
#include "Lower.h"

#include <string.h>

static bool isOwn(MlirOperation op) {
  return !mlirAttributeIsNull(shardOpGetAttribute(op, SHARD_OWN_RULE));
}

static MlirValue castTo(MlirOperation before, MlirValue value, MlirType type) {
  if (mlirTypeEqual(mlirValueGetType(value), type))
    return value;
  return mlirOperationGetResult(shardOpCreate((MlirBlock){NULL}, before,
                                              mlirOperationGetLocation(before), "tensor.cast", 1,
                                              &type, 1, &value, 0, NULL, 0, NULL),
                                0);
}

static MlirLogicalResult inlineBody(ShardLowering *lowering, MlirOperation op, MlirBlock body) {
  MlirOperation end = mlirBlockGetTerminator(body);
  if (mlirBlockGetNumArguments(body) != mlirOperationGetNumOperands(op) ||
      mlirOperationGetNumOperands(end) != mlirOperationGetNumResults(op))
    return shardEmitError(op, "the body of '%.*s' has other operands or results than the op",
                          (int)shardOpGetName(op).length, shardOpGetName(op).data);
  ShardPointerMap *map = shardPointerMapCreate(lowering->arena, 64);
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(body); ++i) {
    MlirValue argument = mlirBlockGetArgument(body, i);
    shardValueMapSet(map, argument,
                     castTo(op, mlirOperationGetOperand(op, i), mlirValueGetType(argument)));
  }
  for (MlirOperation inner = mlirBlockGetFirstOperation(body); !mlirOperationEqual(inner, end);
       inner = mlirOperationGetNextInBlock(inner)) {
    MlirOperation copy = shardOpCloneMapped(inner, (MlirBlock){NULL}, op, map);
    mlirOperationSetLocation(copy, mlirOperationGetLocation(op));
  }
  for (intptr_t r = 0; r < mlirOperationGetNumResults(op); ++r) {
    MlirValue result = mlirOperationGetResult(op, r);
    MlirValue value = shardValueMapGet(map, mlirOperationGetOperand(end, r));
    mlirValueReplaceAllUsesOfWith(result, castTo(op, value, mlirValueGetType(result)));
  }
  mlirOperationDestroy(op);
  return mlirLogicalResultSuccess();
}

MlirLogicalResult shardLowerOwnOps(ShardLowering *lowering, bool *outAny) {
  ShardOpList list = {.arena = lowering->arena};
  shardOpListCollect(&list, lowering->module, NULL, isOwn);
  *outAny = list.nOps > 0;
  MlirAttribute bodies = shardOpGetAttribute(lowering->module, SHARD_OWN_BODIES);
  for (size_t i = 0; i < list.nOps; ++i) {
    MlirStringRef name = shardOpGetName(list.ops[i]);
    MlirAttribute text =
        mlirAttributeIsNull(bodies) ? bodies : mlirDictionaryAttrGetElementByName(bodies, name);
    if (mlirAttributeIsNull(text) && mlirContextIsRegisteredOperation(lowering->context, name)) {
      shardOpRemoveAttribute(list.ops[i], SHARD_OWN_RULE); // an op of MLIR's has a lowering
      continue;
    }
    if (mlirAttributeIsNull(text))
      return shardEmitError(list.ops[i], "'%.*s' has no lowering: its rule names no body",
                            (int)name.length, name.data);
    MlirModule module = mlirModuleCreateParse(lowering->context, mlirStringAttrGetValue(text));
    if (mlirModuleIsNull(module))
      return mlirLogicalResultFailure(); // the parser has said why
    MlirOperation func = mlirBlockGetFirstOperation(mlirModuleGetBody(module));
    MlirLogicalResult result = inlineBody(lowering, list.ops[i], shardFuncGetBody(func));
    mlirModuleDestroy(module);
    if (mlirLogicalResultIsFailure(result))
      return result;
  }
  shardOpRemoveAttribute(lowering->module, SHARD_OWN_BODIES);
  return mlirLogicalResultSuccess();
}
