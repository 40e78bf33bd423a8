//===- Loops.c - Loop nests from linalg on buffers -----------------*- C -*-===//
// A linalg.generic becomes scf.for over 64-bit integers and llvm.load/store through pointers that
// advance by constant strides. Loops of one step vanish and loops that every operand walks
// contiguously are merged, so that LLVM's vectoriser sees long inner loops; parallel inner loops
// are annotated as such. A reduction that is innermost keeps its value in registers, and its
// combiner may be reassociated: the sum of a row is a vector sum.
//===----------------------------------------------------------------------===//

#include "Loops.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_LOOPS = 24, MAX_OPERANDS = 32 };

void shardBuffersSet(ShardBuffers *buffers, MlirValue memref, MlirValue pointer, MlirType type) {
  ShardArena *arena = buffers->lowering->arena;
  buffers->pointers = shardArenaGrow(arena, buffers->pointers, buffers->nBuffers,
                                     &buffers->capacity, buffers->nBuffers + 1, sizeof(MlirValue));
  buffers->types = shardArenaGrow(arena, buffers->types, buffers->nBuffers, &buffers->typeCapacity,
                                  buffers->nBuffers + 1, sizeof(MlirType));
  buffers->pointers[buffers->nBuffers] = pointer;
  buffers->types[buffers->nBuffers] = type;
  shardPointerMapSet(buffers->map, memref.ptr, (int64_t)buffers->nBuffers++);
}

bool shardBuffersGet(const ShardBuffers *buffers, MlirValue memref, MlirValue *outPointer,
                     MlirType *outType) {
  int64_t index;
  if (!shardPointerMapGet(buffers->map, memref.ptr, &index))
    return false;
  *outPointer = buffers->pointers[index];
  *outType = buffers->types[index];
  return true;
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

/// How an operand is walked.
typedef struct Access {
  bool isScalar;   // a value, not a buffer
  MlirValue value; // the scalar, or the buffer's pointer
  MlirType element;
  int64_t strides[MAX_LOOPS]; // elements a step of each loop
  int64_t offset;             // elements
  bool isLinear;              // else the index is computed at each step from:
  MlirAffineMap map;
  int64_t bufferStrides[MAX_LOOPS];
} Access;

typedef struct Nest {
  ShardBuffers *buffers;
  ShardLowering *lowering;
  MlirOperation op;
  intptr_t nLoops;
  int64_t sizes[MAX_LOOPS];
  bool isReduction[MAX_LOOPS];
  bool indexUsed[MAX_LOOPS]; // by linalg.index or a map that is not linear
  intptr_t nOperands, nInputs;
  Access accesses[MAX_OPERANDS];
  MlirBlock body;
  // The loops as emitted: in order, some merged.
  intptr_t nEmitted;
  intptr_t loopOf[MAX_LOOPS]; // emitted loop -> innermost of the loops merged into it
  int64_t emittedSizes[MAX_LOOPS];
  MlirValue indices[MAX_LOOPS]; // of the op's loops, i64; null: zero
} Nest;

/// Adds `scale` x `expr` to the access; false if it is not linear in the dims.
static bool addLinear(Access *access, MlirAffineExpr expr, int64_t scale) {
  if (mlirAffineExprIsADim(expr)) {
    access->strides[mlirAffineDimExprGetPosition(expr)] += scale;
    return true;
  }
  if (mlirAffineExprIsAConstant(expr)) {
    access->offset += scale * mlirAffineConstantExprGetValue(expr);
    return true;
  }
  if (mlirAffineExprIsAAdd(expr))
    return addLinear(access, mlirAffineBinaryOpExprGetLHS(expr), scale) &&
           addLinear(access, mlirAffineBinaryOpExprGetRHS(expr), scale);
  if (mlirAffineExprIsAMul(expr)) {
    MlirAffineExpr left = mlirAffineBinaryOpExprGetLHS(expr);
    MlirAffineExpr right = mlirAffineBinaryOpExprGetRHS(expr);
    if (mlirAffineExprIsAConstant(right))
      return addLinear(access, left, scale * mlirAffineConstantExprGetValue(right));
    if (mlirAffineExprIsAConstant(left))
      return addLinear(access, right, scale * mlirAffineConstantExprGetValue(left));
  }
  return false;
}

static void markDims(MlirAffineExpr expr, bool *used) {
  if (mlirAffineExprIsADim(expr))
    used[mlirAffineDimExprGetPosition(expr)] = true;
  else if (mlirAffineExprIsABinary(expr)) {
    markDims(mlirAffineBinaryOpExprGetLHS(expr), used);
    markDims(mlirAffineBinaryOpExprGetRHS(expr), used);
  }
}

static MlirLogicalResult noteIndexUse(void *user, MlirOperation op) {
  int64_t dim;
  if (shardOpIs(op, "linalg.index") &&
      shardAttrGetI64(shardOpGetAttribute(op, "dim"), &dim))
    ((bool *)user)[dim] = true;
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult describe(Nest *nest) {
  MlirOperation op = nest->op;
  MlirAttribute maps = shardOpGetAttribute(op, "indexing_maps");
  MlirAttribute iterators = shardOpGetAttribute(op, "iterator_types");
  MlirAttribute segments = shardOpGetAttribute(op, "operandSegmentSizes");
  nest->nLoops = mlirArrayAttrGetNumElements(iterators);
  nest->nOperands = mlirOperationGetNumOperands(op);
  nest->nInputs = mlirDenseI32ArrayGetElement(segments, 0);
  if (nest->nLoops > MAX_LOOPS || nest->nOperands > MAX_OPERANDS)
    return shardEmitError(op, "an op with more than %d loops or %d operands has no lowering",
                          MAX_LOOPS, MAX_OPERANDS);
  MlirAttribute reduction =
      shardParseAttribute(nest->lowering, "#linalg.iterator_type<reduction>");
  for (intptr_t i = 0; i < nest->nLoops; ++i) {
    nest->isReduction[i] = mlirAttributeEqual(mlirArrayAttrGetElement(iterators, i), reduction);
    nest->sizes[i] = -1;
  }
  nest->body = shardOpBody(op);
  shardWalk(op, "linalg.index", noteIndexUse, nest->indexUsed);

  for (intptr_t i = 0; i < nest->nOperands; ++i) {
    Access *access = &nest->accesses[i];
    MlirValue operand = mlirOperationGetOperand(op, i);
    MlirType type;
    if (!shardBuffersGet(nest->buffers, operand, &access->value, &type)) {
      access->isScalar = true;
      access->value = operand;
      access->isLinear = true;
      access->element = mlirValueGetType(operand);
      continue;
    }
    access->element = mlirShapedTypeGetElementType(type);
    if (!shardMemrefGetStrides(type, access->bufferStrides))
      return shardEmitError(op, "operand %" PRIdPTR " has no static layout", i);
    access->map = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, i));
    intptr_t rank = mlirAffineMapGetNumResults(access->map);
    access->isLinear = true;
    for (intptr_t d = 0; d < rank; ++d) {
      MlirAffineExpr expr = mlirAffineMapGetResult(access->map, d);
      access->isLinear &= addLinear(access, expr, access->bufferStrides[d]);
      if (mlirAffineExprIsADim(expr)) {
        intptr_t loop = mlirAffineDimExprGetPosition(expr);
        nest->sizes[loop] = mlirShapedTypeGetDimSize(type, d);
      }
    }
    if (!access->isLinear)
      for (intptr_t d = 0; d < rank; ++d)
        markDims(mlirAffineMapGetResult(access->map, d), nest->indexUsed);
  }
  for (intptr_t i = 0; i < nest->nLoops; ++i)
    if (nest->sizes[i] < 0)
      return shardEmitError(op, "the extent of loop %" PRIdPTR " does not follow from an operand", i);
  return mlirLogicalResultSuccess();
}

/// Whether loops `outer` and `inner` can be one.
static bool canMerge(const Nest *nest, intptr_t outer, intptr_t inner) {
  if (nest->isReduction[outer] != nest->isReduction[inner] || nest->indexUsed[outer] ||
      nest->indexUsed[inner])
    return false;
  for (intptr_t i = 0; i < nest->nOperands; ++i) {
    const Access *access = &nest->accesses[i];
    if (!access->isScalar &&
        access->strides[outer] != access->strides[inner] * nest->sizes[inner])
      return false;
  }
  return true;
}

static void chooseLoops(Nest *nest) {
  // Innermost first: merging a loop into the one inside keeps the inner stride.
  intptr_t kept[MAX_LOOPS], n = 0;
  for (intptr_t i = 0; i < nest->nLoops; ++i)
    if (nest->sizes[i] != 1)
      kept[n++] = i;
  nest->nEmitted = 0;
  for (intptr_t i = 0; i < n; ++i) {
    intptr_t last = nest->nEmitted - 1;
    if (last >= 0 && canMerge(nest, nest->loopOf[last], kept[i])) {
      nest->loopOf[last] = kept[i];
      // From now on the merged loop counts as one with the inner stride.
      nest->emittedSizes[last] *= nest->sizes[kept[i]];
      nest->sizes[kept[i]] = nest->emittedSizes[last];
      continue;
    }
    nest->loopOf[nest->nEmitted] = kept[i];
    nest->emittedSizes[nest->nEmitted++] = nest->sizes[kept[i]];
  }
}

//===----------------------------------------------------------------------===//
// Body
//===----------------------------------------------------------------------===//

static MlirValue buildAffine(ShardLowerBuilder *b, const Nest *nest, MlirAffineExpr expr) {
  if (mlirAffineExprIsADim(expr)) {
    MlirValue index = nest->indices[mlirAffineDimExprGetPosition(expr)];
    return mlirValueIsNull(index) ? shardMakeI64(b, 0) : index;
  }
  if (mlirAffineExprIsAConstant(expr))
    return shardMakeI64(b, mlirAffineConstantExprGetValue(expr));
  MlirValue operands[] = {buildAffine(b, nest, mlirAffineBinaryOpExprGetLHS(expr)),
                          buildAffine(b, nest, mlirAffineBinaryOpExprGetRHS(expr))};
  // Indices are not negative: truncating division is floor division.
  const char *name = mlirAffineExprIsAAdd(expr)        ? "arith.addi"
                     : mlirAffineExprIsAMul(expr)      ? "arith.muli"
                     : mlirAffineExprIsAMod(expr)      ? "arith.remui"
                     : mlirAffineExprIsAFloorDiv(expr) ? "arith.divui"
                                                       : "arith.ceildivui";
  return shardMakeValue(b, name, nest->lowering->i64, 2, operands);
}

static MlirValue elementPointer(ShardLowerBuilder *b, const Nest *nest, const Access *access,
                                MlirValue pointer) {
  if (access->isLinear)
    return pointer;
  MlirValue offset = shardMakeI64(b, 0);
  for (intptr_t d = 0; d < mlirAffineMapGetNumResults(access->map); ++d)
    offset = shardMakeAdd(
        b, offset,
        shardMakeMul(b, buildAffine(b, nest, mlirAffineMapGetResult(access->map, d)),
                      shardMakeI64(b, access->bufferStrides[d])));
  return shardMakeElementPointer(b, access->value, offset, access->element);
}

static bool valueIsUsed(MlirValue value) {
  return !mlirOpOperandIsNull(mlirValueGetFirstUse(value));
}

typedef struct IndexRewrite {
  ShardLowerBuilder *b;
  const Nest *nest;
} IndexRewrite;

static MlirLogicalResult rewriteIndex(void *user, MlirOperation op) {
  IndexRewrite *rewrite = user;
  int64_t dim;
  shardAttrGetI64(shardOpGetAttribute(op, "dim"), &dim);
  ShardLowerBuilder b = shardLowerBuilderBefore(rewrite->nest->lowering, op);
  MlirValue index = rewrite->nest->indices[dim];
  MlirValue value = mlirValueIsNull(index) ? shardMakeIndex(&b, 0)
                                           : shardMakeIndexCast(&b, index, b.lowering->index);
  mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, 0), value);
  return mlirLogicalResultSuccess();
}

/// Clones the body with these values of its arguments (null: unused). Writes the yielded values.
static void emitBody(Nest *nest, ShardLowerBuilder *b, const MlirValue *arguments, MlirValue *yielded) {
  ShardArena *arena = nest->lowering->arena;
  size_t nOps = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(nest->body); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op))
    ++nOps;
  ShardPointerMap *map = shardPointerMapCreate(arena, nOps + (size_t)nest->nOperands);
  size_t capacity = 0, nValues = 0;
  MlirValue *values = NULL;
#define REMEMBER(from, to)                                                                         \
  do {                                                                                             \
    values = shardArenaGrow(arena, values, nValues, &capacity, nValues + 1, sizeof(*values));     \
    values[nValues] = (to);                                                                        \
    shardPointerMapSet(map, (from).ptr, (int64_t)nValues++);                                       \
  } while (0)
  for (intptr_t i = 0; i < nest->nOperands; ++i)
    if (!mlirValueIsNull(arguments[i]))
      REMEMBER(mlirBlockGetArgument(nest->body, i), arguments[i]);
  for (MlirOperation op = mlirBlockGetFirstOperation(nest->body); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op)) {
    if (shardOpIs(op, "linalg.yield")) {
      for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i) {
        MlirValue value = mlirOperationGetOperand(op, i);
        int64_t index;
        yielded[i] = shardPointerMapGet(map, value.ptr, &index) ? values[index] : value;
      }
      break;
    }
    if (shardOpIs(op, "linalg.index")) {
      int64_t dim;
      shardAttrGetI64(shardOpGetAttribute(op, "dim"), &dim);
      MlirValue index = nest->indices[dim];
      MlirValue value = mlirValueIsNull(index)
                            ? shardMakeIndex(b, 0)
                            : shardMakeIndexCast(b, index, nest->lowering->index);
      REMEMBER(mlirOperationGetResult(op, 0), value);
      continue;
    }
    MlirOperation clone = shardOpCloneMapped(op, b->block, b->before, map, values);
    for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i)
      REMEMBER(mlirOperationGetResult(op, i), mlirOperationGetResult(clone, i));
    if (mlirOperationGetNumRegions(op)) {
      IndexRewrite rewrite = {b, nest};
      shardWalk(clone, "linalg.index", rewriteIndex, &rewrite);
    }
  }
#undef REMEMBER
}

//===----------------------------------------------------------------------===//
// Nest
//===----------------------------------------------------------------------===//

static MlirValue advance(ShardLowerBuilder *b, const Access *access, MlirValue pointer, intptr_t loop,
                         MlirValue index) {
  int64_t stride = access->strides[loop];
  if (access->isScalar || !access->isLinear || !stride)
    return pointer;
  MlirValue elements = stride == 1 ? index : shardMakeMul(b, index, shardMakeI64(b, stride));
  return shardMakeElementPointer(b, pointer, elements, access->element);
}

/// Allows the op that combines the carried value to be reassociated.
static void allowReassociation(MlirOperation op) {
  if (!shardOpIs(op, "arith.addf") && !shardOpIs(op, "arith.mulf"))
    return;
  MlirAttribute flags =
      mlirAttributeParseGet(mlirOperationGetContext(op),
                            mlirStringRefCreateFromCString("#arith.fastmath<reassoc,contract>"));
  shardOpSetAttribute(op, "fastmath", flags);
}

static void emitPoint(Nest *nest, ShardLowerBuilder *b, const MlirValue *pointers,
                      const MlirValue *carried, MlirValue *yielded) {
  MlirValue arguments[MAX_OPERANDS], places[MAX_OPERANDS];
  for (intptr_t i = 0; i < nest->nOperands; ++i) {
    const Access *access = &nest->accesses[i];
    arguments[i] = (MlirValue){NULL};
    places[i] = access->isScalar ? (MlirValue){NULL}
                                 : elementPointer(b, nest, access, pointers[i]);
    bool isOutput = i >= nest->nInputs;
    if (isOutput && carried)
      arguments[i] = carried[i - nest->nInputs];
    else if (!valueIsUsed(mlirBlockGetArgument(nest->body, i)))
      continue;
    else
      arguments[i] =
          access->isScalar ? access->value : shardMakeLoad(b, places[i], access->element);
  }
  emitBody(nest, b, arguments, yielded);
  if (!carried)
    for (intptr_t i = nest->nInputs; i < nest->nOperands; ++i)
      shardMakeStore(b, yielded[i - nest->nInputs], places[i]);
}

static void emitLevel(Nest *nest, ShardLowerBuilder *b, intptr_t level, const MlirValue *pointers) {
  ShardLowering *lowering = nest->lowering;
  intptr_t nOutputs = nest->nOperands - nest->nInputs;
  MlirValue yielded[MAX_OPERANDS];
  if (level == nest->nEmitted) {
    emitPoint(nest, b, pointers, NULL, yielded);
    return;
  }
  intptr_t loop = nest->loopOf[level];
  bool innermost = level + 1 == nest->nEmitted;
  bool inRegisters = innermost && nest->isReduction[loop] && nOutputs <= 8;
  for (intptr_t i = nest->nInputs; i < nest->nOperands; ++i)
    inRegisters &= !nest->accesses[i].isScalar && nest->accesses[i].isLinear &&
                   nest->accesses[i].strides[loop] == 0;
  MlirValue zero = shardMakeI64(b, 0), one = shardMakeI64(b, 1);
  MlirValue count = shardMakeI64(b, nest->emittedSizes[level]);
  MlirValue carried[8];
  if (inRegisters)
    for (intptr_t i = 0; i < nOutputs; ++i) {
      const Access *access = &nest->accesses[nest->nInputs + i];
      carried[i] = shardMakeLoad(b, pointers[nest->nInputs + i], access->element);
    }
  MlirOperation forOp =
      shardMakeFor(b, zero, count, one, inRegisters ? nOutputs : 0, carried);
  MlirBlock body = shardOpBody(forOp);
  ShardLowerBuilder inner = shardLowerBuilderAtEnd(lowering, body, b->location);
  MlirValue index = mlirBlockGetArgument(body, 0);
  nest->indices[loop] = index;
  MlirValue advanced[MAX_OPERANDS];
  for (intptr_t i = 0; i < nest->nOperands; ++i)
    advanced[i] = advance(&inner, &nest->accesses[i], pointers[i], loop, index);
  if (!inRegisters) {
    emitLevel(nest, &inner, level + 1, advanced);
    shardMakeYield(&inner, 0, NULL);
    nest->indices[loop] = (MlirValue){NULL};
    return;
  }
  MlirValue state[8] = {{NULL}};
  for (intptr_t i = 0; i < nOutputs; ++i)
    state[i] = mlirBlockGetArgument(body, 1 + i);
  emitPoint(nest, &inner, advanced, state, yielded);
  for (intptr_t i = 0; i < nOutputs; ++i)
    if (mlirValueIsAOpResult(yielded[i])) {
      MlirOperation combiner = mlirOpResultGetOwner(yielded[i]);
      for (intptr_t k = 0; k < mlirOperationGetNumOperands(combiner); ++k)
        if (mlirValueEqual(mlirOperationGetOperand(combiner, k), state[i]))
          allowReassociation(combiner);
    }
  shardMakeYield(&inner, nOutputs, yielded);
  nest->indices[loop] = (MlirValue){NULL};
  for (intptr_t i = 0; i < nOutputs; ++i)
    shardMakeStore(b, mlirOperationGetResult(forOp, i), pointers[nest->nInputs + i]);
}

MlirLogicalResult shardEmitGenericLoops(ShardBuffers *buffers, MlirOperation op) {
  ShardLowering *lowering = buffers->lowering;
  Nest *nest = SHARD_ARENA_NEW(lowering->arena, Nest);
  nest->buffers = buffers;
  nest->lowering = lowering;
  nest->op = op;
  if (mlirLogicalResultIsFailure(describe(nest)))
    return mlirLogicalResultFailure();
  for (intptr_t i = 0; i < nest->nLoops; ++i)
    if (nest->sizes[i] == 0)
      return mlirLogicalResultSuccess();
  chooseLoops(nest);
  ShardLowerBuilder b = shardLowerBuilderBefore(lowering, op);
  MlirValue pointers[MAX_OPERANDS];
  for (intptr_t i = 0; i < nest->nOperands; ++i) {
    const Access *access = &nest->accesses[i];
    pointers[i] = access->value;
    if (!access->isScalar && access->isLinear && access->offset)
      pointers[i] = shardMakeElementPointer(&b, access->value, shardMakeI64(&b, access->offset),
                                             access->element);
  }
  emitLevel(nest, &b, 0, pointers);
  return mlirLogicalResultSuccess();
}

MlirLogicalResult shardEmitCopyLoops(ShardBuffers *buffers, MlirOperation before, MlirValue source,
                                     MlirValue destination) {
  ShardLowering *lowering = buffers->lowering;
  Access from = {0}, to = {0};
  MlirType fromType, toType;
  bool known = shardBuffersGet(buffers, source, &from.value, &fromType) &&
               shardBuffersGet(buffers, destination, &to.value, &toType);
  assert(known);
  (void)known;
  if (mlirValueEqual(from.value, to.value))
    return mlirLogicalResultSuccess();
  intptr_t rank = mlirShapedTypeGetRank(fromType);
  if (rank > MAX_LOOPS || !shardMemrefGetStrides(fromType, from.strides) ||
      !shardMemrefGetStrides(toType, to.strides))
    return shardEmitError(before, "a copy between these layouts has no lowering");
  MlirType element = mlirShapedTypeGetElementType(fromType);
  from.element = to.element = element;
  from.isLinear = to.isLinear = true;
  // Merge what is contiguous in both; what is left innermost goes by memcpy.
  int64_t sizes[MAX_LOOPS], fromStrides[MAX_LOOPS], toStrides[MAX_LOOPS];
  intptr_t n = 0;
  for (intptr_t i = 0; i < rank; ++i) {
    int64_t size = mlirShapedTypeGetDimSize(fromType, i);
    if (size == 0)
      return mlirLogicalResultSuccess();
    if (size == 1)
      continue;
    if (n && fromStrides[n - 1] == from.strides[i] * size &&
        toStrides[n - 1] == to.strides[i] * size) {
      sizes[n - 1] *= size;
    } else {
      sizes[n++] = size;
    }
    fromStrides[n - 1] = from.strides[i];
    toStrides[n - 1] = to.strides[i];
  }
  ShardLowerBuilder outer = shardLowerBuilderBefore(lowering, before), b = outer;
  ShardLowerBuilder open[MAX_LOOPS];
  MlirValue fromPointer = from.value, toPointer = to.value;
  bool contiguous = n && fromStrides[n - 1] == 1 && toStrides[n - 1] == 1;
  intptr_t nLoops = contiguous ? n - 1 : n;
  for (intptr_t i = 0; i < nLoops; ++i) {
    MlirOperation forOp = shardMakeFor(&b, shardMakeI64(&b, 0), shardMakeI64(&b, sizes[i]),
                                        shardMakeI64(&b, 1), 0, NULL);
    MlirBlock body = shardOpBody(forOp);
    b = open[i] = shardLowerBuilderAtEnd(lowering, body, b.location);
    MlirValue index = mlirBlockGetArgument(body, 0);
    fromPointer = shardMakeElementPointer(
        &b, fromPointer, shardMakeMul(&b, index, shardMakeI64(&b, fromStrides[i])), element);
    toPointer = shardMakeElementPointer(
        &b, toPointer, shardMakeMul(&b, index, shardMakeI64(&b, toStrides[i])), element);
  }
  if (contiguous) {
    MlirValue operands[] = {
        toPointer, fromPointer,
        shardMakeI64(&b, sizes[n - 1] * shardTypeElementBytes(element))};
    ShardNamedAttribute attribute = {
        "isVolatile", mlirIntegerAttrGet(lowering->i1, 0)};
    shardMakeOp(&b, "llvm.intr.memcpy", 0, NULL, 3, operands, 1, &attribute);
  } else {
    shardMakeStore(&b, shardMakeLoad(&b, fromPointer, element), toPointer);
  }
  for (intptr_t i = nLoops; i-- > 0;)
    shardMakeYield(&open[i], 0, NULL);
  return mlirLogicalResultSuccess();
}
