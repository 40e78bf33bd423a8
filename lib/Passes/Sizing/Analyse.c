//===- Analyse.c - How large a model is ---------------------------*- C -*-===//
#include "shard/Analyse.h"

#include "shard/Sizes.h"

#include "../Analysis/Work.h"
#include "../Core/Diagnostics.h"
#include "Sizing.h"

#include "mlir-c/BuiltinTypes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *shardWeightClassName(ShardWeightClass class_) {
  static const char *const names[SHARD_N_WEIGHT_CLASSES] = {
      "embedding", "attention", "expert", "router", "head", "mlp", "norm", "other"};
  return (unsigned)class_ < SHARD_N_WEIGHT_CLASSES ? names[class_] : NULL;
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

static ShardWeightClass classOf(uint32_t uses) {
  if (uses & 1u << SHARD_WEIGHT_EXPERT) // the rows of one are looked up too
    return SHARD_WEIGHT_EXPERT;
  for (int c = 0; c < SHARD_WEIGHT_OTHER; ++c)
    if (uses & 1u << c)
      return (ShardWeightClass)c;
  return SHARD_WEIGHT_OTHER;
}

static void addWeight(ShardAnalysedWeights *to, const FlatWeight *weight) {
  MlirType type = mlirValueGetType(weight->value);
  int64_t count = shardTypeElementCount(type);
  count = count < 0 ? 1 : count;
  to->weights += 1;
  to->parameters += count;
  to->inMatrices += mlirTypeIsARankedTensor(type) && mlirShapedTypeGetRank(type) > 1 ? count : 0;
  to->bytes += (double)shardTypeBytes(type);
}

static bool isTrained(MlirType type) {
  return mlirTypeIsAShaped(type) && mlirTypeIsAFloat(mlirShapedTypeGetElementType(type));
}

/// Adam in mixed precision: a copy in 32 bits beside narrower weights, and two moments in 32 bits.
static void addTraining(ShardAnalysedMemory *training, MlirType type) {
  double count = (double)shardTypeElementCount(type), bytes = (double)shardTypeBytes(type);
  const ShardBytesPerParameter each = shardMixedAdamBytes();
  training->weights += bytes;
  if (!isTrained(type))
    return;
  training->gradients += bytes;
  training->master += bytes < each.master * count ? each.master * count : 0;
  training->moments += each.moments * count;
}

static void countWeights(const Flat *flat, ShardSizeAnalysis *out) {
  for (size_t i = 0; i < flat->nWeights; ++i) {
    const FlatWeight *weight = &flat->weights[i];
    ShardWeightClass class = classOf(weight->uses);
    bool tied = class == SHARD_WEIGHT_EMBEDDING && (weight->uses & 1u << SHARD_WEIGHT_HEAD);
    addWeight(&out->classes[class], weight);
    addWeight(&out->total, weight);
    if (tied)
      out->tiedParameters += shardTypeElementCount(mlirValueGetType(weight->value));
    addTraining(&out->training, mlirValueGetType(weight->value));
  }
  out->layerParameters = out->classes[SHARD_WEIGHT_ATTENTION].inMatrices +
                         out->classes[SHARD_WEIGHT_EXPERT].inMatrices +
                         out->classes[SHARD_WEIGHT_MLP].inMatrices;
  out->inference.weights = out->total.bytes;
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

/// Where each layer is in the list: equal ones, one after the other or not, are one entry.
static int32_t *listLayers(const Flat *flat, ShardAnalysedLayer *list, intptr_t *outCount) {
  int32_t *entryOf = SHARD_ARENA_ARRAY(flat->arena, int32_t, flat->nLayers + 1);
  ShardPointerMap *entries = shardPointerMapCreate(flat->arena, 16);
  intptr_t n = 0;
  for (size_t i = 0; i < flat->nLayers; ++i) {
    const FlatLayer *layer = &flat->layers[i];
    int64_t entry;
    if (!shardPointerMapGet(entries, layer->callee.ptr, &entry)) {
      entry = n++;
      shardPointerMapSet(entries, layer->callee.ptr, entry);
      list[entry] =
          (ShardAnalysedLayer){.first = layer->number, .boundaryBytes = layer->boundaryBytes};
    }
    ++list[entry].count;
    entryOf[i] = (int32_t)entry;
  }
  list[n] = (ShardAnalysedLayer){.count = 1, .first = -1};
  *outCount = n + 1;
  return entryOf;
}

/// The weights that a layer uses, each by the first layer that does; used by several: outside.
static void addLayerWeights(const Flat *flat, ShardAnalysedLayer *list, const int32_t *entryOf,
                            intptr_t outside) {
  enum { unseen = -2, several = -1 };
  int32_t *layerOf = SHARD_ARENA_ARRAY(flat->arena, int32_t, flat->nWeights + 1);
  for (size_t i = 0; i < flat->nWeights; ++i)
    layerOf[i] = unseen;
  for (size_t i = 0; i < flat->nOps; ++i) {
    const FlatOp *op = &flat->ops[i];
    for (int32_t k = 0; k < op->nOperands; ++k) {
      const FlatWeights *weights = &flat->values[flat->operands[op->firstOperand + k]].weights;
      for (int32_t w = 0; w < weights->n; ++w) {
        int32_t *layer = &layerOf[weights->numbers[w]];
        *layer = *layer == unseen || *layer == op->layer ? op->layer : several;
      }
    }
  }
  for (size_t i = 0; i < flat->nWeights; ++i) {
    MlirType type = mlirValueGetType(flat->weights[i].value);
    ShardAnalysedLayer *to = &list[layerOf[i] < 0 ? outside : entryOf[layerOf[i]]];
    to->parameters += shardTypeElementCount(type);
    to->weightBytes += (double)shardTypeBytes(type);
  }
}

static void countLayers(const Flat *flat, ShardArena *arena, ShardSizeAnalysis *out) {
  ShardAnalysedLayer *list = SHARD_ARENA_ARRAY(arena, ShardAnalysedLayer, flat->nLayers + 1);
  const int32_t *entryOf = listLayers(flat, list, &out->nLayers);
  intptr_t outside = out->nLayers - 1;
  addLayerWeights(flat, list, entryOf, outside);
  for (size_t i = 0; i < flat->nOps; ++i) {
    const FlatOp *op = &flat->ops[i];
    const FlatFacts *facts = &flat->facts[op->facts];
    ShardAnalysedLayer *to = &list[op->layer < 0 ? outside : entryOf[op->layer]];
    double trips = op->trips;
    to->flops += trips * facts->flops;
    to->vectorFlops += trips * facts->vectorFlops;
    to->movedBytes += trips * facts->bytes;
    out->time.computeSeconds += trips * facts->computeSeconds;
    out->time.memorySeconds += trips * facts->memorySeconds;
    out->time.launchSeconds += trips * facts->launchSeconds;
    for (int32_t r = 0; r < op->nResults; ++r) {
      const FlatValue *value = &flat->values[op->firstResult + r];
      to->keptBytes += value->kept ? trips * (double)shardTypeBytes(value->type) : 0;
    }
  }
  for (intptr_t i = 0; i < out->nLayers; ++i) {
    ShardAnalysedLayer *layer = &list[i];
    double count = (double)layer->count;
    out->flops += layer->flops;
    out->vectorFlops += layer->vectorFlops;
    out->movedBytes += layer->movedBytes;
    out->training.activations += layer->keptBytes;
    layer->parameters /= layer->count;
    layer->weightBytes /= count;
    layer->flops /= count;
    layer->vectorFlops /= count;
    layer->movedBytes /= count;
    layer->keptBytes /= count;
  }
  out->layerKinds = list;
  out->layers = (int64_t)flat->nLayers;
}

//===----------------------------------------------------------------------===//
// Memory and fleets
//===----------------------------------------------------------------------===//

static void countMemory(Flat *flat, ShardSizeAnalysis *out) {
  MlirBlock body = shardFuncGetBody(flat->entry);
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(body); ++i) {
    double bytes = (double)shardTypeBytes(mlirValueGetType(mlirBlockGetArgument(body, i)));
    if (shardFuncArgumentIs(flat->entry, i, "state"))
      out->inference.states += bytes;
    else if (!shardFuncArgumentIs(flat->entry, i, "weight"))
      out->inputBytes += bytes;
  }
  for (size_t i = 0; i < flat->nResults; ++i)
    if (flat->results[i] >= 0)
      out->resultBytes += (double)shardTypeBytes(flat->values[flat->results[i]].type);
  out->training.states = out->inference.states;
  out->inference.activations = (double)flatPeakBytes(flat) + out->inputBytes + out->resultBytes;
  out->training.activations += out->inputBytes + out->resultBytes;
}

static void addTotal(const ShardCluster *cluster, ShardAnalysedMemory *memory) {
  memory->total = memory->weights + memory->gradients + memory->master + memory->moments +
                  memory->states + memory->activations;
  if (!cluster)
    return;
  memory->devices = shardSmallestFleet(cluster, memory->total, true, false);
  double least =
      ceil(memory->total / shardClusterUsableBytes(cluster, shardClusterDeviceKind(cluster, 0)));
  memory->devicesAlone = memory->devices ? (int64_t)fmax(1, least) : 0;
  if (cluster->nTiers)
    memory->devicesWithTiers = shardSmallestFleet(cluster, memory->total, true, true);
  ShardCluster alone = *cluster;
  alone.nTiers = 0;
  memory->fits = shardFitBytes(&alone, memory->total, true).fits;
}

/// The longest of the three; memory's time of a training step has the optimizer's traffic in it.
static const char *bindingOf(double compute, double memory, double launch) {
  if (compute <= 0 && memory <= 0 && launch <= 0)
    return "nothing";
  if (compute >= memory && compute >= launch)
    return "compute";
  return memory >= launch ? "memory bandwidth" : "launches";
}

static void findBinding(const ShardCluster *cluster, ShardSizeAnalysis *out) {
  if (!cluster || *out->untimed) {
    out->time = (ShardAnalysedTime){0};
    return;
  }
  const ShardDeviceKind *kind = shardClusterDeviceKind(cluster, 0);
  const ShardAnalysedTime *time = &out->time;
  const ShardAnalysedMemory *t = &out->training;
  // Backward does each product twice over, once for each operand; the optimizer reads and writes
  // all that it keeps.
  double optimizer = 2 * (t->master + t->moments) + t->gradients + t->weights;
  double rate = shardRateEffective(cluster, &kind->memoryBytesPerSecond);
  out->binding = bindingOf(time->computeSeconds, time->memorySeconds, time->launchSeconds);
  out->trainingBinding =
      bindingOf(3 * time->computeSeconds, 3 * time->memorySeconds + optimizer / rate,
                3 * time->launchSeconds);
}

static void findTarget(const ShardCluster *cluster, ShardSizeAnalysis *out) {
  ShardAnalysedTarget *target = &out->target;
  double mlp = (double)out->classes[SHARD_WEIGHT_MLP].parameters;
  double rest = (double)out->total.parameters - mlp;
  if (out->layers == 0 || mlp <= 0 || out->classes[SHARD_WEIGHT_EXPERT].weights > 0 ||
      target->parameters <= rest)
    return;
  const ShardBytesPerParameter adam = shardMixedAdamBytes();
  double narrow = out->total.bytes / (double)out->total.parameters;
  target->exact = (target->parameters - rest) / mlp;
  target->experts = llround(fmax(1, target->exact));
  target->reached = rest + (double)target->experts * mlp;
  target->weightBytes = target->reached * narrow;
  target->trainingBytes =
      target->reached * (2 * narrow + (narrow < adam.master ? adam.master : 0) + adam.moments);
  if (!cluster)
    return;
  target->devices = shardSmallestFleet(cluster, target->weightBytes, true, false);
  target->trainingDevices = shardSmallestFleet(cluster, target->trainingBytes, true, false);
}

//===----------------------------------------------------------------------===//
// The object
//===----------------------------------------------------------------------===//

static const char *keepText(ShardArena *arena, const char *text) {
  return shardArenaCopyString(arena, text, strlen(text));
}

ShardSizeAnalysis *shardSizeAnalysisCreate(MlirOperation module, const ShardCluster *cluster,
                                           double targetParameters) {
  ShardArena *scratch = shardArenaCreate();
  Flat flat = {.module = module, .arena = scratch, .cluster = cluster};
  ShardSizeAnalysis *out = NULL;
  if (flatRead(&flat)) {
    ShardArena *arena = shardArenaCreate();
    out = SHARD_ARENA_NEW(arena, ShardSizeAnalysis);
    *out = (ShardSizeAnalysis){.memory = arena,
                               .untimed = flat.untimed ? flat.untimed : "",
                               .binding = "",
                               .trainingBinding = "",
                               .clusterName = "",
                               .deviceKind = "",
                               .target.parameters = targetParameters};
    if (cluster) {
      const ShardDeviceKind *kind = shardClusterDeviceKind(cluster, 0);
      out->clusterName = keepText(arena, cluster->name);
      out->deviceKind = keepText(arena, kind->name);
      out->deviceBytes = kind->memoryBytes.value;
      out->usableBytes = shardClusterUsableBytes(cluster, kind);
    }
    flatClassify(&flat);
    flatKeep(&flat);
    countWeights(&flat, out);
    countLayers(&flat, arena, out);
    countMemory(&flat, out);
    addTotal(cluster, &out->inference);
    addTotal(cluster, &out->training);
    findBinding(cluster, out);
    findTarget(cluster, out);
  }
  shardArenaDestroy(scratch);
  return out;
}

void shardSizeAnalysisDestroy(ShardSizeAnalysis *analysis) {
  if (analysis)
    shardArenaDestroy(analysis->memory); // with the analysis
}
