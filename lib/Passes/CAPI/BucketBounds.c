//===- BucketBounds.c - Bounds below those of --dim ---------------*- C -*-===//
#include "Bucketing.h"

#include "../Core/Diagnostics.h"

#include "mlir-c/BuiltinAttributes.h"

#include <inttypes.h>
#include <string.h>

enum { DEFAULT_COUNT = 3, MOST_BUCKETS = 16 };

typedef struct Dim {
  int64_t argument, dimension, least, most;
} Dim;

static Dim dimOf(MlirAttribute rows, intptr_t k) {
  MlirAttribute row = mlirArrayAttrGetElement(rows, k);
  return (Dim){mlirDenseI64ArrayGetElement(row, 0), mlirDenseI64ArrayGetElement(row, 1),
               mlirDenseI64ArrayGetElement(row, 2), mlirDenseI64ArrayGetElement(row, 3)};
}

MlirLogicalResult shardBucketRequestRead(MlirOperation module, const char *text, ShardArena *arena,
                                         ShardBucketRequest *out) {
  *out = (ShardBucketRequest){.count = DEFAULT_COUNT};
  if (!text)
    return mlirLogicalResultSuccess();
  size_t nDigits = strspn(text, "0123456789");
  if (nDigits == 1 || nDigits == 2) {
    out->count = text[0] - '0';
    if (nDigits == 2)
      out->count = 10 * out->count + text[1] - '0';
    if (!text[nDigits] && out->count >= 1 && out->count <= MOST_BUCKETS)
      return mlirLogicalResultSuccess();
  }
  size_t capacity = 0;
  for (const char *at = text; strchr(text, '=') && *at;) {
    size_t length = strcspn(at, ";");
    out->lists = shardArenaGrow(arena, out->lists, (size_t)out->nListed, &capacity,
                                (size_t)out->nListed + 1, sizeof(*out->lists));
    out->lists[out->nListed++] = shardArenaCopyString(arena, at, length);
    at += length + (at[length] == ';');
  }
  if (out->nListed && out->nListed < MOST_BUCKETS)
    return mlirLogicalResultSuccess();
  return shardEmitError(module,
                        "--dim-buckets: '%s' is neither a number from 1 to %d nor fewer lists than "
                        "that of ARG:D=..MAX",
                        text, MOST_BUCKETS);
}

//===----------------------------------------------------------------------===//
// Halves
//===----------------------------------------------------------------------===//

/// What follows from what is known, by equalities with one unknown.
static void propagate(MlirAttribute equal, intptr_t nDims, bool *known) {
  for (bool changed = true; changed;) {
    changed = false;
    for (intptr_t i = 0; i < mlirArrayAttrGetNumElements(equal); ++i) {
      MlirAttribute row = mlirArrayAttrGetElement(equal, i);
      intptr_t open = -1, nOpen = 0;
      for (intptr_t k = 0; k < nDims; ++k)
        if (mlirDenseI64ArrayGetElement(row, 1 + k) && !known[k]) {
          open = k;
          ++nOpen;
        }
      if (nOpen == 1)
        known[open] = changed = true;
    }
  }
}

/// The dimensions that determine all others, the smallest bounds first: of a sum the parts.
static bool *chooseFree(MlirOperation module, MlirAttribute rows, ShardArena *arena) {
  intptr_t n = mlirArrayAttrGetNumElements(rows);
  MlirAttribute equal = shardDynamicList(module, "equal");
  bool *isFree = SHARD_ARENA_ARRAY(arena, bool, n + 1);
  bool *known = SHARD_ARENA_ARRAY(arena, bool, n + 1);
  for (;;) {
    intptr_t least = -1;
    for (intptr_t k = 0; k < n; ++k)
      if (!known[k] && (least < 0 || dimOf(rows, k).most < dimOf(rows, least).most))
        least = k;
    if (least < 0)
      return isFree;
    isFree[least] = known[least] = true;
    propagate(equal, n, known);
  }
}

/// The bound of a version, `halvings` times halved; it stays above the least extent.
static int64_t halve(const Dim *dim, int64_t halvings) {
  int64_t most = (dim->most + (INT64_C(1) << halvings) - 1) >> halvings;
  return most > dim->least ? most : dim->least + 1;
}

intptr_t shardBucketTexts(MlirOperation module, const ShardBucketRequest *request,
                          ShardArena *arena, const char ***out) {
  if (request->nListed) {
    *out = request->lists;
    return request->nListed;
  }
  MlirAttribute rows = shardDynamicDims(module);
  const bool *isFree = chooseFree(module, rows, arena);
  *out = SHARD_ARENA_ARRAY(arena, const char *, request->count);
  intptr_t n = 0;
  for (int64_t halvings = 1; halvings < request->count; ++halvings) {
    const char *text = "";
    bool smaller = false;
    for (intptr_t k = 0; k < mlirArrayAttrGetNumElements(rows); ++k) {
      Dim dim = dimOf(rows, k);
      int64_t most = halve(&dim, halvings);
      smaller |= isFree[k] && most < halve(&dim, halvings - 1);
      if (isFree[k])
        text = shardArenaFormat(arena, "%s%s%" PRId64 ":%" PRId64 "=%" PRId64 "..%" PRId64, text,
                                *text ? "," : "", dim.argument, dim.dimension, dim.least, most);
    }
    if (!smaller)
      break;
    (*out)[n++] = text;
  }
  return n;
}

//===----------------------------------------------------------------------===//
// Bounds of a version
//===----------------------------------------------------------------------===//

const char *shardBucketBoundsText(MlirOperation bucket, ShardArena *arena) {
  MlirAttribute rows = shardDynamicDims(bucket);
  const char *text = "";
  for (intptr_t k = 0; k < mlirArrayAttrGetNumElements(rows); ++k) {
    Dim dim = dimOf(rows, k);
    text = shardArenaFormat(arena, "%s%s%" PRId64 ":%" PRId64 "=..%" PRId64, text, k ? "," : "",
                            dim.argument, dim.dimension, dim.most);
  }
  return text;
}

int shardBucketCompare(MlirOperation a, MlirOperation b) {
  MlirAttribute x = shardDynamicDims(a), y = shardDynamicDims(b);
  if (mlirAttributeEqual(x, y))
    return 0;
  double left = 1, right = 1;
  for (intptr_t k = 0; k < mlirArrayAttrGetNumElements(x); ++k) {
    left *= (double)dimOf(x, k).most;
    right *= (double)dimOf(y, k).most;
  }
  return left <= right ? -1 : 1;
}

const char *shardBucketFindMisfit(MlirOperation module, MlirOperation bucket, ShardArena *arena) {
  MlirAttribute rows = shardDynamicDims(module), others = shardDynamicDims(bucket);
  intptr_t n = mlirArrayAttrGetNumElements(rows);
  bool smaller = false;
  if (mlirAttributeIsNull(others) || mlirArrayAttrGetNumElements(others) != n)
    return "it has other open dimensions than the bounds";
  for (intptr_t k = 0; k < n; ++k) {
    Dim dim = dimOf(rows, k), other = dimOf(others, k);
    if (other.argument != dim.argument || other.dimension != dim.dimension)
      return "it has other open dimensions than the bounds";
    if (other.least != dim.least)
      return shardArenaFormat(arena,
                              "dimension %" PRId64 " of argument %" PRId64 " is from %" PRId64
                              " there, from %" PRId64 " at the bounds",
                              dim.dimension, dim.argument, other.least, dim.least);
    if (other.most > dim.most)
      return shardArenaFormat(arena,
                              "%" PRId64 " is above the bound %" PRId64 " of dimension %" PRId64
                              " of argument %" PRId64,
                              other.most, dim.most, dim.dimension, dim.argument);
    smaller |= other.most < dim.most;
  }
  return smaller ? NULL : "its bounds are those of --dim";
}
