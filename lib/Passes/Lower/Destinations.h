//===- Destinations.h - Between tensors and pointers ---------------*- C -*-===//
// Bodies stay on tensors: an argument enters by bufferization.to_tensor, a result leaves by
// bufferization.materialize_in_destination, and what a call or a collective writes is a fresh
// memref.alloc, read afterwards as a tensor: out of place, so that nothing aliases.
//===----------------------------------------------------------------------===//
#ifndef SHARD_LOWER_DESTINATIONS_H
#define SHARD_LOWER_DESTINATIONS_H

#include "Lower.h"

enum { SHARD_LOWER_MAX_RANK = 16 };

/// The dense memref of a tensor type.
MlirType shardMemrefOfTensor(MlirType tensor);
/// A pointer to the dense elements of a tensor that is only read.
MlirValue shardMakePointerToRead(ShardLowerBuilder *b, MlirValue tensor);
/// A fresh buffer for a value of `type`, and the pointer to it.
MlirValue shardMakePointerToWrite(ShardLowerBuilder *b, MlirType type, MlirValue *outBuffer);
MlirValue shardMakeTensorOfBuffer(ShardLowerBuilder *b, MlirValue buffer, MlirType tensor,
                                  bool writable);
/// The body of the function around `op`: argument 0 is the runtime's context, 1 the workspace.
MlirBlock shardEnclosingBody(MlirOperation op);

/// CollectiveCalls.c: replaces an op of the shard dialect by calls of the runtime.
MlirLogicalResult shardLowerCollective(ShardLowering *lowering, MlirOperation op);

/// CarriedBuffers.c: what scf.for and scf.while carry keeps one buffer, and the branches of scf.if
/// leave results of one layout. Never fails.
void shardKeepCarriedBuffers(ShardLowering *lowering);

#endif // SHARD_LOWER_DESTINATIONS_H
