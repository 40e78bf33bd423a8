//===- LoopVectors.c - A linalg.generic's body on vectors ----------*- C -*-===//
#include "LoopNest.h"

#include <string.h>

enum { MAX_WIDTH = 64 };

MlirType shardVectorOf(MlirType element, int64_t width) {
  return mlirVectorTypeGet(1, &width, element);
}

bool shardOpHasVectorForm(MlirOperation op) {
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
  if (shardNameHasDialect(name, "arith"))
    return !shardDivisionMayFail(op); // a lane cannot fail alone, nor is it divided faster
  if (shardOpIs(op, "math.fpowi")) {  // by a constant; see lowerPower
    MlirOperation exponent = shardValueDefiningOp(mlirOperationGetOperand(op, 1));
    return !mlirOperationIsNull(exponent) && shardOpIs(exponent, "arith.constant");
  }
  if (!shardNameHasDialect(name, "math"))
    return false;
  for (size_t i = 0; i < sizeof(math) / sizeof(math[0]); ++i)
    if (shardStringIs((MlirStringRef){name.data + 5, name.length - 5}, math[i])) {
      // erf and tanh of f64 are libm's.
      return !mlirTypeIsAF64(mlirValueGetType(mlirOperationGetOperand(op, 0))) ||
             (strcmp(math[i], "erf") && strcmp(math[i], "tanh") && strcmp(math[i], "exp"));
    }
  return false;
}

//===----------------------------------------------------------------------===//
// Combiners
//===----------------------------------------------------------------------===//

MlirOperation shardNestGetCombiner(const ShardNest *nest, intptr_t i) {
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

MlirAttribute shardCombinerGetIdentity(MlirOperation combiner, MlirType type) {
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

/// Allows the op that combines the carried value to be reassociated.
static void allowReassociation(MlirOperation op) {
  if (!shardOpIs(op, "arith.addf") && !shardOpIs(op, "arith.mulf"))
    return;
  MlirAttribute flags =
      mlirAttributeParseGet(mlirOperationGetContext(op),
                            mlirStringRefCreateFromCString("#arith.fastmath<reassoc,contract>"));
  shardOpSetAttribute(op, "fastmath", flags);
}

static MlirOperation insertClone(ShardLowerBuilder *b, MlirOperation op) {
  MlirOperation clone = mlirOperationClone(op);
  if (mlirOperationIsNull(b->before))
    mlirBlockAppendOwnedOperation(b->block, clone);
  else
    mlirBlockInsertOwnedOperationBefore(b->block, b->before, clone);
  return clone;
}

MlirValue shardMakeCombination(ShardLowerBuilder *b, MlirOperation combiner, MlirValue left,
                               MlirValue right) {
  MlirOperation op = insertClone(b, combiner);
  MlirValue operands[] = {left, right};
  mlirOperationSetOperands(op, 2, operands);
  mlirValueSetType(mlirOperationGetResult(op, 0), mlirValueGetType(left));
  allowReassociation(op);
  return mlirOperationGetResult(op, 0);
}

/// Elements [first, first + n) of the vector.
static MlirValue shuffle(ShardLowerBuilder *b, MlirValue vector, int64_t n, int64_t first) {
  int64_t mask[MAX_WIDTH];
  for (int64_t i = 0; i < n; ++i)
    mask[i] = first + i;
  MlirValue operands[] = {vector, vector};
  MlirType type = shardVectorOf(mlirShapedTypeGetElementType(mlirValueGetType(vector)), n);
  ShardNamedAttribute attribute = {"mask", mlirDenseI64ArrayGet(b->lowering->context, n, mask)};
  return mlirOperationGetResult(
      shardMakeOp(b, "vector.shuffle", 1, &type, 2, operands, 1, &attribute), 0);
}

MlirValue shardMakeVectorReduction(ShardLowerBuilder *b, MlirOperation combiner, MlirValue vector,
                                   int64_t width) {
  for (; width > 1; width /= 2)
    vector = shardMakeCombination(b, combiner, shuffle(b, vector, width / 2, 0),
                                  shuffle(b, vector, width / 2, width / 2));
  ShardNamedAttribute attribute = {
      "static_position", mlirDenseI64ArrayGet(b->lowering->context, 1, (const int64_t[]){0})};
  MlirType element = mlirShapedTypeGetElementType(mlirValueGetType(vector));
  return mlirOperationGetResult(
      shardMakeOp(b, "vector.extract", 1, &element, 1, &vector, 1, &attribute), 0);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

MlirValue shardMakeVectorLoad(ShardLowerBuilder *b, MlirValue pointer, MlirType element,
                              int64_t width) {
  ShardLowering *lowering = b->lowering;
  bool isIndex = mlirTypeIsAIndex(element), isBit = mlirTypeEqual(element, lowering->i1);
  MlirType stored = isIndex ? lowering->i64 : isBit ? lowering->i8 : element;
  MlirType type = shardVectorOf(stored, width);
  ShardNamedAttribute alignment = {"alignment",
                                   shardAttrI64(lowering->context, shardTypeElementBytes(stored))};
  MlirValue value =
      mlirOperationGetResult(shardMakeOp(b, "llvm.load", 1, &type, 1, &pointer, 1, &alignment), 0);
  if (isIndex)
    return shardMakeValue(b, "arith.index_cast", shardVectorOf(element, width), 1, &value);
  if (isBit)
    return shardMakeValue(b, "arith.trunci", shardVectorOf(element, width), 1, &value);
  return value;
}

void shardMakeVectorStore(ShardLowerBuilder *b, MlirValue value, MlirValue pointer) {
  ShardLowering *lowering = b->lowering;
  MlirType element = mlirShapedTypeGetElementType(mlirValueGetType(value));
  int64_t width = mlirShapedTypeGetDimSize(mlirValueGetType(value), 0);
  if (mlirTypeIsAIndex(element)) {
    value = shardMakeValue(b, "arith.index_cast", shardVectorOf(lowering->i64, width), 1, &value);
    element = lowering->i64;
  } else if (mlirTypeEqual(element, lowering->i1)) {
    value = shardMakeValue(b, "arith.extui", shardVectorOf(lowering->i8, width), 1, &value);
    element = lowering->i8;
  }
  MlirValue operands[] = {value, pointer};
  ShardNamedAttribute alignment = {"alignment",
                                   shardAttrI64(lowering->context, shardTypeElementBytes(element))};
  shardMakeOp(b, "llvm.store", 0, NULL, 2, operands, 1, &alignment);
}

//===----------------------------------------------------------------------===//
// The body
//===----------------------------------------------------------------------===//

static MlirValue broadcast(ShardLowerBuilder *b, MlirValue scalar, int64_t width) {
  return shardMakeValue(b, "vector.broadcast", shardVectorOf(mlirValueGetType(scalar), width), 1,
                        &scalar);
}

/// What a linalg.index of the body is on `width` steps from `index` of the loop on.
static MlirValue placeOfIndex(const ShardNest *nest, ShardLowerBuilder *b, MlirOperation op,
                              intptr_t loop, int64_t width, MlirValue index) {
  ShardLowering *lowering = nest->lowering;
  int64_t dim;
  shardAttrGetI64(shardOpGetAttribute(op, "dim"), &dim);
  if (dim != loop)
    return shardMakeIndexCast(b, shardNestPlaceInLoop(b, nest, dim, nest->indices[dim]),
                              lowering->index);
  MlirValue at = shardNestPlaceInLoop(b, nest, dim, index);
  int64_t lanes[MAX_WIDTH];
  for (int64_t i = 0; i < width; ++i)
    lanes[i] = i;
  MlirType vector = shardVectorOf(lowering->i64, width);
  MlirValue scalars = broadcast(b, at, width);
  MlirValue steps =
      shardMakeConstant(b, vector, mlirDenseElementsAttrInt64Get(vector, width, lanes));
  return shardMakeIndexCast(b, shardMakeAdd(b, scalars, steps),
                            shardVectorOf(lowering->index, width));
}

/// The operands of an op of the body as they are on vectors; whether one of them is a vector.
static bool vectorOperands(ShardLowerBuilder *b, MlirOperation op, const ShardPointerMap *map,
                           int64_t width, MlirValue *operands) {
  intptr_t n = mlirOperationGetNumOperands(op);
  bool anyVector = false;
  for (intptr_t i = 0; i < n; ++i) {
    operands[i] = shardValueMapGet(map, mlirOperationGetOperand(op, i));
    anyVector |= mlirTypeIsAVector(mlirValueGetType(operands[i]));
  }
  // The exponent of fpowi stays what it is: a constant.
  intptr_t nVectors = shardOpIs(op, "math.fpowi") ? 1 : n;
  for (intptr_t i = 0; i < nVectors; ++i)
    if ((anyVector || shardOpIs(op, "linalg.yield")) &&
        !mlirTypeIsAVector(mlirValueGetType(operands[i])))
      operands[i] = broadcast(b, operands[i], width);
  return anyVector;
}

void shardNestEmitVectorBody(ShardNest *nest, ShardLowerBuilder *b, intptr_t loop, int64_t width,
                             MlirValue index, const MlirValue *arguments, MlirValue *yielded) {
  ShardPointerMap *map = shardNestMapArguments(nest, arguments);
  MlirOperation op = mlirBlockGetFirstOperation(nest->body);
  for (; !shardOpIs(op, "linalg.yield"); op = mlirOperationGetNextInBlock(op)) {
    MlirValue result = mlirOperationGetResult(op, 0);
    if (shardOpIs(op, "linalg.index")) {
      shardValueMapSet(map, result, placeOfIndex(nest, b, op, loop, width, index));
      continue;
    }
    MlirValue operands[SHARD_NEST_MAX_OPERANDS];
    bool anyVector = vectorOperands(b, op, map, width, operands);
    MlirOperation clone = insertClone(b, op);
    mlirOperationSetOperands(clone, mlirOperationGetNumOperands(op), operands);
    MlirValue cloned = mlirOperationGetResult(clone, 0);
    if (anyVector)
      mlirValueSetType(cloned, shardVectorOf(mlirValueGetType(result), width));
    shardValueMapSet(map, result, cloned);
  }
  vectorOperands(b, op, map, width, yielded);
}
