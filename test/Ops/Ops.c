//===- Ops.c - Every op, sharded on every dimension ---------------*- C -*-===//
// shard-ops list LIST REGISTERED PROGRAM...   Compares the list of ops with the ops that the
//     dialects register (a file of names) and with what the programs use.
// shard-ops run DIRECTORY even|uneven PROGRAM...  Runs each program of each file (split at
//     `// -----`) with each dimension of each argument split over the fewest devices that divide
//     it (even) or do not (uneven), others whole; shard-run compares with the unsharded program.
//     SHARD_ONLY=TEXT: only functions with it in their name; SHARD_PART=K/N: every Nth run.
// shard-ops refuse DIRECTORY LIST PROGRAM...  Each program holds a refused op, and shard-opt says
//     the reason that the list gives.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/IR.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "Programs.h"

//===----------------------------------------------------------------------===//
// list
//===----------------------------------------------------------------------===//

typedef struct Names {
  char **items;
  size_t n;
} Names;

static bool hasName(const Names *names, const char *text, size_t length) {
  for (size_t i = 0; i < names->n; ++i)
    if (strlen(names->items[i]) == length && memcmp(names->items[i], text, length) == 0)
      return true;
  return false;
}

static void addName(Names *names, const char *text, size_t length) {
  if (hasName(names, text, length))
    return;
  names->items = realloc(names->items, (names->n + 1) * sizeof *names->items);
  names->items[names->n++] = strndup(text, length);
}

static MlirWalkResult collectName(MlirOperation op, void *user) {
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  addName(user, name.data, name.length);
  return MlirWalkResultAdvance;
}

/// A line of the list: "linalg.matmul handled" or "linalg.pack refused: reason".
static int list(int n, char **arguments) {
  Names listed = {0}, handled = {0}, registered = {0}, used = {0};
  int failures = 0, nRefused = 0;
  char *text = readFile(arguments[0]);
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
    if (line[0] == '#')
      continue;
    char *space = strchr(line, ' ');
    size_t length = space ? (size_t)(space - line) : strlen(line);
    bool refused = space && strncmp(space + 1, "refused: ", 9) == 0 && space[10];
    bool isHandled = space && strcmp(space + 1, "handled") == 0;
    if (!refused && !isHandled) {
      printf("'%s' is neither handled nor refused with a reason\n", line);
      ++failures;
    }
    if (hasName(&listed, line, length)) {
      printf("'%.*s' is listed twice\n", (int)length, line);
      ++failures;
    }
    addName(&listed, line, length);
    if (isHandled)
      addName(&handled, line, length);
    nRefused += refused;
  }
  char *names = readFile(arguments[1]);
  for (char *line = strtok(names, "\n"); line; line = strtok(NULL, "\n")) {
    addName(&registered, line, strlen(line));
    if (!hasName(&listed, line, strlen(line))) {
      printf("'%s' is registered and not listed\n", line);
      ++failures;
    }
  }
  for (size_t i = 0; i < listed.n; ++i)
    if (!hasName(&registered, listed.items[i], strlen(listed.items[i]))) {
      printf("'%s' is listed and not registered\n", listed.items[i]);
      ++failures;
    }
  MlirContext context = createContext();
  for (int i = 2; i < n; ++i) {
    char *rest = readFile(arguments[i]);
    for (char *program; (program = nextProgram(&rest));) {
      MlirModule module = mlirModuleCreateParse(context, mlirStringRefCreateFromCString(program));
      if (mlirModuleIsNull(module))
        stop("a program does not parse in", arguments[i]);
      mlirOperationWalk(mlirModuleGetOperation(module), collectName, &used, MlirWalkPreOrder);
      mlirModuleDestroy(module);
    }
  }
  for (size_t i = 0; i < handled.n; ++i)
    if (!hasName(&used, handled.items[i], strlen(handled.items[i]))) {
      printf("'%s' is handled, and no program runs it\n", handled.items[i]);
      ++failures;
    }
  printf("%zu ops: %zu handled, %d refused; %d failures\n", listed.n, handled.n, nRefused,
         failures);
  return failures != 0;
}

//===----------------------------------------------------------------------===//
// run
//===----------------------------------------------------------------------===//

typedef struct Runs {
  const char *directory, *only;
  bool even;
  long part, nParts;
  long number, passed, failed;
} Runs;

/// Runs shard-run for tp over `devices` on program.mlir with annotations.json ; true when it exits
/// with 0. Its output is then in output.txt.
static bool runOne(const Runs *runs, int devices) {
  char degrees[64], annotations[600], program[600], output[600];
  snprintf(degrees, sizeof degrees, "--auto-shard=tp%d", devices);
  snprintf(annotations, sizeof annotations, "--annotations=%s/annotations.json", runs->directory);
  snprintf(program, sizeof program, "%s/program.mlir", runs->directory);
  snprintf(output, sizeof output, "%s/output.txt", runs->directory);
  pid_t child = fork();
  if (child == 0) {
    if (!freopen(output, "w", stdout) || dup2(1, 2) < 0)
      _exit(126);
    alarm(60);
    execlp("shard-run", "shard-run", degrees, "--check", program, annotations, NULL);
    _exit(127);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

static void writeText(const Runs *runs, const char *name, const char *text) {
  char path[600];
  snprintf(path, sizeof path, "%s/%s", runs->directory, name);
  FILE *file = fopen(path, "w");
  if (!file || fputs(text, file) < 0 || fclose(file))
    stop("cannot write", path);
}

static void report(Runs *runs, bool ok, const char *function, const char *what, int devices) {
  ++*(ok ? &runs->passed : &runs->failed);
  if (ok)
    return;
  char path[600];
  snprintf(path, sizeof path, "%s/output.txt", runs->directory);
  char *text = readFile(path), *found = strstr(text, "mismatch: ");
  if (!found)
    found = strstr(text, "error: ");
  found = found ? found : text;
  printf("%s, %s over %d: %.*s\n", function, what, devices, (int)strcspn(found, "\n"), found);
  fflush(stdout);
  free(text);
}

static void appendWhole(FILE *stream, MlirType type, intptr_t splitDim) {
  fputs("[", stream);
  for (intptr_t d = 0; d < mlirShapedTypeGetRank(type); ++d)
    fprintf(stream, "%s%s", d ? "," : "", d == splitDim ? "[\"tp\"]" : "[]");
  fputs("]", stream);
}

/// Argument `split` (or, with no argument, result) on dimension `dim`; all other arguments whole.
static char *annotationsText(MlirType function, bool result, intptr_t split, intptr_t dim) {
  char *text = NULL;
  size_t length = 0;
  FILE *stream = open_memstream(&text, &length);
  fputs("{\"version\":1,\"args\":{", stream);
  for (intptr_t i = 0; i < mlirFunctionTypeGetNumInputs(function); ++i) {
    fprintf(stream, "%s\"%td\":{\"sharding\":", i ? "," : "", i);
    appendWhole(stream, mlirFunctionTypeGetInput(function, i), !result && i == split ? dim : -1);
    fputs("}", stream);
  }
  fputs("},\"results\":{", stream);
  for (intptr_t i = 0; result && i < mlirFunctionTypeGetNumResults(function); ++i) {
    fprintf(stream, "%s\"%td\":{\"sharding\":", i ? "," : "", i);
    appendWhole(stream, mlirFunctionTypeGetResult(function, i), i == split ? dim : -1);
    fputs("}", stream);
  }
  fputs("}}", stream);
  fclose(stream);
  return text;
}

/// The fewest devices, two at least, that divide the size, or do not.
static int devicesFor(const Runs *runs, int64_t size) {
  int devices = 2;
  while ((size % devices == 0) != runs->even)
    ++devices;
  return devices;
}

static void runDimensions(Runs *runs, const char *name, MlirType function, bool result) {
  intptr_t n =
      result ? mlirFunctionTypeGetNumResults(function) : mlirFunctionTypeGetNumInputs(function);
  for (intptr_t i = 0; i < n; ++i) {
    MlirType type =
        result ? mlirFunctionTypeGetResult(function, i) : mlirFunctionTypeGetInput(function, i);
    for (intptr_t d = 0; d < mlirShapedTypeGetRank(type); ++d) {
      if (mlirShapedTypeGetDimSize(type, d) == 1 || runs->number++ % runs->nParts != runs->part)
        continue;
      int devices = devicesFor(runs, mlirShapedTypeGetDimSize(type, d));
      char *text = annotationsText(function, result, i, d), what[80];
      writeText(runs, "annotations.json", text);
      free(text);
      snprintf(what, sizeof what, "%s %td split on dimension %td", result ? "result" : "argument",
               i, d);
      report(runs, runOne(runs, devices), name, what, devices);
    }
  }
}

static void runProgram(Runs *runs, MlirContext context, const char *program, const char *path) {
  MlirModule module = mlirModuleCreateParse(context, mlirStringRefCreateFromCString(program));
  if (mlirModuleIsNull(module))
    stop("a program does not parse in", path);
  MlirOperation func = mlirBlockGetFirstOperation(mlirModuleGetBody(module));
  MlirStringRef symbol = mlirStringAttrGetValue(
      mlirOperationGetAttributeByName(func, mlirStringRefCreateFromCString("sym_name")));
  char name[200];
  snprintf(name, sizeof name, "@%.*s", (int)symbol.length, symbol.data);
  MlirType type = mlirTypeAttrGetValue(
      mlirOperationGetAttributeByName(func, mlirStringRefCreateFromCString("function_type")));
  if (!runs->only || strstr(name, runs->only)) {
    writeText(runs, "program.mlir", program);
    runDimensions(runs, name, type, mlirFunctionTypeGetNumInputs(type) == 0);
  }
  mlirModuleDestroy(module);
}

static int run(int n, char **arguments) {
  Runs runs = {.directory = arguments[0], .even = strcmp(arguments[1], "even") == 0, .nParts = 1};
  runs.only = getenv("SHARD_ONLY");
  const char *part = getenv("SHARD_PART");
  if (part && (sscanf(part, "%ld/%ld", &runs.part, &runs.nParts) != 2 || runs.nParts < 1))
    stop("expected SHARD_PART=K/N, found", part);
  runs.part %= runs.nParts;
  MlirContext context = createContext();
  for (int i = 2; i < n; ++i) {
    char *rest = readFile(arguments[i]);
    for (char *program; (program = nextProgram(&rest));)
      runProgram(&runs, context, program, arguments[i]);
  }
  printf("%s: %ld runs passed, %ld failed\n", arguments[1], runs.passed, runs.failed);
  return runs.failed != 0 || runs.passed == 0;
}

//===----------------------------------------------------------------------===//
// refuse
//===----------------------------------------------------------------------===//

/// The reason that the list gives for an op, up to the end of its line; null when it is handled.
static const char *reasonOf(const char *listText, const char *name) {
  char line[300];
  snprintf(line, sizeof line, "\n%s refused: ", name);
  const char *found = strstr(listText, line);
  return found ? found + strlen(line) : NULL;
}

/// Whether shard-opt refuses program.mlir with one error that names an op of it and its reason;
/// adds the op.
static bool isRefused(const char *directory, const char *listText, Names *refused) {
  char command[1300], path[600];
  snprintf(path, sizeof path, "%s/output.txt", directory);
  snprintf(command, sizeof command,
           "shard-opt --auto-shard=tp2 %s/program.mlir -o %s/program.out >%s 2>&1", directory,
           directory, path);
  int status = system(command);
  char *text = readFile(path), *error = strstr(text, ": error: \x27"), *end = NULL;
  bool ok = WIFEXITED(status) && WEXITSTATUS(status) == 1 && error;
  if (ok) {
    error += strlen(": error: \x27");
    end = strstr(error, "\x27 is not supported: ");
    ok = end && !strstr(error, ": error: ");
  }
  if (ok) {
    *end = 0;
    const char *reason = reasonOf(listText, error),
               *given = end + strlen("\x27 is not supported: ");
    size_t length = reason ? strcspn(reason, "\n") : 0;
    ok = reason && strncmp(given, reason, length) == 0 &&
         strncmp(given + length, "; expected ", strlen("; expected ")) == 0;
    addName(refused, error, strlen(error));
  }
  free(text);
  return ok;
}

/// Ops inside of another refused one count as refused with it.
static int refuse(int n, char **arguments) {
  Runs runs = {.directory = arguments[0]};
  char *listText = readFile(arguments[1]);
  Names refused = {0};
  int failures = 0;
  MlirContext context = createContext();
  for (int i = 2; i < n; ++i) {
    char *rest = readFile(arguments[i]);
    for (char *program; (program = nextProgram(&rest));) {
      writeText(&runs, "program.mlir", program);
      if (!isRefused(runs.directory, listText, &refused)) {
        printf("not refused as listed:\n%s", program);
        ++failures;
      }
      MlirModule module = mlirModuleCreateParse(context, mlirStringRefCreateFromCString(program));
      if (mlirModuleIsNull(module))
        stop("a program does not parse in", arguments[i]);
      mlirOperationWalk(mlirModuleGetOperation(module), collectName, &refused, MlirWalkPreOrder);
      mlirModuleDestroy(module);
    }
  }
  for (char *line = strtok(listText, "\n"); line; line = strtok(NULL, "\n")) {
    char *space = strstr(line, " refused: ");
    if (space && !hasName(&refused, line, (size_t)(space - line))) {
      printf("no program shows that \x27%.*s\x27 is refused\n", (int)(space - line), line);
      ++failures;
    }
  }
  printf("refused: %zu ops, %d failures\n", (size_t)refused.n, failures);
  return failures != 0;
}

int main(int argc, char **argv) {
  if (argc > 4 && strcmp(argv[1], "list") == 0)
    return list(argc - 2, argv + 2);
  if (argc > 4 && strcmp(argv[1], "run") == 0)
    return run(argc - 2, argv + 2);
  if (argc > 4 && strcmp(argv[1], "refuse") == 0)
    return refuse(argc - 2, argv + 2);
  fputs("usage: shard-ops list LIST REGISTERED PROGRAM...\n"
        "       shard-ops run DIRECTORY even|uneven PROGRAM...\n"
        "       shard-ops refuse DIRECTORY LIST PROGRAM...\n",
        stderr);
  return 1;
}
