//===- shard/Pipelines.h - From a model to one program per device -*- C -*-===//
// Everything works on the caller's context and reports through its diagnostic handlers: no exit, no
// output, no state of its own. Thread-compatible per context; several contexts at once are fine.
//===----------------------------------------------------------------------===//
#ifndef SHARD_PIPELINES_H
#define SHARD_PIPELINES_H

#include "shard/Support.h"

#include "mlir-c/Diagnostics.h"
#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

//===----------------------------------------------------------------------===//
// Contexts, inputs, messages
//===----------------------------------------------------------------------===//

/// Registers MLIR's dialects in `context` and loads those that a model is made of (arith cf func
/// linalg math scf shard tensor tosa). Call it before parsing or building. Again is a no-op.
SHARD_EXPORTED void shardContextPrepare(MlirContext context);

/// Parses a module, text or bytecode, from a file ("-": standard input; gzip is unpacked) or from
/// memory, where `name` stands for the file in locations. Returns a verified module to be destroyed
/// by the caller; a null module after one error: not readable, empty, not MLIR, or of a dialect
/// that is not supported, with what to do about it.
SHARD_EXPORTED MlirModule shardModuleParseFile(MlirContext context, const char *path);
SHARD_EXPORTED MlirModule shardModuleParse(MlirContext context, MlirStringRef text,
                                           const char *name);

/// Sends "FILE:LINE:COLUMN: error: text" and its notes, each on a line, to `callback`; for use in a
/// diagnostic handler. `fallback` stands where no file is known ("shard-opt"). Cannot fail.
SHARD_EXPORTED void shardDiagnosticFormat(MlirDiagnostic diagnostic, const char *fallback,
                                          MlirStringCallback callback, void *userData);

/// The pass after which the module was stopped ("shard-plan"); "shard-spmdize" for a sharded
/// program, "shard-lower-cpu" for a lowered one; null when the passes have not touched it. Owned by
/// the library. Cannot fail.
SHARD_EXPORTED const char *shardModuleGetStage(MlirOperation module);

//===----------------------------------------------------------------------===//
// The pipeline of --auto-shard
//===----------------------------------------------------------------------===//

typedef struct ShardPipelineOptions {
  size_t structBytes;      // sizeof(ShardPipelineOptions)
  const char *degrees;     // "tp8,pp16"; null: the module goes on from where it was stopped
  const char *function;    // function to shard; null: the one public function
  const char *argsFile;    // an args.json with names and roles; null: none
  const char *annotations; // a file of annotations; null: none
  const char *dims;        // extents of dynamic dimensions, "ARG:D=N,ARG:D=..MAX"; null: none
  const char *buckets;     // smaller bounds that get versions of their own: "N" bounds in all, each
                       // half of the next, or lists as in `dims`, separated by ";"; null: 3
  bool splitResults;          // leave results split over the devices
  bool noImplicitReplication; // refuse an op that has no dimension rule
  const char *rules;          // a file of dimension rules for ops of the user; null: none
  bool lower;                 // go on to the LLVM dialect (shard/Emit.h takes it from there)
  const char *mcpu;           // for `lower`: as in shard/Emit.h; null: this machine
  const char *forbid;         // collectives that are errors, "all-gather:tp,all-to-all"; null: none
  int64_t maxCommBytes;       // that a rank may send in a step, mean over ranks; -1: any
  bool noImplicitComm;        // a collective that no annotation asks for is an error; sends apart
  const char *stopAfter;      // argument of the pass to stop after; null: the end
  bool verifyEach;            // verify after every pass, not only at the end
  /// Asked before every pass; true stops the run with an error. Null: never.
  bool (*cancelled)(void *userData);
  /// Told before pass `index` of `count`, its argument in `pass`. Null: nobody.
  void (*progress)(void *userData, const char *pass, intptr_t index, intptr_t count);
  /// Called after every pass with the module between passes, to be read only. Null: nobody.
  void (*inspect)(void *userData, const char *pass, MlirOperation module);
  void *userData;
} ShardPipelineOptions;

/// All texts null, everything off, maxCommBytes -1.
SHARD_EXPORTED ShardPipelineOptions shardPipelineOptionsGetDefault(void);

/// Shards `module`, a builtin.module, in place. Texts of `options` are borrowed until return.
/// On success the module is verified. On failure there was exactly one error diagnostic from here,
/// and the module can only be destroyed: a mistake in the options (at the module's location), a
/// model that is refused, a cancelled run.
/// MLIR's diagnostics of severity warning and remark may come at any time.
SHARD_EXPORTED MlirLogicalResult shardPipelineRun(MlirOperation module,
                                                  const ShardPipelineOptions *options);

/// Whether `degrees` reads as a list of degrees ("tp8,pp16", "auto"). False: the reason in
/// `message`, cut to messageBytes. Thread-safe.
SHARD_EXPORTED bool shardPipelineCheckDegrees(const char *degrees, char *message,
                                              size_t messageBytes);

/// Passes of the pipeline in order, the lowering included. Thread-safe.
SHARD_EXPORTED intptr_t shardPipelineGetPassCount(void);
SHARD_EXPORTED const char *shardPipelineGetPass(intptr_t index);

/// Takes the constants of the model out of `module`, in place: each becomes an argument, named as
/// its resource or "constant_N", and its values go to `output`, one FILE.safetensors or
/// FILE.npz, or a folder of argNNN.npy and args.json (overwritten). `function`: as in
/// ShardPipelineOptions. Fails, with one error, when the files cannot be written; none is left
/// then.
SHARD_EXPORTED MlirLogicalResult shardModuleExtractWeights(MlirOperation module,
                                                           const char *function,
                                                           const char *output);

/// Sends the layout of arguments and results, as an annotations file (JSON), to `callback`: fed
/// back through ShardPipelineOptions.annotations it gives the same program. `module` comes from
/// after shard-propagate or a later pass and is not changed. Fails, with one error, when it does
/// not.
SHARD_EXPORTED MlirLogicalResult shardModuleWriteAnnotations(MlirOperation module,
                                                             MlirStringCallback callback,
                                                             void *userData);

/// Of a sharded program keeps only stage `stage`: its function and what it calls. Fails, with one
/// error that gives the stages there are. The module is changed in place.
SHARD_EXPORTED MlirLogicalResult shardModuleKeepStage(MlirOperation module, int64_t stage);

/// Builds the program that shows by its results whether the rules of `module` hold: one public
/// function, named `function`, for every op that has a rule and a body in `module`, which comes
/// from after shard-import. It returns each such op's results, and for each clause of its rule
/// results that must be equal to them: those have the attributes `spmd.clause` ("sum column"),
/// `spmd.op`, `spmd.op_result` and `spmd.whole` (the number of the equal result). To be destroyed
/// by the caller; a null module when there is no such op. To be compiled with the same rules.
SHARD_EXPORTED MlirModule shardModuleCreateRuleChecks(MlirOperation module, const char *function);

#ifdef __cplusplus
}
#endif
#endif // SHARD_PIPELINES_H
