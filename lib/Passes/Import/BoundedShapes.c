//===- BoundedShapes.c - Extents of what an op makes ---------------*- C -*-===//
// Read while the result types still say `?`: a number in a type is a number in every run.
//===----------------------------------------------------------------------===//
#include "Bounded.h"

#include "mlir-c/AffineExpr.h"
#include "mlir-c/BuiltinTypes.h"

#include <inttypes.h>
#include <string.h>

static bool isTensor(MlirValue value) { return mlirTypeIsARankedTensor(mlirValueGetType(value)); }

static intptr_t rankOf(MlirValue tensor) { return mlirShapedTypeGetRank(mlirValueGetType(tensor)); }

static bool hasPrefix(MlirOperation op, const char *prefix) {
  MlirStringRef name = shardOpGetName(op);
  size_t n = strlen(prefix);
  return name.length > n && memcmp(name.data, prefix, n) == 0;
}

/// Whether an op reads a tensor with a dynamic extent.
static bool readsDynamic(const ShardBounded *b, MlirOperation op) {
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    if (shardBoundedIsDynamic(b, mlirOperationGetOperand(op, i)))
      return true;
  return false;
}

static ShardExtent *newShape(const ShardBounded *b, intptr_t rank) {
  return SHARD_ARENA_ARRAY(b->arena, ShardExtent, rank + 1);
}

static ShardExtent *shapeOf(const ShardBounded *b, MlirValue tensor) {
  intptr_t rank = rankOf(tensor);
  ShardExtent *shape = newShape(b, rank);
  for (intptr_t d = 0; d < rank; ++d)
    shape[d] = shardBoundedExtent(b, tensor, d);
  return shape;
}

MlirLogicalResult shardBoundedRefuse(MlirOperation op) {
  MlirStringRef name = shardOpGetName(op);
  return shardEmitError(op,
                        "'%.*s' of a dynamic dimension with a bound is not supported; expected a "
                        "fixed extent, --dim=ARG:D=N",
                        (int)name.length, name.data);
}

static MlirLogicalResult refuseMeeting(MlirOperation op) {
  MlirStringRef name = shardOpGetName(op);
  return shardEmitError(op,
                        "'%.*s' brings together two dynamic extents that cannot be compared; "
                        "expected fixed extents, --dim=ARG:D=N",
                        (int)name.length, name.data);
}

/// `extent` becomes one for both it and `other`; a null one of no loops takes the other.
static MlirLogicalResult meet(ShardBounded *b, MlirOperation op, bool *known, ShardExtent *extent,
                              const ShardExtent *other) {
  ShardExtent both = *other;
  if (*known && !shardExtentUnify(b, extent, other, &both))
    return refuseMeeting(op);
  *extent = both;
  *known = true;
  return mlirLogicalResultSuccess();
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

static MlirLogicalResult describeLinalg(ShardBounded *b, MlirOperation op, ShardBoundedOp *out) {
  MlirAttribute maps = shardIndexingMaps(op);
  intptr_t nOperands = mlirOperationGetNumOperands(op), nResults = mlirOperationGetNumResults(op);
  if (mlirAttributeIsNull(maps) || mlirArrayAttrGetNumElements(maps) != nOperands)
    return readsDynamic(b, op) ? shardBoundedRefuse(op) : mlirLogicalResultSuccess();
  MlirAffineMap first = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, 0));
  out->nLoops = mlirAffineMapGetNumDims(first);
  out->loops = newShape(b, out->nLoops);
  bool *known = SHARD_ARENA_ARRAY(b->arena, bool, out->nLoops + 1);
  for (intptr_t i = 0; i < nOperands; ++i) {
    MlirValue operand = mlirOperationGetOperand(op, i);
    if (!isTensor(operand))
      continue;
    MlirAffineMap map = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, i));
    for (intptr_t k = 0; k < mlirAffineMapGetNumResults(map); ++k) {
      ShardExtent extent = shardBoundedExtent(b, operand, k);
      intptr_t loop = shardMapResultDim(map, k);
      if (loop < 0 && !shardExtentIsNumber(b, &extent))
        return shardBoundedRefuse(op);
      if (loop >= 0 &&
          mlirLogicalResultIsFailure(meet(b, op, &known[loop], &out->loops[loop], &extent)))
        return mlirLogicalResultFailure();
    }
  }
  for (intptr_t r = 0; r < nResults; ++r) {
    MlirValue destination = mlirOperationGetOperand(op, nOperands - nResults + r);
    if (!isTensor(destination))
      continue;
    MlirAffineMap map =
        mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, nOperands - nResults + r));
    out->results[r] = shapeOf(b, destination);
    for (intptr_t k = 0; k < mlirAffineMapGetNumResults(map); ++k)
      if (shardMapResultDim(map, k) >= 0)
        out->results[r][k] = out->loops[shardMapResultDim(map, k)];
  }
  return mlirLogicalResultSuccess();
}

/// Operands and results of one shape.
static MlirLogicalResult describeElementwise(ShardBounded *b, MlirOperation op,
                                             ShardBoundedOp *out) {
  ShardExtent *shape = NULL;
  bool known[64] = {false};
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i) {
    MlirValue operand = mlirOperationGetOperand(op, i);
    if (!isTensor(operand))
      continue;
    if (!shape)
      shape = newShape(b, rankOf(operand));
    for (intptr_t d = 0; d < rankOf(operand) && d < 64; ++d) {
      ShardExtent extent = shardBoundedExtent(b, operand, d);
      if (mlirLogicalResultIsFailure(meet(b, op, &known[d], &shape[d], &extent)))
        return mlirLogicalResultFailure();
    }
  }
  for (intptr_t r = 0; r < mlirOperationGetNumResults(op); ++r)
    out->results[r] = shape;
  return mlirLogicalResultSuccess();
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// Entry i of a list of numbers, of which the dynamic ones are operands from `*next` on. False if
/// its extent is not known.
static bool mixedEntry(const ShardBounded *b, MlirOperation op, MlirAttribute list, intptr_t i,
                       intptr_t *next, ShardExtent *out) {
  int64_t number = shardArrayAttrAt(list, i);
  if (number == mlirShapedTypeGetDynamicSize())
    return shardBoundedScalar(b, mlirOperationGetOperand(op, (*next)++), out);
  *out = shardExtentOfNumber(b, number);
  return true;
}

/// What a slice takes along a dimension.
typedef struct ShardSliceEntry {
  bool hasOffset, hasStride; // they follow from extents
  ShardExtent offset, size, stride;
} ShardSliceEntry;

/// Reads the window of a slice whose first `nFixed` operands are tensors. False if a size does not
/// follow from extents.
static bool readSlice(const ShardBounded *b, MlirOperation op, intptr_t nFixed, intptr_t rank,
                      ShardSliceEntry **outEntries) {
  ShardSliceEntry *entries = SHARD_ARENA_ARRAY(b->arena, ShardSliceEntry, rank + 1);
  MlirAttribute offsets = shardOpGetAttribute(op, "static_offsets");
  MlirAttribute sizes = shardOpGetAttribute(op, "static_sizes");
  MlirAttribute strides = shardOpGetAttribute(op, "static_strides");
  intptr_t next = nFixed;
  bool known = true;
  for (intptr_t d = 0; d < rank; ++d)
    entries[d].hasOffset = mixedEntry(b, op, offsets, d, &next, &entries[d].offset);
  for (intptr_t d = 0; d < rank; ++d)
    known &= mixedEntry(b, op, sizes, d, &next, &entries[d].size);
  for (intptr_t d = 0; d < rank; ++d)
    entries[d].hasStride = mixedEntry(b, op, strides, d, &next, &entries[d].stride);
  *outEntries = entries;
  return known;
}

/// tensor.empty and others with an operand for each `?` of the result.
static void describeSized(const ShardBounded *b, MlirOperation op, intptr_t nFixed,
                          ShardBoundedOp *out) {
  MlirValue result = mlirOperationGetResult(op, 0);
  MlirType type = mlirValueGetType(result);
  intptr_t next = nFixed;
  ShardExtent *shape = newShape(b, rankOf(result));
  for (intptr_t d = 0; d < rankOf(result); ++d) {
    if (!mlirShapedTypeIsDynamicDim(type, d))
      shape[d] = shardExtentOfNumber(b, mlirShapedTypeGetDimSize(type, d));
    else if (!shardBoundedScalar(b, mlirOperationGetOperand(op, next++), &shape[d]))
      return; // it stays dynamic, and is refused as such
  }
  out->results[0] = shape;
}

static MlirLogicalResult describeCollapse(const ShardBounded *b, MlirOperation op,
                                          ShardBoundedOp *out) {
  MlirValue source = mlirOperationGetOperand(op, 0);
  MlirAttribute groups = shardOpGetAttribute(op, "reassociation");
  intptr_t rank = mlirArrayAttrGetNumElements(groups);
  ShardExtent *shape = newShape(b, rank);
  for (intptr_t g = 0; g < rank; ++g) {
    MlirAttribute group = mlirArrayAttrGetElement(groups, g);
    for (intptr_t k = 0; k < mlirArrayAttrGetNumElements(group); ++k) {
      ShardExtent extent = shardBoundedExtent(
          b, source, mlirIntegerAttrGetValueInt(mlirArrayAttrGetElement(group, k)));
      shape[g] = shardExtentProduct(b, &shape[g], &extent);
    }
  }
  out->results[0] = shape;
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult describeExpand(const ShardBounded *b, MlirOperation op,
                                        ShardBoundedOp *out) {
  MlirValue source = mlirOperationGetOperand(op, 0);
  MlirAttribute groups = shardOpGetAttribute(op, "reassociation");
  MlirAttribute sizes = shardOpGetAttribute(op, "static_output_shape");
  intptr_t rank = mlirDenseArrayGetNumElements(sizes), next = 1;
  ShardExtent *shape = newShape(b, rank);
  bool *known = SHARD_ARENA_ARRAY(b->arena, bool, rank + 1);
  for (intptr_t d = 0; d < rank; ++d)
    known[d] = mixedEntry(b, op, sizes, d, &next, &shape[d]);
  for (intptr_t g = 0, at = 0; g < mlirArrayAttrGetNumElements(groups); ++g) {
    intptr_t n = mlirArrayAttrGetNumElements(mlirArrayAttrGetElement(groups, g));
    ShardExtent extent = shardBoundedExtent(b, source, g);
    if (!shardExtentSplit(b, &extent, n, shape + at, known + at)) {
      for (intptr_t k = 0; k < n; ++k)
        if (!known[at + k] || !shardExtentIsNumber(b, &shape[at + k]) ||
            !shardExtentIsNumber(b, &extent))
          return shardEmitError(
              op,
              "the reshape cuts dimension %" PRIdPTR
              " where no dynamic extent ends; expected a fixed extent, --dim=ARG:D=N",
              g);
    }
    at += n;
  }
  out->results[0] = shape;
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult describeCast(ShardBounded *b, MlirOperation op, ShardBoundedOp *out) {
  MlirValue source = mlirOperationGetOperand(op, 0);
  MlirType to = mlirValueGetType(mlirOperationGetResult(op, 0));
  if (!isTensor(source) || !mlirTypeIsARankedTensor(to))
    return readsDynamic(b, op) ? shardBoundedRefuse(op) : mlirLogicalResultSuccess();
  ShardExtent *shape = shapeOf(b, source);
  for (intptr_t d = 0; d < mlirShapedTypeGetRank(to); ++d) {
    if (mlirShapedTypeIsDynamicDim(to, d))
      continue;
    ShardExtent number = shardExtentOfNumber(b, mlirShapedTypeGetDimSize(to, d));
    bool known = true;
    if (mlirLogicalResultIsFailure(meet(b, op, &known, &shape[d], &number)))
      return mlirLogicalResultFailure();
  }
  out->results[0] = shape;
  return mlirLogicalResultSuccess();
}

/// Whether a slice along a dimension is one of storage: all of it, or steps of a dimension whose
/// valid elements come first, from a number on.
static bool slicesStorage(const ShardBounded *b, const ShardExtent *extent,
                          const ShardSliceEntry *entry) {
  bool fixed = entry->hasOffset && shardExtentIsNumber(b, &entry->offset) && entry->hasStride &&
               shardExtentIsNumber(b, &entry->stride);
  bool whole = fixed && shardExtentBound(&entry->offset) == 0 &&
               shardExtentBound(&entry->stride) == 1 && shardExtentEqual(b, extent, &entry->size);
  return whole || (fixed && extent->n <= 1 && entry->size.n <= 1);
}

static MlirLogicalResult describeSlice(ShardBounded *b, MlirOperation op, ShardBoundedOp *out) {
  MlirValue source = mlirOperationGetOperand(op, 0);
  MlirType type = mlirValueGetType(mlirOperationGetResult(op, 0));
  intptr_t rank = rankOf(source), left = mlirShapedTypeGetRank(type), r = 0;
  ShardSliceEntry *entries;
  bool known = readSlice(b, op, 1, rank, &entries), follows = shardBoundedIsDynamic(b, source);
  for (intptr_t i = 1; i < mlirOperationGetNumOperands(op); ++i)
    follows |= shardBoundedIsScalar(b, mlirOperationGetOperand(op, i));
  if (!follows || !known) // without a known size it stays dynamic, and is refused as such
    return mlirLogicalResultSuccess();
  ShardExtent *shape = newShape(b, left);
  for (intptr_t d = 0; d < rank; ++d) {
    ShardExtent extent = shardBoundedExtent(b, source, d);
    if (!slicesStorage(b, &extent, &entries[d]))
      return shardBoundedRefuse(op);
    bool unit = shardArrayAttrAt(shardOpGetAttribute(op, "static_sizes"), d) == 1;
    bool mayDrop = unit && rank - d > left - r;
    if (r < left && (!mayDrop || mlirShapedTypeGetDimSize(type, r) == 1))
      shape[r++] = entries[d].size;
  }
  out->results[0] = shape;
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult describeConcat(ShardBounded *b, MlirOperation op, ShardBoundedOp *out) {
  int64_t dim = 0;
  shardAttrGetI64(shardOpGetAttribute(op, "dim"), &dim);
  intptr_t n = mlirOperationGetNumOperands(op), rank = rankOf(mlirOperationGetOperand(op, 0));
  ShardExtent *shape = shapeOf(b, mlirOperationGetOperand(op, 0));
  for (intptr_t i = 1; i < n; ++i) {
    MlirValue operand = mlirOperationGetOperand(op, i);
    for (intptr_t d = 0; d < rank; ++d) {
      ShardExtent extent = shardBoundedExtent(b, operand, d);
      bool known = true;
      if (d == dim) {
        // What follows a dynamic part would begin at its bound.
        if (!shardExtentIsNumber(b, &shape[d]) || extent.n > 1 ||
            !shardExtentSum(b, &shape[d], &extent, 1, &shape[d]))
          return shardBoundedRefuse(op);
      } else if (mlirLogicalResultIsFailure(meet(b, op, &known, &shape[d], &extent))) {
        return mlirLogicalResultFailure();
      }
    }
  }
  out->results[0] = shape;
  return mlirLogicalResultSuccess();
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

static void noteScalar(ShardBounded *b, MlirValue value, const ShardExtent *extent) {
  ShardExtent *kept = NULL;
  if (extent) {
    kept = SHARD_ARENA_NEW(b->arena, ShardExtent);
    *kept = *extent;
  }
  shardPointerMapSet(b->scalars, value.ptr, (int64_t)(intptr_t)kept);
}

/// tensor.dim: the number itself, where it is a value; where it is a shape, its bound.
static void replaceDim(ShardBounded *b, MlirOperation *op, intptr_t d) {
  ShardExtent extent = shardBoundedExtent(b, mlirOperationGetOperand(*op, 0), d);
  ShardInsert at = shardInsertBefore(*op);
  MlirValue *extents = SHARD_ARENA_ARRAY(b->arena, MlirValue, b->nDims + 1);
  for (int32_t k = 0; k < b->nDims; ++k) {
    bool read = false;
    for (int32_t i = 0; i < extent.n; ++i)
      read |= extent.digits[i].terms[1 + k] != 0;
    if (!read)
      continue;
    MlirValue argument = shardBoundedArgument(b, *op, k);
    MlirValue number = shardInsertOp(&at, "tensor.extract", mlirIntegerTypeGet(b->context, 64), 1,
                                     &argument, 0, NULL);
    extents[k] = shardInsertIntegerCast(&at, number, mlirIndexTypeGet(b->context));
  }
  MlirValue number = shardExtentBuild(b, &at, &extent, extents);
  noteScalar(b, number, &extent);
  mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(*op, 0), number);
  mlirOperationDestroy(*op);
  *op = (MlirOperation){NULL};
}

static MlirOperation replaceByNumber(MlirOperation op, int64_t number) {
  MlirValue result = mlirOperationGetResult(op, 0);
  ShardInsert at = shardInsertBefore(op);
  MlirValue constant = shardInsertScalar(&at, mlirIntegerAttrGet(mlirValueGetType(result), number));
  mlirValueReplaceAllUsesOfWith(result, constant);
  mlirOperationDestroy(op);
  return (MlirOperation){NULL};
}

/// 1, 0, or -1 where the extents decide.
static int decide(int64_t predicate, ShardExtentOrder order) {
  bool same = order == SHARD_EXTENTS_SAME, above = order == SHARD_EXTENTS_ABOVE,
       below = order == SHARD_EXTENTS_BELOW;
  bool notBelow = same || above || order == SHARD_EXTENTS_NOT_BELOW;
  bool notAbove = same || below || order == SHARD_EXTENTS_NOT_ABOVE;
  switch (predicate) {
  case 0: // eq
    return same ? 1 : above || below ? 0 : -1;
  case 1: // ne
    return same ? 0 : above || below ? 1 : -1;
  case 2: // slt, ult: extents are no less than 0
  case 6:
    return below ? 1 : notBelow ? 0 : -1;
  case 3: // sle, ule
  case 7:
    return notAbove ? 1 : above ? 0 : -1;
  case 4: // sgt, ugt
  case 8:
    return above ? 1 : notAbove ? 0 : -1;
  default: // sge, uge
    return notBelow ? 1 : below ? 0 : -1;
  }
}

/// Whether an unsigned comparison of the two is a signed one.
static bool neitherNegative(ShardBounded *b, const ShardExtent *x, const ShardExtent *y) {
  ShardExtent zero = shardExtentOfNumber(b, 0);
  return decide(5, shardExtentCompare(b, x, &zero)) == 1 &&
         decide(5, shardExtentCompare(b, y, &zero)) == 1;
}

static bool bothScalars(ShardBounded *b, MlirOperation op, ShardExtent *x, ShardExtent *y) {
  return shardBoundedScalar(b, mlirOperationGetOperand(op, 0), x) &&
         shardBoundedScalar(b, mlirOperationGetOperand(op, 1), y);
}

/// Arithmetic on scalars that follow from extents.
static void describeScalar(ShardBounded *b, MlirOperation *op) {
  bool follows = false;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(*op); ++i)
    follows |= shardBoundedIsScalar(b, mlirOperationGetOperand(*op, i));
  if (!follows || mlirOperationGetNumResults(*op) != 1)
    return;
  MlirValue result = mlirOperationGetResult(*op, 0);
  ShardExtent x, y;
  bool least = shardOpIs(*op, "arith.minsi"), most = shardOpIs(*op, "arith.maxsi");
  if (shardOpIs(*op, "arith.cmpi") && bothScalars(b, *op, &x, &y)) {
    int64_t predicate = 0;
    shardAttrGetI64(shardOpGetAttribute(*op, "predicate"), &predicate);
    int holds = predicate < 6 || neitherNegative(b, &x, &y)
                    ? decide(predicate, shardExtentCompare(b, &x, &y))
                    : -1;
    if (holds >= 0) {
      *op = replaceByNumber(*op, holds);
      return;
    }
  } else if ((least || most) && bothScalars(b, *op, &x, &y)) {
    ShardExtentOrder order = shardExtentCompare(b, &x, &y);
    int isLess = decide(3, order), isMore = decide(5, order);
    if (isLess == 1 || isMore == 1) {
      bool left = (isLess == 1) == least;
      mlirValueReplaceAllUsesOfWith(result, mlirOperationGetOperand(*op, left ? 0 : 1));
      mlirOperationDestroy(*op);
      *op = (MlirOperation){NULL};
      return;
    }
  }
  noteScalar(b, result, shardBoundedScalar(b, result, &x) ? &x : NULL);
}

//===----------------------------------------------------------------------===//
// All
//===----------------------------------------------------------------------===//

MlirLogicalResult shardBoundedDescribe(ShardBounded *b, MlirOperation *op, ShardBoundedOp *out) {
  intptr_t nResults = mlirOperationGetNumResults(*op);
  *out = (ShardBoundedOp){.results = SHARD_ARENA_ARRAY(b->arena, ShardExtent *, nResults + 1)};
  if (shardOpIs(*op, "tensor.dim")) {
    ShardExtent index;
    MlirValue source = mlirOperationGetOperand(*op, 0);
    if (isTensor(source) && shardBoundedScalar(b, mlirOperationGetOperand(*op, 1), &index) &&
        shardExtentIsNumber(b, &index) && shardExtentBound(&index) < rankOf(source) &&
        shardExtentBound(&index) >= 0) {
      intptr_t d = (intptr_t)shardExtentBound(&index);
      ShardExtent extent = shardBoundedExtent(b, source, d);
      if (!shardExtentIsNumber(b, &extent))
        replaceDim(b, op, d);
    }
    return mlirLogicalResultSuccess();
  }
  bool tensors = false;
  for (intptr_t r = 0; r < nResults; ++r)
    tensors |= isTensor(mlirOperationGetResult(*op, r));
  bool arithmetic = hasPrefix(*op, "arith.") || hasPrefix(*op, "math.");
  if (arithmetic && !tensors) {
    describeScalar(b, op);
    return mlirLogicalResultSuccess();
  }
  if (hasPrefix(*op, "linalg."))
    return describeLinalg(b, *op, out);
  if (arithmetic)
    return describeElementwise(b, *op, out);
  if (shardOpIs(*op, "tensor.empty") || shardOpIs(*op, "tensor.splat")) {
    describeSized(b, *op, shardOpIs(*op, "tensor.splat") ? 1 : 0, out);
    return mlirLogicalResultSuccess();
  }
  if (shardOpIs(*op, "tensor.extract_slice"))
    return describeSlice(b, *op, out);
  if (!readsDynamic(b, *op) || shardOpIs(*op, "func.return"))
    return mlirLogicalResultSuccess();
  if (shardOpIs(*op, "tensor.collapse_shape"))
    return describeCollapse(b, *op, out);
  if (shardOpIs(*op, "tensor.expand_shape"))
    return describeExpand(b, *op, out);
  if (shardOpIs(*op, "tensor.cast"))
    return describeCast(b, *op, out);
  if (shardOpIs(*op, "tensor.concat"))
    return describeConcat(b, *op, out);
  return shardBoundedRefuse(*op);
}

MlirLogicalResult shardBoundedSettle(ShardBounded *b, MlirOperation op,
                                     const ShardBoundedOp *described) {
  for (intptr_t r = 0; r < mlirOperationGetNumResults(op); ++r)
    if (described->results[r])
      shardBoundedSetShape(b, mlirOperationGetResult(op, r), described->results[r]);
  return described->nLoops ? shardBoundedMask(b, op, described->nLoops, described->loops)
                           : mlirLogicalResultSuccess();
}
