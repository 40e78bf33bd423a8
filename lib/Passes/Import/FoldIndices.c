//===- FoldIndices.c - Positions that do not depend on data -------*- C -*-===//
// `tensor.extract %table[...]` in a loop body whose positions are functions of the loops alone
// becomes an ordinary operand with an indexing map, so that the dimension rules see which
// dimensions go together. What stays is indexed by data: an embedding, a gather of experts.
//===----------------------------------------------------------------------===//
#include "Evaluate.h"
#include "ImportParts.h"

#include "../Core/Constants.h"

#include "mlir-c/AffineExpr.h"
#include "mlir-c/BuiltinTypes.h"

#include <string.h>

typedef struct Folder {
  MlirContext context;
  ShardArena *arena;
  ShardEvaluator *evaluator;
} Folder;

/// A position: start + step * (loop), loop -1 when constant.
typedef struct Position {
  bool known;
  intptr_t loop;
  int64_t start, step;
} Position;

static Position findPosition(Folder *folder, MlirOperation op, intptr_t nLoops,
                             const int64_t *extents, MlirValue index) {
  Position unknown = {false, -1, 0, 0};
  ShardLoopValues values;
  if (!shardEvaluateInBody(folder->evaluator, op, nLoops, extents, index, &values) ||
      values.count == 0)
    return unknown;
  int64_t *boxExtents = SHARD_ARENA_ARRAY(folder->arena, int64_t, nLoops + 1);
  int64_t *steps = SHARD_ARENA_ARRAY(folder->arena, int64_t, nLoops + 1);
  intptr_t *loops = SHARD_ARENA_ARRAY(folder->arena, intptr_t, nLoops + 1), rank = 0;
  for (intptr_t d = 0; d < nLoops; ++d)
    if (values.active[d]) {
      loops[rank] = d;
      boxExtents[rank++] = extents[d];
    }
  Position position = {true, -1, 0, 0};
  if (!shardFitAffine(values.values, rank, boxExtents, &position.start, steps))
    return unknown;
  for (intptr_t k = 0; k < rank; ++k)
    if (steps[k] != 0) {
      if (position.loop >= 0)
        return unknown;
      position.loop = loops[k];
      position.step = steps[k];
    }
  return position;
}

static MlirValue createIndexConstant(Folder *folder, MlirOperation before, int64_t value) {
  MlirType index = mlirIndexTypeGet(folder->context);
  ShardNamedAttribute attribute = {"value", mlirIntegerAttrGet(index, value)};
  return mlirOperationGetResult(shardOpCreate((MlirBlock){NULL}, before,
                                              mlirOperationGetLocation(before), "arith.constant", 1,
                                              &index, 0, NULL, 1, &attribute, 0, NULL),
                                0);
}

static MlirValue createLoopIndex(Folder *folder, MlirOperation before, intptr_t loop) {
  MlirType index = mlirIndexTypeGet(folder->context);
  ShardNamedAttribute attribute = {"dim", shardAttrI64(folder->context, loop)};
  return mlirOperationGetResult(shardOpCreate((MlirBlock){NULL}, before,
                                              mlirOperationGetLocation(before), "linalg.index", 1,
                                              &index, 0, NULL, 1, &attribute, 0, NULL),
                                0);
}

/// The table cut to what the loops read: [start, start + step * extent) of each dimension.
static MlirValue sliceTable(Folder *folder, MlirOperation op, MlirValue table,
                            const Position *positions, const int64_t *extents) {
  MlirType type = mlirValueGetType(table);
  intptr_t rank = mlirShapedTypeGetRank(type);
  int64_t *offsets = SHARD_ARENA_ARRAY(folder->arena, int64_t, rank + 1);
  int64_t *sizes = SHARD_ARENA_ARRAY(folder->arena, int64_t, rank + 1);
  int64_t *strides = SHARD_ARENA_ARRAY(folder->arena, int64_t, rank + 1);
  bool whole = true;
  for (intptr_t r = 0; r < rank; ++r) {
    offsets[r] = positions[r].start;
    sizes[r] = positions[r].loop < 0 ? 1 : extents[positions[r].loop];
    strides[r] = positions[r].loop < 0 ? 1 : positions[r].step;
    whole &= sizes[r] == mlirShapedTypeGetDimSize(type, r);
  }
  if (whole)
    return table; // sizes equal and inside the bounds: start 0, step 1
  MlirType sliced = shardTensorWithShape(type, rank, sizes);
  int32_t segments[4] = {1, 0, 0, 0};
  ShardNamedAttribute attributes[] = {
      {"static_offsets", shardAttrI64Array(folder->context, rank, offsets)},
      {"static_sizes", shardAttrI64Array(folder->context, rank, sizes)},
      {"static_strides", shardAttrI64Array(folder->context, rank, strides)},
      {"operandSegmentSizes", mlirDenseI32ArrayGet(folder->context, 4, segments)}};
  return mlirOperationGetResult(shardOpCreate((MlirBlock){NULL}, op, mlirOperationGetLocation(op),
                                              "tensor.extract_slice", 1, &sliced, 1, &table, 4,
                                              attributes, 0, NULL),
                                0);
}

MlirValue shardGenericAddInput(MlirOperation op, MlirValue value, MlirAffineMap map,
                               ShardArena *arena) {
  MlirContext context = mlirOperationGetContext(op);
  intptr_t nOperands = mlirOperationGetNumOperands(op), nResults = mlirOperationGetNumResults(op);
  intptr_t at = nOperands - nResults;
  MlirAttribute maps = shardOpGetAttribute(op, "indexing_maps");
  MlirValue *operands = SHARD_ARENA_ARRAY(arena, MlirValue, nOperands + 1);
  MlirAttribute *newMaps = SHARD_ARENA_ARRAY(arena, MlirAttribute, nOperands + 1);
  for (intptr_t i = 0; i <= nOperands; ++i) {
    intptr_t old = i < at ? i : i - 1;
    operands[i] = i == at ? value : mlirOperationGetOperand(op, old);
    newMaps[i] = i == at ? mlirAffineMapAttrGet(map) : mlirArrayAttrGetElement(maps, old);
  }
  mlirOperationSetOperands(op, nOperands + 1, operands);
  shardOpSetAttribute(op, "indexing_maps", mlirArrayAttrGet(context, nOperands + 1, newMaps));
  int32_t segments[2] = {(int32_t)(at + 1), (int32_t)nResults};
  shardOpSetAttribute(op, "operandSegmentSizes", mlirDenseI32ArrayGet(context, 2, segments));
  return mlirBlockInsertArgument(shardOpBody(op), at,
                                 mlirShapedTypeGetElementType(mlirValueGetType(value)),
                                 mlirOperationGetLocation(op));
}

static bool isDefinedInside(MlirValue value, MlirBlock body) {
  MlirOperation definition = shardValueDefiningOp(value);
  return mlirOperationIsNull(definition) ? mlirBlockEqual(mlirBlockArgumentGetOwner(value), body)
                                         : mlirBlockEqual(mlirOperationGetBlock(definition), body);
}

static void foldExtract(Folder *folder, MlirOperation generic, intptr_t nLoops,
                        const int64_t *extents, MlirOperation extract) {
  MlirValue table = mlirOperationGetOperand(extract, 0);
  MlirType type = mlirValueGetType(table);
  intptr_t rank = mlirShapedTypeGetRank(type);
  Position *positions = SHARD_ARENA_ARRAY(folder->arena, Position, rank + 1);
  bool foldable = !isDefinedInside(table, shardOpBody(generic));
  for (intptr_t r = 0; r < rank; ++r) {
    Position p =
        findPosition(folder, generic, nLoops, extents, mlirOperationGetOperand(extract, r + 1));
    positions[r] = p;
    int64_t size = mlirShapedTypeGetDimSize(type, r), reach = 0, last = 0;
    bool inside = p.known && p.start >= 0 && p.step >= 0 &&
                  (p.loop < 0 || !__builtin_mul_overflow(p.step, extents[p.loop] - 1, &reach)) &&
                  !__builtin_add_overflow(p.start, reach, &last) && last < size;
    foldable &= inside;
  }
  if (!foldable) {
    // Data indexes it somewhere; the other positions are still said plainly.
    for (intptr_t r = 0; r < rank; ++r) {
      Position p = positions[r];
      MlirOperation old = shardValueDefiningOp(mlirOperationGetOperand(extract, r + 1));
      if (!p.known || (!mlirOperationIsNull(old) &&
                       (shardOpIs(old, "linalg.index") || shardOpIs(old, "arith.constant"))))
        continue;
      if (p.loop < 0)
        mlirOperationSetOperand(extract, r + 1, createIndexConstant(folder, extract, p.start));
      else if (p.start == 0 && p.step == 1)
        mlirOperationSetOperand(extract, r + 1, createLoopIndex(folder, extract, p.loop));
    }
    return;
  }
  MlirAffineExpr *exprs = SHARD_ARENA_ARRAY(folder->arena, MlirAffineExpr, rank + 1);
  for (intptr_t r = 0; r < rank; ++r)
    exprs[r] = positions[r].loop < 0 ? mlirAffineConstantExprGet(folder->context, 0)
                                     : mlirAffineDimExprGet(folder->context, positions[r].loop);
  MlirValue source = sliceTable(folder, generic, table, positions, extents);
  MlirValue argument = shardGenericAddInput(
      generic, source, mlirAffineMapGet(folder->context, nLoops, 0, rank, exprs), folder->arena);
  mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(extract, 0), argument);
  mlirOperationDestroy(extract);
}

/// A cf.assert that holds at every point of the loops goes.
static void foldAssert(Folder *folder, MlirOperation generic, intptr_t nLoops,
                       const int64_t *extents, MlirOperation op) {
  ShardLoopValues values;
  if (!shardEvaluateInBody(folder->evaluator, generic, nLoops, extents,
                           mlirOperationGetOperand(op, 0), &values))
    return;
  for (int64_t i = 0; i < values.count; ++i)
    if (!values.values[i])
      return;
  mlirOperationDestroy(op);
}

static void foldGeneric(Folder *folder, MlirOperation generic) {
  bool any = false;
  for (MlirOperation op = mlirBlockGetFirstOperation(shardOpBody(generic));
       !mlirOperationIsNull(op) && !any; op = mlirOperationGetNextInBlock(op))
    any = shardOpIs(op, "tensor.extract") || shardOpIs(op, "cf.assert");
  intptr_t nLoops;
  int64_t *extents;
  if (!any || !shardLoopExtents(generic, &nLoops, &extents, folder->arena))
    return;
  intptr_t n;
  MlirOperation *ops = shardBlockOps(shardOpBody(generic), folder->arena, &n);
  for (intptr_t i = 0; i < n; ++i)
    if (shardOpIs(ops[i], "cf.assert"))
      foldAssert(folder, generic, nLoops, extents, ops[i]);
  for (intptr_t i = 0; i < n; ++i)
    if (shardOpIs(ops[i], "tensor.extract"))
      foldExtract(folder, generic, nLoops, extents, ops[i]);
  shardPruneGenericBody(generic, folder->arena);
}

//===----------------------------------------------------------------------===//
// Constants that count
//===----------------------------------------------------------------------===//

static MlirValue createScalarConstant(MlirBlock body, MlirLocation location, MlirType type,
                                      int64_t value) {
  ShardNamedAttribute attribute = {"value", mlirIntegerAttrGet(type, value)};
  return mlirOperationGetResult(shardOpCreate(body, (MlirOperation){NULL}, location,
                                              "arith.constant", 1, &type, 0, NULL, 1, &attribute, 0,
                                              NULL),
                                0);
}

static MlirValue createBinary(MlirBlock body, MlirLocation location, const char *name, MlirValue a,
                              MlirValue b) {
  MlirType type = mlirValueGetType(a);
  MlirValue operands[2] = {a, b};
  return mlirOperationGetResult(shardOpCreate(body, (MlirOperation){NULL}, location, name, 1, &type,
                                              2, operands, 0, NULL, 0, NULL),
                                0);
}

/// `dense<[0, 1, 2, ...]>` and the like become a loop over linalg.index: a shard of it is an
/// offset, where a constant would be cut, or be an argument.
static void foldCountingConstant(Folder *folder, MlirOperation op) {
  MlirValue constant = mlirOperationGetResult(op, 0);
  MlirType type = mlirValueGetType(constant);
  if (!mlirTypeIsARankedTensor(type) || shardValueIsUnused(constant))
    return;
  MlirType element = mlirShapedTypeGetElementType(type);
  bool isIndex = mlirTypeIsAIndex(element);
  if (!isIndex && !(mlirTypeIsAInteger(element) && mlirIntegerTypeGetWidth(element) >= 8))
    return;
  MlirAttribute attribute = shardOpGetAttribute(op, "value");
  intptr_t rank = mlirShapedTypeGetRank(type);
  if (!mlirAttributeIsADenseElements(attribute) || shardConstantIsSplat(attribute) ||
      shardTypeElementCount(type) < 2)
    return;
  const int64_t *values = shardEvaluateTensor(folder->evaluator, constant);
  int64_t *extents = SHARD_ARENA_ARRAY(folder->arena, int64_t, rank + 1);
  int64_t *steps = SHARD_ARENA_ARRAY(folder->arena, int64_t, rank + 1), start;
  for (intptr_t d = 0; d < rank; ++d)
    extents[d] = mlirShapedTypeGetDimSize(type, d);
  if (!values || !shardFitAffine(values, rank, extents, &start, steps))
    return;

  MlirContext context = folder->context;
  MlirLocation location = mlirOperationGetLocation(op);
  MlirBlock body = mlirBlockCreate(1, &element, &location);
  MlirOperation none = {NULL};
  MlirType index = mlirIndexTypeGet(context);
  MlirValue sum = {NULL};
  for (intptr_t d = 0; d < rank; ++d) {
    if (steps[d] == 0)
      continue;
    ShardNamedAttribute dim = {"dim", shardAttrI64(context, d)};
    MlirValue term = mlirOperationGetResult(
        shardOpCreate(body, none, location, "linalg.index", 1, &index, 0, NULL, 1, &dim, 0, NULL),
        0);
    if (steps[d] != 1)
      term = createBinary(body, location, "arith.muli", term,
                          createScalarConstant(body, location, index, steps[d]));
    sum = mlirValueIsNull(sum) ? term : createBinary(body, location, "arith.addi", sum, term);
  }
  if (start != 0)
    sum = createBinary(body, location, "arith.addi", sum,
                       createScalarConstant(body, location, index, start));
  if (!isIndex)
    sum = mlirOperationGetResult(shardOpCreate(body, none, location, "arith.index_cast", 1,
                                               &element, 1, &sum, 0, NULL, 0, NULL),
                                 0);
  shardOpCreate(body, none, location, "linalg.yield", 0, NULL, 1, &sum, 0, NULL, 0, NULL);
  MlirOperation empty = shardOpCreate((MlirBlock){NULL}, op, location, "tensor.empty", 1, &type, 0,
                                      NULL, 0, NULL, 0, NULL);
  MlirAttribute map = mlirAffineMapAttrGet(mlirAffineMapMultiDimIdentityGet(context, rank));
  MlirAttribute parallel = mlirAttributeParseGet(
      context, mlirStringRefCreateFromCString("#linalg.iterator_type<parallel>"));
  MlirAttribute *iterators = SHARD_ARENA_ARRAY(folder->arena, MlirAttribute, rank + 1);
  for (intptr_t d = 0; d < rank; ++d)
    iterators[d] = parallel;
  int32_t segments[2] = {0, 1};
  ShardNamedAttribute attributes[] = {
      {"indexing_maps", mlirArrayAttrGet(context, 1, &map)},
      {"iterator_types", mlirArrayAttrGet(context, rank, iterators)},
      {"operandSegmentSizes", mlirDenseI32ArrayGet(context, 2, segments)}};
  MlirRegion region = mlirRegionCreate();
  mlirRegionAppendOwnedBlock(region, body);
  MlirValue init = mlirOperationGetResult(empty, 0);
  MlirOperation generic = shardOpCreate((MlirBlock){NULL}, op, location, "linalg.generic", 1, &type,
                                        1, &init, 3, attributes, 1, &region);
  mlirValueReplaceAllUsesOfWith(constant, mlirOperationGetResult(generic, 0));
  mlirOperationDestroy(op);
}

static void foldBlock(Folder *folder, MlirBlock block, bool constants) {
  intptr_t n;
  MlirOperation *ops = shardBlockOps(block, folder->arena, &n);
  for (intptr_t i = 0; i < n; ++i) {
    if (constants && shardOpIs(ops[i], "arith.constant")) {
      foldCountingConstant(folder, ops[i]);
      continue;
    }
    if (shardOpIs(ops[i], "linalg.generic")) {
      if (!constants)
        foldGeneric(folder, ops[i]);
      continue;
    }
    MlirStringRef name = shardOpGetName(ops[i]);
    if (name.length < 4 || memcmp(name.data, "scf.", 4) != 0)
      continue;
    for (intptr_t g = 0, ng = mlirOperationGetNumRegions(ops[i]); g < ng; ++g)
      for (MlirBlock inner = mlirRegionGetFirstBlock(mlirOperationGetRegion(ops[i], g));
           !mlirBlockIsNull(inner); inner = mlirBlockGetNextInRegion(inner))
        foldBlock(folder, inner, constants);
  }
}

void shardImportFoldIndices(const ShardImport *import) {
  Folder folder = {import->context, import->arena, shardEvaluatorCreate(import->arena)};
  for (intptr_t i = 0; i < import->nFunctions; ++i)
    foldBlock(&folder, shardFuncGetBody(import->functions[i]), false);
  shardEvaluatorDestroy(folder.evaluator);
  shardImportPrune(import); // index arrays that nothing reads any more
  folder.evaluator = shardEvaluatorCreate(import->arena);
  for (intptr_t i = 0; i < import->nFunctions; ++i)
    foldBlock(&folder, shardFuncGetBody(import->functions[i]), true);
  shardEvaluatorDestroy(folder.evaluator);
}
