//===- OutlineRegions.c - Bodies of loops as functions ------------*- C -*-===//
// The body of an scf.for, scf.if or scf.while on tensors becomes a private function, and the region
// a call of it: the rules of a function's ops then hold inside too, and what a loop carries is an
// argument and a result like any other. scf.execute_region of one block is its block.
//===----------------------------------------------------------------------===//
#include "ImportParts.h"

#include "mlir-c/BuiltinTypes.h"

#include <string.h>

typedef struct Outliner {
  const ShardImport *import;
  MlirOperation *functions; // still to be looked at, and done
  size_t n, capacity;
} Outliner;

static void addFunction(Outliner *o, MlirOperation function) {
  o->functions = shardArenaGrow(o->import->arena, o->functions, o->n, &o->capacity, o->n + 1,
                                sizeof(MlirOperation));
  o->functions[o->n++] = function;
}

static bool isLoop(MlirOperation op) {
  return shardOpIs(op, "scf.for") || shardOpIs(op, "scf.if") || shardOpIs(op, "scf.while");
}

//===----------------------------------------------------------------------===//
// What a region uses from outside
//===----------------------------------------------------------------------===//

typedef struct LiveIns {
  ShardArena *arena;
  MlirRegion region;
  MlirValue *values;
  size_t n, capacity;
  bool tensors;
} LiveIns;

static bool isInside(MlirRegion region, MlirValue value) {
  MlirBlock block = mlirValueIsABlockArgument(value)
                        ? mlirBlockArgumentGetOwner(value)
                        : mlirOperationGetBlock(mlirOpResultGetOwner(value));
  for (;;) {
    MlirRegion parent = mlirBlockGetParentRegion(block);
    if (mlirRegionIsNull(parent) || mlirRegionEqual(parent, region))
      return !mlirRegionIsNull(parent);
    MlirOperation op = mlirBlockGetParentOperation(block);
    if (mlirOperationIsNull(op))
      return false;
    block = mlirOperationGetBlock(op);
    if (mlirBlockIsNull(block))
      return false;
  }
}

static MlirLogicalResult collectLiveIns(void *user, MlirOperation op) {
  LiveIns *live = user;
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i)
    live->tensors |= mlirTypeIsARankedTensor(mlirValueGetType(mlirOperationGetResult(op, i)));
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i) {
    MlirValue value = mlirOperationGetOperand(op, i);
    live->tensors |= mlirTypeIsARankedTensor(mlirValueGetType(value));
    if (isInside(live->region, value))
      continue;
    bool known = false;
    for (size_t k = 0; k < live->n; ++k)
      known |= mlirValueEqual(live->values[k], value);
    if (known)
      continue;
    live->values = shardArenaGrow(live->arena, live->values, live->n, &live->capacity, live->n + 1,
                                  sizeof(MlirValue));
    live->values[live->n++] = value;
  }
  return mlirLogicalResultSuccess();
}

static LiveIns findLiveIns(MlirRegion region, ShardArena *arena) {
  LiveIns live = {.arena = arena, .region = region};
  MlirBlock block = mlirRegionGetFirstBlock(region);
  for (MlirOperation op = mlirBlockGetFirstOperation(block); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op))
    shardWalk(op, NULL, collectLiveIns, &live);
  return live;
}

/// A constant or an empty tensor is made again inside; anything else is handed in.
static bool isRemade(MlirValue value) {
  MlirOperation op = shardValueDefiningOp(value);
  return !mlirOperationIsNull(op) &&
         (shardOpIs(op, "arith.constant") || shardOpIs(op, "tensor.empty"));
}

static void replaceInBlock(MlirBlock block, MlirValue old, MlirValue replacement);

static void replaceInOp(MlirOperation op, MlirValue old, MlirValue replacement) {
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    if (mlirValueEqual(mlirOperationGetOperand(op, i), old))
      mlirOperationSetOperand(op, i, replacement);
  for (intptr_t g = 0; g < mlirOperationGetNumRegions(op); ++g)
    for (MlirBlock inner = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, g));
         !mlirBlockIsNull(inner); inner = mlirBlockGetNextInRegion(inner))
      replaceInBlock(inner, old, replacement);
}

static void replaceInBlock(MlirBlock block, MlirValue old, MlirValue replacement) {
  for (MlirOperation op = mlirBlockGetFirstOperation(block); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op))
    replaceInOp(op, old, replacement);
}

//===----------------------------------------------------------------------===//
// Outlining
//===----------------------------------------------------------------------===//

static const char *freeName(const Outliner *o, MlirOperation function, const char *kind) {
  MlirStringRef old = mlirStringAttrGetValue(shardOpGetAttribute(function, "sym_name"));
  for (int k = 0;; ++k) {
    const char *name =
        shardArenaFormat(o->import->arena, "%.*s_%s%d", (int)old.length, old.data, kind, k);
    if (mlirOperationIsNull(
            shardModuleLookup(o->import->module, mlirStringRefCreateFromCString(name))))
      return name;
  }
}

/// Moves the ops of a region's one block to a new function, and calls it in their place. The
/// terminator stays, on the call's results.
static void outlineRegion(Outliner *o, MlirOperation function, MlirRegion region,
                          const char *kind) {
  MlirContext context = o->import->context;
  ShardArena *arena = o->import->arena;
  LiveIns live = findLiveIns(region, arena);
  MlirBlock old = mlirRegionGetFirstBlock(region);
  MlirOperation end = mlirBlockGetTerminator(old), none = {NULL};
  MlirLocation location = mlirOperationGetLocation(end);
  const char *name = freeName(o, function, kind);
  intptr_t nResults = mlirOperationGetNumOperands(end), nOps;
  MlirOperation *ops = shardBlockOps(old, arena, &nOps);
  intptr_t nArguments = mlirBlockGetNumArguments(old);
  MlirValue *operands = SHARD_ARENA_ARRAY(arena, MlirValue, nArguments + (intptr_t)live.n + 1);
  MlirBlock body = mlirBlockCreate(0, NULL, NULL);
  for (intptr_t i = 0; i + 1 < nOps; ++i) {
    mlirOperationRemoveFromParent(ops[i]);
    mlirBlockAppendOwnedOperation(body, ops[i]);
  }
  MlirValue *returned = SHARD_ARENA_ARRAY(arena, MlirValue, nResults + 1);
  MlirType *types = SHARD_ARENA_ARRAY(arena, MlirType, nResults + 1);
  for (intptr_t r = 0; r < nResults; ++r) {
    returned[r] = mlirOperationGetOperand(end, r);
    types[r] = mlirValueGetType(returned[r]);
  }
  shardOpCreate(body, none, location, "func.return", 0, NULL, nResults, returned, 0, NULL, 0, NULL);
  intptr_t n = 0;
  for (intptr_t i = 0; i < nArguments; ++i) {
    operands[n++] = mlirBlockGetArgument(old, i);
    MlirValue argument = mlirBlockAddArgument(body, mlirValueGetType(operands[i]), location);
    replaceInBlock(body, operands[i], argument);
  }
  for (size_t i = 0; i < live.n; ++i) {
    if (isRemade(live.values[i])) {
      MlirOperation made = mlirOperationClone(shardValueDefiningOp(live.values[i]));
      mlirBlockInsertOwnedOperation(body, 0, made);
      replaceInBlock(body, live.values[i], mlirOperationGetResult(made, 0));
      continue;
    }
    operands[n++] = live.values[i];
    replaceInBlock(body, live.values[i],
                   mlirBlockAddArgument(body, mlirValueGetType(live.values[i]), location));
  }
  ShardNamedAttribute callee = {
      "callee", mlirFlatSymbolRefAttrGet(context, mlirStringRefCreateFromCString(name))};
  MlirOperation call = shardOpCreate((MlirBlock){NULL}, end, location, "func.call", nResults, types,
                                     n, operands, 1, &callee, 0, NULL);
  for (intptr_t r = 0; r < nResults; ++r)
    mlirOperationSetOperand(end, r, mlirOperationGetResult(call, r));
  MlirRegion owned = mlirRegionCreate();
  mlirRegionAppendOwnedBlock(owned, body);
  ShardNamedAttribute attributes[] = {
      {"sym_name", shardAttrString(context, name)},
      {"sym_visibility", shardAttrString(context, "private")},
      {"function_type", mlirTypeAttrGet(mlirFunctionTypeGet(context, 0, NULL, 0, NULL))}};
  MlirOperation made =
      shardOpCreate((MlirBlock){NULL}, function, mlirOperationGetLocation(function), "func.func", 0,
                    NULL, 0, NULL, 3, attributes, 1, &owned);
  shardFuncUpdateType(made);
  addFunction(o, made);
}

/// One block that ends in scf.yield: its ops stand for the region.
static void inlineRegion(MlirOperation op) {
  MlirBlock block = shardOpBody(op);
  if (mlirBlockIsNull(block) || !mlirBlockIsNull(mlirBlockGetNextInRegion(block)))
    return;
  MlirOperation end = mlirBlockGetTerminator(block), next;
  for (MlirOperation inner = mlirBlockGetFirstOperation(block); !mlirOperationEqual(inner, end);
       inner = next) {
    next = mlirOperationGetNextInBlock(inner);
    mlirOperationMoveBefore(inner, op);
  }
  for (intptr_t r = 0; r < mlirOperationGetNumResults(op); ++r)
    mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, r), mlirOperationGetOperand(end, r));
  mlirOperationDestroy(op);
}

static void outlineOp(Outliner *o, MlirOperation function, MlirOperation op) {
  bool tensors = false;
  for (intptr_t g = 0; g < mlirOperationGetNumRegions(op); ++g) {
    MlirBlock block = shardOpBody(op);
    if (mlirBlockIsNull(mlirRegionGetFirstBlock(mlirOperationGetRegion(op, g))) ||
        mlirBlockIsNull(block))
      return; // an scf.if without else gives nothing
    tensors |= findLiveIns(mlirOperationGetRegion(op, g), o->import->arena).tensors;
  }
  static const char *const whileKinds[] = {"before", "after"}, *const ifKinds[] = {"then", "else"};
  for (intptr_t g = 0; tensors && g < mlirOperationGetNumRegions(op); ++g)
    outlineRegion(o, function, mlirOperationGetRegion(op, g),
                  shardOpIs(op, "scf.for")  ? "for"
                  : shardOpIs(op, "scf.if") ? ifKinds[g]
                                            : whileKinds[g]);
}

void shardImportOutlineRegions(ShardImport *import) {
  Outliner o = {.import = import};
  for (intptr_t i = 0; i < import->nFunctions; ++i)
    addFunction(&o, import->functions[i]);
  for (size_t f = 0; f < o.n; ++f) { // the list grows: bodies hold loops too
    MlirBlock body = shardFuncGetBody(o.functions[f]);
    if (mlirBlockIsNull(body))
      continue;
    for (bool again = true; again;) {
      again = false;
      intptr_t n;
      MlirOperation *ops = shardBlockOps(body, import->arena, &n);
      for (intptr_t i = 0; i < n; ++i)
        if (shardOpIs(ops[i], "scf.execute_region")) {
          intptr_t before = n;
          inlineRegion(ops[i]);
          shardBlockOps(body, import->arena, &n);
          again |= n != before;
        }
      if (again)
        continue;
      for (intptr_t i = 0; i < n; ++i)
        if (isLoop(ops[i]))
          outlineOp(&o, o.functions[f], ops[i]);
    }
  }
  import->nFunctions = (intptr_t)o.n;
  import->functions = o.functions;
}
