//===- Programs.c - Pairs of placements as annotated programs -----*- C -*-===//
// An MLIR module in which each pair is an argument, made partial by a reduction where the source
// is, and a result wanted in the target's placement: for the way through shard-spmdize and the
// lowering.
//===----------------------------------------------------------------------===//

#include "Case.h"

#include <stdio.h>

static const char *const axisNames[] = {"dp", "ep", "sp", "tp"};

static const char *nameOf(const Mesh *mesh, int axis) {
  return axisNames[maxAxes - mesh->nAxes + axis];
}

static void printAxes(FILE *file, const Mesh *mesh, int n, const int *axes) {
  fputc('[', file);
  for (int k = 0; k < n; ++k)
    fprintf(file, "%s\"%s\"", k ? ", " : "", nameOf(mesh, axes[k]));
  fputc(']', file);
}

static void printSharding(FILE *file, const Mesh *mesh, const Place *place) {
  fputc('[', file);
  for (int p = 0; p < place->nPieces; ++p) {
    fputs(p ? ", " : "", file);
    printAxes(file, mesh, place->pieces[p].nAxes, place->pieces[p].axes);
  }
  fputc(']', file);
}

static int listPartial(const Mesh *mesh, const Place *place, int *axes) {
  int n = 0;
  for (int a = 0; a < mesh->nAxes; ++a)
    if (place->partial >> a & 1)
      axes[n++] = a;
  return n;
}

static void printType(FILE *file, const Place *place, int rows) {
  fputs("tensor<", file);
  if (rows)
    fprintf(file, "%dx", rows);
  for (int p = 0; p < place->nPieces; ++p)
    fprintf(file, "%dx", place->pieces[p].size);
  fputs("f32>", file);
}

static void printArgument(FILE *file, const Case *c, int i) {
  int axes[maxAxes], n = listPartial(c->mesh, &c->from, axes);
  fprintf(file, "%s%%x%d: ", i ? ", " : "", i);
  printType(file, &c->from, n ? 2 * axesSize(c->mesh, n, axes) : 0);
  fputs(" {spmd.role = \"input\", spmd.sharding = ", file);
  if (n) {
    fputc('[', file);
    printAxes(file, c->mesh, n, axes);
    for (int p = 0; p < c->from.nPieces; ++p) {
      fputs(", ", file);
      printAxes(file, c->mesh, c->from.pieces[p].nAxes, c->from.pieces[p].axes);
    }
    fputc(']', file);
  } else {
    printSharding(file, c->mesh, &c->from);
  }
  fputc('}', file);
}

static void printBody(FILE *file, const Case *c, int i) {
  static const char *const ops[] = {"", "addf", "maximumf", "minimumf"};
  static const char *const kinds[] = {"", "sum", "max", "min"};
  static const char *const inits[] = {"", "0.0", "-1000.0", "1000.0"};
  int axes[maxAxes], n = listPartial(c->mesh, &c->from, axes);
  if (!n) {
    fprintf(file, "  %%v%d = math.absf %%x%d {spmd.sharding = [", i, i);
    printSharding(file, c->mesh, &c->from);
    fputs("]} : ", file);
    printType(file, &c->from, 0);
    fputc('\n', file);
    return;
  }
  fprintf(file, "  %%i%d = arith.constant %s : f32\n  %%e%d = tensor.empty() : ", i,
          inits[c->fromCombiner], i);
  printType(file, &c->from, 0);
  fprintf(file, "\n  %%f%d = linalg.fill ins(%%i%d : f32) outs(%%e%d : ", i, i, i);
  printType(file, &c->from, 0);
  fputs(") -> ", file);
  printType(file, &c->from, 0);
  fprintf(file, "\n  %%v%d = linalg.reduce { arith.%s } ins(%%x%d : ", i, ops[c->fromCombiner], i);
  printType(file, &c->from, 2 * axesSize(c->mesh, n, axes));
  fprintf(file, ") outs(%%f%d : ", i);
  printType(file, &c->from, 0);
  fputs(") dimensions = [0] {spmd.sharding = [", file);
  printSharding(file, c->mesh, &c->from);
  fputs("], spmd.partial = [[{axes = ", file);
  printAxes(file, c->mesh, n, axes);
  fprintf(file, ", kind = \"%s\"}]]}\n", kinds[c->fromCombiner]);
}

bool writeProgram(const char *path, int n, const Case *cases) {
  FILE *file = fopen(path, "w");
  if (!file)
    return false;
  const Mesh *mesh = cases[0].mesh;
  fputs("shard.grid @mesh(shape = ", file);
  for (int a = 0; a < mesh->nAxes; ++a)
    fprintf(file, "%s%d", a ? "x" : "", mesh->sizes[a]);
  fputs(") {spmd.axes = ", file);
  printAxes(file, mesh, mesh->nAxes, (const int[]){0, 1, 2, 3});
  fputs("}\nfunc.func @main(", file);
  for (int i = 0; i < n; ++i)
    printArgument(file, &cases[i], i);
  fputs(") -> (", file);
  for (int i = 0; i < n; ++i) {
    fputs(i ? ", " : "", file);
    printType(file, &cases[i].to, 0);
    fputs(" {spmd.sharding = ", file);
    printSharding(file, mesh, &cases[i].to);
    fputc('}', file);
  }
  fputs(") {\n", file);
  for (int i = 0; i < n; ++i)
    printBody(file, &cases[i], i);
  fputs("  return ", file);
  for (int i = 0; i < n; ++i)
    fprintf(file, "%s%%v%d", i ? ", " : "", i);
  fputs(" : ", file);
  for (int i = 0; i < n; ++i) {
    fputs(i ? ", " : "", file);
    printType(file, &cases[i].to, 0);
  }
  fputs("\n}\n", file);
  return fclose(file) == 0;
}
