//===- FoldIndices.c - Positions that do not depend on data -------*- C -*-===//
// `tensor.extract %table[...]` in a loop body whose positions are functions of the loops alone
// becomes an ordinary operand with an indexing map, so that the dimension rules see which
// dimensions go together. What stays is indexed by data: an embedding, a gather of experts.
//===----------------------------------------------------------------------===//
#include "Evaluate.h"
#include "ImportParts.h"

#include "../Core/Constants.h"
#include "../Core/Insert.h"

#include "mlir-c/AffineExpr.h"
#include "mlir-c/BuiltinTypes.h"

#include <string.h>

typedef struct Folder {
  MlirContext context;
  ShardArena *arena;
  ShardEvaluator *evaluator;
  bool constants; // counting constants become loops; else lookups become operands
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
      ShardInsert at = shardInsertBefore(extract);
      if (p.loop < 0)
        mlirOperationSetOperand(extract, r + 1, shardInsertIndexConstant(&at, p.start));
      else if (p.start == 0 && p.step == 1)
        mlirOperationSetOperand(extract, r + 1, shardInsertLoopIndex(&at, p.loop));
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

/// start + the sum of steps[d] * (loop d).
typedef struct Counting {
  intptr_t rank;
  const int64_t *steps;
  int64_t start;
  MlirType element;
} Counting;

static void buildCount(void *user, const ShardInsert *at, const MlirValue *arguments,
                       MlirValue *yielded) {
  const Counting *counting = user;
  (void)arguments;
  MlirValue sum = {NULL};
  for (intptr_t d = 0; d < counting->rank; ++d) {
    int64_t step = counting->steps[d];
    if (step == 0)
      continue;
    MlirValue term = shardInsertLoopIndex(at, d);
    if (step != 1)
      term = shardInsertBinary(at, "arith.muli", term, shardInsertIndexConstant(at, step));
    sum = mlirValueIsNull(sum) ? term : shardInsertBinary(at, "arith.addi", sum, term);
  }
  if (counting->start != 0)
    sum = shardInsertBinary(at, "arith.addi", sum, shardInsertIndexConstant(at, counting->start));
  yielded[0] = shardInsertIntegerCast(at, sum, counting->element);
}

/// `dense<[0, 1, 2, ...]>` and the like become a loop over linalg.index: a shard of it is an
/// offset, where a constant would be cut, or be an argument.
static void foldCountingConstant(Folder *folder, MlirOperation op) {
  MlirValue constant = mlirOperationGetResult(op, 0);
  MlirType type = mlirValueGetType(constant);
  if (!mlirTypeIsARankedTensor(type) || shardValueIsUnused(constant))
    return;
  MlirType element = mlirShapedTypeGetElementType(type);
  if (!mlirTypeIsAIndex(element) &&
      !(mlirTypeIsAInteger(element) && mlirIntegerTypeGetWidth(element) >= 8))
    return;
  MlirAttribute attribute = shardOpGetAttribute(op, "value");
  intptr_t rank = mlirShapedTypeGetRank(type);
  if (!mlirAttributeIsADenseElements(attribute) || shardConstantIsSplat(attribute) ||
      shardTypeElementCount(type) < 2)
    return;
  const int64_t *values = shardEvaluateTensor(folder->evaluator, constant);
  int64_t *extents = SHARD_ARENA_ARRAY(folder->arena, int64_t, rank + 1);
  int64_t *steps = SHARD_ARENA_ARRAY(folder->arena, int64_t, rank + 1), start;
  char *iterators = shardArenaAllocate(folder->arena, (size_t)rank + 1);
  for (intptr_t d = 0; d < rank; ++d) {
    extents[d] = mlirShapedTypeGetDimSize(type, d);
    iterators[d] = 'p';
  }
  iterators[rank] = 0;
  if (!values || !shardFitAffine(values, rank, extents, &start, steps))
    return;
  ShardInsert at = shardInsertBefore(op);
  MlirValue init = shardInsertEmpty(&at, type);
  MlirAffineMap map = mlirAffineMapMultiDimIdentityGet(folder->context, rank);
  Counting counting = {rank, steps, start, element};
  MlirOperation generic =
      shardInsertGeneric(&at, iterators, 0, 1, &init, &map, buildCount, &counting);
  mlirValueReplaceAllUsesOfWith(constant, mlirOperationGetResult(generic, 0));
  mlirOperationDestroy(op);
}

static void foldBlock(void *user, MlirBlock block) {
  Folder *folder = user;
  intptr_t n;
  MlirOperation *ops = shardBlockOps(block, folder->arena, &n);
  for (intptr_t i = 0; i < n; ++i)
    if (folder->constants && shardOpIs(ops[i], "arith.constant"))
      foldCountingConstant(folder, ops[i]);
    else if (!folder->constants && shardOpIs(ops[i], "linalg.generic"))
      foldGeneric(folder, ops[i]);
    else
      shardVisitControlBlocks(ops[i], foldBlock, folder);
}

static void foldAll(const ShardImport *import, bool constants) {
  Folder folder = {import->context, import->arena, shardEvaluatorCreate(import->arena), constants};
  for (intptr_t i = 0; i < import->nFunctions; ++i)
    foldBlock(&folder, shardFuncGetBody(import->functions[i]));
  shardEvaluatorDestroy(folder.evaluator);
}

void shardImportFoldIndices(const ShardImport *import) {
  foldAll(import, false);
  shardImportPrune(import); // index arrays that nothing reads any more
  foldAll(import, true);
}
