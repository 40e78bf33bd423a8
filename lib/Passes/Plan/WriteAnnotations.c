//===- WriteAnnotations.c - A layout as a file of annotations -----*- C -*-===//

#include "Annotations.h"

#include "../Core/Pass.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

static json_t *toJson(MlirAttribute attribute) {
  if (mlirAttributeIsAString(attribute)) {
    MlirStringRef text = mlirStringAttrGetValue(attribute);
    return json_stringn(text.length ? text.data : "", text.length); // "" has no data
  }
  json_t *list = json_array();
  if (mlirAttributeIsAArray(attribute))
    for (intptr_t i = 0; i < mlirArrayAttrGetNumElements(attribute); ++i)
      json_array_append_new(list, toJson(mlirArrayAttrGetElement(attribute, i)));
  else if (mlirAttributeIsADenseI64Array(attribute))
    for (intptr_t i = 0; i < mlirDenseArrayGetNumElements(attribute); ++i)
      json_array_append_new(list, json_integer(mlirDenseI64ArrayGetElement(attribute, i)));
  return list;
}

static void writeField(json_t *entry, const char *field, MlirAttribute attribute) {
  if (attribute.ptr)
    json_object_set_new(entry, field, toJson(attribute));
}

/// Adds an argument that is a part of a fused weight to the weight's entry, `entry` if it is the
/// first met. Returns the object of the part.
static json_t *addPiece(json_t *args, const char *key, json_t *entry, MlirOperation func,
                        intptr_t argument, MlirAttribute window) {
  json_t *known = json_object_get(args, key);
  if (known) {
    json_decref(entry);
    entry = known;
  } else {
    json_object_set_new(args, key, entry);
    json_object_set_new(entry, "pieces", json_array());
  }
  MlirAttribute global = shardFuncGetArgumentAttribute(func, argument, "spmd.global");
  MlirType type = global.ptr
                      ? mlirTypeAttrGetValue(global)
                      : mlirValueGetType(mlirBlockGetArgument(shardFuncGetBody(func), argument));
  int64_t dim = mlirDenseI64ArrayGetElement(window, 0);
  int64_t offset = mlirDenseI64ArrayGetElement(window, 1);
  json_t *piece = json_object(), *list = json_object_get(entry, "pieces");
  json_object_set_new(piece, "window",
                      json_pack("[I, I, I]", (json_int_t)dim, (json_int_t)offset,
                                (json_int_t)mlirShapedTypeGetDimSize(type, (intptr_t)dim)));
  size_t at = 0; // by offset; a stage met later may hold the same one
  for (; at < json_array_size(list); ++at) {
    json_t *other = json_array_get(list, at);
    int64_t there = json_integer_value(json_array_get(json_object_get(other, "window"), 1));
    if (there == offset) {
      json_array_set_new(list, at, piece);
      return piece;
    }
    if (there > offset)
      break;
  }
  json_array_insert_new(list, at, piece);
  return piece;
}

/// The number that an argument or result has in the original function, as a key.
static const char *keyOf(MlirAttribute original, int64_t index, char (*key)[24]) {
  shardAttrGetI64(original, &index);
  snprintf(*key, sizeof *key, "%" PRId64, index);
  return *key;
}

/// Whether the argument has a layout to write.
static bool addArgument(json_t *args, MlirOperation func, intptr_t i) {
  MlirAttribute sharding = shardFuncGetArgumentAttribute(func, i, "spmd.sharding");
  if (!sharding.ptr || shardFuncArgumentIs(func, i, "extent"))
    return false;
  char text[24];
  const char *key = keyOf(shardFuncGetArgumentAttribute(func, i, "spmd.arg"), i, &text);
  json_t *entry = json_object();
  writeField(entry, "role", shardFuncGetArgumentAttribute(func, i, "spmd.role"));
  int64_t alias;
  if (shardAttrGetI64(shardFuncGetArgumentAttribute(func, i, "spmd.alias"), &alias))
    json_object_set_new(entry, "alias", json_integer(alias));
  writeField(entry, "dims", shardFuncGetArgumentAttribute(func, i, "spmd.dims"));
  MlirAttribute window = shardFuncGetArgumentAttribute(func, i, "spmd.window");
  json_t *place = window.ptr ? addPiece(args, key, entry, func, i, window) : entry;
  writeField(place, "view", shardFuncGetArgumentAttribute(func, i, "spmd.view"));
  writeField(place, "sharding", sharding);
  if (!window.ptr)
    json_object_set_new(args, key, entry);
  return true;
}

static void addResult(json_t *results, MlirOperation func, intptr_t i) {
  MlirAttribute sharding = shardFuncGetResultAttribute(func, i, "spmd.sharding");
  if (!sharding.ptr)
    return;
  char text[24];
  const char *key = keyOf(shardFuncGetResultAttribute(func, i, "spmd.result"), i, &text);
  json_t *entry = json_object();
  writeField(entry, "view", shardFuncGetResultAttribute(func, i, "spmd.view"));
  writeField(entry, "sharding", sharding);
  json_object_set_new(results, key, entry);
}

MlirLogicalResult shardAnnotationsWrite(MlirOperation module, MlirStringCallback text,
                                        void *userData) {
  json_t *root = json_object(), *args = json_object(), *results = json_object();
  json_object_set_new(root, "version", json_integer(1));
  json_object_set_new(root, "chosen", json_true());
  json_object_set_new(root, "args", args);
  json_object_set_new(root, "results", results);
  MlirBlock top = mlirModuleGetBody(mlirModuleFromOperation(module));
  bool any = false;
  for (MlirOperation op = mlirBlockGetFirstOperation(top); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    if (!shardOpIs(op, "func.func") || !shardFuncIsPublic(op) || !shardFuncGetBody(op).ptr)
      continue;
    MlirBlock body = shardFuncGetBody(op);
    for (intptr_t i = 0; i < mlirBlockGetNumArguments(body); ++i)
      any |= addArgument(args, op, i);
    intptr_t nResults = mlirOperationGetNumOperands(mlirBlockGetTerminator(body));
    for (intptr_t i = 0; i < nResults; ++i)
      addResult(results, op, i);
  }
  if (!any) {
    json_decref(root);
    return shardEmitError(module, "the module has no shardings to write");
  }
  char *dumped = json_dumps(root, JSON_INDENT(1));
  json_decref(root);
  text(mlirStringRefCreateFromCString(dumped), userData);
  text(mlirStringRefCreateFromCString("\n"), userData);
  free(dumped);
  return mlirLogicalResultSuccess();
}
