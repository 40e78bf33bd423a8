//===- BucketConflict.c - Do two versions agree on how values lie? -*- C -*-===//
// Versions share their weights, and callers hand over shards by one rule: every value is cut over
// the same axes in all of them, and what has a static shape lies the same.
//===----------------------------------------------------------------------===//
#include "Bucketing.h"

#include "../Analysis/Mesh.h"

#include "mlir-c/BuiltinAttributes.h"

#include <inttypes.h>
#include <string.h>

typedef MlirAttribute (*AttributeGetter)(MlirOperation func, intptr_t index, const char *name);

/// Two versions and what is compared of them.
typedef struct Pair {
  MlirOperation module, bucket;
  ShardArena *arena;
  MlirOperation func, other;
  AttributeGetter get;
  bool results;
} Pair;

static bool sameMesh(const Pair *pair) {
  ShardMesh mesh, other;
  if (!shardMeshRead(pair->module, pair->arena, &mesh) ||
      !shardMeshRead(pair->bucket, pair->arena, &other) || mesh.nAxes != other.nAxes)
    return false;
  for (int32_t i = 0; i < mesh.nAxes; ++i)
    if (mesh.sizes[i] != other.sizes[i] || strcmp(mesh.names[i], other.names[i]) != 0)
      return false;
  return true;
}

static bool sameAttribute(const Pair *pair, intptr_t i, const char *name) {
  MlirAttribute x = pair->get(pair->func, i, name), y = pair->get(pair->other, i, name);
  return mlirAttributeIsNull(x) ? mlirAttributeIsNull(y) : mlirAttributeEqual(x, y);
}

/// Whether a value of the model has an open dimension.
static bool isOpen(const Pair *pair, int64_t index) {
  MlirAttribute shapes = shardDynamicList(pair->module, pair->results ? "results" : "arguments");
  return !mlirAttributeIsNull(shapes) && index < mlirArrayAttrGetNumElements(shapes) &&
         !mlirAttributeEqual(mlirArrayAttrGetElement(shapes, (intptr_t)index),
                             mlirArrayAttrGet(mlirOperationGetContext(pair->module), 0, NULL));
}

static const char *compareValue(const Pair *pair, intptr_t i, MlirType type, MlirType otherType) {
  static const char *const always[] = {"spmd.name",   "spmd.role",    "spmd.sharding",
                                       "spmd.window", "spmd.storage", "spmd.alias"};
  static const char *const fixed[] = {"spmd.global", "spmd.view"};
  const char *indexName = pair->results ? "spmd.result" : "spmd.arg";
  int64_t index = i;
  MlirAttribute number = pair->get(pair->func, i, indexName);
  if (!mlirAttributeIsNull(number))
    shardAttrGetI64(number, &index);
  bool same = sameAttribute(pair, i, indexName);
  for (size_t k = 0; k < sizeof(always) / sizeof(always[0]); ++k)
    same &= sameAttribute(pair, i, always[k]);
  if (!isOpen(pair, index)) {
    same &= mlirTypeEqual(type, otherType);
    for (size_t k = 0; k < sizeof(fixed) / sizeof(fixed[0]); ++k)
      same &= sameAttribute(pair, i, fixed[k]);
  }
  return same ? NULL
              : shardArenaFormat(pair->arena, "%s %" PRId64 " would lie otherwise",
                                 pair->results ? "result" : "argument", index);
}

static const char *compareStage(Pair *pair) {
  MlirBlock body = shardFuncGetBody(pair->func), otherBody = shardFuncGetBody(pair->other);
  MlirOperation end = mlirBlockGetTerminator(body), otherEnd = mlirBlockGetTerminator(otherBody);
  intptr_t nArguments = mlirBlockGetNumArguments(body), nResults = mlirOperationGetNumOperands(end);
  if (mlirBlockGetNumArguments(otherBody) != nArguments ||
      mlirOperationGetNumOperands(otherEnd) != nResults)
    return "its stages are others";
  const char *why = NULL;
  pair->results = false;
  pair->get = shardFuncGetArgumentAttribute;
  for (intptr_t i = 0; i < nArguments && !why; ++i)
    why = compareValue(pair, i, mlirValueGetType(mlirBlockGetArgument(body, i)),
                       mlirValueGetType(mlirBlockGetArgument(otherBody, i)));
  pair->results = true;
  pair->get = shardFuncGetResultAttribute;
  for (intptr_t i = 0; i < nResults && !why; ++i)
    why = compareValue(pair, i, mlirValueGetType(mlirOperationGetOperand(end, i)),
                       mlirValueGetType(mlirOperationGetOperand(otherEnd, i)));
  return why;
}

static bool isStage(MlirOperation op) {
  return shardOpIs(op, "func.func") && shardFuncIsPublic(op) &&
         !mlirBlockIsNull(shardFuncGetBody(op));
}

const char *shardBucketFindConflict(MlirOperation module, MlirOperation bucket, ShardArena *arena) {
  Pair pair = {.module = module, .bucket = bucket, .arena = arena};
  if (!sameMesh(&pair))
    return "its mesh is another";
  const char *why = NULL;
  for (MlirOperation op = mlirBlockGetFirstOperation(shardOpBody(module));
       !mlirOperationIsNull(op) && !why; op = mlirOperationGetNextInBlock(op)) {
    if (!isStage(op))
      continue;
    pair.func = op;
    pair.other =
        shardModuleLookup(bucket, mlirStringAttrGetValue(shardOpGetAttribute(op, "sym_name")));
    why = !mlirOperationIsNull(pair.other) && isStage(pair.other) ? compareStage(&pair)
                                                                  : "its stages are others";
  }
  return why;
}
