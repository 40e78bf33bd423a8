//===- EmitBuckets.c - Versions of a program, chosen by a run's extents -*- C -*-===//
// Emits, beside the ShardProgram of each version:
//   shard.pick(dims)           the first version whose bounds hold the extents
//   shard.workspace.N(dims)    what that version's stage N says
//   shard.run.N(context, ...)  and does
//===----------------------------------------------------------------------===//
#include "EmitTables.h"

#include "../Core/IR.h"

#include "shard/Program.h"

#include "mlir-c/BuiltinAttributes.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

static const char *bucketName(const ShardTables *t, intptr_t index) {
  return shardArenaFormat(t->arena, "shard.bucket.%" PRIdPTR, index);
}

void shardTableBucket(const ShardTables *t, MlirAttribute program, intptr_t index) {
  LLVMValueRef table = shardTableProgram(t, program, NULL, 0, NULL);
  const char *name = bucketName(t, index);
  LLVMSetValueName2(table, name, strlen(name));
  LLVMSetLinkage(table, LLVMExternalLinkage); // found by its name after linking
}

//===----------------------------------------------------------------------===//
// What all versions ask for
//===----------------------------------------------------------------------===//

static MlirAttribute stageField(MlirAttribute program, intptr_t stage, const char *name) {
  return shardTableField(mlirArrayAttrGetElement(shardTableField(program, "stages"), stage), name);
}

static MlirAttribute uniteGroups(const ShardTables *t, intptr_t n, const MlirAttribute *programs,
                                 intptr_t stage) {
  intptr_t nAll = 0, capacity = 0;
  for (intptr_t p = 0; p < n; ++p)
    capacity += mlirDenseArrayGetNumElements(stageField(programs[p], stage, "groups"));
  int32_t *all = SHARD_ARENA_ARRAY(t->arena, int32_t, capacity + 1);
  for (intptr_t p = n - 1; p >= 0; --p) {
    MlirAttribute groups = stageField(programs[p], stage, "groups");
    for (intptr_t i = 0; i < mlirDenseArrayGetNumElements(groups); ++i) {
      int32_t mask = mlirDenseI32ArrayGetElement(groups, i);
      intptr_t at = 0;
      while (at < nAll && all[at] != mask)
        ++at;
      all[at] = mask;
      nAll += at == nAll;
    }
  }
  return mlirDenseI32ArrayGet(mlirAttributeGetContext(programs[0]), nAll, all);
}

/// Of each size of message the most that a version may have under way.
static MlirAttribute uniteMessages(const ShardTables *t, intptr_t n, const MlirAttribute *programs,
                                   intptr_t stage) {
  intptr_t nAll = 0, capacity = 0;
  for (intptr_t p = 0; p < n; ++p)
    capacity += mlirArrayAttrGetNumElements(stageField(programs[p], stage, "messages"));
  MlirAttribute *all = SHARD_ARENA_ARRAY(t->arena, MlirAttribute, capacity + 1);
  for (intptr_t p = n - 1; p >= 0; --p) {
    MlirAttribute messages = stageField(programs[p], stage, "messages");
    for (intptr_t i = 0; i < mlirArrayAttrGetNumElements(messages); ++i) {
      MlirAttribute message = mlirArrayAttrGetElement(messages, i);
      intptr_t at = 0;
      while (at < nAll &&
             mlirDenseI64ArrayGetElement(all[at], 0) != mlirDenseI64ArrayGetElement(message, 0))
        ++at;
      if (at == nAll ||
          mlirDenseI64ArrayGetElement(all[at], 1) < mlirDenseI64ArrayGetElement(message, 1))
        all[at] = message;
      nAll += at == nAll;
    }
  }
  return mlirArrayAttrGet(mlirAttributeGetContext(programs[0]), nAll, all);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static LLVMValueRef addFunction(const ShardTables *t, const char *name, LLVMTypeRef type) {
  LLVMValueRef function = LLVMAddFunction(t->module, name, type);
  LLVMSetLinkage(function, LLVMInternalLinkage);
  return function;
}

static LLVMBasicBlockRef addBlock(const ShardTables *t, LLVMValueRef function) {
  return LLVMAppendBasicBlockInContext(t->context, function, "");
}

static LLVMValueRef number(const ShardTables *t, int64_t value) {
  return LLVMConstInt(t->i64, (unsigned long long)value, true);
}

/// Whether extents lie within the bounds of a version.
static LLVMValueRef fits(const ShardTables *t, LLVMBuilderRef b, MlirAttribute program,
                         const LLVMValueRef *extents) {
  MlirAttribute dims = shardTableField(program, "dims");
  LLVMValueRef all = LLVMConstInt(LLVMInt1TypeInContext(t->context), 1, false);
  for (intptr_t k = 0; k < mlirArrayAttrGetNumElements(dims); ++k) {
    MlirAttribute row = mlirArrayAttrGetElement(dims, k);
    LLVMValueRef least = number(t, mlirDenseI64ArrayGetElement(row, 2));
    LLVMValueRef most = number(t, mlirDenseI64ArrayGetElement(row, 3));
    all = LLVMBuildAnd(b, all, LLVMBuildICmp(b, LLVMIntSGE, extents[k], least, ""), "");
    all = LLVMBuildAnd(b, all, LLVMBuildICmp(b, LLVMIntSLE, extents[k], most, ""), "");
  }
  return all;
}

/// i64 shard.pick(dims); without extents the bounds.
static LLVMValueRef addPick(const ShardTables *t, intptr_t n, const MlirAttribute *programs) {
  LLVMValueRef pick =
      addFunction(t, "shard.pick", LLVMFunctionType(t->i64, (LLVMTypeRef[]){t->pointer}, 1, false));
  LLVMBuilderRef b = LLVMCreateBuilderInContext(t->context);
  LLVMBasicBlockRef entry = addBlock(t, pick), none = addBlock(t, pick), some = addBlock(t, pick);
  LLVMValueRef dims = LLVMGetParam(pick, 0);
  LLVMPositionBuilderAtEnd(b, entry);
  LLVMBuildCondBr(b, LLVMBuildIsNull(b, dims, ""), none, some);
  LLVMPositionBuilderAtEnd(b, none);
  LLVMBuildRet(b, number(t, n - 1));
  LLVMPositionBuilderAtEnd(b, some);
  intptr_t nDims = mlirArrayAttrGetNumElements(shardTableField(programs[0], "dims"));
  LLVMValueRef *extents = SHARD_ARENA_ARRAY(t->arena, LLVMValueRef, nDims + 1);
  for (intptr_t k = 0; k < nDims; ++k) {
    LLVMValueRef index = number(t, k);
    extents[k] = LLVMBuildLoad2(b, t->i64, LLVMBuildGEP2(b, t->i64, dims, &index, 1, ""), "");
  }
  LLVMValueRef picked = number(t, n - 1);
  for (intptr_t p = n - 2; p >= 0; --p)
    picked = LLVMBuildSelect(b, fits(t, b, programs[p], extents), number(t, p), picked, "");
  LLVMBuildRet(b, picked);
  LLVMDisposeBuilder(b);
  return pick;
}

/// The pointer at `offset` bytes behind another.
static LLVMValueRef loadAt(const ShardTables *t, LLVMBuilderRef b, LLVMValueRef base,
                           size_t offset) {
  LLVMValueRef index = number(t, (int64_t)offset);
  return LLVMBuildLoad2(b, t->pointer, LLVMBuildGEP2(b, t->i8, base, &index, 1, ""), "");
}

/// A function that calls what the stage of the version for its extents, parameter `dims`, has at
/// `offset` of its ShardProgramStage.
static LLVMValueRef addForward(const ShardTables *t, const char *name, LLVMTypeRef type,
                               unsigned dims, size_t offset, LLVMValueRef pick,
                               LLVMValueRef buckets, intptr_t stage) {
  LLVMValueRef function = addFunction(t, name, type), arguments[5];
  unsigned n = LLVMCountParams(function);
  for (unsigned i = 0; i < n; ++i)
    arguments[i] = LLVMGetParam(function, i);
  LLVMBuilderRef b = LLVMCreateBuilderInContext(t->context);
  LLVMPositionBuilderAtEnd(b, addBlock(t, function));
  LLVMTypeRef pickType = LLVMFunctionType(t->i64, (LLVMTypeRef[]){t->pointer}, 1, false);
  LLVMValueRef picked = LLVMBuildCall2(b, pickType, pick, &arguments[dims], 1, "");
  LLVMValueRef program =
      LLVMBuildLoad2(b, t->pointer, LLVMBuildGEP2(b, t->pointer, buckets, &picked, 1, ""), "");
  LLVMValueRef stages = loadAt(t, b, program, offsetof(ShardProgram, stages));
  LLVMValueRef callee = loadAt(t, b, stages, (size_t)stage * sizeof(ShardProgramStage) + offset);
  LLVMBuildRet(b, LLVMBuildCall2(b, type, callee, arguments, n, ""));
  LLVMDisposeBuilder(b);
  return function;
}

LLVMValueRef shardTableDispatch(const ShardTables *t, intptr_t n, const MlirAttribute *programs) {
  LLVMValueRef *tables = SHARD_ARENA_ARRAY(t->arena, LLVMValueRef, n);
  for (intptr_t p = 0; p < n; ++p) {
    tables[p] = LLVMGetNamedGlobal(t->module, bucketName(t, p));
    LLVMSetLinkage(tables[p], LLVMInternalLinkage);
  }
  LLVMValueRef buckets = shardTableArray(t, t->pointer, n, tables);
  LLVMValueRef pick = addPick(t, n, programs);
  LLVMTypeRef pointers[] = {t->pointer, t->pointer, t->pointer, t->pointer, t->pointer};
  LLVMTypeRef sizeType = LLVMFunctionType(t->i64, pointers, 1, false);
  LLVMTypeRef runType = LLVMFunctionType(t->i32, pointers, 5, false);
  intptr_t nStages = mlirArrayAttrGetNumElements(shardTableField(programs[n - 1], "stages"));
  ShardTableStage *stages = SHARD_ARENA_ARRAY(t->arena, ShardTableStage, nStages + 1);
  for (intptr_t s = 0; s < nStages; ++s)
    stages[s] = (ShardTableStage){
        addForward(t, shardArenaFormat(t->arena, "shard.workspace.%" PRIdPTR, s), sizeType, 0,
                   offsetof(ShardProgramStage, workspaceBytes), pick, buckets, s),
        addForward(t, shardArenaFormat(t->arena, "shard.run.%" PRIdPTR, s), runType, 1,
                   offsetof(ShardProgramStage, run), pick, buckets, s),
        uniteGroups(t, n, programs, s), uniteMessages(t, n, programs, s)};
  return shardTableProgram(t, programs[n - 1], stages, n, buckets);
}
