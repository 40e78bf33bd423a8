//===- Loops.c - Loop nests from linalg on buffers -----------------*- C -*-===//
// A linalg.generic becomes scf.for over 64-bit integers and llvm.load/store through pointers that
// advance by constant strides (LoopNest.h).
//===----------------------------------------------------------------------===//

#include "LoopNest.h"

#include "../Analysis/Roll.h"

#include <assert.h>

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
// A linalg.generic
//===----------------------------------------------------------------------===//

static void emitLevel(ShardNest *nest, ShardLowerBuilder *b, intptr_t level,
                      const MlirValue *pointers) {
  ShardLowering *lowering = nest->lowering;
  MlirValue yielded[SHARD_NEST_MAX_OPERANDS];
  if (level == nest->nEmitted) {
    shardNestEmitPoint(nest, b, pointers, NULL, yielded);
    return;
  }
  if (level + 1 == nest->nEmitted) {
    shardNestEmitInnermost(nest, b, level, pointers);
    return;
  }
  intptr_t loop = nest->loopOf[level];
  MlirOperation forOp =
      shardMakeFor(b, shardMakeI64(b, 0), shardMakeI64(b, nest->emittedSizes[level]),
                   shardMakeI64(b, 1), 0, NULL);
  MlirBlock body = shardOpBody(forOp);
  ShardLowerBuilder inner = shardLowerBuilderAtEnd(lowering, body, b->location);
  MlirValue index = mlirBlockGetArgument(body, 0);
  nest->indices[loop] = index;
  MlirValue advanced[SHARD_NEST_MAX_OPERANDS];
  for (intptr_t i = 0; i < nest->nOperands; ++i)
    advanced[i] = shardNestAdvance(&inner, &nest->accesses[i], pointers[i], loop, index);
  emitLevel(nest, &inner, level + 1, advanced);
  shardMakeYield(&inner, 0, NULL);
  nest->indices[loop] = (MlirValue){NULL};
}

static MlirLogicalResult emitPart(ShardBuffers *buffers, MlirOperation op,
                                  const ShardNestParts *parts) {
  ShardLowering *lowering = buffers->lowering;
  ShardNest *nest = SHARD_ARENA_NEW(lowering->arena, ShardNest);
  nest->buffers = buffers;
  nest->lowering = lowering;
  nest->op = op;
  nest->parts = *parts;
  if (mlirLogicalResultIsFailure(shardNestRead(nest)))
    return mlirLogicalResultFailure();
  for (intptr_t i = 0; i < nest->nLoops; ++i)
    if (nest->sizes[i] == 0)
      return mlirLogicalResultSuccess();
  shardNestChooseLoops(nest);
  ShardLowerBuilder b = shardLowerBuilderBefore(lowering, op);
  MlirValue pointers[SHARD_NEST_MAX_OPERANDS];
  for (intptr_t i = 0; i < nest->nOperands; ++i) {
    const ShardNestAccess *access = &nest->accesses[i];
    pointers[i] = access->value;
    if (!access->isScalar && access->isLinear && access->offset)
      pointers[i] = shardMakeElementPointer(&b, access->value, shardMakeI64(&b, access->offset),
                                            access->element);
  }
  emitLevel(nest, &b, 0, pointers);
  return mlirLogicalResultSuccess();
}

/// The extent of a loop from an operand that it walks; -1 if there is none.
static int64_t extentOf(const ShardBuffers *buffers, MlirOperation op, intptr_t loop) {
  MlirAttribute maps = shardOpGetAttribute(op, "indexing_maps");
  for (intptr_t m = 0; m < mlirArrayAttrGetNumElements(maps); ++m) {
    MlirAffineMap map = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, m));
    MlirValue pointer;
    MlirType type;
    if (!shardBuffersGet(buffers, mlirOperationGetOperand(op, m), &pointer, &type))
      continue;
    for (intptr_t d = 0; d < mlirAffineMapGetNumResults(map); ++d) {
      MlirAffineExpr expr = mlirAffineMapGetResult(map, d);
      if (mlirAffineExprIsADim(expr) && mlirAffineDimExprGetPosition(expr) == loop)
        return mlirShapedTypeGetDimSize(type, d);
    }
  }
  return -1;
}

/// Where the part of a loop that begins at `begin` ends: at the next turn of an operand that is
/// read in turned order, or at the extent. 0 where no operand is so read.
static int64_t endOfPart(MlirOperation op, intptr_t loop, int64_t extent, int64_t begin) {
  MlirAttribute maps = shardOpGetAttribute(op, "indexing_maps");
  int64_t next = 0;
  for (intptr_t m = 0; m < mlirArrayAttrGetNumElements(maps); ++m) {
    MlirAffineMap map = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, m));
    for (intptr_t d = 0; d < mlirAffineMapGetNumResults(map); ++d) {
      ShardRoll roll;
      if (!shardRollRead(mlirAffineMapGetResult(map, d), &roll) || roll.loop != loop ||
          roll.extent != extent)
        continue;
      int64_t turn = extent - roll.shift, end = turn > begin ? turn : extent;
      next = !next || end < next ? end : next;
    }
  }
  return next;
}

/// One nest for each part of the loops from `loop` on.
static MlirLogicalResult emitParts(ShardBuffers *buffers, MlirOperation op, intptr_t loop,
                                   ShardNestParts *parts) {
  intptr_t nLoops = mlirArrayAttrGetNumElements(shardOpGetAttribute(op, "iterator_types"));
  int64_t extent = 0;
  for (; loop < nLoops && loop < SHARD_NEST_MAX_LOOPS; ++loop) {
    extent = extentOf(buffers, op, loop);
    if (extent > 0 && endOfPart(op, loop, extent, 0))
      break;
  }
  if (loop >= nLoops || loop >= SHARD_NEST_MAX_LOOPS)
    return emitPart(buffers, op, parts);
  parts->extents[loop] = extent;
  for (int64_t begin = 0, end; begin < extent; begin = end) {
    end = endOfPart(op, loop, extent, begin);
    parts->begins[loop] = begin;
    parts->lengths[loop] = end - begin;
    if (mlirLogicalResultIsFailure(emitParts(buffers, op, loop + 1, parts)))
      return mlirLogicalResultFailure();
  }
  parts->extents[loop] = parts->begins[loop] = 0;
  return mlirLogicalResultSuccess();
}

MlirLogicalResult shardEmitGenericLoops(ShardBuffers *buffers, MlirOperation op) {
  ShardNestParts parts = {{0}, {0}, {0}};
  return emitParts(buffers, op, 0, &parts);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

MlirLogicalResult shardEmitCopyLoops(ShardBuffers *buffers, MlirOperation before, MlirValue source,
                                     MlirValue destination) {
  ShardLowering *lowering = buffers->lowering;
  ShardNestAccess from = {0}, to = {0};
  MlirType fromType, toType;
  bool known = shardBuffersGet(buffers, source, &from.value, &fromType) &&
               shardBuffersGet(buffers, destination, &to.value, &toType);
  assert(known);
  (void)known;
  if (mlirValueEqual(from.value, to.value))
    return mlirLogicalResultSuccess();
  intptr_t rank = mlirShapedTypeGetRank(fromType);
  if (rank > SHARD_NEST_MAX_LOOPS || !shardMemrefGetStrides(fromType, from.strides) ||
      !shardMemrefGetStrides(toType, to.strides))
    return shardEmitError(before, "a copy between these layouts has no lowering");
  MlirType element = mlirShapedTypeGetElementType(fromType);
  from.element = to.element = element;
  from.isLinear = to.isLinear = true;
  // Merge what is contiguous in both; what is left innermost goes by memcpy.
  int64_t sizes[SHARD_NEST_MAX_LOOPS], fromStrides[SHARD_NEST_MAX_LOOPS],
      toStrides[SHARD_NEST_MAX_LOOPS];
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
  ShardLowerBuilder open[SHARD_NEST_MAX_LOOPS];
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
    MlirValue operands[] = {toPointer, fromPointer,
                            shardMakeI64(&b, sizes[n - 1] * shardTypeElementBytes(element))};
    ShardNamedAttribute attribute = {"isVolatile", mlirIntegerAttrGet(lowering->i1, 0)};
    shardMakeOp(&b, "llvm.intr.memcpy", 0, NULL, 3, operands, 1, &attribute);
  } else {
    shardMakeStore(&b, shardMakeLoad(&b, fromPointer, element), toPointer);
  }
  for (intptr_t i = nLoops; i-- > 0;)
    shardMakeYield(&open[i], 0, NULL);
  return mlirLogicalResultSuccess();
}
