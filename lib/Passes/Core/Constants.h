//===- Constants.h - The values of constant attributes ------------*- C -*-===//
#ifndef SHARD_CORE_CONSTANTS_H
#define SHARD_CORE_CONSTANTS_H

#include "Arena.h"

#include "mlir-c/IR.h"

#include <stdbool.h>
#include <stddef.h>

/// Whether all elements are equal and stored once (`dense<0.0>`); a resource never is.
bool shardConstantIsSplat(MlirAttribute attribute);
/// The key of a `dense_resource<key>`, unquoted, in `arena`; null for any other attribute.
const char *shardConstantName(MlirAttribute attribute, ShardArena *arena);

typedef enum ShardConstantStatus {
  SHARD_CONSTANT_OK,
  SHARD_CONSTANT_ABSENT,    // a resource without values, such as `dense_resource<__elided__>`
  SHARD_CONSTANT_WRONG_SIZE // a resource of too few or too many bytes for its type
} ShardConstantStatus;

/// Whether shardConstantRead would succeed, without keeping the values.
ShardConstantStatus shardConstantCheck(MlirAttribute attribute);
/// All elements of a `dense` or `dense_resource` attribute of static shape, row-major, in `arena`:
/// i1 one byte an element (0 or 1), index 8 bytes, others as stored; a splat is repeated.
/// Element types: integers and floats of 1 (i1), 8, 16, 32, 64 bits, and index.
ShardConstantStatus shardConstantRead(MlirAttribute attribute, ShardArena *arena,
                                      const void **outData, size_t *outSizeBytes);

#endif // SHARD_CORE_CONSTANTS_H
