//===- Localiser.h - An op on its way to its local form -----------*- C -*-===//
// Shared by the files behind the op table's column `localise`.
//===----------------------------------------------------------------------===//
#ifndef SHARD_SHARD_LOCALISER_H
#define SHARD_SHARD_LOCALISER_H

#include "Spmd.h"

/// A tensor.extract of the body that reads a tensor of the function.
typedef struct ShardCapture {
  const ShardPort *port;
  int32_t portIndex;
  MlirOperation extract;
} ShardCapture;

struct ShardLocaliser {
  ShardBuild *build;
  MlirOperation source;    // of L2
  MlirOperation copy;      // becomes the local form; in no block yet
  const ShardOpPlan *plan; // null for ops without tensors
  bool failed;
  ShardCapture *captures;
  size_t nCaptures, capacityCaptures;
};

/// Number of the port of operand `operand` of the op, or, when `nested`, of what op `user` of the
/// body captures; -1 if there is none.
int32_t shardLocaliserFindPort(const ShardOpPlan *plan, MlirOperation user, intptr_t operand,
                               bool nested);

/// Rewrites the window of `l->copy`, a slice, to elements of its local container; fails after one
/// diagnostic where the window cuts what is split.
MlirLogicalResult shardLocaliseWindow(ShardLocaliser *l, intptr_t containerOperand);

/// LocaliseWindow.c: the window of dimension `d` of the result if the plan splits it, or null;
/// whether there is one; the local result of such a slice, pad or concat, whose `l->copy` does what
/// the op does along its other dimensions. Takes l->copy.
const ShardFactor *shardLocaliserFindWindow(const ShardLocaliser *l, intptr_t d,
                                            ShardAxisList *outAxes);
bool shardLocaliserHasWindow(const ShardLocaliser *l);
MlirValue shardLocaliseWindows(ShardLocaliser *l);

/// LocaliseSequence.c: whether the op runs in order along a dimension that the plan splits; its
/// local form then, which takes l->copy, whose body is local, and ends the block. Writes `values`,
/// one for each result of the op.
bool shardLocaliserHasSequence(const ShardLocaliser *l);
void shardLocaliseSequence(ShardLocaliser *l, MlirValue *values);

/// LocaliseRoll.c: operands that l->copy reads in turned order along a split dimension are turned
/// among the ranks, and read as they lie.
void shardLocaliseRolls(ShardLocaliser *l);

#endif // SHARD_SHARD_LOCALISER_H
