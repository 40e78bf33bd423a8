//===- LowerCpu.c - L3, or an unsharded module, to the LLVM dialect -*- C -*-===//
// Reads: functions @main or @main_stageK on tensors with `shard` collectives (FORMATS, L3); any
// linalg-on-tensors module with one public function counts as one stage on one rank.
// Writes: the LLVM dialect, and `spmd.program`, from which shard/Emit.h makes the tables of
// shard/Program.h. Fails: an op or a type without a lowering, at the op.
//===----------------------------------------------------------------------===//

#include "Lower.h"
#include "Target.h"

#include "../Core/Buckets.h"

#include "mlir-c/Dialect/LLVM.h"
#include "mlir-c/Pass.h"
#include "mlir-c/RegisterEverything.h"

#include <string.h>
#include <threads.h>

typedef struct LowerCpuOptions {
  const char *mcpu;
  int64_t vectorBits;
  const char *to;
} LowerCpuOptions;

static const ShardOption optionTable[] = {
    SHARD_OPTION(LowerCpuOptions, mcpu, "mcpu", "host", "",
                 "CPU to generate code for: host, generic, or LLVM's name of one"),
    SHARD_OPTION(LowerCpuOptions, vectorBits, "vector-bits", "0", "0..2048",
                 "Width of vectors in bits; 0: the CPU's (128 if it is not known here)"),
    SHARD_OPTION(LowerCpuOptions, to, "to", "llvm", "llvm|buffers",
                 "How far: LLVM, or memory that is planned but not addressed yet"),
};

// A pass that this code names exists; its complaints would have nobody to read them.
static void ignoreText(MlirStringRef text, void *user) {
  (void)text;
  (void)user;
}

/// Pipeline text finds upstream's passes in MLIR's process-wide registry; a host may have none
/// there.
static void registerUpstream(void) { mlirRegisterAllPasses(); }

static MlirLogicalResult runPipeline(ShardLowering *lowering, const char *passes) {
  static once_flag once = ONCE_FLAG_INIT;
  call_once(&once, registerUpstream);
  MlirPassManager manager = mlirPassManagerCreateOnOperation(
      lowering->context, mlirStringRefCreateFromCString("builtin.module"));
  MlirLogicalResult result =
      mlirOpPassManagerAddPipeline(mlirPassManagerGetAsOpPassManager(manager),
                                   mlirStringRefCreateFromCString(passes), ignoreText, NULL);
  if (mlirLogicalResultIsFailure(result))
    shardEmitError(lowering->module, "internal error: MLIR does not know the passes '%s'", passes);
  else
    result = mlirPassManagerRunOnOp(manager, lowering->module);
  mlirPassManagerDestroy(manager);
  return result;
}

/// What no conversion has taken would be a complaint of the translation, without a hint.
static MlirLogicalResult checkLowered(void *user, MlirOperation op) {
  (void)user;
  MlirStringRef name = shardOpGetName(op);
  if (shardStringIs(name, "builtin.module") || shardNameHasDialect(name, "llvm"))
    return mlirLogicalResultSuccess();
  return shardEmitError(op, "'%.*s' has no lowering", (int)name.length, name.data);
}

/// Where values come from (L3) is of no use to code, and would keep equal ops apart.
static MlirLogicalResult dropOrigins(void *user, MlirOperation op) {
  static const char *const names[] = {"spmd.origin", "spmd.sharding", "spmd.view", "spmd.partial",
                                      "spmd.extent"};
  (void)user;
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i)
    if (!mlirAttributeIsNull(shardOpGetAttribute(op, names[i])))
      shardOpRemoveAttribute(op, names[i]);
  return mlirLogicalResultSuccess();
}

MlirLogicalResult shardLoweringCreate(MlirOperation module, ShardArena *arena, const char *mcpu,
                                      int64_t vectorBits, ShardLowering *out) {
  MlirContext context = mlirOperationGetContext(module);
  if (!shardTargetIsKnown(mcpu))
    return shardEmitError(module, "LLVM knows no CPU '%s' of this machine's architecture", mcpu);
  *out = (ShardLowering){
      .context = context,
      .module = module,
      .arena = arena,
      .pointer = mlirLLVMPointerTypeGet(context, 0),
      .i1 = mlirIntegerTypeGet(context, 1),
      .i8 = mlirIntegerTypeGet(context, 8),
      .i32 = mlirIntegerTypeGet(context, 32),
      .i64 = mlirIntegerTypeGet(context, 64),
      .index = mlirIndexTypeGet(context),
      .f32 = mlirF32TypeGet(context),
      .f64 = mlirF64TypeGet(context),
      .target = shardTargetGet(mcpu, vectorBits),
  };
  return mlirLogicalResultSuccess();
}

#define STEP(call)                                                                                 \
  if (mlirLogicalResultIsFailure(call))                                                            \
  return mlirLogicalResultFailure()

MlirLogicalResult shardLowerToBuffers(ShardLowering *lowering) {
  bool own;
  STEP(shardLowerOwnOps(lowering, &own));
  if (own)
    STEP(runPipeline(lowering, "func.func(canonicalize,cse)"));
  STEP(shardProgramInfoCollect(lowering));
  STEP(shardWalk(lowering->module, NULL, dropOrigins, NULL));
  shardInlineSteps(lowering);
  STEP(runPipeline(lowering, "func.func(convert-elementwise-to-linalg)"));
  STEP(shardLowerToDestinations(lowering));
  STEP(shardPrepareContractions(lowering));
  ShardHidden *hidden = shardHideContractions(lowering);
  MlirLogicalResult fused =
      runPipeline(lowering, "func.func(linalg-fuse-elementwise-ops,lower-affine)");
  shardShowContractions(lowering, hidden);
  STEP(fused);
  shardFillSplats(lowering);
  shardCutChains(lowering);
  shardKeepResultsApart(lowering);
  STEP(runPipeline(lowering, "func.func(eliminate-empty-tensors),one-shot-bufferize,"
                             "func.func(linalg-generalize-named-ops)"));
  return shardPlanWorkspace(lowering);
}

static MlirLogicalResult lowerModule(const ShardPassRun *run, MlirOperation module) {
  const LowerCpuOptions *options = run->options;
  ShardLowering lowering;
  STEP(shardLoweringCreate(module, run->arena, options->mcpu, options->vectorBits, &lowering));
  STEP(shardLowerToBuffers(&lowering));
  if (strcmp(options->to, "buffers") == 0)
    return mlirLogicalResultSuccess();
  STEP(shardLowerBuffers(&lowering));
  STEP(shardCreateEntries(&lowering));
  STEP(runPipeline(&lowering, "arith-expand{include-bf16=true},convert-scf-to-cf,convert-to-llvm,"
                              "reconcile-unrealized-casts"));
  STEP(shardWalk(lowering.module, NULL, checkLowered, NULL));
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult runLowerCpu(ShardPassRun *run) {
  ShardOpList buckets = {.arena = run->arena};
  shardBucketsTake(run->op, &buckets);
  MlirLogicalResult result = lowerModule(run, run->op);
  for (size_t i = 0; i < buckets.nOps && mlirLogicalResultIsSuccess(result); ++i)
    result = lowerModule(run, buckets.ops[i]);
  shardBucketsGive(run->op, &buckets);
  return result;
}
#undef STEP

const ShardPassInfo shardLowerCpuPass = {
    .argument = "shard-lower-cpu",
    .summary = "Lower per-device functions to the LLVM dialect for CPU ranks",
    .anchor = "builtin.module",
    .dialects = "bufferization llvm memref ub vector",
    SHARD_PASS_OPTIONS(LowerCpuOptions, optionTable),
    .run = runLowerCpu,
};
