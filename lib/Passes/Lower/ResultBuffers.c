//===- ResultBuffers.c - Results that start from one value ---------*- C -*-===//
// A result is computed in its own buffer: eliminate-empty-tensors follows what it is made of, by
// destinations and insertions, back to a tensor.empty. Two results that come from one value so meet
// in one of their buffers, and bufferization does not see that writing the one result there ends
// the other: what a buffer gets by materialize_in_destination is no tensor to it. All such results
// but one are copied before the first of them is written.
//===----------------------------------------------------------------------===//

#include "Lower.h"

#include "../Core/Insert.h"

#include <string.h>

typedef struct Chain {
  ShardArena *arena;
  ShardPointerMap *seen; // MlirValue.ptr -> 1
  MlirValue *values;     // [n]
  size_t n, capacity;
  bool fromEmpty; // it leads to a tensor.empty
} Chain;

static void follow(Chain *chain, MlirValue value);

/// What the ops that end the regions of a loop or branch hand back.
static void followRegions(Chain *chain, MlirOperation op) {
  for (intptr_t r = 0; r < mlirOperationGetNumRegions(op); ++r) {
    MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, r));
    MlirOperation end =
        mlirBlockIsNull(block) ? (MlirOperation){NULL} : mlirBlockGetTerminator(block);
    for (intptr_t i = 0; !mlirOperationIsNull(end) && i < mlirOperationGetNumOperands(end); ++i)
      follow(chain, mlirOperationGetOperand(end, i));
  }
}

/// The operands in whose buffer the op may leave a result.
static void followOperands(Chain *chain, MlirOperation op) {
  MlirStringRef name = shardOpGetName(op);
  intptr_t first = 0, end = mlirOperationGetNumOperands(op);
  bool isLinalg = shardNameHasDialect(name, "linalg");
  bool isInsert = shardStringIs(name, "tensor.insert_slice") ||
                  shardStringIs(name, "tensor.insert") ||
                  shardStringIs(name, "bufferization.materialize_in_destination");
  bool isControl = shardNameHasDialect(name, "scf");
  static const char *const sameBuffer[] = {"tensor.expand_shape", "tensor.collapse_shape",
                                           "tensor.cast", "tensor.extract_slice", "arith.select"};
  bool isSame = false;
  for (size_t i = 0; i < sizeof(sameBuffer) / sizeof(sameBuffer[0]); ++i)
    isSame |= shardStringIs(name, sameBuffer[i]);
  if (isLinalg)
    first = end - mlirOperationGetNumResults(op);
  else if (isInsert)
    first = 1, end = 2;
  else if (!isSame && !isControl)
    return;
  for (intptr_t i = first; i < end; ++i)
    follow(chain, mlirOperationGetOperand(op, i));
  if (isControl)
    followRegions(chain, op);
}

static void follow(Chain *chain, MlirValue value) {
  if (!mlirTypeIsARankedTensor(mlirValueGetType(value)) ||
      shardPointerMapGetOr(chain->seen, value.ptr, 0))
    return;
  shardPointerMapSet(chain->seen, value.ptr, 1);
  MlirOperation op = shardValueDefiningOp(value);
  if (mlirOperationIsNull(op) || shardOpIs(op, "bufferization.to_tensor") ||
      shardOpIs(op, "arith.constant"))
    return;
  if (shardOpIs(op, "tensor.empty")) {
    chain->fromEmpty = true;
    return;
  }
  chain->values = shardArenaGrow(chain->arena, chain->values, chain->n, &chain->capacity,
                                 chain->n + 1, sizeof(MlirValue));
  chain->values[chain->n++] = value;
  followOperands(chain, op);
}

static MlirValue makeCopy(ShardLowering *lowering, MlirOperation before, MlirValue value) {
  ShardLowerBuilder b = shardLowerBuilderBefore(lowering, before);
  MlirValue empty = shardMakeValue(&b, "tensor.empty", mlirValueGetType(value), 0, NULL);
  return shardCreateFilled(b.block, b.before, b.location, "linalg.copy", value, empty);
}

static void keepApart(ShardLowering *lowering, MlirOperation func) {
  MlirOperation first = {NULL};
  ShardPointerMap *owned = shardPointerMapCreate(lowering->arena, 64);
  for (MlirOperation op = mlirBlockGetFirstOperation(shardFuncGetBody(func));
       !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op)) {
    if (!shardOpIs(op, "bufferization.materialize_in_destination") ||
        mlirOperationGetNumResults(op) != 0)
      continue;
    if (mlirOperationIsNull(first))
      first = op;
    Chain chain = {.arena = lowering->arena, .seen = shardPointerMapCreate(lowering->arena, 16)};
    MlirValue value = mlirOperationGetOperand(op, 0);
    follow(&chain, value);
    bool shared = false;
    for (size_t i = 0; i < chain.n; ++i)
      shared |= shardPointerMapGetOr(owned, chain.values[i].ptr, 0) != 0;
    if (shared)
      mlirOperationSetOperand(op, 0, makeCopy(lowering, first, value));
    for (size_t i = 0; i < chain.n && !shared && chain.fromEmpty; ++i)
      shardPointerMapSet(owned, chain.values[i].ptr, 1);
  }
}

void shardKeepResultsApart(ShardLowering *lowering) {
  MlirBlock top = shardOpBody(lowering->module);
  for (MlirOperation op = mlirBlockGetFirstOperation(top); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op))
    if (shardOpIs(op, "func.func") && !mlirBlockIsNull(shardFuncGetBody(op)))
      keepApart(lowering, op);
}
