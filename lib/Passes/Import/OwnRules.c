//===- OwnRules.c - Rules for a user's own ops --------------------*- C -*-===//
// Reads: a file of rules, a line an op: "my.norm @body : (b d, d) -> (b d) whole d". Writes: the
// rule on every op of that name, and the functions that say what the ops compute as text on the
// module.
//===----------------------------------------------------------------------===//
#include "ImportParts.h"

#include "../Core/Text.h"

#include "../../../tools/common/InputFile.h"
#include "../Analysis/OwnRules.h"

#include <ctype.h>
#include <string.h>

typedef struct OwnLine {
  const char *name, *body; // body: null
  const char *rule;
  ShardOwnRule parsed;
  MlirLocation place; // in the file
} OwnLine;

struct ShardOwnRules {
  ShardArena *arena;
  OwnLine *lines;
  size_t n, capacity;
};

static MlirLocation placeIn(const ShardImport *import, const char *path, int line, size_t column) {
  return mlirLocationFileLineColGet(import->context, mlirStringRefCreateFromCString(path),
                                    (unsigned)line, (unsigned)column + 1);
}

static MlirLogicalResult mistake(const ShardImport *import, const char *path, int line,
                                 size_t column, const char *message) {
  return shardEmitErrorAt(placeIn(import, path, line, column), "rule: %s", message);
}

static size_t wordLength(const char *text) {
  size_t n = 0;
  while (isalnum((unsigned char)text[n]) || strchr("_.$-", text[n] ? text[n] : ' '))
    ++n;
  return n;
}

static const OwnLine *findLine(const ShardOwnRules *rules, MlirStringRef name) {
  for (size_t i = 0; i < rules->n; ++i)
    if (shardStringIs(name, rules->lines[i].name))
      return &rules->lines[i];
  return NULL;
}

/// One line of the file, without its newline.
static MlirLogicalResult readLine(const ShardImport *import, ShardOwnRules *rules, const char *path,
                                  int number, const char *text) {
  const char *p = text + strspn(text, " \t\r");
  if (!*p || *p == '#')
    return mlirLogicalResultSuccess();
  OwnLine line = {0};
  size_t n = wordLength(p);
  line.name = shardArenaCopyString(rules->arena, p, n);
  line.place = placeIn(import, path, number, (size_t)(p - text));
  if (!memchr(p, '.', n))
    return mistake(import, path, number, (size_t)(p - text),
                   "expected the name of an op with its dialect, as my.norm");
  if (findLine(rules, mlirStringRefCreate(p, n)))
    return mistake(import, path, number, (size_t)(p - text), "a second rule for this op");
  p += n;
  p += strspn(p, " \t");
  if (*p == '@') {
    n = wordLength(++p);
    line.body = shardArenaCopyString(rules->arena, p, n);
    p += n;
    p += strspn(p, " \t");
  }
  if (*p != ':')
    return mistake(import, path, number, (size_t)(p - text), "expected ':'");
  ++p;
  size_t length = strcspn(p, "#\r");
  line.rule = shardArenaCopyString(rules->arena, p, length);
  const char *message;
  size_t at;
  if (!shardOwnRuleParse(mlirStringRefCreate(line.rule, length), rules->arena, &line.parsed,
                         &message, &at))
    return mistake(import, path, number, (size_t)(p - text) + at, message);
  rules->lines = shardArenaGrow(rules->arena, rules->lines, rules->n, &rules->capacity,
                                rules->n + 1, sizeof(OwnLine));
  rules->lines[rules->n++] = line;
  return mlirLogicalResultSuccess();
}

MlirLogicalResult shardImportReadRules(ShardImport *import, const char *path) {
  ShardOwnRules *rules = SHARD_ARENA_NEW(import->arena, ShardOwnRules);
  rules->arena = import->arena;
  import->ownRules = rules;
  if (!*path)
    return mlirLogicalResultSuccess();
  ShardInputFile file;
  char message[512];
  if (!shardInputFileRead(path, &file, message, sizeof message))
    return shardEmitErrorAt(mlirLocationUnknownGet(import->context), "%s", message);
  char *text = shardArenaCopyString(import->arena, file.bytes, file.sizeBytes);
  shardInputFileRelease(&file);
  int number = 1;
  for (char *line = text; line; ++number) {
    char *next = strchr(line, '\n');
    if (next)
      *next++ = 0;
    if (mlirLogicalResultIsFailure(readLine(import, rules, path, number, line)))
      return mlirLogicalResultFailure();
    line = next;
  }
  return mlirLogicalResultSuccess();
}

bool shardImportHasRule(const ShardImport *import, MlirStringRef name) {
  return import->ownRules && findLine(import->ownRules, name);
}

//===----------------------------------------------------------------------===//
// Ops and bodies
//===----------------------------------------------------------------------===//

/// An op that has been checked: others of these types are like it.
typedef struct CheckedOp {
  const OwnLine *line;
  MlirOperation op;
} CheckedOp;

typedef struct RuleWalk {
  const ShardImport *import;
  MlirNamedAttribute *bodies;
  size_t nBodies, capacity;
  CheckedOp *checked;
  size_t nChecked, checkedCapacity;
} RuleWalk;

static bool hasBody(const RuleWalk *walk, const char *name) {
  for (size_t i = 0; i < walk->nBodies; ++i)
    if (shardStringIs(mlirIdentifierStr(walk->bodies[i].name), name))
      return true;
  return false;
}

static bool sameTypes(const ShardOwnRule *rule, MlirOperation a, MlirOperation b) {
  bool same = true;
  for (int32_t i = 0; i < rule->nOperands + rule->nResults && same; ++i)
    same = mlirTypeEqual(shardOwnRuleTypeOfPort(rule, a, i), shardOwnRuleTypeOfPort(rule, b, i));
  return same;
}

static bool isChecked(const RuleWalk *walk, const OwnLine *line, MlirOperation op) {
  for (size_t i = 0; i < walk->nChecked; ++i)
    if (walk->checked[i].line == line && sameTypes(&line->parsed, walk->checked[i].op, op))
      return true;
  return false;
}

static void keepBody(RuleWalk *walk, MlirOperation func, const OwnLine *line) {
  const ShardImport *import = walk->import;
  ShardText text = {.arena = import->arena};
  mlirOperationPrint(func, shardTextAppend, &text);
  walk->bodies = shardArenaGrow(import->arena, walk->bodies, walk->nBodies, &walk->capacity,
                                walk->nBodies + 1, sizeof(MlirNamedAttribute));
  walk->bodies[walk->nBodies++] = mlirNamedAttributeGet(
      mlirIdentifierGet(import->context, mlirStringRefCreateFromCString(line->name)),
      mlirStringAttrGet(import->context, mlirStringRefCreate(text.data, text.length)));
}

/// The body of an op that fits its rule, with names of these sizes (null: not to be checked): once
/// for each types.
static MlirLogicalResult takeBody(RuleWalk *walk, MlirOperation op, const OwnLine *line,
                                  const int64_t *sizes) {
  const ShardImport *import = walk->import;
  MlirOperation func =
      shardModuleLookup(import->module, mlirStringRefCreateFromCString(line->body));
  if (mlirOperationIsNull(func) || !shardOpIs(func, "func.func") ||
      mlirBlockIsNull(shardFuncGetBody(func)) ||
      mlirBlockGetNumArguments(shardFuncGetBody(func)) != mlirOperationGetNumOperands(op))
    return shardEmitError(op,
                          "the rule of '%s' names the body '@%s'; expected a function with a body "
                          "and as many arguments as the op has operands",
                          line->name, line->body);
  if (sizes && !isChecked(walk, line, op)) {
    walk->checked =
        shardArenaGrow(import->arena, walk->checked, walk->nChecked, &walk->checkedCapacity,
                       walk->nChecked + 1, sizeof(*walk->checked));
    walk->checked[walk->nChecked++] = (CheckedOp){line, op};
    if (mlirLogicalResultIsFailure(
            shardImportCheckBody(import, line->place, line->name, func, &line->parsed, op, sizes)))
      return mlirLogicalResultFailure();
  }
  if (!hasBody(walk, line->name))
    keepBody(walk, func, line);
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult applyRule(void *user, MlirOperation op) {
  RuleWalk *walk = user;
  const OwnLine *line = findLine(walk->import->ownRules, shardOpGetName(op));
  if (!line)
    return mlirLogicalResultSuccess();
  MlirAttribute rule = shardAttrString(walk->import->context, line->rule);
  int64_t *sizes = NULL;
  // One that stands there was fitted to the whole op, of which this one may be a part.
  if (!mlirAttributeEqual(shardOpGetAttribute(op, SHARD_OWN_RULE), rule)) {
    const char *message;
    sizes = SHARD_ARENA_ARRAY(walk->import->arena, int64_t, line->parsed.nNames + 1);
    if (!shardOwnRuleFit(&line->parsed, op, walk->import->arena, sizes, &message))
      return shardEmitError(op, "'%s' does not fit its rule: %s", line->name, message);
    shardOpSetAttribute(op, SHARD_OWN_RULE, rule);
  }
  return line->body ? takeBody(walk, op, line, sizes) : mlirLogicalResultSuccess();
}

MlirLogicalResult shardImportApplyRules(const ShardImport *import) {
  RuleWalk walk = {.import = import};
  for (intptr_t i = 0; i < import->nFunctions; ++i)
    if (mlirLogicalResultIsFailure(shardWalk(import->functions[i], NULL, applyRule, &walk)))
      return mlirLogicalResultFailure();
  if (walk.nBodies)
    shardOpSetAttribute(
        import->module, SHARD_OWN_BODIES,
        mlirDictionaryAttrGet(import->context, (intptr_t)walk.nBodies, walk.bodies));
  return mlirLogicalResultSuccess();
}
