//===- InputFile.h - A whole input, unpacked ----------------------*- C -*-===//
#ifndef SHARD_COMMON_INPUTFILE_H
#define SHARD_COMMON_INPUTFILE_H

#include <stdbool.h>
#include <stddef.h>

/// The bytes of a file, followed by a zero that is not counted.
typedef struct ShardInputFile {
  const char *bytes;
  size_t sizeBytes;
  bool mapped; // by mmap; else malloc
} ShardInputFile;

/// Reads `path`, "-" for standard input; gzip data (by its magic number) is unpacked. False: a text
/// such as "cannot open 'x': No such file or directory" in `message`, cut to messageBytes. Release
/// with shardInputFileRelease. Thread-safe.
bool shardInputFileRead(const char *path, ShardInputFile *out, char *message, size_t messageBytes);
void shardInputFileRelease(ShardInputFile *file); // empty is fine

#endif // SHARD_COMMON_INPUTFILE_H
