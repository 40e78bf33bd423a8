//===- BoundedExtents.c - Extents as products of linear numbers ----*- C -*-===//
#include "Bounded.h"

#include "mlir-c/BuiltinTypes.h"

#include <string.h>

static size_t nTerms(const ShardBounded *b) { return (size_t)b->nDims + 1; }

bool shardDigitIsNumber(const ShardBounded *b, const ShardDigit *digit) {
  for (int32_t k = 1; k <= b->nDims; ++k)
    if (digit->terms[k])
      return false;
  return true;
}

/// A digit of these terms; its bound follows. False where it does not fit in 64 bits.
static bool makeDigit(const ShardBounded *b, const int64_t *terms, ShardDigit *out) {
  *out = (ShardDigit){.bound = terms[0], .terms = terms};
  for (int32_t k = 0; k < b->nDims; ++k) {
    int64_t term, at = terms[1 + k] < 0 ? b->dims[k].least : b->dims[k].most;
    if (__builtin_mul_overflow(terms[1 + k], at, &term) ||
        __builtin_add_overflow(out->bound, term, &out->bound))
      return false;
  }
  return true;
}

static int64_t leastOf(const ShardBounded *b, const ShardDigit *digit) {
  int64_t least = digit->terms[0];
  for (int32_t k = 0; k < b->nDims; ++k)
    least += digit->terms[1 + k] * (digit->terms[1 + k] > 0 ? b->dims[k].least : b->dims[k].most);
  return least;
}

static ShardDigit numberDigit(const ShardBounded *b, int64_t number) {
  int64_t *terms = SHARD_ARENA_ARRAY(b->arena, int64_t, nTerms(b));
  terms[0] = number;
  return (ShardDigit){number, terms};
}

ShardExtent shardExtentOfNumber(const ShardBounded *b, int64_t number) {
  if (number == 1)
    return (ShardExtent){0};
  ShardDigit *digit = SHARD_ARENA_NEW(b->arena, ShardDigit);
  *digit = numberDigit(b, number);
  return (ShardExtent){.n = 1, .digits = digit};
}

bool shardExtentIsNumber(const ShardBounded *b, const ShardExtent *extent) {
  return extent->n == 0 || (extent->n == 1 && shardDigitIsNumber(b, &extent->digits[0]));
}

static bool digitEqual(const ShardBounded *b, const ShardDigit *x, const ShardDigit *y) {
  return memcmp(x->terms, y->terms, nTerms(b) * sizeof(int64_t)) == 0;
}

bool shardExtentEqual(const ShardBounded *b, const ShardExtent *x, const ShardExtent *y) {
  bool equal = x->n == y->n;
  for (int32_t i = 0; i < x->n && equal; ++i)
    equal = digitEqual(b, &x->digits[i], &y->digits[i]);
  return equal;
}

int64_t shardExtentBound(const ShardExtent *extent) {
  int64_t bound = 1;
  for (int32_t i = 0; i < extent->n; ++i)
    if (__builtin_mul_overflow(bound, extent->digits[i].bound, &bound))
      return -1;
  return bound;
}

/// Appends a digit in normal form to a list with room.
static void append(const ShardBounded *b, ShardExtent *extent, ShardDigit *digits,
                   ShardDigit digit) {
  bool number = shardDigitIsNumber(b, &digit);
  if (number && digit.bound == 1)
    return;
  if (number && extent->n && shardDigitIsNumber(b, &digits[extent->n - 1]))
    digits[extent->n - 1] = numberDigit(b, digits[extent->n - 1].bound * digit.bound);
  else
    digits[extent->n++] = digit;
  extent->digits = digits;
}

ShardExtent shardExtentProduct(const ShardBounded *b, const ShardExtent *x, const ShardExtent *y) {
  ShardExtent product = {0};
  ShardDigit *digits = SHARD_ARENA_ARRAY(b->arena, ShardDigit, x->n + y->n + 1);
  for (int32_t i = 0; i < x->n; ++i)
    append(b, &product, digits, x->digits[i]);
  for (int32_t i = 0; i < y->n; ++i)
    append(b, &product, digits, y->digits[i]);
  return product;
}

/// The number that an extent is, as a linear one; false for a product of two that vary.
static bool linear(const ShardBounded *b, const ShardExtent *extent, int64_t *terms) {
  bool varies = false;
  memset(terms, 0, nTerms(b) * sizeof(*terms));
  terms[0] = 1;
  for (int32_t i = 0; i < extent->n; ++i) {
    const ShardDigit *digit = &extent->digits[i];
    bool number = shardDigitIsNumber(b, digit);
    if (!number && varies)
      return false;
    int64_t scale = number ? digit->terms[0] : terms[0];
    for (size_t k = 0; k < nTerms(b); ++k)
      if (__builtin_mul_overflow(number ? terms[k] : digit->terms[k], scale, &terms[k]))
        return false;
    varies |= !number;
  }
  return true;
}

/// The one digit of an extent; false for a product.
static bool oneDigit(const ShardBounded *b, const ShardExtent *extent, ShardDigit *out) {
  if (extent->n > 1)
    return false;
  *out = extent->n ? extent->digits[0] : numberDigit(b, 1);
  return true;
}

bool shardExtentSum(const ShardBounded *b, const ShardExtent *x, const ShardExtent *y,
                    int64_t scale, ShardExtent *out) {
  int64_t *terms = SHARD_ARENA_ARRAY(b->arena, int64_t, 2 * nTerms(b)), *other = terms + nTerms(b);
  if (!linear(b, x, terms) || !linear(b, y, other))
    return false;
  for (size_t k = 0; k < nTerms(b); ++k)
    if (__builtin_mul_overflow(other[k], scale, &other[k]) ||
        __builtin_add_overflow(terms[k], other[k], &terms[k]))
      return false;
  ShardDigit *digit = SHARD_ARENA_NEW(b->arena, ShardDigit);
  if (!makeDigit(b, terms, digit))
    return false;
  *out = (ShardExtent){0};
  append(b, out, digit, *digit);
  return true;
}

static void noteEqual(ShardBounded *b, const ShardDigit *x, const ShardDigit *y) {
  int64_t *sum = SHARD_ARENA_ARRAY(b->arena, int64_t, nTerms(b));
  int64_t sign = 0; // of the first term that is not 0, so that a sum is noted once
  for (size_t k = 0; k < nTerms(b); ++k) {
    sum[k] = x->terms[k] - y->terms[k];
    sign = sign || !sum[k] ? sign : sum[k] < 0 ? -1 : 1;
  }
  for (size_t k = 0; k < nTerms(b); ++k)
    sum[k] *= sign;
  for (size_t i = 0; i < b->nEqual; ++i)
    if (memcmp(b->equal[i], sum, nTerms(b) * sizeof(int64_t)) == 0)
      return;
  b->equal = shardArenaGrow(b->arena, b->equal, b->nEqual, &b->equalCapacity, b->nEqual + 1,
                            sizeof(*b->equal));
  b->equal[b->nEqual++] = sum;
}

/// Whether two products have the same factors.
static bool sameFactors(const ShardBounded *b, const ShardExtent *x, const ShardExtent *y) {
  ShardExtent parts[] = {*x};
  bool known[] = {true};
  parts[0].loose = true;
  return shardExtentSplit(b, y, 1, parts, known);
}

bool shardExtentUnify(ShardBounded *b, const ShardExtent *x, const ShardExtent *y,
                      ShardExtent *out) {
  *out = shardExtentIsNumber(b, y) || x->loose ? *y : *x;
  if (shardExtentEqual(b, x, y) || ((x->loose || y->loose) && sameFactors(b, x, y)))
    return true;
  ShardDigit left, right;
  if (oneDigit(b, x, &left) && oneDigit(b, y, &right)) {
    bool numbers = shardDigitIsNumber(b, &left) && shardDigitIsNumber(b, &right);
    if (!numbers && !digitEqual(b, &left, &right)) // numbers meet in the verifier
      noteEqual(b, &left, &right);
    return true;
  }
  if (x->n != y->n || x->loose || y->loose || sameFactors(b, x, y)) // in another order
    return false;
  for (int32_t i = 0; i < x->n; ++i)
    if (shardDigitIsNumber(b, &x->digits[i]) != shardDigitIsNumber(b, &y->digits[i]) ||
        (shardDigitIsNumber(b, &x->digits[i]) && x->digits[i].bound != y->digits[i].bound))
      return false;
  for (int32_t i = 0; i < x->n; ++i)
    if (!digitEqual(b, &x->digits[i], &y->digits[i]))
      noteEqual(b, &x->digits[i], &y->digits[i]);
  return true;
}

/// What is still to be taken of a part: its digits that vary, and the product of the others.
typedef struct Wanted {
  int32_t n;
  ShardDigit *digits;
  int64_t number;
} Wanted;

static Wanted wantedOf(const ShardBounded *b, const ShardExtent *part) {
  Wanted wanted = {0, SHARD_ARENA_ARRAY(b->arena, ShardDigit, part->n + 1), 1};
  for (int32_t i = 0; i < part->n; ++i)
    if (shardDigitIsNumber(b, &part->digits[i]))
      wanted.number *= part->digits[i].bound;
    else
      wanted.digits[wanted.n++] = part->digits[i];
  return wanted;
}

/// Takes a digit, or as much of a number as is wanted, which is then divided. 0: not wanted, 1: a
/// part of it, 2: all.
static int takeDigit(const ShardBounded *b, Wanted *wanted, ShardDigit *digit, ShardDigit *taken) {
  *taken = *digit;
  if (!shardDigitIsNumber(b, digit)) {
    for (int32_t i = 0; i < wanted->n; ++i)
      if (digitEqual(b, &wanted->digits[i], digit)) {
        wanted->digits[i] = wanted->digits[--wanted->n];
        return 2;
      }
    return 0;
  }
  if (digit->bound < 1 || wanted->number <= 1)
    return 0;
  if (wanted->number % digit->bound == 0) {
    wanted->number /= digit->bound;
    return 2;
  }
  if (digit->bound % wanted->number != 0)
    return 0;
  *taken = numberDigit(b, wanted->number);
  *digit = numberDigit(b, digit->bound / wanted->number);
  wanted->number = 1;
  return 1;
}

/// Takes `part` off the front (or the back) of the digits [*begin, *end), and puts it in their
/// order.
static bool takePart(const ShardBounded *b, ShardDigit *digits, int32_t *begin, int32_t *end,
                     bool front, ShardExtent *part) {
  ShardDigit *taken = SHARD_ARENA_ARRAY(b->arena, ShardDigit, *end - *begin + 1);
  Wanted wanted = wantedOf(b, part);
  if (wanted.number < 1)
    return false;
  int32_t n = 0;
  while (wanted.n || wanted.number > 1) {
    if (*begin == *end)
      return false;
    int how = takeDigit(b, &wanted, &digits[front ? *begin : *end - 1], &taken[n]);
    if (!how)
      return false;
    ++n;
    *begin += how == 2 && front;
    *end -= how == 2 && !front;
  }
  ShardExtent ordered = {0};
  ShardDigit *list = SHARD_ARENA_ARRAY(b->arena, ShardDigit, n + 1);
  for (int32_t i = 0; i < n; ++i)
    append(b, &ordered, list, taken[front ? i : n - 1 - i]);
  if (!part->loose && !shardExtentEqual(b, &ordered, part))
    return false;
  *part = ordered;
  return true;
}

bool shardExtentSplit(const ShardBounded *b, const ShardExtent *source, intptr_t n,
                      ShardExtent *parts, const bool *known) {
  ShardDigit *rest = SHARD_ARENA_ARRAY(b->arena, ShardDigit, source->n + 1);
  for (int32_t i = 0; i < source->n; ++i)
    rest[i] = source->digits[i];
  int32_t begin = 0, end = source->n;
  intptr_t first = 0, last = n;
  while (first < n && known[first])
    if (!takePart(b, rest, &begin, &end, true, &parts[first++]))
      return false;
  while (last > first && known[last - 1])
    if (!takePart(b, rest, &begin, &end, false, &parts[--last]))
      return false;
  if (last - first > 1)
    return false;
  ShardExtent left = {0};
  ShardDigit *digits = SHARD_ARENA_ARRAY(b->arena, ShardDigit, end - begin + 1);
  for (int32_t i = begin; i < end; ++i)
    append(b, &left, digits, rest[i]);
  if (first == last)
    return left.n == 0;
  parts[first] = left;
  return true;
}

//===----------------------------------------------------------------------===//
// Of values
//===----------------------------------------------------------------------===//

static const ShardExtent *shapeOf(const ShardBounded *b, MlirValue tensor) {
  return (const ShardExtent *)(intptr_t)shardPointerMapGetOr(b->shapes, tensor.ptr, 0);
}

ShardExtent shardBoundedExtent(const ShardBounded *b, MlirValue tensor, intptr_t d) {
  const ShardExtent *shape = shapeOf(b, tensor);
  return shape ? shape[d]
               : shardExtentOfNumber(b, mlirShapedTypeGetDimSize(mlirValueGetType(tensor), d));
}

bool shardBoundedIsDynamic(const ShardBounded *b, MlirValue tensor) {
  return shapeOf(b, tensor) != NULL;
}

void shardBoundedSetShape(ShardBounded *b, MlirValue tensor, const ShardExtent *extents) {
  intptr_t rank = mlirShapedTypeGetRank(mlirValueGetType(tensor));
  for (intptr_t d = 0; d < rank; ++d)
    if (!shardExtentIsNumber(b, &extents[d])) {
      shardPointerMapSet(b->shapes, tensor.ptr, (int64_t)(intptr_t)extents);
      return;
    }
}

static bool scalarOfOp(const ShardBounded *b, MlirOperation op, ShardExtent *out) {
  ShardExtent x, y;
  int64_t number;
  if (shardOpIs(op, "arith.constant")) {
    MlirAttribute value = shardOpGetAttribute(op, "value");
    if (!mlirAttributeIsAInteger(value) || !shardAttrGetI64(value, &number))
      return false;
    *out = shardExtentOfNumber(b, number);
    return true;
  }
  if (mlirOperationGetNumOperands(op) < 1 ||
      !shardBoundedScalar(b, mlirOperationGetOperand(op, 0), &x))
    return false;
  static const char *const casts[] = {"arith.index_cast", "arith.index_castui", "arith.extsi",
                                      "arith.extui", "arith.trunci"};
  for (size_t i = 0; i < sizeof(casts) / sizeof(casts[0]); ++i)
    if (shardOpIs(op, casts[i])) {
      *out = x;
      return true;
    }
  if (mlirOperationGetNumOperands(op) != 2 ||
      !shardBoundedScalar(b, mlirOperationGetOperand(op, 1), &y))
    return false;
  if (shardOpIs(op, "arith.addi") || shardOpIs(op, "arith.subi"))
    return shardExtentSum(b, &x, &y, shardOpIs(op, "arith.addi") ? 1 : -1, out);
  if (shardOpIs(op, "arith.muli")) {
    bool left = shardExtentIsNumber(b, &x), right = shardExtentIsNumber(b, &y);
    int64_t scale = left ? shardExtentBound(&x) : right ? shardExtentBound(&y) : 1;
    ShardExtent zero = shardExtentOfNumber(b, 0);
    if (scale <= 0) // no extent, but maybe part of one
      return shardExtentSum(b, &zero, left ? &y : &x, scale, out);
    *out = shardExtentProduct(b, &x, &y);
    out->loose = out->n > 1;
    return true;
  }
  if (shardOpIs(op, "arith.divsi") || shardOpIs(op, "arith.divui") ||
      shardOpIs(op, "arith.floordivsi") || shardOpIs(op, "arith.ceildivsi")) {
    // What was multiplied in is divided out, from either end: the order says nothing here.
    for (int back = 1; back >= 0; --back) {
      bool known[2] = {!back, back};
      ShardExtent parts[2] = {y, y};
      if (shardExtentSplit(b, &x, 2, parts, known)) {
        *out = parts[!back];
        return true;
      }
    }
    return false;
  }
  return false;
}

bool shardBoundedScalar(const ShardBounded *b, MlirValue value, ShardExtent *out) {
  int64_t at;
  if (shardPointerMapGet(b->scalars, value.ptr, &at)) {
    if (at)
      *out = *(const ShardExtent *)(intptr_t)at;
    return at != 0;
  }
  MlirOperation op = shardValueDefiningOp(value);
  MlirType type = mlirValueGetType(value);
  if (mlirOperationIsNull(op) || !(mlirTypeIsAIndex(type) || mlirTypeIsAInteger(type)))
    return false;
  return scalarOfOp(b, op, out);
}

bool shardBoundedIsScalar(const ShardBounded *b, MlirValue value) {
  int64_t at;
  return shardPointerMapGet(b->scalars, value.ptr, &at);
}

MlirValue shardDigitBuild(const ShardBounded *b, const ShardInsert *at, const ShardDigit *digit,
                          const MlirValue *extents) {
  MlirValue sum = {NULL};
  for (int32_t k = 0; k < b->nDims; ++k) {
    if (!digit->terms[1 + k])
      continue;
    MlirValue term = extents[k];
    if (digit->terms[1 + k] != 1)
      term = shardInsertBinary(at, "arith.muli", term,
                               shardInsertIndexConstant(at, digit->terms[1 + k]));
    sum = mlirValueIsNull(sum) ? term : shardInsertBinary(at, "arith.addi", sum, term);
  }
  if (mlirValueIsNull(sum) || digit->terms[0]) {
    MlirValue number = shardInsertIndexConstant(at, digit->terms[0]);
    sum = mlirValueIsNull(sum) ? number : shardInsertBinary(at, "arith.addi", sum, number);
  }
  return sum;
}

MlirValue shardExtentBuild(const ShardBounded *b, const ShardInsert *at, const ShardExtent *extent,
                           const MlirValue *extents) {
  MlirValue product = {NULL};
  for (int32_t i = 0; i < extent->n; ++i) {
    MlirValue digit = shardDigitBuild(b, at, &extent->digits[i], extents);
    product =
        mlirValueIsNull(product) ? digit : shardInsertBinary(at, "arith.muli", product, digit);
  }
  return mlirValueIsNull(product) ? shardInsertIndexConstant(at, 1) : product;
}

ShardExtentOrder shardExtentCompare(const ShardBounded *b, const ShardExtent *x,
                                    const ShardExtent *y) {
  ShardExtent difference;
  ShardDigit digit;
  if (!shardExtentSum(b, x, y, -1, &difference) || !oneDigit(b, &difference, &digit))
    return SHARD_EXTENTS_UNKNOWN;
  int64_t least = leastOf(b, &digit), most = digit.bound;
  return least > 0         ? SHARD_EXTENTS_ABOVE
         : most < 0        ? SHARD_EXTENTS_BELOW
         : !least && !most ? SHARD_EXTENTS_SAME
         : least >= 0      ? SHARD_EXTENTS_NOT_BELOW
         : most <= 0       ? SHARD_EXTENTS_NOT_ABOVE
                           : SHARD_EXTENTS_UNKNOWN;
}
