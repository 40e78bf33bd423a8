//===- Execute.c - Run a program on ranks of this machine ---------*- C -*-===//
// Ranks are threads, or processes with shared memory. Each owns its buffers, each between two guard
// zones. A rank's results are compared on the rank, between two barriers, so that replicas can be
// read by each other.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE

#include "Execute.h"
#include "../model/Element.h"
#include "Memory.h"

#include "shard/Runtime.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { GUARD_BYTES = 256, GUARD_PATTERN = 0xa5, NAN_PATTERN = 0xff };

typedef struct Buffer {
  char *base, *data;
  size_t totalBytes, sizeBytes;
} Buffer;

/// One program result of a rank: where it lies and who else holds the same part.
typedef struct HeldResult {
  Placement placement;
  int64_t owner; // lowest rank with an equal placement
  int32_t slot;  // number among the stage's results; -1: this rank has no part
} HeldResult;

typedef struct Rank {
  int32_t stage;
  Buffer *arguments, *results, workspace;
  void **argumentData, **resultData;
  HeldResult *held;    // [program->nResults]
  ResultCheck *checks; // [nChecks]
  int64_t bytes[SHARD_RT_N_KINDS];
  char **faults;
  size_t nFaults;
  uint64_t *hashes;   // [the stage's arguments] as they were filled
  bool *replicaFault; // [program->nResults] said already
} Rank;

typedef struct Run {
  const ShardProgram *program;
  const ValueSet *values;
  const ExecuteOptions *options;
  Execution *out;
  ShardRtWorld *world; // whose memory holds what ranks write
  Rank *ranks;
  double *seconds; // [iterations], written by rank 0
} Run;

static void *worldMemory(Run *run, size_t sizeBytes) {
  void *memory = shardRtWorldAllocate(run->world, sizeBytes);
  if (!memory)
    stop("out of memory: %zu bytes", sizeBytes);
  return memory;
}

static size_t bufferTotal(size_t sizeBytes) {
  return (sizeBytes + 2 * GUARD_BYTES + 4095) / 4096 * 4096;
}

/// Ranks end the run through the world, so that one of them is heard, be they threads or processes.
static void abortRun(Run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void abortRun(Run *run, const char *format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  shardRtWorldAbort(run->world, text);
}

static bool bufferCreate(Run *run, size_t sizeBytes, Buffer *out) {
  Buffer buffer = {.sizeBytes = sizeBytes, .totalBytes = bufferTotal(sizeBytes)};
  if (run->options->isolated)
    buffer.base =
        shardRtWorldAllocate(run->world, buffer.totalBytes); // others read and write it directly
  else
    buffer.base =
        mmap(NULL, buffer.totalBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!buffer.base || buffer.base == MAP_FAILED) {
    abortRun(run, "out of memory: %zu bytes for a buffer", sizeBytes);
    return false;
  }
#ifdef MADV_HUGEPAGE
  if (sizeBytes >= (size_t)1 << 21)
    madvise(buffer.base, buffer.totalBytes, MADV_HUGEPAGE); // advice only
#endif
  buffer.data = buffer.base + GUARD_BYTES;
  memset(buffer.base, GUARD_PATTERN, GUARD_BYTES);
  memset(buffer.data + sizeBytes, GUARD_PATTERN, buffer.totalBytes - GUARD_BYTES - sizeBytes);
  *out = buffer;
  return true;
}

static void bufferRelease(Run *run, Buffer *buffer) {
  if (buffer->base && run->options->isolated)
    shardRtWorldRelease(run->world, buffer->base);
  else if (buffer->base)
    munmap(buffer->base, buffer->totalBytes);
  *buffer = (Buffer){0};
}

static bool isGuard(const char *bytes, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if ((unsigned char)bytes[i] != GUARD_PATTERN)
      return false;
  return true;
}

static bool bufferGuardsHold(const Buffer *buffer) {
  return isGuard(buffer->base, GUARD_BYTES) &&
         isGuard(buffer->data + buffer->sizeBytes,
                 buffer->totalBytes - GUARD_BYTES - buffer->sizeBytes);
}

/// FNV-1a over words (Fowler, Noll, Vo), enough to see that an argument was written.
static uint64_t bufferHash(const Buffer *buffer) {
  uint64_t hash = 0xcbf29ce484222325u, word;
  size_t i = 0;
  for (; i + 8 <= buffer->sizeBytes; i += 8) {
    memcpy(&word, buffer->data + i, 8);
    hash = (hash ^ word) * 0x100000001b3u;
  }
  for (; i < buffer->sizeBytes; ++i)
    hash = (hash ^ (unsigned char)buffer->data[i]) * 0x100000001b3u;
  return hash;
}

static size_t localBytes(const ShardProgramValue *value) {
  size_t bytes = elementBytes(value->element);
  for (int32_t i = 0; i < value->rank; ++i)
    bytes *= (size_t)value->localShape[i];
  return bytes;
}

static size_t globalCount(const ShardProgramValue *value) {
  size_t count = 1;
  for (int32_t i = 0; i < value->rank; ++i)
    count *= (size_t)value->globalShape[i];
  return count;
}

static size_t stagePeakBytes(const ShardProgram *program, int32_t stageIndex) {
  const ShardProgramStage *stage = &program->stages[stageIndex];
  size_t bytes = stage->workspaceBytes(NULL);
  for (int32_t i = 0; i < stage->nArguments; ++i)
    bytes += localBytes(&program->arguments[stage->arguments[i]]);
  for (int32_t i = 0; i < stage->nResults; ++i)
    bytes += localBytes(&program->results[stage->results[i]]);
  return bytes;
}

size_t executeMemoryBytes(const ShardProgram *program, bool keepResults) {
  size_t bytes = 0;
  int64_t nRanks = meshRankCount(program);
  for (int32_t i = 0; i < program->nStages; ++i)
    bytes += stagePeakBytes(program, i) * (size_t)(nRanks / program->nStages);
  for (int32_t i = 0; keepResults && i < program->nResults; ++i)
    bytes += globalCount(&program->results[i]) * elementBytes(program->results[i].element);
  return bytes;
}

static void addFault(Run *run, Rank *rank, const char *text) {
  char **grown = shardRtWorldAllocate(run->world, (rank->nFaults + 1) * sizeof *grown);
  char *copy = shardRtWorldAllocate(run->world, strlen(text) + 1);
  if (!grown || !copy) {
    abortRun(run, "out of memory for a mismatch: %s", text);
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

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

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

static void compareResults(Run *run, int64_t rankNumber, int32_t iteration) {
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
    ReplicaCompare compare = {rank->resultData[held->slot],
                              owner->resultData[owner->held[i].slot],
                              validOf(run, value),
                              bytes,
                              0,
                              0};
    placementVisit(&held->placement, compareReplicaRun, &compare);
    if (compare.differing && !rank->replicaFault[i]) {
      char text[768], place[256];
      rank->replicaFault[i] = true; // said once
      valuesFormatPlace(value, compare.first, place, sizeof place);
      snprintf(text, sizeof text,
               "result %" PRId32 ": ranks %" PRId64 " and %" PRId64
               " hold the same part, but %zu of their elements differ, the first at %s, iteration "
               "%" PRId32,
               value->index, held->owner, rankNumber, compare.differing, place, iteration + 1);
      addFault(run, rank, text);
    }
  }
}

static void checkGuards(Run *run, int64_t rankNumber) {
  Rank *rank = &run->ranks[rankNumber];
  const ShardProgramStage *stage = &run->program->stages[rank->stage];
  char text[256];
  for (int32_t i = 0; i < stage->nArguments; ++i)
    if (!bufferGuardsHold(&rank->arguments[i])) {
      snprintf(text, sizeof text, "rank %" PRId64 " wrote outside argument %" PRId32, rankNumber,
               run->program->arguments[stage->arguments[i]].index);
      addFault(run, rank, text);
    }
  for (int32_t i = 0; i < stage->nResults; ++i)
    if (!bufferGuardsHold(&rank->results[i])) {
      snprintf(text, sizeof text, "rank %" PRId64 " wrote outside result %" PRId32, rankNumber,
               run->program->results[stage->results[i]].index);
      addFault(run, rank, text);
    }
  if (!bufferGuardsHold(&rank->workspace)) {
    snprintf(text, sizeof text, "rank %" PRId64 " wrote outside its workspace", rankNumber);
    addFault(run, rank, text);
  }
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/// Tables that contradict themselves are found before any rank runs.
static Placement placeValue(const ShardProgram *program, const ShardProgramValue *value,
                            int64_t rank) {
  char message[512];
  Placement placement;
  if (!placementCreate(program, value, rank, &placement, message, sizeof message))
    stop("%s", message);
  return placement;
}

static bool createBuffers(Run *run, int64_t rankNumber) {
  const ShardProgram *program = run->program;
  Rank *rank = &run->ranks[rankNumber];
  const ShardProgramStage *stage = &program->stages[rank->stage];
  for (int32_t i = 0; i < stage->nArguments; ++i) {
    const ShardProgramValue *value = &program->arguments[stage->arguments[i]];
    Placement placement = placeValue(program, value, rankNumber);
    if (!bufferCreate(run, localBytes(value), &rank->arguments[i]))
      return false;
    rank->argumentData[i] = rank->arguments[i].data;
    valuesFill(&run->values->sources[value->index], value->element, &placement,
               rank->arguments[i].data);
    if (run->options->disturb)
      run->options->disturb(run->options->userData, value, rankNumber, &placement,
                            rank->arguments[i].data);
    rank->hashes[i] = bufferHash(&rank->arguments[i]);
  }
  for (int32_t i = 0; i < stage->nResults; ++i) {
    if (!bufferCreate(run, localBytes(&program->results[stage->results[i]]), &rank->results[i]))
      return false;
    rank->resultData[i] = rank->results[i].data;
  }
  return bufferCreate(run, stage->workspaceBytes(run->options->dims), &rank->workspace);
}

static int runIterations(Run *run, ShardRtContext *context, int64_t rankNumber) {
  const ShardProgram *program = run->program;
  Rank *rank = &run->ranks[rankNumber];
  const ShardProgramStage *stage = &program->stages[rank->stage];
  ShardRtComm *comm = shardRtContextGetComm(context);
  uint32_t everyone = (1u << program->nAxes) - 1;
  int status = SHARD_RT_OK;
  for (int32_t iteration = 0; iteration < run->options->iterations; ++iteration) {
    bool checked = iteration == 0 || iteration == run->options->iterations - 1;
    if (checked) {
      for (int32_t i = 0; i < stage->nResults; ++i)
        memset(rank->results[i].data, NAN_PATTERN, rank->results[i].sizeBytes);
      memset(rank->workspace.data, NAN_PATTERN, rank->workspace.sizeBytes);
    }
    if ((status = (int)shardRtBarrier(comm, everyone, -1)) != SHARD_RT_OK)
      return status;
    double begin = now();
    status = shardRtInvoke(context, stage->run, run->options->dims, rank->argumentData,
                           rank->resultData, rank->workspace.data);
    if (status != SHARD_RT_OK)
      return status;
    if ((status = (int)shardRtBarrier(comm, everyone, -1)) != SHARD_RT_OK)
      return status;
    if (rankNumber == 0)
      run->seconds[iteration] = now() - begin;
    if (checked) {
      compareResults(run, rankNumber, iteration);
      // Nobody writes its results again while others read them.
      if ((status = (int)shardRtBarrier(comm, everyone, -1)) != SHARD_RT_OK)
        return status;
    }
  }
  return status;
}

static int rankBody(ShardRtContext *context, void *userData) {
  Run *run = userData;
  const ShardProgram *program = run->program;
  int64_t rankNumber = shardRtContextGetRank(context);
  Rank *rank = &run->ranks[rankNumber];
  const ShardProgramStage *stage = &program->stages[rank->stage];
  if (!createBuffers(run, rankNumber))
    return SHARD_RT_OUT_OF_MEMORY;
  int status = runIterations(run, context, rankNumber);
  if (status != SHARD_RT_OK)
    return status;
  checkGuards(run, rankNumber);
  for (int32_t i = 0; i < stage->nArguments; ++i) {
    const ShardProgramValue *value = &program->arguments[stage->arguments[i]];
    if (strcmp(value->role, "state") && rank->hashes[i] != bufferHash(&rank->arguments[i])) {
      char text[256];
      snprintf(text, sizeof text, "rank %" PRId64 " wrote to argument %" PRId32, rankNumber,
               value->index);
      addFault(run, rank, text);
    }
  }
  return status;
}

static void checkArguments(Run *run) {
  const ShardProgram *program = run->program;
  for (int64_t r = 0; r < run->out->nRanks; ++r) {
    const ShardProgramStage *stage = &program->stages[run->ranks[r].stage];
    for (int32_t i = 0; i < stage->nArguments; ++i)
      placeValue(program, &program->arguments[stage->arguments[i]], r);
  }
}

/// Places of all results on all ranks, and who owns which part.
static void placeResults(Run *run) {
  const ShardProgram *program = run->program;
  int64_t nRanks = meshRankCount(program);
  for (int64_t r = 0; r < nRanks; ++r) {
    Rank *rank = &run->ranks[r];
    const ShardProgramStage *stage = &program->stages[rank->stage];
    for (int32_t i = 0; i < program->nResults; ++i)
      rank->held[i].slot = -1;
    for (int32_t k = 0; k < stage->nResults; ++k)
      rank->held[stage->results[k]].slot = k;
    for (int32_t i = 0; i < program->nResults; ++i) {
      HeldResult *held = &rank->held[i];
      if (held->slot < 0)
        continue;
      held->placement = placeValue(program, &program->results[i], r);
      held->owner = r;
      for (int64_t other = 0; other < r && held->owner == r; ++other)
        if (run->ranks[other].held[i].slot >= 0 &&
            placementEqual(&run->ranks[other].held[i].placement, &held->placement))
          held->owner = other;
    }
  }
  for (int32_t i = 0; i < program->nResults; ++i) {
    size_t covered = 0;
    for (int64_t r = 0; r < nRanks; ++r) {
      const HeldResult *held = &run->ranks[r].held[i];
      if (held->slot < 0 || held->owner != r)
        continue;
      covered += placementHeldCount(&held->placement);
    }
    if (covered != globalCount(&program->results[i]))
      stop("the ranks hold %zu of the %zu elements of result %" PRId32, covered,
           globalCount(&program->results[i]), program->results[i].index);
  }
}

static void createChecks(Run *run) {
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
    size_t count = globalCount(value);
    for (size_t k = 0; k < count; ++k) {
      double magnitude = fabs(elementRead(value->element, whole, k));
      if (!isfinite(magnitude))
        check->notFinite = true;
      else if (magnitude > check->maxAbs)
        check->maxAbs = magnitude;
    }
  }
}

static int compareSeconds(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void summarise(Run *run) {
  Execution *out = run->out;
  int64_t nRanks = out->nRanks;
  for (size_t i = 0; i < out->nChecks; ++i) {
    ResultCheck *check = &out->checks[i];
    for (int64_t r = 0; r < nRanks; ++r) {
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
  for (int64_t r = 0; r < nRanks; ++r) {
    Rank *rank = &run->ranks[r];
    for (int k = 0; k < SHARD_RT_N_KINDS; ++k)
      out->bytes[k] += (double)rank->bytes[k] / (double)nRanks / run->options->iterations;
    for (size_t i = 0; i < rank->nFaults; ++i) {
      out->faults = memoryGrow(out->faults, (out->nFaults + 1) * sizeof *out->faults);
      out->faults[out->nFaults] = memoryZeroed(strlen(rank->faults[i]) + 1);
      strcpy(out->faults[out->nFaults++], rank->faults[i]);
      shardRtWorldRelease(run->world, rank->faults[i]);
    }
    shardRtWorldRelease(run->world, rank->faults);
    out->peakBytes[r] = stagePeakBytes(run->program, rank->stage);
  }
  int32_t n = out->iterations;
  qsort(run->seconds, (size_t)n, sizeof *run->seconds, compareSeconds);
  out->minSeconds = run->seconds[0];
  out->medianSeconds =
      n % 2 ? run->seconds[n / 2] : (run->seconds[n / 2 - 1] + run->seconds[n / 2]) / 2;
}

/// Everything that ranks write, in memory that all of them and we see.
static void createRanks(Run *run) {
  const ShardProgram *program = run->program;
  Execution *out = run->out;
  run->ranks = worldMemory(run, (size_t)out->nRanks * sizeof *run->ranks);
  run->seconds = worldMemory(run, (size_t)out->iterations * sizeof *run->seconds);
  for (int64_t r = 0; r < out->nRanks; ++r) {
    Rank *rank = &run->ranks[r];
    rank->stage = meshStage(program, r);
    const ShardProgramStage *stage = &program->stages[rank->stage];
    size_t nArguments = (size_t)stage->nArguments, nResults = (size_t)stage->nResults;
    rank->arguments = worldMemory(run, nArguments * sizeof *rank->arguments);
    rank->argumentData = worldMemory(run, nArguments * sizeof *rank->argumentData);
    rank->results = worldMemory(run, nResults * sizeof *rank->results);
    rank->resultData = worldMemory(run, nResults * sizeof *rank->resultData);
    rank->held = worldMemory(run, (size_t)program->nResults * sizeof *rank->held);
    rank->hashes = worldMemory(run, nArguments * sizeof *rank->hashes);
    rank->replicaFault = worldMemory(run, (size_t)program->nResults * sizeof *rank->replicaFault);
  }
  checkArguments(run);
  placeResults(run);
  createChecks(run);
  for (int64_t r = 0; r < out->nRanks; ++r) {
    run->ranks[r].checks = worldMemory(run, out->nChecks * sizeof *out->checks);
    memcpy(run->ranks[r].checks, out->checks, out->nChecks * sizeof *out->checks);
  }
  for (int32_t i = 0; i < program->nResults; ++i)
    if ((size_t)program->results[i].index >= out->nResults)
      out->nResults = (size_t)program->results[i].index + 1;
  out->results = memoryZeroed(out->nResults * sizeof *out->results);
  for (int32_t i = 0; run->options->keepResults && i < program->nResults; ++i) {
    const ShardProgramValue *value = &program->results[i];
    out->results[value->index] =
        worldMemory(run, globalCount(value) * elementBytes(value->element));
  }
}

/// Results that are kept outlive the world.
static void keepResults(Run *run) {
  for (int32_t i = 0; run->options->keepResults && i < run->program->nResults; ++i) {
    const ShardProgramValue *value = &run->program->results[i];
    size_t bytes = globalCount(value) * elementBytes(value->element);
    void *shared = run->out->results[value->index];
    run->out->results[value->index] = memcpy(memoryZeroed(bytes), shared, bytes);
    shardRtWorldRelease(run->world, shared);
  }
}

static void releaseRanks(Run *run) {
  for (int64_t r = 0; r < run->out->nRanks; ++r) {
    Rank *rank = &run->ranks[r];
    const ShardProgramStage *stage = &run->program->stages[rank->stage];
    for (int32_t i = 0; i < stage->nArguments; ++i)
      bufferRelease(run, &rank->arguments[i]);
    for (int32_t i = 0; i < stage->nResults; ++i)
      bufferRelease(run, &rank->results[i]);
    bufferRelease(run, &rank->workspace);
    void *const memory[] = {rank->arguments, rank->argumentData, rank->results, rank->resultData,
                            rank->held,      rank->checks,       rank->hashes,  rank->replicaFault};
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; ++i)
      shardRtWorldRelease(run->world, memory[i]);
  }
  shardRtWorldRelease(run->world, run->ranks);
  shardRtWorldRelease(run->world, run->seconds);
}

void executeProgram(const ShardProgram *program, const ValueSet *values,
                    const ExecuteOptions *options, Execution *out) {
  *out = (Execution){.nRanks = meshRankCount(program), .iterations = options->iterations};
  Run run = {.program = program, .values = values, .options = options, .out = out};
  ShardRtWorldOptions worldOptions = {.isolated = options->isolated};
  if (shardRtWorldCreate(program->nAxes, program->axisSizes, &worldOptions, &run.world) !=
      SHARD_RT_OK)
    stop("cannot create %" PRId64 " ranks", out->nRanks);
  out->peakBytes = memoryZeroed((size_t)out->nRanks * sizeof *out->peakBytes);
  createRanks(&run);
  int64_t *bytes = memoryZeroed((size_t)out->nRanks * SHARD_RT_N_KINDS * sizeof *bytes);
  if (shardRtWorldRunRanks(run.world, program->nSites, program->sites, rankBody, &run, bytes) !=
      SHARD_RT_OK)
    stop("%s", shardRtWorldGetError(run.world));
  for (int64_t r = 0; r < out->nRanks; ++r)
    memcpy(run.ranks[r].bytes, bytes + r * SHARD_RT_N_KINDS, sizeof run.ranks[r].bytes);
  free(bytes);
  summarise(&run);
  keepResults(&run);
  releaseRanks(&run);
  shardRtWorldDestroy(run.world);
}

void executionRelease(Execution *execution) {
  for (size_t i = 0; i < execution->nFaults; ++i)
    free(execution->faults[i]);
  free(execution->faults);
  for (size_t i = 0; i < execution->nResults; ++i)
    free(execution->results[i]);
  free(execution->results);
  free(execution->checks);
  free(execution->peakBytes);
  *execution = (Execution){0};
}
