//===- MemoryLimit.c - A plan that a device cannot hold ------------*- C -*-===//

#include "shard/MemoryPlan.h"

#include "../Core/Diagnostics.h"
#include "../Core/IR.h"
#include "../Core/Text.h"

#include <inttypes.h>
#include <stdlib.h>

enum { N_LARGEST = 5 };

/// A tensor that is alive at the peak.
typedef struct Tensor {
  int64_t bytes;
  size_t number; // in the order of the plan
  const char *text;
} Tensor;

static int compareTensors(const void *a, const void *b) {
  const Tensor *x = a, *y = b;
  if (x->bytes != y->bytes)
    return x->bytes < y->bytes ? 1 : -1;
  return (x->number > y->number) - (x->number < y->number);
}

static void addValues(ShardArena *arena, intptr_t n, const ShardMemoryValue *values,
                      const char *kind, Tensor *tensors, size_t *nTensors) {
  for (intptr_t i = 0; i < n; ++i) {
    const ShardMemoryValue *value = &values[i];
    tensors[*nTensors] =
        (Tensor){value->bytes, *nTensors,
                 shardArenaFormat(arena, "%s %s %" PRId64 " bytes (%s %" PRId64 "%s%s)",
                                  shardMemoryClassName(value->class_), value->type, value->bytes,
                                  kind, value->index, *value->name ? " " : "", value->name)};
    ++*nTensors;
  }
}

/// The largest tensors at the stage's peak, "; " between them.
static const char *largestTensors(ShardArena *arena, const ShardMemoryStage *stage) {
  Tensor *tensors =
      SHARD_ARENA_ARRAY(arena, Tensor, stage->nArguments + stage->nResults + stage->nBuffers + 1);
  size_t n = 0;
  addValues(arena, stage->nArguments, stage->arguments, "argument", tensors, &n);
  addValues(arena, stage->nResults, stage->results, "result", tensors, &n);
  if (stage->stagingBytes) {
    tensors[n] =
        (Tensor){stage->stagingBytes, n,
                 shardArenaFormat(arena, "%s %" PRId64 " bytes (messages that may come early)",
                                  shardMemoryClassName(SHARD_MEMORY_STAGING), stage->stagingBytes)};
    ++n;
  }
  for (intptr_t i = 0; i < stage->nBuffers; ++i) {
    const ShardMemoryBuffer *buffer = &stage->buffers[i];
    if (!buffer->atPeak)
      continue;
    tensors[n] = (Tensor){buffer->bytes, n,
                          shardArenaFormat(arena, "%s %s %" PRId64 " bytes (%s)",
                                           shardMemoryClassName(buffer->class_),
                                           *buffer->type ? buffer->type : "panel", buffer->bytes,
                                           buffer->op)};
    ++n;
  }
  qsort(tensors, n, sizeof(*tensors), compareTensors);
  const char *text = "";
  for (size_t i = 0; i < n && i < N_LARGEST; ++i)
    text = shardArenaFormat(arena, "%s%s%s", text, i ? "; " : "", tensors[i].text);
  return text;
}

/// The op of the stage's function at which the peak is.
static MlirOperation findPeak(MlirOperation module, const ShardMemoryStage *stage) {
  MlirOperation func = shardModuleLookup(module, mlirStringRefCreateFromCString(stage->function));
  if (mlirOperationIsNull(func) || !stage->nSteps)
    return mlirOperationIsNull(func) ? module : func;
  MlirOperation op = mlirBlockGetFirstOperation(shardFuncGetBody(func));
  for (int64_t i = stage->steps[stage->peakStep].op; i > 0 && !mlirOperationIsNull(op); --i)
    op = mlirOperationGetNextInBlock(op);
  return mlirOperationIsNull(op) ? func : op;
}

MlirLogicalResult shardMemoryPlanCheck(const ShardMemoryPlan *plan, MlirOperation module,
                                       int64_t limitBytes) {
  const ShardMemoryStage *worst = NULL;
  for (int32_t s = 0; s < plan->nStages; ++s)
    if (!worst || plan->stages[s].peakBytes > worst->peakBytes)
      worst = &plan->stages[s];
  if (!worst || worst->peakBytes <= limitBytes)
    return mlirLogicalResultSuccess();
  ShardArena *arena = shardArenaCreate();
  shardEmitError(findPeak(module, worst),
                 "stage %d needs %" PRId64 " bytes on a device, and the limit is %" PRId64
                 "; the largest tensors at the peak: %s",
                 worst->stage, worst->peakBytes, limitBytes, largestTensors(arena, worst));
  shardArenaDestroy(arena);
  return mlirLogicalResultFailure();
}
