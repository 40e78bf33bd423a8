//===- Nearest.h - Names that may have been meant -----------------*- C -*-===//
#ifndef SHARD_CORE_NEAREST_H
#define SHARD_CORE_NEAREST_H

#include "Arena.h"

#include <stdint.h>

/// Up to three of the `n` names, nearest to `pattern` first, as "'a', 'b', 'c'" in the arena; empty
/// names are left out, and "" is no name at all. By Levenshtein's distance; a `*` of the pattern
/// stands for any text.
const char *shardNearestNames(ShardArena *arena, const char *pattern, const char *const *names,
                              intptr_t n);

#endif // SHARD_CORE_NEAREST_H
