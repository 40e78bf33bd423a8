//===- FuzzOutline.c - Outlining undone gives the same program ----*- C -*-===//
// Writes random stacks of random layers, with oddities (a layer that differs, outputs on the side,
// values skipped over layers, captured tensors, several results) and the ops in random order;
// outlines them, verifies, inlines all calls again and puts the original beside it: after CSE both
// must return the same values. Prints how many graphs there were and how many had layers.
//===----------------------------------------------------------------------===//
#include "../../lib/Passes/Core/Arena.h"
#include "../../lib/Passes/Core/IR.h"
#include "shard/Passes.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/IR.h"
#include "mlir-c/Pass.h"
#include "mlir-c/RegisterEverything.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPS = 4096, MAX_INPUTS = 3, MAX_TEMPLATE = 24, MAX_ARGUMENTS = 512 };

typedef enum Kind { MATMUL, ADD, EXP, SCALE, CAPTURE, TRANSPOSE, TWO_RESULTS, SLICES, KINDS } Kind;

typedef struct Op {
  Kind kind;
  int variant; // a constant in the body
  int nInputs;
  int inputs[MAX_INPUTS]; // op index, or -1 - argument
} Op;

typedef struct Fuzz {
  uint64_t state;
  Op ops[MAX_OPS];
  int nOps, nArguments; // argument 0 is the input; all are tensor<8x8xf32>
  char *text;
  size_t length, capacity;
} Fuzz;

static uint64_t next(Fuzz *f) { // splitmix64
  uint64_t z = (f->state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static int below(Fuzz *f, int bound) { return (int)(next(f) % (uint64_t)bound); }

static int inputsOf(Kind kind) {
  static const int count[KINDS] = {2, 2, 1, 1, 2, 1, 1, 1};
  return count[kind];
}

static int addOp(Fuzz *f, Kind kind, int variant, const int *inputs) {
  if (f->nOps == MAX_OPS)
    return f->nOps - 1;
  Op *op = &f->ops[f->nOps];
  *op = (Op){.kind = kind, .variant = variant, .nInputs = inputsOf(kind)};
  memcpy(op->inputs, inputs, (size_t)op->nInputs * sizeof *inputs);
  return f->nOps++;
}

//===----------------------------------------------------------------------===//
// A random stack
//===----------------------------------------------------------------------===//

/// An input of a template's op: an earlier op of the layer, the hidden state, a weight of its own,
/// or a value that all layers share.
typedef struct Source {
  enum { INNER, HIDDEN, WEIGHT, SHARED } kind;
  int index;
} Source;

typedef struct Template {
  int nOps, nWeights;
  Kind kind[MAX_TEMPLATE];
  int variant[MAX_TEMPLATE];
  Source inputs[MAX_TEMPLATE][MAX_INPUTS];
} Template;

static Template makeTemplate(Fuzz *f, int nShared) {
  Template t = {.nOps = 2 + below(f, MAX_TEMPLATE - 2)};
  for (int i = 0; i < t.nOps; ++i) {
    t.kind[i] = i == 0 ? MATMUL : (Kind)below(f, KINDS);
    t.variant[i] = below(f, 3);
    for (int j = 0; j < inputsOf(t.kind[i]); ++j) {
      int choice = below(f, 10);
      Source *source = &t.inputs[i][j];
      if (i == 0 && j == 0)
        *source = (Source){HIDDEN, 0};
      else if (t.kind[i] == MATMUL && j == 1)
        *source = (Source){WEIGHT, t.nWeights++};
      else if (i > 0 && j == 0 && choice < 6)
        *source = (Source){INNER, i - 1};
      else if (i > 0 && choice < 8)
        *source = (Source){INNER, below(f, i)};
      else if (choice < 9 || nShared == 0)
        *source = (Source){HIDDEN, 0};
      else
        *source = (Source){SHARED, below(f, nShared)};
    }
  }
  return t;
}

static void makeGraph(Fuzz *f, int *outputs, int *nOutputs) {
  f->nOps = 0;
  f->nArguments = 1;
  int nShared = below(f, 3), shared[2];
  for (int i = 0; i < nShared; ++i) {
    int inputs[] = {-1 - f->nArguments++, -1};
    shared[i] = addOp(f, (Kind)below(f, 2) ? EXP : TRANSPOSE, 0, inputs);
  }
  int nTemplates = 1 + below(f, 3);
  Template templates[3];
  for (int i = 0; i < nTemplates; ++i)
    templates[i] = makeTemplate(f, nShared);
  int nLayers = 1 + below(f, 9), hidden = -1, previous = -1;
  int odd = below(f, 4) ? -1 : below(f, nLayers); // this layer has one op of another kind
  for (int i = below(f, 3); i > 0; --i) {         // a beginning like a layer's inside
    int inputs[] = {hidden, previous};
    hidden = addOp(f, below(f, 2) ? ADD : EXP, below(f, 3), inputs);
  }
  *nOutputs = 0;
  for (int layer = 0; layer < nLayers; ++layer) {
    const Template *t = &templates[below(f, 4) ? layer % nTemplates : below(f, nTemplates)];
    int made[MAX_TEMPLATE], weights = f->nArguments;
    f->nArguments += t->nWeights;
    for (int i = 0; i < t->nOps; ++i) {
      int inputs[MAX_INPUTS];
      for (int j = 0; j < inputsOf(t->kind[i]); ++j) {
        const Source *source = &t->inputs[i][j];
        inputs[j] = source->kind == INNER    ? made[source->index]
                    : source->kind == HIDDEN ? hidden
                    : source->kind == WEIGHT ? -1 - (weights + source->index)
                                             : shared[source->index];
      }
      int variant = t->variant[i] + (layer == odd && i == t->nOps / 2);
      made[i] = addOp(f, t->kind[i], variant, inputs);
    }
    previous = hidden;
    hidden = made[t->nOps - 1];
    if (below(f, 6) == 0 && *nOutputs < 8) // an output on the side
      outputs[(*nOutputs)++] = made[below(f, t->nOps)];
    if (below(f, 6) == 0) { // a residual over the layer, or a value from elsewhere
      int inputs[] = {hidden, below(f, 2) ? previous : f->nOps > 3 ? below(f, f->nOps) : -1};
      hidden = addOp(f, ADD, 0, inputs);
    }
  }
  if (hidden < 0) {
    int inputs[] = {hidden};
    hidden = addOp(f, EXP, 0, inputs);
  }
  outputs[(*nOutputs)++] = hidden;
}

//===----------------------------------------------------------------------===//
// Its text
//===----------------------------------------------------------------------===//

static void __attribute__((format(printf, 2, 3))) put(Fuzz *f, const char *format, ...) {
  va_list list;
  if (f->length + 4096 > f->capacity) {
    f->capacity = 2 * f->capacity + 65536;
    f->text = realloc(f->text, f->capacity);
    if (!f->text)
      abort();
  }
  va_start(list, format);
  f->length += (size_t)vsnprintf(f->text + f->length, 4096, format, list);
  va_end(list);
}

static const char *valueName(int value, char *buffer) {
  if (value < 0)
    snprintf(buffer, 24, "%%arg%d", -1 - value);
  else
    snprintf(buffer, 24, "%%v%d", value);
  return buffer;
}

#define T "tensor<8x8xf32>"
#define GENERIC "linalg.generic {indexing_maps = ["
#define PARALLEL "], iterator_types = [\"parallel\", \"parallel\"]} "

static void putOp(Fuzz *f, int index) {
  const Op *op = &f->ops[index];
  char out[24], a[24], b[24];
  valueName(index, out);
  valueName(op->inputs[0], a);
  if (op->nInputs > 1)
    valueName(op->inputs[1], b);
  switch (op->kind) {
  case MATMUL:
    put(f, "  %s = linalg.matmul ins(%s, %s : " T ", " T ") outs(%%init : " T ") -> " T "\n", out,
        a, b);
    break;
  case ADD:
    put(f, "  %s = linalg.add ins(%s, %s : " T ", " T ") outs(%%empty : " T ") -> " T "\n", out, a,
        b);
    break;
  case EXP:
    put(f, "  %s = linalg.exp ins(%s : " T ") outs(%%empty : " T ") -> " T "\n", out, a);
    break;
  case SCALE:
    put(f,
        "  %s = " GENERIC "#id, #id" PARALLEL "ins(%s : " T ") outs(%%empty : " T
        ") {\n  ^bb0(%%a: f32, %%o: f32):\n    %%1 = arith.mulf %%a, %%c%d : f32\n"
        "    linalg.yield %%1 : f32\n  } -> " T "\n",
        out, a, op->variant);
    break;
  case CAPTURE:
    put(f,
        "  %s = " GENERIC "#id, #id" PARALLEL "ins(%s : " T ") outs(%%empty : " T
        ") {\n  ^bb0(%%a: f32, %%o: f32):\n    %%i = linalg.index 0 : index\n"
        "    %%j = linalg.index 1 : index\n    %%1 = tensor.extract %s[%%j, %%i] : " T
        "\n    %%2 = arith.addf %%1, %%a : f32\n    linalg.yield %%2 : f32\n  } -> " T "\n",
        out, a, b);
    break;
  case TRANSPOSE:
    put(f, "  %s = linalg.transpose ins(%s : " T ") outs(%%empty : " T ") permutation = [1, 0]\n",
        out, a);
    break;
  case TWO_RESULTS:
    put(f,
        "  %s_2:2 = " GENERIC "#id, #id, #id" PARALLEL "ins(%s : " T ") outs(%%empty, %%empty : " T
        ", " T ") {\n  ^bb0(%%a: f32, %%o: f32, %%p: f32):\n    %%1 = arith.addf %%a, %%c%d : f32\n"
        "    linalg.yield %%a, %%1 : f32, f32\n  } -> (" T ", " T ")\n",
        out, a, op->variant);
    put(f,
        "  %s = linalg.sub ins(%s_2#%d, %s_2#%d : " T ", " T ") outs(%%empty : " T ") -> " T "\n",
        out, out, op->variant % 2, out, 1 - op->variant % 2);
    break;
  default:
    put(f,
        "  %s_l = tensor.extract_slice %s[0, 0] [8, %d] [1, 1] : " T " to tensor<8x%dxf32>\n"
        "  %s_h = tensor.extract_slice %s[0, %d] [8, %d] [1, 1] : " T " to tensor<8x%dxf32>\n"
        "  %s = tensor.concat dim(1) %s_h, %s_l : (tensor<8x%dxf32>, tensor<8x%dxf32>) -> " T "\n",
        out, a, 2 + op->variant, 2 + op->variant, out, a, 2 + op->variant, 6 - op->variant,
        6 - op->variant, out, out, out, 6 - op->variant, 2 + op->variant);
  }
}

static void putGraph(Fuzz *f, const int *outputs, int nOutputs) {
  f->length = 0;
  put(f, "#id = affine_map<(d0, d1) -> (d0, d1)>\nfunc.func @main(");
  for (int i = 0; i < f->nArguments; ++i)
    put(f, "%s%%arg%d: " T, i ? ", " : "", i);
  put(f, ") -> (");
  for (int i = 0; i < nOutputs; ++i)
    put(f, "%s" T, i ? ", " : "");
  put(f, ") {\n  %%zero = arith.constant 0.0 : f32\n  %%empty = tensor.empty() : " T
         "\n  %%init = linalg.fill ins(%%zero : f32) outs(%%empty : " T ") -> " T "\n");
  for (int i = 0; i < 4; ++i)
    put(f, "  %%c%d = arith.constant %d.5 : f32\n", i, i);
  // Any order in which each op follows its inputs.
  static bool done[MAX_OPS];
  memset(done, 0, sizeof done);
  bool shuffled = below(f, 2);
  for (int left = f->nOps; left > 0;) {
    int start = shuffled ? below(f, f->nOps) : 0;
    for (int at = 0; at < f->nOps; ++at) {
      int i = (start + at) % f->nOps;
      bool ready = !done[i];
      for (int j = 0; j < f->ops[i].nInputs && ready; ++j)
        ready = f->ops[i].inputs[j] < 0 || done[f->ops[i].inputs[j]];
      if (!ready)
        continue;
      putOp(f, i);
      done[i] = true;
      --left;
      if (shuffled)
        break;
    }
  }
  put(f, "  return ");
  char buffer[24];
  for (int i = 0; i < nOutputs; ++i)
    put(f, "%s%s", i ? ", " : "", valueName(outputs[i], buffer));
  put(f, " : ");
  for (int i = 0; i < nOutputs; ++i)
    put(f, "%s" T, i ? ", " : "");
  put(f, "\n}\n");
}

//===----------------------------------------------------------------------===//
// The check
//===----------------------------------------------------------------------===//

static bool runPasses(MlirOperation module, const char *passes) {
  MlirPassManager manager = mlirPassManagerCreateOnOperation(
      mlirOperationGetContext(module), mlirStringRefCreateFromCString("builtin.module"));
  bool good = mlirLogicalResultIsSuccess(mlirOpPassManagerAddPipeline(
                  mlirPassManagerGetAsOpPassManager(manager),
                  mlirStringRefCreateFromCString(passes), NULL, NULL)) &&
              mlirLogicalResultIsSuccess(mlirPassManagerRunOnOp(manager, module));
  mlirPassManagerDestroy(manager);
  return good;
}

static MlirOperation mainOf(MlirOperation module) {
  return shardModuleLookup(module, mlirStringRefCreateFromCString("main"));
}

/// Appends the body of `from` to that of `to`, on the same arguments, and returns both results.
static void appendBody(MlirOperation to, MlirOperation from, ShardArena *arena) {
  MlirBlock target = shardFuncGetBody(to), source = shardFuncGetBody(from);
  ShardPointerMap *map = shardPointerMapCreate(arena, 64);
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(source); ++i)
    shardValueMapSet(map, mlirBlockGetArgument(source, i), mlirBlockGetArgument(target, i));
  MlirOperation end = mlirBlockGetTerminator(target);
  MlirOperation op = mlirBlockGetFirstOperation(source);
  for (; !mlirOperationIsNull(mlirOperationGetNextInBlock(op));
       op = mlirOperationGetNextInBlock(op))
    shardOpCloneMapped(op, target, end, map);
  intptr_t n = mlirOperationGetNumOperands(end);
  MlirValue *returned = SHARD_ARENA_ARRAY(arena, MlirValue, 2 * n);
  for (intptr_t i = 0; i < n; ++i) {
    returned[i] = mlirOperationGetOperand(end, i);
    returned[n + i] = shardValueMapGet(map, mlirOperationGetOperand(op, i));
  }
  mlirOperationSetOperands(end, 2 * n, returned);
  MlirType types[64];
  intptr_t nInputs = mlirBlockGetNumArguments(target);
  MlirType *inputs = SHARD_ARENA_ARRAY(arena, MlirType, nInputs);
  for (intptr_t i = 0; i < nInputs; ++i)
    inputs[i] = mlirValueGetType(mlirBlockGetArgument(target, i));
  for (intptr_t i = 0; i < 2 * n && i < 64; ++i)
    types[i] = mlirValueGetType(returned[i]);
  shardOpSetAttribute(to, "function_type",
                      mlirTypeAttrGet(mlirFunctionTypeGet(mlirOperationGetContext(to), nInputs,
                                                          inputs, 2 * n, types)));
}

/// Null when all is well, else what is not. `outLayers` counts calls of layers.
static const char *check(MlirContext context, const char *text, size_t length, int *outLayers,
                         ShardArena *arena) {
  MlirStringRef source = mlirStringRefCreate(text, length);
  MlirModule parsed = mlirModuleCreateParse(context, source);
  if (mlirModuleIsNull(parsed))
    return "the generator's text does not parse";
  MlirOperation original = mlirModuleGetOperation(parsed);
  MlirOperation outlined = mlirOperationClone(original);
  const char *fault = NULL;
  if (!runPasses(outlined, "shard-outline-layers") || !mlirOperationVerify(outlined))
    fault = "outlining fails or does not verify";
  if (!fault) {
    MlirOperation op = mlirBlockGetFirstOperation(shardFuncGetBody(mainOf(outlined)));
    for (; !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op))
      *outLayers += shardOpIs(op, "func.call");
    if (!runPasses(outlined, "inline{default-pipeline=}"))
      fault = "the result does not inline";
  }
  if (!fault) {
    MlirOperation main = mainOf(outlined);
    appendBody(main, mainOf(original), arena);
    if (!runPasses(outlined, "cse"))
      fault = "both together do not verify";
    MlirOperation end = mlirBlockGetTerminator(shardFuncGetBody(main));
    intptr_t n = mlirOperationGetNumOperands(end) / 2;
    for (intptr_t i = 0; i < n && !fault; ++i)
      if (!mlirValueEqual(mlirOperationGetOperand(end, i), mlirOperationGetOperand(end, n + i)))
        fault = "a result is computed in another way";
  }
  mlirOperationDestroy(outlined);
  mlirModuleDestroy(parsed);
  return fault;
}

int main(int argc, char **argv) {
  uint64_t seed = 1;
  int64_t count = 100;
  for (int i = 1; i < argc; ++i) {
    if (strncmp(argv[i], "--seed=", 7) == 0)
      seed = strtoull(argv[i] + 7, NULL, 10);
    else if (strncmp(argv[i], "--count=", 8) == 0)
      count = strtoll(argv[i] + 8, NULL, 10);
    else {
      fputs("usage: fuzz-outline [--seed=N] [--count=N]\n", stderr);
      return 1;
    }
  }
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  mlirRegisterAllDialects(registry);
  mlirRegisterAllPasses();
  shardPassesRegister();
  MlirContext context = mlirContextCreateWithRegistry(registry, false);
  mlirDialectRegistryDestroy(registry);
  mlirContextLoadAllAvailableDialects(context);
  static Fuzz fuzz;
  int64_t nOutlined = 0;
  for (int64_t i = 0; i < count; ++i) {
    fuzz.state = seed + (uint64_t)i;
    int outputs[16], nOutputs, layers = 0;
    makeGraph(&fuzz, outputs, &nOutputs);
    putGraph(&fuzz, outputs, nOutputs);
    ShardArena *arena = shardArenaCreate();
    const char *fault = check(context, fuzz.text, fuzz.length, &layers, arena);
    shardArenaDestroy(arena);
    if (fault) {
      fprintf(stderr, "fuzz-outline: error: seed %" PRIu64 ": %s\n%.*s", seed + (uint64_t)i, fault,
              (int)fuzz.length, fuzz.text);
      return 1;
    }
    nOutlined += layers > 0;
  }
  printf("%" PRId64 " graphs, %" PRId64 " with layers, all the same after inlining\n", count,
         nOutlined);
  free(fuzz.text);
  mlirContextDestroy(context);
  return 0;
}
