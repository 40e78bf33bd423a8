//===- Element.c - Element types on the host ----------------------*- C -*-===//

#include "Element.h"

#include <math.h>
#include <string.h>

static const struct {
  const char *name;
  uint8_t bytes;
  bool isFloat;
} elementTable[] = {
    [SHARD_RT_I1] = {"i1", 1, false},    [SHARD_RT_I8] = {"i8", 1, false},
    [SHARD_RT_I16] = {"i16", 2, false},  [SHARD_RT_I32] = {"i32", 4, false},
    [SHARD_RT_I64] = {"i64", 8, false},  [SHARD_RT_F16] = {"f16", 2, true},
    [SHARD_RT_BF16] = {"bf16", 2, true}, [SHARD_RT_F32] = {"f32", 4, true},
    [SHARD_RT_F64] = {"f64", 8, true},
};

static bool elementIsKnown(ShardRtElement element) {
  return (size_t)element < sizeof elementTable / sizeof elementTable[0];
}

size_t elementBytes(ShardRtElement element) {
  return elementIsKnown(element) ? elementTable[element].bytes : 0;
}

const char *elementName(ShardRtElement element) {
  return elementIsKnown(element) ? elementTable[element].name : "?";
}

bool elementIsFloat(ShardRtElement element) {
  return elementIsKnown(element) && elementTable[element].isFloat;
}

static double halfToDouble(uint16_t bits) {
  int sign = bits >> 15, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  double value;
  if (exponent == 31)
    value = fraction ? (double)NAN : (double)INFINITY;
  else if (exponent == 0)
    value = ldexp(fraction, -24);
  else
    value = ldexp(fraction + 1024, exponent - 25);
  return sign ? -value : value;
}

static uint16_t halfFromDouble(double value) {
  uint16_t sign = signbit(value) ? 0x8000 : 0;
  value = fabs(value);
  if (isnan(value))
    return sign | 0x7e00;
  if (value >= 65520.0)
    return sign | 0x7c00;
  int exponent;
  frexp(value, &exponent); // value = m * 2^exponent, m in [0.5, 1)
  if (exponent < -13)
    exponent = -13;                                       // subnormal: steps of 2^-24
  double scaled = nearbyint(ldexp(value, 11 - exponent)); // up to 2048
  double rounded = ldexp(scaled, exponent - 11);
  if (rounded < ldexp(1, -14))
    return sign | (uint16_t)nearbyint(ldexp(rounded, 24));
  frexp(rounded, &exponent);
  uint16_t fraction = (uint16_t)(ldexp(rounded, 11 - exponent) - 1024);
  return sign | (uint16_t)((exponent + 14) << 10) | fraction;
}

static uint16_t brainFromDouble(double value) {
  // Through f32 would round twice; a double's odd-rounded f32 rounds right.
  float single = (float)value;
  uint32_t bits;
  memcpy(&bits, &single, sizeof bits);
  if (isnan(value))
    return (uint16_t)(bits >> 16) | 0x40;
  if (isfinite(value) && (double)single != value) {
    // Round to odd: towards zero, then the last bit set.
    if (fabs((double)single) > fabs(value))
      --bits;
    bits |= 1;
  }
  bits += 0x7fff + ((bits >> 16) & 1);
  return (uint16_t)(bits >> 16);
}

double elementRead(ShardRtElement element, const void *data, size_t index) {
  switch (element) {
  case SHARD_RT_F16: {
    uint16_t bits;
    memcpy(&bits, (const char *)data + 2 * index, 2);
    return halfToDouble(bits);
  }
  case SHARD_RT_BF16: {
    uint16_t bits;
    memcpy(&bits, (const char *)data + 2 * index, 2);
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return (double)value;
  }
  case SHARD_RT_F32: {
    float value;
    memcpy(&value, (const char *)data + 4 * index, 4);
    return (double)value;
  }
  case SHARD_RT_F64: {
    double value;
    memcpy(&value, (const char *)data + 8 * index, 8);
    return value;
  }
  default:
    return (double)elementReadInteger(element, data, index);
  }
}

int64_t elementReadInteger(ShardRtElement element, const void *data, size_t index) {
  switch (elementBytes(element)) {
  case 1: {
    int8_t value;
    memcpy(&value, (const char *)data + index, 1);
    return value;
  }
  case 2: {
    int16_t value;
    memcpy(&value, (const char *)data + 2 * index, 2);
    return value;
  }
  case 4: {
    int32_t value;
    memcpy(&value, (const char *)data + 4 * index, 4);
    return value;
  }
  default: {
    int64_t value;
    memcpy(&value, (const char *)data + 8 * index, 8);
    return value;
  }
  }
}

void elementWrite(ShardRtElement element, void *data, size_t index, double value) {
  char *at = (char *)data + elementBytes(element) * index;
  switch (element) {
  case SHARD_RT_F16: {
    uint16_t bits = halfFromDouble(value);
    memcpy(at, &bits, 2);
    return;
  }
  case SHARD_RT_BF16: {
    uint16_t bits = brainFromDouble(value);
    memcpy(at, &bits, 2);
    return;
  }
  case SHARD_RT_F32: {
    float single = (float)value;
    memcpy(at, &single, 4);
    return;
  }
  case SHARD_RT_F64:
    memcpy(at, &value, 8);
    return;
  default: {
    int64_t whole = (int64_t)value;
    int32_t i32 = (int32_t)whole;
    int16_t i16 = (int16_t)whole;
    int8_t i8 = (int8_t)whole;
    switch (elementBytes(element)) {
    case 1:
      memcpy(at, &i8, 1);
      return;
    case 2:
      memcpy(at, &i16, 2);
      return;
    case 4:
      memcpy(at, &i32, 4);
      return;
    default:
      memcpy(at, &whole, 8);
      return;
    }
  }
  }
}

void elementPoison(ShardRtElement element, void *data, size_t index) {
  if (elementIsFloat(element))
    elementWrite(element, data, index, (double)NAN);
  else if (element == SHARD_RT_I1)
    elementWrite(element, data, index, (double)(index & 1));
  else // nought divides nothing, and the other indexes nothing
    elementWrite(element, data, index, index & 1 ? 0.0 : -1610612741.0);
}

uint64_t elementUlpDistance(ShardRtElement element, const void *a, const void *b) {
  size_t bytes = elementBytes(element);
  int64_t x = 0, y = 0;
  switch (bytes) {
  case 2:
    x = elementReadInteger(SHARD_RT_I16, a, 0), y = elementReadInteger(SHARD_RT_I16, b, 0);
    x = x < 0 ? INT16_MIN - x : x, y = y < 0 ? INT16_MIN - y : y;
    break;
  case 4:
    x = elementReadInteger(SHARD_RT_I32, a, 0), y = elementReadInteger(SHARD_RT_I32, b, 0);
    x = x < 0 ? INT32_MIN - x : x, y = y < 0 ? INT32_MIN - y : y;
    break;
  default:
    memcpy(&x, a, 8), memcpy(&y, b, 8);
    x = x < 0 ? INT64_MIN - x : x, y = y < 0 ? INT64_MIN - y : y;
    break;
  }
  return x < y ? (uint64_t)y - (uint64_t)x : (uint64_t)x - (uint64_t)y;
}
