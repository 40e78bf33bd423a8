//===- Generic.c - linalg.generic in all its forms ----------------*- C -*-===//
#define _GNU_SOURCE

#include "Graph.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const Value *at(const Program *p, int value) { return &p->values[value]; }
static const char *T(const Program *p, int value) { return typeText(&p->values[value].type); }

/// "affine_map<(d0, d1, d2) -> (d2, d0)>" of n loops.
static void mapOf(char *out, size_t outBytes, int n, int rank, const int *loops) {
  size_t length = (size_t)snprintf(out, outBytes, "affine_map<(");
  for (int i = 0; i < n; ++i)
    length += (size_t)snprintf(out + length, outBytes - length, "%sd%d", i ? ", " : "", i);
  length += (size_t)snprintf(out + length, outBytes - length, ") -> (");
  for (int d = 0; d < rank; ++d)
    length += (size_t)snprintf(out + length, outBytes - length, "%sd%d", d ? ", " : "", loops[d]);
  snprintf(out + length, outBytes - length, ")>");
}

static void iteratorsOf(char *out, size_t outBytes, int n, uint32_t reductions) {
  size_t length = 0;
  for (int i = 0; i < n; ++i)
    length += (size_t)snprintf(out + length, outBytes - length, "%s\"%s\"", i ? ", " : "",
                               reductions >> i & 1 ? "reduction" : "parallel");
}

static const int identity[MAX_RANK] = {0, 1, 2, 3, 4, 5};

/// Two operands, the second of some of the dimensions in some order.
static bool makeBroadcasting(Program *p) {
  int x = valuePick(p, 1, 4);
  if (x < 0)
    return false;
  Type type = at(p, x)->type, other = {.element = p->element};
  int loops[MAX_RANK], n = 0;
  for (int d = 0; d < type.rank; ++d)
    if (drawChance(p->draws, 60))
      loops[n++] = d;
  if (n > 1 && drawChance(p->draws, 40)) {
    int swap = loops[0];
    loops[0] = loops[n - 1], loops[n - 1] = swap;
  }
  for (int d = 0; d < n; ++d)
    other.shape[d] = type.shape[loops[d]];
  other.rank = n;
  int kind = draw(p->draws, 4);
  double limit = kind == 1 ? sqrt(p->cap) : p->cap / 2;
  x = valueBound(p, x, limit);
  int y = valueNeed(p, other, limit);
  static const char *const names[] = {"arith.addf", "arith.mulf", "arith.subf", "arith.maximumf"};
  double larger = fmax(at(p, x)->bound, at(p, y)->bound);
  char map[128], whole[128], iterators[128];
  mapOf(map, sizeof map, type.rank, n, loops);
  mapOf(whole, sizeof whole, type.rank, type.rank, identity);
  iteratorsOf(iterators, sizeof iterators, type.rank, 0);
  const char *element = elementText(p->element);
  int e = valueEmpty(p, type);
  int r = valueAdd(p, type, kind == 1 ? larger * larger : 2 * larger,
                   at(p, x)->fuzzy || at(p, y)->fuzzy);
  lineAdd(p,
          "%%v%d = linalg.generic {indexing_maps = [%s, %s, %s], iterator_types = [%s]} ins(%%v%d, "
          "%%v%d : %s, %s) outs(%%v%d : %s) {",
          at(p, r)->id, whole, map, whole, iterators, idOf(p, x), idOf(p, y), T(p, x), T(p, y),
          idOf(p, e), typeText(&type));
  lineAdd(p, "^bb0(%%x: %s, %%y: %s, %%o: %s):", element, element, element);
  lineAdd(p, "  %%r = %s %%x, %%y : %s", names[kind], element);
  lineAdd(p, "  linalg.yield %%r : %s", element);
  lineAdd(p, "} -> %s", typeText(&type));
  valueAnnotate(p, r);
  return true;
}

/// A product of two operands without a loop in common.
static bool makeOuter(Program *p) {
  int x = valuePick(p, 1, 2);
  if (x < 0)
    return false;
  x = valueBound(p, x, sqrt(p->cap));
  Type left = at(p, x)->type;
  int64_t extent = drawExtent(p);
  Type right = typeOf(p->element, 1, &extent), to = left;
  if (typeElements(&left) * extent > MAX_ELEMENTS)
    return false;
  to.shape[to.rank++] = extent;
  int y = valueNeed(p, right, sqrt(p->cap));
  char maps[3][128], iterators[128];
  mapOf(maps[0], 128, to.rank, left.rank, identity);
  mapOf(maps[1], 128, to.rank, 1, &identity[left.rank]);
  mapOf(maps[2], 128, to.rank, to.rank, identity);
  iteratorsOf(iterators, sizeof iterators, to.rank, 0);
  const char *element = elementText(p->element);
  int e = valueEmpty(p, to);
  int r = valueAdd(p, to, at(p, x)->bound * at(p, y)->bound, at(p, x)->fuzzy || at(p, y)->fuzzy);
  lineAdd(p,
          "%%v%d = linalg.generic {indexing_maps = [%s, %s, %s], iterator_types = [%s]} ins(%%v%d, "
          "%%v%d : %s, %s) outs(%%v%d : %s) {",
          at(p, r)->id, maps[0], maps[1], maps[2], iterators, idOf(p, x), idOf(p, y),
          typeText(&left), typeText(&right), idOf(p, e), typeText(&to));
  lineAdd(p, "^bb0(%%x: %s, %%y: %s, %%o: %s):", element, element, element);
  lineAdd(p, "  %%r = arith.mulf %%x, %%y : %s", element);
  lineAdd(p, "  linalg.yield %%r : %s", element);
  lineAdd(p, "} -> %s", typeText(&to));
  valueAnnotate(p, r);
  return true;
}

/// Sum and maximum over some dimensions, one or both, as results of one op.
static bool makeReduction(Program *p) {
  int x = valuePick(p, 1, 4);
  if (x < 0)
    return false;
  Type to = {.element = p->element};
  uint32_t reduced = 0;
  int loops[MAX_RANK], n = 0;
  double count = 1;
  int certain = draw(p->draws, at(p, x)->type.rank);
  for (int d = 0; d < at(p, x)->type.rank; ++d) {
    if (d == certain || drawChance(p->draws, 30)) {
      reduced |= 1u << d;
      count *= (double)at(p, x)->type.shape[d];
    } else {
      to.shape[n] = at(p, x)->type.shape[d];
      loops[n++] = d;
    }
  }
  to.rank = n;
  if (p->cap / count < 1)
    return false;
  x = valueBound(p, x, p->cap / count);
  Type type = at(p, x)->type;
  int kind = draw(p->draws, 4); // sum, maximum, minimum, sum and maximum
  static const char *const names[] = {"arith.addf", "arith.maximumf", "arith.minimumf"};
  int first = kind == 3 ? 0 : kind, out = valueStart(p, to, first);
  int out2 = kind == 3 ? valueStart(p, to, 1) : -1;
  double bound = at(p, x)->bound;
  bool fuzzy = at(p, x)->fuzzy;
  int r = valueAdd(p, to, first == 0 ? bound * count : bound, fuzzy);
  int r2 = kind == 3 ? valueAdd(p, to, bound, fuzzy) : -1;
  char whole[128], map[128], iterators[128];
  mapOf(whole, sizeof whole, type.rank, type.rank, identity);
  mapOf(map, sizeof map, type.rank, n, loops);
  iteratorsOf(iterators, sizeof iterators, type.rank, reduced);
  const char *element = elementText(p->element), *result = typeText(&to);
  if (kind == 3) {
    lineAdd(p,
            "%%v%d, %%v%d = linalg.generic {indexing_maps = [%s, %s, %s], iterator_types = [%s]} "
            "ins(%%v%d : %s) outs(%%v%d, %%v%d : %s, %s) {",
            at(p, r)->id, at(p, r2)->id, whole, map, map, iterators, idOf(p, x), T(p, x),
            idOf(p, out), idOf(p, out2), result, result);
    lineAdd(p, "^bb0(%%x: %s, %%o: %s, %%m: %s):", element, element, element);
    lineAdd(p, "  %%r = arith.addf %%o, %%x : %s", element);
    lineAdd(p, "  %%n = arith.maximumf %%m, %%x : %s", element);
    lineAdd(p, "  linalg.yield %%r, %%n : %s, %s", element, element);
    lineAdd(p, "} -> (%s, %s)", result, result);
    valueAnnotate(p, r2);
  } else {
    lineAdd(p,
            "%%v%d = linalg.generic {indexing_maps = [%s, %s], iterator_types = [%s]} ins(%%v%d : "
            "%s) outs(%%v%d : %s) {",
            at(p, r)->id, whole, map, iterators, idOf(p, x), T(p, x), idOf(p, out), result);
    lineAdd(p, "^bb0(%%x: %s, %%o: %s):", element, element);
    lineAdd(p, "  %%r = %s %%x, %%o : %s", names[kind], element);
    lineAdd(p, "  linalg.yield %%r : %s", element);
    lineAdd(p, "} -> %s", result);
    valueAnnotate(p, r);
  }
  return true;
}

/// The largest of a row and where it is: value and index in one op, ties to the first.
static bool makeArgMax(Program *p) {
  int x = valuePick(p, 1, 3);
  if (x < 0 || at(p, x)->fuzzy)
    return false;
  Type type = at(p, x)->type;
  int d = draw(p->draws, type.rank), loops[MAX_RANK] = {0}, n = 0;
  for (int i = 0; i < type.rank; ++i)
    if (i != d)
      loops[n++] = i;
  Type to = typeDrop(type, d), place = to;
  place.element = I64;
  int out = valueStart(p, to, 1), none = valueFill(p, place, "0", 0);
  int r = valueAdd(p, to, at(p, x)->bound, false),
      k = valueAdd(p, place, (double)type.shape[d], false);
  char whole[128], map[128], iterators[128];
  mapOf(whole, sizeof whole, type.rank, type.rank, identity);
  mapOf(map, sizeof map, type.rank, n, loops);
  iteratorsOf(iterators, sizeof iterators, type.rank, 1u << d);
  const char *element = elementText(p->element);
  lineAdd(p,
          "%%v%d, %%v%d = linalg.generic {indexing_maps = [%s, %s, %s], iterator_types = [%s]} "
          "ins(%%v%d : %s) outs(%%v%d, %%v%d : %s, %s) {",
          at(p, r)->id, at(p, k)->id, whole, map, map, iterators, idOf(p, x), T(p, x), idOf(p, out),
          idOf(p, none), typeText(&to), typeText(&place));
  lineAdd(p, "^bb0(%%x: %s, %%o: %s, %%k: i64):", element, element);
  lineAdd(p, "  %%i = linalg.index %d : index", d);
  lineAdd(p, "  %%j = arith.index_cast %%i : index to i64");
  lineAdd(p, "  %%m = arith.maximumf %%x, %%o : %s", element);
  lineAdd(p, "  %%c = arith.cmpf ogt, %%x, %%o : %s", element);
  lineAdd(p, "  %%n = arith.select %%c, %%j, %%k : i64");
  lineAdd(p, "  linalg.yield %%m, %%n : %s, i64", element);
  lineAdd(p, "} -> (%s, %s)", typeText(&to), typeText(&place));
  valueAnnotate(p, r);
  valueAnnotate(p, k);
  return true;
}

/// Positions: added, or compared to mask the upper triangle.
static bool makeIndexed(Program *p) {
  int x = valuePick(p, 1, 4);
  if (x < 0)
    return false;
  x = valueBound(p, x, p->cap / 4);
  Type type = at(p, x)->type;
  int d = draw(p->draws, type.rank), other = draw(p->draws, type.rank);
  bool masks = type.rank > 1 && other != d && drawChance(p->draws, 60);
  char whole[128], iterators[128];
  mapOf(whole, sizeof whole, type.rank, type.rank, identity);
  iteratorsOf(iterators, sizeof iterators, type.rank, 0);
  const char *element = elementText(p->element);
  if (!masks && at(p, x)->bound + (double)type.shape[d] > p->cap)
    return false;
  int constant = scalarConstant(p, p->element, "-4.0"), e = valueEmpty(p, type);
  int r = valueAdd(p, type, at(p, x)->bound + (masks ? 4 : (double)type.shape[d]), at(p, x)->fuzzy);
  lineAdd(
      p,
      "%%v%d = linalg.generic {indexing_maps = [%s, %s], iterator_types = [%s]} ins(%%v%d : %s) "
      "outs(%%v%d : %s) {",
      at(p, r)->id, whole, whole, iterators, idOf(p, x), T(p, x), idOf(p, e), typeText(&type));
  lineAdd(p, "^bb0(%%x: %s, %%o: %s):", element, element);
  lineAdd(p, "  %%i = linalg.index %d : index", d);
  if (masks) {
    lineAdd(p, "  %%j = linalg.index %d : index", other);
    lineAdd(p, "  %%m = arith.cmpi sle, %%i, %%j : index");
    lineAdd(p, "  %%r = arith.select %%m, %%x, %%c%d : %s", constant, element);
  } else {
    lineAdd(p, "  %%j = arith.index_cast %%i : index to i64");
    lineAdd(p, "  %%f = arith.sitofp %%j : i64 to %s", element);
    lineAdd(p, "  %%r = arith.addf %%x, %%f : %s", element);
  }
  lineAdd(p, "  linalg.yield %%r : %s", element);
  lineAdd(p, "} -> %s", typeText(&type));
  valueAnnotate(p, r);
  return true;
}

/// A table read by loop indices in another order, or rows of it by data.
static bool makeExtract(Program *p) {
  int x = valuePick(p, 2, 2);
  if (x < 0)
    return false;
  Type table = at(p, x)->type, to = table;
  bool byData = drawChance(p->draws, 60);
  int ids = -1;
  char whole[128], map[128], iterators[128];
  if (byData) {
    int64_t rows = drawExtent(p);
    if (rows * table.shape[1] > MAX_ELEMENTS)
      return false;
    Type index = typeOf(I64, 1, &rows);
    ids = argumentAdd(p, index, NULL);
    if (ids < 0)
      return false;
    to.shape[0] = rows;
  } else {
    to.shape[0] = table.shape[1], to.shape[1] = table.shape[0];
  }
  mapOf(whole, sizeof whole, 2, 2, identity);
  mapOf(map, sizeof map, 2, 1, identity);
  iteratorsOf(iterators, sizeof iterators, 2, 0);
  const char *element = elementText(p->element);
  int e = valueEmpty(p, to), r = valueAdd(p, to, at(p, x)->bound, at(p, x)->fuzzy);
  if (byData) {
    lineAdd(p,
            "%%v%d = linalg.generic {indexing_maps = [%s, %s], iterator_types = [%s]} ins(%%v%d : "
            "%s) outs(%%v%d : %s) {",
            at(p, r)->id, map, whole, iterators, idOf(p, ids), T(p, ids), idOf(p, e),
            typeText(&to));
    lineAdd(p, "^bb0(%%x: i64, %%o: %s):", element);
    lineAdd(p, "  %%i = arith.index_cast %%x : i64 to index");
    lineAdd(p, "  %%j = linalg.index 1 : index");
  } else {
    lineAdd(
        p,
        "%%v%d = linalg.generic {indexing_maps = [%s], iterator_types = [%s]} outs(%%v%d : %s) {",
        at(p, r)->id, whole, iterators, idOf(p, e), typeText(&to));
    lineAdd(p, "^bb0(%%o: %s):", element);
    lineAdd(p, "  %%j = linalg.index 0 : index");
    lineAdd(p, "  %%i = linalg.index 1 : index");
  }
  lineAdd(p, "  %%r = tensor.extract %%v%d[%%i, %%j] : %s", idOf(p, x), typeText(&table));
  lineAdd(p, "  linalg.yield %%r : %s", element);
  lineAdd(p, "} -> %s", typeText(&to));
  valueAnnotate(p, r);
  return true;
}

/// Heads that share a key: the second operand read at `h floordiv group`; or pieces of a dimension,
/// `d0 * s + d1`, contracted.
static bool makeGrouped(Program *p) {
  int x = valuePick(p, 2, 2);
  if (x < 0)
    return false;
  Type type = at(p, x)->type;
  int64_t group = 0;
  for (int64_t k = 2; k <= type.shape[0] && !group; ++k)
    if (type.shape[0] % k == 0)
      group = k;
  if (!group)
    return false;
  const char *element = elementText(p->element);
  if (drawChance(p->draws, 50)) {
    Type small = type, *to = &type;
    small.shape[0] /= group;
    x = valueBound(p, x, p->cap / 2);
    int y = valueNeed(p, small, p->cap / 2), e = valueEmpty(p, *to);
    int r = valueAdd(p, *to, at(p, x)->bound + at(p, y)->bound, at(p, x)->fuzzy || at(p, y)->fuzzy);
    lineAdd(p,
            "%%v%d = linalg.generic {indexing_maps = [affine_map<(h, s) -> (h, s)>, affine_map<(h, "
            "s) -> (h floordiv %" PRId64 ", s)>, affine_map<(h, s) -> (h, s)>], iterator_types = "
            "[\"parallel\", \"parallel\"]} ins(%%v%d, %%v%d : %s, %s) outs(%%v%d : %s) {",
            at(p, r)->id, group, idOf(p, x), idOf(p, y), T(p, x), T(p, y), idOf(p, e),
            typeText(to));
    lineAdd(p, "^bb0(%%x: %s, %%y: %s, %%o: %s):", element, element, element);
    lineAdd(p, "  %%r = arith.addf %%x, %%y : %s", element);
    lineAdd(p, "  linalg.yield %%r : %s", element);
    lineAdd(p, "} -> %s", typeText(to));
    valueAnnotate(p, r);
    return true;
  }
  double limit = sqrt(p->cap / (double)group);
  if (limit < 1)
    return false;
  x = valueBound(p, x, limit);
  int64_t extent = drawExtent(p), sizes[2] = {group, extent},
          shape[3] = {type.shape[0] / group, type.shape[1], extent};
  Type weight = typeOf(p->element, 2, sizes), to = typeOf(p->element, 3, shape);
  if (typeElements(&to) > MAX_ELEMENTS)
    return false;
  int y = valueNeed(p, weight, limit), out = valueFill(p, to, "0.0", 0);
  int r = valueAdd(p, to, at(p, x)->bound * at(p, y)->bound * (double)group,
                   at(p, x)->fuzzy || at(p, y)->fuzzy);
  lineAdd(p,
          "%%v%d = linalg.generic {indexing_maps = [affine_map<(q, c, f, i) -> (q * %" PRId64
          " + i, c)>, affine_map<(q, c, f, i) -> (i, f)>, affine_map<(q, c, f, i) -> (q, c, f)>], "
          "iterator_types = [\"parallel\", \"parallel\", \"parallel\", \"reduction\"]} ins(%%v%d, "
          "%%v%d : %s, %s) outs(%%v%d : %s) {",
          at(p, r)->id, group, idOf(p, x), idOf(p, y), T(p, x), T(p, y), idOf(p, out),
          typeText(&to));
  lineAdd(p, "^bb0(%%x: %s, %%y: %s, %%o: %s):", element, element, element);
  lineAdd(p, "  %%m = arith.mulf %%x, %%y : %s", element);
  lineAdd(p, "  %%r = arith.addf %%m, %%o : %s", element);
  lineAdd(p, "  linalg.yield %%r : %s", element);
  lineAdd(p, "} -> %s", typeText(&to));
  valueAnnotate(p, r);
  return true;
}

/// To integers and back, summed on the way.
static bool makeInteger(Program *p) {
  int x = valuePick(p, 1, 4);
  if (x < 0 || at(p, x)->fuzzy)
    return false;
  Type type = at(p, x)->type, whole = type;
  whole.element = drawChance(p->draws, 50) ? I32 : I64;
  int d = draw(p->draws, type.rank);
  double count = (double)type.shape[d];
  x = valueBound(p, x, fmin(p->cap / count, 1e6));
  int k = valueAdd(p, whole, at(p, x)->bound, false);
  lineAdd(p, "%%v%d = arith.fptosi %%v%d : %s to %s", at(p, k)->id, idOf(p, x), typeText(&type),
          typeText(&whole));
  used(p, "arith.* and math.* on tensors");
  valueAnnotate(p, k);
  Type sum = typeDrop(whole, d), back = typeDrop(type, d);
  int out = valueFill(p, sum, "0", 0), r = valueAdd(p, sum, at(p, x)->bound * count, false);
  static const char *const combiners[] = {"arith.addi", "arith.maxsi", "arith.minsi", "arith.xori"};
  lineAdd(p, "%%v%d = linalg.reduce { %s } ins(%%v%d : %s) outs(%%v%d : %s) dimensions = [%d]",
          at(p, r)->id, combiners[draw(p->draws, 4)], idOf(p, k), typeText(&whole), idOf(p, out),
          typeText(&sum), d);
  used(p, "linalg.reduce");
  valueAnnotate(p, r);
  if (back.rank > 0 && drawChance(p->draws, 60)) {
    // What xor makes is below the next power of two, with a sign.
    double bound = 2 * at(p, x)->bound * count;
    if (bound > p->cap)
      return true;
    int f = valueAdd(p, back, bound, false);
    lineAdd(p, "%%v%d = arith.sitofp %%v%d : %s to %s", at(p, f)->id, idOf(p, r), typeText(&sum),
            typeText(&back));
    valueAnnotate(p, f);
  }
  return true;
}

bool makeGeneric(Program *p, const char *row) {
  (void)row;
  static bool (*const forms[])(Program *) = {
      makeBroadcasting, makeReduction,  makeOuter,  makeIndexed, makeExtract, makeGrouped,
      makeArgMax,       makeRunningSum, makeTurned, makeTruth,   makeInteger};
  return forms[draw(p->draws, sizeof forms / sizeof *forms)](p);
}
