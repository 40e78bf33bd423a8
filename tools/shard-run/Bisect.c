//===- Bisect.c - The first op whose value differs ----------------*- C -*-===//
#define _GNU_SOURCE

#include "Bisect.h"
#include "../model/Element.h"
#include "Execute.h"
#include "Memory.h"
#include "Sizes.h"

#include "shard/Taps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CALLS = 16 };

typedef struct Bisection {
  Compiler *compiler;
  const Compiled *program, *original;
  const ValueOptions *valueOptions;
  intptr_t nCalls;
  int64_t calls[MAX_CALLS];  // the layer looked into: ops of the calls that lead there
  char *origins[MAX_CALLS];  // of those calls, for messages
  double tolerance;          // below 0: by type
  const int64_t *dims;       // extents of both programs, null: they have none
  size_t nCompared, nRounds; // values, pairs of runs
} Bisection;

/// One side of a round.
typedef struct Side {
  MlirOperation module;
  ShardTaps *taps;
  Compiled compiled;
  Execution execution;
} Side;

static void createSide(const Bisection *b, const Compiled *from, const Side *whole, Side *out) {
  *out = (Side){.module = mlirOperationClone(from->sharded)};
  out->taps = shardTapsCreate(out->module, b->nCalls, b->calls, whole ? whole->taps : NULL);
  if (!out->taps)
    stop("the program has no function to look into");
  compileSharded(b->compiler, b->compiler->options->program, out->module, &out->compiled);
}

static void releaseSide(Side *side) {
  executionRelease(&side->execution);
  compiledRelease(&side->compiled);
  shardTapsDestroy(side->taps);
  mlirOperationDestroy(side->module);
}

/// `zeros`: arguments have zeros in the padding of dynamic dimensions, else poison.
static void runSide(const Bisection *b, Side *side, const Reference *reference,
                    const void *const *valid, bool zeros) {
  const ShardProgram *program = side->compiled.program;
  ShardProgram *sized = b->dims ? sizesApply(program, b->dims) : NULL;
  ValueSet values;
  valuesCreate(sized ? sized : program, b->valueOptions, &values);
  if (sized)
    sizesPadValues(program, b->dims, zeros, &values);
  ExecuteOptions options = {.iterations = 1,
                            .nReferences = reference != NULL,
                            .references = reference,
                            .keepResults = reference == NULL,
                            .dims = b->dims,
                            .valid = (const unsigned char *const *)valid};
  executeProgram(program, &values, &options, &side->execution);
  valuesRelease(&values);
  free(sized);
}

static const ShardTap *findTap(const ShardTaps *taps, const ShardTap *like) {
  for (intptr_t i = 0; i < shardTapsGetCount(taps); ++i) {
    const ShardTap *tap = shardTapsGet(taps, i);
    if (tap->op == like->op && tap->part == like->part)
      return tap;
  }
  return NULL;
}

static const ResultCheck *findCheck(const Execution *execution, int64_t result) {
  for (size_t i = 0; i < execution->nChecks; ++i)
    if (execution->checks[i].index == result)
      return &execution->checks[i];
  return NULL;
}

static size_t resultCount(const ShardProgram *table) {
  size_t n = 0;
  for (int32_t i = 0; i < table->nResults; ++i)
    n = (size_t)table->results[i].index >= n ? (size_t)table->results[i].index + 1 : n;
  return n;
}

/// What belongs to results of the original, by the program's own result numbers: its taps' where
/// the original has that value. To be freed with free().
static const void **byProgram(const Side *original, const Side *program,
                              const void *const *ofOriginal) {
  size_t n = resultCount(program->compiled.program);
  const void **values = memoryZeroed(n * sizeof *values);
  for (size_t i = 0; i < n && i < original->execution.nResults; ++i)
    values[i] = ofOriginal[i];
  for (intptr_t i = 0; i < shardTapsGetCount(program->taps); ++i) {
    const ShardTap *tap = shardTapsGet(program->taps, i);
    values[tap->result] = ofOriginal[findTap(original->taps, tap)->result];
  }
  return values;
}

static Reference referTo(const Bisection *b, const Side *original, const Side *program) {
  return (Reference){
      .what = "the unsharded program",
      .nResults = resultCount(program->compiled.program),
      .values = byProgram(original, program, (const void *const *)original->execution.results),
      .tolerance = b->tolerance,
      .own = true};
}

/// Which elements of the original's results count, a byte each, by its result numbers: those that
/// stay the same whatever the padding of arguments holds. Extents of values inside are not known.
static const void **findKnown(const Bisection *b, Side *original) {
  Execution first = original->execution;
  original->execution = (Execution){0};
  runSide(b, original, NULL, NULL, true);
  const ShardProgram *table = original->compiled.program;
  const void **known = memoryZeroed(first.nResults * sizeof *known);
  for (int32_t i = 0; i < table->nResults; ++i) {
    const ShardProgramValue *value = &table->results[i];
    const char *x = first.results[value->index], *y = original->execution.results[value->index];
    size_t count = 1, bytes = elementBytes(value->element);
    for (int32_t d = 0; d < value->rank; ++d)
      count *= (size_t)value->globalShape[d];
    unsigned char *same = memoryZeroed(count + 1);
    for (size_t k = 0; k < count && x && y; ++k)
      same[k] = memcmp(x + k * bytes, y + k * bytes, bytes) == 0;
    known[value->index] = same;
  }
  executionRelease(&original->execution);
  original->execution = first;
  return known;
}

/// The tap of the least op of the original whose check failed; among those of one op the first in
/// the program.
static const ShardTap *firstFailure(const Side *program) {
  const ShardTap *first = NULL;
  for (intptr_t i = 0; i < shardTapsGetCount(program->taps); ++i) {
    const ShardTap *tap = shardTapsGet(program->taps, i);
    const ResultCheck *check = findCheck(&program->execution, tap->result);
    if (check && !check->held && (!first || tap->op < first->op))
      first = tap;
  }
  return first;
}

static const ShardProgramValue *findResult(const ShardProgram *program, int64_t index) {
  for (int32_t i = 0; i < program->nResults; ++i)
    if (program->results[i].index == index)
      return &program->results[i];
  return NULL;
}

static void printFirst(const Bisection *b, const Side *program, const ShardTap *tap) {
  const ResultCheck *check = findCheck(&program->execution, tap->result);
  char place[512];
  valuesFormatPlace(findResult(program->compiled.program, tap->result), check->first.at, place,
                    sizeof place);
  fflush(stdout);
  if (tap->op == INT64_MAX)
    fprintf(stderr, "mismatch: first in result %" PRId64 ", %s", tap->result, tap->origin);
  else
    fprintf(stderr, "mismatch: first in %s", tap->origin);
  if (strncmp(tap->origin, tap->maker, strlen(tap->maker)) != 0)
    fprintf(stderr, " as %s leaves it", tap->maker);
  for (intptr_t i = b->nCalls - 1; i >= 0; --i)
    fprintf(stderr, ", inside %s", b->origins[i]);
  fprintf(stderr,
          ": %.9g for %.9g at %s on rank %" PRId64 ", sharding %s; largest error %.3g (bar %.3g)\n",
          check->first.got, check->first.expected, place, check->first.rank, tap->sharding,
          check->error, check->tolerance);
}

/// One pair of runs. Returns whether something was found; goes one layer down if it is a layer.
static bool runRound(Bisection *b, bool *outDescend) {
  Side original, program;
  *outDescend = false;
  createSide(b, b->original, NULL, &original);
  createSide(b, b->program, &original, &program);
  bool found = false;
  if (shardTapsGetCount(program.taps) > 0) {
    runSide(b, &original, NULL, NULL, false);
    const void **known = b->dims ? findKnown(b, &original) : NULL;
    const void **valid = known ? byProgram(&original, &program, known) : NULL;
    Reference reference = referTo(b, &original, &program);
    runSide(b, &program, &reference, valid, false);
    for (size_t i = 0; known && i < original.execution.nResults; ++i)
      free((void *)known[i]);
    free(known);
    free(valid);
    free((void *)reference.values);
    ++b->nRounds;
    b->nCompared += (size_t)shardTapsGetCount(program.taps);
    const ShardTap *first = firstFailure(&program);
    found = first != NULL;
    if (found && first->callee && b->nCalls < MAX_CALLS) {
      // What is not inside the layer is the layer's own fault.
      b->calls[b->nCalls] = first->op;
      b->origins[b->nCalls++] = strdup(first->origin);
      bool deeper;
      *outDescend = runRound(b, &deeper);
      free(b->origins[--b->nCalls]);
    }
    if (found && !*outDescend)
      printFirst(b, &program, first);
  }
  releaseSide(&program);
  releaseSide(&original);
  return found;
}

void bisectCheck(const Compiled *program, const Options *options) {
  if (mlirOperationIsNull(program->sharded))
    stop("--bisect takes a model with --auto-shard, or a sharded program as shard-opt prints it; "
         "'%s' is lowered already",
         options->program);
}

bool bisectProgram(Compiler *compiler, const Compiled *program, const Compiled *original,
                   const ValueOptions *valueOptions, const int64_t *dims) {
  Bisection b = {.compiler = compiler,
                 .program = program,
                 .original = original,
                 .valueOptions = valueOptions,
                 .dims = dims,
                 .tolerance = compiler->options->rtol};
  bool descend, found = runRound(&b, &descend);
  // Too small to see against the largest value of its tensor: any difference will do.
  for (int again = 0; !found && again < 1; ++again) {
    b.tolerance = 0;
    found = runRound(&b, &descend);
  }
  if (!compiler->options->quiet)
    printf("bisect: %zu values compared in %zu pair%s of runs%s\n", b.nCompared, b.nRounds,
           b.nRounds == 1 ? "" : "s", found ? "" : ": none differs");
  return found;
}
