//===- ExpandOps.c - Ops that stand for several -------------------*- C -*-===//
// linalg.softmax to its reductions and quotient; affine.apply, which upstream's fusion leaves in
// loop bodies, to arith.
//===----------------------------------------------------------------------===//
#include "../Core/Insert.h"
#include "ImportParts.h"

#include "mlir-c/AffineExpr.h"
#include "mlir-c/BuiltinTypes.h"

#include <math.h>
#include <string.h>

//===----------------------------------------------------------------------===//
// affine.apply
//===----------------------------------------------------------------------===//

/// The value of an expression; null for a form that maps do not have.
static MlirValue expandExpr(const ShardInsert *at, MlirAffineExpr expr, intptr_t nDims,
                            MlirOperation apply) {
  MlirValue none = {NULL};
  if (mlirAffineExprIsADim(expr))
    return mlirOperationGetOperand(apply, mlirAffineDimExprGetPosition(expr));
  if (mlirAffineExprIsASymbol(expr))
    return mlirOperationGetOperand(apply, nDims + mlirAffineSymbolExprGetPosition(expr));
  if (mlirAffineExprIsAConstant(expr))
    return shardInsertIndexConstant(at, mlirAffineConstantExprGetValue(expr));
  if (!mlirAffineExprIsABinary(expr))
    return none;
  MlirValue a = expandExpr(at, mlirAffineBinaryOpExprGetLHS(expr), nDims, apply);
  MlirValue b = expandExpr(at, mlirAffineBinaryOpExprGetRHS(expr), nDims, apply);
  if (mlirValueIsNull(a) || mlirValueIsNull(b))
    return none;
  if (mlirAffineExprIsAAdd(expr))
    return shardInsertBinary(at, "arith.addi", a, b);
  if (mlirAffineExprIsAMul(expr))
    return shardInsertBinary(at, "arith.muli", a, b);
  if (mlirAffineExprIsACeilDiv(expr))
    return shardInsertBinary(at, "arith.ceildivsi", a, b);
  MlirValue quotient = shardInsertBinary(at, "arith.floordivsi", a, b);
  if (mlirAffineExprIsAFloorDiv(expr))
    return quotient;
  MlirValue whole = shardInsertBinary(at, "arith.muli", quotient, b);
  return shardInsertBinary(at, "arith.subi", a, whole); // mod
}

static MlirLogicalResult expandApply(MlirOperation op) {
  MlirAffineMap map = mlirAffineMapAttrGetValue(shardOpGetAttribute(op, "map"));
  ShardInsert at = shardInsertBefore(op);
  MlirValue value =
      expandExpr(&at, mlirAffineMapGetResult(map, 0), mlirAffineMapGetNumDims(map), op);
  if (mlirValueIsNull(value))
    return shardEmitError(op, "'affine.apply' of an expression that is not known");
  mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, 0), value);
  mlirOperationDestroy(op);
  return mlirLogicalResultSuccess();
}

//===----------------------------------------------------------------------===//
// linalg.softmax
//===----------------------------------------------------------------------===//

/// A body that yields `user`, the name of an op, of its first two arguments.
static void buildBinary(void *user, const ShardInsert *at, const MlirValue *arguments,
                        MlirValue *yielded) {
  yielded[0] = shardInsertBinary(at, user, arguments[0], arguments[1]);
}

static void buildExponential(void *user, const ShardInsert *at, const MlirValue *arguments,
                             MlirValue *yielded) {
  (void)user;
  MlirValue difference = shardInsertBinary(at, "arith.subf", arguments[0], arguments[1]);
  yielded[0] =
      shardInsertOp(at, "math.exp", mlirValueGetType(difference), 1, &difference, 0, NULL);
}

typedef struct Softmax {
  ShardInsert at;
  MlirType reduced;                // the input's without the dimension
  char *parallel, *reducing;       // iterators, a letter a dimension
  MlirAffineMap identity, without; // all dimensions, and all but the one
} Softmax;

/// The input folded over the dimension by the op `name`.
static MlirValue reduce(const Softmax *s, MlirValue value, const char *name, double start) {
  MlirAttribute first = shardAttrNumber(mlirShapedTypeGetElementType(s->reduced), start);
  MlirValue operands[2] = {value, shardInsertFill(&s->at, s->reduced, first)};
  MlirAffineMap maps[2] = {s->identity, s->without};
  return mlirOperationGetResult(
      shardInsertGeneric(&s->at, s->reducing, 1, 1, operands, maps, buildBinary, (void *)name), 0);
}

/// `build` of the value and, along the dimension, of what it was folded to.
static MlirValue combine(const Softmax *s, MlirValue value, MlirValue folded, MlirValue init,
                         ShardBodyBuilder build, const char *name) {
  MlirValue operands[3] = {value, folded, init};
  MlirAffineMap maps[3] = {s->identity, s->without, s->identity};
  return mlirOperationGetResult(
      shardInsertGeneric(&s->at, s->parallel, 2, 1, operands, maps, build, (void *)name), 0);
}

/// max, then exp(x - max), then its sum, then the quotient: as upstream decomposes it.
static void expandSoftmax(MlirOperation op, ShardArena *arena) {
  MlirContext context = mlirOperationGetContext(op);
  int64_t dim = 0;
  shardAttrGetI64(shardOpGetAttribute(op, "dimension"), &dim);
  MlirType full = mlirValueGetType(mlirOperationGetResult(op, 0));
  intptr_t rank = mlirShapedTypeGetRank(full), n = 0;
  Softmax s = {.at = shardInsertBefore(op),
               .parallel = shardArenaAllocate(arena, (size_t)rank + 1),
               .reducing = shardArenaAllocate(arena, (size_t)rank + 1),
               .identity = mlirAffineMapMultiDimIdentityGet(context, rank),
               .without = shardMapWithout(context, rank, dim)};
  int64_t *shape = SHARD_ARENA_ARRAY(arena, int64_t, rank);
  for (intptr_t d = 0; d < rank; ++d) {
    s.parallel[d] = 'p';
    s.reducing[d] = d == dim ? 'r' : 'p';
    if (d != dim)
      shape[n++] = mlirShapedTypeGetDimSize(full, d);
  }
  s.parallel[rank] = s.reducing[rank] = 0;
  s.reduced = shardTensorWithShape(full, n, shape);
  MlirValue x = mlirOperationGetOperand(op, 0), init = mlirOperationGetOperand(op, 1);
  MlirValue maximum = reduce(&s, x, "arith.maximumf", -INFINITY);
  MlirValue powers = combine(&s, x, maximum, init, buildExponential, NULL);
  MlirValue sum = reduce(&s, powers, "arith.addf", 0.0);
  MlirValue quotient = combine(&s, powers, sum, init, buildBinary, "arith.divf");
  mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, 0), quotient);
  mlirOperationDestroy(op);
}

MlirLogicalResult shardImportExpandOps(const ShardImport *import) {
  ShardOpList softmax = {.arena = import->arena}, apply = softmax;
  for (intptr_t i = 0; i < import->nFunctions; ++i) {
    shardOpListCollect(&softmax, import->functions[i], "linalg.softmax", NULL);
    shardOpListCollect(&apply, import->functions[i], "affine.apply", NULL);
  }
  for (size_t i = 0; i < softmax.nOps; ++i)
    expandSoftmax(softmax.ops[i], import->arena);
  for (size_t i = 0; i < apply.nOps; ++i)
    if (mlirLogicalResultIsFailure(expandApply(apply.ops[i])))
      return mlirLogicalResultFailure();
  return mlirLogicalResultSuccess();
}
