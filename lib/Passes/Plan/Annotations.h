//===- Annotations.h - The user's layout, read and written --------*- C -*-===//
#ifndef SHARD_PLAN_ANNOTATIONS_H
#define SHARD_PLAN_ANNOTATIONS_H

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

/// WriteAnnotations.c. Writes the layout of the functions' arguments and results (L2 or L3:
/// spmd.arg, spmd.result or their numbers) as an annotations file; fed back it gives the same
/// program. `text` gets the JSON. Fails, with one diagnostic, when the module has no shardings.
MlirLogicalResult shardAnnotationsWrite(MlirOperation module, MlirStringCallback text,
                                        void *userData);

#endif // SHARD_PLAN_ANNOTATIONS_H
