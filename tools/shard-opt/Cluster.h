//===- Cluster.h - shard-opt --cluster ----------------------------*- C -*-===//
#ifndef SHARD_OPT_CLUSTER_H
#define SHARD_OPT_CLUSTER_H

#include "Options.h"

/// Prints an error; a message that has a place already goes out as it is. Returns false.
bool shardOptFail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/// The same of a message from malloc, which is freed; null: out of memory.
bool shardOptFailOwned(char *message);
/// Writes a text from malloc to the output, and frees it. False after one error; null is one.
bool shardOptWriteText(const ShardOptOptions *options, char *text);

/// Whether the command line asks about a cluster only.
bool shardOptAsksCluster(const ShardOptOptions *options);
/// Reads the cluster and prints what is asked. Returns the exit status, after one error if it is 1.
int shardOptRunCluster(const ShardOptOptions *options);

#endif // SHARD_OPT_CLUSTER_H
