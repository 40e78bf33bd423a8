//===- Execute.h - Run a program on ranks of this machine --------*- C -*-===//
#ifndef SHARD_RUN_EXECUTE_H
#define SHARD_RUN_EXECUTE_H

#include "Values.h"

#include "shard/Program.h"

/// Whole values that a program's results are compared with.
typedef struct Reference {
  const char *what; // "the unsharded program", for messages
  size_t nResults;
  const void *const *values; // [nResults] by the original result; null: not compared
  double tolerance;          // relative; below 0: by type
  bool own;                  // our own unsharded run: the tighter bar
  const bool *exact;         // [nResults] bits must be equal (the two zeros are one); null: none
} Reference;

/// One element that differs.
typedef struct Difference {
  bool any;
  int64_t rank;
  size_t at; // element of the whole value
  double got, expected;
} Difference;

/// One comparison of one result, the worst over ranks and iterations.
typedef struct ResultCheck {
  int32_t index;    // of the original result
  const char *what; // compared with; null: only replicas
  double maxAbs;    // largest finite magnitude of the reference (or of the result)
  bool notFinite;   // some value of the reference is an infinity or NaN; maxAbs leaves those out
  double error, tolerance; // largest difference / maxAbs; infinite for a stray NaN
  uint64_t ulp;            // at the place of the largest difference
  int64_t rank;            // that has it
  size_t at;               // element of the whole value
  double got, expected;
  int32_t iteration; // of the difference
  Difference first;  // beyond the tolerance, of the lowest rank with one
  bool exact;        // integers
  bool held;
} ResultCheck;

/// What a step of a rank took, as --check-memory measures it. Bytes.
typedef struct RankMemory {
  int32_t stage;
  size_t workspaceBytes, workspaceWritten; // planned, and up to the last byte that was written
  size_t argumentBytes, resultBytes;
  size_t stagingBytes, stagedBytes; // for messages: planned, and the most that were used at a time
  uint64_t allocations;             // calls of the allocator in all steps
} RankMemory;

typedef struct Execution {
  int64_t nRanks;
  int32_t iterations;
  double minSeconds, medianSeconds;
  double bytes[SHARD_RT_N_KINDS]; // sent by one rank, mean over ranks, one iteration
  size_t *peakBytes;              // [nRanks] arguments, results, workspace and staging
  RankMemory *memory;             // [nRanks] with --check-memory, else null
  bool allocationsSeen;           // whether `allocations` counts anything
  size_t nChecks;
  ResultCheck *checks;
  size_t nFaults;
  char **faults;  // other mismatches, as text: replicas that differ, writes outside a buffer
  void **results; // [nOriginalResults] whole values when asked for, else null
  size_t nResults;
} Execution;

typedef struct ExecuteOptions {
  int32_t iterations; // at least 1
  size_t nReferences;
  const Reference *references;
  bool keepResults;                  // of the first iteration, put together
  bool checkMemory;                  // measure memory; at least 2 iterations
  bool isolated;                     // ranks are forked processes, else threads
  const int64_t *dims;               // of the program; null: it has none
  const unsigned char *const *valid; // [nOriginalResults] which stored elements of a result count,
                                     // a byte each, null: all; or null: all of all
  /// May change what a rank holds of an argument before it runs, for tests of the tests. Null:
  /// nobody.
  void (*disturb)(void *userData, const ShardProgramValue *value, int64_t rank,
                  const Placement *placement, void *local);
  void *userData;
} ExecuteOptions;

/// Bytes that executeProgram will take for buffers, all ranks together.
size_t executeMemoryBytes(const ShardProgram *program, bool keepResults);

/// Runs `program` on all its ranks. Results and workspaces are filled with NaN patterns before the
/// first and the last iteration, and both iterations' results are compared. A failure of the
/// program stops with its message. Release with executionRelease.
void executeProgram(const ShardProgram *program, const ValueSet *values,
                    const ExecuteOptions *options, Execution *out);
void executionRelease(Execution *execution);

#endif // SHARD_RUN_EXECUTE_H
