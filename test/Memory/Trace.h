//===- Trace.h - A program on buffers, step by step ---------------*- C -*-===//
#ifndef SHARD_TEST_MEMORY_TRACE_H
#define SHARD_TEST_MEMORY_TRACE_H

#include "mlir-c/IR.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// A call that ran, and number 0: the stage's function.
typedef struct Activation {
  int64_t first, last; // moments, both included
  size_t caller;
} Activation;

/// A buffer in use: once for each time that its op runs.
typedef struct Instance {
  MlirOperation op;
  size_t activation; // that it is a buffer of
  uint64_t calls;    // tells apart the calls that it is in
  char class_[24];
  int64_t offset, bytes; // in the stage's workspace
  int64_t first, last;   // moments, both included; first > last: never touched
  bool repeated;         // a later step of a loop
} Instance;

typedef struct Trace {
  Instance *instances;
  size_t nInstances, capacity;
  Activation *activations;
  size_t nActivations, activationCapacity;
  int64_t nMoments;  // one for each op that ran
  int64_t nBranches; // scf.if and switches that ran
} Trace;

/// Of the branches that run, number k takes the second region (the last, if it has but one) when
/// bit k % TRACE_CHOICES of the choices is set, else the first.
enum { TRACE_CHOICES = 5 };

/// Runs a stage's function in thought: calls are entered, loops do three steps, scf.if and switches
/// Runs a stage's function in thought: calls are entered, loops do three steps, scf.if and switches
/// go by `choices`. Free with traceFree.
void traceStage(MlirModule module, MlirOperation stage, unsigned choices, Trace *out);
void traceFree(Trace *trace);

#endif // SHARD_TEST_MEMORY_TRACE_H
