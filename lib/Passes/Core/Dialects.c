//===- Dialects.c - What to tell who comes with another dialect ---*- C -*-===//
#include "Dialects.h"

#include <string.h>

#define FROM_STABLEHLO                                                                             \
  "export from PyTorch with torch-mlir's OutputType.LINALG_ON_TENSORS or OutputType.TOSA, or "     \
  "lower it first with stablehlo-opt --stablehlo-legalize-to-linalg"
#define FROM_TORCH "export with torch-mlir's OutputType.LINALG_ON_TENSORS or OutputType.TOSA"

static const struct {
  const char *dialect, *advice;
} adviceTable[] = {
    {"stablehlo", FROM_STABLEHLO},
    {"chlo", FROM_STABLEHLO},
    {"vhlo", FROM_STABLEHLO},
    {"mhlo", FROM_STABLEHLO},
    {"sdy", "export without Shardy (jax_use_shardy_partitioner=False); the compiler chooses the "
            "shardings itself, or takes shard.shard annotations on linalg"},
    {"mpmd", "export without Shardy's mpmd; the compiler cuts the stages itself"},
    {"torch", FROM_TORCH},
    {"torch_c", FROM_TORCH},
    {"tm_tensor", "print it in generic form (torch-mlir-opt --mlir-print-op-generic), of which "
                  "scan, sort, topk, "
                  "scatter and attention are read, or export with torch-mlir's OutputType.TOSA"},
    {"onnx", "import it with torch-mlir-import-onnx and lower it to linalg on tensors"},
    {"tf", "lower it first with tf-opt --tf-to-tosa-pipeline"},
    {"tfl", "lower it first with tf-opt --tfl-to-tosa-pipeline"},
};

const char *shardDialectGetAdvice(MlirStringRef dialect) {
  for (size_t i = 0; i < sizeof(adviceTable) / sizeof(adviceTable[0]); ++i)
    if (mlirStringRefEqual(dialect, mlirStringRefCreateFromCString(adviceTable[i].dialect)))
      return adviceTable[i].advice;
  return NULL;
}

MlirStringRef shardDialectOfOp(MlirStringRef opName) {
  const char *dot = opName.length ? memchr(opName.data, '.', opName.length) : NULL;
  return mlirStringRefCreate(opName.data, dot ? (size_t)(dot - opName.data) : 0);
}
