//===- Main.c - Random programs against their originals -----------*- C -*-===//
// fuzz-graphs [--first=N --count=N | --seed=N | --print=N] [option]...
//   --tally=FILE      adds the seeds to a file, and demands of all in it what else is of these
//   --label=TEXT      stands beside them in it (the commit)
//   --limit=S         begins no more seeds after S seconds
//   --seconds=S       of patience with one program (60)
//   --keep=FOLDER     where programs that fail are put, reduced
//   --stock=FOLDER --stock-count=N  originals with values and results for MLIR's own tools
//   --jobs=N --even --refused (is a finding) --no-enforce --no-reduce --quiet --planted
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE

#include "Totals.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_REDUCED = 12, MAX_JOBS = 64 };

_Noreturn void stopWith(const char *message) {
  fprintf(stderr, "fuzz-graphs: error: %s\n", message);
  exit(1);
}

double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static uint64_t numberOf(const char *text) {
  char *end;
  errno = 0;
  uint64_t value = strtoull(text, &end, 10);
  if (*end || end == text || errno)
    stopWith("expected a number");
  return value;
}

static void setOption(Options *options, const char *name, const char *value) {
#define IS(text) (!strcmp(name, text))
  if (IS("--first"))
    options->first = numberOf(value);
  else if (IS("--count"))
    options->count = numberOf(value);
  else if (IS("--seed")) // one program
    options->first = numberOf(value), options->count = 1, options->one = true;
  else if (IS("--print")) // the program of a seed, not run
    options->first = numberOf(value), options->print = true;
  else if (IS("--jobs"))
    options->jobs = (int)numberOf(value);
  else if (IS("--seconds"))
    options->seconds = (int)numberOf(value);
  else if (IS("--limit"))
    options->limit = (int)numberOf(value);
  else if (IS("--even"))
    options->even = true;
  else if (IS("--no-enforce"))
    options->enforce = false;
  else if (IS("--no-reduce"))
    options->reduce = false;
  else if (IS("--planted")) // a fault in the run, which must be found
    options->planted = true;
  else if (IS("--quiet"))
    options->quiet = true;
  else if (IS("--refused"))
    options->refused = true;
  else if (IS("--keep"))
    options->keep = value;
  else if (IS("--tally"))
    options->tally = value;
  else if (IS("--label"))
    options->label = value;
  else if (IS("--stock"))
    options->stock = value;
  else if (IS("--stock-count"))
    options->nStock = (int)numberOf(value);
  else
    stopWith("unknown option; see Main.c");
#undef IS
}

static void readOptions(int argc, char **argv, Options *out) {
  *out = (Options){.count = 200,
                   .jobs = (int)sysconf(_SC_NPROCESSORS_ONLN),
                   .seconds = 60,
                   .enforce = true,
                   .reduce = true};
  for (int i = 1; i < argc; ++i) {
    char *name = strdup(argv[i]);
    if (!name)
      stopWith("out of memory");
    char *equals = strchr(name, '=');
    if (equals)
      *equals = 0;
    setOption(out, name, equals ? argv[i] + (equals - name) + 1 : "");
    free(name);
  }
  if (out->jobs < 1 || out->jobs > MAX_JOBS)
    out->jobs = 1;
}

static void printProgram(const Options *options) {
  Draws draws = {.state = options->first};
  Program program;
  programCreate(&draws, !options->even, &program);
  printf("// --auto-shard=%s%s\n%s", program.degrees, program.exact ? " --exact" : "",
         program.module.data);
  programRelease(&program);
  drawsRelease(&draws);
}

/// Shares of these programs, or of all in the tally.
static bool holdShares(const Options *options, Totals *totals) {
  if (!options->tally || totals->findings.n) {
    bool held = totalsPrintShares(totals);
    if (options->tally)
      printf("not added to %s: there are findings\n", options->tally);
    return held || !options->enforce;
  }
  Totals sum;
  tallyAdd(options->tally, options->first, totals, &sum);
  printf("with all in %s:\n", options->tally);
  totalsPrintVerdicts(&sum);
  return totalsPrintShares(&sum) || !options->enforce;
}

int main(int argc, char **argv) {
  Options options;
  readOptions(argc, argv, &options);
  if (options.print) {
    printProgram(&options);
    return 0;
  }
  if (options.tally)
    tallyCheck(options.tally, options.first, options.count);
  Totals totals;
  totalsCreate(&options, &totals);
  double begin = now();
  uint64_t n = runAll(&options, totalsTake, &totals);
  printf("seeds %" PRIu64 " to %" PRIu64 ", %.0f s\n", options.first, options.first + n - 1,
         now() - begin);
  totalsPrintVerdicts(&totals);
  totalsPrintKinds(&totals);
  const Kept *findings = &totals.findings;
  bool held = options.one || holdShares(&options, &totals);
  // One of each kind of finding, sorted by now.
  for (size_t i = 0, reduced = 0; i < findings->n && reduced < MAX_REDUCED; ++i)
    if (i == 0 || !sameKind(&findings->outcomes[i - 1], &findings->outcomes[i])) {
      report(&options, &findings->outcomes[i]);
      ++reduced;
    }
  return held && findings->n == 0 ? 0 : 1;
}
