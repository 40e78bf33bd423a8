//===- Loops.h - Loop nests from linalg on buffers -----------------*- C -*-===//
#ifndef SHARD_LOWER_LOOPS_H
#define SHARD_LOWER_LOOPS_H

#include "Lower.h"

/// Memrefs as pointers to their first element; types (shape, strides) stay those of the memref.
typedef struct ShardBuffers {
  ShardLowering *lowering;
  ShardPointerMap *map; // memref value -> index below
  MlirValue *pointers;
  MlirType *types;
  size_t nBuffers, capacity, typeCapacity;
} ShardBuffers;

void shardBuffersSet(ShardBuffers *buffers, MlirValue memref, MlirValue pointer, MlirType type);
/// False if `memref` is not known.
bool shardBuffersGet(const ShardBuffers *buffers, MlirValue memref, MlirValue *outPointer,
                     MlirType *outType);

/// Emits loops for a linalg.generic on buffers, before it. Does not erase it.
MlirLogicalResult shardEmitGenericLoops(ShardBuffers *buffers, MlirOperation op);

/// Copies `source` to `destination`, both known memrefs of one shape, before `before`.
MlirLogicalResult shardEmitCopyLoops(ShardBuffers *buffers, MlirOperation before, MlirValue source,
                                     MlirValue destination);

/// Contraction.c: products of two operands summed over some loops, as shardPrepareContractions
/// marked them.
bool shardIsContraction(MlirOperation op);
MlirLogicalResult shardEmitContraction(ShardBuffers *buffers, MlirOperation op,
                                       MlirValue workspace);

/// Scalars.c: before `op` in `func`: unless `condition` (i1), the rank fails with `message` and the
/// location of `op`.
void shardMakeAssert(ShardLowering *lowering, MlirOperation func, MlirOperation op,
                     MlirValue condition, MlirStringRef message);

/// Scalars.c: the constant behind `value`, through casts of integers; false if there is none.
bool shardScalarGetConstant(MlirValue value, int64_t *out);

/// Divisions.c: whether a division of scalars is by what is not known to be neither 0 nor -1.
bool shardDivisionMayFail(MlirOperation op);
/// The rank fails, with the location of `op` in `func`, where the CPU would end the process: a
/// division by zero, or one whose quotient its type does not hold.
void shardCheckDivision(ShardLowering *lowering, MlirOperation func, MlirOperation op);

/// Scalars.c: assertions and elementary functions of a function.
MlirLogicalResult shardLowerScalars(ShardLowering *lowering, MlirOperation func);

#endif // SHARD_LOWER_LOOPS_H
