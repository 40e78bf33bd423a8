//===- PointerTable.h - Numbers by pointer ------------------------*- C -*-===//
#ifndef SHARD_RUN_POINTERTABLE_H
#define SHARD_RUN_POINTERTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// A set of pointers that remembers the order of insertion, and a number with each. Starts zeroed.
typedef struct PointerTable {
  const void **keys;
  int64_t *values;
  size_t count, capacity;
  size_t *slots; // [nSlots] index + 1 into keys
  size_t nSlots;
} PointerTable;

/// The number with `key`; null if it is not there.
int64_t *pointerTableFind(const PointerTable *table, const void *key);
/// False when it was there already.
bool pointerTableAdd(PointerTable *table, const void *key, int64_t value);
void pointerTableRelease(PointerTable *table);

#endif // SHARD_RUN_POINTERTABLE_H
