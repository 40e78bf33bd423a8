//===- Chains.c - Long chains of insertions, and many reads --------*- C -*-===//
// What one-shot analysis asks of a buffer takes time to the third power of the insertions into it.
// Every few links the chain goes on from the buffer of what it has made, which is a new value to
// the analysis; no other op sees what is cut, so that nothing is copied for it.
// It takes time to the second power of the reads of a value: what is only read is read through
// several values.
//===----------------------------------------------------------------------===//

#include "Destinations.h"

enum { MAX_LINKS = 16, MAX_READS = 64 };

static void replaceOtherUses(MlirValue value, MlirValue other, MlirOperation except) {
  for (MlirOpOperand use = mlirValueGetFirstUse(value), next; !mlirOpOperandIsNull(use);
       use = next) {
    next = mlirOpOperandGetNextUse(use);
    MlirOperation user = mlirOpOperandGetOwner(use);
    if (!mlirOperationEqual(user, except))
      mlirOperationSetOperand(user, mlirOpOperandGetOperandNumber(use), other);
  }
}

static void cutAfter(ShardLowering *lowering, MlirOperation link) {
  MlirValue made = mlirOperationGetResult(link, 0);
  MlirType tensor = mlirValueGetType(made), memref = shardMemrefOfTensor(tensor);
  ShardLowerBuilder b = {lowering, mlirOperationGetLocation(link), mlirOperationGetBlock(link),
                         mlirOperationGetNextInBlock(link)};
  MlirValue buffer = shardMakeValue(&b, "bufferization.to_buffer", memref, 1, &made);
  replaceOtherUses(made, shardMakeTensorOfBuffer(&b, buffer, tensor, true),
                   mlirOpResultGetOwner(buffer));
}

/// Whether an op of linalg reads it in all of its uses: then none writes in place.
static bool isInputOnly(MlirValue value) {
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use)) {
    MlirOperation user = mlirOpOperandGetOwner(use);
    if (!shardNameHasDialect(shardOpGetName(user), "linalg") ||
        mlirOpOperandGetOperandNumber(use) >=
            mlirOperationGetNumOperands(user) - mlirOperationGetNumResults(user))
      return false;
  }
  return true;
}

static bool isRead(MlirOperation op) {
  return shardOpIs(op, "bufferization.to_tensor") &&
         (mlirAttributeIsNull(shardOpGetAttribute(op, "writable")) ||
          isInputOnly(mlirOperationGetResult(op, 0)));
}

/// What is only read is read through a value of its own every few uses: the analysis looks at each
/// use of a value for each other one.
static void cutReads(ShardOpList *uses, MlirOperation read) {
  MlirValue value = mlirOperationGetResult(read, 0);
  uses->nOps = 0;
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use))
    shardOpListAppend(uses, mlirOpOperandGetOwner(use));
  for (size_t i = MAX_READS; i < uses->nOps; ++i) {
    if (i % MAX_READS == 0) {
      read = mlirOperationClone(read);
      mlirBlockInsertOwnedOperationBefore(mlirOperationGetBlock(mlirOpResultGetOwner(value)),
                                          mlirOperationGetNextInBlock(mlirOpResultGetOwner(value)),
                                          read);
    }
    for (intptr_t k = 0; k < mlirOperationGetNumOperands(uses->ops[i]); ++k)
      if (mlirValueEqual(mlirOperationGetOperand(uses->ops[i], k), value))
        mlirOperationSetOperand(uses->ops[i], k, mlirOperationGetResult(read, 0));
  }
}

void shardCutChains(ShardLowering *lowering) {
  ShardOpList links = {.arena = lowering->arena};
  shardOpListCollect(&links, lowering->module, "tensor.insert_slice", NULL);
  ShardPointerMap *length = shardPointerMapCreate(lowering->arena, links.nOps);
  for (size_t i = 0; i < links.nOps; ++i) {
    MlirValue dest = mlirOperationGetOperand(links.ops[i], 1);
    int64_t n = shardPointerMapGetOr(length, dest.ptr, 0) + 1;
    if (n == MAX_LINKS)
      cutAfter(lowering, links.ops[i]);
    else
      shardPointerMapSet(length, mlirOperationGetResult(links.ops[i], 0).ptr, n);
  }
  ShardOpList reads = {.arena = lowering->arena}, uses = {.arena = lowering->arena};
  shardOpListCollect(&reads, lowering->module, NULL, isRead);
  for (size_t i = 0; i < reads.nOps; ++i)
    cutReads(&uses, reads.ops[i]);
}
