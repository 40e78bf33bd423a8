//===- Stages.h - Which ops and values a pipeline stage has -------*- C -*-===//
#ifndef SHARD_SHARD_STAGES_H
#define SHARD_SHARD_STAGES_H

#include "Spmd.h"

/// A value that is sent from the stage that makes it to one that uses it.
typedef struct ShardTransfer {
  int32_t value;
  int32_t from, to;
  const ShardSharding *sharding;
  int64_t site; // -1: not sent yet
  int64_t channel;
} ShardTransfer;

/// A function of L2 as it is cut into stages.
typedef struct ShardEntry {
  ShardSpmd *spmd;
  const ShardFunctionInfo *function;
  int32_t index;   // of the function
  int32_t nStages; // 1: not cut
  intptr_t nOps;   // of the block, the return left out
  MlirOperation *ops;
  const ShardOpRule **rules; // [nOps] null for ops without tensors
  ShardOpPlan **plans;       // [nOps] made when first wanted
  int32_t *stages;           // [nOps] -1: in every stage that uses it
  int32_t **inputs;          // [nOps] ops that it reads
  int32_t *nInputs;
  int32_t *resultStages; // [nResults]
  bool *needed;          // [nStages * nOps]
  ShardTransfer *transfers;
  size_t nTransfers, capacityTransfers;
  int64_t nChannels;
  ShardPointerMap *makers; // value.ptr -> op that makes it
} ShardEntry;

MlirOperation shardFunctionGetReturn(const ShardFunctionInfo *function);
/// Reads a function that is to become `nStages` functions (1: as it is). Fails after one
/// diagnostic.
MlirLogicalResult shardEntryRead(ShardSpmd *spmd, const ShardFunctionInfo *function,
                                 int32_t nStages, ShardEntry *entry);
/// Finds the ops of each stage, the stage of each result, and what is sent. Only for nStages > 1.
MlirLogicalResult shardEntryPlanStages(ShardEntry *entry);
/// Plan of op `i`, made when first wanted; null for an op without tensors, or after one diagnostic.
ShardOpPlan *shardEntryGetPlan(ShardEntry *entry, intptr_t i);
/// What carries `value` to stage `to`, or null.
ShardTransfer *shardEntryFindTransfer(ShardEntry *entry, int32_t value, int32_t to);
/// Sends a value that op `maker` of L2 has just made.
MlirLogicalResult shardBuildSend(ShardBuild *build, ShardEntry *entry, ShardTransfer *transfer,
                                 MlirOperation maker);
/// Receives a value of another stage; a ShardBuild's `fetch`, whose data is the entry.
bool shardBuildReceive(ShardBuild *build, int32_t value, MlirOperation consumer);

#endif // SHARD_SHARD_STAGES_H
