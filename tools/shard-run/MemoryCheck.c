//===- MemoryCheck.c - Memory of a step, planned and measured -----*- C -*-===//
// The first and the last step run on two patterns that differ in every byte, so that what a step
// writes differs from one of them, whatever it is.
//===----------------------------------------------------------------------===//

#include "MemoryCheck.h"

#include "../model/Element.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void memoryCheckFill(Run *run, int64_t rankNumber, bool turned) {
  Rank *rank = &run->ranks[rankNumber];
  const ShardProgramStage *stage = &run->program->stages[rank->stage];
  for (int32_t i = 0; turned && i < stage->nArguments; ++i)
    bufferTurnGuards(&rank->arguments[i]); // they hold the other one since they were made
  for (int32_t i = 0; i < stage->nResults; ++i)
    bufferFill(&rank->results[i], turned);
  bufferFill(&rank->workspace, turned);
}

void memoryCheckMeasure(Run *run, int64_t rankNumber) {
  Rank *rank = &run->ranks[rankNumber];
  const ShardProgramStage *stage = &run->program->stages[rank->stage];
  RankMemory *memory = &run->out->memory[rankNumber];
  size_t written = bufferFindWritten(&rank->workspace);
  if (written > memory->workspaceWritten)
    memory->workspaceWritten = written;
  for (int32_t i = 0; i < stage->nResults; ++i) {
    written = bufferFindWritten(&rank->results[i]);
    if (written > rank->resultWritten[i])
      rank->resultWritten[i] = written;
  }
}

void memoryCheckCompare(Run *run, int64_t rankNumber) {
  Rank *rank = &run->ranks[rankNumber];
  const ShardProgramStage *stage = &run->program->stages[rank->stage];
  RankMemory *memory = &run->out->memory[rankNumber];
  memory->stage = rank->stage;
  memory->workspaceBytes = rank->workspace.sizeBytes;
  for (int32_t i = 0; i < stage->nArguments; ++i)
    memory->argumentBytes += rank->arguments[i].sizeBytes;
  for (int32_t i = 0; i < stage->nResults; ++i) {
    memory->resultBytes += rank->results[i].sizeBytes;
    if (rank->resultWritten[i] != rank->results[i].sizeBytes)
      rankAddFault(run, rank,
                   "rank %" PRId64 " wrote result %" PRId32 " up to byte %zu; it has %zu",
                   rankNumber, run->program->results[stage->results[i]].index,
                   rank->resultWritten[i], rank->results[i].sizeBytes);
  }
  if (memory->workspaceWritten != memory->workspaceBytes)
    rankAddFault(run, rank,
                 "rank %" PRId64 " wrote its workspace up to byte %zu; stage %" PRId32
                 " plans %zu bytes",
                 rankNumber, memory->workspaceWritten, rank->stage, memory->workspaceBytes);
  memory->stagingBytes = shardRtWorldGetStagingBytes(run->world, (int32_t)rankNumber);
  memory->stagedBytes = shardRtWorldGetStagedBytes(run->world, (int32_t)rankNumber);
  if (memory->stagedBytes > memory->stagingBytes)
    rankAddFault(run, rank,
                 "rank %" PRId64 " was sent %zu bytes before it asked for them; stage %" PRId32
                 " plans for %zu",
                 rankNumber, memory->stagedBytes, rank->stage, memory->stagingBytes);
  if (memory->allocations)
    rankAddFault(run, rank,
                 "rank %" PRId64 " called the allocator %" PRIu64 " times in its steps; stage "
                 "%" PRId32 " plans none",
                 rankNumber, memory->allocations, rank->stage);
}

void memoryCheckPrint(const ShardProgram *program, const Execution *execution) {
  for (int32_t s = 0; s < program->nStages; ++s) {
    const RankMemory *first = NULL;
    size_t written = 0, staged = 0;
    uint64_t allocations = 0;
    for (int64_t r = 0; r < execution->nRanks; ++r) {
      const RankMemory *memory = &execution->memory[r];
      if (memory->stage != s)
        continue;
      if (!first)
        first = memory;
      if (memory->workspaceWritten > written)
        written = memory->workspaceWritten;
      if (memory->stagedBytes > staged)
        staged = memory->stagedBytes;
      allocations += memory->allocations;
    }
    if (!first)
      continue;
    printf("memory of stage %" PRId32 ": workspace %zu bytes planned, %zu written; arguments %zu, "
           "results %zu, staging %zu (at most %zu used); ",
           s, first->workspaceBytes, written, first->argumentBytes, first->resultBytes,
           first->stagingBytes, staged);
    if (execution->allocationsSeen)
      printf("allocations in steps: %" PRIu64 "\n", allocations);
    else
      printf("allocations in steps: not seen by this build\n");
  }
}
