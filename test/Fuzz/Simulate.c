//===- Simulate.c - Fuzz target: programs that are simulated ------*- C -*-===//
// Input: the text of a program, and behind a line of "=====" that of a cluster file; none: a small
// cluster of its own. Whatever parses is simulated, or refused with one error; so are texts that
// differ from it by a number or a line, since of blind changes few are programs.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "shard/Simulate.h"
#include "shard/Pipelines.h"

#include "mlir-c/Diagnostics.h"
#include "mlir-c/IR.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAS_LEAK_CHECK 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_LEAK_CHECK 1
#endif
#endif
#ifdef HAS_LEAK_CHECK
#include <sanitizer/lsan_interface.h>
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sizeBytes);

static void require(bool holds, const char *what) {
  if (holds)
    return;
  fprintf(stderr, "fuzz-simulate: broken: %s\n", what);
  abort();
}

static const char clusterText[] =
    "{\"version\":1,\"name\":\"own\",\"devices\":[{\"kind\":\"d\",\"memoryBytes\":1e9,"
    "\"memoryBytesPerSecond\":1e11,\"flops\":{\"f64\":5e11,\"f32\":1e12},\"launchSeconds\":1e-6}],"
    "\"links\":[{\"from\":\"device\",\"to\":\"node\",\"count\":4,\"bytesPerSecond\":1e10,"
    "\"latencySeconds\":1e-6},{\"from\":\"node\",\"to\":\"pod\",\"count\":8,\"bytesPerSecond\":1e9,"
    "\"latencySeconds\":5e-6}],\"nodes\":[{\"kind\":\"d\",\"count\":8}]}";

static MlirContext context;
static unsigned runsOfContext;
static int nErrors;

static MlirLogicalResult countErrors(MlirDiagnostic diagnostic, void *userData) {
  (void)userData;
  nErrors += mlirDiagnosticGetSeverity(diagnostic) == MlirDiagnosticError;
  return mlirLogicalResultSuccess();
}

/// A context keeps every attribute it has seen, so that it is made anew now and then.
static void prepare(void) {
  if (context.ptr && ++runsOfContext < 2000)
    return;
  if (context.ptr)
    mlirContextDestroy(context);
  context = mlirContextCreateWithThreading(false);
  mlirContextAttachDiagnosticHandler(context, countErrors, NULL, NULL);
  shardContextPrepare(context);
  runsOfContext = 0;
}

static void checkResult(const ShardSimulation *s) {
  for (int32_t i = 0; i < s->nClasses; ++i) {
    const ShardSimulatedClass *c = &s->classes[i];
    require(c->busyPs >= 0 && c->communicationPs >= 0 && c->waitPs >= 0 && c->bubblePs >= 0,
            "no part of a step is negative");
    require(c->busyPs + c->communicationPs + c->waitPs + c->bubblePs == s->stepPs,
            "the parts of a class are its step");
  }
  for (intptr_t i = 0; i < s->nSites; ++i)
    require(s->sites[i].exposedPs >= 0, "what is exposed is not negative");
}

static void simulate(MlirOperation module, const ShardCluster *cluster) {
  static const ShardSimulateOptions options = {.mostEvents =
                                                   100000}; // a loop of a program ends soon
  char *first = NULL;
  for (int run = 0; run < 2; ++run) {
    nErrors = 0;
    ShardSimulation *s = shardSimulationCreateFor(module, cluster, &options);
    require(nErrors == (s ? 0 : 1), "a refusal is one error");
    if (!s)
      return;
    checkResult(s);
    char *text = shardSimulationFormatText(s), *json = shardSimulationFormatJson(s);
    require(text && json, "a result can be written");
    require(!first || strcmp(first, json) == 0, "the same text is the same result");
    free(first);
    first = json;
    free(text);
    shardSimulationDestroy(s);
  }
  free(first);
}

//===----------------------------------------------------------------------===//
// Texts nearby
//===----------------------------------------------------------------------===//

static uint64_t state;
static size_t below(size_t n) { // xorshift64*
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return n ? (size_t)(state * UINT64_C(2685821657736338717) >> 33) % n : 0;
}

typedef struct Span {
  size_t begin, end;
} Span;

static bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// A number, or a line with its end, around a place of the text.
static Span spanAt(const char *text, size_t length, bool number) {
  Span span = {0, 0};
  size_t at = below(length);
  for (size_t i = 0; number && i < length && !isDigit(text[at]); ++i)
    at = (at + 1) % length;
  span.begin = span.end = at;
  while (span.begin && (number ? isDigit(text[span.begin - 1]) : text[span.begin - 1] != '\n'))
    --span.begin;
  while (span.end < length && (number ? isDigit(text[span.end]) : text[span.end] != '\n'))
    ++span.end;
  span.end += !number && span.end < length;
  return span;
}

/// `text` with the span replaced.
static char *replaced(const char *text, size_t length, Span span, const char *with,
                      size_t withLength) {
  char *out = malloc(length - (span.end - span.begin) + withLength + 1);
  memcpy(out, text, span.begin);
  memcpy(out + span.begin, with, withLength);
  memcpy(out + span.begin + withLength, text + span.end, length - span.end);
  out[length - (span.end - span.begin) + withLength] = 0;
  return out;
}

static char *nearby(const char *text, size_t length) {
  static const char *const numbers[] = {"0",  "1",   "2",  "3",          "8",
                                        "33", "100", "-1", "4294967296", "9223372036854775807"};
  size_t how = below(4);
  Span span = spanAt(text, length, how < 2), other = spanAt(text, length, false);
  if (how < 2) {
    const char *number = numbers[below(sizeof(numbers) / sizeof(numbers[0]))];
    return replaced(text, length, span, number, strlen(number));
  }
  if (how == 2) // gone
    return replaced(text, length, span, "", 0);
  return replaced(text, length, (Span){span.begin, span.begin}, text + other.begin,
                  other.end - other.begin); // there again
}

//===----------------------------------------------------------------------===//
// The target
//===----------------------------------------------------------------------===//

/// Parses without looking for leaks: text that brings down the parser of MLIR leaves behind what
/// that held.
static MlirModule parse(const char *text) {
#ifdef HAS_LEAK_CHECK
  __lsan_disable();
#endif
  MlirModule module = shardModuleParse(context, mlirStringRefCreateFromCString(text), "p.mlir");
#ifdef HAS_LEAK_CHECK
  __lsan_enable();
#endif
  return module;
}

/// Whether the text is a program.
static bool simulateText(const char *text, const ShardCluster *cluster) {
  MlirModule module = parse(text);
  if (mlirModuleIsNull(module))
    return false;
  simulate(mlirModuleGetOperation(module), cluster);
  mlirModuleDestroy(module);
  return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sizeBytes) {
  static const char mark[] = "\n=====\n";
  prepare();
  char *text = malloc(sizeBytes + 1);
  memcpy(text, data, sizeBytes);
  text[sizeBytes] = 0;
  char *behind = memmem(text, sizeBytes, mark, strlen(mark)), *error = NULL;
  const char *clusterOf = behind ? behind + strlen(mark) : clusterText;
  size_t clusterBytes = behind ? sizeBytes - (size_t)(clusterOf - text) : strlen(clusterText);
  ShardCluster *cluster = shardClusterParse("c.json", clusterOf, clusterBytes, 0, &error);
  free(error);
  if (behind)
    *behind = 0;
  size_t length = strlen(text);
  state = UINT64_C(0x9e3779b97f4a7c15) + length;
  for (size_t i = 0; i < length; ++i)
    state = state * 31 + (unsigned char)text[i];
  // Larger clusters are no harder, but slow.
  bool parses = cluster && cluster->nDevices <= 4096 && simulateText(text, cluster);
  for (int i = 0; parses && i < 24; ++i) {
    char *other = nearby(text, length);
    simulateText(other, cluster);
    free(other);
  }
  shardClusterDestroy(cluster);
  free(text);
  return 0;
}
