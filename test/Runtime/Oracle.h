//===- Oracle.h - What every collective must leave -----------------*- C -*-===//
// A rank knows every rank's input from a formula and computes what it must receive element by
// element, with no code of the runtime.
//===----------------------------------------------------------------------===//
#ifndef SHARD_TEST_ORACLE_H
#define SHARD_TEST_ORACLE_H

#include "shard/Runtime.h"

#include <stdbool.h>

typedef struct Mesh {
  int32_t nAxes;
  int64_t sizes[4];
} Mesh;

extern const size_t elementSizes[]; // bytes, by element
extern const char *const elementNames[];
bool elementIsFloat(ShardRtElement element);
uint64_t oracleHash(uint64_t a, uint64_t b, uint64_t c);

typedef struct Group {
  uint32_t mask;
  int32_t n, index;
  int32_t ranks[64];
} Group;

typedef struct Case {
  ShardRtKind kind;
  ShardRtElement element;
  ShardRtReduction reduction;
  size_t outer, chunk;
  bool inPlace;
  int64_t parameter; // root, offset
  uint64_t salt;     // numbers the collective
} Case;

/// By walking all ranks of the mesh in order: those that agree with `rank` off the mask.
Group groupOf(const Mesh *mesh, int32_t rank, uint32_t mask);
size_t sendCount(const Case *c, const Group *group); // elements
size_t recvCount(const Case *c, const Group *group);
/// Element i of what a rank sends in the collective numbered `salt`.
void input(ShardRtElement element, int32_t rank, uint64_t salt, size_t i, void *to);
/// Element i of what the rank must receive.
void expected(const Case *c, const Group *group, size_t i, void *to);
/// Ring counting, as the header states it.
int64_t expectedBytes(const Case *c, const Group *group);
/// The same bits, or two NaN.
bool sameElement(ShardRtElement element, const void *a, const void *b);

#endif // SHARD_TEST_ORACLE_H
