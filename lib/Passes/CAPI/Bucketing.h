//===- Bucketing.h - Which smaller bounds a program has, and may have -*- C -*-===//
// python-free-docs/design/dynamic.md, Buckets.
//===----------------------------------------------------------------------===//
#ifndef SHARD_CAPI_BUCKETING_H
#define SHARD_CAPI_BUCKETING_H

#include "../Core/Buckets.h"

/// What --dim-buckets asks for.
typedef struct ShardBucketRequest {
  int64_t count;      // bounds in all, those of --dim included
  intptr_t nListed;   // bounds that are listed instead
  const char **lists; // [nListed] "ARG:D=..MAX,..."
} ShardBucketRequest;

/// Reads "N" or lists separated by ';'; null is the default. Fails with one error.
MlirLogicalResult shardBucketRequestRead(MlirOperation module, const char *text, ShardArena *arena,
                                         ShardBucketRequest *out);

/// Bounds below those of `module`, which comes from shard-import, as texts for its option `dims`:
/// halves, quarters and so on of the extents that no others determine. Returns how many.
intptr_t shardBucketTexts(MlirOperation module, const ShardBucketRequest *request,
                          ShardArena *arena, const char ***out);

/// The bounds of a version, "21:0=..2,21:1=..6".
const char *shardBucketBoundsText(MlirOperation bucket, ShardArena *arena);
/// Whether a comes before b: by how many elements a value of all open dimensions would have. 0:
/// same bounds.
int shardBucketCompare(MlirOperation a, MlirOperation b);

/// Why `bucket` cannot stand for `module`, both from after shard-import: its open dimensions are
/// others, or not below. Null: it can.
const char *shardBucketFindMisfit(MlirOperation module, MlirOperation bucket, ShardArena *arena);
/// The same of programs from after shard-spmdize: arguments and results are cut over other axes, or
/// one of static shape lies otherwise.
const char *shardBucketFindConflict(MlirOperation module, MlirOperation bucket, ShardArena *arena);

#endif // SHARD_CAPI_BUCKETING_H
