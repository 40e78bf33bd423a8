//===- Rolls.c - Slices of a value put together in turned order ----*- C -*-===//
// Rotary embedding by halves takes two slices of a value, negates one and concatenates them the
// other way round. Slices that tile a dimension cyclically, each with its own function of one
// element, become one linalg.generic that reads the value at `(d + shift) mod extent`: seen so, a
// shard of the dimension moves once.
//===----------------------------------------------------------------------===//
#include "ImportParts.h"

#include "../Core/Insert.h"

#include "mlir-c/AffineExpr.h"
#include "mlir-c/BuiltinTypes.h"

#include <string.h>

enum { MAX_PIECES = 8, MAX_CHAIN = 8, ULT = 6 };

/// A piece of the concatenation: functions of one element, applied last first, of a slice.
typedef struct Piece {
  intptr_t nChain;
  MlirOperation chain[MAX_CHAIN];
  int64_t end; // where it ends in the result
} Piece;

typedef struct Roll {
  ShardArena *arena;
  MlirOperation concat;
  intptr_t nPieces, rank;
  Piece pieces[MAX_PIECES];
  MlirValue source;
  int64_t dim, extent, shift;
} Roll;

/// Whether the operands of the two maps are walked alike, each element once.
static bool walksAlike(MlirAttribute maps) {
  MlirAffineMap a = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, 0));
  MlirAffineMap b = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, 1));
  return mlirAffineMapEqual(a, b) && mlirAffineMapIsPermutation(a);
}

/// The one tensor of which the op is a function element by element; null if it is anything else.
static MlirValue elementwiseOperand(MlirOperation op) {
  MlirValue none = {NULL};
  if (mlirOperationIsNull(op) || mlirOperationGetNumResults(op) != 1)
    return none;
  MlirStringRef name = shardOpGetName(op);
  if (!shardOpIs(op, "linalg.generic")) {
    bool scalar = shardNameHasDialect(name, "arith") || shardNameHasDialect(name, "math");
    return scalar && mlirOperationGetNumOperands(op) == 1 ? mlirOperationGetOperand(op, 0) : none;
  }
  MlirAttribute maps = shardOpGetAttribute(op, "indexing_maps");
  if (mlirOperationGetNumOperands(op) != 2 || !walksAlike(maps))
    return none;
  MlirBlock body = shardOpBody(op);
  if (!shardValueIsUnused(mlirBlockGetArgument(body, 1)))
    return none;
  for (MlirOperation inner = mlirBlockGetFirstOperation(body); !mlirOperationIsNull(inner);
       inner = mlirOperationGetNextInBlock(inner))
    if (mlirOperationGetNumRegions(inner) || shardOpIs(inner, "linalg.index") ||
        shardOpIs(inner, "tensor.extract") || shardOpIs(inner, "cf.assert"))
      return none;
  return mlirOperationGetOperand(op, 0);
}

/// Reads what leads from a slice to one operand of the concatenation; writes the slice's offset.
static bool readPiece(Roll *roll, intptr_t which, int64_t *outOffset) {
  Piece *piece = &roll->pieces[which];
  MlirValue value = mlirOperationGetOperand(roll->concat, which);
  piece->end = (which ? roll->pieces[which - 1].end : 0) +
               mlirShapedTypeGetDimSize(mlirValueGetType(value), roll->dim);
  MlirOperation op = shardValueDefiningOp(value);
  while (!shardOpIs(op, "tensor.extract_slice")) {
    value = elementwiseOperand(op);
    if (mlirValueIsNull(value) || !mlirTypeIsARankedTensor(mlirValueGetType(value)) ||
        piece->nChain == MAX_CHAIN)
      return false;
    piece->chain[piece->nChain++] = op;
    op = shardValueDefiningOp(value);
  }
  MlirValue source = mlirOperationGetOperand(op, 0);
  MlirType from = mlirValueGetType(source), to = mlirValueGetType(value);
  if (mlirOperationGetNumOperands(op) != 1 || mlirShapedTypeGetRank(from) != roll->rank ||
      mlirShapedTypeGetRank(to) != roll->rank || (which && !mlirValueEqual(source, roll->source)))
    return false;
  roll->source = source;
  MlirAttribute offsets = shardOpGetAttribute(op, "static_offsets");
  MlirAttribute strides = shardOpGetAttribute(op, "static_strides");
  for (intptr_t d = 0; d < roll->rank; ++d)
    if (shardArrayAttrAt(strides, d) != 1 ||
        (d != roll->dim && mlirShapedTypeGetDimSize(from, d) != mlirShapedTypeGetDimSize(to, d)))
      return false;
  *outOffset = shardArrayAttrAt(offsets, roll->dim);
  return *outOffset >= 0;
}

static bool readRoll(MlirOperation concat, Roll *roll) {
  MlirType type = mlirValueGetType(mlirOperationGetResult(concat, 0));
  roll->concat = concat;
  roll->nPieces = mlirOperationGetNumOperands(concat);
  roll->rank = mlirShapedTypeGetRank(type);
  if (roll->nPieces < 2 || roll->nPieces > MAX_PIECES ||
      !shardAttrGetI64(shardOpGetAttribute(concat, "dim"), &roll->dim))
    return false;
  roll->extent = mlirShapedTypeGetDimSize(type, roll->dim);
  int64_t begin = 0;
  for (intptr_t k = 0; k < roll->nPieces; ++k) {
    int64_t offset;
    if (!readPiece(roll, k, &offset))
      return false;
    if (k == 0)
      roll->shift = offset;
    if (offset != (roll->shift + begin) % roll->extent)
      return false;
    begin = roll->pieces[k].end;
  }
  return mlirShapedTypeGetDimSize(mlirValueGetType(roll->source), roll->dim) == roll->extent;
}

/// The op on scalars.
static MlirValue applyOne(const Roll *roll, const ShardInsert *at, MlirOperation op,
                          MlirValue value) {
  if (!shardOpIs(op, "linalg.generic")) {
    MlirOperation scalar = mlirOperationClone(op);
    mlirOperationSetOperand(scalar, 0, value);
    MlirValue result = mlirOperationGetResult(scalar, 0);
    mlirValueSetType(result, mlirShapedTypeGetElementType(mlirValueGetType(result)));
    mlirBlockAppendOwnedOperation(at->block, scalar);
    return result;
  }
  MlirBlock body = shardOpBody(op);
  ShardPointerMap *map = shardPointerMapCreate(roll->arena, 16);
  shardValueMapSet(map, mlirBlockGetArgument(body, 0), value);
  MlirOperation inner = mlirBlockGetFirstOperation(body);
  for (; !shardOpIs(inner, "linalg.yield"); inner = mlirOperationGetNextInBlock(inner))
    shardOpCloneMapped(inner, at->block, at->before, map);
  return shardValueMapGet(map, mlirOperationGetOperand(inner, 0));
}

static void buildRoll(void *user, const ShardInsert *at, const MlirValue *arguments,
                      MlirValue *yielded) {
  const Roll *roll = user;
  MlirValue place = {NULL};
  for (intptr_t k = roll->nPieces - 1; k >= 0; --k) {
    const Piece *piece = &roll->pieces[k];
    MlirValue value = arguments[0];
    for (intptr_t c = piece->nChain - 1; c >= 0; --c)
      value = applyOne(roll, at, piece->chain[c], value);
    if (k == roll->nPieces - 1) {
      yielded[0] = value;
      continue;
    }
    if (mlirValueEqual(value, yielded[0]))
      continue;
    if (mlirValueIsNull(place))
      place = shardInsertLoopIndex(at, roll->dim);
    MlirValue end = shardInsertIndexConstant(at, piece->end);
    yielded[0] = shardInsertSelect(at, shardInsertCompare(at, ULT, place, end), value, yielded[0]);
  }
}

static void replaceByRoll(Roll *roll) {
  ShardInsert at = shardInsertBefore(roll->concat);
  MlirAffineExpr *exprs = SHARD_ARENA_ARRAY(roll->arena, MlirAffineExpr, roll->rank);
  for (intptr_t d = 0; d < roll->rank; ++d)
    exprs[d] = mlirAffineDimExprGet(at.context, d);
  if (roll->shift)
    exprs[roll->dim] = mlirAffineModExprGet(
        mlirAffineAddExprGet(exprs[roll->dim], mlirAffineConstantExprGet(at.context, roll->shift)),
        mlirAffineConstantExprGet(at.context, roll->extent));
  MlirAffineMap maps[2] = {mlirAffineMapGet(at.context, roll->rank, 0, roll->rank, exprs),
                           mlirAffineMapMultiDimIdentityGet(at.context, roll->rank)};
  MlirValue result = mlirOperationGetResult(roll->concat, 0);
  MlirValue operands[2] = {roll->source, shardInsertEmpty(&at, mlirValueGetType(result))};
  char *iterators = SHARD_ARENA_ARRAY(roll->arena, char, roll->rank + 1);
  memset(iterators, 'p', (size_t)roll->rank);
  MlirOperation generic = shardInsertGeneric(&at, iterators, 1, 1, operands, maps, buildRoll, roll);
  mlirValueReplaceAllUsesOfWith(result, mlirOperationGetResult(generic, 0));
  mlirOperationDestroy(roll->concat);
}

void shardImportRolls(const ShardImport *import) {
  for (intptr_t i = 0; i < import->nFunctions; ++i) {
    intptr_t n;
    MlirOperation *ops = shardBlockOps(shardFuncGetBody(import->functions[i]), import->arena, &n);
    for (intptr_t k = 0; k < n; ++k) {
      Roll roll = {.arena = import->arena};
      if (shardOpIs(ops[k], "tensor.concat") && readRoll(ops[k], &roll))
        replaceByRoll(&roll);
    }
  }
}
