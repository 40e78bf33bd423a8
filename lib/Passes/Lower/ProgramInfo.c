//===- ProgramInfo.c - What an emitted program says of itself ------*- C -*-===//
// Reads the attributes of L3 (or of an unsharded module: all replicated, one rank) and keeps what
// shard/Program.h exports as `spmd.program` on the module:
//   {axes = ["pp","tp"], sizes = array<i64>, pp = -1 : i64,
//    arguments = [{index, name, role, global = tensor<..>, local, view = array<i64>,
//                  axis_start = array<i32>, axes = array<i32>, constant = 0 : i64,
//                  window = array<i64: dimension, begin, size>, digits = [array<i64>], data =
//                  "symbol"}],
//    results = [...], stages = [{function, arguments = array<i32>, results = array<i32>,
//                extents = array<i32>: which of dims an argument is, or -1,
//                groups = array<i32>, messages = [array<i64: bytes, count>]}], dims, equal,
//    sites = [{site, kind, location, cause}]}
// Whole values of constant arguments become globals.
//===----------------------------------------------------------------------===//

#include "Lower.h"

#include "../Analysis/Mesh.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Distinct (argument, sharding) pairs; in order of their first use until sortValues.
typedef struct ValueList {
  ShardArena *arena;
  MlirAttribute *items;
  size_t nItems, capacity;
} ValueList;

static int64_t indexOf(MlirAttribute item) {
  int64_t index = 0;
  shardAttrGetI64(mlirDictionaryAttrGetElementByName(item, mlirStringRefCreateFromCString("index")),
                  &index);
  return index;
}

/// Sorts by the index in the original function. Returns, for each old position, the new one.
static int32_t *sortValues(ValueList *list) {
  int32_t *places = SHARD_ARENA_ARRAY(list->arena, int32_t, list->nItems);
  MlirAttribute *sorted = SHARD_ARENA_ARRAY(list->arena, MlirAttribute, list->nItems);
  for (size_t i = 0; i < list->nItems; ++i) {
    int64_t index = indexOf(list->items[i]);
    for (size_t k = 0; k < list->nItems; ++k) {
      int64_t other = indexOf(list->items[k]);
      places[i] += other < index || (other == index && k < i);
    }
    sorted[places[i]] = list->items[i];
  }
  list->items = sorted;
  return places;
}

static int32_t addValue(ValueList *list, MlirAttribute item) {
  for (size_t i = 0; i < list->nItems; ++i)
    if (mlirAttributeEqual(list->items[i], item))
      return (int32_t)i;
  list->items = shardArenaGrow(list->arena, list->items, list->nItems, &list->capacity,
                               list->nItems + 1, sizeof(*list->items));
  list->items[list->nItems] = item;
  return (int32_t)list->nItems++;
}

/// The data of another entry of the same argument; null if there is none.
static MlirAttribute findData(const ValueList *list, MlirAttribute index) {
  for (size_t i = 0; i < list->nItems; ++i) {
    MlirAttribute item = list->items[i];
    if (mlirAttributeEqual(
            mlirDictionaryAttrGetElementByName(item, mlirStringRefCreateFromCString("index")),
            index))
      return mlirDictionaryAttrGetElementByName(item, mlirStringRefCreateFromCString("data"));
  }
  return mlirAttributeGetNull();
}

/// Mesh axes named `name`; "tp" also stands for its sub-axes tp.0, tp.1. Returns how many.
static int32_t findAxes(const ShardMesh *mesh, MlirStringRef name, int32_t *axes) {
  int32_t n = 0;
  for (int32_t i = 0; i < mesh->nAxes; ++i)
    if (!strncmp(mesh->names[i], name.data, name.length) &&
        (mesh->names[i][name.length] == 0 || mesh->names[i][name.length] == '.'))
      axes[n++] = i;
  return n;
}

static MlirAttribute getOr(MlirAttribute attribute, MlirAttribute other) {
  return mlirAttributeIsNull(attribute) ? other : attribute;
}

typedef MlirAttribute (*AttributeGetter)(MlirOperation func, intptr_t index, const char *name);

/// Finds the file-metadata section that MLIR prints after an op whose resources have blobs.
static void scanForResources(MlirStringRef text, void *user) {
  static const char key[] = "dialect_resources";
  size_t *matched = user; // characters of `key` seen; its length once found
  for (size_t i = 0; i < text.length && *matched < sizeof(key) - 1; ++i)
    *matched = text.data[i] == key[*matched] ? *matched + 1 : text.data[i] == key[0];
}

/// Whether a dense_resource has its values. The C API cannot ask: print an op that carries it.
static bool resourceHasBlob(ShardLowering *lowering, MlirAttribute value) {
  MlirModule holder = mlirModuleCreateEmpty(mlirLocationUnknownGet(lowering->context));
  mlirOperationSetDiscardableAttributeByName(mlirModuleGetOperation(holder),
                                             mlirStringRefCreateFromCString("spmd.value"), value);
  size_t matched = 0;
  mlirOperationPrint(mlirModuleGetOperation(holder), scanForResources, &matched);
  mlirModuleDestroy(holder);
  return matched == strlen("dialect_resources");
}

MlirAttribute shardMakeDataGlobal(ShardLowering *lowering, MlirLocation location,
                                  MlirAttribute value) {
  MlirContext context = lowering->context;
  MlirType type = mlirAttributeGetType(value);
  char name[48];
  snprintf(name, sizeof(name), "shard_data_%" PRIdPTR, lowering->nGlobals++);
  MlirRegion region = mlirRegionCreate();
  ShardNamedAttribute attributes[] = {
      {"global_type", mlirTypeAttrGet(shardLLVMArrayOf(type, mlirShapedTypeGetElementType(type)))},
      {"sym_name", shardAttrString(context, name)},
      {"linkage", shardParseAttribute(lowering, "#llvm.linkage<internal>")},
      {"constant", shardAttrUnit(context)},
      {"value", value},
      {"alignment", shardAttrI64(context, 64)}};
  shardOpCreate(shardOpBody(lowering->module), (MlirOperation){NULL}, location, "llvm.mlir.global",
                0, NULL, 0, NULL, 6, attributes, 1, &region);
  return shardAttrString(context, name);
}

/// A global of a constant's values; its name, or null when they were elided.
static MlirAttribute makeDataGlobal(ShardLowering *lowering, MlirOperation func,
                                    MlirAttribute value) {
  if (mlirAttributeIsADenseResourceElements(value) && !resourceHasBlob(lowering, value))
    return mlirAttributeGetNull();
  return shardMakeDataGlobal(lowering, mlirOperationGetLocation(func), value);
}

static bool isAxisLists(MlirAttribute sharding, intptr_t nDims) {
  if (!mlirAttributeIsAArray(sharding) || mlirArrayAttrGetNumElements(sharding) != nDims)
    return false;
  for (intptr_t i = 0; i < nDims; ++i) {
    MlirAttribute names = mlirArrayAttrGetElement(sharding, i);
    if (!mlirAttributeIsAArray(names))
      return false;
    for (intptr_t k = 0; k < mlirArrayAttrGetNumElements(names); ++k)
      if (!mlirAttributeIsAString(mlirArrayAttrGetElement(names, k)))
        return false;
  }
  return true;
}

/// Of a value with a window; others have any rank.
enum { MAX_WINDOW_RANK = 64 };
/// Bytes of all tensors on all ranks are counted in 64 bits: the bound of shard-import.
#define MAX_ELEMENTS (INT64_C(1) << 48)

/// Whether `spmd.window` (or none) says where a value of `type` lies in a whole one.
static bool isWindow(MlirAttribute window, MlirType type) {
  if (mlirAttributeIsNull(window))
    return true;
  if (!mlirAttributeIsADenseI64Array(window) || mlirDenseArrayGetNumElements(window) != 3 ||
      !mlirTypeIsARankedTensor(type) || mlirShapedTypeGetRank(type) > MAX_WINDOW_RANK)
    return false;
  int64_t dim = mlirDenseI64ArrayGetElement(window, 0);
  int64_t offset = mlirDenseI64ArrayGetElement(window, 1);
  int64_t full = mlirDenseI64ArrayGetElement(window, 2);
  return dim >= 0 && dim < mlirShapedTypeGetRank(type) && offset >= 0 && offset <= full &&
         mlirShapedTypeGetDimSize(type, (intptr_t)dim) <= full - offset;
}

/// The type of the whole of which a value of `type` is a window.
static MlirType wholeType(MlirAttribute window, MlirType type) {
  if (mlirAttributeIsNull(window))
    return type;
  int64_t shape[MAX_WINDOW_RANK];
  intptr_t rank = (intptr_t)mlirShapedTypeGetRank(type);
  for (intptr_t d = 0; d < rank; ++d)
    shape[d] = d == mlirDenseI64ArrayGetElement(window, 0) ? mlirDenseI64ArrayGetElement(window, 2)
                                                           : mlirShapedTypeGetDimSize(type, d);
  return shardTensorWithShape(type, rank, shape);
}

/// What is wrong with the attributes of an argument or result, null if nothing: they come from a
/// file that may have been edited.
static const char *checkAttributes(MlirAttribute index, MlirAttribute name, MlirAttribute role,
                                   MlirAttribute global, MlirAttribute view, MlirAttribute sharding,
                                   MlirAttribute window, MlirAttribute value, MlirType local) {
  int64_t number;
  if (!mlirAttributeIsAInteger(index) || !shardAttrGetI64(index, &number) || number < 0)
    return "a number that is not a whole number from 0";
  if (!mlirAttributeIsAString(name) || !mlirAttributeIsAString(role))
    return "a name or role that is not a string";
  if (!mlirAttributeIsAType(global))
    return "an 'spmd.global' that is not a type";
  MlirType type = mlirTypeAttrGetValue(global);
  if (!isWindow(window, type))
    return "an 'spmd.window' that is not [dimension, offset, size of the whole dimension]";
  if (!mlirAttributeIsNull(value) &&
      (!mlirAttributeIsAElements(value) ||
       !mlirTypeEqual(mlirAttributeGetType(value), wholeType(window, type))))
    return "an 'spmd.value' of another type";
  bool isTensor = mlirTypeIsARankedTensor(local);
  if (!isTensor && !mlirTypeIsAMemRef(local))
    return mlirTypeEqual(type, local) ? NULL : "an 'spmd.global' of another type";
  if (!mlirShapedTypeHasStaticShape(local))
    return "no static shape";
  if (isTensor && (shardTypeElementCount(local) < 0 || shardTypeElementCount(local) > MAX_ELEMENTS))
    return "more than 2^48 elements";
  if (!mlirTypeIsAShaped(type) || !mlirShapedTypeHasStaticShape(type) ||
      mlirShapedTypeGetRank(type) != mlirShapedTypeGetRank(local) ||
      !mlirTypeEqual(mlirShapedTypeGetElementType(type), mlirShapedTypeGetElementType(local)))
    return "an 'spmd.global' that is no static tensor of its rank and element type";
  if (!mlirAttributeIsNull(view) && !mlirAttributeIsADenseI64Array(view))
    return "an 'spmd.view' that is no array of i64";
  intptr_t nDims =
      mlirAttributeIsNull(view) ? mlirShapedTypeGetRank(type) : mlirDenseArrayGetNumElements(view);
  if (!mlirAttributeIsNull(sharding) && !isAxisLists(sharding, nDims))
    return "an 'spmd.sharding' that is not a list of axis names for each dimension";
  return NULL;
}

/// Whether the parts of a view, each over its axes, multiply to the local shape.
static bool givesLocalShape(const ShardMesh *mesh, MlirType global, MlirType local,
                            MlirAttribute view, const int32_t *starts, const int32_t *axes) {
  intptr_t n = mlirDenseArrayGetNumElements(view), at = 0;
  for (intptr_t d = 0; d < mlirShapedTypeGetRank(global); ++d) {
    int64_t size = mlirShapedTypeGetDimSize(global, d), product = 1, part = 1;
    for (bool first = true; at < n && (first || product < size); first = false, ++at) {
      int64_t whole = mlirDenseI64ArrayGetElement(view, at), devices = 1;
      for (int32_t a = starts[at]; a < starts[at + 1]; ++a)
        devices *= mesh->sizes[axes[a]];
      if (whole < 0 || (whole && product > size / whole))
        return false;
      product *= whole, part *= whole / devices + (whole % devices != 0);
    }
    if (product != size || part != mlirShapedTypeGetDimSize(local, d))
      return false;
  }
  for (; at < n; ++at)
    if (mlirDenseI64ArrayGetElement(view, at) != 1 || starts[at] != starts[at + 1])
      return false;
  return true;
}

/// What an argument or result of a function says of itself, and what follows from it.
typedef struct ValueText {
  MlirAttribute index, name, role, global, view, sharding, window, value, storage;
  int32_t *starts, axes[64], nAxes; // of the view's dimensions
} ValueText;

/// The view, the shape itself where there is none, and the axes over which it lies.
static MlirLogicalResult readAxes(ShardLowering *lowering, const ShardMesh *mesh,
                                  MlirOperation func, ValueText *text) {
  MlirType global = mlirTypeAttrGetValue(text->global);
  if (mlirAttributeIsNull(text->view)) {
    intptr_t rank = mlirTypeIsAShaped(global) ? mlirShapedTypeGetRank(global) : 0;
    int64_t *shape = SHARD_ARENA_ARRAY(lowering->arena, int64_t, rank);
    for (intptr_t i = 0; i < rank; ++i)
      shape[i] = mlirShapedTypeGetDimSize(global, i);
    text->view = shardAttrI64Array(lowering->context, rank, shape);
  }
  intptr_t nDims = mlirDenseArrayGetNumElements(text->view);
  text->starts = SHARD_ARENA_ARRAY(lowering->arena, int32_t, nDims + 1);
  for (intptr_t i = 0; i < nDims; ++i) {
    text->starts[i] = text->nAxes;
    if (mlirAttributeIsNull(text->sharding) || i >= mlirArrayAttrGetNumElements(text->sharding))
      continue;
    MlirAttribute names = mlirArrayAttrGetElement(text->sharding, i);
    for (intptr_t k = 0; k < mlirArrayAttrGetNumElements(names); ++k) {
      MlirStringRef axis = mlirStringAttrGetValue(mlirArrayAttrGetElement(names, k));
      int32_t n = text->nAxes < 32 ? findAxes(mesh, axis, text->axes + text->nAxes) : 0;
      if (!n)
        return shardEmitError(func, "'spmd.sharding' names '%.*s', which the mesh has not",
                              (int)axis.length, axis.data);
      text->nAxes += n;
    }
  }
  text->starts[nDims] = text->nAxes;
  return mlirLogicalResultSuccess();
}

static MlirAttribute findOrMakeData(ShardLowering *lowering, MlirOperation func,
                                    const ValueList *list, const ValueText *text) {
  if (mlirAttributeIsNull(text->value))
    return mlirAttributeGetNull();
  MlirAttribute data = findData(list, text->index);
  return mlirAttributeIsNull(data) ? makeDataGlobal(lowering, func, text->value) : data;
}

static MlirLogicalResult describeValue(ShardLowering *lowering, const ShardDynamicInfo *dynamic,
                                       const ShardMesh *mesh, MlirOperation func, intptr_t position,
                                       MlirType local, AttributeGetter get, const char *indexName,
                                       ValueList *list, int32_t *outIndex) {
  MlirContext context = lowering->context;
  MlirAttribute none = shardAttrString(context, "");
  ValueText t = {
      .index = getOr(get(func, position, indexName), shardAttrI64(context, position)),
      .name = getOr(get(func, position, "spmd.name"), none),
      .role = getOr(get(func, position, "spmd.role"), none),
      .global = getOr(get(func, position, "spmd.global"), mlirTypeAttrGet(local)),
      .view = get(func, position, "spmd.view"),
      .sharding = get(func, position, "spmd.sharding"),
      .window = get(func, position, "spmd.window"),
      .value = get(func, position, "spmd.value"),
      .storage = get(func, position, "spmd.storage"),
  };
  bool isResult = strcmp(indexName, "spmd.arg") != 0;
  const char *kind = isResult ? "result" : "argument";
  const char *wrong = checkAttributes(t.index, t.name, t.role, t.global, t.view, t.sharding,
                                      t.window, t.value, local);
  if (wrong)
    return shardEmitError(func, "%s %" PRIdPTR " has %s", kind, position, wrong);
  MlirType global = mlirTypeAttrGetValue(t.global);
  bool isTensor = mlirTypeIsAShaped(global);
  if (shardElementNumber(isTensor ? mlirShapedTypeGetElementType(global) : global) < 0)
    return shardEmitError(func, "%s %" PRIdPTR " has an element type without a lowering", kind,
                          position);
  if (mlirLogicalResultIsFailure(readAxes(lowering, mesh, func, &t)))
    return mlirLogicalResultFailure();
  if (isTensor && !givesLocalShape(mesh, global, local, t.view, t.starts, t.axes))
    return shardEmitError(
        func, "%s %" PRIdPTR ": 'spmd.global' and 'spmd.sharding' do not give its local shape",
        kind, position);
  bool constant =
      !mlirAttributeIsNull(t.value) || !mlirAttributeIsNull(get(func, position, "spmd.elided"));
  MlirAttribute data = findOrMakeData(lowering, func, list, &t);
  if (!mlirAttributeIsNull(t.window)) {
    int64_t dim = mlirDenseI64ArrayGetElement(t.window, 0);
    int64_t part[] = {dim, mlirDenseI64ArrayGetElement(t.window, 1),
                      mlirShapedTypeGetDimSize(global, (intptr_t)dim)};
    t.global = mlirTypeAttrGet(wholeType(t.window, global));
    t.window = shardAttrI64Array(context, 3, part);
  }
  int64_t number = 0;
  shardAttrGetI64(t.index, &number);
  MlirAttribute digits;
  if (mlirLogicalResultIsFailure(shardDynamicInfoDigits(lowering, dynamic, isResult, number,
                                                        mlirTypeAttrGetValue(t.global), &digits)))
    return mlirLogicalResultFailure();
  intptr_t nDims = mlirDenseArrayGetNumElements(t.view);
  MlirNamedAttribute entries[13] = {
      shardNamed(context, "index", t.index),
      shardNamed(context, "name", t.name),
      shardNamed(context, "role", t.role),
      shardNamed(context, "global", t.global),
      shardNamed(context, "local", mlirTypeAttrGet(local)),
      shardNamed(context, "view", t.view),
      shardNamed(context, "axis_start", mlirDenseI32ArrayGet(context, nDims + 1, t.starts)),
      shardNamed(context, "axes", mlirDenseI32ArrayGet(context, t.nAxes, t.axes)),
      shardNamed(context, "constant", shardAttrI64(context, constant)),
  };
  intptr_t n = 9;
  if (!mlirAttributeIsNull(data))
    entries[n++] = shardNamed(context, "data", data);
  if (!mlirAttributeIsNull(t.window))
    entries[n++] = shardNamed(context, "window", t.window);
  if (!mlirAttributeIsNull(digits))
    entries[n++] = shardNamed(context, "digits", digits);
  if (!mlirAttributeIsNull(t.storage) && mlirAttributeIsAString(t.storage))
    entries[n++] = shardNamed(context, "storage", t.storage);
  *outIndex = addValue(list, mlirDictionaryAttrGet(context, n, entries));
  return mlirLogicalResultSuccess();
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// Which extent an argument is; -1: none.
static intptr_t extentOf(MlirOperation func, intptr_t argument, const ShardDynamicInfo *dynamic) {
  MlirAttribute index = shardFuncGetArgumentAttribute(func, argument, "spmd.arg");
  int64_t number;
  if (!shardFuncArgumentIs(func, argument, "extent") || mlirAttributeIsNull(index) ||
      !mlirAttributeIsAInteger(index) || !shardAttrGetI64(index, &number))
    return -1;
  MlirType type = mlirValueGetType(mlirBlockGetArgument(shardFuncGetBody(func), argument));
  if (!mlirTypeIsAShaped(type) || mlirShapedTypeGetRank(type) != 0 ||
      !mlirTypeEqual(mlirShapedTypeGetElementType(type),
                     mlirIntegerTypeGet(mlirOperationGetContext(func), 64)))
    return -1;
  number -= dynamic->firstExtent;
  return number >= 0 && number < dynamic->nDims ? (intptr_t)number : -1;
}

static MlirAttribute listAttribute(MlirContext context, const ValueList *list) {
  return mlirArrayAttrGet(context, (intptr_t)list->nItems, list->items);
}

enum { MAX_STAGES = 4096 };

/// The stages: public functions, in the order of `spmd.stage`.
static MlirLogicalResult collectStages(ShardLowering *lowering, ShardOpList *stages) {
  MlirBlock top = shardOpBody(lowering->module);
  for (MlirOperation op = mlirBlockGetFirstOperation(top); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op)) {
    if (!shardOpIs(op, "func.func") || !shardFuncIsPublic(op) ||
        mlirBlockIsNull(shardFuncGetBody(op)))
      continue;
    int64_t stage = 0, next = (int64_t)stages->nOps;
    MlirAttribute attribute = shardOpGetAttribute(op, "spmd.stage");
    if (!mlirAttributeIsNull(attribute))
      shardAttrGetI64(attribute, &stage);
    else if (next)
      return shardEmitError(op,
                            "a second public function; expected one, or stages with 'spmd.stage'");
    if (stage != next)
      return shardEmitError(
          op, "'spmd.stage' is %" PRId64 ", expected %" PRId64 ": stages stand in order", stage,
          next);
    if (next == MAX_STAGES)
      return shardEmitError(op, "more than 4096 stages");
    shardOpListAppend(stages, op);
  }
  if (!stages->nOps)
    return shardEmitError(lowering->module, "no public function with a body");
  return mlirLogicalResultSuccess();
}

/// What the tables are made from.
typedef struct Program {
  ShardMesh mesh;
  ShardDynamicInfo dynamic;
  ValueList arguments, results;
} Program;

/// A stage's arguments and results as indices into the program's lists; of an argument that is an
/// extent, -1 - its number.
typedef struct StageValues {
  intptr_t nArguments, nResults;
  int32_t *arguments, *results;
} StageValues;

static MlirLogicalResult describeStage(ShardLowering *lowering, Program *program,
                                       MlirOperation func, StageValues *out) {
  MlirBlock body = shardFuncGetBody(func);
  MlirOperation terminator = mlirBlockGetTerminator(body);
  out->nArguments = mlirBlockGetNumArguments(body);
  out->nResults = mlirOperationGetNumOperands(terminator);
  out->arguments = SHARD_ARENA_ARRAY(lowering->arena, int32_t, out->nArguments);
  out->results = SHARD_ARENA_ARRAY(lowering->arena, int32_t, out->nResults);
  for (intptr_t i = 0; i < out->nArguments; ++i) {
    intptr_t extent = extentOf(func, i, &program->dynamic);
    if (extent >= 0) { // no argument of the program's, but one of its dims
      out->arguments[i] = (int32_t)(-1 - extent);
      continue;
    }
    MlirType type = mlirValueGetType(mlirBlockGetArgument(body, i));
    if (mlirLogicalResultIsFailure(describeValue(lowering, &program->dynamic, &program->mesh, func,
                                                 i, type, shardFuncGetArgumentAttribute, "spmd.arg",
                                                 &program->arguments, &out->arguments[i])))
      return mlirLogicalResultFailure();
  }
  for (intptr_t i = 0; i < out->nResults; ++i) {
    MlirType type = mlirValueGetType(mlirOperationGetOperand(terminator, i));
    if (mlirLogicalResultIsFailure(describeValue(
            lowering, &program->dynamic, &program->mesh, func, i, type, shardFuncGetResultAttribute,
            "spmd.result", &program->results, &out->results[i])))
      return mlirLogicalResultFailure();
  }
  return mlirLogicalResultSuccess();
}

/// The stage's row. `argumentPlaces` and `resultPlaces`: where the lists' values are once sorted.
static MlirAttribute stageAttribute(ShardLowering *lowering, MlirOperation func,
                                    StageValues *values, const int32_t *argumentPlaces,
                                    const int32_t *resultPlaces) {
  MlirContext context = lowering->context;
  // Extents come from `dims`, the others are what the caller gives, in order.
  int32_t *extents = SHARD_ARENA_ARRAY(lowering->arena, int32_t, values->nArguments);
  intptr_t nGiven = 0;
  for (intptr_t i = 0; i < values->nArguments; ++i) {
    int32_t place = values->arguments[i];
    extents[i] = place < 0 ? -1 - place : -1;
    if (place >= 0)
      values->arguments[nGiven++] = argumentPlaces[place];
  }
  for (intptr_t i = 0; i < values->nResults; ++i)
    values->results[i] = resultPlaces[values->results[i]];
  MlirAttribute groups, messages;
  shardStepInfoCollect(lowering, func, &groups, &messages);
  MlirNamedAttribute entries[] = {
      shardNamed(context, "function", shardOpGetAttribute(func, "sym_name")),
      shardNamed(context, "groups", groups),
      shardNamed(context, "messages", messages),
      shardNamed(context, "arguments", mlirDenseI32ArrayGet(context, nGiven, values->arguments)),
      shardNamed(context, "extents", mlirDenseI32ArrayGet(context, values->nArguments, extents)),
      shardNamed(context, "results",
                 mlirDenseI32ArrayGet(context, values->nResults, values->results))};
  return mlirDictionaryAttrGet(context, sizeof(entries) / sizeof(entries[0]), entries);
}

MlirLogicalResult shardProgramInfoCollect(ShardLowering *lowering) {
  MlirContext context = lowering->context;
  ShardArena *arena = lowering->arena;
  Program program = {.arguments = {.arena = arena}, .results = {.arena = arena}};
  ShardGridState grid = shardMeshReadChecked(lowering->module, arena, &program.mesh);
  if (grid == SHARD_GRID_REFUSED)
    return mlirLogicalResultFailure();
  if (grid == SHARD_GRID_NONE)
    program.mesh.nAxes = 0;
  ShardOpList stages = {.arena = arena};
  if (mlirLogicalResultIsFailure(shardDynamicInfoRead(lowering, &program.dynamic)) ||
      mlirLogicalResultIsFailure(collectStages(lowering, &stages)))
    return mlirLogicalResultFailure();
  intptr_t nStages = (intptr_t)stages.nOps;
  StageValues *values = SHARD_ARENA_ARRAY(arena, StageValues, nStages);
  for (intptr_t s = 0; s < nStages; ++s)
    if (mlirLogicalResultIsFailure(describeStage(lowering, &program, stages.ops[s], &values[s])))
      return mlirLogicalResultFailure();
  int32_t *argumentPlaces = sortValues(&program.arguments);
  int32_t *resultPlaces = sortValues(&program.results);
  MlirAttribute *rows = SHARD_ARENA_ARRAY(arena, MlirAttribute, nStages);
  for (intptr_t s = 0; s < nStages; ++s)
    rows[s] = stageAttribute(lowering, stages.ops[s], &values[s], argumentPlaces, resultPlaces);

  const ShardMesh *mesh = &program.mesh;
  MlirAttribute axes[SHARD_MAX_AXES];
  int64_t pp = -1;
  for (int32_t i = 0; i < mesh->nAxes; ++i) {
    axes[i] = shardAttrString(context, mesh->names[i]);
    if (!strcmp(mesh->names[i], "pp"))
      pp = i;
  }
  if (nStages > 1 && (pp < 0 || mesh->sizes[pp] != nStages))
    return shardEmitError(lowering->module,
                          "%" PRIdPTR " stages; the mesh's axis 'pp' must have that size", nStages);
  MlirNamedAttribute entries[] = {
      shardNamed(context, "axes", mlirArrayAttrGet(context, mesh->nAxes, axes)),
      shardNamed(context, "sizes", shardAttrI64Array(context, mesh->nAxes, mesh->sizes)),
      shardNamed(context, "pp", shardAttrI64(context, nStages > 1 ? pp : -1)),
      shardNamed(context, "dims", program.dynamic.dims),
      shardNamed(context, "equal", program.dynamic.equal),
      shardNamed(context, "arguments", listAttribute(context, &program.arguments)),
      shardNamed(context, "results", listAttribute(context, &program.results)),
      shardNamed(context, "stages", mlirArrayAttrGet(context, nStages, rows)),
      shardNamed(context, "sites", shardSiteInfoCollect(lowering))};
  shardOpSetAttribute(
      lowering->module, "spmd.program",
      mlirDictionaryAttrGet(context, sizeof(entries) / sizeof(entries[0]), entries));
  return mlirLogicalResultSuccess();
}
