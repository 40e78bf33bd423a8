//===- Rolls.c - Slices of a value put together in turned order ----*- C -*-===//
// Rotary embedding by halves takes two slices of a value, negates one and concatenates them the
// other way round. Slices that tile a dimension cyclically, each with its own function of one
// element, become one linalg.generic that reads the value at `(d + shift) mod extent`: seen so, a
// shard of the dimension moves once. A cache whose oldest rows fall out as new ones come is turned
// too, and the new rows are written over the old.
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

/// The offset along `dim` of a slice that has all of every other dimension; -1: it is none such.
static int64_t readWindow(MlirOperation slice, int64_t dim) {
  if (!shardOpIs(slice, "tensor.extract_slice") || mlirOperationGetNumOperands(slice) != 1)
    return -1;
  MlirType from = mlirValueGetType(mlirOperationGetOperand(slice, 0));
  MlirType to = mlirValueGetType(mlirOperationGetResult(slice, 0));
  intptr_t rank = (intptr_t)mlirShapedTypeGetRank(from);
  if (rank != mlirShapedTypeGetRank(to))
    return -1;
  MlirAttribute strides = shardOpGetAttribute(slice, "static_strides");
  for (intptr_t d = 0; d < rank; ++d)
    if (shardArrayAttrAt(strides, d) != 1 ||
        (d != dim && mlirShapedTypeGetDimSize(from, d) != mlirShapedTypeGetDimSize(to, d)))
      return -1;
  return shardArrayAttrAt(shardOpGetAttribute(slice, "static_offsets"), (intptr_t)dim);
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
  if (mlirShapedTypeGetRank(mlirValueGetType(value)) != roll->rank ||
      (which && !mlirValueEqual(source, roll->source)))
    return false;
  roll->source = source;
  *outOffset = readWindow(op, roll->dim);
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

/// `op`, of the result's type, gives place and location.
static MlirValue createRoll(Roll *roll, MlirOperation op) {
  ShardInsert at = shardInsertBefore(op);
  MlirAffineExpr *exprs = SHARD_ARENA_ARRAY(roll->arena, MlirAffineExpr, roll->rank);
  for (intptr_t d = 0; d < roll->rank; ++d)
    exprs[d] = mlirAffineDimExprGet(at.context, d);
  if (roll->shift)
    exprs[roll->dim] = mlirAffineModExprGet(
        mlirAffineAddExprGet(exprs[roll->dim], mlirAffineConstantExprGet(at.context, roll->shift)),
        mlirAffineConstantExprGet(at.context, roll->extent));
  MlirAffineMap maps[2] = {mlirAffineMapGet(at.context, roll->rank, 0, roll->rank, exprs),
                           mlirAffineMapMultiDimIdentityGet(at.context, roll->rank)};
  MlirType type = mlirValueGetType(mlirOperationGetResult(op, 0));
  MlirValue operands[2] = {roll->source, shardInsertEmpty(&at, type)};
  char *iterators = SHARD_ARENA_ARRAY(roll->arena, char, roll->rank + 1);
  memset(iterators, 'p', (size_t)roll->rank);
  MlirOperation generic = shardInsertGeneric(&at, iterators, 1, 1, operands, maps, buildRoll, roll);
  return mlirOperationGetResult(generic, 0);
}

static void replaceByRoll(Roll *roll) {
  MlirValue rolled = createRoll(roll, roll->concat);
  mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(roll->concat, 0), rolled);
  mlirOperationDestroy(roll->concat);
}

//===----------------------------------------------------------------------===//
// Rows that fall out as others come
//===----------------------------------------------------------------------===//

static bool isReshape(MlirOperation op) {
  return shardOpIs(op, "tensor.expand_shape") || shardOpIs(op, "tensor.collapse_shape") ||
         shardOpIs(op, "tensor.cast") || shardOpIs(op, "linalg.transpose");
}

/// Whether a value is an argument of its function, or that in another shape.
static bool isHandedIn(MlirValue value) {
  MlirOperation op = shardValueDefiningOp(value);
  while (!mlirOperationIsNull(op) && isReshape(op)) {
    value = mlirOperationGetOperand(op, 0);
    op = shardValueDefiningOp(value);
  }
  return mlirOperationIsNull(op);
}

/// Whether a value, maybe in another shape, is a result of its function or what a loop carries on.
static bool isHandedBack(MlirValue value) {
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use)) {
    MlirOperation user = mlirOpOperandGetOwner(use);
    if (shardOpIs(user, "func.return") || shardOpIs(user, "scf.yield") ||
        (isReshape(user) && isHandedBack(mlirOperationGetResult(user, 0))))
      return true;
  }
  return false;
}

/// Reads concat(slice(x), new), concat(new, slice(x)) or a slice of concat(x, new) or (new, x) that
/// has as many rows as x. Writes the new rows and where they go.
static bool readRows(MlirOperation op, Roll *roll, MlirValue *outNew, int64_t *outPlace) {
  bool sliced = shardOpIs(op, "tensor.extract_slice");
  MlirOperation concat = sliced ? shardValueDefiningOp(mlirOperationGetOperand(op, 0)) : op;
  if (!mlirAttributeIsNull(shardOpGetAttribute(op, "spmd.sharding")) || // annotated
      mlirOperationIsNull(concat) || !shardOpIs(concat, "tensor.concat") ||
      mlirOperationGetNumOperands(concat) != 2 ||
      !shardAttrGetI64(shardOpGetAttribute(concat, "dim"), &roll->dim))
    return false;
  MlirType type = mlirValueGetType(mlirOperationGetResult(op, 0));
  roll->rank = (intptr_t)mlirShapedTypeGetRank(type);
  if (roll->dim >= roll->rank)
    return false;
  roll->nPieces = 1;
  roll->extent = mlirShapedTypeGetDimSize(type, (intptr_t)roll->dim);
  for (intptr_t side = 0; side < 2; ++side) {
    MlirValue old = mlirOperationGetOperand(concat, side);
    MlirOperation slice = sliced ? op : shardValueDefiningOp(old);
    int64_t offset = mlirOperationIsNull(slice) ? -1 : readWindow(slice, roll->dim);
    roll->source = sliced || offset < 0 ? old : mlirOperationGetOperand(slice, 0);
    *outNew = mlirOperationGetOperand(concat, 1 - side);
    int64_t k = mlirShapedTypeGetDimSize(mlirValueGetType(*outNew), (intptr_t)roll->dim);
    roll->shift = side ? roll->extent - k : k;
    *outPlace = side ? 0 : roll->extent - k;
    if (offset == (side ? 0 : k) && k < roll->extent &&
        mlirTypeEqual(mlirValueGetType(roll->source), type) && isHandedIn(roll->source))
      return isHandedBack(mlirOperationGetResult(op, 0));
  }
  return false;
}

static void replaceRows(Roll *roll, MlirOperation op, MlirValue rows, int64_t place) {
  MlirValue operands[2] = {rows, createRoll(roll, op)};
  ShardInsert at = shardInsertBefore(op);
  int64_t *numbers = SHARD_ARENA_ARRAY(roll->arena, int64_t, 3 * roll->rank);
  int64_t *sizes = numbers + roll->rank, *strides = sizes + roll->rank;
  for (intptr_t d = 0; d < roll->rank; ++d) {
    sizes[d] = mlirShapedTypeGetDimSize(mlirValueGetType(rows), d);
    strides[d] = 1;
  }
  numbers[roll->dim] = place;
  static const int32_t segments[5] = {1, 1, 0, 0, 0};
  const ShardNamedAttribute attributes[] = {
      {"static_offsets", shardAttrI64Array(at.context, roll->rank, numbers)},
      {"static_sizes", shardAttrI64Array(at.context, roll->rank, sizes)},
      {"static_strides", shardAttrI64Array(at.context, roll->rank, strides)},
      {"operandSegmentSizes", mlirDenseI32ArrayGet(at.context, 5, segments)},
  };
  MlirValue result = mlirOperationGetResult(op, 0);
  MlirValue written = shardInsertOp(&at, "tensor.insert_slice", mlirValueGetType(result), 2,
                                    operands, 4, attributes);
  mlirValueReplaceAllUsesOfWith(result, written);
  mlirOperationDestroy(op);
}

void shardImportRolls(const ShardImport *import) {
  for (intptr_t i = 0; i < import->nFunctions; ++i) {
    intptr_t n;
    MlirOperation *ops = shardBlockOps(shardFuncGetBody(import->functions[i]), import->arena, &n);
    for (intptr_t k = 0; k < n; ++k) {
      Roll roll = {.arena = import->arena}, moved = roll;
      MlirValue rows;
      int64_t place;
      if (shardOpIs(ops[k], "tensor.concat") && readRoll(ops[k], &roll))
        replaceByRoll(&roll);
      else if ((shardOpIs(ops[k], "tensor.concat") || shardOpIs(ops[k], "tensor.extract_slice")) &&
               readRows(ops[k], &moved, &rows, &place))
        replaceRows(&moved, ops[k], rows, place);
    }
  }
}
