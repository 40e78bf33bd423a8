//===- ParseShim.h - Parse a module under a file name -------------*- C -*-===//
#ifndef SHARD_CORE_PARSESHIM_H
#define SHARD_CORE_PARSESHIM_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/// mlirModuleCreateParse with a name for locations. A zero must follow the text. Null, without a
/// diagnostic or after one, also where the parser fails with a signal; for that the process's
/// handlers of such signals are LLVM's while it reads. Calls in several threads may take that from
/// each other, nothing else.
MlirModule shardParseNamed(MlirContext context, MlirStringRef text, MlirStringRef name);

#ifdef __cplusplus
}
#endif
#endif // SHARD_CORE_PARSESHIM_H
