//===- GenDecoder.c - Write a decoder-only Transformer ------------*- C -*-===//
// Writes FOLDER/model.linalg.mlir and FOLDER/args.json: a decoder of any size as torch-mlir spells
// it in linalg on tensors. Weights are arguments; there are no values. Two families, mixed by
// options: Llama (RMSNorm, rotary, grouped heads, SwiGLU) and GPT (LayerNorm, fused projection,
// learned positions, GELU). The same options give the same bytes.
//===----------------------------------------------------------------------===//
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_RANK = 5 };

// With --dynamic, these stand for the batch and the sequence while shapes are computed: a size that
// one of them divides is written `?`, and as a number of the program where one is wanted.
enum { BATCH_MARK = 1000003, SEQUENCE_MARK = 1000033 };

typedef struct Options {
  const char *family; // "llama" or "gpt"
  int64_t heads, kvHeads, headSize, width, ff, layers, batch, sequence, vocab;
  int64_t wideEvery, wideFirst; // every N-th and the first N layers have twice the ff
  int64_t experts, top;         // 0: one feed-forward; else how many, and how many a token takes
  bool bias, parallel, qkNorm, tied, mask;
  const char *dynamic; // "batch", "sequence" or "both"; null: none
  int64_t positions;   // rows of learned positions
} Options;

typedef struct Text {
  char *data;
  size_t length, capacity;
} Text;

typedef struct Value {
  char name[24];
  const char *element; // "f32"
  int rank;
  int64_t shape[MAX_RANK];
} Value;

typedef struct Cached { // a tensor.empty or fill of a type, one for all users
  char *key;
  Value value;
} Cached;

typedef struct Generator {
  Options options;
  Text head, body, json; // signature, ops, args.json's list
  Text dims, constants;  // numbers that are sizes; others
  int nValues, nArguments, nResults;
  Cached *cache;
  size_t nCached;
  char (*sizes)[64]; // names in `dims`
  size_t nSizes;
} Generator;

static void *checked(void *memory) {
  if (!memory) {
    fputs("gen-decoder: error: out of memory\n", stderr);
    exit(1);
  }
  return memory;
}

static void __attribute__((format(printf, 2, 3))) put(Text *text, const char *format, ...) {
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

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static Value makeValue(Generator *g, const char *element, int rank, const int64_t *shape) {
  Value value = {.element = element, .rank = rank};
  snprintf(value.name, sizeof value.name, "%%%d", g->nValues++);
  memcpy(value.shape, shape, (size_t)rank * sizeof *shape);
  return value;
}

static bool isDynamic(int64_t size) {
  return size && (size % BATCH_MARK == 0 || size % SEQUENCE_MARK == 0);
}

/// The size as an operand: a number, or the name of one that the program computes.
static void putSize(Generator *g, Text *text, int64_t size) {
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

static void putSizes(Generator *g, int rank, const int64_t *shape) {
  for (int i = 0; i < rank; ++i) {
    put(&g->body, "%s", i ? ", " : "");
    putSize(g, &g->body, shape[i]);
  }
}

static void putType(Text *text, const Value *value) {
  put(text, "tensor<");
  for (int i = 0; i < value->rank; ++i)
    if (isDynamic(value->shape[i]))
      put(text, "?x");
    else
      put(text, "%" PRId64 "x", value->shape[i]);
  put(text, "%s>", value->element);
}

static const char *dtypeOf(const char *element) {
  return strcmp(element, "f32") == 0 ? "float32" : "int64";
}

static void putJsonShape(Text *json, const Value *value) {
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

static Value __attribute__((format(printf, 6, 7))) argument(Generator *g, const char *role,
                                                            const char *element, int rank,
                                                            const int64_t *shape,
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

#define SHAPE(...)                                                                                 \
  (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) { __VA_ARGS__ }
#define WEIGHT(g, shape, ...) argument(g, "weight", "f32", shape, __VA_ARGS__)

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

static Value empty(Generator *g, const char *element, int rank, const int64_t *shape) {
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

/// `constant` is one of the named scalars of writeModule.
static Value fill(Generator *g, const char *constant, const char *element, int rank,
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
  put(&g->body, "    %s = linalg.fill ins(%s : %s) outs(%s : ", value.name, constant, element,
      init.name);
  putType(&g->body, &init);
  put(&g->body, ") -> ");
  putType(&g->body, &init);
  put(&g->body, "\n");
  addCached(g, key, value);
  return value;
}

static void putDims(Text *text, int rank) {
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
static Value generic(Generator *g, int rank, const int64_t *shape, int nInputs, const Value *inputs,
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
static Value map(Generator *g, const char *element, const char *body, int nInputs,
                 const Value *inputs) {
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

static Value unary(Generator *g, const char *body, Value a) {
  return map(g, a.element, body, 1, &a);
}

static Value binary(Generator *g, const char *op, Value a, Value b) {
  char body[128];
  snprintf(body, sizeof body, "      %%1 = %s %%a, %%b : %s\n      linalg.yield %%1 : %s\n", op,
           a.element, a.element);
  return map(g, a.element, body, 2, (Value[]){a, b});
}

/// Sums the last dimension, keeping it as 1.
static Value sumLast(Generator *g, Value a) {
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
static Value reshape(Generator *g, Value a, const char *groups, int rank, const int64_t *shape) {
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
  put(t, ": ");
  putType(t, &a);
  put(t, " into ");
  putType(t, &value);
  put(t, "\n");
  return value;
}

static Value transpose(Generator *g, Value a, const int *order) {
  int64_t shape[MAX_RANK];
  for (int i = 0; i < a.rank; ++i)
    shape[i] = a.shape[order[i]];
  Value init = empty(g, a.element, a.rank, shape);
  Value value = makeValue(g, a.element, a.rank, shape);
  Text *t = &g->body;
  put(t, "    %s = linalg.transpose ins(%s : ", value.name, a.name);
  putType(t, &a);
  put(t, ") outs(%s : ", init.name);
  putType(t, &init);
  put(t, ") permutation = [");
  for (int i = 0; i < a.rank; ++i)
    put(t, "%s%d", i ? ", " : "", order[i]);
  put(t, "]\n");
  return value;
}

/// [m,k] x [k,n], or with a batch dimension in front.
static Value matmul(Generator *g, Value a, Value b) {
  int64_t shape[MAX_RANK];
  memcpy(shape, a.shape, sizeof shape);
  shape[a.rank - 1] = b.shape[b.rank - 1];
  Value init = fill(g, "%zero", "f32", a.rank, shape);
  Value value = makeValue(g, "f32", a.rank, shape);
  Text *t = &g->body;
  put(t, "    %s = linalg.%smatmul ins(%s, %s : ", value.name, a.rank == 3 ? "batch_" : "", a.name,
      b.name);
  putType(t, &a);
  put(t, ", ");
  putType(t, &b);
  put(t, ") outs(%s : ", init.name);
  putType(t, &init);
  put(t, ") -> ");
  putType(t, &value);
  put(t, "\n");
  return value;
}

/// The part [offset, offset + size) of the last dimension.
static Value sliceLast(Generator *g, Value a, int64_t offset, int64_t size) {
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
  put(t, "] : ");
  putType(t, &a);
  put(t, " to ");
  putType(t, &value);
  put(t, "\n");
  return value;
}

static Value concatLast(Generator *g, Value a, Value b) {
  int64_t shape[MAX_RANK];
  memcpy(shape, a.shape, sizeof shape);
  shape[a.rank - 1] += b.shape[a.rank - 1];
  Value value = makeValue(g, a.element, a.rank, shape);
  Text *t = &g->body;
  put(t, "    %s = tensor.concat dim(%d) %s, %s : (", value.name, a.rank - 1, a.name, b.name);
  putType(t, &a);
  put(t, ", ");
  putType(t, &b);
  put(t, ") -> ");
  putType(t, &value);
  put(t, "\n");
  return value;
}

//===----------------------------------------------------------------------===//
// Parts of a Transformer
//===----------------------------------------------------------------------===//

static Value iota(Generator *g, int64_t size) {
  Value init = empty(g, "i64", SHAPE(size));
  return generic(g, 1, &size, 0, NULL, &init, -1,
                 "      %1 = linalg.index 0 : index\n"
                 "      %2 = arith.index_cast %1 : index to i64\n"
                 "      linalg.yield %2 : i64\n");
}

/// Rows of `table` [n, width] at `ids` [.., s]; ids are checked.
static Value embed(Generator *g, Value table, Value ids) {
  int64_t width = table.shape[1];
  int64_t shape[] = {ids.shape[0], ids.shape[1], width};
  Value init = empty(g, "f32", 3, shape);
  Value value = makeValue(g, "f32", 3, shape);
  Text *t = &g->body;
  put(t,
      "    %s = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, "
      "affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = [\"parallel\", \"parallel\", "
      "\"parallel\"]} ins(%s : ",
      value.name, ids.name);
  putType(t, &ids);
  put(t, ") outs(%s : ", init.name);
  putType(t, &init);
  put(t,
      ") {\n    ^bb0(%%a: i64, %%out: f32):\n"
      "      %%1 = arith.index_cast %%a : i64 to index\n"
      "      %%2 = linalg.index 2 : index\n"
      "      %%rows = arith.constant %" PRId64 " : index\n"
      "      %%3 = arith.cmpi slt, %%1, %%rows : index\n"
      "      cf.assert %%3, \"index must be smaller than dim size\"\n"
      "      %%4 = arith.cmpi sge, %%a, %%zero_i64 : i64\n"
      "      cf.assert %%4, \"index must be larger or equal to 0\"\n"
      "      %%5 = tensor.extract %s[%%1, %%2] : ",
      table.shape[0], table.name);
  putType(t, &table);
  put(t, "\n      linalg.yield %%5 : f32\n    } -> ");
  putType(t, &value);
  put(t, "\n");
  return value;
}

/// A size as an i64 of a body.
static void putNumber(Generator *g, Text *text, const char *name, int64_t size) {
  put(text, isDynamic(size) ? "%s = arith.index_cast " : "%s = arith.constant ", name);
  putSize(g, text, size);
  put(text, isDynamic(size) ? " : index to i64" : " : i64");
}

/// [1 or b, 1, s, s] additive: 0 where a query may look, the lowest float where not.
static Value attentionMask(Generator *g, Value positions, Value padding) {
  const Options *o = &g->options;
  int64_t b = o->batch, s = o->sequence;
  Value rows = reshape(g, positions, "[[0, 1, 2, 3]]", SHAPE(1, 1, s, 1));
  Value columns = reshape(g, positions, "[[0, 1, 2, 3]]", SHAPE(1, 1, 1, s));
  Value allowed =
      map(g, "i1", "      %1 = arith.cmpi sle, %a, %b : i64\n      linalg.yield %1 : i1\n", 2,
          (Value[]){columns, rows});
  if (o->mask) {
    Value real =
        map(g, "i1", "      %1 = arith.cmpi ne, %a, %zero_i64 : i64\n      linalg.yield %1 : i1\n",
            1, &padding);
    Value batches = reshape(g, iota(g, b), "[[0, 1, 2, 3]]", SHAPE(b, 1, 1, 1));
    Text rows = {0}, length = {0}, type = {0};
    putNumber(g, &rows, "%batch", b);
    putNumber(g, &length, "%length", s);
    putType(&type, &real);
    char body[1024];
    snprintf(body, sizeof body,
             "      %s\n"
             "      %s\n"
             "      %%1 = arith.cmpi slt, %%a, %%zero_i64 : i64\n"
             "      %%2 = arith.addi %%a, %%batch : i64\n"
             "      %%3 = arith.select %%1, %%2, %%a : i64\n"
             "      %%4 = arith.index_cast %%3 : i64 to index\n"
             "      %%5 = arith.cmpi slt, %%b, %%zero_i64 : i64\n"
             "      %%6 = arith.addi %%b, %%length : i64\n"
             "      %%7 = arith.select %%5, %%6, %%b : i64\n"
             "      %%8 = arith.index_cast %%7 : i64 to index\n"
             "      %%9 = tensor.extract %s[%%4, %%8] : %s\n"
             "      linalg.yield %%9 : i1\n",
             rows.data, length.data, real.name, type.data);
    free(rows.data);
    free(length.data);
    free(type.data);
    Value padded = map(g, "i1", body, 2, (Value[]){batches, columns});
    allowed = map(g, "i1", "      %1 = arith.andi %a, %b : i1\n      linalg.yield %1 : i1\n", 2,
                  (Value[]){allowed, padded});
  }
  Value yes = {.name = "%open", .element = "f32"}, no = {.name = "%closed", .element = "f32"};
  return map(g, "f32", "      %1 = arith.select %a, %b, %c : f32\n      linalg.yield %1 : f32\n", 3,
             (Value[]){allowed, yes, no});
}

/// Cosines and sines [1, 1, s, d] of rotary positions.
static void rotaryTables(Generator *g, Value positions, Value *cosine, Value *sine) {
  int64_t s = g->options.sequence, d = g->options.headSize;
  Value at = reshape(g, positions, "[[0, 1, 2]]", SHAPE(1, s, 1));
  Value real = map(
      g, "f32", "      %1 = arith.sitofp %a : i64 to f32\n      linalg.yield %1 : f32\n", 1, &at);
  Value frequencies = {.name = "%frequencies", .element = "f32", .rank = 1, .shape = {d / 2}};
  Value angles = binary(g, "arith.mulf", real, frequencies);
  Value both = concatLast(g, angles, angles);
  Value c = unary(g, "      %1 = math.cos %a : f32\n      linalg.yield %1 : f32\n", both);
  Value n = unary(g, "      %1 = math.sin %a : f32\n      linalg.yield %1 : f32\n", both);
  *cosine = reshape(g, c, "[[0], [1, 2], [3]]", SHAPE(1, 1, s, d));
  *sine = reshape(g, n, "[[0], [1, 2], [3]]", SHAPE(1, 1, s, d));
}

static Value rotate(Generator *g, Value a, Value cosine, Value sine) {
  int64_t half = g->options.headSize / 2;
  Value first = binary(g, "arith.mulf", a, cosine);
  Value low = sliceLast(g, a, 0, half), high = sliceLast(g, a, half, half);
  Value negated = unary(g, "      %1 = arith.negf %a : f32\n      linalg.yield %1 : f32\n", high);
  Value turned = concatLast(g, negated, low);
  return binary(g, "arith.addf", first, binary(g, "arith.mulf", turned, sine));
}

static Value rmsNorm(Generator *g, Value a, Value weight) {
  char body[256];
  Value square =
      unary(g, "      %1 = math.fpowi %a, %two_i64 : f32, i64\n      linalg.yield %1 : f32\n", a);
  Value sum = sumLast(g, square);
  snprintf(body, sizeof body,
           "      %%n = arith.constant %" PRId64 ".0 : f32\n      %%1 = arith.divf %%a, %%n : f32\n"
           "      linalg.yield %%1 : f32\n",
           a.shape[a.rank - 1]);
  Value mean = unary(g, body, sum);
  Value shifted = unary(g,
                        "      %1 = arith.truncf %eps : f64 to f32\n"
                        "      %2 = arith.addf %a, %1 : f32\n      linalg.yield %2 : f32\n",
                        mean);
  Value scale = unary(g, "      %1 = math.rsqrt %a : f32\n      linalg.yield %1 : f32\n", shifted);
  Value normal = binary(g, "arith.mulf", a, scale);
  return binary(g, "arith.mulf", weight, normal);
}

/// The variance in f64, as torch decomposes native_layer_norm.
static Value layerNorm(Generator *g, Value a, Value weight, Value bias) {
  char divide64[256], divide[256];
  int64_t n = a.shape[a.rank - 1];
  snprintf(divide64, sizeof divide64,
           "      %%n = arith.constant %" PRId64 ".0 : f64\n      %%1 = arith.divf %%a, %%n : f64\n"
           "      linalg.yield %%1 : f64\n",
           n);
  snprintf(divide, sizeof divide,
           "      %%n = arith.constant %" PRId64 ".0 : f32\n      %%1 = arith.divf %%a, %%n : f32\n"
           "      linalg.yield %%1 : f32\n",
           n);
  Value wide =
      map(g, "f64", "      %1 = arith.extf %a : f32 to f64\n      linalg.yield %1 : f64\n", 1, &a);
  Value mean64 = unary(g, divide64, sumLast(g, wide));
  Value centred = binary(g, "arith.subf", wide, mean64);
  Value square = binary(g, "arith.mulf", centred, centred);
  Value variance64 = unary(g, divide64, sumLast(g, square));
  Value variance =
      map(g, "f32", "      %1 = arith.truncf %a : f64 to f32\n      linalg.yield %1 : f32\n", 1,
          &variance64);
  Value mean = unary(g, divide, sumLast(g, a));
  Value shifted = unary(g,
                        "      %1 = arith.truncf %eps : f64 to f32\n"
                        "      %2 = arith.addf %a, %1 : f32\n      linalg.yield %2 : f32\n",
                        variance);
  Value scale = unary(g, "      %1 = math.rsqrt %a : f32\n      linalg.yield %1 : f32\n", shifted);
  Value normal = binary(g, "arith.mulf", binary(g, "arith.subf", a, mean), scale);
  return binary(g, "arith.addf", binary(g, "arith.mulf", normal, weight), bias);
}

typedef struct Linear {
  Value weight, bias;
  bool transposed; // [out, in]
  bool biased;
} Linear;

static Linear declareLinear(Generator *g, int64_t in, int64_t out, bool transposed, bool biased,
                            const char *prefix, const char *name) {
  Linear linear = {.transposed = transposed, .biased = biased};
  linear.weight =
      WEIGHT(g, SHAPE(transposed ? out : in, transposed ? in : out), "%s%s.weight", prefix, name);
  if (biased)
    linear.bias = WEIGHT(g, SHAPE(out), "%s%s.bias", prefix, name);
  return linear;
}

/// `flat` is [b*s, in]; gives [b, s, out].
static Value applyLinear(Generator *g, const Linear *linear, Value flat) {
  const Options *o = &g->options;
  Value weight = linear->transposed ? transpose(g, linear->weight, (int[]){1, 0}) : linear->weight;
  Value out = matmul(g, flat, weight);
  int64_t n = weight.shape[1];
  if (!linear->transposed && linear->biased) { // GPT's Conv1D: the bias on two dimensions
    Value init = empty(g, "f32", 2, out.shape);
    Value bias =
        generic(g, 2, out.shape, 1, &linear->bias, &init, -1, "      linalg.yield %a : f32\n");
    out = binary(g, "arith.addf", out, bias);
  }
  out = reshape(g, out, "[[0, 1], [2]]", SHAPE(o->batch, o->sequence, n));
  if (linear->transposed && linear->biased)
    out = binary(g, "arith.addf", out, linear->bias);
  return out;
}

static Value flatten(Generator *g, Value a) {
  return reshape(g, a, "[[0, 1], [2]]", SHAPE(a.shape[0] * a.shape[1], a.shape[2]));
}

/// [b, s, n*d] -> [b, n, s, d], normalised per head if there is a weight.
static Value splitHeads(Generator *g, Value a, int64_t n, const Value *norm) {
  const Options *o = &g->options;
  Value heads = reshape(g, a, "[[0], [1], [2, 3]]", SHAPE(o->batch, o->sequence, n, o->headSize));
  if (norm)
    heads = rmsNorm(g, heads, *norm);
  return transpose(g, heads, (int[]){0, 2, 1, 3});
}

/// [b, kv, s, d] -> [b, h, s, d]: each key/value head serves h / kv query heads.
static Value repeatHeads(Generator *g, Value a) {
  const Options *o = &g->options;
  int64_t groups = o->heads / o->kvHeads;
  if (groups == 1)
    return a;
  int64_t shape[] = {o->batch, o->kvHeads, groups, o->sequence, o->headSize};
  Value init = empty(g, "f32", 5, shape);
  Value value = makeValue(g, "f32", 5, shape);
  Text *t = &g->body;
  put(t,
      "    %s = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, "
      "d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = "
      "[\"parallel\", \"parallel\", \"parallel\", \"parallel\", \"parallel\"]} ins(%s : ",
      value.name, a.name);
  putType(t, &a);
  put(t, ") outs(%s : ", init.name);
  putType(t, &init);
  put(t, ") {\n    ^bb0(%%a: f32, %%out: f32):\n      linalg.yield %%a : f32\n    } -> ");
  putType(t, &value);
  put(t, "\n");
  return reshape(g, value, "[[0], [1, 2], [3], [4]]",
                 SHAPE(o->batch, o->heads, o->sequence, o->headSize));
}

/// Softmax of q k^T / sqrt(d) + mask, times v. [b, h, s, d] each; gives [b*s, h*d].
/// The largest of the last dimension, which goes, and where it first stands (i64).
static Value rowMaximum(Generator *g, Value a, Value *outIndex) {
  int rank = a.rank - 1;
  Value lowest = fill(g, "%lowest", "f32", rank, a.shape);
  Value zero = fill(g, "%zero_i64", "i64", rank, a.shape);
  Value most = makeValue(g, "f32", rank, a.shape);
  Text *t = &g->body;
  put(t, "    %s:2 = linalg.generic {indexing_maps = [", most.name);
  for (int i = 0; i < 3; ++i) {
    put(t, "%saffine_map<(", i ? ", " : "");
    putDims(t, a.rank);
    put(t, ") -> (");
    putDims(t, i ? rank : a.rank);
    put(t, ")>");
  }
  put(t, "], iterator_types = [");
  for (int i = 0; i < rank; ++i)
    put(t, "\"parallel\", ");
  put(t, "\"reduction\"]} ins(%s : ", a.name);
  putType(t, &a);
  put(t, ") outs(%s, %s : ", lowest.name, zero.name);
  putType(t, &lowest);
  put(t, ", ");
  putType(t, &zero);
  put(t,
      ") {\n    ^bb0(%%a: f32, %%out: f32, %%at: i64):\n"
      "      %%1 = linalg.index %d : index\n"
      "      %%2 = arith.index_cast %%1 : index to i64\n"
      "      %%3 = arith.maximumf %%a, %%out : f32\n"
      "      %%4 = arith.cmpf ogt, %%a, %%out : f32\n"
      "      %%5 = arith.select %%4, %%2, %%at : i64\n"
      "      linalg.yield %%3, %%5 : f32, i64\n    } -> (",
      rank);
  putType(t, &lowest);
  put(t, ", ");
  putType(t, &zero);
  put(t, ")\n");
  Value index = most;
  index.element = zero.element;
  size_t length = strlen(most.name);
  snprintf(most.name + length, sizeof most.name - length, "#0");
  snprintf(index.name + length, sizeof index.name - length, "#1");
  if (outIndex)
    *outIndex = index;
  return most;
}

static Value attend(Generator *g, Value q, Value k, Value v, Value mask) {
  const Options *o = &g->options;
  int64_t b = o->batch, h = o->heads, s = o->sequence, d = o->headSize;
  Value kt = transpose(g, k, (int[]){0, 1, 3, 2});
  Value q3 = reshape(g, q, "[[0, 1], [2], [3]]", SHAPE(b * h, s, d));
  Value k3 = reshape(g, kt, "[[0, 1], [2], [3]]", SHAPE(b * h, d, s));
  Value scores = reshape(g, matmul(g, q3, k3), "[[0, 1], [2], [3]]", SHAPE(b, h, s, s));
  Value scaled = unary(g,
                       "      %1 = arith.truncf %scale : f64 to f32\n"
                       "      %2 = arith.mulf %a, %1 : f32\n      linalg.yield %2 : f32\n",
                       scores);
  Value masked = binary(g, "arith.addf", scaled, mask);
  // The row maximum comes with its index, which nothing uses.
  Value highest = reshape(g, rowMaximum(g, masked, NULL), "[[0], [1], [2, 3]]", SHAPE(b, h, s, 1));
  Value power = unary(g, "      %1 = math.exp %a : f32\n      linalg.yield %1 : f32\n",
                      binary(g, "arith.subf", masked, highest));
  Value probability = binary(g, "arith.divf", power, sumLast(g, power));
  Value p3 = reshape(g, probability, "[[0, 1], [2], [3]]", SHAPE(b * h, s, s));
  Value v3 = reshape(g, v, "[[0, 1], [2], [3]]", SHAPE(b * h, s, d));
  Value out = reshape(g, matmul(g, p3, v3), "[[0, 1], [2], [3]]", SHAPE(b, h, s, d));
  Value back = transpose(g, out, (int[]){0, 2, 1, 3});
  return reshape(g, back, "[[0, 1], [2, 3]]", SHAPE(b * s, h * d));
}

static Value gelu(Generator *g, Value a) {
  Value half = unary(g, "      %1 = arith.mulf %a, %half : f32\n      linalg.yield %1 : f32\n", a);
  Value cube =
      unary(g, "      %1 = math.fpowi %a, %three_i64 : f32, i64\n      linalg.yield %1 : f32\n", a);
  Value small = unary(g,
                      "      %1 = arith.truncf %cubic : f64 to f32\n"
                      "      %2 = arith.mulf %a, %1 : f32\n      linalg.yield %2 : f32\n",
                      cube);
  Value inner = unary(g,
                      "      %1 = arith.truncf %root : f64 to f32\n"
                      "      %2 = arith.mulf %a, %1 : f32\n      linalg.yield %2 : f32\n",
                      binary(g, "arith.addf", a, small));
  Value tanh = unary(g, "      %1 = math.tanh %a : f32\n      linalg.yield %1 : f32\n", inner);
  Value one = unary(g, "      %1 = arith.addf %a, %one : f32\n      linalg.yield %1 : f32\n", tanh);
  return binary(g, "arith.mulf", half, one);
}

typedef struct Norm {
  Value weight, bias;
} Norm;

typedef struct Layer {
  Norm first, second;
  Linear q, k, v, fused, out, gate, up, down;
  Linear router;
  Value expertGate, expertUp, expertDown; // [experts, out, in]
  Value qNorm, kNorm;
} Layer;

static bool isGpt(const Generator *g) { return strcmp(g->options.family, "gpt") == 0; }

static Norm declareNorm(Generator *g, const char *prefix, const char *name) {
  Norm norm = {0};
  norm.weight = WEIGHT(g, SHAPE(g->options.width), "%s%s.weight", prefix, name);
  if (isGpt(g))
    norm.bias = WEIGHT(g, SHAPE(g->options.width), "%s%s.bias", prefix, name);
  return norm;
}

static Value applyNorm(Generator *g, const Norm *norm, Value a) {
  return isGpt(g) ? layerNorm(g, a, norm->weight, norm->bias) : rmsNorm(g, a, norm->weight);
}

/// Router and experts in place of the feed-forward.
static void declareExperts(Generator *g, Layer *layer, const char *prefix, int64_t ff) {
  const Options *o = &g->options;
  layer->router = declareLinear(g, o->width, o->experts, true, false, prefix, "mlp.gate");
  if (!isGpt(g))
    layer->expertGate = WEIGHT(g, SHAPE(o->experts, ff, o->width), "%smlp.experts.gate", prefix);
  layer->expertUp = WEIGHT(g, SHAPE(o->experts, ff, o->width), "%smlp.experts.up", prefix);
  layer->expertDown = WEIGHT(g, SHAPE(o->experts, o->width, ff), "%smlp.experts.down", prefix);
}

static Layer declareLayer(Generator *g, int64_t index) {
  const Options *o = &g->options;
  Layer layer = {0};
  char prefix[64];
  int64_t inner = o->heads * o->headSize, kv = o->kvHeads * o->headSize;
  bool wide = index < o->wideFirst || (o->wideEvery && (index + 1) % o->wideEvery == 0);
  int64_t ff = wide ? 2 * o->ff : o->ff;
  if (isGpt(g)) {
    snprintf(prefix, sizeof prefix, "transformer.h.%" PRId64 ".", index);
    layer.first = declareNorm(g, prefix, "ln_1");
    layer.fused = declareLinear(g, o->width, inner + 2 * kv, false, o->bias, prefix, "attn.c_attn");
    layer.out = declareLinear(g, inner, o->width, false, o->bias, prefix, "attn.c_proj");
    if (!o->parallel)
      layer.second = declareNorm(g, prefix, "ln_2");
    if (!o->experts) {
      layer.up = declareLinear(g, o->width, ff, false, o->bias, prefix, "mlp.c_fc");
      layer.down = declareLinear(g, ff, o->width, false, o->bias, prefix, "mlp.c_proj");
    }
  } else {
    snprintf(prefix, sizeof prefix, "model.layers.%" PRId64 ".", index);
    layer.q = declareLinear(g, o->width, inner, true, o->bias, prefix, "self_attn.q_proj");
    layer.k = declareLinear(g, o->width, kv, true, o->bias, prefix, "self_attn.k_proj");
    layer.v = declareLinear(g, o->width, kv, true, o->bias, prefix, "self_attn.v_proj");
    layer.out = declareLinear(g, inner, o->width, true, o->bias, prefix, "self_attn.o_proj");
    if (!o->experts) {
      layer.gate = declareLinear(g, o->width, ff, true, o->bias, prefix, "mlp.gate_proj");
      layer.up = declareLinear(g, o->width, ff, true, o->bias, prefix, "mlp.up_proj");
      layer.down = declareLinear(g, ff, o->width, true, o->bias, prefix, "mlp.down_proj");
    }
    layer.first = declareNorm(g, prefix, "input_layernorm");
    if (!o->parallel)
      layer.second = declareNorm(g, prefix, "post_attention_layernorm");
  }
  if (o->experts)
    declareExperts(g, &layer, prefix, ff);
  if (o->qkNorm) {
    layer.qNorm = WEIGHT(g, SHAPE(o->headSize), "%sself_attn.q_norm.weight", prefix);
    layer.kNorm = WEIGHT(g, SHAPE(o->headSize), "%sself_attn.k_norm.weight", prefix);
  }
  return layer;
}

static Value attention(Generator *g, const Layer *layer, Value normal, Value mask, Value cosine,
                       Value sine) {
  const Options *o = &g->options;
  Value q, k, v, flat = flatten(g, normal);
  if (isGpt(g)) {
    int64_t inner = o->heads * o->headSize, kv = o->kvHeads * o->headSize;
    Value all = applyLinear(g, &layer->fused, flat);
    q = sliceLast(g, all, 0, inner);
    k = sliceLast(g, all, inner, kv);
    v = sliceLast(g, all, inner + kv, kv);
  } else {
    q = applyLinear(g, &layer->q, flat);
    k = applyLinear(g, &layer->k, flat);
    v = applyLinear(g, &layer->v, flat);
  }
  q = splitHeads(g, q, o->heads, o->qkNorm ? &layer->qNorm : NULL);
  k = splitHeads(g, k, o->kvHeads, o->qkNorm ? &layer->kNorm : NULL);
  v = splitHeads(g, v, o->kvHeads, NULL);
  if (!isGpt(g)) {
    q = rotate(g, q, cosine, sine);
    k = rotate(g, k, cosine, sine);
  }
  Value mixed = attend(g, q, repeatHeads(g, k), repeatHeads(g, v), mask);
  return applyLinear(g, &layer->out, mixed);
}

static Value swish(Generator *g, Value a) {
  Value sigmoid = unary(g,
                        "      %1 = arith.negf %a : f32\n      %2 = math.exp %1 : f32\n"
                        "      %3 = arith.addf %2, %one : f32\n"
                        "      %4 = arith.divf %one, %3 : f32\n      linalg.yield %4 : f32\n",
                        a);
  return binary(g, "arith.mulf", a, sigmoid);
}

/// Every expert's product: x [t, in] or [e, t, in] by weight [e, out, in] gives [e, t, out].
static Value expertProduct(Generator *g, Value x, Value weight) {
  int64_t tokens = x.shape[x.rank - 2];
  Value init = fill(g, "%zero", "f32", SHAPE(weight.shape[0], tokens, weight.shape[1]));
  Value value = makeValue(g, "f32", init.rank, init.shape);
  Text *t = &g->body;
  put(t,
      "    %s = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (%sd1, d3)>, "
      "affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, "
      "d2)>], iterator_types = [\"parallel\", \"parallel\", \"parallel\", \"reduction\"]} ins(%s, "
      "%s : ",
      value.name, x.rank == 3 ? "d0, " : "", x.name, weight.name);
  putType(t, &x);
  put(t, ", ");
  putType(t, &weight);
  put(t, ") outs(%s : ", init.name);
  putType(t, &init);
  put(t, ") {\n    ^bb0(%%a: f32, %%b: f32, %%out: f32):\n"
         "      %%1 = arith.mulf %%a, %%b : f32\n      %%2 = arith.addf %%out, %%1 : f32\n"
         "      linalg.yield %%2 : f32\n    } -> ");
  putType(t, &init);
  put(t, "\n");
  return value;
}

/// What each token gives each expert, [t, e]: its probability for the first `top` by repeated
/// maximum, 0 for the others.
static Value route(Generator *g, const Layer *layer, Value flat) {
  const Options *o = &g->options;
  Value logits = flatten(g, applyLinear(g, &layer->router, flat));
  Value power = unary(g, "      %1 = math.exp %a : f32\n      linalg.yield %1 : f32\n", logits);
  Value probability = binary(g, "arith.divf", power, sumLast(g, power)), left = probability;
  Value given = fill(g, "%zero", "f32", 2, probability.shape), ids = iota(g, o->experts);
  for (int64_t k = 0; k < o->top; ++k) {
    Value index;
    rowMaximum(g, left, &index);
    Value column = reshape(g, index, "[[0, 1]]", SHAPE(index.shape[0], 1));
    Value chosen =
        map(g, "i1", "      %1 = arith.cmpi eq, %a, %b : i64\n      linalg.yield %1 : i1\n", 2,
            (Value[]){ids, column});
    given = map(g, "f32", "      %1 = arith.select %a, %b, %c : f32\n      linalg.yield %1 : f32\n",
                3, (Value[]){chosen, probability, given});
    left = map(g, "f32",
               "      %1 = arith.select %a, %lowest, %b : f32\n      linalg.yield %1 : f32\n", 2,
               (Value[]){chosen, left});
  }
  return given;
}

/// Every expert computes every token; what a token gives an expert weighs its answer.
static Value applyExperts(Generator *g, const Layer *layer, Value flat) {
  const Options *o = &g->options;
  Value given = route(g, layer, flat), up = expertProduct(g, flat, layer->expertUp);
  Value inner =
      isGpt(g) ? gelu(g, up)
               : binary(g, "arith.mulf", swish(g, expertProduct(g, flat, layer->expertGate)), up);
  Value answers = expertProduct(g, inner, layer->expertDown);
  Value weights = transpose(g, given, (int[]){1, 0});
  weights = reshape(g, weights, "[[0], [1, 2]]", SHAPE(weights.shape[0], weights.shape[1], 1));
  Value weighed = binary(g, "arith.mulf", answers, weights);
  Value init = fill(g, "%zero", "f32", 2, flat.shape);
  Value sum = generic(g, 3, weighed.shape, 1, &weighed, &init, 0,
                      "      %1 = arith.addf %a, %out : f32\n      linalg.yield %1 : f32\n");
  return reshape(g, sum, "[[0, 1], [2]]", SHAPE(o->batch, o->sequence, o->width));
}

static Value feedForward(Generator *g, const Layer *layer, Value normal) {
  Value flat = flatten(g, normal);
  if (g->options.experts)
    return applyExperts(g, layer, flat);
  Value inner;
  if (isGpt(g)) {
    inner = gelu(g, applyLinear(g, &layer->up, flat));
  } else {
    Value gate = applyLinear(g, &layer->gate, flat);
    inner = binary(g, "arith.mulf", swish(g, gate), applyLinear(g, &layer->up, flat));
  }
  return applyLinear(g, &layer->down, flatten(g, inner));
}

static Value block(Generator *g, const Layer *layer, Value x, Value mask, Value cosine,
                   Value sine) {
  Value normal = applyNorm(g, &layer->first, x);
  Value mixed = attention(g, layer, normal, mask, cosine, sine);
  if (g->options.parallel)
    return binary(g, "arith.addf", binary(g, "arith.addf", mixed, feedForward(g, layer, normal)),
                  x);
  Value y = binary(g, "arith.addf", x, mixed);
  return binary(g, "arith.addf", y, feedForward(g, layer, applyNorm(g, &layer->second, y)));
}

static void writeModule(Generator *g) {
  const Options *o = &g->options;
  bool gpt = isGpt(g);
  Value table = WEIGHT(g, SHAPE(o->vocab, o->width), "%s",
                       gpt ? "transformer.wte.weight" : "model.embed_tokens.weight");
  Value learned = {0};
  if (gpt)
    learned = WEIGHT(g, SHAPE(o->positions ? o->positions : o->sequence + 3, o->width),
                     "transformer.wpe.weight");
  Layer *layers = checked(calloc((size_t)o->layers, sizeof *layers));
  for (int64_t i = 0; i < o->layers; ++i)
    layers[i] = declareLayer(g, i);
  Norm last = declareNorm(g, "", gpt ? "transformer.ln_f" : "model.norm");
  Linear head = {.weight = table, .transposed = true};
  if (!o->tied)
    head = declareLinear(g, o->width, o->vocab, true, false, "", "lm_head");
  Value ids = argument(g, "input", "i64", SHAPE(o->batch, o->sequence), "input_ids");
  Text idsType = {0};
  putType(&idsType, &ids);
  Value padding = {0};
  if (o->mask)
    padding = argument(g, "input", "i64", SHAPE(o->batch, o->sequence), "attention_mask");

  if (o->dynamic)
    put(&g->dims,
        "    %%c0 = arith.constant 0 : index\n    %%c1 = arith.constant 1 : index\n"
        "    %%dim_batch = tensor.dim %s, %%c0 : %s\n"
        "    %%dim_sequence = tensor.dim %s, %%c1 : %s\n",
        ids.name, idsType.data, ids.name, idsType.data);
  free(idsType.data);
  Value x = embed(g, table, ids);
  Value positions = iota(g, o->sequence), cosine = {0}, sine = {0};
  if (gpt)
    x = binary(g, "arith.addf", x,
               embed(g, learned, reshape(g, positions, "[[0, 1]]", SHAPE(1, o->sequence))));
  Value mask = attentionMask(g, positions, padding);
  if (!gpt)
    rotaryTables(g, positions, &cosine, &sine);
  for (int64_t i = 0; i < o->layers; ++i)
    x = block(g, &layers[i], x, mask, cosine, sine);
  Value logits = applyLinear(g, &head, flatten(g, applyNorm(g, &last, x)));
  free(layers);

  Text *c = &g->constants;
  put(c,
      "    %%zero_i64 = arith.constant 0 : i64\n    %%two_i64 = arith.constant 2 : i64\n"
      "    %%three_i64 = arith.constant 3 : i64\n    %%zero = arith.constant 0.0 : f32\n"
      "    %%zero64 = arith.constant 0.0 : f64\n    %%half = arith.constant 0.5 : f32\n"
      "    %%one = arith.constant 1.0 : f32\n    %%lowest = arith.constant 0xFF800000 : f32\n"
      "    %%open = arith.constant dense<0.0> : tensor<f32>\n"
      "    %%closed = arith.constant dense<-3.40282347E+38> : tensor<f32>\n"
      "    %%eps = arith.constant 1.000000e-05 : f64\n"
      "    %%cubic = arith.constant 4.471500e-02 : f64\n"
      "    %%root = arith.constant 0.79788456080286541 : f64\n"
      "    %%scale = arith.constant %.17g : f64\n",
      1.0 / sqrt((double)o->headSize));
  if (!gpt) {
    put(c, "    %%frequencies = arith.constant dense<[");
    for (int64_t i = 0; i < o->headSize / 2; ++i)
      put(c, "%s%.9e", i ? ", " : "", pow(10000.0, -2.0 * (double)i / (double)o->headSize));
    put(c, "]> : tensor<%" PRId64 "xf32>\n", o->headSize / 2);
  }
  put(&g->body, "    return %s : ", logits.name);
  putType(&g->body, &logits);
  put(&g->body, "\n");
  put(&g->head, ") -> ");
  putType(&g->head, &logits);
  put(&g->json, "\n ],\n \"results\": [\n  {\"index\": 0, ");
  putJsonShape(&g->json, &logits);
  put(&g->json, "}\n ]\n}\n");
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

static uint64_t next(uint64_t *state) { // splitmix64
  uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static int64_t choose(uint64_t *state, int count, const int64_t *from) {
  return from[next(state) % (uint64_t)count];
}

#define CHOOSE(state, ...)                                                                         \
  choose(state, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})

static Options randomOptions(uint64_t seed) {
  uint64_t state = seed;
  Options o = {.family = next(&state) % 3 == 0 ? "gpt" : "llama"};
  o.heads = CHOOSE(&state, 2, 4, 6, 8, 12, 16);
  int64_t divisors[16];
  int nDivisors = 0;
  for (int64_t d = 1; d <= o.heads; ++d)
    if (o.heads % d == 0)
      divisors[nDivisors++] = d;
  o.kvHeads = choose(&state, nDivisors, divisors);
  o.headSize = CHOOSE(&state, 4, 8, 10, 16);
  o.width = next(&state) % 4 == 0 ? CHOOSE(&state, 24, 40, 56, 72) : o.heads * o.headSize;
  o.ff = 8 * (1 + (int64_t)(next(&state) % 24));
  o.layers = 2 + (int64_t)(next(&state) % 5);
  o.batch = CHOOSE(&state, 1, 2, 4);
  o.sequence = CHOOSE(&state, 7, 8, 12, 16, 32, 37);
  o.vocab = CHOOSE(&state, 96, 120, 128, 251);
  o.bias = next(&state) % 2;
  o.parallel = next(&state) % 4 == 0;
  o.qkNorm = next(&state) % 4 == 0;
  o.tied = next(&state) % 2;
  o.mask = next(&state) % 4 != 0;
  o.top = 2;
  return o;
}

static const char usage[] =
    "usage: gen-decoder [options] FOLDER\n"
    "  --seed=N         all of the below at random; options after it win\n"
    "  --family=llama|gpt --heads=N --kv-heads=N --head-size=N --width=N --ff=N --layers=N\n"
    "  --batch=N --sequence=N --vocab=N --bias=0|1 --parallel=0|1 --qk-norm=0|1 --tied=0|1 "
    "--mask=0|1\n"
    "  --dynamic=batch|sequence|both  dimensions that are left open; --positions=N rows for them "
    "(GPT)\n"
    "  --wide-every=N   every N-th layer has twice the ff; --wide-first=N the first N\n"
    "  --experts=N      experts in place of the feed-forward; --top=N that a token takes (2)\n";

static int fail(const char *format, const char *what) {
  fputs("gen-decoder: error: ", stderr);
  fprintf(stderr, format, what);
  fputs("\n", stderr);
  return 1;
}

static int writeFile(const char *folder, const char *name, int nTexts, const Text *texts) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "w");
  bool good = file != NULL;
  for (int i = 0; i < nTexts && good; ++i)
    good = fwrite(texts[i].data, 1, texts[i].length, file) == texts[i].length;
  if (file && fclose(file) != 0)
    good = false;
  return good ? 0 : fail("cannot write '%s'", path);
}

int main(int argc, char **argv) {
  Options o = {.family = "llama",
               .heads = 8,
               .kvHeads = 2,
               .headSize = 8,
               .width = 64,
               .ff = 176,
               .layers = 2,
               .batch = 2,
               .sequence = 16,
               .vocab = 128,
               .top = 2,
               .mask = true};
  const char *folder = NULL;
  for (int i = 1; i < argc; ++i) {
    const char *text = argv[i];
    if (strncmp(text, "--", 2) != 0) {
      if (folder)
        return fail("more than one folder: '%s'", text);
      folder = text;
      continue;
    }
    if (strcmp(text, "--help") == 0)
      return fputs(usage, stdout) < 0;
    const char *equals = strchr(text, '=');
    if (!equals)
      return fail("option '%s' has no value", text);
    size_t length = (size_t)(equals - text - 2);
    if (length == 7 && strncmp(text + 2, "dynamic", 7) == 0) {
      o.dynamic = equals + 1;
      if (strcmp(o.dynamic, "batch") && strcmp(o.dynamic, "sequence") && strcmp(o.dynamic, "both"))
        return fail("unknown dimension '%s'", o.dynamic);
      continue;
    }
    if (length == 6 && strncmp(text + 2, "family", 6) == 0) {
      o.family = equals + 1;
      if (strcmp(o.family, "llama") != 0 && strcmp(o.family, "gpt") != 0)
        return fail("unknown family '%s'", o.family);
      continue;
    }
    errno = 0;
    char *end;
    long long number = strtoll(equals + 1, &end, 10);
    if (errno || *end || end == equals + 1 || number < 0 || number > INT32_MAX)
      return fail("'%s': the value is not a number in range", text);
    struct {
      const char *name;
      int64_t *field;
      bool *flag;
    } table[] = {{"heads", &o.heads, NULL},
                 {"kv-heads", &o.kvHeads, NULL},
                 {"head-size", &o.headSize, NULL},
                 {"width", &o.width, NULL},
                 {"ff", &o.ff, NULL},
                 {"layers", &o.layers, NULL},
                 {"batch", &o.batch, NULL},
                 {"sequence", &o.sequence, NULL},
                 {"vocab", &o.vocab, NULL},
                 {"bias", NULL, &o.bias},
                 {"parallel", NULL, &o.parallel},
                 {"qk-norm", NULL, &o.qkNorm},
                 {"tied", NULL, &o.tied},
                 {"mask", NULL, &o.mask},
                 {"wide-every", &o.wideEvery, NULL},
                 {"wide-first", &o.wideFirst, NULL},
                 {"experts", &o.experts, NULL},
                 {"positions", &o.positions, NULL},
                 {"top", &o.top, NULL}};
    bool known = length == 4 && strncmp(text + 2, "seed", 4) == 0;
    if (known)
      o = randomOptions((uint64_t)number);
    for (size_t t = 0; t < sizeof table / sizeof *table && !known; ++t) {
      if (strlen(table[t].name) != length || strncmp(text + 2, table[t].name, length) != 0)
        continue;
      known = true;
      if (table[t].field && number == 0)
        return fail("'%s': at least 1 is needed", text);
      if (table[t].field)
        *table[t].field = number;
      else
        *table[t].flag = number != 0;
    }
    if (!known)
      return fail("unknown option '%s'", text);
  }
  if (!folder) {
    fputs(usage, stderr);
    return 1;
  }
  if (o.heads % o.kvHeads != 0)
    return fail("the key/value heads do not divide the heads%s", "");
  if (o.experts && o.top > o.experts)
    return fail("a token takes more experts than there are%s", "");
  if (o.headSize % 2 != 0)
    return fail("the head size is odd%s", "");
  if (mkdir(folder, 0777) != 0 && errno != EEXIST)
    return fail("cannot create '%s'", folder);

  const int64_t batch = o.batch, sequence = o.sequence;
  if (o.dynamic && !o.positions)
    o.positions = o.sequence + 3;
  if (o.dynamic && strcmp(o.dynamic, "sequence") != 0)
    o.batch = BATCH_MARK;
  if (o.dynamic && strcmp(o.dynamic, "batch") != 0)
    o.sequence = SEQUENCE_MARK;
  Generator g = {.options = o};
  put(&g.json,
      "{\n \"model\": \"generated\",\n \"family\": \"%s\",\n \"entry\": \"main\",\n"
      " \"shapes_only\": true,\n \"args\": [",
      o.family);
  put(&g.head, "module {\n  func.func @main(");
  writeModule(&g);
  put(&g.head, " {\n");
  put(&g.body, "  }\n}\n");
  Text parts[] = {g.head, g.dims, g.constants, g.body};
  if (writeFile(folder, "model.linalg.mlir", 4, parts) ||
      writeFile(folder, "args.json", 1, &g.json))
    return 1;
  printf("family=%s heads=%" PRId64 " kv-heads=%" PRId64 " head-size=%" PRId64 " width=%" PRId64
         " ff=%" PRId64 " layers=%" PRId64 " batch=%" PRId64 " sequence=%" PRId64 " vocab=%" PRId64
         " bias=%d parallel=%d qk-norm=%d tied=%d mask=%d\n",
         o.family, o.heads, o.kvHeads, o.headSize, o.width, o.ff, o.layers, batch, sequence,
         o.vocab, o.bias, o.parallel, o.qkNorm, o.tied, o.mask);
  for (size_t i = 0; i < g.nCached; ++i)
    free(g.cache[i].key);
  free(g.cache);
  free(g.head.data);
  free(g.constants.data);
  free(g.dims.data);
  free(g.sizes);
  free(g.body.data);
  free(g.json.data);
  return 0;
}
