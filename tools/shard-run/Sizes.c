//===- Sizes.c - Extents of a program's dynamic dimensions ---------*- C -*-===//
#define _GNU_SOURCE

#include "Sizes.h"
#include "Memory.h"

#include "../model/Element.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

static int64_t digitExtent(const ShardProgram *program, const ShardProgramDigit *digit,
                           const int64_t *dims) {
  int64_t extent = digit->extent[0];
  for (int32_t k = 0; k < program->nDims; ++k)
    extent += digit->extent[1 + k] * dims[k];
  return extent;
}

static void trueShape(const ShardProgram *program, const ShardProgramValue *value,
                      const int64_t *dims, int64_t *out) {
  for (int32_t d = 0; d < value->rank; ++d)
    out[d] = value->nDigits ? 1 : value->globalShape[d];
  for (int32_t i = 0; i < value->nDigits; ++i)
    out[value->digits[i].dimension] *= digitExtent(program, &value->digits[i], dims);
}

ShardProgram *sizesApply(const ShardProgram *program, const int64_t *dims) {
  int32_t n = program->nArguments + program->nResults, nShapes = 0;
  for (int32_t i = 0; i < n; ++i)
    nShapes += i < program->nArguments ? program->arguments[i].rank
                                       : program->results[i - program->nArguments].rank;
  ShardProgram *sized = memoryZeroed(sizeof(ShardProgram) + (size_t)n * sizeof(ShardProgramValue) +
                                     (size_t)nShapes * sizeof(int64_t));
  ShardProgramValue *values = (ShardProgramValue *)(sized + 1);
  int64_t *shape = (int64_t *)(values + n);
  *sized = *program;
  for (int32_t i = 0; i < n; ++i) {
    values[i] =
        i < program->nArguments ? program->arguments[i] : program->results[i - program->nArguments];
    trueShape(program, &values[i], dims, shape);
    values[i].globalShape = shape;
    shape += values[i].rank;
  }
  sized->arguments = values;
  sized->results = values + program->nArguments;
  return sized;
}

ShardProgram *sizesSelect(const ShardProgram *program, const int64_t *dims) {
  const ShardProgram *bucket = shardProgramBucket(program, dims);
  size_t n = (size_t)program->nStages;
  ShardProgram *selected = memoryZeroed(sizeof(ShardProgram) + n * sizeof(ShardProgramStage));
  ShardProgramStage *stages = (ShardProgramStage *)(selected + 1);
  *selected = *bucket;
  for (size_t i = 0; i < n; ++i) {
    stages[i] = bucket->stages[i];
    stages[i].workspaceBytes = program->stages[i].workspaceBytes;
    stages[i].run = program->stages[i].run;
  }
  selected->stages = stages;
  return selected;
}

/// Visits every valid element: where it is stored, and where it lies in the value of true shape.
typedef void (*ElementVisitor)(void *user, size_t stored, size_t whole);
static void visitValid(const ShardProgram *program, const ShardProgramValue *value,
                       const int64_t *dims, ElementVisitor visit, void *user) {
  // True index along a dimension of each stored one; -1 in padding.
  int64_t *places[PLACEMENT_MAX_DIMS], shape[PLACEMENT_MAX_DIMS], index[PLACEMENT_MAX_DIMS] = {0};
  trueShape(program, value, dims, shape);
  size_t count = 1;
  for (int32_t d = 0; d < value->rank; ++d) {
    int64_t size = value->globalShape[d];
    count *= (size_t)size;
    places[d] = memoryZeroed((size_t)size * sizeof(int64_t) + 1);
    for (int64_t at = 0; at < size; ++at) {
      int64_t rest = at, scale = 1, place = value->nDigits ? 0 : at;
      for (int32_t i = value->nDigits - 1; i >= 0; --i) {
        const ShardProgramDigit *digit = &value->digits[i];
        if (digit->dimension != d)
          continue;
        int64_t extent = digitExtent(program, digit, dims), step = rest % digit->size;
        rest /= digit->size;
        place = place < 0 || step >= extent ? -1 : place + step * scale;
        scale *= extent;
      }
      places[d][at] = place;
    }
  }
  for (size_t stored = 0; stored < count; ++stored) {
    size_t whole = 0;
    bool valid = true;
    for (int32_t d = 0; d < value->rank && valid; ++d) {
      valid = places[d][index[d]] >= 0;
      whole = whole * (size_t)shape[d] + (size_t)places[d][index[d]];
    }
    if (valid)
      visit(user, stored, whole);
    for (int32_t d = value->rank - 1; d >= 0 && ++index[d] == value->globalShape[d]; --d)
      index[d] = 0;
  }
  for (int32_t d = 0; d < value->rank; ++d)
    free(places[d]);
}

typedef struct Transfer {
  const char *from;
  char *to;
  size_t bytes;
  bool strips;
} Transfer;

static void transferElement(void *user, size_t stored, size_t whole) {
  const Transfer *transfer = user;
  size_t from = transfer->strips ? stored : whole, to = transfer->strips ? whole : stored;
  memcpy(transfer->to + to * transfer->bytes, transfer->from + from * transfer->bytes,
         transfer->bytes);
}

static void markElement(void *user, size_t stored, size_t whole) {
  (void)whole;
  ((unsigned char *)user)[stored] = 1;
}

static size_t storedCount(const ShardProgramValue *value) {
  size_t count = 1;
  for (int32_t d = 0; d < value->rank; ++d)
    count *= (size_t)value->globalShape[d];
  return count;
}

void *sizesPad(const ShardProgram *program, const ShardProgramValue *value, const int64_t *dims,
               const void *whole) {
  size_t bytes = elementBytes(value->element);
  Transfer transfer = {whole, memoryZeroed(storedCount(value) * bytes + 1), bytes, false};
  visitValid(program, value, dims, transferElement, &transfer);
  return transfer.to;
}

void *sizesStrip(const ShardProgram *program, const ShardProgramValue *value, const int64_t *dims,
                 const void *stored) {
  size_t bytes = elementBytes(value->element);
  Transfer transfer = {stored, memoryZeroed(storedCount(value) * bytes + 1), bytes, true};
  visitValid(program, value, dims, transferElement, &transfer);
  return transfer.to;
}

unsigned char *sizesFindValid(const ShardProgram *program, const ShardProgramValue *value,
                              const int64_t *dims) {
  if (!value->nDigits)
    return NULL;
  unsigned char *valid = memoryZeroed(storedCount(value) + 1);
  visitValid(program, value, dims, markElement, valid);
  return valid;
}

void sizesPadValues(const ShardProgram *program, const int64_t *dims, bool zeros,
                    ValueSet *values) {
  for (int32_t i = 0; i < program->nArguments; ++i) {
    const ShardProgramValue *value = &program->arguments[i];
    ValueSource *source = &values->sources[value->index];
    if (!value->nDigits || source->padded)
      continue;
    int64_t shape[PLACEMENT_MAX_DIMS];
    trueShape(program, value, dims, shape);
    size_t count = 1, stored = storedCount(value), bytes = elementBytes(value->element);
    for (int32_t d = 0; d < value->rank; ++d)
      count *= (size_t)shape[d];
    char *whole = memoryZeroed(count * bytes + 1), *padded = memoryZeroed(stored * bytes + 1);
    valuesDraw(source, value->element, count, whole);
    for (size_t k = 0; k < stored && !zeros; ++k)
      elementPoison(value->element, padded, k);
    Transfer transfer = {whole, padded, bytes, false};
    visitValid(program, value, dims, transferElement, &transfer);
    free(whole);
    source->data = source->padded = padded;
  }
}

//===----------------------------------------------------------------------===//
// --sizes
//===----------------------------------------------------------------------===//

enum { UNKNOWN = -1 };

static bool namesArgument(const ShardProgram *program, int32_t argument, const char *text,
                          size_t length) {
  if (length == 1 && text[0] == '*')
    return true;
  char number[16];
  int n = snprintf(number, sizeof number, "%" PRId32, argument);
  if ((size_t)n == length && !memcmp(number, text, length))
    return true;
  for (int32_t i = 0; i < program->nArguments; ++i)
    if (program->arguments[i].index == argument && strlen(program->arguments[i].name) == length &&
        length && !memcmp(program->arguments[i].name, text, length))
      return true;
  return false;
}

/// One --sizes=ARG:D=N,N,...; writes column by column, a run a row.
static void readSizes(const ShardProgram *program, const char *text, Sizes *sizes) {
  const char *equals = strrchr(text, '='), *colon = equals;
  while (colon && colon > text && *colon != ':')
    --colon;
  char *end = NULL;
  long dimension = colon && *colon == ':' ? strtol(colon + 1, &end, 10) : -1;
  if (!equals || !end || end != equals || end == colon + 1 || dimension < 0)
    stop("--sizes=%s: expected ARG:D=N,N,...", text);
  int32_t nRuns = 1;
  for (const char *p = equals; *p; ++p)
    nRuns += *p == ',';
  if (sizes->nRuns && sizes->nRuns != nRuns)
    stop("--sizes=%s: expected %" PRId32 " size%s, as of the dimension before it; got %" PRId32,
         text, sizes->nRuns, sizes->nRuns == 1 ? "" : "s", nRuns);
  if (!sizes->nRuns) {
    sizes->nRuns = nRuns;
    sizes->dims = memoryZeroed((size_t)(nRuns * program->nDims) * sizeof(int64_t));
    for (int32_t i = 0; i < nRuns * program->nDims; ++i)
      sizes->dims[i] = UNKNOWN;
  }
  bool any = false;
  for (int32_t k = 0; k < program->nDims; ++k) {
    const ShardProgramDim *dim = &program->dims[k];
    if (dim->dimension != dimension ||
        !namesArgument(program, dim->argument, text, (size_t)(colon - text)))
      continue;
    any = true;
    const char *at = equals + 1;
    for (int32_t run = 0; run < nRuns; ++run, at = end + 1) {
      long long size = strtoll(at, &end, 10);
      if (end == at || (*end && *end != ',') || at[0] < '0' || at[0] > '9')
        stop("--sizes=%s: expected ARG:D=N,N,...", text);
      if (size < dim->least || size > dim->most)
        stop("--sizes=%s: %lld is out of bounds; dimension %" PRId32 " of argument %" PRId32
             " is compiled for %" PRId64 " to %" PRId64,
             text, size, dim->dimension, dim->argument, dim->least, dim->most);
      sizes->dims[run * program->nDims + k] = size;
    }
  }
  if (!any)
    stop("--sizes=%s: the program has no such dynamic dimension", text);
}

/// Dimensions that follow from others by an equality; checks those that are known.
static void completeRun(const ShardProgram *program, int64_t *dims) {
  for (bool changed = true; changed;) {
    changed = false;
    for (int32_t i = 0; i < program->nEqual; ++i) {
      const int64_t *row = program->equal + i * (1 + program->nDims);
      int64_t sum = row[0];
      int32_t open = -1, nOpen = 0;
      for (int32_t k = 0; k < program->nDims; ++k) {
        if (row[1 + k] && dims[k] == UNKNOWN) {
          open = k;
          ++nOpen;
        } else {
          sum += row[1 + k] * dims[k];
        }
      }
      if (nOpen == 1 && sum % row[1 + open] == 0) {
        dims[open] = -sum / row[1 + open];
        changed = true;
      } else if (!nOpen && sum) {
        char *text = sizesFormat(program, dims);
        stop("the extents %s do not fit together", text);
      }
    }
  }
  for (int32_t k = 0; k < program->nDims; ++k)
    if (dims[k] == UNKNOWN)
      stop("dimension %" PRId32 " of argument %" PRId32 " has no size; expected --sizes=%" PRId32
           ":%" PRId32 "=N,...",
           program->dims[k].dimension, program->dims[k].argument, program->dims[k].argument,
           program->dims[k].dimension);
    else if (dims[k] < program->dims[k].least || dims[k] > program->dims[k].most)
      stop("%" PRId64 " is out of bounds; dimension %" PRId32 " of argument %" PRId32
           " is compiled for %" PRId64 " to %" PRId64,
           dims[k], program->dims[k].dimension, program->dims[k].argument, program->dims[k].least,
           program->dims[k].most);
}

Sizes sizesCreate(const ShardProgram *program, const Options *options) {
  Sizes sizes = {0};
  if (!program->nDims) {
    if (options->nSizes)
      stop("--sizes=%s: the program has no dynamic dimension; --dim=ARG:D=..MAX keeps one",
           options->sizes[0]);
    sizes.nRuns = 1;
    return sizes;
  }
  for (size_t i = 0; i < options->nSizes; ++i)
    readSizes(program, options->sizes[i], &sizes);
  if (!options->nSizes) {
    sizes.nRuns = 1;
    sizes.dims = memoryZeroed((size_t)program->nDims * sizeof(int64_t));
    for (int32_t k = 0; k < program->nDims; ++k)
      sizes.dims[k] = program->dims[k].most;
  }
  for (int32_t run = 0; run < sizes.nRuns; ++run)
    completeRun(program, sizes.dims + run * program->nDims);
  return sizes;
}

char *sizesFormatBounds(const ShardProgram *program) {
  char *text = memoryZeroed((size_t)program->nDims * 96 + 1);
  for (int32_t k = 0; k < program->nDims; ++k)
    sprintf(text + strlen(text), "%s%" PRId32 ":%" PRId32 "=%" PRId64 "..%" PRId64, k ? "," : "",
            program->dims[k].argument, program->dims[k].dimension, program->dims[k].least,
            program->dims[k].most);
  return text;
}

char *sizesFormat(const ShardProgram *program, const int64_t *dims) {
  char *text = memoryZeroed((size_t)program->nDims * 64 + 1);
  for (int32_t k = 0; k < program->nDims; ++k)
    sprintf(text + strlen(text), "%s%" PRId32 ":%" PRId32 "=%" PRId64, k ? "," : "",
            program->dims[k].argument, program->dims[k].dimension,
            dims ? dims[k] : program->dims[k].most);
  return text;
}
