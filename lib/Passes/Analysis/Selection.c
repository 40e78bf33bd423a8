//===- Selection.c - The first k elements in an order -------------*- C -*-===//
// Loops: the other dimensions in order, then the rank of the element picked, then the dimension.
// The last two run in order. At each step the element is compared with the one picked before (it
// must come after it) and with the best so far (it must come before it).
//===----------------------------------------------------------------------===//

#include "Selection.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

enum { EQ = 0, SLT = 2, SLE = 3, SGT = 4, SGE = 5, ULT = 6, ULE = 7, UGE = 9 }; // arith.cmpi
enum { OGE = 3, OLE = 5, UNO = 14 };                                            // arith.cmpf

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

/// The tensors of which the order reads the element picked before: all, or the one that decides.
static intptr_t stateCount(const ShardSelection *s) {
  return s->order == shardOrderBuild ? 1 : s->nTensors;
}
static intptr_t stateTensor(const ShardSelection *s, intptr_t state) {
  return s->order == shardOrderBuild ? ((const ShardOrder *)s->user)->key : state;
}

typedef struct Body {
  const ShardSelection *selection;
  MlirValue last;       // place of the last element
  MlirValue zero, none; // of the position type: 0, -1
  MlirValue yes;
  intptr_t rank;
  MlirValue *before; // scratch: [nTensors]
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
  const MlirValue *in = arguments, *best = arguments + nInputs, *states = best + n + 1;
  intptr_t nStates = stateCount(s);
  MlirValue bestAt = best[n], beforeAt = states[nStates];
  for (intptr_t i = 0; i < nStates; ++i)
    body->before[stateTensor(s, i)] = states[i];
  MlirValue place = shardInsertLoopIndex(at, body->rank);
  MlirValue here = place;
  if (nInputs > n)
    here = in[n];
  else if (!mlirValueIsNull(s->origin))
    here = shardInsertBinary(at, "arith.addi", place, s->origin);
  here = shardInsertIntegerCast(at, here, s->positionType);
  if (!mlirValueIsNull(s->valid))
    here = shardInsertSelect(at, shardInsertCompare(at, ULT, place, s->valid), here, body->none);
  MlirValue exists = shardInsertCompare(at, SGE, here, body->zero);
  MlirValue isFirst = shardInsertCompare(at, SLT, beforeAt, body->zero);
  MlirValue follows =
      shardInsertBinary(at, "arith.andi", precedes(at, body, body->before, beforeAt, in, here),
                        invert(at, body, shardInsertCompare(at, EQ, beforeAt, here)));
  MlirValue isOnly = shardInsertCompare(at, SLT, bestAt, body->zero);
  MlirValue leads = precedes(at, body, in, here, best, bestAt);
  MlirValue taken = shardInsertBinary(
      at, "arith.andi", exists,
      shardInsertBinary(at, "arith.andi", shardInsertBinary(at, "arith.ori", isFirst, follows),
                        shardInsertBinary(at, "arith.ori", isOnly, leads)));
  MlirValue isLast = shardInsertCompare(at, EQ, place, body->last);
  for (intptr_t i = 0; i <= n; ++i)
    yielded[i] = shardInsertSelect(at, taken, i < n ? in[i] : here, best[i]);
  for (intptr_t i = 0; i <= nStates; ++i)
    yielded[n + 1 + i] =
        shardInsertSelect(at, isLast, yielded[i < nStates ? stateTensor(s, i) : n], states[i]);
}

MlirOperation shardInsertSelection(const ShardInsert *at, const ShardSelection *selection) {
  const ShardSelection *s = selection;
  ShardArena *scratch = shardArenaCreate();
  MlirType type = mlirValueGetType(s->tensors[0]);
  intptr_t rank = mlirShapedTypeGetRank(type), n = s->nTensors;
  intptr_t nInputs = n + !mlirValueIsNull(s->positions), nOutputs = n + 1 + stateCount(s) + 1;
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
    intptr_t which = i <= n ? i : i < n + 1 + stateCount(s) ? stateTensor(s, i - n - 1) : n;
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
  body.before = SHARD_ARENA_ARRAY(scratch, MlirValue, n);
  body.last = shardInsertIndexConstant(at, mlirShapedTypeGetDimSize(type, s->dim) - 1);
  body.zero = shardInsertScalar(at, mlirIntegerAttrGet(s->positionType, 0));
  if (!mlirValueIsNull(s->valid))
    body.none = shardInsertScalar(at, mlirIntegerAttrGet(s->positionType, -1));
  body.yes = shardInsertScalar(at, mlirIntegerAttrGet(mlirIntegerTypeGet(at->context, 1), 1));
  MlirOperation op =
      shardInsertGeneric(at, iterators, nInputs, nOutputs, operands, maps, buildBody, &body);
  shardArenaDestroy(scratch);
  return op;
}

//===----------------------------------------------------------------------===//
// Reading one back
//===----------------------------------------------------------------------===//

static bool sameConstant(MlirValue a, MlirValue b) {
  MlirOperation x = shardValueDefiningOp(a), y = shardValueDefiningOp(b);
  return shardOpIs(x, "arith.constant") && shardOpIs(y, "arith.constant") &&
         mlirAttributeEqual(shardOpGetAttribute(x, "value"), shardOpGetAttribute(y, "value"));
}

static bool sameAttribute(MlirOperation a, MlirOperation b, const char *name) {
  return mlirAttributeEqual(shardOpGetAttribute(a, name), shardOpGetAttribute(b, name));
}

typedef struct Twins {
  MlirBlock a, b;
  ShardPointerMap *known; // value of `a` -> one of `b` that is the same
} Twins;

/// Whether two values of two bodies are computed alike, whatever is shared or stands outside.
static bool sameValue(Twins *twins, MlirValue p, MlirValue q) {
  if (shardPointerMapGetOr(twins->known, p.ptr, 0) == (int64_t)(intptr_t)q.ptr)
    return true;
  MlirOperation x = shardValueDefiningOp(p), y = shardValueDefiningOp(q);
  if (mlirOperationIsNull(x) || mlirOperationIsNull(y)) {
    if (!mlirValueIsABlockArgument(p) || !mlirValueIsABlockArgument(q) ||
        !mlirBlockEqual(mlirBlockArgumentGetOwner(p), twins->a) ||
        !mlirBlockEqual(mlirBlockArgumentGetOwner(q), twins->b) ||
        mlirBlockArgumentGetArgNumber(p) != mlirBlockArgumentGetArgNumber(q))
      return false;
  } else if (!sameConstant(p, q)) {
    intptr_t n = mlirOperationGetNumOperands(x);
    if (!mlirBlockEqual(mlirOperationGetBlock(x), twins->a) ||
        !mlirStringRefEqual(shardOpGetName(x), shardOpGetName(y)) ||
        n != mlirOperationGetNumOperands(y) || mlirOperationGetNumResults(x) != 1 ||
        mlirOperationGetNumRegions(x) || shardOpIs(x, "arith.constant") ||
        !sameAttribute(x, y, "predicate") || !sameAttribute(x, y, "dim") ||
        !mlirTypeEqual(mlirValueGetType(p), mlirValueGetType(q)))
      return false;
    for (intptr_t i = 0; i < n; ++i)
      if (!sameValue(twins, mlirOperationGetOperand(x, i), mlirOperationGetOperand(y, i)))
        return false;
  }
  shardPointerMapSet(twins->known, p.ptr, (int64_t)(intptr_t)q.ptr);
  return true;
}

static bool sameBody(MlirBlock a, MlirBlock b, ShardArena *arena) {
  Twins twins = {a, b, shardPointerMapCreate(arena, 64)};
  MlirOperation x = mlirBlockGetTerminator(a), y = mlirBlockGetTerminator(b);
  if (mlirBlockGetNumArguments(a) != mlirBlockGetNumArguments(b))
    return false;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(y); ++i)
    if (!sameValue(&twins, mlirOperationGetOperand(x, i), mlirOperationGetOperand(y, i)))
      return false;
  return true;
}

/// What the shapes and maps of `op` say that it selects, if it does. False if it cannot.
static bool readShapes(MlirOperation op, ShardArena *arena, ShardSelection *out) {
  MlirAttribute maps = shardOpGetAttribute(op, "indexing_maps");
  intptr_t nOutputs = mlirOperationGetNumResults(op);
  intptr_t n = nOutputs - 3, nInputs = mlirOperationGetNumOperands(op) - nOutputs;
  if (!shardOpIs(op, "linalg.generic") || n < 1 || (nInputs != n && nInputs != n + 1) ||
      mlirOperationGetNumRegions(op) != 1)
    return false;
  MlirAffineMap in = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, 0));
  MlirAffineMap picked = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, nInputs));
  intptr_t rank = mlirAffineMapGetNumResults(in);
  if (mlirAffineMapGetNumDims(in) != rank + 1 || mlirAffineMapGetNumResults(picked) != rank)
    return false;
  *out = (ShardSelection){.nTensors = n, .dim = -1};
  for (intptr_t d = 0; d < rank; ++d) {
    MlirAffineExpr expr = mlirAffineMapGetResult(in, d);
    if (mlirAffineExprIsADim(expr) && mlirAffineDimExprGetPosition(expr) == rank)
      out->dim = d;
  }
  if (out->dim < 0)
    return false;
  MlirValue *tensors = SHARD_ARENA_ARRAY(arena, MlirValue, n);
  for (intptr_t i = 0; i < n; ++i)
    tensors[i] = mlirOperationGetOperand(op, i);
  out->tensors = tensors;
  if (nInputs > n)
    out->positions = mlirOperationGetOperand(op, n);
  out->positionType = mlirShapedTypeGetElementType(mlirValueGetType(mlirOperationGetResult(op, n)));
  out->count = mlirShapedTypeGetDimSize(mlirValueGetType(mlirOperationGetResult(op, 0)), out->dim);
  return mlirTypeIsAInteger(out->positionType);
}

bool shardSelectionRead(MlirOperation op, ShardArena *arena, ShardSelection *out,
                        ShardOrder *order) {
  if (!readShapes(op, arena, out))
    return false;
  out->order = shardOrderBuild;
  out->user = order;
  MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0));
  // Built anew under each order, and compared: what reads otherwise is something else.
  for (int32_t k = 0; k < 4 * out->nTensors; ++k) {
    *order = (ShardOrder){.key = k / 4, .descending = k % 2, .isUnsigned = k % 4 / 2};
    MlirType key = mlirShapedTypeGetElementType(mlirValueGetType(out->tensors[order->key]));
    if (order->isUnsigned && mlirTypeIsAFloat(key))
      continue;
    MlirBlock scratch = mlirBlockCreate(0, NULL, NULL);
    ShardInsert at = {.context = mlirOperationGetContext(op),
                      .location = mlirOperationGetLocation(op),
                      .block = scratch};
    MlirOperation other = shardInsertSelection(&at, out);
    bool same = sameAttribute(op, other, "indexing_maps") &&
                sameAttribute(op, other, "iterator_types") &&
                sameBody(body, mlirRegionGetFirstBlock(mlirOperationGetRegion(other, 0)), arena);
    for (intptr_t i = 0; same && i < mlirOperationGetNumResults(op); ++i)
      same = mlirTypeEqual(mlirValueGetType(mlirOperationGetResult(op, i)),
                           mlirValueGetType(mlirOperationGetResult(other, i)));
    mlirBlockDestroy(scratch);
    if (same)
      return true;
  }
  return false;
}
