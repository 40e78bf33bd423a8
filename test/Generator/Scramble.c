//===- Scramble.c - Another spelling of the same model ------------*- C -*-===//
// Reads a module, applies the steps named by --steps in their order and writes
// FOLDER/model.linalg.mlir; with an args.json also the one that fits, and copies of the data files.
//   arguments     the entry's arguments in another order and under other names
//   shuffle       independent ops in another order
//   outline       repeated layers as private functions, as a user would have written them
//   outline-each  each layer as a private function of its own
//   canonicalize, generalize, fuse   MLIR's canonicalize and cse, linalg-generalize-named-ops,
//                 linalg-fuse-elementwise-ops
//   locations     every location unknown
// The same seed gives the same bytes.
//===----------------------------------------------------------------------===//
#define _POSIX_C_SOURCE 200809L

#include "../../lib/Passes/Core/Arena.h"
#include "../../lib/Passes/Core/IR.h"
#include "../../lib/Passes/Import/LayerGraph.h"
#include "shard/Passes.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/IR.h"
#include "mlir-c/Pass.h"
#include "mlir-c/RegisterEverything.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct Scramble {
  MlirContext context;
  MlirOperation module, entry;
  ShardArena *arena;
  uint64_t state;
  json_t *args; // null without an args.json
} Scramble;

static uint64_t next(Scramble *s) { // splitmix64
  uint64_t z = (s->state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static int fail(const char *text, const char *what) {
  fprintf(stderr, "scramble: error: %s '%s'\n", text, what);
  return 1;
}

/// order[new] = old, random.
static int32_t *permutation(Scramble *s, int32_t count) {
  int32_t *order = SHARD_ARENA_ARRAY(s->arena, int32_t, count);
  for (int32_t i = 0; i < count; ++i) {
    int32_t j = (int32_t)(next(s) % (uint64_t)(i + 1));
    order[i] = order[j];
    order[j] = i;
  }
  return order;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Entries of args.json that the entry's arguments stand for: all, or the inputs.
static bool isArgument(const json_t *entry, bool inputsOnly) {
  const char *role = json_string_value(json_object_get(entry, "role"));
  return !inputsOnly || (role && strcmp(role, "input") == 0);
}

static bool reorderJson(Scramble *s, int32_t count, const int32_t *order) {
  json_t *old = json_object_get(s->args, "args");
  size_t nEntries = json_array_size(old);
  bool inputsOnly = nEntries != (size_t)count;
  json_t **picked = SHARD_ARENA_ARRAY(s->arena, json_t *, nEntries);
  int32_t nPicked = 0;
  for (size_t i = 0; i < nEntries; ++i)
    if (isArgument(json_array_get(old, i), inputsOnly))
      picked[nPicked++] = json_array_get(old, i);
  if (nPicked != count)
    return false;
  json_t *list = json_array();
  int32_t at = 0;
  for (size_t i = 0; i < nEntries; ++i) {
    json_t *entry = json_array_get(old, i);
    if (isArgument(entry, inputsOnly))
      entry = picked[order[at++]];
    json_t *copy = json_copy(entry);
    json_object_set_new(copy, "index", json_integer((json_int_t)i));
    json_object_set_new(copy, "name", json_sprintf("t%d", (int)i));
    json_array_append_new(list, copy);
  }
  json_object_set_new(s->args, "args", list);
  return true;
}

static bool reorderArguments(Scramble *s) {
  MlirBlock body = shardFuncGetBody(s->entry);
  int32_t count = (int32_t)mlirBlockGetNumArguments(body);
  int32_t *order = permutation(s, count);
  if (s->args && !reorderJson(s, count, order))
    return false;
  MlirAttribute attributes = shardOpGetAttribute(s->entry, "arg_attrs");
  if (!mlirAttributeIsNull(attributes)) {
    MlirAttribute *list = SHARD_ARENA_ARRAY(s->arena, MlirAttribute, count);
    for (int32_t i = 0; i < count; ++i)
      list[i] = mlirArrayAttrGetElement(attributes, order[i]);
    shardOpSetAttribute(s->entry, "arg_attrs", mlirArrayAttrGet(s->context, count, list));
  }
  for (int32_t i = 0; i < count; ++i) {
    MlirValue old = mlirBlockGetArgument(body, order[i]);
    MlirValue added =
        mlirBlockAddArgument(body, mlirValueGetType(old), mlirLocationUnknownGet(s->context));
    mlirValueReplaceAllUsesOfWith(old, added);
  }
  for (int32_t i = count - 1; i >= 0; --i)
    mlirBlockEraseArgument(body, (unsigned)i);
  shardFuncUpdateType(s->entry);
  return true;
}

/// A random topological order: of the ops that are ready, any.
static void shuffle(Scramble *s) {
  ShardLayerGraph *graph = shardLayerGraphCreate(s->entry, "spmd.layer", s->arena);
  int32_t n = graph->nNodes;
  int32_t *pending = SHARD_ARENA_ARRAY(s->arena, int32_t, n);
  int32_t *ready = SHARD_ARENA_ARRAY(s->arena, int32_t, n);
  int32_t *nUsers = SHARD_ARENA_ARRAY(s->arena, int32_t, n);
  int32_t **users = SHARD_ARENA_ARRAY(s->arena, int32_t *, n);
  for (int pass = 0; pass < 2; ++pass)
    for (int32_t i = 0; i < n - 1; ++i)
      for (int32_t j = 0; j < graph->nodes[i].nOperands; ++j) {
        int32_t p = graph->values[graph->nodes[i].operands[j]].node;
        if (p < 0)
          continue;
        if (pass == 0) {
          ++nUsers[p];
          ++pending[i];
        } else {
          if (!users[p]) {
            users[p] = SHARD_ARENA_ARRAY(s->arena, int32_t, nUsers[p]);
            nUsers[p] = 0;
          }
          users[p][nUsers[p]++] = i;
        }
      }
  int32_t nReady = 0;
  for (int32_t i = 0; i < n - 1; ++i)
    if (pending[i] == 0)
      ready[nReady++] = i;
  MlirOperation terminator = graph->nodes[n - 1].op;
  while (nReady > 0) {
    int32_t at = (int32_t)(next(s) % (uint64_t)nReady);
    int32_t i = ready[at];
    ready[at] = ready[--nReady];
    mlirOperationMoveBefore(graph->nodes[i].op, terminator);
    for (int32_t u = 0; u < nUsers[i] && users[i]; ++u)
      if (--pending[users[i][u]] == 0)
        ready[nReady++] = users[i][u];
  }
}

static bool runPasses(Scramble *s, const char *passes) {
  MlirPassManager manager = mlirPassManagerCreateOnOperation(
      s->context, mlirStringRefCreateFromCString("builtin.module"));
  bool good = mlirLogicalResultIsSuccess(mlirOpPassManagerAddPipeline(
                  mlirPassManagerGetAsOpPassManager(manager),
                  mlirStringRefCreateFromCString(passes), NULL, NULL)) &&
              mlirLogicalResultIsSuccess(mlirPassManagerRunOnOp(manager, s->module));
  mlirPassManagerDestroy(manager);
  return good;
}

static MlirLogicalResult unmarkCall(void *user, MlirOperation call) {
  Scramble *s = user;
  MlirAttribute callee = shardOpGetAttribute(call, "callee");
  const char *name =
      shardArenaFormat(s->arena, "decoder_%s", mlirFlatSymbolRefAttrGetValue(callee).data);
  shardOpSetAttribute(call, "callee",
                      mlirFlatSymbolRefAttrGet(s->context, mlirStringRefCreateFromCString(name)));
  shardOpRemoveAttribute(call, "spmd.layer");
  mlirOperationSetLocation(call, mlirLocationUnknownGet(s->context));
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult renameFunction(void *user, MlirOperation func) {
  Scramble *s = user;
  if (shardFuncIsPublic(func))
    return mlirLogicalResultSuccess();
  MlirAttribute old = shardOpGetAttribute(func, "sym_name");
  const char *name = shardArenaFormat(s->arena, "decoder_%s", mlirStringAttrGetValue(old).data);
  shardOpSetAttribute(func, "sym_name", shardAttrString(s->context, name));
  return mlirLogicalResultSuccess();
}

/// Functions under names of the user's, called without our marks.
static bool outline(Scramble *s) {
  if (!runPasses(s, "shard-outline-layers"))
    return false;
  shardWalk(s->module, "func.call", unmarkCall, s);
  shardWalk(s->module, "func.func", renameFunction, s);
  return true;
}

/// Gives the call its own copy of the function.
static MlirLogicalResult copyCallee(void *user, MlirOperation call) {
  Scramble *s = user;
  MlirStringRef callee = mlirFlatSymbolRefAttrGetValue(shardOpGetAttribute(call, "callee"));
  MlirOperation func = shardModuleLookup(s->module, callee);
  int64_t layer = 0;
  shardAttrGetI64(shardOpGetAttribute(call, "spmd.layer"), &layer);
  MlirAttribute name =
      shardAttrString(s->context, shardArenaFormat(s->arena, "block_%d", (int)layer));
  MlirOperation copy = mlirOperationClone(func);
  mlirBlockAppendOwnedOperation(mlirModuleGetBody(mlirModuleFromOperation(s->module)), copy);
  shardOpSetAttribute(copy, "sym_name", name);
  shardOpSetAttribute(call, "callee",
                      mlirFlatSymbolRefAttrGet(s->context, mlirStringAttrGetValue(name)));
  shardOpRemoveAttribute(call, "spmd.layer");
  return mlirLogicalResultSuccess();
}

static bool outlineEach(Scramble *s) {
  if (!runPasses(s, "shard-outline-layers"))
    return false;
  MlirOperation call = mlirBlockGetFirstOperation(shardFuncGetBody(s->entry)), next;
  for (; !mlirOperationIsNull(call); call = next) {
    next = mlirOperationGetNextInBlock(call);
    if (shardOpIs(call, "func.call"))
      copyCallee(s, call);
  }
  return runPasses(s, "symbol-dce");
}

static bool runStep(Scramble *s, const char *step) {
  if (strcmp(step, "arguments") == 0)
    return reorderArguments(s);
  if (strcmp(step, "shuffle") == 0)
    return shuffle(s), true;
  if (strcmp(step, "outline") == 0)
    return outline(s);
  if (strcmp(step, "outline-each") == 0)
    return outlineEach(s);
  if (strcmp(step, "canonicalize") == 0)
    return runPasses(s, "canonicalize,cse");
  if (strcmp(step, "generalize") == 0)
    return runPasses(s, "func.func(linalg-generalize-named-ops)");
  if (strcmp(step, "fuse") == 0)
    return runPasses(s, "func.func(linalg-fuse-elementwise-ops)");
  if (strcmp(step, "locations") == 0)
    return runPasses(s, "strip-debuginfo");
  fail("unknown step", step);
  return false;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static void writeText(MlirStringRef text, void *file) { fwrite(text.data, 1, text.length, file); }

static bool writeModule(Scramble *s, const char *path, bool locations) {
  FILE *file = fopen(path, "w");
  if (!file)
    return false;
  MlirOpPrintingFlags flags = mlirOpPrintingFlagsCreate();
  mlirOpPrintingFlagsEnableDebugInfo(flags, locations, false);
  mlirOperationPrintWithFlags(s->module, flags, writeText, file);
  mlirOpPrintingFlagsDestroy(flags);
  bool good = fputc('\n', file) != EOF && !ferror(file);
  return fclose(file) == 0 && good;
}

static bool copyFile(const char *from, const char *to) {
  FILE *in = fopen(from, "rb");
  if (!in)
    return false;
  FILE *out = fopen(to, "wb");
  bool good = out != NULL;
  static char block[1 << 16];
  size_t length;
  while (good && (length = fread(block, 1, sizeof block, in)) > 0)
    good = fwrite(block, 1, length, out) == length;
  good = good && !ferror(in);
  fclose(in);
  if (out && fclose(out) != 0)
    good = false;
  return good;
}

/// Copies the data files that `list` names from beside the args.json.
static bool copyData(Scramble *s, const char *argsPath, const char *folder, const char *list) {
  const char *slash = strrchr(argsPath, '/');
  int base = slash ? (int)(slash - argsPath + 1) : 0;
  size_t i;
  json_t *entry;
  json_array_foreach(json_object_get(s->args, list), i, entry) {
    const char *name = json_string_value(json_object_get(entry, "file"));
    if (!name)
      continue;
    const char *from = shardArenaFormat(s->arena, "%.*s%s", base, argsPath, name);
    const char *to = shardArenaFormat(s->arena, "%s/%s", folder, name);
    if (!copyFile(from, to)) {
      fail("cannot copy", from);
      return false;
    }
  }
  return true;
}

static bool findEntry(Scramble *s) {
  MlirBlock top = mlirModuleGetBody(mlirModuleFromOperation(s->module));
  MlirOperation op = mlirBlockGetFirstOperation(top);
  for (; !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op))
    if (shardOpIs(op, "func.func") && shardFuncIsPublic(op) &&
        !mlirBlockIsNull(shardFuncGetBody(op))) {
      if (s->entry.ptr)
        return false;
      s->entry = op;
    }
  return s->entry.ptr != NULL;
}

int main(int argc, char **argv) {
  const char *paths[3] = {NULL}, *steps = "";
  int nPaths = 0;
  Scramble s = {.arena = shardArenaCreate()};
  for (int i = 1; i < argc; ++i) {
    if (strncmp(argv[i], "--seed=", 7) == 0)
      s.state = strtoull(argv[i] + 7, NULL, 10);
    else if (strncmp(argv[i], "--steps=", 8) == 0)
      steps = argv[i] + 8;
    else if (argv[i][0] == '-' || nPaths == 3)
      return fail("unknown option", argv[i]);
    else
      paths[nPaths++] = argv[i];
  }
  if (nPaths < 2) {
    fputs("usage: scramble [--seed=N] --steps=STEP,STEP,... MODEL.mlir [ARGS.json] FOLDER\n",
          stderr);
    return 1;
  }
  const char *folder = paths[nPaths - 1];
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  mlirRegisterAllDialects(registry);
  mlirRegisterAllPasses();
  shardPassesRegister();
  s.context = mlirContextCreateWithRegistry(registry, false);
  mlirDialectRegistryDestroy(registry);
  mlirContextLoadAllAvailableDialects(s.context);
  FILE *file = fopen(paths[0], "rb");
  if (!file)
    return fail("cannot read", paths[0]);
  char *text = NULL;
  size_t length = 0, capacity = 0, got;
  do {
    if (length == capacity) {
      capacity = capacity ? 2 * capacity : 1 << 20;
      text = realloc(text, capacity + 1);
      if (!text)
        return fail("out of memory for", paths[0]);
    }
    got = fread(text + length, 1, capacity - length, file);
    length += got;
  } while (got > 0);
  fclose(file);
  text[length] = 0;
  MlirModule module = mlirModuleCreateParse(s.context, mlirStringRefCreate(text, length));
  free(text);
  if (mlirModuleIsNull(module))
    return 1;
  s.module = mlirModuleGetOperation(module);
  if (!findEntry(&s))
    return fail("not exactly one public function in", paths[0]);
  if (nPaths == 3) {
    json_error_t error;
    s.args = json_load_file(paths[1], 0, &error);
    if (!s.args)
      return fail("not JSON:", paths[1]);
  }
  bool locations = false;
  char *list = shardArenaCopyString(s.arena, steps, strlen(steps));
  for (char *step = strtok(list, ","); step; step = strtok(NULL, ",")) {
    locations |= strcmp(step, "locations") == 0;
    if (!runStep(&s, step))
      return fail("this step failed:", step);
  }
  if (!mlirOperationVerify(s.module))
    return fail("the result does not verify:", steps);
  if (mkdir(folder, 0777) != 0 && errno != EEXIST)
    return fail("cannot create", folder);
  const char *out = shardArenaFormat(s.arena, "%s/model.linalg.mlir", folder);
  if (!writeModule(&s, out, locations))
    return fail("cannot write", out);
  if (s.args) {
    out = shardArenaFormat(s.arena, "%s/args.json", folder);
    if (json_dump_file(s.args, out, JSON_INDENT(1)) != 0)
      return fail("cannot write", out);
    if (!copyData(&s, paths[1], folder, "args") || !copyData(&s, paths[1], folder, "results"))
      return 1;
    json_decref(s.args);
  }
  mlirModuleDestroy(module);
  mlirContextDestroy(s.context);
  shardArenaDestroy(s.arena);
  return 0;
}
