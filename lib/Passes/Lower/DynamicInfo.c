//===- DynamicInfo.c - What a program says of its dynamic extents --*- C -*-===//
// Reads `spmd.dynamic`, which shard-import writes on the module:
//   {dims = [array<i64: argument, dimension, least, most>], extents = N : i64,
//    equal = [array<i64: number, a factor for each of dims>],
//    arguments = [[[array<i64: stored, number, factors>]]], results = ...}
// with a list of digits for each dimension of an argument or result, none where it is static.
// Argument N + k of the function is the extent of dims[k].
//===----------------------------------------------------------------------===//

#include "Lower.h"

static bool isRows(MlirAttribute rows, intptr_t width) {
  if (mlirAttributeIsNull(rows) || !mlirAttributeIsAArray(rows))
    return false;
  for (intptr_t i = 0; i < mlirArrayAttrGetNumElements(rows); ++i) {
    MlirAttribute row = mlirArrayAttrGetElement(rows, i);
    if (!mlirAttributeIsADenseI64Array(row) || mlirDenseArrayGetNumElements(row) != width)
      return false;
  }
  return true;
}

static bool isShapes(MlirAttribute shapes, intptr_t width) {
  if (mlirAttributeIsNull(shapes) || !mlirAttributeIsAArray(shapes))
    return false;
  for (intptr_t i = 0; i < mlirArrayAttrGetNumElements(shapes); ++i) {
    MlirAttribute shape = mlirArrayAttrGetElement(shapes, i);
    if (!mlirAttributeIsAArray(shape))
      return false;
    for (intptr_t d = 0; d < mlirArrayAttrGetNumElements(shape); ++d)
      if (!isRows(mlirArrayAttrGetElement(shape, d), width))
        return false;
  }
  return true;
}

MlirLogicalResult shardDynamicInfoRead(ShardLowering *lowering, ShardDynamicInfo *out) {
  *out = (ShardDynamicInfo){.firstExtent = -1};
  MlirAttribute dynamic = shardOpGetAttribute(lowering->module, "spmd.dynamic");
  MlirAttribute none = mlirArrayAttrGet(lowering->context, 0, NULL);
  out->dims = out->equal = out->arguments = out->results = none;
  if (mlirAttributeIsNull(dynamic))
    return mlirLogicalResultSuccess();
  bool good = mlirAttributeIsADictionary(dynamic);
  if (good) {
    MlirAttribute *const lists[] = {&out->dims, &out->equal, &out->arguments, &out->results};
    static const char *const names[] = {"dims", "equal", "arguments", "results"};
    for (int i = 0; i < 4; ++i)
      *lists[i] =
          mlirDictionaryAttrGetElementByName(dynamic, mlirStringRefCreateFromCString(names[i]));
    MlirAttribute first =
        mlirDictionaryAttrGetElementByName(dynamic, mlirStringRefCreateFromCString("extents"));
    good = isRows(out->dims, 4) && !mlirAttributeIsNull(first) && mlirAttributeIsAInteger(first) &&
           shardAttrGetI64(first, &out->firstExtent);
    out->nDims = good ? mlirArrayAttrGetNumElements(out->dims) : 0;
    good = good && isRows(out->equal, 1 + out->nDims) && isShapes(out->arguments, 2 + out->nDims) &&
           isShapes(out->results, 2 + out->nDims);
  }
  return good ? mlirLogicalResultSuccess()
              : shardEmitError(lowering->module,
                               "'spmd.dynamic' is not what shard-import writes: expected dims, "
                               "extents, equal, arguments and results");
}

MlirLogicalResult shardDynamicInfoDigits(ShardLowering *lowering, const ShardDynamicInfo *info,
                                         bool isResult, int64_t index, MlirType global,
                                         MlirAttribute *outDigits) {
  *outDigits = mlirAttributeGetNull();
  MlirAttribute shapes = isResult ? info->results : info->arguments;
  if (index >= mlirArrayAttrGetNumElements(shapes))
    return mlirLogicalResultSuccess();
  MlirAttribute shape = mlirArrayAttrGetElement(shapes, (intptr_t)index);
  intptr_t rank = mlirArrayAttrGetNumElements(shape), n = 0;
  if (!rank)
    return mlirLogicalResultSuccess();
  bool fits = mlirTypeIsAShaped(global) && mlirShapedTypeGetRank(global) == rank;
  intptr_t capacity = 0;
  for (intptr_t d = 0; d < rank; ++d)
    capacity += mlirArrayAttrGetNumElements(mlirArrayAttrGetElement(shape, d));
  MlirAttribute *digits = SHARD_ARENA_ARRAY(lowering->arena, MlirAttribute, capacity + 1);
  for (intptr_t d = 0; d < rank && fits; ++d) {
    MlirAttribute list = mlirArrayAttrGetElement(shape, d);
    int64_t product = 1;
    for (intptr_t i = 0; i < mlirArrayAttrGetNumElements(list); ++i) {
      MlirAttribute digit = mlirArrayAttrGetElement(list, i);
      int64_t *row = SHARD_ARENA_ARRAY(lowering->arena, int64_t, info->nDims + 3);
      row[0] = d;
      for (intptr_t k = 0; k < info->nDims + 2; ++k)
        row[1 + k] = mlirDenseI64ArrayGetElement(digit, k);
      if (row[1] < 1 || __builtin_mul_overflow(product, row[1], &product))
        product = -1;
      digits[n++] = shardAttrI64Array(lowering->context, info->nDims + 3, row);
    }
    fits = product == mlirShapedTypeGetDimSize(global, d);
  }
  if (!fits)
    return shardEmitError(lowering->module,
                          "'spmd.dynamic' does not fit the shape of %s %lld of the program",
                          isResult ? "result" : "argument", (long long)index);
  *outDigits = mlirArrayAttrGet(lowering->context, n, digits);
  return mlirLogicalResultSuccess();
}

MlirAttribute shardDynamicInfoTable(ShardLowering *lowering, MlirAttribute dims,
                                    MlirAttribute equal) {
  MlirAttribute const lists[] = {dims, equal};
  intptr_t nDims = mlirArrayAttrGetNumElements(dims), nEqual = mlirArrayAttrGetNumElements(equal);
  int64_t n = 0, size = 4 * nDims + nEqual * (1 + nDims);
  int64_t *numbers = SHARD_ARENA_ARRAY(lowering->arena, int64_t, size + 1);
  for (int k = 0; k < 2; ++k)
    for (intptr_t i = 0; i < mlirArrayAttrGetNumElements(lists[k]); ++i) {
      MlirAttribute row = mlirArrayAttrGetElement(lists[k], i);
      for (intptr_t c = 0; c < mlirDenseArrayGetNumElements(row); ++c)
        numbers[n++] = mlirDenseI64ArrayGetElement(row, c);
    }
  MlirType type = mlirRankedTensorTypeGet(1, &n, mlirIntegerTypeGet(lowering->context, 64),
                                          mlirAttributeGetNull());
  return mlirDenseElementsAttrInt64Get(type, n, numbers);
}
