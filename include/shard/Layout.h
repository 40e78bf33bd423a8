//===- shard/Layout.h - How a sharded program's values are cut ----*- C -*-===//
#ifndef SHARD_LAYOUT_H
#define SHARD_LAYOUT_H

#include "shard/Program.h"

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The tables of a program without its code. Apart from any context once created; thread-safe to
/// read.
typedef struct ShardLayout ShardLayout;

/// Reads `module`, a program as shard-spmdize leaves it; it is not changed. Returns a layout to be
/// destroyed; null after one error diagnostic: attributes that contradict each other.
/// Thread-compatible per context.
SHARD_EXPORTED ShardLayout *shardLayoutCreate(MlirOperation module);
SHARD_EXPORTED void shardLayoutDestroy(ShardLayout *layout); // null is fine

/// The same tables as of the program's code, but that functions and values of constants are null
/// (`constant` tells those). Owned by the layout.
SHARD_EXPORTED const ShardProgram *shardLayoutGetProgram(const ShardLayout *layout);

#ifdef __cplusplus
}
#endif
#endif // SHARD_LAYOUT_H
