//===- RankFilesOptions.h - --split-weights and --join-weights ----*- C -*-===//
#ifndef SHARD_OPT_RANKFILESOPTIONS_H
#define SHARD_OPT_RANKFILESOPTIONS_H

#include "Options.h"

/// Whether what --split-weights stands beside has a meaning there. False after one error.
bool shardOptCheckSplit(const ShardOptOptions *options);

/// --join-weights. Returns the exit status; 1 came with one error.
int shardOptJoin(const ShardOptOptions *options);

#endif // SHARD_OPT_RANKFILESOPTIONS_H
