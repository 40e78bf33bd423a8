//===- Template.c - Ops written as text ---------------------------*- C -*-===//
#include "Template.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void shardTextAdd(ShardText *text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  for (const char *p = format; *p; ++p) {
    char number[32];
    if (*p == '#') {
      snprintf(number, sizeof number, "%td", va_arg(arguments, intptr_t));
      shardTextAppend(mlirStringRefCreateFromCString(number), text);
    } else if (*p == '~') {
      mlirTypePrint(va_arg(arguments, MlirType), shardTextAppend, text);
    } else if (*p == '$') {
      shardTextAppend(mlirStringRefCreateFromCString(va_arg(arguments, const char *)), text);
    } else if (*p == '*') {
      intptr_t n = va_arg(arguments, intptr_t), first = va_arg(arguments, intptr_t);
      for (intptr_t i = 0; i < n; ++i)
        shardTextAdd(text, i ? ", d#" : "d#", first + i);
    } else {
      shardTextAppend(mlirStringRefCreate(p, 1), text);
    }
  }
  va_end(arguments);
}

static MlirWalkResult setLocation(MlirOperation op, void *user) {
  mlirOperationSetLocation(op, *(MlirLocation *)user);
  return MlirWalkResultAdvance;
}

MlirLogicalResult shardReplaceByText(MlirOperation op, const ShardText *text) {
  MlirModule module = mlirModuleCreateParse(mlirOperationGetContext(op),
                                            mlirStringRefCreate(text->data, text->length));
  if (mlirModuleIsNull(module)) {
    MlirStringRef name = shardOpGetName(op);
    return shardEmitError(op, "internal error: the expansion of '%.*s' is not valid",
                          (int)name.length, name.data);
  }
  MlirBlock body = shardFuncGetBody(mlirBlockGetFirstOperation(mlirModuleGetBody(module)));
  ShardPointerMap *map = shardPointerMapCreate(text->arena, 64);
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(body); ++i)
    shardValueMapSet(map, mlirBlockGetArgument(body, i), mlirOperationGetOperand(op, i));
  MlirLocation location = mlirOperationGetLocation(op);
  MlirOperation end = mlirBlockGetTerminator(body);
  for (MlirOperation inner = mlirBlockGetFirstOperation(body); !mlirOperationEqual(inner, end);
       inner = mlirOperationGetNextInBlock(inner)) {
    MlirOperation copy = shardOpCloneMapped(inner, (MlirBlock){NULL}, op, map);
    mlirOperationWalk(copy, setLocation, &location, MlirWalkPreOrder);
  }
  MlirValue returned = shardValueMapGet(map, mlirOperationGetOperand(end, 0));
  mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, 0), returned);
  mlirModuleDestroy(module);
  mlirOperationDestroy(op);
  return mlirLogicalResultSuccess();
}
