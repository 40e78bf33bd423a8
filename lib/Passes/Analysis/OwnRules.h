//===- OwnRules.h - Rules that a user gives for ops ---------------*- C -*-===//
// The text of a rule: "(b d, d k) -> (b k) sum d pad 0 whole k". A dimension is a name, a product
// of names ("h*e", major first; "h*e=8" where a size does not follow), or _ (kept whole). A name of
// a result is parallel; one of operands alone is reduced, as `sum`, `max`, `min`, `product`, `and`
// or `or` says, or else whole.
//===----------------------------------------------------------------------===//
#ifndef SHARD_ANALYSIS_OWNRULES_H
#define SHARD_ANALYSIS_OWNRULES_H

#include "Rules.h"

typedef struct ShardOwnDim {
  int32_t n;
  const int32_t *names; // major first; none: whole
} ShardOwnDim;

typedef struct ShardOwnPort {
  int32_t rank;
  const ShardOwnDim *dims;
} ShardOwnPort;

typedef struct ShardOwnRule {
  int32_t nNames;
  const char **names;
  int64_t *sizes;           // [nNames] given by "NAME=8"; 0: from the types
  ShardCombiner *combiners; // [nNames] NONE: not reduced
  bool *whole;              // [nNames] must not be split
  int32_t nOperands, nResults;
  const ShardOwnPort *operands, *results; // scalars are ()
  bool hasPad;
  double pad; // what fills the padding of reduced dimensions
} ShardOwnRule;

/// Reads a rule's text. False: the reason in `*outMessage` (in `arena`), and its place in `*outAt`.
bool shardOwnRuleParse(MlirStringRef text, ShardArena *arena, ShardOwnRule *out,
                       const char **outMessage, size_t *outAt);
/// Sizes of the names, [rule->nNames], from an op's types. False: the reason in `*outMessage`.
bool shardOwnRuleFit(const ShardOwnRule *rule, MlirOperation op, ShardArena *arena, int64_t *sizes,
                     const char **outMessage);

/// Whether the rule lets dimensions of a name be split.
bool shardOwnRuleSplits(const ShardOwnRule *rule, int32_t name);
/// Dimensions of operand `port`, or of a result behind them.
const ShardOwnPort *shardOwnRulePort(const ShardOwnRule *rule, int32_t port);
/// `type` of that port when the names have `sizes`; no tensor: itself.
MlirType shardOwnRuleLocalType(const ShardOwnRule *rule, int32_t port, MlirType type,
                               const int64_t *sizes, ShardArena *arena);
/// The types of all operands, and results behind them, of `op`.
MlirType shardOwnRuleTypeOfPort(const ShardOwnRule *rule, MlirOperation op, int32_t port);

/// Gives dynamic dimensions of the results of an op that has a rule the extents that the rule's
/// names have in its operands. False: it has none, or does not fit it.
bool shardOwnRuleRefine(MlirOperation op, ShardArena *arena);

/// Where shard-import puts the rule of an op, and a module the bodies of such ops as text.
#define SHARD_OWN_RULE "spmd.rule"
#define SHARD_OWN_BODIES "spmd.bodies"

#endif // SHARD_ANALYSIS_OWNRULES_H
