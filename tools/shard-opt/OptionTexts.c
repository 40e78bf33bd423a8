//===- OptionTexts.c - What shard-opt says of its options ---------*- C -*-===//
#define _GNU_SOURCE
#include "ExplainCost.h"
#include "OptionTable.h"
#include "Options.h"

#include "shard/Passes.h"
#include "shard/Pipelines.h"
#include "shard/Version.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void shardOptPrintHelp(void) {
  printf("Usage: shard-opt [options] [FILE|-]      (FILE may be packed by gzip)\n\n"
         "Turns a one-device MLIR program into one program per device.\n");
  for (int i = 0; i < nOptionIds; ++i) {
    if (shardOptOptionTable[i].group)
      printf("\n%s:\n", shardOptOptionTable[i].group);
    char left[64];
    snprintf(left, sizeof left, "%s%s%s%s", i == ID_OUTPUT ? "-" : "--",
             shardOptOptionTable[i].name,
             !shardOptOptionTable[i].value ? ""
             : i == ID_OUTPUT              ? " "
                                           : "=",
             shardOptOptionTable[i].value ? shardOptOptionTable[i].value : "");
    printf("  %-32s %s%s\n", left, strlen(left) > 32 ? "\n                                   " : "",
           shardOptOptionTable[i].help);
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
    printf("| `%s%s%s", i == ID_OUTPUT ? "-" : "--", shardOptOptionTable[i].name,
           !shardOptOptionTable[i].value ? ""
           : i == ID_OUTPUT              ? " "
                                         : "=");
    printCell(shardOptOptionTable[i].value ? shardOptOptionTable[i].value : "");
    printf("` | ");
    printCell(shardOptOptionTable[i].help);
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
    int distance = editDistance(name, shardOptOptionTable[i].name);
    if (distance < bestDistance) {
      bestDistance = distance;
      best = shardOptOptionTable[i].name;
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
    shardOptReject("%.*s", (int)length, start);
    return;
  }
  p += strlen(unknown);
  // The text of the option may hold quotes itself; the message goes on with "'.  Try:".
  const char *end = strstr(p, "'.  Try:");
  size_t length = end ? (size_t)(end - p) : strcspn(p, "\n");
  shardOptReject("unknown option '%.*s'", (int)length, p);
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
