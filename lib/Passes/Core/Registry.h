//===- Registry.h - The table of passes and pipelines -------------*- C -*-===//
#ifndef SHARD_CORE_REGISTRY_H
#define SHARD_CORE_REGISTRY_H

#include "Pass.h"

#include "mlir-c/Pass.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The passes of Passes.def, in its order. Thread-safe.
intptr_t shardPassInfoCount(void);
const ShardPassInfo *shardPassInfoGet(intptr_t index);
const ShardPassInfo *shardPassInfoFind(MlirStringRef argument); // null if there is none
/// Whether it is a part of the main pipeline (SHARD_PASS), not only a check (SHARD_CHECK_PASS).
bool shardPassInfoIsInPipeline(intptr_t index);

/// Parses `text` ("name=value name={a b}", in braces or not) over the defaults into `options`, a
/// zeroed struct of info->optionsSize bytes; strings go to `arena`. On a mistake returns false and
/// a message in `arena`.
bool shardPassOptionsParse(const ShardPassInfo *info, MlirStringRef text, void *options,
                           ShardArena *arena, const char **outMessage);
/// Sets one option of an already parsed struct; messages as above.
bool shardPassOptionSet(const ShardPassInfo *info, const char *name, const char *value,
                        void *options, ShardArena *arena, const char **outMessage);
const ShardOption *shardPassOptionFind(const ShardPassInfo *info, MlirStringRef name);

/// Loads the dialects whose ops the pass may create.
void shardPassLoadDialects(const ShardPassInfo *info, MlirContext context);

/// An MLIR pass; hand it to a pass manager. On a mistake in `options` returns a null pass and
/// writes a message, cut to `messageBytes`.
MlirPass shardPassCreate(const ShardPassInfo *info, MlirStringRef options, char *message,
                         size_t messageBytes);

/// A pipeline by name: its options are those of its passes together.
typedef struct ShardPipelineInfo {
  const char *argument; // "shard-auto"
  const char *summary;
  const char *last; // the pass of Passes.def's pipeline that it ends with
} ShardPipelineInfo;
intptr_t shardPipelineInfoCount(void);
const ShardPipelineInfo *shardPipelineInfoGet(intptr_t index);
/// Splits `options` among the pipeline's passes and calls `add` with each pass and its part of the
/// text, in order. An option goes to every pass that has it; `stop-after=PASS` ends the list there.
/// False: a message in `arena`, maybe after some calls.
bool shardPipelineExpand(const ShardPipelineInfo *info, MlirStringRef options, ShardArena *arena,
                         void (*add)(void *user, const ShardPassInfo *pass, MlirStringRef options),
                         void *user, const char **outMessage);

/// Registers all passes and pipelines with MLIR's process-wide registry, by name. Those whose name
/// is taken are left alone. Call it from one thread at a time.
void shardRegistryRegister(void);

#ifdef __cplusplus
}
#endif
#endif // SHARD_CORE_REGISTRY_H
