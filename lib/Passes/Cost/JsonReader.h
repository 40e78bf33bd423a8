//===- JsonReader.h - Values of a JSON file, each with its place --*- C -*-===//
#ifndef SHARD_COST_JSONREADER_H
#define SHARD_COST_JSONREADER_H

#include "shard/Cluster.h"

#include "../Core/Arena.h"

#include <jansson.h>

/// A file being read. The first error ends the reading; its message is malloc'ed.
typedef struct JsonReader {
  const char *path, *text;
  size_t length;
  ShardArena *arena;
  char *message; // null: none yet
} JsonReader;

/// Where a value stands: under `key`, or at `index` when that is null. No parent: the file itself.
typedef struct JsonPath {
  const struct JsonPath *parent;
  const char *key;
  size_t index;
} JsonPath;

/// Parses the text. Null after an error.
json_t *jsonReaderParse(JsonReader *reader);
/// Keeps "FILE:LINE:COLUMN: error: 'devices[1].flops' TEXT", printf form. Returns false.
bool jsonReaderFail(JsonReader *reader, const JsonPath *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/// Whether `value` is an object that has no field but the `n` of `names`.
bool jsonReadFields(JsonReader *reader, const JsonPath *path, json_t *value, int32_t n,
                    const char *const *names);
/// Whether `object` has `key`; else an error at `path`.
bool jsonRequire(JsonReader *reader, const JsonPath *path, json_t *object, const char *key);
/// A list of at least `atLeast` and at most `atMost` elements.
bool jsonReadList(JsonReader *reader, const JsonPath *path, json_t *value, size_t atLeast,
                  size_t atMost);
/// A text that is not empty; copied.
bool jsonReadText(JsonReader *reader, const JsonPath *path, json_t *value, const char **out);
bool jsonReadBool(JsonReader *reader, const JsonPath *path, json_t *value, bool *out);
/// A whole number in [low, high].
bool jsonReadCount(JsonReader *reader, const JsonPath *path, json_t *value, int64_t low,
                   int64_t high, int64_t *out);
/// A number in [low, high].
bool jsonReadNumber(JsonReader *reader, const JsonPath *path, json_t *value, double low,
                    double high, double *out);
/// One of the `n` names; its index.
bool jsonReadName(JsonReader *reader, const JsonPath *path, json_t *value, int32_t n,
                  const char *const *names, int32_t *out);
/// NUMBER or {"value": NUMBER, "measured": BOOL, "source": TEXT}; `source` where it names none.
bool jsonReadFigure(JsonReader *reader, const JsonPath *path, json_t *value, double low,
                    double high, const char *source, ShardFigure *out);
/// A figure, or {"peak": FIGURE, "achieved": FIGURE, "source": TEXT}; positive. `curve` and `grid`,
/// unless null, get what is under "efficiency", one of the two.
bool jsonReadRate(JsonReader *reader, const JsonPath *path, json_t *value, const char *source,
                  ShardRate *out, ShardCurve *curve, ShardShapeGrid *grid);
/// {"points": [[SIZE, FRACTION], ...], "source": TEXT}; no fraction is above `most`.
bool jsonReadCurve(JsonReader *reader, const JsonPath *path, json_t *value, double most,
                   const char *source, ShardCurve *out);
/// {"m": [SIZE, ...], "n": [...], "k": [...], "fractions": [FRACTION, ...], "source": TEXT}
bool jsonReadShapeGrid(JsonReader *reader, const JsonPath *path, json_t *value, const char *source,
                       ShardShapeGrid *out);

/// The source that an object names, else `source`. False: it is no text.
bool jsonReadSource(JsonReader *reader, const JsonPath *path, json_t *object, const char **source);

#endif // SHARD_COST_JSONREADER_H
