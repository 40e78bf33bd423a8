//===- Annotations.c - Fuzz target: the file of --annotations -----*- C -*-===//
// The parser is a pass: it runs on a small module as shard-import would leave it, with the input in
// a file that has no place on disk.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE

#include "../../lib/Passes/Core/Pass.h"

#include "mlir-c/Diagnostics.h"
#include "mlir-c/IR.h"
#include "mlir-c/RegisterEverything.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern const ShardPassInfo shardAnnotatePass;
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sizeBytes);

static void require(bool holds, const char *what) {
  if (holds)
    return;
  fprintf(stderr, "fuzz-annotations: broken: %s\n", what);
  abort();
}

static const char model[] = "func.func @main(%x: tensor<4x8xf32> {spmd.arg = 0 : i64, spmd.name = "
                            "\"x\", spmd.role = \"input\"},\n"
                            "    %w: tensor<8x16xf32> {spmd.arg = 1 : i64, spmd.name = "
                            "\"layers.0.w\", spmd.role = \"weight\"},\n"
                            "    %v: tensor<16xf32> {spmd.arg = 2 : i64, spmd.name = "
                            "\"layers.0.v\", spmd.role = \"weight\"}) -> tensor<4x16xf32> {\n"
                            "  %e = tensor.empty() : tensor<4x16xf32> loc(\"model.mlir\":1:1)\n"
                            "  %y = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>) "
                            "outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32> "
                            "loc(\"model.mlir\":2:1)\n"
                            "  return %y : tensor<4x16xf32>\n"
                            "}\n";

static MlirContext context;
static MlirModule original;
static unsigned runsOfContext;
static int nErrors;

static MlirLogicalResult countErrors(MlirDiagnostic diagnostic, void *userData) {
  (void)userData;
  nErrors += mlirDiagnosticGetSeverity(diagnostic) == MlirDiagnosticError;
  return mlirLogicalResultSuccess();
}

/// A context keeps every attribute it has seen, so that it is made anew now and then.
static void prepare(void) {
  if (context.ptr && ++runsOfContext < 5000)
    return;
  if (context.ptr) {
    mlirModuleDestroy(original);
    mlirContextDestroy(context);
  }
  runsOfContext = 0;
  context = mlirContextCreateWithThreading(false);
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  mlirRegisterAllDialects(registry);
  mlirContextAppendDialectRegistry(context, registry);
  mlirDialectRegistryDestroy(registry);
  mlirContextAttachDiagnosticHandler(context, countErrors, NULL, NULL);
  original = mlirModuleCreateParse(context, mlirStringRefCreateFromCString(model));
  require(!mlirModuleIsNull(original), "the module parses");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sizeBytes) {
  prepare();
  int file = memfd_create("annotations", MFD_CLOEXEC);
  require(file >= 0 && write(file, data, sizeBytes) == (ssize_t)sizeBytes, "a file in memory");
  char path[64];
  snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
  char *options = calloc(1, shardAnnotatePass.optionsSize);
  require(options && shardAnnotatePass.nOptions == 1, "the pass has one option");
  const char *text = path;
  memcpy(options + shardAnnotatePass.options[0].offset, &text, sizeof(text));

  MlirOperation module = mlirOperationClone(mlirModuleGetOperation(original));
  ShardPassRun run = {context, module, options, shardArenaCreate()};
  nErrors = 0;
  bool failed = mlirLogicalResultIsFailure(shardAnnotatePass.run(&run));
  require(nErrors == failed, "a refusal is exactly one error, and an error a refusal");
  require(failed || mlirOperationVerify(module), "the annotated module verifies");
  shardArenaDestroy(run.arena);
  mlirOperationDestroy(module);
  free(options);
  close(file);
  return 0;
}
