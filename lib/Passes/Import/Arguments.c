//===- Arguments.c - What the entry takes -------------------------*- C -*-===//
// Constants that are data, not numbers of the program, become arguments of the entry; every
// argument gets its index, name and role.
//===----------------------------------------------------------------------===//
#include "Bounded.h"

#include "../../../tools/common/ArgsJson.h"
#include "../Core/Constants.h"

#include "mlir-c/BuiltinTypes.h"

#include <stdlib.h>
#include <string.h>

//===----------------------------------------------------------------------===//
// args.json
//===----------------------------------------------------------------------===//

/// Emits a message of the form PATH:LINE:COLUMN: error: TEXT at that place; any other at the
/// module.
static MlirLogicalResult emitFileError(const ShardImport *import, const char *path,
                                       const char *message) {
  size_t length = strlen(path);
  char *end;
  if (strncmp(message, path, length) == 0 && message[length] == ':') {
    long line = strtol(message + length + 1, &end, 10);
    long column = *end == ':' ? strtol(end + 1, &end, 10) : 0;
    static const char mark[] = ": error: ";
    if (line > 0 && column > 0 && strncmp(end, mark, sizeof(mark) - 1) == 0) {
      MlirLocation location = mlirLocationFileLineColGet(
          import->context, mlirStringRefCreateFromCString(path), (unsigned)line, (unsigned)column);
      return shardEmitErrorAt(location, "%s", end + sizeof(mark) - 1);
    }
  }
  return shardEmitErrorAt(mlirLocationUnknownGet(import->context), "%s", message);
}

static bool elementIs(MlirType element, ShardNpyType type) {
  switch (type) {
  case SHARD_NPY_BOOL:
    return mlirTypeIsAInteger(element) && mlirIntegerTypeGetWidth(element) == 1;
  case SHARD_NPY_F16:
    return mlirTypeIsAF16(element);
  case SHARD_NPY_BF16:
    return mlirTypeIsABF16(element);
  case SHARD_NPY_F32:
    return mlirTypeIsAF32(element);
  case SHARD_NPY_F64:
    return mlirTypeIsAF64(element);
  default:
    return (mlirTypeIsAInteger(element) &&
            mlirIntegerTypeGetWidth(element) == 8 * (unsigned)shardNpyTypeBytes(type)) ||
           (mlirTypeIsAIndex(element) && shardNpyTypeBytes(type) == 8);
  }
}

static const char *shapeText(ShardArena *arena, intptr_t rank, const int64_t *shape) {
  char *text = shardArenaAllocate(arena, 1);
  for (intptr_t d = 0; d < rank; ++d)
    text = shardArenaFormat(arena, "%s%s%lld", text, d ? "x" : "", (long long)shape[d]);
  return rank ? text : "scalar";
}

/// Whether the model leaves a dimension of an argument open: args.json then has the extent of its
/// own run.
static bool isOpen(const ShardImport *import, intptr_t argument, intptr_t d) {
  return import->open && import->open[argument] && import->open[argument][d];
}

static MlirLogicalResult checkEntry(const ShardImport *import, const ShardArgsJson *args,
                                    const ShardArgsEntry *entry, intptr_t argument, MlirType type) {
  MlirLocation location =
      mlirLocationFileLineColGet(import->context, mlirStringRefCreateFromCString(args->path),
                                 (unsigned)entry->line, (unsigned)entry->column);
  intptr_t rank = mlirShapedTypeGetRank(type);
  int64_t *shape = SHARD_ARENA_ARRAY(import->arena, int64_t, rank + 1);
  for (intptr_t d = 0; d < rank; ++d)
    shape[d] = mlirShapedTypeGetDimSize(type, d);
  bool same = !entry->hasShape || entry->rank == rank;
  for (intptr_t d = 0; d < rank && same && entry->hasShape; ++d)
    same = entry->shape[d] == shape[d] || isOpen(import, argument, d);
  if (!same)
    return shardEmitErrorAt(location, "'%s' has shape %s; argument %td of the function has %s",
                            entry->name, shapeText(import->arena, entry->rank, entry->shape),
                            argument, shapeText(import->arena, rank, shape));
  if (entry->hasType && !elementIs(mlirShapedTypeGetElementType(type), entry->type))
    return shardEmitErrorAt(location,
                            "'%s' is of %s, which is not the element type of argument %td",
                            entry->name, shardNpyTypeName(entry->type), argument);
  return mlirLogicalResultSuccess();
}

//===----------------------------------------------------------------------===//
// Names and roles
//===----------------------------------------------------------------------===//

typedef struct ArgumentFacts {
  const char *name, *role; // role NULL: not said
  ShardStateTie tie;
} ArgumentFacts;

static const char *stringArgument(const ShardImport *import, intptr_t index, const char *name) {
  MlirAttribute attribute = shardFuncGetArgumentAttribute(import->entry, index, name);
  if (mlirAttributeIsNull(attribute) || !mlirAttributeIsAString(attribute))
    return NULL;
  MlirStringRef text = mlirStringAttrGetValue(attribute);
  return shardArenaCopyString(import->arena, text.data, text.length);
}

/// What the model says of buffers that an argument and a result share.
static MlirLogicalResult readAlias(const ShardImport *import, intptr_t argument,
                                   ArgumentFacts *facts) {
  MlirAttribute alias = shardFuncGetArgumentAttribute(import->entry, argument, "spmd.alias");
  int64_t result;
  facts->tie = (ShardStateTie){-1, false};
  if (mlirAttributeIsNull(alias))
    return mlirLogicalResultSuccess();
  if (!shardAttrGetI64(alias, &result))
    return shardEmitError(import->entry,
                          "'spmd.alias' of argument %td is not the number of a result", argument);
  facts->tie.result = (int32_t)result;
  return shardStateCheckAlias(import->entry, argument, result,
                              mlirOperationGetLocation(import->entry));
}

static MlirLogicalResult readAttributes(const ShardImport *import, intptr_t n,
                                        ArgumentFacts *facts) {
  for (intptr_t i = 0; i < n; ++i) {
    facts[i].name = stringArgument(import, i, "spmd.name");
    facts[i].role = stringArgument(import, i, "spmd.role");
    if (!facts[i].name)
      facts[i].name = "";
    const char *role = facts[i].role;
    if (role && strcmp(role, "weight") != 0 && strcmp(role, "input") != 0 &&
        strcmp(role, "target") != 0 && strcmp(role, "state") != 0)
      return shardEmitError(import->entry,
                            "argument %td has spmd.role = \"%s\"; expected weight, input, target "
                            "or state",
                            i, role);
  }
  for (intptr_t i = 0; i < n; ++i)
    if (mlirLogicalResultIsFailure(readAlias(import, i, &facts[i])))
      return mlirLogicalResultFailure();
  return mlirLogicalResultSuccess();
}

const char *const *shardImportArgumentNames(const ShardImport *import, const char *argsPath) {
  intptr_t n = mlirBlockGetNumArguments(shardFuncGetBody(import->entry));
  const char **names = SHARD_ARENA_ARRAY(import->arena, const char *, n + 1);
  for (intptr_t i = 0; i < n; ++i) {
    const char *name = stringArgument(import, i, "spmd.name");
    names[i] = name ? name : "";
  }
  char message[512];
  ShardArgsJson *args =
      argsPath[0] ? shardArgsJsonReadFile(argsPath, message, sizeof(message)) : NULL;
  int64_t *entries = SHARD_ARENA_ARRAY(import->arena, int64_t, n + 1);
  if (args && shardArgsJsonMatch(args, (size_t)n, names, entries, message, sizeof(message)))
    for (intptr_t i = 0; i < n; ++i)
      if (!names[i][0] && entries[i] >= 0) {
        const char *name = args->arguments[entries[i]].name;
        names[i] = shardArenaCopyString(import->arena, name, strlen(name));
      }
  if (args)
    shardArgsJsonDestroy(args);
  return names;
}

static MlirLogicalResult readArgsJson(const ShardImport *import, const char *path, intptr_t n,
                                      ArgumentFacts *facts) {
  char message[512];
  ShardArgsJson *args = shardArgsJsonReadFile(path, message, sizeof(message));
  if (!args)
    return emitFileError(import, path, message);
  const char **names = SHARD_ARENA_ARRAY(import->arena, const char *, n + 1);
  int64_t *entries = SHARD_ARENA_ARRAY(import->arena, int64_t, n + 1);
  for (intptr_t i = 0; i < n; ++i)
    names[i] = facts[i].name;
  MlirLogicalResult result = mlirLogicalResultSuccess();
  if (!shardArgsJsonMatch(args, (size_t)n, names, entries, message, sizeof(message)))
    result = shardEmitError(import->entry, "%s", message);
  for (intptr_t i = 0; i < n && mlirLogicalResultIsSuccess(result); ++i) {
    if (entries[i] < 0) {
      result = shardEmitError(import->entry, "%s has no argument named '%s'", path, names[i]);
      break;
    }
    const ShardArgsEntry *entry = &args->arguments[entries[i]];
    MlirType type = mlirValueGetType(mlirBlockGetArgument(shardFuncGetBody(import->entry), i));
    result = checkEntry(import, args, entry, i, type);
    facts[i].name = shardArenaCopyString(import->arena, entry->name, strlen(entry->name));
    if (!facts[i].role && entry->role[0])
      facts[i].role = shardArenaCopyString(import->arena, entry->role, strlen(entry->role));
  }
  shardArgsJsonDestroy(args);
  return result;
}

/// Roles that nobody gave, and ties that nobody gave of what is a state or may be one.
static void inferFacts(const ShardImport *import, intptr_t n, ArgumentFacts *facts) {
  const char **roles = SHARD_ARENA_ARRAY(import->arena, const char *, n + 1);
  ShardStateTie *ties = SHARD_ARENA_ARRAY(import->arena, ShardStateTie, n + 1);
  bool *isInput = SHARD_ARENA_ARRAY(import->arena, bool, n + 1);
  bool missing = false;
  for (intptr_t i = 0; i < n; ++i) {
    roles[i] = facts[i].role;
    ties[i] = facts[i].tie;
    missing |= !roles[i];
  }
  shardStatesFind(import->module, import->entry, n, roles, ties, import->arena);
  if (missing)
    shardImportInferRoles(import, n, ties, isInput);
  bool weights = false; // besides the states
  for (intptr_t i = 0; i < n; ++i)
    weights |= ties[i].result < 0 && (roles[i] ? strcmp(roles[i], "weight") == 0 : !isInput[i]);
  for (intptr_t i = 0; i < n; ++i) {
    facts[i].tie = ties[i];
    if (!roles[i])
      facts[i].role = ties[i].result >= 0 && (weights || isInput[i]) ? "state"
                      : isInput[i]                                   ? "input"
                                                                     : "weight";
  }
}

static MlirLogicalResult checkConstant(const ShardImport *import, MlirAttribute value,
                                       const char *name, bool *outAbsent) {
  ShardConstantStatus status = shardConstantCheck(value);
  *outAbsent = status == SHARD_CONSTANT_ABSENT;
  if (status == SHARD_CONSTANT_WRONG_SIZE)
    return shardEmitError(import->entry,
                          "resource '%s' does not have as many bytes as its type "
                          "needs",
                          name);
  return mlirLogicalResultSuccess();
}

static MlirNamedAttribute named(const ShardImport *import, const char *name,
                                MlirAttribute attribute) {
  return mlirNamedAttributeGet(
      mlirIdentifierGet(import->context, mlirStringRefCreateFromCString(name)), attribute);
}

/// The attributes of one argument: what the user set with an spmd name stays.
static MlirAttribute argumentAttributes(const ShardImport *import, MlirAttribute old,
                                        intptr_t index, const ArgumentFacts *facts,
                                        MlirAttribute value, bool elided) {
  intptr_t nOld = mlirAttributeIsNull(old) ? 0 : mlirDictionaryAttrGetNumElements(old), n = 0;
  MlirNamedAttribute *list = SHARD_ARENA_ARRAY(import->arena, MlirNamedAttribute, nOld + 6);
  for (intptr_t i = 0; i < nOld; ++i) {
    MlirNamedAttribute element = mlirDictionaryAttrGetElement(old, i);
    MlirStringRef name = mlirIdentifierStr(element.name);
    if (shardNameHasDialect(name, "spmd") && !shardStringIs(name, "spmd.arg") &&
        !shardStringIs(name, "spmd.name") && !shardStringIs(name, "spmd.role") &&
        !shardStringIs(name, "spmd.alias") && !shardStringIs(name, "spmd.grows"))
      list[n++] = element;
  }
  list[n++] = named(import, "spmd.arg", shardAttrI64(import->context, index));
  if (facts->name[0])
    list[n++] = named(import, "spmd.name", shardAttrString(import->context, facts->name));
  list[n++] = named(import, "spmd.role", shardAttrString(import->context, facts->role));
  if (facts->tie.result >= 0)
    list[n++] = named(import, facts->tie.grows ? "spmd.grows" : "spmd.alias",
                      shardAttrI64(import->context, facts->tie.result));
  if (elided)
    list[n++] = named(import, "spmd.elided", shardAttrUnit(import->context));
  else if (!mlirAttributeIsNull(value))
    list[n++] = named(import, "spmd.value", value);
  return mlirDictionaryAttrGet(import->context, n, list);
}

/// Arguments without elements, which nobody uses, go; the others keep their numbers. Returns how
/// many are left, in `entries` too.
static intptr_t dropEmptyArguments(const ShardImport *import, intptr_t n, MlirAttribute *entries) {
  MlirBlock body = shardFuncGetBody(import->entry);
  intptr_t kept = 0;
  for (intptr_t i = 0; i < n; ++i) {
    MlirValue argument = mlirBlockGetArgument(body, kept);
    if (shardTypeElementCount(mlirValueGetType(argument)) == 0 && shardValueIsUnused(argument))
      mlirBlockEraseArgument(body, (unsigned)kept);
    else
      entries[kept++] = entries[i];
  }
  if (kept < n) {
    shardOpRemoveAttribute(import->entry, "arg_attrs");
    shardFuncUpdateType(import->entry);
  }
  return kept;
}

MlirLogicalResult shardImportArguments(const ShardImport *import, const char *argsPath) {
  MlirBlock body = shardFuncGetBody(import->entry);
  intptr_t nExtents = import->bounded ? import->bounded->nDims : 0;
  intptr_t nModel = mlirBlockGetNumArguments(body) - nExtents;
  ArgumentFacts *facts = SHARD_ARENA_ARRAY(import->arena, ArgumentFacts, nModel + 1);
  if (mlirLogicalResultIsFailure(readAttributes(import, nModel, facts)) ||
      (argsPath[0] && mlirLogicalResultIsFailure(readArgsJson(import, argsPath, nModel, facts))))
    return mlirLogicalResultFailure();
  inferFacts(import, nModel, facts);

  intptr_t nConstants;
  MlirAttribute *values = shardHoistConstants(import, NULL, NULL, &nConstants);
  shardBoundedFinish(import); // extents stand behind constants, which have the same numbers without
  const char **taken = SHARD_ARENA_ARRAY(import->arena, const char *, nModel + 1);
  for (intptr_t i = 0; i < nModel; ++i)
    taken[i] = facts[i].name;
  const char **names = shardNameConstants(import, nModel, taken, nConstants, values);
  MlirAttribute old = shardOpGetAttribute(import->entry, "arg_attrs"), none = {NULL};
  intptr_t nAll = nModel + nConstants + nExtents;
  MlirAttribute *entries = SHARD_ARENA_ARRAY(import->arena, MlirAttribute, nAll + 1);
  for (intptr_t i = 0; i < nModel; ++i)
    entries[i] = argumentAttributes(
        import, mlirAttributeIsNull(old) ? none : mlirArrayAttrGetElement(old, i), i, &facts[i],
        none, false);
  for (intptr_t i = 0; i < nConstants; ++i) {
    bool absent;
    if (mlirLogicalResultIsFailure(checkConstant(import, values[i], names[i], &absent)))
      return mlirLogicalResultFailure();
    ArgumentFacts constant = {names[i], "weight", {-1, false}};
    entries[nModel + i] =
        argumentAttributes(import, none, nModel + i, &constant, values[i], absent);
  }
  for (intptr_t k = 0; k < nExtents; ++k) {
    ArgumentFacts extent = {"", "extent", {-1, false}};
    entries[nModel + nConstants + k] =
        argumentAttributes(import, none, nModel + nConstants + k, &extent, none, false);
  }
  nAll = dropEmptyArguments(import, nAll, entries);
  if (nAll > 0)
    shardOpSetAttribute(import->entry, "arg_attrs",
                        mlirArrayAttrGet(import->context, nAll, entries));
  return mlirLogicalResultSuccess();
}
