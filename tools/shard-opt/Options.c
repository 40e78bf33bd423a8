//===- Options.c - The command line of shard-opt ------------------*- C -*-===//
#define _GNU_SOURCE
#include "Options.h"

#include "ExplainCost.h"

#include "shard/Passes.h"
#include "shard/Pipelines.h"
#include "shard/Version.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef enum OptionKind {
  OPTION_FLAG,
  OPTION_TEXT,
  OPTION_OPTIONAL_TEXT, // only with '='
  OPTION_TEXT_LIST,     // repeatable
} OptionKind;

typedef enum OptionId {
  ID_AUTO_SHARD,
  ID_FUNCTION,
  ID_ARGS,
  ID_ANNOTATIONS,
  ID_RESULTS,
  ID_DIM,
  ID_RULES,
  ID_NO_REPLICATION,
  ID_FORBID,
  ID_MAX_COMM_BYTES,
  ID_NO_IMPLICIT_COMM,
  ID_EXPLAIN,
  ID_STOP_AFTER,
  ID_EMIT,
  ID_MCPU,
  ID_STAGE,
  ID_OUTPUT,
  ID_REPORT,
  ID_DUMP_ANNOTATIONS,
  ID_EXTRACT_WEIGHTS,
  ID_SPLIT_WEIGHTS,
  ID_JOIN_WEIGHTS,
  ID_DEBUG_INFO,
  ID_BYTECODE,
  ID_VERIFY_EACH,
  ID_QUIET,
  ID_CLUSTER,
  ID_PRINT_CLUSTER,
  ID_EXPLAIN_COST,
  ID_SIMULATE,
  ID_TRACE,
  ID_ANALYSE,
  ID_TARGET_PARAMETERS,
  ID_SILENCE,
  ID_ERROR,
  ID_LIST_PASSES,
  ID_REFERENCE,
  ID_VERSION,
  ID_HELP,
  nOptionIds
} OptionId;

// The one table: parsing, help and the nearest name of a misspelt option.
static const struct {
  const char *name; // without dashes
  OptionKind kind;
  const char *group, *value, *help; // no group: the one above
  bool driverOnly;                  // mlir-opt's part has no such thing
} optionTable[nOptionIds] = {
    [ID_AUTO_SHARD] = {"auto-shard", OPTION_OPTIONAL_TEXT, "Sharding", "LIST",
                       "Degrees: dpN,epN,spN,tpN,ppN in any order; 1 when left out", false},
    [ID_FUNCTION] = {"function", OPTION_TEXT, NULL, "NAME",
                     "Function to shard (default: the one public function)", false},
    [ID_ARGS] = {"args", OPTION_TEXT, NULL, "FILE", "An args.json: names and roles of arguments",
                 false},
    [ID_ANNOTATIONS] = {"annotations", OPTION_TEXT, NULL, "FILE",
                        "Roles, dimensions and shardings that are fixed (JSON)", false},
    [ID_RESULTS] = {"results", OPTION_TEXT, NULL, "whole|split",
                    "Results but states on every device, or left split (default: whole)", false},
    [ID_DIM] = {"dim", OPTION_TEXT_LIST, NULL, "ARG:D=N",
                "Extent N for dynamic dimension D of argument ARG ('*': of all), or ..MAX: any up "
                "to MAX; repeatable",
                false},
    [ID_RULES] = {"rules", OPTION_TEXT, NULL, "FILE", "Dimension rules of ops of your own", false},
    [ID_NO_REPLICATION] = {"no-implicit-replication", OPTION_FLAG, NULL, NULL,
                           "Refuse an op without a dimension rule: its operands would be whole",
                           false},
    [ID_FORBID] = {"forbid", OPTION_TEXT_LIST, NULL, "KIND[:AXIS]",
                   "Error on such a collective (all-gather, all-to-all:tp); repeatable", true},
    [ID_MAX_COMM_BYTES] = {"max-comm-bytes", OPTION_TEXT, NULL, "N",
                           "Error when a rank sends more in a step, mean over ranks", true},
    [ID_NO_IMPLICIT_COMM] = {"no-implicit-comm", OPTION_FLAG, NULL, NULL,
                             "Error on a collective that no annotation asks for; sends of pp apart",
                             true},
    [ID_EXPLAIN] = {"explain", OPTION_FLAG, NULL, NULL,
                    "Of each collective: place, cause, bytes, other ways and their bytes", true},
    [ID_STOP_AFTER] = {"stop-after", OPTION_TEXT, NULL, "PASS",
                       "Stop after a pass; shard-opt OUTPUT then goes on from there", true},
    [ID_EMIT] = {"emit", OPTION_TEXT, "Output", "mlir|buffers|llvm|object|shared",
                 "Sharded MLIR (default), buffers with their offsets, LLVM IR, an object or a "
                 "shared object",
                 true},
    [ID_MCPU] = {"mcpu", OPTION_TEXT, NULL, "NAME",
                 "CPU to generate code for (default: this machine; 'generic' for any)", true},
    [ID_STAGE] = {"stage", OPTION_TEXT, NULL, "N", "Only the program of pipeline stage N", true},
    [ID_OUTPUT] = {"o", OPTION_TEXT, NULL, "FILE", "Output (default: standard output)", false},
    [ID_REPORT] = {"report", OPTION_TEXT_LIST, NULL, "FILE.html|.json|.txt",
                   "Layout, collectives and bytes of the emitted program; repeatable", true},
    [ID_DUMP_ANNOTATIONS] = {"dump-annotations", OPTION_TEXT, NULL, "FILE",
                             "The chosen layout, in the form that --annotations reads", true},
    [ID_EXTRACT_WEIGHTS] =
        {"extract-weights", OPTION_TEXT, NULL, "FILE|DIR",
         "Take constants out of the model, into a .safetensors, an .npz or a folder", true},
    [ID_SPLIT_WEIGHTS] = {"split-weights", OPTION_TEXT, NULL, "FILE|DIR",
                          "Cut weights by the layout: one file a rank, in the folder -o DIR", true},
    [ID_JOIN_WEIGHTS] = {"join-weights", OPTION_TEXT, NULL, "DIR",
                         "Put what --split-weights wrote back together: -o FILE.safetensors", true},
    [ID_DEBUG_INFO] = {"mlir-print-debuginfo", OPTION_FLAG, NULL, NULL, "Print locations", false},
    [ID_BYTECODE] = {"emit-bytecode", OPTION_FLAG, NULL, NULL, "MLIR bytecode instead of text",
                     false},
    [ID_VERIFY_EACH] = {"verify-each-pass", OPTION_FLAG, "Other", NULL,
                        "Verify the module after every pass, not only at the end", true},
    [ID_QUIET] = {"quiet", OPTION_FLAG, NULL, NULL, "No summary, remarks or warnings", false},
    [ID_CLUSTER] = {"cluster", OPTION_TEXT, NULL, "FILE|PRESET[:N]",
                    "The machine: a cluster file or a bundled one, of N devices", true},
    [ID_PRINT_CLUSTER] = {"print-cluster", OPTION_OPTIONAL_TEXT, NULL, "text|json",
                          "Check --cluster and print it; as json, a file to start from", true},
    [ID_EXPLAIN_COST] =
        {"explain-cost", OPTION_TEXT, NULL, "QUESTION:LIST|help",
         "What a collective, op, model takes on --cluster: all-reduce:bytes=25e9,ranks=8", true},
    [ID_SIMULATE] = {"simulate", OPTION_OPTIONAL_TEXT, NULL, "text|json",
                     "Time and memory of a step on --cluster, in place of the program", true},
    [ID_TRACE] = {"trace", OPTION_TEXT, NULL, "FILE.json",
                  "Events of a step on --cluster, to be opened in Perfetto", true},
    [ID_ANALYSE] = {"analyse", OPTION_OPTIONAL_TEXT, NULL, "text|json",
                    "How large the model is: parameters, memory, smallest fleet of --cluster",
                    true},
    [ID_TARGET_PARAMETERS] = {"target-parameters", OPTION_TEXT, NULL, "N",
                              "--analyse: experts a layer for N parameters (default: 200e12)",
                              true},
    [ID_SILENCE] = {"silence", OPTION_TEXT_LIST, NULL, "ID",
                    "No such warning about a plan on --cluster; repeatable", true},
    [ID_ERROR] = {"error", OPTION_TEXT_LIST, NULL, "ID",
                  "Such a warning is an error, and nothing is written; repeatable", true},
    [ID_LIST_PASSES] = {"list-passes", OPTION_FLAG, NULL, NULL,
                        "The passes of this project and their options", false},
    [ID_REFERENCE] = {"reference", OPTION_FLAG, NULL, NULL,
                      "The reference page (options, passes, ops, refusals) as Markdown", false},
    [ID_VERSION] = {"version", OPTION_FLAG, NULL, NULL, "Versions of shard-opt and LLVM", false},
    [ID_HELP] = {"help", OPTION_FLAG, NULL, NULL,
                 "This text; --help-list gives all of mlir-opt's options, which work too", false},
};

void shardOptError(const char *format, va_list arguments) {
  fputs("shard-opt: error: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
}

__attribute__((format(printf, 1, 2))) static bool fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  shardOptError(format, arguments);
  va_end(arguments);
  return false;
}

static int findOption(const char *name, size_t length) {
  for (int i = 0; i < nOptionIds; ++i)
    if (strlen(optionTable[i].name) == length && memcmp(optionTable[i].name, name, length) == 0)
      return i;
  if (length == 1 && *name == 'h')
    return ID_HELP;
  return -1;
}

static bool setOnce(const char *option, const char **field, const char *value) {
  if (*field)
    return fail("'--%s' is given twice: '%s' and '%s'", option, *field, value);
  *field = value;
  return true;
}

// All values of a repeatable option, separated by commas.
static bool appendText(char **list, const char *value) {
  char *joined;
  if (asprintf(&joined, "%s%s%s", *list ? *list : "", *list ? "," : "", value) < 0)
    return fail("out of memory");
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
  return fail("'--emit' is mlir, buffers, llvm, object or shared, not '%s'", value);
}

static bool parseStage(const char *value, int64_t *out) {
  char *end;
  errno = 0;
  long long number = strtoll(value, &end, 10);
  if (*value < '0' || *value > '9' || *end || errno || number > INT32_MAX)
    return fail("'--stage' takes a number from 0, not '%s'", value);
  *out = number;
  return true;
}

static bool parseBytes(const char *value, int64_t *out) {
  char *end;
  errno = 0;
  long long number = strtoll(value, &end, 10);
  if (*value < '0' || *value > '9' || *end || errno)
    return fail("'--max-comm-bytes' takes a number of bytes, not '%s'", value);
  *out = number;
  return true;
}

static bool parseParameters(const char *value, double *out) {
  char *end;
  double number = strtod(value, &end);
  if (*value < '0' || *value > '9' || *end || !(number >= 1 && number <= 1e18))
    return fail("'--target-parameters' takes a number from 1 to 1e18, not '%s'", value);
  *out = number;
  return true;
}

static bool setValue(ShardOptOptions *options, int id, const char *value) {
  const char *name = optionTable[id].name;
  if (optionTable[id].kind != OPTION_FLAG && optionTable[id].kind != OPTION_OPTIONAL_TEXT &&
      !*value)
    return fail("'--%s' needs a value: --%s=%s", name, name, optionTable[id].value);
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
  case ID_MAX_COMM_BYTES:
    if (options->maxCommBytes >= 0)
      return fail("'--max-comm-bytes' is given twice");
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
      return fail("'--print-cluster' is text or json, not '%s'", value);
    return setOnce(name, &options->printCluster, *value ? value : "text");
  case ID_SIMULATE:
    if (*value && strcmp(value, "text") != 0 && strcmp(value, "json") != 0)
      return fail("'--simulate' is text or json, not '%s'", value);
    return setOnce(name, &options->simulate, *value ? value : "text");
  case ID_TRACE:
    return setOnce(name, &options->trace, value);
  case ID_ANALYSE:
    if (*value && strcmp(value, "text") != 0 && strcmp(value, "json") != 0)
      return fail("'--analyse' is text or json, not '%s'", value);
    return setOnce(name, &options->analyse, *value ? value : "text");
  case ID_TARGET_PARAMETERS:
    if (options->targetParameters > 0)
      return fail("'--target-parameters' is given twice");
    return parseParameters(value, &options->targetParameters);
  case ID_STOP_AFTER:
    return setOnce(name, &options->stopAfter, value);
  case ID_MCPU:
    return setOnce(name, &options->mcpu, value);
  case ID_RESULTS:
    options->splitResults = strcmp(value, "split") == 0;
    if (!options->splitResults && strcmp(value, "whole") != 0)
      return fail("'--results' is whole or split, not '%s'", value);
    if (options->resultsGiven)
      return fail("'--results' is given twice");
    options->resultsGiven = true;
    return true;
  case ID_RULES:
    return setOnce(name, &options->rules, value);
  case ID_NO_REPLICATION:
    return options->noImplicitReplication = true;
  case ID_DIM:
    return appendText(&options->dims, value);
  case ID_EMIT:
    if (options->emitGiven)
      return fail("'--emit' is given twice");
    options->emitGiven = true;
    return parseEmit(value, &options->emit);
  case ID_STAGE:
    if (options->stage >= 0)
      return fail("'--stage' is given twice");
    return parseStage(value, &options->stage);
  case ID_OUTPUT:
    if (options->outputGiven)
      return fail("'-o' is given twice: '%s' and '%s'", options->output, value);
    options->outputGiven = true;
    options->output = value;
    return true;
  case ID_REPORT:
    if (!hasSuffix(value, ".html") && !hasSuffix(value, ".json") && !hasSuffix(value, ".txt"))
      return fail("'--report' writes FILE.html, FILE.json or FILE.txt; '%s' ends in none of them",
                  value);
    for (int i = 0; i < options->nReports; ++i)
      if (strcmp(options->reports[i], value) == 0)
        return fail("'--report=%s' is given twice", value);
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
  *options = (ShardOptOptions){.input = "-", .output = "-", .stage = -1, .maxCommBytes = -1};
  options->reports = calloc((size_t)argc + 1, sizeof *options->reports);
  options->rest = calloc((size_t)argc + 1, sizeof *options->rest);
  if (!options->reports || !options->rest)
    return fail("out of memory");
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
        return fail("an argument is empty; expected an input file");
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
    OptionKind kind = optionTable[id].kind;
    const char *value = equals ? equals + 1 : "";
    if (kind == OPTION_FLAG && equals)
      return fail("'--%s' takes no value; got '%s'", optionTable[id].name, value);
    if ((kind == OPTION_TEXT || kind == OPTION_TEXT_LIST) && !equals) {
      if (i + 1 == argc)
        return fail("'%s' needs a value: %s%s%s", argument, argument, id == ID_OUTPUT ? " " : "=",
                    optionTable[id].value);
      value = argv[++i];
    }
    if (id == ID_AUTO_SHARD && equals && !*value)
      return fail("'--auto-shard=' has an empty list; expected degrees such as tp8,pp16");
    if (!setValue(options, id, value))
      return false;
    if (id == ID_AUTO_SHARD)
      options->degreesPlace = options->nRest;
    if (optionTable[id].driverOnly && !options->needsDriver)
      options->needsDriver = optionTable[id].name;
  }
  if (secondInput && !options->nForeign)
    return fail("two input files are given: '%s' and '%s'%s", options->input, secondInput,
                options->degrees && strcmp(options->degrees, "auto") == 0
                    ? "; degrees follow '=', as in --auto-shard=tp8,pp16"
                    : "");
  return true;
}

void shardOptOptionsRelease(ShardOptOptions *options) {
  free(options->dims);
  free(options->forbid);
  free(options->silence);
  free(options->error);
  free(options->reports);
  free(options->rest);
}

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

void shardOptPrintHelp(void) {
  printf("Usage: shard-opt [options] [FILE|-]      (FILE may be packed by gzip)\n\n"
         "Turns a one-device MLIR program into one program per device.\n");
  for (int i = 0; i < nOptionIds; ++i) {
    if (optionTable[i].group)
      printf("\n%s:\n", optionTable[i].group);
    char left[64];
    snprintf(left, sizeof left, "%s%s%s%s", i == ID_OUTPUT ? "-" : "--", optionTable[i].name,
             !optionTable[i].value ? ""
             : i == ID_OUTPUT      ? " "
                                   : "=",
             optionTable[i].value ? optionTable[i].value : "");
    printf("  %-32s %s%s\n", left, strlen(left) > 32 ? "\n                                   " : "",
           optionTable[i].help);
  }
  printf("\nExamples:\n"
         "  shard-opt --auto-shard=tp8,pp16 model.mlir -o sharded.mlir\n"
         "  shard-opt --auto-shard=tp2,pp2 model.mlir --emit=shared -o model.so "
         "--report=model.json\n"
         "  shard-opt model.mlir --pass-pipeline='builtin.module(shard-import,canonicalize)'\n");
}

void shardOptPrintVersion(void) {
  printf("shard-opt %s\nLLVM %s\n", shardVersion(), shardLlvmVersion());
}

void shardOptPrintPasses(void) {
  intptr_t nPipeline = shardPipelineGetPassCount(), inPipeline = 0;
  printf("Passes of --auto-shard, in order, then those that only check:\n");
  for (intptr_t i = 0; i < shardPassesGetCount(); ++i) {
    bool isStep = inPipeline < nPipeline &&
                  strcmp(shardPipelineGetPass(inPipeline), shardPassesGetArgument(i)) == 0;
    inPipeline += isStep;
    printf("  %-28s %s\n", shardPassesGetArgument(i), shardPassesGetSummary(i));
    for (intptr_t k = 0; k < shardPassesGetOptionCount(i); ++k) {
      ShardPassesOption option = shardPassesGetOption(i, k);
      char left[64];
      snprintf(left, sizeof left, "%s=<%s>", option.name,
               *option.range ? option.range : option.type);
      printf("    %-26s %s", left, option.help);
      if (*option.defaultText)
        printf(" (default: %s)", option.defaultText);
      putchar('\n');
    }
  }
}

// A cell of a Markdown table: a bar would end it.
static void printCell(const char *text) {
  for (; *text; ++text)
    printf(*text == '|' ? "\\|" : "%c", *text);
}

void shardOptPrintReference(void) {
  printf(
      "# Reference\n\nWritten by `shard-opt --reference` from the tables that the programs run on. "
      "Do not edit.\n\n## Options of shard-opt\n\n| option | what it does |\n|---|---|\n");
  for (int i = 0; i < nOptionIds; ++i) {
    printf("| `%s%s%s", i == ID_OUTPUT ? "-" : "--", optionTable[i].name,
           !optionTable[i].value ? ""
           : i == ID_OUTPUT      ? " "
                                 : "=");
    printCell(optionTable[i].value ? optionTable[i].value : "");
    printf("` | ");
    printCell(optionTable[i].help);
    printf(" |\n");
  }
  printf(
      "\nThe options of shard-run: `shard-run --help`. Without a program, `shard-run "
      "--measure[=quick] -o FILE` writes\na "
      "cluster file of this machine (what it measures: [design/cost.md](design/cost.md)).\n\n## "
      "Passes\n\nIn the order of "
      "`--auto-shard`; those that only check come last. Each "
      "runs alone on "
      "a dump of the one before:\n`shard-opt "
      "--pass-pipeline='builtin.module(PASS{OPTION=VALUE})'`. The whole row is one pipeline, "
      "`shard-auto`, with the\noptions of all its passes (`shard-auto{degrees=tp2,pp2}`); "
      "`shard-auto-cpu` goes on to `shard-lower-cpu`. Both and every\npass are in stock mlir-opt "
      "too:\n`mlir-opt --load-pass-plugin=libShardPasses.so --pass-pipeline=...`.\n");
  for (intptr_t i = 0; i < shardPassesGetCount(); ++i) {
    const char *anchor = shardPassesGetAnchor(i);
    printf("\n### %s\n\n%s. Runs on `%s`.\n", shardPassesGetArgument(i), shardPassesGetSummary(i),
           *anchor ? anchor : "any op");
    if (shardPassesGetOptionCount(i) > 0)
      printf("\n| option | type or range | default | what it does |\n|---|---|---|---|\n");
    for (intptr_t k = 0; k < shardPassesGetOptionCount(i); ++k) {
      ShardPassesOption option = shardPassesGetOption(i, k);
      printf("| `%s` | ", option.name);
      printCell(*option.range ? option.range : option.type);
      printf(" | %s | ", option.defaultText);
      printCell(option.help);
      printf(" |\n");
    }
  }
  printf("\n## Ops\n\nThe table of dimension rules. An op of the dialects func, linalg, tensor, "
         "arith, math, "
         "tosa and scf that is not\nhere keeps its operands whole, with a remark; an op of another "
         "dialect is "
         "refused.\n\n| op | how its dimensions may be split |\n|---|---|\n");
  for (intptr_t i = 0; i < shardOpsGetCount(); ++i) {
    printf("| `%s` | ", shardOpsGetName(i));
    printCell(shardOpsGetSummary(i));
    printf(" |\n");
  }
  shardOptPrintCosts();
  shardOptPrintRefusals();
}

// Edit distance, two rows; only for names shorter than 64 bytes.
static int editDistance(const char *a, const char *b) {
  int row[65], n = (int)strlen(b);
  if (n > 64 || strlen(a) > 64)
    return 100;
  for (int j = 0; j <= n; ++j)
    row[j] = j;
  for (int i = 1; a[i - 1]; ++i) {
    int diagonal = row[0];
    row[0] = i;
    for (int j = 1; j <= n; ++j) {
      int change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      int least = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
      row[j] = change < least ? change : least;
    }
  }
  return row[n];
}

static const char *nearestOption(const char *name) {
  const char *best = NULL;
  int bestDistance = (int)strlen(name) / 3 + 1;
  for (int i = 0; i < nOptionIds; ++i) {
    int distance = editDistance(name, optionTable[i].name);
    if (distance < bestDistance) {
      bestDistance = distance;
      best = optionTable[i].name;
    }
  }
  return best;
}

void shardOptPrintOptionError(const char *text) {
  static const char unknown[] = "Unknown command line argument '", guess[] = "Did you mean '";
  const char *p = strstr(text, unknown);
  if (!p) {
    // LLVM says "shard-opt: for the --x option: may only occur zero or one times!"
    const char *colon = strstr(text, ": ");
    const char *start = colon ? colon + 2 : text;
    size_t length = strcspn(start, "\n");
    while (length && (start[length - 1] == '!' || start[length - 1] == '.'))
      --length;
    fail("%.*s", (int)length, start);
    return;
  }
  p += strlen(unknown);
  // The text of the option may hold quotes itself; the message goes on with "'.  Try:".
  const char *end = strstr(p, "'.  Try:");
  size_t length = end ? (size_t)(end - p) : strcspn(p, "\n");
  fail("unknown option '%.*s'", (int)length, p);
  char name[64];
  size_t dashes = strspn(p, "-"), nameLength = strcspn(p + dashes, "='");
  snprintf(name, sizeof name, "%.*s", (int)nameLength, p + dashes);
  const char *ours = nearestOption(name), *theirs = strstr(text, guess);
  if (ours) {
    fprintf(stderr, "shard-opt: note: did you mean '--%s'?\n", ours);
  } else if (theirs) {
    theirs += strlen(guess);
    char other[64];
    snprintf(other, sizeof other, "%.*s", (int)strcspn(theirs, "='\n"), theirs);
    if (editDistance(name, other + strspn(other, "-")) <= (int)strlen(name) / 3)
      fprintf(stderr, "shard-opt: note: did you mean '%s'?\n", other);
  }
}

void shardOptWarnTerminal(const char *input) {
  if (strcmp(input, "-") == 0 && isatty(STDIN_FILENO))
    fputs("shard-opt: reading from the terminal; end with ctrl-d\n", stderr);
}
