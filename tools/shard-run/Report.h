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

/// Writes the whole results of a run that kept them as outNNN.npy, NNN being the original result,
/// in the existing folder `folder`; stops with a message when one cannot be written.
void reportSave(const ShardProgram *program, const Execution *execution, const char *folder);

#endif // SHARD_RUN_REPORT_H
