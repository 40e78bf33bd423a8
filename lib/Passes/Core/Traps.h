//===- Traps.h - Ops that fail on some operands -------------------*- C -*-===//
#ifndef SHARD_CORE_TRAPS_H
#define SHARD_CORE_TRAPS_H

#include "IR.h"

/// Whether a scalar op fails, rather than computes something, when its operand 1 is unlucky.
bool shardOpIsDivision(MlirOperation op);
/// The same, or it asserts, or it may not end.
bool shardOpMayTrap(MlirOperation op);
/// The op, which may trap, does nothing of the kind where `valid`, an i1, is false: what it then
/// computes is of no use.
void shardOpGuard(MlirOperation op, MlirValue valid);

#endif // SHARD_CORE_TRAPS_H
