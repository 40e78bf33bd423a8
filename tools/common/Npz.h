//===- Npz.h - NumPy's .npz files ---------------------------------*- C -*-===//
// A zip of .npy members, stored without compression. Writing only.
//===----------------------------------------------------------------------===//
#ifndef SHARD_COMMON_NPZ_H
#define SHARD_COMMON_NPZ_H

#include "Npy.h"

typedef struct ShardNpzWriter ShardNpzWriter;

/// Begins `path`; nothing stands there until shardNpzWriterFinish. Null: `message` begins with the
/// path. Thread-compatible.
ShardNpzWriter *shardNpzWriterCreate(const char *path, char *message, size_t messageBytes);
/// Adds an array, row-major, under `name` (what numpy.load gives it back by). False: `message`.
bool shardNpzWriterAdd(ShardNpzWriter *writer, const char *name, ShardNpyType type, int32_t rank,
                       const int64_t *shape, const void *data, char *message, size_t messageBytes);
/// Ends the file and frees the writer, in any case. False: `message`, and no file is left.
bool shardNpzWriterFinish(ShardNpzWriter *writer, char *message, size_t messageBytes);
void shardNpzWriterAbandon(ShardNpzWriter *writer); // no file is left; null is fine

#endif // SHARD_COMMON_NPZ_H
