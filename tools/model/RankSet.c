//===- RankSet.c - Files of ranks, read as whole values -----------*- C -*-===//
#define _GNU_SOURCE

#include "RankSet.h"
#include "Placement.h"

#include "../common/Message.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *rankSetPath(const char *folder, int64_t rank) {
  char *path;
  return asprintf(&path, "%s/rank-%05" PRId64 ".safetensors", folder, rank) < 0 ? NULL : path;
}

void rankSetFormatNumber(int32_t argument, char *text, size_t textSize) {
  snprintf(text, textSize, "arg%03" PRId32, argument);
}

bool rankSetIsThere(const char *folder) {
  char *path = rankSetPath(folder, 0);
  bool there = path && access(path, F_OK) == 0;
  free(path);
  return there;
}

/// One rank's file: its tensors, and how they lie.
typedef struct RankFile {
  ShardSafetensors *set;
  json_t *layout;
  size_t *wholes; // [set->count] number of the whole tensor
} RankFile;

struct RankSet {
  char *folder;
  ShardProgram mesh; // axes alone
  char **axisNames;  // [mesh.nAxes]
  int64_t *axisSizes;
  int64_t nRanks;
  RankFile *ranks;
  size_t count; // distinct tensors
  ShardSafetensor *tensors;
  json_t *numbers; // of each name
};

static json_t *loadText(const char *text) {
  return text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
}

static bool readMesh(RankSet *all, const ShardSafetensors *first, ShardMessage message) {
  json_t *mesh = loadText(shardSafetensorsGetMetadata(first, "shard.mesh"));
  size_t n = json_array_size(mesh);
  bool ok = json_is_array(mesh) && n <= PLACEMENT_MAX_DIMS;
  all->axisNames = calloc(n + 1, sizeof *all->axisNames);
  all->axisSizes = calloc(n + 1, sizeof *all->axisSizes);
  all->nRanks = 1;
  for (size_t i = 0; ok && i < n; ++i) {
    json_t *axis = json_array_get(mesh, i), *size = json_array_get(axis, 1);
    const char *name = json_string_value(json_array_get(axis, 0));
    ok = name && json_is_integer(size) && json_integer_value(size) >= 1 &&
         json_integer_value(size) <= 65536 && (all->axisNames[i] = strdup(name));
    all->axisSizes[i] = json_integer_value(size);
    ok = ok && (all->nRanks *= all->axisSizes[i]) <= 65536;
  }
  all->mesh = (ShardProgram){.nAxes = (int32_t)n,
                             .axisNames = (const char *const *)all->axisNames,
                             .axisSizes = all->axisSizes,
                             .ppAxis = -1};
  json_decref(mesh);
  return ok || shardFail(message,
                         "%s/rank-00000.safetensors: no mesh in its metadata: not written "
                         "by --split-weights",
                         all->folder);
}

static bool openRank(RankSet *all, int64_t rank, ShardMessage message) {
  char *path = rankSetPath(all->folder, rank), number[32];
  if (!path)
    return shardFailOutOfMemory(message);
  RankFile *file = &all->ranks[rank];
  file->set = shardSafetensorsOpen(path, message.text, message.sizeBytes);
  bool ok = file->set != NULL;
  if (ok) {
    const char *of = shardSafetensorsGetMetadata(file->set, "shard.rank");
    const char *version = shardSafetensorsGetMetadata(file->set, "shard.version");
    const char *mesh = shardSafetensorsGetMetadata(file->set, "shard.mesh");
    const char *first = shardSafetensorsGetMetadata(all->ranks[0].set, "shard.mesh");
    file->layout = loadText(shardSafetensorsGetMetadata(file->set, "shard.tensors"));
    snprintf(number, sizeof number, "%" PRId64, rank);
    if (!version || strcmp(version, "1") != 0)
      ok = shardFail(message, "%s: 'shard.version' is %s, expected 1", path,
                     version ? version : "absent");
    else if (!of || strcmp(of, number) != 0)
      ok = shardFail(message, "%s: is of rank %s", path, of ? of : "nobody");
    else if (!mesh || !first || strcmp(mesh, first) != 0)
      ok = shardFail(message, "%s: is of another mesh than rank 0's file", path);
    else if (!json_is_object(file->layout))
      ok = shardFail(message, "%s: 'shard.tensors' is not an object", path);
  }
  free(path);
  return ok;
}

//===----------------------------------------------------------------------===//
// Where a tensor lies
//===----------------------------------------------------------------------===//

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

/// A rank's tensor in the whole one.
typedef struct Place {
  const char *whole; // name
  int64_t shape[PLACEMENT_MAX_DIMS];
  int32_t rank;
  Placement placement;
} Place;

/// Of a part of a fused weight: [dimension, begin, size] of the whole.
static bool readWindow(json_t *list, const Place *place, ShardProgramValue *value) {
  int64_t window[PLACEMENT_MAX_DIMS];
  int32_t n;
  if (!list)
    return true;
  if (!readSizes(list, window, &n) || n != 3 || window[0] >= place->rank || window[2] < 1 ||
      window[1] > place->shape[window[0]] - window[2])
    return false;
  value->windowDim = (int32_t)window[0];
  value->windowBegin = window[1];
  value->windowSize = window[2];
  return true;
}

static bool placeTensor(const RankSet *all, int64_t rank, const ShardSafetensor *tensor, Place *out,
                        ShardMessage message) {
  json_t *entry = json_object_get(all->ranks[rank].layout, tensor->name);
  json_t *lists = json_object_get(entry, "sharding"), *of = json_object_get(entry, "of");
  int64_t view[PLACEMENT_MAX_DIMS];
  int32_t nView, starts[PLACEMENT_MAX_DIMS + 1] = {0}, axes[PLACEMENT_MAX_DIMS], nAxes = 0;
  ShardProgramValue value = {.name = tensor->name, .rank = tensor->rank};
  out->whole = of ? json_string_value(of) : tensor->name;
  bool ok = out->whole && readSizes(json_object_get(entry, "shape"), out->shape, &out->rank) &&
            readSizes(json_object_get(entry, "view"), view, &nView) && out->rank == tensor->rank &&
            json_is_array(lists) && json_array_size(lists) == (size_t)nView &&
            readWindow(json_object_get(entry, "window"), out, &value);
  for (int32_t d = 0; ok && d < nView; ++d) {
    json_t *list = json_array_get(lists, (size_t)d), *name;
    size_t k;
    json_array_foreach(list, k, name) {
      int32_t axis = 0;
      while (axis < all->mesh.nAxes && json_is_string(name) &&
             strcmp(all->axisNames[axis], json_string_value(name)) != 0)
        ++axis;
      ok = ok && json_is_string(name) && axis < all->mesh.nAxes && nAxes < PLACEMENT_MAX_DIMS;
      if (ok)
        axes[nAxes++] = axis;
    }
    starts[d + 1] = nAxes;
  }
  if (!ok)
    return shardFail(message, "%s: the layout of tensor '%s' in its metadata is damaged",
                     tensor->file, tensor->name);
  value.globalShape = out->shape;
  value.localShape = tensor->shape;
  value.sharding = (ShardProgramSharding){nView, view, starts, axes};
  char reason[256];
  return placementCreate(&all->mesh, &value, rank, &out->placement, reason, sizeof reason) ||
         shardFail(message, "%s: the layout of tensor '%s' does not give its shape", tensor->file,
                   tensor->name);
}

/// Distinct tensors over all ranks, with their whole shapes.
static bool listWhole(RankSet *all, ShardMessage message) {
  size_t most = 0;
  for (int64_t r = 0; r < all->nRanks; ++r)
    most += all->ranks[r].set->count;
  all->tensors = calloc(most + 1, sizeof *all->tensors);
  all->numbers = json_object();
  bool ok = (all->tensors && all->numbers) || shardFailOutOfMemory(message);
  for (int64_t r = 0; ok && r < all->nRanks; ++r) {
    RankFile *file = &all->ranks[r];
    file->wholes = calloc(file->set->count + 1, sizeof *file->wholes);
    ok = file->wholes || shardFailOutOfMemory(message);
    for (size_t i = 0; ok && i < file->set->count; ++i) {
      const ShardSafetensor *tensor = &file->set->tensors[i];
      Place place;
      if (!placeTensor(all, r, tensor, &place, message))
        return false;
      json_t *known = json_object_get(all->numbers, place.whole);
      size_t number = file->wholes[i] = known ? (size_t)json_integer_value(known) : all->count;
      ShardSafetensor *whole = &all->tensors[number];
      if (!known) {
        *whole = (ShardSafetensor){.name = place.whole, .type = tensor->type, .rank = place.rank};
        memcpy(whole->shape, place.shape, (size_t)place.rank * sizeof *place.shape);
        ok = json_object_set_new(all->numbers, place.whole,
                                 json_integer((json_int_t)all->count++)) == 0 ||
             shardFailOutOfMemory(message);
      } else if (whole->type != tensor->type || whole->rank != place.rank ||
                 memcmp(whole->shape, place.shape, (size_t)place.rank * sizeof *place.shape) != 0) {
        ok = shardFail(message, "%s: tensor '%s' is of another shape or type than on a lower rank",
                       tensor->file, tensor->name);
      }
    }
  }
  return ok;
}

RankSet *rankSetOpen(const char *folder, char *text, size_t messageSize) {
  ShardMessage message = {text, messageSize};
  RankSet *all = calloc(1, sizeof *all);
  char *path = rankSetPath(folder, 0);
  bool ok = (all && path && (all->folder = strdup(folder))) || shardFailOutOfMemory(message);
  ShardSafetensors *first = ok ? shardSafetensorsOpen(path, text, messageSize) : NULL;
  ok = first && readMesh(all, first, message);
  shardSafetensorsDestroy(first);
  free(path);
  if (ok)
    ok = (all->ranks = calloc((size_t)all->nRanks, sizeof *all->ranks)) ||
         shardFailOutOfMemory(message);
  for (int64_t r = 0; ok && r < all->nRanks; ++r)
    ok = openRank(all, r, message);
  if (ok && listWhole(all, message))
    return all;
  rankSetClose(all);
  return NULL;
}

void rankSetClose(RankSet *all) {
  if (!all)
    return;
  for (int64_t r = 0; all->ranks && r < all->nRanks; ++r) {
    shardSafetensorsDestroy(all->ranks[r].set);
    json_decref(all->ranks[r].layout);
    free(all->ranks[r].wholes);
  }
  for (int32_t i = 0; all->axisNames && i < all->mesh.nAxes; ++i)
    free(all->axisNames[i]);
  free(all->axisNames);
  free(all->axisSizes);
  free(all->ranks);
  free(all->tensors);
  json_decref(all->numbers);
  free(all->folder);
  free(all);
}

size_t rankSetCount(const RankSet *all) { return all->count; }

const ShardSafetensor *rankSetTensor(const RankSet *all, size_t i) { return &all->tensors[i]; }

const ShardSafetensor *rankSetFind(const RankSet *all, const char *name) {
  json_t *number = json_object_get(all->numbers, name);
  return number ? &all->tensors[json_integer_value(number)] : NULL;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

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

/// What a rank has of a whole tensor.
static bool fillRank(const RankSet *all, int64_t rank, const ShardSafetensor *whole, Fill *fill,
                     ShardMessage message) {
  const RankFile *file = &all->ranks[rank];
  size_t number = (size_t)(whole - all->tensors);
  for (size_t i = 0; i < file->set->count; ++i) {
    const ShardSafetensor *tensor = &file->set->tensors[i];
    Place place;
    if (file->wholes[i] != number)
      continue;
    if (!placeTensor(all, rank, tensor, &place, message))
      return false;
    fill->local = tensor->data;
    placementVisit(&place.placement, fillRun, fill);
    if (fill->differing)
      return shardFail(message,
                       "%s: %zu elements of tensor '%s' differ from a lower rank's, the first is "
                       "number %zu of the whole",
                       tensor->file, fill->differing, whole->name, fill->first);
  }
  return true;
}

void *rankSetRead(const RankSet *all, const ShardSafetensor *whole, size_t *outBytes, char *text,
                  size_t messageSize) {
  ShardMessage message = {text, messageSize};
  size_t count = 1, bytes = (size_t)shardNpyTypeBytes(whole->type);
  bool ok = true;
  for (int32_t d = 0; d < whole->rank; ++d)
    ok = ok && !__builtin_mul_overflow(count, (size_t)whole->shape[d], &count);
  if (!ok || count > SIZE_MAX / 16) {
    shardFail(message, "tensor '%s' is too large", whole->name);
    return NULL;
  }
  *outBytes = count * bytes;
  Fill fill = {.whole = aligned_alloc(64, (*outBytes + 64) / 64 * 64),
               .held = calloc(count + 1, 1),
               .elementBytes = bytes};
  ok = (fill.whole && fill.held) || shardFailOutOfMemory(message);
  for (int64_t r = 0; ok && r < all->nRanks; ++r)
    ok = fillRank(all, r, whole, &fill, message);
  if (ok && fill.nHeld != count)
    ok = shardFail(message, "%s: the ranks hold %zu of the %zu elements of tensor '%s'",
                   all->folder, fill.nHeld, count, whole->name);
  free(fill.held);
  if (ok)
    return fill.whole;
  free(fill.whole);
  return NULL;
}
