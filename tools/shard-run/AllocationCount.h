//===- AllocationCount.h - Allocations of a thread ----------------*- C -*-===//
#ifndef SHARD_RUN_ALLOCATION_COUNT_H
#define SHARD_RUN_ALLOCATION_COUNT_H

#include <stdbool.h>
#include <stdint.h>

/// Counts what this thread asks of the system from here to allocationCountEnd, whoever calls:
/// malloc, calloc, realloc (and reallocarray, which calls it), aligned_alloc, memalign,
/// posix_memalign, valloc, pvalloc, free, mmap, munmap and mremap; not brk. Does not nest.
void allocationCountBegin(void);
/// Calls since then.
uint64_t allocationCountEnd(void);

/// Whether calls are seen at all: with glibc, and under the address and thread sanitizers, which
/// see the heap but no mapping.
bool allocationCountWorks(void);

#endif // SHARD_RUN_ALLOCATION_COUNT_H
