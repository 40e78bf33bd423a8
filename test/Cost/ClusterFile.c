//===- ClusterFile.c - Cluster files, right and wrong -------------*- C -*-===//
// shard-cluster-file SCHEMA FILE   Edits a file that is right, one field at a time, and compares
// the message and its place; the schema must refuse what it can say. Presets are valid under it,
// and every figure of theirs has a source.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "Check.h"
#include "Schema.h"

#include "shard/Cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *readFile(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) {
    fprintf(stderr, "shard-cluster-file: error: cannot read '%s'\n", path);
    exit(1);
  }
  fseek(file, 0, SEEK_END);
  size_t length = (size_t)ftell(file);
  rewind(file);
  char *text = calloc(1, length + 1);
  if (!text || fread(text, 1, length, file) != length)
    exit(1);
  fclose(file);
  return text;
}

/// A copy of `text` with the first `from` replaced.
static char *replace(const char *text, const char *from, const char *to) {
  const char *at = strstr(text, from);
  char *result = NULL;
  if (!at || asprintf(&result, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from)) < 0) {
    printf("FAIL: no '%s' in the file\n", from);
    exit(1);
  }
  return result;
}

static const struct {
  const char *from, *to; // the edit
  const char *message;   // after "c.json:"
  bool beyondSchema;     // no schema can say it
} wrong[] = {
    {"\"version\": 1", "\"version\": 2", "2:14: error: 'version' is 2; expected 1", false},
    {"\"version\": 1,", "", "1:1: error: the file has no 'version'", false},
    {"\"name\": \"two kinds\"", "\"name\": 7", "3:11: error: 'name' is a number; expected a text",
     false},
    {"\"name\": \"two kinds\"", "\"name\": \"\"", "3:11: error: 'name' is empty", false},
    {"\"name\": \"two kinds\"", "\"name\": \"a\\nb\"",
     "3:11: error: 'name' has a control character", false},
    {"\"derating\": 0.8", "\"derating\": 1.5", "4:15: error: 'derating' is 1.5; expected 0.01 to 1",
     false},
    {"\"derating\": 0.8", "\"deratin\": 0.8",
     "4:14: error: 'deratin' is no field here; expected version, name, description, source, "
     "derating, reserve, links, devices, nodes, tiers or algorithms",
     false},
    {"\"reserve\": 0.25", "\"reserve\": 1", "5:14: error: 'reserve' is 1; expected 0 to 0.99",
     false},
    {"\"ring\", \"hier", "\"rings\", \"hier",
     "6:18: error: 'algorithms[0]' is 'rings'; expected ring, tree, recursive, hierarchical or "
     "in-switch",
     false},
    {"\"ring\", \"hierarchical\"", "\"ring\", \"ring\"",
     "6:26: error: 'algorithms[1]' is given twice", false},
    {"\"kind\": \"old\",\n      \"source\"", "\"source\"", "8:5: error: 'devices[0]' has no 'kind'",
     false},
    {"40e9", "-1", "11:22: error: 'devices[0].memoryBytes' is -1; expected a positive number",
     false},
    {"40e9", "2e30",
     "11:22: error: 'devices[0].memoryBytes' is 2e+30; expected a positive number below 1e30",
     false},
    {"40e9", "\"40 GB\"", "11:22: error: 'devices[0].memoryBytes' is a text; expected a number",
     false},
    {"40e9", "{\"value\": 40e9, \"Source\": \"x\"}",
     "11:48: error: 'devices[0].memoryBytes.Source' is no field here; expected value, measured or "
     "source",
     false},
    {"\"value\": 1.2e12, \"measured\": true", "\"value\": 1.2e12, \"measured\": 1",
     "12:90: error: 'devices[0].memoryBytesPerSecond.achieved.measured' is a number; expected true "
     "or false",
     false},
    {"\"value\": 1.2e12", "\"value\": 1.6e12",
     "12:60: error: 'devices[0].memoryBytesPerSecond.achieved' is 1.6e+12, more than the peak, "
     "1.5e+12",
     true},
    {"{\"peak\": 1.5e12, \"achieved\": {\"value\": 1.2e12, \"measured\": true}}", "{}",
     "12:31: error: 'devices[0].memoryBytesPerSecond' has neither 'peak' nor 'achieved'", false},
    {"[[1e6, 0.5], [1e8, 1]]", "[[1e6, 0.5], [1e6, 1]]",
     "13:52: error: 'devices[0].memoryEfficiency.points[1][0]' is 1e+06, after 1e+06; expected "
     "sizes that ascend",
     true},
    {"[[1e6, 0.5], [1e8, 1]]", "[[1e6, 0.5, 2], [1e8, 1]]",
     "13:39: error: 'devices[0].memoryEfficiency.points[0]' has 3 elements; expected 2 to 2",
     false},
    {"[[1e6, 0.5], [1e8, 1]]", "[]",
     "13:38: error: 'devices[0].memoryEfficiency.points' has 0 elements; expected 1 to 1000",
     false},
    {"[[1e6, 0.5], [1e8, 1]]", "[[1e6, 1500]]",
     "13:45: error: 'devices[0].memoryEfficiency.points[0][1]' is 1500; expected 1e-06 to 1000",
     false},
    {"[[1e6, 0.1], [1e10, 1]]", "[[1e6, 1.5]]",
     "14:87: error: 'devices[0].flops.f16.efficiency.points[0][1]' is 1.5; expected 1e-06 to 1",
     false},
    {"\"exp\": {", "\"ln\": {",
     "15:94: error: 'devices[0].functions.f32.ln' is no field here; expected "
     "divide, sqrt, exp, tanh, erf, other or reduce",
     false},
    {"\"devices\": 8, \"flops\": 0.5", "\"devices\": 1, \"flops\": 0.5",
     "15:140: error: 'devices[0].allBusy.devices' is 1; expected 2 to 16777216", false},
    {"\"devices\": 8, \"flops\": 0.5", "\"devices\": 8, \"flops\": 1.5",
     "15:152: error: 'devices[0].allBusy.flops' is 1.5; expected 1e-06 to 1", false},
    {"\"devices\": 8, \"flops\": 0.5", "\"devices\": 8",
     "15:128: error: 'devices[0].allBusy' has no 'flops'", false},
    {"\"m\": [1, 100]", "\"m\": [1, 1]",
     "24:69: error: 'devices[1].flops.f16.efficiency.m[1]' is 1, after 1; expected sizes that "
     "ascend",
     true},
    {"\"m\": [1, 100], ", "", "24:59: error: 'devices[1].flops.f16.efficiency' has no 'm'", false},
    {"0.3, 1]", "0.3]",
     "24:116: error: 'devices[1].flops.f16.efficiency.fractions' has 3 elements; expected 4, one "
     "for each m, n and k",
     true},
    {"0.3, 1]", "0.3, 2]",
     "24:132: error: 'devices[1].flops.f16.efficiency.fractions[3]' is 2; expected 1e-06 to 1",
     false},
    {"\"f32\": 10e12", "\"fp32\": 10e12",
     "14:25: error: 'devices[0].flops.fp32' is no field here; expected f64, f32, f16, bf16, f8, f4 "
     "or i8",
     false},
    {"\"f32\": 10e12", "\"f32\": 0",
     "14:24: error: 'devices[0].flops.f32' is 0; expected a positive number", false},
    {"\"launchSeconds\": 5e-6", "\"launchSeconds\": -5e-6",
     "16:24: error: 'devices[0].launchSeconds' is -5e-06; expected 0 to 1e+06", false},
    {"\"units\": 4", "\"units\": 0",
     "16:49: error: 'devices[0].tiles.units' is 0; expected 1 to 65536", false},
    {"\"units\": 4, ", "", "16:39: error: 'devices[0].tiles' has no 'units'", false},
    {"[[256, 128], [64, 64]]", "[]",
     "16:61: error: 'devices[0].tiles.sizes' has 0 elements; expected 1 to 8", false},
    {"[256, 128]", "[256]",
     "16:62: error: 'devices[0].tiles.sizes[0]' has 1 elements; expected 2 to 2", false},
    {"[64, 64]", "[64, 0.5]",
     "16:79: error: 'devices[0].tiles.sizes[1][1]' is no whole number; expected a whole number",
     false},
    {"\"kind\": \"new\"", "\"kind\": \"old\"",
     "21:15: error: 'devices[1].kind' is 'old', as devices[0]", true},
    {"{\"f16\": {\"achieved\": 400e12, \"efficiency\": {\"m\": [1, 100], \"n\": [64], \"k\": [1, "
     "10000], \"fractions\": [0.1, 0.5, 0.3, 1]}, \"source\": \"the new maker\"}}",
     "{}", "24:16: error: 'devices[1].flops' is empty; expected the rate of a type at least",
     false},
    {"{\"f16\": {\"achieved\": 400e12, \"efficiency\": {\"m\": [1, 100], \"n\": [64], \"k\": [1, "
     "10000], \"fractions\": [0.1, 0.5, 0.3, 1]}, \"source\": \"the new maker\"}}",
     "{\"f16\": []}", "24:24: error: 'devices[1].flops.f16' is a list; expected a number", false},
    {"{\"from\": \"device\", \"to\": \"node\"", "{\"from\": \"node\", \"to\": \"node\"",
     "28:14: error: 'links[0].from' is 'node'; expected 'device', with which the first link begins",
     true},
    {"\"to\": \"rack\", \"count\": 4", "\"to\": \"node\", \"count\": 4",
     "30:28: error: 'links[1].to' is 'node'; expected a level above 'node'", true},
    {"\"from\": \"rack\"", "\"from\": \"pod\"",
     "33:14: error: 'links[2].from' is 'pod'; expected 'rack', where the link before ends", true},
    {"\"count\": 8,", "\"count\": 8.5,",
     "28:47: error: 'links[0].count' is no whole number; expected a whole number", false},
    {"\"count\": 8,", "\"count\": 0,",
     "28:47: error: 'links[0].count' is 0; expected 1 to 16777216", false},
    {"\"nvlink\"", "\"nvlin\"",
     "28:58: error: 'links[0].kind' is 'nvlin'; expected plain, nvlink, pcie or network", false},
    {"{\"efficiency\": 0.9}", "{\"efficiency\": 2}",
     "29:33: error: 'links[0].inSwitch.efficiency' is 2; expected 1e-06 to 1", false},
    {"{\"efficiency\": 0.9}", "true",
     "29:18: error: 'links[0].inSwitch' is true or false; expected "
     "an object",
     false},
    {"\"rails\": 4", "\"rails\": 5000",
     "30:124: error: 'links[1].rails' is 5000; expected 1 to "
     "1024",
     false},
    {"\"shared\": false", "\"shared\": \"no\"",
     "30:137: error: 'links[1].shared' is a text; expected true or false", false},
    {"\"all-reduce\", \"ranks\": 16", "\"all-gather\", \"ranks\": 16",
     "32:19: error: 'links[1].measured[1]' is the same collective and ranks as element 0", true},
    {"\"all-reduce\", \"ranks\": 16", "\"allreduce\", \"ranks\": 16",
     "32:34: error: 'links[1].measured[1].collective' is 'allreduce'; expected all-reduce, "
     "reduce-scatter, all-gather, all-to-all, broadcast, reduce, permute or send",
     false},
    {"\"all-reduce\", \"ranks\": 16", "\"all-reduce\", \"ranks\": 1",
     "32:57: error: 'links[1].measured[1].ranks' is 1; expected 2 to 16777216", false},
    {"{\"kind\": \"old\", \"count\": 3}", "{\"kind\": \"older\", \"count\": 3}",
     "36:14: error: 'nodes[0].kind' is 'older'; expected old or new", true},
    {"{\"kind\": \"old\", \"count\": 3}", "{\"kind\": \"old\"}",
     "36:5: error: 'nodes[0]' has no "
     "'count'",
     false},
    {"{\"kind\": \"old\", \"count\": 3}", "{\"kind\": \"old\", \"count\": 7}",
     "35:12: error: 'nodes' make 9 nodes; the counts of 'links' hold 8 below one core", true},
    {"{\"kind\": \"old\", \"count\": 3}", "{\"kind\": \"old\", \"count\": 16777216}",
     "36:30: error: 'nodes[0].count' brings the cluster to 134217728 devices; expected at most "
     "16777216",
     true},
    {"\"devices\": 4", "\"devices\": 9", "37:44: error: 'nodes[1].devices' is 9; expected 1 to 8",
     true},
    {"\"name\": \"host\"", "\"name\": \"hbm\"",
     "40:14: error: 'tiers[0].name' is 'hbm'; expected host, nvme or object", false},
    {"\"name\": \"object\"", "\"name\": \"host\"",
     "41:14: error: 'tiers[1].name' is 'host', as tiers[0]", true},
    {"\"per\": \"core\"", "\"per\": \"pod\"",
     "41:31: error: 'tiers[1].per' is 'pod', a level that no link leads to", true},
    {"\"latencySeconds\": 0.01}", "\"latencySeconds\": 0.01, \"x\": null}",
     "41:106: error: 'tiers[1].x' is no field here; expected name, per, bytes, bytesPerSecond, "
     "latencySeconds, source or deviceBytesPerSecond",
     false},
    {", \"latencySeconds\": 0.01}", "}", "41:5: error: 'tiers[1]' has no 'latencySeconds'", false},
};

static void checkWrong(const char *text, const json_t *schema) {
  for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); ++i) {
    char *edited = replace(text, wrong[i].from, wrong[i].to), *error = NULL;
    ShardCluster *cluster = shardClusterParse("c.json", edited, strlen(edited), 0, &error);
    check(!cluster, "taken", wrong[i].message);
    check(error && strncmp(error, "c.json:", 7) == 0 && strcmp(error + 7, wrong[i].message) == 0,
          "message", error);
    json_t *value = json_loads(edited, JSON_REJECT_DUPLICATES, NULL);
    check(schemaAccepts(schema, schema, value) == wrong[i].beyondSchema, "the schema, of",
          wrong[i].message);
    json_decref(value);
    shardClusterDestroy(cluster);
    free(error);
    free(edited);
  }
}

/// Edits that leave the file right; the schema must say so too.
static const struct {
  const char *from, *to;
} right[] = {
    {"\"version\": 1", "\"version\": 1.0"},
    {"\"count\": 8,", "\"count\": 8e0,"},
    {"\"devices\": 4", "\"devices\": 4.0"},
    {"\"rails\": 4", "\"rails\": 1024"},
    {", \"shared\": false", ""},
    {"\"reserve\": 0.25", "\"reserve\": 0"},
    {"\"derating\": 0.8", "\"derating\": 1"},
    {"\"derating\": 0.8", "\"derating\": 0.01"},
    {"40e9", "{\"value\": 40e9, \"measured\": false, \"source\": \"\\u00e9\"}"},
    {"\"launchSeconds\": 5e-6", "\"launchSeconds\": 0"},
    {"\"launchSeconds\": 5e-6, ", ""},
    {"[[1e6, 0.5], [1e8, 1]]", "[[1, 1e-6]]"},
    {"[[256, 128], [64, 64]]", "[[1, 65536]]"},
    {"{\"peak\": 1.5e12, \"achieved\": {\"value\": 1.2e12, \"measured\": true}}",
     "{\"achieved\": 1.2e12}"},
    {"\"latencySeconds\": 1e-6", "\"latencySeconds\": 0"},
    {"\"name\": \"two kinds\"", "\"name\": \"two kinds\", \"description\": \"\\\"\""},
};

static void checkStillRight(const char *text, const json_t *schema) {
  for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); ++i) {
    char *edited = replace(text, right[i].from, right[i].to), *error = NULL;
    ShardCluster *cluster = shardClusterParse("c.json", edited, strlen(edited), 0, &error);
    json_t *value = json_loads(edited, JSON_REJECT_DUPLICATES, NULL);
    bool accepted = schemaAccepts(schema, schema, value);
    check(cluster && accepted, accepted ? "refused" : "the schema refuses",
          error ? error : right[i].to);
    json_decref(value);
    shardClusterDestroy(cluster);
    free(error);
    free(edited);
  }
}

/// A text that is cut anywhere is refused with a place.
static void checkCut(const char *text) {
  size_t length = strlen(text);
  while (text[length - 1] == '\n')
    --length;
  for (size_t n = 0; n < length; ++n) {
    char *error = NULL;
    ShardCluster *cluster = shardClusterParse("c.json", text, n, 0, &error);
    check(!cluster && error && strncmp(error, "c.json:", 7) == 0 && strstr(error, ": error: "),
          "a file cut short", error);
    shardClusterDestroy(cluster);
    free(error);
  }
}

static void checkRight(const char *text, const json_t *schema) {
  char *error = NULL;
  json_t *value = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
  check(schemaAccepts(schema, schema, value), "the schema refuses the file", NULL);
  json_decref(value);
  ShardCluster *c = shardClusterParse("c.json", text, strlen(text), 0, &error);
  if (!c) {
    check(false, "refused", error);
    return;
  }
  check(c->nDevices == 32 && c->nNodes == 5 && c->nDeviceKinds == 2, "counts", NULL);
  check(strcmp(shardClusterDeviceKind(c, 23)->name, "old") == 0, "kind of 23", NULL);
  check(strcmp(shardClusterDeviceKind(c, 24)->name, "new") == 0, "kind of 24", NULL);
  check(!shardClusterDeviceKind(c, 32) && !shardClusterDeviceKind(c, -1), "out of range", NULL);
  check(shardClusterVertexOf(c, 27, SHARD_LEVEL_NODE) == 3, "node of 27", NULL);
  check(shardClusterVertexOf(c, 28, SHARD_LEVEL_NODE) == 4, "node of 28", NULL);
  check(shardClusterVertexOf(c, 28, SHARD_LEVEL_RACK) == 1, "rack of 28", NULL);
  check(shardClusterVertexOf(c, 28, SHARD_LEVEL_POD) == -1, "no pods", NULL);
  check(shardClusterVertexOf(c, 28, SHARD_LEVEL_CORE) == 0, "core of 28", NULL);
  check(shardClusterDistance(c, 3, 3) == 0 && shardClusterDistance(c, 0, 7) == 1 &&
            shardClusterDistance(c, 0, 8) == 10 && shardClusterDistance(c, 0, 28) == 100,
        "distances", NULL);
  const ShardDeviceKind *old = &c->deviceKinds[0], *new = &c->deviceKinds[1];
  checkNear(shardRateEffective(c, &old->memoryBytesPerSecond), 1.2e12, 1e-9, "achieved");
  checkNear(shardRateEffective(c, &old->flops[SHARD_RATE_F32]), 8e12, 1e-9, "derated");
  checkNear(shardRateEffective(c, &old->vectorFlops[SHARD_RATE_F32]), 5e12, 1e-9, "measured peak");
  checkNear(shardRateEffective(c, &new->flops[SHARD_RATE_F16]), 400e12, 1e-9, "achieved alone");
  check(!new->hasFlops[SHARD_RATE_F32] && !new->hasVectorFlops[SHARD_RATE_F16], "not given", NULL);
  check(old->tiles.units == 4 && old->tiles.nSizes == 2 && old->tiles.sizes[1][0] == 64 &&
            strcmp(old->tiles.source, "a guide") == 0 && new->tiles.units == 0,
        "tiles", NULL);
  check(strcmp(old->flops[SHARD_RATE_F16].peak.source, "the old maker") == 0 &&
            strcmp(old->efficiency[SHARD_RATE_F16].source, "a bench") == 0,
        "sources", NULL);
  checkNear(shardCurveEvaluate(&old->efficiency[SHARD_RATE_F16], 1e8), 0.55, 1e-9,
            "between points");
  checkNear(shardCurveEvaluate(&old->efficiency[SHARD_RATE_F16], 1), 0.1, 1e-9, "below the points");
  checkNear(shardCurveEvaluate(&old->efficiency[SHARD_RATE_F16], 1e12), 1, 1e-9,
            "above the points");
  checkNear(shardCurveEvaluate(&old->efficiency[SHARD_RATE_F32], 1), 1, 1e-9, "no points");
  const ShardShapeGrid *grid = &new->shapes[SHARD_RATE_F16];
  const double corner[] = {1, 8, 1}, middle[] = {10, 64, 100}, beyond[] = {1000, 64, 1e6};
  checkNear(shardShapeGridEvaluate(grid, corner), 0.1, 1e-9, "first shape");
  checkNear(shardShapeGridEvaluate(grid, middle), (0.1 + 0.5 + 0.3 + 1) / 4, 1e-9,
            "between shapes");
  checkNear(shardShapeGridEvaluate(grid, beyond), 1, 1e-9, "beyond all shapes");
  check(old->hasFunctions[SHARD_RATE_F32][SHARD_FUNCTION_EXP] &&
            !old->hasFunctions[SHARD_RATE_F32][SHARD_FUNCTION_ERF] && old->allBusy.devices == 8,
        "functions", NULL);
  checkNear(shardClusterUsableBytes(c, old), 30e9, 1e-9, "usable bytes");
  checkNear(shardClusterFailuresPerDay(c), 0.024, 1e-9, "failures a day");
  check(c->links[1].nMeasured == 2 && c->links[1].measured[0].kind == SHARD_COLLECTIVE_ALL_REDUCE,
        "measured, sorted", NULL);
  check(!c->algorithms[SHARD_ALGORITHM_TREE] && c->algorithms[SHARD_ALGORITHM_DIRECT], "algorithms",
        NULL);
  char *json = shardClusterFormatJson(c), *shown = shardClusterFormatText(c);
  ShardCluster *again = shardClusterParse("again", json, strlen(json), 0, &error);
  char *shownAgain = again ? shardClusterFormatText(again) : NULL;
  check(shownAgain && strcmp(shown, shownAgain) == 0, "read back", error);
  free(shown);
  free(shownAgain);
  free(json);
  shardClusterDestroy(again);
  shardClusterDestroy(c);
  check(!shardClusterParse("c.json", text, strlen(text), 16, &error) &&
            strcmp(error, "c.json:35:12: error: 'nodes' has 2 entries; ':16' scales nodes of one "
                          "kind") == 0,
        "scaled", error);
  free(error);
}

/// Every number with a unit stands in, or below, an object that names its source.
static void checkSources(const json_t *value, bool sourced, const char *preset, const char *path) {
  static const char *const figures[] = {"memoryBytes",
                                        "bytes",
                                        "bytesPerSecond",
                                        "latencySeconds",
                                        "deviceBytesPerSecond",
                                        "memoryBytesPerSecond",
                                        "launchSeconds",
                                        "failuresPerDay",
                                        "points",
                                        "efficiency",
                                        "linkBytesPerSecond",
                                        "flops",
                                        "vectorFlops",
                                        "functions"};
  const char *key;
  json_t *field;
  if (json_is_array(value)) {
    for (size_t i = 0; i < json_array_size(value); ++i)
      checkSources(json_array_get(value, i), sourced, preset, path);
    return;
  }
  json_object_foreach((json_t *)value, key, field) {
    bool figure = false;
    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); ++i)
      figure |= strcmp(key, figures[i]) == 0 || strcmp(path, figures[i]) == 0;
    bool here = sourced || json_object_get(value, "source") != NULL;
    if (figure && json_is_number(field)) {
      char *detail = NULL;
      if (asprintf(&detail, "%s: %s.%s", preset, path, key) > 0)
        check(here, "a figure without a source", detail);
      free(detail);
    }
    checkSources(field, here, preset, key);
  }
}

/// Numbers that need all their digits keep them.
static void checkDigits(const char *text) {
  char *edited = replace(text, "40e9", "40000000000.000008"), *error = NULL;
  ShardCluster *cluster = shardClusterParse("c.json", edited, strlen(edited), 0, &error);
  char *json = shardClusterFormatJson(cluster);
  ShardCluster *again = shardClusterParse("again", json, strlen(json), 0, &error);
  check(again && again->deviceKinds[0].memoryBytes.value == 40000000000.000008, "digits", error);
  shardClusterDestroy(again);
  shardClusterDestroy(cluster);
  free(json);
  free(edited);
}

static void checkPresets(const json_t *schema) {
  static const struct {
    const char *name;
    int64_t devices, scaled;
  } presets[] = {{"laptop", 8, 4},           {"dgx-a100", 8, 10240},
                 {"dgx-h100", 8, 16384},     {"h200", 8, 512},
                 {"gb200-nvl72", 72, 36864}, {"fat-tree-100-400-800", 2048, 1024}};
  check(shardClusterPresetGetCount() == 6 && !shardClusterPresetGetName(6) &&
            !shardClusterPresetGetName(-1),
        "six presets", NULL);
  for (size_t i = 0; i < 6; ++i) {
    char *error = NULL, *spec = NULL;
    ShardCluster *cluster = shardClusterCreate(presets[i].name, &error);
    check(cluster && cluster->nDevices == presets[i].devices &&
              strcmp(cluster->name, presets[i].name) == 0,
          presets[i].name, error);
    if (!cluster)
      continue;
    char *json = shardClusterFormatJson(cluster);
    json_t *value = json_loads(json, JSON_REJECT_DUPLICATES, NULL);
    check(schemaAccepts(schema, schema, value), "the schema refuses", presets[i].name);
    checkSources(value, false, presets[i].name, "");
    json_decref(value);
    free(json);
    shardClusterDestroy(cluster);
    if (asprintf(&spec, "%s:%d", presets[i].name, (int)presets[i].scaled) < 0)
      continue;
    cluster = shardClusterCreate(spec, &error);
    check(cluster && cluster->nDevices == presets[i].scaled, spec, error);
    shardClusterDestroy(cluster);
    free(spec);
  }
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: shard-cluster-file SCHEMA FILE\n");
    return 2;
  }
  json_error_t error;
  json_t *schema = json_load_file(argv[1], JSON_REJECT_DUPLICATES, &error);
  if (!schema) {
    fprintf(stderr, "%s:%d: %s\n", argv[1], error.line, error.text);
    return 1;
  }
  char *text = readFile(argv[2]);
  checkRight(text, schema);
  checkWrong(text, schema);
  checkStillRight(text, schema);
  checkCut(text);
  checkDigits(text);
  checkPresets(schema);
  free(text);
  json_decref(schema);
  printf("%d checks, %d failures\n", nChecks, nFailures);
  return nFailures != 0;
}
