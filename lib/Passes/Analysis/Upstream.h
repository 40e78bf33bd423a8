//===- Upstream.h - shard.shard beside spmd.sharding at L2 --------*- C -*-===//
// What upstream's dialect can say of a sharding (axes on whole dimensions; no views, no partial
// sums) is written for other tools. The truth stays spmd.sharding.
//===----------------------------------------------------------------------===//
#ifndef SHARD_ANALYSIS_UPSTREAM_H
#define SHARD_ANALYSIS_UPSTREAM_H

#include "Sharding.h"

/// What the writer keeps from value to value. Lives in `arena`; borrows `mesh`.
typedef struct ShardUpstream ShardUpstream;
ShardUpstream *shardUpstreamCreate(const ShardMesh *mesh, MlirContext context, ShardArena *arena);

/// Writes `shard.shard` after the definition of a split value and lets its users take that. Nothing
/// is written for a value that is whole, partial, or split inside a dimension.
void shardUpstreamAnnotate(ShardUpstream *upstream, MlirValue value, int32_t nAtoms,
                           const ShardAtom *atoms, const ShardSharding *sharding);

/// Takes every `shard.shard` out of the module again. One that disagrees with the spmd.sharding of
/// its value is an error.
MlirLogicalResult shardUpstreamErase(MlirOperation module, ShardArena *arena);

#endif // SHARD_ANALYSIS_UPSTREAM_H
