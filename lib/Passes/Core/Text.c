//===- Text.c - What MLIR prints, as text in an arena -------------*- C -*-===//
#include "Text.h"

#include "mlir-c/BuiltinAttributes.h"

#include <string.h>

void shardTextAppend(MlirStringRef part, void *user) {
  ShardText *text = user;
  text->data = shardArenaGrow(text->arena, text->data, text->length, &text->capacity,
                              text->length + part.length + 1, 1);
  if (part.length)
    memcpy(text->data + text->length, part.data, part.length);
  text->length += part.length;
  text->data[text->length] = 0;
}

const char *shardAttributeText(MlirAttribute attribute, ShardArena *arena) {
  ShardText text = {.arena = arena};
  mlirAttributePrint(attribute, shardTextAppend, &text);
  return text.data ? text.data : "";
}

const char *shardTypeText(MlirType type, ShardArena *arena) {
  ShardText text = {.arena = arena};
  mlirTypePrint(type, shardTextAppend, &text);
  return text.data ? text.data : "";
}

const char *shardShardingAttributeText(MlirAttribute sharding, MlirAttribute view,
                                       ShardArena *arena) {
  ShardText text = {.arena = arena};
  mlirAttributePrint(sharding, shardTextAppend, &text);
  if (!mlirAttributeIsNull(view) && mlirDenseArrayGetNumElements(view) > 0) {
    shardTextAppend(mlirStringRefCreateFromCString(" of view "), &text);
    mlirAttributePrint(view, shardTextAppend, &text);
  }
  return text.data;
}
