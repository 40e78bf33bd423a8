//===- Contractions.c - Contractions and windows ------------------*- C -*-===//
#define _GNU_SOURCE

#include "Graph.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const Value *at(const Program *p, int value) { return &p->values[value]; }
static const char *T(const Program *p, int value) { return typeText(&p->values[value].type); }

static bool ends(const char *row, const char *name) {
  size_t n = strlen(row), m = strlen(name);
  return n >= m && !strcmp(row + n - m, name);
}

/// Integers from `value`, clamped to 7, and 0 or more where the op takes them as unsigned.
static int toIntegers(Program *p, int value, Element element, bool isUnsigned) {
  value = valueBound(p, value, 7);
  Type type = at(p, value)->type, whole = type;
  whole.element = element;
  if (isUnsigned) {
    int size = valueAdd(p, type, at(p, value)->bound, at(p, value)->fuzzy);
    lineAdd(p, "%%v%d = math.absf %%v%d : %s", at(p, size)->id, idOf(p, value), typeText(&type));
    value = size;
  }
  int k = valueAdd(p, whole, at(p, value)->bound, false);
  lineAdd(p, "%%v%d = arith.fptosi %%v%d : %s to %s", at(p, k)->id, idOf(p, value), typeText(&type),
          typeText(&whole));
  used(p, "arith.* and math.* on tensors");
  valueAnnotate(p, k);
  return k;
}

/// Back to the program's floats, where the numbers fit.
static void fromIntegers(Program *p, int value) {
  Type type = at(p, value)->type, real = type;
  real.element = p->element;
  if (at(p, value)->bound > p->cap || type.rank == 0)
    return;
  int f = valueAdd(p, real, at(p, value)->bound, false);
  lineAdd(p, "%%v%d = arith.sitofp %%v%d : %s to %s", at(p, f)->id, idOf(p, value), typeText(&type),
          typeText(&real));
  valueAnnotate(p, f);
}

/// Subscripts of two operands and the result, one letter a loop: "mk,kn->mn".
typedef struct Contraction {
  const char *name, *subscripts;
} Contraction;
static const Contraction contractions[] = {
    {"linalg.matmul", "mk,kn->mn"},
    {"linalg.batch_matmul", "bmk,bkn->bmn"},
    {"linalg.matvec", "mk,k->m"},
    {"linalg.vecmat", "k,kn->n"},
    {"linalg.batch_matvec", "bmk,bk->bm"},
    {"linalg.batch_vecmat", "bk,bkn->bn"},
    {"linalg.mmt4d", "mkab,nkcb->mnac"},
    {"linalg.batch_mmt4d", "zmkab,znkcb->zmnac"},
    {"linalg.quantized_matmul", "mk,kn->mn"},
    {"linalg.quantized_batch_matmul", "bmk,bkn->bmn"},
    {"linalg.batch_reduce_matmul", "bmk,bkn->mn"},
    {"linalg.dot", "k,k->"},
};

bool isContraction(const char *row) {
  for (size_t i = 0; i < sizeof contractions / sizeof *contractions; ++i)
    if (!strcmp(contractions[i].name, row))
      return true;
  return !strcmp(row, "linalg.contract");
}

static const char *const contracts[] = {"mk,kn->mn",   "mk,nk->nm",    "bmk,bkn->bmn",
                                        "abk,kn->abn", "abk,bnk->nab", "km,kn->mn",
                                        "ab,ab->a",    "amk,ank->amn"};

static int64_t sizeOfLetter(const char *subscript, const Type *type, char letter) {
  for (int d = 0; d < type->rank; ++d)
    if (subscript[d] == letter)
      return type->shape[d];
  return 0;
}

/// "affine_map<(d0, d1, d2) -> (d0, d2)>" for a subscript.
static void mapText(char *out, size_t outBytes, const char *letters, const char *subscript,
                    int rank) {
  size_t n = (size_t)snprintf(out, outBytes, "affine_map<(");
  for (size_t i = 0; i < strlen(letters); ++i)
    n += (size_t)snprintf(out + n, outBytes - n, "%sd%zu", i ? ", " : "", i);
  n += (size_t)snprintf(out + n, outBytes - n, ") -> (");
  for (int d = 0; d < rank; ++d)
    n += (size_t)snprintf(out + n, outBytes - n, "%sd%d", d ? ", " : "",
                          (int)(strchr(letters, subscript[d]) - letters));
  snprintf(out + n, outBytes - n, ")>");
}

bool makeContraction(Program *p, const char *row) {
  const char *subscripts = NULL;
  for (size_t i = 0; i < sizeof contractions / sizeof *contractions; ++i)
    if (!strcmp(contractions[i].name, row))
      subscripts = contractions[i].subscripts;
  if (!subscripts)
    subscripts = contracts[draw(p->draws, sizeof contracts / sizeof *contracts)];
  const char *comma = strchr(subscripts, ','), *arrow = strstr(subscripts, "->");
  const char *sub[3] = {subscripts, comma + 1, arrow + 2};
  int rank[3] = {(int)(comma - subscripts), (int)(arrow - comma - 1), (int)strlen(arrow + 2)};
  // The operand that is there is one of the two.
  int given = drawChance(p->draws, 30) ? 1 : 0;
  int x = valuePick(p, rank[given], rank[given]);
  bool quantized = strstr(row, "quantized") != NULL;
  if (x < 0 || (quantized && at(p, x)->fuzzy))
    return false;
  Type types[3] = {{0}};
  types[given] = at(p, x)->type;
  for (int i = 0; i < 3; ++i) {
    types[i].rank = rank[i];
    types[i].element = p->element;
    for (int d = 0; d < rank[i] && i != given; ++d) {
      int64_t size = sizeOfLetter(sub[given], &types[given], sub[i][d]);
      if (!size && i == 2)
        size = sizeOfLetter(sub[1 - given], &types[1 - given], sub[i][d]);
      types[i].shape[d] = size ? size : drawExtent(p);
    }
    if (i == 0 && given == 1)
      continue;
  }
  if (given == 1) // the result's sizes of letters that only the first operand has
    for (int d = 0; d < rank[2]; ++d) {
      int64_t size = sizeOfLetter(sub[0], &types[0], sub[2][d]);
      types[2].shape[d] = size ? size : types[2].shape[d];
    }
  if (typeElements(&types[0]) > MAX_ELEMENTS || typeElements(&types[1]) > MAX_ELEMENTS ||
      typeElements(&types[2]) > MAX_ELEMENTS)
    return false;
  double count = 1;
  char letters[8] = "";
  size_t nLetters = 0;
  for (int i = 0; i < 2; ++i)
    for (int d = 0; d < rank[i]; ++d) {
      if (strchr(letters, sub[i][d]))
        continue;
      letters[nLetters++] = sub[i][d];
      letters[nLetters] = 0;
      if (!memchr(sub[2], sub[i][d], (size_t)rank[2]))
        count *= (double)types[i].shape[d];
    }
  double limit = sqrt(p->cap / count);
  if (limit < 1)
    return false;
  x = valueBound(p, x, limit);
  int y = valueNeed(p, types[1 - given], limit);
  if (quantized && at(p, y)->fuzzy)
    return false;
  if (quantized) {
    x = toIntegers(p, x, I8, false);
    y = toIntegers(p, y, I8, false);
    types[2].element = I32;
  }
  int operands[2] = {given ? y : x, given ? x : y};
  int out = quantized                  ? valueFill(p, types[2], "0", 0)
            : drawChance(p->draws, 15) ? valueNeed(p, types[2], p->cap)
                                       : valueFill(p, types[2], "0.0", 0);
  int r = valueAdd(p, types[2],
                   (quantized ? 81 : at(p, x)->bound * at(p, y)->bound) * count + at(p, out)->bound,
                   at(p, x)->fuzzy || at(p, y)->fuzzy || at(p, out)->fuzzy);
  char maps[420] = "", one[3][128];
  if (!strcmp(row, "linalg.contract")) {
    for (int i = 0; i < 3; ++i)
      mapText(one[i], sizeof one[i], letters, sub[i], rank[i]);
    snprintf(maps, sizeof maps, " indexing_maps = [%s, %s, %s]", one[0], one[1], one[2]);
  }
  char zeros[64] = "", zeroTypes[16] = "";
  if (quantized) {
    int one = scalarConstant(p, I32, "1"), two = scalarConstant(p, I32, "-2");
    snprintf(zeros, sizeof zeros, ", %%c%d, %%c%d", one, two);
    snprintf(zeroTypes, sizeof zeroTypes, ", i32, i32");
  }
  lineAdd(p, "%%v%d = %s%s ins(%%v%d, %%v%d%s : %s, %s%s) outs(%%v%d : %s) -> %s", at(p, r)->id,
          row, maps, idOf(p, operands[0]), idOf(p, operands[1]), zeros, T(p, operands[0]),
          T(p, operands[1]), zeroTypes, idOf(p, out), typeText(&types[2]), typeText(&types[2]));
  valueAnnotate(p, r);
  if (quantized)
    fromIntegers(p, r);
  return true;
}

/// Image, filter and result, a letter a dimension: N batch, G groups, D H W image, C channels, F
/// filters, M multiplier; d h w filter sizes.
typedef struct Window {
  char image[16], filter[16], result[16];
} Window;

/// Reads them off the name: "conv_2d_ngchw_gfchw_q", "pooling_nwc_max", "conv_3d".
static bool readWindow(const char *row, Window *out) {
  char name[64];
  snprintf(name, sizeof name, "%s", row + strlen("linalg."));
  char *words[8] = {name}, *rest = NULL;
  int n = 0;
  for (char *word = strtok_r(name, "_", &rest); word && n < 8; word = strtok_r(NULL, "_", &rest))
    words[n++] = word;
  bool pools = !strcmp(words[0], "pooling");
  if (!pools && strcmp(words[0], "conv") && strcmp(words[0], "depthwise"))
    return false;
  int first = 0;
  while (first < n && words[first][0] != 'n')
    ++first;
  *out = (Window){{0}, {0}, {0}};
  if (first == n) { // conv_2d: image and filter alone
    snprintf(out->filter, sizeof out->filter, "%s", &"dhw"[3 - (words[1][0] - '0')]);
    for (int i = 0; out->filter[i]; ++i)
      out->image[i] = out->result[i] = (char)toupper(out->filter[i]);
    return true;
  }
  for (int i = 0; words[first][i]; ++i)
    out->image[i] = (char)toupper(words[first][i]);
  const char *filter = pools ? "" : words[first + 1];
  for (int i = 0; filter[i]; ++i)
    out->filter[i] = strchr("dhw", filter[i]) ? filter[i] : (char)toupper(filter[i]);
  int k = 0;
  for (int i = 0; out->image[i]; ++i) {
    if (pools && strchr("DHW", out->image[i]))
      out->filter[k++] = (char)tolower(out->image[i]);
    out->result[i] = out->image[i] == 'C' && strchr(filter, 'f') ? 'F' : out->image[i];
  }
  if (strchr(filter, 'm'))
    out->result[strlen(out->result)] = 'M';
  return true;
}

bool makeWindow(Program *p, const char *row) {
  Window window, *w = &window;
  if (!readWindow(row, w))
    return false;
  int rank = (int)strlen(w->image), x = valuePick(p, rank, rank);
  bool quantized = ends(row, "_q"), isUnsigned = ends(row, "_unsigned");
  if (x < 0 || ((quantized || isUnsigned) && at(p, x)->fuzzy))
    return false;
  bool pools = strstr(row, "pooling") != NULL, least = strstr(row, "_min") != NULL;
  bool sums = !least && !strstr(row, "_max");
  int64_t stride[3] = {1, 1, 1}, sizes[128] = {0}, count = 1;
  Type type = at(p, x)->type;
  int spatial = 0;
  for (int d = 0; d < rank; ++d) {
    sizes[(int)w->image[d]] = type.shape[d];
    if (!strchr("DHW", w->image[d]))
      continue;
    int s = spatial++;
    int64_t filter = 1 + draw(p->draws, 3);
    if (type.shape[d] < filter)
      filter = type.shape[d];
    if (rank > spatial || w->image[0] == 'N') // conv_2d has no strides
      stride[s] = drawChance(p->draws, 30) ? filter : 1 + draw(p->draws, 2);
    sizes[(int)w->image[d]] = (type.shape[d] - filter) / stride[s] + 1;
    sizes[tolower(w->image[d])] = filter;
    count *= filter;
  }
  bool plain = w->image[0] != 'N';
  for (int s = 0, d = 0; plain && d < rank; ++d, ++s) {
    sizes[(int)w->image[d]] = type.shape[d] - sizes[tolower(w->image[d])] + 1;
    stride[s] = 1;
  }
  sizes['F'] = drawExtent(p);
  sizes['M'] = 1 + draw(p->draws, 3);
  if (strchr(w->filter, 'F'))
    count *= sizes['C'];
  Element element = quantized ? I8 : isUnsigned ? I32 : p->element;
  Type filterType = {.element = p->element, .rank = (int)strlen(w->filter)};
  Type result = {.element = quantized ? I32 : element, .rank = (int)strlen(w->result)};
  for (int d = 0; d < filterType.rank; ++d)
    filterType.shape[d] = sizes[(int)w->filter[d]];
  for (int d = 0; d < result.rank; ++d)
    result.shape[d] = sizes[(int)w->result[d]];
  if (typeElements(&result) > MAX_ELEMENTS || typeElements(&filterType) > MAX_ELEMENTS)
    return false;
  double limit = !sums ? p->cap : pools ? p->cap / (double)count : sqrt(p->cap / (double)count);
  if (limit < 1)
    return false;
  x = valueBound(p, x, limit);
  int f = pools ? -1 : valueNeed(p, filterType, limit);
  if (f >= 0 && quantized && at(p, f)->fuzzy)
    return false;
  if (quantized || isUnsigned)
    x = toIntegers(p, x, element, isUnsigned);
  if (quantized)
    f = toIntegers(p, f, element, false);
  if (pools) {
    filterType.element = element;
    f = valueEmpty(p, filterType);
  }
  int out = isUnsigned  ? valueFill(p, result, least ? "1000" : "0", 0)
            : quantized ? valueFill(p, result, "0", 0)
                        : valueStart(p, result,
                                     sums    ? 0
                                     : least ? 2
                                             : 1);
  double each = quantized ? 9 * 9 : pools ? at(p, x)->bound : at(p, x)->bound * at(p, f)->bound;
  bool fuzzy = at(p, x)->fuzzy || (!pools && at(p, f)->fuzzy);
  char attributes[160] = "", zeros[64] = "", zeroTypes[16] = "", strides[64] = "";
  if (!plain) {
    size_t n = 0;
    for (int s = 0; s < spatial; ++s)
      n +=
          (size_t)snprintf(strides + n, sizeof strides - n, "%s%" PRId64, s ? ", " : "", stride[s]);
    snprintf(attributes, sizeof attributes,
             " {dilations = dense<1> : tensor<%dxi64>, strides = dense<[%s]> : tensor<%dxi64>}",
             spatial, strides, spatial);
  }
  if (quantized) {
    int one = scalarConstant(p, I32, "1"), two = scalarConstant(p, I32, "-2");
    snprintf(zeros, sizeof zeros, ", %%c%d, %%c%d", one, two);
    snprintf(zeroTypes, sizeof zeroTypes, ", i32, i32");
  }
  int r = valueAdd(p, result, sums ? each * (double)count : at(p, x)->bound, fuzzy);
  lineAdd(p, "%%v%d = %s%s ins(%%v%d, %%v%d%s : %s, %s%s) outs(%%v%d : %s) -> %s", at(p, r)->id,
          row, attributes, idOf(p, x), idOf(p, f), zeros, T(p, x), T(p, f), zeroTypes, idOf(p, out),
          typeText(&result), typeText(&result));
  valueAnnotate(p, r);
  if (!elementIsReal(result.element))
    fromIntegers(p, r);
  return true;
}

/// "linalg.div_unsigned": by something that is not zero.
bool makeDivUnsigned(Program *p, const char *row) {
  int x = valuePick(p, 1, 4);
  if (x < 0 || at(p, x)->fuzzy)
    return false;
  x = toIntegers(p, x, I32, true);
  Type type = at(p, x)->type;
  int by = valueFill(p, type, "3", 3), e = valueEmpty(p, type);
  int r = valueAdd(p, type, at(p, x)->bound, false);
  lineAdd(p, "%%v%d = %s ins(%%v%d, %%v%d : %s, %s) outs(%%v%d : %s) -> %s", at(p, r)->id, row,
          idOf(p, x), idOf(p, by), T(p, x), T(p, x), idOf(p, e), T(p, x), T(p, x));
  valueAnnotate(p, r);
  fromIntegers(p, r);
  return true;
}

/// One element taken out, put in, or several made a tensor.
bool makeScalar(Program *p, const char *row) {
  int x = valuePick(p, 1, 3);
  if (x < 0)
    return false;
  x = valueBound(p, x, p->cap / 4);
  Type type = at(p, x)->type;
  char indices[96] = "";
  size_t n = 0;
  for (int d = 0; d < type.rank; ++d) {
    int id = p->nextId++;
    lineAdd(p, "%%c%d = arith.constant %d : index", id, draw(p->draws, (int)type.shape[d]));
    n += (size_t)snprintf(indices + n, sizeof indices - n, "%s%%c%d", d ? ", " : "", id);
  }
  int scalar = p->nextId++, r;
  lineAdd(p, "%%c%d = tensor.extract %%v%d[%s] : %s", scalar, idOf(p, x), indices, typeText(&type));
  used(p, "tensor.extract");
  double bound = at(p, x)->bound;
  bool fuzzy = at(p, x)->fuzzy;
  if (ends(row, "insert")) {
    int y = valueNeed(p, type, p->cap);
    r = valueAdd(p, type, fmax(bound, at(p, y)->bound), fuzzy || at(p, y)->fuzzy);
    lineAdd(p, "%%v%d = tensor.insert %%c%d into %%v%d[%s] : %s", at(p, r)->id, scalar, idOf(p, y),
            indices, typeText(&type));
  } else if (ends(row, "from_elements")) {
    int64_t two = 2;
    Type pair = typeOf(p->element, 1, &two);
    int constant = scalarConstant(p, p->element, "1.0");
    r = valueAdd(p, pair, fmax(bound, 1), fuzzy);
    lineAdd(p, "%%v%d = tensor.from_elements %%c%d, %%c%d : %s", at(p, r)->id, scalar, constant,
            typeText(&pair));
  } else {
    int many = valueAdd(p, type, bound, fuzzy);
    lineAdd(p, "%%v%d = tensor.splat %%c%d : %s", at(p, many)->id, scalar, typeText(&type));
    used(p, "tensor.splat");
    r = valueAdd(p, type, 2 * bound, fuzzy);
    lineAdd(p, "%%v%d = arith.addf %%v%d, %%v%d : %s", at(p, r)->id, idOf(p, many), idOf(p, x),
            typeText(&type));
    used(p, "arith.* and math.* on tensors");
  }
  valueAnnotate(p, r);
  return true;
}
