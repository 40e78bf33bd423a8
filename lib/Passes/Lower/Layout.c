//===- Layout.c - The tables of a program without its code --------*- C -*-===//
// Emit.c writes them into an object; here they are made in memory, from the same `spmd.program`.
//===----------------------------------------------------------------------===//

#include "shard/Layout.h"

#include "Lower.h"

#include "mlir-c/Dialect/LLVM.h"

struct ShardLayout {
  ShardArena *arena;
  ShardProgram program;
};

static MlirAttribute field(MlirAttribute dictionary, const char *name) {
  return mlirDictionaryAttrGetElementByName(dictionary, mlirStringRefCreateFromCString(name));
}

static int32_t integerField(MlirAttribute dictionary, const char *name) {
  int64_t value = 0;
  shardAttrGetI64(field(dictionary, name), &value);
  return (int32_t)value;
}

static const char *textField(ShardArena *arena, MlirAttribute dictionary, const char *name) {
  MlirStringRef text = mlirStringAttrGetValue(field(dictionary, name));
  return shardArenaCopyString(arena, text.data, text.length);
}

static int32_t *i32Array(ShardArena *arena, MlirAttribute array, int32_t *outCount) {
  intptr_t n = mlirDenseArrayGetNumElements(array);
  int32_t *values = SHARD_ARENA_ARRAY(arena, int32_t, n + 1);
  for (intptr_t i = 0; i < n; ++i)
    values[i] = mlirDenseI32ArrayGetElement(array, i);
  if (outCount)
    *outCount = (int32_t)n;
  return values;
}

static int64_t *i64Array(ShardArena *arena, MlirAttribute array, int32_t *outCount) {
  intptr_t n = mlirDenseArrayGetNumElements(array);
  int64_t *values = SHARD_ARENA_ARRAY(arena, int64_t, n + 1);
  for (intptr_t i = 0; i < n; ++i)
    values[i] = mlirDenseI64ArrayGetElement(array, i);
  if (outCount)
    *outCount = (int32_t)n;
  return values;
}

static int64_t *shapeOf(ShardArena *arena, MlirType type, int32_t *outRank) {
  intptr_t rank = mlirTypeIsAShaped(type) ? mlirShapedTypeGetRank(type) : 0;
  int64_t *shape = SHARD_ARENA_ARRAY(arena, int64_t, rank + 1);
  for (intptr_t i = 0; i < rank; ++i)
    shape[i] = mlirShapedTypeGetDimSize(type, i);
  *outRank = (int32_t)rank;
  return shape;
}

static ShardProgramDigit *digitsOf(ShardArena *arena, MlirAttribute rows, int32_t *outCount) {
  intptr_t n = mlirAttributeIsNull(rows) ? 0 : mlirArrayAttrGetNumElements(rows);
  ShardProgramDigit *digits = SHARD_ARENA_ARRAY(arena, ShardProgramDigit, n + 1);
  for (intptr_t i = 0; i < n; ++i) {
    const int64_t *row = i64Array(arena, mlirArrayAttrGetElement(rows, i), NULL);
    digits[i] = (ShardProgramDigit){(int32_t)row[0], row[1], row + 2};
  }
  *outCount = (int32_t)n;
  return digits;
}

static void fillDims(ShardArena *arena, MlirAttribute dims, MlirAttribute equal,
                     ShardProgram *out) {
  out->nDims = (int32_t)mlirArrayAttrGetNumElements(dims);
  out->nEqual = (int32_t)mlirArrayAttrGetNumElements(equal);
  ShardProgramDim *table = SHARD_ARENA_ARRAY(arena, ShardProgramDim, out->nDims + 1);
  int64_t *sums = SHARD_ARENA_ARRAY(arena, int64_t, out->nEqual * (1 + out->nDims) + 1);
  for (int32_t i = 0; i < out->nDims; ++i) {
    const int64_t *row = i64Array(arena, mlirArrayAttrGetElement(dims, i), NULL);
    table[i] = (ShardProgramDim){(int32_t)row[0], (int32_t)row[1], row[2], row[3]};
  }
  for (int32_t i = 0; i < out->nEqual; ++i)
    for (int32_t k = 0; k <= out->nDims; ++k)
      sums[i * (1 + out->nDims) + k] =
          mlirDenseI64ArrayGetElement(mlirArrayAttrGetElement(equal, i), k);
  out->dims = table;
  out->equal = sums;
}

static ShardProgramValue *valuesOf(ShardArena *arena, MlirAttribute list, int32_t *outCount) {
  intptr_t n = mlirArrayAttrGetNumElements(list);
  ShardProgramValue *values = SHARD_ARENA_ARRAY(arena, ShardProgramValue, n + 1);
  for (intptr_t i = 0; i < n; ++i) {
    MlirAttribute entry = mlirArrayAttrGetElement(list, i);
    MlirType global = mlirTypeAttrGetValue(field(entry, "global"));
    MlirType element = mlirTypeIsAShaped(global) ? mlirShapedTypeGetElementType(global) : global;
    ShardProgramValue *value = &values[i];
    value->index = integerField(entry, "index");
    value->name = textField(arena, entry, "name");
    value->role = textField(arena, entry, "role");
    value->element = (ShardRtElement)shardElementNumber(element);
    value->globalShape = shapeOf(arena, global, &value->rank);
    value->localShape = shapeOf(arena, mlirTypeAttrGetValue(field(entry, "local")), &value->rank);
    value->sharding.view = i64Array(arena, field(entry, "view"), &value->sharding.nViewDims);
    value->sharding.axisStart = i32Array(arena, field(entry, "axis_start"), NULL);
    value->sharding.axes = i32Array(arena, field(entry, "axes"), NULL);
    value->constant = integerField(entry, "constant");
    value->digits = digitsOf(arena, field(entry, "digits"), &value->nDigits);
    MlirAttribute storage = field(entry, "storage"), window = field(entry, "window");
    value->storage = mlirAttributeIsNull(storage) ? "" : textField(arena, entry, "storage");
    if (!mlirAttributeIsNull(window)) {
      value->windowDim = (int32_t)mlirDenseI64ArrayGetElement(window, 0);
      value->windowBegin = mlirDenseI64ArrayGetElement(window, 1);
      value->windowSize = mlirDenseI64ArrayGetElement(window, 2);
    }
  }
  *outCount = (int32_t)n;
  return values;
}

static ShardProgramMessage *messagesOf(ShardArena *arena, MlirAttribute rows, int32_t *outCount) {
  intptr_t n = mlirArrayAttrGetNumElements(rows);
  ShardProgramMessage *messages = SHARD_ARENA_ARRAY(arena, ShardProgramMessage, n + 1);
  for (intptr_t i = 0; i < n; ++i) {
    MlirAttribute row = mlirArrayAttrGetElement(rows, i);
    messages[i] = (ShardProgramMessage){mlirDenseI64ArrayGetElement(row, 0),
                                        mlirDenseI64ArrayGetElement(row, 1)};
  }
  *outCount = (int32_t)n;
  return messages;
}

static void fillProgram(ShardArena *arena, MlirAttribute table, ShardProgram *out) {
  out->abiVersion = SHARD_PROGRAM_ABI_VERSION;
  MlirAttribute axes = field(table, "axes");
  const char **names =
      SHARD_ARENA_ARRAY(arena, const char *, mlirArrayAttrGetNumElements(axes) + 1);
  for (intptr_t i = 0; i < mlirArrayAttrGetNumElements(axes); ++i) {
    MlirStringRef name = mlirStringAttrGetValue(mlirArrayAttrGetElement(axes, i));
    names[i] = shardArenaCopyString(arena, name.data, name.length);
  }
  out->axisNames = names;
  out->axisSizes = i64Array(arena, field(table, "sizes"), &out->nAxes);
  out->ppAxis = integerField(table, "pp");
  out->arguments = valuesOf(arena, field(table, "arguments"), &out->nArguments);
  out->results = valuesOf(arena, field(table, "results"), &out->nResults);
  fillDims(arena, field(table, "dims"), field(table, "equal"), out);

  MlirAttribute stages = field(table, "stages"), sites = field(table, "sites");
  out->nStages = (int32_t)mlirArrayAttrGetNumElements(stages);
  ShardProgramStage *stageTable = SHARD_ARENA_ARRAY(arena, ShardProgramStage, out->nStages + 1);
  for (int32_t i = 0; i < out->nStages; ++i) {
    MlirAttribute stage = mlirArrayAttrGetElement(stages, i);
    stageTable[i].arguments = i32Array(arena, field(stage, "arguments"), &stageTable[i].nArguments);
    stageTable[i].results = i32Array(arena, field(stage, "results"), &stageTable[i].nResults);
    stageTable[i].groups = i32Array(arena, field(stage, "groups"), &stageTable[i].nGroups);
    stageTable[i].messages = messagesOf(arena, field(stage, "messages"), &stageTable[i].nMessages);
  }
  out->stages = stageTable;
  out->nSites = (int32_t)mlirArrayAttrGetNumElements(sites);
  ShardProgramSite *siteTable = SHARD_ARENA_ARRAY(arena, ShardProgramSite, out->nSites + 1);
  for (int32_t i = 0; i < out->nSites; ++i) {
    MlirAttribute site = mlirArrayAttrGetElement(sites, i);
    siteTable[i] =
        (ShardProgramSite){integerField(site, "site"), textField(arena, site, "kind"),
                           textField(arena, site, "location"), textField(arena, site, "cause")};
  }
  out->sites = siteTable;
}

ShardLayout *shardLayoutCreate(MlirOperation module) {
  ShardArena *arena = shardArenaCreate();
  ShardLayout *layout = SHARD_ARENA_NEW(arena, ShardLayout);
  layout->arena = arena;
  MlirContext context = mlirOperationGetContext(module);
  mlirDialectHandleLoadDialect(mlirGetDialectHandle__llvm__(), context);
  // Values of constants become globals beside the functions: in a copy.
  ShardLowering lowering = {.context = context,
                            .module = mlirOperationClone(module),
                            .arena = arena,
                            .i8 = mlirIntegerTypeGet(context, 8)};
  bool ok = mlirLogicalResultIsSuccess(shardProgramInfoCollect(&lowering));
  if (ok)
    fillProgram(arena, shardOpGetAttribute(lowering.module, "spmd.program"), &layout->program);
  mlirOperationDestroy(lowering.module);
  if (ok)
    return layout;
  shardArenaDestroy(arena);
  return NULL;
}

void shardLayoutDestroy(ShardLayout *layout) {
  if (layout)
    shardArenaDestroy(layout->arena);
}

const ShardProgram *shardLayoutGetProgram(const ShardLayout *layout) { return &layout->program; }
