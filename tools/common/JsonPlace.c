//===- JsonPlace.c - Where a value stands in a JSON text ----------*- C -*-===//
#include "JsonPlace.h"

#include <stdbool.h>
#include <string.h>

void shardJsonSkipSpace(ShardJsonCursor *c) {
  while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r'))
    ++c->at;
}

static void skipString(ShardJsonCursor *c) {
  for (++c->at; c->at < c->end && *c->at != '"'; ++c->at)
    if (*c->at == '\\')
      ++c->at;
  if (c->at < c->end)
    ++c->at;
}

void shardJsonSkipValue(ShardJsonCursor *c) {
  int depth = 0;
  do {
    shardJsonSkipSpace(c);
    if (c->at >= c->end)
      return;
    char ch = *c->at;
    if (ch == '"') {
      skipString(c);
    } else {
      depth += (ch == '{' || ch == '[') - (ch == '}' || ch == ']');
      ++c->at;
      if (depth == 0 && ch != '}' && ch != ']') // a number or a word
        while (c->at < c->end && !strchr(",]} \t\r\n", *c->at))
          ++c->at;
    }
  } while (depth > 0);
}

void shardJsonEnter(ShardJsonCursor *c, const char *key, size_t index) {
  ShardJsonCursor start;
  shardJsonSkipSpace(c);
  start = *c;
  if (c->at >= c->end || *c->at != (key ? '{' : '['))
    return;
  ++c->at;
  for (size_t i = 0; c->at < c->end; ++i) {
    shardJsonSkipSpace(c);
    if (c->at >= c->end || *c->at == '}' || *c->at == ']')
      break;
    bool found = !key && i == index;
    if (key) {
      const char *name = c->at + 1;
      skipString(c);
      size_t length = (size_t)(c->at - 1 - name);
      found = length == strlen(key) && memcmp(name, key, length) == 0;
      shardJsonSkipSpace(c);
      c->at += c->at < c->end; // past the colon
      shardJsonSkipSpace(c);
    }
    if (found)
      return;
    shardJsonSkipValue(c);
    shardJsonSkipSpace(c);
    if (c->at < c->end && *c->at == ',')
      ++c->at;
  }
  *c = start;
}

void shardJsonFindPlace(const char *text, const char *at, int32_t *line, int32_t *column) {
  *line = 1;
  *column = 1;
  for (; text < at; ++text) {
    ++*column;
    if (*text == '\n') {
      ++*line;
      *column = 1;
    }
  }
}
