//===- LoopNest.h - The loops of one linalg.generic on buffers -----*- C -*-===//
// LoopNest.c reads an op and chooses its loops, LoopBody.c makes one step of them, LoopVectors.c
// one step on vectors, LoopInnermost.c the innermost loop of such steps. Loops.c puts them
// together.
//===----------------------------------------------------------------------===//
#ifndef SHARD_LOWER_LOOPNEST_H
#define SHARD_LOWER_LOOPNEST_H

#include "Loops.h"

enum { SHARD_NEST_MAX_LOOPS = 24, SHARD_NEST_MAX_OPERANDS = 32 };

/// How an operand is walked.
typedef struct ShardNestAccess {
  bool isScalar;   // a value, not a buffer
  MlirValue value; // the scalar, or the buffer's pointer
  MlirType element;
  int64_t strides[SHARD_NEST_MAX_LOOPS]; // elements a step of each loop
  int64_t offset;                        // elements
  bool isLinear;                         // else the index is computed at each step from:
  MlirAffineMap map;
  int64_t bufferStrides[SHARD_NEST_MAX_LOOPS];
} ShardNestAccess;

/// What is walked of loops along which an operand is read in turned order (Roll.h): from one turn
/// to the next, so that all is linear.
typedef struct ShardNestParts {
  int64_t begins[SHARD_NEST_MAX_LOOPS], lengths[SHARD_NEST_MAX_LOOPS];
  int64_t extents[SHARD_NEST_MAX_LOOPS]; // of the whole loop; 0: the loop has no parts
} ShardNestParts;

typedef struct ShardNest {
  ShardBuffers *buffers;
  ShardLowering *lowering;
  MlirOperation op;
  intptr_t nLoops;
  int64_t sizes[SHARD_NEST_MAX_LOOPS];
  bool isReduction[SHARD_NEST_MAX_LOOPS];
  bool indexUsed[SHARD_NEST_MAX_LOOPS]; // by linalg.index or a map that is not linear
  ShardNestParts parts;
  intptr_t nOperands, nInputs;
  ShardNestAccess accesses[SHARD_NEST_MAX_OPERANDS];
  MlirBlock body;
  // The loops as emitted: in order, some merged.
  intptr_t nEmitted;
  intptr_t loopOf[SHARD_NEST_MAX_LOOPS]; // emitted loop -> innermost of the loops merged into it
  int64_t emittedSizes[SHARD_NEST_MAX_LOOPS];
  MlirValue indices[SHARD_NEST_MAX_LOOPS]; // of the op's loops, i64; null: zero
} ShardNest;

/// Fills what follows from the op; `buffers`, `lowering`, `op` and `parts` are set. Fails with a
/// diagnostic at an op that has no lowering.
MlirLogicalResult shardNestRead(ShardNest *nest);
/// Which loops are emitted: not those of one step, and merged where every operand walks alike.
void shardNestChooseLoops(ShardNest *nest);

/// The index of a loop of the op at `at`, which is null where the loop has one step.
MlirValue shardNestPlaceInLoop(ShardLowerBuilder *b, const ShardNest *nest, intptr_t loop,
                               MlirValue at);
/// `pointer` after `index` steps of the loop.
MlirValue shardNestAdvance(ShardLowerBuilder *b, const ShardNestAccess *access, MlirValue pointer,
                           intptr_t loop, MlirValue index);
/// One step of all loops. `carried`: null, or the outputs' values, which are then neither loaded
/// nor stored. Writes the new values of the outputs to `yielded`.
void shardNestEmitPoint(ShardNest *nest, ShardLowerBuilder *b, const MlirValue *pointers,
                        const MlirValue *carried, MlirValue *yielded);

/// LoopBody.c: what stands for the body's arguments; null ones are not used.
ShardPointerMap *shardNestMapArguments(const ShardNest *nest, const MlirValue *arguments);

/// Whether an op of a body exists on vectors, element by element.
bool shardOpHasVectorForm(MlirOperation op);
MlirType shardVectorOf(MlirType element, int64_t width);
MlirValue shardMakeVectorLoad(ShardLowerBuilder *b, MlirValue pointer, MlirType element,
                              int64_t width);
void shardMakeVectorStore(ShardLowerBuilder *b, MlirValue value, MlirValue pointer);
/// The body on vectors of `width` along the loop at `index`. Values that do not depend on that loop
/// stay scalars until they meet a vector. Arguments that are null are not used.
void shardNestEmitVectorBody(ShardNest *nest, ShardLowerBuilder *b, intptr_t loop, int64_t width,
                             MlirValue index, const MlirValue *arguments, MlirValue *yielded);

/// The op that combines output `i` with what the step gives; null if it is none that may be
/// reordered, or the output is used otherwise.
MlirOperation shardNestGetCombiner(const ShardNest *nest, intptr_t i);
MlirAttribute shardCombinerGetIdentity(MlirOperation combiner, MlirType type);
/// combiner(left, right) on any vectors or scalars of its type; sums may be reassociated.
MlirValue shardMakeCombination(ShardLowerBuilder *b, MlirOperation combiner, MlirValue left,
                               MlirValue right);
/// The combination of the `width` elements of a vector, by halves.
MlirValue shardMakeVectorReduction(ShardLowerBuilder *b, MlirOperation combiner, MlirValue vector,
                                   int64_t width);

/// The innermost of the emitted loops, in vectors where that is possible.
void shardNestEmitInnermost(ShardNest *nest, ShardLowerBuilder *b, intptr_t level,
                            const MlirValue *pointers);

#endif // SHARD_LOWER_LOOPNEST_H
