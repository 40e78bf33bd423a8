//===- shard/Emit.h - Machine code from a lowered module ----------*- C -*-===//
// Input of all: a module in the LLVM dialect as the pass shard-lower-cpu leaves it; it carries
// `spmd.program`, from which the tables of shard/Program.h are made. The module is not changed.
// Errors are diagnostics at the module's context; nothing is written then. Thread-compatible per
// context. A path is written to a temporary neighbour and renamed at the end.
// `mcpu`: NULL or "host" is this machine with its features; else LLVM's name of a CPU ("generic").
// Give the same `mcpu` to shard-lower-cpu, which chooses vector lengths by it.
//===----------------------------------------------------------------------===//
#ifndef SHARD_EMIT_H
#define SHARD_EMIT_H

#include "shard/Support.h"

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Writes a relocatable object (PIC) that exports `shardProgram`. Its undefined symbols are the
/// runtime's `shardRtCall*` and libc's and libm's.
SHARD_EXPORTED MlirLogicalResult shardEmitObject(MlirOperation module, const char *mcpu,
                                                 const char *path);

/// The same into memory: `*outBytes` of `*outSizeBytes`, to be freed with free().
SHARD_EXPORTED MlirLogicalResult shardEmitObjectToMemory(MlirOperation module, const char *mcpu,
                                                         void **outBytes, size_t *outSizeBytes);

/// Writes a shared object: the object linked by `cc -shared` (found on PATH; started without a
/// shell). The runtime's symbols stay undefined: the process that loads it provides them.
SHARD_EXPORTED MlirLogicalResult shardEmitShared(MlirOperation module, const char *mcpu,
                                                 const char *path);

/// Sends the optimised LLVM IR, as text, to `callback`.
SHARD_EXPORTED MlirLogicalResult shardEmitLLVM(MlirOperation module, const char *mcpu,
                                               MlirStringCallback callback, void *userData);

#ifdef __cplusplus
}
#endif
#endif // SHARD_EMIT_H
