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

/// The sum and the product of two counts, neither negative; at most INT64_MAX.
static inline int64_t shardAddCounts(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}
static inline int64_t shardMultiplyCounts(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

#endif // SHARD_CORE_NUMBERS_H
