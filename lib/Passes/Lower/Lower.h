//===- Lower.h - Parts of the CPU lowering ------------------------*- C -*-===//
// The order of work, all on one module:
//   tensors   shardProgramInfoCollect   what shard/Program.h needs, kept as `spmd.program`
//             shardInlineSteps          bodies of loops that insert into what they carry
//             shardLowerToDestinations  functions take context, workspace and out-pointers; calls
//             and
//                                       collectives become calls on pointers
//             shardPrepareContractions  contractions start from nothing, read through transposes
//   buffers   (one-shot-bufferize)
//             shardPlanWorkspace        every memref.alloc gets an offset
//             shardLowerBuffers         memrefs become pointers, linalg becomes loops
//   LLVM      (upstream conversions)
//===----------------------------------------------------------------------===//
#ifndef SHARD_LOWER_LOWER_H
#define SHARD_LOWER_LOWER_H

#include "../Core/Arena.h"
#include "../Core/Diagnostics.h"
#include "../Core/IR.h"
#include "../Core/Pass.h"

#include "mlir-c/AffineExpr.h"
#include "mlir-c/AffineMap.h"
#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/IR.h"

/// What the target can do. See shardTargetGet.
typedef struct ShardTarget {
  int64_t vectorBytes; // of the widest vector that pays
  bool manyRegisters;  // 32 vector registers rather than 16
} ShardTarget;

/// State of one run of the lowering.
typedef struct ShardLowering {
  MlirContext context;
  MlirOperation module;
  ShardArena *arena;
  ShardTarget target;
  // Types and attributes used everywhere.
  MlirType pointer, i1, i8, i32, i64, index, f32, f64;
  intptr_t nGlobals;                 // for unique names
  const ShardPointerMap *workspaces; // function -> its ShardWorkspace (Workspace.h), once planned
} ShardLowering;

/// Starts a lowering of `module` for a CPU ("host", "generic" or LLVM's name); a pass's dialects
/// are loaded. Fails with one error: no such CPU.
MlirLogicalResult shardLoweringCreate(MlirOperation module, ShardArena *arena, const char *mcpu,
                                      int64_t vectorBits, ShardLowering *out);
/// The front half: down to buffers, planned by shardPlanWorkspace.
MlirLogicalResult shardLowerToBuffers(ShardLowering *lowering);

/// Where ops are created: before `before`, or at the end of `block`.
typedef struct ShardLowerBuilder {
  ShardLowering *lowering;
  MlirLocation location;
  MlirBlock block;
  MlirOperation before;
} ShardLowerBuilder;

ShardLowerBuilder shardLowerBuilderBefore(ShardLowering *lowering, MlirOperation before);
ShardLowerBuilder shardLowerBuilderAtEnd(ShardLowering *lowering, MlirBlock block,
                                         MlirLocation location);
ShardLowerBuilder shardLowerBuilderAtStart(ShardLowering *lowering, MlirBlock block,
                                           MlirLocation location);

MlirOperation shardMakeOp(ShardLowerBuilder *b, const char *name, intptr_t nResults,
                          const MlirType *results, intptr_t nOperands, const MlirValue *operands,
                          intptr_t nAttributes, const ShardNamedAttribute *attributes);
/// One result, no attributes.
MlirValue shardMakeValue(ShardLowerBuilder *b, const char *name, MlirType type, intptr_t nOperands,
                         const MlirValue *operands);
MlirValue shardMakeConstant(ShardLowerBuilder *b, MlirType type, MlirAttribute value);
MlirValue shardMakeI64(ShardLowerBuilder *b, int64_t value);
MlirValue shardMakeI32(ShardLowerBuilder *b, int64_t value);
MlirValue shardMakeIndex(ShardLowerBuilder *b, int64_t value);
MlirValue shardMakeAdd(ShardLowerBuilder *b, MlirValue left, MlirValue right);
MlirValue shardMakeMul(ShardLowerBuilder *b, MlirValue left, MlirValue right);
MlirValue shardMakeCast(ShardLowerBuilder *b, MlirValue value, MlirType type); // unrealized
MlirValue shardMakeIndexCast(ShardLowerBuilder *b, MlirValue value, MlirType type);
/// `pointer` + `elements` (i64) of `elementType`.
MlirValue shardMakeElementPointer(ShardLowerBuilder *b, MlirValue pointer, MlirValue elements,
                                  MlirType elementType);
/// Loads or stores a scalar of a tensor: i1 is a byte, index is 64 bits.
MlirValue shardMakeLoad(ShardLowerBuilder *b, MlirValue pointer, MlirType elementType);
void shardMakeStore(ShardLowerBuilder *b, MlirValue value, MlirValue pointer);
/// A call of a function of the module, declared at first use with these types.
MlirOperation shardMakeRuntimeCall(ShardLowerBuilder *b, const char *callee, intptr_t nResults,
                                   const MlirType *results, intptr_t nOperands,
                                   const MlirValue *operands);
/// scf.for from 0 to `count` by `step` (i64); returns its body, whose argument 0 is the index and
/// whose further arguments are the `nCarried` values. The caller ends the body with shardMakeYield.
MlirOperation shardMakeFor(ShardLowerBuilder *b, MlirValue from, MlirValue to, MlirValue step,
                           intptr_t nCarried, const MlirValue *carried);
void shardMakeYield(ShardLowerBuilder *b, intptr_t nValues, const MlirValue *values);

static inline MlirNamedAttribute shardNamed(MlirContext context, const char *name,
                                            MlirAttribute attribute) {
  return mlirNamedAttributeGet(mlirIdentifierGet(context, mlirStringRefCreateFromCString(name)),
                               attribute);
}
/// Parses text that this code wrote.
MlirAttribute shardParseAttribute(ShardLowering *lowering, const char *text);
MlirType shardParseType(ShardLowering *lowering, const char *text);
/// Parses one op of a template, appends it to the module.
MlirOperation shardParseIntoModule(ShardLowering *lowering, const char *text);

/// SHARD_RT_... number of an element type; -1 if the runtime has none.
int32_t shardElementNumber(MlirType elementType);

/// Strides (elements) of a static memref type; false if one is dynamic.
bool shardMemrefGetStrides(MlirType type, int64_t *outStrides);

/// LLVM array type of a static shaped type.
MlirType shardLLVMArrayOf(MlirType shaped, MlirType element);

/// OwnOps.c: ops that a file of rules describes become their bodies. Whether there were any.
MlirLogicalResult shardLowerOwnOps(ShardLowering *lowering, bool *outAny);
/// ProgramInfo.c, and SiteInfo.c: the rows of its sites, an array in order of their numbers.
MlirLogicalResult shardProgramInfoCollect(ShardLowering *lowering);
MlirAttribute shardSiteInfoCollect(ShardLowering *lowering);
/// StepInfo.c: masks of the groups of a stage's collectives, array<i32>, and [array<i64: bytes,
/// count>] of the messages that it receives.
void shardStepInfoCollect(ShardLowering *lowering, MlirOperation stage, MlirAttribute *outGroups,
                          MlirAttribute *outMessages);

/// DynamicInfo.c: `spmd.dynamic`, checked; lists are empty without one.
typedef struct ShardDynamicInfo {
  intptr_t nDims;
  int64_t firstExtent; // argument that is the extent of dims[0]
  MlirAttribute dims, equal, arguments, results;
} ShardDynamicInfo;
MlirLogicalResult shardDynamicInfoRead(ShardLowering *lowering, ShardDynamicInfo *out);
/// Digits of an argument or result, [array<i64: dimension, stored, number, factors>]; null: static.
MlirLogicalResult shardDynamicInfoDigits(ShardLowering *lowering, const ShardDynamicInfo *info,
                                         bool isResult, int64_t index, MlirType global,
                                         MlirAttribute *outDigits);
/// The rows of both, one after the other, for shardRtCheckExtents.
MlirAttribute shardDynamicInfoTable(ShardLowering *lowering, MlirAttribute dims,
                                    MlirAttribute equal);
/// A constant global of these elements; its name, a string.
MlirAttribute shardMakeDataGlobal(ShardLowering *lowering, MlirLocation location,
                                  MlirAttribute value);
/// Its address.
MlirValue shardMakeAddress(ShardLowerBuilder *b, MlirAttribute name);

/// Bodies of loops that only insert into what they carry stand in the loop, not in a function.
void shardInlineSteps(ShardLowering *lowering);
MlirLogicalResult shardLowerToDestinations(ShardLowering *lowering);

/// Whiles.c: rebuilds every scf.while whose regions differ in what they carry, so that each value
/// that it carries keeps one buffer. Never fails.
void shardAlignWhiles(ShardLowering *lowering);
MlirLogicalResult shardPrepareContractions(ShardLowering *lowering);
/// Contractions taken out of the module while passes run that would fuse other ops into them.
typedef struct ShardHidden {
  size_t nOps;
  MlirOperation *contractions, *calls;
} ShardHidden;
ShardHidden *shardHideContractions(ShardLowering *lowering);
void shardShowContractions(ShardLowering *lowering, ShardHidden *hidden);
/// Constants of one value become fills: the object need not carry them.
void shardFillSplats(ShardLowering *lowering);

/// Chains.c: cuts long chains of insertions, on which bufferization would take very long.
void shardCutChains(ShardLowering *lowering);
/// ResultBuffers.c: copies results that would be computed in each other's buffers. The last step on
/// tensors.
void shardKeepResultsApart(ShardLowering *lowering);
/// Memory that a contraction needs; -1 after a diagnostic.
int64_t shardContractionScratchBytes(ShardLowering *lowering, MlirOperation op);

/// Attribute of an LLVM function: the numbers of arguments that may have bytes in common.
#define SHARD_SHARED_ARGUMENTS "shard-shared-arguments"
MlirLogicalResult shardPlanWorkspace(ShardLowering *lowering);
MlirLogicalResult shardLowerBuffers(ShardLowering *lowering);
MlirLogicalResult shardCreateEntries(ShardLowering *lowering);

#endif // SHARD_LOWER_LOWER_H
