//===- LocaliseBody.c - Local forms of linalg ops ------------------*- C -*-===//
// Loop indices become global and data indices local; steps of a loop that lie in the padding of an
// uneven split leave a reduction as it was and cannot trap.
//===----------------------------------------------------------------------===//

#include "../Analysis/Roll.h"
#include "../Core/Traps.h"

#include "Localiser.h"
#include "Mask.h"
#include "Radix.h"

#include "mlir-c/AffineExpr.h"
#include "mlir-c/AffineMap.h"
#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <inttypes.h>

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

// Every loop index becomes global, so that what the body computes from it stays right.
static void localiseIndex(ShardLocaliser *l, MlirOperation index, ShardPlace outside) {
  ShardBuild *build = l->build;
  int64_t loop = 0;
  shardAttrGetI64(shardOpGetAttribute(index, "dim"), &loop);
  ShardRadix radix = shardRadixOfLoop(build->spmd, l->plan, loop);
  if (!radix.split)
    return;
  shardRadixBuildOrigins(build, outside, &radix);
  MlirOperation after = mlirOperationGetNextInBlock(index);
  ShardPlace inside = {mlirOperationGetBlock(index), after, outside.location};
  MlirValue local = mlirOperationGetResult(index, 0);
  MlirValue global = shardRadixBuildGlobal(build, inside, &radix, local);
  MlirOperation made[512];
  intptr_t n = 0;
  for (MlirOperation op = mlirOperationGetNextInBlock(index);
       !mlirOperationEqual(op, after) && n < 512; op = mlirOperationGetNextInBlock(op))
    made[n++] = op;
  mlirValueReplaceAllUsesExcept(local, global, n, made);
}

static int64_t localSize(MlirOperation extract, intptr_t dim) {
  return mlirShapedTypeGetDimSize(mlirValueGetType(mlirOperationGetOperand(extract, 0)), dim);
}

// The captured tensor is local: its indices are made so, and what another rank holds counts as
// zero: -0, which a sum leaves as it is (0 would take the sign of a row's -0).
static MlirLogicalResult localiseCapture(ShardLocaliser *l, const ShardCapture *capture,
                                         ShardPlace outside) {
  ShardBuild *build = l->build;
  MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(l->copy, 0));
  MlirOperation extract = capture->extract;
  bool padded = shardOpPlanHasPadding(build->spmd, l->plan, SHARD_FACTOR_PARALLEL) ||
                shardOpPlanHasPadding(build->spmd, l->plan, SHARD_FACTOR_REDUCTION);
  ShardPlace inside = {mlirOperationGetBlock(extract), extract, outside.location};
  MlirValue inRange = {NULL};
  intptr_t rank = mlirOperationGetNumOperands(extract) - 1;
  for (intptr_t d = 0; d < rank; ++d) {
    ShardRadix radix = shardRadixOfDimension(build->spmd, l->plan, capture->port,
                                             l->plan->operands[capture->portIndex], d);
    MlirValue index = mlirOperationGetOperand(extract, d + 1);
    if (radix.split) {
      shardRadixBuildOrigins(build, outside, &radix);
      index = shardRadixBuildLocal(build, inside, &radix, index, &inRange);
    }
    if (padded) // a step in padding reads something, but never past the end
      index = shardBuildBinary(inside, "arith.minui", index,
                               shardBuildIndex(build, inside, localSize(extract, d) - 1));
    mlirOperationSetOperand(extract, d + 1, index);
  }
  if (mlirValueIsNull(inRange))
    return mlirLogicalResultSuccess();
  if (!mlirBlockEqual(mlirOperationGetBlock(extract), body))
    return shardEmitError(
        l->source, "a table read under a condition cannot be split on the indexed dimension");
  bool reduces = false;
  for (int32_t f = 0; f < l->plan->rule->nFactors; ++f)
    reduces |= l->plan->rule->factors[f].kind == SHARD_FACTOR_REDUCTION;
  MlirOperation end = mlirBlockGetTerminator(body);
  intptr_t nMasked = reduces ? 1 : mlirOperationGetNumOperands(end);
  for (intptr_t k = 0; k < nMasked; ++k) {
    MlirValue value =
        reduces ? mlirOperationGetResult(extract, 0) : mlirOperationGetOperand(end, k);
    ShardPlace place = {body, reduces ? mlirOperationGetNextInBlock(extract) : end,
                        outside.location};
    MlirValue zero = shardBuildNumber(place, mlirValueGetType(value), -0.0);
    MlirValue masked = shardBuildSelect(place, inRange, value, zero);
    if (reduces) {
      MlirOperation self = mlirOpResultGetOwner(masked);
      mlirValueReplaceAllUsesExcept(value, masked, 1, &self);
    } else
      mlirOperationSetOperand(end, k, masked);
  }
  return mlirLogicalResultSuccess();
}

// The product of the minor atoms of a list that is `unit` globally, as a local product; -1 if none
// is.
static int64_t localUnit(int64_t unit, const int64_t *sizes, const int64_t *locals, int32_t n) {
  int64_t global = 1, local = 1;
  for (int32_t i = n - 1; i >= 0 && global < unit; --i) {
    global *= sizes[i];
    local *= locals[i];
  }
  return global == unit ? local : -1;
}

typedef struct MapRewrite {
  const ShardSpmd *spmd;
  const ShardOpPlan *plan;
  const ShardPort *port;
  const ShardSharding *sharding;
  intptr_t dim; // of the operand
  bool failed;
} MapRewrite;

static int64_t loopUnit(const MapRewrite *rewrite, int64_t loop, int64_t unit) {
  const ShardOpRule *rule = rewrite->plan->rule;
  int64_t *sizes = SHARD_ARENA_ARRAY(rewrite->spmd->arena, int64_t, 2 * rule->nFactors);
  int64_t *locals = sizes + rule->nFactors;
  ShardAtom *atoms = SHARD_ARENA_ARRAY(rewrite->spmd->arena, ShardAtom, rule->nFactors);
  int32_t n = 0;
  for (int32_t f = 0; f < rule->nFactors; ++f)
    atoms[f].size = rule->factors[f].size;
  for (int32_t f = 0; f < rule->nFactors; ++f) {
    if (rule->factors[f].loop != loop)
      continue;
    sizes[n] = atoms[f].size;
    locals[n++] =
        shardShardingLocalAtomSize(&rewrite->spmd->mesh, &atoms[f], rewrite->plan->factors[f]);
  }
  bool split = false;
  for (int32_t i = 0; i < n; ++i)
    split |= sizes[i] != locals[i];
  return split ? localUnit(unit, sizes, locals, n) : unit;
}

static int64_t dimensionUnit(const MapRewrite *rewrite, int64_t unit) {
  const ShardValueInfo *info = &rewrite->spmd->rules->values[rewrite->port->value];
  int64_t *sizes = SHARD_ARENA_ARRAY(rewrite->spmd->arena, int64_t, 2 * info->nAtoms);
  int64_t *locals = sizes + info->nAtoms;
  int32_t n = 0;
  bool split = false;
  for (int32_t i = 0; i < info->nAtoms; ++i) {
    if (info->atoms[i].dim != rewrite->dim)
      continue;
    sizes[n] = info->atoms[i].size;
    locals[n] = shardShardingLocalAtomSize(&rewrite->spmd->mesh, &info->atoms[i],
                                           rewrite->sharding->atoms[i]);
    split |= sizes[n] != locals[n];
    ++n;
  }
  return split ? localUnit(unit, sizes, locals, n) : unit;
}

// Local form of a result of an indexing map that is no plain loop: `d1 floordiv 4`, `d0 * 16 + d1`.
static MlirAffineExpr rewriteExpr(MapRewrite *rewrite, MlirAffineExpr expr) {
  ShardRoll roll; // along a whole dimension: a split one was turned
  if (shardRollRead(expr, &roll))
    return expr;
  if (!mlirAffineExprIsABinary(expr))
    return expr;
  MlirAffineExpr left = mlirAffineBinaryOpExprGetLHS(expr);
  MlirAffineExpr right = mlirAffineBinaryOpExprGetRHS(expr);
  if (mlirAffineExprIsAAdd(expr))
    return mlirAffineAddExprGet(rewriteExpr(rewrite, left), rewriteExpr(rewrite, right));
  if (!mlirAffineExprIsAConstant(right)) {
    rewrite->failed = true;
    return expr;
  }
  int64_t unit = mlirAffineConstantExprGetValue(right), local;
  if (mlirAffineExprIsAMul(expr))
    local = dimensionUnit(rewrite, unit);
  else if (mlirAffineExprIsADim(left))
    local = loopUnit(rewrite, mlirAffineDimExprGetPosition(left), unit);
  else
    local = -1;
  if (local < 1) {
    rewrite->failed = true;
    return expr;
  }
  if (local == unit)
    return expr;
  MlirAffineExpr constant = mlirAffineConstantExprGet(rewrite->spmd->context, local);
  if (mlirAffineExprIsAMul(expr))
    return mlirAffineMulExprGet(left, constant);
  return mlirAffineExprIsAMod(expr) ? mlirAffineModExprGet(left, constant)
                                    : mlirAffineFloorDivExprGet(left, constant);
}

static MlirLogicalResult localiseMaps(ShardLocaliser *l) {
  const ShardSpmd *spmd = l->build->spmd;
  MlirAttribute maps = shardOpGetAttribute(l->copy, "indexing_maps");
  if (mlirAttributeIsNull(maps))
    return mlirLogicalResultSuccess();
  intptr_t nMaps = mlirArrayAttrGetNumElements(maps);
  MlirAttribute *local = SHARD_ARENA_ARRAY(spmd->arena, MlirAttribute, nMaps);
  bool changed = false;
  for (intptr_t m = 0; m < nMaps; ++m) {
    local[m] = mlirArrayAttrGetElement(maps, m);
    MlirAffineMap map = mlirAffineMapAttrGetValue(local[m]);
    int32_t port = shardLocaliserFindPort(l->plan, l->source, m, false);
    if (port < 0 || mlirAffineMapIsProjectedPermutation(map))
      continue;
    intptr_t n = mlirAffineMapGetNumResults(map);
    MlirAffineExpr *exprs = SHARD_ARENA_ARRAY(spmd->arena, MlirAffineExpr, n);
    bool mapChanged = false;
    for (intptr_t k = 0; k < n; ++k) {
      MlirAffineExpr old = mlirAffineMapGetResult(map, k);
      MapRewrite rewrite = {spmd, l->plan, &l->plan->rule->operands[port], l->plan->operands[port],
                            k,    false};
      exprs[k] = rewriteExpr(&rewrite, old);
      if (rewrite.failed)
        return shardEmitError(l->source,
                              "operand %" PRIdPTR
                              " is indexed by a product of loops that cannot be "
                              "split as annotated",
                              m);
      mapChanged |= !mlirAffineExprEqual(exprs[k], old);
    }
    if (!mapChanged)
      continue;
    changed = true;
    local[m] = mlirAffineMapAttrGet(mlirAffineMapGet(spmd->context, mlirAffineMapGetNumDims(map),
                                                     mlirAffineMapGetNumSymbols(map), n, exprs));
  }
  if (changed)
    shardOpSetAttribute(l->copy, "indexing_maps", mlirArrayAttrGet(spmd->context, nMaps, local));
  return mlirLogicalResultSuccess();
}

MlirLogicalResult shardLocaliseLinalg(ShardLocaliser *l, MlirOperation op) {
  if (mlirOperationGetNumRegions(op) == 0)
    return mlirLogicalResultSuccess();
  ShardPlace outside = {.block = l->build->block, .location = mlirOperationGetLocation(op)};
  shardLocaliseRolls(l);
  if (mlirLogicalResultIsFailure(localiseMaps(l)))
    return mlirLogicalResultFailure();
  ShardOpList indices = {.arena = l->build->spmd->arena};
  shardOpListCollect(&indices, l->copy, "linalg.index", NULL);
  for (size_t i = 0; i < indices.nOps; ++i)
    localiseIndex(l, indices.ops[i], outside);
  for (size_t i = 0; i < l->nCaptures; ++i)
    if (mlirLogicalResultIsFailure(localiseCapture(l, &l->captures[i], outside)))
      return mlirLogicalResultFailure();
  return shardMaskBody(l);
}

MlirLogicalResult shardLocaliseElementwise(ShardLocaliser *l, MlirOperation op) {
  int32_t divisor = shardLocaliserFindPort(l->plan, op, 1, false);
  if (shardOpIsDivision(op) && divisor >= 0)
    shardMaskOperand(l, divisor, -1, 1);
  return mlirLogicalResultSuccess();
}
