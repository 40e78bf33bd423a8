//===- SplitLookups.c - A lookup is an op of its own --------------*- C -*-===//
// Elementwise fusion moves a tensor.extract by data into a body with other work (a sum of three
// embeddings and a norm). It moves out again: the lookup, with the index arithmetic and the asserts
// that are about its indices alone.
//===----------------------------------------------------------------------===//

#include "ImportParts.h"

#include "Evaluate.h"

#include "mlir-c/AffineExpr.h"
#include "mlir-c/BuiltinTypes.h"

#include <string.h>

enum { MAX_SLICE = 128, MAX_INPUTS = 32, MAX_DIMS = 32 };

/// What a value of a body is computed from.
typedef struct Slice {
  MlirBlock body;
  MlirOperation ops[MAX_SLICE]; // operands before users
  intptr_t nOps;
  bool inputs[MAX_INPUTS]; // block arguments
  bool loops[MAX_DIMS];    // by linalg.index
  bool good;
} Slice;

static void addToSlice(Slice *slice, MlirValue value, intptr_t nInputs, int depth) {
  if (mlirValueIsABlockArgument(value)) {
    if (!mlirBlockEqual(mlirBlockArgumentGetOwner(value), slice->body))
      return;
    intptr_t number = mlirBlockArgumentGetArgNumber(value);
    if (number >= nInputs || number >= MAX_INPUTS)
      slice->good = false;
    else
      slice->inputs[number] = true;
    return;
  }
  MlirOperation op = mlirOpResultGetOwner(value);
  if (!mlirBlockEqual(mlirOperationGetBlock(op), slice->body))
    return;
  for (intptr_t i = 0; i < slice->nOps; ++i)
    if (mlirOperationEqual(slice->ops[i], op))
      return;
  int64_t dim;
  if (shardOpIs(op, "linalg.index") && shardAttrGetI64(shardOpGetAttribute(op, "dim"), &dim)) {
    if (dim < MAX_DIMS)
      slice->loops[dim] = true;
    else
      slice->good = false;
  }
  if (depth > 64 || shardOpIs(op, "tensor.extract") || mlirOperationGetNumRegions(op) > 0) {
    slice->good = false;
    return;
  }
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op) && slice->good; ++i)
    addToSlice(slice, mlirOperationGetOperand(op, i), nInputs, depth + 1);
  if (slice->nOps == MAX_SLICE)
    slice->good = false;
  else
    slice->ops[slice->nOps++] = op;
}

static Slice sliceOperands(MlirOperation op, intptr_t first, MlirBlock body, intptr_t nInputs) {
  Slice slice = {.body = body, .good = true};
  for (intptr_t i = first; i < mlirOperationGetNumOperands(op) && slice.good; ++i)
    addToSlice(&slice, mlirOperationGetOperand(op, i), nInputs, 0);
  return slice;
}

static bool isWithin(const Slice *part, const Slice *whole) {
  for (intptr_t i = 0; i < MAX_INPUTS; ++i)
    if (part->inputs[i] && !whole->inputs[i])
      return false;
  for (intptr_t d = 0; d < MAX_DIMS; ++d)
    if (part->loops[d] && !whole->loops[d])
      return false;
  return part->good;
}

/// Marks the loops that the slice's inputs are read along. False for a map that is not of plain
/// dimensions.
static bool addInputLoops(MlirOperation op, Slice *slice, intptr_t nInputs) {
  MlirAttribute maps = shardIndexingMaps(op);
  for (intptr_t i = 0; i < nInputs; ++i) {
    if (!slice->inputs[i])
      continue;
    MlirAffineMap map = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, i));
    for (intptr_t r = 0; r < mlirAffineMapGetNumResults(map); ++r) {
      intptr_t dim = shardMapResultDim(map, r);
      if (dim >= 0 && dim < MAX_DIMS)
        slice->loops[dim] = true;
      else if (!mlirAffineExprIsAConstant(mlirAffineMapGetResult(map, r)))
        return false;
    }
  }
  return true;
}

static void renumberIndex(MlirOperation op, const intptr_t *newDim) {
  int64_t dim;
  if (shardOpIs(op, "linalg.index") && shardAttrGetI64(shardOpGetAttribute(op, "dim"), &dim))
    shardOpSetAttribute(op, "dim", shardAttrI64(mlirOperationGetContext(op), newDim[dim]));
}

/// Clones into the new body the slice, then what is asserted of it (which goes from the old one),
/// then the lookup, which it yields. `values`: what stands for the old body's arguments.
static void cloneLookup(const ShardImport *import, MlirOperation extract, const Slice *slice,
                        MlirBlock oldBody, intptr_t nInputs, const intptr_t *newDim,
                        ShardPointerMap *values, MlirBlock body) {
  MlirOperation none = {NULL};
  for (intptr_t i = 0; i < slice->nOps; ++i)
    renumberIndex(shardOpCloneMapped(slice->ops[i], body, none, values), newDim);
  intptr_t nOld;
  MlirOperation *old = shardBlockOps(oldBody, import->arena, &nOld);
  for (intptr_t i = 0; i < nOld; ++i) {
    if (!shardOpIs(old[i], "cf.assert"))
      continue;
    Slice about = sliceOperands(old[i], 0, oldBody, nInputs);
    if (!isWithin(&about, slice))
      continue;
    for (intptr_t k = 0; k < about.nOps; ++k) {
      int64_t clonedAlready;
      if (!shardPointerMapGet(values, mlirOperationGetResult(about.ops[k], 0).ptr, &clonedAlready))
        renumberIndex(shardOpCloneMapped(about.ops[k], body, none, values), newDim);
    }
    shardOpCloneMapped(old[i], body, none, values);
    mlirOperationDestroy(old[i]);
  }
  MlirOperation lookup = shardOpCloneMapped(extract, body, none, values);
  MlirValue found = mlirOperationGetResult(lookup, 0);
  shardOpCreate(body, none, mlirOperationGetLocation(extract), "linalg.yield", 0, NULL, 1, &found,
                0, NULL, 0, NULL);
}

static void moveOut(const ShardImport *import, MlirOperation op, MlirOperation extract,
                    Slice *slice, intptr_t nLoops, const int64_t *extents, intptr_t nInputs) {
  MlirContext context = import->context;
  ShardArena *arena = import->arena;
  MlirLocation location = mlirOperationGetLocation(extract);
  MlirBlock oldBody = shardOpBody(op), block = mlirOperationGetBlock(op);
  intptr_t newDim[MAX_DIMS], nDims = 0;
  int64_t shape[MAX_DIMS];
  for (intptr_t d = 0; d < nLoops; ++d) {
    newDim[d] = slice->loops[d] ? nDims : -1;
    if (slice->loops[d])
      shape[nDims++] = extents[d];
  }
  // Inputs: those that the indices read, through their maps on the loops that are left.
  MlirType element = mlirValueGetType(mlirOperationGetResult(extract, 0));
  MlirType type = mlirRankedTensorTypeGet(nDims, shape, element, mlirAttributeGetNull());
  MlirAttribute maps = shardIndexingMaps(op);
  MlirValue operands[MAX_INPUTS + 1];
  MlirAttribute newMaps[MAX_INPUTS + 1];
  MlirType elements[MAX_INPUTS + 1];
  MlirLocation locations[MAX_INPUTS + 1];
  intptr_t n = 0;
  ShardPointerMap *values = shardPointerMapCreate(arena, 64);
  for (intptr_t i = 0; i < nInputs; ++i) {
    if (!slice->inputs[i])
      continue;
    MlirAffineMap map = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, i));
    intptr_t nResults = mlirAffineMapGetNumResults(map);
    MlirAffineExpr *exprs = SHARD_ARENA_ARRAY(arena, MlirAffineExpr, nResults + 1);
    for (intptr_t r = 0; r < nResults; ++r) {
      intptr_t dim = shardMapResultDim(map, r);
      exprs[r] =
          dim >= 0 ? mlirAffineDimExprGet(context, newDim[dim]) : mlirAffineMapGetResult(map, r);
    }
    newMaps[n] = mlirAffineMapAttrGet(mlirAffineMapGet(context, nDims, 0, nResults, exprs));
    elements[n] = mlirValueGetType(mlirBlockGetArgument(oldBody, i));
    locations[n] = location;
    operands[n++] = mlirOperationGetOperand(op, i);
  }
  operands[n] = mlirOperationGetResult(
      shardOpCreate(block, op, location, "tensor.empty", 1, &type, 0, NULL, 0, NULL, 0, NULL), 0);
  newMaps[n] = mlirAffineMapAttrGet(mlirAffineMapMultiDimIdentityGet(context, nDims));
  elements[n] = element, locations[n] = location;
  MlirBlock body = mlirBlockCreate(n + 1, elements, locations);
  for (intptr_t i = 0, k = 0; i < nInputs; ++i)
    if (slice->inputs[i])
      shardValueMapSet(values, mlirBlockGetArgument(oldBody, i), mlirBlockGetArgument(body, k++));
  cloneLookup(import, extract, slice, oldBody, nInputs, newDim, values, body);
  MlirRegion region = mlirRegionCreate();
  mlirRegionAppendOwnedBlock(region, body);
  MlirAttribute parallel = mlirAttributeParseGet(
      context, mlirStringRefCreateFromCString("#linalg.iterator_type<parallel>"));
  MlirAttribute *iterators = SHARD_ARENA_ARRAY(arena, MlirAttribute, nDims + 1);
  for (intptr_t d = 0; d < nDims; ++d)
    iterators[d] = parallel;
  int32_t segments[2] = {(int32_t)n, 1};
  ShardNamedAttribute attributes[] = {
      {"indexing_maps", mlirArrayAttrGet(context, n + 1, newMaps)},
      {"iterator_types", mlirArrayAttrGet(context, nDims, iterators)},
      {"operandSegmentSizes", mlirDenseI32ArrayGet(context, 2, segments)}};
  MlirOperation generic = shardOpCreate(block, op, location, "linalg.generic", 1, &type, n + 1,
                                        operands, 3, attributes, 1, &region);
  // The old body reads what was found.
  MlirAffineExpr *exprs = SHARD_ARENA_ARRAY(arena, MlirAffineExpr, nDims + 1);
  for (intptr_t d = 0; d < nLoops; ++d)
    if (newDim[d] >= 0)
      exprs[newDim[d]] = mlirAffineDimExprGet(context, d);
  MlirValue argument =
      shardGenericAddInput(op, mlirOperationGetResult(generic, 0),
                           mlirAffineMapGet(context, nLoops, 0, nDims, exprs), arena);
  mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(extract, 0), argument);
  mlirOperationDestroy(extract);
}

/// The body does a lookup, and what its index needs, and nothing else.
static bool isPureLookup(MlirOperation op, MlirOperation extract) {
  MlirOperation yield = mlirBlockGetTerminator(shardOpBody(op));
  return mlirOperationGetNumOperands(yield) == 1 &&
         mlirValueEqual(mlirOperationGetOperand(yield, 0), mlirOperationGetResult(extract, 0));
}

void shardImportSplitLookups(const ShardImport *import) {
  for (intptr_t f = 0; f < import->nFunctions; ++f) {
    intptr_t n;
    MlirOperation *ops = shardBlockOps(shardFuncGetBody(import->functions[f]), import->arena, &n);
    for (intptr_t i = 0; i < n; ++i) {
      if (!shardOpIs(ops[i], "linalg.generic"))
        continue;
      intptr_t nInner, nLoops;
      int64_t *extents;
      MlirOperation *inner = shardBlockOps(shardOpBody(ops[i]), import->arena, &nInner);
      bool any = false;
      for (intptr_t k = 0; k < nInner; ++k) {
        if (!shardOpIs(inner[k], "tensor.extract") || isPureLookup(ops[i], inner[k]))
          continue;
        intptr_t nInputs = mlirOperationGetNumOperands(ops[i]) - mlirOperationGetNumResults(ops[i]);
        Slice slice = sliceOperands(inner[k], 1, shardOpBody(ops[i]), nInputs);
        if (!slice.good || nInputs > MAX_INPUTS ||
            !shardLoopExtents(ops[i], &nLoops, &extents, import->arena) || nLoops > MAX_DIMS ||
            !addInputLoops(ops[i], &slice, nInputs))
          continue;
        moveOut(import, ops[i], inner[k], &slice, nLoops, extents, nInputs);
        any = true;
      }
      if (any)
        shardPruneGenericBody(ops[i], import->arena);
    }
  }
}
