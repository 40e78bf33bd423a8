//===- EvaluateLoops.h - Parts of the evaluator -------------------*- C -*-===//
#ifndef SHARD_IMPORT_EVALUATELOOPS_H
#define SHARD_IMPORT_EVALUATELOOPS_H

#include "Evaluate.h"

#include "mlir-c/AffineMap.h"

enum {
  SHARD_EVALUATE_MAX_ELEMENTS = 1 << 24, // of one array: 128 MiB
  SHARD_EVALUATE_MAX_DEPTH = 400,        // of values computed from values
  SHARD_EVALUATE_MAX_RANK = 32
};

struct ShardEvaluator {
  ShardArena *arena;      // results
  ShardArena *scratch;    // of the last shardEvaluateInBody
  ShardPointerMap *known; // tensor -> index in `arrays`, -1: depends on data
  const int64_t **arrays;
  size_t nArrays, capacity;
  int depth;
  int64_t work; // elements computed so far
};

/// Whether `count` more elements may be computed.
bool shardEvaluatorSpend(ShardEvaluator *evaluator, int64_t count);

/// The body of a linalg op over a box of its loops. Scalars of it are arrays [count], row-major.
typedef struct ShardLoopBox {
  ShardEvaluator *evaluator;
  ShardArena *arena;
  MlirOperation op; // null: no loops, values of the function itself
  MlirBlock body;
  MlirAttribute maps;
  intptr_t nLoops, nInputs;
  const int64_t *extents; // of the loops
  const bool *active;     // loops that the box runs over; the others stand at `fixed`
  const int64_t *fixed;
  int64_t count;
  int64_t *const
      *accumulators;      // [number of outs], each [count], or null: outs are read as operands
  ShardPointerMap *known; // scalar -> index in arrays
  const int64_t **arrays;
  size_t nArrays, capacity;
} ShardLoopBox;

ShardLoopBox shardLoopBoxMake(ShardEvaluator *evaluator, ShardArena *arena, MlirOperation op,
                              intptr_t nLoops, const int64_t *extents, const bool *active,
                              const int64_t *fixed);
/// The value at every point of the box; null if it depends on data. Lives in the box's arena.
const int64_t *shardLoopBoxEvaluate(ShardLoopBox *box, MlirValue value);
/// Reads a tensor through an indexing map at every point of the box. False: out of bounds.
bool shardLoopBoxRead(const ShardLoopBox *box, const int64_t *source, MlirType type,
                      MlirAffineMap map, int64_t *out);
/// Writes a value of each point to its place in a tensor. False: the map is no projection.
bool shardLoopBoxWrite(const ShardLoopBox *box, const int64_t *values, MlirType type,
                       MlirAffineMap map, int64_t *out);

#endif // SHARD_IMPORT_EVALUATELOOPS_H
