//===- Origins.c - What values come from ---------------------------*- C -*-===//
#include "Origins.h"

#include "ReadIr.h"

#include <stdlib.h>
#include <string.h>

static size_t slotOf(const OriginMap *map, const void *key) {
  size_t slot = ((uintptr_t)key >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 20 & (map->capacity - 1);
  while (map->keys[slot] && map->keys[slot] != key)
    slot = (slot + 1) & (map->capacity - 1);
  return slot;
}
void mapSet(OriginMap *map, MlirValue value, Origin origin) {
  if (2 * (map->count + 1) > map->capacity) {
    OriginMap larger = {.capacity = map->capacity ? 2 * map->capacity : 256};
    larger.keys = allocate(larger.capacity, sizeof(*larger.keys));
    larger.origins = allocate(larger.capacity, sizeof(*larger.origins));
    for (size_t i = 0; i < map->capacity; ++i)
      if (map->keys[i]) {
        size_t slot = slotOf(&larger, map->keys[i]);
        larger.keys[slot] = map->keys[i];
        larger.origins[slot] = map->origins[i];
        ++larger.count;
      }
    free(map->keys);
    free(map->origins);
    *map = larger;
  }
  size_t slot = slotOf(map, value.ptr);
  map->count += map->keys[slot] == NULL;
  map->keys[slot] = value.ptr;
  map->origins[slot] = origin;
}
Origin mapGet(const OriginMap *map, MlirValue value) {
  if (map->capacity) {
    size_t slot = slotOf(map, value.ptr);
    if (map->keys[slot])
      return map->origins[slot];
  }
  return (Origin){NULL, 0};
}
void mapFree(OriginMap *map) {
  free(map->keys);
  free(map->origins);
}

Origin originJoin(Origin a, Origin b) {
  Origin out = {a.weight, a.bits | b.bits};
  if (!a.weight)
    out.weight = b.weight;
  else if (b.weight && strcmp(a.weight, b.weight) != 0)
    out.bits |= FROM_MIXED_WEIGHTS;
  return out;
}
const char *originWeight(Origin origin) {
  return origin.bits & (FROM_DATA | FROM_MIXED_WEIGHTS) ? NULL : origin.weight;
}
