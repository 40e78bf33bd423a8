//===- FindStates.h - Arguments whose updated form is a result ----*- C -*-===//
#ifndef SHARD_ANALYSIS_FINDSTATES_H
#define SHARD_ANALYSIS_FINDSTATES_H

#include "../Core/IR.h"

/// The result that is an argument's updated form: the model's number of it, or -1. `grows`: it is
/// longer in one dimension, so that no buffer serves both.
typedef struct ShardStateTie {
  int32_t result;
  bool grows;
} ShardStateTie;

/// Finds caches and the like: arguments that come back as a result of the same type after rows of
/// them were written (insert_slice, concat and slice, scatter, select), or a longer one after rows
/// were added (concat), through reshapes, transposes, calls and loops.
///   roles  [n] as said, null where nothing is; a "state" also comes back by arithmetic, or as it
///          is; a "weight" or a "target" is none
///   ties   [n] in: what the model says; out: with what was found. A result has one argument.
/// Arguments from `n` on are no candidates. Changes nothing.
void shardStatesFind(MlirOperation module, MlirOperation entry, intptr_t n,
                     const char *const *roles, ShardStateTie *ties, ShardArena *arena);

/// Reads `spmd.alias` (a result's number) or `spmd.grows` of an argument; -1: neither.
ShardStateTie shardStateTieOf(MlirOperation entry, intptr_t argument);

/// Takes both away.
void shardStateUntie(MlirOperation entry, intptr_t argument);

/// Finds and writes the ties of arguments that are said to be states and have none.
void shardStatesFindMore(MlirOperation module, MlirOperation entry, ShardArena *arena);

/// Whether argument and result can be one buffer: the result exists, has the argument's type, and
/// no earlier argument. One error at `location` if not.
MlirLogicalResult shardStateCheckAlias(MlirOperation entry, intptr_t argument, int64_t result,
                                       MlirLocation location);

#endif // SHARD_ANALYSIS_FINDSTATES_H
