//===- InferRoles.c - Which arguments are inputs ------------------*- C -*-===//
// An argument is an input if it is of integers that index, compare or select; or if it has a
// dimension that is dimension 0 of every result: the batch. All others are weights.
//===----------------------------------------------------------------------===//
#include "ImportParts.h"

#include "../Analysis/Rules.h"

#include "mlir-c/BuiltinTypes.h"

#include <string.h>

//===----------------------------------------------------------------------===//
// Dimensions that go together: union-find over (value, dimension)
//===----------------------------------------------------------------------===//

typedef struct Dims {
  ShardArena *arena;
  const ShardImport *import;
  ShardPointerMap *firstNode; // value -> node of its dimension 0
  int32_t *parent;
  size_t n, capacity;
} Dims;

static int32_t newNodes(Dims *dims, intptr_t count) {
  dims->parent = shardArenaGrow(dims->arena, dims->parent, dims->n, &dims->capacity,
                                dims->n + (size_t)count, sizeof(*dims->parent));
  int32_t first = (int32_t)dims->n;
  for (intptr_t i = 0; i < count; ++i)
    dims->parent[dims->n++] = first + (int32_t)i;
  return first;
}

static int32_t nodeOf(Dims *dims, MlirValue value, intptr_t dim) {
  int64_t first;
  if (!shardPointerMapGet(dims->firstNode, value.ptr, &first)) {
    first = newNodes(dims, mlirShapedTypeGetRank(mlirValueGetType(value)));
    shardPointerMapSet(dims->firstNode, value.ptr, first);
  }
  return (int32_t)(first + dim);
}

static int32_t findRoot(Dims *dims, int32_t node) {
  while (dims->parent[node] != node) {
    dims->parent[node] = dims->parent[dims->parent[node]];
    node = dims->parent[node];
  }
  return node;
}

static void unite(Dims *dims, int32_t a, int32_t b) {
  a = findRoot(dims, a);
  b = findRoot(dims, b);
  if (a < b)
    dims->parent[b] = a;
  else
    dims->parent[a] = b;
}

static bool isTensor(MlirValue value) { return mlirTypeIsARankedTensor(mlirValueGetType(value)); }

static int64_t sizeOf(MlirValue value, intptr_t dim) {
  return mlirShapedTypeGetDimSize(mlirValueGetType(value), dim);
}

static void uniteAll(Dims *dims, MlirValue a, MlirValue b) {
  if (!isTensor(a) || !isTensor(b))
    return;
  intptr_t rank = mlirShapedTypeGetRank(mlirValueGetType(a));
  if (rank != mlirShapedTypeGetRank(mlirValueGetType(b)))
    return;
  for (intptr_t d = 0; d < rank; ++d)
    if (sizeOf(a, d) == sizeOf(b, d))
      unite(dims, nodeOf(dims, a, d), nodeOf(dims, b, d));
}

static void uniteThroughMap(Dims *dims, MlirValue value, MlirAffineMap map, int32_t *loops) {
  for (intptr_t r = 0, n = mlirAffineMapGetNumResults(map); r < n; ++r) {
    intptr_t d = shardMapResultDim(map, r);
    if (d < 0)
      continue;
    int32_t node = nodeOf(dims, value, r);
    if (loops[d] < 0)
      loops[d] = node;
    else
      unite(dims, loops[d], node);
  }
}

static void visitLinalg(Dims *dims, MlirOperation op, MlirAttribute maps) {
  intptr_t nOperands = mlirOperationGetNumOperands(op), nResults = mlirOperationGetNumResults(op);
  if (nOperands == 0 || mlirArrayAttrGetNumElements(maps) != nOperands)
    return;
  intptr_t nLoops =
      mlirAffineMapGetNumDims(mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, 0)));
  int32_t *loops = SHARD_ARENA_ARRAY(dims->arena, int32_t, nLoops + 1);
  for (intptr_t d = 0; d < nLoops; ++d)
    loops[d] = -1;
  for (intptr_t i = 0; i < nOperands; ++i) {
    MlirAffineMap map = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, i));
    MlirValue operand = mlirOperationGetOperand(op, i);
    // What is written over gives only a shape, and is often shared by unrelated ops.
    bool isInit = i >= nOperands - nResults;
    if (isInit)
      uniteThroughMap(dims, mlirOperationGetResult(op, i - (nOperands - nResults)), map, loops);
    else if (isTensor(operand))
      uniteThroughMap(dims, operand, map, loops);
  }
  if (!shardOpIs(op, "linalg.generic"))
    return;
  for (MlirOperation inner = mlirBlockGetFirstOperation(shardOpBody(op));
       !mlirOperationIsNull(inner); inner = mlirOperationGetNextInBlock(inner)) {
    if (!shardOpIs(inner, "tensor.extract"))
      continue;
    MlirValue table = mlirOperationGetOperand(inner, 0);
    for (intptr_t r = 0, n = mlirOperationGetNumOperands(inner) - 1; r < n; ++r) {
      MlirOperation index = shardValueDefiningOp(mlirOperationGetOperand(inner, r + 1));
      int64_t loop;
      if (mlirOperationIsNull(index) || !shardOpIs(index, "linalg.index") ||
          !shardAttrGetI64(shardOpGetAttribute(index, "dim"), &loop) || loop >= nLoops)
        continue;
      int32_t node = nodeOf(dims, table, r);
      if (loops[loop] < 0)
        loops[loop] = node;
      else
        unite(dims, loops[loop], node);
    }
  }
}

/// Of a group of dimensions that are one together, the one that carries it on: the same size, or,
/// of a real product, the major one.
static void visitReshape(Dims *dims, MlirOperation op, MlirValue whole, MlirValue parts) {
  MlirAttribute groups = shardOpGetAttribute(op, "reassociation");
  for (intptr_t g = 0, n = mlirArrayAttrGetNumElements(groups); g < n; ++g) {
    MlirAttribute group = mlirArrayAttrGetElement(groups, g);
    intptr_t chosen = -1;
    int64_t size = sizeOf(whole, g);
    for (intptr_t k = 0, m = mlirArrayAttrGetNumElements(group); k < m; ++k) {
      int64_t dim = mlirIntegerAttrGetValueInt(mlirArrayAttrGetElement(group, k));
      if (chosen < 0 && (size == 1 || sizeOf(parts, dim) > 1))
        chosen = dim;
    }
    if (chosen >= 0)
      unite(dims, nodeOf(dims, whole, g), nodeOf(dims, parts, chosen));
  }
}

/// A slice of lower rank leaves out dimensions of size 1: matched in order by the slice's sizes.
static void uniteSlice(Dims *dims, MlirOperation op, MlirValue whole, MlirValue slice) {
  MlirAttribute sizes = shardOpGetAttribute(op, "static_sizes");
  intptr_t rank = (intptr_t)mlirShapedTypeGetRank(mlirValueGetType(whole));
  if (!sizes.ptr || !mlirAttributeIsADenseI64Array(sizes) ||
      mlirDenseArrayGetNumElements(sizes) != rank)
    return;
  if (rank == mlirShapedTypeGetRank(mlirValueGetType(slice))) {
    uniteAll(dims, whole, slice);
    return;
  }
  int64_t *window = SHARD_ARENA_ARRAY(dims->arena, int64_t, rank + 1);
  int32_t *matched = SHARD_ARENA_ARRAY(dims->arena, int32_t, rank + 1);
  for (intptr_t d = 0; d < rank; ++d)
    window[d] = mlirDenseI64ArrayGetElement(sizes, d);
  if (!shardSliceMatchDims(mlirValueGetType(slice), rank, window, matched))
    return;
  for (intptr_t d = 0; d < rank; ++d)
    if (matched[d] >= 0 && window[d] == sizeOf(whole, d))
      unite(dims, nodeOf(dims, whole, d), nodeOf(dims, slice, matched[d]));
}

static void visitBlock(Dims *dims, MlirBlock block);

static void visitCallOp(Dims *dims, MlirOperation op) {
  MlirOperation callee = shardModuleCallee(dims->import->module, op);
  MlirBlock body = shardFuncGetBody(callee);
  for (intptr_t i = 0, n = mlirOperationGetNumOperands(op); i < n; ++i)
    uniteAll(dims, mlirOperationGetOperand(op, i), mlirBlockGetArgument(body, i));
  MlirOperation end = mlirBlockGetTerminator(body);
  for (intptr_t i = 0, n = mlirOperationGetNumResults(op); i < n; ++i)
    uniteAll(dims, mlirOperationGetResult(op, i), mlirOperationGetOperand(end, i));
}

/// Loop-carried values of scf.for, scf.if and scf.while go together position by position.
static void visitRegions(Dims *dims, MlirOperation op) {
  intptr_t nResults = mlirOperationGetNumResults(op);
  for (intptr_t g = 0, ng = mlirOperationGetNumRegions(op); g < ng; ++g) {
    MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, g));
    if (mlirBlockIsNull(body))
      continue;
    visitBlock(dims, body);
    intptr_t nArguments = mlirBlockGetNumArguments(body);
    MlirOperation end = mlirBlockGetTerminator(body);
    if (mlirOperationIsNull(end))
      continue;
    intptr_t nYielded = mlirOperationGetNumOperands(end);
    for (intptr_t r = 0; r < nResults; ++r) {
      MlirValue result = mlirOperationGetResult(op, r);
      if (nYielded >= nResults)
        uniteAll(dims, result, mlirOperationGetOperand(end, nYielded - nResults + r));
      if (nArguments >= nResults)
        uniteAll(dims, result, mlirBlockGetArgument(body, nArguments - nResults + r));
    }
  }
  intptr_t nOperands = mlirOperationGetNumOperands(op);
  for (intptr_t r = 0; r < nResults && nOperands >= nResults; ++r)
    uniteAll(dims, mlirOperationGetResult(op, r),
             mlirOperationGetOperand(op, nOperands - nResults + r));
}

static void visitOp(Dims *dims, MlirOperation op) {
  MlirAttribute maps = shardIndexingMaps(op);
  if (!mlirAttributeIsNull(maps)) {
    visitLinalg(dims, op, maps);
    return;
  }
  intptr_t nOperands = mlirOperationGetNumOperands(op);
  if (shardOpIs(op, "func.call")) {
    visitCallOp(dims, op);
    return;
  }
  MlirStringRef name = shardOpGetName(op);
  if (shardNameHasDialect(name, "scf")) {
    visitRegions(dims, op);
    return;
  }
  if (mlirOperationGetNumResults(op) == 0 || nOperands == 0)
    return;
  MlirValue result = mlirOperationGetResult(op, 0), source = mlirOperationGetOperand(op, 0);
  if (!isTensor(result))
    return;
  if (shardOpIs(op, "tensor.collapse_shape"))
    visitReshape(dims, op, result, source);
  else if (shardOpIs(op, "tensor.expand_shape"))
    visitReshape(dims, op, source, result);
  else if (shardOpIs(op, "tensor.extract_slice") && isTensor(source))
    uniteSlice(dims, op, source, result);
  else if (shardOpIs(op, "tensor.insert_slice") && isTensor(source)) {
    uniteSlice(dims, op, result, source);
    uniteAll(dims, mlirOperationGetOperand(op, 1), result);
  } else
    for (intptr_t i = 0; i < nOperands; ++i)
      uniteAll(dims, mlirOperationGetOperand(op, i), result);
}

static void visitBlock(Dims *dims, MlirBlock block) {
  for (MlirOperation op = mlirBlockGetFirstOperation(block); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op))
    visitOp(dims, op);
}

static void findBatched(Dims *dims, intptr_t nArguments, const ShardStateTie *ties, bool *isInput) {
  for (intptr_t i = 0; i < dims->import->nFunctions; ++i)
    visitBlock(dims, shardFuncGetBody(dims->import->functions[i]));
  MlirBlock body = shardFuncGetBody(dims->import->entry);
  MlirOperation end = mlirBlockGetTerminator(body);
  intptr_t nResults = mlirOperationGetNumOperands(end);
  // The results that argue for the batch: states, where there is anything else, do not.
  bool *counts = SHARD_ARENA_ARRAY(dims->arena, bool, nResults + 1);
  bool others = false;
  for (intptr_t r = 0; r < nResults; ++r) {
    counts[r] = mlirShapedTypeGetRank(mlirValueGetType(mlirOperationGetOperand(end, r))) > 0;
    for (intptr_t a = 0; a < nArguments; ++a)
      counts[r] &= ties[a].result != r;
    others |= counts[r];
  }
  bool anyOnce = false;
  int *most = SHARD_ARENA_ARRAY(dims->arena, int, nArguments + 1); // in one of them; 0: not in all
  for (intptr_t i = 0; i < nArguments; ++i) {
    MlirValue argument = mlirBlockGetArgument(body, i);
    for (intptr_t r = 0; r < nResults; ++r) {
      MlirValue result = mlirOperationGetOperand(end, r);
      if (others ? !counts[r] : mlirShapedTypeGetRank(mlirValueGetType(result)) == 0)
        continue; // a loss has no dimension 0
      int32_t root = findRoot(dims, nodeOf(dims, result, 0));
      int nTimes = 0;
      for (intptr_t d = 0, rank = mlirShapedTypeGetRank(mlirValueGetType(argument)); d < rank; ++d)
        nTimes += findRoot(dims, nodeOf(dims, argument, d)) == root;
      most[i] = nTimes > most[i] ? nTimes : most[i];
      if (!nTimes) {
        most[i] = 0;
        break;
      }
    }
    anyOnce |= most[i] == 1;
  }
  // What has it twice is a square weight, where something has it once.
  for (intptr_t i = 0; i < nArguments; ++i)
    isInput[i] |= most[i] == 1 || (most[i] > 1 && !anyOnce);
}

//===----------------------------------------------------------------------===//
// Integers that index, compare or select
//===----------------------------------------------------------------------===//

typedef struct Flow {
  const ShardImport *import;
  ShardArena *arena;
  ShardPointerMap *seen;
  MlirValue *list;
  size_t n, capacity;
} Flow;

static bool isInteger(MlirValue value) {
  MlirType type = mlirValueGetType(value);
  if (mlirTypeIsARankedTensor(type))
    type = mlirShapedTypeGetElementType(type);
  return mlirTypeIsAInteger(type) || mlirTypeIsAIndex(type);
}

static void follow(Flow *flow, MlirValue value) {
  int64_t seen;
  if (!isInteger(value) || shardPointerMapGet(flow->seen, value.ptr, &seen))
    return;
  shardPointerMapSet(flow->seen, value.ptr, 1);
  flow->list = shardArenaGrow(flow->arena, flow->list, flow->n, &flow->capacity, flow->n + 1,
                              sizeof(*flow->list));
  flow->list[flow->n++] = value;
}

/// One use of a followed value; true if it indexes, compares or selects.
static bool followUse(Flow *flow, MlirOperation user, intptr_t operand) {
  MlirStringRef name = shardOpGetName(user);
  if (shardStringIs(name, "arith.cmpi"))
    return true;
  if (shardStringIs(name, "arith.select"))
    if (operand == 0)
      return true;
  if ((shardStringIs(name, "tensor.extract") || shardStringIs(name, "tensor.gather") ||
       shardStringIs(name, "tensor.extract_slice") || shardStringIs(name, "scf.if") ||
       shardStringIs(name, "scf.for")) &&
      operand >= (shardStringIs(name, "scf.if") || shardStringIs(name, "scf.for") ? 0 : 1))
    return true;
  if (shardStringIs(name, "linalg.yield") || shardStringIs(name, "scf.yield")) {
    MlirOperation parent = mlirOperationGetParentOperation(user);
    if (operand < mlirOperationGetNumResults(parent))
      follow(flow, mlirOperationGetResult(parent, operand));
    return false;
  }
  if (shardStringIs(name, "func.call")) {
    MlirOperation callee = shardModuleCallee(flow->import->module, user);
    follow(flow, mlirBlockGetArgument(shardFuncGetBody(callee), operand));
    return false;
  }
  if (shardNameHasDialect(name, "linalg") && mlirOperationGetNumRegions(user) == 1) {
    MlirBlock body = shardOpBody(user);
    if (!mlirBlockIsNull(body) && operand < mlirBlockGetNumArguments(body))
      follow(flow, mlirBlockGetArgument(body, operand));
    return false;
  }
  for (intptr_t r = 0, n = mlirOperationGetNumResults(user); r < n; ++r)
    follow(flow, mlirOperationGetResult(user, r));
  return false;
}

static bool isUsedAsIndex(const ShardImport *import, MlirValue argument) {
  ShardArena *arena = shardArenaCreate();
  Flow flow = {import, arena, shardPointerMapCreate(arena, 64), NULL, 0, 0};
  follow(&flow, argument);
  bool found = false;
  for (size_t i = 0; i < flow.n && !found; ++i)
    for (MlirOpOperand use = mlirValueGetFirstUse(flow.list[i]);
         !mlirOpOperandIsNull(use) && !found; use = mlirOpOperandGetNextUse(use))
      found = followUse(&flow, mlirOpOperandGetOwner(use), mlirOpOperandGetOperandNumber(use));
  shardArenaDestroy(arena);
  return found;
}

void shardImportInferRoles(const ShardImport *import, intptr_t nArguments,
                           const ShardStateTie *ties, bool *isInput) {
  MlirBlock body = shardFuncGetBody(import->entry);
  for (intptr_t i = 0; i < nArguments; ++i)
    isInput[i] = isUsedAsIndex(import, mlirBlockGetArgument(body, i));
  ShardArena *arena = shardArenaCreate();
  Dims dims = {arena, import, shardPointerMapCreate(arena, 4096), NULL, 0, 0};
  findBatched(&dims, nArguments, ties, isInput);
  shardArenaDestroy(arena);
}
