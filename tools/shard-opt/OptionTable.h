//===- OptionTable.h - The options of shard-opt as data -----------*- C -*-===//
#ifndef SHARD_OPT_OPTION_TABLE_H
#define SHARD_OPT_OPTION_TABLE_H

#include "Options.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum OptionKind {
  OPTION_FLAG,
  OPTION_TEXT,
  OPTION_OPTIONAL_TEXT, // only with '='
  OPTION_TEXT_LIST,     // repeatable
} OptionKind;

typedef enum OptionId {
  ID_AUTO_SHARD,
  ID_FUNCTION,
  ID_ARGS,
  ID_ANNOTATIONS,
  ID_RESULTS,
  ID_DIM,
  ID_DIM_BUCKETS,
  ID_RULES,
  ID_NO_REPLICATION,
  ID_FORBID,
  ID_MAX_COMM_BYTES,
  ID_NO_IMPLICIT_COMM,
  ID_EXPLAIN,
  ID_STOP_AFTER,
  ID_EMIT,
  ID_MCPU,
  ID_STAGE,
  ID_OUTPUT,
  ID_REPORT,
  ID_DUMP_ANNOTATIONS,
  ID_EXTRACT_WEIGHTS,
  ID_SPLIT_WEIGHTS,
  ID_JOIN_WEIGHTS,
  ID_DEBUG_INFO,
  ID_BYTECODE,
  ID_VERIFY_EACH,
  ID_QUIET,
  ID_CLUSTER,
  ID_PRINT_CLUSTER,
  ID_EXPLAIN_COST,
  ID_SIMULATE,
  ID_TRACE,
  ID_ANALYSE,
  ID_TARGET_PARAMETERS,
  ID_MEMORY_PLAN,
  ID_MEMORY_LIMIT,
  ID_SILENCE,
  ID_ERROR,
  ID_THRESHOLD,
  ID_BUDGET,
  ID_ASSUME_OVERLAP,
  ID_CHECKPOINT_INTERVAL,
  ID_LIST_PASSES,
  ID_REFERENCE,
  ID_VERSION,
  ID_HELP,
  nOptionIds
} OptionId;

/// The one table: parsing, help and the nearest name of a misspelt option.
typedef struct ShardOptOption {
  const char *name; // without dashes
  OptionKind kind;
  const char *group, *value, *help; // no group: the one above
  bool driverOnly;                  // mlir-opt's part has no such thing
} ShardOptOption;
extern const ShardOptOption shardOptOptionTable[nOptionIds];

/// An option of ours that is given and not among `taken`, without dashes; null: none.
const char *shardOptFirstBeside(const ShardOptOptions *options, size_t nTaken,
                                const OptionId *taken);

#endif // SHARD_OPT_OPTION_TABLE_H
