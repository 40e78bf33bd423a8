//===- Evaluate.c - Integer tensors that do not depend on data ----*- C -*-===//
#include "Evaluate.h"

#include "ImportParts.h"

#include "../Core/Constants.h"

#include "mlir-c/AffineExpr.h"
#include "mlir-c/BuiltinTypes.h"

#include <string.h>

enum {
  maxElements = 1 << 24, // of one array: 128 MiB
  maxDepth = 400,        // of values computed from values
  maxRank = 32
};
static const int64_t maxWork = INT64_C(1) << 28; // elements computed in all

struct ShardEvaluator {
  ShardArena *arena;      // results
  ShardArena *scratch;    // of the last shardEvaluateInBody
  ShardPointerMap *known; // tensor -> index in `arrays`, -1: depends on data
  const int64_t **arrays;
  size_t nArrays, capacity;
  int depth;
  int64_t work;
};

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

/// Width in bits of an integer type that we evaluate; 0 for any other type.
static unsigned integerWidth(MlirType type) {
  if (mlirTypeIsAIndex(type))
    return 64;
  if (!mlirTypeIsAInteger(type))
    return 0;
  unsigned width = mlirIntegerTypeGetWidth(type);
  return width <= 64 ? width : 0;
}

static unsigned elementWidth(MlirType type) {
  return mlirTypeIsAShaped(type) ? integerWidth(mlirShapedTypeGetElementType(type))
                                 : integerWidth(type);
}

/// The normal form of a value: i1 is 0 or 1, others are sign-extended.
static int64_t wrap(uint64_t value, unsigned width) {
  if (width == 1)
    return (int64_t)(value & 1);
  if (width == 64)
    return (int64_t)value;
  unsigned shift = 64 - width;
  return (int64_t)(value << shift) >> shift;
}

static uint64_t asUnsigned(int64_t value, unsigned width) {
  return width == 64 ? (uint64_t)value : (uint64_t)value & ((UINT64_C(1) << width) - 1);
}

//===----------------------------------------------------------------------===//
// One scalar op over arrays
//===----------------------------------------------------------------------===//

typedef enum ScalarOp {
  OP_NONE,
  OP_ADD,
  OP_SUB,
  OP_MUL,
  OP_DIVS,
  OP_DIVU,
  OP_REMS,
  OP_REMU,
  OP_FLOORDIV,
  OP_CEILDIV,
  OP_AND,
  OP_OR,
  OP_XOR,
  OP_SHL,
  OP_SHRS,
  OP_SHRU,
  OP_MAXS,
  OP_MINS,
  OP_MAXU,
  OP_MINU,
  OP_CMP,
  OP_SELECT,
  OP_SIGNED_CAST,
  OP_UNSIGNED_CAST
} ScalarOp;

static ScalarOp scalarOp(MlirOperation op) {
  static const struct {
    const char *name;
    ScalarOp op;
  } table[] = {
      {"addi", OP_ADD},
      {"subi", OP_SUB},
      {"muli", OP_MUL},
      {"divsi", OP_DIVS},
      {"divui", OP_DIVU},
      {"remsi", OP_REMS},
      {"remui", OP_REMU},
      {"floordivsi", OP_FLOORDIV},
      {"ceildivsi", OP_CEILDIV},
      {"andi", OP_AND},
      {"ori", OP_OR},
      {"xori", OP_XOR},
      {"shli", OP_SHL},
      {"shrsi", OP_SHRS},
      {"shrui", OP_SHRU},
      {"maxsi", OP_MAXS},
      {"minsi", OP_MINS},
      {"maxui", OP_MAXU},
      {"minui", OP_MINU},
      {"cmpi", OP_CMP},
      {"select", OP_SELECT},
      {"index_cast", OP_SIGNED_CAST},
      {"extsi", OP_SIGNED_CAST},
      {"trunci", OP_SIGNED_CAST},
      {"extui", OP_UNSIGNED_CAST},
      {"index_castui", OP_UNSIGNED_CAST},
  };
  MlirStringRef name = shardOpGetName(op);
  if (name.length < 7 || memcmp(name.data, "arith.", 6) != 0)
    return OP_NONE;
  MlirStringRef rest = mlirStringRefCreate(name.data + 6, name.length - 6);
  for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); ++i)
    if (shardStringIs(rest, table[i].name))
      return table[i].op;
  return OP_NONE;
}

static bool compare(int64_t predicate, int64_t a, int64_t b, unsigned width) {
  if (width == 1) { // signed i1 is 0 or -1
    if (predicate >= 2 && predicate <= 5) {
      a = -a;
      b = -b;
    }
  }
  uint64_t ua = asUnsigned(a, width), ub = asUnsigned(b, width);
  switch (predicate) { // arith::CmpIPredicate
  case 0:
    return a == b;
  case 1:
    return a != b;
  case 2:
    return a < b;
  case 3:
    return a <= b;
  case 4:
    return a > b;
  case 5:
    return a >= b;
  case 6:
    return ua < ub;
  case 7:
    return ua <= ub;
  case 8:
    return ua > ub;
  default:
    return ua >= ub;
  }
}

/// One element; false where the op is undefined.
static bool computeElement(ScalarOp op, int64_t a, int64_t b, int64_t c, unsigned fromWidth,
                           unsigned width, int64_t predicate, int64_t *out) {
  uint64_t ua = asUnsigned(a, fromWidth), ub = asUnsigned(b, fromWidth);
  int64_t sa = fromWidth == 1 ? -a : a, sb = fromWidth == 1 ? -b : b;
  uint64_t r;
  switch (op) {
  case OP_ADD:
    r = ua + ub;
    break;
  case OP_SUB:
    r = ua - ub;
    break;
  case OP_MUL:
    r = ua * ub;
    break;
  case OP_DIVS:
  case OP_REMS:
  case OP_FLOORDIV:
  case OP_CEILDIV: {
    if (sb == 0 || (sb == -1 && sa == INT64_MIN))
      return false;
    int64_t quotient = sa / sb, remainder = sa % sb;
    if (op == OP_REMS)
      quotient = remainder;
    else if (op == OP_FLOORDIV && remainder != 0 && (remainder < 0) != (sb < 0))
      --quotient;
    else if (op == OP_CEILDIV && remainder != 0 && (remainder < 0) == (sb < 0))
      ++quotient;
    r = (uint64_t)quotient;
    break;
  }
  case OP_DIVU:
  case OP_REMU:
    if (ub == 0)
      return false;
    r = op == OP_DIVU ? ua / ub : ua % ub;
    break;
  case OP_AND:
    r = ua & ub;
    break;
  case OP_OR:
    r = ua | ub;
    break;
  case OP_XOR:
    r = ua ^ ub;
    break;
  case OP_SHL:
  case OP_SHRU:
  case OP_SHRS:
    if (ub >= fromWidth)
      return false;
    r = op == OP_SHL ? ua << ub : op == OP_SHRU ? ua >> ub : (uint64_t)(sa >> ub);
    break;
  case OP_MAXS:
    r = (uint64_t)(sa > sb ? sa : sb);
    break;
  case OP_MINS:
    r = (uint64_t)(sa < sb ? sa : sb);
    break;
  case OP_MAXU:
    r = ua > ub ? ua : ub;
    break;
  case OP_MINU:
    r = ua < ub ? ua : ub;
    break;
  case OP_CMP:
    r = compare(predicate, a, b, fromWidth);
    break;
  case OP_SELECT:
    r = (uint64_t)(a ? b : c);
    break;
  case OP_SIGNED_CAST:
    r = (uint64_t)sa;
    break;
  case OP_UNSIGNED_CAST:
    r = ua;
    break;
  default:
    return false;
  }
  *out = wrap(r, width);
  return true;
}

/// Applies the op to `count` elements of up to three operand arrays.
static bool computeArray(MlirOperation op, int64_t count, const int64_t *const *operands,
                         int64_t *out) {
  ScalarOp kind = scalarOp(op);
  unsigned width = elementWidth(mlirValueGetType(mlirOperationGetResult(op, 0)));
  unsigned fromWidth = elementWidth(mlirValueGetType(mlirOperationGetOperand(op, 0)));
  int64_t predicate = 0;
  if (kind == OP_CMP && !shardAttrGetI64(shardOpGetAttribute(op, "predicate"), &predicate))
    return false;
  if (kind == OP_NONE || width == 0 || fromWidth == 0)
    return false;
  intptr_t n = mlirOperationGetNumOperands(op);
  for (int64_t i = 0; i < count; ++i)
    if (!computeElement(kind, operands[0][i], n > 1 ? operands[1][i] : 0,
                        n > 2 ? operands[2][i] : 0, fromWidth, width, predicate, &out[i]))
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// The body of a linalg op over a box of its loops
//===----------------------------------------------------------------------===//

typedef struct Box {
  ShardEvaluator *evaluator;
  ShardArena *arena;
  MlirOperation op; // null: no loops, values of the function itself
  MlirBlock body;
  MlirAttribute maps;
  intptr_t nLoops, nInputs;
  const int64_t *extents; // of the loops
  const bool *active;     // loops that the box runs over; the others stand at `fixed`
  const int64_t *fixed;
  int64_t count;
  int64_t *const
      *accumulators;      // [number of outs], each [count], or null: outs are read as operands
  ShardPointerMap *known; // scalar -> index in arrays
  const int64_t **arrays;
  size_t nArrays, capacity;
} Box;

static const int64_t *evaluateScalar(Box *box, MlirValue value);

static bool spend(ShardEvaluator *evaluator, int64_t count) {
  evaluator->work += count;
  return count >= 0 && count <= maxElements && evaluator->work <= maxWork;
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
static void nextPoint(const Box *box, int64_t *point) {
  for (intptr_t d = box->nLoops - 1; d >= 0; --d) {
    if (!box->active[d])
      continue;
    if (++point[d] < box->extents[d])
      return;
    point[d] = 0;
  }
}

static void startPoint(const Box *box, int64_t *point) {
  for (intptr_t d = 0; d < box->nLoops; ++d)
    point[d] = box->active[d] ? 0 : box->fixed[d];
}

/// Reads a tensor through an indexing map at every point of the box.
static bool readThroughMap(const Box *box, const int64_t *source, MlirType type, MlirAffineMap map,
                           int64_t *out) {
  intptr_t rank = mlirShapedTypeGetRank(type);
  if (box->nLoops > maxRank || rank > maxRank)
    return false;
  MlirAffineExpr exprs[maxRank];
  for (intptr_t r = 0; r < rank; ++r)
    exprs[r] = mlirAffineMapGetResult(map, r);
  int64_t point[maxRank];
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

static const int64_t *evaluateBlockArgument(Box *box, MlirValue value) {
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
    return evaluateScalar(box, operand);
  const int64_t *source = shardEvaluateTensor(box->evaluator, operand);
  if (!source)
    return NULL;
  int64_t *out = SHARD_ARENA_ARRAY(box->arena, int64_t, box->count);
  MlirAffineMap map = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(box->maps, number));
  return readThroughMap(box, source, type, map, out) ? out : NULL;
}

static const int64_t *evaluateIndex(Box *box, MlirOperation op) {
  int64_t loop;
  if (mlirOperationIsNull(box->op) || !shardAttrGetI64(shardOpGetAttribute(op, "dim"), &loop) ||
      loop >= box->nLoops || box->nLoops > maxRank)
    return NULL;
  int64_t *out = SHARD_ARENA_ARRAY(box->arena, int64_t, box->count), point[maxRank];
  startPoint(box, point);
  for (int64_t i = 0; i < box->count; ++i, nextPoint(box, point))
    out[i] = point[loop];
  return out;
}

static const int64_t *evaluateExtract(Box *box, MlirOperation op) {
  MlirValue table = mlirOperationGetOperand(op, 0);
  const int64_t *source = shardEvaluateTensor(box->evaluator, table);
  if (!source)
    return NULL;
  MlirType type = mlirValueGetType(table);
  int64_t *offsets = SHARD_ARENA_ARRAY(box->arena, int64_t, box->count);
  for (intptr_t r = 0, rank = mlirShapedTypeGetRank(type); r < rank; ++r) {
    const int64_t *index = evaluateScalar(box, mlirOperationGetOperand(op, r + 1));
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

static const int64_t *evaluateConstant(Box *box, MlirOperation op) {
  MlirAttribute attribute = shardOpGetAttribute(op, "value");
  int64_t value;
  unsigned width = integerWidth(mlirValueGetType(mlirOperationGetResult(op, 0)));
  if (width == 0 || mlirAttributeIsNull(attribute) || !shardAttrGetI64(attribute, &value))
    return NULL;
  value = wrap((uint64_t)value, width);
  int64_t *out = SHARD_ARENA_ARRAY(box->arena, int64_t, box->count);
  for (int64_t i = 0; i < box->count; ++i)
    out[i] = value;
  return out;
}

static const int64_t *evaluateScalarOp(Box *box, MlirOperation op) {
  if (shardOpIs(op, "arith.constant"))
    return evaluateConstant(box, op);
  if (shardOpIs(op, "linalg.index"))
    return evaluateIndex(box, op);
  if (shardOpIs(op, "tensor.extract"))
    return evaluateExtract(box, op);
  intptr_t n = mlirOperationGetNumOperands(op);
  if (scalarOp(op) == OP_NONE || n < 1 || n > 3)
    return NULL;
  const int64_t *operands[3];
  for (intptr_t i = 0; i < n; ++i)
    if (!(operands[i] = evaluateScalar(box, mlirOperationGetOperand(op, i))))
      return NULL;
  int64_t *out = SHARD_ARENA_ARRAY(box->arena, int64_t, box->count);
  return computeArray(op, box->count, operands, out) ? out : NULL;
}

static const int64_t *evaluateScalar(Box *box, MlirValue value) {
  int64_t index;
  if (shardPointerMapGet(box->known, value.ptr, &index))
    return index < 0 ? NULL : box->arrays[index];
  if (integerWidth(mlirValueGetType(value)) == 0 || box->evaluator->depth >= maxDepth ||
      !spend(box->evaluator, box->count))
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

static Box makeBox(ShardEvaluator *evaluator, ShardArena *arena, MlirOperation op, intptr_t nLoops,
                   const int64_t *extents, const bool *active, const int64_t *fixed) {
  Box box = {.evaluator = evaluator,
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
  Box box = makeBox(evaluator, arena, (MlirOperation){NULL}, 0, NULL, NULL, NULL);
  const int64_t *values = evaluateScalar(&box, value);
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
  if (depth > maxDepth)
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
  Box box = makeBox(evaluator, evaluator->scratch, op, nLoops, extents, active, fixed);
  const int64_t *values = evaluateScalar(&box, value);
  if (!values)
    return false;
  *out = (ShardLoopValues){box.count, values, active};
  return true;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// Row-major offset of a multi-index is stepped through with strides; result positions of a linalg
/// op.
static bool scatterResult(const Box *box, const int64_t *values, MlirType type, MlirAffineMap map,
                          int64_t *out) {
  intptr_t rank = mlirShapedTypeGetRank(type);
  if (rank > maxRank || box->nLoops > maxRank)
    return false;
  int64_t point[maxRank];
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

static bool evaluateLinalg(ShardEvaluator *evaluator, MlirOperation op, intptr_t result,
                           int64_t *out, ShardArena *arena) {
  intptr_t nLoops, nResults = mlirOperationGetNumResults(op);
  int64_t *extents;
  if (mlirOperationGetNumRegions(op) != 1 || !shardLoopExtents(op, &nLoops, &extents, arena) ||
      nLoops > maxRank)
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
  bool reduces = false;
  for (intptr_t r = 0, n = mlirAffineMapGetNumResults(map); r < n; ++r) {
    intptr_t d = shardMapResultDim(map, r);
    if (d < 0)
      return false;
    active[d] = true;
  }
  for (intptr_t d = 0; d < nLoops; ++d)
    reduces |= !active[d];
  if (!reduces) {
    Box box = makeBox(evaluator, arena, op, nLoops, extents, active, fixed);
    const int64_t *values = evaluateScalar(&box, mlirOperationGetOperand(yield, result));
    return values && scatterResult(&box, values, type, map, out);
  }
  // A reduction: its other loops one step at a time, in order, with what was accumulated so far.
  if (nResults != 1)
    return false;
  Box box = makeBox(evaluator, arena, op, nLoops, extents, active, fixed);
  const int64_t *init = shardEvaluateTensor(evaluator, mlirOperationGetOperand(op, nInputs));
  if (box.count < 0 || box.count > maxElements)
    return false;
  int64_t *sum = SHARD_ARENA_ARRAY(arena, int64_t, box.count);
  if (!init || !readThroughMap(&box, init, type, map, sum))
    return false;
  for (;;) {
    ShardArena *step = shardArenaCreate();
    box = makeBox(evaluator, step, op, nLoops, extents, active, fixed);
    box.accumulators = &sum;
    const int64_t *values = evaluateScalar(&box, mlirOperationGetOperand(yield, 0));
    if (values && values != sum)
      memcpy(sum, values, (size_t)box.count * sizeof(*sum));
    shardArenaDestroy(step);
    if (!values)
      return false;
    intptr_t d = nLoops - 1;
    for (; d >= 0; --d) {
      if (active[d])
        continue;
      if (++fixed[d] < extents[d])
        break;
      fixed[d] = 0;
    }
    if (d < 0)
      break;
  }
  box = makeBox(evaluator, arena, op, nLoops, extents, active, fixed);
  return scatterResult(&box, sum, type, map, out);
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
    out[i] = wrap(bits, width);
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
  int64_t point[maxRank] = {0}, count = 1;
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

static bool evaluateTensorOp(ShardEvaluator *evaluator, MlirOperation op, intptr_t result,
                             int64_t count, int64_t *out, ShardArena *arena) {
  MlirType type = mlirValueGetType(mlirOperationGetResult(op, result));
  intptr_t rank = mlirShapedTypeGetRank(type), nOperands = mlirOperationGetNumOperands(op);
  size_t sizeBytes = (size_t)count * sizeof(*out);
  int64_t offsets[maxRank], sizes[maxRank], strides[maxRank];
  if (rank > maxRank)
    return false;
  if (shardOpIs(op, "arith.constant"))
    return evaluateDense(op, count, elementWidth(type), out, arena);
  if (!mlirAttributeIsNull(shardIndexingMaps(op)))
    return evaluateLinalg(evaluator, op, result, out, arena);
  if (nOperands == 0)
    return false;
  MlirValue source = mlirOperationGetOperand(op, 0);
  MlirType sourceType = mlirValueGetType(source);
  if (shardOpIs(op, "tensor.splat")) {
    Box box = makeBox(evaluator, arena, (MlirOperation){NULL}, 0, NULL, NULL, NULL);
    const int64_t *value = evaluateScalar(&box, source);
    for (int64_t i = 0; value && i < count; ++i)
      out[i] = value[0];
    return value != NULL;
  }
  if (shardOpIs(op, "tensor.expand_shape") || shardOpIs(op, "tensor.collapse_shape") ||
      shardOpIs(op, "tensor.cast")) {
    const int64_t *values = shardEvaluateTensor(evaluator, source);
    if (values)
      memcpy(out, values, sizeBytes);
    return values != NULL;
  }
  if (shardOpIs(op, "tensor.extract_slice")) {
    intptr_t sourceRank = mlirShapedTypeGetRank(sourceType);
    const int64_t *values = shardEvaluateTensor(evaluator, source);
    return values && sourceRank <= maxRank && staticBox(op, sourceRank, offsets, sizes, strides) &&
           copyBox(sourceType, offsets, sizes, strides, values, NULL, out, NULL);
  }
  if (shardOpIs(op, "tensor.insert_slice")) {
    const int64_t *values = shardEvaluateTensor(evaluator, source);
    const int64_t *into =
        values ? shardEvaluateTensor(evaluator, mlirOperationGetOperand(op, 1)) : NULL;
    if (!into || !staticBox(op, rank, offsets, sizes, strides))
      return false;
    memcpy(out, into, sizeBytes);
    return copyBox(type, offsets, sizes, strides, NULL, out, NULL, values);
  }
  if (shardOpIs(op, "tensor.concat")) {
    int64_t dim, at = 0;
    if (!shardAttrGetI64(shardOpGetAttribute(op, "dim"), &dim))
      return false;
    for (intptr_t i = 0; i < nOperands; ++i) {
      MlirValue piece = mlirOperationGetOperand(op, i);
      const int64_t *values = shardEvaluateTensor(evaluator, piece);
      if (!values)
        return false;
      for (intptr_t d = 0; d < rank; ++d) {
        offsets[d] = d == dim ? at : 0;
        sizes[d] = mlirShapedTypeGetDimSize(mlirValueGetType(piece), d);
        strides[d] = 1;
      }
      if (!copyBox(type, offsets, sizes, strides, NULL, out, NULL, values))
        return false;
      at += sizes[dim];
    }
    return true;
  }
  if (nOperands > 3 || scalarOp(op) == OP_NONE)
    return false;
  const int64_t *operands[3];
  for (intptr_t i = 0; i < nOperands; ++i) {
    MlirValue operand = mlirOperationGetOperand(op, i);
    if (!mlirTypeIsARankedTensor(mlirValueGetType(operand)) ||
        !(operands[i] = shardEvaluateTensor(evaluator, operand)))
      return false;
  }
  return computeArray(op, count, operands, out);
}

const int64_t *shardEvaluateTensor(ShardEvaluator *evaluator, MlirValue tensor) {
  int64_t index;
  if (shardPointerMapGet(evaluator->known, tensor.ptr, &index))
    return index < 0 ? NULL : evaluator->arrays[index];
  MlirType type = mlirValueGetType(tensor);
  int64_t count = shardTypeElementCount(type);
  const int64_t *found = NULL;
  if (mlirValueIsAOpResult(tensor) && count >= 0 && elementWidth(type) != 0 &&
      evaluator->depth < maxDepth && spend(evaluator, count)) {
    ShardArena *scratch = shardArenaCreate();
    int64_t *out = SHARD_ARENA_ARRAY(evaluator->arena, int64_t, count ? count : 1);
    ++evaluator->depth;
    if (evaluateTensorOp(evaluator, mlirOpResultGetOwner(tensor),
                         mlirOpResultGetResultNumber(tensor), count, out, scratch))
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
  if (rank > maxRank)
    return false;
  int64_t count = 1;
  *outStart = values[0];
  for (intptr_t d = rank - 1; d >= 0; --d) {
    outSteps[d] = 0;
    if (extents[d] > 1 && __builtin_sub_overflow(values[count], values[0], &outSteps[d]))
      return false;
    count *= extents[d];
  }
  int64_t point[maxRank] = {0}, expected = values[0];
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
