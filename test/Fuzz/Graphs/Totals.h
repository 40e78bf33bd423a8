//===- Totals.h - What many programs showed -----------------------*- C -*-===//
#ifndef SHARD_FUZZ_TOTALS_H
#define SHARD_FUZZ_TOTALS_H

#include "Run.h"

/// Outcomes kept for what they say.
typedef struct Kept {
  Outcome *outcomes; // [n]
  size_t n;
} Kept;

typedef struct Totals {
  const Options *options;
  uint64_t seeds, verdicts[HUNG + 1];
  uint64_t counted; // passed, and every rank's shard changes a result: what follows is of these
  uint64_t rows[MAX_ROWS], collective, uneven, partial, reshape, callOrLoop, exact, ops, ranks;
  uint64_t dull;                    // passed, with a rank whose shard changes nothing
  Kept findings, refusals, inexact; // inexact: passed, within a bar
} Totals;

void totalsCreate(const Options *options, Totals *out);
/// For runAll; `user` is the Totals. Prints findings.
void totalsTake(void *user, const Outcome *outcome);

/// Stops where the tally, a file, has one of these seeds already.
void tallyCheck(const char *path, uint64_t first, uint64_t seeds);
/// Adds the seeds [first, first + totals->seeds) to it; `sum` is then of all that it holds.
void tallyAdd(const char *path, uint64_t first, Totals *totals, Totals *sum);

/// Prints kinds of findings, refusals and comparisons within a bar, of these programs. Sorts
/// findings by kind.
void totalsPrintKinds(Totals *totals);
void totalsPrintVerdicts(const Totals *totals);
/// Prints shares and rows, and returns whether they are as large as wanted.
bool totalsPrintShares(const Totals *totals);

/// Whether two outcomes fail in the same way.
bool sameKind(const Outcome *a, const Outcome *b);

#endif // SHARD_FUZZ_TOTALS_H
