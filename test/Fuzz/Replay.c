//===- Replay.c - Runs a fuzz target without libFuzzer ------------*- C -*-===//
// fuzz-NAME [-seconds=N] [-seed=N] [-artifact=FILE] PATH...
// Runs the target on every file (of every folder) named, then, for N seconds, on mutations of them.
// The input at hand lies in FILE (default crash-input) while it runs, so that it is there after a
// crash; it is removed on success. Linked when there is no clang with libFuzzer; see
// CMakeLists.txt.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sizeBytes);

#define MAX_INPUT_BYTES 8192 // longer seeds are run once, but not mutated

typedef struct Input {
  uint8_t *data;
  size_t sizeBytes;
} Input;
static Input *inputs; // this program's state; one thread
static size_t nInputs, inputCapacity;
static uint64_t randomState;
static uint8_t *artifact; // the mapped file: a length, then the bytes
static size_t artifactBytes = 1 << 24;

static void die(const char *what, const char *path) {
  perror(path);
  fprintf(stderr, "replay: error: cannot %s %s\n", what, path);
  exit(2);
}

static uint64_t nextRandom(void) { // xorshift64*, Marsaglia 2003, Vigna 2016
  randomState ^= randomState >> 12;
  randomState ^= randomState << 25;
  randomState ^= randomState >> 27;
  return randomState * UINT64_C(2685821657736338717);
}
static size_t below(size_t n) { return n ? (size_t)(nextRandom() % n) : 0; }

static void addFile(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file)
    die("open", path);
  struct stat info;
  if (fstat(fileno(file), &info) != 0)
    die("stat", path);
  if (nInputs == inputCapacity) {
    inputCapacity = inputCapacity ? 2 * inputCapacity : 64;
    inputs = realloc(inputs, inputCapacity * sizeof(*inputs));
  }
  size_t sizeBytes = (size_t)info.st_size;
  uint8_t *data = malloc(sizeBytes ? sizeBytes : 1);
  if (!inputs || !data || fread(data, 1, sizeBytes, file) != sizeBytes)
    die("read", path);
  fclose(file);
  inputs[nInputs++] = (Input){data, sizeBytes};
}

static int isVisible(const struct dirent *entry) { return entry->d_name[0] != '.'; }

static void addPath(const char *path) {
  struct stat info;
  if (stat(path, &info) != 0)
    die("find", path);
  if (!S_ISDIR(info.st_mode)) {
    addFile(path);
    return;
  }
  struct dirent **entries;
  int n = scandir(path, &entries, isVisible, alphasort); // sorted: the same run everywhere
  if (n < 0)
    die("list", path);
  for (int i = 0; i < n; ++i) {
    char *child;
    if (asprintf(&child, "%s/%s", path, entries[i]->d_name) < 0)
      die("name", path);
    addPath(child);
    free(child);
    free(entries[i]);
  }
  free(entries);
}

static void runOne(const uint8_t *data, size_t sizeBytes) {
  if (sizeBytes <= artifactBytes - sizeof(uint64_t)) {
    uint64_t length = sizeBytes;
    memcpy(artifact, &length, sizeof(length));
    memcpy(artifact + sizeof(length), data, sizeBytes);
  }
  // An allocation of exactly this size, so that a read past the end is seen.
  uint8_t *copy = malloc(sizeBytes ? sizeBytes : 1);
  if (!copy)
    die("copy", "an input");
  memcpy(copy, data, sizeBytes);
  LLVMFuzzerTestOneInput(copy, sizeBytes);
  free(copy);
}

/// Changes `data` in place, at most MAX_INPUT_BYTES long; returns the new length.
static size_t mutate(uint8_t *data, size_t sizeBytes) {
  static const char *const numbers[] = {"0",
                                        "1",
                                        "-1",
                                        "2147483648",
                                        "4294967296",
                                        "9223372036854775807",
                                        "9223372036854775808",
                                        "1e400",
                                        "99999999999999999999999"};
  size_t at = below(sizeBytes + 1), length = 1 + below(16);
  switch (below(8)) {
  case 0: // one bit
    if (at < sizeBytes)
      data[at] ^= (uint8_t)(1u << below(8));
    return sizeBytes;
  case 1: // one byte
    if (at < sizeBytes)
      data[at] = (uint8_t)nextRandom();
    return sizeBytes;
  case 2: // cut the end off
    return at;
  case 3: // take some bytes out
    if (at + length > sizeBytes)
      return sizeBytes;
    memmove(data + at, data + at + length, sizeBytes - at - length);
    return sizeBytes - length;
  case 4: { // put in a piece of this or another input
    const Input *other = &inputs[below(nInputs)];
    size_t from = below(other->sizeBytes);
    if (length > other->sizeBytes - from)
      length = other->sizeBytes - from;
    if (sizeBytes + length > MAX_INPUT_BYTES)
      return sizeBytes;
    memmove(data + at + length, data + at, sizeBytes - at);
    memcpy(data + at, other->data + from, length);
    return sizeBytes + length;
  }
  case 5: { // put in a number from the edge of some type
    const char *number = numbers[below(sizeof(numbers) / sizeof(numbers[0]))];
    length = strlen(number);
    if (sizeBytes + length > MAX_INPUT_BYTES)
      return sizeBytes;
    memmove(data + at + length, data + at, sizeBytes - at);
    memcpy(data + at, number, length);
    return sizeBytes + length;
  }
  case 6: { // say a piece again, up to 64 times
    size_t times = 1 + below(64);
    if (at + length > sizeBytes)
      return sizeBytes;
    if (sizeBytes + length * times > MAX_INPUT_BYTES)
      return sizeBytes;
    memmove(data + at + length * times, data + at, sizeBytes - at);
    for (size_t i = 0; i < times; ++i)
      memmove(data + at + i * length, data + at + length * times, length);
    return sizeBytes + length * times;
  }
  default: // a character that parsers look at
    if (at < sizeBytes)
      data[at] = (uint8_t)"{}[]()\",:'\\ \n,-.0"[below(17)];
    return sizeBytes;
  }
}

int main(int argc, char **argv) {
  double seconds = 0;
  const char *artifactPath = "crash-input";
  randomState = 1;
  for (int i = 1; i < argc; ++i) {
    if (strncmp(argv[i], "-seconds=", 9) == 0)
      seconds = strtod(argv[i] + 9, NULL);
    else if (strncmp(argv[i], "-seed=", 6) == 0)
      randomState = strtoull(argv[i] + 6, NULL, 10) * 2 + 1;
    else if (strncmp(argv[i], "-artifact=", 10) == 0)
      artifactPath = argv[i] + 10;
    else if (argv[i][0] == '-')
      die("understand", argv[i]);
    else
      addPath(argv[i]);
  }
  if (nInputs == 0) {
    fprintf(stderr, "replay: error: no inputs\n");
    return 2;
  }
  int file = open(artifactPath, O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (file < 0 || ftruncate(file, (off_t)artifactBytes) != 0)
    die("write", artifactPath);
  artifact = mmap(NULL, artifactBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (artifact == MAP_FAILED)
    die("map", artifactPath);
  close(file);

  uint64_t runs = 0;
  for (size_t i = 0; i < nInputs; ++i, ++runs)
    runOne(inputs[i].data, inputs[i].sizeBytes);
  struct timespec start, now;
  clock_gettime(CLOCK_MONOTONIC, &start);
  now = start;
  static uint8_t buffer[MAX_INPUT_BYTES];
  while ((double)(now.tv_sec - start.tv_sec) + 1e-9 * (double)(now.tv_nsec - start.tv_nsec) <
         seconds) {
    for (int i = 0; i < 256; ++i, ++runs) {
      const Input *input = &inputs[below(nInputs)];
      size_t sizeBytes = input->sizeBytes < sizeof(buffer) ? input->sizeBytes : sizeof(buffer);
      memcpy(buffer, input->data, sizeBytes);
      for (size_t steps = 1 + below(4); steps > 0; --steps)
        sizeBytes = mutate(buffer, sizeBytes);
      runOne(buffer, sizeBytes);
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
  }
  unlink(artifactPath);
  munmap(artifact, artifactBytes);
  for (size_t i = 0; i < nInputs; ++i)
    free(inputs[i].data);
  free(inputs);
  printf("Done %llu runs\n", (unsigned long long)runs);
  return 0;
}
