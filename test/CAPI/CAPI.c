//===- CAPI.c - The passes as a library ---------------------------*- C -*-===//
// Uses include/ only. Every CHECK that fails ends the process with its line; stderr stays empty
// otherwise.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "shard/Passes.h"
#include "shard/Pipelines.h"
#include "shard/Report.h"
#include "shard/Version.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/IR.h"
#include "mlir-c/Pass.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                               \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

static MlirStringRef ref(const char *text) { return mlirStringRefCreateFromCString(text); }

// A model of two layers, so that the pipeline has stages to cut.
static const char model[] =
    "func.func @main(%x: tensor<4x8xf32> {spmd.role = \"input\"},\n"
    "                %a: tensor<8x16xf32> {spmd.role = \"weight\"},\n"
    "                %b: tensor<16x8xf32> {spmd.role = \"weight\"}) -> tensor<4x8xf32> {\n"
    "  %zero = arith.constant 0.0 : f32\n"
    "  %e0 = tensor.empty() : tensor<4x16xf32>\n"
    "  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<4x16xf32>) -> tensor<4x16xf32>\n"
    "  %0 = linalg.matmul ins(%x, %a : tensor<4x8xf32>, tensor<8x16xf32>)"
    " outs(%f0 : tensor<4x16xf32>) -> tensor<4x16xf32>\n"
    "  %e1 = tensor.empty() : tensor<4x16xf32>\n"
    "  %1 = linalg.exp ins(%0 : tensor<4x16xf32>) outs(%e1 : tensor<4x16xf32>)"
    " -> tensor<4x16xf32>\n"
    "  %e2 = tensor.empty() : tensor<4x8xf32>\n"
    "  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<4x8xf32>) -> tensor<4x8xf32>\n"
    "  %2 = linalg.matmul ins(%1, %b : tensor<4x16xf32>, tensor<16x8xf32>)"
    " outs(%f2 : tensor<4x8xf32>) -> tensor<4x8xf32>\n"
    "  return %2 : tensor<4x8xf32>\n"
    "}\n";

//===----------------------------------------------------------------------===//
// Texts and contexts
//===----------------------------------------------------------------------===//

typedef struct Text {
  char *bytes;
  size_t length;
} Text;

static void append(MlirStringRef part, void *user) {
  Text *text = user;
  text->bytes = realloc(text->bytes, text->length + part.length + 1);
  CHECK(text->bytes);
  if (part.length)
    memcpy(text->bytes + text->length, part.data, part.length);
  text->length += part.length;
  text->bytes[text->length] = 0;
}

static char *printed(MlirOperation op) {
  Text text = {NULL, 0};
  mlirOperationPrint(op, append, &text);
  return text.bytes;
}

typedef struct Session {
  MlirContext context;
  int nErrors;
  Text errors;
} Session;

static MlirLogicalResult take(MlirDiagnostic diagnostic, void *user) {
  Session *session = user;
  if (mlirDiagnosticGetSeverity(diagnostic) == MlirDiagnosticError) {
    ++session->nErrors;
    shardDiagnosticFormat(diagnostic, "nowhere", append, &session->errors);
  }
  return mlirLogicalResultSuccess();
}

static void begin(Session *session, bool threads) {
  *session = (Session){.context = mlirContextCreateWithThreading(threads)};
  mlirContextAttachDiagnosticHandler(session->context, take, session, NULL);
  shardContextPrepare(session->context);
}

static void end(Session *session) {
  mlirContextDestroy(session->context);
  free(session->errors.bytes);
}

static bool saw(Session *session, const char *part) {
  bool found =
      session->nErrors == 1 && session->errors.bytes && strstr(session->errors.bytes, part);
  if (!found)
    printf("expected one error with '%s', saw %d: %s\n", part, session->nErrors,
           session->errors.bytes ? session->errors.bytes : "");
  session->nErrors = 0;
  session->errors.length = 0;
  return found;
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

static void testPasses(void) {
  CHECK(strcmp(shardVersion(), SHARD_VERSION_STRING) == 0);
  CHECK(strncmp(shardLlvmVersion(), "22.1.", 5) == 0);
  CHECK(shardPassesGetCount() > shardPipelineGetPassCount());
  for (intptr_t i = 0; i < shardPassesGetCount(); ++i) {
    const char *name = shardPassesGetArgument(i);
    CHECK(strncmp(name, "shard-", 6) == 0);
    CHECK(*shardPassesGetSummary(i) && !strchr(shardPassesGetSummary(i), '\n'));
    Text options = {NULL, 0};
    for (intptr_t k = 0; k < shardPassesGetOptionCount(i); ++k) {
      ShardPassesOption option = shardPassesGetOption(i, k);
      CHECK(*option.name && *option.help && *option.type);
      char part[256];
      snprintf(part, sizeof part, "%s%s={%s}", k ? " " : "", option.name, option.defaultText);
      append(ref(part), &options);
    }
    char message[256] = "";
    MlirPass pass = shardPassesCreate(ref(name), options.bytes ? ref(options.bytes) : ref(""),
                                      message, sizeof message);
    if (!pass.ptr)
      printf("%s\n", message);
    CHECK(pass.ptr);
    // Nobody but a manager can destroy a pass.
    Session session;
    begin(&session, false);
    MlirPassManager manager = mlirPassManagerCreateOnOperation(
        session.context,
        *shardPassesGetAnchor(i) ? ref(shardPassesGetAnchor(i)) : ref("builtin.module"));
    mlirPassManagerAddOwnedPass(manager, pass);
    mlirPassManagerDestroy(manager);
    end(&session);
    free(options.bytes);
  }
  puts("passes: every one has a name, a summary and options that read their own defaults");
}

static void testCreation(void) {
  char message[256] = "", small[8];
  CHECK(!shardPassesCreate(ref("shard-nothing"), ref(""), message, sizeof message).ptr);
  CHECK(strcmp(message, "no pass is named 'shard-nothing'") == 0);
  CHECK(!shardPassesCreate(ref("shard-nothing"), ref(""), NULL, 0).ptr);
  CHECK(!shardPassesCreate(ref("shard-nothing"), ref(""), small, sizeof small).ptr);
  CHECK(strcmp(small, "no pass") == 0);
  static const char *const wrong[][2] = {
      {"axis-size=0", "option 'axis-size' of 'shard-check-divisible' is 0, outside 1.."},
      {"axis-size=-1", "option 'axis-size' of 'shard-check-divisible' is -1, outside 1.."},
      {"axis-size=4x", "option 'axis-size' of 'shard-check-divisible' takes an integer, not '4x'"},
      {"axis-size=99999999999999999999", "takes an integer, not '99999999999999999999'"},
      {"axis-size", "option 'axis-size' of 'shard-check-divisible' takes an integer, not ''"},
      {"{size=4}",
       "pass 'shard-check-divisible' has no option 'size'; its options are 'axis-size'"},
      {"axis-size={4", "option 'axis-size' of 'shard-check-divisible' has an open quote or brace"},
      {"axis-size='4", "option 'axis-size' of 'shard-check-divisible' has an open quote or brace"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
    CHECK(
        !shardPassesCreate(ref("shard-check-divisible"), ref(wrong[i][0]), message, sizeof message)
             .ptr);
    if (!strstr(message, wrong[i][1]))
      printf("%s\n", message);
    CHECK(strstr(message, wrong[i][1]));
  }
  puts("creation: names and options are checked");
}

static void testManager(void) {
  Session session;
  begin(&session, true);
  Text text = {NULL, 0};
  append(ref("shard.grid @mesh(shape = 4)\n"), &text);
  for (int i = 0; i < 64; ++i) {
    char function[512];
    snprintf(function, sizeof function,
             "func.func @f%d(%%x: tensor<%dx8xf32>) -> tensor<%dx8xf32> {\n"
             "  %%s = shard.sharding @mesh split_axes = [[0]] : !shard.sharding\n"
             "  %%0 = shard.shard %%x to %%s : tensor<%dx8xf32>\n"
             "  return %%0 : tensor<%dx8xf32>\n}\n",
             i, 4 * i + 1, 4 * i + 1, 4 * i + 1, 4 * i + 1);
    append(ref(function), &text);
  }
  MlirModule module =
      shardModuleParse(session.context, mlirStringRefCreate(text.bytes, text.length), "many.mlir");
  CHECK(module.ptr);
  MlirPassManager manager =
      mlirPassManagerCreateOnOperation(session.context, ref("builtin.module"));
  MlirOpPassManager nested = mlirPassManagerGetNestedUnder(manager, ref("func.func"));
  char message[256];
  mlirOpPassManagerAddOwnedPass(nested,
                                shardPassesCreate(ref("shard-check-divisible"),
                                                  ref("{axis-size=4}"), message, sizeof message));
  CHECK(
      mlirLogicalResultIsFailure(mlirPassManagerRunOnOp(manager, mlirModuleGetOperation(module))));
  CHECK(session.nErrors == 64);
  const char *at = session.errors.bytes;
  for (int i = 0; i < 64; ++i) {
    char expected[64];
    snprintf(expected, sizeof expected, "error: dimension 0 is %d, not a multiple", 4 * i + 1);
    at = strstr(at, expected);
    CHECK(at);
  }
  mlirPassManagerDestroy(manager);
  mlirModuleDestroy(module);
  free(text.bytes);
  end(&session);
  puts("manager: 64 functions on threads, 64 errors in order");
}

static void testText(void) {
  shardPassesRegister();
  shardPassesRegister();
  Session session;
  begin(&session, false);
  MlirPassManager manager =
      mlirPassManagerCreateOnOperation(session.context, ref("builtin.module"));
  Text errors = {NULL, 0};
  CHECK(mlirLogicalResultIsSuccess(
      mlirParsePassPipeline(mlirPassManagerGetAsOpPassManager(manager),
                            ref("builtin.module(shard-plan{degrees=tp2,dp2 results=split},"
                                "func.func(shard-check-divisible{axis-size=2}))"),
                            append, &errors)));
  Text text = {NULL, 0};
  mlirPrintPassPipeline(mlirPassManagerGetAsOpPassManager(manager), append, &text);
  CHECK(strstr(text.bytes, "shard-plan{degrees=tp2,dp2 results=split}"));
  CHECK(strstr(text.bytes, "func.func(shard-check-divisible{axis-size=2})"));
  free(text.bytes);
  free(errors.bytes);
  mlirPassManagerDestroy(manager);
  end(&session);
  puts("text: our passes are found by name");
}

//===----------------------------------------------------------------------===//
// Pipeline
//===----------------------------------------------------------------------===//

static MlirModule parse(Session *session) {
  MlirModule module = shardModuleParse(session->context,
                                       mlirStringRefCreate(model, sizeof model - 1), "model.mlir");
  CHECK(module.ptr);
  return module;
}

static void testParsing(void) {
  Session session;
  begin(&session, false);
  CHECK(!shardModuleParse(session.context, ref(""), "none.mlir").ptr);
  CHECK(saw(&session, "none.mlir:1:1: error: the file is empty; expected a module"));
  CHECK(!shardModuleParse(session.context, ref(" \n\t\n"), "blank.mlir").ptr);
  CHECK(saw(&session, "blank.mlir:1:1: error: the file is empty; expected a module"));
  CHECK(!shardModuleParse(session.context, ref("\nfunc.func @f( {"), "cut.mlir").ptr);
  CHECK(saw(&session, "cut.mlir:2:"));
  CHECK(
      !shardModuleParse(session.context, ref("func.func @f() { %0 = chlo.top_k }"), "c.mlir").ptr);
  CHECK(saw(&session, "dialect 'chlo' is not supported"));
  CHECK(!shardModuleParseFile(session.context, "/nowhere/at/all.mlir").ptr);
  CHECK(saw(&session, "nowhere: error: cannot open '/nowhere/at/all.mlir'"));
  end(&session);
  puts("parsing: one error each");
}

typedef struct Watch {
  int nTold, nInspected, cancelAt;
  MlirOperation module;
} Watch;

static void told(void *user, const char *pass, intptr_t index, intptr_t count) {
  Watch *watch = user;
  CHECK(index == watch->nTold && index < count);
  CHECK(strcmp(pass, shardPipelineGetPass(index)) == 0);
  ++watch->nTold;
}

static void inspected(void *user, const char *pass, MlirOperation module) {
  Watch *watch = user;
  CHECK(strcmp(pass, shardPipelineGetPass(watch->nInspected)) == 0);
  CHECK(mlirOperationEqual(module, watch->module));
  ++watch->nInspected;
}

static bool cancelled(void *user) {
  Watch *watch = user;
  return watch->nTold == watch->cancelAt;
}

static ShardPipelineOptions optionsFor(const char *degrees) {
  ShardPipelineOptions options = shardPipelineOptionsGetDefault();
  options.degrees = degrees;
  return options;
}

static char *compile(const char *degrees) {
  Session session;
  begin(&session, false);
  MlirModule module = parse(&session);
  ShardPipelineOptions options = optionsFor(degrees);
  CHECK(mlirLogicalResultIsSuccess(shardPipelineRun(mlirModuleGetOperation(module), &options)));
  CHECK(session.nErrors == 0);
  char *text = printed(mlirModuleGetOperation(module));
  mlirModuleDestroy(module);
  end(&session);
  return text;
}

static void testPipeline(void) {
  Session session;
  begin(&session, false);
  MlirModule module = parse(&session);
  MlirOperation op = mlirModuleGetOperation(module);
  CHECK(!shardModuleGetStage(op));
  Watch watch = {.cancelAt = -1, .module = op};
  ShardPipelineOptions options = optionsFor("tp2,dp2");
  options.progress = told;
  options.inspect = inspected;
  options.cancelled = cancelled;
  options.verifyEach = true;
  options.userData = &watch;
  CHECK(mlirLogicalResultIsSuccess(shardPipelineRun(op, &options)));
  CHECK(watch.nTold == shardPipelineGetPassCount() - 1 && watch.nTold == watch.nInspected);
  CHECK(strcmp(shardModuleGetStage(op), "shard-spmdize") == 0);
  mlirModuleDestroy(module);
  puts("pipeline: told, inspected and finished in order");

  for (int i = 0; i < watch.nTold; ++i) {
    module = parse(&session);
    Watch stopped = {.cancelAt = i, .module = mlirModuleGetOperation(module)};
    options.userData = &stopped;
    CHECK(mlirLogicalResultIsFailure(shardPipelineRun(mlirModuleGetOperation(module), &options)));
    char expected[128];
    snprintf(expected, sizeof expected, "error: cancelled before '%s'", shardPipelineGetPass(i));
    CHECK(saw(&session, expected));
    mlirModuleDestroy(module);
  }
  end(&session);
  puts("pipeline: cancelled before each pass");
}

static void testStops(void) {
  char *whole = compile("tp2,dp2");
  for (intptr_t i = 0; i + 1 < shardPipelineGetPassCount(); ++i) {
    Session session;
    begin(&session, false);
    MlirModule module = parse(&session);
    ShardPipelineOptions options = optionsFor("tp2,dp2");
    options.stopAfter = shardPipelineGetPass(i);
    CHECK(mlirLogicalResultIsSuccess(shardPipelineRun(mlirModuleGetOperation(module), &options)));
    CHECK(strcmp(shardModuleGetStage(mlirModuleGetOperation(module)), options.stopAfter) == 0);
    ShardPipelineOptions rest = shardPipelineOptionsGetDefault();
    CHECK(mlirLogicalResultIsSuccess(shardPipelineRun(mlirModuleGetOperation(module), &rest)));
    char *text = printed(mlirModuleGetOperation(module));
    CHECK(strcmp(text, whole) == 0);
    free(text);
    mlirModuleDestroy(module);
    end(&session);
  }
  free(whole);
  puts("pipeline: stopped after each pass and gone on, the same program");
}

static void expectFailure(ShardPipelineOptions options, const char *error) {
  Session session;
  begin(&session, false);
  MlirModule module = parse(&session);
  CHECK(mlirLogicalResultIsFailure(shardPipelineRun(mlirModuleGetOperation(module), &options)));
  CHECK(saw(&session, error));
  mlirModuleDestroy(module);
  end(&session);
}

static void testMistakes(void) {
  ShardPipelineOptions options = optionsFor(NULL);
  expectFailure(options, "no degrees are given");
  expectFailure(optionsFor("auto"), "those without padding");
  expectFailure(optionsFor("tp0"), "degree 'tp0' is out of range");
  expectFailure(optionsFor("pp9"), "pp9 does not fit");
  options = optionsFor("tp2");
  options.stopAfter = "shard-nothing";
  expectFailure(options, "no pass of the pipeline is named 'shard-nothing'");
  options = optionsFor("tp2");
  options.function = "other";
  expectFailure(options, "other");
  options = optionsFor("tp2");
  options.structBytes = 8;
  expectFailure(options, "structBytes is 8; this library expects");
  char message[128] = "";
  CHECK(shardPipelineCheckDegrees("auto", message, sizeof message));
  CHECK(shardPipelineCheckDegrees("pp2,tp8", message, sizeof message));
  CHECK(!shardPipelineCheckDegrees("tp2,,pp2", message, sizeof message) && *message);
  puts("pipeline: mistakes are one error each");
}

typedef struct Job {
  pthread_t thread;
  const char *degrees;
  char *text;
} Job;

static void *work(void *user) {
  Job *job = user;
  job->text = compile(job->degrees);
  return NULL;
}

static void testThreads(void) {
  char *expected[2] = {compile("tp2"), compile("dp2")};
  Job jobs[8];
  for (int i = 0; i < 8; ++i) {
    jobs[i].degrees = i % 2 ? "dp2" : "tp2";
    CHECK(pthread_create(&jobs[i].thread, NULL, work, &jobs[i]) == 0);
  }
  for (int i = 0; i < 8; ++i) {
    pthread_join(jobs[i].thread, NULL);
    CHECK(strcmp(jobs[i].text, expected[i % 2]) == 0);
    free(jobs[i].text);
  }
  CHECK(strcmp(expected[0], expected[1]) != 0);
  free(expected[0]);
  free(expected[1]);
  puts("pipeline: 8 threads, 2 layouts, the same programs");
}

static void testReport(void) {
  Session session;
  begin(&session, false);
  MlirModule module = parse(&session);
  MlirOperation op = mlirModuleGetOperation(module);
  CHECK(!shardReportCreate(op, 0, NULL));
  CHECK(saw(&session, "it is no sharded program"));
  CHECK(mlirLogicalResultIsFailure(shardModuleWriteAnnotations(op, append, &(Text){NULL, 0})));
  CHECK(saw(&session, "no shardings"));
  ShardPipelineOptions options = optionsFor("tp2");
  CHECK(mlirLogicalResultIsSuccess(shardPipelineRun(op, &options)));
  const char *warnings[] = {"mind the gap"};
  ShardReport *report = shardReportCreate(op, 1, warnings);
  CHECK(report);
  CHECK(strstr(shardReportGetJson(report).data, "\"mind the gap\""));
  CHECK(strstr(shardReportGetJson(report).data, "\"bytes\": 128.0"));
  CHECK(strstr(shardReportGetText(report).data, "mesh: tp=2, 2 devices"));
  CHECK(strstr(shardReportGetSummary(report).data, "warning: mind the gap"));
  shardReportDestroy(report);
  shardReportDestroy(NULL);
  CHECK(mlirLogicalResultIsFailure(shardModuleKeepStage(op, 3)));
  CHECK(saw(&session, "there is no stage 3; the program has one, 0"));
  CHECK(mlirLogicalResultIsSuccess(shardModuleKeepStage(op, 0)));
  mlirModuleDestroy(module);
  end(&session);
  puts("report: the same numbers from L3");
}

int main(void) {
  testPasses();
  testCreation();
  testManager();
  testText();
  testParsing();
  testPipeline();
  testStops();
  testMistakes();
  testThreads();
  testReport();
  puts("done");
  return 0;
}
