//===- SafetensorsWriter.c - Writes .safetensors ------------------*- C -*-===//
#define _GNU_SOURCE

#include "Message.h"
#include "OutputFile.h"
#include "Safetensors.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct ShardSafetensorsWriter {
  ShardOutputFile file;
  size_t count, next;
  size_t *sizes; // [count] bytes
};

void shardSafetensorsWriterAbandon(ShardSafetensorsWriter *writer) {
  if (!writer)
    return;
  shardOutputFileAbandon(&writer->file);
  free(writer->sizes);
  free(writer);
}

/// The header's text, to be freed; fills sizes [count]. Null: too large or out of memory.
static char *formatHeader(size_t count, const ShardSafetensor *tensors, size_t nMetadata,
                          const ShardSafetensorsMetadata *metadata, size_t *sizes) {
  json_t *root = json_object();
  uint64_t at = 0;
  bool ok = root != NULL;
  if (nMetadata) {
    json_t *texts = json_object();
    for (size_t i = 0; i < nMetadata; ++i)
      ok = json_object_set_new(texts, metadata[i].key, json_string(metadata[i].value)) == 0 && ok;
    ok = json_object_set_new(root, "__metadata__", texts) == 0 && ok;
  }
  for (size_t i = 0; ok && i < count; ++i) {
    const ShardSafetensor *tensor = &tensors[i];
    uint64_t bytes = (uint64_t)shardNpyTypeBytes(tensor->type);
    json_t *shape = json_array();
    for (int32_t d = 0; d < tensor->rank; ++d) {
      ok = !__builtin_mul_overflow(bytes, (uint64_t)tensor->shape[d], &bytes) && ok;
      json_array_append_new(shape, json_integer(tensor->shape[d]));
    }
    ok = ok && !__builtin_add_overflow(at, bytes, &bytes) && bytes <= INT64_MAX;
    json_t *entry =
        json_pack("{s:s, s:o, s:[I,I]}", "dtype", shardSafetensorsTypeName(tensor->type), "shape",
                  shape, "data_offsets", (json_int_t)at, (json_int_t)bytes);
    sizes[i] = (size_t)(bytes - at);
    at = bytes;
    ok = ok && !json_object_get(root, tensor->name) &&
         json_object_set_new(root, tensor->name, entry) == 0;
  }
  char *text = ok ? json_dumps(root, JSON_COMPACT) : NULL;
  json_decref(root);
  return text;
}

static bool writeFailed(const ShardSafetensorsWriter *writer, char *message, size_t messageBytes) {
  snprintf(message, messageBytes, "%s: %s", writer->file.path, strerror(errno ? errno : EIO));
  return false;
}

ShardSafetensorsWriter *shardSafetensorsWriterCreate(const char *path, size_t count,
                                                     const ShardSafetensor *tensors,
                                                     size_t nMetadata,
                                                     const ShardSafetensorsMetadata *metadata,
                                                     char *message, size_t messageBytes) {
  ShardMessage where = {message, messageBytes};
  ShardSafetensorsWriter *writer = calloc(1, sizeof *writer);
  if (!writer || !(writer->sizes = calloc(count + 1, sizeof *writer->sizes))) {
    free(writer);
    shardFail(where, "%s: out of memory", path);
    return NULL;
  }
  writer->count = count;
  char *text = formatHeader(count, tensors, nMetadata, metadata, writer->sizes);
  if (!text) {
    shardFail(where, "%s: the names cannot be written, or the tensors are too large", path);
    shardSafetensorsWriterAbandon(writer);
    return NULL;
  }
  size_t length = strlen(text), padded = (length + 7) / 8 * 8; // data begins at a multiple of 8
  if (!shardOutputFileOpen(path, &writer->file, message, messageBytes)) {
    free(text);
    shardSafetensorsWriterAbandon(writer);
    return NULL;
  }
  unsigned char prefix[8];
  for (int i = 0; i < 8; ++i)
    prefix[i] = (unsigned char)((uint64_t)padded >> (8 * i));
  errno = 0;
  bool ok = fwrite(prefix, 1, 8, writer->file.stream) == 8 &&
            fwrite(text, 1, length, writer->file.stream) == length &&
            fwrite("        ", 1, padded - length, writer->file.stream) == padded - length;
  free(text);
  if (ok)
    return writer;
  writeFailed(writer, message, messageBytes);
  shardSafetensorsWriterAbandon(writer);
  return NULL;
}

bool shardSafetensorsWriterAdd(ShardSafetensorsWriter *writer, const void *data, char *message,
                               size_t messageBytes) {
  size_t bytes = writer->next < writer->count ? writer->sizes[writer->next++] : 0;
  errno = 0;
  return bytes == 0 || fwrite(data, 1, bytes, writer->file.stream) == bytes ||
         writeFailed(writer, message, messageBytes);
}

bool shardSafetensorsWriterFinish(ShardSafetensorsWriter *writer, char *message,
                                  size_t messageBytes) {
  bool ok = shardOutputFileCommit(&writer->file, message, messageBytes);
  writer->file = (ShardOutputFile){0};
  shardSafetensorsWriterAbandon(writer);
  return ok;
}
