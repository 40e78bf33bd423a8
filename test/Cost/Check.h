//===- Check.h - Counted checks of a test program -----------------*- C -*-===//
#ifndef SHARD_TEST_COST_CHECK_H
#define SHARD_TEST_COST_CHECK_H

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

static int nFailures, nChecks;

static inline void check(bool holds, const char *what, const char *detail) {
  ++nChecks;
  nFailures += !holds;
  if (!holds)
    printf("FAIL: %s%s%s\n", what, detail ? ": " : "", detail ? detail : "");
}

/// `tolerance` is relative.
static inline void checkNear(double value, double expected, double tolerance, const char *what) {
  char detail[64];
  snprintf(detail, sizeof(detail), "%.9g, expected %.9g", value, expected);
  check(fabs(value - expected) <= tolerance * fabs(expected), what, detail);
}

static inline void checkEqual(int64_t value, int64_t expected, const char *what) {
  char detail[96];
  snprintf(detail, sizeof(detail), "%" PRId64 ", expected %" PRId64, value, expected);
  check(value == expected, what, detail);
}

#endif // SHARD_TEST_COST_CHECK_H
