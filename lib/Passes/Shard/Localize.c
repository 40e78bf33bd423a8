//===- Localize.c - Local forms of ops ----------------------------*- C -*-===//
// An op is cloned with local operands and local result types. What more an op needs is here: shard
// origins for loop indices and data indices, local sizes of slices and reshapes, local constants.
//===----------------------------------------------------------------------===//

#include "Radix.h"

#include "mlir-c/AffineExpr.h"
#include "mlir-c/AffineMap.h"
#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

//===----------------------------------------------------------------------===//
// Cloning
//===----------------------------------------------------------------------===//

typedef struct Capture {
  const ShardPort *port;
  int32_t portIndex;
  MlirOperation extract; // in the clone
} Capture;

typedef struct Clone {
  ShardBuild *build;
  MlirOperation source;
  const ShardOpPlan *plan; // may be null
  bool failed;
  Capture *captures;
  size_t nCaptures, capacityCaptures;
  MlirOperation *indices; // linalg.index of the clone
  size_t nIndices, capacityIndices;
} Clone;

static int32_t findPort(const ShardOpPlan *plan, MlirOperation user, intptr_t operand,
                        bool nested) {
  if (plan)
    for (int32_t i = 0; i < plan->rule->nOperands; ++i) {
      const ShardPort *port = &plan->rule->operands[i];
      if (nested ? port->operandIndex < 0 && mlirOperationEqual(port->user, user)
                 : port->operandIndex == operand)
        return i;
    }
  return -1;
}

static MlirValue localOperand(Clone *clone, MlirOperation user, intptr_t operand, bool nested,
                              MlirValue old) {
  ShardBuild *build = clone->build;
  int32_t value = shardRulesFindValue(build->spmd->rules, old);
  MlirValue replacement = old;
  if (value < 0) {
    if (!shardBuildFindScalar(build, old, &replacement) && !nested) {
      shardEmitError(clone->source,
                     "operand %" PRIdPTR " is computed in another stage and is no tensor", operand);
      clone->failed = true;
    }
    return replacement;
  }
  int32_t port = findPort(clone->plan, user, operand, nested);
  ShardSharding *sharding =
      port >= 0 ? clone->plan->operands[port]
                : shardShardingCreate(build->spmd->arena, build->spmd->rules->values[value].nAtoms);
  bool shapeOnly =
      port >= 0 && clone->plan->rule->operands[port].init && clone->plan->rule->unusedInit;
  const ShardOpRule *definition = shardSpmdDefinition(build->spmd, value);
  if (shapeOnly && !(definition && shardOpIs(definition->op, "tensor.empty")) &&
      !shardBuildFindVersion(build, value, sharding)) {
    const ShardValueInfo *info = &build->spmd->rules->values[value];
    ShardPlace place = {.block = build->block, .location = mlirOperationGetLocation(clone->source)};
    return shardBuildEmpty(place, shardShardingLocalType(&build->spmd->mesh, info->type,
                                                         info->nAtoms, info->atoms, sharding));
  }
  replacement = shardBuildGetVersion(build, value, sharding, clone->source);
  clone->failed |= mlirValueIsNull(replacement);
  return replacement;
}

static void cloneNested(Clone *clone, MlirOperation old, MlirOperation copy) {
  for (intptr_t r = 0; r < mlirOperationGetNumRegions(old); ++r) {
    MlirBlock a = mlirRegionGetFirstBlock(mlirOperationGetRegion(old, r));
    MlirBlock b = mlirRegionGetFirstBlock(mlirOperationGetRegion(copy, r));
    for (; !mlirBlockIsNull(a); a = mlirBlockGetNextInRegion(a), b = mlirBlockGetNextInRegion(b)) {
      MlirOperation x = mlirBlockGetFirstOperation(a), y = mlirBlockGetFirstOperation(b);
      for (; !mlirOperationIsNull(x);
           x = mlirOperationGetNextInBlock(x), y = mlirOperationGetNextInBlock(y)) {
        for (intptr_t k = 0; k < mlirOperationGetNumOperands(x); ++k) {
          MlirValue operand = mlirOperationGetOperand(x, k);
          MlirValue local = localOperand(clone, x, k, true, operand);
          if (clone->failed)
            return;
          if (mlirValueEqual(operand, local))
            continue;
          mlirOperationSetOperand(y, k, local);
        }
        int32_t port = findPort(clone->plan, x, 0, true);
        if (port >= 0) {
          clone->captures =
              shardArenaGrow(clone->build->spmd->arena, clone->captures, clone->nCaptures,
                             &clone->capacityCaptures, clone->nCaptures + 1, sizeof(Capture));
          clone->captures[clone->nCaptures++] =
              (Capture){&clone->plan->rule->operands[port], port, y};
        }
        if (shardOpIs(x, "linalg.index")) {
          clone->indices =
              shardArenaGrow(clone->build->spmd->arena, clone->indices, clone->nIndices,
                             &clone->capacityIndices, clone->nIndices + 1, sizeof(MlirOperation));
          clone->indices[clone->nIndices++] = y;
        }
        cloneNested(clone, x, y);
        if (clone->failed)
          return;
      }
    }
  }
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

// Every loop index becomes global, so that what the body computes from it stays right.
static void localizeIndex(Clone *clone, MlirOperation index, ShardPlace outside) {
  ShardBuild *build = clone->build;
  int64_t loop = 0;
  shardAttrGetI64(shardOpGetAttribute(index, "dim"), &loop);
  ShardRadix radix = shardRadixOfLoop(build->spmd, clone->plan, loop);
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

// The captured tensor is local: its indices are made so, and what another rank holds counts as
// zero.
static MlirLogicalResult localizeCapture(Clone *clone, MlirOperation copy, const Capture *capture,
                                         ShardPlace outside) {
  ShardBuild *build = clone->build;
  MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(copy, 0));
  MlirOperation extract = capture->extract;
  ShardPlace inside = {mlirOperationGetBlock(extract), extract, outside.location};
  MlirValue inRange = {NULL};
  intptr_t rank = mlirOperationGetNumOperands(extract) - 1;
  for (intptr_t d = 0; d < rank; ++d) {
    ShardRadix radix = shardRadixOfDimension(build->spmd, clone->plan, capture->port,
                                             clone->plan->operands[capture->portIndex], d);
    if (!radix.split)
      continue;
    shardRadixBuildOrigins(build, outside, &radix);
    MlirValue index = mlirOperationGetOperand(extract, d + 1);
    mlirOperationSetOperand(extract, d + 1,
                            shardRadixBuildLocal(build, inside, &radix, index, &inRange));
  }
  if (mlirValueIsNull(inRange))
    return mlirLogicalResultSuccess();
  if (!mlirBlockEqual(mlirOperationGetBlock(extract), body))
    return shardEmitError(
        clone->source, "a table read under a condition cannot be split on the indexed dimension");
  bool reduces = false;
  for (int32_t f = 0; f < clone->plan->rule->nFactors; ++f)
    reduces |= clone->plan->rule->factors[f].kind == SHARD_FACTOR_REDUCTION;
  MlirOperation end = mlirBlockGetTerminator(body);
  intptr_t nMasked = reduces ? 1 : mlirOperationGetNumOperands(end);
  for (intptr_t k = 0; k < nMasked; ++k) {
    MlirValue value =
        reduces ? mlirOperationGetResult(extract, 0) : mlirOperationGetOperand(end, k);
    MlirType element = mlirValueGetType(value);
    ShardPlace place = {body, reduces ? mlirOperationGetNextInBlock(extract) : end,
                        outside.location};
    MlirAttribute number = mlirTypeIsAFloat(element)
                               ? mlirFloatAttrDoubleGet(build->spmd->context, element, 0)
                               : mlirIntegerAttrGet(element, 0);
    ShardNamedAttribute attribute = {"value", number};
    MlirValue zero = mlirOperationGetResult(shardOpCreate(place.block, place.before, place.location,
                                                          "arith.constant", 1, &element, 0, NULL, 1,
                                                          &attribute, 0, NULL),
                                            0);
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
  int32_t n = 0;
  for (int32_t f = 0; f < rule->nFactors; ++f) {
    if (rule->factors[f].loop != loop)
      continue;
    ShardAtom atom = {.size = rule->factors[f].size};
    sizes[n] = atom.size;
    locals[n++] =
        shardShardingLocalAtomSize(&rewrite->spmd->mesh, &atom, rewrite->plan->factors[f]);
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

static MlirLogicalResult localizeMaps(Clone *clone, MlirOperation copy) {
  const ShardSpmd *spmd = clone->build->spmd;
  MlirAttribute maps = shardOpGetAttribute(copy, "indexing_maps");
  if (mlirAttributeIsNull(maps))
    return mlirLogicalResultSuccess();
  intptr_t nMaps = mlirArrayAttrGetNumElements(maps);
  MlirAttribute *local = SHARD_ARENA_ARRAY(spmd->arena, MlirAttribute, nMaps);
  bool changed = false;
  for (intptr_t m = 0; m < nMaps; ++m) {
    local[m] = mlirArrayAttrGetElement(maps, m);
    MlirAffineMap map = mlirAffineMapAttrGetValue(local[m]);
    int32_t port = findPort(clone->plan, clone->source, m, false);
    if (port < 0 || mlirAffineMapIsProjectedPermutation(map))
      continue;
    intptr_t n = mlirAffineMapGetNumResults(map);
    MlirAffineExpr *exprs = SHARD_ARENA_ARRAY(spmd->arena, MlirAffineExpr, n);
    bool mapChanged = false;
    for (intptr_t k = 0; k < n; ++k) {
      MlirAffineExpr old = mlirAffineMapGetResult(map, k);
      MapRewrite rewrite = {
          spmd, clone->plan, &clone->plan->rule->operands[port], clone->plan->operands[port],
          k,    false};
      exprs[k] = rewriteExpr(&rewrite, old);
      if (rewrite.failed)
        return shardEmitError(clone->source,
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
    shardOpSetAttribute(copy, "indexing_maps", mlirArrayAttrGet(spmd->context, nMaps, local));
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult localizeBody(Clone *clone, MlirOperation copy) {
  ShardPlace outside = {.block = clone->build->block,
                        .location = mlirOperationGetLocation(clone->source)};
  if (mlirLogicalResultIsFailure(localizeMaps(clone, copy)))
    return mlirLogicalResultFailure();
  for (size_t i = 0; i < clone->nIndices; ++i)
    localizeIndex(clone, clone->indices[i], outside);
  for (size_t i = 0; i < clone->nCaptures; ++i)
    if (mlirLogicalResultIsFailure(localizeCapture(clone, copy, &clone->captures[i], outside)))
      return mlirLogicalResultFailure();
  return mlirLogicalResultSuccess();
}

//===----------------------------------------------------------------------===//
// Slices and constants
//===----------------------------------------------------------------------===//

// One dimension of a slice, in elements of a tensor whose dimension has these atoms. Rewrites the
// window to local elements; false when the window cuts what is split.
static bool localizeWindow(int32_t n, const int64_t *sizes, const int64_t *locals, int64_t *offset,
                           int64_t *size, int64_t *stride) {
  int32_t first = -1, last = -1;
  for (int32_t i = 0; i < n; ++i)
    if (sizes[i] != locals[i]) {
      if (first < 0)
        first = i;
      last = i;
    }
  if (first < 0)
    return true;
  int64_t dynamic = mlirShapedTypeGetDynamicStrideOrOffset();
  if (*offset == dynamic || *stride == dynamic || mlirShapedTypeIsDynamicSize(*size))
    return false;
  if (*stride == 1) {
    // Whole steps of the atoms above the first split one.
    int64_t unit = 1, localUnits = 1;
    for (int32_t i = first; i < n; ++i) {
      unit *= sizes[i];
      localUnits *= locals[i];
    }
    if (*offset % unit || *size % unit)
      return false;
    *offset = *offset / unit * localUnits;
    *size = *size / unit * localUnits;
    return true;
  }
  // One step of the atoms below the last split one, in each step of all above.
  int64_t above = 1, below = 1, localAbove = 1;
  int32_t at = n;
  while (at > 0 && below < *stride)
    below *= sizes[--at];
  for (int32_t i = 0; i < at; ++i) {
    above *= sizes[i];
    localAbove *= locals[i];
  }
  if (below != *stride || at <= last || *offset >= *stride || *size != above)
    return false;
  *size = localAbove;
  return true;
}

static MlirLogicalResult localizeSlice(Clone *clone, MlirOperation copy,
                                       intptr_t containerOperand) {
  const ShardSpmd *spmd = clone->build->spmd;
  int32_t portIndex = findPort(clone->plan, clone->source, containerOperand, false);
  assert(portIndex >= 0);
  const ShardPort *port = &clone->plan->rule->operands[portIndex];
  const ShardSharding *sharding = clone->plan->operands[portIndex];
  const ShardValueInfo *info = &spmd->rules->values[port->value];
  intptr_t rank = mlirShapedTypeGetRank(info->type);
  static const char *const names[] = {"static_offsets", "static_sizes", "static_strides"};
  int64_t *parts[3];
  for (int k = 0; k < 3; ++k) {
    MlirAttribute attribute = shardOpGetAttribute(copy, names[k]);
    parts[k] = SHARD_ARENA_ARRAY(spmd->arena, int64_t, rank);
    for (intptr_t d = 0; d < rank; ++d)
      parts[k][d] = mlirDenseI64ArrayGetElement(attribute, d);
  }
  int64_t *sizes = SHARD_ARENA_ARRAY(spmd->arena, int64_t, info->nAtoms);
  int64_t *locals = SHARD_ARENA_ARRAY(spmd->arena, int64_t, info->nAtoms);
  for (intptr_t d = 0; d < rank; ++d) {
    int32_t n = 0;
    for (int32_t i = 0; i < info->nAtoms; ++i)
      if (info->atoms[i].dim == d) {
        sizes[n] = info->atoms[i].size;
        locals[n++] = shardShardingLocalAtomSize(&spmd->mesh, &info->atoms[i], sharding->atoms[i]);
      }
    if (!localizeWindow(n, sizes, locals, &parts[0][d], &parts[1][d], &parts[2][d]))
      return shardEmitError(
          clone->source, "the slice cuts dimension %" PRIdPTR " where it is split over devices", d);
  }
  for (int k = 0; k < 3; ++k)
    shardOpSetAttribute(copy, names[k], shardAttrI64Array(spmd->context, rank, parts[k]));
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult localizePad(Clone *clone, MlirOperation copy) {
  const ShardSpmd *spmd = clone->build->spmd;
  MlirType global = mlirValueGetType(mlirOperationGetResult(clone->source, 0));
  MlirType local = shardShardingLocalType(
      &spmd->mesh, global, clone->plan->results[0]->nAtoms,
      spmd->rules->values[clone->plan->rule->results[0].value].atoms, clone->plan->results[0]);
  for (intptr_t d = 0; d < mlirShapedTypeGetRank(global); ++d) {
    bool padded = mlirDenseI64ArrayGetElement(shardOpGetAttribute(copy, "static_low"), d) != 0 ||
                  mlirDenseI64ArrayGetElement(shardOpGetAttribute(copy, "static_high"), d) != 0;
    if (padded && mlirShapedTypeGetDimSize(global, d) != mlirShapedTypeGetDimSize(local, d))
      return shardEmitError(clone->source,
                            "dimension %" PRIdPTR " is padded and split over devices", d);
  }
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult localizeConstant(Clone *clone, MlirOperation copy, MlirType local) {
  MlirAttribute value = shardOpGetAttribute(clone->source, "value");
  if (mlirTypeEqual(mlirAttributeGetType(value), local))
    return mlirLogicalResultSuccess();
  shardOpSetAttribute(
      copy, "value",
      mlirDenseElementsAttrSplatGet(local, mlirDenseElementsAttrGetSplatValue(value)));
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult localizeForm(Clone *clone, MlirOperation copy) {
  const ShardOpPlan *plan = clone->plan;
  const ShardSpmd *spmd = clone->build->spmd;
  for (int32_t r = 0; r < plan->rule->nResults; ++r) {
    const ShardPort *port = &plan->rule->results[r];
    const ShardValueInfo *info = &spmd->rules->values[port->value];
    MlirType local = shardShardingLocalType(&spmd->mesh, info->type, info->nAtoms, info->atoms,
                                            plan->results[r]);
    if (shardOpIs(copy, "arith.constant") &&
        mlirLogicalResultIsFailure(localizeConstant(clone, copy, local)))
      return mlirLogicalResultFailure();
    mlirValueSetType(mlirOperationGetResult(copy, port->operandIndex), local);
    if (shardOpIs(copy, "tensor.expand_shape")) {
      intptr_t rank = mlirShapedTypeGetRank(local);
      int64_t *shape = SHARD_ARENA_ARRAY(spmd->arena, int64_t, rank);
      for (intptr_t d = 0; d < rank; ++d)
        shape[d] = mlirShapedTypeGetDimSize(local, d);
      shardOpSetAttribute(copy, "static_output_shape",
                          shardAttrI64Array(spmd->context, rank, shape));
    }
  }
  if (shardOpIs(copy, "tensor.extract_slice"))
    return localizeSlice(clone, copy, 0);
  if (shardOpIs(copy, "tensor.insert_slice"))
    return localizeSlice(clone, copy, 1);
  if (shardOpIs(copy, "tensor.pad"))
    return localizePad(clone, copy);
  if (plan->rule->form == SHARD_OP_COMPUTE && mlirOperationGetNumRegions(copy) > 0)
    return localizeBody(clone, copy);
  return mlirLogicalResultSuccess();
}

static void removeAnnotations(MlirOperation op) {
  static const char *const names[] = {"spmd.sharding", "spmd.view",  "spmd.partial",
                                      "spmd.extent",   "spmd.stage", "spmd.origin"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i)
    shardOpRemoveAttribute(op, names[i]);
}

MlirLogicalResult shardLocalize(ShardBuild *build, MlirOperation op, const ShardOpPlan *plan) {
  if (shardOpIs(op, "shard.sharding"))
    return mlirLogicalResultSuccess();
  Clone clone = {.build = build, .source = op, .plan = plan};
  MlirOperation copy = mlirOperationClone(op);
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op) && !clone.failed; ++i) {
    MlirValue operand = mlirOperationGetOperand(op, i);
    MlirValue local = localOperand(&clone, op, i, false, operand);
    if (!clone.failed)
      mlirOperationSetOperand(copy, i, local);
  }
  if (!clone.failed)
    cloneNested(&clone, op, copy);
  bool local = plan && (plan->rule->form == SHARD_OP_CALL || !shardOpIsWhole(plan->rule));
  if (clone.failed || (local && mlirLogicalResultIsFailure(localizeForm(&clone, copy)))) {
    mlirOperationDestroy(copy);
    return mlirLogicalResultFailure();
  }
  removeAnnotations(copy);
  mlirBlockAppendOwnedOperation(build->block, copy);
  for (intptr_t r = 0; r < mlirOperationGetNumResults(op); ++r) {
    MlirValue old = mlirOperationGetResult(op, r);
    if (shardRulesFindValue(build->spmd->rules, old) < 0)
      shardBuildMapScalar(build, old, mlirOperationGetResult(copy, r));
  }
  for (int32_t r = 0; plan && r < plan->rule->nResults; ++r) {
    const ShardPort *port = &plan->rule->results[r];
    shardBuildAddVersion(build, port->value, plan->results[r],
                         mlirOperationGetResult(copy, port->operandIndex));
  }
  return mlirLogicalResultSuccess();
}
