//===- Count.h - What a program sends and computes -----------------*- C -*-===//
#ifndef SHARD_TEST_COUNT_H
#define SHARD_TEST_COUNT_H

#include "Models.h"

#include "../../tools/common/ArgsJson.h"

#include "mlir-c/IR.h"

enum {
  KIND_ALL_REDUCE,
  KIND_ALL_GATHER,
  KIND_REDUCE_SCATTER,
  KIND_ALL_TO_ALL,
  KIND_PERMUTE,
  KIND_BROADCAST,
  KIND_SEND,
  N_KINDS
};

typedef struct Count {
  MlirModule module;
  const Model *model;   // null: do not classify contractions
  const Model *laidOut; // whose sizes tell what uneven parts cost; null: all even
  Degrees degrees;
  int64_t gridRank;
  int64_t gridShape[16];
  double share;             // of all ranks, those that run the function at hand
  int64_t stage, stageAxis; // that they are, and its grid axis; -1: none
  int64_t ranks;
  double flops, leftOut; // over all ranks
  FlopsRange uneven;     // flops, each times what uneven parts make of it
  double bytes[N_KINDS]; // a rank, mean
  double calls[N_KINDS];
} Count;

/// Counts all public functions: stage programs, or the one function of an unsharded module. `args`
/// names the arguments of a model as it came; a program must name its own.
void countModule(Count *count, const ShardArgsJson *args);
void countPrintSent(const Count *count);

/// CheckWeights.c: for each weight of args.json which stages hold it, in how many parts. With a
/// model: as it should.
void checkWeights(const Count *count, const ShardArgsJson *args);

#endif // SHARD_TEST_COUNT_H
