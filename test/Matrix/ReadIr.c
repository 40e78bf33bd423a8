//===- ReadIr.c - What shard-audit asks of a program ---------------*- C -*-===//
#include "ReadIr.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/Support.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void die(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "shard-audit: error: ");
  vfprintf(stderr, format, arguments);
  fprintf(stderr, "\n");
  va_end(arguments);
  exit(2);
}

static int nFaults;
void fault(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  printf("fault: ");
  vprintf(format, arguments);
  printf("\n");
  va_end(arguments);
  ++nFaults;
}

int faultCount(void) { return nFaults; }

void *allocate(size_t count, size_t bytes) {
  void *memory = calloc(count ? count : 1, bytes);
  if (!memory)
    die("out of memory");
  return memory;
}
MlirStringRef ref(const char *text) { return mlirStringRefCreateFromCString(text); }
bool is(MlirOperation op, const char *name) {
  return mlirStringRefEqual(mlirIdentifierStr(mlirOperationGetName(op)), ref(name));
}
MlirAttribute attributeOf(MlirOperation op, const char *name) {
  return mlirOperationGetAttributeByName(op, ref(name));
}
MlirAttribute argumentAttribute(MlirOperation func, intptr_t index, const char *name) {
  MlirAttribute all = attributeOf(func, "arg_attrs");
  if (mlirAttributeIsNull(all) || index >= mlirArrayAttrGetNumElements(all))
    return (MlirAttribute){NULL};
  return mlirDictionaryAttrGetElementByName(mlirArrayAttrGetElement(all, index), ref(name));
}
char *textOf(MlirAttribute string) {
  if (mlirAttributeIsNull(string) || !mlirAttributeIsAString(string))
    return NULL;
  MlirStringRef text = mlirStringAttrGetValue(string);
  char *copy = allocate(text.length + 1, 1);
  memcpy(copy, text.data, text.length);
  return copy;
}
int64_t elementCount(MlirType type) {
  if (!mlirTypeIsARankedTensor(type) || !mlirShapedTypeHasStaticShape(type))
    return -1;
  int64_t count = 1;
  for (int64_t i = 0; i < mlirShapedTypeGetRank(type); ++i)
    count *= mlirShapedTypeGetDimSize(type, i);
  return count;
}
double typeBytes(MlirType type) {
  MlirType element = mlirShapedTypeGetElementType(type);
  double bits = mlirTypeIsAInteger(element) ? mlirIntegerTypeGetWidth(element)
                : mlirTypeIsAFloat(element) ? mlirFloatTypeGetWidth(element)
                                            : 64;
  return (double)elementCount(type) * ceil(bits / 8);
}

MlirModule parseFile(MlirContext context, const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file)
    die("cannot open %s", path);
  size_t capacity = 1 << 16, length = 0, got;
  char *text = malloc(capacity);
  while (text && (got = fread(text + length, 1, capacity - length - 1, file)) > 0)
    if ((length += got) + 1 == capacity)
      text = realloc(text, capacity *= 2);
  fclose(file);
  if (!text)
    die("out of memory");
  text[length] = '\0';
  MlirModule module = mlirModuleCreateParse(context, mlirStringRefCreate(text, length));
  free(text);
  if (mlirModuleIsNull(module))
    die("%s does not parse", path);
  return module;
}

MlirOperation lookup(MlirModule module, MlirStringRef name) {
  MlirBlock body = mlirModuleGetBody(module);
  for (MlirOperation op = mlirBlockGetFirstOperation(body); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op)) {
    MlirAttribute symbol = attributeOf(op, "sym_name");
    if (!mlirAttributeIsNull(symbol) && mlirStringRefEqual(mlirStringAttrGetValue(symbol), name))
      return op;
  }
  return (MlirOperation){NULL};
}
bool isPublicFunction(MlirOperation op) {
  if (!is(op, "func.func"))
    return false;
  MlirAttribute visibility = attributeOf(op, "sym_visibility");
  return mlirAttributeIsNull(visibility) ||
         mlirStringRefEqual(mlirStringAttrGetValue(visibility), ref("public"));
}
MlirBlock bodyOf(MlirOperation func) {
  return mlirRegionGetFirstBlock(mlirOperationGetRegion(func, 0));
}
