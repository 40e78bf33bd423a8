//===- FormatMemoryPlan.c - A memory plan as text and as JSON ------*- C -*-===//
#define _GNU_SOURCE
#include "shard/MemoryPlan.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static void writeClasses(FILE *out, const int64_t *byClass) {
  const char *separator = " ";
  for (int c = 0; c < SHARD_N_MEMORY_CLASSES; ++c)
    if (byClass[c]) {
      fprintf(out, "%s%s %" PRId64, separator, shardMemoryClassName((ShardMemoryClass)c),
              byClass[c]);
      separator = ", ";
    }
  fputc('\n', out);
}

static void writeStage(FILE *out, const ShardMemoryStage *stage) {
  fprintf(out,
          "stage %d @%s: %" PRId64 " bytes: arguments %" PRId64 ", results %" PRId64
          ", workspace %" PRId64 " (%" PRId64 " live at once, bound %" PRId64 "), staging %" PRId64
          "\n",
          stage->stage, stage->function, stage->peakBytes, stage->argumentBytes, stage->resultBytes,
          stage->workspaceBytes, stage->liveBytes, stage->boundBytes, stage->stagingBytes);
  fprintf(out, "  at the peak, %s:", *stage->peakOp ? stage->peakOp : "always");
  writeClasses(out, stage->peakByClass);
  fprintf(out, "  buffers: offset, bytes, class, first and last step, calls deep, first written\n");
  for (intptr_t i = 0; i < stage->nBuffers; ++i) {
    const ShardMemoryBuffer *buffer = &stage->buffers[i];
    fprintf(out, "  %c%12" PRId64 " %12" PRId64 " %-13s %4" PRId64 " %4" PRId64 " %2d  %s%s%s\n",
            buffer->atPeak ? '*' : ' ', buffer->offset, buffer->bytes,
            shardMemoryClassName(buffer->class_), buffer->firstStep, buffer->lastStep,
            buffer->depth, buffer->op, *buffer->type ? "  " : "", buffer->type);
  }
  if (stage->nBuffersLeftOut)
    fprintf(out, "  and %" PRIdPTR " more\n", stage->nBuffersLeftOut);
  fprintf(out, "  steps: op of the function, bytes, by class\n");
  for (intptr_t i = 0; i < stage->nSteps; ++i) {
    const ShardMemoryStep *step = &stage->steps[i];
    fprintf(out, "  %4" PRIdPTR " %5" PRId64 " %12" PRId64 " ", i, step->op, step->bytes);
    writeClasses(out, step->byClass);
  }
}

/// "21:0=1..4,21:1=1..12"
static void writeBounds(FILE *out, const ShardMemoryPlan *plan) {
  for (int32_t k = 0; k < plan->nDims; ++k)
    fprintf(out, "%s%" PRId64 ":%" PRId64 "=%" PRId64 "..%" PRId64, k ? "," : "",
            plan->dims[k].argument, plan->dims[k].dimension, plan->dims[k].least,
            plan->dims[k].most);
}

/// workspaceBytes(dims) of each stage as the step function that it is.
static void writeBuckets(FILE *out, const ShardMemoryPlan *plan) {
  fprintf(out,
          "by extents, the first line that holds them: bytes of a rank; workspaceBytes(dims) of "
          "each stage\n");
  for (int32_t b = 0; b <= plan->nBuckets; ++b) {
    const ShardMemoryPlan *one = b < plan->nBuckets ? plan->buckets[b] : plan;
    fputs("  ", out);
    writeBounds(out, one);
    fprintf(out, ": %" PRId64 ";", one->peakBytes);
    for (int32_t s = 0; s < one->nStages; ++s)
      fprintf(out, " %" PRId64, one->stages[s].workspaceBytes);
    fputc('\n', out);
  }
  fprintf(out, "what follows is of the last line\n");
}

char *shardMemoryPlanFormatText(const ShardMemoryPlan *plan) {
  char *text = NULL;
  size_t length = 0;
  FILE *out = open_memstream(&text, &length);
  if (!out)
    return NULL;
  fprintf(out, "a rank of the largest stage holds %" PRId64 " bytes\n", plan->peakBytes);
  if (plan->nDims)
    writeBuckets(out, plan);
  for (int32_t s = 0; s < plan->nStages; ++s)
    writeStage(out, &plan->stages[s]);
  if (fclose(out) == 0)
    return text;
  free(text);
  return NULL;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

/// A text that another program wrote may not be UTF-8.
static json_t *textJson(const char *text) {
  json_t *string = json_string(text);
  return string ? string : json_string("");
}

/// All classes, in their order.
static json_t *classesJson(const int64_t *byClass) {
  json_t *object = json_object();
  for (int c = 0; c < SHARD_N_MEMORY_CLASSES; ++c)
    json_object_set_new(object, shardMemoryClassName((ShardMemoryClass)c),
                        json_integer((json_int_t)byClass[c]));
  return object;
}

static json_t *valuesJson(intptr_t n, const ShardMemoryValue *values) {
  json_t *list = json_array();
  for (intptr_t i = 0; i < n; ++i)
    json_array_append_new(
        list, json_pack("{s:I, s:o, s:s, s:o, s:I}", "index", (json_int_t)values[i].index, "name",
                        textJson(values[i].name), "class", shardMemoryClassName(values[i].class_),
                        "type", textJson(values[i].type), "bytes", (json_int_t)values[i].bytes));
  return list;
}

static json_t *bufferJson(const ShardMemoryBuffer *buffer) {
  return json_pack("{s:s, s:I, s:I, s:I, s:I, s:i, s:b, s:o, s:o, s:o, s:o}", "class",
                   shardMemoryClassName(buffer->class_), "offset", (json_int_t)buffer->offset,
                   "bytes", (json_int_t)buffer->bytes, "firstStep", (json_int_t)buffer->firstStep,
                   "lastStep", (json_int_t)buffer->lastStep, "depth", (int)buffer->depth, "atPeak",
                   (int)buffer->atPeak, "type", textJson(buffer->type), "op", textJson(buffer->op),
                   "location", textJson(buffer->location), "origin", textJson(buffer->origin));
}

static json_t *stageJson(const ShardMemoryStage *stage) {
  json_t *buffers = json_array(), *steps = json_array();
  for (intptr_t i = 0; i < stage->nBuffers; ++i)
    json_array_append_new(buffers, bufferJson(&stage->buffers[i]));
  for (intptr_t i = 0; i < stage->nSteps; ++i)
    json_array_append_new(steps, json_pack("{s:I, s:I, s:o}", "op", (json_int_t)stage->steps[i].op,
                                           "bytes", (json_int_t)stage->steps[i].bytes, "byClass",
                                           classesJson(stage->steps[i].byClass)));
  return json_pack(
      "{s:i, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:I}",
      "index", (int)stage->stage, "function", textJson(stage->function), "peakBytes",
      (json_int_t)stage->peakBytes, "argumentBytes", (json_int_t)stage->argumentBytes,
      "resultBytes", (json_int_t)stage->resultBytes, "workspaceBytes",
      (json_int_t)stage->workspaceBytes, "liveBytes", (json_int_t)stage->liveBytes, "stagingBytes",
      (json_int_t)stage->stagingBytes, "peakStep", (json_int_t)stage->peakStep, "peakOp",
      textJson(stage->peakOp), "peakByClass", classesJson(stage->peakByClass), "arguments",
      valuesJson(stage->nArguments, stage->arguments), "results",
      valuesJson(stage->nResults, stage->results), "buffers", buffers, "buffersLeftOut",
      (json_int_t)stage->nBuffersLeftOut, "steps", steps, "boundBytes",
      (json_int_t)stage->boundBytes);
}

/// Bounds, and what a rank holds in a run within them.
static json_t *bucketJson(const ShardMemoryPlan *plan) {
  json_t *bounds = json_array(), *stages = json_array();
  for (int32_t k = 0; k < plan->nDims; ++k)
    json_array_append_new(
        bounds, json_pack("{s:I, s:I, s:I, s:I}", "argument", (json_int_t)plan->dims[k].argument,
                          "dimension", (json_int_t)plan->dims[k].dimension, "least",
                          (json_int_t)plan->dims[k].least, "most", (json_int_t)plan->dims[k].most));
  for (int32_t s = 0; s < plan->nStages; ++s)
    json_array_append_new(stages,
                          json_pack("{s:I, s:I, s:I, s:I, s:I}", "argumentBytes",
                                    (json_int_t)plan->stages[s].argumentBytes, "resultBytes",
                                    (json_int_t)plan->stages[s].resultBytes, "workspaceBytes",
                                    (json_int_t)plan->stages[s].workspaceBytes, "stagingBytes",
                                    (json_int_t)plan->stages[s].stagingBytes, "peakBytes",
                                    (json_int_t)plan->stages[s].peakBytes));
  return json_pack("{s:o, s:I, s:o}", "bounds", bounds, "peakBytes", (json_int_t)plan->peakBytes,
                   "stages", stages);
}

char *shardMemoryPlanFormatJson(const ShardMemoryPlan *plan) {
  json_t *stages = json_array();
  for (int32_t s = 0; s < plan->nStages; ++s)
    json_array_append_new(stages, stageJson(&plan->stages[s]));
  json_t *root =
      json_pack("{s:i, s:I, s:i, s:o}", "version", 1, "peakBytes", (json_int_t)plan->peakBytes,
                "openDimensions", (int)plan->nDims, "stages", stages);
  if (root && plan->nDims) {
    json_t *buckets = json_array();
    for (int32_t b = 0; b <= plan->nBuckets; ++b)
      json_array_append_new(buckets, bucketJson(b < plan->nBuckets ? plan->buckets[b] : plan));
    json_object_set_new(root, "byExtents", buckets);
  }
  char *text = root ? json_dumps(root, JSON_INDENT(1)) : NULL, *line = NULL;
  json_decref(root);
  if (text && asprintf(&line, "%s\n", text) < 0)
    line = NULL;
  free(text);
  return line;
}
