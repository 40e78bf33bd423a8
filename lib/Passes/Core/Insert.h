//===- Insert.h - Making ops at a place ---------------------------*- C -*-===//
// Scalar ops, constants, fills and linalg.generic, for passes that write new code.
//===----------------------------------------------------------------------===//
#ifndef SHARD_CORE_INSERT_H
#define SHARD_CORE_INSERT_H

#include "IR.h"

#include "mlir-c/AffineMap.h"

/// Where ops go: before `before`, or at the end of `block` when it is null.
typedef struct ShardInsert {
  MlirContext context;
  MlirLocation location;
  MlirBlock block;
  MlirOperation before;
} ShardInsert;

/// At the op's place and location.
ShardInsert shardInsertBefore(MlirOperation op);

/// An op with one result.
MlirValue shardInsertOp(const ShardInsert *at, const char *name, MlirType type, intptr_t nOperands,
                        const MlirValue *operands, intptr_t nAttributes,
                        const ShardNamedAttribute *attributes);
/// Two operands, and a result of the type of the first.
MlirValue shardInsertBinary(const ShardInsert *at, const char *name, MlirValue a, MlirValue b);
MlirValue shardInsertSelect(const ShardInsert *at, MlirValue condition, MlirValue a, MlirValue b);
/// arith.cmpi or, on floats, arith.cmpf; `predicate` is MLIR's number for the one or the other.
MlirValue shardInsertCompare(const ShardInsert *at, int predicate, MlirValue a, MlirValue b);
MlirValue shardInsertScalar(const ShardInsert *at, MlirAttribute value);
MlirValue shardInsertIndexConstant(const ShardInsert *at, int64_t value);
/// linalg.fill or linalg.copy of `input`, a scalar or a tensor, into `init`; as shardOpCreate,
/// before `before` or at the end of `block`.
MlirValue shardCreateFilled(MlirBlock block, MlirOperation before, MlirLocation location,
                            const char *name, MlirValue input, MlirValue init);
/// A number as an attribute of an element type: float, integer or index.
MlirAttribute shardAttrNumber(MlirType element, double value);
/// linalg.index, in a body.
MlirValue shardInsertLoopIndex(const ShardInsert *at, int64_t loop);
/// To another integer or index type, signed; the value itself when it has the type.
MlirValue shardInsertIntegerCast(const ShardInsert *at, MlirValue value, MlirType type);
MlirValue shardInsertEmpty(const ShardInsert *at, MlirType type);
/// tensor.empty filled with a scalar.
MlirValue shardInsertFill(const ShardInsert *at, MlirType type, MlirAttribute value);

/// Builds a body: `arguments` are the block's, inputs then outputs; writes what is yielded.
typedef void (*ShardBodyBuilder)(void *user, const ShardInsert *at, const MlirValue *arguments,
                                 MlirValue *yielded);
/// A linalg.generic over `iterators`, one letter a loop: p parallel, r reduction. `operands` and
/// `maps` are the inputs' and then the `nOutputs` destinations'.
MlirOperation shardInsertGeneric(const ShardInsert *at, const char *iterators, intptr_t nInputs,
                                 intptr_t nOutputs, const MlirValue *operands,
                                 const MlirAffineMap *maps, ShardBodyBuilder build, void *user);

/// Maps of `nDims` dims: those listed, in order; all of them; all but one.
MlirAffineMap shardMapOfDims(MlirContext context, intptr_t nDims, intptr_t n, const int64_t *dims);
MlirAffineMap shardMapWithout(MlirContext context, intptr_t nDims, intptr_t dropped);

#endif // SHARD_CORE_INSERT_H
