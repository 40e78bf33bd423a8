//===- SplitProjections.c - One projection a piece ----------------*- C -*-===//
// Queries, keys and values of grouped heads may come out of one product whose columns are then cut
// in unequal pieces. No view of the weight says that, so the cut moves up: through reshapes and
// elementwise ops, into the product, onto the weight. Equal pieces stay: they are a view.
//===----------------------------------------------------------------------===//

#include "ImportParts.h"

#include "mlir-c/AffineExpr.h"
#include "mlir-c/BuiltinTypes.h"

#include <string.h>

typedef struct Cut {
  intptr_t dim;
  int64_t offset, size, full;
} Cut;

static int64_t sizeOf(MlirValue value, intptr_t dim) {
  return mlirShapedTypeGetDimSize(mlirValueGetType(value), dim);
}

/// Reads an extract_slice that keeps all dimensions and cuts exactly one, by unit stride.
static bool readCut(MlirOperation op, Cut *out) {
  if (!shardOpIs(op, "tensor.extract_slice") || mlirOperationGetNumOperands(op) != 1)
    return false;
  MlirValue source = mlirOperationGetOperand(op, 0);
  MlirAttribute offsets = shardOpGetAttribute(op, "static_offsets");
  MlirAttribute sizes = shardOpGetAttribute(op, "static_sizes");
  MlirAttribute strides = shardOpGetAttribute(op, "static_strides");
  intptr_t rank = mlirDenseArrayGetNumElements(sizes);
  if (mlirShapedTypeGetRank(mlirValueGetType(mlirOperationGetResult(op, 0))) != rank)
    return false;
  intptr_t cuts = 0;
  for (intptr_t d = 0; d < rank; ++d) {
    if (shardArrayAttrAt(strides, d) != 1)
      return false;
    if (shardArrayAttrAt(sizes, d) == sizeOf(source, d))
      continue;
    ++cuts;
    *out = (Cut){.dim = d,
                 .offset = shardArrayAttrAt(offsets, d),
                 .size = shardArrayAttrAt(sizes, d),
                 .full = sizeOf(source, d)};
  }
  return cuts == 1;
}

static bool isTile(const Cut *cut) {
  return cut->size > 0 && cut->offset % cut->size == 0 && cut->full % cut->size == 0;
}

static intptr_t useCount(MlirValue value) {
  intptr_t n = 0;
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use))
    ++n;
  return n;
}

static bool isLinalg(MlirOperation op) {
  MlirStringRef name = shardOpGetName(op);
  return shardNameHasDialect(name, "linalg") && mlirOperationGetNumResults(op) == 1 &&
         mlirOperationGetNumRegions(op) == 1 && shardIndexingMaps(op).ptr;
}

static MlirAffineMap mapOf(MlirOperation op, intptr_t operand) {
  return mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(shardIndexingMaps(op), operand));
}

/// The position of a loop among a map's results as a plain dimension; -1 if it is not in the map,
/// -2 if it is there in another form or twice.
static intptr_t findLoop(MlirAffineMap map, intptr_t loop) {
  intptr_t found = -1;
  for (intptr_t r = 0; r < mlirAffineMapGetNumResults(map); ++r) {
    if (shardMapResultDim(map, r) == loop) {
      if (found != -1)
        return -2;
      found = r;
    } else if (shardMapResultDim(map, r) < 0 &&
               mlirAffineExprIsFunctionOfDim(mlirAffineMapGetResult(map, r), loop)) {
      return -2;
    }
  }
  return found;
}

static bool bodyIsPlain(MlirOperation op) {
  for (MlirOperation inner = mlirBlockGetFirstOperation(shardOpBody(op)); inner.ptr;
       inner = mlirOperationGetNextInBlock(inner))
    if (shardOpIs(inner, "linalg.index") || shardOpIs(inner, "tensor.extract") ||
        mlirOperationGetNumRegions(inner) > 0)
      return false;
  return true;
}

/// The loop that a result dimension of a linalg op runs along, if every operand has it in a plain
/// place; -1 otherwise.
static intptr_t cutLoop(MlirOperation op, intptr_t dim) {
  intptr_t nOperands = mlirOperationGetNumOperands(op);
  intptr_t loop = shardMapResultDim(mapOf(op, nOperands - 1), dim);
  if (loop < 0 || !bodyIsPlain(op))
    return -1;
  for (intptr_t i = 0; i < nOperands; ++i)
    if (findLoop(mapOf(op, i), loop) == -2)
      return -1;
  return loop;
}

static bool hasReduction(MlirOperation op) {
  MlirAffineMap result = mapOf(op, mlirOperationGetNumOperands(op) - 1);
  return mlirAffineMapGetNumDims(result) > mlirAffineMapGetNumResults(result);
}

/// The dimension of an expand_shape's operand that its result dimension is, alone in its group; -1.
static intptr_t unexpandedDim(MlirOperation op, intptr_t dim) {
  MlirAttribute groups = shardOpGetAttribute(op, "reassociation");
  intptr_t next = 0;
  for (intptr_t g = 0; g < mlirArrayAttrGetNumElements(groups); ++g) {
    intptr_t n = mlirArrayAttrGetNumElements(mlirArrayAttrGetElement(groups, g));
    if (dim < next + n)
      return n == 1 ? g : -1;
    next += n;
  }
  return -1;
}

/// Whether a cut of `value` can move up into a product that has it from one side only.
static bool reachesProduct(MlirValue value, intptr_t dim, int depth) {
  MlirOperation def = shardValueDefiningOp(value);
  if (!def.ptr || depth > 16)
    return false;
  if (shardOpIs(def, "tensor.expand_shape")) {
    intptr_t source = unexpandedDim(def, dim);
    MlirValue operand = mlirOperationGetOperand(def, 0);
    return source >= 0 && useCount(operand) == 1 && reachesProduct(operand, source, depth + 1);
  }
  if (!isLinalg(def))
    return false;
  intptr_t loop = cutLoop(def, dim), nInputs = mlirOperationGetNumOperands(def) - 1;
  if (loop < 0)
    return false;
  if (hasReduction(def)) {
    intptr_t sides = 0;
    for (intptr_t i = 0; i < nInputs; ++i)
      sides += findLoop(mapOf(def, i), loop) >= 0;
    return nInputs == 2 && sides == 1;
  }
  for (intptr_t i = 0; i < nInputs; ++i) {
    intptr_t position = findLoop(mapOf(def, i), loop);
    MlirValue operand = mlirOperationGetOperand(def, i);
    if (position >= 0 && useCount(operand) == 1 && reachesProduct(operand, position, depth + 1))
      return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Moving a cut up
//===----------------------------------------------------------------------===//

typedef struct Mover {
  const ShardImport *import;
  MlirOperation before; // new ops go here
  int64_t offset, size;
} Mover;

static MlirType cutType(MlirValue value, intptr_t dim, int64_t size) {
  MlirType type = mlirValueGetType(value);
  int64_t shape[64];
  intptr_t rank = (intptr_t)mlirShapedTypeGetRank(type);
  for (intptr_t d = 0; d < rank && d < 64; ++d)
    shape[d] = d == dim ? size : mlirShapedTypeGetDimSize(type, d);
  return shardTensorWithShape(type, rank, shape);
}

static MlirValue insertSlice(Mover *m, MlirValue value, intptr_t dim) {
  MlirContext context = m->import->context;
  intptr_t rank = (intptr_t)mlirShapedTypeGetRank(mlirValueGetType(value));
  int64_t *offsets = SHARD_ARENA_ARRAY(m->import->arena, int64_t, 3 * rank);
  int64_t *sizes = offsets + rank, *strides = sizes + rank;
  for (intptr_t d = 0; d < rank; ++d) {
    offsets[d] = d == dim ? m->offset : 0;
    sizes[d] = d == dim ? m->size : sizeOf(value, d);
    strides[d] = 1;
  }
  int32_t segments[4] = {1, 0, 0, 0};
  ShardNamedAttribute attributes[] = {
      {"static_offsets", shardAttrI64Array(context, rank, offsets)},
      {"static_sizes", shardAttrI64Array(context, rank, sizes)},
      {"static_strides", shardAttrI64Array(context, rank, strides)},
      {"operandSegmentSizes", mlirDenseI32ArrayGet(context, 4, segments)},
  };
  MlirType type = cutType(value, dim, m->size);
  MlirOperation op = shardOpCreate(mlirOperationGetBlock(m->before), m->before,
                                   mlirOperationGetLocation(m->before), "tensor.extract_slice", 1,
                                   &type, 1, &value, 4, attributes, 0, NULL);
  return mlirOperationGetResult(op, 0);
}

static MlirOperation insertClone(Mover *m, MlirOperation op) {
  MlirOperation clone = mlirOperationClone(op);
  mlirBlockInsertOwnedOperationBefore(mlirOperationGetBlock(m->before), m->before, clone);
  return clone;
}

static MlirValue moveCut(Mover *m, MlirValue value, intptr_t dim, int depth) {
  MlirOperation def = shardValueDefiningOp(value);
  if (!def.ptr || depth > 18)
    return insertSlice(m, value, dim);
  if (shardOpIs(def, "tensor.empty")) {
    MlirOperation clone = insertClone(m, def);
    mlirValueSetType(mlirOperationGetResult(clone, 0), cutType(value, dim, m->size));
    return mlirOperationGetResult(clone, 0);
  }
  if (shardOpIs(def, "tensor.expand_shape") && unexpandedDim(def, dim) >= 0) {
    MlirValue operand =
        moveCut(m, mlirOperationGetOperand(def, 0), unexpandedDim(def, dim), depth + 1);
    MlirOperation clone = insertClone(m, def);
    mlirOperationSetOperand(clone, 0, operand);
    MlirType type = cutType(value, dim, m->size);
    int64_t shape[64];
    intptr_t rank = (intptr_t)mlirShapedTypeGetRank(type);
    for (intptr_t d = 0; d < rank; ++d)
      shape[d] = mlirShapedTypeGetDimSize(type, d);
    shardOpSetAttribute(clone, "static_output_shape",
                        shardAttrI64Array(m->import->context, rank, shape));
    mlirValueSetType(mlirOperationGetResult(clone, 0), type);
    return mlirOperationGetResult(clone, 0);
  }
  intptr_t loop = isLinalg(def) ? cutLoop(def, dim) : -1;
  if (loop < 0)
    return insertSlice(m, value, dim);
  intptr_t nOperands = mlirOperationGetNumOperands(def);
  MlirValue *operands = SHARD_ARENA_ARRAY(m->import->arena, MlirValue, nOperands);
  for (intptr_t i = 0; i < nOperands; ++i) {
    intptr_t position = findLoop(mapOf(def, i), loop);
    operands[i] = mlirOperationGetOperand(def, i);
    if (position >= 0 && mlirTypeIsARankedTensor(mlirValueGetType(operands[i])))
      operands[i] = moveCut(m, operands[i], position, depth + 1);
  }
  MlirOperation clone = insertClone(m, def);
  for (intptr_t i = 0; i < nOperands; ++i)
    mlirOperationSetOperand(clone, i, operands[i]);
  mlirValueSetType(mlirOperationGetResult(clone, 0), cutType(value, dim, m->size));
  return mlirOperationGetResult(clone, 0);
}

/// All uses of the value cut one dimension, in disjoint pieces that are not all tiles of one size.
static bool isCutUnequally(MlirValue value, Cut *cuts, intptr_t capacity, intptr_t *outCount) {
  int64_t total = 0;
  bool tiles = true;
  intptr_t n = 0;
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use)) {
    if (n == capacity || !readCut(mlirOpOperandGetOwner(use), &cuts[n]) ||
        cuts[n].dim != cuts[0].dim)
      return false;
    for (intptr_t k = 0; k < n; ++k)
      if (cuts[n].offset < cuts[k].offset + cuts[k].size &&
          cuts[k].offset < cuts[n].offset + cuts[n].size)
        return false;
    total += cuts[n].size;
    tiles &= isTile(&cuts[n]) && cuts[n].size == cuts[0].size;
    ++n;
  }
  *outCount = n;
  return n > 1 && !tiles && total <= cuts[0].full;
}

void shardImportSplitProjections(const ShardImport *import) {
  enum { maxCuts = 32 };
  for (intptr_t f = 0; f < import->nFunctions; ++f) {
    intptr_t n;
    MlirOperation *ops = shardBlockOps(shardFuncGetBody(import->functions[f]), import->arena, &n);
    for (intptr_t i = 0; i < n; ++i) {
      Cut cuts[maxCuts];
      intptr_t nCuts;
      if (mlirOperationGetNumResults(ops[i]) != 1)
        continue;
      MlirValue value = mlirOperationGetResult(ops[i], 0);
      if (!mlirTypeIsARankedTensor(mlirValueGetType(value)) ||
          !isCutUnequally(value, cuts, maxCuts, &nCuts) || !reachesProduct(value, cuts[0].dim, 0))
        continue;
      MlirOperation slices[maxCuts];
      intptr_t k = 0;
      for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
           use = mlirOpOperandGetNextUse(use))
        slices[k++] = mlirOpOperandGetOwner(use);
      for (k = 0; k < nCuts; ++k) {
        Mover mover = {
            .import = import, .before = slices[k], .offset = cuts[k].offset, .size = cuts[k].size};
        MlirValue moved = moveCut(&mover, value, cuts[k].dim, 0);
        mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(slices[k], 0), moved);
        for (intptr_t j = i; j < n; ++j) // it may be on the list still
          if (ops[j].ptr == slices[k].ptr)
            ops[j] = ops[i];
        mlirOperationDestroy(slices[k]);
      }
    }
  }
}
