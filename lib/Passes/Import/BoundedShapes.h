//===- BoundedShapes.h - What the files that follow extents share --*- C -*-===//
#ifndef SHARD_IMPORT_BOUNDEDSHAPES_H
#define SHARD_IMPORT_BOUNDEDSHAPES_H

#include "Bounded.h"

#include "mlir-c/BuiltinTypes.h"

static inline bool shardIsTensor(MlirValue value) {
  return mlirTypeIsARankedTensor(mlirValueGetType(value));
}
static inline intptr_t shardRankOf(MlirValue tensor) {
  return mlirShapedTypeGetRank(mlirValueGetType(tensor));
}

/// BoundedShapes.c. Whether an op reads a tensor with a dynamic extent; room for `rank` extents;
/// those of a tensor, to be changed.
bool shardBoundedReads(const ShardBounded *b, MlirOperation op);
ShardExtent *shardBoundedNewShape(const ShardBounded *b, intptr_t rank);
ShardExtent *shardBoundedShape(const ShardBounded *b, MlirValue tensor);
/// `extent` becomes one for both it, if it is known, and `other`; fails after one diagnostic.
MlirLogicalResult shardBoundedMeet(ShardBounded *b, MlirOperation op, bool *known,
                                   ShardExtent *extent, const ShardExtent *other);
/// Entry i of a list of numbers, of which the dynamic ones are operands from `*next` on. False if
/// it does not follow from extents.
bool shardBoundedEntry(const ShardBounded *b, MlirOperation op, MlirAttribute list, intptr_t i,
                       intptr_t *next, ShardExtent *out);

/// BoundedSlices.c, as shardBoundedDescribe.
MlirLogicalResult shardBoundedDescribeSlice(ShardBounded *b, MlirOperation *op,
                                            ShardBoundedOp *out);
MlirLogicalResult shardBoundedDescribeInsert(ShardBounded *b, MlirOperation *op,
                                             ShardBoundedOp *out);
MlirLogicalResult shardBoundedDescribeConcat(ShardBounded *b, MlirOperation op,
                                             ShardBoundedOp *out);
MlirLogicalResult shardBoundedDescribePad(ShardBounded *b, MlirOperation op, ShardBoundedOp *out);
/// The padding of a tensor.pad behind what is valid of its operand.
void shardBoundedSettlePad(ShardBounded *b, MlirOperation op, const ShardBoundedOp *described);

/// BoundedTosa.c, as shardBoundedDescribe; gives the result its static type too.
MlirLogicalResult shardBoundedDescribeTosa(ShardBounded *b, MlirOperation op, ShardBoundedOp *out);

/// BoundedTm.c, as shardBoundedDescribe.
MlirLogicalResult shardBoundedDescribeTm(ShardBounded *b, MlirOperation op, ShardBoundedOp *out);

/// BoundedScalars.c: tensor.dim, arithmetic on scalars, cf.assert.
void shardBoundedDescribeDim(ShardBounded *b, MlirOperation *op);
void shardBoundedDescribeScalar(ShardBounded *b, MlirOperation *op);
void shardBoundedDescribeAssert(ShardBounded *b, MlirOperation *op);

#endif // SHARD_IMPORT_BOUNDEDSHAPES_H
