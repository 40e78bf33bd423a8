//===- Driver.c - shard-opt --auto-shard --------------------------*- C -*-===//
#define _GNU_SOURCE
#include "Driver.h"

#include "Analyse.h"
#include "Memory.h"
#include "RankFilesOptions.h"
#include "Simulate.h"
#include "Weights.h"

#include "../common/OutputFile.h"
#include "../common/Safetensors.h"
#include "../model/RankFiles.h"

#include "shard/Emit.h"
#include "shard/Layout.h"
#include "shard/MemoryPlan.h"
#include "shard/Pipelines.h"
#include "shard/Report.h"

#include "mlir-c/IR.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef struct Driver {
  const ShardOptOptions *options;
  ShardInputFile *input; // null: not read yet
  MlirContext context;
  MlirModule module;
  bool failed;     // an error has been printed
  bool notStopped; // nothing to go on from: the caller's business
  ShardReport *report;
  char *explained;   // text of --explain, or null
  char *annotations; // text for --dump-annotations; null until the pass has run
  size_t nWarnings;
  char **warnings;
  bool limitChecked;        // --memory-limit was compared with
  ShardOutputFile *pending; // [nReports + 2], of which nPending are open
  int nPending;
  ShardOptWeights weights;
  // Progress on a terminal.
  bool showsProgress, lineOpen;
  struct timespec start;
} Driver;

static void clearProgress(Driver *driver) {
  if (driver->lineOpen)
    fputs("\r\033[K", stderr);
  driver->lineOpen = false;
}

__attribute__((format(printf, 2, 3))) static bool fail(Driver *driver, const char *format, ...) {
  if (driver->failed) // one error a failure
    return false;
  driver->failed = true;
  clearProgress(driver);
  va_list arguments;
  va_start(arguments, format);
  shardOptError(format, arguments);
  va_end(arguments);
  return false;
}

static void printPart(MlirStringRef text, void *stream) {
  fwrite(text.data, 1, text.length, stream);
}

static void keepWarning(Driver *driver, MlirDiagnostic diagnostic) {
  char *text = NULL;
  size_t length = 0;
  FILE *stream = open_memstream(&text, &length);
  if (!stream)
    return;
  mlirDiagnosticPrint(diagnostic, printPart, stream);
  fclose(stream);
  char **grown = realloc(driver->warnings, (driver->nWarnings + 1) * sizeof *grown);
  if (!grown) {
    free(text);
    return;
  }
  driver->warnings = grown;
  driver->warnings[driver->nWarnings++] = text;
}

static MlirLogicalResult printDiagnostic(MlirDiagnostic diagnostic, void *user) {
  Driver *driver = user;
  MlirDiagnosticSeverity severity = mlirDiagnosticGetSeverity(diagnostic);
  // What the user should know stands in the report, quiet or not.
  if (severity == MlirDiagnosticWarning || severity == MlirDiagnosticRemark)
    keepWarning(driver, diagnostic);
  if (severity == MlirDiagnosticError ? driver->failed : driver->options->quiet)
    return mlirLogicalResultSuccess();
  if (severity == MlirDiagnosticRemark && driver->options->outputGiven)
    return mlirLogicalResultSuccess(); // the screen at the end has it
  driver->failed |= severity == MlirDiagnosticError;
  clearProgress(driver);
  shardDiagnosticFormat(diagnostic, "shard-opt", printPart, stderr);
  return mlirLogicalResultSuccess();
}

static void showProgress(void *user, const char *pass, intptr_t index, intptr_t count) {
  Driver *driver = user;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (!driver->showsProgress || now.tv_sec - driver->start.tv_sec < 1)
    return;
  fprintf(stderr, "\r\033[K[%d/%d] %s", (int)index + 1, (int)count, pass);
  fflush(stderr);
  driver->lineOpen = true;
}

typedef MlirLogicalResult (*TextWriter)(MlirOperation module, FILE *stream);

static MlirLogicalResult writeAnnotations(MlirOperation module, FILE *stream) {
  return shardModuleWriteAnnotations(module, printPart, stream);
}

static MlirLogicalResult explainModule(MlirOperation module, FILE *stream) {
  return shardModuleExplain(module, printPart, stream);
}

// What is written of a module, in `*text`; null after a failure.
static bool keepText(char **text, TextWriter write, MlirOperation module) {
  size_t length = 0;
  free(*text);
  *text = NULL;
  FILE *stream = open_memstream(text, &length);
  if (!stream)
    return false;
  bool ok = mlirLogicalResultIsSuccess(write(module, stream));
  fclose(stream);
  if (!ok) {
    free(*text);
    *text = NULL;
  }
  return ok;
}

static void inspectModule(void *user, const char *pass, MlirOperation module) {
  Driver *driver = user;
  const ShardOptOptions *options = driver->options;
  if (options->dumpAnnotations && strcmp(pass, "shard-propagate") == 0)
    keepText(&driver->annotations, writeAnnotations, module);
  if (strcmp(pass, "shard-spmdize") != 0)
    return;
  if (options->memoryLimit >= 0) {
    driver->limitChecked = true;
    if (!shardOptCheckMemoryLimit(options, module)) {
      driver->failed = true;
      return;
    }
  }
  ShardOptTimes times = {NULL, NULL};
  bool timed = options->cluster && (options->nReports || options->trace);
  if (timed && !shardOptTimesCreate(options, module, &times)) // its warnings stand in the report
    driver->failed = true;
  else
    driver->report = shardReportCreate(module, (intptr_t)driver->nWarnings,
                                       (const char *const *)driver->warnings);
  if (driver->report && timed)
    shardReportAddTimes(driver->report, times.cluster, times.simulation);
  shardOptTimesRelease(&times);
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

// Reports and annotations wait beside their places until the main output is there.
static bool prepareText(Driver *driver, const char *path, MlirStringRef text) {
  ShardOutputFile *file = &driver->pending[driver->nPending];
  char message[512];
  if (!shardOutputFileOpen(path, file, message, sizeof message))
    return fail(driver, "%s", message);
  ++driver->nPending;
  if (fwrite(text.data, 1, text.length, file->stream) == text.length && fflush(file->stream) == 0)
    return true;
  return fail(driver, "cannot write '%s': %s", path, strerror(errno));
}

static MlirStringRef reportText(ShardReport *report, const char *path) {
  const char *suffix = strrchr(path, '.');
  if (strcmp(suffix, ".html") == 0)
    return shardReportGetPage(report);
  return strcmp(suffix, ".json") == 0 ? shardReportGetJson(report) : shardReportGetText(report);
}

static bool prepareTexts(Driver *driver) {
  const ShardOptOptions *options = driver->options;
  driver->pending = calloc((size_t)options->nReports + 2, sizeof *driver->pending);
  if (!driver->pending)
    return fail(driver, "out of memory");
  if (options->dumpAnnotations && !prepareText(driver, options->dumpAnnotations,
                                               mlirStringRefCreateFromCString(driver->annotations)))
    return false;
  if (options->trace && !prepareText(driver, options->trace, shardReportGetTrace(driver->report)))
    return false;
  for (int i = 0; i < options->nReports; ++i)
    if (!prepareText(driver, options->reports[i], reportText(driver->report, options->reports[i])))
      return false;
  return true;
}

static bool commitTexts(Driver *driver) {
  char message[512];
  if (driver->weights.path && !shardOptWeightsCommit(&driver->weights, message, sizeof message))
    return fail(driver, "%s", message);
  while (driver->nPending)
    if (!shardOutputFileCommit(&driver->pending[--driver->nPending], message, sizeof message))
      return fail(driver, "%s", message);
  return true;
}

static const char *emitName(ShardOptEmit emit) {
  return emit == SHARD_OPT_EMIT_LLVM      ? "llvm"
         : emit == SHARD_OPT_EMIT_BUFFERS ? "buffers"
                                          : "object or shared";
}

static void printModule(Driver *driver, FILE *stream) {
  const ShardOptOptions *options = driver->options;
  MlirOperation op = mlirModuleGetOperation(driver->module);
  if (options->bytecode) {
    mlirOperationWriteBytecode(op, printPart, stream);
    return;
  }
  MlirOpPrintingFlags flags = mlirOpPrintingFlagsCreate();
  mlirOpPrintingFlagsAssumeVerified(flags); // the pipeline has verified it
  // What goes on from a stop still names the lines of the model in its messages and reports.
  if (options->debugInfo || options->stopAfter)
    mlirOpPrintingFlagsEnableDebugInfo(flags, /*enable=*/true, /*prettyForm=*/false);
  mlirOperationPrintWithFlags(op, flags, printPart, stream);
  mlirOpPrintingFlagsDestroy(flags);
  fputc('\n', stream);
}

// One file for each rank, instead of the program.
static bool splitWeights(Driver *driver, MlirOperation op) {
  const ShardOptOptions *options = driver->options;
  const char *stage = shardModuleGetStage(op);
  if (!stage || strcmp(stage, "shard-spmdize") != 0)
    return fail(driver, "'--split-weights' needs a sharded program: %s",
                stage ? "the input is lowered already" : "add --auto-shard=LIST");
  ShardLayout *layout = shardLayoutCreate(op);
  if (!layout)
    return false;
  char message[1024];
  bool ok = rankFilesSplit(shardLayoutGetProgram(layout), options->splitWeights, options->output,
                           message, sizeof message);
  shardLayoutDestroy(layout);
  if (!ok && strstr(message, ": error: ")) { // has a place of its own
    driver->failed = true;
    clearProgress(driver);
    fprintf(stderr, "%s\n", message);
    return false;
  }
  return ok || fail(driver, "%s", message);
}

// Emits to a file of that name, or to standard output.
static bool emitCode(Driver *driver) {
  const ShardOptOptions *options = driver->options;
  MlirOperation op = mlirModuleGetOperation(driver->module);
  if (options->emit == SHARD_OPT_EMIT_OBJECT)
    return mlirLogicalResultIsSuccess(shardEmitObject(op, options->mcpu, options->output));
  if (options->emit == SHARD_OPT_EMIT_SHARED)
    return mlirLogicalResultIsSuccess(shardEmitShared(op, options->mcpu, options->output));
  if (options->emit == SHARD_OPT_EMIT_BUFFERS &&
      mlirLogicalResultIsFailure(shardModulePlanBuffers(op, options->mcpu)))
    return false;
  ShardOutputFile file;
  char message[512];
  if (!shardOutputFileOpen(options->output, &file, message, sizeof message))
    return fail(driver, "%s", message);
  if (options->emit == SHARD_OPT_EMIT_MLIR || options->emit == SHARD_OPT_EMIT_BUFFERS) {
    printModule(driver, file.stream);
  } else if (mlirLogicalResultIsFailure(shardEmitLLVM(op, options->mcpu, printPart, file.stream))) {
    shardOutputFileAbandon(&file);
    return false;
  }
  return shardOutputFileCommit(&file, message, sizeof message) || fail(driver, "%s", message);
}

// Nothing long runs before an output that cannot be written.
static bool checkWritable(Driver *driver, const char *path) {
  char message[512];
  return shardOutputFileCheck(path, message, sizeof message) || fail(driver, "%s", message);
}

static bool samePath(const char *a, const char *b) {
  return a && b && strcmp(a, "-") != 0 && strcmp(a, b) == 0;
}

static bool checkStopAfter(Driver *driver, const char *pass) {
  char names[512] = "";
  size_t length = 0;
  for (intptr_t i = 0; i < shardPipelineGetPassCount(); ++i) {
    const char *name = shardPipelineGetPass(i);
    if (strcmp(name, pass) == 0)
      return true;
    length +=
        (size_t)snprintf(names + length, sizeof names - length, "%s'%s'", i ? ", " : "", name);
    if (length >= sizeof names)
      break;
  }
  return fail(driver, "'--stop-after=%s': no such pass; the passes are %s", pass, names);
}

static bool checkTrace(Driver *driver) {
  const ShardOptOptions *options = driver->options;
  if (!options->cluster)
    return fail(driver, "'--trace' needs a cluster: --cluster=FILE|PRESET[:DEVICES]");
  if (samePath(options->trace, options->output))
    return fail(driver, "'%s' is both the output and the trace", options->output);
  for (int i = 0; i < options->nReports; ++i)
    if (samePath(options->reports[i], options->trace))
      return fail(driver, "'%s' is both a report and the trace", options->trace);
  return true;
}

static bool checkOptions(Driver *driver) {
  const ShardOptOptions *options = driver->options;
  char message[512];
  if (options->degrees && !shardPipelineCheckDegrees(options->degrees, message, sizeof message))
    return fail(driver, "'--auto-shard=%s': %s", options->degrees, message);
  if (options->stopAfter && !checkStopAfter(driver, options->stopAfter))
    return false;
  bool code = options->emit != SHARD_OPT_EMIT_MLIR;
  if (code && options->stopAfter)
    return fail(driver, "'--stop-after' prints MLIR; it does not go with --emit=%s",
                emitName(options->emit));
  if (code && options->stage >= 0)
    return fail(driver, "'--stage' prints MLIR; one shared object holds all stages");
  if (code && options->bytecode)
    return fail(driver, "'--emit-bytecode' goes with --emit=mlir only");
  bool binary = options->emit == SHARD_OPT_EMIT_OBJECT || options->emit == SHARD_OPT_EMIT_SHARED;
  if (binary && strcmp(options->output, "-") == 0)
    return fail(driver, "an object needs a file: -o FILE");
  for (int i = 0; i < options->nReports; ++i)
    if (samePath(options->reports[i], options->output))
      return fail(driver, "'%s' is both the output and a report", options->output);
  if (samePath(options->dumpAnnotations, options->output))
    return fail(driver, "'%s' is both the output and the annotations", options->output);
  if (options->trace && !checkTrace(driver))
    return false;
  if (options->analyse && !shardOptCheckAnalyse(options))
    return !(driver->failed = true);
  if (!shardOptCheckWarnings(options))
    return !(driver->failed = true);
  if (options->targetParameters > 0 && !options->analyse)
    return fail(driver, "'--target-parameters' is for --analyse");
  if (options->memoryPlan && !shardOptCheckMemoryPlan(options))
    return !(driver->failed = true);
  if (options->simulate && !shardOptCheckSimulate(options))
    return !(driver->failed = true);
  if (options->splitWeights && !shardOptCheckSplit(options))
    return !(driver->failed = true);
  bool ok = options->splitWeights || checkWritable(driver, options->output);
  for (int i = 0; ok && i < options->nReports; ++i)
    ok = checkWritable(driver, options->reports[i]);
  ok = ok && (!options->trace || checkWritable(driver, options->trace));
  return ok && (!options->dumpAnnotations || checkWritable(driver, options->dumpAnnotations));
}

static bool parseInput(Driver *driver) {
  const char *path = driver->options->input;
  if (driver->input) {
    driver->module = shardModuleParse(
        driver->context, mlirStringRefCreate(driver->input->bytes, driver->input->sizeBytes),
        strcmp(path, "-") == 0 ? "<stdin>" : path);
  } else {
    shardOptWarnTerminal(path);
    driver->module = shardModuleParseFile(driver->context, path);
  }
  return !mlirModuleIsNull(driver->module);
}

// Before any other pass: the pipeline then sees the model with its weights as arguments.
static bool extractWeights(Driver *driver, MlirOperation op, const char *stage) {
  const ShardOptOptions *options = driver->options;
  char message[512];
  if (stage && strcmp(stage, "shard-import") != 0)
    return fail(driver, "'--extract-weights' takes a model; '%s' comes from after '%s'",
                options->input, stage);
  if (!shardOptWeightsBegin(options->extractWeights, &driver->weights, message, sizeof message))
    return fail(driver, "%s", message);
  return mlirLogicalResultIsSuccess(
             shardModuleExtractWeights(op, options->function, driver->weights.temporary)) &&
         (mlirOperationVerify(op) || fail(driver, "internal error: the module is not valid"));
}

// The model as it was compiled: its ops, its entry, its extents.
static void printOriginal(const ShardOptOptions *options) {
  fprintf(stderr, " --check=%s", options->input);
  if (options->function)
    fprintf(stderr, " --function=%s", options->function);
  if (options->rules)
    fprintf(stderr, " --rules=%s", options->rules);
  if (options->dims && options->args) // names of arguments
    fprintf(stderr, " --args=%s", options->args);
  if (options->dims)
    fprintf(stderr, " '--dim=%s'", options->dims);
}

// A command that works as it stands, or nothing: shard-run takes neither a part of the program nor
// code that is not linked, and no path that is not a file (/dev/null).
static void printNext(const ShardOptOptions *options, const char *stage) {
  struct stat status;
  if (options->stage >= 0 || options->emit == SHARD_OPT_EMIT_BUFFERS ||
      options->emit == SHARD_OPT_EMIT_LLVM || options->emit == SHARD_OPT_EMIT_OBJECT ||
      stat(options->output, &status) != 0 || !S_ISREG(status.st_mode))
    return;
  fprintf(stderr, "next: shard-run %s", options->output);
  const char *taken = options->extractWeights;
  bool readable = taken && stat(taken, &status) == 0 &&
                  (S_ISDIR(status.st_mode) || shardSafetensorsNamed(taken));
  if (readable)
    fprintf(stderr, " --data=%s", taken);
  // Nothing to compare with: the model is not known any more, or its weights are arguments that
  // shard-run would draw.
  if (!stage && strcmp(options->input, "-") != 0 && (readable || !taken))
    printOriginal(options);
  fputc('\n', stderr);
}

static bool run(Driver *driver) {
  const ShardOptOptions *options = driver->options;
  if (!checkOptions(driver))
    return false;
  if (!parseInput(driver))
    return false;
  MlirOperation op = mlirModuleGetOperation(driver->module);
  const char *stage = shardModuleGetStage(op);
  if (stage && options->degrees && strcmp(stage, "shard-import") != 0 &&
      strcmp(stage, "shard-annotate") != 0 && strcmp(stage, "shard-outline-layers") != 0)
    return fail(driver,
                "'%s' is sharded already (it comes from after '%s'); leave --auto-shard out",
                options->input, stage);
  if (options->extractWeights && !extractWeights(driver, op, stage))
    return false;
  if (stage && (strcmp(stage, "shard-propagate") == 0 || strcmp(stage, "shard-spmdize") == 0))
    inspectModule(driver, stage, op);
  bool program = !stage && shardOptReportsProgram(options, op);
  if (program) // written by hand, or by another tool
    inspectModule(driver, "shard-spmdize", op);
  if (stage && options->dumpAnnotations && strcmp(stage, "shard-spmdize") == 0)
    keepText(&driver->annotations, writeAnnotations, op);

  bool marked = !mlirAttributeIsNull(
      mlirOperationGetAttributeByName(op, mlirStringRefCreateFromCString("spmd.after")));
  if (options->analyse && stage && strcmp(stage, "shard-import") != 0 &&
      strcmp(stage, "shard-annotate") != 0 && strcmp(stage, "shard-outline-layers") != 0)
    return fail(driver, "'--analyse' takes a model; '%s' comes from after '%s'", options->input,
                stage);
  bool runsPasses =
      options->degrees || options->analyse || ((stage || marked) && !options->extractWeights);
  if (runsPasses) {
    ShardPipelineOptions pipeline = shardPipelineOptionsGetDefault();
    pipeline.degrees = options->degrees;
    pipeline.function = options->function;
    pipeline.argsFile = options->args;
    pipeline.annotations = options->annotations;
    pipeline.dims = options->dims;
    pipeline.buckets = options->buckets;
    if (!stage && !options->buckets && (options->analyse || options->splitWeights))
      pipeline.buckets = "1"; // only the bounds are looked at
    pipeline.splitResults = options->splitResults;
    pipeline.rules = options->rules;
    pipeline.noImplicitReplication = options->noImplicitReplication;
    pipeline.forbid = options->forbid;
    pipeline.maxCommBytes = options->maxCommBytes;
    pipeline.noImplicitComm = options->noImplicitComm;
    pipeline.lower =
        options->emit != SHARD_OPT_EMIT_MLIR && options->emit != SHARD_OPT_EMIT_BUFFERS;
    pipeline.mcpu = options->mcpu;
    pipeline.stopAfter = options->analyse ? "shard-outline-layers" : options->stopAfter;
    pipeline.verifyEach = options->verifyEach;
    pipeline.progress = showProgress;
    pipeline.inspect = inspectModule;
    pipeline.userData = driver;
    if (mlirLogicalResultIsFailure(shardPipelineRun(op, &pipeline)))
      return false;
  } else if (driver->input) { // it only looked stopped
    driver->notStopped = true;
    return true;
  } else if (!options->extractWeights && !options->simulate && !options->memoryPlan && !program) {
    return fail(driver, "'%s' is not sharded, and no --auto-shard=LIST says how", options->input);
  }
  clearProgress(driver);
  if (driver->failed) // a report that could not be made
    return false;
  if (!runsPasses && !options->simulate && !options->memoryPlan && !program &&
      (options->nReports || options->trace || options->dumpAnnotations || options->stage >= 0 ||
       options->emit != SHARD_OPT_EMIT_MLIR))
    return fail(driver, "'--extract-weights' alone does not shard; add --auto-shard=LIST");
  if ((options->nReports || options->trace) && !driver->report)
    return fail(driver, "'--%s' needs the sharded program: %s",
                options->nReports ? "report" : "trace",
                options->stopAfter ? "--stop-after ends before 'shard-spmdize'"
                                   : "the input is lowered already");
  if (options->dumpAnnotations && !driver->annotations)
    return fail(driver, "'--dump-annotations' needs the layout: %s",
                options->stopAfter ? "--stop-after ends before 'shard-propagate'"
                                   : "the input is lowered already");
  if (options->memoryLimit >= 0 && !driver->limitChecked)
    return fail(driver, "'--memory-limit' needs the sharded program: %s",
                options->stopAfter ? "the run ends before 'shard-spmdize'"
                : stage            ? "the input is lowered already"
                                   : "add --auto-shard=LIST");
  if (options->analyse) {
    bool ok = shardOptAnalyse(options, op);
    driver->failed |= !ok;
    return ok;
  }
  if (options->memoryPlan) {
    bool ok = shardOptMemoryPlan(options, op);
    driver->failed |= !ok;
    return ok && prepareTexts(driver) && commitTexts(driver);
  }
  if (options->simulate) {
    bool ok = shardOptSimulate(options, op);
    driver->failed |= !ok;
    return ok && prepareTexts(driver) && commitTexts(driver);
  }
  if (options->stage >= 0 && mlirLogicalResultIsFailure(shardModuleKeepStage(op, options->stage)))
    return false;
  if (options->explain && !keepText(&driver->explained, explainModule, op))
    return false;
  if (!prepareTexts(driver) ||
      !(options->splitWeights ? splitWeights(driver, op) : emitCode(driver)) ||
      !commitTexts(driver))
    return false;
  if (driver->explained)
    fputs(driver->explained, stderr);
  if (driver->report && !options->splitWeights && options->outputGiven && !options->quiet) {
    MlirStringRef summary = shardReportGetSummary(driver->report);
    fwrite(summary.data, 1, summary.length, stderr);
    printNext(options, stage);
  }
  return true;
}

int shardOptDrive(const ShardOptOptions *options, ShardInputFile *input) {
  Driver driver = {.options = options,
                   .input = input,
                   .showsProgress = !options->quiet && isatty(STDERR_FILENO)};
  clock_gettime(CLOCK_MONOTONIC, &driver.start);
  driver.context = mlirContextCreateWithThreading(false);
  if (options->oneThread)
    mlirContextEnableMultithreading(driver.context, false);
  mlirContextAttachDiagnosticHandler(driver.context, printDiagnostic, &driver, NULL);
  shardContextPrepare(driver.context);
  if (options->rules) // the file says what ops there are beside MLIR's
    mlirContextSetAllowUnregisteredDialects(driver.context, true);
  bool ok = run(&driver);
  if (!ok && !driver.failed) // a failure that nobody explained is a fault of ours, but not silent
    fail(&driver, "internal error: a step failed without saying why");
  // The process ends: only what others see is put away. Destroying a large module takes as long as
  // parsing a tenth of it.
  while (driver.nPending)
    shardOutputFileAbandon(&driver.pending[--driver.nPending]);
  shardOptWeightsAbandon(&driver.weights);
  free(driver.pending);
  fflush(stdout);
  shardReportDestroy(driver.report);
  for (size_t i = 0; i < driver.nWarnings; ++i)
    free(driver.warnings[i]);
  free(driver.warnings);
  free(driver.annotations);
  free(driver.explained);
#if defined(__SANITIZE_ADDRESS__)
  if (!mlirModuleIsNull(driver.module))
    mlirModuleDestroy(driver.module);
  mlirContextDestroy(driver.context);
#endif
  return driver.notStopped ? -1 : ok ? 0 : 1;
}

bool shardOptInputIsStopped(const ShardInputFile *input) {
  return memmem(input->bytes, input->sizeBytes, "spmd.after", strlen("spmd.after")) != NULL;
}
