//===- shard/Version.h - Version of the library -------------------*- C -*-===//
#ifndef SHARD_VERSION_H
#define SHARD_VERSION_H

#include "shard/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SHARD_VERSION_MAJOR 0
#define SHARD_VERSION_MINOR 1
#define SHARD_VERSION_PATCH 0
#define SHARD_VERSION_STRING "0.1.0"

/// Version of the library that runs, "0.1.0"; compare with SHARD_VERSION_STRING. Never freed.
/// Cannot fail. Thread-safe.
SHARD_EXPORTED const char *shardVersion(void);
/// Version of LLVM and MLIR that the library was built with, "22.1.8". Never freed. Cannot fail.
/// Thread-safe.
SHARD_EXPORTED const char *shardLlvmVersion(void);

#ifdef __cplusplus
}
#endif
#endif // SHARD_VERSION_H
