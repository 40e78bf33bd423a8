//===- shard/Analyse.h - How large a model is ---------------------*- C -*-===//
// Parameters, memory and traffic of a model that no layout has been chosen for yet, counted on its
// program. How weights are told apart: python-free-docs/design/analyse.md.
//===----------------------------------------------------------------------===//
#ifndef SHARD_ANALYSE_H
#define SHARD_ANALYSE_H

#include "shard/Cluster.h"
#include "shard/Support.h"

#include "mlir-c/IR.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What a weight is for, by the ops that use it. Of a weight with several uses the first.
typedef enum ShardWeightClass {
  SHARD_WEIGHT_EMBEDDING = 0, // looked up, or added to what was; patches of an image
  SHARD_WEIGHT_ATTENTION = 1, // makes queries, keys or values, or takes what attention gives
  SHARD_WEIGHT_EXPERT = 2,    // of a mixture, chosen from by data
  SHARD_WEIGHT_ROUTER = 3,    // chooses
  SHARD_WEIGHT_HEAD = 4,      // makes the results of the last layer's
  SHARD_WEIGHT_MLP = 5,       // any other product with activations
  SHARD_WEIGHT_NORM = 6,      // scales or shifts what was normalized
  SHARD_WEIGHT_OTHER = 7
} ShardWeightClass;
#define SHARD_N_WEIGHT_CLASSES 8
SHARD_EXPORTED const char *shardWeightClassName(ShardWeightClass class_); // null: out of range

typedef struct ShardAnalysedWeights {
  int64_t weights;    // tensors
  int64_t parameters; // elements
  int64_t inMatrices; // of those, in weights of two or more dimensions
  double bytes;
} ShardAnalysedWeights;

/// Bytes by class, of the whole model.
typedef struct ShardAnalysedMemory {
  double weights, gradients, master, moments; // `master`: 32-bit copies of narrower weights
  double states;                              // caches
  double activations; // inference: the most that live at once; training: kept for the gradients
  double total;
  int64_t devicesAlone;     // that hold the total with the reserve, in parts of nodes; 0: as below
  int64_t devices;          // smallest fleet with the reserve; 0: no cluster, or beyond counting
  int64_t devicesWithTiers; // the same with the memory tiers of the nodes; 0: none
  bool fits;                // in the devices of the cluster
} ShardAnalysedMemory;

/// Equal layers (one function of the program), or what lies outside of any.
typedef struct ShardAnalysedLayer {
  int64_t count;
  int64_t first;      // number of the first; -1: outside
  int64_t parameters; // of one
  double weightBytes;
  double flops, vectorFlops; // of one, forward
  double movedBytes;         // between a device and its memory
  double boundaryBytes;      // results, that go on to the next
  double keptBytes;          // activations that its gradients need
} ShardAnalysedLayer;

/// Where the time of a forward pass goes on one device; zero where it is not known.
typedef struct ShardAnalysedTime {
  double computeSeconds, memorySeconds, launchSeconds;
} ShardAnalysedTime;

/// With how many experts a layer the model would have `parameters`.
typedef struct ShardAnalysedTarget {
  double parameters; // asked for
  double exact;      // experts, as a fraction; 0: no layers with an MLP, or experts already
  int64_t experts;   // to the nearest
  double reached;    // parameters with them
  double weightBytes, trainingBytes; // of those, without activations
  int64_t devices, trainingDevices;  // smallest fleets; 0: no cluster
} ShardAnalysedTarget;

/// Thread-safe to read; apart from any context and cluster once created.
typedef struct ShardSizeAnalysis {
  ShardAnalysedWeights classes[SHARD_N_WEIGHT_CLASSES];
  ShardAnalysedWeights total;
  int64_t tiedParameters;  // of the embedding, which are the head too
  int64_t layers;          // found
  int64_t layerParameters; // in attention, MLP and experts, matrices only
  double inputBytes, resultBytes;
  ShardAnalysedMemory inference, training;
  intptr_t nLayers;
  const ShardAnalysedLayer *layerKinds; // [nLayers] in order
  double flops, vectorFlops, movedBytes;
  ShardAnalysedTime time;
  const char *untimed; // element type that the device has no rate for, so that no time is known; ""
  const char
      *binding; // of a forward pass: "compute", "memory bandwidth", "launches", "nothing", ""
  const char *trainingBinding; // the same of a step with gradients and optimizer
  ShardAnalysedTarget target;
  const char *clusterName, *deviceKind; // "": no cluster
  double deviceBytes, usableBytes;      // of one device, without the reserve
  void *memory;                         // private
} ShardSizeAnalysis;

/// Analyses `module`, as the pass shard-outline-layers leaves it; it is not changed.
///   cluster           Read only here; null: none.
///   targetParameters  Of ShardAnalysedTarget.
/// Returns an analysis to be destroyed; null after one error diagnostic: no public
/// function. Thread-compatible per context.
SHARD_EXPORTED ShardSizeAnalysis *
shardSizeAnalysisCreate(MlirOperation module, const ShardCluster *cluster, double targetParameters);
SHARD_EXPORTED void shardSizeAnalysisDestroy(ShardSizeAnalysis *analysis); // null is fine

/// As tables of text, and as JSON. To be freed with free(); null: out of memory. Thread-safe.
SHARD_EXPORTED char *shardSizeAnalysisFormatText(const ShardSizeAnalysis *analysis);
SHARD_EXPORTED char *shardSizeAnalysisFormatJson(const ShardSizeAnalysis *analysis);

#ifdef __cplusplus
}
#endif
#endif // SHARD_ANALYSE_H
