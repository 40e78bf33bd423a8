//===- Pass.h - What a pass is made of ----------------------------*- C -*-===//
// A pass is one ShardPassInfo; Passes.def lists them. See STYLE: one file a pass, top to bottom.
//===----------------------------------------------------------------------===//
#ifndef SHARD_CORE_PASS_H
#define SHARD_CORE_PASS_H

#include "Arena.h"
#include "Diagnostics.h"
#include "IR.h"

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// One run of a pass on one op. The arena dies with the run.
typedef struct ShardPassRun {
  MlirContext context;
  MlirOperation op;    // the anchor
  const void *options; // the pass's options struct, filled from text
  ShardArena *arena;
} ShardPassRun;

typedef enum ShardOptionKind {
  SHARD_OPTION_INT64,
  SHARD_OPTION_BOOL,
  SHARD_OPTION_STRING
} ShardOptionKind;

/// One option of a pass: the same row gives parsing, range check, printing, help and docs.
typedef struct ShardOption {
  const char *name;        // "axis-size"
  size_t offset;           // of the field in the options struct
  ShardOptionKind kind;    // int64_t, bool, const char *
  const char *defaultText; // parsed like a user's text
  const char *range;       // "1..", "0..8", "a|b|c" or "" for any
  const char *help;
} ShardOption;

#define SHARD_OPTION_KIND(field)                                                                   \
  _Generic((field),                                                                                \
      int64_t: SHARD_OPTION_INT64,                                                                 \
      bool: SHARD_OPTION_BOOL,                                                                     \
      const char *: SHARD_OPTION_STRING)
#define SHARD_OPTION(Struct, field, nameText, defaultText_, rangeText, helpText)                   \
  {.name = (nameText),                                                                             \
   .offset = offsetof(Struct, field),                                                              \
   .kind = SHARD_OPTION_KIND(((Struct *)0)->field),                                                \
   .defaultText = (defaultText_),                                                                  \
   .range = (rangeText),                                                                           \
   .help = (helpText)}

typedef struct ShardPassInfo {
  const char *argument; // "shard-import"
  const char *summary;
  const char *anchor; // "builtin.module", "func.func" or "" for any
  size_t optionsSize;
  size_t nOptions;
  const ShardOption *options;
  MlirLogicalResult (*run)(ShardPassRun *run);
  /// Dialects it may create ops of, besides those it gets anyway (arith cf func linalg math scf
  /// shard tensor), separated by spaces: "memref llvm". Names: affine async bufferization gpu index
  /// llvm memref tosa transform ub vector. Null: none.
  const char *dialects;
} ShardPassInfo;

/// Visits every op named `name` under the run's anchor in pre-order; stops at the first failure.
MlirLogicalResult shardVisitOps(ShardPassRun *run, const char *name,
                                MlirLogicalResult (*visit)(ShardPassRun *run, MlirOperation op));

#define SHARD_PASS_OPTIONS(Struct, table)                                                          \
  .optionsSize = sizeof(Struct), .nOptions = sizeof(table) / sizeof((table)[0]), .options = (table)

#ifdef __cplusplus
}
#endif
#endif // SHARD_CORE_PASS_H
