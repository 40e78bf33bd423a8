//===- Values.c - Where the arguments' values come from -----------*- C -*-===//
#define _GNU_SOURCE

#include "Values.h"
#include "../model/Element.h"
#include "Memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/// Finalizer of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators").
static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// 64 random bits of one element: SplitMix64 with the element number as its counter.
static uint64_t randomBits(uint64_t key, size_t element) {
  return mix(key + ((uint64_t)element + 1) * 0x9e3779b97f4a7c15u);
}

/// Sum of four uniform numbers: mean 0, deviation 1, within 3.5. No libm: same bits everywhere.
static double normalFromBits(uint64_t bits) {
  double sum = (double)(bits & 0xffff) + (double)((bits >> 16) & 0xffff) +
               (double)((bits >> 32) & 0xffff) + (double)(bits >> 48);
  return (sum - 131070.0) * (1.7320508075688772 / 65536.0);
}

static bool isLeftZero(const ValueSource *source, size_t element) {
  int64_t indices[PLACEMENT_MAX_DIMS], sum = 0;
  valuesIndicesOf(source->shape, element, indices);
  for (int32_t d = 0; d < source->shape->rank; ++d)
    sum += indices[d];
  return sum % source->period != 0;
}

static double draw(const ValueSource *source, size_t element) {
  const Distribution *distribution = &source->distribution;
  uint64_t bits = randomBits(source->key, element);
  switch (distribution->kind) {
  case DISTRIBUTION_INDEX:
    // The high bits times the count: no modulo bias worth naming below 2^32.
    return (double)(((bits >> 32) * (uint64_t)distribution->count) >> 32);
  case DISTRIBUTION_MASK:
    return element % (size_t)source->rowLength == 0 || (bits >> 61) != 0;
  default:
    if (source->line && isLeftZero(source, element))
      return 0;
    if (source->whole) { // 1 to N around a mean, else -N to N
      uint64_t n = (uint64_t)source->whole;
      return distribution->mean != 0 ? (double)(1 + (((bits >> 32) * n) >> 32))
                                     : (double)(((bits >> 32) * (2 * n + 1)) >> 32) - (double)n;
    }
    return distribution->mean + distribution->deviation * normalFromBits(bits);
  }
}

typedef struct Fill {
  const ValueSource *source;
  ShardRtElement element;
  size_t elementBytes;
  char *local;
} Fill;

static void fillRun(void *user, size_t globalBegin, size_t localBegin, size_t count) {
  const Fill *fill = user;
  char *out = fill->local + localBegin * fill->elementBytes;
  for (size_t i = 0; i < count; ++i)
    elementWrite(fill->element, out, i, draw(fill->source, globalBegin + i));
}

void valuesFill(const ValueSource *source, ShardRtElement element, const Placement *placement,
                void *local) {
  Fill fill = {source, element, elementBytes(element), local};
  if (placement->localCount > placementHeldCount(placement))
    for (size_t i = 0; i < placement->localCount; ++i)
      elementPoison(element, local, i);
  if (source->data)
    placementCut(placement, source->data, local, fill.elementBytes);
  else
    placementVisit(placement, fillRun, &fill);
}

void valuesDraw(const ValueSource *source, ShardRtElement element, size_t count, void *out) {
  if (source->data) {
    memcpy(out, source->data, count * elementBytes(element));
    return;
  }
  for (size_t i = 0; i < count; ++i)
    elementWrite(element, out, i, draw(source, i));
}

void valuesFormatType(const ShardProgramValue *value, char *text, size_t textSize) {
  modelDataFormatShape(text, textSize, value->rank, value->globalShape,
                       elementName(value->element));
}

void valuesIndicesOf(const ShardProgramValue *value, size_t at, int64_t *out) {
  for (int32_t i = value->rank - 1; i >= 0; --i) {
    size_t size = value->globalShape[i] > 0 ? (size_t)value->globalShape[i] : 1;
    out[i] = (int64_t)(at % size);
    at /= size;
  }
}

void valuesFormatPlace(const ShardProgramValue *value, size_t at, char *text, size_t textSize) {
  int64_t indices[PLACEMENT_MAX_DIMS];
  valuesIndicesOf(value, at, indices);
  size_t used = (size_t)snprintf(text, textSize, "[");
  for (int32_t i = 0; i < value->rank && used < textSize; ++i)
    used += (size_t)snprintf(text + used, textSize - used, "%s%" PRId64, i ? ", " : "", indices[i]);
  if (used < textSize)
    snprintf(text + used, textSize - used, "]");
}

static const char *roleOf(const ShardProgram *program, const ShardProgramValue *value) {
  for (int32_t i = 0; i < program->nArguments; ++i)
    if (program->arguments[i].index == value->index)
      return program->arguments[i].role;
  return value->role;
}

static Distribution chooseByShape(const ShardProgramValue *value, const char *role) {
  if (!elementIsFloat(value->element))
    return (Distribution){.kind = DISTRIBUTION_MASK};
  if (strcmp(role, "weight") != 0)
    return (Distribution){.kind = DISTRIBUTION_NORMAL, .deviation = 1};
  int64_t longest = 1, elements = 1;
  for (int32_t i = 0; i < value->rank; ++i) {
    elements *= value->globalShape[i];
    longest = value->globalShape[i] > longest ? value->globalShape[i] : longest;
  }
  if (elements == longest)
    return (Distribution){.kind = DISTRIBUTION_NORMAL, .mean = 1, .deviation = 0.1};
  int64_t last = value->globalShape[value->rank - 1];
  return (Distribution){.kind = DISTRIBUTION_NORMAL, .deviation = 1 / sqrt((double)last)};
}

static _Noreturn void stopWithReason(const char *message) {
  if (strstr(message, ": error: "))
    stopWithText(message);
  stop("%s", message);
}

void valuesCreate(const ShardProgram *program, const ValueOptions *options, ValueSet *out) {
  *out = (ValueSet){0};
  for (int32_t i = 0; i < program->nArguments; ++i)
    if (program->arguments[i].index >= 0 && (size_t)program->arguments[i].index >= out->count)
      out->count = (size_t)program->arguments[i].index + 1;
  out->sources = memoryZeroed(out->count * sizeof *out->sources);

  char message[1024];
  if (options->dataPath) {
    out->stored = modelDataOpen(options->dataPath, program, message, sizeof message);
    if (!out->stored)
      stopWithReason(message);
  }
  for (int32_t i = 0; i < program->nArguments; ++i) {
    const ShardProgramValue *value = &program->arguments[i];
    if (value->index < 0 || elementBytes(value->element) == 0)
      stop("the program's table of arguments is damaged: entry %" PRId32, i);
    ValueSource *source = &out->sources[value->index];
    char argument[512];
    modelDataFormatArgument(value, argument, sizeof argument);
    if (value->data)
      source->data = value->data;
    if (source->data) // an argument may lie in two ways, in two stages
      continue;
    ModelDataState state = out->stored ? modelDataGetState(out->stored, i) : MODEL_DATA_NO_FILE;
    if (state == MODEL_DATA_STORED) {
      if (!modelDataRead(out->stored, i, &source->file, &source->data, message, sizeof message))
        stopWithReason(message);
      out->fileBytes += source->file.sizeBytes;
      out->fromFiles = true;
      continue;
    }
    if (state == MODEL_DATA_UNKNOWN && !value->constant)
      stop("%s is not in %s%s", argument, modelDataPath(out->stored),
           value->name && value->name[0] ? "" : ", which goes by names (--args=FILE gives them)");
    if (value->constant && !options->seeded) {
      char type[256];
      valuesFormatType(value, type, sizeof type);
      stop("%s (%s) is a constant whose values the module lacks; give them with --data=DIR or draw "
           "them with --seed=N",
           argument, type);
    }
    source->key = mix(mix(options->seed + 0x632be59bd9b4e019u) + (uint64_t)value->index);
    source->rowLength = value->rank > 0 && value->globalShape[value->rank - 1] > 0
                            ? value->globalShape[value->rank - 1]
                            : 1;
    source->whole = options->wholeNumbers;
    source->line = options->nonzeroLine;
    source->shape = value, source->period = 1;
    for (int32_t d = 0; source->line && d < value->rank; ++d) {
      int64_t period = (value->globalShape[d] + source->line - 1) / source->line;
      source->period = period > source->period ? period : source->period;
    }
    if ((size_t)value->index < options->nDistributions)
      source->distribution = options->distributions[value->index];
    const char *role = roleOf(options->describing ? options->describing : program, value);
    if (source->distribution.kind == DISTRIBUTION_NORMAL && strcmp(role, "weight") != 0) {
      source->distribution.mean = 0;
      source->distribution.deviation = source->distribution.spread;
    }
    if (source->distribution.kind == DISTRIBUTION_UNKNOWN)
      source->distribution = chooseByShape(value, role);
    if (source->distribution.kind == DISTRIBUTION_INDEX && source->distribution.count < 1)
      source->distribution.count = 1;
    out->random = true;
  }
}

void valuesRelease(ValueSet *values) {
  for (size_t i = 0; i < values->count; ++i) {
    shardNpyRelease(&values->sources[i].file);
    free(values->sources[i].padded);
  }
  free(values->sources);
  modelDataClose(values->stored);
  *values = (ValueSet){0};
}
