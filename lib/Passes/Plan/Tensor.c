//===- Tensor.c - Which dimensions of weights tensor parallelism splits -*- C -*-===//
// Classes of weight dimensions are tried in order of the bytes that splitting them saves; one is
// taken if, with those taken before, each layer still communicates as an expert's would: only sums
// of the hidden state, or of something smaller that a norm needs, and never a weight (Hidden.c,
// TensorTrial.c). A class that is smaller than the degree is split over a part of it and the next
// minor dimension takes the rest (grouped heads: key/value heads over tp.0, the query heads of a
// group over tp.1, keys and values replicated there). What does not divide is split unevenly, so
// that the most loaded rank has least; fewer heads than ranks share out the values of a head.
//===----------------------------------------------------------------------===//

#include "TensorSearch.h"

#include "../Core/IR.h"

#include "mlir-c/BuiltinAttributes.h"

#include <inttypes.h>
#include <string.h>

static ShardTensorPlan *copyPlan(const ShardTensorSearch *s, const ShardTensorPlan *plan) {
  ShardTensorPlan *copy = SHARD_ARENA_NEW(s->arena, ShardTensorPlan);
  size_t n = (size_t)(s->model->rules->nClasses ? s->model->rules->nClasses : 1);
  *copy = *plan;
  copy->begin = SHARD_ARENA_ARRAY(s->arena, int8_t, n);
  copy->end = SHARD_ARENA_ARRAY(s->arena, int8_t, n);
  memcpy(copy->begin, plan->begin, n);
  memcpy(copy->end, plan->end, n);
  return copy;
}

/// Cuts the sub-axes so that one boundary lies after `product` ranks. False if none can.
static bool cutAt(const ShardModel *model, ShardTensorPlan *plan, int64_t product,
                  int32_t *outBoundary) {
  int64_t before = 1;
  for (int32_t axis = 0; axis < plan->nSubAxes; ++axis) {
    if (before == product) {
      *outBoundary = axis;
      return true;
    }
    if (before * plan->sizes[axis] > product) {
      if (plan->fixed || product % before || (before * plan->sizes[axis]) % product ||
          plan->nSubAxes >= 8)
        return false;
      int64_t major = product / before;
      for (int32_t k = plan->nSubAxes; k > axis + 1; --k)
        plan->sizes[k] = plan->sizes[k - 1];
      plan->sizes[axis + 1] = plan->sizes[axis] / major;
      plan->sizes[axis] = major;
      ++plan->nSubAxes;
      for (int32_t c = 0; c < model->rules->nClasses; ++c) {
        if (plan->begin[c] > axis)
          ++plan->begin[c];
        if (plan->end[c] > axis)
          ++plan->end[c];
      }
      *outBoundary = axis + 1;
      return true;
    }
    before *= plan->sizes[axis];
  }
  *outBoundary = plan->nSubAxes;
  return before == product;
}

bool shardTensorPlanCut(const ShardModel *model, ShardTensorPlan *plan, int64_t product) {
  int32_t boundary;
  return cutAt(model, plan, product, &boundary);
}

/// Does each function, or one that it calls or runs as a loop's body, multiply by a weight?
static uint8_t *findMultiplying(const ShardModel *model, ShardArena *arena) {
  const ShardRules *rules = model->rules;
  uint8_t *multiplies = SHARD_ARENA_ARRAY(arena, uint8_t, rules->nFunctions);
  for (int32_t f = 0; f < rules->nFunctions; ++f) { // callees before callers
    const ShardFunctionInfo *info = &rules->functions[f];
    for (int32_t o = 0; o < info->nOps && !multiplies[f]; ++o) {
      const ShardOpRule *rule = &info->ops[o];
      if (rule->form == SHARD_OP_CALL)
        multiplies[f] |= multiplies[rule->callee];
      for (int32_t g = 0; rule->form == SHARD_OP_LOOP && g < rule->nBodies; ++g)
        multiplies[f] |= multiplies[rule->bodies[g].callee];
      for (int32_t p = 0; rule->contraction && p < rule->nOperands; ++p)
        multiplies[f] |= model->weight[rule->operands[p].value];
    }
  }
  return multiplies;
}

/// Is the op a call, or a loop, of something that multiplies by weights?
static bool runsLayer(const ShardOpRule *rule, const uint8_t *multiplying) {
  bool layer = rule->form == SHARD_OP_CALL && multiplying[rule->callee];
  for (int32_t g = 0; rule->form == SHARD_OP_LOOP && g < rule->nBodies; ++g)
    layer |= multiplying[rule->bodies[g].callee];
  return layer;
}

/// Values of the entry that reach a layer's call through ops that move weights; null when there is
/// no layer: a function of a norm or of a scan is none. Weights that only the entry's own ops use
/// belong to embedding and head.
static uint8_t *findLayerValues(const ShardModel *model, ShardArena *arena) {
  const ShardRules *rules = model->rules;
  const uint8_t *multiplying = findMultiplying(model, arena);
  uint8_t *reaches = SHARD_ARENA_ARRAY(arena, uint8_t, rules->nValues + 1);
  bool any = false;
  const ShardFunctionInfo *info = &rules->functions[model->entry];
  for (int32_t o = info->nOps - 1; o >= 0; --o) {
    const ShardOpRule *rule = &info->ops[o];
    bool wanted = runsLayer(rule, multiplying);
    any |= wanted;
    for (int32_t r = 0; r < rule->nResults; ++r)
      wanted |= reaches[rule->results[r].value] && model->weight[rule->results[r].value];
    for (int32_t p = 0; wanted && p < rule->nOperands; ++p)
      reaches[rule->operands[p].value] = 1;
  }
  return any ? reaches : NULL;
}

typedef struct Candidate {
  int32_t klass;
  int64_t bytes;
  bool vocabulary;
  bool returned; // a vocabulary only by the flops that it saves
  bool input;    // of an input's features: sums of all that it is multiplied by
  int64_t sent;  // where the hidden state is not known, what splitting only this class would send
} Candidate;

/// Layers' classes before vocabularies, then by bytes. Where the hidden state is not known (all
/// were tried alone then), what sends less goes first, an input's features last.
static bool comesBefore(const Candidate *a, const Candidate *b) {
  if (a->input != b->input)
    return b->input;
  if (a->sent != b->sent)
    return a->sent < b->sent;
  if (a->vocabulary != b->vocabulary)
    return b->vocabulary;
  return a->bytes > b->bytes;
}

/// The class of the next minor atom of the same dimension, where a weight's atom `atom` is of
/// `klass` and that class is free to be split along with it; -1 if none.
static int32_t minorClass(const ShardTensorSearch *s, const ShardValueInfo *value, int32_t atom,
                          int32_t klass) {
  if (atom + 1 >= value->nAtoms || value->atoms[atom].klass != klass ||
      value->atoms[atom + 1].dim != value->atoms[atom].dim)
    return -1;
  int32_t minor = value->atoms[atom + 1].klass;
  bool free = minor != klass && s->plan->begin[minor] == s->plan->end[minor];
  return free && !s->model->hidden[minor] ? minor : -1;
}

/// Neighbouring atoms of a weight's dimension, major first, and the ranks that split each: together
/// the whole degree.
enum { CHAIN_LINKS = 3 };
typedef struct Chain {
  int32_t n;
  int32_t classes[CHAIN_LINKS];
  int64_t parts[CHAIN_LINKS];
} Chain;

/// `plan` with the classes of the chain split over sub-axes, major first; null if these cannot be
/// cut there.
static ShardTensorPlan *splitOver(const ShardTensorSearch *s, const Chain *chain) {
  ShardTensorPlan *trial = copyPlan(s, s->plan);
  int32_t begin = 0, end;
  int64_t ranks = 1;
  for (int32_t i = 0; i < chain->n; ++i, begin = end) {
    ranks *= chain->parts[i];
    end = trial->nSubAxes;
    if (ranks != s->degree && !cutAt(s->model, trial, ranks, &end))
      return NULL;
    trial->begin[chain->classes[i]] = (int8_t)begin, trial->end[chain->classes[i]] = (int8_t)end;
  }
  return trial;
}

static ShardTensorPlan *splitWhole(const ShardTensorSearch *s, int32_t klass) {
  return splitOver(s, &(Chain){1, {klass}, {s->degree}});
}

/// What one rank holds of the weights, padding included.
static int64_t localWeightBytes(const ShardTensorSearch *s, const ShardTensorPlan *plan) {
  const ShardModel *model = s->model;
  const ShardFunctionInfo *info = &model->rules->functions[model->entry];
  int64_t total = 0;
  for (int32_t a = 0; a < info->nArguments; ++a) {
    if (info->arguments[a] < 0 || !model->weight[info->arguments[a]])
      continue;
    const ShardValueInfo *value = &model->rules->values[info->arguments[a]];
    int64_t bytes = value->bytes;
    for (int32_t i = 0; i < value->nAtoms; ++i) {
      int64_t parts = 1, size = value->atoms[i].size;
      for (int32_t axis = 0; axis < plan->nSubAxes; ++axis)
        if (shardTensorPlanAtom(plan, a, axis) == i)
          parts *= plan->sizes[axis];
      bytes = bytes / size * shardCeilDivide(size, parts);
    }
    total += bytes * value->count;
  }
  return total;
}

typedef struct UnevenSearch {
  ShardTensorSearch *s;
  int32_t klass;
  bool uneven; // chains whose first part does not divide
  Chain tried[64];
  int32_t nTried;
  ShardTensorPlan *best;
  ShardTensorTrial value;
  int64_t bytes; // of weights that one rank holds
} UnevenSearch;

static bool chainEqual(const Chain *a, const Chain *b) {
  bool equal = a->n == b->n;
  for (int32_t i = 0; i < a->n && equal; ++i)
    equal = a->classes[i] == b->classes[i] && a->parts[i] == b->parts[i];
  return equal;
}

static void tryChain(UnevenSearch *u, const ShardTensorTrial *now, const Chain *chain) {
  for (int32_t t = 0; t < u->nTried; ++t)
    if (chainEqual(&u->tried[t], chain))
      return;
  if (u->nTried == (int32_t)(sizeof(u->tried) / sizeof(u->tried[0])))
    return;
  u->tried[u->nTried++] = *chain;
  ShardTensorPlan *trial = splitOver(u->s, chain);
  ShardTensorTrial next;
  if (!trial || !shardTensorTry(u->s, trial, u->klass, &next) || next.splitBytes <= now->splitBytes)
    return;
  int64_t bytes = localWeightBytes(u->s, trial);
  if (u->best &&
      (next.flops > u->value.flops || (next.flops == u->value.flops && bytes >= u->bytes)))
    return;
  u->best = trial, u->value = next, u->bytes = bytes;
}

/// Tries every chain that begins at the atom, and ends there or at one of the minor atoms.
static void tryChains(UnevenSearch *u, const ShardTensorTrial *now, const ShardValueInfo *value,
                      int32_t atom, Chain chain, int64_t ranks) {
  int32_t link = chain.n++, klass = value->atoms[atom].klass;
  chain.classes[link] = klass;
  int32_t minor = chain.n < CHAIN_LINKS ? minorClass(u->s, value, atom, klass) : -1;
  for (int64_t part = ranks; part >= 1; --part) {
    if (ranks % part)
      continue;
    if (link == 0 && (u->s->model->rules->classSizes[klass] % part != 0) != u->uneven)
      continue;
    chain.parts[link] = part;
    if (part == ranks)
      tryChain(u, now, &chain);
    else if (minor >= 0 && (link == 0 || part > 1))
      tryChains(u, now, value, atom + 1, chain, ranks / part);
  }
}

/// A class that does not divide, split unevenly: alone over the whole degree, or over a part of it
/// with the next minor atoms of some weight over the rest (key/value heads, the query heads of
/// each, the values of a head). The flops of the most loaded rank decide, then its weights, then a
/// part that divides. So ranks may repeat scores: fewer than if each did whole heads or none.
static bool takeUnevenly(ShardTensorSearch *s, int32_t klass, ShardTensorTrial *now) {
  const ShardModel *model = s->model;
  const ShardFunctionInfo *info = &model->rules->functions[model->entry];
  UnevenSearch u = {.s = s, .klass = klass};
  for (int32_t uneven = 0; uneven < 2; ++uneven) {
    u.uneven = uneven;
    for (int32_t a = 0; a < info->nArguments; ++a) {
      if (info->arguments[a] < 0 || !model->weight[info->arguments[a]])
        continue;
      const ShardValueInfo *value = &model->rules->values[info->arguments[a]];
      for (int32_t k = 0; k < value->nAtoms; ++k)
        if (value->atoms[k].klass == klass)
          tryChains(&u, now, value, k, (Chain){0}, s->degree);
    }
  }
  if (!u.best)
    return false;
  s->plan = u.best, *now = u.value;
  s->plan->uneven = true;
  return true;
}

/// A class smaller than the degree: its whole here, the rest on the next minor atom of some weight,
/// where that divides.
static bool takeWithMinor(ShardTensorSearch *s, int32_t klass, ShardTensorTrial *now) {
  const ShardModel *model = s->model;
  const ShardFunctionInfo *info = &model->rules->functions[model->entry];
  int64_t size = model->rules->classSizes[klass];
  if (s->degree % size)
    return false;
  for (int32_t a = 0; a < info->nArguments; ++a) {
    if (info->arguments[a] < 0 || !model->weight[info->arguments[a]])
      continue;
    const ShardValueInfo *value = &model->rules->values[info->arguments[a]];
    for (int32_t k = 0; k < value->nAtoms; ++k) {
      int32_t minor = minorClass(s, value, k, klass);
      if (minor < 0 || model->rules->classSizes[minor] % (s->degree / size))
        continue;
      ShardTensorPlan *trial = splitOver(s, &(Chain){2, {klass, minor}, {size, s->degree / size}});
      ShardTensorTrial next;
      if (trial && shardTensorTry(s, trial, klass, &next) && next.splitBytes > now->splitBytes &&
          next.repeating <= now->repeating) {
        s->plan = trial, *now = next;
        return true;
      }
    }
  }
  return false;
}

/// What a dimension of a result without a sequence (the logits of one step) saves of the flops of a
/// rank if it is split, 1 in so many at least: a classifier's few columns would only have to be
/// gathered.
#define RETURNED_SAVES 32

/// A class over the whole degree. Vocabularies together add one sum of the hidden state (the
/// embedding's), and another for a table that is larger than it.
static bool takeWhole(ShardTensorSearch *s, const Candidate *candidate, ShardTensorTrial *now) {
  ShardTensorPlan *trial = splitWhole(s, candidate->klass);
  ShardTensorTrial next;
  if (!shardTensorTry(s, trial, candidate->klass, &next) || next.splitBytes <= now->splitBytes ||
      next.repeating > now->repeating)
    return false;
  if (candidate->returned && (now->flops - next.flops) * RETURNED_SAVES < now->flops)
    return false;
  int64_t added = next.entrySums - now->entrySums;
  if (candidate->vocabulary && added > 0 && s->embedded && added >= candidate->bytes)
    return false;
  s->embedded |= candidate->vocabulary && added > 0;
  s->plan = trial, *now = next;
  return true;
}

/// What the user says of where an argument of the entry lies; null: nothing.
static MlirAttribute annotationOf(const ShardModel *model, int32_t argument) {
  const ShardFunctionInfo *info = &model->rules->functions[model->entry];
  MlirValue value = model->rules->values[info->arguments[argument]].value;
  return shardFuncGetArgumentAttribute(info->func, mlirBlockArgumentGetArgNumber(value),
                                       "spmd.sharding");
}

/// Arguments with a layout of the user's that does not name the tensor axis, or a part of it.
static uint8_t *findKeptWhole(const ShardModel *model, ShardArena *arena) {
  const ShardFunctionInfo *info = &model->rules->functions[model->entry];
  uint8_t *whole = SHARD_ARENA_ARRAY(arena, uint8_t, info->nArguments ? info->nArguments : 1);
  for (int32_t a = 0; a < info->nArguments; ++a) {
    if (info->arguments[a] < 0)
      continue;
    MlirAttribute list = annotationOf(model, a);
    whole[a] = list.ptr && mlirAttributeIsAArray(list);
    intptr_t rank = whole[a] ? mlirArrayAttrGetNumElements(list) : 0;
    for (intptr_t d = 0; d < rank; ++d) {
      MlirAttribute axes = mlirArrayAttrGetElement(list, d);
      intptr_t n = mlirAttributeIsAArray(axes) ? mlirArrayAttrGetNumElements(axes) : 0;
      for (intptr_t k = 0; k < n; ++k) {
        MlirAttribute axis = mlirArrayAttrGetElement(axes, k);
        MlirStringRef name =
            mlirAttributeIsAString(axis) ? mlirStringAttrGetValue(axis) : (MlirStringRef){NULL, 0};
        whole[a] &= name.length < 2 || strncmp(name.data, "tp", 2) != 0;
      }
    }
  }
  return whole;
}

static ShardTensorSearch startSearch(const ShardModel *model, int64_t degree, ShardArena *arena) {
  const ShardRules *rules = model->rules;
  ShardTensorSearch s = {.model = model, .arena = arena, .degree = degree};
  size_t nClasses = (size_t)(rules->nClasses ? rules->nClasses : 1);
  s.plan = SHARD_ARENA_NEW(arena, ShardTensorPlan);
  s.plan->model = model;
  s.plan->nSubAxes = 1, s.plan->sizes[0] = degree;
  if (model->nParts) {
    s.plan->nSubAxes = model->nParts, s.plan->fixed = true;
    for (int32_t i = 0; i < model->nParts; ++i)
      s.plan->sizes[i] = degree == 1 ? 1 : model->parts[i];
  }
  s.plan->begin = SHARD_ARENA_ARRAY(arena, int8_t, nClasses);
  s.plan->end = SHARD_ARENA_ARRAY(arena, int8_t, nClasses);
  s.used = SHARD_ARENA_ARRAY(arena, int64_t *, rules->nFunctions);
  for (int32_t f = 0; f < rules->nFunctions; ++f) {
    int32_t total;
    shardFactorOffsets(rules, f, arena, &total);
    s.used[f] = SHARD_ARENA_ARRAY(arena, int64_t, total ? total : 1);
  }
  s.keptWhole = findKeptWhole(model, arena);
  return s;
}

static bool multiplies(const ShardRules *rules) {
  for (int32_t f = 0; f < rules->nFunctions; ++f)
    for (int32_t o = 0; o < rules->functions[f].nOps; ++o)
      if (rules->functions[f].ops[o].contraction)
        return true;
  return false;
}

/// May the classes of an argument be candidates? What nobody uses stays whole; of what the user
/// laid out only heads of products may want parts of the axis.
static bool offersClasses(const ShardModel *model, int32_t argument, bool anyProduct) {
  const ShardRules *rules = model->rules;
  int32_t v = rules->functions[model->entry].arguments[argument];
  return v >= 0 && model->weight[v] &&
         !mlirOpOperandIsNull(mlirValueGetFirstUse(rules->values[v].value)) &&
         (anyProduct || !annotationOf(model, argument).ptr);
}

/// Candidates, by bytes saved, then by first appearance among the arguments; returns how many.
static int32_t findCandidates(ShardTensorSearch *s, Candidate *candidates) {
  const ShardModel *model = s->model;
  const ShardRules *rules = model->rules;
  const ShardFunctionInfo *info = &rules->functions[model->entry];
  const uint8_t *layerValues = findLayerValues(model, s->arena);
  bool anyProduct = multiplies(rules);
  int32_t n = 0;
  bool *seen = SHARD_ARENA_ARRAY(s->arena, bool, rules->nClasses + 1);
  for (int32_t pass = 0; pass < 2; ++pass)
    for (int32_t a = 0; a < info->nArguments; ++a) {
      if (!offersClasses(model, a, anyProduct))
        continue;
      bool inLayer = !layerValues || layerValues[info->arguments[a]];
      const ShardValueInfo *value = &rules->values[info->arguments[a]];
      for (int32_t i = 0; i < value->nAtoms; ++i) {
        int32_t c = value->atoms[i].klass;
        if (seen[c] || c == model->batchClass || model->sequence[c] || model->hidden[c])
          continue;
        if (shardModelCountsExperts(model, c)) {
          seen[c] = true;
          continue;
        }
        bool known = shardClassIsVocabulary(model, c);
        bool returned = !known && pass && model->nHidden > 0 && shardClassIsReturned(model, c);
        bool vocabulary = known || returned;
        if (pass == 0 ? (!inLayer || vocabulary) : !vocabulary)
          continue;
        seen[c] = true;
        candidates[n++] = (Candidate){.klass = c,
                                      .bytes = model->weightBytes[c],
                                      .vocabulary = vocabulary,
                                      .returned = returned};
      }
    }
  s->statistics = model->nHidden == 0;
  for (int32_t i = 0; i < n && model->nHidden == 0; ++i) {
    candidates[i].input = model->feature[candidates[i].klass];
    ShardTensorTrial alone;
    ShardTensorPlan *trial = splitWhole(s, candidates[i].klass);
    candidates[i].sent =
        shardTensorTry(s, trial, candidates[i].klass, &alone) ? alone.sentBytes : INT64_MAX;
  }
  for (int32_t i = 1; i < n; ++i) // a stable insertion sort
    for (int32_t j = i; j > 0 && comesBefore(&candidates[j], &candidates[j - 1]); --j) {
      Candidate swap = candidates[j];
      candidates[j] = candidates[j - 1], candidates[j - 1] = swap;
    }
  return n;
}

/// Takes what can be taken, candidate `first` before the others; returns whether anything could.
static bool takeInOrder(ShardTensorSearch *s, const Candidate *candidates, int32_t n, int32_t first,
                        ShardTensorTrial *now) {
  bool any = false;
  shardTensorEvaluate(s, s->plan, now);
  for (int32_t k = 0; k < n; ++k) {
    const Candidate *candidate = &candidates[k == 0 ? first : k <= first ? k - 1 : k];
    int32_t c = candidate->klass;
    if (s->plan->begin[c] != s->plan->end[c])
      continue; // taken along with its major neighbour
    s->statistics = s->model->nHidden == 0 || candidate->vocabulary;
    if (candidate->vocabulary || s->model->rules->classSizes[c] % s->degree == 0)
      any |= takeWhole(s, candidate, now);
    else
      any |= takeWithMinor(s, c, now) || takeUnevenly(s, c, now);
  }
  return any;
}

/// Takes what can be taken, on the model given or its fold; returns whether anything could. Where
/// the hidden state is not known, nothing says which of the classes that exclude each other a
/// layer's are: each is tried first. Of the plans within a fifth of the fewest flops, that which
/// sends least is it, then that with the fewest bytes of weights.
static bool takeAll(ShardTensorSearch *s) {
  enum { MAX_STARTS = 16 };
  Candidate *candidates = SHARD_ARENA_ARRAY(s->arena, Candidate, s->model->rules->nClasses + 1);
  int32_t n = findCandidates(s, candidates);
  ShardTensorPlan *start = s->plan, *plans[MAX_STARTS];
  ShardTensorTrial trials[MAX_STARTS];
  int32_t nStarts = 0, best = -1;
  while (nStarts < n && nStarts < MAX_STARTS && s->model->nHidden == 0 &&
         !candidates[nStarts].input)
    ++nStarts;
  nStarts = n > 0 && nStarts == 0 ? 1 : nStarts;
  int64_t least = INT64_MAX;
  for (int32_t i = 0; i < nStarts; ++i) {
    s->plan = copyPlan(s, start), s->embedded = false;
    plans[i] = takeInOrder(s, candidates, n, i, &trials[i]) ? s->plan : NULL;
    least = plans[i] && trials[i].flops < least ? trials[i].flops : least;
  }
  for (int32_t i = 0; i < nStarts; ++i) {
    if (!plans[i] || trials[i].flops - least > least / SHARD_FLOP_SLACK)
      continue;
    if (best < 0 || trials[i].sentBytes < trials[best].sentBytes ||
        (trials[i].sentBytes == trials[best].sentBytes &&
         localWeightBytes(s, plans[i]) < localWeightBytes(s, plans[best])))
      best = i;
  }
  s->plan = best < 0 ? start : plans[best];
  return best >= 0;
}

static bool hasWeights(const ShardModel *model) {
  bool any = false;
  for (int32_t a = 0; a < model->nArguments && !any; ++a)
    any = strcmp(model->roles[a], "weight") == 0;
  return any;
}

/// The search as if the hidden state were not known; returns whether anything could be taken.
/// Square layers that are added to what they read have no other dimension.
static bool takeOfHidden(ShardTensorSearch *s, const ShardModel *model, int64_t degree,
                         ShardArena *arena) {
  ShardModel *open = SHARD_ARENA_NEW(arena, ShardModel);
  *open = *model;
  open->nHidden = 0;
  open->hidden = SHARD_ARENA_ARRAY(arena, uint8_t, model->rules->nClasses + 1);
  *s = startSearch(open, degree, arena);
  bool any = takeAll(s);
  s->plan->model = model;
  return any;
}

ShardTensorPlan *shardPlanTensor(const ShardModel *model, int64_t degree, ShardArena *arena,
                                 const char **outMessage) {
  *outMessage = NULL;
  ShardTensorSearch s = startSearch(model->folded ? model->folded : model, degree, arena);
  if (degree == 1)
    return s.plan;
  bool any = takeAll(&s);
  if (s.unsettled) { // calls that the fold takes for equal are not
    s = startSearch(model, degree, arena);
    any = takeAll(&s);
  }
  if (!any && model->nHidden && !shardModelIsAnnotated(model))
    any = takeOfHidden(&s, model, degree, arena);
  if (!any && !shardModelIsAnnotated(model)) {
    *outMessage = shardArenaFormat(
        arena,
        hasWeights(model) ? "tp%" PRId64 " does not fit: no dimension of a weight can be split"
                          : "tp%" PRId64 " does not fit: no argument is taken for a weight; "
                            "\"role\" of --annotations names them",
        degree);
    return NULL;
  }
  return s.plan;
}
