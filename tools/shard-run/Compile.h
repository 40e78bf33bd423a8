//===- Compile.h - From files to programs in memory ---------------*- C -*-===//
#ifndef SHARD_RUN_COMPILE_H
#define SHARD_RUN_COMPILE_H

#include "Initialize.h"
#include "Options.h"

#include "shard/Load.h"

#include "mlir-c/IR.h"

/// The first error of a context, with its notes.
typedef struct Messages {
  char *error;
  size_t length;
  bool failed;
} Messages;

/// A program in memory, and what its module says about arguments to draw.
typedef struct Compiled {
  ShardLoaded *loaded;
  const ShardProgram *program;
  Distribution *distributions;
  size_t nDistributions;
  bool unsharded;         // before it was compiled here
  bool keepImported;      // wanted: the module after shard-import
  MlirOperation imported; // to be destroyed
  bool keepSharded;       // wanted: the module after shard-spmdize
  MlirOperation sharded;  // to be destroyed; null when the program was past that
} Compiled;

typedef struct Compiler {
  const Options *options;
  MlirContext context;
  Messages messages;
  char *dims;     // joined by commas, or null
  char *argsFile; // or null
} Compiler;

/// Release with compilerRelease; `options` are borrowed until then.
void compilerCreate(const Options *options, Compiler *out);
void compilerRelease(Compiler *compiler);

/// The program. Returns the module of the original for --check, to be destroyed; null without.
/// Stops with a message when something cannot be read or compiled. Release with compiledRelease.
MlirOperation loadProgram(const Options *options, Compiler *compiler, Compiled *program);
/// The original on one device, its dynamic dimensions set to `dims`, "0:0=8,1:0=8" or "".
void compileOriginal(Compiler *compiler, MlirOperation source, const char *dims, Compiled *out);
/// Takes a module as it was kept (Compiled.sharded) into memory; it can only be destroyed then.
/// `path` is for messages.
void compileSharded(Compiler *compiler, const char *path, MlirOperation module, Compiled *out);
/// The program of shardModuleCreateRuleChecks.
void compileRuleChecks(Compiler *compiler, MlirModule module, const char *function, Compiled *out);
void compiledRelease(Compiled *compiled);

#endif // SHARD_RUN_COMPILE_H
