//===- Origins.h - What values come from ---------------------------*- C -*-===//
#ifndef SHARD_TEST_ORIGINS_H
#define SHARD_TEST_ORIGINS_H

#include "mlir-c/IR.h"

#include <stddef.h>

enum { FROM_ATTENTION = 1, FROM_ROUTER = 2, FROM_DATA = 4, FROM_MIXED_WEIGHTS = 8 };

/// Where a value comes from, through everything but contractions.
typedef struct Origin {
  const char *weight; // the one weight it is made of, else null
  int bits;
} Origin;

typedef struct OriginMap { // value pointer -> Origin, open addressing
  size_t capacity, count;
  const void **keys;
  Origin *origins;
} OriginMap;

void mapSet(OriginMap *map, MlirValue value, Origin origin);
Origin mapGet(const OriginMap *map, MlirValue value); // of nothing if it is not there
void mapFree(OriginMap *map);
Origin originJoin(Origin a, Origin b);
/// A weight only if nothing else was mixed in: bias and activation make an activation.
const char *originWeight(Origin origin);

#endif // SHARD_TEST_ORIGINS_H
