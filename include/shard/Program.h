//===- shard/Program.h - What an emitted shared object exports ----*- C -*-===//
// An object made by `shard-opt --emit=shared` exports `const ShardProgram *shardProgram(void)`.
// All tables are constant and live as long as the object is loaded. Thread-safe to read.
//===----------------------------------------------------------------------===//
#ifndef SHARD_PROGRAM_H
#define SHARD_PROGRAM_H

#include "shard/Runtime.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SHARD_PROGRAM_ABI_VERSION 6u

/// How a value is cut. It is seen in the shape `view` ([nViewDims], product = its element count);
/// view dimension i is split over the mesh axes axes[axisStart[i] .. axisStart[i+1]), major first.
typedef struct ShardProgramSharding {
  int32_t nViewDims;
  const int64_t *view;
  const int32_t *axisStart; // [nViewDims + 1]
  const int32_t *axes;      // indices into the mesh's axes
} ShardProgramSharding;

/// A dynamic dimension of an argument of the model, in argument order. It is stored at `most`;
/// dims[k] of a run is its extent, and what is stored beyond that is padding, which may hold
/// anything.
typedef struct ShardProgramDim {
  int32_t argument, dimension; // of the original function
  int64_t least, most;
} ShardProgramDim;

/// A part of a dimension whose extent may vary: `size` steps are stored, of which the first
/// extent[0] + sum(extent[1 + k] * dims[k]) are valid. The digits of a dimension stand major first,
/// and their sizes multiply to it; an element is valid where each of its digits is.
typedef struct ShardProgramDigit {
  int32_t dimension;
  int64_t size;
  const int64_t *extent; // [1 + nDims]
} ShardProgramDigit;

/// An argument or a result of the original function, and its part on each device. An argument of
/// which several parts are cut apart from each other (a fused weight) has an entry for each: the
/// window [windowBegin, windowBegin + windowSize) of dimension windowDim, which is then what
/// `sharding` cuts.
typedef struct ShardProgramValue {
  int32_t index;    // of the original function's argument or result
  const char *name; // from the model; "" if it has none
  const char *role; // weight, input, target, state; "" for results
  ShardRtElement element;
  int32_t rank;               // dimensions
  const int64_t *globalShape; // [rank]
  const int64_t *localShape;  // [rank]
  ShardProgramSharding sharding;
  const void *data; // whole value when it is a constant of the program, else NULL; row-major
  int32_t constant; // 1: a constant of the program; without `data` its values were elided
  int32_t windowDim;
  int64_t windowBegin, windowSize; // size 0: no window, the whole value
  int32_t nDigits;
  const ShardProgramDigit *digits; // of all dimensions, in order; none: the shape is static
  const char *storage; // of i8: "f8E4M3FN" or "f8E5M2" if its bytes are such floats, else ""
} ShardProgramValue;

/// A collective or send of the program, for messages.
typedef struct ShardProgramSite {
  int32_t site;
  const char *kind;     // all-reduce, all-gather, ...
  const char *location; // of the source op
  const char *cause;
} ShardProgramSite;

/// Messages of one size that a rank of a stage may be sent in a step before it asks for them.
typedef struct ShardProgramMessage {
  int64_t bytes, count;
} ShardProgramMessage;

typedef struct ShardProgramStage {
  int32_t nArguments, nResults;
  const int32_t *arguments; // [nArguments] indices into ShardProgram.arguments
  const int32_t *results;   // [nResults] indices into ShardProgram.results
  /// Bytes of workspace that `run` needs. `dims` [nDims]: the extents of a run; NULL: the bounds,
  /// or there are none. With buckets (below) it is a function of them.
  size_t (*workspaceBytes)(const int64_t *dims);
  /// Runs the stage on this rank. args, results: dense row-major local buffers, 64-byte aligned,
  /// owned by the caller; so is `workspace`. Returns a ShardRtStatus. Every rank calls it once a
  /// step. Extents that are out of bounds, or not equal where the program needs it, are an invalid
  /// argument.
  int (*run)(ShardRtContext *context, const int64_t *dims, void *const *args, void *const *results,
             void *workspace);
  /// What a step asks of the runtime: see shardRtWorldPrepare.
  int32_t nGroups, nMessages;
  const int32_t *groups;               // [nGroups] masks of mesh axes
  const ShardProgramMessage *messages; // [nMessages] of different sizes
} ShardProgramStage;

typedef struct ShardProgram {
  uint32_t abiVersion; // SHARD_PROGRAM_ABI_VERSION
  int32_t nAxes;
  const char *const *axisNames; // [nAxes] pp, dp, ep, sp, tp or tp.0, tp.1, major first
  const int64_t *axisSizes;     // [nAxes]
  int32_t ppAxis;               // index of pp, or -1: one stage
  int32_t nArguments, nResults, nStages, nSites;
  const ShardProgramValue *arguments;
  const ShardProgramValue *results;
  const ShardProgramStage *stages; // stage k runs on the ranks whose pp coordinate is k
  const ShardProgramSite *sites;
  int32_t nDims, nEqual;
  const ShardProgramDim *dims; // [nDims]
  const int64_t *equal;        // [nEqual][1 + nDims]: numbers and factors of extents that sum to 0
  /// Programs of smaller bounds, smallest first, and last the one of the bounds; 0: there is one
  /// program for all extents. Each is whole: `dims` has its bounds, `arguments` and `results` how
  /// its values lie, `stages` its entry points. The entry points of the program that `shardProgram`
  /// gives take the bucket that shardProgramBucket gives; its groups and messages are those of all.
  int32_t nBuckets;
  const struct ShardProgram *const *buckets; // [nBuckets]
} ShardProgram;

typedef const ShardProgram *(*ShardProgramGetter)(void);

/// The program by which arguments and results lie in a run with these extents: the first bucket
/// whose bounds hold them, else that of the bounds; `program` itself if it has no buckets or `dims`
/// is NULL. Values without an open dimension, weights among them, lie the same in all buckets, and
/// all values are cut over the same axes; a dimension that is open is stored at the bucket's bound.
static inline const ShardProgram *shardProgramBucket(const ShardProgram *program,
                                                     const int64_t *dims) {
  for (int32_t b = 0; dims && b < program->nBuckets; ++b) {
    const ShardProgram *bucket = program->buckets[b];
    int32_t k = 0;
    while (k < bucket->nDims && dims[k] >= bucket->dims[k].least && dims[k] <= bucket->dims[k].most)
      ++k;
    if (k == bucket->nDims || b + 1 == program->nBuckets)
      return bucket;
  }
  return program;
}

#ifdef __cplusplus
}
#endif
#endif // SHARD_PROGRAM_H
