//===- shard/Passes.h - The passes, by name -----------------------*- C -*-===//
#ifndef SHARD_PASSES_H
#define SHARD_PASSES_H

#include "shard/Support.h"

#include "mlir-c/Pass.h"
#include "mlir-c/Support.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Registers every pass and named pipeline with MLIR's process-wide registry, so that pipeline text
/// ("builtin.module(shard-import,canonicalize)") finds them. Again is a no-op; names that are taken
/// stay as they are. Cannot fail. Call it before other threads use the registry.
SHARD_EXPORTED void shardPassesRegister(void);

/// Number of passes, check-only ones included. Cannot fail. Thread-safe.
SHARD_EXPORTED intptr_t shardPassesGetCount(void);
/// The pass's name in pipelines ("shard-import"), one line of help, the op it runs on ("" for any)
/// and the count of its options. `index` is in [0, shardPassesGetCount()), in the order of the
/// pipeline. Texts are never freed. Thread-safe.
SHARD_EXPORTED const char *shardPassesGetArgument(intptr_t index);
SHARD_EXPORTED const char *shardPassesGetSummary(intptr_t index);
SHARD_EXPORTED const char *shardPassesGetAnchor(intptr_t index);
SHARD_EXPORTED intptr_t shardPassesGetOptionCount(intptr_t index);

/// One option of a pass. Texts are never freed.
typedef struct ShardPassesOption {
  const char *name;        // "axis-size"
  const char *type;        // "int", "bool" or "string"
  const char *defaultText; // as a user would write it
  const char *range;       // "1..", "a|b|c", "" for any
  const char *help;
} ShardPassesOption;
/// Option `option` in [0, shardPassesGetOptionCount(index)) of pass `index`. Thread-safe.
SHARD_EXPORTED ShardPassesOption shardPassesGetOption(intptr_t index, intptr_t option);

/// The ops that have an entry in the table of dimension rules, in the table's order: how many, and
/// of one its name ("linalg.matmul") and, in words, how its dimensions may be split. The texts are
/// static. Thread-safe.
SHARD_EXPORTED intptr_t shardOpsGetCount(void);
SHARD_EXPORTED const char *shardOpsGetName(intptr_t index);
SHARD_EXPORTED const char *shardOpsGetSummary(intptr_t index);

/// Ops of the dialects that are refused, and what the passes say when they stop, refusals first: of
/// each why, and what is taken instead. `reason` null: a mistake in what was given, not a refusal.
/// An ellipsis stands for what varies. The texts are static. Thread-safe.
typedef struct ShardRefusal {
  const char *text, *reason, *nearest;
} ShardRefusal;
SHARD_EXPORTED intptr_t shardRefusedOpsGetCount(void);
SHARD_EXPORTED ShardRefusal shardRefusedOpsGet(intptr_t index); // text: the op's name
SHARD_EXPORTED intptr_t shardMessagesGetCount(void);
SHARD_EXPORTED ShardRefusal shardMessagesGet(intptr_t index); // text: the message

/// Creates a pass for mlirPassManagerAddOwnedPass or mlirOpPassManagerAddOwnedPass.
///   argument  "shard-import"; borrowed until return.
///   options   "name=value name=value", in braces or not, may be empty; borrowed until return.
///   message, messageBytes  Gets the reason of a failure, cut to size and ended by a zero; may be
///             null with 0.
/// Returns a pass that belongs to the caller until a manager takes it. A null pass: no such pass,
/// or a mistake in its options. Nothing is printed. Thread-safe.
SHARD_EXPORTED MlirPass shardPassesCreate(MlirStringRef argument, MlirStringRef options,
                                          char *message, size_t messageBytes);

#ifdef __cplusplus
}
#endif
#endif // SHARD_PASSES_H
