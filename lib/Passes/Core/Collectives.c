//===- Collectives.c - Kinds of collectives, by name --------------*- C -*-===//
#include "Collectives.h"

#include "IR.h"

#include "mlir-c/BuiltinAttributes.h"

static const struct {
  const char *op, *kind;
} kinds[] = {{"shard.all_reduce", "all-reduce"},
             {"shard.all_gather", "all-gather"},
             {"shard.reduce_scatter", "reduce-scatter"},
             {"shard.all_to_all", "all-to-all"},
             {"shard.shift", "permute"},
             {"shard.broadcast", "broadcast"},
             {"shard.send", "send"},
             {"shard.recv", "send"}};
enum { nOps = sizeof kinds / sizeof kinds[0], nKinds = nOps - 1 }; // the last two are one

const char *shardCollectiveKind(MlirOperation op) {
  for (int i = 0; i < nOps; ++i)
    if (shardOpIs(op, kinds[i].op))
      return kinds[i].kind;
  return NULL;
}

const char *shardCollectiveKindName(intptr_t index) {
  return index >= 0 && index < nKinds ? kinds[index].kind : NULL;
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
