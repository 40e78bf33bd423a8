//===- Buckets.h - Versions of a program for smaller extents ------*- C -*-===//
// A program with open dimensions (`spmd.dynamic`) has its own storage and plan for smaller bounds:
// each such version is a whole program, a module with the unit attribute `spmd.bucket` inside the
// module of the bounds, smallest first. Passes see one module at a time (shardWalk does not enter
// versions); the pipeline takes them out while it runs.
//===----------------------------------------------------------------------===//
#ifndef SHARD_CORE_BUCKETS_H
#define SHARD_CORE_BUCKETS_H

#include "IR.h"

/// The versions inside of `module`, in order; they stay where they are.
void shardBucketsFind(MlirOperation module, ShardOpList *out);
/// Takes the versions out of `module`: they are the caller's.
void shardBucketsTake(MlirOperation module, ShardOpList *out);
/// Puts versions back, behind all that is in `module`, which owns them then.
void shardBucketsGive(MlirOperation module, const ShardOpList *buckets);
/// Destroys the versions inside of `module`.
void shardBucketsErase(MlirOperation module);

/// A list of `spmd.dynamic`; null: it has none.
MlirAttribute shardDynamicList(MlirOperation module, const char *name);
/// Its rows of open dimensions, array<i64: argument, dimension, least, most>; null: it has none.
MlirAttribute shardDynamicDims(MlirOperation module);

#endif // SHARD_CORE_BUCKETS_H
