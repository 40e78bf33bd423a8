//===- Steps.c - Loop bodies that update what they carry ----------*- C -*-===//
// Import makes the body of a loop a function. A call writes its results to buffers of its own, so a
// step that replaces one row of a carried table would copy the whole table twice. Where a step only
// inserts into what the loop carries, its body takes the call's place again: bufferization then
// sees that the insertion is in place.
//===----------------------------------------------------------------------===//

#include "Lower.h"

static bool isBefore(MlirOperation op, MlirOperation other) {
  while (!mlirOperationIsNull(op) && !mlirOperationEqual(op, other))
    op = mlirOperationGetNextInBlock(op);
  return !mlirOperationIsNull(op);
}

/// Whether `value` is not used but by `link`, which inserts into it, and by reads of parts of it
/// before that in the same block: then the insertion may be in place.
static bool isDeadAfter(MlirValue value, MlirOperation link) {
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use)) {
    MlirOperation user = mlirOpOperandGetOwner(use);
    if (mlirOperationEqual(user, link)
            ? mlirOpOperandGetOperandNumber(use) == 0
            : !shardOpIs(user, "tensor.extract") && !shardOpIs(user, "tensor.extract_slice"))
      return false;
    if (!isBefore(user, link))
      return false;
  }
  return true;
}

/// The argument of `body` that `value`, which it returns, is after insertions that may be in place;
/// null if there is none.
static MlirValue findInsertedInto(MlirBlock body, MlirValue value) {
  MlirOperation link = mlirBlockGetTerminator(body);
  MlirValue end = value;
  while (mlirValueIsAOpResult(value)) {
    if (!mlirValueEqual(value, end) && !isDeadAfter(value, link))
      return (MlirValue){NULL};
    link = mlirOpResultGetOwner(value);
    if (shardOpIs(link, "tensor.insert_slice") || shardOpIs(link, "tensor.insert"))
      value = mlirOperationGetOperand(link, 1);
    else
      return (MlirValue){NULL};
  }
  bool updated = !mlirValueEqual(value, end) &&
                 mlirBlockEqual(mlirBlockArgumentGetOwner(value), body) && isDeadAfter(value, link);
  return updated ? value : (MlirValue){NULL};
}

/// Whether `call` is the body of an scf.for, and every tensor that the loop carries comes back with
/// something inserted. What else a body may return, its carried values exchanged for one, is not
/// always in place.
static bool updatesCarried(MlirOperation call, MlirBlock body) {
  MlirOperation loop = mlirOperationGetParentOperation(call);
  if (!shardOpIs(loop, "scf.for"))
    return false;
  MlirBlock step = shardOpBody(loop);
  MlirOperation end = mlirBlockGetTerminator(body), yield = mlirBlockGetTerminator(step);
  bool any = false;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(yield); ++i) {
    MlirValue carried = mlirBlockGetArgument(step, i + 1);
    MlirValue yielded = mlirOperationGetOperand(yield, i);
    if (!mlirTypeIsARankedTensor(mlirValueGetType(carried)))
      continue;
    if (!mlirValueIsAOpResult(yielded) || !mlirOperationEqual(mlirOpResultGetOwner(yielded), call))
      return false;
    MlirOpOperand use = mlirValueGetFirstUse(carried);
    MlirValue argument =
        findInsertedInto(body, mlirOperationGetOperand(end, mlirOpResultGetResultNumber(yielded)));
    if (mlirValueIsNull(argument) || mlirOpOperandIsNull(use) ||
        !mlirOpOperandIsNull(mlirOpOperandGetNextUse(use)) ||
        !mlirOperationEqual(mlirOpOperandGetOwner(use), call) ||
        mlirOpOperandGetOperandNumber(use) != mlirBlockArgumentGetArgNumber(argument))
      return false;
    any = true;
  }
  return any;
}

/// Moves the ops of `func`, which nothing else calls, to before `call`; both go.
static void inlineOnlyCall(MlirOperation call, MlirOperation func) {
  MlirBlock body = shardFuncGetBody(func);
  MlirOperation end = mlirBlockGetTerminator(body), next;
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(body); ++i)
    mlirValueReplaceAllUsesOfWith(mlirBlockGetArgument(body, i), mlirOperationGetOperand(call, i));
  for (MlirOperation op = mlirBlockGetFirstOperation(body); !mlirOperationEqual(op, end);
       op = next) {
    next = mlirOperationGetNextInBlock(op);
    mlirOperationMoveBefore(op, call);
  }
  for (intptr_t r = 0; r < mlirOperationGetNumResults(call); ++r)
    mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(call, r), mlirOperationGetOperand(end, r));
  mlirOperationDestroy(call);
  mlirOperationDestroy(func);
}

void shardInlineSteps(ShardLowering *lowering) {
  ShardOpList calls = {.arena = lowering->arena};
  shardOpListCollect(&calls, lowering->module, "func.call", NULL);
  for (size_t i = 0; i < calls.nOps; ++i) {
    MlirOperation func = shardModuleCallee(lowering->module, calls.ops[i]);
    if (mlirOperationIsNull(func) || shardFuncIsPublic(func) ||
        mlirBlockIsNull(shardFuncGetBody(func)) ||
        !updatesCarried(calls.ops[i], shardFuncGetBody(func)))
      continue;
    MlirAttribute callee = shardOpGetAttribute(calls.ops[i], "callee");
    size_t nCalls = 0;
    for (size_t k = 0; k < calls.nOps; ++k)
      nCalls += !mlirOperationIsNull(calls.ops[k]) &&
                mlirAttributeEqual(shardOpGetAttribute(calls.ops[k], "callee"), callee);
    if (nCalls != 1)
      continue;
    inlineOnlyCall(calls.ops[i], func);
    calls.ops[i] = (MlirOperation){NULL};
  }
}
