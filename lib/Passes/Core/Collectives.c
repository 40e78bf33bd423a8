//===- Collectives.c - Kinds of collectives, by name --------------*- C -*-===//
#include "Collectives.h"

#include "IR.h"

#include "mlir-c/BuiltinAttributes.h"

#include <stdio.h>
#include <string.h>

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

const char *shardScheduledKind(MlirOperation op, bool *outStarts, bool *outReceives) {
  static const char *const phases[] = {"_start", "_done"};
  MlirStringRef name = shardOpGetName(op);
  if (name.length < 5 || memcmp(name.data, "spmd.", 5) != 0)
    return NULL;
  for (int phase = 0; phase < 2; ++phase)
    for (int i = 0; i <= nKinds; ++i) {
      char scheduled[64];
      const char *base = i < nKinds ? kinds[i].op : "shard.recv";
      snprintf(scheduled, sizeof(scheduled), "spmd.%s%s", strchr(base, '.') + 1, phases[phase]);
      if (!shardStringIs(name, scheduled))
        continue;
      *outStarts = phase == 0;
      *outReceives = i == nKinds;
      return kinds[i < nKinds ? i : SHARD_RT_SEND].name;
    }
  return NULL;
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
