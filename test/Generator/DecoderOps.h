//===- DecoderOps.h - Text of the ops of a generated decoder ------*- C -*-===//
#ifndef SHARD_TEST_DECODEROPS_H
#define SHARD_TEST_DECODEROPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_RANK = 5 };

// With --dynamic, these stand for the batch and the sequence while shapes are computed: a size that
// one of them divides is written `?`, and as a number of the program where one is wanted.
enum { BATCH_MARK = 1000003, SEQUENCE_MARK = 1000033 };

typedef struct Options {
  const char *family; // "llama" or "gpt"
  int64_t heads, kvHeads, headSize, width, ff, layers, batch, sequence, vocab;
  int64_t wideEvery, wideFirst; // every N-th and the first N layers have twice the ff
  int64_t experts, top;         // 0: one feed-forward; else how many, and how many a token takes
  bool bias, parallel, qkNorm, tied, mask;
  const char *dynamic; // "batch", "sequence" or "both"; null: none
  int64_t positions;   // rows of learned positions
} Options;

typedef struct Text {
  char *data;
  size_t length, capacity;
} Text;

typedef struct Value {
  char name[24];
  const char *element; // "f32"
  int rank;
  int64_t shape[MAX_RANK];
} Value;

typedef struct Cached { // a tensor.empty or fill of a type, one for all users
  char *key;
  Value value;
} Cached;

typedef struct Generator {
  Options options;
  Text head, body, json; // signature, ops, args.json's list
  Text dims, constants;  // numbers that are sizes; others
  int nValues, nArguments, nResults;
  Cached *cache;
  size_t nCached;
  char (*sizes)[64]; // names in `dims`
  size_t nSizes;
} Generator;

void *checked(void *memory); // stops at null
void put(Text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

bool isDynamic(int64_t size);
/// The size as an operand: a number, or the name of one that the program computes.
void putSize(Generator *g, Text *text, int64_t size);
void putSizes(Generator *g, int rank, const int64_t *shape); // in the body, with commas
void putDims(Text *text, int rank);                          // d0, d1, ...
void putType(Text *text, const Value *value);
/// `format` with the name of values[i] for "@i" and its type for "~i", i one digit.
void putValues(Text *text, const char *format, const Value *values);
/// Shape, where it is fixed, and element type as args.json has them.
void putJsonShape(Text *json, const Value *value);

/// A value without an op yet.
Value makeValue(Generator *g, const char *element, int rank, const int64_t *shape);
/// An argument of the function; the name is that of a weight of PyTorch.
Value argument(Generator *g, const char *role, const char *element, int rank, const int64_t *shape,
               const char *format, ...) __attribute__((format(printf, 6, 7)));

#define SHAPE(...)                                                                                 \
  (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) { __VA_ARGS__ }
#define WEIGHT(g, shape, ...) argument(g, "weight", "f32", shape, __VA_ARGS__)

/// One tensor.empty or linalg.fill for all users of a type; `constant` names a scalar of
/// writeDecoder.
Value empty(Generator *g, const char *element, int rank, const int64_t *shape);
Value fill(Generator *g, const char *constant, const char *element, int rank, const int64_t *shape);

/// A linalg.generic over `shape`; dimension `reduced` (or -1) is summed up into `init`. The body's
/// text names its inputs %a, %b, %c, its accumulator %out and yields by itself.
Value generic(Generator *g, int rank, const int64_t *shape, int nInputs, const Value *inputs,
              const Value *init, int reduced, const char *body);
/// Elementwise over the broadcast shape of the inputs.
Value map(Generator *g, const char *element, const char *body, int nInputs, const Value *inputs);
Value unary(Generator *g, const char *body, Value a);
Value binary(Generator *g, const char *op, Value a, Value b);
/// Sums the last dimension, keeping it as 1.
Value sumLast(Generator *g, Value a);
/// expand_shape or collapse_shape; `groups` is the reassociation as text.
Value reshape(Generator *g, Value a, const char *groups, int rank, const int64_t *shape);
Value transpose(Generator *g, Value a, const int *order);
/// [m,k] x [k,n], or with a batch dimension in front.
Value matmul(Generator *g, Value a, Value b);
Value sliceLast(Generator *g, Value a, int64_t offset, int64_t size);
Value concatLast(Generator *g, Value a, Value b);

#endif // SHARD_TEST_DECODEROPS_H
