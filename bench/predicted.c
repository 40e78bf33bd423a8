//===- predicted.c - Step times as simulated and as measured -------*- C -*-===//
// bench-predicted MEDIAN WORST RANK CORES < CELLS
// A line of CELLS is "MODEL LAYOUT RANKS PREDICTED MEASURED", in seconds; a model whose name ends
// in
// '*' is of the part that nobody looked at while costs were made. Prints the table, and over the
// cells with RANKS <= CORES the median and the largest error (larger / smaller - 1, in percent) and
// the rank correlation (Spearman 1904) over all of them and over the layouts of a model, mean over
// models with at least three; beside it without the rule of ties, which no bar is on. Bars: at most
// MEDIAN and WORST percent, at least RANK. Exit 1: one is missed, or there are fewer than 12 cells.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "Bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CELLS = 256, NAME_BYTES = 64 };

typedef struct Cell {
  char model[NAME_BYTES], layout[NAME_BYTES];
  int ranks;
  double predicted, measured, error; // error: 0.1 is 10 percent
  bool counts;
} Cell;

/// Two times that differ by less are as long: repeats of one measurement differ by that.
static const double sameWithin = 0.02;

/// The rank of each of `n` values, equal ones by the mean of theirs. Values that differ by `within`
/// of the smaller are equal.
static void rankValues(int n, const double *values, double within, double *ranks) {
  for (int i = 0; i < n; ++i) {
    double below = 0, equal = 0;
    for (int k = 0; k < n; ++k) {
      bool same = fabs(values[k] - values[i]) <= within * fmin(values[k], values[i]);
      below += !same && values[k] < values[i];
      equal += same;
    }
    ranks[i] = below + (equal + 1) / 2;
  }
}

/// Pearson's correlation of the ranks; 1 where all values of a side are equal and the other's too.
static double spearman(int n, const double *a, const double *b, double within) {
  double x[MAX_CELLS], y[MAX_CELLS], sx = 0, sy = 0, xx = 0, yy = 0, xy = 0;
  rankValues(n, a, within, x);
  rankValues(n, b, within, y);
  for (int i = 0; i < n; ++i)
    sx += x[i] / n, sy += y[i] / n;
  for (int i = 0; i < n; ++i) {
    xx += (x[i] - sx) * (x[i] - sx);
    yy += (y[i] - sy) * (y[i] - sy);
    xy += (x[i] - sx) * (y[i] - sy);
  }
  return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : xx == yy;
}

/// Over the cells that count and whose model is `model`, or all for null.
static double correlate(int n, const Cell *cells, const char *model, double within, int *outCount) {
  double predicted[MAX_CELLS], measured[MAX_CELLS];
  int count = 0;
  for (int i = 0; i < n; ++i)
    if (cells[i].counts && (!model || !strcmp(cells[i].model, model)))
      predicted[count] = cells[i].predicted, measured[count++] = cells[i].measured;
  *outCount = count;
  return count ? spearman(count, predicted, measured, within) : 0;
}

/// The mean over models with at least three layouts that count; 0: there is none.
static double correlateLayouts(int n, const Cell *cells, double within) {
  double sum = 0;
  int nModels = 0;
  for (int i = 0; i < n; ++i) {
    int first = 0, count;
    while (strcmp(cells[first].model, cells[i].model))
      ++first;
    if (first != i)
      continue;
    double correlation = correlate(n, cells, cells[i].model, within, &count);
    if (count >= 3)
      sum += correlation, ++nModels;
  }
  return nModels ? sum / nModels : 0;
}

/// Median and largest error of one part of the cells.
static int summarise(int n, const Cell *cells, bool unseen, bool all, double *median,
                     double *worst) {
  double errors[MAX_CELLS];
  int count = 0;
  *worst = 0;
  for (int i = 0; i < n; ++i) {
    bool isUnseen = cells[i].model[strlen(cells[i].model) - 1] == '*';
    if (!cells[i].counts || (!all && isUnseen != unseen))
      continue;
    errors[count++] = cells[i].error;
    *worst = fmax(*worst, cells[i].error);
  }
  *median = count ? benchMedian(errors, count) : 0;
  return count;
}

int main(int argc, char **argv) {
  benchStart("bench-predicted");
  if (argc != 5)
    benchFail("usage: bench-predicted MEDIAN WORST RANK CORES < CELLS");
  static Cell cells[MAX_CELLS];
  int n = 0, cores = atoi(argv[4]);
  for (Cell *c = cells; n < MAX_CELLS && scanf("%63s %63s %d %lf %lf", c->model, c->layout,
                                               &c->ranks, &c->predicted, &c->measured) == 5;
       c = &cells[++n]) {
    if (!(c->predicted > 0) || !(c->measured > 0))
      benchFail("a time is not positive");
    c->error = fmax(c->predicted, c->measured) / fmin(c->predicted, c->measured) - 1;
    c->counts = c->ranks <= cores;
  }
  printf("%-18s %-14s %10s %10s %6s\n", "model", "layout", "predicted", "measured", "ratio");
  for (int i = 0; i < n; ++i)
    printf("%-18s %-14s %7.2f ms %7.2f ms %6.2f%s\n", cells[i].model, cells[i].layout,
           1e3 * cells[i].predicted, 1e3 * cells[i].measured,
           cells[i].predicted / cells[i].measured,
           cells[i].counts ? "" : "  (more ranks than cores: not counted)");
  double median, worst;
  for (int part = 0; part < 2; ++part) {
    int count = summarise(n, cells, part, false, &median, &worst);
    printf("%d cells %s: median error %.1f %%, worst %.1f %%\n", count,
           part ? "of models not seen before (*)" : "of the others", 100 * median, 100 * worst);
  }
  int count = summarise(n, cells, false, true, &median, &worst), nAll;
  double overall = correlate(n, cells, NULL, sameWithin, &nAll);
  double layouts = correlateLayouts(n, cells, sameWithin);
  printf("%d cells: median error %.1f %% (bar %s), worst %.1f %% (bar %s), rank correlation %.3f "
         "over all, %.3f over the layouts of a model (bar %s)\n",
         count, 100 * median, argv[1], 100 * worst, argv[2], overall, layouts, argv[3]);
  printf("without ties: rank correlation %.3f over all, %.3f over the layouts of a model\n",
         correlate(n, cells, NULL, 0, &nAll), correlateLayouts(n, cells, 0));
  if (count < 12)
    benchFail("fewer than 12 cells");
  return !(100 * median <= atof(argv[1]) && 100 * worst <= atof(argv[2]) &&
           overall >= atof(argv[3]) && layouts >= atof(argv[3]));
}
