//===- Simplify.c - Spellings that say nothing go -----------------*- C -*-===//
#include "ImportParts.h"

#include "mlir-c/AffineExpr.h"
#include "mlir-c/BuiltinTypes.h"

#include <string.h>

static MlirType resultType(MlirOperation op) {
  return mlirValueGetType(mlirOperationGetResult(op, 0));
}

static void replaceBy(MlirOperation op, MlirValue value) {
  mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, 0), value);
  mlirOperationDestroy(op);
}

/// Whether offsets, sizes and strides are all static; strides all 1.
static bool isStaticUnitStride(MlirOperation op) {
  MlirAttribute offsets = shardOpGetAttribute(op, "static_offsets");
  MlirAttribute sizes = shardOpGetAttribute(op, "static_sizes");
  MlirAttribute strides = shardOpGetAttribute(op, "static_strides");
  int64_t dynamic = mlirShapedTypeGetDynamicStrideOrOffset();
  for (intptr_t i = 0, n = mlirDenseArrayGetNumElements(offsets); i < n; ++i)
    if (shardArrayAttrAt(offsets, i) == dynamic ||
        shardArrayAttrAt(sizes, i) == mlirShapedTypeGetDynamicSize() ||
        shardArrayAttrAt(strides, i) != 1)
      return false;
  return true;
}

/// extract_slice of everything, casts and reshapes to the same type.
static bool foldIdentity(MlirOperation op) {
  MlirStringRef name = shardOpGetName(op);
  if (!shardNameHasDialect(name, "tensor") || mlirOperationGetNumResults(op) != 1 ||
      mlirOperationGetNumOperands(op) == 0)
    return false;
  bool slice = shardStringIs(name, "tensor.extract_slice");
  if (!slice && !shardStringIs(name, "tensor.cast") &&
      !shardStringIs(name, "tensor.collapse_shape") && !shardStringIs(name, "tensor.expand_shape"))
    return false;
  MlirValue source = mlirOperationGetOperand(op, 0);
  if (!mlirTypeEqual(mlirValueGetType(source), resultType(op)) ||
      (slice && !isStaticUnitStride(op)))
    return false;
  replaceBy(op, source);
  return true;
}

//===----------------------------------------------------------------------===//
// insert_slice chains
//===----------------------------------------------------------------------===//

typedef struct Piece {
  MlirValue value;
  int64_t offset, size;
} Piece;

enum { maxPieces = 256 };

static bool isInsertSlice(MlirOperation op) {
  return !mlirOperationIsNull(op) && shardOpIs(op, "tensor.insert_slice");
}

/// Whether `op` begins a chain, seen from its end: nobody inserts into its result as the next link.
static bool isChainEnd(MlirOperation op) {
  MlirOpOperand use = mlirValueGetFirstUse(mlirOperationGetResult(op, 0));
  for (; !mlirOpOperandIsNull(use); use = mlirOpOperandGetNextUse(use))
    if (mlirOpOperandGetOperandNumber(use) == 1 && isInsertSlice(mlirOpOperandGetOwner(use)))
      return false;
  return true;
}

/// The one dimension along which the source is shorter than the destination; -1: none; -2: not a
/// plain insertion of the same rank.
static intptr_t insertedDim(MlirOperation op) {
  MlirType source = mlirValueGetType(mlirOperationGetOperand(op, 0)), whole = resultType(op);
  if (!isStaticUnitStride(op) || mlirShapedTypeGetRank(source) != mlirShapedTypeGetRank(whole))
    return -2;
  intptr_t dim = -1;
  for (intptr_t d = 0, rank = mlirShapedTypeGetRank(whole); d < rank; ++d)
    if (mlirShapedTypeGetDimSize(source, d) != mlirShapedTypeGetDimSize(whole, d)) {
      if (dim >= 0)
        return -2;
      dim = d;
    }
  return dim;
}

/// A chain of insertions that together cover the tensor once is a concatenation, whatever was
/// below.
static bool foldInsertChain(MlirOperation op, ShardArena *arena) {
  if (!isInsertSlice(op))
    return false;
  intptr_t dim = insertedDim(op);
  if (dim == -1) { // covers everything
    replaceBy(op, mlirOperationGetOperand(op, 0));
    return true;
  }
  if (dim < 0 || !isChainEnd(op))
    return false;
  Piece *pieces = SHARD_ARENA_ARRAY(arena, Piece, maxPieces);
  intptr_t n = 0;
  int64_t covered = 0, whole = mlirShapedTypeGetDimSize(resultType(op), dim);
  for (MlirOperation link = op; isInsertSlice(link) && covered < whole && n < maxPieces;
       link = shardValueDefiningOp(mlirOperationGetOperand(link, 1))) {
    if (insertedDim(link) != dim)
      return false;
    Piece piece = {mlirOperationGetOperand(link, 0),
                   shardArrayAttrAt(shardOpGetAttribute(link, "static_offsets"), dim),
                   shardArrayAttrAt(shardOpGetAttribute(link, "static_sizes"), dim)};
    intptr_t at = n++;
    for (; at > 0 && pieces[at - 1].offset > piece.offset; --at)
      pieces[at] = pieces[at - 1];
    pieces[at] = piece;
    covered += piece.size;
  }
  int64_t next = 0;
  for (intptr_t i = 0; i < n; ++i) {
    if (pieces[i].offset != next)
      return false;
    next += pieces[i].size;
  }
  if (next != whole)
    return false;
  MlirValue *operands = SHARD_ARENA_ARRAY(arena, MlirValue, n);
  for (intptr_t i = 0; i < n; ++i)
    operands[i] = pieces[i].value;
  MlirContext context = mlirOperationGetContext(op);
  MlirType type = resultType(op);
  ShardNamedAttribute attribute = {"dim", shardAttrI64(context, dim)};
  MlirOperation concat =
      shardOpCreate((MlirBlock){NULL}, op, mlirOperationGetLocation(op), "tensor.concat", 1, &type,
                    n, operands, 1, &attribute, 0, NULL);
  replaceBy(op, mlirOperationGetResult(concat, 0));
  return true;
}

//===----------------------------------------------------------------------===//
// Reductions over one element
//===----------------------------------------------------------------------===//

/// A reduction loop of extent 1 whose body does not read what it accumulates is no reduction; the
/// loop goes (its linalg.index becomes 0).
static void dropUnitReductions(MlirOperation op, ShardArena *arena) {
  MlirContext context = mlirOperationGetContext(op);
  MlirAttribute iterators = shardOpGetAttribute(op, "iterator_types");
  MlirAttribute maps = shardOpGetAttribute(op, "indexing_maps");
  intptr_t nLoops = mlirArrayAttrGetNumElements(iterators);
  intptr_t nOperands = mlirOperationGetNumOperands(op);
  intptr_t nInputs = nOperands - mlirOperationGetNumResults(op);
  MlirBlock body = shardOpBody(op);
  if (nLoops == mlirAffineMapGetNumResults(
                    mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, nOperands - 1))))
    return; // every loop is in the result
  for (intptr_t i = nInputs; i < nOperands; ++i)
    if (!shardValueIsUnused(mlirBlockGetArgument(body, i)))
      return;
  int64_t *extents = SHARD_ARENA_ARRAY(arena, int64_t, nLoops);
  bool *inOutput = SHARD_ARENA_ARRAY(arena, bool, nLoops);
  for (intptr_t i = 0; i < nOperands; ++i) {
    MlirAffineMap map = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, i));
    MlirType type = mlirValueGetType(mlirOperationGetOperand(op, i));
    for (intptr_t r = 0, n = mlirAffineMapGetNumResults(map); r < n; ++r) {
      intptr_t d = shardMapResultDim(map, r);
      if (d < 0)
        continue;
      extents[d] = mlirShapedTypeGetDimSize(type, r);
      inOutput[d] |= i >= nInputs;
    }
  }
  MlirAffineExpr *replacements = SHARD_ARENA_ARRAY(arena, MlirAffineExpr, nLoops);
  intptr_t *newPosition = SHARD_ARENA_ARRAY(arena, intptr_t, nLoops);
  MlirAttribute *keptIterators = SHARD_ARENA_ARRAY(arena, MlirAttribute, nLoops);
  intptr_t kept = 0;
  for (intptr_t d = 0; d < nLoops; ++d) {
    bool drop = !inOutput[d] && extents[d] == 1;
    newPosition[d] = drop ? -1 : kept;
    replacements[d] =
        drop ? mlirAffineConstantExprGet(context, 0) : mlirAffineDimExprGet(context, kept);
    if (!drop)
      keptIterators[kept++] = mlirArrayAttrGetElement(iterators, d);
  }
  if (kept == nLoops)
    return;
  MlirAttribute *newMaps = SHARD_ARENA_ARRAY(arena, MlirAttribute, nOperands);
  for (intptr_t i = 0; i < nOperands; ++i) {
    MlirAffineMap map = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, i));
    intptr_t n = mlirAffineMapGetNumResults(map);
    MlirAffineExpr *results = SHARD_ARENA_ARRAY(arena, MlirAffineExpr, n ? n : 1);
    for (intptr_t r = 0; r < n; ++r) {
      intptr_t d = shardMapResultDim(map, r);
      MlirAffineExpr expr = mlirAffineMapGetResult(map, r);
      if (d < 0 && !mlirAffineExprIsAConstant(expr))
        return;
      results[r] = d < 0 ? expr : replacements[d];
    }
    newMaps[i] = mlirAffineMapAttrGet(mlirAffineMapGet(context, kept, 0, n, results));
  }
  intptr_t nOps;
  MlirOperation *ops = shardBlockOps(body, arena, &nOps);
  for (intptr_t i = 0; i < nOps; ++i)
    if (mlirOperationGetNumRegions(ops[i]) > 0)
      return;
  for (intptr_t i = 0; i < nOps; ++i) {
    int64_t d;
    if (!shardOpIs(ops[i], "linalg.index") ||
        !shardAttrGetI64(shardOpGetAttribute(ops[i], "dim"), &d))
      continue;
    if (newPosition[d] >= 0) {
      shardOpSetAttribute(ops[i], "dim", shardAttrI64(context, newPosition[d]));
      continue;
    }
    MlirType index = mlirIndexTypeGet(context);
    ShardNamedAttribute value = {"value", mlirIntegerAttrGet(index, 0)};
    MlirOperation zero = shardOpCreate((MlirBlock){NULL}, ops[i], mlirOperationGetLocation(ops[i]),
                                       "arith.constant", 1, &index, 0, NULL, 1, &value, 0, NULL);
    replaceBy(ops[i], mlirOperationGetResult(zero, 0));
  }
  shardOpSetAttribute(op, "iterator_types", mlirArrayAttrGet(context, kept, keptIterators));
  shardOpSetAttribute(op, "indexing_maps", mlirArrayAttrGet(context, nOperands, newMaps));
}

static void simplifyBlock(void *user, MlirBlock block) {
  ShardArena *arena = user;
  intptr_t n;
  MlirOperation *ops = shardBlockOps(block, arena, &n);
  for (intptr_t i = 0; i < n; ++i) {
    if (foldIdentity(ops[i]) || foldInsertChain(ops[i], arena))
      continue;
    if (shardOpIs(ops[i], "linalg.generic"))
      dropUnitReductions(ops[i], arena);
    else
      shardVisitControlBlocks(ops[i], simplifyBlock, arena);
  }
}

void shardImportSimplify(const ShardImport *import) {
  for (intptr_t i = 0; i < import->nFunctions; ++i)
    simplifyBlock(import->arena, shardFuncGetBody(import->functions[i]));
}
