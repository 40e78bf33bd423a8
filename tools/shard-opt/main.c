//===- main.c - shard-opt -----------------------------------------*- C -*-===//
// With --auto-shard and its kin a driver in C; everything else is mlir-opt with our passes. Where
// both are asked for, --auto-shard becomes the pipeline shard-auto of mlir-opt.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "Cluster.h"
#include "Driver.h"
#include "MlirOpt.h"
#include "Options.h"
#include "RankFilesOptions.h"

#include "../common/OutputFile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool addPart(char **text, const char *name, const char *value) {
  if (!value)
    return true;
  char *joined;
  if (asprintf(&joined, "%s%s%s={%s}", *text ? *text : "--shard-auto=", *text ? " " : "", name,
               value) < 0)
    return false;
  free(*text);
  *text = joined;
  return true;
}

// The command line for mlir-opt's part. Its elements live until the end of the process.
static int runMlirOpt(const ShardOptOptions *options, char **argv, ShardInputFile *input) {
  char *sharding = NULL;
  if (!addPart(&sharding, "degrees", options->degrees) ||
      !addPart(&sharding, "function", options->function) ||
      !addPart(&sharding, "args", options->args) ||
      !addPart(&sharding, "annotations", options->annotations) ||
      !addPart(&sharding, "dims", options->dims) ||
      !addPart(&sharding, "results", options->splitResults ? "split" : NULL) ||
      !addPart(&sharding, "rules", options->rules) ||
      !addPart(&sharding, "no-implicit-replication",
               options->noImplicitReplication ? "true" : NULL))
    return 1;
  if (options->needsDriver || (sharding && !options->degrees)) {
    char **check = calloc((size_t)options->nRest + 2, sizeof *check);
    if (!check)
      return 1;
    check[0] = argv[0];
    for (int i = 0; i < options->nRest; ++i)
      check[i + 1] = options->rest[i];
    int status = shardMlirOptCheck(options->nRest + 1, check); // is it an option at all?
    free(check);
    if (status >= 0)
      return status;
    const char *foreign = "";
    for (int i = 0; i < options->nRest && !*foreign; ++i)
      foreign = *options->rest[i] == '-' ? options->rest[i] : "";
    fprintf(stderr, "shard-opt: error: '--%s' does not go with mlir-opt's '%s'\n",
            options->needsDriver ? options->needsDriver : "auto-shard's options", foreign);
    free(sharding);
    return 1;
  }
  char **line = calloc((size_t)options->nRest + 8, sizeof *line);
  if (!line)
    return 1;
  int n = 0;
  line[n++] = argv[0];
  for (int i = 0; i <= options->nRest; ++i) {
    if (sharding && i == options->degreesPlace)
      line[n++] = sharding;
    if (i < options->nRest)
      line[n++] = options->rest[i];
  }
  if (options->debugInfo)
    line[n++] = (char *)"--mlir-print-debuginfo";
  if (options->bytecode)
    line[n++] = (char *)"--emit-bytecode";
  if (options->outputGiven) {
    line[n++] = (char *)"-o";
    line[n++] = (char *)options->output;
  }
  int status = shardMlirOptMain(n, line, input);
  free(line);
  free(sharding);
  return status;
}

static int runTool(const ShardOptOptions *options, char **argv) {
  if (options->help)
    return shardOptPrintHelp(), 0;
  if (options->version)
    return shardOptPrintVersion(), 0;
  if (options->listPasses)
    return shardOptPrintPasses(), 0;
  if (options->reference)
    return shardOptPrintReference(), 0;
  if (options->joinWeights)
    return shardOptJoin(options);
  if (shardOptAsksCluster(options))
    return shardOptRunCluster(options);
  if (options->nForeign)
    return runMlirOpt(options, argv, NULL);
  bool asksDriver = options->degrees || options->function || options->args ||
                    options->annotations || options->dims || options->resultsGiven ||
                    options->stopAfter || options->needsDriver;
  if (asksDriver)
    return shardOptDrive(options, NULL);
  // Nothing but files: a stopped run goes on, anything else is mlir-opt's round trip.
  ShardInputFile input;
  char message[512];
  shardOptWarnTerminal(options->input);
  if (!shardInputFileRead(options->input, &input, message, sizeof message)) {
    fprintf(stderr, "shard-opt: error: %s\n", message);
    return 1;
  }
  int status = shardOptInputIsStopped(&input) ? shardOptDrive(options, &input) : -1;
  if (status < 0)
    return runMlirOpt(options, argv, &input); // which releases the input
  shardInputFileRelease(&input);
  return status;
}

int main(int argc, char **argv) {
  shardOutputFilesGuard();
  ShardOptOptions options;
  int status = shardOptOptionsParse(argc, argv, &options) ? runTool(&options, argv) : 1;
  shardOptOptionsRelease(&options);
  return status;
}
