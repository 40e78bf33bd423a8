//===- Exact.c - Which results have one right bit pattern ---------*- C -*-===//
// An interval analysis, forward over the ops: magnitude and binary places of every value. A sum or
// product of multiples of 2^-f is one again, and is exact while magnitude * 2^f fits the mantissa;
// so is every partial sum on the way, in any order.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE

#include "ExactNumbers.h"
#include "Memory.h"
#include "Ops.h"
#include "PointerTable.h"

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

enum { MAX_TRIPS = 1024, MAX_DEPTH = 64 };

typedef struct Analysis {
  MlirOperation module;
  const ExactFact *arguments;
  size_t nArguments;
  PointerTable known; // value -> index in `facts`
  ExactFact *facts;
  size_t capacity;
  int depth;
} Analysis;

static void setFact(Analysis *a, MlirValue value, ExactFact fact) {
  size_t index = a->known.count;
  if (!pointerTableAdd(&a->known, value.ptr, (int64_t)index))
    index = (size_t)*pointerTableFind(&a->known, value.ptr);
  if (index >= a->capacity) {
    a->capacity = a->capacity ? 2 * a->capacity : 256;
    a->facts = memoryGrow(a->facts, a->capacity * sizeof *a->facts);
  }
  a->facts[index] = fact;
}

static ExactFact factOf(const Analysis *a, MlirValue value) {
  const int64_t *index = pointerTableFind(&a->known, value.ptr);
  return index ? a->facts[*index] : exactWhole(INFINITY); // only integers are left without one
}

//===----------------------------------------------------------------------===//
// Ops with regions
//===----------------------------------------------------------------------===//

static void visitBlock(Analysis *a, MlirBlock block);

static MlirOperation terminatorOf(MlirBlock block) { return mlirBlockGetTerminator(block); }

/// Whether `value` is zero where `argument` of the same body is.
static bool vanishesWith(MlirValue value, MlirValue argument) {
  static const char *const keeping[] = {
      "arith.mulf",   "arith.muli", "arith.extf",   "arith.truncf",
      "arith.sitofp", "arith.negf", "arith.fptosi", NULL};
  if (mlirValueEqual(value, argument))
    return true;
  if (!mlirValueIsAOpResult(value) || !opIsOneOf(mlirOpResultGetOwner(value), keeping))
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
    bool adds = exactIsSum(last);
    double count = reductionCount(a, op, index, adds ? other : (MlirValue){NULL});
    if (adds) {
      if (opIs(last, "arith.subf") || opIs(last, "arith.subi"))
        step = exactNegative(step);
      step.low = fmin(0, exactTimes(step.low, count)); // partial sums
      step.high = fmax(0, exactTimes(step.high, count));
      return exactFit(exactSum(init, step), type, op);
    }
    if (exactIsProduct(last)) {
      step.high = pow(fmax(1, fmax(fabs(step.low), fabs(step.high))), count);
      step.low = -step.high;
      step.fraction = step.fraction ? EXACT_MAX_FRACTION : 0;
      return exactFit(exactProduct(init, step), type, op);
    }
    if (exactIsChoice(last))
      return exactJoin(init, step);
  }
  // Whatever the body does, a second step must find what the first one left.
  ExactFact once = factOf(a, yielded);
  setFact(a, accumulator, exactJoin(init, once));
  visitBlock(a, body);
  ExactFact twice = factOf(a, yielded);
  if (!twice.exact || !exactIsFloat(yielded) ||
      (twice.low >= fmin(init.low, once.low) && twice.high <= fmax(init.high, once.high) &&
       twice.fraction <= once.fraction))
    return exactJoin(init, twice);
  return exactNot(op, false);
}

static void visitLinalg(Analysis *a, MlirOperation op) {
  intptr_t nOperands = mlirOperationGetNumOperands(op), nResults = mlirOperationGetNumResults(op);
  MlirBlock body = opBody(op, 0);
  intptr_t nArguments = mlirBlockGetNumArguments(body);
  for (intptr_t i = 0; i < nArguments && i < nOperands; ++i)
    setFact(a, mlirBlockGetArgument(body, i), factOf(a, mlirOperationGetOperand(op, i)));
  visitBlock(a, body);
  ExactFact results[64];
  for (intptr_t i = 0; i < nResults && i < 64; ++i) {
    results[i] = factOf(a, mlirOperationGetOperand(terminatorOf(body), i));
    if (nArguments == nOperands && isUsed(mlirBlockGetArgument(body, nOperands - nResults + i)))
      results[i] =
          reduce(a, op, i, body, factOf(a, mlirOperationGetOperand(op, nOperands - nResults + i)));
  }
  for (intptr_t i = 0; i < nResults && i < 64; ++i)
    setFact(a, mlirOperationGetResult(op, i), results[i]);
}

static MlirOperation lookup(const Analysis *a, MlirStringRef name) {
  for (MlirOperation op = mlirBlockGetFirstOperation(opBody(a->module, 0));
       !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op)) {
    MlirAttribute symbol = opAttribute(op, "sym_name");
    if (!mlirAttributeIsNull(symbol) && mlirStringRefEqual(mlirStringAttrGetValue(symbol), name))
      return op;
  }
  return (MlirOperation){NULL};
}

static void giveUp(Analysis *a, MlirOperation op) {
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i) {
    MlirValue result = mlirOperationGetResult(op, i);
    setFact(a, result, exactIsFloat(result) ? exactNot(op, false) : exactWhole(INFINITY));
  }
}

static void visitCall(Analysis *a, MlirOperation op) {
  MlirOperation callee = lookup(a, mlirFlatSymbolRefAttrGetValue(opAttribute(op, "callee")));
  if (mlirOperationIsNull(callee) || a->depth > MAX_DEPTH) {
    giveUp(a, op);
    return;
  }
  MlirBlock body = opBody(callee, 0);
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    setFact(a, mlirBlockGetArgument(body, i), factOf(a, mlirOperationGetOperand(op, i)));
  ++a->depth;
  visitBlock(a, body);
  --a->depth;
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i)
    setFact(a, mlirOperationGetResult(op, i),
            factOf(a, mlirOperationGetOperand(terminatorOf(body), i)));
}

static bool constantOf(MlirValue value, int64_t *out) {
  if (!mlirValueIsAOpResult(value))
    return false;
  MlirAttribute attribute = opAttribute(mlirOpResultGetOwner(value), "value");
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
  MlirBlock body = opBody(op, 0);
  intptr_t nCarried = mlirOperationGetNumResults(op);
  setFact(a, mlirBlockGetArgument(body, 0), exactWhole(fmax(fabs((double)begin), (double)end)));
  for (intptr_t i = 0; i < nCarried; ++i)
    setFact(a, mlirBlockGetArgument(body, 1 + i), factOf(a, mlirOperationGetOperand(op, 3 + i)));
  for (int64_t at = begin; at < end; at += step) {
    visitBlock(a, body);
    for (intptr_t i = 0; i < nCarried; ++i)
      setFact(a, mlirBlockGetArgument(body, 1 + i),
              factOf(a, mlirOperationGetOperand(terminatorOf(body), i)));
  }
  for (intptr_t i = 0; i < nCarried; ++i)
    setFact(a, mlirOperationGetResult(op, i), factOf(a, mlirBlockGetArgument(body, 1 + i)));
}

static void visitIf(Analysis *a, MlirOperation op) {
  for (intptr_t r = 0; r < 2; ++r) {
    MlirBlock body = opBody(op, r);
    if (mlirBlockIsNull(body))
      continue;
    visitBlock(a, body);
    for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i) {
      ExactFact fact = factOf(a, mlirOperationGetOperand(terminatorOf(body), i));
      MlirValue result = mlirOperationGetResult(op, i);
      setFact(a, result, r ? exactJoin(factOf(a, result), fact) : fact);
    }
  }
}

/// Until another step finds nothing new: magnitudes that keep growing are given up.
static void visitWhile(Analysis *a, MlirOperation op) {
  MlirBlock before = opBody(op, 0), after = opBody(op, 1);
  intptr_t n = mlirBlockGetNumArguments(before), nResults = mlirOperationGetNumResults(op);
  for (intptr_t i = 0; i < n; ++i)
    setFact(a, mlirBlockGetArgument(before, i), factOf(a, mlirOperationGetOperand(op, i)));
  bool stable = false;
  for (int step = 0; step < 8 && !stable; ++step) {
    visitBlock(a, before);
    for (intptr_t i = 0; i < nResults; ++i) { // the condition is operand 0
      ExactFact fact = factOf(a, mlirOperationGetOperand(terminatorOf(before), 1 + i));
      setFact(a, mlirBlockGetArgument(after, i), fact);
      setFact(a, mlirOperationGetResult(op, i), fact);
    }
    visitBlock(a, after);
    stable = true;
    for (intptr_t i = 0; i < n; ++i) {
      MlirValue argument = mlirBlockGetArgument(before, i);
      ExactFact was = factOf(a, argument);
      ExactFact is = exactJoin(was, factOf(a, mlirOperationGetOperand(terminatorOf(after), i)));
      if (!exactIsFloat(argument))
        is = was.exact && is.exact ? exactWhole(INFINITY) : is;
      stable &= was.exact == is.exact && was.low == is.low && was.high == is.high &&
                was.fraction == is.fraction;
      setFact(a, argument, is);
    }
  }
  if (!stable)
    giveUp(a, op);
}

static void visitPad(Analysis *a, MlirOperation op) {
  MlirBlock body = opBody(op, 0);
  visitBlock(a, body);
  setFact(a, mlirOperationGetResult(op, 0),
          exactJoin(factOf(a, mlirOperationGetOperand(op, 0)),
                    factOf(a, mlirOperationGetOperand(terminatorOf(body), 0))));
}

static void visitOp(Analysis *a, MlirOperation op) {
  if (mlirOperationGetNumResults(op) == 0)
    return;
  if (opStartsWith(op, "linalg.") && mlirOperationGetNumRegions(op) == 1) {
    visitLinalg(a, op);
  } else if (opIs(op, "func.call")) {
    visitCall(a, op);
  } else if (opIs(op, "scf.for")) {
    visitFor(a, op);
  } else if (opIs(op, "scf.if")) {
    visitIf(a, op);
  } else if (opIs(op, "scf.while")) {
    visitWhile(a, op);
  } else if (opIs(op, "tensor.pad")) {
    visitPad(a, op);
  } else if (mlirOperationGetNumRegions(op) > 0 || mlirOperationGetNumResults(op) > 1) {
    giveUp(a, op);
  } else {
    intptr_t n = mlirOperationGetNumOperands(op);
    ExactFact *facts = memoryZeroed((size_t)(n ? n : 1) * sizeof *facts);
    for (intptr_t i = 0; i < n; ++i)
      facts[i] = factOf(a, mlirOperationGetOperand(op, i));
    // Of data movement only the data counts, not where it is.
    bool moves = opStartsWith(op, "tensor.extract");
    setFact(a, mlirOperationGetResult(op, 0), exactOfOp(op, moves ? 1 : n, facts));
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
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(body); ++i) {
    int64_t index = opOriginalArgument(func, i);
    MlirValue argument = mlirBlockGetArgument(body, i);
    ExactFact fact =
        index >= 0 && (size_t)index < a->nArguments ? a->arguments[index] : exactWhole(INFINITY);
    // A culprit of its own: the function, that is, the argument.
    setFact(a, argument, exactFit(fact, mlirValueGetType(argument), (MlirOperation){NULL}));
  }
}

static ExactFact *analyse(MlirOperation module, const ExactFact *arguments, size_t nArguments,
                          size_t *outCount) {
  Analysis a = {.module = module, .arguments = arguments, .nArguments = nArguments};
  ExactFact *out = NULL;
  *outCount = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(opBody(module, 0)); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op)) {
    if (!opIs(op, "func.func") || !mlirAttributeIsNull(opAttribute(op, "sym_visibility")))
      continue;
    MlirBlock body = opBody(op, 0);
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
  pointerTableRelease(&a.known);
  free(a.facts);
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
    arguments[value->index] =
        source->data ? exactOfData(value->element, source->data, valueGlobalCount(value))
                     : exactOfDrawn(source);
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
