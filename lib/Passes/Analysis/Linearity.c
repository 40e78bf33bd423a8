//===- Linearity.c - What a linalg body computes ------------------*- C -*-===//
// Its combiner, the sets of operands in which it is linear, whether it is a contraction.
//===----------------------------------------------------------------------===//

#include "RulesInternal.h"

#include "../Core/Insert.h"

#include "mlir-c/BuiltinAttributes.h"

#include <math.h>
#include <string.h>

static const struct {
  const char *op;
  ShardCombiner combiner;
} combinerTable[] = {
    {"arith.addf", SHARD_COMBINER_SUM},     {"arith.addi", SHARD_COMBINER_SUM},
    {"arith.maximumf", SHARD_COMBINER_MAX}, {"arith.maxnumf", SHARD_COMBINER_MAX},
    {"arith.maxsi", SHARD_COMBINER_MAX},    {"arith.minimumf", SHARD_COMBINER_MIN},
    {"arith.minnumf", SHARD_COMBINER_MIN},  {"arith.minsi", SHARD_COMBINER_MIN},
    {"arith.mulf", SHARD_COMBINER_PRODUCT}, {"arith.muli", SHARD_COMBINER_PRODUCT},
    {"arith.andi", SHARD_COMBINER_AND},     {"arith.ori", SHARD_COMBINER_OR},
};

static bool sameValue(MlirValue a, MlirValue b) { return mlirValueEqual(a, b); }

static intptr_t countUses(MlirValue value) {
  intptr_t n = 0;
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use))
    ++n;
  return n;
}

ShardCombiner shardCombinerOfOp(MlirOperation op) {
  for (size_t i = 0; i < sizeof(combinerTable) / sizeof(combinerTable[0]); ++i)
    if (shardOpIs(op, combinerTable[i].op)) {
      ShardCombiner combiner = combinerTable[i].combiner;
      MlirType type = mlirValueGetType(mlirOperationGetResult(op, 0));
      if (mlirTypeIsAInteger(type) && mlirIntegerTypeGetWidth(type) == 1) // a signed i1 is 0 or -1
        combiner = combiner == SHARD_COMBINER_MAX   ? SHARD_COMBINER_AND
                   : combiner == SHARD_COMBINER_MIN ? SHARD_COMBINER_OR
                                                    : combiner;
      return combiner;
    }
  return SHARD_COMBINER_NONE;
}

/// The combiner that folds `accumulator` (a block argument) into `yielded`, and the other operand.
/// A float cast of the accumulator's sum is not a combiner.
static ShardCombiner bodyCombiner(MlirValue yielded, MlirValue accumulator, MlirValue *outOther) {
  MlirOperation def = shardValueDefiningOp(yielded);
  if (!def.ptr || mlirOperationGetNumOperands(def) != 2 || countUses(accumulator) != 1)
    return SHARD_COMBINER_NONE;
  MlirValue left = mlirOperationGetOperand(def, 0), right = mlirOperationGetOperand(def, 1);
  bool isLeft = sameValue(left, accumulator), isRight = sameValue(right, accumulator);
  if (isLeft == isRight)
    return SHARD_COMBINER_NONE;
  *outOther = isLeft ? right : left;
  return shardCombinerOfOp(def);
}

ShardCombiner shardBodyGetCombiner(MlirOperation op, intptr_t result) {
  MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0));
  intptr_t nInputs = mlirOperationGetNumOperands(op) - mlirOperationGetNumResults(op);
  MlirValue other;
  return bodyCombiner(mlirOperationGetOperand(mlirBlockGetTerminator(body), result),
                      mlirBlockGetArgument(body, nInputs + result), &other);
}

/// Degree of a body value in the chosen block arguments: 0 constant, 1 linear without a constant
/// term, 2 anything else. Zeros count as any degree where one of two values is selected.
typedef struct DegreeQuery {
  MlirBlock body;
  uint32_t variables;                 // bit per block argument
  MlirValue accumulator;              // counts as zero; null if none
  const ShardPortShape *extracts[32]; // captured tensors that are variables
  int32_t nExtracts;
} DegreeQuery;

static bool isZeroConstant(MlirValue value);

/// A value of the body that is zero wherever it is read: a constant, or an input that is one.
static bool isZeroInBody(const DegreeQuery *q, MlirValue value) {
  if (!mlirValueIsABlockArgument(value))
    return isZeroConstant(value);
  if (!mlirBlockEqual(mlirBlockArgumentGetOwner(value), q->body))
    return false;
  MlirOperation op = mlirBlockGetParentOperation(q->body);
  intptr_t number = mlirBlockArgumentGetArgNumber(value);
  return number < mlirOperationGetNumOperands(op) - mlirOperationGetNumResults(op) &&
         isZeroConstant(mlirOperationGetOperand(op, number));
}

/// Of a value that is one of two by a condition.
static int degreeOfSelected(const DegreeQuery *q, MlirOperation select, const int degrees[3]) {
  bool linear = degrees[0] == 0;
  for (intptr_t i = 1; i < 3; ++i)
    linear &= degrees[i] == 1 || isZeroInBody(q, mlirOperationGetOperand(select, i));
  return linear ? 1 : 2;
}

static int degreeOf(const DegreeQuery *q, MlirValue value, int depth) {
  if (depth > 64)
    return 2;
  if (mlirValueIsABlockArgument(value)) {
    if (!mlirBlockEqual(mlirBlockArgumentGetOwner(value), q->body))
      return 0;
    intptr_t number = mlirBlockArgumentGetArgNumber(value);
    return number < 32 && (q->variables >> number & 1) ? 1 : 0;
  }
  MlirOperation def = shardValueDefiningOp(value);
  if (!mlirBlockEqual(mlirOperationGetBlock(def), q->body))
    return 0;
  if (shardOpIs(def, "tensor.extract")) {
    for (int32_t i = 0; i < q->nExtracts; ++i)
      if (q->extracts[i]->user.ptr == def.ptr)
        return 1;
    return 0;
  }
  int degrees[3] = {0, 0, 0};
  intptr_t n = mlirOperationGetNumOperands(def);
  int highest = 0;
  for (intptr_t i = 0; i < n; ++i) {
    int degree = degreeOf(q, mlirOperationGetOperand(def, i), depth + 1);
    if (i < 3)
      degrees[i] = degree;
    highest = degree > highest ? degree : highest;
  }
  if (highest == 0)
    return 0;
  if (shardOpIs(def, "arith.addf") || shardOpIs(def, "arith.subf") ||
      shardOpIs(def, "arith.addi") || shardOpIs(def, "arith.subi"))
    return degrees[0] == 1 && degrees[1] == 1 ? 1 : 2;
  if (shardOpIs(def, "arith.mulf") || shardOpIs(def, "arith.muli"))
    return degrees[0] + degrees[1] == 1 ? 1 : 2;
  if (shardOpIs(def, "arith.divf"))
    return degrees[0] == 1 && degrees[1] == 0 ? 1 : 2;
  if (shardOpIs(def, "arith.negf") || shardOpIs(def, "arith.truncf") ||
      shardOpIs(def, "arith.extf"))
    return degrees[0];
  if (shardOpIs(def, "arith.select"))
    return degreeOfSelected(q, def, degrees);
  return 2;
}

static bool mentions(MlirBlock body, MlirValue value, MlirValue target, int depth) {
  if (sameValue(value, target))
    return true;
  MlirOperation def = shardValueDefiningOp(value);
  if (!def.ptr || depth > 64 || !mlirBlockEqual(mlirOperationGetBlock(def), body))
    return false;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(def); ++i)
    if (mentions(body, mlirOperationGetOperand(def, i), target, depth + 1))
      return true;
  return false;
}

/// A product of two different inputs is summed: the body of a contraction.
static bool multipliesInputs(MlirBlock body, MlirValue value, intptr_t nInputs, int depth) {
  MlirOperation def = shardValueDefiningOp(value);
  if (!def.ptr || depth > 16 || !mlirBlockEqual(mlirOperationGetBlock(def), body))
    return false;
  if (shardOpIs(def, "arith.mulf") || shardOpIs(def, "arith.muli")) {
    MlirValue left = mlirOperationGetOperand(def, 0), right = mlirOperationGetOperand(def, 1);
    intptr_t i = 0, j = 0;
    for (; i < nInputs && !mentions(body, left, mlirBlockGetArgument(body, i), 0); ++i)
      ;
    for (; j < nInputs; ++j)
      if (j != i && mentions(body, right, mlirBlockGetArgument(body, j), 0))
        break;
    if (i < nInputs && j < nInputs)
      return true;
  }
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(def); ++i)
    if (multipliesInputs(body, mlirOperationGetOperand(def, i), nInputs, depth + 1))
      return true;
  return false;
}

static bool isZeroAttribute(MlirAttribute attribute) {
  if (mlirAttributeIsAFloat(attribute))
    return mlirFloatAttrGetValueDouble(attribute) == 0.0;
  if (mlirAttributeIsAInteger(attribute)) {
    int64_t value;
    return shardAttrGetI64(attribute, &value) && value == 0;
  }
  if (mlirAttributeIsADenseElements(attribute) && mlirDenseElementsAttrIsSplat(attribute))
    return isZeroAttribute(mlirDenseElementsAttrGetSplatValue(attribute));
  return false;
}

/// A tensor or scalar that is zero everywhere: a constant, or a fill or splat of one.
static bool isZeroConstant(MlirValue value) {
  MlirOperation def = shardValueDefiningOp(value);
  if (!def.ptr)
    return false;
  if (shardOpIs(def, "arith.constant"))
    return isZeroAttribute(shardOpGetAttribute(def, "value"));
  if (shardOpIs(def, "linalg.fill") || shardOpIs(def, "tensor.splat") ||
      shardOpIs(def, "tensor.expand_shape") || shardOpIs(def, "tensor.collapse_shape") ||
      shardOpIs(def, "tensor.cast"))
    return isZeroConstant(mlirOperationGetOperand(def, 0));
  if (shardOpIs(def, "linalg.generic") &&
      mlirOperationGetNumResults(def) == 1) { // a fill in general form
    MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(def, 0));
    MlirValue yielded = mlirOperationGetOperand(mlirBlockGetTerminator(body), 0);
    if (!mlirValueIsABlockArgument(yielded))
      return isZeroConstant(yielded);
    intptr_t number = mlirBlockArgumentGetArgNumber(yielded);
    return number + 1 < mlirOperationGetNumOperands(def) &&
           isZeroConstant(mlirOperationGetOperand(def, number));
  }
  return false;
}

static bool isFloat(MlirType type) { return mlirTypeIsAFloat(type); }

void shardRuleAddLinear(ShardRuleBuilder *b, ShardOpRule *rule, uint32_t mask) {
  if (!mask)
    return;
  for (int32_t i = 0; i < rule->nLinear; ++i)
    if (rule->linear[i] == mask)
      return;
  uint32_t *bigger = SHARD_ARENA_ARRAY(b->arena, uint32_t, rule->nLinear + 1);
  if (rule->nLinear)
    memcpy(bigger, rule->linear, (size_t)rule->nLinear * sizeof(uint32_t));
  bigger[rule->nLinear++] = mask;
  rule->linear = bigger;
}

/// Fills combiner of reduction factors, linearity and flops of a linalg op.
/// Gives reduction factors and results their combiners; where one is unknown the factors stay
/// whole. Returns the first result's combiner, NONE then, and what it combines in `outFolded`.
static ShardCombiner bindCombiners(ShardOpRule *rule, MlirBlock body, intptr_t nInputs,
                                   MlirValue *outFolded) {
  MlirOperation yield = mlirBlockGetTerminator(body);
  intptr_t nInits = mlirOperationGetNumResults(rule->op);
  ShardCombiner combiner = SHARD_COMBINER_NONE;
  bool known = true;
  for (intptr_t r = 0; r < nInits; ++r) {
    MlirValue other;
    ShardCombiner found = bodyCombiner(mlirOperationGetOperand(yield, r),
                                       mlirBlockGetArgument(body, nInputs + r), &other);
    // What another result has so far must not feed this one.
    for (intptr_t k = 0; k < nInits && found != SHARD_COMBINER_NONE; ++k)
      if (mentions(body, other, mlirBlockGetArgument(body, nInputs + k), 0))
        found = SHARD_COMBINER_NONE;
    if (r == 0)
      combiner = found, *outFolded = other;
    known &= found != SHARD_COMBINER_NONE;
    for (int32_t k = 0; k < rule->nResults; ++k)
      if (rule->results[k].operandIndex == r)
        rule->results[k].combiner = found;
  }
  if (!known)
    combiner = SHARD_COMBINER_NONE;
  for (int32_t f = 0; f < rule->nFactors; ++f) {
    ShardFactor *factor = &rule->factors[f];
    if (factor->kind != SHARD_FACTOR_REDUCTION)
      continue;
    factor->combiner = combiner;
    if (!known)
      factor->kind = SHARD_FACTOR_WHOLE;
  }
  return combiner;
}

/// Operands that may be variables of a linear function: numbers that the body reads. Returns how
/// many of at most `room`.
static int32_t findVariables(ShardRuleBuilder *b, const ShardOpRule *rule, bool sum, int32_t room,
                             int32_t *out) {
  int32_t n = 0;
  for (int32_t i = 0; i < rule->nOperands && n < room; ++i) {
    const ShardPort *port = &rule->operands[i];
    if (port->init && (sum || rule->unusedInit))
      continue;
    MlirType element = mlirShapedTypeGetElementType(b->rules->values[port->value].type);
    if (isFloat(element) || (mlirTypeIsAInteger(element) && mlirIntegerTypeGetWidth(element) != 1))
      out[n++] = i;
  }
  return n;
}

/// Adds the least sets of operands in which `value` is linear.
static void addLinearSets(ShardRuleBuilder *b, const ShardOpShape *shape, ShardOpRule *rule,
                          MlirBlock body, MlirValue value, MlirValue accumulator, bool sum) {
  enum { MAX_VARIABLES = 6 };
  int32_t candidates[MAX_VARIABLES];
  int32_t nCandidates = findVariables(b, rule, sum, MAX_VARIABLES, candidates);
  uint32_t found[64];
  int32_t nFound = 0;
  // A replicated init of a sum enters as it is only when it is zero; else it joins every set.
  uint32_t initMask = 0;
  if (sum)
    for (int32_t i = 0; i < rule->nOperands; ++i)
      if (rule->operands[i].init &&
          !isZeroConstant(b->rules->values[rule->operands[i].value].value))
        initMask |= 1u << i;
  for (uint32_t subset = 1; subset < 1u << nCandidates; ++subset) {
    DegreeQuery query = {.body = body, .accumulator = accumulator};
    uint32_t mask = 0;
    for (int32_t c = 0; c < nCandidates; ++c) {
      if (!(subset >> c & 1))
        continue;
      const ShardPort *port = &rule->operands[candidates[c]];
      mask |= 1u << candidates[c];
      if (port->operandIndex >= 0 && port->operandIndex < 32)
        query.variables |= 1u << port->operandIndex;
      else if (query.nExtracts < 32)
        query.extracts[query.nExtracts++] = &shape->operands[candidates[c]];
    }
    // Keep only minimal sets: a union of two independent linear sets is not linear jointly.
    bool covered = false;
    for (int32_t k = 0; k < nFound; ++k)
      covered |= (found[k] & mask) == found[k] && found[k] != mask;
    if (covered)
      continue;
    if (degreeOf(&query, value, 0) == 1 && nFound < 64)
      found[nFound++] = mask;
  }
  for (int32_t k = 0; k < nFound; ++k)
    shardRuleAddLinear(b, rule, found[k] | initMask);
}

void shardRuleAnalyseBody(ShardRuleBuilder *b, const ShardOpShape *shape, ShardOpRule *rule) {
  MlirOperation op = rule->op;
  MlirBlock body = shardOpBody(op);
  intptr_t nInits = mlirOperationGetNumResults(op);
  intptr_t nInputs = mlirOperationGetNumOperands(op) - nInits;
  bool reduces = false;
  for (int32_t f = 0; f < rule->nFactors; ++f)
    reduces |= rule->factors[f].kind == SHARD_FACTOR_REDUCTION;

  bool hasInitArguments = mlirBlockGetNumArguments(body) >= nInputs + nInits; // linalg.map has none
  bool initUsed = false;
  for (intptr_t r = 0; hasInitArguments && r < nInits; ++r)
    initUsed |= countUses(mlirBlockGetArgument(body, nInputs + r)) > 0;
  rule->unusedInit = !initUsed;

  ShardCombiner combiner = SHARD_COMBINER_NONE;
  MlirValue folded = {NULL}, accumulator = {NULL};
  if (reduces && hasInitArguments) {
    combiner = bindCombiners(rule, body, nInputs, &folded);
    accumulator = mlirBlockGetArgument(body, nInputs);
  }
  if (nInits != 1)
    return;

  bool sum = combiner == SHARD_COMBINER_SUM;
  MlirValue value = sum ? folded : mlirOperationGetOperand(mlirBlockGetTerminator(body), 0);
  if (sum && multipliesInputs(body, value, nInputs, 0)) {
    rule->contraction = true;
    rule->flops = 2;
    for (int32_t l = 0; l < shape->nLoops; ++l)
      if (shape->loops[l].real)
        rule->flops *= shape->loops[l].size;
  }
  if (reduces && !sum)
    return;
  addLinearSets(b, shape, rule, body, value, accumulator, sum);
  MlirOperation def = shardValueDefiningOp(value);
  rule->movement = !reduces && (!def.ptr || !mlirBlockEqual(mlirOperationGetBlock(def), body) ||
                                shardOpIs(def, "tensor.extract"));
}

uint32_t shardOpLinearSet(const ShardOpRule *rule, uint32_t partialOperands) {
  uint32_t best = 0;
  int bestCount = 33;
  for (int32_t i = 0; i < rule->nLinear; ++i)
    if ((rule->linear[i] & partialOperands) == partialOperands) {
      int count = __builtin_popcount(rule->linear[i]);
      if (count < bestCount)
        best = rule->linear[i], bestCount = count;
    }
  return best;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

// The argument of the body that a value is, seen through casts, which map zero to zero; -1: none.
static intptr_t argumentOf(MlirBlock body, MlirValue value) {
  static const char *const casts[] = {"arith.extf",   "arith.truncf", "arith.extsi", "arith.extui",
                                      "arith.trunci", "arith.sitofp", "arith.uitofp"};
  while (mlirValueIsAOpResult(value)) {
    MlirOperation op = mlirOpResultGetOwner(value);
    bool cast = false;
    for (size_t i = 0; i < sizeof(casts) / sizeof(casts[0]); ++i)
      cast |= shardOpIs(op, casts[i]);
    if (!cast)
      return -1;
    value = mlirOperationGetOperand(op, 0);
  }
  return mlirBlockEqual(mlirBlockArgumentGetOwner(value), body)
             ? mlirBlockArgumentGetArgNumber(value)
             : -1;
}

bool shardBodyIsProductSum(MlirBlock body) {
  MlirOperation yield = mlirBlockGetTerminator(body);
  if (mlirBlockGetNumArguments(body) != 3 || mlirOperationIsNull(yield) ||
      mlirOperationGetNumOperands(yield) != 1)
    return false;
  MlirOperation sum = shardValueDefiningOp(mlirOperationGetOperand(yield, 0));
  if (mlirOperationIsNull(sum) || !(shardOpIs(sum, "arith.addf") || shardOpIs(sum, "arith.addi")))
    return false;
  for (intptr_t i = 0; i < 2; ++i) {
    if (!mlirValueEqual(mlirOperationGetOperand(sum, i), mlirBlockGetArgument(body, 2)))
      continue;
    MlirOperation product = shardValueDefiningOp(mlirOperationGetOperand(sum, 1 - i));
    while (!mlirOperationIsNull(product) && shardOpIs(product, "arith.extf"))
      product = shardValueDefiningOp(mlirOperationGetOperand(product, 0));
    if (mlirOperationIsNull(product) ||
        !(shardOpIs(product, "arith.mulf") || shardOpIs(product, "arith.muli")))
      return false;
    intptr_t left = argumentOf(body, mlirOperationGetOperand(product, 0));
    intptr_t right = argumentOf(body, mlirOperationGetOperand(product, 1));
    return (left == 0 && right == 1) || (left == 1 && right == 0);
  }
  return false;
}

MlirAttribute shardCombinerIdentity(ShardCombiner combiner, MlirType element) {
  if (mlirTypeIsAFloat(element))
    return shardAttrNumber(element, combiner == SHARD_COMBINER_PRODUCT ? 1
                                    : combiner == SHARD_COMBINER_MAX   ? -INFINITY
                                    : combiner == SHARD_COMBINER_MIN   ? INFINITY
                                                                       : -0.0);
  unsigned width = mlirTypeIsAIndex(element) ? 64 : mlirIntegerTypeGetWidth(element);
  int64_t least = width >= 64 ? INT64_MIN : -((int64_t)1 << (width - 1));
  int64_t value = combiner == SHARD_COMBINER_PRODUCT ? 1
                  : combiner == SHARD_COMBINER_MAX   ? least
                  : combiner == SHARD_COMBINER_MIN   ? -(least + 1)
                  : combiner == SHARD_COMBINER_AND   ? -1
                                                     : 0;
  return mlirIntegerAttrGet(element, value);
}
