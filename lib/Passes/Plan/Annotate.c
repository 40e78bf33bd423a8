//===- Annotate.c - Apply a file of annotations -------------------*- C -*-===//
// Reads: the entry's argument names, locations. Writes: spmd.role, spmd.dims, spmd.view and
// spmd.sharding on arguments, results and ops, as fixed points for the plan. Fails: a pattern that
// matches nothing, two that conflict, anything that is not FORMATS' annotations.
//===----------------------------------------------------------------------===//

#include "../Analysis/FindStates.h"
#include "../Core/Nearest.h"
#include "../Core/Pass.h"

#include "Annotations.h"
#include "Model.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct AnnotateOptions {
  const char *annotations;
} AnnotateOptions;
static const ShardOption optionTable[] = {
    SHARD_OPTION(AnnotateOptions, annotations, "annotations", "", "", "File of annotations (JSON)"),
};

typedef struct Annotator {
  ShardPassRun *run;
  const char *path;
  const char *text;    // of the file, to find the line of a key
  const char *section; // that is read, "args"; null: none
  MlirOperation entry;
  json_t *args, *values; // sections; null until one is read
  bool *aliased;         // [arguments of the entry] the file says of which result
} Annotator;

/// Place of a key in the file: its first occurrence in the section that is read.
static MlirLocation locationOf(const Annotator *a, const char *key) {
  unsigned line = 1, column = 1;
  if (key) {
    const char *quoted = shardArenaFormat(a->run->arena, "\"%s\"", key);
    const char *section = shardArenaFormat(a->run->arena, "\"%s\"", a->section ? a->section : key);
    const char *begin = strstr(a->text, section);
    const char *found = begin ? strstr(begin, quoted) : NULL;
    for (const char *c = a->text; found && c < found; ++c)
      if (*c == '\n')
        ++line, column = 1;
      else
        ++column;
  }
  return mlirLocationFileLineColGet(a->run->context, mlirStringRefCreateFromCString(a->path), line,
                                    column);
}

static const char *argumentName(const Annotator *a, intptr_t argument) {
  MlirAttribute name = shardFuncGetArgumentAttribute(a->entry, argument, "spmd.name");
  if (!name.ptr || !mlirAttributeIsAString(name))
    return "";
  MlirStringRef text = mlirStringAttrGetValue(name);
  return shardArenaCopyString(a->run->arena, text.data, text.length);
}

/// Up to three names nearest to a pattern that matched nothing.
static const char *nearestNames(const Annotator *a, const char *pattern, intptr_t n) {
  ShardArena *arena = a->run->arena;
  const char **names = SHARD_ARENA_ARRAY(arena, const char *, n ? n : 1);
  for (intptr_t i = 0; i < n; ++i)
    names[i] = argumentName(a, i);
  const char *text = shardNearestNames(arena, pattern, names, n);
  return text[0] ? shardArenaFormat(arena, "; the nearest names are %s", text)
                 : shardArenaFormat(arena, "; arguments are 0 to %" PRIdPTR, n - 1);
}

static MlirNamedAttribute named(MlirContext context, const char *name, MlirAttribute attribute) {
  return mlirNamedAttributeGet(mlirIdentifierGet(context, mlirStringRefCreateFromCString(name)),
                               attribute);
}

/// Whether an axis stands in the `nDims` lists of axes before, or among the `n` names before.
static bool isNamedBefore(MlirAttribute axis, const MlirAttribute *dims, size_t nDims,
                          const MlirAttribute *names, size_t n) {
  bool found = false;
  for (size_t i = 0; i < n; ++i)
    found |= mlirAttributeEqual(names[i], axis);
  for (size_t d = 0; d < nDims; ++d)
    for (intptr_t i = 0; i < mlirArrayAttrGetNumElements(dims[d]); ++i)
      found |= mlirAttributeEqual(mlirArrayAttrGetElement(dims[d], i), axis);
  return found;
}

/// An axis, "tp", or part of one, "tp.0". Whether the mesh has it shows once there is one.
static bool isAxisName(const char *text) {
  static const char *const axes[] = {"pp", "dp", "ep", "sp", "tp"};
  size_t n = strcspn(text, ".");
  bool known = false;
  for (size_t i = 0; i < sizeof(axes) / sizeof(axes[0]); ++i)
    known |= strlen(axes[i]) == n && strncmp(axes[i], text, n) == 0;
  return known && (!text[n] || (text[n + 1] && !text[n + 1 + strspn(text + n + 1, "0123456789")]));
}

static MlirAttribute readSharding(Annotator *a, const char *key, json_t *value) {
  MlirContext context = a->run->context;
  size_t rank = json_array_size(value);
  MlirAttribute *dims = SHARD_ARENA_ARRAY(a->run->arena, MlirAttribute, rank ? rank : 1);
  if (!json_is_array(value)) {
    shardEmitErrorAt(locationOf(a, key),
                     "'sharding' of '%s' is not a list with an entry for each dimension", key);
    return (MlirAttribute){NULL};
  }
  for (size_t d = 0; d < rank; ++d) {
    json_t *axes = json_array_get(value, d);
    size_t n = json_array_size(axes);
    MlirAttribute *names = SHARD_ARENA_ARRAY(a->run->arena, MlirAttribute, n ? n : 1);
    bool good = json_is_array(axes);
    for (size_t i = 0; good && i < n; ++i) {
      good = json_is_string(json_array_get(axes, i));
      if (!good)
        break;
      const char *axis = json_string_value(json_array_get(axes, i));
      if (!isAxisName(axis)) {
        shardEmitErrorAt(locationOf(a, key),
                         "'sharding' of '%s' names axis '%s'; expected pp, dp, ep, sp or tp", key,
                         axis);
        return (MlirAttribute){NULL};
      }
      names[i] = shardAttrString(context, axis);
      if (isNamedBefore(names[i], dims, d, names, i)) {
        shardEmitErrorAt(locationOf(a, key), "'sharding' of '%s' names axis '%s' twice", key, axis);
        return (MlirAttribute){NULL};
      }
    }
    if (!good) {
      shardEmitErrorAt(locationOf(a, key),
                       "dimension %zu of 'sharding' of '%s' is not a list of axis names", d, key);
      return (MlirAttribute){NULL};
    }
    dims[d] = mlirArrayAttrGet(context, (intptr_t)n, names);
  }
  return mlirArrayAttrGet(context, (intptr_t)rank, dims);
}

/// A list of sizes whose product is `count` (below 0: any), the elements of `what`; null after an
/// error.
static MlirAttribute readView(const Annotator *a, const char *key, json_t *view, const char *what,
                              int64_t count) {
  MlirAttribute none = {NULL};
  size_t n = json_array_size(view);
  int64_t *shape = SHARD_ARENA_ARRAY(a->run->arena, int64_t, n ? n : 1), product = 1;
  bool good = json_is_array(view);
  for (size_t d = 0; d < n && good; ++d) {
    shape[d] = json_integer_value(json_array_get(view, d));
    good = shape[d] > 0 && !__builtin_mul_overflow(product, shape[d], &product);
  }
  if (!good) {
    shardEmitErrorAt(locationOf(a, key), "'view' of '%s' is not a list of positive sizes", key);
    return none;
  }
  if (count >= 0 && product != count) {
    shardEmitErrorAt(locationOf(a, key), "'view' of '%s' has %" PRId64 " elements; %s has %" PRId64,
                     key, product, what, count);
    return none;
  }
  return shardAttrI64Array(a->run->context, (intptr_t)n, shape);
}

/// Whether a sharding has an entry for each dimension of its view, or of `what` without one.
static bool checkEntries(const Annotator *a, const char *key, MlirAttribute sharding,
                         MlirAttribute view, const char *what, MlirType type) {
  intptr_t rank = mlirTypeIsARankedTensor(type) ? (intptr_t)mlirShapedTypeGetRank(type) : 0;
  intptr_t wanted = view.ptr ? mlirDenseArrayGetNumElements(view) : rank;
  intptr_t n = mlirArrayAttrGetNumElements(sharding);
  if (n != wanted)
    shardEmitErrorAt(locationOf(a, key),
                     "'sharding' of '%s' has %" PRIdPTR " entries; %s has %" PRIdPTR " dimensions",
                     key, n, view.ptr ? "its view" : what, wanted);
  return n == wanted;
}

/// The placement that an entry gives a result or value; false after an error. `*outView` is null
/// without one.
static bool readPlacement(Annotator *a, const char *key, json_t *sharding, json_t *view,
                          const char *what, MlirType type, MlirAttribute *outSharding,
                          MlirAttribute *outView) {
  *outSharding = readSharding(a, key, sharding);
  *outView = (MlirAttribute){NULL};
  if (outSharding->ptr && view)
    *outView = readView(a, key, view, what, shardTypeElementCount(type));
  return outSharding->ptr && (!view || outView->ptr) &&
         checkEntries(a, key, *outSharding, *outView, what, type);
}

/// The layouts of the parts of a fused weight: [{window, view, sharding}]; null after an error.
static MlirAttribute readPieces(Annotator *a, const char *key, json_t *value) {
  MlirContext context = a->run->context;
  MlirAttribute none = {NULL};
  size_t n = json_array_size(value);
  MlirAttribute *pieces = SHARD_ARENA_ARRAY(a->run->arena, MlirAttribute, n ? n : 1);
  for (size_t i = 0; i < n; ++i) {
    json_t *piece = json_array_get(value, i), *view = json_object_get(piece, "view");
    json_int_t window[3];
    if (json_unpack(piece, "{s:[I, I, I]}", "window", &window[0], &window[1], &window[2]) != 0)
      break;
    MlirNamedAttribute fields[3];
    intptr_t nFields = 0;
    MlirAttribute sharding = readSharding(a, key, json_object_get(piece, "sharding"));
    if (!sharding.ptr)
      return none;
    int64_t list[3] = {window[0], window[1], window[2]};
    fields[nFields++] = named(context, "window", shardAttrI64Array(context, 3, list));
    fields[nFields++] = named(context, "sharding", sharding);
    MlirAttribute seen = view ? readView(a, key, view, "the piece", -1) : none;
    if (view && !seen.ptr)
      return none;
    if (view)
      fields[nFields++] = named(context, "view", seen);
    pieces[i] = mlirDictionaryAttrGet(context, nFields, fields);
    if (i + 1 == n)
      return mlirArrayAttrGet(context, (intptr_t)n, pieces);
  }
  shardEmitErrorAt(
      locationOf(a, key),
      "'pieces' of '%s' is not a list of {\"window\": [dimension, offset, size], \"sharding\": "
      "[...]}",
      key);
  return none;
}

static bool isNumber(const char *text) { return text[0] && text[strspn(text, "0123456789")] == 0; }

/// Its number in the model: one without elements is not there.
static int64_t argumentNumber(const Annotator *a, intptr_t argument) {
  int64_t number = argument;
  shardAttrGetI64(shardFuncGetArgumentAttribute(a->entry, argument, "spmd.arg"), &number);
  return number;
}

static bool matchesArgument(const Annotator *a, const char *key, intptr_t argument) {
  return isNumber(key) ? strtoll(key, NULL, 10) == argumentNumber(a, argument)
                       : fnmatch(key, argumentName(a, argument), 0) == 0;
}

/// The pattern before `key` that gives `field` to the argument; null: the model has it.
static const char *earlierKey(const Annotator *a, intptr_t argument, const char *field,
                              const char *key) {
  const char *other;
  json_t *entry;
  json_object_foreach(a->args, other, entry) {
    if (strcmp(other, key) == 0)
      return NULL;
    if (matchesArgument(a, other, argument) && json_object_get(entry, field))
      return other;
  }
  return NULL;
}

static MlirLogicalResult setOnce(Annotator *a, intptr_t argument, const char *name,
                                 MlirAttribute value, const char *key) {
  const char *field = name + strlen("spmd.");
  MlirAttribute old = shardFuncGetArgumentAttribute(a->entry, argument, name);
  // Import fills these in; the user wins.
  bool fixed = strcmp(field, "role") != 0 && strcmp(field, "alias") != 0;
  if (old.ptr && !mlirAttributeEqual(old, value)) {
    const char *other = earlierKey(a, argument, field, key);
    if (other || fixed)
      return shardEmitErrorAt(locationOf(a, key),
                              "'%s' gives argument %" PRIdPTR " '%s' another %s than %s%s%s", key,
                              argument, argumentName(a, argument), field, other ? "'" : "",
                              other ? other : "the model", other ? "'" : "");
  }
  shardFuncSetArgumentAttribute(a->entry, argument, name, value);
  return mlirLogicalResultSuccess();
}

/// The result whose buffer the argument shares, in place of what import found.
static MlirLogicalResult annotateAlias(Annotator *a, intptr_t argument, const char *key,
                                       json_t *value, bool hasRole) {
  if (!json_is_integer(value))
    return shardEmitErrorAt(locationOf(a, key), "'alias' of '%s' is not the number of a result",
                            key);
  int64_t result = json_integer_value(value);
  intptr_t n = mlirBlockGetNumArguments(shardFuncGetBody(a->entry));
  for (intptr_t i = 0; i < n; ++i)
    if (i != argument && !a->aliased[i] && shardStateTieOf(a->entry, i).result == result)
      shardStateUntie(a->entry, i);
  if (!a->aliased[argument])
    shardStateUntie(a->entry, argument);
  a->aliased[argument] = true;
  if (!hasRole && shardFuncArgumentIs(a->entry, argument, "input"))
    shardFuncSetArgumentAttribute(a->entry, argument, "spmd.role",
                                  shardAttrString(a->run->context, "state"));
  if (mlirLogicalResultIsFailure(
          shardStateCheckAlias(a->entry, argument, result, locationOf(a, key))))
    return mlirLogicalResultFailure();
  return setOnce(a, argument, "spmd.alias", shardAttrI64(a->run->context, result), key);
}

static MlirLogicalResult annotateArgument(Annotator *a, intptr_t argument, const char *key,
                                          json_t *entry) {
  static const char *const roles[] = {"weight", "input", "target", "state"};
  const char *what = shardArenaFormat(a->run->arena, "argument %" PRIdPTR, argument);
  MlirContext context = a->run->context;
  MlirType type = mlirValueGetType(mlirBlockGetArgument(shardFuncGetBody(a->entry), argument));
  intptr_t rank = mlirTypeIsARankedTensor(type) ? (intptr_t)mlirShapedTypeGetRank(type) : 0;
  const char *field;
  json_t *value;
  json_object_foreach(entry, field, value) {
    if (strcmp(field, "role") == 0) {
      bool known = false;
      for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); ++i)
        known |= json_is_string(value) && strcmp(json_string_value(value), roles[i]) == 0;
      if (!known)
        return shardEmitErrorAt(locationOf(a, key),
                                "'role' of '%s' is not weight, input, target or state", key);
      if (mlirLogicalResultIsFailure(setOnce(
              a, argument, "spmd.role", shardAttrString(context, json_string_value(value)), key)))
        return mlirLogicalResultFailure();
      if (strcmp(json_string_value(value), "state") != 0 && !json_object_get(entry, "alias"))
        shardStateUntie(a->entry, argument);
    } else if (strcmp(field, "alias") == 0) {
      if (mlirLogicalResultIsFailure(
              annotateAlias(a, argument, key, value, json_object_get(entry, "role") != NULL)))
        return mlirLogicalResultFailure();
    } else if (strcmp(field, "dims") == 0) {
      size_t n = json_array_size(value);
      if (!json_is_array(value) || (intptr_t)n != rank)
        return shardEmitErrorAt(locationOf(a, key),
                                "'dims' of '%s' has %zu entries; argument %" PRIdPTR
                                " has %" PRIdPTR " dimensions",
                                key, n, argument, rank);
      MlirAttribute *dims = SHARD_ARENA_ARRAY(a->run->arena, MlirAttribute, n ? n : 1);
      for (size_t d = 0; d < n; ++d) {
        const char *name = json_string_value(json_array_get(value, d));
        if (!name || (name[0] && strcmp(name, "batch") != 0 && strcmp(name, "sequence") != 0))
          return shardEmitErrorAt(
              locationOf(a, key),
              "an entry of 'dims' of '%s' is not \"batch\", \"sequence\" or \"\"", key);
        dims[d] = shardAttrString(context, name);
        for (size_t k = 0; k < d && name[0]; ++k)
          if (mlirAttributeEqual(dims[k], dims[d]))
            return shardEmitErrorAt(locationOf(a, key), "'dims' of '%s' says \"%s\" twice", key,
                                    name);
      }
      if (mlirLogicalResultIsFailure(
              setOnce(a, argument, "spmd.dims", mlirArrayAttrGet(context, (intptr_t)n, dims), key)))
        return mlirLogicalResultFailure();
    } else if (strcmp(field, "view") == 0) {
      MlirAttribute view = readView(a, key, value, what, shardTypeElementCount(type));
      if (!view.ptr || mlirLogicalResultIsFailure(setOnce(a, argument, "spmd.view", view, key)))
        return mlirLogicalResultFailure();
    } else if (strcmp(field, "sharding") == 0) {
      MlirAttribute sharding = readSharding(a, key, value);
      if (!sharding.ptr ||
          mlirLogicalResultIsFailure(setOnce(a, argument, "spmd.sharding", sharding, key)))
        return mlirLogicalResultFailure();
    } else if (strcmp(field, "pieces") == 0) {
      MlirAttribute pieces = readPieces(a, key, value);
      if (!pieces.ptr ||
          mlirLogicalResultIsFailure(setOnce(a, argument, "spmd.pieces", pieces, key)))
        return mlirLogicalResultFailure();
    } else {
      return shardEmitErrorAt(
          locationOf(a, field),
          "unknown field '%s' of '%s'; expected role, alias, dims, view, sharding or pieces", field,
          key);
    }
  }
  MlirAttribute sharding = shardFuncGetArgumentAttribute(a->entry, argument, "spmd.sharding");
  MlirAttribute view = shardFuncGetArgumentAttribute(a->entry, argument, "spmd.view");
  return !sharding.ptr || checkEntries(a, key, sharding, view, what, type)
             ? mlirLogicalResultSuccess()
             : mlirLogicalResultFailure();
}

static MlirLogicalResult annotateArguments(Annotator *a, json_t *args) {
  intptr_t n = mlirBlockGetNumArguments(shardFuncGetBody(a->entry));
  a->aliased = SHARD_ARENA_ARRAY(a->run->arena, bool, n + 1);
  while (n > 0 && shardFuncArgumentIs(a->entry, n - 1, "extent"))
    --n; // numbers of a run, which every rank has
  const char *key;
  json_t *entry;
  a->args = args;
  json_object_foreach(args, key, entry) {
    if (!json_is_object(entry))
      return shardEmitErrorAt(locationOf(a, key),
                              "'%s' is not an object with role, dims, view or sharding", key);
    intptr_t matches = 0;
    for (intptr_t i = 0; i < n; ++i) {
      if (!matchesArgument(a, key, i))
        continue;
      ++matches;
      if (mlirLogicalResultIsFailure(annotateArgument(a, i, key, entry)))
        return mlirLogicalResultFailure();
    }
    if (matches == 0)
      return shardEmitErrorAt(locationOf(a, key), "'%s' matches no argument%s", key,
                              nearestNames(a, key, n));
  }
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult annotateResults(Annotator *a, json_t *results) {
  MlirOperation ret = mlirBlockGetTerminator(shardFuncGetBody(a->entry));
  intptr_t n = mlirOperationGetNumOperands(ret);
  const char *key;
  json_t *entry;
  json_object_foreach(results, key, entry) {
    json_t *sharding = json_object_get(entry, "sharding"), *view = json_object_get(entry, "view");
    int64_t number = isNumber(key) ? strtoll(key, NULL, 10) : n;
    if (number >= n)
      return shardEmitErrorAt(locationOf(a, key),
                              "'%s' is not the number of a result; there are %" PRIdPTR, key, n);
    if (!sharding || json_object_size(entry) != (view ? 2 : 1))
      return shardEmitErrorAt(locationOf(a, key),
                              "result '%s' needs 'sharding', and 'view' or nothing else", key);
    MlirType type = mlirValueGetType(mlirOperationGetOperand(ret, (intptr_t)number));
    MlirAttribute value, seen;
    if (!readPlacement(a, key, sharding, view, "the result", type, &value, &seen))
      return mlirLogicalResultFailure();
    shardFuncSetResultAttribute(a->entry, (intptr_t)number, "spmd.sharding", value);
    if (view)
      shardFuncSetResultAttribute(a->entry, (intptr_t)number, "spmd.view", seen);
  }
  return mlirLogicalResultSuccess();
}

typedef struct ValueMatch {
  Annotator *annotator;
  const char *key;
  json_t *sharding, *view; // view: null without one
  intptr_t matches;
} ValueMatch;

static MlirLogicalResult annotateOp(void *user, MlirOperation op) {
  ValueMatch *match = user;
  Annotator *a = match->annotator;
  if (mlirOperationGetNumResults(op) == 0 ||
      !mlirTypeIsARankedTensor(mlirValueGetType(mlirOperationGetResult(op, 0))))
    return mlirLogicalResultSuccess();
  const char *place = shardLocationText(mlirOperationGetLocation(op), a->run->arena);
  if (fnmatch(match->key, place, 0) != 0)
    return mlirLogicalResultSuccess();
  ++match->matches;
  MlirAttribute sharding, view;
  if (!readPlacement(a, match->key, match->sharding, match->view,
                     shardArenaFormat(a->run->arena, "the value at %s", place),
                     mlirValueGetType(mlirOperationGetResult(op, 0)), &sharding, &view))
    return mlirLogicalResultFailure();
  MlirAttribute one = mlirArrayAttrGet(a->run->context, 1, &sharding);
  MlirAttribute old = shardOpGetAttribute(op, "spmd.sharding");
  if (old.ptr && !mlirAttributeEqual(old, one)) {
    const char *other = "", *key;
    json_t *entry;
    json_object_foreach(a->values, key, entry) {
      if (other[0] || strcmp(key, match->key) == 0)
        break;
      if (fnmatch(key, place, 0) == 0)
        other = key;
    }
    return shardEmitErrorWithNote(
        locationOf(a, match->key),
        shardArenaFormat(a->run->arena, "'%s' gives a value another sharding than %s%s%s",
                         match->key, other[0] ? "'" : "", other[0] ? other : "the model",
                         other[0] ? "'" : ""),
        mlirOperationGetLocation(op), "the value is here");
  }
  shardOpSetAttribute(op, "spmd.sharding", one);
  if (match->view)
    shardOpSetAttribute(op, "spmd.view", mlirArrayAttrGet(a->run->context, 1, &view));
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult annotateValues(Annotator *a, json_t *values) {
  const char *key;
  json_t *entry;
  a->values = values;
  json_object_foreach(values, key, entry) {
    json_t *sharding = json_object_get(entry, "sharding"), *view = json_object_get(entry, "view");
    if (!sharding || json_object_size(entry) != (view ? 2 : 1))
      return shardEmitErrorAt(locationOf(a, key),
                              "value '%s' needs 'sharding', and 'view' or nothing else", key);
    ValueMatch match = {.annotator = a, .key = key, .sharding = sharding, .view = view};
    if (mlirLogicalResultIsFailure(shardWalk(a->run->op, NULL, annotateOp, &match)))
      return mlirLogicalResultFailure();
    if (match.matches == 0)
      return shardEmitErrorAt(locationOf(a, key), "'%s' matches the location of no value", key);
  }
  return mlirLogicalResultSuccess();
}

static char *readWhole(const char *path, ShardArena *arena) {
  FILE *file = fopen(path, "rb");
  if (!file)
    return NULL;
  char *text = NULL;
  size_t n = 0, capacity = 0, got;
  char buffer[4096];
  while ((got = fread(buffer, 1, sizeof(buffer), file)) > 0) {
    text = shardArenaGrow(arena, text, n, &capacity, n + got + 1, 1);
    memcpy(text + n, buffer, got);
    n += got;
  }
  fclose(file);
  text = shardArenaGrow(arena, text, n, &capacity, n + 1, 1);
  text[n] = 0;
  return text;
}

static MlirLogicalResult runAnnotate(ShardPassRun *run) {
  const AnnotateOptions *options = run->options;
  if (!options->annotations[0])
    return mlirLogicalResultSuccess();
  Annotator a = {.run = run, .path = options->annotations, .entry = shardModuleFindEntry(run->op)};
  if (!a.entry.ptr)
    return shardEmitError(run->op,
                          "expected one public function with a body, as shard-import leaves it");
  a.text = readWhole(a.path, run->arena);
  if (!a.text)
    return shardEmitErrorAt(mlirLocationUnknownGet(run->context), "cannot read annotations '%s'",
                            a.path);
  json_error_t error;
  json_t *root = json_loads(a.text, JSON_REJECT_DUPLICATES, &error);
  if (!root)
    return shardEmitErrorAt(
        mlirLocationFileLineColGet(run->context, mlirStringRefCreateFromCString(a.path),
                                   (unsigned)(error.line > 0 ? error.line : 1),
                                   (unsigned)(error.column > 0 ? error.column : 1)),
        "annotations are not JSON: %s", error.text);
  MlirLogicalResult result = mlirLogicalResultSuccess();
  const char *key;
  json_t *value;
  if (!json_is_object(root) || json_integer_value(json_object_get(root, "version")) != 1)
    result = shardEmitErrorAt(locationOf(&a, NULL), "annotations need \"version\": 1");
  json_object_foreach(root, key, value) {
    if (mlirLogicalResultIsFailure(result))
      break;
    bool section =
        strcmp(key, "args") == 0 || strcmp(key, "results") == 0 || strcmp(key, "values") == 0;
    if (strcmp(key, "version") == 0)
      continue;
    if (strcmp(key, "chosen") == 0 && json_is_boolean(value)) {
      if (json_is_true(value))
        shardOpSetAttribute(run->op, "spmd.chosen", shardAttrUnit(run->context));
      continue;
    }
    a.section = section ? key : NULL;
    if (!section || !json_is_object(value))
      result = shardEmitErrorAt(locationOf(&a, key),
                                "'%s' is not one of the objects args, results, values", key);
    else if (key[0] == 'a')
      result = annotateArguments(&a, value);
    else if (key[0] == 'r')
      result = annotateResults(&a, value);
    else
      result = annotateValues(&a, value);
  }
  if (mlirLogicalResultIsSuccess(result))
    shardStatesFindMore(run->op, a.entry, run->arena);
  json_decref(root);
  return result;
}

const ShardPassInfo shardAnnotatePass = {
    .argument = "shard-annotate",
    .summary = "Apply a file of annotations",
    .anchor = "builtin.module",
    SHARD_PASS_OPTIONS(AnnotateOptions, optionTable),
    .run = runAnnotate,
};
