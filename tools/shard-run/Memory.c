//===- Memory.c - Allocation that never fails ---------------------*- C -*-===//

#include "Memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void *memoryZeroed(size_t sizeBytes) {
  void *memory = calloc(1, sizeBytes ? sizeBytes : 1);
  if (!memory)
    stop("out of memory: %zu bytes", sizeBytes);
  return memory;
}

void *memoryGrow(void *memory, size_t sizeBytes) {
  void *grown = realloc(memory, sizeBytes ? sizeBytes : 1);
  if (!grown)
    stop("out of memory: %zu bytes", sizeBytes);
  return grown;
}

void stop(const char *format, ...) {
  fflush(stdout);
  fputs("shard-run: error: ", stderr);
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  exit(1);
}

void stopWithText(const char *text) {
  fflush(stdout);
  fprintf(stderr, "%s\n", text);
  exit(1);
}
