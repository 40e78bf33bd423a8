//===- Main.c - Random programs against their originals -----------*- C -*-===//
// Children take batches of seeds and send an outcome each; one that crashes or hangs is a finding
// with its seed, and another child goes on behind it. A failing program is reduced on its choices.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE

#include "Check.h"
#include "Cut.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
  BATCH = 50,
  MAX_JOBS = 64,
  MAX_FINDINGS = 4096,
  MAX_REDUCED = 12,
  MAX_TRIALS = 60,
  MAX_CUTS = 200
};

typedef struct Options {
  uint64_t first, count;
  int jobs, seconds; // of patience with one program
  bool even, one, enforce, quiet, reduce, refused;
  const char *keep, *stock; // folders
  int nStock;
} Options;

static _Noreturn void stopWith(const char *message) {
  fprintf(stderr, "fuzz-graphs: error: %s\n", message);
  exit(1);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void writeFile(const char *folder, const char *name, const char *text) {
  char *path;
  if (asprintf(&path, "%s/%s", folder, name) < 0)
    stopWith("out of memory");
  FILE *file = fopen(path, "w");
  if (!file || fputs(text, file) < 0 || fclose(file) != 0)
    stopWith("cannot write a kept program");
  free(path);
}

//===----------------------------------------------------------------------===//
// Children
//===----------------------------------------------------------------------===//

static void runSeed(const Options *options, uint64_t seed, Outcome *out) {
  Draws draws = {.state = seed};
  Program program;
  programCreate(&draws, !options->even, &program);
  *out = (Outcome){.seed = seed};
  char *stock = NULL;
  if (options->stock && seed - options->first < (uint64_t)options->nStock * 2 &&
      asprintf(&stock, "%s/%" PRIu64 ".mlir", options->stock, seed) < 0)
    stopWith("out of memory");
  checkProgram(&program, stock, out);
  free(stock);
  programRelease(&program);
  drawsRelease(&draws);
}

typedef struct Child {
  pid_t pid; // 0: free
  int outcomes, errors;
  uint64_t next, end; // seeds
  double since;       // it last sent something
  Outcome partly;
  size_t received;
} Child;

static void sendAll(int file, const void *data, size_t bytes) {
  for (size_t sent = 0; sent < bytes;) {
    ssize_t n = write(file, (const char *)data + sent, bytes - sent);
    if (n <= 0)
      _exit(3);
    sent += (size_t)n;
  }
}

/// Forks. In the child: `*outFile` takes outcomes, standard error goes to a file that the parent
/// reads.
static pid_t startChild(int *outFile, int *outErrors) {
  int ends[2];
  char name[] = "/tmp/fuzz-graphs-XXXXXX";
  if (pipe(ends) != 0 || (*outErrors = mkstemp(name)) < 0)
    stopWith("cannot start a child");
  unlink(name);
  fflush(NULL);
  pid_t pid = fork();
  if (pid < 0)
    stopWith("cannot start a child");
  if (pid == 0) {
    close(ends[0]);
    dup2(*outErrors, STDERR_FILENO);
    *outFile = ends[1];
    return 0;
  }
  close(ends[1]);
  *outFile = ends[0];
  return pid;
}

/// What the child said last on standard error.
static void readErrors(int file, char *out, size_t outBytes) {
  off_t size = lseek(file, 0, SEEK_END);
  off_t begin = size > (off_t)outBytes - 1 ? size - ((off_t)outBytes - 1) : 0;
  ssize_t n = pread(file, out, outBytes - 1, begin);
  out[n > 0 ? n : 0] = 0;
  for (char *c = out; *c; ++c)
    if (*c == '\n')
      *c = ' ';
}

static void describeEnd(Child *child, int status, bool hung, Outcome *out) {
  *out = (Outcome){.seed = child->next};
  readErrors(child->errors, out->message, sizeof out->message);
  size_t n = strlen(out->message);
  if (hung) {
    out->verdict = HUNG;
  } else if (WIFSIGNALED(status)) {
    out->verdict = CRASHED;
    snprintf(out->message + n, sizeof out->message - n, "%s", strsignal(WTERMSIG(status)));
  } else {
    out->verdict = FAILED;
  }
}

static void endChild(Child *child, bool kill9) {
  if (kill9)
    kill(child->pid, SIGKILL);
  close(child->outcomes);
  close(child->errors);
  child->pid = 0;
}

static void runBatch(const Options *options, Child *child, int file) {
  for (uint64_t seed = child->next; seed < child->end; ++seed) {
    Outcome outcome;
    runSeed(options, seed, &outcome);
    sendAll(file, &outcome, sizeof outcome);
  }
  _exit(0);
}

//===----------------------------------------------------------------------===//
// Reduction
//===----------------------------------------------------------------------===//

/// A message without its numbers and places, to tell faults apart.
static void signatureOf(const Outcome *outcome, char *out, size_t outBytes) {
  size_t n = (size_t)snprintf(out, outBytes, "%s: ", verdictName(outcome->verdict));
  const char *text = outcome->message;
  if (outcome->verdict == WRONG) { // which result differs by how much is not the fault
    bool replica = strstr(text, "hold the same part") != NULL,
         wrote = strstr(text, " wrote ") != NULL;
    snprintf(out + n, outBytes - n, "%s",
             replica ? "replicas differ"
             : wrote ? "stray write"
                     : "value");
    return;
  }
  for (; *text && n + 1 < outBytes; ++text)
    if (*text < '0' || *text > '9')
      out[n++] = *text;
  out[n] = 0;
}

static void runForked(const Options *options, const Program *program, uint64_t seed, Outcome *out) {
  int file;
  Child child = {.next = seed};
  child.pid = startChild(&file, &child.errors);
  if (child.pid == 0) {
    *out = (Outcome){.seed = seed};
    checkProgram(program, NULL, out);
    sendAll(file, out, sizeof *out);
    _exit(0);
  }
  child.outcomes = file;
  size_t received = 0;
  double end = now() + options->seconds;
  while (received < sizeof *out) {
    struct pollfd wait = {.fd = file, .events = POLLIN};
    double left = end - now();
    if (left <= 0 || poll(&wait, 1, (int)(1000 * left) + 1) <= 0)
      break;
    ssize_t got = read(file, (char *)out + received, sizeof *out - received);
    if (got <= 0)
      break;
    received += (size_t)got;
  }
  bool hung = received < sizeof *out && now() >= end;
  if (hung)
    kill(child.pid, SIGKILL);
  int status = 0;
  waitpid(child.pid, &status, 0);
  if (received < sizeof *out)
    describeEnd(&child, status, hung, out);
  endChild(&child, false);
}

typedef struct Reduction {
  const Options *options;
  uint32_t *choices;
  size_t n;
  uint64_t seed;
  char signature[400];
  int trials;
  double end;
} Reduction;

/// Keeps the choices, as the program made them, if they fail in the same way.
static bool tryChoices(Reduction *r, uint32_t *choices, size_t n) {
  if (r->trials >= MAX_TRIALS || now() > r->end)
    return false;
  ++r->trials;
  Outcome outcome;
  char signature[400];
  Draws draws = {.replayed = choices, .nReplayed = n, .replaying = true};
  Program program;
  programCreate(&draws, !r->options->even, &program);
  program.brief = true;
  runForked(r->options, &program, r->seed, &outcome);
  programRelease(&program);
  drawsRelease(&draws);
  signatureOf(&outcome, signature, sizeof signature);
  if (outcome.verdict == PASSED || strcmp(signature, r->signature))
    return false;
  memcpy(r->choices, choices, n * sizeof *choices);
  r->n = n;
  return true;
}

static bool tryWithout(Reduction *r, size_t begin, size_t length, uint32_t *scratch) {
  if (begin >= r->n)
    return false;
  if (begin + length > r->n)
    length = r->n - begin;
  memcpy(scratch, r->choices, begin * sizeof *scratch);
  memcpy(scratch + begin, r->choices + begin + length, (r->n - begin - length) * sizeof *scratch);
  return tryChoices(r, scratch, r->n - length);
}

static bool trySmaller(Reduction *r, size_t at, uint32_t value, uint32_t *scratch) {
  memcpy(scratch, r->choices, r->n * sizeof *scratch);
  scratch[at] = value;
  return tryChoices(r, scratch, r->n);
}

/// Where ops begin when the choices are replayed.
static size_t spansOf(const Reduction *r, size_t *out, size_t most) {
  Draws draws = {.replayed = r->choices, .nReplayed = r->n, .replaying = true};
  Program program;
  programCreate(&draws, !r->options->even, &program);
  size_t n = draws.nSpans < most ? draws.nSpans : most;
  memcpy(out, draws.spans, n * sizeof *out);
  programRelease(&program);
  drawsRelease(&draws);
  return n;
}

static void reduce(Reduction *r) {
  uint32_t *scratch = malloc((r->n + 1) * sizeof *scratch);
  size_t spans[512];
  if (!scratch)
    stopWith("out of memory");
  bool smaller = true;
  while (smaller && r->trials < MAX_TRIALS && now() < r->end) {
    smaller = false;
    size_t nSpans = spansOf(r, spans, 512);
    for (size_t length = nSpans / 2 ? nSpans / 2 : 1; length >= 1;
         length /= 2) // several ops at once
      for (size_t i = nSpans; i-- > 0;) {
        size_t end = i + length < nSpans ? spans[i + length] : r->n;
        if (i + length > nSpans || end <= spans[i] || end > r->n)
          continue;
        if (tryWithout(r, spans[i], end - spans[i], scratch)) {
          smaller = true;
          nSpans = spansOf(r, spans, 512);
        }
      }
    for (size_t at = 0; at < r->n; ++at)
      if (r->choices[at] && trySmaller(r, at, 0, scratch))
        smaller = true;
      else if (r->choices[at] > 1 && trySmaller(r, at, r->choices[at] / 2, scratch))
        smaller = true;
  }
  free(scratch);
}

/// Whether the program still fails in the same way with `text` as its module; then it has it.
static bool tryText(Reduction *r, Program *program, Text *text) {
  if (r->trials >= MAX_CUTS || now() > r->end)
    return false;
  ++r->trials;
  Program smaller = *program;
  smaller.brief = true;
  smaller.module = *text;
  smaller.plain = (Text){0};
  stripShardings(&smaller.plain, text->data);
  Outcome outcome;
  char signature[400];
  runForked(r->options, &smaller, r->seed, &outcome);
  signatureOf(&outcome, signature, sizeof signature);
  if (outcome.verdict == PASSED || strcmp(signature, r->signature)) {
    textRelease(&smaller.plain);
    return false;
  }
  textRelease(&program->module);
  textRelease(&program->plain);
  program->module = *text;
  program->plain = smaller.plain;
  *text = (Text){0};
  return true;
}

/// One result, then op by op, on the text.
static void cut(Reduction *r, Program *program) {
  r->trials = 0;
  int nResults = cutResultCount(program->module.data);
  for (int i = 0; i < nResults && nResults > 1; ++i) {
    Text text = {0};
    bool done = cutProgram(program->module.data, i, 0, &text) && tryText(r, program, &text);
    textRelease(&text);
    if (done)
      break;
  }
  for (bool smaller = true; smaller && r->trials < MAX_CUTS && now() < r->end;) {
    smaller = false;
    for (int number = 0;;) {
      Text text = {0};
      bool exists = cutProgram(program->module.data, -1, number, &text);
      bool taken = exists && text.data && tryText(r, program, &text);
      textRelease(&text);
      if (!exists || now() > r->end)
        break;
      smaller |= taken;
      number += !taken; // the next one has its number now
    }
  }
}

/// Reduces the program of a seed and prints it; keeps it as a file where --keep says.
static void report(const Options *options, const Outcome *outcome) {
  Draws draws = {.state = outcome->seed};
  Program program;
  programCreate(&draws, !options->even, &program);
  Reduction r = {.options = options, .n = draws.nMade, .seed = outcome->seed, .end = now() + 60};
  r.choices = draws.made;
  if (options->reduce && outcome->verdict != HUNG) {
    signatureOf(outcome, r.signature, sizeof r.signature);
    reduce(&r);
    Draws again = {.replayed = r.choices, .nReplayed = r.n, .replaying = true};
    programRelease(&program);
    programCreate(&again, !options->even, &program);
    drawsRelease(&again);
    int trials = r.trials;
    r.end += 60;
    cut(&r, &program);
    r.trials += trials;
  }
  Text text = {0};
  textAppend(&text, "// Seed %" PRIu64 ", %s: %s\n// Reduced in %d trials.\n", outcome->seed,
             verdictName(outcome->verdict), outcome->message, r.trials);
  textAppend(&text, "// shard-run --auto-shard=%s --check=ORIGINAL%s --seed=%" PRIu64 " THIS\n%s",
             program.degrees, program.exact ? " --exact" : "", outcome->seed, program.module.data);
  if (options->keep) {
    char name[64];
    snprintf(name, sizeof name, "seed-%" PRIu64 ".mlir", outcome->seed);
    writeFile(options->keep, name, text.data);
    snprintf(name, sizeof name, "seed-%" PRIu64 ".original.mlir", outcome->seed);
    writeFile(options->keep, name, program.plain.data);
  }
  printf("%s\n", text.data);
  textRelease(&text);
  programRelease(&program);
  drawsRelease(&draws);
}

//===----------------------------------------------------------------------===//
// Totals
//===----------------------------------------------------------------------===//

typedef struct Totals {
  uint64_t verdicts[HUNG + 1], counted; // counted: neither refused nor failing
  uint64_t rows[MAX_ROWS], collective, uneven, partial, reshape, callOrLoop, exact, ops, ranks;
  uint64_t dull; // passed, with a rank whose shard changes nothing
  Outcome *findings;
  size_t nFindings;
  Outcome *refusals;
  size_t nRefusals;
  Outcome *inexact; // passed, within a bar
  size_t nInexact;
} Totals;

static void count(Totals *totals, const Outcome *outcome, const Options *options) {
  ++totals->verdicts[outcome->verdict];
  bool finding = outcome->verdict != REFUSED || options->refused;
  if (!finding && totals->nRefusals < MAX_FINDINGS)
    totals->refusals[totals->nRefusals++] = *outcome;
  if (outcome->verdict != PASSED) {
    if (finding && totals->nFindings < MAX_FINDINGS) {
      totals->findings[totals->nFindings++] = *outcome;
      if (!options->quiet)
        printf("seed %" PRIu64 ": %s: %s\n", outcome->seed, verdictName(outcome->verdict),
               outcome->message);
      fflush(stdout);
    }
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
  if (!outcome->exact && totals->nInexact < MAX_FINDINGS)
    totals->inexact[totals->nInexact++] = *outcome;
  totals->ops += (uint64_t)outcome->nOps;
  totals->ranks += (uint64_t)outcome->nRanks;
}

/// Prints a share of the programs and whether it is as large as wanted.
static bool share(const char *what, uint64_t part, uint64_t all, double least,
                  const Options *options) {
  double percent = all ? 100.0 * (double)part / (double)all : 0;
  // Less what chance takes from a small sample: three standard deviations.
  double p = least / 100, slack = all && all < 10000 ? 300 * sqrt(p * (1 - p) / (double)all) : 0;
  bool held = percent >= least - slack;
  printf("%-44s %6.1f %%  (at least %g)%s\n", what, percent, least,
         held || !options->enforce ? "" : "  TOO FEW");
  return held;
}

static int compareSignatures(const void *a, const void *b) {
  char x[400], y[400];
  signatureOf(a, x, sizeof x);
  signatureOf(b, y, sizeof y);
  return strcmp(x, y);
}

/// Messages that occurred, each with how often and the first seed.
static void printKinds(const char *title, Outcome *outcomes, size_t n, size_t most) {
  if (n == 0)
    return;
  qsort(outcomes, n, sizeof *outcomes, compareSignatures);
  printf("%s\n", title);
  for (size_t i = 0, kinds = 0; i < n && kinds < most; ++kinds) {
    size_t end = i + 1;
    while (end < n && compareSignatures(&outcomes[i], &outcomes[end]) == 0)
      ++end;
    printf("  %6zu  seed %" PRIu64 "  %s: %s\n", end - i, outcomes[i].seed,
           verdictName(outcomes[i].verdict), outcomes[i].message);
    i = end;
  }
}

static bool printTotals(const Options *options, Totals *totals) {
  uint64_t all = options->count;
  printf("programs: %" PRIu64 " from seed %" PRIu64 ": ", all, options->first);
  for (int v = 0; v <= HUNG; ++v)
    printf("%s%" PRIu64 " %s", v ? ", " : "", totals->verdicts[v], verdictName((Verdict)v));
  printf("\n%.1f ops and %.1f ranks a program\n",
         totals->counted ? (double)totals->ops / (double)totals->counted : 0,
         totals->counted ? (double)totals->ranks / (double)totals->counted : 0);
  printKinds("refused:", totals->refusals, totals->nRefusals, 40);
  printKinds("findings:", totals->findings, totals->nFindings, 40);
  bool held = totals->nFindings == 0;
  if (options->one)
    return held;
  uint64_t n = totals->counted;
  held &= share("hold a collective", totals->collective, n, 50, options);
  held &= share("an uneven dimension", totals->uneven, n, options->even ? 0 : 30, options);
  held &= share("a partial value crosses an op", totals->partial, n, 20, options);
  held &= share("a reshape across a sharded dimension", totals->reshape, n, 20, options);
  held &= share("a call or a loop", totals->callOrLoop, n, 10, options);
  printKinds("compared within a bar:", totals->inexact, totals->nInexact, 12);
  held &= share("compared bit by bit", totals->exact, n, 50, options);
  held &= share("each rank's shard changes a result", n, n + totals->dull, 98, options);
  held &= share("not refused", all - totals->verdicts[REFUSED], all, 99, options);
  // 100 of 10,000, less what chance takes from a smaller sample.
  uint64_t least = n / 100, poor = 0;
  if (n < 10000)
    least /= 4;
  for (int row = 0; row < rowCount(); ++row)
    if (totals->rows[row] < least || !rowIsMade(row)) {
      printf("%s row '%s': in %" PRIu64 " programs, at least %" PRIu64 " wanted\n",
             poor++ ? "" : "op table:\n", rowName(row), totals->rows[row], least);
    }
  printf("rows of the op table: %d, of which %" PRIu64 " are in fewer than %" PRIu64 " programs\n",
         rowCount(), poor, least);
  held &= poor == 0;
  return options->enforce ? held : totals->nFindings == 0;
}

//===----------------------------------------------------------------------===//
// Main
//===----------------------------------------------------------------------===//

static void refill(const Options *options, Child *child, uint64_t *next) {
  uint64_t end = options->first + options->count;
  if (child->next == child->end) {
    if (*next == end)
      return;
    child->next = *next;
    child->end = end - *next < BATCH ? end : *next + BATCH;
    *next = child->end;
  }
  int file;
  child->received = 0;
  child->since = now();
  child->pid = startChild(&file, &child->errors);
  if (child->pid == 0)
    runBatch(options, child, file);
  child->outcomes = file;
}

/// Takes what a child sent; false at its end.
static bool receive(Child *child, Totals *totals, const Options *options) {
  ssize_t n = read(child->outcomes, (char *)&child->partly + child->received,
                   sizeof child->partly - child->received);
  if (n <= 0)
    return false;
  child->received += (size_t)n;
  if (child->received == sizeof child->partly) {
    count(totals, &child->partly, options);
    child->received = 0;
    child->since = now();
    ++child->next;
  }
  return true;
}

static void runAll(const Options *options, Totals *totals) {
  Child children[MAX_JOBS] = {{0}};
  uint64_t next = options->first;
  for (;;) {
    struct pollfd files[MAX_JOBS];
    Child *of[MAX_JOBS];
    int n = 0;
    for (int i = 0; i < options->jobs; ++i) {
      if (!children[i].pid)
        refill(options, &children[i], &next);
      if (!children[i].pid)
        continue;
      of[n] = &children[i];
      files[n++] = (struct pollfd){.fd = children[i].outcomes, .events = POLLIN};
    }
    if (n == 0)
      return;
    poll(files, (nfds_t)n, 1000);
    for (int i = 0; i < n; ++i) {
      Child *child = of[i];
      bool hung = now() - child->since > options->seconds;
      if (!hung && (!files[i].revents || receive(child, totals, options)))
        continue;
      if (hung)
        kill(child->pid, SIGKILL);
      int status = 0;
      waitpid(child->pid, &status, 0);
      if (child->next < child->end) { // it ended before its batch did
        Outcome outcome;
        describeEnd(child, status, hung, &outcome);
        count(totals, &outcome, options);
        ++child->next;
      }
      endChild(child, false);
    }
  }
}

static uint64_t numberOf(const char *text) {
  char *end;
  errno = 0;
  uint64_t value = strtoull(text, &end, 10);
  if (*end || end == text || errno)
    stopWith("expected a number");
  return value;
}

int main(int argc, char **argv) {
  Options options = {.count = 200,
                     .jobs = (int)sysconf(_SC_NPROCESSORS_ONLN),
                     .seconds = 60,
                     .enforce = true,
                     .reduce = true};
  const char *print = NULL;
  for (int i = 1; i < argc; ++i) {
    const char *text = argv[i], *equals = strchr(text, '=');
    const char *value = equals ? equals + 1 : "";
    size_t n = equals ? (size_t)(equals - text) : strlen(text);
#define IS(name) (n == strlen(name) && !strncmp(text, name, n))
    if (IS("--first"))
      options.first = numberOf(value);
    else if (IS("--count"))
      options.count = numberOf(value);
    else if (IS("--seed")) // one program
      options.first = numberOf(value), options.count = 1, options.one = true;
    else if (IS("--print")) // the program of a seed, not run
      options.first = numberOf(value), print = value;
    else if (IS("--jobs"))
      options.jobs = (int)numberOf(value);
    else if (IS("--seconds"))
      options.seconds = (int)numberOf(value);
    else if (IS("--even"))
      options.even = true;
    else if (IS("--no-enforce"))
      options.enforce = false;
    else if (IS("--no-reduce"))
      options.reduce = false;
    else if (IS("--quiet"))
      options.quiet = true;
    else if (IS("--refused")) // refusals are findings
      options.refused = true;
    else if (IS("--keep"))
      options.keep = value;
    else if (IS("--stock"))
      options.stock = value;
    else if (IS("--stock-count"))
      options.nStock = (int)numberOf(value);
    else
      stopWith("unknown option; see Main.c");
#undef IS
  }
  if (options.jobs < 1 || options.jobs > MAX_JOBS)
    options.jobs = 1;
  if (print) {
    Draws draws = {.state = options.first};
    Program program;
    programCreate(&draws, !options.even, &program);
    printf("// --auto-shard=%s%s\n%s", program.degrees, program.exact ? " --exact" : "",
           program.module.data);
    return 0;
  }
  Totals totals = {.findings = malloc(MAX_FINDINGS * sizeof(Outcome)),
                   .refusals = malloc(MAX_FINDINGS * sizeof(Outcome)),
                   .inexact = malloc(MAX_FINDINGS * sizeof(Outcome))};
  if (!totals.findings || !totals.refusals || !totals.inexact)
    stopWith("out of memory");
  runAll(&options, &totals);
  bool held = printTotals(&options, &totals);
  // One of each kind of finding, sorted by now.
  for (size_t i = 0, reduced = 0; i < totals.nFindings && reduced < MAX_REDUCED; ++i)
    if (i == 0 || compareSignatures(&totals.findings[i - 1], &totals.findings[i])) {
      report(&options, &totals.findings[i]);
      ++reduced;
    }
  return held ? 0 : 1;
}
