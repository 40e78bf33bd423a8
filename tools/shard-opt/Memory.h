//===- Memory.h - shard-opt --memory-plan, --memory-limit ---------*- C -*-===//
#ifndef SHARD_OPT_MEMORY_H
#define SHARD_OPT_MEMORY_H

#include "Options.h"

#include "mlir-c/IR.h"

/// Bytes of "80GB", "1.5GiB", "4096"; -1 for any other text.
int64_t shardOptParseMemory(const char *text);

/// Whether the options go with --memory-plan. False after one error.
bool shardOptCheckMemoryPlan(const ShardOptOptions *options);
/// Writes the plan of a module in place of the program. False after one error.
bool shardOptMemoryPlan(const ShardOptOptions *options, MlirOperation module);
/// Whether each stage of a sharded program keeps within --memory-limit. False after one error.
bool shardOptCheckMemoryLimit(const ShardOptOptions *options, MlirOperation module);

#endif // SHARD_OPT_MEMORY_H
