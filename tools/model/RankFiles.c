//===- RankFiles.c - A model's weights, one file a rank -----------*- C -*-===//
#define _GNU_SOURCE

#include "RankFiles.h"
#include "Element.h"
#include "ModelData.h"
#include "Placement.h"

#include "../common/Safetensors.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct Message {
  char *text;
  size_t size;
} Message;

__attribute__((format(printf, 2, 3))) static bool fail(Message message, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message.text, message.size, format, arguments);
  va_end(arguments);
  return false;
}

static bool outOfMemory(Message message) { return fail(message, "out of memory"); }

static char *rankPath(const char *folder, int64_t rank) {
  char *path;
  return asprintf(&path, "%s/rank-%05" PRId64 ".safetensors", folder, rank) < 0 ? NULL : path;
}

static bool isEmptyText(const char *text) { return !text || !*text; }

//===----------------------------------------------------------------------===//
// Splitting
//===----------------------------------------------------------------------===//

typedef struct Split {
  const ShardProgram *program;
  ModelData *data;
  const char *folder;
  Message message;
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

static json_t *describeTensor(const ShardProgram *program, const ShardProgramValue *value) {
  const ShardProgramSharding *sharding = &value->sharding;
  json_t *lists = json_array();
  for (int32_t d = 0; d < sharding->nViewDims; ++d) {
    json_t *axes = json_array();
    for (int32_t k = sharding->axisStart[d]; k < sharding->axisStart[d + 1]; ++k)
      json_array_append_new(axes, json_string(program->axisNames[sharding->axes[k]]));
    json_array_append_new(lists, axes);
  }
  return json_pack("{s:o, s:o, s:o}", "shape", jsonSizes(value->rank, value->globalShape), "view",
                   jsonSizes(sharding->nViewDims, sharding->view), "sharding", lists);
}

static json_t *describeMesh(const ShardProgram *program) {
  json_t *mesh = json_array();
  for (int32_t i = 0; i < program->nAxes; ++i)
    json_array_append_new(
        mesh, json_pack("[s, I]", program->axisNames[i], (json_int_t)program->axisSizes[i]));
  return mesh;
}

/// A rank's tensors: names and local shapes. Names without one of the model are argNNN.
static bool listTensors(const Split *split, const ShardProgramStage *stage, size_t *outCount,
                        ShardSafetensor *tensors, char (*names)[32], json_t *described) {
  const ShardProgram *program = split->program;
  for (int32_t i = 0; i < stage->nArguments; ++i) {
    const ShardProgramValue *value = &program->arguments[stage->arguments[i]];
    if (!isKept(split, stage->arguments[i]))
      continue;
    char argument[512];
    modelDataFormatArgument(value, argument, sizeof argument);
    if (modelDataGetState(split->data, stage->arguments[i]) != MODEL_DATA_STORED)
      return fail(split->message, "%s is not in %s%s", argument, modelDataPath(split->data),
                  isEmptyText(value->name) ? ", which goes by names (--args=FILE gives them)" : "");
    if (value->rank > SHARD_NPY_MAX_RANK)
      return fail(split->message, "%s has more than %d dimensions", argument, SHARD_NPY_MAX_RANK);
    size_t n = (*outCount)++;
    snprintf(names[n], sizeof names[n], "arg%03" PRId32, value->index);
    ShardSafetensor *tensor = &tensors[n];
    *tensor = (ShardSafetensor){.name = isEmptyText(value->name) ? names[n] : value->name,
                                .type = modelDataTypeOf(value->element),
                                .rank = value->rank};
    memcpy(tensor->shape, value->localShape, (size_t)value->rank * sizeof *tensor->shape);
    if (json_object_get(described, tensor->name))
      return fail(split->message, "two arguments are named '%s'", tensor->name);
    if (json_object_set_new(described, tensor->name, describeTensor(program, value)) != 0)
      return fail(split->message, "%s has a name that is not UTF-8", argument);
  }
  return true;
}

static bool writeTensor(const Split *split, ShardSafetensorsWriter *writer, int64_t rank,
                        int32_t argument) {
  const ShardProgramValue *value = &split->program->arguments[argument];
  Message message = split->message;
  Placement placement;
  ShardNpyArray array;
  const void *whole;
  if (!placementCreate(split->program, value, rank, &placement, message.text, message.size) ||
      !modelDataRead(split->data, argument, &array, &whole, message.text, message.size))
    return false;
  size_t bytes = elementBytes(value->element);
  char *local = calloc(placement.localCount + 1, bytes);
  bool ok = local || outOfMemory(message);
  if (ok) {
    placementCut(&placement, whole, local, bytes);
    ok = shardSafetensorsWriterAdd(writer, local, message.text, message.size);
  }
  free(local);
  shardNpyRelease(&array);
  return ok;
}

static bool splitRank(const Split *split, int64_t rank) {
  const ShardProgram *program = split->program;
  const ShardProgramStage *stage = &program->stages[meshStage(program, rank)];
  Message message = split->message;
  size_t nMost = (size_t)stage->nArguments + 1, count = 0;
  ShardSafetensor *tensors = calloc(nMost, sizeof *tensors);
  char (*names)[32] = calloc(nMost, sizeof *names);
  json_t *described = json_object(), *mesh = describeMesh(program);
  char *path = rankPath(split->folder, rank), *layout = NULL, *meshText = NULL, number[32];
  ShardSafetensorsWriter *writer = NULL;
  bool ok = (tensors && names && described && mesh && path) || outOfMemory(message);
  ok = ok && listTensors(split, stage, &count, tensors, names, described);
  if (ok) {
    layout = json_dumps(described, JSON_COMPACT);
    meshText = json_dumps(mesh, JSON_COMPACT);
    ok = (layout && meshText) || outOfMemory(message);
  }
  if (ok) {
    snprintf(number, sizeof number, "%" PRId64, rank);
    const ShardSafetensorsMetadata metadata[] = {{"shard.version", "1"},
                                                 {"shard.mesh", meshText},
                                                 {"shard.rank", number},
                                                 {"shard.tensors", layout}};
    writer =
        shardSafetensorsWriterCreate(path, count, tensors, 4, metadata, message.text, message.size);
    ok = writer != NULL;
  }
  for (int32_t i = 0; ok && i < stage->nArguments; ++i)
    ok = !isKept(split, stage->arguments[i]) ||
         writeTensor(split, writer, rank, stage->arguments[i]);
  if (ok) {
    ok = shardSafetensorsWriterFinish(writer, message.text, message.size);
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
  Message message = {text, messageSize};
  struct stat status;
  bool made = mkdir(folder, 0777) == 0;
  if (!made && errno != EEXIST)
    return fail(message, "cannot make the folder '%s': %s", folder, strerror(errno));
  if (!made && (stat(folder, &status) != 0 || !S_ISDIR(status.st_mode)))
    return fail(message, "'%s' is not a folder", folder);
  Split split = {program, modelDataOpen(source, program, text, messageSize), folder, message};
  int64_t nRanks = meshRankCount(program), rank = 0;
  bool ok = split.data != NULL;
  for (; ok && rank < nRanks; rank += ok)
    ok = splitRank(&split, rank);
  for (int64_t r = 0; !ok && r < rank; ++r) {
    char *path = rankPath(folder, r);
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

/// One rank's file: its tensors, and how they lie.
typedef struct RankFile {
  ShardSafetensors *set;
  json_t *layout;
} RankFile;

typedef struct Join {
  const char *folder;
  ShardProgram mesh; // axes alone
  char **axisNames;  // [mesh.nAxes]
  int64_t *axisSizes;
  int64_t nRanks;
  RankFile *ranks;
  size_t count; // distinct tensors
  ShardSafetensor *tensors;
  Message message;
} Join;

static json_t *loadText(const char *text) {
  return text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
}

static bool readMesh(Join *join, const ShardSafetensors *set) {
  json_t *mesh = loadText(shardSafetensorsGetMetadata(set, "shard.mesh"));
  size_t n = json_array_size(mesh);
  bool ok = json_is_array(mesh) && n <= PLACEMENT_MAX_DIMS;
  join->axisNames = calloc(n + 1, sizeof *join->axisNames);
  join->axisSizes = calloc(n + 1, sizeof *join->axisSizes);
  join->nRanks = 1;
  for (size_t i = 0; ok && i < n; ++i) {
    json_t *axis = json_array_get(mesh, i), *size = json_array_get(axis, 1);
    const char *name = json_string_value(json_array_get(axis, 0));
    ok = name && json_is_integer(size) && json_integer_value(size) >= 1 &&
         json_integer_value(size) <= 65536 && (join->axisNames[i] = strdup(name));
    join->axisSizes[i] = json_integer_value(size);
    ok = ok && (join->nRanks *= join->axisSizes[i]) <= 65536;
  }
  join->mesh = (ShardProgram){.nAxes = (int32_t)n,
                              .axisNames = (const char *const *)join->axisNames,
                              .axisSizes = join->axisSizes,
                              .ppAxis = -1};
  json_decref(mesh);
  return ok || fail(join->message,
                    "%s/rank-00000.safetensors: no mesh in its metadata: not written "
                    "by --split-weights",
                    join->folder);
}

static bool openRank(Join *join, int64_t rank) {
  Message message = join->message;
  char *path = rankPath(join->folder, rank), number[32];
  if (!path)
    return outOfMemory(message);
  RankFile *file = &join->ranks[rank];
  file->set = shardSafetensorsOpen(path, message.text, message.size);
  bool ok = file->set != NULL;
  if (ok) {
    const char *of = shardSafetensorsGetMetadata(file->set, "shard.rank");
    const char *version = shardSafetensorsGetMetadata(file->set, "shard.version");
    const char *mesh = shardSafetensorsGetMetadata(file->set, "shard.mesh");
    const char *first = shardSafetensorsGetMetadata(join->ranks[0].set, "shard.mesh");
    file->layout = loadText(shardSafetensorsGetMetadata(file->set, "shard.tensors"));
    snprintf(number, sizeof number, "%" PRId64, rank);
    if (!version || strcmp(version, "1") != 0)
      ok = fail(message, "%s: 'shard.version' is %s, expected 1", path,
                version ? version : "absent");
    else if (!of || strcmp(of, number) != 0)
      ok = fail(message, "%s: is of rank %s", path, of ? of : "nobody");
    else if (!mesh || !first || strcmp(mesh, first) != 0)
      ok = fail(message, "%s: is of another mesh than rank 0's file", path);
    else if (!json_is_object(file->layout))
      ok = fail(message, "%s: 'shard.tensors' is not an object", path);
  }
  free(path);
  return ok;
}

/// Reads an array of sizes, whose product is one too, into `out` [PLACEMENT_MAX_DIMS].
static bool readSizes(json_t *list, int64_t *out, int32_t *outCount) {
  size_t n = json_array_size(list);
  bool ok = json_is_array(list) && n <= PLACEMENT_MAX_DIMS;
  int64_t product = 1;
  for (size_t i = 0; ok && i < n; ++i) {
    out[i] = json_integer_value(json_array_get(list, i));
    ok = json_is_integer(json_array_get(list, i)) && out[i] >= 0 &&
         !__builtin_mul_overflow(product, out[i] ? out[i] : 1, &product);
  }
  *outCount = (int32_t)n;
  return ok;
}

/// Where a rank's tensor lies, from the metadata.
static bool placeTensor(const Join *join, int64_t rank, const ShardSafetensor *tensor,
                        int64_t *outShape, int32_t *outDims, Placement *placement) {
  json_t *entry = json_object_get(join->ranks[rank].layout, tensor->name);
  int64_t view[PLACEMENT_MAX_DIMS];
  int32_t nView, starts[PLACEMENT_MAX_DIMS + 1] = {0}, axes[PLACEMENT_MAX_DIMS], nAxes = 0;
  json_t *lists = json_object_get(entry, "sharding");
  bool ok = readSizes(json_object_get(entry, "shape"), outShape, outDims) &&
            readSizes(json_object_get(entry, "view"), view, &nView) && *outDims == tensor->rank &&
            json_is_array(lists) && json_array_size(lists) == (size_t)nView;
  for (int32_t d = 0; ok && d < nView; ++d) {
    json_t *list = json_array_get(lists, (size_t)d), *name;
    size_t k;
    json_array_foreach(list, k, name) {
      int32_t axis = 0;
      while (axis < join->mesh.nAxes && json_is_string(name) &&
             strcmp(join->axisNames[axis], json_string_value(name)) != 0)
        ++axis;
      ok = ok && json_is_string(name) && axis < join->mesh.nAxes && nAxes < PLACEMENT_MAX_DIMS;
      if (ok)
        axes[nAxes++] = axis;
    }
    starts[d + 1] = nAxes;
  }
  if (!ok)
    return fail(join->message, "%s: the layout of tensor '%s' in its metadata is damaged",
                tensor->file, tensor->name);
  ShardProgramValue value = {.name = tensor->name,
                             .rank = tensor->rank,
                             .globalShape = outShape,
                             .localShape = tensor->shape,
                             .sharding = {nView, view, starts, axes}};
  char reason[256];
  return placementCreate(&join->mesh, &value, rank, placement, reason, sizeof reason) ||
         fail(join->message, "%s: the layout of tensor '%s' does not give its shape", tensor->file,
              tensor->name);
}

/// Distinct tensors over all ranks, with their whole shapes.
static bool listWhole(Join *join) {
  size_t most = 0;
  for (int64_t r = 0; r < join->nRanks; ++r)
    most += join->ranks[r].set->count;
  join->tensors = calloc(most + 1, sizeof *join->tensors);
  json_t *seen = json_object();
  bool ok = (join->tensors && seen) || outOfMemory(join->message);
  for (int64_t r = 0; ok && r < join->nRanks; ++r) {
    const ShardSafetensors *set = join->ranks[r].set;
    for (size_t i = 0; ok && i < set->count; ++i) {
      const ShardSafetensor *tensor = &set->tensors[i];
      int64_t shape[PLACEMENT_MAX_DIMS];
      int32_t rank;
      Placement placement;
      ok = placeTensor(join, r, tensor, shape, &rank, &placement);
      json_t *known = json_object_get(seen, tensor->name);
      if (ok && !known) {
        ShardSafetensor *whole = &join->tensors[join->count];
        *whole = (ShardSafetensor){.name = tensor->name, .type = tensor->type, .rank = rank};
        memcpy(whole->shape, shape, (size_t)rank * sizeof *shape);
        ok =
            json_object_set_new(seen, tensor->name, json_integer((json_int_t)join->count++)) == 0 ||
            outOfMemory(join->message);
      } else if (ok) {
        const ShardSafetensor *whole = &join->tensors[json_integer_value(known)];
        if (whole->type != tensor->type || whole->rank != rank ||
            memcmp(whole->shape, shape, (size_t)rank * sizeof *shape) != 0)
          ok = fail(join->message,
                    "%s: tensor '%s' is of another shape or type than on a lower rank",
                    tensor->file, tensor->name);
      }
    }
  }
  json_decref(seen);
  return ok;
}

typedef struct Fill {
  char *whole;
  const char *local;
  unsigned char *held; // [elements] whether some rank has given it
  size_t elementBytes, nHeld, differing, first;
} Fill;

static void fillRun(void *user, size_t globalBegin, size_t localBegin, size_t count) {
  Fill *fill = user;
  size_t bytes = fill->elementBytes;
  for (size_t i = 0; i < count; ++i) {
    char *to = fill->whole + (globalBegin + i) * bytes;
    const char *from = fill->local + (localBegin + i) * bytes;
    if (!fill->held[globalBegin + i]) {
      fill->held[globalBegin + i] = 1;
      ++fill->nHeld;
      memcpy(to, from, bytes);
    } else if (memcmp(to, from, bytes) != 0 && !fill->differing++) {
      fill->first = globalBegin + i;
    }
  }
}

static bool joinTensor(const Join *join, const ShardSafetensor *whole,
                       ShardSafetensorsWriter *writer) {
  Message message = join->message;
  size_t count = 1, bytes = (size_t)shardNpyTypeBytes(whole->type);
  for (int32_t d = 0; d < whole->rank; ++d)
    if (__builtin_mul_overflow(count, (size_t)whole->shape[d], &count))
      return fail(message, "tensor '%s' is too large", whole->name);
  if (count > SIZE_MAX / 16)
    return fail(message, "tensor '%s' is too large", whole->name);
  Fill fill = {
      .whole = malloc(count * bytes + 1), .held = calloc(count + 1, 1), .elementBytes = bytes};
  bool ok = (fill.whole && fill.held) || outOfMemory(message);
  for (int64_t r = 0; ok && r < join->nRanks; ++r) {
    const ShardSafetensor *tensor = shardSafetensorsFind(join->ranks[r].set, whole->name);
    int64_t shape[PLACEMENT_MAX_DIMS];
    int32_t rank;
    Placement placement;
    if (!tensor)
      continue;
    fill.local = tensor->data;
    ok = placeTensor(join, r, tensor, shape, &rank, &placement);
    if (ok)
      placementVisit(&placement, fillRun, &fill);
    if (ok && fill.differing)
      ok = fail(message,
                "%s: %zu elements of tensor '%s' differ from a lower rank's, the first is "
                "number %zu of the whole",
                tensor->file, fill.differing, whole->name, fill.first);
  }
  if (ok && fill.nHeld != count)
    ok = fail(message, "%s: the ranks hold %zu of the %zu elements of tensor '%s'", join->folder,
              fill.nHeld, count, whole->name);
  ok = ok && shardSafetensorsWriterAdd(writer, fill.whole, message.text, message.size);
  free(fill.whole);
  free(fill.held);
  return ok;
}

static void releaseJoin(Join *join) {
  for (int64_t r = 0; join->ranks && r < join->nRanks; ++r) {
    shardSafetensorsDestroy(join->ranks[r].set);
    json_decref(join->ranks[r].layout);
  }
  for (int32_t i = 0; join->axisNames && i < join->mesh.nAxes; ++i)
    free(join->axisNames[i]);
  free(join->axisNames);
  free(join->axisSizes);
  free(join->ranks);
  free(join->tensors);
}

bool rankFilesJoin(const char *folder, const char *output, char *text, size_t messageSize) {
  Join join = {.folder = folder, .message = {text, messageSize}};
  char *path = rankPath(folder, 0);
  ShardSafetensors *first = path ? shardSafetensorsOpen(path, text, messageSize) : NULL;
  bool ok = first && readMesh(&join, first);
  shardSafetensorsDestroy(first);
  free(path);
  if (ok)
    ok =
        (join.ranks = calloc((size_t)join.nRanks, sizeof *join.ranks)) || outOfMemory(join.message);
  for (int64_t r = 0; ok && r < join.nRanks; ++r)
    ok = openRank(&join, r);
  ok = ok && listWhole(&join);
  ShardSafetensorsWriter *writer =
      ok ? shardSafetensorsWriterCreate(output, join.count, join.tensors, 0, NULL, text,
                                        messageSize)
         : NULL;
  ok = writer != NULL;
  for (size_t i = 0; ok && i < join.count; ++i)
    ok = joinTensor(&join, &join.tensors[i], writer);
  if (ok)
    ok = shardSafetensorsWriterFinish(writer, text, messageSize);
  else
    shardSafetensorsWriterAbandon(writer);
  releaseJoin(&join);
  return ok;
}
