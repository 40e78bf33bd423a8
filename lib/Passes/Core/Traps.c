//===- Traps.c - Ops that fail on some operands -------------------*- C -*-===//
#include "Traps.h"

#include "Insert.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

bool shardOpIsDivision(MlirOperation op) {
  static const char *const names[] = {"arith.divsi",      "arith.divui",     "arith.remsi",
                                      "arith.remui",      "arith.ceildivsi", "arith.ceildivui",
                                      "arith.floordivsi", "math.ipowi"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i)
    if (shardOpIs(op, names[i]))
      return true;
  return false;
}

bool shardOpMayTrap(MlirOperation op) {
  return shardOpIsDivision(op) || shardOpIs(op, "cf.assert") || shardOpIs(op, "scf.for") ||
         shardOpIs(op, "scf.while") || shardOpIs(op, "scf.condition");
}

void shardOpGuard(MlirOperation op, MlirValue valid) {
  ShardInsert at = shardInsertBefore(op);
  MlirValue first = mlirOperationGetOperand(op, 0);
  if (shardOpIsDivision(op)) {
    MlirValue by = mlirOperationGetOperand(op, 1);
    MlirValue one = shardInsertScalar(&at, shardAttrNumber(mlirValueGetType(by), 1));
    mlirOperationSetOperand(op, 1, shardInsertSelect(&at, valid, by, one));
  } else if (shardOpIs(op, "scf.for")) { // no turn
    mlirOperationSetOperand(op, 1,
                            shardInsertSelect(&at, valid, mlirOperationGetOperand(op, 1), first));
  } else if (shardOpIs(op, "scf.condition")) {
    mlirOperationSetOperand(op, 0, shardInsertBinary(&at, "arith.andi", first, valid));
  } else if (shardOpIs(op, "cf.assert")) {
    MlirValue holds = shardInsertScalar(&at, shardAttrNumber(mlirValueGetType(first), 1));
    mlirOperationSetOperand(op, 0, shardInsertSelect(&at, valid, first, holds));
  }
}
