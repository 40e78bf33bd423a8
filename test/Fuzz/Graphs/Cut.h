//===- Cut.h - Smaller programs from a failing one ----------------*- C -*-===//
#ifndef SHARD_FUZZ_CUT_H
#define SHARD_FUZZ_CUT_H

#include "Graph.h"

/// Writes `text`, a module with @main, changed by step `number` (from 0): a result or an annotation
/// dropped, or an op replaced by arguments; what nobody uses then goes too. `keepResult`: only this
/// result stays, the number is not looked at; -1: not. False: there is no such step. In the parent
/// process, on a context of its own.
bool cutProgram(const char *text, int keepResult, int number, Text *out);
/// How many results @main has.
int cutResultCount(const char *text);

#endif // SHARD_FUZZ_CUT_H
