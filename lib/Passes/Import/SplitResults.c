//===- SplitResults.c - Reductions of several kinds in one op -----*- C -*-===//
// A linalg.generic that sums one result and takes the maximum of another becomes an op a result:
// each is then split with its own combiner. Results that one combiner serves stay together, and so
// do those that depend on each other (a maximum and its place).
//===----------------------------------------------------------------------===//
#include "ImportParts.h"

#include "../Analysis/Rules.h"

/// Whether the op reduces by several combiners, all of them known.
static bool combinesDifferently(MlirOperation op) {
  intptr_t n = mlirOperationGetNumResults(op);
  ShardCombiner first = n > 1 ? shardBodyGetCombiner(op, 0) : SHARD_COMBINER_NONE;
  bool differ = false, known = first != SHARD_COMBINER_NONE;
  for (intptr_t r = 1; known && r < n; ++r) {
    ShardCombiner combiner = shardBodyGetCombiner(op, r);
    known = combiner != SHARD_COMBINER_NONE;
    differ |= combiner != first;
  }
  return known && differ;
}

void shardImportSplitResults(const ShardImport *import) {
  ShardOpList list = {.arena = import->arena};
  for (intptr_t i = 0; i < import->nFunctions; ++i)
    shardOpListCollect(&list, import->functions[i], "linalg.generic", combinesDifferently);
  for (size_t i = 0; i < list.nOps; ++i) {
    MlirOperation op = list.ops[i];
    for (intptr_t r = 1; r < mlirOperationGetNumResults(op); ++r) {
      MlirOperation copy = mlirOperationClone(op);
      mlirBlockInsertOwnedOperationBefore(mlirOperationGetBlock(op), op, copy);
      mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, r), mlirOperationGetResult(copy, r));
    }
  }
}
