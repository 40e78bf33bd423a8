//===- Radix.c - Local and global indices of split loops ----------*- C -*-===//

#include "Radix.h"

// Appends an atom, or the block that it heads: `atom` and `axes` lie in arrays.
static void radixAppend(const ShardSpmd *spmd, ShardRadix *radix, const ShardAtom *atom,
                        const ShardAxisList *axes, ShardFactorKind kind) {
  if (axes->span == SHARD_SPAN_INSIDE)
    return;
  int64_t size = atom->size;
  for (int i = 1; i <= axes->span; ++i)
    size *= atom[i].size;
  int64_t local = shardShardingLocalAtomSize(&spmd->mesh, atom, *axes);
  bool uneven = local * shardAxisListSize(&spmd->mesh, *axes) != size;
  radix->split |= axes->count != 0;
  radix->uneven |= uneven;
  if (axes->count == 0 && radix->nGroups) {
    radix->groups[radix->nGroups - 1].global *= size;
    radix->groups[radix->nGroups - 1].local *= size;
    return;
  }
  radix->groups[radix->nGroups++] = (ShardRadixGroup){
      .global = size, .local = local, .uneven = uneven, .kind = kind, .axes = *axes};
}

ShardRadix shardRadixOfLoop(const ShardSpmd *spmd, const ShardOpPlan *plan, int64_t loop) {
  const ShardOpRule *rule = plan->rule;
  ShardRadix radix = {.groups = SHARD_ARENA_ARRAY(spmd->arena, ShardRadixGroup, rule->nFactors)};
  ShardAtom *atoms = SHARD_ARENA_ARRAY(spmd->arena, ShardAtom, rule->nFactors);
  for (int32_t f = 0; f < rule->nFactors; ++f)
    atoms[f].size = rule->factors[f].size;
  for (int32_t f = 0; f < rule->nFactors; ++f)
    if (rule->factors[f].loop == loop)
      radixAppend(spmd, &radix, &atoms[f], &plan->factors[f], rule->factors[f].kind);
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
    int32_t factor = port->factors[i];
    ShardFactorKind kind = factor >= 0 ? plan->rule->factors[factor].kind : SHARD_FACTOR_WHOLE;
    radixAppend(spmd, &radix, &info->atoms[i], &sharding->atoms[i], kind);
    radix.gather |= kind == SHARD_FACTOR_GATHER;
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
    if (group->uneven)
      group->valid = shardBuildValidCount(build, place, group->origin, group->global, group->local);
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

static bool isAsked(const ShardRadixGroup *group, int kind) {
  return group->uneven && (kind < 0 || (int)group->kind == kind);
}

bool shardRadixAsks(const ShardRadix *radix, int kind) {
  for (int32_t g = 0; g < radix->nGroups; ++g)
    if (isAsked(&radix->groups[g], kind))
      return true;
  return false;
}

MlirValue shardRadixBuildValid(ShardBuild *build, ShardPlace place, const ShardRadix *radix,
                               MlirValue local, int kind, MlirValue all) {
  MlirValue rest = local;
  int32_t nLeft = 0; // groups still to be asked
  for (int32_t g = 0; g < radix->nGroups; ++g)
    nLeft += isAsked(&radix->groups[g], kind);
  for (int32_t g = radix->nGroups - 1; g >= 0 && nLeft; --g) {
    const ShardRadixGroup *group = &radix->groups[g];
    MlirValue digit = rest;
    bool asked = isAsked(group, kind);
    nLeft -= asked;
    if (g > 0) {
      MlirValue size = shardBuildIndex(build, place, group->local);
      if (asked)
        digit = shardBuildBinary(place, "arith.remui", rest, size);
      if (nLeft)
        rest = shardBuildBinary(place, "arith.divui", rest, size);
    }
    if (!asked)
      continue;
    MlirValue valid = shardBuildCompareUlt(place, digit, group->valid);
    all = mlirValueIsNull(all) ? valid : shardBuildBinary(place, "arith.andi", all, valid);
  }
  return all;
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
            shardBuildCompareUlt(place, digit, shardBuildIndex(build, place, group->local));
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
