//===- Upstream.c - shard.shard beside spmd.sharding at L2 --------*- C -*-===//

#include "Upstream.h"

#include "../Core/Diagnostics.h"
#include "../Core/IR.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <string.h>

struct ShardUpstream {
  const ShardMesh *mesh;
  MlirContext context;
  ShardArena *arena;
  MlirType shardingType;
  MlirAttribute grid;
  // Of the last split_axes, since neighbours are mostly split alike: the axes of each dimension,
  // with an END behind them.
  uint8_t *key, *lastKey;
  size_t nKey, nLastKey, keyCapacity;
  MlirAttribute axes;
};
enum { END = 255 };

ShardUpstream *shardUpstreamCreate(const ShardMesh *mesh, MlirContext context, ShardArena *arena) {
  ShardUpstream *upstream = SHARD_ARENA_NEW(arena, ShardUpstream);
  *upstream = (ShardUpstream){
      .mesh = mesh,
      .context = context,
      .arena = arena,
      .shardingType = mlirTypeParseGet(context, mlirStringRefCreateFromCString("!shard.sharding")),
      .grid = mlirFlatSymbolRefAttrGet(context, mlirStringRefCreateFromCString("mesh"))};
  return upstream;
}

static void addToKey(ShardUpstream *upstream, uint8_t byte) {
  upstream->key = shardArenaGrow(upstream->arena, upstream->key, upstream->nKey,
                                 &upstream->keyCapacity, upstream->nKey + 1, 1);
  upstream->key[upstream->nKey++] = byte;
}

/// The attribute that the key says: #shard<axisarray[[0], []]>.
static MlirAttribute parseAxes(ShardUpstream *upstream) {
  size_t n = upstream->nKey;
  if (upstream->axes.ptr && n == upstream->nLastKey &&
      memcmp(upstream->key, upstream->lastKey, n) == 0)
    return upstream->axes;
  ShardArena *arena = upstream->arena;
  const char *text = "#shard<axisarray[";
  bool begins = true; // a dimension
  for (size_t i = 0; i < n; ++i) {
    if (begins)
      text = shardArenaFormat(arena, "%s%s[", text, i ? ", " : "");
    begins = upstream->key[i] == END;
    if (begins)
      text = shardArenaFormat(arena, "%s]", text);
    else
      text = shardArenaFormat(arena, "%s%s%d", text, i && upstream->key[i - 1] != END ? ", " : "",
                              upstream->key[i]);
  }
  text = shardArenaFormat(arena, "%s]>", text);
  upstream->lastKey = shardArenaAllocate(arena, n);
  memcpy(upstream->lastKey, upstream->key, n);
  upstream->nLastKey = n;
  upstream->axes = mlirAttributeParseGet(upstream->context, mlirStringRefCreateFromCString(text));
  return upstream->axes;
}

/// #shard<axisarray[[0], []]> of a sharding; null where upstream has no word for it.
static MlirAttribute splitAxes(ShardUpstream *upstream, MlirType type, int32_t nAtoms,
                               const ShardAtom *atoms, const ShardSharding *sharding) {
  if (shardShardingIsReplicated(sharding))
    return (MlirAttribute){NULL};
  if (shardShardingIsUneven(upstream->mesh, nAtoms, atoms, sharding))
    return (MlirAttribute){NULL};
  int64_t rank = mlirShapedTypeGetRank(type);
  upstream->nKey = 0;
  bool any = false;
  for (int axis = 0; axis < SHARD_MAX_AXES; ++axis)
    if (sharding->partial[axis])
      return (MlirAttribute){NULL};
  for (int64_t d = 0; d < rank; ++d) {
    int32_t first = -1;
    for (int32_t a = 0; a < nAtoms; ++a) {
      if (atoms[a].dim != d)
        continue;
      if (first < 0)
        first = a;
      else if (sharding->atoms[a].count || sharding->atoms[a].span)
        return (MlirAttribute){NULL}; // inside the dimension: a view
    }
    for (int32_t k = 0; first >= 0 && k < sharding->atoms[first].count; ++k, any = true)
      addToKey(upstream, sharding->atoms[first].axis[k]);
    addToKey(upstream, END);
  }
  if (!any)
    return (MlirAttribute){NULL};
  return parseAxes(upstream);
}

void shardUpstreamAnnotate(ShardUpstream *upstream, MlirValue value, int32_t nAtoms,
                           const ShardAtom *atoms, const ShardSharding *sharding) {
  MlirType type = mlirValueGetType(value);
  MlirAttribute axes = splitAxes(upstream, type, nAtoms, atoms, sharding);
  if (!axes.ptr)
    return;
  bool argument = mlirValueIsABlockArgument(value);
  MlirOperation definition = argument ? (MlirOperation){NULL} : mlirOpResultGetOwner(value);
  MlirBlock block = argument ? mlirBlockArgumentGetOwner(value) : mlirOperationGetBlock(definition);
  MlirOperation before =
      argument ? mlirBlockGetFirstOperation(block) : mlirOperationGetNextInBlock(definition);
  MlirLocation location = argument ? mlirOperationGetLocation(mlirBlockGetParentOperation(block))
                                   : mlirOperationGetLocation(definition);
  ShardNamedAttribute attributes[] = {{"grid", upstream->grid}, {"split_axes", axes}};
  MlirOperation described = shardOpCreate(block, before, location, "shard.sharding", 1,
                                          &upstream->shardingType, 0, NULL, 2, attributes, 0, NULL);
  MlirValue operands[2] = {value, mlirOperationGetResult(described, 0)};
  MlirOperation shard = shardOpCreate(block, before, location, "shard.shard", 1, &type, 2, operands,
                                      0, NULL, 0, NULL);
  mlirValueReplaceAllUsesExcept(value, mlirOperationGetResult(shard, 0), 1, &shard);
}

/// The entry of spmd.sharding for the value, null if it has none.
static MlirAttribute ownSharding(MlirValue value) {
  if (mlirValueIsABlockArgument(value)) {
    MlirOperation func = mlirBlockGetParentOperation(mlirBlockArgumentGetOwner(value));
    return shardFuncGetArgumentAttribute(func, mlirBlockArgumentGetArgNumber(value),
                                         "spmd.sharding");
  }
  MlirAttribute list = shardOpGetAttribute(mlirOpResultGetOwner(value), "spmd.sharding");
  intptr_t number = mlirOpResultGetResultNumber(value);
  if (!list.ptr || !mlirAttributeIsAArray(list) || number >= mlirArrayAttrGetNumElements(list))
    return (MlirAttribute){NULL};
  return mlirArrayAttrGetElement(list, number);
}

/// Whether split_axes says what an entry of spmd.sharding says, dimension by dimension.
static bool agrees(ShardUpstream *upstream, MlirAttribute entry, MlirAttribute axes) {
  const ShardMesh *mesh = upstream->mesh;
  if (!entry.ptr || !mlirAttributeIsAArray(entry))
    return true;
  upstream->nKey = 0;
  for (intptr_t d = 0; d < mlirArrayAttrGetNumElements(entry); ++d) {
    MlirAttribute names = mlirArrayAttrGetElement(entry, d);
    for (intptr_t k = 0; mlirAttributeIsAArray(names) && k < mlirArrayAttrGetNumElements(names);
         ++k) {
      MlirAttribute name = mlirArrayAttrGetElement(names, k);
      for (int32_t axis = 0; mlirAttributeIsAString(name) && axis < mesh->nAxes; ++axis) {
        MlirStringRef wanted = mlirStringAttrGetValue(name);
        // "tp" stands for its sub-axes "tp.0", "tp.1" in order.
        bool same = shardStringIs(wanted, mesh->names[axis]) ||
                    (strncmp(mesh->names[axis], wanted.data, wanted.length) == 0 &&
                     mesh->names[axis][wanted.length] == '.');
        if (same)
          addToKey(upstream, (uint8_t)axis);
      }
    }
    addToKey(upstream, END);
  }
  return mlirAttributeEqual(parseAxes(upstream), axes);
}

static bool isAnnotation(MlirOperation op) {
  return shardOpIs(op, "shard.shard") || shardOpIs(op, "shard.sharding");
}

MlirLogicalResult shardUpstreamErase(MlirOperation module, ShardArena *arena) {
  ShardOpList annotations = {.arena = arena};
  shardOpListCollect(&annotations, module, NULL, isAnnotation);
  size_t nShards = 0;
  for (size_t i = 0; i < annotations.nOps; ++i)
    nShards += shardOpIs(annotations.ops[i], "shard.shard");
  if (nShards == 0)
    return mlirLogicalResultSuccess();
  ShardMesh mesh;
  bool hasMesh = shardMeshRead(module, arena, &mesh);
  ShardUpstream *upstream = shardUpstreamCreate(&mesh, mlirOperationGetContext(module), arena);
  for (size_t i = 0; i < annotations.nOps; ++i) {
    MlirOperation op = annotations.ops[i];
    if (!shardOpIs(op, "shard.shard"))
      continue;
    MlirValue value = mlirOperationGetOperand(op, 0), sharding = mlirOperationGetOperand(op, 1);
    MlirAttribute axes = mlirValueIsAOpResult(sharding)
                             ? shardOpGetAttribute(mlirOpResultGetOwner(sharding), "split_axes")
                             : (MlirAttribute){NULL};
    if (hasMesh && axes.ptr && !agrees(upstream, ownSharding(value), axes))
      return shardEmitError(op, "'shard.shard' and 'spmd.sharding' disagree about this value");
    mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, 0), value);
    mlirOperationDestroy(op);
    annotations.ops[i] = (MlirOperation){NULL};
  }
  for (size_t i = 0; i < annotations.nOps; ++i) {
    MlirOperation op = annotations.ops[i]; // shard.sharding
    if (op.ptr && mlirOpOperandIsNull(mlirValueGetFirstUse(mlirOperationGetResult(op, 0))))
      mlirOperationDestroy(op);
  }
  return mlirLogicalResultSuccess();
}
