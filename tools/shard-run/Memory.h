//===- Memory.h - Allocation that never fails ---------------------*- C -*-===//
#ifndef SHARD_RUN_MEMORY_H
#define SHARD_RUN_MEMORY_H

#include <stddef.h>

/// Out of memory stops the program with one message. Free with free().
void *memoryZeroed(size_t sizeBytes);
void *memoryGrow(void *memory, size_t sizeBytes);

/// Prints "shard-run: error: text" and exits with 1. The one way out after a user's mistake.
/// Not on a rank (exit() is no function for two threads at once): a rank ends the run through its
/// world.
_Noreturn void stop(const char *format, ...) __attribute__((format(printf, 1, 2)));
/// The same for a text that already begins with FILE:LINE:COLUMN or needs no prefix.
_Noreturn void stopWithText(const char *text);

#endif // SHARD_RUN_MEMORY_H
