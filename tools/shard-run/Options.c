//===- Options.c - The command line -------------------------------*- C -*-===//
#define _GNU_SOURCE

#include "Options.h"
#include "Memory.h"

#include "shard/Version.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum OptionKind {
  OPTION_TEXT,
  OPTION_COUNT,    // whole number from 1
  OPTION_RANKS,    // the same, into int64_t
  OPTION_SEED,     // whole number from 0
  OPTION_RATIO,    // number from 0
  OPTION_FLAG,     // no value
  OPTION_OPTIONAL, // flag, with or without a text
  OPTION_LIST      // text, may be repeated; its count stands behind it
} OptionKind;

typedef struct OptionRow {
  const char *name, *value;
  OptionKind kind;
  size_t offset, flagOffset;
  const char *help;
  const char *group; // heading before this row, or null
} OptionRow;

#define FIELD(name) offsetof(Options, name)
static const OptionRow optionTable[] = {
    {"ranks", "N", OPTION_RANKS, FIELD(ranks), 0, "ranks, to be checked against the mesh", "Run"},
    {"iterations", "N", OPTION_COUNT, FIELD(iterations), 0, "runs in a row (1)", NULL},
    {"sizes", "ARG:D=N,N", OPTION_LIST, FIELD(sizes), 0,
     "extents of a dimension with a bound, one run each (none: the bounds); repeatable", NULL},
    {"isolate", NULL, OPTION_FLAG, FIELD(isolate), 0, "ranks are processes instead of threads",
     NULL},
    {"check-memory", NULL, OPTION_FLAG, FIELD(checkMemory), 0,
     "workspace and results as far as they are written, allocations in a step: as planned", NULL},
    {"json", "FILE", OPTION_TEXT, FIELD(json), 0, "write the figures as JSON", NULL},
    {"save", "DIR|FILE", OPTION_TEXT, FIELD(save), 0,
     "write the results: DIR/outNNN.npy, or a .safetensors", NULL},
    {"quiet", NULL, OPTION_FLAG, FIELD(quiet), 0, "print only mismatches and errors", NULL},
    {"data", "DIR|FILE", OPTION_TEXT, FIELD(data), 0,
     "values: DIR/args.json with its .npy files, ranks' files, a .safetensors or its .index.json",
     "Values"},
    {"seed", "N", OPTION_SEED, FIELD(seed), FIELD(seeded), "draw the values, from this seed (1)",
     NULL},
    {"integers", NULL, OPTION_FLAG, FIELD(integers), 0,
     "draw small whole numbers, where sums and products are exact", NULL},
    {"exact", NULL, OPTION_FLAG, FIELD(exact), 0,
     "draw small whole numbers; with --check, equal bits wherever the ops allow it", NULL},
    {"check", "ORIGINAL", OPTION_OPTIONAL, FIELD(original), FIELD(check),
     "also run the unsharded program on one rank and compare", "Compare"},
    {"bisect", NULL, OPTION_FLAG, FIELD(bisect), 0,
     "after a mismatch with the unsharded program: name the first op that differs", NULL},
    {"expect", "DIR|FILE", OPTION_TEXT, FIELD(expect), 0,
     "compare with DIR/outNNN.npy, or outNNN of a .safetensors", NULL},
    {"rtol", "X", OPTION_RATIO, FIELD(rtol), 0,
     "bar: largest difference / largest magnitude (by type)", NULL},
    {"auto-shard", "LIST", OPTION_TEXT, FIELD(autoShard), 0,
     "compile PROGRAM first, for degrees such as tp2,pp2", "Compile, as shard-opt does"},
    {"annotations", "FILE", OPTION_TEXT, FIELD(annotations), 0, "layout of arguments and values",
     NULL},
    {"rules", "FILE", OPTION_TEXT, FIELD(rules), 0, "dimension rules of ops of your own", NULL},
    {"results", "whole|split", OPTION_TEXT, FIELD(results), 0, "layout of results (whole)", NULL},
    {"dim", "ARG:D=N", OPTION_LIST, FIELD(dims), 0,
     "set a dynamic dimension (ARG '*': of all), or ..MAX: open up to a bound; repeatable", NULL},
    {"dim-buckets", "N|LIST;LIST", OPTION_TEXT, FIELD(buckets), 0,
     "bounds with storage of their own, each half of the next (3), or lists of ARG:D=..MAX", NULL},
    {"function", "NAME", OPTION_TEXT, FIELD(function), 0, "entry (the one public function)", NULL},
    {"args", "FILE", OPTION_TEXT, FIELD(args), 0, "names and roles (args.json of --data)", NULL},
    {"mcpu", "CPU", OPTION_TEXT, FIELD(mcpu), 0, "code for this CPU (host)", NULL},
    {"measure", "quick", OPTION_OPTIONAL, FIELD(measureMode), FIELD(measure),
     "measure this machine and write it as a cluster file for --cluster; no program", "Measure"},
    {"o", "FILE", OPTION_TEXT, FIELD(output), 0, "of --measure (standard output)", NULL},
};
enum { nOptionRows = sizeof optionTable / sizeof optionTable[0] };

static void printHelp(void) {
  puts("usage: shard-run PROGRAM [options]\n"
       "       shard-run --measure[=quick] -o FILE\n"
       "\n"
       "Runs a program on CPU ranks and compares its results. PROGRAM is MLIR "
       "at\n"
       "any level (.mlir, .mlir.gz, or - for standard input) or what shard-opt --emit=shared "
       "wrote.\n"
       "Exits with 0 only if it ran and every comparison held.");
  for (size_t i = 0; i < nOptionRows; ++i) {
    const OptionRow *row = &optionTable[i];
    if (row->group)
      printf("\n%s:\n", row->group);
    char text[64];
    snprintf(text, sizeof text, "%s%s%s%s%s", row->name[1] ? "--" : "-", row->name,
             row->kind == OPTION_OPTIONAL ? "[="
             : row->value                 ? row->name[1] ? "=" : " "
                                          : "",
             row->value ? row->value : "", row->kind == OPTION_OPTIONAL ? "]" : "");
    printf("  %-22s %s\n", text, row->help);
  }
  puts("  --help, --version\n"
       "\n"
       "The original of --check may be left out with --auto-shard: it is PROGRAM then.\n"
       "\n"
       "Examples:\n"
       "  shard-run model.mlir --auto-shard=tp2,pp2 --check\n"
       "  shard-run sharded.mlir --data=DIR --expect=DIR --iterations=5\n"
       "  shard-run step.so --ranks=8 --seed=7 --check=model.mlir --json=run.json");
}

static const OptionRow *findRow(const char *name, size_t length) {
  for (size_t i = 0; i < nOptionRows; ++i)
    if (strlen(optionTable[i].name) == length && !memcmp(optionTable[i].name, name, length))
      return &optionTable[i];
  return NULL;
}

static uint64_t parseWhole(const OptionRow *row, const char *text, uint64_t least, uint64_t most) {
  char *end;
  errno = 0;
  uint64_t value = strtoull(text, &end, 10);
  if (!(text[0] >= '0' && text[0] <= '9') || *end || errno || value < least || value > most)
    stop("--%s=%s: expected a whole number from %" PRIu64 " to %" PRIu64, row->name, text, least,
         most);
  return value;
}

static void setOption(Options *out, const OptionRow *row, const char *value) {
  char *field = (char *)out + row->offset;
  if (row->kind == OPTION_FLAG ? value != NULL : !value && row->kind != OPTION_OPTIONAL)
    stop(value ? "--%s takes no value" : "--%s needs a value", row->name);
  if (value && !*value)
    stop("--%s= has an empty value", row->name);
  if (row->flagOffset)
    *(bool *)((char *)out + row->flagOffset) = true;
  switch (row->kind) {
  case OPTION_TEXT:
  case OPTION_OPTIONAL:
    *(const char **)field = value;
    return;
  case OPTION_COUNT:
    *(int32_t *)field = (int32_t)parseWhole(row, value, 1, 1000000);
    return;
  case OPTION_RANKS:
    *(int64_t *)field = (int64_t)parseWhole(row, value, 1, 65536);
    return;
  case OPTION_SEED:
    *(uint64_t *)field = parseWhole(row, value, 0, UINT64_MAX);
    return;
  case OPTION_RATIO: {
    char *end;
    double number = strtod(value, &end);
    if (*end || end == value || !(number >= 0) || isinf(number))
      stop("--%s=%s: expected a number from 0", row->name, value);
    *(double *)field = number;
    return;
  }
  case OPTION_FLAG:
    *(bool *)field = true;
    return;
  case OPTION_LIST: {
    const char ***list = (const char ***)field;
    size_t *count = (size_t *)(field + sizeof *list);
    *list = memoryGrow(*list, (*count + 1) * sizeof **list);
    (*list)[(*count)++] = value;
    return;
  }
  }
}

void optionsParse(int argc, char **argv, Options *out) {
  *out = (Options){.seed = 1, .iterations = 1, .rtol = -1};
  bool onlyFiles = false;
  const char *beside = NULL; // an option that --measure has no use for
  for (int i = 1; i < argc; ++i) {
    const char *text = argv[i];
    if (!onlyFiles && !strcmp(text, "--")) {
      onlyFiles = true;
      continue;
    }
    if (onlyFiles || text[0] != '-' || !text[1]) {
      if (out->program)
        stop("two programs are given, '%s' and '%s'", out->program, text);
      out->program = text;
      continue;
    }
    if (!strcmp(text, "--help") || !strcmp(text, "-h")) {
      printHelp();
      exit(0);
    }
    if (!strcmp(text, "--version")) {
      printf("shard-run %s\n", SHARD_VERSION_STRING);
      exit(0);
    }
    const char *name = text[1] == '-' ? text + 2 : text + 1;
    const char *equals = strchr(name, '=');
    if (!strcmp(text, "-o") && i + 1 < argc) {
      setOption(out, findRow("o", 1), argv[++i]);
      continue;
    }
    const OptionRow *row = findRow(name, equals ? (size_t)(equals - name) : strlen(name));
    if (!row)
      stop("unknown option '%s' (see shard-run --help)", text);
    if (strcmp(row->name, "measure") && strcmp(row->name, "o") && strcmp(row->name, "mcpu"))
      beside = row->name;
    setOption(out, row, equals ? equals + 1 : NULL);
  }
  if (out->checkMemory && out->iterations < 2)
    out->iterations = 2; // on two patterns
  if (out->bisect && !out->check)
    stop("--bisect compares with the unsharded program: add --check");
  if (out->measure) {
    if (out->program)
      stop("--measure takes no program; '%s' is given", out->program);
    if (beside)
      stop("--measure goes with -o and --mcpu; --%s is given", beside);
    return;
  }
  if (out->output)
    stop("-o is for --measure");
  if (!out->program)
    stop("no program given (see shard-run --help)");
  if (out->exact && !out->check)
    stop("--exact needs --check: the unsharded program says what is exact");
  if (out->exact && (out->data || out->integers))
    stop("--exact draws its values; it does not go with --%s", out->data ? "data" : "integers");
}
