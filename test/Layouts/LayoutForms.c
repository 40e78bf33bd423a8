//===- LayoutForms.c - Other forms of a program with a stated layout ----------*- C -*-===//
// layout-forms FORM ROW.mlir OUT.mlir
// Writes one form of a row and prints "MESH|VARIABLES|LEAST|XLA": what --auto-shard takes, the
// variables of the expression (n ranks; a and b, sizes of the first and of the last axis), the
// least bytes that a device sends as an expression, and what XLA sends in KiB.
//   row         as it is
//   doubled     twice the devices on the last axis, or the mesh of the row's line `doubled:`
//   odd         other extents, from the row's line `odd: FROM -> TO, ...`
//   transposed  every tensor with its dimensions in reverse order, reshapes between transposes
//   larger      each float argument negated before its use, each result used by one more op
// A line `least-FORM:` has a form's own least.
// Exit 1 with a message when the row does not parse or says too little.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "mlir-c/AffineMap.h"
#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/IR.h"
#include "mlir-c/RegisterEverything.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANK = 16, MAX_LIST = 64 };

static void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
static void die(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("layout-forms: error: ", stderr);
  vfprintf(stderr, format, arguments);
  fputs("\n", stderr);
  va_end(arguments);
  exit(1);
}

static char *readFile(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file)
    die("cannot open '%s'", path);
  char *text = NULL;
  size_t capacity = 0;
  if (getdelim(&text, &capacity, '\0', file) < 0)
    die("cannot read '%s'", path);
  fclose(file);
  return text;
}

/// What follows `// KEY: ` in a line of the row; null if there is none.
static char *headerLine(const char *text, const char *key) {
  char *wanted;
  if (asprintf(&wanted, "// %s: ", key) < 0)
    die("out of memory");
  const char *at = text;
  size_t length = strlen(wanted);
  while (at && strncmp(at, wanted, length) != 0) {
    at = strchr(at, '\n');
    at = at ? at + 1 : NULL;
  }
  free(wanted);
  return at ? strndup(at + length, strcspn(at + length, "\n")) : NULL;
}

//===----------------------------------------------------------------------===//
// Other extents
//===----------------------------------------------------------------------===//

typedef struct Replacement {
  char *from, *to;
} Replacement;

static int readReplacements(char *line, Replacement *list) {
  int n = 0;
  for (char *save, *part = strtok_r(line, ",", &save); part; part = strtok_r(NULL, ",", &save)) {
    char *arrow = strstr(part, "->");
    if (!arrow || n == MAX_LIST)
      die("'odd' is no list of FROM -> TO");
    *arrow = '\0';
    part += strspn(part, " ");
    part[strcspn(part, " ")] = '\0';
    char *to = arrow + 2 + strspn(arrow + 2, " ");
    to[strcspn(to, " ")] = '\0';
    list[n++] = (Replacement){part, to};
  }
  return n;
}

/// Numbers as whole tokens: not `%256`, not the 32 of `f32`; `2x256xf32` has the tokens 2 and 256.
static void writeReplaced(FILE *out, const char *text, int n, const Replacement *list) {
  for (const char *at = text; *at;) {
    bool starts = isdigit((unsigned char)*at) &&
                  (at == text || !(isalnum((unsigned char)at[-1]) || strchr("%#_.", at[-1])) ||
                   (at[-1] == 'x' && at - text > 1 && isdigit((unsigned char)at[-2])));
    size_t length = 1;
    const char *written = NULL;
    if (starts) {
      length = strspn(at, "0123456789");
      if (at[length] == '.')
        length += strspn(at + length, "0123456789.e+-");
      for (int i = 0; i < n; ++i)
        if (strlen(list[i].from) == length && strncmp(at, list[i].from, length) == 0)
          written = list[i].to;
    }
    if (written)
      fputs(written, out);
    else
      fwrite(at, 1, length, out);
    at += length;
  }
}

static char *replaced(const char *text, int n, const Replacement *list) {
  char *result = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&result, &size);
  if (!out)
    die("out of memory");
  writeReplaced(out, text, n, list);
  fclose(out);
  return result;
}

//===----------------------------------------------------------------------===//
// Building IR
//===----------------------------------------------------------------------===//

static MlirStringRef ref(const char *text) { return mlirStringRefCreateFromCString(text); }
static bool is(MlirOperation op, const char *name) {
  return mlirStringRefEqual(mlirIdentifierStr(mlirOperationGetName(op)), ref(name));
}
static bool isIn(MlirOperation op, const char *dialect) {
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  size_t length = strlen(dialect);
  return name.length > length && strncmp(name.data, dialect, length) == 0;
}
static MlirAttribute attribute(MlirOperation op, const char *name) {
  return mlirOperationGetAttributeByName(op, ref(name));
}

static MlirOperation create(MlirBlock block, MlirOperation before, MlirLocation location,
                            const char *name, MlirType result, intptr_t nOperands,
                            const MlirValue *operands, intptr_t nAttributes,
                            const MlirNamedAttribute *attributes, MlirRegion *region) {
  MlirOperationState state = mlirOperationStateGet(ref(name), location);
  if (result.ptr)
    mlirOperationStateAddResults(&state, 1, &result);
  mlirOperationStateAddOperands(&state, nOperands, operands);
  mlirOperationStateAddAttributes(&state, nAttributes, attributes);
  if (region)
    mlirOperationStateAddOwnedRegions(&state, 1, region);
  MlirOperation op = mlirOperationCreate(&state);
  if (mlirOperationIsNull(op))
    die("cannot make '%s'", name);
  if (before.ptr)
    mlirBlockInsertOwnedOperationBefore(block, before, op);
  else
    mlirBlockAppendOwnedOperation(block, op);
  return op;
}

static MlirNamedAttribute named(MlirContext context, const char *name, MlirAttribute value) {
  return mlirNamedAttributeGet(mlirIdentifierGet(context, ref(name)), value);
}

static bool turns(MlirType type) {
  return mlirTypeIsARankedTensor(type) && mlirShapedTypeGetRank(type) > 1;
}

static MlirType reversedType(MlirType type) {
  if (!turns(type))
    return type;
  intptr_t rank = mlirShapedTypeGetRank(type);
  int64_t shape[MAX_RANK];
  for (intptr_t d = 0; d < rank; ++d)
    shape[d] = mlirShapedTypeGetDimSize(type, rank - 1 - d);
  return mlirRankedTensorTypeGet(rank, shape, mlirShapedTypeGetElementType(type),
                                 mlirAttributeGetNull());
}

static MlirAttribute reversedArray(MlirAttribute array) {
  if (mlirAttributeIsNull(array) || !mlirAttributeIsAArray(array))
    return array;
  MlirAttribute entries[MAX_LIST];
  intptr_t n = mlirArrayAttrGetNumElements(array);
  for (intptr_t i = 0; i < n; ++i)
    entries[i] = mlirArrayAttrGetElement(array, n - 1 - i);
  return mlirArrayAttrGet(mlirAttributeGetContext(array), n, entries);
}

/// linalg.transpose by the reverse permutation, before `before`.
static MlirValue transpose(MlirOperation before, MlirValue value) {
  MlirType type = mlirValueGetType(value);
  if (!turns(type))
    return value;
  MlirContext context = mlirTypeGetContext(type);
  MlirLocation location = mlirOperationGetLocation(before);
  MlirBlock block = mlirOperationGetBlock(before);
  intptr_t rank = mlirShapedTypeGetRank(type);
  int64_t permutation[MAX_RANK];
  for (intptr_t d = 0; d < rank; ++d)
    permutation[d] = rank - 1 - d;
  MlirType result = reversedType(type), element = mlirShapedTypeGetElementType(type);
  MlirValue operands[2] = {value};
  operands[1] = mlirOperationGetResult(
      create(block, before, location, "tensor.empty", result, 0, NULL, 0, NULL, NULL), 0);
  MlirType types[2] = {element, element};
  MlirLocation locations[2] = {location, location};
  MlirBlock body = mlirBlockCreate(2, types, locations);
  MlirRegion region = mlirRegionCreate();
  mlirRegionAppendOwnedBlock(region, body);
  MlirValue yielded = mlirBlockGetArgument(body, 0);
  create(body, (MlirOperation){NULL}, location, "linalg.yield", (MlirType){NULL}, 1, &yielded, 0,
         NULL, NULL);
  MlirNamedAttribute attributes[] = {
      named(context, "permutation", mlirDenseI64ArrayGet(context, rank, permutation))};
  return mlirOperationGetResult(create(block, before, location, "linalg.transpose", result, 2,
                                       operands, 1, attributes, &region),
                                0);
}

//===----------------------------------------------------------------------===//
// Dimensions transposed
//===----------------------------------------------------------------------===//

typedef struct OpList {
  MlirOperation ops[4096];
  int n;
} OpList;

static MlirWalkResult collect(MlirOperation op, void *user) {
  OpList *list = user;
  if (list->n == 4096)
    die("a row of more than 4096 ops");
  list->ops[list->n++] = op;
  return MlirWalkResultAdvance;
}

/// Reverses the operands [first, first + n).
static void reverseOperands(MlirOperation op, intptr_t first, intptr_t n) {
  for (intptr_t i = 0; i < n / 2; ++i) {
    MlirValue low = mlirOperationGetOperand(op, first + i);
    mlirOperationSetOperand(op, first + i, mlirOperationGetOperand(op, first + n - 1 - i));
    mlirOperationSetOperand(op, first + n - 1 - i, low);
  }
}

static void turnSlice(MlirOperation op) {
  MlirContext context = mlirOperationGetContext(op);
  MlirAttribute segments = attribute(op, "operandSegmentSizes");
  intptr_t nSegments = mlirDenseArrayGetNumElements(segments), first = 0;
  for (intptr_t s = 0; s < nSegments; ++s) {
    int32_t n = mlirDenseI32ArrayGetElement(segments, s);
    if (s >= nSegments - 3)
      reverseOperands(op, first, n);
    first += n;
  }
  static const char *const names[] = {"static_offsets", "static_sizes", "static_strides"};
  for (int k = 0; k < 3; ++k) {
    MlirAttribute list = attribute(op, names[k]);
    intptr_t n = mlirDenseArrayGetNumElements(list);
    int64_t values[MAX_RANK];
    for (intptr_t i = 0; i < n; ++i)
      values[i] = mlirDenseI64ArrayGetElement(list, n - 1 - i);
    mlirOperationSetAttributeByName(op, ref(names[k]), mlirDenseI64ArrayGet(context, n, values));
  }
}

static void turnDimension(MlirOperation op, const char *name, intptr_t rank) {
  MlirAttribute old = attribute(op, name);
  mlirOperationSetAttributeByName(
      op, ref(name),
      mlirIntegerAttrGet(mlirAttributeGetType(old), rank - 1 - mlirIntegerAttrGetValueInt(old)));
}

static void turnMaps(MlirOperation op) {
  MlirAttribute maps = attribute(op, "indexing_maps");
  MlirAttribute turned[MAX_LIST];
  intptr_t n = mlirArrayAttrGetNumElements(maps);
  for (intptr_t i = 0; i < n; ++i) {
    MlirAffineMap map = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, i));
    intptr_t nResults = mlirAffineMapGetNumResults(map);
    MlirAffineExpr results[MAX_RANK];
    for (intptr_t r = 0; r < nResults; ++r)
      results[r] = mlirAffineMapGetResult(map, nResults - 1 - r);
    turned[i] = mlirAffineMapAttrGet(mlirAffineMapGet(
        mlirOperationGetContext(op), mlirAffineMapGetNumDims(map), 0, nResults, results));
  }
  mlirOperationSetAttributeByName(op, ref("indexing_maps"),
                                  mlirArrayAttrGet(mlirOperationGetContext(op), n, turned));
}

static void turnReshape(MlirOperation op, MlirType from, MlirType to) {
  MlirValue source = mlirOperationGetOperand(op, 0), result = mlirOperationGetResult(op, 0);
  mlirValueSetType(source, reversedType(from)); // as it is by now
  MlirValue natural = transpose(op, source);
  mlirOperationSetOperand(op, 0, natural);
  mlirValueSetType(result, to);
  MlirOperation next = mlirOperationGetNextInBlock(op);
  MlirValue turned = transpose(next, result);
  if (mlirValueEqual(turned, result))
    return;
  MlirOperation user = mlirOpResultGetOwner(turned);
  mlirValueReplaceAllUsesExcept(result, turned, 1, &user);
}

static void turnOp(MlirOperation op, const MlirType *oldTypes) {
  if (is(op, "linalg.generic"))
    turnMaps(op);
  else if (is(op, "tensor.extract_slice") || is(op, "tensor.insert_slice"))
    turnSlice(op);
  else if (is(op, "tensor.extract"))
    reverseOperands(op, 1, mlirOperationGetNumOperands(op) - 1);
  else if (is(op, "tensor.concat"))
    turnDimension(op, "dim", mlirShapedTypeGetRank(oldTypes[0]));
  else if (isIn(op, "tm_tensor.") && !is(op, "tm_tensor.yield"))
    turnDimension(op, "dimension", mlirShapedTypeGetRank(oldTypes[0]));
  else if (is(op, "tensor.expand_shape") || is(op, "tensor.collapse_shape"))
    turnReshape(op, oldTypes[0], oldTypes[1]);
  else if (!is(op, "linalg.fill") && !is(op, "tensor.empty") && !isIn(op, "arith.") &&
           !isIn(op, "math.") && !isIn(op, "scf.") && !isIn(op, "func.") && !isIn(op, "cf.") &&
           !is(op, "linalg.yield") && !is(op, "linalg.index") && !is(op, "builtin.module") &&
           !is(op, "tm_tensor.yield"))
    die("no transposed form of '%.*s'", (int)mlirIdentifierStr(mlirOperationGetName(op)).length,
        mlirIdentifierStr(mlirOperationGetName(op)).data);
}

static void turnBoundary(MlirOperation func, const char *list) {
  MlirAttribute all = attribute(func, list);
  if (mlirAttributeIsNull(all))
    return;
  MlirContext context = mlirOperationGetContext(func);
  MlirAttribute entries[MAX_LIST];
  intptr_t n = mlirArrayAttrGetNumElements(all);
  for (intptr_t i = 0; i < n; ++i) {
    MlirAttribute entry = mlirArrayAttrGetElement(all, i);
    MlirNamedAttribute items[MAX_LIST];
    intptr_t nItems = mlirDictionaryAttrGetNumElements(entry);
    for (intptr_t k = 0; k < nItems; ++k) {
      items[k] = mlirDictionaryAttrGetElement(entry, k);
      items[k].attribute = reversedArray(items[k].attribute);
    }
    entries[i] = mlirDictionaryAttrGet(context, nItems, items);
  }
  mlirOperationSetAttributeByName(func, ref(list), mlirArrayAttrGet(context, n, entries));
}

static MlirBlock bodyOf(MlirOperation func) {
  return mlirRegionGetFirstBlock(mlirOperationGetRegion(func, 0));
}

static void setFunctionType(MlirOperation func) {
  MlirType inputs[MAX_LIST], results[MAX_LIST];
  MlirBlock body = bodyOf(func);
  MlirOperation end = mlirBlockGetTerminator(body);
  intptr_t nInputs = mlirBlockGetNumArguments(body), nResults = mlirOperationGetNumOperands(end);
  for (intptr_t i = 0; i < nInputs; ++i)
    inputs[i] = mlirValueGetType(mlirBlockGetArgument(body, i));
  for (intptr_t i = 0; i < nResults; ++i)
    results[i] = mlirValueGetType(mlirOperationGetOperand(end, i));
  mlirOperationSetAttributeByName(
      func, ref("function_type"),
      mlirTypeAttrGet(
          mlirFunctionTypeGet(mlirOperationGetContext(func), nInputs, inputs, nResults, results)));
}

static void turnModule(MlirOperation module, MlirOperation func) {
  OpList *list = calloc(1, sizeof(*list));
  MlirType(*old)[2] = calloc(4096, sizeof(*old));
  if (!list || !old)
    die("out of memory");
  mlirOperationWalk(module, collect, list, MlirWalkPreOrder);
  for (int i = 0; i < list->n; ++i) {
    MlirOperation op = list->ops[i];
    if (mlirOperationGetNumOperands(op) > 0)
      old[i][0] = mlirValueGetType(mlirOperationGetOperand(op, 0));
    if (mlirOperationGetNumResults(op) > 0)
      old[i][1] = mlirValueGetType(mlirOperationGetResult(op, 0));
  }
  for (int i = 0; i < list->n; ++i) {
    MlirOperation op = list->ops[i];
    for (intptr_t r = 0; r < mlirOperationGetNumResults(op); ++r)
      mlirValueSetType(mlirOperationGetResult(op, r),
                       reversedType(mlirValueGetType(mlirOperationGetResult(op, r))));
    for (intptr_t k = 0; k < mlirOperationGetNumRegions(op); ++k)
      for (MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, k));
           !mlirBlockIsNull(block); block = mlirBlockGetNextInRegion(block))
        for (intptr_t a = 0; a < mlirBlockGetNumArguments(block); ++a)
          mlirValueSetType(mlirBlockGetArgument(block, a),
                           reversedType(mlirValueGetType(mlirBlockGetArgument(block, a))));
  }
  for (int i = 0; i < list->n; ++i)
    turnOp(list->ops[i], old[i]);
  turnBoundary(func, "arg_attrs");
  turnBoundary(func, "res_attrs");
  setFunctionType(func);
  free(old);
  free(list);
}

//===----------------------------------------------------------------------===//
// Inside a larger graph
//===----------------------------------------------------------------------===//

/// The negative of a value before `before`; floats of a result lose their sign, which no sum
/// passes.
static MlirValue more(MlirOperation before, MlirValue value, bool isResult) {
  MlirType type = mlirValueGetType(value);
  bool shaped = mlirTypeIsARankedTensor(type);
  bool isFloat = mlirTypeIsAFloat(shaped ? mlirShapedTypeGetElementType(type) : type);
  if (!shaped || (!isFloat && !isResult))
    return value;
  MlirValue operands[] = {value, value};
  MlirLocation location = mlirOperationGetLocation(before);
  MlirBlock block = mlirOperationGetBlock(before);
  const char *name = !isFloat ? "arith.addi" : isResult ? "math.absf" : "arith.negf";
  return mlirOperationGetResult(
      create(block, before, location, name, type, isFloat ? 1 : 2, operands, 0, NULL, NULL), 0);
}

static void enlarge(MlirOperation func) {
  MlirBlock body = bodyOf(func);
  MlirOperation first = mlirBlockGetFirstOperation(body), end = mlirBlockGetTerminator(body);
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(body); ++i) {
    MlirValue argument = mlirBlockGetArgument(body, i), used = more(first, argument, false);
    if (mlirValueEqual(used, argument))
      continue;
    MlirOperation user = mlirOpResultGetOwner(used);
    mlirValueReplaceAllUsesExcept(argument, used, 1, &user);
  }
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(end); ++i)
    mlirOperationSetOperand(end, i, more(end, mlirOperationGetOperand(end, i), true));
}

//===----------------------------------------------------------------------===//
// Main
//===----------------------------------------------------------------------===//

static void writeText(MlirStringRef text, void *user) { fwrite(text.data, 1, text.length, user); }

static void transform(const char *form, const char *text, FILE *out) {
  MlirContext context = mlirContextCreate();
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  mlirRegisterAllDialects(registry);
  mlirContextAppendDialectRegistry(context, registry);
  mlirContextLoadAllAvailableDialects(context);
  mlirContextSetAllowUnregisteredDialects(context, true);
  MlirModule module = mlirModuleCreateParse(context, ref(text));
  if (mlirModuleIsNull(module))
    die("the row does not parse");
  MlirOperation func = mlirBlockGetFirstOperation(mlirModuleGetBody(module));
  if (mlirOperationIsNull(func) || !is(func, "func.func"))
    die("expected one function");
  if (strcmp(form, "transposed") == 0)
    turnModule(mlirModuleGetOperation(module), func);
  else
    enlarge(func);
  if (!mlirOperationVerify(mlirModuleGetOperation(module)))
    die("the form does not verify");
  mlirOperationPrint(mlirModuleGetOperation(module), writeText, out);
  fputs("\n", out);
  mlirModuleDestroy(module);
  mlirDialectRegistryDestroy(registry);
  mlirContextDestroy(context);
}

/// The mesh with its last axis doubled, and its axes' sizes.
static char *doubledMesh(const char *mesh) {
  size_t at = strlen(mesh);
  while (at > 0 && isdigit((unsigned char)mesh[at - 1]))
    --at;
  char *result;
  if (asprintf(&result, "%.*s%d", (int)at, mesh, 2 * atoi(mesh + at)) < 0)
    die("out of memory");
  return result;
}

static void printVariables(const char *mesh) {
  int n = 1, first = 0, last = 0;
  for (const char *at = mesh; *at; ++at)
    if (isdigit((unsigned char)*at) && !isdigit((unsigned char)at[-1])) {
      last = atoi(at);
      first = first ? first : last;
      n *= last;
    }
  printf("n=%d; a=%d; b=%d", n, first, last);
}

int main(int argc, char **argv) {
  if (argc != 4)
    die("usage: layout-forms row|doubled|odd|transposed|larger ROW.mlir OUT.mlir");
  const char *form = argv[1];
  char *text = readFile(argv[2]);
  char *mesh = headerLine(text, "mesh"), *least = headerLine(text, "least"),
       *xla = headerLine(text, "xla");
  if (!mesh || !least || !xla)
    die("'%s' does not say mesh, least and xla", argv[2]);
  FILE *out = fopen(argv[3], "wb");
  if (!out)
    die("cannot write '%s'", argv[3]);
  if (strcmp(form, "row") == 0 || strcmp(form, "doubled") == 0) {
    fputs(text, out);
    if (form[0] == 'd') {
      char *given = headerLine(text, "doubled");
      mesh = given ? given : doubledMesh(mesh);
    }
  } else if (strcmp(form, "odd") == 0) {
    Replacement list[MAX_LIST];
    char *line = headerLine(text, "odd");
    if (!line)
      die("'%s' does not say odd", argv[2]);
    int n = readReplacements(line, list);
    writeReplaced(out, text, n, list);
    least = replaced(least, n, list);
  } else if (strcmp(form, "transposed") == 0 || strcmp(form, "larger") == 0) {
    transform(form, text, out);
  } else {
    die("no form '%s'", form);
  }
  char *ownKey, *own;
  if (asprintf(&ownKey, "least-%s", form) < 0)
    die("out of memory");
  if ((own = headerLine(text, ownKey)))
    least = own;
  if (fclose(out) != 0)
    die("cannot write '%s'", argv[3]);
  printf("%s|", mesh);
  printVariables(mesh);
  printf("|%s|%s\n", least, strcmp(form, "row") == 0 ? xla : "-");
  return 0;
}
