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
  if (fill->source->data) {
    memcpy(out, (const char *)fill->source->data + globalBegin * fill->elementBytes,
           count * fill->elementBytes);
    return;
  }
  for (size_t i = 0; i < count; ++i)
    elementWrite(fill->element, out, i, draw(fill->source, globalBegin + i));
}

void valuesFill(const ValueSource *source, ShardRtElement element, const Placement *placement,
                void *local) {
  Fill fill = {source, element, elementBytes(element), local};
  if (placement->localCount > placementHeldCount(placement))
    for (size_t i = 0; i < placement->localCount; ++i)
      elementPoison(element, local, i);
  placementVisit(placement, fillRun, &fill);
}

bool valuesElementOfNpy(ShardNpyType type, ShardRtElement element) {
  switch (element) {
  case SHARD_RT_I1:
    return type == SHARD_NPY_BOOL;
  case SHARD_RT_I8:
    return type == SHARD_NPY_I8 || type == SHARD_NPY_U8;
  case SHARD_RT_I16:
    return type == SHARD_NPY_I16 || type == SHARD_NPY_U16;
  case SHARD_RT_I32:
    return type == SHARD_NPY_I32 || type == SHARD_NPY_U32;
  case SHARD_RT_I64:
    return type == SHARD_NPY_I64 || type == SHARD_NPY_U64;
  case SHARD_RT_F16:
    return type == SHARD_NPY_F16;
  case SHARD_RT_BF16:
    return shardNpyTypeHolds(type, SHARD_NPY_BF16);
  case SHARD_RT_F32:
    return type == SHARD_NPY_F32;
  case SHARD_RT_F64:
    return type == SHARD_NPY_F64;
  }
  return false;
}

static void formatShape(char *text, size_t textSize, int32_t rank, const int64_t *shape,
                        const char *type) {
  size_t used = 0;
  for (int32_t i = 0; i < rank && used < textSize; ++i)
    used += (size_t)snprintf(text + used, textSize - used, "%" PRId64 "x", shape[i]);
  if (used < textSize)
    snprintf(text + used, textSize - used, "%s", type);
}

void valuesFormatType(const ShardProgramValue *value, char *text, size_t textSize) {
  formatShape(text, textSize, value->rank, value->globalShape, elementName(value->element));
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

static void formatArgument(const ShardProgramValue *value, char *text, size_t textSize) {
  if (value->name && value->name[0])
    snprintf(text, textSize, "argument %" PRId32 " '%s'", value->index, value->name);
  else
    snprintf(text, textSize, "argument %" PRId32, value->index);
}

static void readFile(const char *folder, const ShardArgsJson *json, const ShardArgsEntry *entry,
                     const ShardProgramValue *value, ValueSource *source) {
  char message[1024], argument[512], type[256];
  formatArgument(value, argument, sizeof argument);
  valuesFormatType(value, type, sizeof type);
  if (!entry->file[0])
    stop("%s:%" PRId32 ":%" PRId32 ": %s has no file", json->path, entry->line, entry->column,
         argument);
  char *path;
  if (asprintf(&path, "%s/%s", folder, entry->file) < 0)
    stop("out of memory");
  if (!shardNpyReadFile(path, &source->file, message, sizeof message))
    stop("%s", message);
  bool sameShape = source->file.rank == value->rank;
  for (int32_t i = 0; sameShape && i < value->rank; ++i)
    sameShape = source->file.shape[i] == value->globalShape[i];
  if (!sameShape || !valuesElementOfNpy(source->file.type, value->element)) {
    char found[256];
    formatShape(found, sizeof found, source->file.rank, source->file.shape,
                shardNpyTypeName(source->file.type));
    stop("%s: %s is %s, expected %s", path, argument, found, type);
  }
  free(path);
  source->data = source->file.data;
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

void valuesCreate(const ShardProgram *program, const ValueOptions *options, ValueSet *out) {
  *out = (ValueSet){0};
  for (int32_t i = 0; i < program->nArguments; ++i)
    if (program->arguments[i].index >= 0 && (size_t)program->arguments[i].index >= out->count)
      out->count = (size_t)program->arguments[i].index + 1;
  out->sources = memoryZeroed(out->count * sizeof *out->sources);

  // Which entry of args.json is which argument. Constants of the program match by name only.
  ShardArgsJson *json = NULL;
  int64_t *entryOf = memoryZeroed((size_t)program->nArguments * sizeof *entryOf);
  for (int32_t i = 0; i < program->nArguments; ++i)
    entryOf[i] = -1;
  if (options->dataFolder) {
    struct stat status;
    if (stat(options->dataFolder, &status) != 0 || !S_ISDIR(status.st_mode))
      stop("there is no data folder '%s'", options->dataFolder);
    char *path, message[1024];
    if (asprintf(&path, "%s/args.json", options->dataFolder) < 0)
      stop("out of memory");
    json = shardArgsJsonReadFile(path, message, sizeof message);
    if (!json) {
      if (strstr(message, ": error: "))
        stopWithText(message);
      stop("%s", message);
    }
    free(path);
    const char **names = memoryZeroed((size_t)program->nArguments * sizeof *names);
    int64_t *matched = memoryZeroed((size_t)program->nArguments * sizeof *matched);
    for (int pass = 0; pass < 2; ++pass) {
      size_t count = 0;
      for (int32_t i = 0; i < program->nArguments; ++i) {
        const ShardProgramValue *value = &program->arguments[i];
        if ((value->constant != 0) != (pass == 1) || value->data)
          continue;
        if (pass == 1 && !(value->name && value->name[0]))
          continue;
        names[count++] = value->name;
      }
      if (!shardArgsJsonMatch(json, count, names, matched, message, sizeof message))
        stop("%s", message);
      size_t next = 0;
      for (int32_t i = 0; i < program->nArguments; ++i) {
        const ShardProgramValue *value = &program->arguments[i];
        if ((value->constant != 0) != (pass == 1) || value->data)
          continue;
        if (pass == 1 && !(value->name && value->name[0]))
          continue;
        entryOf[i] = matched[next++];
      }
    }
    free(names);
    free(matched);
  }

  for (int32_t i = 0; i < program->nArguments; ++i) {
    const ShardProgramValue *value = &program->arguments[i];
    if (value->index < 0 || elementBytes(value->element) == 0)
      stop("the program's table of arguments is damaged: entry %" PRId32, i);
    ValueSource *source = &out->sources[value->index];
    char argument[512];
    formatArgument(value, argument, sizeof argument);
    if (value->data) {
      source->data = value->data;
      continue;
    }
    // Inputs that have no file are drawn: --extract-weights writes such entries.
    const ShardArgsEntry *entry = entryOf[i] >= 0 ? &json->arguments[entryOf[i]] : NULL;
    if (entry && (entry->file[0] || strcmp(entry->role, "input") != 0)) {
      readFile(options->dataFolder, json, entry, value, source);
      out->fileBytes += source->file.sizeBytes;
      out->fromFiles = true;
      continue;
    }
    if (options->dataFolder && !entry && !value->constant)
      stop("%s is not in %s", argument, json->path);
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
  free(entryOf);
  shardArgsJsonDestroy(json);
}

void valuesRelease(ValueSet *values) {
  for (size_t i = 0; i < values->count; ++i)
    shardNpyRelease(&values->sources[i].file);
  free(values->sources);
  *values = (ValueSet){0};
}
