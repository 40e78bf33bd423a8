//===- Options.h - The command line of shard-opt ------------------*- C -*-===//
#ifndef SHARD_OPT_OPTIONS_H
#define SHARD_OPT_OPTIONS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum ShardOptEmit {
  SHARD_OPT_EMIT_MLIR,
  SHARD_OPT_EMIT_BUFFERS,
  SHARD_OPT_EMIT_LLVM,
  SHARD_OPT_EMIT_OBJECT,
  SHARD_OPT_EMIT_SHARED
} ShardOptEmit;

/// What the command line asks for. Texts point into argv or into `storage`.
typedef struct ShardOptOptions {
  const char *input;  // "-" by default
  const char *output; // "-" by default
  bool outputGiven, inputGiven;
  const char *degrees; // null: no --auto-shard; "auto" when it has no value
  const char *function, *args, *annotations, *rules, *dumpAnnotations, *extractWeights;
  const char *splitWeights, *joinWeights;
  const char *cluster, *explainCost;
  const char *printCluster; // "text" or "json"
  const char *simulate;     // the same
  const char *trace;
  const char *analyse;     // the same
  double targetParameters; // 0: not given
  const char *stopAfter, *mcpu;
  char *dims;                        // all of --dim, separated by commas; owned
  const char *buckets;               // --dim-buckets
  char *forbid;                      // all of --forbid; owned
  char *silence, *error, *threshold; // of warnings; owned
  const char *budget, *assumedOverlap, *checkpointInterval; // what the user claims; null: nothing
  int64_t maxCommBytes;                                     // -1: any
  const char *memoryPlan;                                   // "text" or "json"
  int64_t memoryLimit;                                      // -1: any
  bool noImplicitComm, explain;
  bool noImplicitReplication, splitResults, resultsGiven, quiet, debugInfo, bytecode, verifyEach,
      oneThread;
  ShardOptEmit emit;
  bool emitGiven;
  int64_t stage; // -1: all
  int nReports;
  const char **reports; // [nReports], owned
  // Options that are mlir-opt's business, and how many of `rest` they are; `rest` holds files too,
  // because an option's value may stand apart from it.
  int nForeign, nRest;
  char **rest;      // [nRest], owned; elements point into argv
  int degreesPlace; // how many of `rest` stand before --auto-shard
  bool help, version, listPasses, reference;
  const char *needsDriver; // an option that mlir-opt's part cannot serve, as written; null: none
  uint64_t given;          // bit of each OptionId that is there
} ShardOptOptions;

/// Reads the command line. False after one error on stderr.
bool shardOptOptionsParse(int argc, char **argv, ShardOptOptions *out);
void shardOptOptionsRelease(ShardOptOptions *options);

void shardOptPrintHelp(void);
void shardOptPrintVersion(void);
void shardOptPrintPasses(void);
void shardOptPrintReference(void);
void shardOptPrintRefusals(void); // its last sections (Refusals.c)
/// One error for a text of LLVM's option parser ("shard-opt: Unknown command line argument ...").
void shardOptPrintOptionError(const char *text);
/// On a terminal, says that input is expected there when `input` is "-".
void shardOptWarnTerminal(const char *input);

/// The first option given, without dashes, that shapes, cuts or writes the sharded program; null:
/// none.
const char *shardOptProgramOption(const ShardOptOptions *options);

/// One error in printf form, as below. Returns false.
bool shardOptReject(const char *format, ...) __attribute__((format(printf, 1, 2)));
/// "shard-opt: error: " and the text, a line on stderr.
void shardOptError(const char *format, va_list arguments);

#endif // SHARD_OPT_OPTIONS_H
