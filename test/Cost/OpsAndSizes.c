//===- OpsAndSizes.c - Costs of ops, sizes of models --------------*- C -*-===//
// Golden values of the textbook, and of Megatron's published memory.
//===----------------------------------------------------------------------===//
#include "Check.h"

#include "shard/Cost.h"
#include "shard/Sizes.h"

#include <stdlib.h>

#define GIB 1073741824.0

static ShardCluster *cluster(const char *spec) {
  char *error = NULL;
  ShardCluster *c = shardClusterCreate(spec, &error);
  if (!c) {
    printf("FAIL: %s\n", error);
    exit(1);
  }
  return c;
}

static void checkOps(const char *twoKinds) {
  ShardCluster *c = cluster(twoKinds);
  const ShardDeviceKind *old = &c->deviceKinds[0], *new = &c->deviceKinds[1];
  ShardOpCost cost;
  // 2 x 512 x 1024 x 2048 flops at 80 Tflop/s, at 0.1 + 0.9 log(2147.5)/log(1e4) of it; 5 us
  // before.
  ShardOpWork work = shardContractionWork(1, 512, 1024, 2048, 2, SHARD_RATE_F16);
  checkNear(work.flops, 2147483648, 1e-12, "flops");
  checkNear(work.bytes, 2 * (512 * 2048 + 2048 * 1024 + 512 * 1024), 1e-12, "bytes");
  double efficiency = 0.1 + 0.9 * log(2147.483648) / log(1e4);
  check(shardOpCost(c, old, &work, &cost), "a contraction", NULL);
  checkNear(cost.efficiency, efficiency, 1e-9, "efficiency by size");
  checkNear(cost.seconds, 5e-6 + 2147483648 / (80e12 * efficiency), 1e-9, "bound by flops");
  check(cost.bound == SHARD_BOUND_COMPUTE && cost.type == SHARD_RATE_F16, "bound", NULL);
  // One row: the weights are read at 1.2 TB/s, of which 4 MB reach 0.5 + 0.5 log(4.2)/log(100).
  work = shardContractionWork(1, 1, 1024, 2048, 2, SHARD_RATE_F16);
  double fraction = 0.5 + 0.5 * log(work.bytes / 1e6) / log(100);
  check(shardOpCost(c, old, &work, &cost), "one row", NULL);
  checkNear(cost.memorySeconds, work.bytes / (1.2e12 * fraction), 1e-9, "bound by memory");
  check(cost.bound == SHARD_BOUND_LAUNCH || cost.memorySeconds > cost.computeSeconds, "bound",
        NULL);
  // Of 100 MB and 5 operations an element, in f32.
  work = (ShardOpWork){.type = SHARD_RATE_F32, .vectorFlops = 5 * 12.5e6, .bytes = 100e6};
  check(shardOpCost(c, old, &work, &cost), "elementwise", NULL);
  checkNear(cost.seconds, 5e-6 + 100e6 / 1.2e12, 1e-9, "elementwise");
  checkNear(cost.computeSeconds, 62.5e6 / 5e12, 1e-9, "its operations");
  check(cost.bound == SHARD_BOUND_MEMORY, "bound by memory", NULL);
  // Of the operations a billion are exponentials, of a fifth of the rate.
  work.vectorFlops = 11e9, work.functions[SHARD_FUNCTION_EXP] = 1e9, work.bytes = 0;
  check(shardOpCost(c, old, &work, &cost), "functions", NULL);
  checkNear(cost.computeSeconds, 10e9 / 5e12 + 1e9 / 1e12, 1e-9, "functions");
  // With all eight at work half of that is left, and a quarter of the memory; with half of them a
  // part of 3/7 of the way.
  work.bytes = 1e6;
  check(shardOpCostBusy(c, old, &work, 8, &cost), "all busy", NULL);
  checkNear(cost.computeSeconds, 2 * (10e9 / 5e12 + 1e9 / 1e12), 1e-9, "all busy");
  checkNear(cost.memorySeconds, 1e6 / (1.2e12 * 0.25), 1e-9, "all busy");
  check(shardOpCostBusy(c, old, &work, 4, &cost), "half busy", NULL);
  checkNear(cost.computeSeconds, 3e-3 / (1 - 0.5 * 3 / 7), 1e-9, "half busy");
  // A shape counts where there is a grid, and one product of a batch is as another.
  work = shardContractionWork(3, 10, 64, 100, 2, SHARD_RATE_F16);
  check(shardOpCost(c, new, &work, &cost), "a shape", NULL);
  checkNear(cost.efficiency, 0.475, 1e-9, "efficiency by shape");
  // Types that a kind lacks: bf16 in f32; f8 in f16; f32 on a kind of f16 only; vectors there.
  work = (ShardOpWork){.type = SHARD_RATE_BF16, .flops = 8e12};
  check(shardOpCost(c, old, &work, &cost) && cost.type == SHARD_RATE_F32, "bf16 in f32", NULL);
  checkNear(cost.computeSeconds, 1, 1e-9, "bf16 in f32");
  work.type = SHARD_RATE_F8;
  check(shardOpCost(c, new, &work, &cost) && cost.type == SHARD_RATE_F16, "f8 in f16", NULL);
  checkNear(cost.seconds, 8e12 / 400e12, 1e-9, "no launch given");
  work.type = SHARD_RATE_F32;
  check(!shardOpCost(c, new, &work, &cost), "nothing computes f32", NULL);
  work = (ShardOpWork){.type = SHARD_RATE_F16, .vectorFlops = 4e12};
  check(shardOpCost(c, new, &work, &cost), "vectors at the rate of contractions", NULL);
  checkNear(cost.seconds, 0.01, 1e-9, "vectors");
  work = (ShardOpWork){.type = SHARD_RATE_F16, .flops = 1};
  check(shardOpCost(c, old, &work, &cost) && cost.bound == SHARD_BOUND_LAUNCH, "launch", NULL);
  shardClusterDestroy(c);
  // More work never takes less time, on any preset and type, whatever its curve.
  for (intptr_t i = 0; i < shardClusterPresetGetCount(); ++i) {
    c = cluster(shardClusterPresetGetName(i));
    for (int t = 0; t < SHARD_N_RATE_TYPES; ++t) {
      double before = 0;
      for (double size = 1; size < 1e15; size *= 1.1) {
        work = (ShardOpWork){.type = (ShardRateType)t, .flops = size, .bytes = size / 100};
        if (!shardOpCost(c, &c->deviceKinds[0], &work, &cost))
          break;
        check(cost.seconds >= before, "more work, less time", shardRateTypeName((ShardRateType)t));
        before = cost.seconds;
      }
    }
    shardClusterDestroy(c);
  }
}

/// Results cut into tiles: full turns and the last one, edges, small results, and sweeps.
static void checkTiles(void) {
  ShardCluster *c = cluster("dgx-a100");
  const ShardDeviceKind *kind = &c->deviceKinds[0];
  static const struct {
    int64_t batch, m, n, k;
    double efficiency;
  } rows[] = {
      {1, 4096, 6912, 8192, 16.0 / 16},       // 256 x 128: 864 tiles, 8 turns of 108
      {1, 2048, 4608, 12288, 16.0 / 18},      // 288, which are 2 2/3 turns of 3
      {1, 2048, 12288, 12288, 1536 / 1620.0}, // 128 x 128: 14.2 turns of 15; of 256 rows 7.1 of 8
      {1, 4097, 6912, 8192, 4097.0 * 54 / 128 / (17 * 108)}, // one row more: of 128 x 128, 17 turns
      {27, 512, 512, 65536, 1}, // many products fill the turns together
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    ShardOpWork work =
        shardContractionWork(rows[i].batch, rows[i].m, rows[i].n, rows[i].k, 2, SHARD_RATE_F16);
    ShardOpCost cost;
    check(shardOpCost(c, kind, &work, &cost), "a tiled product", NULL);
    checkNear(cost.efficiency, rows[i].efficiency, 1e-9, "tiles");
    work.shape[1] = 0;
    check(shardOpCost(c, kind, &work, &cost) && cost.efficiency == 1, "a shape not known", NULL);
  }
  // Less than a tile, or than fills the units: by its size alone; f32 has no such tiles.
  const ShardOpWork small[] = {shardContractionWork(1, 64, 65536, 65536, 2, SHARD_RATE_F16),
                               shardContractionWork(1, 1280, 1280, 131072, 2, SHARD_RATE_F16),
                               shardContractionWork(1, 2048, 4608, 12288, 4, SHARD_RATE_F32)};
  for (int i = 0; i < 3; ++i) {
    ShardOpCost cost;
    check(shardOpCost(c, kind, &small[i], &cost) && cost.efficiency == 1, "no tiles", NULL);
  }
  for (int side = 0; side < 3; ++side) {
    double before = 0;
    for (int64_t size = 1; size < 6000; ++size) {
      int64_t shape[3] = {2048, 3000, 4096};
      ShardOpCost cost;
      shape[side] = size;
      ShardOpWork work = shardContractionWork(1, shape[0], shape[1], shape[2], 2, SHARD_RATE_F16);
      shardOpCost(c, kind, &work, &cost);
      check(cost.seconds >= before * (1 - 1e-12), "a longer side, less time", NULL);
      before = cost.seconds;
    }
  }
  shardClusterDestroy(c);
}

static void checkTextbook(void) {
  ShardModelSizes dense = {.layers = 1, .hidden = 20480, .feedForward = 81920};
  checkNear(shardCountParameters(&dense).total, 5033164800, 1e-15, "one dense layer");
  dense.layers = 120;
  checkNear(shardCountParameters(&dense).total, 603979776000, 1e-15, "dense-20480: 0.604T");
  checkNear(shardExpertsForParameters(&dense, 200e12), 496.2, 1e-4, "experts for 200T");
  ShardModelSizes mixture = dense;
  mixture.experts = (int64_t)llround(shardExpertsForParameters(&dense, 200e12));
  check(mixture.experts == 496, "496 experts", NULL);
  ShardParameters parameters = shardCountParameters(&mixture);
  checkNear(parameters.attention + parameters.feedForward, 199.9e12, 1e-3, "199.9T");
  checkNear(parameters.router, 120.0 * 20480 * 496, 1e-15, "routers");
  mixture.vocabulary = 50000;
  checkNear(shardCountParameters(&mixture).embedding, 2 * 50000.0 * 20480, 1e-15, "embeddings");
  mixture.tiedEmbedding = true;
  checkNear(shardCountParameters(&mixture).embedding, 50000.0 * 20480, 1e-15, "tied");
  ShardModelSizes grouped = {
      .layers = 32, .hidden = 4096, .feedForward = 14336, .heads = 32, .keyValueHeads = 8};
  checkNear(shardCountParameters(&grouped).attention, 32 * 2.5 * 4096 * 4096, 1e-15,
            "fewer key and value heads");

  ShardBytesPerParameter weights = shardInferenceBytes(2), adam = shardMixedAdamBytes();
  checkNear(shardCountMemory(200e12, &weights, 0).total, 400e12, 1e-15, "200T in f16");
  ShardMemoryBytes memory = shardCountMemory(200e12, &adam, 20e12);
  checkNear(memory.total - memory.activations, 3.2e15, 1e-15, "Adam: 3.2 PB");
  checkNear(memory.weights, 400e12, 1e-15, "weights");
  checkNear(memory.gradients, 400e12, 1e-15, "gradients");
  checkNear(memory.master, 800e12, 1e-15, "the master copy");
  checkNear(memory.moments, 1600e12, 1e-15, "moments");
  checkNear(shardTextbookTrainingBytes(200e12, 20e12), 1220e12, 1e-15, "the source's total");
  checkNear(shardLargestOnDevice(80e9, &adam), 5.0e9, 1e-15, "largest on 80 GB");

  ShardCluster *node = cluster("dgx-a100"), *tree = cluster("fat-tree-100-400-800");
  check(shardSmallestFleet(node, 400e12, false, false) == 625 * 8, "625 nodes of 640 GB", NULL);
  check(shardSmallestFleet(node, 400e12, true, false) == 782 * 8, "782 with a fifth free", NULL);
  check(shardSmallestFleet(node, 1, true, false) == 8, "a node at least", NULL);
  // Of a node: 512 GB, 2 TB and 30.7 TB; the object store takes 1 PB once.
  check(shardSmallestFleet(node, 3.2e15, true, true) == 67 * 8, "with tiers", NULL);
  ShardFit fit = shardFitBytes(tree, 400e12, false);
  checkNear(fit.bytesPerDevice, 195.3e9, 1e-3, "195.3 GB a device");
  check(fit.bytesPerDevice > 80e9 && fit.fits, "tiers hold what devices do not", NULL);
  // The source rounds 2048 devices to 2000: 160 TB, 240 TB.
  checkNear(fit.deviceBytes, 163.84e12, 1e-12, "device memory");
  checkNear(fit.tierBytes[0], 236.16e12, 1e-12, "host memory");
  checkNear(fit.deviceBytes / 400e12, 0.40, 0.03, "40 %");
  check(fit.tierBytes[1] == 0 && fit.missingBytes == 0, "nothing below", NULL);
  fit = shardFitBytes(tree, 400e12, true);
  checkNear(fit.deviceBytes, 0.8 * 163.84e12, 1e-12, "with the reserve");
  fit = shardFitBytes(tree, 1e17, true);
  check(!fit.fits && fit.missingBytes > 9e16, "fits nowhere", NULL);
  shardClusterDestroy(node);
  shardClusterDestroy(tree);
}

/// Figure 1, figure 7 and the state of arXiv 2205.05198: A100, sequence 2048, tensor parallel 8.
static void checkMegatron(void) {
  static const struct {
    const char *name;
    int64_t heads, hidden, layers, stages, chunks, microBatch;
    double none, both, state; // GiB
    double percent[4];        // of tensor parallel alone: sequence, selective, both, full
  } rows[] = {
      {"22B", 64, 6144, 48, 1, 1, 4, 59.25, 9.5625, 45.56, {66.84, 49.42, 16.18, 7.64}},
      {"175B", 96, 12288, 96, 8, 3, 1, 66.84375, 12.3515625, 45.56, {62.04, 56.53, 18.49, 8.71}},
      {"530B",
       128,
       20480,
       105,
       35,
       3,
       1,
       114.0234375,
       23.076171875,
       31.64,
       {58.31, 62.04, 20.27, 9.42}},
      {"1T", 160, 25600, 128, 64, 1, 1, 131.25, 26.5625, 32.96, {58.31, 62.04, 20.27, 9.42}},
  };
  for (int i = 0; i < 4; ++i) {
    ShardModelSizes model = {.layers = rows[i].layers,
                             .hidden = rows[i].hidden,
                             .feedForward = 4 * rows[i].hidden,
                             .heads = rows[i].heads};
    ShardTraining training = {.sequence = 2048,
                              .microBatch = rows[i].microBatch,
                              .tensorParallel = 8,
                              .stages = rows[i].stages,
                              .chunks = rows[i].chunks};
    ShardTraining both = training;
    both.sequenceParallel = true;
    both.recompute = SHARD_RECOMPUTE_SELECTIVE;
    checkNear(shardStageActivationBytes(&model, &training) / GIB, rows[i].none, 1e-12,
              rows[i].name);
    checkNear(shardStageActivationBytes(&model, &both) / GIB, rows[i].both, 1e-12, rows[i].name);
    ShardBytesPerParameter bytes = {2, 4, 4, 8}; // gradients in f32
    checkNear(shardStageStateBytes(&model, &training, &bytes) / GIB, rows[i].state, 2e-4,
              rows[i].name);
    ShardTraining others[4] = {training, training, both, training};
    others[0].sequenceParallel = true;
    others[1].recompute = SHARD_RECOMPUTE_SELECTIVE;
    others[3].recompute = SHARD_RECOMPUTE_FULL;
    for (int k = 0; k < 4; ++k) { // read off a plot
      double percent = 100 * shardLayerActivationBytes(&model, &others[k]) /
                       shardLayerActivationBytes(&model, &training);
      check(fabs(percent - rows[i].percent[k]) <= 0.14, "figure 7", rows[i].name);
    }
  }
}

/// Table 5 of the same paper: utilization of model flops, from the published step times; of
/// hardware flops by the paper's formula, which counts the core of attention three times more, not
/// once.
static void checkUtilization(void) {
  static const struct {
    int64_t heads, hidden, layers;
    double batch, devices, seconds, model, hardware; // percent
  } rows[] = {{64, 6144, 48, 4, 8, 1.10, 41.5, 43.7},
              {96, 12288, 96, 64, 64, 13.75, 51.4, 52.8},
              {128, 20480, 105, 280, 280, 37.83, 56.0, 57.0},
              {160, 25600, 128, 512, 512, 71.49, 56.3, 57.0}};
  for (int i = 0; i < 4; ++i) {
    double h = (double)rows[i].hidden, s = 2048, l = (double)rows[i].layers;
    ShardModelSizes model = {.layers = rows[i].layers,
                             .hidden = rows[i].hidden,
                             .feedForward = 4 * rows[i].hidden,
                             .vocabulary = 51200,
                             .heads = rows[i].heads};
    ShardTraining training = {.sequence = 2048, .recompute = SHARD_RECOMPUTE_SELECTIVE};
    ShardStepFlops flops = shardCountStepFlops(&model, &training, rows[i].batch);
    double closed = 72 * rows[i].batch * l * s * h * h * (1 + s / (6 * h) + 51200 / (12 * h * l));
    checkNear(flops.model, closed, 1e-12, "model flops");
    double peak = rows[i].seconds * rows[i].devices * 312e12 / 100;
    double rounding = 0.05 + 0.005 / rows[i].seconds * rows[i].hardware; // of both printed numbers
    check(fabs(flops.model / peak - rows[i].model) < rounding, "MFU", NULL);
    double core = flops.hardware - flops.model;
    checkNear(core, closed * s / (18 * h) / (1 + s / (6 * h) + 51200 / (12 * h * l)), 1e-12,
              "the core once more");
    check(fabs((flops.model + 3 * core) / peak - rows[i].hardware) < rounding, "the paper's HFU",
          NULL);
    training.recompute = SHARD_RECOMPUTE_FULL;
    flops = shardCountStepFlops(&model, &training, rows[i].batch);
    checkNear(flops.hardware - 6 * rows[i].batch * s * h * 51200,
              96 * rows[i].batch * l * s * h * h * (1 + s / (6 * h)), 1e-12, "96 in place of 72");
    training.recompute = SHARD_RECOMPUTE_NONE;
    flops = shardCountStepFlops(&model, &training, rows[i].batch);
    check(flops.hardware == flops.model, "nothing again", NULL);
    model.experts = 8; // a token takes one
    checkNear(shardCountStepFlops(&model, &training, rows[i].batch).model, flops.model, 0,
              "experts");
  }
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: shard-cost-ops TWO-KINDS.json\n");
    return 2;
  }
  checkOps(argv[1]);
  checkTiles();
  checkTextbook();
  checkMegatron();
  checkUtilization();
  printf("%d checks, %d failures\n", nChecks, nFailures);
  return nFailures != 0;
}
