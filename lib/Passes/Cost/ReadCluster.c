//===- ReadCluster.c - The cluster file ---------------------------*- C -*-===//
// Every field is checked, and one that is not known is an error: a misspelt rate would otherwise
// be a silent default. python-free-docs/cluster.schema.json says the same as a schema.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "ClusterFile.h"

#include "../../../tools/common/InputFile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_RAILS 1024

//===----------------------------------------------------------------------===//
// Links
//===----------------------------------------------------------------------===//

static int compareMeasured(const void *a, const void *b) {
  const ShardMeasuredCollective *x = a, *y = b;
  return x->kind != y->kind ? (x->kind > y->kind) - (x->kind < y->kind)
                            : (x->ranks > y->ranks) - (x->ranks < y->ranks);
}

static bool readMeasured(JsonReader *r, const JsonPath *path, json_t *value,
                         ShardClusterLink *out) {
  static const char *const fields[] = {"collective", "ranks", "latencySeconds", "bytesPerSecond"};
  if (!jsonReadList(r, path, value, 0, MAX_LIST))
    return false;
  size_t n = json_array_size(value);
  ShardMeasuredCollective *list = SHARD_ARENA_ARRAY(r->arena, ShardMeasuredCollective, n ? n : 1);
  for (size_t i = 0; i < n; ++i) {
    json_t *row = json_array_get(value, i);
    JsonPath at = {path, NULL, i};
    if (!jsonReadFields(r, &at, row, COUNT(fields), fields))
      return false;
    for (int32_t k = 0; k < COUNT(fields); ++k)
      if (!jsonRequire(r, &at, row, fields[k]))
        return false;
    JsonPath kind = {&at, fields[0], 0}, ranks = {&at, fields[1], 0};
    JsonPath latency = {&at, fields[2], 0}, rate = {&at, fields[3], 0};
    int32_t name;
    if (!jsonReadName(r, &kind, json_object_get(row, fields[0]), SHARD_N_COLLECTIVE_KINDS,
                      shardCollectiveKindNames, &name) ||
        !jsonReadCount(r, &ranks, json_object_get(row, fields[1]), 2, SHARD_CLUSTER_MAX_DEVICES,
                       &list[i].ranks) ||
        !jsonReadNumber(r, &latency, json_object_get(row, fields[2]), 0, MAX_SECONDS,
                        &list[i].latencySeconds) ||
        !jsonReadNumber(r, &rate, json_object_get(row, fields[3]), 1e-30, MAX_BYTES,
                        &list[i].bytesPerSecond))
      return false;
    list[i].kind = (ShardCollectiveKind)name;
    for (size_t k = 0; k < i; ++k)
      if (compareMeasured(&list[k], &list[i]) == 0)
        return jsonReaderFail(r, &at, "is the same collective and ranks as element %zu", k);
  }
  if (n)
    qsort(list, n, sizeof(*list), compareMeasured);
  out->nMeasured = (intptr_t)n;
  out->measured = list;
  return true;
}

static bool readInSwitch(JsonReader *r, const JsonPath *path, json_t *value, const char *source,
                         ShardClusterLink *out) {
  static const char *const fields[] = {"efficiency"};
  JsonPath at = {path, "efficiency", 0};
  ShardFigure figure;
  if (!jsonReadFields(r, path, value, 1, fields) || !jsonRequire(r, path, value, "efficiency") ||
      !jsonReadFigure(r, &at, json_object_get(value, "efficiency"), 1e-6, 1, source, &figure))
    return false;
  out->inSwitch = true;
  out->inSwitchEfficiency = figure.value;
  return true;
}

static bool readLink(JsonReader *r, const JsonPath *path, json_t *value, ShardClusterLink *out) {
  static const char *const fields[] = {"from",  "to",     "count",    "kind",     "bytesPerSecond",
                                       "rails", "shared", "inSwitch", "measured", "latencySeconds",
                                       "source"};
  static const char *const required[] = {"from", "to", "count", "bytesPerSecond", "latencySeconds"};
  const char *source = "";
  if (!jsonReadFields(r, path, value, COUNT(fields), fields) ||
      !jsonReadSource(r, path, value, &source))
    return false;
  for (int32_t i = 0; i < COUNT(required); ++i)
    if (!jsonRequire(r, path, value, required[i]))
      return false;
  *out = (ShardClusterLink){.rails = 1, .shared = true};
  const char *key;
  json_t *field;
  json_object_foreach(value, key, field) {
    JsonPath at = {path, key, 0};
    int32_t name = 0;
    bool ok = true;
    if (strcmp(key, "from") == 0 || strcmp(key, "to") == 0) {
      ok = jsonReadName(r, &at, field, SHARD_CLUSTER_MAX_LINKS + 1, shardClusterLevelNames, &name);
      *(key[0] == 'f' ? &out->from : &out->to) = (ShardClusterLevel)name;
    } else if (strcmp(key, "kind") == 0) {
      ok = jsonReadName(r, &at, field, 4, shardLinkKindNames, &name);
      out->kind = (ShardLinkKind)name;
    } else if (strcmp(key, "count") == 0) {
      ok = jsonReadCount(r, &at, field, 1, SHARD_CLUSTER_MAX_DEVICES, &out->count);
    } else if (strcmp(key, "bytesPerSecond") == 0) {
      ok = jsonReadRate(r, &at, field, source, &out->bytesPerSecond, NULL, NULL);
    } else if (strcmp(key, "latencySeconds") == 0) {
      ok = jsonReadFigure(r, &at, field, 0, MAX_SECONDS, source, &out->latencySeconds);
    } else if (strcmp(key, "rails") == 0) {
      ok = jsonReadCount(r, &at, field, 1, MAX_RAILS, &out->rails);
    } else if (strcmp(key, "shared") == 0) {
      ok = jsonReadBool(r, &at, field, &out->shared);
    } else if (strcmp(key, "inSwitch") == 0) {
      ok = readInSwitch(r, &at, field, source, out);
    } else if (strcmp(key, "measured") == 0) {
      ok = readMeasured(r, &at, field, out);
    }
    if (!ok)
      return false;
  }
  return true;
}

static bool readLinks(JsonReader *r, const JsonPath *path, json_t *value, ShardCluster *out) {
  if (!jsonReadList(r, path, value, 1, SHARD_CLUSTER_MAX_LINKS))
    return false;
  out->nLinks = (int32_t)json_array_size(value);
  for (int32_t i = 0; i < out->nLinks; ++i) {
    JsonPath at = {path, NULL, (size_t)i}, from = {&at, "from", 0}, to = {&at, "to", 0};
    ShardClusterLink *link = &out->links[i];
    if (!readLink(r, &at, json_array_get(value, (size_t)i), link))
      return false;
    ShardClusterLevel below = i ? out->links[i - 1].to : SHARD_LEVEL_DEVICE;
    if (link->from != below)
      return jsonReaderFail(r, &from, "is '%s'; expected '%s', %s",
                            shardClusterLevelNames[link->from], shardClusterLevelNames[below],
                            i ? "where the link before ends" : "with which the first link begins");
    if (link->to <= link->from)
      return jsonReaderFail(r, &to, "is '%s'; expected a level above '%s'",
                            shardClusterLevelNames[link->to], shardClusterLevelNames[link->from]);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Nodes and tiers
//===----------------------------------------------------------------------===//

static bool readNodes(JsonReader *r, const JsonPath *path, json_t *value, ShardCluster *out) {
  static const char *const fields[] = {"kind", "count", "devices"};
  if (!jsonReadList(r, path, value, 1, MAX_LIST))
    return false;
  const char **kinds = SHARD_ARENA_ARRAY(r->arena, const char *, out->nDeviceKinds);
  for (int32_t i = 0; i < out->nDeviceKinds; ++i)
    kinds[i] = out->deviceKinds[i].name;
  out->nNodeRuns = (int32_t)json_array_size(value);
  ShardClusterNodes *runs = SHARD_ARENA_ARRAY(r->arena, ShardClusterNodes, out->nNodeRuns);
  out->nodeRuns = runs;
  for (int32_t i = 0; i < out->nNodeRuns; ++i) {
    json_t *row = json_array_get(value, (size_t)i), *devices = json_object_get(row, "devices");
    JsonPath at = {path, NULL, (size_t)i}, atKind = {&at, "kind", 0};
    JsonPath atCount = {&at, "count", 0}, atDevices = {&at, "devices", 0};
    int64_t most = out->links[0].count;
    runs[i] = (ShardClusterNodes){
        .devicesPerNode = most, .firstNode = out->nNodes, .firstDevice = out->nDevices};
    if (!jsonReadFields(r, &at, row, COUNT(fields), fields) || !jsonRequire(r, &at, row, "kind") ||
        !jsonRequire(r, &at, row, "count") ||
        !jsonReadName(r, &atKind, json_object_get(row, "kind"), out->nDeviceKinds, kinds,
                      &runs[i].kind) ||
        !jsonReadCount(r, &atCount, json_object_get(row, "count"), 1, SHARD_CLUSTER_MAX_DEVICES,
                       &runs[i].count) ||
        (devices && !jsonReadCount(r, &atDevices, devices, 1, most, &runs[i].devicesPerNode)))
      return false;
    out->nNodes += runs[i].count; // at most 2^12 times 2^24
    out->nDevices += runs[i].count * runs[i].devicesPerNode;
    if (out->nDevices > SHARD_CLUSTER_MAX_DEVICES)
      return jsonReaderFail(r, &atCount,
                            "brings the cluster to %" PRId64 " devices; expected at most %" PRId64,
                            out->nDevices, SHARD_CLUSTER_MAX_DEVICES);
  }
  int64_t tops = shardClusterPartCount(out, out->nLinks), room = 1;
  for (int32_t i = 1; i < out->nLinks && room <= SHARD_CLUSTER_MAX_DEVICES; ++i)
    room *= out->links[i].count;
  return tops == 1 ||
         jsonReaderFail(
             r, path, "make %" PRId64 " nodes; the counts of 'links' hold %" PRId64 " below one %s",
             out->nNodes, room, shardClusterLevelNames[out->links[out->nLinks - 1].to]);
}

static bool readTier(JsonReader *r, const JsonPath *path, json_t *value,
                     const ShardCluster *cluster, ShardMemoryTier *out) {
  static const char *const fields[] = {
      "name", "per", "bytes", "bytesPerSecond", "latencySeconds", "source", "deviceBytesPerSecond"};
  static const char *const names[] = {"host", "nvme", "object"};
  const char *source = "";
  if (!jsonReadFields(r, path, value, COUNT(fields), fields) ||
      !jsonReadSource(r, path, value, &source))
    return false;
  for (int32_t i = 0; i < 5; ++i)
    if (!jsonRequire(r, path, value, fields[i]))
      return false;
  JsonPath name = {path, "name", 0}, per = {path, "per", 0}, bytes = {path, "bytes", 0};
  JsonPath rate = {path, "bytesPerSecond", 0}, latency = {path, "latencySeconds", 0};
  JsonPath deviceRate = {path, "deviceBytesPerSecond", 0};
  int32_t which, level;
  json_t *device = json_object_get(value, "deviceBytesPerSecond");
  if (!jsonReadName(r, &name, json_object_get(value, "name"), COUNT(names), names, &which) ||
      !jsonReadName(r, &per, json_object_get(value, "per"), SHARD_CLUSTER_MAX_LINKS + 1,
                    shardClusterLevelNames, &level) ||
      !jsonReadFigure(r, &bytes, json_object_get(value, "bytes"), 1e-30, MAX_BYTES, source,
                      &out->bytes) ||
      !jsonReadRate(r, &rate, json_object_get(value, "bytesPerSecond"), source,
                    &out->bytesPerSecond, NULL, NULL) ||
      !jsonReadFigure(r, &latency, json_object_get(value, "latencySeconds"), 0, MAX_SECONDS, source,
                      &out->latencySeconds) ||
      (device &&
       !jsonReadRate(r, &deviceRate, device, source, &out->deviceBytesPerSecond, NULL, NULL)))
    return false;
  bool linked = level == 0;
  for (int32_t i = 0; i < cluster->nLinks; ++i)
    linked |= (int32_t)cluster->links[i].to == level;
  if (!linked)
    return jsonReaderFail(r, &per, "is '%s', a level that no link leads to",
                          shardClusterLevelNames[level]);
  out->name = names[which];
  out->owner = (ShardClusterLevel)level;
  out->hasDeviceRate = device != NULL;
  return true;
}

static bool readTiers(JsonReader *r, const JsonPath *path, json_t *value, ShardCluster *out) {
  if (!jsonReadList(r, path, value, 0, 3))
    return false;
  out->nTiers = (int32_t)json_array_size(value);
  ShardMemoryTier *tiers = SHARD_ARENA_ARRAY(r->arena, ShardMemoryTier, 3);
  out->tiers = tiers;
  for (int32_t i = 0; i < out->nTiers; ++i) {
    JsonPath at = {path, NULL, (size_t)i}, name = {&at, "name", 0};
    if (!readTier(r, &at, json_array_get(value, (size_t)i), out, &tiers[i]))
      return false;
    for (int32_t k = 0; k < i; ++k)
      if (strcmp(tiers[k].name, tiers[i].name) == 0)
        return jsonReaderFail(r, &name, "is '%s', as tiers[%d]", tiers[i].name, k);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

static bool readAlgorithms(JsonReader *r, const JsonPath *path, json_t *value, ShardCluster *out) {
  if (!jsonReadList(r, path, value, 1, SHARD_N_ALGORITHMS))
    return false;
  memset(out->algorithms, 0, sizeof(out->algorithms));
  for (size_t i = 0; i < json_array_size(value); ++i) {
    JsonPath at = {path, NULL, i};
    int32_t name;
    if (!jsonReadName(r, &at, json_array_get(value, i), SHARD_ALGORITHM_DIRECT, shardAlgorithmNames,
                      &name))
      return false;
    if (out->algorithms[name])
      return jsonReaderFail(r, &at, "is given twice");
    out->algorithms[name] = true;
  }
  // What NCCL and MPI always have.
  out->algorithms[SHARD_ALGORITHM_DIRECT] = out->algorithms[SHARD_ALGORITHM_MEASURED] = true;
  return true;
}

/// Nodes of one kind, as many as hold `nDevices`.
static bool scale(JsonReader *r, const JsonPath *path, json_t *root, const ShardCluster *cluster,
                  int64_t nDevices) {
  json_t *nodes = json_object_get(root, "nodes"), *run = json_array_get(nodes, 0);
  if (json_array_size(nodes) != 1 || !json_is_object(run))
    return jsonReaderFail(r, path, "has %zu entries; ':%" PRId64 "' scales nodes of one kind",
                          json_array_size(nodes), nDevices);
  int64_t perNode = cluster->links[0].count;
  json_t *given = json_object_get(run, "devices");
  if (json_number_value(given) >= 1 && json_number_value(given) < (double)perNode)
    perNode = (int64_t)json_number_value(given);
  if (nDevices > perNode && nDevices % perNode)
    return jsonReaderFail(r, path,
                          "cannot make %" PRId64 " devices of nodes of %" PRId64
                          "; expected a multiple, or less than one node",
                          nDevices, perNode);
  json_object_set_new(run, "count", json_integer(nDevices < perNode ? 1 : nDevices / perNode));
  if (nDevices < perNode)
    json_object_set_new(run, "devices", json_integer(nDevices));
  return true;
}

static bool readRoot(JsonReader *r, json_t *root, int64_t nDevices, ShardCluster *out) {
  static const char *const fields[] = {"version",  "name",    "description", "source",
                                       "derating", "reserve", "links",       "devices",
                                       "nodes",    "tiers",   "algorithms"};
  static const char *const required[] = {"version", "name", "devices", "links", "nodes"};
  JsonPath top = {NULL, NULL, 0};
  JsonPath version = {&top, "version", 0}, name = {&top, "name", 0};
  JsonPath description = {&top, "description", 0}, derating = {&top, "derating", 0};
  JsonPath reserve = {&top, "reserve", 0}, links = {&top, "links", 0};
  JsonPath devices = {&top, "devices", 0}, nodes = {&top, "nodes", 0}, tiers = {&top, "tiers", 0};
  JsonPath algorithms = {&top, "algorithms", 0};
  if (!jsonReadFields(r, &top, root, COUNT(fields), fields))
    return false;
  for (int32_t i = 0; i < COUNT(required); ++i)
    if (!jsonRequire(r, &top, root, required[i]))
      return false;
  json_t *text = json_object_get(root, "description"), *part = json_object_get(root, "derating");
  json_t *kept = json_object_get(root, "reserve"), *list = json_object_get(root, "tiers");
  json_t *allowed = json_object_get(root, "algorithms");
  int64_t number;
  const char *source;
  out->derating = 0.75;
  out->reserve = 0.2;
  out->description = "";
  for (int32_t i = 0; i < SHARD_N_ALGORITHMS; ++i)
    out->algorithms[i] = true;
  return jsonReadCount(r, &version, json_object_get(root, "version"), 1, 1, &number) &&
         jsonReadText(r, &name, json_object_get(root, "name"), &out->name) &&
         (!text || jsonReadText(r, &description, text, &out->description)) &&
         jsonReadSource(r, &top, root, &source) &&
         (!part || jsonReadNumber(r, &derating, part, 0.01, 1, &out->derating)) &&
         (!kept || jsonReadNumber(r, &reserve, kept, 0, 0.99, &out->reserve)) &&
         readLinks(r, &links, json_object_get(root, "links"), out) &&
         clusterReadDevices(r, &devices, json_object_get(root, "devices"), out) &&
         (!nDevices || scale(r, &nodes, root, out, nDevices)) &&
         readNodes(r, &nodes, json_object_get(root, "nodes"), out) &&
         (!list || readTiers(r, &tiers, list, out)) &&
         (!allowed || readAlgorithms(r, &algorithms, allowed, out));
}

ShardCluster *shardClusterParse(const char *path, const char *text, size_t length, int64_t nDevices,
                                char **outError) {
  ShardArena *arena = shardArenaCreate();
  JsonReader reader = {path, text, length, arena, NULL};
  json_t *root = jsonReaderParse(&reader);
  ShardCluster *cluster = SHARD_ARENA_NEW(arena, ShardCluster);
  if (root && readRoot(&reader, root, nDevices, cluster)) {
    ShardClusterMemory *memory = SHARD_ARENA_NEW(arena, ShardClusterMemory);
    *memory = (ShardClusterMemory){arena, root};
    cluster->memory = memory;
    return cluster;
  }
  *outError = reader.message ? reader.message : strdup("out of memory");
  json_decref(root);
  shardArenaDestroy(arena);
  return NULL;
}

void shardClusterDestroy(ShardCluster *cluster) {
  if (!cluster)
    return;
  ShardClusterMemory *memory = cluster->memory;
  json_decref(memory->root);
  shardArenaDestroy(memory->arena); // with the cluster
}

//===----------------------------------------------------------------------===//
// --cluster=FILE|PRESET[:DEVICES]
//===----------------------------------------------------------------------===//

__attribute__((format(printf, 2, 3))) static ShardCluster *refuse(char **outError,
                                                                  const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (vasprintf(outError, format, arguments) < 0)
    *outError = NULL;
  va_end(arguments);
  return NULL;
}

/// The number after the last colon; 0: no colon, or no number there. -1: out of range.
static int64_t devicesOf(const char *spec, size_t *outLength) {
  const char *colon = strrchr(spec, ':');
  *outLength = strlen(spec);
  if (!colon || !colon[1] || colon[1 + strspn(colon + 1, "0123456789")])
    return 0;
  *outLength = (size_t)(colon - spec);
  errno = 0;
  long long n = strtoll(colon + 1, NULL, 10);
  return errno || n < 1 || n > SHARD_CLUSTER_MAX_DEVICES ? -1 : (int64_t)n;
}

static ShardCluster *readFile(const char *path, int64_t nDevices, char **outError) {
  ShardInputFile file;
  char message[512];
  if (!shardInputFileRead(path, &file, message, sizeof(message)))
    return refuse(outError, "%s", message);
  ShardCluster *cluster = shardClusterParse(strcmp(path, "-") == 0 ? "<stdin>" : path, file.bytes,
                                            file.sizeBytes, nDevices, outError);
  shardInputFileRelease(&file);
  return cluster;
}

ShardCluster *shardClusterCreate(const char *spec, char **outError) {
  size_t length;
  int64_t nDevices = devicesOf(spec, &length);
  if (nDevices && access(spec, F_OK) == 0)
    return readFile(spec, 0, outError);
  char *base = strndup(spec, length);
  if (!base || nDevices < 0) {
    free(base);
    return refuse(
        outError,
        "'--cluster=%s' asks for a number of devices out of range; expected 1 to %" PRId64, spec,
        SHARD_CLUSTER_MAX_DEVICES);
  }
  ShardCluster *cluster = NULL;
  char *presets = NULL;
  size_t presetBytes = 0;
  FILE *list = open_memstream(&presets, &presetBytes);
  intptr_t found = -1;
  const char *colon = strrchr(base, ':');
  bool counted = false; // a preset, and what is no number of devices
  for (intptr_t i = 0; i < shardClusterPresetCount; ++i) {
    if (strcmp(shardClusterPresets[i].name, base) == 0)
      found = i;
    counted |= colon && strlen(shardClusterPresets[i].name) == (size_t)(colon - base) &&
               strncmp(shardClusterPresets[i].name, base, (size_t)(colon - base)) == 0;
    if (list)
      fprintf(list, "%s%s", i ? ", " : "", shardClusterPresets[i].name);
  }
  if (list)
    fclose(list);
  if (found >= 0)
    cluster = shardClusterParse(base, (const char *)shardClusterPresets[found].text,
                                shardClusterPresets[found].length, nDevices, outError);
  else if (counted && access(base, F_OK) != 0)
    refuse(outError, "'--cluster=%s': '%s' is no number of devices; expected 1 to %" PRId64, spec,
           colon + 1, SHARD_CLUSTER_MAX_DEVICES);
  else if (strcmp(base, "-") != 0 && access(base, F_OK) != 0)
    refuse(outError, "'--cluster=%s': no such file, and the presets are %s", spec,
           presets ? presets : "");
  else
    cluster = readFile(base, nDevices, outError);
  free(presets);
  free(base);
  return cluster;
}
