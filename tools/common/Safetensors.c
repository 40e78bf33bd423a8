//===- Safetensors.c - Weights as .safetensors --------------------*- C -*-===//
#define _GNU_SOURCE

#include "Safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const typeNames[] = {
    [SHARD_NPY_BOOL] = "BOOL",     [SHARD_NPY_I8] = "I8",
    [SHARD_NPY_I16] = "I16",       [SHARD_NPY_I32] = "I32",
    [SHARD_NPY_I64] = "I64",       [SHARD_NPY_U8] = "U8",
    [SHARD_NPY_U16] = "U16",       [SHARD_NPY_U32] = "U32",
    [SHARD_NPY_U64] = "U64",       [SHARD_NPY_F16] = "F16",
    [SHARD_NPY_BF16] = "BF16",     [SHARD_NPY_F32] = "F32",
    [SHARD_NPY_F64] = "F64",       [SHARD_NPY_F8E4M3FN] = "F8_E4M3",
    [SHARD_NPY_F8E5M2] = "F8_E5M2"};
enum { nTypeNames = sizeof typeNames / sizeof typeNames[0] };

const char *shardSafetensorsTypeName(ShardNpyType type) { return typeNames[type]; }

typedef struct MappedFile {
  void *base;
  size_t sizeBytes;
} MappedFile;

struct ShardSafetensorsStorage {
  size_t nFiles;
  MappedFile *files;
  char **paths;     // [nFiles]
  json_t **headers; // [nFiles]; names and metadata live in them
  size_t *sorted;   // [count] tensors by name
};

typedef struct Message {
  const char *path;
  char *text;
  size_t bytes;
} Message;

__attribute__((format(printf, 2, 3))) static bool fail(const Message *message, const char *format,
                                                       ...) {
  int n = snprintf(message->text, message->bytes, "%s: ", message->path);
  if (n >= 0 && (size_t)n < message->bytes) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message->text + n, message->bytes - (size_t)n, format, arguments);
    va_end(arguments);
  }
  return false;
}

static bool outOfMemory(const Message *message) { return fail(message, "out of memory"); }

//===----------------------------------------------------------------------===//
// Header
//===----------------------------------------------------------------------===//

static bool readType(const Message *message, const char *name, json_t *value, ShardNpyType *out) {
  if (!json_is_string(value))
    return fail(message, "tensor '%s': 'dtype' is not a string", name);
  for (int i = 0; i < nTypeNames; ++i)
    if (strcmp(json_string_value(value), typeNames[i]) == 0) {
      *out = (ShardNpyType)i;
      return true;
    }
  return fail(message, "tensor '%s' has dtype '%s', which is not supported", name,
              json_string_value(value));
}

/// `*outBytes`: of the data.
static bool readShape(const Message *message, const char *name, json_t *value,
                      ShardSafetensor *tensor, uint64_t *outBytes) {
  size_t rank = json_array_size(value);
  if (!json_is_array(value))
    return fail(message, "tensor '%s': 'shape' is not an array", name);
  if (rank > SHARD_NPY_MAX_RANK)
    return fail(message, "tensor '%s' has %zu dimensions, at most %d are supported", name, rank,
                SHARD_NPY_MAX_RANK);
  uint64_t bytes = (uint64_t)shardNpyTypeBytes(tensor->type);
  bool empty = false;
  for (size_t i = 0; i < rank; ++i) {
    json_t *dim = json_array_get(value, i);
    if (!json_is_integer(dim) || json_integer_value(dim) < 0)
      return fail(message, "tensor '%s': dimension %zu of 'shape' is not a size", name, i);
    tensor->shape[i] = json_integer_value(dim);
    empty |= tensor->shape[i] == 0;
    if (tensor->shape[i] && __builtin_mul_overflow(bytes, (uint64_t)tensor->shape[i], &bytes))
      return fail(message, "tensor '%s': 'shape' has too many elements", name);
  }
  tensor->rank = (int32_t)rank;
  *outBytes = empty ? 0 : bytes;
  return true;
}

static bool readOffsets(const Message *message, const char *name, json_t *value, uint64_t bytes,
                        uint64_t dataBytes, ShardSafetensor *tensor) {
  json_t *begin = json_array_get(value, 0), *end = json_array_get(value, 1);
  if (!json_is_array(value) || json_array_size(value) != 2 || !json_is_integer(begin) ||
      !json_is_integer(end) || json_integer_value(begin) < 0 ||
      json_integer_value(end) < json_integer_value(begin))
    return fail(message, "tensor '%s': 'data_offsets' is not [begin, end]", name);
  tensor->begin = (uint64_t)json_integer_value(begin);
  tensor->end = (uint64_t)json_integer_value(end);
  if (tensor->end > dataBytes)
    return fail(message, "tensor '%s' ends at byte %" PRIu64 " of %" PRIu64, name, tensor->end,
                dataBytes);
  if (tensor->end - tensor->begin != bytes)
    return fail(message,
                "tensor '%s': the shape needs %" PRIu64 " bytes, the offsets hold %" PRIu64, name,
                bytes, tensor->end - tensor->begin);
  return true;
}

static bool readTensor(const Message *message, const char *name, json_t *value, uint64_t dataBytes,
                       ShardSafetensor *tensor) {
  uint64_t bytes = 0;
  if (!json_is_object(value))
    return fail(message, "tensor '%s' is not an object", name);
  const char *key;
  json_t *field;
  json_object_foreach(value, key, field) {
    if (strcmp(key, "dtype") != 0 && strcmp(key, "shape") != 0 && strcmp(key, "data_offsets") != 0)
      return fail(message, "tensor '%s' has an unknown key '%s'", name, key);
  }
  if (json_object_size(value) != 3)
    return fail(message, "tensor '%s' lacks one of 'dtype', 'shape' and 'data_offsets'", name);
  tensor->name = name;
  return readType(message, name, json_object_get(value, "dtype"), &tensor->type) &&
         readShape(message, name, json_object_get(value, "shape"), tensor, &bytes) &&
         readOffsets(message, name, json_object_get(value, "data_offsets"), bytes, dataBytes,
                     tensor);
}

static bool readMetadata(const Message *message, json_t *value, ShardSafetensors *set) {
  if (!json_is_object(value))
    return fail(message, "'__metadata__' is not an object");
  set->metadata = calloc(json_object_size(value) + 1, sizeof *set->metadata);
  if (!set->metadata)
    return outOfMemory(message);
  const char *key;
  json_t *text;
  json_object_foreach(value, key, text) {
    if (!json_is_string(text))
      return fail(message, "'%s' of '__metadata__' is not a string", key);
    set->metadata[set->nMetadata++] = (ShardSafetensorsMetadata){key, json_string_value(text)};
  }
  return true;
}

static int compareBegin(const void *a, const void *b) {
  const ShardSafetensor *x = a, *y = b;
  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  if (x->end != y->end) // empty ones first
    return x->end < y->end ? -1 : 1;
  return strcmp(x->name, y->name);
}

static bool checkFilled(const Message *message, const ShardSafetensors *set, uint64_t dataBytes) {
  uint64_t at = 0;
  for (size_t i = 0; i < set->count; ++i) {
    const ShardSafetensor *tensor = &set->tensors[i];
    if (tensor->begin != at)
      return fail(message, "tensor '%s' begins at byte %" PRIu64 ", expected %" PRIu64,
                  tensor->name, tensor->begin, at);
    at = tensor->end;
  }
  if (at != dataBytes)
    return fail(message, "the file has %" PRIu64 " bytes of data, its tensors %" PRIu64, dataBytes,
                at);
  return true;
}

/// Fills an empty set from the bytes of a file; `*outHeader` is to be kept as long.
static bool parseFile(const Message *message, const void *bytes, size_t nBytes, json_t **outHeader,
                      size_t *outDataOffset, ShardSafetensors *set) {
  const unsigned char *b = bytes;
  uint64_t length = 0;
  if (nBytes < 8)
    return fail(message, "not a .safetensors file: %zu bytes", nBytes);
  for (int i = 7; i >= 0; --i)
    length = length << 8 | b[i];
  if (length > SHARD_SAFETENSORS_MAX_HEADER)
    return fail(message, "not a .safetensors file, or a header of more than %d bytes",
                SHARD_SAFETENSORS_MAX_HEADER);
  if (length > nBytes - 8)
    return fail(message, "truncated: the header has %" PRIu64 " bytes, the file %zu", length,
                nBytes);
  if (length == 0 || b[8] != '{')
    return fail(message, "the header does not begin with '{'");
  json_error_t error;
  json_t *header = json_loadb((const char *)b + 8, (size_t)length, JSON_REJECT_DUPLICATES, &error);
  *outHeader = header;
  if (!header)
    return fail(message, "header, line %d, column %d: %s", error.line, error.column, error.text);
  *outDataOffset = 8 + (size_t)length;
  uint64_t dataBytes = nBytes - *outDataOffset;
  set->tensors = calloc(json_object_size(header) + 1, sizeof *set->tensors);
  if (!set->tensors)
    return outOfMemory(message);
  const char *name;
  json_t *value;
  json_object_foreach(header, name, value) {
    bool ok = strcmp(name, "__metadata__") == 0
                  ? readMetadata(message, value, set)
                  : readTensor(message, name, value, dataBytes, &set->tensors[set->count++]);
    if (!ok)
      return false;
  }
  qsort(set->tensors, set->count, sizeof *set->tensors, compareBegin);
  return checkFilled(message, set, dataBytes);
}

//===----------------------------------------------------------------------===//
// Sets
//===----------------------------------------------------------------------===//

void shardSafetensorsDestroy(ShardSafetensors *set) {
  if (!set)
    return;
  struct ShardSafetensorsStorage *storage = set->storage;
  for (size_t i = 0; storage && i < storage->nFiles; ++i) {
    if (storage->files[i].base)
      munmap(storage->files[i].base, storage->files[i].sizeBytes);
    free(storage->paths[i]);
    json_decref(storage->headers[i]);
  }
  if (storage) {
    free(storage->files);
    free(storage->paths);
    free(storage->headers);
    free(storage->sorted);
  }
  free(storage);
  free(set->tensors);
  free(set->metadata);
  free(set);
}

/// An empty set with room for the places of `nFiles` files.
static ShardSafetensors *createSet(const Message *message, size_t nFiles) {
  ShardSafetensors *set = calloc(1, sizeof *set);
  struct ShardSafetensorsStorage *storage = set ? calloc(1, sizeof *storage) : NULL;
  if (storage) {
    set->storage = storage;
    storage->files = calloc(nFiles, sizeof *storage->files);
    storage->paths = calloc(nFiles, sizeof *storage->paths);
    storage->headers = calloc(nFiles, sizeof *storage->headers);
    if (storage->files && storage->paths && storage->headers)
      return set;
  }
  outOfMemory(message);
  shardSafetensorsDestroy(set);
  return NULL;
}

static int compareNames(const void *a, const void *b, void *user) {
  const ShardSafetensors *set = user;
  size_t x = *(const size_t *)a, y = *(const size_t *)b;
  return strcmp(set->tensors[x].name, set->tensors[y].name);
}

static bool sortNames(const Message *message, ShardSafetensors *set) {
  size_t *sorted = set->storage->sorted = calloc(set->count + 1, sizeof *sorted);
  if (!sorted)
    return outOfMemory(message);
  for (size_t i = 0; i < set->count; ++i)
    sorted[i] = i;
  qsort_r(sorted, set->count, sizeof *sorted, compareNames, set);
  for (size_t i = 0; i + 1 < set->count; ++i)
    if (strcmp(set->tensors[sorted[i]].name, set->tensors[sorted[i + 1]].name) == 0)
      return fail(message, "tensor '%s' stands in two files, '%s' and '%s'",
                  set->tensors[sorted[i]].name, set->tensors[sorted[i]].file,
                  set->tensors[sorted[i + 1]].file);
  return true;
}

ShardSafetensors *shardSafetensorsParse(const char *path, const void *bytes, size_t nBytes,
                                        char *text, size_t messageBytes) {
  Message message = {path, text, messageBytes};
  ShardSafetensors *set = createSet(&message, 1);
  if (!set)
    return NULL;
  size_t offset;
  set->storage->nFiles = 1;
  if (parseFile(&message, bytes, nBytes, &set->storage->headers[0], &offset, set) &&
      sortNames(&message, set))
    return set;
  shardSafetensorsDestroy(set);
  return NULL;
}

static bool mapFile(const Message *message, MappedFile *out) {
  int fd = open(message->path, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (fd < 0)
    return fail(message, "%s", strerror(errno));
  bool ok = fstat(fd, &status) == 0 || fail(message, "%s", strerror(errno));
  if (ok && !S_ISREG(status.st_mode))
    ok = fail(message, "not a regular file");
  if (ok && status.st_size == 0)
    ok = fail(message, "not a .safetensors file: 0 bytes");
  if (ok) {
    void *base = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (base == MAP_FAILED)
      ok = fail(message, "%s", strerror(errno));
    else
      *out = (MappedFile){base, (size_t)status.st_size};
  }
  close(fd);
  return ok;
}

/// Adds the next file of a set; takes `ownedPath` over.
static bool addFile(ShardSafetensors *set, char *ownedPath, char *text, size_t messageBytes) {
  struct ShardSafetensorsStorage *storage = set->storage;
  size_t index = storage->nFiles++;
  storage->paths[index] = ownedPath;
  Message message = {ownedPath, text, messageBytes};
  MappedFile *file = &storage->files[index];
  ShardSafetensors one = {0};
  size_t offset = 0;
  bool ok = mapFile(&message, file) && parseFile(&message, file->base, file->sizeBytes,
                                                 &storage->headers[index], &offset, &one);
  ShardSafetensor *grown =
      ok ? realloc(set->tensors, (set->count + one.count + 1) * sizeof *grown) : NULL;
  if (ok && !grown)
    ok = outOfMemory(&message);
  if (ok) {
    set->tensors = grown;
    for (size_t i = 0; i < one.count; ++i) {
      ShardSafetensor *tensor = &set->tensors[set->count++];
      *tensor = one.tensors[i];
      tensor->file = ownedPath;
      tensor->data = (const char *)file->base + offset + tensor->begin;
    }
  }
  free(one.tensors);
  if (ok && index == 0) {
    set->metadata = one.metadata;
    set->nMetadata = one.nMetadata;
  } else {
    free(one.metadata);
  }
  return ok;
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

static bool hasSuffix(const char *text, const char *suffix) {
  size_t length = strlen(text), n = strlen(suffix);
  return length > n && strcmp(text + length - n, suffix) == 0;
}

bool shardSafetensorsNamed(const char *path) {
  return hasSuffix(path, ".safetensors") || hasSuffix(path, ".json");
}

void shardSafetensorsFreeFiles(char **files, size_t count) {
  for (size_t i = 0; files && i < count; ++i)
    free(files[i]);
  free(files);
}

/// Collects the files that a weight map names.
static bool readMap(const Message *message, json_t *map, char **files, size_t *count) {
  const char *name;
  json_t *value;
  json_object_foreach(map, name, value) {
    const char *file = json_string_value(value);
    if (!file)
      return fail(message, "'%s' of 'weight_map' is not a string", name);
    if (!*file || strchr(file, '/') || strcmp(file, ".") == 0 || strcmp(file, "..") == 0)
      return fail(message, "'weight_map' names '%s'; a file beside the index is expected", file);
    bool known = false;
    for (size_t i = 0; i < *count && !known; ++i)
      known = strcmp(files[i], file) == 0;
    if (!known && !(files[(*count)++] = strdup(file)))
      return outOfMemory(message);
  }
  return true;
}

char **shardSafetensorsParseIndex(const char *path, const char *bytes, size_t length,
                                  size_t *outCount, char *text, size_t messageBytes) {
  Message message = {path, text, messageBytes};
  json_error_t error;
  *outCount = 0;
  json_t *root = json_loadb(bytes, length, JSON_REJECT_DUPLICATES, &error);
  if (!root) {
    fail(&message, "line %d, column %d: %s", error.line, error.column, error.text);
    return NULL;
  }
  json_t *map = json_object_get(root, "weight_map");
  char **files = NULL;
  bool ok = json_is_object(map) ||
            fail(&message, "not an index of .safetensors files: no object 'weight_map'");
  if (ok)
    ok = (files = calloc(json_object_size(map) + 1, sizeof *files)) || outOfMemory(&message);
  ok = ok && readMap(&message, map, files, outCount);
  if (ok && *outCount == 0)
    ok = fail(&message, "'weight_map' is empty");
  json_decref(root);
  if (ok)
    return files;
  shardSafetensorsFreeFiles(files, *outCount);
  return NULL;
}

/// Every tensor stands in the file that the index says, and no other is there.
static bool openIndex(const Message *message, ShardSafetensors **outSet) {
  MappedFile index = {0};
  size_t nFiles = 0;
  if (!mapFile(message, &index))
    return false;
  char **files = shardSafetensorsParseIndex(message->path, index.base, index.sizeBytes, &nFiles,
                                            message->text, message->bytes);
  munmap(index.base, index.sizeBytes);
  ShardSafetensors *set = files ? createSet(message, nFiles) : NULL;
  bool ok = set != NULL;
  const char *slash = strrchr(message->path, '/');
  for (size_t i = 0; ok && i < nFiles; ++i) {
    char *path;
    if (asprintf(&path, "%.*s%s", slash ? (int)(slash - message->path + 1) : 0, message->path,
                 files[i]) < 0)
      ok = outOfMemory(message);
    else
      ok = addFile(set, path, message->text, message->bytes);
  }
  shardSafetensorsFreeFiles(files, nFiles);
  if (!ok) {
    shardSafetensorsDestroy(set);
    return false;
  }
  *outSet = set;
  return true;
}

ShardSafetensors *shardSafetensorsOpen(const char *path, char *text, size_t messageBytes) {
  Message message = {path, text, messageBytes};
  ShardSafetensors *set = NULL;
  if (hasSuffix(path, ".json")) {
    if (!openIndex(&message, &set))
      return NULL;
  } else {
    char *copy = strdup(path);
    set = copy ? createSet(&message, 1) : NULL;
    if (!copy)
      outOfMemory(&message);
    if (!set) {
      free(copy);
      return NULL;
    }
    if (!addFile(set, copy, text, messageBytes)) {
      shardSafetensorsDestroy(set);
      return NULL;
    }
  }
  if (sortNames(&message, set))
    return set;
  shardSafetensorsDestroy(set);
  return NULL;
}

const ShardSafetensor *shardSafetensorsFind(const ShardSafetensors *set, const char *name) {
  size_t low = 0, high = set->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const ShardSafetensor *tensor = &set->tensors[set->storage->sorted[middle]];
    int order = strcmp(name, tensor->name);
    if (order == 0)
      return tensor;
    if (order < 0)
      high = middle;
    else
      low = middle + 1;
  }
  return NULL;
}

const char *shardSafetensorsGetMetadata(const ShardSafetensors *set, const char *key) {
  for (size_t i = 0; i < set->nMetadata; ++i)
    if (strcmp(set->metadata[i].key, key) == 0)
      return set->metadata[i].value;
  return NULL;
}
