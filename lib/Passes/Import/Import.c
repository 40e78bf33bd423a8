//===- Import.c - Framework exports to one normal form ------------*- C -*-===//
// Reads: func, linalg, tensor, arith, math, tosa, scf, cf.assert, shard.grid/sharding/shard, and
// tm_tensor in generic form.
// Writes: L1. One public function and the private ones that it calls, on static tensors (numbers
// become those of rank 0), without TOSA; on its arguments `spmd.arg`, `spmd.name`, `spmd.role`, and
// `spmd.value` where one was a constant. Fails: on any other op or type, on no or two public
// functions, on dynamic dimensions.
//===----------------------------------------------------------------------===//

#include "ImportParts.h"

#include "../Analysis/Rules.h"
#include "../Core/IR.h"

#include "mlir-c/AffineExpr.h"
#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/Dialect/Linalg.h"

#include <string.h>

typedef struct ImportOptions {
  const char *function;
  const char *args;
  const char *dims;
  const char *rules;
  bool noImplicitReplication;
} ImportOptions;

void shardVisitControlBlocks(MlirOperation op, void (*visit)(void *user, MlirBlock block),
                             void *user) {
  if (!shardNameHasDialect(shardOpGetName(op), "scf"))
    return;
  for (intptr_t i = 0, n = mlirOperationGetNumRegions(op); i < n; ++i)
    for (MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, i));
         !mlirBlockIsNull(block); block = mlirBlockGetNextInRegion(block))
      visit(user, block);
}
static const ShardOption optionTable[] = {
    SHARD_OPTION(ImportOptions, function, "function", "", "",
                 "Entry function; empty: the one public function"),
    SHARD_OPTION(ImportOptions, args, "args", "", "",
                 "Path of an args.json with names and roles of the arguments"),
    SHARD_OPTION(
        ImportOptions, dims, "dims", "", "",
        "ARG:D=N,...: extent N of dimension D of argument ARG (index or name), or ..MAX: any "
        "up to MAX"),
    SHARD_OPTION(ImportOptions, rules, "rules", "", "",
                 "Path of a file with dimension rules of the user's own ops"),
    SHARD_OPTION(ImportOptions, noImplicitReplication, "no-implicit-replication", "false", "",
                 "Refuse an op that has no dimension rule instead of keeping its operands whole"),
};

//===----------------------------------------------------------------------===//
// Readers shared by the steps
//===----------------------------------------------------------------------===//

MlirAttribute shardIndexingMaps(MlirOperation op) {
  MlirAttribute none = {NULL};
  MlirStringRef name = shardOpGetName(op);
  if (!shardNameHasDialect(name, "linalg"))
    return none;
  return shardOpIs(op, "linalg.generic") ? shardOpGetAttribute(op, "indexing_maps")
                                         : mlirLinalgGetIndexingMapsAttribute(op);
}

intptr_t shardMapResultDim(MlirAffineMap map, intptr_t result) {
  MlirAffineExpr expr = mlirAffineMapGetResult(map, result);
  return mlirAffineExprIsADim(expr) ? mlirAffineDimExprGetPosition(expr) : -1;
}

MlirOperation *shardBlockOps(MlirBlock block, ShardArena *arena, intptr_t *outCount) {
  intptr_t n = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(block); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op))
    ++n;
  MlirOperation *ops = SHARD_ARENA_ARRAY(arena, MlirOperation, n ? n : 1);
  n = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(block); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op))
    ops[n++] = op;
  *outCount = n;
  return ops;
}

//===----------------------------------------------------------------------===//
// The entry and what it calls
//===----------------------------------------------------------------------===//

static MlirStringRef symbolName(MlirOperation op) {
  return mlirStringAttrGetValue(shardOpGetAttribute(op, "sym_name"));
}

static MlirLogicalResult findEntry(ShardImport *import, const char *wanted) {
  intptr_t nOps;
  MlirOperation *ops = shardBlockOps(shardOpBody(import->module), import->arena, &nOps);
  MlirOperation found = {NULL};
  for (intptr_t i = 0; i < nOps; ++i) {
    if (!shardOpIs(ops[i], "func.func"))
      continue;
    bool hasBody = !mlirBlockIsNull(shardFuncGetBody(ops[i]));
    if (wanted[0]) {
      if (!shardStringIs(symbolName(ops[i]), wanted))
        continue;
      if (!hasBody)
        return shardEmitError(ops[i], "function '@%s' has no body", wanted);
      found = ops[i];
      break;
    }
    if (!hasBody || !shardFuncIsPublic(ops[i]))
      continue;
    if (!mlirOperationIsNull(found)) {
      MlirStringRef a = symbolName(found), b = symbolName(ops[i]);
      return shardEmitError(ops[i],
                            "two public functions, '@%.*s' and '@%.*s'; choose the entry with "
                            "--function",
                            (int)a.length, a.data, (int)b.length, b.data);
    }
    found = ops[i];
  }
  if (mlirOperationIsNull(found) && wanted[0])
    return shardEmitError(import->module, "no function is named '@%s'", wanted);
  if (mlirOperationIsNull(found))
    return shardEmitError(import->module, "no public function with a body");
  import->entry = found;
  return mlirLogicalResultSuccess();
}

/// Calls within calls: passes follow them, each with a frame of the C stack.
#define MAX_CALL_DEPTH 1000

typedef struct CallWalk {
  const ShardImport *import;
  const ShardPointerMap *indexOfFunction;
  uint8_t *state; // 0 not seen, 1 on the path, 2 done
  MlirOperation *functions;
  MlirOperation *calleesFirst;
  intptr_t nDone;
  int32_t depth;
} CallWalk;

static MlirLogicalResult visitFunction(CallWalk *walk, int64_t index);

static MlirLogicalResult visitCall(void *user, MlirOperation op) {
  CallWalk *walk = user;
  MlirAttribute callee = shardOpGetAttribute(op, "callee");
  MlirStringRef name = mlirFlatSymbolRefAttrGetValue(callee);
  MlirOperation target = shardModuleLookup(walk->import->module, name);
  int64_t index;
  if (mlirOperationIsNull(target) || !shardPointerMapGet(walk->indexOfFunction, target.ptr, &index))
    return mlirLogicalResultSuccess(); // the op check reports it
  if (walk->state[index] == 1)
    return shardEmitError(op, "recursive call of '@%.*s'", (int)name.length, name.data);
  if (walk->depth == MAX_CALL_DEPTH)
    return shardEmitError(op, "calls lie more than %d deep within each other", MAX_CALL_DEPTH);
  ++walk->depth;
  MlirLogicalResult result = visitFunction(walk, index);
  --walk->depth;
  return result;
}

static MlirLogicalResult visitFunction(CallWalk *walk, int64_t index) {
  if (walk->state[index] == 2)
    return mlirLogicalResultSuccess();
  walk->state[index] = 1;
  if (mlirLogicalResultIsFailure(shardWalk(walk->functions[index], "func.call", visitCall, walk)))
    return mlirLogicalResultFailure();
  walk->state[index] = 2;
  walk->calleesFirst[walk->nDone++] = walk->functions[index];
  return mlirLogicalResultSuccess();
}

/// Finds the functions that the entry reaches; fails on recursion.
static MlirLogicalResult findReachable(ShardImport *import) {
  intptr_t nOps, nAll = 0;
  MlirOperation *ops = shardBlockOps(shardOpBody(import->module), import->arena, &nOps);
  MlirOperation *all = SHARD_ARENA_ARRAY(import->arena, MlirOperation, nOps ? nOps : 1);
  ShardPointerMap *indexOf = shardPointerMapCreate(import->arena, (size_t)nOps);
  int64_t entryIndex = 0;
  for (intptr_t i = 0; i < nOps; ++i) {
    if (!shardOpIs(ops[i], "func.func"))
      continue;
    if (mlirOperationEqual(ops[i], import->entry))
      entryIndex = nAll;
    shardPointerMapSet(indexOf, ops[i].ptr, nAll);
    all[nAll++] = ops[i];
  }
  import->calleesFirst = SHARD_ARENA_ARRAY(import->arena, MlirOperation, nAll + 1);
  CallWalk walk = {import,
                   indexOf,
                   SHARD_ARENA_ARRAY(import->arena, uint8_t, nAll + 1),
                   all,
                   import->calleesFirst,
                   0,
                   0};
  if (mlirLogicalResultIsFailure(visitFunction(&walk, entryIndex)))
    return mlirLogicalResultFailure();
  import->functions = SHARD_ARENA_ARRAY(import->arena, MlirOperation, nAll + 1);
  import->functions[import->nFunctions++] = import->entry;
  for (intptr_t i = 0; i < nAll; ++i)
    if (walk.state[i] == 2 && i != entryIndex)
      import->functions[import->nFunctions++] = all[i];
  return mlirLogicalResultSuccess();
}

/// Erases the functions that the entry does not reach; the entry is public, the others private.
static void eraseUnreachable(const ShardImport *import) {
  ShardPointerMap *reached = shardPointerMapCreate(import->arena, (size_t)import->nFunctions);
  for (intptr_t i = 0; i < import->nFunctions; ++i)
    shardPointerMapSet(reached, import->functions[i].ptr, i);
  intptr_t nOps;
  MlirOperation *ops = shardBlockOps(shardOpBody(import->module), import->arena, &nOps);
  for (intptr_t i = 0; i < nOps; ++i) {
    int64_t index;
    if (!shardOpIs(ops[i], "func.func"))
      continue;
    if (!shardPointerMapGet(reached, ops[i].ptr, &index))
      mlirOperationDestroy(ops[i]);
    else if (index == 0)
      shardOpRemoveAttribute(ops[i], "sym_visibility");
    else
      shardOpSetAttribute(ops[i], "sym_visibility", shardAttrString(import->context, "private"));
  }
}

MlirLogicalResult shardImportFindFunctions(ShardImport *import, const char *function) {
  if (mlirLogicalResultIsFailure(findEntry(import, function)))
    return mlirLogicalResultFailure();
  return findReachable(import);
}

/// Ops whose operands every rank holds whole, because nothing is known of their dimensions.
static MlirLogicalResult checkRules(const ShardImport *import, bool refuse) {
  for (intptr_t f = 0; f < import->nFunctions; ++f)
    for (MlirOperation op = mlirBlockGetFirstOperation(shardFuncGetBody(import->functions[f]));
         !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op)) {
      if (!shardOpHasNoRule(op))
        continue;
      MlirStringRef name = shardOpGetName(op);
      if (refuse)
        return shardEmitError(op,
                              "no dimension rule for '%.*s': its operands would be kept whole; "
                              "expected a rule in --rules, or no --no-implicit-replication",
                              (int)name.length, name.data);
      shardEmitRemark(op, "no dimension rule for '%.*s': its operands are kept whole",
                      (int)name.length, name.data);
    }
  return mlirLogicalResultSuccess();
}

/// What later passes write on ops says nothing in a model, where it may have been left.
static MlirLogicalResult dropWritten(void *user, MlirOperation op) {
  static const char *const written[] = {"spmd.site", "spmd.channel", "spmd.origin", "spmd.cut"};
  (void)user;
  for (size_t i = 0; i < sizeof(written) / sizeof(written[0]); ++i)
    shardOpRemoveAttribute(op, written[i]);
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult runImport(ShardPassRun *run) {
  const ImportOptions *options = run->options;
  ShardImport import = {.context = run->context, .module = run->op, .arena = run->arena};
  if (mlirLogicalResultIsFailure(shardImportReadRules(&import, options->rules)) ||
      mlirLogicalResultIsFailure(shardImportFindFunctions(&import, options->function)) ||
      mlirLogicalResultIsFailure(shardImportCheckOps(&import)))
    return mlirLogicalResultFailure();
  if (mlirLogicalResultIsFailure(shardImportApplyRules(&import)))
    return mlirLogicalResultFailure();
  eraseUnreachable(&import);
  for (intptr_t i = 0; i < import.nFunctions; ++i)
    shardWalk(import.functions[i], NULL, dropWritten, NULL);
  shardImportScalars(&import);
  if (mlirLogicalResultIsFailure(shardImportSetDims(&import, options->dims, options->args)))
    return mlirLogicalResultFailure();
  shardImportDropEmpty(&import);
  if (mlirLogicalResultIsFailure(shardImportCheckTypes(&import)))
    return mlirLogicalResultFailure();
  if (mlirLogicalResultIsFailure(shardImportTmTensor(&import)) ||
      mlirLogicalResultIsFailure(shardImportExpandTensorOps(&import)))
    return mlirLogicalResultFailure();
  if (shardImportHasTosa(&import) && mlirLogicalResultIsFailure(shardImportTosa(&import)))
    return mlirLogicalResultFailure();
  if (mlirLogicalResultIsFailure(shardImportUserShardings(&import)))
    return mlirLogicalResultFailure();
  if (mlirLogicalResultIsFailure(shardImportExpandOps(&import)) ||
      mlirLogicalResultIsFailure(shardImportFloatStorage(&import)))
    return mlirLogicalResultFailure();
  shardImportSimplify(&import);
  shardImportSplitResults(&import);
  shardImportPrune(&import);
  shardImportRolls(&import);
  shardImportRunningSums(&import);
  shardImportFoldIndices(&import);
  shardImportSplitLookups(&import);
  shardImportSplitProjections(&import);
  shardImportPrune(&import);
  if (mlirLogicalResultIsFailure(checkRules(&import, options->noImplicitReplication)))
    return mlirLogicalResultFailure();
  if (mlirLogicalResultIsFailure(shardImportArguments(&import, options->args)))
    return mlirLogicalResultFailure();
  shardImportOutlineRegions(&import);
  return mlirLogicalResultSuccess();
}

const ShardPassInfo shardImportPass = {
    .argument = "shard-import",
    .summary = "Bring an export to the normal form: linalg on static tensors, roles on arguments",
    .anchor = "builtin.module",
    SHARD_PASS_OPTIONS(ImportOptions, optionTable),
    .run = runImport,
    .dialects = "tosa affine",
};
