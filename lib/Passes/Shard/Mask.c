//===- Mask.c - Keeping padding out of results --------------------*- C -*-===//
// A step of the loops is valid when each of its digits is. In a reduction a step that is not keeps
// the accumulator as it was, whatever the body combines: no identity is needed. A plain product
// keeps its body, which the lowering knows, and has zeros in the padding of both operands instead.
//===----------------------------------------------------------------------===//

#include "Mask.h"
#include "Radix.h"

#include "../Core/Traps.h"

#include "mlir-c/AffineExpr.h"
#include "mlir-c/AffineMap.h"
#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/Dialect/Linalg.h"

#include <string.h>

bool shardOpPlanIsUneven(const ShardSpmd *spmd, const ShardOpPlan *plan, int32_t factor) {
  const ShardAxisList *axes = &plan->factors[factor];
  if (axes->span == SHARD_SPAN_INSIDE)
    return false; // its head answers
  int64_t size = 1;
  for (int i = 0; i <= axes->span; ++i)
    size *= plan->rule->factors[factor + i].size;
  return size % shardAxisListSize(&spmd->mesh, *axes) != 0;
}

static bool isKind(const ShardOpPlan *plan, int32_t factor, int kind) {
  return kind < 0 || (factor >= 0 && (int)plan->rule->factors[factor].kind == kind);
}

bool shardOpPlanHasPadding(const ShardSpmd *spmd, const ShardOpPlan *plan, int kind) {
  for (int32_t f = 0; f < plan->rule->nFactors; ++f)
    if (isKind(plan, f, kind) && shardOpPlanIsUneven(spmd, plan, f))
      return true;
  return false;
}

static ShardPlace outsideOf(const ShardLocaliser *l) {
  return (ShardPlace){.block = l->build->block, .location = mlirOperationGetLocation(l->source)};
}

static MlirValue buildIndexOp(ShardPlace place, intptr_t dim) {
  MlirContext context = mlirLocationGetContext(place.location);
  MlirType index = mlirIndexTypeGet(context);
  ShardNamedAttribute attribute = {"dim", shardAttrI64(context, dim)};
  return mlirOperationGetResult(shardOpCreate(place.block, place.before, place.location,
                                              "linalg.index", 1, &index, 0, NULL, 1, &attribute, 0,
                                              NULL),
                                0);
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

void shardMaskOperand(ShardLocaliser *l, int32_t port, int kind, double number) {
  ShardBuild *build = l->build;
  const ShardSpmd *spmd = build->spmd;
  const ShardPort *operand = &l->plan->rule->operands[port];
  const ShardValueInfo *info = &spmd->rules->values[operand->value];
  bool any = false;
  for (int32_t i = 0; i < info->nAtoms; ++i)
    any |= operand->factors[i] >= 0 && isKind(l->plan, operand->factors[i], kind) &&
           shardOpPlanIsUneven(spmd, l->plan, operand->factors[i]);
  if (!any)
    return;
  ShardPlace outside = outsideOf(l);
  MlirValue source = mlirOperationGetOperand(l->copy, operand->operandIndex);
  MlirType type = mlirValueGetType(source);
  intptr_t rank = mlirShapedTypeGetRank(type);
  ShardRadix *radixes = SHARD_ARENA_ARRAY(spmd->arena, ShardRadix, rank);
  for (intptr_t d = 0; d < rank; ++d) {
    radixes[d] = shardRadixOfDimension(spmd, l->plan, operand, l->plan->operands[port], d);
    if (shardRadixAsks(&radixes[d], kind))
      shardRadixBuildOrigins(build, outside, &radixes[d]);
  }
  MlirValue other = shardBuildNumber(outside, mlirShapedTypeGetElementType(type), number);
  MlirOperation masked = shardBuildElementwise(build, outside, source);
  ShardPlace body = {.block = mlirRegionGetFirstBlock(mlirOperationGetRegion(masked, 0)),
                     .location = outside.location};
  MlirValue valid = {NULL};
  for (intptr_t d = 0; d < rank; ++d)
    if (shardRadixAsks(&radixes[d], kind))
      valid = shardRadixBuildValid(build, body, &radixes[d], buildIndexOp(body, d), kind, valid);
  shardBuildYield(masked,
                  shardBuildSelect(body, valid, mlirBlockGetArgument(body.block, 0), other));
  mlirOperationSetOperand(l->copy, operand->operandIndex, mlirOperationGetResult(masked, 0));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static bool portHasFactor(const ShardSpmd *spmd, const ShardPort *port, int32_t factor) {
  for (int32_t i = 0; i < spmd->rules->values[port->value].nAtoms; ++i)
    if (port->factors[i] == factor)
      return true;
  return false;
}

// Zeros in both operands leave a product out of a sum: both, as zero times a NaN is none. False
// when the op is no such product.
static bool maskProduct(ShardLocaliser *l) {
  const ShardSpmd *spmd = l->build->spmd;
  const ShardOpRule *rule = l->plan->rule;
  if (rule->nOperands != 3 || mlirOperationGetNumResults(l->copy) != 1 ||
      !shardBodyIsProductSum(mlirRegionGetFirstBlock(mlirOperationGetRegion(l->copy, 0))))
    return false;
  for (int32_t f = 0; f < rule->nFactors; ++f)
    if (rule->factors[f].kind == SHARD_FACTOR_REDUCTION && shardOpPlanIsUneven(spmd, l->plan, f) &&
        !(portHasFactor(spmd, &rule->operands[0], f) && portHasFactor(spmd, &rule->operands[1], f)))
      return false;
  for (int32_t i = 0; i < 2; ++i)
    shardMaskOperand(l, i, SHARD_FACTOR_REDUCTION, 0);
  return true;
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

// Whether the text of an op shows its body, so that the body may be changed.
static bool hasFreeBody(MlirOperation op) {
  return shardOpIs(op, "linalg.generic") || shardOpIs(op, "linalg.reduce") ||
         shardOpIs(op, "linalg.map");
}

// Puts a linalg.generic in the place of the named op l->copy.
static void generalise(ShardLocaliser *l) {
  MlirOperation named = l->copy;
  MlirContext context = l->build->spmd->context;
  ShardArena *arena = l->build->spmd->arena;
  MlirAttribute maps = mlirLinalgGetIndexingMapsAttribute(named);
  intptr_t nOperands = mlirOperationGetNumOperands(named);
  intptr_t nResults = mlirOperationGetNumResults(named);
  MlirAffineMap out =
      mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, nOperands - nResults));
  intptr_t nLoops = mlirAffineMapGetNumDims(out);
  MlirAttribute *iterators = SHARD_ARENA_ARRAY(arena, MlirAttribute, nLoops);
  for (intptr_t i = 0; i < nLoops; ++i)
    iterators[i] = mlirAttributeParseGet(
        context, mlirStringRefCreateFromCString("#linalg.iterator_type<reduction>"));
  for (intptr_t k = 0; k < mlirAffineMapGetNumResults(out); ++k)
    if (mlirAffineExprIsADim(mlirAffineMapGetResult(out, k)))
      iterators[mlirAffineDimExprGetPosition(mlirAffineMapGetResult(out, k))] =
          mlirAttributeParseGet(context,
                                mlirStringRefCreateFromCString("#linalg.iterator_type<parallel>"));
  int32_t segments[] = {(int32_t)(nOperands - nResults), (int32_t)nResults};
  const ShardNamedAttribute attributes[] = {
      {"indexing_maps", maps},
      {"iterator_types", mlirArrayAttrGet(context, nLoops, iterators)},
      {"operandSegmentSizes", mlirDenseI32ArrayGet(context, 2, segments)},
  };
  MlirValue *operands = SHARD_ARENA_ARRAY(arena, MlirValue, nOperands);
  for (intptr_t i = 0; i < nOperands; ++i)
    operands[i] = mlirOperationGetOperand(named, i);
  MlirType *types = SHARD_ARENA_ARRAY(arena, MlirType, nResults);
  for (intptr_t r = 0; r < nResults; ++r)
    types[r] = mlirValueGetType(mlirOperationGetResult(named, r));
  MlirRegion region = mlirRegionCreate();
  mlirRegionTakeBody(region, mlirOperationGetRegion(named, 0));
  MlirBlock nowhere = {NULL};
  MlirOperation none = {NULL};
  l->copy = shardOpCreate(nowhere, none, mlirOperationGetLocation(named), "linalg.generic",
                          nResults, types, nOperands, operands, 3, attributes, 1, &region);
  mlirOperationDestroy(named);
}

// Whether a step of the loops, at the top of the body, has no digit in padding. `kind` as for
// shardRadixBuildValid. Null when there is no padding of the kind.
static MlirValue buildValidStep(ShardLocaliser *l, MlirBlock body, MlirOperation before, int kind) {
  ShardBuild *build = l->build;
  ShardPlace outside = outsideOf(l), inside = {body, before, outside.location};
  MlirAttribute maps = mlirLinalgGetIndexingMapsAttribute(l->copy);
  intptr_t nLoops =
      mlirAffineMapGetNumDims(mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, 0)));
  MlirValue valid = {NULL};
  for (intptr_t loop = 0; loop < nLoops; ++loop) {
    ShardRadix radix = shardRadixOfLoop(build->spmd, l->plan, loop);
    if (!shardRadixAsks(&radix, kind))
      continue;
    shardRadixBuildOrigins(build, outside, &radix);
    valid = shardRadixBuildValid(build, inside, &radix, buildIndexOp(inside, loop), kind, valid);
  }
  return valid;
}

MlirLogicalResult shardMaskBody(ShardLocaliser *l) {
  const ShardSpmd *spmd = l->build->spmd;
  if (!shardOpPlanHasPadding(spmd, l->plan, -1))
    return mlirLogicalResultSuccess();
  bool reduces = shardOpPlanHasPadding(spmd, l->plan, SHARD_FACTOR_REDUCTION) && !maskProduct(l);
  ShardOpList traps = {.arena = spmd->arena};
  shardOpListCollect(&traps, l->copy, NULL, shardOpMayTrap);
  if (!reduces && !traps.nOps)
    return mlirLogicalResultSuccess();
  if (!hasFreeBody(l->copy))
    generalise(l);
  MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(l->copy, 0));
  MlirValue valid = {NULL};
  if (traps.nOps)
    valid = buildValidStep(l, body, mlirBlockGetFirstOperation(body), -1);
  for (size_t i = 0; i < traps.nOps && !mlirValueIsNull(valid); ++i)
    shardOpGuard(traps.ops[i], valid);
  if (reduces) {
    MlirOperation end = mlirBlockGetTerminator(body);
    valid = buildValidStep(l, body, end, SHARD_FACTOR_REDUCTION);
    intptr_t n = mlirOperationGetNumOperands(end), first = mlirBlockGetNumArguments(body) - n;
    ShardPlace place = {body, end, mlirOperationGetLocation(l->source)};
    for (intptr_t r = 0; r < n; ++r)
      mlirOperationSetOperand(end, r,
                              shardBuildSelect(place, valid, mlirOperationGetOperand(end, r),
                                               mlirBlockGetArgument(body, first + r)));
  }
  return mlirLogicalResultSuccess();
}
