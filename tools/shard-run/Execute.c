//===- Execute.c - Run a program on ranks of this machine ---------*- C -*-===//
// Ranks are threads, or processes with shared memory. Each owns its buffers, each between two guard
// zones. A rank's results are compared on the rank, between two barriers, so that replicas can be
// read by each other.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE

#include "Execute.h"
#include "../model/Element.h"
#include "AllocationCount.h"
#include "Memory.h"
#include "MemoryCheck.h"
#include "Ranks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NAN_PATTERN = 0xff };

static void *worldMemory(Run *run, size_t sizeBytes) {
  void *memory = shardRtWorldAllocate(run->world, sizeBytes);
  if (!memory)
    stop("out of memory: %zu bytes", sizeBytes);
  return memory;
}

/// Arguments, results, workspace, and what the runtime keeps for messages.
static size_t stagePeakBytes(const ShardProgram *program, int32_t stageIndex, const int64_t *dims) {
  const ShardProgramStage *stage = &program->stages[stageIndex];
  size_t bytes = stage->workspaceBytes(dims);
  for (int32_t i = 0; i < stage->nArguments; ++i)
    bytes += valueLocalBytes(&program->arguments[stage->arguments[i]]);
  for (int32_t i = 0; i < stage->nResults; ++i)
    bytes += valueLocalBytes(&program->results[stage->results[i]]);
  for (int32_t i = 0; i < stage->nMessages; ++i)
    bytes += (size_t)(stage->messages[i].bytes * stage->messages[i].count);
  return bytes;
}

size_t executeMemoryBytes(const ShardProgram *program, bool keepResults) {
  size_t bytes = 0;
  int64_t nRanks = meshRankCount(program);
  for (int32_t i = 0; i < program->nStages; ++i)
    bytes += stagePeakBytes(program, i, NULL) * (size_t)(nRanks / program->nStages);
  for (int32_t i = 0; keepResults && i < program->nResults; ++i)
    bytes += valueGlobalCount(&program->results[i]) * elementBytes(program->results[i].element);
  return bytes;
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
    if (!bufferCreate(run, valueLocalBytes(value), &rank->arguments[i]))
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
    if (!bufferCreate(run, valueLocalBytes(&program->results[stage->results[i]]),
                      &rank->results[i]))
      return false;
    rank->resultData[i] = rank->results[i].data;
  }
  return bufferCreate(run, stage->workspaceBytes(run->options->dims), &rank->workspace);
}

/// Poisons what a step shall write.
static void prepareStep(Run *run, int64_t rankNumber, int32_t iteration) {
  Rank *rank = &run->ranks[rankNumber];
  const ShardProgramStage *stage = &run->program->stages[rank->stage];
  if (run->options->checkMemory) {
    memoryCheckFill(run, rankNumber, iteration > 0);
    return;
  }
  for (int32_t i = 0; i < stage->nResults; ++i)
    memset(rank->results[i].data, NAN_PATTERN, rank->results[i].sizeBytes);
  memset(rank->workspace.data, NAN_PATTERN, rank->workspace.sizeBytes);
}

static int runStep(Run *run, ShardRtContext *context, int64_t rankNumber) {
  Rank *rank = &run->ranks[rankNumber];
  bool counted = run->options->checkMemory;
  if (counted)
    allocationCountBegin();
  int status = shardRtInvoke(context, run->program->stages[rank->stage].run, run->options->dims,
                             rank->argumentData, rank->resultData, rank->workspace.data);
  if (counted)
    run->out->memory[rankNumber].allocations += allocationCountEnd();
  return status;
}

static int runIterations(Run *run, ShardRtContext *context, int64_t rankNumber) {
  const ShardProgram *program = run->program;
  ShardRtComm *comm = shardRtContextGetComm(context);
  uint32_t everyone = (1u << program->nAxes) - 1;
  int status = SHARD_RT_OK;
  for (int32_t iteration = 0; iteration < run->options->iterations; ++iteration) {
    bool checked = iteration == 0 || iteration == run->options->iterations - 1;
    if (checked)
      prepareStep(run, rankNumber, iteration);
    if ((status = (int)shardRtBarrier(comm, everyone, -1)) != SHARD_RT_OK)
      return status;
    double begin = now();
    if ((status = runStep(run, context, rankNumber)) != SHARD_RT_OK)
      return status;
    if ((status = (int)shardRtBarrier(comm, everyone, -1)) != SHARD_RT_OK)
      return status;
    if (rankNumber == 0)
      run->seconds[iteration] = now() - begin;
    if (checked) {
      checksCompare(run, rankNumber, iteration);
      if (run->options->checkMemory)
        memoryCheckMeasure(run, rankNumber);
      checksCompareGuards(run, rankNumber);
      // Nobody writes its results again while others read them.
      if ((status = (int)shardRtBarrier(comm, everyone, -1)) != SHARD_RT_OK)
        return status;
    }
  }
  return status;
}

static int rankBody(ShardRtContext *context, void *userData) {
  Run *run = userData;
  int64_t rankNumber = shardRtContextGetRank(context);
  if (!createBuffers(run, rankNumber))
    return SHARD_RT_OUT_OF_MEMORY;
  int status = runIterations(run, context, rankNumber);
  if (status != SHARD_RT_OK)
    return status;
  checksCompareArguments(run, rankNumber);
  if (run->options->checkMemory)
    memoryCheckCompare(run, rankNumber);
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
    if (covered != valueGlobalCount(&program->results[i]))
      stop("the ranks hold %zu of the %zu elements of result %" PRId32, covered,
           valueGlobalCount(&program->results[i]), program->results[i].index);
  }
}

static int compareSeconds(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void summarise(Run *run) {
  Execution *out = run->out;
  int64_t nRanks = out->nRanks;
  checksMerge(run);
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
    out->peakBytes[r] = stagePeakBytes(run->program, rank->stage, run->options->dims);
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
  if (run->options->checkMemory) {
    out->memory = worldMemory(run, (size_t)out->nRanks * sizeof *out->memory);
    out->allocationsSeen = allocationCountWorks();
  }
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
    rank->resultWritten = worldMemory(run, nResults * sizeof *rank->resultWritten);
  }
  checkArguments(run);
  placeResults(run);
  checksCreate(run);
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
        worldMemory(run, valueGlobalCount(value) * elementBytes(value->element));
  }
}

/// Memory of the world, in memory that outlives it.
static void *keepMemory(Run *run, void *shared, size_t bytes) {
  void *copy = memcpy(memoryZeroed(bytes), shared, bytes);
  shardRtWorldRelease(run->world, shared);
  return copy;
}

/// What is reported outlives the world.
static void keepResults(Run *run) {
  Execution *out = run->out;
  if (out->memory)
    out->memory = keepMemory(run, out->memory, (size_t)out->nRanks * sizeof *out->memory);
  for (int32_t i = 0; run->options->keepResults && i < run->program->nResults; ++i) {
    const ShardProgramValue *value = &run->program->results[i];
    size_t bytes = valueGlobalCount(value) * elementBytes(value->element);
    out->results[value->index] = keepMemory(run, out->results[value->index], bytes);
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
    void *const memory[] = {rank->arguments,  rank->argumentData, rank->results,
                            rank->resultData, rank->held,         rank->checks,
                            rank->hashes,     rank->replicaFault, rank->resultWritten};
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
  if (shardRtWorldPrepare(run.world, program) != SHARD_RT_OK)
    stop("out of memory for the groups and messages of %" PRId64 " ranks", out->nRanks);
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
  free(execution->memory);
  *execution = (Execution){0};
}
