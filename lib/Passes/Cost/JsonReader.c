//===- JsonReader.c - Values of a JSON file, each with its place --*- C -*-===//
#define _GNU_SOURCE
#include "JsonReader.h"

#include "../../../tools/common/JsonPlace.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// No rate or size of a machine is beyond it.
#define LARGEST 1e30
/// Messages quote no more of a text than this.
#define QUOTED_BYTES 80

static void enterPath(ShardJsonCursor *cursor, const JsonPath *path) {
  if (!path->parent)
    return;
  enterPath(cursor, path->parent);
  shardJsonEnter(cursor, path->key, path->index);
}

static const char *pathText(JsonReader *r, const JsonPath *path) {
  if (!path->parent)
    return "";
  const char *parent = pathText(r, path->parent);
  return path->key ? shardArenaFormat(r->arena, "%s%s%.*s", parent, *parent ? "." : "",
                                      QUOTED_BYTES, path->key)
                   : shardArenaFormat(r->arena, "%s[%zu]", parent, path->index);
}

/// One line, whatever stands in the file.
static void makePrintable(char *message) {
  for (; message && *message; ++message)
    if ((unsigned char)*message < ' ')
      *message = '?';
}

bool jsonReaderFail(JsonReader *r, const JsonPath *path, const char *format, ...) {
  if (r->message)
    return false;
  ShardJsonCursor cursor = {r->text, r->text + r->length};
  shardJsonSkipSpace(&cursor);
  enterPath(&cursor, path);
  int32_t line, column;
  shardJsonFindPlace(r->text, cursor.at, &line, &column);
  char *text;
  va_list arguments;
  va_start(arguments, format);
  if (vasprintf(&text, format, arguments) < 0)
    text = NULL;
  va_end(arguments);
  const char *name = pathText(r, path);
  if (!text || asprintf(&r->message, "%s:%d:%d: error: %s%s%s %s", r->path, line, column,
                        *name ? "'" : "the file", name, *name ? "'" : "", text) < 0)
    r->message = NULL;
  makePrintable(r->message);
  free(text);
  return false;
}

json_t *jsonReaderParse(JsonReader *r) {
  json_error_t error;
  json_t *root = json_loadb(r->text, r->length, JSON_REJECT_DUPLICATES, &error);
  if (!root &&
      asprintf(&r->message, "%s:%d:%d: error: %s", r->path, error.line > 0 ? error.line : 1,
               error.column > 0 ? error.column : 1, error.text) < 0)
    r->message = NULL;
  makePrintable(r->message);
  return root;
}

static const char *typeName(const json_t *value) {
  switch (json_typeof(value)) {
  case JSON_OBJECT:
    return "an object";
  case JSON_ARRAY:
    return "a list";
  case JSON_STRING:
    return "a text";
  case JSON_INTEGER:
  case JSON_REAL:
    return "a number";
  case JSON_TRUE:
  case JSON_FALSE:
    return "true or false";
  case JSON_NULL:
    break;
  }
  return "null";
}

static const char *listNames(JsonReader *r, int32_t n, const char *const *names) {
  const char *text = "";
  for (int32_t i = 0; i < n; ++i)
    text = shardArenaFormat(r->arena, "%s%s%s", text,
                            !i          ? ""
                            : i + 1 < n ? ", "
                                        : " or ",
                            names[i]);
  return text;
}

bool jsonReadFields(JsonReader *r, const JsonPath *path, json_t *value, int32_t n,
                    const char *const *names) {
  if (!json_is_object(value))
    return jsonReaderFail(r, path, "is %s; expected an object", typeName(value));
  const char *key;
  json_t *field;
  json_object_foreach(value, key, field) {
    int32_t i = 0;
    while (i < n && strcmp(names[i], key) != 0)
      ++i;
    JsonPath at = {path, key, 0};
    if (i == n)
      return jsonReaderFail(r, &at, "is no field here; expected %s", listNames(r, n, names));
  }
  return true;
}

bool jsonRequire(JsonReader *r, const JsonPath *path, json_t *object, const char *key) {
  return json_object_get(object, key) || jsonReaderFail(r, path, "has no '%s'", key);
}

bool jsonReadList(JsonReader *r, const JsonPath *path, json_t *value, size_t atLeast,
                  size_t atMost) {
  if (!json_is_array(value))
    return jsonReaderFail(r, path, "is %s; expected a list", typeName(value));
  size_t n = json_array_size(value);
  return (n >= atLeast && n <= atMost) ||
         jsonReaderFail(r, path, "has %zu elements; expected %zu to %zu", n, atLeast, atMost);
}

bool jsonReadText(JsonReader *r, const JsonPath *path, json_t *value, const char **out) {
  if (!json_is_string(value))
    return jsonReaderFail(r, path, "is %s; expected a text", typeName(value));
  const char *text = json_string_value(value);
  if (!*text)
    return jsonReaderFail(r, path, "is empty");
  for (const char *c = text; *c; ++c)
    if ((unsigned char)*c < ' ')
      return jsonReaderFail(r, path, "has a control character");
  *out = shardArenaCopyString(r->arena, text, strlen(text));
  return true;
}

bool jsonReadBool(JsonReader *r, const JsonPath *path, json_t *value, bool *out) {
  if (!json_is_boolean(value))
    return jsonReaderFail(r, path, "is %s; expected true or false", typeName(value));
  *out = json_is_true(value);
  return true;
}

bool jsonReadCount(JsonReader *r, const JsonPath *path, json_t *value, int64_t low, int64_t high,
                   int64_t *out) {
  double number = json_number_value(value);
  if (!json_is_number(value) || number != floor(number))
    return jsonReaderFail(r, path, "is %s; expected a whole number",
                          json_is_real(value) ? "no whole number" : typeName(value));
  if (low == high && number != (double)low)
    return jsonReaderFail(r, path, "is %.17g; expected %" PRId64, number, low);
  if (number < (double)low || number > (double)high) // 8e0 is whole, as schemas have it
    return jsonReaderFail(r, path, "is %.17g; expected %" PRId64 " to %" PRId64, number, low, high);
  *out = json_is_integer(value) ? json_integer_value(value) : (int64_t)number;
  return true;
}

bool jsonReadNumber(JsonReader *r, const JsonPath *path, json_t *value, double low, double high,
                    double *out) {
  if (!json_is_number(value))
    return jsonReaderFail(r, path, "is %s; expected a number", typeName(value));
  *out = json_number_value(value);
  if (high >= LARGEST && low > 0)
    return (*out >= low && *out <= high) ||
           jsonReaderFail(r, path, "is %g; expected a positive number%s", *out,
                          *out > high ? " below 1e30" : "");
  return (*out >= low && *out <= high) ||
         jsonReaderFail(r, path, "is %g; expected %g to %g", *out, low, high);
}

bool jsonReadName(JsonReader *r, const JsonPath *path, json_t *value, int32_t n,
                  const char *const *names, int32_t *out) {
  const char *text = json_string_value(value);
  for (int32_t i = 0; text && i < n; ++i)
    if (names[i] && strcmp(names[i], text) == 0) {
      *out = i;
      return true;
    }
  if (!text)
    return jsonReaderFail(r, path, "is %s; expected %s", typeName(value), listNames(r, n, names));
  return jsonReaderFail(r, path, "is '%.*s'; expected %s", QUOTED_BYTES, text,
                        listNames(r, n, names));
}

bool jsonReadSource(JsonReader *r, const JsonPath *path, json_t *object, const char **source) {
  json_t *value = json_object_get(object, "source");
  JsonPath at = {path, "source", 0};
  return !value || jsonReadText(r, &at, value, source);
}

bool jsonReadFigure(JsonReader *r, const JsonPath *path, json_t *value, double low, double high,
                    const char *source, ShardFigure *out) {
  static const char *const fields[] = {"value", "measured", "source"};
  *out = (ShardFigure){.given = true, .source = source};
  if (!json_is_object(value))
    return jsonReadNumber(r, path, value, low, high, &out->value);
  JsonPath number = {path, "value", 0}, measured = {path, "measured", 0};
  json_t *flag = json_object_get(value, "measured");
  return jsonReadFields(r, path, value, 3, fields) && jsonRequire(r, path, value, "value") &&
         jsonReadNumber(r, &number, json_object_get(value, "value"), low, high, &out->value) &&
         (!flag || jsonReadBool(r, &measured, flag, &out->measured)) &&
         jsonReadSource(r, path, value, &out->source);
}

bool jsonReadRate(JsonReader *r, const JsonPath *path, json_t *value, const char *source,
                  ShardRate *out, ShardCurve *curve, ShardShapeGrid *grid) {
  static const char *const fields[] = {"peak", "achieved", "source", "efficiency"};
  *out = (ShardRate){.peak = {.source = ""}, .achieved = {.source = ""}};
  if (!json_is_object(value) || json_object_get(value, "value"))
    return jsonReadFigure(r, path, value, 1e-30, LARGEST, source, &out->peak);
  json_t *peak = json_object_get(value, "peak"), *achieved = json_object_get(value, "achieved");
  json_t *efficiency = json_object_get(value, "efficiency");
  if (!jsonReadFields(r, path, value, curve ? 4 : 3, fields) ||
      !jsonReadSource(r, path, value, &source))
    return false;
  if (!peak && !achieved)
    return jsonReaderFail(r, path, "has neither 'peak' nor 'achieved'");
  JsonPath atPeak = {path, "peak", 0}, atAchieved = {path, "achieved", 0};
  JsonPath atEfficiency = {path, "efficiency", 0};
  if ((peak && !jsonReadFigure(r, &atPeak, peak, 1e-30, LARGEST, source, &out->peak)) ||
      (achieved &&
       !jsonReadFigure(r, &atAchieved, achieved, 1e-30, LARGEST, source, &out->achieved)) ||
      (efficiency && !(json_object_get(efficiency, "fractions")
                           ? jsonReadShapeGrid(r, &atEfficiency, efficiency, source, grid)
                           : jsonReadCurve(r, &atEfficiency, efficiency, 1, source, curve))))
    return false;
  if (peak && achieved && out->achieved.value > out->peak.value)
    return jsonReaderFail(r, &atAchieved, "is %g, more than the peak, %g", out->achieved.value,
                          out->peak.value);
  return true;
}

bool jsonReadCurve(JsonReader *r, const JsonPath *path, json_t *value, double most,
                   const char *source, ShardCurve *out) {
  static const char *const fields[] = {"points", "source"};
  JsonPath atPoints = {path, "points", 0};
  json_t *points = json_object_get(value, "points");
  if (!jsonReadFields(r, path, value, 2, fields) || !jsonReadSource(r, path, value, &source) ||
      !jsonRequire(r, path, value, "points") || !jsonReadList(r, &atPoints, points, 1, 1000))
    return false;
  size_t n = json_array_size(points);
  double *sizes = SHARD_ARENA_ARRAY(r->arena, double, n);
  double *fractions = SHARD_ARENA_ARRAY(r->arena, double, n);
  for (size_t i = 0; i < n; ++i) {
    json_t *point = json_array_get(points, i);
    JsonPath at = {&atPoints, NULL, i}, size = {&at, NULL, 0}, fraction = {&at, NULL, 1};
    if (!jsonReadList(r, &at, point, 2, 2) ||
        !jsonReadNumber(r, &size, json_array_get(point, 0), 1e-30, LARGEST, &sizes[i]) ||
        !jsonReadNumber(r, &fraction, json_array_get(point, 1), 1e-6, most, &fractions[i]))
      return false;
    if (i && sizes[i] <= sizes[i - 1])
      return jsonReaderFail(r, &size, "is %g, after %g; expected sizes that ascend", sizes[i],
                            sizes[i - 1]);
  }
  *out = (ShardCurve){(intptr_t)n, sizes, fractions, source};
  return true;
}

/// A list of numbers in [low, high], which ascend when `ascend`.
static bool readNumbers(JsonReader *r, const JsonPath *path, json_t *value, size_t atMost,
                        double low, double high, bool ascend, const double **out) {
  if (!jsonReadList(r, path, value, 1, atMost))
    return false;
  size_t n = json_array_size(value);
  double *numbers = SHARD_ARENA_ARRAY(r->arena, double, n);
  for (size_t i = 0; i < n; ++i) {
    JsonPath at = {path, NULL, i};
    if (!jsonReadNumber(r, &at, json_array_get(value, i), low, high, &numbers[i]))
      return false;
    if (ascend && i && numbers[i] <= numbers[i - 1])
      return jsonReaderFail(r, &at, "is %g, after %g; expected sizes that ascend", numbers[i],
                            numbers[i - 1]);
  }
  *out = numbers;
  return true;
}

bool jsonReadShapeGrid(JsonReader *r, const JsonPath *path, json_t *value, const char *source,
                       ShardShapeGrid *out) {
  static const char *const fields[] = {"m", "n", "k", "fractions", "source"};
  if (!jsonReadFields(r, path, value, 5, fields) || !jsonReadSource(r, path, value, &source))
    return false;
  size_t count = 1;
  for (int d = 0; d < 3; ++d) {
    JsonPath at = {path, fields[d], 0};
    json_t *sizes = json_object_get(value, fields[d]);
    if (!jsonRequire(r, path, value, fields[d]) ||
        !readNumbers(r, &at, sizes, 100, 1e-30, LARGEST, true, &out->sizes[d]))
      return false;
    out->nSizes[d] = (intptr_t)json_array_size(sizes);
    count *= json_array_size(sizes);
  }
  JsonPath at = {path, "fractions", 0};
  json_t *fractions = json_object_get(value, "fractions");
  if (!readNumbers(r, &at, fractions, 1000000, 1e-6, 1, false, &out->fractions))
    return false;
  if (json_array_size(fractions) != count)
    return jsonReaderFail(r, &at, "has %zu elements; expected %zu, one for each m, n and k",
                          json_array_size(fractions), count);
  out->source = source;
  return true;
}
