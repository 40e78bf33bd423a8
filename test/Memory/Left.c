//===- Left.c - What a memory plan that fails leaves behind --------*- C -*-===//
// shard-memory-left program.mlir: plans for a CPU that there is not, again and again; what is
// allocated does not grow.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "shard/MemoryPlan.h"
#include "shard/Pipelines.h"

#include "mlir-c/Diagnostics.h"

#include <malloc.h>
#include <stdio.h>

static MlirLogicalResult hear(MlirDiagnostic diagnostic, void *user) {
  (void)diagnostic;
  ++*(int *)user;
  return mlirLogicalResultSuccess();
}

int main(int argc, char **argv) {
  enum { times = 20 };
  int nErrors = 0;
  if (argc != 2)
    return 2;
  MlirContext context = mlirContextCreateWithThreading(false);
  mlirContextAttachDiagnosticHandler(context, hear, &nErrors, NULL);
  shardContextPrepare(context);
  MlirModule module = shardModuleParseFile(context, argv[1]);
  if (mlirModuleIsNull(module))
    return 2;
  size_t before = 0;
  int nPlans = 0;
  for (int i = 0; i <= times; ++i) {
    ShardMemoryPlan *plan = shardMemoryPlanCreate(mlirModuleGetOperation(module), "no-such-cpu");
    nPlans += plan != NULL;
    shardMemoryPlanDestroy(plan);
    if (i == 0) // the context keeps what it has seen
      before = mallinfo2().uordblks;
  }
  size_t after = mallinfo2().uordblks, left = after > before ? after - before : 0;
  printf("%d plans, %d errors, %s\n", nPlans, nErrors,
         left < (size_t)times * 256 ? "nothing left" : "more is left with each");
  if (left >= (size_t)times * 256)
    printf("%zu bytes\n", left);
  mlirModuleDestroy(module);
  mlirContextDestroy(context);
  return 0;
}
