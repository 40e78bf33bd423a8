//===- compile.c - shard-opt against mlir-opt, on one file --------*- C -*-===//
// bench-compile SHARD_OPT MLIR_OPT MODEL.mlir ARGS.json FOLDER ROUNDS
// Bars: `shard-opt --auto-shard=tp8,pp16`, output written, takes at most 3 x the wall time of
// mlir-opt parsing and printing the same file; its peak memory, less that on an empty module, is at
// most 4 x mlir-opt's, counted alike. The two alternate, the minimum of ROUNDS counts, both outputs
// are checked to be there. Exit 1: a bar is missed.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE

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

typedef struct Cost {
  double seconds;
  long peakKiB;
} Cost;

static void fail(const char *text, const char *what) {
  fprintf(stderr, "bench-compile: error: %s %s\n", text, what);
  exit(1);
}

/// Runs a command to its end; keeps the smaller of each cost.
static void run(char *const *command, Cost *best) {
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
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
  clock_gettime(CLOCK_MONOTONIC, &end);
  double seconds =
      (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
  if (best->seconds == 0 || seconds < best->seconds)
    best->seconds = seconds;
  if (best->peakKiB == 0 || usage.ru_maxrss < best->peakKiB)
    best->peakKiB = usage.ru_maxrss;
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
  Cost a = {0}, b = {0}, aEmpty = {0}, bEmpty = {0};
  for (int round = atoi(argv[6]); round > 0; --round) {
    run(shard, &a);
    run(mlir, &b);
    run(shardEmpty, &aEmpty);
    run(mlirEmpty, &bEmpty);
  }
  if (sizeOf(ours) < sizeOf(argv[3]) / 10 || sizeOf(theirs) < sizeOf(argv[3]) / 2)
    fail("too little was written to", argv[5]);
  double time = a.seconds / b.seconds;
  double memory = (double)(a.peakKiB - aEmpty.peakKiB) / (double)(b.peakKiB - bEmpty.peakKiB);
  printf("shard-opt %.1f ms, mlir-opt %.1f ms, ratio %.2f (bar %.2f)\n", 1e3 * a.seconds,
         1e3 * b.seconds, time, timeBar);
  printf(
      "memory above an empty module: shard-opt %.1f MB, mlir-opt %.1f MB, ratio %.2f (bar %.2f)\n",
      (double)(a.peakKiB - aEmpty.peakKiB) / 1024, (double)(b.peakKiB - bEmpty.peakKiB) / 1024,
      memory, memoryBar);
  return time > timeBar || memory > memoryBar;
}
