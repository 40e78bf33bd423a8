//===- Peers.h - Whom a rank sends to ------------------------------*- C -*-===//
#ifndef SHARD_MATRIX_PEERS_H
#define SHARD_MATRIX_PEERS_H

#include "mlir-c/IR.h"

#include <stdbool.h>
#include <stdint.h>

/// The value of an index that a program computes from the place of its rank alone. `coordinates`
/// are the rank's on the grid, major first. False for an op that is not known here.
bool peersEvaluate(MlirValue index, intptr_t nAxes, const int64_t *coordinates, int64_t *out);

#endif // SHARD_MATRIX_PEERS_H
