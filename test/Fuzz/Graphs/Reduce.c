//===- Reduce.c - A failing program, made small -------------------*- C -*-===//
// First on the choices, whole ops left out and numbers made smaller, then on the text.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE

#include "Cut.h"
#include "Run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TRIALS = 60, MAX_CUTS = 200 };

static void writeFile(const char *folder, const char *name, const char *text) {
  char *path;
  if (asprintf(&path, "%s/%s", folder, name) < 0)
    stopWith("out of memory");
  FILE *file = fopen(path, "w");
  if (!file || fputs(text, file) < 0 || fclose(file) != 0)
    stopWith("cannot write a kept program");
  free(path);
}

/// A message without its numbers and places, to tell faults apart.
void signatureOf(const Outcome *outcome, char *out, size_t outBytes) {
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
  program.brief = true, program.planted = r->options->planted;
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
void report(const Options *options, const Outcome *outcome) {
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
