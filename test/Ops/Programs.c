//===- Programs.c - Files of programs -----------------------------*- C -*-===//
#define _GNU_SOURCE

#include "Programs.h"

#include "mlir-c/RegisterEverything.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void stop(const char *what, const char *name) {
  fprintf(stderr, "shard-ops: error: %s '%s'\n", what, name);
  exit(1);
}

char *readFile(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file)
    stop("cannot read", path);
  char *text = NULL;
  size_t length = 0;
  FILE *memory = open_memstream(&text, &length);
  for (int c; (c = fgetc(file)) != EOF;)
    fputc(c, memory);
  fclose(memory);
  fclose(file);
  return text;
}

char *nextProgram(char **rest) {
  char *begin = *rest;
  if (!begin)
    return NULL;
  char *cut = strstr(begin, "// -----\n");
  *rest = cut ? cut + strlen("// -----\n") : NULL;
  if (cut)
    *cut = 0;
  return begin;
}

MlirContext createContext(void) {
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  mlirRegisterAllDialects(registry);
  MlirContext context = mlirContextCreateWithRegistry(registry, false);
  mlirDialectRegistryDestroy(registry);
  return context;
}
