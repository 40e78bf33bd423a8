//===- ReadDevices.c - Kinds of devices in the cluster file -------*- C -*-===//
// Rates by type, shape and function, tiles, curves, what all busy devices leave each other.
//===----------------------------------------------------------------------===//
#include "ClusterFile.h"

#include <string.h>

#define MAX_TILE_UNITS 65536
#define MAX_TILE_SIDE 65536
#define MAX_MEMORY_FRACTION 1000 // caches are that much faster than memory, at most

static bool readRates(JsonReader *r, const JsonPath *path, json_t *value, const char *source,
                      bool *has, ShardRate *rates, ShardCurve *curves, ShardShapeGrid *grids) {
  if (!jsonReadFields(r, path, value, SHARD_N_RATE_TYPES, shardRateTypeNames))
    return false;
  for (int32_t t = 0; t < SHARD_N_RATE_TYPES; ++t) {
    json_t *rate = json_object_get(value, shardRateTypeNames[t]);
    JsonPath at = {path, shardRateTypeNames[t], 0};
    has[t] = rate != NULL;
    if (rate && !jsonReadRate(r, &at, rate, source, &rates[t], curves ? &curves[t] : NULL,
                              grids ? &grids[t] : NULL))
      return false;
  }
  return true;
}

/// {"f32": {"exp": RATE, ...}, ...}
static bool readFunctions(JsonReader *r, const JsonPath *path, json_t *value, const char *source,
                          ShardDeviceKind *out) {
  if (!jsonReadFields(r, path, value, SHARD_N_RATE_TYPES, shardRateTypeNames))
    return false;
  for (int32_t t = 0; t < SHARD_N_RATE_TYPES; ++t) {
    json_t *functions = json_object_get(value, shardRateTypeNames[t]);
    JsonPath type = {path, shardRateTypeNames[t], 0};
    if (functions && !jsonReadFields(r, &type, functions, SHARD_N_FUNCTIONS, shardFunctionNames))
      return false;
    for (int32_t f = 0; functions && f < SHARD_N_FUNCTIONS; ++f) {
      json_t *rate = json_object_get(functions, shardFunctionNames[f]);
      JsonPath at = {&type, shardFunctionNames[f], 0};
      out->hasFunctions[t][f] = rate != NULL;
      if (rate && !jsonReadRate(r, &at, rate, source, &out->functions[t][f], NULL, NULL))
        return false;
    }
  }
  return true;
}

/// {"devices": N, "flops": FRACTION, "memoryEfficiency": CURVE, "source": TEXT}
static bool readBusy(JsonReader *r, const JsonPath *path, json_t *value, const char *source,
                     ShardBusy *out) {
  static const char *const fields[] = {"devices", "flops", "memoryEfficiency", "source"};
  JsonPath devices = {path, fields[0], 0}, flops = {path, fields[1], 0},
           memory = {path, fields[2], 0};
  if (!jsonReadFields(r, path, value, COUNT(fields), fields) ||
      !jsonReadSource(r, path, value, &source) || !jsonRequire(r, path, value, fields[0]) ||
      !jsonRequire(r, path, value, fields[1]))
    return false;
  json_t *curve = json_object_get(value, fields[2]);
  return jsonReadCount(r, &devices, json_object_get(value, fields[0]), 2, SHARD_CLUSTER_MAX_DEVICES,
                       &out->devices) &&
         jsonReadNumber(r, &flops, json_object_get(value, fields[1]), 1e-6, 1, &out->flops) &&
         (!curve ||
          jsonReadCurve(r, &memory, curve, MAX_MEMORY_FRACTION, source, &out->memoryEfficiency));
}

/// {"units": N, "sizes": [[ROWS, COLUMNS], ...], "source": TEXT}
static bool readTiles(JsonReader *r, const JsonPath *path, json_t *value, const char *source,
                      ShardTiles *out) {
  static const char *const fields[] = {"units", "sizes", "source"};
  JsonPath units = {path, fields[0], 0}, sizes = {path, fields[1], 0};
  json_t *list = json_object_get(value, fields[1]);
  out->source = source;
  if (!jsonReadFields(r, path, value, COUNT(fields), fields) ||
      !jsonReadSource(r, path, value, &out->source) || !jsonRequire(r, path, value, fields[0]) ||
      !jsonRequire(r, path, value, fields[1]) ||
      !jsonReadCount(r, &units, json_object_get(value, fields[0]), 1, MAX_TILE_UNITS,
                     &out->units) ||
      !jsonReadList(r, &sizes, list, 1, SHARD_MAX_TILES))
    return false;
  out->nSizes = (int32_t)json_array_size(list);
  for (int32_t i = 0; i < out->nSizes; ++i) {
    json_t *size = json_array_get(list, (size_t)i);
    JsonPath at = {&sizes, NULL, (size_t)i};
    if (!jsonReadList(r, &at, size, 2, 2))
      return false;
    for (size_t k = 0; k < 2; ++k) {
      JsonPath side = {&at, NULL, k};
      if (!jsonReadCount(r, &side, json_array_get(size, k), 1, MAX_TILE_SIDE, &out->sizes[i][k]))
        return false;
    }
  }
  return true;
}

static bool readDevice(JsonReader *r, const JsonPath *path, json_t *value, ShardDeviceKind *out) {
  static const char *const fields[] = {
      "kind",      "source",      "memoryBytes",   "memoryBytesPerSecond", "memoryEfficiency",
      "flops",     "vectorFlops", "launchSeconds", "failuresPerDay",       "linkBytesPerSecond",
      "functions", "allBusy",     "tiles"};
  static const char *const required[] = {"kind", "memoryBytes", "memoryBytesPerSecond", "flops"};
  const char *source = "";
  if (!jsonReadFields(r, path, value, COUNT(fields), fields) ||
      !jsonReadSource(r, path, value, &source))
    return false;
  for (int32_t i = 0; i < COUNT(required); ++i)
    if (!jsonRequire(r, path, value, required[i]))
      return false;
  out->launchSeconds.source = out->failuresPerDay.source = "";
  const char *key;
  json_t *field;
  json_object_foreach(value, key, field) {
    JsonPath at = {path, key, 0};
    bool ok = true;
    if (strcmp(key, "kind") == 0)
      ok = jsonReadText(r, &at, field, &out->name);
    else if (strcmp(key, "memoryBytes") == 0)
      ok = jsonReadFigure(r, &at, field, 1e-30, MAX_BYTES, source, &out->memoryBytes);
    else if (strcmp(key, "memoryBytesPerSecond") == 0)
      ok = jsonReadRate(r, &at, field, source, &out->memoryBytesPerSecond, NULL, NULL);
    else if (strcmp(key, "memoryEfficiency") == 0)
      ok = jsonReadCurve(r, &at, field, MAX_MEMORY_FRACTION, source, &out->memoryEfficiency);
    else if (strcmp(key, "flops") == 0)
      ok =
          readRates(r, &at, field, source, out->hasFlops, out->flops, out->efficiency, out->shapes);
    else if (strcmp(key, "vectorFlops") == 0)
      ok = readRates(r, &at, field, source, out->hasVectorFlops, out->vectorFlops, NULL, NULL);
    else if (strcmp(key, "functions") == 0)
      ok = readFunctions(r, &at, field, source, out);
    else if (strcmp(key, "allBusy") == 0)
      ok = readBusy(r, &at, field, source, &out->allBusy);
    else if (strcmp(key, "tiles") == 0)
      ok = readTiles(r, &at, field, source, &out->tiles);
    else if (strcmp(key, "launchSeconds") == 0)
      ok = jsonReadFigure(r, &at, field, 0, MAX_SECONDS, source, &out->launchSeconds);
    else if (strcmp(key, "failuresPerDay") == 0)
      ok = jsonReadFigure(r, &at, field, 0, 1e6, source, &out->failuresPerDay);
    else if (strcmp(key, "linkBytesPerSecond") == 0)
      ok = out->hasPort = jsonReadRate(r, &at, field, source, &out->portBytesPerSecond, NULL, NULL);
    if (!ok)
      return false;
  }
  bool any = false;
  for (int32_t t = 0; t < SHARD_N_RATE_TYPES; ++t)
    any |= out->hasFlops[t];
  JsonPath flops = {path, "flops", 0};
  return any || jsonReaderFail(r, &flops, "is empty; expected the rate of a type at least");
}

bool clusterReadDevices(JsonReader *r, const JsonPath *path, json_t *value, ShardCluster *out) {
  if (!jsonReadList(r, path, value, 1, MAX_LIST))
    return false;
  out->nDeviceKinds = (int32_t)json_array_size(value);
  ShardDeviceKind *kinds = SHARD_ARENA_ARRAY(r->arena, ShardDeviceKind, out->nDeviceKinds);
  out->deviceKinds = kinds;
  for (int32_t i = 0; i < out->nDeviceKinds; ++i) {
    JsonPath at = {path, NULL, (size_t)i}, kind = {&at, "kind", 0};
    if (!readDevice(r, &at, json_array_get(value, (size_t)i), &kinds[i]))
      return false;
    for (int32_t k = 0; k < i; ++k)
      if (strcmp(kinds[k].name, kinds[i].name) == 0)
        return jsonReaderFail(r, &kind, "is '%.80s', as devices[%d]", kinds[i].name, k);
  }
  return true;
}
