//===- Scalars.c - Numbers as arguments and results ----------------*- C -*-===//
// Reads: the entry's arguments and results of scalar types. Writes: tensors of rank 0 in their
// place, read where the function begins or made where it ends. (Exporters write lengths and factors
// so.)
//===----------------------------------------------------------------------===//
#include "../Core/Insert.h"
#include "ImportParts.h"

#include "mlir-c/BuiltinTypes.h"

static MlirType tensorOf(MlirType scalar) {
  return mlirRankedTensorTypeGet(0, NULL, scalar, mlirAttributeGetNull());
}

void shardImportScalars(const ShardImport *import) {
  MlirBlock body = shardFuncGetBody(import->entry);
  ShardInsert begin = shardInsertBefore(mlirBlockGetFirstOperation(body));
  begin.location = mlirOperationGetLocation(import->entry);
  for (intptr_t a = 0, n = mlirBlockGetNumArguments(body); a < n; ++a) {
    MlirValue argument = mlirBlockGetArgument(body, a);
    MlirType type = mlirValueGetType(argument);
    if (!shardImportIsScalar(type))
      continue;
    mlirBlockArgumentSetType(argument, tensorOf(type));
    MlirValue number = shardInsertOp(&begin, "tensor.extract", type, 1, &argument, 0, NULL);
    MlirOperation reader = mlirOpResultGetOwner(number);
    mlirValueReplaceAllUsesExcept(argument, number, 1, &reader);
  }
  MlirOperation last = mlirBlockGetTerminator(body);
  ShardInsert end = shardInsertBefore(last);
  for (intptr_t r = 0, n = mlirOperationGetNumOperands(last); r < n; ++r) {
    MlirValue result = mlirOperationGetOperand(last, r);
    MlirType type = mlirValueGetType(result);
    if (!shardImportIsScalar(type))
      continue;
    MlirValue made =
        shardInsertOp(&end, "tensor.from_elements", tensorOf(type), 1, &result, 0, NULL);
    mlirOperationSetOperand(last, r, made);
  }
  shardFuncUpdateType(import->entry);
}
