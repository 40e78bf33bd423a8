//===- Sequences.c - Ops along a dimension in order ---------------*- C -*-===//
// What exporters write in several ops or under a mask, and the compiler reads as one: running sums,
// values turned along a dimension, steps of a loop that each replace a row.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE

#include "Graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const Value *at(const Program *p, int value) { return &p->values[value]; }

/// "d0, d1, d2" of `rank`, with d`rank` in the place of dimension d.
static void listLoops(char *out, size_t outBytes, int rank, int d) {
  size_t n = 0;
  for (int i = 0; i < rank; ++i)
    n += (size_t)snprintf(out + n, outBytes - n, "%sd%d", i ? ", " : "", i == d ? rank : i);
}

/// A sum over the steps before, up to, or from each step, under a mask of positions.
bool makeRunningSum(Program *p) {
  int x = valuePick(p, 1, 3);
  if (x < 0)
    return false;
  Type type = at(p, x)->type;
  int d = draw(p->draws, type.rank), predicate = draw(p->draws, 4);
  double count = (double)type.shape[d];
  x = valueBound(p, x, p->cap / count);
  static const char *const predicates[] = {"ugt", "uge", "ult", "ule"};
  char loops[64], whole[64], read[64], iterators[96] = "";
  listLoops(whole, sizeof whole, type.rank, -1);
  listLoops(read, sizeof read, type.rank, d);
  listLoops(loops, sizeof loops, type.rank + 1, -1);
  for (int i = 0; i < type.rank; ++i)
    strcat(iterators, "\"parallel\", ");
  const char *element = elementText(p->element);
  int zero = scalarConstant(p, p->element, "0.0"), out = valueFill(p, type, "0.0", 0);
  int r = valueAdd(p, type, at(p, x)->bound * count, at(p, x)->fuzzy);
  lineAdd(p,
          "%%v%d = linalg.generic {indexing_maps = [affine_map<(%s) -> (%s)>, affine_map<(%s) -> "
          "(%s)>], iterator_types = [%s\"reduction\"]} ins(%%v%d : %s) outs(%%v%d : %s) {",
          at(p, r)->id, loops, read, loops, whole, iterators, idOf(p, x), typeText(&type),
          idOf(p, out), typeText(&type));
  lineAdd(p, "^bb0(%%x: %s, %%o: %s):", element, element);
  lineAdd(p, "  %%i = linalg.index %d : index", d);
  lineAdd(p, "  %%j = linalg.index %d : index", type.rank);
  lineAdd(p, "  %%m = arith.cmpi %s, %%j, %%i : index", predicates[predicate]);
  lineAdd(p, "  %%s = arith.select %%m, %%c%d, %%x : %s", zero, element);
  lineAdd(p, "  %%r = arith.addf %%o, %%s : %s", element);
  lineAdd(p, "  linalg.yield %%r : %s", element);
  lineAdd(p, "} -> %s", typeText(&type));
  valueAnnotate(p, r);
  return true;
}

static void writeSlice(Program *p, int x, int result, int d, int64_t offset, int64_t size) {
  Type type = at(p, x)->type, part = type;
  char offsets[96] = "", sizes[96] = "", steps[96] = "";
  part.shape[d] = size;
  for (int i = 0; i < type.rank; ++i) {
    const char *comma = i ? ", " : "";
    size_t n = strlen(offsets), m = strlen(sizes), k = strlen(steps);
    snprintf(offsets + n, sizeof offsets - n, "%s%" PRId64, comma, i == d ? offset : (int64_t)0);
    snprintf(sizes + m, sizeof sizes - m, "%s%" PRId64, comma, part.shape[i]);
    snprintf(steps + k, sizeof steps - k, "%s1", comma);
  }
  lineAdd(p, "%%v%d = tensor.extract_slice %%v%d[%s] [%s] [%s] : %s to %s", at(p, result)->id,
          idOf(p, x), offsets, sizes, steps, typeText(&type), typeText(&part));
  used(p, "tensor.extract_slice");
}

/// Two parts of a dimension changed over, one of them maybe negated: the halves of rotary
/// embedding, or any other turn.
bool makeTurned(Program *p) {
  int x = valuePick(p, 1, 4);
  if (x < 0)
    return false;
  Type type = at(p, x)->type, parts[2] = {type, type};
  int d = draw(p->draws, type.rank);
  int64_t size = type.shape[d];
  if (size < 2)
    return false;
  int64_t cut =
      size % 2 == 0 && drawChance(p->draws, 60) ? size / 2 : 1 + draw(p->draws, (int)size - 1);
  double bound = at(p, x)->bound;
  bool fuzzy = at(p, x)->fuzzy;
  parts[0].shape[d] = size - cut, parts[1].shape[d] = cut;
  int second = valueAdd(p, parts[0], bound, fuzzy), first = valueAdd(p, parts[1], bound, fuzzy);
  writeSlice(p, x, first, d, 0, cut);
  writeSlice(p, x, second, d, cut, size - cut);
  if (drawChance(p->draws, 60)) {
    int negated = valueAdd(p, parts[0], bound, fuzzy);
    lineAdd(p, "%%v%d = arith.negf %%v%d : %s", at(p, negated)->id, idOf(p, second),
            typeText(&parts[0]));
    used(p, "arith.* and math.* on tensors");
    second = negated;
  }
  int r = valueAdd(p, type, bound, fuzzy);
  lineAdd(p, "%%v%d = tensor.concat dim(%d) %%v%d, %%v%d : (%s, %s) -> %s", at(p, r)->id, d,
          idOf(p, second), idOf(p, first), typeText(&parts[0]), typeText(&parts[1]),
          typeText(&type));
  used(p, "tensor.concat");
  valueAnnotate(p, r);
  return true;
}

/// Whether all or any of a row is negative, and back to numbers.
bool makeTruth(Program *p) {
  int x = valuePick(p, 1, 4);
  if (x < 0 || at(p, x)->fuzzy)
    return false;
  Type type = at(p, x)->type, bits = type;
  bits.element = I1;
  int d = draw(p->draws, type.rank);
  bool all = drawChance(p->draws, 50);
  Type to = typeDrop(bits, d), back = typeDrop(type, d);
  int zero = valueFill(p, type, "0.0", 0), b = valueAdd(p, bits, 1, false);
  lineAdd(p, "%%v%d = arith.cmpf olt, %%v%d, %%v%d : %s", at(p, b)->id, idOf(p, x), idOf(p, zero),
          typeText(&type));
  used(p, "arith.* and math.* on tensors");
  int out = valueFill(p, to, all ? "1" : "0", 1), r = valueAdd(p, to, 1, false);
  lineAdd(p,
          "%%v%d = linalg.reduce { arith.%s } ins(%%v%d : %s) outs(%%v%d : %s) dimensions = [%d]",
          at(p, r)->id, all ? "andi" : "ori", idOf(p, b), typeText(&bits), idOf(p, out),
          typeText(&to), d);
  used(p, "linalg.reduce");
  valueAnnotate(p, r);
  if (back.rank == 0)
    return true;
  int f = valueAdd(p, back, 1, false);
  lineAdd(p, "%%v%d = arith.uitofp %%v%d : %s to %s", at(p, f)->id, idOf(p, r), typeText(&to),
          typeText(&back));
  valueAnnotate(p, f);
  return true;
}

/// Two products whose sums are split over one axis, added before they are reduced: what leaves
/// attention and an MLP side by side.
bool makeSumOfProducts(Program *p) {
  int axis = p->nAxes - 1; // never pp alone
  int64_t shape[2][2] = {{drawExtent(p), p->extents[p->nExtents - 1]},
                         {p->extents[p->nExtents - 1], drawExtent(p)}};
  int64_t sum[2] = {shape[0][0], shape[1][1]};
  double count = (double)shape[0][1];
  if (p->cap < 6 * count || p->nArguments > 9)
    return false;
  char split[64];
  snprintf(split, sizeof split, "spmd.sharding = [[\"%s\"], []]", p->axisNames[axis]);
  Type result = typeOf(p->element, 2, sum);
  int terms[2];
  double bound = 0;
  bool fuzzy = false;
  for (int i = 0; i < 2; ++i) {
    int x = valueNeed(p, typeOf(p->element, 2, shape[0]), p->cap / (6 * count));
    int w = argumentAdd(p, typeOf(p->element, 2, shape[1]), split);
    if (w < 0)
      return false;
    int out = valueFill(p, result, "0.0", 0);
    double most = 3 * count * at(p, x)->bound;
    terms[i] = valueAdd(p, result, most, at(p, x)->fuzzy);
    lineAdd(p, "%%v%d = linalg.matmul ins(%%v%d, %%v%d : %s, %s) outs(%%v%d : %s) -> %s",
            at(p, terms[i])->id, idOf(p, x), idOf(p, w), typeText(&at(p, x)->type),
            typeText(&at(p, w)->type), idOf(p, out), typeText(&result), typeText(&result));
    used(p, "linalg.matmul");
    bound += most, fuzzy |= at(p, x)->fuzzy;
  }
  int r = valueAdd(p, result, bound, fuzzy);
  lineAdd(p, "%%v%d = arith.addf %%v%d, %%v%d : %s", at(p, r)->id, idOf(p, terms[0]),
          idOf(p, terms[1]), typeText(&result));
  used(p, "arith.* and math.* on tensors");
  return true;
}

void makeRowLoop(Program *p, int x) {
  Type type = at(p, x)->type, row = type;
  row.shape[0] = 1;
  double bound = at(p, x)->bound;
  int y = valueNeed(p, type, bound);
  bool fuzzy = at(p, x)->fuzzy || at(p, y)->fuzzy;
  int64_t most = type.shape[0] < 3 ? type.shape[0] : 3;
  int low = p->nextId++, high = p->nextId++, step = p->nextId++, last = p->nextId++;
  int carried = p->nextId++, part = p->nextId++, place = p->nextId++, next = p->nextId++;
  char rest[96] = "", sizes[96] = "1", steps[96] = "1";
  for (int d = 1; d < type.rank; ++d) {
    size_t n = strlen(rest), m = strlen(sizes), k = strlen(steps);
    snprintf(rest + n, sizeof rest - n, ", 0");
    snprintf(sizes + m, sizeof sizes - m, ", %" PRId64, type.shape[d]);
    snprintf(steps + k, sizeof steps - k, ", 1");
  }
  lineAdd(p, "%%c%d = arith.constant 0 : index", low);
  lineAdd(p, "%%c%d = arith.constant %d : index", high, 1 + draw(p->draws, (int)most));
  lineAdd(p, "%%c%d = arith.constant 1 : index", step);
  lineAdd(p, "%%c%d = arith.constant %" PRId64 " : index", last, type.shape[0] - 1);
  int r = valueAdd(p, type, bound, fuzzy);
  bool reversed = drawChance(p->draws, 40);
  lineAdd(p, "%%v%d = scf.for %%i%d = %%c%d to %%c%d step %%c%d iter_args(%%v%d = %%v%d) -> (%s) {",
          at(p, r)->id, place, low, high, step, carried, idOf(p, x), typeText(&type));
  if (reversed)
    lineAdd(p, "  %%r%d = arith.subi %%c%d, %%i%d : index", place, last, place);
  lineAdd(p, "  %%v%d = tensor.extract_slice %%v%d[%%i%d%s] [%s] [%s] : %s to %s", part, idOf(p, y),
          place, rest, sizes, steps, typeText(&type), typeText(&row));
  lineAdd(p, "  %%v%d = tensor.insert_slice %%v%d into %%v%d[%%%c%d%s] [%s] [%s] : %s into %s",
          next, part, carried, reversed ? 'r' : 'i', place, rest, sizes, steps, typeText(&row),
          typeText(&type));
  lineAdd(p, "  scf.yield %%v%d : %s", next, typeText(&type));
  lineAdd(p, "}");
  used(p, "scf.for");
  used(p, "tensor.extract_slice");
  used(p, "tensor.insert_slice");
  valueAnnotate(p, r);
}
