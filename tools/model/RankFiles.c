//===- RankFiles.c - A model's weights, one file a rank -----------*- C -*-===//
#define _GNU_SOURCE

#include "RankFiles.h"
#include "Element.h"
#include "ModelData.h"
#include "Placement.h"
#include "RankSet.h"

#include "../common/Message.h"
#include "../common/Safetensors.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool isEmptyText(const char *text) { return !text || !*text; }

//===----------------------------------------------------------------------===//
// Splitting
//===----------------------------------------------------------------------===//

typedef struct Split {
  const ShardProgram *program;
  ModelData *data;
  const char *folder;
  ShardMessage message;
} Split;

static bool isKept(const Split *split, int32_t argument) {
  const ShardProgramValue *value = &split->program->arguments[argument];
  bool fed = strcmp(value->role, "input") == 0 || strcmp(value->role, "target") == 0;
  // A constant that the program has itself needs no file.
  return !fed &&
         (!value->constant || modelDataGetState(split->data, argument) == MODEL_DATA_STORED);
}

static json_t *jsonSizes(int32_t n, const int64_t *sizes) {
  json_t *list = json_array();
  for (int32_t i = 0; i < n; ++i)
    json_array_append_new(list, json_integer(sizes[i]));
  return list;
}

static json_t *describeTensor(const ShardProgram *program, const ShardProgramValue *value,
                              const char *name) {
  const ShardProgramSharding *sharding = &value->sharding;
  json_t *lists = json_array();
  for (int32_t d = 0; d < sharding->nViewDims; ++d) {
    json_t *axes = json_array();
    for (int32_t k = sharding->axisStart[d]; k < sharding->axisStart[d + 1]; ++k)
      json_array_append_new(axes, json_string(program->axisNames[sharding->axes[k]]));
    json_array_append_new(lists, axes);
  }
  json_t *entry =
      json_pack("{s:o, s:o, s:o}", "shape", jsonSizes(value->rank, value->globalShape), "view",
                jsonSizes(sharding->nViewDims, sharding->view), "sharding", lists);
  if (value->windowSize) {
    const int64_t window[] = {value->windowDim, value->windowBegin, value->windowSize};
    json_object_set_new(entry, "of", json_string(name));
    json_object_set_new(entry, "window", jsonSizes(3, window));
  }
  return entry;
}

static json_t *describeMesh(const ShardProgram *program) {
  json_t *mesh = json_array();
  for (int32_t i = 0; i < program->nAxes; ++i)
    json_array_append_new(
        mesh, json_pack("[s, I]", program->axisNames[i], (json_int_t)program->axisSizes[i]));
  return mesh;
}

enum { NAME_SIZE = 512 };

/// A rank's tensors: names and local shapes. Names without one of the model are argNNN; of a part
/// of a fused weight the name says where it begins.
static bool listTensors(const Split *split, const ShardProgramStage *stage, size_t *outCount,
                        ShardSafetensor *tensors, char (*names)[NAME_SIZE], json_t *described) {
  const ShardProgram *program = split->program;
  for (int32_t i = 0; i < stage->nArguments; ++i) {
    const ShardProgramValue *value = &program->arguments[stage->arguments[i]];
    if (!isKept(split, stage->arguments[i]))
      continue;
    char argument[512], number[32];
    modelDataFormatArgument(value, argument, sizeof argument);
    if (modelDataGetState(split->data, stage->arguments[i]) != MODEL_DATA_STORED)
      return shardFail(split->message, "%s is not in %s%s", argument, modelDataPath(split->data),
                       isEmptyText(value->name) ? ", which goes by names (--args=FILE gives them)"
                                                : "");
    if (value->rank > SHARD_NPY_MAX_RANK)
      return shardFail(split->message, "%s has more than %d dimensions", argument,
                       SHARD_NPY_MAX_RANK);
    size_t n = (*outCount)++;
    rankSetFormatNumber(value->index, number, sizeof number);
    const char *whole = isEmptyText(value->name) ? number : value->name;
    if (value->windowSize)
      snprintf(names[n], NAME_SIZE, "%s[%" PRId64 "]", whole, value->windowBegin);
    else
      snprintf(names[n], NAME_SIZE, "%s", whole);
    ShardSafetensor *tensor = &tensors[n];
    *tensor =
        (ShardSafetensor){.name = names[n], .type = modelDataTypeOf(value), .rank = value->rank};
    memcpy(tensor->shape, value->localShape, (size_t)value->rank * sizeof *tensor->shape);
    if (json_object_get(described, tensor->name))
      return shardFail(split->message, "two arguments are named '%s'", tensor->name);
    if (json_object_set_new(described, tensor->name, describeTensor(program, value, whole)) != 0)
      return shardFail(split->message, "%s has a name that is not UTF-8", argument);
  }
  return true;
}

static bool writeTensor(const Split *split, ShardSafetensorsWriter *writer, int64_t rank,
                        int32_t argument) {
  const ShardProgramValue *value = &split->program->arguments[argument];
  ShardMessage message = split->message;
  Placement placement;
  ShardNpyArray array;
  const void *whole;
  if (!placementCreate(split->program, value, rank, &placement, message.text, message.sizeBytes) ||
      !modelDataRead(split->data, argument, &array, &whole, message.text, message.sizeBytes))
    return false;
  size_t bytes = elementBytes(value->element);
  char *local = calloc(placement.localCount + 1, bytes);
  bool ok = local || shardFailOutOfMemory(message);
  if (ok) {
    placementCut(&placement, whole, local, bytes);
    ok = shardSafetensorsWriterAdd(writer, local, message.text, message.sizeBytes);
  }
  free(local);
  shardNpyRelease(&array);
  return ok;
}

static bool splitRank(const Split *split, int64_t rank) {
  const ShardProgram *program = split->program;
  const ShardProgramStage *stage = &program->stages[meshStage(program, rank)];
  ShardMessage message = split->message;
  size_t nMost = (size_t)stage->nArguments + 1, count = 0;
  ShardSafetensor *tensors = calloc(nMost, sizeof *tensors);
  char (*names)[NAME_SIZE] = calloc(nMost, sizeof *names);
  json_t *described = json_object(), *mesh = describeMesh(program);
  char *path = rankSetPath(split->folder, rank), *layout = NULL, *meshText = NULL, number[32];
  ShardSafetensorsWriter *writer = NULL;
  bool ok = (tensors && names && described && mesh && path) || shardFailOutOfMemory(message);
  ok = ok && listTensors(split, stage, &count, tensors, names, described);
  if (ok) {
    layout = json_dumps(described, JSON_COMPACT);
    meshText = json_dumps(mesh, JSON_COMPACT);
    ok = (layout && meshText) || shardFailOutOfMemory(message);
  }
  if (ok) {
    snprintf(number, sizeof number, "%" PRId64, rank);
    const ShardSafetensorsMetadata metadata[] = {{"shard.version", "1"},
                                                 {"shard.mesh", meshText},
                                                 {"shard.rank", number},
                                                 {"shard.tensors", layout}};
    writer = shardSafetensorsWriterCreate(path, count, tensors, 4, metadata, message.text,
                                          message.sizeBytes);
    ok = writer != NULL;
  }
  for (int32_t i = 0; ok && i < stage->nArguments; ++i)
    ok = !isKept(split, stage->arguments[i]) ||
         writeTensor(split, writer, rank, stage->arguments[i]);
  if (ok) {
    ok = shardSafetensorsWriterFinish(writer, message.text, message.sizeBytes);
    writer = NULL;
  }
  shardSafetensorsWriterAbandon(writer);
  free(meshText);
  free(layout);
  free(path);
  json_decref(mesh);
  json_decref(described);
  free(names);
  free(tensors);
  return ok;
}

bool rankFilesSplit(const ShardProgram *program, const char *source, const char *folder, char *text,
                    size_t messageSize) {
  ShardMessage message = {text, messageSize};
  struct stat status;
  bool made = mkdir(folder, 0777) == 0;
  if (!made && errno != EEXIST)
    return shardFail(message, "cannot make the folder '%s': %s", folder, strerror(errno));
  if (!made && (stat(folder, &status) != 0 || !S_ISDIR(status.st_mode)))
    return shardFail(message, "'%s' is not a folder", folder);
  Split split = {program, modelDataOpen(source, program, text, messageSize), folder, message};
  int64_t nRanks = meshRankCount(program), rank = 0;
  bool ok = split.data != NULL;
  for (; ok && rank < nRanks; rank += ok)
    ok = splitRank(&split, rank);
  for (int64_t r = 0; !ok && r < rank; ++r) {
    char *path = rankSetPath(folder, r);
    if (path)
      unlink(path);
    free(path);
  }
  if (!ok && made)
    rmdir(folder);
  modelDataClose(split.data);
  return ok;
}

//===----------------------------------------------------------------------===//
// Joining
//===----------------------------------------------------------------------===//

bool rankFilesJoin(const char *folder, const char *output, char *message, size_t messageSize) {
  RankSet *set = rankSetOpen(folder, message, messageSize);
  if (!set)
    return false;
  size_t count = rankSetCount(set);
  ShardSafetensor *tensors = calloc(count + 1, sizeof *tensors);
  for (size_t i = 0; tensors && i < count; ++i)
    tensors[i] = *rankSetTensor(set, i);
  bool ok = tensors || shardFailOutOfMemory((ShardMessage){message, messageSize});
  ShardSafetensorsWriter *writer =
      ok ? shardSafetensorsWriterCreate(output, count, tensors, 0, NULL, message, messageSize)
         : NULL;
  ok = writer != NULL;
  for (size_t i = 0; ok && i < count; ++i) {
    size_t bytes;
    void *whole = rankSetRead(set, rankSetTensor(set, i), &bytes, message, messageSize);
    ok = whole && shardSafetensorsWriterAdd(writer, whole, message, messageSize);
    free(whole);
  }
  if (ok)
    ok = shardSafetensorsWriterFinish(writer, message, messageSize);
  else
    shardSafetensorsWriterAbandon(writer);
  free(tensors);
  rankSetClose(set);
  return ok;
}
