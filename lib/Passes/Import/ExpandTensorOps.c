//===- ExpandTensorOps.c - Tensor ops in terms of loops -----------*- C -*-===//
// tensor.gather, scatter, generate, reshape, dim, rank and named linalg ops that read
// their loop numbers, as linalg.generic and reshapes: then one set of dimension rules holds for
// all. Also math.clampf, tensor.bitcast and scf.index_switch, which nothing else lowers. An
// expansion is written as the text of a function, which is parsed and inlined.
//===----------------------------------------------------------------------===//
#include "ImportParts.h"
#include "Template.h"

#include "mlir-c/BuiltinTypes.h"

#include <inttypes.h>
#include <string.h>

static MlirType resultType(MlirOperation op) {
  return mlirValueGetType(mlirOperationGetResult(op, 0));
}
static MlirType operandType(MlirOperation op, intptr_t i) {
  return mlirValueGetType(mlirOperationGetOperand(op, i));
}

static void addSignature(ShardText *text, MlirOperation op) {
  shardTextAdd(text, "func.func @f(");
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    shardTextAdd(text, i ? ", %a#: ~" : "%a#: ~", i, operandType(op, i));
  shardTextAdd(text, ") -> ~ {\n", resultType(op));
}

static void addIterators(ShardText *text, intptr_t nParallel, intptr_t nReduction) {
  shardTextAdd(text, "iterator_types = [");
  for (intptr_t i = 0; i < nParallel + nReduction; ++i)
    shardTextAdd(text, i ? ", \"$\"" : "\"$\"", i < nParallel ? "parallel" : "reduction");
  shardTextAdd(text, "]");
}

static void addIndices(ShardText *text, intptr_t n) {
  for (intptr_t i = 0; i < n; ++i)
    shardTextAdd(text, "%i# = linalg.index # : index\n", i, i);
}

/// %p<k>: component k of the positions that operand `operand` holds for loops first, first + 1, ...
static void addPosition(ShardText *text, MlirOperation op, intptr_t operand, intptr_t first,
                        intptr_t k) {
  MlirType indices = operandType(op, operand), element = mlirShapedTypeGetElementType(indices);
  bool isIndex = mlirTypeIsAIndex(element);
  shardTextAdd(text, "%c# = arith.constant # : index\n%p#$ = tensor.extract %a#[", k, k, k,
               isIndex ? "" : "x", operand);
  for (intptr_t i = 0; i + 1 < mlirShapedTypeGetRank(indices); ++i)
    shardTextAdd(text, "%i#, ", first + i);
  shardTextAdd(text, "%c#] : ~\n", k, indices);
  if (!isIndex)
    shardTextAdd(text, "%p# = arith.index_cast %p#x : ~ to index\n", k, k, element);
}

/// Which component of the positions dimension `d` takes; -1: none.
static intptr_t componentOf(MlirAttribute dims, intptr_t d) {
  for (intptr_t k = 0; k < mlirDenseArrayGetNumElements(dims); ++k)
    if (mlirDenseI64ArrayGetElement(dims, k) == d)
      return k;
  return -1;
}

//===----------------------------------------------------------------------===//
// gather, scatter
//===----------------------------------------------------------------------===//

/// result[i..., s...] = source[positions[i...] in the gathered dimensions, s in the others], where
/// s has the gathered dimensions as 1 or not at all.
static MlirLogicalResult expandGather(MlirOperation op, ShardArena *arena) {
  ShardText text = {.arena = arena};
  MlirAttribute dims = shardOpGetAttribute(op, "gather_dims");
  MlirType result = resultType(op), element = mlirShapedTypeGetElementType(result);
  intptr_t rank = mlirShapedTypeGetRank(result);
  intptr_t sourceRank = mlirShapedTypeGetRank(operandType(op, 0));
  intptr_t nIndex = mlirShapedTypeGetRank(operandType(op, 1)) - 1;
  bool keepsUnits = rank == nIndex + sourceRank;
  addSignature(&text, op);
  shardTextAdd(&text,
               "%e = tensor.empty() : ~\n%r = linalg.generic {indexing_maps = [affine_map<(*) -> "
               "(*)>], ",
               result, rank, (intptr_t)0, rank, (intptr_t)0);
  addIterators(&text, rank, 0);
  shardTextAdd(&text, "} outs(%e : ~) {\n^bb0(%o: ~):\n", result, element);
  addIndices(&text, rank);
  for (intptr_t k = 0; k < mlirDenseArrayGetNumElements(dims); ++k)
    addPosition(&text, op, 1, 0, k);
  shardTextAdd(&text, "%v = tensor.extract %a0[");
  intptr_t next = nIndex;
  for (intptr_t d = 0; d < sourceRank; ++d) {
    intptr_t k = componentOf(dims, d);
    shardTextAdd(&text, d ? ", %$#" : "%$#", k >= 0 ? "p" : "i", k >= 0 ? k : next);
    next += k < 0 || keepsUnits;
  }
  shardTextAdd(&text, "] : ~\nlinalg.yield %v : ~\n} -> ~\nreturn %r : ~\n}\n", operandType(op, 0),
               element, result, result);
  return shardReplaceByText(op, &text);
}

/// Every element of the destination looks for the update that is meant for it: loops over the
/// destination are parallel, and positions are unique. `position[d]`: text of the index value that
/// dimension d must equal, or null. `map`: results of the update's indexing map.
static MlirLogicalResult finishScatter(MlirOperation op, ShardText *text, intptr_t dest,
                                       intptr_t source, intptr_t nUpdates, const char *map,
                                       void (*addPositions)(ShardText *text, MlirOperation op),
                                       const char *const *position) {
  MlirType result = resultType(op), element = mlirShapedTypeGetElementType(result);
  intptr_t rank = mlirShapedTypeGetRank(result), loops = rank + nUpdates, zero = 0;
  addSignature(text, op);
  shardTextAdd(
      text,
      "%r = linalg.generic {indexing_maps = [affine_map<(*) -> ($)>, affine_map<(*) -> (*)>], ",
      loops, zero, map, loops, zero, rank, zero);
  addIterators(text, rank, nUpdates);
  shardTextAdd(text, "} ins(%a# : ~) outs(%a# : ~) {\n^bb0(%in: ~, %o: ~):\n", source,
               operandType(op, source), dest, result, element, element);
  addIndices(text, loops);
  addPositions(text, op);
  shardTextAdd(text, "%m = arith.constant true\n");
  intptr_t n = 0;
  for (intptr_t d = 0; d < rank; ++d)
    if (position[d]) {
      shardTextAdd(text, "%h# = arith.cmpi eq, $, %i# : index\n", n, position[d], d);
      shardTextAdd(text, n ? "%m# = arith.andi %m#, %h# : i1\n" : "%m# = arith.andi %m, %h# : i1\n",
                   n, n ? n - 1 : n, n);
      ++n;
    }
  shardTextAdd(text, "%v = arith.select %m$, %in, %o : ~\n",
               n ? shardArenaFormat(text->arena, "%td", n - 1) : "", element);
  shardTextAdd(text, "linalg.yield %v : ~\n} -> ~\nreturn %r : ~\n}\n", element, result, result);
  return shardReplaceByText(op, text);
}

static void addScatterPositions(ShardText *text, MlirOperation op) {
  intptr_t rank = mlirShapedTypeGetRank(resultType(op));
  MlirAttribute dims = shardOpGetAttribute(op, "scatter_dims");
  for (intptr_t k = 0; k < mlirDenseArrayGetNumElements(dims); ++k)
    addPosition(text, op, 2, rank, k);
}

/// tensor.scatter source into dest[positions].
static MlirLogicalResult expandScatter(MlirOperation op, ShardArena *arena) {
  ShardText text = {.arena = arena}, map = {.arena = arena};
  MlirAttribute dims = shardOpGetAttribute(op, "scatter_dims");
  intptr_t rank = mlirShapedTypeGetRank(resultType(op));
  intptr_t nUpdates = mlirShapedTypeGetRank(operandType(op, 2)) - 1;
  bool keepsUnits = mlirShapedTypeGetRank(operandType(op, 0)) == nUpdates + rank;
  const char **position = SHARD_ARENA_ARRAY(arena, const char *, rank + 1);
  shardTextAdd(&map, "*", nUpdates, rank);
  for (intptr_t d = 0; d < rank; ++d) {
    intptr_t k = componentOf(dims, d);
    const char *comma = map.length ? ", " : "";
    if (k >= 0)
      position[d] = shardArenaFormat(arena, "%%p%td", k);
    if (k < 0)
      shardTextAdd(&map, "$d#", comma, d);
    else if (keepsUnits)
      shardTextAdd(&map, "$0", comma);
  }
  return finishScatter(op, &text, 1, 0, nUpdates, map.length ? map.data : "", addScatterPositions,
                       position);
}

//===----------------------------------------------------------------------===//
// generate, reshape, dim, rank, named ops
//===----------------------------------------------------------------------===//

/// tensor.generate: its block becomes the body.
static MlirLogicalResult expandGenerate(MlirOperation op, ShardArena *arena) {
  MlirContext context = mlirOperationGetContext(op);
  MlirLocation location = mlirOperationGetLocation(op);
  MlirType result = resultType(op), element = mlirShapedTypeGetElementType(result);
  intptr_t rank = mlirShapedTypeGetRank(result);
  MlirBlock old = shardOpBody(op), body = mlirBlockCreate(1, &element, &location), none = {NULL};
  MlirOperation end = {NULL};
  for (intptr_t d = 0; d < rank; ++d) {
    MlirType index = mlirIndexTypeGet(context);
    ShardNamedAttribute dim = {"dim", shardAttrI64(context, d)};
    MlirOperation number =
        shardOpCreate(body, end, location, "linalg.index", 1, &index, 0, NULL, 1, &dim, 0, NULL);
    mlirValueReplaceAllUsesOfWith(mlirBlockGetArgument(old, d), mlirOperationGetResult(number, 0));
  }
  intptr_t n;
  MlirOperation *ops = shardBlockOps(old, arena, &n);
  MlirValue yielded = mlirOperationGetOperand(ops[n - 1], 0);
  mlirOperationDestroy(ops[n - 1]);
  for (intptr_t i = 0; i + 1 < n; ++i) {
    mlirOperationRemoveFromParent(ops[i]);
    mlirBlockAppendOwnedOperation(body, ops[i]);
  }
  shardOpCreate(body, end, location, "linalg.yield", 0, NULL, 1, &yielded, 0, NULL, 0, NULL);
  MlirRegion region = mlirRegionCreate();
  mlirRegionAppendOwnedBlock(region, body);
  MlirOperation empty =
      shardOpCreate(none, op, location, "tensor.empty", 1, &result, 0, NULL, 0, NULL, 0, NULL);
  MlirAttribute parallel = mlirAttributeParseGet(
      context, mlirStringRefCreateFromCString("#linalg.iterator_type<parallel>"));
  MlirAttribute *iterators = SHARD_ARENA_ARRAY(arena, MlirAttribute, rank + 1);
  for (intptr_t d = 0; d < rank; ++d)
    iterators[d] = parallel;
  MlirAttribute map = mlirAffineMapAttrGet(mlirAffineMapMultiDimIdentityGet(context, rank));
  int32_t segments[2] = {0, 1};
  ShardNamedAttribute attributes[] = {
      {"indexing_maps", mlirArrayAttrGet(context, 1, &map)},
      {"iterator_types", mlirArrayAttrGet(context, rank, iterators)},
      {"operandSegmentSizes", mlirDenseI32ArrayGet(context, 2, segments)}};
  MlirValue init = mlirOperationGetResult(empty, 0);
  MlirOperation generic = shardOpCreate(none, op, location, "linalg.generic", 1, &result, 1, &init,
                                        3, attributes, 1, &region);
  mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, 0), mlirOperationGetResult(generic, 0));
  mlirOperationDestroy(op);
  return mlirLogicalResultSuccess();
}

/// Cuts two shapes of one element count into groups of one count each, as short as can be; writes
/// the group of each dimension. Returns how many there are; 0 if a shape has no dimension.
static intptr_t groupDims(MlirType from, MlirType to, intptr_t *fromGroups, intptr_t *toGroups) {
  intptr_t fromRank = mlirShapedTypeGetRank(from), toRank = mlirShapedTypeGetRank(to);
  intptr_t i = 0, j = 0, group = 0;
  bool empty = shardTypeElementCount(from) == 0; // one group: counts say nothing
  while (i < fromRank && j < toRank && (group == 0 || !empty)) {
    int64_t left = mlirShapedTypeGetDimSize(from, i), right = mlirShapedTypeGetDimSize(to, j);
    fromGroups[i++] = toGroups[j++] = group;
    while (left != right && !empty && (left < right ? i < fromRank : j < toRank))
      if (left < right) {
        left *= mlirShapedTypeGetDimSize(from, i);
        fromGroups[i++] = group;
      } else {
        right *= mlirShapedTypeGetDimSize(to, j);
        toGroups[j++] = group;
      }
    ++group;
  }
  while (group && i < fromRank) // of one element each
    fromGroups[i++] = group - 1;
  while (group && j < toRank)
    toGroups[j++] = group - 1;
  return group;
}

static void addGroups(ShardText *text, intptr_t rank, intptr_t nGroups, const intptr_t *groups) {
  shardTextAdd(text, "[");
  for (intptr_t d = 0; d < rank && nGroups; ++d)
    shardTextAdd(text, d == 0 ? "[#" : groups[d] == groups[d - 1] ? ", #" : "], [#", d);
  shardTextAdd(text, rank && nGroups ? "]]" : "]");
}

/// A reshape to a static shape: what can stay apart does, and the rest goes through one dimension.
static MlirLogicalResult expandReshape(MlirOperation op, ShardArena *arena) {
  ShardText text = {.arena = arena};
  MlirType from = operandType(op, 0), to = resultType(op);
  intptr_t fromRank = mlirShapedTypeGetRank(from), toRank = mlirShapedTypeGetRank(to);
  intptr_t *fromGroups = SHARD_ARENA_ARRAY(arena, intptr_t, fromRank + toRank + 2);
  intptr_t *toGroups = fromGroups + fromRank + 1;
  intptr_t nGroups = groupDims(from, to, fromGroups, toGroups);
  int64_t *counts = SHARD_ARENA_ARRAY(arena, int64_t, nGroups + 1);
  for (intptr_t g = 0; g < nGroups; ++g)
    counts[g] = 1;
  for (intptr_t d = 0; d < fromRank && nGroups; ++d)
    counts[fromGroups[d]] *= mlirShapedTypeGetDimSize(from, d);
  MlirType flat = shardTensorWithShape(from, nGroups, counts);
  addSignature(&text, op);
  if (fromRank > nGroups) {
    shardTextAdd(&text, "%f = tensor.collapse_shape %a0 ");
    addGroups(&text, fromRank, nGroups, fromGroups);
    shardTextAdd(&text, " : ~ into ~\n", from, flat);
  }
  const char *value = fromRank > nGroups ? "%f" : "%a0";
  if (toRank > nGroups) {
    shardTextAdd(&text, "%r = tensor.expand_shape $ ", value);
    addGroups(&text, toRank, nGroups, toGroups);
    shardTextAdd(&text, " output_shape [");
    for (intptr_t d = 0; d < toRank; ++d)
      shardTextAdd(&text, d ? ", #" : "#", (intptr_t)mlirShapedTypeGetDimSize(to, d));
    shardTextAdd(&text, "] : ~ into ~\n", flat, to);
    value = "%r";
  }
  shardTextAdd(&text, "return $ : ~\n}\n", value, to);
  return shardReplaceByText(op, &text);
}

/// tensor.dim and tensor.rank of a static tensor are numbers.
static MlirLogicalResult expandExtent(MlirOperation op, ShardArena *arena) {
  MlirType type = operandType(op, 0);
  int64_t value = mlirShapedTypeGetRank(type);
  if (shardOpIs(op, "tensor.dim")) {
    MlirOperation constant = shardValueDefiningOp(mlirOperationGetOperand(op, 1));
    int64_t dim;
    if (mlirOperationIsNull(constant) || !shardOpIs(constant, "arith.constant") ||
        !shardAttrGetI64(shardOpGetAttribute(constant, "value"), &dim) || dim < 0 || dim >= value)
      return shardEmitError(op,
                            "'tensor.dim' of a dimension that is no constant in range; expected "
                            "a constant dimension number");
    value = mlirShapedTypeGetDimSize(type, dim);
  }
  ShardText text = {.arena = arena};
  addSignature(&text, op);
  shardTextAdd(&text, "%r = arith.constant # : index\nreturn %r : index\n}\n", (intptr_t)value);
  return shardReplaceByText(op, &text);
}

/// "0, %a2": positions of one element, from operand `first` on; constants as numbers.
static void addElement(ShardText *text, MlirOperation op, intptr_t first, intptr_t rank) {
  for (intptr_t d = 0; d < rank; ++d) {
    MlirOperation constant = shardValueDefiningOp(mlirOperationGetOperand(op, first + d));
    int64_t value;
    if (!mlirOperationIsNull(constant) && shardOpIs(constant, "arith.constant") &&
        shardAttrGetI64(shardOpGetAttribute(constant, "value"), &value) && value >= 0)
      shardTextAdd(text, d ? ", #" : "#", (intptr_t)value);
    else
      shardTextAdd(text, d ? ", %a#" : "%a#", first + d);
  }
  shardTextAdd(text, "] [");
  for (intptr_t i = 0; i < 2 * rank; ++i)
    shardTextAdd(text, i == 0 ? "1" : i == rank ? "] [1" : ", 1");
  shardTextAdd(text, "] : ");
}

static MlirType elementTensor(MlirType type, ShardArena *arena) {
  intptr_t rank = mlirShapedTypeGetRank(type);
  int64_t *ones = SHARD_ARENA_ARRAY(arena, int64_t, rank + 1);
  for (intptr_t d = 0; d < rank; ++d)
    ones[d] = 1;
  return shardTensorWithShape(type, rank, ones);
}

/// An element of a larger tensor is cut out as a tensor of its own, so that only it must be on
/// every rank.
static MlirLogicalResult expandExtract(MlirOperation op, ShardArena *arena) {
  ShardText text = {.arena = arena};
  MlirType type = operandType(op, 0), small = elementTensor(type, arena);
  intptr_t rank = mlirShapedTypeGetRank(type);
  if (shardTypeElementCount(type) == 1)
    return mlirLogicalResultSuccess();
  addSignature(&text, op);
  shardTextAdd(&text, "%s = tensor.extract_slice %a0[");
  addElement(&text, op, 1, rank);
  shardTextAdd(&text, "~ to ~\n%z = arith.constant 0 : index\n%r = tensor.extract %s[", type,
               small);
  for (intptr_t d = 0; d < rank; ++d)
    shardTextAdd(&text, d ? ", %z" : "%z");
  shardTextAdd(&text, "] : ~\nreturn %r : ~\n}\n", small, resultType(op));
  return shardReplaceByText(op, &text);
}

static MlirLogicalResult expandInsert(MlirOperation op, ShardArena *arena) {
  ShardText text = {.arena = arena};
  MlirType type = operandType(op, 1), small = elementTensor(type, arena);
  if (shardTypeElementCount(type) == 1)
    return mlirLogicalResultSuccess();
  addSignature(&text, op);
  shardTextAdd(&text, "%s = tensor.from_elements %a0 : ~\n%r = tensor.insert_slice %s into %a1[",
               small);
  addElement(&text, op, 2, mlirShapedTypeGetRank(type));
  shardTextAdd(&text, "~ into ~\nreturn %r : ~\n}\n", small, type, type);
  return shardReplaceByText(op, &text);
}

static MlirLogicalResult expandClamp(MlirOperation op, ShardArena *arena) {
  ShardText text = {.arena = arena};
  MlirType type = resultType(op);
  addSignature(&text, op);
  shardTextAdd(
      &text,
      "%l = arith.maximumf %a0, %a1 : ~\n%r = arith.minimumf %l, %a2 : ~\nreturn %r : ~\n}\n", type,
      type, type);
  return shardReplaceByText(op, &text);
}

/// tensor.bitcast changes every element alone.
static MlirLogicalResult expandBitcast(MlirOperation op, ShardArena *arena) {
  ShardText text = {.arena = arena};
  MlirType from = operandType(op, 0), to = resultType(op);
  addSignature(&text, op);
  shardTextAdd(&text, "%r = arith.bitcast %a0 : ~ to ~\nreturn %r : ~\n}\n", from, to, to);
  return shardReplaceByText(op, &text);
}

/// A block that yields what `op` gives.
static MlirRegion yieldResults(MlirOperation op, ShardArena *arena) {
  intptr_t n = mlirOperationGetNumResults(op);
  MlirValue *values = SHARD_ARENA_ARRAY(arena, MlirValue, n + 1);
  for (intptr_t r = 0; r < n; ++r)
    values[r] = mlirOperationGetResult(op, r);
  MlirBlock block = mlirBlockCreate(0, NULL, NULL);
  mlirBlockAppendOwnedOperation(block, op);
  shardOpCreate(block, (MlirOperation){NULL}, mlirOperationGetLocation(op), "scf.yield", 0, NULL, n,
                values, 0, NULL, 0, NULL);
  MlirRegion region = mlirRegionCreate();
  mlirRegionAppendOwnedBlock(region, block);
  return region;
}

/// scf.index_switch as a chain of scf.if, the last case innermost.
static MlirLogicalResult expandSwitch(MlirOperation op, ShardArena *arena) {
  MlirContext context = mlirOperationGetContext(op);
  MlirLocation location = mlirOperationGetLocation(op);
  MlirAttribute cases = shardOpGetAttribute(op, "cases");
  intptr_t nCases = mlirDenseArrayGetNumElements(cases), nResults = mlirOperationGetNumResults(op);
  MlirType index = mlirIndexTypeGet(context), i1 = mlirIntegerTypeGet(context, 1);
  MlirType *types = SHARD_ARENA_ARRAY(arena, MlirType, nResults + 1);
  for (intptr_t r = 0; r < nResults; ++r)
    types[r] = mlirValueGetType(mlirOperationGetResult(op, r));
  MlirBlock none = {NULL};
  MlirRegion otherwise = mlirRegionCreate();
  mlirRegionTakeBody(otherwise, mlirOperationGetRegion(op, 0));
  MlirOperation chain = {NULL};
  for (intptr_t k = nCases - 1; k >= 0; --k) {
    ShardNamedAttribute value = {"value", mlirIntegerAttrGet(index, shardArrayAttrAt(cases, k))};
    ShardNamedAttribute equal = {"predicate", shardAttrI64(context, 0)};
    MlirValue operands[2] = {mlirOperationGetOperand(op, 0)};
    operands[1] = mlirOperationGetResult(
        shardOpCreate(none, op, location, "arith.constant", 1, &index, 0, NULL, 1, &value, 0, NULL),
        0);
    MlirValue condition = mlirOperationGetResult(
        shardOpCreate(none, op, location, "arith.cmpi", 1, &i1, 2, operands, 1, &equal, 0, NULL),
        0);
    MlirRegion regions[2] = {mlirRegionCreate(), otherwise};
    mlirRegionTakeBody(regions[0], mlirOperationGetRegion(op, k + 1));
    chain = shardOpCreate(none, op, location, "scf.if", nResults, types, 1, &condition, 0, NULL, 2,
                          regions);
    if (k > 0) {
      mlirOperationRemoveFromParent(chain);
      otherwise = yieldResults(chain, arena);
    }
  }
  if (mlirOperationIsNull(chain)) // only a default: a region to be entered
    chain = shardOpCreate(none, op, location, "scf.execute_region", nResults, types, 0, NULL, 0,
                          NULL, 1, &otherwise);
  for (intptr_t r = 0; r < nResults; ++r)
    mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, r), mlirOperationGetResult(chain, r));
  mlirOperationDestroy(op);
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult seesIndex(void *user, MlirOperation op) {
  (void)op;
  *(bool *)user = true;
  return mlirLogicalResultSuccess();
}

MlirOperation shardGeneralise(MlirOperation op, ShardArena *arena) {
  MlirContext context = mlirOperationGetContext(op);
  MlirAttribute maps = shardIndexingMaps(op);
  intptr_t nOperands = mlirOperationGetNumOperands(op), nResults = mlirOperationGetNumResults(op);
  MlirAffineMap out = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, nOperands - 1));
  intptr_t nLoops = mlirAffineMapGetNumDims(out);
  MlirAttribute *iterators = SHARD_ARENA_ARRAY(arena, MlirAttribute, nLoops + 1);
  for (intptr_t l = 0; l < nLoops; ++l) {
    bool parallel = false;
    for (intptr_t r = 0; r < mlirAffineMapGetNumResults(out); ++r)
      parallel |= shardMapResultDim(out, r) == l;
    iterators[l] = mlirAttributeParseGet(
        context, mlirStringRefCreateFromCString(parallel ? "#linalg.iterator_type<parallel>"
                                                         : "#linalg.iterator_type<reduction>"));
  }
  int32_t segments[2] = {(int32_t)(nOperands - nResults), (int32_t)nResults};
  ShardNamedAttribute attributes[] = {
      {"indexing_maps", maps},
      {"iterator_types", mlirArrayAttrGet(context, nLoops, iterators)},
      {"operandSegmentSizes", mlirDenseI32ArrayGet(context, 2, segments)}};
  MlirRegion region = mlirRegionCreate();
  mlirRegionTakeBody(region, mlirOperationGetRegion(op, 0));
  MlirValue *operands = SHARD_ARENA_ARRAY(arena, MlirValue, nOperands);
  for (intptr_t i = 0; i < nOperands; ++i)
    operands[i] = mlirOperationGetOperand(op, i);
  MlirType type = resultType(op);
  MlirOperation generic =
      shardOpCreate((MlirBlock){NULL}, op, mlirOperationGetLocation(op), "linalg.generic", 1, &type,
                    nOperands, operands, 3, attributes, 1, &region);
  mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, 0), mlirOperationGetResult(generic, 0));
  mlirOperationDestroy(op);
  return generic;
}

/// A named op whose body reads loop numbers: its text has no room for the numbers' origin.
static bool readsIndex(MlirOperation op) {
  bool reads = false;
  for (MlirOperation inner = mlirBlockGetFirstOperation(shardOpBody(op));
       !mlirOperationIsNull(inner); inner = mlirOperationGetNextInBlock(inner))
    shardWalk(inner, "linalg.index", seesIndex, &reads);
  return reads;
}

static bool isLinalg(MlirOperation op) {
  MlirStringRef name = shardOpGetName(op);
  return shardNameHasDialect(name, "linalg");
}

static bool isNamedLinalg(MlirOperation op) {
  return isLinalg(op) && !shardOpIs(op, "linalg.generic") && mlirOperationGetNumRegions(op) == 1 &&
         mlirOperationGetNumResults(op) == 1 && !mlirBlockIsNull(shardOpBody(op)) &&
         !mlirAttributeIsNull(shardIndexingMaps(op));
}

static const struct {
  const char *name;
  MlirLogicalResult (*expand)(MlirOperation op, ShardArena *arena);
} expansions[] = {
    {"tensor.gather", expandGather},     {"tensor.scatter", expandScatter},
    {"tensor.generate", expandGenerate}, {"tensor.reshape", expandReshape},
    {"tensor.dim", expandExtent},        {"tensor.rank", expandExtent},
    {"tensor.bitcast", expandBitcast},   {"math.clampf", expandClamp},
    {"tensor.extract", expandExtract},   {"tensor.insert", expandInsert},
    {"scf.index_switch", expandSwitch},
};

/// Whether the body is done for each element.
static bool hasLoopBody(MlirOperation op) {
  return isLinalg(op) || shardOpIs(op, "tensor.generate") || shardOpIs(op, "tensor.pad");
}

/// `isLoop`: such a body, where elements are read one at a time anyway.
static MlirLogicalResult expandBlock(MlirBlock block, bool isLoop, ShardArena *arena) {
  intptr_t n;
  MlirOperation *ops = shardBlockOps(block, arena, &n);
  for (intptr_t i = 0; i < n; ++i) {
    for (intptr_t g = 0; g < mlirOperationGetNumRegions(ops[i]); ++g)
      for (MlirBlock inner = mlirRegionGetFirstBlock(mlirOperationGetRegion(ops[i], g));
           !mlirBlockIsNull(inner); inner = mlirBlockGetNextInRegion(inner))
        if (mlirLogicalResultIsFailure(expandBlock(inner, isLoop || hasLoopBody(ops[i]), arena)))
          return mlirLogicalResultFailure();
    if (isNamedLinalg(ops[i])) {
      if (readsIndex(ops[i]))
        shardGeneralise(ops[i], arena);
      continue;
    }
    for (size_t k = 0; k < sizeof(expansions) / sizeof(expansions[0]); ++k)
      if (shardOpIs(ops[i], expansions[k].name) &&
          !(isLoop &&
            (expansions[k].expand == expandExtract || expansions[k].expand == expandInsert))) {
        if (mlirLogicalResultIsFailure(expansions[k].expand(ops[i], arena)))
          return mlirLogicalResultFailure();
        break;
      }
  }
  return mlirLogicalResultSuccess();
}

MlirLogicalResult shardImportExpandTensorOps(const ShardImport *import) {
  for (intptr_t i = 0; i < import->nFunctions; ++i)
    if (mlirLogicalResultIsFailure(
            expandBlock(shardFuncGetBody(import->functions[i]), false, import->arena)))
      return mlirLogicalResultFailure();
  return mlirLogicalResultSuccess();
}
