//===- Cluster.c - shard-opt --cluster ----------------------------*- C -*-===//
#define _GNU_SOURCE
#include "Cluster.h"

#include "../common/OutputFile.h"

#include "shard/Cost.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool shardOptAsksCluster(const ShardOptOptions *options) {
  bool ofProgram = options->nReports || options->trace;
  return !options->simulate && !options->analyse &&
         (options->printCluster || options->explainCost || (options->cluster && !ofProgram));
}

bool shardOptFail(const char *format, ...) {
  char *message = NULL;
  va_list arguments;
  va_start(arguments, format);
  if (vasprintf(&message, format, arguments) < 0)
    message = NULL;
  va_end(arguments);
  // A message with a place of its own has the form already.
  bool placed = message && strstr(message, ": error: ");
  fprintf(stderr, "%s%s\n",
          placed ? "" : "shard-opt: error: ", message ? message : "out of memory");
  free(message);
  return false;
}

bool shardOptFailOwned(char *message) {
  shardOptFail("%s", message ? message : "out of memory");
  free(message);
  return false;
}

bool shardOptWriteText(const ShardOptOptions *options, char *text) {
  ShardOutputFile file;
  char message[512];
  bool ok = text != NULL;
  if (!ok)
    return shardOptFail("out of memory");
  ok = shardOutputFileOpen(options->output, &file, message, sizeof(message));
  if (ok) {
    fputs(text, file.stream);
    ok = shardOutputFileCommit(&file, message, sizeof(message));
  }
  free(text);
  return ok || shardOptFail("%s", message);
}

//===----------------------------------------------------------------------===//
// --explain-cost=KIND:bytes=N,ranks=N,stride=N
//===----------------------------------------------------------------------===//

typedef struct CostQuestion {
  ShardCollectiveKind kind;
  int64_t bytes, ranks, stride; // 0: not given
} CostQuestion;

static bool parseKind(const char *text, size_t length, ShardCollectiveKind *out) {
  char names[256] = "";
  for (int k = 0; k < SHARD_N_COLLECTIVE_KINDS; ++k) {
    const char *name = shardClusterCollectiveName((ShardCollectiveKind)k);
    size_t used = strlen(names);
    snprintf(names + used, sizeof(names) - used, "%s%s", k ? ", " : "", name);
    *out = (ShardCollectiveKind)k;
    if (strlen(name) == length && memcmp(name, text, length) == 0)
      return true;
  }
  return shardOptFail("'--explain-cost': no collective '%.*s'; expected one of %s", (int)length,
                      text, names);
}

/// A whole number, 25e9 as well.
static bool parseNumber(const char *text, size_t length, int64_t *out) {
  char copy[32], *end;
  if (length >= sizeof(copy) || length == 0 || text[0] < '0' || text[0] > '9')
    return false;
  memcpy(copy, text, length);
  copy[length] = 0;
  double value = strtod(copy, &end);
  *out = value >= 1 && value <= 1e15 ? (int64_t)value : 0;
  return !*end && *out && (double)*out == value;
}

static bool parseQuestion(const char *text, CostQuestion *out) {
  *out = (CostQuestion){.kind = SHARD_COLLECTIVE_ALL_REDUCE};
  const char *colon = strchr(text, ':');
  if (!parseKind(text, colon ? (size_t)(colon - text) : strlen(text), &out->kind))
    return false;
  static const char *const names[] = {"bytes", "ranks", "stride"};
  int64_t *const fields[] = {&out->bytes, &out->ranks, &out->stride};
  for (const char *p = colon ? colon + 1 : ""; *p;) {
    size_t length = strcspn(p, ","), name = strcspn(p, "=,");
    int which = -1;
    for (int i = 0; i < 3; ++i)
      if (strlen(names[i]) == name && memcmp(names[i], p, name) == 0)
        which = i;
    if (which < 0)
      return shardOptFail("'--explain-cost': unknown '%.*s'; expected bytes, ranks or stride",
                          (int)name, p);
    if (*fields[which])
      return shardOptFail("'--explain-cost': '%s' is given twice", names[which]);
    if (name == length || !parseNumber(p + name + 1, length - name - 1, fields[which]))
      return shardOptFail("'--explain-cost': '%.*s' is not a number from 1 to 1e15", (int)length,
                          p);
    p += length + (p[length] == ',');
  }
  if (!out->bytes || !out->ranks)
    return shardOptFail("'--explain-cost' needs bytes and ranks: all-reduce:bytes=25e9,ranks=8");
  out->stride = out->stride ? out->stride : 1;
  return true;
}

static bool explainCost(const ShardOptOptions *options, const ShardCluster *cluster) {
  CostQuestion question;
  char *error = NULL;
  if (!parseQuestion(options->explainCost, &question))
    return false;
  if (question.ranks > cluster->nDevices / question.stride)
    return shardOptFail("'--explain-cost': %" PRId64 " ranks, %" PRId64
                        " devices apart, on a cluster of %" PRId64 " devices",
                        question.ranks, question.stride, cluster->nDevices);
  const int64_t sizes[] = {question.ranks, question.stride};
  ShardGroups *groups = shardGroupsCreateForAxes(cluster, 2, sizes, 1, NULL, &error);
  if (!groups)
    return shardOptFailOwned(error);
  bool ok =
      shardOptWriteText(options, shardCollectiveExplain(groups, question.kind, question.bytes));
  shardGroupsDestroy(groups);
  return ok;
}

static bool checkOptions(const ShardOptOptions *options) {
  const char *asked = options->printCluster ? "print-cluster" : "explain-cost";
  if (!options->cluster)
    return shardOptFail("'--%s' needs a cluster: --cluster=FILE|PRESET[:DEVICES]", asked);
  if (!options->printCluster && !options->explainCost)
    return shardOptFail("'--cluster' is read by --print-cluster, --explain-cost, --simulate, "
                        "--analyse, --report and "
                        "--trace only; no pass uses it yet");
  if (options->printCluster && options->explainCost)
    return shardOptFail("'--print-cluster' does not go with --explain-cost");
  if (options->inputGiven || options->degrees || options->nForeign || options->nReports ||
      options->trace)
    return shardOptFail("'--%s' takes no model; it does not go with '%s'", asked,
                        options->degrees      ? "--auto-shard"
                        : options->nForeign   ? "mlir-opt's options"
                        : options->inputGiven ? options->input
                        : options->nReports   ? "--report"
                                              : "--trace");
  return true;
}

int shardOptRunCluster(const ShardOptOptions *options) {
  char *error = NULL;
  if (!checkOptions(options))
    return 1;
  ShardCluster *cluster = shardClusterCreate(options->cluster, &error);
  if (!cluster)
    return !shardOptFailOwned(error);
  bool ok = options->explainCost
                ? explainCost(options, cluster)
                : shardOptWriteText(options, strcmp(options->printCluster, "json") == 0
                                                 ? shardClusterFormatJson(cluster)
                                                 : shardClusterFormatText(cluster));
  shardClusterDestroy(cluster);
  return !ok;
}
