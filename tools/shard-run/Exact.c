//===- Exact.c - Which results have one right bit pattern ---------*- C -*-===//
// An interval analysis, forward over the ops: magnitude and binary places of every value. A sum or
// product of multiples of 2^-f is one again, and is exact while magnitude * 2^f fits the mantissa;
// so is every partial sum on the way, in any order.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE

#include "Exact.h"
#include "../model/Element.h"
#include "Memory.h"

#include "shard/Pipelines.h"

#include "mlir-c/AffineMap.h"
#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/Dialect/Linalg.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FRACTION = 60, MAX_TRIPS = 1024, MAX_DEPTH = 64 };

/// Facts by value: a table with open addressing.
typedef struct Facts {
  void **keys;
  ExactFact *facts;
  size_t capacity, count;
} Facts;

typedef struct Analysis {
  MlirOperation module;
  const ExactFact *arguments;
  size_t nArguments;
  Facts facts;
  int depth;
} Analysis;

static size_t slotOf(const Facts *facts, const void *key) {
  size_t slot = ((uintptr_t)key >> 4) * UINT64_C(0x9e3779b97f4a7c15) & (facts->capacity - 1);
  while (facts->keys[slot] && facts->keys[slot] != key)
    slot = (slot + 1) & (facts->capacity - 1);
  return slot;
}

static void setFact(Facts *facts, MlirValue value, ExactFact fact) {
  if (facts->count * 2 >= facts->capacity) {
    Facts bigger = {.capacity = facts->capacity ? 2 * facts->capacity : 256};
    bigger.keys = memoryZeroed(bigger.capacity * sizeof *bigger.keys);
    bigger.facts = memoryZeroed(bigger.capacity * sizeof *bigger.facts);
    for (size_t i = 0; i < facts->capacity; ++i)
      if (facts->keys[i]) {
        size_t slot = slotOf(&bigger, facts->keys[i]);
        bigger.keys[slot] = facts->keys[i];
        bigger.facts[slot] = facts->facts[i];
        ++bigger.count;
      }
    free(facts->keys);
    free(facts->facts);
    *facts = bigger;
  }
  size_t slot = slotOf(facts, value.ptr);
  facts->count += !facts->keys[slot];
  facts->keys[slot] = (void *)value.ptr;
  facts->facts[slot] = fact;
}

static ExactFact range(double low, double high) {
  return (ExactFact){.exact = true, .low = low, .high = high};
}
static ExactFact whole(double bound) { return range(-bound, bound); }

static ExactFact factOf(const Analysis *a, MlirValue value) {
  size_t slot = a->facts.capacity ? slotOf(&a->facts, value.ptr) : 0;
  if (a->facts.capacity && a->facts.keys[slot])
    return a->facts.facts[slot];
  return whole(INFINITY); // only integers are left without one
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// Adds one number to a fact.
static void include(ExactFact *fact, double value) {
  // Masks and the starts of maxima: infinite, or so large that whatever is added is lost.
  if (!(fabs(value) < 0x1p100))
    return;
  fact->low = fmin(fact->low, value);
  fact->high = fmax(fact->high, value);
  while (fact->fraction < MAX_FRACTION &&
         ldexp(value, fact->fraction) != floor(ldexp(value, fact->fraction)))
    ++fact->fraction;
}

static ExactFact ofData(ShardRtElement element, const void *data, size_t count) {
  ExactFact fact = whole(0);
  for (size_t i = 0; i < count; ++i)
    include(&fact, elementRead(element, data, i));
  return fact;
}

static ExactFact ofDrawn(const ValueSource *source) {
  const Distribution *distribution = &source->distribution;
  if (distribution->kind == DISTRIBUTION_INDEX)
    return whole((double)(distribution->count > 1 ? distribution->count - 1 : 1));
  if (distribution->kind == DISTRIBUTION_MASK)
    return whole(1);
  ExactFact fact = whole(source->whole);
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

static bool isFloat(MlirValue value) { return mantissaBits(mlirValueGetType(value)) > 0; }

static ExactFact inexact(MlirOperation op, bool tooLarge) {
  return (ExactFact){.low = -INFINITY, .high = INFINITY, .culprit = op, .tooLarge = tooLarge};
}

/// `fact` as a value of `type` that `op` makes: does it fit the mantissa? A sum or product of what
/// a function gave is rounded, and then its order counts.
static ExactFact fit(ExactFact fact, MlirType type, MlirOperation op) {
  int bits = mantissaBits(type);
  if (!fact.exact || bits == 0)
    return fact;
  if (!mlirOperationIsNull(fact.function))
    return inexact(fact.function, false);
  double largest = mlirTypeIsAF16(elementTypeOf(type)) ? 65504 : INFINITY;
  double bound = fmax(fabs(fact.low), fabs(fact.high));
  if (!(ldexp(bound, fact.fraction) <= ldexp(1, bits)) || bound > largest)
    return inexact(op, true);
  return fact;
}

static ExactFact join(ExactFact x, ExactFact y) {
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

static ExactFact negative(ExactFact x) {
  double low = -x.high;
  x.high = -x.low;
  x.low = low;
  return x;
}

/// The larger of the two, or the smaller.
static ExactFact extreme(ExactFact x, ExactFact y, bool largest) {
  ExactFact both = join(x, y);
  if (both.exact) {
    both.low = largest ? fmax(x.low, y.low) : fmin(x.low, y.low);
    both.high = largest ? fmax(x.high, y.high) : fmin(x.high, y.high);
  }
  return both;
}

static ExactFact sum(ExactFact x, ExactFact y) {
  double low = x.low + y.low, high = x.high + y.high;
  x = join(x, y);
  if (x.exact)
    x.low = low, x.high = high;
  return x;
}

static double times(double x, double y) { return x == 0 || y == 0 ? 0 : x * y; }

static ExactFact product(ExactFact x, ExactFact y) {
  int32_t fraction = x.fraction + y.fraction;
  double corners[] = {times(x.low, y.low), times(x.low, y.high), times(x.high, y.low),
                      times(x.high, y.high)};
  x = join(x, y);
  if (x.exact) {
    x.low = fmin(fmin(corners[0], corners[1]), fmin(corners[2], corners[3]));
    x.high = fmax(fmax(corners[0], corners[1]), fmax(corners[2], corners[3]));
    x.fraction = fraction;
  }
  return x;
}

//===----------------------------------------------------------------------===//
// Ops on numbers, inside a body or on tensors
//===----------------------------------------------------------------------===//

static bool nameIs(MlirOperation op, const char *name) {
  return mlirStringRefEqual(mlirIdentifierStr(mlirOperationGetName(op)),
                            mlirStringRefCreateFromCString(name));
}

static bool nameIsOneOf(MlirOperation op, const char *const *names) {
  for (; *names; ++names)
    if (nameIs(op, *names))
      return true;
  return false;
}

static bool nameStartsWith(MlirOperation op, const char *prefix) {
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  size_t length = strlen(prefix);
  return name.length >= length && !memcmp(name.data, prefix, length);
}

static MlirAttribute attributeOf(MlirOperation op, const char *name) {
  return mlirOperationGetAttributeByName(op, mlirStringRefCreateFromCString(name));
}

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
  MlirAttribute attribute = attributeOf(op, "value");
  if (!nameIs(op, "arith.constant") || mlirAttributeIsNull(attribute))
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
  MlirAttribute value = attributeOf(op, "value");
  ExactFact fact = whole(0);
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
  } else if (isFloat(mlirOperationGetResult(op, 0))) {
    return inexact(op, false); // import makes other tensors arguments
  } else {
    fact = whole(INFINITY);
  }
  return fact;
}

/// Result of an op without regions and with one result. `facts` [n] are its operands'.
static ExactFact ofNumbers(MlirOperation op, intptr_t n, const ExactFact *facts) {
  MlirValue result = mlirOperationGetResult(op, 0);
  MlirType type = mlirValueGetType(result);
  double power;
  ExactFact all = n ? facts[0] : whole(0);
  for (intptr_t i = 1; i < n; ++i)
    all = join(all, facts[i]);
  if (nameIs(op, "arith.constant"))
    return fit(ofConstant(op), type, op);
  if (nameIs(op, "arith.subf") || nameIs(op, "arith.subi"))
    return fit(sum(facts[0], negative(facts[1])), type, op);
  if (nameIsOneOf(op, sums))
    return fit(sum(facts[0], facts[1]), type, op);
  if (nameIsOneOf(op, products))
    return fit(product(facts[0], facts[1]), type, op);
  if (nameIs(op, "math.fma"))
    return fit(sum(product(facts[0], facts[1]), facts[2]), type, op);
  if (nameIs(op, "arith.select"))
    return join(facts[0].exact ? facts[1] : facts[0], facts[2]);
  if (nameIs(op, "arith.uitofp")) // a signed operand is a large number then
    return fit(all, type, op);
  if (nameIs(op, "arith.divf") && isPowerOfTwo(mlirOperationGetOperand(op, 1), &power)) {
    all = facts[0];
    all.low /= power;
    all.high /= power;
    all.fraction += (int32_t)fmax(0, log2(power));
    return fit(all, type, op);
  }
  if (nameIsOneOf(op, functions)) {
    if (all.exact)
      all = (ExactFact){.exact = true, .low = -INFINITY, .high = INFINITY, .function = op};
    return all;
  }
  if (mlirOperationIsNull(all.function) && nameIsOneOf(op, roundings)) {
    all.fraction = 0;
    all.low = floor(all.low);
    all.high = ceil(all.high);
    return all;
  }
  if (nameIsOneOf(op, maxima) || nameIsOneOf(op, minima))
    return extreme(facts[0], facts[1], nameIsOneOf(op, maxima));
  if (nameIs(op, "arith.negf"))
    return negative(all);
  if (nameIs(op, "math.absf") || nameIs(op, "math.absi")) {
    all.high = fmax(fabs(all.low), fabs(all.high));
    all.low = 0;
    return all;
  }
  if (nameIsOneOf(op, choices))
    return mlirOperationIsNull(all.function) ? fit(all, type, op) : all;
  if (nameIsOneOf(op, integers)) {
    all.fraction = 0;
    if (nameIs(op, "arith.cmpf"))
      return all.exact ? range(0, 1) : all;
    return all;
  }
  if (nameIs(op, "arith.cmpi"))
    return all.exact ? range(0, 1) : all;
  if (nameIs(op, "tensor.empty"))
    return whole(0); // whoever reads it reads nothing that counts
  bool bitwise = nameIs(op, "arith.xori") || nameIs(op, "arith.ori") || nameIs(op, "arith.andi");
  bool divides = nameIs(op, "arith.divsi") || (nameIs(op, "arith.divui") && all.low >= 0);
  if (all.exact && (bitwise || divides) && fmax(-all.low, all.high) < 0x1p62) {
    double power = exp2(ceil(log2(1 + fmax(-all.low, all.high))));
    return range(all.low < 0 ? -power : 0, power - 1);
  }
  if (!isFloat(result)) {
    bool bit = mlirTypeIsAInteger(elementTypeOf(type)) &&
               mlirIntegerTypeGetWidth(elementTypeOf(type)) == 1;
    return all.exact ? whole(bit ? 1 : INFINITY) : all;
  }
  return all.exact ? inexact(op, false) : all;
}

//===----------------------------------------------------------------------===//
// Ops with regions
//===----------------------------------------------------------------------===//

static void visitBlock(Analysis *a, MlirBlock block);

static MlirOperation terminatorOf(MlirBlock block) { return mlirBlockGetTerminator(block); }

static MlirBlock bodyOf(MlirOperation op, intptr_t region) {
  return mlirRegionGetFirstBlock(mlirOperationGetRegion(op, region));
}

/// Whether `value` is zero where `argument` of the same body is.
static bool vanishesWith(MlirValue value, MlirValue argument) {
  static const char *const keeping[] = {
      "arith.mulf",   "arith.muli", "arith.extf",   "arith.truncf",
      "arith.sitofp", "arith.negf", "arith.fptosi", NULL};
  if (mlirValueEqual(value, argument))
    return true;
  if (!mlirValueIsAOpResult(value) || !nameIsOneOf(mlirOpResultGetOwner(value), keeping))
    return false;
  MlirOperation op = mlirOpResultGetOwner(value);
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    if (vanishesWith(mlirOperationGetOperand(op, i), argument))
      return true;
  return false;
}

/// The least number of terms that are not zero of a sum over `loop`, `count` long, of `term`.
static double countTerms(Analysis *a, MlirOperation op, MlirValue term, intptr_t loop,
                         double count) {
  MlirAttribute maps = mlirLinalgGetIndexingMapsAttribute(op);
  MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0));
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i) {
    ExactFact fact = factOf(a, mlirOperationGetOperand(op, i));
    MlirAffineMap map = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, i));
    if (fact.line > 0 && vanishesWith(term, mlirBlockGetArgument(body, i)))
      for (intptr_t d = 0; d < mlirAffineMapGetNumResults(map); ++d) {
        MlirAffineExpr expr = mlirAffineMapGetResult(map, d);
        if (mlirAffineExprIsADim(expr) && mlirAffineDimExprGetPosition(expr) == loop)
          count = fmin(count, fact.line);
      }
  }
  return count;
}

/// Steps of the loops of a linalg op that are not in result `index`'s map; with `term`, only those
/// in which it may be other than zero.
static double reductionCount(Analysis *a, MlirOperation op, intptr_t index, MlirValue term) {
  MlirAttribute maps = mlirLinalgGetIndexingMapsAttribute(op);
  intptr_t nOperands = mlirOperationGetNumOperands(op), nResults = mlirOperationGetNumResults(op);
  if (mlirAttributeIsNull(maps) || mlirArrayAttrGetNumElements(maps) != nOperands)
    return INFINITY;
  double sizes[64];
  intptr_t nLoops =
      mlirAffineMapGetNumDims(mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, 0)));
  if (nLoops > 64)
    return INFINITY;
  for (intptr_t l = 0; l < nLoops; ++l)
    sizes[l] = INFINITY;
  bool inResult[64] = {false};
  for (intptr_t i = 0; i < nOperands; ++i) {
    MlirAffineMap map = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, i));
    MlirType type = mlirValueGetType(mlirOperationGetOperand(op, i));
    for (intptr_t d = 0; d < mlirAffineMapGetNumResults(map); ++d) {
      MlirAffineExpr expr = mlirAffineMapGetResult(map, d);
      if (!mlirAffineExprIsADim(expr))
        continue;
      intptr_t loop = mlirAffineDimExprGetPosition(expr);
      sizes[loop] = (double)mlirShapedTypeGetDimSize(type, d);
      inResult[loop] |= i == nOperands - nResults + index;
    }
  }
  double count = 1;
  for (intptr_t l = 0; l < nLoops; ++l)
    if (!inResult[l])
      count *= mlirValueIsNull(term) ? sizes[l] : countTerms(a, op, term, l, sizes[l]);
  return count;
}

/// The operand of `op` that is not `accumulator`; null unless exactly one is it.
static MlirValue otherOperand(MlirOperation op, MlirValue accumulator) {
  MlirValue none = {NULL};
  if (mlirOperationGetNumOperands(op) != 2)
    return none;
  MlirValue x = mlirOperationGetOperand(op, 0), y = mlirOperationGetOperand(op, 1);
  bool first = mlirValueEqual(x, accumulator), second = mlirValueEqual(y, accumulator);
  return first == second ? none : first ? y : x;
}

static bool isUsed(MlirValue value) { return !mlirOpOperandIsNull(mlirValueGetFirstUse(value)); }

/// Result `index` of a linalg op whose body adds, multiplies or chooses `count` times.
static ExactFact reduce(Analysis *a, MlirOperation op, intptr_t index, MlirBlock body,
                        ExactFact init) {
  intptr_t nInputs = mlirOperationGetNumOperands(op) - mlirOperationGetNumResults(op);
  MlirValue accumulator = mlirBlockGetArgument(body, nInputs + index);
  MlirValue yielded = mlirOperationGetOperand(terminatorOf(body), index);
  MlirType type = mlirValueGetType(yielded);
  MlirOperation last =
      mlirValueIsAOpResult(yielded) ? mlirOpResultGetOwner(yielded) : (MlirOperation){NULL};
  MlirValue other = mlirOperationIsNull(last) ? (MlirValue){NULL} : otherOperand(last, accumulator);
  if (!mlirValueIsNull(other)) {
    ExactFact step = factOf(a, other);
    bool adds = nameIsOneOf(last, sums);
    double count = reductionCount(a, op, index, adds ? other : (MlirValue){NULL});
    if (adds) {
      if (nameIs(last, "arith.subf") || nameIs(last, "arith.subi"))
        step = negative(step);
      step.low = fmin(0, times(step.low, count)); // partial sums
      step.high = fmax(0, times(step.high, count));
      return fit(sum(init, step), type, op);
    }
    if (nameIsOneOf(last, products)) {
      step.high = pow(fmax(1, fmax(fabs(step.low), fabs(step.high))), count);
      step.low = -step.high;
      step.fraction = step.fraction ? MAX_FRACTION : 0;
      return fit(product(init, step), type, op);
    }
    if (nameIsOneOf(last, choices) || nameIsOneOf(last, maxima) || nameIsOneOf(last, minima))
      return join(init, step);
  }
  // Whatever the body does, a second step must find what the first one left.
  ExactFact once = factOf(a, yielded);
  setFact(&a->facts, accumulator, join(init, once));
  visitBlock(a, body);
  ExactFact twice = factOf(a, yielded);
  if (!twice.exact || !isFloat(yielded) ||
      (twice.low >= fmin(init.low, once.low) && twice.high <= fmax(init.high, once.high) &&
       twice.fraction <= once.fraction))
    return join(init, twice);
  return inexact(op, false);
}

static void visitLinalg(Analysis *a, MlirOperation op) {
  intptr_t nOperands = mlirOperationGetNumOperands(op), nResults = mlirOperationGetNumResults(op);
  MlirBlock body = bodyOf(op, 0);
  intptr_t nArguments = mlirBlockGetNumArguments(body);
  for (intptr_t i = 0; i < nArguments && i < nOperands; ++i)
    setFact(&a->facts, mlirBlockGetArgument(body, i), factOf(a, mlirOperationGetOperand(op, i)));
  visitBlock(a, body);
  ExactFact results[64];
  for (intptr_t i = 0; i < nResults && i < 64; ++i) {
    results[i] = factOf(a, mlirOperationGetOperand(terminatorOf(body), i));
    if (nArguments == nOperands && isUsed(mlirBlockGetArgument(body, nOperands - nResults + i)))
      results[i] =
          reduce(a, op, i, body, factOf(a, mlirOperationGetOperand(op, nOperands - nResults + i)));
  }
  for (intptr_t i = 0; i < nResults && i < 64; ++i)
    setFact(&a->facts, mlirOperationGetResult(op, i), results[i]);
}

static MlirOperation lookup(const Analysis *a, MlirStringRef name) {
  for (MlirOperation op = mlirBlockGetFirstOperation(bodyOf(a->module, 0));
       !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op)) {
    MlirAttribute symbol = attributeOf(op, "sym_name");
    if (!mlirAttributeIsNull(symbol) && mlirStringRefEqual(mlirStringAttrGetValue(symbol), name))
      return op;
  }
  return (MlirOperation){NULL};
}

static void giveUp(Analysis *a, MlirOperation op) {
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i) {
    MlirValue result = mlirOperationGetResult(op, i);
    setFact(&a->facts, result, isFloat(result) ? inexact(op, false) : whole(INFINITY));
  }
}

static void visitCall(Analysis *a, MlirOperation op) {
  MlirOperation callee = lookup(a, mlirFlatSymbolRefAttrGetValue(attributeOf(op, "callee")));
  if (mlirOperationIsNull(callee) || a->depth > MAX_DEPTH) {
    giveUp(a, op);
    return;
  }
  MlirBlock body = bodyOf(callee, 0);
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    setFact(&a->facts, mlirBlockGetArgument(body, i), factOf(a, mlirOperationGetOperand(op, i)));
  ++a->depth;
  visitBlock(a, body);
  --a->depth;
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i)
    setFact(&a->facts, mlirOperationGetResult(op, i),
            factOf(a, mlirOperationGetOperand(terminatorOf(body), i)));
}

static bool constantOf(MlirValue value, int64_t *out) {
  if (!mlirValueIsAOpResult(value))
    return false;
  MlirAttribute attribute = attributeOf(mlirOpResultGetOwner(value), "value");
  if (mlirAttributeIsNull(attribute) || !mlirAttributeIsAInteger(attribute))
    return false;
  *out = mlirIntegerAttrGetValueInt(attribute);
  return true;
}

/// Step after step, as it runs.
static void visitFor(Analysis *a, MlirOperation op) {
  int64_t begin, end, step;
  if (!constantOf(mlirOperationGetOperand(op, 0), &begin) ||
      !constantOf(mlirOperationGetOperand(op, 1), &end) ||
      !constantOf(mlirOperationGetOperand(op, 2), &step) || step < 1 ||
      (end - begin) / step > MAX_TRIPS) {
    giveUp(a, op);
    return;
  }
  MlirBlock body = bodyOf(op, 0);
  intptr_t nCarried = mlirOperationGetNumResults(op);
  setFact(&a->facts, mlirBlockGetArgument(body, 0), whole(fmax(fabs((double)begin), (double)end)));
  for (intptr_t i = 0; i < nCarried; ++i)
    setFact(&a->facts, mlirBlockGetArgument(body, 1 + i),
            factOf(a, mlirOperationGetOperand(op, 3 + i)));
  for (int64_t at = begin; at < end; at += step) {
    visitBlock(a, body);
    for (intptr_t i = 0; i < nCarried; ++i)
      setFact(&a->facts, mlirBlockGetArgument(body, 1 + i),
              factOf(a, mlirOperationGetOperand(terminatorOf(body), i)));
  }
  for (intptr_t i = 0; i < nCarried; ++i)
    setFact(&a->facts, mlirOperationGetResult(op, i), factOf(a, mlirBlockGetArgument(body, 1 + i)));
}

static void visitIf(Analysis *a, MlirOperation op) {
  for (intptr_t r = 0; r < 2; ++r) {
    MlirBlock body = bodyOf(op, r);
    if (mlirBlockIsNull(body))
      continue;
    visitBlock(a, body);
    for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i) {
      ExactFact fact = factOf(a, mlirOperationGetOperand(terminatorOf(body), i));
      MlirValue result = mlirOperationGetResult(op, i);
      setFact(&a->facts, result, r ? join(factOf(a, result), fact) : fact);
    }
  }
}

/// Until another step finds nothing new: magnitudes that keep growing are given up.
static void visitWhile(Analysis *a, MlirOperation op) {
  MlirBlock before = bodyOf(op, 0), after = bodyOf(op, 1);
  intptr_t n = mlirBlockGetNumArguments(before), nResults = mlirOperationGetNumResults(op);
  for (intptr_t i = 0; i < n; ++i)
    setFact(&a->facts, mlirBlockGetArgument(before, i), factOf(a, mlirOperationGetOperand(op, i)));
  bool stable = false;
  for (int step = 0; step < 8 && !stable; ++step) {
    visitBlock(a, before);
    for (intptr_t i = 0; i < nResults; ++i) { // the condition is operand 0
      ExactFact fact = factOf(a, mlirOperationGetOperand(terminatorOf(before), 1 + i));
      setFact(&a->facts, mlirBlockGetArgument(after, i), fact);
      setFact(&a->facts, mlirOperationGetResult(op, i), fact);
    }
    visitBlock(a, after);
    stable = true;
    for (intptr_t i = 0; i < n; ++i) {
      MlirValue argument = mlirBlockGetArgument(before, i);
      ExactFact was = factOf(a, argument);
      ExactFact is = join(was, factOf(a, mlirOperationGetOperand(terminatorOf(after), i)));
      if (!isFloat(argument))
        is = was.exact && is.exact ? whole(INFINITY) : is;
      stable &= was.exact == is.exact && was.low == is.low && was.high == is.high &&
                was.fraction == is.fraction;
      setFact(&a->facts, argument, is);
    }
  }
  if (!stable)
    giveUp(a, op);
}

static void visitPad(Analysis *a, MlirOperation op) {
  MlirBlock body = bodyOf(op, 0);
  visitBlock(a, body);
  setFact(&a->facts, mlirOperationGetResult(op, 0),
          join(factOf(a, mlirOperationGetOperand(op, 0)),
               factOf(a, mlirOperationGetOperand(terminatorOf(body), 0))));
}

static void visitOp(Analysis *a, MlirOperation op) {
  if (mlirOperationGetNumResults(op) == 0)
    return;
  if (nameStartsWith(op, "linalg.") && mlirOperationGetNumRegions(op) == 1) {
    visitLinalg(a, op);
  } else if (nameIs(op, "func.call")) {
    visitCall(a, op);
  } else if (nameIs(op, "scf.for")) {
    visitFor(a, op);
  } else if (nameIs(op, "scf.if")) {
    visitIf(a, op);
  } else if (nameIs(op, "scf.while")) {
    visitWhile(a, op);
  } else if (nameIs(op, "tensor.pad")) {
    visitPad(a, op);
  } else if (mlirOperationGetNumRegions(op) > 0 || mlirOperationGetNumResults(op) > 1) {
    giveUp(a, op);
  } else {
    intptr_t n = mlirOperationGetNumOperands(op);
    ExactFact *facts = memoryZeroed((size_t)(n ? n : 1) * sizeof *facts);
    for (intptr_t i = 0; i < n; ++i)
      facts[i] = factOf(a, mlirOperationGetOperand(op, i));
    // Of data movement only the data counts, not where it is.
    bool moves = nameStartsWith(op, "tensor.extract");
    setFact(&a->facts, mlirOperationGetResult(op, 0), ofNumbers(op, moves ? 1 : n, facts));
    free(facts);
  }
}

static void visitBlock(Analysis *a, MlirBlock block) {
  for (MlirOperation op = mlirBlockGetFirstOperation(block); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op))
    visitOp(a, op);
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

static void setArguments(Analysis *a, MlirOperation func, MlirBlock body) {
  MlirAttribute attributes = attributeOf(func, "arg_attrs");
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(body); ++i) {
    int64_t index = i;
    if (!mlirAttributeIsNull(attributes) && mlirAttributeIsAArray(attributes)) {
      MlirAttribute original = mlirDictionaryAttrGetElementByName(
          mlirArrayAttrGetElement(attributes, i), mlirStringRefCreateFromCString("spmd.arg"));
      if (!mlirAttributeIsNull(original) && mlirAttributeIsAInteger(original))
        index = mlirIntegerAttrGetValueInt(original);
    }
    MlirValue argument = mlirBlockGetArgument(body, i);
    ExactFact fact =
        index >= 0 && (size_t)index < a->nArguments ? a->arguments[index] : whole(INFINITY);
    // A culprit of its own: the function, that is, the argument.
    setFact(&a->facts, argument, fit(fact, mlirValueGetType(argument), (MlirOperation){NULL}));
  }
}

static ExactFact *analyse(MlirOperation module, const ExactFact *arguments, size_t nArguments,
                          size_t *outCount) {
  Analysis a = {.module = module, .arguments = arguments, .nArguments = nArguments};
  ExactFact *out = NULL;
  *outCount = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(bodyOf(module, 0)); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op)) {
    if (!nameIs(op, "func.func") || !mlirAttributeIsNull(attributeOf(op, "sym_visibility")))
      continue;
    MlirBlock body = bodyOf(op, 0);
    if (mlirBlockIsNull(body))
      continue;
    setArguments(&a, op, body);
    visitBlock(&a, body);
    MlirOperation end = terminatorOf(body);
    *outCount = (size_t)mlirOperationGetNumOperands(end);
    out = memoryZeroed((*outCount ? *outCount : 1) * sizeof *out);
    for (size_t i = 0; i < *outCount; ++i)
      out[i] = factOf(&a, mlirOperationGetOperand(end, (intptr_t)i));
    break;
  }
  free(a.facts.keys);
  free(a.facts.facts);
  return out;
}

static ExactFact *analyseWith(MlirOperation module, const ShardProgram *program,
                              const ValueOptions *options, size_t *outCount) {
  ValueSet values;
  valuesCreate(program, options, &values);
  ExactFact *arguments = memoryZeroed((values.count ? values.count : 1) * sizeof *arguments);
  for (int32_t i = 0; i < program->nArguments; ++i) {
    const ShardProgramValue *value = &program->arguments[i];
    const ValueSource *source = &values.sources[value->index];
    size_t count = 1;
    for (int32_t d = 0; d < value->rank; ++d)
      count *= (size_t)value->globalShape[d];
    arguments[value->index] =
        source->data ? ofData(value->element, source->data, count) : ofDrawn(source);
  }
  ExactFact *out = analyse(module, arguments, values.count, outCount);
  free(arguments);
  valuesRelease(&values);
  return out;
}

ExactFact *exactChoose(MlirOperation module, const ShardProgram *program, ValueOptions *options,
                       size_t *outCount) {
  // Large numbers first; what adds up too many of them (bf16) has few that are not zero.
  static const struct {
    int32_t limit, line;
  } trials[] = {{3, 0}, {2, 0}, {1, 0}, {1, 128}};
  ExactFact *best = NULL;
  size_t bestExact = 0, chosen = 0;
  for (size_t t = 0; t < sizeof trials / sizeof *trials; ++t) {
    options->wholeNumbers = trials[t].limit;
    options->nonzeroLine = trials[t].line;
    ExactFact *facts = analyseWith(module, program, options, outCount);
    size_t nExact = 0;
    for (size_t i = 0; i < *outCount; ++i)
      nExact += facts[i].exact;
    if (best && nExact <= bestExact) {
      free(facts);
      continue;
    }
    free(best);
    best = facts;
    bestExact = nExact;
    chosen = t;
  }
  options->wholeNumbers = trials[chosen].limit;
  options->nonzeroLine = trials[chosen].line;
  return best;
}

typedef struct Text {
  char *data;
  size_t length;
} Text;

static void appendText(MlirStringRef part, void *user) {
  Text *text = user;
  text->data = memoryGrow(text->data, text->length + part.length + 1);
  memcpy(text->data + text->length, part.data, part.length);
  text->length += part.length;
  text->data[text->length] = 0;
}

char *exactReason(const ExactFact *fact) {
  Text text = {NULL, 0};
  if (mlirOperationIsNull(fact->culprit)) {
    appendText(mlirStringRefCreateFromCString("the values of an argument"), &text);
    return text.data;
  }
  if (fact->tooLarge)
    appendText(mlirStringRefCreateFromCString("numbers too large after "), &text);
  appendText(mlirIdentifierStr(mlirOperationGetName(fact->culprit)), &text);
  MlirLocation location = mlirOperationGetLocation(fact->culprit);
  char *place = NULL;
  if (mlirLocationIsAFileLineColRange(location)) {
    MlirStringRef file = mlirIdentifierStr(mlirLocationFileLineColRangeGetFilename(location));
    if (asprintf(&place, " at %.*s:%d:%d", (int)file.length, file.data,
                 mlirLocationFileLineColRangeGetStartLine(location),
                 mlirLocationFileLineColRangeGetStartColumn(location)) < 0)
      stop("out of memory");
    appendText(mlirStringRefCreateFromCString(place), &text);
    free(place);
  }
  return text.data;
}
