//===- Emit.c - Machine code from a lowered module -----------------*- C -*-===//
#define _GNU_SOURCE
#include "shard/Emit.h"
#include "EmitInternal.h"
#include "EmitTables.h"
#include "Target.h"

#include "../Core/Buckets.h"
#include "../Core/Diagnostics.h"

#include "mlir-c/RegisterEverything.h"
#include "mlir-c/Target/LLVMIR.h"

#include "llvm-c/Analysis.h"
#include "llvm-c/Core.h"
#include "llvm-c/Linker.h"
#include "llvm-c/Transforms/PassBuilder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/// LLVM IR of one version, for that machine; null after a diagnostic.
static LLVMModuleRef translate(MlirOperation module, LLVMContextRef context,
                               LLVMTargetMachineRef machine) {
  if (mlirAttributeIsNull(shardOpGetAttribute(module, "spmd.program"))) {
    shardEmitError(module, "not a lowered program: run shard-lower-cpu first");
    return NULL;
  }
  if (mlirLogicalResultIsFailure(
          shardWalk(module, "func.func", refuseFunction, NULL))) // such as --emit=buffers prints
    return NULL;
  LLVMModuleRef llvm = mlirTranslateModuleToLLVMIR(module, context);
  if (!llvm)
    return NULL; // with a diagnostic
  char *triple = LLVMGetTargetMachineTriple(machine);
  LLVMSetTarget(llvm, triple);
  LLVMDisposeMessage(triple);
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
  LLVMSetModuleDataLayout(llvm, layout);
  LLVMDisposeTargetData(layout);
  return llvm;
}

/// Whether two versions have the same tables of dimensions and stages, as the entry points need it.
static bool fitTogether(MlirAttribute program, MlirAttribute other) {
  static const char *const lists[] = {"dims", "stages"};
  for (int i = 0; i < 2; ++i)
    if (mlirArrayAttrGetNumElements(shardTableField(program, lists[i])) !=
        mlirArrayAttrGetNumElements(shardTableField(other, lists[i])))
      return false;
  return true;
}

/// Constants of versions that are the same become one.
static void allowMerging(LLVMModuleRef module) {
  for (LLVMValueRef global = LLVMGetFirstGlobal(module); global; global = LLVMGetNextGlobal(global))
    if (LLVMIsGlobalConstant(global) && LLVMGetLinkage(global) != LLVMExternalLinkage)
      LLVMSetUnnamedAddress(global, LLVMGlobalUnnamedAddr);
}

/// Adds the versions in `buckets` to `llvm`, which is of `module`, and the table of all. False
/// after a diagnostic.
static bool addVersions(MlirOperation module, const ShardOpList *buckets,
                        LLVMTargetMachineRef machine, const ShardTarget *target,
                        const ShardTables *t) {
  intptr_t n = (intptr_t)buckets->nOps;
  MlirAttribute *programs = SHARD_ARENA_ARRAY(t->arena, MlirAttribute, n + 1);
  programs[n] = shardOpGetAttribute(module, "spmd.program");
  shardTableBucket(t, programs[n], n);
  for (intptr_t i = 0; i < n; ++i) {
    LLVMModuleRef llvm = translate(buckets->ops[i], t->context, machine);
    if (!llvm)
      return false;
    programs[i] = shardOpGetAttribute(buckets->ops[i], "spmd.program");
    ShardTables own = shardTablesOf(llvm, t->arena);
    shardTableBucket(&own, programs[i], i);
    annotate(llvm, target);
    allowMerging(llvm);
    if (!fitTogether(programs[n], programs[i]) || LLVMLinkModules2(t->module, llvm)) {
      shardEmitError(buckets->ops[i], "this version does not fit the program around it");
      return false;
    }
  }
  shardTableGetter(t, shardTableDispatch(t, n + 1, programs));
  return true;
}

static LLVMModuleRef makeModule(MlirOperation module, const char *mcpu, LLVMContextRef context,
                                LLVMTargetMachineRef machine) {
  LLVMModuleRef llvm = translate(module, context, machine);
  if (!llvm)
    return NULL;
  ShardTarget target = shardTargetGet(mcpu, 0);
  ShardArena *arena = shardArenaCreate();
  ShardOpList buckets = {.arena = arena};
  shardBucketsFind(module, &buckets);
  ShardTables tables = shardTablesOf(llvm, arena);
  bool ok = true;
  if (buckets.nOps)
    ok = addVersions(module, &buckets, machine, &target, &tables);
  else
    shardTableGetter(
        &tables,
        shardTableProgram(&tables, shardOpGetAttribute(module, "spmd.program"), NULL, 0, NULL));
  shardArenaDestroy(arena);
  annotate(llvm, &target);
  if (ok)
    return llvm;
  LLVMDisposeModule(llvm);
  return NULL;
}

LLVMModuleRef shardEmitModule(MlirOperation module, const char *mcpu, LLVMContextRef context,
                              LLVMTargetMachineRef *outMachine) {
  *outMachine = NULL;
  mlirRegisterAllLLVMTranslations(mlirOperationGetContext(module));
  char *message = NULL;
  LLVMTargetMachineRef machine = shardTargetMachineCreate(mcpu, &message);
  if (!machine) {
    shardEmitError(module, "no code can be made for this machine: %s", message);
    LLVMDisposeMessage(message);
    return NULL;
  }
  LLVMModuleRef llvm = makeModule(module, mcpu, context, machine);
  if (!llvm) {
    LLVMDisposeTargetMachine(machine);
    return NULL;
  }

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
