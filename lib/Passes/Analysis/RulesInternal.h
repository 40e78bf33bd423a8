//===- RulesInternal.h - How rules are found ----------------------*- C -*-===//
// Shared by the files behind Rules.h; nobody else includes it. First every dimension of every
// tensor value and every loop of every op is a node; rules tie nodes that run together, and a
// reshape splits a node into children (union-find with splitting, so that a split found anywhere is
// seen everywhere). The leaves are the atoms. Then each op's factors are the leaves of its loops,
// and each operand's atoms are bound to them.
//===----------------------------------------------------------------------===//
#ifndef SHARD_ANALYSIS_RULESINTERNAL_H
#define SHARD_ANALYSIS_RULESINTERNAL_H

#include "Rules.h"

#include "mlir-c/BuiltinTypes.h"

typedef struct ShardRuleBuilder ShardRuleBuilder;
typedef struct ShardOpShape ShardOpShape;

struct ShardOpEntry {
  const char *name;
  const char *summary;
  ShardOpForm form;
  void (*describe)(ShardRuleBuilder *b, MlirOperation op, ShardOpShape *shape);
  ShardLocalise localise; // null: new result types are all
};

typedef struct ShardNode {
  int64_t size;
  int32_t parent; // itself: root
  int32_t nChildren;
  int32_t *children; // of a root that is split; sizes multiply to `size`
  int32_t klass;     // of a leaf root, once numbered; else -1
} ShardNode;

/// One dimension of a port in terms of the op's loops.
typedef enum ShardDimKind {
  SHARD_DIM_PRODUCT,
  SHARD_DIM_PREFIX,
  SHARD_DIM_WHOLE,
  SHARD_DIM_GATHER
} ShardDimKind;
typedef struct ShardDimExpr {
  ShardDimKind kind;
  int32_t nLoops; // PRODUCT: major first; PREFIX: one loop, whose major part it is
  int32_t *loops;
} ShardDimExpr;

typedef struct ShardPortShape {
  MlirValue value;
  int32_t operandIndex;
  MlirOperation user;
  bool init;
  ShardDimExpr *dims; // [rank]
  int32_t userOperand, slot;
} ShardPortShape;

typedef struct ShardLoop {
  int64_t size;
  int32_t node;
  bool whole;
  bool real; // a linalg iteration dimension (its index is the loop number)
} ShardLoop;

enum { SHARD_MAX_LOOPS = 64 };

/// An op before its dimensions are known to the last atom.
struct ShardOpShape {
  const ShardOpEntry *entry;
  int32_t nLoops;
  ShardLoop *loops; // [nLoops]; SHARD_MAX_LOOPS while it is described
  int32_t nOperands, nResults, capacity;
  ShardPortShape *operands, *results;
  int32_t nBodies, nSlots; // of a loop
  ShardBody bodies[SHARD_MAX_BODIES];
};

struct ShardRuleBuilder {
  ShardRules *rules;
  ShardArena *arena;
  ShardNode *nodes;
  size_t nNodes, nodeCapacity;
  int32_t **valueNodes; // [value][dim]
  size_t valueCapacity, valueNodeCapacity;
  ShardPointerMap *entries; // name of an op -> its row of the table, as an integer
};

/// Nodes.c.
int32_t shardNodeCreate(ShardRuleBuilder *b, int64_t size);
int32_t shardNodeFind(ShardRuleBuilder *b, int32_t id);
/// A node that is the product of `ids` (unit ones are dropped): the only one itself, or a new node.
int32_t shardNodeProduct(ShardRuleBuilder *b, int32_t n, const int32_t *ids);
void shardNodeAppendLeaves(ShardRuleBuilder *b, int32_t id, int32_t **list, int32_t *n,
                           size_t *capacity);
/// Ties two nodes of equal size. Split ones are aligned leaf by leaf; where the sizes do not align
/// (6 as 2x3 and as 3x2) the rest stays untied, and the rule of the op keeps those atoms whole.
void shardNodeTie(ShardRuleBuilder *b, int32_t x, int32_t y);
/// Splits the atom of a dimension in which its first `major` parts end, where there is no such end.
void shardNodeCut(ShardRuleBuilder *b, int32_t id, int64_t major);

/// Factors.c, once all dimensions are tied. The class of a leaf node:
int32_t shardRuleClassOf(ShardRuleBuilder *b, int32_t leaf);
/// Makes the op's factors from its loops and the atoms of its ports.
void shardRuleBindOp(ShardRuleBuilder *b, const ShardOpShape *shape, ShardOpRule *rule);
/// Then what its body says of them: combiners and linearity; what is read in turned order; steps in
/// order (running sums, choices).
void shardRuleAnalyseOp(ShardRuleBuilder *b, const ShardOpShape *shape, ShardOpRule *rule);
void shardRuleAnalyseRolls(ShardRuleBuilder *b, ShardOpRule *rule);
void shardRuleAnalyseSequence(ShardRuleBuilder *b, ShardOpRule *rule);

/// Windows.c: dimensions that a slice, pad or concat cuts become WINDOW factors where no op cuts
/// them in pieces.
void shardRuleAnalyseWindows(ShardRuleBuilder *b, ShardOpRule *rule);

/// Views.c: cuts dimensions where annotations' views do; after all ops, which have their way where
/// the two do not line up.
void shardRuleTieViews(ShardRuleBuilder *b);

/// OpTable.c: an op without a rule.
void shardRuleDescribeWhole(ShardRuleBuilder *b, MlirOperation op, ShardOpShape *shape);
ShardPortShape *shardRuleAddPort(ShardRuleBuilder *b, ShardOpShape *shape, bool result,
                                 MlirValue value, int32_t operandIndex, MlirOperation user);
void shardRuleAddAllPorts(ShardRuleBuilder *b, MlirOperation op, ShardOpShape *shape);

int32_t shardRuleAddLoop(ShardRuleBuilder *b, ShardOpShape *shape, int64_t size, bool whole,
                         bool real);

/// OpTable.c: a dimension as the product of `loops`, major first; as one loop; as one that stays
/// whole.
ShardDimExpr shardRuleDimProduct(ShardRuleBuilder *b, int32_t n, const int32_t *loops);
ShardDimExpr shardRuleDimLoop(ShardRuleBuilder *b, int32_t loop);
static inline ShardDimExpr shardRuleDimWhole(void) {
  return (ShardDimExpr){.kind = SHARD_DIM_WHOLE};
}

/// SliceRules.c: the rows of tensor.extract_slice, insert_slice, pad and concat.
void shardRuleDescribeExtractSlice(ShardRuleBuilder *b, MlirOperation op, ShardOpShape *shape);
void shardRuleDescribeInsertSlice(ShardRuleBuilder *b, MlirOperation op, ShardOpShape *shape);
void shardRuleDescribePad(ShardRuleBuilder *b, MlirOperation op, ShardOpShape *shape);
void shardRuleDescribeConcat(ShardRuleBuilder *b, MlirOperation op, ShardOpShape *shape);

/// OwnRules.c: ops that a file of rules describes.
bool shardRuleIsOwn(MlirOperation op);
void shardRuleDescribeOwn(ShardRuleBuilder *b, MlirOperation op, ShardOpShape *shape);
void shardRuleAnalyseOwn(ShardRuleBuilder *b, ShardOpRule *rule);

/// Loops.c.
bool shardRuleIsLoop(MlirOperation op);
void shardRuleDescribeLoop(ShardRuleBuilder *b, MlirOperation op, ShardOpShape *shape);
/// Fills the bodies of a loop, and ties what shares a slot. The callees are in functions before
/// `nFunctions`.
void shardRuleBindLoop(ShardRuleBuilder *b, int32_t nFunctions, const ShardOpShape *shape,
                       ShardOpRule *rule);

/// Once atoms are known: marks where values on the two sides of a call or in a slot of a loop have
/// different ones.
void shardRuleMarkApart(ShardRuleBuilder *b, ShardOpRule *rule);

/// Rules.c: ties two values dimension by dimension.
void shardRuleTieValues(ShardRuleBuilder *b, int32_t x, int32_t y);

/// Linearity.c: the combiner that an op of two operands is; NONE for a null op, or another.
ShardCombiner shardCombinerOfOp(MlirOperation op);

/// Linearity.c: fills combiners of reduction factors, linearity and flops of a linalg op.
void shardRuleAnalyseBody(ShardRuleBuilder *b, const ShardOpShape *shape, ShardOpRule *rule);
void shardRuleAddLinear(ShardRuleBuilder *b, ShardOpRule *rule, uint32_t mask);

static inline int32_t shardRuleFindValue(ShardRuleBuilder *b, MlirValue value) {
  return (int32_t)shardPointerMapGetOr(b->rules->valueIndex, value.ptr, -1);
}
static inline bool isTensor(MlirValue value) {
  return mlirTypeIsARankedTensor(mlirValueGetType(value));
}
static inline int64_t rankOf(MlirValue value) {
  return mlirShapedTypeGetRank(mlirValueGetType(value));
}
static inline int64_t sizeOf(MlirValue value, intptr_t dim) {
  return mlirShapedTypeGetDimSize(mlirValueGetType(value), dim);
}

#endif // SHARD_ANALYSIS_RULESINTERNAL_H
