//===- Driver.h - shard-opt --auto-shard --------------------------*- C -*-===//
#ifndef SHARD_OPT_DRIVER_H
#define SHARD_OPT_DRIVER_H

#include "Options.h"

/// Parses, shards and writes as the options say. Returns the exit status; 1 came with one error.
int shardOptDrive(const ShardOptOptions *options);

/// Whether the input's bytes hold the mark of a stopped pipeline. Reads the file; false when it
/// cannot be read. Not for standard input.
bool shardOptInputIsStopped(const char *path);

#endif // SHARD_OPT_DRIVER_H
