//===- Work.h - What an op computes and moves ---------------------*- C -*-===//
#ifndef SHARD_ANALYSIS_WORK_H
#define SHARD_ANALYSIS_WORK_H

#include "shard/Cost.h"

#include "mlir-c/IR.h"

#include <stdbool.h>
#include <stdint.h>

/// Floating-point operations of a linalg op whose body adds a product to its accumulator: two for
/// each step of its loops, on the op's own shapes. 0: no contraction.
int64_t shardContractionFlops(MlirOperation op);

/// What an op on static tensors does to a device, on its own shapes; regions of control flow and
/// what a call calls apart. False: nothing, because it only says how memory is to be seen
/// (reshapes, slices, empty tensors), is done by the op that reads it (a fill that a linalg op adds
/// to), is a constant, or works on single numbers.
bool shardOpGetWork(MlirOperation op, ShardOpWork *out);

/// The op whose loops do the work of an elementwise op as well: the only reader of its result,
/// maybe through reshapes, which is a linalg op without a product sum, or arith or math on tensors.
/// It reads what the elementwise op reads, and the result is never in memory. Null: none.
MlirOperation shardOpFusesInto(MlirOperation op);
/// Whether no op of its own is left of an op: it is fused, or only orders the dimensions of what
/// contractions alone read, which walk it in that order.
bool shardOpIsFolded(MlirOperation op);
/// Whether all that an op does is to put the elements of a tensor in memory in another order: a
/// transposition, under whatever name.
bool shardOpIsReorder(MlirOperation op);
/// Whether the result of an op lies in the memory of its first operand: reshapes, casts, slices.
bool shardOpIsView(MlirOperation op);
/// The op that makes a value, seen through reshapes; null for a block argument.
MlirOperation shardValueProducer(MlirValue value);

/// Bytes of a static ranked tensor; 0 of any other type.
int64_t shardTypeBytes(MlirType type);

#endif // SHARD_ANALYSIS_WORK_H
