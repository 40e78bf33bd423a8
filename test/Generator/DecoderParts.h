//===- DecoderParts.h - Parts of a Transformer as ops -------------*- C -*-===//
#ifndef SHARD_TEST_DECODERPARTS_H
#define SHARD_TEST_DECODERPARTS_H

#include "DecoderOps.h"

Value iota(Generator *g, int64_t size); // i64
Value embed(Generator *g, Value table, Value ids);
Value attentionMask(Generator *g, Value positions, Value padding);
void rotaryTables(Generator *g, Value positions, Value *cosine, Value *sine);
Value rotate(Generator *g, Value a, Value cosine, Value sine);
Value rmsNorm(Generator *g, Value a, Value weight);
Value layerNorm(Generator *g, Value a, Value weight, Value bias);

typedef struct Linear {
  Value weight, bias;
  bool transposed; // [out, in]
  bool biased;
} Linear;

Linear declareLinear(Generator *g, int64_t in, int64_t out, bool transposed, bool biased,
                     const char *prefix, const char *name);
Value applyLinear(Generator *g, const Linear *linear, Value flat);
Value flatten(Generator *g, Value a); // batch and sequence in one dimension
Value splitHeads(Generator *g, Value a, int64_t n, const Value *norm);
Value repeatHeads(Generator *g, Value a); // of keys and values, to the queries'
/// The largest of each row of [m,n], and its index.
Value rowMaximum(Generator *g, Value a, Value *outIndex);
Value attend(Generator *g, Value q, Value k, Value v, Value mask);
Value gelu(Generator *g, Value a);
Value swish(Generator *g, Value a);

#endif // SHARD_TEST_DECODERPARTS_H
