//===- Emit.c - Values and lines of a random program --------------*- C -*-===//
#define _GNU_SOURCE

#include "Graph.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void textAppendList(Text *text, const char *format, va_list list) {
  char *part;
  int length = vasprintf(&part, format, list);
  if (length < 0)
    abort();
  if (text->length + (size_t)length + 1 > text->capacity) {
    text->capacity = 2 * (text->length + (size_t)length + 1);
    text->data = realloc(text->data, text->capacity);
    if (!text->data)
      abort();
  }
  memcpy(text->data + text->length, part, (size_t)length + 1);
  text->length += (size_t)length;
  free(part);
}

void textAppend(Text *text, const char *format, ...) {
  va_list list;
  va_start(list, format);
  textAppendList(text, format, list);
  va_end(list);
}

void lineAdd(Program *p, const char *format, ...) {
  va_list list;
  va_start(list, format);
  textAppend(&p->scope->lines, "  ");
  textAppendList(&p->scope->lines, format, list);
  textAppend(&p->scope->lines, "\n");
  va_end(list);
}

const char *elementText(Element element) {
  static const char *const names[] = {"f32", "f64", "bf16", "f16", "i64", "i32", "i1", "i8"};
  return names[element];
}

bool elementIsReal(Element element) { return element <= F16; }

const char *typeText(const Type *type) {
  static char texts[32][96];
  static int turn;
  char *out = texts[turn++ % 32];
  size_t used = (size_t)snprintf(out, 96, "tensor<");
  for (int d = 0; d < type->rank; ++d)
    used += (size_t)snprintf(out + used, 96 - used, "%" PRId64 "x", type->shape[d]);
  snprintf(out + used, 96 - used, "%s>", elementText(type->element));
  return out;
}

int64_t typeElements(const Type *type) {
  int64_t count = 1;
  for (int d = 0; d < type->rank; ++d)
    count *= type->shape[d];
  return count;
}

bool typeEqual(const Type *a, const Type *b) {
  return a->rank == b->rank && a->element == b->element &&
         !memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape);
}

Type typeOf(Element element, int rank, const int64_t *shape) {
  Type type = {.rank = rank, .element = element};
  memcpy(type.shape, shape, (size_t)rank * sizeof *shape);
  return type;
}

Type typeDrop(Type type, int d) {
  memmove(type.shape + d, type.shape + d + 1, (size_t)(type.rank - d - 1) * sizeof *type.shape);
  --type.rank;
  return type;
}

int drawExtent(Program *p) { return p->extents[draw(p->draws, p->nExtents)]; }

void used(Program *p, const char *row) {
  int index = rowOf(row);
  if (index >= 0)
    p->used[index] = true;
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

const char *drawSharding(Program *p, const Type *type, bool upstream, char *out, size_t outBytes) {
  int axes[MAX_RANK][MAX_AXES], counts[MAX_RANK] = {0}, total = 0;
  int64_t parts[MAX_RANK] = {1, 1, 1, 1, 1, 1};
  int first = draw(p->draws, p->nAxes);
  for (int i = 0; i < p->nAxes && type->rank > 0; ++i) {
    int axis = (first + i) % p->nAxes, d = draw(p->draws, type->rank + 1) - 1;
    if (d < 0 || !strcmp(p->axisNames[axis], "pp") || type->shape[d] < 2 ||
        (!p->uneven && type->shape[d] % (parts[d] * p->axisSizes[axis])))
      continue;
    if (parts[d] * p->axisSizes[axis] > 2 * type->shape[d])
      continue; // mostly empty shards show little
    parts[d] *= p->axisSizes[axis];
    axes[d][counts[d]++] = axis;
    ++total;
  }
  if (total == 0)
    return NULL;
  size_t used = (size_t)snprintf(out, outBytes, "[");
  for (int d = 0; d < type->rank; ++d) {
    used += (size_t)snprintf(out + used, outBytes - used, "%s[", d ? ", " : "");
    for (int i = 0; i < counts[d]; ++i)
      used += (size_t)(upstream ? snprintf(out + used, outBytes - used, "%s%d", i ? ", " : "",
                                           axes[d][i])
                                : snprintf(out + used, outBytes - used, "%s\"%s\"", i ? ", " : "",
                                           p->axisNames[axes[d][i]]));
    used += (size_t)snprintf(out + used, outBytes - used, "]");
  }
  snprintf(out + used, outBytes - used, "]");
  return out;
}

void valueAnnotate(Program *p, int value) {
  char text[256];
  const Value *v = &p->values[value];
  if (v->type.rank == 0 || p->scope->silent || !drawChance(p->draws, 12) ||
      !drawSharding(p, &v->type, true, text, sizeof text))
    return;
  int number = p->nAnnotations++;
  lineAdd(p, "%%s%d = shard.sharding @mesh split_axes = %s : !shard.sharding", number, text);
  lineAdd(p, "%%u%d = shard.shard %%v%d to %%s%d : %s", number, v->id, number, typeText(&v->type));
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

int valueAdd(Program *p, Type type, double bound, bool fuzzy) {
  if (p->nValues == MAX_VALUES) {
    p->failed = true;
    --p->nValues;
  }
  p->values[p->nValues] = (Value){.type = type, .id = p->nextId++, .bound = bound, .fuzzy = fuzzy};
  return p->nValues++;
}

int idOf(Program *p, int value) {
  ++p->values[value].uses;
  return p->values[value].id;
}

int argumentAdd(Program *p, Type type, const char *attributes) {
  char sharding[256];
  if (p->nArguments >= 12 || p->scope->closed)
    return -1;
  int value = valueAdd(p, type, elementIsReal(type.element) ? 3 : 1, false);
  ++p->nArguments;
  textAppend(&p->arguments, "%s%%v%d: %s", p->nArguments > 1 ? ", " : "", p->values[value].id,
             typeText(&type));
  bool annotated = type.rank > 0 && drawChance(p->draws, 40) &&
                   drawSharding(p, &type, false, sharding, sizeof sharding) &&
                   !(attributes && strstr(attributes, "spmd.sharding"));
  if (attributes || annotated)
    textAppend(&p->arguments, " {%s%s%s%s}", attributes ? attributes : "",
               attributes && annotated ? ", " : "", annotated ? "spmd.sharding = " : "",
               annotated ? sharding : "");
  return value;
}

int scalarConstant(Program *p, Element element, const char *number) {
  int id = p->nextId++;
  lineAdd(p, "%%c%d = arith.constant %s : %s", id, number, elementText(element));
  return id;
}

int valueEmpty(Program *p, Type type) {
  for (int i = p->scope->firstValue; i < p->nValues; ++i)
    if (p->values[i].shared && p->values[i].bound < 0 && typeEqual(&p->values[i].type, &type) &&
        drawChance(p->draws, 50))
      return i;
  int value = valueAdd(p, type, -1, false);
  p->values[value].shared = true;
  lineAdd(p, "%%v%d = tensor.empty() : %s", p->values[value].id, typeText(&type));
  used(p, "tensor.empty");
  return value;
}

int valueFill(Program *p, Type type, const char *number, double bound) {
  int constant = scalarConstant(p, type.element, number), empty = valueEmpty(p, type);
  int value = valueAdd(p, type, bound, false);
  p->values[value].shared = true;
  lineAdd(p, "%%v%d = linalg.fill ins(%%c%d : %s) outs(%%v%d : %s) -> %s", p->values[value].id,
          constant, elementText(type.element), idOf(p, empty), typeText(&type), typeText(&type));
  used(p, "linalg.fill");
  return value;
}

int valueBound(Program *p, int value, double bound) {
  Type type = p->values[value].type;
  if (p->values[value].bound <= bound || !elementIsReal(type.element))
    return value;
  double limit = exp2(floor(log2(bound)));
  char low[32], high[32];
  snprintf(low, sizeof low, "%.1f", -limit);
  snprintf(high, sizeof high, "%.1f", limit);
  int least = valueFill(p, type, low, limit), most = valueFill(p, type, high, limit);
  int raised = valueAdd(p, type, p->values[value].bound, p->values[value].fuzzy);
  lineAdd(p, "%%v%d = arith.maximumf %%v%d, %%v%d : %s", p->values[raised].id, idOf(p, value),
          idOf(p, least), typeText(&type));
  int clamped = valueAdd(p, type, limit, p->values[value].fuzzy);
  lineAdd(p, "%%v%d = arith.minimumf %%v%d, %%v%d : %s", p->values[clamped].id, idOf(p, raised),
          idOf(p, most), typeText(&type));
  used(p, "arith.* and math.* on tensors");
  return clamped;
}

int valueNeed(Program *p, Type type, double bound) {
  int found[64], n = 0;
  for (int i = p->scope->firstValue; i < p->nValues && n < 64; ++i)
    if (typeEqual(&p->values[i].type, &type) && p->values[i].bound > 0) // no zeros
      found[n++] = i;
  int value = -1;
  if (n && drawChance(p->draws, 65))
    value = found[draw(p->draws, n)];
  if (value < 0)
    value = argumentAdd(p, type, NULL);
  if (value < 0 && n)
    value = found[draw(p->draws, n)];
  if (value < 0)
    value = valueFill(p, type, elementIsReal(type.element) ? "1.0" : "1", 1);
  return valueBound(p, value, bound);
}

/// The value with `rank` dimensions: neighbours merged, one split, or ones added.
static int changeRank(Program *p, int value, int rank) {
  Type from = p->values[value].type, to = from;
  char groups[128];
  size_t used1 = 0;
  bool collapse = from.rank > rank;
  Type *fine = collapse ? &from : &to;
  if (collapse) { // merge dimensions [at, at + extra]
    int extra = from.rank - rank, at = rank > 0 ? draw(p->draws, rank) : 0;
    if (rank == 0)
      return -1;
    to.rank = rank;
    for (int d = 0; d < rank; ++d)
      to.shape[d] = d <= at ? from.shape[d] : from.shape[d + extra];
    for (int e = 1; e <= extra; ++e)
      to.shape[at] *= from.shape[at + e];
    for (int d = 0; d < rank; ++d) {
      used1 += (size_t)snprintf(groups + used1, sizeof groups - used1, "%s[", d ? ", " : "[");
      for (int e = 0; e <= (d == at ? extra : 0); ++e)
        used1 += (size_t)snprintf(groups + used1, sizeof groups - used1, "%s%d", e ? ", " : "",
                                  d + (d > at ? extra : 0) + e);
      used1 += (size_t)snprintf(groups + used1, sizeof groups - used1, "]");
    }
  } else { // split dimension `at` in extra + 1
    if (from.rank == 0)
      return -1;
    int extra = rank - from.rank, at = draw(p->draws, from.rank);
    int64_t rest = from.shape[at];
    to.rank = rank;
    for (int d = from.rank - 1; d > at; --d)
      to.shape[d + extra] = from.shape[d];
    for (int e = 0; e < extra; ++e) {
      int64_t divisors[32];
      int n = 0;
      for (int64_t k = 1; k <= rest && n < 32; ++k)
        if (rest % k == 0)
          divisors[n++] = k;
      to.shape[at + e] = divisors[draw(p->draws, n)];
      rest /= to.shape[at + e];
    }
    to.shape[at + extra] = rest;
    for (int d = 0; d < from.rank; ++d) {
      used1 += (size_t)snprintf(groups + used1, sizeof groups - used1, "%s[", d ? ", " : "[");
      for (int e = 0; e <= (d == at ? extra : 0); ++e)
        used1 += (size_t)snprintf(groups + used1, sizeof groups - used1, "%s%d", e ? ", " : "",
                                  d + (d > at ? extra : 0) + e);
      used1 += (size_t)snprintf(groups + used1, sizeof groups - used1, "]");
    }
  }
  snprintf(groups + used1, sizeof groups - used1, "]");
  int result = valueAdd(p, to, p->values[value].bound, p->values[value].fuzzy);
  if (collapse) {
    lineAdd(p, "%%v%d = tensor.collapse_shape %%v%d %s : %s into %s", p->values[result].id,
            idOf(p, value), groups, typeText(&from), typeText(&to));
  } else {
    char shape[96];
    size_t n = 0;
    for (int d = 0; d < fine->rank; ++d)
      n += (size_t)snprintf(shape + n, sizeof shape - n, "%s%" PRId64, d ? ", " : "",
                            fine->shape[d]);
    lineAdd(p, "%%v%d = tensor.expand_shape %%v%d %s output_shape [%s] : %s into %s",
            p->values[result].id, idOf(p, value), groups, shape, typeText(&from), typeText(&to));
  }
  used(p, collapse ? "tensor.collapse_shape" : "tensor.expand_shape");
  valueAnnotate(p, result);
  return result;
}

int valuePick(Program *p, int least, int most) {
  int fresh[MAX_VALUES], all[MAX_VALUES], nFresh = 0, nAll = 0;
  for (int i = p->scope->firstValue; i < p->nValues; ++i) {
    const Value *v = &p->values[i];
    if (v->shared || v->type.element != p->element || v->type.rank == 0)
      continue;
    all[nAll++] = i;
    if (v->uses == 0)
      fresh[nFresh++] = i;
  }
  if (nAll == 0)
    return -1;
  bool preferFresh = nFresh && drawChance(p->draws, 70);
  int value = preferFresh ? fresh[nFresh - 1 - draw(p->draws, nFresh)]
                          : all[nAll - 1 - draw(p->draws, nAll)];
  int rank = p->values[value].type.rank;
  if (rank < least || rank > most)
    value = changeRank(p, value, rank < least ? least : most);
  return value;
}

void textRelease(Text *text) {
  free(text->data);
  *text = (Text){0};
}

int valueStart(Program *p, Type type, int kind) {
  char number[40];
  snprintf(number, sizeof number, "%s%.1f", kind == 1 ? "-" : "", kind ? p->cap : 0.0);
  return valueFill(p, type, number, 0);
}
