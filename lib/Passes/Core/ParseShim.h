//===- ParseShim.h - Parse a module under a file name -------------*- C -*-===//
#ifndef SHARD_CORE_PARSESHIM_H
#define SHARD_CORE_PARSESHIM_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/// mlirModuleCreateParse with a name for locations. A zero must follow the text.
MlirModule shardParseNamed(MlirContext context, MlirStringRef text, MlirStringRef name);

#ifdef __cplusplus
}
#endif
#endif // SHARD_CORE_PARSESHIM_H
