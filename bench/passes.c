//===- passes.c - Time of some passes against that of others ------*- C -*-===//
// bench-passes BAR ROUNDS NAMES COMMAND... -- NAMES COMMAND...
// Runs the two commands in turn, each with MLIR's timing report (a list) on its standard error, and
// adds the wall times of the passes whose names are in its NAMES ("A+B"); the minimum of ROUNDS
// counts. Prints both sums and the ratio of the first to the second. Exit 1: it is over BAR.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void fail(const char *text, const char *what) {
  fprintf(stderr, "bench-passes: error: %s %s\n", text, what);
  exit(1);
}

static FILE *start(char *const *command, pid_t *child) {
  int ends[2];
  if (pipe(ends) < 0)
    fail("no pipe", "");
  *child = fork();
  if (*child == 0) {
    dup2(ends[1], 2);
    close(ends[0]);
    close(ends[1]);
    execv(command[0], command);
    _exit(127);
  }
  close(ends[1]);
  FILE *report = fdopen(ends[0], "r");
  if (*child < 0 || !report)
    fail("cannot start", command[0]);
  return report;
}

/// Seconds of a line "    0.0058 (  5.7%)  NAME" when NAME is one of `names`; 0 otherwise. A name
/// that stands there twice (once for each function) counts twice.
static double secondsOfLine(const char *line, const char *names, int *nFound) {
  const char *close = strstr(line, "%)");
  if (!close)
    return 0;
  const char *name = close + 2 + strspn(close + 2, " '");
  size_t length = strcspn(name, "'\n");
  for (const char *at = names; *at; at += at[strcspn(at, "+")] ? strcspn(at, "+") + 1 : strlen(at))
    if (strcspn(at, "+") == length && !strncmp(at, name, length)) {
      ++*nFound;
      return atof(line);
    }
  return 0;
}

static double run(const char *names, char *const *command) {
  pid_t child;
  FILE *report = start(command, &child);
  char line[4096];
  double sum = 0;
  int nFound = 0, status;
  while (fgets(line, sizeof(line), report))
    sum += secondsOfLine(line, names, &nFound);
  fclose(report);
  if (waitpid(child, &status, 0) < 0 || status != 0)
    fail("this command failed:", command[0]);
  if (nFound == 0)
    fail("no pass of these names in the report:", names);
  return sum;
}

int main(int argc, char **argv) {
  int second = 0;
  for (int i = 3; i < argc && !second; ++i)
    if (!strcmp(argv[i], "--"))
      second = i + 1;
  if (second < 6 || second + 1 >= argc)
    fail("usage: bench-passes BAR ROUNDS NAMES COMMAND... -- NAMES", "COMMAND...");
  argv[second - 1] = NULL;
  double bar = atof(argv[1]), ours = INFINITY, theirs = INFINITY;
  for (int round = atoi(argv[2]); round > 0; --round) {
    ours = fmin(ours, run(argv[3], &argv[4]));
    theirs = fmin(theirs, run(argv[second], &argv[second + 1]));
  }
  printf("%s %.1f ms, %s %.1f ms, ratio %.2f (bar %.2f)\n", argv[3], 1e3 * ours, argv[second],
         1e3 * theirs, ours / theirs, bar);
  return !(ours / theirs <= bar);
}
