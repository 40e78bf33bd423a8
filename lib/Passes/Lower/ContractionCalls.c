//===- ContractionCalls.c - Contractions as matrix products -------*- C -*-===//
// The loops of a contraction on buffers are sorted into batch, m, n and k; what walks memory alike
// is merged; the largest of each class goes to the matrix product of Gemm.c, the others are loops
// around it.
//===----------------------------------------------------------------------===//

#include "Gemm.h"
#include "Loops.h"

#include "../Core/Insert.h"

#include <inttypes.h>
#include <string.h>

bool shardIsContraction(MlirOperation op) {
  return !mlirAttributeIsNull(shardOpGetAttribute(op, "spmd.contraction"));
}

/// One loop, possibly several merged.
typedef struct Loop {
  int64_t size;
  int64_t strides[3]; // of A, B, C
} Loop;

typedef struct LoopClass {
  Loop loops[MAX_CONTRACTION_DIMS];
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
  int64_t sizes[MAX_CONTRACTION_DIMS] = {0}, strides[MAX_CONTRACTION_DIMS][3];
  bool present[MAX_CONTRACTION_DIMS][3];
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
  ShardLowerBuilder open[MAX_CONTRACTION_DIMS];
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
