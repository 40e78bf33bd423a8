//===- Chains.c - Long chains of insertions -----------------------*- C -*-===//
// What one-shot analysis asks of a buffer takes time to the third power of the insertions into it.
// Every few links the chain goes on from the buffer of what it has made, which is a new value to
// the analysis; no other op sees what is cut, so that nothing is copied for it.
//===----------------------------------------------------------------------===//

#include "Destinations.h"

enum { MAX_LINKS = 16 };

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
}
