//===- Generate.c - A whole random program ------------------------*- C -*-===//
#define _GNU_SOURCE

#include "Graph.h"

#include "shard/Passes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int rowCount(void) { return (int)shardOpsGetCount(); }
const char *rowName(int row) { return shardOpsGetName(row); }

int rowOf(const char *name) {
  for (int i = 0; i < rowCount(); ++i)
    if (!strcmp(rowName(i), name))
      return i;
  return -1;
}

//===----------------------------------------------------------------------===//
// Calls and loops
//===----------------------------------------------------------------------===//

static Value *at(Program *p, int value) { return &p->values[value]; }

int opsMake(Program *p, int n, int made) {
  int last = -1;
  for (int tries = 0; tries < 12 && n > 0; ++tries) {
    int before = p->nValues;
    if (!opMake(p))
      continue;
    --n;
    for (int i = before > made ? before : made; i < p->nValues; ++i)
      if (!p->values[i].shared && p->values[i].type.element == p->element)
        last = i;
  }
  return last;
}

/// Writes a new function over operands like these.
static const Callee *makeCallee(Program *p, int nOperands, const int *operands) {
  if (p->nCallees == 8)
    return NULL;
  Callee callee = {.number = p->nCallees, .nOperands = nOperands};
  Scope scope = {.firstValue = p->nValues, .closed = true}, *outer = p->scope;
  Text signature = {0};
  p->scope = &scope;
  for (int i = 0; i < nOperands; ++i) {
    callee.operands[i] = at(p, operands[i])->type;
    callee.operandBounds[i] = at(p, operands[i])->bound;
    callee.fuzzyOperands[i] = at(p, operands[i])->fuzzy;
    int value = valueAdd(p, callee.operands[i], callee.operandBounds[i], at(p, operands[i])->fuzzy);
    textAppend(&signature, "%s%%v%d: %s", i ? ", " : "", at(p, value)->id,
               typeText(&callee.operands[i]));
  }
  int made = p->nValues, last = opsMake(p, 1 + draw(p->draws, 4), made);
  const Callee *out = NULL;
  if (last >= 0) {
    int results[2] = {last, -1};
    callee.nResults = 1;
    for (int i = made; i < p->nValues && callee.nResults < 2; ++i)
      if (i != last && !at(p, i)->shared && at(p, i)->uses == 0)
        results[callee.nResults++] = i;
    Text types = {0}, names = {0};
    for (int i = 0; i < callee.nResults; ++i) {
      callee.results[i] = at(p, results[i])->type;
      callee.resultBounds[i] = at(p, results[i])->bound;
      callee.fuzzyResults |= at(p, results[i])->fuzzy;
      textAppend(&types, "%s%s", i ? ", " : "", typeText(&callee.results[i]));
      textAppend(&names, "%s%%v%d", i ? ", " : "", at(p, results[i])->id);
    }
    textAppend(&p->functions, "func.func private @f%d(%s) -> (%s) {\n%s  return %s : %s\n}\n",
               callee.number, signature.data ? signature.data : "", types.data, scope.lines.data,
               names.data, types.data);
    textRelease(&types);
    textRelease(&names);
    p->callees[p->nCallees] = callee;
    out = &p->callees[p->nCallees++];
  }
  p->nValues = scope.firstValue;
  p->scope = outer;
  textRelease(&signature);
  textRelease(&scope.lines);
  return out;
}

static bool makeCall(Program *p) {
  const Callee *callee = NULL;
  int operands[4];
  if (p->nCallees && drawChance(p->draws, 60)) { // one that is there, on other values
    callee = &p->callees[draw(p->draws, p->nCallees)];
    for (int i = 0; i < callee->nOperands; ++i) {
      operands[i] = valueNeed(p, callee->operands[i], callee->operandBounds[i]);
      if (at(p, operands[i])->fuzzy && !callee->fuzzyOperands[i])
        return false; // it may have steps
    }
  } else {
    int n = 1 + draw(p->draws, 3);
    for (int i = 0; i < n; ++i) {
      operands[i] = valuePick(p, 1, 4);
      if (operands[i] < 0)
        return false;
    }
    callee = makeCallee(p, n, operands);
  }
  if (!callee)
    return false;
  bool fuzzy = callee->fuzzyResults;
  Text names = {0}, types = {0}, results = {0}, resultTypes = {0};
  for (int i = 0; i < callee->nOperands; ++i) {
    fuzzy |= at(p, operands[i])->fuzzy;
    textAppend(&names, "%s%%v%d", i ? ", " : "", idOf(p, operands[i]));
    textAppend(&types, "%s%s", i ? ", " : "", typeText(&callee->operands[i]));
  }
  int values[2];
  for (int i = 0; i < callee->nResults; ++i) {
    values[i] = valueAdd(p, callee->results[i], callee->resultBounds[i], fuzzy);
    textAppend(&results, "%s%%v%d", i ? ", " : "", at(p, values[i])->id);
    textAppend(&resultTypes, "%s%s", i ? ", " : "", typeText(&callee->results[i]));
  }
  lineAdd(p, "%s = func.call @f%d(%s) : (%s) -> (%s)", results.data, callee->number, names.data,
          types.data, resultTypes.data);
  for (int i = 0; i < callee->nResults; ++i)
    valueAnnotate(p, values[i]);
  textRelease(&names);
  textRelease(&types);
  textRelease(&results);
  textRelease(&resultTypes);
  used(p, "func.call");
  p->hasCall = true;
  return true;
}

int valueBack(Program *p, int carried, int made, double bound) {
  Type type = at(p, carried)->type;
  int back = -1;
  for (int i = made; i < p->nValues; ++i)
    if (!at(p, i)->shared && typeEqual(&at(p, i)->type, &type))
      back = i;
  if (back < 0) {
    int y = valueNeed(p, type, bound);
    back = valueAdd(p, type, 2 * bound, at(p, carried)->fuzzy || at(p, y)->fuzzy);
    lineAdd(p, "%%v%d = arith.addf %%v%d, %%v%d : %s", at(p, back)->id, idOf(p, carried),
            idOf(p, y), typeText(&type));
    used(p, "arith.* and math.* on tensors");
  }
  return valueBound(p, back, bound);
}

/// The lines of a region that takes `carried` and gives back a value of its type within `bound`.
typedef struct Region {
  Text lines;
  int yielded; // id
  bool fuzzy;
} Region;

static Region makeRegion(Program *p, int carried, double bound) {
  Region region = {{0}, 0, false};
  Scope scope = {.firstValue = p->scope->firstValue, .closed = true, .silent = true};
  Scope *outer = p->scope;
  p->scope = &scope;
  int made = p->nValues;
  opsMake(p, 1 + draw(p->draws, 3), made);
  int yielded = valueBack(p, carried, made, bound);
  region.yielded = at(p, yielded)->id;
  region.fuzzy = at(p, yielded)->fuzzy;
  region.lines = scope.lines;
  p->scope = outer;
  return region;
}

static void addRegion(Program *p, Region *region) {
  textAppend(&p->scope->lines, "%s", region->lines.data ? region->lines.data : "");
  textRelease(&region->lines);
}

/// One of two ways, by an element of a tensor.
static bool makeIf(Program *p, int x, double bound) {
  Type type = at(p, x)->type;
  if (at(p, x)->fuzzy)
    return false;
  int mark = p->nValues;
  Region then = makeRegion(p, x, bound);
  p->nValues = mark;
  Region otherwise = makeRegion(p, x, bound);
  p->nValues = mark;
  char indices[96] = "";
  for (int d = 0; d < type.rank; ++d) {
    int id = p->nextId++;
    lineAdd(p, "%%c%d = arith.constant %d : index", id, draw(p->draws, (int)type.shape[d]));
    size_t n = strlen(indices);
    snprintf(indices + n, sizeof indices - n, "%s%%c%d", d ? ", " : "", id);
  }
  int element = p->nextId++, condition = p->nextId++;
  lineAdd(p, "%%c%d = tensor.extract %%v%d[%s] : %s", element, idOf(p, x), indices,
          typeText(&type));
  int zero = scalarConstant(p, type.element, "0.0");
  lineAdd(p, "%%c%d = arith.cmpf olt, %%c%d, %%c%d : %s", condition, element, zero,
          elementText(type.element));
  int r = valueAdd(p, type, bound, then.fuzzy || otherwise.fuzzy);
  lineAdd(p, "%%v%d = scf.if %%c%d -> (%s) {", at(p, r)->id, condition, typeText(&type));
  addRegion(p, &then);
  lineAdd(p, "  scf.yield %%v%d : %s", then.yielded, typeText(&type));
  lineAdd(p, "} else {");
  addRegion(p, &otherwise);
  lineAdd(p, "  scf.yield %%v%d : %s", otherwise.yielded, typeText(&type));
  lineAdd(p, "}");
  used(p, "tensor.extract");
  used(p, "scf.if");
  valueAnnotate(p, r);
  return true;
}

/// A loop of a few steps that carries a tensor; each step clamps it, so that it does not grow.
static bool makeLoop(Program *p) {
  int x = valuePick(p, 1, 4), kind = draw(p->draws, 4); // for, while, if, rows
  if (x < 0)
    return false;
  Type type = at(p, x)->type;
  double bound = p->cap / 4 < 64 ? p->cap / 4 : 64;
  x = valueBound(p, x, bound);
  p->hasLoop = true;
  if (kind == 3) {
    makeRowLoop(p, x);
    return true;
  }
  if (kind == 2)
    return makeIf(p, x, bound);
  bool fuzzy = at(p, x)->fuzzy;
  int low = p->nextId++, high = p->nextId++, step = p->nextId++, counter = p->nextId++;
  lineAdd(p, "%%c%d = arith.constant 0 : index", low);
  lineAdd(p, "%%c%d = arith.constant %d : index", high, 1 + draw(p->draws, 3));
  lineAdd(p, "%%c%d = arith.constant 1 : index", step);
  int mark = p->nValues, init = idOf(p, x), carried = valueAdd(p, type, bound, fuzzy);
  int carriedId = at(p, carried)->id;
  Region body = makeRegion(p, carried, bound);
  p->nValues = mark;
  // A step that loses exactness would meet the next step's steps: leave such a loop out.
  if (body.fuzzy && !fuzzy) {
    textRelease(&body.lines);
    return false;
  }
  int r = valueAdd(p, type, bound, fuzzy);
  const char *text = typeText(&type);
  if (kind == 0) {
    lineAdd(p,
            "%%v%d = scf.for %%i%d = %%c%d to %%c%d step %%c%d iter_args(%%v%d = %%v%d) -> (%s) {",
            at(p, r)->id, counter, low, high, step, carriedId, init, text);
    addRegion(p, &body);
    lineAdd(p, "  scf.yield %%v%d : %s", body.yielded, text);
    used(p, "scf.for");
  } else {
    int before = p->nextId++, again = p->nextId++, next = p->nextId++;
    lineAdd(
        p, "%%v%d, %%i%d = scf.while (%%v%d = %%v%d, %%i%d = %%c%d) : (%s, index) -> (%s, index) {",
        at(p, r)->id, p->nextId++, before, init, before, low, text, text);
    lineAdd(p, "  %%c%d = arith.cmpi slt, %%i%d, %%c%d : index", again, before, high);
    lineAdd(p, "  scf.condition(%%c%d) %%v%d, %%i%d : %s, index", again, before, before, text);
    lineAdd(p, "} do {");
    lineAdd(p, "^bb0(%%v%d: %s, %%i%d: index):", carriedId, text, counter);
    addRegion(p, &body);
    lineAdd(p, "  %%c%d = arith.addi %%i%d, %%c%d : index", next, counter, step);
    lineAdd(p, "  scf.yield %%v%d, %%c%d : %s, index", body.yielded, next, text);
    used(p, "scf.while");
  }
  lineAdd(p, "}");
  valueAnnotate(p, r);
  return true;
}

//===----------------------------------------------------------------------===//
// Setting and end
//===----------------------------------------------------------------------===//

typedef struct Mesh {
  int n, sizes[MAX_AXES];
  const char *names[MAX_AXES];
} Mesh;

// The first is the simplest.
static const Mesh meshes[] = {
    {1, {2}, {"tp"}},
    {1, {4}, {"tp"}},
    {2, {2, 2}, {"dp", "tp"}},
    {1, {2}, {"dp"}},
    {1, {2}, {"sp"}},
    {2, {2, 2}, {"sp", "tp"}},
    {2, {2, 2}, {"dp", "sp"}},
    {3, {2, 2, 2}, {"dp", "sp", "tp"}},
    {2, {2, 4}, {"dp", "tp"}},
    {1, {8}, {"tp"}},
    {2, {2, 2}, {"pp", "tp"}},
    {2, {2, 2}, {"pp", "sp"}},
    {3, {2, 2, 2}, {"pp", "dp", "tp"}},
    {4, {2, 2, 2, 2}, {"pp", "dp", "sp", "tp"}},
    // With sizes that need not divide.
    {1, {3}, {"tp"}},
    {2, {3, 2}, {"dp", "tp"}},
    {2, {2, 3}, {"sp", "tp"}},
    {1, {6}, {"tp"}},
    {2, {3, 2}, {"pp", "tp"}},
    {2, {2, 3}, {"pp", "tp"}},
};
enum { nMeshes = sizeof meshes / sizeof *meshes, nEvenMeshes = 14 };

static void chooseSetting(Program *p, bool allowUneven) {
  Draws *d = p->draws;
  p->uneven = allowUneven && drawChance(d, 60);
  const Mesh *mesh = &meshes[draw(d, p->uneven ? nMeshes : nEvenMeshes)];
  p->nAxes = mesh->n;
  for (int i = 0; i < mesh->n; ++i) {
    p->axisSizes[i] = mesh->sizes[i];
    p->axisNames[i] = mesh->names[i];
    size_t n = strlen(p->degrees);
    snprintf(p->degrees + n, sizeof p->degrees - n, "%s%s%d", i ? "," : "", mesh->names[i],
             mesh->sizes[i]);
  }
  p->exact = !drawChance(d, 20);
  static const Element exactElements[] = {F32, F32, F32, F64, BF16, F16};
  p->element = p->exact ? exactElements[draw(d, 6)] : F64;
  p->cap = !p->exact           ? 1e6
           : p->element == F32 ? 0x1p22
           : p->element == F64 ? 0x1p40
           : p->element == F16 ? 0x1p9
                               : 0x1p7;
  static const int even[] = {2, 4, 8, 16, 12, 24}, odd[] = {1, 3, 5, 7, 9, 10, 11, 13};
  p->nExtents = 3 + draw(d, 3);
  for (int i = 0; i < p->nExtents; ++i)
    p->extents[i] = p->uneven && drawChance(d, 60) ? odd[draw(d, 8)] : even[draw(d, 6)];
  // Some extent divides in any case.
  p->extents[p->nExtents - 1] = 8;
}

/// The model's inputs: one with a batch and a sequence, as dp and sp want.
static void addInputs(Program *p) {
  bool batch = false, sequence = false;
  int64_t parts[2] = {1, 1};
  for (int i = 0; i < p->nAxes; ++i) {
    batch |= !strcmp(p->axisNames[i], "dp");
    sequence |= !strcmp(p->axisNames[i], "sp");
    if (!strcmp(p->axisNames[i], "dp"))
      parts[0] = p->axisSizes[i];
    if (!strcmp(p->axisNames[i], "sp"))
      parts[1] = p->axisSizes[i];
  }
  Type type = {.element = p->element, .rank = 2 + draw(p->draws, 2)};
  for (int d = 0; d < type.rank; ++d) {
    type.shape[d] = drawExtent(p);
    if (d < 2 && type.shape[d] == 1)
      type.shape[d] = 3; // a batch or sequence of one cannot be split
    if (d < 2 && !p->uneven)
      type.shape[d] = (type.shape[d] + parts[d] - 1) / parts[d] * parts[d];
  }
  char attributes[128] = "";
  if (batch || sequence)
    snprintf(attributes, sizeof attributes, "spmd.role = \"input\", spmd.dims = [\"%s\", \"%s\"%s]",
             batch ? "batch" : "", sequence ? "sequence" : "", type.rank > 2 ? ", \"\"" : "");
  argumentAdd(p, type, *attributes ? attributes : NULL);
  // A degree of tp wants something to split, a weight or what an annotation names.
  for (int i = 0; i < p->nAxes; ++i)
    if (!strcmp(p->axisNames[i], "tp")) {
      int64_t shape[2] = {p->extents[p->nExtents - 1], drawExtent(p)};
      argumentAdd(p, typeOf(p->element, 2, shape), "spmd.sharding = [[\"tp\"], []]");
    }
  for (int n = draw(p->draws, 2); n > 0; --n) {
    type.rank = 1 + draw(p->draws, 4);
    for (int d = 0; d < type.rank; ++d)
      type.shape[d] = drawExtent(p);
    if (typeElements(&type) <= MAX_ELEMENTS)
      argumentAdd(p, type, NULL);
  }
}

void stripShardings(Text *out, const char *from) {
  while (*from) {
    const char *end = strchr(from, '\n');
    size_t length = end ? (size_t)(end - from) + 1 : strlen(from);
    char *line = strndup(from, length);
    if (!strstr(line, "= shard.") && !strstr(line, "shard.grid ")) {
      char *at0;
      while ((at0 = strstr(line, "spmd.sharding = ")) || (at0 = strstr(line, "spmd.dims = "))) {
        char *to = strchr(at0, '[');
        int depth = 0;
        do
          depth += *to == '[' ? 1 : *to == ']' ? -1 : 0;
        while (*to++ && depth);
        if (at0 - line >= 2 && !strncmp(at0 - 2, ", ", 2))
          at0 -= 2;
        else if (!strncmp(to, ", ", 2))
          to += 2;
        memmove(at0, to, strlen(to) + 1);
      }
      textAppend(out, "%s", line);
    }
    free(line);
    from += length;
  }
}

static void addResults(Program *p) {
  Text names = {0}, types = {0}, attributed = {0};
  int n = 0;
  for (int i = 0; i < p->nValues; ++i) {
    Value *v = &p->values[i];
    bool argument = i < p->nValues && v->uses > 0;
    if (argument || v->shared || v->bound < 0)
      continue;
    char sharding[256];
    bool annotated = v->type.rank > 0 && drawChance(p->draws, 30) &&
                     drawSharding(p, &v->type, false, sharding, sizeof sharding);
    textAppend(&names, "%s%%v%d", n ? ", " : "", v->id);
    textAppend(&types, "%s%s", n ? ", " : "", typeText(&v->type));
    textAppend(&attributed, "%s%s%s%s%s", n ? ", " : "", typeText(&v->type),
               annotated ? " {spmd.sharding = " : "", annotated ? sharding : "",
               annotated ? "}" : "");
    ++n;
  }
  for (int i = p->nValues; i-- > 0 && n == 0;)
    if (!p->values[i].shared && p->values[i].bound >= 0) { // all are used, by ops left out again
      const Value *v = &p->values[i];
      textAppend(&names, "%%v%d", v->id);
      textAppend(&types, "%s", typeText(&v->type));
      textAppend(&attributed, "%s", typeText(&v->type));
      ++n;
    }
  used(p, "func.return");
  textAppend(&p->module, "shard.grid @mesh(shape = %d", p->axisSizes[0]);
  for (int i = 1; i < p->nAxes; ++i)
    textAppend(&p->module, "x%d", p->axisSizes[i]);
  textAppend(&p->module, ") {spmd.axes = [");
  for (int i = 0; i < p->nAxes; ++i)
    textAppend(&p->module, "%s\"%s\"", i ? ", " : "", p->axisNames[i]);
  textAppend(&p->module, "]}\nfunc.func @main(%s) -> (%s) {\n%s  return %s : %s\n}\n%s",
             p->arguments.data ? p->arguments.data : "", attributed.data,
             p->scope->lines.data ? p->scope->lines.data : "", names.data, types.data,
             p->functions.data ? p->functions.data : "");
  stripShardings(&p->plain, p->module.data);
  textRelease(&names);
  textRelease(&types);
  textRelease(&attributed);
}

void programCreate(Draws *draws, bool allowUneven, Program *out) {
  *out = (Program){.draws = draws};
  Program *p = out;
  Scope scope = {0};
  p->scope = &scope;
  chooseSetting(p, allowUneven);
  addInputs(p);
  int nStages = !strcmp(p->axisNames[0], "pp") ? p->axisSizes[0] : 0;
  bool early = nStages && drawChance(draws, 50);
  if (early)
    makeLayers(p, nStages);
  int most = 3 + draw(draws, drawChance(draws, 30) ? 38 : 14);
  for (int tries = 0; tries < 4 * most && p->nOps < most && !p->failed; ++tries) {
    if (draws->replaying && draws->nMade >= draws->nReplayed && p->nOps > 0)
      break; // the rest would be the simplest op again and again
    drawSpan(draws);
    int kind = draw(draws, 100); // below: an op of any row
    if (kind == 99)
      p->nOps += makeCall(p);
    else if (kind >= 97)
      p->nOps += makeLoop(p);
    else if (kind >= 94)
      p->nOps += makeSumOfProducts(p);
    else if (kind >= 88)
      p->nOps += makeForm(p);
    else
      opMake(p);
  }
  if (nStages && !early)
    makeLayers(p, nStages);
  addResults(p);
  p->scope = NULL;
  textRelease(&scope.lines);
}

void programRelease(Program *program) {
  textRelease(&program->arguments);
  textRelease(&program->functions);
  textRelease(&program->module);
  textRelease(&program->plain);
}
