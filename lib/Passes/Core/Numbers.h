//===- Numbers.h - Whole numbers ----------------------------------*- C -*-===//
#ifndef SHARD_CORE_NUMBERS_H
#define SHARD_CORE_NUMBERS_H

#include <stdint.h>

/// The greatest common divisor of two numbers, neither negative; of 0 and n, n.
static inline int64_t shardGreatestDivisor(int64_t a, int64_t b) {
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

#endif // SHARD_CORE_NUMBERS_H
