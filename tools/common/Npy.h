//===- Npy.h - NumPy's .npy files ---------------------------------*- C -*-===//
// Format versions 1 to 3, little-endian, C order. No MLIR in here: the compiler and shard-run share
// it. Layout: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
//===----------------------------------------------------------------------===//
#ifndef SHARD_COMMON_NPY_H
#define SHARD_COMMON_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHARD_NPY_MAX_RANK 32

typedef enum ShardNpyType {
  SHARD_NPY_BOOL, // one byte, 0 or 1
  SHARD_NPY_I8,
  SHARD_NPY_I16,
  SHARD_NPY_I32,
  SHARD_NPY_I64,
  SHARD_NPY_U8,
  SHARD_NPY_U16,
  SHARD_NPY_U32,
  SHARD_NPY_U64,
  SHARD_NPY_F16,
  SHARD_NPY_BF16, // '<V2' in the file, as the ml_dtypes package writes it
  SHARD_NPY_F32,
  SHARD_NPY_F64,
  SHARD_NPY_F8E4M3FN, // in .npy files as bytes, '|u1'
  SHARD_NPY_F8E5M2
} ShardNpyType;

/// NumPy's name of a type: "bool", "int8", "bfloat16", "float32". Static.
const char *shardNpyTypeName(ShardNpyType type);
/// The reverse, `length` bytes of text. False: no such type.
bool shardNpyTypeFromName(const char *name, size_t length, ShardNpyType *outType);
int64_t shardNpyTypeBytes(ShardNpyType type);
/// Whether a file of type `stored` holds values of type `wanted`: equal, or bfloat16 kept as
/// uint16, or a float of eight bits kept as bytes.
bool shardNpyTypeHolds(ShardNpyType stored, ShardNpyType wanted);

/// An array: [shape[0] x ... x shape[rank-1]] elements, row-major. `data` is 64-byte aligned and
/// owned by the array when it comes from shardNpyReadFile; never null, even for zero elements.
typedef struct ShardNpyArray {
  ShardNpyType type;
  int32_t rank;
  int64_t shape[SHARD_NPY_MAX_RANK];
  int64_t count;    // elements
  size_t sizeBytes; // of the data
  void *data;
} ShardNpyArray;

/// Reads the header at the start of `bytes`; of `*out` all but `data` is set. `totalBytes` is the
/// length of the whole file: it must be exactly header plus data. `*outDataOffset` is where the
/// data begins. Returns false, with a text such as "not a .npy file" in `message` (cut to
/// messageBytes), on anything malformed. Thread-safe.
bool shardNpyParseHeader(const void *bytes, size_t nBytes, uint64_t totalBytes, ShardNpyArray *out,
                         size_t *outDataOffset, char *message, size_t messageBytes);
/// Reads a whole file. On false `message` says why and begins with the path; `*out` holds nothing.
/// Release with shardNpyRelease.
bool shardNpyReadFile(const char *path, ShardNpyArray *out, char *message, size_t messageBytes);
void shardNpyRelease(ShardNpyArray *array); // null or empty is fine

/// Bytes of the version 1 header (a multiple of 64) that stands before such an array's data.
/// `header` null: only the size. `headerBytes` must be at least that size.
size_t shardNpyFormatHeader(ShardNpyType type, int32_t rank, const int64_t *shape, char *header,
                            size_t headerBytes);
/// Writes `path`: to a temporary file beside it, renamed when complete, so that no half file is
/// left. `data` row-major, count * element bytes. False: `message`, which begins with the path.
bool shardNpyWriteFile(const char *path, ShardNpyType type, int32_t rank, const int64_t *shape,
                       const void *data, char *message, size_t messageBytes);

#endif // SHARD_COMMON_NPY_H
