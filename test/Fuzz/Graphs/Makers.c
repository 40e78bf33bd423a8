//===- Makers.c - Named ops of the op table -----------------------*- C -*-===//
// A maker writes one op of a row, with what it needs in front of it.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE

#include "Graph.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef bool (*Maker)(Program *p, const char *row);

static const Value *at(const Program *p, int value) { return &p->values[value]; }

static bool ends(const char *row, const char *name) {
  size_t n = strlen(row), m = strlen(name);
  return n >= m && !strcmp(row + n - m, name);
}

static const char *T(const Program *p, int value) { return typeText(&p->values[value].type); }

/// A new result, written by the caller with its id.
static int finish(Program *p, int result) {
  valueAnnotate(p, result);
  return result;
}

/// Numbers of [0, n) as "0, 1, 2", through a function.
static void list(char *out, size_t outBytes, int n, const int64_t *numbers) {
  size_t length = 0;
  *out = 0;
  for (int i = 0; i < n; ++i)
    length +=
        (size_t)snprintf(out + length, outBytes - length, "%s%" PRId64, i ? ", " : "", numbers[i]);
}

//===----------------------------------------------------------------------===//
// One element at a time
//===----------------------------------------------------------------------===//

/// Where a function is defined and not steep: |x| + 1/2, or x clamped to 4.
static int domain(Program *p, const char *name, int x) {
  static const char *const positive[] = {"log", "reciprocal", "sqrt", "rsqrt", "div", "powf"};
  for (size_t i = 0; i < sizeof positive / sizeof *positive; ++i) {
    if (!ends(name, positive[i]))
      continue;
    Type type = at(p, x)->type;
    int half = valueFill(p, type, "0.5", 1);
    int size = valueAdd(p, type, at(p, x)->bound, at(p, x)->fuzzy);
    lineAdd(p, "%%v%d = math.absf %%v%d : %s", at(p, size)->id, idOf(p, x), typeText(&type));
    int result = valueAdd(p, type, at(p, x)->bound + 1, at(p, x)->fuzzy);
    lineAdd(p, "%%v%d = arith.addf %%v%d, %%v%d : %s", at(p, result)->id, idOf(p, size),
            idOf(p, half), typeText(&type));
    used(p, "arith.* and math.* on tensors");
    return result;
  }
  return ends(name, "exp") ? valueBound(p, x, 4) : x;
}

typedef struct Function {
  const char *name;   // of linalg's op and of the op on tensors
  const char *scalar; // arith's or math's
  bool rounds, steps; // its bits depend on a rounding; it has steps
  double growth;      // bound of the result for |x| <= bound, times the bound
  double constant;    // or at most this
} Function;

static const Function unaries[] = {
    {"exp", "math.exp", true, false, 0, 64},    {"log", "math.log", true, false, 0, 32},
    {"abs", "math.absf", false, false, 1, 0},   {"ceil", "math.ceil", false, true, 1, 1},
    {"floor", "math.floor", false, true, 1, 1}, {"negf", "arith.negf", false, false, 1, 0},
    {"reciprocal", NULL, true, false, 0, 2},    {"round", "math.round", false, true, 1, 1},
    {"sqrt", "math.sqrt", true, false, 1, 1},   {"rsqrt", "math.rsqrt", true, false, 0, 2},
    {"tanh", "math.tanh", true, false, 0, 1},   {"erf", "math.erf", true, false, 0, 1},
};
static const Function binaries[] = {
    {"add", "arith.addf", false, false, 2, 0},     {"sub", "arith.subf", false, false, 2, 0},
    {"max", "arith.maximumf", false, false, 1, 0}, {"min", "arith.minimumf", false, false, 1, 0},
    {"mul", "arith.mulf", false, false, -1, 0},    {"div", "arith.divf", true, false, 2, 2},
    {"powf", "math.powf", true, false, 0, 100},
};
enum {
  nUnaries = sizeof unaries / sizeof *unaries,
  nBinaries = sizeof binaries / sizeof *binaries
};

static const Function *findFunction(const Function *table, int n, const char *row) {
  for (int i = 0; i < n; ++i)
    if (!strcmp(strchr(row, '.') + 1, table[i].name))
      return &table[i];
  return NULL;
}

static bool allowed(const Program *p, const Function *f, int x) {
  return !(f->rounds && p->exact) && !(f->steps && at(p, x)->fuzzy);
}

static bool makeUnary(Program *p, const char *row) {
  if (ends(row, ".square")) {
    int x = valuePick(p, 1, 4);
    if (x < 0)
      return false;
    x = valueBound(p, x, sqrt(p->cap));
    int e = valueEmpty(p, at(p, x)->type),
        r = valueAdd(p, at(p, x)->type, at(p, x)->bound * at(p, x)->bound, at(p, x)->fuzzy);
    lineAdd(p, "%%v%d = linalg.square ins(%%v%d : %s) outs(%%v%d : %s) -> %s", at(p, r)->id,
            idOf(p, x), T(p, x), idOf(p, e), T(p, x), T(p, x));
    return finish(p, r) >= 0;
  }
  const Function *f = findFunction(unaries, nUnaries, row);
  int x = valuePick(p, 1, 4);
  if (x < 0 || !allowed(p, f, x))
    return false;
  x = domain(p, f->name, x);
  int e = valueEmpty(p, at(p, x)->type);
  int r = valueAdd(p, at(p, x)->type, at(p, x)->bound * f->growth + f->constant,
                   at(p, x)->fuzzy || f->rounds);
  lineAdd(p, "%%v%d = %s ins(%%v%d : %s) outs(%%v%d : %s) -> %s", at(p, r)->id, row, idOf(p, x),
          T(p, x), idOf(p, e), T(p, x), T(p, x));
  return finish(p, r) >= 0;
}

/// Operands of a binary function, within bounds; false: not here.
static bool pickTwo(Program *p, const Function *f, int *x, int *y, double *bound) {
  *x = valuePick(p, 1, 4);
  if (*x < 0 || !allowed(p, f, *x))
    return false;
  double limit = f->growth < 0 ? sqrt(p->cap) : p->cap / 2;
  *x = valueBound(p, *x, limit);
  *y = valueNeed(p, at(p, *x)->type, limit);
  if (*y == *x && ends(f->name, "sub")) // nothing would be left
    *y = valueFill(p, at(p, *x)->type, "2.0", 2);
  if (f->rounds)
    *y = domain(p, f->name, *y);
  if (ends(f->name, "powf")) { // a base of any sign has no power
    *x = valueBound(p, domain(p, f->name, *x), 4);
    *y = valueBound(p, *y, 2);
  }
  double larger = fmax(at(p, *x)->bound, at(p, *y)->bound);
  *bound = f->growth < 0 ? larger * larger : larger * f->growth + f->constant;
  return true;
}

static bool makeBinary(Program *p, const char *row) {
  const Function *f = findFunction(binaries, nBinaries, row);
  int x, y;
  double bound;
  if (!pickTwo(p, f, &x, &y, &bound))
    return false;
  int e = valueEmpty(p, at(p, x)->type);
  int r = valueAdd(p, at(p, x)->type, bound, at(p, x)->fuzzy || at(p, y)->fuzzy || f->rounds);
  lineAdd(p, "%%v%d = %s ins(%%v%d, %%v%d : %s, %s) outs(%%v%d : %s) -> %s", at(p, r)->id, row,
          idOf(p, x), idOf(p, y), T(p, x), T(p, x), idOf(p, e), T(p, x), T(p, x));
  return finish(p, r) >= 0;
}

/// linalg.map, linalg.elementwise, and the ops of arith and math on tensors.
static bool makeAny(Program *p, const char *row) {
  const Function *f = &binaries[draw(p->draws, 5)];
  bool unary = drawChance(p->draws, 35);
  if (unary)
    f = &unaries[draw(p->draws, nUnaries)];
  if (!f->scalar)
    return false;
  int x, y = -1;
  double bound = 0;
  if (unary) {
    x = valuePick(p, 1, 4);
    if (x < 0 || !allowed(p, f, x))
      return false;
    x = domain(p, f->name, x);
    bound = at(p, x)->bound * f->growth + f->constant;
  } else if (!pickTwo(p, f, &x, &y, &bound)) {
    return false;
  }
  bool fuzzy = at(p, x)->fuzzy || f->rounds || (y >= 0 && at(p, y)->fuzzy);
  char operands[160], other[128] = "";
  if (y >= 0)
    snprintf(other, sizeof other, ", %%v%d", idOf(p, y));
  snprintf(operands, sizeof operands, "%%v%d%s", idOf(p, x), other);
  if (ends(row, "tensors")) {
    int r = valueAdd(p, at(p, x)->type, bound, fuzzy);
    lineAdd(p, "%%v%d = %s %s : %s", at(p, r)->id, f->scalar, operands, T(p, x));
    return finish(p, r) >= 0;
  }
  int e = valueEmpty(p, at(p, x)->type);
  int r = valueAdd(p, at(p, x)->type, bound, fuzzy);
  snprintf(other, sizeof other, "%s%s%s", T(p, x), y >= 0 ? ", " : "", y >= 0 ? T(p, x) : "");
  if (ends(row, ".map")) {
    lineAdd(p, "%%v%d = linalg.map { %s } ins(%s : %s) outs(%%v%d : %s)", at(p, r)->id, f->scalar,
            operands, other, idOf(p, e), T(p, x));
  } else {
    const char *kind = !strcmp(f->name, "max")   ? "max_signed"
                       : !strcmp(f->name, "min") ? "min_signed"
                                                 : f->name;
    lineAdd(
        p,
        "%%v%d = linalg.elementwise kind=#linalg.elementwise_kind<%s> ins(%s : %s) outs(%%v%d : "
        "%s) -> %s",
        at(p, r)->id, kind, operands, other, idOf(p, e), T(p, x), T(p, x));
  }
  return finish(p, r) >= 0;
}

static bool makeSelect(Program *p, const char *row) {
  int x = valuePick(p, 1, 4);
  if (x < 0 || at(p, x)->fuzzy)
    return false;
  int y = valueNeed(p, at(p, x)->type, p->cap);
  Type bits = at(p, x)->type;
  bits.element = I1;
  if (at(p, y)->fuzzy)
    return false;
  int condition = valueAdd(p, bits, 1, false);
  lineAdd(p, "%%v%d = arith.cmpf olt, %%v%d, %%v%d : %s", at(p, condition)->id, idOf(p, x),
          idOf(p, y), T(p, x));
  used(p, "arith.* and math.* on tensors");
  int z = valueNeed(p, at(p, x)->type, p->cap);
  int e = valueEmpty(p, at(p, x)->type);
  int r = valueAdd(p, at(p, x)->type, fmax(at(p, x)->bound, at(p, z)->bound), at(p, z)->fuzzy);
  lineAdd(p, "%%v%d = %s ins(%%v%d, %%v%d, %%v%d : %s, %s, %s) outs(%%v%d : %s) -> %s",
          at(p, r)->id, row, idOf(p, condition), idOf(p, z), idOf(p, x), typeText(&bits), T(p, x),
          T(p, x), idOf(p, e), T(p, x), T(p, x));
  return finish(p, r) >= 0;
}

static bool makeCopy(Program *p, const char *row) {
  int x = valuePick(p, 1, 5);
  if (x < 0)
    return false;
  if (ends(row, "cast")) {
    int r = valueAdd(p, at(p, x)->type, at(p, x)->bound, at(p, x)->fuzzy);
    lineAdd(p, "%%v%d = tensor.cast %%v%d : %s to %s", at(p, r)->id, idOf(p, x), T(p, x), T(p, x));
    return finish(p, r) >= 0;
  }
  int e = valueEmpty(p, at(p, x)->type);
  int r = valueAdd(p, at(p, x)->type, at(p, x)->bound, at(p, x)->fuzzy);
  lineAdd(p, "%%v%d = linalg.copy ins(%%v%d : %s) outs(%%v%d : %s) -> %s", at(p, r)->id, idOf(p, x),
          T(p, x), idOf(p, e), T(p, x), T(p, x));
  return finish(p, r) >= 0;
}

/// Splats and constants, added to something so that they count.
static bool makeSource(Program *p, const char *row) {
  int x = valuePick(p, 1, 4);
  if (x < 0)
    return false;
  x = valueBound(p, x, p->cap / 4);
  Type type = at(p, x)->type;
  if (ends(row, "empty") || ends(row, "fill")) {
    int y = ends(row, "fill") ? valueFill(p, type, "2.0", 2) : valueEmpty(p, type);
    if (ends(row, "empty")) {
      int r = valueAdd(p, type, at(p, x)->bound, at(p, x)->fuzzy);
      lineAdd(p, "%%v%d = linalg.copy ins(%%v%d : %s) outs(%%v%d : %s) -> %s", at(p, r)->id,
              idOf(p, x), typeText(&type), idOf(p, y), typeText(&type), typeText(&type));
      used(p, "linalg.copy");
      return finish(p, r) >= 0;
    }
    int r = valueAdd(p, type, at(p, x)->bound + 2, at(p, x)->fuzzy);
    lineAdd(p, "%%v%d = arith.addf %%v%d, %%v%d : %s", at(p, r)->id, idOf(p, x), idOf(p, y),
            typeText(&type));
    used(p, "arith.* and math.* on tensors");
    return finish(p, r) >= 0;
  }
  int y = valueAdd(p, type, 3, false);
  if (ends(row, "splat")) {
    int constant = scalarConstant(p, type.element, "3.0");
    lineAdd(p, "%%v%d = tensor.splat %%c%d : %s", at(p, y)->id, constant, typeText(&type));
  } else {
    lineAdd(p, "%%v%d = arith.constant dense<-1.0> : %s", at(p, y)->id, typeText(&type));
  }
  valueAnnotate(p, y);
  int r = valueAdd(p, type, at(p, x)->bound + 3, at(p, x)->fuzzy);
  lineAdd(p, "%%v%d = arith.addf %%v%d, %%v%d : %s", at(p, r)->id, idOf(p, y), idOf(p, x),
          typeText(&type));
  used(p, "arith.* and math.* on tensors");
  return finish(p, r) >= 0;
}

//===----------------------------------------------------------------------===//
// Contractions and windows
//===----------------------------------------------------------------------===//

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
    {"linalg.batch_reduce_matmul", "bmk,bkn->mn"},
    {"linalg.dot", "k,k->"},
};
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

static bool makeContraction(Program *p, const char *row) {
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
  if (x < 0)
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
  int operands[2] = {given ? y : x, given ? x : y};
  int out =
      drawChance(p->draws, 15) ? valueNeed(p, types[2], p->cap) : valueFill(p, types[2], "0.0", 0);
  int r = valueAdd(p, types[2], at(p, x)->bound * at(p, y)->bound * count + at(p, out)->bound,
                   at(p, x)->fuzzy || at(p, y)->fuzzy || at(p, out)->fuzzy);
  char maps[420] = "", one[3][128];
  if (!strcmp(row, "linalg.contract")) {
    for (int i = 0; i < 3; ++i)
      mapText(one[i], sizeof one[i], letters, sub[i], rank[i]);
    snprintf(maps, sizeof maps, " indexing_maps = [%s, %s, %s]", one[0], one[1], one[2]);
  }
  lineAdd(p, "%%v%d = %s%s ins(%%v%d, %%v%d : %s, %s) outs(%%v%d : %s) -> %s", at(p, r)->id, row,
          maps, idOf(p, operands[0]), idOf(p, operands[1]), T(p, operands[0]), T(p, operands[1]),
          idOf(p, out), typeText(&types[2]), typeText(&types[2]));
  finish(p, r);
  return true;
}

/// Image, filter and result, a letter a dimension: N batch, H W image, C channels, F filters,
/// M multiplier; h w filter sizes.
typedef struct Window {
  const char *name, *image, *filter, *result;
} Window;
static const Window windows[] = {
    {"linalg.conv_1d_ncw_fcw", "NCW", "FCw", "NFW"},
    {"linalg.conv_1d_nwc_wcf", "NWC", "wCF", "NWF"},
    {"linalg.conv_2d_nchw_fchw", "NCHW", "FChw", "NFHW"},
    {"linalg.conv_2d_nhwc_hwcf", "NHWC", "hwCF", "NHWF"},
    {"linalg.conv_2d_nhwc_fhwc", "NHWC", "FhwC", "NHWF"},
    {"linalg.depthwise_conv_2d_nhwc_hwc", "NHWC", "hwC", "NHWC"},
    {"linalg.depthwise_conv_2d_nhwc_hwcm", "NHWC", "hwCM", "NHWCM"},
    {"linalg.pooling_nhwc_sum", "NHWC", "hw", "NHWC"},
    {"linalg.pooling_nhwc_max", "NHWC", "hw", "NHWC"},
    {"linalg.pooling_nhwc_min", "NHWC", "hw", "NHWC"},
    {"linalg.pooling_nchw_sum", "NCHW", "hw", "NCHW"},
    {"linalg.pooling_nchw_max", "NCHW", "hw", "NCHW"},
};

static bool makeWindow(Program *p, const char *row) {
  const Window *w = NULL;
  for (size_t i = 0; i < sizeof windows / sizeof *windows; ++i)
    if (!strcmp(windows[i].name, row))
      w = &windows[i];
  int rank = (int)strlen(w->image), x = valuePick(p, rank, rank);
  if (x < 0)
    return false;
  int64_t filter[2] = {1 + draw(p->draws, 3), 1 + draw(p->draws, 3)}, stride[2], size[2] = {1, 1};
  int64_t sizes[128] = {0}, count = 1;
  Type type = at(p, x)->type;
  int spatial = 0;
  for (int d = 0; d < rank; ++d) {
    sizes[(int)w->image[d]] = type.shape[d];
    if (w->image[d] == 'H' || w->image[d] == 'W') {
      int s = spatial++;
      if (type.shape[d] < filter[s])
        filter[s] = type.shape[d];
      stride[s] = drawChance(p->draws, 30) ? filter[s] : 1 + draw(p->draws, 2);
      size[s] = (type.shape[d] - filter[s]) / stride[s] + 1;
      sizes[(int)w->image[d]] = size[s];
      sizes[w->image[d] == 'H' ? 'h' : 'w'] = filter[s];
      count *= filter[s];
    }
  }
  sizes['F'] = drawExtent(p);
  sizes['M'] = 1 + draw(p->draws, 3);
  bool pools = strstr(row, "pooling") != NULL, sums = !ends(row, "max") && !ends(row, "min");
  if (!pools && !strstr(row, "depthwise"))
    count *= sizes['C'];
  Type filterType = {.element = p->element, .rank = (int)strlen(w->filter)};
  Type result = {.element = p->element, .rank = (int)strlen(w->result)};
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
  int f = pools ? valueEmpty(p, filterType) : valueNeed(p, filterType, limit);
  int out = valueStart(p, result, sums ? 0 : ends(row, "max") ? 1 : 2);
  double bound =
      !sums ? at(p, x)->bound : at(p, x)->bound * (double)count * (pools ? 1 : at(p, f)->bound);
  int r = valueAdd(p, result, bound, at(p, x)->fuzzy || (!pools && at(p, f)->fuzzy));
  char strides[64];
  if (spatial == 1)
    snprintf(strides, sizeof strides, "dense<%" PRId64 "> : tensor<1xi64>", stride[0]);
  else
    snprintf(strides, sizeof strides, "dense<[%" PRId64 ", %" PRId64 "]> : tensor<2xi64>",
             stride[0], stride[1]);
  lineAdd(p,
          "%%v%d = %s {dilations = dense<1> : tensor<%dxi64>, strides = %s} ins(%%v%d, %%v%d : %s, "
          "%s) outs(%%v%d : %s) -> %s",
          at(p, r)->id, row, spatial, strides, idOf(p, x), idOf(p, f), T(p, x), T(p, f),
          idOf(p, out), typeText(&result), typeText(&result));
  return finish(p, r) >= 0;
}

//===----------------------------------------------------------------------===//
// Reductions, and data that only moves
//===----------------------------------------------------------------------===//

static bool makeReduce(Program *p, const char *row) {
  int x = valuePick(p, 1, 4);
  if (x < 0)
    return false;
  static const char *const combiners[] = {"arith.addf", "arith.maximumf", "arith.minimumf"};
  int kind = draw(p->draws, 3), d = draw(p->draws, at(p, x)->type.rank);
  double count = (double)at(p, x)->type.shape[d];
  if (kind == 0)
    x = valueBound(p, x, p->cap / count);
  Type type = typeDrop(at(p, x)->type, d);
  int out = valueStart(p, type, kind);
  int r = valueAdd(p, type, at(p, x)->bound * (kind ? 1 : count), at(p, x)->fuzzy);
  lineAdd(p, "%%v%d = %s { %s } ins(%%v%d : %s) outs(%%v%d : %s) dimensions = [%d]", at(p, r)->id,
          row, combiners[kind], idOf(p, x), T(p, x), idOf(p, out), typeText(&type), d);
  return finish(p, r) >= 0;
}

static bool makeTranspose(Program *p, const char *row) {
  int x = valuePick(p, 2, 4);
  if (x < 0)
    return false;
  Type type = at(p, x)->type, to = type;
  int64_t order[MAX_RANK];
  for (int d = 0; d < type.rank; ++d)
    order[d] = d;
  for (int d = type.rank - 1; d > 0; --d) {
    int other = d - draw(p->draws, d + 1);
    int64_t swap = order[d];
    order[d] = order[other], order[other] = swap;
  }
  for (int d = 0; d < type.rank; ++d)
    to.shape[d] = type.shape[order[d]];
  char text[64];
  list(text, sizeof text, type.rank, order);
  int e = valueEmpty(p, to), r = valueAdd(p, to, at(p, x)->bound, at(p, x)->fuzzy);
  lineAdd(p, "%%v%d = %s ins(%%v%d : %s) outs(%%v%d : %s) permutation = [%s]", at(p, r)->id, row,
          idOf(p, x), T(p, x), idOf(p, e), typeText(&to), text);
  return finish(p, r) >= 0;
}

static bool makeBroadcast(Program *p, const char *row) {
  int x = valuePick(p, 1, 3);
  if (x < 0)
    return false;
  Type from = at(p, x)->type, to = from;
  int d = draw(p->draws, from.rank + 1), extent = drawExtent(p);
  if (typeElements(&from) * extent > MAX_ELEMENTS)
    return false;
  memmove(to.shape + d + 1, to.shape + d, (size_t)(from.rank - d) * sizeof *to.shape);
  to.shape[d] = extent;
  ++to.rank;
  int e = valueEmpty(p, to), r = valueAdd(p, to, at(p, x)->bound, at(p, x)->fuzzy);
  lineAdd(p, "%%v%d = %s ins(%%v%d : %s) outs(%%v%d : %s) dimensions = [%d]", at(p, r)->id, row,
          idOf(p, x), typeText(&from), idOf(p, e), typeText(&to), d);
  return finish(p, r) >= 0;
}

/// The row is met by what valuePick does when ranks differ.
static bool makeReshape(Program *p, const char *row) {
  int x = valuePick(p, 1, 5);
  if (x < 0)
    return false;
  int rank = at(p, x)->type.rank, before = p->nValues;
  if (ends(row, "expand_shape"))
    x = rank < 5 ? valuePick(p, 3, 5) : -1;
  else
    x = rank > 1 ? valuePick(p, 1, 2) : -1;
  return x >= 0 && p->nValues > before;
}

static bool makeSlice(Program *p, const char *row) {
  int x = valuePick(p, 1, 4);
  if (x < 0)
    return false;
  Type type = at(p, x)->type, part = type;
  int64_t offsets[MAX_RANK] = {0}, strides[MAX_RANK];
  for (int d = 0; d < type.rank; ++d)
    strides[d] = 1;
  bool insert = ends(row, "insert_slice");
  for (int n = 1 + draw(p->draws, 2); n > 0; --n) {
    int d = draw(p->draws, type.rank);
    int64_t size = type.shape[d];
    if (part.shape[d] != size || size < 2)
      continue;
    if (drawChance(p->draws, 40) && size % 2 == 0) { // a half
      part.shape[d] = size / 2;
      offsets[d] = draw(p->draws, 2) * (size / 2);
    } else if (drawChance(p->draws, 20)) { // every second
      strides[d] = 2;
      offsets[d] = draw(p->draws, 2);
      part.shape[d] = (size - offsets[d] + 1) / 2;
    } else {
      part.shape[d] = 1 + draw(p->draws, (int)size);
      offsets[d] = draw(p->draws, (int)(size - part.shape[d]) + 1);
    }
  }
  char at0[64], sizes[64], steps[64];
  list(at0, sizeof at0, type.rank, offsets);
  list(sizes, sizeof sizes, type.rank, part.shape);
  list(steps, sizeof steps, type.rank, strides);
  if (!insert) {
    int r = valueAdd(p, part, at(p, x)->bound, at(p, x)->fuzzy);
    lineAdd(p, "%%v%d = tensor.extract_slice %%v%d[%s] [%s] [%s] : %s to %s", at(p, r)->id,
            idOf(p, x), at0, sizes, steps, typeText(&type), typeText(&part));
    return finish(p, r) >= 0;
  }
  int y = valueNeed(p, part, p->cap);
  int r =
      valueAdd(p, type, fmax(at(p, x)->bound, at(p, y)->bound), at(p, x)->fuzzy || at(p, y)->fuzzy);
  lineAdd(p, "%%v%d = tensor.insert_slice %%v%d into %%v%d[%s] [%s] [%s] : %s into %s",
          at(p, r)->id, idOf(p, y), idOf(p, x), at0, sizes, steps, typeText(&part),
          typeText(&type));
  return finish(p, r) >= 0;
}

static bool makePad(Program *p, const char *row) {
  (void)row;
  int x = valuePick(p, 1, 4);
  if (x < 0)
    return false;
  Type type = at(p, x)->type, to = type;
  int64_t low[MAX_RANK] = {0}, high[MAX_RANK] = {0};
  int d = draw(p->draws, type.rank);
  low[d] = draw(p->draws, 3);
  high[d] = draw(p->draws, 3);
  to.shape[d] += low[d] + high[d];
  if (typeElements(&to) > MAX_ELEMENTS)
    return false;
  char lows[64], highs[64], arguments[96] = "";
  list(lows, sizeof lows, type.rank, low);
  list(highs, sizeof highs, type.rank, high);
  size_t n = 0;
  for (int i = 0; i < type.rank; ++i)
    n += (size_t)snprintf(arguments + n, sizeof arguments - n, "%s%%i%d: index", i ? ", " : "", i);
  int constant = scalarConstant(p, type.element, drawChance(p->draws, 50) ? "2.0" : "0.0");
  int r = valueAdd(p, to, fmax(at(p, x)->bound, 2), at(p, x)->fuzzy);
  lineAdd(p, "%%v%d = tensor.pad %%v%d low[%s] high[%s] {", at(p, r)->id, idOf(p, x), lows, highs);
  lineAdd(p, "^bb0(%s):", arguments);
  lineAdd(p, "  tensor.yield %%c%d : %s", constant, elementText(type.element));
  lineAdd(p, "} : %s to %s", typeText(&type), typeText(&to));
  return finish(p, r) >= 0;
}

static bool makeConcat(Program *p, const char *row) {
  (void)row;
  int x = valuePick(p, 1, 4);
  if (x < 0)
    return false;
  int n = 2 + draw(p->draws, 2), d = draw(p->draws, at(p, x)->type.rank), operands[3] = {x};
  Type to = at(p, x)->type;
  bool equal = drawChance(p->draws, 60);
  double bound = at(p, x)->bound;
  bool fuzzy = at(p, x)->fuzzy;
  for (int i = 1; i < n; ++i) {
    Type type = at(p, x)->type;
    if (!equal)
      type.shape[d] = drawExtent(p);
    if (typeElements(&type) + typeElements(&to) > MAX_ELEMENTS)
      return false;
    operands[i] = valueNeed(p, type, p->cap);
    to.shape[d] += type.shape[d];
    bound = fmax(bound, at(p, operands[i])->bound);
    fuzzy |= at(p, operands[i])->fuzzy;
  }
  Text names = {0}, types = {0};
  for (int i = 0; i < n; ++i) {
    textAppend(&names, "%s%%v%d", i ? ", " : "", idOf(p, operands[i]));
    textAppend(&types, "%s%s", i ? ", " : "", T(p, operands[i]));
  }
  int r = valueAdd(p, to, bound, fuzzy);
  lineAdd(p, "%%v%d = tensor.concat dim(%d) %s : (%s) -> %s", at(p, r)->id, d, names.data,
          types.data, typeText(&to));
  textRelease(&names);
  textRelease(&types);
  return finish(p, r) >= 0;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Every row has a maker, or the suite says that it has none. Calls and returns are made by
/// Generate.c.
static Maker makerOf(const char *row) {
  if (!strcmp(row, "linalg.generic"))
    return makeGeneric;
  if (!strcmp(row, "linalg.map") || !strcmp(row, "linalg.elementwise") || ends(row, "on tensors"))
    return makeAny;
  if (!strcmp(row, "linalg.select"))
    return makeSelect;
  if (!strcmp(row, "linalg.copy") || !strcmp(row, "tensor.cast"))
    return makeCopy;
  if (!strcmp(row, "linalg.fill") || !strcmp(row, "tensor.empty") || !strcmp(row, "tensor.splat") ||
      !strcmp(row, "arith.constant"))
    return makeSource;
  if (!strcmp(row, "linalg.contract"))
    return makeContraction;
  for (size_t i = 0; i < sizeof contractions / sizeof *contractions; ++i)
    if (!strcmp(row, contractions[i].name))
      return makeContraction;
  for (size_t i = 0; i < sizeof windows / sizeof *windows; ++i)
    if (!strcmp(row, windows[i].name))
      return makeWindow;
  if (!strcmp(row, "linalg.reduce"))
    return makeReduce;
  if (!strcmp(row, "linalg.transpose"))
    return makeTranspose;
  if (!strcmp(row, "linalg.broadcast"))
    return makeBroadcast;
  if (!strcmp(row, "tensor.expand_shape") || !strcmp(row, "tensor.collapse_shape"))
    return makeReshape;
  if (!strcmp(row, "tensor.extract_slice") || !strcmp(row, "tensor.insert_slice"))
    return makeSlice;
  if (!strcmp(row, "tensor.pad"))
    return makePad;
  if (!strcmp(row, "tensor.concat"))
    return makeConcat;
  if (!strncmp(row, "linalg.", 7)) {
    if (!strcmp(row, "linalg.square") || findFunction(unaries, nUnaries, row))
      return makeUnary;
    if (findFunction(binaries, nBinaries, row))
      return makeBinary;
  }
  return NULL;
}

bool rowIsMade(int row) {
  const char *name = rowName(row);
  return makerOf(name) || !strcmp(name, "func.call") || !strcmp(name, "func.return");
}

bool opMake(Program *p) {
  drawSpan(p->draws);
  int row = draw(p->draws, rowCount());
  Maker maker = makerOf(rowName(row));
  if (!maker || !maker(p, rowName(row)))
    return false;
  used(p, rowName(row));
  ++p->nOps;
  return true;
}
