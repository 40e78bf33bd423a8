//===- Layers.c - A stack of layers, for pipeline stages ----------*- C -*-===//
// One function over a carried value and weights of its own, called again and again; stages are cut
// between the calls.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE

#include "Graph.h"

enum { MAX_WEIGHTS = 2, MAX_LAYERS = 4 };

typedef struct Layer {
  int nWeights, nResults; // the first result is carried on
  Type carried, weights[MAX_WEIGHTS], results[2];
  double bound, bounds[2];
  bool fuzzy;
} Layer;

static Value *at(Program *p, int value) { return &p->values[value]; }

static Type drawWeight(Program *p) {
  Type type = {.element = p->element, .rank = 1 + draw(p->draws, 2)};
  for (int d = 0; d < type.rank; ++d)
    type.shape[d] = drawExtent(p);
  return type;
}

/// Writes @layer. A step that rounds would meet the next layer's steps: what is carried counts as
/// rounded from the start where anything may round.
static bool makeFunction(Program *p, int carried, Layer *layer) {
  Scope scope = {.firstValue = p->nValues, .closed = true}, *outer = p->scope;
  Text signature = {0}, types = {0}, names = {0};
  p->scope = &scope;
  layer->carried = at(p, carried)->type, layer->bound = at(p, carried)->bound;
  layer->fuzzy = !p->exact;
  int x = valueAdd(p, layer->carried, layer->bound, layer->fuzzy);
  textAppend(&signature, "%%v%d: %s", at(p, x)->id, typeText(&layer->carried));
  layer->nWeights = 1 + draw(p->draws, MAX_WEIGHTS);
  for (int i = 0; i < layer->nWeights; ++i) {
    layer->weights[i] = drawWeight(p);
    int w = valueAdd(p, layer->weights[i], 3, false);
    textAppend(&signature, ", %%v%d: %s", at(p, w)->id, typeText(&layer->weights[i]));
  }
  int made = p->nValues;
  opsMake(p, 2 + draw(p->draws, 5), made);
  int back = valueBack(p, x, made, layer->bound), other = -1;
  for (int i = made; i < p->nValues && other < 0; ++i)
    if (i != back && !at(p, i)->shared && at(p, i)->uses == 0)
      other = i;
  int results[2] = {back, other};
  layer->nResults = other < 0 ? 1 : 2;
  for (int i = 0; i < layer->nResults; ++i) {
    layer->results[i] = at(p, results[i])->type, layer->bounds[i] = at(p, results[i])->bound;
    textAppend(&types, "%s%s", i ? ", " : "", typeText(&layer->results[i]));
    textAppend(&names, "%s%%v%d", i ? ", " : "", at(p, results[i])->id);
  }
  textAppend(&p->functions, "func.func private @layer(%s) -> (%s) {\n%s  return %s : %s\n}\n",
             signature.data, types.data, scope.lines.data ? scope.lines.data : "", names.data,
             types.data);
  p->nValues = scope.firstValue;
  p->scope = outer;
  textRelease(&signature);
  textRelease(&types);
  textRelease(&names);
  textRelease(&scope.lines);
  return !p->failed;
}

/// The layer on `carried`; its next value.
static int callLayer(Program *p, const Layer *layer, int carried) {
  Text names = {0}, types = {0}, results = {0}, resultTypes = {0};
  textAppend(&names, "%%v%d", idOf(p, carried));
  textAppend(&types, "%s", typeText(&layer->carried));
  for (int i = 0; i < layer->nWeights; ++i) {
    int w = valueNeed(p, layer->weights[i], 3);
    if (at(p, w)->fuzzy)
      w = valueFill(p, layer->weights[i], "2.0", 2);
    textAppend(&names, ", %%v%d", idOf(p, w));
    textAppend(&types, ", %s", typeText(&layer->weights[i]));
  }
  int values[2];
  for (int i = 0; i < layer->nResults; ++i) {
    values[i] = valueAdd(p, layer->results[i], layer->bounds[i], layer->fuzzy);
    textAppend(&results, "%s%%v%d", i ? ", " : "", at(p, values[i])->id);
    textAppend(&resultTypes, "%s%s", i ? ", " : "", typeText(&layer->results[i]));
  }
  lineAdd(p, "%s = func.call @layer(%s) : (%s) -> (%s)", results.data, names.data, types.data,
          resultTypes.data);
  for (int i = 0; i < layer->nResults; ++i)
    valueAnnotate(p, values[i]);
  textRelease(&names);
  textRelease(&types);
  textRelease(&results);
  textRelease(&resultTypes);
  return values[0];
}

void makeLayers(Program *p, int nStages) {
  int x = valuePick(p, 1, 4);
  if (x < 0)
    return;
  drawSpan(p->draws);
  double bound = p->cap / 4 < 64 ? p->cap / 4 : 64;
  x = valueBound(p, x, bound);
  Layer layer = {0};
  if (!makeFunction(p, x, &layer))
    return;
  for (int n = nStages + draw(p->draws, MAX_LAYERS - nStages + 1); n > 0; --n)
    x = callLayer(p, &layer, x);
  used(p, "func.call");
  p->hasCall = true;
  ++p->nOps;
}
