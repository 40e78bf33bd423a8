//===- SetDims.c - Extents for dynamic dimensions -----------------*- C -*-===//
#include "Bounded.h"

#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/Dialect/Tosa.h"
#include "mlir-c/Pass.h"

#include <stdlib.h>
#include <string.h>

/// Index of the argument that the text names: a number, or its name; -1: none.
static intptr_t findArgument(const ShardImport *import, const char *const *names, const char *text,
                             size_t length) {
  intptr_t n = mlirBlockGetNumArguments(shardFuncGetBody(import->entry)), index = 0;
  bool isNumber = length > 0 && length < 9;
  for (size_t i = 0; i < length && isNumber; ++i) {
    isNumber = text[i] >= '0' && text[i] <= '9';
    index = index * 10 + (text[i] - '0');
  }
  if (isNumber)
    return index < n ? index : -1;
  for (intptr_t i = 0; i < n; ++i)
    if (strlen(names[i]) == length && !memcmp(names[i], text, length))
      return i;
  return -1;
}

static bool parseNumber(const char *text, size_t length, int64_t *out) {
  *out = 0;
  for (size_t i = 0; i < length; ++i)
    if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(*out, (int64_t)10, out) ||
        __builtin_add_overflow(*out, (int64_t)(text[i] - '0'), out))
      return false;
  return length > 0;
}

/// What is asked for the dynamic dimensions of the entry's arguments.
typedef struct DimRequests {
  const char *const *names; // [arguments]
  int64_t **shapes;         // [arguments] static shape, null: as it is
  ShardBoundedDim *bounds;  // [nBounds] those that stay open
  size_t nBounds, capacity;
} DimRequests;

/// N, or LEAST..MOST, of which LEAST may be left out.
static bool parseExtent(const char *text, size_t length, int64_t *least, int64_t *most) {
  const char *dots = NULL;
  for (size_t i = 0; i + 1 < length && !dots; ++i)
    if (text[i] == '.' && text[i + 1] == '.')
      dots = text + i;
  *least = 1;
  if (!dots)
    return parseNumber(text, length, most) && parseNumber(text, length, least);
  return (dots == text || parseNumber(text, (size_t)(dots - text), least)) &&
         parseNumber(dots + 2, (size_t)(text + length - dots - 2), most);
}

static MlirLogicalResult setArgument(const ShardImport *import, DimRequests *requests,
                                     intptr_t argument, int64_t dim, int64_t least, int64_t most) {
  MlirType type = mlirValueGetType(mlirBlockGetArgument(shardFuncGetBody(import->entry), argument));
  MlirLocation nowhere = mlirLocationUnknownGet(import->context);
  if (!mlirShapedTypeIsDynamicDim(type, dim)) {
    int64_t size = mlirShapedTypeGetDimSize(type, dim);
    if (least <= size && size <= most)
      return mlirLogicalResultSuccess();
    return shardEmitErrorAt(nowhere,
                            "--dim: dimension %lld of argument %td is %lld and cannot be set to "
                            "%lld",
                            (long long)dim, argument, (long long)size, (long long)most);
  }
  intptr_t rank = mlirShapedTypeGetRank(type);
  if (!requests->shapes[argument]) {
    requests->shapes[argument] = SHARD_ARENA_ARRAY(import->arena, int64_t, rank);
    for (intptr_t d = 0; d < rank; ++d)
      requests->shapes[argument][d] = mlirShapedTypeGetDimSize(type, d);
  }
  requests->shapes[argument][dim] = most;
  size_t kept = 0; // the last request holds
  for (size_t i = 0; i < requests->nBounds; ++i)
    if (requests->bounds[i].argument != argument || requests->bounds[i].dimension != dim)
      requests->bounds[kept++] = requests->bounds[i];
  requests->nBounds = kept;
  if (least == most)
    return mlirLogicalResultSuccess();
  requests->bounds =
      shardArenaGrow(import->arena, requests->bounds, requests->nBounds, &requests->capacity,
                     requests->nBounds + 1, sizeof(*requests->bounds));
  requests->bounds[requests->nBounds++] = (ShardBoundedDim){argument, dim, least, most};
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult setOne(const ShardImport *import, DimRequests *requests, const char *text,
                                size_t length) {
  int shown = (int)length;
  MlirLocation nowhere = mlirLocationUnknownGet(import->context);
  const char *equals = memchr(text, '=', length), *colon = NULL;
  for (const char *p = text; equals && p < equals; ++p)
    if (*p == ':')
      colon = p;
  int64_t dim, least, most;
  if (!colon || !parseNumber(colon + 1, (size_t)(equals - colon - 1), &dim) ||
      !parseExtent(equals + 1, (size_t)(text + length - equals - 1), &least, &most))
    return shardEmitErrorAt(
        nowhere, "--dim: '%.*s' is not of the form ARG:D=N, ARG:D=..MAX or ARG:D=MIN..MAX", shown,
        text);
  if (least == 0 || most == 0)
    return shardEmitErrorAt(nowhere, "--dim: '%.*s' sets an extent of 0; at least 1 expected",
                            shown, text);
  if (least > most || most > INT32_MAX)
    return shardEmitErrorAt(nowhere, "--dim: '%.*s' leaves no extent from 1 to %d", shown, text,
                            INT32_MAX);
  size_t nameLength = (size_t)(colon - text);
  MlirBlock body = shardFuncGetBody(import->entry);
  if (nameLength == 1 && text[0] == '*') {
    bool any = false;
    for (intptr_t i = 0; i < mlirBlockGetNumArguments(body); ++i) {
      MlirType type = mlirValueGetType(mlirBlockGetArgument(body, i));
      bool open = mlirTypeIsARankedTensor(type) && dim < mlirShapedTypeGetRank(type) &&
                  mlirShapedTypeIsDynamicDim(type, dim);
      any |= open;
      if (open && mlirLogicalResultIsFailure(setArgument(import, requests, i, dim, least, most)))
        return mlirLogicalResultFailure();
    }
    return any ? mlirLogicalResultSuccess()
               : shardEmitErrorAt(nowhere, "--dim: no argument has a dynamic dimension %lld",
                                  (long long)dim);
  }
  intptr_t argument = findArgument(import, requests->names, text, nameLength);
  if (argument < 0)
    return shardEmitErrorAt(nowhere,
                            "--dim: the entry has no argument '%.*s'; expected a number below "
                            "%td, '*', or a name, which --args gives",
                            (int)nameLength, text, mlirBlockGetNumArguments(body));
  MlirType type = mlirValueGetType(mlirBlockGetArgument(body, argument));
  if (!mlirTypeIsARankedTensor(type) || dim >= mlirShapedTypeGetRank(type))
    return shardEmitErrorAt(nowhere, "--dim: argument %td has no dimension %lld", argument,
                            (long long)dim);
  return setArgument(import, requests, argument, dim, least, most);
}

/// Extents that do not fit together show where they meet: what upstream says of it, as one error.
static MlirLogicalResult refuseExtents(ShardFirstError *first) {
  const char *text = shardFirstErrorEnd(first);
  return shardEmitErrorAt(first->location, "the extents given do not fit together: %s",
                          text ? text : "the function is not valid");
}

static MlirLogicalResult checkExtents(const ShardImport *import) {
  ShardFirstError first;
  shardFirstErrorBegin(&first, import->module, import->arena);
  if (!mlirOperationVerify(import->module))
    return refuseExtents(&first);
  shardFirstErrorEnd(&first);
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult inferTosaShapes(const ShardImport *import) {
  MlirPassManager manager = mlirPassManagerCreateOnOperation(
      import->context, mlirStringRefCreateFromCString("builtin.module"));
  mlirPassManagerEnableVerifier(manager, false);
  MlirOpPassManager functions =
      mlirPassManagerGetNestedUnder(manager, mlirStringRefCreateFromCString("func.func"));
  mlirOpPassManagerAddOwnedPass(functions, mlirCreateTosaTosaInferShapesPass());
  ShardFirstError first;
  shardFirstErrorBegin(&first, import->module, import->arena);
  MlirLogicalResult result = mlirPassManagerRunOnOp(manager, import->module);
  mlirPassManagerDestroy(manager);
  if (mlirLogicalResultIsFailure(result))
    return refuseExtents(&first);
  shardFirstErrorEnd(&first);
  return result;
}

enum { MAX_ROUNDS = 16 };

static MlirWalkResult findDynamic(MlirOperation op, void *user) {
  for (intptr_t i = 0, n = mlirOperationGetNumResults(op); i < n; ++i) {
    MlirType type = mlirValueGetType(mlirOperationGetResult(op, i));
    if (mlirTypeIsARankedTensor(type) && !mlirShapedTypeHasStaticShape(type)) {
      *(bool *)user = true;
      return MlirWalkResultInterrupt;
    }
  }
  return MlirWalkResultAdvance;
}

static bool isDynamic(const ShardImport *import) {
  bool found = false;
  for (intptr_t f = 0; f < import->nFunctions && !found; ++f)
    mlirOperationWalk(import->functions[f], findDynamic, &found, MlirWalkPreOrder);
  return found;
}

static bool hasDynamicArgument(const ShardImport *import) {
  MlirBlock body = shardFuncGetBody(import->entry);
  for (intptr_t i = 0, n = mlirBlockGetNumArguments(body); i < n; ++i) {
    MlirType type = mlirValueGetType(mlirBlockGetArgument(body, i));
    if (!mlirTypeIsARankedTensor(type) || !mlirShapedTypeHasStaticShape(type))
      return true;
  }
  return false;
}

/// The extents on the arguments, and from there on. TOSA ops infer theirs by upstream's pass,
/// between ours for the others, until both are done.
static MlirLogicalResult specialize(const ShardImport *import, intptr_t n, int64_t *const *shapes) {
  MlirBlock body = shardFuncGetBody(import->entry);
  for (intptr_t i = 0; i < n; ++i) {
    MlirValue argument = mlirBlockGetArgument(body, i);
    MlirType type = mlirValueGetType(argument);
    if (shapes[i])
      mlirValueSetType(argument,
                       shardTensorWithShape(type, mlirShapedTypeGetRank(type), shapes[i]));
  }
  if (import->bounded || !shardImportHasTosa(import))
    return shardImportRefineShapes(import);
  for (int round = 0; round < MAX_ROUNDS; ++round) {
    shardFuncUpdateType(import->entry);
    if (mlirLogicalResultIsFailure(inferTosaShapes(import)) ||
        mlirLogicalResultIsFailure(shardImportRefineShapes(import)))
      return mlirLogicalResultFailure();
    if (!isDynamic(import))
      break;
  }
  return mlirLogicalResultSuccess();
}

/// What is asked of a dynamic dimension of an argument: no bound (`most` 0) if nothing is.
static ShardBoundedDim requestOf(const DimRequests *requests, intptr_t argument, intptr_t d) {
  ShardBoundedDim dim = {.argument = argument, .dimension = d};
  const int64_t *shape = requests->shapes[argument];
  if (!shape || shape[d] == mlirShapedTypeGetDynamicSize())
    return dim;
  dim.least = dim.most = shape[d];
  for (size_t k = 0; k < requests->nBounds; ++k)
    if (requests->bounds[k].argument == argument && requests->bounds[k].dimension == d)
      dim = requests->bounds[k];
  return dim;
}

/// Dimensions that follow from those that are asked for, and bounds that follow from each other.
static MlirLogicalResult addTied(const ShardImport *import, DimRequests *requests) {
  MlirBlock body = shardFuncGetBody(import->entry);
  intptr_t nArguments = mlirBlockGetNumArguments(body), nOpen = 0, nDims = 0;
  for (intptr_t i = 0; i < nArguments; ++i) {
    MlirType type = mlirValueGetType(mlirBlockGetArgument(body, i));
    nDims += mlirTypeIsARankedTensor(type) ? mlirShapedTypeGetRank(type) : 0;
  }
  ShardBoundedDim *dims = SHARD_ARENA_ARRAY(import->arena, ShardBoundedDim, nDims + 1);
  nDims = 0;
  for (intptr_t i = 0; i < nArguments; ++i) {
    MlirType type = mlirValueGetType(mlirBlockGetArgument(body, i));
    for (intptr_t d = 0; mlirTypeIsARankedTensor(type) && d < mlirShapedTypeGetRank(type); ++d)
      if (mlirShapedTypeIsDynamicDim(type, d)) {
        dims[nDims] = requestOf(requests, i, d);
        nOpen += !dims[nDims].most || dims[nDims].least != dims[nDims].most;
        ++nDims;
      }
  }
  if (!nOpen)
    return mlirLogicalResultSuccess();
  shardImportTieDims(import, (int32_t)nDims, dims);
  for (intptr_t k = 0; k < nDims; ++k)
    if (dims[k].most &&
        mlirLogicalResultIsFailure(setArgument(import, requests, (intptr_t)dims[k].argument,
                                               dims[k].dimension, dims[k].least, dims[k].most)))
      return mlirLogicalResultFailure();
  return mlirLogicalResultSuccess();
}

/// Beside a bound, a dimension of which nothing is known would be an extent that no run gives.
static MlirLogicalResult checkAllAsked(const ShardImport *import, const DimRequests *requests) {
  MlirBlock body = shardFuncGetBody(import->entry);
  for (intptr_t i = 0, n = mlirBlockGetNumArguments(body); i < n; ++i) {
    MlirType type = mlirValueGetType(mlirBlockGetArgument(body, i));
    for (intptr_t d = 0; mlirTypeIsARankedTensor(type) && d < mlirShapedTypeGetRank(type); ++d)
      if (mlirShapedTypeIsDynamicDim(type, d) && !requestOf(requests, i, d).most)
        return shardImportRefuseOpen(import->entry, i, d);
  }
  return mlirLogicalResultSuccess();
}

static int compareBounds(const void *x, const void *y) {
  const ShardBoundedDim *a = x, *b = y;
  if (a->argument != b->argument)
    return a->argument < b->argument ? -1 : 1;
  return (a->dimension > b->dimension) - (a->dimension < b->dimension);
}

/// Extents that are given, on the arguments; then what stays open is all that is dynamic.
static void openBounds(ShardImport *import, const DimRequests *requests) {
  MlirBlock body = shardFuncGetBody(import->entry);
  for (intptr_t i = 0, n = mlirBlockGetNumArguments(body); i < n; ++i) {
    if (!requests->shapes[i])
      continue;
    MlirValue argument = mlirBlockGetArgument(body, i);
    intptr_t rank = mlirShapedTypeGetRank(mlirValueGetType(argument));
    int64_t *shape = SHARD_ARENA_ARRAY(import->arena, int64_t, rank + 1);
    memcpy(shape, requests->shapes[i], (size_t)rank * sizeof(*shape));
    for (size_t k = 0; k < requests->nBounds; ++k)
      if (requests->bounds[k].argument == i)
        shape[requests->bounds[k].dimension] = mlirShapedTypeGetDynamicSize();
    mlirValueSetType(argument, shardTensorWithShape(mlirValueGetType(argument), rank, shape));
  }
  qsort(requests->bounds, requests->nBounds, sizeof(*requests->bounds), compareBounds);
  import->bounded = shardBoundedCreate(import, (int32_t)requests->nBounds, requests->bounds);
}

/// Remembers which dimensions of arguments come as `?`.
static void findOpen(ShardImport *import, intptr_t n) {
  import->open = SHARD_ARENA_ARRAY(import->arena, bool *, n + 1);
  for (intptr_t i = 0; i < n; ++i) {
    MlirType type = mlirValueGetType(mlirBlockGetArgument(shardFuncGetBody(import->entry), i));
    intptr_t rank = mlirTypeIsARankedTensor(type) ? mlirShapedTypeGetRank(type) : 0;
    import->open[i] = SHARD_ARENA_ARRAY(import->arena, bool, rank + 1);
    for (intptr_t d = 0; d < rank; ++d)
      import->open[i][d] = mlirShapedTypeIsDynamicDim(type, d);
  }
}

/// Whether result types are open though no argument is, as behind a tensor.cast.
static bool isOpenInside(const ShardImport *import) {
  return !hasDynamicArgument(import) && isDynamic(import);
}

MlirLogicalResult shardImportSetDims(ShardImport *import, const char *dims, const char *argsPath) {
  intptr_t n = mlirBlockGetNumArguments(shardFuncGetBody(import->entry));
  DimRequests requests = {.shapes = SHARD_ARENA_ARRAY(import->arena, int64_t *, n + 1),
                          .names = shardImportArgumentNames(import, argsPath)};
  findOpen(import, n);
  for (const char *at = dims; at[0];) {
    size_t length = strcspn(at, ",");
    if (mlirLogicalResultIsFailure(setOne(import, &requests, at, length)))
      return mlirLogicalResultFailure();
    at += length + (at[length] == ',');
  }
  if (mlirLogicalResultIsFailure(addTied(import, &requests)))
    return mlirLogicalResultFailure();
  if (requests.nBounds && mlirLogicalResultIsFailure(checkAllAsked(import, &requests)))
    return mlirLogicalResultFailure();
  if (requests.nBounds)
    openBounds(import, &requests);
  bool asked = isOpenInside(import);
  for (intptr_t i = 0; i < n; ++i)
    asked |= requests.shapes[i] != NULL;
  if (!asked)
    return mlirLogicalResultSuccess();
  return mlirLogicalResultIsSuccess(specialize(import, n, requests.shapes))
             ? checkExtents(import)
             : mlirLogicalResultFailure();
}
