//===- Options.h - The command line -------------------------------*- C -*-===//
#ifndef SHARD_RUN_OPTIONS_H
#define SHARD_RUN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Options {
  const char *program;
  int64_t ranks; // 0: what the program's mesh has
  const char *data, *expect, *json, *save;
  bool seeded;
  uint64_t seed;
  bool check;
  const char *original; // of --check=, else null
  const char *autoShard, *annotations, *rules, *results, *function, *args, *mcpu;
  const char **dims; // [nDims] ARG:D=N, ARG:D=..MAX
  size_t nDims;
  const char *buckets; // of --dim-buckets; null: the default
  const char **sizes; // [nSizes] ARG:D=N,N,...
  size_t nSizes;
  int32_t iterations;
  double rtol; // below 0: by type
  bool integers, exact, quiet, bisect, isolate, checkMemory;
  bool measure;
  const char *measureMode; // of --measure=, else null
  const char *output;      // of --measure; null: standard output
} Options;

/// Fills `out` from the command line; stops with a message on anything unknown or malformed, and
/// after --help and --version.
void optionsParse(int argc, char **argv, Options *out);

#endif // SHARD_RUN_OPTIONS_H
