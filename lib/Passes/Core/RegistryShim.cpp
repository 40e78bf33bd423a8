//===- RegistryShim.cpp - Pass registry and plugin entry --------*- C++ -*-===//
// The C API registers no external pass. Registered as pipelines, because only those get the text of
// their options; the text is then parsed in C.
//===----------------------------------------------------------------------===//
#include "Registry.h"
#include "shard/Support.h"
#include "shard/Version.h"

#include "mlir/CAPI/Pass.h"
#include "mlir/CAPI/Support.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

using namespace mlir;
using ErrorHandler = llvm::function_ref<LogicalResult(const Twine &)>;

static LogicalResult addPass(OpPassManager &manager, const ShardPassInfo *info,
                             MlirStringRef options, ErrorHandler onError) {
  char message[512] = "";
  MlirPass pass = shardPassCreate(info, options, message, sizeof message);
  if (!pass.ptr)
    return onError(message);
  std::unique_ptr<Pass> owned(unwrap(pass));
  StringRef anchor = info->anchor;
  if (!anchor.empty() && manager.getOpAnchorName() != anchor &&
      manager.getNesting() != OpPassManager::Nesting::Implicit)
    manager.nest(anchor).addPass(std::move(owned));
  else
    manager.addPass(std::move(owned));
  return success();
}

static void noOptions(llvm::function_ref<void(const mlir::detail::PassOptions &)>) {}

extern "C" void shardRegistryRegister(void) {
  for (intptr_t i = 0; i < shardPassInfoCount(); ++i) {
    const ShardPassInfo *info = shardPassInfoGet(i);
    if (PassPipelineInfo::lookup(info->argument))
      continue;
    registerPassPipeline(
        info->argument, info->summary,
        [info](OpPassManager &manager, StringRef options, ErrorHandler onError) {
          return addPass(manager, info, wrap(options), onError);
        },
        noOptions);
  }
  for (intptr_t i = 0; i < shardPipelineInfoCount(); ++i) {
    const ShardPipelineInfo *info = shardPipelineInfoGet(i);
    if (PassPipelineInfo::lookup(info->argument))
      continue;
    registerPassPipeline(
        info->argument, info->summary,
        [info](OpPassManager &manager, StringRef options, ErrorHandler onError) {
          struct State {
            OpPassManager &manager;
            ErrorHandler onError;
            LogicalResult result;
          } state{manager, onError, success()};
          auto add = [](void *user, const ShardPassInfo *pass, MlirStringRef part) {
            State &s = *static_cast<State *>(user);
            if (succeeded(s.result))
              s.result = addPass(s.manager, pass, part, s.onError);
          };
          ShardArena *arena = shardArenaCreate();
          const char *message = "";
          bool ok = shardPipelineExpand(info, wrap(options), arena, add, &state, &message);
          LogicalResult result = ok ? state.result : onError(message);
          shardArenaDestroy(arena);
          return result;
        },
        noOptions);
  }
}

extern "C" SHARD_EXPORTED LLVM_ATTRIBUTE_WEAK mlir::PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "shard", SHARD_VERSION_STRING, shardRegistryRegister};
}
