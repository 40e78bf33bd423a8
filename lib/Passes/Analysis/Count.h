//===- Count.h - Numbers of a sharded program ---------------------*- C -*-===//
#ifndef SHARD_ANALYSIS_COUNT_H
#define SHARD_ANALYSIS_COUNT_H

#include "Mesh.h"

#include "../Core/IR.h"

/// One call of a collective.
typedef struct ShardCountCall {
  int64_t stage, layer; // layer -1: outside of the layers
  const char *op;       // "layer 3: linalg.matmul at model.mlir:12:5"
  int64_t times;        // in loops: once for each of their steps
} ShardCountCall;

/// A collective of the program.
typedef struct ShardCountSite {
  int64_t site;
  const char *kind, *cause, *op;
  MlirAttribute axes; // array of strings, or null
  MlirType type;      // of the local operand
  double bytes;       // sent in one call: mean over all ranks
  int64_t nTimes;     // calls of a step, those in loops at each of their steps
  intptr_t nCalls;
  size_t callCapacity;
  ShardCountCall *calls; // [nCalls] in stage, then call order
} ShardCountSite;

/// An argument of the original function, or a part of one that is laid out by itself.
typedef struct ShardCountArgument {
  int64_t index;
  const char *name, *role;
  MlirType global, local;
  MlirAttribute view, sharding; // null: none, replicated
  MlirAttribute alias;          // number of the result that shares its buffer; null: none
  MlirAttribute window;         // [dimension, offset, size of the whole dimension]; null: no part
  int64_t globalBytes, bytesPerDevice;
  bool *inStage; // [nStages]
} ShardCountArgument;

typedef struct ShardCountStage {
  MlirOperation func;
  int64_t units;       // embedding, layers, head
  int64_t cost;        // floating-point operations of its contractions on one device
  int64_t weightBytes; // whole weights that it uses
  int64_t weightBytesPerDevice;
} ShardCountStage;

typedef struct ShardCount {
  ShardMesh mesh;
  int32_t ppAxis; // -1: one stage
  int32_t nStages;
  ShardCountStage *stages;
  intptr_t nArguments;
  ShardCountArgument *arguments; // by index, then by the window's offset
  intptr_t nSites;
  ShardCountSite *sites; // by number; those without a call are left out
} ShardCount;

/// Counts on L3. Null after one diagnostic: `module` is no sharded program.
const ShardCount *shardCountCreate(MlirOperation module, ShardArena *arena);

#endif // SHARD_ANALYSIS_COUNT_H
