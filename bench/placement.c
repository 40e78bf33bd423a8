//===- placement.c - CPU seconds of the placement solver ----------*- C -*-===//
// bench-placement BAR FILE.csv...
// Places the buffers of all files with the default limits; prints height, bound and CPU seconds of
// each and their sum. Exit 1: the sum is over BAR, or a file has no buffers.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "Bench.h"

#include "../tools/common/InputFile.h"
#include "../tools/shard-place/BufferFile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Returns its seconds.
static double placeFile(const char *path) {
  ShardInputFile input;
  BufferFile file;
  char message[512];
  if (!shardInputFileRead(path, &input, message, sizeof message) ||
      !bufferFileParse(path, input.bytes, input.sizeBytes, &file, message, sizeof message))
    benchFail(message);
  if (!file.n)
    benchFail("no buffers");
  int64_t *offsets = malloc((size_t)file.n * sizeof(*offsets));
  if (!offsets)
    benchFail("out of memory");
  ShardPlacementResult result;
  const char *fault;
  double start = benchNow(CLOCK_THREAD_CPUTIME_ID);
  if (!shardPlacementSolve(file.n, file.buffers, NULL, offsets, &result, &fault, NULL))
    benchFail(fault);
  double seconds = benchNow(CLOCK_THREAD_CPUTIME_ID) - start;
  const char *name = strrchr(path, '/');
  printf("%-32s %6" PRId64 " buffers, height %" PRId64 ", bound %" PRId64 ", %.3f CPU s\n",
         name ? name + 1 : path, file.n, result.heightBytes, result.boundBytes, seconds);
  free(offsets);
  bufferFileRelease(&file);
  shardInputFileRelease(&input);
  return seconds;
}

int main(int argc, char **argv) {
  benchStart("bench-placement");
  if (argc < 3)
    benchFail("usage: bench-placement BAR FILE.csv...");
  double bar = atof(argv[1]), sum = 0;
  for (int i = 2; i < argc; ++i)
    sum += placeFile(argv[i]);
  printf("together %.2f CPU s (bar %.2f)\n", sum, bar);
  return !(sum <= bar);
}
