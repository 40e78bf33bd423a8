//===- passes.c - Time of some passes against that of others ------*- C -*-===//
// bench-passes BAR ROUNDS MODULE.mlir BEFORE OURS PEERS
// Parses MODULE, brings a copy to where OURS begins by the pipeline BEFORE, then runs the pipeline
// OURS on copies of that and the pipeline PEERS on copies of MODULE in turn, in this process on
// this thread, in time of the thread. Pipelines are as --pass-pipeline takes them; the verifier is
// off on both sides. Bar: the median of OURS / PEERS. Exit 1: it is over BAR.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "Bench.h"

#include "shard/Passes.h"
#include "shard/Pipelines.h"

#include "mlir-c/Pass.h"
#include "mlir-c/RegisterEverything.h"

#include <stdio.h>
#include <stdlib.h>

static void printError(MlirStringRef text, void *userData) {
  (void)userData;
  fwrite(text.data, 1, text.length, stderr);
}

/// Runs a pipeline; returns its seconds.
static double run(MlirOperation module, const char *pipeline) {
  MlirPassManager manager = mlirPassManagerCreate(mlirOperationGetContext(module));
  mlirPassManagerEnableVerifier(manager, false);
  MlirLogicalResult parsed =
      mlirParsePassPipeline(mlirPassManagerGetAsOpPassManager(manager),
                            mlirStringRefCreateFromCString(pipeline), printError, NULL);
  if (mlirLogicalResultIsFailure(parsed))
    benchFail("a pipeline does not parse");
  double start = benchNow(CLOCK_THREAD_CPUTIME_ID);
  if (mlirLogicalResultIsFailure(mlirPassManagerRunOnOp(manager, module)))
    benchFail("a pipeline failed");
  double seconds = benchNow(CLOCK_THREAD_CPUTIME_ID) - start;
  mlirPassManagerDestroy(manager);
  return seconds;
}

static double runOnCopy(MlirOperation module, const char *pipeline) {
  MlirOperation copy = mlirOperationClone(module);
  double seconds = run(copy, pipeline);
  mlirOperationDestroy(copy);
  return seconds;
}

int main(int argc, char **argv) {
  benchStart("bench-passes");
  if (argc != 7)
    benchFail("usage: bench-passes BAR ROUNDS MODULE.mlir BEFORE OURS PEERS");
  MlirContext context = mlirContextCreate();
  mlirContextEnableMultithreading(context, false);
  shardContextPrepare(context);
  shardPassesRegister();
  mlirRegisterAllPasses();
  MlirModule module = shardModuleParseFile(context, argv[3]);
  if (mlirModuleIsNull(module))
    benchFail("no module");
  MlirOperation theirs = mlirModuleGetOperation(module), ours = mlirOperationClone(theirs);
  run(ours, argv[4]);
  static BenchPairs pairs;
  for (int round = atoi(argv[2]); round >= 0; --round) {
    double seconds = runOnCopy(ours, argv[5]), peers = runOnCopy(theirs, argv[6]);
    if (round < atoi(argv[2])) // the first fills the context's tables for both
      benchPairsAdd(&pairs, seconds, peers);
  }
  return !benchPairsHold(&pairs, argv[5], argv[6], atof(argv[1]));
}
