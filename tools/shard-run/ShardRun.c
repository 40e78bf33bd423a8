//===- ShardRun.c - Run a program on CPU ranks and compare --------*- C -*-===//
#define _GNU_SOURCE

#include "../model/Element.h"
#include "Bisect.h"
#include "CheckRules.h"
#include "Compile.h"
#include "Exact.h"
#include "Execute.h"
#include "Measure.h"
#include "Memory.h"
#include "Report.h"
#include "Sizes.h"
#include "Values.h"

#include "../common/OutputFile.h"
#include "../common/Safetensors.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

static const ShardProgramValue *findByIndex(const ShardProgramValue *values, int32_t count,
                                            int32_t index) {
  for (int32_t i = 0; i < count; ++i)
    if (values[i].index == index)
      return &values[i];
  return NULL;
}

static void compareSignature(const char *what, const ShardProgramValue *values, int32_t count,
                             const ShardProgramValue *others, int32_t otherCount,
                             const char *original) {
  char type[256], otherType[256];
  for (int32_t i = 0; i < count; ++i) {
    const ShardProgramValue *other = findByIndex(others, otherCount, values[i].index);
    valuesFormatType(&values[i], type, sizeof type);
    if (!other)
      stop("--check=%s has no %s %" PRId32 "; the program's is %s", original, what, values[i].index,
           type);
    valuesFormatType(other, otherType, sizeof otherType);
    if (strcmp(type, otherType))
      stop("--check=%s: %s %" PRId32 " is %s, the program's is %s", original, what, values[i].index,
           otherType, type);
  }
}

static size_t availableMemory(void) {
  size_t available = SIZE_MAX;
  FILE *file = fopen("/proc/meminfo", "r");
  char line[256];
  size_t kibibytes;
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "MemAvailable: %zu kB", &kibibytes) == 1)
      available = kibibytes * 1024;
  if (file)
    fclose(file);
  struct rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      limit.rlim_cur < available)
    available = limit.rlim_cur;
  return available;
}

static void checkMemory(const ShardProgram *program, bool keepResults, const char *what) {
  size_t needed = executeMemoryBytes(program, keepResults), available = availableMemory();
  if (needed > available)
    stop("%s needs %.1f GB for arguments, results, workspaces and messages of %" PRId64
         " ranks; %.1f GB of memory are available",
         what, 1e-9 * (double)needed, meshRankCount(program), 1e-9 * (double)available);
}

/// The stored results: [nResults] by original result. The arrays stay with the caller, and so does
/// the set in `*outSet`, null for a folder.
static ShardNpyArray *readExpected(const Options *options, const ShardProgram *program,
                                   const void **outValues, ShardSafetensors **outSet) {
  ShardNpyArray *arrays = memoryZeroed((size_t)program->nResults * sizeof *arrays);
  struct stat status;
  char message[1024];
  bool exists = stat(options->expect, &status) == 0;
  *outSet = NULL;
  if (exists && S_ISREG(status.st_mode) && shardSafetensorsNamed(options->expect)) {
    *outSet = shardSafetensorsOpen(options->expect, message, sizeof message);
    if (!*outSet)
      stop("%s", message);
  } else if (!exists || !S_ISDIR(status.st_mode)) {
    stop("there is no folder or .safetensors file '%s' of expected results", options->expect);
  }
  for (int32_t i = 0; i < program->nResults; ++i) {
    const ShardProgramValue *value = &program->results[i];
    char *path, name[32];
    snprintf(name, sizeof name, "out%03" PRId32, value->index);
    if (asprintf(&path, *outSet ? "%s" : "%s/%s.npy", options->expect, name) < 0)
      stop("out of memory");
    const void *data = NULL;
    if (*outSet) {
      const ShardSafetensor *tensor = shardSafetensorsFind(*outSet, name);
      if (!tensor)
        stop("%s has no tensor '%s'", path, name);
      arrays[i] = (ShardNpyArray){.type = tensor->type, .rank = tensor->rank};
      memcpy(arrays[i].shape, tensor->shape, sizeof tensor->shape);
      data = tensor->data;
    } else if (!shardNpyReadFile(path, &arrays[i], message, sizeof message)) {
      stop("%s", message);
    } else {
      data = arrays[i].data;
    }
    ShardProgramValue found = *value;
    found.rank = arrays[i].rank;
    found.globalShape = arrays[i].shape;
    char type[256], foundType[256];
    valuesFormatType(value, type, sizeof type);
    valuesFormatType(&found, foundType, sizeof foundType);
    if (!modelDataTypeFits(arrays[i].type, value))
      stop("%s: result %" PRId32 " is of type %s, expected %s", path, value->index,
           shardNpyTypeName(arrays[i].type), elementName(value->element));
    if (strcmp(type, foundType))
      stop("%s: result %" PRId32 " is %s, expected %s", path, value->index, foundType, type);
    free(path);
    outValues[value->index] = data;
  }
  return arrays;
}

static size_t resultLimit(const ShardProgram *program) {
  size_t limit = 0;
  for (int32_t i = 0; i < program->nResults; ++i)
    if ((size_t)program->results[i].index >= limit)
      limit = (size_t)program->results[i].index + 1;
  return limit;
}

/// Which results must have equal bits, [*] by result, to be freed with free(); says which are not.
static bool *demandExact(const Compiled *original, ValueOptions *values, bool quiet) {
  size_t nFacts;
  ExactFact *facts = exactChoose(original->imported, original->program, values, &nFacts);
  bool *exact = memoryZeroed((nFacts ? nFacts : 1) * sizeof *exact);
  if (!quiet)
    printf("exact: whole numbers up to %" PRId32 "%s\n", values->wholeNumbers,
           values->nonzeroLine ? ", mostly zeros" : "");
  for (size_t i = 0; i < nFacts; ++i) {
    exact[i] = facts[i].exact;
    if (exact[i] || quiet)
      continue;
    char *reason = exactReason(&facts[i]);
    printf("result %zu is not exact: %s\n", i, reason);
    free(reason);
  }
  free(facts);
  return exact;
}

/// What all runs of a program share.
typedef struct Session {
  const Options *options;
  Compiler *compiler;
  Compiled *compiled;
  MlirOperation source; // of the original; null without --check
} Session;

static void checkOriginal(const Session *session, const ShardProgram *program,
                          const Compiled *original) {
  const Options *options = session->options;
  const char *path = options->original ? options->original : options->program;
  compareSignature("argument", program->arguments, program->nArguments,
                   original->program->arguments, original->program->nArguments, path);
  compareSignature("result", program->results, program->nResults, original->program->results,
                   original->program->nResults, path);
  checkMemory(original->program, true, "the unsharded program");
}

static void sayValues(const Options *options, const ValueSet *values) {
  if (options->quiet)
    return;
  if (values->random)
    printf("values: %sdrawn from seed %" PRIu64 "\n", values->fromFiles ? "files, the rest " : "",
           options->seed);
  else if (values->fromFiles)
    printf("values: %s\n", options->data);
}

/// A reference whose values are in the true shapes of `dims`, in storage: [nResults] new arrays.
static const void **padReference(const ShardProgram *program, const int64_t *dims, size_t nResults,
                                 const void *const *values) {
  const void **padded = memoryZeroed(nResults * sizeof *padded);
  for (int32_t i = 0; i < program->nResults; ++i) {
    const ShardProgramValue *value = &program->results[i];
    if (values[value->index])
      padded[value->index] = sizesPad(program, value, dims, values[value->index]);
  }
  return padded;
}

static void freeAll(size_t n, const void *const *values) {
  for (size_t i = 0; i < n; ++i)
    free((void *)values[i]);
  free((void *)values);
}

/// One run of the program: what it is compared with, and what must be freed after it.
typedef struct Run {
  const Session *session;
  const int64_t *dims;         // extents; null: none is dynamic
  ShardProgram *selected;      // of the extents
  const ShardProgram *stored;  // as its values lie
  const ShardProgram *program; // in the true shapes of `dims`
  ShardProgram *sized;         // the same, if there are any
  Compiled original;           // of --check
  ValueOptions valueOptions;
  ValueSet values;
  bool *exact;
  size_t nResults, nReferences;
  Reference references[2];
  const void **padded[2]; // values of the references in storage
  const void **valid;     // [nResults] which stored elements are; null: all
  Execution originalRun, execution;
  ShardNpyArray *expected;
  ShardSafetensors *expectedSet;
  const void **expectedValues;
} Run;

static void compileOriginalOf(Run *run, bool first) {
  const Session *session = run->session;
  char *text = sizesFormat(run->stored, run->dims);
  compileOriginal(session->compiler, session->source, text, &run->original);
  free(text);
  checkOriginal(session, run->program, &run->original);
  if (first && session->options->rules)
    checkRules(session->compiler, run->original.imported);
}

static void drawValues(Run *run) {
  const Options *options = run->session->options;
  // What the original says about its arguments holds for every layout of it.
  const Compiled *describes = run->original.program ? &run->original : run->session->compiled;
  run->valueOptions = (ValueOptions){.dataPath = options->data,
                                     .seeded = options->seeded,
                                     .seed = options->seed,
                                     .wholeNumbers = options->integers ? 2 : 0,
                                     .distributions = describes->distributions,
                                     .nDistributions = describes->nDistributions,
                                     .describing = describes->program};
  if (options->exact)
    run->exact = demandExact(&run->original, &run->valueOptions, options->quiet);
  valuesCreate(run->program, &run->valueOptions, &run->values);
  sayValues(options, &run->values);
}

static void addReferences(Run *run) {
  const Options *options = run->session->options;
  if (run->original.program) {
    ValueSet originalValues;
    valuesCreate(run->original.program, &run->valueOptions, &originalValues);
    ExecuteOptions once = {.iterations = 1, .keepResults = true};
    executeProgram(run->original.program, &originalValues, &once, &run->originalRun);
    valuesRelease(&originalValues);
    run->references[run->nReferences++] =
        (Reference){.what = "the unsharded program",
                    .nResults = run->originalRun.nResults,
                    .values = (const void *const *)run->originalRun.results,
                    .tolerance = options->integers && options->rtol < 0 ? 0 : options->rtol,
                    .own = true,
                    .exact = run->exact};
  }
  run->expectedValues = memoryZeroed(run->nResults * sizeof *run->expectedValues);
  if (options->expect) {
    run->expected = readExpected(options, run->program, run->expectedValues, &run->expectedSet);
    run->references[run->nReferences++] = (Reference){.what = "the stored results",
                                                      .nResults = run->nResults,
                                                      .values = run->expectedValues,
                                                      .tolerance = options->rtol};
  }
}

/// Values and references in storage.
static void padRun(Run *run) {
  const ShardProgram *stored = run->stored;
  sizesPadValues(stored, run->dims, false, &run->values);
  run->valid = memoryZeroed(run->nResults * sizeof *run->valid);
  for (int32_t i = 0; i < stored->nResults; ++i)
    run->valid[stored->results[i].index] = sizesFindValid(stored, &stored->results[i], run->dims);
  for (size_t i = 0; i < run->nReferences; ++i)
    run->references[i].values = run->padded[i] =
        padReference(stored, run->dims, run->nResults, run->references[i].values);
}

static void executeRun(Run *run) {
  const Options *options = run->session->options;
  ExecuteOptions execute = {.iterations = options->iterations,
                            .nReferences = run->nReferences,
                            .references = run->references,
                            .keepResults = options->save != NULL,
                            .checkMemory = options->checkMemory,
                            .isolated = options->isolate,
                            .dims = run->dims,
                            .valid = (const unsigned char *const *)run->valid};
  Execution *execution = &run->execution;
  executeProgram(run->stored, &run->values, &execute, execution);
  for (size_t i = 0; i < run->originalRun.nFaults; ++i) {
    execution->faults =
        memoryGrow(execution->faults, (execution->nFaults + 1) * sizeof *execution->faults);
    if (asprintf(&execution->faults[execution->nFaults++], "unsharded program: %s",
                 run->originalRun.faults[i]) < 0)
      stop("out of memory");
  }
  for (int32_t i = 0; run->dims && options->save && i < run->stored->nResults; ++i) {
    const ShardProgramValue *result = &run->stored->results[i];
    void **kept = &execution->results[result->index];
    void *whole = sizesStrip(run->stored, result, run->dims, *kept);
    free(*kept);
    *kept = whole;
  }
}

static void releaseRun(Run *run) {
  executionRelease(&run->execution);
  executionRelease(&run->originalRun);
  for (int32_t i = 0; run->expected && i < run->program->nResults; ++i)
    shardNpyRelease(&run->expected[i]);
  free(run->expected);
  shardSafetensorsDestroy(run->expectedSet);
  free(run->expectedValues);
  for (size_t i = 0; i < 2; ++i)
    if (run->padded[i])
      freeAll(run->nResults, run->padded[i]);
  if (run->valid)
    freeAll(run->nResults, run->valid);
  valuesRelease(&run->values);
  free(run->exact);
  compiledRelease(&run->original);
  free(run->sized);
  free(run->selected);
}

/// Looks for the first op that differs: in the original, or where the program has bounds in an
/// original with the same.
static void bisectRun(const Run *run) {
  const Session *session = run->session;
  Compiled bounded = {0};
  if (run->dims) {
    char *text = sizesFormatBounds(session->compiled->program);
    compileOriginal(session->compiler, session->source, text, &bounded);
    free(text);
  }
  bisectProgram(session->compiler, session->compiled, run->dims ? &bounded : &run->original,
                &run->valueOptions, run->dims);
  compiledRelease(&bounded);
}

/// One run of the program, with extents `dims` or null, and its comparisons. Whether they held.
static bool runOnce(const Session *session, const int64_t *dims, bool first) {
  const Options *options = session->options;
  const ShardProgram *program = session->compiled->program;
  Run run = {.session = session, .dims = dims, .selected = sizesSelect(program, dims)};
  run.stored = run.selected;
  run.sized = dims ? sizesApply(run.stored, dims) : NULL;
  run.program = run.sized ? run.sized : run.stored;
  run.nResults = resultLimit(run.program);
  if (dims && !options->quiet) {
    char *text = sizesFormat(run.stored, dims);
    printf("%ssizes: %s", first ? "" : "\n", text);
    free(text);
    text = sizesFormat(run.stored, NULL);
    printf("%s%s\n", program->nBuckets ? "; stored for up to " : "", program->nBuckets ? text : "");
    free(text);
  }
  if (!mlirOperationIsNull(session->source))
    compileOriginalOf(&run, first);
  drawValues(&run);
  addReferences(&run);
  if (dims)
    padRun(&run);
  executeRun(&run);
  if (options->json)
    reportJson(run.program, &run.execution, options->json);
  if (options->save)
    reportSave(run.program, &run.execution, options->save);
  bool held = reportText(run.program, &run.execution, options->quiet);
  if (!held && options->bisect)
    bisectRun(&run);
  releaseRun(&run);
  return held;
}

/// Options that have one place for the figures or results of one run.
static void checkSizes(const Options *options, const Sizes *sizes) {
  const char *single = options->json   ? "json"
                       : options->save ? "save"
                       : options->data ? "data"
                                       : NULL;
  if (sizes->nRuns > 1 && single)
    stop("--%s is for one size; --sizes asks for %" PRId32, single, sizes->nRuns);
}

int main(int argc, char **argv) {
  shardOutputFilesGuard();
  Options options;
  optionsParse(argc, argv, &options);
  if (options.measure) {
    measureMachine(&options);
    return 0;
  }
  if (options.results && strcmp(options.results, "whole") && strcmp(options.results, "split"))
    stop("--results=%s: expected whole or split", options.results);
  struct stat status;
  if (options.data && stat(options.data, &status) != 0)
    stop("there is no data folder or .safetensors file '%s'", options.data);
  if (options.save && !shardSafetensorsNamed(options.save) &&
      (stat(options.save, &status) != 0 || !S_ISDIR(status.st_mode)))
    stop("there is no folder '%s' to save results in", options.save);

  Compiler compiler;
  compilerCreate(&options, &compiler);
  Compiled compiled = {0};
  Session session = {.options = &options, .compiler = &compiler, .compiled = &compiled};
  session.source = loadProgram(&options, &compiler, &compiled);
  const ShardProgram *program = compiled.program;
  int64_t nRanks = meshRankCount(program);
  if (options.ranks && options.ranks != nRanks)
    stop("--ranks=%" PRId64 ", but the program's mesh has %" PRId64 " rank%s", options.ranks,
         nRanks,
         nRanks > 1                                 ? "s"
         : compiled.unsharded && !options.autoShard ? "; --auto-shard=LIST shards it"
                                                    : "");
  checkMemory(program, options.save != NULL, "the program");
  Sizes sizes = sizesCreate(program, &options);
  checkSizes(&options, &sizes);
  if (options.bisect)
    bisectCheck(&compiled, &options);
  bool held = true;
  for (int32_t run = 0; run < sizes.nRuns; ++run)
    held &= runOnce(&session, sizes.dims ? sizes.dims + run * program->nDims : NULL, run == 0);

  free(sizes.dims);
  if (!mlirOperationIsNull(session.source))
    mlirOperationDestroy(session.source);
  compiledRelease(&compiled);
  compilerRelease(&compiler);
  free(options.dims);
  free(options.sizes);
  return held ? 0 : 1;
}
