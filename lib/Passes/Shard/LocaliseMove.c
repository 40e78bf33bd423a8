//===- LocaliseMove.c - Local forms of slices, pads and constants --*- C -*-===//
// Their windows and shapes in local elements.
//===----------------------------------------------------------------------===//

#include "Localiser.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <assert.h>
#include <inttypes.h>

//===----------------------------------------------------------------------===//
// Slices and constants
//===----------------------------------------------------------------------===//

// One dimension of a slice, in elements of a tensor whose dimension has these atoms. Rewrites the
// window to local elements; false when the window cuts what is split.
static bool localiseWindow(int32_t n, const int64_t *sizes, const int64_t *locals, int64_t *offset,
                           int64_t *size, int64_t *stride) {
  int32_t first = -1, last = -1;
  for (int32_t i = 0; i < n; ++i)
    if (sizes[i] != locals[i]) {
      if (first < 0)
        first = i;
      last = i;
    }
  if (first < 0)
    return true;
  int64_t dynamic = mlirShapedTypeGetDynamicStrideOrOffset();
  if (*offset == dynamic || *stride == dynamic || mlirShapedTypeIsDynamicSize(*size))
    return false;
  if (*stride == 1) {
    // Whole steps of the atoms above the first split one.
    int64_t unit = 1, localUnits = 1;
    for (int32_t i = first; i < n; ++i) {
      unit *= sizes[i];
      localUnits *= locals[i];
    }
    if (*offset % unit || *size % unit)
      return false;
    *offset = *offset / unit * localUnits;
    *size = *size / unit * localUnits;
    return true;
  }
  // One step of the atoms below the last split one, in each step of all above.
  int64_t above = 1, below = 1, localAbove = 1;
  int32_t at = n;
  while (at > 0 && below < *stride)
    below *= sizes[--at];
  for (int32_t i = 0; i < at; ++i) {
    above *= sizes[i];
    localAbove *= locals[i];
  }
  if (below != *stride || at <= last || *offset >= *stride || *size != above)
    return false;
  *size = localAbove;
  return true;
}

MlirLogicalResult shardLocaliseWindow(ShardLocaliser *l, intptr_t containerOperand) {
  const ShardSpmd *spmd = l->build->spmd;
  int32_t portIndex = shardLocaliserFindPort(l->plan, l->source, containerOperand, false);
  assert(portIndex >= 0);
  const ShardPort *port = &l->plan->rule->operands[portIndex];
  const ShardSharding *sharding = l->plan->operands[portIndex];
  const ShardValueInfo *info = &spmd->rules->values[port->value];
  intptr_t rank = mlirShapedTypeGetRank(info->type);
  static const char *const names[] = {"static_offsets", "static_sizes", "static_strides"};
  int64_t *parts[3];
  for (int k = 0; k < 3; ++k) {
    MlirAttribute attribute = shardOpGetAttribute(l->copy, names[k]);
    parts[k] = SHARD_ARENA_ARRAY(spmd->arena, int64_t, rank);
    for (intptr_t d = 0; d < rank; ++d)
      parts[k][d] = mlirDenseI64ArrayGetElement(attribute, d);
  }
  int64_t *sizes = SHARD_ARENA_ARRAY(spmd->arena, int64_t, info->nAtoms);
  int64_t *locals = SHARD_ARENA_ARRAY(spmd->arena, int64_t, info->nAtoms);
  ShardAxisList axes;
  for (intptr_t d = 0; d < rank; ++d) {
    int32_t n = 0;
    if (containerOperand == 0 && shardLocaliserHasWindow(l) &&
        shardLocaliserFindWindow(l, d, &axes)) {
      MlirType local = mlirValueGetType(mlirOperationGetOperand(l->copy, 0));
      parts[0][d] = 0;
      parts[1][d] = mlirShapedTypeGetDimSize(local, d);
      continue;
    }
    for (int32_t i = 0; i < info->nAtoms; ++i)
      if (info->atoms[i].dim == d) {
        sizes[n] = info->atoms[i].size;
        locals[n++] = shardShardingLocalAtomSize(&spmd->mesh, &info->atoms[i], sharding->atoms[i]);
      }
    if (!localiseWindow(n, sizes, locals, &parts[0][d], &parts[1][d], &parts[2][d]))
      return shardEmitError(
          l->source, "the slice cuts dimension %" PRIdPTR " where it is split over devices", d);
  }
  for (int k = 0; k < 3; ++k)
    shardOpSetAttribute(l->copy, names[k], shardAttrI64Array(spmd->context, rank, parts[k]));
  return mlirLogicalResultSuccess();
}

// Leaves dimensions along which data moves (LocaliseWindow.c) as they are in the operand.
static void keepWindows(ShardLocaliser *l) {
  MlirValue result = mlirOperationGetResult(l->copy, 0);
  MlirType type = mlirValueGetType(result),
           operand = mlirValueGetType(mlirOperationGetOperand(l->copy, 0));
  intptr_t rank = mlirShapedTypeGetRank(type);
  int64_t *shape = SHARD_ARENA_ARRAY(l->build->spmd->arena, int64_t, rank);
  ShardAxisList axes;
  for (intptr_t d = 0; d < rank; ++d)
    shape[d] = mlirShapedTypeGetDimSize(shardLocaliserFindWindow(l, d, &axes) ? operand : type, d);
  mlirValueSetType(result, shardTensorWithShape(type, rank, shape));
}

MlirLogicalResult shardLocaliseExtractSlice(ShardLocaliser *l, MlirOperation op) {
  (void)op;
  if (shardLocaliserHasWindow(l))
    keepWindows(l);
  return shardLocaliseWindow(l, 0);
}

MlirLogicalResult shardLocalisePad(ShardLocaliser *l, MlirOperation op) {
  MlirType global = mlirValueGetType(mlirOperationGetResult(op, 0));
  MlirType local = mlirValueGetType(mlirOperationGetResult(l->copy, 0));
  static const char *const names[] = {"static_low", "static_high"};
  intptr_t rank = mlirShapedTypeGetRank(global);
  for (int k = 0; k < 2 && shardLocaliserHasWindow(l); ++k) {
    int64_t *steps = SHARD_ARENA_ARRAY(l->build->spmd->arena, int64_t, rank);
    ShardAxisList axes;
    for (intptr_t d = 0; d < rank; ++d)
      steps[d] = shardLocaliserFindWindow(l, d, &axes)
                     ? 0
                     : mlirDenseI64ArrayGetElement(shardOpGetAttribute(op, names[k]), d);
    shardOpSetAttribute(l->copy, names[k], shardAttrI64Array(l->build->spmd->context, rank, steps));
  }
  if (shardLocaliserHasWindow(l)) {
    keepWindows(l);
    return mlirLogicalResultSuccess();
  }
  for (intptr_t d = 0; d < rank; ++d) {
    bool padded = mlirDenseI64ArrayGetElement(shardOpGetAttribute(op, "static_low"), d) != 0 ||
                  mlirDenseI64ArrayGetElement(shardOpGetAttribute(op, "static_high"), d) != 0;
    if (padded && mlirShapedTypeGetDimSize(global, d) != mlirShapedTypeGetDimSize(local, d))
      return shardEmitError(op, "dimension %" PRIdPTR " is padded and split over devices", d);
  }
  return mlirLogicalResultSuccess();
}

MlirLogicalResult shardLocaliseExpand(ShardLocaliser *l, MlirOperation op) {
  (void)op;
  MlirType local = mlirValueGetType(mlirOperationGetResult(l->copy, 0));
  intptr_t rank = mlirShapedTypeGetRank(local);
  int64_t *shape = SHARD_ARENA_ARRAY(l->build->spmd->arena, int64_t, rank);
  for (intptr_t d = 0; d < rank; ++d)
    shape[d] = mlirShapedTypeGetDimSize(local, d);
  shardOpSetAttribute(l->copy, "static_output_shape",
                      shardAttrI64Array(l->build->spmd->context, rank, shape));
  return mlirLogicalResultSuccess();
}

MlirLogicalResult shardLocaliseConstant(ShardLocaliser *l, MlirOperation op) {
  MlirAttribute value = shardOpGetAttribute(op, "value");
  MlirType local = mlirValueGetType(mlirOperationGetResult(l->copy, 0));
  if (!mlirTypeEqual(mlirAttributeGetType(value), local))
    shardOpSetAttribute(
        l->copy, "value",
        mlirDenseElementsAttrSplatGet(local, mlirDenseElementsAttrGetSplatValue(value)));
  return mlirLogicalResultSuccess();
}
