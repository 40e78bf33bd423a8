//===- Target.h - The CPU that code is made for --------------------*- C -*-===//
#ifndef SHARD_LOWER_TARGET_H
#define SHARD_LOWER_TARGET_H

#include "Lower.h"

#include "llvm-c/TargetMachine.h"

/// Vector length and registers of `mcpu` (null, "" or "host": this machine); `vectorBits` overrides
/// when not 0. For a CPU other than this one LLVM's C API tells no features: 128 bits.
ShardTarget shardTargetGet(const char *mcpu, int64_t vectorBits);

/// Whether LLVM knows `mcpu` and it runs code of this machine's architecture.
bool shardTargetIsKnown(const char *mcpu);

/// A target machine for `mcpu`, position independent; null and a message (to be freed with
/// LLVMDisposeMessage) when LLVM knows no such target.
LLVMTargetMachineRef shardTargetMachineCreate(const char *mcpu, char **outMessage);

#endif // SHARD_LOWER_TARGET_H
