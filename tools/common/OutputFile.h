//===- OutputFile.h - An output that is whole or not there --------*- C -*-===//
#ifndef SHARD_COMMON_OUTPUTFILE_H
#define SHARD_COMMON_OUTPUTFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/// A file being written. It takes its place under `path` only when committed.
typedef struct ShardOutputFile {
  FILE *stream;   // to write to; null when closed
  char *path;     // as given; "-" is standard output
  char *tempPath; // where the bytes go until the commit; null when they go straight to `path`
} ShardOutputFile;

/// The permissions of a new file, as open() would give it. Reads the process's umask by setting it.
mode_t shardOutputFileNewMode(void);
/// Opens a temporary neighbour of `path`; standard output for "-"; devices and pipes directly.
/// False: "cannot write 'x': Permission denied" in `message`, cut to messageBytes; nothing is left.
bool shardOutputFileOpen(const char *path, ShardOutputFile *out, char *message,
                         size_t messageBytes);
/// Whether the output could be opened, before anything long is done for it. False: `message`.
bool shardOutputFileCheck(const char *path, char *message, size_t messageBytes);
/// Closes the file and puts it in place. False: `message`; nothing is left. Releases `file`.
bool shardOutputFileCommit(ShardOutputFile *file, char *message, size_t messageBytes);
/// Closes and removes what was written. Empty is fine.
void shardOutputFileAbandon(ShardOutputFile *file);

/// A signal that ends the process removes a file of this name too, until it is unmarked.
void shardOutputFileMark(const char *temporary);
void shardOutputFileUnmark(const char *temporary);
/// For a program's main: SIGINT and its like leave no temporary neighbours (what is ignored stays
/// so), and a standard output that could not be written is an error at a successful exit.
void shardOutputFilesGuard(void);

#endif // SHARD_COMMON_OUTPUTFILE_H
