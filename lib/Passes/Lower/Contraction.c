//===- Contraction.c - Products of two operands summed over loops --*- C -*-===//
// On tensors: every contraction, named or generic, becomes a marked linalg.generic that reads
// through the transposes before it and, when its result starts from zero, starts from nothing.
// ContractionCalls.c makes calls of them on buffers.
//===----------------------------------------------------------------------===//

#include "Gemm.h"
#include "Loops.h"

#include "../Core/Insert.h"

#include "mlir-c/Dialect/Linalg.h"

//===----------------------------------------------------------------------===//
// Recognising
//===----------------------------------------------------------------------===//

/// The op that defines `value`, looking through extensions of floats when `through`.
static MlirOperation definition(MlirValue value, bool through) {
  while (mlirValueIsAOpResult(value)) {
    MlirOperation op = mlirOpResultGetOwner(value);
    if (!through || !shardOpIs(op, "arith.extf"))
      return op;
    value = mlirOperationGetOperand(op, 0);
  }
  return (MlirOperation){NULL};
}

/// Block argument number of `value` seen through extensions; -1 if it is none of `block`.
static intptr_t argumentNumber(MlirValue value, MlirBlock block) {
  while (mlirValueIsAOpResult(value)) {
    MlirOperation op = mlirOpResultGetOwner(value);
    if (!shardOpIs(op, "arith.extf"))
      return -1;
    value = mlirOperationGetOperand(op, 0);
  }
  return mlirValueIsABlockArgument(value) && mlirBlockEqual(mlirBlockArgumentGetOwner(value), block)
             ? mlirBlockArgumentGetArgNumber(value)
             : -1;
}

/// Whether the body is out + in0 * in1, in any order, floats possibly extended.
static bool bodyIsProductSum(MlirBlock body) {
  if (mlirBlockGetNumArguments(body) != 3)
    return false;
  MlirOperation yield = mlirBlockGetTerminator(body);
  if (mlirOperationGetNumOperands(yield) != 1)
    return false;
  MlirOperation sum = definition(mlirOperationGetOperand(yield, 0), false);
  if (mlirOperationIsNull(sum) || !shardOpIs(sum, "arith.addf"))
    return false;
  for (intptr_t i = 0; i < 2; ++i) {
    MlirValue out = mlirOperationGetOperand(sum, i);
    if (!mlirValueEqual(out, mlirBlockGetArgument(body, 2)))
      continue;
    MlirOperation product = definition(mlirOperationGetOperand(sum, 1 - i), true);
    if (mlirOperationIsNull(product) || !shardOpIs(product, "arith.mulf"))
      return false;
    intptr_t left = argumentNumber(mlirOperationGetOperand(product, 0), body);
    intptr_t right = argumentNumber(mlirOperationGetOperand(product, 1), body);
    return (left == 0 && right == 1) || (left == 1 && right == 0);
  }
  return false;
}

static MlirAttribute mapsOf(MlirOperation op) { return mlirLinalgGetIndexingMapsAttribute(op); }

/// Whether each result of the map is a dim, none twice.
static bool isProjectedPermutation(MlirAffineMap map) {
  return mlirAffineMapIsProjectedPermutation(map);
}

static bool isLinalg(MlirOperation op) { return shardNameHasDialect(shardOpGetName(op), "linalg"); }

/// A contraction on tensors whose loops all belong to two of the three values or to all.
static bool isTensorContraction(MlirOperation op) {
  if (!isLinalg(op) || mlirOperationGetNumOperands(op) != 3 ||
      mlirOperationGetNumResults(op) != 1 || mlirOperationGetNumRegions(op) != 1)
    return false;
  MlirBlock body = shardOpBody(op);
  if (mlirBlockIsNull(body) || mlirOperationIsNull(mlirBlockGetTerminator(body)) ||
      !bodyIsProductSum(body))
    return false;
  MlirAttribute maps = mapsOf(op);
  if (mlirAttributeIsNull(maps) || mlirArrayAttrGetNumElements(maps) != 3)
    return false;
  MlirType elements[3];
  int seen[MAX_CONTRACTION_DIMS] = {0};
  intptr_t nDims = 0;
  for (intptr_t i = 0; i < 3; ++i) {
    MlirType type = mlirValueGetType(mlirOperationGetOperand(op, i));
    MlirAffineMap map = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, i));
    nDims = mlirAffineMapGetNumDims(map);
    if (!mlirTypeIsARankedTensor(type) || nDims > MAX_CONTRACTION_DIMS ||
        !isProjectedPermutation(map))
      return false;
    elements[i] = mlirShapedTypeGetElementType(type);
    if (shardTypeElementCount(type) <= 0)
      return false; // a sum over nothing: the loops know
    for (intptr_t d = 0; d < mlirAffineMapGetNumResults(map); ++d) {
      MlirAffineExpr expr = mlirAffineMapGetResult(map, d);
      if (!mlirAffineExprIsADim(expr))
        return false;
      seen[mlirAffineDimExprGetPosition(expr)]++;
    }
  }
  for (intptr_t d = 0; d < nDims; ++d)
    if (seen[d] < 2)
      return false;
  return shardGemmSupports(elements[0], elements[1], elements[2]);
}

//===----------------------------------------------------------------------===//
// On tensors
//===----------------------------------------------------------------------===//

/// Whether `value` is a fill with zero.
static bool isZeroFill(MlirValue value) {
  MlirOperation op = definition(value, false);
  if (mlirOperationIsNull(op))
    return false;
  MlirAttribute attribute = mlirAttributeGetNull();
  if (shardOpIs(op, "linalg.fill")) {
    MlirOperation constant = definition(mlirOperationGetOperand(op, 0), false);
    if (mlirOperationIsNull(constant) || !shardOpIs(constant, "arith.constant"))
      return false;
    attribute = shardOpGetAttribute(constant, "value");
  } else if (shardOpIs(op, "arith.constant")) {
    attribute = shardOpGetAttribute(op, "value");
    if (!mlirAttributeIsADenseElements(attribute) || !mlirDenseElementsAttrIsSplat(attribute))
      return false;
    attribute = mlirDenseElementsAttrGetSplatValue(attribute);
  }
  return !mlirAttributeIsNull(attribute) && mlirAttributeIsAFloat(attribute) &&
         mlirFloatAttrGetValueDouble(attribute) == 0;
}

/// If `value` is a transpose of some X, X and the position in X of each dimension of `value`.
static bool matchTranspose(MlirValue value, MlirValue *outSource, int64_t *outPermutation) {
  MlirOperation op = definition(value, false);
  if (mlirOperationIsNull(op))
    return false;
  intptr_t rank = mlirShapedTypeGetRank(mlirValueGetType(value));
  if (shardOpIs(op, "linalg.transpose")) {
    MlirAttribute permutation = shardOpGetAttribute(op, "permutation");
    for (intptr_t i = 0; i < rank; ++i)
      outPermutation[i] = mlirDenseI64ArrayGetElement(permutation, i);
    *outSource = mlirOperationGetOperand(op, 0);
    return true;
  }
  if (!shardOpIs(op, "linalg.generic") || mlirOperationGetNumOperands(op) != 2 ||
      mlirOperationGetNumResults(op) != 1)
    return false;
  MlirBlock body = shardOpBody(op);
  MlirOperation yield = mlirBlockGetFirstOperation(body);
  if (!shardOpIs(yield, "linalg.yield") ||
      !mlirValueEqual(mlirOperationGetOperand(yield, 0), mlirBlockGetArgument(body, 0)))
    return false;
  MlirAttribute maps = mapsOf(op);
  MlirAffineMap in = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, 0));
  MlirAffineMap out = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, 1));
  if (!mlirAffineMapIsPermutation(in) || !mlirAffineMapIsPermutation(out) ||
      !mlirTypeEqual(mlirShapedTypeGetElementType(mlirValueGetType(mlirOperationGetOperand(op, 0))),
                     mlirShapedTypeGetElementType(mlirValueGetType(value))))
    return false;
  for (intptr_t i = 0; i < rank; ++i) {
    intptr_t loop = mlirAffineDimExprGetPosition(mlirAffineMapGetResult(out, i));
    for (intptr_t k = 0; k < rank; ++k)
      if (mlirAffineDimExprGetPosition(mlirAffineMapGetResult(in, k)) == loop)
        outPermutation[i] = k;
  }
  *outSource = mlirOperationGetOperand(op, 0);
  return true;
}

/// Replaces a contraction by its marked generic form.
static MlirOperation normalise(ShardLowering *lowering, MlirOperation op) {
  MlirContext context = lowering->context;
  ShardLowerBuilder b = shardLowerBuilderBefore(lowering, op);
  MlirAttribute oldMaps = mapsOf(op);
  MlirAttribute maps[3];
  MlirValue operands[3];
  for (intptr_t i = 0; i < 3; ++i) {
    operands[i] = mlirOperationGetOperand(op, i);
    maps[i] = mlirArrayAttrGetElement(oldMaps, i);
    int64_t permutation[MAX_CONTRACTION_DIMS];
    MlirValue source;
    while (i < 2 && matchTranspose(operands[i], &source, permutation)) {
      MlirAffineMap map = mlirAffineMapAttrGetValue(maps[i]);
      intptr_t rank = mlirAffineMapGetNumResults(map);
      MlirAffineExpr exprs[MAX_CONTRACTION_DIMS];
      for (intptr_t d = 0; d < rank; ++d)
        exprs[permutation[d]] = mlirAffineMapGetResult(map, d);
      maps[i] = mlirAffineMapAttrGet(
          mlirAffineMapGet(context, mlirAffineMapGetNumDims(map), 0, rank, exprs));
      operands[i] = source;
    }
  }
  bool zero = isZeroFill(operands[2]);
  MlirType resultType = mlirValueGetType(operands[2]);
  if (zero)
    operands[2] = shardMakeValue(&b, "tensor.empty", resultType, 0, NULL);
  MlirAffineMap out = mlirAffineMapAttrGetValue(maps[2]);
  intptr_t nDims = mlirAffineMapGetNumDims(out);
  MlirAttribute iterators[MAX_CONTRACTION_DIMS];
  for (intptr_t d = 0; d < nDims; ++d)
    iterators[d] = shardParseAttribute(lowering, "#linalg.iterator_type<reduction>");
  for (intptr_t i = 0; i < mlirAffineMapGetNumResults(out); ++i)
    iterators[mlirAffineDimExprGetPosition(mlirAffineMapGetResult(out, i))] =
        shardParseAttribute(lowering, "#linalg.iterator_type<parallel>");
  ShardNamedAttribute attributes[] = {
      {"indexing_maps", mlirArrayAttrGet(context, 3, maps)},
      {"iterator_types", mlirArrayAttrGet(context, nDims, iterators)},
      {"operandSegmentSizes", mlirDenseI32ArrayGet(context, 2, (const int32_t[]){2, 1})},
      {"spmd.contraction", shardAttrUnit(context)},
      {"spmd.zero", shardAttrUnit(context)}};
  MlirRegion region = mlirRegionCreate();
  mlirRegionTakeBody(region, mlirOperationGetRegion(op, 0));
  MlirOperation generic =
      shardOpCreate(b.block, b.before, b.location, "linalg.generic", 1, &resultType, 3, operands,
                    zero ? 5 : 4, attributes, 1, &region);
  mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, 0), mlirOperationGetResult(generic, 0));
  mlirOperationDestroy(op);
  return generic;
}

static bool isInit(MlirOperation op) {
  return shardOpIs(op, "linalg.fill") || shardOpIs(op, "tensor.empty");
}

/// Gives every user its own tensor.empty and linalg.fill: a shared one becomes a buffer that is
/// copied.
static void cloneInits(ShardLowering *lowering) {
  ShardOpList list = {.arena = lowering->arena};
  shardOpListCollect(&list, lowering->module, NULL, isInit);
  // Users come later in the list: a fill before its empty.
  for (size_t i = list.nOps; i-- > 0;) {
    MlirOperation op = list.ops[i];
    MlirValue result = mlirOperationGetResult(op, 0);
    ShardOpList users = {.arena = lowering->arena};
    for (MlirOpOperand use = mlirValueGetFirstUse(result); !mlirOpOperandIsNull(use);
         use = mlirOpOperandGetNextUse(use))
      shardOpListAppend(&users, mlirOpOperandGetOwner(use));
    if (!users.nOps) {
      mlirOperationDestroy(op);
      continue;
    }
    if (users.nOps == 1)
      continue;
    for (size_t k = 0; k < users.nOps; ++k) {
      MlirOperation user = users.ops[k];
      if (!shardNameHasDialect(shardOpGetName(user), "linalg"))
        continue;
      MlirOperation clone = mlirOperationClone(op);
      mlirBlockInsertOwnedOperationBefore(mlirOperationGetBlock(user), user, clone);
      if (shardOpIs(op, "linalg.fill")) { // with an empty of its own
        MlirOperation empty = definition(mlirOperationGetOperand(clone, 1), false);
        if (!mlirOperationIsNull(empty) && shardOpIs(empty, "tensor.empty")) {
          MlirOperation other = mlirOperationClone(empty);
          mlirBlockInsertOwnedOperationBefore(mlirOperationGetBlock(user), clone, other);
          mlirOperationSetOperand(clone, 1, mlirOperationGetResult(other, 0));
        }
      }
      for (intptr_t n = 0; n < mlirOperationGetNumOperands(user); ++n)
        if (mlirValueEqual(mlirOperationGetOperand(user, n), result))
          mlirOperationSetOperand(user, n, mlirOperationGetResult(clone, 0));
    }
    if (mlirOpOperandIsNull(mlirValueGetFirstUse(result)))
      mlirOperationDestroy(op);
  }
}

static bool isLargeSplat(MlirOperation op) {
  MlirAttribute value = shardOpGetAttribute(op, "value");
  enum { SMALL = 16 }; // elements that cost nothing as a global
  return mlirAttributeIsADenseElements(value) && mlirDenseElementsAttrIsSplat(value) &&
         mlirTypeIsARankedTensor(mlirAttributeGetType(value)) &&
         shardTypeElementCount(mlirAttributeGetType(value)) > SMALL;
}

void shardFillSplats(ShardLowering *lowering) {
  ShardOpList list = {.arena = lowering->arena};
  shardOpListCollect(&list, lowering->module, "arith.constant", isLargeSplat);
  for (size_t i = 0; i < list.nOps; ++i) {
    MlirOperation op = list.ops[i];
    ShardLowerBuilder b = shardLowerBuilderBefore(lowering, op);
    MlirAttribute value = shardOpGetAttribute(op, "value");
    MlirType type = mlirAttributeGetType(value), element = mlirShapedTypeGetElementType(type);
    MlirValue scalar = shardMakeConstant(&b, element, mlirDenseElementsAttrGetSplatValue(value));
    MlirValue empty = shardMakeValue(&b, "tensor.empty", type, 0, NULL);
    mlirValueReplaceAllUsesOfWith(
        mlirOperationGetResult(op, 0),
        shardCreateFilled(b.block, b.before, b.location, "linalg.fill", scalar, empty));
    mlirOperationDestroy(op);
  }
}

MlirLogicalResult shardPrepareContractions(ShardLowering *lowering) {
  ShardOpList list = {.arena = lowering->arena};
  shardOpListCollect(&list, lowering->module, NULL, isTensorContraction);
  for (size_t i = 0; i < list.nOps; ++i)
    normalise(lowering, list.ops[i]);
  cloneInits(lowering);
  return mlirLogicalResultSuccess();
}

//===----------------------------------------------------------------------===//
// Hiding
//===----------------------------------------------------------------------===//

ShardHidden *shardHideContractions(ShardLowering *lowering) {
  ShardHidden *hidden = SHARD_ARENA_NEW(lowering->arena, ShardHidden);
  ShardOpList list = {.arena = lowering->arena};
  shardOpListCollect(&list, lowering->module, "linalg.generic", shardIsContraction);
  hidden->nOps = list.nOps;
  hidden->contractions = list.ops;
  hidden->calls = SHARD_ARENA_ARRAY(lowering->arena, MlirOperation, list.nOps);
  for (size_t i = 0; i < list.nOps; ++i) {
    MlirOperation op = list.ops[i];
    ShardLowerBuilder b = shardLowerBuilderBefore(lowering, op);
    char *name = shardArenaFormat(lowering->arena, "shard.contraction.%zu", i);
    MlirValue operands[3];
    for (intptr_t k = 0; k < 3; ++k)
      operands[k] = mlirOperationGetOperand(op, k);
    MlirType type = mlirValueGetType(mlirOperationGetResult(op, 0));
    hidden->calls[i] = shardMakeRuntimeCall(&b, name, 1, &type, 3, operands);
    mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, 0),
                                  mlirOperationGetResult(hidden->calls[i], 0));
    mlirOperationRemoveFromParent(op);
  }
  return hidden;
}

void shardShowContractions(ShardLowering *lowering, ShardHidden *hidden) {
  // The passes between may have moved nothing but the calls' operands: find the calls by name.
  for (size_t i = 0; i < hidden->nOps; ++i) {
    MlirOperation op = hidden->contractions[i], call = hidden->calls[i];
    for (intptr_t k = 0; k < 3; ++k)
      mlirOperationSetOperand(op, k, mlirOperationGetOperand(call, k));
    mlirBlockInsertOwnedOperationBefore(mlirOperationGetBlock(call), call, op);
    mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(call, 0), mlirOperationGetResult(op, 0));
    MlirOperation declaration = shardModuleCallee(lowering->module, call);
    mlirOperationDestroy(call);
    mlirOperationDestroy(declaration);
  }
}
