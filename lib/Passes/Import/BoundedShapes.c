//===- BoundedShapes.c - Extents of what an op makes ---------------*- C -*-===//
// Read while the result types still say `?`: a number in a type is a number in every run.
//===----------------------------------------------------------------------===//
#include "BoundedShapes.h"

#include "../Analysis/Rules.h"
#include "../Core/Traps.h"

#include "mlir-c/AffineExpr.h"

#include <inttypes.h>
#include <string.h>

static bool hasPrefix(MlirOperation op, const char *prefix) {
  MlirStringRef name = shardOpGetName(op);
  size_t n = strlen(prefix);
  return name.length > n && memcmp(name.data, prefix, n) == 0;
}

/// Whether an op reads a tensor with a dynamic extent.
bool shardBoundedReads(const ShardBounded *b, MlirOperation op) {
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    if (shardBoundedIsDynamic(b, mlirOperationGetOperand(op, i)))
      return true;
  return false;
}

ShardExtent *shardBoundedNewShape(const ShardBounded *b, intptr_t rank) {
  return SHARD_ARENA_ARRAY(b->arena, ShardExtent, rank + 1);
}

ShardExtent *shardBoundedShape(const ShardBounded *b, MlirValue tensor) {
  intptr_t rank = shardRankOf(tensor);
  ShardExtent *shape = shardBoundedNewShape(b, rank);
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
MlirLogicalResult shardBoundedMeet(ShardBounded *b, MlirOperation op, bool *known,
                                   ShardExtent *extent, const ShardExtent *other) {
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

/// Reads `expr` as one window: sum of c_l * (step of loop l). What it walks is 1 + the sum of
/// c_l * (extent of l - 1). False for another form.
static bool addWindow(const ShardBounded *b, MlirAffineExpr expr, const ShardExtent *loops,
                      int64_t scale, ShardExtent *sum) {
  ShardExtent one = {0};
  if (mlirAffineExprIsADim(expr))
    return shardExtentSum(b, sum, &loops[mlirAffineDimExprGetPosition(expr)], scale, sum) &&
           shardExtentSum(b, sum, &one, -scale, sum);
  bool add = mlirAffineExprIsAAdd(expr);
  if (!add && !mlirAffineExprIsAMul(expr))
    return false;
  MlirAffineExpr left = mlirAffineBinaryOpExprGetLHS(expr);
  MlirAffineExpr right = mlirAffineBinaryOpExprGetRHS(expr);
  if (add)
    return addWindow(b, left, loops, scale, sum) && addWindow(b, right, loops, scale, sum);
  return mlirAffineExprIsAConstant(right) && mlirAffineConstantExprGetValue(right) > 0 &&
         addWindow(b, left, loops, scale * mlirAffineConstantExprGetValue(right), sum);
}

/// A window that slides over a dynamic extent reads no more than what is valid: the extents of its
/// loops say all of it.
static MlirLogicalResult meetWindow(ShardBounded *b, MlirOperation op, MlirAffineExpr expr,
                                    const ShardExtent *extent, const ShardExtent *loops) {
  ShardExtent walked = {0};
  bool follows = addWindow(b, expr, loops, 1, &walked), known = true;
  if (shardExtentIsNumber(b, extent) && (!follows || shardExtentIsNumber(b, &walked)))
    return mlirLogicalResultSuccess();
  if (!follows || extent->n > 1)
    return shardBoundedRefuse(op);
  return shardBoundedMeet(b, op, &known, &walked, extent);
}

static MlirLogicalResult describeLinalg(ShardBounded *b, MlirOperation op, ShardBoundedOp *out) {
  MlirAttribute maps = shardIndexingMaps(op);
  intptr_t nOperands = mlirOperationGetNumOperands(op), nResults = mlirOperationGetNumResults(op);
  if (mlirAttributeIsNull(maps) || mlirArrayAttrGetNumElements(maps) != nOperands)
    return shardBoundedReads(b, op) ? shardBoundedRefuse(op) : mlirLogicalResultSuccess();
  MlirAffineMap first = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, 0));
  out->nLoops = mlirAffineMapGetNumDims(first);
  out->loops = shardBoundedNewShape(b, out->nLoops);
  bool *known = SHARD_ARENA_ARRAY(b->arena, bool, out->nLoops + 1);
  for (intptr_t i = 0; i < nOperands; ++i) {
    MlirValue operand = mlirOperationGetOperand(op, i);
    if (!shardIsTensor(operand))
      continue;
    MlirAffineMap map = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, i));
    for (intptr_t k = 0; k < mlirAffineMapGetNumResults(map); ++k) {
      ShardExtent extent = shardBoundedExtent(b, operand, k);
      intptr_t loop = shardMapResultDim(map, k);
      if (loop >= 0 && mlirLogicalResultIsFailure(
                           shardBoundedMeet(b, op, &known[loop], &out->loops[loop], &extent)))
        return mlirLogicalResultFailure();
    }
  }
  for (intptr_t i = 0; i < nOperands; ++i) {
    MlirValue operand = mlirOperationGetOperand(op, i);
    MlirAffineMap map = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, i));
    for (intptr_t k = 0; shardIsTensor(operand) && k < mlirAffineMapGetNumResults(map); ++k) {
      ShardExtent extent = shardBoundedExtent(b, operand, k);
      if (shardMapResultDim(map, k) < 0 &&
          mlirLogicalResultIsFailure(
              meetWindow(b, op, mlirAffineMapGetResult(map, k), &extent, out->loops)))
        return mlirLogicalResultFailure();
    }
  }
  for (intptr_t r = 0; r < nResults; ++r) {
    MlirValue destination = mlirOperationGetOperand(op, nOperands - nResults + r);
    if (!shardIsTensor(destination))
      continue;
    MlirAffineMap map =
        mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, nOperands - nResults + r));
    out->results[r] = shardBoundedShape(b, destination);
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
    if (!shardIsTensor(operand))
      continue;
    if (!shape)
      shape = shardBoundedNewShape(b, shardRankOf(operand));
    for (intptr_t d = 0; d < shardRankOf(operand) && d < 64; ++d) {
      ShardExtent extent = shardBoundedExtent(b, operand, d);
      if (mlirLogicalResultIsFailure(shardBoundedMeet(b, op, &known[d], &shape[d], &extent)))
        return mlirLogicalResultFailure();
    }
  }
  if (shardOpIsDivision(op)) { // by one in padding, rather than by nothing
    MlirValue by = mlirOperationGetOperand(op, 1);
    MlirType element = mlirShapedTypeGetElementType(mlirValueGetType(by));
    mlirOperationSetOperand(op, 1,
                            shardBoundedMaskTensor(b, op, by, shardAttrNumber(element, 1), NULL));
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
bool shardBoundedEntry(const ShardBounded *b, MlirOperation op, MlirAttribute list, intptr_t i,
                       intptr_t *next, ShardExtent *out) {
  int64_t number = shardArrayAttrAt(list, i);
  if (number == mlirShapedTypeGetDynamicSize())
    return shardBoundedScalar(b, mlirOperationGetOperand(op, (*next)++), out);
  *out = shardExtentOfNumber(b, number);
  return true;
}

/// tensor.empty and others with an operand for each `?` of the result.
static void describeSized(const ShardBounded *b, MlirOperation op, intptr_t nFixed,
                          ShardBoundedOp *out) {
  MlirValue result = mlirOperationGetResult(op, 0);
  MlirType type = mlirValueGetType(result);
  intptr_t next = nFixed;
  ShardExtent *shape = shardBoundedNewShape(b, shardRankOf(result));
  for (intptr_t d = 0; d < shardRankOf(result); ++d) {
    if (!mlirShapedTypeIsDynamicDim(type, d))
      shape[d] = shardExtentOfNumber(b, mlirShapedTypeGetDimSize(type, d));
    else if (!shardBoundedScalar(b, mlirOperationGetOperand(op, next++), &shape[d]))
      return; // it stays dynamic, and is refused as such
  }
  out->results[0] = shape;
}

/// A size of an op of which nothing is known follows from extents: its bound would be taken for it.
static bool sizesFollow(const ShardBounded *b, MlirOperation op) {
  bool open = false, follows = false;
  for (intptr_t r = 0; r < mlirOperationGetNumResults(op); ++r) {
    MlirType type = mlirValueGetType(mlirOperationGetResult(op, r));
    open |= mlirTypeIsARankedTensor(type) && !mlirShapedTypeHasStaticShape(type);
  }
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    follows |= shardBoundedIsScalar(b, mlirOperationGetOperand(op, i));
  return open && follows;
}

static bool readsOrTraps(MlirOperation op) {
  return shardOpMayTrap(op) || shardOpIs(op, "tensor.extract") || shardOpIs(op, "tensor.dim");
}

/// tensor.generate: its body counts as the shape does where no dimension is a product.
static MlirLogicalResult describeGenerate(const ShardBounded *b, MlirOperation op,
                                          ShardBoundedOp *out) {
  describeSized(b, op, 0, out);
  ShardOpList inner = {.arena = b->arena};
  shardOpListCollect(&inner, op, NULL, readsOrTraps);
  for (intptr_t d = 0; out->results[0] && d < shardRankOf(mlirOperationGetResult(op, 0)); ++d)
    if (!shardExtentIsNumber(b, &out->results[0][d]) && (out->results[0][d].n > 1 || inner.nOps))
      return shardBoundedRefuse(op);
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult describeCollapse(const ShardBounded *b, MlirOperation op,
                                          ShardBoundedOp *out) {
  MlirValue source = mlirOperationGetOperand(op, 0);
  MlirAttribute groups = shardOpGetAttribute(op, "reassociation");
  intptr_t rank = mlirArrayAttrGetNumElements(groups);
  ShardExtent *shape = shardBoundedNewShape(b, rank);
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
  ShardExtent *shape = shardBoundedNewShape(b, rank);
  bool *known = SHARD_ARENA_ARRAY(b->arena, bool, rank + 1);
  for (intptr_t d = 0; d < rank; ++d)
    known[d] = shardBoundedEntry(b, op, sizes, d, &next, &shape[d]);
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

/// tensor.reshape to sizes that tensor.from_elements lists: the digits of all dimensions, in order,
/// are cut anew.
static MlirLogicalResult describeReshape(ShardBounded *b, MlirOperation op, ShardBoundedOp *out) {
  MlirValue source = mlirOperationGetOperand(op, 0), result = mlirOperationGetResult(op, 0);
  MlirOperation list = shardValueDefiningOp(mlirOperationGetOperand(op, 1));
  intptr_t rank = shardRankOf(result);
  bool listed = !mlirOperationIsNull(list) && shardOpIs(list, "tensor.from_elements") &&
                mlirOperationGetNumOperands(list) == rank;
  ShardExtent *shape = shardBoundedNewShape(b, rank), all = {0};
  bool *known = SHARD_ARENA_ARRAY(b->arena, bool, rank + 1);
  for (intptr_t d = 0; d < shardRankOf(source); ++d) {
    ShardExtent extent = shardBoundedExtent(b, source, d);
    all = shardExtentProduct(b, &all, &extent);
  }
  for (intptr_t d = 0; d < rank; ++d) {
    MlirType type = mlirValueGetType(result);
    known[d] = !mlirShapedTypeIsDynamicDim(type, d);
    if (known[d])
      shape[d] = shardExtentOfNumber(b, mlirShapedTypeGetDimSize(type, d));
    else if (listed)
      known[d] = shardBoundedScalar(b, mlirOperationGetOperand(list, d), &shape[d]);
  }
  if (!shardExtentSplit(b, &all, rank, shape, known))
    return shardBoundedRefuse(op);
  out->results[0] = shape;
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult describeCast(ShardBounded *b, MlirOperation op, ShardBoundedOp *out) {
  MlirValue source = mlirOperationGetOperand(op, 0);
  MlirType to = mlirValueGetType(mlirOperationGetResult(op, 0));
  if (!shardIsTensor(source) || !mlirTypeIsARankedTensor(to))
    return shardBoundedReads(b, op) ? shardBoundedRefuse(op) : mlirLogicalResultSuccess();
  ShardExtent *shape = shardBoundedShape(b, source);
  for (intptr_t d = 0; d < mlirShapedTypeGetRank(to); ++d) {
    if (mlirShapedTypeIsDynamicDim(to, d))
      continue;
    ShardExtent number = shardExtentOfNumber(b, mlirShapedTypeGetDimSize(to, d));
    bool known = true;
    if (mlirLogicalResultIsFailure(shardBoundedMeet(b, op, &known, &shape[d], &number)))
      return mlirLogicalResultFailure();
  }
  out->results[0] = shape;
  return mlirLogicalResultSuccess();
}

/// linalg.softmax: a sum of exponentials along one dimension.
static MlirLogicalResult describeSoftmax(ShardBounded *b, MlirOperation op, ShardBoundedOp *out) {
  MlirValue source = mlirOperationGetOperand(op, 0);
  int64_t dim = 0;
  shardAttrGetI64(shardOpGetAttribute(op, "dimension"), &dim);
  bool *dims = SHARD_ARENA_ARRAY(b->arena, bool, shardRankOf(source) + 1);
  dims[dim] = true;
  MlirType element = mlirShapedTypeGetElementType(mlirValueGetType(source));
  mlirOperationSetOperand(op, 0,
                          shardBoundedMaskTensor(b, op, source,
                                                 shardCombinerIdentity(SHARD_COMBINER_MAX, element),
                                                 dims));
  return describeElementwise(b, op, out);
}

/// tensor.gather: the dimensions of the positions, and what is read at each.
static MlirLogicalResult describeGather(ShardBounded *b, MlirOperation op, ShardBoundedOp *out) {
  MlirValue source = mlirOperationGetOperand(op, 0), places = mlirOperationGetOperand(op, 1);
  MlirAttribute read = shardOpGetAttribute(op, "gather_dims");
  intptr_t rank = shardRankOf(mlirOperationGetResult(op, 0)), n = shardRankOf(places) - 1, r = n;
  bool dropped = rank != n + shardRankOf(source);
  ShardExtent *shape = shardBoundedNewShape(b, rank);
  for (intptr_t d = 0; d < n; ++d)
    shape[d] = shardBoundedExtent(b, places, d);
  for (intptr_t d = 0; d < shardRankOf(source); ++d) {
    ShardExtent extent = shardBoundedExtent(b, source, d);
    bool isRead = false;
    for (intptr_t k = 0; k < mlirDenseArrayGetNumElements(read); ++k)
      isRead |= mlirDenseI64ArrayGetElement(read, k) == d;
    if (isRead && extent.n > 1)
      return shardBoundedRefuse(op);
    if (!isRead || !dropped)
      shape[r++] = isRead ? shardExtentOfNumber(b, 1) : extent;
  }
  MlirType element = mlirShapedTypeGetElementType(mlirValueGetType(places));
  mlirOperationSetOperand(
      op, 1, shardBoundedMaskTensor(b, op, places, mlirIntegerAttrGet(element, 0), NULL));
  out->results[0] = shape;
  return mlirLogicalResultSuccess();
}

//===----------------------------------------------------------------------===//
// All
//===----------------------------------------------------------------------===//

static bool isDim(MlirOperation op) { return shardOpIs(op, "tensor.dim"); }

/// A body is about steps of storage: tensor.dim of what is outside of it is read in front of it.
static void hoistDims(ShardBounded *b, MlirOperation op) {
  ShardOpList dims = {.arena = b->arena};
  shardOpListCollect(&dims, op, NULL, isDim);
  for (size_t i = 0; i < dims.nOps; ++i) {
    ShardExtent number;
    MlirValue index = mlirOperationGetOperand(dims.ops[i], 1);
    if (!shardBoundedIsDynamic(b, mlirOperationGetOperand(dims.ops[i], 0)) ||
        !shardBoundedScalar(b, index, &number) || !shardExtentIsNumber(b, &number))
      continue;
    ShardInsert at = shardInsertBefore(op);
    mlirOperationSetOperand(dims.ops[i], 1,
                            shardInsertIndexConstant(&at, shardExtentBound(&number)));
    mlirOperationMoveBefore(dims.ops[i], op);
    shardBoundedDescribeDim(b, &dims.ops[i]);
  }
}

MlirLogicalResult shardBoundedDescribe(ShardBounded *b, MlirOperation *op, ShardBoundedOp *out) {
  intptr_t nResults = mlirOperationGetNumResults(*op);
  *out = (ShardBoundedOp){.results = SHARD_ARENA_ARRAY(b->arena, ShardExtent *, nResults + 1)};
  if (shardOpIs(*op, "tensor.dim")) {
    shardBoundedDescribeDim(b, op);
    return mlirLogicalResultSuccess();
  }
  bool tensors = false;
  for (intptr_t r = 0; r < nResults; ++r)
    tensors |= shardIsTensor(mlirOperationGetResult(*op, r));
  bool arithmetic = hasPrefix(*op, "arith.") || hasPrefix(*op, "math.");
  if (arithmetic && !tensors) {
    shardBoundedDescribeScalar(b, op);
    return mlirLogicalResultSuccess();
  }
  if (hasPrefix(*op, "tosa."))
    return shardBoundedDescribeTosa(b, *op, out);
  if (shardOpIs(*op, "linalg.softmax"))
    return describeSoftmax(b, *op, out);
  hoistDims(b, *op); // of bodies
  if (hasPrefix(*op, "linalg."))
    return describeLinalg(b, *op, out);
  if (arithmetic)
    return describeElementwise(b, *op, out);
  if (shardOpIs(*op, "tensor.empty") || shardOpIs(*op, "tensor.splat")) {
    describeSized(b, *op, shardOpIs(*op, "tensor.splat") ? 1 : 0, out);
    return mlirLogicalResultSuccess();
  }
  if (shardOpIs(*op, "tensor.extract_slice"))
    return shardBoundedDescribeSlice(b, op, out);
  if (shardOpIs(*op, "tensor.insert_slice"))
    return shardBoundedDescribeInsert(b, op, out);
  if (shardOpIs(*op, "tensor.pad"))
    return shardBoundedDescribePad(b, *op, out);
  if (shardOpIs(*op, "cf.assert")) {
    shardBoundedDescribeAssert(b, op);
    return mlirLogicalResultSuccess();
  }
  if (shardOpIs(*op, "tensor.generate"))
    return describeGenerate(b, *op, out);
  bool hands =
      shardOpIs(*op, "func.return") || shardOpIs(*op, "func.call") || hasPrefix(*op, "scf.");
  if (!shardBoundedReads(b, *op) || hands)
    return !hands && !shardOpIs(*op, "tensor.expand_shape") && sizesFollow(b, *op)
               ? shardBoundedRefuse(*op)
               : mlirLogicalResultSuccess();
  if (hasPrefix(*op, "tm_tensor."))
    return shardBoundedDescribeTm(b, *op, out);
  if (shardOpIs(*op, "tensor.collapse_shape"))
    return describeCollapse(b, *op, out);
  if (shardOpIs(*op, "tensor.expand_shape"))
    return describeExpand(b, *op, out);
  if (shardOpIs(*op, "tensor.cast"))
    return describeCast(b, *op, out);
  if (shardOpIs(*op, "tensor.reshape"))
    return describeReshape(b, *op, out);
  if (shardOpIs(*op, "tensor.gather"))
    return describeGather(b, *op, out);
  if (shardOpIs(*op, "tensor.extract") && shardBoundedIsPlain(b, mlirOperationGetOperand(*op, 0)))
    return mlirLogicalResultSuccess();
  if (shardOpIs(*op, "tensor.concat"))
    return shardBoundedDescribeConcat(b, *op, out);
  return shardBoundedRefuse(*op);
}

MlirLogicalResult shardBoundedSettle(ShardBounded *b, MlirOperation op,
                                     const ShardBoundedOp *described) {
  for (intptr_t r = 0; r < mlirOperationGetNumResults(op); ++r)
    if (described->results[r])
      shardBoundedSetShape(b, mlirOperationGetResult(op, r), described->results[r]);
  if (described->joins)
    shardBoundedJoin(b, op);
  if (described->pads)
    shardBoundedSettlePad(b, op, described);
  return described->nLoops ? shardBoundedMask(b, op, described->nLoops, described->loops)
                           : mlirLogicalResultSuccess();
}
