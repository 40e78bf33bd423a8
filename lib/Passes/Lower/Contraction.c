//===- Contraction.c - Products of two operands summed over loops --*- C -*-===//
// On tensors: every contraction, named or generic, becomes a marked linalg.generic that reads
// through the transposes before it and, when its result starts from zero, starts from nothing.
// On buffers: its loops are sorted into batch, m, n and k; what walks memory alike is merged; the
// largest of each class goes to the matrix product of Gemm.c, the others are loops around it.
//===----------------------------------------------------------------------===//

#include "Gemm.h"
#include "Loops.h"

#include "../Core/Insert.h"

#include "mlir-c/Dialect/Linalg.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum { MAX_DIMS = 24 };

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
  int seen[MAX_DIMS] = {0};
  intptr_t nDims = 0;
  for (intptr_t i = 0; i < 3; ++i) {
    MlirType type = mlirValueGetType(mlirOperationGetOperand(op, i));
    MlirAffineMap map = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, i));
    nDims = mlirAffineMapGetNumDims(map);
    if (!mlirTypeIsARankedTensor(type) || nDims > MAX_DIMS || !isProjectedPermutation(map))
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
    int64_t permutation[MAX_DIMS];
    MlirValue source;
    while (i < 2 && matchTranspose(operands[i], &source, permutation)) {
      MlirAffineMap map = mlirAffineMapAttrGetValue(maps[i]);
      intptr_t rank = mlirAffineMapGetNumResults(map);
      MlirAffineExpr exprs[MAX_DIMS];
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
  MlirAttribute iterators[MAX_DIMS];
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
    MlirOperation declaration = shardModuleLookup(
        lowering->module, mlirFlatSymbolRefAttrGetValue(shardOpGetAttribute(call, "callee")));
    mlirOperationDestroy(call);
    mlirOperationDestroy(declaration);
  }
}

//===----------------------------------------------------------------------===//
// On buffers
//===----------------------------------------------------------------------===//

bool shardIsContraction(MlirOperation op) {
  return !mlirAttributeIsNull(shardOpGetAttribute(op, "spmd.contraction"));
}

/// One loop, possibly several merged.
typedef struct Loop {
  int64_t size;
  int64_t strides[3]; // of A, B, C
} Loop;

typedef struct LoopClass {
  Loop loops[MAX_DIMS];
  intptr_t nLoops;
} LoopClass;

enum { BATCH, M, N, K, N_CLASSES };

typedef struct Product {
  LoopClass classes[N_CLASSES];
  MlirType elements[3];
} Product;

/// Merges loops that all three values walk as one; the inner one has the smaller strides.
static void mergeLoops(LoopClass *loops) {
  for (bool merged = true; merged;) {
    merged = false;
    for (intptr_t outer = 0; outer < loops->nLoops && !merged; ++outer)
      for (intptr_t inner = 0; inner < loops->nLoops && !merged; ++inner) {
        Loop *o = &loops->loops[outer], *i = &loops->loops[inner];
        if (outer == inner)
          continue;
        bool fits = true;
        for (int v = 0; v < 3; ++v)
          fits &= o->strides[v] == i->strides[v] * i->size;
        if (!fits)
          continue;
        i->size *= o->size;
        *o = loops->loops[--loops->nLoops];
        merged = true;
      }
  }
}

/// Sorts the loops of a contraction whose operands have these types.
static MlirLogicalResult describeProduct(MlirOperation op, const MlirType *types,
                                         Product *product) {
  MlirAttribute maps = shardOpGetAttribute(op, "indexing_maps");
  memset(product, 0, sizeof(*product));
  int64_t sizes[MAX_DIMS] = {0}, strides[MAX_DIMS][3];
  bool present[MAX_DIMS][3];
  memset(strides, 0, sizeof(strides));
  memset(present, 0, sizeof(present));
  intptr_t nDims = 0;
  for (int v = 0; v < 3; ++v) {
    int64_t bufferStrides[32];
    if (!shardMemrefGetStrides(types[v], bufferStrides))
      return shardEmitError(op, "operand %d has no static layout", v);
    product->elements[v] = mlirShapedTypeGetElementType(types[v]);
    MlirAffineMap map = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, v));
    nDims = mlirAffineMapGetNumDims(map);
    for (intptr_t i = 0; i < mlirAffineMapGetNumResults(map); ++i) {
      intptr_t dim = mlirAffineDimExprGetPosition(mlirAffineMapGetResult(map, i));
      sizes[dim] = mlirShapedTypeGetDimSize(types[v], i);
      strides[dim][v] = bufferStrides[i];
      present[dim][v] = true;
    }
  }
  for (intptr_t dim = 0; dim < nDims; ++dim) {
    if (sizes[dim] == 1)
      continue;
    bool a = present[dim][0], b = present[dim][1], c = present[dim][2];
    LoopClass *loops = &product->classes[a && b && c ? BATCH : a && c ? M : b && c ? N : K];
    Loop *loop = &loops->loops[loops->nLoops++];
    loop->size = sizes[dim];
    for (int v = 0; v < 3; ++v)
      loop->strides[v] = present[dim][v] ? strides[dim][v] : 0;
  }
  for (int c = 0; c < N_CLASSES; ++c)
    mergeLoops(&product->classes[c]);
  return mlirLogicalResultSuccess();
}

/// Takes the loop to give to the matrix product: unit stride in C if there is one (n), else the
/// largest. A class without loops gives one step.
static Loop takeCore(LoopClass *loops, int preferUnitOf) {
  if (!loops->nLoops)
    return (Loop){.size = 1};
  intptr_t best = 0;
  for (intptr_t i = 1; i < loops->nLoops; ++i) {
    const Loop *candidate = &loops->loops[i], *current = &loops->loops[best];
    bool unit = preferUnitOf >= 0 && candidate->strides[preferUnitOf] == 1;
    bool currentUnit = preferUnitOf >= 0 && current->strides[preferUnitOf] == 1;
    if (unit != currentUnit ? unit : candidate->size > current->size)
      best = i;
  }
  Loop core = loops->loops[best];
  loops->loops[best] = loops->loops[--loops->nLoops];
  return core;
}

/// Contractions whose C has no unit stride along n swap A and B.
static bool wantsSwap(const Product *product) {
  const LoopClass *m = &product->classes[M], *n = &product->classes[N];
  bool unitM = false, unitN = n->nLoops == 0 && m->nLoops == 0;
  for (intptr_t i = 0; i < m->nLoops; ++i)
    unitM |= m->loops[i].strides[2] == 1;
  for (intptr_t i = 0; i < n->nLoops; ++i)
    unitN |= n->loops[i].strides[2] == 1;
  return unitM && !unitN;
}

static void swapOperands(Product *product) {
  LoopClass m = product->classes[M];
  product->classes[M] = product->classes[N];
  product->classes[N] = m;
  for (int c = 0; c < N_CLASSES; ++c)
    for (intptr_t i = 0; i < product->classes[c].nLoops; ++i) {
      Loop *loop = &product->classes[c].loops[i];
      int64_t a = loop->strides[0];
      loop->strides[0] = loop->strides[1];
      loop->strides[1] = a;
    }
  MlirType a = product->elements[0];
  product->elements[0] = product->elements[1];
  product->elements[1] = a;
}

/// The loops of `product` that the matrix product does; the others stay around it. Whether operands
/// A and B have changed places.
static bool takeCores(Product *product, Loop *m, Loop *n, Loop *k) {
  bool swapped = wantsSwap(product);
  if (swapped)
    swapOperands(product);
  *m = takeCore(&product->classes[M], -1);
  *n = takeCore(&product->classes[N], 2);
  *k = takeCore(&product->classes[K], -1);
  return swapped;
}

static ShardGemmScratch scratchOf(const ShardLowering *lowering, const Product *product,
                                  const Loop *m, const Loop *n, const Loop *k) {
  return shardGemmGetScratch(lowering, &(ShardGemmSizes){.b = product->elements[1],
                                                         .c = product->elements[2],
                                                         .m = m->size,
                                                         .n = n->size,
                                                         .k = k->size,
                                                         .columnB = n->strides[1],
                                                         .columnC = n->strides[2]});
}

int64_t shardContractionScratchBytes(ShardLowering *lowering, MlirOperation op) {
  MlirType types[3];
  Product product;
  for (intptr_t v = 0; v < 3; ++v)
    types[v] = mlirValueGetType(mlirOperationGetOperand(op, v));
  if (mlirLogicalResultIsFailure(describeProduct(op, types, &product)))
    return -1;
  Loop m, n, k;
  takeCores(&product, &m, &n, &k);
  return scratchOf(lowering, &product, &m, &n, &k).bytes;
}

MlirLogicalResult shardEmitContraction(ShardBuffers *buffers, MlirOperation op,
                                       MlirValue workspace) {
  ShardLowering *lowering = buffers->lowering;
  MlirType types[3];
  MlirValue pointers[3];
  for (intptr_t v = 0; v < 3; ++v)
    if (!shardBuffersGet(buffers, mlirOperationGetOperand(op, v), &pointers[v], &types[v]))
      return shardEmitError(op, "operand %" PRIdPTR " is no buffer", v);
  Product product;
  if (mlirLogicalResultIsFailure(describeProduct(op, types, &product)))
    return mlirLogicalResultFailure();
  Loop m, n, k;
  if (takeCores(&product, &m, &n, &k)) {
    MlirValue a = pointers[0];
    pointers[0] = pointers[1];
    pointers[1] = a;
  }
  bool zero = !mlirAttributeIsNull(shardOpGetAttribute(op, "spmd.zero"));
  ShardLowerBuilder b = shardLowerBuilderBefore(lowering, op);

  // Loops around the product: batch, then what is left of m and n, then of k.
  ShardLowerBuilder open[MAX_DIMS];
  intptr_t nOpen = 0;
  static const int order[] = {BATCH, M, N, K};
  MlirValue later = {NULL}; // a step of k but the first
  for (size_t c = 0; c < sizeof(order) / sizeof(order[0]); ++c) {
    const LoopClass *loops = &product.classes[order[c]];
    for (intptr_t i = 0; i < loops->nLoops; ++i) {
      const Loop *loop = &loops->loops[i];
      MlirOperation forOp = shardMakeFor(&b, shardMakeI64(&b, 0), shardMakeI64(&b, loop->size),
                                         shardMakeI64(&b, 1), 0, NULL);
      MlirBlock body = shardOpBody(forOp);
      b = open[nOpen++] = shardLowerBuilderAtEnd(lowering, body, b.location);
      MlirValue index = mlirBlockGetArgument(body, 0);
      for (int v = 0; v < 3; ++v)
        if (loop->strides[v])
          pointers[v] = shardMakeElementPointer(
              &b, pointers[v], shardMakeMul(&b, index, shardMakeI64(&b, loop->strides[v])),
              product.elements[v]);
      if (order[c] == K) {
        MlirValue operands[] = {index, shardMakeI64(&b, 0)};
        ShardNamedAttribute predicate = {"predicate", mlirIntegerAttrGet(lowering->i64, 1)}; // ne
        MlirValue notFirst = mlirOperationGetResult(
            shardMakeOp(&b, "arith.cmpi", 1, &lowering->i1, 2, operands, 1, &predicate), 0);
        MlirValue either[] = {later, notFirst};
        later = mlirValueIsNull(later) ? notFirst
                                       : shardMakeValue(&b, "arith.ori", lowering->i1, 2, either);
      }
    }
  }
  MlirValue accumulate =
      zero && !mlirValueIsNull(later)
          ? later
          : shardMakeConstant(&b, lowering->i1, mlirIntegerAttrGet(lowering->i1, zero ? 0 : 1));
  int64_t offset = 0;
  shardAttrGetI64(shardOpGetAttribute(op, "spmd.offset"), &offset);
  MlirValue scratch =
      shardMakeElementPointer(&b, workspace, shardMakeI64(&b, offset), lowering->i8);
  ShardGemmScratch needed = scratchOf(lowering, &product, &m, &n, &k);
  MlirValue tile =
      shardMakeElementPointer(&b, scratch, shardMakeI64(&b, needed.tileOffset), lowering->i8);
  MlirValue operands[] = {pointers[0],
                          shardMakeI64(&b, m.strides[0]),
                          shardMakeI64(&b, k.strides[0]),
                          pointers[1],
                          shardMakeI64(&b, k.strides[1]),
                          shardMakeI64(&b, n.strides[1]),
                          pointers[2],
                          shardMakeI64(&b, m.strides[2]),
                          shardMakeI64(&b, n.strides[2]),
                          shardMakeI64(&b, m.size),
                          shardMakeI64(&b, n.size),
                          shardMakeI64(&b, k.size),
                          shardMakeI64(&b, shardGemmBlockK(product.elements[2], k.size)),
                          accumulate,
                          scratch,
                          tile};
  const char *callee =
      shardGemmGet(lowering, product.elements[0], product.elements[1], product.elements[2]);
  shardMakeRuntimeCall(&b, callee, 0, NULL, 16, operands);
  while (nOpen > 0)
    shardMakeYield(&open[--nOpen], 0, NULL);
  return mlirLogicalResultSuccess();
}
