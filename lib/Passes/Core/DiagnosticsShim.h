//===- DiagnosticsShim.h - What the C API lacks for diagnostics ---*- C -*-===//
#ifndef SHARD_CORE_DIAGNOSTICSSHIM_H
#define SHARD_CORE_DIAGNOSTICSSHIM_H

#include "mlir-c/Diagnostics.h"
#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Emits one diagnostic with at most one note. `note` null: none.
void shardDiagnosticEmit(MlirLocation location, MlirDiagnosticSeverity severity, MlirStringRef text,
                         MlirLocation noteLocation, const char *note);

#ifdef __cplusplus
}
#endif
#endif // SHARD_CORE_DIAGNOSTICSSHIM_H
