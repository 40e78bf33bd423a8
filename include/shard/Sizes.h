//===- shard/Sizes.h - How many bytes a model needs ---------------*- C -*-===//
// Closed forms for models that are only numbers yet. Memory of a program that exists is counted on
// it instead. Plain C, no MLIR. Bytes and counts are doubles: 200e12 parameters times 16 bytes.
//===----------------------------------------------------------------------===//
#ifndef SHARD_SIZES_H
#define SHARD_SIZES_H

#include "shard/Cluster.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A decoder. Zero experts: dense; `experts` is a layer's.
typedef struct ShardModelSizes {
  int64_t layers, hidden, feedForward; // L, d, d_ff
  int64_t experts;
  int64_t vocabulary;    // rows of the embedding; 0: not counted
  bool tiedEmbedding;    // the output layer is the embedding
  int64_t heads;         // of attention; 0: not known
  int64_t keyValueHeads; // 0: as many as heads
} ShardModelSizes;

/// Parameters by class of weight.
typedef struct ShardParameters {
  double attention;   // 4 d^2 a layer, less with fewer key and value heads
  double feedForward; // 2 d d_ff a layer and expert
  double router;      // d x experts a layer
  double embedding;   // with the output layer, unless tied
  double total;
} ShardParameters;
SHARD_EXPORTED ShardParameters shardCountParameters(const ShardModelSizes *model);

/// Experts a layer with which such a model has `parameters`, attention and feed-forward only, as a
/// fraction: the product rounds to the nearest. Negative: it has more without any.
SHARD_EXPORTED double shardExpertsForParameters(const ShardModelSizes *model, double parameters);

/// Bytes of a parameter by class. Adam in mixed precision keeps 16 bytes in all.
typedef struct ShardBytesPerParameter {
  double weights, gradients, master, moments;
} ShardBytesPerParameter;
SHARD_EXPORTED ShardBytesPerParameter shardInferenceBytes(double weightBytes);
SHARD_EXPORTED ShardBytesPerParameter shardMixedAdamBytes(void); // 2 + 2 + 4 + 8

/// Memory by class; every class is counted.
typedef struct ShardMemoryBytes {
  double weights, gradients, master, moments, activations;
  double total;
} ShardMemoryBytes;
SHARD_EXPORTED ShardMemoryBytes shardCountMemory(double parameters,
                                                 const ShardBytesPerParameter *bytes,
                                                 double activationBytes);

/// How a transformer's activations are kept for the backward pass (Korthikanti et al. 2023).
typedef enum ShardRecompute {
  SHARD_RECOMPUTE_NONE = 0,
  SHARD_RECOMPUTE_SELECTIVE = 1, // the core of attention
  SHARD_RECOMPUTE_FULL = 2       // but the input of each layer
} ShardRecompute;
typedef struct ShardTraining {
  int64_t sequence, microBatch; // s, b
  int64_t tensorParallel;       // t
  bool sequenceParallel;        // norms and dropouts are split along the sequence too
  int64_t stages, chunks;       // of the pipeline, and a stage's interleaved ones; 1F1B
  ShardRecompute recompute;
} ShardTraining;
/// Bytes of one layer and micro-batch on one device, 16-bit values and 8-bit masks.
SHARD_EXPORTED double shardLayerActivationBytes(const ShardModelSizes *model,
                                                const ShardTraining *training);
/// Bytes on the first stage, which holds the most: its micro-batches in flight. Without what comes
/// before and after the layers.
SHARD_EXPORTED double shardStageActivationBytes(const ShardModelSizes *model,
                                                const ShardTraining *training);
/// Parameters of the fullest stage on one device, times the bytes of each.
SHARD_EXPORTED double shardStageStateBytes(const ShardModelSizes *model,
                                           const ShardTraining *training,
                                           const ShardBytesPerParameter *bytes);

/// Floating-point operations of a training step: what the model asks for, and what devices do with
/// recomputation (Korthikanti et al. 2023, appendix A). Attention as without a mask; of experts
/// each token takes one.
typedef struct ShardStepFlops {
  double model;    // 72 G L s h^2 (1 + s/(6h) + V/(12hL)) of a decoder with d_ff = 4 h
  double hardware; // and what is computed again: the core of attention, or every layer
} ShardStepFlops;
/// Of `sequences` in a step, over all micro-batches and replicas. Over step seconds, devices and
/// their peak: the utilization of model and hardware flops (MFU, HFU). The paper's own formula for
/// the core recomputed adds its two gradients as well, s/(6h) in place of s/(18h). Thread-safe.
SHARD_EXPORTED ShardStepFlops shardCountStepFlops(const ShardModelSizes *model,
                                                  const ShardTraining *training, double sequences);

/// Where bytes go that are spread over all devices: device memory first, without the reserve when
/// `withReserve`, then each tier of the cluster.
typedef struct ShardFit {
  bool fits;
  double deviceBytes;    // in the memory of all devices
  double tierBytes[3];   // in each of cluster->tiers
  double missingBytes;   // that fit nowhere
  double bytesPerDevice; // of the whole, tiers or not
} ShardFit;
SHARD_EXPORTED ShardFit shardFitBytes(const ShardCluster *cluster, double bytes, bool withReserve);

/// The fewest devices of the cluster's first kind, in whole nodes, that hold `bytes`; their number.
///   withTiers    Nodes bring the tiers that belong to a device or a node; those of a higher level
///                count once, if the cluster has them.
/// 0: more than 2^53 would be needed.
SHARD_EXPORTED int64_t shardSmallestFleet(const ShardCluster *cluster, double bytes,
                                          bool withReserve, bool withTiers);
/// The largest model whose `bytes` a parameter fit on one device: memory over bytes, no
/// activations.
SHARD_EXPORTED double shardLargestOnDevice(double memoryBytes, const ShardBytesPerParameter *bytes);

/// The textbook's total for 16-bit training: weights, activations, and 4 bytes of optimizer a
/// parameter. Leaves out gradients and the master copy; for comparison only.
SHARD_EXPORTED double shardTextbookTrainingBytes(double parameters, double activationBytes);

#ifdef __cplusplus
}
#endif
#endif // SHARD_SIZES_H
