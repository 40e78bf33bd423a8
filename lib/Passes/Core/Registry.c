//===- Registry.c - The table of passes and pipelines -------------*- C -*-===//
#include "Registry.h"

#include "mlir-c/Dialect/Affine.h"
#include "mlir-c/Dialect/Arith.h"
#include "mlir-c/Dialect/Async.h"
#include "mlir-c/Dialect/Bufferization.h"
#include "mlir-c/Dialect/ControlFlow.h"
#include "mlir-c/Dialect/Func.h"
#include "mlir-c/Dialect/GPU.h"
#include "mlir-c/Dialect/Index.h"
#include "mlir-c/Dialect/LLVM.h"
#include "mlir-c/Dialect/Linalg.h"
#include "mlir-c/Dialect/Math.h"
#include "mlir-c/Dialect/MemRef.h"
#include "mlir-c/Dialect/SCF.h"
#include "mlir-c/Dialect/Shard.h"
#include "mlir-c/Dialect/Tensor.h"
#include "mlir-c/Dialect/Tosa.h"
#include "mlir-c/Dialect/Transform.h"
#include "mlir-c/Dialect/UB.h"
#include "mlir-c/Dialect/Vector.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHARD_PASS(Name) extern const ShardPassInfo shard##Name##Pass;
#include "../Passes.def"

static const struct {
  const ShardPassInfo *info;
  bool inPipeline;
} passTable[] = {
#define SHARD_PASS(Name) {&shard##Name##Pass, true},
#define SHARD_CHECK_PASS(Name) {&shard##Name##Pass, false},
#include "../Passes.def"
};

intptr_t shardPassInfoCount(void) { return sizeof(passTable) / sizeof(passTable[0]); }

const ShardPassInfo *shardPassInfoGet(intptr_t index) {
  assert(index >= 0 && index < shardPassInfoCount());
  return passTable[index].info;
}

bool shardPassInfoIsInPipeline(intptr_t index) { return passTable[index].inPipeline; }

const ShardPassInfo *shardPassInfoFind(MlirStringRef argument) {
  for (intptr_t i = 0; i < shardPassInfoCount(); ++i)
    if (shardStringIs(argument, passTable[i].info->argument))
      return passTable[i].info;
  return NULL;
}

static const ShardPipelineInfo pipelineTable[] = {
    {.argument = "shard-auto",
     .summary = "Shard a one-device program: the passes of --auto-shard in order",
     .last = "shard-spmdize"},
    {.argument = "shard-auto-cpu",
     .summary = "Shard a one-device program, then lower it to CPU code",
     .last = "shard-lower-cpu"},
};

intptr_t shardPipelineInfoCount(void) { return sizeof(pipelineTable) / sizeof(pipelineTable[0]); }

const ShardPipelineInfo *shardPipelineInfoGet(intptr_t index) {
  assert(index >= 0 && index < shardPipelineInfoCount());
  return &pipelineTable[index];
}

//===----------------------------------------------------------------------===//
// One pass object
//===----------------------------------------------------------------------===//

// Shared by a pass and the clones that MLIR makes for its threads; constant after parsing.
typedef struct PassInstance {
  const ShardPassInfo *info;
  ShardArena *arena; // of the options
  void *options;
  atomic_int references; // pass objects alive
} PassInstance;

static void constructPass(void *user) { atomic_fetch_add(&((PassInstance *)user)->references, 1); }

static void destructPass(void *user) {
  PassInstance *instance = user;
  if (atomic_fetch_sub(&instance->references, 1) == 1)
    shardArenaDestroy(instance->arena); // holds the instance too
}

static void *clonePass(void *user) { return user; } // its construct counts it

static void runPass(MlirOperation op, MlirExternalPass pass, void *user) {
  const PassInstance *instance = user;
  ShardPassRun run = {mlirOperationGetContext(op), op, instance->options, shardArenaCreate()};
  if (mlirLogicalResultIsFailure(instance->info->run(&run)))
    mlirExternalPassSignalFailure(pass);
  shardArenaDestroy(run.arena);
}

typedef struct NamedDialect {
  const char *name;
  MlirDialectHandle (*get)(void);
} NamedDialect;
static const NamedDialect usualDialects[] = {
    {"arith", mlirGetDialectHandle__arith__}, {"cf", mlirGetDialectHandle__cf__},
    {"func", mlirGetDialectHandle__func__},   {"linalg", mlirGetDialectHandle__linalg__},
    {"math", mlirGetDialectHandle__math__},   {"scf", mlirGetDialectHandle__scf__},
    {"shard", mlirGetDialectHandle__shard__}, {"tensor", mlirGetDialectHandle__tensor__},
};
static const NamedDialect otherDialects[] = {
    {"affine", mlirGetDialectHandle__affine__},
    {"async", mlirGetDialectHandle__async__},
    {"bufferization", mlirGetDialectHandle__bufferization__},
    {"gpu", mlirGetDialectHandle__gpu__},
    {"index", mlirGetDialectHandle__index__},
    {"llvm", mlirGetDialectHandle__llvm__},
    {"memref", mlirGetDialectHandle__memref__},
    {"tosa", mlirGetDialectHandle__tosa__},
    {"transform", mlirGetDialectHandle__transform__},
    {"ub", mlirGetDialectHandle__ub__},
    {"vector", mlirGetDialectHandle__vector__},
};
enum {
  nUsualDialects = sizeof(usualDialects) / sizeof(usualDialects[0]),
  nOtherDialects = sizeof(otherDialects) / sizeof(otherDialects[0]),
};

static intptr_t dialectsOf(const ShardPassInfo *info, MlirDialectHandle *handles) {
  intptr_t count = 0;
  for (int i = 0; i < nUsualDialects; ++i)
    handles[count++] = usualDialects[i].get();
  for (const char *p = info->dialects ? info->dialects : ""; *p;) {
    size_t length = strcspn(p, " ");
    bool found = false;
    for (int i = 0; i < nOtherDialects; ++i)
      if (strlen(otherDialects[i].name) == length &&
          memcmp(otherDialects[i].name, p, length) == 0) {
        handles[count++] = otherDialects[i].get();
        found = true;
      }
    assert((found || !length) && "unknown dialect in a pass's table row");
    (void)found;
    p += length + (p[length] == ' ');
  }
  return count;
}

void shardPassLoadDialects(const ShardPassInfo *info, MlirContext context) {
  MlirDialectHandle handles[nUsualDialects + nOtherDialects];
  for (intptr_t i = 0, n = dialectsOf(info, handles); i < n; ++i)
    mlirDialectHandleLoadDialect(handles[i], context);
}

MlirPass shardPassCreate(const ShardPassInfo *info, MlirStringRef options, char *message,
                         size_t messageBytes) {
  ShardArena *arena = shardArenaCreate();
  PassInstance *instance = SHARD_ARENA_NEW(arena, PassInstance);
  instance->info = info;
  instance->arena = arena;
  instance->options = shardArenaAllocate(arena, info->optionsSize);
  atomic_init(&instance->references, 0);
  const char *why = NULL;
  if (!shardPassOptionsParse(info, options, instance->options, arena, &why)) {
    snprintf(message, messageBytes, "%s", why);
    shardArenaDestroy(arena);
    return (MlirPass){NULL};
  }
  // The argument carries the options, so that pipelines print and reproducers run them again.
  const char *argument = info->argument;
  if (options.length && options.data[0] == '{')
    argument = shardArenaFormat(arena, "%s%.*s", argument, (int)options.length, options.data);
  else if (options.length)
    argument = shardArenaFormat(arena, "%s{%.*s}", argument, (int)options.length, options.data);
  MlirDialectHandle handles[nUsualDialects + nOtherDialects];
  intptr_t nHandles = dialectsOf(info, handles);
  MlirExternalPassCallbacks callbacks = {
      .construct = constructPass, .destruct = destructPass, .clone = clonePass, .run = runPass};
  return mlirCreateExternalPass(
      mlirTypeIDCreate(info), mlirStringRefCreateFromCString(info->argument),
      mlirStringRefCreateFromCString(argument), mlirStringRefCreateFromCString(info->summary),
      mlirStringRefCreateFromCString(info->anchor), nHandles, handles, callbacks, instance);
}

typedef struct VisitState {
  ShardPassRun *run;
  MlirLogicalResult (*visit)(ShardPassRun *run, MlirOperation op);
} VisitState;

static MlirLogicalResult visitOp(void *user, MlirOperation op) {
  VisitState *state = user;
  return state->visit(state->run, op);
}

MlirLogicalResult shardVisitOps(ShardPassRun *run, const char *name,
                                MlirLogicalResult (*visit)(ShardPassRun *run, MlirOperation op)) {
  VisitState state = {run, visit};
  return shardWalk(run->op, name, visitOp, &state);
}
