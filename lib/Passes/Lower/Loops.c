//===- Loops.c - Loop nests from linalg on buffers -----------------*- C -*-===//
// A linalg.generic becomes scf.for over 64-bit integers and llvm.load/store through pointers that
// advance by constant strides. Loops of one step vanish and loops that every operand walks
// contiguously are merged, so that LLVM's vectoriser sees long inner loops; parallel inner loops
// are annotated as such. A reduction that is innermost keeps its value in registers, and its
// combiner may be reassociated: the sum of a row is a vector sum.
//===----------------------------------------------------------------------===//

#include "Loops.h"

#include "../Analysis/Roll.h"

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

/// What is walked of loops along which an operand is read in turned order (Roll.h): from one turn
/// to the next, so that all is linear.
typedef struct Parts {
  int64_t begins[MAX_LOOPS], lengths[MAX_LOOPS];
  int64_t extents[MAX_LOOPS]; // of the whole loop; 0: the loop has no parts
} Parts;

typedef struct Nest {
  ShardBuffers *buffers;
  ShardLowering *lowering;
  MlirOperation op;
  intptr_t nLoops;
  int64_t sizes[MAX_LOOPS];
  bool isReduction[MAX_LOOPS];
  bool indexUsed[MAX_LOOPS]; // by linalg.index or a map that is not linear
  Parts parts;
  intptr_t nOperands, nInputs;
  Access accesses[MAX_OPERANDS];
  MlirBlock body;
  // The loops as emitted: in order, some merged.
  intptr_t nEmitted;
  intptr_t loopOf[MAX_LOOPS]; // emitted loop -> innermost of the loops merged into it
  int64_t emittedSizes[MAX_LOOPS];
  MlirValue indices[MAX_LOOPS]; // of the op's loops, i64; null: zero
} Nest;

/// Adds `scale` x `expr` to the access; false if it is not linear in the dims. Within a part of a
/// loop, reading in turned order is.
static bool addLinear(const Nest *nest, Access *access, MlirAffineExpr expr, int64_t scale) {
  ShardRoll roll;
  if (shardRollRead(expr, &roll) && roll.extent == nest->parts.extents[roll.loop]) {
    int64_t begin = nest->parts.begins[roll.loop];
    access->strides[roll.loop] += scale;
    access->offset += scale * ((begin + roll.shift) % roll.extent - begin);
    return true;
  }
  if (mlirAffineExprIsADim(expr)) {
    access->strides[mlirAffineDimExprGetPosition(expr)] += scale;
    return true;
  }
  if (mlirAffineExprIsAConstant(expr)) {
    access->offset += scale * mlirAffineConstantExprGetValue(expr);
    return true;
  }
  if (mlirAffineExprIsAAdd(expr))
    return addLinear(nest, access, mlirAffineBinaryOpExprGetLHS(expr), scale) &&
           addLinear(nest, access, mlirAffineBinaryOpExprGetRHS(expr), scale);
  if (mlirAffineExprIsAMul(expr)) {
    MlirAffineExpr left = mlirAffineBinaryOpExprGetLHS(expr);
    MlirAffineExpr right = mlirAffineBinaryOpExprGetRHS(expr);
    if (mlirAffineExprIsAConstant(right))
      return addLinear(nest, access, left, scale * mlirAffineConstantExprGetValue(right));
    if (mlirAffineExprIsAConstant(left))
      return addLinear(nest, access, right, scale * mlirAffineConstantExprGetValue(left));
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
  if (shardOpIs(op, "linalg.index") && shardAttrGetI64(shardOpGetAttribute(op, "dim"), &dim))
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
  MlirAttribute reduction = shardParseAttribute(nest->lowering, "#linalg.iterator_type<reduction>");
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
    if (mlirShapedTypeGetRank(type) > MAX_LOOPS)
      return shardEmitError(op, "an operand of more than %d dimensions has no lowering", MAX_LOOPS);
    if (!shardMemrefGetStrides(type, access->bufferStrides))
      return shardEmitError(op, "operand %" PRIdPTR " has no static layout", i);
    access->map = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, i));
    intptr_t rank = mlirAffineMapGetNumResults(access->map);
    access->isLinear = true;
    for (intptr_t d = 0; d < rank; ++d) {
      MlirAffineExpr expr = mlirAffineMapGetResult(access->map, d);
      access->isLinear &= addLinear(nest, access, expr, access->bufferStrides[d]);
      if (mlirAffineExprIsADim(expr)) {
        intptr_t loop = mlirAffineDimExprGetPosition(expr);
        nest->sizes[loop] = mlirShapedTypeGetDimSize(type, d);
      }
    }
    for (intptr_t l = 0; l < nest->nLoops; ++l)
      access->offset += nest->parts.begins[l] * access->strides[l];
    if (!access->isLinear)
      for (intptr_t d = 0; d < rank; ++d)
        markDims(mlirAffineMapGetResult(access->map, d), nest->indexUsed);
  }
  for (intptr_t i = 0; i < nest->nLoops; ++i)
    if (nest->parts.extents[i])
      nest->sizes[i] = nest->parts.lengths[i];
  for (intptr_t i = 0; i < nest->nLoops; ++i)
    if (nest->sizes[i] < 0)
      return shardEmitError(op, "the extent of loop %" PRIdPTR " does not follow from an operand",
                            i);
  return mlirLogicalResultSuccess();
}

/// Whether loops `outer` and `inner` can be one.
static bool canMerge(const Nest *nest, intptr_t outer, intptr_t inner) {
  if (nest->isReduction[outer] != nest->isReduction[inner] || nest->indexUsed[outer] ||
      nest->indexUsed[inner])
    return false;
  for (intptr_t i = 0; i < nest->nOperands; ++i) {
    const Access *access = &nest->accesses[i];
    if (!access->isScalar && access->strides[outer] != access->strides[inner] * nest->sizes[inner])
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

/// The index of a loop of the op at `at`, which is null where the loop has one step.
static MlirValue placeInLoop(ShardLowerBuilder *b, const Nest *nest, intptr_t loop, MlirValue at) {
  int64_t begin = nest->parts.begins[loop];
  if (mlirValueIsNull(at))
    return shardMakeI64(b, begin);
  return begin ? shardMakeAdd(b, at, shardMakeI64(b, begin)) : at;
}

static MlirValue buildAffine(ShardLowerBuilder *b, const Nest *nest, MlirAffineExpr expr) {
  if (mlirAffineExprIsADim(expr)) {
    intptr_t loop = mlirAffineDimExprGetPosition(expr);
    return placeInLoop(b, nest, loop, nest->indices[loop]);
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
    offset =
        shardMakeAdd(b, offset,
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
  MlirValue index = placeInLoop(&b, rewrite->nest, dim, rewrite->nest->indices[dim]);
  MlirValue value = shardMakeIndexCast(&b, index, b.lowering->index);
  mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, 0), value);
  return mlirLogicalResultSuccess();
}

/// Clones the body with these values of its arguments (null: unused). Writes the yielded values.
static void emitBody(Nest *nest, ShardLowerBuilder *b, const MlirValue *arguments,
                     MlirValue *yielded) {
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
    values = shardArenaGrow(arena, values, nValues, &capacity, nValues + 1, sizeof(*values));      \
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
      MlirValue index = placeInLoop(b, nest, dim, nest->indices[dim]);
      MlirValue value = shardMakeIndexCast(b, index, nest->lowering->index);
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

static MlirValue advance(ShardLowerBuilder *b, const Access *access, MlirValue pointer,
                         intptr_t loop, MlirValue index) {
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
    places[i] = access->isScalar ? (MlirValue){NULL} : elementPointer(b, nest, access, pointers[i]);
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

//===----------------------------------------------------------------------===//
// The innermost loop
//===----------------------------------------------------------------------===//

static MlirType vectorOf(MlirType element, int64_t width) {
  return mlirVectorTypeGet(1, &width, element);
}

/// Ops of a body that exist on vectors, element by element.
static bool opHasVectorForm(MlirOperation op) {
  static const char *const math[] = {"absf",  "absi", "ceil",  "copysign", "cos",   "erf",
                                     "exp",   "exp2", "floor", "fma",      "log",   "log10",
                                     "log1p", "log2", "powf",  "round",    "rsqrt", "roundeven",
                                     "sin",   "sqrt", "tanh",  "trunc"};
  if (mlirOperationGetNumRegions(op) || mlirOperationGetNumResults(op) != 1)
    return false;
  for (intptr_t i = -1; i < mlirOperationGetNumOperands(op); ++i) {
    MlirValue value = i < 0 ? mlirOperationGetResult(op, 0) : mlirOperationGetOperand(op, i);
    if (shardElementNumber(mlirValueGetType(value)) < 0)
      return false;
  }
  MlirStringRef name = shardOpGetName(op);
  if (name.length > 6 && !strncmp(name.data, "arith.", 6))
    return true;
  if (shardOpIs(op, "math.fpowi")) // by a constant; see lowerPower
    return mlirValueIsAOpResult(mlirOperationGetOperand(op, 1)) &&
           shardOpIs(mlirOpResultGetOwner(mlirOperationGetOperand(op, 1)), "arith.constant");
  if (name.length < 6 || strncmp(name.data, "math.", 5))
    return false;
  for (size_t i = 0; i < sizeof(math) / sizeof(math[0]); ++i)
    if (shardStringIs((MlirStringRef){name.data + 5, name.length - 5}, math[i])) {
      // erf and tanh of f64 are libm's.
      return !mlirTypeIsAF64(mlirValueGetType(mlirOperationGetOperand(op, 0))) ||
             (strcmp(math[i], "erf") && strcmp(math[i], "tanh") && strcmp(math[i], "exp"));
    }
  return false;
}

/// The op that combines output `i` with what the step gives; null if it is none that may be
/// reordered, or the output is used otherwise.
static MlirOperation combinerOf(const Nest *nest, intptr_t i) {
  static const char *const names[] = {"addf",    "mulf",  "maximumf", "minimumf", "maxnumf",
                                      "minnumf", "addi",  "muli",     "andi",     "ori",
                                      "xori",    "maxsi", "minsi"};
  MlirOperation none = {NULL};
  MlirValue state = mlirBlockGetArgument(nest->body, nest->nInputs + i);
  MlirValue yielded = mlirOperationGetOperand(mlirBlockGetTerminator(nest->body), i);
  MlirOpOperand use = mlirValueGetFirstUse(state);
  if (mlirOpOperandIsNull(use) || !mlirOpOperandIsNull(mlirOpOperandGetNextUse(use)) ||
      !mlirValueIsAOpResult(yielded))
    return none;
  MlirOperation op = mlirOpOperandGetOwner(use);
  if (!mlirOperationEqual(op, mlirOpResultGetOwner(yielded)))
    return none;
  // The combination itself is used by the yield alone.
  MlirOpOperand result = mlirValueGetFirstUse(yielded);
  if (!mlirOpOperandIsNull(mlirOpOperandGetNextUse(result)))
    return none;
  MlirStringRef name = shardOpGetName(op);
  for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); ++k)
    if (name.length > 6 && shardStringIs((MlirStringRef){name.data + 6, name.length - 6}, names[k]))
      return op;
  return none;
}

static MlirAttribute identityOf(MlirOperation combiner, MlirType type) {
  MlirStringRef full = shardOpGetName(combiner);
  MlirStringRef name = {full.data + 6, full.length - 6};
  MlirContext context = mlirOperationGetContext(combiner);
  if (mlirTypeIsAInteger(type)) {
    unsigned width = mlirIntegerTypeGetWidth(type);
    int64_t least = width >= 64 ? INT64_MIN : -((int64_t)1 << (width - 1));
    int64_t value = shardStringIs(name, "muli")    ? 1
                    : shardStringIs(name, "andi")  ? -1
                    : shardStringIs(name, "maxsi") ? least
                    : shardStringIs(name, "minsi") ? -(least + 1)
                                                   : 0;
    return mlirIntegerAttrGet(type, value);
  }
  double infinity = __builtin_inf();
  double value = shardStringIs(name, "mulf")                                         ? 1
                 : shardStringIs(name, "maximumf") || shardStringIs(name, "maxnumf") ? -infinity
                 : shardStringIs(name, "minimumf") || shardStringIs(name, "minnumf") ? infinity
                                                                                     : -0.0;
  return mlirFloatAttrDoubleGet(context, type, value);
}

/// combiner(left, right) on any vectors or scalars of its type.
static MlirValue combine(ShardLowerBuilder *b, MlirOperation combiner, MlirValue left,
                         MlirValue right) {
  MlirOperation op = mlirOperationClone(combiner);
  mlirOperationSetOperand(op, 0, left);
  mlirOperationSetOperand(op, 1, right);
  mlirValueSetType(mlirOperationGetResult(op, 0), mlirValueGetType(left));
  allowReassociation(op);
  if (mlirOperationIsNull(b->before))
    mlirBlockAppendOwnedOperation(b->block, op);
  else
    mlirBlockInsertOwnedOperationBefore(b->block, b->before, op);
  return mlirOperationGetResult(op, 0);
}

static MlirValue broadcast(ShardLowerBuilder *b, MlirValue scalar, int64_t width) {
  return shardMakeValue(b, "vector.broadcast", vectorOf(mlirValueGetType(scalar), width), 1,
                        &scalar);
}

/// `left` and `right` of `width` elements: elements from[0..n).
static MlirValue shuffle(ShardLowerBuilder *b, MlirValue vector, int64_t n, int64_t first) {
  int64_t mask[64];
  for (int64_t i = 0; i < n; ++i)
    mask[i] = first + i;
  MlirValue operands[] = {vector, vector};
  MlirType type = vectorOf(mlirShapedTypeGetElementType(mlirValueGetType(vector)), n);
  ShardNamedAttribute attribute = {"mask", mlirDenseI64ArrayGet(b->lowering->context, n, mask)};
  return mlirOperationGetResult(
      shardMakeOp(b, "vector.shuffle", 1, &type, 2, operands, 1, &attribute), 0);
}

/// The combination of a vector's elements, by halves.
static MlirValue reduceVector(ShardLowerBuilder *b, MlirOperation combiner, MlirValue vector,
                              int64_t width) {
  for (; width > 1; width /= 2)
    vector = combine(b, combiner, shuffle(b, vector, width / 2, 0),
                     shuffle(b, vector, width / 2, width / 2));
  ShardNamedAttribute attribute = {
      "static_position", mlirDenseI64ArrayGet(b->lowering->context, 1, (const int64_t[]){0})};
  MlirType element = mlirShapedTypeGetElementType(mlirValueGetType(vector));
  return mlirOperationGetResult(
      shardMakeOp(b, "vector.extract", 1, &element, 1, &vector, 1, &attribute), 0);
}

static MlirValue loadVector(ShardLowerBuilder *b, MlirValue pointer, MlirType element,
                            int64_t width) {
  ShardLowering *lowering = b->lowering;
  bool isIndex = mlirTypeIsAIndex(element), isBit = mlirTypeEqual(element, lowering->i1);
  MlirType stored = isIndex ? lowering->i64 : isBit ? lowering->i8 : element;
  MlirType type = vectorOf(stored, width);
  ShardNamedAttribute alignment = {"alignment",
                                   shardAttrI64(lowering->context, shardTypeElementBytes(stored))};
  MlirValue value =
      mlirOperationGetResult(shardMakeOp(b, "llvm.load", 1, &type, 1, &pointer, 1, &alignment), 0);
  if (isIndex)
    return shardMakeValue(b, "arith.index_cast", vectorOf(element, width), 1, &value);
  if (isBit)
    return shardMakeValue(b, "arith.trunci", vectorOf(element, width), 1, &value);
  return value;
}

static void storeVector(ShardLowerBuilder *b, MlirValue value, MlirValue pointer, int64_t width) {
  ShardLowering *lowering = b->lowering;
  MlirType element = mlirShapedTypeGetElementType(mlirValueGetType(value));
  if (mlirTypeIsAIndex(element)) {
    value = shardMakeValue(b, "arith.index_cast", vectorOf(lowering->i64, width), 1, &value);
    element = lowering->i64;
  } else if (mlirTypeEqual(element, lowering->i1)) {
    value = shardMakeValue(b, "arith.extui", vectorOf(lowering->i8, width), 1, &value);
    element = lowering->i8;
  }
  MlirValue operands[] = {value, pointer};
  ShardNamedAttribute alignment = {"alignment",
                                   shardAttrI64(lowering->context, shardTypeElementBytes(element))};
  shardMakeOp(b, "llvm.store", 0, NULL, 2, operands, 1, &alignment);
}

/// The body on vectors of `width` along the loop at `index`. Values that do not depend on that loop
/// stay scalars until they meet a vector.
static void emitVectorBody(Nest *nest, ShardLowerBuilder *b, intptr_t loop, int64_t width,
                           MlirValue index, const MlirValue *arguments, MlirValue *yielded) {
  ShardLowering *lowering = nest->lowering;
  ShardPointerMap *map = shardPointerMapCreate(lowering->arena, 64);
  size_t capacity = 0, nValues = 0;
  MlirValue *values = NULL;
#define REMEMBER(from, to)                                                                         \
  do {                                                                                             \
    values =                                                                                       \
        shardArenaGrow(lowering->arena, values, nValues, &capacity, nValues + 1, sizeof(*values)); \
    values[nValues] = (to);                                                                        \
    shardPointerMapSet(map, (from).ptr, (int64_t)nValues++);                                       \
  } while (0)
  for (intptr_t i = 0; i < nest->nOperands; ++i)
    if (!mlirValueIsNull(arguments[i]))
      REMEMBER(mlirBlockGetArgument(nest->body, i), arguments[i]);
  for (MlirOperation op = mlirBlockGetFirstOperation(nest->body); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op)) {
    intptr_t n = mlirOperationGetNumOperands(op);
    if (shardOpIs(op, "linalg.index")) {
      int64_t dim;
      shardAttrGetI64(shardOpGetAttribute(op, "dim"), &dim);
      MlirValue at = placeInLoop(b, nest, dim, dim == loop ? index : nest->indices[dim]);
      MlirType type = lowering->index;
      if (dim == loop) {
        int64_t lanes[64];
        for (int64_t i = 0; i < width; ++i)
          lanes[i] = i;
        MlirType vector = vectorOf(lowering->i64, width);
        MlirValue parts[] = {
            broadcast(b, at, width),
            shardMakeConstant(b, vector, mlirDenseElementsAttrInt64Get(vector, width, lanes))};
        at = shardMakeValue(b, "arith.addi", vector, 2, parts);
        type = vectorOf(type, width);
      }
      MlirValue value = shardMakeIndexCast(b, at, type);
      REMEMBER(mlirOperationGetResult(op, 0), value);
      continue;
    }
    MlirValue operands[8];
    bool anyVector = false;
    for (intptr_t i = 0; i < n && i < 8; ++i) {
      int64_t place;
      operands[i] = mlirOperationGetOperand(op, i);
      if (shardPointerMapGet(map, operands[i].ptr, &place))
        operands[i] = values[place];
      anyVector |= mlirTypeIsAVector(mlirValueGetType(operands[i]));
    }
    bool isYield = shardOpIs(op, "linalg.yield");
    // The exponent of fpowi stays what it is: a constant.
    intptr_t nVectors = shardOpIs(op, "math.fpowi") ? 1 : n;
    for (intptr_t i = 0; i < nVectors; ++i)
      if ((anyVector || isYield) && !mlirTypeIsAVector(mlirValueGetType(operands[i])))
        operands[i] = broadcast(b, operands[i], width);
    if (isYield) {
      memcpy(yielded, operands, (size_t)n * sizeof(MlirValue));
      break;
    }
    MlirOperation clone = mlirOperationClone(op);
    for (intptr_t i = 0; i < n; ++i)
      mlirOperationSetOperand(clone, i, operands[i]);
    MlirValue result = mlirOperationGetResult(clone, 0);
    if (anyVector)
      mlirValueSetType(result, vectorOf(mlirValueGetType(result), width));
    if (mlirOperationIsNull(b->before))
      mlirBlockAppendOwnedOperation(b->block, clone);
    else
      mlirBlockInsertOwnedOperationBefore(b->block, b->before, clone);
    REMEMBER(mlirOperationGetResult(op, 0), result);
  }
#undef REMEMBER
}

typedef struct Inner {
  Nest *nest;
  intptr_t loop;
  int64_t size;
  bool isReduction; // outputs stay in registers
  intptr_t nOutputs;
  MlirOperation combiners[8];
} Inner;

/// One step of vectors of `width` at `index`. For a reduction `state` is updated.
static void emitVectorStep(Inner *inner, ShardLowerBuilder *b, int64_t width, MlirValue index,
                           const MlirValue *pointers, MlirValue *state) {
  Nest *nest = inner->nest;
  MlirValue arguments[MAX_OPERANDS], places[MAX_OPERANDS], yielded[MAX_OPERANDS];
  for (intptr_t i = 0; i < nest->nOperands; ++i) {
    const Access *access = &nest->accesses[i];
    bool isOutput = i >= nest->nInputs;
    arguments[i] = (MlirValue){NULL};
    if (isOutput && inner->isReduction) {
      arguments[i] = state[i - nest->nInputs];
      continue;
    }
    if (!access->isScalar)
      places[i] = advance(b, access, pointers[i], inner->loop, index);
    if (!valueIsUsed(mlirBlockGetArgument(nest->body, i)))
      continue;
    arguments[i] = access->isScalar               ? access->value
                   : access->strides[inner->loop] ? loadVector(b, places[i], access->element, width)
                                                  : shardMakeLoad(b, places[i], access->element);
  }
  emitVectorBody(nest, b, inner->loop, width, index, arguments, yielded);
  for (intptr_t i = 0; i < inner->nOutputs; ++i)
    if (inner->isReduction)
      state[i] = yielded[i];
    else
      storeVector(b, yielded[i], places[nest->nInputs + i], width);
}

/// Steps [from, to) by `width` x `unroll`, each of the `unroll` parts with a state of its own.
static void emitVectorLoop(Inner *inner, ShardLowerBuilder *b, int64_t from, int64_t to,
                           int64_t width, int64_t unroll, const MlirValue *pointers,
                           MlirValue *state) {
  intptr_t nState = inner->isReduction ? inner->nOutputs * unroll : 0;
  if (to - from == width * unroll) {
    for (int64_t u = 0; u < unroll; ++u)
      emitVectorStep(inner, b, width, shardMakeI64(b, from + u * width), pointers,
                     state + u * inner->nOutputs);
    return;
  }
  MlirOperation forOp = shardMakeFor(b, shardMakeI64(b, from), shardMakeI64(b, to),
                                     shardMakeI64(b, width * unroll), nState, state);
  MlirBlock body = shardOpBody(forOp);
  ShardLowerBuilder in = shardLowerBuilderAtEnd(b->lowering, body, b->location);
  MlirValue index = mlirBlockGetArgument(body, 0), inState[8] = {{NULL}};
  for (intptr_t i = 0; i < nState; ++i)
    inState[i] = mlirBlockGetArgument(body, 1 + i);
  for (int64_t u = 0; u < unroll; ++u)
    emitVectorStep(inner, &in, width,
                   u ? shardMakeAdd(&in, index, shardMakeI64(&in, u * width)) : index, pointers,
                   inState + u * inner->nOutputs);
  shardMakeYield(&in, nState, inState);
  for (intptr_t i = 0; i < nState; ++i)
    state[i] = mlirOperationGetResult(forOp, i);
}

/// Steps [from, to) one by one.
static void emitScalarLoop(Inner *inner, ShardLowerBuilder *b, int64_t from, int64_t to,
                           const MlirValue *pointers, MlirValue *state) {
  Nest *nest = inner->nest;
  intptr_t nState = inner->isReduction ? inner->nOutputs : 0;
  MlirOperation forOp = shardMakeFor(b, shardMakeI64(b, from), shardMakeI64(b, to),
                                     shardMakeI64(b, 1), nState, state);
  MlirBlock body = shardOpBody(forOp);
  ShardLowerBuilder in = shardLowerBuilderAtEnd(b->lowering, body, b->location);
  MlirValue index = mlirBlockGetArgument(body, 0);
  nest->indices[inner->loop] = index;
  MlirValue advanced[MAX_OPERANDS], inState[8] = {{NULL}}, yielded[MAX_OPERANDS];
  for (intptr_t i = 0; i < nest->nOperands; ++i)
    advanced[i] = advance(&in, &nest->accesses[i], pointers[i], inner->loop, index);
  for (intptr_t i = 0; i < nState; ++i)
    inState[i] = mlirBlockGetArgument(body, 1 + i);
  emitPoint(nest, &in, advanced, inner->isReduction ? inState : NULL, yielded);
  shardMakeYield(&in, nState, yielded);
  nest->indices[inner->loop] = (MlirValue){NULL};
  for (intptr_t i = 0; i < nState; ++i)
    state[i] = mlirOperationGetResult(forOp, i);
}

/// Whether vectors along the loop are possible.
static bool canUseVectors(Inner *inner) {
  Nest *nest = inner->nest;
  if (inner->nOutputs > 8)
    return false;
  if (nest->isReduction[inner->loop] && !inner->isReduction)
    return false;
  for (intptr_t i = 0; i < nest->nOperands; ++i) {
    const Access *access = &nest->accesses[i];
    if (access->isScalar)
      continue;
    int64_t stride = access->strides[inner->loop];
    bool isOutput = i >= nest->nInputs;
    if (!access->isLinear || shardElementNumber(access->element) < 0 ||
        (isOutput && !inner->isReduction ? stride != 1 : stride != 0 && stride != 1))
      return false;
  }
  for (MlirOperation op = mlirBlockGetFirstOperation(nest->body); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op))
    if (!shardOpIs(op, "linalg.yield") && !shardOpIs(op, "linalg.index") && !opHasVectorForm(op))
      return false;
  if (inner->isReduction)
    for (intptr_t i = 0; i < inner->nOutputs; ++i) {
      inner->combiners[i] = combinerOf(nest, i);
      if (mlirOperationIsNull(inner->combiners[i]))
        return false;
    }
  return true;
}

static int64_t bodySize(const Nest *nest) {
  int64_t n = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(nest->body); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op))
    ++n;
  return n;
}

/// Combines the vectors of `state` into the scalars.
static void fold(Inner *inner, ShardLowerBuilder *b, int64_t width, int64_t unroll,
                 MlirValue *state, MlirValue *scalars) {
  for (intptr_t i = 0; i < inner->nOutputs; ++i) {
    MlirValue vector = state[i];
    for (int64_t u = 1; u < unroll; ++u)
      vector = combine(b, inner->combiners[i], vector, state[u * inner->nOutputs + i]);
    scalars[i] = combine(b, inner->combiners[i], scalars[i],
                         reduceVector(b, inner->combiners[i], vector, width));
  }
}

static void makeIdentities(Inner *inner, ShardLowerBuilder *b, int64_t width, int64_t unroll,
                           MlirValue *state) {
  for (int64_t u = 0; u < unroll; ++u)
    for (intptr_t i = 0; i < inner->nOutputs; ++i) {
      MlirType type = inner->nest->accesses[inner->nest->nInputs + i].element;
      MlirType vector = vectorOf(type, width);
      state[u * inner->nOutputs + i] = shardMakeConstant(
          b, vector, mlirDenseElementsAttrSplatGet(vector, identityOf(inner->combiners[i], type)));
    }
}

static void emitInnermost(Nest *nest, ShardLowerBuilder *b, intptr_t level,
                          const MlirValue *pointers) {
  Inner inner = {.nest = nest,
                 .loop = nest->loopOf[level],
                 .size = nest->emittedSizes[level],
                 .nOutputs = nest->nOperands - nest->nInputs};
  inner.isReduction = nest->isReduction[inner.loop] && inner.nOutputs <= 8;
  for (intptr_t i = nest->nInputs; i < nest->nOperands; ++i)
    inner.isReduction &= !nest->accesses[i].isScalar && nest->accesses[i].isLinear &&
                         nest->accesses[i].strides[inner.loop] == 0;
  MlirValue scalars[8] = {{NULL}}, state[8];
  if (inner.isReduction)
    for (intptr_t i = 0; i < inner.nOutputs; ++i)
      scalars[i] =
          shardMakeLoad(b, pointers[nest->nInputs + i], nest->accesses[nest->nInputs + i].element);
  int64_t at = 0;
  if (canUseVectors(&inner)) {
    int64_t widest = nest->lowering->target.vectorBytes / 4;
    // A short reduction waits for its adder: several sums at once.
    int64_t unroll =
        inner.isReduction && inner.nOutputs <= 2 && bodySize(nest) <= 6 && inner.size >= 8 * widest
            ? 4
            : 1;
    for (int64_t width = widest; width >= 4; width /= 2) {
      int64_t part = width == widest ? unroll : 1;
      int64_t to = at + (inner.size - at) / (width * part) * (width * part);
      if (to == at) {
        if (part > 1) {
          unroll = 1;
          width *= 2;
        }
        continue;
      }
      if (inner.isReduction)
        makeIdentities(&inner, b, width, part, state);
      emitVectorLoop(&inner, b, at, to, width, part, pointers, state);
      if (inner.isReduction)
        fold(&inner, b, width, part, state, scalars);
      at = to;
      if (part > 1) { // the rest, one vector at a time
        unroll = 1;
        width *= 2;
      }
    }
  }
  if (at < inner.size)
    emitScalarLoop(&inner, b, at, inner.size, pointers, scalars);
  if (inner.isReduction)
    for (intptr_t i = 0; i < inner.nOutputs; ++i)
      shardMakeStore(b, scalars[i], pointers[nest->nInputs + i]);
}

static void emitLevel(Nest *nest, ShardLowerBuilder *b, intptr_t level, const MlirValue *pointers) {
  ShardLowering *lowering = nest->lowering;
  MlirValue yielded[MAX_OPERANDS];
  if (level == nest->nEmitted) {
    emitPoint(nest, b, pointers, NULL, yielded);
    return;
  }
  if (level + 1 == nest->nEmitted) {
    emitInnermost(nest, b, level, pointers);
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
  MlirValue advanced[MAX_OPERANDS];
  for (intptr_t i = 0; i < nest->nOperands; ++i)
    advanced[i] = advance(&inner, &nest->accesses[i], pointers[i], loop, index);
  emitLevel(nest, &inner, level + 1, advanced);
  shardMakeYield(&inner, 0, NULL);
  nest->indices[loop] = (MlirValue){NULL};
}

static MlirLogicalResult emitPart(ShardBuffers *buffers, MlirOperation op, const Parts *parts) {
  ShardLowering *lowering = buffers->lowering;
  Nest *nest = SHARD_ARENA_NEW(lowering->arena, Nest);
  nest->buffers = buffers;
  nest->lowering = lowering;
  nest->op = op;
  nest->parts = *parts;
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
                                   Parts *parts) {
  intptr_t nLoops = mlirArrayAttrGetNumElements(shardOpGetAttribute(op, "iterator_types"));
  int64_t extent = 0;
  for (; loop < nLoops && loop < MAX_LOOPS; ++loop) {
    extent = extentOf(buffers, op, loop);
    if (extent > 0 && endOfPart(op, loop, extent, 0))
      break;
  }
  if (loop >= nLoops || loop >= MAX_LOOPS)
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
  Parts parts = {{0}, {0}, {0}};
  return emitParts(buffers, op, 0, &parts);
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
