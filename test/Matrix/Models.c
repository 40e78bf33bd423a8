//===- Models.c - What the matrix expects of each model -----------*- C -*-===//
#include "Models.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

const Model models[] = {
    {.name = "llama-gqa",
     .batch = 2,
     .sequence = 37,
     .hidden = 64,
     .layers = 2,
     .heads = 8,
     .keyValueHeads = 2,
     .headSize = 8,
     .mlp = 176,
     .vocabulary = 250,
     .logits = true,
     .sumsPerLayer = 2,
     .embedded = true},
    {.name = "llama-even",
     .batch = 2,
     .sequence = 32,
     .hidden = 128,
     .layers = 4,
     .heads = 16,
     .keyValueHeads = 8,
     .headSize = 8,
     .mlp = 256,
     .vocabulary = 256,
     .logits = true,
     .sumsPerLayer = 2},
    {.name = "llama-no-mask",
     .batch = 2,
     .sequence = 32,
     .hidden = 64,
     .layers = 2,
     .heads = 4,
     .keyValueHeads = 4,
     .headSize = 16,
     .mlp = 128,
     .vocabulary = 128,
     .logits = true,
     .sumsPerLayer = 2,
     .rawLinalg = true},
    {.name = "gpt2",
     .batch = 2,
     .sequence = 32,
     .hidden = 96,
     .layers = 3,
     .heads = 12,
     .keyValueHeads = 12,
     .headSize = 8,
     .mlp = 384,
     .vocabulary = 251,
     .logits = true,
     .sumsPerLayer = 2,
     .embedded = true},
    {.name = "bert",
     .batch = 2,
     .sequence = 33,
     .hidden = 96,
     .layers = 2,
     .heads = 12,
     .keyValueHeads = 12,
     .headSize = 8,
     .mlp = 384,
     .vocabulary = 120,
     .hiddenResult = true,
     .sumsPerLayer = 2},
    {.name = "vit",
     .batch = 2,
     .sequence = 65,
     .hidden = 64,
     .layers = 3,
     .heads = 4,
     .keyValueHeads = 4,
     .headSize = 16,
     .mlp = 256,
     .classes = 10,
     .sumsPerLayer = 2},
    {.name = "mixtral-gather",
     .batch = 2,
     .sequence = 32,
     .hidden = 64,
     .layers = 2,
     .heads = 8,
     .keyValueHeads = 2,
     .headSize = 8,
     .mlp = 112,
     .vocabulary = 200,
     .logits = true,
     .sumsPerLayer = 2,
     .rawLinalg = true,
     .experts = 4,
     .rawTosa = true},
    {.name = "mixtral-dense",
     .batch = 2,
     .sequence = 32,
     .hidden = 64,
     .layers = 2,
     .heads = 8,
     .keyValueHeads = 2,
     .headSize = 8,
     .mlp = 112,
     .vocabulary = 200,
     .logits = true,
     .sumsPerLayer = 2,
     .rawLinalg = true,
     .experts = 4,
     .rawTosa = true},
    {.name = "mixtral-capacity",
     .batch = 2,
     .sequence = 32,
     .hidden = 64,
     .layers = 2,
     .heads = 8,
     .keyValueHeads = 2,
     .headSize = 8,
     .mlp = 112,
     .vocabulary = 200,
     .logits = true,
     .sumsPerLayer = 2,
     .rawLinalg = true,
     .experts = 4,
     .rawTosa = true,
     .mixesRows = true},
};
const int nModels = sizeof(models) / sizeof(models[0]);

const Model *modelFind(const char *name) {
  for (int i = 0; i < nModels; ++i)
    if (strcmp(models[i].name, name) == 0)
      return &models[i];
  return NULL;
}

bool modelParse(const char *text, Model *out) {
  *out = (Model){.name = text, .logits = true, .sumsPerLayer = 2};
  bool gpt = false, parallel = false;
  while (*text) {
    size_t length = strcspn(text, " "), key = strcspn(text, "=");
    if (key >= length)
      return false;
    int64_t value = strtoll(text + key + 1, NULL, 10);
    static const struct {
      const char *name;
      size_t offset;
    } sizes[] = {{"heads", offsetof(Model, heads)},
                 {"kv-heads", offsetof(Model, keyValueHeads)},
                 {"head-size", offsetof(Model, headSize)},
                 {"width", offsetof(Model, hidden)},
                 {"ff", offsetof(Model, mlp)},
                 {"layers", offsetof(Model, layers)},
                 {"batch", offsetof(Model, batch)},
                 {"sequence", offsetof(Model, sequence)},
                 {"vocab", offsetof(Model, vocabulary)}};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i)
      if (strlen(sizes[i].name) == key && memcmp(sizes[i].name, text, key) == 0)
        *(int64_t *)((char *)out + sizes[i].offset) = value;
    gpt = gpt || (length >= 10 && memcmp(text, "family=gpt", 10) == 0);
    parallel = parallel || (length == 10 && memcmp(text, "parallel=1", 10) == 0);
    text += length;
    text += strspn(text, " ");
  }
  if (parallel) // attention and MLP read the same state, and their sum is reduced once
    out->sumsPerLayer = 1;
  out->unevenFused = gpt && out->keyValueHeads != out->heads;
  return out->heads > 0 && out->keyValueHeads > 0 && out->headSize > 0 && out->hidden > 0 &&
         out->mlp > 0 && out->layers > 0 && out->batch > 0 && out->sequence > 0 &&
         out->vocabulary > 0;
}

bool degreesParse(const char *text, Degrees *out) {
  *out = (Degrees){1, 1, 1, 1, 1};
  while (*text) {
    int64_t *field = strncmp(text, "pp", 2) == 0   ? &out->pp
                     : strncmp(text, "dp", 2) == 0 ? &out->dp
                     : strncmp(text, "ep", 2) == 0 ? &out->ep
                     : strncmp(text, "sp", 2) == 0 ? &out->sp
                     : strncmp(text, "tp", 2) == 0 ? &out->tp
                                                   : NULL;
    if (!field)
      return false;
    char *end;
    *field = strtoll(text + 2, &end, 10);
    if (end == text + 2 || *field < 1 || (*end != ',' && *end != '\0'))
      return false;
    text = *end ? end + 1 : end;
  }
  return true;
}

int64_t degreesRanks(Degrees d) { return d.pp * d.dp * d.ep * d.sp * d.tp; }

bool modelFits(const Model *m, Degrees d) {
  bool batch = d.dp * d.ep == 1 || m->batch > 1, sequence = d.sp == 1 || m->sequence != 1;
  return batch && sequence && d.pp <= m->layers + 2; // units: embedding, layers, head
}

static int64_t ceilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Steps that `parts` ranks store of a dimension, over its size.
static double stored(int64_t size, int64_t parts) {
  return (double)(ceilDivide(size, parts) * parts) / (double)size;
}

/// The same of heads: blocks of them, or key/value heads over some of the ranks and the queries of
/// each over the others.
static FlopsRange storedHeads(const Model *m, int64_t parts) {
  FlopsRange out = {stored(m->heads, parts), 1e300};
  int64_t group = m->heads / m->keyValueHeads;
  for (int64_t a = 1; a <= parts; ++a)
    if (parts % a == 0) {
      double now = stored(m->keyValueHeads, a) * stored(group, parts / a);
      out.most = now < out.most ? now : out.most;
    }
  if (out.most < out.least)
    out.most = out.least;
  return out;
}

static FlopsRange scale(FlopsRange range, double by) {
  return (FlopsRange){range.least * by, range.most * by};
}

FlopsRange modelRowsFlops(const Model *m, Degrees d) {
  double rows = stored(m->batch, d.dp * d.ep) * stored(m->sequence > 0 ? m->sequence : 1, d.sp);
  return (FlopsRange){rows, rows};
}

FlopsRange modelAttentionFlops(const Model *m, Degrees d) {
  return scale(storedHeads(m, d.tp), modelRowsFlops(m, d).least);
}

static bool splitsVocabulary(const Model *m) { return m->vocabulary > 0; } // evenly or not

/// Sent in a ring gather of a result of `bytes` over `parts` ranks.
static double gatherBytes(int64_t parts, double bytes) {
  return bytes * (double)(parts - 1) / (double)parts;
}

/// Of a dimension over `parts` ranks: what one stores, or the mean of what they hold.
static double share(int64_t size, int64_t parts, bool padded) {
  return padded ? (double)ceilDivide(size, parts) : (double)size / (double)parts;
}

/// Sent for a layout by hand; padding counted in or not. `*optional` is what it may send more.
static double sentBytes(const Model *m, Degrees d, bool padded, double *optional) {
  const double f32 = 4;
  // The hidden state as one rank holds it. All of it is whole over tp.
  int64_t batchParts = d.dp * d.ep; // outside of the experts
  double batch = share(m->batch, batchParts, padded), sequence = share(m->sequence, d.sp, padded);
  double hidden = batch * sequence * (double)m->hidden * f32;
  double onAStage = 1.0 / (double)d.pp; // of the mean, for what one stage does
  double bytes = 0;

  // tp: an all-reduce for each residual sum; one for the embedding if its vocabulary is split.
  double allReduce = 2 * gatherBytes(d.tp, hidden);
  bytes += (double)(m->layers * m->sumsPerLayer) * allReduce * onAStage;
  bool splits = splitsVocabulary(m);
  if (splits)
    bytes += allReduce * onAStage;

  // Results whole: gathered over whatever splits them.
  double rowParts = (double)(batchParts * d.sp), rows = batch * sequence * rowParts;
  if (m->logits) {
    int64_t parts = splits ? d.tp : 1;
    double columns = share(m->vocabulary, parts, padded) * (double)parts;
    bytes += gatherBytes(batchParts * d.sp * parts, rows * columns * f32) * onAStage;
  }
  if (m->hiddenResult) {
    bytes += gatherBytes(batchParts * d.sp, rows * (double)m->hidden * f32) * onAStage;
    bytes += gatherBytes(batchParts, batch * (double)(batchParts * m->hidden) * f32) * onAStage;
    // The pooler goes by cost: whole, or split with one collective. It reads one row a sequence.
    *optional += 2 * gatherBytes(d.tp, batch * (double)m->hidden * f32) * onAStage;
    *optional += 2 * gatherBytes(d.sp, batch * (double)m->hidden * f32) * onAStage;
  }
  if (m->classes) {
    bytes += gatherBytes(batchParts, batch * (double)(batchParts * m->classes) * f32) * onAStage;
    // Patch embedding and classifier: at most one collective each.
    *optional += (gatherBytes(d.tp, 2 * hidden) +
                  2 * gatherBytes(d.tp, batch * (double)(m->hidden + m->classes) * f32)) *
                 onAStage;
    // The row of the class goes to all; the patches that it comes before move on by one.
    *optional += 2 * gatherBytes(d.sp, batch * (double)m->hidden * f32) * onAStage;
    *optional += (double)(d.sp - 1) * batch * (double)m->hidden * f32 * onAStage;
  }

  // sp: one gather of keys and values a layer, or something cheaper.
  double localKeyValueHeads = (double)ceilDivide(m->keyValueHeads, d.tp);
  double keysAndValues =
      2 * batch * sequence * (double)d.sp * localKeyValueHeads * (double)m->headSize * f32;
  *optional += (double)m->layers * gatherBytes(d.sp, keysAndValues) * onAStage;
  // A padding mask of the sequence, a byte each.
  *optional += gatherBytes(d.sp, batch * sequence * (double)d.sp) * onAStage;

  // pp: the hidden state over each boundary, from every rank of a stage but the last.
  return bytes + hidden * (double)(d.pp - 1) / (double)d.pp;
}

ByteRange modelBytes(const Model *m, Degrees d) {
  double ignored = 0, optional = 0;
  double least = sentBytes(m, d, false, &ignored), most = sentBytes(m, d, true, &optional);
  return (ByteRange){least, most + optional};
}

//===----------------------------------------------------------------------===//
// Weights by name
//===----------------------------------------------------------------------===//

static bool contains(const char *name, const char *part) { return strstr(name, part) != NULL; }
static bool endsWith(const char *name, const char *end) {
  size_t n = strlen(name), e = strlen(end);
  return n >= e && strcmp(name + n - e, end) == 0;
}

typedef enum WeightKind {
  WEIGHT_COLUMNS,  // output features over tp, its bias too
  WEIGHT_KEYVALUE, // likewise, over the key/value heads
  WEIGHT_ROWS,     // input features over tp, its bias whole
  WEIGHT_VOCABULARY,
  WEIGHT_ROUTER,
  WEIGHT_BY_COST, // patch embedding, pooler, classifier, token types
  WEIGHT_WHOLE    // norms, positions
} WeightKind;

static WeightKind weightKind(const char *name) {
  bool bias = endsWith(name, ".bias");
  if (contains(name, "embed_tokens") || contains(name, "wte") ||
      contains(name, "word_embeddings") || contains(name, "lm_head"))
    return WEIGHT_VOCABULARY;
  if (contains(name, "mlp.gate.weight"))
    return WEIGHT_ROUTER;
  // Token types are a vocabulary of two, whose sum the embedding's all-reduce takes along for
  // nothing.
  if (contains(name, "token_type") || contains(name, "patch_embeddings") ||
      contains(name, "pooler") || contains(name, "classifier"))
    return WEIGHT_BY_COST;
  if (contains(name, "LayerNorm") || contains(name, "layernorm") || contains(name, "norm.weight") ||
      contains(name, ".ln_") || contains(name, "embeddings") || contains(name, "wpe"))
    return WEIGHT_WHOLE;
  if (contains(name, "k_proj") || contains(name, "v_proj") || contains(name, "self.key") ||
      contains(name, "self.value"))
    return WEIGHT_KEYVALUE;
  if (contains(name, "q_proj") || contains(name, "self.query") || contains(name, "c_attn") ||
      contains(name, "gate_proj") || contains(name, "up_proj") || contains(name, "c_fc") ||
      contains(name, "intermediate.dense") || contains(name, "fc1"))
    return WEIGHT_COLUMNS;
  if (contains(name, "o_proj") || contains(name, "down_proj") || contains(name, "c_proj") ||
      contains(name, "output.dense") || contains(name, "fc2"))
    return bias ? WEIGHT_WHOLE : WEIGHT_ROWS;
  return WEIGHT_WHOLE;
}

bool weightFeedsAttention(const char *name) {
  return weightKind(name) == WEIGHT_KEYVALUE || contains(name, "q_proj") ||
         contains(name, "self.query") || contains(name, "c_attn");
}

ContractionClass modelClassify(const Model *m, Degrees d, const char *weightName) {
  switch (weightKind(weightName)) {
  case WEIGHT_COLUMNS:
  case WEIGHT_ROWS:
    return CONTRACTION_SPLIT;
  case WEIGHT_KEYVALUE:
    // Fewer than ranks: copies. Others that do not divide may be copied in part.
    return m->keyValueHeads % d.tp == 0 || m->heads == m->keyValueHeads ? CONTRACTION_SPLIT
                                                                        : CONTRACTION_WHOLE;
  case WEIGHT_VOCABULARY:
    return splitsVocabulary(m) ? CONTRACTION_SPLIT : CONTRACTION_WHOLE;
  case WEIGHT_ROUTER:
    return CONTRACTION_ROUTER;
  case WEIGHT_BY_COST:
    return CONTRACTION_WHOLE;
  case WEIGHT_WHOLE:
    break;
  }
  return CONTRACTION_UNKNOWN;
}

FlopsRange modelWeightFlops(const Model *m, Degrees d, const char *name) {
  double rows = modelRowsFlops(m, d).least;
  FlopsRange even = {1, 1}, out = even;
  double features;
  switch (weightKind(name)) {
  case WEIGHT_COLUMNS:
  case WEIGHT_ROWS:
    out = storedHeads(m, d.tp);
    if (!contains(name, "attn") && !contains(name, "attention")) {
      features = stored(m->mlp, d.tp);
      out = (FlopsRange){features, features};
    }
    break;
  case WEIGHT_KEYVALUE:
    out = m->heads == m->keyValueHeads ? storedHeads(m, d.tp) : even;
    break;
  case WEIGHT_VOCABULARY:
    features = stored(m->vocabulary, d.tp);
    out = (FlopsRange){features, features};
    break;
  default:
    break;
  }
  return scale(out, rows);
}

void modelWeightParts(const Model *m, Degrees d, const char *weightName, int64_t *least,
                      int64_t *most) {
  *least = *most = 1;
  switch (weightKind(weightName)) {
  case WEIGHT_COLUMNS:
  case WEIGHT_ROWS:
    *least = *most = contains(weightName, ".experts.") ? d.tp * d.ep : d.tp;
    // One weight for queries and for fewer keys and values is cut in parts, of which the latter
    // are split as keys and values alone would be.
    if (m->unevenFused && contains(weightName, "c_attn") && m->keyValueHeads % d.tp != 0)
      *least = d.tp % m->keyValueHeads == 0 ? m->keyValueHeads : 1;
    break;
  case WEIGHT_KEYVALUE:
    *least = *most = m->keyValueHeads < d.tp ? m->keyValueHeads : d.tp;
    if (m->heads == m->keyValueHeads)
      *least = *most = d.tp;
    else if (m->keyValueHeads % d.tp != 0 && d.tp % m->keyValueHeads != 0)
      *least = 1, *most = d.tp;
    break;
  case WEIGHT_VOCABULARY:
    *least = *most = splitsVocabulary(m) ? d.tp : 1;
    break;
  case WEIGHT_BY_COST:
    *most = d.tp;
    break;
  case WEIGHT_ROUTER:
  case WEIGHT_WHOLE:
    break;
  }
}
