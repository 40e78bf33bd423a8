//===- compile.c - shard-opt against mlir-opt, on one file --------*- C -*-===//
// bench-compile SHARD_OPT MLIR_OPT MODEL.mlir ARGS.json FOLDER ROUNDS
// Bars: `shard-opt --auto-shard=tp8,pp16`, output written, takes at most 3 x the wall time of
// mlir-opt parsing and printing the same file; its peak memory, less that on an empty module, is at
// most 4 x mlir-opt's, counted alike. The two alternate: the median of the ratios of ROUNDS pairs
// of times, the least peak of memory. Both outputs are checked to be there. Exit 1: a bar is
// missed.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE

#include "Bench.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const double timeBar = 3, memoryBar = 4;

static void fail(const char *text, const char *what) {
  fprintf(stderr, "bench-compile: error: %s %s\n", text, what);
  exit(1);
}

/// Runs a command to its end; returns its seconds and keeps the smaller peak.
static double run(char *const *command, long *peakKiB) {
  double start = benchNow(CLOCK_MONOTONIC);
  pid_t child = fork();
  if (child == 0) {
    int null = open("/dev/null", O_WRONLY);
    dup2(null, 1);
    execv(command[0], command);
    _exit(127);
  }
  int status;
  struct rusage usage;
  if (child < 0 || wait4(child, &status, 0, &usage) < 0 || status != 0)
    fail("this command failed:", command[0]);
  if (*peakKiB == 0 || usage.ru_maxrss < *peakKiB)
    *peakKiB = usage.ru_maxrss;
  return benchNow(CLOCK_MONOTONIC) - start;
}

static off_t sizeOf(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 ? info.st_size : 0;
}

int main(int argc, char **argv) {
  if (argc != 7)
    fail("usage: bench-compile SHARD_OPT MLIR_OPT MODEL ARGS FOLDER", "ROUNDS");
  char *empty, *args, *ours, *theirs;
  if (asprintf(&empty, "%s/empty.mlir", argv[5]) < 0 || asprintf(&args, "--args=%s", argv[4]) < 0 ||
      asprintf(&ours, "%s/ours.mlir", argv[5]) < 0 ||
      asprintf(&theirs, "%s/theirs.mlir", argv[5]) < 0)
    fail("out of memory", "");
  FILE *file = fopen(empty, "w");
  if (!file || fputs("module {\n}\n", file) < 0 || fclose(file) != 0)
    fail("cannot write", empty);
  char *shard[] = {argv[1],
                   (char *)"--auto-shard=tp8,pp16",
                   argv[3],
                   args,
                   (char *)"--quiet",
                   (char *)"-o",
                   ours,
                   NULL};
  char *mlir[] = {argv[2], argv[3], (char *)"-o", theirs, NULL};
  char *shardEmpty[] = {argv[1], empty, (char *)"-o", (char *)"/dev/null", NULL};
  char *mlirEmpty[] = {argv[2], empty, (char *)"-o", (char *)"/dev/null", NULL};
  static BenchPairs times;
  long a = 0, b = 0, aEmpty = 0, bEmpty = 0;
  for (int round = atoi(argv[6]); round > 0; --round) {
    double seconds = run(shard, &a);
    benchPairsAdd(&times, seconds, run(mlir, &b));
    run(shardEmpty, &aEmpty);
    run(mlirEmpty, &bEmpty);
  }
  if (sizeOf(ours) < sizeOf(argv[3]) / 10 || sizeOf(theirs) < sizeOf(argv[3]) / 2)
    fail("too little was written to", argv[5]);
  bool held = benchPairsHold(&times, "shard-opt", "mlir-opt", timeBar);
  double memory = (double)(a - aEmpty) / (double)(b - bEmpty);
  printf(
      "memory above an empty module: shard-opt %.1f MB, mlir-opt %.1f MB, ratio %.2f (bar %.2f)\n",
      (double)(a - aEmpty) / 1024, (double)(b - bEmpty) / 1024, memory, memoryBar);
  return !held || memory > memoryBar;
}
