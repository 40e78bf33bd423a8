//===- Initialize.h - How random arguments are drawn --------------*- C -*-===//
// What an argument is used for decides its values: read off the graph, never off a name.
//===----------------------------------------------------------------------===//
#ifndef SHARD_RUN_INITIALIZE_H
#define SHARD_RUN_INITIALIZE_H

#include "mlir-c/IR.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum DistributionKind {
  DISTRIBUTION_UNKNOWN, // decided by role and shape alone
  DISTRIBUTION_NORMAL,  // mean, deviation
  DISTRIBUTION_INDEX,   // uniform in [0, count)
  DISTRIBUTION_MASK     // 0 or 1, seven of eight 1, always 1 at the start of a row
} DistributionKind;

typedef struct Distribution {
  DistributionKind kind;
  double mean, deviation;
  double spread; // deviation for an input, which is not scaled by fan-in
  int64_t count;
} Distribution;

/// Reads the uses of every argument of the module's public functions. Returns an array of
/// *outCount, to be freed with free(), by the original function's argument (attribute spmd.arg,
/// else position); an unused argument is UNKNOWN. Pure.
///  - contracted with something: mean 0, deviation 1 / sqrt(fan-in); where the contraction's result
///    is an operand of a contraction of two activations that an exponential follows (attention
///    logits), times sqrt(3): normalised activations then give logits with a deviation of 3
///  - a vector that multiplies: around 1; that is added: around 0; a gathered table: deviation 1
///  - integers that index: below the smallest dimension they index; other integers: mask
Distribution *initializeFromModule(MlirOperation module, size_t *outCount);

#endif // SHARD_RUN_INITIALIZE_H
