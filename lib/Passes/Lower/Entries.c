//===- Entries.c - The functions that shard/Program.h points at ----*- C -*-===//
// For a stage function f(context, workspace, arguments..., results...):
//   f.body(context, dims, args, results, workspace)  unpacks the pointers and returns SHARD_RT_OK;
//   f.run (the same)                                 runs it under shardRtInvoke.
//===----------------------------------------------------------------------===//

#include "Lower.h"

static MlirOperation createFunction(ShardLowering *lowering, const char *name, MlirType type,
                                    MlirLocation location, MlirBlock *outBody) {
  MlirContext context = lowering->context;
  MlirType inputs[5];
  MlirLocation locations[5];
  for (int i = 0; i < 5; ++i) {
    inputs[i] = lowering->pointer;
    locations[i] = location;
  }
  *outBody = mlirBlockCreate(5, inputs, locations);
  MlirRegion region = mlirRegionCreate();
  mlirRegionAppendOwnedBlock(region, *outBody);
  ShardNamedAttribute attributes[] = {{"sym_name", shardAttrString(context, name)},
                                      {"sym_visibility", shardAttrString(context, "private")},
                                      {"function_type", mlirTypeAttrGet(type)}};
  return shardOpCreate(shardOpBody(lowering->module), (MlirOperation){NULL}, location, "func.func",
                       0, NULL, 0, NULL, 3, attributes, 1, &region);
}

static MlirAttribute field(MlirAttribute dictionary, const char *name) {
  return mlirDictionaryAttrGetElementByName(dictionary, mlirStringRefCreateFromCString(name));
}

/// Extents that are out of bounds end the run.
static void checkExtents(ShardLowerBuilder *b, MlirBlock block, MlirAttribute dims,
                         MlirAttribute equal, MlirAttribute table) {
  MlirValue arguments[] = {mlirBlockGetArgument(block, 0), mlirBlockGetArgument(block, 1),
                           shardMakeI32(b, mlirArrayAttrGetNumElements(dims)),
                           shardMakeI32(b, mlirArrayAttrGetNumElements(equal)),
                           shardMakeAddress(b, table)};
  shardMakeRuntimeCall(b, "shardRtCheckExtents", 0, NULL, 5, arguments);
}

MlirLogicalResult shardCreateEntries(ShardLowering *lowering) {
  MlirContext context = lowering->context;
  MlirAttribute program = shardOpGetAttribute(lowering->module, "spmd.program");
  MlirAttribute stages = field(program, "stages");
  intptr_t nStages = mlirArrayAttrGetNumElements(stages);
  MlirAttribute dims = field(program, "dims"), equal = field(program, "equal"), table = {NULL};
  if (mlirArrayAttrGetNumElements(dims))
    table = shardMakeDataGlobal(lowering, mlirOperationGetLocation(lowering->module),
                                shardDynamicInfoTable(lowering, dims, equal));
  MlirAttribute *updated = SHARD_ARENA_ARRAY(lowering->arena, MlirAttribute, nStages);
  MlirType inputs[6];
  for (int i = 0; i < 6; ++i)
    inputs[i] = lowering->pointer;
  MlirType bodyType = mlirFunctionTypeGet(context, 5, inputs, 1, &lowering->i32);
  for (intptr_t s = 0; s < nStages; ++s) {
    MlirAttribute stage = mlirArrayAttrGetElement(stages, s);
    MlirStringRef name = mlirStringAttrGetValue(field(stage, "function"));
    MlirAttribute extents = field(stage, "extents");
    intptr_t nArguments = mlirDenseArrayGetNumElements(extents);
    intptr_t nResults = mlirDenseArrayGetNumElements(field(stage, "results"));
    MlirOperation func = shardModuleLookup(lowering->module, name);
    MlirLocation location = mlirOperationGetLocation(func);
    char *bodyName = shardArenaFormat(lowering->arena, "%.*s.body", (int)name.length, name.data);
    char *runName = shardArenaFormat(lowering->arena, "%.*s.run", (int)name.length, name.data);
    MlirBlock block;
    createFunction(lowering, bodyName, bodyType, location, &block);
    ShardLowerBuilder b = shardLowerBuilderAtEnd(lowering, block, location);
    MlirValue *operands = SHARD_ARENA_ARRAY(lowering->arena, MlirValue, 2 + nArguments + nResults);
    if (!mlirAttributeIsNull(table))
      checkExtents(&b, block, dims, equal, table);
    intptr_t n = 0, nGiven = 0;
    operands[n++] = mlirBlockGetArgument(block, 0);
    operands[n++] = mlirBlockGetArgument(block, 4);
    for (intptr_t i = 0; i < nArguments + nResults; ++i) {
      bool isResult = i >= nArguments;
      int32_t extent = isResult ? -1 : mlirDenseI32ArrayGetElement(extents, i);
      if (extent >= 0) { // a number that lies in `dims`
        operands[n++] = shardMakeElementPointer(&b, mlirBlockGetArgument(block, 1),
                                                shardMakeI64(&b, extent), lowering->i64);
        continue;
      }
      MlirValue place = shardMakeElementPointer(
          &b, mlirBlockGetArgument(block, isResult ? 3 : 2),
          shardMakeI64(&b, isResult ? i - nArguments : nGiven++), lowering->pointer);
      operands[n++] = shardMakeValue(&b, "llvm.load", lowering->pointer, 1, &place);
    }
    ShardNamedAttribute callee = {"callee", mlirFlatSymbolRefAttrGet(context, name)};
    shardMakeOp(&b, "func.call", 0, NULL, n, operands, 1, &callee);
    MlirValue zero = shardMakeI32(&b, 0);
    shardMakeOp(&b, "func.return", 0, NULL, 1, &zero, 0, NULL);

    createFunction(lowering, runName, bodyType, location, &block);
    b = shardLowerBuilderAtEnd(lowering, block, location);
    ShardNamedAttribute target = {
        "value", mlirFlatSymbolRefAttrGet(context, mlirStringRefCreateFromCString(bodyName))};
    MlirValue address = mlirOperationGetResult(
        shardMakeOp(&b, "func.constant", 1, &bodyType, 0, NULL, 1, &target), 0);
    MlirValue arguments[6] = {mlirBlockGetArgument(block, 0),
                              shardMakeCast(&b, address, lowering->pointer)};
    for (int i = 1; i < 5; ++i)
      arguments[1 + i] = mlirBlockGetArgument(block, i);
    MlirOperation call = shardMakeRuntimeCall(&b, "shardRtInvoke", 1, &lowering->i32, 6, arguments);
    MlirValue status = mlirOperationGetResult(call, 0);
    shardMakeOp(&b, "func.return", 0, NULL, 1, &status, 0, NULL);

    MlirAttribute workspace = shardOpGetAttribute(func, "spmd.workspace");
    MlirNamedAttribute entries[] = {
        shardNamed(context, "function", shardAttrString(context, runName)),
        shardNamed(context, "arguments", field(stage, "arguments")),
        shardNamed(context, "results", field(stage, "results")),
        shardNamed(context, "groups", field(stage, "groups")),
        shardNamed(context, "messages", field(stage, "messages")),
        shardNamed(context, "workspace", workspace)};
    updated[s] = mlirDictionaryAttrGet(context, sizeof(entries) / sizeof(entries[0]), entries);
  }
  MlirNamedAttribute all[16];
  intptr_t n = mlirDictionaryAttrGetNumElements(program);
  for (intptr_t i = 0; i < n; ++i) {
    all[i] = mlirDictionaryAttrGetElement(program, i);
    if (shardStringIs(mlirIdentifierStr(all[i].name), "stages"))
      all[i].attribute = mlirArrayAttrGet(context, nStages, updated);
  }
  shardOpSetAttribute(lowering->module, "spmd.program", mlirDictionaryAttrGet(context, n, all));
  return mlirLogicalResultSuccess();
}
