//===- ArgsJson.h - The list of a model's arguments ---------------*- C -*-===//
// args.json, as exporters write it beside a model: for each argument its name, role, shape, type
// and file; for each result its shape, type and file. No MLIR in here: the compiler and shard-run
// share it.
//===----------------------------------------------------------------------===//
#ifndef SHARD_COMMON_ARGSJSON_H
#define SHARD_COMMON_ARGSJSON_H

#include "Npy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// One argument or result. Texts are owned by the ShardArgsJson; "" where the file says nothing.
typedef struct ShardArgsEntry {
  const char *name; // "" if absent
  const char *role; // "weight", "input", "target", "state" or ""
  const char *file; // relative to the folder of args.json, "" if absent
  bool hasType, hasShape;
  ShardNpyType type;
  int32_t rank;
  int64_t shape[SHARD_NPY_MAX_RANK];
  int32_t line, column; // of the entry in the file, from 1
} ShardArgsEntry;

typedef struct ShardArgsJson {
  char *path;        // as given, for messages
  const char *entry; // function name, "" if absent
  size_t nArguments, nResults;
  ShardArgsEntry *arguments, *results;
  void *storage; // the JSON document that the texts live in
} ShardArgsJson;

/// Reads `path`. Null on failure, with one message of the form "FILE:LINE:COLUMN: error: text" (or
/// "FILE: text" when it cannot be read) in `message`, cut to messageBytes. Destroy the result with
/// shardArgsJsonDestroy. Thread-safe.
ShardArgsJson *shardArgsJsonReadFile(const char *path, char *message, size_t messageBytes);
/// The same from `length` bytes of text; `path` only names it in messages.
ShardArgsJson *shardArgsJsonParse(const char *path, const char *text, size_t length, char *message,
                                  size_t messageBytes);
void shardArgsJsonDestroy(ShardArgsJson *args); // null is fine

/// Matches a program's arguments to entries: by name where `names[i]` is not "", else by position
/// over all entries when they are as many as the arguments, or over those of role "input" when only
/// they are. `outEntry[i]` is the entry's index, or -1 for a name that the file does not have.
/// False, with a message that gives the numbers, when an unnamed argument has no position.
bool shardArgsJsonMatch(const ShardArgsJson *args, size_t nArguments, const char *const *names,
                        int64_t *outEntry, char *message, size_t messageBytes);

#endif // SHARD_COMMON_ARGSJSON_H
