//===- Insert.c - Making ops at a place ---------------------------*- C -*-===//
#include "Insert.h"

#include "Arena.h"

#include "mlir-c/AffineExpr.h"
#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/Dialect/Linalg.h"

#include <assert.h>
#include <string.h>

static const MlirOperation none = {NULL};

ShardInsert shardInsertBefore(MlirOperation op) {
  return (ShardInsert){.context = mlirOperationGetContext(op),
                       .location = mlirOperationGetLocation(op),
                       .before = op};
}

MlirValue shardInsertOp(const ShardInsert *at, const char *name, MlirType type, intptr_t nOperands,
                        const MlirValue *operands, intptr_t nAttributes,
                        const ShardNamedAttribute *attributes) {
  return mlirOperationGetResult(shardOpCreate(at->block, at->before, at->location, name, 1, &type,
                                              nOperands, operands, nAttributes, attributes, 0,
                                              NULL),
                                0);
}

MlirValue shardInsertBinary(const ShardInsert *at, const char *name, MlirValue a, MlirValue b) {
  MlirValue operands[2] = {a, b};
  return shardInsertOp(at, name, mlirValueGetType(a), 2, operands, 0, NULL);
}

MlirValue shardInsertSelect(const ShardInsert *at, MlirValue condition, MlirValue a, MlirValue b) {
  MlirValue operands[3] = {condition, a, b};
  return shardInsertOp(at, "arith.select", mlirValueGetType(a), 3, operands, 0, NULL);
}

MlirValue shardInsertCompare(const ShardInsert *at, int predicate, MlirValue a, MlirValue b) {
  MlirValue operands[2] = {a, b};
  bool isFloat = mlirTypeIsAFloat(mlirValueGetType(a));
  ShardNamedAttribute attribute = {
      "predicate", mlirIntegerAttrGet(mlirIntegerTypeGet(at->context, 64), predicate)};
  return shardInsertOp(at, isFloat ? "arith.cmpf" : "arith.cmpi",
                       mlirIntegerTypeGet(at->context, 1), 2, operands, 1, &attribute);
}

MlirValue shardInsertScalar(const ShardInsert *at, MlirAttribute value) {
  ShardNamedAttribute attribute = {"value", value};
  return shardInsertOp(at, "arith.constant", mlirAttributeGetType(value), 0, NULL, 1, &attribute);
}

MlirAttribute shardAttrNumber(MlirType element, double value) {
  return mlirTypeIsAFloat(element)
             ? mlirFloatAttrDoubleGet(mlirTypeGetContext(element), element, value)
             : mlirIntegerAttrGet(element, (int64_t)value);
}

MlirValue shardInsertIndexConstant(const ShardInsert *at, int64_t value) {
  return shardInsertScalar(at, mlirIntegerAttrGet(mlirIndexTypeGet(at->context), value));
}

MlirValue shardInsertLoopIndex(const ShardInsert *at, int64_t loop) {
  ShardNamedAttribute dim = {"dim", shardAttrI64(at->context, loop)};
  return shardInsertOp(at, "linalg.index", mlirIndexTypeGet(at->context), 0, NULL, 1, &dim);
}

MlirValue shardInsertIntegerCast(const ShardInsert *at, MlirValue value, MlirType type) {
  MlirType from = mlirValueGetType(value);
  if (mlirTypeEqual(from, type))
    return value;
  const char *name = "arith.index_cast";
  if (!mlirTypeIsAIndex(from) && !mlirTypeIsAIndex(type))
    name = mlirIntegerTypeGetWidth(from) < mlirIntegerTypeGetWidth(type) ? "arith.extsi"
                                                                         : "arith.trunci";
  return shardInsertOp(at, name, type, 1, &value, 0, NULL);
}

MlirValue shardInsertEmpty(const ShardInsert *at, MlirType type) {
  return shardInsertOp(at, "tensor.empty", type, 0, NULL, 0, NULL);
}

static MlirBlock createBody(const ShardInsert *at, intptr_t n, const MlirValue *operands) {
  ShardArena *scratch = shardArenaCreate();
  MlirType *types = SHARD_ARENA_ARRAY(scratch, MlirType, n);
  MlirLocation *locations = SHARD_ARENA_ARRAY(scratch, MlirLocation, n);
  for (intptr_t i = 0; i < n; ++i) {
    MlirType type = mlirValueGetType(operands[i]);
    types[i] = mlirTypeIsAShaped(type) ? mlirShapedTypeGetElementType(type) : type;
    locations[i] = at->location;
  }
  MlirBlock body = mlirBlockCreate(n, types, locations);
  shardArenaDestroy(scratch);
  return body;
}

MlirValue shardCreateFilled(MlirBlock block, MlirOperation before, MlirLocation location,
                            const char *name, MlirValue input, MlirValue init) {
  MlirType type = mlirValueGetType(init);
  MlirValue operands[2] = {input, init};
  int32_t segments[2] = {1, 1};
  ShardNamedAttribute sizes = {"operandSegmentSizes",
                               mlirDenseI32ArrayGet(mlirLocationGetContext(location), 2, segments)};
  MlirRegion region = mlirRegionCreate();
  MlirOperation op =
      shardOpCreate(block, before, location, name, 1, &type, 2, operands, 1, &sizes, 1, &region);
  mlirLinalgFillBuiltinNamedOpRegion(op);
  return mlirOperationGetResult(op, 0);
}

MlirValue shardInsertFill(const ShardInsert *at, MlirType type, MlirAttribute value) {
  MlirValue scalar = shardInsertScalar(at, value);
  return shardCreateFilled(at->block, at->before, at->location, "linalg.fill", scalar,
                           shardInsertEmpty(at, type));
}

MlirOperation shardInsertGeneric(const ShardInsert *at, const char *iterators, intptr_t nInputs,
                                 intptr_t nOutputs, const MlirValue *operands,
                                 const MlirAffineMap *maps, ShardBodyBuilder build, void *user) {
  ShardArena *scratch = shardArenaCreate();
  intptr_t nLoops = (intptr_t)strlen(iterators), n = nInputs + nOutputs;
  MlirAttribute parallel = mlirAttributeParseGet(
      at->context, mlirStringRefCreateFromCString("#linalg.iterator_type<parallel>"));
  MlirAttribute reduction = mlirAttributeParseGet(
      at->context, mlirStringRefCreateFromCString("#linalg.iterator_type<reduction>"));
  MlirAttribute *kinds = SHARD_ARENA_ARRAY(scratch, MlirAttribute, nLoops);
  for (intptr_t l = 0; l < nLoops; ++l)
    kinds[l] = iterators[l] == 'p' ? parallel : reduction;
  MlirAttribute *mapAttributes = SHARD_ARENA_ARRAY(scratch, MlirAttribute, n);
  MlirValue *arguments = SHARD_ARENA_ARRAY(scratch, MlirValue, n);
  MlirType *results = SHARD_ARENA_ARRAY(scratch, MlirType, nOutputs);
  MlirValue *yielded = SHARD_ARENA_ARRAY(scratch, MlirValue, nOutputs);
  MlirBlock body = createBody(at, n, operands);
  for (intptr_t i = 0; i < n; ++i) {
    mapAttributes[i] = mlirAffineMapAttrGet(maps[i]);
    arguments[i] = mlirBlockGetArgument(body, i);
    if (i >= nInputs)
      results[i - nInputs] = mlirValueGetType(operands[i]);
  }
  ShardInsert inside = {.context = at->context, .location = at->location, .block = body};
  build(user, &inside, arguments, yielded);
  shardOpCreate(body, none, at->location, "linalg.yield", 0, NULL, nOutputs, yielded, 0, NULL, 0,
                NULL);
  MlirRegion region = mlirRegionCreate();
  mlirRegionAppendOwnedBlock(region, body);
  int32_t segments[2] = {(int32_t)nInputs, (int32_t)nOutputs};
  ShardNamedAttribute attributes[] = {
      {"indexing_maps", mlirArrayAttrGet(at->context, n, mapAttributes)},
      {"iterator_types", mlirArrayAttrGet(at->context, nLoops, kinds)},
      {"operandSegmentSizes", mlirDenseI32ArrayGet(at->context, 2, segments)}};
  MlirOperation generic = shardOpCreate(at->block, at->before, at->location, "linalg.generic",
                                        nOutputs, results, n, operands, 3, attributes, 1, &region);
  shardArenaDestroy(scratch);
  return generic;
}

MlirAffineMap shardMapOfDims(MlirContext context, intptr_t nDims, intptr_t n, const int64_t *dims) {
  MlirAffineExpr exprs[64];
  assert(n <= 64);
  for (intptr_t i = 0; i < n; ++i)
    exprs[i] = mlirAffineDimExprGet(context, dims[i]);
  return mlirAffineMapGet(context, nDims, 0, n, exprs);
}

MlirAffineMap shardMapWithout(MlirContext context, intptr_t nDims, intptr_t dropped) {
  int64_t dims[64];
  intptr_t n = 0;
  assert(nDims <= 64);
  for (intptr_t d = 0; d < nDims; ++d)
    if (d != dropped)
      dims[n++] = d;
  return shardMapOfDims(context, nDims, n, dims);
}
