//===- Safetensors.h - Weights as .safetensors --------------------*- C -*-===//
// A file is eight bytes with the header's length (little-endian), the header (a JSON object from
// name to dtype, shape and data_offsets, with texts under "__metadata__"), and the tensors one
// after another, row-major, without gaps: https://github.com/huggingface/safetensors, format of
// 2023. A set is one file or the files that a *.index.json names in its "weight_map". Strict: what
// breaks a rule of the format is an error. No MLIR in here: the compiler and shard-run share it.
//===----------------------------------------------------------------------===//
#ifndef SHARD_COMMON_SAFETENSORS_H
#define SHARD_COMMON_SAFETENSORS_H

#include "Npy.h"

/// Longest header that is read, in bytes, as in the reference implementation.
#define SHARD_SAFETENSORS_MAX_HEADER 100000000

/// One tensor: [shape[0] x ... x shape[rank-1]] elements, row-major.
typedef struct ShardSafetensor {
  const char *name;
  ShardNpyType type;
  int32_t rank;
  int64_t shape[SHARD_NPY_MAX_RANK];
  uint64_t begin, end; // bytes, in the data of its file
  const void *data;    // null after shardSafetensorsParse; not aligned to its elements
  const char *file;    // path of its file, for messages
} ShardSafetensor;

typedef struct ShardSafetensorsMetadata {
  const char *key, *value;
} ShardSafetensorsMetadata;

/// Tensors in the order of their data, file after file. Texts and data are the set's.
typedef struct ShardSafetensors {
  size_t count, nMetadata;
  ShardSafetensor *tensors;
  ShardSafetensorsMetadata *metadata; // of the first file
  struct ShardSafetensorsStorage *storage;
} ShardSafetensors;

/// Whether a path is read as a set: it ends in ".safetensors" or ".json".
bool shardSafetensorsNamed(const char *path);
/// Opens a file or an index. The data is mapped, not read. Null: a text that begins with the path
/// of the file at fault in `message`, cut to messageBytes. Destroy the result. Thread-safe.
ShardSafetensors *shardSafetensorsOpen(const char *path, char *message, size_t messageBytes);
/// The header alone, from the `nBytes` of a whole file; `path` only names it. Data stays null.
ShardSafetensors *shardSafetensorsParse(const char *path, const void *bytes, size_t nBytes,
                                        char *message, size_t messageBytes);
/// The files that an index names, in order of their first tensor: texts to be freed with
/// shardSafetensorsFreeFiles. Null: `message`.
char **shardSafetensorsParseIndex(const char *path, const char *text, size_t length,
                                  size_t *outCount, char *message, size_t messageBytes);
void shardSafetensorsFreeFiles(char **files, size_t count); // null is fine
void shardSafetensorsDestroy(ShardSafetensors *set);        // null is fine

/// A type as files name it: "F32". Never freed. Thread-safe.
const char *shardSafetensorsTypeName(ShardNpyType type);

/// By name; null when the set has no such tensor. Thread-safe.
const ShardSafetensor *shardSafetensorsFind(const ShardSafetensors *set, const char *name);
/// The value under `key` of the first file's metadata; null when it has none.
const char *shardSafetensorsGetMetadata(const ShardSafetensors *set, const char *key);

typedef struct ShardSafetensorsWriter ShardSafetensorsWriter;
/// SafetensorsWriter.c. Begins `path` with its header; nothing stands there until the end. Of
/// `tensors` [count] name, type, rank and shape are read. Null: `message` begins with the path.
/// Thread-compatible.
ShardSafetensorsWriter *shardSafetensorsWriterCreate(const char *path, size_t count,
                                                     const ShardSafetensor *tensors,
                                                     size_t nMetadata,
                                                     const ShardSafetensorsMetadata *metadata,
                                                     char *message, size_t messageBytes);
/// The data of the next tensor, in the order given. False: `message`.
bool shardSafetensorsWriterAdd(ShardSafetensorsWriter *writer, const void *data, char *message,
                               size_t messageBytes);
/// Ends the file and frees the writer, in any case. False: `message`, and no file is left.
bool shardSafetensorsWriterFinish(ShardSafetensorsWriter *writer, char *message,
                                  size_t messageBytes);
void shardSafetensorsWriterAbandon(ShardSafetensorsWriter *writer); // no file is left; null is fine

#endif // SHARD_COMMON_SAFETENSORS_H
