//===- ShardRun.c - Run a program on CPU ranks and compare --------*- C -*-===//
#define _GNU_SOURCE

#include "Element.h"
#include "Exact.h"
#include "Execute.h"
#include "Initialize.h"
#include "Memory.h"
#include "Options.h"
#include "Report.h"
#include "Values.h"

#include "shard/Load.h"
#include "shard/Pipelines.h"

#include "mlir-c/Diagnostics.h"
#include "mlir-c/IR.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/// The first error of a context, with its notes.
typedef struct Messages {
  char *error;
  size_t length;
  bool failed;
} Messages;

static void appendText(MlirStringRef text, void *user) {
  Messages *messages = user;
  messages->error = memoryGrow(messages->error, messages->length + text.length + 1);
  memcpy(messages->error + messages->length, text.data, text.length);
  messages->length += text.length;
  messages->error[messages->length] = 0;
}

static void printText(MlirStringRef text, void *user) { fwrite(text.data, 1, text.length, user); }

static MlirLogicalResult handleDiagnostic(MlirDiagnostic diagnostic, void *user) {
  Messages *messages = user;
  MlirDiagnosticSeverity severity = mlirDiagnosticGetSeverity(diagnostic);
  if (severity == MlirDiagnosticError && !messages->failed) {
    messages->failed = true;
    shardDiagnosticFormat(diagnostic, "shard-run", appendText, messages);
  } else if (severity == MlirDiagnosticWarning) {
    shardDiagnosticFormat(diagnostic, "shard-run", printText, stderr);
  }
  return mlirLogicalResultSuccess();
}

/// A program in memory, and what its module says about arguments to draw.
typedef struct Compiled {
  ShardLoaded *loaded;
  const ShardProgram *program;
  Distribution *distributions;
  size_t nDistributions;
  bool unsharded;         // before it was compiled here
  bool keepImported;      // wanted: the module after shard-import
  MlirOperation imported; // to be destroyed
} Compiled;

typedef struct Compiler {
  const Options *options;
  MlirContext context;
  Messages messages;
  char *dims;     // joined by commas, or null
  char *argsFile; // or null
} Compiler;

static _Noreturn void stopWithMessages(const Compiler *compiler, const char *path) {
  if (!compiler->messages.error)
    stop("'%s' cannot be compiled", path);
  char *text = compiler->messages.error;
  while (compiler->messages.length && text[strlen(text) - 1] == '\n')
    text[strlen(text) - 1] = 0;
  stopWithText(text);
}

/// Long compilations show where they are, on a terminal.
static void showProgress(void *userData, const char *pass, intptr_t index, intptr_t count) {
  (void)userData;
  if (isatty(STDERR_FILENO))
    fprintf(stderr, "\r\033[K%s (%td of %td)", pass, index + 1, count);
}

static void inspectImport(void *userData, const char *pass, MlirOperation module) {
  Compiled *compiled = userData;
  if (!strcmp(pass, "shard-import") && !compiled->distributions)
    compiled->distributions = initializeFromModule(module, &compiled->nDistributions);
  if (!strcmp(pass, "shard-import") && compiled->keepImported)
    compiled->imported = mlirOperationClone(module);
}

/// Takes a module through the rest of the pipeline and into memory. `degrees` null: it goes on from
/// where it was stopped. Destroys the module.
static void compileModule(Compiler *compiler, const char *path, MlirOperation module,
                          const char *degrees, bool isOriginal, Compiled *out) {
  const Options *options = compiler->options;
  ShardPipelineOptions pipeline = shardPipelineOptionsGetDefault();
  pipeline.lower = true;
  pipeline.mcpu = options->mcpu;
  pipeline.inspect = inspectImport;
  if (!options->quiet)
    pipeline.progress = showProgress;
  pipeline.userData = out;
  out->unsharded = degrees != NULL;
  if (degrees) {
    pipeline.degrees = degrees;
    pipeline.function = options->function;
    pipeline.argsFile = compiler->argsFile;
    pipeline.annotations = isOriginal ? NULL : options->annotations; // a layout of more devices
    pipeline.dims = compiler->dims;
    pipeline.splitResults = options->results && !strcmp(options->results, "split");
  } else {
    out->distributions = initializeFromModule(module, &out->nDistributions);
  }
  MlirLogicalResult result = shardPipelineRun(module, &pipeline);
  if (pipeline.progress && isatty(STDERR_FILENO))
    fputs("\r\033[K", stderr);
  if (mlirLogicalResultIsFailure(result))
    stopWithMessages(compiler, path);
  out->loaded = shardLoadModule(module, options->mcpu);
  if (!out->loaded)
    stopWithMessages(compiler, path);
  out->program = shardLoadedGetProgram(out->loaded);
}

static bool isSharedObject(const char *path) {
  unsigned char magic[4] = {0};
  FILE *file = strcmp(path, "-") ? fopen(path, "rb") : NULL;
  if (!file)
    return false;
  bool elf = fread(magic, 1, sizeof magic, file) == sizeof magic &&
             !memcmp(magic, "\177ELF", sizeof magic);
  fclose(file);
  return elf;
}

/// Options that only a program to be compiled takes. The original of --check takes some of them
/// too.
static void rejectCompileOptions(const Options *options, const char *state) {
  const char *name = options->autoShard     ? "auto-shard"
                     : options->annotations ? "annotations"
                     : options->results     ? "results"
                     : options->original    ? NULL
                     : options->function    ? "function"
                     : options->args        ? "args"
                     : options->nDims       ? "dim"
                     : options->mcpu        ? "mcpu"
                                            : NULL;
  if (name)
    stop("--%s is for an unsharded program; '%s' is %s", name, options->program, state);
}

static void compilerCreate(const Options *options, Compiler *out) {
  *out = (Compiler){.options = options};
  out->context = mlirContextCreate();
  shardContextPrepare(out->context);
  mlirContextAttachDiagnosticHandler(out->context, handleDiagnostic, &out->messages, NULL);
  for (size_t i = 0; i < options->nDims; ++i) {
    char *joined;
    if (asprintf(&joined, "%s%s%s", out->dims ? out->dims : "", out->dims ? "," : "",
                 options->dims[i]) < 0)
      stop("out of memory");
    free(out->dims);
    out->dims = joined;
  }
  if (options->args) {
    out->argsFile = strdup(options->args);
  } else if (options->data) {
    if (asprintf(&out->argsFile, "%s/args.json", options->data) < 0)
      stop("out of memory");
    if (access(out->argsFile, R_OK) != 0) {
      free(out->argsFile);
      out->argsFile = NULL; // reported where the values are read
    }
  }
}

static MlirOperation parse(Compiler *compiler, const char *path) {
  MlirModule module = shardModuleParseFile(compiler->context, path);
  if (mlirModuleIsNull(module))
    stopWithMessages(compiler, path);
  return mlirModuleGetOperation(module);
}

/// The program and, for --check, the original.
static void loadPrograms(const Options *options, Compiler *compiler, Compiled *program,
                         Compiled *original) {
  MlirOperation sameFile = {NULL};
  if (isSharedObject(options->program)) {
    rejectCompileOptions(options, "compiled");
    char *error = NULL, *path; // without a slash it would be looked for in the system's folders
    if (asprintf(&path, "%s%s", strchr(options->program, '/') ? "" : "./", options->program) < 0)
      stop("out of memory");
    program->loaded = shardLoadShared(path, &error);
    free(path);
    if (!program->loaded)
      stop("%s", error ? error : "cannot load the program");
    program->program = shardLoadedGetProgram(program->loaded);
  } else {
    MlirOperation module = parse(compiler, options->program);
    const char *stage = shardModuleGetStage(module);
    if (stage) {
      char *state;
      if (asprintf(&state, "past %s", stage) < 0)
        stop("out of memory");
      rejectCompileOptions(options, state);
      free(state);
      compileModule(compiler, options->program, module, NULL, false, program);
    } else {
      if (options->check && !options->original) {
        if (!options->autoShard)
          stop("--check of an unsharded program needs --auto-shard=LIST");
        sameFile = mlirOperationClone(module);
      }
      compileModule(compiler, options->program, module,
                    options->autoShard ? options->autoShard : "tp1", false, program);
    }
    mlirOperationDestroy(module);
  }
  if (!options->check)
    return;
  if (!options->original && mlirOperationIsNull(sameFile))
    stop("--check needs the unsharded program, --check=ORIGINAL.mlir");
  const char *path = options->original ? options->original : options->program;
  if (mlirOperationIsNull(sameFile)) {
    sameFile = parse(compiler, path);
    const char *stage = shardModuleGetStage(sameFile);
    if (stage)
      stop("--check=%s: not the original, it is past %s", path, stage);
  }
  original->keepImported = options->exact;
  compileModule(compiler, path, sameFile, "tp1", true, original);
  mlirOperationDestroy(sameFile);
}

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
    stop("%s needs %.1f GB for arguments, results and workspaces of %" PRId64
         " ranks; %.1f GB of memory are available",
         what, 1e-9 * (double)needed, meshRankCount(program), 1e-9 * (double)available);
}

/// The stored results: [nResults] by original result. The arrays stay with the caller.
static ShardNpyArray *readExpected(const Options *options, const ShardProgram *program,
                                   const void **outValues) {
  ShardNpyArray *arrays = memoryZeroed((size_t)program->nResults * sizeof *arrays);
  struct stat status;
  if (stat(options->expect, &status) != 0 || !S_ISDIR(status.st_mode))
    stop("there is no folder '%s' of expected results", options->expect);
  for (int32_t i = 0; i < program->nResults; ++i) {
    const ShardProgramValue *value = &program->results[i];
    char *path, message[1024];
    if (asprintf(&path, "%s/out%03" PRId32 ".npy", options->expect, value->index) < 0)
      stop("out of memory");
    if (!shardNpyReadFile(path, &arrays[i], message, sizeof message))
      stop("%s", message);
    ShardProgramValue found = *value;
    found.rank = arrays[i].rank;
    found.globalShape = arrays[i].shape;
    char type[256], foundType[256];
    valuesFormatType(value, type, sizeof type);
    valuesFormatType(&found, foundType, sizeof foundType);
    if (!valuesElementOfNpy(arrays[i].type, value->element))
      stop("%s: result %" PRId32 " is of type %s, expected %s", path, value->index,
           shardNpyTypeName(arrays[i].type), elementName(value->element));
    if (strcmp(type, foundType))
      stop("%s: result %" PRId32 " is %s, expected %s", path, value->index, foundType, type);
    free(path);
    outValues[value->index] = arrays[i].data;
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
    printf("values: whole numbers up to %" PRId32 "\n", values->wholeNumbers);
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

int main(int argc, char **argv) {
  Options options;
  optionsParse(argc, argv, &options);
  if (options.results && strcmp(options.results, "whole") && strcmp(options.results, "split"))
    stop("--results=%s: expected whole or split", options.results);
  struct stat status;
  if (options.data && (stat(options.data, &status) != 0 || !S_ISDIR(status.st_mode)))
    stop("there is no data folder '%s'", options.data);
  if (options.save && (stat(options.save, &status) != 0 || !S_ISDIR(status.st_mode)))
    stop("there is no folder '%s' to save results in", options.save);

  Compiler compiler;
  compilerCreate(&options, &compiler);
  Compiled compiled = {0}, original = {0};
  loadPrograms(&options, &compiler, &compiled, &original);
  const ShardProgram *program = compiled.program;
  int64_t nRanks = meshRankCount(program);
  if (options.ranks && options.ranks != nRanks)
    stop("--ranks=%" PRId64 ", but the program's mesh has %" PRId64 " rank%s", options.ranks,
         nRanks,
         nRanks > 1                                 ? "s"
         : compiled.unsharded && !options.autoShard ? "; --auto-shard=LIST shards it"
                                                    : "");
  if (original.program) {
    const char *path = options.original ? options.original : options.program;
    compareSignature("argument", program->arguments, program->nArguments,
                     original.program->arguments, original.program->nArguments, path);
    compareSignature("result", program->results, program->nResults, original.program->results,
                     original.program->nResults, path);
    checkMemory(original.program, true, "the unsharded program");
  }
  checkMemory(program, options.save != NULL, "the program");

  // What the original says about its arguments holds for every layout of it.
  const Compiled *describes = original.program ? &original : &compiled;
  ValueOptions valueOptions = {.dataFolder = options.data,
                               .seeded = options.seeded,
                               .seed = options.seed,
                               .wholeNumbers = options.integers ? 2 : 0,
                               .distributions = describes->distributions,
                               .nDistributions = describes->nDistributions,
                               .describing = describes->program};
  bool *exact = options.exact ? demandExact(&original, &valueOptions, options.quiet) : NULL;
  ValueSet values;
  valuesCreate(program, &valueOptions, &values);
  if (!options.quiet) {
    if (values.random)
      printf("values: %sdrawn from seed %" PRIu64 "\n", values.fromFiles ? "files, the rest " : "",
             options.seed);
    else if (values.fromFiles)
      printf("values: %s\n", options.data);
  }

  size_t nResults = resultLimit(program), nReferences = 0;
  Reference references[2];
  Execution originalRun = {0};
  if (original.program) {
    ValueSet originalValues;
    valuesCreate(original.program, &valueOptions, &originalValues);
    ExecuteOptions once = {.iterations = 1, .keepResults = true};
    executeProgram(original.program, &originalValues, &once, &originalRun);
    valuesRelease(&originalValues);
    references[nReferences++] =
        (Reference){.what = "the unsharded program",
                    .nResults = originalRun.nResults,
                    .values = (const void *const *)originalRun.results,
                    .tolerance = options.integers && options.rtol < 0 ? 0 : options.rtol,
                    .own = true,
                    .exact = exact};
  }
  ShardNpyArray *expected = NULL;
  const void **expectedValues = memoryZeroed(nResults * sizeof *expectedValues);
  if (options.expect) {
    expected = readExpected(&options, program, expectedValues);
    references[nReferences++] = (Reference){.what = "the stored results",
                                            .nResults = nResults,
                                            .values = expectedValues,
                                            .tolerance = options.rtol};
  }

  ExecuteOptions execute = {.iterations = options.iterations,
                            .nReferences = nReferences,
                            .references = references,
                            .keepResults = options.save != NULL};
  Execution execution;
  executeProgram(program, &values, &execute, &execution);
  for (size_t i = 0; i < originalRun.nFaults; ++i) {
    execution.faults =
        memoryGrow(execution.faults, (execution.nFaults + 1) * sizeof *execution.faults);
    if (asprintf(&execution.faults[execution.nFaults++], "unsharded program: %s",
                 originalRun.faults[i]) < 0)
      stop("out of memory");
  }
  if (options.json)
    reportJson(program, &execution, options.json);
  if (options.save)
    reportSave(program, &execution, options.save);
  bool held = reportText(program, &execution, options.quiet);

  executionRelease(&execution);
  executionRelease(&originalRun);
  for (int32_t i = 0; expected && i < program->nResults; ++i)
    shardNpyRelease(&expected[i]);
  free(expected);
  free(expectedValues);
  valuesRelease(&values);
  free(exact);
  if (!mlirOperationIsNull(original.imported))
    mlirOperationDestroy(original.imported);
  free(compiled.distributions);
  free(original.distributions);
  shardLoadedDestroy(compiled.loaded);
  shardLoadedDestroy(original.loaded);
  mlirContextDestroy(compiler.context);
  free(compiler.messages.error);
  free(compiler.dims);
  free(compiler.argsFile);
  free(options.dims);
  return held ? 0 : 1;
}
