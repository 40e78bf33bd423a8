//===- Sizes.c - How many bytes a model needs ---------------------*- C -*-===//
// Activations: Korthikanti et al., Reducing activation recomputation in large transformer models,
// MLSys 2023. The rest are counts.
//===----------------------------------------------------------------------===//
#include "shard/Sizes.h"

#include "Cluster.h"

#include <math.h>

ShardParameters shardCountParameters(const ShardModelSizes *model) {
  double layers = (double)model->layers, d = (double)model->hidden;
  double ff = (double)model->feedForward, experts = (double)model->experts;
  double shared = model->heads > 0 && model->keyValueHeads > 0
                      ? (double)model->keyValueHeads / (double)model->heads
                      : 1;
  ShardParameters out = {.attention = layers * (2 + 2 * shared) * d * d,
                         .feedForward = layers * 2 * d * ff * (experts > 0 ? experts : 1),
                         .router = layers * d * experts,
                         .embedding =
                             (double)model->vocabulary * d * (model->tiedEmbedding ? 1 : 2)};
  out.total = out.attention + out.feedForward + out.router + out.embedding;
  return out;
}

double shardExpertsForParameters(const ShardModelSizes *model, double parameters) {
  ShardModelSizes dense = *model;
  dense.experts = dense.vocabulary = 0;
  ShardParameters one = shardCountParameters(&dense);
  return (parameters - one.attention) / one.feedForward;
}

ShardBytesPerParameter shardInferenceBytes(double weightBytes) {
  return (ShardBytesPerParameter){.weights = weightBytes};
}

ShardBytesPerParameter shardMixedAdamBytes(void) {
  return (ShardBytesPerParameter){.weights = 2, .gradients = 2, .master = 4, .moments = 8};
}

static double sumOf(const ShardBytesPerParameter *bytes) {
  return bytes->weights + bytes->gradients + bytes->master + bytes->moments;
}

ShardMemoryBytes shardCountMemory(double parameters, const ShardBytesPerParameter *bytes,
                                  double activationBytes) {
  return (ShardMemoryBytes){.weights = parameters * bytes->weights,
                            .gradients = parameters * bytes->gradients,
                            .master = parameters * bytes->master,
                            .moments = parameters * bytes->moments,
                            .activations = activationBytes,
                            .total = parameters * sumOf(bytes) + activationBytes};
}

double shardLayerActivationBytes(const ShardModelSizes *model, const ShardTraining *training) {
  double h = (double)model->hidden, s = (double)training->sequence,
         t = (double)training->tensorParallel;
  double sbh = s * (double)training->microBatch * h;
  double whole = training->sequenceParallel ? 10 / t : 10; // norms, dropouts, inputs of both blocks
  // Of attention: queries and keys 4, values 2, the projection's input 2. Of the feed-forward:
  // before and after its activation.
  double split = (8 + 4 * (double)model->feedForward / h) / t;
  double core = 5 * (double)model->heads * s / (h * t); // softmax 2, dropout 2, its mask 1
  switch (training->recompute) {
  case SHARD_RECOMPUTE_FULL:
    return 2 * sbh / (training->sequenceParallel ? t : 1);
  case SHARD_RECOMPUTE_SELECTIVE:
    return sbh * (whole + split);
  case SHARD_RECOMPUTE_NONE:
    break;
  }
  return sbh * (whole + split + core);
}

double shardStageActivationBytes(const ShardModelSizes *model, const ShardTraining *training) {
  double p = (double)training->stages, v = (double)training->chunks;
  // Of p micro-batches a stage holds L/p layers; interleaved chunks hold some more.
  double held = v > 1 ? 1 + (p - 1) / (p * v) : 1;
  return (double)model->layers * held * shardLayerActivationBytes(model, training);
}

double shardStageStateBytes(const ShardModelSizes *model, const ShardTraining *training,
                            const ShardBytesPerParameter *bytes) {
  ShardModelSizes stage = *model;
  stage.layers = (model->layers + training->stages - 1) / training->stages;
  stage.vocabulary = 0;
  return shardCountParameters(&stage).total / (double)training->tensorParallel * sumOf(bytes);
}

ShardStepFlops shardCountStepFlops(const ShardModelSizes *model, const ShardTraining *training,
                                   double sequences) {
  ShardModelSizes dense = *model;
  dense.experts = 0;
  ShardParameters parameters = shardCountParameters(&dense);
  double s = (double)training->sequence, h = (double)model->hidden;
  double tokens = sequences * s;
  double core = 4 * (double)model->layers * tokens * s * h; // scores, and their mix of values
  double layers = 2 * tokens * (parameters.attention + parameters.feedForward) + core;
  double head = 2 * tokens * h * (double)model->vocabulary;
  double again = training->recompute == SHARD_RECOMPUTE_FULL        ? layers
                 : training->recompute == SHARD_RECOMPUTE_SELECTIVE ? core
                                                                    : 0;
  double forward = layers + head;
  return (ShardStepFlops){.model = 3 * forward, .hardware = 3 * forward + again};
}

ShardFit shardFitBytes(const ShardCluster *cluster, double bytes, bool withReserve) {
  ShardFit out = {.bytesPerDevice = bytes / (double)cluster->nDevices};
  out.deviceBytes = fmin(bytes, shardClusterDeviceBytes(cluster, withReserve));
  bytes -= out.deviceBytes;
  for (int32_t i = 0; i < cluster->nTiers; ++i) {
    out.tierBytes[i] = fmin(bytes, shardClusterTierBytes(cluster, &cluster->tiers[i]));
    bytes -= out.tierBytes[i];
  }
  out.missingBytes = bytes;
  out.fits = bytes <= 0;
  return out;
}

int64_t shardSmallestFleet(const ShardCluster *cluster, double bytes, bool withReserve,
                           bool withTiers) {
  const ShardClusterNodes *run = &cluster->nodeRuns[0];
  double perNode = (double)run->devicesPerNode *
                   shardClusterKindBytes(cluster, &cluster->deviceKinds[run->kind], withReserve);
  for (int32_t i = 0; withTiers && i < cluster->nTiers; ++i) {
    const ShardMemoryTier *tier = &cluster->tiers[i];
    if (tier->owner == SHARD_LEVEL_DEVICE)
      perNode += (double)run->devicesPerNode * tier->bytes.value;
    else if (tier->owner == cluster->links[0].to)
      perNode += tier->bytes.value;
    else
      bytes -= shardClusterTierBytes(cluster, tier);
  }
  double nodes = fmax(1, ceil(bytes / perNode * (1 - 1e-12)));
  return nodes <= 0x1p53 / (double)run->devicesPerNode ? (int64_t)nodes * run->devicesPerNode : 0;
}

double shardLargestOnDevice(double memoryBytes, const ShardBytesPerParameter *bytes) {
  return memoryBytes / sumOf(bytes);
}

double shardTextbookTrainingBytes(double parameters, double activationBytes) {
  return parameters * 2 + activationBytes + parameters * 4;
}
