//===- LayerGraph.h - A function body as a graph of tokens --------*- C -*-===//
// What a search for repeated layers needs to know of a body: who uses what, which ops have equal
// structure, and an order that follows from the graph alone, whatever order the ops stand in.
//===----------------------------------------------------------------------===//
#ifndef SHARD_IMPORT_LAYERGRAPH_H
#define SHARD_IMPORT_LAYERGRAPH_H

#include "../Core/Arena.h"

#include "mlir-c/IR.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum ShardLayerNodeKind {
  SHARD_LAYER_COMPUTE, // may become part of a layer
  SHARD_LAYER_LEAF,    // cheap and without tensor data: cloned into whoever needs it
  SHARD_LAYER_SOURCE,  // tensor constant with data: like an argument
  SHARD_LAYER_FIXED    // terminator, calls of layers: stays where it is
} ShardLayerNodeKind;

typedef struct ShardLayerNode {
  MlirOperation op;
  ShardLayerNodeKind kind;
  bool contraction; // multiply-accumulate over a reduced dimension
  /// Equal for two ops iff name, attributes, types, regions, and leaf operands with their values
  /// are equal. Says nothing of the other operands.
  int32_t token;
  int32_t nOperands;
  const int32_t *operands; // value indices: operands, then values captured by regions in walk order
  int32_t firstResult, nResults; // value indices
  int32_t position;              // in the canonical order; -1 for leaves and sources
} ShardLayerNode;

typedef struct ShardLayerUse {
  int32_t node, operand;
} ShardLayerUse;

typedef struct ShardLayerValue {
  MlirValue value;
  int32_t node; // -1: argument of the function
  int32_t nUses;
  const ShardLayerUse *uses; // canonical order of the users, last first
} ShardLayerValue;

typedef struct ShardLayerGraph {
  int32_t nNodes;
  ShardLayerNode *nodes; // IR order; the terminator is last
  int32_t nValues;
  ShardLayerValue *values; // arguments, then results in IR order
  int32_t nOrdered;
  const int32_t
      *order;       // nodes but leaves and sources, canonical: the terminator first, sources last
  int32_t nCompute; // nodes that may become part of a layer
} ShardLayerGraph;

/// Reads the body of `func` (one block). Calls that carry `fixedAttribute` are FIXED. Everything
/// lives in `arena` and is valid until the body changes. Never fails.
ShardLayerGraph *shardLayerGraphCreate(MlirOperation func, const char *fixedAttribute,
                                       ShardArena *arena);

/// Numbers of ops that refer to nothing outside them, such as functions: equal iff all is equal but
/// the attribute `ignored`, locations and attributes of other tools. [nOps]
int32_t *shardLayerTokens(intptr_t nOps, const MlirOperation *ops, const char *ignored,
                          ShardArena *arena);

/// One round of refinement by what ops are computed from: nodes have equal new colours iff their
/// tokens and the old colours of their producers are equal; null `color` gives the tokens. Colours
/// are dense from 0. [nNodes]
int32_t *shardLayerGraphRefine(const ShardLayerGraph *graph, const int32_t *color,
                               int32_t *outCount, ShardArena *arena);

/// Where an operand stands: in the op itself or in one inside its regions.
typedef struct ShardLayerOperand {
  MlirOperation op;
  intptr_t index;
} ShardLayerOperand;
/// The operands of `op` that are defined in `outer`, the block that it stands or stood in, in the
/// numbering of ShardLayerNode.operands. Writes at most `capacity`; returns how many there are.
int32_t shardLayerCollectOperands(MlirOperation op, MlirBlock outer, int32_t capacity,
                                  ShardLayerOperand *out);

#endif // SHARD_IMPORT_LAYERGRAPH_H
