//===- Cluster.c - shard-opt --cluster ----------------------------*- C -*-===//
#define _GNU_SOURCE
#include "Cluster.h"

#include "ExplainCost.h"
#include "OptionTable.h"

#include "../common/OutputFile.h"

#include "shard/Cluster.h"

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

static bool checkOptions(const ShardOptOptions *options) {
  const char *asked = options->printCluster ? "print-cluster" : "explain-cost";
  if (shardOptListsCosts(options))
    return true;
  if (!options->cluster)
    return shardOptFail("'--%s' needs a cluster: --cluster=FILE|PRESET[:DEVICES]", asked);
  if (!options->printCluster && !options->explainCost)
    return shardOptFail("'--cluster' goes with --print-cluster, --explain-cost, --simulate, "
                        "--analyse, --report and --trace");
  if (options->printCluster && options->explainCost)
    return shardOptFail("'--print-cluster' does not go with --explain-cost");
  static const OptionId taken[] = {ID_CLUSTER, ID_PRINT_CLUSTER, ID_EXPLAIN_COST, ID_OUTPUT,
                                   ID_QUIET};
  const char *other = shardOptFirstBeside(options, sizeof taken / sizeof taken[0], taken);
  if (options->inputGiven || options->nForeign || other)
    return shardOptFail("'--%s' takes no model; it does not go with '%s%s'", asked,
                        other ? "--" : "",
                        other               ? other
                        : options->nForeign ? "mlir-opt's options"
                                            : options->input);
  return true;
}

int shardOptRunCluster(const ShardOptOptions *options) {
  char *error = NULL;
  if (!checkOptions(options))
    return 1;
  if (shardOptListsCosts(options))
    return !shardOptWriteCostHelp(options);
  ShardCluster *cluster = shardClusterCreate(options->cluster, &error);
  if (!cluster)
    return !shardOptFailOwned(error);
  bool ok = options->explainCost
                ? shardOptExplainCost(options, cluster)
                : shardOptWriteText(options, strcmp(options->printCluster, "json") == 0
                                                 ? shardClusterFormatJson(cluster)
                                                 : shardClusterFormatText(cluster));
  shardClusterDestroy(cluster);
  return !ok;
}
