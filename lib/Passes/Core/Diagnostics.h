//===- Diagnostics.h - One error a failure, at the op -------------*- C -*-===//
#ifndef SHARD_CORE_DIAGNOSTICS_H
#define SHARD_CORE_DIAGNOSTICS_H

#include "Text.h"

#include "mlir-c/Diagnostics.h"
#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Emits one error at `op`'s location (printf form) and returns failure. Text starts lower-case.
MlirLogicalResult shardEmitError(MlirOperation op, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
MlirLogicalResult shardEmitErrorAt(MlirLocation location, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/// An error with one note below it, at another place. `note` is plain text.
MlirLogicalResult shardEmitErrorWithNote(MlirLocation location, const char *text,
                                         MlirLocation noteLocation, const char *note);
/// Between Begin and End diagnostics of the op's context are kept back; the text of the first error
/// is what End returns, in `arena`, its place in `location` (else the op's). Null: no error.
typedef struct ShardFirstError {
  MlirContext context;
  MlirDiagnosticHandlerID handler;
  MlirLocation location;
  ShardText text;
} ShardFirstError;
void shardFirstErrorBegin(ShardFirstError *first, MlirOperation op, ShardArena *arena);
const char *shardFirstErrorEnd(ShardFirstError *first);

/// Emits a remark. Never fails.
void shardEmitRemark(MlirOperation op, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void shardEmitWarning(MlirOperation op, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#ifdef __cplusplus
}
#endif
#endif // SHARD_CORE_DIAGNOSTICS_H
