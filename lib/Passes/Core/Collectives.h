//===- Collectives.h - Kinds of collectives, by name --------------*- C -*-===//
#ifndef SHARD_CORE_COLLECTIVES_H
#define SHARD_CORE_COLLECTIVES_H

#include "mlir-c/IR.h"

/// The kind of an op of the shard dialect, as FORMATS names it ("all-reduce"); a receive is a
/// "send". Null: no collective.
const char *shardCollectiveKind(MlirOperation op);
/// The kinds there are, each once: the name of number `index` from 0, null past the last.
const char *shardCollectiveKindName(intptr_t index);

/// How often a step makes the calls listed in a row of `spmd.sites`; 0 if it is no list.
int64_t shardSiteCallCount(MlirAttribute calls);

#endif // SHARD_CORE_COLLECTIVES_H
