//===- Classify.c - What each weight is for -----------------------*- C -*-===//
// By the ops that use it, in two passes over the program: forward, what values are made of; then
// backward, what becomes of them. Projections, the products of a weight with an activation, are
// where both begin anew. No name, and no shape, says anything.
//===----------------------------------------------------------------------===//
#include "Sizing.h"

#include "../Core/IR.h"

#include "mlir-c/BuiltinTypes.h"

static FlatValue *operandOf(const Flat *flat, const FlatOp *op, int32_t i) {
  return &flat->values[flat->operands[op->firstOperand + i]];
}

static FlatFacts *factsOf(const Flat *flat, const FlatOp *op) { return &flat->facts[op->facts]; }

static bool isWhole(const FlatValue *value) {
  MlirType type = value->type;
  type = mlirTypeIsAShaped(type) ? mlirShapedTypeGetElementType(type) : type;
  return mlirTypeIsAInteger(type) || mlirTypeIsAIndex(type);
}

static FlatWeights unite(Flat *flat, FlatWeights a, FlatWeights b) {
  if (b.n == 0 || a.numbers == b.numbers)
    return a;
  if (a.n == 0)
    return b;
  int32_t *numbers = SHARD_ARENA_ARRAY(flat->arena, int32_t, a.n + b.n), n = 0;
  for (int32_t i = 0, k = 0; i < a.n || k < b.n;) {
    int32_t next =
        k == b.n || (i < a.n && a.numbers[i] <= b.numbers[k]) ? a.numbers[i] : b.numbers[k];
    i += i < a.n && a.numbers[i] == next;
    k += k < b.n && b.numbers[k] == next;
    numbers[n++] = next;
  }
  return (FlatWeights){n, numbers};
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

/// What the activations among an op's operands have together.
typedef struct Mix {
  int32_t n;
  uint32_t any, all;
  int32_t source;
  bool differ; // come from different sources
} Mix;

static Mix mixOf(const Flat *flat, const FlatOp *op) {
  Mix mix = {.all = ~0u, .source = FLAT_NONE};
  for (int32_t i = 0; i < op->nOperands; ++i) {
    const FlatValue *value = operandOf(flat, op, i);
    if (value->form != FLAT_ACTIVATION)
      continue;
    mix.any |= value->from;
    mix.all &= value->from;
    mix.differ |= mix.n > 0 && value->source != mix.source;
    mix.source = mix.n == 0 || mix.source == value->source ? value->source : FLAT_SEVERAL;
    ++mix.n;
  }
  return mix;
}

/// The operand of a product that holds weights, with the activation beside it; null: no projection.
/// Rows that data chose hold weights only where no other operand does: those of experts, and not of
/// an embedding whose product with a weight this is.
static const FlatValue *weightSide(const Flat *flat, const FlatOp *op, const FlatValue **outOther) {
  if (factsOf(flat, op)->kind != FLAT_PRODUCT || op->nOperands < 2)
    return NULL;
  for (int gathered = 0; gathered < 2; ++gathered)
    for (int32_t i = 0; i < 2; ++i) {
      const FlatValue *value = operandOf(flat, op, i), *other = operandOf(flat, op, 1 - i);
      bool chosen = (value->from & FLAT_GATHERED) && !(other->from & FLAT_GATHERED);
      if ((gathered ? chosen : value->form == FLAT_WEIGHT) && other->form == FLAT_ACTIVATION) {
        *outOther = other;
        return value;
      }
    }
  return NULL;
}

/// Of a product of two activations. A sum over the first dimension of what experts give, with what
/// is not of them, is their mixture: a router without a choice.
static void multiply(const Flat *flat, FlatOp *op, FlatValue *result) {
  const FlatValue *inputs[2] = {operandOf(flat, op, 0), operandOf(flat, op, 1)};
  uint32_t any = inputs[0]->from | inputs[1]->from;
  for (int k = 0; k < 2; ++k)
    op->weighs |= factsOf(flat, op)->sumsFirst[k] && (inputs[k]->from & FLAT_SPREAD) &&
                  !(inputs[1 - k]->from & FLAT_SPREAD);
  bool selected = any & FLAT_SELECTED;
  result->source = op->source;
  if (op->weighs)
    return;
  op->core = !selected && (any & FLAT_SCORE);
  result->from |= selected ? FLAT_SELECTED : op->core ? FLAT_ATTENDED : FLAT_SCORE;
}

/// Of any other op.
static void combine(const Flat *flat, const FlatOp *op, const Mix *mix, FlatValue *result) {
  const FlatFacts *facts = factsOf(flat, op);
  const uint32_t common = FLAT_SELECTED | FLAT_NORMED; // of a sum: of all that is added
  bool sum = facts->adds && mix->n > 1;
  result->from = sum ? (mix->any & ~common) | (mix->all & common) : mix->any;
  if (sum && mix->differ)
    result->from |= FLAT_JOINED;
  if (facts->roots)
    result->from |= FLAT_NORMED;
  if (!facts->moves || mix->n != 1)
    result->from &= ~(uint32_t)FLAT_GATHERED;
  if (isWhole(result) && (mix->any & FLAT_PROJECTED))
    result->from |= FLAT_SELECTED;
  result->source = mix->source;
}

static void flowResult(Flat *flat, FlatOp *op, const Mix *mix, FlatValue *result) {
  const FlatFacts *facts = factsOf(flat, op);
  const FlatValue *other;
  FlatForm form = mix->n ? FLAT_ACTIVATION : FLAT_CONSTANT;
  for (int32_t i = 0; i < op->nOperands; ++i) {
    const FlatValue *value = operandOf(flat, op, i);
    bool passes = value->form == FLAT_WEIGHT || (facts->moves && mix->n == 1);
    if (passes)
      result->weights = unite(flat, result->weights, value->weights);
    if (value->form == FLAT_WEIGHT)
      result->from |= value->from & FLAT_CURVED;
    if (form == FLAT_CONSTANT && value->form == FLAT_WEIGHT)
      form = FLAT_WEIGHT;
  }
  result->form = form;
  if (form != FLAT_ACTIVATION) {
    result->from |= facts->curves ? FLAT_CURVED : 0;
    return;
  }
  result->from = mix->any & FLAT_KEPT_BITS;
  op->projection = weightSide(flat, op, &other) != NULL;
  const FlatValue *first = op->nOperands ? operandOf(flat, op, 0) : NULL;
  if (op->projection) {
    result->from |= FLAT_PROJECTED | (factsOf(flat, op)->batch ? FLAT_SPREAD : 0);
    result->source = op->source;
    result->weights = (FlatWeights){0, NULL};
  } else if (facts->kind == FLAT_PRODUCT && first->form == FLAT_ACTIVATION &&
             operandOf(flat, op, 1)->form == FLAT_ACTIVATION) {
    multiply(flat, op, result);
  } else if (facts->kind == FLAT_LOOKUP && first->form == FLAT_WEIGHT) {
    result->from |= FLAT_GATHERED | FLAT_LOOKED_UP | (mix->any & FLAT_SELECTED);
    result->source = op->source;
    result->weights = first->weights;
  } else {
    combine(flat, op, mix, result);
  }
}

static void flowForward(Flat *flat) {
  for (size_t i = 0; i < flat->nOps; ++i) {
    FlatOp *op = &flat->ops[i];
    Mix mix = mixOf(flat, op);
    for (int32_t r = 0; r < op->nResults; ++r)
      flowResult(flat, op, &mix, &flat->values[op->firstResult + r]);
  }
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

static bool isHead(const Flat *flat, int32_t number, uint32_t to, const FlatValue *input) {
  bool after = flat->lastInLayer >= 0 && number > flat->lastInLayer;
  if (to & FLAT_TO_RESULT)
    return after || (input->from & FLAT_JOINED);
  return after && (to & FLAT_TO_HEAD) && !(to & (FLAT_TO_OTHER | FLAT_TO_EXPERT));
}

/// Whether the input comes into the model just here, ahead of its layers.
static bool isFirst(const Flat *flat, int32_t number, const FlatValue *input) {
  return flat->nLayers > 0 && number < flat->lastInLayer && input->source >= 0 &&
         flat->sources[input->source].op < 0;
}

static bool isExpert(const FlatFacts *facts, uint32_t to, const FlatValue *weights,
                     const FlatValue *input) {
  bool feedsExperts = (to & FLAT_TO_EXPERT) && !(to & (FLAT_TO_HEAD | FLAT_TO_OTHER));
  return facts->batch || (weights->from & FLAT_GATHERED) || (to & FLAT_GATED) ||
         (input->from & FLAT_SELECTED) || feedsExperts;
}

static ShardWeightClass classOf(const Flat *flat, int32_t number, uint32_t to) {
  const FlatOp *op = &flat->ops[number];
  const FlatValue *input, *weights = weightSide(flat, op, &input);
  if ((to & FLAT_TO_ATTENTION) || (input->from & FLAT_ATTENDED))
    return SHARD_WEIGHT_ATTENTION;
  if ((to & FLAT_TO_SELECTION) && (op->layer >= 0 || !(to & FLAT_TO_RESULT)))
    return SHARD_WEIGHT_ROUTER;
  if (isExpert(factsOf(flat, op), to, weights, input))
    return SHARD_WEIGHT_EXPERT;
  if (factsOf(flat, op)->window)
    return SHARD_WEIGHT_EMBEDDING;
  if (op->layer < 0 && isHead(flat, number, to, input))
    return SHARD_WEIGHT_HEAD;
  return op->layer < 0 && isFirst(flat, number, input) ? SHARD_WEIGHT_EMBEDDING : SHARD_WEIGHT_MLP;
}

/// What an operand of an op, no projection, is told of what becomes of the result.
static uint32_t told(const Flat *flat, const FlatOp *op, const Mix *mix, int32_t operand,
                     uint32_t to) {
  const FlatFacts *facts = factsOf(flat, op);
  const FlatValue *value = operandOf(flat, op, operand);
  bool picked = facts->kind == FLAT_LOOKUP && operand == 0; // only where to look is beside it
  if (op->weighs && !(value->from & FLAT_SPREAD))
    to |= FLAT_TO_SELECTION;
  if (op->core)
    to |= FLAT_TO_ATTENTION;
  if (facts->adds && mix->differ)
    to &= ~(uint32_t)FLAT_ALONE_BITS;
  else if (mix->differ && !picked)
    to &= ~(uint32_t)FLAT_TO_RESULT;
  bool meetsChoice = (mix->any & FLAT_SELECTED) && !(value->from & FLAT_SELECTED);
  if (meetsChoice && !facts->adds)
    to |= FLAT_GATED;
  for (int32_t r = 0; r < op->nResults; ++r)
    if (isWhole(&flat->values[op->firstResult + r]) && !isWhole(value) &&
        (value->from & FLAT_PROJECTED))
      to |= FLAT_TO_SELECTION;
  return to;
}

static void flowBackward(Flat *flat) {
  for (size_t i = 0; i < flat->nResults; ++i)
    if (flat->results[i] >= 0)
      flat->values[flat->results[i]].to |= FLAT_TO_RESULT;
  for (int32_t i = (int32_t)flat->nOps; i-- > 0;) {
    FlatOp *op = &flat->ops[i];
    uint32_t to = 0;
    for (int32_t r = 0; r < op->nResults; ++r)
      to |= flat->values[op->firstResult + r].to;
    if (op->projection) {
      const FlatValue *input;
      ShardWeightClass class = classOf(flat, i, to);
      weightSide(flat, op, &input);
      flat->sources[op->source].class_ = class;
      ((FlatValue *)input)->to |= class == SHARD_WEIGHT_EXPERT ? FLAT_TO_EXPERT
                                  : class == SHARD_WEIGHT_HEAD ? FLAT_TO_HEAD
                                                               : FLAT_TO_OTHER;
      continue;
    }
    if (factsOf(flat, op)->kind == FLAT_LOOKUP)
      flat->sources[op->source].class_ = SHARD_WEIGHT_EMBEDDING;
    Mix mix = mixOf(flat, op);
    for (int32_t k = 0; k < op->nOperands; ++k) {
      FlatValue *value = operandOf(flat, op, k);
      if (value->form == FLAT_ACTIVATION)
        value->to |= told(flat, op, &mix, k, to);
    }
  }
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

static void use(Flat *flat, const FlatWeights *weights, ShardWeightClass class) {
  for (int32_t i = 0; i < weights->n; ++i)
    flat->weights[weights->numbers[i]].uses |= 1u << class;
}

/// Of a weight that meets activations elsewhere than in a product: what it is added to, or scales.
static ShardWeightClass besideClass(const Flat *flat, const Mix *mix) {
  if (mix->any & FLAT_NORMED)
    return SHARD_WEIGHT_NORM;
  // Ahead of all projections, a table of positions beside what was looked up.
  if ((mix->any & FLAT_LOOKED_UP) && !(mix->any & FLAT_PROJECTED))
    return SHARD_WEIGHT_EMBEDDING;
  return mix->source >= 0 ? flat->sources[mix->source].class_ : SHARD_WEIGHT_OTHER;
}

static void useOperands(Flat *flat, const FlatOp *op) {
  Mix mix = mixOf(flat, op);
  if (mix.n == 0)
    return;
  const FlatValue *input = NULL, *weights = op->projection ? weightSide(flat, op, &input) : NULL;
  ShardWeightClass class = weights ? flat->sources[op->source].class_ : besideClass(flat, &mix);
  if (weights)
    use(flat, &weights->weights, class);
  if (factsOf(flat, op)->kind == FLAT_LOOKUP && operandOf(flat, op, 0)->form == FLAT_WEIGHT)
    class = SHARD_WEIGHT_EMBEDDING;
  for (int32_t i = 0; i < op->nOperands; ++i) {
    const FlatValue *value = operandOf(flat, op, i);
    if (value->form == FLAT_WEIGHT)
      use(flat, &value->weights,
          !weights && (value->from & FLAT_CURVED) ? SHARD_WEIGHT_OTHER : class);
  }
}

void flatClassify(Flat *flat) {
  flowForward(flat);
  flowBackward(flat);
  for (size_t i = 0; i < flat->nOps; ++i)
    useOperands(flat, &flat->ops[i]);
}
