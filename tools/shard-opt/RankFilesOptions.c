//===- RankFilesOptions.c - --split-weights and --join-weights ----*- C -*-===//
// What may stand beside them is listed, so that an option that is added later is refused and not
// silently ignored.
//===----------------------------------------------------------------------===//
#include "RankFilesOptions.h"

#include "Cluster.h"
#include "OptionTable.h"

#include "../common/Safetensors.h"
#include "../model/RankFiles.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

bool shardOptCheckSplit(const ShardOptOptions *options) {
  static const OptionId taken[] = {ID_AUTO_SHARD,
                                   ID_FUNCTION,
                                   ID_ARGS,
                                   ID_ANNOTATIONS,
                                   ID_RESULTS,
                                   ID_DIM,
                                   ID_RULES,
                                   ID_NO_REPLICATION,
                                   ID_FORBID,
                                   ID_MAX_COMM_BYTES,
                                   ID_NO_IMPLICIT_COMM,
                                   ID_EXPLAIN,
                                   ID_OUTPUT,
                                   ID_REPORT,
                                   ID_DUMP_ANNOTATIONS,
                                   ID_SPLIT_WEIGHTS,
                                   ID_VERIFY_EACH,
                                   ID_QUIET,
                                   ID_CLUSTER,
                                   ID_TRACE,
                                   ID_MEMORY_LIMIT,
                                   ID_SILENCE,
                                   ID_ERROR,
                                   ID_THRESHOLD,
                                   ID_BUDGET,
                                   ID_ASSUME_OVERLAP,
                                   ID_CHECKPOINT_INTERVAL,
                                   ID_MCPU};
  const char *other = shardOptFirstBeside(options, COUNT(taken), taken);
  if (!other && options->mcpu && options->memoryLimit < 0) // whose plan is for a CPU
    other = "mcpu";
  if (other)
    return shardOptFail("'--split-weights' writes weights, not the program; it does not go with "
                        "--%s",
                        other);
  return strcmp(options->output, "-") != 0 ||
         shardOptFail("'--split-weights' needs a folder: -o DIR");
}

int shardOptJoin(const ShardOptOptions *options) {
  static const OptionId taken[] = {ID_JOIN_WEIGHTS, ID_OUTPUT, ID_QUIET};
  const char *other = shardOptFirstBeside(options, COUNT(taken), taken);
  char message[1024];
  bool ok = true;
  if (options->inputGiven || options->nForeign || other)
    ok = shardOptFail("'--join-weights' takes -o FILE.safetensors, and nothing else; %s%s is given",
                      other ? "--" : "",
                      other               ? other
                      : options->nForeign ? "an option of mlir-opt"
                                          : options->input);
  else if (!shardSafetensorsNamed(options->output) || strstr(options->output, ".json"))
    ok = shardOptFail("'--join-weights' needs a file: -o FILE.safetensors");
  else if (!rankFilesJoin(options->joinWeights, options->output, message, sizeof message))
    ok = shardOptFail("%s", message);
  return ok ? 0 : 1;
}
