//===- Evaluate.h - Integer tensors that do not depend on data ----*- C -*-===//
// Index arrays, masks and iotas are computed from constants and positions alone. They are evaluated
// here, element by element, so that what an exporter spells as arithmetic on index arrays can be
// seen for what it is.
//===----------------------------------------------------------------------===//
#ifndef SHARD_IMPORT_EVALUATE_H
#define SHARD_IMPORT_EVALUATE_H

#include "../Core/IR.h"

typedef struct ShardEvaluator ShardEvaluator;

/// Values are cached until the arena dies; the IR they came from must not change meanwhile, but
/// dead ops may go.
ShardEvaluator *shardEvaluatorCreate(ShardArena *arena);
void shardEvaluatorDestroy(ShardEvaluator *evaluator); // its scratch memory; null is fine

/// All elements of an integer or index tensor of static shape, row-major, sign-extended (i1: 0 or
/// 1); null if they depend on data, or there are too many to be worth it.
const int64_t *shardEvaluateTensor(ShardEvaluator *evaluator, MlirValue tensor);

/// An integer as a function of the loops of a linalg op: for loops `d` with `active[d]`, an array
/// over them, major first; it does not depend on the others.
typedef struct ShardLoopValues {
  int64_t count;
  const int64_t *values; // [count], in the evaluator's scratch arena: until the next call
  const bool *active;    // [nLoops]
} ShardLoopValues;
/// Evaluates `value`, a scalar in the body of the linalg op. False if it depends on data or on what
/// the loop nest accumulates. `extents` are the op's loops.
bool shardEvaluateInBody(ShardEvaluator *evaluator, MlirOperation op, intptr_t nLoops,
                         const int64_t *extents, MlirValue value, ShardLoopValues *out);

/// An integer or index scalar outside loops that does not depend on data, such as arithmetic on
/// constants.
bool shardEvaluateScalar(ShardEvaluator *evaluator, MlirValue value, int64_t *outValue);

/// Extents of a linalg op's loops from its operands. False if a loop has no plain dimension.
bool shardLoopExtents(MlirOperation op, intptr_t *outCount, int64_t **outExtents,
                      ShardArena *arena);

/// values[i0..] = start + sum(steps[k] * ik) over a box of `rank` extents, for all elements?
bool shardFitAffine(const int64_t *values, intptr_t rank, const int64_t *extents, int64_t *outStart,
                    int64_t *outSteps);

#endif // SHARD_IMPORT_EVALUATE_H
