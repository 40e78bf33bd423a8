//===- ModelData.c - Stored values of a model's arguments ---------*- C -*-===//
#define _GNU_SOURCE

#include "ModelData.h"
#include "Element.h"
#include "RankSet.h"

#include "../common/ArgsJson.h"
#include "../common/Message.h"
#include "../common/Safetensors.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct ModelData {
  const ShardProgram *program;
  char *path, *folder; // what says what is stored; where its files are
  ShardArgsJson *json; // null: a set, or files of ranks
  int64_t *entries;    // [program->nArguments] of json, -1: none
  ShardSafetensors *set;
  RankSet *ranks;
};

void modelDataFormatShape(char *text, size_t textSize, int32_t rank, const int64_t *shape,
                          const char *type) {
  size_t used = 0;
  for (int32_t i = 0; i < rank && used < textSize; ++i)
    used += (size_t)snprintf(text + used, textSize - used, "%" PRId64 "x", shape[i]);
  if (used < textSize)
    snprintf(text + used, textSize - used, "%s", type);
}

void modelDataFormatArgument(const ShardProgramValue *value, char *text, size_t textSize) {
  if (value->name && value->name[0])
    snprintf(text, textSize, "argument %" PRId32 " '%s'", value->index, value->name);
  else
    snprintf(text, textSize, "argument %" PRId32, value->index);
}

static const struct {
  ShardNpyType type, unsignedType;
} typeTable[] = {[SHARD_RT_I1] = {SHARD_NPY_BOOL, SHARD_NPY_BOOL},
                 [SHARD_RT_I8] = {SHARD_NPY_I8, SHARD_NPY_U8},
                 [SHARD_RT_I16] = {SHARD_NPY_I16, SHARD_NPY_U16},
                 [SHARD_RT_I32] = {SHARD_NPY_I32, SHARD_NPY_U32},
                 [SHARD_RT_I64] = {SHARD_NPY_I64, SHARD_NPY_U64},
                 [SHARD_RT_F16] = {SHARD_NPY_F16, SHARD_NPY_F16},
                 [SHARD_RT_BF16] = {SHARD_NPY_BF16, SHARD_NPY_BF16},
                 [SHARD_RT_F32] = {SHARD_NPY_F32, SHARD_NPY_F32},
                 [SHARD_RT_F64] = {SHARD_NPY_F64, SHARD_NPY_F64}};

static const struct {
  const char *storage;
  ShardNpyType type;
} storageTable[] = {{"f8E4M3FN", SHARD_NPY_F8E4M3FN}, {"f8E5M2", SHARD_NPY_F8E5M2}};

/// The type of the floats whose bytes a value holds; false if it is what its element says.
static bool storedAs(const ShardProgramValue *value, ShardNpyType *out) {
  for (size_t i = 0; value->storage && i < sizeof storageTable / sizeof storageTable[0]; ++i)
    if (strcmp(value->storage, storageTable[i].storage) == 0) {
      *out = storageTable[i].type;
      return true;
    }
  return false;
}

ShardNpyType modelDataTypeOf(const ShardProgramValue *value) {
  ShardNpyType type;
  return storedAs(value, &type) ? type : typeTable[value->element].type;
}

bool modelDataTypeFits(ShardNpyType type, const ShardProgramValue *value) {
  ShardNpyType stored;
  if (storedAs(value, &stored))
    return shardNpyTypeHolds(type, stored);
  size_t element = (size_t)value->element;
  return element < sizeof typeTable / sizeof typeTable[0] &&
         (shardNpyTypeHolds(type, typeTable[element].type) ||
          type == typeTable[element].unsignedType);
}

const char *modelDataElementName(const ShardProgramValue *value) {
  return value->storage && value->storage[0] ? value->storage : elementName(value->element);
}

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

/// Arguments that an entry may give: first those of the model, then elided constants with a name.
static bool takesPart(const ShardProgramValue *value, bool constants) {
  return !value->data && (value->constant != 0) == constants &&
         (!constants || (value->name && value->name[0]));
}

static bool matchEntries(ModelData *data, char *message, size_t messageSize) {
  const ShardProgram *program = data->program;
  size_t n = (size_t)program->nArguments;
  data->entries = calloc(n + 1, sizeof *data->entries);
  const char **names = calloc(n + 1, sizeof *names);
  int64_t *matched = calloc(n + 1, sizeof *matched);
  bool ok = (data->entries && names && matched) ||
            shardFail((ShardMessage){message, messageSize}, "out of memory");
  for (size_t i = 0; ok && i < n; ++i)
    data->entries[i] = -1;
  for (int constants = 0; ok && constants < 2; ++constants) {
    size_t count = 0, next = 0;
    for (size_t i = 0; i < n; ++i)
      if (takesPart(&program->arguments[i], constants))
        names[count++] = program->arguments[i].name;
    ok = shardArgsJsonMatch(data->json, count, names, matched, message, messageSize);
    for (size_t i = 0; ok && i < n; ++i)
      if (takesPart(&program->arguments[i], constants))
        data->entries[i] = matched[next++];
  }
  free(names);
  free(matched);
  return ok;
}

static bool openFolder(ModelData *data, const char *path, char *message, size_t messageSize) {
  if (!(data->folder = strdup(path)) || asprintf(&data->path, "%s/args.json", path) < 0)
    return shardFail((ShardMessage){message, messageSize}, "out of memory");
  if (access(data->path, F_OK) != 0 && rankSetIsThere(path)) {
    free(data->path);
    data->path = strdup(path);
    data->ranks = data->path ? rankSetOpen(path, message, messageSize) : NULL;
    return data->ranks != NULL;
  }
  data->json = shardArgsJsonReadFile(data->path, message, messageSize);
  return data->json && matchEntries(data, message, messageSize);
}

ModelData *modelDataOpen(const char *path, const ShardProgram *program, char *message,
                         size_t messageSize) {
  ModelData *data = calloc(1, sizeof *data);
  bool ok = data || shardFail((ShardMessage){message, messageSize}, "out of memory");
  struct stat status;
  if (ok) {
    data->program = program;
    if (stat(path, &status) != 0)
      ok = shardFail((ShardMessage){message, messageSize},
                     "there is no data folder or .safetensors file '%s'", path);
    else if (S_ISDIR(status.st_mode))
      ok = openFolder(data, path, message, messageSize);
    else if (!shardSafetensorsNamed(path))
      ok = shardFail((ShardMessage){message, messageSize},
                     "'%s' is neither a folder nor a .safetensors file nor its .index.json", path);
    else
      ok = (data->path = strdup(path)) &&
           (data->set = shardSafetensorsOpen(path, message, messageSize));
  }
  if (ok)
    return data;
  modelDataClose(data);
  return NULL;
}

void modelDataClose(ModelData *data) {
  if (!data)
    return;
  shardArgsJsonDestroy(data->json);
  shardSafetensorsDestroy(data->set);
  rankSetClose(data->ranks);
  free(data->entries);
  free(data->path);
  free(data->folder);
  free(data);
}

const char *modelDataPath(const ModelData *data) { return data->path; }

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// By name, in a set or in files of ranks; these call a weight without a name argNNN.
static const ShardSafetensor *findTensor(const ModelData *data, int32_t i) {
  const ShardProgramValue *value = &data->program->arguments[i];
  bool named = value->name && value->name[0];
  if (data->set)
    return named ? shardSafetensorsFind(data->set, value->name) : NULL;
  char number[32];
  rankSetFormatNumber(value->index, number, sizeof number);
  return rankSetFind(data->ranks, named ? value->name : number);
}

ModelDataState modelDataGetState(const ModelData *data, int32_t i) {
  if (data->set || data->ranks) {
    if (findTensor(data, i))
      return MODEL_DATA_STORED;
    return strcmp(data->program->arguments[i].role, "input") == 0 ? MODEL_DATA_NO_FILE
                                                                  : MODEL_DATA_UNKNOWN;
  }
  if (data->entries[i] < 0)
    return MODEL_DATA_UNKNOWN;
  // Inputs that have no file: --extract-weights writes such entries.
  const ShardArgsEntry *entry = &data->json->arguments[data->entries[i]];
  return entry->file[0] || strcmp(entry->role, "input") != 0 ? MODEL_DATA_STORED
                                                             : MODEL_DATA_NO_FILE;
}

static bool readEntry(const ModelData *data, int32_t i, ShardNpyArray *out, char **outPath,
                      char *message, size_t messageSize) {
  const ShardArgsEntry *entry = &data->json->arguments[data->entries[i]];
  char argument[512];
  modelDataFormatArgument(&data->program->arguments[i], argument, sizeof argument);
  if (!entry->file[0])
    return shardFail((ShardMessage){message, messageSize},
                     "%s:%" PRId32 ":%" PRId32 ": error: %s has no file", data->json->path,
                     entry->line, entry->column, argument);
  if (asprintf(outPath, "%s/%s", data->folder, entry->file) < 0)
    return shardFail((ShardMessage){message, messageSize}, "out of memory");
  return shardNpyReadFile(*outPath, out, message, messageSize);
}

static bool checkType(const ShardProgramValue *value, const char *path, const ShardNpyArray *array,
                      char *message, size_t messageSize) {
  bool same = array->rank == value->rank && modelDataTypeFits(array->type, value);
  for (int32_t d = 0; same && d < value->rank; ++d)
    same = array->shape[d] == value->globalShape[d];
  if (same)
    return true;
  char argument[512], found[256], expected[256];
  modelDataFormatArgument(value, argument, sizeof argument);
  modelDataFormatShape(found, sizeof found, array->rank, array->shape,
                       shardNpyTypeName(array->type));
  modelDataFormatShape(expected, sizeof expected, value->rank, value->globalShape,
                       modelDataElementName(value));
  return shardFail((ShardMessage){message, messageSize}, "%s: %s is %s, expected %s", path,
                   argument, found, expected);
}

bool modelDataRead(ModelData *data, int32_t i, ShardNpyArray *out, const void **outData,
                   char *message, size_t messageSize) {
  char *path = NULL;
  bool ok = true;
  *out = (ShardNpyArray){0};
  if (data->set || data->ranks) {
    const ShardSafetensor *tensor = findTensor(data, i);
    out->type = tensor->type;
    out->rank = tensor->rank;
    memcpy(out->shape, tensor->shape, sizeof out->shape);
    out->sizeBytes = (size_t)(tensor->end - tensor->begin);
    if (data->ranks) {
      *outData = out->data =
          rankSetRead(data->ranks, tensor, &out->sizeBytes, message, messageSize);
      ok = out->data != NULL;
    } else {
      *outData = tensor->data;
    }
    out->count = (int64_t)out->sizeBytes / shardNpyTypeBytes(tensor->type);
    path = strdup(data->ranks ? data->path : tensor->file);
  } else {
    ok = readEntry(data, i, out, &path, message, messageSize);
    *outData = out->data;
  }
  ok = ok && checkType(&data->program->arguments[i], path ? path : "", out, message, messageSize);
  if (!ok)
    shardNpyRelease(out);
  free(path);
  return ok;
}
