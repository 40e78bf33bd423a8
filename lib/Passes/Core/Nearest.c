//===- Nearest.c - Names that may have been meant -----------------*- C -*-===//
#include "Nearest.h"

#include <stdbool.h>
#include <string.h>

/// Levenshtein's distance; a `*` of the pattern x stands for any text.
static size_t editDistance(const char *x, const char *y, ShardArena *arena) {
  size_t n = strlen(x), m = strlen(y);
  size_t *row = SHARD_ARENA_ARRAY(arena, size_t, m + 1);
  for (size_t j = 0; j <= m; ++j)
    row[j] = j;
  for (size_t i = 1; i <= n; ++i) {
    if (x[i - 1] == '*') {
      for (size_t j = 1; j <= m; ++j)
        row[j] = row[j - 1] < row[j] ? row[j - 1] : row[j];
      continue;
    }
    size_t diagonal = row[0]++;
    for (size_t j = 1; j <= m; ++j) {
      size_t best = diagonal + (x[i - 1] != y[j - 1]);
      diagonal = row[j];
      if (row[j] + 1 < best)
        best = row[j] + 1;
      if (row[j - 1] + 1 < best)
        best = row[j - 1] + 1;
      row[j] = best;
    }
  }
  return row[m];
}

const char *shardNearestNames(ShardArena *arena, const char *pattern, const char *const *names,
                              intptr_t n) {
  const char *text = "";
  bool *used = SHARD_ARENA_ARRAY(arena, bool, n ? n : 1);
  for (int32_t k = 0; k < 3; ++k) {
    size_t best = SIZE_MAX;
    intptr_t at = -1;
    for (intptr_t i = 0; i < n; ++i) {
      size_t distance = used[i] || !names[i][0] ? SIZE_MAX : editDistance(pattern, names[i], arena);
      if (distance < best)
        best = distance, at = i;
    }
    if (at < 0)
      break;
    used[at] = true;
    text = shardArenaFormat(arena, "%s%s'%s'", text, k ? ", " : "", names[at]);
  }
  return text;
}
