//===- JsonPlace.h - Where a value stands in a JSON text ----------*- C -*-===//
// jansson parses and checks the syntax, and keeps no positions. The place of a value that is wrong
// for us is found afterwards by walking the text, which is known to be valid JSON by then.
//===----------------------------------------------------------------------===//
#ifndef SHARD_COMMON_JSONPLACE_H
#define SHARD_COMMON_JSONPLACE_H

#include <stddef.h>
#include <stdint.h>

/// What is left of a text.
typedef struct ShardJsonCursor {
  const char *at, *end;
} ShardJsonCursor;

void shardJsonSkipSpace(ShardJsonCursor *cursor);
void shardJsonSkipValue(ShardJsonCursor *cursor);
/// Moves to the value under `key`, or to element `index` when `key` is null. The value there must
/// be an object or an array that has it; otherwise the cursor stays.
void shardJsonEnter(ShardJsonCursor *cursor, const char *key, size_t index);
/// Line and column of `at` in `text`, from 1.
void shardJsonFindPlace(const char *text, const char *at, int32_t *line, int32_t *column);

#endif // SHARD_COMMON_JSONPLACE_H
