//===- Totals.c - What many programs showed -----------------------*- C -*-===//
// Shares are of programs that passed and say something about every rank. What chance takes from a
// small sample is allowed for; ten thousand programs must hold what is wanted in full.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE

#include "Totals.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KEPT = 4096, FULL = 10000 };

void totalsCreate(const Options *options, Totals *out) {
  *out = (Totals){.options = options};
  Kept *lists[] = {&out->findings, &out->refusals, &out->inexact};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; ++i)
    if (!(lists[i]->outcomes = malloc(MAX_KEPT * sizeof(Outcome))))
      stopWith("out of memory");
}

static void keep(Kept *kept, const Outcome *outcome) {
  if (kept->n < MAX_KEPT)
    kept->outcomes[kept->n++] = *outcome;
}

void totalsTake(void *user, const Outcome *outcome) {
  Totals *totals = user;
  const Options *options = totals->options;
  ++totals->seeds;
  ++totals->verdicts[outcome->verdict];
  if (outcome->verdict == REFUSED && !options->refused) {
    keep(&totals->refusals, outcome);
    return;
  }
  if (outcome->verdict != PASSED) {
    keep(&totals->findings, outcome);
    if (!options->quiet)
      printf("seed %" PRIu64 ": %s: %s\n", outcome->seed, verdictName(outcome->verdict),
             outcome->message);
    fflush(stdout);
    return;
  }
  if (outcome->nSensitive < outcome->nDisturbed) {
    ++totals->dull; // compared, but it says nothing about some rank
    return;
  }
  ++totals->counted;
  for (int i = 0; i < rowCount(); ++i)
    totals->rows[i] += outcome->used[i];
  totals->collective += outcome->collective;
  totals->uneven += outcome->uneven;
  totals->partial += outcome->partial;
  totals->reshape += outcome->reshape;
  totals->callOrLoop += outcome->hasCall || outcome->hasLoop;
  totals->exact += outcome->exact;
  totals->ops += (uint64_t)outcome->nOps;
  totals->ranks += (uint64_t)outcome->nRanks;
  if (!outcome->exact)
    keep(&totals->inexact, outcome);
}

//===----------------------------------------------------------------------===//
// The tally: a file of slices
//===----------------------------------------------------------------------===//

/// Every number of a slice but those of rows, in the order of the file.
#define COUNTS(totals)                                                                             \
  {&(totals)->verdicts[PASSED],                                                                    \
   &(totals)->verdicts[REFUSED],                                                                   \
   &(totals)->verdicts[WRONG],                                                                     \
   &(totals)->verdicts[FAILED],                                                                    \
   &(totals)->verdicts[CRASHED],                                                                   \
   &(totals)->verdicts[HUNG],                                                                      \
   &(totals)->counted,                                                                             \
   &(totals)->dull,                                                                                \
   &(totals)->collective,                                                                          \
   &(totals)->uneven,                                                                              \
   &(totals)->partial,                                                                             \
   &(totals)->reshape,                                                                             \
   &(totals)->callOrLoop,                                                                          \
   &(totals)->exact,                                                                               \
   &(totals)->ops,                                                                                 \
   &(totals)->ranks}
static const char header[] =
    "# Seeds that were run, a slice of seeds a line: first, seeds; passed, refused, wrong, failed, "
    "crashed, hung; counted, dull, collective, uneven, partial, reshape, call or loop, exact, ops, "
    "ranks; then lines 'row NAME N'.\n";

static void addLine(const char *path, const char *line, uint64_t first, uint64_t seeds,
                    Totals *sum) {
  uint64_t value, from, n;
  int used;
  if (!strncmp(line, "row ", 4)) {
    const char *space = strrchr(line, ' ');
    for (int row = 0; row < rowCount(); ++row)
      if (strlen(rowName(row)) == (size_t)(space - line - 4) &&
          !strncmp(rowName(row), line + 4, (size_t)(space - line - 4)))
        sum->rows[row] += strtoull(space + 1, NULL, 10);
    return;
  }
  if (sscanf(line, "slice %" SCNu64 " %" SCNu64 "%n", &from, &n, &used) != 2)
    return; // a comment
  if (from < first + seeds && first < from + n) {
    fprintf(stderr, "fuzz-graphs: error: %s has seeds %" PRIu64 " to %" PRIu64 " already\n", path,
            from, from + n - 1);
    exit(1);
  }
  sum->seeds += n;
  uint64_t *counts[] = COUNTS(sum);
  for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
    int more = 0;
    if (sscanf(line + used, " %" SCNu64 "%n", &value, &more) != 1)
      stopWith("the tally has a slice that is cut short");
    *counts[i] += value;
    used += more;
  }
}

/// Adds what the file holds; a file that is not there holds nothing.
static void tallyRead(const char *path, uint64_t first, uint64_t seeds, Totals *sum) {
  FILE *file = fopen(path, "r");
  char line[512];
  while (file && fgets(line, sizeof line, file))
    addLine(path, line, first, seeds, sum);
  if (file)
    fclose(file);
}

void tallyCheck(const char *path, uint64_t first, uint64_t seeds) {
  Totals sum = {0};
  tallyRead(path, first, seeds, &sum);
}

void tallyAdd(const char *path, uint64_t first, Totals *totals, Totals *sum) {
  FILE *file = fopen(path, "a");
  if (!file)
    stopWith("cannot write the tally");
  fseek(file, 0, SEEK_END);
  if (ftell(file) == 0)
    fputs(header, file);
  fprintf(file, "slice %" PRIu64 " %" PRIu64, first, totals->seeds);
  uint64_t *counts[] = COUNTS(totals);
  for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i)
    fprintf(file, " %" PRIu64, *counts[i]);
  fprintf(file, " %s\n", totals->options->label ? totals->options->label : "");
  for (int row = 0; row < rowCount(); ++row)
    if (totals->rows[row])
      fprintf(file, "row %s %" PRIu64 "\n", rowName(row), totals->rows[row]);
  if (fclose(file) != 0)
    stopWith("cannot write the tally");
  *sum = (Totals){.options = totals->options};
  tallyRead(path, 0, 0, sum);
}

//===----------------------------------------------------------------------===//
// What is printed, and enforced
//===----------------------------------------------------------------------===//

static int compareKinds(const void *a, const void *b) {
  char x[400], y[400];
  signatureOf(a, x, sizeof x);
  signatureOf(b, y, sizeof y);
  return strcmp(x, y);
}

bool sameKind(const Outcome *a, const Outcome *b) { return compareKinds(a, b) == 0; }

/// Messages that occurred, each with how often and the first seed.
static void printKinds(const char *title, Kept *kept, size_t most) {
  if (kept->n == 0)
    return;
  qsort(kept->outcomes, kept->n, sizeof *kept->outcomes, compareKinds);
  printf("%s\n", title);
  for (size_t i = 0, kinds = 0; i < kept->n && kinds < most; ++kinds) {
    const Outcome *first = &kept->outcomes[i];
    size_t end = i + 1;
    while (end < kept->n && sameKind(first, &kept->outcomes[end]))
      ++end;
    printf("  %6zu  seed %" PRIu64 "  %s%s%s\n", end - i, first->seed,
           first->verdict == PASSED ? "" : verdictName(first->verdict),
           first->verdict == PASSED ? "" : ": ", first->message);
    i = end;
  }
}

void totalsPrintKinds(Totals *totals) {
  printKinds("refused:", &totals->refusals, 40);
  printKinds("findings:", &totals->findings, 40);
  if (!totals->options->one)
    printKinds("compared within a bar:", &totals->inexact, 12);
}

/// What chance takes from a part of `mean` of a sample: three standard deviations.
static double slackOf(const Totals *totals, double mean, double share) {
  return totals->seeds < FULL ? 3 * sqrt(mean * (1 - share)) : 0;
}

/// Prints a share of the programs and whether it is as large as wanted.
static bool printShare(const Totals *totals, const char *what, uint64_t part, uint64_t all,
                       double least) {
  double mean = least / 100 * (double)all;
  bool held = (double)part >= mean - slackOf(totals, mean, least / 100);
  printf("%-44s %6.1f %%  (at least %g)%s\n", what, all ? 100.0 * (double)part / (double)all : 0,
         least, held ? "" : "  TOO FEW");
  return held;
}

void totalsPrintVerdicts(const Totals *totals) {
  double n = totals->counted ? (double)totals->counted : 1;
  printf("programs: %" PRIu64 ": ", totals->seeds);
  for (int v = 0; v <= HUNG; ++v)
    printf("%s%" PRIu64 " %s", v ? ", " : "", totals->verdicts[v], verdictName((Verdict)v));
  printf("; %.1f ops and %.1f ranks a program\n", (double)totals->ops / n,
         (double)totals->ranks / n);
}

bool totalsPrintShares(const Totals *totals) {
  uint64_t n = totals->counted;
  bool held = printShare(totals, "hold a collective", totals->collective, n, 50);
  held &=
      printShare(totals, "an uneven dimension", totals->uneven, n, totals->options->even ? 0 : 30);
  held &= printShare(totals, "a partial value crosses an op", totals->partial, n, 20);
  held &= printShare(totals, "a reshape across a sharded dimension", totals->reshape, n, 20);
  held &= printShare(totals, "a call or a loop", totals->callOrLoop, n, 10);
  held &= printShare(totals, "compared bit by bit", totals->exact, n, 50);
  held &= printShare(totals, "each rank's shard changes a result", n, n + totals->dull, 98);
  held &= printShare(totals, "not refused", totals->seeds - totals->verdicts[REFUSED],
                     totals->seeds, 99);
  // 100 of 10,000.
  double mean = (double)n / 100, least = mean - slackOf(totals, mean, 0);
  int poor = 0;
  for (int row = 0; row < rowCount(); ++row)
    if ((double)totals->rows[row] < least || !rowIsMade(row))
      printf("%s row '%s': in %" PRIu64 " programs, at least %.0f wanted\n",
             poor++ ? "" : "op table:\n", rowName(row), totals->rows[row], ceil(least));
  printf("rows of the op table: %d, of which %d are in fewer than %.0f programs\n", rowCount(),
         poor, least > 0 ? ceil(least) : 0);
  return held && poor == 0;
}
