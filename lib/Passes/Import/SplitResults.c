//===- SplitResults.c - Reductions of several kinds in one op -----*- C -*-===//
// A linalg.generic that sums one result and takes the maximum of another becomes an op a result:
// each is then split with its own combiner. Results that one combiner serves stay together, and so
// do those that depend on each other (a maximum and its place).
//===----------------------------------------------------------------------===//
#include "ImportParts.h"

#include "../Analysis/Rules.h"

typedef struct Generics {
  ShardArena *arena;
  MlirOperation *ops;
  size_t n, capacity;
} Generics;

static MlirLogicalResult collect(void *user, MlirOperation op) {
  Generics *list = user;
  intptr_t n = mlirOperationGetNumResults(op);
  ShardCombiner first = n > 1 ? shardBodyGetCombiner(op, 0) : SHARD_COMBINER_NONE;
  bool differ = false, known = first != SHARD_COMBINER_NONE;
  for (intptr_t r = 1; known && r < n; ++r) {
    ShardCombiner combiner = shardBodyGetCombiner(op, r);
    known = combiner != SHARD_COMBINER_NONE;
    differ |= combiner != first;
  }
  if (!known || !differ)
    return mlirLogicalResultSuccess();
  list->ops =
      shardArenaGrow(list->arena, list->ops, list->n, &list->capacity, list->n + 1, sizeof(op));
  list->ops[list->n++] = op;
  return mlirLogicalResultSuccess();
}

void shardImportSplitResults(const ShardImport *import) {
  Generics list = {.arena = import->arena};
  for (intptr_t i = 0; i < import->nFunctions; ++i)
    shardWalk(import->functions[i], "linalg.generic", collect, &list);
  for (size_t i = 0; i < list.n; ++i) {
    MlirOperation op = list.ops[i];
    for (intptr_t r = 1; r < mlirOperationGetNumResults(op); ++r) {
      MlirOperation copy = mlirOperationClone(op);
      mlirBlockInsertOwnedOperationBefore(mlirOperationGetBlock(op), op, copy);
      mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, r),
                                    mlirOperationGetResult(copy, r));
    }
  }
}
