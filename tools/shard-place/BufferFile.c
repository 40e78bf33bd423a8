//===- BufferFile.c - Buffers as comma separated values -----------*- C -*-===//

#include "BufferFile.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum Column { COLUMN_ID, COLUMN_LOWER, COLUMN_UPPER, COLUMN_SIZE, COLUMN_ALIGNMENT } Column;
enum { N_COLUMNS = 5, N_NEEDED = 4 };
static const char *const columnNames[N_COLUMNS] = {"id", "lower", "upper", "size", "alignment"};

typedef struct Reader {
  const char *path, *at, *end, *lineStart;
  int64_t line;
  int32_t nColumns;
  Column columns[N_COLUMNS];
  BufferFile *out;
  int64_t capacity;
  char *message;
  size_t messageBytes;
} Reader;

static bool fail(const Reader *reader, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool fail(const Reader *reader, const char *at, const char *format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  snprintf(reader->message, reader->messageBytes, "%s:%" PRId64 ":%td: error: %s", reader->path,
           reader->line, at - reader->lineStart + 1, text);
  return false;
}

static bool outOfMemory(const Reader *reader) {
  snprintf(reader->message, reader->messageBytes, "%s: error: out of memory", reader->path);
  return false;
}

/// The text up to a comma or the end of the line, without spaces around it.
static BufferId takeField(Reader *reader) {
  while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\t'))
    ++reader->at;
  BufferId field = {reader->at, 0};
  for (; reader->at < reader->end && *reader->at != ',' && *reader->at != '\n'; ++reader->at)
    if (*reader->at != ' ' && *reader->at != '\t' && *reader->at != '\r')
      field.length = (size_t)(reader->at - field.text) + 1;
  return field;
}

/// What is shown of a field in a message.
static int shownLength(BufferId field) { return field.length < 40 ? (int)field.length : 40; }

static bool isLineEnd(const Reader *reader) {
  return reader->at == reader->end || *reader->at == '\n';
}

static void nextLine(Reader *reader) {
  if (reader->at < reader->end)
    ++reader->at;
  reader->lineStart = reader->at;
  ++reader->line;
}

static bool readHeading(Reader *reader) {
  bool seen[N_COLUMNS] = {false};
  for (;; ++reader->at) {
    BufferId field = takeField(reader);
    int column = 0;
    while (column < N_COLUMNS && (strlen(columnNames[column]) != field.length ||
                                  memcmp(columnNames[column], field.text, field.length) != 0))
      ++column;
    if (column == N_COLUMNS)
      return fail(reader, field.text,
                  "'%.*s' is no column; the columns are id, lower, upper, size and alignment",
                  shownLength(field), field.text);
    if (seen[column])
      return fail(reader, field.text, "column '%s' appears twice", columnNames[column]);
    seen[column] = true;
    reader->columns[reader->nColumns++] = (Column)column;
    if (isLineEnd(reader))
      break;
  }
  for (int column = 0; column < N_NEEDED; ++column)
    if (!seen[column])
      return fail(reader, reader->at, "there is no column '%s'", columnNames[column]);
  reader->out->isAligned = seen[COLUMN_ALIGNMENT];
  nextLine(reader);
  return true;
}

static bool readNumber(const Reader *reader, BufferId field, int64_t *out) {
  bool isNegative = field.length && *field.text == '-';
  uint64_t most = isNegative ? UINT64_C(1) << 63 : INT64_MAX, value = 0;
  for (size_t k = isNegative; k < field.length; ++k) {
    char digit = field.text[k];
    if (digit < '0' || digit > '9')
      return fail(reader, field.text + k, "'%.*s' is not a whole number", shownLength(field),
                  field.text);
    if (value > (most - (uint64_t)(digit - '0')) / 10)
      return fail(reader, field.text, "'%.*s' does not fit in 64 bits", shownLength(field),
                  field.text);
    value = value * 10 + (uint64_t)(digit - '0');
  }
  if (field.length == (isNegative ? 1 : 0))
    return fail(reader, field.text, "expected a whole number");
  *out = isNegative ? (int64_t)(0 - value) : (int64_t)value;
  return true;
}

static bool grow(Reader *reader) {
  BufferFile *out = reader->out;
  if (out->n < reader->capacity)
    return true;
  reader->capacity = reader->capacity ? 2 * reader->capacity : 16;
  size_t n = (size_t)reader->capacity;
  void *buffers = realloc(out->buffers, n * sizeof(*out->buffers));
  out->buffers = buffers ? buffers : out->buffers;
  void *ids = realloc(out->ids, n * sizeof(*out->ids));
  out->ids = ids ? ids : out->ids;
  void *lines = realloc(out->lines, n * sizeof(*out->lines));
  out->lines = lines ? lines : out->lines;
  return (buffers && ids && lines) || outOfMemory(reader);
}

static bool readBuffer(Reader *reader) {
  if (!grow(reader))
    return false;
  BufferFile *out = reader->out;
  ShardPlacementBuffer buffer = {0};
  int64_t *numbers[N_COLUMNS] = {NULL, &buffer.lower, &buffer.upper, &buffer.sizeBytes,
                                 &buffer.alignment};
  for (int32_t k = 0; k < reader->nColumns; ++k) {
    BufferId field = takeField(reader);
    Column column = reader->columns[k];
    if (column == COLUMN_ID && !field.length)
      return fail(reader, field.text, "an id is empty");
    if (column == COLUMN_ID)
      out->ids[out->n] = field;
    else if (!readNumber(reader, field, numbers[column]))
      return false;
    if (isLineEnd(reader) != (k + 1 == reader->nColumns))
      return fail(reader, reader->at, "expected %" PRId32 " fields, as in the heading",
                  reader->nColumns);
    reader->at += !isLineEnd(reader);
  }
  out->buffers[out->n] = buffer;
  out->lines[out->n++] = reader->line;
  return true;
}

static int compareIds(const void *a, const void *b) {
  const BufferId *const *x = a, *const *y = b;
  size_t length = (*x)->length < (*y)->length ? (*x)->length : (*y)->length;
  int order = memcmp((*x)->text, (*y)->text, length);
  if (!order)
    order = ((*x)->length > (*y)->length) - ((*x)->length < (*y)->length);
  return order ? order : (*x > *y) - (*x < *y);
}

static bool checkIds(Reader *reader) {
  BufferFile *out = reader->out;
  const BufferId **sorted = malloc((size_t)(out->n + 1) * sizeof(*sorted));
  if (!sorted)
    return outOfMemory(reader);
  for (int64_t i = 0; i < out->n; ++i)
    sorted[i] = &out->ids[i];
  qsort(sorted, (size_t)out->n, sizeof(*sorted), compareIds);
  const BufferId *twice = NULL; // the first in the file that repeats one
  for (int64_t i = 1; i < out->n; ++i)
    if (sorted[i]->length == sorted[i - 1]->length &&
        memcmp(sorted[i]->text, sorted[i - 1]->text, sorted[i]->length) == 0 &&
        (!twice || sorted[i] < twice))
      twice = sorted[i];
  free(sorted);
  if (!twice)
    return true;
  reader->line = out->lines[twice - out->ids];
  reader->lineStart = twice->text;
  while (reader->lineStart > reader->out->ids[0].text && reader->lineStart[-1] != '\n')
    --reader->lineStart;
  return fail(reader, twice->text, "id '%.*s' appears twice", shownLength(*twice), twice->text);
}

bool bufferFileParse(const char *path, const char *text, size_t length, BufferFile *out,
                     char *message, size_t messageBytes) {
  *out = (BufferFile){0};
  Reader reader = {.path = path,
                   .at = text,
                   .end = text + length,
                   .lineStart = text,
                   .line = 1,
                   .out = out,
                   .message = message,
                   .messageBytes = messageBytes};
  if (!readHeading(&reader))
    return false;
  while (reader.at < reader.end) {
    const char *begin = reader.at;
    BufferId first = takeField(&reader);
    bool isEmpty = !first.length && isLineEnd(&reader);
    reader.at = begin;
    if (isEmpty)
      takeField(&reader);
    else if (!readBuffer(&reader))
      return false;
    nextLine(&reader);
  }
  return checkIds(&reader);
}

void bufferFileRelease(BufferFile *file) {
  free(file->buffers);
  free(file->ids);
  free(file->lines);
  *file = (BufferFile){0};
}
