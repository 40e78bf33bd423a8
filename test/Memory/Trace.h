//===- Trace.h - A program on buffers, step by step ---------------*- C -*-===//
#ifndef SHARD_TEST_MEMORY_TRACE_H
#define SHARD_TEST_MEMORY_TRACE_H

#include "mlir-c/IR.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// A buffer in use: once for each time that its op runs.
typedef struct Instance {
  MlirOperation op;
  uint64_t calls; // tells apart the calls that it is in
  char class_[24];
  int64_t offset, bytes; // in the stage's workspace
  int64_t first, last;   // moments, both included; first > last: never touched
  bool repeated;         // a later step of a loop
} Instance;

typedef struct Trace {
  Instance *instances;
  size_t nInstances, capacity;
  int64_t nMoments;  // one for each op that ran
  int64_t nBranches; // scf.if and switches that ran
} Trace;

/// Of the branches that run, number k takes the second region (the last, if it has but one) when
/// bit k % TRACE_CHOICES of the choices is set, else the first.
enum { TRACE_CHOICES = 5 };

/// Runs a stage's function in thought: calls are entered, loops do three steps, scf.if and switches
/// go by `choices`. What a call is handed is in use while it runs; with `inside` only from the
/// first to the last op in there that touches it. Free with free(instances).
void traceStage(MlirModule module, MlirOperation stage, unsigned choices, bool inside, Trace *out);

#endif // SHARD_TEST_MEMORY_TRACE_H
