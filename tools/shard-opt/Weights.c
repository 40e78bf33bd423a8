//===- Weights.c - Where --extract-weights puts its files ---------*- C -*-===//
#define _GNU_SOURCE
#include "Weights.h"

#include "../common/OutputFile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool fail(char *message, size_t messageBytes, const char *path, int error) {
  snprintf(message, messageBytes, "cannot write '%s': %s", path, strerror(error));
  return false;
}

static bool hasSuffix(const char *text, const char *suffix) {
  size_t length = strlen(text), n = strlen(suffix);
  return length > n && strcmp(text + length - n, suffix) == 0;
}

bool shardOptWeightsBegin(const char *path, ShardOptWeights *out, char *message,
                          size_t messageBytes) {
  const char *suffix = hasSuffix(path, ".npz")           ? ".npz"
                       : hasSuffix(path, ".safetensors") ? ".safetensors"
                                                         : "";
  *out = (ShardOptWeights){.path = path, .folder = !*suffix};
  size_t length = strlen(path);
  while (out->folder && length > 1 && path[length - 1] == '/')
    --length;
  if (asprintf(&out->temporary, "%.*s.XXXXXX%s", (int)length, path, suffix) < 0) {
    *out = (ShardOptWeights){0};
    return fail(message, messageBytes, path, ENOMEM);
  }
  struct stat status;
  bool exists = stat(path, &status) == 0;
  int error = 0, fd = -1;
  if (exists && S_ISDIR(status.st_mode) != out->folder)
    error = out->folder ? ENOTDIR : EISDIR;
  else if (exists && !out->folder && !S_ISREG(status.st_mode))
    error = EOPNOTSUPP; // a device or a pipe would be replaced
  else if (exists && access(path, W_OK) != 0)
    error = errno;
  else if (out->folder && !mkdtemp(out->temporary))
    error = errno;
  else if (out->folder)
    chmod(out->temporary, 0755);
  else if ((fd = mkostemps(out->temporary, (int)strlen(suffix), O_CLOEXEC)) < 0)
    error = errno;
  if (fd >= 0) {
    shardOutputFileMark(out->temporary);
    close(fd);
  }
  if (!error)
    return true;
  free(out->temporary);
  *out = (ShardOptWeights){0};
  return fail(message, messageBytes, path, error);
}

// Calls `visit` with each entry's path in the temporary folder and its name.
static int forEachFile(const ShardOptWeights *weights,
                       int (*visit)(const ShardOptWeights *weights, const char *file,
                                    const char *name)) {
  DIR *folder = opendir(weights->temporary);
  if (!folder)
    return errno;
  int error = 0;
  for (struct dirent *entry; !error && (entry = readdir(folder));) {
    char *file;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
      continue;
    if (asprintf(&file, "%s/%s", weights->temporary, entry->d_name) < 0) {
      error = ENOMEM;
      break;
    }
    error = visit(weights, file, entry->d_name);
    free(file);
  }
  closedir(folder);
  return error;
}

static int moveFile(const ShardOptWeights *weights, const char *file, const char *name) {
  char *target;
  if (asprintf(&target, "%s/%s", weights->path, name) < 0)
    return ENOMEM;
  int error = rename(file, target) == 0 ? 0 : errno;
  free(target);
  return error;
}

static int removeFile(const ShardOptWeights *weights, const char *file, const char *name) {
  (void)weights, (void)name;
  return unlink(file) == 0 ? 0 : errno;
}

bool shardOptWeightsCommit(ShardOptWeights *weights, char *message, size_t messageBytes) {
  struct stat status;
  if (!weights->folder) // whoever wrote it, with whatever permissions
    (void)!chmod(weights->temporary, stat(weights->path, &status) == 0 ? status.st_mode & 07777
                                                                       : shardOutputFileNewMode());
  int error = rename(weights->temporary, weights->path) == 0 ? 0 : errno;
  // A folder that is there and holds something keeps what else it holds.
  if (error && weights->folder && (error == ENOTEMPTY || error == EEXIST)) {
    error = forEachFile(weights, moveFile);
    if (!error && rmdir(weights->temporary) != 0)
      error = errno;
  }
  if (error) {
    fail(message, messageBytes, weights->path, error);
    shardOptWeightsAbandon(weights);
    return false;
  }
  shardOutputFileUnmark(weights->temporary);
  free(weights->temporary);
  *weights = (ShardOptWeights){0};
  return true;
}

void shardOptWeightsAbandon(ShardOptWeights *weights) {
  if (!weights->path)
    return;
  if (weights->folder) {
    forEachFile(weights, removeFile);
    rmdir(weights->temporary);
  } else {
    unlink(weights->temporary);
  }
  shardOutputFileUnmark(weights->temporary);
  free(weights->temporary);
  *weights = (ShardOptWeights){0};
}
