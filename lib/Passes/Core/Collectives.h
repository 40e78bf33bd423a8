//===- Collectives.h - Kinds of collectives, by name --------------*- C -*-===//
#ifndef SHARD_CORE_COLLECTIVES_H
#define SHARD_CORE_COLLECTIVES_H

#include "shard/Runtime.h"

#include "mlir-c/IR.h"

#include <stdbool.h>

/// The kind of an op of the shard dialect, as FORMATS names it ("all-reduce"); a receive is a
/// "send". Null: no collective. Never freed. Thread-safe.
const char *shardCollectiveKind(MlirOperation op);
/// The kind of a start or wait of L4, "spmd.all_reduce_start" or "spmd.all_reduce_done", and which
/// of the two it is; `outReceives`: the receiving half of a send. Null: neither. Never freed.
const char *shardScheduledKind(MlirOperation op, bool *outStarts, bool *outReceives);
/// The name of a kind that moves data; null for other numbers. Never freed. Thread-safe.
const char *shardCollectiveKindName(ShardRtKind kind);

/// How often a step makes the calls listed in a row of `spmd.sites`; 0 if it is no list.
int64_t shardSiteCallCount(MlirAttribute calls);

#endif // SHARD_CORE_COLLECTIVES_H
