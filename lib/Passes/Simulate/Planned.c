//===- Planned.c - Memory of stages from the program's plan --------*- C -*-===//
// A program that can be lowered has a memory plan (shard/MemoryPlan.h), and the simulator reads it.
// Without one, for an op without a lowering, what shardBlockLiveBytes says of the text stands.
//===----------------------------------------------------------------------===//
#include "Simulate.h"

#include "../Core/Diagnostics.h"

/// The step of the plan with the most bytes among those of ops [from, to], -1: none. `first`: of
/// each op the first of its steps, which go on in `next`.
static int64_t highestStep(const ShardMemoryStage *plan, const int64_t *first, const int64_t *next,
                           int64_t from, int64_t to) {
  int64_t best = -1;
  for (int64_t op = from; op <= to; ++op)
    for (int64_t k = first[op]; k >= 0; k = next[k])
      if (best < 0 || plan->steps[k].bytes > plan->steps[best].bytes)
        best = k;
  return best;
}

static void setMemory(SimStep *step, const SimStage *stage, int64_t row) {
  const ShardMemoryStage *plan = stage->plan;
  step->memoryByClass = plan->steps[row].byClass;
  // Gaps between buffers count where the most is live: the device must have the whole workspace.
  step->memoryBytes = row == plan->peakStep ? plan->workspaceBytes
                                            : plan->steps[row].bytes - plan->argumentBytes -
                                                  plan->resultBytes - plan->stagingBytes;
}

/// Ops that take no time count with the next that does.
static void usePlan(SimProgram *program, SimStage *stage) {
  const ShardMemoryStage *plan = stage->plan;
  SimBody *body = (SimBody *)stage->body; // this reader's own
  ShardPointerMap *numbers = shardPointerMapCreate(program->arena, 256);
  int64_t nOps = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(body->block); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op))
    shardPointerMapSet(numbers, op.ptr, nOps++);
  int64_t *first = SHARD_ARENA_ARRAY(program->arena, int64_t, nOps + 1);
  int64_t *next = SHARD_ARENA_ARRAY(program->arena, int64_t, plan->nSteps + 1);
  for (int64_t i = 0; i < nOps; ++i)
    first[i] = -1;
  for (int64_t k = plan->nSteps; k-- > 0;)
    if (plan->steps[k].op < nOps) {
      next[k] = first[plan->steps[k].op];
      first[plan->steps[k].op] = k;
    }
  stage->argumentBytes = plan->argumentBytes;
  stage->resultBytes = plan->resultBytes;
  stage->stagingBytes = plan->stagingBytes;
  body->peakBytes = plan->workspaceBytes;
  body->peakOp = (MlirOperation){NULL};
  int64_t from = 0, row = -1;
  for (size_t i = 0; i < body->nSteps; ++i) {
    SimStep *step = &body->steps[i];
    int64_t to = shardPointerMapGetOr(numbers, step->op.ptr, 0);
    bool last = i + 1 == body->nSteps;
    int64_t highest = highestStep(plan, first, next, from, last ? nOps - 1 : to);
    row = highest >= 0 ? highest : row;
    if (row >= 0)
      setMemory(step, stage, row);
    if (row == plan->peakStep && !body->peakOp.ptr)
      body->peakOp = step->op;
    from = to + 1 > from ? to + 1 : from;
  }
}

void simUsePlan(SimProgram *program) {
  ShardFirstError first;
  shardFirstErrorBegin(&first, program->module, program->arena);
  program->plan = shardMemoryPlanCreate(program->module, program->mcpu);
  const char *error = shardFirstErrorEnd(&first);
  program->estimatedBecause =
      error ? shardArenaFormat(program->arena, "%s (%s)", error,
                               shardLocationText(first.location, program->arena))
            : "the plan has no such stage";
  for (int32_t s = 0; program->plan && s < program->plan->nStages && s < program->nStages; ++s) {
    program->stages[s].plan = &program->plan->stages[s];
    usePlan(program, &program->stages[s]);
  }
}
