//===- shard/MemoryPlan.h - Where every byte of a device lies -----*- C -*-===//
// The plan that an emitted program is built with: what a rank of each stage holds, and where and
// when each buffer of its workspace lives. python-free-docs/design/memory.md.
//===----------------------------------------------------------------------===//
#ifndef SHARD_MEMORY_PLAN_H
#define SHARD_MEMORY_PLAN_H

#include "shard/Support.h"

#include "mlir-c/IR.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What bytes are for. Numbers are never reused.
typedef enum ShardMemoryClass {
  SHARD_MEMORY_WEIGHTS = 0,
  SHARD_MEMORY_GRADIENTS = 1,
  SHARD_MEMORY_OPTIMIZER = 2,     // state of a program that updates weights
  SHARD_MEMORY_ACTIVATIONS = 3,   // inputs, results, caches, values that calls of layers pass on
  SHARD_MEMORY_TEMPORARIES = 4,   // within a function, and panels of contractions
  SHARD_MEMORY_COMMUNICATION = 5, // what a collective leaves, and what nothing else reads
  SHARD_MEMORY_STAGING = 6,       // copies of messages that nobody has received yet
  SHARD_N_MEMORY_CLASSES = 7
} ShardMemoryClass;

/// "weights", "gradients", ...; null: out of range. Thread-safe.
SHARD_EXPORTED const char *shardMemoryClassName(ShardMemoryClass class_);

/// A buffer of a stage's workspace. What a call needs while it runs are the buffers of its callee,
/// `depth` calls deep, each once for each call.
typedef struct ShardMemoryBuffer {
  ShardMemoryClass class_;
  int64_t bytes, offset;       // in the stage's workspace
  int64_t firstStep, lastStep; // of the stage's steps, both included
  int32_t depth;               // 0: of the stage's own function
  int32_t atPeak;              // 1: alive where the most bytes are
  const char *type;            // "memref<2x37x64xf32>"; "" for the panel of a contraction
  const char *op;              // that writes it first, "linalg.matmul at model.mlir:12:5"
  const char *location;        // of that op, "model.mlir:12:5"
  const char *origin;          // `spmd.origin` of its value, "" without one
} ShardMemoryBuffer;

/// An argument or result of a stage.
typedef struct ShardMemoryValue {
  ShardMemoryClass class_;
  int64_t bytes;
  int64_t index;    // `spmd.arg` or `spmd.result`: in the model
  const char *name; // `spmd.name`, "" without one
  const char *type; // on the device
} ShardMemoryValue;

/// Memory while an op of the stage's function runs; what it calls and its loops are part of it.
typedef struct ShardMemoryStep {
  int64_t op;    // number in the body of the stage's function, as the program is printed
  int64_t bytes; // arguments, results, staging and live bytes of the workspace, at their highest
  int64_t byClass[SHARD_N_MEMORY_CLASSES]; // at that moment
} ShardMemoryStep;

typedef struct ShardMemoryStage {
  int32_t stage;
  const char *function; // its name
  intptr_t nArguments, nResults;
  const ShardMemoryValue *arguments, *results;
  int64_t argumentBytes, resultBytes;
  int64_t argumentBytesByClass[SHARD_N_MEMORY_CLASSES];
  int64_t resultBytesByClass[SHARD_N_MEMORY_CLASSES];
  int64_t workspaceBytes; // what the program asks its caller for
  int64_t boundBytes;     // of the solver: no workspace is smaller, calls as they are placed
  int64_t stagingBytes;   // the runtime's, for messages that come before their receive
  int64_t peakBytes;      // arguments, results, workspace and staging: what a rank has
  int64_t liveBytes;      // the largest sum of bytes of the workspace live at once, through calls
  int64_t peakStep;       // where that is
  int64_t peakByClass[SHARD_N_MEMORY_CLASSES]; // then: arguments, results, staging and live bytes
  const char *peakOp;                 // "linalg.generic at model.mlir:12:5"; "" without a workspace
  intptr_t nBuffers, nBuffersLeftOut; // more than 65536 are left out
  const ShardMemoryBuffer *buffers;   // in program order
  intptr_t nSteps;
  const ShardMemoryStep *steps; // the ops of the function that touch memory, in order
} ShardMemoryStage;

/// An open dimension of an argument of the model, and its bounds.
typedef struct ShardMemoryDim {
  int64_t argument, dimension, least, most;
} ShardMemoryDim;

/// Apart from any context once created; thread-safe to read.
typedef struct ShardMemoryPlan {
  int32_t nStages;
  const ShardMemoryStage *stages;
  int64_t peakBytes;          // of the largest stage
  int32_t nDims;              // open dimensions; bytes are those at their bounds
  const ShardMemoryDim *dims; // [nDims]
  /// Plans of the versions for smaller extents, smallest bounds first: a run has the first that
  /// holds its extents, else this one.
  int32_t nBuckets;
  const struct ShardMemoryPlan *const *buckets; // [nBuckets]
  void *memory;                                 // private
} ShardMemoryPlan;

/// The plan of `module`, a program as shard-spmdize leaves it or an unsharded module with one
/// public function; the module is not changed, no code is made and no weight is copied.
///   mcpu  As in shard/Emit.h; null: this machine. Panels of contractions depend on it.
/// Returns a plan to be destroyed; null after one error diagnostic: an op without a lowering.
/// Thread-compatible per context.
SHARD_EXPORTED ShardMemoryPlan *shardMemoryPlanCreate(MlirOperation module, const char *mcpu);
SHARD_EXPORTED void shardMemoryPlanDestroy(ShardMemoryPlan *plan); // null is fine

/// As tables of text, and as JSON (python-free-docs/memory-plan.schema.json). To be freed with
/// free(); null: out of memory. Thread-safe.
SHARD_EXPORTED char *shardMemoryPlanFormatText(const ShardMemoryPlan *plan);
SHARD_EXPORTED char *shardMemoryPlanFormatJson(const ShardMemoryPlan *plan);

/// Whether every stage fits into `limitBytes`; else one error diagnostic at the op of the peak,
/// which names stage, peak and limit and the largest tensors alive then. `module`: what the plan is
/// of. Thread-compatible per context.
SHARD_EXPORTED MlirLogicalResult shardMemoryPlanCheck(const ShardMemoryPlan *plan,
                                                      MlirOperation module, int64_t limitBytes);

/// Takes `module`, a program as shard-spmdize leaves it, to buffers, in place: each memref.alloc,
/// call of a function and contraction has `spmd.offset` and `spmd.bytes` in the workspace of its
/// function, the first and last also `spmd.class`. Fails with one error: an op without a lowering;
/// the module can only be destroyed then. Thread-compatible per context.
SHARD_EXPORTED MlirLogicalResult shardModulePlanBuffers(MlirOperation module, const char *mcpu);

#ifdef __cplusplus
}
#endif
#endif // SHARD_MEMORY_PLAN_H
