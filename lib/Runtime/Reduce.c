//===- Reduce.c - Combine elements of several ranks ---------------*- C -*-===//
// Plain loops over restrict pointers, which compilers vectorise. Sources are combined strictly from
// left to right, so the bits do not depend on who computes them.
//===----------------------------------------------------------------------===//
#include "Runtime.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

//===----------------------------------------------------------------------===//
// Kernels: out[i] = a[i] op b[i], and out[i] = out[i] op a[i] ...
//===----------------------------------------------------------------------===//

typedef void (*ReduceKernel)(int32_t n, const void *const *sources, size_t count, void *out);

/// Up to four sources a pass: the sums of 2 to 4 ranks touch each element once.
#define DEFINE_KERNEL(NAME, TYPE, OP)                                                              \
  static void NAME##2(const TYPE *restrict a, const TYPE *restrict b, size_t count,                \
                      TYPE *restrict out) {                                                        \
    for (size_t i = 0; i < count; ++i)                                                             \
      out[i] = OP(a[i], b[i]);                                                                     \
  }                                                                                                \
  static void NAME##4(const TYPE *restrict a, const TYPE *restrict b, const TYPE *restrict c,      \
                      const TYPE *restrict d, size_t count, TYPE *restrict out) {                  \
    for (size_t i = 0; i < count; ++i) {                                                           \
      TYPE ab = OP(a[i], b[i]);                                                                    \
      TYPE abc = OP(ab, c[i]);                                                                     \
      out[i] = OP(abc, d[i]);                                                                      \
    }                                                                                              \
  }                                                                                                \
  static void NAME##Fold(const TYPE *restrict a, size_t count, TYPE *restrict out) {               \
    for (size_t i = 0; i < count; ++i)                                                             \
      out[i] = OP(out[i], a[i]);                                                                   \
  }                                                                                                \
  static void NAME(int32_t n, const void *const *sources, size_t count, void *out) {               \
    int32_t done = n >= 4 ? 4 : 2;                                                                 \
    if (n >= 4)                                                                                    \
      NAME##4(sources[0], sources[1], sources[2], sources[3], count, out);                         \
    else                                                                                           \
      NAME##2(sources[0], sources[1], count, out);                                                 \
    for (; done < n; ++done)                                                                       \
      NAME##Fold(sources[done], count, out);                                                       \
  }

#define SUM(a, b) ((a) + (b))
#define PRODUCT(a, b) ((a) * (b))
#define AND(a, b) ((a) & (b))
#define OR(a, b) ((a) | (b))
#define XOR(a, b) ((a) ^ (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MIN(a, b) ((a) < (b) ? (a) : (b))

// Integers wrap: sums and products are taken on unsigned types. Those narrower than int would be
// promoted to it, so that 65535 * 65535 overflows; unsigned is stated.
#define WRAP_SUM(a, b) ((unsigned)(a) + (unsigned)(b))
#define WRAP_PRODUCT(a, b) ((unsigned)(a) * (unsigned)(b))

#define DEFINE_INTEGER(BITS, SUM_OP, PRODUCT_OP)                                                   \
  DEFINE_KERNEL(sumI##BITS, uint##BITS##_t, SUM_OP)                                                \
  DEFINE_KERNEL(productI##BITS, uint##BITS##_t, PRODUCT_OP)                                        \
  DEFINE_KERNEL(maxI##BITS, int##BITS##_t, MAX)                                                    \
  DEFINE_KERNEL(minI##BITS, int##BITS##_t, MIN)                                                    \
  DEFINE_KERNEL(andI##BITS, uint##BITS##_t, AND)                                                   \
  DEFINE_KERNEL(orI##BITS, uint##BITS##_t, OR)

DEFINE_INTEGER(8, WRAP_SUM, WRAP_PRODUCT)
DEFINE_INTEGER(16, WRAP_SUM, WRAP_PRODUCT)
DEFINE_INTEGER(32, WRAP_SUM, WRAP_PRODUCT)
DEFINE_INTEGER(64, SUM, PRODUCT)
DEFINE_KERNEL(sumI1, uint8_t, XOR)

// IEEE 754-2019 maximum and minimum: NaN wins, and -0 is below +0.
#define DEFINE_FLOAT_EXTREMA(SUFFIX, TYPE, BITS_TYPE, SIGN_SHIFT)                                  \
  static inline TYPE maximum##SUFFIX(TYPE a, TYPE b) {                                             \
    BITS_TYPE bits;                                                                                \
    memcpy(&bits, &a, sizeof(a));                                                                  \
    TYPE larger = a > b ? a : b; /* b if it is NaN */                                              \
    TYPE tie = bits >> SIGN_SHIFT ? b : a;                                                         \
    larger = a == b ? tie : larger;                                                                \
    return a != a ? a : larger;                                                                    \
  }                                                                                                \
  static inline TYPE minimum##SUFFIX(TYPE a, TYPE b) {                                             \
    BITS_TYPE bits;                                                                                \
    memcpy(&bits, &a, sizeof(a));                                                                  \
    TYPE smaller = a < b ? a : b;                                                                  \
    TYPE tie = bits >> SIGN_SHIFT ? a : b;                                                         \
    smaller = a == b ? tie : smaller;                                                              \
    return a != a ? a : smaller;                                                                   \
  }

DEFINE_FLOAT_EXTREMA(F32, float, uint32_t, 31)
DEFINE_FLOAT_EXTREMA(F64, double, uint64_t, 63)

DEFINE_KERNEL(sumF32, float, SUM)
DEFINE_KERNEL(productF32, float, PRODUCT)
DEFINE_KERNEL(maxF32, float, maximumF32)
DEFINE_KERNEL(minF32, float, minimumF32)
DEFINE_KERNEL(sumF64, double, SUM)
DEFINE_KERNEL(productF64, double, PRODUCT)
DEFINE_KERNEL(maxF64, double, maximumF64)
DEFINE_KERNEL(minF64, double, minimumF64)

//===----------------------------------------------------------------------===//
// 16-bit floats: combined in f32, rounded once
//===----------------------------------------------------------------------===//

static inline uint32_t toBits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

static inline float fromBits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

static inline float widenBF16(uint16_t value) { return fromBits((uint32_t)value << 16); }

static inline uint16_t narrowBF16(float value) {
  uint32_t bits = toBits(value);
  uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16; // to nearest, ties to even
  uint32_t quiet = bits >> 16 | 0x40;
  return (uint16_t)((bits & 0x7FFFFFFF) > 0x7F800000 ? quiet : rounded);
}

static inline float widenF16(uint16_t value) {
  uint32_t sign = (uint32_t)(value & 0x8000) << 16, rest = (uint32_t)(value & 0x7FFF) << 13;
  float scaled = fromBits(rest) * 0x1p112f; // exponent bias 15 to 127; exact, subnormals included
  uint32_t bits = toBits(scaled);
  bits = rest >= 0x0F800000 ? rest | 0x7F800000 : bits; // infinity and NaN
  return fromBits(bits | sign);
}

static inline uint16_t narrowF16(float value) {
  uint32_t bits = toBits(value), sign = bits >> 16 & 0x8000, rest = bits & 0x7FFFFFFF;
  // Normal: round the mantissa to 10 bits, ties to even, then change the bias. The carry may reach
  // infinity, which is right.
  uint32_t normal = (rest + 0xFFF + (rest >> 13 & 1) - ((127u - 15u) << 23)) >> 13;
  // Below 2^-14: adding 0.5 leaves the rounded multiple of 2^-24 in the low bits.
  uint32_t small = toBits(fromBits(rest) + 0.5f) - 0x3F000000;
  uint32_t large = rest > 0x7F800000 ? 0x7E00 | (rest >> 13 & 0x3FF) : 0x7C00;
  uint32_t result = rest < 0x38800000 ? small : normal;
  result = rest >= 0x477FF000 ? large : result; // rounds to 2^16 or more
  return (uint16_t)(sign | result);
}

#define NARROW_BLOCK 256

#define DEFINE_NARROW(NAME, OP, WIDEN, NARROW)                                                     \
  static void NAME(int32_t n, const void *const *sources, size_t count, void *out) {               \
    float sums[NARROW_BLOCK];                                                                      \
    for (size_t begin = 0; begin < count; begin += NARROW_BLOCK) {                                 \
      size_t size = count - begin < NARROW_BLOCK ? count - begin : NARROW_BLOCK;                   \
      const uint16_t *first = (const uint16_t *)sources[0] + begin;                                \
      for (size_t i = 0; i < size; ++i)                                                            \
        sums[i] = WIDEN(first[i]);                                                                 \
      for (int32_t k = 1; k < n; ++k) {                                                            \
        const uint16_t *next = (const uint16_t *)sources[k] + begin;                               \
        for (size_t i = 0; i < size; ++i)                                                          \
          sums[i] = OP(sums[i], WIDEN(next[i]));                                                   \
      }                                                                                            \
      uint16_t *restrict to = (uint16_t *)out + begin;                                             \
      for (size_t i = 0; i < size; ++i)                                                            \
        to[i] = NARROW(sums[i]);                                                                   \
    }                                                                                              \
  }

DEFINE_NARROW(sumF16, SUM, widenF16, narrowF16)
DEFINE_NARROW(productF16, PRODUCT, widenF16, narrowF16)
DEFINE_NARROW(maxF16, maximumF32, widenF16, narrowF16)
DEFINE_NARROW(minF16, minimumF32, widenF16, narrowF16)
DEFINE_NARROW(sumBF16, SUM, widenBF16, narrowBF16)
DEFINE_NARROW(productBF16, PRODUCT, widenBF16, narrowBF16)
DEFINE_NARROW(maxBF16, maximumF32, widenBF16, narrowBF16)
DEFINE_NARROW(minBF16, minimumF32, widenBF16, narrowBF16)

//===----------------------------------------------------------------------===//
// Table
//===----------------------------------------------------------------------===//

#define N_REDUCTIONS (SHARD_RT_OR + 1)

static const ReduceKernel kernels[][N_REDUCTIONS] = {
    // sum, max, min, product, and, or; bytes of an i1 are 0 or 1
    [SHARD_RT_I1] = {sumI1, orI8, andI8, andI8, andI8, orI8},
    [SHARD_RT_I8] = {sumI8, maxI8, minI8, productI8, andI8, orI8},
    [SHARD_RT_I16] = {sumI16, maxI16, minI16, productI16, andI16, orI16},
    [SHARD_RT_I32] = {sumI32, maxI32, minI32, productI32, andI32, orI32},
    [SHARD_RT_I64] = {sumI64, maxI64, minI64, productI64, andI64, orI64},
    [SHARD_RT_F16] = {sumF16, maxF16, minF16, productF16, NULL, NULL},
    [SHARD_RT_BF16] = {sumBF16, maxBF16, minBF16, productBF16, NULL, NULL},
    [SHARD_RT_F32] = {sumF32, maxF32, minF32, productF32, NULL, NULL},
    [SHARD_RT_F64] = {sumF64, maxF64, minF64, productF64, NULL, NULL},
};

bool shardRtReductionIsValid(ShardRtElement element, ShardRtReduction reduction) {
  return (unsigned)element < sizeof(kernels) / sizeof(kernels[0]) &&
         (unsigned)reduction < N_REDUCTIONS && kernels[element][reduction];
}

void shardRtReduce(ShardRtElement element, ShardRtReduction reduction, int32_t n,
                   const void *const *sources, size_t count, void *out) {
  kernels[element][reduction](n, sources, count, out);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void shardRtStreamCopy(void *restrict to, const void *restrict from, size_t bytes) {
#ifdef __SSE2__
  char *target = to;
  const char *source = from;
  size_t head = -(uintptr_t)target & 15;
  if (head > bytes)
    head = bytes;
  memcpy(target, source, head);
  target += head;
  source += head;
  bytes -= head;
  for (; bytes >= 64; bytes -= 64, target += 64, source += 64) {
    __m128i a = _mm_loadu_si128((const __m128i *)source);
    __m128i b = _mm_loadu_si128((const __m128i *)source + 1);
    __m128i c = _mm_loadu_si128((const __m128i *)source + 2);
    __m128i d = _mm_loadu_si128((const __m128i *)source + 3);
    _mm_stream_si128((__m128i *)target, a);
    _mm_stream_si128((__m128i *)target + 1, b);
    _mm_stream_si128((__m128i *)target + 2, c);
    _mm_stream_si128((__m128i *)target + 3, d);
  }
  memcpy(target, source, bytes);
#else
  memcpy(to, from, bytes);
#endif
}

void shardRtStreamFence(void) {
#ifdef __SSE2__
  _mm_sfence();
#endif
}
