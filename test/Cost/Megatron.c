//===- Megatron.c - Costs against published step times ------------*- C -*-===//
// The eight step times and the layer times of arXiv 2205.05198 (A100-80GB, f16, sequence 2048,
// tensor parallel 8), put together from shardOpCost and shardCollectiveCost on the preset. The ops
// of a layer are Megatron-LM's of 2022, written out below; the pipeline is its closed form. Nothing
// is fitted to these times.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "Check.h"

#include "shard/Cost.h"

#include <stdlib.h>
#include <string.h>

typedef struct Model {
  const char *name;
  int64_t hidden, layers, heads;
  int devices, stages, chunks;
  int64_t batch, microBatch;
  double fullSeconds, bothSeconds;
} Model;
static const Model models[] = {
    {"22B", 6144, 48, 64, 8, 1, 1, 4, 4, 1.42, 1.10},
    {"175B", 12288, 96, 96, 64, 8, 3, 64, 1, 18.13, 13.75},
    {"530B", 20480, 105, 128, 280, 35, 3, 280, 1, 49.05, 37.83},
    {"1T", 25600, 128, 160, 512, 64, 1, 512, 1, 94.42, 71.49},
};
enum { sequence = 2048, vocabulary = 51200, tensorParallel = 8 };

typedef struct Machine {
  ShardCluster *cluster;
  const ShardDeviceKind *kind;
  ShardGroups *tensor, *pipeline; // groups of a node; neighbours of stages
} Machine;

static double op(const Machine *machine, ShardOpWork work) {
  ShardOpCost cost;
  check(shardOpCost(machine->cluster, machine->kind, &work, &cost), "an op", NULL);
  return cost.seconds;
}

static double product(const Machine *machine, int64_t batch, int64_t m, int64_t n, int64_t k) {
  return op(machine, shardContractionWork(batch, m, n, k, 2, SHARD_RATE_F16));
}

/// Of a weight [k, n] from `rows` rows, read, added to and written in f32.
static double weightGradient(const Machine *machine, int64_t rows, int64_t n, int64_t k) {
  ShardOpWork work = shardContractionWork(1, k, n, rows, 2, SHARD_RATE_F16);
  work.bytes += (double)(n * k) * (4 + 4 - 2);
  return op(machine, work);
}

/// An op that moves `bytes` an element of `elements`, with `operations` on each.
static double elementwise(const Machine *machine, double elements, double bytes,
                          double operations) {
  return op(machine, (ShardOpWork){.type = SHARD_RATE_F32,
                                   .vectorFlops = elements * operations,
                                   .bytes = elements * bytes});
}

static double collective(const ShardGroups *groups, ShardCollectiveKind kind, double bytes) {
  ShardCollectiveCost cost;
  shardCollectiveCost(groups, kind, (int64_t)bytes, &cost);
  return cost.seconds;
}

/// Seconds of a layer and micro-batch: forward, backward, and the core of attention forward alone.
typedef struct LayerSeconds {
  double forward, backward, core;
} LayerSeconds;

static LayerSeconds layerSeconds(const Machine *machine, const Model *model,
                                 bool sequenceParallel) {
  int64_t b = model->microBatch, h = model->hidden, rows = sequence * b;
  int64_t width = h / tensorParallel, heads = model->heads / tensorParallel * b;
  int64_t size = h / model->heads;
  double values = (double)(rows * h), scores = (double)heads * sequence * sequence;
  double mine = sequenceParallel ? values / tensorParallel : values;
  double inner = 4 * values / tensorParallel, message = 2 * values;
  double norm = elementwise(machine, mine, 2 + 2, 8);
  double add = elementwise(machine, mine, 2 + 2 + 2 + 1, 4); // bias, dropout and its mask, residual
  double queries = product(machine, 1, rows, 3 * width, h),
         out = product(machine, 1, rows, h, width);
  double up = product(machine, 1, rows, 4 * width, h),
         down = product(machine, 1, rows, h, 4 * width);
  double dots = product(machine, heads, sequence, sequence, size);
  double mix = product(machine, heads, sequence, size, sequence);
  double reduce = sequenceParallel
                      ? collective(machine->tensor, SHARD_COLLECTIVE_REDUCE_SCATTER, message) +
                            collective(machine->tensor, SHARD_COLLECTIVE_ALL_GATHER, message)
                      : collective(machine->tensor, SHARD_COLLECTIVE_ALL_REDUCE, message);
  LayerSeconds seconds;
  // Scale, mask and softmax in one; dropout apart.
  seconds.core = dots + elementwise(machine, scores, 2 + 2, 8) +
                 elementwise(machine, scores, 2 + 2 + 1, 2) + mix;
  double biased = elementwise(machine, 3 * values / tensorParallel, 2 + 2, 1); // of the queries
  double merge = elementwise(machine, values / tensorParallel, 2 + 2, 0);      // heads side by side
  double gradients =
      weightGradient(machine, rows, 3 * width, h) + weightGradient(machine, rows, h, width) +
      weightGradient(machine, rows, 4 * width, h) + weightGradient(machine, rows, h, 4 * width);
  seconds.forward = 2 * norm + queries + biased + merge + seconds.core + out + 2 * reduce +
                    2 * add + up + elementwise(machine, inner, 2 + 2, 20) + down;
  // Each product has two gradients; those of weights are added to their sums in f32. Softmax and
  // the activation read two and write one.
  seconds.backward =
      queries + out + up + down + gradients + 2 * (dots + mix) + merge +
      elementwise(machine, scores, 2 + 2 + 2, 6) + elementwise(machine, scores, 2 + 2 + 1, 2) +
      elementwise(machine, inner, 2 + 2 + 2, 30) + 2 * reduce +
      2 * elementwise(machine, mine, 2 + 2 + 2 + 2, 12) + // norms, with the residual's
      2 * elementwise(machine, mine, 2 + 2 + 1, 2);
  return seconds;
}

/// The output layer and the loss, forward and backward, of a micro-batch.
static double headSeconds(const Machine *machine, const Model *model) {
  int64_t rows = sequence * model->microBatch, columns = vocabulary / tensorParallel;
  double logits = (double)(rows * columns);
  return 3 * product(machine, 1, rows, columns, model->hidden) +
         elementwise(machine, logits, 2 + 4, 1) + // to f32
         3 * elementwise(machine, logits, 4 + 4, 4);
}

static double stepSeconds(const Machine *machine, const Model *model, bool both) {
  double p = model->stages, v = model->chunks;
  double microBatches = (double)(model->batch / model->microBatch);
  LayerSeconds layer = layerSeconds(machine, model, both);
  double again = both ? layer.core : layer.forward;
  double stage = (double)model->layers / p * (layer.forward + layer.backward + again);
  double passed = 2.0 * sequence * (double)(model->microBatch * model->hidden) / tensorParallel;
  double message = p > 1 ? collective(machine->pipeline, SHARD_COLLECTIVE_SEND, passed) : 0;
  double parameters =
      12.0 * (double)(model->layers * model->hidden * model->hidden) / p / tensorParallel;
  // Adam: gradient, master copy and moments read, the latter written with the new weights; the
  // gradients' norm before, their zeros after.
  double update = elementwise(machine, parameters, 4 * 4 + 3 * 4 + 2 + 4 + 4, 12);
  return (microBatches + (p - 1) / v) * (stage + 2 * v * message) +
         microBatches * headSeconds(machine, model) + update;
}

static Machine machineOf(int devices) {
  char spec[32], *error = NULL;
  snprintf(spec, sizeof(spec), "dgx-a100:%d", devices);
  Machine machine = {.cluster = shardClusterCreate(spec, &error)};
  if (!machine.cluster) {
    printf("FAIL: %s\n", error);
    exit(1);
  }
  machine.kind = &machine.cluster->deviceKinds[0];
  const int64_t sizes[] = {devices / tensorParallel, tensorParallel};
  machine.tensor = shardGroupsCreateForAxes(machine.cluster, 2, sizes, 2, NULL, &error);
  machine.pipeline = shardGroupsCreateForAxes(machine.cluster, 2, sizes, 1, NULL, &error);
  return machine;
}

int main(void) {
  double sum = 0, most = 0;
  for (int i = 0; i < 4; ++i) {
    Machine machine = machineOf(models[i].devices);
    for (int both = 0; both < 2; ++both) {
      double published = both ? models[i].bothSeconds : models[i].fullSeconds;
      double seconds = stepSeconds(&machine, &models[i], both);
      double error = 100 * (seconds / published - 1);
      printf("%-5s %-30s %7.2f s, published %6.2f, %+6.2f %%\n", models[i].name,
             both ? "sequence parallel, selective" : "full recomputation", seconds, published,
             error);
      sum += fabs(error) / 8;
      most = fmax(most, fabs(error));
    }
    if (i == 0) {
      LayerSeconds plain = layerSeconds(&machine, &models[0], false);
      LayerSeconds split = layerSeconds(&machine, &models[0], true);
      printf("layer of 22B, ms: forward %.1f (7.7), backward %.1f (11.9); sequence parallel %.1f "
             "(7.2), %.1f (11.8)\n",
             plain.forward * 1e3, plain.backward * 1e3, split.forward * 1e3, split.backward * 1e3);
    }
    shardGroupsDestroy(machine.tensor);
    shardGroupsDestroy(machine.pipeline);
    shardClusterDestroy(machine.cluster);
  }
  // What the roofline leaves out is always slower: shapes that are not the best for the library,
  // and compute slowed by communication beside it.
  check(sum < 13 && most < 18, "error of the step times", NULL);
  printf("step times: mean error %.2f %%, worst %.2f %%\n", sum, most);
  printf("%d checks, %d failures\n", nChecks, nFailures);
  return nFailures != 0;
}
