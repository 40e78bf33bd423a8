//===- Load.c - Contexts, inputs, messages ------------------------*- C -*-===//
#define _GNU_SOURCE // memmem
#include "../../../tools/common/InputFile.h"
#include "../Core/Arena.h"
#include "../Core/Diagnostics.h"
#include "../Core/Dialects.h"
#include "../Core/IR.h"
#include "../Core/ParseShim.h"
#include "../Core/Text.h"

#include "shard/Pipelines.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/RegisterEverything.h"

#include <ctype.h>
#include <string.h>

void shardContextPrepare(MlirContext context) {
  static const char *const names[] = {"arith", "cf",    "func",   "linalg", "math",
                                      "scf",   "shard", "tensor", "tosa"};
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  mlirRegisterAllDialects(registry);
  mlirContextAppendDialectRegistry(context, registry);
  mlirDialectRegistryDestroy(registry);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
    mlirContextGetOrLoadDialect(context, mlirStringRefCreateFromCString(names[i]));
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

// The parser's own words for a dialect that it does not know are told from others by these phrases
// (MLIR 22.1); the error is then said again with what to do. Others pass through.
typedef struct ParseState {
  MlirStringRef text; // the source
  ShardArena *arena;
  MlirLocation location; // of the error to be said again
  const char *message;   // null: none
  bool failed;           // an error passed through or was taken
  bool isTmTensor;       // it is an op of tm_tensor, in generic form
} ParseState;

static bool isNameCharacter(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$'; }

// The quoted "dialect.op" that stands last before column `column` of line `line` (both from 1).
static MlirStringRef findQuotedName(MlirStringRef text, int line, int column) {
  MlirStringRef none = {NULL, 0};
  const char *p = text.data, *end = text.data + text.length;
  for (int i = 1; i < line && p; ++i) {
    p = memchr(p, '\n', (size_t)(end - p));
    p = p ? p + 1 : NULL;
  }
  if (!p || column < 1 || column > end - p)
    return none;
  const char *close = p + column - 1; // the location is behind the name
  while (close > p && *close != '"')
    --close;
  const char *open = close;
  while (open > p && *--open != '"')
    ;
  if (open >= close || *open != '"')
    return none;
  return mlirStringRefCreate(open + 1, (size_t)(close - open - 1));
}

// The name that follows `prefix` in `message`, up to a character that no name has.
static MlirStringRef nameAfter(const char *message, const char *prefix) {
  const char *p = strstr(message, prefix);
  if (!p)
    return (MlirStringRef){NULL, 0};
  p += strlen(prefix);
  size_t length = 0;
  while (isNameCharacter(p[length]) || p[length] == '.')
    ++length;
  return mlirStringRefCreate(p, length);
}

static const char *explainUnknownDialect(ParseState *state, MlirLocation location,
                                         const char *message) {
  MlirStringRef op = {NULL, 0}, dialect = {NULL, 0};
  if (strstr(message, "not found for custom op '")) {
    op = nameAfter(message, "custom op '");
    dialect = shardDialectOfOp(op);
  } else if (strstr(message, "operation being parsed with an unregistered dialect") &&
             mlirLocationIsAFileLineColRange(location)) {
    op = findQuotedName(state->text, mlirLocationFileLineColRangeGetStartLine(location),
                        mlirLocationFileLineColRangeGetStartColumn(location));
    if (op.length)
      dialect = shardDialectOfOp(op);
    state->isTmTensor = mlirStringRefEqual(dialect, mlirStringRefCreateFromCString("tm_tensor"));
  } else if (strstr(message, "created with unregistered dialect")) {
    dialect = nameAfter(message, strstr(message, "!\"") ? "!\"" : "#\"");
  }
  if (!dialect.length)
    return NULL;
  const char *advice = shardDialectGetAdvice(dialect);
  if (!advice)
    advice = "models are made of func, linalg, tensor, arith, math, tosa, scf and cf.assert; "
             "an op of your own, in generic form, takes a rule (--rules=FILE)";
  if (op.length)
    return shardArenaFormat(state->arena, "op '%.*s': dialect '%.*s' is not supported; %s",
                            (int)op.length, op.data, (int)dialect.length, dialect.data, advice);
  return shardArenaFormat(state->arena, "dialect '%.*s' is not supported; %s", (int)dialect.length,
                          dialect.data, advice);
}

static MlirLogicalResult takeParseDiagnostic(MlirDiagnostic diagnostic, void *user) {
  ParseState *state = user;
  if (mlirDiagnosticGetSeverity(diagnostic) != MlirDiagnosticError)
    return mlirLogicalResultFailure();
  if (state->failed)
    return mlirLogicalResultSuccess(); // what follows the first error only repeats it
  state->failed = true;
  ShardText buffer = {.arena = state->arena};
  mlirDiagnosticPrint(diagnostic, shardTextAppend, &buffer);
  state->location = mlirDiagnosticGetLocation(diagnostic);
  state->message = explainUnknownDialect(state, state->location, buffer.data ? buffer.data : "");
  return state->message ? mlirLogicalResultSuccess() : mlirLogicalResultFailure();
}

static bool isBlank(MlirStringRef text) {
  for (size_t i = 0; i < text.length; ++i)
    if (!isspace((unsigned char)text.data[i]))
      return false;
  return true;
}

static MlirModule parseOnce(MlirContext context, MlirStringRef name, ParseState *state) {
  MlirDiagnosticHandlerID id =
      mlirContextAttachDiagnosticHandler(context, takeParseDiagnostic, state, NULL);
  MlirModule module = shardParseNamed(context, state->text, name);
  mlirContextDetachDiagnosticHandler(context, id);
  return module;
}

// Upstream's verifier takes any numbers here, and its patterns read what they point at.
static MlirWalkResult checkReshape(MlirOperation op, void *user) {
  bool *good = user;
  if (!shardOpIs(op, "tensor.collapse_shape") && !shardOpIs(op, "tensor.expand_shape"))
    return MlirWalkResultAdvance;
  MlirAttribute groups = shardOpGetAttribute(op, "reassociation");
  int64_t next = 0, at;
  *good = !mlirAttributeIsNull(groups) && mlirAttributeIsAArray(groups);
  for (intptr_t g = 0; *good && g < mlirArrayAttrGetNumElements(groups); ++g) {
    MlirAttribute group = mlirArrayAttrGetElement(groups, g);
    for (intptr_t i = 0; *good && i < mlirArrayAttrGetNumElements(group); ++i)
      *good = shardAttrGetI64(mlirArrayAttrGetElement(group, i), &at) && at == next++;
  }
  if (*good)
    return MlirWalkResultAdvance;
  shardEmitError(op, "a reshape whose dimensions are not numbered in order");
  return MlirWalkResultInterrupt;
}

static bool checkReshapes(MlirModule module) {
  bool good = true;
  mlirOperationWalk(mlirModuleGetOperation(module), checkReshape, &good, MlirWalkPreOrder);
  return good;
}

MlirModule shardModuleParse(MlirContext context, MlirStringRef text, const char *name) {
  MlirStringRef nameRef = mlirStringRefCreateFromCString(name);
  MlirLocation start = mlirLocationFileLineColGet(context, nameRef, 1, 1);
  if (isBlank(text)) {
    shardEmitErrorAt(start, "the file is empty; expected a module");
    return (MlirModule){NULL};
  }
  ParseState state = {.text = text, .arena = shardArenaCreate()};
  MlirModule module = parseOnce(context, nameRef, &state);
  bool own = memmem(text.data, text.length, "spmd.rule", strlen("spmd.rule")) ||
             memmem(text.data, text.length, "!spmd.token", strlen("!spmd.token"));
  if (mlirModuleIsNull(module) && (state.isTmTensor || own)) {
    // MLIR does not know the dialect, but import does; it refuses what other ops there may be.
    mlirContextSetAllowUnregisteredDialects(context, true);
    state = (ParseState){.text = text, .arena = state.arena};
    module = parseOnce(context, nameRef, &state);
  }
  if (!mlirModuleIsNull(module) && !checkReshapes(module)) {
    mlirModuleDestroy(module);
    module = (MlirModule){NULL};
    state.failed = true;
  }
  if (mlirModuleIsNull(module) && state.message)
    shardEmitErrorAt(state.location, "%s", state.message);
  else if (mlirModuleIsNull(module) && !state.failed)
    shardEmitErrorAt(start, "this is no module");
  shardArenaDestroy(state.arena);
  return module;
}

MlirModule shardModuleParseFile(MlirContext context, const char *path) {
  ShardInputFile file;
  char message[512];
  if (!shardInputFileRead(path, &file, message, sizeof message)) {
    shardEmitErrorAt(mlirLocationUnknownGet(context), "%s", message);
    return (MlirModule){NULL};
  }
  MlirModule module = shardModuleParse(context, mlirStringRefCreate(file.bytes, file.sizeBytes),
                                       strcmp(path, "-") == 0 ? "<stdin>" : path);
  shardInputFileRelease(&file);
  return module;
}

//===----------------------------------------------------------------------===//
// Diagnostics as text
//===----------------------------------------------------------------------===//

static void sendText(MlirStringCallback callback, void *userData, const char *text) {
  callback(mlirStringRefCreateFromCString(text), userData);
}

static void formatOne(MlirDiagnostic diagnostic, const char *fallback, ShardArena *arena,
                      const char *severity, MlirStringCallback callback, void *userData) {
  MlirLocation location = mlirDiagnosticGetLocation(diagnostic);
  const char *where = shardLocationText(location, arena);
  // A name alone, or nothing, is no place in a file.
  const char *last = strrchr(where, ':');
  bool isFile = last && isdigit((unsigned char)last[1]);
  sendText(callback, userData, isFile ? where : fallback);
  sendText(callback, userData, ": ");
  sendText(callback, userData, severity);
  sendText(callback, userData, ": ");
  ShardText buffer = {.arena = arena};
  mlirDiagnosticPrint(diagnostic, shardTextAppend, &buffer);
  // One line: a newline in MLIR's text would look like another message.
  for (size_t i = 0; i < buffer.length; ++i)
    if (buffer.data[i] == '\n')
      buffer.data[i] = ' ';
  while (buffer.length && buffer.data[buffer.length - 1] == ' ')
    --buffer.length;
  if (buffer.length)
    callback(mlirStringRefCreate(buffer.data, buffer.length), userData);
  sendText(callback, userData, "\n");
}

void shardDiagnosticFormat(MlirDiagnostic diagnostic, const char *fallback,
                           MlirStringCallback callback, void *userData) {
  static const char *const severities[] = {[MlirDiagnosticError] = "error",
                                           [MlirDiagnosticWarning] = "warning",
                                           [MlirDiagnosticNote] = "note",
                                           [MlirDiagnosticRemark] = "remark"};
  ShardArena *arena = shardArenaCreate();
  formatOne(diagnostic, fallback, arena, severities[mlirDiagnosticGetSeverity(diagnostic)],
            callback, userData);
  for (intptr_t i = 0, n = mlirDiagnosticGetNumNotes(diagnostic); i < n; ++i)
    formatOne(mlirDiagnosticGetNote(diagnostic, i), fallback, arena, "note", callback, userData);
  shardArenaDestroy(arena);
}
