//===- Prune.c - What nobody uses goes ----------------------------*- C -*-===//
#include "ImportParts.h"

#include "mlir-c/BuiltinTypes.h"

#include <string.h>

//===----------------------------------------------------------------------===//
// Dead ops
//===----------------------------------------------------------------------===//

typedef struct Pruner {
  ShardArena *arena;
  const ShardImport *import;
} Pruner;

static MlirWalkResult findAssert(MlirOperation op, void *user) {
  if (!shardOpIs(op, "cf.assert") && !shardOpIs(op, "func.call"))
    return MlirWalkResultAdvance;
  *(bool *)user = true;
  return MlirWalkResultInterrupt;
}

bool shardImportAssertsOrCalls(MlirOperation op) {
  bool found = false;
  mlirOperationWalk(op, findAssert, &found, MlirWalkPreOrder);
  return found;
}

/// Whether the op may go when its results are unused. Loops end (scf.for, and scf.while as
/// exporters write it), so only a failing assert can be seen from outside.
static bool isRemovable(const Pruner *pruner, MlirOperation op) {
  MlirStringRef name = shardOpGetName(op);
  if (mlirOperationGetNumResults(op) == 0)
    return false;
  if (shardStringIs(name, "func.call")) {
    if (!pruner->import)
      return false;
    MlirOperation callee = shardModuleCallee(pruner->import->module, op);
    return !mlirOperationIsNull(callee) && !shardImportAssertsOrCalls(callee);
  }
  static const char *const pure[] = {"arith", "linalg", "tensor", "math", "tosa", "scf", "shard"};
  for (size_t i = 0; i < sizeof(pure) / sizeof(pure[0]); ++i)
    if (shardNameHasDialect(name, pure[i]))
      return mlirOperationGetNumRegions(op) == 0 || !shardImportAssertsOrCalls(op);
  return false;
}

static void pruneBlock(const Pruner *pruner, MlirBlock block) {
  ShardArena *scratch = shardArenaCreate();
  intptr_t n;
  MlirOperation *ops = shardBlockOps(block, scratch, &n);
  for (intptr_t i = n - 1; i >= 0; --i) {
    bool used = false;
    for (intptr_t r = 0, nr = mlirOperationGetNumResults(ops[i]); r < nr && !used; ++r)
      used = !shardValueIsUnused(mlirOperationGetResult(ops[i], r));
    if (!used && isRemovable(pruner, ops[i])) {
      mlirOperationDestroy(ops[i]);
      continue;
    }
    for (intptr_t g = 0, ng = mlirOperationGetNumRegions(ops[i]); g < ng; ++g)
      for (MlirBlock inner = mlirRegionGetFirstBlock(mlirOperationGetRegion(ops[i], g));
           !mlirBlockIsNull(inner); inner = mlirBlockGetNextInRegion(inner))
        pruneBlock(pruner, inner);
  }
  shardArenaDestroy(scratch);
}

//===----------------------------------------------------------------------===//
// Operands that a body does not read
//===----------------------------------------------------------------------===//

/// Whether every loop still has an operand that gives its extent when input `dropped` is gone.
static bool loopsStayBounded(MlirAttribute maps, intptr_t nOperands, intptr_t dropped,
                             intptr_t nLoops) {
  uint64_t bounded = 0;
  for (intptr_t i = 0; i < nOperands; ++i) {
    if (i == dropped)
      continue;
    MlirAffineMap map = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, i));
    for (intptr_t r = 0, n = mlirAffineMapGetNumResults(map); r < n; ++r) {
      intptr_t d = shardMapResultDim(map, r);
      if (d >= 0 && d < 64)
        bounded |= UINT64_C(1) << d;
    }
  }
  return nLoops <= 64 && bounded == (nLoops == 64 ? ~UINT64_C(0) : (UINT64_C(1) << nLoops) - 1);
}

static void dropInput(MlirOperation op, intptr_t dropped, ShardArena *arena) {
  MlirContext context = mlirOperationGetContext(op);
  intptr_t nOperands = mlirOperationGetNumOperands(op), nResults = mlirOperationGetNumResults(op);
  MlirAttribute maps = shardOpGetAttribute(op, "indexing_maps");
  MlirValue *operands = SHARD_ARENA_ARRAY(arena, MlirValue, nOperands);
  MlirAttribute *kept = SHARD_ARENA_ARRAY(arena, MlirAttribute, nOperands);
  intptr_t n = 0;
  for (intptr_t i = 0; i < nOperands; ++i)
    if (i != dropped) {
      operands[n] = mlirOperationGetOperand(op, i);
      kept[n++] = mlirArrayAttrGetElement(maps, i);
    }
  mlirOperationSetOperands(op, n, operands);
  shardOpSetAttribute(op, "indexing_maps", mlirArrayAttrGet(context, n, kept));
  int32_t segments[2] = {(int32_t)(n - nResults), (int32_t)nResults};
  shardOpSetAttribute(op, "operandSegmentSizes", mlirDenseI32ArrayGet(context, 2, segments));
  mlirBlockEraseArgument(shardOpBody(op), (unsigned)dropped);
}

static void dropUnreadInputs(MlirOperation op, ShardArena *arena) {
  MlirBlock body = shardOpBody(op);
  intptr_t nInputs = mlirOperationGetNumOperands(op) - mlirOperationGetNumResults(op);
  for (intptr_t i = nInputs - 1; i >= 0; --i) {
    if (!shardValueIsUnused(mlirBlockGetArgument(body, i)))
      continue;
    MlirAttribute maps = shardOpGetAttribute(op, "indexing_maps");
    intptr_t nLoops = mlirArrayAttrGetNumElements(shardOpGetAttribute(op, "iterator_types"));
    if (loopsStayBounded(maps, mlirOperationGetNumOperands(op), i, nLoops))
      dropInput(op, i, arena);
  }
}

void shardPruneGenericBody(MlirOperation generic, ShardArena *arena) {
  Pruner pruner = {arena, NULL};
  pruneBlock(&pruner, shardOpBody(generic));
  dropUnreadInputs(generic, arena);
}

//===----------------------------------------------------------------------===//
// Results that nobody uses (the index of a softmax's row maximum)
//===----------------------------------------------------------------------===//

/// Marks the values of the body that `value` is computed from.
static void markNeeded(MlirValue value, MlirBlock body, ShardPointerMap *needed) {
  int64_t seen;
  if (shardPointerMapGet(needed, value.ptr, &seen))
    return;
  shardPointerMapSet(needed, value.ptr, 1);
  MlirOperation op = shardValueDefiningOp(value);
  if (mlirOperationIsNull(op) || !mlirBlockEqual(mlirOperationGetBlock(op), body))
    return;
  for (intptr_t i = 0, n = mlirOperationGetNumOperands(op); i < n; ++i)
    markNeeded(mlirOperationGetOperand(op, i), body, needed);
}

static bool hasNestedRegion(MlirBlock body) {
  for (MlirOperation op = mlirBlockGetFirstOperation(body); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op))
    if (mlirOperationGetNumRegions(op) > 0)
      return true;
  return false;
}

static void dropUnusedResults(MlirOperation op, ShardArena *arena) {
  intptr_t nResults = mlirOperationGetNumResults(op), nKept = 0;
  intptr_t nInputs = mlirOperationGetNumOperands(op) - nResults;
  MlirBlock body = shardOpBody(op);
  bool *keep = SHARD_ARENA_ARRAY(arena, bool, nResults);
  for (intptr_t i = 0; i < nResults; ++i)
    nKept += keep[i] = !shardValueIsUnused(mlirOperationGetResult(op, i));
  if (nKept == nResults || nKept == 0 || hasNestedRegion(body))
    return; // with none used the op is dead, and goes as a whole unless it asserts
  // A result also stays if what is kept is computed from it.
  MlirOperation yield = mlirBlockGetTerminator(body);
  ShardPointerMap *needed = shardPointerMapCreate(arena, 32);
  for (MlirOperation inner = mlirBlockGetFirstOperation(body); !mlirOperationIsNull(inner);
       inner = mlirOperationGetNextInBlock(inner))
    if (shardOpIs(inner, "cf.assert"))
      markNeeded(mlirOperationGetOperand(inner, 0), body, needed);
  for (bool changed = true; changed;) {
    changed = false;
    for (intptr_t i = 0; i < nResults; ++i)
      if (keep[i])
        markNeeded(mlirOperationGetOperand(yield, i), body, needed);
    for (intptr_t i = 0; i < nResults; ++i) {
      int64_t seen;
      if (!keep[i] &&
          shardPointerMapGet(needed, mlirBlockGetArgument(body, nInputs + i).ptr, &seen))
        changed = keep[i] = true;
    }
  }
  nKept = 0;
  for (intptr_t i = 0; i < nResults; ++i)
    nKept += keep[i];
  if (nKept == nResults)
    return;

  MlirContext context = mlirOperationGetContext(op);
  MlirAttribute maps = shardOpGetAttribute(op, "indexing_maps");
  MlirValue *operands = SHARD_ARENA_ARRAY(arena, MlirValue, nInputs + nKept);
  MlirAttribute *keptMaps = SHARD_ARENA_ARRAY(arena, MlirAttribute, nInputs + nKept);
  MlirType *types = SHARD_ARENA_ARRAY(arena, MlirType, nKept);
  MlirValue *yielded = SHARD_ARENA_ARRAY(arena, MlirValue, nKept);
  intptr_t n = 0;
  for (; n < nInputs; ++n) {
    operands[n] = mlirOperationGetOperand(op, n);
    keptMaps[n] = mlirArrayAttrGetElement(maps, n);
  }
  for (intptr_t i = 0, k = 0; i < nResults; ++i)
    if (keep[i]) {
      operands[n] = mlirOperationGetOperand(op, nInputs + i);
      keptMaps[n++] = mlirArrayAttrGetElement(maps, nInputs + i);
      types[k] = mlirValueGetType(mlirOperationGetResult(op, i));
      yielded[k++] = mlirOperationGetOperand(yield, i);
    }
  int32_t segments[2] = {(int32_t)nInputs, (int32_t)nKept};
  intptr_t nOld = mlirOperationGetNumAttributes(op), nAttributes = 0;
  ShardNamedAttribute *attributes = SHARD_ARENA_ARRAY(arena, ShardNamedAttribute, nOld + 2);
  for (intptr_t i = 0; i < nOld; ++i) {
    MlirNamedAttribute old = mlirOperationGetAttribute(op, i);
    MlirStringRef name = mlirIdentifierStr(old.name);
    if (!shardStringIs(name, "indexing_maps") && !shardStringIs(name, "operandSegmentSizes"))
      attributes[nAttributes++] =
          (ShardNamedAttribute){shardArenaCopyString(arena, name.data, name.length), old.attribute};
  }
  attributes[nAttributes++] =
      (ShardNamedAttribute){"indexing_maps", mlirArrayAttrGet(context, n, keptMaps)};
  attributes[nAttributes++] =
      (ShardNamedAttribute){"operandSegmentSizes", mlirDenseI32ArrayGet(context, 2, segments)};
  mlirOperationSetOperands(yield, nKept, yielded);
  MlirRegion region = mlirRegionCreate();
  mlirRegionTakeBody(region, mlirOperationGetRegion(op, 0));
  MlirOperation fresh =
      shardOpCreate((MlirBlock){NULL}, op, mlirOperationGetLocation(op), "linalg.generic", nKept,
                    types, n, operands, nAttributes, attributes, 1, &region);
  body = shardOpBody(fresh);
  Pruner pruner = {arena, NULL};
  pruneBlock(&pruner, body);
  for (intptr_t i = nResults - 1; i >= 0; --i)
    if (!keep[i])
      mlirBlockEraseArgument(body, (unsigned)(nInputs + i));
  for (intptr_t i = 0, k = 0; i < nResults; ++i)
    if (keep[i])
      mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, i),
                                    mlirOperationGetResult(fresh, k++));
  mlirOperationDestroy(op);
}

static void pruneGenerics(void *user, MlirBlock block) {
  ShardArena *arena = user;
  intptr_t n;
  MlirOperation *ops = shardBlockOps(block, arena, &n);
  for (intptr_t i = 0; i < n; ++i) {
    if (!shardOpIs(ops[i], "linalg.generic")) {
      shardVisitControlBlocks(ops[i], pruneGenerics, arena);
      continue;
    }
    dropUnreadInputs(ops[i], arena);
    if (mlirOperationGetNumResults(ops[i]) > 1)
      dropUnusedResults(ops[i], arena);
  }
}

void shardImportPrune(const ShardImport *import) {
  Pruner pruner = {import->arena, import};
  for (intptr_t i = 0; i < import->nFunctions; ++i) {
    MlirBlock body = shardFuncGetBody(import->functions[i]);
    pruneBlock(&pruner, body);
    pruneGenerics(import->arena, body);
    pruneBlock(&pruner, body);
  }
}
