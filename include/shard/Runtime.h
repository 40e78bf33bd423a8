//===- shard/Runtime.h - Ranks, collectives, contexts -------------*- C -*-===//
// Plain C, no MLIR. Ranks of the `local` backend are threads of one process.
// A group is the set of ranks that differ from this one only along the mesh axes of a bit mask:
// bit i is mesh axis i (major first). Masks are fixed at compile time.
//===----------------------------------------------------------------------===//
#ifndef SHARD_RUNTIME_H
#define SHARD_RUNTIME_H

#include "shard/Support.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Never reused.
typedef enum ShardRtStatus {
  SHARD_RT_OK = 0,
  SHARD_RT_INVALID_ARGUMENT = 1,
  SHARD_RT_OUT_OF_MEMORY = 2,
  SHARD_RT_PEER_LOST = 3,   // another rank failed
  SHARD_RT_TIMED_OUT = 4,
  SHARD_RT_MISMATCH = 5,    // ranks issued different collectives
  SHARD_RT_PROGRAM_FAILED = 6 // a cf.assert of the program
} ShardRtStatus;

/// Element types. Never renumbered.
typedef enum ShardRtElement {
  SHARD_RT_I1 = 0, // one byte, 0 or 1
  SHARD_RT_I8 = 1,
  SHARD_RT_I16 = 2,
  SHARD_RT_I32 = 3,
  SHARD_RT_I64 = 4,
  SHARD_RT_F16 = 5,
  SHARD_RT_BF16 = 6,
  SHARD_RT_F32 = 7,
  SHARD_RT_F64 = 8
} ShardRtElement;

typedef enum ShardRtReduction {
  SHARD_RT_SUM = 0,
  SHARD_RT_MAX = 1,
  SHARD_RT_MIN = 2,
  SHARD_RT_PRODUCT = 3,
  SHARD_RT_AND = 4,
  SHARD_RT_OR = 5
} ShardRtReduction;

/// Kinds, in the order of reports.
typedef enum ShardRtKind {
  SHARD_RT_ALL_REDUCE = 0,
  SHARD_RT_ALL_GATHER = 1,
  SHARD_RT_REDUCE_SCATTER = 2,
  SHARD_RT_ALL_TO_ALL = 3,
  SHARD_RT_PERMUTE = 4,
  SHARD_RT_BROADCAST = 5,
  SHARD_RT_SEND = 6,
  SHARD_RT_BARRIER = 7
} ShardRtKind;

typedef int32_t ShardRtSite; // number of the collective in the program; -1 when not from a program

typedef struct ShardRtWorld ShardRtWorld;     // all ranks of one process. Thread-safe.
typedef struct ShardRtComm ShardRtComm;       // one rank's end. Thread-compatible.
typedef struct ShardRtContext ShardRtContext; // what generated code sees of its rank. Thread-compatible.
typedef struct ShardRtRequest ShardRtRequest; // a collective in flight

#ifdef __cplusplus
}
#endif
#endif // SHARD_RUNTIME_H
