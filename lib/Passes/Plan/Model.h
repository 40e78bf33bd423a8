//===- Model.h - What the planner knows of a module ---------------*- C -*-===//
// Batch, sequence and hidden classes; layers; weights: found from the graph by the dimension rules.
//===----------------------------------------------------------------------===//
#ifndef SHARD_PLAN_MODEL_H
#define SHARD_PLAN_MODEL_H

#include "../Analysis/FindStates.h"

#include "Fold.h"

enum { SHARD_MAX_HIDDEN = 8 };
typedef struct ShardModel {
  MlirOperation module;
  ShardArena *arena;
  const ShardRules *rules;
  int32_t entry;                // function
  int32_t nArguments, nResults; // of the entry
  const char **roles;           // [nArguments] weight, input, target, state
  const char **names;           // [nArguments] "" if none
  ShardStateTie *ties;          // [nArguments] results that arguments are tied to
  uint8_t *weight;              // [values] derived from weights and constants only
  int32_t batchClass;           // -1 if none
  uint8_t *sequence;            // [classes]
  int32_t innerSequence;        // where no input has one: the class that scores are made of, or -1
  uint8_t *hidden;  // [classes] of the state that layers hand on, batch and sequence aside
  uint8_t *feature; // [classes] of inputs that weights multiply; only where no such state is known
  int32_t nHidden;
  int32_t hiddenValues[SHARD_MAX_HIDDEN]; // values of those states, none within another (Hidden.c)
  int64_t *weightBytes; // [classes] of weights with an atom of the class, all calls together
  int32_t nParts;       // of the tensor axis, as a grid in the model cuts it; 0: as the plan likes
  int64_t parts[SHARD_MAX_AXES];
  const ShardFold *fold; // of the rules, or null
  const struct ShardModel
      *folded; // the model on the folded rules (arguments too are those), or null
} ShardModel;

/// Makes every cheap op (empty, fill, splat, iota) private to each of its users, so that each copy
/// can take its user's sharding. Changes the IR; run before shardRulesCreate.
void shardUnshareCheapOps(MlirOperation module, ShardArena *arena);

/// Makes a weight of which every use cuts a piece, pieces of unequal sizes, one argument a piece
/// (Pieces.c). Changes the IR; run before shardRulesCreate. Fails, with one diagnostic, where an
/// annotation says other pieces.
MlirLogicalResult shardSplitFusedWeights(MlirOperation module, MlirOperation entry,
                                         ShardArena *arena);

/// Finds the states that layers hand on: what calls hand to calls, and looked-up rows that are
/// multiplied by weights. Sets nHidden, hiddenValues, hidden and feature.
void shardModelFindHidden(ShardModel *model);
/// Does a value lie within such a state, dimension by dimension? Any does where none is known.
bool shardModelWithinHidden(const ShardModel *model, const ShardValueInfo *value);
/// Has it all dimensions of one?
bool shardModelHiddenSized(const ShardModel *model, const ShardValueInfo *value);
/// Does an op look rows of a weight up, by indices that are data?
bool shardModelLooksUpWeight(const ShardModel *model, const ShardOpRule *rule);

/// Whether the user annotated an argument, a result or an op (before the plan writes its own).
bool shardModelIsAnnotated(const ShardModel *model);

/// Analyses L1. Emits one diagnostic and returns null when there is no single entry.
ShardModel *shardModelCreate(MlirOperation module, ShardArena *arena);
/// The one public function with a body, or null.
MlirOperation shardModuleFindEntry(MlirOperation module);

/// Units of the pipeline: the prologue (embedding) if it has work of its own, each layer call, and
/// the epilogue (head). Every op of the entry is in a unit, or in none: then each stage that uses
/// it has it.
typedef struct ShardUnits {
  int32_t nUnits;
  int64_t *costs;  // [nUnits] multiply-adds x 2, and one per element of other results
  int32_t *unitOf; // [nOps of the entry] or -1
} ShardUnits;
ShardUnits *shardModelFindUnits(const ShardModel *model, ShardArena *arena);
/// Cuts units into `nStages` runs so that the largest sum of costs is least (dynamic programming
/// over prefixes; ties to the earliest cut). `outStage` has [nUnits]. Needs 1 <= nStages <= nUnits.
void shardPartitionUnits(int32_t nUnits, const int64_t *costs, int32_t nStages, int32_t *outStage,
                         ShardArena *arena);

/// Does the class count experts: a batch dimension of a product of weights with activations, or the
/// rows of weights that are gathered for a contraction? That is what expert parallelism splits.
bool shardModelCountsExperts(const ShardModel *model, int32_t klass);
/// [classes] of weights that expert parallelism splits: those that count experts; where none does,
/// the inner widths of experts that are written out one by one. Null: the model has no experts.
const bool *shardModelExpertClasses(const ShardModel *model, ShardArena *arena);

/// Of two plans the one that sends less is taken, unless it does more than a fifth more flops.
enum { SHARD_FLOP_SLACK = 5 };

/// A weight that cannot be cut along a class after all.
typedef struct ShardBarredWeight {
  int32_t argument, klass;
  const struct ShardBarredWeight *next;
} ShardBarredWeight;

/// How the weights' axis is cut: class c is split over sub-axes [begin[c], end[c]) of nSubAxes.
typedef struct ShardTensorPlan {
  int32_t nSubAxes;
  int64_t sizes[SHARD_MAX_AXES];
  int8_t *begin, *end;             // [classes]; begin == end: whole
  const ShardModel *model;         // in whose arguments `barred` counts: the given one, or its fold
  const ShardBarredWeight *barred; // the newest first; shared between plans
  bool fixed;                      // the sub-axes are the user's: no more are cut
  bool uneven; // some class, vocabularies aside, does not divide by its sub-axes
} ShardTensorPlan;
/// The atom of each argument that the plan splits over a sub-axis; -1 if none.
int32_t *shardTensorPlanAtoms(const ShardModel *model, const ShardTensorPlan *plan, int32_t subAxis,
                              ShardArena *arena);
/// Chooses which classes of weights are split over `degree` ranks (see Tensor.c). Null, and a
/// message, when nothing can be.
ShardTensorPlan *shardPlanTensor(const ShardModel *model, int64_t degree, ShardArena *arena,
                                 const char **outMessage);

/// Cuts the plan's sub-axes so that one ends after `product` ranks. False if none can.
bool shardTensorPlanCut(const ShardModel *model, ShardTensorPlan *plan, int64_t product);

/// A dimension that an annotation cuts across its atoms (BlockAxes.c), and what the atom and the
/// ranks have in common: a sub-axis that ends after `boundary` ranks splits just that.
typedef struct ShardBlock {
  int32_t klass;
  int64_t size, common, boundary;
} ShardBlock;
enum { SHARD_MAX_BOUNDARIES = 8 };
typedef struct ShardBoundaries {
  int32_t n;
  int64_t at[SHARD_MAX_BOUNDARIES];
} ShardBoundaries;
/// The boundaries that the annotated blocks suggest; none where an annotation names parts of the
/// tensor axis, whose first is `firstTensor`. Fails, with one diagnostic, on annotations that do
/// not fit.
MlirLogicalResult shardFindBlockBoundaries(const ShardModel *model, const ShardMesh *mesh,
                                           int32_t firstTensor, ShardArena *arena,
                                           ShardBoundaries *out);
/// Cuts the atoms of the blocks with this boundary there, for rules made from now on.
MlirLogicalResult shardMarkBlockCuts(const ShardModel *model, const ShardMesh *mesh,
                                     int32_t firstTensor, int64_t boundary, ShardArena *arena);

#endif // SHARD_PLAN_MODEL_H
