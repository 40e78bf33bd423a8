//===- RefineShapes.c - Static shapes from the arguments on -------*- C -*-===//
// One walk in program order: a tensor.dim of a known extent becomes a constant, arithmetic on
// constants is folded, and each op's result type follows from its operands. Upstream has this only
// spread over canonicalization patterns, which leave casts between ops that no pattern moves.
//===----------------------------------------------------------------------===//
#include "../Analysis/OwnRules.h"
#include "Bounded.h"
#include "Evaluate.h"
#include "ImportParts.h"

#include "mlir-c/BuiltinTypes.h"

#include <string.h>

typedef struct Refiner {
  const ShardImport *import;
  ShardArena *arena;
  ShardEvaluator *evaluator;
  ShardPointerMap *done; // functions that are refined
  ShardBounded *bounded; // null: every extent is given
  MlirOperation current; // the op that is refined, or what stands in its place; null: nothing
} Refiner;

static MlirLogicalResult refineBlock(Refiner *refiner, MlirBlock block);

static bool isTensor(MlirType type) { return mlirTypeIsARankedTensor(type); }

static int64_t dimOf(MlirType type, intptr_t d) {
  return mlirShapedTypeIsDynamicDim(type, d) ? -1 : mlirShapedTypeGetDimSize(type, d);
}

/// A copy of `type` with the shape; -1 stands for an unknown extent.
static MlirType withShape(Refiner *refiner, MlirType type, intptr_t rank, const int64_t *shape) {
  int64_t *copy = SHARD_ARENA_ARRAY(refiner->arena, int64_t, rank + 1);
  for (intptr_t d = 0; d < rank; ++d)
    copy[d] = shape[d] < 0 ? mlirShapedTypeGetDynamicSize() : shape[d];
  return shardTensorWithShape(type, rank, copy);
}

static MlirType resultType(MlirOperation op) {
  return mlirValueGetType(mlirOperationGetResult(op, 0));
}

static void replaceBy(Refiner *refiner, MlirOperation op, MlirValue value) {
  mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, 0), value);
  mlirOperationDestroy(op);
  refiner->current = (MlirOperation){NULL};
}

/// A number that is the same in every run.
static bool knownNumber(Refiner *refiner, MlirValue value, int64_t *out) {
  ShardExtent extent;
  if (!refiner->bounded || !shardBoundedScalar(refiner->bounded, value, &extent))
    return shardEvaluateScalar(refiner->evaluator, value, out);
  *out = shardExtentBound(&extent);
  return shardExtentIsNumber(refiner->bounded, &extent);
}

/// A size: a number, or the bound of an extent.
static bool knownSize(Refiner *refiner, MlirValue value, int64_t *out) {
  ShardExtent extent;
  if (!refiner->bounded || !shardBoundedScalar(refiner->bounded, value, &extent))
    return shardEvaluateScalar(refiner->evaluator, value, out);
  *out = shardExtentBound(&extent);
  return true;
}

static int64_t constantOr(Refiner *refiner, MlirValue value, int64_t other) {
  int64_t constant;
  return knownSize(refiner, value, &constant) ? constant : other;
}

static void replaceByConstant(Refiner *refiner, MlirOperation op, int64_t value) {
  MlirType type = resultType(op);
  ShardNamedAttribute attribute = {"value", mlirIntegerAttrGet(type, value)};
  MlirOperation constant =
      shardOpCreate((MlirBlock){NULL}, op, mlirOperationGetLocation(op), "arith.constant", 1, &type,
                    0, NULL, 1, &attribute, 0, NULL);
  replaceBy(refiner, op, mlirOperationGetResult(constant, 0));
}

//===----------------------------------------------------------------------===//
// Ops with a list of static numbers and operands for those that are not
//===----------------------------------------------------------------------===//

typedef struct MixedList {
  const char *name; // of the attribute, "static_sizes"
  intptr_t n;
  int64_t *values; // known ones
  bool *known;
  MlirValue *operands; // of the unknown ones
} MixedList;

/// Reads a list whose dynamic entries are the operands from `*next` on, and moves `*next` behind
/// them.
static MixedList readMixed(Refiner *refiner, MlirOperation op, const char *name, intptr_t *next) {
  MlirAttribute list = shardOpGetAttribute(op, name);
  MixedList mixed = {.name = name, .n = mlirDenseArrayGetNumElements(list)};
  bool isPlace = strcmp(name, "static_offsets") == 0 || strcmp(name, "static_strides") == 0 ||
                 strcmp(name, "static_low") == 0;
  mixed.values = SHARD_ARENA_ARRAY(refiner->arena, int64_t, mixed.n + 1);
  mixed.known = SHARD_ARENA_ARRAY(refiner->arena, bool, mixed.n + 1);
  mixed.operands = SHARD_ARENA_ARRAY(refiner->arena, MlirValue, mixed.n + 1);
  for (intptr_t i = 0; i < mixed.n; ++i) {
    mixed.values[i] = shardArrayAttrAt(list, i);
    mixed.known[i] = mixed.values[i] != mlirShapedTypeGetDynamicSize();
    if (mixed.known[i])
      continue;
    mixed.operands[i] = mlirOperationGetOperand(op, (*next)++);
    int64_t constant;
    bool known = isPlace ? knownNumber(refiner, mixed.operands[i], &constant)
                         : knownSize(refiner, mixed.operands[i], &constant);
    if (known) {
      mixed.values[i] = constant;
      mixed.known[i] = true;
    }
  }
  return mixed;
}

/// The op again, with `nFixed` first operands and the lists; attributes of other names are kept.
static void rebuildMixed(Refiner *refiner, MlirOperation op, MlirType type, intptr_t nFixed,
                         intptr_t nLists, const MixedList *lists, bool hasSegments) {
  MlirContext context = mlirOperationGetContext(op);
  intptr_t nOperands = 0, nAttributes = 0, nOld = mlirOperationGetNumAttributes(op), total = nFixed;
  for (intptr_t k = 0; k < nLists; ++k)
    total += lists[k].n;
  MlirValue *operands = SHARD_ARENA_ARRAY(refiner->arena, MlirValue, total + 1);
  ShardNamedAttribute *attributes =
      SHARD_ARENA_ARRAY(refiner->arena, ShardNamedAttribute, nOld + nLists + 1);
  int32_t *segments = SHARD_ARENA_ARRAY(refiner->arena, int32_t, nFixed + nLists + 1);
  for (; nOperands < nFixed; ++nOperands) {
    operands[nOperands] = mlirOperationGetOperand(op, nOperands);
    segments[nOperands] = 1;
  }
  for (intptr_t i = 0; i < nOld; ++i) {
    MlirNamedAttribute old = mlirOperationGetAttribute(op, i);
    MlirStringRef name = mlirIdentifierStr(old.name);
    bool replaced = shardStringIs(name, "operandSegmentSizes");
    for (intptr_t k = 0; k < nLists; ++k)
      replaced |= lists[k].name && shardStringIs(name, lists[k].name);
    if (!replaced)
      attributes[nAttributes++] = (ShardNamedAttribute){
          shardArenaCopyString(refiner->arena, name.data, name.length), old.attribute};
  }
  for (intptr_t k = 0; k < nLists; ++k) {
    int64_t *values = SHARD_ARENA_ARRAY(refiner->arena, int64_t, lists[k].n + 1);
    for (intptr_t i = 0; i < lists[k].n; ++i) {
      values[i] = lists[k].known[i] ? lists[k].values[i] : mlirShapedTypeGetDynamicSize();
      if (!lists[k].known[i]) {
        operands[nOperands++] = lists[k].operands[i];
        ++segments[nFixed + k];
      }
    }
    if (lists[k].name)
      attributes[nAttributes++] =
          (ShardNamedAttribute){lists[k].name, shardAttrI64Array(context, lists[k].n, values)};
  }
  if (hasSegments)
    attributes[nAttributes++] = (ShardNamedAttribute){
        "operandSegmentSizes", mlirDenseI32ArrayGet(context, nFixed + nLists, segments)};
  intptr_t nRegions = mlirOperationGetNumRegions(op);
  MlirRegion region = {NULL};
  if (nRegions == 1) {
    region = mlirRegionCreate();
    mlirRegionTakeBody(region, mlirOperationGetRegion(op, 0));
  }
  MlirStringRef name = shardOpGetName(op);
  MlirOperation fresh = shardOpCreate((MlirBlock){NULL}, op, mlirOperationGetLocation(op),
                                      shardArenaCopyString(refiner->arena, name.data, name.length),
                                      1, &type, nOperands, operands, nAttributes, attributes,
                                      nRegions, nRegions ? &region : NULL);
  replaceBy(refiner, op, mlirOperationGetResult(fresh, 0));
  refiner->current = fresh;
}

/// tensor.empty, tensor.splat, tensor.generate: an operand for each dynamic dimension of the
/// result.
static void refineSized(Refiner *refiner, MlirOperation op, intptr_t nFixed) {
  MlirType type = resultType(op);
  intptr_t rank = mlirShapedTypeGetRank(type), next = nFixed;
  int64_t *shape = SHARD_ARENA_ARRAY(refiner->arena, int64_t, rank + 1);
  MixedList sizes = {.n = 0};
  sizes.values = shape;
  sizes.known = SHARD_ARENA_ARRAY(refiner->arena, bool, rank + 1);
  sizes.operands = SHARD_ARENA_ARRAY(refiner->arena, MlirValue, rank + 1);
  for (intptr_t d = 0; d < rank; ++d) {
    shape[d] = dimOf(type, d);
    sizes.known[d] = shape[d] >= 0;
    if (!sizes.known[d]) {
      sizes.operands[d] = mlirOperationGetOperand(op, next++);
      shape[d] = constantOr(refiner, sizes.operands[d], -1);
      sizes.known[d] = shape[d] >= 0;
    }
  }
  sizes.n = rank;
  rebuildMixed(refiner, op, withShape(refiner, type, rank, shape), nFixed, 1, &sizes, false);
}

/// The shape of a slice: its sizes, without the dimensions of size 1 that the old type left out.
static MlirType sliceType(Refiner *refiner, MlirOperation op, const MixedList *sizes) {
  MlirType old = resultType(op);
  MlirAttribute oldSizes = shardOpGetAttribute(op, "static_sizes");
  intptr_t rank = mlirShapedTypeGetRank(old), r = 0;
  int64_t *shape = SHARD_ARENA_ARRAY(refiner->arena, int64_t, rank + 1);
  for (intptr_t i = 0; i < sizes->n; ++i) {
    int64_t size = shardArrayAttrAt(oldSizes, i);
    if (size == mlirShapedTypeGetDynamicSize())
      size = -1;
    bool mayDrop = size == 1 && sizes->n - i > rank - r;
    if (r < rank && (!mayDrop || dimOf(old, r) == 1))
      shape[r++] = sizes->known[i] ? sizes->values[i] : -1;
  }
  return withShape(refiner, old, rank, shape);
}

static void refineSlice(Refiner *refiner, MlirOperation op, bool inserts) {
  intptr_t nFixed = inserts ? 2 : 1, next = nFixed;
  MixedList lists[3];
  lists[0] = readMixed(refiner, op, "static_offsets", &next);
  lists[1] = readMixed(refiner, op, "static_sizes", &next);
  lists[2] = readMixed(refiner, op, "static_strides", &next);
  MlirType type = inserts ? mlirValueGetType(mlirOperationGetOperand(op, 1))
                          : sliceType(refiner, op, &lists[1]);
  rebuildMixed(refiner, op, type, nFixed, 3, lists, true);
}

static void refinePad(Refiner *refiner, MlirOperation op) {
  intptr_t next = 1;
  MixedList lists[2];
  lists[0] = readMixed(refiner, op, "static_low", &next);
  lists[1] = readMixed(refiner, op, "static_high", &next);
  MlirType source = mlirValueGetType(mlirOperationGetOperand(op, 0));
  intptr_t rank = lists[0].n;
  int64_t *shape = SHARD_ARENA_ARRAY(refiner->arena, int64_t, rank + 1);
  for (intptr_t d = 0; d < rank; ++d) {
    int64_t size = dimOf(source, d);
    bool known = size >= 0 && lists[0].known[d] && lists[1].known[d];
    shape[d] = known ? lists[0].values[d] + size + lists[1].values[d] : -1;
  }
  rebuildMixed(refiner, op, withShape(refiner, resultType(op), rank, shape), 1, 2, lists, true);
}

//===----------------------------------------------------------------------===//
// Reshapes and the rest
//===----------------------------------------------------------------------===//

static void refineCollapse(Refiner *refiner, MlirOperation op) {
  MlirType source = mlirValueGetType(mlirOperationGetOperand(op, 0));
  MlirAttribute groups = shardOpGetAttribute(op, "reassociation");
  intptr_t rank = mlirArrayAttrGetNumElements(groups);
  int64_t *shape = SHARD_ARENA_ARRAY(refiner->arena, int64_t, rank + 1);
  for (intptr_t g = 0; g < rank; ++g) {
    MlirAttribute group = mlirArrayAttrGetElement(groups, g);
    shape[g] = 1;
    for (intptr_t k = 0, n = mlirArrayAttrGetNumElements(group); k < n; ++k) {
      int64_t size = dimOf(source, mlirIntegerAttrGetValueInt(mlirArrayAttrGetElement(group, k)));
      if (size < 0 || shape[g] < 0 || __builtin_mul_overflow(shape[g], size, &shape[g]))
        shape[g] = -1;
    }
  }
  mlirValueSetType(mlirOperationGetResult(op, 0), withShape(refiner, resultType(op), rank, shape));
}

static void refineExpand(Refiner *refiner, MlirOperation op) {
  MlirType source = mlirValueGetType(mlirOperationGetOperand(op, 0));
  MlirAttribute groups = shardOpGetAttribute(op, "reassociation");
  intptr_t next = 1;
  MixedList shape = readMixed(refiner, op, "static_output_shape", &next);
  for (intptr_t g = 0, n = mlirArrayAttrGetNumElements(groups); g < n; ++g) {
    MlirAttribute group = mlirArrayAttrGetElement(groups, g);
    int64_t left = dimOf(source, g), unknown = -1;
    intptr_t nUnknown = 0;
    for (intptr_t k = 0, m = mlirArrayAttrGetNumElements(group); k < m; ++k) {
      int64_t d = mlirIntegerAttrGetValueInt(mlirArrayAttrGetElement(group, k));
      if (!shape.known[d]) {
        ++nUnknown;
        unknown = d;
      } else if (left >= 0) {
        left = shape.values[d] > 0 && left % shape.values[d] == 0 ? left / shape.values[d] : -1;
      }
    }
    if (nUnknown == 1 && left >= 0) { // the one that is left follows
      shape.values[unknown] = left;
      shape.known[unknown] = true;
    }
  }
  int64_t *sizes = SHARD_ARENA_ARRAY(refiner->arena, int64_t, shape.n + 1);
  for (intptr_t d = 0; d < shape.n; ++d)
    sizes[d] = shape.known[d] ? shape.values[d] : -1;
  rebuildMixed(refiner, op, withShape(refiner, resultType(op), shape.n, sizes), 1, 1, &shape,
               false);
}

static void refineConcat(Refiner *refiner, MlirOperation op) {
  int64_t dim = 0;
  shardAttrGetI64(shardOpGetAttribute(op, "dim"), &dim);
  intptr_t rank = mlirShapedTypeGetRank(resultType(op));
  int64_t *shape = SHARD_ARENA_ARRAY(refiner->arena, int64_t, rank + 1), sum = 0;
  for (intptr_t d = 0; d < rank; ++d)
    shape[d] = -1;
  for (intptr_t i = 0, n = mlirOperationGetNumOperands(op); i < n; ++i) {
    MlirType type = mlirValueGetType(mlirOperationGetOperand(op, i));
    for (intptr_t d = 0; d < rank; ++d)
      if (d != dim && dimOf(type, d) >= 0)
        shape[d] = dimOf(type, d);
    sum = sum < 0 || dimOf(type, dim) < 0 ? -1 : sum + dimOf(type, dim);
  }
  shape[dim] = sum;
  mlirValueSetType(mlirOperationGetResult(op, 0), withShape(refiner, resultType(op), rank, shape));
}

/// A cast that says less than is known goes; one that says more gives its extents.
static void refineCast(Refiner *refiner, MlirOperation op) {
  MlirValue source = mlirOperationGetOperand(op, 0);
  MlirType from = mlirValueGetType(source), to = resultType(op);
  if (!isTensor(from) || !isTensor(to))
    return;
  intptr_t rank = mlirShapedTypeGetRank(to);
  int64_t *shape = SHARD_ARENA_ARRAY(refiner->arena, int64_t, rank + 1);
  for (intptr_t d = 0; d < rank; ++d)
    shape[d] = dimOf(from, d) >= 0 ? dimOf(from, d) : dimOf(to, d);
  MlirType refined = withShape(refiner, to, rank, shape);
  if (mlirTypeEqual(refined, from))
    replaceBy(refiner, op, source);
  else
    mlirValueSetType(mlirOperationGetResult(op, 0), refined);
}

/// tensor.reshape to sizes that tensor.from_elements lists.
static void refineReshape(Refiner *refiner, MlirOperation op) {
  MlirOperation list = shardValueDefiningOp(mlirOperationGetOperand(op, 1));
  MlirType type = resultType(op);
  intptr_t rank = isTensor(type) ? mlirShapedTypeGetRank(type) : -1;
  if (mlirOperationIsNull(list) || !shardOpIs(list, "tensor.from_elements") ||
      mlirOperationGetNumOperands(list) != rank)
    return;
  int64_t *shape = SHARD_ARENA_ARRAY(refiner->arena, int64_t, rank + 1);
  for (intptr_t d = 0; d < rank; ++d) {
    shape[d] = dimOf(type, d);
    if (shape[d] < 0)
      shape[d] = constantOr(refiner, mlirOperationGetOperand(list, d), -1);
  }
  mlirValueSetType(mlirOperationGetResult(op, 0), withShape(refiner, type, rank, shape));
}

static MlirLogicalResult refineFunction(Refiner *refiner, MlirOperation func) {
  int64_t seen;
  if (shardPointerMapGet(refiner->done, func.ptr, &seen))
    return mlirLogicalResultSuccess();
  shardPointerMapSet(refiner->done, func.ptr, 1);
  if (mlirLogicalResultIsFailure(refineBlock(refiner, shardFuncGetBody(func))))
    return mlirLogicalResultFailure();
  shardFuncUpdateType(func);
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult refuseCall(MlirOperation op, MlirStringRef name, intptr_t argument) {
  return shardEmitError(op, "'@%.*s' is called with two shapes of argument %td; expected one",
                        (int)name.length, name.data, argument);
}

/// A callee takes the shapes of its first call; another call must agree.
static MlirLogicalResult refineCall(Refiner *refiner, MlirOperation op) {
  MlirStringRef name = mlirFlatSymbolRefAttrGetValue(shardOpGetAttribute(op, "callee"));
  MlirOperation callee = shardModuleLookup(refiner->import->module, name);
  MlirBlock body = shardFuncGetBody(callee);
  int64_t seen;
  bool isFirst = !shardPointerMapGet(refiner->done, callee.ptr, &seen);
  ShardBounded *bounded = refiner->bounded;
  for (intptr_t i = 0, n = mlirOperationGetNumOperands(op); i < n; ++i) {
    MlirValue argument = mlirBlockGetArgument(body, i);
    MlirType type = mlirValueGetType(mlirOperationGetOperand(op, i));
    if (isFirst)
      mlirValueSetType(argument, type);
    else if (!mlirTypeEqual(mlirValueGetType(argument), type))
      return refuseCall(op, name, i);
    if (bounded && !shardBoundedEnter(bounded, argument, mlirOperationGetOperand(op, i), isFirst))
      return refuseCall(op, name, i);
  }
  if (mlirLogicalResultIsFailure(refineFunction(refiner, callee)))
    return mlirLogicalResultFailure();
  if (bounded)
    shardBoundedPassExtents(bounded, op);
  MlirOperation end = mlirBlockGetTerminator(body);
  for (intptr_t i = 0, n = mlirOperationGetNumResults(op); i < n; ++i)
    mlirValueSetType(mlirOperationGetResult(op, i),
                     mlirValueGetType(mlirOperationGetOperand(end, i)));
  for (intptr_t i = 0, n = mlirOperationGetNumResults(op); i < n && bounded; ++i)
    shardBoundedEnter(bounded, mlirOperationGetResult(op, i), mlirOperationGetOperand(end, i),
                      true);
  return mlirLogicalResultSuccess();
}

/// Hands a value into a region, or out of it.
static void handOn(Refiner *refiner, MlirValue inside, MlirValue outside) {
  mlirValueSetType(inside, mlirValueGetType(outside));
  if (refiner->bounded && isTensor(mlirValueGetType(outside)))
    shardBoundedEnter(refiner->bounded, inside, outside, true);
}

/// scf.while: what is carried in keeps its shape; what the condition hands on may have another.
static MlirLogicalResult refineWhile(Refiner *refiner, MlirOperation op) {
  MlirBlock before = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0));
  MlirBlock after = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 1));
  intptr_t nCarried = mlirOperationGetNumOperands(op), nResults = mlirOperationGetNumResults(op);
  for (intptr_t i = 0; i < nCarried; ++i)
    handOn(refiner, mlirBlockGetArgument(before, i), mlirOperationGetOperand(op, i));
  if (mlirLogicalResultIsFailure(refineBlock(refiner, before)))
    return mlirLogicalResultFailure();
  MlirOperation condition = mlirBlockGetTerminator(before);
  for (intptr_t i = 0; i < nResults; ++i) {
    MlirValue handed = mlirOperationGetOperand(condition, 1 + i);
    handOn(refiner, mlirBlockGetArgument(after, i), handed);
    handOn(refiner, mlirOperationGetResult(op, i), handed);
  }
  if (mlirLogicalResultIsFailure(refineBlock(refiner, after)))
    return mlirLogicalResultFailure();
  MlirOperation yield = mlirBlockGetTerminator(after);
  for (intptr_t i = 0; i < nCarried; ++i) {
    MlirValue yielded = mlirOperationGetOperand(yield, i);
    if (refiner->bounded && isTensor(mlirValueGetType(yielded)) &&
        !shardBoundedEnter(refiner->bounded, mlirOperationGetOperand(op, i), yielded, false))
      return shardBoundedRefuse(op);
  }
  return mlirLogicalResultSuccess();
}

/// scf: what a region yields is what the op gives; what goes in is what the region is given.
static MlirLogicalResult refineRegions(Refiner *refiner, MlirOperation op) {
  if (shardOpIs(op, "scf.while"))
    return refineWhile(refiner, op);
  intptr_t nOperands = mlirOperationGetNumOperands(op), nResults = mlirOperationGetNumResults(op);
  for (intptr_t g = 0, n = mlirOperationGetNumRegions(op); g < n; ++g) {
    MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, g));
    if (mlirBlockIsNull(body))
      continue;
    intptr_t nArguments = mlirBlockGetNumArguments(body);
    for (intptr_t i = 0; i < nResults && nArguments >= nResults && nOperands >= nResults; ++i) {
      MlirValue argument = mlirBlockGetArgument(body, nArguments - nResults + i);
      MlirValue init = mlirOperationGetOperand(op, nOperands - nResults + i);
      mlirValueSetType(argument, mlirValueGetType(init));
      if (refiner->bounded && isTensor(mlirValueGetType(init)))
        shardBoundedEnter(refiner->bounded, argument, init, true);
    }
    if (mlirLogicalResultIsFailure(refineBlock(refiner, body)))
      return mlirLogicalResultFailure();
    MlirOperation end = mlirBlockGetTerminator(body);
    intptr_t nYielded = mlirOperationIsNull(end) ? 0 : mlirOperationGetNumOperands(end);
    for (intptr_t i = 0; i < nResults && nYielded >= nResults; ++i) {
      MlirValue result = mlirOperationGetResult(op, i);
      MlirValue yielded = mlirOperationGetOperand(end, nYielded - nResults + i);
      mlirValueSetType(result, mlirValueGetType(yielded));
      if (refiner->bounded && !shardBoundedYield(refiner->bounded, op, i, yielded, g == 0))
        return shardBoundedRefuse(op);
    }
  }
  return mlirLogicalResultSuccess();
}

static void refineElementwise(Refiner *refiner, MlirOperation op) {
  MlirType type =
      mlirValueGetType(mlirOperationGetOperand(op, mlirOperationGetNumOperands(op) - 1));
  intptr_t rank = isTensor(type) ? mlirShapedTypeGetRank(type) : -1;
  if (rank != mlirShapedTypeGetRank(resultType(op)))
    return;
  int64_t *shape = SHARD_ARENA_ARRAY(refiner->arena, int64_t, rank + 1);
  for (intptr_t d = 0; d < rank; ++d)
    shape[d] = dimOf(type, d);
  mlirValueSetType(mlirOperationGetResult(op, 0), withShape(refiner, resultType(op), rank, shape));
}

static bool startsWith(MlirStringRef name, const char *prefix) {
  size_t n = strlen(prefix);
  return name.length > n && memcmp(name.data, prefix, n) == 0;
}

static MlirLogicalResult refineStatic(Refiner *refiner, MlirOperation op) {
  MlirStringRef name = shardOpGetName(op);
  intptr_t nResults = mlirOperationGetNumResults(op), nOperands = mlirOperationGetNumOperands(op);
  int64_t value;
  if (shardStringIs(name, "func.call") || startsWith(name, "scf.")) {
    MlirLogicalResult result =
        shardStringIs(name, "func.call") ? refineCall(refiner, op) : refineRegions(refiner, op);
    refiner->current = (MlirOperation){NULL}; // it was settled on the way
    return result;
  }
  if (shardStringIs(name, "cf.assert")) {
    int64_t holds;
    if (!shardEvaluateScalar(refiner->evaluator, mlirOperationGetOperand(op, 0), &holds))
      holds = -1;
    if (holds == 0) {
      MlirStringRef text = mlirStringAttrGetValue(shardOpGetAttribute(op, "msg"));
      return shardEmitError(op, "with the extents given, this assert fails: %.*s", (int)text.length,
                            text.data);
    }
    if (holds == 1) {
      mlirOperationDestroy(op);
      refiner->current = (MlirOperation){NULL};
    }
    return mlirLogicalResultSuccess();
  }
  if (nResults == 0)
    return mlirLogicalResultSuccess();
  if (!refiner->bounded && shardOwnRuleRefine(op, refiner->arena))
    return mlirLogicalResultSuccess();
  if (startsWith(name, "linalg.") || startsWith(name, "tm_tensor.")) { // as the destinations
    for (intptr_t i = 0; i < nResults && nOperands >= nResults; ++i)
      mlirValueSetType(mlirOperationGetResult(op, i),
                       mlirValueGetType(mlirOperationGetOperand(op, nOperands - nResults + i)));
    return mlirLogicalResultSuccess();
  }
  if (shardStringIs(name, "tensor.dim")) {
    MlirType type = mlirValueGetType(mlirOperationGetOperand(op, 0));
    int64_t dim = constantOr(refiner, mlirOperationGetOperand(op, 1), -1);
    if (isTensor(type) && dim >= 0 && dim < mlirShapedTypeGetRank(type) && dimOf(type, dim) >= 0)
      replaceByConstant(refiner, op, dimOf(type, dim));
  } else if (shardStringIs(name, "tensor.empty")) {
    refineSized(refiner, op, 0);
  } else if (shardStringIs(name, "tensor.splat")) {
    refineSized(refiner, op, 1);
  } else if (shardStringIs(name, "tensor.generate")) {
    refineSized(refiner, op, 0);
  } else if (shardStringIs(name, "tensor.extract_slice")) {
    refineSlice(refiner, op, false);
  } else if (shardStringIs(name, "tensor.insert_slice")) {
    refineSlice(refiner, op, true);
  } else if (shardStringIs(name, "tensor.pad")) {
    refinePad(refiner, op);
  } else if (shardStringIs(name, "tensor.collapse_shape")) {
    refineCollapse(refiner, op);
  } else if (shardStringIs(name, "tensor.expand_shape")) {
    refineExpand(refiner, op);
  } else if (shardStringIs(name, "tensor.concat")) {
    refineConcat(refiner, op);
  } else if (shardStringIs(name, "tensor.reshape")) {
    refineReshape(refiner, op);
  } else if (shardStringIs(name, "tensor.cast")) {
    refineCast(refiner, op);
  } else if (nOperands > 0 && (startsWith(name, "arith.") || startsWith(name, "math."))) {
    if (isTensor(resultType(op)))
      refineElementwise(refiner, op);
    else if (!shardStringIs(name, "arith.constant") &&
             shardEvaluateScalar(refiner->evaluator, mlirOperationGetResult(op, 0), &value))
      replaceByConstant(refiner, op, value);
  }
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult refineOp(Refiner *refiner, MlirOperation op) {
  if (!refiner->bounded)
    return refineStatic(refiner, op);
  ShardBoundedOp described;
  if (mlirLogicalResultIsFailure(shardBoundedDescribe(refiner->bounded, &op, &described)))
    return mlirLogicalResultFailure();
  refiner->current = op;
  if (mlirOperationIsNull(op))
    return mlirLogicalResultSuccess();
  if (mlirLogicalResultIsFailure(refineStatic(refiner, op)))
    return mlirLogicalResultFailure();
  return mlirOperationIsNull(refiner->current)
             ? mlirLogicalResultSuccess()
             : shardBoundedSettle(refiner->bounded, refiner->current, &described);
}

static MlirLogicalResult refineBlock(Refiner *refiner, MlirBlock block) {
  intptr_t n;
  MlirOperation *ops = shardBlockOps(block, refiner->arena, &n);
  for (intptr_t i = 0; i < n; ++i)
    if (mlirLogicalResultIsFailure(refineOp(refiner, ops[i])))
      return mlirLogicalResultFailure();
  return mlirLogicalResultSuccess();
}

MlirLogicalResult shardImportRefineShapes(const ShardImport *import) {
  Refiner refiner = {.import = import,
                     .arena = import->arena,
                     .evaluator = shardEvaluatorCreate(import->arena),
                     .done = shardPointerMapCreate(import->arena, (size_t)import->nFunctions),
                     .bounded = import->bounded};
  MlirLogicalResult result = refineFunction(&refiner, import->entry);
  for (intptr_t f = 0; f < import->nFunctions && import->bounded; ++f)
    shardBoundedSink(import->bounded, import->functions[f]);
  if (import->bounded)
    shardBoundedSetResults(import->bounded);
  shardEvaluatorDestroy(refiner.evaluator);
  return result;
}
