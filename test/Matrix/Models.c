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
     .fused = true,
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
     .rawTosa = true,
     .expertsTravel = true},
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
     .capacity = 40,
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
  out->fused = gpt && out->keyValueHeads == out->heads;
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

/// Over how many ranks key/value heads, the query heads of each and the values of a head are split.
typedef struct HeadParts {
  int64_t keyValue, group, size;
} HeadParts;

/// The split of a layer's attention that gives the most loaded rank least to multiply. Fewer heads
/// than ranks: the ranks that share a head each make a part of its values (no scores are spared,
/// but the products with values, and those of v and o, are).
static HeadParts headParts(const Model *m, int64_t ranks) {
  HeadParts best = {0};
  double least = 0;
  bool bestDivides = false;
  int64_t groupSize = m->heads / m->keyValueHeads;
  for (int64_t keyValue = ranks; keyValue >= 1; --keyValue)
    for (int64_t group = ranks / keyValue; group >= 1; --group) {
      int64_t size = ranks / (keyValue * group);
      if (keyValue * group * size != ranks || (m->fused && size > 1))
        continue;
      double keys = (double)ceilDivide(m->keyValueHeads, keyValue);
      double queries = keys * (double)ceilDivide(groupSize, group);
      double whole = (double)m->headSize, part = (double)ceilDivide(m->headSize, size);
      double width = (double)m->hidden, steps = (double)(m->sequence > 0 ? m->sequence : 1);
      double flops = width * (queries * whole + keys * whole + keys * part) + // q, k, v
                     steps * queries * (whole + part) + width * queries * part;
      // Between equals what divides is taken.
      bool divides =
          m->keyValueHeads > 1 ? m->keyValueHeads % keyValue == 0 : groupSize % group == 0;
      if (best.size && (flops > least || (flops == least && (bestDivides || !divides))))
        continue;
      least = flops, bestDivides = divides;
      best = (HeadParts){keyValue, group, size};
    }
  return best;
}

/// What the ranks of `headParts` store of queries or scores, and of what is made of values.
static double storedQueries(const Model *m, int64_t ranks) {
  HeadParts parts = headParts(m, ranks);
  return stored(m->keyValueHeads, parts.keyValue) *
         stored(m->heads / m->keyValueHeads, parts.group) * (double)parts.size;
}

static double storedValues(const Model *m, int64_t ranks) {
  HeadParts parts = headParts(m, ranks);
  return storedQueries(m, ranks) / (double)parts.size * stored(m->headSize, parts.size);
}

static FlopsRange scale(FlopsRange range, double by) {
  return (FlopsRange){range.least * by, range.most * by};
}

FlopsRange modelRowsFlops(const Model *m, Degrees d) {
  double rows = stored(m->batch, d.dp * d.ep) * stored(m->sequence > 0 ? m->sequence : 1, d.sp);
  return (FlopsRange){rows, rows};
}

FlopsRange modelAttentionFlops(const Model *m, Degrees d) {
  double stored = (storedQueries(m, d.tp) + storedValues(m, d.tp)) / 2; // two products, as large
  return scale((FlopsRange){stored, stored}, modelRowsFlops(m, d).least);
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

/// Sent by a rank for the experts of one layer: the experts to the tokens; or all tokens to each
/// expert's ranks and their sums back; with slots, also the marks of who goes where unless places
/// say so, or the filled slots themselves, if that is less. `rows` are a rank's tokens.
static double expertBytes(const Model *m, Degrees d, double rows, bool padded, double *optional) {
  const double f32 = 4;
  double others = (double)(d.ep - 1), experts = share(m->experts, d.ep, padded) * (double)d.ep;
  if (m->expertsTravel)
    return gatherBytes(d.ep, experts * 3 * share(m->mlp, d.tp, padded) * (double)m->hidden * f32);
  double tokens = 2 * others * rows * (double)m->hidden * f32;
  *optional += others * rows * experts * f32; // the router's weights, or totals of the ranks before
  if (!m->capacity)
    return tokens;
  double slots = experts * (double)m->capacity;
  double marks = 2 * gatherBytes(d.ep, rows * slots * f32);
  double filled = 2 * gatherBytes(d.ep, slots * (double)m->hidden * f32);
  double least = tokens < filled ? tokens : filled;
  *optional += (tokens + marks < filled ? tokens + marks : filled) - least;
  return least;
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

  if (d.ep > 1) {
    double more = 0;
    bytes += (double)m->layers * expertBytes(m, d, rows / rowParts, padded, &more) * onAStage;
    *optional += (double)m->layers * more * onAStage;
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

/// Of keys and values: the latter.
static bool isValueProjection(const char *name) {
  return contains(name, "v_proj") || contains(name, "self.value");
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
  if (contains(name, ".experts.") && !m->expertsTravel) // all tokens of ep, or slots, each once
    rows = (m->capacity ? 1 : stored(m->batch, d.dp) * stored(m->sequence, d.sp)) *
           stored(m->experts, d.ep);
  FlopsRange even = {1, 1}, out = even;
  double features;
  switch (weightKind(name)) {
  case WEIGHT_COLUMNS:
  case WEIGHT_ROWS:
    features = weightKind(name) == WEIGHT_ROWS ? storedValues(m, d.tp) : storedQueries(m, d.tp);
    out = (FlopsRange){features, features};
    if (!contains(name, "attn") && !contains(name, "attention")) {
      features = stored(m->mlp, d.tp);
      out = (FlopsRange){features, features};
    }
    break;
  case WEIGHT_KEYVALUE:
    features = isValueProjection(name) ? storedValues(m, d.tp) : storedQueries(m, d.tp);
    if (m->heads == m->keyValueHeads)
      out = (FlopsRange){features, features};
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
  HeadParts heads = headParts(m, d.tp);
  *least = *most = 1;
  switch (weightKind(weightName)) {
  case WEIGHT_COLUMNS:
  case WEIGHT_ROWS:
    *least = *most = contains(weightName, ".experts.") ? d.tp * d.ep : d.tp;
    if (weightFeedsAttention(weightName))
      *least = *most = heads.keyValue * heads.group;
    if (contains(weightName, "c_attn")) // with the values
      *most = d.tp;
    // One weight for queries and for fewer keys and values is cut in parts, of which the latter
    // are split as keys and values alone would be.
    if (m->unevenFused && contains(weightName, "c_attn") && m->keyValueHeads % d.tp != 0)
      *least = d.tp % m->keyValueHeads == 0 ? m->keyValueHeads : 1;
    break;
  case WEIGHT_KEYVALUE:
    *least = *most = isValueProjection(weightName) ? heads.keyValue * heads.size : heads.keyValue;
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
