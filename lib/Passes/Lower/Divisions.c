//===- Divisions.c - Divisions of integers that may fail -----------*- C -*-===//
#include "Loops.h"

#include "../Core/Traps.h"

bool shardDivisionMayFail(MlirOperation op) {
  if (!shardOpIsDivision(op) || !shardNameHasDialect(shardOpGetName(op), "arith"))
    return false;
  MlirValue by = mlirOperationGetOperand(op, 1);
  MlirType type = mlirValueGetType(by);
  int64_t constant;
  return (mlirTypeIsAInteger(type) || mlirTypeIsAIndex(type)) &&
         (!shardScalarGetConstant(by, &constant) || constant == 0 || constant == -1);
}

static MlirValue isUnequal(ShardLowerBuilder *b, MlirValue value, int64_t constant) {
  MlirType type = mlirValueGetType(value);
  MlirValue operands[] = {value, shardMakeConstant(b, type, mlirIntegerAttrGet(type, constant))};
  ShardNamedAttribute predicate = {"predicate", mlirIntegerAttrGet(b->lowering->i64, 1)}; // ne
  return mlirOperationGetResult(
      shardMakeOp(b, "arith.cmpi", 1, &b->lowering->i1, 2, operands, 1, &predicate), 0);
}

void shardCheckDivision(ShardLowering *lowering, MlirOperation func, MlirOperation op) {
  MlirValue value = mlirOperationGetOperand(op, 0), by = mlirOperationGetOperand(op, 1);
  MlirType type = mlirValueGetType(by);
  ShardLowerBuilder b = shardLowerBuilderBefore(lowering, op);
  MlirValue valid = isUnequal(&b, by, 0);
  uint32_t width = mlirTypeIsAInteger(type) ? mlirIntegerTypeGetWidth(type) : 64;
  bool isUnsigned = shardOpIs(op, "arith.divui") || shardOpIs(op, "arith.remui") ||
                    shardOpIs(op, "arith.ceildivui");
  if (!isUnsigned && (width == 32 || width == 64)) { // narrower ones are divided in 32 bits
    MlirValue either[] = {isUnequal(&b, by, -1),
                          isUnequal(&b, value, width == 32 ? INT32_MIN : INT64_MIN)};
    MlirValue both[] = {valid, shardMakeValue(&b, "arith.ori", lowering->i1, 2, either)};
    valid = shardMakeValue(&b, "arith.andi", lowering->i1, 2, both);
  }
  shardMakeAssert(
      lowering, func, op, valid,
      mlirStringRefCreateFromCString("division by zero, or with a quotient out of range"));
}
