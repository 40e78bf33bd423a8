//===- Mutation.h - Changing what a pass emitted ------------------*- C -*-===//
#ifndef SHARD_MUTANTS_MUTATION_H
#define SHARD_MUTANTS_MUTATION_H

#include "../../lib/Passes/Core/IR.h"
#include "../../lib/Passes/Core/Mutant.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPS = 4096 };

typedef struct Mutation {
  MlirOperation module, grid;
  MlirContext context;
  MlirOperation ops[MAX_OPS]; // all of the module's, in order
  int nOps;
  int nDone; // places changed
} Mutation;

/// A mistake, made at every op of these names (with blanks between) where it can be.
typedef struct Mutant {
  const char *name, *ops;
  void (*mutate)(Mutation *m, MlirOperation op);
} Mutant;

extern const Mutant collectiveMutants[], placeMutants[],
    wasteMutants[]; // each ends with a null name

static inline MlirValue resultOf(MlirOperation op) { return mlirOperationGetResult(op, 0); }
static inline MlirValue operandOf(MlirOperation op) { return mlirOperationGetOperand(op, 0); }
static inline MlirType typeOf(MlirValue value) { return mlirValueGetType(value); }
static inline bool sameType(MlirValue a, MlirValue b) {
  return mlirTypeEqual(typeOf(a), typeOf(b));
}

static inline MlirOperation definition(MlirValue value) {
  return mlirValueIsAOpResult(value) ? mlirOpResultGetOwner(value) : (MlirOperation){NULL};
}

static inline bool isDefinedBy(MlirValue value, const char *name) {
  MlirOperation op = definition(value);
  return !mlirOperationIsNull(op) && shardOpIs(op, name);
}

static inline MlirAttribute attribute(const Mutation *m, const char *text) {
  return mlirAttributeParseGet(m->context, mlirStringRefCreateFromCString(text));
}

static inline void set(const Mutation *m, MlirOperation op, const char *name, const char *text) {
  shardOpSetAttribute(op, name, attribute(m, text));
}

static inline int64_t gridSize(const Mutation *m, int64_t axis) {
  return mlirDenseI64ArrayGetElement(shardOpGetAttribute(m->grid, "shape"), axis);
}

static inline intptr_t gridRank(const Mutation *m) {
  return mlirDenseArrayGetNumElements(shardOpGetAttribute(m->grid, "shape"));
}

static inline intptr_t axisCount(MlirOperation op) {
  return mlirDenseArrayGetNumElements(shardOpGetAttribute(op, "grid_axes"));
}

static inline int16_t axisOf(MlirOperation op, intptr_t i) {
  return mlirDenseI16ArrayGetElement(shardOpGetAttribute(op, "grid_axes"), i);
}

static inline void setAxes(const Mutation *m, MlirOperation op, intptr_t n, const int16_t *axes) {
  shardOpSetAttribute(op, "grid_axes", mlirDenseI16ArrayGet(m->context, n, axes));
}

static inline bool isSum(MlirOperation op) {
  MlirAttribute kind = shardOpGetAttribute(op, "reduction");
  return mlirAttributeIsNull(kind) ||
         mlirAttributeEqual(
             kind, mlirAttributeParseGet(mlirAttributeGetContext(kind),
                                         mlirStringRefCreateFromCString("#shard<partial sum>")));
}

static inline bool isFloat(MlirValue value) {
  MlirType type = typeOf(value);
  return mlirTypeIsAFloat(mlirTypeIsAShaped(type) ? mlirShapedTypeGetElementType(type) : type);
}

/// A new op behind `after`, with one result.
static inline MlirValue make(MlirOperation after, const char *name, MlirType type,
                             intptr_t nOperands, const MlirValue *operands, intptr_t nAttributes,
                             const ShardNamedAttribute *attributes) {
  return resultOf(shardOpCreate(mlirOperationGetBlock(after), mlirOperationGetNextInBlock(after),
                                mlirOperationGetLocation(after), name, 1, &type, nOperands,
                                operands, nAttributes, attributes, 0, NULL));
}

/// Users of `old` but `except` take `replacement`.
static inline void replaceUses(MlirValue old, MlirValue replacement, MlirOperation except) {
  mlirValueReplaceAllUsesOfWith(old, replacement);
  for (intptr_t i = 0; !mlirOperationIsNull(except) && i < mlirOperationGetNumOperands(except); ++i)
    if (mlirValueEqual(mlirOperationGetOperand(except, i), replacement))
      mlirOperationSetOperand(except, i, old);
}

/// Takes `op` away; what used its result uses `replacement`.
static inline void bypass(Mutation *m, MlirOperation op, MlirValue replacement) {
  mlirValueReplaceAllUsesOfWith(resultOf(op), replacement);
  mlirOperationDestroy(op);
  ++m->nDone;
}

/// The same op again, with other operands or not, behind `after`.
static inline MlirOperation repeat(MlirOperation op, MlirOperation after) {
  MlirOperation copy = mlirOperationClone(op);
  mlirBlockInsertOwnedOperationAfter(mlirOperationGetBlock(after), after, copy);
  return copy;
}

static inline void swapOperands(Mutation *m, MlirOperation op, intptr_t i, intptr_t k) {
  MlirValue a = mlirOperationGetOperand(op, i), b = mlirOperationGetOperand(op, k);
  if (mlirValueEqual(a, b) || !sameType(a, b))
    return;
  mlirOperationSetOperand(op, i, b);
  mlirOperationSetOperand(op, k, a);
  ++m->nDone;
}

static inline MlirValue indexConstant(const Mutation *m, MlirOperation after, int64_t value) {
  ShardNamedAttribute number = {"value", mlirIntegerAttrGet(mlirIndexTypeGet(m->context), value)};
  return make(after, "arith.constant", mlirIndexTypeGet(m->context), 0, NULL, 1, &number);
}

/// The collective's result or operand, moved around by `blocks` of `n` along dimension `d`:
/// [a | b] becomes [b | a].
static inline MlirValue rotate(const Mutation *m, MlirOperation after, MlirValue value, int64_t d,
                               int64_t by) {
  MlirType type = typeOf(value);
  int64_t rank = mlirShapedTypeGetRank(type), shape[16], size = mlirShapedTypeGetDimSize(type, d);
  int64_t offsets[2][16] = {{0}}, sizes[2][16], strides[16];
  for (int64_t i = 0; i < rank; ++i) {
    shape[i] = sizes[0][i] = sizes[1][i] = mlirShapedTypeGetDimSize(type, i);
    strides[i] = 1;
  }
  offsets[0][d] = by, sizes[0][d] = size - by, sizes[1][d] = by;
  int32_t segments[4] = {1, 0, 0, 0};
  MlirValue parts[2];
  for (int k = 0; k < 2; ++k) {
    ShardNamedAttribute attributes[] = {
        {"static_offsets", mlirDenseI64ArrayGet(m->context, rank, offsets[k])},
        {"static_sizes", mlirDenseI64ArrayGet(m->context, rank, sizes[k])},
        {"static_strides", mlirDenseI64ArrayGet(m->context, rank, strides)},
        {"operandSegmentSizes", mlirDenseI32ArrayGet(m->context, 4, segments)}};
    parts[k] = make(after, "tensor.extract_slice", shardTensorWithShape(type, rank, sizes[k]), 1,
                    &value, 4, attributes);
    after = definition(parts[k]);
  }
  (void)shape;
  ShardNamedAttribute dim = {"dim", shardAttrI64(m->context, d)};
  return make(after, "tensor.concat", type, 2, parts, 1, &dim);
}

static inline int64_t dimAttribute(MlirOperation op, const char *name) {
  int64_t d = 0;
  shardAttrGetI64(shardOpGetAttribute(op, name), &d);
  return d;
}

#endif // SHARD_MUTANTS_MUTATION_H
