//===- Sequence.c - Ops that run along a dimension in order -------*- C -*-===//
// Whether the best of the parts' best is the best of all is not read off a spelling: a body that
// only compares and chooses depends on nothing but how its values are ordered, so that it is run
// on every order of a few values, whole and in parts.
//===----------------------------------------------------------------------===//

#include "Sequence.h"

#include "RulesInternal.h"

#include "mlir-c/AffineExpr.h"
#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <math.h>
#include <string.h>

typedef struct Reader {
  MlirOperation op, yield;
  MlirBlock body;
  intptr_t nInputs, nResults, nLoops;
  MlirAttribute maps;
} Reader;

static MlirValue accumulator(const Reader *r, intptr_t result) {
  return mlirBlockGetArgument(r->body, r->nInputs + result);
}

static MlirAffineMap resultMap(const Reader *r, intptr_t result) {
  return mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(r->maps, r->nInputs + result));
}

static bool mapMentions(MlirAffineMap map, intptr_t loop) {
  for (intptr_t k = 0; k < mlirAffineMapGetNumResults(map); ++k)
    if (mlirAffineExprIsFunctionOfDim(mlirAffineMapGetResult(map, k), loop))
      return true;
  return false;
}

/// Whether a value of the body depends on any accumulator.
static bool dependsOnState(const Reader *r, MlirValue value, int depth) {
  if (mlirValueIsABlockArgument(value))
    return mlirBlockEqual(mlirBlockArgumentGetOwner(value), r->body) &&
           mlirBlockArgumentGetArgNumber(value) >= r->nInputs;
  MlirOperation op = mlirOpResultGetOwner(value);
  if (!mlirBlockEqual(mlirOperationGetBlock(op), r->body))
    return false;
  if (depth > 64 || mlirOperationGetNumRegions(op))
    return true;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    if (dependsOnState(r, mlirOperationGetOperand(op, i), depth + 1))
      return true;
  return false;
}

/// The op's one loop that is no parallel one; -1 if there is none, or more.
static int32_t findLoop(const Reader *r) {
  MlirAttribute iterators = shardOpGetAttribute(r->op, "iterator_types");
  MlirAttribute parallel =
      mlirAttributeParseGet(mlirOperationGetContext(r->op),
                            mlirStringRefCreateFromCString("#linalg.iterator_type<parallel>"));
  int32_t loop = -1;
  for (intptr_t l = 0; l < r->nLoops; ++l) {
    if (mlirAttributeEqual(mlirArrayAttrGetElement(iterators, l), parallel))
      continue;
    if (loop >= 0)
      return -1;
    loop = (int32_t)l;
  }
  return loop;
}

//===----------------------------------------------------------------------===//
// Scans
//===----------------------------------------------------------------------===//

static bool readScan(const Reader *r, ShardSequence *out) {
  if (r->nResults != 2)
    return false;
  out->running = mapMentions(resultMap(r, 0), out->loop) ? 1 : 0;
  out->following = 1 - out->running;
  if (!mapMentions(resultMap(r, out->following), out->loop) ||
      mapMentions(resultMap(r, out->running), out->loop) ||
      !mlirAffineMapIsProjectedPermutation(resultMap(r, 0)) ||
      !mlirAffineMapIsProjectedPermutation(resultMap(r, 1)) ||
      mlirAffineMapGetNumResults(resultMap(r, out->following)) !=
          mlirAffineMapGetNumResults(resultMap(r, out->running)) + 1 ||
      !mlirOpOperandIsNull(mlirValueGetFirstUse(accumulator(r, out->following))))
    return false;
  MlirValue state = accumulator(r, out->running);
  MlirValue next = mlirOperationGetOperand(r->yield, out->running);
  MlirValue taken = mlirOperationGetOperand(r->yield, out->following);
  out->combine = shardValueDefiningOp(next);
  out->combiner = shardCombinerOfOp(out->combine);
  if (out->combiner == SHARD_COMBINER_NONE ||
      !mlirBlockEqual(mlirOperationGetBlock(out->combine), r->body) ||
      (!mlirValueEqual(taken, next) && !mlirValueEqual(taken, state)))
    return false;
  out->carried = mlirValueEqual(mlirOperationGetOperand(out->combine, 0), state) ? 0 : 1;
  return mlirValueEqual(mlirOperationGetOperand(out->combine, out->carried), state) &&
         !dependsOnState(r, mlirOperationGetOperand(out->combine, 1 - out->carried), 0);
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

enum { MAX_CHOSEN = 4, MAX_STEPS = 4 };

/// What one step offers, or what is kept: a number for each result.
typedef struct Chosen {
  double values[MAX_CHOSEN];
} Chosen;

typedef struct Evaluation {
  const Reader *r;
  const MlirValue *offered;
  const Chosen *state, *step;
  bool failed; // an op that does more than compare and choose
} Evaluation;

static double evaluate(Evaluation *e, MlirValue value, int depth);

static bool isBit(MlirValue value) {
  MlirType type = mlirValueGetType(value);
  return mlirTypeIsAInteger(type) && mlirIntegerTypeGetWidth(type) == 1;
}

static double evaluateOp(Evaluation *e, MlirOperation op, int depth) {
  double v[3] = {0};
  intptr_t n = mlirOperationGetNumOperands(op);
  if (n > 3 || mlirOperationGetNumRegions(op) || depth > 64) {
    e->failed = true;
    return 0;
  }
  for (intptr_t i = 0; i < n; ++i)
    v[i] = evaluate(e, mlirOperationGetOperand(op, i), depth + 1);
  double a = v[0], b = v[1];
  bool unordered = isnan(a) || isnan(b);
  int64_t predicate = -1;
  shardAttrGetI64(shardOpGetAttribute(op, "predicate"), &predicate);
  if (shardOpIs(op, "arith.cmpf")) {
    switch (predicate) {
    case 1:
      return !unordered && a == b;
    case 2:
      return !unordered && a > b;
    case 3:
      return !unordered && a >= b;
    case 4:
      return !unordered && a < b;
    case 5:
      return !unordered && a <= b;
    case 6:
      return !unordered && a != b;
    case 7:
      return !unordered;
    case 8:
      return unordered || a == b;
    case 9:
      return unordered || a > b;
    case 10:
      return unordered || a >= b;
    case 11:
      return unordered || a < b;
    case 12:
      return unordered || a <= b;
    case 13:
      return unordered || a != b;
    case 14:
      return unordered;
    default:
      return predicate == 15;
    }
  }
  if (shardOpIs(op, "arith.cmpi")) // values are small and not negative: signed as unsigned
    switch (predicate) {
    case 0:
      return a == b;
    case 1:
      return a != b;
    case 2:
    case 6:
      return a < b;
    case 3:
    case 7:
      return a <= b;
    case 4:
    case 8:
      return a > b;
    default:
      return a >= b;
    }
  if (shardOpIs(op, "arith.select"))
    return a != 0 ? b : v[2];
  if (isBit(mlirOperationGetResult(op, 0))) {
    if (shardOpIs(op, "arith.andi"))
      return a != 0 && b != 0;
    if (shardOpIs(op, "arith.ori"))
      return a != 0 || b != 0;
    if (shardOpIs(op, "arith.xori"))
      return (a != 0) != (b != 0);
  }
  if (shardOpIs(op, "arith.maximumf"))
    return unordered ? NAN : a > b ? a : b;
  if (shardOpIs(op, "arith.minimumf"))
    return unordered ? NAN : a < b ? a : b;
  if (shardOpIs(op, "arith.maxnumf"))
    return isnan(a) ? b : isnan(b) || a > b ? a : b;
  if (shardOpIs(op, "arith.minnumf"))
    return isnan(a) ? b : isnan(b) || a < b ? a : b;
  if (shardOpIs(op, "arith.maxsi") || shardOpIs(op, "arith.maxui"))
    return a > b ? a : b;
  if (shardOpIs(op, "arith.minsi") || shardOpIs(op, "arith.minui"))
    return a < b ? a : b;
  e->failed = true;
  return 0;
}

static double evaluate(Evaluation *e, MlirValue value, int depth) {
  const Reader *r = e->r;
  for (intptr_t k = 0; k < r->nResults; ++k) {
    if (mlirValueEqual(value, e->offered[k]))
      return e->step->values[k];
    if (mlirValueEqual(value, accumulator(r, k)))
      return e->state->values[k];
  }
  MlirOperation op = shardValueDefiningOp(value);
  int64_t bit; // a condition; another constant has no place in an order
  if (shardOpIs(op, "arith.constant") && isBit(value) &&
      shardAttrGetI64(shardOpGetAttribute(op, "value"), &bit))
    return bit != 0;
  if (mlirOperationIsNull(op) || shardOpIs(op, "arith.constant") ||
      !mlirBlockEqual(mlirOperationGetBlock(op), r->body)) {
    e->failed = true;
    return 0;
  }
  return evaluateOp(e, op, depth);
}

static bool takeStep(const Reader *r, const MlirValue *offered, const Chosen *step, Chosen *state) {
  Evaluation e = {r, offered, state, step, false};
  Chosen next = {{0}};
  for (intptr_t k = 0; k < r->nResults; ++k)
    next.values[k] = evaluate(&e, mlirOperationGetOperand(r->yield, k), 0);
  *state = next;
  return !e.failed;
}

/// In the results that somebody reads.
static bool sameChosen(const Reader *r, const Chosen *a, const Chosen *b) {
  for (intptr_t k = 0; k < r->nResults; ++k)
    if (!mlirOpOperandIsNull(mlirValueGetFirstUse(mlirOperationGetResult(r->op, k))) &&
        a->values[k] != b->values[k] && !(isnan(a->values[k]) && isnan(b->values[k])))
      return false;
  return true;
}

/// How rows of steps are tried: a row is digits of base `base`, the values of the start and of the
/// steps; results that are places count up.
typedef struct Trial {
  const Reader *r;
  const MlirValue *offered;
  const bool *isPlace;
  const int8_t *ends; // where the start is the least (-1) or the largest (1) number of all
  ShardChoiceNan way; // in which parts are put together
  int32_t value;      // the last result that is no place
  int base;
  bool nan; // of floats the last digit is no number
} Trial;

static double digitValue(const Trial *t, intptr_t result, int64_t digit) {
  bool isFloat = mlirTypeIsAFloat(mlirValueGetType(t->offered[result]));
  return t->nan && isFloat && digit == t->base - 1 ? (double)NAN : (double)digit;
}

/// What a part keeps is told and chosen among: `state` is what the parts before it keep.
static bool takePart(const Trial *t, const Chosen *start, int n, const Chosen *steps,
                     Chosen *state) {
  Chosen part = *start;
  double number = part.values[t->value];
  bool seen = false;
  for (int s = 0; s < n; ++s) {
    if (!takeStep(t->r, t->offered, &steps[s], &part))
      return false;
    seen |= isnan(steps[s].values[t->value]);
    if (!isnan(part.values[t->value]))
      number = part.values[t->value];
  }
  if (t->way == SHARD_CHOICE_NAN_RESTARTS && seen) {
    *state = part;
    return true;
  }
  bool stopped = t->way == SHARD_CHOICE_NAN_STOPS && isnan(part.values[t->value]);
  if (stopped)
    part.values[t->value] = number;
  bool ok = takeStep(t->r, t->offered, &part, state);
  if (stopped)
    state->values[t->value] = (double)NAN;
  return ok;
}

/// Whether all steps in a row keep what the parts' kept ones in a row keep, wherever it is cut.
static bool rowHolds(const Trial *t, int n, int64_t digits) {
  const Reader *r = t->r;
  Chosen start = {{0}}, steps[MAX_STEPS];
  for (int s = -1; s < n; ++s)
    for (intptr_t k = 0; k < r->nResults; ++k) {
      double value = s < 0 ? 0 : s; // the first place may be that of the start
      if (!t->isPlace[k])
        value = digitValue(t, k, digits % t->base), digits /= t->base;
      if (s < 0 && t->ends[k])
        value = t->ends[k] < 0 ? 0 : t->base - 1 - t->nan;
      *(s < 0 ? &start.values[k] : &steps[s].values[k]) = value;
    }
  Chosen whole = start;
  for (int s = 0; s < n; ++s)
    if (!takeStep(r, t->offered, &steps[s], &whole))
      return false;
  for (int cut = 1; cut < n; ++cut) { // no part is empty
    Chosen kept = start;
    if (!takePart(t, &start, cut, steps, &kept) ||
        !takePart(t, &start, n - cut, steps + cut, &kept) || !sameChosen(r, &kept, &whole))
      return false;
  }
  return true;
}

static bool rowsHold(const Trial *t, int nValues, int longest) {
  for (int n = 2; n <= longest; ++n) {
    int64_t nRows = 1;
    for (int i = 0; i < (n + 1) * nValues; ++i)
      nRows *= t->base;
    for (int64_t row = 0; row < nRows; ++row)
      if (!rowHolds(t, n, row))
        return false;
  }
  return true;
}

/// Whether places that begin as the tensors say leave their sign to tell something by.
static bool placesHaveSigns(const Reader *r, const bool *isPlace) {
  bool any = false;
  for (intptr_t k = 0; k < r->nResults; ++k) {
    int64_t place;
    MlirAttribute number = shardSequenceFill(mlirOperationGetOperand(r->op, r->nInputs + k));
    if (isPlace[k] && (!shardAttrGetI64(number, &place) || place < 0))
      return false;
    any |= isPlace[k];
  }
  return any;
}

/// Whether choices can be made in parts, and in which way: out->nan, out->value.
static bool holdsInParts(const Reader *r, const int8_t *ends, ShardSequence *out) {
  Trial t = {.r = r, .offered = out->offered, .isPlace = out->isPlace, .ends = ends};
  int nValues = 0;
  bool floats = false;
  for (intptr_t k = 0; k < r->nResults; ++k)
    if (!t.isPlace[k]) {
      ++nValues;
      t.value = (int32_t)k;
      floats |= mlirTypeIsAFloat(mlirValueGetType(t.offered[k]));
    }
  if (nValues < 1 || nValues > 2)
    return false;
  int longest = nValues == 1 ? MAX_STEPS : 3;
  t.base = nValues == 1 ? 4 : 3;
  out->nan = SHARD_CHOICE_NAN_PLAIN;
  out->value = t.value;
  if (!rowsHold(&t, nValues, longest))
    return false;
  t.base = 3, t.nan = true; // two numbers are enough beside what is none
  if (!floats || rowsHold(&t, nValues, longest))
    return true;
  if (nValues > 1 || !placesHaveSigns(r, t.isPlace))
    return false;
  for (t.way = SHARD_CHOICE_NAN_STOPS; t.way <= SHARD_CHOICE_NAN_RESTARTS; ++t.way) {
    out->nan = t.way;
    if (rowsHold(&t, nValues, longest))
      return true;
  }
  return false;
}

/// The value that a step offers for a result: what the body chooses between it and the accumulator.
static bool findOffered(const Reader *r, intptr_t result, MlirValue *out) {
  static const char *const choosers[] = {"arith.select",  "arith.maximumf", "arith.minimumf",
                                         "arith.maxnumf", "arith.minnumf",  "arith.maxsi",
                                         "arith.minsi",   "arith.maxui",    "arith.minui"};
  MlirOperation op = shardValueDefiningOp(mlirOperationGetOperand(r->yield, result));
  bool known = false;
  for (size_t i = 0; i < sizeof(choosers) / sizeof(choosers[0]); ++i)
    known |= shardOpIs(op, choosers[i]);
  if (!known || !mlirBlockEqual(mlirOperationGetBlock(op), r->body))
    return false;
  intptr_t n = mlirOperationGetNumOperands(op);
  MlirValue a = mlirOperationGetOperand(op, n - 2), b = mlirOperationGetOperand(op, n - 1);
  bool isLeft = mlirValueEqual(a, accumulator(r, result));
  *out = isLeft ? b : a;
  return (isLeft || mlirValueEqual(b, accumulator(r, result))) && !dependsOnState(r, *out, 0);
}

/// Whether a value is the index of the loop, through casts.
static bool isLoopIndex(MlirValue value, int32_t loop) {
  MlirOperation op = shardValueDefiningOp(value);
  while (shardOpIs(op, "arith.index_cast") || shardOpIs(op, "arith.index_castui") ||
         shardOpIs(op, "arith.extsi") || shardOpIs(op, "arith.trunci"))
    op = shardValueDefiningOp(mlirOperationGetOperand(op, 0));
  int64_t dim;
  return shardOpIs(op, "linalg.index") && shardAttrGetI64(shardOpGetAttribute(op, "dim"), &dim) &&
         dim == loop;
}

MlirAttribute shardSequenceFill(MlirValue tensor) {
  MlirOperation op = shardValueDefiningOp(tensor);
  if (shardOpIs(op, "linalg.fill") || shardOpIs(op, "tensor.splat"))
    op = shardValueDefiningOp(mlirOperationGetOperand(op, 0));
  MlirAttribute number =
      shardOpIs(op, "arith.constant") ? shardOpGetAttribute(op, "value") : mlirAttributeGetNull();
  if (mlirAttributeIsNull(number) || !mlirAttributeIsADenseElements(number))
    return number;
  return mlirDenseElementsAttrIsSplat(number) ? mlirDenseElementsAttrGetSplatValue(number)
                                              : mlirAttributeGetNull();
}

/// Whether a tensor is filled with the least number of its type (-1) or the largest (1).
static int8_t endOf(MlirValue value) {
  MlirAttribute number = shardSequenceFill(value);
  if (mlirAttributeIsNull(number))
    return 0;
  if (mlirAttributeIsAFloat(number)) {
    double x = mlirFloatAttrGetValueDouble(number);
    return isinf(x) ? (x < 0 ? -1 : 1) : 0;
  }
  int64_t x;
  MlirType type = mlirAttributeGetType(number);
  if (!mlirTypeIsAInteger(type) || !shardAttrGetI64(number, &x))
    return 0;
  unsigned width = mlirIntegerTypeGetWidth(type);
  int64_t least = width >= 64 ? INT64_MIN : -((int64_t)1 << (width - 1));
  return x == least ? -1 : x == -(least + 1) ? 1 : 0;
}

static bool readChoice(const Reader *r, ShardArena *arena, ShardSequence *out) {
  if (r->nResults < 2 || r->nResults > MAX_CHOSEN)
    return false;
  MlirValue *offered = SHARD_ARENA_ARRAY(arena, MlirValue, r->nResults);
  bool *isPlace = SHARD_ARENA_ARRAY(arena, bool, r->nResults);
  for (intptr_t k = 0; k < r->nResults; ++k) {
    if (mapMentions(resultMap(r, k), out->loop) ||
        !mlirAffineMapEqual(resultMap(r, k), resultMap(r, 0)) ||
        !mlirAffineMapIsProjectedPermutation(resultMap(r, k)) || !findOffered(r, k, &offered[k]))
      return false;
    isPlace[k] = isLoopIndex(offered[k], out->loop);
  }
  out->offered = offered;
  out->isPlace = isPlace;
  int8_t ends[MAX_CHOSEN];
  for (intptr_t k = 0; k < r->nResults; ++k)
    ends[k] = endOf(mlirOperationGetOperand(r->op, r->nInputs + k));
  return holdsInParts(r, ends, out);
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

static Reader readerOf(MlirOperation op) {
  Reader r = {.op = op,
              .body = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0)),
              .nResults = mlirOperationGetNumResults(op),
              .maps = shardOpGetAttribute(op, "indexing_maps")};
  r.nInputs = mlirOperationGetNumOperands(op) - r.nResults;
  r.yield = mlirBlockGetTerminator(r.body);
  r.nLoops = mlirArrayAttrGetNumElements(shardOpGetAttribute(op, "iterator_types"));
  return r;
}

MlirValue shardSequenceOffered(MlirOperation op, intptr_t result) {
  Reader r = readerOf(op);
  MlirValue offered = {NULL};
  findOffered(&r, result, &offered);
  return offered;
}

bool shardSequenceRead(MlirOperation op, ShardArena *arena, ShardSequence *out) {
  *out = (ShardSequence){.kind = SHARD_SEQUENCE_NONE};
  if (!shardOpIs(op, "linalg.generic") || mlirOperationGetNumResults(op) < 2)
    return false;
  Reader r = readerOf(op);
  out->loop = findLoop(&r);
  if (out->loop >= 0) {
    out->kind = readScan(&r, out)            ? SHARD_SEQUENCE_SCAN
                : readChoice(&r, arena, out) ? SHARD_SEQUENCE_CHOICE
                                             : SHARD_SEQUENCE_NONE;
  } else if (shardSelectionRead(op, arena, &out->selection, &out->order)) {
    out->kind = SHARD_SEQUENCE_SELECTION;
    out->selection.user = &out->order; // the caller's copy must say so again
    out->loop = (int32_t)r.nLoops - 1;
  }
  return out->kind != SHARD_SEQUENCE_NONE;
}
