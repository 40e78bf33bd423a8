//===- ExplainCost.h - shard-opt --explain-cost -------------------*- C -*-===//
#ifndef SHARD_OPT_EXPLAIN_COST_H
#define SHARD_OPT_EXPLAIN_COST_H

#include "Options.h"

#include "shard/Cluster.h"

/// Answers the question about the cluster. False after one error.
bool shardOptExplainCost(const ShardOptOptions *options, const ShardCluster *cluster);
/// Whether the list of questions is asked for, which needs no cluster.
bool shardOptListsCosts(const ShardOptOptions *options);
/// Writes it as text. False after one error.
bool shardOptWriteCostHelp(const ShardOptOptions *options);
/// The same as a section of the reference page.
void shardOptPrintCosts(void);

#endif // SHARD_OPT_EXPLAIN_COST_H
