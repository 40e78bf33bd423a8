//===- Report.h - What a run showed -------------------------------*- C -*-===//
#ifndef SHARD_RUN_REPORT_H
#define SHARD_RUN_REPORT_H

#include "Execute.h"

/// Prints the figures to standard output, unless `quiet`, and one "mismatch: text" line to standard
/// error for each comparison that failed. True when all held.
bool reportText(const ShardProgram *program, const Execution *execution, bool quiet);
/// Writes the figures as JSON (FORMATS, `shard-run --json`), whole or not at all; stops with a
/// message when the file cannot be written.
void reportJson(const ShardProgram *program, const Execution *execution, const char *path);

/// Writes the whole results of a run that kept them, NNN being the original result: as outNNN.npy
/// in the existing folder `place`, or as outNNN in one .safetensors file of that name; stops with a
/// message when one cannot be written.
void reportSave(const ShardProgram *program, const Execution *execution, const char *place);

#endif // SHARD_RUN_REPORT_H
