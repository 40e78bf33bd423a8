//===- Message.h - Where the text of an error goes ----------------*- C -*-===//
#ifndef SHARD_COMMON_MESSAGE_H
#define SHARD_COMMON_MESSAGE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/// The caller's buffer, to which texts are cut.
typedef struct ShardMessage {
  char *text;
  size_t sizeBytes;
} ShardMessage;

/// Writes the text. False, for `return shardFail(...)`.
__attribute__((format(printf, 2, 3))) static inline bool shardFail(ShardMessage message,
                                                                   const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message.text, message.sizeBytes, format, arguments);
  va_end(arguments);
  return false;
}

static inline bool shardFailOutOfMemory(ShardMessage message) {
  return shardFail(message, "out of memory");
}

#endif // SHARD_COMMON_MESSAGE_H
