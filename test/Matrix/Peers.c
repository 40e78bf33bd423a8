//===- Peers.c - Whom a rank sends to ------------------------------*- C -*-===//
// Small whole-number arithmetic on a rank's coordinates, read from the program's text.
//===----------------------------------------------------------------------===//
#include "Peers.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <string.h>

static bool is(MlirOperation op, const char *name) {
  return mlirStringRefEqual(mlirIdentifierStr(mlirOperationGetName(op)),
                            mlirStringRefCreateFromCString(name));
}

static MlirAttribute attributeOf(MlirOperation op, const char *name) {
  return mlirOperationGetAttributeByName(op, mlirStringRefCreateFromCString(name));
}

static bool applyBinary(MlirOperation op, int64_t a, int64_t b, int64_t *out) {
  if (is(op, "arith.addi"))
    *out = a + b;
  else if (is(op, "arith.subi"))
    *out = a - b;
  else if (is(op, "arith.muli"))
    *out = a * b;
  else if (is(op, "arith.minui") && a >= 0 && b >= 0)
    *out = a < b ? a : b;
  else if (is(op, "arith.divui") && a >= 0 && b > 0)
    *out = a / b;
  else if (is(op, "arith.remui") && a >= 0 && b > 0)
    *out = a % b;
  else
    return false;
  return true;
}

// An element of a constant table.
static bool readTable(MlirOperation extract, intptr_t nAxes, const int64_t *coordinates,
                      int64_t *out) {
  MlirValue table = mlirOperationGetOperand(extract, 0);
  if (!mlirValueIsAOpResult(table) || !is(mlirOpResultGetOwner(table), "arith.constant"))
    return false;
  MlirAttribute values = attributeOf(mlirOpResultGetOwner(table), "value");
  MlirType type = mlirValueGetType(table);
  int64_t at = 0;
  for (intptr_t d = 0; d < mlirShapedTypeGetRank(type); ++d) {
    int64_t index;
    if (!peersEvaluate(mlirOperationGetOperand(extract, d + 1), nAxes, coordinates, &index))
      return false;
    at = at * mlirShapedTypeGetDimSize(type, d) + index;
  }
  if (!mlirAttributeIsADenseElements(values))
    return false;
  if (mlirDenseElementsAttrIsSplat(values))
    at = 0;
  MlirType element = mlirShapedTypeGetElementType(type);
  if (mlirTypeIsAIndex(element))
    *out = (int64_t)mlirDenseElementsAttrGetIndexValue(values, at);
  else if (mlirTypeIsAInteger(element) && mlirIntegerTypeGetWidth(element) == 64)
    *out = mlirDenseElementsAttrGetInt64Value(values, at);
  else if (mlirTypeIsAInteger(element) && mlirIntegerTypeGetWidth(element) == 32)
    *out = mlirDenseElementsAttrGetInt32Value(values, at);
  else
    return false;
  return true;
}

bool peersEvaluate(MlirValue index, intptr_t nAxes, const int64_t *coordinates, int64_t *out) {
  if (!mlirValueIsAOpResult(index))
    return false;
  MlirOperation op = mlirOpResultGetOwner(index);
  if (is(op, "shard.process_multi_index")) {
    MlirAttribute axes = attributeOf(op, "axes");
    intptr_t number = mlirOpResultGetResultNumber(index), axis = number;
    if (!mlirAttributeIsNull(axes) && mlirDenseArrayGetNumElements(axes) > 0)
      axis = mlirDenseI16ArrayGetElement(axes, number);
    if (axis >= nAxes)
      return false;
    *out = coordinates[axis];
    return true;
  }
  if (is(op, "arith.constant")) {
    MlirAttribute value = attributeOf(op, "value");
    if (!mlirAttributeIsAInteger(value))
      return false;
    *out = mlirIntegerAttrGetValueInt(value);
    return true;
  }
  if (is(op, "tensor.extract"))
    return readTable(op, nAxes, coordinates, out);
  if (mlirOperationGetNumOperands(op) == 1 && is(op, "arith.index_cast"))
    return peersEvaluate(mlirOperationGetOperand(op, 0), nAxes, coordinates, out);
  int64_t a, b;
  return mlirOperationGetNumOperands(op) == 2 &&
         peersEvaluate(mlirOperationGetOperand(op, 0), nAxes, coordinates, &a) &&
         peersEvaluate(mlirOperationGetOperand(op, 1), nAxes, coordinates, &b) &&
         applyBinary(op, a, b, out);
}
