//===- Compile.c - From files to programs in memory ---------------*- C -*-===//
#define _GNU_SOURCE

#include "Compile.h"
#include "Memory.h"

#include "../common/Safetensors.h"
#include "shard/Pipelines.h"

#include "mlir-c/Diagnostics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
  if (!strcmp(pass, "shard-spmdize") && compiled->keepSharded)
    compiled->sharded = mlirOperationClone(module);
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
    pipeline.rules = options->rules;
    pipeline.dims = compiler->dims;
    pipeline.buckets = isOriginal ? "1" : options->buckets;
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
                     : options->buckets     ? "dim-buckets"
                     : options->rules       ? "rules"
                     : options->mcpu        ? "mcpu"
                                            : NULL;
  if (name)
    stop("--%s is for an unsharded program; '%s' is %s", name, options->program, state);
}

void compilerCreate(const Options *options, Compiler *out) {
  *out = (Compiler){.options = options};
  out->context = mlirContextCreate();
  shardContextPrepare(out->context);
  if (options->rules) // the file says what ops there are beside MLIR's
    mlirContextSetAllowUnregisteredDialects(out->context, true);
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
    // In the folder, or beside the file.
    const char *slash = strrchr(options->data, '/');
    int folder = shardSafetensorsNamed(options->data) ? slash ? (int)(slash - options->data) : 0
                                                      : (int)strlen(options->data);
    if (asprintf(&out->argsFile, "%.*s%sargs.json", folder, options->data, folder ? "/" : "") < 0)
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

MlirOperation loadProgram(const Options *options, Compiler *compiler, Compiled *program) {
  program->keepSharded = options->bisect;
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
      if (program->keepSharded && !strcmp(stage, "shard-spmdize"))
        program->sharded = mlirOperationClone(module);
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
    return sameFile;
  if (!options->original && mlirOperationIsNull(sameFile))
    stop("--check needs the unsharded program, --check=ORIGINAL.mlir");
  const char *path = options->original ? options->original : options->program;
  if (mlirOperationIsNull(sameFile)) {
    sameFile = parse(compiler, path);
    const char *stage = shardModuleGetStage(sameFile);
    if (stage)
      stop("--check=%s: not the original, it is past %s", path, stage);
  }
  return sameFile;
}

void compileOriginal(Compiler *compiler, MlirOperation source, const char *dims, Compiled *out) {
  const Options *options = compiler->options;
  out->keepImported = options->exact || options->rules;
  out->keepSharded = options->bisect;
  char *given = compiler->dims, *all = NULL; // of two for a dimension the last one holds
  if (asprintf(&all, "%s%s%s", given ? given : "", given && *dims ? "," : "", dims) < 0)
    stop("out of memory");
  compiler->dims = *all ? all : NULL;
  MlirOperation module = mlirOperationClone(source);
  compileModule(compiler, options->original ? options->original : options->program, module, "tp1",
                true, out);
  mlirOperationDestroy(module);
  compiler->dims = given;
  free(all);
}

void compileSharded(Compiler *compiler, const char *path, MlirOperation module, Compiled *out) {
  compileModule(compiler, path, module, NULL, false, out);
}

void compileRuleChecks(Compiler *compiler, MlirModule module, const char *function, Compiled *out) {
  const Options *options = compiler->options;
  char *dims = compiler->dims, *argsFile = compiler->argsFile;
  Options bare = {
      .rules = options->rules, .mcpu = options->mcpu, .quiet = true, .function = function};
  compiler->options = &bare;
  compiler->dims = compiler->argsFile = NULL;
  compileModule(compiler, options->rules, mlirModuleGetOperation(module), "tp1", true, out);
  compiler->options = options;
  compiler->dims = dims;
  compiler->argsFile = argsFile;
}

void compilerRelease(Compiler *compiler) {
  mlirContextDestroy(compiler->context);
  free(compiler->messages.error);
  free(compiler->dims);
  free(compiler->argsFile);
}

void compiledRelease(Compiled *compiled) {
  if (!mlirOperationIsNull(compiled->imported))
    mlirOperationDestroy(compiled->imported);
  if (!mlirOperationIsNull(compiled->sharded))
    mlirOperationDestroy(compiled->sharded);
  free(compiled->distributions);
  shardLoadedDestroy(compiled->loaded);
}
