//===- ArgsJson.c - The list of a model's arguments ---------------*- C -*-===//
#define _GNU_SOURCE

#include "ArgsJson.h"
#include "JsonPlace.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//===----------------------------------------------------------------------===//
// The document
//===----------------------------------------------------------------------===//

typedef struct Reader {
  const char *path, *text;
  size_t length;
  char *message;
  size_t messageBytes;
} Reader;

__attribute__((format(printf, 5, 6))) static bool
failAt(Reader *r, const char *list, int64_t element, const char *key, const char *format, ...) {
  ShardJsonCursor c = {r->text, r->text + r->length};
  shardJsonSkipSpace(&c);
  if (list)
    shardJsonEnter(&c, list, 0);
  if (element >= 0)
    shardJsonEnter(&c, NULL, (size_t)element);
  if (key)
    shardJsonEnter(&c, key, 0);
  int32_t line, column;
  shardJsonFindPlace(r->text, c.at, &line, &column);
  int n = snprintf(r->message, r->messageBytes, "%s:%d:%d: error: ", r->path, line, column);
  if (n >= 0 && (size_t)n < r->messageBytes) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(r->message + n, r->messageBytes - (size_t)n, format, arguments);
    va_end(arguments);
  }
  return false;
}

static bool readText(Reader *r, const char *list, int64_t element, const char *key, json_t *value,
                     const char **out) {
  if (!json_is_string(value))
    return failAt(r, list, element, key, "'%s' is not a string", key);
  if (strlen(json_string_value(value)) != json_string_length(value))
    return failAt(r, list, element, key, "'%s' contains a zero byte", key);
  *out = json_string_value(value);
  return true;
}

static bool readShape(Reader *r, const char *list, int64_t element, json_t *value,
                      ShardArgsEntry *entry) {
  if (!json_is_array(value))
    return failAt(r, list, element, "shape", "'shape' is not an array");
  size_t rank = json_array_size(value);
  if (rank > SHARD_NPY_MAX_RANK)
    return failAt(r, list, element, "shape", "'shape' has %zu dimensions, at most %d are supported",
                  rank, SHARD_NPY_MAX_RANK);
  int64_t count = 1;
  for (size_t i = 0; i < rank; ++i) {
    json_t *dim = json_array_get(value, i);
    if (!json_is_integer(dim) || json_integer_value(dim) < 0)
      return failAt(r, list, element, "shape", "dimension %zu of 'shape' is not a size", i);
    entry->shape[i] = json_integer_value(dim);
    if (entry->shape[i] > 0 && __builtin_mul_overflow(count, entry->shape[i], &count))
      return failAt(r, list, element, "shape", "'shape' has too many elements");
  }
  entry->rank = (int32_t)rank;
  entry->hasShape = true;
  return true;
}

static bool readFileName(Reader *r, const char *list, int64_t element, json_t *value,
                         const char **out) {
  if (!readText(r, list, element, "file", value, out))
    return false;
  const char *file = *out;
  bool up = strcmp(file, "..") == 0 || strncmp(file, "../", 3) == 0 || strstr(file, "/../") ||
            (strlen(file) >= 3 && strcmp(file + strlen(file) - 3, "/..") == 0);
  if (file[0] == '/' || up)
    return failAt(r, list, element, "file", "'file' is '%s'; a file inside the folder is expected",
                  file);
  return true;
}

static bool readEntry(Reader *r, const char *list, int64_t element, json_t *object,
                      ShardArgsEntry *entry) {
  entry->name = entry->role = entry->file = "";
  if (!json_is_object(object))
    return failAt(r, list, element, NULL, "entry %" PRId64 " of '%s' is not an object", element,
                  list);
  bool isArgument = strcmp(list, "args") == 0;
  const char *key;
  json_t *value;
  json_object_foreach(object, key, value) {
    if (strcmp(key, "index") == 0) {
      if (!json_is_integer(value) || json_integer_value(value) != element)
        return failAt(r, list, element, key, "'index' of entry %" PRId64 " is not %" PRId64,
                      element, element);
    } else if (strcmp(key, "name") == 0) {
      if (!readText(r, list, element, key, value, &entry->name))
        return false;
    } else if (strcmp(key, "role") == 0 && isArgument) {
      if (!readText(r, list, element, key, value, &entry->role))
        return false;
      static const char *const roles[] = {"weight", "input", "target", "state"};
      size_t i = 0;
      while (i < 4 && strcmp(roles[i], entry->role) != 0)
        ++i;
      if (i == 4)
        return failAt(r, list, element, key,
                      "unknown role '%s'; expected weight, input, target or state", entry->role);
    } else if (strcmp(key, "file") == 0) {
      if (!readFileName(r, list, element, value, &entry->file))
        return false;
    } else if (strcmp(key, "dtype") == 0) {
      const char *name;
      if (!readText(r, list, element, key, value, &name))
        return false;
      if (!shardNpyTypeFromName(name, strlen(name), &entry->type))
        return failAt(r, list, element, key, "unknown dtype '%s'", name);
      entry->hasType = true;
    } else if (strcmp(key, "shape") == 0) {
      if (!readShape(r, list, element, value, entry))
        return false;
    } else {
      return failAt(r, list, element, key,
                    "unknown key '%s'; expected index, name, shape, dtype, %sfile", key,
                    isArgument ? "role, " : "");
    }
  }
  return true;
}

/// Places of all entries in one walk over the text: a long list must not be walked once per entry.
static void findEntries(Reader *r, const char *list, size_t n, ShardArgsEntry *entries) {
  ShardJsonCursor c = {r->text, r->text + r->length};
  shardJsonSkipSpace(&c);
  shardJsonEnter(&c, list, 0);
  const char *last = r->text;
  int32_t line = 1, column = 1;
  c.at += c.at < c.end; // past the bracket
  for (size_t i = 0; i < n; ++i) {
    shardJsonSkipSpace(&c);
    for (; last < c.at; ++last) {
      ++column;
      if (*last == '\n') {
        ++line;
        column = 1;
      }
    }
    entries[i].line = line;
    entries[i].column = column;
    shardJsonSkipValue(&c);
    shardJsonSkipSpace(&c);
    c.at += c.at < c.end; // past a comma
  }
}

static bool readList(Reader *r, json_t *root, const char *list, size_t *outCount,
                     ShardArgsEntry **outEntries) {
  json_t *array = json_object_get(root, list);
  if (!array)
    return true;
  if (!json_is_array(array))
    return failAt(r, list, -1, NULL, "'%s' is not an array", list);
  size_t n = json_array_size(array);
  ShardArgsEntry *entries = calloc(n ? n : 1, sizeof(*entries));
  if (!entries)
    return failAt(r, list, -1, NULL, "out of memory");
  *outEntries = entries;
  *outCount = n;
  for (size_t i = 0; i < n; ++i)
    if (!readEntry(r, list, (int64_t)i, json_array_get(array, i), &entries[i]))
      return false;
  findEntries(r, list, n, entries);
  return true;
}

static int compareNames(const void *a, const void *b) {
  const ShardArgsEntry *const *x = a, *const *y = b;
  int order = strcmp((*x)->name, (*y)->name);
  return order ? order : (*x < *y ? -1 : *x > *y);
}

static bool checkNames(Reader *r, ShardArgsJson *args) {
  size_t n = args->nArguments;
  const ShardArgsEntry **sorted = calloc(n ? n : 1, sizeof(*sorted));
  if (!sorted)
    return failAt(r, "args", -1, NULL, "out of memory");
  for (size_t i = 0; i < n; ++i)
    sorted[i] = &args->arguments[i];
  qsort(sorted, n, sizeof(*sorted), compareNames);
  bool ok = true;
  for (size_t i = 1; i < n && ok; ++i)
    if (sorted[i]->name[0] && strcmp(sorted[i]->name, sorted[i - 1]->name) == 0)
      ok = failAt(r, "args", sorted[i] - args->arguments, "name",
                  "name '%s' of entry %td is already that of entry %td", sorted[i]->name,
                  sorted[i] - args->arguments, sorted[i - 1] - args->arguments);
  free(sorted);
  return ok;
}

ShardArgsJson *shardArgsJsonParse(const char *path, const char *text, size_t length, char *message,
                                  size_t messageBytes) {
  Reader reader = {path, text, length, message, messageBytes};
  Reader *r = &reader;
  json_error_t error;
  json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
  if (!root) {
    snprintf(message, messageBytes, "%s:%d:%d: error: %s", path, error.line > 0 ? error.line : 1,
             error.column > 0 ? error.column : 1, error.text);
    return NULL;
  }
  ShardArgsJson *args = calloc(1, sizeof(*args));
  char *pathCopy = strdup(path);
  if (!args || !pathCopy) {
    snprintf(message, messageBytes, "%s: out of memory", path);
    free(args);
    free(pathCopy);
    json_decref(root);
    return NULL;
  }
  args->path = pathCopy;
  args->storage = root;
  args->entry = "";
  if (!json_is_object(root)) {
    failAt(r, NULL, -1, NULL, "expected an object with the key 'args'");
    goto failed;
  }
  json_t *entry = json_object_get(root, "entry");
  if (entry && !readText(r, NULL, -1, "entry", entry, &args->entry))
    goto failed;
  if (!json_object_get(root, "args")) {
    failAt(r, NULL, -1, NULL, "no key 'args'");
    goto failed;
  }
  if (!readList(r, root, "args", &args->nArguments, &args->arguments) ||
      !readList(r, root, "results", &args->nResults, &args->results) || !checkNames(r, args))
    goto failed;
  return args;
failed:
  shardArgsJsonDestroy(args);
  return NULL;
}

ShardArgsJson *shardArgsJsonReadFile(const char *path, char *message, size_t messageBytes) {
  FILE *file = fopen(path, "rb");
  if (!file) {
    snprintf(message, messageBytes, "%s: %s", path, strerror(errno));
    return NULL;
  }
  char *text = NULL;
  size_t length = 0, capacity = 0;
  bool ok = true;
  for (;;) {
    if (length == capacity) {
      size_t larger = capacity ? capacity * 2 : 65536;
      char *grown = realloc(text, larger);
      if (!grown) {
        ok = false;
        errno = ENOMEM;
        break;
      }
      text = grown;
      capacity = larger;
    }
    size_t n = fread(text + length, 1, capacity - length, file);
    length += n;
    if (n == 0) {
      ok = !ferror(file);
      break;
    }
  }
  ShardArgsJson *args = NULL;
  if (!ok)
    snprintf(message, messageBytes, "%s: %s", path, strerror(errno));
  else
    args = shardArgsJsonParse(path, text, length, message, messageBytes);
  free(text);
  fclose(file);
  return args;
}

void shardArgsJsonDestroy(ShardArgsJson *args) {
  if (!args)
    return;
  json_decref(args->storage);
  free(args->arguments);
  free(args->results);
  free(args->path);
  free(args);
}

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

bool shardArgsJsonMatch(const ShardArgsJson *args, size_t nArguments, const char *const *names,
                        int64_t *outEntry, char *message, size_t messageBytes) {
  size_t nInputs = 0;
  for (size_t i = 0; i < args->nArguments; ++i)
    nInputs += strcmp(args->arguments[i].role, "input") == 0;
  // Names are looked up in a sorted copy: thousands of arguments are common.
  const ShardArgsEntry **sorted = calloc(args->nArguments + 1, sizeof(*sorted));
  if (!sorted) {
    snprintf(message, messageBytes, "%s: out of memory", args->path);
    return false;
  }
  for (size_t i = 0; i < args->nArguments; ++i)
    sorted[i] = &args->arguments[i];
  qsort(sorted, args->nArguments, sizeof(*sorted), compareNames);
  size_t input = 0;
  bool ok = true;
  for (size_t i = 0; i < nArguments && ok; ++i) {
    while (input < args->nArguments && strcmp(args->arguments[input].role, "input") != 0)
      ++input;
    if (names[i] && names[i][0]) {
      size_t low = 0, high = args->nArguments;
      while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(sorted[middle]->name, names[i]) < 0)
          low = middle + 1;
        else
          high = middle;
      }
      bool found = low < args->nArguments && strcmp(sorted[low]->name, names[i]) == 0;
      outEntry[i] = found ? sorted[low] - args->arguments : -1;
    } else if (nArguments == args->nArguments) {
      outEntry[i] = (int64_t)i;
    } else if (nArguments == nInputs) {
      outEntry[i] = (int64_t)input;
    } else {
      snprintf(message, messageBytes,
               "%s lists %zu arguments, %zu of them inputs; the function has %zu", args->path,
               args->nArguments, nInputs, nArguments);
      ok = false;
    }
    ++input; // the next argument is matched to the next input
  }
  free(sorted);
  return ok;
}
