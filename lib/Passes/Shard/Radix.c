//===- Radix.c - Local and global indices of split loops ----------*- C -*-===//

#include "Radix.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

static void radixAppend(const ShardSpmd *spmd, ShardRadix *radix, int64_t size,
                        ShardAxisList axes) {
  int64_t local = size;
  for (int k = 0; k < axes.count; ++k)
    local /= spmd->mesh.sizes[axes.axis[k]];
  radix->split |= axes.count != 0;
  if (axes.count == 0 && radix->nGroups) {
    radix->groups[radix->nGroups - 1].global *= size;
    radix->groups[radix->nGroups - 1].local *= size;
    return;
  }
  radix->groups[radix->nGroups++] = (ShardRadixGroup){size, local, axes, {NULL}};
}

ShardRadix shardRadixOfLoop(const ShardSpmd *spmd, const ShardOpPlan *plan, int64_t loop) {
  ShardRadix radix = {.groups =
                          SHARD_ARENA_ARRAY(spmd->arena, ShardRadixGroup, plan->rule->nFactors)};
  for (int32_t f = 0; f < plan->rule->nFactors; ++f)
    if (plan->rule->factors[f].loop == loop)
      radixAppend(spmd, &radix, plan->rule->factors[f].size, plan->factors[f]);
  return radix;
}

ShardRadix shardRadixOfDimension(const ShardSpmd *spmd, const ShardOpPlan *plan,
                                 const ShardPort *port, const ShardSharding *sharding,
                                 intptr_t dim) {
  const ShardValueInfo *info = &spmd->rules->values[port->value];
  ShardRadix radix = {.groups = SHARD_ARENA_ARRAY(spmd->arena, ShardRadixGroup, info->nAtoms)};
  for (int32_t i = 0; i < info->nAtoms; ++i) {
    if (info->atoms[i].dim != dim)
      continue;
    radixAppend(spmd, &radix, info->atoms[i].size, sharding->atoms[i]);
    int32_t factor = port->factors[i];
    radix.gather |= factor >= 0 && plan->rule->factors[factor].kind == SHARD_FACTOR_GATHER;
  }
  return radix;
}

void shardRadixBuildOrigins(ShardBuild *build, ShardPlace place, ShardRadix *radix) {
  for (int32_t g = 0; g < radix->nGroups; ++g) {
    ShardRadixGroup *group = &radix->groups[g];
    if (!group->axes.count)
      continue;
    group->origin = shardBuildCoordinate(build, place, group->axes);
    if (group->local != 1)
      group->origin = shardBuildBinary(place, "arith.muli", group->origin,
                                       shardBuildIndex(build, place, group->local));
  }
}

MlirValue shardRadixBuildGlobal(ShardBuild *build, ShardPlace place, const ShardRadix *radix,
                                MlirValue local) {
  MlirValue sum = {NULL}, rest = local;
  int64_t stride = 1;
  for (int32_t g = radix->nGroups - 1; g >= 0; --g) {
    const ShardRadixGroup *group = &radix->groups[g];
    MlirValue digit = rest;
    if (g > 0) {
      MlirValue size = shardBuildIndex(build, place, group->local);
      digit = shardBuildBinary(place, "arith.remui", rest, size);
      rest = shardBuildBinary(place, "arith.divui", rest, size);
    }
    if (!mlirValueIsNull(group->origin))
      digit = shardBuildBinary(place, "arith.addi", digit, group->origin);
    if (stride != 1)
      digit = shardBuildBinary(place, "arith.muli", digit, shardBuildIndex(build, place, stride));
    sum = mlirValueIsNull(sum) ? digit : shardBuildBinary(place, "arith.addi", sum, digit);
    stride *= group->global;
  }
  return sum;
}

static MlirValue buildCompareUlt(ShardPlace place, MlirValue a, MlirValue b) {
  MlirContext context = mlirLocationGetContext(place.location);
  MlirType i1 = mlirIntegerTypeGet(context, 1);
  ShardNamedAttribute less = {"predicate", mlirIntegerAttrGet(mlirIntegerTypeGet(context, 64), 6)};
  MlirValue operands[] = {a, b};
  return mlirOperationGetResult(shardOpCreate(place.block, place.before, place.location,
                                              "arith.cmpi", 1, &i1, 2, operands, 1, &less, 0, NULL),
                                0);
}

MlirValue shardRadixBuildLocal(ShardBuild *build, ShardPlace place, const ShardRadix *radix,
                               MlirValue global, MlirValue *inRange) {
  MlirValue sum = {NULL}, rest = global;
  int64_t stride = 1;
  for (int32_t g = radix->nGroups - 1; g >= 0; --g) {
    const ShardRadixGroup *group = &radix->groups[g];
    MlirValue digit = rest;
    if (g > 0) {
      MlirValue size = shardBuildIndex(build, place, group->global);
      digit = shardBuildBinary(place, "arith.remui", rest, size);
      rest = shardBuildBinary(place, "arith.divui", rest, size);
    }
    if (!mlirValueIsNull(group->origin)) {
      digit = shardBuildBinary(place, "arith.subi", digit, group->origin);
      if (radix->gather) {
        MlirValue inside =
            buildCompareUlt(place, digit, shardBuildIndex(build, place, group->local));
        digit = shardBuildSelect(place, inside, digit, shardBuildIndex(build, place, 0));
        *inRange = mlirValueIsNull(*inRange)
                       ? inside
                       : shardBuildBinary(place, "arith.andi", *inRange, inside);
      }
    }
    if (stride != 1)
      digit = shardBuildBinary(place, "arith.muli", digit, shardBuildIndex(build, place, stride));
    sum = mlirValueIsNull(sum) ? digit : shardBuildBinary(place, "arith.addi", sum, digit);
    stride *= group->local;
  }
  return sum;
}
