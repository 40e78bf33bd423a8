//===- EmitTables.h - The tables of shard/Program.h ----------------*- C -*-===//
#ifndef SHARD_LOWER_EMITTABLES_H
#define SHARD_LOWER_EMITTABLES_H

#include "../Core/Arena.h"

#include "mlir-c/IR.h"

#include "llvm-c/Core.h"

/// What tables are built in and of.
typedef struct ShardTables {
  ShardArena *arena;
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMTypeRef pointer, i8, i32, i64;
} ShardTables;

ShardTables shardTablesOf(LLVMModuleRef module, ShardArena *arena);

/// What a program's table has in place of its own where versions of it are chosen by extents.
typedef struct ShardTableStage {
  LLVMValueRef workspaceBytes, run;
  MlirAttribute groups, messages; // of all versions
} ShardTableStage;

/// A constant of the array's values; a null pointer for an empty one.
LLVMValueRef shardTableArray(const ShardTables *t, LLVMTypeRef type, intptr_t n,
                             LLVMValueRef *values);
/// A field of `spmd.program` or of a part of it; null: it has none.
MlirAttribute shardTableField(MlirAttribute dictionary, const char *name);

/// A ShardProgram of `spmd.program`. `stages`: see there, null without versions, of which there are
/// nBuckets in the array of pointers `buckets` (else null).
LLVMValueRef shardTableProgram(const ShardTables *t, MlirAttribute program,
                               const ShardTableStage *stages, intptr_t nBuckets,
                               LLVMValueRef buckets);
/// The function `shardProgram`, which hands out that program.
void shardTableGetter(const ShardTables *t, LLVMValueRef program);

/// EmitBuckets.c: the program of one version, from where shardTableDispatch finds it when the
/// modules are linked.
void shardTableBucket(const ShardTables *t, MlirAttribute program, intptr_t index);
/// The program of n versions, smallest first, the bounds last: its entry points take the first that
/// holds a run's extents.
LLVMValueRef shardTableDispatch(const ShardTables *t, intptr_t n, const MlirAttribute *programs);

#endif // SHARD_LOWER_EMITTABLES_H
