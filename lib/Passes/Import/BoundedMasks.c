//===- BoundedMasks.c - Padding of dynamic dimensions stays out ----*- C -*-===//
// As Shard/Mask.c does for uneven shards, with extents that are known only at run time: what is
// computed of padding is padding again, and only where a valid element would depend on it, or an op
// could fail on it, is it masked. Indices here are of the whole program, and shard-spmdize makes
// them local like any others.
//===----------------------------------------------------------------------===//
#include "Bounded.h"
#include "Template.h"

#include "../Analysis/Rules.h"
#include "../Core/Traps.h"

#include "mlir-c/AffineExpr.h"
#include "mlir-c/BuiltinTypes.h"

#include <string.h>

struct ShardMasked {
  MlirBlock block;
  MlirValue masked;
  MlirAttribute number;
  const bool *dims;
};

//===----------------------------------------------------------------------===//
// Which steps are valid
//===----------------------------------------------------------------------===//

/// and-ed to `all` unless that is null: whether each digit of `index` is below its extent.
static MlirValue buildValid(const ShardBounded *b, const ShardInsert *at, const ShardExtent *extent,
                            MlirValue index, const MlirValue *extents, MlirValue all) {
  enum { ULT = 6 };
  MlirValue rest = index;
  int32_t first = 0; // digits above it are numbers: always valid
  while (first < extent->n && shardDigitIsNumber(b, &extent->digits[first]))
    ++first;
  for (int32_t i = extent->n - 1; i >= first; --i) {
    const ShardDigit *digit = &extent->digits[i];
    MlirValue place = rest;
    if (i > 0) {
      MlirValue bound = shardInsertIndexConstant(at, digit->bound);
      place = shardInsertBinary(at, "arith.remui", rest, bound);
      if (i > first)
        rest = shardInsertBinary(at, "arith.divui", rest, bound);
    }
    if (shardDigitIsNumber(b, digit))
      continue;
    MlirValue valid = shardInsertCompare(at, ULT, place, shardDigitBuild(b, at, digit, extents));
    all = mlirValueIsNull(all) ? valid : shardInsertBinary(at, "arith.andi", all, valid);
  }
  return all;
}

static void addRead(const ShardBounded *b, const ShardExtent *extent, bool *read) {
  for (int32_t i = 0; i < extent->n; ++i)
    for (int32_t k = 0; k < b->nDims; ++k)
      read[k] |= extent->digits[i].terms[1 + k] != 0;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

typedef struct MaskBody {
  const ShardBounded *b;
  const ShardExtent *shape;
  const bool *dims, *read;
  intptr_t rank;
  MlirAttribute number;
} MaskBody;

static void buildMaskBody(void *user, const ShardInsert *at, const MlirValue *arguments,
                          MlirValue *yielded) {
  const MaskBody *mask = user;
  MlirValue *extents = SHARD_ARENA_ARRAY(mask->b->arena, MlirValue, mask->b->nDims + 1);
  intptr_t next = 1;
  for (int32_t k = 0; k < mask->b->nDims; ++k)
    if (mask->read[k])
      extents[k] =
          shardInsertIntegerCast(at, arguments[next++], mlirIndexTypeGet(mask->b->context));
  MlirValue valid = {NULL};
  for (intptr_t d = 0; d < mask->rank; ++d)
    if (mask->dims[d])
      valid = buildValid(mask->b, at, &mask->shape[d], shardInsertLoopIndex(at, d), extents, valid);
  yielded[0] = shardInsertSelect(at, valid, arguments[0], shardInsertScalar(at, mask->number));
}

MlirValue shardBoundedMaskTensor(ShardBounded *b, MlirOperation before, MlirValue value,
                                 MlirAttribute number, const bool *dims) {
  MlirType type = mlirValueGetType(value);
  intptr_t rank = mlirShapedTypeGetRank(type);
  MlirBlock block = mlirOperationGetBlock(before);
  bool *wanted = SHARD_ARENA_ARRAY(b->arena, bool, rank + 1);
  bool *read = SHARD_ARENA_ARRAY(b->arena, bool, b->nDims + 1), any = false;
  ShardExtent *shape = SHARD_ARENA_ARRAY(b->arena, ShardExtent, rank + 1);
  for (intptr_t d = 0; d < rank; ++d) {
    shape[d] = shardBoundedExtent(b, value, d);
    wanted[d] = (!dims || dims[d]) && !shardExtentIsNumber(b, &shape[d]);
    any |= wanted[d];
    if (wanted[d])
      addRead(b, &shape[d], read);
  }
  if (!any)
    return value;
  for (int64_t i = shardPointerMapGetOr(b->masked, value.ptr, -1); i >= 0 && i < (int64_t)b->nMasks;
       i = -1)
    if (mlirBlockEqual(b->masks[i].block, block) &&
        mlirAttributeEqual(b->masks[i].number, number) &&
        memcmp(b->masks[i].dims, wanted, (size_t)rank * sizeof(bool)) == 0)
      return b->masks[i].masked;
  ShardInsert at = shardInsertBefore(before);
  MlirValue *operands = SHARD_ARENA_ARRAY(b->arena, MlirValue, b->nDims + 2);
  MlirAffineMap *maps = SHARD_ARENA_ARRAY(b->arena, MlirAffineMap, b->nDims + 2);
  char *iterators = shardArenaAllocate(b->arena, (size_t)rank + 1);
  memset(iterators, 'p', (size_t)rank);
  intptr_t n = 0;
  operands[n] = value;
  maps[n++] = mlirAffineMapMultiDimIdentityGet(b->context, rank);
  for (int32_t k = 0; k < b->nDims; ++k)
    if (read[k]) {
      operands[n] = shardBoundedArgument(b, before, k);
      maps[n++] = mlirAffineMapGet(b->context, rank, 0, 0, NULL);
    }
  operands[n] = shardInsertEmpty(&at, type);
  maps[n] = maps[0];
  MaskBody body = {b, shape, wanted, read, rank, number};
  MlirValue masked = mlirOperationGetResult(
      shardInsertGeneric(&at, iterators, n, 1, operands, maps, buildMaskBody, &body), 0);
  shardBoundedSetShape(b, masked, shape);
  b->masks = shardArenaGrow(b->arena, b->masks, b->nMasks, &b->maskCapacity, b->nMasks + 1,
                            sizeof(*b->masks));
  b->masks[b->nMasks] = (struct ShardMasked){block, masked, number, wanted};
  shardPointerMapSet(b->masked, value.ptr, (int64_t)b->nMasks++);
  return masked;
}

/// Masks an operand along the loops that are wanted. False if it does not have all of them.
static bool maskOperand(ShardBounded *b, MlirOperation op, intptr_t operand, intptr_t nLoops,
                        const bool *wanted, MlirAttribute number, bool ask) {
  MlirAffineMap map =
      mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(shardIndexingMaps(op), operand));
  intptr_t rank = mlirAffineMapGetNumResults(map);
  bool *dims = SHARD_ARENA_ARRAY(b->arena, bool, rank + 1);
  bool *has = SHARD_ARENA_ARRAY(b->arena, bool, nLoops + 1);
  for (intptr_t d = 0; d < rank; ++d) {
    intptr_t loop = shardMapResultDim(map, d);
    dims[d] = loop >= 0 && wanted[loop];
    if (loop >= 0)
      has[loop] = true;
  }
  for (intptr_t l = 0; l < nLoops; ++l)
    if (wanted[l] && !has[l])
      return false;
  if (!ask)
    mlirOperationSetOperand(
        op, operand,
        shardBoundedMaskTensor(b, op, mlirOperationGetOperand(op, operand), number, dims));
  return true;
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

typedef struct Body {
  ShardBounded *b;
  MlirOperation op; // a linalg.generic
  intptr_t nLoops;
  const ShardExtent *loops;
  MlirValue *extents; // [nDims] in the body, as indices; null: not read yet
} Body;

/// The extent of a dynamic dimension in the body, at its top.
static MlirValue extentIn(Body *body, int32_t k) {
  ShardBounded *b = body->b;
  if (mlirValueIsNull(body->extents[k])) {
    MlirValue argument =
        shardGenericAddInput(body->op, shardBoundedArgument(b, body->op, k),
                             mlirAffineMapGet(b->context, body->nLoops, 0, 0, NULL), b->arena);
    ShardInsert at = shardInsertBefore(mlirBlockGetFirstOperation(shardOpBody(body->op)));
    body->extents[k] = shardInsertIntegerCast(&at, argument, mlirIndexTypeGet(b->context));
  }
  return body->extents[k];
}

static Body bodyOf(ShardBounded *b, MlirOperation op, intptr_t nLoops, const ShardExtent *loops) {
  return (Body){b, op, nLoops, loops, SHARD_ARENA_ARRAY(b->arena, MlirValue, b->nDims + 1)};
}

/// Whether the step is valid along the loops that are wanted, at the top of the body.
static MlirValue validStep(Body *body, const bool *wanted) {
  ShardBounded *b = body->b;
  bool *read = SHARD_ARENA_ARRAY(b->arena, bool, b->nDims + 1);
  MlirOperation top = mlirBlockGetFirstOperation(shardOpBody(body->op));
  for (intptr_t l = 0; l < body->nLoops; ++l)
    if (wanted[l])
      addRead(b, &body->loops[l], read);
  for (int32_t k = 0; k < b->nDims; ++k)
    if (read[k])
      extentIn(body, k);
  ShardInsert at = shardInsertBefore(top);
  MlirValue valid = {NULL};
  for (intptr_t l = 0; l < body->nLoops; ++l)
    if (wanted[l])
      valid =
          buildValid(b, &at, &body->loops[l], shardInsertLoopIndex(&at, l), body->extents, valid);
  return valid;
}

/// Whether an index into storage is the index in the shape: all digits but the first are numbers.
static bool isPlain(const ShardBounded *b, const ShardExtent *extent) {
  for (int32_t i = 1; i < extent->n; ++i)
    if (!shardDigitIsNumber(b, &extent->digits[i]))
      return false;
  return true;
}

/// linalg.index counts steps of storage; what the body computes from it is about the shape.
static void countInShape(Body *body, MlirOperation index, const ShardExtent *extent) {
  ShardBounded *b = body->b;
  bool *read = SHARD_ARENA_ARRAY(b->arena, bool, b->nDims + 1);
  addRead(b, extent, read);
  for (int32_t k = 0; k < b->nDims; ++k)
    if (read[k])
      extentIn(body, k);
  MlirOperation after = mlirOperationGetNextInBlock(index);
  ShardInsert at = shardInsertBefore(after);
  MlirValue rest = mlirOperationGetResult(index, 0), sum = {NULL}, scale = {NULL};
  for (int32_t i = extent->n - 1; i >= 0; --i) {
    MlirValue bound = shardInsertIndexConstant(&at, extent->digits[i].bound), step = rest;
    if (i > 0) {
      step = shardInsertBinary(&at, "arith.remui", rest, bound);
      rest = shardInsertBinary(&at, "arith.divui", rest, bound);
    }
    MlirValue term =
        mlirValueIsNull(scale) ? step : shardInsertBinary(&at, "arith.muli", step, scale);
    sum = mlirValueIsNull(sum) ? term : shardInsertBinary(&at, "arith.addi", sum, term);
    MlirValue count = shardDigitBuild(b, &at, &extent->digits[i], body->extents);
    scale = mlirValueIsNull(scale) ? count : shardInsertBinary(&at, "arith.muli", scale, count);
  }
  ShardOpList made = {.arena = b->arena};
  for (MlirOperation op = mlirOperationGetNextInBlock(index); !mlirOperationEqual(op, after);
       op = mlirOperationGetNextInBlock(op))
    shardOpListAppend(&made, op);
  mlirValueReplaceAllUsesExcept(mlirOperationGetResult(index, 0), sum, (intptr_t)made.nOps,
                                made.ops);
}

/// Whether an index is a loop's own, and every step of it is inside.
static bool isInside(const Body *body, MlirValue index, int64_t size) {
  MlirOperation op = shardValueDefiningOp(index);
  while (!mlirOperationIsNull(op) && shardOpIs(op, "arith.index_cast"))
    op = shardValueDefiningOp(mlirOperationGetOperand(op, 0));
  int64_t loop = -1;
  if (mlirOperationIsNull(op) || !shardOpIs(op, "linalg.index"))
    return false;
  shardAttrGetI64(shardOpGetAttribute(op, "dim"), &loop);
  return loop >= 0 && loop < body->nLoops && shardExtentBound(&body->loops[loop]) <= size;
}

/// A read at a step in padding reads something, but never past the end.
static void guardRead(Body *body, MlirOperation extract) {
  MlirType type = mlirValueGetType(mlirOperationGetOperand(extract, 0));
  ShardInsert at = shardInsertBefore(extract);
  for (intptr_t d = 1; d < mlirOperationGetNumOperands(extract); ++d) {
    MlirValue index = mlirOperationGetOperand(extract, d);
    int64_t size = mlirShapedTypeGetDimSize(type, d - 1);
    if (!isInside(body, index, size))
      mlirOperationSetOperand(
          extract, d,
          shardInsertBinary(&at, "arith.minui", index, shardInsertIndexConstant(&at, size - 1)));
  }
}

static MlirOperation generic(ShardBounded *b, MlirOperation op) {
  if (shardOpIs(op, "linalg.generic"))
    return op;
  ShardExtent *shape = NULL;
  MlirValue result = mlirOperationGetResult(op, 0);
  if (shardBoundedIsDynamic(b, result)) {
    intptr_t rank = mlirShapedTypeGetRank(mlirValueGetType(result));
    shape = SHARD_ARENA_ARRAY(b->arena, ShardExtent, rank + 1);
    for (intptr_t d = 0; d < rank; ++d)
      shape[d] = shardBoundedExtent(b, result, d);
  }
  MlirOperation made = shardGeneralise(op, b->arena);
  if (shape)
    shardBoundedSetShape(b, mlirOperationGetResult(made, 0), shape);
  return made;
}

/// The op that folds a value into the running one of result `r`; writes which operand that is.
static MlirOperation foldOf(MlirOperation op, intptr_t r, intptr_t *outOperand) {
  MlirBlock body = shardOpBody(op);
  intptr_t nInputs = mlirOperationGetNumOperands(op) - mlirOperationGetNumResults(op);
  MlirOperation fold =
      shardValueDefiningOp(mlirOperationGetOperand(mlirBlockGetTerminator(body), r));
  MlirValue running = mlirBlockGetArgument(body, nInputs + r);
  *outOperand = mlirValueEqual(mlirOperationGetOperand(fold, 0), running) ? 1 : 0;
  return fold;
}

/// The input that a body value is, through extensions; -1: none.
static intptr_t inputOf(MlirOperation op, MlirValue value) {
  MlirOperation def = shardValueDefiningOp(value);
  while (!mlirOperationIsNull(def) && shardOpIs(def, "arith.extf")) {
    value = mlirOperationGetOperand(def, 0);
    def = shardValueDefiningOp(value);
  }
  intptr_t nInputs = mlirOperationGetNumOperands(op) - mlirOperationGetNumResults(op);
  if (!mlirValueIsABlockArgument(value) ||
      !mlirBlockEqual(mlirBlockArgumentGetOwner(value), shardOpBody(op)) ||
      mlirBlockArgumentGetArgNumber(value) >= nInputs)
    return -1;
  return mlirBlockArgumentGetArgNumber(value);
}

static MlirType elementOf(MlirOperation op, intptr_t operand) {
  MlirType type = mlirValueGetType(mlirOperationGetOperand(op, operand));
  return mlirTypeIsAShaped(type) ? mlirShapedTypeGetElementType(type) : type;
}

/// Masks of whole operands, which leave a body as others know it. False: the body must be masked.
static bool maskReductionOperands(ShardBounded *b, MlirOperation op, intptr_t nLoops,
                                  const bool *reduced) {
  intptr_t nResults = mlirOperationGetNumResults(op);
  if (nResults != 1 || mlirOperationGetNumRegions(op) != 1)
    return false;
  if (shardBodyIsProductSum(shardOpBody(op)) && mlirOperationGetNumOperands(op) == 3) {
    for (int pass = 0; pass < 2; ++pass) // ask, then do
      for (intptr_t i = 0; i < 2; ++i)
        if (!maskOperand(b, op, i, nLoops, reduced, shardAttrNumber(elementOf(op, i), 0),
                         pass == 0))
          return false;
    return true;
  }
  ShardCombiner combiner = shardBodyGetCombiner(op, 0);
  if (combiner == SHARD_COMBINER_NONE)
    return false;
  intptr_t operand;
  MlirOperation fold = foldOf(op, 0, &operand);
  intptr_t input = inputOf(op, mlirOperationGetOperand(fold, operand));
  return input >= 0 && maskOperand(b, op, input, nLoops, reduced,
                                   shardCombinerIdentity(combiner, elementOf(op, input)), false);
}

static void maskReductionBody(Body *body, const bool *reduced) {
  MlirOperation op = body->op;
  MlirValue valid = validStep(body, reduced);
  MlirOperation end = mlirBlockGetTerminator(shardOpBody(op));
  intptr_t nResults = mlirOperationGetNumResults(op);
  intptr_t nInputs = mlirOperationGetNumOperands(op) - nResults;
  for (intptr_t r = 0; r < nResults; ++r) {
    ShardCombiner combiner = shardBodyGetCombiner(op, r);
    ShardInsert at = shardInsertBefore(end);
    if (combiner == SHARD_COMBINER_NONE) {
      mlirOperationSetOperand(
          end, r,
          shardInsertSelect(&at, valid, mlirOperationGetOperand(end, r),
                            mlirBlockGetArgument(shardOpBody(op), nInputs + r)));
      continue;
    }
    intptr_t operand;
    MlirOperation fold = foldOf(op, r, &operand);
    MlirValue value = mlirOperationGetOperand(fold, operand);
    at = shardInsertBefore(fold);
    MlirValue other =
        shardInsertScalar(&at, shardCombinerIdentity(combiner, mlirValueGetType(value)));
    mlirOperationSetOperand(fold, operand, shardInsertSelect(&at, valid, value, other));
  }
}

/// Which loops with a dynamic extent are reduced. Of a linalg.generic as it says; of others, those
/// that are not in the result.
static bool findReduced(const ShardBounded *b, MlirOperation op, intptr_t nLoops,
                        const ShardExtent *loops, bool *reduced) {
  MlirAttribute iterators = shardOpGetAttribute(op, "iterator_types");
  MlirAttribute kind = mlirAttributeParseGet(
      b->context, mlirStringRefCreateFromCString("#linalg.iterator_type<reduction>"));
  MlirAffineMap out = mlirAffineMapAttrGetValue(
      mlirArrayAttrGetElement(shardIndexingMaps(op), mlirOperationGetNumOperands(op) - 1));
  bool any = false;
  for (intptr_t l = 0; l < nLoops; ++l) {
    bool isReduced = true;
    for (intptr_t k = 0; k < mlirAffineMapGetNumResults(out); ++k)
      isReduced &= shardMapResultDim(out, k) != l;
    if (shardOpIs(op, "linalg.generic"))
      isReduced = mlirAttributeEqual(mlirArrayAttrGetElement(iterators, l), kind);
    reduced[l] = isReduced && !shardExtentIsNumber(b, &loops[l]);
    any |= reduced[l];
  }
  return any;
}

bool shardBoundedIsPlain(const ShardBounded *b, MlirValue tensor) {
  for (intptr_t d = 0; d < mlirShapedTypeGetRank(mlirValueGetType(tensor)); ++d) {
    ShardExtent extent = shardBoundedExtent(b, tensor, d);
    if (!isPlain(b, &extent))
      return false;
  }
  return true;
}

MlirLogicalResult shardBoundedMask(ShardBounded *b, MlirOperation op, intptr_t nLoops,
                                   const ShardExtent *loops) {
  bool *dynamic = SHARD_ARENA_ARRAY(b->arena, bool, nLoops + 1), any = false;
  bool *reduced = SHARD_ARENA_ARRAY(b->arena, bool, nLoops + 1);
  for (intptr_t l = 0; l < nLoops; ++l) {
    dynamic[l] = !shardExtentIsNumber(b, &loops[l]);
    any |= dynamic[l];
  }
  if (!any)
    return mlirLogicalResultSuccess();
  bool reduces = findReduced(b, op, nLoops, loops, reduced), counts = false;
  if (reduces && maskReductionOperands(b, op, nLoops, reduced))
    reduces = false;
  ShardOpList traps = {.arena = b->arena}, reads = traps, indices = traps;
  shardOpListCollect(&traps, op, NULL, shardOpMayTrap);
  shardOpListCollect(&reads, op, "tensor.extract", NULL);
  shardOpListCollect(&indices, op, "linalg.index", NULL);
  for (size_t i = 0; i < reads.nOps; ++i)
    if (!shardBoundedIsPlain(b, mlirOperationGetOperand(reads.ops[i], 0)))
      return shardBoundedRefuse(reads.ops[i]);
  for (intptr_t l = 0; l < nLoops; ++l)
    counts |= !isPlain(b, &loops[l]);
  if (!reduces && !traps.nOps && !reads.nOps && !(counts && indices.nOps))
    return mlirLogicalResultSuccess();
  op = generic(b, op); // whose body may be a copy
  traps.nOps = reads.nOps = indices.nOps = 0;
  shardOpListCollect(&traps, op, NULL, shardOpMayTrap);
  shardOpListCollect(&reads, op, "tensor.extract", NULL);
  shardOpListCollect(&indices, op, "linalg.index", NULL);
  Body body = bodyOf(b, op, nLoops, loops);
  MlirValue valid = traps.nOps ? validStep(&body, dynamic) : (MlirValue){NULL};
  for (size_t i = 0; i < traps.nOps; ++i)
    shardOpGuard(traps.ops[i], valid);
  for (size_t i = 0; i < reads.nOps; ++i)
    guardRead(&body, reads.ops[i]);
  for (size_t i = 0; i < indices.nOps; ++i) {
    int64_t loop = 0;
    shardAttrGetI64(shardOpGetAttribute(indices.ops[i], "dim"), &loop);
    if (loops[loop].loose) // the steps of a product whose order is not known
      return shardBoundedRefuse(op);
    if (!isPlain(b, &loops[loop]))
      countInShape(&body, indices.ops[i], &loops[loop]);
  }
  if (reduces)
    maskReductionBody(&body, reduced);
  return mlirLogicalResultSuccess();
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

/// Whether a value outside of the body is computed from extents, and so can be computed again.
static bool followsExtents(const ShardBounded *b, MlirValue value, bool *reads, int depth) {
  MlirOperation op = shardValueDefiningOp(value);
  if (mlirOperationIsNull(op) || depth > 64)
    return false;
  if (shardOpIs(op, "arith.constant"))
    return true;
  if (shardOpIs(op, "tensor.extract")) {
    for (int32_t k = 0; k < b->nDims; ++k)
      if (mlirValueEqual(mlirOperationGetOperand(op, 0), shardBoundedArgument(b, op, k)))
        return *reads = true;
    return false;
  }
  MlirStringRef name = shardOpGetName(op);
  if (!(shardNameHasDialect(name, "arith") || shardNameHasDialect(name, "math")))
    return false;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    if (!followsExtents(b, mlirOperationGetOperand(op, i), reads, depth + 1))
      return false;
  return true;
}

/// The value again, computed in the body before `at`.
static MlirValue computeIn(Body *body, const ShardInsert *at, MlirValue value) {
  MlirOperation op = shardValueDefiningOp(value);
  ShardBounded *b = body->b;
  if (shardOpIs(op, "tensor.extract"))
    for (int32_t k = 0; k < b->nDims; ++k)
      if (mlirValueEqual(mlirOperationGetOperand(op, 0), shardBoundedArgument(b, op, k)))
        return shardInsertIntegerCast(at, extentIn(body, k), mlirIntegerTypeGet(b->context, 64));
  MlirOperation copy = mlirOperationClone(op);
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    mlirOperationSetOperand(copy, i, computeIn(body, at, mlirOperationGetOperand(op, i)));
  mlirBlockInsertOwnedOperationBefore(shardOpBody(body->op), at->before, copy);
  return mlirOperationGetResult(copy, 0);
}

static void yieldCaptured(void *user, const ShardInsert *at, const MlirValue *arguments,
                          MlirValue *yielded) {
  (void)at, (void)arguments;
  yielded[0] = *(MlirValue *)user;
}

/// A fill with a scalar, or a tensor of nothing else, with the scalar in its body.
static MlirOperation fillWithCaptured(ShardBounded *b, MlirOperation op, MlirValue scalar) {
  MlirValue old = mlirOperationGetResult(op, 0);
  MlirType type = mlirValueGetType(old);
  intptr_t rank = mlirShapedTypeGetRank(type);
  ShardInsert at = shardInsertBefore(op);
  MlirValue dest = shardInsertEmpty(&at, type);
  MlirAffineMap map = mlirAffineMapMultiDimIdentityGet(b->context, rank);
  char *iterators = shardArenaAllocate(b->arena, (size_t)rank + 1);
  memset(iterators, 'p', (size_t)rank);
  MlirOperation made =
      shardInsertGeneric(&at, iterators, 0, 1, &dest, &map, yieldCaptured, &scalar);
  mlirValueReplaceAllUsesOfWith(old, mlirOperationGetResult(made, 0));
  mlirOperationDestroy(op);
  return made;
}

static void sinkInto(ShardBounded *b, MlirOperation op) {
  MlirAttribute maps = shardIndexingMaps(op);
  Body body = bodyOf(
      b, op, mlirAffineMapGetNumDims(mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, 0))),
      NULL);
  ShardOpList inner = {.arena = b->arena};
  shardOpListCollect(&inner, op, NULL, NULL);
  for (size_t i = 1; i < inner.nOps; ++i)
    for (intptr_t k = 0; k < mlirOperationGetNumOperands(inner.ops[i]); ++k) {
      MlirValue value = mlirOperationGetOperand(inner.ops[i], k);
      MlirOperation def = shardValueDefiningOp(value);
      bool reads = false;
      if (mlirOperationIsNull(def) ||
          !mlirBlockEqual(mlirOperationGetBlock(def), mlirOperationGetBlock(op)) ||
          !followsExtents(b, value, &reads, 0) || !reads)
        continue;
      MlirOperation before = inner.ops[i];
      while (!mlirBlockEqual(mlirOperationGetBlock(before), shardOpBody(op)))
        before = mlirOperationGetParentOperation(before);
      ShardInsert at = shardInsertBefore(before);
      mlirOperationSetOperand(inner.ops[i], k, computeIn(&body, &at, value));
    }
}

void shardBoundedSink(ShardBounded *b, MlirOperation func) {
  intptr_t n;
  MlirOperation *ops = shardBlockOps(shardFuncGetBody(func), b->arena, &n);
  for (intptr_t i = 0; i < n; ++i) {
    bool fills = shardOpIs(ops[i], "linalg.fill") || shardOpIs(ops[i], "tensor.splat");
    bool reads = false;
    if (fills && followsExtents(b, mlirOperationGetOperand(ops[i], 0), &reads, 0) && reads)
      ops[i] = fillWithCaptured(b, ops[i], mlirOperationGetOperand(ops[i], 0));
    if (shardOpIs(ops[i], "linalg.generic"))
      sinkInto(b, ops[i]);
  }
  for (intptr_t i = n - 1; i >= 0; --i) { // users before what they use
    MlirStringRef name = shardOpGetName(ops[i]);
    bool scalar = mlirOperationGetNumResults(ops[i]) == 1 &&
                  !mlirTypeIsAShaped(mlirValueGetType(mlirOperationGetResult(ops[i], 0)));
    if (scalar && shardValueIsUnused(mlirOperationGetResult(ops[i], 0)) &&
        (shardStringIs(name, "tensor.extract") || shardNameHasDialect(name, "arith")))
      mlirOperationDestroy(ops[i]);
  }
}
