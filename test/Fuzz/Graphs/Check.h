//===- Check.h - A random program against its original ------------*- C -*-===//
#ifndef SHARD_FUZZ_CHECK_H
#define SHARD_FUZZ_CHECK_H

#include "Graph.h"

typedef enum Verdict {
  PASSED,
  REFUSED, // by the compiler, with an error
  WRONG,   // another value, or a rank wrote where it must not
  FAILED,  // the program stopped itself, or was no program
  CRASHED,
  HUNG
} Verdict;
const char *verdictName(Verdict verdict);

/// What one program showed. Plain bytes, so that it can go through a pipe.
typedef struct Outcome {
  uint64_t seed;
  Verdict verdict;
  char message[400];
  bool used[MAX_ROWS];
  bool hasCall, hasLoop;
  bool exact;      // every result was compared bit by bit
  bool collective; // something was sent
  bool uneven;     // a split dimension whose size is no multiple
  bool partial;    // an op takes and makes a partial value
  bool reshape;    // a reshape merges or splits a dimension that is split
  int nOps, nRanks;
  int nSensitive, nDisturbed; // ranks whose shard was changed: with effect, and all
} Outcome;

/// Compiles and runs the program, sharded and not. May exit or crash: call it in a child.
/// `stock`: also writes the original with values and results, for MLIR's own tools, to this file;
/// null: not.
void checkProgram(const Program *program, const char *stock, Outcome *out);

#endif // SHARD_FUZZ_CHECK_H
