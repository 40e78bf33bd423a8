//===- Text.h - What MLIR prints, as text in an arena -------------*- C -*-===//
#ifndef SHARD_CORE_TEXT_H
#define SHARD_CORE_TEXT_H

#include "Arena.h"

#include "mlir-c/IR.h"

#include <stddef.h>

/// A text that grows in an arena. `data` is null as long as nothing was added; then it ends with a
/// zero byte.
typedef struct ShardText {
  ShardArena *arena;
  char *data;
  size_t length, capacity;
} ShardText;

/// Adds `part`: a MlirStringCallback whose user data is a ShardText.
void shardTextAppend(MlirStringRef part, void *text);

/// As MLIR prints it, in `arena`.
const char *shardAttributeText(MlirAttribute attribute, ShardArena *arena);
const char *shardTypeText(MlirType type, ShardArena *arena);
/// A sharding, seen in `view` unless that is null or empty: `[["tp"], []] of view array<i64: 2,
/// 3>`.
const char *shardShardingAttributeText(MlirAttribute sharding, MlirAttribute view,
                                       ShardArena *arena);

#endif // SHARD_CORE_TEXT_H
