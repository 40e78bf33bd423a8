//===- Buckets.c - Versions of a program for smaller extents ------*- C -*-===//
#include "Buckets.h"

#include "mlir-c/BuiltinAttributes.h"

void shardBucketsFind(MlirOperation module, ShardOpList *out) {
  for (MlirOperation op = mlirBlockGetFirstOperation(shardOpBody(module)); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op))
    if (shardOpIsBucket(op))
      shardOpListAppend(out, op);
}

void shardBucketsTake(MlirOperation module, ShardOpList *out) {
  shardBucketsFind(module, out);
  for (size_t i = 0; i < out->nOps; ++i) {
    mlirOperationRemoveFromParent(out->ops[i]);
    shardOpRemoveAttribute(out->ops[i], SHARD_BUCKET_ATTRIBUTE);
  }
}

void shardBucketsGive(MlirOperation module, const ShardOpList *buckets) {
  for (size_t i = 0; i < buckets->nOps; ++i) {
    shardOpSetAttribute(buckets->ops[i], SHARD_BUCKET_ATTRIBUTE,
                        shardAttrUnit(mlirOperationGetContext(module)));
    mlirBlockAppendOwnedOperation(shardOpBody(module), buckets->ops[i]);
  }
}

void shardBucketsErase(MlirOperation module) {
  ShardArena *arena = shardArenaCreate();
  ShardOpList list = {.arena = arena};
  shardBucketsFind(module, &list);
  for (size_t i = 0; i < list.nOps; ++i)
    mlirOperationDestroy(list.ops[i]);
  shardArenaDestroy(arena);
}

MlirAttribute shardDynamicList(MlirOperation module, const char *name) {
  MlirAttribute none = mlirAttributeGetNull(),
                dynamic = shardOpGetAttribute(module, "spmd.dynamic");
  if (mlirAttributeIsNull(dynamic) || !mlirAttributeIsADictionary(dynamic))
    return none;
  MlirAttribute list =
      mlirDictionaryAttrGetElementByName(dynamic, mlirStringRefCreateFromCString(name));
  return mlirAttributeIsNull(list) || !mlirAttributeIsAArray(list) ? none : list;
}

MlirAttribute shardDynamicDims(MlirOperation module) {
  MlirAttribute rows = shardDynamicList(module, "dims");
  for (intptr_t k = 0; rows.ptr && k < mlirArrayAttrGetNumElements(rows); ++k) {
    MlirAttribute row = mlirArrayAttrGetElement(rows, k);
    if (!mlirAttributeIsADenseI64Array(row) || mlirDenseArrayGetNumElements(row) != 4)
      return mlirAttributeGetNull();
  }
  return rows;
}
