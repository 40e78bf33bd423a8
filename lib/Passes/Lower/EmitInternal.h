//===- EmitInternal.h - LLVM modules and objects in memory ---------*- C -*-===//
#ifndef SHARD_LOWER_EMITINTERNAL_H
#define SHARD_LOWER_EMITINTERNAL_H

#include "mlir-c/IR.h"

#include "llvm-c/Core.h"
#include "llvm-c/TargetMachine.h"

/// The optimised module with its tables, and the machine it is for, both to be disposed of; null
/// after a diagnostic.
LLVMModuleRef shardEmitModule(MlirOperation module, const char *mcpu, LLVMContextRef context,
                              LLVMTargetMachineRef *outMachine);

/// An object file in memory; null after a diagnostic.
LLVMMemoryBufferRef shardEmitBuffer(MlirOperation module, const char *mcpu);

#endif // SHARD_LOWER_EMITINTERNAL_H
