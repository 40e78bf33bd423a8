//===- PointerTable.c - Numbers by pointer ------------------------*- C -*-===//
#include "PointerTable.h"

#include "Memory.h"

#include <stdlib.h>
#include <string.h>

static size_t pointerHash(const void *key) {
  uint64_t x = (uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15u;
  return (size_t)(x >> 20);
}

static size_t *pointerTableSlot(const PointerTable *table, const void *key) {
  size_t i = pointerHash(key) & (table->nSlots - 1);
  while (table->slots[i] && table->keys[table->slots[i] - 1] != key)
    i = (i + 1) & (table->nSlots - 1);
  return &table->slots[i];
}

int64_t *pointerTableFind(const PointerTable *table, const void *key) {
  if (!table->nSlots)
    return NULL;
  size_t index = *pointerTableSlot(table, key);
  return index ? &table->values[index - 1] : NULL;
}

bool pointerTableAdd(PointerTable *table, const void *key, int64_t value) {
  if (pointerTableFind(table, key))
    return false;
  if (table->count == table->capacity) {
    table->capacity = table->capacity ? 2 * table->capacity : 32;
    table->keys = memoryGrow(table->keys, table->capacity * sizeof *table->keys);
    table->values = memoryGrow(table->values, table->capacity * sizeof *table->values);
    free(table->slots);
    table->nSlots = 4 * table->capacity;
    table->slots = memoryZeroed(table->nSlots * sizeof *table->slots);
    for (size_t i = 0; i < table->count; ++i)
      *pointerTableSlot(table, table->keys[i]) = i + 1;
  }
  table->keys[table->count] = key;
  table->values[table->count] = value;
  *pointerTableSlot(table, key) = ++table->count;
  return true;
}

void pointerTableRelease(PointerTable *table) {
  free(table->keys);
  free(table->values);
  free(table->slots);
  memset(table, 0, sizeof *table);
}
