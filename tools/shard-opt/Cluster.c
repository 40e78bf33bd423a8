//===- Cluster.c - shard-opt --cluster ----------------------------*- C -*-===//
#include "Cluster.h"

#include "../common/OutputFile.h"

#include "shard/Cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool shardOptAsksCluster(const ShardOptOptions *options) {
  return options->cluster || options->printCluster;
}

static int fail(const char *message) {
  // A message with a place of its own has the form already.
  fprintf(stderr, "%s%s\n", strstr(message, ": error: ") ? "" : "shard-opt: error: ", message);
  return 1;
}

static int write(const ShardOptOptions *options, const char *text) {
  ShardOutputFile file;
  char message[512];
  if (!text)
    return fail("out of memory");
  if (!shardOutputFileOpen(options->output, &file, message, sizeof(message)))
    return fail(message);
  fputs(text, file.stream);
  return shardOutputFileCommit(&file, message, sizeof(message)) ? 0 : fail(message);
}

int shardOptRunCluster(const ShardOptOptions *options) {
  char message[512];
  if (!options->cluster)
    return fail("'--print-cluster' needs a cluster: --cluster=FILE|PRESET[:DEVICES]");
  if (!options->printCluster)
    return fail("'--cluster' is read by --print-cluster only; no pass uses it yet");
  if (options->inputGiven || options->degrees || options->nForeign) {
    snprintf(message, sizeof(message), "'--print-cluster' takes no model; it does not go with '%s'",
             options->degrees    ? "--auto-shard"
             : options->nForeign ? "mlir-opt's options"
                                 : options->input);
    return fail(message);
  }
  char *error = NULL;
  ShardCluster *cluster = shardClusterCreate(options->cluster, &error);
  if (!cluster) {
    int status = fail(error ? error : "out of memory");
    free(error);
    return status;
  }
  char *text = strcmp(options->printCluster, "json") == 0 ? shardClusterFormatJson(cluster)
                                                          : shardClusterFormatText(cluster);
  int status = write(options, text);
  free(text);
  shardClusterDestroy(cluster);
  return status;
}
