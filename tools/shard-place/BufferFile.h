//===- BufferFile.h - Buffers as comma separated values -----------*- C -*-===//
#ifndef SHARD_PLACE_BUFFERFILE_H
#define SHARD_PLACE_BUFFERFILE_H

#include "shard/Placement.h"

#include <stddef.h>

/// A text; not terminated.
typedef struct BufferId {
  const char *text;
  size_t length;
} BufferId;

/// What a file lists, in its order.
typedef struct BufferFile {
  int64_t n;
  ShardPlacementBuffer *buffers; // [n]
  BufferId *ids;                 // [n] in the text that was parsed
  int64_t *lines;                // [n] from 1
  bool isAligned;                // there is a column of alignments
} BufferFile;

/// Reads a heading with the columns id, lower, upper, size and maybe alignment, in any order, then
/// a line a buffer. `text` is borrowed as long as
/// `out` is used. False: "PATH:LINE:COLUMN: error: TEXT" in `message`, cut to messageBytes. Release
/// with bufferFileRelease either way. Thread-safe.
bool bufferFileParse(const char *path, const char *text, size_t length, BufferFile *out,
                     char *message, size_t messageBytes);
void bufferFileRelease(BufferFile *file);

#endif // SHARD_PLACE_BUFFERFILE_H
