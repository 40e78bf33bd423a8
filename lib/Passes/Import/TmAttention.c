//===- TmAttention.c - tm_tensor.attention -------------------------*- C -*-===//
// Two products around a softmax of the scaled and masked scores.
//===----------------------------------------------------------------------===//
#include "TmTensor.h"

#include "mlir-c/BuiltinTypes.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { ORDERED_EQUAL = 1 }; // arith.cmpf

typedef struct Attention {
  MlirValue scale, zero, lowest; // scalars
  bool bitMask, hasMask;
} Attention;

static void buildProduct(void *user, const ShardInsert *at, const MlirValue *arguments,
                         MlirValue *yielded) {
  (void)user;
  yielded[0] = shardInsertBinary(at, "arith.addf", arguments[2],
                                 shardInsertBinary(at, "arith.mulf", arguments[0], arguments[1]));
}

static void buildScores(void *user, const ShardInsert *at, const MlirValue *arguments,
                        MlirValue *yielded) {
  const Attention *a = user;
  MlirValue x = shardInsertBinary(at, "arith.divf", arguments[0], a->scale);
  if (a->hasMask) {
    MlirValue mask = arguments[1];
    if (a->bitMask)
      mask = shardInsertSelect(at, mask, a->zero, a->lowest);
    x = shardInsertBinary(at, "arith.addf", x, mask);
  }
  yielded[0] = x;
}

static void buildMaximum(void *user, const ShardInsert *at, const MlirValue *arguments,
                         MlirValue *yielded) {
  (void)user;
  yielded[0] = shardInsertBinary(at, "arith.maximumf", arguments[0], arguments[1]);
}

static void buildPower(void *user, const ShardInsert *at, const MlirValue *arguments,
                       MlirValue *yielded) {
  (void)user;
  MlirValue x = shardInsertBinary(at, "arith.subf", arguments[0], arguments[1]);
  yielded[0] = shardInsertOp(at, "math.exp", mlirValueGetType(x), 1, &x, 0, NULL);
}

static void buildSum(void *user, const ShardInsert *at, const MlirValue *arguments,
                     MlirValue *yielded) {
  (void)user;
  yielded[0] = shardInsertBinary(at, "arith.addf", arguments[0], arguments[1]);
}

/// A row that is masked everywhere has a sum of zero and gives zeros.
static void buildQuotient(void *user, const ShardInsert *at, const MlirValue *arguments,
                          MlirValue *yielded) {
  const Attention *a = user;
  MlirValue isZero = shardInsertCompare(at, ORDERED_EQUAL, arguments[1], a->zero);
  yielded[0] = shardInsertSelect(at, isZero, a->zero,
                                 shardInsertBinary(at, "arith.divf", arguments[0], arguments[1]));
}

static MlirValue product(const ShardInsert *at, ShardArena *arena, intptr_t rank, MlirValue left,
                         MlirValue right, bool transposed, MlirType type) {
  // Loops: batch dimensions, row, column, and the one that is summed.
  int64_t *dims = SHARD_ARENA_ARRAY(arena, int64_t, rank);
  char *iterators = SHARD_ARENA_ARRAY(arena, char, rank + 2);
  memset(iterators, 'p', (size_t)rank);
  iterators[rank] = 'r';
  for (intptr_t d = 0; d < rank; ++d)
    dims[d] = d;
  MlirAffineMap maps[3];
  maps[2] = shardMapOfDims(at->context, rank + 1, rank, dims);
  dims[rank - 1] = rank;
  maps[0] = shardMapOfDims(at->context, rank + 1, rank, dims);
  dims[rank - 2] = transposed ? rank - 1 : rank;
  dims[rank - 1] = transposed ? rank : rank - 1;
  maps[1] = shardMapOfDims(at->context, rank + 1, rank, dims);
  MlirAttribute zero = shardAttrNumber(mlirShapedTypeGetElementType(type), 0);
  MlirValue operands[3] = {left, right, shardInsertFill(at, type, zero)};
  return mlirOperationGetResult(
      shardInsertGeneric(at, iterators, 2, 1, operands, maps, buildProduct, NULL), 0);
}

MlirLogicalResult shardTmImportAttention(TmOp *t) {
  intptr_t nInputs = mlirOperationGetNumOperands(t->op) - 1;
  if (nInputs != 3 && nInputs != 4)
    return shardTmMalformed(t, "query, key, value, a mask or none, and a destination");
  if (mlirLogicalResultIsFailure(shardTmReadOperands(t, nInputs, 1)))
    return mlirLogicalResultFailure();
  MlirType query = shardTmTypeOf(t, 0), key = shardTmTypeOf(t, 1), value = shardTmTypeOf(t, 2),
           output = shardTmTypeOf(t, nInputs);
  intptr_t rank = mlirShapedTypeGetRank(query);
  MlirType element = mlirShapedTypeGetElementType(query);
  bool right = rank >= 2 && rank < 32 && mlirTypeIsAFloat(element);
  for (intptr_t i = 0; right && i <= nInputs; ++i)
    right = mlirShapedTypeGetRank(shardTmTypeOf(t, i)) == rank &&
            ((nInputs == 4 && i == 3) ||
             mlirTypeEqual(mlirShapedTypeGetElementType(shardTmTypeOf(t, i)), element));
  int64_t shape[32];
  for (intptr_t d = 0; right && d < rank; ++d) {
    int64_t q = mlirShapedTypeGetDimSize(query, d), k = mlirShapedTypeGetDimSize(key, d);
    int64_t v = mlirShapedTypeGetDimSize(value, d), o = mlirShapedTypeGetDimSize(output, d);
    right = d < rank - 2    ? q == k && q == v && q == o
            : d == rank - 2 ? k == v && q == o
                            : q == k && v == o;
    shape[d] = d < rank - 1 ? q : mlirShapedTypeGetDimSize(key, rank - 2);
  }
  ShardInsert at = shardInsertBefore(t->op);
  MlirType scoreType = right ? shardTensorWithShape(query, rank, shape) : query;
  Attention a = {.hasMask = nInputs == 4};
  if (right && a.hasMask) {
    MlirType maskElement = mlirShapedTypeGetElementType(shardTmTypeOf(t, 3));
    a.bitMask = mlirTypeIsAInteger(maskElement) && mlirIntegerTypeGetWidth(maskElement) == 1;
    right = shardTmSameShape(shardTmTypeOf(t, 3), scoreType) &&
            (a.bitMask || mlirTypeEqual(maskElement, element));
  }
  if (!right)
    return shardTmMalformed(
        t, "query [..., m, d], key [..., n, d], value [..., n, e], a mask [..., m, n] "
           "of their float type or i1, and a destination [..., m, e]");
  a.scale = shardInsertScalar(
      &at, shardAttrNumber(element, sqrt((double)mlirShapedTypeGetDimSize(query, rank - 1))));
  a.zero = shardInsertScalar(&at, shardAttrNumber(element, 0));
  a.lowest = shardInsertScalar(&at, shardAttrNumber(element, -INFINITY));
  char *parallel = SHARD_ARENA_ARRAY(t->arena, char, rank + 1);
  char *reduced = SHARD_ARENA_ARRAY(t->arena, char, rank + 1);
  memset(parallel, 'p', (size_t)rank);
  memset(reduced, 'p', (size_t)rank);
  reduced[rank - 1] = 'r';
  MlirAffineMap all = mlirAffineMapMultiDimIdentityGet(at.context, rank);
  MlirAffineMap row = shardMapWithout(at.context, rank, rank - 1);
  MlirType rowType = shardTensorWithShape(query, rank - 1, shape);
  MlirValue empty = shardInsertEmpty(&at, scoreType);

  MlirValue raw = product(&at, t->arena, rank, mlirOperationGetOperand(t->op, 0),
                          mlirOperationGetOperand(t->op, 1), true, scoreType);
  MlirValue scoreOperands[3] = {raw, a.hasMask ? mlirOperationGetOperand(t->op, 3) : empty, empty};
  MlirAffineMap scoreMaps[3] = {all, all, all};
  MlirValue scores =
      mlirOperationGetResult(shardInsertGeneric(&at, parallel, a.hasMask ? 2 : 1, 1, scoreOperands,
                                                scoreMaps, buildScores, &a),
                             0);
  // The largest of a row, and no less than the least number: exp(-inf - that) is zero.
  double least = mlirTypeIsAF16(element) ? -65504.0 : mlirTypeIsAF64(element) ? -DBL_MAX : -3.38e38;
  MlirAffineMap reduceMaps[2] = {all, row}, spreadMaps[3] = {all, row, all};
  MlirValue maxOperands[2] = {scores,
                              shardInsertFill(&at, rowType, shardAttrNumber(element, least))};
  MlirValue largest = mlirOperationGetResult(
      shardInsertGeneric(&at, reduced, 1, 1, maxOperands, reduceMaps, buildMaximum, NULL), 0);
  MlirValue powerOperands[3] = {scores, largest, empty};
  MlirValue powers = mlirOperationGetResult(
      shardInsertGeneric(&at, parallel, 2, 1, powerOperands, spreadMaps, buildPower, NULL), 0);
  MlirValue sumOperands[2] = {powers, shardInsertFill(&at, rowType, shardAttrNumber(element, 0))};
  MlirValue sum = mlirOperationGetResult(
      shardInsertGeneric(&at, reduced, 1, 1, sumOperands, reduceMaps, buildSum, NULL), 0);
  MlirValue weightOperands[3] = {powers, sum, empty};
  MlirValue weights = mlirOperationGetResult(
      shardInsertGeneric(&at, parallel, 2, 1, weightOperands, spreadMaps, buildQuotient, &a), 0);
  shardTmReplaceResult(
      t, 0,
      product(&at, t->arena, rank, weights, mlirOperationGetOperand(t->op, 2), false, output));
  return mlirLogicalResultSuccess();
}
