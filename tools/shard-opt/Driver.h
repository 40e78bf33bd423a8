//===- Driver.h - shard-opt --auto-shard --------------------------*- C -*-===//
#ifndef SHARD_OPT_DRIVER_H
#define SHARD_OPT_DRIVER_H

#include "Options.h"

#include "../common/InputFile.h"

/// Parses, shards and writes as the options say. Returns the exit status; 1 came with one error.
/// `input`: the input when it has been read before, else null; borrowed. With it -1 means that the
/// module was stopped nowhere: nothing has been printed or written.
int shardOptDrive(const ShardOptOptions *options, ShardInputFile *input);

/// Whether the input's bytes hold the mark of a stopped pipeline.
bool shardOptInputIsStopped(const ShardInputFile *input);

#endif // SHARD_OPT_DRIVER_H
