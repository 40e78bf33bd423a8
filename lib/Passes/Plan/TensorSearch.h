//===- TensorSearch.h - What the search for a tensor plan shares --*- C -*-===//
// Private to Tensor.c, TensorTrial.c and TensorClasses.c.
//===----------------------------------------------------------------------===//
#ifndef SHARD_PLAN_TENSORSEARCH_H
#define SHARD_PLAN_TENSORSEARCH_H

#include "Model.h"
#include "Solve.h"

typedef struct ShardTensorSearch {
  const ShardModel *model;
  ShardArena *arena;
  int64_t degree;
  ShardTensorPlan *plan;
  int64_t **used;
  const ShardState *const *pinned;
  bool unsettled;     // a folded call came out other than the one before it
  uint8_t *keptWhole; // [entry arguments] annotated by the user, and not with the tensor axis
  bool embedded;      // a vocabulary that was taken brought a sum of the hidden state
  bool statistics;    // other combinations than sums are legal: a vocabulary's largest logit
} ShardTensorSearch;

typedef struct ShardTensorTrial {
  int64_t entrySums;  // bytes of hidden states that are summed outside layers
  int64_t splitBytes; // of weights, that a rank need not hold: what the plan is for
  int64_t flops;      // of the contractions of the most loaded rank
  int64_t sentBytes;  // by one rank, results made whole included
  int32_t repeating;  // products of activations split over a part of the axis only
  uint8_t *gathered;  // [entry arguments] weights that would have to be gathered
} ShardTensorTrial;

static inline int64_t shardCeilDivide(int64_t a, int64_t b) { return a / b + (a % b != 0); }

//===----------------------------------------------------------------------===//
// TensorTrial.c
//===----------------------------------------------------------------------===//

/// The atom of an argument (of the plan's model) that the plan splits over a sub-axis; -1 if none.
int32_t shardTensorPlanAtom(const ShardTensorPlan *plan, int32_t argument, int32_t subAxis);
/// Solves each sub-axis of a plan and adds up. False if it is no legal plan.
bool shardTensorEvaluate(ShardTensorSearch *s, const ShardTensorPlan *plan, ShardTensorTrial *out);
/// Evaluates a trial that adds class `klass`. A weight that would have to be gathered for it (a
/// fused one whose pieces are cut otherwise) is left whole, if the others then come out right.
bool shardTensorTry(ShardTensorSearch *s, ShardTensorPlan *trial, int32_t klass,
                    ShardTensorTrial *out);

//===----------------------------------------------------------------------===//
// TensorClasses.c
//===----------------------------------------------------------------------===//

bool shardPortHasFactor(const ShardRules *rules, const ShardPort *port, int32_t factor);
/// Is an operand of a product a weight that brings a dimension of its own (columns) to the result?
/// A bias that fusion moved into a product of activations is none.
bool shardBringsColumns(const ShardModel *model, const ShardOpRule *rule, int32_t operand);
/// Is the class an index into a table (vocabulary), or kept with the sequence in a result?
bool shardClassIsVocabulary(const ShardModel *model, int32_t klass);
/// Is it a dimension of a result?
bool shardClassIsReturned(const ShardModel *model, int32_t klass);

#endif // SHARD_PLAN_TENSORSEARCH_H
