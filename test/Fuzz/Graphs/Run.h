//===- Run.h - Many random programs, in children ------------------*- C -*-===//
#ifndef SHARD_FUZZ_RUN_H
#define SHARD_FUZZ_RUN_H

#include "Check.h"

typedef struct Options {
  uint64_t first, count;
  int jobs, seconds; // of patience with one program
  int limit;         // seconds after which no more seeds are begun; 0: none
  bool even, one, enforce, quiet, reduce, refused, print, planted;
  const char *keep, *stock;  // folders
  const char *tally, *label; // a file, and what stands beside these seeds in it
  int nStock;
} Options;

_Noreturn void stopWith(const char *message);
double now(void); // seconds

/// Children.c: runs the seeds of the options, and hands each outcome to `take`. Returns how many
/// seeds were run, from the first on: all, unless the limit passed.
uint64_t runAll(const Options *options, void (*take)(void *user, const Outcome *outcome),
                void *user);
/// Runs one program in a child of its own.
void runForked(const Options *options, const Program *program, uint64_t seed, Outcome *out);

/// Reduce.c: a message without its numbers and places, to tell faults apart.
void signatureOf(const Outcome *outcome, char *out, size_t outBytes);
/// Reduces the program of a seed and prints it; keeps it as a file where --keep says.
void report(const Options *options, const Outcome *outcome);

#endif // SHARD_FUZZ_RUN_H
