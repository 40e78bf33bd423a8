//===- LocalForms.h - The op table's column of local forms --------*- C -*-===//
// Declared for the table (OpTable.c), defined beside what they need (Shard/Localise*.c).
//===----------------------------------------------------------------------===//
#ifndef SHARD_ANALYSIS_LOCALFORMS_H
#define SHARD_ANALYSIS_LOCALFORMS_H

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

/// An op on its way to its local form: Shard/Localiser.h.
typedef struct ShardLocaliser ShardLocaliser;
/// Completes `l->copy`, a clone of `op` whose operands and result types are local already. Fails
/// after one diagnostic.
typedef MlirLogicalResult (*ShardLocalise)(ShardLocaliser *l, MlirOperation op);

MlirLogicalResult shardLocaliseLinalg(ShardLocaliser *l, MlirOperation op);
MlirLogicalResult shardLocaliseElementwise(ShardLocaliser *l, MlirOperation op);
MlirLogicalResult shardLocaliseConstant(ShardLocaliser *l, MlirOperation op);
MlirLogicalResult shardLocaliseExpand(ShardLocaliser *l, MlirOperation op);
MlirLogicalResult shardLocaliseExtractSlice(ShardLocaliser *l, MlirOperation op);
MlirLogicalResult shardLocaliseInsertSlice(ShardLocaliser *l, MlirOperation op);
MlirLogicalResult shardLocalisePad(ShardLocaliser *l, MlirOperation op);
MlirLogicalResult shardLocaliseOwn(ShardLocaliser *l, MlirOperation op);
MlirLogicalResult shardLocaliseLoop(ShardLocaliser *l, MlirOperation op);

#endif // SHARD_ANALYSIS_LOCALFORMS_H
