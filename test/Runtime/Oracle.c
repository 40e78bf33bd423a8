//===- Oracle.c - What every collective must leave -----------------*- C -*-===//
#include "Oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const size_t elementSizes[] = {1, 1, 2, 4, 8, 2, 2, 4, 8};
const char *const elementNames[] = {"i1", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"};

bool elementIsFloat(ShardRtElement element) { return element >= SHARD_RT_F16; }

uint64_t oracleHash(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t x = a * 0x9E3779B97F4A7C15u ^ (b + 0x7F4A7C15u) * 0xBF58476D1CE4E5B9u ^ c << 40;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

/// Value of a 16-bit float with `mantissa` bits and the least normal exponent `least`.
static float widen(uint16_t bits, int mantissa, int least) {
  int exponentMask = (1 << (15 - mantissa)) - 1;
  int exponent = bits >> mantissa & exponentMask, fraction = bits & ((1 << mantissa) - 1);
  double value = exponent == exponentMask ? (fraction ? NAN : INFINITY)
                 : exponent ? ldexp(fraction + (1 << mantissa), exponent - 1 + least - mantissa)
                            : ldexp(fraction, least - mantissa);
  return (float)(bits & 0x8000 ? -value : value);
}

static uint16_t narrow(float value, int mantissa, int least) {
  int exponentMask = (1 << (15 - mantissa)) - 1;
  uint16_t sign = signbit(value) ? 0x8000 : 0, infinity = (uint16_t)(exponentMask << mantissa);
  if (isnan(value))
    return (uint16_t)(sign | infinity | 1 << (mantissa - 1));
  if (isinf(value))
    return sign | infinity;
  int exponent;
  double magnitude = fabs((double)value);
  frexp(magnitude, &exponent); // magnitude in [2^(exponent-1), 2^exponent)
  exponent = exponent - 1 < least || magnitude == 0 ? least : exponent - 1;
  double units = nearbyint(ldexp(magnitude, mantissa - exponent)); // ties to even
  // The units count on through the exponent's boundaries; the hidden bit is an exponent step.
  double code = units + ldexp(exponent - least, mantissa);
  return (uint16_t)(sign | (code >= infinity ? infinity : (uint16_t)code));
}

typedef struct Value {
  uint64_t bits; // integers: two's complement, extended by sign (i1: 0 or 1)
  double f64;
  float f32; // of f32, f16, bf16
} Value;

static Value load(ShardRtElement element, const void *from) {
  Value value = {0, 0, 0};
  switch (element) {
  case SHARD_RT_I1:
    value.bits = *(const uint8_t *)from;
    break;
  case SHARD_RT_I8:
    value.bits = (uint64_t)(int64_t)*(const int8_t *)from;
    break;
  case SHARD_RT_I16: {
    int16_t x;
    memcpy(&x, from, 2);
    value.bits = (uint64_t)(int64_t)x;
    break;
  }
  case SHARD_RT_I32: {
    int32_t x;
    memcpy(&x, from, 4);
    value.bits = (uint64_t)(int64_t)x;
    break;
  }
  case SHARD_RT_I64:
    memcpy(&value.bits, from, 8);
    break;
  case SHARD_RT_F16:
  case SHARD_RT_BF16: {
    uint16_t x;
    memcpy(&x, from, 2);
    value.f32 = element == SHARD_RT_F16 ? widen(x, 10, -14) : widen(x, 7, -126);
    break;
  }
  case SHARD_RT_F32:
    memcpy(&value.f32, from, 4);
    break;
  case SHARD_RT_F64:
    memcpy(&value.f64, from, 8);
    break;
  }
  return value;
}

static void store(ShardRtElement element, Value value, void *to) {
  uint16_t narrowed;
  switch (element) {
  case SHARD_RT_F16:
    narrowed = narrow(value.f32, 10, -14);
    memcpy(to, &narrowed, 2);
    return;
  case SHARD_RT_BF16:
    narrowed = narrow(value.f32, 7, -126);
    memcpy(to, &narrowed, 2);
    return;
  case SHARD_RT_F32:
    memcpy(to, &value.f32, 4);
    return;
  case SHARD_RT_F64:
    memcpy(to, &value.f64, 8);
    return;
  default:
    memcpy(to, &value.bits, elementSizes[element]); // little endian
  }
}

static double extremum(double a, double b, bool larger) {
  if (isnan(a) || isnan(b))
    return NAN;
  if (a == b)
    return (signbit(a) != 0) == larger ? b : a;
  return (a > b) == larger ? a : b;
}

static Value combine(ShardRtElement element, ShardRtReduction reduction, Value a, Value b) {
  Value result = a;
  if (element == SHARD_RT_I1) {
    bool both = a.bits && b.bits, any = a.bits || b.bits;
    result.bits = reduction == SHARD_RT_SUM                               ? a.bits != b.bits
                  : reduction == SHARD_RT_MAX || reduction == SHARD_RT_OR ? any
                                                                          : both;
    return result;
  }
  int64_t x = (int64_t)a.bits, y = (int64_t)b.bits;
  switch (reduction) {
  case SHARD_RT_SUM:
    result.bits = a.bits + b.bits;
    result.f32 = a.f32 + b.f32;
    result.f64 = a.f64 + b.f64;
    break;
  case SHARD_RT_PRODUCT:
    result.bits = a.bits * b.bits;
    result.f32 = a.f32 * b.f32;
    result.f64 = a.f64 * b.f64;
    break;
  case SHARD_RT_MAX:
  case SHARD_RT_MIN: {
    bool larger = reduction == SHARD_RT_MAX;
    result.bits = (uint64_t)((x > y) == larger ? x : y);
    result.f32 = (float)extremum(a.f32, b.f32, larger);
    result.f64 = extremum(a.f64, b.f64, larger);
    break;
  }
  case SHARD_RT_AND:
    result.bits = a.bits & b.bits;
    break;
  case SHARD_RT_OR:
    result.bits = a.bits | b.bits;
    break;
  }
  if (!elementIsFloat(element) && element != SHARD_RT_I64) { // wrap, extend the sign
    int shift = 64 - 8 * (int)elementSizes[element];
    result.bits = (uint64_t)((int64_t)(result.bits << shift) >> shift);
  }
  return result;
}

/// Element i of what a rank sends in the collective numbered `salt`.
void input(ShardRtElement element, int32_t rank, uint64_t salt, size_t i, void *to) {
  uint64_t h = oracleHash((uint64_t)rank + 1, i, salt);
  uint64_t pick = h >> 56;
  if (element == SHARD_RT_I1) {
    *(uint8_t *)to = h & 1;
    return;
  }
  if (!elementIsFloat(element) ||
      pick < 32) { // for floats, any pattern: subnormals, infinities, NaN
    memcpy(to, &h, elementSizes[element]);
    return;
  }
  double value = pick < 48 ? -0.0 : pick < 64 ? 0.0 : ((double)(h % 4001) - 2000) / 64;
  Value v = {0, value, (float)value};
  store(element, v, to);
}

bool sameElement(ShardRtElement element, const void *a, const void *b) {
  if (!memcmp(a, b, elementSizes[element]))
    return true;
  Value x = load(element, a), y = load(element, b);
  return elementIsFloat(element) &&
         (element == SHARD_RT_F64 ? isnan(x.f64) && isnan(y.f64) : isnan(x.f32) && isnan(y.f32));
}

Group groupOf(const Mesh *mesh, int32_t rank, uint32_t mask) {
  Group group = {.mask = mask};
  int64_t nRanks = 1;
  for (int32_t i = 0; i < mesh->nAxes; ++i)
    nRanks *= mesh->sizes[i];
  for (int32_t other = 0; other < nRanks; ++other) {
    bool agrees = true;
    int64_t a = rank, b = other;
    for (int32_t axis = mesh->nAxes - 1; axis >= 0; --axis) {
      if (!(mask >> axis & 1) && a % mesh->sizes[axis] != b % mesh->sizes[axis])
        agrees = false;
      a /= mesh->sizes[axis];
      b /= mesh->sizes[axis];
    }
    if (!agrees)
      continue;
    if (other == rank)
      group.index = group.n;
    group.ranks[group.n++] = other;
  }
  return group;
}

//===----------------------------------------------------------------------===//
// Cases
//===----------------------------------------------------------------------===//

size_t sendCount(const Case *c, const Group *group) {
  bool whole = c->kind == SHARD_RT_REDUCE_SCATTER || c->kind == SHARD_RT_ALL_TO_ALL;
  return c->outer * c->chunk * (size_t)(whole ? group->n : 1);
}

size_t recvCount(const Case *c, const Group *group) {
  bool whole = c->kind == SHARD_RT_ALL_GATHER || c->kind == SHARD_RT_ALL_TO_ALL;
  return c->outer * c->chunk * (size_t)(whole ? group->n : 1);
}

void expected(const Case *c, const Group *group, size_t i, void *to) {
  size_t n = (size_t)group->n, chunk = c->chunk;
  size_t index = (size_t)group->index;
  switch (c->kind) {
  case SHARD_RT_ALL_REDUCE:
  case SHARD_RT_REDUCE_SCATTER: {
    size_t at = i;
    if (c->kind == SHARD_RT_REDUCE_SCATTER)
      at = i / chunk * n * chunk + index * chunk + i % chunk;
    Value total = {0, 0, 0};
    for (int32_t k = 0; k < group->n; ++k) {
      char bytes[8];
      input(c->element, group->ranks[k], c->salt, at, bytes);
      Value next = load(c->element, bytes);
      total = k ? combine(c->element, c->reduction, total, next) : next;
    }
    if (group->n > 1)
      store(c->element, total, to);
    else // a copy
      input(c->element, group->ranks[0], c->salt, at, to);
    return;
  }
  case SHARD_RT_ALL_GATHER: {
    size_t row = i / (n * chunk), column = i % (n * chunk);
    input(c->element, group->ranks[column / chunk], c->salt, row * chunk + column % chunk, to);
    return;
  }
  case SHARD_RT_ALL_TO_ALL:
    input(c->element, group->ranks[i / chunk], c->salt, index * chunk + i % chunk, to);
    return;
  case SHARD_RT_BROADCAST:
    input(c->element, group->ranks[c->parameter], c->salt, i, to);
    return;
  case SHARD_RT_PERMUTE: {
    int64_t from = ((int64_t)index - c->parameter) % group->n;
    input(c->element, group->ranks[from < 0 ? from + group->n : from], c->salt, i, to);
    return;
  }
  default:
    abort();
  }
}

int64_t expectedBytes(const Case *c, const Group *group) {
  int64_t n = group->n, bytes = (int64_t)(c->outer * c->chunk * elementSizes[c->element]);
  switch (c->kind) {
  case SHARD_RT_ALL_REDUCE:
    return 2 * (n - 1) * bytes / n + (group->index < 2 * (n - 1) * bytes % n); // no byte is lost
  case SHARD_RT_ALL_GATHER:
  case SHARD_RT_REDUCE_SCATTER:
  case SHARD_RT_ALL_TO_ALL:
    return n * bytes * (n - 1) / n;
  case SHARD_RT_BROADCAST:
    return n == 1 || group->index == (c->parameter + n - 1) % n ? 0 : bytes;
  case SHARD_RT_PERMUTE:
    return c->parameter % n == 0 ? 0 : bytes;
  default:
    return 0;
  }
}
