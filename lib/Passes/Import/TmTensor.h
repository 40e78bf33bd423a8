//===- TmTensor.h - Ops of tm_tensor, as they come ----------------*- C -*-===//
// MLIR does not know the dialect, so that nothing has verified an op: the readers do.
//===----------------------------------------------------------------------===//
#ifndef SHARD_IMPORT_TMTENSOR_H
#define SHARD_IMPORT_TMTENSOR_H

#include "ImportParts.h"

#include "../Core/Insert.h"

typedef struct TmOp {
  MlirOperation op;
  ShardArena *arena;
  intptr_t nInputs, nOutputs;
  intptr_t rank; // of the operand that the dimension is one of
  int64_t dim;
  MlirBlock body; // null for attention
  MlirValue yielded;
} TmOp;

/// "'NAME': expected WHAT" at the op.
MlirLogicalResult shardTmMalformed(const TmOp *t, const char *what);
/// Of an operand, by number.
MlirType shardTmTypeOf(const TmOp *t, intptr_t operand);
MlirType shardTmElementOf(MlirValue value);
bool shardTmSameShape(MlirType a, MlirType b);
/// Inputs, destinations (-1: any number of them) and results: a result for each destination, of its
/// type.
MlirLogicalResult shardTmReadOperands(TmOp *t, intptr_t nInputs, intptr_t nOutputs);
/// `dimension`, of a tensor of this type.
MlirLogicalResult shardTmReadDimension(TmOp *t, MlirType type);
/// One block of scalar ops whose arguments come in pairs of an operand's element type.
MlirLogicalResult shardTmReadBody(TmOp *t, intptr_t firstOperand, intptr_t nPairs, bool yieldsBit);
/// The body with these values of its arguments; returns what it yields.
MlirValue shardTmInlineBody(const TmOp *t, const ShardInsert *at, const MlirValue *arguments);
void shardTmReplaceResult(const TmOp *t, intptr_t result, MlirValue value);

/// TmSort.c, TmScatter.c, TmAttention.c: the op in terms of linalg; its results are replaced.
MlirLogicalResult shardTmImportSort(TmOp *t);
MlirLogicalResult shardTmImportTopK(TmOp *t);
MlirLogicalResult shardTmImportScatter(TmOp *t);
MlirLogicalResult shardTmImportAttention(TmOp *t);

#endif // SHARD_IMPORT_TMTENSOR_H
