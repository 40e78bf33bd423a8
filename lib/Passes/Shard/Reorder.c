//===- Reorder.c - Steps of a dimension in another order ----------*- C -*-===//
// Each rank has its own order, a row of a constant table; steps that stay together are moved as
// blocks, so that the table has one entry a block.
//===----------------------------------------------------------------------===//

#include "../Core/Insert.h"

#include "Moves.h"

#include "../Core/Numbers.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <string.h>

// The largest blocks, at multiples of their size, that all rows keep together; `extent` where no
// row changes anything.
static int64_t blockOf(int64_t rows, int64_t extent, const int64_t *order) {
  int64_t block = extent;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < extent; ++i) {
      int64_t step = order[r * extent + i];
      if (i == 0 ? step != 0 : step != order[r * extent + i - 1] + 1)
        block = shardGreatestDivisor(block, shardGreatestDivisor(i, step));
    }
  return block;
}

// An i64 constant [rows, blocks]: the block that each place takes.
static MlirValue createTable(const ShardInsert *at, ShardArena *arena, int64_t rows, int64_t extent,
                             int64_t block, const int64_t *order) {
  int64_t shape[] = {rows, extent / block}, n = rows * shape[1];
  int64_t *numbers = SHARD_ARENA_ARRAY(arena, int64_t, n);
  for (int64_t i = 0; i < n; ++i)
    numbers[i] = order[i * block] / block;
  MlirType type = mlirRankedTensorTypeGet(2, shape, mlirIntegerTypeGet(at->context, 64),
                                          mlirAttributeGetNull());
  return shardInsertScalar(at, mlirDenseElementsAttrInt64Get(type, n, numbers));
}

typedef struct Order {
  ShardArena *arena;
  MlirValue source, table, row;
  intptr_t dim;
} Order;

static void buildStep(void *user, const ShardInsert *at, const MlirValue *arguments,
                      MlirValue *yielded) {
  (void)arguments;
  const Order *order = user;
  MlirType type = mlirValueGetType(order->source);
  intptr_t rank = mlirShapedTypeGetRank(type);
  MlirValue *operands = SHARD_ARENA_ARRAY(order->arena, MlirValue, rank + 1);
  operands[0] = order->source;
  for (intptr_t d = 0; d < rank; ++d)
    operands[d + 1] = shardInsertLoopIndex(at, d);
  MlirValue entry[] = {order->table, order->row, operands[order->dim + 1]};
  MlirValue step =
      shardInsertOp(at, "tensor.extract", mlirIntegerTypeGet(at->context, 64), 3, entry, 0, NULL);
  operands[order->dim + 1] = shardInsertIntegerCast(at, step, mlirIndexTypeGet(at->context));
  yielded[0] = shardInsertOp(at, "tensor.extract", mlirShapedTypeGetElementType(type), rank + 1,
                             operands, 0, NULL);
}

// A dimension of blocks and one of their steps in place of dimension `dim`.
static MlirAttribute splitGroups(ShardArena *arena, MlirContext context, intptr_t rank,
                                 intptr_t dim) {
  MlirAttribute *groups = SHARD_ARENA_ARRAY(arena, MlirAttribute, rank);
  for (intptr_t d = 0; d < rank; ++d) {
    MlirAttribute dims[] = {shardAttrI64(context, d + (d > dim)), shardAttrI64(context, d + 1)};
    groups[d] = mlirArrayAttrGet(context, d == dim ? 2 : 1, dims);
  }
  return mlirArrayAttrGet(context, rank, groups);
}

MlirValue shardBuildReorder(ShardBuild *build, ShardPlace place, MlirValue source, intptr_t dim,
                            ShardAxisList axes, const int64_t *order) {
  ShardArena *arena = build->spmd->arena;
  MlirContext context = build->spmd->context;
  MlirType whole = mlirValueGetType(source), type = whole;
  intptr_t rank = mlirShapedTypeGetRank(type);
  int64_t rows = shardAxisListSize(&build->spmd->mesh, axes);
  int64_t extent = mlirShapedTypeGetDimSize(type, dim), block = blockOf(rows, extent, order);
  if (block == extent)
    return source;
  MlirAttribute groups = mlirAttributeGetNull();
  if (block > 1) {
    int64_t *shape = SHARD_ARENA_ARRAY(arena, int64_t, rank + 1);
    for (intptr_t d = 0; d < rank; ++d)
      shape[d + (d > dim)] = mlirShapedTypeGetDimSize(type, d);
    shape[dim] = extent / block;
    shape[dim + 1] = block;
    groups = splitGroups(arena, context, rank, dim);
    type = shardTensorWithShape(type, ++rank, shape);
    source = shardBuildExpand(place, source, groups, type);
  }
  ShardInsert at = {context, place.location, place.block, place.before};
  Order body = {.arena = arena,
                .source = source,
                .table = createTable(&at, arena, rows, extent, block, order),
                .row = axes.count ? shardBuildCoordinate(build, place, axes)
                                  : shardBuildIndex(build, place, 0),
                .dim = dim};
  MlirValue empty = shardBuildEmpty(place, type);
  MlirAffineMap map = mlirAffineMapMultiDimIdentityGet(context, rank);
  char *iterators = SHARD_ARENA_ARRAY(arena, char, rank + 1);
  memset(iterators, 'p', (size_t)rank);
  MlirValue moved = mlirOperationGetResult(
      shardInsertGeneric(&at, iterators, 0, 1, &empty, &map, buildStep, &body), 0);
  return block > 1 ? shardBuildCollapse(place, moved, groups, whole) : moved;
}
