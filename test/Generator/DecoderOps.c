//===- DecoderOps.c - Text of the ops of a generated decoder ------*- C -*-===//
// As torch-mlir spells them, on tensors.
//===----------------------------------------------------------------------===//
#include "DecoderOps.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *checked(void *memory) {
  if (!memory) {
    fputs("gen-decoder: error: out of memory\n", stderr);
    exit(1);
  }
  return memory;
}

void put(Text *text, const char *format, ...) {
  va_list list;
  va_start(list, format);
  int needed = vsnprintf(NULL, 0, format, list);
  va_end(list);
  if (text->length + (size_t)needed + 1 > text->capacity) {
    text->capacity = 2 * (text->length + (size_t)needed + 1);
    text->data = checked(realloc(text->data, text->capacity));
  }
  va_start(list, format);
  vsnprintf(text->data + text->length, (size_t)needed + 1, format, list);
  va_end(list);
  text->length += (size_t)needed;
}

Value makeValue(Generator *g, const char *element, int rank, const int64_t *shape) {
  Value value = {.element = element, .rank = rank};
  snprintf(value.name, sizeof value.name, "%%%d", g->nValues++);
  memcpy(value.shape, shape, (size_t)rank * sizeof *shape);
  return value;
}

bool isDynamic(int64_t size) {
  return size && (size % BATCH_MARK == 0 || size % SEQUENCE_MARK == 0);
}

/// The size as an operand: a number, or the name of one that the program computes.
void putSize(Generator *g, Text *text, int64_t size) {
  bool batch = size && size % BATCH_MARK == 0;
  int64_t rest = batch ? size / BATCH_MARK : size;
  bool sequence = rest && rest % SEQUENCE_MARK == 0;
  rest = sequence ? rest / SEQUENCE_MARK : rest;
  if (!batch && !sequence) {
    put(text, "%" PRId64, size);
    return;
  }
  const char *first = batch ? "%dim_batch" : "%dim_sequence";
  if (rest == 1 && batch != sequence) {
    put(text, "%s", first);
    return;
  }
  char name[64];
  snprintf(name, sizeof name, "%%size%s%s_%" PRId64, batch ? "_b" : "", sequence ? "_s" : "", rest);
  put(text, "%s", name);
  for (size_t i = 0; i < g->nSizes; ++i)
    if (strcmp(g->sizes[i], name) == 0)
      return;
  g->sizes = checked(realloc(g->sizes, (g->nSizes + 1) * sizeof *g->sizes));
  memcpy(g->sizes[g->nSizes++], name, sizeof name);
  if (batch && sequence)
    put(&g->dims, "    %s%s = arith.muli %%dim_batch, %%dim_sequence : index\n", name,
        rest == 1 ? "" : "_tokens");
  if (rest == 1)
    return;
  put(&g->dims, "    %s_times = arith.constant %" PRId64 " : index\n", name, rest);
  put(&g->dims, "    %s = arith.muli %s%s, %s_times : index\n", name,
      batch && sequence ? name : first, batch && sequence ? "_tokens" : "", name);
}

void putSizes(Generator *g, int rank, const int64_t *shape) {
  for (int i = 0; i < rank; ++i) {
    put(&g->body, "%s", i ? ", " : "");
    putSize(g, &g->body, shape[i]);
  }
}

void putType(Text *text, const Value *value) {
  put(text, "tensor<");
  for (int i = 0; i < value->rank; ++i)
    if (isDynamic(value->shape[i]))
      put(text, "?x");
    else
      put(text, "%" PRId64 "x", value->shape[i]);
  put(text, "%s>", value->element);
}

void putValues(Text *text, const char *format, const Value *values) {
  for (const char *at = format; *at;) {
    size_t n = strcspn(at, "@~");
    put(text, "%.*s", (int)n, at);
    at += n;
    if (!*at)
      return;
    const Value *value = &values[at[1] - '0'];
    if (*at == '@')
      put(text, "%s", value->name);
    else
      putType(text, value);
    at += 2;
  }
}

static const char *dtypeOf(const char *element) {
  return strcmp(element, "f32") == 0 ? "float32" : "int64";
}

void putJsonShape(Text *json, const Value *value) {
  bool dynamic = false;
  for (int i = 0; i < value->rank; ++i)
    dynamic |= isDynamic(value->shape[i]);
  if (!dynamic) {
    put(json, "\"shape\": [");
    for (int i = 0; i < value->rank; ++i)
      put(json, "%s%" PRId64, i ? ", " : "", value->shape[i]);
    put(json, "], ");
  }
  put(json, "\"dtype\": \"%s\"", dtypeOf(value->element));
}

Value argument(Generator *g, const char *role, const char *element, int rank, const int64_t *shape,
               const char *format, ...) {
  Value value = makeValue(g, element, rank, shape);
  snprintf(value.name, sizeof value.name, "%%arg%d", g->nArguments);
  char name[128];
  va_list list;
  va_start(list, format);
  vsnprintf(name, sizeof name, format, list);
  va_end(list);
  put(&g->head, "%s%s: ", g->nArguments ? ", " : "", value.name);
  putType(&g->head, &value);
  put(&g->json, "%s\n  {\"index\": %d, \"name\": \"%s\", ", g->nArguments ? "," : "", g->nArguments,
      name);
  putJsonShape(&g->json, &value);
  put(&g->json, ", \"role\": \"%s\"}", role);
  ++g->nArguments;
  return value;
}

static bool findCached(const Generator *g, const char *key, Value *out) {
  for (size_t i = 0; i < g->nCached; ++i)
    if (strcmp(g->cache[i].key, key) == 0) {
      *out = g->cache[i].value;
      return true;
    }
  return false;
}

static void addCached(Generator *g, Text key, Value value) {
  g->cache = checked(realloc(g->cache, (g->nCached + 1) * sizeof *g->cache));
  g->cache[g->nCached++] = (Cached){key.data, value};
}

/// A type by its sizes, of which `?` shows nothing.
static void putKey(Text *key, const Value *value) {
  for (int i = 0; i < value->rank; ++i)
    put(key, "%" PRId64 "x", value->shape[i]);
  put(key, "%s", value->element);
}

Value empty(Generator *g, const char *element, int rank, const int64_t *shape) {
  Value value = {.element = element, .rank = rank};
  memcpy(value.shape, shape, (size_t)rank * sizeof *shape);
  Text key = {0};
  putKey(&key, &value);
  if (findCached(g, key.data, &value)) {
    free(key.data);
    return value;
  }
  value = makeValue(g, element, rank, shape);
  Text sizes = {0};
  put(&sizes, "%s", "");
  for (int i = 0; i < rank; ++i)
    if (isDynamic(shape[i])) {
      put(&sizes, "%s", sizes.length ? ", " : "");
      putSize(g, &sizes, shape[i]);
    }
  put(&g->body, "    %s = tensor.empty(%s) : ", value.name, sizes.data);
  putType(&g->body, &value);
  put(&g->body, "\n");
  free(sizes.data);
  addCached(g, key, value);
  return value;
}

/// `constant` is one of the named scalars of writeDecoder.
Value fill(Generator *g, const char *constant, const char *element, int rank,
           const int64_t *shape) {
  Value init = empty(g, element, rank, shape);
  Text key = {0};
  put(&key, "%s ", constant);
  putKey(&key, &init);
  Value value;
  if (findCached(g, key.data, &value)) {
    free(key.data);
    return value;
  }
  value = makeValue(g, element, rank, shape);
  put(&g->body, "    %s = linalg.fill ins(%s : %s)", value.name, constant, element);
  putValues(&g->body, " outs(@0 : ~0) -> ~0\n", &init);
  addCached(g, key, value);
  return value;
}

void putDims(Text *text, int rank) {
  for (int i = 0; i < rank; ++i)
    put(text, "%sd%d", i ? ", " : "", i);
}

/// The map of a value that is broadcast, right-aligned, to `rank` dimensions of `shape`.
static void putMap(Text *text, const Value *value, int rank, const int64_t *shape) {
  put(text, "affine_map<(");
  putDims(text, rank);
  put(text, ") -> (");
  for (int i = 0; i < value->rank; ++i) {
    int d = rank - value->rank + i;
    if (value->shape[i] == 1 && shape[d] != 1)
      put(text, "%s0", i ? ", " : "");
    else
      put(text, "%sd%d", i ? ", " : "", d);
  }
  put(text, ")>");
}

/// A linalg.generic over `shape`; dimension `reduced` (or -1) is summed up into `init`. The body's
/// text names its inputs %a, %b, %c, its accumulator %out and yields by itself.
Value generic(Generator *g, int rank, const int64_t *shape, int nInputs, const Value *inputs,
              const Value *init, int reduced, const char *body) {
  Value value = makeValue(g, init->element, init->rank, init->shape);
  Text *t = &g->body;
  put(t, "    %s = linalg.generic {indexing_maps = [", value.name);
  for (int i = 0; i < nInputs; ++i) {
    putMap(t, &inputs[i], rank, shape);
    put(t, ", ");
  }
  putMap(t, init, rank, shape);
  put(t, "], iterator_types = [");
  for (int i = 0; i < rank; ++i)
    put(t, "%s\"%s\"", i ? ", " : "", i == reduced ? "reduction" : "parallel");
  put(t, "]}");
  if (nInputs > 0) {
    put(t, " ins(");
    for (int i = 0; i < nInputs; ++i)
      put(t, "%s%s", i ? ", " : "", inputs[i].name);
    put(t, " : ");
    for (int i = 0; i < nInputs; ++i) {
      put(t, "%s", i ? ", " : "");
      putType(t, &inputs[i]);
    }
    put(t, ")");
  }
  put(t, " outs(%s : ", init->name);
  putType(t, init);
  put(t, ") {\n    ^bb0(");
  for (int i = 0; i < nInputs; ++i)
    put(t, "%%%c: %s, ", 'a' + i, inputs[i].element);
  put(t, "%%out: %s):\n%s    } -> ", init->element, body);
  putType(t, init);
  put(t, "\n");
  return value;
}

/// Elementwise over the broadcast shape of the inputs.
Value map(Generator *g, const char *element, const char *body, int nInputs, const Value *inputs) {
  int rank = 0;
  int64_t shape[MAX_RANK];
  for (int i = 0; i < nInputs; ++i)
    if (inputs[i].rank > rank)
      rank = inputs[i].rank;
  for (int d = 0; d < rank; ++d) {
    shape[d] = 1;
    for (int i = 0; i < nInputs; ++i) {
      int at = d - (rank - inputs[i].rank);
      if (at >= 0 && inputs[i].shape[at] != 1)
        shape[d] = inputs[i].shape[at];
    }
  }
  Value init = empty(g, element, rank, shape);
  return generic(g, rank, shape, nInputs, inputs, &init, -1, body);
}

Value unary(Generator *g, const char *body, Value a) { return map(g, a.element, body, 1, &a); }

Value binary(Generator *g, const char *op, Value a, Value b) {
  char body[128];
  snprintf(body, sizeof body, "      %%1 = %s %%a, %%b : %s\n      linalg.yield %%1 : %s\n", op,
           a.element, a.element);
  return map(g, a.element, body, 2, (Value[]){a, b});
}

/// Sums the last dimension, keeping it as 1.
Value sumLast(Generator *g, Value a) {
  int64_t shape[MAX_RANK];
  memcpy(shape, a.shape, sizeof shape);
  shape[a.rank - 1] = 1;
  bool wide = strcmp(a.element, "f64") == 0;
  Value init = fill(g, wide ? "%zero64" : "%zero", a.element, a.rank, shape);
  return generic(g, a.rank, a.shape, 1, &a, &init, a.rank - 1,
                 wide ? "      %1 = arith.addf %a, %out : f64\n      linalg.yield %1 : f64\n"
                      : "      %1 = arith.addf %a, %out : f32\n      linalg.yield %1 : f32\n");
}

/// expand_shape or collapse_shape; `groups` is the reassociation as text.
Value reshape(Generator *g, Value a, const char *groups, int rank, const int64_t *shape) {
  Value value = makeValue(g, a.element, rank, shape);
  Text *t = &g->body;
  bool expand = rank > a.rank;
  put(t, "    %s = tensor.%s_shape %s %s ", value.name, expand ? "expand" : "collapse", a.name,
      groups);
  if (expand) {
    put(t, "output_shape [");
    putSizes(g, rank, shape);
    put(t, "] ");
  }
  putValues(t, ": ~0 into ~1\n", (Value[]){a, value});
  return value;
}

Value transpose(Generator *g, Value a, const int *order) {
  int64_t shape[MAX_RANK] = {0};
  for (int i = 0; i < a.rank; ++i)
    shape[i] = a.shape[order[i]];
  Value init = empty(g, a.element, a.rank, shape);
  Value value = makeValue(g, a.element, a.rank, shape);
  Text *t = &g->body;
  putValues(t, "    @0 = linalg.transpose ins(@1 : ~1) outs(@2 : ~2) permutation = [",
            (Value[]){value, a, init});
  for (int i = 0; i < a.rank; ++i)
    put(t, "%s%d", i ? ", " : "", order[i]);
  put(t, "]\n");
  return value;
}

/// [m,k] x [k,n], or with a batch dimension in front.
Value matmul(Generator *g, Value a, Value b) {
  int64_t shape[MAX_RANK];
  memcpy(shape, a.shape, sizeof shape);
  shape[a.rank - 1] = b.shape[b.rank - 1];
  Value init = fill(g, "%zero", "f32", a.rank, shape);
  Value value = makeValue(g, "f32", a.rank, shape);
  put(&g->body, "    %s = linalg.%smatmul ", value.name, a.rank == 3 ? "batch_" : "");
  putValues(&g->body, "ins(@0, @1 : ~0, ~1) outs(@2 : ~2) -> ~2\n", (Value[]){a, b, init});
  return value;
}

/// The part [offset, offset + size) of the last dimension.
Value sliceLast(Generator *g, Value a, int64_t offset, int64_t size) {
  int64_t shape[MAX_RANK];
  memcpy(shape, a.shape, sizeof shape);
  shape[a.rank - 1] = size;
  Value value = makeValue(g, a.element, a.rank, shape);
  Text *t = &g->body;
  put(t, "    %s = tensor.extract_slice %s[", value.name, a.name);
  for (int i = 0; i < a.rank; ++i)
    put(t, "%s%" PRId64, i ? ", " : "", i == a.rank - 1 ? offset : 0);
  put(t, "] [");
  putSizes(g, a.rank, shape);
  put(t, "] [");
  for (int i = 0; i < a.rank; ++i)
    put(t, "%s1", i ? ", " : "");
  putValues(t, "] : ~0 to ~1\n", (Value[]){a, value});
  return value;
}

Value concatLast(Generator *g, Value a, Value b) {
  int64_t shape[MAX_RANK];
  memcpy(shape, a.shape, sizeof shape);
  shape[a.rank - 1] += b.shape[a.rank - 1];
  Value value = makeValue(g, a.element, a.rank, shape);
  put(&g->body, "    %s = tensor.concat dim(%d) ", value.name, a.rank - 1);
  putValues(&g->body, "@0, @1 : (~0, ~1) -> ~2\n", (Value[]){a, b, value});
  return value;
}
