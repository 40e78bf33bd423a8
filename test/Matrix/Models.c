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
  *out = (Degrees){1, 1, 1, 1};
  while (*text) {
    int64_t *field = strncmp(text, "pp", 2) == 0   ? &out->pp
                     : strncmp(text, "dp", 2) == 0 ? &out->dp
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

int64_t degreesRanks(Degrees d) { return d.pp * d.dp * d.sp * d.tp; }

bool modelDivides(const Model *m, Degrees d) {
  bool keyValue = m->keyValueHeads % d.tp == 0 || d.tp % m->keyValueHeads == 0;
  return m->heads % d.tp == 0 && m->mlp % d.tp == 0 && keyValue && m->batch % d.dp == 0 &&
         m->sequence % d.sp == 0 && d.pp <= m->layers + 2; // units: embedding, layers, head
}

static bool splitsVocabulary(const Model *m, Degrees d) {
  return m->vocabulary > 0 && m->vocabulary % d.tp == 0;
}

/// Sent in a ring gather of a result of `bytes` over `parts` ranks.
static double gatherBytes(int64_t parts, double bytes) {
  return bytes * (double)(parts - 1) / (double)parts;
}

ByteRange modelBytes(const Model *m, Degrees d) {
  const double f32 = 4;
  // The hidden state as one rank holds it. All of it is whole over tp.
  double rows = (double)m->batch / (double)d.dp * (double)m->sequence / (double)d.sp;
  double hidden = rows * (double)m->hidden * f32;
  double onAStage = 1.0 / (double)d.pp; // of the mean, for what one stage does
  double bytes = 0, optional = 0;

  // tp: an all-reduce for each residual sum; one for the embedding if its vocabulary is split.
  double allReduce = 2 * gatherBytes(d.tp, hidden);
  bytes += (double)(m->layers * m->sumsPerLayer) * allReduce * onAStage;
  if (splitsVocabulary(m, d))
    bytes += allReduce * onAStage;

  // Results whole: gathered over whatever splits them.
  int64_t rowParts = d.dp * d.sp;
  double allRows = (double)(m->batch * m->sequence);
  if (m->logits)
    bytes += gatherBytes(rowParts * (splitsVocabulary(m, d) ? d.tp : 1),
                         allRows * (double)m->vocabulary * f32) *
             onAStage;
  if (m->hiddenResult) {
    bytes += gatherBytes(rowParts, allRows * (double)m->hidden * f32) * onAStage;
    bytes += gatherBytes(d.dp, (double)(m->batch * m->hidden) * f32) * onAStage;
    // The pooler goes by cost: whole, or split with one collective.
    optional +=
        2 * gatherBytes(d.tp, (double)m->batch / (double)d.dp * (double)m->hidden * f32) * onAStage;
  }
  if (m->classes) {
    bytes += gatherBytes(d.dp, (double)(m->batch * m->classes) * f32) * onAStage;
    // Patch embedding and classifier: at most one collective each.
    optional += (gatherBytes(d.tp, 2 * hidden) +
                 2 * gatherBytes(d.tp, (double)m->batch / (double)d.dp *
                                           (double)(m->hidden + m->classes) * f32)) *
                onAStage;
  }

  // sp: one gather of keys and values a layer, or something cheaper.
  int64_t localKeyValueHeads = m->keyValueHeads > d.tp ? m->keyValueHeads / d.tp : 1;
  double keysAndValues = 2 * (double)m->batch / (double)d.dp * (double)m->sequence *
                         (double)(localKeyValueHeads * m->headSize) * f32;
  optional += (double)m->layers * gatherBytes(d.sp, keysAndValues) * onAStage;

  // pp: the hidden state over each boundary, from every rank of a stage but the last.
  bytes += hidden * (double)(d.pp - 1) / (double)d.pp;
  return (ByteRange){bytes, bytes + optional};
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
    return m->keyValueHeads < d.tp ? CONTRACTION_WHOLE : CONTRACTION_SPLIT;
  case WEIGHT_VOCABULARY:
    return splitsVocabulary(m, d) ? CONTRACTION_SPLIT : CONTRACTION_WHOLE;
  case WEIGHT_ROUTER:
    return CONTRACTION_ROUTER;
  case WEIGHT_BY_COST:
    return CONTRACTION_WHOLE;
  case WEIGHT_WHOLE:
    break;
  }
  return CONTRACTION_UNKNOWN;
}

void modelWeightParts(const Model *m, Degrees d, const char *weightName, int64_t *least,
                      int64_t *most) {
  *least = *most = 1;
  switch (weightKind(weightName)) {
  case WEIGHT_COLUMNS:
  case WEIGHT_ROWS:
    *least = *most = d.tp;
    // One weight for queries and for fewer keys and values is cut in parts, of which the latter
    // are split as keys and values alone would be.
    if (m->unevenFused && contains(weightName, "c_attn") && m->keyValueHeads < d.tp)
      *least = m->keyValueHeads;
    break;
  case WEIGHT_KEYVALUE:
    *least = *most = m->keyValueHeads < d.tp ? m->keyValueHeads : d.tp;
    break;
  case WEIGHT_VOCABULARY:
    *least = *most = splitsVocabulary(m, d) ? d.tp : 1;
    break;
  case WEIGHT_BY_COST:
    *most = d.tp;
    break;
  case WEIGHT_ROUTER:
  case WEIGHT_WHOLE:
    break;
  }
}
