//===- BlockAxes.c - Sub-axes that blocks of the user's suggest ---*- C -*-===//
// An annotation may cut a dimension across its atoms: 6 heads of 64 in four blocks of 96. Whole
// heads over four ranks are 2, 2, 2 and 0, and most of them move. As 2 x 3 heads, with the major
// two over tp.0 and the three unevenly over tp.1, they are 2, 1, 2 and 1, and only halves move, to
// a neighbour. So what the heads and the ranks of a block have in common is worth a sub-axis of its
// own; shard-plan tries it and keeps it where less is sent. That heads are 2 x 3 is noted on an op
// (`spmd.cut`), so that rules find it again.
//===----------------------------------------------------------------------===//

#include "Model.h"

#include "../Core/IR.h"
#include "../Core/Numbers.h"

#include "mlir-c/BuiltinAttributes.h"

#include <string.h>

typedef struct BlockWalk {
  const ShardModel *model;
  const ShardMesh *mesh;
  int32_t firstTensor;
  ShardArena *arena;
  void (*visit)(void *user, const ShardBlock *block);
  void *user;
  bool parts; // an annotation names a part of the tensor axis: it is left as it is
} BlockWalk;

/// Whether a sharding names a part of the tensor axis.
static bool namesParts(MlirAttribute sharding) {
  intptr_t rank = mlirAttributeIsAArray(sharding) ? mlirArrayAttrGetNumElements(sharding) : 0;
  for (intptr_t d = 0; d < rank; ++d) {
    MlirAttribute axes = mlirArrayAttrGetElement(sharding, d);
    intptr_t n = mlirAttributeIsAArray(axes) ? mlirArrayAttrGetNumElements(axes) : 0;
    for (intptr_t k = 0; k < n; ++k) {
      MlirAttribute axis = mlirArrayAttrGetElement(axes, k);
      MlirStringRef name = mlirAttributeIsAString(axis) ? mlirStringAttrGetValue(axis)
                                                        : mlirStringRefCreate(NULL, 0);
      if (name.length && memchr(name.data, '.', name.length))
        return true;
    }
  }
  return false;
}

/// Visits the blocks of one annotated value that only the tensor axis splits.
static MlirLogicalResult visitValue(BlockWalk *w, const ShardValueInfo *value, MlirOperation holder,
                                    MlirAttribute attribute, MlirAttribute view) {
  if (w->parts || namesParts(attribute)) {
    w->parts = true;
    return mlirLogicalResultSuccess();
  }
  const ShardSharding *sharding = shardShardingFromAttributes(
      w->mesh, mlirOperationGetLocation(holder), value->type, value->nAtoms, value->atoms,
      attribute, view, mlirAttributeGetNull(), w->arena);
  if (!sharding)
    return mlirLogicalResultFailure();
  int64_t above = 1;
  for (int32_t a = 0; a < value->nAtoms; ++a) {
    const ShardAtom *atom = &value->atoms[a];
    const ShardAxisList *list = &sharding->atoms[a];
    if (a && value->atoms[a - 1].dim != atom->dim)
      above = 1;
    if (list->span && list->span != SHARD_SPAN_INSIDE && list->axis[0] >= w->firstTensor) {
      int64_t before = 1;
      for (int32_t axis = w->firstTensor; axis < list->axis[0]; ++axis)
        before *= w->mesh->sizes[axis];
      int64_t ranks = shardAxisListSize(w->mesh, *list),
              common = shardGreatestDivisor(atom->size, ranks);
      if (common > 1 && common < ranks)
        w->visit(w->user, &(ShardBlock){.klass = atom->klass,
                                        .size = atom->size,
                                        .common = common,
                                        .boundary = before * common});
    }
    above *= atom->size;
  }
  return mlirLogicalResultSuccess();
}

/// The entry for result `number` in an op's list; null if there is none.
static MlirAttribute listEntry(MlirOperation op, const char *name, int32_t number) {
  MlirAttribute list = shardOpGetAttribute(op, name);
  if (!list.ptr || !mlirAttributeIsAArray(list) || number >= mlirArrayAttrGetNumElements(list))
    return mlirAttributeGetNull();
  return mlirArrayAttrGetElement(list, number);
}

static MlirLogicalResult visitBlocks(BlockWalk *w) {
  const ShardRules *rules = w->model->rules;
  const ShardFunctionInfo *entry = &rules->functions[w->model->entry];
  MlirLogicalResult result = mlirLogicalResultSuccess();
  for (int32_t a = 0; a < entry->nArguments && mlirLogicalResultIsSuccess(result); ++a) {
    MlirAttribute sharding = shardFuncGetArgumentAttribute(entry->func, a, "spmd.sharding");
    if (sharding.ptr && entry->arguments[a] >= 0)
      result = visitValue(w, &rules->values[entry->arguments[a]], entry->func, sharding,
                          shardFuncGetArgumentAttribute(entry->func, a, "spmd.view"));
  }
  const ShardOpRule *ret = &entry->ops[entry->nOps - 1];
  for (int32_t r = 0; r < ret->nOperands && mlirLogicalResultIsSuccess(result); ++r) {
    int32_t number = ret->operands[r].operandIndex;
    MlirAttribute sharding = shardFuncGetResultAttribute(entry->func, number, "spmd.sharding");
    if (sharding.ptr)
      result = visitValue(w, &rules->values[ret->operands[r].value], entry->func, sharding,
                          shardFuncGetResultAttribute(entry->func, number, "spmd.view"));
  }
  for (int32_t v = 0; v < rules->nValues && mlirLogicalResultIsSuccess(result); ++v) {
    const ShardValueInfo *value = &rules->values[v];
    if (value->definition < 0)
      continue;
    MlirOperation op = rules->functions[value->function].ops[value->definition].op;
    MlirAttribute sharding = listEntry(op, "spmd.sharding", value->number);
    if (sharding.ptr)
      result = visitValue(w, value, op, sharding, listEntry(op, "spmd.view", value->number));
  }
  return result;
}

static void addBoundary(void *user, const ShardBlock *block) {
  ShardBoundaries *out = user;
  for (int32_t i = 0; i < out->n; ++i)
    if (out->at[i] == block->boundary)
      return;
  if (out->n < SHARD_MAX_BOUNDARIES)
    out->at[out->n++] = block->boundary;
}

MlirLogicalResult shardFindBlockBoundaries(const ShardModel *model, const ShardMesh *mesh,
                                           int32_t firstTensor, ShardArena *arena,
                                           ShardBoundaries *out) {
  *out = (ShardBoundaries){0};
  BlockWalk walk = {model, mesh, firstTensor, arena, addBoundary, out, false};
  MlirLogicalResult result = visitBlocks(&walk);
  if (walk.parts)
    out->n = 0;
  return result;
}

typedef struct Marker {
  const ShardModel *model;
  int64_t boundary;
} Marker;

/// Adds "dimension `dim` of result `number` falls into two at `major`" to an op.
static void addCut(MlirOperation op, int64_t number, int64_t dim, int64_t major,
                   ShardArena *arena) {
  MlirContext context = mlirOperationGetContext(op);
  MlirAttribute old = shardOpGetAttribute(op, "spmd.cut");
  intptr_t n = old.ptr ? mlirArrayAttrGetNumElements(old) : 0;
  MlirAttribute *all = SHARD_ARENA_ARRAY(arena, MlirAttribute, n + 1);
  int64_t cut[] = {number, dim, major};
  all[n] = shardAttrI64Array(context, 3, cut);
  for (intptr_t i = 0; i < n; ++i) {
    all[i] = mlirArrayAttrGetElement(old, i);
    if (mlirAttributeEqual(all[i], all[n]))
      return;
  }
  shardOpSetAttribute(op, "spmd.cut", mlirArrayAttrGet(context, n + 1, all));
}

/// Notes on the first op with a result that has the class of a block that it falls into two.
static void mark(void *user, const ShardBlock *block) {
  const Marker *m = user;
  const ShardRules *rules = m->model->rules;
  if (block->boundary != m->boundary || block->common == block->size)
    return;
  for (int32_t v = 0; v < rules->nValues; ++v) {
    const ShardValueInfo *value = &rules->values[v];
    int64_t above = 1;
    for (int32_t a = 0; value->definition >= 0 && a < value->nAtoms; ++a) {
      if (a && value->atoms[a - 1].dim != value->atoms[a].dim)
        above = 1;
      if (value->atoms[a].klass == block->klass) {
        addCut(rules->functions[value->function].ops[value->definition].op, value->number,
               value->atoms[a].dim, above * block->common, m->model->arena);
        return;
      }
      above *= value->atoms[a].size;
    }
  }
}

MlirLogicalResult shardMarkBlockCuts(const ShardModel *model, const ShardMesh *mesh,
                                     int32_t firstTensor, int64_t boundary, ShardArena *arena) {
  Marker marker = {model, boundary};
  BlockWalk walk = {model, mesh, firstTensor, arena, mark, &marker, false};
  return visitBlocks(&walk);
}
