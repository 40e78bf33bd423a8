//===- Cluster.h - shard-opt --cluster ----------------------------*- C -*-===//
#ifndef SHARD_OPT_CLUSTER_H
#define SHARD_OPT_CLUSTER_H

#include "Options.h"

/// Whether the command line asks about a cluster only.
bool shardOptAsksCluster(const ShardOptOptions *options);
/// Reads the cluster and prints what is asked. Returns the exit status, after one error if it is 1.
int shardOptRunCluster(const ShardOptOptions *options);

#endif // SHARD_OPT_CLUSTER_H
