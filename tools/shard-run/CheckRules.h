//===- CheckRules.h - Whether a user's rules hold -----------------*- C -*-===//
#ifndef SHARD_RUN_CHECKRULES_H
#define SHARD_RUN_CHECKRULES_H

#include "Compile.h"

/// Runs every op that has a rule and a body in parts along each dimension that the rule lets be
/// split, and stops with an error that names the clause when parts give something else than the
/// whole. `imported` is the program after shard-import.
void checkRules(Compiler *compiler, MlirOperation imported);

#endif // SHARD_RUN_CHECKRULES_H
