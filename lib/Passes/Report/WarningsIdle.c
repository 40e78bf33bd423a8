//===- WarningsIdle.c - Ranks that hold nothing -------------------*- C -*-===//
// A size of 2 split over 4 ranks leaves two without a part of it. Where that is so of all that is
// split along an axis of the mesh, those ranks compute on padding alone.
//===----------------------------------------------------------------------===//
#include "Warnings.h"

#include "../Core/IR.h"

#include "mlir-c/BuiltinAttributes.h"

#include <inttypes.h>
#include <string.h>

typedef struct Walk {
  const ShardMesh *mesh;
  int64_t filled[SHARD_MAX_AXES]; // coordinates of an axis that hold a part of something
} Walk;

static int32_t findAxis(const ShardMesh *mesh, MlirAttribute name) {
  if (mlirAttributeIsAString(name))
    for (int32_t a = 0; a < mesh->nAxes; ++a)
      if (shardStringIs(mlirStringAttrGetValue(name), mesh->names[a]))
        return a;
  return -1;
}

/// `size` steps are split over the axes of a list, major first, the last parts shorter or empty; a
/// size below 0 is not known, and fills all of them.
static void addList(Walk *walk, MlirAttribute axes, int64_t size) {
  bool isList = mlirAttributeIsAArray(axes);
  int64_t n = isList ? mlirArrayAttrGetNumElements(axes) : 0, parts = 1;
  for (int64_t i = 0; i < n; ++i) {
    int32_t axis = findAxis(walk->mesh, mlirArrayAttrGetElement(axes, i));
    parts *= axis < 0 ? 1 : walk->mesh->sizes[axis];
  }
  int64_t step = (size + parts - 1) / parts, stride = parts;
  for (int64_t i = 0; i < n; ++i) {
    int32_t axis = findAxis(walk->mesh, mlirArrayAttrGetElement(axes, i));
    if (axis < 0)
      continue;
    int64_t all = walk->mesh->sizes[axis], *filled = &walk->filled[axis];
    stride /= all;
    int64_t parted = size > 0 ? (size - 1) / (stride * step) + 1 : size == 0 ? 0 : all;
    parted = parted < all ? parted : all;
    *filled = parted > *filled ? parted : *filled;
  }
}

/// A value's sharding, and the true sizes of its entries where they do not all divide.
static void addValue(Walk *walk, MlirAttribute sharding, MlirAttribute extent) {
  if (mlirAttributeIsNull(sharding) || !mlirAttributeIsAArray(sharding))
    return;
  intptr_t n = mlirArrayAttrGetNumElements(sharding);
  bool known = !mlirAttributeIsNull(extent) && mlirAttributeIsADenseI64Array(extent) &&
               mlirDenseArrayGetNumElements(extent) == n;
  for (intptr_t i = 0; i < n; ++i)
    addList(walk, mlirArrayAttrGetElement(sharding, i),
            known ? mlirDenseI64ArrayGetElement(extent, i) : -1);
}

/// What an op says of its result `i`; null: nothing.
static MlirAttribute entryOf(MlirOperation op, const char *name, intptr_t i) {
  MlirAttribute all = shardOpGetAttribute(op, name);
  return !mlirAttributeIsNull(all) && mlirAttributeIsAArray(all) &&
                 i < mlirArrayAttrGetNumElements(all)
             ? mlirArrayAttrGetElement(all, i)
             : mlirAttributeGetNull();
}

static MlirWalkResult addOp(MlirOperation op, void *user) {
  Walk *walk = user;
  MlirBlock body = shardOpIs(op, "func.func") ? shardFuncGetBody(op) : (MlirBlock){NULL};
  for (intptr_t i = 0; !mlirBlockIsNull(body) && i < mlirBlockGetNumArguments(body); ++i)
    addValue(walk, shardFuncGetArgumentAttribute(op, i, "spmd.sharding"),
             shardFuncGetArgumentAttribute(op, i, "spmd.extent"));
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i)
    addValue(walk, entryOf(op, "spmd.sharding", i), entryOf(op, "spmd.extent", i));
  return MlirWalkResultAdvance;
}

const char *shardFindIdleRanks(ShardWarningSubject *s) {
  Walk walk = {.mesh = &s->mesh};
  mlirOperationWalk(s->module, addOp, &walk, MlirWalkPreOrder);
  const char *list = "";
  for (int32_t a = 0; a < s->mesh.nAxes; ++a)
    if (walk.filled[a] > 0 && walk.filled[a] < s->mesh.sizes[a])
      list = shardArenaFormat(s->arena, "%s%s%" PRId64 " of %" PRId64 " along %s", list,
                              *list ? ", " : "", s->mesh.sizes[a] - walk.filled[a],
                              s->mesh.sizes[a], s->mesh.names[a]);
  return *list ? shardArenaFormat(s->arena,
                                  "ranks are idle: %s hold nothing of what their axis splits", list)
               : NULL;
}
