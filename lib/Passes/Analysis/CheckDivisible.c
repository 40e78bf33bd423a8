//===- CheckDivisible.c - Reject shardings that need padding ------*- C -*-===//
// Reads: `shard.shard`. Writes: nothing. Fails: dimension 0 is uneven.
//===----------------------------------------------------------------------===//

#include "../Core/Pass.h"

#include "mlir-c/BuiltinTypes.h"

#include <inttypes.h>

typedef struct CheckDivisibleOptions {
  int64_t axisSize; // devices along the checked mesh axis
} CheckDivisibleOptions;
static const ShardOption optionTable[] = {
    SHARD_OPTION(CheckDivisibleOptions, axisSize, "axis-size", "1", "1..", "Devices on the axis"),
};

static MlirLogicalResult checkShardOp(ShardPassRun *run, MlirOperation op) {
  const CheckDivisibleOptions *options = run->options;
  MlirType type = mlirValueGetType(mlirOperationGetResult(op, 0));
  if (!mlirTypeIsARankedTensor(type) || mlirShapedTypeGetRank(type) == 0 ||
      mlirShapedTypeIsDynamicDim(type, 0))
    return mlirLogicalResultSuccess();
  int64_t size = mlirShapedTypeGetDimSize(type, 0);
  if (size % options->axisSize == 0)
    return mlirLogicalResultSuccess();
  return shardEmitError(op, "dimension 0 is %" PRId64 ", not a multiple of axis size %" PRId64,
                        size, options->axisSize);
}

static MlirLogicalResult runCheckDivisible(ShardPassRun *run) {
  return shardVisitOps(run, "shard.shard", checkShardOp);
}

const ShardPassInfo shardCheckDivisiblePass = {
    .argument = "shard-check-divisible",
    .summary = "Reject shardings that need padding",
    .anchor = "func.func",
    SHARD_PASS_OPTIONS(CheckDivisibleOptions, optionTable),
    .run = runCheckDivisible,
};
