//===- Decoder.c - A decoder-only Transformer as text -------------*- C -*-===//
#include "Decoder.h"

#include "DecoderParts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Norm {
  Value weight, bias;
} Norm;

typedef struct Layer {
  Norm first, second;
  Linear q, k, v, fused, out, gate, up, down;
  Linear router;
  Value expertGate, expertUp, expertDown; // [experts, out, in]
  Value qNorm, kNorm;
} Layer;

static bool isGpt(const Generator *g) { return strcmp(g->options.family, "gpt") == 0; }

static Norm declareNorm(Generator *g, const char *prefix, const char *name) {
  Norm norm = {0};
  norm.weight = WEIGHT(g, SHAPE(g->options.width), "%s%s.weight", prefix, name);
  if (isGpt(g))
    norm.bias = WEIGHT(g, SHAPE(g->options.width), "%s%s.bias", prefix, name);
  return norm;
}

static Value applyNorm(Generator *g, const Norm *norm, Value a) {
  return isGpt(g) ? layerNorm(g, a, norm->weight, norm->bias) : rmsNorm(g, a, norm->weight);
}

/// Router and experts in place of the feed-forward.
static void declareExperts(Generator *g, Layer *layer, const char *prefix, int64_t ff) {
  const Options *o = &g->options;
  layer->router = declareLinear(g, o->width, o->experts, true, false, prefix, "mlp.gate");
  if (!isGpt(g))
    layer->expertGate = WEIGHT(g, SHAPE(o->experts, ff, o->width), "%smlp.experts.gate", prefix);
  layer->expertUp = WEIGHT(g, SHAPE(o->experts, ff, o->width), "%smlp.experts.up", prefix);
  layer->expertDown = WEIGHT(g, SHAPE(o->experts, o->width, ff), "%smlp.experts.down", prefix);
}

static Layer declareLayer(Generator *g, int64_t index) {
  const Options *o = &g->options;
  Layer layer = {0};
  char prefix[64];
  int64_t inner = o->heads * o->headSize, kv = o->kvHeads * o->headSize;
  bool wide = index < o->wideFirst || (o->wideEvery && (index + 1) % o->wideEvery == 0);
  int64_t ff = wide ? 2 * o->ff : o->ff;
  if (isGpt(g)) {
    snprintf(prefix, sizeof prefix, "transformer.h.%" PRId64 ".", index);
    layer.first = declareNorm(g, prefix, "ln_1");
    layer.fused = declareLinear(g, o->width, inner + 2 * kv, false, o->bias, prefix, "attn.c_attn");
    layer.out = declareLinear(g, inner, o->width, false, o->bias, prefix, "attn.c_proj");
    if (!o->parallel)
      layer.second = declareNorm(g, prefix, "ln_2");
    if (!o->experts) {
      layer.up = declareLinear(g, o->width, ff, false, o->bias, prefix, "mlp.c_fc");
      layer.down = declareLinear(g, ff, o->width, false, o->bias, prefix, "mlp.c_proj");
    }
  } else {
    snprintf(prefix, sizeof prefix, "model.layers.%" PRId64 ".", index);
    layer.q = declareLinear(g, o->width, inner, true, o->bias, prefix, "self_attn.q_proj");
    layer.k = declareLinear(g, o->width, kv, true, o->bias, prefix, "self_attn.k_proj");
    layer.v = declareLinear(g, o->width, kv, true, o->bias, prefix, "self_attn.v_proj");
    layer.out = declareLinear(g, inner, o->width, true, o->bias, prefix, "self_attn.o_proj");
    if (!o->experts) {
      layer.gate = declareLinear(g, o->width, ff, true, o->bias, prefix, "mlp.gate_proj");
      layer.up = declareLinear(g, o->width, ff, true, o->bias, prefix, "mlp.up_proj");
      layer.down = declareLinear(g, ff, o->width, true, o->bias, prefix, "mlp.down_proj");
    }
    layer.first = declareNorm(g, prefix, "input_layernorm");
    if (!o->parallel)
      layer.second = declareNorm(g, prefix, "post_attention_layernorm");
  }
  if (o->experts)
    declareExperts(g, &layer, prefix, ff);
  if (o->qkNorm) {
    layer.qNorm = WEIGHT(g, SHAPE(o->headSize), "%sself_attn.q_norm.weight", prefix);
    layer.kNorm = WEIGHT(g, SHAPE(o->headSize), "%sself_attn.k_norm.weight", prefix);
  }
  return layer;
}

static Value attention(Generator *g, const Layer *layer, Value normal, Value mask, Value cosine,
                       Value sine) {
  const Options *o = &g->options;
  Value q, k, v, flat = flatten(g, normal);
  if (isGpt(g)) {
    int64_t inner = o->heads * o->headSize, kv = o->kvHeads * o->headSize;
    Value all = applyLinear(g, &layer->fused, flat);
    q = sliceLast(g, all, 0, inner);
    k = sliceLast(g, all, inner, kv);
    v = sliceLast(g, all, inner + kv, kv);
  } else {
    q = applyLinear(g, &layer->q, flat);
    k = applyLinear(g, &layer->k, flat);
    v = applyLinear(g, &layer->v, flat);
  }
  q = splitHeads(g, q, o->heads, o->qkNorm ? &layer->qNorm : NULL);
  k = splitHeads(g, k, o->kvHeads, o->qkNorm ? &layer->kNorm : NULL);
  v = splitHeads(g, v, o->kvHeads, NULL);
  if (!isGpt(g)) {
    q = rotate(g, q, cosine, sine);
    k = rotate(g, k, cosine, sine);
  }
  Value mixed = attend(g, q, repeatHeads(g, k), repeatHeads(g, v), mask);
  return applyLinear(g, &layer->out, mixed);
}

/// Every expert's product: x [t, in] or [e, t, in] by weight [e, out, in] gives [e, t, out].
static Value expertProduct(Generator *g, Value x, Value weight) {
  int64_t tokens = x.shape[x.rank - 2];
  Value init = fill(g, "%zero", "f32", SHAPE(weight.shape[0], tokens, weight.shape[1]));
  Value value = makeValue(g, "f32", init.rank, init.shape);
  put(&g->body,
      "    %s = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (%sd1, d3)>, ",
      value.name, x.rank == 3 ? "d0, " : "");
  putValues(&g->body,
            "affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, "
            "d2)>], iterator_types = [\"parallel\", \"parallel\", \"parallel\", \"reduction\"]} "
            "ins(@0, @1 : ~0, ~1) outs(@2 : ~2) {\n    ^bb0(%a: f32, %b: f32, %out: f32):\n"
            "      %1 = arith.mulf %a, %b : f32\n      %2 = arith.addf %out, %1 : f32\n"
            "      linalg.yield %2 : f32\n    } -> ~2\n",
            (Value[]){x, weight, init});
  return value;
}

/// What each token gives each expert, [t, e]: its probability for the first `top` by repeated
/// maximum, 0 for the others.
static Value route(Generator *g, const Layer *layer, Value flat) {
  const Options *o = &g->options;
  Value logits = flatten(g, applyLinear(g, &layer->router, flat));
  Value power = unary(g, "      %1 = math.exp %a : f32\n      linalg.yield %1 : f32\n", logits);
  Value probability = binary(g, "arith.divf", power, sumLast(g, power)), left = probability;
  Value given = fill(g, "%zero", "f32", 2, probability.shape), ids = iota(g, o->experts);
  for (int64_t k = 0; k < o->top; ++k) {
    Value index;
    rowMaximum(g, left, &index);
    Value column = reshape(g, index, "[[0, 1]]", SHAPE(index.shape[0], 1));
    Value chosen =
        map(g, "i1", "      %1 = arith.cmpi eq, %a, %b : i64\n      linalg.yield %1 : i1\n", 2,
            (Value[]){ids, column});
    given = map(g, "f32", "      %1 = arith.select %a, %b, %c : f32\n      linalg.yield %1 : f32\n",
                3, (Value[]){chosen, probability, given});
    left = map(g, "f32",
               "      %1 = arith.select %a, %lowest, %b : f32\n      linalg.yield %1 : f32\n", 2,
               (Value[]){chosen, left});
  }
  return given;
}

/// Every expert computes every token; what a token gives an expert weighs its answer.
static Value applyExperts(Generator *g, const Layer *layer, Value flat) {
  const Options *o = &g->options;
  Value given = route(g, layer, flat), up = expertProduct(g, flat, layer->expertUp);
  Value inner =
      isGpt(g) ? gelu(g, up)
               : binary(g, "arith.mulf", swish(g, expertProduct(g, flat, layer->expertGate)), up);
  Value answers = expertProduct(g, inner, layer->expertDown);
  Value weights = transpose(g, given, (int[]){1, 0});
  weights = reshape(g, weights, "[[0], [1, 2]]", SHAPE(weights.shape[0], weights.shape[1], 1));
  Value weighed = binary(g, "arith.mulf", answers, weights);
  Value init = fill(g, "%zero", "f32", 2, flat.shape);
  Value sum = generic(g, 3, weighed.shape, 1, &weighed, &init, 0,
                      "      %1 = arith.addf %a, %out : f32\n      linalg.yield %1 : f32\n");
  return reshape(g, sum, "[[0, 1], [2]]", SHAPE(o->batch, o->sequence, o->width));
}

static Value feedForward(Generator *g, const Layer *layer, Value normal) {
  Value flat = flatten(g, normal);
  if (g->options.experts)
    return applyExperts(g, layer, flat);
  Value inner;
  if (isGpt(g)) {
    inner = gelu(g, applyLinear(g, &layer->up, flat));
  } else {
    Value gate = applyLinear(g, &layer->gate, flat);
    inner = binary(g, "arith.mulf", swish(g, gate), applyLinear(g, &layer->up, flat));
  }
  return applyLinear(g, &layer->down, flatten(g, inner));
}

static Value block(Generator *g, const Layer *layer, Value x, Value mask, Value cosine,
                   Value sine) {
  Value normal = applyNorm(g, &layer->first, x);
  Value mixed = attention(g, layer, normal, mask, cosine, sine);
  if (g->options.parallel)
    return binary(g, "arith.addf", binary(g, "arith.addf", mixed, feedForward(g, layer, normal)),
                  x);
  Value y = binary(g, "arith.addf", x, mixed);
  return binary(g, "arith.addf", y, feedForward(g, layer, applyNorm(g, &layer->second, y)));
}

void writeDecoder(Generator *g) {
  const Options *o = &g->options;
  bool gpt = isGpt(g);
  Value table = WEIGHT(g, SHAPE(o->vocab, o->width), "%s",
                       gpt ? "transformer.wte.weight" : "model.embed_tokens.weight");
  Value learned = {0};
  if (gpt)
    learned = WEIGHT(g, SHAPE(o->positions ? o->positions : o->sequence + 3, o->width),
                     "transformer.wpe.weight");
  Layer *layers = checked(calloc((size_t)o->layers, sizeof *layers));
  for (int64_t i = 0; i < o->layers; ++i)
    layers[i] = declareLayer(g, i);
  Norm last = declareNorm(g, "", gpt ? "transformer.ln_f" : "model.norm");
  Linear head = {.weight = table, .transposed = true};
  if (!o->tied)
    head = declareLinear(g, o->width, o->vocab, true, false, "", "lm_head");
  Value ids = argument(g, "input", "i64", SHAPE(o->batch, o->sequence), "input_ids");
  Text idsType = {0};
  putType(&idsType, &ids);
  Value padding = {0};
  if (o->mask)
    padding = argument(g, "input", "i64", SHAPE(o->batch, o->sequence), "attention_mask");

  if (o->dynamic)
    put(&g->dims,
        "    %%c0 = arith.constant 0 : index\n    %%c1 = arith.constant 1 : index\n"
        "    %%dim_batch = tensor.dim %s, %%c0 : %s\n"
        "    %%dim_sequence = tensor.dim %s, %%c1 : %s\n",
        ids.name, idsType.data, ids.name, idsType.data);
  free(idsType.data);
  Value x = embed(g, table, ids);
  Value positions = iota(g, o->sequence), cosine = {0}, sine = {0};
  if (gpt)
    x = binary(g, "arith.addf", x,
               embed(g, learned, reshape(g, positions, "[[0, 1]]", SHAPE(1, o->sequence))));
  Value mask = attentionMask(g, positions, padding);
  if (!gpt)
    rotaryTables(g, positions, &cosine, &sine);
  for (int64_t i = 0; i < o->layers; ++i)
    x = block(g, &layers[i], x, mask, cosine, sine);
  Value logits = applyLinear(g, &head, flatten(g, applyNorm(g, &last, x)));
  free(layers);

  Text *c = &g->constants;
  put(c,
      "    %%zero_i64 = arith.constant 0 : i64\n    %%two_i64 = arith.constant 2 : i64\n"
      "    %%three_i64 = arith.constant 3 : i64\n    %%zero = arith.constant 0.0 : f32\n"
      "    %%zero64 = arith.constant 0.0 : f64\n    %%half = arith.constant 0.5 : f32\n"
      "    %%one = arith.constant 1.0 : f32\n    %%lowest = arith.constant 0xFF800000 : f32\n"
      "    %%open = arith.constant dense<0.0> : tensor<f32>\n"
      "    %%closed = arith.constant dense<-3.40282347E+38> : tensor<f32>\n"
      "    %%eps = arith.constant 1.000000e-05 : f64\n"
      "    %%cubic = arith.constant 4.471500e-02 : f64\n"
      "    %%root = arith.constant 0.79788456080286541 : f64\n"
      "    %%scale = arith.constant %.17g : f64\n",
      1.0 / sqrt((double)o->headSize));
  if (!gpt) {
    put(c, "    %%frequencies = arith.constant dense<[");
    for (int64_t i = 0; i < o->headSize / 2; ++i)
      put(c, "%s%.9e", i ? ", " : "", pow(10000.0, -2.0 * (double)i / (double)o->headSize));
    put(c, "]> : tensor<%" PRId64 "xf32>\n", o->headSize / 2);
  }
  put(&g->body, "    return %s : ", logits.name);
  putType(&g->body, &logits);
  put(&g->body, "\n");
  put(&g->head, ") -> ");
  putType(&g->head, &logits);
  put(&g->json, "\n ],\n \"results\": [\n  {\"index\": 0, ");
  putJsonShape(&g->json, &logits);
  put(&g->json, "}\n ]\n}\n");
}
