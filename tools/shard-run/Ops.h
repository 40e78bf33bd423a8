//===- Ops.h - Names, attributes and bodies of ops ----------------*- C -*-===//
#ifndef SHARD_RUN_OPS_H
#define SHARD_RUN_OPS_H

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/IR.h"

#include <stdbool.h>
#include <string.h>

static inline bool opIs(MlirOperation op, const char *name) {
  return mlirStringRefEqual(mlirIdentifierStr(mlirOperationGetName(op)),
                            mlirStringRefCreateFromCString(name));
}

/// `names` end with null.
static inline bool opIsOneOf(MlirOperation op, const char *const *names) {
  for (; *names; ++names)
    if (opIs(op, *names))
      return true;
  return false;
}

static inline bool opStartsWith(MlirOperation op, const char *prefix) {
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  size_t length = strlen(prefix);
  return name.length >= length && !memcmp(name.data, prefix, length);
}

static inline MlirAttribute opAttribute(MlirOperation op, const char *name) { // null if absent
  return mlirOperationGetAttributeByName(op, mlirStringRefCreateFromCString(name));
}

/// Which argument of the original function argument `i` of `func` is: `spmd.arg`, or i itself.
static inline int64_t opOriginalArgument(MlirOperation func, intptr_t i) {
  MlirAttribute attributes = opAttribute(func, "arg_attrs");
  if (mlirAttributeIsNull(attributes) || !mlirAttributeIsAArray(attributes))
    return i;
  MlirAttribute original = mlirDictionaryAttrGetElementByName(
      mlirArrayAttrGetElement(attributes, i), mlirStringRefCreateFromCString("spmd.arg"));
  return !mlirAttributeIsNull(original) && mlirAttributeIsAInteger(original)
             ? mlirIntegerAttrGetValueInt(original)
             : i;
}

static inline MlirBlock opBody(MlirOperation op, intptr_t region) {
  return mlirRegionGetFirstBlock(mlirOperationGetRegion(op, region));
}

#endif // SHARD_RUN_OPS_H
