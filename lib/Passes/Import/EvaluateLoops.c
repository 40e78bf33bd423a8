//===- EvaluateLoops.c - Scalars of a linalg op's body ------------*- C -*-===//
#include "EvaluateLoops.h"

#include "ImportParts.h"
#include "IntegerOps.h"

#include "mlir-c/AffineExpr.h"
#include "mlir-c/BuiltinTypes.h"

#include <string.h>

static const int64_t maxWork = INT64_C(1) << 28; // elements computed in all

bool shardEvaluatorSpend(ShardEvaluator *evaluator, int64_t count) {
  evaluator->work += count;
  return count >= 0 && count <= SHARD_EVALUATE_MAX_ELEMENTS && evaluator->work <= maxWork;
}

static bool evaluateExpr(MlirAffineExpr expr, const int64_t *point, int64_t *out) {
  if (mlirAffineExprIsADim(expr)) {
    *out = point[mlirAffineDimExprGetPosition(expr)];
    return true;
  }
  if (mlirAffineExprIsAConstant(expr)) {
    *out = mlirAffineConstantExprGetValue(expr);
    return true;
  }
  if (!mlirAffineExprIsABinary(expr))
    return false;
  int64_t a, b;
  if (!evaluateExpr(mlirAffineBinaryOpExprGetLHS(expr), point, &a) ||
      !evaluateExpr(mlirAffineBinaryOpExprGetRHS(expr), point, &b))
    return false;
  if (mlirAffineExprIsAAdd(expr))
    return !__builtin_add_overflow(a, b, out);
  if (mlirAffineExprIsAMul(expr))
    return !__builtin_mul_overflow(a, b, out);
  if (b <= 0)
    return false;
  int64_t remainder = a % b + (a % b < 0 ? b : 0);
  if (mlirAffineExprIsAMod(expr))
    *out = remainder;
  else if (mlirAffineExprIsAFloorDiv(expr))
    *out = (a - remainder) / b;
  else
    *out = (a - remainder) / b + (remainder != 0);
  return true;
}

/// Steps `point` to the next one of the box; row-major.
static void nextPoint(const ShardLoopBox *box, int64_t *point) {
  for (intptr_t d = box->nLoops - 1; d >= 0; --d) {
    if (!box->active[d])
      continue;
    if (++point[d] < box->extents[d])
      return;
    point[d] = 0;
  }
}

static void startPoint(const ShardLoopBox *box, int64_t *point) {
  for (intptr_t d = 0; d < box->nLoops; ++d)
    point[d] = box->active[d] ? 0 : box->fixed[d];
}

bool shardLoopBoxRead(const ShardLoopBox *box, const int64_t *source, MlirType type,
                      MlirAffineMap map, int64_t *out) {
  intptr_t rank = mlirShapedTypeGetRank(type);
  if (box->nLoops > SHARD_EVALUATE_MAX_RANK || rank > SHARD_EVALUATE_MAX_RANK)
    return false;
  MlirAffineExpr exprs[SHARD_EVALUATE_MAX_RANK];
  for (intptr_t r = 0; r < rank; ++r)
    exprs[r] = mlirAffineMapGetResult(map, r);
  int64_t point[SHARD_EVALUATE_MAX_RANK];
  startPoint(box, point);
  for (int64_t i = 0; i < box->count; ++i, nextPoint(box, point)) {
    int64_t offset = 0;
    for (intptr_t r = 0; r < rank; ++r) {
      int64_t index, size = mlirShapedTypeGetDimSize(type, r);
      if (!evaluateExpr(exprs[r], point, &index) || index < 0 || index >= size)
        return false;
      offset = offset * size + index;
    }
    out[i] = source[offset];
  }
  return true;
}

bool shardLoopBoxWrite(const ShardLoopBox *box, const int64_t *values, MlirType type,
                       MlirAffineMap map, int64_t *out) {
  intptr_t rank = mlirShapedTypeGetRank(type);
  if (rank > SHARD_EVALUATE_MAX_RANK || box->nLoops > SHARD_EVALUATE_MAX_RANK)
    return false;
  int64_t point[SHARD_EVALUATE_MAX_RANK];
  startPoint(box, point);
  for (int64_t i = 0; i < box->count; ++i, nextPoint(box, point)) {
    int64_t offset = 0;
    for (intptr_t r = 0; r < rank; ++r) {
      intptr_t d = shardMapResultDim(map, r);
      if (d < 0)
        return false;
      offset = offset * mlirShapedTypeGetDimSize(type, r) + point[d];
    }
    out[offset] = values[i];
  }
  return true;
}

static const int64_t *evaluateBlockArgument(ShardLoopBox *box, MlirValue value) {
  intptr_t number = mlirBlockArgumentGetArgNumber(value);
  if (mlirOperationIsNull(box->op) ||
      !mlirBlockEqual(mlirBlockArgumentGetOwner(value), box->body) ||
      number >= mlirOperationGetNumOperands(box->op))
    return NULL;
  if (number >= box->nInputs && box->accumulators)
    return box->accumulators[number - box->nInputs];
  MlirValue operand = mlirOperationGetOperand(box->op, number);
  MlirType type = mlirValueGetType(operand);
  if (!mlirTypeIsARankedTensor(type))
    return shardLoopBoxEvaluate(box, operand);
  const int64_t *source = shardEvaluateTensor(box->evaluator, operand);
  if (!source)
    return NULL;
  int64_t *out = SHARD_ARENA_ARRAY(box->arena, int64_t, box->count);
  MlirAffineMap map = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(box->maps, number));
  return shardLoopBoxRead(box, source, type, map, out) ? out : NULL;
}

static const int64_t *evaluateIndex(ShardLoopBox *box, MlirOperation op) {
  int64_t loop;
  if (mlirOperationIsNull(box->op) || !shardAttrGetI64(shardOpGetAttribute(op, "dim"), &loop) ||
      loop >= box->nLoops || box->nLoops > SHARD_EVALUATE_MAX_RANK)
    return NULL;
  int64_t *out = SHARD_ARENA_ARRAY(box->arena, int64_t, box->count), point[SHARD_EVALUATE_MAX_RANK];
  startPoint(box, point);
  for (int64_t i = 0; i < box->count; ++i, nextPoint(box, point))
    out[i] = point[loop];
  return out;
}

static const int64_t *evaluateExtract(ShardLoopBox *box, MlirOperation op) {
  MlirValue table = mlirOperationGetOperand(op, 0);
  const int64_t *source = shardEvaluateTensor(box->evaluator, table);
  if (!source)
    return NULL;
  MlirType type = mlirValueGetType(table);
  int64_t *offsets = SHARD_ARENA_ARRAY(box->arena, int64_t, box->count);
  for (intptr_t r = 0, rank = mlirShapedTypeGetRank(type); r < rank; ++r) {
    const int64_t *index = shardLoopBoxEvaluate(box, mlirOperationGetOperand(op, r + 1));
    int64_t size = mlirShapedTypeGetDimSize(type, r);
    if (!index)
      return NULL;
    for (int64_t i = 0; i < box->count; ++i) {
      if (index[i] < 0 || index[i] >= size)
        return NULL;
      offsets[i] = offsets[i] * size + index[i];
    }
  }
  for (int64_t i = 0; i < box->count; ++i)
    offsets[i] = source[offsets[i]];
  return offsets;
}

static const int64_t *evaluateConstant(ShardLoopBox *box, MlirOperation op) {
  MlirAttribute attribute = shardOpGetAttribute(op, "value");
  int64_t value;
  unsigned width = shardIntegerWidth(mlirValueGetType(mlirOperationGetResult(op, 0)));
  if (width == 0 || mlirAttributeIsNull(attribute) || !shardAttrGetI64(attribute, &value))
    return NULL;
  value = shardIntegerWrap((uint64_t)value, width);
  int64_t *out = SHARD_ARENA_ARRAY(box->arena, int64_t, box->count);
  for (int64_t i = 0; i < box->count; ++i)
    out[i] = value;
  return out;
}

/// A choice that is the same everywhere needs one of its values, and one between equals no
/// condition: either may depend on data then.
static const int64_t *evaluateChoice(ShardLoopBox *box, MlirOperation op) {
  const int64_t *condition = shardLoopBoxEvaluate(box, mlirOperationGetOperand(op, 0));
  bool always = condition != NULL, never = condition != NULL;
  for (int64_t i = 0; i < box->count && condition; ++i) {
    always &= condition[i] != 0;
    never &= condition[i] == 0;
  }
  if (always || never)
    return shardLoopBoxEvaluate(box, mlirOperationGetOperand(op, always ? 1 : 2));
  const int64_t *operands[] = {condition, shardLoopBoxEvaluate(box, mlirOperationGetOperand(op, 1)),
                               shardLoopBoxEvaluate(box, mlirOperationGetOperand(op, 2))};
  if (!operands[1] || !operands[2])
    return NULL;
  if (!condition)
    return memcmp(operands[1], operands[2], (size_t)box->count * sizeof(int64_t)) == 0 ? operands[1]
                                                                                       : NULL;
  int64_t *out = SHARD_ARENA_ARRAY(box->arena, int64_t, box->count);
  return shardIntegerOpApply(op, box->count, operands, out) ? out : NULL;
}

static const int64_t *evaluateScalarOp(ShardLoopBox *box, MlirOperation op) {
  if (shardOpIs(op, "arith.constant"))
    return evaluateConstant(box, op);
  if (shardOpIs(op, "linalg.index"))
    return evaluateIndex(box, op);
  if (shardOpIs(op, "tensor.extract"))
    return evaluateExtract(box, op);
  if (shardOpIs(op, "arith.select") && mlirOperationGetNumOperands(op) == 3)
    return evaluateChoice(box, op);
  intptr_t n = mlirOperationGetNumOperands(op);
  if (!shardIsIntegerOp(op) || n < 1 || n > 3)
    return NULL;
  const int64_t *operands[3];
  for (intptr_t i = 0; i < n; ++i)
    if (!(operands[i] = shardLoopBoxEvaluate(box, mlirOperationGetOperand(op, i))))
      return NULL;
  int64_t *out = SHARD_ARENA_ARRAY(box->arena, int64_t, box->count);
  return shardIntegerOpApply(op, box->count, operands, out) ? out : NULL;
}

const int64_t *shardLoopBoxEvaluate(ShardLoopBox *box, MlirValue value) {
  int64_t index;
  if (shardPointerMapGet(box->known, value.ptr, &index))
    return index < 0 ? NULL : box->arrays[index];
  if (mlirTypeIsAShaped(mlirValueGetType(value)) ||
      shardIntegerWidth(mlirValueGetType(value)) == 0 ||
      box->evaluator->depth >= SHARD_EVALUATE_MAX_DEPTH ||
      !shardEvaluatorSpend(box->evaluator, box->count))
    return NULL;
  ++box->evaluator->depth;
  const int64_t *result = mlirValueIsABlockArgument(value)
                              ? evaluateBlockArgument(box, value)
                              : evaluateScalarOp(box, mlirOpResultGetOwner(value));
  --box->evaluator->depth;
  if (result) {
    box->arrays = shardArenaGrow(box->arena, box->arrays, box->nArrays, &box->capacity,
                                 box->nArrays + 1, sizeof(*box->arrays));
    box->arrays[box->nArrays] = result;
  }
  shardPointerMapSet(box->known, value.ptr, result ? (int64_t)box->nArrays++ : -1);
  return result;
}

ShardLoopBox shardLoopBoxMake(ShardEvaluator *evaluator, ShardArena *arena, MlirOperation op,
                              intptr_t nLoops, const int64_t *extents, const bool *active,
                              const int64_t *fixed) {
  ShardLoopBox box = {.evaluator = evaluator,
                      .arena = arena,
                      .op = op,
                      .nLoops = nLoops,
                      .extents = extents,
                      .active = active,
                      .fixed = fixed,
                      .count = 1,
                      .known = shardPointerMapCreate(arena, 16)};
  if (!mlirOperationIsNull(op)) {
    box.body = shardOpBody(op);
    box.maps = shardIndexingMaps(op);
    box.nInputs = mlirOperationGetNumOperands(op) - mlirOperationGetNumResults(op);
  }
  for (intptr_t d = 0; d < nLoops; ++d)
    if (active[d] && __builtin_mul_overflow(box.count, extents[d], &box.count))
      box.count = -1;
  return box;
}

bool shardEvaluateScalar(ShardEvaluator *evaluator, MlirValue value, int64_t *outValue) {
  ShardArena *arena = shardArenaCreate();
  ShardLoopBox box = shardLoopBoxMake(evaluator, arena, (MlirOperation){NULL}, 0, NULL, NULL, NULL);
  const int64_t *values = shardLoopBoxEvaluate(&box, value);
  if (values)
    *outValue = values[0];
  shardArenaDestroy(arena);
  return values != NULL;
}

bool shardLoopExtents(MlirOperation op, intptr_t *outCount, int64_t **outExtents,
                      ShardArena *arena) {
  MlirAttribute maps = shardIndexingMaps(op);
  intptr_t nOperands = mlirOperationGetNumOperands(op);
  if (mlirAttributeIsNull(maps) || mlirArrayAttrGetNumElements(maps) != nOperands)
    return false;
  intptr_t nLoops =
      mlirAffineMapGetNumDims(mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, 0)));
  int64_t *extents = SHARD_ARENA_ARRAY(arena, int64_t, nLoops ? nLoops : 1);
  for (intptr_t d = 0; d < nLoops; ++d)
    extents[d] = -1;
  for (intptr_t i = 0; i < nOperands; ++i) {
    MlirAffineMap map = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, i));
    MlirType type = mlirValueGetType(mlirOperationGetOperand(op, i));
    for (intptr_t r = 0, n = mlirAffineMapGetNumResults(map); r < n; ++r) {
      intptr_t d = shardMapResultDim(map, r);
      if (d >= 0)
        extents[d] = mlirShapedTypeGetDimSize(type, r);
    }
  }
  for (intptr_t d = 0; d < nLoops; ++d)
    if (extents[d] < 0)
      return false;
  *outCount = nLoops;
  *outExtents = extents;
  return true;
}

/// Marks the loops that `value` depends on. False if it certainly depends on data.
static bool markLoops(MlirOperation op, MlirAttribute maps, MlirBlock body, MlirValue value,
                      bool *active, int depth) {
  if (depth > SHARD_EVALUATE_MAX_DEPTH)
    return false;
  if (mlirValueIsABlockArgument(value)) {
    intptr_t number = mlirBlockArgumentGetArgNumber(value);
    if (!mlirBlockEqual(mlirBlockArgumentGetOwner(value), body))
      return false;
    if (number >= mlirOperationGetNumOperands(op) - mlirOperationGetNumResults(op))
      return false;
    MlirAffineMap map = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, number));
    for (intptr_t d = 0, n = mlirAffineMapGetNumDims(map); d < n; ++d)
      for (intptr_t r = 0, nr = mlirAffineMapGetNumResults(map); r < nr; ++r)
        active[d] |= mlirAffineExprIsFunctionOfDim(mlirAffineMapGetResult(map, r), d);
    return true;
  }
  MlirOperation definition = mlirOpResultGetOwner(value);
  if (!mlirBlockEqual(mlirOperationGetBlock(definition), body))
    return true; // from outside: the same at every point
  if (shardOpIs(definition, "linalg.index")) {
    int64_t loop;
    if (!shardAttrGetI64(shardOpGetAttribute(definition, "dim"), &loop))
      return false;
    active[loop] = true;
    return true;
  }
  intptr_t first = shardOpIs(definition, "tensor.extract") ? 1 : 0;
  for (intptr_t i = first, n = mlirOperationGetNumOperands(definition); i < n; ++i)
    if (!markLoops(op, maps, body, mlirOperationGetOperand(definition, i), active, depth + 1))
      return false;
  return true;
}

bool shardEvaluateInBody(ShardEvaluator *evaluator, MlirOperation op, intptr_t nLoops,
                         const int64_t *extents, MlirValue value, ShardLoopValues *out) {
  shardArenaDestroy(evaluator->scratch);
  evaluator->scratch = shardArenaCreate();
  bool *active = SHARD_ARENA_ARRAY(evaluator->scratch, bool, nLoops + 1);
  int64_t *fixed = SHARD_ARENA_ARRAY(evaluator->scratch, int64_t, nLoops + 1);
  if (!markLoops(op, shardIndexingMaps(op), shardOpBody(op), value, active, 0))
    return false;
  ShardLoopBox box =
      shardLoopBoxMake(evaluator, evaluator->scratch, op, nLoops, extents, active, fixed);
  const int64_t *values = shardLoopBoxEvaluate(&box, value);
  if (!values)
    return false;
  *out = (ShardLoopValues){box.count, values, active};
  return true;
}
