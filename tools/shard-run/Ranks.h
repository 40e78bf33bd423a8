//===- Ranks.h - Parts of an execution ----------------------------*- C -*-===//
// Execute.c runs ranks, GuardedBuffer.c has their buffers, CompareResults.c what is found on them.
//===----------------------------------------------------------------------===//
#ifndef SHARD_RUN_RANKS_H
#define SHARD_RUN_RANKS_H

#include "Execute.h"

#include "shard/Runtime.h"

typedef struct Buffer {
  char *base, *data;
  size_t totalBytes, sizeBytes;
  bool turned; // which of two patterns the guard zones hold
} Buffer;

/// One program result of a rank: where it lies and who else holds the same part.
typedef struct HeldResult {
  Placement placement;
  int64_t owner; // lowest rank with an equal placement
  int32_t slot;  // number among the stage's results; -1: this rank has no part
} HeldResult;

typedef struct Rank {
  int32_t stage;
  Buffer *arguments, *results, workspace;
  void **argumentData, **resultData;
  HeldResult *held;    // [program->nResults]
  ResultCheck *checks; // [nChecks]
  int64_t bytes[SHARD_RT_N_KINDS];
  char **faults;
  size_t nFaults;
  uint64_t *hashes;      // [the stage's arguments] as they were filled
  bool *replicaFault;    // [program->nResults] said already
  bool guardFault;       // likewise
  size_t *resultWritten; // [the stage's results] with checkMemory: bytes up to the last one written
} Rank;

typedef struct Run {
  const ShardProgram *program;
  const ValueSet *values;
  const ExecuteOptions *options;
  Execution *out;
  ShardRtWorld *world; // whose memory holds what ranks write
  Rank *ranks;
  double *seconds; // [iterations], written by rank 0
} Run;

/// Ends the run from a rank: through the world, so that one of them is heard, be they threads or
/// processes.
void runAbort(Run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// A buffer between two guard zones; of all ranks' memory if they are processes. False: out of
/// memory, and the run has been ended.
bool bufferCreate(Run *run, size_t sizeBytes, Buffer *out);
void bufferRelease(Run *run, Buffer *buffer);
bool bufferGuardsHold(const Buffer *buffer);
/// Fills it and its guard zones with one of two patterns, which differ in every byte.
void bufferFill(Buffer *buffer, bool turned);
/// Gives its guard zones the other pattern.
void bufferTurnGuards(Buffer *buffer);
/// Bytes up to the last one that has been written since bufferFill. One written with the pattern's
/// own value is not seen, but it would be with the other pattern.
size_t bufferFindWritten(const Buffer *buffer);
uint64_t bufferHash(const Buffer *buffer); // of its data

/// Notes a mismatch of a rank that no check has a place for.
void rankAddFault(Run *run, Rank *rank, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/// Makes `run->out->checks`, with what follows from the references.
void checksCreate(Run *run);
/// Compares what a rank holds, with the references and with other holders of the same part. Between
/// two barriers.
void checksCompare(Run *run, int64_t rankNumber, int32_t iteration);
/// Whether the rank wrote outside its buffers; said once.
void checksCompareGuards(Run *run, int64_t rankNumber);
/// Whether the rank wrote to an argument.
void checksCompareArguments(Run *run, int64_t rankNumber);
/// The worst of all ranks' checks, in `run->out->checks`.
void checksMerge(Run *run);

#endif // SHARD_RUN_RANKS_H
