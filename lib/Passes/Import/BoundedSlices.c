//===- BoundedSlices.c - Slices, joins and padding by extents ------*- C -*-===//
#include "BoundedShapes.h"

#include <string.h>

/// Reads the window of a slice whose first `nFixed` operands are tensors. False if a size does not
/// follow from extents.
static bool readSlice(const ShardBounded *b, MlirOperation op, intptr_t nFixed, intptr_t rank,
                      ShardSliceEntry **outEntries) {
  ShardSliceEntry *entries = SHARD_ARENA_ARRAY(b->arena, ShardSliceEntry, rank + 1);
  MlirAttribute offsets = shardOpGetAttribute(op, "static_offsets");
  MlirAttribute sizes = shardOpGetAttribute(op, "static_sizes");
  MlirAttribute strides = shardOpGetAttribute(op, "static_strides");
  intptr_t next = nFixed;
  bool known = true;
  for (intptr_t d = 0; d < rank; ++d) {
    intptr_t at = next;
    entries[d].hasOffset = shardBoundedEntry(b, op, offsets, d, &next, &entries[d].offset);
    if (next > at)
      entries[d].offsetOperand = mlirOperationGetOperand(op, at);
  }
  for (intptr_t d = 0; d < rank; ++d)
    known &= shardBoundedEntry(b, op, sizes, d, &next, &entries[d].size);
  for (intptr_t d = 0; d < rank; ++d)
    entries[d].hasStride = shardBoundedEntry(b, op, strides, d, &next, &entries[d].stride);
  *outEntries = entries;
  return known;
}

/// Dimension of the smaller side for each of the larger one of a slice; -1 where it is left out.
static void matchDims(MlirOperation op, MlirType smaller, intptr_t rank, intptr_t *out) {
  intptr_t left = mlirShapedTypeGetRank(smaller), r = 0;
  for (intptr_t d = 0; d < rank; ++d) {
    bool unit = shardArrayAttrAt(shardOpGetAttribute(op, "static_sizes"), d) == 1;
    bool mayDrop = unit && rank - d > left - r;
    out[d] = r < left && (!mayDrop || mlirShapedTypeGetDimSize(smaller, r) == 1) ? r++ : -1;
  }
}

typedef enum SliceForm {
  SLICE_STORAGE, // the same slice of storage
  SLICE_READ,    // elements are read one by one
  SLICE_REFUSED
} SliceForm;

/// How a slice is made along a dimension of this extent.
static SliceForm sliceForm(const ShardBounded *b, const ShardExtent *extent,
                           ShardSliceEntry *entry) {
  bool fixed = entry->hasOffset && shardExtentIsNumber(b, &entry->offset);
  bool strided = entry->hasStride && shardExtentIsNumber(b, &entry->stride);
  entry->whole = fixed && strided && shardExtentBound(&entry->offset) == 0 &&
                 shardExtentBound(&entry->stride) == 1 && shardExtentEqual(b, extent, &entry->size);
  if (entry->whole)
    return SLICE_STORAGE;
  // Valid elements come first in storage, and stay together.
  if (!strided || extent->n > 1 || entry->size.n > 1)
    return SLICE_REFUSED;
  return fixed || shardExtentIsNumber(b, &entry->size) ? SLICE_STORAGE : SLICE_READ;
}

/// Whether anything in the window of a slice follows from extents.
static bool sliceFollows(const ShardBounded *b, MlirOperation op, intptr_t nFixed) {
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i) {
    MlirValue operand = mlirOperationGetOperand(op, i);
    if (i < nFixed ? shardBoundedIsDynamic(b, operand) : shardBoundedIsScalar(b, operand))
      return true;
  }
  return false;
}

static void replaceOp(MlirOperation *op, MlirValue value) {
  mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(*op, 0), value);
  mlirOperationDestroy(*op);
  *op = (MlirOperation){NULL};
}

MlirLogicalResult shardBoundedDescribeSlice(ShardBounded *b, MlirOperation *op,
                                            ShardBoundedOp *out) {
  MlirValue source = mlirOperationGetOperand(*op, 0);
  MlirType type = mlirValueGetType(mlirOperationGetResult(*op, 0));
  intptr_t rank = shardRankOf(source), left = mlirShapedTypeGetRank(type);
  ShardSliceEntry *entries;
  bool known = readSlice(b, *op, 1, rank, &entries), reads = false;
  if (!sliceFollows(b, *op, 1) || !known) // a size that is not known stays dynamic, and is refused
    return mlirLogicalResultSuccess();
  intptr_t *dims = SHARD_ARENA_ARRAY(b->arena, intptr_t, rank + 1);
  int64_t *bounds = SHARD_ARENA_ARRAY(b->arena, int64_t, left + 1);
  ShardExtent *shape = shardBoundedNewShape(b, left);
  matchDims(*op, type, rank, dims);
  for (intptr_t d = 0; d < rank; ++d) {
    ShardExtent extent = shardBoundedExtent(b, source, d);
    SliceForm form = sliceForm(b, &extent, &entries[d]);
    if (form == SLICE_REFUSED)
      return shardBoundedRefuse(*op);
    reads |= form == SLICE_READ;
    if (dims[d] >= 0) {
      shape[dims[d]] = entries[d].size;
      bounds[dims[d]] = shardExtentBound(&entries[d].size);
    }
  }
  out->results[0] = shape;
  if (!reads)
    return mlirLogicalResultSuccess();
  MlirValue made =
      shardBoundedSlice(b, *op, entries, dims, shardTensorWithShape(type, left, bounds));
  shardBoundedSetShape(b, made, shape);
  replaceOp(op, made);
  return mlirLogicalResultSuccess();
}

MlirLogicalResult shardBoundedDescribeInsert(ShardBounded *b, MlirOperation *op,
                                             ShardBoundedOp *out) {
  MlirValue source = mlirOperationGetOperand(*op, 0), dest = mlirOperationGetOperand(*op, 1);
  intptr_t rank = shardRankOf(dest);
  ShardSliceEntry *entries;
  bool known = readSlice(b, *op, 2, rank, &entries), reads = false;
  if (!sliceFollows(b, *op, 2))
    return mlirLogicalResultSuccess();
  if (!known)
    return shardBoundedRefuse(*op);
  intptr_t *dims = SHARD_ARENA_ARRAY(b->arena, intptr_t, rank + 1);
  matchDims(*op, mlirValueGetType(source), rank, dims);
  for (intptr_t d = 0; d < rank; ++d) {
    ShardExtent extent = shardBoundedExtent(b, dest, d);
    SliceForm form = sliceForm(b, &extent, &entries[d]);
    // Padding of the source must not be written over what is valid.
    bool fixed = entries[d].whole || shardExtentIsNumber(b, &entries[d].size);
    if (form == SLICE_REFUSED || (!fixed && shardExtentBound(&entries[d].stride) != 1))
      return shardBoundedRefuse(*op);
    reads |= !fixed;
  }
  out->results[0] = shardBoundedShape(b, dest);
  if (!reads)
    return mlirLogicalResultSuccess();
  for (intptr_t d = 0; d < rank; ++d)
    if (shardExtentBound(&entries[d].stride) != 1)
      return shardBoundedRefuse(*op);
  MlirValue made = shardBoundedInsert(b, *op, entries, dims);
  shardBoundedSetShape(b, made, out->results[0]);
  replaceOp(op, made);
  return mlirLogicalResultSuccess();
}

MlirLogicalResult shardBoundedDescribeConcat(ShardBounded *b, MlirOperation op,
                                             ShardBoundedOp *out) {
  int64_t dim = 0;
  shardAttrGetI64(shardOpGetAttribute(op, "dim"), &dim);
  intptr_t n = mlirOperationGetNumOperands(op), rank = shardRankOf(mlirOperationGetOperand(op, 0));
  ShardExtent *shape = shardBoundedShape(b, mlirOperationGetOperand(op, 0));
  for (intptr_t i = 1; i < n; ++i) {
    MlirValue operand = mlirOperationGetOperand(op, i);
    for (intptr_t d = 0; d < rank; ++d) {
      ShardExtent extent = shardBoundedExtent(b, operand, d);
      bool known = true;
      if (d == dim) {
        // What follows a dynamic part begins elsewhere in storage.
        out->joins |= !shardExtentIsNumber(b, &shape[d]);
        if (shape[d].n > 1 || extent.n > 1 || !shardExtentSum(b, &shape[d], &extent, 1, &shape[d]))
          return shardBoundedRefuse(op);
      } else if (mlirLogicalResultIsFailure(shardBoundedMeet(b, op, &known, &shape[d], &extent))) {
        return mlirLogicalResultFailure();
      }
    }
  }
  out->results[0] = shape;
  return mlirLogicalResultSuccess();
}

/// The number that a tensor.pad pads with; null if it is no constant.
static MlirAttribute paddingOf(MlirOperation op) {
  MlirOperation yield = mlirBlockGetTerminator(shardOpBody(op));
  MlirOperation value = shardValueDefiningOp(mlirOperationGetOperand(yield, 0));
  bool constant = !mlirOperationIsNull(value) && shardOpIs(value, "arith.constant");
  return constant ? shardOpGetAttribute(value, "value") : mlirAttributeGetNull();
}

/// Behind a dynamic extent the storage of the operand has its padding where the op's begins.
MlirLogicalResult shardBoundedDescribePad(ShardBounded *b, MlirOperation op, ShardBoundedOp *out) {
  MlirValue source = mlirOperationGetOperand(op, 0);
  MlirAttribute lows = shardOpGetAttribute(op, "static_low");
  MlirAttribute highs = shardOpGetAttribute(op, "static_high");
  intptr_t rank = shardRankOf(source), next = 1;
  bool follows = shardBoundedReads(b, op);
  for (intptr_t i = 1; i < mlirOperationGetNumOperands(op); ++i)
    follows |= shardBoundedIsScalar(b, mlirOperationGetOperand(op, i));
  if (!follows)
    return mlirLogicalResultSuccess();
  ShardExtent *low = shardBoundedNewShape(b, rank), *high = shardBoundedNewShape(b, rank),
              *filled = shardBoundedNewShape(b, rank);
  ShardExtent *shape = shardBoundedNewShape(b, rank);
  bool known = true;
  for (intptr_t d = 0; d < rank; ++d)
    known &= shardBoundedEntry(b, op, lows, d, &next, &low[d]);
  for (intptr_t d = 0; d < rank; ++d)
    known &= shardBoundedEntry(b, op, highs, d, &next, &high[d]);
  for (intptr_t d = 0; d < rank && known; ++d) {
    ShardExtent extent = shape[d] = filled[d] = shardBoundedExtent(b, source, d);
    bool moves = !shardExtentIsNumber(b, &low[d]) || shardExtentBound(&low[d]) != 0 ||
                 !shardExtentIsNumber(b, &high[d]) || shardExtentBound(&high[d]) != 0;
    if (!moves)
      continue;
    known = shardExtentIsNumber(b, &low[d]) && extent.n <= 1 && high[d].n <= 1 &&
            shardExtentSum(b, &low[d], &extent, 1, &filled[d]) &&
            shardExtentSum(b, &filled[d], &high[d], 1, &shape[d]);
    out->pads |= known && !shardExtentIsNumber(b, &extent);
  }
  if (!known || (out->pads && mlirAttributeIsNull(paddingOf(op))))
    return shardBoundedRefuse(op);
  out->results[0] = shape;
  out->filled = filled;
  return mlirLogicalResultSuccess();
}

void shardBoundedSettlePad(ShardBounded *b, MlirOperation op, const ShardBoundedOp *described) {
  MlirValue padded = mlirOperationGetResult(op, 0);
  MlirOperation next = mlirOperationGetNextInBlock(op);
  shardBoundedSetShape(b, padded, described->filled);
  intptr_t rank = shardRankOf(padded);
  bool *dims = SHARD_ARENA_ARRAY(b->arena, bool, rank + 1);
  for (intptr_t d = 0; d < rank; ++d)
    dims[d] = !shardExtentEqual(b, &described->filled[d], &described->results[0][d]);
  MlirValue masked = shardBoundedMaskTensor(b, next, padded, paddingOf(op), dims);
  if (mlirValueEqual(masked, padded)) {
    shardBoundedSetShape(b, padded, described->results[0]);
    return;
  }
  MlirOperation made = mlirOpResultGetOwner(masked);
  mlirValueReplaceAllUsesExcept(padded, masked, 1, &made);
  shardBoundedSetShape(b, masked, described->results[0]);
}
