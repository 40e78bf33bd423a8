//===- RunningSums.c - Exported spellings of a scan ----------------*- C -*-===//
// Exporters have no scan. torch-mlir's decompositions sum each element times a triangular mask, jax
// sums a window as long as the dimension over padding. Both become the scan that they are: a
// linalg.generic that carries its value along (Analysis/Sequence.h). Work falls from n^2 to n, and
// the two dimensions that stood for one are one again.
//===----------------------------------------------------------------------===//
#include "Evaluate.h"
#include "ImportParts.h"

#include "../Core/Insert.h"

#include "mlir-c/AffineExpr.h"
#include "mlir-c/BuiltinTypes.h"

#include <math.h>
#include <string.h>

enum { MAX_LOOPS = 32, MAX_CASTS = 6, MAX_DEPTH = 24 };

/// A scalar in the body of an op whose loops are loops of the sum (-1: of extent 1).
typedef struct Term {
  MlirOperation op;
  MlirValue value;
  int loops[MAX_LOOPS];
} Term;

typedef struct Sum {
  ShardArena *arena;
  ShardEvaluator *evaluator;
  MlirOperation op;
  intptr_t nLoops, nInputs;
  int64_t *extents;
  int along;             // the loop of the result's dimension, i
  int over;              // the loop that is summed, j
  MlirOperation combine; // of the accumulator and a term
  // What is scanned: an operand seen through casts, outermost first.
  MlirValue tensor;
  MlirAffineExpr exprs[MAX_LOOPS]; // its map, over the sum's loops
  MlirOperation casts[MAX_CASTS];
  int nCasts;
  bool exclusive;
} Sum;

static bool isOneOf(MlirOperation op, size_t n, const char *const *names) {
  for (size_t i = 0; i < n; ++i)
    if (shardOpIs(op, names[i]))
      return true;
  return false;
}

static bool isZero(MlirValue value) {
  MlirOperation op = shardValueDefiningOp(value);
  if (shardOpIs(op, "linalg.fill") || shardOpIs(op, "tensor.splat"))
    return isZero(mlirOperationGetOperand(op, 0));
  if (!shardOpIs(op, "arith.constant"))
    return false;
  MlirAttribute number = shardOpGetAttribute(op, "value");
  if (mlirAttributeIsADenseElements(number) && mlirDenseElementsAttrIsSplat(number))
    number = mlirDenseElementsAttrGetSplatValue(number);
  int64_t x;
  if (mlirAttributeIsAFloat(number))
    return mlirFloatAttrGetValueDouble(number) == 0;
  return mlirAttributeIsAInteger(number) && shardAttrGetI64(number, &x) && x == 0;
}

/// One result, one loop that is not in its map, of plain dimensions; the body combines a term into
/// the accumulator, which nothing else reads.
static bool readSum(MlirOperation op, Sum *sum, Term *term) {
  MlirAttribute maps = shardIndexingMaps(op);
  if (mlirAttributeIsNull(maps) || mlirOperationGetNumResults(op) != 1 ||
      mlirOperationGetNumRegions(op) != 1 || shardOpIs(op, "linalg.fill") ||
      !shardLoopExtents(op, &sum->nLoops, &sum->extents, sum->arena) || sum->nLoops > MAX_LOOPS)
    return false;
  sum->op = op;
  sum->nInputs = mlirOperationGetNumOperands(op) - 1;
  MlirAffineMap out = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, sum->nInputs));
  if (!mlirAffineMapIsProjectedPermutation(out) ||
      mlirAffineMapGetNumResults(out) != sum->nLoops - 1)
    return false;
  bool inResult[MAX_LOOPS] = {false};
  for (intptr_t d = 0; d < sum->nLoops - 1; ++d)
    if (shardMapResultDim(out, d) >= 0)
      inResult[shardMapResultDim(out, d)] = true;
  for (intptr_t l = 0; l < sum->nLoops; ++l)
    if (!inResult[l])
      sum->over = (int)l;
  MlirBlock body = shardOpBody(op);
  MlirValue state = mlirBlockGetArgument(body, sum->nInputs);
  MlirOpOperand use = mlirValueGetFirstUse(state);
  sum->combine = shardValueDefiningOp(mlirOperationGetOperand(mlirBlockGetTerminator(body), 0));
  if (mlirOperationIsNull(sum->combine) || mlirOperationGetNumOperands(sum->combine) != 2 ||
      mlirOpOperandIsNull(use) || !mlirOpOperandIsNull(mlirOpOperandGetNextUse(use)) ||
      !mlirOperationEqual(mlirOpOperandGetOwner(use), sum->combine))
    return false;
  *term = (Term){.op = op,
                 .value =
                     mlirOperationGetOperand(sum->combine, 1 - mlirOpOperandGetOperandNumber(use))};
  for (intptr_t l = 0; l < sum->nLoops; ++l)
    term->loops[l] = (int)l;
  return true;
}

/// Where the term is an input of its op: that input and its map. -1: it is not.
static intptr_t inputOf(const Term *term, MlirAffineMap *outMap) {
  if (!mlirValueIsABlockArgument(term->value) ||
      !mlirBlockEqual(mlirBlockArgumentGetOwner(term->value), shardOpBody(term->op)))
    return -1;
  intptr_t input = mlirBlockArgumentGetArgNumber(term->value);
  if (input >= mlirOperationGetNumOperands(term->op) - mlirOperationGetNumResults(term->op))
    return -1;
  *outMap = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(shardIndexingMaps(term->op), input));
  return input;
}

/// Goes from an input to what the op that makes it element by element yields; false if that is no
/// such op.
static bool enterProducer(Term *term) {
  MlirAffineMap map;
  intptr_t input = inputOf(term, &map);
  MlirOperation producer = input < 0
                               ? (MlirOperation){NULL}
                               : shardValueDefiningOp(mlirOperationGetOperand(term->op, input));
  if (!shardOpIs(producer, "linalg.generic") || mlirOperationGetNumResults(producer) != 1)
    return false;
  MlirAttribute maps = shardIndexingMaps(producer);
  MlirAffineMap out = mlirAffineMapAttrGetValue(
      mlirArrayAttrGetElement(maps, mlirArrayAttrGetNumElements(maps) - 1));
  MlirBlock body = shardOpBody(producer);
  intptr_t n = mlirAffineMapGetNumDims(out);
  if (!mlirAffineMapIsPermutation(out) || n > MAX_LOOPS ||
      !shardValueIsUnused(mlirBlockGetArgument(body, mlirBlockGetNumArguments(body) - 1)))
    return false;
  int loops[MAX_LOOPS];
  for (intptr_t d = 0; d < n; ++d) {
    MlirAffineExpr expr = mlirAffineMapGetResult(map, d);
    intptr_t dim = shardMapResultDim(map, d);
    if (dim < 0 && !mlirAffineExprIsAConstant(expr))
      return false;
    loops[shardMapResultDim(out, d)] = dim < 0 ? -1 : term->loops[dim];
  }
  memcpy(term->loops, loops, sizeof(int) * (size_t)n);
  term->op = producer;
  term->value = mlirOperationGetOperand(mlirBlockGetTerminator(body), 0);
  return true;
}

/// Goes through casts that keep 0 and 1, and through ops that only cast.
static void enterCasts(Term *term) {
  static const char *const casts[] = {"arith.extui", "arith.uitofp", "arith.sitofp", "arith.extf",
                                      "arith.trunci"};
  for (int depth = 0; depth < MAX_DEPTH; ++depth) {
    MlirOperation op = shardValueDefiningOp(term->value);
    if (!mlirOperationIsNull(op) && isOneOf(op, sizeof(casts) / sizeof(casts[0]), casts) &&
        // A sign-extended bit is -1.
        !(shardOpIs(op, "arith.sitofp") &&
          mlirIntegerTypeGetWidth(mlirValueGetType(mlirOperationGetOperand(op, 0))) == 1)) {
      term->value = mlirOperationGetOperand(op, 0);
      continue;
    }
    Term next = *term;
    if (!mlirTypeIsAFloat(mlirValueGetType(term->value)) || !enterProducer(&next))
      return;
    *term = next;
  }
}

/// Whether a term is 1 where j <= i (or j < i), else 0, for some loop i of the sum.
static bool isTriangle(Sum *sum, Term mask, bool inverted) {
  enterCasts(&mask);
  MlirType type = mlirValueGetType(mask.value);
  intptr_t nLoops;
  int64_t *extents;
  ShardLoopValues values;
  if (!mlirTypeIsAInteger(type) || !shardLoopExtents(mask.op, &nLoops, &extents, sum->arena) ||
      !shardEvaluateInBody(sum->evaluator, mask.op, nLoops, extents, mask.value, &values))
    return false;
  int active[2] = {-1, -1}, n = 0; // loops of the sum
  for (intptr_t l = 0; l < nLoops; ++l)
    if (values.active[l] && extents[l] != 1) {
      if (n == 2)
        return false;
      active[n++] = mask.loops[l];
    }
  if (n != 2 || (active[0] != sum->over && active[1] != sum->over) || active[0] == active[1])
    return false;
  bool overIsMajor = active[0] == sum->over;
  sum->along = active[overIsMajor];
  if (sum->along < 0)
    return false;
  int64_t extent = sum->extents[sum->over];
  if (extent != sum->extents[sum->along] || values.count != extent * extent || extent < 2)
    return false;
  sum->exclusive = (values.values[0] != 0) == inverted;
  for (int64_t a = 0; a < extent; ++a)
    for (int64_t b = 0; b < extent; ++b) {
      int64_t i = overIsMajor ? b : a, j = overIsMajor ? a : b;
      bool wanted = sum->exclusive ? j < i : j <= i;
      if (values.values[a * extent + b] != (wanted != inverted))
        return false;
    }
  return true;
}

/// Whether no element can be an infinity or a NaN: sums and products of numbers from integers. Zero
/// times such an element would not be zero.
static bool isFinite(MlirValue value, int depth) {
  static const char *const harmless[] = {"arith.addf",   "arith.subf",   "arith.mulf",
                                         "arith.negf",   "arith.select", "arith.uitofp",
                                         "arith.sitofp", "arith.extf",   "linalg.yield"};
  static const char *const moves[] = {"tensor.expand_shape", "tensor.collapse_shape",
                                      "tensor.extract_slice", "tensor.concat"};
  MlirType type = mlirValueGetType(value);
  MlirType element = mlirTypeIsAShaped(type) ? mlirShapedTypeGetElementType(type) : type;
  if (!mlirTypeIsAFloat(element))
    return true;
  MlirOperation op = shardValueDefiningOp(value);
  if (mlirOperationIsNull(op) || depth > MAX_DEPTH)
    return false;
  if (shardOpIs(op, "arith.constant")) {
    MlirAttribute number = shardOpGetAttribute(op, "value");
    if (mlirAttributeIsADenseElements(number) && mlirDenseElementsAttrIsSplat(number))
      number = mlirDenseElementsAttrGetSplatValue(number);
    return mlirAttributeIsAFloat(number) && isfinite(mlirFloatAttrGetValueDouble(number));
  }
  if (shardOpIs(op, "tensor.empty"))
    return true; // read by nobody but as a place to write to
  bool known = isOneOf(op, sizeof(moves) / sizeof(moves[0]), moves);
  MlirStringRef name = shardOpGetName(op);
  if (shardNameHasDialect(name, "linalg") && mlirOperationGetNumRegions(op) == 1) {
    known = true;
    for (MlirOperation inner = mlirBlockGetFirstOperation(shardOpBody(op));
         !mlirOperationIsNull(inner); inner = mlirOperationGetNextInBlock(inner)) {
      bool isInteger = mlirOperationGetNumResults(inner) == 1 &&
                       !mlirTypeIsAFloat(mlirValueGetType(mlirOperationGetResult(inner, 0)));
      known &= isInteger || isOneOf(inner, sizeof(harmless) / sizeof(harmless[0]), harmless);
      for (intptr_t i = 0; known && i < mlirOperationGetNumOperands(inner); ++i) {
        MlirValue operand = mlirOperationGetOperand(inner, i);
        MlirOperation outer = shardValueDefiningOp(operand);
        if (!mlirOperationIsNull(outer) &&
            !mlirBlockEqual(mlirOperationGetBlock(outer), shardOpBody(op)))
          known = isFinite(operand, depth + 1);
      }
    }
  }
  for (intptr_t i = 0; known && i < mlirOperationGetNumOperands(op); ++i)
    known = isFinite(mlirOperationGetOperand(op, i), depth + 1);
  return known;
}

/// What is scanned: an operand, through casts, that does not depend on i.
static bool readScanned(Sum *sum, Term term, bool mustBeFinite) {
  static const char *const casts[] = {"arith.extui", "arith.extsi", "arith.uitofp", "arith.sitofp",
                                      "arith.extf"};
  MlirAffineMap map;
  intptr_t input;
  while ((input = inputOf(&term, &map)) < 0) {
    MlirOperation op = shardValueDefiningOp(term.value);
    if (mlirOperationIsNull(op) || !isOneOf(op, sizeof(casts) / sizeof(casts[0]), casts) ||
        sum->nCasts == MAX_CASTS)
      return false;
    sum->casts[sum->nCasts++] = op;
    term.value = mlirOperationGetOperand(op, 0);
  }
  sum->tensor = mlirOperationGetOperand(term.op, input);
  if (!mlirTypeIsARankedTensor(mlirValueGetType(sum->tensor)))
    return false;
  MlirContext context = mlirOperationGetContext(sum->op);
  int nOver = 0;
  for (intptr_t d = 0; d < mlirAffineMapGetNumResults(map); ++d) {
    intptr_t dim = shardMapResultDim(map, d);
    int loop = dim < 0 ? -1 : term.loops[dim];
    if ((dim < 0 && !mlirAffineExprIsAConstant(mlirAffineMapGetResult(map, d))) ||
        loop == sum->along)
      return false;
    nOver += loop == sum->over;
    sum->exprs[d] =
        loop < 0 ? mlirAffineConstantExprGet(context, 0) : mlirAffineDimExprGet(context, loop);
  }
  return nOver == 1 && (!mustBeFinite || isFinite(sum->tensor, 0));
}

/// A sum of terms that a triangle masks, by choice or by a factor.
static bool readMaskedSum(Sum *sum, Term term) {
  if ((!shardOpIs(sum->combine, "arith.addf") && !shardOpIs(sum->combine, "arith.addi")) ||
      !isZero(mlirOperationGetOperand(sum->op, sum->nInputs)))
    return false;
  while (mlirValueIsABlockArgument(term.value))
    if (!enterProducer(&term))
      return false;
  MlirOperation op = shardValueDefiningOp(term.value);
  Term a = term, b = term;
  if (shardOpIs(op, "arith.select")) {
    bool inverted = isZero(mlirOperationGetOperand(op, 1));
    a.value = mlirOperationGetOperand(op, 0);
    b.value = mlirOperationGetOperand(op, inverted ? 2 : 1);
    return isZero(mlirOperationGetOperand(op, inverted ? 1 : 2)) && isTriangle(sum, a, inverted) &&
           readScanned(sum, b, false);
  }
  bool isFloat = shardOpIs(op, "arith.mulf");
  if (!isFloat && !shardOpIs(op, "arith.muli"))
    return false;
  a.value = mlirOperationGetOperand(op, 0);
  b.value = mlirOperationGetOperand(op, 1);
  return (isTriangle(sum, a, false) && readScanned(sum, b, isFloat)) ||
         (isTriangle(sum, b, false) && readScanned(sum, a, isFloat));
}

/// Whether the value is what the combiner leaves others as they are with.
static bool isIdentity(MlirOperation combine, MlirValue value) {
  if (shardOpIs(combine, "arith.addf") || shardOpIs(combine, "arith.addi"))
    return isZero(value);
  MlirOperation op = shardValueDefiningOp(value);
  MlirAttribute number =
      shardOpIs(op, "arith.constant") ? shardOpGetAttribute(op, "value") : mlirAttributeGetNull();
  if (mlirAttributeIsNull(number) || !mlirAttributeIsAFloat(number))
    return false;
  double x = mlirFloatAttrGetValueDouble(number);
  return shardOpIs(combine, "arith.maximumf")   ? x == -INFINITY
         : shardOpIs(combine, "arith.minimumf") ? x == INFINITY
         : shardOpIs(combine, "arith.mulf")     ? x == 1
                                                : false;
}

/// A window as long as the dimension, over as much padding before it: out[i] combines all up to i.
static bool readWindowSum(Sum *sum, Term term) {
  MlirAffineMap map;
  intptr_t input = inputOf(&term, &map);
  MlirOperation pad = input < 0 ? (MlirOperation){NULL}
                                : shardValueDefiningOp(mlirOperationGetOperand(sum->op, input));
  if (!shardOpIs(pad, "tensor.pad") || mlirOperationGetNumOperands(pad) != 1)
    return false;
  MlirValue with = mlirOperationGetOperand(
      mlirBlockGetTerminator(mlirRegionGetFirstBlock(mlirOperationGetRegion(pad, 0))), 0);
  MlirAttribute low = shardOpGetAttribute(pad, "static_low");
  MlirAttribute high = shardOpGetAttribute(pad, "static_high");
  MlirValue init = mlirOperationGetOperand(sum->op, sum->nInputs);
  MlirOperation fill = shardValueDefiningOp(init);
  if (!isIdentity(sum->combine, with) || !shardOpIs(fill, "linalg.fill") ||
      !isIdentity(sum->combine, mlirOperationGetOperand(fill, 0)))
    return false;
  sum->tensor = mlirOperationGetOperand(pad, 0);
  int nWindows = 0;
  for (intptr_t d = 0; d < mlirAffineMapGetNumResults(map); ++d) {
    MlirAffineExpr expr = mlirAffineMapGetResult(map, d);
    sum->exprs[d] = expr;
    if (!mlirAffineExprIsAAdd(expr)) {
      if (!mlirAffineExprIsADim(expr) || mlirAffineDimExprGetPosition(expr) == sum->over ||
          shardArrayAttrAt(low, d) || shardArrayAttrAt(high, d))
        return false;
      continue;
    }
    MlirAffineExpr a = mlirAffineBinaryOpExprGetLHS(expr), b = mlirAffineBinaryOpExprGetRHS(expr);
    if (!mlirAffineExprIsADim(a) || !mlirAffineExprIsADim(b))
      return false;
    int x = (int)mlirAffineDimExprGetPosition(a), y = (int)mlirAffineDimExprGetPosition(b);
    sum->along = x == sum->over ? y : x;
    int64_t extent = sum->extents[sum->over];
    if ((x != sum->over && y != sum->over) || x == y || extent < 2 ||
        sum->extents[sum->along] != extent || shardArrayAttrAt(low, d) != extent - 1 ||
        shardArrayAttrAt(high, d) ||
        mlirShapedTypeGetDimSize(mlirValueGetType(sum->tensor), d) != extent)
      return false;
    sum->exprs[d] = mlirAffineDimExprGet(mlirOperationGetContext(sum->op), sum->over);
    ++nWindows;
  }
  return nWindows == 1;
}

static void buildScan(void *user, const ShardInsert *at, const MlirValue *arguments,
                      MlirValue *yielded) {
  const Sum *sum = user;
  MlirValue value = arguments[0];
  for (int c = sum->nCasts - 1; c >= 0; --c) {
    MlirOperation cast = mlirOperationClone(sum->casts[c]);
    mlirOperationSetOperand(cast, 0, value);
    mlirBlockAppendOwnedOperation(at->block, cast);
    value = mlirOperationGetResult(cast, 0);
  }
  MlirOperation next = mlirOperationClone(sum->combine);
  mlirOperationSetOperand(next, 0, arguments[2]);
  mlirOperationSetOperand(next, 1, value);
  mlirBlockAppendOwnedOperation(at->block, next);
  yielded[1] = mlirOperationGetResult(next, 0);
  yielded[0] = sum->exclusive ? arguments[2] : yielded[1];
}

/// The loops of the scan are the sum's without i; j stands in its place.
static void replaceByScan(Sum *sum) {
  ShardInsert at = shardInsertBefore(sum->op);
  MlirAttribute sumMaps = shardIndexingMaps(sum->op);
  MlirAffineMap sumOut = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(sumMaps, sum->nInputs));
  MlirType type = mlirValueGetType(mlirOperationGetResult(sum->op, 0));
  intptr_t rank = mlirShapedTypeGetRank(type), nLoops = sum->nLoops - 1, nState = 0;
  int64_t dims[MAX_LOOPS], state[MAX_LOOPS], shape[MAX_LOOPS];
  char iterators[MAX_LOOPS + 1] = {0};
  MlirAffineExpr renumber[MAX_LOOPS];
  for (intptr_t l = 0, n = 0; l < sum->nLoops; ++l) {
    renumber[l] = mlirAffineDimExprGet(at.context, n);
    if (l == sum->along)
      continue;
    iterators[n++] = l == sum->over ? 'r' : 'p';
  }
  renumber[sum->along] = renumber[sum->over];
  for (intptr_t d = 0; d < rank; ++d) {
    intptr_t loop = shardMapResultDim(sumOut, d);
    dims[d] = mlirAffineDimExprGetPosition(renumber[loop]);
    if (loop != sum->along) {
      shape[nState] = mlirShapedTypeGetDimSize(type, d);
      state[nState++] = dims[d];
    }
  }
  intptr_t inRank = mlirShapedTypeGetRank(mlirValueGetType(sum->tensor));
  MlirAffineExpr exprs[MAX_LOOPS];
  for (intptr_t d = 0; d < inRank; ++d)
    exprs[d] = mlirAffineExprIsADim(sum->exprs[d])
                   ? renumber[mlirAffineDimExprGetPosition(sum->exprs[d])]
                   : sum->exprs[d];
  MlirAffineMap maps[3] = {mlirAffineMapGet(at.context, nLoops, 0, inRank, exprs),
                           shardMapOfDims(at.context, nLoops, rank, dims),
                           shardMapOfDims(at.context, nLoops, nState, state)};
  // The running value begins as the sum's destination does: filled with the identity.
  MlirOperation fill = shardValueDefiningOp(mlirOperationGetOperand(sum->op, sum->nInputs));
  MlirAttribute number =
      shardOpIs(fill, "linalg.fill")
          ? shardOpGetAttribute(shardValueDefiningOp(mlirOperationGetOperand(fill, 0)), "value")
          : shardAttrNumber(mlirShapedTypeGetElementType(type), 0);
  MlirValue operands[3] = {sum->tensor, shardInsertEmpty(&at, type),
                           shardInsertFill(&at, shardTensorWithShape(type, nState, shape), number)};
  MlirOperation scan = shardInsertGeneric(&at, iterators, 1, 2, operands, maps, buildScan, sum);
  mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(sum->op, 0),
                                mlirOperationGetResult(scan, 0));
  mlirOperationDestroy(sum->op);
}

void shardImportRunningSums(const ShardImport *import) {
  ShardEvaluator *evaluator = shardEvaluatorCreate(import->arena);
  for (intptr_t i = 0; i < import->nFunctions; ++i) {
    intptr_t n;
    MlirOperation *ops = shardBlockOps(shardFuncGetBody(import->functions[i]), import->arena, &n);
    for (intptr_t k = 0; k < n; ++k) {
      Sum sum = {.arena = import->arena, .evaluator = evaluator, .along = -1};
      Term term;
      if (!readSum(ops[k], &sum, &term))
        continue;
      if (!readMaskedSum(&sum, term)) {
        sum.nCasts = 0;
        sum.exclusive = false;
        if (!readWindowSum(&sum, term))
          continue;
      }
      replaceByScan(&sum);
      shardEvaluatorDestroy(evaluator); // what it knows of ops that are gone
      evaluator = shardEvaluatorCreate(import->arena);
    }
  }
  shardEvaluatorDestroy(evaluator);
}
