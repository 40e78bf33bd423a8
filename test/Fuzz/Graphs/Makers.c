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
  if (isContraction(row))
    return makeContraction;
  if (!strcmp(row, "linalg.div_unsigned"))
    return makeDivUnsigned;
  if (!strcmp(row, "tensor.extract") || !strcmp(row, "tensor.insert") ||
      !strcmp(row, "tensor.from_elements"))
    return makeScalar;
  if (!strncmp(row, "linalg.conv_", 12) || !strncmp(row, "linalg.depthwise_", 17) ||
      !strncmp(row, "linalg.pooling_", 15))
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
  static const char *const others[] = {"func.call", "func.return", "scf.for", "scf.if",
                                       "scf.while"};
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i)
    if (!strcmp(name, others[i]))
      return true; // Generate.c
  return makerOf(name) != NULL;
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

bool makeForm(Program *p) {
  if (!makeGeneric(p, "linalg.generic"))
    return false;
  used(p, "linalg.generic");
  return true;
}
