//===- Constants.c - The values of constant attributes ------------*- C -*-===//
// The C API reads a resource only element by element, not in all types, and crashes where there are
// no values. Its printer is exact in every case: a detached op prints the resources that it uses in
// hex.
//===----------------------------------------------------------------------===//
#include "Constants.h"

#include "IR.h"
#include "Text.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <string.h>

bool shardConstantIsSplat(MlirAttribute attribute) {
  return mlirAttributeIsADenseElements(attribute) && mlirDenseElementsAttrIsSplat(attribute);
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static int hexDigit(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return -1;
}

const char *shardConstantName(MlirAttribute attribute, ShardArena *arena) {
  if (!mlirAttributeIsADenseResourceElements(attribute))
    return NULL;
  ShardText buffer = {.arena = arena};
  mlirAttributePrint(attribute, shardTextAppend, &buffer);
  const char *at = buffer.data ? strchr(buffer.data, '<') : NULL;
  if (!at)
    return NULL;
  ++at;
  size_t n = 0;
  char *name = shardArenaAllocate(arena, buffer.length + 1);
  if (*at != '"') {
    while (at[n] && at[n] != '>')
      ++n;
    memcpy(name, at, n);
    return name;
  }
  for (++at; *at && *at != '"'; ++at) {
    if (*at == '\\' && hexDigit(at[1]) >= 0 && hexDigit(at[2]) >= 0) {
      name[n++] = (char)(hexDigit(at[1]) * 16 + hexDigit(at[2]));
      at += 2;
    } else if (*at == '\\' && at[1]) {
      name[n++] = *++at;
    } else {
      name[n++] = *at;
    }
  }
  return name;
}

//===----------------------------------------------------------------------===//
// Resources
//===----------------------------------------------------------------------===//

// Reads the printed form `\n{-# dialect_resources: { builtin: { key: "0x<alignment><bytes>" } }
// #-}`.
typedef struct ResourceReader {
  int matched; // characters of "\n{-#" seen
  bool inString, escaped, isValue, afterColon;
  bool found;
  size_t nDigits; // of the value string, "0x" and alignment included
  int high;       // first digit of a byte
  uint8_t *data;  // null: only count
  size_t capacityBytes, sizeBytes;
} ResourceReader;

static void readValueDigit(ResourceReader *r, char c) {
  size_t at = r->nDigits++;
  if (at < 10) // "0x", and the alignment in 8 digits
    return;
  if (at % 2 == 0) {
    r->high = hexDigit(c);
    return;
  }
  if (r->data && r->sizeBytes < r->capacityBytes)
    r->data[r->sizeBytes] = (uint8_t)(r->high * 16 + hexDigit(c));
  ++r->sizeBytes;
}

static void readPrinted(MlirStringRef text, void *user) {
  ResourceReader *r = user;
  static const char mark[] = "\n{-#";
  for (size_t i = 0; i < text.length; ++i) {
    char c = text.data[i];
    if (r->matched < 4) {
      r->matched = c == mark[r->matched] ? r->matched + 1 : c == mark[0];
    } else if (r->inString) {
      if (r->escaped) {
        r->escaped = false;
      } else if (c == '\\') {
        r->escaped = true;
      } else if (c == '"') {
        r->inString = false;
        r->found |= r->isValue;
      } else if (r->isValue) {
        readValueDigit(r, c);
      }
    } else if (c == '"') {
      r->inString = true;
      r->isValue = r->afterColon;
      r->afterColon = false;
    } else if (c == ':') {
      r->afterColon = true;
    } else if (c != ' ' && c != '\n') {
      r->afterColon = false;
    }
  }
}

static void printResource(MlirAttribute attribute, ResourceReader *reader) {
  MlirModule holder =
      mlirModuleCreateEmpty(mlirLocationUnknownGet(mlirAttributeGetContext(attribute)));
  MlirOperation op = mlirModuleGetOperation(holder);
  shardOpSetAttribute(op, "spmd.value", attribute);
  MlirOpPrintingFlags flags = mlirOpPrintingFlagsCreate();
  mlirOpPrintingFlagsAssumeVerified(flags);
  mlirOperationPrintWithFlags(op, flags, readPrinted, reader);
  mlirOpPrintingFlagsDestroy(flags);
  mlirModuleDestroy(holder);
}

static ShardConstantStatus readResource(MlirAttribute attribute, uint8_t *data, size_t sizeBytes) {
  ResourceReader reader = {.data = data, .capacityBytes = sizeBytes};
  printResource(attribute, &reader);
  if (!reader.found)
    return SHARD_CONSTANT_ABSENT;
  return reader.sizeBytes == sizeBytes ? SHARD_CONSTANT_OK : SHARD_CONSTANT_WRONG_SIZE;
}

static size_t constantBytes(MlirAttribute attribute) {
  MlirType type = mlirAttributeGetType(attribute);
  int64_t count = shardTypeElementCount(type);
  return count < 0
             ? 0
             : (size_t)count * (size_t)shardTypeElementBytes(mlirShapedTypeGetElementType(type));
}

ShardConstantStatus shardConstantCheck(MlirAttribute attribute) {
  if (!mlirAttributeIsADenseResourceElements(attribute))
    return SHARD_CONSTANT_OK;
  return readResource(attribute, NULL, constantBytes(attribute));
}

ShardConstantStatus shardConstantRead(MlirAttribute attribute, ShardArena *arena,
                                      const void **outData, size_t *outSizeBytes) {
  size_t sizeBytes = constantBytes(attribute);
  uint8_t *data = shardArenaAllocate(arena, sizeBytes ? sizeBytes : 1);
  *outData = data;
  *outSizeBytes = sizeBytes;
  if (mlirAttributeIsADenseResourceElements(attribute))
    return readResource(attribute, data, sizeBytes);
  MlirType type = mlirAttributeGetType(attribute);
  MlirType element = mlirShapedTypeGetElementType(type);
  size_t count = (size_t)shardTypeElementCount(type);
  if (count == 0)
    return SHARD_CONSTANT_OK;
  bool splat = mlirDenseElementsAttrIsSplat(attribute);
  const uint8_t *raw = mlirDenseElementsAttrGetRawData(attribute);
  if (mlirTypeIsAInteger(element) && mlirIntegerTypeGetWidth(element) == 1) { // stored as bits
    if (splat)
      memset(data, mlirDenseElementsAttrGetBoolSplatValue(attribute), count);
    else
      for (size_t i = 0; i < count; ++i)
        data[i] = mlirDenseElementsAttrGetBoolValue(attribute, (intptr_t)i);
    return SHARD_CONSTANT_OK;
  }
  if (!splat) {
    memcpy(data, raw, sizeBytes);
    return SHARD_CONSTANT_OK;
  }
  size_t elementBytes = sizeBytes / count;
  for (size_t i = 0; i < count; ++i)
    memcpy(data + i * elementBytes, raw, elementBytes);
  return SHARD_CONSTANT_OK;
}
