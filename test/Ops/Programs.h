//===- Programs.h - Files of programs -----------------------------*- C -*-===//
#ifndef SHARD_OPS_PROGRAMS_H
#define SHARD_OPS_PROGRAMS_H

#include "mlir-c/IR.h"

_Noreturn void stop(const char *what, const char *name);
char *readFile(const char *path);
/// The next program of a file's text, cut off in place; null at the end.
char *nextProgram(char **rest);
MlirContext createContext(void);

#endif // SHARD_OPS_PROGRAMS_H
