//===- Args.c - Fuzz target: args.json ----------------------------*- C -*-===//
#include "../../tools/common/ArgsJson.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sizeBytes);

static void require(bool holds, const char *what) {
  if (holds)
    return;
  fprintf(stderr, "fuzz-args: broken: %s\n", what);
  abort();
}

static void checkEntry(const ShardArgsEntry *entry) {
  require(entry->name && entry->role && entry->file, "texts are never null");
  require(entry->line >= 1 && entry->column >= 1, "an entry has its place");
  require(entry->rank >= 0 && entry->rank <= SHARD_NPY_MAX_RANK, "the rank is in range");
  for (int32_t i = 0; entry->hasShape && i < entry->rank; ++i)
    require(entry->shape[i] >= 0, "no dimension is negative");
  require(entry->file[0] != '/' && strcmp(entry->file, "..") != 0 &&
              strncmp(entry->file, "../", 3) != 0,
          "files lie in the folder of args.json");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sizeBytes) {
  char message[256] = "";
  ShardArgsJson *args =
      shardArgsJsonParse("args.json", (const char *)data, sizeBytes, message, sizeof(message));
  if (!args) {
    require(strncmp(message, "args.json:", 10) == 0 && strstr(message, ": error: "),
            "a refusal is one error at a place");
    return 0;
  }
  for (size_t i = 0; i < args->nArguments; ++i)
    checkEntry(&args->arguments[i]);
  for (size_t i = 0; i < args->nResults; ++i)
    checkEntry(&args->results[i]);

  // Matching: by position over all, and by name.
  const char **names = calloc(args->nArguments + 1, sizeof(*names));
  int64_t *entries = calloc(args->nArguments + 1, sizeof(*entries));
  require(names && entries, "memory");
  for (int byName = 0; byName < 2; ++byName) {
    for (size_t i = 0; i < args->nArguments; ++i)
      names[i] = byName ? args->arguments[i].name : "";
    if (!shardArgsJsonMatch(args, args->nArguments, names, entries, message, sizeof(message)))
      continue;
    for (size_t i = 0; i < args->nArguments; ++i)
      require(entries[i] >= -1 && entries[i] < (int64_t)args->nArguments, "a match is an entry");
  }
  free(entries);
  free(names);
  shardArgsJsonDestroy(args);
  return 0;
}
