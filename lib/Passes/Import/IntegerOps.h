//===- IntegerOps.h - Integer arithmetic of arith, on arrays ------*- C -*-===//
#ifndef SHARD_IMPORT_INTEGEROPS_H
#define SHARD_IMPORT_INTEGEROPS_H

#include "../Core/IR.h"

/// Width in bits of an integer type, or of a shaped type's elements; index is 64. 0: more than 64
/// bits, or no integer.
unsigned shardIntegerWidth(MlirType type);
/// The normal form of a value: i1 is 0 or 1, others are sign-extended.
int64_t shardIntegerWrap(uint64_t value, unsigned width);

bool shardIsIntegerOp(MlirOperation op);
/// Applies the op to `count` elements, in normal form, of up to three operands. False where it is
/// undefined (a division by zero, a shift too far), or no integer op.
bool shardIntegerOpApply(MlirOperation op, int64_t count, const int64_t *const *operands,
                         int64_t *out);

#endif // SHARD_IMPORT_INTEGEROPS_H
