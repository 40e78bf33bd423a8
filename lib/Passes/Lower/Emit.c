//===- Emit.c - Machine code from a lowered module -----------------*- C -*-===//
#define _GNU_SOURCE
#include "shard/Emit.h"
#include "EmitInternal.h"
#include "Target.h"

#include "shard/Program.h"

#include "mlir-c/RegisterEverything.h"
#include "mlir-c/Target/LLVMIR.h"

#include "llvm-c/Analysis.h"
#include "llvm-c/Core.h"
#include "llvm-c/Transforms/PassBuilder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

typedef struct Tables {
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMTypeRef pointer, i8, i32, i64;
} Tables;

static LLVMValueRef i32Of(const Tables *t, int64_t value) {
  return LLVMConstInt(t->i32, (unsigned long long)value, true);
}
static LLVMValueRef i64Of(const Tables *t, int64_t value) {
  return LLVMConstInt(t->i64, (unsigned long long)value, true);
}

/// A constant global of this value, as a pointer.
static LLVMValueRef globalOf(const Tables *t, LLVMValueRef value) {
  LLVMValueRef global = LLVMAddGlobal(t->module, LLVMTypeOf(value), "shard.table");
  LLVMSetInitializer(global, value);
  LLVMSetGlobalConstant(global, true);
  LLVMSetLinkage(global, LLVMPrivateLinkage);
  return global;
}

static LLVMValueRef textOf(const Tables *t, MlirStringRef text) {
  return globalOf(t, LLVMConstStringInContext2(t->context, text.data, text.length, false));
}

/// A null pointer for an empty array.
static LLVMValueRef arrayOf(const Tables *t, LLVMTypeRef type, intptr_t n, LLVMValueRef *values) {
  if (!n)
    return LLVMConstPointerNull(t->pointer);
  return globalOf(t, LLVMConstArray2(type, values, (uint64_t)n));
}

static MlirAttribute field(MlirAttribute dictionary, const char *name) {
  return mlirDictionaryAttrGetElementByName(dictionary, mlirStringRefCreateFromCString(name));
}

static int64_t integerField(MlirAttribute dictionary, const char *name) {
  int64_t value = 0;
  MlirAttribute attribute = field(dictionary, name);
  if (!mlirAttributeIsNull(attribute))
    shardAttrGetI64(attribute, &value);
  return value;
}

static LLVMValueRef i32Array(const Tables *t, ShardArena *arena, MlirAttribute array,
                             intptr_t *outCount) {
  intptr_t n = mlirDenseArrayGetNumElements(array);
  LLVMValueRef *values = SHARD_ARENA_ARRAY(arena, LLVMValueRef, n);
  for (intptr_t i = 0; i < n; ++i)
    values[i] = i32Of(t, mlirDenseI32ArrayGetElement(array, i));
  if (outCount)
    *outCount = n;
  return arrayOf(t, t->i32, n, values);
}

static LLVMValueRef i64Array(const Tables *t, ShardArena *arena, MlirAttribute array,
                             intptr_t *outCount) {
  intptr_t n = mlirDenseArrayGetNumElements(array);
  LLVMValueRef *values = SHARD_ARENA_ARRAY(arena, LLVMValueRef, n);
  for (intptr_t i = 0; i < n; ++i)
    values[i] = i64Of(t, mlirDenseI64ArrayGetElement(array, i));
  if (outCount)
    *outCount = n;
  return arrayOf(t, t->i64, n, values);
}

static LLVMValueRef shapeOf(const Tables *t, ShardArena *arena, MlirType type) {
  intptr_t rank = mlirTypeIsAShaped(type) ? mlirShapedTypeGetRank(type) : 0;
  LLVMValueRef *values = SHARD_ARENA_ARRAY(arena, LLVMValueRef, rank);
  for (intptr_t i = 0; i < rank; ++i)
    values[i] = i64Of(t, mlirShapedTypeGetDimSize(type, i));
  return arrayOf(t, t->i64, rank, values);
}

/// Rows of numbers, one after the other; null for none.
static LLVMValueRef rowsOf(const Tables *t, ShardArena *arena, MlirAttribute rows) {
  intptr_t n = mlirArrayAttrGetNumElements(rows), at = 0;
  intptr_t width = n ? mlirDenseArrayGetNumElements(mlirArrayAttrGetElement(rows, 0)) : 0;
  LLVMValueRef *values = SHARD_ARENA_ARRAY(arena, LLVMValueRef, n * width + 1);
  for (intptr_t i = 0; i < n; ++i)
    for (intptr_t k = 0; k < width; ++k)
      values[at++] = i64Of(t, mlirDenseI64ArrayGetElement(mlirArrayAttrGetElement(rows, i), k));
  return arrayOf(t, t->i64, at, values);
}

/// ShardProgramDim of each row of `spmd.program.dims`.
static LLVMValueRef dimsOf(const Tables *t, ShardArena *arena, MlirAttribute rows) {
  intptr_t n = mlirArrayAttrGetNumElements(rows);
  LLVMValueRef *values = SHARD_ARENA_ARRAY(arena, LLVMValueRef, n + 1);
  for (intptr_t i = 0; i < n; ++i) {
    MlirAttribute row = mlirArrayAttrGetElement(rows, i);
    LLVMValueRef fields[] = {i32Of(t, mlirDenseI64ArrayGetElement(row, 0)),
                             i32Of(t, mlirDenseI64ArrayGetElement(row, 1)),
                             i64Of(t, mlirDenseI64ArrayGetElement(row, 2)),
                             i64Of(t, mlirDenseI64ArrayGetElement(row, 3))};
    values[i] = LLVMConstStructInContext(t->context, fields, 4, false);
  }
  return n ? arrayOf(t, LLVMTypeOf(values[0]), n, values) : LLVMConstPointerNull(t->pointer);
}

/// ShardProgramDigit of each row of a value's digits.
static LLVMValueRef digitsOf(const Tables *t, ShardArena *arena, MlirAttribute rows,
                             intptr_t *outCount) {
  intptr_t n = mlirAttributeIsNull(rows) ? 0 : mlirArrayAttrGetNumElements(rows);
  LLVMValueRef *values = SHARD_ARENA_ARRAY(arena, LLVMValueRef, n + 1);
  *outCount = n;
  for (intptr_t i = 0; i < n; ++i) {
    MlirAttribute row = mlirArrayAttrGetElement(rows, i);
    intptr_t nTerms = mlirDenseArrayGetNumElements(row) - 2;
    LLVMValueRef *terms = SHARD_ARENA_ARRAY(arena, LLVMValueRef, nTerms + 1);
    for (intptr_t k = 0; k < nTerms; ++k)
      terms[k] = i64Of(t, mlirDenseI64ArrayGetElement(row, 2 + k));
    LLVMValueRef fields[] = {i32Of(t, mlirDenseI64ArrayGetElement(row, 0)),
                             i64Of(t, mlirDenseI64ArrayGetElement(row, 1)),
                             arrayOf(t, t->i64, nTerms, terms)};
    values[i] = LLVMConstStructInContext(t->context, fields, 3, false);
  }
  return n ? arrayOf(t, LLVMTypeOf(values[0]), n, values) : LLVMConstPointerNull(t->pointer);
}

/// A ShardProgramValue.
static LLVMValueRef valueOf(const Tables *t, ShardArena *arena, MlirAttribute entry) {
  MlirType global = mlirTypeAttrGetValue(field(entry, "global"));
  bool shaped = mlirTypeIsAShaped(global);
  MlirType element = shaped ? mlirShapedTypeGetElementType(global) : global;
  intptr_t nViewDims;
  LLVMValueRef view = i64Array(t, arena, field(entry, "view"), &nViewDims);
  LLVMValueRef sharding[] = {i32Of(t, nViewDims), view,
                             i32Array(t, arena, field(entry, "axis_start"), NULL),
                             i32Array(t, arena, field(entry, "axes"), NULL)};
  LLVMValueRef data = LLVMConstPointerNull(t->pointer);
  MlirAttribute symbol = field(entry, "data");
  if (!mlirAttributeIsNull(symbol))
    data = LLVMGetNamedGlobal(t->module,
                              shardArenaCopyString(arena, mlirStringAttrGetValue(symbol).data,
                                                   mlirStringAttrGetValue(symbol).length));
  MlirAttribute window = field(entry, "window");
  bool whole = mlirAttributeIsNull(window);
  intptr_t nDigits;
  LLVMValueRef digits = digitsOf(t, arena, field(entry, "digits"), &nDigits);
  MlirAttribute storage = field(entry, "storage");
  MlirStringRef stored = mlirAttributeIsNull(storage) ? mlirStringRefCreateFromCString("")
                                                      : mlirStringAttrGetValue(storage);
  LLVMValueRef fields[] = {i32Of(t, integerField(entry, "index")),
                           textOf(t, mlirStringAttrGetValue(field(entry, "name"))),
                           textOf(t, mlirStringAttrGetValue(field(entry, "role"))),
                           i32Of(t, shardElementNumber(element)),
                           i32Of(t, shaped ? mlirShapedTypeGetRank(global) : 0),
                           shapeOf(t, arena, global),
                           shapeOf(t, arena, mlirTypeAttrGetValue(field(entry, "local"))),
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

static LLVMValueRef valuesOf(const Tables *t, ShardArena *arena, MlirAttribute list,
                             intptr_t *outCount) {
  intptr_t n = mlirArrayAttrGetNumElements(list);
  LLVMValueRef *values = SHARD_ARENA_ARRAY(arena, LLVMValueRef, n);
  for (intptr_t i = 0; i < n; ++i)
    values[i] = valueOf(t, arena, mlirArrayAttrGetElement(list, i));
  *outCount = n;
  return n ? arrayOf(t, LLVMTypeOf(values[0]), n, values) : LLVMConstPointerNull(t->pointer);
}

/// size_t workspaceBytes(const int64_t *dims)
static LLVMValueRef workspaceFunction(const Tables *t, int64_t bytes) {
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

static void addTables(LLVMModuleRef module, MlirAttribute program, ShardArena *arena) {
  LLVMContextRef context = LLVMGetModuleContext(module);
  Tables tables = {.context = context,
                   .module = module,
                   .pointer = LLVMPointerTypeInContext(context, 0),
                   .i8 = LLVMInt8TypeInContext(context),
                   .i32 = LLVMInt32TypeInContext(context),
                   .i64 = LLVMInt64TypeInContext(context)};
  const Tables *t = &tables;
  MlirAttribute axes = field(program, "axes");
  intptr_t nAxes = mlirArrayAttrGetNumElements(axes);
  LLVMValueRef *axisNames = SHARD_ARENA_ARRAY(arena, LLVMValueRef, nAxes);
  for (intptr_t i = 0; i < nAxes; ++i)
    axisNames[i] = textOf(t, mlirStringAttrGetValue(mlirArrayAttrGetElement(axes, i)));

  intptr_t nArguments, nResults;
  LLVMValueRef arguments = valuesOf(t, arena, field(program, "arguments"), &nArguments);
  LLVMValueRef results = valuesOf(t, arena, field(program, "results"), &nResults);

  MlirAttribute stages = field(program, "stages");
  intptr_t nStages = mlirArrayAttrGetNumElements(stages);
  LLVMValueRef *stageValues = SHARD_ARENA_ARRAY(arena, LLVMValueRef, nStages);
  for (intptr_t i = 0; i < nStages; ++i) {
    MlirAttribute stage = mlirArrayAttrGetElement(stages, i);
    MlirStringRef name = mlirStringAttrGetValue(field(stage, "function"));
    intptr_t nIn, nOut, nGroups;
    LLVMValueRef groups = i32Array(t, arena, field(stage, "groups"), &nGroups);
    LLVMValueRef in = i32Array(t, arena, field(stage, "arguments"), &nIn);
    LLVMValueRef out = i32Array(t, arena, field(stage, "results"), &nOut);
    LLVMValueRef fields[] = {
        i32Of(t, nIn),
        i32Of(t, nOut),
        in,
        out,
        workspaceFunction(t, integerField(stage, "workspace")),
        LLVMGetNamedFunction(module, shardArenaCopyString(arena, name.data, name.length)),
        i32Of(t, nGroups),
        i32Of(t, mlirArrayAttrGetNumElements(field(stage, "messages"))),
        groups,
        rowsOf(t, arena, field(stage, "messages"))};
    stageValues[i] =
        LLVMConstStructInContext(context, fields, sizeof(fields) / sizeof(fields[0]), false);
  }

  MlirAttribute sites = field(program, "sites");
  intptr_t nSites = mlirArrayAttrGetNumElements(sites);
  LLVMValueRef *siteValues = SHARD_ARENA_ARRAY(arena, LLVMValueRef, nSites);
  for (intptr_t i = 0; i < nSites; ++i) {
    MlirAttribute site = mlirArrayAttrGetElement(sites, i);
    LLVMValueRef fields[] = {i32Of(t, integerField(site, "site")),
                             textOf(t, mlirStringAttrGetValue(field(site, "kind"))),
                             textOf(t, mlirStringAttrGetValue(field(site, "location"))),
                             textOf(t, mlirStringAttrGetValue(field(site, "cause")))};
    siteValues[i] = LLVMConstStructInContext(context, fields, 4, false);
  }

  LLVMValueRef fields[] = {i32Of(t, SHARD_PROGRAM_ABI_VERSION),
                           i32Of(t, nAxes),
                           arrayOf(t, t->pointer, nAxes, axisNames),
                           i64Array(t, arena, field(program, "sizes"), NULL),
                           i32Of(t, integerField(program, "pp")),
                           i32Of(t, nArguments),
                           i32Of(t, nResults),
                           i32Of(t, nStages),
                           i32Of(t, nSites),
                           arguments,
                           results,
                           arrayOf(t, LLVMTypeOf(stageValues[0]), nStages, stageValues),
                           nSites ? arrayOf(t, LLVMTypeOf(siteValues[0]), nSites, siteValues)
                                  : LLVMConstPointerNull(t->pointer),
                           i32Of(t, mlirArrayAttrGetNumElements(field(program, "dims"))),
                           i32Of(t, mlirArrayAttrGetNumElements(field(program, "equal"))),
                           dimsOf(t, arena, field(program, "dims")),
                           rowsOf(t, arena, field(program, "equal"))};
  LLVMValueRef table = globalOf(
      t, LLVMConstStructInContext(context, fields, sizeof(fields) / sizeof(fields[0]), false));
  LLVMValueRef getter =
      LLVMAddFunction(module, "shardProgram", LLVMFunctionType(t->pointer, NULL, 0, false));
  LLVMBuilderRef builder = LLVMCreateBuilderInContext(context);
  LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(context, getter, ""));
  LLVMBuildRet(builder, table);
  LLVMDisposeBuilder(builder);
}

//===----------------------------------------------------------------------===//
// Optimised IR
//===----------------------------------------------------------------------===//

static void addAttribute(LLVMValueRef function, LLVMAttributeIndex index, const char *name) {
  unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
  LLVMAddAttributeAtIndex(
      function, index,
      LLVMCreateEnumAttribute(LLVMGetModuleContext(LLVMGetGlobalParent(function)), kind, 0));
}

static void addTextAttribute(LLVMValueRef function, const char *name, const char *value) {
  LLVMAddAttributeAtIndex(
      function, LLVMAttributeFunctionIndex,
      LLVMCreateStringAttribute(LLVMGetModuleContext(LLVMGetGlobalParent(function)), name,
                                (unsigned)strlen(name), value, (unsigned)strlen(value)));
}

/// Whether number `i` is in the function's list of arguments that may have bytes in common.
static bool isShared(LLVMValueRef function, unsigned i) {
  LLVMAttributeRef attribute = LLVMGetStringAttributeAtIndex(
      function, LLVMAttributeFunctionIndex, SHARD_SHARED_ARGUMENTS, strlen(SHARD_SHARED_ARGUMENTS));
  unsigned length = 0;
  const char *list = attribute ? LLVMGetStringAttributeValue(attribute, &length) : "";
  for (unsigned at = 0; at < length; ++at) {
    unsigned number = 0;
    for (; at < length && list[at] != ','; ++at)
      number = 10 * number + (unsigned)(list[at] - '0');
    if (number == i)
      return true;
  }
  return false;
}

/// Only shardProgram is seen from outside; and what LLVM may assume.
static void annotate(LLVMModuleRef module, const ShardTarget *target) {
  char bits[16];
  snprintf(bits, sizeof(bits), "%" PRId64, target->vectorBytes * 8);
  for (LLVMValueRef function = LLVMGetFirstFunction(module); function;
       function = LLVMGetNextFunction(function)) {
    size_t length;
    const char *name = LLVMGetValueName2(function, &length);
    if (LLVMIsDeclaration(function)) {
      if (!strcmp(name, "shardRtAssertFailed")) {
        addAttribute(function, LLVMAttributeFunctionIndex, "noreturn");
        addAttribute(function, LLVMAttributeFunctionIndex, "cold");
      }
      continue;
    }
    if (strcmp(name, "shardProgram"))
      LLVMSetLinkage(function, LLVMInternalLinkage);
    addTextAttribute(function, "min-legal-vector-width", bits);
    addTextAttribute(function, "prefer-vector-width", bits);
    // Buffers of one call do not overlap unless they are only read, or handed over.
    if (!strchr(name, '.'))
      for (unsigned i = 1; i < LLVMCountParams(function); ++i)
        if (LLVMGetTypeKind(LLVMTypeOf(LLVMGetParam(function, i))) == LLVMPointerTypeKind &&
            !isShared(function, i))
          addAttribute(function, (LLVMAttributeIndex)(i + 1), "noalias");
  }
}

/// A lowered program has none.
static MlirLogicalResult refuseFunction(void *user, MlirOperation op) {
  (void)user;
  return shardEmitError(op, "the program is lowered to buffers only; emit code from the sharded "
                            "program that they were printed from");
}

LLVMModuleRef shardEmitModule(MlirOperation module, const char *mcpu, LLVMContextRef context,
                              LLVMTargetMachineRef *outMachine) {
  *outMachine = NULL;
  MlirAttribute program = shardOpGetAttribute(module, "spmd.program");
  if (mlirAttributeIsNull(program)) {
    shardEmitError(module, "not a lowered program: run shard-lower-cpu first");
    return NULL;
  }
  if (mlirLogicalResultIsFailure(
          shardWalk(module, "func.func", refuseFunction, NULL))) // such as --emit=buffers prints
    return NULL;
  mlirRegisterAllLLVMTranslations(mlirOperationGetContext(module));
  LLVMModuleRef llvm = mlirTranslateModuleToLLVMIR(module, context);
  if (!llvm)
    return NULL; // with a diagnostic
  char *message = NULL;
  LLVMTargetMachineRef machine = shardTargetMachineCreate(mcpu, &message);
  if (!machine) {
    shardEmitError(module, "no code can be made for this machine: %s", message);
    LLVMDisposeMessage(message);
    LLVMDisposeModule(llvm);
    return NULL;
  }
  char *triple = LLVMGetTargetMachineTriple(machine);
  LLVMSetTarget(llvm, triple);
  LLVMDisposeMessage(triple);
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
  LLVMSetModuleDataLayout(llvm, layout);
  LLVMDisposeTargetData(layout);
  ShardArena *arena = shardArenaCreate();
  addTables(llvm, program, arena);
  shardArenaDestroy(arena);
  ShardTarget target = shardTargetGet(mcpu, 0);
  annotate(llvm, &target);

  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  // Bodies are short and loops many: unrolling and interleaving them doubles the compile time and
  // gains nothing measurable (the register tile of the matrix product is unrolled as written).
  LLVMPassBuilderOptionsSetLoopInterleaving(options, false);
  LLVMPassBuilderOptionsSetLoopUnrolling(options, false);
  LLVMPassBuilderOptionsSetSLPVectorization(options, false);
  LLVMErrorRef error = LLVMRunPasses(llvm, "default<O2>", machine, options);
  LLVMDisposePassBuilderOptions(options);
  if (error) {
    char *text = LLVMGetErrorMessage(error);
    shardEmitError(module, "LLVM's optimiser failed: %s", text);
    LLVMDisposeErrorMessage(text);
    LLVMDisposeTargetMachine(machine);
    LLVMDisposeModule(llvm);
    return NULL;
  }
  *outMachine = machine;
  return llvm;
}

LLVMMemoryBufferRef shardEmitBuffer(MlirOperation module, const char *mcpu) {
  LLVMContextRef context = LLVMContextCreate();
  LLVMTargetMachineRef machine;
  LLVMModuleRef llvm = shardEmitModule(module, mcpu, context, &machine);
  LLVMMemoryBufferRef buffer = NULL;
  if (llvm) {
    char *message = NULL;
    if (LLVMTargetMachineEmitToMemoryBuffer(machine, llvm, LLVMObjectFile, &message, &buffer)) {
      shardEmitError(module, "no machine code: %s", message);
      LLVMDisposeMessage(message);
      buffer = NULL;
    }
    LLVMDisposeModule(llvm);
    LLVMDisposeTargetMachine(machine);
  }
  LLVMContextDispose(context);
  return buffer;
}

MlirLogicalResult shardEmitLLVM(MlirOperation module, const char *mcpu, MlirStringCallback callback,
                                void *userData) {
  LLVMContextRef context = LLVMContextCreate();
  LLVMTargetMachineRef machine;
  LLVMModuleRef llvm = shardEmitModule(module, mcpu, context, &machine);
  if (llvm) {
    char *text = LLVMPrintModuleToString(llvm);
    callback(mlirStringRefCreateFromCString(text), userData);
    LLVMDisposeMessage(text);
    LLVMDisposeModule(llvm);
    LLVMDisposeTargetMachine(machine);
  }
  LLVMContextDispose(context);
  return llvm ? mlirLogicalResultSuccess() : mlirLogicalResultFailure();
}
