//===- EmitTables.c - The tables of shard/Program.h ----------------*- C -*-===//
#include "EmitTables.h"

#include "../Core/IR.h"
#include "Lower.h"

#include "shard/Program.h"

#include <stdio.h>

ShardTables shardTablesOf(LLVMModuleRef module, ShardArena *arena) {
  LLVMContextRef context = LLVMGetModuleContext(module);
  return (ShardTables){.arena = arena,
                       .context = context,
                       .module = module,
                       .pointer = LLVMPointerTypeInContext(context, 0),
                       .i8 = LLVMInt8TypeInContext(context),
                       .i32 = LLVMInt32TypeInContext(context),
                       .i64 = LLVMInt64TypeInContext(context)};
}

static LLVMValueRef i32Of(const ShardTables *t, int64_t value) {
  return LLVMConstInt(t->i32, (unsigned long long)value, true);
}
static LLVMValueRef i64Of(const ShardTables *t, int64_t value) {
  return LLVMConstInt(t->i64, (unsigned long long)value, true);
}

/// A constant global of this value, as a pointer.
static LLVMValueRef globalOf(const ShardTables *t, LLVMValueRef value) {
  LLVMValueRef global = LLVMAddGlobal(t->module, LLVMTypeOf(value), "shard.table");
  LLVMSetInitializer(global, value);
  LLVMSetGlobalConstant(global, true);
  LLVMSetLinkage(global, LLVMPrivateLinkage);
  return global;
}

static LLVMValueRef textOf(const ShardTables *t, MlirStringRef text) {
  return globalOf(t, LLVMConstStringInContext2(t->context, text.data, text.length, false));
}

LLVMValueRef shardTableArray(const ShardTables *t, LLVMTypeRef type, intptr_t n,
                             LLVMValueRef *values) {
  if (!n)
    return LLVMConstPointerNull(t->pointer);
  return globalOf(t, LLVMConstArray2(type, values, (uint64_t)n));
}

MlirAttribute shardTableField(MlirAttribute dictionary, const char *name) {
  return mlirDictionaryAttrGetElementByName(dictionary, mlirStringRefCreateFromCString(name));
}

static int64_t integerField(MlirAttribute dictionary, const char *name) {
  int64_t value = 0;
  MlirAttribute attribute = shardTableField(dictionary, name);
  if (!mlirAttributeIsNull(attribute))
    shardAttrGetI64(attribute, &value);
  return value;
}

static LLVMValueRef i32Array(const ShardTables *t, MlirAttribute array, intptr_t *outCount) {
  intptr_t n = mlirDenseArrayGetNumElements(array);
  LLVMValueRef *values = SHARD_ARENA_ARRAY(t->arena, LLVMValueRef, n);
  for (intptr_t i = 0; i < n; ++i)
    values[i] = i32Of(t, mlirDenseI32ArrayGetElement(array, i));
  if (outCount)
    *outCount = n;
  return shardTableArray(t, t->i32, n, values);
}

static LLVMValueRef i64Array(const ShardTables *t, MlirAttribute array, intptr_t *outCount) {
  intptr_t n = mlirDenseArrayGetNumElements(array);
  LLVMValueRef *values = SHARD_ARENA_ARRAY(t->arena, LLVMValueRef, n);
  for (intptr_t i = 0; i < n; ++i)
    values[i] = i64Of(t, mlirDenseI64ArrayGetElement(array, i));
  if (outCount)
    *outCount = n;
  return shardTableArray(t, t->i64, n, values);
}

static LLVMValueRef shapeOf(const ShardTables *t, MlirType type) {
  intptr_t rank = mlirTypeIsAShaped(type) ? mlirShapedTypeGetRank(type) : 0;
  LLVMValueRef *values = SHARD_ARENA_ARRAY(t->arena, LLVMValueRef, rank);
  for (intptr_t i = 0; i < rank; ++i)
    values[i] = i64Of(t, mlirShapedTypeGetDimSize(type, i));
  return shardTableArray(t, t->i64, rank, values);
}

/// Rows of numbers, one after the other; null for none.
static LLVMValueRef rowsOf(const ShardTables *t, MlirAttribute rows) {
  intptr_t n = mlirArrayAttrGetNumElements(rows), at = 0;
  intptr_t width = n ? mlirDenseArrayGetNumElements(mlirArrayAttrGetElement(rows, 0)) : 0;
  LLVMValueRef *values = SHARD_ARENA_ARRAY(t->arena, LLVMValueRef, n * width + 1);
  for (intptr_t i = 0; i < n; ++i)
    for (intptr_t k = 0; k < width; ++k)
      values[at++] = i64Of(t, mlirDenseI64ArrayGetElement(mlirArrayAttrGetElement(rows, i), k));
  return shardTableArray(t, t->i64, at, values);
}

/// ShardProgramDim of each row of `spmd.program.dims`.
static LLVMValueRef dimsOf(const ShardTables *t, MlirAttribute rows) {
  intptr_t n = mlirArrayAttrGetNumElements(rows);
  LLVMValueRef *values = SHARD_ARENA_ARRAY(t->arena, LLVMValueRef, n + 1);
  for (intptr_t i = 0; i < n; ++i) {
    MlirAttribute row = mlirArrayAttrGetElement(rows, i);
    LLVMValueRef fields[] = {i32Of(t, mlirDenseI64ArrayGetElement(row, 0)),
                             i32Of(t, mlirDenseI64ArrayGetElement(row, 1)),
                             i64Of(t, mlirDenseI64ArrayGetElement(row, 2)),
                             i64Of(t, mlirDenseI64ArrayGetElement(row, 3))};
    values[i] = LLVMConstStructInContext(t->context, fields, 4, false);
  }
  return n ? shardTableArray(t, LLVMTypeOf(values[0]), n, values)
           : LLVMConstPointerNull(t->pointer);
}

/// ShardProgramDigit of each row of a value's digits.
static LLVMValueRef digitsOf(const ShardTables *t, MlirAttribute rows, intptr_t *outCount) {
  intptr_t n = mlirAttributeIsNull(rows) ? 0 : mlirArrayAttrGetNumElements(rows);
  LLVMValueRef *values = SHARD_ARENA_ARRAY(t->arena, LLVMValueRef, n + 1);
  *outCount = n;
  for (intptr_t i = 0; i < n; ++i) {
    MlirAttribute row = mlirArrayAttrGetElement(rows, i);
    intptr_t nTerms = mlirDenseArrayGetNumElements(row) - 2;
    LLVMValueRef *terms = SHARD_ARENA_ARRAY(t->arena, LLVMValueRef, nTerms + 1);
    for (intptr_t k = 0; k < nTerms; ++k)
      terms[k] = i64Of(t, mlirDenseI64ArrayGetElement(row, 2 + k));
    LLVMValueRef fields[] = {i32Of(t, mlirDenseI64ArrayGetElement(row, 0)),
                             i64Of(t, mlirDenseI64ArrayGetElement(row, 1)),
                             shardTableArray(t, t->i64, nTerms, terms)};
    values[i] = LLVMConstStructInContext(t->context, fields, 3, false);
  }
  return n ? shardTableArray(t, LLVMTypeOf(values[0]), n, values)
           : LLVMConstPointerNull(t->pointer);
}

/// A ShardProgramValue.
static LLVMValueRef valueOf(const ShardTables *t, MlirAttribute entry) {
  MlirType global = mlirTypeAttrGetValue(shardTableField(entry, "global"));
  bool shaped = mlirTypeIsAShaped(global);
  MlirType element = shaped ? mlirShapedTypeGetElementType(global) : global;
  intptr_t nViewDims;
  LLVMValueRef view = i64Array(t, shardTableField(entry, "view"), &nViewDims);
  LLVMValueRef sharding[] = {i32Of(t, nViewDims), view,
                             i32Array(t, shardTableField(entry, "axis_start"), NULL),
                             i32Array(t, shardTableField(entry, "axes"), NULL)};
  LLVMValueRef data = LLVMConstPointerNull(t->pointer);
  MlirAttribute symbol = shardTableField(entry, "data");
  if (!mlirAttributeIsNull(symbol))
    data = LLVMGetNamedGlobal(t->module,
                              shardArenaCopyString(t->arena, mlirStringAttrGetValue(symbol).data,
                                                   mlirStringAttrGetValue(symbol).length));
  MlirAttribute window = shardTableField(entry, "window");
  bool whole = mlirAttributeIsNull(window);
  intptr_t nDigits;
  LLVMValueRef digits = digitsOf(t, shardTableField(entry, "digits"), &nDigits);
  MlirAttribute storage = shardTableField(entry, "storage");
  MlirStringRef stored = mlirAttributeIsNull(storage) ? mlirStringRefCreateFromCString("")
                                                      : mlirStringAttrGetValue(storage);
  LLVMValueRef fields[] = {i32Of(t, integerField(entry, "index")),
                           textOf(t, mlirStringAttrGetValue(shardTableField(entry, "name"))),
                           textOf(t, mlirStringAttrGetValue(shardTableField(entry, "role"))),
                           i32Of(t, shardElementNumber(element)),
                           i32Of(t, shaped ? mlirShapedTypeGetRank(global) : 0),
                           shapeOf(t, global),
                           shapeOf(t, mlirTypeAttrGetValue(shardTableField(entry, "local"))),
                           LLVMConstStructInContext(t->context, sharding, 4, false),
                           data,
                           i32Of(t, integerField(entry, "constant")),
                           i32Of(t, whole ? 0 : mlirDenseI64ArrayGetElement(window, 0)),
                           i64Of(t, whole ? 0 : mlirDenseI64ArrayGetElement(window, 1)),
                           i64Of(t, whole ? 0 : mlirDenseI64ArrayGetElement(window, 2)),
                           i32Of(t, nDigits),
                           digits,
                           textOf(t, stored)};
  return LLVMConstStructInContext(t->context, fields, sizeof(fields) / sizeof(fields[0]), false);
}

static LLVMValueRef valuesOf(const ShardTables *t, MlirAttribute list, intptr_t *outCount) {
  intptr_t n = mlirArrayAttrGetNumElements(list);
  LLVMValueRef *values = SHARD_ARENA_ARRAY(t->arena, LLVMValueRef, n);
  for (intptr_t i = 0; i < n; ++i)
    values[i] = valueOf(t, mlirArrayAttrGetElement(list, i));
  *outCount = n;
  return n ? shardTableArray(t, LLVMTypeOf(values[0]), n, values)
           : LLVMConstPointerNull(t->pointer);
}

/// size_t workspaceBytes(const int64_t *dims)
static LLVMValueRef workspaceFunction(const ShardTables *t, int64_t bytes) {
  LLVMTypeRef parameter = t->pointer;
  LLVMValueRef function =
      LLVMAddFunction(t->module, "shard.workspace", LLVMFunctionType(t->i64, &parameter, 1, false));
  LLVMSetLinkage(function, LLVMInternalLinkage);
  LLVMBuilderRef builder = LLVMCreateBuilderInContext(t->context);
  LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(t->context, function, ""));
  LLVMBuildRet(builder, i64Of(t, bytes));
  LLVMDisposeBuilder(builder);
  return function;
}

static LLVMValueRef stageOf(const ShardTables *t, MlirAttribute stage,
                            const ShardTableStage *dispatched) {
  MlirStringRef name = mlirStringAttrGetValue(shardTableField(stage, "function"));
  MlirAttribute messages = dispatched ? dispatched->messages : shardTableField(stage, "messages");
  intptr_t nIn, nOut, nGroups;
  LLVMValueRef groups =
      i32Array(t, dispatched ? dispatched->groups : shardTableField(stage, "groups"), &nGroups);
  LLVMValueRef in = i32Array(t, shardTableField(stage, "arguments"), &nIn);
  LLVMValueRef out = i32Array(t, shardTableField(stage, "results"), &nOut);
  LLVMValueRef fields[] = {
      i32Of(t, nIn),
      i32Of(t, nOut),
      in,
      out,
      dispatched ? dispatched->workspaceBytes
                 : workspaceFunction(t, integerField(stage, "workspace")),
      dispatched
          ? dispatched->run
          : LLVMGetNamedFunction(t->module, shardArenaCopyString(t->arena, name.data, name.length)),
      i32Of(t, nGroups),
      i32Of(t, mlirArrayAttrGetNumElements(messages)),
      groups,
      rowsOf(t, messages)};
  return LLVMConstStructInContext(t->context, fields, sizeof(fields) / sizeof(fields[0]), false);
}

LLVMValueRef shardTableProgram(const ShardTables *t, MlirAttribute program,
                               const ShardTableStage *dispatched, intptr_t nBuckets,
                               LLVMValueRef buckets) {
  MlirAttribute axes = shardTableField(program, "axes");
  intptr_t nAxes = mlirArrayAttrGetNumElements(axes);
  LLVMValueRef *axisNames = SHARD_ARENA_ARRAY(t->arena, LLVMValueRef, nAxes);
  for (intptr_t i = 0; i < nAxes; ++i)
    axisNames[i] = textOf(t, mlirStringAttrGetValue(mlirArrayAttrGetElement(axes, i)));

  intptr_t nArguments, nResults;
  LLVMValueRef arguments = valuesOf(t, shardTableField(program, "arguments"), &nArguments);
  LLVMValueRef results = valuesOf(t, shardTableField(program, "results"), &nResults);

  MlirAttribute stages = shardTableField(program, "stages");
  intptr_t nStages = mlirArrayAttrGetNumElements(stages);
  LLVMValueRef *stageValues = SHARD_ARENA_ARRAY(t->arena, LLVMValueRef, nStages);
  for (intptr_t i = 0; i < nStages; ++i)
    stageValues[i] =
        stageOf(t, mlirArrayAttrGetElement(stages, i), dispatched ? &dispatched[i] : NULL);

  MlirAttribute sites = shardTableField(program, "sites");
  intptr_t nSites = mlirArrayAttrGetNumElements(sites);
  LLVMValueRef *siteValues = SHARD_ARENA_ARRAY(t->arena, LLVMValueRef, nSites);
  for (intptr_t i = 0; i < nSites; ++i) {
    MlirAttribute site = mlirArrayAttrGetElement(sites, i);
    LLVMValueRef fields[] = {i32Of(t, integerField(site, "site")),
                             textOf(t, mlirStringAttrGetValue(shardTableField(site, "kind"))),
                             textOf(t, mlirStringAttrGetValue(shardTableField(site, "location"))),
                             textOf(t, mlirStringAttrGetValue(shardTableField(site, "cause")))};
    siteValues[i] = LLVMConstStructInContext(t->context, fields, 4, false);
  }

  LLVMValueRef fields[] = {i32Of(t, SHARD_PROGRAM_ABI_VERSION),
                           i32Of(t, nAxes),
                           shardTableArray(t, t->pointer, nAxes, axisNames),
                           i64Array(t, shardTableField(program, "sizes"), NULL),
                           i32Of(t, integerField(program, "pp")),
                           i32Of(t, nArguments),
                           i32Of(t, nResults),
                           i32Of(t, nStages),
                           i32Of(t, nSites),
                           arguments,
                           results,
                           shardTableArray(t, LLVMTypeOf(stageValues[0]), nStages, stageValues),
                           nSites
                               ? shardTableArray(t, LLVMTypeOf(siteValues[0]), nSites, siteValues)
                               : LLVMConstPointerNull(t->pointer),
                           i32Of(t, mlirArrayAttrGetNumElements(shardTableField(program, "dims"))),
                           i32Of(t, mlirArrayAttrGetNumElements(shardTableField(program, "equal"))),
                           dimsOf(t, shardTableField(program, "dims")),
                           rowsOf(t, shardTableField(program, "equal")),
                           i32Of(t, nBuckets),
                           buckets ? buckets : LLVMConstPointerNull(t->pointer)};
  return globalOf(
      t, LLVMConstStructInContext(t->context, fields, sizeof(fields) / sizeof(fields[0]), false));
}

void shardTableGetter(const ShardTables *t, LLVMValueRef program) {
  LLVMValueRef getter =
      LLVMAddFunction(t->module, "shardProgram", LLVMFunctionType(t->pointer, NULL, 0, false));
  LLVMBuilderRef builder = LLVMCreateBuilderInContext(t->context);
  LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(t->context, getter, ""));
  LLVMBuildRet(builder, program);
  LLVMDisposeBuilder(builder);
}
