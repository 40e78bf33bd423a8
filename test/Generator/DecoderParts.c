//===- DecoderParts.c - Parts of a Transformer as ops -------------*- C -*-===//
#include "DecoderParts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Value iota(Generator *g, int64_t size) {
  Value init = empty(g, "i64", SHAPE(size));
  return generic(g, 1, &size, 0, NULL, &init, -1,
                 "      %1 = linalg.index 0 : index\n"
                 "      %2 = arith.index_cast %1 : index to i64\n"
                 "      linalg.yield %2 : i64\n");
}

/// Rows of `table` [n, width] at `ids` [.., s]; ids are checked.
Value embed(Generator *g, Value table, Value ids) {
  int64_t width = table.shape[1];
  int64_t shape[] = {ids.shape[0], ids.shape[1], width};
  Value init = empty(g, "f32", 3, shape);
  Value value = makeValue(g, "f32", 3, shape);
  Text *t = &g->body;
  const Value values[] = {value, ids, init, table};
  putValues(t,
            "    @0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, "
            "affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = [\"parallel\", "
            "\"parallel\", \"parallel\"]} ins(@1 : ~1) outs(@2 : ~2) {\n"
            "    ^bb0(%a: i64, %out: f32):\n"
            "      %1 = arith.index_cast %a : i64 to index\n"
            "      %2 = linalg.index 2 : index\n",
            values);
  put(t, "      %%rows = arith.constant %" PRId64 " : index\n", table.shape[0]);
  putValues(t,
            "      %3 = arith.cmpi slt, %1, %rows : index\n"
            "      cf.assert %3, \"index must be smaller than dim size\"\n"
            "      %4 = arith.cmpi sge, %a, %zero_i64 : i64\n"
            "      cf.assert %4, \"index must be larger or equal to 0\"\n"
            "      %5 = tensor.extract @3[%1, %2] : ~3\n"
            "      linalg.yield %5 : f32\n    } -> ~0\n",
            values);
  return value;
}

/// A size as an i64 of a body.
static void putNumber(Generator *g, Text *text, const char *name, int64_t size) {
  put(text, isDynamic(size) ? "%s = arith.index_cast " : "%s = arith.constant ", name);
  putSize(g, text, size);
  put(text, isDynamic(size) ? " : index to i64" : " : i64");
}

/// [1 or b, 1, s, s] additive: 0 where a query may look, the lowest float where not.
Value attentionMask(Generator *g, Value positions, Value padding) {
  const Options *o = &g->options;
  int64_t b = o->batch, s = o->sequence;
  Value rows = reshape(g, positions, "[[0, 1, 2, 3]]", SHAPE(1, 1, s, 1));
  Value columns = reshape(g, positions, "[[0, 1, 2, 3]]", SHAPE(1, 1, 1, s));
  Value allowed =
      map(g, "i1", "      %1 = arith.cmpi sle, %a, %b : i64\n      linalg.yield %1 : i1\n", 2,
          (Value[]){columns, rows});
  if (o->mask) {
    Value real =
        map(g, "i1", "      %1 = arith.cmpi ne, %a, %zero_i64 : i64\n      linalg.yield %1 : i1\n",
            1, &padding);
    Value batches = reshape(g, iota(g, b), "[[0, 1, 2, 3]]", SHAPE(b, 1, 1, 1));
    Text rows = {0}, length = {0}, type = {0};
    putNumber(g, &rows, "%batch", b);
    putNumber(g, &length, "%length", s);
    putType(&type, &real);
    char body[1024];
    snprintf(body, sizeof body,
             "      %s\n"
             "      %s\n"
             "      %%1 = arith.cmpi slt, %%a, %%zero_i64 : i64\n"
             "      %%2 = arith.addi %%a, %%batch : i64\n"
             "      %%3 = arith.select %%1, %%2, %%a : i64\n"
             "      %%4 = arith.index_cast %%3 : i64 to index\n"
             "      %%5 = arith.cmpi slt, %%b, %%zero_i64 : i64\n"
             "      %%6 = arith.addi %%b, %%length : i64\n"
             "      %%7 = arith.select %%5, %%6, %%b : i64\n"
             "      %%8 = arith.index_cast %%7 : i64 to index\n"
             "      %%9 = tensor.extract %s[%%4, %%8] : %s\n"
             "      linalg.yield %%9 : i1\n",
             rows.data, length.data, real.name, type.data);
    free(rows.data);
    free(length.data);
    free(type.data);
    Value padded = map(g, "i1", body, 2, (Value[]){batches, columns});
    allowed = map(g, "i1", "      %1 = arith.andi %a, %b : i1\n      linalg.yield %1 : i1\n", 2,
                  (Value[]){allowed, padded});
  }
  Value yes = {.name = "%open", .element = "f32"}, no = {.name = "%closed", .element = "f32"};
  return map(g, "f32", "      %1 = arith.select %a, %b, %c : f32\n      linalg.yield %1 : f32\n", 3,
             (Value[]){allowed, yes, no});
}

/// Cosines and sines [1, 1, s, d] of rotary positions.
void rotaryTables(Generator *g, Value positions, Value *cosine, Value *sine) {
  int64_t s = g->options.sequence, d = g->options.headSize;
  Value at = reshape(g, positions, "[[0, 1, 2]]", SHAPE(1, s, 1));
  Value real = map(
      g, "f32", "      %1 = arith.sitofp %a : i64 to f32\n      linalg.yield %1 : f32\n", 1, &at);
  Value frequencies = {.name = "%frequencies", .element = "f32", .rank = 1, .shape = {d / 2}};
  Value angles = binary(g, "arith.mulf", real, frequencies);
  Value both = concatLast(g, angles, angles);
  Value c = unary(g, "      %1 = math.cos %a : f32\n      linalg.yield %1 : f32\n", both);
  Value n = unary(g, "      %1 = math.sin %a : f32\n      linalg.yield %1 : f32\n", both);
  *cosine = reshape(g, c, "[[0], [1, 2], [3]]", SHAPE(1, 1, s, d));
  *sine = reshape(g, n, "[[0], [1, 2], [3]]", SHAPE(1, 1, s, d));
}

Value rotate(Generator *g, Value a, Value cosine, Value sine) {
  int64_t half = g->options.headSize / 2;
  Value first = binary(g, "arith.mulf", a, cosine);
  Value low = sliceLast(g, a, 0, half), high = sliceLast(g, a, half, half);
  Value negated = unary(g, "      %1 = arith.negf %a : f32\n      linalg.yield %1 : f32\n", high);
  Value turned = concatLast(g, negated, low);
  return binary(g, "arith.addf", first, binary(g, "arith.mulf", turned, sine));
}

Value rmsNorm(Generator *g, Value a, Value weight) {
  char body[256];
  Value square =
      unary(g, "      %1 = math.fpowi %a, %two_i64 : f32, i64\n      linalg.yield %1 : f32\n", a);
  Value sum = sumLast(g, square);
  snprintf(body, sizeof body,
           "      %%n = arith.constant %" PRId64 ".0 : f32\n      %%1 = arith.divf %%a, %%n : f32\n"
           "      linalg.yield %%1 : f32\n",
           a.shape[a.rank - 1]);
  Value mean = unary(g, body, sum);
  Value shifted = unary(g,
                        "      %1 = arith.truncf %eps : f64 to f32\n"
                        "      %2 = arith.addf %a, %1 : f32\n      linalg.yield %2 : f32\n",
                        mean);
  Value scale = unary(g, "      %1 = math.rsqrt %a : f32\n      linalg.yield %1 : f32\n", shifted);
  Value normal = binary(g, "arith.mulf", a, scale);
  return binary(g, "arith.mulf", weight, normal);
}

/// The variance in f64, as torch decomposes native_layer_norm.
Value layerNorm(Generator *g, Value a, Value weight, Value bias) {
  char divide64[256], divide[256];
  int64_t n = a.shape[a.rank - 1];
  snprintf(divide64, sizeof divide64,
           "      %%n = arith.constant %" PRId64 ".0 : f64\n      %%1 = arith.divf %%a, %%n : f64\n"
           "      linalg.yield %%1 : f64\n",
           n);
  snprintf(divide, sizeof divide,
           "      %%n = arith.constant %" PRId64 ".0 : f32\n      %%1 = arith.divf %%a, %%n : f32\n"
           "      linalg.yield %%1 : f32\n",
           n);
  Value wide =
      map(g, "f64", "      %1 = arith.extf %a : f32 to f64\n      linalg.yield %1 : f64\n", 1, &a);
  Value mean64 = unary(g, divide64, sumLast(g, wide));
  Value centred = binary(g, "arith.subf", wide, mean64);
  Value square = binary(g, "arith.mulf", centred, centred);
  Value variance64 = unary(g, divide64, sumLast(g, square));
  Value variance =
      map(g, "f32", "      %1 = arith.truncf %a : f64 to f32\n      linalg.yield %1 : f32\n", 1,
          &variance64);
  Value mean = unary(g, divide, sumLast(g, a));
  Value shifted = unary(g,
                        "      %1 = arith.truncf %eps : f64 to f32\n"
                        "      %2 = arith.addf %a, %1 : f32\n      linalg.yield %2 : f32\n",
                        variance);
  Value scale = unary(g, "      %1 = math.rsqrt %a : f32\n      linalg.yield %1 : f32\n", shifted);
  Value normal = binary(g, "arith.mulf", binary(g, "arith.subf", a, mean), scale);
  return binary(g, "arith.addf", binary(g, "arith.mulf", normal, weight), bias);
}

Linear declareLinear(Generator *g, int64_t in, int64_t out, bool transposed, bool biased,
                     const char *prefix, const char *name) {
  Linear linear = {.transposed = transposed, .biased = biased};
  linear.weight =
      WEIGHT(g, SHAPE(transposed ? out : in, transposed ? in : out), "%s%s.weight", prefix, name);
  if (biased)
    linear.bias = WEIGHT(g, SHAPE(out), "%s%s.bias", prefix, name);
  return linear;
}

/// `flat` is [b*s, in]; gives [b, s, out].
Value applyLinear(Generator *g, const Linear *linear, Value flat) {
  const Options *o = &g->options;
  Value weight = linear->transposed ? transpose(g, linear->weight, (int[]){1, 0}) : linear->weight;
  Value out = matmul(g, flat, weight);
  int64_t n = weight.shape[1];
  if (!linear->transposed && linear->biased) { // GPT's Conv1D: the bias on two dimensions
    Value init = empty(g, "f32", 2, out.shape);
    Value bias =
        generic(g, 2, out.shape, 1, &linear->bias, &init, -1, "      linalg.yield %a : f32\n");
    out = binary(g, "arith.addf", out, bias);
  }
  out = reshape(g, out, "[[0, 1], [2]]", SHAPE(o->batch, o->sequence, n));
  if (linear->transposed && linear->biased)
    out = binary(g, "arith.addf", out, linear->bias);
  return out;
}

Value flatten(Generator *g, Value a) {
  return reshape(g, a, "[[0, 1], [2]]", SHAPE(a.shape[0] * a.shape[1], a.shape[2]));
}

/// [b, s, n*d] -> [b, n, s, d], normalised per head if there is a weight.
Value splitHeads(Generator *g, Value a, int64_t n, const Value *norm) {
  const Options *o = &g->options;
  Value heads = reshape(g, a, "[[0], [1], [2, 3]]", SHAPE(o->batch, o->sequence, n, o->headSize));
  if (norm)
    heads = rmsNorm(g, heads, *norm);
  return transpose(g, heads, (int[]){0, 2, 1, 3});
}

/// [b, kv, s, d] -> [b, h, s, d]: each key/value head serves h / kv query heads.
Value repeatHeads(Generator *g, Value a) {
  const Options *o = &g->options;
  int64_t groups = o->heads / o->kvHeads;
  if (groups == 1)
    return a;
  int64_t shape[] = {o->batch, o->kvHeads, groups, o->sequence, o->headSize};
  Value init = empty(g, "f32", 5, shape);
  Value value = makeValue(g, "f32", 5, shape);
  putValues(&g->body,
            "    @0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, "
            "d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = "
            "[\"parallel\", \"parallel\", \"parallel\", \"parallel\", \"parallel\"]} ins(@1 : ~1) "
            "outs(@2 : ~2) {\n    ^bb0(%a: f32, %out: f32):\n      linalg.yield %a : f32\n"
            "    } -> ~0\n",
            (Value[]){value, a, init});
  return reshape(g, value, "[[0], [1, 2], [3], [4]]",
                 SHAPE(o->batch, o->heads, o->sequence, o->headSize));
}

/// The largest of the last dimension, which goes, and where it first stands (i64).
Value rowMaximum(Generator *g, Value a, Value *outIndex) {
  int rank = a.rank - 1;
  Value lowest = fill(g, "%lowest", "f32", rank, a.shape);
  Value zero = fill(g, "%zero_i64", "i64", rank, a.shape);
  Value most = makeValue(g, "f32", rank, a.shape);
  Text *t = &g->body;
  put(t, "    %s:2 = linalg.generic {indexing_maps = [", most.name);
  for (int i = 0; i < 3; ++i) {
    put(t, "%saffine_map<(", i ? ", " : "");
    putDims(t, a.rank);
    put(t, ") -> (");
    putDims(t, i ? rank : a.rank);
    put(t, ")>");
  }
  put(t, "], iterator_types = [");
  for (int i = 0; i < rank; ++i)
    put(t, "\"parallel\", ");
  const Value values[] = {a, lowest, zero};
  putValues(t, "\"reduction\"]} ins(@0 : ~0) outs(@1, @2 : ~1, ~2)", values);
  put(t,
      " {\n    ^bb0(%%a: f32, %%out: f32, %%at: i64):\n"
      "      %%1 = linalg.index %d : index\n"
      "      %%2 = arith.index_cast %%1 : index to i64\n"
      "      %%3 = arith.maximumf %%a, %%out : f32\n"
      "      %%4 = arith.cmpf ogt, %%a, %%out : f32\n"
      "      %%5 = arith.select %%4, %%2, %%at : i64\n"
      "      linalg.yield %%3, %%5 : f32, i64\n    } -> ",
      rank);
  putValues(t, "(~1, ~2)\n", values);
  Value index = most;
  index.element = zero.element;
  size_t length = strlen(most.name);
  snprintf(most.name + length, sizeof most.name - length, "#0");
  snprintf(index.name + length, sizeof index.name - length, "#1");
  if (outIndex)
    *outIndex = index;
  return most;
}

/// Softmax of q k^T / sqrt(d) + mask, times v. [b, h, s, d] each; gives [b*s, h*d].
Value attend(Generator *g, Value q, Value k, Value v, Value mask) {
  const Options *o = &g->options;
  int64_t b = o->batch, h = o->heads, s = o->sequence, d = o->headSize;
  Value kt = transpose(g, k, (int[]){0, 1, 3, 2});
  Value q3 = reshape(g, q, "[[0, 1], [2], [3]]", SHAPE(b * h, s, d));
  Value k3 = reshape(g, kt, "[[0, 1], [2], [3]]", SHAPE(b * h, d, s));
  Value scores = reshape(g, matmul(g, q3, k3), "[[0, 1], [2], [3]]", SHAPE(b, h, s, s));
  Value scaled = unary(g,
                       "      %1 = arith.truncf %scale : f64 to f32\n"
                       "      %2 = arith.mulf %a, %1 : f32\n      linalg.yield %2 : f32\n",
                       scores);
  Value masked = binary(g, "arith.addf", scaled, mask);
  // The row maximum comes with its index, which nothing uses.
  Value highest = reshape(g, rowMaximum(g, masked, NULL), "[[0], [1], [2, 3]]", SHAPE(b, h, s, 1));
  Value power = unary(g, "      %1 = math.exp %a : f32\n      linalg.yield %1 : f32\n",
                      binary(g, "arith.subf", masked, highest));
  Value probability = binary(g, "arith.divf", power, sumLast(g, power));
  Value p3 = reshape(g, probability, "[[0, 1], [2], [3]]", SHAPE(b * h, s, s));
  Value v3 = reshape(g, v, "[[0, 1], [2], [3]]", SHAPE(b * h, s, d));
  Value out = reshape(g, matmul(g, p3, v3), "[[0, 1], [2], [3]]", SHAPE(b, h, s, d));
  Value back = transpose(g, out, (int[]){0, 2, 1, 3});
  return reshape(g, back, "[[0, 1], [2, 3]]", SHAPE(b * s, h * d));
}

Value gelu(Generator *g, Value a) {
  Value half = unary(g, "      %1 = arith.mulf %a, %half : f32\n      linalg.yield %1 : f32\n", a);
  Value cube =
      unary(g, "      %1 = math.fpowi %a, %three_i64 : f32, i64\n      linalg.yield %1 : f32\n", a);
  Value small = unary(g,
                      "      %1 = arith.truncf %cubic : f64 to f32\n"
                      "      %2 = arith.mulf %a, %1 : f32\n      linalg.yield %2 : f32\n",
                      cube);
  Value inner = unary(g,
                      "      %1 = arith.truncf %root : f64 to f32\n"
                      "      %2 = arith.mulf %a, %1 : f32\n      linalg.yield %2 : f32\n",
                      binary(g, "arith.addf", a, small));
  Value tanh = unary(g, "      %1 = math.tanh %a : f32\n      linalg.yield %1 : f32\n", inner);
  Value one = unary(g, "      %1 = arith.addf %a, %one : f32\n      linalg.yield %1 : f32\n", tanh);
  return binary(g, "arith.mulf", half, one);
}

Value swish(Generator *g, Value a) {
  Value sigmoid = unary(g,
                        "      %1 = arith.negf %a : f32\n      %2 = math.exp %1 : f32\n"
                        "      %3 = arith.addf %2, %one : f32\n"
                        "      %4 = arith.divf %one, %3 : f32\n      linalg.yield %4 : f32\n",
                        a);
  return binary(g, "arith.mulf", a, sigmoid);
}
