//===- Versions.c - The local tensors that hold a value -----------*- C -*-===//
// A value is brought to a placement at most once a function. What has no operand data is made again
// where it is wanted rather than moved.
//===----------------------------------------------------------------------===//

#include "Spmd.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <assert.h>
#include <string.h>

ShardVersion *shardBuildFindVersion(ShardBuild *build, int32_t value,
                                    const ShardSharding *sharding) {
  for (ShardVersion *v = build->versions[value]; v; v = v->next)
    if (shardShardingEqual(v->sharding, sharding))
      return v;
  return NULL;
}

void shardBuildAddVersion(ShardBuild *build, int32_t value, const ShardSharding *sharding,
                          MlirValue local) {
  if (shardBuildFindVersion(build, value, sharding))
    return;
  shardOriginMark(build->spmd, value, sharding, local);
  shardExtentMark(build->spmd, value, sharding, local);
  ShardVersion *version = SHARD_ARENA_NEW(build->spmd->arena, ShardVersion);
  version->sharding = sharding;
  version->value = local;
  ShardVersion **end = &build->versions[value];
  while (*end)
    end = &(*end)->next;
  *end = version;
}

void shardBuildMapScalar(ShardBuild *build, MlirValue old, MlirValue replacement) {
  build->scalarValues =
      shardArenaGrow(build->spmd->arena, build->scalarValues, build->nScalars,
                     &build->capacityScalars, build->nScalars + 1, sizeof(MlirValue));
  build->scalarValues[build->nScalars] = replacement;
  shardPointerMapSet(build->scalars, old.ptr, (int64_t)build->nScalars++);
}

bool shardBuildFindScalar(ShardBuild *build, MlirValue old, MlirValue *out) {
  int64_t index;
  if (!shardPointerMapGet(build->scalars, old.ptr, &index))
    return false;
  *out = build->scalarValues[index];
  return true;
}

static bool isConstantIdentity(MlirAttribute value, ShardCombiner combiner) {
  if (mlirAttributeIsADenseElements(value)) {
    if (!mlirDenseElementsAttrIsSplat(value))
      return false;
    value = mlirDenseElementsAttrGetSplatValue(value);
  }
  double number;
  if (mlirAttributeIsAFloat(value))
    number = mlirFloatAttrGetValueDouble(value);
  else if (mlirAttributeIsAInteger(value)) {
    int64_t integer;
    if (!shardAttrGetI64(value, &integer))
      return false;
    number = (double)integer;
  } else
    return false;
  return number == (combiner == SHARD_COMBINER_PRODUCT ? 1.0 : 0.0);
}

// Whether every element of an L2 value is the combiner's identity, or may be combined repeatedly.
static bool mayRepeat(const ShardOpRule *definition, ShardCombiner combiner) {
  if (combiner != SHARD_COMBINER_SUM && combiner != SHARD_COMBINER_PRODUCT)
    return true;
  MlirOperation op = definition->op;
  if (shardOpIs(op, "linalg.fill") || shardOpIs(op, "tensor.splat")) {
    MlirValue scalar = mlirOperationGetOperand(op, 0);
    if (!mlirValueIsAOpResult(scalar))
      return false;
    op = mlirOpResultGetOwner(scalar);
  }
  return shardOpIs(op, "arith.constant") &&
         isConstantIdentity(shardOpGetAttribute(op, "value"), combiner);
}

static bool isPartial(const ShardSharding *sharding) {
  for (int a = 0; a < SHARD_MAX_AXES; ++a)
    if (sharding->partial[a])
      return true;
  return false;
}

// A value without operand data is made again rather than moved.
static bool remake(ShardBuild *build, int32_t value, const ShardSharding *sharding,
                   const ShardOpRule *definition, MlirOperation consumer) {
  ShardSpmd *spmd = build->spmd;
  if (isPartial(sharding)) {
    ShardSharding *plain = shardShardingCopy(spmd->arena, sharding);
    memset(plain->partial, 0, sizeof(plain->partial));
    MlirValue local = shardBuildGetVersion(build, value, plain, consumer);
    if (mlirValueIsNull(local))
      return false;
    bool repeats = true;
    for (int a = 0; a < SHARD_MAX_AXES; ++a)
      if (sharding->partial[a])
        repeats &= mayRepeat(definition, sharding->partial[a]);
    if (repeats)
      shardBuildAddVersion(build, value, sharding, local);
    return true;
  }
  ShardSharding *wanted = shardShardingCopy(spmd->arena, sharding);
  ShardOpPlan *plan = shardOpPlanCreate(spmd, definition, &wanted);
  return plan && mlirLogicalResultIsSuccess(shardLocaliseOp(build, definition->op, plan));
}

MlirValue shardBuildGetVersion(ShardBuild *build, int32_t value, const ShardSharding *sharding,
                               MlirOperation consumer) {
  MlirValue none = {NULL};
  ShardVersion *version = shardBuildFindVersion(build, value, sharding);
  if (version)
    return version->value;
  const ShardOpRule *definition = shardSpmdDefinition(build->spmd, value);
  if (definition && definition->cheap && definition->nResults == 1) {
    if (!remake(build, value, sharding, definition, consumer))
      return none;
    version = shardBuildFindVersion(build, value, sharding);
    if (version)
      return version->value;
  }
  if (!build->versions[value] && (!build->fetch || !build->fetch(build, value, consumer)))
    return none;
  const ShardVersion *best = NULL;
  ShardReshardCost bestCost = {0};
  for (const ShardVersion *v = build->versions[value]; v; v = v->next) {
    ShardReshardCost cost = shardReshardFindCost(build->spmd, value, v->sharding, sharding);
    if (!best || cost.sent < bestCost.sent ||
        (cost.sent == bestCost.sent && cost.nCollectives < bestCost.nCollectives)) {
      best = v;
      bestCost = cost;
    }
  }
  assert(best);
  if (shardShardingEqual(best->sharding, sharding))
    return best->value;
  // Right after the definition; an argument's at its first use.
  ShardPlace place = {.block = build->block, .location = mlirOperationGetLocation(consumer)};
  if (mlirValueIsAOpResult(best->value))
    place.before = mlirOperationGetNextInBlock(mlirOpResultGetOwner(best->value));
  return shardReshard(build, value, best->value, best->sharding, sharding, place, consumer);
}
