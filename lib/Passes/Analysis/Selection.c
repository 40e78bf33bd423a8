//===- Selection.c - The first k elements in an order -------------*- C -*-===//
// Loops: the other dimensions in order, then the rank of the element picked, then the dimension.
// The last two run in order. At each step the element is compared with the one picked before (it
// must come after it) and with the best so far (it must come before it).
//===----------------------------------------------------------------------===//

#include "Selection.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

enum { EQ = 0, SLT = 2, SLE = 3, SGT = 4, SGE = 5, ULE = 7, UGE = 9 }; // arith.cmpi
enum { OGE = 3, OLE = 5, UNO = 14 };                                   // arith.cmpf

MlirValue shardOrderBuild(void *user, const ShardInsert *at, const MlirValue *a,
                          const MlirValue *b) {
  const ShardOrder *order = user;
  MlirValue x = a[order->key], y = b[order->key];
  if (!mlirTypeIsAFloat(mlirValueGetType(x)))
    return shardInsertCompare(
        at, order->descending ? (order->isUnsigned ? UGE : SGE) : (order->isUnsigned ? ULE : SLE),
        x, y);
  MlirValue first = order->descending ? x : y;
  return shardInsertBinary(at, "arith.ori",
                           shardInsertCompare(at, order->descending ? OGE : OLE, x, y),
                           shardInsertCompare(at, UNO, first, first));
}

typedef struct Body {
  const ShardSelection *selection;
  MlirValue last; // place of the last element
  MlirValue zero; // of the position type
  MlirValue yes;
  intptr_t rank;
} Body;

static MlirValue invert(const ShardInsert *at, const Body *body, MlirValue condition) {
  return shardInsertBinary(at, "arith.xori", condition, body->yes);
}

/// Whether the element (a, at position pa) comes before (b, pb), which is another one.
static MlirValue precedes(const ShardInsert *at, const Body *body, const MlirValue *a, MlirValue pa,
                          const MlirValue *b, MlirValue pb) {
  const ShardSelection *s = body->selection;
  MlirValue forward = s->order(s->user, at, a, b);
  MlirValue backward = s->order(s->user, at, b, a);
  return shardInsertSelect(at, shardInsertCompare(at, SLT, pa, pb), forward,
                           invert(at, body, backward));
}

static void buildBody(void *user, const ShardInsert *at, const MlirValue *arguments,
                      MlirValue *yielded) {
  const Body *body = user;
  const ShardSelection *s = body->selection;
  intptr_t n = s->nTensors, nInputs = n + !mlirValueIsNull(s->positions);
  const MlirValue *in = arguments, *best = arguments + nInputs, *before = best + n + 1;
  MlirValue bestAt = best[n], beforeAt = before[n];
  MlirValue place = shardInsertLoopIndex(at, body->rank);
  MlirValue here = nInputs > n ? shardInsertIntegerCast(at, in[n], s->positionType)
                               : shardInsertIntegerCast(at, shardInsertLoopIndex(at, body->rank),
                                                        s->positionType);
  MlirValue exists = shardInsertCompare(at, SGE, here, body->zero);
  MlirValue isFirst = shardInsertCompare(at, SLT, beforeAt, body->zero);
  MlirValue follows =
      shardInsertBinary(at, "arith.andi", precedes(at, body, before, beforeAt, in, here),
                        invert(at, body, shardInsertCompare(at, EQ, beforeAt, here)));
  MlirValue isOnly = shardInsertCompare(at, SLT, bestAt, body->zero);
  MlirValue leads = precedes(at, body, in, here, best, bestAt);
  MlirValue taken = shardInsertBinary(
      at, "arith.andi", exists,
      shardInsertBinary(at, "arith.andi", shardInsertBinary(at, "arith.ori", isFirst, follows),
                        shardInsertBinary(at, "arith.ori", isOnly, leads)));
  MlirValue isLast = shardInsertCompare(at, EQ, place, body->last);
  for (intptr_t i = 0; i <= n; ++i) {
    yielded[i] = shardInsertSelect(at, taken, i < n ? in[i] : here, best[i]);
    yielded[n + 1 + i] = shardInsertSelect(at, isLast, yielded[i], before[i]);
  }
}

MlirOperation shardInsertSelection(const ShardInsert *at, const ShardSelection *selection) {
  const ShardSelection *s = selection;
  ShardArena *scratch = shardArenaCreate();
  MlirType type = mlirValueGetType(s->tensors[0]);
  intptr_t rank = mlirShapedTypeGetRank(type), n = s->nTensors;
  intptr_t nInputs = n + !mlirValueIsNull(s->positions), nOutputs = 2 * (n + 1);
  // Loops: dimensions but `dim`, the picked element's rank (rank - 1), and the dimension (rank).
  int64_t *shape = SHARD_ARENA_ARRAY(scratch, int64_t, rank + 1);
  int64_t *outer = SHARD_ARENA_ARRAY(scratch, int64_t, rank + 1);
  int64_t *inMap = SHARD_ARENA_ARRAY(scratch, int64_t, rank + 1);
  int64_t *outMap = SHARD_ARENA_ARRAY(scratch, int64_t, rank + 1);
  char *iterators = SHARD_ARENA_ARRAY(scratch, char, rank + 2);
  intptr_t nOuter = 0;
  for (intptr_t d = 0; d < rank; ++d) {
    shape[d] = d == s->dim ? s->count : mlirShapedTypeGetDimSize(type, d);
    inMap[d] = d == s->dim ? rank : nOuter;
    outMap[d] = d == s->dim ? rank - 1 : nOuter;
    if (d != s->dim) {
      outer[nOuter] = shape[d];
      iterators[nOuter++] = 'p';
    }
  }
  iterators[rank - 1] = iterators[rank] = 'r';
  MlirAffineMap in = shardMapOfDims(at->context, rank + 1, rank, inMap);
  MlirAffineMap out = shardMapOfDims(at->context, rank + 1, rank, outMap);
  int64_t *states = SHARD_ARENA_ARRAY(scratch, int64_t, rank);
  for (intptr_t d = 0; d + 1 < rank; ++d)
    states[d] = d;
  MlirAffineMap state = shardMapOfDims(at->context, rank + 1, rank - 1, states);
  MlirValue *operands = SHARD_ARENA_ARRAY(scratch, MlirValue, nInputs + nOutputs);
  MlirAffineMap *maps = SHARD_ARENA_ARRAY(scratch, MlirAffineMap, nInputs + nOutputs);
  for (intptr_t i = 0; i < nInputs; ++i) {
    operands[i] = i < n ? s->tensors[i] : s->positions;
    maps[i] = in;
  }
  for (intptr_t i = 0; i < nOutputs; ++i) {
    intptr_t which = i % (n + 1);
    MlirType element = which < n ? mlirShapedTypeGetElementType(mlirValueGetType(s->tensors[which]))
                                 : s->positionType;
    MlirType filled =
        i <= n ? mlirRankedTensorTypeGet(rank, shape, element, mlirAttributeGetNull())
               : mlirRankedTensorTypeGet(rank - 1, outer, element, mlirAttributeGetNull());
    operands[nInputs + i] =
        shardInsertFill(at, filled, shardAttrNumber(element, which < n ? 0 : -1));
    maps[nInputs + i] = i <= n ? out : state;
  }
  Body body = {.selection = s, .rank = rank};
  body.last = shardInsertIndexConstant(at, mlirShapedTypeGetDimSize(type, s->dim) - 1);
  body.zero = shardInsertScalar(at, mlirIntegerAttrGet(s->positionType, 0));
  body.yes = shardInsertScalar(at, mlirIntegerAttrGet(mlirIntegerTypeGet(at->context, 1), 1));
  MlirOperation op =
      shardInsertGeneric(at, iterators, nInputs, nOutputs, operands, maps, buildBody, &body);
  shardArenaDestroy(scratch);
  return op;
}
