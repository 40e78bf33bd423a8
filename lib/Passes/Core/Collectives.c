//===- Collectives.c - Kinds of collectives, by name --------------*- C -*-===//
#include "Collectives.h"

#include "IR.h"

#include "mlir-c/BuiltinAttributes.h"

static const struct {
  const char *name, *op;
} kinds[] = {
#define SHARD_COLLECTIVE(Kind, Name, Op) [Kind] = {Name, Op},
#include "../../Collectives.def"
};
enum { nKinds = sizeof kinds / sizeof kinds[0] };

const char *shardCollectiveKind(MlirOperation op) {
  for (int i = 0; i < nKinds; ++i)
    if (shardOpIs(op, kinds[i].op))
      return kinds[i].name;
  return shardOpIs(op, "shard.recv") ? kinds[SHARD_RT_SEND].name : NULL;
}

const char *shardCollectiveKindName(ShardRtKind kind) {
  return (unsigned)kind < nKinds ? kinds[kind].name : NULL;
}

int64_t shardSiteCallCount(MlirAttribute calls) {
  int64_t count = 0;
  if (mlirAttributeIsNull(calls) || !mlirAttributeIsAArray(calls))
    return 0;
  for (intptr_t i = 0; i < mlirArrayAttrGetNumElements(calls); ++i) {
    MlirAttribute call = mlirArrayAttrGetElement(calls, i), times = {NULL};
    if (mlirAttributeIsADictionary(call))
      times = mlirDictionaryAttrGetElementByName(call, mlirStringRefCreateFromCString("times"));
    int64_t steps = 1;
    shardAttrGetI64(times, &steps);
    count += steps;
  }
  return count;
}
