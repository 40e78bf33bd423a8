//===- Options.c - The command line of shard-opt ------------------*- C -*-===//
#define _GNU_SOURCE

#include "Options.h"
#include "Memory.h"
#include "OptionTable.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void shardOptError(const char *format, va_list arguments) {
  fputs("shard-opt: error: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
}

bool shardOptReject(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  shardOptError(format, arguments);
  va_end(arguments);
  return false;
}

static int findOption(const char *name, size_t length) {
  for (int i = 0; i < nOptionIds; ++i)
    if (strlen(shardOptOptionTable[i].name) == length &&
        memcmp(shardOptOptionTable[i].name, name, length) == 0)
      return i;
  if (length == 1 && *name == 'h')
    return ID_HELP;
  return -1;
}

static bool setOnce(const char *option, const char **field, const char *value) {
  if (*field)
    return shardOptReject("'--%s' is given twice: '%s' and '%s'", option, *field, value);
  *field = value;
  return true;
}

// All values of a repeatable option, separated by commas.
static bool appendText(char **list, const char *value) {
  char *joined;
  if (asprintf(&joined, "%s%s%s", *list ? *list : "", *list ? "," : "", value) < 0)
    return shardOptReject("out of memory");
  free(*list);
  *list = joined;
  return true;
}

static bool hasSuffix(const char *text, const char *suffix) {
  size_t length = strlen(text), n = strlen(suffix);
  return length > n && strcmp(text + length - n, suffix) == 0;
}

static bool parseEmit(const char *value, ShardOptEmit *out) {
  static const char *const names[] = {[SHARD_OPT_EMIT_MLIR] = "mlir",
                                      [SHARD_OPT_EMIT_BUFFERS] = "buffers",
                                      [SHARD_OPT_EMIT_LLVM] = "llvm",
                                      [SHARD_OPT_EMIT_OBJECT] = "object",
                                      [SHARD_OPT_EMIT_SHARED] = "shared"};
  for (int i = 0; i < (int)(sizeof names / sizeof names[0]); ++i)
    if (strcmp(value, names[i]) == 0) {
      *out = (ShardOptEmit)i;
      return true;
    }
  return shardOptReject("'--emit' is mlir, buffers, llvm, object or shared, not '%s'", value);
}

static bool parseStage(const char *value, int64_t *out) {
  char *end;
  errno = 0;
  long long number = strtoll(value, &end, 10);
  if (*value < '0' || *value > '9' || *end || errno || number > INT32_MAX)
    return shardOptReject("'--stage' takes a number from 0, not '%s'", value);
  *out = number;
  return true;
}

static bool parseBytes(const char *value, int64_t *out) {
  char *end;
  errno = 0;
  long long number = strtoll(value, &end, 10);
  if (*value < '0' || *value > '9' || *end || errno)
    return shardOptReject("'--max-comm-bytes' takes a number of bytes, not '%s'", value);
  *out = number;
  return true;
}

static bool parseMemory(const char *value, int64_t *out) {
  *out = shardOptParseMemory(value);
  return *out >= 0 ||
         shardOptReject("'--memory-limit' takes bytes, such as 4096, 80GB or 1.5GiB, not '%s'",
                        value);
}

static bool parseParameters(const char *value, double *out) {
  char *end;
  double number = strtod(value, &end);
  if (*value < '0' || *value > '9' || *end || !(number >= 1 && number <= 1e18))
    return shardOptReject("'--target-parameters' takes a number from 1 to 1e18, not '%s'", value);
  *out = number;
  return true;
}

static bool setValue(ShardOptOptions *options, int id, const char *value) {
  const char *name = shardOptOptionTable[id].name;
  if (shardOptOptionTable[id].kind != OPTION_FLAG &&
      shardOptOptionTable[id].kind != OPTION_OPTIONAL_TEXT && !*value)
    return shardOptReject("'--%s' needs a value: --%s=%s", name, name,
                          shardOptOptionTable[id].value);
  switch ((OptionId)id) {
  case ID_AUTO_SHARD:
    return setOnce(name, &options->degrees, *value ? value : "auto");
  case ID_FUNCTION:
    return setOnce(name, &options->function, *value == '@' ? value + 1 : value);
  case ID_ARGS:
    return setOnce(name, &options->args, value);
  case ID_ANNOTATIONS:
    return setOnce(name, &options->annotations, value);
  case ID_DUMP_ANNOTATIONS:
    return setOnce(name, &options->dumpAnnotations, value);
  case ID_EXTRACT_WEIGHTS:
    return setOnce(name, &options->extractWeights, value);
  case ID_FORBID:
    return appendText(&options->forbid, value);
  case ID_SILENCE:
    return appendText(&options->silence, value);
  case ID_ERROR:
    return appendText(&options->error, value);
  case ID_THRESHOLD:
    return appendText(&options->threshold, value);
  case ID_BUDGET:
    return setOnce(name, &options->budget, value);
  case ID_ASSUME_OVERLAP:
    return setOnce(name, &options->assumedOverlap, value);
  case ID_CHECKPOINT_INTERVAL:
    return setOnce(name, &options->checkpointInterval, value);
  case ID_MAX_COMM_BYTES:
    if (options->maxCommBytes >= 0)
      return shardOptReject("'--max-comm-bytes' is given twice");
    return parseBytes(value, &options->maxCommBytes);
  case ID_NO_IMPLICIT_COMM:
    return options->noImplicitComm = true;
  case ID_EXPLAIN:
    return options->explain = true;
  case ID_SPLIT_WEIGHTS:
    return setOnce(name, &options->splitWeights, value);
  case ID_JOIN_WEIGHTS:
    return setOnce(name, &options->joinWeights, value);
  case ID_CLUSTER:
    return setOnce(name, &options->cluster, value);
  case ID_EXPLAIN_COST:
    return setOnce(name, &options->explainCost, value);
  case ID_PRINT_CLUSTER:
    if (*value && strcmp(value, "text") != 0 && strcmp(value, "json") != 0)
      return shardOptReject("'--print-cluster' is text or json, not '%s'", value);
    return setOnce(name, &options->printCluster, *value ? value : "text");
  case ID_SIMULATE:
    if (*value && strcmp(value, "text") != 0 && strcmp(value, "json") != 0)
      return shardOptReject("'--simulate' is text or json, not '%s'", value);
    return setOnce(name, &options->simulate, *value ? value : "text");
  case ID_TRACE:
    return setOnce(name, &options->trace, value);
  case ID_ANALYSE:
    if (*value && strcmp(value, "text") != 0 && strcmp(value, "json") != 0)
      return shardOptReject("'--analyse' is text or json, not '%s'", value);
    return setOnce(name, &options->analyse, *value ? value : "text");
  case ID_MEMORY_PLAN:
    if (*value && strcmp(value, "text") != 0 && strcmp(value, "json") != 0)
      return shardOptReject("'--memory-plan' is text or json, not '%s'", value);
    return setOnce(name, &options->memoryPlan, *value ? value : "text");
  case ID_MEMORY_LIMIT:
    if (options->memoryLimit >= 0)
      return shardOptReject("'--memory-limit' is given twice");
    return parseMemory(value, &options->memoryLimit);
  case ID_TARGET_PARAMETERS:
    if (options->targetParameters > 0)
      return shardOptReject("'--target-parameters' is given twice");
    return parseParameters(value, &options->targetParameters);
  case ID_STOP_AFTER:
    return setOnce(name, &options->stopAfter, value);
  case ID_MCPU:
    return setOnce(name, &options->mcpu, value);
  case ID_RESULTS:
    options->splitResults = strcmp(value, "split") == 0;
    if (!options->splitResults && strcmp(value, "whole") != 0)
      return shardOptReject("'--results' is whole or split, not '%s'", value);
    if (options->resultsGiven)
      return shardOptReject("'--results' is given twice");
    options->resultsGiven = true;
    return true;
  case ID_RULES:
    return setOnce(name, &options->rules, value);
  case ID_NO_REPLICATION:
    return options->noImplicitReplication = true;
  case ID_DIM:
    return appendText(&options->dims, value);
  case ID_DIM_BUCKETS:
    return setOnce(name, &options->buckets, value);
  case ID_EMIT:
    if (options->emitGiven)
      return shardOptReject("'--emit' is given twice");
    options->emitGiven = true;
    return parseEmit(value, &options->emit);
  case ID_STAGE:
    if (options->stage >= 0)
      return shardOptReject("'--stage' is given twice");
    return parseStage(value, &options->stage);
  case ID_OUTPUT:
    if (options->outputGiven)
      return shardOptReject("'-o' is given twice: '%s' and '%s'", options->output, value);
    options->outputGiven = true;
    options->output = value;
    return true;
  case ID_REPORT:
    if (!hasSuffix(value, ".html") && !hasSuffix(value, ".json") && !hasSuffix(value, ".txt"))
      return shardOptReject(
          "'--report' writes FILE.html, FILE.json or FILE.txt; '%s' ends in none of them", value);
    for (int i = 0; i < options->nReports; ++i)
      if (strcmp(options->reports[i], value) == 0)
        return shardOptReject("'--report=%s' is given twice", value);
    options->reports[options->nReports++] = value;
    return true;
  case ID_DEBUG_INFO:
    return options->debugInfo = true;
  case ID_BYTECODE:
    return options->bytecode = true;
  case ID_VERIFY_EACH:
    return options->verifyEach = true;
  case ID_QUIET:
    return options->quiet = true;
  case ID_LIST_PASSES:
    return options->listPasses = true;
  case ID_REFERENCE:
    return options->reference = true;
  case ID_VERSION:
    return options->version = true;
  case ID_HELP:
    return options->help = true;
  case nOptionIds:
    break;
  }
  return false;
}

bool shardOptOptionsParse(int argc, char **argv, ShardOptOptions *options) {
  *options = (ShardOptOptions){
      .input = "-", .output = "-", .stage = -1, .maxCommBytes = -1, .memoryLimit = -1};
  options->reports = calloc((size_t)argc + 1, sizeof *options->reports);
  options->rest = calloc((size_t)argc + 1, sizeof *options->rest);
  if (!options->reports || !options->rest)
    return shardOptReject("out of memory");
  const char *secondInput = NULL;
  bool inputGiven = false, onlyFiles = false;
  for (int i = 1; i < argc; ++i) {
    char *argument = argv[i];
    if (!onlyFiles && strcmp(argument, "--") == 0) {
      onlyFiles = true;
      continue;
    }
    if (onlyFiles || *argument != '-' || !argument[1]) {
      if (!*argument)
        return shardOptReject("an argument is empty; expected an input file");
      options->rest[options->nRest++] = argument;
      if (inputGiven && !secondInput)
        secondInput = argument;
      if (!inputGiven)
        options->input = argument;
      options->inputGiven = inputGiven = true;
      continue;
    }
    const char *name = argument + 1 + (argument[1] == '-');
    const char *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    if (!equals && strcmp(name, "mlir-disable-threading") == 0) { // either part can do that
      options->rest[options->nRest++] = argument;
      options->oneThread = true;
      continue;
    }
    int id = findOption(name, length);
    if (id < 0) {
      options->rest[options->nRest++] = argument;
      ++options->nForeign;
      continue;
    }
    OptionKind kind = shardOptOptionTable[id].kind;
    const char *value = equals ? equals + 1 : "";
    if (kind == OPTION_FLAG && equals)
      return shardOptReject("'--%s' takes no value; got '%s'", shardOptOptionTable[id].name, value);
    if ((kind == OPTION_TEXT || kind == OPTION_TEXT_LIST) && !equals) {
      if (i + 1 == argc)
        return shardOptReject("'%s' needs a value: %s%s%s", argument, argument,
                              id == ID_OUTPUT ? " " : "=", shardOptOptionTable[id].value);
      value = argv[++i];
    }
    if (id == ID_AUTO_SHARD && equals && !*value)
      return shardOptReject("'--auto-shard=' has an empty list; expected degrees such as tp8,pp16");
    if (!setValue(options, id, value))
      return false;
    options->given |= UINT64_C(1) << id;
    if (id == ID_AUTO_SHARD)
      options->degreesPlace = options->nRest;
    if (shardOptOptionTable[id].driverOnly && !options->needsDriver)
      options->needsDriver = shardOptOptionTable[id].name;
  }
  if (secondInput && !options->nForeign)
    return shardOptReject("two input files are given: '%s' and '%s'%s", options->input, secondInput,
                          options->degrees && strcmp(options->degrees, "auto") == 0
                              ? "; degrees follow '=', as in --auto-shard=tp8,pp16"
                              : "");
  return true;
}

const char *shardOptFirstBeside(const ShardOptOptions *options, size_t nTaken,
                                const OptionId *taken) {
  _Static_assert(nOptionIds <= 64, "a bit each");
  uint64_t others = options->given;
  for (size_t i = 0; i < nTaken; ++i)
    others &= ~(UINT64_C(1) << taken[i]);
  return others ? shardOptOptionTable[__builtin_ctzll(others)].name : NULL;
}

const char *shardOptProgramOption(const ShardOptOptions *options) {
  return options->emitGiven        ? "emit"
         : options->stopAfter      ? "stop-after"
         : options->stage >= 0     ? "stage"
         : options->bytecode       ? "emit-bytecode"
         : options->splitWeights   ? "split-weights"
         : options->extractWeights ? "extract-weights"
                                   : NULL;
}

void shardOptOptionsRelease(ShardOptOptions *options) {
  free(options->dims);
  free(options->forbid);
  free(options->silence);
  free(options->error);
  free(options->threshold);
  free(options->reports);
  free(options->rest);
}
