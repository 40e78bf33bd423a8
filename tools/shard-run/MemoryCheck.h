//===- MemoryCheck.h - Memory of a step, planned and measured -----*- C -*-===//
// For --check-memory: Execute.c calls the first three on each rank, around its first and its last
// step.
//===----------------------------------------------------------------------===//
#ifndef SHARD_RUN_MEMORY_CHECK_H
#define SHARD_RUN_MEMORY_CHECK_H

#include "Ranks.h"

/// Fills what the step may write, and all guard zones, with a pattern: that of the first step, or
/// the other one.
void memoryCheckFill(Run *run, int64_t rankNumber, bool turned);
/// Notes up to where the rank has written since.
void memoryCheckMeasure(Run *run, int64_t rankNumber);
/// Notes as faults what differs from the plan.
void memoryCheckCompare(Run *run, int64_t rankNumber);

/// Prints a line for each stage.
void memoryCheckPrint(const ShardProgram *program, const Execution *execution);

#endif // SHARD_RUN_MEMORY_CHECK_H
