//===- Values.c - Where the tensors of a program lie --------------*- C -*-===//
#define _GNU_SOURCE
#include "Report.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <string.h>

typedef struct Walk {
  ShardArena *arena;
  json_t *list;
  MlirStringRef function;
} Walk;

/// Entry `i` of what an op says of each of its results; null: nothing.
static MlirAttribute entryOf(MlirOperation op, const char *name, intptr_t i) {
  MlirAttribute all = shardOpGetAttribute(op, name);
  if (mlirAttributeIsNull(all) || !mlirAttributeIsAArray(all) ||
      i >= mlirArrayAttrGetNumElements(all))
    return mlirAttributeGetNull();
  MlirAttribute entry = mlirArrayAttrGetElement(all, i);
  return mlirAttributeIsAUnit(entry) ? mlirAttributeGetNull() : entry; // another result's turn
}

static json_t *partialJson(MlirAttribute partial) {
  json_t *list = json_array();
  for (intptr_t i = 0; !mlirAttributeIsNull(partial) && mlirAttributeIsAArray(partial) &&
                       i < mlirArrayAttrGetNumElements(partial);
       ++i) {
    MlirAttribute entry = mlirArrayAttrGetElement(partial, i);
    if (!mlirAttributeIsADictionary(entry))
      continue;
    MlirAttribute axes =
        mlirDictionaryAttrGetElementByName(entry, mlirStringRefCreateFromCString("axes"));
    MlirAttribute kind =
        mlirDictionaryAttrGetElementByName(entry, mlirStringRefCreateFromCString("kind"));
    json_array_append_new(list, json_pack("{s:o, s:o}", "axes", shardReportAttribute(axes),
                                          "reduction", shardReportAttribute(kind)));
  }
  return list;
}

/// What value of the model result `i` is; empty: none.
static MlirStringRef originOf(MlirOperation op, intptr_t i) {
  MlirAttribute origin = shardOpGetAttribute(op, "spmd.origin");
  if (!mlirAttributeIsNull(origin) && mlirAttributeIsAArray(origin))
    origin = entryOf(op, "spmd.origin", i); // of several results
  return mlirAttributeIsNull(origin) || !mlirAttributeIsAString(origin)
             ? mlirStringRefCreate("", 0)
             : mlirStringAttrGetValue(origin);
}

static void addOp(Walk *walk, MlirOperation op) {
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i) {
    MlirType type = mlirValueGetType(mlirOperationGetResult(op, i));
    MlirStringRef origin = originOf(op, i);
    if (!mlirTypeIsARankedTensor(type) || !origin.length)
      continue;
    json_array_append_new(walk->list,
                          json_pack("{s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:o}", "function",
                                    shardReportText(walk->function), "made",
                                    shardReportText(shardOpGetName(op)), "origin",
                                    shardReportText(origin), "localShape", shardReportShape(type),
                                    "element", shardReportElementType(type, walk->arena), "view",
                                    shardReportAttribute(entryOf(op, "spmd.view", i)), "sharding",
                                    shardReportAttribute(entryOf(op, "spmd.sharding", i)),
                                    "partial", partialJson(entryOf(op, "spmd.partial", i))));
  }
}

/// Into loops and branches, but not into the scalar bodies of linalg ops.
static void walkBlock(Walk *walk, MlirBlock block) {
  for (MlirOperation op = mlirBlockGetFirstOperation(block); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op)) {
    addOp(walk, op);
    MlirStringRef name = shardOpGetName(op);
    if (name.length < 4 || memcmp(name.data, "scf.", 4) != 0)
      continue;
    for (intptr_t r = 0; r < mlirOperationGetNumRegions(op); ++r)
      for (MlirBlock inner = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, r));
           !mlirBlockIsNull(inner); inner = mlirBlockGetNextInRegion(inner))
        walkBlock(walk, inner);
  }
}

json_t *shardReportValues(MlirOperation module, ShardArena *arena) {
  Walk walk = {arena, json_array(), {NULL, 0}};
  for (MlirOperation op = mlirBlockGetFirstOperation(shardOpBody(module)); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op)) {
    MlirBlock block = shardOpIs(op, "func.func") ? shardFuncGetBody(op) : (MlirBlock){NULL};
    if (mlirBlockIsNull(block))
      continue;
    walk.function = mlirStringAttrGetValue(shardOpGetAttribute(op, "sym_name"));
    walkBlock(&walk, block);
  }
  return walk.list;
}
