//===- ExactNumbers.c - Exact arithmetic on intervals -------------*- C -*-===//
#include "ExactNumbers.h"

#include "../model/Element.h"
#include "Ops.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <math.h>

ExactFact exactRange(double low, double high) {
  return (ExactFact){.exact = true, .low = low, .high = high};
}
ExactFact exactWhole(double bound) { return exactRange(-bound, bound); }

/// Adds one number to a fact.
static void include(ExactFact *fact, double value) {
  // Masks and the starts of maxima: infinite, or so large that whatever is added is lost.
  if (!(fabs(value) < 0x1p100))
    return;
  fact->low = fmin(fact->low, value);
  fact->high = fmax(fact->high, value);
  while (fact->fraction < EXACT_MAX_FRACTION &&
         ldexp(value, fact->fraction) != floor(ldexp(value, fact->fraction)))
    ++fact->fraction;
}

ExactFact exactOfData(ShardRtElement element, const void *data, size_t count) {
  ExactFact fact = exactWhole(0);
  for (size_t i = 0; i < count; ++i)
    include(&fact, elementRead(element, data, i));
  return fact;
}

ExactFact exactOfDrawn(const ValueSource *source) {
  const Distribution *distribution = &source->distribution;
  if (distribution->kind == DISTRIBUTION_INDEX)
    return exactWhole((double)(distribution->count > 1 ? distribution->count - 1 : 1));
  if (distribution->kind == DISTRIBUTION_MASK)
    return exactWhole(1);
  ExactFact fact = exactWhole(source->whole);
  fact.line = source->line;
  return fact;
}

static MlirType elementTypeOf(MlirType type) {
  return mlirTypeIsAShaped(type) ? mlirShapedTypeGetElementType(type) : type;
}

/// Bits of the mantissa, the hidden one included; 0 for what is no float.
static int mantissaBits(MlirType type) {
  type = elementTypeOf(type);
  if (mlirTypeIsAF32(type))
    return 24;
  if (mlirTypeIsAF64(type))
    return 53;
  if (mlirTypeIsAF16(type))
    return 11;
  if (mlirTypeIsABF16(type))
    return 8;
  return mlirTypeIsAFloat(type) ? 1 : 0;
}

bool exactIsFloat(MlirValue value) { return mantissaBits(mlirValueGetType(value)) > 0; }

ExactFact exactNot(MlirOperation op, bool tooLarge) {
  return (ExactFact){.low = -INFINITY, .high = INFINITY, .culprit = op, .tooLarge = tooLarge};
}

ExactFact exactFit(ExactFact fact, MlirType type, MlirOperation op) {
  int bits = mantissaBits(type);
  if (!fact.exact || bits == 0)
    return fact;
  if (!mlirOperationIsNull(fact.function))
    return exactNot(fact.function, false);
  double largest = mlirTypeIsAF16(elementTypeOf(type)) ? 65504 : INFINITY;
  double bound = fmax(fabs(fact.low), fabs(fact.high));
  if (!(ldexp(bound, fact.fraction) <= ldexp(1, bits)) || bound > largest)
    return exactNot(op, true);
  return fact;
}

ExactFact exactJoin(ExactFact x, ExactFact y) {
  if (!x.exact || !y.exact)
    return x.exact ? y : x;
  x.low = fmin(x.low, y.low);
  x.high = fmax(x.high, y.high);
  x.fraction = x.fraction > y.fraction ? x.fraction : y.fraction;
  if (mlirOperationIsNull(x.function))
    x.function = y.function;
  x.line = 0;
  return x;
}

ExactFact exactNegative(ExactFact x) {
  double low = -x.high;
  x.high = -x.low;
  x.low = low;
  return x;
}

/// The larger of the two, or the smaller.
static ExactFact extreme(ExactFact x, ExactFact y, bool largest) {
  ExactFact both = exactJoin(x, y);
  if (both.exact) {
    both.low = largest ? fmax(x.low, y.low) : fmin(x.low, y.low);
    both.high = largest ? fmax(x.high, y.high) : fmin(x.high, y.high);
  }
  return both;
}

ExactFact exactSum(ExactFact x, ExactFact y) {
  double low = x.low + y.low, high = x.high + y.high;
  x = exactJoin(x, y);
  if (x.exact)
    x.low = low, x.high = high;
  return x;
}

double exactTimes(double x, double y) { return x == 0 || y == 0 ? 0 : x * y; }

ExactFact exactProduct(ExactFact x, ExactFact y) {
  int32_t fraction = x.fraction + y.fraction;
  double corners[] = {exactTimes(x.low, y.low), exactTimes(x.low, y.high),
                      exactTimes(x.high, y.low), exactTimes(x.high, y.high)};
  x = exactJoin(x, y);
  if (x.exact) {
    x.low = fmin(fmin(corners[0], corners[1]), fmin(corners[2], corners[3]));
    x.high = fmax(fmax(corners[0], corners[1]), fmax(corners[2], corners[3]));
    x.fraction = fraction;
  }
  return x;
}

//===----------------------------------------------------------------------===//
// Ops, inside a body or on tensors
//===----------------------------------------------------------------------===//

static const char *const sums[] = {"arith.addf", "arith.subf", "arith.addi", "arith.subi", NULL};
static const char *const products[] = {"arith.mulf", "arith.muli", NULL};
static const char *const maxima[] = {"arith.maximumf", "arith.maxnumf", "arith.maxsi", NULL};
static const char *const minima[] = {"arith.minimumf", "arith.minnumf", "arith.minsi", NULL};
// What gives one of its operands, or one with the sign changed.
static const char *const choices[] = {"arith.maximumf",
                                      "arith.minimumf",
                                      "arith.maxnumf",
                                      "arith.minnumf",
                                      "arith.maxsi",
                                      "arith.minsi",
                                      "arith.maxui",
                                      "arith.minui",
                                      "arith.negf",
                                      "math.absf",
                                      "math.absi",
                                      "math.copysign",
                                      "arith.index_cast",
                                      "arith.extf",
                                      "arith.extsi",
                                      "arith.extui",
                                      "arith.sitofp",
                                      "arith.index_castui",
                                      "tensor.splat",
                                      "arith.truncf",
                                      "tensor.cast",
                                      "tensor.concat",
                                      "tensor.expand_shape",
                                      "tensor.extract",
                                      "tensor.insert",
                                      "tensor.collapse_shape",
                                      "tensor.extract_slice",
                                      "tensor.insert_slice",
                                      "tensor.reshape",
                                      "tensor.from_elements",
                                      "tensor.scatter",
                                      "tensor.gather",
                                      NULL};
// Of a number, another: the same bits for the same bits, whatever is rounded inside.
static const char *const functions[] = {"math.exp",  "math.exp2",  "math.expm1", "math.log",
                                        "math.log2", "math.log1p", "math.sin",   "math.cos",
                                        "math.tan",  "math.tanh",  "math.erf",   "math.sqrt",
                                        "math.atan", "math.rsqrt", NULL};
static const char *const roundings[] = {"math.floor", "math.ceil",      "math.trunc",
                                        "math.round", "math.roundeven", NULL};
static const char *const integers[] = {"arith.fptosi", "arith.fptoui", "arith.cmpf", NULL};

/// Whether every number of the constant `value` is a power of two.
static bool isPowerOfTwo(MlirValue value, double *out) {
  if (!mlirValueIsAOpResult(value))
    return false;
  MlirOperation op = mlirOpResultGetOwner(value);
  MlirAttribute attribute = opAttribute(op, "value");
  if (!opIs(op, "arith.constant") || mlirAttributeIsNull(attribute))
    return false;
  if (mlirAttributeIsADenseElements(attribute) && mlirDenseElementsAttrIsSplat(attribute))
    attribute = mlirDenseElementsAttrGetSplatValue(attribute);
  if (!mlirAttributeIsAFloat(attribute))
    return false;
  int exponent;
  *out = fabs(mlirFloatAttrGetValueDouble(attribute));
  return isfinite(*out) && frexp(*out, &exponent) == 0.5;
}

static ExactFact ofConstant(MlirOperation op) {
  MlirAttribute value = opAttribute(op, "value");
  ExactFact fact = exactWhole(0);
  if (mlirAttributeIsAFloat(value)) {
    include(&fact, mlirFloatAttrGetValueDouble(value));
  } else if (mlirAttributeIsAInteger(value)) {
    include(&fact, (double)mlirIntegerAttrGetValueInt(value));
  } else if (mlirAttributeIsADenseElements(value) && mlirDenseElementsAttrIsSplat(value)) {
    MlirAttribute splat = mlirDenseElementsAttrGetSplatValue(value);
    if (mlirAttributeIsAFloat(splat))
      include(&fact, mlirFloatAttrGetValueDouble(splat));
    else
      include(&fact, (double)mlirIntegerAttrGetValueInt(splat));
  } else if (exactIsFloat(mlirOperationGetResult(op, 0))) {
    return exactNot(op, false); // import makes other tensors arguments
  } else {
    fact = exactWhole(INFINITY);
  }
  return fact;
}

/// Result of an op without regions and with one result. `facts` [n] are its operands'.
ExactFact exactOfOp(MlirOperation op, intptr_t n, const ExactFact *facts) {
  MlirValue result = mlirOperationGetResult(op, 0);
  MlirType type = mlirValueGetType(result);
  double power;
  ExactFact all = n ? facts[0] : exactWhole(0);
  for (intptr_t i = 1; i < n; ++i)
    all = exactJoin(all, facts[i]);
  if (opIs(op, "arith.constant"))
    return exactFit(ofConstant(op), type, op);
  if (opIs(op, "arith.subf") || opIs(op, "arith.subi"))
    return exactFit(exactSum(facts[0], exactNegative(facts[1])), type, op);
  if (opIsOneOf(op, sums))
    return exactFit(exactSum(facts[0], facts[1]), type, op);
  if (opIsOneOf(op, products))
    return exactFit(exactProduct(facts[0], facts[1]), type, op);
  if (opIs(op, "math.fma"))
    return exactFit(exactSum(exactProduct(facts[0], facts[1]), facts[2]), type, op);
  if (opIs(op, "arith.select"))
    return exactJoin(facts[0].exact ? facts[1] : facts[0], facts[2]);
  if (opIs(op, "arith.uitofp")) // a signed operand is a large number then
    return exactFit(all, type, op);
  if (opIs(op, "arith.divf") && isPowerOfTwo(mlirOperationGetOperand(op, 1), &power)) {
    all = facts[0];
    all.low /= power;
    all.high /= power;
    all.fraction += (int32_t)fmax(0, log2(power));
    return exactFit(all, type, op);
  }
  if (opIsOneOf(op, functions)) {
    if (all.exact)
      all = (ExactFact){.exact = true, .low = -INFINITY, .high = INFINITY, .function = op};
    return all;
  }
  if (mlirOperationIsNull(all.function) && opIsOneOf(op, roundings)) {
    all.fraction = 0;
    all.low = floor(all.low);
    all.high = ceil(all.high);
    return all;
  }
  if (opIsOneOf(op, maxima) || opIsOneOf(op, minima))
    return extreme(facts[0], facts[1], opIsOneOf(op, maxima));
  if (opIs(op, "arith.negf"))
    return exactNegative(all);
  if (opIs(op, "math.absf") || opIs(op, "math.absi")) {
    all.high = fmax(fabs(all.low), fabs(all.high));
    all.low = 0;
    return all;
  }
  if (opIsOneOf(op, choices))
    return mlirOperationIsNull(all.function) ? exactFit(all, type, op) : all;
  if (opIsOneOf(op, integers)) {
    all.fraction = 0;
    if (opIs(op, "arith.cmpf"))
      return all.exact ? exactRange(0, 1) : all;
    return all;
  }
  if (opIs(op, "arith.cmpi"))
    return all.exact ? exactRange(0, 1) : all;
  if (opIs(op, "tensor.empty"))
    return exactWhole(0); // whoever reads it reads nothing that counts
  bool bitwise = opIs(op, "arith.xori") || opIs(op, "arith.ori") || opIs(op, "arith.andi");
  bool divides = opIs(op, "arith.divsi") || (opIs(op, "arith.divui") && all.low >= 0);
  if (all.exact && (bitwise || divides) && fmax(-all.low, all.high) < 0x1p62) {
    double power = exp2(ceil(log2(1 + fmax(-all.low, all.high))));
    return exactRange(all.low < 0 ? -power : 0, power - 1);
  }
  if (!exactIsFloat(result)) {
    bool bit = mlirTypeIsAInteger(elementTypeOf(type)) &&
               mlirIntegerTypeGetWidth(elementTypeOf(type)) == 1;
    return all.exact ? exactWhole(bit ? 1 : INFINITY) : all;
  }
  return all.exact ? exactNot(op, false) : all;
}

bool exactIsSum(MlirOperation op) { return opIsOneOf(op, sums); }
bool exactIsProduct(MlirOperation op) { return opIsOneOf(op, products); }
bool exactIsChoice(MlirOperation op) { return opIsOneOf(op, choices); }
