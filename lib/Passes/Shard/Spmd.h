//===- Spmd.h - What the files of shard-spmdize share -------------*- C -*-===//
// A function of L3 is built beside the one of L2 that it comes from. Each L2 value has versions in
// it: local tensors, one for each placement in which it was wanted so far.
//===----------------------------------------------------------------------===//
#ifndef SHARD_SHARD_SPMD_H
#define SHARD_SHARD_SPMD_H

#include "../Analysis/Mesh.h"
#include "../Analysis/Rules.h"
#include "../Analysis/Sharding.h"
#include "../Core/Pass.h"
#include "shard/Runtime.h"

/// A value on its way from one placement to another; each collective that takes it there is a site.
typedef struct ShardMove {
  int32_t value;
  const ShardSharding *from, *to;
  MlirOperation consumer; // of L2, that wants it
} ShardMove;

#define SHARD_MAX_WAYS 4

/// One collective of the program, a row of `spmd.sites`.
typedef struct ShardSite {
  int64_t number;
  ShardRtKind kind;
  const char *op; // "linalg.matmul at FILE:LINE:COL": the op that it is there for
  const char *opName;
  MlirLocation location;
  const char *cause;
  MlirAttribute axes; // ["tp"]
  MlirType type;      // of the local operand
  double bytes;       // sent by one rank that takes part, ring counting
  // Of the move that it is part of (Alternatives.c); null when it is of none.
  const char *value, *from, *to;
  bool asked;   // an annotation of the user's says so
  double moved; // bytes of the whole move, as `bytes`
  int32_t nWays;
  struct {
    const char *how;
    double bytes; // as `moved`
  } ways[SHARD_MAX_WAYS];
} ShardSite;

/// State of one run: the module, its rules, and where each L2 value lies.
typedef struct ShardSpmd {
  MlirContext context;
  MlirOperation module;
  ShardArena *arena;
  ShardMesh mesh;
  const ShardRules *rules;
  ShardPointerMap *ruleOf;   // MlirOperation.ptr -> ShardOpRule *, as an integer
  ShardSharding **own;       // [rules->nValues] state in which L2 says a value is made
  ShardSharding ***results;  // [rules->nFunctions][nResults] state of function results
  bool marksOrigins;         // on the ops that make values
  int32_t *originNumbers;    // [rules->nValues] of a value's op in its function; -1: cheap
  ShardShardingCache *cache; // of attributes of origins
  ShardSite *sites;
  size_t nSites, capacitySites;
  const ShardMove *move; // that sites are added for, or null
} ShardSpmd;

/// A local tensor that holds a value in one placement.
typedef struct ShardVersion {
  const ShardSharding *sharding;
  MlirValue value;
  struct ShardVersion *next;
} ShardVersion;

/// A function under construction. `block` is filled in IR order.
typedef struct ShardBuild {
  ShardSpmd *spmd;
  const ShardFunctionInfo *function; // of L2
  int32_t stage;                     // -1: not a stage
  MlirBlock block;
  ShardVersion **versions;  // [rules->nValues]
  ShardPointerMap *scalars; // L2 value.ptr of a non-tensor -> index in scalarValues
  MlirValue *scalarValues;
  size_t nScalars, capacityScalars;
  MlirValue coordinates[SHARD_MAX_AXES]; // of this rank, made at the top when first wanted
  /// Makes the first version of a value that this function does not compute (a value of another
  /// stage). Null, or false after one diagnostic, when there is none.
  bool (*fetch)(struct ShardBuild *build, int32_t value, MlirOperation consumer);
  void *fetchData;
} ShardBuild;

//===- Building blocks (Builder.c) ----------------------------------------===//

/// Where ops go: before `before`, or at the end of `block` when it is null.
typedef struct ShardPlace {
  MlirBlock block;
  MlirOperation before;
  MlirLocation location;
} ShardPlace;

MlirValue shardBuildIndex(ShardBuild *build, ShardPlace place, int64_t value);
/// A two-operand op whose result has the type of its operands: "arith.addi".
MlirValue shardBuildBinary(ShardPlace place, const char *name, MlirValue a, MlirValue b);
/// Row-major coordinate of this rank over `axes`, an index. `axes` is not empty.
MlirValue shardBuildCoordinate(ShardBuild *build, ShardPlace place, ShardAxisList axes);
MlirValue shardBuildEmpty(ShardPlace place, MlirType type);
MlirValue shardBuildExpand(ShardPlace place, MlirValue value, MlirAttribute reassociation,
                           MlirType type);
MlirValue shardBuildCollapse(ShardPlace place, MlirValue value, MlirAttribute reassociation,
                             MlirType type);
MlirValue shardBuildSelect(ShardPlace place, MlirValue condition, MlirValue a, MlirValue b);
/// a < b, both indices.
MlirValue shardBuildCompareUlt(ShardPlace place, MlirValue a, MlirValue b);
/// `dest` with `scalar` everywhere.
MlirValue shardBuildFill(ShardPlace place, MlirValue scalar, MlirValue dest);
/// A scalar constant of a float or integer type.
MlirValue shardBuildNumber(ShardPlace place, MlirType type, double number);
/// How many of the `local` steps from `origin` lie before `global`: 0 to `local`.
MlirValue shardBuildValidCount(ShardBuild *build, ShardPlace place, MlirValue origin,
                               int64_t global, int64_t local);
/// A linalg.generic of one input and one result like it, whose body has the two arguments and no op
/// yet; shardBuildYield ends it.
MlirOperation shardBuildElementwise(ShardBuild *build, ShardPlace place, MlirValue source);
void shardBuildYield(MlirOperation elementwise, MlirValue value);

//===- Placements (Reshard.c) ---------------------------------------------===//

/// What it takes to bring a value from one placement to another.
typedef struct ShardReshardCost {
  int64_t sent; // bytes that one rank sends, times the mesh's devices
  int32_t nCollectives;
} ShardReshardCost;
ShardReshardCost shardReshardFindCost(const ShardSpmd *spmd, int32_t value,
                                      const ShardSharding *from, const ShardSharding *to);
/// Brings `source`, a local tensor of `value` in placement `from`, to placement `to`, with ops at
/// `place`. `consumer` is the L2 op that wants it, for the cause. Each placement on the way becomes
/// a version of the value.
MlirValue shardReshard(ShardBuild *build, int32_t value, MlirValue source,
                       const ShardSharding *from, const ShardSharding *to, ShardPlace place,
                       MlirOperation consumer);
/// The value with a combiner's identity in place of `source` except on coordinate 0 of `axes`.
MlirValue shardBuildEnterOnce(ShardBuild *build, ShardPlace place, MlirValue source,
                              ShardAxisList axes, ShardCombiner combiner);
/// Causes.c: "linalg.matmul", "argument 3 'name'" or "@layer": what makes a value, reshapes left
/// out.
const char *shardSpmdProducerText(const ShardSpmd *spmd, int32_t value);

//===- Origins (Origins.c) ------------------------------------------------===//

/// Fills spmd->originNumbers; once, when the rules are known.
void shardOriginsNumber(ShardSpmd *spmd);
/// The L1 value, for `spmd.origin`: "linalg.matmul at FILE:LINE:COL (@main:12)".
const char *shardSpmdOriginText(const ShardSpmd *spmd, int32_t value);
/// Notes on the op that makes `local` that it holds `value` in placement `sharding`.
void shardOriginMark(ShardSpmd *spmd, int32_t value, const ShardSharding *sharding,
                     MlirValue local);
/// Writes `spmd.extent` on the op that makes `local` where that stores `value` with padding: the
/// whole extents. An argument has it from its function.
void shardExtentMark(ShardSpmd *spmd, int32_t value, const ShardSharding *sharding,
                     MlirValue local);

//===- Sites (Sites.c) ----------------------------------------------------===//

/// Adds a site and returns its number. `opLocation` is the L2 op or argument it is there for.
int64_t shardSiteAdd(ShardSpmd *spmd, ShardRtKind kind, const char *opName, MlirLocation location,
                     const char *cause, ShardAxisList axes, MlirType type, double bytes);
/// "[["tp"],[]], a partial sum over dp", or "whole".
const char *shardSpmdShardingText(const ShardSpmd *spmd, int32_t value,
                                  const ShardSharding *sharding);
/// Fills what a site says of the move that it is part of (Alternatives.c).
void shardSiteDescribeMove(ShardSpmd *spmd, ShardSite *site, const ShardMove *move);
/// Writes `spmd.sites` on the module: every site with its calls in stage then call order.
/// `entries` are the stage functions. Fails after one error: more calls than can be listed.
MlirLogicalResult shardSitesWrite(ShardSpmd *spmd, int32_t nEntries, const MlirOperation *entries);

//===- Plans of ops (OpPlan.c) --------------------------------------------===//

/// What an op needs of its operands to make its results.
typedef struct ShardOpPlan {
  const ShardOpRule *rule;
  ShardAxisList *factors;   // [nFactors] axes of each factor
  ShardSharding **operands; // [nOperands] placement of each
  ShardSharding **results;  // [nResults] placement in which each is made
} ShardOpPlan;

/// Plans `rule` so that its results come as close to `wanted` ([nResults]) as its rule allows.
/// Null after one diagnostic when the annotations contradict each other.
ShardOpPlan *shardOpPlanCreate(ShardSpmd *spmd, const ShardOpRule *rule,
                               ShardSharding *const *wanted);
/// Whether an op can only be made whole: no rule, no local form, or a constant of many values.
bool shardOpIsWhole(const ShardOpRule *rule);
/// The op of L2 that makes a value, as a rule; null for an argument.
const ShardOpRule *shardSpmdDefinition(const ShardSpmd *spmd, int32_t value);

//===- Versions of values (Versions.c) ------------------------------------===//

/// The local tensor of `value` in placement `sharding`; a null value after one diagnostic.
/// `consumer` is the L2 op that wants it.
MlirValue shardBuildGetVersion(ShardBuild *build, int32_t value, const ShardSharding *sharding,
                               MlirOperation consumer);
/// The same if it is there already, else null.
ShardVersion *shardBuildFindVersion(ShardBuild *build, int32_t value,
                                    const ShardSharding *sharding);
void shardBuildAddVersion(ShardBuild *build, int32_t value, const ShardSharding *sharding,
                          MlirValue local);
/// What stands for an L2 value that is no tensor.
void shardBuildMapScalar(ShardBuild *build, MlirValue old, MlirValue replacement);
bool shardBuildFindScalar(ShardBuild *build, MlirValue old, MlirValue *out);

//===- Local forms (Localise.c) -------------------------------------------===//

/// Emits the local form of `op` at the end of the block, its operands brought where they are
/// needed, and records its results. `plan` is null for ops without tensors.
MlirLogicalResult shardLocaliseOp(ShardBuild *build, MlirOperation op, const ShardOpPlan *plan);

#endif // SHARD_SHARD_SPMD_H
