//===- Evaluate.c - Integer tensors that do not depend on data ----*- C -*-===//
#include "Evaluate.h"

#include "EvaluateLoops.h"
#include "ImportParts.h"
#include "IntegerOps.h"

#include "../Core/Constants.h"

#include "mlir-c/BuiltinTypes.h"

#include <string.h>

ShardEvaluator *shardEvaluatorCreate(ShardArena *arena) {
  ShardEvaluator *evaluator = SHARD_ARENA_NEW(arena, ShardEvaluator);
  evaluator->arena = arena;
  evaluator->known = shardPointerMapCreate(arena, 64);
  return evaluator;
}

void shardEvaluatorDestroy(ShardEvaluator *evaluator) {
  if (evaluator)
    shardArenaDestroy(evaluator->scratch);
}

/// Steps the loops that the box does not run over; false past the last step.
static bool nextStep(const ShardLoopBox *box, int64_t *fixed) {
  for (intptr_t d = box->nLoops - 1; d >= 0; --d) {
    if (box->active[d])
      continue;
    if (++fixed[d] < box->extents[d])
      return true;
    fixed[d] = 0;
  }
  return false;
}

/// A reduction to one result: the loops that the box does not run over one step at a time, in
/// order, with what was accumulated so far.
static bool evaluateReduction(const ShardLoopBox *box, int64_t *fixed, MlirAffineMap map,
                              int64_t *out) {
  MlirOperation op = box->op;
  MlirValue init = mlirOperationGetOperand(op, box->nInputs);
  const int64_t *start = shardEvaluateTensor(box->evaluator, init);
  if (box->count < 0 || box->count > SHARD_EVALUATE_MAX_ELEMENTS)
    return false;
  int64_t *sum = SHARD_ARENA_ARRAY(box->arena, int64_t, box->count);
  if (!start || !shardLoopBoxRead(box, start, mlirValueGetType(init), map, sum))
    return false;
  MlirValue yielded = mlirOperationGetOperand(mlirBlockGetTerminator(box->body), 0);
  do {
    ShardArena *arena = shardArenaCreate();
    ShardLoopBox step =
        shardLoopBoxMake(box->evaluator, arena, op, box->nLoops, box->extents, box->active, fixed);
    step.accumulators = &sum;
    const int64_t *values = shardLoopBoxEvaluate(&step, yielded);
    if (values && values != sum)
      memcpy(sum, values, (size_t)box->count * sizeof(*sum));
    shardArenaDestroy(arena);
    if (!values)
      return false;
  } while (nextStep(box, fixed));
  return shardLoopBoxWrite(box, sum, mlirValueGetType(init), map, out);
}

static bool evaluateLinalg(ShardEvaluator *evaluator, MlirOperation op, intptr_t result,
                           int64_t *out, ShardArena *arena) {
  intptr_t nLoops, nResults = mlirOperationGetNumResults(op);
  int64_t *extents;
  if (mlirOperationGetNumRegions(op) != 1 || !shardLoopExtents(op, &nLoops, &extents, arena) ||
      nLoops > SHARD_EVALUATE_MAX_RANK)
    return false;
  MlirAttribute maps = shardIndexingMaps(op);
  intptr_t nInputs = mlirOperationGetNumOperands(op) - nResults;
  MlirOperation yield = mlirBlockGetTerminator(shardOpBody(op));
  if (mlirOperationGetNumOperands(yield) != nResults)
    return false;
  MlirAffineMap map = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, nInputs + result));
  MlirType type = mlirValueGetType(mlirOperationGetResult(op, result));
  bool *active = SHARD_ARENA_ARRAY(arena, bool, nLoops + 1);
  int64_t *fixed = SHARD_ARENA_ARRAY(arena, int64_t, nLoops + 1);
  for (intptr_t r = 0, n = mlirAffineMapGetNumResults(map); r < n; ++r) {
    intptr_t d = shardMapResultDim(map, r);
    if (d < 0)
      return false;
    active[d] = true;
  }
  bool reduces = false;
  for (intptr_t d = 0; d < nLoops; ++d)
    reduces |= !active[d];
  ShardLoopBox box = shardLoopBoxMake(evaluator, arena, op, nLoops, extents, active, fixed);
  if (reduces)
    return nResults == 1 && evaluateReduction(&box, fixed, map, out);
  const int64_t *values = shardLoopBoxEvaluate(&box, mlirOperationGetOperand(yield, result));
  return values && shardLoopBoxWrite(&box, values, type, map, out);
}

static bool evaluateDense(MlirOperation op, int64_t count, unsigned width, int64_t *out,
                          ShardArena *arena) {
  MlirAttribute value = shardOpGetAttribute(op, "value");
  const void *data;
  size_t sizeBytes;
  if (mlirAttributeIsNull(value) ||
      !(mlirAttributeIsADenseElements(value) || mlirAttributeIsADenseResourceElements(value)) ||
      (width != 1 && width % 8 != 0) ||
      shardConstantRead(value, arena, &data, &sizeBytes) != SHARD_CONSTANT_OK)
    return false;
  for (int64_t i = 0; i < count; ++i) {
    uint64_t bits = 0;
    size_t elementBytes = sizeBytes / (size_t)count;
    if (elementBytes > sizeof(bits))
      return false;
    memcpy(&bits, (const char *)data + (size_t)i * elementBytes, elementBytes); // little-endian
    out[i] = shardIntegerWrap(bits, width);
  }
  return true;
}

static bool staticBox(MlirOperation op, intptr_t rank, int64_t *offsets, int64_t *sizes,
                      int64_t *strides) {
  MlirAttribute attributes[3] = {shardOpGetAttribute(op, "static_offsets"),
                                 shardOpGetAttribute(op, "static_sizes"),
                                 shardOpGetAttribute(op, "static_strides")};
  for (int k = 0; k < 3; ++k)
    if (mlirAttributeIsNull(attributes[k]) || mlirDenseArrayGetNumElements(attributes[k]) != rank)
      return false;
  for (intptr_t d = 0; d < rank; ++d) {
    offsets[d] = shardArrayAttrAt(attributes[0], d);
    sizes[d] = shardArrayAttrAt(attributes[1], d);
    strides[d] = shardArrayAttrAt(attributes[2], d);
    if (offsets[d] < 0 || sizes[d] < 0 || strides[d] < 1)
      return false; // dynamic ones are negative
  }
  return true;
}

/// Copies between a box of a big tensor (offsets, sizes, strides) and a dense small one.
static bool copyBox(MlirType bigType, const int64_t *offsets, const int64_t *sizes,
                    const int64_t *strides, const int64_t *big, int64_t *writeBig, int64_t *small,
                    const int64_t *readSmall) {
  intptr_t rank = mlirShapedTypeGetRank(bigType);
  int64_t point[SHARD_EVALUATE_MAX_RANK] = {0}, count = 1;
  for (intptr_t d = 0; d < rank; ++d)
    count *= sizes[d];
  for (int64_t i = 0; i < count; ++i) {
    int64_t offset = 0;
    for (intptr_t d = 0; d < rank; ++d) {
      int64_t index = offsets[d] + point[d] * strides[d],
              size = mlirShapedTypeGetDimSize(bigType, d);
      if (index >= size)
        return false;
      offset = offset * size + index;
    }
    if (small)
      small[i] = big[offset];
    else
      writeBig[offset] = readSmall[i];
    for (intptr_t d = rank - 1; d >= 0; --d) {
      if (++point[d] < sizes[d])
        break;
      point[d] = 0;
    }
  }
  return true;
}

/// A tensor to compute.
typedef struct Result {
  ShardEvaluator *evaluator;
  MlirOperation op;
  intptr_t number;
  MlirType type;
  int64_t count;
  int64_t *out;      // [count]
  ShardArena *arena; // scratch
} Result;

static const int64_t *evaluateOperand(const Result *r, intptr_t operand) {
  return shardEvaluateTensor(r->evaluator, mlirOperationGetOperand(r->op, operand));
}

static bool evaluateSplat(const Result *r) {
  ShardLoopBox box =
      shardLoopBoxMake(r->evaluator, r->arena, (MlirOperation){NULL}, 0, NULL, NULL, NULL);
  const int64_t *value = shardLoopBoxEvaluate(&box, mlirOperationGetOperand(r->op, 0));
  for (int64_t i = 0; value && i < r->count; ++i)
    r->out[i] = value[0];
  return value != NULL;
}

/// A reshape.
static bool evaluateSameElements(const Result *r) {
  const int64_t *values = evaluateOperand(r, 0);
  if (values)
    memcpy(r->out, values, (size_t)r->count * sizeof(*r->out));
  return values != NULL;
}

static bool evaluateExtractSlice(const Result *r) {
  int64_t offsets[SHARD_EVALUATE_MAX_RANK], sizes[SHARD_EVALUATE_MAX_RANK],
      strides[SHARD_EVALUATE_MAX_RANK];
  MlirType type = mlirValueGetType(mlirOperationGetOperand(r->op, 0));
  intptr_t rank = mlirShapedTypeGetRank(type);
  const int64_t *values = evaluateOperand(r, 0);
  return values && rank <= SHARD_EVALUATE_MAX_RANK &&
         staticBox(r->op, rank, offsets, sizes, strides) &&
         copyBox(type, offsets, sizes, strides, values, NULL, r->out, NULL);
}

static bool evaluateInsertSlice(const Result *r) {
  int64_t offsets[SHARD_EVALUATE_MAX_RANK], sizes[SHARD_EVALUATE_MAX_RANK],
      strides[SHARD_EVALUATE_MAX_RANK];
  const int64_t *values = evaluateOperand(r, 0);
  const int64_t *into = values ? evaluateOperand(r, 1) : NULL;
  if (!into || !staticBox(r->op, mlirShapedTypeGetRank(r->type), offsets, sizes, strides))
    return false;
  memcpy(r->out, into, (size_t)r->count * sizeof(*r->out));
  return copyBox(r->type, offsets, sizes, strides, NULL, r->out, NULL, values);
}

static bool evaluateConcat(const Result *r) {
  int64_t offsets[SHARD_EVALUATE_MAX_RANK] = {0}, sizes[SHARD_EVALUATE_MAX_RANK],
          strides[SHARD_EVALUATE_MAX_RANK], dim;
  if (!shardAttrGetI64(shardOpGetAttribute(r->op, "dim"), &dim))
    return false;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(r->op); ++i) {
    MlirType piece = mlirValueGetType(mlirOperationGetOperand(r->op, i));
    const int64_t *values = evaluateOperand(r, i);
    if (!values)
      return false;
    for (intptr_t d = 0; d < mlirShapedTypeGetRank(r->type); ++d) {
      sizes[d] = mlirShapedTypeGetDimSize(piece, d);
      strides[d] = 1;
    }
    if (!copyBox(r->type, offsets, sizes, strides, NULL, r->out, NULL, values))
      return false;
    offsets[dim] += sizes[dim];
  }
  return true;
}

static bool evaluateElementwise(const Result *r) {
  intptr_t nOperands = mlirOperationGetNumOperands(r->op);
  if (nOperands > 3 || !shardIsIntegerOp(r->op))
    return false;
  const int64_t *operands[3];
  for (intptr_t i = 0; i < nOperands; ++i)
    if (!mlirTypeIsARankedTensor(mlirValueGetType(mlirOperationGetOperand(r->op, i))) ||
        !(operands[i] = evaluateOperand(r, i)))
      return false;
  return shardIntegerOpApply(r->op, r->count, operands, r->out);
}

static bool evaluateResult(const Result *r) {
  static const struct {
    const char *name;
    bool (*evaluate)(const Result *r);
  } table[] = {{"tensor.cast", evaluateSameElements},
               {"tensor.collapse_shape", evaluateSameElements},
               {"tensor.concat", evaluateConcat},
               {"tensor.expand_shape", evaluateSameElements},
               {"tensor.extract_slice", evaluateExtractSlice},
               {"tensor.insert_slice", evaluateInsertSlice},
               {"tensor.splat", evaluateSplat}};
  if (mlirShapedTypeGetRank(r->type) > SHARD_EVALUATE_MAX_RANK)
    return false;
  if (shardOpIs(r->op, "arith.constant"))
    return evaluateDense(r->op, r->count, shardIntegerWidth(r->type), r->out, r->arena);
  if (!mlirAttributeIsNull(shardIndexingMaps(r->op)))
    return evaluateLinalg(r->evaluator, r->op, r->number, r->out, r->arena);
  if (mlirOperationGetNumOperands(r->op) == 0)
    return false;
  for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); ++i)
    if (shardOpIs(r->op, table[i].name))
      return table[i].evaluate(r);
  return evaluateElementwise(r);
}

const int64_t *shardEvaluateTensor(ShardEvaluator *evaluator, MlirValue tensor) {
  int64_t index;
  if (shardPointerMapGet(evaluator->known, tensor.ptr, &index))
    return index < 0 ? NULL : evaluator->arrays[index];
  MlirType type = mlirValueGetType(tensor);
  int64_t count = shardTypeElementCount(type);
  const int64_t *found = NULL;
  if (mlirValueIsAOpResult(tensor) && count >= 0 && shardIntegerWidth(type) != 0 &&
      evaluator->depth < SHARD_EVALUATE_MAX_DEPTH && shardEvaluatorSpend(evaluator, count)) {
    ShardArena *scratch = shardArenaCreate();
    int64_t *out = SHARD_ARENA_ARRAY(evaluator->arena, int64_t, count ? count : 1);
    ++evaluator->depth;
    Result result = {.evaluator = evaluator,
                     .op = mlirOpResultGetOwner(tensor),
                     .number = mlirOpResultGetResultNumber(tensor),
                     .type = type,
                     .count = count,
                     .out = out,
                     .arena = scratch};
    if (evaluateResult(&result))
      found = out;
    --evaluator->depth;
    shardArenaDestroy(scratch);
  }
  if (found) {
    evaluator->arrays =
        shardArenaGrow(evaluator->arena, evaluator->arrays, evaluator->nArrays,
                       &evaluator->capacity, evaluator->nArrays + 1, sizeof(*evaluator->arrays));
    evaluator->arrays[evaluator->nArrays] = found;
  }
  shardPointerMapSet(evaluator->known, tensor.ptr, found ? (int64_t)evaluator->nArrays++ : -1);
  return found;
}

bool shardFitAffine(const int64_t *values, intptr_t rank, const int64_t *extents, int64_t *outStart,
                    int64_t *outSteps) {
  if (rank > SHARD_EVALUATE_MAX_RANK)
    return false;
  int64_t count = 1;
  *outStart = values[0];
  for (intptr_t d = rank - 1; d >= 0; --d) {
    outSteps[d] = 0;
    if (extents[d] > 1 && __builtin_sub_overflow(values[count], values[0], &outSteps[d]))
      return false;
    count *= extents[d];
  }
  int64_t point[SHARD_EVALUATE_MAX_RANK] = {0}, expected = values[0];
  for (int64_t i = 0; i < count; ++i) {
    if (values[i] != expected)
      return false;
    for (intptr_t d = rank - 1; d >= 0; --d) {
      if (++point[d] < extents[d]) {
        expected = (int64_t)((uint64_t)expected + (uint64_t)outSteps[d]);
        break;
      }
      expected = (int64_t)((uint64_t)expected - (uint64_t)outSteps[d] * (uint64_t)(extents[d] - 1));
      point[d] = 0;
    }
  }
  return true;
}
