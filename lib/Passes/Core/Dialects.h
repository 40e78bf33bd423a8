//===- Dialects.h - What to tell who comes with another dialect ---*- C -*-===//
#ifndef SHARD_CORE_DIALECTS_H
#define SHARD_CORE_DIALECTS_H

#include "mlir-c/Support.h"

/// For a dialect that exporters write and the compiler does not take (stablehlo, torch, sdy,
/// tm_tensor and their kin): the exporter's option that does work, as the second half of a message.
/// Static; null for a dialect that no exporter is known for. Thread-safe.
const char *shardDialectGetAdvice(MlirStringRef dialect);
/// The part of an op's name before the first '.'; empty when there is none.
MlirStringRef shardDialectOfOp(MlirStringRef opName);

#endif // SHARD_CORE_DIALECTS_H
