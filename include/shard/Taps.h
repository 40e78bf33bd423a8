//===- shard/Taps.h - Inner values of a sharded program, as results -*- C -*-===//
// To see where two layouts of a program part, its values are made results of it: first those of the
// function itself, among them what its layers give back, then those inside one layer.
//===----------------------------------------------------------------------===//
#ifndef SHARD_TAPS_H
#define SHARD_TAPS_H

#include "shard/Support.h"

#include "mlir-c/IR.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// One value that has become a result. Texts belong to the taps.
typedef struct ShardTap {
  int64_t result;   // its `spmd.result`
  int64_t op, part; // of the unsharded program: number of its op, and of the op's result. A result
                    // that was one before has the largest number, and its own as the part
  const char *origin;   // "linalg.matmul at model.mlir:4:7 (@main:12)", from `spmd.origin`
  const char *maker;    // the op of this program that makes it, "shard.all_reduce"
  const char *sharding; // [["tp"],[]], as spmd.sharding and spmd.view have it; "whole" otherwise
  const char *callee;   // of a func.call; null for other ops
} ShardTap;

/// Thread-compatible; apart from any context once created.
typedef struct ShardTaps ShardTaps;

/// Makes values of `module`, a program as shard-spmdize leaves it, results of its entries, in
/// place.
///   nCalls, calls  Where: numbers (ShardTap.op) of the call in the entry, of the call in that
///             layer, and so on; none for the values of the entry itself.
///   whole     Taps of the same place in the program for one device, which say what the values are
///             as a whole; null: this is that program.
/// The results that there are already are taps too, of the entry's place. Values that are still to
/// be reduced, that no op of `whole` has or that `spmd.origin` does not name are left out. Returns
/// taps to be destroyed, in program order, maybe none; null after one error diagnostic: the module
/// has no entry. The module goes on to shard-lower-cpu. Thread-compatible per context.
SHARD_EXPORTED ShardTaps *shardTapsCreate(MlirOperation module, intptr_t nCalls,
                                          const int64_t *calls, const ShardTaps *whole);
SHARD_EXPORTED intptr_t shardTapsGetCount(const ShardTaps *taps);
/// Tap `index` of [0, shardTapsGetCount()); owned by the taps.
SHARD_EXPORTED const ShardTap *shardTapsGet(const ShardTaps *taps, intptr_t index);
SHARD_EXPORTED void shardTapsDestroy(ShardTaps *taps); // null is fine

#ifdef __cplusplus
}
#endif
#endif // SHARD_TAPS_H
