//===- ImportParts.h - The steps of shard-import ------------------*- C -*-===//
// One step a file; Import.c calls them in order. Each leaves a module that verifies.
//===----------------------------------------------------------------------===//
#ifndef SHARD_IMPORT_IMPORTPARTS_H
#define SHARD_IMPORT_IMPORTPARTS_H

#include "../Analysis/FindStates.h"
#include "../Core/Pass.h"

#include "mlir-c/AffineMap.h"
#include "mlir-c/BuiltinAttributes.h"

/// What the steps share. `functions` are the entry, first, and those that it calls, in module
/// order.
typedef struct ShardImport {
  MlirContext context;
  MlirOperation module;
  ShardArena *arena;
  MlirOperation entry;
  intptr_t nFunctions;
  MlirOperation *functions;
  MlirOperation *calleesFirst; // the same, each before its callers
  struct ShardOwnRules *ownRules;
  struct ShardBounded *bounded; // null: no dynamic dimension is left open
  bool **open; // [arguments of the model][rank] what came as `?`; null: no dimension
} ShardImport;

/// CheckInput.c: refuses ops, types and shapes that the compiler does not take, with one error.
MlirLogicalResult shardImportCheckOps(const ShardImport *import);
MlirLogicalResult shardImportCheckTypes(const ShardImport *import);
/// Whether numbers of a type can be moved and computed with.
bool shardImportIsScalar(MlirType type);
/// Dimension `dimension` of an argument is open, and nothing was said of it.
MlirLogicalResult shardImportRefuseOpen(MlirOperation func, intptr_t argument, intptr_t dimension);
/// Whether any op of the TOSA dialect is there.
bool shardImportHasTosa(const ShardImport *import);

/// OwnRules.c: reads a file of rules ("": none); whether it has one for an op; puts them on the
/// ops.
typedef struct ShardOwnRules ShardOwnRules;
MlirLogicalResult shardImportReadRules(ShardImport *import, const char *path);
bool shardImportHasRule(const ShardImport *import, MlirStringRef name);
MlirLogicalResult shardImportApplyRules(const ShardImport *import);
/// OwnBodies.c: whether the shapes in the body of a user's op follow as its rule says, whole and
/// split along each dimension; `sizes` of the rule's names. One error, at the rule, if not.
struct ShardOwnRule;
MlirLogicalResult shardImportCheckBody(const ShardImport *import, MlirLocation rulePlace,
                                       const char *name, MlirOperation func,
                                       const struct ShardOwnRule *rule, MlirOperation op,
                                       const int64_t *sizes);

/// Scalars.c: numbers among the entry's arguments and results become tensors of rank 0.
void shardImportScalars(const ShardImport *import);

/// SetDims.c: "ARG:D=N,..." gives extents to dynamic dimensions of the entry's arguments, and
/// "ARG:D=..MAX" bounds (Bounded.h). ARG is a number or a name, which `argsPath` (or "") may give.
MlirLogicalResult shardImportSetDims(ShardImport *import, const char *dims, const char *argsPath);

/// RefineShapes.c: static result types from static arguments; not for TOSA ops.
MlirLogicalResult shardImportRefineShapes(const ShardImport *import);

/// DropEmpty.c: tensors without elements go from concatenations and the like, and what only made
/// them.
void shardImportDropEmpty(const ShardImport *import);

/// TmTensor.c, Tm*.c: the ops of tm_tensor, which come in generic form, to linalg. Whether an op is
/// one of them, or the end of its body.
MlirLogicalResult shardImportTmTensor(const ShardImport *import);
bool shardImportKnowsTmTensor(MlirOperation op);

/// ImportTosa.c: TOSA to linalg, tensor and arith.
MlirLogicalResult shardImportTosa(const ShardImport *import);

/// ExpandTensorOps.c: tensor.gather, scatter, generate, reshape, dim, rank and named
/// linalg ops that read their loop numbers, as linalg.generic and reshapes.
MlirLogicalResult shardImportExpandTensorOps(const ShardImport *import);

/// ExpandOps.c: linalg.softmax and affine.apply in terms of the others.
MlirLogicalResult shardImportExpandOps(const ShardImport *import);

/// FloatStorage.c: floats of eight bits become bytes, and their conversions bit operations.
MlirLogicalResult shardImportFloatStorage(const ShardImport *import);

/// UserShardings.c: shard.shard to `spmd.sharding` attributes.
MlirLogicalResult shardImportUserShardings(const ShardImport *import);

/// Simplify.c: slices and casts that change nothing go; insert_slice chains that fill a tensor
/// become tensor.concat; loops of one step that are marked as reductions go.
void shardImportSimplify(const ShardImport *import);

/// SplitResults.c: a reduction of several results by several combiners becomes an op a result. The
/// old results are left without users.
void shardImportSplitResults(const ShardImport *import);

/// Prune.c: results of linalg.generic that nobody uses, operands that its body does not read, and
/// ops whose results nobody uses go. A `cf.assert` stays, and what it needs.
void shardImportPrune(const ShardImport *import);
/// The same for the body of one linalg.generic: dead ops, then operands without a reader.
void shardPruneGenericBody(MlirOperation generic, ShardArena *arena);
/// Whether an op or one inside of it is a cf.assert, whose failing is seen from outside, or a call,
/// which may lead to one.
bool shardImportAssertsOrCalls(MlirOperation op);

/// Rolls.c: a concatenation of slices that tile a value cyclically becomes one op that reads it in
/// turned order. The slices are left without users.
void shardImportRolls(const ShardImport *import);

/// RunningSums.c: sums under a triangular mask, and over a window as long as the dimension, become
/// scans.
void shardImportRunningSums(const ShardImport *import);

/// SplitProjections.c: a product whose columns are cut in unequal pieces becomes a product a piece.
/// The old ops are left without users.
void shardImportSplitProjections(const ShardImport *import);

/// FoldIndices.c: tensor.extract at positions that do not depend on data becomes an operand;
/// integer constants that count become linalg.index.
void shardImportFoldIndices(const ShardImport *import);

/// Adds an input read through `map` to a linalg.generic; returns its block argument.
MlirValue shardGenericAddInput(MlirOperation op, MlirValue value, MlirAffineMap map,
                               ShardArena *arena);

/// SplitLookups.c: a lookup of a table by data that shares a body with other work becomes an op of
/// its own, so that a shard of the table is a partial sum of the lookup alone.
void shardImportSplitLookups(const ShardImport *import);

/// OutlineRegions.c: bodies of scf.for, scf.if and scf.while on tensors become private functions,
/// and the regions calls of them. The functions join `import->functions`.
void shardImportOutlineRegions(ShardImport *import);

/// Arguments.c: names of the entry's arguments, "" for one without: `spmd.name`, or of the file,
/// which is checked later.
const char *const *shardImportArgumentNames(const ShardImport *import, const char *argsPath);
/// Arguments.c: constants become arguments; names and roles.
/// `argsPath` may be "".
MlirLogicalResult shardImportArguments(const ShardImport *import, const char *argsPath);
/// InferRoles.c: isInput[i] for each argument of the entry (FORMATS, Roles: defaults).
/// States (`ties`) do not argue for what the batch is.
void shardImportInferRoles(const ShardImport *import, intptr_t nArguments,
                           const ShardStateTie *ties, bool *isInput);

/// HoistConstants.c: data constants of all functions become arguments of the entry, appended in IR
/// order, one for each distinct one; through calls where a private function has them. `wanted`
/// (null: all) chooses. Returns their values, [*outCount].
MlirAttribute *shardHoistConstants(const ShardImport *import,
                                   bool (*wanted)(void *user, MlirOperation op), void *user,
                                   intptr_t *outCount);
/// A list of argument attributes becomes as long as the arguments.
void shardImportPadArgumentAttributes(const ShardImport *import, MlirOperation func);
/// Names for them: the key of a resource, or constant_N; unlike the names that are taken.
const char **shardNameConstants(const ShardImport *import, intptr_t nTaken,
                                const char *const *taken, intptr_t n, const MlirAttribute *values);
/// Import.c: finds the entry (`function`, or "" for the one public function) and what it calls.
MlirLogicalResult shardImportFindFunctions(ShardImport *import, const char *function);

/// Small readers used by several steps.
static inline int64_t shardArrayAttrAt(MlirAttribute attribute, intptr_t index) {
  return mlirDenseI64ArrayGetElement(attribute, index);
}
MlirAttribute shardIndexingMaps(MlirOperation op); // of any linalg op; null otherwise
/// The position of a map's result if it is a plain dimension, else -1.
intptr_t shardMapResultDim(MlirAffineMap map, intptr_t result);
/// The ops of a block, in order, in `arena`.
MlirOperation *shardBlockOps(MlirBlock block, ShardArena *arena, intptr_t *outCount);
/// Calls `visit` with each block of the op's regions if the op is of scf, else does nothing: how a
/// step over a block goes on into loops and branches.
void shardVisitControlBlocks(MlirOperation op, void (*visit)(void *user, MlirBlock block),
                             void *user);

#endif // SHARD_IMPORT_IMPORTPARTS_H
