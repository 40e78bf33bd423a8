//===- CompareResults.c - What is found on ranks ------------------*- C -*-===//
#define _GNU_SOURCE

#include "../model/Element.h"
#include "Memory.h"
#include "Ranks.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void rankAddFault(Run *run, Rank *rank, const char *format, ...) {
  char text[768];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  char **grown = shardRtWorldAllocate(run->world, (rank->nFaults + 1) * sizeof *grown);
  char *copy = shardRtWorldAllocate(run->world, strlen(text) + 1);
  if (!grown || !copy) {
    runAbort(run, "out of memory for a mismatch: %s", text);
    return;
  }
  if (rank->nFaults)
    memcpy(grown, rank->faults, rank->nFaults * sizeof *grown);
  shardRtWorldRelease(run->world, rank->faults);
  rank->faults = grown;
  rank->faults[rank->nFaults++] = strcpy(copy, text);
}

static double tolerance(const Reference *reference, ShardRtElement element) {
  if (!elementIsFloat(element))
    return 0;
  if (reference->tolerance >= 0)
    return reference->tolerance;
  switch (element) {
  case SHARD_RT_F16:
    return 0x1p-9;
  case SHARD_RT_BF16:
    return 0x1p-6;
  case SHARD_RT_F64:
    return reference->own ? 1e-12 : 1e-10;
  default:
    return reference->own ? 1e-5 : 1e-4;
  }
}

typedef struct Compare {
  ShardRtElement element;
  const void *reference;      // whole; null: only magnitudes
  const unsigned char *valid; // by element of the whole; null: all
  const char *local;
  ResultCheck *check;
  int64_t rank;
  int32_t iteration;
} Compare;

static void compareElement(Compare *compare, size_t at, size_t local) {
  ResultCheck *check = compare->check;
  double got = elementRead(compare->element, compare->local, local);
  double expected = elementRead(compare->element, compare->reference, at);
  double difference;
  if (!elementIsFloat(compare->element)) {
    int64_t a = elementReadInteger(compare->element, compare->local, local);
    int64_t b = elementReadInteger(compare->element, compare->reference, at);
    difference = a == b ? 0 : fmax(fabs(got - expected), 1);
  } else if (isnan(got) || isnan(expected)) {
    difference = isnan(got) && isnan(expected) ? 0 : (double)INFINITY;
  } else if (isinf(got) || isinf(expected)) {
    difference = got == expected ? 0 : (double)INFINITY;
  } else {
    difference = fabs(got - expected);
  }
  double error = difference == 0     ? 0
                 : check->maxAbs > 0 ? difference / check->maxAbs
                                     : (double)INFINITY;
  if (check->exact)
    error = difference;
  if (!check->first.any && error > (check->exact ? 0 : check->tolerance))
    check->first = (Difference){true, compare->rank, at, got, expected};
  if (check->rank >= 0 && error <= check->error)
    return;
  size_t bytes = elementBytes(compare->element);
  check->error = error;
  check->rank = compare->rank;
  check->at = at;
  check->got = got;
  check->expected = expected;
  check->iteration = compare->iteration;
  check->ulp = elementIsFloat(compare->element) && isfinite(difference) && difference != 0
                   ? elementUlpDistance(compare->element, compare->local + local * bytes,
                                        (const char *)compare->reference + at * bytes)
                   : 0;
}

static void compareRun(void *user, size_t globalBegin, size_t localBegin, size_t count) {
  Compare *compare = user;
  if (compare->reference) {
    // Equal bits need no arithmetic.
    size_t bytes = elementBytes(compare->element);
    if (compare->check->rank >= 0 &&
        !memcmp(compare->local + localBegin * bytes,
                (const char *)compare->reference + globalBegin * bytes, count * bytes))
      return;
    for (size_t i = 0; i < count; ++i)
      if (!compare->valid || compare->valid[globalBegin + i])
        compareElement(compare, globalBegin + i, localBegin + i);
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    if (compare->valid && !compare->valid[globalBegin + i])
      continue;
    double magnitude = fabs(elementRead(compare->element, compare->local, localBegin + i));
    if (!isfinite(magnitude))
      compare->check->notFinite = true;
    else if (magnitude > compare->check->maxAbs)
      compare->check->maxAbs = magnitude;
  }
}

typedef struct ReplicaCompare {
  const char *mine, *owners;
  const unsigned char *valid; // as above
  size_t elementBytes, differing, first;
} ReplicaCompare;

static void compareReplicaRun(void *user, size_t globalBegin, size_t localBegin, size_t count) {
  ReplicaCompare *compare = user;
  size_t bytes = compare->elementBytes;
  if (!memcmp(compare->mine + localBegin * bytes, compare->owners + localBegin * bytes,
              count * bytes))
    return;
  for (size_t i = 0; i < count; ++i)
    if ((!compare->valid || compare->valid[globalBegin + i]) &&
        memcmp(compare->mine + (localBegin + i) * bytes, compare->owners + (localBegin + i) * bytes,
               bytes)) {
      if (!compare->differing++)
        compare->first = globalBegin + i;
    }
}

static const unsigned char *validOf(const Run *run, const ShardProgramValue *value) {
  return run->options->valid ? run->options->valid[value->index] : NULL;
}

void checksCompare(Run *run, int64_t rankNumber, int32_t iteration) {
  const ShardProgram *program = run->program;
  Rank *rank = &run->ranks[rankNumber];
  for (size_t i = 0; i < run->out->nChecks; ++i) {
    size_t perReference = (size_t)program->nResults;
    int32_t result = (int32_t)(i % perReference);
    const HeldResult *held = &rank->held[result];
    const ShardProgramValue *value = &program->results[result];
    if (held->slot < 0)
      continue;
    Compare compare = {.element = value->element,
                       .local = rank->resultData[held->slot],
                       .valid = validOf(run, value),
                       .check = &rank->checks[i],
                       .rank = rankNumber,
                       .iteration = iteration};
    if (run->options->nReferences)
      compare.reference = run->options->references[i / perReference].values[value->index];
    placementVisit(&held->placement, compareRun, &compare);
  }
  for (int32_t i = 0; i < program->nResults; ++i) {
    const HeldResult *held = &rank->held[i];
    const ShardProgramValue *value = &program->results[i];
    size_t bytes = elementBytes(value->element);
    if (held->slot < 0)
      continue;
    if (held->owner == rankNumber) {
      if (run->options->keepResults && iteration == 0)
        placementJoin(&held->placement, rank->resultData[held->slot],
                      run->out->results[value->index], bytes);
      continue;
    }
    const Rank *owner = &run->ranks[held->owner];
    ReplicaCompare compare = {.mine = rank->resultData[held->slot],
                              .owners = owner->resultData[owner->held[i].slot],
                              .valid = validOf(run, value),
                              .elementBytes = bytes};
    placementVisit(&held->placement, compareReplicaRun, &compare);
    if (compare.differing && !rank->replicaFault[i]) {
      char place[256];
      rank->replicaFault[i] = true; // said once
      valuesFormatPlace(value, compare.first, place, sizeof place);
      rankAddFault(
          run, rank,
          "result %" PRId32 ": ranks %" PRId64 " and %" PRId64
          " hold the same part, but %zu of their elements differ, the first at %s, iteration "
          "%" PRId32,
          value->index, held->owner, rankNumber, compare.differing, place, iteration + 1);
    }
  }
}

void checksCompareGuards(Run *run, int64_t rankNumber) {
  Rank *rank = &run->ranks[rankNumber];
  const ShardProgramStage *stage = &run->program->stages[rank->stage];
  if (rank->guardFault)
    return;
  size_t before = rank->nFaults;
  for (int32_t i = 0; i < stage->nArguments; ++i)
    if (!bufferGuardsHold(&rank->arguments[i]))
      rankAddFault(run, rank, "rank %" PRId64 " wrote outside argument %" PRId32, rankNumber,
                   run->program->arguments[stage->arguments[i]].index);
  for (int32_t i = 0; i < stage->nResults; ++i)
    if (!bufferGuardsHold(&rank->results[i]))
      rankAddFault(run, rank, "rank %" PRId64 " wrote outside result %" PRId32, rankNumber,
                   run->program->results[stage->results[i]].index);
  if (!bufferGuardsHold(&rank->workspace))
    rankAddFault(run, rank, "rank %" PRId64 " wrote outside its workspace", rankNumber);
  rank->guardFault = rank->nFaults > before;
}

void checksCompareArguments(Run *run, int64_t rankNumber) {
  Rank *rank = &run->ranks[rankNumber];
  const ShardProgramStage *stage = &run->program->stages[rank->stage];
  for (int32_t i = 0; i < stage->nArguments; ++i) {
    const ShardProgramValue *value = &run->program->arguments[stage->arguments[i]];
    if (strcmp(value->role, "state") && rank->hashes[i] != bufferHash(&rank->arguments[i]))
      rankAddFault(run, rank, "rank %" PRId64 " wrote to argument %" PRId32, rankNumber,
                   value->index);
  }
}

void checksCreate(Run *run) {
  const ShardProgram *program = run->program;
  Execution *out = run->out;
  size_t nResults = (size_t)program->nResults;
  size_t nGroups = run->options->nReferences ? run->options->nReferences : 1;
  out->nChecks = nResults * nGroups;
  out->checks = memoryZeroed(out->nChecks * sizeof *out->checks);
  for (size_t i = 0; i < out->nChecks; ++i) {
    const ShardProgramValue *value = &program->results[i % nResults];
    ResultCheck *check = &out->checks[i];
    check->index = value->index;
    check->rank = -1;
    check->held = true;
    check->exact = !elementIsFloat(value->element);
    if (!run->options->nReferences)
      continue;
    const Reference *reference = &run->options->references[i / nResults];
    check->what = reference->what;
    check->tolerance = reference->exact && reference->exact[value->index]
                           ? 0
                           : tolerance(reference, value->element);
    const void *whole = reference->values[value->index];
    size_t count = valueGlobalCount(value);
    for (size_t k = 0; k < count; ++k) {
      double magnitude = fabs(elementRead(value->element, whole, k));
      if (!isfinite(magnitude))
        check->notFinite = true;
      else if (magnitude > check->maxAbs)
        check->maxAbs = magnitude;
    }
  }
}

void checksMerge(Run *run) {
  Execution *out = run->out;

  for (size_t i = 0; i < out->nChecks; ++i) {
    ResultCheck *check = &out->checks[i];
    for (int64_t r = 0; r < out->nRanks; ++r) {
      const ResultCheck *other = &run->ranks[r].checks[i];
      check->notFinite |= other->notFinite;
      if (!check->what && other->maxAbs > check->maxAbs)
        check->maxAbs = other->maxAbs;
      Difference first = check->first.any ? check->first : other->first;
      if (other->rank >= 0 && (check->rank < 0 || other->error > check->error))
        *check = *other;
      check->first = first;
    }
    if (check->what)
      check->held = check->exact ? check->error == 0 : check->error <= check->tolerance;
  }
}
