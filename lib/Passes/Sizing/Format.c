//===- Format.c - How large a model is, as text and as JSON -------*- C -*-===//
#define _GNU_SOURCE
#include "shard/Analyse.h"

#include "../Core/Units.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// "603.98 GB": five figures, and the unit that suits.
static void writeScaled(FILE *out, double value, const char *unit) {
  char text[SHARD_SCALED_TEXT];
  fprintf(out, " %13s",
          shardScaledText(text, value, 5, shardMetricPrefixes, SHARD_N_METRIC_PREFIXES, unit));
}

static void writeWeights(FILE *out, const char *name, const ShardAnalysedWeights *weights) {
  fprintf(out, "  %-10s %6" PRId64 " %20" PRId64 " %20" PRId64, name, weights->weights,
          weights->parameters, weights->inMatrices);
  writeScaled(out, weights->bytes, "B");
  fputc('\n', out);
}

static void writeParameters(FILE *out, const ShardSizeAnalysis *a) {
  fprintf(out, "parameters: class, weights, parameters, of them in matrices, bytes\n");
  for (int c = 0; c < SHARD_N_WEIGHT_CLASSES; ++c)
    if (a->classes[c].weights)
      writeWeights(out, shardWeightClassName((ShardWeightClass)c), &a->classes[c]);
  writeWeights(out, "total", &a->total);
  if (a->tiedParameters)
    fprintf(out, "  the embedding is the head too\n");
  if (a->layers == 0)
    return;
  fprintf(out, "  matrices of %" PRId64 " layers: ", a->layers);
  if (a->layerParameters >= 100000000000) // 0.604T, as models of that size are called
    fprintf(out, "%.3fT\n", (double)a->layerParameters * 1e-12);
  else
    fprintf(out, "%.4gM\n", (double)a->layerParameters * 1e-6);
}

static void writeMemoryLine(FILE *out, const char *name, double inference, double training) {
  if (inference <= 0 && training <= 0)
    return;
  fprintf(out, "  %-12s", name);
  writeScaled(out, inference, "B");
  writeScaled(out, training, "B");
  fputc('\n', out);
}

static void writeMemory(FILE *out, const ShardSizeAnalysis *a) {
  const ShardAnalysedMemory *i = &a->inference, *t = &a->training;
  fprintf(out, "memory: class, inference, training (Adam, mixed precision, nothing recomputed)\n");
  writeMemoryLine(out, "weights", i->weights, t->weights);
  writeMemoryLine(out, "gradients", i->gradients, t->gradients);
  writeMemoryLine(out, "master copy", i->master, t->master);
  writeMemoryLine(out, "moments", i->moments, t->moments);
  writeMemoryLine(out, "states", i->states, t->states);
  writeMemoryLine(out, "activations", i->activations, t->activations);
  writeMemoryLine(out, "total", i->total, t->total);
}

static void writeLayers(FILE *out, const ShardSizeAnalysis *a) {
  fprintf(out,
          "a layer: number, how many, parameters; flops, bytes moved in its device, handed on, "
          "kept for gradients\n");
  for (intptr_t k = 0; k < a->nLayers; ++k) {
    const ShardAnalysedLayer *layer = &a->layerKinds[k];
    if (layer->first < 0)
      fprintf(out, "  outside         ");
    else
      fprintf(out, "  %5" PRId64 " x %-8" PRId64, layer->first, layer->count);
    fprintf(out, " %16" PRId64, layer->parameters);
    writeScaled(out, layer->flops + layer->vectorFlops, "flop");
    writeScaled(out, layer->movedBytes, "B");
    writeScaled(out, layer->boundaryBytes, "B");
    writeScaled(out, layer->keptBytes, "B");
    fputc('\n', out);
  }
}

static void writeFleetOf(FILE *out, const char *name, const ShardAnalysedMemory *memory,
                         const char *binding, double usable) {
  fprintf(out, "  %-10s %" PRId64 " device%s", name, memory->devices,
          memory->devices == 1 ? "" : "s");
  if (memory->devicesAlone < memory->devices)
    fprintf(out, " (%" PRId64 " would hold it)", memory->devicesAlone);
  if (memory->devicesWithTiers)
    fprintf(out, ", %" PRId64 " with memory tiers", memory->devicesWithTiers);
  if (!memory->fits)
    fprintf(out, "; more than the cluster has");
  fprintf(out, "; binds: %s\n",
          memory->total > usable ? "memory capacity"
          : *binding             ? binding
                                 : "not known");
}

static void writeTimes(FILE *out, const ShardSizeAnalysis *a) {
  const double seconds[] = {a->time.computeSeconds, a->time.memorySeconds, a->time.launchSeconds};
  char text[3][SHARD_SCALED_TEXT];
  for (int i = 0; i < 3; ++i)
    shardTimeText(text[i], seconds[i] * 1e12, 5);
  fprintf(out,
          "forward pass on one device: %s in arithmetic, %s at its memory, %s in launches: %s\n",
          text[0], text[1], text[2], a->binding);
}

static void writeFleet(FILE *out, const ShardSizeAnalysis *a) {
  fprintf(out, "smallest fleet in whole nodes of %s, '%s', ", a->clusterName, a->deviceKind);
  fprintf(out, "%.5g of %.5g GB of a device used:\n", a->usableBytes * 1e-9, a->deviceBytes * 1e-9);
  writeFleetOf(out, "inference", &a->inference, a->binding, a->usableBytes);
  writeFleetOf(out, "training", &a->training, a->trainingBinding, a->usableBytes);
  if (*a->untimed)
    fprintf(out, "time is not known: the device has no rate for %s\n", a->untimed);
  else
    writeTimes(out, a);
}

static void writeTarget(FILE *out, const ShardSizeAnalysis *a) {
  const ShardAnalysedTarget *target = &a->target;
  if (target->exact <= 0)
    return;
  fprintf(out, "%.5gT parameters: %" PRId64 " experts a layer (%.1f), which are %.1fT:",
          target->parameters * 1e-12, target->experts, target->exact, target->reached * 1e-12);
  fputc(' ', out);
  writeScaled(out, target->weightBytes, "B of weights, ");
  writeScaled(out, target->trainingBytes, "B to train");
  if (target->devices)
    fprintf(out, ", on %" PRId64 " and %" PRId64 " devices", target->devices,
            target->trainingDevices);
  fputc('\n', out);
}

char *shardSizeAnalysisFormatText(const ShardSizeAnalysis *a) {
  char *text = NULL;
  size_t length = 0;
  FILE *out = open_memstream(&text, &length);
  if (!out)
    return NULL;
  writeParameters(out, a);
  writeMemory(out, a);
  writeLayers(out, a);
  if (*a->clusterName)
    writeFleet(out, a);
  else
    fprintf(out, "forward pass: %.1f flop a byte moved\n",
            a->movedBytes > 0 ? (a->flops + a->vectorFlops) / a->movedBytes : 0);
  writeTarget(out, a);
  fclose(out);
  return text;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static json_t *weightsJson(const char *name, const ShardAnalysedWeights *weights) {
  return json_pack("{s:s, s:I, s:I, s:I, s:f}", "class", name, "weights",
                   (json_int_t)weights->weights, "parameters", (json_int_t)weights->parameters,
                   "inMatrices", (json_int_t)weights->inMatrices, "bytes", weights->bytes);
}

static json_t *memoryJson(const ShardSizeAnalysis *a, const ShardAnalysedMemory *m,
                          const char *binding) {
  json_t *json = json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "weights", m->weights,
                           "gradients", m->gradients, "master", m->master, "moments", m->moments,
                           "states", m->states, "activations", m->activations, "total", m->total);
  if (!*a->clusterName)
    return json;
  json_object_set_new(json, "devices", json_integer(m->devices));
  json_object_set_new(json, "devicesAlone", json_integer(m->devicesAlone));
  if (m->devicesWithTiers)
    json_object_set_new(json, "devicesWithTiers", json_integer(m->devicesWithTiers));
  json_object_set_new(json, "fits", json_boolean(m->fits));
  json_object_set_new(json, "binding",
                      json_string(m->total > a->usableBytes ? "memory capacity" : binding));
  return json;
}

static json_t *layersJson(const ShardSizeAnalysis *a) {
  json_t *list = json_array();
  for (intptr_t k = 0; k < a->nLayers; ++k) {
    const ShardAnalysedLayer *layer = &a->layerKinds[k];
    json_t *first = layer->first < 0 ? json_null() : json_integer(layer->first);
    json_array_append_new(
        list, json_pack("{s:o, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f}", "first", first, "count",
                        (json_int_t)layer->count, "parameters", (json_int_t)layer->parameters,
                        "weightBytes", layer->weightBytes, "flops", layer->flops, "vectorFlops",
                        layer->vectorFlops, "movedBytes", layer->movedBytes, "boundaryBytes",
                        layer->boundaryBytes, "keptBytes", layer->keptBytes));
  }
  return list;
}

static json_t *clusterJson(const ShardSizeAnalysis *a) {
  return json_pack("{s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:s, s:s, s:s}", "name", a->clusterName,
                   "deviceKind", a->deviceKind, "deviceBytes", a->deviceBytes, "usableBytes",
                   a->usableBytes, "computeSeconds", a->time.computeSeconds, "memorySeconds",
                   a->time.memorySeconds, "launchSeconds", a->time.launchSeconds, "binding",
                   a->binding, "trainingBinding", a->trainingBinding, "untimed", a->untimed);
}

static json_t *targetJson(const ShardAnalysedTarget *t) {
  return json_pack("{s:f, s:I, s:f, s:f, s:f, s:f, s:I, s:I}", "parameters", t->parameters,
                   "experts", (json_int_t)t->experts, "exact", t->exact, "reached", t->reached,
                   "weightBytes", t->weightBytes, "trainingBytes", t->trainingBytes, "devices",
                   (json_int_t)t->devices, "trainingDevices", (json_int_t)t->trainingDevices);
}

char *shardSizeAnalysisFormatJson(const ShardSizeAnalysis *a) {
  json_t *classes = json_array();
  for (int c = 0; c < SHARD_N_WEIGHT_CLASSES; ++c)
    json_array_append_new(classes,
                          weightsJson(shardWeightClassName((ShardWeightClass)c), &a->classes[c]));
  json_t *root = json_pack(
      "{s:i, s:o, s:o, s:I, s:I, s:I, s:f, s:f, s:f, s:o, s:o, s:o}", "version", 1, "classes",
      classes, "total", weightsJson("total", &a->total), "tiedParameters",
      (json_int_t)a->tiedParameters, "layers", (json_int_t)a->layers, "layerParameters",
      (json_int_t)a->layerParameters, "flops", a->flops, "vectorFlops", a->vectorFlops,
      "movedBytes", a->movedBytes, "inference", memoryJson(a, &a->inference, a->binding),
      "training", memoryJson(a, &a->training, a->trainingBinding), "layerKinds", layersJson(a));
  if (*a->clusterName)
    json_object_set_new(root, "cluster", clusterJson(a));
  if (a->target.exact > 0)
    json_object_set_new(root, "target", targetJson(&a->target));
  char *text = json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
  json_decref(root);
  char *line = NULL;
  int written = text ? asprintf(&line, "%s\n", text) : -1;
  free(text);
  return written < 0 ? NULL : line;
}
