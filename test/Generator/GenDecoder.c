//===- GenDecoder.c - Write a decoder-only Transformer ------------*- C -*-===//
// Writes FOLDER/model.linalg.mlir and FOLDER/args.json: a decoder of any size as torch-mlir spells
// it in linalg on tensors. Weights are arguments; there are no values. Two families, mixed by
// options: Llama (RMSNorm, rotary, grouped heads, SwiGLU) and GPT (LayerNorm, fused projection,
// learned positions, GELU). The same options give the same bytes.
//===----------------------------------------------------------------------===//
#define _POSIX_C_SOURCE 200809L

#include "Decoder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
    good = !texts[i].length || // nothing of it: no data either
           fwrite(texts[i].data, 1, texts[i].length, file) == texts[i].length;
  if (file && fclose(file) != 0)
    good = false;
  return good ? 0 : fail("cannot write '%s'", path);
}

/// Sets the numeric option in `text`, whose name has `length` letters. 1 after an error.
static int setNumber(Options *o, const char *text, size_t length) {
  const char *digits = text + 2 + length + 1;
  errno = 0;
  char *end;
  long long number = strtoll(digits, &end, 10);
  if (errno || *end || end == digits || number < 0 || number > INT32_MAX)
    return fail("'%s': the value is not a number in range", text);
  if (length == 4 && strncmp(text + 2, "seed", 4) == 0) {
    *o = randomOptions((uint64_t)number);
    return 0;
  }
  const struct {
    const char *name;
    int64_t *field;
    bool *flag;
  } table[] = {{"heads", &o->heads, NULL},
               {"kv-heads", &o->kvHeads, NULL},
               {"head-size", &o->headSize, NULL},
               {"width", &o->width, NULL},
               {"ff", &o->ff, NULL},
               {"layers", &o->layers, NULL},
               {"batch", &o->batch, NULL},
               {"sequence", &o->sequence, NULL},
               {"vocab", &o->vocab, NULL},
               {"bias", NULL, &o->bias},
               {"parallel", NULL, &o->parallel},
               {"qk-norm", NULL, &o->qkNorm},
               {"tied", NULL, &o->tied},
               {"mask", NULL, &o->mask},
               {"wide-every", &o->wideEvery, NULL},
               {"wide-first", &o->wideFirst, NULL},
               {"experts", &o->experts, NULL},
               {"positions", &o->positions, NULL},
               {"top", &o->top, NULL}};
  for (size_t t = 0; t < sizeof table / sizeof *table; ++t) {
    if (strlen(table[t].name) != length || strncmp(text + 2, table[t].name, length) != 0)
      continue;
    if (table[t].field && number == 0)
      return fail("'%s': at least 1 is needed", text);
    if (table[t].field)
      *table[t].field = number;
    else
      *table[t].flag = number != 0;
    return 0;
  }
  return fail("unknown option '%s'", text);
}

/// Sets the option in `text`. 1 after an error.
static int setOption(Options *o, const char *text) {
  const char *equals = strchr(text, '=');
  if (!equals)
    return fail("option '%s' has no value", text);
  size_t length = (size_t)(equals - text - 2);
  if (length == 7 && strncmp(text + 2, "dynamic", 7) == 0) {
    o->dynamic = equals + 1;
    if (strcmp(o->dynamic, "batch") && strcmp(o->dynamic, "sequence") && strcmp(o->dynamic, "both"))
      return fail("unknown dimension '%s'", o->dynamic);
    return 0;
  }
  if (length == 6 && strncmp(text + 2, "family", 6) == 0) {
    o->family = equals + 1;
    if (strcmp(o->family, "llama") != 0 && strcmp(o->family, "gpt") != 0)
      return fail("unknown family '%s'", o->family);
    return 0;
  }
  return setNumber(o, text, length);
}

static int checkOptions(const Options *o) {
  if (o->heads % o->kvHeads != 0)
    return fail("the key/value heads do not divide the heads%s", "");
  if (o->experts && o->top > o->experts)
    return fail("a token takes more experts than there are%s", "");
  if (o->headSize % 2 != 0)
    return fail("the head size is odd%s", "");
  return 0;
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
    if (strcmp(argv[i], "--help") == 0)
      return fputs(usage, stdout) < 0;
    if (strncmp(argv[i], "--", 2) == 0) {
      if (setOption(&o, argv[i]))
        return 1;
    } else if (folder) {
      return fail("more than one folder: '%s'", argv[i]);
    } else {
      folder = argv[i];
    }
  }
  if (!folder) {
    fputs(usage, stderr);
    return 1;
  }
  if (checkOptions(&o))
    return 1;
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
  writeDecoder(&g);
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
