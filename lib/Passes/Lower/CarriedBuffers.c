//===- CarriedBuffers.c - The buffers that loops carry -------------*- C -*-===//
// A step reads what the last one wrote and writes what the next one reads, so that what a loop
// yields goes back into the buffer that it came in.
//===----------------------------------------------------------------------===//

#include "Destinations.h"

/// Whether `user` may run after `loop` has begun: it lies in the loop, or behind it.
static bool readsLater(MlirOperation user, MlirOperation loop) {
  MlirBlock block = mlirOperationGetBlock(loop);
  while (!mlirOperationIsNull(user) && !mlirBlockEqual(mlirOperationGetBlock(user), block))
    user = mlirOperationGetParentOperation(user);
  for (; !mlirOperationIsNull(user); user = mlirOperationGetNextInBlock(user))
    if (mlirOperationEqual(user, loop))
      return false;
  return true;
}

static MlirBlock blockOf(MlirValue value) {
  return mlirValueIsABlockArgument(value) ? mlirBlockArgumentGetOwner(value)
                                          : mlirOperationGetBlock(mlirOpResultGetOwner(value));
}

static bool isInside(MlirOperation op, MlirOperation loop) {
  for (; !mlirOperationIsNull(op); op = mlirOperationGetParentOperation(op))
    if (mlirOperationEqual(op, loop))
      return true;
  return false;
}

/// Whether somebody else may read what the loop starts from once the loop has begun: in the loop or
/// behind it, by another name (a reshape's source), at the next step of a loop around it, or
/// because two values that the loop carries start from it.
static bool isReadLater(MlirValue init, MlirOperation loop) {
  MlirOperation link = loop;
  for (MlirValue value = init;;) {
    if (!mlirBlockEqual(blockOf(value), mlirOperationGetBlock(loop)))
      return true;
    int nLinks = 0;
    for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
         use = mlirOpOperandGetNextUse(use)) {
      MlirOperation user = mlirOpOperandGetOwner(use);
      if (mlirOperationEqual(user, link) ? ++nLinks > 1
                                         : isInside(user, loop) || readsLater(user, loop))
        return true;
    }
    link = shardValueDefiningOp(value);
    if (mlirOperationIsNull(link) ||
        !(shardOpIs(link, "tensor.collapse_shape") || shardOpIs(link, "tensor.expand_shape") ||
          shardOpIs(link, "tensor.cast") || shardOpIs(link, "tensor.extract_slice")))
      return false;
    value = mlirOperationGetOperand(link, 0);
  }
}

/// `value` copied to the buffer of `destination`.
static MlirValue makeCopyInto(ShardLowerBuilder *b, MlirValue value, MlirValue destination) {
  MlirValue operands[] = {value, destination};
  return shardMakeValue(b, "bufferization.materialize_in_destination", mlirValueGetType(value), 2,
                        operands);
}

/// A copy with a dense buffer of its own, whatever bufferization knows of the rest.
static MlirValue makeDenseCopy(ShardLowerBuilder *b, MlirValue value) {
  MlirType type = mlirValueGetType(value);
  ShardNamedAttribute none = {
      "operandSegmentSizes",
      mlirDenseI32ArrayGet(b->lowering->context, 3, (const int32_t[]){0, 0, 0})};
  return makeCopyInto(
      b, value,
      mlirOperationGetResult(
          shardMakeOp(b, "bufferization.alloc_tensor", 1, &type, 0, NULL, 1, &none), 0));
}

/// What a loop starts from and others read later is copied for the loop: steps write over what they
/// carry, and bufferization does not see through the pointers of calls who reads it still.
static void copyReadInits(ShardLowering *lowering, MlirOperation loop, intptr_t first) {
  for (intptr_t i = first; i < mlirOperationGetNumOperands(loop); ++i) {
    MlirValue init = mlirOperationGetOperand(loop, i);
    if (!mlirTypeIsARankedTensor(mlirValueGetType(init)) || !isReadLater(init, loop))
      continue;
    ShardLowerBuilder b = shardLowerBuilderBefore(lowering, loop);
    mlirOperationSetOperand(loop, i, makeDenseCopy(&b, init));
  }
}

/// Makes what a loop yields the buffer that it came in: a buffer made in the body would be the same
/// one at each step, and the step reads the last one's. Bufferization finds out what is in place.
static MlirLogicalResult keepLoopBuffers(void *user, MlirOperation op) {
  ShardLowering *lowering = user;
  copyReadInits(lowering, op, 3);
  MlirBlock body = shardOpBody(op);
  MlirOperation yield = mlirBlockGetTerminator(body);
  ShardLowerBuilder b = shardLowerBuilderBefore(lowering, yield);
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(yield); ++i) {
    MlirValue value = mlirOperationGetOperand(yield, i),
              carried = mlirBlockGetArgument(body, i + 1);
    if (mlirTypeIsARankedTensor(mlirValueGetType(value)) && !mlirValueEqual(value, carried))
      mlirOperationSetOperand(yield, i, makeCopyInto(&b, value, carried));
  }
  return mlirLogicalResultSuccess();
}

/// Whether a value is a block argument, or lies in its buffer.
static bool keepsBuffer(MlirValue value, MlirValue argument) {
  if (mlirValueEqual(value, argument))
    return true;
  MlirOperation op = shardValueDefiningOp(value);
  return !mlirOperationIsNull(op) && shardOpIs(op, "bufferization.materialize_in_destination") &&
         mlirValueEqual(mlirOperationGetOperand(op, 1), argument);
}

/// The same for scf.while: what the second region yields goes back to the buffer of the argument
/// that the first region passes on.
static MlirLogicalResult keepWhileBuffers(void *user, MlirOperation op) {
  ShardLowering *lowering = user;
  copyReadInits(lowering, op, 0);
  MlirBlock before = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0));
  MlirBlock after = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 1));
  MlirOperation condition = mlirBlockGetTerminator(before), yield = mlirBlockGetTerminator(after);
  // What the first region makes goes to the buffer of its argument: only then is it in place.
  ShardLowerBuilder a = shardLowerBuilderBefore(lowering, condition);
  for (intptr_t k = 1;
       k < mlirOperationGetNumOperands(condition) && k <= mlirBlockGetNumArguments(before); ++k) {
    MlirValue value = mlirOperationGetOperand(condition, k);
    MlirValue argument = mlirBlockGetArgument(before, k - 1);
    bool made = !mlirValueIsABlockArgument(value) ||
                !mlirBlockEqual(mlirBlockArgumentGetOwner(value), before);
    if (mlirTypeIsARankedTensor(mlirValueGetType(value)) && made && !keepsBuffer(value, argument) &&
        mlirTypeEqual(mlirValueGetType(value), mlirValueGetType(argument)))
      mlirOperationSetOperand(condition, k, makeCopyInto(&a, value, argument));
  }
  ShardLowerBuilder b = shardLowerBuilderBefore(lowering, yield);
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(yield); ++i) {
    MlirValue value = mlirOperationGetOperand(yield, i);
    if (!mlirTypeIsARankedTensor(mlirValueGetType(value)))
      continue;
    for (intptr_t k = 1; k < mlirOperationGetNumOperands(condition); ++k) {
      MlirValue passed = mlirBlockGetArgument(after, k - 1);
      if (!keepsBuffer(mlirOperationGetOperand(condition, k), mlirBlockGetArgument(before, i)) ||
          mlirValueEqual(value, passed))
        continue;
      mlirOperationSetOperand(yield, i, makeCopyInto(&b, value, passed));
      break;
    }
  }
  return mlirLogicalResultSuccess();
}

/// Both branches of scf.if leave dense copies of their results: views of different layout do not
/// merge.
static MlirLogicalResult copyBranchResults(void *user, MlirOperation op) {
  ShardLowering *lowering = user;
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i) {
    MlirType type = mlirValueGetType(mlirOperationGetResult(op, i));
    if (!mlirTypeIsARankedTensor(type) || shardTypeElementCount(type) < 0)
      continue;
    for (intptr_t r = 0; r < 2; ++r) {
      MlirOperation yield =
          mlirBlockGetTerminator(mlirRegionGetFirstBlock(mlirOperationGetRegion(op, r)));
      ShardLowerBuilder b = shardLowerBuilderBefore(lowering, yield);
      mlirOperationSetOperand(yield, i, makeDenseCopy(&b, mlirOperationGetOperand(yield, i)));
    }
  }
  return mlirLogicalResultSuccess();
}

void shardKeepCarriedBuffers(ShardLowering *lowering) {
  shardWalk(lowering->module, "scf.for", keepLoopBuffers, lowering);
  shardAlignWhiles(lowering);
  shardWalk(lowering->module, "scf.while", keepWhileBuffers, lowering);
  shardWalk(lowering->module, "scf.if", copyBranchResults, lowering);
}
