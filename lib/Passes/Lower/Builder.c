//===- Builder.c - Creating low-level ops --------------------------*- C -*-===//
#include "Lower.h"

#include "shard/Runtime.h"

#include "mlir-c/Dialect/LLVM.h"

#include <assert.h>
#include <string.h>

ShardLowerBuilder shardLowerBuilderBefore(ShardLowering *lowering, MlirOperation before) {
  return (ShardLowerBuilder){lowering, mlirOperationGetLocation(before),
                             mlirOperationGetBlock(before), before};
}

ShardLowerBuilder shardLowerBuilderAtEnd(ShardLowering *lowering, MlirBlock block,
                                         MlirLocation location) {
  return (ShardLowerBuilder){lowering, location, block, {NULL}};
}

ShardLowerBuilder shardLowerBuilderAtStart(ShardLowering *lowering, MlirBlock block,
                                           MlirLocation location) {
  return (ShardLowerBuilder){lowering, location, block, mlirBlockGetFirstOperation(block)};
}

MlirOperation shardMakeOp(ShardLowerBuilder *b, const char *name, intptr_t nResults,
                          const MlirType *results, intptr_t nOperands, const MlirValue *operands,
                          intptr_t nAttributes, const ShardNamedAttribute *attributes) {
  return shardOpCreate(b->block, b->before, b->location, name, nResults, results, nOperands,
                       operands, nAttributes, attributes, 0, NULL);
}

MlirValue shardMakeValue(ShardLowerBuilder *b, const char *name, MlirType type, intptr_t nOperands,
                         const MlirValue *operands) {
  return mlirOperationGetResult(shardMakeOp(b, name, 1, &type, nOperands, operands, 0, NULL), 0);
}

MlirValue shardMakeConstant(ShardLowerBuilder *b, MlirType type, MlirAttribute value) {
  ShardNamedAttribute attribute = {"value", value};
  return mlirOperationGetResult(shardMakeOp(b, "arith.constant", 1, &type, 0, NULL, 1, &attribute),
                                0);
}

MlirValue shardMakeI64(ShardLowerBuilder *b, int64_t value) {
  MlirType type = b->lowering->i64;
  return shardMakeConstant(b, type, mlirIntegerAttrGet(type, value));
}

MlirValue shardMakeI32(ShardLowerBuilder *b, int64_t value) {
  MlirType type = b->lowering->i32;
  return shardMakeConstant(b, type, mlirIntegerAttrGet(type, value));
}

MlirValue shardMakeIndex(ShardLowerBuilder *b, int64_t value) {
  MlirType type = b->lowering->index;
  return shardMakeConstant(b, type, mlirIntegerAttrGet(type, value));
}

MlirValue shardMakeAdd(ShardLowerBuilder *b, MlirValue left, MlirValue right) {
  MlirValue operands[] = {left, right};
  return shardMakeValue(b, "arith.addi", mlirValueGetType(left), 2, operands);
}

MlirValue shardMakeMul(ShardLowerBuilder *b, MlirValue left, MlirValue right) {
  MlirValue operands[] = {left, right};
  return shardMakeValue(b, "arith.muli", mlirValueGetType(left), 2, operands);
}

MlirValue shardMakeCast(ShardLowerBuilder *b, MlirValue value, MlirType type) {
  return shardMakeValue(b, "builtin.unrealized_conversion_cast", type, 1, &value);
}

MlirValue shardMakeIndexCast(ShardLowerBuilder *b, MlirValue value, MlirType type) {
  if (mlirTypeEqual(mlirValueGetType(value), type))
    return value;
  return shardMakeValue(b, "arith.index_cast", type, 1, &value);
}

MlirValue shardMakeElementPointer(ShardLowerBuilder *b, MlirValue pointer, MlirValue elements,
                                  MlirType elementType) {
  ShardLowering *lowering = b->lowering;
  if (mlirTypeIsAIndex(elementType))
    elementType = lowering->i64;
  if (mlirTypeEqual(elementType, lowering->i1))
    elementType = lowering->i8;
  const int32_t dynamic = INT32_MIN; // LLVM::GEPOp::kDynamicIndex
  ShardNamedAttribute attributes[] = {
      {"rawConstantIndices", mlirDenseI32ArrayGet(lowering->context, 1, &dynamic)},
      {"elem_type", mlirTypeAttrGet(elementType)}};
  MlirValue operands[] = {pointer, elements};
  return mlirOperationGetResult(
      shardMakeOp(b, "llvm.getelementptr", 1, &lowering->pointer, 2, operands, 2, attributes), 0);
}

MlirValue shardMakeLoad(ShardLowerBuilder *b, MlirValue pointer, MlirType elementType) {
  ShardLowering *lowering = b->lowering;
  if (mlirTypeIsAIndex(elementType))
    return shardMakeIndexCast(b, shardMakeLoad(b, pointer, lowering->i64), elementType);
  if (mlirTypeEqual(elementType, lowering->i1)) {
    MlirValue byte = shardMakeValue(b, "llvm.load", lowering->i8, 1, &pointer);
    return shardMakeValue(b, "arith.trunci", lowering->i1, 1, &byte);
  }
  return shardMakeValue(b, "llvm.load", elementType, 1, &pointer);
}

void shardMakeStore(ShardLowerBuilder *b, MlirValue value, MlirValue pointer) {
  ShardLowering *lowering = b->lowering;
  MlirType type = mlirValueGetType(value);
  if (mlirTypeIsAIndex(type))
    value = shardMakeIndexCast(b, value, lowering->i64);
  if (mlirTypeEqual(type, lowering->i1))
    value = shardMakeValue(b, "arith.extui", lowering->i8, 1, &value);
  MlirValue operands[] = {value, pointer};
  shardMakeOp(b, "llvm.store", 0, NULL, 2, operands, 0, NULL);
}

MlirOperation shardMakeRuntimeCall(ShardLowerBuilder *b, const char *callee, intptr_t nResults,
                                   const MlirType *results, intptr_t nOperands,
                                   const MlirValue *operands) {
  ShardLowering *lowering = b->lowering;
  MlirContext context = lowering->context;
  if (mlirOperationIsNull(
          shardModuleLookup(lowering->module, mlirStringRefCreateFromCString(callee)))) {
    MlirType inputs[16];
    assert(nOperands <= 16);
    for (intptr_t i = 0; i < nOperands; ++i)
      inputs[i] = mlirValueGetType(operands[i]);
    ShardNamedAttribute attributes[] = {
        {"sym_name", shardAttrString(context, callee)},
        {"sym_visibility", shardAttrString(context, "private")},
        {"function_type",
         mlirTypeAttrGet(mlirFunctionTypeGet(context, nOperands, inputs, nResults, results))}};
    MlirRegion region = mlirRegionCreate();
    shardOpCreate(shardOpBody(lowering->module), (MlirOperation){NULL},
                  mlirLocationUnknownGet(context), "func.func", 0, NULL, 0, NULL, 3, attributes, 1,
                  &region);
  }
  ShardNamedAttribute attribute = {
      "callee", mlirFlatSymbolRefAttrGet(context, mlirStringRefCreateFromCString(callee))};
  return shardMakeOp(b, "func.call", nResults, results, nOperands, operands, 1, &attribute);
}

MlirOperation shardMakeFor(ShardLowerBuilder *b, MlirValue from, MlirValue to, MlirValue step,
                           intptr_t nCarried, const MlirValue *carried) {
  ShardLowering *lowering = b->lowering;
  MlirValue operands[3 + 8] = {from, to, step};
  MlirType types[1 + 8] = {lowering->i64};
  MlirLocation locations[1 + 8] = {b->location};
  assert(nCarried <= 8);
  for (intptr_t i = 0; i < nCarried; ++i) {
    operands[3 + i] = carried[i];
    types[1 + i] = mlirValueGetType(carried[i]);
    locations[1 + i] = b->location;
  }
  MlirRegion region = mlirRegionCreate();
  mlirRegionAppendOwnedBlock(region, mlirBlockCreate(1 + nCarried, types, locations));
  return shardOpCreate(b->block, b->before, b->location, "scf.for", nCarried, types + 1,
                       3 + nCarried, operands, 0, NULL, 1, &region);
}

void shardMakeYield(ShardLowerBuilder *b, intptr_t nValues, const MlirValue *values) {
  shardMakeOp(b, "scf.yield", 0, NULL, nValues, values, 0, NULL);
}

MlirAttribute shardParseAttribute(ShardLowering *lowering, const char *text) {
  MlirAttribute attribute =
      mlirAttributeParseGet(lowering->context, mlirStringRefCreateFromCString(text));
  assert(!mlirAttributeIsNull(attribute) && "text written by this code");
  return attribute;
}

MlirType shardParseType(ShardLowering *lowering, const char *text) {
  MlirType type = mlirTypeParseGet(lowering->context, mlirStringRefCreateFromCString(text));
  assert(!mlirTypeIsNull(type) && "text written by this code");
  return type;
}

MlirOperation shardParseIntoModule(ShardLowering *lowering, const char *text) {
  MlirOperation op =
      mlirOperationCreateParse(lowering->context, mlirStringRefCreateFromCString(text),
                               mlirStringRefCreateFromCString("shard-lower-cpu"));
  assert(!mlirOperationIsNull(op) && "text written by this code");
  mlirBlockAppendOwnedOperation(shardOpBody(lowering->module), op);
  return op;
}

int32_t shardElementNumber(MlirType type) {
  if (mlirTypeIsAF32(type))
    return SHARD_RT_F32;
  if (mlirTypeIsAF64(type))
    return SHARD_RT_F64;
  if (mlirTypeIsAF16(type))
    return SHARD_RT_F16;
  if (mlirTypeIsABF16(type))
    return SHARD_RT_BF16;
  if (mlirTypeIsAIndex(type))
    return SHARD_RT_I64;
  if (mlirTypeIsAInteger(type))
    switch (mlirIntegerTypeGetWidth(type)) {
    case 1:
      return SHARD_RT_I1;
    case 8:
      return SHARD_RT_I8;
    case 16:
      return SHARD_RT_I16;
    case 32:
      return SHARD_RT_I32;
    case 64:
      return SHARD_RT_I64;
    }
  return -1;
}

bool shardMemrefGetStrides(MlirType type, int64_t *outStrides) {
  for (intptr_t i = 0; i < mlirShapedTypeGetRank(type); ++i)
    if (mlirShapedTypeGetDimSize(type, i) == 0) { // nothing is ever reached
      for (intptr_t k = 0; k < mlirShapedTypeGetRank(type); ++k)
        outStrides[k] = 1;
      return true;
    }
  int64_t offset;
  if (mlirLogicalResultIsFailure(mlirMemRefTypeGetStridesAndOffset(type, outStrides, &offset)))
    return false;
  intptr_t rank = mlirShapedTypeGetRank(type);
  for (intptr_t i = 0; i < rank; ++i)
    if (outStrides[i] == mlirShapedTypeGetDynamicStrideOrOffset() ||
        mlirShapedTypeIsDynamicDim(type, i))
      return false;
  return true;
}

MlirType shardLLVMArrayOf(MlirType shaped, MlirType element) {
  for (intptr_t i = mlirShapedTypeGetRank(shaped); i-- > 0;)
    element = mlirLLVMArrayTypeGet(element, (unsigned)mlirShapedTypeGetDimSize(shaped, i));
  return element;
}
