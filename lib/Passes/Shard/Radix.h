//===- Radix.h - Local and global indices of split loops ----------*- C -*-===//
#ifndef SHARD_SHARD_RADIX_H
#define SHARD_SHARD_RADIX_H

#include "Spmd.h"

/// An index is a mixed-radix number over atoms. Each group is a split atom and the whole ones below
/// it; `origin` is where this rank's part of the group begins, null for a group that is whole. A
/// group is uneven when the ranks' parts together are longer than it: the last steps of some parts
/// are padding, and `valid` says how many of this rank's are not (null for a group that is even).
typedef struct ShardRadixGroup {
  int64_t global, local;
  bool uneven;
  ShardFactorKind kind; // of the split atom's factor
  ShardAxisList axes;
  MlirValue origin, valid;
} ShardRadixGroup;

typedef struct ShardRadix {
  int32_t nGroups;
  ShardRadixGroup *groups; // major first
  bool split;              // over any axis
  bool uneven;             // some group is
  bool gather;             // indexed by data
} ShardRadix;

/// Of a linalg loop, under a plan.
ShardRadix shardRadixOfLoop(const ShardSpmd *spmd, const ShardOpPlan *plan, int64_t loop);
/// Of dimension `dim` of an operand in placement `sharding`.
ShardRadix shardRadixOfDimension(const ShardSpmd *spmd, const ShardOpPlan *plan,
                                 const ShardPort *port, const ShardSharding *sharding,
                                 intptr_t dim);
/// Fills in origins and valid counts, outside of any body.
void shardRadixBuildOrigins(ShardBuild *build, ShardPlace place, ShardRadix *radix);
/// Whether some group of kind `kind`, or of any kind when that is negative, is uneven.
bool shardRadixAsks(const ShardRadix *radix, int kind);
/// Whether a local index is no padding, and-ed to `all` unless that is null. `kind` as above.
MlirValue shardRadixBuildValid(ShardBuild *build, ShardPlace place, const ShardRadix *radix,
                               MlirValue local, int kind, MlirValue all);
/// The global index of a local one.
MlirValue shardRadixBuildGlobal(ShardBuild *build, ShardPlace place, const ShardRadix *radix,
                                MlirValue local);
/// The local index of a global one; 0 in a group that it misses. `*inRange`, null at first, is
/// and-ed with whether this rank holds it, when the index is data.
MlirValue shardRadixBuildLocal(ShardBuild *build, ShardPlace place, const ShardRadix *radix,
                               MlirValue global, MlirValue *inRange);

#endif // SHARD_SHARD_RADIX_H
