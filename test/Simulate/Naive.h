//===- Naive.h - A step of every rank by itself -------------------*- C -*-===//
// The simulator's model once more, without classes, heaps or anything that makes it fast: every
// rank has a clock, every group and message is on its own links, and at each event the speeds of
// all are worked out anew.
//===----------------------------------------------------------------------===//
#ifndef SHARD_TEST_SIMULATE_NAIVE_H
#define SHARD_TEST_SIMULATE_NAIVE_H

#include "shard/Cost.h"

#include <stdbool.h>
#include <stdint.h>

enum { naiveRanks = 24, naiveAxes = 3, naiveSteps = 24 };
extern const int64_t naiveSizes[naiveAxes], naiveStrides[naiveAxes];

typedef enum NaiveKind {
  NAIVE_PRODUCT,
  NAIVE_REDUCE,  // start and wait in one
  NAIVE_SHIFT,   // the same
  NAIVE_MESSAGE, // of stage 0 to stage 1
  NAIVE_START,   // of an all-reduce
  NAIVE_WAIT     // for the start of step `of`
} NaiveKind;

typedef struct NaiveStep {
  NaiveKind kind;
  int k; // the sum of a product; `stage` + 1 times as much in later stages
  uint32_t axes;
  int64_t offset;
  int rows; // of what is sent, 64 columns of f32
  int of;
} NaiveStep;

typedef struct NaiveClock {
  int64_t ps, busy, communication, wait, bubble;
} NaiveClock;

/// `staged`: axis 0 is pp. Ends are in `clocks` [naiveRanks]; the end of all is returned.
int64_t naiveRun(const ShardCluster *cluster, const int64_t *placement, bool staged, int n,
                 const NaiveStep *steps, NaiveClock *clocks);

#endif // SHARD_TEST_SIMULATE_NAIVE_H
