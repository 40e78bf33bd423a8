//===- embed.c - A program of someone else that embeds Shard ------*- C -*-===//
// Built against nothing but an installed tree. Compiles a module held in memory, twice at once on
// two contexts, with its own diagnostic handler; cancels a third; walks the result; writes the
// shared object, loads it, runs it on threads of its own, and compares with plain loops. Prints one
// line a step. Argument: the path of the shared object to write.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE

#include <shard/Emit.h>
#include <shard/Pipelines.h>
#include <shard/Program.h>
#include <shard/Runtime.h>
#include <shard/Version.h>

#include <mlir-c/IR.h>
#include <mlir-c/Support.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 4, WIDTH = 8, INNER = 16, RANKS = 2 };

// y = max(x w1, 0) w2
static const char model[] =
    "func.func @main(%x: tensor<4x8xf32>, %w1: tensor<8x16xf32>, %w2: tensor<16x8xf32>) -> "
    "tensor<4x8xf32> {\n"
    "  %zero = arith.constant 0.0 : f32\n"
    "  %e1 = tensor.empty() : tensor<4x16xf32>\n"
    "  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4x16xf32>) -> tensor<4x16xf32>\n"
    "  %h = linalg.matmul ins(%x, %w1 : tensor<4x8xf32>, tensor<8x16xf32>) outs(%f1 : "
    "tensor<4x16xf32>) -> tensor<4x16xf32>\n"
    "  %a = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> "
    "(i, j)>],\n"
    "      iterator_types = [\"parallel\", \"parallel\"]} ins(%h : tensor<4x16xf32>) outs(%e1 : "
    "tensor<4x16xf32>) {\n"
    "  ^bb0(%in: f32, %out: f32):\n"
    "    %m = arith.maximumf %in, %zero : f32\n"
    "    linalg.yield %m : f32\n"
    "  } -> tensor<4x16xf32>\n"
    "  %e2 = tensor.empty() : tensor<4x8xf32>\n"
    "  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<4x8xf32>) -> tensor<4x8xf32>\n"
    "  %y = linalg.matmul ins(%a, %w2 : tensor<4x16xf32>, tensor<16x8xf32>) outs(%f2 : "
    "tensor<4x8xf32>) -> tensor<4x8xf32>\n"
    "  return %y : tensor<4x8xf32>\n"
    "}\n";

static void require(bool holds, const char *what) {
  if (holds)
    return;
  printf("failed: %s\n", what);
  exit(1);
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

typedef struct Text {
  char *bytes;
  size_t length;
} Text;
static void append(MlirStringRef piece, void *userData) {
  Text *text = userData;
  text->bytes = realloc(text->bytes, text->length + piece.length + 1);
  require(text->bytes != NULL, "memory");
  memcpy(text->bytes + text->length, piece.data, piece.length);
  text->length += piece.length;
  text->bytes[text->length] = '\0';
}

typedef struct Compilation {
  MlirContext context;
  MlirModule module;
  int nErrors;
  Text messages, result;
  bool lower, cancel, succeeded;
} Compilation;

static MlirLogicalResult count(MlirDiagnostic diagnostic, void *userData) {
  Compilation *compilation = userData;
  if (mlirDiagnosticGetSeverity(diagnostic) == MlirDiagnosticError)
    ++compilation->nErrors;
  shardDiagnosticFormat(diagnostic, "embed", append, &compilation->messages);
  return mlirLogicalResultSuccess(); // handled: nothing goes to stderr
}

static bool askCancelled(void *userData) { return ((Compilation *)userData)->cancel; }

static void open(Compilation *compilation, const char *text) {
  compilation->context = mlirContextCreate();
  mlirContextAttachDiagnosticHandler(compilation->context, count, compilation, NULL);
  shardContextPrepare(compilation->context);
  compilation->module =
      shardModuleParse(compilation->context, mlirStringRefCreateFromCString(text), "memory.mlir");
}

static void *compile(void *userData) {
  Compilation *compilation = userData;
  open(compilation, model);
  require(!mlirModuleIsNull(compilation->module), "the module parses");
  ShardPipelineOptions options = shardPipelineOptionsGetDefault();
  options.degrees = "tp2";
  options.lower = compilation->lower;
  options.cancelled = askCancelled;
  options.userData = compilation;
  MlirOperation op = mlirModuleGetOperation(compilation->module);
  compilation->succeeded = mlirLogicalResultIsSuccess(shardPipelineRun(op, &options));
  mlirOperationPrint(op, append, &compilation->result);
  return NULL;
}

static void closeCompilation(Compilation *compilation) {
  mlirModuleDestroy(compilation->module);
  mlirContextDestroy(compilation->context);
  free(compilation->messages.bytes);
  free(compilation->result.bytes);
}

static MlirWalkResult countAllReduce(MlirOperation op, void *userData) {
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  if (mlirStringRefEqual(name, mlirStringRefCreateFromCString("shard.all_reduce")))
    ++*(int *)userData;
  return MlirWalkResultAdvance;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// The part of `whole` that `rank` holds, along one dimension of a two-dimensional value.
static void cut(const ShardProgramValue *value, int rank, const float *whole, float *part) {
  require(value->rank == 2 && value->element == SHARD_RT_F32 && value->windowSize == 0,
          "a whole matrix of f32");
  int64_t rows = value->localShape[0], columns = value->localShape[1];
  int64_t row = rows < value->globalShape[0] ? rank * rows : 0;
  int64_t column = columns < value->globalShape[1] ? rank * columns : 0;
  for (int64_t i = 0; i < rows; ++i)
    memcpy(part + i * columns, whole + (row + i) * value->globalShape[1] + column,
           (size_t)columns * sizeof(float));
}

typedef struct Rank {
  ShardRtWorld *world;
  const ShardProgram *program;
  int number;
  const float *const *arguments;
  float *result; // [ROWS x WIDTH]
  int status;
} Rank;

static void *runRank(void *userData) {
  Rank *rank = userData;
  const ShardProgramStage *stage = &rank->program->stages[0];
  ShardRtComm *comm;
  ShardRtContext *context;
  require(shardRtCommCreate(rank->world, rank->number, &comm) == SHARD_RT_OK, "a comm");
  require(shardRtContextCreate(comm, &context) == SHARD_RT_OK, "a context");
  void *arguments[3];
  for (int i = 0; i < stage->nArguments; ++i) {
    const ShardProgramValue *value = &rank->program->arguments[stage->arguments[i]];
    arguments[i] = aligned_alloc(64, 4096);
    require(arguments[i] && value->localShape[0] * value->localShape[1] * 4 <= 4096, "memory");
    cut(value, rank->number, rank->arguments[value->index], arguments[i]);
  }
  void *results[1] = {aligned_alloc(64, 4096)};
  size_t workspaceBytes = (stage->workspaceBytes(NULL) + 127) / 64 * 64;
  void *workspace = aligned_alloc(64, workspaceBytes);
  require(results[0] && workspace, "memory");
  rank->status = shardRtInvoke(context, stage->run, NULL, arguments, results, workspace);
  memcpy(rank->result, results[0], ROWS * WIDTH * sizeof(float));
  for (int i = 0; i < stage->nArguments; ++i)
    free(arguments[i]);
  free(results[0]);
  free(workspace);
  shardRtContextDestroy(context);
  shardRtCommDestroy(comm);
  return NULL;
}

static void run(const ShardProgram *program) {
  require(program->abiVersion == SHARD_PROGRAM_ABI_VERSION, "the ABI version");
  require(program->nStages == 1 && program->nArguments == 3 && program->nResults == 1,
          "one stage, three arguments");
  static float x[ROWS * WIDTH], w1[WIDTH * INNER], w2[INNER * WIDTH], expected[ROWS * WIDTH];
  // Small whole numbers: exact in any order of summation.
  for (int i = 0; i < ROWS * WIDTH; ++i)
    x[i] = (float)(i * 7 % 11 - 5);
  for (int i = 0; i < WIDTH * INNER; ++i)
    w1[i] = (float)(i * 5 % 7 - 3), w2[i] = (float)(i * 3 % 5 - 2);
  for (int i = 0; i < ROWS; ++i)
    for (int k = 0; k < INNER; ++k) {
      float h = 0;
      for (int j = 0; j < WIDTH; ++j)
        h += x[i * WIDTH + j] * w1[j * INNER + k];
      for (int j = 0; j < WIDTH; ++j)
        expected[i * WIDTH + j] += (h > 0 ? h : 0) * w2[k * WIDTH + j];
    }

  ShardRtWorld *world;
  require(shardRtWorldCreate(program->nAxes, program->axisSizes, NULL, &world) == SHARD_RT_OK,
          "a world");
  require(shardRtWorldGetSize(world) == RANKS, "two ranks");
  const float *const arguments[3] = {x, w1, w2};
  float results[RANKS][ROWS * WIDTH];
  Rank ranks[RANKS];
  pthread_t threads[RANKS];
  for (int i = 0; i < RANKS; ++i) {
    ranks[i] = (Rank){world, program, i, arguments, results[i], -1};
    require(pthread_create(&threads[i], NULL, runRank, &ranks[i]) == 0, "a thread");
  }
  for (int i = 0; i < RANKS; ++i)
    pthread_join(threads[i], NULL);
  for (int i = 0; i < RANKS; ++i) {
    require(ranks[i].status == SHARD_RT_OK, "every rank ends well");
    require(memcmp(results[i], expected, sizeof(expected)) == 0, "every rank has the result");
  }
  shardRtWorldDestroy(world);
}

int main(int argc, char **argv) {
  require(argc == 2, "one argument");
  printf("version %s, LLVM %s\n", shardVersion(), shardLlvmVersion());

  // Two at once: the same bytes.
  Compilation one = {0}, two = {0};
  pthread_t other;
  require(pthread_create(&other, NULL, compile, &two) == 0, "a thread");
  compile(&one);
  pthread_join(other, NULL);
  require(one.succeeded && two.succeeded && one.nErrors == 0 && two.nErrors == 0, "both compile");
  require(strcmp(one.result.bytes, two.result.bytes) == 0, "both give the same bytes");
  int nAllReduce = 0;
  mlirOperationWalk(mlirModuleGetOperation(one.module), countAllReduce, &nAllReduce,
                    MlirWalkPreOrder);
  printf("two compilations at once: the same program, %d all-reduce\n", nAllReduce);
  closeCompilation(&one);
  closeCompilation(&two);

  Compilation cancelled = {.cancel = true};
  compile(&cancelled);
  require(!cancelled.succeeded && cancelled.nErrors == 1, "a cancelled run is one error");
  printf("cancelled: %s", cancelled.messages.bytes);
  closeCompilation(&cancelled);

  Compilation broken = {0};
  open(&broken, "func.func @main( {");
  require(mlirModuleIsNull(broken.module) && broken.nErrors == 1, "a syntax error is one error");
  printf("broken: %s", broken.messages.bytes);
  mlirContextDestroy(broken.context);
  free(broken.messages.bytes);

  Compilation lowered = {.lower = true};
  compile(&lowered);
  require(lowered.succeeded, "it lowers");
  require(mlirLogicalResultIsSuccess(
              shardEmitShared(mlirModuleGetOperation(lowered.module), NULL, argv[1])),
          "it is written as a shared object");
  closeCompilation(&lowered);
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library)
    printf("%s\n", dlerror());
  require(library != NULL, "the shared object loads");
  ShardProgramGetter getter;
  *(void **)&getter = dlsym(library, "shardProgram");
  require(getter != NULL, "it exports shardProgram");
  run(getter());
  dlclose(library);
  printf("run on two threads: every element right\n");
  return 0;
}
