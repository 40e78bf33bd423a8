//===- TieDims.c - Dynamic dimensions that the program makes equal -*- C -*-===//
// An exporter knows one symbol of several dimensions; MLIR keeps a `?` of each. What is computed
// brings them together again. A copy of the program is followed once with all of them open, and the
// equalities noted on the way (Bounded.h) give dimensions their extents or bounds from others, to a
// fixed point: propagation of intervals through linear equations.
//===----------------------------------------------------------------------===//
#include "Bounded.h"

#include "mlir-c/BuiltinAttributes.h"

enum { UNKNOWN_MOST = 4096 }; // equalities do not depend on it

/// The equalities of a copy in which every dimension is open; what it cannot follow ends it early.
static const ShardBounded *followCopy(const ShardImport *import, int32_t nDims,
                                      const ShardBoundedDim *dims, MlirOperation copy) {
  ShardImport open = {.context = import->context,
                      .module = copy,
                      .arena = import->arena,
                      .ownRules = import->ownRules};
  MlirStringRef entry = mlirStringAttrGetValue(shardOpGetAttribute(import->entry, "sym_name"));
  ShardBoundedDim *all = SHARD_ARENA_ARRAY(import->arena, ShardBoundedDim, nDims + 1);
  int64_t most = 1;
  for (int32_t k = 0; k < nDims; ++k)
    most = dims[k].most > most ? dims[k].most : most;
  for (int32_t k = 0; k < nDims; ++k) {
    all[k] = dims[k];
    if (!dims[k].most)
      all[k] = (ShardBoundedDim){dims[k].argument, dims[k].dimension, 1,
                                 most > UNKNOWN_MOST ? most : UNKNOWN_MOST};
  }
  ShardFirstError first;
  shardFirstErrorBegin(&first, import->module, import->arena);
  if (mlirLogicalResultIsSuccess(shardImportFindFunctions(
          &open, shardArenaCopyString(import->arena, entry.data, entry.length)))) {
    open.bounded = shardBoundedCreate(&open, nDims, all);
    (void)shardImportRefineShapes(&open);
  }
  shardFirstErrorEnd(&first);
  return open.bounded;
}

/// Adds [least, most] * factor to an interval. False where that does not fit in 64 bits.
static bool addInterval(int64_t factor, int64_t least, int64_t most, int64_t *low, int64_t *high) {
  int64_t a, b;
  return !__builtin_mul_overflow(factor, factor > 0 ? least : most, &a) &&
         !__builtin_mul_overflow(factor, factor > 0 ? most : least, &b) &&
         !__builtin_add_overflow(*low, a, low) && !__builtin_add_overflow(*high, b, high);
}

/// Narrows dimension k by row[0] + sum(row[1 + j] * extent j) = 0, in which its factor is 1 or -1.
/// Whether it changed.
static bool narrow(int32_t nDims, ShardBoundedDim *dims, const int64_t *row, int32_t k) {
  int64_t sign = -row[1 + k], least = sign * row[0], most = least;
  if (sign != 1 && sign != -1)
    return false;
  for (int32_t j = 0; j < nDims; ++j)
    if (j != k && row[1 + j] &&
        (!dims[j].most ||
         !addInterval(sign * row[1 + j], dims[j].least, dims[j].most, &least, &most)))
      return false;
  ShardBoundedDim *dim = &dims[k];
  least = least < 1 ? 1 : least;
  if (dim->most) {
    least = least < dim->least ? dim->least : least;
    most = most > dim->most ? dim->most : most;
    if (least == most && dim->least != dim->most)
      return false; // asked to vary, but it cannot
  }
  if (least > most || most > INT32_MAX || (least == dim->least && most == dim->most))
    return false; // what does not fit together shows where it meets
  dim->least = least;
  dim->most = most;
  return true;
}

void shardImportTieDims(const ShardImport *import, int32_t nDims, ShardBoundedDim *dims) {
  MlirOperation copy = mlirOperationClone(import->module);
  const ShardBounded *b = followCopy(import, nDims, dims, copy);
  // An interval only shrinks, so that this ends; a chain of n dimensions takes n rounds.
  bool changed = b != NULL;
  for (int32_t round = 0; round <= nDims && changed; ++round) {
    changed = false;
    for (size_t i = 0; i < b->nEqual; ++i)
      for (int32_t k = 0; k < nDims; ++k)
        if (b->equal[i][1 + k])
          changed |= narrow(nDims, dims, b->equal[i], k);
  }
  mlirOperationDestroy(copy);
}
