//===- Rules.h - Dimension rules: the one table -------------------*- C -*-===//
// For every op: its factors (loop dimensions, cut to atoms), where each lies in every operand and
// result, and what is linear in what. Every pass asks here; a new op is one row of the table in
// OpTable.c. Atoms are found over the whole module first: a dimension that any reshape splits is
// split everywhere the rules tie it to.
//===----------------------------------------------------------------------===//
#ifndef SHARD_ANALYSIS_RULES_H
#define SHARD_ANALYSIS_RULES_H

#include "LocalForms.h"
#include "Sharding.h"

#include "../Core/IR.h"

typedef enum ShardFactorKind {
  SHARD_FACTOR_PARALLEL,  // in a result
  SHARD_FACTOR_REDUCTION, // combined away, `combiner`
  SHARD_FACTOR_GATHER,    // an operand dimension indexed by data: split as mask + partial sum
  SHARD_FACTOR_SCAN,      // carried along (Sequence.h): a local scan and the totals of the others
  SHARD_FACTOR_SELECT,    // chosen from: each rank's choice, of which all choose; results whole
  SHARD_FACTOR_WINDOW,    // along it the op moves data: ranks exchange what lies elsewhere
  SHARD_FACTOR_WHOLE      // must not be split
} ShardFactorKind;

/// What a slice, pad or concat takes of an operand along a dimension: steps [from, from + length)
/// of `fromSize` become steps [to, to + length) of the result's `toSize`.
typedef struct ShardWindow {
  int64_t fromSize, toSize, from, to, length;
  int64_t stepBytes; // of the operand
  bool toAll;        // every rank gets all of it: the result is whole along the dimension
} ShardWindow;

typedef struct ShardFactor {
  int64_t size;
  int32_t klass;
  ShardFactorKind kind;
  ShardCombiner combiner;     // REDUCTION, of the first result; SUM for GATHER
  int32_t loop;               // linalg iteration dimension it is part of, or -1
  int64_t exchange;           // SCAN, SELECT: bytes that a rank tells each other one
  int64_t whole;              // SELECT: bytes of the operands along it, which is the other way
  int32_t nWindows;           // WINDOW
  const ShardWindow *windows; // one for each operand
  int64_t rolled;             // bytes of operands read in turned order along it (Roll.h)
  int64_t rollShift;          // the largest of their shifts, either way round
} ShardFactor;

/// Whether results are partial when the factor is split.
static inline bool shardFactorIsCombined(const ShardFactor *factor) {
  return factor->kind == SHARD_FACTOR_REDUCTION || factor->kind == SHARD_FACTOR_GATHER;
}
/// Bytes that one of `n` ranks sends within the op when it is split along the factor.
static inline int64_t shardFactorSent(const ShardFactor *factor, int64_t n) {
  int64_t chunk = (factor->size + n - 1) / n;
  int64_t moved = factor->rollShift < chunk ? factor->rollShift : chunk;
  return factor->exchange * (n - 1) + factor->rolled / n * moved / chunk;
}
/// Whether a SELECT factor over `n` ranks is worth splitting: it is where operands are so split.
static inline bool shardFactorPays(const ShardFactor *factor, int64_t n) {
  return factor->exchange <= (factor->whole + n - 1) / n;
}

/// Bytes that all ranks together receive from others when a WINDOW factor is split over `n` ranks.
int64_t shardFactorWindowBytes(const ShardFactor *factor, int64_t n);

/// A tensor operand or result of an op (a tensor captured by a body's tensor.extract counts as an
/// operand: then `operandIndex` is -1 and `user` the tensor.extract).
typedef struct ShardPort {
  int32_t value;        // index into ShardRules.values
  int32_t operandIndex; // of the op, -1 when captured; result number for results
  MlirOperation user;   // the op itself, or the capturing tensor.extract
  const int32_t
      *factors;        // [values[value].nAtoms] factor of each atom; -1: on no factor (free unit)
  bool init;           // destination of a linalg op (outs)
  int32_t userOperand; // of `user`, when captured
  int32_t slot;        // of a LOOP; else 0
  bool apart; // CALL, LOOP: what it meets in the callee has other atoms (6 as 2x3, as 3x2): both
              // are whole
  ShardCombiner combiner; // of a result of a reduction: the body's for it
} ShardPort;

/// A region of a LOOP: a call. Slots number what has one placement over the whole loop: a carried
/// value with its init, arguments, yields and result, or a value used from outside.
enum { SHARD_MAX_BODIES = 2 };
typedef struct ShardBody {
  MlirOperation call;
  int32_t callee;         // index into ShardRules.functions
  int32_t *argumentSlots; // [arguments of the callee] -1: no tensor
  int32_t *resultSlots;   // [results of the callee] -1: no tensor
} ShardBody;

typedef enum ShardOpForm {
  SHARD_OP_COMPUTE, // linalg op, arith/math on tensors, tensor.splat/empty, constants
  SHARD_OP_RESHAPE, // expand_shape, collapse_shape
  SHARD_OP_SLICE,   // extract_slice, insert_slice, pad, concat: static offsets
  SHARD_OP_CALL,    // func.call
  SHARD_OP_LOOP,    // scf.for, scf.if, scf.while whose regions are calls
  SHARD_OP_RETURN,
  SHARD_OP_WHOLE // no rule: operands and results whole
} ShardOpForm;

/// A row of the table of ops.
typedef struct ShardOpEntry ShardOpEntry;

typedef struct ShardOpRule {
  MlirOperation op;
  ShardOpForm form;
  const ShardOpEntry *entry; // null: no row
  int32_t nFactors;
  ShardFactor *factors;
  int32_t nOperands, nResults; // tensor ones only
  ShardPort *operands, *results;
  /// Linearity, for partial sums: each mask (bit i: operands[i]) is a set of operands in which the
  /// op is jointly additive and homogeneous, the others being coefficients: {0,1} for add, {0} and
  /// {1} for mul, {0} for a reshape. A partial result without a split factor means: operands of the
  /// smallest set that holds the partial ones are consumed partial, and its replicated members
  /// enter once (zero except on coordinate 0 of the axis). `movement`: only moves data, so that any
  /// combiner passes, not only sum.
  int32_t nLinear;
  const uint32_t *linear;
  bool movement;
  bool contraction; // multiply-accumulate: counted as flops, never repeated on purpose
  bool cheap;       // no operand data (fill, empty, iota, splat constant): cloned rather than moved
  bool unusedInit;  // the body does not read outs (elementwise): the init only gives a shape
  int64_t flops;    // contractions: 2 x product of loop sizes
  int32_t callee;   // CALL: index into ShardRules.functions, else -1
  int32_t nBodies, nSlots; // LOOP
  ShardBody bodies[SHARD_MAX_BODIES];
  const bool *apart; // LOOP: [nSlots] some of the slot's values have other atoms: all are whole
  int64_t trips;     // LOOP: how often the bodies are called, 1 when that is not known
  int32_t count;     // of how many equal calls in a row it is one: 1, but in a fold (Plan/Fold.h)
  int32_t period;    // where count > 1: so many ops back lies one that stands for itself
} ShardOpRule;

/// Operand `i`, or result `i - nOperands`.
static inline ShardPort *shardRulePort(const ShardOpRule *rule, int32_t i) {
  return i < rule->nOperands ? &rule->operands[i] : &rule->results[i - rule->nOperands];
}

/// What result `result` is partial with when `factor`, a reduction or a table's, is split.
static inline ShardCombiner shardRuleCombiner(const ShardOpRule *rule, int32_t factor,
                                              int32_t result) {
  ShardCombiner own = rule->results[result].combiner;
  bool reduction = rule->factors[factor].kind == SHARD_FACTOR_REDUCTION;
  return reduction && own != SHARD_COMBINER_NONE ? own : rule->factors[factor].combiner;
}

typedef struct ShardValueInfo {
  MlirValue value;
  MlirType type;
  int32_t function;   // index
  int32_t definition; // op index in the function; -1: block argument
  int32_t number;     // result or argument number
  int32_t nAtoms;
  const ShardAtom *atoms;
  int64_t bytes; // whole value
  int32_t count; // of how many equal ones it is one: 1, but in a fold (Plan/Fold.h)
} ShardValueInfo;

typedef struct ShardFunctionInfo {
  MlirOperation func;
  int32_t nArguments, nResults;
  const int32_t *arguments; // value index of each argument, -1 when not a tensor
  int32_t nOps;
  ShardOpRule *ops; // top-level ops in IR order, tensor ops only; the return is last
  int32_t nCalls;   // call sites in the module
} ShardFunctionInfo;

typedef struct ShardRules {
  MlirOperation module;
  ShardArena *arena;
  int32_t nFunctions;
  ShardFunctionInfo *functions; // callees before callers
  int32_t nValues;
  ShardValueInfo *values;
  int32_t nClasses;
  const int64_t *classSizes;   // [nClasses]
  ShardPointerMap *valueIndex; // MlirValue.ptr -> value index
} ShardRules;

/// Analyses every function with a body. Fails, with one diagnostic, on recursion or dynamic
/// shapes.
ShardRules *shardRulesCreate(MlirOperation module, ShardArena *arena);
/// Whether the body of a linalg op is out + in0 * in1, up to order and casts.
bool shardBodyIsProductSum(MlirBlock body);
/// What a combiner leaves any other number as, of an element type. Not of an i1, but for PRODUCT,
/// AND and OR.
MlirAttribute shardCombinerIdentity(ShardCombiner combiner, MlirType element);
/// How the body of a linalg op folds result `result`; NONE when it does not, or not in one step.
ShardCombiner shardBodyGetCombiner(MlirOperation op, intptr_t result);
/// Steps of an scf.for whose bounds are constants; 1 when they are not, and of any other op.
int64_t shardLoopTrips(MlirOperation op);
/// The same; false for an scf.for whose bounds are not constants, and other loops of scf.
bool shardLoopHasTrips(MlirOperation op, int64_t *outTrips);
/// Whether the table has no row for an op on tensors: it is then done by every rank on whole
/// operands.
bool shardOpHasNoRule(MlirOperation op);

/// The smallest of op->linear that contains all of `partialOperands`; 0 if none.
uint32_t shardOpLinearSet(const ShardOpRule *rule, uint32_t partialOperands);
int32_t shardRulesFindValue(const ShardRules *rules, MlirValue value); // -1 when not a tensor value

/// Dimension of the rank-reduced side of a slice for each dimension of the full side, which has
/// `rank` and the window `sizes`; -1 where one is dropped. False when they do not fit.
bool shardSliceMatchDims(MlirType reduced, intptr_t rank, const int64_t *sizes, int32_t *out);

/// The row of the table for an op name, or null. For docs and for import ("is it known?").
const ShardOpEntry *shardOpEntryFind(MlirStringRef name);
const ShardOpEntry *shardOpEntryOf(MlirOperation op); // a rule of the user's own counts too
intptr_t shardOpEntryCount(void);
ShardLocalise shardOpEntryLocalise(const ShardOpEntry *entry); // null: new result types are all
const char *shardOpEntryName(intptr_t index);
const char *shardOpEntrySummary(intptr_t index); // its factors in words, for the reference

/// An op that is not taken, why, and what is instead. For import and for the reference.
typedef struct ShardOpRefusal {
  const char *name, *reason, *nearest;
} ShardOpRefusal;
const ShardOpRefusal *shardOpRefusalFind(MlirStringRef name); // null: the op is taken
intptr_t shardOpRefusalCount(void);
const ShardOpRefusal *shardOpRefusalGet(intptr_t index);

#endif // SHARD_ANALYSIS_RULES_H
