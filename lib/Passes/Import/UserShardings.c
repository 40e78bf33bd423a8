//===- UserShardings.c - shard.shard as an annotation -------------*- C -*-===//
// `shard.shard %x to %s` says how %x lies. It becomes `spmd.sharding` on the argument or the op
// that %x comes from, with the axes by name, and the op goes. Two that disagree on a value are an
// error.
//===----------------------------------------------------------------------===//
#include "../Analysis/Mesh.h"
#include "../Core/Text.h"
#include "ImportParts.h"

#include "mlir-c/BuiltinTypes.h"

#include <string.h>

/// The names of the grid's axes; null, with an error, if it has none.
static MlirAttribute axisNames(const ShardImport *import, MlirOperation sharding) {
  MlirAttribute none = {NULL};
  MlirStringRef symbol = mlirFlatSymbolRefAttrGetValue(shardOpGetAttribute(sharding, "grid"));
  MlirOperation grid = shardModuleLookup(import->module, symbol);
  MlirAttribute axes = shardOpGetAttribute(grid, "spmd.axes");
  MlirAttribute shape = shardOpGetAttribute(grid, "shape");
  if (!mlirAttributeIsNull(axes) && mlirAttributeIsAArray(axes) &&
      mlirArrayAttrGetNumElements(axes) == mlirDenseArrayGetNumElements(shape)) {
    bool strings = true;
    for (intptr_t i = 0, n = mlirArrayAttrGetNumElements(axes); i < n; ++i)
      strings &= mlirAttributeIsAString(mlirArrayAttrGetElement(axes, i));
    if (strings)
      return axes;
  }
  shardEmitGridUnnamed(grid, symbol, mlirDenseArrayGetNumElements(shape));
  return none;
}

/// The entry of FORMATS, [["tp"],[]], for a value of the rank; null after an error.
static MlirAttribute readSharding(const ShardImport *import, MlirOperation sharding,
                                  intptr_t rank) {
  MlirAttribute none = {NULL};
  MlirAttribute names = axisNames(import, sharding);
  if (mlirAttributeIsNull(names))
    return none;
  static const char *const unsupported[] = {"static_sharded_dims_offsets", "static_halo_sizes"};
  for (int i = 0; i < 2; ++i) {
    MlirAttribute list = shardOpGetAttribute(sharding, unsupported[i]);
    if (!mlirAttributeIsNull(list) && mlirDenseArrayGetNumElements(list) > 0) {
      shardEmitError(sharding, "'shard.sharding' with %s is not supported",
                     i == 0 ? "sharded_dims_offsets" : "halo_sizes");
      return none;
    }
  }
  // There is no accessor for the attribute; it prints as #shard<axisarray[[0, 1], []]>.
  const char *text = shardAttributeText(shardOpGetAttribute(sharding, "split_axes"), import->arena);
  MlirAttribute *dims = SHARD_ARENA_ARRAY(import->arena, MlirAttribute, rank + 1);
  MlirAttribute axes[64];
  intptr_t nDims = 0, nAxes = 0, depth = 0;
  for (const char *at = strchr(text, '['); at && *at; ++at) {
    if (*at == '[') {
      ++depth;
      nAxes = 0;
    } else if (*at >= '0' && *at <= '9' && nAxes < 64) {
      intptr_t axis = 0;
      for (; *at >= '0' && *at <= '9'; ++at)
        axis = axis * 10 + (*at - '0');
      --at;
      axes[nAxes++] = mlirArrayAttrGetElement(names, axis); // the verifier checked the range
    } else if (*at == ']' && depth-- == 2 && nDims < rank) {
      dims[nDims++] = mlirArrayAttrGet(import->context, nAxes, axes);
    }
  }
  while (nDims < rank)
    dims[nDims++] = mlirArrayAttrGet(import->context, 0, NULL);
  return mlirArrayAttrGet(import->context, rank, dims);
}

typedef struct Reader {
  const ShardImport *import;
  ShardPointerMap *seenAt; // value -> index of its first shard.shard
  MlirOperation *ops;
  intptr_t n;
} Reader;

static MlirLogicalResult conflict(const Reader *reader, MlirOperation op, MlirValue value,
                                  MlirAttribute mine, MlirAttribute other) {
  ShardArena *arena = reader->import->arena;
  const char *text =
      shardArenaFormat(arena, "sharding %s conflicts with %s of the same value",
                       shardAttributeText(mine, arena), shardAttributeText(other, arena));
  int64_t first;
  if (shardPointerMapGet(reader->seenAt, value.ptr, &first))
    return shardEmitErrorWithNote(mlirOperationGetLocation(op), text,
                                  mlirOperationGetLocation(reader->ops[first]),
                                  "the other annotation is here");
  return shardEmitErrorAt(mlirOperationGetLocation(op), "%s", text);
}

static MlirLogicalResult readShard(Reader *reader, intptr_t index) {
  const ShardImport *import = reader->import;
  MlirOperation op = reader->ops[index];
  MlirValue value = mlirOperationGetOperand(op, 0);
  MlirOperation sharding = shardValueDefiningOp(mlirOperationGetOperand(op, 1));
  if (mlirOperationIsNull(sharding) || !shardOpIs(sharding, "shard.sharding"))
    return shardEmitError(op, "expected a sharding defined by 'shard.sharding'");
  // Through annotations of the same value, down to where it comes from.
  for (MlirOperation below = shardValueDefiningOp(value);
       !mlirOperationIsNull(below) && shardOpIs(below, "shard.shard");
       below = shardValueDefiningOp(value))
    value = mlirOperationGetOperand(below, 0);
  MlirAttribute entry =
      readSharding(import, sharding, mlirShapedTypeGetRank(mlirValueGetType(value)));
  if (mlirAttributeIsNull(entry))
    return mlirLogicalResultFailure();
  if (mlirValueIsABlockArgument(value)) {
    MlirOperation func = mlirBlockGetParentOperation(mlirBlockArgumentGetOwner(value));
    if (!shardOpIs(func, "func.func"))
      return shardEmitError(op, "an argument of '%.*s' cannot be annotated",
                            (int)shardOpGetName(func).length, shardOpGetName(func).data);
    intptr_t number = mlirBlockArgumentGetArgNumber(value);
    MlirAttribute old = shardFuncGetArgumentAttribute(func, number, "spmd.sharding");
    if (!mlirAttributeIsNull(old) && !mlirAttributeEqual(old, entry))
      return conflict(reader, op, value, entry, old);
    shardFuncSetArgumentAttribute(func, number, "spmd.sharding", entry);
  } else {
    MlirOperation definition = mlirOpResultGetOwner(value);
    intptr_t n = mlirOperationGetNumResults(definition);
    intptr_t number = mlirOpResultGetResultNumber(value);
    MlirAttribute list = shardOpGetAttribute(definition, "spmd.sharding");
    MlirAttribute *entries = SHARD_ARENA_ARRAY(import->arena, MlirAttribute, n);
    bool known = !mlirAttributeIsNull(list) && mlirAttributeIsAArray(list) &&
                 mlirArrayAttrGetNumElements(list) == n;
    for (intptr_t i = 0; i < n; ++i)
      entries[i] = known ? mlirArrayAttrGetElement(list, i) : shardAttrUnit(import->context);
    if (mlirAttributeIsAArray(entries[number]) && !mlirAttributeEqual(entries[number], entry))
      return conflict(reader, op, value, entry, entries[number]);
    entries[number] = entry;
    shardOpSetAttribute(definition, "spmd.sharding", mlirArrayAttrGet(import->context, n, entries));
  }
  int64_t first;
  if (!shardPointerMapGet(reader->seenAt, value.ptr, &first))
    shardPointerMapSet(reader->seenAt, value.ptr, index);
  return mlirLogicalResultSuccess();
}

MlirLogicalResult shardImportUserShardings(const ShardImport *import) {
  ShardMesh mesh;
  if (shardMeshReadChecked(import->module, import->arena, &mesh) == SHARD_GRID_REFUSED)
    return mlirLogicalResultFailure();
  ShardOpList shards = {.arena = import->arena}, shardings = shards;
  for (intptr_t i = 0; i < import->nFunctions; ++i) {
    shardOpListCollect(&shards, import->functions[i], "shard.shard", NULL);
    shardOpListCollect(&shardings, import->functions[i], "shard.sharding", NULL);
  }
  Reader reader = {import, shardPointerMapCreate(import->arena, shards.nOps), shards.ops,
                   (intptr_t)shards.nOps};
  for (intptr_t i = 0; i < reader.n; ++i)
    if (mlirLogicalResultIsFailure(readShard(&reader, i)))
      return mlirLogicalResultFailure();
  for (intptr_t i = 0; i < reader.n; ++i)
    mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(reader.ops[i], 0),
                                  mlirOperationGetOperand(reader.ops[i], 0));
  for (intptr_t i = 0; i < reader.n; ++i)
    mlirOperationDestroy(reader.ops[i]);
  for (size_t i = 0; i < shardings.nOps; ++i)
    if (shardValueIsUnused(mlirOperationGetResult(shardings.ops[i], 0)))
      mlirOperationDestroy(shardings.ops[i]);
  return mlirLogicalResultSuccess();
}
