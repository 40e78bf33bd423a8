//===- Fold.h - Equal calls in a row, as one that counts for many -*- C -*-===//
// A stack of layers is a run of calls of which each takes what the one before handed on, arguments
// of its own that are like the others', and values that all share. Once the state between two calls
// repeats, every further call comes out as the one before it, so that a search need look at a few
// calls only: the rest of the run is left out and counted with one that stays.
//===----------------------------------------------------------------------===//
#ifndef SHARD_PLAN_FOLD_H
#define SHARD_PLAN_FOLD_H

#include "../Analysis/Rules.h"

/// The rules with the runs of one function folded, and who stands for whom. Values of other
/// functions keep their numbers.
typedef struct ShardFold {
  ShardRules *rules;                 // `count` and `period` tell what is left out; no valueIndex
  int32_t function;                  // the folded one: the last of the rules
  int32_t firstValue;                // of it, before and after
  int32_t nOps, nValues, nArguments; // of it, before
  int32_t *opOf;                     // [nOps] which op stands for it in the folded function
  int32_t *valueOf;                  // [nValues] as number from firstValue on
  int32_t *argumentOf;               // [nArguments]
  const uint8_t
      *weight; // [values of `rules`] as ShardAxisProblem.weight; whose values it folds agree
} ShardFold;

/// Null when there is nothing to fold. Lives in `arena`; shares what does not change with `rules`.
ShardFold *shardFoldCreate(const ShardRules *rules, int32_t function, ShardArena *arena);

#endif // SHARD_PLAN_FOLD_H
