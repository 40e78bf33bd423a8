//===- shard/Load.h - A program in this process -------------------*- C -*-===//
// Compiles a lowered module in memory, or opens a shared object, and hands out its tables.
// The runtime (libShardRuntime) must be linked into the process.
//===----------------------------------------------------------------------===//
#ifndef SHARD_LOAD_H
#define SHARD_LOAD_H

#include "shard/Program.h"
#include "shard/Support.h"

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A program in memory. Thread-safe to read and to run; create and destroy on one thread.
typedef struct ShardLoaded ShardLoaded;

/// Compiles `module` (LLVM dialect, from shard-lower-cpu) with `mcpu` as in shard/Emit.h.
/// Returns a program to be destroyed; null after a diagnostic on the module's context.
SHARD_EXPORTED ShardLoaded *shardLoadModule(MlirOperation module, const char *mcpu);

/// Opens a shared object made by shardEmitShared. Null on failure: then `*outError` is a message
/// to be freed with free(): not found, not a program, another ABI version.
SHARD_EXPORTED ShardLoaded *shardLoadShared(const char *path, char **outError);

/// Borrowed until shardLoadedDestroy.
SHARD_EXPORTED const ShardProgram *shardLoadedGetProgram(const ShardLoaded *loaded);

/// Unmaps the code. Null is fine.
SHARD_EXPORTED void shardLoadedDestroy(ShardLoaded *loaded);

#ifdef __cplusplus
}
#endif
#endif // SHARD_LOAD_H
