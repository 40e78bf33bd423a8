//===- ExpandOps.c - Ops that stand for several -------------------*- C -*-===//
// linalg.softmax to its reductions and quotient; affine.apply, which upstream's fusion leaves in
// loop bodies, to arith.
//===----------------------------------------------------------------------===//
#include "ImportParts.h"

#include "mlir-c/AffineExpr.h"
#include "mlir-c/BuiltinTypes.h"

#include <math.h>
#include <string.h>

typedef struct Inserter {
  MlirContext context;
  MlirLocation location;
  MlirOperation before; // null: at the end of `block`
  MlirBlock block;
} Inserter;

static MlirValue create(const Inserter *at, const char *name, MlirType type, intptr_t nOperands,
                        const MlirValue *operands, intptr_t nAttributes,
                        const ShardNamedAttribute *attributes) {
  return mlirOperationGetResult(shardOpCreate(at->block, at->before, at->location, name, 1, &type,
                                              nOperands, operands, nAttributes, attributes, 0,
                                              NULL),
                                0);
}

static MlirValue createBinary(const Inserter *at, const char *name, MlirValue a, MlirValue b) {
  MlirValue operands[2] = {a, b};
  return create(at, name, mlirValueGetType(a), 2, operands, 0, NULL);
}

static MlirValue createIndex(const Inserter *at, int64_t value) {
  MlirType index = mlirIndexTypeGet(at->context);
  ShardNamedAttribute attribute = {"value", mlirIntegerAttrGet(index, value)};
  return create(at, "arith.constant", index, 0, NULL, 1, &attribute);
}

//===----------------------------------------------------------------------===//
// affine.apply
//===----------------------------------------------------------------------===//

/// The value of an expression; null for a form that maps do not have.
static MlirValue expandExpr(const Inserter *at, MlirAffineExpr expr, intptr_t nDims,
                            MlirOperation apply) {
  MlirValue none = {NULL};
  if (mlirAffineExprIsADim(expr))
    return mlirOperationGetOperand(apply, mlirAffineDimExprGetPosition(expr));
  if (mlirAffineExprIsASymbol(expr))
    return mlirOperationGetOperand(apply, nDims + mlirAffineSymbolExprGetPosition(expr));
  if (mlirAffineExprIsAConstant(expr))
    return createIndex(at, mlirAffineConstantExprGetValue(expr));
  if (!mlirAffineExprIsABinary(expr))
    return none;
  MlirValue a = expandExpr(at, mlirAffineBinaryOpExprGetLHS(expr), nDims, apply);
  MlirValue b = expandExpr(at, mlirAffineBinaryOpExprGetRHS(expr), nDims, apply);
  if (mlirValueIsNull(a) || mlirValueIsNull(b))
    return none;
  if (mlirAffineExprIsAAdd(expr))
    return createBinary(at, "arith.addi", a, b);
  if (mlirAffineExprIsAMul(expr))
    return createBinary(at, "arith.muli", a, b);
  if (mlirAffineExprIsACeilDiv(expr))
    return createBinary(at, "arith.ceildivsi", a, b);
  MlirValue quotient = createBinary(at, "arith.floordivsi", a, b);
  if (mlirAffineExprIsAFloorDiv(expr))
    return quotient;
  return createBinary(at, "arith.subi", a, createBinary(at, "arith.muli", quotient, b)); // mod
}

static MlirLogicalResult expandApply(MlirOperation op) {
  MlirAffineMap map = mlirAffineMapAttrGetValue(shardOpGetAttribute(op, "map"));
  Inserter at = {mlirOperationGetContext(op), mlirOperationGetLocation(op), op, {NULL}};
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

typedef MlirValue (*BodyBuilder)(const Inserter *at, MlirBlock body);

static MlirValue buildMaximum(const Inserter *at, MlirBlock body) {
  return createBinary(at, "arith.maximumf", mlirBlockGetArgument(body, 0),
                      mlirBlockGetArgument(body, 1));
}
static MlirValue buildSum(const Inserter *at, MlirBlock body) {
  return createBinary(at, "arith.addf", mlirBlockGetArgument(body, 0),
                      mlirBlockGetArgument(body, 1));
}
static MlirValue buildExponential(const Inserter *at, MlirBlock body) {
  MlirValue difference =
      createBinary(at, "arith.subf", mlirBlockGetArgument(body, 0), mlirBlockGetArgument(body, 1));
  return create(at, "math.exp", mlirValueGetType(difference), 1, &difference, 0, NULL);
}
static MlirValue buildQuotient(const Inserter *at, MlirBlock body) {
  return createBinary(at, "arith.divf", mlirBlockGetArgument(body, 0),
                      mlirBlockGetArgument(body, 1));
}

typedef struct Softmax {
  Inserter at;
  ShardArena *arena;
  intptr_t rank, dim;
  MlirType full, reduced;
  MlirAttribute identity, without; // maps: all dimensions, and all but `dim`
} Softmax;

/// A linalg.generic over all dimensions of the input; the last operand is written.
static MlirValue createGeneric(const Softmax *s, MlirType type, intptr_t nOperands,
                               const MlirValue *operands, const MlirAttribute *maps, bool reduces,
                               BodyBuilder build) {
  MlirContext context = s->at.context;
  MlirAttribute *iterators = SHARD_ARENA_ARRAY(s->arena, MlirAttribute, s->rank + 1);
  for (intptr_t d = 0; d < s->rank; ++d)
    iterators[d] = mlirAttributeParseGet(
        context,
        mlirStringRefCreateFromCString(reduces && d == s->dim ? "#linalg.iterator_type<reduction>"
                                                              : "#linalg.iterator_type<parallel>"));
  MlirType element = mlirShapedTypeGetElementType(type), elements[3] = {element, element, element};
  MlirLocation locations[3] = {s->at.location, s->at.location, s->at.location};
  MlirBlock body = mlirBlockCreate(nOperands, elements, locations);
  Inserter inside = {context, s->at.location, {NULL}, body};
  MlirValue result = build(&inside, body);
  shardOpCreate(body, (MlirOperation){NULL}, s->at.location, "linalg.yield", 0, NULL, 1, &result, 0,
                NULL, 0, NULL);
  MlirRegion region = mlirRegionCreate();
  mlirRegionAppendOwnedBlock(region, body);
  int32_t segments[2] = {(int32_t)nOperands - 1, 1};
  ShardNamedAttribute attributes[] = {
      {"indexing_maps", mlirArrayAttrGet(context, nOperands, maps)},
      {"iterator_types", mlirArrayAttrGet(context, s->rank, iterators)},
      {"operandSegmentSizes", mlirDenseI32ArrayGet(context, 2, segments)}};
  return mlirOperationGetResult(shardOpCreate(s->at.block, s->at.before, s->at.location,
                                              "linalg.generic", 1, &type, nOperands, operands, 3,
                                              attributes, 1, &region),
                                0);
}

static MlirValue createFilled(const Softmax *s, double value) {
  MlirType element = mlirShapedTypeGetElementType(s->reduced);
  ShardNamedAttribute attribute = {"value", mlirFloatAttrDoubleGet(s->at.context, element, value)};
  MlirValue operands[2] = {create(&s->at, "arith.constant", element, 0, NULL, 1, &attribute),
                           create(&s->at, "tensor.empty", s->reduced, 0, NULL, 0, NULL)};
  MlirRegion region = mlirRegionCreate();
  MlirType elements[2] = {element, element};
  MlirLocation locations[2] = {s->at.location, s->at.location};
  MlirBlock body = mlirBlockCreate(2, elements, locations);
  MlirValue in = mlirBlockGetArgument(body, 0);
  shardOpCreate(body, (MlirOperation){NULL}, s->at.location, "linalg.yield", 0, NULL, 1, &in, 0,
                NULL, 0, NULL);
  mlirRegionAppendOwnedBlock(region, body);
  int32_t segments[2] = {1, 1};
  ShardNamedAttribute sizes = {"operandSegmentSizes",
                               mlirDenseI32ArrayGet(s->at.context, 2, segments)};
  return mlirOperationGetResult(shardOpCreate(s->at.block, s->at.before, s->at.location,
                                              "linalg.fill", 1, &s->reduced, 2, operands, 1, &sizes,
                                              1, &region),
                                0);
}

/// max, then exp(x - max), then its sum, then the quotient: as upstream decomposes it.
static void expandSoftmax(MlirOperation op, ShardArena *arena) {
  MlirContext context = mlirOperationGetContext(op);
  int64_t dim = 0;
  shardAttrGetI64(shardOpGetAttribute(op, "dimension"), &dim);
  Softmax s = {.at = {context, mlirOperationGetLocation(op), op, {NULL}}, .arena = arena};
  s.full = mlirValueGetType(mlirOperationGetResult(op, 0));
  s.rank = mlirShapedTypeGetRank(s.full);
  s.dim = dim;
  int64_t *shape = SHARD_ARENA_ARRAY(arena, int64_t, s.rank);
  MlirAffineExpr *exprs = SHARD_ARENA_ARRAY(arena, MlirAffineExpr, s.rank);
  intptr_t n = 0;
  for (intptr_t d = 0; d < s.rank; ++d)
    if (d != dim) {
      shape[n] = mlirShapedTypeGetDimSize(s.full, d);
      exprs[n++] = mlirAffineDimExprGet(context, d);
    }
  s.reduced = shardTensorWithShape(s.full, n, shape);
  s.identity = mlirAffineMapAttrGet(mlirAffineMapMultiDimIdentityGet(context, s.rank));
  s.without = mlirAffineMapAttrGet(mlirAffineMapGet(context, s.rank, 0, n, exprs));
  MlirAttribute reduce[2] = {s.identity, s.without};
  MlirAttribute broadcast[3] = {s.identity, s.without, s.identity};
  MlirValue x = mlirOperationGetOperand(op, 0), init = mlirOperationGetOperand(op, 1);
  MlirValue first[2] = {x, createFilled(&s, -INFINITY)};
  MlirValue maximum = createGeneric(&s, s.reduced, 2, first, reduce, true, buildMaximum);
  MlirValue second[3] = {x, maximum, init};
  MlirValue powers = createGeneric(&s, s.full, 3, second, broadcast, false, buildExponential);
  MlirValue third[2] = {powers, createFilled(&s, 0.0)};
  MlirValue sum = createGeneric(&s, s.reduced, 2, third, reduce, true, buildSum);
  MlirValue fourth[3] = {powers, sum, init};
  MlirValue quotient = createGeneric(&s, s.full, 3, fourth, broadcast, false, buildQuotient);
  mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, 0), quotient);
  mlirOperationDestroy(op);
}

typedef struct OpList {
  ShardArena *arena;
  MlirOperation *softmax, *apply;
  size_t nSoftmax, nApply, softmaxCapacity, applyCapacity;
} OpList;

static MlirLogicalResult collect(void *user, MlirOperation op) {
  OpList *list = user;
  if (shardOpIs(op, "linalg.softmax")) {
    list->softmax = shardArenaGrow(list->arena, list->softmax, list->nSoftmax,
                                   &list->softmaxCapacity, list->nSoftmax + 1, sizeof(op));
    list->softmax[list->nSoftmax++] = op;
  } else if (shardOpIs(op, "affine.apply")) {
    list->apply = shardArenaGrow(list->arena, list->apply, list->nApply, &list->applyCapacity,
                                 list->nApply + 1, sizeof(op));
    list->apply[list->nApply++] = op;
  }
  return mlirLogicalResultSuccess();
}

MlirLogicalResult shardImportExpandOps(const ShardImport *import) {
  OpList list = {.arena = import->arena};
  for (intptr_t i = 0; i < import->nFunctions; ++i)
    shardWalk(import->functions[i], NULL, collect, &list);
  for (size_t i = 0; i < list.nSoftmax; ++i)
    expandSoftmax(list.softmax[i], import->arena);
  for (size_t i = 0; i < list.nApply; ++i)
    if (mlirLogicalResultIsFailure(expandApply(list.apply[i])))
      return mlirLogicalResultFailure();
  return mlirLogicalResultSuccess();
}
